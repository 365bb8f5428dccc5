/*++

Module Name:

    RtlStart.c

Abstract:

    Splits a command line into arguments, for programs of Tracer.

--*/

#include "Rtl.h"

//
// The UTF-8 form of one 16-bit unit takes at most this many bytes; a pair of
// surrogates takes four.
//

#define RTLP_UTF8_BYTES_PER_UNIT 3

//
// What has been split so far.  While the sizes are measured, Units is NULL.
//

typedef struct _RTLP_SPLIT {
    PWCHAR Units;                   // all arguments, each terminated
    PRTL_ARGUMENT Arguments;
    SIZE_T NumberOfUnits;
    ULONG NumberOfArguments;
} RTLP_SPLIT;
typedef RTLP_SPLIT *PRTLP_SPLIT;

//
// Rest: the command line from the argument's first unit on.
// Split: what has been split so far.
//

static
VOID
RtlpBeginArgument(
    _In_z_ PCWSTR Rest,
    _Inout_ PRTLP_SPLIT Split
    )
{
    if (Split->Units != NULL) {
        Split->Arguments[Split->NumberOfArguments].Wide =
            Split->Units + Split->NumberOfUnits;
        Split->Arguments[Split->NumberOfArguments].Rest = Rest;
    }

    Split->NumberOfArguments++;
}

//
// Adds the same unit a number of times to the argument.
// Split: what has been split so far.
// Unit: the 16-bit unit; a zero ends the argument.
// Count: how often it is added.
//

static
VOID
RtlpAddUnits(
    _Inout_ PRTLP_SPLIT Split,
    _In_ WCHAR Unit,
    _In_ SIZE_T Count
    )
{
    for (; Count != 0; Count--) {
        if (Split->Units != NULL) {
            Split->Units[Split->NumberOfUnits] = Unit;
        }
        Split->NumberOfUnits++;
    }
}

//
// Splits off the first argument, in which a backslash never escapes anything:
// it is the path of the program.
// Rest: the command line.
// Split: what has been split so far.
// Returns the rest of the command line.
//

static
PCWSTR
RtlpSplitProgramName(
    _In_z_ PCWSTR Rest,
    _Inout_ PRTLP_SPLIT Split
    )
{
    BOOLEAN InQuotes = FALSE;

    RtlpBeginArgument(Rest, Split);

    while (*Rest != L'\0') {

        if (*Rest == L'"') {
            InQuotes = !InQuotes;
        } else if (!InQuotes && (*Rest == L' ' || *Rest == L'\t')) {
            break;
        } else {
            RtlpAddUnits(Split, *Rest, 1);
        }

        Rest++;
    }

    RtlpAddUnits(Split, L'\0', 1);

    return Rest;
}

//
// Splits off an argument other than the first. 2n backslashes and a quote give
// n backslashes and a quote that begins or ends quoting; 2n + 1 and a quote
// give n and a quote as a character; other backslashes are characters. Within
// quotes, two quotes are one as a character.
//
// Rest: the command line from the argument's first unit on.
// Split: what has been split so far.
// Returns the rest of the command line.
//

static
PCWSTR
RtlpSplitArgument(
    _In_z_ PCWSTR Rest,
    _Inout_ PRTLP_SPLIT Split
    )
{
    SIZE_T NumberOfBackslashes;
    BOOLEAN InQuotes = FALSE;

    RtlpBeginArgument(Rest, Split);

    for (;;) {

        NumberOfBackslashes = 0;
        while (*Rest == L'\\') {
            NumberOfBackslashes++;
            Rest++;
        }

        if (*Rest != L'"') {

            RtlpAddUnits(Split, L'\\', NumberOfBackslashes);

            if (*Rest == L'\0' ||
                (!InQuotes && (*Rest == L' ' || *Rest == L'\t'))) {
                break;
            }

            RtlpAddUnits(Split, *Rest, 1);
            Rest++;
            continue;
        }

        RtlpAddUnits(Split, L'\\', NumberOfBackslashes / 2);
        Rest++;

        if (NumberOfBackslashes % 2 != 0) {
            RtlpAddUnits(Split, L'"', 1);
        } else if (InQuotes && *Rest == L'"') {
            RtlpAddUnits(Split, L'"', 1);
            Rest++;
        } else {
            InQuotes = !InQuotes;
        }
    }

    RtlpAddUnits(Split, L'\0', 1);

    return Rest;
}

//
// Split: where the arguments go, or only measures them.
//

static
VOID
RtlpSplitAll(
    _In_z_ PCWSTR CommandLine,
    _Inout_ PRTLP_SPLIT Split
    )
{
    PCWSTR Rest;

    Split->NumberOfUnits = 0;
    Split->NumberOfArguments = 0;

    Rest = RtlpSplitProgramName(CommandLine, Split);

    for (;;) {

        while (*Rest == L' ' || *Rest == L'\t') {
            Rest++;
        }

        if (*Rest == L'\0') {
            return;
        }

        Rest = RtlpSplitArgument(Rest, Split);
    }
}

_Use_decl_annotations_
NTSTATUS
RtlSplitCommandLine(
    PCWSTR CommandLine,
    PCALLOCATOR Allocator,
    PRTL_ARGUMENT *Arguments,
    PULONG NumberOfArguments
    )
/*++

Routine Description:

    Splits a command line by the rules of the Microsoft C start-up code.

Arguments:

    CommandLine - Supplies the command line.

    Allocator - Supplies the allocator.

    Arguments - Receives the arguments, and behind them one whose strings are
        NULL.  They and their strings are one block: free it with Allocator.

    NumberOfArguments - Receives their number, at least 1: the first is the
        program.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    RTLP_SPLIT Split;
    PRTL_ARGUMENT Block;
    PCHAR Utf8;
    SIZE_T Size;
    SIZE_T CapacityInBytes;
    ULONG Index;
    ULONG Written;

    RtlZeroBytes(&Split, sizeof(Split));
    RtlpSplitAll(CommandLine, &Split);

    CapacityInBytes = Split.NumberOfUnits * RTLP_UTF8_BYTES_PER_UNIT;

    Size = ((SIZE_T)Split.NumberOfArguments + 1) * sizeof(RTL_ARGUMENT) +
           Split.NumberOfUnits * sizeof(WCHAR) +
           CapacityInBytes;

    Block = (PRTL_ARGUMENT)Allocator->Allocate(Allocator->Context, Size);
    if (Block == NULL) {
        return STATUS_NO_MEMORY;
    }

    Split.Arguments = Block;
    Split.Units = (PWCHAR)(Block + Split.NumberOfArguments + 1);
    Utf8 = (PCHAR)(Split.Units + Split.NumberOfUnits);

    RtlpSplitAll(CommandLine, &Split);

    for (Index = 0; Index < Split.NumberOfArguments; Index++) {

        Block[Index].Utf8 = Utf8;

        RtlWideToUtf8(Block[Index].Wide,
                      RtlLengthOfWideString(Block[Index].Wide),
                      Utf8,
                      (ULONG)CapacityInBytes,
                      &Written);

        Utf8[Written] = '\0';
        Utf8 += Written + 1;
        CapacityInBytes -= Written + 1;
    }

    Block[Split.NumberOfArguments].Wide = NULL;
    Block[Split.NumberOfArguments].Utf8 = NULL;

    *Arguments = Block;
    *NumberOfArguments = Split.NumberOfArguments;

    return STATUS_SUCCESS;
}
