/*++

Module Name:

    CallIndex.c

Abstract:

    The index of a thread: marks, each of which says how pairing stood between
    two of its records, so that a stream can begin there.  It is a file beside
    the thread's first store, written by whoever reads the thread through and
    extended when there is more.  Docs/Format.md, section 13, has its format.

    Nothing depends on it: an index that cannot be had, is damaged or is not of
    these stores is as none.  Whatever it says is checked before it is used.

    Here it is opened and closed; CallIndexFile.c has what both reading and
    writing it need.

--*/

#include "../Session/SessionStoreOpen.h"
#include "CallIndexFile.h"


static
VOID
CallCloseIndexFiles(
    _Inout_ PREADER_STREAM Stream
    )
{
    PREADER_INDEX Index = Stream->Index;
    PCRTL Rtl = Stream->Session->Context->Rtl;

    if (Index->IsReading) {
        SessionCloseSource(&Index->Source);
        Index->IsReading = FALSE;
    }

    if (Index->Writing != NULL) {
        RtlClose(Rtl, Index->Writing);
        Index->Writing = NULL;
    }
}


_Use_decl_annotations_
ULONGLONG
CallChooseInterval(
    const READER_SESSION *Session,
    ULONGLONG NumberOfRecords
    )
{
    return Session->FineIndexInterval != 0 &&
                   NumberOfRecords / Session->FineIndexInterval <=
                       READER_INDEX_FINE_MARKS
               ? Session->FineIndexInterval
               : Session->IndexInterval;
}


_Use_decl_annotations_
VOID
CallOpenIndex(
    PREADER_STREAM Stream
    )
{
    PREADER_SESSION Session = Stream->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_INDEX Index;
    PREADER_STORE Store;
    ULONGLONG NumberOfRecords = 0;
    ULONGLONG Interval;
    ULONG Number;
    NTSTATUS Status;

    if (Session->IndexInterval == 0 ||
        Session->Clock.Kind == TRACE_CLOCK_NONE ||
        Stream->NumberOfStores == 0 ||
        Stream->NumberOfStores > READER_INDEX_MAXIMUM_STORES) {
        return;
    }

    for (Number = 0; Number < Stream->NumberOfStores; Number++) {

        Store = Session->Stores[Stream->Stores[Number]->Store];
        if (!Session->AreRingsIndexed &&
            (READER_IS_STORE_COMPACT(Store)
                 ? Store->Header->BlocksCapacity != 0
                 : Store->Header->RingSizeInBytes != 0)) {
            return;
        }

        NumberOfRecords += (Store->EndOfRecords - Store->StartOfRecords) /
                           TRACE_RECORD_SIZE;
    }

    Interval = CallChooseInterval(Session, NumberOfRecords);
    if (NumberOfRecords < Interval) {
        return;
    }

    Index = (PREADER_INDEX)
        Allocator->Allocate(Allocator->Context, sizeof(READER_INDEX));
    if (Index == NULL) {
        return;
    }

    RtlZeroBytes(Index, sizeof(*Index));
    Store = Session->Stores[Stream->Stores[0]->Store];
    Status = SessionComposeNameBeside(Session,
                                      Store,
                                      L".index",
                                      &Index->Path);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, Index);
        return;
    }

    Index->Interval = Interval;
    Index->Due = Index->Interval;
    Index->MaximumSize = READER_INDEX_LIMIT(NumberOfRecords);
    Stream->Index = Index;
    CallLoadIndex(Stream);
}


_Use_decl_annotations_
VOID
CallCloseIndex(
    PREADER_STREAM Stream
    )
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    PREADER_INDEX Index = Stream->Index;

    if (Index == NULL) {
        return;
    }

    if (Index->Writing != NULL) {
        (VOID)CallWriteIndexHeader(Stream);
    }

    Stream->Session->NumberOfMarks += Index->Header.NumberOfMarks;
    Stream->Session->NumberLeftOut += Index->Header.NumberLeftOut;
    Stream->Session->NumberPassedBy += Stream->NumberPassedBy;

    CallCloseIndexFiles(Stream);
    Allocator->Free(Allocator->Context, Index->Buffer);
    Allocator->Free(Allocator->Context, Index->Near);
    Allocator->Free(Allocator->Context, Index->Path.Buffer);
    Allocator->Free(Allocator->Context, Index);
    Stream->Index = NULL;
}


_Use_decl_annotations_
VOID
CallPutIndexCost(
    const READER_SESSION *Session
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: index: %llu marks; %llu left out to keep the "
                 "index small; %llu records skipped\n",
                 Session->NumberOfMarks,
                 Session->NumberLeftOut,
                 Session->NumberPassedBy);
    RtlFlushWriter(Errors);
}
