/*++

Module Name:

    TestExclude.c

Abstract:

    Tests the patcher of excluded functions (Penter/PenterExclude.c) on an image
    that is made here byte by byte: which bytes are written for a call at each
    place of a cache line, by a table that is made here, and that they lie in
    one aligned word of eight bytes; that all is put back; lists that make no
    sense, that are another build's, whose places call no hook; memory and code
    that cannot be had; and threads that run through the code meanwhile.  And
    the decoder that finds the places (RtlDecode.c), on instructions that
    GNU as has made.

--*/

#include "../../Penter/PenterHooks.h"
#include "../../Penter/PenterList.h"
#include "../../Rtl/RtlDecode.h"
#include "Test.h"

#define TEST_IMAGE_SIZE         0x100000
#define TEST_CODE_RVA           0x1000
#define TEST_CODE_SIZE          0xE0000
#define TEST_DATA_RVA           0xF0000
#define TEST_DATA_SIZE          0x1000
#define TEST_FUNCTIONS_RVA      0xF2000         // of the unwind data
#define TEST_MAXIMUM_FUNCTIONS  4096
#define TEST_SIGNATURE_OFFSET   0x80
#define TEST_LINE               64
#define TEST_TEXT_CAPACITY      0x500000
#define TEST_MANY_FUNCTIONS     50000
#define TEST_PLACES_EACH        50
#define TEST_THREADS            2
#define TEST_ROUNDS             3000
#define TEST_LIMIT_IN_100NS     (-6000000000LL)     // ten minutes

#define TEST_PARTS "module 11111111 00100000 33333333 - "

#define TEST_CALL               0xE8
#define TEST_JUMP               0xE9
#define TEST_RETURN             0xC3
#define TEST_NOP                0x90

extern PENTER_ROUTINE _penter;
extern PENTER_ROUTINE _pexit;
extern PENTER_ROUTINE __cyg_profile_func_exit;

//
// The image.  Its pages may be written and executed from the start; what the
// patcher asks for is counted.
//

static __declspec(align(4096)) UCHAR TestImage[TEST_IMAGE_SIZE];

static UCHAR TestBefore[TEST_IMAGE_SIZE];
static CHAR TestText[TEST_TEXT_CAPACITY];
static RTL_WRITER TestWriter;
static RTL TestRtl;
static PCRTL TestReal;
static TRACE_STORE_HEADER TestHeader;
static PENTER_EXCLUSION TestExclusion;
static RTL_ERROR TestError;

//
// What the patcher asks the system for.
//

static LONG TestProtections;            // calls of NtProtectVirtualMemory
static LONG TestFailingProtection;      // which of them fails; 0: none
static LONG TestOpenPages;              // made writable and not put back
static LONG TestBadProtections;         // without the right to execute
static LONG TestAllocations;            // not freed
static BOOLEAN TestNoMemory;

static LONG volatile TestStop;
static LONG volatile TestWrong;
static LONG volatile TestLoops;

typedef ULONG (TEST_CODE)(VOID);
typedef TEST_CODE *PTEST_CODE;

static
NTSTATUS
NTAPI
TestNtProtectVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    ULONG NewProtection,
    PULONG OldProtection
    )
{
    TestProtections += 1;
    if (TestProtections == TestFailingProtection) {
        return (NTSTATUS)0xC0000604;    // STATUS_DYNAMIC_CODE_BLOCKED
    }

    TestOpenPages += TestProtections % 2 != 0 ? 1 : -1;
    if (NewProtection != PAGE_EXECUTE_READWRITE &&
        NewProtection != PAGE_EXECUTE_WRITECOPY &&
        NewProtection != PAGE_EXECUTE_READ) {
        TestBadProtections += 1;
    }

    return TestReal->NtProtectVirtualMemory(ProcessHandle,
                                            BaseAddress,
                                            RegionSize,
                                            NewProtection,
                                            OldProtection);
}

static
NTSTATUS
NTAPI
TestNtAllocateVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    PSIZE_T RegionSize,
    ULONG AllocationType,
    ULONG Protect
    )
{
    if (TestNoMemory) {
        return STATUS_NO_MEMORY;
    }

    TestAllocations += 1;
    return TestReal->NtAllocateVirtualMemory(ProcessHandle,
                                             BaseAddress,
                                             ZeroBits,
                                             RegionSize,
                                             AllocationType,
                                             Protect);
}

static
NTSTATUS
NTAPI
TestNtFreeVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    ULONG FreeType
    )
{
    TestAllocations -= 1;
    return TestReal->NtFreeVirtualMemory(ProcessHandle,
                                         BaseAddress,
                                         RegionSize,
                                         FreeType);
}

//
// Describes a function, behind those that are described already.
//

static
VOID
TestDescribe(
    ULONG Begin,
    ULONG End
    )
{
    PIMAGE_NT_HEADERS64 NtHeaders;
    PIMAGE_DATA_DIRECTORY Directory;
    PULONG Entry;

    NtHeaders = (PIMAGE_NT_HEADERS64)(TestImage + TEST_SIGNATURE_OFFSET);
    Directory = &NtHeaders->OptionalHeader
                     .DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
    Entry = (PULONG)(TestImage + TEST_FUNCTIONS_RVA + Directory->Size);
    Entry[0] = Begin;
    Entry[1] = End;
    Entry[2] = 0;
    Directory->Size += 12;
    TEST(Directory->Size <= 12 * TEST_MAXIMUM_FUNCTIONS);
}

//
// Takes back what is described.
//

static
VOID
TestDescribeNothing(
    VOID
    )
{
    PIMAGE_NT_HEADERS64 NtHeaders;

    NtHeaders = (PIMAGE_NT_HEADERS64)(TestImage + TEST_SIGNATURE_OFFSET);
    NtHeaders->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION]
        .Size = 0;
}

//
// Makes an image whose code does nothing, and is all one function.
//

static
VOID
TestMakeImage(
    VOID
    )
{
    PIMAGE_NT_HEADERS64 NtHeaders;
    PIMAGE_SECTION_HEADER Section;
    ULONG Index;

    RtlZeroBytes(TestImage, sizeof(TestImage));
    ((PIMAGE_DOS_HEADER)TestImage)->e_magic = IMAGE_DOS_SIGNATURE;
    ((PIMAGE_DOS_HEADER)TestImage)->e_lfanew = TEST_SIGNATURE_OFFSET;
    NtHeaders = (PIMAGE_NT_HEADERS64)(TestImage + TEST_SIGNATURE_OFFSET);
    NtHeaders->Signature = IMAGE_NT_SIGNATURE;
    NtHeaders->FileHeader.NumberOfSections = 2;
    NtHeaders->FileHeader.SizeOfOptionalHeader =
        sizeof(NtHeaders->OptionalHeader);
    NtHeaders->OptionalHeader.SizeOfImage = TEST_IMAGE_SIZE;

    Section = IMAGE_FIRST_SECTION(NtHeaders);
    Section[0].VirtualAddress = TEST_CODE_RVA;
    Section[0].Misc.VirtualSize = TEST_CODE_SIZE;
    Section[0].Characteristics = IMAGE_SCN_MEM_EXECUTE | IMAGE_SCN_MEM_READ;
    NtHeaders->OptionalHeader.NumberOfRvaAndSizes =
        IMAGE_NUMBEROF_DIRECTORY_ENTRIES;
    NtHeaders->OptionalHeader
        .DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION]
        .VirtualAddress = TEST_FUNCTIONS_RVA;
    Section[1].VirtualAddress = TEST_DATA_RVA;
    Section[1].Misc.VirtualSize = TEST_DATA_SIZE;
    Section[1].Characteristics = IMAGE_SCN_MEM_READ | IMAGE_SCN_MEM_WRITE;

    TestHeader.ModuleBase = (ULONG_PTR)TestImage;
    TestHeader.ModuleSize = TEST_IMAGE_SIZE;
    TestHeader.ModuleTimeDateStamp = 0x11111111;
    TestHeader.ModuleCheckSum = 0x33333333;
    TestHeader.CodeViewAge = 0;

    for (Index = TEST_CODE_RVA;
         Index < TEST_CODE_RVA + TEST_CODE_SIZE;
         Index += 1) {
        TestImage[Index] = TEST_NOP;
    }
    TestDescribe(TEST_CODE_RVA, TEST_CODE_RVA + TEST_CODE_SIZE - 0x10);
}

//
// Writes a call or a jump.
//

static
VOID
TestPut(
    ULONG Rva,
    UCHAR Instruction,
    const VOID *Target
    )
{
    TestImage[Rva] = Instruction;
    *(ULONG UNALIGNED *)(TestImage + Rva + 1) =
        (ULONG)((ULONG_PTR)Target - (ULONG_PTR)(TestImage + Rva + 5));
}

static
VOID
TestBegin(
    VOID
    )
{
    RtlInitializeBufferWriter(&TestWriter, TestText, sizeof(TestText));
    RtlWriteText(&TestWriter, PENTER_LIST_VERSION "\n");
    RtlCopyBytes(TestBefore, TestImage, sizeof(TestImage));
    TestProtections = 0;
    TestFailingProtection = 0;
    TestOpenPages = 0;
    TestBadProtections = 0;
}

static
NTSTATUS
TestExcludeWhole(
    PCWSTR ModuleName
    )
{
    UNICODE_STRING Module;
    UNICODE_STRING List;

    RtlPointUnicodeString(&Module,
                          ModuleName,
                          RtlLengthOfWideString(ModuleName));
    RtlPointUnicodeString(&List, L"some.list", 9);
    return PenterExcludeByText(&TestRtl,
                               &TestHeader,
                               &Module,
                               &List,
                               TestText,
                               (ULONG)TestWriter.LengthInBytes,
                               &TestExclusion,
                               &TestError);
}

//
// The same of what has not got its last line yet.
//

static
NTSTATUS
TestExcludeText(
    PCWSTR ModuleName
    )
{
    RtlWriteText(&TestWriter, "\nend\n");
    return TestExcludeWhole(ModuleName);
}

static
BOOLEAN
TestIsUnchanged(
    VOID
    )
{
    return RtlAreBytesEqual(TestImage, TestBefore, sizeof(TestImage));
}

//
// After a failure: nothing is changed or kept.
//

static
VOID
TestNothing(
    NTSTATUS Status,
    NTSTATUS Expected
    )
{
    TEST_STATUS(Status, Expected);
    TEST(TestIsUnchanged());
    TEST_EQUAL(TestExclusion.Sites, NULL);
    TEST_EQUAL(TestExclusion.NumberOfSites, 0);
    TEST_EQUAL(TestAllocations, 0);
    TEST_EQUAL(TestBadProtections, 0);
}

static
VOID
TestPutBack(
    VOID
    )
{
    PenterIncludeAgain(&TestRtl, &TestExclusion);
    TEST(TestIsUnchanged());
    TEST_EQUAL(TestAllocations, 0);
    TEST_EQUAL(TestOpenPages, 0);
    TEST_EQUAL(TestBadProtections, 0);
    TEST_EQUAL(TestExclusion.Sites, NULL);
    PenterIncludeAgain(&TestRtl, &TestExclusion);
    TEST(TestIsUnchanged());
}

//
// Where the call at some place of a cache line is; all pages are different, but
// for one call that goes from a page to the next.
//

static
ULONG
TestPlaceOf(
    ULONG Offset
    )
{
    return TEST_CODE_RVA + 0x2000 * Offset + 0xFC0 + Offset;
}

static
VOID
TestCallsInLines(
    VOID
    )
{
    static const UCHAR Nop[] = { 0x0F, 0x1F, 0x44, 0x00, 0x00 };
    ULONG Offset;
    ULONG Rva;
    ULONG Index;
    ULONG FirstWord;
    ULONG Changed = 0;
    ULONG Expected = 0;
    UCHAR Bytes[5];

    TestMakeImage();
    for (Index = TEST_CODE_RVA;
         Index < TEST_CODE_RVA + TEST_CODE_SIZE;
         Index += 1) {
        TestImage[Index] = (UCHAR)(0x50 + Index * 7 % 16);  // push, pop
    }
    for (Offset = 0; Offset < TEST_LINE; Offset += 1) {
        TestPut(TestPlaceOf(Offset), TEST_CALL, (PVOID)_penter);
    }
    TestPut(0x1F03, TEST_JUMP, (PVOID)__cyg_profile_func_exit);
    TestBegin();
    RtlWriteText(&TestWriter, TEST_PARTS "test.exe\n");
    for (Offset = 0; Offset < TEST_LINE; Offset += 1) {
        Rva = TestPlaceOf(TEST_LINE - 1 - Offset);
        RtlWriteText(&TestWriter,
                     "function %x %x number %u\ncall %X\n",
                     Rva, Rva + 9, Offset, Rva);
    }
    RtlWriteText(&TestWriter, "function 1f00 1f10 f\njump 1f03");

    TEST_SUCCESS(TestExcludeText(L"test.exe"));
    TEST_EQUAL(TestExclusion.NumberOfSites, TEST_LINE + 1);
    TEST_EQUAL(TestExclusion.NumberOfFunctions, TEST_LINE + 1);
    TEST_EQUAL(TestExclusion.NumberRefused, 0);
    TEST_EQUAL(TestOpenPages, 0);
    TEST_EQUAL(TestBadProtections, 0);
    TEST_EQUAL(TestAllocations, 1);

    for (Offset = 0; Offset < TEST_LINE; Offset += 1) {
        Rva = TestPlaceOf(Offset);
        TEST_EQUAL((ULONG_PTR)(TestImage + Rva) % TEST_LINE, Offset);
        RtlCopyBytes(Bytes, TestBefore + Rva, sizeof(Bytes));
        if (Offset % 8 < 4) {
            RtlCopyBytes(Bytes, Nop, sizeof(Nop));
        } else if (Offset % 8 < 7) {
            Bytes[0] = 0xEB;
            Bytes[1] = 3;
        } else {
            *(ULONG UNALIGNED *)(Bytes + 1) =
                (ULONG)((ULONG_PTR)PenterReturn -
                        (ULONG_PTR)(TestImage + Rva + 5));
        }
        TEST_EQUAL_BYTES(TestImage + Rva, Bytes, sizeof(Bytes));
        FirstWord = (ULONG)-1;
        for (Index = 0; Index < sizeof(Bytes); Index += 1) {
            if (TestImage[Rva + Index] == TestBefore[Rva + Index]) {
                continue;
            }
            Expected += 1;
            if (FirstWord == (ULONG)-1) {
                FirstWord = (Rva + Index) / 8;
            }
            TEST_EQUAL((Rva + Index) / 8, FirstWord);
        }
        TEST(FirstWord != (ULONG)-1);
    }
    TEST_EQUAL(TestImage[0x1F03], TEST_RETURN);
    for (Index = 0; Index < TEST_IMAGE_SIZE; Index += 1) {
        Changed += TestImage[Index] != TestBefore[Index];
    }
    TEST_EQUAL(Changed, Expected + 1);

    TestPutBack();
}

static
VOID
TestRefusedPlaces(
    VOID
    )
{
    TestMakeImage();
    TestPut(0x1100, TEST_CALL, (PVOID)_penter);
    TestPut(0x1110, TEST_CALL, (PVOID)_pexit);
    TestPut(0x1200, TEST_CALL, (PVOID)_penter);
    TestPut(0x1210, TEST_CALL, (PUCHAR)_pexit + 1);
    TestPut(0x1300, TEST_CALL, (PVOID)_penter);
    TestPut(TEST_DATA_RVA, TEST_CALL, (PVOID)_penter);
    TestPut(TEST_CODE_RVA + TEST_CODE_SIZE - 4, TEST_CALL, (PVOID)_penter);
    TestPut(0x500, TEST_CALL, (PVOID)_penter);
    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\r\n"
                 "# a comment\r\n\r\n"
                 "function 1100 1120 good\r\ncall 1100\r\ncall 1110\r\n"
                 "function 1200 1220 half\ncall 1200\ncall 1210\n"
                 "function 1300 1310 wrong kind\njump 1300\n"
                 "function 1300 1310 inside of it\ncall 1301\n"
                 "function 500 510 headers\ncall 500\n"
                 "function f0000 f0010 data\ncall f0000\n"
                 "function e0ff0 e1000 its end\ncall %x\n"
                 "function fffff 100000 last\ncall fffff\n"
                 "function 7ffffffe 7fffffff far\ncall 7fffffff\n"
                 "function 1300 1400 two\nfunction 1200 1210 together\n"
                 "call 1300\ncall 1400\n",
                 TEST_CODE_RVA + TEST_CODE_SIZE - 4);
    TEST_SUCCESS(TestExcludeText(L"TEST.EXE"));
    TEST_EQUAL(TestExclusion.NumberOfFunctions, 1);
    TEST_EQUAL(TestExclusion.NumberOfSites, 2);
    TEST_EQUAL(TestExclusion.NumberRefused, 10);
    TEST_EQUAL(TestExclusion.RefusedRva, 0x1210);
    TEST_EQUAL(TestImage[0x1100], 0x0F);
    TEST_EQUAL(TestImage[0x1110], 0x0F);
    TEST_EQUAL(TestImage[0x1200], TEST_CALL);
    TEST_EQUAL(TestImage[0x1300], TEST_CALL);
    TestPutBack();
}

//
// The jumps that linkers put between a call and its target.
//

static
VOID
TestThunks(
    VOID
    )
{
    TestMakeImage();
    TestPut(0x1100, TEST_CALL, TestImage + 0x1180);
    TestPut(0x1180, TEST_JUMP, (PVOID)_penter);
    TestPut(0x1200, TEST_CALL, TestImage + 0x1280);
    TestPut(0x1280, TEST_JUMP, TestImage + 0x1290);
    *(USHORT *)(TestImage + 0x1290) = 0x25FF;
    *(ULONG UNALIGNED *)(TestImage + 0x1292) = TEST_DATA_RVA - 0x1296;
    *(PVOID *)(TestImage + TEST_DATA_RVA) = (PVOID)_pexit;
    TestPut(0x1300, TEST_CALL, TestImage + 0x1380);     // of itself
    TestPut(0x1380, TEST_JUMP, TestImage + 0x1380);
    TestPut(0x1400, TEST_CALL, TestImage + 0x1480);     // one too many
    TestPut(0x1480, TEST_JUMP, TestImage + 0x1490);
    TestPut(0x1490, TEST_JUMP, TestImage + 0x14A0);
    TestPut(0x14A0, TEST_JUMP, (PVOID)_penter);
    TestPut(0x1500, TEST_CALL, TestImage + 0x1580);     // beyond the image
    *(USHORT *)(TestImage + 0x1580) = 0x25FF;
    *(ULONG UNALIGNED *)(TestImage + 0x1582) = TEST_IMAGE_SIZE - 0x1586 - 4;
    TestPut(0x1600, TEST_CALL, TestImage + 0x1680);
    *(USHORT *)(TestImage + 0x1680) = 0x25FF;
    *(ULONG UNALIGNED *)(TestImage + 0x1682) = 0x80000000;
    TestPut(0x1700, TEST_CALL, TestImage + TEST_DATA_RVA + 8);
    TestPut(TEST_DATA_RVA + 8, TEST_JUMP, (PVOID)_penter);
    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\n"
                 "function 1100 1120 a\ncall 1100\n"
                 "function 1200 1220 b\ncall 1200\n"
                 "function 1300 1320 c\ncall 1300\n"
                 "function 1400 1420 d\ncall 1400\n"
                 "function 1500 1520 e\ncall 1500\n"
                 "function 1600 1620 f\ncall 1600\n"
                 "function 1700 1720 g\ncall 1700\n");
    TEST_SUCCESS(TestExcludeText(L"test.exe"));
    TEST_EQUAL(TestExclusion.NumberOfFunctions, 2);
    TEST_EQUAL(TestExclusion.NumberRefused, 5);
    TEST_EQUAL(TestExclusion.RefusedRva, 0x1300);
    TEST_EQUAL(TestImage[0x1100], 0x0F);
    TEST_EQUAL(TestImage[0x1200], 0x0F);
    TestPutBack();
}

static
VOID
TestOverlaps(
    VOID
    )
{
    ULONG Index;
    ULONG Rva;
    ULONG Target;
    LONG Displacement;

    TestMakeImage();
    TestPut(0x1100, TEST_CALL, (PVOID)_penter);
    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\n"
                 "function 1100 1120 a\ncall 1100\n"
                 "function 1100 1120 a\ncall 1100\n");
    TestNothing(TestExcludeText(L"test.exe"), STATUS_CONFLICTING_ADDRESSES);

    //
    // A call whose second byte is that of another call, to a jump to a hook.
    //

    for (Rva = 0x8000; Rva < 0xC0000; Rva += 1) {
        TestPut(Rva, TEST_CALL, (PVOID)_penter);
        if (TestImage[Rva + 1] == TEST_CALL) {
            TestImage[Rva + 5] = TestImage[Rva + 4];
            Displacement = *(LONG UNALIGNED *)(TestImage + Rva + 2);
            Target = Rva + 6 + (ULONG)Displacement;
            if (Target >= TEST_CODE_RVA &&
                Target < TEST_CODE_RVA + TEST_CODE_SIZE - 5 &&
                (Target + 5 <= Rva || Target >= Rva + 6)) {
                TestPut(Target, TEST_JUMP, (PVOID)_pexit);
                break;
            }
        }
        for (Index = 0; Index < 6; Index += 1) {
            TestImage[Rva + Index] = TEST_NOP;
        }
    }
    if (Rva == 0xC0000) {
        TEST_SKIP("no call contains another one where the linker has put this");
        return;
    }

    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\n"
                 "function 1100 1120 a\ncall 1100\n"
                 "function %x %x b\ncall %x\ncall %x\n",
                 Rva, Rva + 10, Rva + 1, Rva);
    TEST_SUCCESS(TestExcludeText(L"test.exe"));
    TEST_EQUAL(TestExclusion.NumberOfSites, 1);
    TEST_EQUAL(TestExclusion.NumberRefused, 1);
    TestPutBack();
}

static
VOID
TestGarbage(
    VOID
    )
{
    static const PCSZ Lines[] = {
        "call 1100x",
        "call 1100 ",
        " call 1100",
        "call",
        "call ",
        "call 0x1100",
        "call 123456789",
        "call 80001100",
        "call -1",
        "Call 1100",
        "calls 1100",
        "jump 1100 1100",
        "function",
        "function 1100 1120",
        "function 1100 1120 ",
        "function 1120 1100 f",
        "function 1100 1100 f",
        "function 1100 g f",
        "module",
        "module 1 2 3",
        "module 1 2 3 -",
        "module 1 2 3 - ",
        "module 1 2 3  a.exe",
        "module 1 2 x - a.exe",
        "tracer-exclude 2",
        "ends",
        "end ",
        " end",
        "END",
        "square",
        "\x01",
        "\xFF\xFE",
        "call 1100\tcall"
    };
    static const struct {
        PCSZ Text;
        NTSTATUS Status;
    } Wholes[] = {
        { "", STATUS_END_OF_FILE },
        { "tracer-exclude 1\nend\n", STATUS_UNKNOWN_REVISION },
        { "tracer-exclude 3\n", STATUS_UNKNOWN_REVISION },
        { "tracer-exclude 2x\nend\n", STATUS_UNKNOWN_REVISION },
        { "tracer-excludes 2\nend\n", STATUS_FILE_INVALID },
        { "tracer-exclude\nend\n", STATUS_FILE_INVALID },
        { "\n" PENTER_LIST_VERSION "\nend\n", STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION, STATUS_END_OF_FILE },
        { PENTER_LIST_VERSION "\n", STATUS_END_OF_FILE },
        { PENTER_LIST_VERSION "\n# end\n#end", STATUS_END_OF_FILE },
        { PENTER_LIST_VERSION "\nsquare\nend", STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\nend\nsquare", STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\nend\nend\n", STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\nend\n" TEST_PARTS "test.exe\n",
          STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\ncall 1100\nend\n", STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\nfunction 1100 1120 f\nend\n",
          STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\n" TEST_PARTS "test.exe\ncall 1100\nend\n",
          STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\n" TEST_PARTS "test.exe\n"
              "function 1100 1120 f\n" TEST_PARTS "test.exe\ncall 1100\n"
              "end\n",
          STATUS_FILE_INVALID },
        { PENTER_LIST_VERSION "\nend", STATUS_SUCCESS },
        { PENTER_LIST_VERSION "\nend\n\n# more\r\n\r\n#",
          STATUS_SUCCESS }
    };
    ULONG Index;
    ULONG Which;

    TestMakeImage();
    TestPut(0x1100, TEST_CALL, (PVOID)_penter);
    for (Which = 0; Which < 2; Which += 1) {
        for (Index = 0; Index < RTL_NUMBER_OF(Lines); Index += 1) {
            TestBegin();
            RtlWriteText(&TestWriter,
                         TEST_PARTS "%s\nfunction 1100 1120 a\ncall 1100\n"
                         "%s\n",
                         Which == 0 ? "test.exe" : "other.exe",
                         Lines[Index]);
            TestNothing(TestExcludeText(L"test.exe"), STATUS_FILE_INVALID);
            TEST_EQUAL_WIDE(TestError.Object,
                            TestError.ObjectLengthInChars,
                            L"line 5 of some.list");
        }
    }
    for (Index = 0; Index < RTL_NUMBER_OF(Wholes); Index += 1) {
        TestBegin();
        RtlInitializeBufferWriter(&TestWriter, TestText, sizeof(TestText));
        RtlWriteText(&TestWriter, "%s", Wholes[Index].Text);
        if (!TEST_STATUS(TestExcludeWhole(L"test.exe"),
                         Wholes[Index].Status)) {
            RtlWriteText(TestOutput, "    of list %u\n", Index);
        }
        TestNothing(Wholes[Index].Status, Wholes[Index].Status);
    }

    //
    // A control: the same without the last line.  A list may be empty, and a
    // function may have no place.
    //

    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\nfunction 1100 1120 a\ncall 1100\n");
    TEST_SUCCESS(TestExcludeText(L"test.exe"));
    TEST_EQUAL(TestExclusion.NumberOfSites, 1);
    TestPutBack();
    TestBegin();
    TestNothing(TestExcludeText(L"test.exe"), STATUS_SUCCESS);
    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\nfunction 1100 1120 a b\n"
                 "function 1100 1120 \xE2\x82\xAC");
    TestNothing(TestExcludeText(L"test.exe"), STATUS_SUCCESS);
}

//
// A list that was cut, at each place: nothing is excluded.  Only its last line
// feed says nothing.
//

static
VOID
TestCuts(
    VOID
    )
{
    static const PCSZ Ends[] = { "\n", "\r\n" };
    NTSTATUS Status;
    ULONG Which;
    ULONG Size;
    ULONG Cut;

    TestMakeImage();
    TestPut(0x1100, TEST_CALL, (PVOID)_penter);
    TestPut(0x1110, TEST_CALL, (PVOID)_pexit);
    TestPut(0x1200, TEST_CALL, (PVOID)_penter);
    for (Which = 0; Which < RTL_NUMBER_OF(Ends); Which += 1) {
        TestBegin();
        RtlInitializeBufferWriter(&TestWriter, TestText, sizeof(TestText));
        RtlWriteText(&TestWriter,
                     PENTER_LIST_VERSION "%s# made by hand%s"
                     TEST_PARTS "test.exe%s%s"
                     "function 00001100 00001120 a b%s"
                     "call 00001100%scall 00001110%s"
                     "function 00001200 00001220 end%scall 00001200%s"
                     "module 1 2 3 - other.exe%s"
                     "function 1 2 c%scall 1%send",
                     Ends[Which], Ends[Which], Ends[Which], Ends[Which],
                     Ends[Which], Ends[Which], Ends[Which], Ends[Which],
                     Ends[Which], Ends[Which], Ends[Which], Ends[Which]);
        Size = (ULONG)TestWriter.LengthInBytes;
        for (Cut = 0; Cut < Size; Cut += 1) {
            TestWriter.LengthInBytes = Cut;
            Status = TestExcludeWhole(L"test.exe");
            if (!TEST_STATUS(Status, STATUS_END_OF_FILE)) {
                RtlWriteText(TestOutput, "    cut at %u\n", Cut);
            }
            TestNothing(Status, STATUS_END_OF_FILE);
            TEST_EQUAL_WIDE(TestError.Object,
                            TestError.ObjectLengthInChars,
                            L"some.list");
        }
        for (Cut = Size; Cut <= Size + 2; Cut += 1) {
            TestText[Size] = '\r';
            TestText[Size + 1] = '\n';
            TestWriter.LengthInBytes = Cut;
            TEST_SUCCESS(TestExcludeWhole(L"test.exe"));
            TEST_EQUAL(TestExclusion.NumberOfSites, 3);
            TEST_EQUAL(TestExclusion.NumberOfFunctions, 2);
            TestPutBack();
        }
    }
}

static
VOID
TestIdentity(
    VOID
    )
{
    static const struct {
        PCSZ Parts;
        NTSTATUS Status;
        ULONG NumberOfSites;
    } Cases[] = {
        { "module 11111111 100000 33333333 - test.exe", STATUS_SUCCESS, 1 },
        { "module 11111111 100000 33333333 - TesT.EXE", STATUS_SUCCESS, 1 },
        { "module 11111112 100000 33333333 - test.exe",
          STATUS_REVISION_MISMATCH, 0 },
        { "module 11111111 100001 33333333 - test.exe",
          STATUS_REVISION_MISMATCH, 0 },
        { "module 11111111 100000 33333330 - test.exe",
          STATUS_REVISION_MISMATCH, 0 },
        { "module 11111111 100000 33333333 "
          "00112233445566778899AABBCCDDEEFF1 test.exe",
          STATUS_REVISION_MISMATCH, 0 },
        { "module 11111111 100000 33333333 - test.ex", STATUS_SUCCESS, 0 },
        { "module 11111111 100000 33333333 - test.exee", STATUS_SUCCESS, 0 },
        { "module 0 1 2 - test.exe\n"
          "module 11111111 100000 33333333 - test.exe", STATUS_SUCCESS, 1 },
        { "module 11111111 100000 33333333 - test.exe\n"
          "module 0 1 2 - test.exe", STATUS_SUCCESS, 0 },
        { "module 0 1 2 - other.exe", STATUS_SUCCESS, 0 }
    };
    ULONG Index;
    NTSTATUS Status;

    TestMakeImage();
    TestPut(0x1100, TEST_CALL, (PVOID)_penter);
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        TestBegin();
        RtlWriteText(&TestWriter,
                     "%s\nfunction 1100 1120 a\ncall 1100\n",
                     Cases[Index].Parts);
        Status = TestExcludeText(L"test.exe");
        if (Cases[Index].NumberOfSites == 0) {
            TestNothing(Status, Cases[Index].Status);
        } else {
            TEST_STATUS(Status, Cases[Index].Status);
            TEST_EQUAL(TestExclusion.NumberOfSites,
                       Cases[Index].NumberOfSites);
            TestPutBack();
        }
        if (Status == STATUS_REVISION_MISMATCH) {
            TEST_EQUAL_WIDE(TestError.Object,
                            TestError.ObjectLengthInChars,
                            L"test.exe");
        }
    }

    //
    // A GUID is written as symbol servers do: its first three fields are
    // numbers.
    //

    TestHeader.CodeViewAge = 0x2A;
    for (Index = 0; Index < 16; Index += 1) {
        TestHeader.CodeViewGuid[Index] = (UCHAR)(0x11 * Index);
    }
    TestBegin();
    RtlWriteText(&TestWriter,
                 "module 11111111 100000 33333333 "
                 "33221100554477668899AABBCCDDEEFF2A test.exe\n"
                 "function 1100 1120 a\ncall 1100\n");
    TEST_SUCCESS(TestExcludeText(L"test.exe"));
    TEST_EQUAL(TestExclusion.NumberOfSites, 1);
    TestPutBack();
    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\nfunction 1100 1120 a\ncall 1100\n");
    TestNothing(TestExcludeText(L"test.exe"), STATUS_REVISION_MISMATCH);
}

//
// Code that may not be changed, from some page on; and no memory.
//

static
VOID
TestFailures(
    VOID
    )
{
    ULONG Index;
    LONG Failing;
    NTSTATUS Status;

    TestMakeImage();
    for (Index = 0; Index < 4; Index += 1) {
        TestPut(0x1FBE + Index * 0x1000, TEST_CALL, (PVOID)_penter);
        TestPut(0x1FFF + Index * 0x1000, TEST_CALL, (PVOID)_pexit);
    }
    for (Failing = 1; ; Failing += 1) {
        TestBegin();
        TestFailingProtection = Failing;
        RtlWriteText(&TestWriter, TEST_PARTS "test.exe\n");
        for (Index = 0; Index < 4; Index += 1) {
            RtlWriteText(&TestWriter,
                         "function %x %x f\ncall %x\ncall %x\n",
                         0x1F00 + Index * 0x1000, 0x2008 + Index * 0x1000,
                         0x1FFF + Index * 0x1000, 0x1FBE + Index * 0x1000);
        }

        //
        // Five pages, each opened and closed; where closing fails the page
        // stays as it is.
        //

        Status = TestExcludeText(L"test.exe");
        if (Failing > 10) {
            TEST_SUCCESS(Status);
            TEST_EQUAL(TestProtections, 10);
            TestFailingProtection = 0;
            TestPutBack();
            break;
        }
        if (Failing % 2 == 0) {
            TEST_SUCCESS(Status);
            TestProtections = 0;
            TestFailingProtection = 0;
            TestOpenPages = 0;
            TestPutBack();
        } else {
            TestNothing(Status, (NTSTATUS)0xC0000604);
        }
    }

    TestBegin();
    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\nfunction 1f00 2010 a\ncall 1fff\n");
    TestNoMemory = TRUE;
    TestNothing(TestExcludeText(L"test.exe"), STATUS_NO_MEMORY);
    TEST_EQUAL(TestProtections, 0);
    TestNoMemory = FALSE;
}

static
VOID
TestMany(
    VOID
    )
{
    LARGE_INTEGER Begin;
    LARGE_INTEGER End;
    LARGE_INTEGER Frequency;
    ULONG Index;
    ULONG Rva;

    TestMakeImage();
    TestDescribeNothing();
    for (Index = 0; Index < TEST_MANY_FUNCTIONS; Index += 1) {
        Rva = TEST_CODE_RVA + Index * 17;
        TestPut(Rva, TEST_CALL, (PVOID)_penter);
        if (Index % TEST_PLACES_EACH == 0) {
            TestDescribe(Rva, Rva + TEST_PLACES_EACH * 17);
        }
    }
    TestBegin();
    RtlWriteText(&TestWriter, TEST_PARTS "test.exe\n");
    for (Index = 0; Index < TEST_MANY_FUNCTIONS; Index += 1) {
        Rva = TEST_CODE_RVA +
              (ULONG)(Index * 27644437ULL % TEST_MANY_FUNCTIONS) * 17;
        RtlWriteText(&TestWriter,
                     "function %08x %08x f%u\ncall %08x\n",
                     Rva, Rva + 17, Index, Rva);
    }
    TEST(TestWriter.LengthInBytes < PENTER_MAXIMUM_LIST);
    TestReal->NtQueryPerformanceCounter(&Begin, &Frequency);
    TEST_SUCCESS(TestExcludeText(L"test.exe"));
    TestReal->NtQueryPerformanceCounter(&End, &Frequency);
    RtlWriteText(TestOutput,
                 "%u functions: %llu us\n",
                 TEST_MANY_FUNCTIONS,
                 (ULONGLONG)(End.QuadPart - Begin.QuadPart) * 1000000 /
                     (ULONGLONG)Frequency.QuadPart);
    TEST_EQUAL(TestExclusion.NumberOfFunctions, TEST_MANY_FUNCTIONS);
    TEST_EQUAL(TestExclusion.NumberOfSites, TEST_MANY_FUNCTIONS);
    TEST(TestProtections <=
         2 * (TEST_MANY_FUNCTIONS * 17 / 4096 + 2));
    TestPutBack();
}

//
// Calls that are none: their bytes are within other instructions, or nobody can
// tell.
//

static
VOID
TestWithin(
    VOID
    )
{
    //
    // C is where the five bytes of a call are, J those of a jump to an exit
    // hook.  Each function ends behind its last byte.
    //

    static const struct {
        PCSZ Code;
        BOOLEAN IsCall;
        BOOLEAN IsDescribed;
        PCSZ Name;
    } Cases[] = {
        { "C 90", TRUE, TRUE, "a call" },
        { "90 90 90 C c3", TRUE, TRUE, "a call further on" },
        { "48b8 C 909090 c3", FALSE, TRUE, "mov rax, imm64" },
        { "49bf 90 C 9090 c3", FALSE, TRUE, "mov r15, imm64" },
        { "48b8 909090 J c3", FALSE, TRUE, "of a jump" },
        { "c780 111111 C c3", FALSE, TRUE, "a displacement and a constant" },
        { "48c78424 222222 C c3", FALSE, TRUE, "likewise, RSP" },
        { "f2 C c3", FALSE, TRUE, "behind its prefix" },
        { "06 C c3", FALSE, TRUE, "no instruction before it" },
        { "C 90 06 c3", FALSE, TRUE, "no instruction behind it" },
        { "C c3 48b8", FALSE, TRUE, "half an instruction at the end" },
        { "eb02 48b8 C 909090 c3", FALSE, TRUE, "data before it" },
        { "eb01 05 48b81122 C 90 c3", FALSE, TRUE, "data before a constant" },
        { "C eb01 05 48b81122 C 90 c3", FALSE, TRUE, "a call and data" },
        { "7402 C ebfd c3", FALSE, TRUE, "a jump into the call" },
        { "7405 C 75f9 c3", TRUE, TRUE, "jumps around it" },
        { "C 90", FALSE, FALSE, "in no function" },
        { "53 4883ec20 C 4883c420 5b J", TRUE, TRUE, "a call and a jump" }
    };
    ULONG Offsets[4];
    UCHAR Kinds[4];
    ULONG NumberOfSites;
    ULONG Refused = 0;
    ULONG Excluded = 0;
    ULONG Sites = 0;
    ULONG Count = 0;
    ULONG Begin;
    ULONG Which;
    ULONG Index;
    ULONG At;
    PCSZ Text;

    TestMakeImage();
    TestDescribeNothing();
    for (Which = 0; Which < RTL_NUMBER_OF(Cases); Which += 1) {

        Begin = 0x2000 + Which * 0x100;
        At = Begin;
        NumberOfSites = 0;
        for (Text = Cases[Which].Code; *Text != '\0'; Text += 1) {
            if (*Text == ' ') {
                continue;
            }
            if (*Text == 'C' || *Text == 'J') {
                Kinds[NumberOfSites] = (UCHAR)*Text;
                Offsets[NumberOfSites] = At;
                NumberOfSites += 1;
                TestPut(At,
                        *Text == 'C' ? TEST_CALL : TEST_JUMP,
                        *Text == 'C' ? (PVOID)_penter
                                     : (PVOID)__cyg_profile_func_exit);
                At += 5;
                continue;
            }
            for (Index = 0; Index < 2; Index += 1) {
                TestImage[At] =
                    (UCHAR)((TestImage[At] << 4) |
                            (Text[Index] <= '9' ? Text[Index] - '0'
                                                : Text[Index] - 'a' + 10));
            }
            At += 1;
            Text += 1;
        }
        if (Cases[Which].IsDescribed) {
            TestDescribe(Begin, At);
        }
        if (Cases[Which].IsCall) {
            Excluded += 1;
            Sites += NumberOfSites;
        } else {
            Refused += 1;
        }

        TestBegin();
        RtlWriteText(&TestWriter,
                     TEST_PARTS "test.exe\nfunction %x %x f\n",
                     Begin, At);
        for (Index = 0; Index < NumberOfSites; Index += 1) {
            RtlWriteText(&TestWriter,
                         Kinds[Index] == 'C' ? "call %x\n" : "jump %x\n",
                         Offsets[Index]);
        }
        TEST_SUCCESS(TestExcludeText(L"test.exe"));
        if (!TEST_EQUAL(TestExclusion.NumberOfSites,
                        Cases[Which].IsCall ? NumberOfSites : 0) ||
            !TEST_EQUAL(TestExclusion.NumberRefused, !Cases[Which].IsCall) ||
            !TEST_EQUAL(TestIsUnchanged(), !Cases[Which].IsCall)) {
            RtlWriteText(TestOutput, "    of %s\n", Cases[Which].Name);
        }
        TestPutBack();
    }

    //
    // All of them at once, in the order of their addresses and in the other
    // one, as places of all kinds.
    //

    for (Which = 0; Which < 2; Which += 1) {
        TestBegin();
        RtlWriteText(&TestWriter, TEST_PARTS "test.exe\n");
        for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
            Begin = 0x2000 + 0x100 * (Which == 0
                                          ? Index
                                          : RTL_NUMBER_OF(Cases) - 1 - Index);
            RtlWriteText(&TestWriter, "function %x %x f\n", Begin, Begin + 1);
            for (At = Begin; At < Begin + 0x40; At += 1) {
                if (*(LONG UNALIGNED *)(TestImage + At + 1) ==
                    (LONG)((ULONG_PTR)(TestImage[At] == TEST_CALL
                                           ? (PVOID)_penter
                                           : (PVOID)__cyg_profile_func_exit) -
                           (ULONG_PTR)(TestImage + At + 5))) {

                    RtlWriteText(&TestWriter,
                                 TestImage[At] == TEST_CALL ? "call %x\n"
                                                            : "jump %x\n",
                                 At);
                    Count += 1;
                }
            }
        }
        TEST(Count > RTL_NUMBER_OF(Cases));
        TEST_SUCCESS(TestExcludeText(L"test.exe"));
        TEST_EQUAL(TestExclusion.NumberOfFunctions, Excluded);
        TEST_EQUAL(TestExclusion.NumberOfSites, Sites);
        TEST_EQUAL(TestExclusion.NumberRefused, Refused);
        TestPutBack();
    }
}

//
// PenterExcludeByFile.
//

static
VOID
TestFiles(
    VOID
    )
{
    static TEST_PATH Directory;
    static TEST_PATH Path;
    UNICODE_STRING Module;
    HANDLE File;
    ULONG Size;

    if (!TEST(TestCreateDirectory(&Directory)) ||
        !TEST(TestMakePathIn(&Path, &Directory, L"a b.list"))) {
        return;
    }

    TestMakeImage();
    TestPut(0x1100, TEST_CALL, (PVOID)_penter);
    TestBegin();
    RtlPointUnicodeString(&Module, L"test.exe", 8);
    TestNothing(PenterExcludeByFile(&TestRtl, &TestHeader, &Module, &Path.Nt,
                                    &TestExclusion, &TestError),
                STATUS_OBJECT_NAME_NOT_FOUND);
    TEST_EQUAL_STRING(TestError.Step, "opening TRACER_EXCLUDE");

    RtlWriteText(&TestWriter,
                 TEST_PARTS "test.exe\nfunction 1100 1120 a\ncall 1100\n"
                 "end\n#");
    Size = (ULONG)TestWriter.LengthInBytes;
    RtlZeroBytes(TestText + Size, PENTER_MAXIMUM_LIST + 1 - Size);
    if (!TEST_SUCCESS(RtlCreateFile(&TestRtl, &Path.Nt, RTL_CREATE_NEW,
                                    &File))) {
        return;
    }

    //
    // The largest, and one that is larger.
    //

    TEST_SUCCESS(RtlWriteFile(&TestRtl, File, 0, TestText,
                              PENTER_MAXIMUM_LIST));
    TEST_SUCCESS(PenterExcludeByFile(&TestRtl, &TestHeader, &Module, &Path.Nt,
                                     &TestExclusion, &TestError));
    TEST_EQUAL(TestExclusion.NumberOfSites, 1);
    TestPutBack();
    TEST_SUCCESS(RtlSetFileSize(&TestRtl, File, PENTER_MAXIMUM_LIST + 1));
    TestNothing(PenterExcludeByFile(&TestRtl, &TestHeader, &Module, &Path.Nt,
                                    &TestExclusion, &TestError),
                STATUS_FILE_TOO_LARGE);
    TEST_SUCCESS(RtlSetFileSize(&TestRtl, File, 0));
    TEST(!NT_SUCCESS(PenterExcludeByFile(&TestRtl, &TestHeader, &Module,
                                         &Path.Nt, &TestExclusion,
                                         &TestError)));
    TEST_EQUAL(TestAllocations, 0);
    TestNoMemory = TRUE;
    TEST_SUCCESS(RtlSetFileSize(&TestRtl, File, Size));
    TestNothing(PenterExcludeByFile(&TestRtl, &TestHeader, &Module, &Path.Nt,
                                    &TestExclusion, &TestError),
                STATUS_NO_MEMORY);
    TestNoMemory = FALSE;
    RtlClose(&TestRtl, File);
    TEST_SUCCESS(TestDeleteTree(&Directory));
}

//
// Threads that run through the code while it is changed: 64 functions, each
// with a call at another place of its cache line,
//
//     call _penter ; add ecx, n ; ret
//
// one after the other.
//

static
DWORD
WINAPI
TestRun(
    PVOID Context
    )
{
    UNREFERENCED_PARAMETER(Context);

    while (!TestStop) {
        if (((PTEST_CODE)(ULONG_PTR)(TestImage + 0xC0000))() !=
            TEST_LINE * (TEST_LINE - 1) / 2) {
            InterlockedIncrement(&TestWrong);
        }
        InterlockedIncrement(&TestLoops);
    }

    return 0;
}

static
VOID
TestRunningThreads(
    VOID
    )
{
    static const UCHAR Zero[] = { 0x31, 0xC0 };             // xor eax, eax
    static const UCHAR Add[] = { 0x83, 0xC0 };              // add eax, n
    HANDLE Threads[TEST_THREADS];
    LARGE_INTEGER Timeout;
    ULONG NumberOfThreads;
    ULONG Offset;
    ULONG Round;
    ULONG Rva;
    ULONG At;
    LONG Loops;

    //
    // Each is described by itself, so that a round does not decode all that
    // lies in between.
    //

    TestMakeImage();
    TestDescribeNothing();
    At = 0xC0000;
    RtlCopyBytes(TestImage + At, Zero, sizeof(Zero));
    At += sizeof(Zero);
    TestBegin();
    RtlWriteText(&TestWriter, TEST_PARTS "test.exe\n");
    for (Offset = 0; Offset < TEST_LINE; Offset += 1) {
        Rva = TestPlaceOf(Offset);
        TestPut(At, TEST_CALL, TestImage + Rva);
        At += 5;
        TestPut(Rva, TEST_CALL, (PVOID)_penter);
        RtlCopyBytes(TestImage + Rva + 5, Add, sizeof(Add));
        TestImage[Rva + 7] = (UCHAR)Offset;
        if (Offset % 2 == 0) {
            TestImage[Rva + 8] = TEST_RETURN;
        } else {
            TestPut(Rva + 8, TEST_JUMP, (PVOID)__cyg_profile_func_exit);
        }
        TestDescribe(Rva, Rva + (Offset % 2 == 0 ? 9 : 13));
        RtlWriteText(&TestWriter,
                     Offset % 2 == 0 ? "function %x %x f\ncall %x\n"
                                     : "function %x %x f\ncall %x\njump %x\n",
                     Rva, Rva + 16, Rva, Rva + 8);
    }
    RtlWriteText(&TestWriter, "end\n");
    TestImage[At] = TEST_RETURN;
    RtlCopyBytes(TestBefore, TestImage, sizeof(TestImage));

    //
    // The hooks return at once.
    //

    PenterEnterRoutine = PenterReturn;
    PenterExitFunctionRoutine = PenterReturn;
    for (NumberOfThreads = 0;
         NumberOfThreads < TEST_THREADS;
         NumberOfThreads += 1) {
        if (!TEST_SUCCESS(TestReal->NtCreateThreadEx(
                &Threads[NumberOfThreads],
                THREAD_ALL_ACCESS,
                NULL,
                (HANDLE)-1,
                (PVOID)(ULONG_PTR)TestRun,
                NULL,
                0,
                0,
                0,
                0,
                NULL))) {
            break;
        }
    }

    for (Round = 0; Round < TEST_ROUNDS || TestLoops < 1000; Round += 1) {
        if (!NT_SUCCESS(TestExcludeWhole(L"test.exe")) ||
            TestExclusion.NumberOfSites != TEST_LINE + TEST_LINE / 2) {
            TEST(FALSE);
            break;
        }
        PenterIncludeAgain(&TestRtl, &TestExclusion);
        if (Round % 64 == 0) {
            Loops = TestLoops;
            while (NumberOfThreads != 0 && TestLoops == Loops) {
                TestReal->NtYieldExecution();
            }
        }
    }
    TEST(TestIsUnchanged());

    TestStop = 1;
    Timeout.QuadPart = TEST_LIMIT_IN_100NS;
    while (NumberOfThreads != 0) {
        NumberOfThreads -= 1;
        TEST_STATUS(TestReal->NtWaitForSingleObject(Threads[NumberOfThreads],
                                                    FALSE,
                                                    &Timeout),
                    STATUS_SUCCESS);
        RtlClose(TestReal, Threads[NumberOfThreads]);
    }
    TEST_EQUAL(TestWrong, 0);
    TEST(TestLoops > 0);
    RtlWriteText(TestOutput,
                 "%u rounds of changes, %u of the code meanwhile\n",
                 Round,
                 TestLoops);
}

//
// The decoder: each instruction with other bytes behind it, and all but its
// last byte.
//

static
VOID
TestDecoder(
    VOID
    )
{
    static const PCSZ Instructions[] = {
        "90", "4990", "f390", "f30f1efa", "53", "4154", "6a05", "6878563412",
        "8f00", "4883ec28", "4881ec00100000", "488b0578563412",
        "48c7053412000088776655", "66c74424083412", "42c684a40001000007",
        "b844332211", "66b82211", "49b98877665544332211", "a08877665544332211",
        "4a8d4cedff", "498d0c24", "498d4d00", "67438d443500", "f6c101",
        "f7c100010000", "66f7c10001", "48f7d1", "6bc303", "69c300030000",
        "480faf442404", "ff1504000000", "ffd0", "ff24d8", "0f85fa0f0000",
        "750e", "e9fb0f0000", "eb02", "e203", "e303", "c8200001", "c9", "c3",
        "c20800", "cc", "cd29", "f3a4", "f348ab", "f0480fb111", "f0480fc709",
        "48c1e004", "48d3e0", "480fa4d803", "480fbae003", "480fab19", "490fcb",
        "480f454108", "0f95c0", "0fb601", "4863c1", "0fa2", "0f31", "0f01f9",
        "0f01d0", "0f05", "0f0b", "0f1f0400", "2e660f1f840078563412",
        "dd442408", "d93c24", "0f29742420", "660f6f0500010000", "664c0f7ec9",
        "660f70c103", "660f73d003", "660fc4c002", "0fc6ca04", "f20fc2c102",
        "660f3a61c118", "660f380000", "660f3a0fc105", "f20f38f001",
        "f3480fb8c1", "f30fbcc1", "c5f877", "c5fc284020",
        "c4017c28848800020000", "c5fd70c103", "c4e3fd00c103",
        "c4e275b80504000000", "c5fd73d105", "c4e260f201", "c4e3fbf0c305",
        "62f1fe486f4001", "62c1fe486f8841000000", "62f3754825c203",
        "62f2f5487e442440", "62f37d483ec902", "c4e1fb92c8", "c7f800000000",
        "65488b042530000000", "648b4304", "0fae642440"
    };
    static const PCSZ Nothing[] = {
        "06", "27", "60", "82c000", "9a", "d4", "ea", "0f04", "0f24", "0f39",
        "8fc8", "66e900000000", "c4e0ff", "62f0ff", "66660f0a", "48"
    };
    RTL_INSTRUCTION Instruction;
    UCHAR Bytes[32];
    ULONG Length;
    ULONG Index;
    ULONG Which;
    PCSZ Text;

    for (Which = 0;
         Which < RTL_NUMBER_OF(Instructions) + RTL_NUMBER_OF(Nothing);
         Which += 1) {

        Text = Which < RTL_NUMBER_OF(Instructions)
                   ? Instructions[Which]
                   : Nothing[Which - RTL_NUMBER_OF(Instructions)];
        Length = RtlLengthOfString(Text) / 2;
        for (Index = 0; Index < sizeof(Bytes); Index += 1) {
            Bytes[Index] = (UCHAR)(0x91 + Index);
        }
        for (Index = 0; Index < 2 * Length; Index += 1) {
            Bytes[Index / 2] =
                (UCHAR)((Bytes[Index / 2] << 4) |
                        (Text[Index] <= '9' ? Text[Index] - '0'
                                            : Text[Index] - 'a' + 10));
        }

        if (Which >= RTL_NUMBER_OF(Instructions)) {
            TEST(!RtlDecodeInstruction(Bytes, Length, &Instruction));
            continue;
        }
        if (!TEST(RtlDecodeInstruction(Bytes,
                                          sizeof(Bytes),
                                          &Instruction)) ||
            !TEST_EQUAL(Instruction.Length, Length) ||
            !TEST(!RtlDecodeInstruction(Bytes,
                                           Length - 1,
                                           &Instruction))) {
            RtlWriteText(TestOutput, "    of %s\n", Text);
        }
    }

    //
    // Prefixes alone are none, however many.
    //

    for (Index = 0; Index < sizeof(Bytes); Index += 1) {
        Bytes[Index] = 0x66;
    }
    Bytes[15] = 0x90;
    TEST(!RtlDecodeInstruction(Bytes, sizeof(Bytes), &Instruction));
    TEST(RtlDecodeInstruction(Bytes + 1, sizeof(Bytes) - 1, &Instruction));
    TEST_EQUAL(Instruction.Length, 15);
}

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    PVOID Address = TestImage;
    SIZE_T Size = sizeof(TestImage);
    ULONG Protection;

    UNREFERENCED_PARAMETER(Allocator);

    TestReal = Rtl;
    if (!TEST_SUCCESS(Rtl->NtProtectVirtualMemory((HANDLE)-1,
                                                  &Address,
                                                  &Size,
                                                  PAGE_EXECUTE_READWRITE,
                                                  &Protection))) {
        return;
    }

    RtlCopyBytes(&TestRtl, Rtl, sizeof(TestRtl));
    TestRtl.NtProtectVirtualMemory = TestNtProtectVirtualMemory;
    TestRtl.NtAllocateVirtualMemory = TestNtAllocateVirtualMemory;
    TestRtl.NtFreeVirtualMemory = TestNtFreeVirtualMemory;

    TestCallsInLines();
    TestRefusedPlaces();
    TestThunks();
    TestOverlaps();
    TestGarbage();
    TestCuts();
    TestIdentity();
    TestFailures();
    TestWithin();
    TestMany();
    TestFiles();
    TestDecoder();
    TestRunningThreads();
}
