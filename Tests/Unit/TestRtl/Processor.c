/*++

Module Name:

    Processor.c

Abstract:

    What the processor can do, and the probe of large stack frames.

--*/

#include "TestRtl.h"

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

_Use_decl_annotations_
VOID
TestCpu(
    PCRTL Rtl
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
