/*++

Module Name:

    PenterInsideSupport.c

Abstract:

    TestPenter's child in which the routines that the library calls are made to
    call hooks themselves, as they do in a program that has hooked the system's
    routines with instrumented code; and to raise an exception, which has to
    pass through the hook to the program.  And the child in which the pages of
    a store fail.

--*/

#include "PenterStoreSupport.h"

#define TEST_EXCEPTION  0xE0544553UL
#define TEST_CALLS      3

static NT_QUERY_PERFORMANCE_COUNTER *TestRealCounter;
static NT_CREATE_FILE *TestRealCreateFile;
static ULONG TestInsideCalls;
static ULONG TestInsideThread;      // the worker asks for the time as well
static BOOLEAN TestRaise;

//
// NtCreateFile, instrumented.
// As NtCreateFile has them.
// Returns as NtCreateFile has it.
//

static
NTSTATUS
NTAPI
PenterTestCreateFile(
    PHANDLE FileHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PIO_STATUS_BLOCK IoStatusBlock,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    HookRepeat(_penter, TEST_CALLS, 0);
    TestInsideCalls += TEST_CALLS;
    return TestRealCreateFile(FileHandle,
                              DesiredAccess,
                              ObjectAttributes,
                              IoStatusBlock,
                              AllocationSize,
                              FileAttributes,
                              ShareAccess,
                              CreateDisposition,
                              CreateOptions,
                              EaBuffer,
                              EaLength);
}

//
// NtQueryPerformanceCounter, instrumented; raises an exception if asked to.
// As NtQueryPerformanceCounter has them.
// Returns as NtQueryPerformanceCounter has it.
//

static
NTSTATUS
NTAPI
PenterTestCounter(
    PLARGE_INTEGER PerformanceCounter,
    PLARGE_INTEGER PerformanceFrequency
    )
{
    if (GetCurrentThreadId() != TestInsideThread) {
        return TestRealCounter(PerformanceCounter, PerformanceFrequency);
    }

    HookRepeat(_penter, TEST_CALLS, 0);
    TestInsideCalls += TEST_CALLS;
    if (TestRaise) {
        TestRaise = FALSE;
        RaiseException(TEST_EXCEPTION, 0, 0, NULL);
    }

    return TestRealCounter(PerformanceCounter, PerformanceFrequency);
}

//
// Makes a call that may raise an exception, between locals that live in
// non-volatile registers.
// Number: a number to compute with.
// Returns the exception's code, 0 if there was none, 1 if a local has changed.
//

static
DECLSPEC_NOINLINE
ULONG
PenterTestGuardedCall(
    _In_ ULONG Number
    )
{
    ULONG Locals[6];
    ULONG Code;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Locals); Index += 1) {
        Locals[Index] = Number * (Index + 3);
    }

    //
    // The code is read in the filter: Wine 8 gives 0 in the handler.
    //

    Code = 0;
    __try {
        HookRepeat(_penter, 1, 0);
    } __except (Code = GetExceptionCode(), EXCEPTION_EXECUTE_HANDLER) {
        Locals[0] = Number * 3;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Locals); Index += 1) {
        if (Locals[Index] != Number * (Index + 3)) {
            return 1;
        }
    }

    return Code;
}

//
// TlsSetValue and NtClose, instrumented as a function is: with an exit, too.
//

static TLS_SET_VALUE *TestRealSetValue;
static NT_CLOSE *TestRealClose;

static
BOOL
WINAPI
PenterTestSetValue(
    DWORD TlsIndex,
    LPVOID TlsValue
    )
{
    BOOL Done;

    HookRepeat(_penter, 1, 0);
    Done = TestRealSetValue(TlsIndex, TlsValue);
    HookRepeat(_pexit, 1, 0);
    InterlockedAdd((LONG volatile *)&TestInsideCalls, 2);
    return Done;
}

static
NTSTATUS
NTAPI
PenterTestClose(
    HANDLE Handle
    )
{
    NTSTATUS Status;

    HookRepeat(_penter, 1, 0);
    Status = TestRealClose(Handle);
    HookRepeat(_pexit, 1, 0);
    InterlockedAdd((LONG volatile *)&TestInsideCalls, 2);
    return Status;
}

//
// A thread of the program: a call, and its end.
//

static
DWORD
WINAPI
PenterTestInsideThread(
    PVOID Parameter
    )
{
    UNREFERENCED_PARAMETER(Parameter);

    HookRepeat(_penter, 1, 0);
    HookRepeat(_pexit, 1, 0);
    return 0;
}

//
// The child "inside", its second part: what sets a thread's slot and what
// closes a store call hooks, too.  Each thread has one store all the same.
//

#define TEST_INSIDE_THREADS 20

static
VOID
PenterTestInsideThreads(
    _Inout_ PTRACE_SESSION Session
    )
{
    HANDLE Threads[TEST_INSIDE_THREADS];
    LONG Stores;
    LONG Errors;
    ULONG Index;
    BOOLEAN Together;

    TestRealSetValue = Session->Rtl.TlsSetValue;
    TestRealClose = Session->Rtl.NtClose;
    Session->Rtl.TlsSetValue = PenterTestSetValue;
    Session->Rtl.NtClose = PenterTestClose;
    for (Together = FALSE; Together <= TRUE; Together += 1) {
        TestInsideCalls = 0;
        Stores = Session->NextSequenceNumber;
        for (Index = 0; Index < TEST_INSIDE_THREADS; Index += 1) {
            Threads[Index] = CreateThread(NULL,
                                          0,
                                          PenterTestInsideThread,
                                          NULL,
                                          0,
                                          NULL);
            if (!Together) {
                WaitForSingleObject(Threads[Index], INFINITE);
            }
        }
        WaitForMultipleObjects(TEST_INSIDE_THREADS, Threads, TRUE, INFINITE);
        for (Index = 0; Index < TEST_INSIDE_THREADS; Index += 1) {
            CloseHandle(Threads[Index]);
        }

        TEST(TestInsideCalls > TEST_INSIDE_THREADS);
        TEST_EQUAL(Session->NextSequenceNumber - Stores, TEST_INSIDE_THREADS);
    }

    Session->Rtl.TlsSetValue = TestRealSetValue;
    Session->Rtl.NtClose = TestRealClose;

    //
    // What several threads have counted as reentered at one time counts more
    // than once; nothing is left out by that.
    //

    Errors = Session->NumberOfErrorsLogged;
    InterlockedAdd64(&PenterInstance->NumberOfEventsReentered, 1000000);
    PenterReportLeftOut(PenterInstance);
    TEST_EQUAL(Session->NumberOfErrorsLogged, Errors);
    InterlockedAdd64(&PenterEventsLeftOut, 1);
    PenterReportLeftOut(PenterInstance);
    TEST_EQUAL(Session->NumberOfErrorsLogged, Errors + 1);
}

//
// The child "inside".
//

VOID
PenterTestInside(
    VOID
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    PTRACE_SESSION Session;
    ULONGLONG Calls;
    ULONG Views;

    TestInsideThread = GetCurrentThreadId();
    PenterTestTakeSlots();
    HookRepeat(_penter, 1, 0);
    Header = PenterTestContext();
    if (!TEST(Header != NULL && Header->WriterContext != 0)) {
        return;
    }
    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    Session = Store->Session;
    TestRealCreateFile = Session->Rtl.NtCreateFile;
    TestRealCounter = Session->Rtl.NtQueryPerformanceCounter;

    //
    // Calls from inside while a thread is attached are counted, and the call
    // that attached it is recorded.
    //

    PenterThreadExit();
    Session->Rtl.NtCreateFile = PenterTestCreateFile;
    TEST(PenterTestCall(&TestHooks[0], 8, 0xCD5, TRUE));
    Session->Rtl.NtCreateFile = TestRealCreateFile;
    Header = PenterTestContext();
    TEST(TestInsideCalls > 0);
    TEST_EQUAL(Header->NumberOfEventsReentered, TestInsideCalls);
    TEST_EQUAL(PenterTestNumberOfRecords(Header), 1);

    //
    // Calls from inside while views change are recorded or counted; none is
    // lost, and none goes round in circles.
    //

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    TestInsideCalls = 0;
    Session->Rtl.NtQueryPerformanceCounter = PenterTestCounter;
    Calls = PenterTestNumberOfRecords(Header) +
            Header->NumberOfEventsReentered;
    HookRepeat(_penter, 30000, 0);
    Calls += 30000;
    TEST(Header->NumberOfViewChanges > 1);
    TEST(TestInsideCalls > 0);
    TEST_EQUAL(PenterTestNumberOfRecords(Header) +
               Header->NumberOfEventsReentered,
               Calls + TestInsideCalls);

    //
    // An exception from inside reaches the program's handler.
    //

    Views = Header->NumberOfViewChanges;
    TestRaise = TRUE;
    while (Header->NumberOfViewChanges == Views) {
        Calls = PenterTestGuardedCall(Views + 1);
    }
    Session->Rtl.NtQueryPerformanceCounter = TestRealCounter;
    TEST_EQUAL(Calls, TEST_EXCEPTION);
    TEST(!TestRaise);
    TEST_EQUAL(Header->State, TRACE_STATE_OPEN);

    //
    // The program goes on and may make all the calls that it wants.
    //

    HookRepeat(_penter, 30000, 0);
    TEST_EQUAL(Header->NumberOfEventsLost, 0);
    PenterThreadExit();
    TEST(PenterTestCall(&TestHooks[0], 0, 0x801, TRUE));
    PenterTestInsideThreads(Session);
}

VOID
PenterTestPages(
    VOID
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    ULONGLONG Before;
    ULONGLONG Records;
    DWORD Old;
    ULONG Index;
    ULONG Failed;

    PenterTestTakeSlots();
    HookRepeat(_penter, 1, 0);
    Header = PenterTestContext();
    if (!TEST(Header != NULL && Header->WriterContext != 0)) {
        return;
    }

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    Before = Store->Current.PreparedInBytes;
    TEST(Before < Store->Current.SizeInBytes);
    if (!TEST(VirtualProtect(Store->Current.Base + Before,
                             (SIZE_T)(Store->Current.SizeInBytes - Before),
                             PAGE_NOACCESS,
                             &Old))) {
        return;
    }

    Failed = 0;
    for (Index = 0; Index < 5000; Index += 1) {
        if (!PenterTestCall(&TestHooks[Index % TEST_NUMBER_OF_HOOKS],
                            8 * (Index & 1),
                            TestFlags[Index % TEST_NUMBER_OF_FLAGS],
                            FALSE)) {
            Failed += 1;
        }
    }

    TEST_EQUAL(Failed, 0);
    Records = PenterTestNumberOfRecords(Header);
    TEST_EQUAL(Header->State, TRACE_STATE_STOPPED);
    TEST_EQUAL(Header->Reason, TRACE_REASON_PAGE_FAILED);
    TEST(!NT_SUCCESS((NTSTATUS)Header->Status));
    TEST_EQUAL(Records, (Before - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE);
    TEST_EQUAL(Records + Header->NumberOfEventsLost, 5001);
}
