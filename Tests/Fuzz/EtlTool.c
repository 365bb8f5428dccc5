/*++

Module Name:

    EtlTool.c

Abstract:

    Writes what is read of an event trace log (Reader/Etl), natively, for
    scripts.

    usage: EtlTool FILE [THREAD...]
           EtlTool --xpress FROM TO SIZE

    The log, its buffers' order, its events and, of the threads, their spans,
    on the log's clock: a line each, words and numbers.  It exits with 1 if the
    log is refused.  --xpress decompresses a file instead.

--*/

#include "../../Rtl/RtlTypes.h"
#include "../../Reader/Etl/EtlStates.h"
#include "../../Reader/Etl/EtlXpress.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static
PVOID
ToolAllocate(
    PVOID Context,
    SIZE_T SizeInBytes
    )
{
    (VOID)Context;
    return calloc(1, SizeInBytes + (SizeInBytes == 0));
}

static
VOID
ToolFree(
    PVOID Context,
    PVOID Address
    )
{
    (VOID)Context;
    free(Address);
}

static
NTSTATUS
ToolRead(
    PVOID Context,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
{
    FILE *File = Context;

    return fseek(File, (long)Offset, SEEK_SET) == 0 &&
                   fread(Bytes, 1, SizeInBytes, File) == SizeInBytes
               ? STATUS_SUCCESS
               : STATUS_UNSUCCESSFUL;
}

static
NTSTATUS
ToolTake(
    PVOID Context,
    PCETL_EVENT Event
    )
{
    static const char *const Kinds[] = {
        "switch", "ready", "sample", "start", "end", "named", "gap"
    };

    (VOID)Context;
    printf("%s %u %llu %llu %u %u %u %u %u%s%.*s\n",
           Kinds[Event->Kind],
           Event->Processor,
           (unsigned long long)Event->Timestamp,
           (unsigned long long)Event->Start,
           Event->Thread,
           Event->Other,
           Event->State,
           Event->Reason,
           Event->IsInterrupt,
           Event->NameLength != 0 ? " " : "",
           Event->NameLength,
           Event->Name != NULL ? Event->Name : "");
    return STATUS_SUCCESS;
}

//
// Returns 1 if the file is no compressed one.
//

static
int
ToolDecode(
    PCSZ From,
    PCSZ To,
    ULONG TargetSize
    )
{
    FILE *Source = fopen(From, "rb");
    FILE *Target = fopen(To, "wb");
    UCHAR *Bytes = malloc(1 << 24);
    UCHAR *Plain = malloc(TargetSize + 1);
    ULONG Size;

    if (Source == NULL || Target == NULL || Bytes == NULL || Plain == NULL) {
        return 2;
    }

    Size = (ULONG)fread(Bytes, 1, 1 << 24, Source);
    Size = EtlDecodeXpress(Bytes, Size, Plain, TargetSize);
    if (Size != ETL_XPRESS_BAD) {
        fwrite(Plain, 1, Size, Target);
    }

    free(Bytes);
    free(Plain);
    fclose(Source);
    fclose(Target);
    return Size == ETL_XPRESS_BAD;
}

int
main(
    int Count,
    char **Arguments
    )
{
    static const char *const States[] = {
        "unknown", "running", "ready", "waiting", "paused"
    };
    ALLOCATOR Allocator = { NULL, ToolAllocate, ToolFree };
    ETL_STATES All;
    ETL_FILE File;
    ETL_COUNTS Counts;
    PCETL_THREAD Thread;
    PCETL_SPAN Span;
    FILE *From;
    ULONG Index;
    ULONG Number;
    NTSTATUS Status;

    if (Count == 5 && strcmp(Arguments[1], "--xpress") == 0) {
        return ToolDecode(Arguments[2],
                          Arguments[3],
                          (ULONG)strtoul(Arguments[4], NULL, 0));
    }

    From = Count < 2 ? NULL : fopen(Arguments[1], "rb");
    if (From == NULL) {
        fprintf(stderr, "usage: EtlTool FILE [THREAD...]\n");
        return 2;
    }

    memset(&File, 0, sizeof(File));
    fseek(From, 0, SEEK_END);
    File.Allocator = &Allocator;
    File.Read = ToolRead;
    File.ReadContext = From;
    File.SizeInBytes = (ULONGLONG)ftell(From);
    Status = EtlInitializeFile(&File);
    if (!NT_SUCCESS(Status)) {
        printf("refused %s\n", File.Problem != NULL ? File.Problem : "?");
        return 1;
    }

    printf("log %u %u %u %llu %llu %u %u %u %u %u %u\n",
           File.PointerSize,
           File.NumberOfProcessors,
           File.ClockType,
           (unsigned long long)File.Frequency,
           (unsigned long long)File.StartTimestamp,
           File.EventsLost,
           File.BuffersLost,
           File.NumberOfBuffers,
           File.NumberCompressed,
           File.NumberMissing,
           File.IsCutOff);
    Status = EtlReadEvents(&File, ToolTake, NULL, &Counts);
    printf("counts %llu %llu %llu %llu %llu %llu %llu %llu %llu\n",
           (unsigned long long)Counts.Switches,
           (unsigned long long)Counts.Readies,
           (unsigned long long)Counts.Samples,
           (unsigned long long)Counts.Threads,
           (unsigned long long)Counts.Others,
           (unsigned long long)Counts.Compact,
           (unsigned long long)Counts.Malformed,
           (unsigned long long)Counts.BadBuffers,
           (unsigned long long)Counts.Gaps);
    EtlInitializeStates(&All, &Allocator);
    for (Number = 2; Number < (ULONG)Count && NT_SUCCESS(Status); Number++) {
        Status = EtlAddThread(&All,
                              (ULONG)strtoul(Arguments[Number], NULL, 0),
                              NULL,
                              0);
    }

    if (NT_SUCCESS(Status)) {
        Status = EtlReadStates(&All, &File);
    }

    for (Number = 0; Number < All.NumberOfThreads; Number++) {

        Thread = &All.Threads[Number];
        for (Index = 0; Index < Thread->NumberOfSpans; Index++) {
            Span = &Thread->Spans[Index];
            printf("span %u %llu %s %u %u %u %u\n",
                   Thread->ThreadId,
                   (unsigned long long)Span->Start,
                   States[Span->State],
                   Span->Reason,
                   Span->By,
                   Span->IsInterrupt,
                   Span->IsEnded);
        }

        printf("process %u %u\n",
               Thread->ThreadId,
               EtlFindProcess(&All, Thread->ThreadId, All.End));
    }

    printf("end %llu %llu %llu\n",
           (unsigned long long)All.Start,
           (unsigned long long)All.End,
           (unsigned long long)All.Contradictions);
    EtlRundownStates(&All);
    EtlRundownFile(&File);
    fclose(From);
    return NT_SUCCESS(Status) ? 0 : 2;
}
