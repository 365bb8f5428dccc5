/*++

Module Name:

    TestFaults.h

Abstract:

    What the sources of TestFaults share.

--*/

#ifndef TRACER_TEST_FAULTS_H
#define TRACER_TEST_FAULTS_H

#include "../FaultSupport.h"
#include "../PenterStoreSupport.h"

//
// The program.  Each thread makes its events in chunks; the site of an event is
// the number of its thread and of its chunk.  The first thread goes through
// views of 64 KiB (less the header) to 1 MiB, each chunk ending one event into
// a new view, so that the worker prepares each view, up to the first of 2 MiB,
// and none is a race; without a worker it goes on into that one.  The second
// thread goes through two views, the first while the worker is not there yet.
//

#define FAULT_VIEW_SIZE     L"2M"
#define FAULT_THREADS       3
#define FAULT_MAXIMUM_CHUNKS 10
#define FAULT_LONG_CHUNK    6           // of the first thread

typedef struct _FAULT_THREAD {
    ULONG Chunks[FAULT_MAXIMUM_CHUNKS];
    ULONG NumberOfChunks;
    ULONG Number;
    ULONG ThreadId;
    ULONGLONG Sum;
    ULONGLONG Made;
    PTRACE_STORE_HEADER StandIn;
    HANDLE Go;
    HANDLE Done;
} FAULT_THREAD;
typedef FAULT_THREAD *PFAULT_THREAD;

//
// What is wrong with a run.
//

#define FAULT_PROBLEM_PROGRAM   0x01    // the program computed something else
#define FAULT_PROBLEM_ACCOUNT   0x02    // recorded + lost are not all
#define FAULT_PROBLEM_CONTENT   0x04    // a store holds what was not called
#define FAULT_PROBLEM_REPORT    0x08    // nobody was told, or something else
#define FAULT_PROBLEM_HEADER    0x10    // a store's header does not say why
#define FAULT_PROBLEM_LEAK      0x20    // not given back, or twice
#define FAULT_PROBLEM_NOT_FIRED 0x40    // there was no such call

typedef struct _FAULT_OUTCOME {
    ULONG Problems;
    BOOLEAN IsOff;                      // the hooks could not be prepared
    ULONGLONG Made;
    ULONGLONG Recorded;
    ULONGLONG LostInStores;
    ULONGLONG LostElsewhere;
    ULONG NumberOfStores;
    ULONG NumberStopped;
    ULONG NumberOfStubs;                // files without a header
    ULONG Leaks;
} FAULT_OUTCOME;
typedef FAULT_OUTCOME *PFAULT_OUTCOME;

//
// A DLL that is not there (NULL: none), and whether exports are what
// FaultResolve says.
//

extern PCWSTR FaultMissingDll;
extern BOOLEAN FaultIsReady;

extern FAULT_THREAD FaultThreads[FAULT_THREADS];
extern ULONGLONG FaultExpectedSums[2][FAULT_THREADS];   // [1]: no worker
extern BOOLEAN FaultIsConcurrent;
extern BOOLEAN FaultHasOptions;         // a worker from the start
extern volatile LONG FaultUnsettled;

extern FAULT_OUTCOME FaultOutcome;
extern FAULT FaultRunning;
extern volatile LONG FaultRunNumber;

extern TEST_PATH FaultFolder;
extern WCHAR FaultRoot[TEST_PATH_CAPACITY_IN_CHARS];
extern BOOLEAN FaultDeleteAStore;       // a control: one file disappears

extern PPENTER_ROUTINE FaultInitial[4];

//
// Run.c.
//

BOOLEAN
FaultContains(
    const CHAR *Text,
    ULONG LengthInBytes,
    PCSZ Wanted
    );

//
// Prints what went wrong in a run.
//

VOID
FaultPrintRun(
    VOID
    );

//
// One run with a fault (NULL: none); returns its problems.
//

ULONG
FaultRun(
    PCFAULT Fault
    );

//
// A run that must come out well.
//

BOOLEAN
FaultRunWell(
    PCFAULT Fault,
    ULONG Allowed
    );

//
// What TestFaults.c calls, source by source.
//

VOID FaultRunProgram(VOID);             // Run.c

VOID FaultTestMissing(VOID);            // Missing.c

#endif // TRACER_TEST_FAULTS_H
