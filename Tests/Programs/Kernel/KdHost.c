/*++

Module Name:

    KdHost.c

Abstract:

    Stands in for a debugger: loads TracerKd.dll and calls its commands with
    interfaces of mingw-w64's dbgeng.h, over the memory of a process or of a
    dump.  A method that the extension should not call is counted.

        KdHost DLL live PID SYMBOLS [OPTION...] COMMAND...
        KdHost DLL dump FILE SYMBOLS [OPTION...] COMMAND...
        KdHost DLL fuzz FILE SYMBOLS ROUNDS SEED [OPTION...] COMMAND...
        KdHost DLL memory FILE SYMBOLS [OPTION...] COMMAND...
        KdHost DLL save PID FILE
        KdHost DLL end PID
        KdHost DLL misuse

    With memory each allocation of a command fails, one after the other.  What a
    command allocates it has to free.

    A dump is a minidump with Memory64List, MemoryInfoList and ThreadList.
    SYMBOLS has lines "M NAME BASE SIZE" and "S ADDRESS NAME", hexadecimal.
    Options: kernel, connection (to a machine that runs), noquery, notarget,
    thread=ID, interrupt=N (Ctrl+Break after so many questions),
    hole=ADDRESS,SIZE, raise=N (an access violation at the N-th read).

--*/

#define INITGUID
#define COBJMACROS
#include <windows.h>
#include <dbgeng.h>
#include <dbghelp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>

typedef HRESULT (CALLBACK *COMMAND)(IDebugClient *, PCSTR);
typedef HRESULT (CALLBACK *INITIALIZE)(PULONG, PULONG);
typedef void (CALLBACK *UNINITIALIZE)(void);
typedef void (CALLBACK *NOTIFY)(ULONG, ULONG64);

typedef struct {
    ULONG64 Start;
    ULONG64 Size;
    unsigned char *Bytes;
    ULONG Type;
    ULONG Missing;
} REGION;

typedef struct {
    ULONG64 Base;
    ULONG64 Size;
    char Name[64];
} MODULE;

typedef struct {
    ULONG64 Address;
    char Name[120];
} SYMBOL;

typedef struct {
    ULONG Id;
    ULONG64 Teb;
} THREAD;

static HANDLE Process;
static ULONG ProcessId = 0x1234;
static REGION *Regions;
static int NumberOfRegions;
static MODULE Modules[64];
static int NumberOfModules;
static SYMBOL *Symbols;
static int NumberOfSymbols;
static THREAD Threads[256];
static int NumberOfThreads;
static ULONG CurrentThread;
static ULONG64 Holes[64][2];
static int NumberOfHoles;
static BOOL IsKernel;
static BOOL IsConnection;           // to a machine, and no dump
static BOOL HasQuery = TRUE;
static BOOL HasTarget = TRUE;
static long InterruptAfter = -1;
static long Interrupts;
static long Strange;
static long References;
static long Reads;
static long RaiseAt;
static unsigned long long Written;
static unsigned long long MostWritten = ~0ULL;
static BOOL IsQuiet;
static unsigned Checksum;

//
// What the extension does not know.
//

static HRESULT STDMETHODCALLTYPE
NotKnown(void *This)
{
    Strange += 1;
    return E_NOTIMPL;
}

static ULONG STDMETHODCALLTYPE
AddReference(void *This)
{
    return InterlockedIncrement(&References);
}

static ULONG STDMETHODCALLTYPE
Release(void *This)
{
    return InterlockedDecrement(&References);
}

static IDebugClientVtbl ClientMethods;
static IDebugControlVtbl ControlMethods;
static IDebugDataSpacesVtbl Data1Methods;
static IDebugDataSpaces2Vtbl DataMethods;
static IDebugSymbolsVtbl SymbolMethods;
static IDebugSystemObjectsVtbl SystemMethods;
static IDebugClient Client = { &ClientMethods };
static IDebugControl Control = { &ControlMethods };
static IDebugDataSpaces Data1 = { &Data1Methods };
static IDebugDataSpaces2 Data = { &DataMethods };
static IDebugSymbols SymbolsOf = { &SymbolMethods };
static IDebugSystemObjects System = { &SystemMethods };

static HRESULT STDMETHODCALLTYPE
QueryInterface(IDebugClient *This, REFIID Id, PVOID *Interface)
{
    *Interface = NULL;
    if (IsEqualGUID(Id, &IID_IDebugControl)) *Interface = &Control;
    if (IsEqualGUID(Id, &IID_IDebugDataSpaces)) *Interface = &Data1;
    if (IsEqualGUID(Id, &IID_IDebugDataSpaces2) && HasQuery) *Interface = &Data;
    if (IsEqualGUID(Id, &IID_IDebugSymbols)) *Interface = &SymbolsOf;
    if (IsEqualGUID(Id, &IID_IDebugSystemObjects)) *Interface = &System;
    if (*Interface == NULL) return E_NOINTERFACE;
    InterlockedIncrement(&References);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetInterrupt(IDebugControl *This)
{
    Interrupts += 1;
    return InterruptAfter >= 0 && Interrupts > InterruptAfter ? S_OK : S_FALSE;
}

static HRESULT
Output(IDebugControl *This, ULONG Mask, PCSTR Format, ...)
{
    static char Text[0x10000];
    va_list Arguments;
    int Length;
    int Index;

    va_start(Arguments, Format);
    Length = vsnprintf(Text, sizeof(Text), Format, Arguments);
    va_end(Arguments);
    if (Length < 0 || Length >= (int)sizeof(Text)) {
        printf("=== a piece of text is too long\n");
        exit(3);
    }

    Written += Length;
    for (Index = 0; Index < Length; Index++) {
        Checksum = Checksum * 31 + (unsigned char)Text[Index];
        if ((unsigned char)Text[Index] < ' ' && Text[Index] != '\n') {
            printf("=== a control character %u\n", Text[Index]);
            exit(3);
        }
    }

    if (Written > MostWritten) {
        printf("=== too much text\n");
        exit(3);
    }

    if (!IsQuiet) fwrite(Text, 1, Length, stdout);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetDebuggeeType(IDebugControl *This, PULONG Class, PULONG Qualifier)
{
    *Class = !HasTarget ? 0 : IsKernel ? DEBUG_CLASS_KERNEL
                                       : DEBUG_CLASS_USER_WINDOWS;
    *Qualifier = IsKernel && !IsConnection ? DEBUG_DUMP_DEFAULT : 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
IsPointer64Bit(IDebugControl *This)
{
    return S_OK;
}

//
// Memory.
//

static REGION *
FindRegion(ULONG64 Address)
{
    int First = 0;
    int Last = NumberOfRegions;

    while (First < Last) {
        int Middle = (First + Last) / 2;

        if (Address < Regions[Middle].Start) {
            Last = Middle;
        } else if (Address - Regions[Middle].Start >= Regions[Middle].Size) {
            First = Middle + 1;
        } else {
            return &Regions[Middle];
        }
    }

    return NULL;
}

static ULONG
ReadRegions(ULONG64 Address, unsigned char *Buffer, ULONG Size)
{
    ULONG Done = 0;

    while (Done < Size) {
        REGION *Region = FindRegion(Address + Done);
        ULONG64 Offset;
        ULONG Part;

        if (Region == NULL || Region->Missing) break;
        Offset = Address + Done - Region->Start;
        Part = Size - Done;
        if (Part > Region->Size - Offset) Part = (ULONG)(Region->Size - Offset);
        memcpy(Buffer + Done, Region->Bytes + Offset, Part);
        Done += Part;
    }

    return Done;
}

static HRESULT
Read(ULONG64 Address, PVOID Buffer, ULONG Size, PULONG BytesRead)
{
    ULONG Wanted = Size;
    int Index;

    Reads += 1;
    if (Reads == RaiseAt) {
        RaiseException(EXCEPTION_ACCESS_VIOLATION, 0, 0, NULL);
    }

    for (Index = 0; Index < NumberOfHoles; Index++) {
        ULONG64 Start = Holes[Index][0];
        ULONG64 End = Start + Holes[Index][1];

        if (Address >= Start && Address < End) {
            Wanted = 0;
        } else if (Address < Start && Address + Wanted > Start) {
            Wanted = (ULONG)(Start - Address);
        }
    }

    if (Process == NULL) {
        Wanted = ReadRegions(Address, Buffer, Wanted);
    } else {
        SIZE_T Done = 0;

        if (Wanted != 0 &&
            !ReadProcessMemory(Process, (PVOID)Address, Buffer, Wanted,
                               &Done)) {

            //
            // The system reads all or, under Wine, nothing: page by page.
            //

            ULONG Sum = 0;

            while (Sum < Wanted) {
                ULONG Part = 4096 - (ULONG)((Address + Sum) % 4096);

                if (Part > Wanted - Sum) Part = Wanted - Sum;
                if (!ReadProcessMemory(Process, (PVOID)(Address + Sum),
                                       (char *)Buffer + Sum, Part, &Done)) {
                    break;
                }
                Sum += Part;
            }
            Wanted = Sum;
        }
    }

    if (BytesRead != NULL) *BytesRead = Wanted;
    return Wanted == 0 && Size != 0 ? HRESULT_FROM_WIN32(ERROR_READ_FAULT)
                                    : S_OK;
}

static HRESULT STDMETHODCALLTYPE
ReadVirtual1(IDebugDataSpaces *This, ULONG64 Address, PVOID Buffer, ULONG Size,
             PULONG BytesRead)
{
    return Read(Address, Buffer, Size, BytesRead);
}

static HRESULT STDMETHODCALLTYPE
ReadVirtual(IDebugDataSpaces2 *This, ULONG64 Address, PVOID Buffer, ULONG Size,
            PULONG BytesRead)
{
    return Read(Address, Buffer, Size, BytesRead);
}

static HRESULT STDMETHODCALLTYPE
QueryVirtual(IDebugDataSpaces2 *This, ULONG64 Address,
             PMEMORY_BASIC_INFORMATION64 Info)
{
    MEMORY_BASIC_INFORMATION Found;
    int Index;

    if (IsKernel) return E_NOTIMPL;
    if (Process != NULL) {
        if (!VirtualQueryEx(Process, (PVOID)Address, &Found, sizeof(Found))) {
            return E_INVALIDARG;
        }
        Info->BaseAddress = (ULONG64)Found.BaseAddress;
        Info->AllocationBase = (ULONG64)Found.AllocationBase;
        Info->AllocationProtect = Found.AllocationProtect;
        Info->RegionSize = Found.RegionSize;
        Info->State = Found.State;
        Info->Protect = Found.Protect;
        Info->Type = Found.Type;
        return S_OK;
    }

    for (Index = 0; Index < NumberOfRegions; Index++) {
        if (Regions[Index].Start + Regions[Index].Size > Address) {
            Info->BaseAddress = Regions[Index].Start;
            Info->AllocationBase = Regions[Index].Start;
            Info->RegionSize = Regions[Index].Size;
            Info->State = MEM_COMMIT;
            Info->Protect = PAGE_READWRITE;
            Info->Type = Regions[Index].Type;
            return S_OK;
        }
    }

    return E_INVALIDARG;
}

//
// Symbols.
//

static MODULE *
FindModule(ULONG64 Address)
{
    int Index;

    for (Index = 0; Index < NumberOfModules; Index++) {
        if (Address - Modules[Index].Base < Modules[Index].Size) {
            return &Modules[Index];
        }
    }

    return NULL;
}

//
// The system's own modules lie in this process where they lie in any other; of
// their functions the exports have names.
//

static BOOL
FindExport(ULONG64 Address, char *Text, size_t Size, PULONG64 Displacement)
{
    HMODULE Module;
    char Path[MAX_PATH];
    char *Name;
    unsigned char *Base;
    IMAGE_NT_HEADERS64 *Headers;
    IMAGE_EXPORT_DIRECTORY *Exports;
    ULONG *Names;
    ULONG *Functions;
    USHORT *Ordinals;
    ULONG Best = 0;
    ULONG Index;

    if (IsKernel ||
        !GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (LPCSTR)Address, &Module)) {
        return FALSE;
    }

    GetModuleFileNameA(Module, Path, sizeof(Path));
    Name = strrchr(Path, '\\') != NULL ? strrchr(Path, '\\') + 1 : Path;
    *strchr(Name, '.') = 0;
    snprintf(Text, Size, "%s", Name);
    Base = (unsigned char *)Module;
    *Displacement = Address - (ULONG64)Base;
    Headers = (IMAGE_NT_HEADERS64 *)
        (Base + ((IMAGE_DOS_HEADER *)Base)->e_lfanew);
    Exports = (IMAGE_EXPORT_DIRECTORY *)
        (Base + Headers->OptionalHeader.DataDirectory[0].VirtualAddress);
    Names = (ULONG *)(Base + Exports->AddressOfNames);
    Functions = (ULONG *)(Base + Exports->AddressOfFunctions);
    Ordinals = (USHORT *)(Base + Exports->AddressOfNameOrdinals);
    for (Index = 0; Index < Exports->NumberOfNames; Index++) {
        ULONG Rva = Functions[Ordinals[Index]];

        if (Rva >= Best && Base + Rva <= (unsigned char *)Address) {
            Best = Rva;
            snprintf(Text, Size, "%s!%s", Name, Base + Names[Index]);
            *Displacement = Address - (ULONG64)(Base + Rva);
        }
    }

    return TRUE;
}

static HRESULT STDMETHODCALLTYPE
GetNameByOffset(IDebugSymbols *This, ULONG64 Address, PSTR Name, ULONG Size,
                PULONG Needed, PULONG64 Displacement)
{
    MODULE *Module = FindModule(Address);
    char Text[256];
    int First = 0;
    int Last = NumberOfSymbols;

    if (Module == NULL) {
        if (!FindExport(Address, Text, sizeof(Text), Displacement)) {
            return E_FAIL;
        }
        if (Needed != NULL) *Needed = (ULONG)strlen(Text) + 1;
        snprintf(Name, Size, "%s", Text);
        return S_OK;
    }

    while (First < Last) {
        int Middle = (First + Last) / 2;

        if (Symbols[Middle].Address <= Address) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    if (First == 0 || Symbols[First - 1].Address < Module->Base) {
        snprintf(Text, sizeof(Text), "%s", Module->Name);
        *Displacement = Address - Module->Base;
    } else {
        snprintf(Text, sizeof(Text), "%s!%s", Module->Name,
                 Symbols[First - 1].Name);
        *Displacement = Address - Symbols[First - 1].Address;
    }

    if (Needed != NULL) *Needed = (ULONG)strlen(Text) + 1;
    snprintf(Name, Size, "%s", Text);
    return strlen(Text) >= Size ? S_FALSE : S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetOffsetByName(IDebugSymbols *This, PCSTR Name, PULONG64 Address)
{
    const char *Mark = strchr(Name, '!');
    int Index;

    for (Index = 0; Mark != NULL && Index < NumberOfSymbols; Index++) {
        MODULE *Module = FindModule(Symbols[Index].Address);

        if (strcmp(Symbols[Index].Name, Mark + 1) == 0 && Module != NULL &&
            strlen(Module->Name) == (size_t)(Mark - Name) &&
            _strnicmp(Module->Name, Name, Mark - Name) == 0) {
            *Address = Symbols[Index].Address;
            return S_OK;
        }
    }

    return E_FAIL;
}

static HRESULT STDMETHODCALLTYPE
GetNumberModules(IDebugSymbols *This, PULONG Loaded, PULONG Unloaded)
{
    *Loaded = NumberOfModules;
    *Unloaded = 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetModuleByIndex(IDebugSymbols *This, ULONG Index, PULONG64 Base)
{
    if (Index >= (ULONG)NumberOfModules) return E_INVALIDARG;
    *Base = Modules[Index].Base;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetModuleByModuleName(IDebugSymbols *This, PCSTR Name, ULONG Start,
                      PULONG Index, PULONG64 Base)
{
    int At;

    for (At = Start; At < NumberOfModules; At++) {
        if (_stricmp(Modules[At].Name, Name) == 0) {
            if (Index != NULL) *Index = At;
            if (Base != NULL) *Base = Modules[At].Base;
            return S_OK;
        }
    }

    return E_INVALIDARG;
}

//
// Threads.
//

static HRESULT STDMETHODCALLTYPE
GetCurrentThreadIdOf(IDebugSystemObjects *This, PULONG Id)
{
    *Id = CurrentThread;
    return NumberOfThreads != 0 ? S_OK : E_UNEXPECTED;
}

static HRESULT STDMETHODCALLTYPE
SetCurrentThreadId(IDebugSystemObjects *This, ULONG Id)
{
    if (Id >= (ULONG)NumberOfThreads) return E_INVALIDARG;
    CurrentThread = Id;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetNumberThreads(IDebugSystemObjects *This, PULONG Number)
{
    *Number = NumberOfThreads;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetThreadIdsByIndex(IDebugSystemObjects *This, ULONG Start, ULONG Count,
                    PULONG Ids, PULONG SystemIds)
{
    ULONG Index;

    if (Start + Count > (ULONG)NumberOfThreads) return E_INVALIDARG;
    for (Index = 0; Index < Count; Index++) {
        if (Ids != NULL) Ids[Index] = Start + Index;
        if (SystemIds != NULL) SystemIds[Index] = Threads[Start + Index].Id;
    }

    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetCurrentThreadTeb(IDebugSystemObjects *This, PULONG64 Teb)
{
    if (NumberOfThreads == 0) return E_UNEXPECTED;
    *Teb = Threads[CurrentThread].Teb;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetCurrentThreadSystemId(IDebugSystemObjects *This, PULONG Id)
{
    if (IsKernel || NumberOfThreads == 0) return E_NOTIMPL;
    *Id = Threads[CurrentThread].Id;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE
GetCurrentProcessSystemId(IDebugSystemObjects *This, PULONG Id)
{
    *Id = ProcessId;
    return S_OK;
}

static void
Fill(void *Methods, size_t Size)
{
    void **Places = Methods;
    size_t Index;

    for (Index = 0; Index < Size / sizeof(void *); Index++) {
        Places[Index] = (void *)NotKnown;
    }

    Places[1] = (void *)AddReference;
    Places[2] = (void *)Release;
}

static void
MakeInterfaces(void)
{
    Fill(&ClientMethods, sizeof(ClientMethods));
    Fill(&ControlMethods, sizeof(ControlMethods));
    Fill(&Data1Methods, sizeof(Data1Methods));
    Fill(&DataMethods, sizeof(DataMethods));
    Fill(&SymbolMethods, sizeof(SymbolMethods));
    Fill(&SystemMethods, sizeof(SystemMethods));
    ClientMethods.QueryInterface = QueryInterface;
    ControlMethods.GetInterrupt = GetInterrupt;
    ControlMethods.Output = (void *)Output;
    ControlMethods.GetDebuggeeType = GetDebuggeeType;
    ControlMethods.IsPointer64Bit = IsPointer64Bit;
    Data1Methods.ReadVirtual = ReadVirtual1;
    DataMethods.ReadVirtual = ReadVirtual;
    DataMethods.QueryVirtual = QueryVirtual;
    SymbolMethods.GetNameByOffset = GetNameByOffset;
    SymbolMethods.GetOffsetByName = GetOffsetByName;
    SymbolMethods.GetNumberModules = GetNumberModules;
    SymbolMethods.GetModuleByIndex = GetModuleByIndex;
    SymbolMethods.GetModuleByModuleName = GetModuleByModuleName;
    SystemMethods.GetCurrentThreadId = GetCurrentThreadIdOf;
    SystemMethods.SetCurrentThreadId = SetCurrentThreadId;
    SystemMethods.GetNumberThreads = GetNumberThreads;
    SystemMethods.GetThreadIdsByIndex = GetThreadIdsByIndex;
    SystemMethods.GetCurrentThreadTeb = GetCurrentThreadTeb;
    SystemMethods.GetCurrentThreadSystemId = GetCurrentThreadSystemId;
    SystemMethods.GetCurrentProcessSystemId = GetCurrentProcessSystemId;
}

//
// Targets.
//

typedef LONG (NTAPI *QUERY_THREAD)(HANDLE, int, PVOID, ULONG, PULONG);

static void
FindThreads(ULONG Id)
{
    QUERY_THREAD Query = (QUERY_THREAD)(void *)GetProcAddress(
        GetModuleHandleA("ntdll"), "NtQueryInformationThread");
    HANDLE Snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 Entry = { sizeof(Entry) };
    ULONG64 Basic[6];
    BOOL More;

    for (More = Thread32First(Snapshot, &Entry);
         More && NumberOfThreads < 256;
         More = Thread32Next(Snapshot, &Entry)) {
        HANDLE Thread;

        if (Entry.th32OwnerProcessID != Id) continue;
        Thread = OpenThread(THREAD_QUERY_INFORMATION, FALSE,
                            Entry.th32ThreadID);
        memset(Basic, 0, sizeof(Basic));
        if (Thread != NULL) Query(Thread, 0, Basic, sizeof(Basic), NULL);
        Threads[NumberOfThreads].Id = Entry.th32ThreadID;
        Threads[NumberOfThreads].Teb = Basic[1];
        NumberOfThreads += 1;
        CloseHandle(Thread);
    }

    CloseHandle(Snapshot);
}

static void
OpenLive(ULONG Id)
{
    ProcessId = Id;
    Process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, Id);
    if (Process == NULL) {
        printf("=== no process %lu: %lu\n", Id, GetLastError());
        exit(2);
    }

    FindThreads(Id);
}

static void
AddRegion(ULONG64 Start, ULONG64 Size, unsigned char *Bytes, ULONG Type)
{
    if (NumberOfRegions % 1024 == 0) {
        Regions = realloc(Regions, (NumberOfRegions + 1024) * sizeof(REGION));
    }

    Regions[NumberOfRegions].Start = Start;
    Regions[NumberOfRegions].Size = Size;
    Regions[NumberOfRegions].Bytes = Bytes;
    Regions[NumberOfRegions].Type = Type;
    Regions[NumberOfRegions].Missing = 0;
    NumberOfRegions += 1;
}

static void *
FindStream(unsigned char *File, ULONG Type)
{
    MINIDUMP_HEADER *Header = (MINIDUMP_HEADER *)File;
    MINIDUMP_DIRECTORY *Directory =
        (MINIDUMP_DIRECTORY *)(File + Header->StreamDirectoryRva);
    ULONG Index;

    for (Index = 0; Index < Header->NumberOfStreams; Index++) {
        if (Directory[Index].StreamType == Type) {
            return File + Directory[Index].Location.Rva;
        }
    }

    return NULL;
}

static void
OpenDump(const char *Name)
{
    FILE *File = fopen(Name, "rb");
    unsigned char *Bytes;
    long long Size;
    ULONG64 At;
    MINIDUMP_MEMORY64_LIST *Memory;
    MINIDUMP_MEMORY_INFO_LIST *Infos;
    MINIDUMP_THREAD_LIST *List;
    ULONG64 Index;
    ULONG64 Info;

    if (File == NULL) {
        printf("=== no dump %s\n", Name);
        exit(2);
    }

    _fseeki64(File, 0, SEEK_END);
    Size = _ftelli64(File);
    _fseeki64(File, 0, SEEK_SET);
    Bytes = malloc(Size);
    if (fread(Bytes, 1, Size, File) != (size_t)Size ||
        ((MINIDUMP_HEADER *)Bytes)->Signature != MINIDUMP_SIGNATURE) {
        printf("=== no dump %s\n", Name);
        exit(2);
    }

    fclose(File);
    Memory = FindStream(Bytes, Memory64ListStream);
    Infos = FindStream(Bytes, MemoryInfoListStream);
    List = FindStream(Bytes, ThreadListStream);
    At = Memory->BaseRva;
    for (Index = 0; Index < Memory->NumberOfMemoryRanges; Index++) {
        MINIDUMP_MEMORY_DESCRIPTOR64 *Range = &Memory->MemoryRanges[Index];
        ULONG Type = MEM_PRIVATE;

        for (Info = 0; Infos != NULL && Info < Infos->NumberOfEntries; Info++) {
            MINIDUMP_MEMORY_INFO *This = (MINIDUMP_MEMORY_INFO *)
                ((char *)Infos + Infos->SizeOfHeader +
                 Info * Infos->SizeOfEntry);

            if (This->BaseAddress == Range->StartOfMemoryRange) {
                Type = This->Type;
            }
        }

        AddRegion(Range->StartOfMemoryRange, Range->DataSize, Bytes + At, Type);
        At += Range->DataSize;
    }

    for (Index = 0; List != NULL && Index < List->NumberOfThreads; Index++) {
        Threads[NumberOfThreads].Id = List->Threads[Index].ThreadId;
        Threads[NumberOfThreads].Teb = List->Threads[Index].Teb;
        NumberOfThreads += 1;
    }
}

//
// Writes a minidump of a process: what is mapped, the images of the named
// modules, and the threads' blocks.
//

static void
Save(ULONG Id, const char *Name)
{
    static MINIDUMP_MEMORY_DESCRIPTOR64 Ranges[4096];
    static MINIDUMP_MEMORY_INFO Infos[4096];
    static unsigned char Buffer[0x10000];
    MINIDUMP_HEADER Header = { MINIDUMP_SIGNATURE, MINIDUMP_VERSION, 3 };
    MINIDUMP_DIRECTORY Directory[3];
    MINIDUMP_MEMORY_INFO_LIST InfoList = {
        sizeof(InfoList), sizeof(MINIDUMP_MEMORY_INFO) };
    MINIDUMP_THREAD Thread;
    MEMORY_BASIC_INFORMATION Found;
    ULONG64 Address = 0;
    ULONG64 Number = 0;
    ULONG64 Place;
    ULONG64 Offset;
    ULONG Count;
    FILE *File = fopen(Name, "wb");
    int Index;

    OpenLive(Id);
    while (VirtualQueryEx(Process, (PVOID)Address, &Found, sizeof(Found)) &&
           Number < 4096) {
        ULONG64 Start = (ULONG64)Found.BaseAddress;
        BOOL Wanted = FALSE;

        if (Found.State == MEM_COMMIT && Found.Protect != PAGE_NOACCESS &&
            (Found.Protect & PAGE_GUARD) == 0) {
            Wanted = Found.Type == MEM_MAPPED;
            Wanted |= Found.Type == MEM_IMAGE &&
                      (ULONG64)Found.AllocationBase < 0x7B0000000000ULL &&
                      (ULONG64)Found.AllocationBase >= 0x100000000ULL;
            for (Index = 0; Index < NumberOfThreads; Index++) {
                Wanted |= Threads[Index].Teb - Start < Found.RegionSize;
            }
            if (Found.RegionSize > 0x4000000) Wanted = FALSE;
        }

        //
        // What cannot be read is not there.
        //

        if (Wanted && Read(Start, Buffer, 4096, &Count) == S_OK) {
            Ranges[Number].StartOfMemoryRange = Start;
            Ranges[Number].DataSize = Found.RegionSize;
            Infos[Number].BaseAddress = Start;
            Infos[Number].AllocationBase = (ULONG64)Found.AllocationBase;
            Infos[Number].RegionSize = Found.RegionSize;
            Infos[Number].State = Found.State;
            Infos[Number].Protect = Found.Protect;
            Infos[Number].Type = Found.Type;
            Number += 1;
        }

        Address = Start + Found.RegionSize;
    }

    Place = sizeof(Header) + sizeof(Directory);
    Directory[0].StreamType = ThreadListStream;
    Directory[0].Location.Rva = (RVA)Place;
    Directory[0].Location.DataSize = 4 + NumberOfThreads * sizeof(Thread);
    Place += Directory[0].Location.DataSize;
    Directory[1].StreamType = MemoryInfoListStream;
    Directory[1].Location.Rva = (RVA)Place;
    Directory[1].Location.DataSize =
        (ULONG)(sizeof(InfoList) + Number * sizeof(Infos[0]));
    Place += Directory[1].Location.DataSize;
    Directory[2].StreamType = Memory64ListStream;
    Directory[2].Location.Rva = (RVA)Place;
    Directory[2].Location.DataSize = (ULONG)(16 + Number * sizeof(Ranges[0]));
    Place += Directory[2].Location.DataSize;
    Header.StreamDirectoryRva = sizeof(Header);
    Header.Flags = MiniDumpWithFullMemory | MiniDumpWithFullMemoryInfo;

    fwrite(&Header, sizeof(Header), 1, File);
    fwrite(Directory, sizeof(Directory), 1, File);
    fwrite(&NumberOfThreads, 4, 1, File);
    for (Index = 0; Index < NumberOfThreads; Index++) {
        memset(&Thread, 0, sizeof(Thread));
        Thread.ThreadId = Threads[Index].Id;
        Thread.Teb = Threads[Index].Teb;
        fwrite(&Thread, sizeof(Thread), 1, File);
    }

    InfoList.NumberOfEntries = Number;
    fwrite(&InfoList, sizeof(InfoList), 1, File);
    fwrite(Infos, sizeof(Infos[0]), Number, File);
    fwrite(&Number, 8, 1, File);
    fwrite(&Place, 8, 1, File);
    fwrite(Ranges, sizeof(Ranges[0]), Number, File);
    for (Address = 0; Address < Number; Address++) {
        for (Offset = 0; Offset < Ranges[Address].DataSize;
             Offset += sizeof(Buffer)) {
            ULONG Part = sizeof(Buffer);

            if (Part > Ranges[Address].DataSize - Offset) {
                Part = (ULONG)(Ranges[Address].DataSize - Offset);
            }
            memset(Buffer, 0, sizeof(Buffer));
            Read(Ranges[Address].StartOfMemoryRange + Offset, Buffer, Part,
                 &Count);
            fwrite(Buffer, 1, Part, File);
        }
    }

    printf("=== saved %llu regions, %d threads\n", Number, NumberOfThreads);
    fclose(File);
}

static int
CompareSymbols(const void *First, const void *Second)
{
    ULONG64 One = ((const SYMBOL *)First)->Address;
    ULONG64 Other = ((const SYMBOL *)Second)->Address;

    return One < Other ? -1 : One > Other;
}

static void
ReadSymbols(const char *Name)
{
    FILE *File = fopen(Name, "r");
    char Line[512];

    if (File == NULL) return;
    while (fgets(Line, sizeof(Line), File) != NULL) {
        if (Line[0] == 'M' && NumberOfModules < 64) {
            MODULE *Module = &Modules[NumberOfModules];

            if (sscanf(Line + 1, "%63s %llx %llx", Module->Name, &Module->Base,
                       &Module->Size) == 3) {
                NumberOfModules += 1;
            }
        } else if (Line[0] == 'S') {
            if (NumberOfSymbols % 4096 == 0) {
                Symbols = realloc(Symbols,
                                  (NumberOfSymbols + 4096) * sizeof(SYMBOL));
            }
            if (sscanf(Line + 1, "%llx %119s",
                       &Symbols[NumberOfSymbols].Address,
                       Symbols[NumberOfSymbols].Name) == 2) {
                NumberOfSymbols += 1;
            }
        }
    }

    fclose(File);
    qsort(Symbols, NumberOfSymbols, sizeof(SYMBOL), CompareSymbols);
}

static BOOL
ReadOption(const char *Option)
{
    unsigned Index;

    if (strcmp(Option, "kernel") == 0) {
        IsKernel = TRUE;
    } else if (strcmp(Option, "connection") == 0) {
        IsConnection = TRUE;
    } else if (strcmp(Option, "noquery") == 0) {
        HasQuery = FALSE;
    } else if (strcmp(Option, "notarget") == 0) {
        HasTarget = FALSE;
    } else if (strncmp(Option, "interrupt=", 10) == 0) {
        InterruptAfter = atoi(Option + 10);
    } else if (strncmp(Option, "raise=", 6) == 0) {
        RaiseAt = atoi(Option + 6);
    } else if (strncmp(Option, "thread=", 7) == 0) {
        for (Index = 0; Index < (unsigned)NumberOfThreads; Index++) {
            if (Threads[Index].Id == (ULONG)atoi(Option + 7)) {
                CurrentThread = Index;
            }
        }
    } else if (strncmp(Option, "hole=", 5) == 0 && NumberOfHoles < 64) {
        sscanf(Option + 5, "%llx,%llx", &Holes[NumberOfHoles][0],
               &Holes[NumberOfHoles][1]);
        NumberOfHoles += 1;
    } else {
        return FALSE;
    }

    return TRUE;
}

//
// The extension's allocations: counted, and one of them refused.  It finds the
// system's routines by GetProcAddress, which stands in its import table.
//

typedef PVOID (NTAPI *ALLOCATE)(PVOID, ULONG, SIZE_T);
typedef BOOLEAN (NTAPI *FREE)(PVOID, ULONG, PVOID);

static ALLOCATE RealAllocate;
static FREE RealFree;
static long Allocations;
static long Outstanding;
static long FailAt;

static PVOID NTAPI
Allocate(PVOID Heap, ULONG Flags, SIZE_T Size)
{
    PVOID Block;

    Allocations += 1;
    if (Allocations == FailAt) return NULL;
    Block = RealAllocate(Heap, Flags, Size);
    Outstanding += Block != NULL;
    return Block;
}

static BOOLEAN NTAPI
Free(PVOID Heap, ULONG Flags, PVOID Block)
{
    Outstanding -= Block != NULL;
    return RealFree(Heap, Flags, Block);
}

static FARPROC WINAPI
FindRoutine(HMODULE Module, LPCSTR Name)
{
    FARPROC Found = GetProcAddress(Module, Name);

    if ((ULONG64)Name > 0xFFFF && strcmp(Name, "RtlAllocateHeap") == 0) {
        RealAllocate = (ALLOCATE)(void *)Found;
        return (FARPROC)(void *)Allocate;
    }
    if ((ULONG64)Name > 0xFFFF && strcmp(Name, "RtlFreeHeap") == 0) {
        RealFree = (FREE)(void *)Found;
        return (FARPROC)(void *)Free;
    }

    return Found;
}

static BOOL
WatchMemory(HMODULE Library)
{
    unsigned char *Base = (unsigned char *)Library;
    IMAGE_NT_HEADERS64 *Headers = (IMAGE_NT_HEADERS64 *)
        (Base + ((IMAGE_DOS_HEADER *)Base)->e_lfanew);
    void *Real = (void *)GetProcAddress;
    IMAGE_DATA_DIRECTORY *Iat = &Headers->OptionalHeader.DataDirectory[12];
    void **Slots = (void **)(Base + Iat->VirtualAddress);
    DWORD Old;
    ULONG Index;

    for (Index = 0; Index < Iat->Size / sizeof(void *); Index++) {
        if (Slots[Index] == Real) {
            VirtualProtect(&Slots[Index], 8, PAGE_READWRITE, &Old);
            Slots[Index] = (void *)FindRoutine;
            return TRUE;
        }
    }

    return FALSE;
}

static HRESULT
Run(HMODULE Library, const char *Text)
{
    char Name[64];
    COMMAND Command;
    size_t Length = strcspn(Text, " ");

    snprintf(Name, sizeof(Name), "%.*s", (int)Length, Text);
    Command = (COMMAND)(void *)GetProcAddress(Library, Name);
    if (Command == NULL) {
        printf("=== no command %s\n", Name);
        exit(2);
    }

    Interrupts = 0;
    return Command(&Client, Text + Length);
}

static unsigned Random;

static unsigned
Next(unsigned Below)
{
    Random ^= Random << 13;
    Random ^= Random >> 17;
    Random ^= Random << 5;
    return Random % Below;
}

//
// Lets each allocation of each command fail.
//

static int
RefuseMemory(HMODULE Library, char **Commands, int Count)
{
    int Failures = 0;
    int Index;

    IsQuiet = TRUE;
    for (Index = 0; Index < Count; Index++) {
        long At;

        for (At = 1; ; At++) {
            HRESULT Result;

            Allocations = 0;
            FailAt = At;
            Written = 0;
            Result = Run(Library, Commands[Index]);
            if (References != 0 || Outstanding != 0 ||
                (Result != S_OK && Result != E_OUTOFMEMORY)) {
                printf("=== %s, allocation %ld: 0x%08lx, %ld references, "
                       "%ld blocks\n", Commands[Index], At, Result,
                       References, Outstanding);
                Failures += 1;
                References = Outstanding = 0;
            }
            if (Allocations < At) break;
        }
        printf("=== %s: %ld allocations\n", Commands[Index], At - 1);
    }

    FailAt = 0;
    printf("=== %d failures\n", Failures);
    return Failures != 0;
}

//
// Changes bytes and takes regions away, calls all commands, and puts
// everything back.
//

static int
Fuzz(HMODULE Library, int Rounds, char **Commands, int Count)
{
    struct { unsigned char *Place; unsigned char Value; } Journal[64];
    REGION **Special = malloc(NumberOfRegions * sizeof(REGION *));
    int NumberSpecial = 0;
    int Round;
    int Index;
    int Failures = 0;

    for (Index = 0; Index < NumberOfRegions; Index++) {
        if (Regions[Index].Size >= 8 &&
            (memcmp(Regions[Index].Bytes, "TRC", 3) == 0 ||
             memcmp(Regions[Index].Bytes, "MZ", 2) == 0)) {
            Special[NumberSpecial++] = &Regions[Index];
        }
    }

    IsQuiet = TRUE;
    for (Round = 0; Round < Rounds; Round++) {
        int Changes = 1 + Next(8);
        int Taken = 0;
        REGION *Gone[4];

        for (Index = 0; Index < Changes; Index++) {
            REGION *Region = NumberSpecial != 0 && Next(8) != 0
                ? Special[Next(NumberSpecial)]
                : &Regions[Next(NumberOfRegions)];
            ULONG64 Most = Next(4) != 0 && Region->Size > 0x800 ? 0x800
                                                               : Region->Size;
            unsigned char *Place = Region->Bytes + Next((unsigned)Most);

            Journal[Index].Place = Place;
            Journal[Index].Value = *Place;
            switch (Next(4)) {
            case 0: *Place = 0; break;
            case 1: *Place = 0xFF; break;
            case 2: *Place ^= (unsigned char)(1 << Next(8)); break;
            default: *Place = (unsigned char)Next(256); break;
            }
        }

        if (Next(4) == 0) {
            for (; Taken < 4; Taken++) {
                Gone[Taken] = &Regions[Next(NumberOfRegions)];
                Gone[Taken]->Missing += 1;
            }
        }

        for (Index = 0; Index < Count; Index++) {
            HRESULT Result;

            Written = 0;
            MostWritten = 64 << 20;
            Result = Run(Library, Commands[Index]);
            if (Result != S_OK || References != 0 || Outstanding != 0) {
                printf("=== round %d, %s: 0x%08lx, %ld references, %ld "
                       "blocks\n", Round, Commands[Index], Result, References,
                       Outstanding);
                Failures += 1;
                References = Outstanding = 0;
            }
        }

        while (Taken-- > 0) Gone[Taken]->Missing -= 1;
        for (Index = Changes; Index-- > 0;) {
            *Journal[Index].Place = Journal[Index].Value;
        }
    }

    printf("=== %d rounds, %d failures, %ld unknown, checksum %08x\n", Rounds,
           Failures, Strange, Checksum);
    return Failures != 0;
}

//
// What a debugger may do in the wrong order.
//

static int
Misuse(HMODULE Library)
{
    static const char *const Names[] = {
        "modulestats", "lastcalls", "calltree", "stack_usage", "tracer",
        "help" };
    INITIALIZE Initialize = (INITIALIZE)(void *)GetProcAddress(
        Library, "DebugExtensionInitialize");
    UNINITIALIZE Uninitialize = (UNINITIALIZE)(void *)GetProcAddress(
        Library, "DebugExtensionUninitialize");
    NOTIFY Notify = (NOTIFY)(void *)GetProcAddress(Library,
                                                   "DebugExtensionNotify");
    ULONG Version = 0;
    ULONG Flags = 1;
    unsigned Index;

    printf("initialize 0x%08lx\n", Initialize(&Version, &Flags));
    printf("version %lx flags %lx\n", Version, Flags);
    for (Index = 0; Index < 5; Index++) Notify(Index, 0);
    Uninitialize();
    Uninitialize();
    for (Index = 0; Index < 6; Index++) {
        COMMAND Command = (COMMAND)(void *)GetProcAddress(Library,
                                                          Names[Index]);

        printf("%s without client 0x%08lx\n", Names[Index],
               Command(NULL, ""));
        HasTarget = FALSE;
        printf("%s without target: ", Names[Index]);
        fflush(stdout);
        Command(&Client, NULL);
        HasTarget = TRUE;
        printf("%s without arguments: ", Names[Index]);
        Command(&Client, NULL);
        printf("%s with bad ones: ", Names[Index]);
        Command(&Client, " -x -y zz 1 2 3 4 5 6 7 8 9 10 ");
    }

    printf("=== %ld references, %ld unknown\n", References, Strange);
    FreeLibrary(Library);
    FreeLibrary(LoadLibraryA("TracerKd.dll"));
    return 0;
}

int
main(int Count, char **Arguments)
{
    HMODULE Library;
    int Index = 5;
    BOOL IsFuzz = strcmp(Arguments[2], "fuzz") == 0;

    MakeInterfaces();
    setvbuf(stdout, NULL, _IOFBF, 0x10000);
    Library = LoadLibraryA(Arguments[1]);
    if (Library == NULL) {
        printf("=== cannot load %s: %lu\n", Arguments[1], GetLastError());
        return 2;
    }

    if (strcmp(Arguments[2], "save") == 0) {
        Save(atoi(Arguments[3]), Arguments[4]);
        return 0;
    }

    if (strcmp(Arguments[2], "end") == 0) {
        OpenLive(atoi(Arguments[3]));
        return !TerminateProcess(Process, 0);
    }

    if (strcmp(Arguments[2], "misuse") == 0) {
        return Misuse(Library);
    }

    if (strcmp(Arguments[2], "live") == 0) {
        OpenLive(atoi(Arguments[3]));
    } else {
        OpenDump(Arguments[3]);
    }

    ReadSymbols(Arguments[4]);
    if (IsFuzz) {
        Random = atoi(Arguments[6]) * 2654435761u + 1;
        Index = 7;
    }

    while (Index < Count && ReadOption(Arguments[Index])) Index += 1;
    if (!WatchMemory(Library)) {
        printf("=== GetProcAddress is not imported\n");
        return 2;
    }

    if (strcmp(Arguments[2], "memory") == 0) {
        return RefuseMemory(Library, Arguments + Index, Count - Index);
    }

    if (IsFuzz) {
        return Fuzz(Library, atoi(Arguments[5]), Arguments + Index,
                    Count - Index);
    }

    for (; Index < Count; Index++) {
        HRESULT Result;

        printf("=== %s\n", Arguments[Index]);
        Written = 0;
        Strange = Reads = 0;
        Result = Run(Library, Arguments[Index]);
        if (Outstanding != 0 && Result == S_OK) {
            printf("=== %ld blocks are left\n", Outstanding);
            return 3;
        }

        Outstanding = 0;
        printf("=== 0x%08lx reads %ld unknown %ld references %ld\n", Result,
               Reads, Strange, References);
    }

    return 0;
}
