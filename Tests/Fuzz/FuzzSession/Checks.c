/*++

Module Name:

    Checks.c

Abstract:

    What must be the same whatever way the reader takes: the general rules and
    the fast ones, one worker and several, with an index and without.

--*/

#include "FuzzSession.h"

_Use_decl_annotations_
VOID
FuzzAddFunction(
    PCREADER_CONTEXT Context,
    PFUZZ_COMMAND Command,
    const CHAR *Path,
    ULONG PathLength,
    BOOLEAN IsFailing
    )
{
    FUZZ_COMMAND Before;
    ULONG Begin;
    ULONG End;

    if (IsFailing) {
        FuzzAddArgument(Command, "p", 1);
        return;
    }

    memset(&Before, 0, sizeof(Before));
    FuzzAddArgument(&Before, "TraceReader", 11);
    FuzzAddArgument(&Before, "report", 6);
    FuzzAddArgument(&Before, "--csv", 5);
    FuzzAddArgument(&Before, "--no-index", 10);
    FuzzAddArgument(&Before, "--limit", 7);
    FuzzAddArgument(&Before, "1", 1);
    FuzzAddArgument(&Before, Path, PathLength);
    FUZZ_CHECK(CommandMain(Context, Before.Arguments, Before.Count) <=
               READER_EXIT_FAILURE);

    //
    // The last field, or the one before a clock's name: what is in quotes is
    // not looked for.
    //

    End = FuzzOutput.Length;
    while (End != 0 && (FuzzOutput.Text[End - 1] == '\n' ||
                        FuzzOutput.Text[End - 1] == '\r')) {
        End -= 1;
    }

    for (Begin = End; Begin != 0 && FuzzOutput.Text[Begin - 1] != ',';
         Begin--) {
    }

    if (Begin != 0 && End - Begin == 6 &&
        memcmp(FuzzOutput.Text + Begin, "thread", 6) == 0) {
        End = Begin - 1;
        for (Begin = End; Begin != 0 && FuzzOutput.Text[Begin - 1] != ',';
             Begin--) {
        }
    }

    FuzzAddArgument(Command, FuzzOutput.Text + Begin, End - Begin);
    FuzzInitializeOutput(&FuzzOutput);
    FuzzInitializeOutput(&FuzzErrors);
    RtlPortableTimestamp = FUZZ_FIRST_TIMESTAMP;
}

_Use_decl_annotations_
VOID
FuzzCheckGeneral(
    PCREADER_CONTEXT Context,
    PFUZZ_COMMAND Command,
    ULONG ExitCode
    )
{
    static FUZZ_OUTPUT Output;
    static FUZZ_OUTPUT Errors;
    READER_CONTEXT General = *Context;
    ULONG Count = Command->Count, Used = Command->Used;

    if (!FuzzIsCommand(Command, " outliers waits ")) {
        FuzzAddArgument(Command, "--workers=1", 11);
    }

    FuzzAddArgument(Command, "--general", 9);
    if (!FuzzHasArgument(Command, "--general")) {
        Command->Count = Count;
        Command->Used = Used;
        return;
    }

    FuzzInitializeOutput(&Output);
    FuzzInitializeOutput(&Errors);
    General.Output = &Output.Writer;
    General.Errors = &Errors.Writer;
    RtlPortableTimestamp = FUZZ_FIRST_TIMESTAMP;

    FUZZ_CHECK(CommandMain(&General, Command->Arguments, Command->Count) ==
               ExitCode);
    FUZZ_CHECK(Output.Length == FuzzOutput.Length &&
               memcmp(Output.Text, FuzzOutput.Text, Output.Length) == 0);
    FUZZ_CHECK(Errors.Length == FuzzErrors.Length &&
               memcmp(Errors.Text, FuzzErrors.Text, Errors.Length) == 0);

    Command->Count = Count;
    Command->Used = Used;
}

//
// Runs a command with more arguments.
// More: the arguments, with a blank before each.
// Output, Errors: what is written.
//

static
ULONG
FuzzRunAgain(
    PCREADER_CONTEXT Context,
    const FUZZ_COMMAND *Command,
    PCSZ More,
    FUZZ_OUTPUT *Output,
    FUZZ_OUTPUT *Errors
    )
{
    static FUZZ_COMMAND Longer;
    READER_CONTEXT Again = *Context;
    SIZE_T Length;
    ULONG Index;

    memset(&Longer, 0, sizeof(Longer));
    for (Index = 0; Index < Command->Count; Index++) {
        FuzzAddArgument(&Longer,
                        Command->Arguments[Index].Utf8,
                        (ULONG)strlen(Command->Arguments[Index].Utf8));
    }

    for (; *More != 0; More += Length) {
        More += 1;
        Length = strcspn(More, " ");
        FuzzAddArgument(&Longer, More, (ULONG)Length);
    }

    FuzzInitializeOutput(Output);
    FuzzInitializeOutput(Errors);
    Again.Output = &Output->Writer;
    Again.Errors = &Errors->Writer;
    RtlPortableTimestamp = FUZZ_FIRST_TIMESTAMP;
    return CommandMain(&Again, Longer.Arguments, Longer.Count);
}

//
// Damages an index: a byte somewhere, or one of those that say how much there
// is of something, which are few among so many. Docs/Format.md has the
// offsets.
//

static
VOID
FuzzDamageIndex(
    PFUZZ_FILE File,
    ULONG Seed
    )
{
    static const UCHAR Fields[] = { 8, 56, 60, 64, 68, 72 };
    SIZE_T Place = (Seed >> 8) % File->Size;
    ULONGLONG Last = 0;
    ULONG NumberOfStores;
    ULONG NumberOfChanges;

    if (File->Size >= 64) {
        memcpy(&Last, File->Bytes + 24, sizeof(Last));
    }

    if (Last >= 64 && Last < File->Size && File->Size - Last >= 80) {

        memcpy(&NumberOfStores, File->Bytes + Last + 56, 4);
        memcpy(&NumberOfChanges, File->Bytes + Last + 64, 4);
        switch (Seed >> 4 & 3) {

        case 0:

            //
            // EndOfMarks: the last mark is cut short.
            //

            Last += (Seed >> 8) % (File->Size - Last);
            memcpy(File->Bytes + 32, &Last, sizeof(Last));
            return;

        case 1:
            Place = (SIZE_T)Last + Fields[(Seed >> 8) % sizeof(Fields)];
            break;

        case 2:

            //
            // How many frames a stack has, and the first of them.
            //

            if (NumberOfChanges != 0 && NumberOfStores < 16) {
                Place = (SIZE_T)Last + 80 + 64 * (SIZE_T)NumberOfStores +
                        40 * (SIZE_T)((Seed >> 8) % NumberOfChanges) + 32 +
                        (Seed >> 20 & 4);
            }
            break;

        default:
            break;
        }
    }

    if (Place < File->Size) {
        File->Bytes[Place] ^= (UCHAR)Seed | 1;
    }
}

_Use_decl_annotations_
VOID
FuzzCheckIndex(
    PCREADER_CONTEXT Context,
    const FUZZ_COMMAND *Command,
    ULONG ExitCode,
    ULONG Seed,
    BOOLEAN IsOwn
    )
{
    static FUZZ_OUTPUT Outputs[2];
    static FUZZ_OUTPUT Errors[2];
    CHAR Options[2][80];
    PFUZZ_FILE File;
    ULONG Time = Seed % 5000;
    ULONG Index;
    ULONG Turn;

    FUZZ_CHECK(FuzzRunAgain(Context,
                            Command,
                            " --mark-every 64",
                            &Outputs[0],
                            &Errors[0]) == ExitCode);
    FUZZ_CHECK(Outputs[0].Length == FuzzOutput.Length &&
               memcmp(Outputs[0].Text,
                      FuzzOutput.Text,
                      FuzzOutput.Length) == 0);

    snprintf(Options[0],
             sizeof(Options[0]),
             " --from %u --no-index%s",
             Time,
             strcmp(Command->Arguments[1].Utf8, "report") == 0
                 ? " --general --workers 1"
                 : "");
    snprintf(Options[1],
             sizeof(Options[1]),
             " --from %u --mark-every 64",
             Time);
    for (Turn = 0; Turn < 4; Turn++) {

        ExitCode = FuzzRunAgain(Context,
                                Command,
                                Options[Turn != 0],
                                &Outputs[Turn != 0],
                                &Errors[Turn != 0]);
        FUZZ_CHECK(ExitCode <= READER_EXIT_NOTHING &&
                   ExitCode != READER_EXIT_BAD);
        if (Turn == 0) {
            continue;
        }

        if (Turn == 1 && IsOwn) {
            FUZZ_CHECK(Outputs[0].Length == Outputs[1].Length &&
                       memcmp(Outputs[0].Text,
                              Outputs[1].Text,
                              Outputs[0].Length) == 0);
            FUZZ_CHECK(Errors[0].Length == Errors[1].Length &&
                       memcmp(Errors[0].Text,
                              Errors[1].Text,
                              Errors[0].Length) == 0);
        }

        for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
            File = &FuzzWorld.Files[Index];
            if (File->Size != 0 &&
                FuzzIsIndex(File->Name, File->NameLength)) {
                Seed = Seed * 1664525 + 1013904223;
                FuzzDamageIndex(File, Seed);
            }
        }
    }
}
