/*++

Module Name:

    SessionKernel.c

Abstract:

    What is to be said of a session that was collected from a driver.

--*/

#include "SessionKernel.h"

static const READER_COLUMN ReaderKernelColumns[] = {
    { "Section", "section", ReaderColumnText, 0, 0,
      "The section that the records were collected from." },
    { "Driver", "driver", ReaderColumnText, 0, 0,
      "The name of the driver's service." },
    { "Image", "image", ReaderColumnText, 0, 0,
      "The driver's image." },
    { "Collector", "collector_process_id", ReaderColumnNumber, 0, 0,
      "The process that collected them: the session's identifier, state and "
      "times of a process are its." },
    { "Threads", "threads", ReaderColumnNumber, 0, 0,
      "Threads that have a store, of all processes." },
    { "Processors", "processors", ReaderColumnNumber, 0, 0,
      "Processors that have a store: of what they ran at DISPATCH_LEVEL and "
      "above that is no thread's, or of what was lost of their rings." },
    { "Lost", "lost", ReaderColumnNumber, 0, 0,
      "Records of the processors' rings that no store has: overwritten before "
      "they were read, not finished when the driver was unloaded, or not "
      "written to a processor's store.  What was overwritten before "
      "collecting began is in the log alone." }
};

const READER_TABLE ReaderKernelTable = {
    "kernel",
    ReaderKernelColumns,
    RTL_NUMBER_OF(ReaderKernelColumns),
    TRUE,
    TRUE,
    "One row, only of a session that was collected from a driver."
};

//
// A thread's identifier is a multiple of 4.
//

#define SESSION_IS_PROCESSOR(Header) (((Header)->ThreadId & 3) == 1)

//
// The name of the driver's service, in that of its section: what is behind the
// prefix, which has the first period.
//

static
VOID
SessionPutDriver(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCTRACE_STORE_HEADER Header
    )
{
    ULONG Begin = 0;

    while (Begin < Header->CommandLineLength &&
           Header->CommandLine[Begin] != '.') {
        Begin += 1;
    }

    if (Begin < Header->CommandLineLength) {
        Begin += 1;
    }

    OutputPutText(Output,
                  Header->CommandLine + Begin,
                  Header->CommandLineLength - Begin);
}

_Use_decl_annotations_
VOID
SessionPutKernel(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session
    )
{
    PCTRACE_STORE_HEADER Header = Session->Header;
    PREADER_STORE Store;
    ULONGLONG Threads = 0;
    ULONGLONG Processors = 0;
    ULONGLONG Lost = 0;
    ULONG Index;

    if (Header == NULL || (Header->Flags & TRACE_FLAG_KERNEL) == 0) {
        return;
    }

    if (Output->Format == ReaderFormatText) {

        RtlWriteText(Output->Writer, "Kernel trace of ");
        RtlWriteCleanText(Output->Writer,
                          Header->CommandLine,
                          Header->CommandLineLength);
        RtlWriteText(Output->Writer,
                     ": threads are of all processes, and the PID and the "
                     "state are the collector's.\nIts processors and what was "
                     "lost are in the log.\n");
        return;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread == READER_NONE) {
            continue;
        }

        if (SESSION_IS_PROCESSOR(Store->Header)) {
            Processors += 1;
            Lost += Store->Header->NumberOfEventsLost;
        } else {
            Threads += 1;
        }
    }

    OutputBeginTable(Output, &ReaderKernelTable, 0);
    OutputPutText(Output, Header->CommandLine, Header->CommandLineLength);
    SessionPutDriver(Output, Header);
    OutputPutText(Output, Header->ModulePath, Header->ModulePathLength);
    OutputPutNumber(Output, Header->ProcessId);
    OutputPutNumber(Output, Threads);
    OutputPutNumber(Output, Processors);
    OutputPutNumber(Output, Lost);
    OutputEndTable(Output);
}
