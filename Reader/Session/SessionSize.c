/*++

Module Name:

    SessionSize.c

Abstract:

    How many bytes a store takes.

--*/

#include "SessionSize.h"


_Use_decl_annotations_
ULONGLONG
SessionCountStoredBytes(
    PCREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG End = Store->EndOfRecords;
    ULONGLONG RingEnd = Header->RingFileOffset + Header->RingSizeInBytes;

    if (Store->IsTree) {
        return Store->FileSize;
    }

    if (READER_IS_STORE_COMPACT(Store)) {

        //
        // The end may be one that was known before the rest of it was read.
        //

        return Header->HeaderSize +
               (Header->BlocksEnd > Header->BlocksFirst
                    ? Header->BlocksEnd - Header->BlocksFirst
                    : 0) +
               SessionCountRawRecords(Store) * TRACE_RECORD_SIZE;
    }

    return Header->RingSizeInBytes != 0 && End > RingEnd ? RingEnd : End;
}


_Use_decl_annotations_
ULONGLONG
SessionCountRawRecords(
    PCREADER_STORE Store
    )
{
    ULONGLONG First = CoreReadFirstRecord(Store->Header);

    return Store->EndOfRecords > First
               ? (Store->EndOfRecords - First) / TRACE_RECORD_SIZE
               : 0;
}
