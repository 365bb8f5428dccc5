/*++

Module Name:

    CallIndexCount.c

Abstract:

    What lies before the last mark of an index, for those who only count.

    A reading by way of a mark does not look at what is before it, and need not
    know whether that is as it was.  A count must: here an index is taken only
    if none of its stores was written after it, and if the positions that it
    has add up to the records that it counted.

--*/

#include "CallIndexFile.h"

//
// FILE_BASIC_INFORMATION of the Windows Driver Kit.
//

typedef struct _READER_FILE_TIMES {
    LARGE_INTEGER CreationTime;
    LARGE_INTEGER LastAccessTime;
    LARGE_INTEGER LastWriteTime;
    LARGE_INTEGER ChangeTime;
    ULONG FileAttributes;
} READER_FILE_TIMES;
C_ASSERT(sizeof(READER_FILE_TIMES) == 40);

//
// Asks when a file was written last, as far as its file system tells.
//

_Success_(return != FALSE)
static
BOOLEAN
CallQueryWriteTime(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Out_ PLONGLONG Time
    )
{
    IO_STATUS_BLOCK IoStatus;
    READER_FILE_TIMES Times;
    NTSTATUS Status;

    Status = Rtl->NtQueryInformationFile(File,
                                         &IoStatus,
                                         &Times,
                                         sizeof(Times),
                                         RTL_FILE_BASIC_INFORMATION);
    *Time = NT_SUCCESS(Status) ? Times.LastWriteTime.QuadPart : 0;
    return NT_SUCCESS(Status);
}

//
// Decides whether no store of a stream was written after its index.  Where the
// times are not known, as of what is in a pack, one may have been.
//

static
BOOLEAN
CallIsIndexNewest(
    _In_ const READER_STREAM *Stream
    )
{
    PCRTL Rtl = Stream->Session->Context->Rtl;
    PCREADER_STORE Store;
    LONGLONG Indexed;
    LONGLONG Written;
    ULONG Index;

    if (Stream->Index->Source.File == NULL ||
        !CallQueryWriteTime(Rtl, Stream->Index->Source.File, &Indexed)) {
        return FALSE;
    }

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Store = Stream->Session->Stores[Stream->Stores[Index]->Store];
        if (Store->File == NULL ||
            !CallQueryWriteTime(Rtl, Store->File, &Written) ||
            Written > Indexed) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
CallCountByIndex(
    PREADER_STREAM Stream,
    PREADER_COUNTED Counted,
    PULONGLONG NumberOfEntries
    )
{
    const READER_INDEX_HEADER *Header;
    const READER_INDEX_STORE *Known;
    PREADER_INDEX_MARK Mark;
    PCREADER_STORE Store;
    ULONGLONG NumberOfRecords = 0;
    ULONGLONG Number;
    ULONG Index;

    if (Stream->Index == NULL || !Stream->Index->IsReading ||
        Stream->Index->Header.NumberOfMarks == 0 ||
        !CallIsIndexNewest(Stream)) {
        return FALSE;
    }

    Header = &Stream->Index->Header;
    Mark = CallIndexReadMark(Stream,
                             Header->LastMark,
                             Header->EndOfMarks,
                             (ULONG)Header->NumberOfMarks - 1);
    if (Mark == NULL || !CallIsMarkOfStream(Stream, Mark)) {
        return FALSE;
    }

    Known = READER_MARK_STORES(Mark);
    for (Index = 0; Index < Stream->NumberOfStores; Index++, Known++) {

        RtlZeroBytes(&Counted[Index], sizeof(*Counted));
        if (Index >= Mark->NumberOfStores) {
            continue;
        }

        Store = Stream->Session->Stores[Stream->Stores[Index]->Store];
        Number = (Known->Position - Store->StartOfRecords) /
                 TRACE_RECORD_SIZE;
        if (Known->NumberOfBadRecords > Number) {
            return FALSE;
        }

        Counted[Index].NumberOfRecords = Number - Known->NumberOfBadRecords;
        Counted[Index].Position = Known->Position;
        Counted[Index].PreviousTimestamp = Known->PreviousTimestamp;
        NumberOfRecords += Counted[Index].NumberOfRecords;
    }

    *NumberOfEntries = Mark->NumberOfEntries;
    return NumberOfRecords == Mark->NumberOfRecords &&
           Mark->NumberOfEntries <= NumberOfRecords;
}
