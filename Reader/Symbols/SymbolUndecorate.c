/*++

Module Name:

    SymbolUndecorate.c

Abstract:

    Readable text for linkers' names of functions.

    Wine's UnDecorateSymbolName takes the arguments of an empty pack ("$$V")
    for a part of the name, and gives a wrong one; such names are left alone.
    It gives up on lambdas, on anonymous namespaces and on functions as
    template arguments, as it should.

--*/

#include "../../StringTable/StringTable.h"
#include "SymbolUndecorate.h"

#define READER_UNDECORATE_LOAD_FLAGS \
    (LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32)

//
// UNDNAME_*: no leading underscores and keywords of Microsoft's, no types of
// results, no access and no "static" and "virtual": the name, its parameters
// and its qualifiers.
//

#define READER_UNDECORATE_FLAGS (0x0001 | 0x0002 | 0x0004 | 0x0080 | 0x0200)

_Use_decl_annotations_
VOID
SymbolInitializeUndecorator(
    PREADER_UNDECORATOR Undecorator,
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    RtlZeroBytes(Undecorator, sizeof(*Undecorator));
    Undecorator->Rtl = Rtl;
    Undecorator->Allocator = Allocator;
    DemangleInitializeDemangler(&Undecorator->Demangler, Allocator);
}

//
// Loads dbghelp.dll, once.
// Returns TRUE if it can be called.
//

static
BOOLEAN
SymbolLoadUndecorator(
    _Inout_ PREADER_UNDECORATOR Undecorator
    )
{
    static const PCSZ Name = "UnDecorateSymbolName";
    PVOID Routine;

    if (Undecorator->IsTried) {
        return (BOOLEAN)(Undecorator->Routine != NULL &&
                         !Undecorator->IsBroken);
    }

    Undecorator->IsTried = TRUE;
    Undecorator->Buffer = Undecorator->Allocator->Allocate(
        Undecorator->Allocator->Context,
        READER_UNDECORATE_MAXIMUM_NAME + 1 + READER_UNDECORATE_CAPACITY);
    if (Undecorator->Buffer == NULL) {
        return FALSE;
    }

    Undecorator->Library = Undecorator->Rtl->LoadLibraryExW(
        L"dbghelp.dll",
        NULL,
        READER_UNDECORATE_LOAD_FLAGS);
    if (Undecorator->Library == NULL) {
        Undecorator->Library = Undecorator->Rtl->LoadLibraryExW(
            L"dbghelp.dll",
            NULL,
            0);
    }
    if (Undecorator->Library == NULL) {
        return FALSE;
    }

    Routine = NULL;
    RtlLoadSymbols(Undecorator->Library, &Name, &Routine, 1, NULL);
    Undecorator->Routine = (PREADER_UNDECORATE_ROUTINE)Routine;
    return (BOOLEAN)(Undecorator->Routine != NULL);
}

//
// Calls DbgHelp, and survives what it raises; it is not called again then.
// Undecorator: the name, terminated, at the buffer's beginning; receives the
// text behind it.
// Returns the text's length, or 0.
//

static
DECLSPEC_NOINLINE
ULONG
SymbolCallUndecorate(
    _Inout_ PREADER_UNDECORATOR Undecorator
    )
{
    ULONG Length;

    __try {
        Length = Undecorator->Routine(
            Undecorator->Buffer,
            Undecorator->Buffer + READER_UNDECORATE_MAXIMUM_NAME + 1,
            READER_UNDECORATE_CAPACITY,
            READER_UNDECORATE_FLAGS);
    } __except (EXCEPTION_EXECUTE_HANDLER) {

        Undecorator->IsBroken = TRUE;
        Length = 0;
    }

    return Length;
}

//
// Says whether a name has the arguments of an empty pack, or what marks the
// end of one.
//

static
BOOLEAN
SymbolHasEmptyPack(
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index + 2 < LengthInBytes; Index++) {
        if (Name[Index] == '$' && Name[Index + 1] == '$' &&
            (Name[Index + 2] == 'V' || Name[Index + 2] == 'Z' ||
             Name[Index + 2] == '$')) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
VOID
SymbolUndecorate(
    PREADER_UNDECORATOR Undecorator,
    PCSZ Name,
    ULONG LengthInBytes,
    PCSZ *Text,
    PULONG TextLengthInBytes
    )
{
    PCHAR Found;
    ULONG Index;
    ULONG Length;

    *Text = Name;
    *TextLengthInBytes = LengthInBytes;

    if (LengthInBytes > 2 && Name[0] == '_') {
        if (!NT_SUCCESS(DemangleSymbol(&Undecorator->Demangler,
                                       Name,
                                       LengthInBytes,
                                       Text,
                                       TextLengthInBytes))) {
            *Text = Name;
            *TextLengthInBytes = LengthInBytes;
        }
        return;
    }

    if (LengthInBytes < 3 || Name[0] != '?' ||
        LengthInBytes > READER_UNDECORATE_MAXIMUM_NAME ||
        SymbolHasEmptyPack(Name, LengthInBytes) ||
        !SymbolLoadUndecorator(Undecorator)) {
        return;
    }

    for (Index = 0; Index < LengthInBytes; Index++) {
        Undecorator->Buffer[Index] = Name[Index];
    }
    Undecorator->Buffer[LengthInBytes] = 0;

    Length = SymbolCallUndecorate(Undecorator);
    Found = Undecorator->Buffer + READER_UNDECORATE_MAXIMUM_NAME + 1;
    if (Length == 0 || Length >= READER_UNDECORATE_CAPACITY - 1) {
        return;
    }

    //
    // What it does not understand it returns as it is, or as nothing; what is
    // in a name it copies.
    //

    for (Index = 0; Index < Length; Index++) {
        if ((UCHAR)Found[Index] < 0x20) {
            return;
        }
    }

    //
    // Blanks are left behind where keywords were left out.
    //

    while (Length != 0 && Found[Length - 1] == ' ') {
        Length -= 1;
    }
    while (Length != 0 && Found[0] == ' ') {
        Found += 1;
        Length -= 1;
    }

    if (Length != 0 && Found[0] != '?') {
        *Text = Found;
        *TextLengthInBytes = Length;
    }
}

_Use_decl_annotations_
VOID
SymbolRundownUndecorator(
    PREADER_UNDECORATOR Undecorator
    )
{
    if (Undecorator->Allocator == NULL) {
        return;
    }

    DemangleRundownDemangler(&Undecorator->Demangler);
    Undecorator->Allocator->Free(Undecorator->Allocator->Context,
                                 Undecorator->Buffer);
    if (Undecorator->Library != NULL && !Undecorator->IsBroken) {
        Undecorator->Rtl->FreeLibrary(Undecorator->Library);
    }
    Undecorator->Allocator = NULL;
}
