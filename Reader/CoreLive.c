/*++

Module Name:

    CoreLive.c

Abstract:

    Reading what a writer may be changing: the end of the records, and the
    records themselves.  The reader only loads; it can neither stop nor slow
    the writer.

--*/

#include "ReaderCore.h"

//
// A change of view takes the writer some hundred nanoseconds between two
// states of rest, so this many tries only run out on a damaged header.
//

#define CORE_MAXIMUM_TRIES 10000


_Use_decl_annotations_
BOOLEAN
CoreReadEndOfRecords(
    PCTRACE_STORE_HEADER Header,
    PULONGLONG EndOfRecords
    )
/*++

Routine Description:

    Takes the end of the records from a live header.

    Generation is even while Cursor and CursorToFileOffset belong together and
    odd while the writer changes its view; it is read before and after, and
    what was read in between counts if it did not move.  While it is odd
    nothing can be appended and the end is ViewFileOffset: this is also what a
    writer that was killed at that moment leaves behind.

Arguments:

    Header - The header, in memory that the writer may be changing.

    EndOfRecords - Receives the file offset in bytes.

Return Value:

    TRUE, or FALSE if the writer was never found at rest.

--*/
{
    ULONG Try;

    for (Try = 0; Try < CORE_MAXIMUM_TRIES; Try++) {

        uint32_t Generation = RtlLoadAcquire32(&Header->Generation);
        ULONGLONG End;

        if ((Generation & 1) != 0) {
            End = RtlLoadAcquire64(&Header->ViewFileOffset);
        } else {
            End = RtlLoadAcquire64(&Header->Cursor);
            End += RtlLoadAcquire64(&Header->CursorToFileOffset);
        }

        if (RtlLoadAcquire32(&Header->Generation) == Generation) {
            *EndOfRecords = End;
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
CORE_END_STATE
CoreValidateEndOfRecords(
    ULONGLONG EndOfRecords,
    ULONG HeaderSize,
    ULONGLONG FileSize
    )
/*++

Routine Description:

    Decides whether an end of records is possible.

Arguments:

    EndOfRecords - A file offset in bytes.

    HeaderSize - The file offset of the first record.

    FileSize - The size of the file in bytes, taken after EndOfRecords was.

Return Value:

    What it is.

--*/
{
    if (EndOfRecords < HeaderSize ||
        (EndOfRecords - HeaderSize) % TRACE_RECORD_SIZE != 0) {
        return CoreEndBad;
    }

    if (EndOfRecords > FileSize) {
        return CoreEndBeyondFile;
    }

    return CoreEndValid;
}


_Use_decl_annotations_
VOID
CoreCopyRecords(
    PTRACE_RECORD Destination,
    PCTRACE_RECORD Source,
    SIZE_T NumberOfRecords
    )
/*++

Routine Description:

    Copies records out of a live store.

Arguments:

    Destination - Receives them.

    Source - The records, in memory that the writer may be changing.

    NumberOfRecords - How many.

Return Value:

    None.

--*/
{
    SIZE_T Index;

    for (Index = 0; Index < NumberOfRecords; Index++) {

        uint64_t Rest;

        //
        // The order matters: the writer stores Timestamp after the rest.
        //

        Destination[Index].Timestamp =
            RtlLoadAcquire64(&Source[Index].Timestamp);
        Rest = RtlLoadAcquire64((const uint64_t *)(const VOID *)
                                &Source[Index].Site);
        Destination[Index].Site = (uint32_t)Rest;
        Destination[Index].StackKind = (uint32_t)(Rest >> 32);
    }
}
