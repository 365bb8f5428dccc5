/*++

Module Name:

    FuzzDemangle.c

Abstract:

    Fuzz target: a C++ compiler's name through the demangler.

    The input: one byte that says which allocation fails, if any; the name
    without the "_Z" that it begins with.

--*/

#include "FuzzSupport.h"
#include "../../Reader/Demangle/Demangle.h"
#include <stdlib.h>
#include <string.h>

//
// Checks that a text is not too long, and that it has no control characters if
// the name has none.
//

static
VOID
FuzzCheckText(
    const UCHAR *Name,
    SIZE_T LengthInBytes,
    PCSZ Text,
    ULONG TextLengthInBytes
    )
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

//
// Runs one input, twice: the second time gives the same text, in the memory of
// the first.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
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

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size));
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

    DemangleInitializeDemangler(&Demangler, &Allocator.Allocator);
    FirstStatus = DemangleSymbol(&Demangler,
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
        SecondStatus = DemangleSymbol(&Demangler,
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
    DemangleRundownDemangler(&Demangler);
    DemangleRundownDemangler(&Demangler);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    return 0;
}
