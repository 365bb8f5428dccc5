/*++

Module Name:

    Counting.h

Abstract:

    The RTL of TestTraceStore: what it counts, and what it can be told to do.

--*/

#ifndef TRACER_TEST_TRACE_STORE_COUNTING_H
#define TRACER_TEST_TRACE_STORE_COUNTING_H

#include "../../../TraceStore/TraceAdvance.h"
#include "../../../TraceStore/TraceClock.h"
#include "../../../TraceStore/TraceControl.h"
#include "../../../TraceStore/TraceControlAppend.h"
#include "../../../TraceStore/TraceDepth.h"
#include "../../../TraceStore/TraceDirectory.h"
#include "../../../TraceStore/TraceLock.h"
#include "../../../TraceStore/TraceLog.h"
#include "../../../TraceStore/TraceStop.h"
#include "../../../TraceStore/TraceStore.h"
#include "../../../TraceStore/TraceThread.h"
#include "Test.h"

#define TEST_MAXIMUM_VIEWS 4096
#define TEST_MAXIMUM_FILES 1100
#define TEST_SMALL_VIEW 0x40000

//
// How long is waited for what must happen, milliseconds: another thread may
// have no processor.
//

#define TEST_PATIENCE 300000

#define TEST_RECORDS_IN(SizeInBytes) \
    (((SizeInBytes) - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE)

//
// The routines that can be made to fail.
//

#define TEST_ROUTINES(ENTRY)                                                \
    ENTRY(NtCreateFile)                                                     \
    ENTRY(NtWriteFile)                                                      \
    ENTRY(NtReadFile)                                                       \
    ENTRY(NtFlushBuffersFile)                                               \
    ENTRY(NtFlushVirtualMemory)                                             \
    ENTRY(NtSetInformationFile)                                             \
    ENTRY(NtCreateSection)                                                  \
    ENTRY(NtMapViewOfSection)                                               \
    ENTRY(NtAllocateVirtualMemory)                                          \
    ENTRY(NtCreateEvent)                                                    \
    ENTRY(NtGetNextThread)                                                  \
    ENTRY(NtDuplicateObject)                                                \
    ENTRY(NtCreateThreadEx)                                                 \
    ENTRY(NtQueryInformationProcess)                                        \
    ENTRY(NtQueryVolumeInformationFile)                                     \
    ENTRY(NtOpenProcessToken)                                               \
    ENTRY(NtQueryInformationToken)

#define TEST_ROUTINE_NUMBER(Name) TestRoutine##Name,
#define TEST_ROUTINE_NAME(Name) #Name,

enum {
    TEST_ROUTINES(TEST_ROUTINE_NUMBER)
    TestNumberOfRoutines
};

//
// Which call fails: the Call-th of Routine, and all after it if Sticky.
// MapReadOnlyCall is the number of a view that is mapped without the right to
// write, so that its pages cannot be had.
//

typedef struct _TEST_FAULT {
    ULONG Routine;
    LONG Call;                      // 0: none
    NTSTATUS Status;
    BOOLEAN Sticky;
    LONG MapReadOnlyCall;           // 0: none
    volatile LONG Fired;
} TEST_FAULT;

//
// Where a thread that maps or unmaps is stopped for good, as the end of a
// process stops it: after the system has made its section, before and after it
// has mapped the view, after it has closed the section's handle, before and
// after it has unmapped a view.  The thread that tests is never stopped.
//

#define TEST_KILL_NOWHERE   0
#define TEST_KILL_SECTION   1
#define TEST_KILL_HINT      2       // the view is to get a certain address
#define TEST_KILL_MAPPED    3
#define TEST_KILL_CLOSED    4
#define TEST_KILL_UNMAP     5
#define TEST_KILL_UNMAPPED  6
#define TEST_KILL_PLACES    7

//
// The worker alone: it has the handle of a thread, it has closed that of a
// thread that has ended, it waits.
//

#define TEST_KILL_FOUND     7
#define TEST_KILL_FORGOTTEN 8
#define TEST_KILL_WAITS     9

//
// The places of a thread that is not the one that tests: before and after each
// routine that it calls, and behind each of the TEST_STEPS instructions that
// follow.  It is stopped for good at the one that has the number TestStopPlace,
// and ends, as if it were terminated, when that becomes 0.  0: nobody counts.
//

#define TEST_STEPS          300

extern volatile LONG TestStopPlace;
extern volatile LONG TestPlaces;        // so far

VOID
TestBeginPlaces(
    LONG StopPlace
    );

//
// The calling thread is out of what is tested: no more places until it calls
// the system again.
//

VOID
TestEndSteps(
    VOID
    );

typedef struct _TEST_VIEW {
    PVOID Base;
    ULONGLONG FileOffset;
    SIZE_T SizeInBytes;
    volatile LONG Live;
} TEST_VIEW;

extern IMAGE_DOS_HEADER __ImageBase;

extern PCRTL TestReal;
extern RTL TestCounting;
extern TEST_PATH TestFolder;
extern TEST_PATH TestRoot;
extern WCHAR TestText[RTL_MAXIMUM_PATH_IN_CHARS];
extern CHAR TestUtf8[3 * RTL_MAXIMUM_PATH_IN_CHARS];

extern TEST_FAULT TestFault;

//
// A slow disk: the routines that extend, map and unmap take this long on other
// threads than the one that tests.
//

extern volatile LONG TestDelayMilliseconds;
extern ULONG TestMainThreadId;
extern volatile LONG TestCalls[TestNumberOfRoutines];
extern volatile LONG TestOpenHandles;
extern volatile LONG TestLiveAllocations;
extern volatile LONG TestBadCalls;
extern ULONG TestAdvances;              // calls of TraceStoreAdvance
extern ULONG TestCalled;                // those with room left: the name was
                                        // to be read
extern ULONGLONG TestLargestFile;       // bytes that a file was extended to

//
// What the next session is asked for.
//

extern TRACE_SESSION_PARAMETERS TestOptions;

//
// The header of the ring that is checked at each write, how often one was over
// records that readers may still take, and the control of that.
//

extern PTRACE_STORE_HEADER volatile TestRing;
extern volatile LONG TestBadRingWrites;
extern BOOLEAN TestForgetsFirstPosition;

//
// What is written to a file is not seen in its views.  Below TestHiddenBelow it
// is not, either, bytes; and no read shows it.
//

extern BOOLEAN TestSwallowsWrites;
extern ULONGLONG TestHiddenBelow;

//
// Called before and after a write to a file, if that is wanted (Compact.c).
//

typedef VOID (TEST_AT_WRITE)(ULONGLONG FileOffset, const VOID *Bytes,
                             ULONG SizeInBytes, BOOLEAN IsAfter);
extern TEST_AT_WRITE *volatile TestAtWrite;

//
// Threads that are not started when that is asked for.
//

extern BOOLEAN TestKeepsSuspended;

//
// The processors that the process is said to be allowed.
//

extern ULONG_PTR TestProcessors;

//
// A disk that nobody else uses, in bytes: it has TestVolumeFree left as long as
// no file has been extended (TestLargestFile).
//

extern ULONGLONG TestVolumeSize;
extern ULONGLONG TestVolumeFree;
extern ULONG TestVolumeUnit;            // sectors of 512 bytes; 0: not known

extern volatile LONG TestKillPlace;
extern volatile LONG TestKilled;        // a thread has been stopped
extern HANDLE volatile TestKillSection; // the last one that it made
extern PVOID volatile TestKillBase;     // what it was to map or unmap
extern ULONG volatile TestEndingThread; // the id of a thread that will end
extern HANDLE volatile TestKillThread;  // the handle of that which was found

//
// What the system is made to say of any address: that the file lies there which
// lies here.
//

extern PVOID TestMisnamedAs;

extern TEST_VIEW TestViews[TEST_MAXIMUM_VIEWS];
extern volatile LONG TestNumberOfViews;

//
// A clock that does not depend on the machine's speed: TestClockStep counts go
// by from one reading to the next.
//

extern LONGLONG volatile TestClock;
extern LONG volatile TestClockStep;

extern PTRACE_STORE TestPacedStore;
extern ULONGLONG TestPacedTicks;

//
// How long the zeroes over a view took, and which view that was.
//

extern ULONGLONG TestWriteTicks;
extern LONG TestWriteView;

//
// Forgets what was counted and takes the fault away.
//

VOID
TestResetCounters(
    VOID
    );

#endif // TRACER_TEST_TRACE_STORE_COUNTING_H
