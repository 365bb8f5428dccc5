/*++

Module Name:

    FuzzDemangle.c

Abstract:

    Fuzz target: a C++ compiler's name through the demangler.

    The input: one byte that says which allocation fails, if any; the name
    without the "_Z" that it begins with.

--*/

#include "FuzzSupport.h"
#include "../../Reader/ReaderDemangle.h"
#include <stdlib.h>
#include <string.h>

static
VOID
FuzzCheckText(
    const UCHAR *Name,
    SIZE_T LengthInBytes,
    PCSZ Text,
    ULONG TextLengthInBytes
    )
/*++

Routine Description:

    Checks that a text is not too long, and that it has no control characters
    if the name has none.

Arguments:

    Name, LengthInBytes - The name.

    Text, TextLengthInBytes - The text.

Return Value:

    None.

--*/
{
    BOOLEAN IsClean = TRUE;
    SIZE_T Index;

    FUZZ_CHECK(Text != NULL && TextLengthInBytes != 0);
    FUZZ_CHECK(TextLengthInBytes <= READER_DEMANGLE_MAXIMUM_TEXT);
    for (Index = 0; Index < LengthInBytes; Index++) {
        IsClean = IsClean && Name[Index] >= 0x20;
    }

    for (Index = 0; Index < TextLengthInBytes; Index++) {
        FUZZ_CHECK(!IsClean || (UCHAR)Text[Index] >= 0x20);
    }
}

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
/*++

Routine Description:

    Runs one input, twice: the second time gives the same text, in the memory
    of the first.

Arguments:

    Data, Size - The input.

Return Value:

    0.

--*/
{
    FUZZ_ALLOCATOR Allocator;
    READER_DEMANGLER Demangler;
    FUZZ_INPUT Input = { Data, Size };
    SIZE_T Length;
    PUCHAR Name;
    ULONG FirstLength;
    ULONG SecondLength;
    NTSTATUS FirstStatus;
    NTSTATUS SecondStatus;
    PCSZ Text;
    PUCHAR Copy;

    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 1));
    Length = Input.Left + 2;
    Name = (PUCHAR)malloc(Length);
    if (Name == NULL) {
        abort();
    }
    memcpy(Name, "_Z", 2);
    if (Length > 2) {
        memcpy(Name + 2, Input.Bytes, Length - 2);
    }

    ReaderInitializeDemangler(&Demangler, &Allocator.Allocator);
    FirstStatus = ReaderDemangle(&Demangler,
                                 (PCSZ)Name,
                                 (ULONG)Length,
                                 &Text,
                                 &FirstLength);
    FUZZ_CHECK(FirstStatus == STATUS_SUCCESS ||
               FirstStatus == STATUS_NOT_FOUND ||
               FirstStatus == STATUS_NO_MEMORY);

    if (FirstStatus == STATUS_SUCCESS) {
        FuzzCheckText(Name, Length, Text, FirstLength);
        Copy = (PUCHAR)malloc(FirstLength);
        if (Copy == NULL) {
            abort();
        }
        memcpy(Copy, Text, FirstLength);
        SecondStatus = ReaderDemangle(&Demangler,
                                      (PCSZ)Name,
                                      (ULONG)Length,
                                      &Text,
                                      &SecondLength);
        FUZZ_CHECK(SecondStatus == STATUS_SUCCESS);
        FUZZ_CHECK(SecondLength == FirstLength);
        FUZZ_CHECK(memcmp(Copy, Text, FirstLength) == 0);
        free(Copy);
    }

    free(Name);
    ReaderRundownDemangler(&Demangler);
    ReaderRundownDemangler(&Demangler);
    FUZZ_CHECK(Allocator.Count == 0);
    return 0;
}
