/*++

Module Name:

    FuzzImage.c

Abstract:

    Fuzz target: the bytes of a PE image through its symbol table, its exports,
    its unwind data and its DWARF.

    The input: one byte that says which allocation fails, if any; the image.

--*/

#include "FuzzSupport.h"
#include "../../Reader/Image/ImageDebugLink.h"
#include "../../Reader/Image/ImageDwarfForm.h"
#include "../../Reader/Image/ImageUnwind.h"
#include <stdlib.h>
#include <string.h>

//
// How many of an image's symbols and of its addresses are asked about.
//

#define FUZZ_MAXIMUM_SYMBOLS 48
#define FUZZ_MAXIMUM_SECTIONS 8
#define FUZZ_ADDRESSES_OF_SECTION 16
#define FUZZ_MAXIMUM_FRAME 0x40000000u

//
// Checks that a name is terminated and has no control characters.
//

static
VOID
FuzzCheckName(
    PCSZ Name,
    ULONG LengthInBytes
    )
{
    ULONG Index;

    FUZZ_CHECK(LengthInBytes <= READER_COFF_MAXIMUM_NAME);
    FUZZ_CHECK(strlen(Name) == LengthInBytes);
    for (Index = 0; Index < LengthInBytes; Index++) {
        FUZZ_CHECK((UCHAR)Name[Index] >= 0x20 && Name[Index] != 0x7F);
        FUZZ_CHECK((UCHAR)Name[Index] != 0xC2 ||
                   (UCHAR)Name[Index + 1] >= 0xA0);
    }
}

//
// Checks what ImageCoff.h says of the tables.
// SizeInBytes: of the image.
//

static
VOID
FuzzCheckTables(
    PCREADER_COFF Coff,
    SIZE_T SizeInBytes
    )
{
    PCREADER_COFF_ENTRY Entry;
    PCREADER_COFF_SECTION Section;
    ULONGLONG NamesInBytes = 0;
    ULONG Index;

    for (Index = 0; Index < Coff->NumberOfSections; Index++) {
        Section = &Coff->Sections[Index];
        FUZZ_CHECK(Section->StartRva <= Section->EndRva);
        FUZZ_CHECK(Index == 0 || Section->StartRva >= Section[-1].EndRva);
    }

    FUZZ_CHECK((Coff->Kind == ReaderCoffKindNone) ==
               (Coff->NumberOfEntries == 0));
    for (Index = 0; Index < Coff->NumberOfEntries; Index++) {
        Entry = &Coff->Entries[Index];
        FUZZ_CHECK(Index == 0 || Entry->Rva > Entry[-1].Rva ||
                   (Entry->Rva == Entry[-1].Rva &&
                    Entry->Rank >= Entry[-1].Rank));
        FUZZ_CHECK(ImageFindCodeSection(Coff, Entry->Rva) != NULL);
        FuzzCheckName(Coff->Names + Entry->NameOffset, Entry->NameLength);
        NamesInBytes += Entry->NameLength + 1;
    }

    FUZZ_CHECK(NamesInBytes <= 2 * (ULONGLONG)SizeInBytes + 0x10000);
}

//
// Looks an address up and checks the answer against a plain search.
// Coff: the tables.
//

static
VOID
FuzzCheckSymbol(
    PCREADER_COFF Coff,
    ULONG Rva
    )
{
    PCREADER_COFF_ENTRY Best = NULL;
    PCREADER_COFF_SECTION Section = NULL;
    PCSZ Name;
    ULONG Index;
    ULONG Length;
    ULONG Start;
    BOOLEAN IsFound;

    for (Index = 0; Index < Coff->NumberOfSections; Index++) {
        if (Rva >= Coff->Sections[Index].StartRva &&
            Rva < Coff->Sections[Index].EndRva &&
            Coff->Sections[Index].IsExecutable) {
            Section = &Coff->Sections[Index];
        }
    }

    FUZZ_CHECK(ImageFindCodeSection(Coff, Rva) == Section);
    for (Index = 0; Section != NULL && Index < Coff->NumberOfEntries; Index++) {
        if (Coff->Entries[Index].Rva <= Rva &&
            Coff->Entries[Index].Rva >= Section->StartRva &&
            (Best == NULL || Coff->Entries[Index].Rva > Best->Rva)) {
            Best = &Coff->Entries[Index];
        }
    }

    IsFound = ImageFindCoffSymbol(Coff, Rva, &Start, &Name, &Length);
    FUZZ_CHECK(IsFound == (Best != NULL));
    if (IsFound) {
        FUZZ_CHECK(Start == Best->Rva);
        FuzzCheckName(Name, Length);
    }
}

//
// Asks what the unwind data and the code say of an address.
//

static
VOID
FuzzCheckUnwind(
    PCREADER_UNWIND Unwind,
    ULONG Rva
    )
{
    READER_UNWIND_FRAME Frame;
    ULONG Start;
    ULONG Target;

    if (ImageFindUnwindFrame(Unwind, Rva, &Frame)) {
        FUZZ_CHECK(ImageFindUnwindStart(Unwind, Rva - 1, &Start) &&
                   Start == Frame.FunctionRva);
        FUZZ_CHECK(Frame.SizeInBytes <= Frame.BodySizeInBytes);
        FUZZ_CHECK(Frame.BodySizeInBytes <= FUZZ_MAXIMUM_FRAME);
        (VOID)ImageCountInlined(Unwind, Frame.FunctionRva, Rva);
        (VOID)ImageMayJumpOut(Unwind, Frame.FunctionRva);
    }

    if (ImageFindJumpTarget(Unwind, Rva, &Target)) {
        (VOID)ImageCountInlined(Unwind, Rva, Target);
        (VOID)ImageMayJumpOut(Unwind, Target);
    }
}

//
// Looks up addresses in and around everything that there is.
// Coff: the symbols.
// Unwind: the unwind data.
//

static
VOID
FuzzLookUp(
    PCREADER_COFF Coff,
    PCREADER_UNWIND Unwind
    )
{
    PCREADER_COFF_SECTION Section;
    ULONG Count;
    ULONG Index;
    ULONG Rva;

    for (Index = 0;
         Index < Coff->NumberOfEntries && Index < FUZZ_MAXIMUM_SYMBOLS;
         Index++) {
        Rva = Coff->Entries[Index].Rva;
        FuzzCheckSymbol(Coff, Rva - 1);
        FuzzCheckSymbol(Coff, Rva);
        FuzzCheckUnwind(Unwind, Rva);
        FuzzCheckUnwind(Unwind, Rva + 9);
    }

    for (Index = 0;
         Index < Coff->NumberOfSections && Index < FUZZ_MAXIMUM_SECTIONS;
         Index++) {
        Section = &Coff->Sections[Index];
        FuzzCheckSymbol(Coff, Section->StartRva - 1);
        FuzzCheckSymbol(Coff, Section->EndRva);
        FuzzCheckUnwind(Unwind, Section->EndRva);
        Rva = Section->StartRva;
        for (Count = 0; Count < FUZZ_ADDRESSES_OF_SECTION; Count++) {
            FuzzCheckSymbol(Coff, Rva);
            FuzzCheckUnwind(Unwind, Rva);
            Rva += (Section->EndRva - Section->StartRva) / 16 + 1;
        }
    }

    FuzzCheckSymbol(Coff, 0);
    FuzzCheckSymbol(Coff, 0xFFFFFFFF);
    FuzzCheckUnwind(Unwind, 0);
    FuzzCheckUnwind(Unwind, 0xFFFFFFFF);
}

//
// Checks that ranges of code ascend and are in the sections with code.
//

static
VOID
FuzzCheckPairs(
    const READER_DWARF_ARRAY *Ranges,
    PCREADER_COFF Coff
    )
{
    PCREADER_DWARF_PAIR Pairs = (PCREADER_DWARF_PAIR)Ranges->Elements;
    PCREADER_COFF_SECTION Section;
    ULONG Index;

    for (Index = 0; Index < Ranges->Number; Index++) {
        Section = ImageFindCodeSection(Coff,
                                       READER_DWARF_START(&Pairs[Index]));
        FUZZ_CHECK(Section != NULL &&
                   READER_DWARF_END(&Pairs[Index]) <= Section->EndRva &&
                   READER_DWARF_END(&Pairs[Index]) >
                       READER_DWARF_START(&Pairs[Index]));
        FUZZ_CHECK(Index == 0 ||
                   READER_DWARF_START(&Pairs[Index - 1]) <=
                       READER_DWARF_START(&Pairs[Index]));
    }
}

//
// Looks up the line where each range begins.
// Dwarf: the information.
//

static
VOID
FuzzCheckLines(
    PREADER_DWARF Dwarf,
    const READER_DWARF_ARRAY *Ranges
    )
{
    PCREADER_DWARF_PAIR Pairs = (PCREADER_DWARF_PAIR)Ranges->Elements;
    PCSZ FileName;
    ULONG Index;
    ULONG LengthInBytes;
    ULONG LineNumber;

    for (Index = 0;
         Index < Ranges->Number && Index < FUZZ_MAXIMUM_SYMBOLS;
         Index++) {

        if (ImageFindDwarfLine(Dwarf,
                               READER_DWARF_START(&Pairs[Index]),
                               &LineNumber,
                               &FileName,
                               &LengthInBytes)) {
            FuzzCheckName(FileName, LengthInBytes);
            FUZZ_CHECK(LineNumber != 0 &&
                       LengthInBytes <= READER_DWARF_MAXIMUM_PATH);
        }
    }
}

//
// Checks what ImageDwarf.h says of the functions, and looks up each range's
// ends.
// Coff: the sections.
// SizeInBytes: of the image.
//

static
VOID
FuzzCheckDwarf(
    PREADER_DWARF Dwarf,
    PCREADER_COFF Coff,
    SIZE_T SizeInBytes
    )
{
    PCREADER_DWARF_PAIR Pairs = (PCREADER_DWARF_PAIR)Dwarf->Ranges.Elements;
    READER_DWARF_SYMBOL Symbol;
    ULONG Index;
    ULONG Rva;

    FUZZ_CHECK(Dwarf->Loader == NULL);
    FUZZ_CHECK(Dwarf->Names.Number <= 2 * (ULONGLONG)SizeInBytes + 0x10000);
    FuzzCheckPairs(&Dwarf->Ranges, Coff);
    FuzzCheckPairs(&Dwarf->UnitRanges, Coff);

    for (Index = 0;
         Index < 2 * Dwarf->Ranges.Number && Index < FUZZ_MAXIMUM_SYMBOLS;
         Index++) {

        Rva = Index % 2 == 0 ? READER_DWARF_START(&Pairs[Index / 2])
                             : READER_DWARF_END(&Pairs[Index / 2]) - 1;
        FUZZ_CHECK(ImageFindDwarfFunction(Dwarf, Rva, &Symbol) ||
                   Dwarf->Ranges.Number > 16);
        if (ImageFindDwarfFunction(Dwarf, Rva, &Symbol)) {
            FuzzCheckName(Symbol.Name, Symbol.LengthInBytes);
            FUZZ_CHECK(ImageFindCodeSection(Coff, Symbol.StartRva) != NULL);
        }
    }

    FuzzCheckLines(Dwarf, &Dwarf->Ranges);
    FuzzCheckLines(Dwarf, &Dwarf->UnitRanges);
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    FUZZ_ALLOCATOR Allocator;
    FUZZ_INPUT Input = { Data, Size };
    READER_COFF Coff;
    READER_DEBUG_LINK Link;
    READER_DWARF Dwarf;
    READER_UNWIND Unwind;
    PUCHAR Image;
    NTSTATUS Status;
    SIZE_T SizeInBytes;

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size));
    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 1));
    SizeInBytes = Input.Left;
    Image = (PUCHAR)malloc(SizeInBytes == 0 ? 1 : SizeInBytes);
    if (Image == NULL) {
        abort();
    }
    memcpy(Image, Input.Bytes, SizeInBytes);
    memset(&Dwarf, 0, sizeof(Dwarf));
    memset(&Unwind, 0, sizeof(Unwind));

    Status = ImageInitializeCoff(&Allocator.Allocator,
                                 Image,
                                 SizeInBytes,
                                 &Coff);
    FUZZ_CHECK(Status == STATUS_SUCCESS || Status == STATUS_NO_MEMORY ||
               Status == STATUS_INVALID_IMAGE_FORMAT);
    if (NT_SUCCESS(Status)) {
        Status = ImageInitializeUnwind(&Allocator.Allocator,
                                       &Coff,
                                       Image,
                                       SizeInBytes,
                                       &Unwind);
        FUZZ_CHECK(Status == STATUS_SUCCESS || Status == STATUS_NO_MEMORY);
    }
    if (NT_SUCCESS(Status)) {
        Status = ImageInitializeDwarf(&Allocator.Allocator,
                                      &Coff,
                                      Image,
                                      SizeInBytes,
                                      &Dwarf);
        FUZZ_CHECK(Status == STATUS_SUCCESS || Status == STATUS_NO_MEMORY);
        ImageFindDebugLink(&Coff, Image, SizeInBytes, &Link);
        FuzzCheckName(Link.Name, Link.NameLength);
        FUZZ_CHECK(strpbrk(Link.Name, "/\\:*") == NULL);
        FUZZ_CHECK(ImageIsDebugFileOf(&Coff, &Coff));
    }

    //
    // Nothing is read in the image from here on.
    //

    free(Image);
    if (NT_SUCCESS(Status)) {
        FuzzCheckTables(&Coff, SizeInBytes);
        FuzzLookUp(&Coff, &Unwind);
        FuzzCheckDwarf(&Dwarf, &Coff, SizeInBytes);
    }

    ImageRundownDwarf(&Dwarf);
    ImageRundownDwarf(&Dwarf);
    ImageRundownUnwind(&Unwind);
    ImageRundownUnwind(&Unwind);
    ImageRundownCoff(&Coff);
    ImageRundownCoff(&Coff);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    return 0;
}
