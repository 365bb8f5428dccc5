/*++

Module Name:

    Symbols.c

Abstract:

    Function names for the addresses of one traced module: checks that the
    image on disk is the one that was traced, then joins what its PDB, DbgHelp,
    the image's debugging information and its tables know.

--*/

#include "SymbolLoad.h"

_Use_decl_annotations_
NTSTATUS
SymbolCreateSymbols(
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCTRACE_STORE_HEADER Header,
    PCWSTR SymbolPath,
    PREADER_SYMBOLS *SymbolsPointer,
    PRTL_ERROR Error
    )
{
    READER_SYMBOL_PATH Folders;
    RTL_ERROR LocalError;
    PREADER_IMAGE_PATH Path;
    NTSTATUS Status;
    PREADER_SYMBOLS Symbols;

    if (Error == NULL) {
        Error = &LocalError;
    }

    Error->Step = "loading symbols";
    Error->Status = STATUS_SUCCESS;
    Error->ObjectLengthInChars = 0;

    *SymbolsPointer = NULL;

    Symbols = Allocator->Allocate(Allocator->Context, sizeof(*Symbols));
    Path = Allocator->Allocate(Allocator->Context, sizeof(*Path));
    if (Symbols == NULL || Path == NULL) {
        Allocator->Free(Allocator->Context, Symbols);
        Allocator->Free(Allocator->Context, Path);
        return RtlSetError(Error, "loading symbols", NULL, STATUS_NO_MEMORY);
    }

    Symbols->Rtl = Rtl;
    Symbols->Allocator = Allocator;
    SymbolInitializeUndecorator(&Symbols->Undecorator, Rtl, Allocator);

    Status = SymbolInitializeSymbolPath(&Folders, Rtl, Allocator, SymbolPath);
    if (NT_SUCCESS(Status)) {
        Status = SymbolLoadSymbols(Symbols, Header, &Folders, Path, Error);
        SymbolRundownSymbolPath(&Folders);
    } else {
        RtlSetError(Error, "loading symbols", NULL, Status);
    }
    Allocator->Free(Allocator->Context, Path);

    //
    // Without symbols the caller still has addresses; without memory it has
    // worse to worry about.
    //

    if (Status == STATUS_NO_MEMORY) {
        SymbolDestroySymbols(Symbols);
        return Status;
    }

    *SymbolsPointer = Symbols;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
PCSZ
SymbolGetSymbolWarning(
    const READER_SYMBOLS *Symbols
    )
{
    return Symbols->Warning;
}

_Use_decl_annotations_
READER_SYMBOL_SOURCE
SymbolGetSymbolSource(
    const READER_SYMBOLS *Symbols
    )
{
    return Symbols->Source;
}

//
// Says whether the symbol table's name of a function says more than that of
// the debugging information. It does when it is the same with a suffix (a copy
// that the compiler made: Function.constprop.0), and when the debugging
// information has only the name in the source of a C++ function ("operator()",
// or a static function's without its parameters).
//
// Symbol: what the debugging information says.
// Name, LengthInBytes: the symbol table's name.
//

static
BOOLEAN
SymbolIsTableNameBetter(
    _In_ const READER_DWARF_SYMBOL *Symbol,
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes
    )
{
    if (LengthInBytes > Symbol->LengthInBytes &&
        Name[Symbol->LengthInBytes] == '.' &&
        RtlAreBytesEqual(Name, Symbol->Name, Symbol->LengthInBytes)) {
        return TRUE;
    }

    return (BOOLEAN)(!Symbol->IsLinkageName &&
                     LengthInBytes > 2 &&
                     Name[0] == '_' &&
                     Name[1] == 'Z');
}

//
// Finds the function whose code is at an address in the image's debugging
// information.
// Rva: the address in the module.
// Returns TRUE if there is one; otherwise nothing is written.
//

static
BOOLEAN
SymbolFindInDwarf(
    _In_ const READER_SYMBOLS *Symbols,
    _In_ ULONG Rva,
    _Out_ PREADER_SYMBOL Symbol
    )
{
    READER_DWARF_SYMBOL Dwarf;
    PCSZ Name;
    ULONG LengthInBytes;
    ULONG StartRva;
    PCREADER_COFF Table;

    if (!ImageFindDwarfFunction(&Symbols->Dwarf, Rva, &Dwarf)) {
        return FALSE;
    }

    Symbol->StartRva = Dwarf.StartRva;
    Symbol->LengthInBytes = Dwarf.LengthInBytes;
    Symbol->Name = Dwarf.Name;

    Table = SymbolGetTable(Symbols);
    if (Table->Kind == ReaderCoffKindSymbols &&
        ImageFindCoffSymbol(Table,
                            Dwarf.StartRva,
                            &StartRva,
                            &Name,
                            &LengthInBytes) &&
        StartRva == Dwarf.StartRva &&
        SymbolIsTableNameBetter(&Dwarf, Name, LengthInBytes)) {

        Symbol->LengthInBytes = LengthInBytes;
        Symbol->Name = Name;
    }

    return TRUE;
}

//
// Says whether a symbol can be the name of the function that an address is in.
// What is nearest in a table is another function where the address's own has
// no symbol. The unwind data knows the two apart, unless the address is in a
// function without any, which then is a leaf.
// StartRva: the symbol's address, at or below Rva.
//

static
BOOLEAN
SymbolIsInFunction(
    _In_ const READER_SYMBOLS *Symbols,
    _In_ ULONG StartRva,
    _In_ ULONG Rva
    )
{
    ULONG Function;
    ULONG Start;

    return (BOOLEAN)(!ImageFindUnwindStart(&Symbols->Unwind, Rva, &Function) ||
                     (ImageFindUnwindStart(&Symbols->Unwind,
                                           StartRva,
                                           &Start) &&
                      Start == Function));
}

//
// Finds the function that an address is in, as its source names it.
//
// The image's DWARF knows where functions end: a function whose code is at the
// address is the image's answer. Otherwise it is the nearest one at or below
// the address in the COFF symbol table: objects without debugging information
// (the C runtime's) are in the table alone. Exports never fill gaps: they are
// too few for the nearest to mean anything. Tables and exports do not say where
// functions end; there the unwind data has to agree.
//
// When there is a PDB, the nearer of its answer and the image's wins; at one
// address the PDB's does. It is DbgHelp that answers for a PDB that was not
// found here, unless it does not even know a function there (Wine invents
// "EntryPoint").
//
// Rva: the address in the module.
// Symbol: the function's start and name.
// Table: the table that has all names at that address.
// Returns TRUE if there is one; otherwise nothing is written.
//

static
BOOLEAN
SymbolFindNearestSymbol(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ ULONG Rva,
    _In_ PCREADER_COFF_SECTION Section,
    _Out_ PREADER_SYMBOL Symbol,
    _Outptr_ PCREADER_COFF *Table
    )
{
    READER_SYMBOL Debug;
    BOOLEAN HasDebug;
    BOOLEAN HasImage;
    READER_SYMBOL Image;
    PCREADER_COFF ImageTable;
    BOOLEAN IsFunction;

    ImageTable = SymbolGetTable(Symbols);
    HasDebug = FALSE;
    IsFunction = FALSE;
    if (Symbols->Pdb.Kind != ReaderCoffKindNone) {
        IsFunction = TRUE;
        HasDebug = ImageFindCoffSymbol(&Symbols->Pdb,
                                       Rva,
                                       &Debug.StartRva,
                                       &Debug.Name,
                                       &Debug.LengthInBytes);
    } else if (Symbols->DbgHelp != NULL) {
        HasDebug = SymbolFindDbgHelpSymbol(Symbols->DbgHelp,
                                           Rva,
                                           &Debug,
                                           &IsFunction);
    }
    if (HasDebug &&
        (Debug.StartRva < Section->StartRva ||
         (Symbols->Source != ReaderSymbolSourcePdb &&
          !SymbolIsInFunction(Symbols, Debug.StartRva, Rva)))) {
        HasDebug = FALSE;
    }

    HasImage = SymbolFindInDwarf(Symbols, Rva, &Image);
    if (!HasImage &&
        (Symbols->Source == ReaderSymbolSourceExports ||
         ImageTable->Kind == ReaderCoffKindSymbols)) {
        HasImage = ImageFindCoffSymbol(ImageTable,
                                       Rva,
                                       &Image.StartRva,
                                       &Image.Name,
                                       &Image.LengthInBytes) &&
                   SymbolIsInFunction(Symbols, Image.StartRva, Rva);
    }

    if (HasDebug &&
        (!HasImage ||
         Debug.StartRva > Image.StartRva ||
         (Debug.StartRva == Image.StartRva && IsFunction))) {
        Symbol->StartRva = Debug.StartRva;
        Symbol->Name = Debug.Name;
        Symbol->LengthInBytes = Debug.LengthInBytes;
        *Table = Symbols->Pdb.Kind != ReaderCoffKindNone ? &Symbols->Pdb :
                                                           ImageTable;
        return TRUE;
    }

    if (HasImage) {
        Symbol->StartRva = Image.StartRva;
        Symbol->Name = Image.Name;
        Symbol->LengthInBytes = Image.LengthInBytes;
        *Table = ImageTable;
        return TRUE;
    }

    return FALSE;
}

//
// Says whether a text is one of several.
// Lengths: their lengths in bytes.
// NumberOfTexts: how many there are.
//

static
BOOLEAN
SymbolIsTextKnown(
    _In_reads_(NumberOfTexts) const PCSZ *Texts,
    _In_reads_(NumberOfTexts) const ULONG *Lengths,
    _In_ ULONG NumberOfTexts,
    _In_reads_bytes_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < NumberOfTexts; Index++) {
        if (Lengths[Index] == LengthInBytes &&
            RtlAreBytesEqual(Texts[Index], Text, LengthInBytes)) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Finds the other functions that begin where one does. Names that read the
// same (those of a complete and a base constructor, say) are one function's.
// The first name of the table is the one that is shown, or the same function
// by the name that DbgHelp has for it.
//
// Symbols: the memory for the names.
// Symbol: the function, with its name; receives the others.
// Without memory there are none.
//

static
VOID
SymbolFindFolded(
    _Inout_ PREADER_SYMBOLS Symbols,
    _In_ PCREADER_COFF Table,
    _Inout_ PREADER_SYMBOL Symbol
    )
{
    ULONG Cookie;
    ULONG Count;
    ULONG Index;
    ULONG Length;
    ULONG Lengths[READER_MAXIMUM_FOLDED + 1];
    ULONG LinkageLength;
    PCSZ Linkage;
    PCHAR Position;
    PCSZ Text;
    PCSZ Texts[READER_MAXIMUM_FOLDED + 1];

    Cookie = 0;
    Count = 0;
    Length = 0;
    while (Count < RTL_NUMBER_OF(Texts) &&
           ImageNextCoffFunction(Table,
                                 Symbol->StartRva,
                                 &Cookie,
                                 &Linkage,
                                 &LinkageLength)) {

        SymbolUndecorate(&Symbols->Undecorator,
                         Linkage,
                         LinkageLength,
                         &Text,
                         &LinkageLength);
        if (SymbolIsTextKnown(Texts, Lengths, Count, Text, LinkageLength)) {
            continue;
        }

        if (Count != 0) {
            Text = SymbolKeepText(Symbols, Text, LinkageLength);
            if (Text == NULL) {
                return;
            }
            Length += LinkageLength + 2;
        } else if (LinkageLength == Symbol->LengthInBytes &&
                   RtlAreBytesEqual(Text, Symbol->Name, LinkageLength)) {
            Text = Symbol->Name;
        } else {
            Text = SymbolKeepText(Symbols, Text, LinkageLength);
            if (Text == NULL) {
                return;
            }
        }

        Texts[Count] = Text;
        Lengths[Count] = LinkageLength;
        Count += 1;
    }

    if (Count < 2) {
        return;
    }

    LinkageLength = Symbol->LinkageLengthInBytes;
    Length += LinkageLength - 1;
    Position = SymbolReserveText(Symbols, Length);
    if (Position == NULL) {
        return;
    }

    RtlCopyBytes(Position, Symbol->RawText, LinkageLength);
    Position[LinkageLength] = '\n';
    Symbol->RawText = Position;
    Symbol->RawLengthInBytes = Length;
    Symbol->NumberFolded = Count - 1;
    Position += LinkageLength + 1;
    for (Index = 1; Index < Count; Index++) {
        if (Index != 1) {
            Position[0] = ';';
            Position[1] = ' ';
            Position += 2;
        }
        RtlCopyBytes(Position, Texts[Index], Lengths[Index]);
        Position += Lengths[Index];
    }
}

//
// Goes over a word that says what a type is, which some texts have.
//

static
BOOLEAN
SymbolSkipTypeWord(
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes,
    _Inout_ PULONG Index
    )
{
    static const PCSZ Words[] = { "class ", "struct ", "union ", "enum " };
    ULONG Length;
    ULONG Word;

    if (*Index != 0 && Name[*Index - 1] != '<' && Name[*Index - 1] != ',' &&
        Name[*Index - 1] != '(' && Name[*Index - 1] != ' ') {
        return FALSE;
    }

    for (Word = 0; Word < RTL_NUMBER_OF(Words); Word++) {

        Length = RtlLengthOfString(Words[Word]);
        if (LengthInBytes - *Index > Length &&
            RtlAreBytesEqual(Name + *Index, Words[Word], Length)) {
            *Index += Length;
            return TRUE;
        }
    }

    return FALSE;
}

//
// Takes the next character of a C++ name, without what the name has in some
// texts and not in others: blanks, and the words that say what a type is.
// Index: where it may be; moved behind it.
// Returns 0 at the end.
//

static
CHAR
SymbolNextSign(
    _In_reads_(LengthInBytes) PCSZ Name,
    _In_ ULONG LengthInBytes,
    _Inout_ PULONG Index
    )
{
    while (*Index < LengthInBytes) {
        if (Name[*Index] == ' ') {
            *Index += 1;
        } else if (!SymbolSkipTypeWord(Name, LengthInBytes, Index)) {
            break;
        }
    }

    if (*Index >= LengthInBytes) {
        return 0;
    }

    *Index += 1;
    return Name[*Index - 1];
}

//
// Finds where the parameters begin in a readable name that has some: the
// bracket that belongs to its last one.
// Returns 0 if there are none.
//

static
ULONG
SymbolFindParameters(
    _In_reads_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Depth = 0;
    ULONG Index = LengthInBytes;

    while (Index != 0 && Text[Index - 1] != ')') {
        Index -= 1;
    }

    while (Index != 0) {

        Index -= 1;
        if (Text[Index] == ')') {
            Depth += 1;
        } else if (Text[Index] == '(') {
            Depth -= 1;
            if (Depth == 0) {
                return Index;
            }
        }
    }

    return 0;
}

//
// Is a function's name that of a readable text, as far as its parameters?  A
// return type may stand before it there.
//

static
BOOLEAN
SymbolIsNameOf(
    _In_ const READER_SYMBOL *Symbol,
    _In_reads_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Start = 0;
    ULONG First;
    ULONG Second;
    CHAR Other;
    CHAR Sign;

    for (;;) {

        First = 0;
        Second = Start;
        do {
            Sign = SymbolNextSign(Symbol->Name, Symbol->LengthInBytes, &First);
            Other = SymbolNextSign(Text, LengthInBytes, &Second);
        } while (Sign == Other && Sign != 0);

        if (Sign == Other) {
            return TRUE;
        }

        //
        // Behind the next blank, of which there are few outside of brackets.
        //

        while (Start < LengthInBytes && Text[Start] != ' ' &&
               Text[Start] != '<') {
            Start += 1;
        }

        if (Start == LengthInBytes || Text[Start] == '<') {
            return FALSE;
        }

        Start += 1;
    }
}

//
// Writes parameters as names from other sources have them: "(int*, A const&)
// const" for "(int *,struct A const &)const", and "()" for "(void)".
// Target: room for twice as much.
// Returns the number of bytes.
//

static
ULONG
SymbolWriteParameters(
    _In_reads_(LengthInBytes) PCSZ Text,
    _In_ ULONG LengthInBytes,
    _Out_writes_(2 * LengthInBytes) PCHAR Target
    )
{
    ULONG Index = 0;
    ULONG Length = 0;
    CHAR Next;

    if (LengthInBytes >= 6 && RtlAreBytesEqual(Text, "(void)", 6)) {
        Target[0] = '(';
        Length = 1;
        Index = 5;
    }

    while (Index < LengthInBytes) {

        if (SymbolSkipTypeWord(Text, LengthInBytes, &Index)) {
            continue;
        }

        Next = Index + 1 < LengthInBytes ? Text[Index + 1] : 0;
        if (Text[Index] != ' ' || (Next != '*' && Next != '&')) {
            Target[Length] = Text[Index];
            Length += 1;
        }

        if ((Text[Index] == ',' && Next != ' ') ||
            (Text[Index] == ')' && Next >= 'a' && Next <= 'z')) {
            Target[Length] = ' ';
            Length += 1;
        }

        Index += 1;
    }

    return Length;
}

//
// Puts a function's parameters behind its name, if a public symbol at its
// address has it with them.  Functions that a linker has folded have several
// there.  A PDB has none of functions that other objects cannot call.
// Symbol: the function, by the name of its debugging information.
// Without memory it stays as it is.
//

static
VOID
SymbolAddParameters(
    _Inout_ PREADER_SYMBOLS Symbols,
    _Inout_ PREADER_SYMBOL Symbol
    )
{
    PCHAR Name;
    PCSZ Public;
    PCSZ Text;
    ULONG Length;
    ULONG Number;
    ULONG Parameters;
    ULONG PublicLength;

    for (Number = 0; Number <= READER_MAXIMUM_FOLDED; Number++) {

        if (!ImageFindPdbPublic(&Symbols->Pdb,
                                Symbol->StartRva,
                                Number,
                                &Public,
                                &PublicLength)) {
            return;
        }

        SymbolUndecorate(&Symbols->Undecorator,
                         Public,
                         PublicLength,
                         &Text,
                         &Length);
        Parameters = Text != Public ? SymbolFindParameters(Text, Length) : 0;
        if (Parameters == 0 || !SymbolIsNameOf(Symbol, Text, Parameters)) {
            continue;
        }

        Text += Parameters;
        Length -= Parameters;
        Name = SymbolReserveText(Symbols, Symbol->LengthInBytes + 2 * Length);
        if (Name == NULL) {
            return;
        }

        RtlCopyBytes(Name, Symbol->Name, Symbol->LengthInBytes);
        Symbol->Name = Name;
        Symbol->LengthInBytes +=
            SymbolWriteParameters(Text, Length, Name + Symbol->LengthInBytes);
        return;
    }
}

_Use_decl_annotations_
BOOLEAN
SymbolFindSymbol(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    PREADER_SYMBOL Symbol
    )
{
    READER_SYMBOL Found;
    ULONG Length;
    PCREADER_COFF_SECTION Section;
    PCREADER_COFF Table;
    PCSZ Text;

    if (!Symbols->IsTraced) {
        return FALSE;
    }

    Section = ImageFindCodeSection(&Symbols->Coff, Rva);
    if (Section == NULL) {
        return FALSE;
    }

    RtlZeroBytes(&Found, sizeof(Found));
    if (!SymbolFindNearestSymbol(Symbols, Rva, Section, &Found, &Table)) {
        return FALSE;
    }

    Found.RawText = Found.Name;
    Found.LinkageLengthInBytes = Found.LengthInBytes;
    if (Table == &Symbols->Pdb) {
        ImageFindPdbPublic(Table,
                           Found.StartRva,
                           0,
                           &Found.RawText,
                           &Found.LinkageLengthInBytes);
    } else if (Table->Kind == ReaderCoffKindSymbols) {
        Length = 0;
        ImageNextCoffFunction(Table,
                              Found.StartRva,
                              &Length,
                              &Found.RawText,
                              &Found.LinkageLengthInBytes);
    }
    Found.RawLengthInBytes = Found.LinkageLengthInBytes;

    SymbolUndecorate(&Symbols->Undecorator,
                     Found.Name,
                     Found.LengthInBytes,
                     &Text,
                     &Length);
    if (Text != Found.Name) {
        Text = SymbolKeepText(Symbols, Text, Length);
        if (Text != NULL) {
            Found.Name = Text;
            Found.LengthInBytes = Length;
        }
    }

    SymbolFindFolded(Symbols, Table, &Found);
    if (Table == &Symbols->Pdb) {
        SymbolAddParameters(Symbols, &Found);
    }

    *Symbol = Found;
    return TRUE;
}

_Use_decl_annotations_
ULONG
SymbolFindStart(
    const READER_SYMBOLS *Symbols,
    ULONG Rva
    )
{
    ULONG StartRva;

    if (!Symbols->IsTraced ||
        !ImageFindUnwindStart(&Symbols->Unwind, Rva, &StartRva)) {
        return Rva;
    }

    return StartRva;
}

_Use_decl_annotations_
BOOLEAN
SymbolFindSourceLine(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    PREADER_SOURCE_LINE Line
    )
{
    if (!Symbols->IsTraced) {
        return FALSE;
    }

    if (ImageFindDwarfLine(&Symbols->Dwarf,
                           Rva,
                           &Line->LineNumber,
                           &Line->FileName,
                           &Line->LengthInBytes)) {
        return TRUE;
    }

    SymbolLoadLines(Symbols);
    if (Symbols->DbgHelp == NULL) {
        return FALSE;
    }

    return SymbolFindDbgHelpLine(Symbols->DbgHelp, Rva, Line);
}

_Use_decl_annotations_
PREADER_UNWIND
SymbolGetUnwind(
    PREADER_SYMBOLS Symbols
    )
{
    return Symbols->IsTraced ? &Symbols->Unwind : NULL;
}

_Use_decl_annotations_
PCREADER_COFF
SymbolGetCoff(
    const READER_SYMBOLS *Symbols
    )
{
    return Symbols->IsTraced ? &Symbols->Coff : NULL;
}

_Use_decl_annotations_
VOID
SymbolDestroySymbols(
    PREADER_SYMBOLS Symbols
    )
{
    PCALLOCATOR Allocator;
    PREADER_TEXT_CHUNK Chunk;

    if (Symbols == NULL) {
        return;
    }

    Allocator = Symbols->Allocator;

    SymbolDestroyDbgHelp(Symbols->DbgHelp);
    SymbolRundownUndecorator(&Symbols->Undecorator);
    ImageRundownCoff(&Symbols->Pdb);
    Allocator->Free(Allocator->Context, Symbols->ImagePath);
    SymbolForgetImage(Symbols);
    while (Symbols->Chunks != NULL) {
        Chunk = Symbols->Chunks;
        Symbols->Chunks = Chunk->Next;
        Allocator->Free(Allocator->Context, Chunk);
    }
    Allocator->Free(Allocator->Context, Symbols);
}
