/*++

Module Name:

    FuzzWork.c

Abstract:

    What an input costs, counted and bounded: the comparisons that the code
    under test makes (the sanitizer's coverage calls a routine for each, and
    no loop does without), and, in the same unit, bytes that are copied or
    zeroed.  The count is the same on every machine, busy or not, so that a
    loop without an end, or one that a number in a file makes long, is found
    without a clock.

--*/

#include "FuzzSupport.h"
#include <stdio.h>
#include <stdlib.h>


//
// Work that is left; negative: there was too much.
//

LONGLONG FuzzWorkLeft = FUZZ_NO_LIMIT;

static LONGLONG FuzzWorkLimit = FUZZ_NO_LIMIT;

//
// libFuzzer is told an input's first comparisons, and no more once less work
// than this is left: its table of those that it has seen last is small, and
// half of a long input's time went into it.
//

#define FUZZ_WORK_TOLD 50000

LONGLONG FuzzWorkUntold = 0;

VOID
FuzzBeginWork(
    ULONGLONG Limit
    )
{
    FuzzWorkLimit = (LONGLONG)Limit;
    FuzzWorkLeft = FuzzWorkLimit;
    FuzzWorkUntold = FuzzWorkLimit - FUZZ_WORK_TOLD;
}

ULONGLONG
FuzzEndWork(
    VOID
    )
{
    ULONGLONG Work = (ULONGLONG)(FuzzWorkLimit - FuzzWorkLeft);

    FuzzWorkLimit = FUZZ_NO_LIMIT;
    FuzzWorkLeft = FUZZ_NO_LIMIT;
    FuzzWorkUntold = 0;
    if (getenv("FUZZ_WORK") != NULL) {
        fprintf(stderr, "work: %llu\n", (unsigned long long)Work);
    }

    return Work;
}

__attribute__((used))
VOID
FuzzWorkIsOver(
    VOID
    )
{
    fprintf(stderr, "more work than %lld\n", (long long)FuzzWorkLimit);
    FuzzWorkLeft = FUZZ_NO_LIMIT;
    FUZZ_CHECK(!"the work is in proportion to the input");
}

VOID
FuzzSpendWork(
    ULONGLONG SizeInBytes
    )
{
    FuzzWorkLeft -= (LONGLONG)(SizeInBytes / FUZZ_BYTES_IN_WORK);
    if (FuzzWorkLeft < 0) {
        FuzzWorkIsOver();
    }
}

//
// The sanitizer's routines.  libFuzzer's own are jumped to, which see the
// caller as it is.
//

#ifdef FUZZ_HAS_LIBFUZZER
#define FUZZ_COMPARE_NAME(Name) "__wrap___sanitizer_cov_trace_" Name
#define FUZZ_COMPARE_END(Name)                                              \
    "movq FuzzWorkLeft(%rip), %rax\n"                                       \
    "cmpq FuzzWorkUntold(%rip), %rax\n"                                     \
    "jge __real___sanitizer_cov_trace_" Name "\n"                           \
    "ret\n"
#else
#define FUZZ_COMPARE_NAME(Name) "__sanitizer_cov_trace_" Name
#define FUZZ_COMPARE_END(Name) "ret\n"
#endif

#define FUZZ_COMPARE(Name)                                                  \
    __asm__(".text\n"                                                       \
            ".globl " FUZZ_COMPARE_NAME(Name) "\n"                          \
            ".type " FUZZ_COMPARE_NAME(Name) ", @function\n"                \
            FUZZ_COMPARE_NAME(Name) ":\n"                                   \
            ".cfi_startproc\n"                                              \
            "decq FuzzWorkLeft(%rip)\n"                                     \
            "js 1f\n"                                                       \
            FUZZ_COMPARE_END(Name)                                          \
            "1: push %rbp\n"                                                \
            ".cfi_def_cfa_offset 16\n"                                      \
            ".cfi_offset %rbp, -16\n"                                       \
            "call FuzzWorkIsOver\n"                                         \
            "ud2\n"                                                         \
            ".cfi_endproc\n"                                                \
            ".size " FUZZ_COMPARE_NAME(Name) ", .-" FUZZ_COMPARE_NAME(Name) \
            "\n")

FUZZ_COMPARE("cmp1");
FUZZ_COMPARE("cmp2");
FUZZ_COMPARE("cmp4");
FUZZ_COMPARE("cmp8");
FUZZ_COMPARE("const_cmp1");
FUZZ_COMPARE("const_cmp2");
FUZZ_COMPARE("const_cmp4");
FUZZ_COMPARE("const_cmp8");
FUZZ_COMPARE("switch");

#ifndef FUZZ_HAS_LIBFUZZER
FUZZ_COMPARE("cmpf");
FUZZ_COMPARE("cmpd");
#endif
