/*++

Module Name:

    SessionCompact.c

Abstract:

    How small compact stores are, and what is in their blocks.

--*/

#include "../Core/CoreClock.h"
#include "SessionCompact.h"
#include "SessionStoreOpen.h"

static const READER_COLUMN ReaderCompactColumns[] = {
    { "Compact stores", "stores", ReaderColumnNumber, 0, 0,
      "Stores that have most of their records in blocks." },
    { "Records", "records", ReaderColumnNumber, 0, 0,
      "Their records." },
    { "Bytes", "bytes", ReaderColumnBytes, 0, 0,
      "The bytes of headers, blocks and raw records." },
    { "Bytes of files", "file_bytes", ReaderColumnBytes, 0,
      READER_COLUMN_NULLABLE,
      "The size of the files; null of a pack." },
    { "Bytes a call", "bytes_a_call", ReaderColumnHundredths, 0,
      READER_COLUMN_NULLABLE,
      "Bytes for two records; null without records." },
    { "Blocks", "blocks", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,
      "Blocks; null of a pack." },
    { "Encoded in hooks", "blocks_inline", ReaderColumnNumber, 0, 0,
      "Blocks that the traced threads had to encode themselves, in a hook." },
    { "Raw records", "raw_records", ReaderColumnNumber, 0, 0,
      "Records that are in no block." },
    { "Raw, %", "raw_percent", ReaderColumnHundredths, 0,
      READER_COLUMN_NULLABLE,
      "Their share." }
};

const READER_TABLE ReaderCompactTable = {
    "compact",
    ReaderCompactColumns,
    RTL_NUMBER_OF(ReaderCompactColumns),
    TRUE,
    TRUE,
    "One row, only where stores are compact."
};

typedef struct _READER_COMPACT_TOTALS {
    ULONGLONG Stores;
    ULONGLONG Records;
    ULONGLONG Bytes;
    ULONGLONG FileBytes;
    ULONGLONG Blocks;
    ULONGLONG BlocksInline;
    ULONGLONG RawRecords;
} READER_COMPACT_TOTALS;


_Use_decl_annotations_
NTSTATUS
SessionPutCompact(
    PREADER_OUTPUT Output,
    PREADER_SESSION Session
    )
{
    READER_COMPACT_TOTALS Totals;
    PREADER_STORE Store;
    ULONGLONG Blocks;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(&Totals, sizeof(Totals));
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread == READER_NONE || !READER_IS_STORE_COMPACT(Store)) {
            continue;
        }

        Totals.Stores += 1;
        if (Store->EndOfRecords > Store->StartOfRecords) {
            Totals.Records += (Store->EndOfRecords - Store->StartOfRecords) /
                              TRACE_RECORD_SIZE;
        }

        Totals.Bytes += SessionCountStoredBytes(Store);
        Totals.FileBytes += Store->FileSize;
        Totals.BlocksInline += Store->Header->NumberOfBlocksInline;
        Totals.RawRecords += SessionCountRawRecords(Store);
        if (Session->Pack == NULL) {

            Blocks = 0;
            Status = SessionOpenSessionStore(Session, Store);
            if (NT_SUCCESS(Status) && Store->EndState != CoreEndBad &&
                READER_IS_STORE_COMPACT(Store)) {
                Status = SessionCountBlocks(Store->Blocks, &Blocks);
            }

            SessionCloseStore(Session->Context, Store);
            if (Status == STATUS_NO_MEMORY) {
                return Status;
            }

            Totals.Blocks += Blocks;
        }
    }

    if (Totals.Stores == 0) {
        return STATUS_SUCCESS;
    }

    OutputBeginTable(Output, &ReaderCompactTable, 0);
    OutputPutNumber(Output, Totals.Stores);
    OutputPutNumber(Output, Totals.Records);
    OutputPutNumber(Output, Totals.Bytes);
    if (Session->Pack != NULL) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, Totals.FileBytes);
    }

    if (Totals.Records == 0) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output,
                        CoreMultiplyDivide(Totals.Bytes,
                                           200,
                                           Totals.Records));
    }

    if (Session->Pack != NULL) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, Totals.Blocks);
    }

    OutputPutNumber(Output, Totals.BlocksInline);
    OutputPutNumber(Output, Totals.RawRecords);
    if (Totals.Records == 0) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output,
                        CoreMultiplyDivide(Totals.RawRecords,
                                           10000,
                                           Totals.Records));
    }

    OutputEndTable(Output);
    return STATUS_SUCCESS;
}
