/*++

Module Name:

    TestRtl.c

Abstract:

    Tests of the Rtl.  Expected values are worked out by hand, come from tables
    of the Unicode standard and of Microsoft's documentation, or from other
    code: kernel32's conversions and calendar, ntdll's _snprintf, Linux's
    /proc/cpuinfo under Wine.

    The two imports of RtlBootstrap.c are replaced here, so that exports and
    DLLs can be made to be missing.

--*/

#include "Test.h"

#define TEST_PAGE_SIZE 4096

typedef struct _TEST_ANSI_STRING {
    USHORT Length;
    USHORT MaximumLength;
    PCSZ Buffer;
} TEST_ANSI_STRING;

NTSTATUS
NTAPI
LdrGetProcedureAddress(
    PVOID Module,
    TEST_ANSI_STRING *Name,
    ULONG Ordinal,
    PVOID *Address
    );

NTSTATUS
NTAPI
LdrGetDllHandle(
    PCWSTR Path,
    PVOID Unused,
    PUNICODE_STRING Name,
    PVOID *Module
    );

//
// C runtime routines of RtlCrt.c, called by name.
//

void *memcpy(void *Destination, const void *Source, size_t SizeInBytes);
void *memmove(void *Destination, const void *Source, size_t SizeInBytes);
void *memset(void *Destination, int Value, size_t SizeInBytes);
int memcmp(const void *First, const void *Second, size_t SizeInBytes);

//
// What is made to be missing; NULL for nothing.
//

static PCSZ TestMissingExport;
static PCWSTR TestMissingDll;

//
// Stands in for GetProcAddress.
// Returns the export, or NULL.
//

static
FARPROC
WINAPI
TestGetProcAddress(
    HMODULE Module,
    LPCSTR Name
    )
{
    TEST_ANSI_STRING String;
    PVOID Address = NULL;

    if (TestMissingExport != NULL &&
        RtlAreStringsEqual(Name, TestMissingExport)) {
        return NULL;
    }

    String.Buffer = Name;
    String.Length = (USHORT)RtlLengthOfString(Name);
    String.MaximumLength = (USHORT)(String.Length + 1);

    if (!NT_SUCCESS(LdrGetProcedureAddress(Module, &String, 0, &Address))) {
        return NULL;
    }

    return (FARPROC)(ULONG_PTR)Address;
}

//
// Stands in for GetModuleHandleW.
// Name: the module's name, not NULL.
// Returns the module, or NULL.
//

static
HMODULE
WINAPI
TestGetModuleHandleW(
    LPCWSTR Name
    )
{
    UNICODE_STRING String;
    PVOID Module = NULL;
    ULONG Length = RtlLengthOfWideString(Name);

    if (TestMissingDll != NULL &&
        RtlAreBytesEqual(Name,
                         TestMissingDll,
                         (Length + 1) * sizeof(WCHAR))) {
        return NULL;
    }

    RtlPointUnicodeString(&String, Name, Length);

    if (!NT_SUCCESS(LdrGetDllHandle(NULL, NULL, &String, &Module))) {
        return NULL;
    }

    return (HMODULE)Module;
}

//
// The linker finds these before those of the import library.
//

typedef FARPROC (WINAPI TEST_GET_PROC_ADDRESS)(HMODULE Module, LPCSTR Name);
typedef HMODULE (WINAPI TEST_GET_MODULE_HANDLE_W)(LPCWSTR Name);

extern TEST_GET_PROC_ADDRESS *__imp_GetProcAddress;
extern TEST_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW;
TEST_GET_PROC_ADDRESS *__imp_GetProcAddress = TestGetProcAddress;
TEST_GET_MODULE_HANDLE_W *__imp_GetModuleHandleW = TestGetModuleHandleW;

//
// Finds an export without the code under test.
// Dll: the DLL's name.
// Returns the export, or NULL.
//

static
PVOID
TestExport(
    _In_z_ PCWSTR Dll,
    _In_z_ PCSZ Name
    )
{
    HMODULE Module = TestGetModuleHandleW(Dll);

    if (Module == NULL) {
        return NULL;
    }

    return (PVOID)(ULONG_PTR)TestGetProcAddress(Module, Name);
}

//
// RtlBootstrap.c
//

#define TEST_NTDLL_FIELD(Type, Name)                                        \
    TEST(Rtl->Name != NULL);                                                \
    TEST_EQUAL(Rtl->Name, TestExport(L"ntdll.dll", #Name));

//
// Wine has not all of the optional ones.
//

#define TEST_NTDLL_OPTIONAL_FIELD(Type, Name)                               \
    TEST(Rtl->Name != NULL || TEST_IS_ABSENT(#Name));                       \
    TEST_EQUAL(Rtl->Name, TestExport(L"ntdll.dll", #Name));

#define TEST_IS_ABSENT(Name)                                                \
    RtlAreStringsEqual((Name), "RtlQueryElevationFlags")

#define TEST_KERNEL32_FIELD(Type, Name)                                     \
    TEST(Rtl->Name != NULL);                                                \
    TEST_EQUAL(Rtl->Name, TestExport(L"kernel32.dll", #Name));

//
// Bootstraps with something missing.
// Export: optionally supplies the export that is missing.
// Dll: optionally supplies the DLL that is missing.
// ExpectedStatus: the status that the bootstrap should give.
// ExpectedName: the name that it should give, or NULL.
//

static
VOID
TestMissing(
    _In_opt_ PCSZ Export,
    _In_opt_ PCWSTR Dll,
    _In_ NTSTATUS ExpectedStatus,
    _In_opt_ PCSZ ExpectedName
    )
{
    RTL Rtl;
    PCSZ Name = "untouched";
    NTSTATUS Status;
    NTSTATUS StatusWithoutName;

    TestMissingExport = Export;
    TestMissingDll = Dll;

    Status = RtlBootstrap(&Rtl, &Name);
    StatusWithoutName = RtlBootstrap(&Rtl, NULL);

    TestMissingExport = NULL;
    TestMissingDll = NULL;

    TEST_STATUS(Status, ExpectedStatus);
    TEST_STATUS(StatusWithoutName, ExpectedStatus);

    if (ExpectedName == NULL) {
        TEST(Name == NULL);
    } else {
        TEST_EQUAL_STRING(Name, ExpectedName);
    }
}

//
// Tests the bootstrap and the loading of symbols.
//

static
VOID
TestBootstrap(
    _In_ PCRTL Rtl
    )
{
    static const PCSZ Names[] = {
        "NtClose", "TracerHasNoSuchExport", "NtCreateFile", "NorThis"
    };

    PVOID Pointers[4];
    RTL Other;
    ULONG First;
    HMODULE Ntdll = TestGetModuleHandleW(L"ntdll.dll");

    TEST_EQUAL(Rtl->SizeOfStruct, sizeof(RTL));
    TEST_EQUAL(Rtl->ProcessHeap, GetProcessHeap());

    RTL_NTDLL_REQUIRED(TEST_NTDLL_FIELD)
    RTL_NTDLL_OPTIONAL(TEST_NTDLL_OPTIONAL_FIELD)
    RTL_KERNEL32_REQUIRED(TEST_KERNEL32_FIELD)

    //
    // The first and the last of each list, and whole DLLs.
    //

    TestMissing(NULL, NULL, STATUS_SUCCESS, NULL);
    TestMissing("NtCreateFile",
                NULL,
                STATUS_ENTRYPOINT_NOT_FOUND,
                "NtCreateFile");
    TestMissing("RtlQueryEnvironmentVariable_U",
                NULL,
                STATUS_ENTRYPOINT_NOT_FOUND,
                "RtlQueryEnvironmentVariable_U");
    TestMissing("TlsAlloc", NULL, STATUS_ENTRYPOINT_NOT_FOUND, "TlsAlloc");
    TestMissing("WriteFile", NULL, STATUS_ENTRYPOINT_NOT_FOUND, "WriteFile");
    TestMissing(NULL, L"ntdll.dll", STATUS_DLL_NOT_FOUND, "ntdll.dll");
    TestMissing(NULL, L"kernel32.dll", STATUS_DLL_NOT_FOUND, "kernel32.dll");

    //
    // A missing optional export is no failure.
    //

    TestMissingExport = "RtlDllShutdownInProgress";
    TEST_STATUS(RtlBootstrap(&Other, NULL), STATUS_SUCCESS);
    TestMissingExport = NULL;
    TEST(Other.RtlDllShutdownInProgress == NULL);
    TEST(Other.TlsAlloc != NULL);

    //
    // RtlLoadSymbols.
    //

    First = 99;
    RtlFillBytes(Pointers, sizeof(Pointers), 0xCC);
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 4, &First), 2);
    TEST_EQUAL(First, 1);
    TEST_EQUAL(Pointers[0], Rtl->NtClose);
    TEST(Pointers[1] == NULL);
    TEST_EQUAL(Pointers[2], Rtl->NtCreateFile);
    TEST(Pointers[3] == NULL);

    First = 99;
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 1, &First), 0);
    TEST_EQUAL(First, 99);
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 0, NULL), 0);
    TEST_EQUAL(RtlLoadSymbols(Ntdll, Names, Pointers, 4, NULL), 2);
}

//
// RtlAllocator.c
//

//
// Tests the heap allocator.
//

static
VOID
TestAllocator(
    _In_ PCALLOCATOR Allocator
    )
{
    PBYTE Blocks[64];
    ULONG Index;
    ULONG Round;
    SIZE_T Byte;
    BOOLEAN IsZero = TRUE;
    BOOLEAN IsAligned = TRUE;
    BOOLEAN IsThere = TRUE;

    //
    // Blocks of the second round are blocks of the first that were written.
    //

    for (Round = 0; Round < 2; Round++) {

        for (Index = 0; Index < RTL_NUMBER_OF(Blocks); Index++) {

            Blocks[Index] = Allocator->Allocate(Allocator->Context,
                                                Index * 7);
            if (Blocks[Index] == NULL) {
                IsThere = FALSE;
                continue;
            }

            if ((ULONG_PTR)Blocks[Index] % 16 != 0) {
                IsAligned = FALSE;
            }

            for (Byte = 0; Byte < Index * 7; Byte++) {
                if (Blocks[Index][Byte] != 0) {
                    IsZero = FALSE;
                }
            }

            RtlFillBytes(Blocks[Index], Index * 7, 0xA5);
        }

        for (Index = 0; Index < RTL_NUMBER_OF(Blocks); Index++) {
            Allocator->Free(Allocator->Context, Blocks[Index]);
        }
    }

    TEST(IsThere);
    TEST(IsAligned);
    TEST(IsZero);

    Allocator->Free(Allocator->Context, NULL);

    TEST(Allocator->Allocate(Allocator->Context, (SIZE_T)1 << 62) == NULL);
}

//
// RtlMemory.c and RtlCrt.c
//

//
// Tests the memory routines, each size up to 100, at the end of a page behind
// which there is nothing.
//

static
VOID
TestMemory(
    VOID
    )
{
    PBYTE From;
    PBYTE To;
    ULONG Size;
    ULONG Index;
    BOOLEAN Copied = TRUE;
    BOOLEAN Filled = TRUE;
    BOOLEAN Guarded = TRUE;
    BOOLEAN Equal = TRUE;
    BOOLEAN Different = TRUE;

    From = VirtualAlloc(NULL, 2 * TEST_PAGE_SIZE, MEM_RESERVE, PAGE_NOACCESS);
    To = VirtualAlloc(NULL, 2 * TEST_PAGE_SIZE, MEM_RESERVE, PAGE_NOACCESS);
    VirtualAlloc(From, TEST_PAGE_SIZE, MEM_COMMIT, PAGE_READWRITE);
    VirtualAlloc(To, TEST_PAGE_SIZE, MEM_COMMIT, PAGE_READWRITE);

    From += TEST_PAGE_SIZE;
    To += TEST_PAGE_SIZE;

    for (Size = 0; Size <= 100; Size++) {

        for (Index = 1; Index <= Size + 8; Index++) {
            *(From - Index) = (BYTE)(Index * 37 + Size);
            *(To - Index) = 0xEE;
        }

        RtlCopyBytes(To - Size, From - Size, Size);

        for (Index = 1; Index <= Size; Index++) {
            if (*(To - Index) != (BYTE)(Index * 37 + Size)) {
                Copied = FALSE;
            }
        }

        if (!RtlAreBytesEqual(To - Size, From - Size, Size)) {
            Equal = FALSE;
        }

        for (Index = 1; Index <= Size; Index++) {
            *(To - Index) = (BYTE)(*(To - Index) ^ 0x80);
            if (RtlAreBytesEqual(To - Size, From - Size, Size)) {
                Different = FALSE;
            }
            *(To - Index) = (BYTE)(*(To - Index) ^ 0x80);
        }

        RtlFillBytes(To - Size, Size, 0x5A);
        for (Index = 1; Index <= Size; Index++) {
            if (*(To - Index) != 0x5A) {
                Filled = FALSE;
            }
        }

        RtlZeroBytes(To - Size, Size);
        for (Index = 1; Index <= Size; Index++) {
            if (*(To - Index) != 0) {
                Filled = FALSE;
            }
        }

        for (Index = Size + 1; Index <= Size + 8; Index++) {
            if (*(To - Index) != 0xEE) {
                Guarded = FALSE;
            }
        }
    }

    TEST(Copied);
    TEST(Equal);
    TEST(Different);
    TEST(Filled);
    TEST(Guarded);

    VirtualFree(From - TEST_PAGE_SIZE, 0, MEM_RELEASE);
    VirtualFree(To - TEST_PAGE_SIZE, 0, MEM_RELEASE);
}

//
// Tests the routines that compilers call.
//

static
VOID
TestCrt(
    VOID
    )
{
    CHAR Text[16];

    TEST(memcpy(Text, "abcdefghijklmno", 16) == Text);
    TEST_EQUAL_STRING(Text, "abcdefghijklmno");

    TEST(memmove(Text + 3, Text, 10) == Text + 3);
    TEST_EQUAL_STRING(Text, "abcabcdefghijno");

    memmove(Text, Text + 3, 12);
    TEST_EQUAL_STRING(Text, "abcdefghijnojno");

    memmove(Text, Text, 15);
    TEST_EQUAL_STRING(Text, "abcdefghijnojno");

    memmove(Text + 8, Text, 0);
    memmove(Text + 8, Text, 8);
    TEST_EQUAL_BYTES(Text, "abcdefghabcdefgh", 16);

    TEST(memset(Text + 1, 0x158, 3) == Text + 1);
    TEST_EQUAL_BYTES(Text, "aXXXefgh", 8);

    TEST(memcmp("abc", "abd", 3) < 0);
    TEST(memcmp("abd", "abc", 3) > 0);
    TEST(memcmp("abd", "abc", 2) == 0);
    TEST(memcmp("\x80", "\x7f", 1) > 0);
    TEST(memcmp("a", "b", 0) == 0);
}

//
// RtlString.c
//

//
// Converts UTF-8 and compares, with every capacity up to the whole result.
// Expected: the expected UTF-16.
//

static
VOID
TestUtf8ToWide(
    _In_z_ PCSZ Utf8,
    _In_z_ PCWSTR Expected
    )
{
    WCHAR Wide[64];
    ULONG Length = RtlLengthOfString(Utf8);
    ULONG ExpectedLength = RtlLengthOfWideString(Expected);
    ULONG Capacity;
    ULONG Written;
    ULONG Cut;

    for (Capacity = 0; Capacity <= ExpectedLength; Capacity++) {

        Wide[Capacity] = 0x5555;
        TEST_EQUAL(RtlUtf8ToWide(Utf8, Length, Wide, Capacity, &Written),
                   ExpectedLength);

        //
        // What is written ends before the unit that would not fit; a pair goes
        // as a whole.
        //

        Cut = Capacity;
        if (Cut < ExpectedLength &&
            Cut != 0 &&
            Expected[Cut - 1] >= 0xD800 &&
            Expected[Cut - 1] <= 0xDBFF) {
            Cut--;
        }

        TEST_EQUAL(Written, Cut);
        TEST_EQUAL_BYTES(Wide, Expected, Cut * sizeof(WCHAR));
        TEST_EQUAL(Wide[Capacity], 0x5555);
    }

    TEST_EQUAL(RtlUtf8ToWide(Utf8, Length, NULL, 0, NULL), ExpectedLength);
}

//
// Converts UTF-16 and compares, with every capacity up to the whole result.
// LengthInChars: its length in units.
// Expected: the expected UTF-8.
//

static
VOID
TestWideToUtf8(
    _In_reads_(LengthInChars) PCWSTR Wide,
    _In_ ULONG LengthInChars,
    _In_z_ PCSZ Expected
    )
{
    CHAR Utf8[64];
    ULONG ExpectedLength = RtlLengthOfString(Expected);
    ULONG Capacity;
    ULONG Written;
    ULONG Cut;

    for (Capacity = 0; Capacity <= ExpectedLength; Capacity++) {

        Utf8[Capacity] = 0x55;
        TEST_EQUAL(RtlWideToUtf8(Wide,
                                 LengthInChars,
                                 Utf8,
                                 Capacity,
                                 &Written),
                   ExpectedLength);

        Cut = Capacity;
        while (Cut < ExpectedLength && ((BYTE)Expected[Cut] & 0xC0) == 0x80) {
            Cut--;
        }

        TEST_EQUAL(Written, Cut);
        TEST_EQUAL_BYTES(Utf8, Expected, Cut);
        TEST_EQUAL(Utf8[Capacity], 0x55);
    }

    TEST_EQUAL(RtlWideToUtf8(Wide, LengthInChars, NULL, 0, NULL),
               ExpectedLength);
}

//
// Tests the conversions with the tables of the Unicode standard, chapter 3.
//

static
VOID
TestConversions(
    VOID
    )
{
    static const WCHAR LoneSurrogates[] = {
        0xD800, 'A', 0xDC00, 0xDBFF, 0xD83D, 0xDE00, 0xD83D
    };

    //
    // Tables 3-3 and 3-6: U+004D, U+0430, U+4E8C, U+10302.
    //

    TestUtf8ToWide("M\xD0\xB0\xE4\xBA\x8C\xF0\x90\x8C\x82",
                   L"M\x0430\x4E8C\xD800\xDF02");
    TestWideToUtf8(L"M\x0430\x4E8C\xD800\xDF02",
                   5,
                   "M\xD0\xB0\xE4\xBA\x8C\xF0\x90\x8C\x82");

    //
    // Table 3-8, non-shortest forms; 3-9, surrogates; 3-10, other ill-formed
    // sequences; 3-11, truncated sequences.
    //

    TestUtf8ToWide("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\x0041");
    TestUtf8ToWide("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\x0041");
    TestUtf8ToWide("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD\x0041\xFFFD\xFFFD\x0042");
    TestUtf8ToWide("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41",
                   L"\xFFFD\xFFFD\xFFFD\xFFFD\x0041");

    //
    // The first and the last character of each length, and what is cut off at
    // the end.
    //

    TestUtf8ToWide("\x01\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80",
                   L"\x0001\x007F\x0080\x07FF\x0800");
    TestUtf8ToWide("\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
                   L"\xD7FF\xE000\xFFFF");
    TestUtf8ToWide("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
                   L"\xD800\xDC00\xDBFF\xDFFF");
    TestUtf8ToWide("A\xC3", L"A\xFFFD");
    TestUtf8ToWide("A\xE4\xBA", L"A\xFFFD");
    TestUtf8ToWide("A\xF0\x90\x8C", L"A\xFFFD");
    TestUtf8ToWide("\xF5\xF8\xFC\xFE\xC1", L"\xFFFD\xFFFD\xFFFD\xFFFD\xFFFD");
    TestUtf8ToWide("", L"");

    TestWideToUtf8(LoneSurrogates,
                   RTL_NUMBER_OF(LoneSurrogates),
                   "\xEF\xBF\xBD" "A" "\xEF\xBF\xBD" "\xEF\xBF\xBD"
                   "\xF0\x9F\x98\x80" "\xEF\xBF\xBD");
    TestWideToUtf8(L"\x007F\x0080\x07FF\x0800\xFFFF",
                   5,
                   "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
    TestWideToUtf8(L"", 0, "");
}

//
// Converts every character there is, 256 at a time, there and back, and
// compares with kernel32's conversion.
//

static
VOID
TestAllCharacters(
    VOID
    )
{
    WCHAR Wide[512];
    WCHAR Back[512];
    CHAR Utf8[1024];
    CHAR Reference[1024];
    ULONG First;
    ULONG CodePoint;
    ULONG Length;
    ULONG Size;
    ULONG Written;
    ULONG BackLength;
    ULONG Decoded;
    ULONG Offset;
    ULONG NumberWrong = 0;

    for (First = 0; First < 0x110000; First += 256) {

        if (First >= 0xD800 && First < 0xE000) {
            continue;
        }

        Length = 0;
        for (CodePoint = First; CodePoint < First + 256; CodePoint++) {
            if (CodePoint >= 0x10000) {
                Wide[Length++] = (WCHAR)(0xD7C0 + (CodePoint >> 10));
                Wide[Length++] = (WCHAR)(0xDC00 | (CodePoint & 0x3FF));
            } else {
                Wide[Length++] = (WCHAR)CodePoint;
            }
        }

        Size = RtlWideToUtf8(Wide, Length, Utf8, sizeof(Utf8), &Written);

        if (Size != Written ||
            (int)Size != WideCharToMultiByte(CP_UTF8,
                                             0,
                                             Wide,
                                             (int)Length,
                                             Reference,
                                             sizeof(Reference),
                                             NULL,
                                             NULL) ||
            !RtlAreBytesEqual(Utf8, Reference, Size)) {
            NumberWrong++;
            continue;
        }

        BackLength = RtlUtf8ToWide(Utf8, Size, Back, 512, &Written);
        if (BackLength != Length ||
            Written != Length ||
            !RtlAreBytesEqual(Wide, Back, Length * sizeof(WCHAR))) {
            NumberWrong++;
            continue;
        }

        Offset = 0;
        for (CodePoint = First; CodePoint < First + 256; CodePoint++) {
            Offset += RtlDecodeUtf8(Utf8 + Offset, Size - Offset, &Decoded);
            if (Decoded != CodePoint) {
                NumberWrong++;
            }
        }
    }

    TEST_EQUAL(NumberWrong, 0);
}

//
// Parses a number.
// IsNumber: whether it is a number.
//

static
VOID
TestNumber(
    _In_z_ PCWSTR Text,
    _In_ BOOLEAN IsNumber,
    _In_ ULONGLONG Expected
    )
{
    ULONGLONG Number = 0x1234567;

    TEST_EQUAL(RtlParseNumber(Text, RtlLengthOfWideString(Text), &Number),
               IsNumber);
    TEST_EQUAL(Number, IsNumber ? Expected : 0x1234567);
}

//
// Tests lengths, comparison, tails and numbers.
//

static
VOID
TestStrings(
    VOID
    )
{
    static const WCHAR Long[1] = { L'x' };

    UNICODE_STRING String;

    TEST_EQUAL(RtlLengthOfString(""), 0);
    TEST_EQUAL(RtlLengthOfString("a\xC3\xA4"), 3);
    TEST_EQUAL(RtlLengthOfWideString(L""), 0);
    TEST_EQUAL(RtlLengthOfWideString(L"a\xD83D\xDE00"), 3);

    TEST(RtlAreStringsEqual("", ""));
    TEST(RtlAreStringsEqual("abc", "abc"));
    TEST(!RtlAreStringsEqual("abc", "abd"));
    TEST(!RtlAreStringsEqual("abc", "ab"));
    TEST(!RtlAreStringsEqual("ab", "abc"));
    TEST(!RtlAreStringsEqual("", "a"));
    TEST(!RtlAreStringsEqual("abc", "ABC"));

    RtlPointUnicodeString(&String, Long, 32767);
    TEST_EQUAL(String.Length, 65534);
    TEST_EQUAL(String.MaximumLength, 65534);
    TEST(String.Buffer == Long);
    RtlPointUnicodeString(&String, Long, 32768);
    TEST_EQUAL(String.Length, 65534);

    TEST_EQUAL(RtlIncompleteUtf8Tail("", 0), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("abc", 3), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("a\xC3", 2), 1);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xC3\xA4", 2), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("a\xE4\xBA", 3), 2);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xF0\x9F\x98", 3), 3);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xF0\x9F\x98\x80", 4), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("a\x80\x80\x80", 4), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xE0\x80", 2), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xC0", 1), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xF5", 1), 0);
    TEST_EQUAL(RtlIncompleteUtf8Tail("\xBF", 1), 0);

    TestNumber(L"0", TRUE, 0);
    TestNumber(L"007", TRUE, 7);
    TestNumber(L"18446744073709551615", TRUE, 18446744073709551615ULL);
    TestNumber(L"18446744073709551616", FALSE, 0);
    TestNumber(L"99999999999999999999", FALSE, 0);
    TestNumber(L"0xFFFFFFFFFFFFFFFF", TRUE, 18446744073709551615ULL);
    TestNumber(L"0x10000000000000000", FALSE, 0);
    TestNumber(L"0XaBc", TRUE, 2748);
    TestNumber(L"64K", TRUE, 65536);
    TestNumber(L"64k", TRUE, 65536);
    TestNumber(L"3m", TRUE, 3145728);
    TestNumber(L"2G", TRUE, 2147483648ULL);
    TestNumber(L"0x10K", TRUE, 16384);
    TestNumber(L"17179869183G", TRUE, 18446744072635809792ULL);
    TestNumber(L"17179869184G", FALSE, 0);
    TestNumber(L"", FALSE, 0);
    TestNumber(L"K", FALSE, 0);
    TestNumber(L"0x", FALSE, 0);
    TestNumber(L"0xK", FALSE, 0);
    TestNumber(L"x10", FALSE, 0);
    TestNumber(L"10KB", FALSE, 0);
    TestNumber(L"10KK", FALSE, 0);
    TestNumber(L"1 ", FALSE, 0);
    TestNumber(L" 1", FALSE, 0);
    TestNumber(L"-1", FALSE, 0);
    TestNumber(L"+1", FALSE, 0);
    TestNumber(L"1.5", FALSE, 0);
    TestNumber(L"a", FALSE, 0);
    TestNumber(L"\x0661", FALSE, 0);
}

//
// RtlWriter.c
//

//
// Formats and compares.
// ...: what it converts.
//

static
VOID
TestFormat(
    _In_z_ PCSZ Expected,
    _In_z_ PCSZ Format,
    ...
    )
{
    CHAR Buffer[512];
    RTL_WRITER Writer;
    va_list Arguments;

    RtlInitializeBufferWriter(&Writer, Buffer, sizeof(Buffer));

    va_start(Arguments, Format);
    RtlWriteTextArguments(&Writer, Format, Arguments);
    va_end(Arguments);

    if (!TEST_EQUAL_TEXT(Buffer, Writer.LengthInBytes, Expected)) {
        RtlWriteText(TestOutput, "    format: %s\n", Format);
    }

    TEST_STATUS(Writer.Status, STATUS_SUCCESS);
}

//
// Tests the conversions of the writer with results worked out by hand.
//

static
VOID
TestFormats(
    VOID
    )
{
    UNICODE_STRING String;
    CHAR Wide200[201];
    WCHAR Pairs[200];
    CHAR PairsInUtf8[401];
    ULONG Index;

    TestFormat("", "");
    TestFormat("plain", "plain");
    TestFormat("100%", "%d%%", 100);
    TestFormat("0", "%d", 0);
    TestFormat("-1", "%d", -1);
    TestFormat("-2147483648", "%d", (int)0x80000000);
    TestFormat("2147483647", "%d", 0x7FFFFFFF);
    TestFormat("4294967295", "%u", 0xFFFFFFFF);
    TestFormat("4294967295", "%lu", 0xFFFFFFFFUL);
    TestFormat("-5", "%ld", -5L);
    TestFormat("deadbeef DEADBEEF", "%x %X", 0xDEADBEEF, 0xDEADBEEF);
    TestFormat("-9223372036854775808", "%lld", INT64_MIN);
    TestFormat("9223372036854775807", "%lld", INT64_MAX);
    TestFormat("18446744073709551615", "%llu", UINT64_MAX);
    TestFormat("ffffffffffffffff", "%llx", UINT64_MAX);
    TestFormat("123456789ABCDEF", "%llX", 0x123456789ABCDEFULL);

    TestFormat("    42|", "%6d|", 42);
    TestFormat("42    |", "%-6d|", 42);
    TestFormat("000042|", "%06d|", 42);
    TestFormat("-00042|", "%06d|", -42);
    TestFormat("   -42|", "%6d|", -42);
    TestFormat("-42   |", "%-06d|", -42);
    TestFormat("-42   |", "%0-6d|", -42);
    TestFormat("42    |", "%*d|", -6, 42);
    TestFormat("  42|", "%*d|", 4, 42);
    TestFormat("1234567|", "%3d|", 1234567);
    TestFormat("  0042|", "%6.4d|", 42);
    TestFormat("  0042|", "%06.4d|", 42);
    TestFormat("0042  |", "%-6.4d|", 42);
    TestFormat("|", "%.0d|", 0);
    TestFormat("7|", "%.0d|", 7);
    TestFormat("|", "%.d|", 0);
    TestFormat("00000|", "%.*d|", 5, 0);
    TestFormat("0|", "%.*d|", -5, 0);
    TestFormat("-00042|", "%.5d|", -42);
    TestFormat("0000000000000000000000000000000000000001|", "%.40d|", 1);
    TestFormat("                                       1|", "%40d|", 1);

    TestFormat("0", "%'d", 0);
    TestFormat("999", "%'d", 999);
    TestFormat("1,000", "%'d", 1000);
    TestFormat("-1,000", "%'d", -1000);
    TestFormat("999,999", "%'u", 999999);
    TestFormat("1,000,000", "%'u", 1000000);
    TestFormat("18,446,744,073,709,551,615", "%'llu", UINT64_MAX);
    TestFormat("-9,223,372,036,854,775,808", "%'lld", INT64_MIN);
    TestFormat("   12,345|", "%'9u|", 12345);
    TestFormat("12,345   |", "%-'9u|", 12345);
    TestFormat("12,345   |", "%'-9u|", 12345);
    TestFormat("000012,345|", "%'010u|", 12345);

    TestFormat("0000000000001234", "%p", (PVOID)(ULONG_PTR)0x1234);
    TestFormat("00007FF6ABCDEF01", "%p", (PVOID)(ULONG_PTR)0x7FF6ABCDEF01);
    TestFormat("0000000000000000", "%p", NULL);
    TestFormat("  0000000000000001|", "%18p|", (PVOID)(ULONG_PTR)1);

    //
    // Text: a-umlaut and o-umlaut are two bytes, the euro sign is three, the
    // face is four.
    //

    TestFormat("abc", "%s", "abc");
    TestFormat("  abc|", "%5s|", "abc");
    TestFormat("abc  |", "%-5s|", "abc");
    TestFormat("abc  |", "%*s|", -5, "abc");
    TestFormat("  abc|", "%05s|", "abc");
    TestFormat("(null)", "%s", NULL);
    TestFormat("(null)", "%S", NULL);
    TestFormat("(null)", "%Z", NULL);
    TestFormat("(nu|", "%.3s|", NULL);
    TestFormat("   \xC3\xA4\xC3\xB6|", "%5s|", "\xC3\xA4\xC3\xB6");
    TestFormat("\xC3\xA4\xC3\xB6   |", "%-5s|", "\xC3\xA4\xC3\xB6");
    TestFormat("  \xF0\x9F\x98\x80|", "%3s|", "\xF0\x9F\x98\x80");
    TestFormat("  \x80|", "%3s|", "\x80");
    TestFormat("ab|", "%.2s|", "abc");
    TestFormat("|", "%.0s|", "abc");
    TestFormat("|", "%.s|", "abc");
    TestFormat("abc|", "%.9s|", "abc");
    TestFormat("abc|", "%.*s|", -1, "abc");
    TestFormat("   ab|", "%5.2s|", "abc");
    TestFormat("\xC3\xA4|", "%.3s|", "\xC3\xA4\xC3\xB6");
    TestFormat("\xC3\xA4\xC3\xB6|", "%.4s|", "\xC3\xA4\xC3\xB6");
    TestFormat("|", "%.3s|", "\xF0\x9F\x98\x80");
    TestFormat("  \xC3\xA4|", "%3.3s|", "\xC3\xA4\xC3\xB6");

    TestFormat("M\xD0\xB0|", "%S|", L"M\x0430");
    TestFormat("    \xF0\x9F\x98\x80|", "%5S|", L"\xD83D\xDE00");
    TestFormat("\xF0\x9F\x98\x80    |", "%-5S|", L"\xD83D\xDE00");
    TestFormat("|", "%.1S|", L"\xD83D\xDE00");
    TestFormat("\xF0\x9F\x98\x80|", "%.2S|", L"\xD83D\xDE00");
    TestFormat("ab|", "%.*S|", 2, L"abc");
    TestFormat("\xEF\xBF\xBD|", "%S|", L"\xD83D");

    RtlPointUnicodeString(&String, L"abc\xD83D\xDE00", 3);
    TestFormat("abc|", "%Z|", &String);
    TestFormat("    ab|", "%6.2Z|", &String);
    RtlPointUnicodeString(&String, L"abc\xD83D\xDE00", 5);
    TestFormat("abc\xF0\x9F\x98\x80  |", "%-6Z|", &String);
    TestFormat("abc|", "%.4Z|", &String);
    RtlPointUnicodeString(&String, L"abc\xD83D\xDE00", 4);
    TestFormat("abc\xEF\xBF\xBD|", "%Z|", &String);
    RtlPointUnicodeString(&String, NULL, 0);
    TestFormat("|", "%Z|", &String);

    TestFormat("A", "%c", 'A');
    TestFormat("  A|", "%3c|", 'A');
    TestFormat("A  |", "%-3c|", 'A');
    TestFormat("\xC3\xA4  |", "%-3c|", 0xE4);
    TestFormat("\xF0\x9F\x98\x80", "%c", 0x1F600);
    TestFormat("\xEF\xBF\xBF", "%c", 0xFFFF);
    TestFormat("\xF4\x8F\xBF\xBF", "%c", 0x10FFFF);
    TestFormat("\xEF\xBF\xBD", "%c", 0x110000);
    TestFormat("\xEF\xBF\xBD", "%c", 0xD800);
    TestFormat("\xEF\xBF\xBD", "%c", 0xDC00);
    TestFormat("\xEF\xBF\xBD", "%c", -1);

    //
    // What is no conversion stands as it is.
    //

    TestFormat("%q", "%q");
    TestFormat("a%-5.2qb7", "a%-5.2qb%d", 7);
    TestFormat("%", "%");
    TestFormat("a%05", "a%05");
    TestFormat("%ll", "%ll");

    //
    // Text longer than the pieces that it is converted in, with pairs at all
    // positions.
    //

    for (Index = 0; Index < 200; Index++) {
        Wide200[Index] = ' ';
        Pairs[Index] = (WCHAR)((Index % 2 != 0) ? 0xD83D : 0xDE00);
    }
    Wide200[199] = 'x';
    Wide200[200] = '\0';
    TestFormat(Wide200, "%200s", "x");

    Pairs[0] = L'-';
    Pairs[199] = L'\0';
    PairsInUtf8[0] = '-';
    for (Index = 0; Index < 99; Index++) {
        RtlCopyBytes(PairsInUtf8 + 1 + Index * 4, "\xF0\x9F\x98\x80", 4);
    }
    PairsInUtf8[397] = '\0';
    TestFormat(PairsInUtf8, "%S", Pairs);
    TestFormat(PairsInUtf8 + 1, "%S", Pairs + 1);
}

typedef int (__cdecl TEST_SNPRINTF)(
    PCHAR Buffer,
    SIZE_T Capacity,
    PCSZ Format,
    ...
    );
typedef TEST_SNPRINTF *PTEST_SNPRINTF;

//
// Compares the numbers of the writer with those of ntdll's _snprintf.
//

static
VOID
TestFormatsByReference(
    VOID
    )
{
    static const PCSZ Flags[] = { "", "-", "0", "-0" };
    static const PCSZ Widths[] = { "", "1", "4", "12", "25" };
    static const PCSZ Precisions[] = { "", ".0", ".1", ".7", ".22" };
    static const CHAR Conversions[] = "duxX";
    static const ULONGLONG Values[] = {
        0, 1, 9, 10, 99, 1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
        0x100000000ULL, 0x7FFFFFFFFFFFFFFFULL, 0x8000000000000000ULL,
        0xFFFFFFFFFFFFFFFFULL
    };

    PTEST_SNPRINTF Snprintf;
    RTL_WRITER Writer;
    CHAR Format[32];
    CHAR FormatOfReference[32];
    CHAR Text[64];
    CHAR Reference[64];
    ULONG Case;
    ULONG Rest;
    ULONG Value;
    ULONG NumberOfCases;
    ULONG NumberWrong = 0;
    int Length;
    PCSZ Flag;
    PCSZ Width;
    PCSZ Precision;
    CHAR Conversion;
    BOOLEAN IsLong;

    Snprintf = (PTEST_SNPRINTF)(ULONG_PTR)TestExport(L"ntdll.dll",
                                                     "_snprintf");
    if (Snprintf == NULL) {
        TEST_SKIP("ntdll.dll has no _snprintf");
        return;
    }

    NumberOfCases = 4 * 5 * 5 * 4 * 2;

    for (Case = 0; Case < NumberOfCases; Case++) {

        Rest = Case;
        Flag = Flags[Rest % 4];
        Rest /= 4;
        Width = Widths[Rest % 5];
        Rest /= 5;
        Precision = Precisions[Rest % 5];
        Rest /= 5;
        Conversion = Conversions[Rest % 4];
        IsLong = (Rest / 4 != 0);

        //
        // C has a precision turn zero padding off; not every ntdll.dll knows.
        //

        if (Precision[0] != '\0' && (Flag[0] == '0' || Flag[0] == '-')) {
            if (Flag[0] == '0' || Flag[1] == '0') {
                continue;
            }
        }

        RtlInitializeBufferWriter(&Writer, Format, sizeof(Format));
        RtlWriteText(&Writer,
                     "%%%s%s%s%s%c",
                     Flag,
                     Width,
                     Precision,
                     IsLong ? "ll" : "",
                     Conversion);
        Format[Writer.LengthInBytes] = '\0';

        RtlInitializeBufferWriter(&Writer,
                                  FormatOfReference,
                                  sizeof(FormatOfReference));
        RtlWriteText(&Writer,
                     "%%%s%s%s%s%c",
                     Flag,
                     Width,
                     Precision,
                     IsLong ? "I64" : "",
                     Conversion);
        FormatOfReference[Writer.LengthInBytes] = '\0';

        for (Value = 0; Value < RTL_NUMBER_OF(Values); Value++) {

            RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
            RtlWriteText(&Writer, Format, Values[Value]);

            Length = Snprintf(Reference,
                              sizeof(Reference),
                              FormatOfReference,
                              Values[Value]);

            if (Length != (int)Writer.LengthInBytes ||
                !RtlAreBytesEqual(Text, Reference, Writer.LengthInBytes)) {

                NumberWrong++;
                if (NumberWrong <= 5) {
                    RtlWriteText(TestOutput,
                                 "    %s of 0x%llx: \"%.*s\", not \"%.*s\"\n",
                                 Format,
                                 Values[Value],
                                 (int)Writer.LengthInBytes,
                                 Text,
                                 Length,
                                 Reference);
                }
            }
        }
    }

    TEST_EQUAL(NumberWrong, 0);
}

//
// Tests buffers that are too small, of every size.
//

static
VOID
TestTruncation(
    VOID
    )
{
    //
    // One, two, three and four bytes, and the end of each.
    //

    static const CHAR Text[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
    static const ULONG Ends[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };

    CHAR Buffer[16];
    RTL_WRITER Writer;
    ULONG Capacity;
    ULONG Index;

    for (Capacity = 0; Capacity <= 10; Capacity++) {

        RtlFillBytes(Buffer, sizeof(Buffer), 0x55);
        RtlInitializeBufferWriter(&Writer, Buffer, Capacity);
        RtlWriteText(&Writer, "%s", Text);

        TEST_EQUAL(Writer.LengthInBytes, Ends[Capacity]);
        TEST_EQUAL_BYTES(Buffer, Text, Ends[Capacity]);
        TEST_EQUAL((BYTE)Buffer[Capacity], 0x55);
        TEST_STATUS(RtlFlushWriter(&Writer),
                    (Capacity == 10) ? STATUS_SUCCESS :
                                       STATUS_BUFFER_OVERFLOW);

        //
        // Nothing comes behind what was cut.
        //

        if (Capacity < 10) {
            RtlWriteText(&Writer, "b");
            TEST_EQUAL(Writer.LengthInBytes, Ends[Capacity]);
        }

        //
        // The same byte by byte.
        //

        RtlInitializeBufferWriter(&Writer, Buffer, Capacity);
        for (Index = 0; Index < 10; Index++) {
            RtlWriteBytes(&Writer, Text + Index, 1);
        }
        TEST_EQUAL(Writer.LengthInBytes, Ends[Capacity]);
    }

    RtlInitializeBufferWriter(&Writer, Buffer, 8);
    RtlWriteText(&Writer, "%1000000000d", 1);
    TEST_STATUS(Writer.Status, STATUS_BUFFER_OVERFLOW);
    TEST_EQUAL_TEXT(Buffer, Writer.LengthInBytes, "        ");
}

//
// A flush routine that gathers, and fails when told to.
//

typedef struct _TEST_SINK {
    RTL_WRITER Writer;
    ULONG NumberOfCalls;
    ULONG FailingCall;              // from 1; 0 for none
    ULONG Length;
    CHAR Text[512];
} TEST_SINK;
typedef TEST_SINK *PTEST_SINK;

//
// Gathers what a writer flushes.
// Writer: the writer, the first field of a TEST_SINK.
// SizeInBytes: their number.
// Returns STATUS_SUCCESS, or STATUS_DISK_FULL in the failing call.
//

static
NTSTATUS
TestSinkFlush(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PTEST_SINK Sink = (PTEST_SINK)Writer;

    Sink->NumberOfCalls++;
    if (Sink->NumberOfCalls == Sink->FailingCall) {
        return STATUS_DISK_FULL;
    }

    if (SizeInBytes <= sizeof(Sink->Text) - Sink->Length) {
        RtlCopyBytes(Sink->Text + Sink->Length, Bytes, SizeInBytes);
        Sink->Length += SizeInBytes;
    }

    return STATUS_SUCCESS;
}

//
// Tests flushing through buffers of every small size, and its failure.
//

static
VOID
TestFlush(
    VOID
    )
{
    static const CHAR Expected[] =
        "one \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 000000000000000000017 end";

    TEST_SINK Sink;
    CHAR Buffer[64];
    ULONG Capacity;

    for (Capacity = 1; Capacity <= sizeof(Buffer); Capacity++) {

        RtlZeroBytes(&Sink, sizeof(Sink));
        RtlInitializeBufferWriter(&Sink.Writer, Buffer, Capacity);
        Sink.Writer.Flush = TestSinkFlush;

        RtlWriteText(&Sink.Writer,
                     "one %s%S %021d end",
                     "\xC3\xA4",
                     L"\x20AC\xD83D\xDE00",
                     17);
        TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Sink.Text, Sink.Length, Expected);
        TEST_EQUAL(Sink.Writer.LengthInBytes, 0);
    }

    //
    // Flushing nothing calls nothing.
    //

    Sink.NumberOfCalls = 0;
    TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_SUCCESS);
    TEST_EQUAL(Sink.NumberOfCalls, 0);

    //
    // The second call fails: what came before is there, what comes after is
    // not, and the status stays.
    //

    RtlZeroBytes(&Sink, sizeof(Sink));
    RtlInitializeBufferWriter(&Sink.Writer, Buffer, 4);
    Sink.Writer.Flush = TestSinkFlush;
    Sink.FailingCall = 2;

    RtlWriteText(&Sink.Writer, "abcdefghijklmnopq");
    TEST_STATUS(Sink.Writer.Status, STATUS_DISK_FULL);
    RtlWriteText(&Sink.Writer, "more %d", 1);
    TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_DISK_FULL);
    TEST_EQUAL(Sink.NumberOfCalls, 2);
    TEST_EQUAL_TEXT(Sink.Text, Sink.Length, "abcd");

    //
    // A writer that has a flush routine and no buffer.
    //

    RtlZeroBytes(&Sink, sizeof(Sink));
    RtlInitializeBufferWriter(&Sink.Writer, NULL, 0);
    Sink.Writer.Flush = TestSinkFlush;
    RtlWriteText(&Sink.Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Sink.Writer), STATUS_BUFFER_TOO_SMALL);
}

//
// The console and the standard handle, acted by these routines.
//

static struct {
    HANDLE Handle;
    BOOLEAN IsConsole;
    ULONG Fail;                     // Win32 error, or 0
    ULONG Most;                     // units or bytes taken by one call
    ULONG Length;
    ULONG NumberOfPieces;
    WCHAR Wide[1024];
    CHAR Bytes[1024];
} TestStandard;

//
// Acts as GetStdHandle.
//

static
HANDLE
WINAPI
TestGetStdHandle(
    DWORD StandardHandle
    )
{
    TEST_EQUAL(StandardHandle, STD_ERROR_HANDLE);
    return TestStandard.Handle;
}

//
// Acts as GetConsoleMode.
// Returns TRUE if the handle is a console.
//

static
BOOL
WINAPI
TestGetConsoleMode(
    HANDLE Handle,
    LPDWORD Mode
    )
{
    UNREFERENCED_PARAMETER(Handle);

    *Mode = 0;
    return TestStandard.IsConsole;
}

//
// Acts as WriteConsoleW.
// Length: its length in 16-bit units.
// Written: how much was taken.
// Returns FALSE if it is to fail.
//

static
BOOL
WINAPI
TestWriteConsoleW(
    HANDLE Handle,
    const VOID *Buffer,
    DWORD Length,
    LPDWORD Written,
    LPVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(Reserved);

    if (TestStandard.Fail != 0) {
        SetLastError(TestStandard.Fail);
        return FALSE;
    }

    if (Length > TestStandard.Most) {
        Length = TestStandard.Most;
    }

    RtlCopyBytes(TestStandard.Wide + TestStandard.Length,
                 Buffer,
                 Length * sizeof(WCHAR));
    TestStandard.Length += Length;
    TestStandard.NumberOfPieces++;
    *Written = Length;
    return TRUE;
}

//
// Acts as WriteFile.
// Buffer: the bytes.
// Length: their number.
// Written: how many were taken.
// Returns FALSE if it is to fail.
//

static
BOOL
WINAPI
TestWriteFile(
    HANDLE Handle,
    LPCVOID Buffer,
    DWORD Length,
    LPDWORD Written,
    LPOVERLAPPED Overlapped
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(Overlapped);

    if (TestStandard.Fail != 0) {
        SetLastError(TestStandard.Fail);
        return FALSE;
    }

    if (Length > TestStandard.Most) {
        Length = TestStandard.Most;
    }

    RtlCopyBytes(TestStandard.Bytes + TestStandard.Length, Buffer, Length);
    TestStandard.Length += Length;
    TestStandard.NumberOfPieces++;
    *Written = Length;
    return TRUE;
}

static
VOID
TestStandardHandles(
    _In_ PCRTL Rtl
    )
{
    static const CHAR Text[] =
        "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\x80z";
    static const WCHAR Expected[] = L"a\x00E4\x20AC\xD83D\xDE00\xFFFDz";

    RTL Mock;
    RTL_WRITER Writer;
    CHAR Buffer[600];
    ULONG Capacity;
    ULONG Index;

    Mock = *Rtl;
    Mock.GetStdHandle = TestGetStdHandle;
    Mock.GetConsoleMode = TestGetConsoleMode;
    Mock.WriteConsoleW = TestWriteConsoleW;
    Mock.WriteFile = TestWriteFile;

    RtlZeroBytes(&TestStandard, sizeof(TestStandard));
    TestStandard.Handle = (HANDLE)(ULONG_PTR)0x40;
    TestStandard.IsConsole = TRUE;

    //
    // A console, through buffers in which every character is split somewhere,
    // written whole and byte by byte, and taken in parts.
    //

    for (Capacity = 4; Capacity <= 16; Capacity++) {

        TestStandard.Most = Capacity % 3 + 1;
        TestStandard.Length = 0;

        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    Capacity);
        TEST(Writer.IsConsole);
        RtlWriteText(&Writer, "%s", Text);
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        TEST_EQUAL_WIDE(TestStandard.Wide, TestStandard.Length, Expected);

        TestStandard.Length = 0;
        for (Index = 0; Index < sizeof(Text) - 1; Index++) {
            RtlWriteBytes(&Writer, Text + Index, 1);
            TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        }
        TEST_EQUAL_WIDE(TestStandard.Wide, TestStandard.Length, Expected);
    }

    //
    // More than one piece, with a character across every boundary of them.
    //

    for (Index = 0; Index < 4; Index++) {

        TestStandard.Most = 1000;
        TestStandard.Length = 0;
        TestStandard.NumberOfPieces = 0;

        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    sizeof(Buffer));
        RtlWriteText(&Writer, "%*s", (int)(252 + Index), "");
        for (Capacity = 0; Capacity < 50; Capacity++) {
            RtlWriteText(&Writer, "%c", 0x1F600);
        }
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        TEST_EQUAL(TestStandard.NumberOfPieces, 2);
        TEST_EQUAL(TestStandard.Length, 252 + Index + 100);
        for (Capacity = 252 + Index;
             Capacity < TestStandard.Length;
             Capacity += 2) {
            if (TestStandard.Wide[Capacity] != 0xD83D ||
                TestStandard.Wide[Capacity + 1] != 0xDE00) {
                break;
            }
        }
        TEST_EQUAL(Capacity, TestStandard.Length);
    }

    //
    // Failures: an error, and a console that takes nothing.
    //

    TestStandard.Fail = ERROR_NOT_READY;
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), (NTSTATUS)0xC0070015);

    TestStandard.Fail = 0;
    TestStandard.Most = 0;
    RtlInitializeStandardWriter(&Mock,
                                STD_ERROR_HANDLE,
                                &Writer,
                                Buffer,
                                sizeof(Buffer));
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), STATUS_UNSUCCESSFUL);

    //
    // Not a console: the bytes as they are.
    //

    TestStandard.IsConsole = FALSE;

    for (Capacity = 1; Capacity <= 16; Capacity++) {

        TestStandard.Most = Capacity % 3 + 1;
        TestStandard.Length = 0;

        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    Capacity);
        TEST(!Writer.IsConsole);
        RtlWriteText(&Writer, "%s", Text);
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
        TEST_EQUAL_TEXT(TestStandard.Bytes, TestStandard.Length, Text);
    }

    TestStandard.Fail = ERROR_DISK_FULL;
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), (NTSTATUS)0xC0070070);

    TestStandard.Fail = 0;
    TestStandard.Most = 0;
    RtlInitializeStandardWriter(&Mock,
                                STD_ERROR_HANDLE,
                                &Writer,
                                Buffer,
                                sizeof(Buffer));
    RtlWriteText(&Writer, "x");
    TEST_STATUS(RtlFlushWriter(&Writer), STATUS_UNSUCCESSFUL);

    //
    // No handle: nothing is called, nothing fails.
    //

    TestStandard.Fail = ERROR_INVALID_HANDLE;

    for (Index = 0; Index < 2; Index++) {

        TestStandard.Handle = (Index == 0) ? NULL : INVALID_HANDLE_VALUE;
        RtlInitializeStandardWriter(&Mock,
                                    STD_ERROR_HANDLE,
                                    &Writer,
                                    Buffer,
                                    4);
        RtlWriteText(&Writer, "a longer text");
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
    }
}

//
// RtlStatus.c
//

//
// Tests errors and their messages.
//

static
VOID
TestErrors(
    VOID
    )
{
    RTL_ERROR Error;
    RTL_WRITER Writer;
    UNICODE_STRING Object;
    WCHAR Long[400];
    CHAR Text[1024];
    ULONG Index;

    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC0000022),
                      "STATUS_ACCESS_DENIED");
    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC000007F),
                      "STATUS_DISK_FULL");
    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC0000034),
                      "STATUS_OBJECT_NAME_NOT_FOUND");
    TEST_EQUAL_STRING(RtlStatusName((NTSTATUS)0xC0000043),
                      "STATUS_SHARING_VIOLATION");
    TEST_EQUAL_STRING(RtlStatusName(0), "STATUS_SUCCESS");
    TEST(RtlStatusName((NTSTATUS)0xC1234567) == NULL);

    RtlPointUnicodeString(&Object, L"C:\\\x00E4.trace", 10);
    TEST_STATUS(RtlSetError(&Error, "open", &Object, STATUS_ACCESS_DENIED),
                STATUS_ACCESS_DENIED);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteError(&Writer, &Error);
    TEST_EQUAL_TEXT(Text,
                    Writer.LengthInBytes,
                    "open: C:\\\xC3\xA4.trace: "
                    "0xC0000022 (STATUS_ACCESS_DENIED)");

    RtlSetError(&Error, "read", NULL, (NTSTATUS)0xC1234567);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteError(&Writer, &Error);
    TEST_EQUAL_TEXT(Text, Writer.LengthInBytes, "read: 0xC1234567");

    TEST_STATUS(RtlSetError(NULL, "x", &Object, STATUS_NO_MEMORY),
                STATUS_NO_MEMORY);

    //
    // An object that does not fit is cut, but not within a pair.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Long); Index++) {
        Long[Index] = L'x';
    }

    RtlPointUnicodeString(&Object, Long, 300);
    RtlSetError(&Error, "x", &Object, STATUS_NO_MEMORY);
    TEST_EQUAL(Error.ObjectLengthInChars, 300);

    RtlPointUnicodeString(&Object, Long, 400);
    RtlSetError(&Error, "x", &Object, STATUS_NO_MEMORY);
    TEST_EQUAL(Error.ObjectLengthInChars, 300);

    Long[299] = 0xD83D;
    Long[300] = 0xDE00;
    RtlSetError(&Error, "x", &Object, STATUS_NO_MEMORY);
    TEST_EQUAL(Error.ObjectLengthInChars, 299);
}

//
// RtlPath.c
//

//
// Makes an NT path with every capacity from none to one that must do.
// Expected: the expected NT path.
//

static
VOID
TestOnePath(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR DosPath,
    _In_z_ PCWSTR Expected
    )
{
    WCHAR Buffer[1024];
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    ULONG ExpectedLength = RtlLengthOfWideString(Expected);
    ULONG Capacity;
    BOOLEAN Succeeded = FALSE;
    NTSTATUS Status;

    RtlPointUnicodeString(&Dos, DosPath, RtlLengthOfWideString(DosPath));

    for (Capacity = 0; Capacity <= ExpectedLength + 8; Capacity++) {

        Buffer[Capacity] = 0x5555;
        Nt.Length = 0x77;

        Status = RtlDosPathToNtPath(Rtl, &Dos, Buffer, Capacity, &Nt);

        //
        // Once it fits, it goes on to fit; until then the result is untouched.
        //

        if (!NT_SUCCESS(Status)) {
            TEST(!Succeeded);
            TEST_STATUS(Status, STATUS_NAME_TOO_LONG);
            TEST_EQUAL(Nt.Length, 0x77);
        } else {
            Succeeded = TRUE;
            TEST_EQUAL_WIDE(Nt.Buffer, Nt.Length / sizeof(WCHAR), Expected);
            TEST(Nt.Buffer == Buffer);
            TEST_EQUAL(Nt.MaximumLength, Capacity * sizeof(WCHAR));
        }

        TEST_EQUAL(Buffer[Capacity], 0x5555);
    }

    TEST(Succeeded);
}

static PCWSTR TestFullPath;
static ULONG TestFullPathError;

//
// Acts as GetFullPathNameW: gives TestFullPath, or fails if that is NULL.
// Capacity: the size of Buffer in 16-bit units.
// Buffer: the absolute path.
// Returns as of GetFullPathNameW.
//

static
DWORD
WINAPI
TestGetFullPathNameW(
    LPCWSTR FileName,
    DWORD Capacity,
    LPWSTR Buffer,
    LPWSTR *FilePart
    )
{
    ULONG Length;

    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(FilePart);

    if (TestFullPath == NULL) {
        SetLastError(TestFullPathError);
        return 0;
    }

    Length = RtlLengthOfWideString(TestFullPath);
    if (Length >= Capacity) {
        return Length + 1;
    }

    RtlCopyBytes(Buffer, TestFullPath, (Length + 1) * sizeof(WCHAR));
    return Length;
}

//
// Acts as NtAllocateVirtualMemory without memory.
// As of NtAllocateVirtualMemory.
// Returns STATUS_NO_MEMORY.
//

static
NTSTATUS
NTAPI
TestFailToAllocate(
    HANDLE Process,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    PSIZE_T RegionSize,
    ULONG AllocationType,
    ULONG Protect
    )
{
    UNREFERENCED_PARAMETER(Process);
    UNREFERENCED_PARAMETER(BaseAddress);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(RegionSize);
    UNREFERENCED_PARAMETER(AllocationType);
    UNREFERENCED_PARAMETER(Protect);

    return STATUS_NO_MEMORY;
}

//
// Finds a base name.
//

static
VOID
TestOneBaseName(
    _In_z_ PCWSTR Path,
    _In_z_ PCWSTR Expected
    )
{
    UNICODE_STRING String;

    RtlPointUnicodeString(&String, Path, RtlLengthOfWideString(Path));
    RtlBaseName(&String, &String);
    TEST_EQUAL_WIDE(String.Buffer, String.Length / sizeof(WCHAR), Expected);
}

//
// Tests appending to paths.
//

static
VOID
TestAppend(
    VOID
    )
{
    WCHAR Buffer[16];
    UNICODE_STRING Path;

    Path.Buffer = Buffer;
    Path.Length = 0;
    Path.MaximumLength = 8 * sizeof(WCHAR);
    Buffer[8] = 0x5555;

    TEST_STATUS(RtlAppendPath(&Path, L"ab", 2, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab");
    TEST_STATUS(RtlAppendPath(&Path, L"cd", 2, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd");

    TEST_STATUS(RtlAppendPath(&Path, L"efg", 3, TRUE), STATUS_NAME_TOO_LONG);
    TEST_STATUS(RtlAppendPath(&Path, L"efgh", 4, FALSE), STATUS_NAME_TOO_LONG);
    TEST_STATUS(RtlAppendPath(&Path, L"e", 0xFFFFFFFF, FALSE),
                STATUS_NAME_TOO_LONG);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd");

    TEST_STATUS(RtlAppendPath(&Path, L"\\", 1, FALSE), STATUS_SUCCESS);
    TEST_STATUS(RtlAppendPath(&Path, L"", 0, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd\\");
    TEST_STATUS(RtlAppendPath(&Path, L"ef", 2, TRUE), STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Buffer, Path.Length / sizeof(WCHAR), L"ab\\cd\\ef");
    TEST_STATUS(RtlAppendPath(&Path, L"", 0, TRUE), STATUS_NAME_TOO_LONG);
    TEST_STATUS(RtlAppendPath(&Path, L"", 0, FALSE), STATUS_SUCCESS);
    TEST_EQUAL(Buffer[8], 0x5555);
}

static
VOID
TestPaths(
    _In_ PCRTL Rtl
    )
{
    static WCHAR Long[33000];
    static WCHAR Result[33000];

    RTL Mock;
    WCHAR Expected[600];
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    ULONG Length;
    ULONG Index;

    TestOnePath(Rtl, L"C:\\a\\b.txt", L"\\??\\C:\\a\\b.txt");
    TestOnePath(Rtl, L"C:/a/./b/../c.txt", L"\\??\\C:\\a\\c.txt");
    TestOnePath(Rtl, L"C:\\a\\", L"\\??\\C:\\a\\");
    TestOnePath(Rtl, L"C:\\", L"\\??\\C:\\");
    TestOnePath(Rtl,
                L"C:\\\x00E4\\\xD83D\xDE00",
                L"\\??\\C:\\\x00E4\\\xD83D\xDE00");
    TestOnePath(Rtl, L"\\\\server\\share\\f", L"\\??\\UNC\\server\\share\\f");
    TestOnePath(Rtl, L"//server/share/f", L"\\??\\UNC\\server\\share\\f");
    TestOnePath(Rtl, L"\\\\?\\C:\\a\\.\\b ", L"\\??\\C:\\a\\.\\b ");
    TestOnePath(Rtl, L"\\\\?\\UNC\\s\\t", L"\\??\\UNC\\s\\t");
    TestOnePath(Rtl, L"\\\\.\\PIPE\\x", L"\\??\\PIPE\\x");
    TestOnePath(Rtl, L"\\??\\C:\\a", L"\\??\\C:\\a");

    //
    // Relative to the current directory, which kernel32 names.
    //

    Length = GetCurrentDirectoryW(300, Expected + 4);
    if (TEST(Length != 0 && Length < 300)) {
        RtlCopyBytes(Expected, L"\\??\\", 4 * sizeof(WCHAR));
        Length += 4;
        if (Expected[Length - 1] != L'\\') {
            Expected[Length] = L'\\';
            Length++;
        }
        RtlCopyBytes(Expected + Length, L"x.trace", 8 * sizeof(WCHAR));
        TestOnePath(Rtl, L"x.trace", Expected);
        TestOnePath(Rtl, L".\\y\\..\\x.trace", Expected);
    }

    //
    // What the current directory or an old system may make of a path.
    //

    Mock = *Rtl;
    Mock.GetFullPathNameW = TestGetFullPathNameW;

    TestFullPath = L"\\\\server\\share\\dir\\x";
    TestOnePath(&Mock, L"x", L"\\??\\UNC\\server\\share\\dir\\x");
    TestFullPath = L"\\\\.\\NUL";
    TestOnePath(&Mock, L"NUL", L"\\??\\NUL");
    TestFullPath = L"\\\\?\\C:\\x";
    TestOnePath(&Mock, L"//?/C:/x", L"\\??\\C:\\x");

    RtlPointUnicodeString(&Dos, L"x", 1);
    TestFullPath = NULL;
    TestFullPathError = ERROR_FILENAME_EXCED_RANGE;
    TEST_STATUS(RtlDosPathToNtPath(&Mock, &Dos, Result, 100, &Nt),
                STATUS_NAME_TOO_LONG);
    TestFullPathError = ERROR_INVALID_NAME;
    TEST_STATUS(RtlDosPathToNtPath(&Mock, &Dos, Result, 100, &Nt),
                STATUS_OBJECT_NAME_INVALID);

    //
    // Not paths.
    //

    RtlPointUnicodeString(&Dos, L"", 0);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 100, &Nt),
                STATUS_OBJECT_NAME_INVALID);
    RtlPointUnicodeString(&Dos, L"C:\\a\0b", 6);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 100, &Nt),
                STATUS_OBJECT_NAME_INVALID);

    //
    // Counted: what is behind the path does not matter.
    //

    RtlPointUnicodeString(&Dos, L"C:\\abcdef", 5);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 100, &Nt),
                STATUS_SUCCESS);
    TEST_EQUAL_WIDE(Nt.Buffer, Nt.Length / sizeof(WCHAR), L"\\??\\C:\\ab");

    //
    // Lengths around MAX_PATH, then the longest that a string holds.
    //

    Long[0] = L'C';
    Long[1] = L':';
    for (Index = 2; Index < RTL_NUMBER_OF(Long); Index++) {
        Long[Index] = (WCHAR)((Index % 100 == 2) ? L'\\' : L'n');
    }

    for (Length = 255; Length <= 265; Length++) {
        RtlPointUnicodeString(&Dos, Long, Length);
        TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 400, &Nt),
                    STATUS_SUCCESS);
        TEST_EQUAL(Nt.Length, (Length + 4) * sizeof(WCHAR));
        TEST_EQUAL_BYTES(Nt.Buffer + 4, Long, Length * sizeof(WCHAR));
    }

    RtlPointUnicodeString(&Dos, Long, 32000);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 33000, &Nt),
                STATUS_SUCCESS);
    TEST_EQUAL(Nt.Length, 32004 * sizeof(WCHAR));
    TEST_EQUAL_BYTES(Nt.Buffer + 4, Long, 32000 * sizeof(WCHAR));
    TEST_EQUAL(Nt.MaximumLength, 65534);

    RtlPointUnicodeString(&Dos, Long, 32766);
    TEST_STATUS(RtlDosPathToNtPath(Rtl, &Dos, Result, 33000, &Nt),
                STATUS_NAME_TOO_LONG);

    Mock = *Rtl;
    Mock.NtAllocateVirtualMemory = TestFailToAllocate;
    RtlPointUnicodeString(&Dos, Long, 300);
    TEST_STATUS(RtlDosPathToNtPath(&Mock, &Dos, Result, 400, &Nt),
                STATUS_NO_MEMORY);

    TestOneBaseName(L"C:\\a\\b.exe", L"b.exe");
    TestOneBaseName(L"C:/a/b.exe", L"b.exe");
    TestOneBaseName(L"C:\\a/b.exe", L"b.exe");
    TestOneBaseName(L"C:b.exe", L"b.exe");
    TestOneBaseName(L"b.exe", L"b.exe");
    TestOneBaseName(L"b.exe:stream", L"b.exe:stream");
    TestOneBaseName(L"C:\\a\\", L"");
    TestOneBaseName(L"C:", L"");
    TestOneBaseName(L"", L"");
    TestOneBaseName(L"\\??\\UNC\\s\\t\\\x00E4", L"\x00E4");

    TestAppend();
}

//
// RtlEnvironment.c
//

//
// Tests environment variables, which kernel32 sets.
//

static
VOID
TestEnvironment(
    _In_ PCRTL Rtl
    )
{
    WCHAR Buffer[32];
    UNICODE_STRING Value;

    SetEnvironmentVariableW(L"TRACER_TEST_NONE", NULL);
    SetEnvironmentVariableW(L"TRACER_TEST_EMPTY", L"");
    SetEnvironmentVariableW(L"TRACER_TEST_TEXT", L"\x00E4\xD83D\xDE00=;x");

    Value.Length = 0x77;
    TEST_STATUS(RtlQueryEnvironment(Rtl,
                                    L"TRACER_TEST_NONE",
                                    Buffer,
                                    RTL_NUMBER_OF(Buffer),
                                    &Value),
                STATUS_VARIABLE_NOT_FOUND);
    TEST_EQUAL(Value.Length, 0x77);

    if (TEST_STATUS(RtlQueryEnvironment(Rtl,
                                        L"TRACER_TEST_TEXT",
                                        Buffer,
                                        RTL_NUMBER_OF(Buffer),
                                        &Value),
                    STATUS_SUCCESS)) {
        TEST(Value.Buffer == Buffer);
        TEST_EQUAL_WIDE(Value.Buffer,
                        Value.Length / sizeof(WCHAR),
                        L"\x00E4\xD83D\xDE00=;x");
    }

    //
    // Case does not matter; the value as long as the buffer; one too long.
    //

    Buffer[7] = 0x5555;
    TEST_STATUS(RtlQueryEnvironment(Rtl,
                                    L"tracer_test_TEXT",
                                    Buffer,
                                    7,
                                    &Value),
                STATUS_SUCCESS);
    TEST_EQUAL(Buffer[7], 0x5555);

    Buffer[5] = 0x5555;
    TEST_STATUS(RtlQueryEnvironment(Rtl,
                                    L"TRACER_TEST_TEXT",
                                    Buffer,
                                    5,
                                    &Value),
                STATUS_BUFFER_TOO_SMALL);
    TEST_EQUAL(Buffer[5], 0x5555);

    if (TEST_STATUS(RtlQueryEnvironment(Rtl,
                                        L"TRACER_TEST_EMPTY",
                                        Buffer,
                                        RTL_NUMBER_OF(Buffer),
                                        &Value),
                    STATUS_SUCCESS)) {
        TEST_EQUAL(Value.Length, 0);
    }

    SetEnvironmentVariableW(L"TRACER_TEST_EMPTY", NULL);
    SetEnvironmentVariableW(L"TRACER_TEST_TEXT", NULL);
}

//
// RtlFile.c
//

static ULONG TestWritesLeft;

static NT_READ_WRITE_FILE *TestRealWriteFile;

//
// Acts as an NtWriteFile that takes at most three bytes, and none once
// TestWritesLeft is used up.
// Returns as of NtWriteFile.
//

static
NTSTATUS
NTAPI
TestShortWriteFile(
    HANDLE File,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Buffer,
    ULONG Length,
    PLARGE_INTEGER ByteOffset,
    PULONG Key
    )
{
    if (TestWritesLeft == 0) {
        IoStatus->Information = 0;
        return STATUS_SUCCESS;
    }

    TestWritesLeft--;

    return TestRealWriteFile(File,
                             Event,
                             ApcRoutine,
                             ApcContext,
                             IoStatus,
                             Buffer,
                             (Length > 3) ? 3 : Length,
                             ByteOffset,
                             Key);
}

//
// Tests reading, writing and sizes.
// Directory: a directory to work in.
//

static
VOID
TestFileContents(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    RTL Mock;
    TEST_PATH Path;
    HANDLE File;
    HANDLE Reader;
    CHAR Buffer[64];
    ULONGLONG Size;
    ULONG Read;
    RTL_WRITER Writer;

    TestMakePathIn(&Path, Directory, L"contents.bin");

    if (!TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                     STATUS_SUCCESS)) {
        return;
    }

    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 0);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 10, &Read),
                STATUS_END_OF_FILE);
    TEST_EQUAL(Read, 0);

    TEST_STATUS(RtlWriteFile(Rtl, File, 0, "0123456789", 10), STATUS_SUCCESS);
    TEST_STATUS(RtlWriteFile(Rtl, File, 4, "abc", 3), STATUS_SUCCESS);
    TEST_STATUS(RtlWriteFile(Rtl, File, 12, "xy", 2), STATUS_SUCCESS);
    TEST_STATUS(RtlWriteFile(Rtl, File, 20, "zz", 0), STATUS_SUCCESS);
    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 14);

    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 14, &Read), STATUS_SUCCESS);
    TEST_EQUAL(Read, 14);
    TEST_EQUAL_BYTES(Buffer, "0123abc789\0\0xy", 14);
    TEST_STATUS(RtlReadFile(Rtl, File, 10, Buffer, 60, &Read), STATUS_SUCCESS);
    TEST_EQUAL(Read, 4);
    TEST_STATUS(RtlReadFile(Rtl, File, 14, Buffer, 1, &Read),
                STATUS_END_OF_FILE);
    TEST_STATUS(RtlReadFile(Rtl, File, 1ULL << 40, Buffer, 1, &Read),
                STATUS_END_OF_FILE);

    //
    // Offsets that would be negative, of which -1 and -2 mean something.
    //

    TEST_STATUS(RtlReadFile(Rtl, File, UINT64_MAX, Buffer, 1, &Read),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlWriteFile(Rtl, File, UINT64_MAX, "x", 1),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlWriteFile(Rtl, File, UINT64_MAX - 1, "x", 1),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlWriteFile(Rtl, File, INT64_MAX, "x", 1),
                STATUS_INVALID_PARAMETER);
    TEST_STATUS(RtlSetFileSize(Rtl, File, UINT64_MAX),
                STATUS_INVALID_PARAMETER);

    //
    // Longer and shorter.
    //

    TEST_STATUS(RtlSetFileSize(Rtl, File, 5000000000ULL), STATUS_SUCCESS);
    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 5000000000ULL);
    TEST_STATUS(RtlReadFile(Rtl, File, 4999999999ULL, Buffer, 2, &Read),
                STATUS_SUCCESS);
    TEST_EQUAL(Read, 1);
    TEST_EQUAL(Buffer[0], 0);
    TEST_STATUS(RtlSetFileSize(Rtl, File, 3), STATUS_SUCCESS);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 64, &Read), STATUS_SUCCESS);
    TEST_EQUAL_TEXT(Buffer, Read, "012");

    //
    // A file that takes a few bytes at a time, then none.
    //

    Mock = *Rtl;
    Mock.NtWriteFile = TestShortWriteFile;
    TestRealWriteFile = Rtl->NtWriteFile;
    TestWritesLeft = 4;
    TEST_STATUS(RtlWriteFile(&Mock, File, 3, "abcdefghij", 10),
                STATUS_SUCCESS);
    TEST_EQUAL(TestWritesLeft, 0);
    TEST_STATUS(RtlWriteFile(&Mock, File, 3, "x", 1), STATUS_DISK_FULL);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 64, &Read), STATUS_SUCCESS);
    TEST_EQUAL_TEXT(Buffer, Read, "012abcdefghij");

    //
    // Text through a writer whose buffer is smaller, behind what is there.
    //

    RtlInitializeFileWriter(Rtl, File, 13, &Writer, Buffer, 5);
    RtlWriteText(&Writer, "<%s %d>", "a line that is longer", 12345);
    TEST_STATUS(RtlFlushWriter(&Writer), STATUS_SUCCESS);
    TEST_EQUAL(Writer.FileOffset, 13 + 29);
    TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 64, &Read), STATUS_SUCCESS);
    TEST_EQUAL_TEXT(Buffer,
                    Read,
                    "012abcdefghij<a line that is longer 12345>");

    //
    // A handle for reading does not write.
    //

    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Reader),
                    STATUS_SUCCESS)) {
        TEST_STATUS(RtlReadFile(Rtl, Reader, 3, Buffer, 3, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Buffer, Read, "abc");
        TEST_STATUS(RtlWriteFile(Rtl, Reader, 0, "x", 1),
                    STATUS_ACCESS_DENIED);
        RtlInitializeFileWriter(Rtl, Reader, 0, &Writer, Buffer, 5);
        RtlWriteText(&Writer, "x");
        TEST_STATUS(RtlFlushWriter(&Writer), STATUS_ACCESS_DENIED);
        TEST_EQUAL(Writer.FileOffset, 0);
        RtlClose(Rtl, Reader);
    }

    RtlClose(Rtl, File);
    RtlClose(Rtl, NULL);

    TEST(!NT_SUCCESS(RtlQueryFileSize(Rtl, (HANDLE)(ULONG_PTR)0xABCC, &Size)));
}

//
// Tests creating, opening and sharing.
// Directory: a directory to work in.
//

static
VOID
TestFileNames(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    TEST_PATH Path;
    TEST_PATH Other;
    HANDLE File;
    HANDLE Second;
    ULONGLONG Size = 99;
    CHAR Buffer[8];
    ULONG Read;

    TestMakePathIn(&Path, Directory, L"names.bin");

    Second = (HANDLE)(ULONG_PTR)0x77;
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                STATUS_OBJECT_NAME_NOT_FOUND);
    TEST_EQUAL(Second, 0x77);

    TestMakePathIn(&Other, Directory, L"none\\names.bin");
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Other.Nt, &Second),
                STATUS_OBJECT_PATH_NOT_FOUND);
    TEST_STATUS(RtlCreateFile(Rtl, &Other.Nt, RTL_CREATE_NEW, &Second),
                STATUS_OBJECT_PATH_NOT_FOUND);
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Directory->Nt, &Second),
                STATUS_FILE_IS_A_DIRECTORY);

    if (!TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                     STATUS_SUCCESS)) {
        return;
    }

    TEST_STATUS(RtlWriteFile(Rtl, File, 0, "12345", 5), STATUS_SUCCESS);

    //
    // One writer, readers as many as like.
    //

    TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &Second),
                STATUS_OBJECT_NAME_COLLISION);
    TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_OPEN_ALWAYS, &Second),
                STATUS_SHARING_VIOLATION);
    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, Second);
    }
    RtlClose(Rtl, File);

    //
    // A reader keeps no writer out.
    //

    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                    STATUS_SUCCESS)) {
        if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_OPEN_ALWAYS, &File),
                        STATUS_SUCCESS)) {
            TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
            TEST_EQUAL(Size, 5);
            RtlClose(Rtl, File);
        }
        RtlClose(Rtl, Second);
    }

    //
    // The name's case does not matter.
    //

    TestMakePathIn(&Other, Directory, L"NAMES.Bin");
    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Other.Nt, &Second),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, Second);
    }

    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_ALWAYS, &File),
                    STATUS_SUCCESS)) {

        TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
        TEST_EQUAL(Size, 0);

        //
        // Deleted while it is open: the handle goes on to work.
        //

        TEST(DeleteFileW(TestDosPath(&Path)));
        TEST_STATUS(RtlWriteFile(Rtl, File, 0, "abc", 3), STATUS_SUCCESS);
        TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 8, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL(Read, 3);
        RtlClose(Rtl, File);
    }

    TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Second),
                STATUS_OBJECT_NAME_NOT_FOUND);

    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_OPEN_ALWAYS, &File),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, File);
    }
}

//
// Tests sections and views.
// Directory: a directory to work in.
//

static
VOID
TestSections(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    TEST_PATH Path;
    HANDLE File;
    HANDLE Reader;
    HANDLE Section;
    HANDLE ReadSection;
    PBYTE View;
    PBYTE Fixed;
    PVOID Other;
    CHAR Buffer[8];
    ULONGLONG Size;
    ULONG Read;

    TestMakePathIn(&Path, Directory, L"section.bin");

    if (!TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                     STATUS_SUCCESS)) {
        return;
    }

    TEST_STATUS(RtlCreateFileSection(Rtl, File, 0, FALSE, &Section),
                STATUS_MAPPED_FILE_SIZE_ZERO);
    TEST_STATUS(RtlCreateFileSection(Rtl, File, UINT64_MAX, TRUE, &Section),
                STATUS_INVALID_PARAMETER);

    //
    // A section extends the file; a view shows in it, and the other way.
    //

    if (!TEST_STATUS(RtlCreateFileSection(Rtl, File, 0x30000, TRUE, &Section),
                     STATUS_SUCCESS)) {
        RtlClose(Rtl, File);
        return;
    }

    TEST_STATUS(RtlQueryFileSize(Rtl, File, &Size), STATUS_SUCCESS);
    TEST_EQUAL(Size, 0x30000);

    if (TEST_STATUS(RtlMapFileSection(Rtl,
                                      Section,
                                      0x10000,
                                      0x10000,
                                      TRUE,
                                      NULL,
                                      (PVOID *)&View),
                    STATUS_SUCCESS)) {

        TEST_EQUAL((ULONG_PTR)View % 0x10000, 0);
        TEST_EQUAL(View[0xFFFF], 0);
        RtlCopyBytes(View + 0x20, "view", 4);
        TEST_STATUS(RtlReadFile(Rtl, File, 0x10020, Buffer, 4, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Buffer, Read, "view");
        TEST_STATUS(RtlWriteFile(Rtl, File, 0x10030, "file", 4),
                    STATUS_SUCCESS);
        TEST_EQUAL_BYTES(View + 0x30, "file", 4);

        //
        // Where something is, there is no room; where it was, there is.
        //

        Fixed = NULL;
        TEST_STATUS(RtlMapFileSection(Rtl,
                                      Section,
                                      0,
                                      0x10000,
                                      TRUE,
                                      View,
                                      (PVOID *)&Fixed),
                    STATUS_CONFLICTING_ADDRESSES);
        TEST(Fixed == NULL);

        RtlUnmapFileSection(Rtl, View);

        if (TEST_STATUS(RtlMapFileSection(Rtl,
                                          Section,
                                          0x20000,
                                          0,
                                          TRUE,
                                          View,
                                          (PVOID *)&Fixed),
                        STATUS_SUCCESS)) {
            TEST(Fixed == View);
            Fixed[0xFFFF] = 1;
            RtlUnmapFileSection(Rtl, Fixed);
        }
    }

    TEST_STATUS(RtlMapFileSection(Rtl,
                                  Section,
                                  0x1000,
                                  0x1000,
                                  TRUE,
                                  NULL,
                                  &Other),
                STATUS_MAPPED_ALIGNMENT);
    TEST_STATUS(RtlMapFileSection(Rtl,
                                  Section,
                                  0,
                                  0x1000,
                                  TRUE,
                                  (PVOID)(ULONG_PTR)0x12341000,
                                  &Other),
                STATUS_MAPPED_ALIGNMENT);
    TEST(!NT_SUCCESS(RtlMapFileSection(Rtl,
                                       Section,
                                       0x40000,
                                       0x10000,
                                       TRUE,
                                       NULL,
                                       &Other)));

    //
    // A reader of its own, as TraceReader is one.
    //

    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &Reader),
                    STATUS_SUCCESS)) {

        TEST(!NT_SUCCESS(RtlCreateFileSection(Rtl,
                                              Reader,
                                              0,
                                              TRUE,
                                              &ReadSection)));

        if (TEST_STATUS(RtlCreateFileSection(Rtl,
                                             Reader,
                                             0,
                                             FALSE,
                                             &ReadSection),
                        STATUS_SUCCESS)) {

            TEST(!NT_SUCCESS(RtlMapFileSection(Rtl,
                                               ReadSection,
                                               0,
                                               0,
                                               TRUE,
                                               NULL,
                                               &Other)));

            if (TEST_STATUS(RtlMapFileSection(Rtl,
                                              ReadSection,
                                              0,
                                              0,
                                              FALSE,
                                              NULL,
                                              (PVOID *)&View),
                            STATUS_SUCCESS)) {
                TEST_EQUAL_BYTES(View + 0x10020, "view", 4);
                TEST_EQUAL_BYTES(View + 0x10030, "file", 4);
                TEST_EQUAL(View[0x2FFFF], 1);
                RtlUnmapFileSection(Rtl, View);
            }
            RtlClose(Rtl, ReadSection);
        }
        RtlClose(Rtl, Reader);
    }

    RtlUnmapFileSection(Rtl, NULL);
    RtlClose(Rtl, Section);
    RtlClose(Rtl, File);
}

#define TEST_MANY_FILES 300

typedef struct _TEST_ENUMERATION {
    ULONG NumberOfFiles;
    ULONG NumberOfDirectories;
    ULONG NumberOfOthers;
    ULONG StopAfter;
    ULONGLONG TotalSize;
    BYTE Seen[TEST_MANY_FILES];
} TEST_ENUMERATION;
typedef TEST_ENUMERATION *PTEST_ENUMERATION;

//
// Notes an entry of a directory. The files are named nnn and a long tail.
// IsDirectory: TRUE for a directory.
// Returns STATUS_SUCCESS, or STATUS_CANCELLED when it is time to stop.
//

static
NTSTATUS
TestEntry(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PTEST_ENUMERATION Enumeration = (PTEST_ENUMERATION)Context;
    ULONGLONG Number;

    if (IsDirectory) {
        Enumeration->NumberOfDirectories++;
    } else if (Name->Length >= 6 &&
               RtlParseNumber(Name->Buffer, 3, &Number) &&
               Number < TEST_MANY_FILES) {
        Enumeration->NumberOfFiles++;
        Enumeration->Seen[Number]++;
        Enumeration->TotalSize += SizeInBytes;
    } else {
        Enumeration->NumberOfOthers++;
    }

    if (Enumeration->StopAfter != 0) {
        Enumeration->StopAfter--;
        if (Enumeration->StopAfter == 0) {
            return STATUS_CANCELLED;
        }
    }

    return STATUS_SUCCESS;
}

//
// Acts as an NtQueryDirectoryFile whose entry does not fit.
// As of NtQueryDirectoryFile.
// Returns STATUS_BUFFER_OVERFLOW.
//

static
NTSTATUS
NTAPI
TestOverflowDirectory(
    HANDLE File,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Information,
    ULONG Length,
    ULONG InformationClass,
    BOOLEAN ReturnSingleEntry,
    PUNICODE_STRING FileName,
    BOOLEAN RestartScan
    )
{
    UNREFERENCED_PARAMETER(File);
    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(Information);
    UNREFERENCED_PARAMETER(Length);
    UNREFERENCED_PARAMETER(InformationClass);
    UNREFERENCED_PARAMETER(ReturnSingleEntry);
    UNREFERENCED_PARAMETER(FileName);
    UNREFERENCED_PARAMETER(RestartScan);

    return STATUS_BUFFER_OVERFLOW;
}

//
// Tests enumerating a directory of many files with long names.
// Directory: a directory to work in.
//

static
VOID
TestEnumerations(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    RTL Mock;
    TEST_PATH Many;
    TEST_PATH Path;
    TEST_ENUMERATION Enumeration;
    HANDLE File;
    WCHAR Name[200];
    ULONG Index;
    ULONG Length;
    ULONG NumberSeenOnce = 0;

    TestMakePathIn(&Many, Directory, L"many");
    TEST_STATUS(RtlCreateDirectory(Rtl, &Many.Nt), STATUS_SUCCESS);

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Many.Nt, TestEntry, &Enumeration),
                STATUS_SUCCESS);
    TEST_EQUAL(Enumeration.NumberOfFiles, 0);
    TEST_EQUAL(Enumeration.NumberOfDirectories, 0);
    TEST_EQUAL(Enumeration.NumberOfOthers, 0);

    for (Index = 0; Index < TEST_MANY_FILES; Index++) {

        Name[0] = (WCHAR)(L'0' + Index / 100);
        Name[1] = (WCHAR)(L'0' + Index / 10 % 10);
        Name[2] = (WCHAR)(L'0' + Index % 10);
        for (Length = 3; Length < 3 + Index % 100; Length++) {
            Name[Length] = 0x00E4;
        }
        Name[Length] = L'\0';

        TestMakePathIn(&Path, &Many, Name);
        if (!NT_SUCCESS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File))) {
            TEST_EQUAL(Index, TEST_MANY_FILES);
            break;
        }
        if (!NT_SUCCESS(RtlSetFileSize(Rtl, File, Index))) {
            TEST_EQUAL(Index, TEST_MANY_FILES);
        }
        RtlClose(Rtl, File);
    }

    TestMakePathIn(&Path, &Many, L"inner");
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Many.Nt, TestEntry, &Enumeration),
                STATUS_SUCCESS);
    TEST_EQUAL(Enumeration.NumberOfFiles, TEST_MANY_FILES);
    TEST_EQUAL(Enumeration.NumberOfDirectories, 1);
    TEST_EQUAL(Enumeration.NumberOfOthers, 0);
    TEST_EQUAL(Enumeration.TotalSize, 299 * 300 / 2);
    for (Index = 0; Index < TEST_MANY_FILES; Index++) {
        if (Enumeration.Seen[Index] == 1) {
            NumberSeenOnce++;
        }
    }
    TEST_EQUAL(NumberSeenOnce, TEST_MANY_FILES);

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    Enumeration.StopAfter = 3;
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Many.Nt, TestEntry, &Enumeration),
                STATUS_CANCELLED);
    TEST_EQUAL(Enumeration.NumberOfFiles + Enumeration.NumberOfDirectories, 3);

    TestMakePathIn(&Path, &Many, L"000");
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Path.Nt, TestEntry, &Enumeration),
                STATUS_NOT_A_DIRECTORY);
    TestMakePathIn(&Path, &Many, L"none");
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Path.Nt, TestEntry, &Enumeration),
                STATUS_OBJECT_NAME_NOT_FOUND);

    Mock = *Rtl;
    Mock.NtQueryDirectoryFile = TestOverflowDirectory;
    TEST_STATUS(RtlEnumerateDirectory(&Mock,
                                      &Many.Nt,
                                      TestEntry,
                                      &Enumeration),
                STATUS_BUFFER_OVERFLOW);
}

//
// Tests creating directories: missing parents, long and foreign names, and
// what stands in the way.
// Directory: a directory to work in.
//

static
VOID
TestDirectories(
    _In_ PCRTL Rtl,
    _In_ const TEST_PATH *Directory
    )
{
    TEST_PATH Path;
    TEST_PATH Deep;
    TEST_ENUMERATION Enumeration;
    HANDLE File;
    CHAR Buffer[8];
    ULONG Read;
    ULONG Index;
    NTSTATUS Status;

    //
    // Ten levels of 48 units each, none of which is there.  The volume in the
    // middle of the tests is the one of temporary files.
    //

    TestMakePathIn(&Deep, Directory, L"deep");
    for (Index = 0; Index < 10; Index++) {
        TestMakePathIn(&Deep,
                       &Deep,
                       L"\x00E4\x4E8C\xD83D\xDE00-a-name-of-fortyeight-units-"
                       L"which-is-long-on-its");
    }
    TEST(Deep.Nt.Length > 2 * MAX_PATH);

    TEST_STATUS(RtlCreateDirectory(Rtl, &Deep.Nt), STATUS_SUCCESS);
    TEST_STATUS(RtlCreateDirectory(Rtl, &Deep.Nt), STATUS_SUCCESS);

    TestMakePathIn(&Path, &Deep, L"\x0444.trace");
    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                    STATUS_SUCCESS)) {
        TEST_STATUS(RtlWriteFile(Rtl, File, 0, "deep", 4), STATUS_SUCCESS);
        RtlClose(Rtl, File);
    }

    //
    // The same file by its DOS path, which is longer than MAX_PATH.
    //

    RtlCopyBytes(Deep.Buffer,
                 TestDosPath(&Path),
                 Path.Nt.Length + sizeof(WCHAR) - 4 * sizeof(WCHAR));
    RtlZeroBytes(Path.Buffer, 64);
    TestMakePath(&Path, Deep.Buffer);
    if (TEST_STATUS(RtlOpenFileForReading(Rtl, &Path.Nt, &File),
                    STATUS_SUCCESS)) {
        TEST_STATUS(RtlReadFile(Rtl, File, 0, Buffer, 8, &Read),
                    STATUS_SUCCESS);
        TEST_EQUAL_TEXT(Buffer, Read, "deep");
        RtlClose(Rtl, File);
    }

    RtlZeroBytes(&Enumeration, sizeof(Enumeration));
    TestMakePathIn(&Path, Directory, L"deep");
    TEST_STATUS(RtlEnumerateDirectory(Rtl, &Path.Nt, TestEntry, &Enumeration),
                STATUS_SUCCESS);
    TEST_EQUAL(Enumeration.NumberOfDirectories, 1);
    TEST_EQUAL(Enumeration.NumberOfFiles + Enumeration.NumberOfOthers, 0);

    //
    // Backslashes at the end; one level; a volume's root.
    //

    TestMakePathIn(&Path, Directory, L"ends\\with\\");
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);

    Path = *Directory;
    Path.Nt.Buffer = Path.Buffer;
    Path.Nt.Length = 7 * sizeof(WCHAR);
    TEST_STATUS(RtlCreateDirectory(Rtl, &Path.Nt), STATUS_SUCCESS);

    //
    // A file where a directory should be, at the end and in the middle.
    //

    TestMakePathIn(&Path, Directory, L"file");
    if (TEST_STATUS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File),
                    STATUS_SUCCESS)) {
        RtlClose(Rtl, File);
    }
    Status = RtlCreateDirectory(Rtl, &Path.Nt);
    TEST(Status == STATUS_NOT_A_DIRECTORY ||
         Status == STATUS_OBJECT_NAME_COLLISION);
    TestMakePathIn(&Path, Directory, L"file\\below\\it");
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));

    //
    // A volume that is not there.
    //

    TestMakePath(&Path, L"Q:\\a\\b\\c");
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));
    RtlPointUnicodeString(&Path.Nt, L"not a path", 10);
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));
    RtlPointUnicodeString(&Path.Nt, L"", 0);
    TEST(!NT_SUCCESS(RtlCreateDirectory(Rtl, &Path.Nt)));
}

//
// What RtlCreateDirectory asks NtCreateFile for, in order, where nothing but
// the first TestRootLength units of a path is there.
//

static WCHAR TestAsked[2048];
static ULONG TestAskedLength;
static ULONG TestThereLength;

//
// Acts as NtCreateFile on a volume of its own: a directory can be created
// below one that is there.
// As of NtCreateFile.
// Returns STATUS_SUCCESS or STATUS_OBJECT_PATH_NOT_FOUND.
//

static
NTSTATUS
NTAPI
TestCreateFileThere(
    PHANDLE FileHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PIO_STATUS_BLOCK IoStatus,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    PUNICODE_STRING Name = ObjectAttributes->ObjectName;
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Index;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(CreateDisposition);
    UNREFERENCED_PARAMETER(CreateOptions);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    RtlCopyBytes(TestAsked + TestAskedLength, Name->Buffer, Name->Length);
    TestAskedLength += Length;
    TestAsked[TestAskedLength] = L'|';
    TestAskedLength++;

    for (Index = TestThereLength + 1; Index < Length; Index++) {
        if (Name->Buffer[Index] == L'\\') {
            return STATUS_OBJECT_PATH_NOT_FOUND;
        }
    }

    if (TestThereLength == 0) {
        return STATUS_OBJECT_PATH_NOT_FOUND;
    }

    if (Length > TestThereLength) {
        TestThereLength = Length;
    }

    *FileHandle = NULL;
    return STATUS_SUCCESS;
}

//
// Creates a directory on the volume of TestCreateFileThere.
// ThereLength: how many units of it are there.
// ExpectedCalls: the expected names, each with | behind it.
//

static
VOID
TestDirectoryWalk(
    _In_ PCRTL Rtl,
    _In_z_ PCWSTR NtPath,
    _In_ ULONG ThereLength,
    _In_ NTSTATUS ExpectedStatus,
    _In_z_ PCWSTR ExpectedCalls
    )
{
    RTL Mock;
    UNICODE_STRING Path;

    Mock = *Rtl;
    Mock.NtCreateFile = TestCreateFileThere;
    TestAskedLength = 0;
    TestThereLength = ThereLength;

    RtlPointUnicodeString(&Path, NtPath, RtlLengthOfWideString(NtPath));
    TEST_STATUS(RtlCreateDirectory(&Mock, &Path), ExpectedStatus);
    TEST_EQUAL_WIDE(TestAsked, TestAskedLength, ExpectedCalls);
}

//
// Tests which directories are tried, and that no root of a volume is.
//

static
VOID
TestDirectoryWalks(
    _In_ PCRTL Rtl
    )
{
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b\\c",
                      8,
                      STATUS_SUCCESS,
                      L"\\??\\C:\\a\\b\\c|\\??\\C:\\a\\b|\\??\\C:\\a\\b\\c|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b\\c",
                      10,
                      STATUS_SUCCESS,
                      L"\\??\\C:\\a\\b\\c|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b\\c\\\\",
                      6,
                      STATUS_SUCCESS,
                      L"\\??\\C:\\a\\b\\c|\\??\\C:\\a\\b|\\??\\C:\\a|"
                      L"\\??\\C:\\a\\b|\\??\\C:\\a\\b\\c|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\a\\b",
                      0,
                      STATUS_OBJECT_PATH_NOT_FOUND,
                      L"\\??\\C:\\a\\b|\\??\\C:\\a|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\C:\\",
                      0,
                      STATUS_OBJECT_PATH_NOT_FOUND,
                      L"\\??\\C:\\|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\UNC\\s\\t\\a\\b",
                      0,
                      STATUS_OBJECT_PATH_NOT_FOUND,
                      L"\\??\\UNC\\s\\t\\a\\b|\\??\\UNC\\s\\t\\a|");
    TestDirectoryWalk(Rtl,
                      L"\\??\\unc\\s\\t\\a\\b",
                      11,
                      STATUS_SUCCESS,
                      L"\\??\\unc\\s\\t\\a\\b|\\??\\unc\\s\\t\\a|"
                      L"\\??\\unc\\s\\t\\a\\b|");
}

//
// Tests files, sections and directories.
//

static
VOID
TestFiles(
    _In_ PCRTL Rtl
    )
{
    static TEST_PATH Directory;

    HANDLE File;

    TestDirectoryWalks(Rtl);

    if (!TEST(TestCreateDirectory(&Directory))) {
        return;
    }

    TestFileContents(Rtl, &Directory);
    TestFileNames(Rtl, &Directory);
    TestSections(Rtl, &Directory);
    TestEnumerations(Rtl, &Directory);
    TestDirectories(Rtl, &Directory);

    TEST_STATUS(TestDeleteTree(&Directory), STATUS_SUCCESS);
    TEST_STATUS(RtlOpenFileForReading(Rtl, &Directory.Nt, &File),
                STATUS_OBJECT_NAME_NOT_FOUND);
}

//
// RtlClock.c
//

//
// Clocks of which the system time keeps its reader waiting in all tries but
// one, as it does where the thread gets no processor; the performance counter
// takes longer in that one.
//

static PCRTL TestClockReal;
static LONG TestClockGood;              // the try without a wait
static LONG TestClockTry;
static ULONGLONG TestClockTime;         // the time in that try

static
NTSTATUS
NTAPI
TestClockCounter(
    PLARGE_INTEGER Counter,
    PLARGE_INTEGER Frequency
    )
{
    ULONGLONG Start;
    NTSTATUS Status;

    Status = TestClockReal->NtQueryPerformanceCounter(Counter, Frequency);
    Start = __rdtsc();
    while (TestClockTry == TestClockGood && __rdtsc() - Start < 1000000) {
        YieldProcessor();
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestClockSystemTime(
    PLARGE_INTEGER Time
    )
{
    NTSTATUS Status;
    LONG Try;

    Try = TestClockTry++;
    if (Try != TestClockGood) {
        Sleep(100);
    }
    Status = TestClockReal->NtQuerySystemTime(Time);
    if (Try == TestClockGood) {
        TestClockTime = (ULONGLONG)Time->QuadPart;
    }
    return Status;
}

static
VOID
TestClockWaits(
    _In_ PCRTL Rtl
    )
{
    static RTL Slow;
    RTL_CLOCK_READING Reading;
    ULONG Attempt;

    TestClockReal = Rtl;
    RtlCopyBytes(&Slow, Rtl, sizeof(Slow));
    Slow.NtQueryPerformanceCounter = TestClockCounter;
    Slow.NtQuerySystemTime = TestClockSystemTime;
    for (TestClockGood = 0; TestClockGood < 3; TestClockGood++) {

        //
        // The good try may have to wait, too, but not each time.
        //

        for (Attempt = 0; Attempt < 20; Attempt++) {
            TestClockTry = 0;
            TestClockTime = 0;
            RtlReadClocks(&Slow, &Reading);
            if (Reading.SystemTime == TestClockTime) {
                break;
            }
        }
        TEST(Attempt < 20);
        TEST(TestClockTry > TestClockGood);
        TEST(TestClockTime != 0);
    }
}

//
// Tests that the clocks agree with each other and run forwards.
//

static
VOID
TestClocks(
    _In_ PCRTL Rtl
    )
{
    RTL_CLOCK_READING First;
    RTL_CLOCK_READING Reading;
    RTL_CLOCK_READING Last;
    LARGE_INTEGER Frequency;
    FILETIME Before;
    FILETIME After;
    ULONGLONG TscBefore;
    ULONGLONG TscAfter;
    ULONGLONG QpcNanoseconds;
    ULONGLONG SystemNanoseconds;
    ULONG Index;
    BOOLEAN Forwards = TRUE;

    GetSystemTimeAsFileTime(&Before);
    TscBefore = __rdtsc();
    RtlReadClocks(Rtl, &First);
    TscAfter = __rdtsc();
    GetSystemTimeAsFileTime(&After);

    TEST(First.Tsc > TscBefore);
    TEST(First.Tsc < TscAfter);
    TEST(First.SystemTime >= (((ULONGLONG)Before.dwHighDateTime << 32) |
                              Before.dwLowDateTime));
    TEST(First.SystemTime <= (((ULONGLONG)After.dwHighDateTime << 32) |
                              After.dwLowDateTime));
    QueryPerformanceFrequency(&Frequency);
    TEST_EQUAL(First.QpcFrequency, Frequency.QuadPart);

    Last = First;
    for (Index = 0; Index < 1000; Index++) {
        RtlReadClocks(Rtl, &Reading);
        if (Reading.Tsc <= Last.Tsc || Reading.Qpc < Last.Qpc) {
            Forwards = FALSE;
        }
        Last = Reading;
    }
    TEST(Forwards);

    Sleep(100);
    RtlReadClocks(Rtl, &Last);

    //
    // 100 ms and what else has passed, by two clocks; the system's tick is at
    // most 16 ms.
    //

    QpcNanoseconds = (Last.Qpc - First.Qpc) * 1000 / First.QpcFrequency *
                     1000000;
    SystemNanoseconds = (Last.SystemTime - First.SystemTime) * 100;
    TEST(QpcNanoseconds >= 90000000);
    TEST(QpcNanoseconds + 40000000 > SystemNanoseconds);
    TEST(SystemNanoseconds + 40000000 > QpcNanoseconds);
}

//
// Splits a time and compares its text.
//

static
VOID
TestCalendarTime(
    _In_ ULONGLONG SystemTime,
    _In_z_ PCSZ Expected
    )
{
    RTL_CALENDAR_TIME Calendar;
    RTL_WRITER Writer;
    CHAR Text[64];

    RtlSystemTimeToCalendar(SystemTime, &Calendar);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "%u-%02u-%02u %02u:%02u:%02u.%03u",
                 Calendar.Year,
                 Calendar.Month,
                 Calendar.Day,
                 Calendar.Hour,
                 Calendar.Minute,
                 Calendar.Second,
                 Calendar.Milliseconds);
    TEST_EQUAL_TEXT(Text, Writer.LengthInBytes, Expected);
}

//
// Tests the calendar: known dates, and every day of 1,200 years against
// kernel32.
//

static
VOID
TestCalendar(
    VOID
    )
{
    RTL_CALENDAR_TIME Calendar;
    SYSTEMTIME Reference;
    FILETIME FileTime;
    ULONGLONG Time;
    ULONG Day;
    ULONG NumberWrong = 0;

    //
    // 116444736000000000 is 1970-01-01; seconds since then are well known.
    //

    TestCalendarTime(0, "1601-01-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL, "1970-01-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL + 2147483647ULL * 10000000,
                     "2038-01-19 03:14:07.000");
    TestCalendarTime(116444736000000000ULL + 951782400ULL * 10000000,
                     "2000-02-29 00:00:00.000");
    TestCalendarTime(116444736000000000ULL + 951868799ULL * 10000000 + 9999999,
                     "2000-02-29 23:59:59.999");
    TestCalendarTime(116444736000000000ULL + 951868800ULL * 10000000,
                     "2000-03-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL + 978307199ULL * 10000000,
                     "2000-12-31 23:59:59.000");
    TestCalendarTime(116444736000000000ULL + 1234567890ULL * 10000000 + 1230000,
                     "2009-02-13 23:31:30.123");
    TestCalendarTime(116444736000000000ULL - 2203891200ULL * 10000000,
                     "1900-03-01 00:00:00.000");
    TestCalendarTime(116444736000000000ULL - 2203891201ULL * 10000000,
                     "1900-02-28 23:59:59.000");

    //
    // The largest FILETIME that is positive, and the largest of all.
    //

    TestCalendarTime(INT64_MAX, "30828-09-14 02:48:05.477");
    TestCalendarTime(UINT64_MAX, "60056-05-28 05:36:10.955");

    for (Day = 0; Day < 3 * 146097; Day++) {

        Time = Day * 864000000000ULL + (Day % 86400) * 10000000ULL;
        FileTime.dwLowDateTime = (DWORD)Time;
        FileTime.dwHighDateTime = (DWORD)(Time >> 32);
        RtlSystemTimeToCalendar(Time, &Calendar);

        if (!FileTimeToSystemTime(&FileTime, &Reference) ||
            Calendar.Year != Reference.wYear ||
            Calendar.Month != Reference.wMonth ||
            Calendar.Day != Reference.wDay ||
            Calendar.Hour != Reference.wHour ||
            Calendar.Minute != Reference.wMinute ||
            Calendar.Second != Reference.wSecond) {
            NumberWrong++;
        }
    }

    TEST_EQUAL(NumberWrong, 0);
}

//
// RtlCpu.c
//

//
// Looks for a word between spaces.
// Length: its length in bytes.
// Returns TRUE if it is there.
//

static
BOOLEAN
TestHasWord(
    _In_reads_bytes_(Length) const CHAR *Line,
    _In_ ULONG Length,
    _In_z_ PCSZ Word
    )
{
    ULONG WordLength = RtlLengthOfString(Word);
    ULONG Index;

    for (Index = 1; Index + WordLength < Length; Index++) {
        if (Line[Index - 1] == ' ' &&
            (Line[Index + WordLength] == ' ' ||
             Line[Index + WordLength] == '\n') &&
            RtlAreBytesEqual(Line + Index, Word, WordLength)) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Compares the processor's features with what Linux says of it under Wine,
// else with kernel32.
//

static
VOID
TestCpu(
    _In_ PCRTL Rtl
    )
{
    static CHAR Text[8192];

    RTL_CPU_FEATURES Features = RtlQueryCpuFeatures();
    TEST_PATH Path;
    HANDLE File;
    ULONG Read;
    ULONG Start;
    ULONG End;

    TEST_EQUAL(Features.AsULong, Rtl->CpuFeatures.AsULong);
    TEST_EQUAL(Features.Unused, 0);

    TestMakePath(&Path, L"\\\\?\\unix\\proc\\cpuinfo");

    if (!NT_SUCCESS(RtlOpenFileForReading(Rtl, &Path.Nt, &File))) {

        TEST_EQUAL(Features.Xsave,
                   IsProcessorFeaturePresent(PF_XSAVE_ENABLED) != 0);
        TEST_SKIP("no /proc/cpuinfo to compare all features with");
        return;
    }

    if (!TEST_SUCCESS(RtlReadFile(Rtl, File, 0, Text, sizeof(Text), &Read))) {
        Read = 0;
    }
    RtlClose(Rtl, File);

    //
    // The line of the first processor's flags.
    //

    for (Start = 0; Start + 6 < Read; Start++) {
        if (RtlAreBytesEqual(Text + Start, "\nflags", 6)) {
            break;
        }
    }
    for (End = Start + 1; End < Read && Text[End] != '\n'; End++) {
        continue;
    }

    if (!TEST(End < Read)) {
        return;
    }

    End++;
    Start++;

    TEST_EQUAL(Features.Sse42,
               TestHasWord(Text + Start, End - Start, "sse4_2"));
    TEST_EQUAL(Features.Avx2, TestHasWord(Text + Start, End - Start, "avx2"));
    TEST_EQUAL(Features.Bmi2, TestHasWord(Text + Start, End - Start, "bmi2"));
    TEST_EQUAL(Features.Xsave, TestHasWord(Text + Start, End - Start, "xsave"));
    TEST_EQUAL(Features.InvariantTsc,
               TestHasWord(Text + Start, End - Start, "constant_tsc") &&
               TestHasWord(Text + Start, End - Start, "nonstop_tsc"));
    TEST_EQUAL(Features.Avx512,
               TestHasWord(Text + Start, End - Start, "avx512f") &&
               TestHasWord(Text + Start, End - Start, "avx512bw") &&
               TestHasWord(Text + Start, End - Start, "avx512dq") &&
               TestHasWord(Text + Start, End - Start, "avx512vl"));
}

//
// ChkStk.asm
//

#define TEST_BIG_FRAME (512 * 1024)

#define TEST_TEB_STACK_LIMIT 0x10

//
// Has a large frame and writes to its lowest bytes first: without a probe,
// that is far below the guard page.
// Returns 5.
//

static
__declspec(noinline)
ULONG
TestBigFrame(
    VOID
    )
{
    volatile BYTE Frame[TEST_BIG_FRAME];

    Frame[0] = 2;
    Frame[TEST_BIG_FRAME - 1] = 3;

    return (ULONG)Frame[0] + Frame[TEST_BIG_FRAME - 1];
}

typedef struct _TEST_STACK {
    ULONG_PTR LimitBefore;
    ULONG_PTR LimitAfter;
    ULONG_PTR Here;
    ULONG Result;
} TEST_STACK;
typedef TEST_STACK *PTEST_STACK;

//
// Calls a routine with a large frame on a fresh stack.
// Parameter: the TEST_STACK that receives what was seen.
// Returns 0.
//

static
DWORD
WINAPI
TestStackThread(
    LPVOID Parameter
    )
{
    PTEST_STACK Stack = (PTEST_STACK)Parameter;

    Stack->Here = (ULONG_PTR)&Stack;
    Stack->LimitBefore = (ULONG_PTR)__readgsqword(TEST_TEB_STACK_LIMIT);
    Stack->Result = TestBigFrame();
    Stack->LimitAfter = (ULONG_PTR)__readgsqword(TEST_TEB_STACK_LIMIT);

    return 0;
}

#if defined(__clang__)

#define TEST_PROBE_PAGES 64

typedef struct _TEST_WORKING_SET_ENTRY {
    PVOID Address;
    ULONG_PTR Attributes;           // bit 0: the page is there
} TEST_WORKING_SET_ENTRY;

typedef BOOL (WINAPI TEST_QUERY_WORKING_SET_EX)(
    HANDLE Process,
    PVOID Information,
    DWORD Length
    );
typedef TEST_QUERY_WORKING_SET_EX *PTEST_QUERY_WORKING_SET_EX;

//
// Calls the stack probe with RSP at the top of fresh memory and looks which
// pages of it have been touched: all from the top to RSP - RAX, none below.
//

static
VOID
TestProbedPages(
    VOID
    )
{
    //
    // Sizes, from 2,048 bytes below the top of a page, and the pages that they
    // reach besides that one.
    //

    static const ULONG Sizes[] = {
        0, 2048, 2049, 4096, 6144, 6145, 8192, 10240, 10241, 40960, 200000
    };
    static const ULONG Pages[] = {
        0, 0, 1, 1, 1, 2, 2, 2, 3, 10, 49
    };

    TEST_WORKING_SET_ENTRY Entries[TEST_PROBE_PAGES];
    PTEST_QUERY_WORKING_SET_EX Query;
    PBYTE Memory;
    PBYTE Top;
    ULONGLONG Rax;
    ULONG Index;
    ULONG Page;
    ULONG NumberBefore;
    ULONG NumberProbed;
    ULONG NumberBelow;

    Query = (PTEST_QUERY_WORKING_SET_EX)(ULONG_PTR)TestExport(
        L"kernel32.dll",
        "K32QueryWorkingSetEx");
    if (Query == NULL) {
        TEST_SKIP("kernel32.dll has no K32QueryWorkingSetEx");
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Sizes); Index++) {

        Memory = VirtualAlloc(NULL,
                              TEST_PROBE_PAGES * TEST_PAGE_SIZE,
                              MEM_RESERVE | MEM_COMMIT,
                              PAGE_READWRITE);
        if (!TEST(Memory != NULL)) {
            return;
        }

        for (Page = 0; Page < TEST_PROBE_PAGES; Page++) {
            Entries[Page].Address = Memory + Page * TEST_PAGE_SIZE;
            Entries[Page].Attributes = 0;
        }

        //
        // The control: no page is there before.
        //

        NumberBefore = 0;
        TEST(Query(GetCurrentProcess(), Entries, sizeof(Entries)));
        for (Page = 0; Page < TEST_PROBE_PAGES; Page++) {
            NumberBefore += (ULONG)(Entries[Page].Attributes & 1);
        }
        TEST_EQUAL(NumberBefore, 0);

        //
        // The return address is pushed below the new RSP, on the same page.
        //

        Top = Memory + TEST_PROBE_PAGES * TEST_PAGE_SIZE - 2048;
        Rax = Sizes[Index];

        __asm__ __volatile__(
            "movq   %%rsp, %%rbx\n\t"
            "movq   %1, %%rsp\n\t"
            "callq  __chkstk\n\t"
            "movq   %%rbx, %%rsp\n\t"
            : "+a"(Rax)
            : "r"(Top)
            : "rbx", "r10", "r11", "cc", "memory");

        NumberProbed = 0;
        NumberBelow = 0;
        TEST(Query(GetCurrentProcess(), Entries, sizeof(Entries)));
        for (Page = 0; Page < TEST_PROBE_PAGES; Page++) {
            if (Page < TEST_PROBE_PAGES - 1 - Pages[Index]) {
                NumberBelow += (ULONG)(Entries[Page].Attributes & 1);
            } else {
                NumberProbed += (ULONG)(Entries[Page].Attributes & 1);
            }
        }

        TEST_EQUAL(NumberProbed, Pages[Index] + 1);
        TEST_EQUAL(NumberBelow, 0);

        VirtualFree(Memory, 0, MEM_RELEASE);
    }
}

//
// Calls the stack probe and looks at every general register but r10 and r11.
//

static
VOID
TestProbedRegisters(
    VOID
    )
{
    static const ULONG Sizes[] = {
        0, 1, 8, 4095, 4096, 4097, 8192, 12289, 65536
    };

    ULONGLONG Rax;
    ULONGLONG Others;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Sizes); Index++) {

        Rax = Sizes[Index];

        //
        // rcx ends as the or of all differences, rsp's among them.
        //

        __asm__ __volatile__(
            "movq   $0x1111, %%rbx\n\t"
            "movq   $0x2222, %%rcx\n\t"
            "movq   $0x3333, %%rdx\n\t"
            "movq   $0x4444, %%rsi\n\t"
            "movq   $0x5555, %%rdi\n\t"
            "movq   $0x6666, %%r8\n\t"
            "movq   $0x7777, %%r9\n\t"
            "movq   $0x8888, %%r12\n\t"
            "movq   $0x9999, %%r13\n\t"
            "movq   $0xaaaa, %%r14\n\t"
            "movq   %%rsp, %%r15\n\t"
            "callq  __chkstk\n\t"
            "subq   %%rsp, %%r15\n\t"
            "xorq   $0x1111, %%rbx\n\t"
            "xorq   $0x2222, %%rcx\n\t"
            "xorq   $0x3333, %%rdx\n\t"
            "xorq   $0x4444, %%rsi\n\t"
            "xorq   $0x5555, %%rdi\n\t"
            "xorq   $0x6666, %%r8\n\t"
            "xorq   $0x7777, %%r9\n\t"
            "xorq   $0x8888, %%r12\n\t"
            "xorq   $0x9999, %%r13\n\t"
            "xorq   $0xaaaa, %%r14\n\t"
            "orq    %%rbx, %%rcx\n\t"
            "orq    %%rdx, %%rcx\n\t"
            "orq    %%rsi, %%rcx\n\t"
            "orq    %%rdi, %%rcx\n\t"
            "orq    %%r8, %%rcx\n\t"
            "orq    %%r9, %%rcx\n\t"
            "orq    %%r12, %%rcx\n\t"
            "orq    %%r13, %%rcx\n\t"
            "orq    %%r14, %%rcx\n\t"
            "orq    %%r15, %%rcx\n\t"
            : "+a"(Rax), "=&c"(Others)
            :
            : "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
              "r12", "r13", "r14", "r15", "cc", "memory");

        TEST_EQUAL(Rax, Sizes[Index]);
        TEST_EQUAL(Others, 0);
    }
}

#endif

static
VOID
TestStackProbe(
    VOID
    )
{
    TEST_STACK Stack;
    HANDLE Thread;

    RtlZeroBytes(&Stack, sizeof(Stack));

    Thread = CreateThread(NULL,
                          2 * 1024 * 1024,
                          TestStackThread,
                          &Stack,
                          STACK_SIZE_PARAM_IS_A_RESERVATION,
                          NULL);
    if (!TEST(Thread != NULL)) {
        return;
    }

    TEST_EQUAL(WaitForSingleObject(Thread, 600000), WAIT_OBJECT_0);
    CloseHandle(Thread);

    TEST_EQUAL(Stack.Result, 5);
    TEST(Stack.LimitAfter <= Stack.Here - TEST_BIG_FRAME);

    if (Stack.LimitBefore <= Stack.Here - TEST_BIG_FRAME) {
        TEST_SKIP("this system commits all of a stack at once");
    }

#if defined(__clang__)

    TestProbedPages();
    TestProbedRegisters();

#else

    TEST_SKIP("pages and registers of the stack probe: needs inline assembly");

#endif
}

//
// RtlStart.c
//

//
// Expected: the expected arguments, each with | behind it.
//

static
VOID
TestSplit(
    _In_ PCALLOCATOR Allocator,
    _In_z_ PCWSTR CommandLine,
    _In_z_ PCWSTR Expected
    )
{
    PRTL_ARGUMENT Arguments;
    WCHAR Joined[512];
    WCHAR Again[512];
    UNICODE_STRING Wide;
    UNICODE_STRING FromUtf8;
    ULONG NumberOfArguments;
    ULONG Length;
    ULONG Index;

    if (!TEST_STATUS(RtlSplitCommandLine(CommandLine,
                                         Allocator,
                                         &Arguments,
                                         &NumberOfArguments),
                     STATUS_SUCCESS)) {
        return;
    }

    Wide.Buffer = Joined;
    Wide.Length = 0;
    Wide.MaximumLength = sizeof(Joined);
    FromUtf8.Buffer = Again;
    FromUtf8.Length = 0;
    FromUtf8.MaximumLength = sizeof(Again);

    for (Index = 0; Index < NumberOfArguments; Index++) {

        TEST_SUCCESS(RtlAppendPath(&Wide,
                                   Arguments[Index].Wide,
                                   RtlLengthOfWideString(
                                       Arguments[Index].Wide),
                                   FALSE));
        TEST_SUCCESS(RtlAppendPath(&Wide, L"|", 1, FALSE));

        RtlUtf8ToWide(Arguments[Index].Utf8,
                      RtlLengthOfString(Arguments[Index].Utf8),
                      Again + FromUtf8.Length / sizeof(WCHAR),
                      RTL_NUMBER_OF(Again) -
                      FromUtf8.Length / sizeof(WCHAR),
                      &Length);
        FromUtf8.Length = (USHORT)(FromUtf8.Length + Length * sizeof(WCHAR));
        TEST_SUCCESS(RtlAppendPath(&FromUtf8, L"|", 1, FALSE));
    }

    TEST(Arguments[NumberOfArguments].Wide == NULL);
    TEST(Arguments[NumberOfArguments].Utf8 == NULL);
    TEST_EQUAL_WIDE(Joined, Wide.Length / sizeof(WCHAR), Expected);
    TEST_EQUAL_WIDE(Again, FromUtf8.Length / sizeof(WCHAR), Expected);

    Allocator->Free(Allocator->Context, Arguments);
}

//
// Acts as an allocator without memory.
// Returns NULL.
//

static
PVOID
TestAllocateNothing(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(SizeInBytes);

    return NULL;
}

//
// Tests splitting command lines: the examples of Microsoft's documentation
// ("Parsing C command-line arguments") and the corners.
//

static
VOID
TestCommandLines(
    _In_ PCALLOCATOR Allocator
    )
{
    static WCHAR Long[30001];

    ALLOCATOR Empty;
    PRTL_ARGUMENT Arguments;
    ULONG NumberOfArguments;
    ULONG Index;

    //
    // The documented table.
    //

    TestSplit(Allocator, L"p \"abc\" d e", L"p|abc|d|e|");
    TestSplit(Allocator, L"p a\\\\b d\"e f\"g h", L"p|a\\\\b|de fg|h|");
    TestSplit(Allocator, L"p a\\\\\\\"b c d", L"p|a\\\"b|c|d|");
    TestSplit(Allocator, L"p a\\\\\\\\\"b c\" d e", L"p|a\\\\b c|d|e|");
    TestSplit(Allocator, L"p a\"b\"\" c d", L"p|ab\" c d|");

    //
    // Its rules, one by one: white space, empty arguments, quotes.
    //

    TestSplit(Allocator, L"p", L"p|");
    TestSplit(Allocator, L"p ", L"p|");
    TestSplit(Allocator, L"p \t a\tb  c\t", L"p|a|b|c|");
    TestSplit(Allocator, L"p \"\"", L"p||");
    TestSplit(Allocator, L"p \"\" \"\" x", L"p|||x|");
    TestSplit(Allocator, L"p \" \"", L"p| |");
    TestSplit(Allocator, L"p a\"\"b", L"p|ab|");
    TestSplit(Allocator, L"p \"a\"\"b\"", L"p|a\"b|");
    TestSplit(Allocator, L"p \"a\"\"\"", L"p|a\"|");
    TestSplit(Allocator, L"p \"\"\"a b\"\"\" c", L"p|\"a b\"|c|");
    TestSplit(Allocator, L"p \"a b", L"p|a b|");
    TestSplit(Allocator, L"p \"", L"p||");
    TestSplit(Allocator, L"p \\", L"p|\\|");
    TestSplit(Allocator, L"p a\\", L"p|a\\|");
    TestSplit(Allocator, L"p \"a\\\\\"", L"p|a\\|");
    TestSplit(Allocator, L"p \"a\\\" b\"", L"p|a\" b|");
    TestSplit(Allocator, L"p \\\"a", L"p|\"a|");
    TestSplit(Allocator, L"p \"C:\\a b\\\\\" d", L"p|C:\\a b\\|d|");
    TestSplit(Allocator, L"p a\nb", L"p|a\nb|");

    //
    // In the program's own path a backslash is a backslash.
    //

    TestSplit(Allocator, L"\"C:\\a b\\\" c", L"C:\\a b\\|c|");
    TestSplit(Allocator, L"C:\\\"a b\"\\p.exe c", L"C:\\a b\\p.exe|c|");
    TestSplit(Allocator, L"\"C:\\a b", L"C:\\a b|");
    TestSplit(Allocator, L"", L"|");
    TestSplit(Allocator, L" a", L"|a|");

    TestSplit(Allocator,
              L"p \x00E4\x4E8C \xD83D\xDE00",
              L"p|\x00E4\x4E8C|\xD83D\xDE00|");

    //
    // Many arguments, and no memory.
    //

    for (Index = 0; Index < 30000; Index++) {
        Long[Index] = (WCHAR)((Index % 2 != 0) ? L' ' : 0x4E8C);
    }

    if (TEST_STATUS(RtlSplitCommandLine(Long,
                                        Allocator,
                                        &Arguments,
                                        &NumberOfArguments),
                    STATUS_SUCCESS)) {
        TEST_EQUAL(NumberOfArguments, 15000);
        TEST_EQUAL_STRING(Arguments[14999].Utf8, "\xE4\xBA\x8C");
        Allocator->Free(Allocator->Context, Arguments);
    }

    Empty = *Allocator;
    Empty.Allocate = TestAllocateNothing;
    TEST_STATUS(RtlSplitCommandLine(L"p a",
                                    &Empty,
                                    &Arguments,
                                    &NumberOfArguments),
                STATUS_NO_MEMORY);
}

#define TEST_CHILD_EXIT_CODE 77

//
// Starts this program with arguments: once with its output to a file, once
// with arguments that the child finds wrong.
//

static
VOID
TestChild(
    _In_ PCRTL Rtl
    )
{
    TEST_PATH Directory;
    TEST_PATH Path;
    HANDLE File;
    HANDLE Process;
    CHAR Text[256];
    ULONG Read = 0;
    ULONG ExitCode = 0;

    if (!TEST(TestCreateDirectory(&Directory)) ||
        !TEST(TestMakePathIn(&Path, &Directory, L"out.txt")) ||
        !TEST_SUCCESS(RtlCreateFile(Rtl, &Path.Nt, RTL_CREATE_NEW, &File))) {
        return;
    }

    if (TEST(TestStartChild(L"--child \"\x00E4 b\" \\\"\xD83D\xDE00\\\"",
                            File,
                            &Process))) {
        TEST(TestWaitForChild(Process, 600000, &ExitCode));
        TEST_EQUAL(ExitCode, TEST_CHILD_EXIT_CODE);
    }

    TEST_SUCCESS(RtlReadFile(Rtl, File, 0, Text, sizeof(Text), &Read));
    TEST_EQUAL_TEXT(Text,
                    Read,
                    "<\xC3\xA4 b><\"\xF0\x9F\x98\x80\">\n");
    RtlClose(Rtl, File);

    if (TEST(TestStartChild(L"--child", NULL, &Process))) {
        TEST(TestWaitForChild(Process, 600000, &ExitCode));
        TEST_EQUAL(ExitCode, 1);
    }

    TEST_STATUS(TestDeleteTree(&Directory), STATUS_SUCCESS);
}

//
// Runs the tests of the Rtl.
// Allocator: the process heap.
//

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    if (TestNumberOfArguments >= 2 &&
        RtlAreStringsEqual(TestArguments[1].Utf8, "--child")) {

        if (TestNumberOfArguments != 4) {
            TestExit(1);
        }

        RtlWriteText(TestOutput,
                     "<%s><%S>\n",
                     TestArguments[2].Utf8,
                     TestArguments[3].Wide);
        TestExit(TEST_CHILD_EXIT_CODE);
    }

    TestBootstrap(Rtl);
    TestAllocator(Allocator);
    TestMemory();
    TestCrt();
    TestConversions();
    TestAllCharacters();
    TestStrings();
    TestFormats();
    TestFormatsByReference();
    TestTruncation();
    TestFlush();
    TestStandardHandles(Rtl);
    TestErrors();
    TestPaths(Rtl);
    TestEnvironment(Rtl);
    TestFiles(Rtl);
    TestClocks(Rtl);
    TestClockWaits(Rtl);
    TestCalendar();
    TestCpu(Rtl);
    TestStackProbe();
    TestCommandLines(Allocator);
    TestChild(Rtl);
}
