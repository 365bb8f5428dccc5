/*++

Module Name:

    ReaderIndex.c

Abstract:

    The index of a thread: marks, each of which says how pairing stood between
    two of its records, so that a stream can begin there.  It is a file beside
    the thread's first store, written by whoever reads the thread through and
    extended when there is more.  Docs/Format.md, section 13, has its format.

    Nothing depends on it: an index that cannot be had, is damaged or is not of
    these stores is as none.  Whatever it says is checked before it is used.

    Here it is opened and closed, and here is what both reading and writing it
    need.

--*/

#include "ReaderIndex.h"


static
ULONGLONG
ReaderHashWords(
    _In_ ULONGLONG Hash,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Adds bytes to a hash.

Arguments:

    Hash - What was hashed before, or a seed.

    Bytes - The bytes, aligned on 8.

    SizeInBytes - How many, a multiple of 8.

Return Value:

    The hash.

--*/
{
    const ULONGLONG *Words = (const ULONGLONG *)Bytes;
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes / sizeof(ULONGLONG); Index++) {
        Hash = (Hash ^ Words[Index]) * READER_INDEX_MULTIPLIER;
        Hash ^= Hash >> 29;
    }

    return Hash;
}


_Use_decl_annotations_
ULONGLONG
ReaderHashMark(
    PCREADER_INDEX_MARK Mark,
    ULONGLONG Offset
    )
/*++

Routine Description:

    Finds a mark's checksum.

Arguments:

    Mark - The mark.

    Offset - Where it is in the file.

Return Value:

    The checksum.

--*/
{
    return ReaderHashWords(Offset,
                           &Mark->SizeInBytes,
                           Mark->SizeInBytes - sizeof(ULONGLONG));
}


_Use_decl_annotations_
ULONGLONG
ReaderHashHeader(
    const READER_INDEX_HEADER *Header
    )
/*++

Routine Description:

    Finds a header's checksum.

Arguments:

    Header - The header.

Return Value:

    The checksum.

--*/
{
    return ReaderHashWords(0,
                           Header,
                           FIELD_OFFSET(READER_INDEX_HEADER, Checksum));
}


_Use_decl_annotations_
ULONGLONG
ReaderIdentifyStore(
    PCTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Finds what tells a store from every other one.

Arguments:

    Header - Its header.

Return Value:

    A hash of the fields that do not change: which process, thread, stack and
    module, which of the files, and when it was made.

--*/
{
    ULONGLONG Hash = Header->MinimumDuration;

    Hash = ReaderHashWords(Hash,
                           Header,
                           FIELD_OFFSET(TRACE_STORE_HEADER, Cursor));
    Hash = ReaderHashWords(Hash,
                           &Header->OpenAnchor,
                           sizeof(Header->OpenAnchor));
    return ReaderHashWords(Hash,
                           &Header->ModuleBase,
                           FIELD_OFFSET(TRACE_STORE_HEADER, ModulePathLength) -
                               FIELD_OFFSET(TRACE_STORE_HEADER, ModuleBase));
}


_Use_decl_annotations_
ULONG
ReaderDescribeImage(
    const READER_MODULE *Module
    )
/*++

Routine Description:

    Says whether pairing knows a module's image: itself, or what the cache has
    of it.

Arguments:

    Module - The module.

Return Value:

    READER_INDEX_UNWIND or 0.

--*/
{
    if (Module->Symbols != NULL && ReaderGetUnwind(Module->Symbols) != NULL) {
        return READER_INDEX_UNWIND;
    }

    if (Module->IsSymbolsTried && Module->CachedModule != READER_NONE &&
        !Module->IsImageMissed) {
        return READER_INDEX_UNWIND;
    }

    return 0;
}


_Use_decl_annotations_
NTSTATUS
ReaderGrowMarkBuffer(
    PREADER_STREAM Stream,
    ULONG SizeInBytes
    )
/*++

Routine Description:

    Makes room for a mark.

Arguments:

    Stream - The stream, with an index.

    SizeInBytes - The mark's.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    return ReaderGrowArray(Stream->Session->Context->Allocator,
                           &Stream->Index->Buffer,
                           &Stream->Index->Capacity,
                           (SizeInBytes + sizeof(ULONGLONG) - 1) /
                               sizeof(ULONGLONG),
                           sizeof(ULONGLONG));
}


_Use_decl_annotations_
BOOLEAN
ReaderReadExactly(
    PCREADER_CONTEXT Context,
    HANDLE File,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
/*++

Routine Description:

    Reads a part of a file.

Arguments:

    Context - The context.

    File - The file.

    Offset - Where the part begins.

    Bytes - Receives it.

    SizeInBytes - How long it is.

Return Value:

    FALSE if the file does not have all of it.

--*/
{
    ULONG ReadInBytes;
    NTSTATUS Status;

    Status = RtlReadFile(Context->Rtl,
                         File,
                         Offset,
                         Bytes,
                         SizeInBytes,
                         &ReadInBytes);
    return NT_SUCCESS(Status) && ReadInBytes == SizeInBytes;
}


_Use_decl_annotations_
BOOLEAN
ReaderReadOneRecord(
    const READER_STREAM *Stream,
    PREADER_STORE Store,
    ULONGLONG Position,
    PTRACE_RECORD Record
    )
/*++

Routine Description:

    Reads one record.

Arguments:

    Stream - The stream.

    Store - One of its stores.

    Position - The record's.

    Record - Receives it.

Return Value:

    FALSE if it cannot be had.

--*/
{
    ULONG NumberRead;
    NTSTATUS Status;

    Status = ReaderReadRecords(Stream->Session->Context,
                               Store,
                               Position,
                               Record,
                               1,
                               &NumberRead);
    if (!NT_SUCCESS(Status)) {

        //
        // Whoever needs the record finds that out again.
        //

        Store->Status = STATUS_SUCCESS;
        Store->FailedStep = NULL;
        return FALSE;
    }

    return NumberRead == 1;
}


static
VOID
ReaderCloseIndexFiles(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Closes the files of an index.

Arguments:

    Stream - The stream, with an index.

Return Value:

    None.

--*/
{
    PREADER_INDEX Index = Stream->Index;
    PCRTL Rtl = Stream->Session->Context->Rtl;

    if (Index->Reading != NULL) {
        RtlClose(Rtl, Index->Reading);
        Index->Reading = NULL;
    }

    if (Index->Writing != NULL) {
        RtlClose(Rtl, Index->Writing);
        Index->Writing = NULL;
    }
}


_Use_decl_annotations_
VOID
ReaderOpenIndex(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Gives a stream its index, if it can have one.

Arguments:

    Stream - The stream, just opened.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_INDEX Index;
    PREADER_STORE Store;
    ULONGLONG NumberOfRecords = 0;
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
        if (Store->Header->RingSizeInBytes != 0) {
            return;
        }

        NumberOfRecords += (Store->EndOfRecords - Store->StartOfRecords) /
                           TRACE_RECORD_SIZE;
    }

    if (NumberOfRecords < Session->IndexInterval) {
        return;
    }

    Index = (PREADER_INDEX)
        Allocator->Allocate(Allocator->Context, sizeof(READER_INDEX));
    if (Index == NULL) {
        return;
    }

    RtlZeroBytes(Index, sizeof(*Index));
    Store = Session->Stores[Stream->Stores[0]->Store];
    Status = ReaderNameIndex(Session, Store, &Index->Path);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, Index);
        return;
    }

    Index->Interval = Session->IndexInterval;
    Index->Due = Index->Interval;
    Index->MaximumSize = READER_INDEX_LIMIT(NumberOfRecords);
    Stream->Index = Index;
    ReaderLoadIndex(Stream);
}


_Use_decl_annotations_
VOID
ReaderCloseIndex(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Names the marks that were added, and closes the index.

Arguments:

    Stream - The stream, with an index or without.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    PREADER_INDEX Index = Stream->Index;

    if (Index == NULL) {
        return;
    }

    if (Index->Writing != NULL) {
        (VOID)ReaderWriteIndexHeader(Stream);
    }

    Stream->Session->NumberOfMarks += Index->Header.NumberOfMarks;
    Stream->Session->NumberLeftOut += Index->Header.NumberLeftOut;
    Stream->Session->NumberPassedBy += Stream->NumberPassedBy;

    ReaderCloseIndexFiles(Stream);
    Allocator->Free(Allocator->Context, Index->Buffer);
    Allocator->Free(Allocator->Context, Index->Path.Buffer);
    Allocator->Free(Allocator->Context, Index);
    Stream->Index = NULL;
}


_Use_decl_annotations_
VOID
ReaderPutIndexCost(
    const READER_SESSION *Session
    )
/*++

Routine Description:

    Says what indexes there were, and what they were good for.

Arguments:

    Session - The session, its streams closed.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: index: %llu marks; %llu left out, or the index "
                 "would be too large; %llu records passed by\n",
                 Session->NumberOfMarks,
                 Session->NumberLeftOut,
                 Session->NumberPassedBy);
    RtlFlushWriter(Errors);
}
