/*++

Module Name:

    SessionLog.c

Abstract:

    What the library said of a session: the lines of its logs.

--*/

#include "SessionLog.h"
#include "SessionName.h"
#include "SessionSource.h"

//
// A log is as long as what can go wrong: of a longer one this much is read.
//

#define READER_LOG_BYTES 0x10000

//
// A log's name is that of its module, of which at most so many characters, and
// ".log".
//

#define READER_LOG_SUFFIX 4
#define READER_LOG_MODULE 200

typedef struct _READER_LOGS {
    PCREADER_CONTEXT Context;
    PREADER_PACK Pack;              // that has the directory; NULL: none has
    PWCHAR Path;                    // RTL_MAXIMUM_PATH_IN_CHARS: an NT path,
    ULONG LengthInChars;            // of the directory
    BOOLEAN IsTemporary;
    PCWSTR Suffix;
    PREADER_LOG_ROUTINE Routine;
    PVOID RoutineContext;
    PCHAR Text;                     // READER_LOG_BYTES
} READER_LOGS;
typedef READER_LOGS *PREADER_LOGS;

static
VOID
SessionSplitLog(
    _In_ PREADER_LOGS Logs,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Begin = 0;
    ULONG End;

    while (Begin < LengthInBytes) {

        End = Begin;
        while (End < LengthInBytes && Logs->Text[End] != '\n' &&
               Logs->Text[End] != '\r') {
            End += 1;
        }

        if (End != Begin) {
            Logs->Routine(Logs->RoutineContext,
                          Logs->Text + Begin,
                          End - Begin);
        }

        Begin = End + 1;
    }
}

//
// Of a log that is longer than what was read, the last line that was read ends
// in the middle: it is not shown either, and how much is not is a line.
//

static
VOID
SessionTakeLog(
    _In_ PREADER_LOGS Logs,
    _In_ ULONG LengthInBytes,
    _In_ ULONGLONG SizeInBytes
    )
{
    RTL_WRITER Writer;
    CHAR Note[80];
    ULONG End = LengthInBytes;

    if (SizeInBytes > LengthInBytes) {
        while (End != 0 && Logs->Text[End - 1] != '\n') {
            End -= 1;
        }
        if (End == 0) {
            End = LengthInBytes;
        }
    }

    SessionSplitLog(Logs, End);
    if (SizeInBytes > LengthInBytes) {
        RtlInitializeBufferWriter(&Writer, Note, sizeof(Note));
        RtlWriteText(&Writer,
                     "(%llu more bytes of this log are not shown)",
                     SizeInBytes - End);
        Logs->Routine(Logs->RoutineContext, Note, Writer.LengthInBytes);
    }
}

_Use_decl_annotations_
BOOLEAN
SessionIsLog(
    PCUNICODE_STRING Name,
    const CHAR *Head,
    ULONG LengthInBytes
    )
{
    static const CHAR Begin[] = "0000-00-00 00:00:00.000Z Tracer: ";
    UNICODE_STRING Module = *Name;
    RTL_WRITER Writer;
    CHAR Text[READER_LOG_HEAD];
    ULONG Index;

    Module.Length -= READER_LOG_SUFFIX * sizeof(WCHAR);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "%s%Z", Begin, &Module);
    if (Module.Length < READER_LOG_MODULE * sizeof(WCHAR)) {
        RtlWriteText(&Writer, " (process ");
    }

    for (Index = 0;
         Index < LengthInBytes && Index < Writer.LengthInBytes;
         Index++) {

        if (Index < sizeof(Begin) - 1 && Text[Index] == '0'
                ? Head[Index] < '0' || Head[Index] > '9'
                : Head[Index] != Text[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

static
BOOLEAN
SessionIsTracersName(
    _In_ PCUNICODE_STRING Name
    )
{
    static const WCHAR Prefix[] = L"Tracer-";
    ULONG Index;

    for (Index = 0; Prefix[Index] != 0; Index++) {
        if (Index == Name->Length / sizeof(WCHAR) ||
            Name->Buffer[Index] != Prefix[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

static
NTSTATUS
SessionVisitLog(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_LOGS Logs = (PREADER_LOGS)CallbackContext;
    PCRTL Rtl = Logs->Context->Rtl;
    UNICODE_STRING Path;
    READER_SOURCE File;
    ULONG Length = Logs->LengthInChars;
    ULONG Read = 0;

    if (IsDirectory || !RtlIsPlainName(Name, FALSE) ||
        !SessionEndsWith(Rtl,
                         Name,
                         Logs->Suffix,
                         RtlLengthOfWideString(Logs->Suffix)) ||
        (Logs->IsTemporary && !SessionIsTracersName(Name)) ||
        Length + 1 + Name->Length / sizeof(WCHAR) >
            RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_SUCCESS;
    }

    Logs->Path[Length] = L'\\';
    RtlCopyBytes(Logs->Path + Length + 1, Name->Buffer, Name->Length);
    RtlPointUnicodeString(&Path,
                          Logs->Path,
                          Length + 1 + Name->Length / sizeof(WCHAR));
    if (NT_SUCCESS(SessionOpenSource(Logs->Context,
                                     Logs->Pack,
                                     &Path,
                                     &File))) {

        if (NT_SUCCESS(SessionReadSource(&File,
                                         0,
                                         Logs->Text,
                                         READER_LOG_BYTES,
                                         &Read)) &&
            (Logs->IsTemporary || SessionIsLog(Name, Logs->Text, Read))) {
            SessionTakeLog(Logs, Read, SizeInBytes);
        }

        SessionCloseSource(&File);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
SessionListLog(
    PCREADER_CONTEXT Context,
    PREADER_PACK Pack,
    PCUNICODE_STRING NtPath,
    BOOLEAN IsTemporary,
    PCWSTR Suffix,
    PREADER_LOG_ROUTINE Routine,
    PVOID RoutineContext
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_LOGS Logs;

    RtlZeroBytes(&Logs, sizeof(Logs));
    Logs.Context = Context;
    Logs.Pack = Pack;
    Logs.IsTemporary = IsTemporary;
    Logs.Suffix = Suffix;
    Logs.Routine = Routine;
    Logs.RoutineContext = RoutineContext;
    Logs.LengthInChars = NtPath->Length / sizeof(WCHAR);
    if (Logs.LengthInChars > RTL_MAXIMUM_PATH_IN_CHARS) {
        return;
    }

    Logs.Path = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                            RTL_MAXIMUM_PATH_IN_CHARS *
                                                    sizeof(WCHAR) +
                                                READER_LOG_BYTES);
    if (Logs.Path == NULL) {
        return;
    }

    Logs.Text = (PCHAR)(Logs.Path + RTL_MAXIMUM_PATH_IN_CHARS);
    RtlCopyBytes(Logs.Path, NtPath->Buffer, NtPath->Length);

    //
    // A path with a \ at its end, the temporary directory's, gets no other.
    //

    if (Logs.LengthInChars != 0 &&
        Logs.Path[Logs.LengthInChars - 1] == L'\\') {
        Logs.LengthInChars -= 1;
    }

    (VOID)SessionListDirectory(Context, Pack, NtPath, SessionVisitLog, &Logs);
    Allocator->Free(Allocator->Context, Logs.Path);
}

_Use_decl_annotations_
VOID
SessionListLogs(
    const READER_SESSION *Session,
    PREADER_LOG_ROUTINE Routine,
    PVOID RoutineContext
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    UNICODE_STRING Path;
    PWCHAR Buffer;
    ULONG Length = Session->DirectoryLength / sizeof(WCHAR);
    ULONG Index;

    Buffer = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                         RTL_MAXIMUM_PATH_IN_CHARS *
                                             sizeof(WCHAR));
    if (Buffer == NULL) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfDirectories; Index++) {

        PCUNICODE_STRING Name = &Session->Directories[Index].Name;

        if (Session->Directories[Index].IsLeftOut ||
            Length + 1 + Name->Length / sizeof(WCHAR) >
                RTL_MAXIMUM_PATH_IN_CHARS) {
            continue;
        }

        RtlCopyBytes(Buffer, Session->Path.Buffer, Session->DirectoryLength);
        RtlPointUnicodeString(&Path, Buffer, Length);
        if (Name->Length != 0) {
            Buffer[Length] = L'\\';
            RtlCopyBytes(Buffer + Length + 1, Name->Buffer, Name->Length);
            RtlPointUnicodeString(&Path,
                                  Buffer,
                                  Length + 1 + Name->Length / sizeof(WCHAR));
        }

        SessionListLog(Session->Context,
                       Session->Pack,
                       &Path,
                       FALSE,
                       L".LOG",
                       Routine,
                       RoutineContext);
    }

    Allocator->Free(Allocator->Context, Buffer);
}

static
VOID
SessionCountLogLine(
    _In_opt_ PVOID Context,
    _In_reads_bytes_(LengthInBytes) const CHAR *Line,
    _In_ ULONG LengthInBytes
    )
{
    UNREFERENCED_PARAMETER(Line);
    UNREFERENCED_PARAMETER(LengthInBytes);
    *(PULONG)Context += 1;
}

_Use_decl_annotations_
VOID
SessionPutLogNote(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session
    )
{
    ULONG Lines = 0;

    if (Output->Format != ReaderFormatText) {
        return;
    }

    SessionListLogs(Session, SessionCountLogLine, &Lines);
    if (Lines != 0) {
        RtlWriteText(Output->Writer,
                     "Log: %u line%s: TraceReader info shows what the library "
                     "reported.\n",
                     Lines,
                     Lines == 1 ? "" : "s");
    }
}
