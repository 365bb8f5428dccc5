/*++

Module Name:

    ImportsModule.c

Abstract:

    The modules of the process: the loader's list, copied, so that it can be
    asked without the loader's lock.

--*/

#include "../Rtl/RtlTeb.h"
#include "ImportsList.h"

//
// In the process environment block: the loader's data; in them the list of
// modules in the order of loading.
//

#define PEB_LDR                     0x18
#define LDR_LOAD_ORDER              0x10

typedef struct _IMPORTS_LDR_ENTRY {
    LIST_ENTRY LoadOrder;           // 0x00
    LIST_ENTRY MemoryOrder;         // 0x10
    LIST_ENTRY InitializationOrder; // 0x20
    PVOID Base;                     // 0x30
    PVOID EntryPoint;               // 0x38
    ULONG SizeInBytes;              // 0x40
    ULONG Padding;
    UNICODE_STRING Path;            // 0x48
    UNICODE_STRING Name;            // 0x58
} IMPORTS_LDR_ENTRY;
typedef const IMPORTS_LDR_ENTRY *PCIMPORTS_LDR_ENTRY;

C_ASSERT(FIELD_OFFSET(IMPORTS_LDR_ENTRY, Base) == 0x30);
C_ASSERT(FIELD_OFFSET(IMPORTS_LDR_ENTRY, Path) == 0x48);

static
WCHAR
ImportsToLower(
    _In_ WCHAR Character
    )
{
    return Character >= L'A' && Character <= L'Z' ? Character + 0x20
                                                  : Character;
}

//
// Does a file lie below the system's directory?
//

static
BOOLEAN
ImportsIsSystemPath(
    _In_ PCUNICODE_STRING Path
    )
{
    static const WCHAR Below[] = L"\\system32\\";
    PCWSTR Root = RTL_SYSTEM_ROOT;
    ULONG Length = Path->Length / sizeof(WCHAR);
    ULONG Index;
    ULONG Other;

    for (Index = 0;
         Index < RTL_SYSTEM_ROOT_CHARS && Root[Index] != 0;
         Index += 1) {

        if (Index >= Length ||
            ImportsToLower(Path->Buffer[Index]) !=
                ImportsToLower(Root[Index])) {

            return FALSE;
        }
    }

    for (Other = 0; Index != 0 && Below[Other] != 0; Other += 1) {
        if (Index + Other >= Length ||
            ImportsToLower(Path->Buffer[Index + Other]) != Below[Other]) {

            return FALSE;
        }
    }

    return Index != 0;
}

//
// Is a module there one of the system's own, whose functions are known to take
// no more arguments than a small stub copies?  Others install theirs there.
//

static
BOOLEAN
ImportsIsKnownModule(
    _In_ const IMPORTS_MODULE *Module
    )
{
    static const PCSZ Names[] = {
        "advapi32", "bcrypt", "cfgmgr32", "combase", "comctl32", "comdlg32",
        "crypt32", "cryptbase", "dbghelp", "dnsapi", "gdi32", "gdi32full",
        "imm32", "iphlpapi", "kernel32", "kernelbase", "mpr", "msvcp_win",
        "msvcrt", "mswsock", "netapi32", "ntdll", "ole32", "oleaut32",
        "powrprof", "psapi", "rpcrt4", "sechost", "secur32", "setupapi",
        "shcore", "shell32", "shlwapi", "ucrtbase", "user32", "userenv",
        "uxtheme", "version", "win32u", "winhttp", "wininet", "winmm",
        "winspool.drv", "wintrust", "ws2_32", "wtsapi32"
    };
    ULONG Length = Module->NameLength;
    ULONG Index;

    if (Length > 4 &&
        RtlAreBytesEqual(Module->Name + Length - 4, ".dll", 4)) {

        Length -= 4;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index += 1) {
        if (Length == RtlLengthOfString(Names[Index]) &&
            RtlAreBytesEqual(Module->Name, Names[Index], Length)) {

            return TRUE;
        }
    }

    return FALSE;
}

static
ULONG
ImportsReadTimeDateStamp(
    _In_ const VOID *Base
    )
{
    const IMAGE_NT_HEADERS64 *Headers;

    Headers = (const IMAGE_NT_HEADERS64 *)
        ((const BYTE *)Base + ((const IMAGE_DOS_HEADER *)Base)->e_lfanew);
    return Headers->FileHeader.TimeDateStamp;
}

_Use_decl_annotations_
ULONG
ImportsEnterModule(
    PVOID Base,
    ULONG SizeInBytes,
    PCUNICODE_STRING Path
    )
{
    PIMPORTS_MODULE Module;
    UNICODE_STRING Name;
    ULONG Index;

    Index = ImportsFindModule(Base);
    if (Index != IMPORTS_NONE) {
        return Index;
    }

    if (ImportsState.NumberOfModules == IMPORTS_MAXIMUM_MODULES) {
        return IMPORTS_NONE;
    }

    Module = &ImportsModules[ImportsState.NumberOfModules];
    Module->Base = (PBYTE)Base;
    Module->SizeInBytes = SizeInBytes;
    Module->FileIndex = IMPORTS_NONE;
    RtlBaseName(Path, &Name);
    RtlWideToUtf8(Name.Buffer,
                  Name.Length / sizeof(WCHAR),
                  Module->Name,
                  sizeof(Module->Name),
                  &Module->NameLength);
    for (Index = 0; Index < Module->NameLength; Index += 1) {
        if (Module->Name[Index] >= 'A' && Module->Name[Index] <= 'Z') {
            Module->Name[Index] += 0x20;
        }
    }

    Module->TimeDateStamp = ImportsReadTimeDateStamp(Base);
    Module->IsOurs = Base == (PVOID)&__ImageBase;
    Module->IsSystem = ImportsIsSystemPath(Path) &&
                       ImportsIsKnownModule(Module);
    Module->IsCaller = ImportsIsCaller(Module);
    ImportsState.NumberOfModules += 1;
    return ImportsState.NumberOfModules - 1;
}

_Use_decl_annotations_
VOID
ImportsRefreshModules(
    VOID
    )
{
    const LIST_ENTRY *Head;
    const LIST_ENTRY *Link;
    PCIMPORTS_LDR_ENTRY Entry;

    Head = (const LIST_ENTRY *)(*(PBYTE *)(__readgsqword(TEB_PEB) + PEB_LDR) +
                                LDR_LOAD_ORDER);
    for (Link = Head->Flink; Link != Head; Link = Link->Flink) {
        Entry = (PCIMPORTS_LDR_ENTRY)Link;
        if (Entry->Base != NULL) {
            (VOID)ImportsEnterModule(Entry->Base,
                                     Entry->SizeInBytes,
                                     &Entry->Path);
        }
    }
}

_Use_decl_annotations_
VOID
ImportsReviewModules(
    VOID
    )
{
    const LIST_ENTRY *Head;
    const LIST_ENTRY *Link;
    PCIMPORTS_LDR_ENTRY Entry;
    PIMPORTS_MODULE Module;
    ULONG Index;

    Head = (const LIST_ENTRY *)(*(PBYTE *)(__readgsqword(TEB_PEB) + PEB_LDR) +
                                LDR_LOAD_ORDER);
    for (Index = 0; Index < ImportsState.NumberOfModules; Index += 1) {
        Module = &ImportsModules[Index];
        if (Module->IsGone) {
            continue;
        }

        for (Link = Head->Flink; Link != Head; Link = Link->Flink) {
            Entry = (PCIMPORTS_LDR_ENTRY)Link;
            if (Entry->Base == Module->Base &&
                Entry->SizeInBytes == Module->SizeInBytes &&
                ImportsReadTimeDateStamp(Entry->Base) ==
                    Module->TimeDateStamp) {

                break;
            }
        }

        if (Link == Head) {
            Module->IsGone = TRUE;
            ImportsForgetStubs(Index);
        } else {
            Module->IsCaller = ImportsIsCaller(Module);
        }
    }
}

_Use_decl_annotations_
ULONG
ImportsForgetModule(
    PVOID Base
    )
{
    ULONG Index;

    Index = ImportsFindModule(Base);
    if (Index != IMPORTS_NONE) {
        ImportsModules[Index].IsGone = TRUE;
    }

    return Index;
}

_Use_decl_annotations_
ULONG
ImportsFindModule(
    const VOID *Address
    )
{
    PIMPORTS_MODULE Module;
    ULONG Index;

    Index = ImportsState.LastFound;
    Module = &ImportsModules[Index];
    if (!Module->IsGone &&
        (ULONG_PTR)Address - (ULONG_PTR)Module->Base < Module->SizeInBytes) {

        return Index;
    }

    for (Index = 0; Index < ImportsState.NumberOfModules; Index += 1) {
        Module = &ImportsModules[Index];
        if (!Module->IsGone &&
            (ULONG_PTR)Address - (ULONG_PTR)Module->Base <
                Module->SizeInBytes) {

            ImportsState.LastFound = Index;
            return Index;
        }
    }

    return IMPORTS_NONE;
}

_Use_decl_annotations_
ULONG
ImportsFindModuleByName(
    PCSZ Name
    )
{
    PIMPORTS_MODULE Module;
    CHAR Lower[IMPORTS_NAME_SIZE];
    ULONG Length;
    ULONG Index;
    BOOLEAN HasDot;

    HasDot = FALSE;
    for (Length = 0; Name[Length] != 0; Length += 1) {
        if (Length == sizeof(Lower) - 4) {
            return IMPORTS_NONE;
        }
        Lower[Length] = (CHAR)ImportsToLower((UCHAR)Name[Length]);
        HasDot = HasDot || Lower[Length] == '.';
    }

    if (Length > 4 && Lower[3] == '-' && Lower[4] != 0 &&
        (RtlAreBytesEqual(Lower, "api-", 4) ||
         RtlAreBytesEqual(Lower, "ext-", 4))) {

        return IMPORTS_NONE;
    }

    if (!HasDot) {
        RtlCopyBytes(Lower + Length, ".dll", 4);
        Length += 4;
    }

    for (Index = 0; Index < ImportsState.NumberOfModules; Index += 1) {
        Module = &ImportsModules[Index];
        if (!Module->IsGone && Module->NameLength == Length &&
            RtlAreBytesEqual(Module->Name, Lower, Length)) {

            return Index;
        }
    }

    return IMPORTS_NONE;
}

static
PIMAGE_NT_HEADERS64
ImportsGetHeaders(
    _In_ const IMPORTS_MODULE *Module
    )
{
    return (PIMAGE_NT_HEADERS64)
        (Module->Base + ((PIMAGE_DOS_HEADER)Module->Base)->e_lfanew);
}

_Use_decl_annotations_
ULONG
ImportsQuerySection(
    const IMPORTS_MODULE *Module,
    const VOID *Address
    )
{
    PIMAGE_NT_HEADERS64 Headers;
    PIMAGE_SECTION_HEADER Section;
    ULONG Rva;
    ULONG Size;
    ULONG Index;

    Headers = ImportsGetHeaders(Module);
    Section = IMAGE_FIRST_SECTION(Headers);
    Rva = (ULONG)((const BYTE *)Address - Module->Base);
    for (Index = 0;
         Index < Headers->FileHeader.NumberOfSections;
         Index += 1, Section += 1) {

        Size = Section->Misc.VirtualSize != 0 ? Section->Misc.VirtualSize
                                              : Section->SizeOfRawData;
        if (Rva - Section->VirtualAddress < Size) {
            return Section->Characteristics;
        }
    }

    return 0;
}

_Use_decl_annotations_
BOOLEAN
ImportsIsCode(
    const IMPORTS_MODULE *Module,
    const VOID *Address
    )
{
    return (ImportsQuerySection(Module, Address) &
            (IMAGE_SCN_MEM_EXECUTE | IMAGE_SCN_MEM_WRITE)) ==
           IMAGE_SCN_MEM_EXECUTE;
}

_Use_decl_annotations_
PVOID
ImportsFindDirectory(
    const IMPORTS_MODULE *Module,
    ULONG Directory,
    PULONG SizeInBytes
    )
{
    PIMAGE_OPTIONAL_HEADER64 Optional;
    PIMAGE_DATA_DIRECTORY Found;

    *SizeInBytes = 0;
    Optional = &ImportsGetHeaders(Module)->OptionalHeader;
    if (Optional->Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC ||
        Optional->NumberOfRvaAndSizes <= Directory) {

        return NULL;
    }

    Found = &Optional->DataDirectory[Directory];
    if (Found->VirtualAddress == 0 ||
        Found->VirtualAddress >= Module->SizeInBytes ||
        Found->Size > Module->SizeInBytes - Found->VirtualAddress) {

        return NULL;
    }

    *SizeInBytes = Found->Size;
    return Module->Base + Found->VirtualAddress;
}
