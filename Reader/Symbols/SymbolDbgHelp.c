/*++

Module Name:

    SymbolDbgHelp.c

Abstract:

    Function names and source lines through dbghelp.dll.

    A damaged PDB or image can make DbgHelp fault.  Every call of it is in a
    __try of a routine of its own; after an exception the session is broken,
    knows nothing more and is not called again, since nobody can say in what
    state DbgHelp left it.

    Wine's DbgHelp has assertions: one that fails would end the process through
    abort() of its C runtime.  That calls the handler of SIGABRT first, which
    is ours during a call and raises an exception.  Types that contain
    themselves make it call itself until the stack is full: enough of the stack
    is kept for that exception to be dispatched.

--*/

#include "../../Rtl/RtlTeb.h"
#include "SymbolDbgHelp.h"
#include <dbghelp.h>

//
// LoadLibraryExW: the program's own folder (for the one who puts a newer
// dbghelp.dll there), then the system's, and nowhere else.
//

#define READER_LOAD_FLAGS \
    (LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32)

#define READER_SYMBOL_OPTIONS       \
    (SYMOPT_UNDNAME |               \
     SYMOPT_LOAD_LINES |            \
     SYMOPT_FAIL_CRITICAL_ERRORS |  \
     SYMOPT_NO_PROMPTS)

//
// Names longer than this, in 16-bit units, are cut by DbgHelp.
//

#define READER_MAXIMUM_NAME_IN_CHARS 4000

//
// The module's address in the session, when the store's header has one that
// cannot be.
//

#define READER_SUBSTITUTE_BASE 0x180000000ULL

//
// The C runtimes that DbgHelp may be made with, and the number of the signal
// that abort() raises there.
//

#define READER_NUMBER_OF_RUNTIMES 2
#define READER_SIGNAL_ABORT 22

static const PCWSTR ReaderRuntimeNames[READER_NUMBER_OF_RUNTIMES] = {
    L"ucrtbase.dll",
    L"msvcrt.dll"
};

//
// What is kept of the stack for the exception that says that it is full, in
// bytes.
//

#define READER_STACK_GUARANTEE 0x10000
#define READER_PAGE_SIZE 0x1000

//
// SymTagEnum of the Debug Interface Access SDK.
//

#define READER_SYMBOL_TAG_FUNCTION 5

//
// Names are kept in chunks, so that those given out stay where they are.
//

#define READER_NAME_CHUNK_SIZE 0x10000

typedef BOOL (WINAPI SYM_INITIALIZE_W)(
    _In_ HANDLE Process,
    _In_opt_ PCWSTR UserSearchPath,
    _In_ BOOL InvadeProcess
    );

typedef DWORD (WINAPI SYM_SET_OPTIONS)(
    _In_ DWORD Options
    );

typedef DWORD64 (WINAPI SYM_LOAD_MODULE_EX_W)(
    _In_ HANDLE Process,
    _In_opt_ HANDLE File,
    _In_opt_ PCWSTR ImageName,
    _In_opt_ PCWSTR ModuleName,
    _In_ DWORD64 BaseOfDll,
    _In_ DWORD DllSize,
    _In_opt_ PMODLOAD_DATA Data,
    _In_ DWORD Flags
    );

typedef BOOL (WINAPI SYM_FROM_ADDR_W)(
    _In_ HANDLE Process,
    _In_ DWORD64 Address,
    _Out_opt_ PDWORD64 Displacement,
    _Inout_ PSYMBOL_INFOW Symbol
    );

typedef BOOL (WINAPI SYM_GET_MODULE_INFO_W64)(
    _In_ HANDLE Process,
    _In_ DWORD64 Address,
    _Out_ PIMAGEHLP_MODULEW64 ModuleInformation
    );

typedef BOOL (WINAPI SYM_UNLOAD_MODULE64)(
    _In_ HANDLE Process,
    _In_ DWORD64 BaseOfDll
    );

typedef BOOL (WINAPI SYM_CLEANUP)(
    _In_ HANDLE Process
    );

typedef BOOL (WINAPI SYM_GET_LINE_FROM_ADDR_W64)(
    _In_ HANDLE Process,
    _In_ DWORD64 Address,
    _Out_ PDWORD Displacement,
    _Out_ PIMAGEHLP_LINEW64 Line
    );

typedef BOOL (CALLBACK SYM_ENUMERATE_CALLBACK_W)(
    _In_ PSYMBOL_INFOW Symbol,
    _In_ ULONG SymbolSize,
    _In_opt_ PVOID Context
    );

typedef BOOL (WINAPI SYM_ENUM_SYMBOLS_W)(
    _In_ HANDLE Process,
    _In_ ULONG64 BaseOfDll,
    _In_opt_ PCWSTR Mask,
    _In_ SYM_ENUMERATE_CALLBACK_W *Callback,
    _In_opt_ PVOID Context
    );

typedef VOID (__cdecl READER_SIGNAL_HANDLER)(
    _In_ int Signal
    );
typedef READER_SIGNAL_HANDLER *PREADER_SIGNAL_HANDLER;

typedef PREADER_SIGNAL_HANDLER (__cdecl READER_SET_SIGNAL_HANDLER)(
    _In_ int Signal,
    _In_opt_ PREADER_SIGNAL_HANDLER Handler
    );
typedef READER_SET_SIGNAL_HANDLER *PREADER_SET_SIGNAL_HANDLER;

typedef struct _READER_RUNTIME {
    HMODULE Library;
    PREADER_SET_SIGNAL_HANDLER Signal;  // NULL: there is no such runtime
} READER_RUNTIME;
typedef READER_RUNTIME *PREADER_RUNTIME;

//
// The routines of DbgHelp.  ENTRY(Type, Name); the optional ones are NULL when
// they are missing.
//

#define READER_DBGHELP_REQUIRED(ENTRY)                                      \
    ENTRY(SYM_INITIALIZE_W, SymInitializeW)                                 \
    ENTRY(SYM_SET_OPTIONS, SymSetOptions)                                   \
    ENTRY(SYM_LOAD_MODULE_EX_W, SymLoadModuleExW)                           \
    ENTRY(SYM_FROM_ADDR_W, SymFromAddrW)                                    \
    ENTRY(SYM_GET_MODULE_INFO_W64, SymGetModuleInfoW64)                     \
    ENTRY(SYM_UNLOAD_MODULE64, SymUnloadModule64)                           \
    ENTRY(SYM_CLEANUP, SymCleanup)

#define READER_DBGHELP_OPTIONAL(ENTRY)                                      \
    ENTRY(SYM_GET_LINE_FROM_ADDR_W64, SymGetLineFromAddrW64)                \
    ENTRY(SYM_ENUM_SYMBOLS_W, SymEnumSymbolsW)

#define READER_DECLARE_ROUTINE(Type, Name) Type *Name;
#define READER_NAME_ROUTINE(Type, Name) #Name,

typedef struct _READER_DBGHELP_ROUTINES {
    READER_DBGHELP_REQUIRED(READER_DECLARE_ROUTINE)
    READER_DBGHELP_OPTIONAL(READER_DECLARE_ROUTINE)
} READER_DBGHELP_ROUTINES;

static const PCSZ ReaderRequiredNames[] = {
    READER_DBGHELP_REQUIRED(READER_NAME_ROUTINE)
};

static const PCSZ ReaderOptionalNames[] = {
    READER_DBGHELP_OPTIONAL(READER_NAME_ROUTINE)
};

C_ASSERT(sizeof(READER_DBGHELP_ROUTINES) ==
         (RTL_NUMBER_OF(ReaderRequiredNames) +
          RTL_NUMBER_OF(ReaderOptionalNames)) * sizeof(PVOID));

typedef struct _READER_NAME_CHUNK {
    struct _READER_NAME_CHUNK *Next;
    ULONG CapacityInBytes;          // of what follows the structure
    ULONG UsedInBytes;
} READER_NAME_CHUNK;
typedef READER_NAME_CHUNK *PREADER_NAME_CHUNK;

struct _READER_DBGHELP {

    PCRTL Rtl;
    PCALLOCATOR Allocator;
    HMODULE Library;
    BOOLEAN IsInitialized;          // SymInitializeW has succeeded
    BOOLEAN IsBroken;               // DbgHelp has raised an exception
    ULONG ModuleSizeInBytes;
    ULONGLONG Base;                 // of the module in the session; 0: none
    PCWSTR SearchPath;              // the caller's; NULL: DbgHelp's own
    PREADER_NAME_CHUNK Chunks;      // the newest first

    //
    // The name of the file that the last line was in: neighbours share it.
    //

    PCSZ FileName;
    ULONG FileNameLength;           // bytes

    READER_DBGHELP_ROUTINES Routines;
    READER_RUNTIME Runtimes[READER_NUMBER_OF_RUNTIMES];

    //
    // What DbgHelp fills; too large for the stack.
    //

    IMAGEHLP_MODULEW64 Module;
    IMAGEHLP_LINEW64 Line;
    SYMBOL_INFOW Symbol;
    WCHAR MoreOfSymbolName[READER_MAXIMUM_NAME_IN_CHARS];
};

typedef
BOOL
(READER_DBGHELP_CALL)(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONGLONG Argument
    );
typedef READER_DBGHELP_CALL *PREADER_DBGHELP_CALL;

//
// Is called by abort() of a C runtime, and leaves it by an exception.
// Does not return.
//

static
VOID
__cdecl
SymbolRaiseAbort(
    _In_ int Signal
    )
{
    UNREFERENCED_PARAMETER(Signal);

    RaiseException((DWORD)STATUS_ASSERTION_FAILURE,
                   EXCEPTION_NONCONTINUABLE,
                   0,
                   NULL);
}

//
// Sets what abort() calls. A runtime forgets its handler when it calls it, so
// this is done for each call of DbgHelp.
// DbgHelp: the session.
// Handler: the handler, or NULL for the runtime's own.
//

static
VOID
SymbolSetAbortHandler(
    _In_ PREADER_DBGHELP DbgHelp,
    _In_opt_ PREADER_SIGNAL_HANDLER Handler
    )
{
    ULONG Index;

    for (Index = 0; Index < READER_NUMBER_OF_RUNTIMES; Index++) {
        if (DbgHelp->Runtimes[Index].Signal != NULL) {
            DbgHelp->Runtimes[Index].Signal(READER_SIGNAL_ABORT, Handler);
        }
    }
}

//
// Sees to it that the exception for a full stack comes while there is enough
// of the stack left to handle it. It takes the guard page away, so this is
// done again after an exception.
//
// Windows needs to be told how much is wanted. Wine has all of the stack in
// place, with a guard page at its very end, and honours the wish only at a
// guard page that is farther up. Where nothing is in place there yet, as on
// Windows, there is nothing to protect, and the call fails.
//

static
VOID
SymbolGuardStack(
    VOID
    )
{
    PUCHAR Lowest = (PUCHAR)__readgsqword(TEB_DEALLOCATION_STACK);
    ULONG Guarantee = READER_STACK_GUARANTEE;
    DWORD Protection;

    SetThreadStackGuarantee(&Guarantee);
    VirtualProtect(Lowest + READER_STACK_GUARANTEE,
                   READER_PAGE_SIZE,
                   PAGE_READWRITE | PAGE_GUARD,
                   &Protection);
}

//
// Makes one call of DbgHelp and survives what it raises. The compilers
// disagree on whether an access in this very routine would be guarded; a call
// through a pointer is guarded by all of them.
//
// DbgHelp: the session; it is broken after an exception.
// Status: STATUS_SUCCESS, or the code of the exception.
// Returns what the call returned; FALSE after an exception and on a broken
// session.
//

static
DECLSPEC_NOINLINE
BOOL
SymbolGuardCall(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ PREADER_DBGHELP_CALL Call,
    _In_ ULONGLONG Argument,
    _Out_ NTSTATUS *Status
    )
{
    BOOL Result;
    NTSTATUS ExceptionStatus;

    *Status = STATUS_SUCCESS;
    ExceptionStatus = STATUS_SUCCESS;

    if (DbgHelp->IsBroken) {
        return FALSE;
    }

    SymbolSetAbortHandler(DbgHelp, SymbolRaiseAbort);

    __try {
        Result = Call(DbgHelp, Argument);
    } __except (ExceptionStatus = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        *Status = ExceptionStatus;
        DbgHelp->IsBroken = TRUE;
        Result = FALSE;
        SymbolGuardStack();
    }

    SymbolSetAbortHandler(DbgHelp, NULL);
    return Result;
}

//
// Starts the session and loads the module's symbols.
//
// The search path is the caller's, or DbgHelp's own: the current directory,
// then what _NT_SYMBOL_PATH says. The image's folder and the PDB path in the
// image are looked at too. Options are DbgHelp's only state that sessions
// share; all of ours set the same.
//
// DbgHelp: the session. Base holds the wanted address and receives the one
// that the module has; Module receives what was found.
// ImagePath: the image's path, a PCWSTR.
// Returns FALSE if DbgHelp has nothing.
//

static
DECLSPEC_NOINLINE
BOOL
SymbolCallLoad(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONGLONG ImagePath
    )
{
    ULONGLONG Base;

    Base = DbgHelp->Base;
    DbgHelp->Base = 0;

    DbgHelp->Routines.SymSetOptions(READER_SYMBOL_OPTIONS);

    if (!DbgHelp->Routines.SymInitializeW((HANDLE)DbgHelp,
                                          DbgHelp->SearchPath,
                                          FALSE)) {
        return FALSE;
    }
    DbgHelp->IsInitialized = TRUE;

    DbgHelp->Base = DbgHelp->Routines.SymLoadModuleExW(
        (HANDLE)DbgHelp,
        NULL,
        (PCWSTR)(ULONG_PTR)ImagePath,
        NULL,
        Base,
        DbgHelp->ModuleSizeInBytes,
        NULL,
        0);
    if (DbgHelp->Base == 0) {
        return FALSE;
    }

    DbgHelp->Module.SizeOfStruct = sizeof(DbgHelp->Module);
    return DbgHelp->Routines.SymGetModuleInfoW64((HANDLE)DbgHelp,
                                                 DbgHelp->Base,
                                                 &DbgHelp->Module);
}

//
// Is called for each symbol; ends the enumeration at the first function.
// Context: a BOOL that becomes TRUE at a function.
// Returns FALSE to end.
//

static
BOOL
CALLBACK
SymbolNoteFunction(
    _In_ PSYMBOL_INFOW Symbol,
    _In_ ULONG SymbolSize,
    _In_opt_ PVOID Context
    )
{
    UNREFERENCED_PARAMETER(SymbolSize);

    if (Symbol->Tag == READER_SYMBOL_TAG_FUNCTION && Context != NULL) {
        *(PBOOL)Context = TRUE;
        return FALSE;
    }

    return TRUE;
}

//
// Says whether DbgHelp knows any function of the module.
// DbgHelp: the session.
// Returns TRUE if it does, or cannot tell.
//

static
DECLSPEC_NOINLINE
BOOL
SymbolCallHasFunction(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONGLONG Argument
    )
{
    BOOL HasFunction;

    UNREFERENCED_PARAMETER(Argument);

    if (DbgHelp->Routines.SymEnumSymbolsW == NULL) {
        return TRUE;
    }

    HasFunction = FALSE;
    DbgHelp->Routines.SymEnumSymbolsW((HANDLE)DbgHelp,
                                      DbgHelp->Base,
                                      L"*",
                                      SymbolNoteFunction,
                                      &HasFunction);
    return HasFunction;
}

//
// Asks for the symbol at an address; the answer is in Symbol.
// DbgHelp: the session.
// Rva: the address in the module.
// Returns FALSE if there is none.
//

static
DECLSPEC_NOINLINE
BOOL
SymbolCallFromAddress(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONGLONG Rva
    )
{
    DWORD64 Displacement;

    return DbgHelp->Routines.SymFromAddrW((HANDLE)DbgHelp,
                                          DbgHelp->Base + Rva,
                                          &Displacement,
                                          &DbgHelp->Symbol);
}

//
// Asks for the source line of an address; the answer is in Line.
// DbgHelp: the session.
// Rva: the address in the module.
// Returns FALSE if it is not known.
//

static
DECLSPEC_NOINLINE
BOOL
SymbolCallGetLine(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONGLONG Rva
    )
{
    DWORD Displacement;

    return DbgHelp->Routines.SymGetLineFromAddrW64((HANDLE)DbgHelp,
                                                   DbgHelp->Base + Rva,
                                                   &Displacement,
                                                   &DbgHelp->Line);
}

//
// Ends the session.
// Returns TRUE.
//

static
DECLSPEC_NOINLINE
BOOL
SymbolCallUnload(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_ ULONGLONG Argument
    )
{
    UNREFERENCED_PARAMETER(Argument);

    if (DbgHelp->Base != 0) {
        DbgHelp->Routines.SymUnloadModule64((HANDLE)DbgHelp, DbgHelp->Base);
    }

    if (DbgHelp->IsInitialized) {
        DbgHelp->Routines.SymCleanup((HANDLE)DbgHelp);
    }

    return TRUE;
}

//
// Keeps a name as UTF-8, terminated, as ImageCopyPrintable has it.
// DbgHelp: the session that owns the name from here on.
// LengthInChars: its length in 16-bit units.
// LengthInBytes: the length of the result.
// Returns the name, or NULL without memory.
//

static
_Must_inspect_result_
_Ret_maybenull_
PCHAR
SymbolKeepName(
    _Inout_ PREADER_DBGHELP DbgHelp,
    _In_reads_(LengthInChars) PCWSTR Name,
    _In_ ULONG LengthInChars,
    _Out_ PULONG LengthInBytes
    )
{
    PREADER_NAME_CHUNK Chunk;
    PCHAR Bytes;
    ULONG Capacity;
    ULONG Needed;

    *LengthInBytes = 0;

    //
    // One 16-bit unit becomes at most three bytes.
    //

    Needed = LengthInChars * 3 + 1;

    Chunk = DbgHelp->Chunks;
    if (Chunk == NULL ||
        Chunk->CapacityInBytes - Chunk->UsedInBytes < Needed) {

        Capacity = READER_NAME_CHUNK_SIZE - sizeof(*Chunk);
        if (Capacity < Needed) {
            Capacity = Needed;
        }

        Chunk = DbgHelp->Allocator->Allocate(DbgHelp->Allocator->Context,
                                             sizeof(*Chunk) + Capacity);
        if (Chunk == NULL) {
            return NULL;
        }

        Chunk->CapacityInBytes = Capacity;
        Chunk->Next = DbgHelp->Chunks;
        DbgHelp->Chunks = Chunk;
    }

    Bytes = (PCHAR)(Chunk + 1) + Chunk->UsedInBytes;
    RtlWideToUtf8(Name,
                  LengthInChars,
                  Bytes,
                  Chunk->CapacityInBytes - Chunk->UsedInBytes - 1,
                  &Needed);

    ImageCopyPrintable(Bytes, (const UCHAR *)Bytes, Needed);
    Chunk->UsedInBytes += Needed + 1;
    *LengthInBytes = Needed;
    return Bytes;
}

//
// Finds the C runtimes. The one that DbgHelp uses is loaded already.
// DbgHelp: the session.
// A runtime that is missing is not used.
//

static
VOID
SymbolLoadRuntimes(
    _Inout_ PREADER_DBGHELP DbgHelp
    )
{
    static const PCSZ Name = "signal";
    PREADER_RUNTIME Runtime;
    ULONG Index;

    for (Index = 0; Index < READER_NUMBER_OF_RUNTIMES; Index++) {

        Runtime = &DbgHelp->Runtimes[Index];
        Runtime->Library = DbgHelp->Rtl->LoadLibraryExW(
            ReaderRuntimeNames[Index],
            NULL,
            LOAD_LIBRARY_SEARCH_SYSTEM32);
        if (Runtime->Library != NULL) {
            RtlLoadSymbols(Runtime->Library,
                           &Name,
                           (PVOID *)&Runtime->Signal,
                           1,
                           NULL);
        }
    }
}

//
// Loads dbghelp.dll and finds its routines.
// DbgHelp: the session.
// Returns STATUS_SUCCESS, STATUS_DLL_NOT_FOUND or STATUS_ENTRYPOINT_NOT_FOUND.
//

static
_Must_inspect_result_
NTSTATUS
SymbolLoadRoutines(
    _Inout_ PREADER_DBGHELP DbgHelp
    )
{
    PVOID *Pointers;

    DbgHelp->Library = DbgHelp->Rtl->LoadLibraryExW(L"dbghelp.dll",
                                                    NULL,
                                                    READER_LOAD_FLAGS);
    if (DbgHelp->Library == NULL) {

        //
        // A Windows 7 without update KB2533623 does not know these flags; its
        // own order of folders is what is left there.
        //

        DbgHelp->Library = DbgHelp->Rtl->LoadLibraryExW(L"dbghelp.dll",
                                                        NULL,
                                                        0);
    }
    if (DbgHelp->Library == NULL) {
        return STATUS_DLL_NOT_FOUND;
    }

    Pointers = (PVOID *)&DbgHelp->Routines;
    if (RtlLoadSymbols(DbgHelp->Library,
                       ReaderRequiredNames,
                       Pointers,
                       RTL_NUMBER_OF(ReaderRequiredNames),
                       NULL) != 0) {
        return STATUS_ENTRYPOINT_NOT_FOUND;
    }

    RtlLoadSymbols(DbgHelp->Library,
                   ReaderOptionalNames,
                   Pointers + RTL_NUMBER_OF(ReaderRequiredNames),
                   RTL_NUMBER_OF(ReaderOptionalNames),
                   NULL);
    SymbolLoadRuntimes(DbgHelp);
    return STATUS_SUCCESS;
}

//
// Decides whether what DbgHelp found is better than what the image itself
// says. A PDB is, if it belongs to the image. Wine reports DWARF as SymDia
// without a PDB's name, and does so as well for DWARF that it cannot read
// (version 5): then it knows no function.
//
// DbgHelp: the session.
// Returns ReaderSymbolSourcePdb, ReaderSymbolSourceDwarf or
// ReaderSymbolSourceNone.
//

static
READER_SYMBOL_SOURCE
SymbolJudgeModule(
    _Inout_ PREADER_DBGHELP DbgHelp
    )
{
    NTSTATUS Status;

    if (DbgHelp->Module.PdbUnmatched) {
        return ReaderSymbolSourceNone;
    }

    if (DbgHelp->Module.SymType == SymPdb) {
        return ReaderSymbolSourcePdb;
    }

    if (DbgHelp->Module.SymType != SymDia) {
        return ReaderSymbolSourceNone;
    }

    if (DbgHelp->Module.LoadedPdbName[0] != 0) {
        return ReaderSymbolSourcePdb;
    }

    if (!SymbolGuardCall(DbgHelp, SymbolCallHasFunction, 0, &Status)) {
        return ReaderSymbolSourceNone;
    }

    return ReaderSymbolSourceDwarf;
}

_Use_decl_annotations_
NTSTATUS
SymbolCreateDbgHelp(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCWSTR ImagePath,
    PCWSTR SearchPath,
    ULONGLONG ModuleBase,
    ULONG ModuleSizeInBytes,
    PREADER_DBGHELP *DbgHelpPointer,
    READER_SYMBOL_SOURCE *Source
    )
{
    PREADER_DBGHELP DbgHelp;
    NTSTATUS Status;

    *DbgHelpPointer = NULL;
    *Source = ReaderSymbolSourceNone;

    DbgHelp = Allocator->Allocate(Allocator->Context, sizeof(*DbgHelp));
    if (DbgHelp == NULL) {
        return STATUS_NO_MEMORY;
    }

    DbgHelp->Rtl = Rtl;
    DbgHelp->Allocator = Allocator;
    DbgHelp->ModuleSizeInBytes = ModuleSizeInBytes;

    DbgHelp->SearchPath = SearchPath;
    Status = SymbolLoadRoutines(DbgHelp);
    if (!NT_SUCCESS(Status)) {
        goto Error;
    }

    //
    // User space is 2^47 bytes, and images are on 64 KiB boundaries.
    //

    DbgHelp->Base = ModuleBase;
    if (ModuleBase == 0 ||
        (ModuleBase & 0xffff) != 0 ||
        ModuleBase >= (1ULL << 47) - ModuleSizeInBytes) {
        DbgHelp->Base = READER_SUBSTITUTE_BASE;
    }

    SymbolGuardStack();
    if (!SymbolGuardCall(DbgHelp,
                         SymbolCallLoad,
                         (ULONGLONG)(ULONG_PTR)ImagePath,
                         &Status)) {
        if (NT_SUCCESS(Status)) {
            Status = STATUS_NOT_FOUND;
        }
        goto Error;
    }

    DbgHelp->SearchPath = NULL;
    *Source = SymbolJudgeModule(DbgHelp);
    if (*Source == ReaderSymbolSourceNone) {
        Status = STATUS_NOT_FOUND;
        goto Error;
    }

    *DbgHelpPointer = DbgHelp;
    return STATUS_SUCCESS;

Error:

    SymbolDestroyDbgHelp(DbgHelp);
    return Status;
}

_Use_decl_annotations_
PCWSTR
SymbolGetDbgHelpPdb(
    const READER_DBGHELP *DbgHelp
    )
{
    return DbgHelp->Module.LoadedPdbName;
}

_Use_decl_annotations_
BOOLEAN
SymbolFindDbgHelpSymbol(
    PREADER_DBGHELP DbgHelp,
    ULONG Rva,
    PREADER_SYMBOL Symbol,
    PBOOLEAN IsFunction
    )
{
    PSYMBOL_INFOW Found;
    NTSTATUS Status;
    ULONG Length;
    PCHAR Name;

    Found = &DbgHelp->Symbol;
    RtlZeroBytes(Found, sizeof(*Found));
    Found->SizeOfStruct = sizeof(*Found);
    Found->MaxNameLen = READER_MAXIMUM_NAME_IN_CHARS;

    if (!SymbolGuardCall(DbgHelp, SymbolCallFromAddress, Rva, &Status)) {
        return FALSE;
    }

    if (Found->Address < DbgHelp->Base ||
        Found->Address > DbgHelp->Base + Rva) {
        return FALSE;
    }

    //
    // NameLen is the whole name's length in some versions and that of what
    // fitted in others: count what is there.
    //

    Length = 0;
    while (Length < READER_MAXIMUM_NAME_IN_CHARS && Found->Name[Length] != 0) {
        Length += 1;
    }

    if (Length == 0) {
        return FALSE;
    }

    Name = SymbolKeepName(DbgHelp,
                          Found->Name,
                          Length,
                          &Symbol->LengthInBytes);
    if (Name == NULL) {
        return FALSE;
    }

    Symbol->StartRva = (ULONG)(Found->Address - DbgHelp->Base);
    Symbol->Name = Name;
    *IsFunction = (BOOLEAN)(Found->Tag == READER_SYMBOL_TAG_FUNCTION);
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
SymbolFindDbgHelpLine(
    PREADER_DBGHELP DbgHelp,
    ULONG Rva,
    PREADER_SOURCE_LINE Line
    )
{
    PCHAR Name;
    NTSTATUS Status;
    ULONG Length;
    ULONG LengthInChars;

    if (DbgHelp->Routines.SymGetLineFromAddrW64 == NULL) {
        return FALSE;
    }

    RtlZeroBytes(&DbgHelp->Line, sizeof(DbgHelp->Line));
    DbgHelp->Line.SizeOfStruct = sizeof(DbgHelp->Line);

    if (!SymbolGuardCall(DbgHelp, SymbolCallGetLine, Rva, &Status) ||
        DbgHelp->Line.FileName == NULL ||
        DbgHelp->Line.LineNumber == 0) {
        return FALSE;
    }

    LengthInChars = RtlLengthOfWideString(DbgHelp->Line.FileName);
    if (LengthInChars > RTL_MAXIMUM_PATH_IN_CHARS) {
        return FALSE;
    }

    Name = SymbolKeepName(DbgHelp,
                          DbgHelp->Line.FileName,
                          LengthInChars,
                          &Length);
    if (Name == NULL) {
        return FALSE;
    }

    if (Length == DbgHelp->FileNameLength &&
        DbgHelp->FileName != NULL &&
        RtlAreBytesEqual(Name, DbgHelp->FileName, Length)) {

        //
        // It is there already: give the newest bytes of the chunk back.
        //

        DbgHelp->Chunks->UsedInBytes -= Length + 1;

    } else {
        DbgHelp->FileName = Name;
        DbgHelp->FileNameLength = Length;
    }

    Line->LineNumber = DbgHelp->Line.LineNumber;
    Line->LengthInBytes = Length;
    Line->FileName = DbgHelp->FileName;
    return TRUE;
}

_Use_decl_annotations_
VOID
SymbolDestroyDbgHelp(
    PREADER_DBGHELP DbgHelp
    )
{
    PREADER_NAME_CHUNK Chunk;
    PREADER_NAME_CHUNK Next;
    ULONG Index;
    NTSTATUS Status;

    if (DbgHelp == NULL) {
        return;
    }

    if (DbgHelp->IsInitialized) {
        SymbolGuardCall(DbgHelp, SymbolCallUnload, 0, &Status);
    }

    for (Chunk = DbgHelp->Chunks; Chunk != NULL; Chunk = Next) {
        Next = Chunk->Next;
        DbgHelp->Allocator->Free(DbgHelp->Allocator->Context, Chunk);
    }
    DbgHelp->Chunks = NULL;

    if (DbgHelp->IsBroken) {
        return;
    }

    for (Index = 0; Index < READER_NUMBER_OF_RUNTIMES; Index++) {
        if (DbgHelp->Runtimes[Index].Library != NULL) {
            DbgHelp->Rtl->FreeLibrary(DbgHelp->Runtimes[Index].Library);
        }
    }

    if (DbgHelp->Library != NULL) {
        DbgHelp->Rtl->FreeLibrary(DbgHelp->Library);
    }

    DbgHelp->Allocator->Free(DbgHelp->Allocator->Context, DbgHelp);
}
