/*++

Module Name:

    ExportView.c

Abstract:

    Writes the viewer's page of a session.

--*/

#include "../../Rtl/RtlVersion.h"
#include "../Base/BaseErrors.h"
#include "ExportHtml.h"
#include "ExportView.h"

//
// A call takes 32 bytes in a plain store, some 2 in a compact one, and half a
// byte in a pack at best: what cannot become small enough is not packed.
//

#define READER_VIEW_PLAIN_GAIN      64
#define READER_VIEW_COMPACT_GAIN    4

//
// Read at a time: a number of bytes that three divides, so that base64 needs
// padding at the end alone.
//

#define READER_VIEW_CHUNK           0x3000u


//
// The full path of a file as users write it.
// NtPath: of RtlDosPathToNtPath; is changed, and remains the owner's.
//

static
VOID
ExportPutViewPath(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Path;
    PCHAR Text;
    ULONG Length;

    BaseMakeDosPath(NtPath, &Path);
    Length = Path.Length / sizeof(WCHAR);
    Text = (PCHAR)Allocator->Allocate(Allocator->Context, Length * 3 + 1);
    if (Text == NULL) {
        RtlWriteText(Writer, "\"\"");
        return;
    }

    RtlWideToUtf8(Path.Buffer, Length, Text, Length * 3, &Length);
    ExportPutHtmlText(Writer, Text, Length);
    Allocator->Free(Allocator->Context, Text);
}


static
VOID
ExportPutBase64(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    static const CHAR Digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    CHAR Four[4];
    ULONG Three;
    ULONG Left;

    while (SizeInBytes != 0) {

        Left = SizeInBytes < 3 ? SizeInBytes : 3;
        Three = (ULONG)Bytes[0] << 16;
        if (Left > 1) {
            Three |= (ULONG)Bytes[1] << 8;
        }

        if (Left > 2) {
            Three |= Bytes[2];
        }

        Four[0] = Digits[(Three >> 18) & 63];
        Four[1] = Digits[(Three >> 12) & 63];
        Four[2] = Left > 1 ? Digits[(Three >> 6) & 63] : '=';
        Four[3] = Left > 2 ? Digits[Three & 63] : '=';
        RtlWriteBytes(Writer, Four, sizeof(Four));
        Bytes += Left;
        SizeInBytes -= Left;
    }
}


//
// Writes a file as base64.  What fails, fails the page: nothing is told.
//

_Must_inspect_result_
static
NTSTATUS
ExportPutViewFile(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE File,
    _In_ ULONGLONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PUCHAR Buffer;
    ULONGLONG Offset = 0;
    ULONG Size;
    NTSTATUS Status = STATUS_SUCCESS;

    Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                         READER_VIEW_CHUNK);
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    while (NT_SUCCESS(Status) && Offset < SizeInBytes) {

        Size = SizeInBytes - Offset < READER_VIEW_CHUNK
                   ? (ULONG)(SizeInBytes - Offset)
                   : READER_VIEW_CHUNK;
        Status = RtlReadFile(Context->Rtl, File, Offset, Buffer, Size, &Size);
        if (NT_SUCCESS(Status) && Size == 0) {
            Status = STATUS_END_OF_FILE;
        }

        if (NT_SUCCESS(Status)) {
            ExportPutBase64(Writer, Buffer, Size);
            Offset += Size;
        }
    }

    Allocator->Free(Allocator->Context, Buffer);
    return Status;
}


//
// Whether the session's records could be as few bytes as the page may have.
// Bytes: of all stores' records.
//

static
BOOLEAN
ExportFitsViewPage(
    _In_ const READER_VIEW_PAGE *Page,
    _Out_ PULONGLONG Bytes
    )
{
    const READER_SESSION *Session = Page->Packing->Session;
    const READER_STORE *Store;
    ULONGLONG Least = 0;
    ULONGLONG Size;
    ULONG Index;

    *Bytes = 0;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        Size = Store->FileSize;
        if (Store->Header != NULL && !Store->IsTree &&
            Store->PublishedEnd < Size) {
            Size = Store->PublishedEnd;
        }

        *Bytes += Size;
        Least += Size / (Store->Header != NULL && READER_IS_STORE_COMPACT(Store)
                             ? READER_VIEW_COMPACT_GAIN
                             : READER_VIEW_PLAIN_GAIN);
    }

    return Least <= Page->MaximumBytes;
}


//
// Packs the session, in a file that is the page's until it is closed.
// Size: of the pack; 0: it has none, as it would be too large.
// Returns STATUS_SUCCESS or what failed, in FailedStep of the packing.
//

_Must_inspect_result_
static
NTSTATUS
ExportPackForView(
    _Inout_ PREADER_VIEW_PAGE Page,
    _In_ PCUNICODE_STRING Path,
    _Out_ PULONGLONG Size
    )
{
    PREADER_PACKING Packing = Page->Packing;
    PCREADER_CONTEXT Context = Packing->Context;
    NTSTATUS Status;

    *Size = 0;
    Status = BaseNoteStep(&Packing->FailedStep,
                          "create the page's pack",
                          BaseOpenTemporaryFile(Context,
                                                Path,
                                                TRUE,
                                                &Packing->File));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    BaseRemoveFile(Context, Packing->File);
    Packing->IsWithoutIndexes = TRUE;
    Packing->MaximumBytes = Page->MaximumBytes;
    Status = ExportWritePack(Packing);
    if (NT_SUCCESS(Status)) {
        Status = BaseNoteStep(&Packing->FailedStep,
                              "read the page's pack",
                              RtlQueryFileSize(Context->Rtl,
                                               Packing->File,
                                               Size));
    }

    if (NT_SUCCESS(Status) && *Size > Page->MaximumBytes) {
        Status = STATUS_FILE_TOO_LARGE;
    }

    if (Status == STATUS_FILE_TOO_LARGE) {
        *Size = 0;
        Status = STATUS_SUCCESS;
    }

    return Status;
}


//
// Opens what the page has in it.
// NtPath: of the session; room for ".pack" is behind it.
// Size: 0: nothing is.
//

_Must_inspect_result_
static
NTSTATUS
ExportChooseEmbedded(
    _Inout_ PREADER_VIEW_PAGE Page,
    _In_ PCUNICODE_STRING NtPath,
    _In_ PCUNICODE_STRING PackPath,
    _In_ BOOLEAN IsSmall,
    _Out_ PULONGLONG Size
    )
{
    PREADER_PACKING Packing = Page->Packing;
    PCREADER_CONTEXT Context = Packing->Context;
    NTSTATUS Status = STATUS_SUCCESS;

    *Size = 0;
    if (Packing->Session->Pack != NULL) {

        //
        // It is a pack.
        //

        Status = RtlOpenFileForReading(Context->Rtl, NtPath, &Packing->File);
        if (NT_SUCCESS(Status)) {
            Status = RtlQueryFileSize(Context->Rtl, Packing->File, Size);
        }

        if (*Size > Page->MaximumBytes) {
            *Size = 0;
        }

        return BaseNoteStep(&Packing->FailedStep, "read the session", Status);
    }

    if (Page->MaximumBytes != 0 && IsSmall) {
        Status = ExportPackForView(Page, PackPath, Size);
    }

    if (NT_SUCCESS(Status) && *Size == 0 && !Page->IsOnlyEmbedded &&
        Packing->Reading.Functions == NULL) {
        Status = ExportAskForAll(Packing);
    }

    return Status;
}


static
VOID
ExportPutViewAbout(
    _In_ const READER_VIEW_PAGE *Page,
    _Inout_ PRTL_WRITER Writer,
    _In_ PCUNICODE_STRING NtPath,
    _In_ ULONGLONG Bytes
    )
{
    PREADER_PACKING Packing = Page->Packing;
    const READER_SESSION *Session = Packing->Session;

    RtlWriteText(Writer,
                 "<script type=\"application/json\" id=\"about\">"
                 "{\"version\":\"" TRACER_VERSION "\",\"path\":");
    ExportPutViewPath(Writer, Packing->Context, NtPath);
    if (Session->NumberOfProcesses != 0) {
        RtlWriteText(Writer, ",\"program\":");
        ExportPutHtmlText(Writer,
                          Session->Processes[0].Name,
                          Session->Processes[0].NameLength);
        RtlWriteText(Writer,
                     ",\"processId\":%u",
                     Session->Processes[0].Header->ProcessId);
    }

    RtlWriteText(Writer,
                 ",\"processes\":%u,\"threads\":%u,\"bytes\":%llu,"
                 "\"embedded\":%s}</script>\n",
                 Session->NumberOfProcesses,
                 Session->NumberOfThreads,
                 Bytes,
                 Page->EmbeddedBytes != 0 ? "true" : "false");
}


//
// Writes what the page is made of, once it is known what is in it.
//

_Must_inspect_result_
static
NTSTATUS
ExportPutViewPage(
    _In_ const READER_VIEW_PAGE *Page,
    _Inout_ PRTL_WRITER Writer,
    _In_ PCUNICODE_STRING NtPath,
    _In_ ULONGLONG Bytes
    )
{
    PREADER_PACKING Packing = Page->Packing;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlWriteBytes(Writer, ReaderViewBefore, ReaderViewBeforeSize);
    ExportPutViewAbout(Page, Writer, NtPath, Bytes);
    if (Page->EmbeddedBytes != 0) {
        RtlWriteText(Writer,
                     "<script type=\"application/octet-stream;base64\" "
                     "id=\"embedded\" data-name=\"session.tracepack\">");
        Status = ExportPutViewFile(Writer,
                                   Packing->Context,
                                   Packing->File,
                                   Page->EmbeddedBytes);
        RtlWriteText(Writer, "</script>\n");
    }

    RtlWriteBytes(Writer, ReaderViewAfter, ReaderViewAfterSize);
    return Status;
}


_Use_decl_annotations_
ULONG
ExportWriteViewPage(
    PREADER_VIEW_PAGE Page
    )
{
    static const WCHAR Suffix[] = L".pack";
    PREADER_PACKING Packing = Page->Packing;
    PCREADER_CONTEXT Context = Packing->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PCSZ Object = Page->OutputUtf8;
    UNICODE_STRING NtPath;
    UNICODE_STRING OutputPath;
    UNICODE_STRING PackPath;
    READER_FILE File;
    ULONGLONG Bytes;
    ULONG ExitCode = READER_EXIT_FAILURE;
    BOOLEAN IsSmall;
    NTSTATUS Status;

    RtlZeroBytes(&OutputPath, sizeof(OutputPath));
    RtlZeroBytes(&PackPath, sizeof(PackPath));
    Page->EmbeddedBytes = 0;
    Packing->File = NULL;
    Status = BaseNoteStep(&Packing->FailedStep,
                          "find the session",
                          BaseMakeNtPath(Context,
                                         Packing->Options->Path,
                                         &NtPath));
    if (NT_SUCCESS(Status)) {
        Status = BaseNoteStep(&Packing->FailedStep,
                              "create the page",
                              BaseMakeNtPath(Context,
                                             Page->Output,
                                             &OutputPath));
    }

    if (NT_SUCCESS(Status) && ReaderViewAfterSize == 0) {
        Status = BaseNoteStep(&Packing->FailedStep,
                              "write the page (this TraceReader was built "
                              "without it)",
                              STATUS_NOT_SUPPORTED);
    }

    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    PackPath.MaximumLength = OutputPath.Length + sizeof(Suffix);
    PackPath.Buffer = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                                  PackPath.MaximumLength);
    if (PackPath.Buffer == NULL) {
        Status = BaseNoteStep(&Packing->FailedStep,
                              "write the page",
                              STATUS_NO_MEMORY);
        goto End;
    }

    PackPath.Length = OutputPath.Length;
    RtlCopyBytes(PackPath.Buffer, OutputPath.Buffer, OutputPath.Length);
    (VOID)RtlAppendPath(&PackPath, Suffix, RTL_NUMBER_OF(Suffix) - 1, FALSE);
    IsSmall = ExportFitsViewPage(Page, &Bytes);
    Status = ExportChooseEmbedded(Page,
                                  &NtPath,
                                  &PackPath,
                                  IsSmall,
                                  &Page->EmbeddedBytes);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    ExitCode = READER_EXIT_SUCCESS;
    if (Page->EmbeddedBytes == 0 && Page->IsOnlyEmbedded) {
        goto End;
    }

    if (!BaseCreateFile(&File,
                        Context,
                        Page->Output,
                        Page->OutputUtf8,
                        FALSE)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    Status = BaseNoteStep(&Packing->FailedStep,
                          "read the page's pack",
                          ExportPutViewPage(Page,
                                            &File.Writer,
                                            &NtPath,
                                            Bytes));
    ExitCode = BaseCloseFile(&File, NT_SUCCESS(Status));

End:
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, Packing->FailedStep, Object, Status);
    }

    if (Packing->File != NULL) {
        RtlClose(Context->Rtl, Packing->File);
        Packing->File = NULL;
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    Allocator->Free(Allocator->Context, OutputPath.Buffer);
    Allocator->Free(Allocator->Context, PackPath.Buffer);
    return ExitCode;
}
