/*++

Module Name:

    StoreCost.c

Abstract:

    Measures what a session and its stores cost to open and to close, through
    the routines that the hooks call, with and without the worker thread.

        StoreCost ROUNDS DIRECTORY

    DIRECTORY must exist; every round makes a session directory below a folder
    of its own in it.  A round opens a session, a first store (which makes the
    directories) and STORES more, writes records into each, and closes
    everything.  Three kinds of rounds follow each other in turn:

        few     so few records that the worker is not started
        worker  enough for it to be started, and it is there
        alone   as many, and the worker is not allowed

    Prints one line for each measurement: which rounds, what, microseconds by
    QueryPerformanceCounter.

--*/

#include "../../TraceStore/TraceAdvance.h"
#include "../../TraceStore/TraceSession.h"
#include "../../TraceStore/TraceStore.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORES          8
#define FEW_RECORDS     20
#define MANY_RECORDS    20000       // 312 KiB: the third view of a store
#define PATIENCE        5000        // milliseconds for the worker to begin

extern IMAGE_DOS_HEADER __ImageBase;

static RTL Rtl;

static
double
Now(
    void
    )
{
    LARGE_INTEGER Count;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Count);
    QueryPerformanceFrequency(&Frequency);
    return (double)Count.QuadPart * 1e6 / (double)Frequency.QuadPart;
}

static
void
Fail(
    const char *Step,
    NTSTATUS Status
    )
{
    fprintf(stderr, "StoreCost: %s: 0x%08lx\n", Step, (unsigned long)Status);
    exit(1);
}

//
// Appends records as the hook does.
//

static
void
Append(
    PTRACE_STORE Store,
    unsigned Count
    )
{
    PTRACE_STORE_HEADER Header = Store->Header;
    PTRACE_RECORD Record;

    while (Count != 0) {
        while (Header->Cursor >= Header->Limit) {
            if ((Header->HookFlags & TRACE_HOOK_STOPPED) != 0) {
                Fail("a store stopped", 0);
            }
            TraceStoreAdvance(Store);
        }
        Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor;
        Header->Cursor += TRACE_RECORD_SIZE;
        Record->Site = 0x1000;
        Record->StackKind = TRACE_KIND_ENTER;
        Record->Timestamp = __rdtsc();
        Count -= 1;
    }
}

static
void
RunRound(
    const char *Directory,
    unsigned Round,
    const char *Case
    )
{
    TRACE_SESSION_PARAMETERS Parameters = { 0 };
    PTRACE_SESSION Session;
    PTRACE_STORE Stores[1 + STORES];
    RTL_ERROR Error;
    NTSTATUS Status;
    WCHAR Folder[MAX_PATH];
    BOOLEAN Many = strcmp(Case, "few") != 0;
    BOOLEAN WorkerAllowed = strcmp(Case, "alone") != 0;
    unsigned Waited;
    double Start;
    unsigned Index;

    swprintf(Folder,
             MAX_PATH,
             L"%hs\\%u-%hs",
             Directory,
             Round,
             Case);

    Parameters.ModuleBase = &__ImageBase;
    RtlPointUnicodeString(&Parameters.RootDirectory,
                          Folder,
                          (ULONG)wcslen(Folder));
    Parameters.WorkerAllowed = WorkerAllowed;

    Start = Now();
    Status = TraceSessionCreate(&Rtl, &Parameters, &Session, &Error);
    if (!NT_SUCCESS(Status)) {
        Fail(Error.Step, Status);
    }
    printf("%s session-open %.2f\n", Case, Now() - Start);

    for (Index = 0; Index <= STORES; Index += 1) {
        Start = Now();
        Status = TraceStoreOpen(Session, &Stores[Index], &Error);
        if (!NT_SUCCESS(Status)) {
            Fail(Error.Step, Status);
        }
        printf("%s %s %.2f\n",
               Case,
               Index == 0 ? "first-attach" : "attach",
               Now() - Start);
    }

    for (Index = 0; Index <= STORES; Index += 1) {
        Append(Stores[Index], Many ? MANY_RECORDS : FEW_RECORDS);
    }

    for (Waited = 0; Many && WorkerAllowed; Waited += 1) {
        if (Session->Worker.State == TRACE_WORKER_RUNNING) {
            break;
        }
        if (Waited == PATIENCE) {
            Fail("the worker does not begin", 0);
        }
        Sleep(1);
    }
    if (!(Many && WorkerAllowed) &&
        Session->Worker.State == TRACE_WORKER_RUNNING) {

        Fail("there is a worker", 0);
    }

    //
    // One store is left for the session to close.
    //

    for (Index = 1; Index <= STORES; Index += 1) {
        Start = Now();
        TraceStoreClose(Stores[Index], TRACE_REASON_THREAD_EXIT);
        printf("%s detach %.2f\n", Case, Now() - Start);
    }

    Start = Now();
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    printf("%s session-close %.2f\n", Case, Now() - Start);
}

int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    unsigned Rounds;
    unsigned Round;
    PCSZ Missing = NULL;
    NTSTATUS Status;

    if (ArgumentCount != 3) {
        return 2;
    }
    Status = RtlBootstrap(&Rtl, &Missing);
    if (!NT_SUCCESS(Status)) {
        Fail(Missing, Status);
    }

    Rounds = (unsigned)atoi(Arguments[1]);
    for (Round = 0; Round < Rounds; Round += 1) {
        RunRound(Arguments[2], Round, "few");
        RunRound(Arguments[2], Round, "worker");
        RunRound(Arguments[2], Round, "alone");
    }
    return 0;
}
