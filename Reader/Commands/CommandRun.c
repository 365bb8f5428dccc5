/*++

Module Name:

    CommandRun.c

Abstract:

    TraceReader run: starts a program with settings, waits for it, and says what
    it left.  Nothing but the program writes to standard output before it has
    ended.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Base/BaseExit.h"
#include "../Base/BaseInject.h"
#include "../Base/BaseProgram.h"
#include "../Base/BaseSettings.h"
#include "../Session/SessionExit.h"
#include "../Session/SessionFind.h"
#include "../Session/SessionImports.h"
#include "../Session/SessionLog.h"
#include "Command.h"

#define READER_RUN_LOG_LINES 20
#define READER_RUN_REPORT_ROWS 10
#define READER_PROCESS_TIMES 4          // ProcessTimes

//
// The library's own, for children (Docs/Settings.md).
//

#define READER_BASE_VARIABLE "TRACER_BASE_DIRECTORY"

//
// TraceReader's own (OutputPager.c).
//

#define READER_PAGER_VARIABLE "TRACER_PAGER"

//
// What TracerPenterNull.lib has in it (PenterNull.asm), without the first
// letter: this is no program with hooks itself.
//

#define READER_NULL_MARK "racer: the hooks that record nothing"
#define READER_NULL_PIECE 0x10000u      // bytes that are read at once

//
// What the names of all settings begin with.
//

#define READER_PREFIX "TRACER_"
#define READER_PREFIX_LENGTH (sizeof(READER_PREFIX) - 1)

//
// Of a time with milliseconds: year, month, day, hour, minute, second.
//

#define READER_RUN_TIME_DIGITS 17

typedef struct _READER_RUN {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_PROGRAM Program;
    PWCHAR Root;                    // RTL_MAXIMUM_PATH_IN_CHARS, terminated:
                                    // where the session goes
    READER_EXIT Exit;
    ULONGLONG Start;                // of the process, as a session's name has
                                    // it
    PWCHAR ImportsDll;              // its path; NULL: it is not wanted
    READER_LOAD Load;               // of it
    ULONG NumberOfLines;            // of the logs
    ULONGLONG LogStart;             // as Start: earlier lines are not the run's
} READER_RUN;
typedef READER_RUN *PREADER_RUN;

//
// Checks a variable whose name begins with TRACER_.  FALSE if the program is
// not to be started: a name that is nearly one of the settings', or a value
// that the library would not take.
//

static
BOOLEAN
CommandCheckVariable(
    _In_ PREADER_RUN Run,
    _In_z_ PCWSTR Text
    )
{
    PRTL_WRITER Errors = Run->Context->Errors;
    CHAR Name[64];
    READER_NEAREST Nearest;
    ULONG Length = 0;
    ULONG Setting;
    ULONG Index;

    while (Text[Length] != L'=') {
        if (Length == sizeof(Name) - 1 || Text[Length] == 0 ||
            Text[Length] > 0x7E) {
            return TRUE;
        }
        Name[Length] = (CHAR)Text[Length];
        if (Name[Length] >= 'a' && Name[Length] <= 'z') {
            Name[Length] -= 'a' - 'A';
        }
        Length += 1;
    }

    Name[Length] = 0;
    Setting = BaseFindSetting(Name, Length);
    if (Setting != ReaderSettingCount) {
        if (Text[Length + 1] == 0 ||
            Run->Options->Settings[Setting] != NULL ||
            BaseIsSettingGood(&BaseSettings[Setting], Text + Length + 1)) {
            return TRUE;
        }

        RtlWriteText(Errors,
                     "TraceReader: run: the environment has %T=%S, which is "
                     "not a value that this setting takes (see "
                     "Docs/Settings.md)\n",
                     Name,
                     Text + Length + 1);

        //
        // cmd makes quotes behind the = part of the value.
        //

        if (Text[Length + 1] == L'"') {
            RtlWriteText(Errors,
                         "  in cmd the quotes go around all of it: "
                         "set \"%T=VALUE\"\n",
                         Name);
        }

        return FALSE;
    }

    if (RtlAreStringsEqual(Name, READER_BASE_VARIABLE) ||
        RtlAreStringsEqual(Name, READER_PAGER_VARIABLE)) {
        return TRUE;
    }

    //
    // What all have in common does not make them alike.
    //

    BaseBeginNearest(&Nearest, Name + READER_PREFIX_LENGTH);
    for (Index = 0; Index < ReaderSettingCount; Index++) {
        BaseOfferNearest(&Nearest,
                         BaseSettings[Index].Variable + READER_PREFIX_LENGTH);
    }

    if (Nearest.Best == NULL) {
        RtlWriteText(Errors,
                     "TraceReader: run: note: there is no setting %T, which "
                     "the environment has\n",
                     Name);
        return TRUE;
    }

    RtlWriteText(Errors,
                 "TraceReader: run: the environment has %T, which is no "
                 "setting: did you mean " READER_PREFIX "%s?\n",
                 Name,
                 Nearest.Best);
    return FALSE;
}

//
// Checks all of the environment's.
//

static
BOOLEAN
CommandCheckEnvironment(
    _In_ PREADER_RUN Run
    )
{
    static const CHAR Prefix[] = READER_PREFIX;
    PCWSTR Text = Run->Program.Routines.GetEnvironmentStringsW();
    BOOLEAN IsGood = TRUE;
    ULONG Index;

    //
    // The copy lives until the process ends.
    //

    if (Text == NULL) {
        return TRUE;
    }

    while (Text[0] != 0) {

        for (Index = 0; Prefix[Index] != 0; Index++) {
            if (Text[Index] != (WCHAR)Prefix[Index] &&
                Text[Index] != (WCHAR)(Prefix[Index] + ('a' - 'A'))) {
                break;
            }
        }

        if (Prefix[Index] == 0 && !CommandCheckVariable(Run, Text)) {
            IsGood = FALSE;
        }

        Text += RtlLengthOfWideString(Text) + 1;
    }

    RtlFlushWriter(Run->Context->Errors);
    return IsGood;
}

//
// Is it the name that stands for no file?
//

static
BOOLEAN
CommandIsNul(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Text
    )
{
    static const WCHAR Nul[] = L"NUL";
    ULONG Index;

    for (Index = 0; Index < 3; Index++) {
        if (Text->Length != 3 * sizeof(WCHAR) ||
            Rtl->RtlUpcaseUnicodeChar(Text->Buffer[Index]) != Nul[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Makes a path one that means the same in every directory, and sets a variable
// to it.
// Path: RTL_MAXIMUM_PATH_IN_CHARS + 1, terminated.
//

static
BOOLEAN
CommandSetFullPath(
    _In_ PREADER_RUN Run,
    _In_z_ PCWSTR Variable,
    _Inout_ PWCHAR Path
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Value;
    NTSTATUS Status = STATUS_NO_MEMORY;
    PWCHAR Full;
    ULONG Length;

    Full = (PWCHAR)Allocator->Allocate(
        Allocator->Context, (RTL_MAXIMUM_PATH_IN_CHARS + 1) * sizeof(WCHAR));
    if (Full != NULL) {

        //
        // What has no full path stays as it is: the library reports it.
        //

        Length = Context->Rtl->GetFullPathNameW(Path,
                                                RTL_MAXIMUM_PATH_IN_CHARS,
                                                Full,
                                                NULL);
        if (Length != 0 && Length < RTL_MAXIMUM_PATH_IN_CHARS) {
            RtlCopyBytes(Path, Full, ((SIZE_T)Length + 1) * sizeof(WCHAR));
        }

        RtlPointUnicodeString(&Value, Path, RtlLengthOfWideString(Path));
        Status = RtlSetEnvironment(Context->Rtl, Variable, &Value);
        Allocator->Free(Allocator->Context, Full);
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "set the environment of the program",
                 Run->Options->PathUtf8,
                 Status);
        return FALSE;
    }

    return TRUE;
}

//
// Says so when a list of modules has a comma or a blank in a name and no
// semicolon: names may have them, but lists are meant more often.
//

static
VOID
CommandNoteModules(
    _In_ PREADER_RUN Run,
    _In_ PCREADER_SETTING Setting,
    _In_z_ PCWSTR Text
    )
{
    ULONG Length = RtlLengthOfWideString(Text);
    BOOLEAN IsSuspect = FALSE;
    ULONG Index;

    for (Index = 0; Index < Length; Index++) {
        if (Text[Index] == L';') {
            return;
        }
        IsSuspect = IsSuspect || Text[Index] == L',' ||
                    (Text[Index] == L' ' && Index != 0 &&
                     Index + 1 < Length);
    }

    if (IsSuspect) {
        RtlWriteText(Run->Context->Errors,
                     "TraceReader: run: note: %s=%S is one name; semicolons "
                     "separate several\n",
                     Setting->Variable,
                     Text);
        RtlFlushWriter(Run->Context->Errors);
    }
}

//
// Is it the list that stands for the ini file's?
//

static
BOOLEAN
CommandIsIni(
    _In_z_ PCWSTR Text
    )
{
    return Text[0] == L'@' && (Text[1] | 0x20) == L'i' &&
           (Text[2] | 0x20) == L'n' && (Text[3] | 0x20) == L'i' && Text[4] == 0;
}

//
// Gives the program its settings, and finds out where its session goes.
//

static
BOOLEAN
CommandSetEnvironment(
    _In_ PREADER_RUN Run
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    PCREADER_OPTIONS Options = Run->Options;
    WCHAR Variable[32];
    UNICODE_STRING Value;
    NTSTATUS Status;
    ULONG Index;
    ULONG Length;

    for (Index = 0; Index < ReaderSettingCount; Index++) {

        if (Options->Settings[Index] == NULL) {
            continue;
        }

        RtlUtf8ToWide(BaseSettings[Index].Variable,
                      RtlLengthOfString(BaseSettings[Index].Variable),
                      Variable,
                      RTL_NUMBER_OF(Variable) - 1,
                      &Length);
        Variable[Length] = 0;
        RtlPointUnicodeString(&Value,
                              Options->Settings[Index],
                              RtlLengthOfWideString(Options->Settings[Index]));
        if (BaseSettings[Index].Kind == ReaderSettingModules) {
            CommandNoteModules(Run,
                               &BaseSettings[Index],
                               Options->Settings[Index]);
        }

        //
        // A path is one from here, wherever a program may be then.
        //

        if (Index == ReaderSettingOfExclude || Index == ReaderSettingOfChrono ||
            (Index == ReaderSettingOfConfig &&
             !CommandIsNul(Context->Rtl, &Value))) {

            RtlCopyBytes(Run->Root,
                         Value.Buffer,
                         (SIZE_T)Value.Length + sizeof(WCHAR));
            if (!CommandSetFullPath(Run, Variable, Run->Root)) {
                return FALSE;
            }
            continue;
        }

        //
        // What the ini file says is asked for where the variable is empty.
        //

        if ((Index == ReaderSettingOfImports ||
             Index == ReaderSettingOfCallers) &&
            CommandIsIni(Value.Buffer)) {
            RtlPointUnicodeString(&Value, NULL, 0);
        }

        Status = RtlSetEnvironment(Context->Rtl, Variable, &Value);
        if (!NT_SUCCESS(Status)) {
            BaseFail(Context,
                     "set an environment variable",
                     BaseSettings[Index].Variable,
                     Status);
            return FALSE;
        }
    }

    //
    // TRACER_DIRECTORY; without it, what an ini file says, which takes
    // precedence over the base directory.
    //

    if (SessionQueryPlace(Context, 0, Run->Root, RTL_MAXIMUM_PATH_IN_CHARS)) {
        return CommandSetFullPath(Run, L"TRACER_DIRECTORY", Run->Root);
    }

    if (SessionQueryPlace(Context, 1, Run->Root, RTL_MAXIMUM_PATH_IN_CHARS)) {
        RtlPointUnicodeString(&Value,
                              Run->Root,
                              RtlLengthOfWideString(Run->Root));
        Status = RtlSetEnvironment(Context->Rtl,
                                   L"" READER_BASE_VARIABLE,
                                   &Value);
        if (NT_SUCCESS(Status)) {
            return TRUE;
        }
    }

    (VOID)SessionQueryPlace(Context, 2, Run->Root, RTL_MAXIMUM_PATH_IN_CHARS);
    return TRUE;
}

//
// A process's start, as the name of its session says it.
//

static
ULONGLONG
CommandQueryStart(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Process
    )
{
    ULONGLONG Times[4];                 // KERNEL_USER_TIMES
    RTL_CALENDAR_TIME Time;

    if (!NT_SUCCESS(Context->Rtl->NtQueryInformationProcess(
            Process,
            READER_PROCESS_TIMES,
            Times,
            sizeof(Times),
            NULL))) {
        return 0;
    }

    RtlSystemTimeToCalendar(Times[0], &Time);
    return (((((Time.Year * 100ULL + Time.Month) * 100 + Time.Day) * 100 +
              Time.Hour) * 100 + Time.Minute) * 100 + Time.Second) * 1000 +
           Time.Milliseconds;
}

//
// Are imports to be recorded?  The DLL that does it has to be there then.
// FALSE if it is not.
//

static
BOOLEAN
CommandFindImports(
    _Inout_ PREADER_RUN Run
    )
{
    static const PCWSTR Variables[] = { L"TRACER_IMPORTS", L"TRACER_CALLERS" };
    PCREADER_CONTEXT Context = Run->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    WCHAR Buffer[16];
    UNICODE_STRING Value;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;
    BOOLEAN IsWanted =
        Run->Options->Settings[ReaderSettingOfImports] != NULL ||
        Run->Options->Settings[ReaderSettingOfCallers] != NULL;

    for (Index = 0; Index < RTL_NUMBER_OF(Variables); Index++) {
        RtlPointUnicodeString(&Value, Buffer, 0);
        Status = RtlQueryEnvironment(Context->Rtl,
                                     Variables[Index],
                                     Buffer,
                                     RTL_NUMBER_OF(Buffer),
                                     &Value);
        IsWanted = IsWanted || Status == STATUS_BUFFER_TOO_SMALL ||
                   (NT_SUCCESS(Status) && Value.Length != 0);
    }

    if (!IsWanted) {
        if (Run->Options->Settings[ReaderSettingOfChildren] != NULL) {
            RtlWriteText(Context->Errors,
                         "TraceReader: run: note: --children is about what "
                         "--imports and --callers record; programs with hooks "
                         "are recorded whoever starts them\n");
            RtlFlushWriter(Context->Errors);
        }
        return TRUE;
    }

    Status = STATUS_NO_MEMORY;
    Run->ImportsDll = (PWCHAR)Allocator->Allocate(
        Allocator->Context, (RTL_MAXIMUM_PATH_IN_CHARS + 1) * sizeof(WCHAR));
    if (Run->ImportsDll != NULL) {
        Status = BaseFindImportsDll(Context->Rtl, Allocator, Run->ImportsDll);
    }
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "find what records imports, beside TraceReader.exe",
                 "TracerImports.dll",
                 Status);
        return FALSE;
    }

    return TRUE;
}

//
// Makes the program, which has not begun, load the DLL, and lets it begin.
// FALSE if it is one that cannot: then it has ended.
//

static
BOOLEAN
CommandBeginImports(
    _Inout_ PREADER_RUN Run,
    _In_ HANDLE Thread
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    PCRTL Rtl = Context->Rtl;

    BaseInjectDll(Rtl,
                  Run->Program.Process,
                  Run->Program.ProcessId,
                  Thread,
                  Run->ImportsDll,
                  &Run->Load);
    if (Run->Load.IsRefused) {
        (VOID)Run->Program.Routines.TerminateProcess(Run->Program.Process, 1);
        RtlWriteText(Context->Errors,
                     "TraceReader: run: the imports of %T cannot be recorded: "
                     "%T; it was not run\n",
                     Run->Options->PathUtf8,
                     Run->Load.Step);
        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    if (Run->Load.Step != NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: run: no imports are recorded: %T: 0x%08x; "
                     "the program runs without\n",
                     Run->Load.Step,
                     (ULONG)Run->Load.Status);
        RtlFlushWriter(Context->Errors);
    }

    (VOID)Rtl->NtResumeThread(Thread, NULL);
    return TRUE;
}

//
// Are all lists that the options give those of an ini file?
//

static
BOOLEAN
CommandAreListsIni(
    _In_ PCREADER_OPTIONS Options
    )
{
    PCWSTR Imports = Options->Settings[ReaderSettingOfImports];
    PCWSTR Callers = Options->Settings[ReaderSettingOfCallers];

    return (Imports != NULL || Callers != NULL) &&
           (Imports == NULL || CommandIsIni(Imports)) &&
           (Callers == NULL || CommandIsIni(Callers));
}

//
// Says so if the DLL has not done what it was loaded for.
//

static
VOID
CommandEndImports(
    _Inout_ PREADER_RUN Run
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    LARGE_INTEGER Now;

    Now.QuadPart = 0;
    if (Run->Load.Event == NULL) {
        return;
    }

    if (Run->Load.Step == NULL &&
        Context->Rtl->NtWaitForSingleObject(Run->Load.Event,
                                            FALSE,
                                            &Now) != STATUS_SUCCESS) {

        RtlWriteText(Context->Errors,
                     "TraceReader: run: no imports were recorded: "
                     "TracerImports.dll was not loaded by %T, or has nothing "
                     "to record%s\n",
                     Run->Options->PathUtf8,
                     CommandAreListsIni(Run->Options)
                         ? ": no ini file was found with [imports] or "
                           "[callers] (Docs/Settings.md says where it is "
                           "looked for)"
                         : "");
    }

    RtlClose(Context->Rtl, Run->Load.Event);
    Run->Load.Event = NULL;
}

//
// Runs the program to its end.  FALSE if it could not be started; the error has
// been written.
//

static
BOOLEAN
CommandRunProgram(
    _Inout_ PREADER_RUN Run
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    PCRTL Rtl = Context->Rtl;
    PCALLOCATOR Allocator = Context->Allocator;
    HANDLE Process;
    HANDLE Thread = NULL;
    BOOLEAN IsBegun = TRUE;
    PWCHAR CommandLine;
    ULONG Length = RtlLengthOfWideString(Run->Options->Path);
    ULONG RestLength = RtlLengthOfWideString(Run->Options->Program);
    DWORD ExitCode = 0;
    ULONGLONG Times[4];                 // KERNEL_USER_TIMES
    NTSTATUS Status;

    //
    // CreateProcessW reads the first argument by other rules than the rest:
    // in quotes there is one reading.
    //

    CommandLine = (PWCHAR)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Length + RestLength + 4) * sizeof(WCHAR));
    if (CommandLine == NULL) {
        BaseFail(Context,
                 "start the program",
                 Run->Options->PathUtf8,
                 STATUS_NO_MEMORY);
        return FALSE;
    }

    CommandLine[0] = L'"';
    RtlCopyBytes(CommandLine + 1, Run->Options->Path, Length * sizeof(WCHAR));
    CommandLine[Length + 1] = L'"';
    CommandLine[Length + 2] = RestLength != 0 ? L' ' : 0;
    RtlCopyBytes(CommandLine + Length + 3,
                 Run->Options->Program,
                 ((SIZE_T)RestLength + 1) * sizeof(WCHAR));
    Status = BaseStartProgram(&Run->Program,
                              CommandLine,
                              NULL,
                              Run->ImportsDll != NULL ? &Thread : NULL);
    Allocator->Free(Allocator->Context, CommandLine);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context, "start the program", Run->Options->PathUtf8, Status);
        return FALSE;
    }

    Process = Run->Program.Process;
    if (Thread != NULL) {
        IsBegun = CommandBeginImports(Run, Thread);
        Rtl->NtClose(Thread);
    }
    if (!IsBegun) {
        Rtl->NtClose(Process);
        return FALSE;
    }

    Run->Exit.ProcessId = Run->Program.ProcessId;
    Run->Start = CommandQueryStart(Context, Process);
    (VOID)Rtl->NtWaitForSingleObject(Process, FALSE, NULL);

    Run->Program.Routines.GetExitCodeProcess(Process, &ExitCode);
    Run->Exit.ExitCode = ExitCode;
    if (NT_SUCCESS(Rtl->NtQueryInformationProcess(Process,
                                                  READER_PROCESS_TIMES,
                                                  Times,
                                                  sizeof(Times),
                                                  NULL))) {
        Run->Exit.CreationTime = Times[0];
        Run->Exit.ExitTime = Times[1];
        Run->Exit.KernelTime = Times[2];
        Run->Exit.UserTime = Times[3];
    }

    Rtl->NtClose(Process);
    return TRUE;
}

//
// Does a log's line begin with a time before another?
// Time: as Start has it.
//

static
BOOLEAN
CommandIsLineEarlier(
    _In_reads_bytes_(LengthInBytes) const CHAR *Line,
    _In_ ULONG LengthInBytes,
    _In_ ULONGLONG Time
    )
{
    ULONGLONG Number = 0;
    ULONG Digits = 0;
    ULONG Index;

    for (Index = 0;
         Index < LengthInBytes && Digits < READER_RUN_TIME_DIGITS;
         Index++) {
        if (Line[Index] >= '0' && Line[Index] <= '9') {
            Number = Number * 10 + (ULONGLONG)(Line[Index] - '0');
            Digits += 1;
        }
    }

    return Digits == READER_RUN_TIME_DIGITS && Number < Time;
}

static
VOID
CommandPutLogLine(
    _In_opt_ PVOID RoutineContext,
    _In_reads_bytes_(LengthInBytes) const CHAR *Line,
    _In_ ULONG LengthInBytes
    )
{
    PREADER_RUN Run = (PREADER_RUN)RoutineContext;
    PRTL_WRITER Errors = Run->Context->Errors;

    if (CommandIsLineEarlier(Line, LengthInBytes, Run->LogStart)) {
        return;
    }

    if (Run->NumberOfLines < READER_RUN_LOG_LINES) {
        RtlWriteText(Errors, "  ");
        RtlWriteCleanText(Errors, Line, LengthInBytes);
        RtlWriteText(Errors, "\n");
    }

    Run->NumberOfLines += 1;
}

//
// Repeats what the logs of a directory say.
// Path: a DOS path.
// IsTemporary: it is the temporary directory, where an earlier process of the
// same identifier may have left one.
// Returns FALSE if there is nothing.
//

static
BOOLEAN
CommandPutLogs(
    _In_ PREADER_RUN Run,
    _In_z_ PCWSTR Path,
    _In_ BOOLEAN IsTemporary,
    _In_z_ PCWSTR Suffix
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;

    Run->NumberOfLines = 0;
    Run->LogStart = IsTemporary ? Run->Start : 0;
    if (NT_SUCCESS(BaseMakeNtPath(Context, Path, &NtPath))) {
        SessionListLog(Context,
                       NULL,
                       &NtPath,
                       IsTemporary,
                       Suffix,
                       CommandPutLogLine,
                       Run);
    }

    if (Run->NumberOfLines > READER_RUN_LOG_LINES) {
        RtlWriteText(Context->Errors,
                     "  %u more lines are in the logs there\n",
                     Run->NumberOfLines - READER_RUN_LOG_LINES);
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    return Run->NumberOfLines != 0;
}

//
// Has a process of the run's left a log in the temporary directory?  Its lines
// are written.
//

static
BOOLEAN
CommandPutTemporaryLog(
    _In_ PREADER_RUN Run
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    CHAR Text[32];
    WCHAR Suffix[32];
    RTL_WRITER Writer;
    ULONG Length;
    BOOLEAN IsFound = FALSE;
    PWCHAR Directory;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "-%u.LOG", Run->Exit.ProcessId);
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Suffix,
                  RTL_NUMBER_OF(Suffix) - 1,
                  &Length);
    Suffix[Length] = 0;
    Directory = (PWCHAR)Context->Allocator->Allocate(
        Context->Allocator->Context,
        (RTL_MAXIMUM_PATH_IN_CHARS + 1) * sizeof(WCHAR));
    if (Directory == NULL) {
        return FALSE;
    }

    if (Context->Rtl->GetTempPathW(RTL_MAXIMUM_PATH_IN_CHARS, Directory) != 0) {
        IsFound = CommandPutLogs(Run, Directory, TRUE, Suffix);
    }

    Context->Allocator->Free(Context->Allocator->Context, Directory);
    return IsFound;
}

//
// Names the settings that may leave the program out.
//

static
VOID
CommandPutSettings(
    _In_ PREADER_RUN Run
    )
{
    static const struct {
        PCWSTR Name;
        WCHAR Harmless;             // the value that leaves nothing out
    } Variables[] = {
        { L"TRACER_MODULES", 0 },
        { L"TRACER_EXECUTABLES", 0 },
        { L"TRACER_ENABLED", L'1' }
    };
    WCHAR Buffer[256];
    UNICODE_STRING Value;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Variables); Index++) {
        if (NT_SUCCESS(RtlQueryEnvironment(Run->Context->Rtl,
                                           Variables[Index].Name,
                                           Buffer,
                                           RTL_NUMBER_OF(Buffer),
                                           &Value)) &&
            Value.Length != 0 && Buffer[0] != Variables[Index].Harmless) {

            RtlWriteText(Run->Context->Errors,
                         "  %S=%Z may leave it out.\n",
                         Variables[Index].Name,
                         &Value);
        }
    }
}

//
// Names the crash that an exit code tells of, and says how to look at it.
// Path: the session's; NULL if there is none.
//

static
VOID
CommandPutCrash(
    _In_ PREADER_RUN Run,
    _In_opt_z_ PCWSTR Path
    )
{
    PRTL_WRITER Errors = Run->Context->Errors;
    WCHAR Buffer[16];
    UNICODE_STRING Mode;

    if (!BaseIsCrash(Run->Exit.ExitCode)) {
        return;
    }

    RtlWriteText(Errors,
                 "TraceReader: run: %T ended with ",
                 Run->Options->PathUtf8);
    BaseDescribeExit(Errors, Run->Exit.ExitCode, TRUE);
    RtlWriteText(Errors, "\n");

    //
    // A tree has no single calls.
    //

    if (Path != NULL &&
        !(NT_SUCCESS(RtlQueryEnvironment(Run->Context->Rtl,
                                         L"TRACER_MODE",
                                         Buffer,
                                         RTL_NUMBER_OF(Buffer),
                                         &Mode)) &&
          (Mode.Buffer[0] | 0x20) == L't')) {

        RtlWriteText(Errors,
                     "  what it did last:\n"
                     "  TraceReader replay --tail 40 \"%S\"\n",
                     Path);
    }
}

//
// Is the program linked with TracerPenterNull.lib, whose hooks record nothing?
// What cannot be read is not.
//

static
BOOLEAN
CommandIsUntraced(
    _In_ PREADER_RUN Run
    )
{
    static const CHAR Mark[] = READER_NULL_MARK;
    PCREADER_CONTEXT Context = Run->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Path;
    UNICODE_STRING NtPath;
    PWCHAR Buffer;
    PCHAR Bytes;
    HANDLE File = NULL;
    ULONGLONG Offset = 0;
    ULONG Size = 0;
    ULONG Index;
    ULONG Length;
    BOOLEAN IsFound = FALSE;

    Buffer = (PWCHAR)Allocator->Allocate(
        Allocator->Context,
        RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR) + READER_NULL_PIECE);
    if (Buffer == NULL) {
        return FALSE;
    }

    Bytes = (PCHAR)(Buffer + RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Path,
                          Run->Options->Path,
                          RtlLengthOfWideString(Run->Options->Path));
    if (NT_SUCCESS(RtlDosPathToNtPath(Context->Rtl,
                                      &Path,
                                      Buffer,
                                      RTL_MAXIMUM_PATH_IN_CHARS,
                                      &NtPath)) &&
        !NT_SUCCESS(RtlOpenFileForReading(Context->Rtl, &NtPath, &File))) {
        File = NULL;
    }

    //
    // A piece begins where the mark may have been cut off at the end of the
    // one before.
    //

    while (File != NULL && !IsFound &&
           NT_SUCCESS(RtlReadFile(Context->Rtl,
                                  File,
                                  Offset,
                                  Bytes,
                                  READER_NULL_PIECE,
                                  &Size)) &&
           Size >= sizeof(Mark)) {

        for (Index = 0; Index <= Size - sizeof(Mark) && !IsFound; Index++) {
            Length = 0;
            while (Length < sizeof(Mark) - 1 &&
                   Bytes[Index + 1 + Length] == Mark[Length]) {
                Length += 1;
            }
            IsFound = Length == sizeof(Mark) - 1 && Bytes[Index] == 'T';
        }

        Offset += Size - sizeof(Mark) + 1;
    }

    RtlClose(Context->Rtl, File);
    Allocator->Free(Allocator->Context, Buffer);
    return IsFound;
}

//
// Says that there is no session, and what may be the reason.
// Later: sessions that are there, of processes that started later.
//

static
VOID
CommandPutNoSession(
    _In_ PREADER_RUN Run,
    _In_ ULONG Later
    )
{
    PCREADER_OPTIONS Options = Run->Options;
    PRTL_WRITER Errors = Run->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: run: %T left no session in %S\n",
                 Options->PathUtf8,
                 Run->Root);
    CommandPutCrash(Run, NULL);
    if (Later != 0) {
        RtlWriteText(Errors,
                     "  but %u session%s of processes that started later %s "
                     "there (TraceReader sessions lists them)\n",
                     Later,
                     Later == 1 ? "" : "s",
                     Later == 1 ? "is" : "are");
        return;
    }

    //
    // What could not be loaded has run no function.
    //

    if (Run->Exit.ExitCode == (ULONG)STATUS_DLL_NOT_FOUND ||
        Run->Exit.ExitCode == (ULONG)STATUS_ENTRYPOINT_NOT_FOUND ||
        Run->Exit.ExitCode == (ULONG)STATUS_ORDINAL_NOT_FOUND ||
        Run->Exit.ExitCode == (ULONG)STATUS_DLL_INIT_FAILED) {
        return;
    }

    CommandPutSettings(Run);
    if (CommandIsUntraced(Run)) {
        RtlWriteText(Errors,
                     "  It is linked with TracerPenterNull.lib, whose hooks "
                     "record nothing: link\n"
                     "  TracerPenter.lib in its place.\n");
    } else if (!CommandPutTemporaryLog(Run) &&
               !CommandAreListsIni(Options)) {
        RtlWriteText(
            Errors,
            "  Neither it nor a DLL that it loaded has hooks that recorded "
            "anything.\n"
            "  Compile it with hooks (MSVC: /Gh /GH; gcc and clang: "
            "-finstrument-functions;\n"
            "  clang-cl: /clang:-finstrument-functions) and link "
            "TracerPenter.lib:\n"
            "  Docs/Building.md has more.  As it is, its calls into DLLs can "
            "be recorded:\n"
            "  run --imports * (Docs/Imports.md).\n"
            "  If it is built so: an ini file may name another directory, or "
            "leave it out.\n");
    }
}

//
// Reads the session as report does: that puts the functions' names and lines
// into it, which a later build of the program would take away.
// IsShown: whether the report is written.
//

static
VOID
CommandReportRun(
    _In_ PREADER_RUN Run,
    _In_z_ PCWSTR Path,
    _In_z_ PCSZ PathUtf8,
    _In_ BOOLEAN IsShown
    )
{
    READER_CONTEXT Context = *Run->Context;
    READER_OPTIONS Options = *Run->Options;
    RTL_WRITER Nowhere;
    CHAR Buffer[16];

    Options.Command = ReaderReportCommand.Name;
    Options.Path = Path;
    Options.PathUtf8 = PathUtf8;
    Options.Given = READER_OPTION_LINES;
    if (IsShown) {
        Options.Given =
            (Run->Options->Given & READER_OPTION_NO_SYMBOLS) != 0
                ? READER_OPTION_NO_CACHE
                : 0;
    }
    Options.Limit = IsShown ? READER_RUN_REPORT_ROWS : ~0ULL;
    if (!IsShown) {
        RtlInitializeBufferWriter(&Nowhere, Buffer, sizeof(Buffer));
        Context.Output = &Nowhere;
        Context.Errors = &Nowhere;
    }

    (VOID)ReaderReportCommand.Routine(&Context, &Options);
}

//
// Does the name of one of a session's modules begin with a text, in any case?
//

static
BOOLEAN
CommandIsModuleRecorded(
    _In_ const READER_SESSION *Session,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Module;
    ULONG Index;

    for (Module = 0; Module < Session->NumberOfModules; Module++) {

        const READER_MODULE *This = Session->Modules[Module];

        for (Index = 0;
             Index < LengthInBytes && Index < This->NameLength;
             Index++) {

            CHAR Letter = This->Name[Index] ^ Text[Index];

            if (Letter != 0 &&
                (Letter != 0x20 || (Text[Index] | 0x20) < 'a' ||
                 (Text[Index] | 0x20) > 'z')) {
                break;
            }
        }

        if (Index == LengthInBytes) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Names the parts of TRACER_MODULES that fit no module of the session: beside
// one that fits, the library says nothing of them.
//

static
VOID
CommandPutModules(
    _In_ PREADER_RUN Run,
    _In_z_ PCWSTR Path
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    WCHAR Buffer[256];
    CHAR List[3 * RTL_NUMBER_OF(Buffer)];
    READER_SESSION Session;
    UNICODE_STRING Value;
    RTL_ERROR Error;
    ULONG Length;
    ULONG Start;
    ULONG End;
    ULONG Last;

    if (!NT_SUCCESS(RtlQueryEnvironment(Context->Rtl,
                                        L"TRACER_MODULES",
                                        Buffer,
                                        RTL_NUMBER_OF(Buffer),
                                        &Value)) ||
        Value.Length == 0 ||
        !NT_SUCCESS(SessionOpenSession(&Session, Context, Path, &Error))) {
        return;
    }

    RtlWideToUtf8(Value.Buffer,
                  Value.Length / sizeof(WCHAR),
                  List,
                  sizeof(List),
                  &Length);
    for (Start = 0; Start < Length; Start = End + 1) {

        for (End = Start; End < Length && List[End] != ';'; End++) {
        }

        while (Start < End && (List[Start] == ' ' || List[Start] == '\t')) {
            Start += 1;
        }

        Last = End;
        while (Last > Start &&
               (List[Last - 1] == ' ' || List[Last - 1] == '\t')) {
            Last -= 1;
        }

        if (Last == Start || List[Start] == '-' ||
            CommandIsModuleRecorded(&Session, List + Start, Last - Start)) {
            continue;
        }

        RtlWriteText(Context->Errors, "  nothing was recorded of a module ");
        RtlWriteCleanText(Context->Errors, List + Start, Last - Start);
        RtlWriteText(Context->Errors,
                     "...: none of that name ran functions with hooks\n");
    }

    SessionCloseSession(&Session);
}

//
// Says what the program left.
//

static
VOID
CommandPutRun(
    _In_ PREADER_RUN Run
    )
{
    PCREADER_CONTEXT Context = Run->Context;
    PCREADER_OPTIONS Options = Run->Options;
    PCALLOCATOR Allocator = Context->Allocator;
    PRTL_WRITER Errors = Context->Errors;
    READER_FOUND_LIST List;
    PCREADER_FOUND Found = NULL;
    PWCHAR Path = Run->Root;
    PCHAR PathUtf8;
    ULONG Later = 0;
    ULONG Length;
    ULONG Index;
    NTSTATUS Status;

    if (!NT_SUCCESS(SessionListFound(Context, Run->Root, &List))) {
        SessionFreeFound(&List);
        CommandPutNoSession(Run, 0);
        return;
    }

    for (Index = 0; Index < List.Number; Index++) {
        if (List.Found[Index].ProcessId == Run->Exit.ProcessId &&
            List.Found[Index].Start == Run->Start) {
            Found = &List.Found[Index];
            break;
        }
        Later += List.Found[Index].Start >= Run->Start;
    }

    Length = RtlLengthOfWideString(Path);
    if (Found == NULL ||
        Length + 2 + Found->Name.Length / sizeof(WCHAR) >
            RTL_MAXIMUM_PATH_IN_CHARS) {
        SessionFreeFound(&List);
        CommandPutNoSession(Run, Later);
        return;
    }

    if (Path[Length - 1] != L'\\' && Path[Length - 1] != L'/') {
        Path[Length] = L'\\';
        Length += 1;
    }

    RtlCopyBytes(Path + Length, Found->Name.Buffer, Found->Name.Length);
    Length += Found->Name.Length / sizeof(WCHAR);
    Path[Length] = 0;
    SessionFreeFound(&List);

    RtlWriteText(Errors, "TraceReader: run: the session is %S\n", Path);
    if (Later != 0) {
        RtlWriteText(Errors,
                     "  and %u more %s there, of processes that started "
                     "later\n",
                     Later,
                     Later == 1 ? "is" : "are");
    }

    //
    // Without this the session does not say how the program ended.
    //

    Status = SessionWriteExit(Context, Path, &Run->Exit);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "keep the exit code in the session",
                 READER_EXIT_FILE_NAME,
                 Status);
    }

    CommandPutCrash(Run, Path);

    if (Run->ImportsDll != NULL && SessionImportsCount(Context, Path) == 0) {
        RtlWriteText(Errors,
                     "  nothing of --imports is imported by a module of "
                     "--callers\n");
    }

    //
    // A part may be meant for a process that this one started.
    //

    if (Later == 0) {
        CommandPutModules(Run, Path);
    }

    (VOID)CommandPutLogs(Run, Path, FALSE, L".LOG");
    RtlFlushWriter(Errors);

    PathUtf8 = (PCHAR)Allocator->Allocate(Allocator->Context,
                                          (SIZE_T)Length * 3 + 1);
    if (PathUtf8 == NULL) {
        return;
    }

    RtlWideToUtf8(Path, Length, PathUtf8, Length * 3, &Index);
    PathUtf8[Index] = 0;

    //
    // From here on Ctrl+C is meant for this program.
    //

    BaseTakeBreak(&Run->Program);
    if ((Options->Given & READER_OPTION_NO_SYMBOLS) == 0) {
        CommandReportRun(Run, Path, PathUtf8, FALSE);
    }
    if ((Options->Given & READER_OPTION_REPORT) != 0) {
        CommandReportRun(Run, Path, PathUtf8, TRUE);
    }

    Allocator->Free(Allocator->Context, PathUtf8);
}

static
ULONG
CommandRun(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_RUN Run;
    ULONG ExitCode = READER_EXIT_FAILURE;

    RtlZeroBytes(&Run, sizeof(Run));
    Run.Context = Context;
    Run.Options = Options;
    if (!NT_SUCCESS(BaseLoadProgram(&Run.Program, Context))) {
        return BaseFail(Context,
                        "find the routines that start programs",
                        "kernel32.dll",
                        STATUS_NOT_SUPPORTED);
    }

    Run.Root = (PWCHAR)Allocator->Allocate(
        Allocator->Context, (RTL_MAXIMUM_PATH_IN_CHARS + 1) * sizeof(WCHAR));
    if (Run.Root == NULL) {
        return BaseFail(Context,
                        "start the program",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    if (CommandCheckEnvironment(&Run) && CommandSetEnvironment(&Run) &&
        CommandFindImports(&Run) && CommandRunProgram(&Run)) {

        ExitCode = Run.Exit.ExitCode;
        CommandEndImports(&Run);
        CommandPutRun(&Run);
        RtlFlushWriter(Context->Errors);
    }

    Allocator->Free(Allocator->Context, Run.ImportsDll);
    Allocator->Free(Allocator->Context, Run.Root);
    return ExitCode;
}

const READER_COMMAND ReaderRunCommand = {
    "run",
    "PROGRAM [ARGUMENT...]",
    "Runs a program with settings, and says where its session is",
    "What follows PROGRAM is its own, as it is written; -- may stand before\n"
    "it.  Its input, output, exit code and Ctrl+C are its own too: all that\n"
    "run says goes to the error output.  The settings are those of\n"
    "Docs/Settings.md, for this program and those that it starts; a value\n"
    "that the library would not take, or a variable TRACER_... that is nearly\n"
    "a setting's name, is refused before the program starts.\n"
    "At the end run says where the session is, names the crash if the exit\n"
    "code tells of one, repeats what its logs say, and keeps the functions'\n"
    "names and lines in the session, so that the program may be built anew.\n"
    "With --imports or --callers also calls from one module to another are\n"
    "recorded, in programs without hooks, too: Docs/Imports.md.\n",
    "  TraceReader run game.exe level3\n"
    "  TraceReader run --imports kernel32;ws2_32 --callers game.exe game.exe\n"
    "  TraceReader run --mode tree --modules game;engine --report game.exe\n",
    READER_OPTION_SETTING | READER_OPTION_REPORT | READER_OPTION_NO_SYMBOLS |
        READER_OPTION_SYMBOLS,
    CommandRun,
    NULL,
    NULL
};
