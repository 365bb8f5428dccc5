/*++

Module Name:

    CommandAttach.c

Abstract:

    TraceReader attach and detach: TracerImports.dll begins to record in a
    process that runs, and ends.

    Settings come from three places, the first of which decides: the options,
    the process's own environment, and this program's.  They are given to the
    DLL in its request, so that nobody's environment is changed.

--*/

#include "../Base/BaseAttach.h"
#include "../Base/BaseErrors.h"
#include "../Base/BaseInject.h"
#include "../Base/BaseSettings.h"
#include "Command.h"

#define READER_ATTACH_SETTINGS_LENGTH 0x100000u     // 16-bit units

typedef struct _READER_ATTACHMENT {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_ATTACH Attach;
    PWCHAR Dll;                     // its path
    PWCHAR Value;                   // RTL_MAXIMUM_PATH_IN_CHARS + 1
    PWCHAR Full;                    // likewise
    PWCHAR Settings;
    ULONG Length;                   // 16-bit units of them
    ULONG FirstLength;
} READER_ATTACHMENT;
typedef READER_ATTACHMENT *PREADER_ATTACHMENT;

//
// Writes what the command says begins with.
//

static
VOID
CommandBeginSaying(
    _In_ const READER_ATTACHMENT *Attachment
    )
{
    PRTL_WRITER Errors = Attachment->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: %s: process %u",
                 Attachment->Options->Command,
                 Attachment->Attach.ProcessId);
    if (Attachment->Attach.NameLength != 0) {
        RtlWriteText(Errors, " (");
        RtlWriteCleanText(Errors,
                          Attachment->Attach.Name,
                          Attachment->Attach.NameLength);
        RtlWriteText(Errors, ")");
    }
    RtlWriteText(Errors, ": ");
}

//
// Says that, and how, what was asked for was not done.
//

static
ULONG
CommandSayEnd(
    _In_ const READER_ATTACHMENT *Attachment,
    _In_ READER_ATTACH_END End
    )
{
    const READER_ATTACH *Attach = &Attachment->Attach;
    PRTL_WRITER Errors = Attachment->Context->Errors;

    CommandBeginSaying(Attachment);
    switch (End) {

    case ReaderAttachRefused:
        RtlWriteText(Errors,
                     "%s (0x%08x)\n",
                     Attach->Refusal.Text,
                     (ULONG)Attach->Refusal.Status);
        break;

    case ReaderAttachNotLoaded:
        RtlWriteText(Errors, "it is not attached\n");
        break;

    case ReaderAttachOther:
        RtlWriteText(Errors,
                     "it has a TracerImports.dll that is not the one beside "
                     "this TraceReader\n");
        break;

    case ReaderAttachSilent:
        RtlWriteText(Errors,
                     "%s: no answer came (0x%08x): its threads are suspended, "
                     "or hold the loader\n",
                     Attach->Step,
                     (ULONG)Attach->Status);
        break;

    default:
        RtlWriteText(Errors,
                     "%s failed (0x%08x)\n",
                     Attach->Step,
                     (ULONG)Attach->Status);
        break;
    }

    RtlFlushWriter(Errors);
    return READER_EXIT_FAILURE;
}

//
// Says what the DLL has answered, if it has not done what it was asked for.
//

static
ULONG
CommandSayOutcome(
    _In_ const READER_ATTACHMENT *Attachment
    )
{
    PCIMPORTS_REQUEST Request = Attachment->Attach.Request;
    PRTL_WRITER Errors = Attachment->Context->Errors;

    CommandBeginSaying(Attachment);
    switch (Request->Outcome) {

    case IMPORTS_OUTCOME_ATTACHED:
        RtlWriteText(Errors,
                     "it is attached already (TraceReader detach %u ends "
                     "that)\n",
                     Attachment->Attach.ProcessId);
        break;

    case IMPORTS_OUTCOME_DETACHED:
        RtlWriteText(Errors, "it is not attached\n");
        break;

    case IMPORTS_OUTCOME_BUSY:
        RtlWriteText(Errors,
                     "another TraceReader attaches or detaches it at this "
                     "moment\n");
        break;

    case IMPORTS_OUTCOME_INSIDE:
        RtlWriteText(Errors,
                     "%u of its threads are still being recorded since it was "
                     "detached: try again\n",
                     Request->NumberInside);
        break;

    case IMPORTS_OUTCOME_NOTHING:
        RtlWriteText(Errors,
                     "neither --imports nor --callers says what to record\n");
        break;

    case IMPORTS_OUTCOME_NONE:      // its thread was ended
    case IMPORTS_OUTCOME_ENDING:
        RtlWriteText(Errors, "it is about to end\n");
        break;

    default:
        RtlWriteText(Errors, "nothing was changed: ");
        RtlWriteCleanText(Errors, Request->Text, Request->TextLength);
        RtlWriteText(Errors, " (0x%08x)\n", Request->Status);
        break;
    }

    RtlFlushWriter(Errors);
    return READER_EXIT_FAILURE;
}

//
// Says where the session is.
//

static
VOID
CommandPutPlace(
    _In_ const READER_ATTACHMENT *Attachment
    )
{
    PCIMPORTS_REQUEST Request = Attachment->Attach.Request;
    UNICODE_STRING Path;

    //
    // \??\C:\... is shown as C:\...
    //

    RtlPointUnicodeString(&Path,
                          (PCWSTR)Request->Path,
                          Request->PathLength);
    if (Request->PathLength > 6 && Path.Buffer[5] == L':') {
        RtlPointUnicodeString(&Path,
                              Path.Buffer + 4,
                              Request->PathLength - 4);
    }

    RtlWriteText(Attachment->Context->Output, "the session is %Z\n", &Path);
}

//
// Puts a variable into the settings.
//

static
BOOLEAN
CommandAddVariable(
    _Inout_ PREADER_ATTACHMENT Attachment,
    _In_z_ PCSZ Name,
    _In_z_ PCWSTR Value
    )
{
    ULONG NameLength = RtlLengthOfString(Name);
    ULONG ValueLength = RtlLengthOfWideString(Value);
    ULONG Index;

    if (ValueLength >= RTL_MAXIMUM_PATH_IN_CHARS ||
        Attachment->Length + NameLength + ValueLength + 2 >
            READER_ATTACH_SETTINGS_LENGTH) {
        return FALSE;
    }

    for (Index = 0; Index < NameLength; Index++) {
        Attachment->Settings[Attachment->Length] = (WCHAR)Name[Index];
        Attachment->Length += 1;
    }

    Attachment->Settings[Attachment->Length] = L'=';
    RtlCopyBytes(Attachment->Settings + Attachment->Length + 1,
                 Value,
                 ((SIZE_T)ValueLength + 1) * sizeof(WCHAR));
    Attachment->Length += ValueLength + 2;
    return TRUE;
}

//
// What a setting's value means to the process, whose directory is another:
// paths are full ones, and @ini is an empty list.
//

static
PCWSTR
CommandMeanSetting(
    _Inout_ PREADER_ATTACHMENT Attachment,
    _In_ ULONG Setting,
    _In_z_ PCWSTR Value
    )
{
    static const WCHAR Nul[] = L"nul";
    static const WCHAR Ini[] = L"@ini";
    PCWSTR Word;
    ULONG Length;
    ULONG Index;
    BOOLEAN IsPath = BaseSettings[Setting].Kind == ReaderSettingPath;

    Word = IsPath ? Nul : Ini;
    for (Index = 0; Word[Index] != 0; Index++) {
        if (Value[Index] != Word[Index] &&
            (Value[Index] | 0x20) != Word[Index]) {
            break;
        }
    }

    if (Word[Index] == 0 && Value[Index] == 0) {
        return IsPath ? Value : L"";
    }

    if (IsPath) {
        Length = Attachment->Context->Rtl->GetFullPathNameW(
            Value,
            RTL_MAXIMUM_PATH_IN_CHARS,
            Attachment->Full,
            NULL);
        if (Length != 0 && Length < RTL_MAXIMUM_PATH_IN_CHARS) {
            return Attachment->Full;
        }
    }

    return Value;
}

//
// Gathers the settings: the options', and behind them those of the environment.
// FALSE if one is not good; that has been written.
//

static
BOOLEAN
CommandGatherSettings(
    _Inout_ PREADER_ATTACHMENT Attachment
    )
{
    PCREADER_CONTEXT Context = Attachment->Context;
    PCREADER_OPTIONS Options = Attachment->Options;
    WCHAR Variable[32];
    UNICODE_STRING Value;
    ULONG Length;
    ULONG Index;

    for (Index = 0; Index < ReaderSettingCount; Index++) {
        if (Options->Settings[Index] != NULL &&
            !CommandAddVariable(Attachment,
                                BaseSettings[Index].Variable,
                                CommandMeanSetting(
                                    Attachment,
                                    Index,
                                    Options->Settings[Index]))) {
            goto Error;
        }
    }

    Attachment->FirstLength = Attachment->Length;
    for (Index = 0; Index < ReaderSettingCount; Index++) {
        RtlUtf8ToWide(BaseSettings[Index].Variable,
                      RtlLengthOfString(BaseSettings[Index].Variable),
                      Variable,
                      RTL_NUMBER_OF(Variable) - 1,
                      &Length);
        Variable[Length] = 0;
        if (Options->Settings[Index] != NULL ||
            !NT_SUCCESS(RtlQueryEnvironment(Context->Rtl,
                                            Variable,
                                            Attachment->Value,
                                            RTL_MAXIMUM_PATH_IN_CHARS,
                                            &Value)) ||
            Value.Length == 0) {
            continue;
        }

        Attachment->Value[Value.Length / sizeof(WCHAR)] = 0;
        if (!BaseIsSettingGood(&BaseSettings[Index], Attachment->Value)) {
            RtlWriteText(Context->Errors,
                         "TraceReader: attach: the environment has %s=%S, "
                         "which is not a value that this setting takes (see "
                         "Docs/Settings.md)\n",
                         BaseSettings[Index].Variable,
                         Attachment->Value);
            RtlFlushWriter(Context->Errors);
            return FALSE;
        }

        if (!CommandAddVariable(Attachment,
                                BaseSettings[Index].Variable,
                                CommandMeanSetting(Attachment,
                                                   Index,
                                                   Attachment->Value))) {
            goto Error;
        }
    }

    return TRUE;

Error:

    BaseFail(Context,
             "gather the settings",
             Options->PathUtf8,
             STATUS_BUFFER_OVERFLOW);
    return FALSE;
}

//
// Without any list it is what the program itself calls in others; and what
// each of the processes that it starts does, whose programs are others.
//

static
BOOLEAN
CommandAddProgram(
    _Inout_ PREADER_ATTACHMENT Attachment
    )
{
    Attachment->Length = Attachment->FirstLength;
    if (!CommandAddVariable(Attachment, "TRACER_CALLERS", L"@program")) {
        return FALSE;
    }

    Attachment->FirstLength = Attachment->Length;
    return CommandGatherSettings(Attachment);
}

static
ULONG
CommandAttachProcess(
    _Inout_ PREADER_ATTACHMENT Attachment
    )
{
    PREADER_ATTACH Attach = &Attachment->Attach;
    PRTL_WRITER Output = Attachment->Context->Output;
    READER_ATTACH_END End;

    if (!CommandGatherSettings(Attachment)) {
        return READER_EXIT_FAILURE;
    }

    End = BaseAttachLoad(Attach, Attachment->Dll, TRUE);
    if (End == ReaderAttachAnswered) {
        End = BaseAttachAsk(Attach,
                            IMPORTS_REQUEST_ATTACH,
                            Attachment->Settings,
                            Attachment->FirstLength,
                            Attachment->Length - Attachment->FirstLength);
    }

    if (End == ReaderAttachAnswered &&
        Attach->Request->Outcome == IMPORTS_OUTCOME_NOTHING &&
        CommandAddProgram(Attachment)) {

        End = BaseAttachAsk(Attach,
                            IMPORTS_REQUEST_ATTACH,
                            Attachment->Settings,
                            Attachment->FirstLength,
                            Attachment->Length - Attachment->FirstLength);
    }

    if (End != ReaderAttachAnswered) {
        return CommandSayEnd(Attachment, End);
    }

    if (Attach->Request->Outcome != IMPORTS_OUTCOME_DONE) {
        return CommandSayOutcome(Attachment);
    }

    CommandPutPlace(Attachment);
    RtlWriteText(Output,
                 "%u imports are recorded%s\n",
                 Attach->Request->NumberOfSlots,
                 Attach->Request->NumberOfSlots == 0
                     ? ": nothing of --imports is imported by a module of "
                       "--callers, of those that are loaded now"
                     : "");
    RtlFlushWriter(Output);
    return READER_EXIT_SUCCESS;
}

static
ULONG
CommandDetachProcess(
    _Inout_ PREADER_ATTACHMENT Attachment
    )
{
    PREADER_ATTACH Attach = &Attachment->Attach;
    PRTL_WRITER Output = Attachment->Context->Output;
    PCIMPORTS_REQUEST Request;
    READER_ATTACH_END End;

    End = BaseAttachLoad(Attach, Attachment->Dll, FALSE);
    if (End == ReaderAttachAnswered) {
        End = BaseAttachAsk(Attach, IMPORTS_REQUEST_DETACH, L"", 0, 0);
    }

    if (End != ReaderAttachAnswered) {
        return CommandSayEnd(Attachment, End);
    }

    Request = Attach->Request;
    if (Request->Outcome != IMPORTS_OUTCOME_DONE) {
        return CommandSayOutcome(Attachment);
    }

    CommandPutPlace(Attachment);
    RtlWriteText(Output,
                 "%u imports are as they were",
                 Request->NumberRestored);
    if (Request->NumberLater != 0) {
        RtlWriteText(Output,
                     ", %u of which came later",
                     Request->NumberLater);
    }
    RtlWriteText(Output, "\n");
    if (Request->NumberGone != 0) {
        RtlWriteText(Output,
                     "%u more went with modules that were unloaded\n",
                     Request->NumberGone);
    }
    if (Request->NumberForeign != 0) {
        RtlWriteText(Output,
                     "%u were changed by somebody else since, and stay so\n",
                     Request->NumberForeign);
    }
    if (Request->NumberFailed != 0) {
        RtlWriteText(Output,
                     "%u cannot be written, and still go through "
                     "TracerImports.dll\n",
                     Request->NumberFailed);
    }
    if (Request->NumberInside != 0) {
        RtlWriteText(Output,
                     "%u threads were just being recorded: the stores stay "
                     "open until the process ends\n",
                     Request->NumberInside);
    }
    RtlFlushWriter(Output);
    return Request->NumberFailed == 0 && Request->NumberInside == 0
               ? READER_EXIT_SUCCESS
               : READER_EXIT_BAD;
}

static
ULONG
CommandAttach(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_ATTACHMENT Attachment;
    READER_ATTACH_END End;
    ULONGLONG ProcessId;
    ULONG ExitCode = READER_EXIT_FAILURE;
    NTSTATUS Status;

    if (!RtlParseNumber(Options->Path,
                        RtlLengthOfWideString(Options->Path),
                        &ProcessId) ||
        ProcessId > 0xFFFFFFFFu) {

        RtlWriteText(Context->Errors,
                     "TraceReader: %s: %T is not the identifier of a "
                     "process\n",
                     Options->Command,
                     Options->PathUtf8);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Attachment, sizeof(Attachment));
    Attachment.Context = Context;
    Attachment.Options = Options;
    Attachment.Attach.Context = Context;
    Attachment.Dll = (PWCHAR)Allocator->Allocate(
        Allocator->Context,
        (3 * (RTL_MAXIMUM_PATH_IN_CHARS + 1) + READER_ATTACH_SETTINGS_LENGTH) *
            sizeof(WCHAR));
    if (Attachment.Dll == NULL) {
        return BaseFail(Context,
                        "open the process",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    Attachment.Value = Attachment.Dll + RTL_MAXIMUM_PATH_IN_CHARS + 1;
    Attachment.Full = Attachment.Value + RTL_MAXIMUM_PATH_IN_CHARS + 1;
    Attachment.Settings = Attachment.Full + RTL_MAXIMUM_PATH_IN_CHARS + 1;
    Status = BaseFindImportsDll(Context->Rtl, Allocator, Attachment.Dll);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "find what records imports, beside TraceReader.exe",
                 "TracerImports.dll",
                 Status);
    } else {
        End = BaseAttachOpen(&Attachment.Attach, Context, (ULONG)ProcessId);
        ExitCode = End != ReaderAttachAnswered
                       ? CommandSayEnd(&Attachment, End)
                   : RtlAreStringsEqual(Options->Command, "attach")
                       ? CommandAttachProcess(&Attachment)
                       : CommandDetachProcess(&Attachment);
    }

    BaseAttachClose(&Attachment.Attach);
    Allocator->Free(Allocator->Context, Attachment.Dll);
    return ExitCode;
}

const READER_COMMAND ReaderAttachCommand = {
    "attach",
    "PID",
    "Records the calls of a program that runs from one module to another",
    "The process has the identifier PID.  --imports and --callers say which\n"
    "calls, as for run: Docs/Imports.md; with neither, and no list in an\n"
    "environment, those of the program's own module are, and with --children\n"
    "those of each process's own.  Settings come from\n"
    "the options, else from the process's environment, else from this\n"
    "one's, else from an ini file; nobody's environment is changed.\n"
    "attach ends when the imports are patched, and has said where the\n"
    "session is; if it fails the process runs on as it was, and the reason is\n"
    "said.  A process that is attached again goes on in the session's\n"
    "directory; marks with the texts attach and detach are set each time.\n",
    "  TraceReader attach --imports kernel32;ws2_32 1234\n"
    "  TraceReader attach 1234 --callers plugin --mode tree\n"
    "  TraceReader detach 1234\n",
    READER_OPTION_SETTING,
    CommandAttach,
    NULL,
    NULL
};

const READER_COMMAND ReaderDetachCommand = {
    "detach",
    "PID",
    "Ends what attach, or run with --imports, has begun in a process",
    "Each import gets what it had before, unless somebody else has changed it\n"
    "since, which is counted, and the threads' stores are closed.\n"
    "TracerImports.dll stays loaded, as threads may be in calls that return\n"
    "through it, and records nothing.  The exit code is 2 if something could\n"
    "not be undone.\n",
    "  TraceReader detach 1234\n",
    0,
    CommandAttach,
    NULL,
    NULL
};
