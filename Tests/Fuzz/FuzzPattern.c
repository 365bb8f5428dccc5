/*++

Module Name:

    FuzzPattern.c

Abstract:

    Fuzz target: patterns of functions' names, and the parts of names.

    The input is

        1 byte      which allocation fails; 0: none
        2 bytes     the length of the pattern
        bytes       the pattern
        bytes       the name

--*/

#include "FuzzSupport.h"
#include "../../Reader/Functions/FunctionPattern.h"
#include <stdlib.h>
#include <string.h>

//
// Whether two texts can be compared byte by byte.
//

static
BOOLEAN
FuzzIsPlain(
    const CHAR *Text,
    SIZE_T LengthInBytes
    )
{
    SIZE_T Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if ((UCHAR)Text[Index] >= 0x80 || (UCHAR)Text[Index] < 0x20) {
            return FALSE;
        }
    }

    return TRUE;
}

static
BOOLEAN
FuzzHasText(
    const CHAR *Name,
    SIZE_T LengthInBytes,
    const CHAR *Text,
    SIZE_T TextLength
    )
{
    SIZE_T Index;

    for (Index = 0; Index + TextLength <= LengthInBytes; Index++) {
        if (memcmp(Name + Index, Text, TextLength) == 0) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Copies bytes to where the sanitizer sees what is read beyond them.
//

static
PCHAR
FuzzCopy(
    const UCHAR *Bytes,
    SIZE_T SizeInBytes
    )
{
    PCHAR Copy = (PCHAR)malloc(SizeInBytes + (SizeInBytes == 0));

    if (Copy == NULL) {
        abort();
    }

    memcpy(Copy, Bytes, SizeInBytes);
    return Copy;
}

//
// Gives a pattern to the code, and the name to the pattern.
//

static
VOID
FuzzMatch(
    PFUZZ_ALLOCATOR Allocator,
    const CHAR *Text,
    ULONG TextLength,
    const CHAR *Name,
    ULONG NameLength
    )
{
    PREADER_PATTERN Pattern;
    READER_PATTERN_KIND Kind;
    ULONG Length = TextLength;
    ULONG Position;
    PCSZ Problem;
    BOOLEAN IsFound;
    NTSTATUS Status;

    Kind = FunctionFindPatternKind(Text, &Length);
    FUZZ_CHECK(Length <= TextLength);
    FUZZ_CHECK(Length == TextLength || Kind == ReaderPatternPrefix);
    if (TextLength != 0 && Text[0] == '/') {
        FUZZ_CHECK(FunctionFindExpressionEnd(Text, TextLength, 0) <=
                   TextLength);
    }

    if (Kind < ReaderPatternGlob) {
        return;
    }

    Status = FunctionCreatePattern(&Allocator->Allocator,
                                   Text,
                                   TextLength,
                                   Kind,
                                   &Pattern,
                                   &Problem,
                                   &Position);
    FUZZ_CHECK(Status == STATUS_SUCCESS ||
               Status == STATUS_INVALID_PARAMETER ||
               Status == STATUS_NO_MEMORY);
    FUZZ_CHECK((Pattern != NULL) == (Status == STATUS_SUCCESS));
    if (Status == STATUS_INVALID_PARAMETER) {
        FUZZ_CHECK(Problem[0] != 0);
        FUZZ_CHECK(Position >= 1 && Position <= TextLength);
    }

    if (Status != STATUS_SUCCESS) {
        return;
    }

    IsFound = FunctionMatchPattern(Pattern, Name, NameLength);
    FUZZ_CHECK(IsFound == FunctionMatchPattern(Pattern, Name, NameLength));
    if (Kind == ReaderPatternText && FuzzIsPlain(Text, TextLength) &&
        FuzzIsPlain(Name, NameLength)) {
        FUZZ_CHECK(IsFound ==
                   FuzzHasText(Name, NameLength, Text + 1, TextLength - 1));
    }

    FunctionDestroyPattern(Pattern);
}

//
// Finds a name's parts, and shortens it.
//

static
VOID
FuzzShorten(
    const CHAR *Name,
    ULONG NameLength
    )
{
    ULONG Capacity = READER_SHORT_NAME_SIZE(NameLength);
    PCHAR Buffer = (PCHAR)malloc(Capacity + 1);
    READER_NAME_PARTS Parts;
    ULONG Length;
    ULONG Longer;

    if (Buffer == NULL) {
        abort();
    }

    FunctionFindParts(Name, NameLength, &Parts);
    FUZZ_CHECK(Parts.Start <= Parts.End);
    FUZZ_CHECK(Parts.End <= Parts.Tail);
    FUZZ_CHECK(Parts.Tail <= NameLength);
    Longer = FunctionShortenName(Name, NameLength, TRUE, Buffer, Capacity);
    Length = FunctionShortenName(Name, NameLength, FALSE, Buffer, Capacity);
    FUZZ_CHECK(Length <= Longer && Longer <= Capacity);
    free(Buffer);
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
    const UCHAR *Bytes;
    SIZE_T TextLength;
    PCHAR Name;
    PCHAR Text;

    //
    // A pattern costs the product of the lengths, for each form of the name.
    //

    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 1));
    TextLength = (SIZE_T)FuzzTake(&Input, 2) % (READER_PATTERN_MAXIMUM + 9);
    Bytes = FuzzTakeBytes(&Input, &TextLength);
    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size) +
                  250ULL * TextLength * (TextLength + Input.Left));
    Text = FuzzCopy(Bytes, TextLength);
    Name = FuzzCopy(Input.Bytes, Input.Left);
    FuzzShorten(Name, (ULONG)Input.Left);
    FuzzMatch(&Allocator,
              Text,
              (ULONG)TextLength,
              Name,
              (ULONG)Input.Left);
    free(Text);
    free(Name);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    return 0;
}
