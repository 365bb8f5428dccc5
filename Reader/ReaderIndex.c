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

--*/

#include "Reader.h"

//
// A fuzz target has to get beyond the checksums.
//

#ifndef READER_INDEX_IS_CHECKED
#define READER_INDEX_IS_CHECKED 1
#endif

#define READER_INDEX_MAGIC 0x5845444E49435254ULL    // "TRCINDEX"

//
// Counts the formats, and the rules of pairing: other rules, other frames.
//

#define READER_INDEX_VERSION 1u

//
// The index is at most that part of the records that it is of, and so much
// more.
//

#define READER_INDEX_SHARE 64u
#define READER_INDEX_ALLOWANCE 0x10000u

#define READER_INDEX_LIMIT(NumberOfRecords)                                 \
    ((NumberOfRecords) * TRACE_RECORD_SIZE / READER_INDEX_SHARE +           \
     READER_INDEX_ALLOWANCE)

//
// What one mark may take.
//

#define READER_INDEX_MAXIMUM_MARK 0x2000000u
#define READER_INDEX_MAXIMUM_STORES 1024u

//
// The header is written anew after that many marks.
//

#define READER_INDEX_FLUSH 64u

#define READER_INDEX_AFTER_JUMP 0x1u    // of a mark: the clock jumped
#define READER_INDEX_SEEN       0x1u    // of a store: records were read
#define READER_INDEX_UNWIND     0x2u    // its image's unwind data was there
#define READER_INDEX_ENTERED_SHIFT 8    // and above: READER_STREAM_STORE's
                                        // Entered

#define READER_INDEX_MULTIPLIER 0x9E3779B97F4A7C15ULL

typedef struct _READER_INDEX_MARK {
    ULONGLONG Checksum;             // of what follows
    ULONG SizeInBytes;
    ULONG Number;
    ULONGLONG Previous;             // file offset of mark Number - 1
    ULONGLONG Jump;                 // of mark Number & (Number - 1)
    ULONGLONG Timestamp;            // of the last record before it
    ULONGLONG NumberOfRecords;      // before it
    ULONG NumberOfJumps;            // of the clock
    ULONG Flags;                    // READER_INDEX_AFTER_JUMP
    ULONG NumberOfStores;
    ULONG NumberOfStacks;           // in all
    ULONG NumberOfChanges;          // of stacks, here
    ULONG NumberOfFrames;           // here
    ULONG Current;                  // stack
    ULONG Unused;
} READER_INDEX_MARK;
typedef READER_INDEX_MARK *PREADER_INDEX_MARK;
typedef const READER_INDEX_MARK *PCREADER_INDEX_MARK;

typedef struct _READER_INDEX_STORE {
    ULONGLONG Identity;
    ULONGLONG Position;             // of the next record
    ULONGLONG PreviousTimestamp;    // of the last valid record
    ULONGLONG LastRecord[2];        // that lies before Position
    ULONGLONG NumberOfBadRecords;
    ULONGLONG FirstBadOffset;
    ULONG FirstBadState;
    ULONG Flags;                    // READER_INDEX_SEEN, _UNWIND, _ENTERED
} READER_INDEX_STORE;
typedef READER_INDEX_STORE *PREADER_INDEX_STORE;

typedef struct _READER_INDEX_STACK {
    ULONG Stack;
    ULONG Unused;
    ULONG Lowest;                   // as in CORE_STACK
    ULONG Highest;
    ULONGLONG JumpTarget;
    ULONGLONG LeftTimestamp;
    ULONG NumberOfFrames;           // in all
    ULONG FirstFrame;               // that follows here; the rest too
} READER_INDEX_STACK;
typedef READER_INDEX_STACK *PREADER_INDEX_STACK;

typedef struct _READER_INDEX_FRAME {
    ULONGLONG EnterTimestamp;       // as in CORE_FRAME; the modules are those
    ULONGLONG ChildTicks;           // of the thread's stores
    ULONGLONG Site;
    ULONGLONG Physical;
    ULONG Stack;
    ULONG Top;
    ULONG BodySize;
    ULONG Kind;
    ULONG Flags;
    ULONG NumberOfJumps;
} READER_INDEX_FRAME;
typedef READER_INDEX_FRAME *PREADER_INDEX_FRAME;

C_ASSERT(sizeof(READER_INDEX_HEADER) == 64);
C_ASSERT(sizeof(READER_INDEX_MARK) == 80);
C_ASSERT(sizeof(READER_INDEX_STORE) == 64);
C_ASSERT(sizeof(READER_INDEX_STACK) == 40);
C_ASSERT(sizeof(READER_INDEX_FRAME) == 56);

//
// A stack while it is put together from marks, the last one first.
//

typedef struct _READER_INDEX_RESTORE {
    PCORE_STACK Stacks;
    PULONG Missing;                 // frames below those that were found; the
                                    // number of frames is not known: all ones
    PULONG Order;
    ULONG NumberOfStacks;
    ULONG NumberOfIncomplete;
    ULONGLONG NumberOfFrames;       // of the stacks that are known
} READER_INDEX_RESTORE;
typedef READER_INDEX_RESTORE *PREADER_INDEX_RESTORE;

#define READER_INDEX_UNKNOWN 0xFFFFFFFFu

#define READER_MARK_STORES(Mark)                                            \
    ((PREADER_INDEX_STORE)((Mark) + 1))
#define READER_MARK_STACKS(Mark)                                            \
    ((PREADER_INDEX_STACK)(READER_MARK_STORES(Mark) +                       \
                           (Mark)->NumberOfStores))
#define READER_MARK_FRAMES(Mark)                                            \
    ((PREADER_INDEX_FRAME)(READER_MARK_STACKS(Mark) +                       \
                           (Mark)->NumberOfChanges))


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


static
ULONGLONG
ReaderHashMark(
    _In_ PCREADER_INDEX_MARK Mark,
    _In_ ULONGLONG Offset
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


static
ULONGLONG
ReaderHashHeader(
    _In_ const READER_INDEX_HEADER *Header
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


static
ULONGLONG
ReaderIdentifyStore(
    _In_ PCTRACE_STORE_HEADER Header
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


static
ULONG
ReaderDescribeImage(
    _In_ const READER_MODULE *Module
    )
/*++

Routine Description:

    Says whether pairing knows a module's image.

Arguments:

    Module - The module.

Return Value:

    READER_INDEX_UNWIND or 0.

--*/
{
    if (Module->Symbols != NULL && ReaderGetUnwind(Module->Symbols) != NULL) {
        return READER_INDEX_UNWIND;
    }

    return 0;
}


static
ULONGLONG
ReaderPackKey(
    _In_ const READER_STREAM *Stream,
    _In_ ULONGLONG Key
    )
/*++

Routine Description:

    Makes a key that says which of the thread's stores instead of which of the
    session's modules.

Arguments:

    Stream - The stream.

    Key - (module << 32) | RVA; 0: none.

Return Value:

    (store << 32) | RVA, or 0.

--*/
{
    ULONG Index;

    for (Index = 0; Key != 0 && Index < Stream->NumberOfStores; Index++) {
        if (Stream->Stores[Index]->Module == (ULONG)(Key >> 32)) {
            return ((ULONGLONG)Index << 32) | (ULONG)Key;
        }
    }

    return 0;
}


_Success_(return != FALSE)
static
BOOLEAN
ReaderUnpackKey(
    _In_ const READER_STREAM *Stream,
    _In_ ULONG NumberOfStores,
    _In_ ULONGLONG Packed,
    _Out_ PULONGLONG Key
    )
/*++

Routine Description:

    Undoes ReaderPackKey.

Arguments:

    Stream - The stream.

    NumberOfStores - That the mark knows.

    Packed - The key in the file.

    Key - Receives (module << 32) | RVA, or 0.

Return Value:

    FALSE if there is no such store, or no such RVA in its module.

--*/
{
    ULONG Index = (ULONG)(Packed >> 32);
    PREADER_STREAM_STORE Part;

    *Key = 0;
    if (Packed == 0) {
        return TRUE;
    }

    if (Index >= NumberOfStores) {
        return FALSE;
    }

    Part = Stream->Stores[Index];
    if ((ULONG)Packed >= Part->Iterator.Check.ModuleSize) {
        return FALSE;
    }

    *Key = ((ULONGLONG)Part->Module << 32) | (ULONG)Packed;
    return TRUE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderGrowMarkBuffer(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG SizeInBytes
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


static
BOOLEAN
ReaderReadExactly(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE File,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
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


_Success_(return != NULL)
static
PREADER_INDEX_MARK
ReaderReadMark(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG End,
    _In_ ULONG Number
    )
/*++

Routine Description:

    Reads a mark into the buffer, and sees to it that its parts are in it.

Arguments:

    Stream - The stream, with an index whose file is open.

    Offset - Where the mark is in the file.

    End - Where it ends at the latest.

    Number - Its number.

Return Value:

    The mark, good until the next one is read; NULL: there is none.

--*/
{
    PCREADER_CONTEXT Context = Stream->Session->Context;
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    READER_INDEX_MARK First;
    ULONGLONG Size;

    if (Offset < sizeof(READER_INDEX_HEADER) ||
        Offset % sizeof(ULONGLONG) != 0 ||
        Offset >= End ||
        End - Offset < sizeof(First) ||
        !ReaderReadExactly(Context,
                           Index->Reading,
                           Offset,
                           &First,
                           sizeof(First))) {
        return NULL;
    }

    Size = sizeof(READER_INDEX_MARK) +
           (ULONGLONG)First.NumberOfStores * sizeof(READER_INDEX_STORE) +
           (ULONGLONG)First.NumberOfChanges * sizeof(READER_INDEX_STACK) +
           (ULONGLONG)First.NumberOfFrames * sizeof(READER_INDEX_FRAME);
    if (First.SizeInBytes != Size ||
        Size > READER_INDEX_MAXIMUM_MARK ||
        Size > End - Offset ||
        First.Number != Number ||
        First.NumberOfStores == 0 ||
        First.NumberOfStores > Stream->NumberOfStores ||
        First.NumberOfStacks == 0 ||
        First.NumberOfStacks > Index->Header.EndOfMarks /
                                   sizeof(READER_INDEX_STACK) ||
        First.NumberOfChanges > First.NumberOfStacks ||
        First.Current >= First.NumberOfStacks ||
        (Number != 0 && (First.Previous >= Offset || First.Jump >= Offset)) ||
        !NT_SUCCESS(ReaderGrowMarkBuffer(Stream, First.SizeInBytes)) ||
        !ReaderReadExactly(Context,
                           Index->Reading,
                           Offset,
                           Index->Buffer,
                           First.SizeInBytes)) {
        return NULL;
    }

    //
    // Somebody may have written it anew meanwhile.
    //

    Mark = (PREADER_INDEX_MARK)Index->Buffer;
    if (!RtlAreBytesEqual(Mark, &First, sizeof(First)) ||
        (READER_INDEX_IS_CHECKED &&
         Mark->Checksum != ReaderHashMark(Mark, Offset))) {
        return NULL;
    }

    return Mark;
}


_Success_(return != FALSE)
static
BOOLEAN
ReaderReadOneRecord(
    _In_ const READER_STREAM *Stream,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_ PTRACE_RECORD Record
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
BOOLEAN
ReaderIsMarkOfStream(
    _Inout_ PREADER_STREAM Stream,
    _In_ PCREADER_INDEX_MARK Mark
    )
/*++

Routine Description:

    Decides whether a mark is of the stream's stores as they are now.

Arguments:

    Stream - The stream.

    Mark - The mark.

Return Value:

    FALSE if not: then no mark is of use.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX_STORE Known;
    PREADER_STREAM_STORE Part;
    PREADER_STORE Store;
    PREADER_MODULE Module;
    TRACE_RECORD Record;
    ULONGLONG Last[2];
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        Store = Session->Stores[Part->Store];

        //
        // A store that is newer than the mark has nothing before it.
        //

        if (Index >= Mark->NumberOfStores) {
            if (Store->FirstTimestamp != 0 &&
                Store->FirstTimestamp <= Mark->Timestamp) {
                return FALSE;
            }

            continue;
        }

        Known = &READER_MARK_STORES(Mark)[Index];
        if (Known->Identity != ReaderIdentifyStore(Store->Header) ||
            Known->Position < Store->StartOfRecords ||
            Known->Position > Store->EndOfRecords ||
            (Known->Position - Store->StartOfRecords) % TRACE_RECORD_SIZE !=
                0 ||
            Known->FirstBadState > CoreRecordBadTime ||
            (Store->Header->Clock != TRACE_CLOCK_TSC &&
             Store->Header->Clock != TRACE_CLOCK_THREAD)) {
            return FALSE;
        }

        if (Known->Position != Store->StartOfRecords) {

            if (!ReaderReadOneRecord(Stream,
                                     Store,
                                     Known->Position - TRACE_RECORD_SIZE,
                                     &Record)) {
                return FALSE;
            }

            RtlCopyBytes(Last, &Record, sizeof(Last));
            if (Last[0] != Known->LastRecord[0] ||
                Last[1] != Known->LastRecord[1]) {
                return FALSE;
            }
        }

        //
        // With several stores the next record of each has to be later than
        // what was read of the others.
        //

        if (Stream->NumberOfStores > 1 &&
            Known->Position < Store->EndOfRecords &&
            (!ReaderReadOneRecord(Stream, Store, Known->Position, &Record) ||
             Record.Timestamp <= Mark->Timestamp)) {
            return FALSE;
        }

        if ((Known->Flags & READER_INDEX_SEEN) != 0) {
            Module = Session->Modules[Part->Module];
            Status = ReaderLoadModuleSymbols(Session, Module);
            if (!NT_SUCCESS(Status) ||
                (Known->Flags & READER_INDEX_UNWIND) !=
                    ReaderDescribeImage(Module)) {
                return FALSE;
            }
        }
    }

    return TRUE;
}


static
VOID
ReaderFindOffsets(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Finds the marks that later ones jump to.

    Offsets[n] is where the last mark is whose number is a multiple of 2^n.

Arguments:

    Stream - The stream, with a valid index; without it if a mark is missing.

Return Value:

    None.

--*/
{
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    ULONGLONG Offset = Index->Header.LastMark;
    ULONGLONG End = Index->Header.EndOfMarks;
    ULONG Number = (ULONG)Index->Header.NumberOfMarks - 1;
    ULONG Level = 0;

    for (;;) {

        Mark = ReaderReadMark(Stream, Offset, End, Number);
        if (Mark == NULL) {
            RtlZeroBytes(&Index->Header, sizeof(Index->Header));
            return;
        }

        while (Level < RTL_NUMBER_OF(Index->Offsets) &&
               (Number & (((ULONGLONG)1 << Level) - 1)) == 0) {
            Index->Offsets[Level] = Offset;
            Level += 1;
        }

        if (Number == 0) {
            return;
        }

        End = Offset;
        Offset = Mark->Jump;
        Number &= Number - 1;
    }
}


static
VOID
ReaderLoadIndex(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Opens the file of an index and decides whether it is one of the stream.

Arguments:

    Stream - The stream, with an index; the number of marks in its header is
        set, to 0 if it is not.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX Index = Stream->Index;
    READER_INDEX_HEADER *Header = &Index->Header;
    PREADER_INDEX_MARK Mark;
    NTSTATUS Status;

    Status = RtlOpenFileForReading(Session->Context->Rtl,
                                   &Index->Path,
                                   &Index->Reading);
    if (!NT_SUCCESS(Status)) {
        Index->Reading = NULL;
        return;
    }

    if (!ReaderReadExactly(Session->Context,
                           Index->Reading,
                           0,
                           Header,
                           sizeof(*Header)) ||
        Header->Magic != READER_INDEX_MAGIC ||
        Header->Version != READER_INDEX_VERSION ||
        Header->JumpTicks != Session->JumpTicks ||
        Header->NumberOfMarks == 0 ||
        Header->NumberOfMarks > READER_NONE ||
        Header->EndOfMarks > Index->MaximumSize ||
        (READER_INDEX_IS_CHECKED &&
         Header->Checksum != ReaderHashHeader(Header))) {
        RtlZeroBytes(Header, sizeof(*Header));
        return;
    }

    Mark = ReaderReadMark(Stream,
                          Header->LastMark,
                          Header->EndOfMarks,
                          (ULONG)Header->NumberOfMarks - 1);
    if (Mark == NULL || !ReaderIsMarkOfStream(Stream, Mark)) {
        RtlZeroBytes(Header, sizeof(*Header));
        return;
    }

    Index->LastTimestamp = Mark->Timestamp;
    Index->Due = Mark->NumberOfRecords + Index->Interval;
    ReaderFindOffsets(Stream);
    if (Header->NumberOfMarks == 0) {
        Index->LastTimestamp = 0;
        Index->Due = Index->Interval;
    }
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


static
BOOLEAN
ReaderWriteIndexHeader(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Writes the header of an index: what it does not name is not there.

Arguments:

    Stream - The stream, with an index that is being written.

Return Value:

    FALSE if it cannot be written.

--*/
{
    PREADER_INDEX Index = Stream->Index;
    NTSTATUS Status;

    Index->Header.Checksum = ReaderHashHeader(&Index->Header);
    Status = RtlWriteFile(Stream->Session->Context->Rtl,
                          Index->Writing,
                          0,
                          &Index->Header,
                          sizeof(Index->Header));
    Index->NumberOfUnnamed = 0;
    return NT_SUCCESS(Status);
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


static
BOOLEAN
ReaderBeginWriting(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Opens an index for writing.  Only one can have it so.

Arguments:

    Stream - The stream, with an index.

Return Value:

    FALSE if it is not to be written: it is another's, the folder is not to be
    written in, or the file is not an index.

--*/
{
    PCREADER_CONTEXT Context = Stream->Session->Context;
    PREADER_INDEX Index = Stream->Index;
    READER_INDEX_HEADER Header;
    ULONGLONG Size;
    NTSTATUS Status;

    Status = RtlCreateFile(Context->Rtl,
                           &Index->Path,
                           RTL_OPEN_ALWAYS,
                           &Index->Writing);
    if (!NT_SUCCESS(Status)) {
        Index->Writing = NULL;
        return FALSE;
    }

    Status = RtlQueryFileSize(Context->Rtl, Index->Writing, &Size);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    RtlZeroBytes(&Header, sizeof(Header));
    if (Size != 0 &&
        (!ReaderReadExactly(Context,
                            Index->Writing,
                            0,
                            &Header,
                            sizeof(Header)) ||
         Header.Magic != READER_INDEX_MAGIC)) {
        return FALSE;
    }

    if (Index->Header.NumberOfMarks != 0) {
        return (BOOLEAN)RtlAreBytesEqual(&Header,
                                         &Index->Header,
                                         sizeof(Header));
    }

    //
    // A new one, or instead of one that was of no use.
    //

    Status = RtlSetFileSize(Context->Rtl, Index->Writing, 0);
    Index->Header.Magic = READER_INDEX_MAGIC;
    Index->Header.Version = READER_INDEX_VERSION;
    Index->Header.EndOfMarks = sizeof(Header);
    Index->Header.JumpTicks = Stream->Session->JumpTicks;
    return NT_SUCCESS(Status) && ReaderWriteIndexHeader(Stream);
}


static
BOOLEAN
ReaderCanMark(
    _In_ const READER_STREAM *Stream
    )
/*++

Routine Description:

    Decides whether what has been read is what everybody will have read who
    comes to this place.

Arguments:

    Stream - The stream.

Return Value:

    FALSE if records of one of several stores may yet come that belong before
    what was read of the others.

--*/
{
    const READER_SESSION *Session = Stream->Session;
    PREADER_STREAM_STORE Part;
    ULONG Index;

    if (Stream->NumberOfStores == 1) {
        return TRUE;
    }

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        if (Part->Head != NULL) {
            if (Part->Head->Timestamp <= Stream->LastTimestamp) {
                return FALSE;
            }

        } else if (!Part->IsEnded ||
                   (Session->ProcessState != ReaderProcessGone &&
                    Session->Stores[Part->Store]->Header->State ==
                        TRACE_STATE_OPEN)) {
            return FALSE;
        }
    }

    return TRUE;
}


static
ULONG
ReaderFindFirstChange(
    _In_ const CORE_STACK *Stack,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Finds the first frame of a stack that is not as it was at a time.

    A frame that was entered before that has been open since.  All below it
    are as they were, but what its own callees took has grown.

Arguments:

    Stack - The stack.

    Timestamp - Of the last record before the mark before.

Return Value:

    The frame's index; 0 if there is none.

--*/
{
    SIZE_T First = Stack->NumberOfFrames;

    while (First != 0 &&
           Stack->Frames[First - 1].EnterTimestamp >= Timestamp) {
        First -= 1;
    }

    return First != 0 ? (ULONG)(First - 1) : 0;
}


static
VOID
ReaderFillMark(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_INDEX_MARK Mark
    )
/*++

Routine Description:

    Puts the state of the stores, the stacks that ran since the mark before
    and their frames into a mark.

Arguments:

    Stream - The stream, with nothing left to take.

    Mark - The mark, with room for what its numbers say, and otherwise zeroes.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_INDEX_STORE Known = READER_MARK_STORES(Mark);
    PREADER_INDEX_STACK Change = READER_MARK_STACKS(Mark);
    PREADER_INDEX_FRAME Packed = READER_MARK_FRAMES(Mark);
    PREADER_STREAM_STORE Part;
    PREADER_STORE Store;
    const CORE_STACK *Stack;
    const CORE_FRAME *Frame;
    TRACE_RECORD Record;
    SIZE_T Depth;
    ULONG Index;

    for (Index = 0; Index < Stream->NumberOfStores; Index++, Known++) {

        Part = Stream->Stores[Index];
        Store = Session->Stores[Part->Store];
        Known->Identity = ReaderIdentifyStore(Store->Header);
        Known->Position = ReaderQueryPosition(&Part->Iterator) -
                          (Part->Head != NULL ? TRACE_RECORD_SIZE : 0);
        Known->PreviousTimestamp = Part->Iterator.Check.PreviousTimestamp;
        Known->NumberOfBadRecords = Part->Iterator.NumberOfBadRecords;
        Known->FirstBadOffset = Part->Iterator.FirstBadOffset;
        Known->FirstBadState = (ULONG)Part->Iterator.FirstBadState;
        if (Part->Iterator.NumberOfRecords >
            (ULONGLONG)(Part->Head != NULL)) {
            Known->Flags = READER_INDEX_SEEN |
                           ReaderDescribeImage(Session->Modules[Part->Module]) |
                           Part->Entered << READER_INDEX_ENTERED_SHIFT;
        }

        if (Known->Position != Store->StartOfRecords &&
            ReaderReadOneRecord(Stream,
                                Store,
                                Known->Position - TRACE_RECORD_SIZE,
                                &Record)) {
            RtlCopyBytes(Known->LastRecord,
                         &Record,
                         sizeof(Known->LastRecord));
        }
    }

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {

        Stack = &Stream->Pair.Stacks[Index];
        if (Index != Stream->Pair.Current &&
            Stack->LeftTimestamp < Stream->Index->LastTimestamp) {
            continue;
        }

        Change->Stack = Index;
        Change->Lowest = Stack->Lowest;
        Change->Highest = Stack->Highest;
        Change->JumpTarget = ReaderPackKey(Stream, Stack->JumpTarget);
        Change->LeftTimestamp = Stack->LeftTimestamp;
        Change->NumberOfFrames = (ULONG)Stack->NumberOfFrames;
        Change->FirstFrame =
            ReaderFindFirstChange(Stack, Stream->Index->LastTimestamp);
        for (Depth = Change->FirstFrame;
             Depth < Stack->NumberOfFrames;
             Depth++, Packed++) {

            Frame = &Stack->Frames[Depth];
            Packed->EnterTimestamp = Frame->EnterTimestamp;
            Packed->ChildTicks = Frame->ChildTicks;
            Packed->Site = ReaderPackKey(Stream, Frame->Site);
            Packed->Physical = ReaderPackKey(Stream, Frame->Physical);
            Packed->Stack = Frame->Stack;
            Packed->Top = Frame->Top;
            Packed->BodySize = Frame->BodySize;
            Packed->Kind = Frame->Kind;
            Packed->Flags = Frame->Flags;
            Packed->NumberOfJumps = Frame->NumberOfJumps;
        }

        Change++;
    }
}


static
BOOLEAN
ReaderWriteMark(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Adds a mark to the index, unless that would make it too large.

Arguments:

    Stream - The stream, with an index that is being written, and nothing left
        to take.

Return Value:

    FALSE if no more can be added.

--*/
{
    PREADER_INDEX Index = Stream->Index;
    PREADER_INDEX_MARK Mark;
    const CORE_STACK *Stack;
    ULONGLONG NumberOfFrames = 0;
    ULONGLONG NumberOfChanges = 0;
    ULONGLONG Offset = Index->Header.EndOfMarks;
    ULONGLONG Limit;
    ULONGLONG Size;
    ULONG Number = (ULONG)Index->Header.NumberOfMarks;
    ULONG Level = 0;
    ULONG Place;
    NTSTATUS Status;

    for (Place = 0; Place < Stream->Pair.NumberOfStacks; Place++) {
        Stack = &Stream->Pair.Stacks[Place];
        if (Place == Stream->Pair.Current ||
            Stack->LeftTimestamp >= Index->LastTimestamp) {
            NumberOfChanges += 1;
            NumberOfFrames += Stack->NumberOfFrames -
                              ReaderFindFirstChange(Stack,
                                                    Index->LastTimestamp);
        }
    }

    Size = sizeof(READER_INDEX_MARK) +
           (ULONGLONG)Stream->NumberOfStores * sizeof(READER_INDEX_STORE) +
           NumberOfChanges * sizeof(READER_INDEX_STACK) +
           NumberOfFrames * sizeof(READER_INDEX_FRAME);
    Limit = READER_INDEX_LIMIT(Stream->NumberOfRecords);
    if (Size > READER_INDEX_MAXIMUM_MARK || Offset + Size > Limit ||
        Number == READER_NONE) {

        //
        // The next one also has what this one would have had.
        //

        Index->Header.NumberLeftOut += 1;
        return TRUE;
    }

    Status = ReaderGrowMarkBuffer(Stream, (ULONG)Size);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Mark = (PREADER_INDEX_MARK)Index->Buffer;
    RtlZeroBytes(Mark, (SIZE_T)Size);
    Mark->SizeInBytes = (ULONG)Size;
    Mark->Number = Number;
    Mark->Timestamp = Stream->LastTimestamp;
    Mark->NumberOfRecords = Stream->NumberOfRecords;
    Mark->NumberOfJumps = Stream->NumberOfJumps;
    Mark->Flags = Stream->IsAfterJump ? READER_INDEX_AFTER_JUMP : 0;
    Mark->NumberOfStores = Stream->NumberOfStores;
    Mark->NumberOfStacks = Stream->Pair.NumberOfStacks;
    Mark->NumberOfChanges = (ULONG)NumberOfChanges;
    Mark->NumberOfFrames = (ULONG)NumberOfFrames;
    Mark->Current = Stream->Pair.Current;
    ReaderFillMark(Stream, Mark);

    //
    // 2^Level is the lowest bit of the number.
    //

    if (Number != 0) {
        while ((Number & (1u << Level)) == 0) {
            Level += 1;
        }

        Mark->Previous = Index->Header.LastMark;
        Mark->Jump = Index->Offsets[Level + 1];
    } else {
        Level = RTL_NUMBER_OF(Index->Offsets) - 1;
    }

    for (Place = 0; Place <= Level; Place++) {
        Index->Offsets[Place] = Offset;
    }

    Mark->Checksum = ReaderHashMark(Mark, Offset);
    Status = RtlWriteFile(Stream->Session->Context->Rtl,
                          Index->Writing,
                          Offset,
                          Mark,
                          Mark->SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Index->LastTimestamp = Mark->Timestamp;
    Index->Header.LastMark = Offset;
    Index->Header.NumberOfMarks += 1;
    Index->Header.EndOfMarks = Offset + Size;
    Index->NumberOfUnnamed += 1;
    return Index->NumberOfUnnamed < READER_INDEX_FLUSH ||
           ReaderWriteIndexHeader(Stream);
}


_Use_decl_annotations_
VOID
ReaderMarkStream(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Adds a mark where a stream is, if it can be added.

Arguments:

    Stream - The stream, with nothing left to take, and an index in which a
        mark is due.

Return Value:

    None.

--*/
{
    PREADER_INDEX Index = Stream->Index;

    if (Stream->Pair.IsPending || Stream->Pair.IsFinishing ||
        Stream->LastTimestamp == 0 || !ReaderCanMark(Stream)) {
        return;
    }

    if ((Index->Writing == NULL && !ReaderBeginWriting(Stream)) ||
        !ReaderWriteMark(Stream)) {

        //
        // What the header names is whole.  Its marks may still be read.
        //

        if (Index->Writing != NULL) {
            RtlClose(Stream->Session->Context->Rtl, Index->Writing);
            Index->Writing = NULL;
        }

        Index->Due = READER_MAXIMUM_TIMESTAMP;
        return;
    }

    Index->Due = Stream->NumberOfRecords + Index->Interval;
}


_Success_(return != NULL)
static
PREADER_INDEX_MARK
ReaderFindMark(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp,
    _Out_ PULONGLONG Offset
    )
/*++

Routine Description:

    Finds the last mark that is not after a time.

Arguments:

    Stream - The stream, with an index.

    Timestamp - The time.

    Offset - Receives where the mark is in the file.

Return Value:

    The mark, or NULL.

--*/
{
    const READER_INDEX_HEADER *Header = &Stream->Index->Header;
    PREADER_INDEX_MARK Mark;
    ULONGLONG Previous;
    ULONGLONG Jump;
    ULONGLONG End;
    ULONG Number = (ULONG)Header->NumberOfMarks - 1;

    *Offset = Header->LastMark;
    Mark = ReaderReadMark(Stream, *Offset, Header->EndOfMarks, Number);

    while (Mark != NULL && Mark->Timestamp > Timestamp) {

        if (Number == 0) {
            return NULL;
        }

        //
        // As far back as the mark there is still too late, or else by one.
        //

        End = *Offset;
        Previous = Mark->Previous;
        Jump = Mark->Jump;
        Mark = ReaderReadMark(Stream, Jump, End, Number & (Number - 1));
        if (Mark == NULL) {
            return NULL;
        }

        if (Mark->Timestamp > Timestamp) {
            *Offset = Jump;
            Number &= Number - 1;
        } else {
            *Offset = Previous;
            Number -= 1;
            Mark = ReaderReadMark(Stream, *Offset, End, Number);
        }
    }

    return Mark;
}


_Must_inspect_result_
static
BOOLEAN
ReaderTakeFrames(
    _In_ const READER_STREAM *Stream,
    _In_ PCREADER_INDEX_MARK Mark,
    _In_ const READER_INDEX_STACK *Change,
    _In_ const READER_INDEX_FRAME *Packed,
    _In_ ULONG Count,
    _Inout_ PCORE_STACK Stack
    )
/*++

Routine Description:

    Takes frames out of a mark.

Arguments:

    Stream - The stream.

    Mark - The mark.

    Change - What it has of the stack.

    Packed - The frames.

    Count - How many of them, from the first on, are not there yet.

    Stack - Receives them.

Return Value:

    FALSE if one cannot be what it is.

--*/
{
    PCORE_FRAME Frame;
    ULONG Index;

    for (Index = 0; Index < Count; Index++, Packed++) {

        Frame = &Stack->Frames[Change->FirstFrame + Index];
        if ((Packed->Kind != TRACE_KIND_ENTER &&
             Packed->Kind != TRACE_KIND_ENTER_FUNCTION) ||
            Packed->EnterTimestamp == 0 ||
            Packed->EnterTimestamp > Mark->Timestamp ||
            Packed->NumberOfJumps > Mark->NumberOfJumps ||
            !ReaderUnpackKey(Stream,
                             Mark->NumberOfStores,
                             Packed->Site,
                             &Frame->Site) ||
            !ReaderUnpackKey(Stream,
                             Mark->NumberOfStores,
                             Packed->Physical,
                             &Frame->Physical)) {
            return FALSE;
        }

        Frame->EnterTimestamp = Packed->EnterTimestamp;
        Frame->ChildTicks = Packed->ChildTicks;
        Frame->Stack = Packed->Stack;
        Frame->Top = Packed->Top;
        Frame->BodySize = Packed->BodySize;
        Frame->Kind = Packed->Kind;
        Frame->Flags = Packed->Flags;
        Frame->Function = 0;
        Frame->Node = 0;
        Frame->NumberOfJumps = Packed->NumberOfJumps;
    }

    return TRUE;
}


_Must_inspect_result_
static
BOOLEAN
ReaderTakeMark(
    _In_ const READER_STREAM *Stream,
    _In_ PCREADER_INDEX_MARK Mark,
    _Inout_ PREADER_INDEX_RESTORE Restore
    )
/*++

Routine Description:

    Takes what a mark has of the stacks and later ones have not.

Arguments:

    Stream - The stream.

    Mark - The mark.

    Restore - The stacks.

Return Value:

    FALSE if the mark cannot be right, or there is no memory.

--*/
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    const READER_INDEX_STACK *Change = READER_MARK_STACKS(Mark);
    const READER_INDEX_FRAME *Packed = READER_MARK_FRAMES(Mark);
    PCORE_STACK Stack;
    ULONG Remaining = Mark->NumberOfFrames;
    ULONG Number;
    ULONG Count;
    ULONG Index;

    for (Index = 0; Index < Mark->NumberOfChanges; Index++, Change++) {

        if (Change->Stack >= Restore->NumberOfStacks ||
            Change->FirstFrame > Change->NumberOfFrames ||
            Change->NumberOfFrames - Change->FirstFrame > Remaining) {
            return FALSE;
        }

        Number = Change->NumberOfFrames - Change->FirstFrame;
        Stack = &Restore->Stacks[Change->Stack];

        if (Restore->Missing[Change->Stack] == READER_INDEX_UNKNOWN) {

            //
            // Every frame is somewhere in the file.
            //

            Restore->NumberOfFrames += Change->NumberOfFrames;
            if (Restore->NumberOfFrames > Stream->Index->Header.EndOfMarks /
                                              sizeof(READER_INDEX_FRAME)) {
                return FALSE;
            }

            Restore->Missing[Change->Stack] = Change->NumberOfFrames;
            Stack->Lowest = Change->Lowest;
            Stack->Highest = Change->Highest;
            Stack->LeftTimestamp = Change->LeftTimestamp;
            if (!ReaderUnpackKey(Stream,
                                 Mark->NumberOfStores,
                                 Change->JumpTarget,
                                 &Stack->JumpTarget)) {
                return FALSE;
            }

            if (Change->NumberOfFrames != 0) {
                Stack->Frames = (PCORE_FRAME)
                    Allocator->Allocate(Allocator->Context,
                                        (SIZE_T)Change->NumberOfFrames *
                                            sizeof(CORE_FRAME));
                if (Stack->Frames == NULL) {
                    return FALSE;
                }
            }

            Stack->NumberOfFrames = Change->NumberOfFrames;
            Stack->Capacity = Change->NumberOfFrames;
            if (Change->NumberOfFrames == 0) {
                Restore->NumberOfIncomplete -= 1;
            }
        }

        //
        // The frames follow one another, so those that are missing are below
        // those that are there.
        //

        if (Restore->Missing[Change->Stack] > Change->NumberOfFrames) {
            return FALSE;
        }

        if (Restore->Missing[Change->Stack] > Change->FirstFrame) {

            Count = Restore->Missing[Change->Stack] - Change->FirstFrame;
            if (!ReaderTakeFrames(Stream,
                                  Mark,
                                  Change,
                                  Packed,
                                  Count,
                                  Stack)) {
                return FALSE;
            }

            Restore->Missing[Change->Stack] = Change->FirstFrame;
            if (Change->FirstFrame == 0) {
                Restore->NumberOfIncomplete -= 1;
            }
        }

        Packed += Number;
        Remaining -= Number;
    }

    return TRUE;
}


static
LONG
ReaderCompareStacks(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders stacks by their addresses.

Arguments:

    CompareContext - The stacks.

    First, Second - Their indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PCORE_STACK Stacks = (PCORE_STACK)CompareContext;

    if (Stacks[First].Lowest != Stacks[Second].Lowest) {
        return Stacks[First].Lowest < Stacks[Second].Lowest ? -1 : 1;
    }

    return First < Second ? -1 : First != Second;
}


_Must_inspect_result_
static
BOOLEAN
ReaderCollectStacks(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Offset,
    _In_ PREADER_INDEX_MARK Mark,
    _Inout_ PREADER_INDEX_RESTORE Restore
    )
/*++

Routine Description:

    Puts the stacks together from a mark and those before it.

Arguments:

    Stream - The stream.

    Offset - Where the mark is.

    Mark - The mark, in the buffer.

    Restore - All zeroes; receives the stacks, to be freed even after a
        failure.

Return Value:

    FALSE if that is not possible.

--*/
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    SIZE_T NumberOfStacks = Mark->NumberOfStacks;
    ULONGLONG Previous;
    ULONG Number;
    ULONG Index;

    Restore->Stacks = (PCORE_STACK)
        Allocator->Allocate(Allocator->Context,
                            NumberOfStacks * sizeof(CORE_STACK));
    Restore->Missing = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            NumberOfStacks * sizeof(ULONG));
    Restore->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            NumberOfStacks * sizeof(ULONG));
    if (Restore->Stacks == NULL || Restore->Missing == NULL ||
        Restore->Order == NULL) {
        return FALSE;
    }

    Restore->NumberOfStacks = (ULONG)NumberOfStacks;
    Restore->NumberOfIncomplete = (ULONG)NumberOfStacks;
    RtlZeroBytes(Restore->Stacks, NumberOfStacks * sizeof(CORE_STACK));
    for (Index = 0; Index < Restore->NumberOfStacks; Index++) {
        Restore->Missing[Index] = READER_INDEX_UNKNOWN;
        Restore->Order[Index] = Index + 1;
    }

    for (;;) {

        if (!ReaderTakeMark(Stream, Mark, Restore)) {
            return FALSE;
        }

        if (Restore->NumberOfIncomplete == 0) {
            break;
        }

        Number = Mark->Number;
        Previous = Mark->Previous;
        if (Number == 0) {
            return FALSE;
        }

        Mark = ReaderReadMark(Stream, Previous, Offset, Number - 1);
        if (Mark == NULL) {
            return FALSE;
        }

        Offset = Previous;
    }

    ReaderSort(Restore->Order,
               Restore->NumberOfStacks - 1,
               ReaderCompareStacks,
               Restore->Stacks);
    return TRUE;
}


_Must_inspect_result_
static
BOOLEAN
ReaderDescribeFrames(
    _Inout_ PREADER_TALLY Tally,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Finds the functions of a stack's frames, and sees to it that the frames
    are what their entries make of them.

Arguments:

    Tally - The tally of the stream.

    Stack - The stack.

Return Value:

    FALSE if not, or there is no memory.

--*/
{
    PCORE_FRAME Frame;
    PCORE_FRAME Parent;
    CORE_CALL Call;
    ULONG BodySize;
    ULONG Top;
    SIZE_T Depth;
    NTSTATUS Status;

    for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

        Frame = &Stack->Frames[Depth];
        Parent = Depth != 0 ? Frame - 1 : NULL;
        RtlZeroBytes(&Call, sizeof(Call));
        Call.Site = Frame->Site;
        Call.Kind = Frame->Kind;
        Call.Stack = Frame->Stack;
        Status = ReaderDescribeCallInTally(Tally, &Call);
        if (!NT_SUCCESS(Status) ||
            (Parent != NULL &&
             Parent->EnterTimestamp > Frame->EnterTimestamp)) {
            return FALSE;
        }

        Frame->Function = Tally->LastIndex;
        if ((Frame->Flags & CORE_FRAME_INLINED) != 0 && Parent != NULL) {

            if (Frame->Physical != Parent->Physical ||
                Frame->Top != Parent->Top ||
                Frame->BodySize != 0 ||
                Frame->Flags != (Parent->Flags | CORE_FRAME_INLINED)) {
                return FALSE;
            }

            continue;
        }

        Top = Frame->Stack;
        BodySize = 0;
        if ((Call.Flags & CORE_CALL_FRAME_KNOWN) != 0) {
            Top += Call.FrameSize;
            BodySize = Call.BodySize;
        }

        if (Frame->Physical != Call.Function ||
            Frame->Flags != Call.Flags ||
            Frame->Top != Top ||
            Frame->BodySize != BodySize) {
            return FALSE;
        }
    }

    return TRUE;
}


static
VOID
ReaderEnterModules(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_reads_(NumberOfStores) const READER_INDEX_STORE *Stores,
    _In_ ULONG NumberOfStores
    )
/*++

Routine Description:

    Says of the modules of which there are entries before a mark what would
    have been said if those had been read, in the same order.

Arguments:

    Tally - The tally.

    Stream - The stream.

    Stores, NumberOfStores - What the mark has of its stores.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_STREAM_STORE Part;
    ULONG Order;
    ULONG Index;

    for (Order = 1; Order <= NumberOfStores; Order++) {
        for (Index = 0; Index < NumberOfStores; Index++) {

            Part = Stream->Stores[Index];
            if (Stores[Index].Flags >> READER_INDEX_ENTERED_SHIFT != Order) {
                continue;
            }

            Part->Entered = Order;
            Stream->NumberEntered = Order;
            if (!Tally->Functions->IsQuiet) {
                ReaderWarnOfSymbols(Session, Session->Modules[Part->Module]);
            }
        }
    }
}


_Use_decl_annotations_
BOOLEAN
ReaderRestoreStream(
    PREADER_TALLY Tally,
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Moves a stream to the last mark of its index before a time.

Arguments:

    Tally - The stream's; its lock is held.

    Stream - The stream, of which nothing has been read.

    Timestamp - The first one that must not be passed over, not 0.

Return Value:

    FALSE if the stream is where it was.

--*/
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    READER_INDEX_RESTORE Restore;
    READER_INDEX_MARK Found;
    PREADER_INDEX_STORE Stores = NULL;
    PREADER_INDEX_STORE Known;
    PREADER_INDEX_MARK Mark;
    READER_ITERATOR *Iterator;
    ULONGLONG Offset;
    ULONG Index;
    BOOLEAN IsRestored = FALSE;
    NTSTATUS Status;

    if (Stream->Index == NULL || Stream->Index->Header.NumberOfMarks == 0 ||
        Stream->Index->Reading == NULL) {
        return FALSE;
    }

    RtlZeroBytes(&Restore, sizeof(Restore));
    Mark = ReaderFindMark(Stream, Timestamp - 1, &Offset);
    if (Mark == NULL || !ReaderIsMarkOfStream(Stream, Mark)) {
        return FALSE;
    }

    //
    // The buffer goes to the marks before.
    //

    Found = *Mark;
    Stores = (PREADER_INDEX_STORE)
        Allocator->Allocate(Allocator->Context,
                            Found.NumberOfStores *
                                sizeof(READER_INDEX_STORE));
    if (Stores == NULL) {
        return FALSE;
    }

    RtlCopyBytes(Stores,
                 READER_MARK_STORES(Mark),
                 Found.NumberOfStores * sizeof(READER_INDEX_STORE));
    if (!ReaderCollectStacks(Stream, Offset, Mark, &Restore)) {
        goto End;
    }

    ReaderEnterModules(Tally, Stream, Stores, Found.NumberOfStores);
    for (Index = 0; Index < Restore.NumberOfStacks; Index++) {
        if (!ReaderDescribeFrames(Tally, &Restore.Stacks[Index])) {
            goto End;
        }
    }

    Status = CoreRestorePair(&Stream->Pair,
                             Restore.Stacks,
                             Restore.Order,
                             Restore.NumberOfStacks,
                             Found.Current,
                             Found.Timestamp);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    //
    // The pairing has the frames now.
    //

    Restore.NumberOfStacks = 0;
    for (Index = 0; Index < Found.NumberOfStores; Index++) {
        Known = &Stores[Index];
        Iterator = &Stream->Stores[Index]->Iterator;
        ReaderSeekIterator(Iterator,
                           Known->Position,
                           Known->PreviousTimestamp);
        Iterator->NumberOfRecords = Known->Flags & READER_INDEX_SEEN;
        Iterator->NumberOfBadRecords = Known->NumberOfBadRecords;
        Iterator->FirstBadOffset = Known->FirstBadOffset;
        Iterator->FirstBadState = (CORE_RECORD_STATE)Known->FirstBadState;
    }

    Stream->LastTimestamp = Found.Timestamp;
    Stream->NumberOfJumps = Found.NumberOfJumps;
    Stream->IsAfterJump = (Found.Flags & READER_INDEX_AFTER_JUMP) != 0;
    Stream->NumberOfRecords = Found.NumberOfRecords;
    Stream->NumberPassedBy = Found.NumberOfRecords;
    IsRestored = TRUE;

End:
    for (Index = 0; Index < Restore.NumberOfStacks; Index++) {
        Allocator->Free(Allocator->Context, Restore.Stacks[Index].Frames);
    }

    Allocator->Free(Allocator->Context, Restore.Stacks);
    Allocator->Free(Allocator->Context, Restore.Missing);
    Allocator->Free(Allocator->Context, Restore.Order);
    Allocator->Free(Allocator->Context, Stores);
    return IsRestored;
}
