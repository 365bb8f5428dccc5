/*++

Module Name:

    FuzzSession.c

Abstract:

    Fuzz target: a session directory through the whole reader, from the
    arguments of TraceReader to what it writes.  The operating system is the
    RTL structure below, with files in memory; only DbgHelp is left out.

    The input:

        1 byte      the command and its options: FuzzLines below; beyond
                    them, arguments are taken off the input
        1 byte      FUZZ_SESSION_*
        2 bytes     which allocation fails; 0: none
        1 byte      which call of the system fails; 0: none
        files       until the input ends: see FuzzAddFile

    or a whole session: FuzzReal.h.

    What an input may cost is in proportion to what its files have.

--*/

#include "FuzzSession/FuzzSession.h"

FUZZ_OUTPUT FuzzOutput;
FUZZ_OUTPUT FuzzErrors;

//
// Takes what was written; what does not fit is dropped.
// Writer: the writer, which is the first of its output.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzFlush(
    PRTL_WRITER Writer,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    PFUZZ_OUTPUT Output = (PFUZZ_OUTPUT)(PVOID)Writer;

    FuzzSpendWork(SizeInBytes);
    if (SizeInBytes > FUZZ_OUTPUT_SIZE - Output->Length) {
        SizeInBytes = (ULONG)(FUZZ_OUTPUT_SIZE - Output->Length);
    }

    memcpy(Output->Text + Output->Length, Bytes, SizeInBytes);
    Output->Length += SizeInBytes;
    return STATUS_SUCCESS;
}

//
// Checks that what was written is text without control characters: it goes to
// terminals.
// Output: what was written, not CSV, which has a text's bytes as they are.
//

static
VOID
FuzzCheckOutput(
    const FUZZ_OUTPUT *Output
    )
{
    SIZE_T Index;

    for (Index = 0; Index < Output->Length; Index++) {
        FUZZ_CHECK((UCHAR)Output->Text[Index] >= 0x20 ||
                   Output->Text[Index] == '\n');
        FUZZ_CHECK(Output->Text[Index] != 0x7F);
        FUZZ_CHECK((UCHAR)Output->Text[Index] != 0xC2 ||
                   Index + 1 == Output->Length ||
                   (UCHAR)Output->Text[Index + 1] >= 0xA0);
    }
}

_Use_decl_annotations_
BOOLEAN
FuzzHasArgument(
    const FUZZ_COMMAND *Command,
    PCSZ Text
    )
{
    ULONG Index;

    for (Index = 0; Index < Command->Count; Index++) {
        if (strcmp(Command->Arguments[Index].Utf8, Text) == 0) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
VOID
FuzzInitializeOutput(
    PFUZZ_OUTPUT Output
    )
{
    RtlInitializeBufferWriter(&Output->Writer,
                              Output->Buffer,
                              sizeof(Output->Buffer));
    Output->Writer.Flush = FuzzFlush;
    Output->Length = 0;
}

//
// What no directory has: an empty name, and one that is there twice.
//

static
BOOLEAN
FuzzIsTaken(
    ULONG Number
    )
{
    const FUZZ_FILE *File = &FuzzWorld.Files[Number];
    ULONG Index;

    for (Index = 0; Index < Number; Index++) {
        if (FuzzWorld.Files[Index].NameLength == File->NameLength &&
            memcmp(FuzzWorld.Files[Index].Name,
                   File->Name,
                   File->NameLength * sizeof(WCHAR)) == 0) {
            return TRUE;
        }
    }

    return File->NameLength == 0;
}

//
// Adds a file to the session: FUZZ_FILE_* (1 byte), the length of the name (1
// byte), the name, the contents: what FuzzMakeStore takes, or a length (2
// bytes) and bytes.
//

static
VOID
FuzzAddFile(
    PFUZZ_INPUT Input
    )
{
    static const CHAR Image[] = "Program.exe";
    static const CHAR Cache[] = "symbols.cache";
    static const CHAR Suffix[] = ".trace";
    PFUZZ_FILE File = &FuzzWorld.Files[FuzzWorld.NumberOfFiles];
    PTRACE_STORE_HEADER Header;
    const UCHAR *Bytes;
    ULONG Index;
    ULONG Length;

    FuzzWorld.NumberOfFiles += 1;
    memset(File, 0, sizeof(*File));
    File->Flags = (ULONG)FuzzTake(Input, 1);
    Length = (ULONG)FuzzTake(Input, 1) & 31;
    for (Index = 0; Index < Length; Index++) {
        File->Name[Index] = (WCHAR)FuzzTake(
            Input,
            (File->Flags & FUZZ_FILE_IS_WIDE) != 0 ? 2 : 1);
    }

    if ((File->Flags & FUZZ_FILE_HAS_SUFFIX) != 0) {
        for (Index = 0; Suffix[Index] != 0; Index++) {
            File->Name[Length] = (WCHAR)Suffix[Index];
            Length += 1;
        }
    }

    if ((File->Flags & FUZZ_FILE_IS_IMAGE) != 0) {
        for (Length = 0; Image[Length] != 0; Length++) {
            File->Name[Length] = (WCHAR)Image[Length];
        }
    }

    if ((File->Flags & FUZZ_FILE_IS_CACHE) != 0) {
        for (Length = 0; Cache[Length] != 0; Length++) {
            File->Name[Length] = (WCHAR)Cache[Length];
        }
    }

    //
    // What no directory has: an empty name, and one that is there twice.
    //

    if (Length == 0) {
        File->Name[0] = L'x';
        Length = 1;
    }

    File->NameLength = Length;
    for (Index = 0; Index + 1 < FuzzWorld.NumberOfFiles; Index++) {
        if (FuzzWorld.Files[Index].NameLength == Length &&
            memcmp(FuzzWorld.Files[Index].Name,
                   File->Name,
                   Length * sizeof(WCHAR)) == 0) {
            File->Name[0] = (WCHAR)(File->Name[0] + 0x100 *
                                    FuzzWorld.NumberOfFiles);
        }
    }

    if ((File->Flags & FUZZ_FILE_IS_MADE) != 0) {

        File->Size = FuzzMakeStore(Input, &File->Bytes);
        Header = (PTRACE_STORE_HEADER)(PVOID)File->Bytes;
        File->Cursor = Header->Cursor;
        File->FirstPosition = Header->FirstPosition;
        if ((FuzzWorld.Flags & FUZZ_SESSION_SEVERAL) != 0) {
            Header->ProcessId += (FuzzWorld.NumberOfFiles - 1) %
                                 FUZZ_DIRECTORIES;
        }
        if (Header->Mode == TRACE_MODE_COMPACT) {
            FuzzMakeCompact(File);
            return;
        }
        if ((File->Flags & FUZZ_FILE_GROWS) != 0) {
            Header->Cursor -= (File->Size - sizeof(*Header)) / 32 * 16;
            if (Header->RingSizeInBytes != 0 &&
                Header->FirstPosition > Header->RingFileOffset) {
                Header->FirstPosition -= Header->RingFileOffset;
            }
            Header->State = TRACE_STATE_OPEN;
            Header->Reason = TRACE_REASON_NONE;
        }
        return;
    }

    File->Flags &= ~(ULONG)FUZZ_FILE_GROWS;
    File->Size = (SIZE_T)FuzzTake(Input, 2);
    Bytes = FuzzTakeBytes(Input, &File->Size);
    File->Bytes = (PUCHAR)malloc(File->Size == 0 ? 1 : File->Size);
    if (File->Bytes == NULL) {
        abort();
    }
    memcpy(File->Bytes, Bytes, File->Size);
}

//
// Adds the files of a whole session.  The process is the one that its first
// store is of.
//

static
VOID
FuzzAddReal(
    const UCHAR *Data,
    SIZE_T Size,
    PUCHAR Line
    )
{
    static FUZZ_REAL_SESSION Session;
    PFUZZ_REAL_FILE Real;
    PFUZZ_FILE File;
    ULONGLONG Time;
    ULONG Index;
    ULONG Number;

    FuzzDecodeReal(Data, Size, &Session);
    *Line = Session.Head[FUZZ_REAL_HEAD - 1];
    for (Number = 0; Number < Session.NumberOfFiles; Number++) {

        Real = &Session.Files[Number];
        File = &FuzzWorld.Files[Number];
        File->Flags = (Real->Flags & FUZZ_REAL_IS_LATE) != 0
                          ? FUZZ_FILE_IS_LATE
                          : 0;
        if (FuzzHasSuffix(Real, ".trace") || FuzzHasSuffix(Real, ".exe") ||
            FuzzHasSuffix(Real, ".control")) {
            File->Flags |= FUZZ_FILE_IS_KEPT;
        }

        for (Index = 0; Index < Real->NameLength; Index++) {
            File->Name[Index] = (UCHAR)Real->Name[Index];
        }

        File->NameLength = Real->NameLength;
        if (FuzzIsTaken(Number)) {
            File->Name[0] = (WCHAR)(0x100 + Number);
            File->NameLength += File->NameLength == 0;
        }

        if (FuzzWorld.CreationTime == FUZZ_PROCESS_CREATION_TIME &&
            FuzzHasSuffix(Real, ".trace") &&
            Real->Size >= sizeof(TRACE_STORE_HEADER)) {
            memcpy(&Time,
                   Real->Bytes + offsetof(TRACE_STORE_HEADER,
                                          ProcessCreationTime),
                   sizeof(Time));
            if (Time < FUZZ_MAXIMUM_TIME) {
                FuzzWorld.CreationTime = (LONGLONG)Time;
            }
        }

        File->Bytes = Real->Bytes;
        File->Size = Real->Size;
        FuzzWorld.NumberOfFiles += 1;
    }
}

//
// Commands and their options, as they are typed.
//

static const PCSZ FuzzLines[] = {
    "info", "info --csv", "info --json",
    "report", "report --csv", "report --json", "report --sort name",
    "report --limit 3", "report --thread 5678", "report --module p",
    "tree", "tree --csv", "tree --json", "tree --depth 2", "tree --limit 4",
    "tree --per-thread",
    "replay", "replay --csv", "replay --json", "replay --limit 9",
    "replay --thread 5678",
    "verify", "verify --csv", "verify --json",
    "live --count 3 --interval 50",
    "live --count 2 --interval 50 --limit 2",
    "report --sort self --module program --csv", "report --sort calls",
    "report --sort min", "report --sort max", "report --sort average",
    "report --sort other", "tree --depth 0", "replay --thread x",
    "live --interval 5", "report --csv --json", "report --limit",
    "info info", "other", "--help", "help report", "tree --help",
};

//
// The same for commands about single calls, for first bytes from FUZZ_CALLS
// on.  A function's name follows where one is needed, and diff compares the
// session with itself.
//

#define FUZZ_CALLS 0xC0
#define FUZZ_RANGED                                                         \
    " replay report outliers callers callees threads modules tree waits "

static const PCSZ FuzzCallLines[] = {
    "outliers", "outliers --csv", "outliers --json --limit 3",
    "outliers --thread 5678 --limit 1", "callers", "callers --csv --depth 7",
    "callees", "callees --json --sort self --limit 2", "threads",
    "threads --json --sort name", "modules", "modules --csv --sort calls",
    "diff", "diff --json --sort total", "report --percentiles",
    "report --by process", "report --by process --json --process 1235",
    "sessions", "sessions --csv", "threads --process program", "waits",
    "waits --csv --limit 3",
};

_Use_decl_annotations_
VOID
FuzzAddArgument(
    PFUZZ_COMMAND Command,
    const CHAR *Text,
    ULONG Length
    )
{
    ULONG Character;
    ULONG Index;

    if (Command->Used + Length + 1 > sizeof(Command->Utf8) ||
        Command->Count > FUZZ_MAXIMUM_ARGUMENTS + 1) {
        return;
    }

    Command->Arguments[Command->Count].Wide = Command->Wide + Command->Used;
    Command->Arguments[Command->Count].Utf8 = Command->Utf8 + Command->Used;
    Command->Count += 1;
    for (Index = 0; Index < Length; Index++) {
        Character = (UCHAR)Text[Index];
        if (Character < 0x20 || Character >= 0x7F) {
            Character = (Character & 0x1F) | 0x40;
        }

        Command->Utf8[Command->Used] = (CHAR)Character;
        Command->Wide[Command->Used] = (WCHAR)Character;
        Command->Used += 1;
    }

    Command->Utf8[Command->Used] = 0;
    Command->Wide[Command->Used] = 0;
    Command->Used += 1;
}

//
// Makes the arguments but for the path.
// Input: arguments if the line has none: their number, and each one's length
// and text.
// First: the first byte: which line.
//

static
VOID
FuzzMakeCommand(
    PFUZZ_INPUT Input,
    ULONG First,
    PFUZZ_COMMAND Command
    )
{
    const UCHAR *Bytes;
    PCSZ Text = NULL;
    SIZE_T Length;
    ULONG Count;
    ULONG Line = First % (RTL_NUMBER_OF(FuzzLines) + 1);

    memset(Command, 0, sizeof(*Command));
    FuzzAddArgument(Command, "TraceReader", 11);

    if (FuzzWorld.IsReal) {
        Text = FuzzRealLines[First % FuzzNumberOfRealLines];
    } else if (First >= FUZZ_CALLS) {
        Text = FuzzCallLines[(First - FUZZ_CALLS) %
                             RTL_NUMBER_OF(FuzzCallLines)];
    } else if (Line < RTL_NUMBER_OF(FuzzLines)) {
        Text = FuzzLines[Line];
    }

    if (Text != NULL) {
        for (; *Text != 0; Text += Length) {
            Text += *Text == ' ';
            Length = strcspn(Text, " ");
            FuzzAddArgument(Command, Text, (ULONG)Length);
        }
        return;
    }

    for (Count = (ULONG)FuzzTake(Input, 1) % FUZZ_TAKEN_ARGUMENTS;
         Count != 0;
         Count--) {
        Length = (SIZE_T)FuzzTake(Input, 1) & 31;
        Bytes = FuzzTakeBytes(Input, &Length);
        FuzzAddArgument(Command, (const CHAR *)Bytes, (ULONG)Length);
    }

    //
    // Otherwise it would go on for as long as the program does.
    //

    if (FuzzHasArgument(Command, "live")) {
        FuzzAddArgument(Command, "--count", 7);
        FuzzAddArgument(Command, "3", 1);
    }
}

_Use_decl_annotations_
BOOLEAN
FuzzIsCommand(
    const FUZZ_COMMAND *Command,
    PCSZ Names
    )
{
    CHAR Name[16] = "?";

    if (Command->Count > 1) {
        snprintf(Name, sizeof(Name), " %.12s ", Command->Arguments[1].Utf8);
    }

    return strstr(Names, Name) != NULL;
}

//
// Adds what the session's flags say of indexes and times.
//

static
VOID
FuzzAddRange(
    PFUZZ_COMMAND Command
    )
{
    BOOLEAN IsLive = FuzzHasArgument(Command, "live");

    if (!IsLive && !FuzzIsCommand(Command, FUZZ_RANGED)) {
        return;
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_INDEX) != 0) {
        FuzzAddArgument(Command, "--mark-every", 12);
        FuzzAddArgument(Command, "64", 2);
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_FROM) != 0) {
        if (IsLive) {
            FuzzAddArgument(Command, "--from-start", 12);
        } else {
            FuzzAddArgument(Command, "--from", 6);
            FuzzAddArgument(Command, "1.5us", 5);
        }
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_TO) != 0 && !IsLive) {
        FuzzAddArgument(Command, "--to", 4);
        FuzzAddArgument(Command, "4000", 4);
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
    FUZZ_INPUT Input = { Data, Size };
    FUZZ_COMMAND Command;
    FUZZ_COMMAND Before;
    READER_CONTEXT Context;
    RTL Rtl;
    CHAR Path[8 + FUZZ_MAXIMUM_NAME];
    ULONG ExitCode;
    ULONG Index;
    ULONG Length;
    ULONG First;
    BOOLEAN IsFailing;
    BOOLEAN IsOwn = TRUE;
    BOOLEAN IsPlain;
    SIZE_T SizeOfFiles = 0;
    UCHAR Line;
    ULONG Seed = 0;

    memset(&FuzzWorld, 0, sizeof(FuzzWorld));
    for (Index = 0; Index < FUZZ_DIRECTORIES; Index++) {
        FuzzWorld.DirectoryNames[Index][0] = L'D';
        FuzzWorld.DirectoryNames[Index][1] = (WCHAR)(L'0' + Index);
    }

    RtlPortableTimestamp = FUZZ_FIRST_TIMESTAMP;

    First = (ULONG)FuzzTake(&Input, 1);
    FuzzWorld.Flags = (ULONG)FuzzTake(&Input, 1);
    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 2));
    FuzzWorld.FailAfter = (ULONG)FuzzTake(&Input, 1);
    IsFailing = FuzzWorld.FailAfter != 0 || Allocator.FailAfter != 0;
    FuzzWorld.CreationTime = FUZZ_PROCESS_CREATION_TIME;
    FuzzWorld.IsReal = First == FUZZ_REAL;
    if (FuzzWorld.IsReal) {
        FuzzAddReal(Data, Size, &Line);
        FuzzMakeCommand(&Input, Line, &Command);
        FuzzAddRange(&Command);
    } else {
        FuzzMakeCommand(&Input, First, &Command);
        FuzzAddRange(&Command);
        while (Input.Left != 0 &&
               FuzzWorld.NumberOfFiles < FUZZ_MAXIMUM_FILES) {
            FuzzAddFile(&Input);
        }
    }

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        SizeOfFiles += FuzzWorld.Files[Index].Size;
    }

    FuzzBeginWork(FUZZ_WORK + FUZZ_WORK_OF_BYTE * SizeOfFiles);
    Allocator.MaximumSize = FUZZ_MEMORY + FUZZ_MEMORY_OF_BYTE * SizeOfFiles;

    memcpy(Path, "\\??\\S", 5);
    Length = 5;
    if ((FuzzWorld.Flags & FUZZ_SESSION_ONE_STORE) != 0 &&
        FuzzWorld.NumberOfFiles != 0) {
        Path[5] = '\\';
        Length = 6;
        for (Index = 0; Index < FuzzWorld.Files[0].NameLength; Index++) {
            Path[Length] = (CHAR)FuzzWorld.Files[0].Name[Index];
            Length += 1;
        }
    }

    FuzzInitializeRtl(&Rtl);
    FuzzInitializeOutput(&FuzzOutput);
    FuzzInitializeOutput(&FuzzErrors);
    Context.Rtl = &Rtl;
    Context.Allocator = &Allocator.Allocator;
    Context.Decoder = NULL;
    Context.Output = &FuzzOutput.Writer;
    Context.Errors = &FuzzErrors.Writer;
    Context.NumberOfProcessors = 2;

    if (FuzzHasArgument(&Command, "diff")) {
        FuzzAddArgument(&Command, Path, Length);
    } else if (FuzzHasArgument(&Command, "outliers") ||
               FuzzHasArgument(&Command, "callers") ||
               FuzzHasArgument(&Command, "callees")) {
        FuzzAddFunction(&Context, &Command, Path, Length, IsFailing);
    }

    FuzzAddArgument(&Command, Path, Length);

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        if (FuzzIsIndex(FuzzWorld.Files[Index].Name,
                        FuzzWorld.Files[Index].NameLength)) {
            IsOwn = FALSE;
        }
    }

    if ((FuzzWorld.Flags & FUZZ_SESSION_INDEX) != 0 && !IsFailing) {
        memset(&Before, 0, sizeof(Before));
        FuzzAddArgument(&Before, "TraceReader", 11);
        FuzzAddArgument(&Before, "report", 6);
        FuzzAddArgument(&Before, "--mark-every", 12);
        FuzzAddArgument(&Before, "64", 2);
        FuzzAddArgument(&Before, Path, Length);
        ExitCode = CommandMain(&Context, Before.Arguments, Before.Count);
        FUZZ_CHECK(ExitCode <= READER_EXIT_FAILURE);
        FuzzInitializeOutput(&FuzzOutput);
        FuzzInitializeOutput(&FuzzErrors);
        RtlPortableTimestamp = FUZZ_FIRST_TIMESTAMP;
    }

    ExitCode = CommandMain(&Context, Command.Arguments, Command.Count);

    IsPlain = !IsFailing && !FuzzHasArgument(&Command, "--verbose") &&
              !FuzzHasArgument(&Command, "--");
    if (IsPlain && IsOwn &&
        FuzzIsCommand(&Command,
                      " report tree callers callees outliers waits ")) {
        FuzzCheckGeneral(&Context, &Command, ExitCode);
    }

    if (IsPlain && (FuzzWorld.Flags & FUZZ_SESSION_ONE_STORE) == 0 &&
        FuzzIsCommand(&Command, FUZZ_RANGED)) {
        for (Index = 0; Index < Size; Index++) {
            Seed = Seed * 31 + Data[Index];
        }
        FuzzCheckIndex(&Context, &Command, ExitCode, Seed, IsOwn);
    }

    (VOID)FuzzEndWork();
    FUZZ_CHECK(ExitCode <= READER_EXIT_NOTHING);
    FUZZ_CHECK(ExitCode != READER_EXIT_BAD ||
               FuzzHasArgument(&Command, "verify") ||
               FuzzHasArgument(&Command, "recover"));
    FUZZ_CHECK(Allocator.Count == 0);
    FUZZ_CHECK(FuzzWorld.NumberOfHandles == 0);
    FUZZ_CHECK(FuzzWorld.NumberOfPages == 0);
    for (Index = 0; Index < FUZZ_MAXIMUM_VIEWS; Index++) {
        FUZZ_CHECK(FuzzWorld.Views[Index].Address == NULL);
    }

    if (!FuzzHasArgument(&Command, "--csv")) {
        FuzzCheckOutput(&FuzzOutput);
    }

    FuzzCheckOutput(&FuzzErrors);

    for (Index = 0; Index < FuzzWorld.NumberOfFiles; Index++) {
        free(FuzzWorld.Files[Index].Bytes);
    }

    return 0;
}
