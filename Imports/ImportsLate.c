/*++

Module Name:

    ImportsLate.c

Abstract:

    What comes while the program runs: modules, functions that it asks for by
    name, imports that are resolved when they are first called.

--*/

#include "ImportsExport.h"
#include "ImportsSlot.h"

//
// LdrRegisterDllNotification.
//

#define IMPORTS_LOADED      1
#define IMPORTS_UNLOADED    2

typedef struct _IMPORTS_NOTIFIED {
    ULONG Flags;
    PCUNICODE_STRING Path;
    PCUNICODE_STRING Name;
    PVOID Base;
    ULONG SizeInBytes;
} IMPORTS_NOTIFIED;
typedef const IMPORTS_NOTIFIED *PCIMPORTS_NOTIFIED;

_Use_decl_annotations_
VOID
CALLBACK
ImportsNotify(
    ULONG Reason,
    PVOID Data,
    PVOID Context
    )
{
    PCIMPORTS_NOTIFIED Notified = (PCIMPORTS_NOTIFIED)Data;
    ULONG Index;

    UNREFERENCED_PARAMETER(Context);

    if (!ImportsAcquireLock()) {
        return;
    }

    if (!ImportsState.IsAttached) {
        ImportsReleaseLock();
        return;
    }

    if (Reason == IMPORTS_UNLOADED) {
        Index = ImportsForgetModule(Notified->Base);
        if (Index != IMPORTS_NONE) {
            ImportsForgetStubs(Index);
        }
    } else if (Reason == IMPORTS_LOADED) {
        (VOID)ImportsEnterModule(Notified->Base,
                                 Notified->SizeInBytes,
                                 Notified->Path);
        ImportsRefreshModules();
        ImportsPatchModules();
    }

    ImportsReleaseLock();
}

//
// ImportsWrap for a function that has no slot of an import directory: what is
// counted are those.
//

static
PVOID
ImportsWrapLate(
    _In_ ULONG Importer,
    _In_ ULONG Exporter,
    _In_ PVOID Target,
    _In_ PCIMPORTS_NAME Name
    )
{
    TRACE_IMPORTS_HEADER Counts;
    PVOID Wrapped;

    Counts = ImportsState.Counts;
    Wrapped = ImportsWrap(Importer, Exporter, Target, Name);
    ImportsState.Counts.NumberOfImports = Counts.NumberOfImports;
    RtlCopyBytes(ImportsState.Counts.NumberLeftOut,
                 Counts.NumberLeftOut,
                 sizeof(Counts.NumberLeftOut));
    if (Wrapped != Target) {
        ImportsFlushFile();
    }

    return Wrapped;
}

//
// The module that has called one of the replacements, from where they return
// to: if that is a stub, the one that the stub is for.
//

static
ULONG
ImportsFindCaller(
    _In_ const VOID *ReturnAddress
    )
{
    ULONG Stub;
    ULONG Index;

    Stub = ImportsFindStub(ReturnAddress);
    Index = Stub != IMPORTS_NONE ? ImportsGetImporter(Stub)
                                 : ImportsFindModule(ReturnAddress);
    return Index != IMPORTS_NONE && ImportsModules[Index].IsCaller
               ? Index
               : IMPORTS_NONE;
}

//
// Whose address programs give to other processes, as what a thread there begins
// with: a stub is nothing in them.
//

static
BOOLEAN
ImportsIsForOthers(
    _In_z_ PCSZ Name
    )
{
    static const PCSZ Names[] = {
        "LoadLibraryA", "LoadLibraryW", "LoadLibraryExA", "LoadLibraryExW",
        "LdrLoadDll", "FreeLibrary", "LdrUnloadDll", "ExitThread",
        "RtlExitUserThread", "FreeLibraryAndExitThread"
    };
    ULONG Length = RtlLengthOfString(Name);
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index += 1) {
        if (Length == RtlLengthOfString(Names[Index]) &&
            RtlAreBytesEqual(Name, Names[Index], Length)) {

            return TRUE;
        }
    }

    return FALSE;
}

//
// GetProcAddress.  The library in a module with hooks asks for what it calls,
// and says so in the two registers behind the arguments (RtlBootstrap.c).
//

_Use_decl_annotations_
FARPROC
WINAPI
ImportsGetProcAddress(
    HMODULE Module,
    PCSZ Name,
    ULONGLONG First,
    ULONGLONG Second
    )
{
    IMPORTS_NAME Import;
    FARPROC Found;
    ULONG Importer;
    ULONG Exporter;
    PVOID Caller;

    Caller = _ReturnAddress();
    Found = ImportsState.GetAddress[0](Module, Name);
    if (Found == NULL ||
        (First == RTL_OWN_REQUEST && Second == ~RTL_OWN_REQUEST) ||
        ((ULONG_PTR)Name > 0xFFFF && ImportsIsForOthers(Name)) ||
        !ImportsAcquireLock()) {

        return Found;
    }

    if (ImportsState.IsAttached && ImportsState.IsPending) {
        ImportsPatchModules();
    }

    Importer = ImportsState.IsAttached ? ImportsFindCaller(Caller)
                                       : IMPORTS_NONE;
    if (Importer != IMPORTS_NONE) {
        Exporter = ImportsFindModule(Module);
        RtlZeroBytes(&Import, sizeof(Import));
        if ((ULONG_PTR)Name > 0xFFFF) {
            Import.Text = Name;
            Import.Length = RtlLengthOfString(Name);
        } else {
            Import.Ordinal = (USHORT)(ULONG_PTR)Name;
            if (Exporter != IMPORTS_NONE) {
                ImportsNameOrdinal(&ImportsModules[Exporter], &Import);
            }
        }
        Found = (FARPROC)(ULONG_PTR)ImportsWrapLate(
            Importer,
            Exporter,
            (PVOID)(ULONG_PTR)Found,
            &Import);
    }

    ImportsReleaseLock();
    return Found;
}

//
// ResolveDelayLoadedAPI: the slot has the address when it returns.
//

_Use_decl_annotations_
PVOID
WINAPI
ImportsResolveDelayed(
    PVOID ParentBase,
    const VOID *Descriptor,
    PVOID FailureDllHook,
    PVOID FailureSystemHook,
    PVOID *Slot,
    ULONG Flags
    )
{
    const IMAGE_DELAYLOAD_DESCRIPTOR *Delayed;
    IMPORTS_NAME Import;
    const ULONGLONG *Lookup;
    PVOID Found;
    PVOID Wrapped;
    PBYTE Base;
    ULONG Importer;

    Found = ImportsState.Resolve[0](ParentBase,
                                    Descriptor,
                                    FailureDllHook,
                                    FailureSystemHook,
                                    Slot,
                                    Flags);
    if (Found == NULL || !ImportsAcquireLock()) {
        return Found;
    }

    Base = (PBYTE)ParentBase;
    Delayed = (const IMAGE_DELAYLOAD_DESCRIPTOR *)Descriptor;
    Importer = ImportsState.IsAttached ? ImportsFindModule(ParentBase)
                                       : IMPORTS_NONE;
    if (Importer != IMPORTS_NONE && ImportsModules[Importer].IsCaller &&
        *Slot == Found) {

        RtlZeroBytes(&Import, sizeof(Import));
        Lookup = (const ULONGLONG *)(Base + Delayed->ImportNameTableRVA) +
                 (Slot - (PVOID *)(Base + Delayed->ImportAddressTableRVA));
        if ((*Lookup & IMAGE_ORDINAL_FLAG64) != 0) {
            Import.Ordinal = (USHORT)*Lookup;
        } else {
            Import.Text = (const CHAR *)Base + *Lookup +
                          FIELD_OFFSET(IMAGE_IMPORT_BY_NAME, Name);
            Import.Length = RtlLengthOfString(Import.Text);
        }

        Wrapped = ImportsWrapLate(
            Importer,
            ImportsFindModuleByName((PCSZ)Base + Delayed->DllNameRVA),
            Found,
            &Import);
        if (Wrapped != Found &&
            ImportsChangeSlot(Importer, Slot, Found, Wrapped)) {
            Found = Wrapped;
        }
        ImportsCloseSlots();
    }

    ImportsReleaseLock();
    return Found;
}
