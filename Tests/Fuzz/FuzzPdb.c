/*++

Module Name:

    FuzzPdb.c

Abstract:

    Fuzz target: the bytes of a PDB, through its directory, its identity and
    its functions.

    The input: one byte that says which allocation fails, if any; the PDB.

--*/

#include "FuzzSupport.h"
#include "../../Reader/Image/ImagePdb.h"
#include <stdlib.h>
#include <string.h>

#define FUZZ_TEXT_RVA 0x1000u
#define FUZZ_TEXT_SIZE 0x100u
#define FUZZ_MAXIMUM_NAMES 40

//
// Checks what ImageCoff.h and ImagePdb.h say of the table.
//

static
VOID
FuzzCheckFunctions(
    PCREADER_COFF Table,
    SIZE_T SizeInBytes
    )
{
    PCREADER_COFF_ENTRY Entry;
    PCSZ Name;
    ULONGLONG NamesInBytes = 0;
    ULONG Cookie;
    ULONG Count;
    ULONG Index;
    ULONG Length;
    ULONG Start;

    FUZZ_CHECK(Table->Kind == ReaderCoffKindPdb ||
               Table->NumberOfEntries == 0);
    for (Index = 0; Index < Table->NumberOfEntries; Index++) {

        Entry = &Table->Entries[Index];
        FUZZ_CHECK(Index == 0 || Entry->Rva > Entry[-1].Rva ||
                   (Entry->Rva == Entry[-1].Rva &&
                    Entry->Rank >= Entry[-1].Rank));
        FUZZ_CHECK(Entry->Rva >= FUZZ_TEXT_RVA &&
                   Entry->Rva < FUZZ_TEXT_RVA + FUZZ_TEXT_SIZE);
        FUZZ_CHECK(strlen(Table->Names + Entry->NameOffset) ==
                   Entry->NameLength);
        FUZZ_CHECK(Entry->NameLength <= READER_COFF_MAXIMUM_NAME);
        NamesInBytes += Entry->NameLength + 1;
    }

    FUZZ_CHECK(NamesInBytes <= 2 * (ULONGLONG)SizeInBytes + 0x10000);
    for (Index = 0; Index < FUZZ_TEXT_SIZE; Index++) {

        if (ImageFindCoffSymbol(Table,
                                FUZZ_TEXT_RVA + Index,
                                &Start,
                                &Name,
                                &Length)) {
            FUZZ_CHECK(Start <= FUZZ_TEXT_RVA + Index);
            FUZZ_CHECK(strlen(Name) == Length);
        }

        Count = 0;
        while (Count < FUZZ_MAXIMUM_NAMES &&
               ImageFindPdbPublic(Table,
                                  FUZZ_TEXT_RVA + Index,
                                  Count,
                                  &Name,
                                  &Length)) {
            FUZZ_CHECK(strlen(Name) == Length);
            Count += 1;
        }

        Cookie = 0;
        Count = 0;
        while (Count < FUZZ_MAXIMUM_NAMES &&
               ImageNextCoffFunction(Table,
                                     FUZZ_TEXT_RVA + Index,
                                     &Cookie,
                                     &Name,
                                     &Length)) {
            FUZZ_CHECK(strlen(Name) == Length);
            Count += 1;
        }
    }
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
    READER_COFF Image;
    FUZZ_INPUT Input = { Data, Size };
    READER_PDB Pdb;
    PUCHAR Bytes;
    READER_COFF_SECTION Sections[2];
    SIZE_T SizeInBytes;
    NTSTATUS Status;
    READER_COFF Table;

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size));
    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 1));
    SizeInBytes = Input.Left;
    Bytes = (PUCHAR)malloc(SizeInBytes == 0 ? 1 : SizeInBytes);
    if (Bytes == NULL) {
        abort();
    }
    memcpy(Bytes, Input.Bytes, SizeInBytes);

    memset(&Image, 0, sizeof(Image));
    memset(&Table, 0, sizeof(Table));
    memset(Sections, 0, sizeof(Sections));
    Sections[0].StartRva = FUZZ_TEXT_RVA;
    Sections[0].EndRva = FUZZ_TEXT_RVA + FUZZ_TEXT_SIZE;
    Sections[0].IsExecutable = TRUE;
    Sections[1].StartRva = 0x2000;
    Sections[1].EndRva = 0x3000;
    Image.Sections = Sections;
    Image.NumberOfSections = 2;

    Status = ImageInitializePdb(&Allocator.Allocator,
                                Bytes,
                                SizeInBytes,
                                &Pdb);
    FUZZ_CHECK(Status == STATUS_SUCCESS || Status == STATUS_NO_MEMORY ||
               Status == STATUS_FILE_CORRUPT_ERROR);
    if (NT_SUCCESS(Status)) {
        Status = ImageLoadPdbFunctions(&Pdb, &Image, &Table);
        FUZZ_CHECK(Status == STATUS_SUCCESS || Status == STATUS_NO_MEMORY);
    }

    ImageRundownPdb(&Pdb);
    ImageRundownPdb(&Pdb);
    free(Bytes);
    if (NT_SUCCESS(Status)) {
        FuzzCheckFunctions(&Table, SizeInBytes);
    }

    ImageRundownCoff(&Table);
    ImageRundownCoff(&Table);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    return 0;
}
