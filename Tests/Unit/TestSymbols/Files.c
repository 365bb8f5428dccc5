/*++

Module Name:

    Files.c

Abstract:

    What TestSymbols's topics share: an allocator that counts, the header of a
    store, and files that are read and written whole.

--*/

#include "TestSymbols.h"

PCRTL TestRtl;
PCALLOCATOR TestAllocator;
TRACE_STORE_HEADER TestHeader;
UCHAR TestImage[TEST_IMAGE_CAPACITY];
WCHAR TestPath[TEST_PATH_IN_CHARS];
TEST_PATH TestFolder;
TEST_PATH TestFilePath;
static WCHAR TestNtPathBuffer[TEST_PATH_IN_CHARS + 16];
RTL_ERROR TestError;

//
// Allocates, counts, and fails when it is told to.
// Returns the memory, zeroed, or NULL.
//

static
PVOID
TestCountAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    PTEST_COUNTER Counter;
    PVOID Address;

    Counter = Context;
    Counter->Calls += 1;
    if (Counter->FailAt != 0 && Counter->Calls >= Counter->FailAt) {
        return NULL;
    }

    Address = TestAllocator->Allocate(TestAllocator->Context, SizeInBytes);
    if (Address != NULL) {
        Counter->Outstanding += 1;
    }
    return Address;
}

//
// Address: the memory, or NULL.
//

static
VOID
TestCountFree(
    PVOID Context,
    PVOID Address
    )
{
    PTEST_COUNTER Counter;

    Counter = Context;
    if (Address != NULL) {
        Counter->Outstanding -= 1;
    }
    TestAllocator->Free(TestAllocator->Context, Address);
}

TEST_COUNTER TestCounter;
const ALLOCATOR TestCountingAllocator = {
    &TestCounter,
    TestCountAllocate,
    TestCountFree
};

_Use_decl_annotations_
VOID
TestPutUshort(
    PUCHAR Bytes,
    ULONG Value
    )
{
    Bytes[0] = (UCHAR)Value;
    Bytes[1] = (UCHAR)(Value >> 8);
}

_Use_decl_annotations_
VOID
TestPutUlong(
    PUCHAR Bytes,
    ULONG Value
    )
{
    TestPutUshort(Bytes, Value);
    TestPutUshort(Bytes + 2, Value >> 16);
}

_Use_decl_annotations_
ULONG
TestGetUlong(
    const UCHAR *Bytes
    )
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}

_Use_decl_annotations_
VOID
TestFillHeader(
    PTRACE_STORE_HEADER Header,
    PCWSTR Path,
    ULONGLONG Base,
    ULONG Size,
    ULONG TimeDateStamp,
    ULONG CheckSum
    )
{
    ULONG Length;

    RtlZeroBytes(Header, sizeof(*Header));
    Header->Magic = TRACE_STORE_MAGIC;
    Header->ModuleBase = Base;
    Header->ModuleSize = Size;
    Header->ModuleTimeDateStamp = TimeDateStamp;
    Header->ModuleCheckSum = CheckSum;
    Header->ModulePathFullLength = RtlWideToUtf8(Path,
                                                 RtlLengthOfWideString(Path),
                                                 Header->ModulePath,
                                                 sizeof(Header->ModulePath),
                                                 &Length);
    Header->ModulePathLength = Length;
}

_Use_decl_annotations_
BOOLEAN
TestFillHeaderOfModule(
    PTRACE_STORE_HEADER Header,
    HMODULE Module
    )
{
    const UCHAR *Base;
    const UCHAR *Nt;

    if (TestRtl->GetModuleFileNameW(Module,
                                    TestPath,
                                    TEST_PATH_IN_CHARS) == 0) {
        return FALSE;
    }

    Base = (const UCHAR *)Module;
    Nt = Base + TestGetUlong(Base + 60);
    TestFillHeader(Header,
                   TestPath,
                   (ULONGLONG)(ULONG_PTR)Base,
                   TestGetUlong(Nt + 24 + 56),
                   TestGetUlong(Nt + 8),
                   TestGetUlong(Nt + 24 + 64));
    return TRUE;
}

_Use_decl_annotations_
ULONG
TestSectionFlags(
    HMODULE Module,
    ULONG Rva
    )
{
    PIMAGE_NT_HEADERS64 Nt;
    PIMAGE_SECTION_HEADER Section;
    ULONG Index;

    Nt = (PVOID)((PUCHAR)Module + ((PIMAGE_DOS_HEADER)Module)->e_lfanew);
    Section = IMAGE_FIRST_SECTION(Nt);
    for (Index = 0; Index < Nt->FileHeader.NumberOfSections; Index++) {
        if (Rva >= Section[Index].VirtualAddress &&
            Rva - Section[Index].VirtualAddress <
                Section[Index].Misc.VirtualSize) {
            return Section[Index].Characteristics;
        }
    }
    return 0;
}

_Use_decl_annotations_
NTSTATUS
TestOpen(
    PCWSTR Path,
    BOOLEAN Create,
    PHANDLE File
    )
{
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    NTSTATUS Status;

    RtlPointUnicodeString(&Dos, Path, RtlLengthOfWideString(Path));
    Status = RtlDosPathToNtPath(TestRtl,
                                &Dos,
                                TestNtPathBuffer,
                                RTL_NUMBER_OF(TestNtPathBuffer),
                                &Nt);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (Create) {
        return RtlCreateFile(TestRtl, &Nt, RTL_CREATE_ALWAYS, File);
    }
    return RtlOpenFileForReading(TestRtl, &Nt, File);
}

_Use_decl_annotations_
PCWSTR
TestPathInFolder(
    PCWSTR Name
    )
{
    TEST(TestMakePathIn(&TestFilePath, &TestFolder, Name));
    return TestDosPath(&TestFilePath);
}

_Use_decl_annotations_
NTSTATUS
TestWriteWholeFile(
    PCWSTR Path,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    HANDLE File;
    NTSTATUS Status;

    Status = TestOpen(Path, TRUE, &File);
    if (NT_SUCCESS(Status)) {
        if (SizeInBytes != 0) {
            Status = RtlWriteFile(TestRtl, File, 0, Bytes, SizeInBytes);
        }
        RtlClose(TestRtl, File);
    }
    return Status;
}

_Use_decl_annotations_
PUCHAR
TestReadWholeFile(
    PCWSTR Path,
    PULONG SizeInBytes
    )
{
    PUCHAR Bytes;
    HANDLE File;
    ULONG Read;
    ULONGLONG Size;
    NTSTATUS Status;

    *SizeInBytes = 0;
    Bytes = NULL;

    if (!NT_SUCCESS(TestOpen(Path, FALSE, &File))) {
        return NULL;
    }

    Status = RtlQueryFileSize(TestRtl, File, &Size);
    if (NT_SUCCESS(Status) && Size <= TEST_MAXIMUM_IMAGE_IN_BYTES) {
        Bytes = TestAllocator->Allocate(TestAllocator->Context,
                                        (SIZE_T)Size + 1);
        while (Bytes != NULL && *SizeInBytes < Size) {
            Status = RtlReadFile(TestRtl,
                                 File,
                                 *SizeInBytes,
                                 Bytes + *SizeInBytes,
                                 (ULONG)Size - *SizeInBytes,
                                 &Read);
            if (!NT_SUCCESS(Status) || Read == 0) {
                TestAllocator->Free(TestAllocator->Context, Bytes);
                Bytes = NULL;
            } else {
                *SizeInBytes += Read;
            }
        }
    }

    RtlClose(TestRtl, File);
    return Bytes;
}
