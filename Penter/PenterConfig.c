/*++

Module Name:

    PenterConfig.c

Abstract:

    What the environment asks for: TRACER_ENABLED, TRACER_EXECUTABLES,
    TRACER_DIRECTORY, TRACER_BASE_DIRECTORY, TRACER_MODULES, TRACER_VIEW_SIZE,
    TRACER_MODE, TRACER_MAX_BYTES, TRACER_MIN_FREE, TRACER_CLOCK,
    TRACER_MIN_DURATION, TRACER_MAX_DEPTH, TRACER_FLUSH, TRACER_EXCLUDE,
    TRACER_CHRONO, TRACER_CONTROL, TRACER_STOPPED.  Where it says nothing about
    one of them, the ini file is asked (PenterIni.c).

--*/

#include "../TraceStore/TraceControl.h"
#include "../TraceStore/TraceDepth.h"
#include "PenterIni.h"
#include "PenterIniFile.h"
#include "PenterWord.h"
#include "../StringTable/StringTable.h"

_Use_decl_annotations_
VOID
PenterConfigError(
    PPENTER_CONFIG Config,
    PCSZ Step,
    PCUNICODE_STRING Object,
    NTSTATUS Status
    )
{
    if (Config->ValueLine != 0 && Object->Buffer == Config->ValueBuffer) {
        PenterIniError(Config, Step, Config->ValueLine, Object, Status, NULL);
    } else {
        PenterAddError(Config, Step, Object, Status, NULL);
    }
}

//
// Reads a setting's text, and notes it if it is there and cannot be read. This
// is where all of them come from: the environment first, and the ini file
// where the variable is not set, or empty.
//
// Config: the configuration.
// Step: a literal that names the variable.
// Value: the value, which lies in Buffer.
// Returns the status of RtlQueryEnvironment; STATUS_SUCCESS if the text is the
// ini file's.
//

static
NTSTATUS
PenterReadVariable(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ Step,
    _Out_writes_(RTL_MAXIMUM_PATH_IN_CHARS) PWCHAR Buffer,
    _Out_ PUNICODE_STRING Value
    )
{
    NTSTATUS Status;
    UNICODE_STRING Text;
    ULONG Line;

    RtlPointUnicodeString(Value, Buffer, 0);
    Status = RtlQueryEnvironment(Rtl,
                                 Name,
                                 Buffer,
                                 RTL_MAXIMUM_PATH_IN_CHARS,
                                 Value);
    Config->ValueBuffer = Buffer;
    Config->ValueLine = 0;
    if (!NT_SUCCESS(Status) && Status != STATUS_VARIABLE_NOT_FOUND) {
        PenterConfigError(Config, Step, Value, Status);
        return Status;
    }

    if (Status == STATUS_VARIABLE_NOT_FOUND || Value->Length == 0) {
        Line = PenterQueryIni(Rtl, Config, Name, &Text);
        if (Line != 0) {
            Config->ValueLine = Line;
            RtlCopyBytes(Buffer, Text.Buffer, Text.Length);
            RtlPointUnicodeString(Value, Buffer, Text.Length / sizeof(WCHAR));
            Status = STATUS_SUCCESS;
        }
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
PenterMatchModule(
    PCRTL Rtl,
    PUNICODE_STRING Name,
    PUNICODE_STRING Patterns,
    PBOOLEAN Included
    )
{
    NTSTATUS Status;
    ALLOCATOR Allocator;
    STRING_TABLE_ALLOCATOR TableAllocator;
    PSTRING_TABLE Table;
    PSTRING_TABLE_PREFIX Prefixes;
    UNICODE_STRING Pattern;
    ULONG Position;
    ULONG Count;
    ULONG Found;
    BOOLEAN AnyIncludes;

    *Included = TRUE;
    Table = NULL;
    RtlInitializePageAllocator(Rtl, &Allocator);

    PenterUpcase(Rtl, Name);
    PenterUpcase(Rtl, Patterns);

    Count = 0;
    Position = 0;
    while (PenterNextPattern(Patterns, &Position, &Pattern)) {
        Count += 1;
    }
    if (Count == 0) {
        return STATUS_SUCCESS;
    }

    Prefixes = (PSTRING_TABLE_PREFIX)
        Allocator.Allocate(Allocator.Context, Count * sizeof(*Prefixes));
    if (Prefixes == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = STATUS_OBJECT_NAME_INVALID;
    AnyIncludes = FALSE;
    Count = 0;
    Position = 0;
    while (PenterNextPattern(Patterns, &Position, &Pattern)) {
        if (!PenterIsPattern(&Pattern)) {
            goto End;
        }
        if (Pattern.Buffer[0] == L'-') {
            RtlPointUnicodeString(&Pattern,
                                  Pattern.Buffer + 1,
                                  Pattern.Length / sizeof(WCHAR) - 1);
        } else {
            AnyIncludes = TRUE;
        }
        Prefixes[Count].Buffer = Pattern.Buffer;
        Prefixes[Count].LengthInBytes = Pattern.Length;
        Count += 1;
    }

    TableAllocator.Context = Allocator.Context;
    TableAllocator.Allocate = Allocator.Allocate;
    TableAllocator.Free = Allocator.Free;
    Status = StringTableCreate(&TableAllocator,
                               StringTableQueryInstructions(),
                               STRING_TABLE_UTF16,
                               Prefixes,
                               Count,
                               &Table,
                               NULL);
    if (!NT_SUCCESS(Status)) {
        Table = NULL;
        goto End;
    }

    Found = StringTableSearch(Table, Name->Buffer, Name->Length);
    if (Found == STRING_TABLE_NOT_FOUND) {
        *Included = !AnyIncludes;
    } else {

        //
        // Every prefix lies in Patterns, and so does what is in front of it;
        // the first one has nothing in front of it unless it is a '-' one.
        //

        *Included =
            (PWSTR)Prefixes[Found].Buffer == Patterns->Buffer ||
            ((PWSTR)Prefixes[Found].Buffer)[-1] != L'-';
    }

End:

    StringTableDestroy(Table);
    Allocator.Free(Allocator.Context, Prefixes);
    return Status;
}

//
// Decides whether a path means the same in every process, whatever its current
// directories are.
//

static
BOOLEAN
PenterIsAbsolute(
    _In_ PCUNICODE_STRING Path
    )
{
    PCWSTR Text = Path->Buffer;
    ULONG Length = Path->Length / sizeof(WCHAR);

#define PENTER_IS_SEPARATOR(Char) ((Char) == L'\\' || (Char) == L'/')

    return (Length >= 2 &&
            PENTER_IS_SEPARATOR(Text[0]) &&
            (PENTER_IS_SEPARATOR(Text[1]) || Text[1] == L'?')) ||
           (Length >= 3 &&
            Text[1] == L':' &&
            PENTER_IS_SEPARATOR(Text[2]));
}

//
// Reads TRACER_BASE_DIRECTORY, which a traced parent has set.  FALSE if there
// is none that makes sense.
//

static
BOOLEAN
PenterReadBaseDirectory(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING NtPath;
    UNICODE_STRING Base;

    Status = PenterReadVariable(Rtl,
                                Config,
                                L"TRACER_BASE_DIRECTORY",
                                "reading TRACER_BASE_DIRECTORY",
                                Config->Scratch,
                                &Base);
    if (!NT_SUCCESS(Status) || !PenterIsAbsolute(&Base)) {
        return FALSE;
    }

    Status = RtlDosPathToNtPath(Rtl,
                                &Base,
                                Config->ModuleName,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (!NT_SUCCESS(Status)) {
        RtlPointUnicodeString(&Base, NULL, 0);
        PenterConfigError(Config,
                          "reading TRACER_BASE_DIRECTORY",
                          &Base,
                          Status);
        return FALSE;
    }

    RtlCopyBytes(Config->RootDirectoryBuffer, Base.Buffer, Base.Length);
    RtlPointUnicodeString(&Config->RootDirectory,
                          Config->RootDirectoryBuffer,
                          Base.Length / sizeof(WCHAR));
    return TRUE;
}

//
// Chooses where sessions go if nobody says: the user's directory for them, or
// the current one if there is none.  Each process of the user finds the former
// by itself.
//

static
VOID
PenterUseDefaultDirectory(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING NtPath;
    UNICODE_STRING Path;

    RtlPointUnicodeString(&Path, Config->RootDirectoryBuffer, 0);
    Status = RtlQueryEnvironment(Rtl,
                                 L"LOCALAPPDATA",
                                 Config->RootDirectoryBuffer,
                                 RTL_MAXIMUM_PATH_IN_CHARS,
                                 &Path);
    if (NT_SUCCESS(Status) && !PenterIsAbsolute(&Path)) {
        Status = Path.Length == 0 ? STATUS_VARIABLE_NOT_FOUND :
                                    STATUS_OBJECT_NAME_INVALID;
    }
    if (NT_SUCCESS(Status)) {
        Path.MaximumLength = RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
        Status = RtlAppendPath(&Path, L"Tracer", 6, TRUE);
    }
    if (NT_SUCCESS(Status)) {
        Status = RtlDosPathToNtPath(Rtl,
                                    &Path,
                                    Config->Scratch,
                                    RTL_MAXIMUM_PATH_IN_CHARS,
                                    &NtPath);
    }
    if (NT_SUCCESS(Status)) {
        Config->RootDirectory = Path;
        Config->IsDirectoryDefault = TRUE;
        Config->IsDirectoryShared = FALSE;
        return;
    }

    PenterAddError(Config,
                   "finding the user's directory for sessions (LOCALAPPDATA)",
                   &Path,
                   Status,
                   "the session is in the current directory");
}

//
// Reads TRACER_DIRECTORY.  If that is not the same directory in every process,
// TRACER_BASE_DIRECTORY is, where a traced parent has set that. A process may
// find another ini file than its parent, or none.
//
// Config: the configuration.
//

static
VOID
PenterReadDirectory(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING NtPath;
    BOOLEAN IsGiven;

    Status = PenterReadVariable(Rtl,
                                Config,
                                L"TRACER_DIRECTORY",
                                "reading TRACER_DIRECTORY",
                                Config->RootDirectoryBuffer,
                                &Config->RootDirectory);
    if (NT_SUCCESS(Status) && Config->RootDirectory.Length > 0) {
        Status = RtlDosPathToNtPath(Rtl,
                                    &Config->RootDirectory,
                                    Config->Scratch,
                                    RTL_MAXIMUM_PATH_IN_CHARS,
                                    &NtPath);
        if (NT_SUCCESS(Status) && PenterIsAbsolute(&Config->RootDirectory)) {
            Config->IsDirectoryShared = Config->ValueLine != 0;
            return;
        }
    } else {
        Status = STATUS_NOT_FOUND;
    }

    IsGiven = NT_SUCCESS(Status);
    if (!IsGiven) {
        if (Status != STATUS_NOT_FOUND) {
            PenterConfigError(Config,
                              "reading TRACER_DIRECTORY",
                              &Config->RootDirectory,
                              Status);
        }

        RtlPointUnicodeString(&Config->RootDirectory, L".", 1);
    }

    if (PenterReadBaseDirectory(Rtl, Config)) {
        Config->IsDirectoryShared = FALSE;
        return;
    }

    Config->IsDirectoryShared = TRUE;
    if (!IsGiven) {
        PenterUseDefaultDirectory(Rtl, Config);
    }
}

//
// Reads the name of a file that has a list of functions.
// Config: the configuration.
// Step: what is done, for the error.
// NtPath: where it is; empty if there is none.
//

static
VOID
PenterReadListName(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Variable,
    _In_z_ PCSZ Step,
    _Out_writes_(RTL_MAXIMUM_PATH_IN_CHARS) PWCHAR Buffer,
    _Out_ PUNICODE_STRING NtPath
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;

    RtlPointUnicodeString(NtPath, NULL, 0);
    Status = PenterReadVariable(Rtl,
                                Config,
                                Variable,
                                Step,
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status) || Value.Length == 0) {
        return;
    }

    Status = RtlDosPathToNtPath(Rtl,
                                &Value,
                                Buffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                NtPath);
    if (!NT_SUCCESS(Status)) {
        RtlPointUnicodeString(NtPath, NULL, 0);
        PenterConfigError(Config, Step, &Value, Status);
    }
}

//
// Reads TRACER_EXCLUDE, the name of a file.
// Config: the configuration.
//

static
VOID
PenterReadExclude(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    PenterReadListName(Rtl,
                       Config,
                       L"TRACER_EXCLUDE",
                       "reading TRACER_EXCLUDE",
                       Config->ExcludeFileBuffer,
                       &Config->ExcludeFile);
}

_Use_decl_annotations_
VOID
PenterShareDirectory(
    PCRTL Rtl,
    PPENTER_CONFIG Config
    )
{
    UNICODE_STRING Path;

    if (!Config->IsDirectoryShared ||
        !NT_SUCCESS(RtlDosPathToNtPath(Rtl,
                                       &Config->RootDirectory,
                                       Config->Scratch,
                                       RTL_MAXIMUM_PATH_IN_CHARS,
                                       &Path))) {
        return;
    }

    //
    // \??\C:\... is shown as C:\...; others are good as they are.
    //

    if (Path.Length > 6 * sizeof(WCHAR) && Path.Buffer[5] == L':') {
        RtlPointUnicodeString(&Path,
                              Path.Buffer + 4,
                              Path.Length / sizeof(WCHAR) - 4);
    }

    (VOID)RtlSetEnvironment(Rtl, L"TRACER_BASE_DIRECTORY", &Path);
}

//
// Is a module that is not included one that a '-' leaves out?  Both texts are
// in capitals.
//

static
BOOLEAN
PenterIsLeftOutOnPurpose(
    _In_ PCUNICODE_STRING Name,
    _In_ PCUNICODE_STRING Patterns
    )
{
    UNICODE_STRING Pattern;
    ULONG Position;

    Position = 0;
    while (PenterNextPattern(Patterns, &Position, &Pattern)) {
        if (Pattern.Buffer[0] == L'-' &&
            Pattern.Length - sizeof(WCHAR) <= Name->Length &&
            RtlAreBytesEqual(Pattern.Buffer + 1,
                             Name->Buffer,
                             Pattern.Length - sizeof(WCHAR))) {

            return TRUE;
        }
    }

    return FALSE;
}

//
// Reads a list of prefixes of file names, and decides about a module.
// Config: the configuration.
// Name: the variable's name.
// Step: a literal that names the variable.
// ModuleBase: the module's image base; NULL: the program's.
// Returns TRUE if the list has the module, or there is none that makes sense.
//

static
BOOLEAN
PenterReadPatterns(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ Step,
    _In_opt_ PVOID ModuleBase
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;
    UNICODE_STRING Path;
    UNICODE_STRING BaseName;
    ULONG LeftOut;
    ULONG Length;
    ULONG Index;
    BOOLEAN Included;

    Status = PenterReadVariable(Rtl,
                                Config,
                                Name,
                                Step,
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status)) {
        return TRUE;
    }

    Length = Rtl->GetModuleFileNameW((HMODULE)ModuleBase,
                                     Config->ModuleName,
                                     RTL_MAXIMUM_PATH_IN_CHARS);
    if (Length == 0) {

        //
        // A module whose name is not known is recorded.
        //

        PenterConfigError(Config, Step, &Value, STATUS_NOT_FOUND);
        return TRUE;
    }
    RtlPointUnicodeString(&Path, Config->ModuleName, Length);
    RtlBaseName(&Path, &BaseName);

    //
    // The value is noted as the user wrote it, before it is upcased; the note
    // counts only if there is something to say.
    //

    Index = Config->NumberOfErrors;
    LeftOut = Config->NumberOfErrorsLeftOut;
    PenterConfigError(Config, Step, &Value, STATUS_SUCCESS);

    Status = PenterMatchModule(Rtl, &BaseName, &Value, &Included);
    if (NT_SUCCESS(Status) && !Included && ModuleBase != NULL &&
        Index < Config->NumberOfErrors &&
        !PenterIsLeftOutOnPurpose(&BaseName, &Value)) {

        Config->Unmatched = &Config->Errors[Index];
        Config->Unmatched->Status = STATUS_NOT_FOUND;
        return FALSE;
    }
    if (NT_SUCCESS(Status)) {
        Config->NumberOfErrors = Index;
        Config->NumberOfErrorsLeftOut = LeftOut;
        return Included;
    }

    if (Index < Config->NumberOfErrors) {
        Config->Errors[Index].Status = Status;
    }
    return TRUE;
}

//
// Reads a variable that is a number.
// Config: the configuration.
// Step: a literal that names the variable.
// Least, Most: the bounds.
// IsPowerOfTwo: whether it must be a power of two.
// Returns FALSE if there is none, or it is noted that it makes no sense.
//

static
BOOLEAN
PenterReadNumber(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ Step,
    _In_ ULONGLONG Least,
    _In_ ULONGLONG Most,
    _In_ BOOLEAN IsPowerOfTwo,
    _Out_ PULONGLONG Number
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;
    ULONGLONG Read;

    Status = PenterReadVariable(Rtl,
                                Config,
                                Name,
                                Step,
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status) || Value.Length == 0) {
        return FALSE;
    }

    if (!RtlParseNumber(Value.Buffer, Value.Length / sizeof(WCHAR), &Read) ||
        Read < Least || Read > Most ||
        (IsPowerOfTwo && (Read & (Read - 1)) != 0)) {

        PenterConfigError(Config, Step, &Value, STATUS_INVALID_PARAMETER);
        return FALSE;
    }

    *Number = Read;
    return TRUE;
}

//
// Reads a variable that is one of a few words, in either case.
// Config: the configuration.
// Step: a literal that names the variable.
// Words: the words, in capitals.
// Count: their number.
// Returns FALSE if there is none, or it is noted that it makes no sense.
//

static
BOOLEAN
PenterReadWord(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ Step,
    _In_reads_(Count) const PCWSTR *Words,
    _In_ ULONG Count,
    _Out_ PULONG Index
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;
    ULONG Word;

    Status = PenterReadVariable(Rtl,
                                Config,
                                Name,
                                Step,
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status) || Value.Length == 0) {
        return FALSE;
    }

    for (Word = 0; Word < Count; Word += 1) {
        if (PenterIsWord(Rtl, &Value, Words[Word])) {
            *Index = Word;
            return TRUE;
        }
    }

    PenterConfigError(Config, Step, &Value, STATUS_INVALID_PARAMETER);
    return FALSE;
}

//
// Tells whether a character is one of those that multiply a number of bytes.
//

static
BOOLEAN
PenterIsSizeSuffix(
    _In_ WCHAR Character
    )
{
    switch (Character) {
    case L'K':
    case L'k':
    case L'M':
    case L'm':
    case L'G':
    case L'g':
        return TRUE;
    default:
        return FALSE;
    }
}

//
// Reads TRACER_MIN_DURATION: a number of nanoseconds, or one of microseconds,
// milliseconds or seconds with us, ms or s behind it.
// Config: the configuration, whose clock has been read.
//

static
VOID
PenterReadDuration(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;
    ULONGLONG Number;
    ULONGLONG Unit;
    ULONG Length;
    ULONG Index;

    static const struct {
        PCWSTR Suffix;
        ULONGLONG Nanoseconds;
    } Units[] = {
        { L"ns", 1 }, { L"us", 1000 }, { L"ms", 1000000 }, { L"s", 1000000000 }
    };

    Status = PenterReadVariable(Rtl,
                                Config,
                                L"TRACER_MIN_DURATION",
                                "reading TRACER_MIN_DURATION",
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status) || Value.Length == 0) {
        return;
    }

    Unit = 1;
    Length = Value.Length / sizeof(WCHAR);
    for (Index = 0; Index < RTL_NUMBER_OF(Units); Index += 1) {
        if (Length > RtlLengthOfWideString(Units[Index].Suffix) &&
            RtlAreBytesEqual(
                Value.Buffer + Length -
                RtlLengthOfWideString(Units[Index].Suffix),
                Units[Index].Suffix,
                RtlLengthOfWideString(Units[Index].Suffix) * sizeof(WCHAR))) {

            Unit = Units[Index].Nanoseconds;
            Length -= RtlLengthOfWideString(Units[Index].Suffix);
            break;
        }
    }

    //
    // An hour, so that no product overflows; and without a clock there is no
    // duration.  Numbers of bytes have the suffixes K, M and G: here, 5m would
    // be taken for minutes.
    //

    if (!RtlParseNumber(Value.Buffer, Length, &Number) ||
        PenterIsSizeSuffix(Value.Buffer[Length - 1]) ||
        Number > PENTER_MAXIMUM_DURATION / Unit) {

        PenterConfigError(Config,
                          "reading TRACER_MIN_DURATION (10us, 1ms)",
                          &Value,
                          STATUS_INVALID_PARAMETER);
    } else if (Number != 0 && Config->Clock == TRACE_CLOCK_NONE) {
        PenterConfigError(Config,
                          "reading TRACER_MIN_DURATION with TRACER_CLOCK=none",
                          &Value,
                          STATUS_NOT_SUPPORTED);
    } else {
        Config->MinimumDuration = Number * Unit;
    }
}

//
// Reads TRACER_MIN_FREE: a number of bytes, or a percentage of the disk, which
// a whole disk is not.
//

static
VOID
PenterReadFree(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;
    ULONGLONG Number;
    ULONG Length;

    Config->MinimumFree = PENTER_DEFAULT_FREE_BYTES;
    Config->MinimumFreePercent = PENTER_DEFAULT_FREE_PERCENT;
    Status = PenterReadVariable(Rtl,
                                Config,
                                L"TRACER_MIN_FREE",
                                "reading TRACER_MIN_FREE",
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status) || Value.Length == 0) {
        return;
    }

    Length = Value.Length / sizeof(WCHAR);
    if (Value.Buffer[Length - 1] != L'%') {
        if (RtlParseNumber(Value.Buffer, Length, &Number) &&
            Number <= INT64_MAX) {

            Config->MinimumFree = Number;
            Config->MinimumFreePercent = 0;
            return;
        }
    } else if (Length > 1 &&
               !PenterIsSizeSuffix(Value.Buffer[Length - 2]) &&
               RtlParseNumber(Value.Buffer, Length - 1, &Number) &&
               Number < 100) {

        Config->MinimumFree = 0;
        Config->MinimumFreePercent = (ULONG)Number;
        return;
    }

    PenterConfigError(Config,
                      "reading TRACER_MIN_FREE (2G, 5%)",
                      &Value,
                      STATUS_INVALID_PARAMETER);
}

//
// Reads TRACER_CONTROL: the size of the control file, or 0 for none.
// Config: the configuration.
//

static
VOID
PenterReadControl(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    ULONGLONG Number;

    Config->ControlSize = TRACE_CONTROL_DEFAULT;
    if (!PenterReadNumber(Rtl,
                          Config,
                          L"TRACER_CONTROL",
                          "reading TRACER_CONTROL (0, or 64K to 256M)",
                          0,
                          TRACE_CONTROL_MOST,
                          FALSE,
                          &Number)) {
        return;
    }

    if (Number == 0 || Number >= TRACE_CONTROL_LEAST) {
        Config->ControlSize = Number;
    } else {
        PenterConfigError(Config,
                          "reading TRACER_CONTROL (0, or 64K to 256M)",
                          NULL,
                          STATUS_INVALID_PARAMETER);
    }
}

//
// Leaves out what does not go with a tree, and says so: it needs times, it
// counts every call, and its one view is never full.
// Config: the configuration.
//

static
VOID
PenterSuitTree(
    _Inout_ PPENTER_CONFIG Config
    )
{
    UNICODE_STRING Mode;

    RtlPointUnicodeString(&Mode, L"TRACER_MODE=tree", 16);

    if (Config->Clock == TRACE_CLOCK_NONE) {
        Config->Clock = TRACE_CLOCK_TSC;
        PenterConfigError(Config,
                          "reading TRACER_CLOCK (tsc or thread with a tree)",
                          &Mode,
                          STATUS_NOT_SUPPORTED);
    }
    if (Config->MaximumDepth != 0) {
        Config->MaximumDepth = 0;
        PenterConfigError(Config,
                          "reading TRACER_MAX_DEPTH (not with a tree)",
                          &Mode,
                          STATUS_NOT_SUPPORTED);
    }
    if (Config->MinimumDuration != 0) {
        Config->MinimumDuration = 0;
        PenterConfigError(Config,
                          "reading TRACER_MIN_DURATION (not with a tree)",
                          &Mode,
                          STATUS_NOT_SUPPORTED);
    }
    if (Config->Flush) {
        Config->Flush = FALSE;
        PenterConfigError(Config,
                          "reading TRACER_FLUSH (not with a tree)",
                          &Mode,
                          STATUS_NOT_SUPPORTED);
    }
}

//
// Reads which clock is used, what is kept, and what is left out.
// Config: the configuration.
//

static
VOID
PenterReadChoices(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    ULONG Word;
    ULONGLONG Number;

    static const PCWSTR Clocks[] = { L"TSC", L"THREAD", L"NONE" };
    static const PCWSTR Modes[] = { L"FILE", L"RING", L"TREE",
                                    L"COMPACT", L"COMPACT-RING" };

    if (PenterReadWord(Rtl,
                       Config,
                       L"TRACER_CLOCK",
                       "reading TRACER_CLOCK (tsc, thread or none)",
                       Clocks,
                       RTL_NUMBER_OF(Clocks),
                       &Word)) {

        Config->Clock = Word;               // TRACE_CLOCK_*
    }

    if (PenterReadWord(Rtl,
                       Config,
                       L"TRACER_MODE",
                       "reading TRACER_MODE (file, ring, tree, compact or "
                       "compact-ring)",
                       Modes,
                       RTL_NUMBER_OF(Modes),
                       &Word)) {

        Config->IsRing = Word == 1 || Word == 4;
        Config->IsTree = Word == 2;
        Config->IsCompact = Word == 3 || Word == 4;
    }

    if (PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_MAX_BYTES",
                         "reading TRACER_MAX_BYTES (1M or more)",
                         TRACE_MAXIMUM_BYTES_LEAST,
                         INT64_MAX,
                         FALSE,
                         &Number)) {

        Config->MaximumBytes = Number;
    } else if (Config->IsRing) {
        Config->MaximumBytes = PENTER_DEFAULT_RING_BYTES;
    }

    if (PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_MAX_DEPTH",
                         "reading TRACER_MAX_DEPTH (1 to 16000)",
                         1,
                         TRACE_MAXIMUM_DEPTH,
                         FALSE,
                         &Number)) {

        Config->MaximumDepth = (ULONG)Number;
    }

    if (PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_FLUSH",
                         "reading TRACER_FLUSH (0 or 1)",
                         0,
                         1,
                         FALSE,
                         &Number)) {

        Config->Flush = (BOOLEAN)Number;
    }

    if (PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_STOPPED",
                         "reading TRACER_STOPPED (0 or 1)",
                         0,
                         1,
                         FALSE,
                         &Number)) {

        Config->IsStopped = (BOOLEAN)Number;
    }

    PenterReadDuration(Rtl, Config);
    PenterReadFree(Rtl, Config);
    PenterReadControl(Rtl, Config);
    if (Config->IsTree) {
        PenterSuitTree(Config);
    }
}

//
// Reads TRACER_CHRONO, the name of a file, or says that it has no effect
// without a tree.
// Config: the configuration.
//

static
VOID
PenterReadChrono(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING Value;
    ULONG Index;

    if (Config->IsTree) {
        PenterReadListName(Rtl,
                           Config,
                           L"TRACER_CHRONO",
                           "reading TRACER_CHRONO",
                           Config->ChronoFileBuffer,
                           &Config->ChronoFile);
        return;
    }

    Status = PenterReadVariable(Rtl,
                                Config,
                                L"TRACER_CHRONO",
                                "reading TRACER_CHRONO",
                                Config->Scratch,
                                &Value);
    if (!NT_SUCCESS(Status) || Value.Length == 0) {
        return;
    }

    Index = Config->NumberOfErrors;
    PenterConfigError(Config,
                      "reading TRACER_CHRONO (with TRACER_MODE=tree only)",
                      &Value,
                      STATUS_NOT_SUPPORTED);
    if (Index < Config->NumberOfErrors) {
        Config->Consequences[Index] = PENTER_CHRONO_CONSEQUENCE;
    }
}

//
// Reads the lists of TracerImports.dll, which nobody else has use for.
//

static
VOID
PenterReadImports(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
{
    ULONG Line;
    ULONGLONG Number;

    if (!PenterIsModuleOurs) {
        return;
    }

    if (!NT_SUCCESS(PenterReadVariable(Rtl,
                                       Config,
                                       L"TRACER_IMPORTS",
                                       "reading TRACER_IMPORTS",
                                       Config->ImportsBuffer,
                                       &Config->Imports))) {

        RtlPointUnicodeString(&Config->Imports, NULL, 0);
    }

    Line = Config->ValueLine;
    if (!NT_SUCCESS(PenterReadVariable(Rtl,
                                       Config,
                                       L"TRACER_CALLERS",
                                       "reading TRACER_CALLERS",
                                       Config->CallersBuffer,
                                       &Config->Callers))) {

        RtlPointUnicodeString(&Config->Callers, NULL, 0);
    }

    Config->IsEither = Config->Ini.IsCap && Line != 0 &&
                       Config->ValueLine != 0;
    if (PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_CHILDREN",
                         "reading TRACER_CHILDREN (0 or 1)",
                         0,
                         1,
                         FALSE,
                         &Number)) {

        Config->AreChildren = (BOOLEAN)Number;
    }
}

_Use_decl_annotations_
VOID
PenterReadConfig(
    PCRTL Rtl,
    PVOID ModuleBase,
    PPENTER_CONFIG Config
    )
{
    ULONGLONG Number;

    Config->Enabled = TRUE;
    if (!PenterIsProcessNamed &&
        PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_ENABLED",
                         "reading TRACER_ENABLED (0 or 1)",
                         0,
                         1,
                         FALSE,
                         &Number)) {

        Config->Enabled = (BOOLEAN)Number;
    }
    if (Config->Enabled && !PenterIsProcessNamed) {
        Config->Enabled = PenterReadPatterns(Rtl,
                                             Config,
                                             L"TRACER_EXECUTABLES",
                                             "reading TRACER_EXECUTABLES",
                                             NULL);
    }
    if (!Config->Enabled) {
        return;
    }

    if (PenterReadNumber(Rtl,
                         Config,
                         L"TRACER_VIEW_SIZE",
                         "reading TRACER_VIEW_SIZE (64K to 1G)",
                         TRACE_VIEW_MINIMUM_SIZE,
                         TRACE_VIEW_MAXIMUM_SIZE,
                         TRUE,
                         &Number)) {

        Config->MaximumViewSize = Number;
    }

    PenterReadChoices(Rtl, Config);
    PenterReadDirectory(Rtl, Config);
    PenterReadExclude(Rtl, Config);
    PenterReadChrono(Rtl, Config);
    PenterReadImports(Rtl, Config);
    Config->ModuleIncluded =
        PenterIsModuleOurs || PenterReadPatterns(Rtl,
                                                 Config,
                                                 L"TRACER_MODULES",
                                                 "reading TRACER_MODULES",
                                                 ModuleBase);
}
