/*++

Module Name:

    Sources.c

Abstract:

    Images that are taken from files: whether they are the ones that were
    traced, and what is reported when they are not.

--*/

#include "TestSymbols.h"

_Use_decl_annotations_
BOOLEAN
TestSourceIs(
    PCRTL Rtl,
    PCTRACE_STORE_HEADER Header,
    READER_SYMBOL_SOURCE Source,
    NTSTATUS ExpectedStatus
    )
{
    READER_SYMBOL Symbol;
    PREADER_SYMBOLS Symbols;
    BOOLEAN IsFine;
    LONG Outstanding;

    Outstanding = TestCounter.Outstanding;
    if (!NT_SUCCESS(SymbolCreateSymbols(Rtl,
                                        &TestCountingAllocator,
                                        Header,
                                        NULL,
                                        &Symbols,
                                        &TestError))) {
        return FALSE;
    }

    IsFine = (BOOLEAN)(SymbolGetSymbolSource(Symbols) == Source &&
                       TestError.Status == ExpectedStatus);
    if (Source == ReaderSymbolSourceNone) {
        if (SymbolFindSymbol(Symbols, TEST_TEXT + 0x10, &Symbol)) {
            IsFine = FALSE;
        }
    }

    if (!IsFine) {
        RtlWriteText(TestOutput,
                     "source %u, error %s: 0x%08x\n",
                     SymbolGetSymbolSource(Symbols),
                     TestError.Step,
                     TestError.Status);
    }

    SymbolDestroySymbols(Symbols);
    return (BOOLEAN)(IsFine && TestCounter.Outstanding == Outstanding);
}

const WCHAR TestImageName[] = L"T\x00e4st S\x00fdmbols \x4e2d.exe";

//
// Takes images from files: whether they are the ones that were traced, what is
// reported when they are not, and that nothing is lost on the way.
//

VOID
TestFiles(
    VOID
    )
{
    ULONG Index;
    ULONG Length;
    PCWSTR Path;
    ULONG Size;
    NTSTATUS Status;
    PREADER_SYMBOLS Symbols;

    TestCounter.Outstanding = 0;
    TestCounter.FailAt = 0;

    Path = TestPathInFolder(TestImageName);
    Length = RtlLengthOfWideString(Path);
    Size = TestMakeImage(TRUE);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));

    TestFillHeader(&TestHeader,
                   Path,
                   0x40000000,
                   TEST_IMAGE_SIZE,
                   TEST_TIME_DATE_STAMP,
                   TEST_CHECK_SUM);

    //
    // DbgHelp is there and not trusted, absent, or without its routines.
    //

    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));
    TEST(TestSourceIs(&TestRtlWithout,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));
    TEST(TestSourceIs(&TestRtlEmpty,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));

    TEST(NT_SUCCESS(SymbolCreateSymbols(&TestRtlWithout,
                                        TestAllocator,
                                        &TestHeader,
                                        NULL,
                                        &Symbols,
                                        NULL)));
    TEST(TestFindsName(Symbols, 0x1013, 0x1010, "short"));
    TEST(!TestFindsName(Symbols, 0x3007, 0x10f0, "LastInTextButFirstInTable"));

    //
    // Names stay good when the file is written anew: it is not held open.
    //

    TEST(NT_SUCCESS(TestWriteWholeFile(Path, "gone", 4)));
    TEST(TestFindsName(Symbols, 0x1020, 0x1020, "exactly8"));
    SymbolDestroySymbols(Symbols);

    //
    // Another file is there now, then an empty one, then none.
    //

    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_INVALID_IMAGE_FORMAT));
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, "", 0)));
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_INVALID_IMAGE_FORMAT));

    TestHeader.ModulePath[TestHeader.ModulePathLength - 1] = 'X';
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_OBJECT_NAME_NOT_FOUND));
    TEST(TestError.ObjectLengthInChars == Length);
    TestHeader.ModulePath[TestHeader.ModulePathLength - 1] = 'e';

    //
    // Another build: each part of the identity alone.
    //

    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestHeader.ModuleTimeDateStamp += 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_REVISION_MISMATCH));
    TestHeader.ModuleTimeDateStamp -= 1;
    TestHeader.ModuleSize += 0x1000;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_REVISION_MISMATCH));
    TestHeader.ModuleSize -= 0x1000;
    TestHeader.ModuleCheckSum += 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));

    //
    // Without a time stamp the checksum decides.
    //

    TestPutUlong(TestImage + TEST_NT + 8, 0);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestHeader.ModuleTimeDateStamp = 0;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_REVISION_MISMATCH));
    TestHeader.ModuleCheckSum -= 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceCoff,
                      STATUS_SUCCESS));

    //
    // Every allocation fails once.
    //

    for (Index = 1; Index < 40; Index++) {
        TestCounter.Calls = 0;
        TestCounter.FailAt = Index;
        Status = SymbolCreateSymbols(&TestRtlWithout,
                                     &TestCountingAllocator,
                                     &TestHeader,
                                     NULL,
                                     &Symbols,
                                     &TestError);
        if (NT_SUCCESS(Status)) {
            SymbolDestroySymbols(Symbols);
        }
        TEST(TestCounter.Outstanding == 0);
        if (NT_SUCCESS(Status)) {
            break;
        }
        TEST(Status == STATUS_NO_MEMORY && Symbols == NULL);
    }
    TEST(Index > 4 && Index < 40);
    TestCounter.FailAt = 0;

    //
    // Neither symbols nor exports.
    //

    Size = TestMakeImage(FALSE);
    TestPutUlong(TestImage + TEST_OPTIONAL + 112, 0);
    TEST(NT_SUCCESS(TestWriteWholeFile(Path, TestImage, Size)));
    TestHeader.ModuleTimeDateStamp = TEST_TIME_DATE_STAMP;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_NOT_FOUND));
    TEST(TestSourceIs(&TestRtlWithout,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_DLL_NOT_FOUND));

    //
    // Paths in the header that cannot be.
    //

    TestHeader.ModulePathFullLength += 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_NAME_TOO_LONG));
    TestHeader.ModulePathFullLength -= 1;
    Length = TestHeader.ModulePathLength;
    TestHeader.ModulePathLength = 0;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_FILE_CORRUPT_ERROR));
    TestHeader.ModulePathLength = sizeof(TestHeader.ModulePath) + 1;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_FILE_CORRUPT_ERROR));
    TestHeader.ModulePathLength = Length;
    TestHeader.ModulePath[4] = 0;
    TEST(TestSourceIs(TestRtl,
                      &TestHeader,
                      ReaderSymbolSourceNone,
                      STATUS_FILE_CORRUPT_ERROR));
}
