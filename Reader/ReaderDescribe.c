/*++

Module Name:

    ReaderDescribe.c

Abstract:

    The words for states, reasons and problems.

--*/

#include "Reader.h"

//
// The first four bytes of a ZIP file, which pack writes.
//

#define READER_ZIP_MAGIC 0x04034B50u


_Use_decl_annotations_
PCSZ
ReaderDescribeReason(
    ULONG Reason
    )
/*++

Routine Description:

    Puts the reason why a store ended in words.

Arguments:

    Reason - TRACE_REASON_*.

Return Value:

    A literal.

--*/
{
    switch (Reason) {

    case TRACE_REASON_NONE:
        return "none";

    case TRACE_REASON_THREAD_EXIT:
        return "thread exit";

    case TRACE_REASON_MODULE_UNLOAD:
        return "module unload";

    case TRACE_REASON_PROCESS_EXIT:
        return "process exit";

    case TRACE_REASON_EXTEND_FAILED:
        return "the file cannot grow";

    case TRACE_REASON_MAP_FAILED:
        return "the file cannot be mapped";

    case TRACE_REASON_PAGE_FAILED:
        return "a page of the file cannot be had";

    case TRACE_REASON_INVARIANT:
        return "the library found itself inconsistent";

    case TRACE_REASON_MAXIMUM_BYTES:
        return "the maximum size was reached";
    }

    return "of a newer version";
}


_Use_decl_annotations_
BOOLEAN
ReaderIsRingOverwritten(
    const READER_SESSION *Session
    )
/*++

Routine Description:

    Decides whether entries are missing because rings keep the newest records.

Arguments:

    Session - The session.

Return Value:

    TRUE if a store's first record is not the first that was made.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE &&
            Store->StartOfRecords > Store->Header->HeaderSize) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
PCSZ
ReaderDescribeStoreState(
    const READER_SESSION *Session,
    PCREADER_STORE Store
    )
/*++

Routine Description:

    Puts a store's state in a word.

Arguments:

    Session - The session.

    Store - One of its stores, with a valid header.

Return Value:

    A literal.

--*/
{
    switch (Store->Header->State) {

    case TRACE_STATE_CLOSED:
        return "closed";

    case TRACE_STATE_STOPPED:
        return "stopped";

    default:
        return ReaderIsWriterGone(Session, Store) ? "died" : "open";
    }
}


_Use_decl_annotations_
PCSZ
ReaderDescribeProcessState(
    const READER_SESSION *Session,
    ULONG Process,
    PREADER_STORE *Because
    )
/*++

Routine Description:

    Puts a process's state in a word: stopped if any store was stopped, else
    open while the process runs, else died if any store was not closed, else
    closed.

Arguments:

    Session - The session.

    Process - The process's index, or READER_NONE for all together.

    Because - Receives the store that decided it when it is "stopped" or
        "died", or NULL.

Return Value:

    A literal.

--*/
{
    PREADER_STORE Unclosed = NULL;
    READER_PROCESS_STATE State = Session->ProcessState;
    ULONG Index;

    if (Process != READER_NONE) {
        State = Session->Processes[Process].State;
    }

    *Because = NULL;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread == READER_NONE ||
            (Process != READER_NONE &&
             READER_PROCESS_OF_STORE(Session, Store) != Process)) {
            continue;
        }

        if (Store->Header->State == TRACE_STATE_STOPPED) {
            *Because = Store;
            return "stopped";
        }

        if (Store->Header->State == TRACE_STATE_OPEN && Unclosed == NULL) {
            Unclosed = Store;
        }
    }

    if (State == ReaderProcessRunning) {
        return "open";
    }

    if (Unclosed == NULL) {
        return "closed";
    }

    if (State == ReaderProcessUnknown) {
        return "open";
    }

    *Because = Unclosed;
    return "died";
}


_Use_decl_annotations_
PCSZ
ReaderDescribeSymbolSource(
    READER_SYMBOL_SOURCE Source
    )
/*++

Routine Description:

    Puts the source of a module's symbols in a word.

Arguments:

    Source - The source.

Return Value:

    A literal.

--*/
{
    switch (Source) {

    case ReaderSymbolSourcePdb:
        return "pdb";

    case ReaderSymbolSourceDwarf:
        return "dwarf";

    case ReaderSymbolSourceCoff:
        return "coff";

    case ReaderSymbolSourceExports:
        return "exports";

    default:
        return "none";
    }
}


static
ULONGLONG
ReaderSizeOfRecords(
    _In_ PCREADER_STORE Store
    )
/*++

Routine Description:

    Says how long a store's file must be.

Arguments:

    Store - The store, its end beyond the file.

Return Value:

    Bytes.

--*/
{
    ULONGLONG RingEnd = Store->Header->RingFileOffset +
                        Store->Header->RingSizeInBytes;

    return Store->Header->RingSizeInBytes != 0 &&
                   RingEnd < Store->PublishedEnd
               ? RingEnd
               : Store->PublishedEnd;
}


_Use_decl_annotations_
VOID
ReaderDescribeStoreProblem(
    PCREADER_STORE Store,
    PRTL_WRITER Writer
    )
/*++

Routine Description:

    Says what is wrong with a store as a whole, without a line feed; nothing
    if nothing is.

Arguments:

    Store - The store, looked at.

    Writer - Where to say it.

Return Value:

    None.

--*/
{
    PCCORE_HEADER_RESULT Result = &Store->HeaderResult;

    if (!NT_SUCCESS(Store->Status)) {

        PCSZ Name = RtlStatusName(Store->Status);

        RtlWriteText(Writer,
                     "%s: 0x%08X%s%s%s",
                     Store->FailedStep != NULL ? Store->FailedStep : "read",
                     (ULONG)Store->Status,
                     Name != NULL ? " (" : "",
                     Name != NULL ? Name : "",
                     Name != NULL ? ")" : "");
        return;
    }

    switch (Result->State) {

    case CoreHeaderValid:
        break;

    case CoreHeaderBeingCreated:
        RtlWriteText(Writer, "being created");
        return;

    case CoreHeaderTooShort:
        RtlWriteText(Writer,
                     "header: the file ends inside it, at offset %llu",
                     Result->Value);
        return;

    default:
        if (Result->FileOffset == 0 &&
            (ULONG)Result->Value == READER_ZIP_MAGIC) {
            RtlWriteText(Writer,
                         "it is a ZIP file: unpack it, and give TraceReader "
                         "the folder that is in it");
            return;
        }

        RtlWriteText(Writer,
                     "header: %s at offset 0x%x %s (0x%llx)",
                     Result->Field,
                     Result->FileOffset,
                     Result->Problem,
                     Result->Value);
        return;
    }

    if (Store->IsForeign) {
        RtlWriteText(Writer,
                     "it is of another process (%u) than the session",
                     Store->Header->ProcessId);
        return;
    }

    if (Store->IsCopy) {
        RtlWriteText(Writer, "it is a copy of a store in another directory");
        return;
    }

    switch (Store->EndState) {

    case CoreEndBad:
        RtlWriteText(Writer,
                     "header: the end of the records (0x%llx) is no end of "
                     "a record",
                     Store->PublishedEnd);
        return;

    case CoreEndBeyondFile:
        if (Store->Header->Mode == TRACE_MODE_TREE) {
            RtlWriteText(Writer,
                         "the file ends at offset %llu, %llu bytes before "
                         "the end of its nodes",
                         Store->FileSize,
                         Store->PublishedEnd - Store->FileSize);
            return;
        }

        RtlWriteText(Writer,
                     "the file ends at offset %llu, %llu bytes before the "
                     "end of its records",
                     Store->FileSize,
                     ReaderSizeOfRecords(Store) - Store->FileSize);
        return;

    default:
        return;
    }
}
