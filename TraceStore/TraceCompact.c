/*++

Module Name:

    TraceCompact.c

Abstract:

    Compact stores: full views become blocks (Codec/), and are used again.

    All views but the first are in the raw ring, which is mapped once; so the
    hook writes to pages that are present and warm, where a store of records
    costs the program 5 to 7 ns a call for fresh ones.  The worker encodes,
    soon after a view is full.  When it gets no processor the owner encodes the
    oldest view itself: also one that the worker has begun with, since nobody
    knows when that will go on.  What the worker has is then thrown away.

    Order is everything.  The block is written, then published, and only then
    is the view cleared and used: whoever is killed, at any instruction,
    leaves each record in one place that counts (Docs/Format.md, section 21).
    What is done twice is done alike, since the same records become the same
    block, at the same place.

--*/

#include "../Codec/Codec.h"
#include "TraceCompact.h"
#include "TraceLock.h"
#include "TraceSession.h"
#include "TraceView.h"
#include "TraceVolume.h"

//
// What a thread encodes with: the encoder's memory, and a block of the largest
// view with what fills it up to a multiple of 8.
//

#define TRACE_COMPACT_ALIGN     8
#define TRACE_COMPACT_MEMORY_SIZE \
    (CODEC_ENCODER_SIZE + TRACE_COMPACT_VIEW_SIZE + 4096)
#define TRACE_COMPACT_BLOCK(Memory) ((PBYTE)(Memory) + CODEC_ENCODER_SIZE)
#define TRACE_COMPACT_BLOCK_SIZE    (TRACE_COMPACT_MEMORY_SIZE - \
                                     CODEC_ENCODER_SIZE)

C_ASSERT(CODEC_BOUND(TRACE_COMPACT_VIEW_SIZE) + TRACE_COMPACT_ALIGN <=
         TRACE_COMPACT_BLOCK_SIZE);
C_ASSERT(TRACE_COMPACT_VIEW_SIZE <= CODEC_MAXIMUM_BYTES);

//
// Records of a thread that has hardly begun stay as they are, bytes: they need
// no more of the disk's units.
//

#define TRACE_COMPACT_LEAST     4096

//
// The state of a store's blocks that is in use.
//

static
PTRACE_COMPACT_STATE
TraceCompactGetState(
    _In_ PTRACE_STORE Store
    )
{
    return &Store->Compact.States[Store->Compact.State & 1];
}

//
// Whether the raw ring is mapped. It is not, either, if the owner was killed
// while it mapped it; then nothing is in it.
//

static
BOOLEAN
TraceCompactHasRing(
    _In_ PTRACE_STORE Store
    )
{
    return Store->Compact.Ring.Base != NULL &&
           Store->Compact.Ring.Section == NULL;
}

//
// Finds the view that holds a position, from there on.
// View: receives Position, FileOffset, SizeInBytes and Base, if the ring is
// mapped; no section, and all of it prepared.
//

static
VOID
TraceCompactFindView(
    _In_ PTRACE_STORE Store,
    _In_ ULONGLONG Position,
    _Out_ PTRACE_VIEW View
    )
{
    PTRACE_STORE_HEADER Header;
    ULONGLONG Offset;
    ULONGLONG Segment;

    Header = Store->Header;
    RtlZeroBytes(View, sizeof(*View));
    View->Position = Position;

    if (Position < Header->RingFileOffset) {
        View->FileOffset = Position;
        View->SizeInBytes = Header->RingFileOffset - Position;
        View->Base = (PBYTE)Header + Position;
    } else {
        Segment = Store->Session->SegmentSize;
        Offset = (Position - Header->RingFileOffset) % Header->RingSizeInBytes;
        View->FileOffset = Header->RingFileOffset + Offset;
        View->SizeInBytes = Segment - Offset % Segment;
        View->Base = Store->Compact.Ring.Base + Offset;
    }

    View->PreparedInBytes = View->SizeInBytes;
}

//
// Finds the oldest view whose records are not in a block yet.
// FALSE: it is not full, or the store is no longer what it was.
//

static
BOOLEAN
TraceCompactFindFull(
    _In_ PTRACE_STORE Store,
    _Out_ PTRACE_VIEW View
    )
{
    TraceCompactFindView(Store, TraceCompactGetState(Store)->Position, View);
    return View->Position + View->SizeInBytes <= Store->Current.Position;
}

//
// Takes memory to encode with: what another owner has left, or new.
//

static
PVOID
TraceCompactTakeMemory(
    _Inout_ PTRACE_SESSION Session
    )
{
    PVOID Memory;

    Memory = InterlockedExchangePointer(&Session->SpareMemory, NULL);
    if (Memory == NULL &&
        !NT_SUCCESS(RtlAllocatePages(&Session->Rtl,
                                     TRACE_COMPACT_MEMORY_SIZE,
                                     &Memory))) {

        Memory = NULL;
    }

    return Memory;
}

//
// Reads or writes bytes of the stream, which may go around.
//
// IsWrite: whether to write.
// Returns STATUS_SUCCESS or what failed; STATUS_END_OF_FILE if fewer were read.
//

static
NTSTATUS
TraceCompactTransfer(
    _In_ PTRACE_STORE Store,
    _In_ BOOLEAN IsWrite,
    _In_ ULONGLONG StreamOffset,
    _Inout_updates_bytes_(SizeInBytes) PBYTE Bytes,
    _In_ ULONG SizeInBytes
    )
{
    NTSTATUS Status;
    PTRACE_STORE_HEADER Header;
    PCRTL Rtl;
    ULONGLONG Offset;
    ULONG Piece;
    ULONG Read;

    Header = Store->Header;
    Rtl = &Store->Session->Rtl;
    Status = STATUS_SUCCESS;

    while (SizeInBytes != 0 && NT_SUCCESS(Status)) {
        Offset = StreamOffset;
        Piece = SizeInBytes;
        if (Header->BlocksCapacity != 0) {
            Offset %= Header->BlocksCapacity;
            if (Piece > Header->BlocksCapacity - Offset) {
                Piece = (ULONG)(Header->BlocksCapacity - Offset);
            }
        }

        Offset += Header->BlocksFileOffset;
        if (IsWrite) {
            Status = RtlWriteFile(Rtl, Store->File, Offset, Bytes, Piece);
        } else {
            Status = RtlReadFile(Rtl,
                                 Store->File,
                                 Offset,
                                 Bytes,
                                 Piece,
                                 &Read);
            if (NT_SUCCESS(Status) && Read != Piece) {
                Status = STATUS_END_OF_FILE;
            }
        }

        StreamOffset += Piece;
        Bytes += Piece;
        SizeInBytes -= Piece;
    }

    return Status;
}

//
// Gives up the oldest blocks of a ring, so that there is room up to an offset.
// Readers are told before anything is overwritten.
// Returns STATUS_SUCCESS, or why the blocks cannot be read.
//

static
NTSTATUS
TraceCompactMakeRoom(
    _In_ PTRACE_STORE Store,
    _In_ ULONGLONG StreamEnd
    )
{
    NTSTATUS Status;
    PTRACE_STORE_HEADER Header;
    ULONGLONG First;
    CODEC_BLOCK Block;

    Header = Store->Header;
    First = Header->BlocksFirst;

    while (StreamEnd - First > Header->BlocksCapacity) {
        Status = TraceCompactTransfer(Store,
                                      FALSE,
                                      First,
                                      (PBYTE)&Block,
                                      sizeof(Block));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        if (Block.Magic != CODEC_MAGIC ||
            Block.EncodedBytes > CODEC_MAXIMUM_BYTES ||
            First >= Header->BlocksEnd) {

            return STATUS_FILE_CORRUPT_ERROR;
        }
        First += (CODEC_HEADER_SIZE + Block.EncodedBytes +
                  TRACE_COMPACT_ALIGN - 1) & ~(TRACE_COMPACT_ALIGN - 1);
        RtlStoreRelease64(&Header->BlocksFirst, First);
    }

    return STATUS_SUCCESS;
}

//
// Has what was written so far put on the disk. A disk that does not take it is
// noticed by the system.
//

static
VOID
TraceCompactFlush(
    _In_ PTRACE_STORE Store
    )
{
    PCRTL Rtl;
    IO_STATUS_BLOCK IoStatus;

    Rtl = &Store->Session->Rtl;
    if (Rtl->NtFlushBuffersFile != NULL) {
        (VOID)Rtl->NtFlushBuffersFile(Store->File, &IoStatus);
    }
}

//
// Writes a block behind the others. Nobody else does: the lock is held, or the
// worker has said that it WRITES.
//
// Memory: the block is in it.
// SizeInBytes: of the block; receives what it takes in the stream.
// Reason: the TRACE_REASON_* of a failure.
// Returns STATUS_SUCCESS or what failed.
//

static
NTSTATUS
TraceCompactWrite(
    _Inout_ PTRACE_STORE Store,
    _In_ PVOID Memory,
    _Inout_ PULONG SizeInBytes,
    _Out_ PULONG Reason
    )
{
    NTSTATUS Status;
    PTRACE_STORE_HEADER Header;
    PBYTE Block;
    ULONGLONG Begin;
    ULONGLONG End;
    TRACE_VIEW Place;

    Header = Store->Header;
    Block = TRACE_COMPACT_BLOCK(Memory);
    while (*SizeInBytes % TRACE_COMPACT_ALIGN != 0) {
        Block[*SizeInBytes] = 0;
        *SizeInBytes += 1;
    }

    Begin = TraceCompactGetState(Store)->StreamEnd;
    End = Begin + *SizeInBytes;
    if (Header->BlocksCapacity != 0) {
        *Reason = TRACE_REASON_INVARIANT;
        Status = TraceCompactMakeRoom(Store, End);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        if (End > Header->BlocksCapacity) {
            End = Header->BlocksCapacity;
        }
    } else if (Header->MaximumBytes != 0 &&
               Header->BlocksFileOffset + End > Header->MaximumBytes) {

        *Reason = TRACE_REASON_MAXIMUM_BYTES;
        return STATUS_QUOTA_EXCEEDED;
    }

    RtlZeroBytes(&Place, sizeof(Place));
    Place.FileOffset = Header->BlocksFileOffset;
    Place.SizeInBytes = End;
    if (!TraceVolumeHasRoom(Store, &Place)) {
        *Reason = TRACE_REASON_MINIMUM_FREE;
        return STATUS_DISK_FULL;
    }

    *Reason = TRACE_REASON_EXTEND_FAILED;
    Status = TraceCompactTransfer(Store, TRUE, Begin, Block, *SizeInBytes);
    if (NT_SUCCESS(Status)) {
        *Reason = TRACE_REASON_NONE;
        if (Store->FileSizeInBytes < Place.FileOffset + Place.SizeInBytes) {
            Store->FileSizeInBytes = Place.FileOffset + Place.SizeInBytes;
        }
        if (Store->Session->Flush) {
            TraceCompactFlush(Store);
        }
    }

    return Status;
}

//
// Says that the records before a position are in blocks. The lock is held.
//
// The thread may be killed at any instruction. Before State changes, the same
// block is simply encoded, written and published again.
//
// End: the position.
// SizeInBytes: what the block takes in the stream.
//

static
VOID
TraceCompactPublish(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG End,
    _In_ ULONG SizeInBytes
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_COMPACT_STATE New;
    ULONG State;

    Header = Store->Header;
    State = (Store->Compact.State & 1) ^ 1;
    New = &Store->Compact.States[State];
    New->Position = End;
    New->StreamEnd = TraceCompactGetState(Store)->StreamEnd + SizeInBytes;

    RtlStoreRelease64(&Header->BlocksEnd, New->StreamEnd);
    RtlStoreRelease64(&Header->FirstPosition, End);
    RtlStoreRelease32(&Store->Compact.State, State);
}

//
// Empties a view whose records are in a block, for the hook to use again. A
// record without a time stamp has not been written (TraceFormat.h).
//

static
VOID
TraceCompactClear(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_VIEW View
    )
{
    if (View->Position < Store->Header->RingFileOffset) {
        return;
    }

    RtlZeroBytes(View->Base, (SIZE_T)View->SizeInBytes);
    RtlStoreRelease64(&Store->Compact.Room,
                      View->Position + View->SizeInBytes +
                      Store->Header->RingSizeInBytes);
}

//
// Encodes a view and writes the block, in the thread that owns the store or
// closes it. The lock is held.
// Returns STATUS_SUCCESS or what failed, which Compact keeps.
//

static
NTSTATUS
TraceCompactEncodeHere(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_VIEW View
    )
{
    NTSTATUS Status;
    PTRACE_COMPACT Compact;
    ULONG Size;
    ULONG Reason;

    Compact = &Store->Compact;
    if (Compact->Memory == NULL) {
        Compact->Memory = TraceCompactTakeMemory(Store->Session);
    }
    if (Compact->Memory == NULL) {
        Status = STATUS_NO_MEMORY;
        Reason = TRACE_REASON_MAP_FAILED;
    } else {
        Size = CodecEncode((PCODEC_ENCODER)Compact->Memory,
                           View->Base,
                           (ULONG)View->SizeInBytes,
                           View->Position,
                           TRACE_COMPACT_BLOCK(Compact->Memory));
        Status = TraceCompactWrite(Store, Compact->Memory, &Size, &Reason);
    }

    if (NT_SUCCESS(Status)) {
        TraceCompactPublish(Store, View->Position + View->SizeInBytes, Size);
    } else {
        Compact->Status = Status;
        Compact->Reason = Reason;
    }

    return Status;
}

_Use_decl_annotations_
VOID
TraceCompactOpen(
    PTRACE_STORE Store
    )
{
    PTRACE_COMPACT Compact;

    Compact = &Store->Compact;
    Compact->States[0].Position = TRACE_HEADER_SIZE;
    Compact->Room = Store->Header->RingFileOffset +
                    Store->Header->RingSizeInBytes;
}

_Use_decl_annotations_
VOID
TraceCompactOffer(
    PTRACE_STORE Store
    )
{
    TRACE_VIEW View;

    if (Store->Next.Base != NULL || !TraceCompactHasRing(Store)) {
        return;
    }

    TraceCompactFindView(Store,
                         Store->Current.Position + Store->Current.SizeInBytes,
                         &View);
    if (View.Position + View.SizeInBytes > Store->Compact.Room) {
        return;
    }

    //
    // The first time, the pages have yet to be made.
    //

    if (View.Position == View.FileOffset) {
        View.PreparedInBytes = 0;
    }

    RtlCopyBytes(&Store->Next.Position,
                 &View.Position,
                 sizeof(View) - FIELD_OFFSET(TRACE_VIEW, Position));
    RtlCompilerBarrier();
    Store->Next.Base = View.Base;
}

//
// Maps the raw ring, when the first view is full. The lock is held.
// Returns STATUS_SUCCESS or what failed.
//

static
NTSTATUS
TraceCompactMapRing(
    _Inout_ PTRACE_STORE Store,
    _Out_ PULONG Reason
    )
{
    NTSTATUS Status;
    PTRACE_VIEW Ring;

    Ring = &Store->Compact.Ring;
    Ring->Position = Store->Header->RingFileOffset;
    Ring->FileOffset = Store->Header->RingFileOffset;
    Ring->SizeInBytes = Store->Header->RingSizeInBytes;

    if (!TraceVolumeHasRoom(Store, Ring)) {
        *Reason = TRACE_REASON_MINIMUM_FREE;
        return STATUS_DISK_FULL;
    }

    Store->Header->NumberOfViewsMappedInline += 1;
    Status = TraceViewMap(&Store->Session->Rtl,
                          Store->File,
                          Store->FileSizeInBytes,
                          Ring,
                          Reason);
    if (NT_SUCCESS(Status)) {
        Store->FileSizeInBytes = Ring->FileOffset + Ring->SizeInBytes;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
TraceCompactProvideNext(
    PTRACE_STORE Store,
    PULONG Reason,
    PBOOLEAN Waited
    )
{
    NTSTATUS Status;
    PTRACE_COMPACT Compact;
    TRACE_VIEW View;

    Compact = &Store->Compact;
    *Reason = TRACE_REASON_NONE;

    if (!TraceCompactHasRing(Store)) {
        *Waited = TRUE;
        Status = TraceCompactMapRing(Store, Reason);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    for (;;) {
        TraceCompactOffer(Store);
        if (Store->Next.Base != NULL) {
            return STATUS_SUCCESS;
        }

        *Waited = TRUE;
        if ((Store->WorkerBusy & TRACE_WORKER_WRITES) != 0 &&
            !Store->Session->IsAlone && !Store->Session->WorkerIsGone) {

            TraceLockWaitForWorker(Store, TRACE_WORKER_WRITES);
            continue;
        }

        //
        // A worker that was terminated may have left one that is in a block.
        //

        TraceCompactFindView(Store,
                             Compact->Room - Store->Header->RingSizeInBytes,
                             &View);
        if (View.Position < TraceCompactGetState(Store)->Position) {
            TraceCompactClear(Store, &View);
            continue;
        }

        if (!NT_SUCCESS(Compact->Status)) {
            *Reason = Compact->Reason;
            return Compact->Status;
        }

        if (!TraceCompactFindFull(Store, &View)) {
            *Reason = TRACE_REASON_INVARIANT;
            return STATUS_INTERNAL_ERROR;
        }

        if (NT_SUCCESS(TraceCompactEncodeHere(Store, &View))) {
            Store->Header->NumberOfBlocksInline += 1;
            TraceCompactClear(Store, &View);
        }
    }
}

_Use_decl_annotations_
BOOLEAN
TraceCompactIsDue(
    PTRACE_STORE Store
    )
{
    return Store->Current.Position >=
           TraceCompactGetState(Store)->Position +
           Store->Header->RingSizeInBytes / 2;
}

_Use_decl_annotations_
BOOLEAN
TraceCompactServe(
    PTRACE_STORE Store
    )
{
    NTSTATUS Status;
    PTRACE_SESSION Session;
    TRACE_VIEW View;
    ULONG Size;
    ULONG Reason;

    Session = Store->Session;
    if (!NT_SUCCESS(Store->Compact.Status) ||
        !TraceCompactFindFull(Store, &View)) {

        return FALSE;
    }

    if (Session->CompactMemory == NULL) {
        Session->CompactMemory = TraceCompactTakeMemory(Session);
    }
    if (Session->CompactMemory == NULL) {
        return FALSE;
    }

    Store->WorkerBusy = TRACE_WORKER_ENCODES;
    TraceLockRelease(Store);

    Size = CodecEncode((PCODEC_ENCODER)Session->CompactMemory,
                       View.Base,
                       (ULONG)View.SizeInBytes,
                       View.Position,
                       TRACE_COMPACT_BLOCK(Session->CompactMemory));

    TraceLockAcquire(Store);

    //
    // The owner may have done it meanwhile, and have used the view again.
    //

    if (TraceCompactGetState(Store)->Position != View.Position) {
        Store->WorkerBusy = TRACE_WORKER_IDLE;
        return TRUE;
    }

    Store->WorkerBusy = TRACE_WORKER_WRITES;
    TraceLockRelease(Store);

    Status = TraceCompactWrite(Store, Session->CompactMemory, &Size, &Reason);

    TraceLockAcquire(Store);
    if (!NT_SUCCESS(Status)) {
        Store->Compact.Status = Status;
        Store->Compact.Reason = Reason;
        Store->WorkerBusy = TRACE_WORKER_IDLE;
        return TRUE;
    }

    TraceCompactPublish(Store, View.Position + View.SizeInBytes, Size);
    TraceLockRelease(Store);

    TraceCompactClear(Store, &View);

    TraceLockAcquire(Store);
    Store->WorkerBusy = TRACE_WORKER_IDLE;
    TraceCompactOffer(Store);
    return TRUE;
}

//
// Copies the end of the stream to where the first records were, which are in
// blocks by now, as are all others. If it cannot be copied it stays.
//
// Memory: to copy with.
//

static
VOID
TraceCompactMoveTail(
    _In_ PTRACE_STORE Store,
    _In_ PVOID Memory
    )
{
    PTRACE_STORE_HEADER Header;
    PBYTE Bytes;
    ULONGLONG StreamEnd;
    ULONGLONG Room;
    ULONGLONG Tail;
    ULONGLONG Offset;
    ULONG Size;

    Header = Store->Header;
    Bytes = TRACE_COMPACT_BLOCK(Memory);
    StreamEnd = TraceCompactGetState(Store)->StreamEnd;
    Room = Header->BlocksFileOffset - TRACE_HEADER_SIZE;
    Tail = StreamEnd > Room ? StreamEnd - Room : 0;
    if (Header->BlocksCapacity != 0 && StreamEnd > Header->BlocksCapacity) {
        return;
    }

    for (Offset = Tail; Offset < StreamEnd; Offset += Size) {
        Size = TRACE_COMPACT_BLOCK_SIZE;
        if (Size > StreamEnd - Offset) {
            Size = (ULONG)(StreamEnd - Offset);
        }

        if (!NT_SUCCESS(TraceCompactTransfer(Store,
                                             FALSE,
                                             Offset,
                                             Bytes,
                                             Size)) ||
            !NT_SUCCESS(RtlWriteFile(&Store->Session->Rtl,
                                     Store->File,
                                     TRACE_HEADER_SIZE + (Offset - Tail),
                                     Bytes,
                                     Size))) {

            return;
        }

        //
        // Where views do not show what is written (TraceView.c), what they
        // hold would come over it later.
        //

        if (Offset == Tail &&
            !RtlAreBytesEqual((PBYTE)Header + TRACE_HEADER_SIZE,
                              Bytes,
                              TRACE_COMPACT_ALIGN)) {

            return;
        }
    }

    RtlStoreRelease64(&Header->BlocksTail, Tail);
}

//
// Encodes what a store still has in views.
// End: position of the end of the records.
//

static
VOID
TraceCompactEncodeRest(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG End
    )
{
    NTSTATUS Status;
    TRACE_VIEW View;

    Status = STATUS_SUCCESS;
    while (NT_SUCCESS(Status) && TraceCompactGetState(Store)->Position < End) {
        TraceCompactFindView(Store,
                             TraceCompactGetState(Store)->Position,
                             &View);
        if (View.SizeInBytes > End - View.Position) {
            View.SizeInBytes = End - View.Position;
        }
        Status = TraceCompactEncodeHere(Store, &View);
    }
}

_Use_decl_annotations_
ULONGLONG
TraceCompactClose(
    PTRACE_STORE Store,
    ULONGLONG End
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_COMPACT Compact;
    PVOID Memory;
    BOOLEAN IsSmall;

    Header = Store->Header;
    Compact = &Store->Compact;
    IsSmall = !TraceCompactHasRing(Store) && End <= Header->RingFileOffset;
    if (IsSmall && End < TRACE_HEADER_SIZE + TRACE_COMPACT_LEAST) {
        return End;
    }

    //
    // Nothing is to be had any more if a thread that was killed had unmapped
    // the ring already, or where something has written over the cursor.
    //

    if ((IsSmall || TraceCompactHasRing(Store)) &&
        End <= Store->Current.Position + Store->Current.SizeInBytes &&
        End % TRACE_RECORD_SIZE == 0) {

        //
        // A thread that has not left its first view needs no ring.
        //

        if (IsSmall) {
            RtlStoreRelease64(&Header->BlocksFileOffset,
                              Header->RingFileOffset);
        }

        TraceCompactEncodeRest(Store, End);
        if (TraceCompactGetState(Store)->Position == End &&
            Header->BlocksTail == TRACE_BLOCKS_NO_TAIL &&
            Compact->Memory != NULL) {

            TraceCompactMoveTail(Store, Compact->Memory);
        }
    }

    //
    // The memory serves the next one, unless there is some already.
    //

    Memory = InterlockedExchangePointer((PVOID volatile *)&Compact->Memory,
                                        NULL);
    if (Memory != NULL) {
        Memory = InterlockedExchangePointer(&Store->Session->SpareMemory,
                                            Memory);
        RtlFreePages(&Store->Session->Rtl, Memory);
    }

    if (Header->BlocksTail == 0) {
        return TRACE_HEADER_SIZE + TraceCompactGetState(Store)->StreamEnd;
    }
    if (Header->BlocksTail != TRACE_BLOCKS_NO_TAIL) {
        return Header->BlocksFileOffset + Header->BlocksTail;
    }

    return IsSmall && Header->BlocksEnd == 0 ? End : Store->FileSizeInBytes;
}

_Use_decl_annotations_
BOOLEAN
TraceCompactUnmap(
    PTRACE_STORE Store
    )
{
    PVOID Base;

    if (!TraceCompactHasRing(Store)) {
        return FALSE;
    }

    Store->Current.Base = (PBYTE)Store->Header;
    Base = InterlockedExchangePointer(
        (PVOID volatile *)&Store->Compact.Ring.Base,
        NULL);
    RtlUnmapFileSection(&Store->Session->Rtl, Base);
    return TRUE;
}
