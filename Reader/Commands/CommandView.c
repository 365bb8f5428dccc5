/*++

Module Name:

    CommandView.c

Abstract:

    TraceReader view: writes the viewer's page of a session and opens it in the
    default browser.

--*/

#include "../Base/BaseBrowser.h"
#include "../Base/BaseErrors.h"
#include "../Functions/FunctionCache.h"
#include "../Export/ExportView.h"
#include "../View/ViewKeep.h"
#include "Command.h"

typedef struct _READER_VIEWING {
    READER_PACKING Packing;
    WCHAR Path[RTL_MAXIMUM_PATH_IN_CHARS];      // of the page
    WCHAR NtPath[RTL_MAXIMUM_PATH_IN_CHARS];    // of what is tried
    CHAR PathUtf8[3 * RTL_MAXIMUM_PATH_IN_CHARS];
} READER_VIEWING;
typedef READER_VIEWING *PREADER_VIEWING;

#define READER_VIEW_AT_ONCE 0x100000u       // records

static const WCHAR CommandViewSuffix[] = L".viewer.html";

#define READER_VIEW_SUFFIX_IN_CHARS (RTL_NUMBER_OF(CommandViewSuffix) - 1)


//
// Decides whether a file may be made, by making it.
// Path: as users write it.
//

_Must_inspect_result_
static
NTSTATUS
CommandTryPage(
    _Inout_ PREADER_VIEWING Viewing,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path
    )
{
    UNICODE_STRING Given;
    UNICODE_STRING NtPath;
    HANDLE File;
    NTSTATUS Status;

    RtlPointUnicodeString(&Given, Path, RtlLengthOfWideString(Path));
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                Viewing->NtPath,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(&NtPath, L".tmp", 4, FALSE);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseOpenTemporaryFile(Context, &NtPath, FALSE, &File);
    }

    if (NT_SUCCESS(Status)) {
        BaseRemoveFile(Context, File);
        RtlClose(Context->Rtl, File);
    }

    return Status;
}


//
// Appends to the page's path; what does not fit fails.
//

_Must_inspect_result_
static
NTSTATUS
CommandAppendToPage(
    _Inout_ PREADER_VIEWING Viewing,
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars
    )
{
    ULONG Length = RtlLengthOfWideString(Viewing->Path);

    if (Length + LengthInChars >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    RtlCopyBytes(Viewing->Path + Length, Text, LengthInChars * sizeof(WCHAR));
    Viewing->Path[Length + LengthInChars] = 0;
    return STATUS_SUCCESS;
}


//
// Decides where the page goes: beside the session or, where nothing can be
// written there, into the user's folder of temporary files.
//

_Must_inspect_result_
static
NTSTATUS
CommandNamePage(
    _Inout_ PREADER_VIEWING Viewing,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    UNICODE_STRING NtPath;
    UNICODE_STRING Path;
    UNICODE_STRING Name;
    NTSTATUS Status;

    if (Options->Output != NULL) {
        return CommandAppendToPage(Viewing,
                                   Options->Output,
                                   RtlLengthOfWideString(Options->Output));
    }

    Status = BaseMakeNtPath(Context, Options->Path, &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    while (NtPath.Length != 0 &&
           NtPath.Buffer[NtPath.Length / sizeof(WCHAR) - 1] == L'\\') {
        NtPath.Length -= sizeof(WCHAR);
    }

    BaseMakeDosPath(&NtPath, &Path);
    Status = CommandAppendToPage(Viewing,
                                 Path.Buffer,
                                 Path.Length / sizeof(WCHAR));
    if (NT_SUCCESS(Status)) {
        Status = CommandAppendToPage(Viewing,
                                     CommandViewSuffix,
                                     READER_VIEW_SUFFIX_IN_CHARS);
    }

    if (!NT_SUCCESS(Status) ||
        !NT_SUCCESS(CommandTryPage(Viewing, Context, Viewing->Path))) {

        RtlBaseName(&Path, &Name);
        Viewing->Path[0] = 0;
        Status = STATUS_UNSUCCESSFUL;
        if (Context->Rtl->GetTempPathW(RTL_MAXIMUM_PATH_IN_CHARS,
                                       Viewing->Path) != 0) {
            Status = CommandAppendToPage(Viewing,
                                         Name.Buffer,
                                         Name.Length / sizeof(WCHAR));
        }

        if (NT_SUCCESS(Status)) {
            Status = CommandAppendToPage(Viewing,
                                         CommandViewSuffix,
                                         READER_VIEW_SUFFIX_IN_CHARS);
        }
    }

    Context->Allocator->Free(Context->Allocator->Context, NtPath.Buffer);
    return Status;
}


//
// Says what was written, and has it opened.
//

static
VOID
CommandShowPage(
    _Inout_ PREADER_VIEWING Viewing,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_ ULONGLONG EmbeddedBytes
    )
{
    UNICODE_STRING Given;
    UNICODE_STRING NtPath;
    UNICODE_STRING Path;
    NTSTATUS Status;

    if (EmbeddedBytes != 0) {
        RtlWriteText(Context->Output,
                     "%T: the session is in it (%llu bytes).\n",
                     Viewing->PathUtf8,
                     EmbeddedBytes);
    } else {
        RtlWriteText(Context->Output,
                     "%T: drop the session on it: %T\n",
                     Viewing->PathUtf8,
                     Options->PathUtf8);
    }

    RtlFlushWriter(Context->Output);
    if ((Options->Given & READER_OPTION_NO_OPEN) != 0) {
        return;
    }

    //
    // The full path, which no program takes for an option or an address.
    //

    RtlPointUnicodeString(&Given,
                          Viewing->Path,
                          RtlLengthOfWideString(Viewing->Path));
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                Viewing->NtPath,
                                RTL_MAXIMUM_PATH_IN_CHARS - 1,
                                &NtPath);
    if (NT_SUCCESS(Status)) {
        BaseMakeDosPath(&NtPath, &Path);
        Path.Buffer[Path.Length / sizeof(WCHAR)] = 0;
        Status = BaseOpenInBrowser(Context, Path.Buffer);
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "open the page in a browser (it is written: open it there)",
                 Viewing->PathUtf8,
                 Status);
    }
}


//
// Reads each thread once, and keeps what comes of that beside its stores, where
// the page looks for it.
//

static
ULONG
CommandKeepLevels(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_VIEW View;
    ULONG ExitCode = READER_EXIT_FAILURE;
    ULONG Thread;
    BOOLEAN IsKept;
    NTSTATUS Status;

    View = (PREADER_VIEW)Allocator->Allocate(Allocator->Context,
                                             sizeof(READER_VIEW));
    if (View == NULL) {
        return BaseFail(Context,
                        "keep the levels",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    if (ViewOpen(View,
                 Context,
                 FALSE,
                 FALSE,
                 (Options->Given & READER_OPTION_ALL_RUNS) != 0,
                 Options->Path,
                 Options->PathUtf8)) {

        ExitCode = READER_EXIT_SUCCESS;
        IsKept = View->Session.Pack == NULL &&
                 View->Session.ProcessState != ReaderProcessRunning;
        if (!IsKept) {
            RtlWriteText(Context->Errors,
                         "TraceReader: warning: no levels are kept: %T is %s\n",
                         Options->PathUtf8,
                         View->Session.Pack != NULL
                             ? "a pack"
                             : "of a program that runs");
            RtlFlushWriter(Context->Errors);
        }

        for (Thread = 0;
             IsKept && Thread < View->NumberOfThreads;
             Thread++) {

            if (ViewIdentifyThread(View, Thread) == 0) {
                continue;
            }

            do {
                Status = ViewPass(View, Thread, READER_VIEW_AT_ONCE);
            } while (NT_SUCCESS(Status));

            Status = View->Threads[Thread].Status;
            if (NT_SUCCESS(Status)) {
                Status = ViewSaveBeside(View, Thread);
            }

            if (!NT_SUCCESS(Status)) {
                ExitCode = BaseFail(Context,
                                    "keep the levels",
                                    Options->PathUtf8,
                                    Status);
                break;
            }
        }

        FunctionSaveCache(&View->Session, FALSE);
    }

    ViewClose(View);
    Allocator->Free(Allocator->Context, View);
    return ExitCode;
}


static
ULONG
CommandView(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TEAM Team;
    READER_VIEW_PAGE Page;
    PREADER_VIEWING Viewing;
    ULONG ExitCode;
    ULONG Length;
    NTSTATUS Status;

    Viewing = (PREADER_VIEWING)Allocator->Allocate(Allocator->Context,
                                                   sizeof(READER_VIEWING));
    if (Viewing == NULL) {
        return BaseFail(Context, "view", Options->PathUtf8, STATUS_NO_MEMORY);
    }

    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    if (!CommandBeginCommand(&Session, &Team.Context, Options)) {
        BaseRundownTeam(&Team);
        Allocator->Free(Allocator->Context, Viewing);
        return READER_EXIT_FAILURE;
    }

    Status = CommandNamePage(Viewing, Context, Options);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context,
                            "name the page",
                            Options->PathUtf8,
                            Status);
        goto End;
    }

    RtlWideToUtf8(Viewing->Path,
                  RtlLengthOfWideString(Viewing->Path),
                  Viewing->PathUtf8,
                  sizeof(Viewing->PathUtf8) - 1,
                  &Length);
    Viewing->PathUtf8[Length] = 0;

    FunctionInitializeFunctions(&Functions, &Session);
    Viewing->Packing.Context = Context;
    Viewing->Packing.Options = Options;
    Viewing->Packing.Session = &Session;
    Viewing->Packing.Functions = &Functions;
    Viewing->Packing.Team = &Team;
    RtlZeroBytes(&Page, sizeof(Page));
    Page.Packing = &Viewing->Packing;
    Page.Output = Viewing->Path;
    Page.OutputUtf8 = Viewing->PathUtf8;

    //
    // What is in the page does not grow, and a running program's session does.
    //

    if ((Options->Given & READER_OPTION_EMBED) != 0) {
        Page.MaximumBytes = Options->Embed;
    } else if (Session.ProcessState != ReaderProcessRunning) {
        Page.MaximumBytes = READER_VIEW_MAXIMUM_BYTES;
    }

    ExitCode = ExportWriteViewPage(&Page);
    if (ExitCode == READER_EXIT_SUCCESS) {
        FunctionSaveCache(&Session,
                          (Options->Given & READER_OPTION_VERBOSE) != 0);
        if ((Options->Given & READER_OPTION_LEVELS) != 0) {
            ExitCode = CommandKeepLevels(Context, Options);
        }
        CommandShowPage(Viewing, Context, Options, Page.EmbeddedBytes);
    }

    ExportRundownPack(&Viewing->Packing);
    FunctionRundownFunctions(&Functions);

End:
    CommandCloseCommandSession(&Session);
    BaseRundownTeam(&Team);
    Allocator->Free(Allocator->Context, Viewing);
    return ExitCode;
}


const READER_COMMAND ReaderViewCommand = {
    "view",
    "[PATH]",
    "Opens a session in the viewer, a page for the default browser",
    "The page shows every call at any zoom (Docs/Viewer.md).  It is beside\n"
    "the session, SESSION.viewer.html, or, where nothing can be written\n"
    "there, in the folder of temporary files, or FILE.  It needs no\n"
    "network, no server and nothing beside it.  A session that takes at\n"
    "most SIZE as a pack is in the page, which then shows it by itself and\n"
    "can be sent; another one, or that of a program that still runs, is\n"
    "dropped on the page, or chosen there, and is followed.  (With --embed\n"
    "a running program's is in the page too, as it is at that moment.)\n"
    "What the images say of its sites is in its symbols.cache then, from\n"
    "which the page has the names.  Where no browser can be opened, the\n"
    "error says so, and the page is there.\n"
    "A page that is given a large session reads all of it once.  With\n"
    "--levels that is done now, and what comes of it is beside the stores;\n"
    "of a running program's session, or a pack's, nothing is kept.\n",
    "  TraceReader view\n"
    "  TraceReader view --no-open -o busy.html --embed 64M busy.tracepack\n"
    "  TraceReader view --levels C:\\Traces\\busy\n",
    READER_OPTION_OUTPUT | READER_OPTION_EMBED | READER_OPTION_NO_OPEN |
        READER_OPTION_LEVELS |
        READER_OPTION_WORKERS | READER_OPTION_VERBOSE |
        READER_OPTION_SYMBOLS | READER_OPTION_ALL_RUNS,
    CommandView,
    NULL,
    NULL
};
