/*++

Module Name:

    SymbolUndecorate.h

Abstract:

    Readable text for linkers' names of functions: by the demangler for those
    of the Itanium C++ ABI (_Z...), by dbghelp.dll's UnDecorateSymbolName for
    Microsoft's (?...).  What neither understands stays as it is.

    dbghelp.dll is loaded at run time, when the first name needs it, and may be
    missing.

--*/

#ifndef TRACER_SYMBOL_UNDECORATE_H
#define TRACER_SYMBOL_UNDECORATE_H

#include "../../Rtl/Rtl.h"
#include "../Demangle/Demangle.h"

//
// The longest of Microsoft's names that is given to DbgHelp, and the space for
// the text, in bytes.
//

#define READER_UNDECORATE_MAXIMUM_NAME 2048
#define READER_UNDECORATE_CAPACITY 0x4000

typedef DWORD (WINAPI READER_UNDECORATE_ROUTINE)(
    _In_z_ PCSTR Name,
    _Out_ PSTR Text,
    _In_ DWORD CapacityInChars,
    _In_ DWORD Flags
    );
typedef READER_UNDECORATE_ROUTINE *PREADER_UNDECORATE_ROUTINE;

typedef struct _READER_UNDECORATOR {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    READER_DEMANGLER Demangler;
    HMODULE Library;                // NULL: not loaded
    PREADER_UNDECORATE_ROUTINE Routine;
    PCHAR Buffer;                   // for the name and for the text
    BOOLEAN IsTried;                // to load the library
    BOOLEAN IsBroken;               // it has raised an exception
} READER_UNDECORATOR;
typedef READER_UNDECORATOR *PREADER_UNDECORATOR;

//
// Prepares for names; nothing is loaded or allocated yet.
// Rtl: the operating system's routines.
// Allocator: the memory.
//

VOID
SymbolInitializeUndecorator(
    _Out_ PREADER_UNDECORATOR Undecorator,
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator
    );

//
// The readable text of a terminated name, not terminated, good until the next
// call; the name itself where there is none.
//

VOID
SymbolUndecorate(
    _Inout_ PREADER_UNDECORATOR Undecorator,
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes,
    _Outptr_ PCSZ *Text,
    _Out_ PULONG TextLengthInBytes
    );

//
// Frees what was allocated and loaded.
//

VOID
SymbolRundownUndecorator(
    _Inout_ PREADER_UNDECORATOR Undecorator
    );

#endif // TRACER_SYMBOL_UNDECORATE_H
