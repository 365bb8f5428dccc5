/*++

Module Name:

    SessionCopy.c

Abstract:

    A session's files are read to be copied: by pack, ctl snapshot and recover.

--*/

#include "SessionCopy.h"
#include "SessionName.h"


_Use_decl_annotations_
READER_FILE_KIND
SessionQueryFileKind(
    PCRTL Rtl,
    PCUNICODE_STRING Name
    )
{
    static const struct {
        PCWSTR Text;
        ULONG LengthInChars;
        BOOLEAN IsWhole;
        READER_FILE_KIND Kind;
    } Kinds[] = {
        { L".LOG", 4, FALSE, ReaderFileLog },
        { L"SYMBOLS.CACHE", 13, TRUE, ReaderFileCache },
        { L"SESSION.CONTROL", 15, TRUE, ReaderFileControl },
        { L"SESSION.EXIT", 12, TRUE, ReaderFileExit },
        { L"SESSION.IMPORTS", 15, TRUE, ReaderFileImports }
    };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Kinds); Index++) {
        if (SessionEndsWith(Rtl,
                            Name,
                            Kinds[Index].Text,
                            Kinds[Index].LengthInChars) &&
            (!Kinds[Index].IsWhole ||
             Name->Length == Kinds[Index].LengthInChars * sizeof(WCHAR))) {
            return Kinds[Index].Kind;
        }
    }

    return ReaderFileOther;
}


_Use_decl_annotations_
NTSTATUS
SessionOpenFile(
    PREADER_SESSION Session,
    PCUNICODE_STRING Name,
    PHANDLE File,
    PULONGLONG SizeInBytes
    )
{
    PCRTL Rtl = Session->Context->Rtl;
    NTSTATUS Status = STATUS_SUCCESS;

    *File = NULL;
    *SizeInBytes = 0;
    Session->Path.Length = Session->DirectoryLength;
    if (Session->IsDirectory) {
        Status = RtlAppendPath(&Session->Path,
                               Name->Buffer,
                               Name->Length / sizeof(WCHAR),
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &Session->Path, File);
        if (!NT_SUCCESS(Status)) {
            *File = NULL;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Rtl, *File, SizeInBytes);
        if (!NT_SUCCESS(Status)) {
            RtlClose(Rtl, *File);
            *File = NULL;
        }
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SessionCopyPart(
    PCREADER_CONTEXT Context,
    HANDLE Source,
    ULONGLONG Start,
    ULONGLONG End,
    PVOID Buffer,
    ULONG SizeInBytes,
    PREADER_COPY_ROUTINE Routine,
    PVOID Target,
    NTSTATUS *WriteStatus
    )
{
    ULONG Size;
    ULONG ReadInBytes;
    NTSTATUS Status;

    *WriteStatus = STATUS_SUCCESS;
    while (Start < End) {

        Size = SizeInBytes;
        if (Size > End - Start) {
            Size = (ULONG)(End - Start);
        }

        Status = RtlReadFile(Context->Rtl,
                             Source,
                             Start,
                             Buffer,
                             Size,
                             &ReadInBytes);
        if (Status == STATUS_END_OF_FILE ||
            (NT_SUCCESS(Status) && ReadInBytes == 0)) {
            break;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (ReadInBytes > TRACE_RECORD_SIZE) {
            ReadInBytes -= ReadInBytes % TRACE_RECORD_SIZE;
        }

        *WriteStatus = Routine(Target, Start, Buffer, ReadInBytes);
        if (!NT_SUCCESS(*WriteStatus)) {
            break;
        }

        Start += ReadInBytes;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SessionCopyToFile(
    PVOID Target,
    ULONGLONG FileOffset,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    PREADER_COPY_FILE Copy = (PREADER_COPY_FILE)Target;
    const UCHAR *Byte = (const UCHAR *)Bytes;
    ULONG Index;

    for (Index = 0;
         Copy->IsSparse && Index < SizeInBytes && Byte[Index] == 0;
         Index++) {
    }

    if (Index == SizeInBytes) {
        return STATUS_SUCCESS;
    }

    return RtlWriteFile(Copy->Context->Rtl,
                        Copy->File,
                        FileOffset,
                        Bytes,
                        SizeInBytes);
}


_Use_decl_annotations_
NTSTATUS
SessionCopyRecords(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store,
    PVOID Buffer,
    ULONG SizeInBytes,
    PREADER_RECORDS_ROUTINE Routine,
    PVOID Target,
    NTSTATUS *WriteStatus
    )
{
    ULONGLONG Position = Store->StartOfRecords;
    ULONGLONG End = Store->EndOfRecords;
    ULONG NumberRead;
    NTSTATUS Status;

    *WriteStatus = STATUS_SUCCESS;
    while (Position < End) {

        Status = SessionReadRecords(Context,
                                    Store,
                                    Position,
                                    (PTRACE_RECORD)Buffer,
                                    SizeInBytes / TRACE_RECORD_SIZE,
                                    &NumberRead);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (NumberRead == 0) {

            if (Store->LostEnd > Position) {
                Position = Store->LostEnd;
                continue;
            }

            if (Store->StartOfRecords <= Position) {
                return STATUS_END_OF_FILE;
            }

            Position = Store->StartOfRecords;
            continue;
        }

        *WriteStatus = Routine(Target,
                               Position,
                               (PCTRACE_RECORD)Buffer,
                               NumberRead);
        if (!NT_SUCCESS(*WriteStatus)) {
            break;
        }

        Position += (ULONGLONG)NumberRead * TRACE_RECORD_SIZE;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SessionStraightenHeader(
    PTRACE_STORE_HEADER Header,
    ULONGLONG End
    )
{
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->Generation = 0;
    Header->Cursor = End;
    Header->CursorToFileOffset = 0;
    Header->ViewFileOffset = End;
    Header->Limit = End;
    Header->WriterContext = 0;
    Header->FirstPosition = 0;
    Header->RingFileOffset = 0;
    Header->RingSizeInBytes = 0;
    if (Header->Mode == TRACE_MODE_COMPACT) {
        Header->Mode = TRACE_MODE_RECORDS;
        Header->MajorVersion = TRACE_FORMAT_MAJOR;
        Header->BlocksFileOffset = 0;
        Header->BlocksEnd = 0;
        Header->BlocksTail = 0;
        Header->BlocksFirst = 0;
        Header->NumberOfBlocksInline = 0;
        Header->BlocksCapacity = 0;
    }
}
