/*++

Module Name:

    SumEtlInfo.c

Abstract:

    What an event trace log has of a session, and what it lacks.

--*/

#include "SumEtlInfo.h"

static const READER_COLUMN ReaderEtlColumns[] = {
    { "Event trace log", "etl_path", ReaderColumnText, 0, 0,
      "The file of --etl." },
    { "Covered, %", "covered_percent", ReaderColumnHundredths, 0, 0,
      "The share of the session's time that lies between its first context "
      "switch and its last event; percent with two decimals." },
    { "From", "covered_from", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "Where that part begins, from the session's first record; null if "
      "there is none." },
    { "To", "covered_to", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "Where it ends." },
    { "Clock", "clock_type", ReaderColumnText, 0, 0,
      "counter: of the performance counter; cycles: of the time stamp "
      "counter." },
    { "Processors", "processors", ReaderColumnNumber, 0, 0,
      "Of the machine." },
    { "Threads of it", "threads_seen", ReaderColumnNumber, 0, 0,
      "How many of the session's threads it has events of." },
    { "Context switches", "switches", ReaderColumnNumber, 0, 0,
      "Of all threads of the system." },
    { "Made ready", "readies", ReaderColumnNumber, 0, 0,
      "Events of threads that were made ready; without any, ready is part of "
      "waiting." },
    { "Samples", "samples", ReaderColumnNumber, 0, 0,
      "Profile samples." },
    { "Buffers", "buffers", ReaderColumnNumber, 0, 0,
      "In the file." },
    { "Compressed", "buffers_compressed", ReaderColumnNumber, 0, 0,
      "Of these." },
    { "Events lost", "events_lost", ReaderColumnNumber, 0, 0,
      "As the log says." },
    { "Buffers lost", "buffers_lost", ReaderColumnNumber, 0, 0,
      "As the log says." },
    { "Buffers missing", "buffers_missing", ReaderColumnNumber, 0, 0,
      "Numbers between those of its buffers that none has." },
    { "Gaps", "gaps", ReaderColumnNumber, 0, 0,
      "Times of one processor in which something is lost, by flags of "
      "buffers, by missing numbers, or because the file is cut off or "
      "damaged." },
    { "Cut off", "cut_off", ReaderColumnText, 0, 0,
      "yes if the file ends before the log does." },
    { "Contradictions", "contradictions", ReaderColumnNumber, 0, 0,
      "Events of the session's threads that do not go together with those "
      "before them; what was in between is unknown." },
    { "Not read", "events_not_read", ReaderColumnNumber, 0, 0,
      "Events that are damaged, and batches of compact context switches." }
};

const READER_TABLE ReaderEtlTable = {
    "etl",
    ReaderEtlColumns,
    RTL_NUMBER_OF(ReaderEtlColumns),
    TRUE,
    TRUE,
    "With --etl, one row: the event trace log."
};


//
// Writes the cells of the part of the session that the log covers.
//

static
VOID
SumEtlInfoPutPart(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_ETL Etl
    )
{
    ULONGLONG First;
    ULONGLONG Last;
    ULONGLONG Start = Etl->States.Start;
    ULONGLONG End = Etl->States.End;

    SumEtlQuerySession(Etl, &First, &Last);
    Start = Start > First ? Start : First;
    End = End < Last ? End : Last;
    if (Start >= End) {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, Start - First);
        OutputPutNumber(Output, End - First);
    }
}


_Use_decl_annotations_
ULONG
SumEtlInfoPut(
    PREADER_OUTPUT Output,
    PREADER_SESSION Session,
    PCREADER_OPTIONS Options
    )
{
    READER_ETL Etl;
    PCETL_FILE File = &Etl.File;
    PCETL_COUNTS Counts = &Etl.States.Counts;
    ULONGLONG Threads = 0;
    ULONG Index;
    ULONG ExitCode = READER_EXIT_SUCCESS;

    if (!SumEtlOpen(&Etl, Session, Options)) {
        ExitCode = READER_EXIT_FAILURE;
    } else if (Etl.IsThere) {

        for (Index = 0; Index < Etl.States.NumberOfThreads; Index++) {
            Threads += Etl.States.Threads[Index].NumberOfSpans != 0;
        }

        OutputBeginTable(Output, &ReaderEtlTable, 0);
        OutputPutString(Output, Etl.Name);
        OutputPutNumber(Output, SumEtlQueryCoverage(&Etl));
        SumEtlInfoPutPart(Output, &Etl);
        OutputPutString(Output,
                        File->ClockType == ETL_CLOCK_COUNTER ? "counter"
                                                             : "cycles");
        OutputPutNumber(Output, File->NumberOfProcessors);
        OutputPutNumber(Output, Threads);
        OutputPutNumber(Output, Counts->Switches);
        OutputPutNumber(Output, Counts->Readies);
        OutputPutNumber(Output, Counts->Samples);
        OutputPutNumber(Output, File->NumberOfBuffers);
        OutputPutNumber(Output, File->NumberCompressed);
        OutputPutNumber(Output, File->EventsLost);
        OutputPutNumber(Output, File->BuffersLost);
        OutputPutNumber(Output, File->NumberMissing);
        OutputPutNumber(Output, Counts->Gaps);
        OutputPutString(Output, File->IsCutOff ? "yes" : "no");
        OutputPutNumber(Output, Etl.States.Contradictions);
        OutputPutNumber(Output, Counts->Malformed + Counts->BadBuffers +
                                    Counts->Compact);
        OutputEndTable(Output);
    }

    SumEtlClose(&Etl);
    return ExitCode;
}
