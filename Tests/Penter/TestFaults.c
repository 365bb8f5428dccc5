/*++

Module Name:

    TestFaults.c

Abstract:

    Makes every call of the operating system that the writer makes fail: each
    routine, at its first, second, ... last call, once and from then on, with
    each failure that is documented for it; and takes each export away that the
    bootstrap looks for.

    The program that is traced is three threads of this process which call the
    real hooks.  It runs once undisturbed, to count the calls, and then once
    with each fault.  The hooks are taken apart after each run as when a DLL is
    unloaded, and begin anew.  Whatever failed:

    - the threads go on and compute the same, with the same last errors;
    - what their files hold and what is counted as lost is what they called;
    - if anything is lost, the debugger and the log are told the step, the
      object and the status, and the header of a store that has stopped says
      why;
    - handles, views, memory and slots have been given back.

    A run without the worker (its thread is always refused) makes the same
    demands of the code that does its work on the traced threads; there the
    hooks learn of the end of the process before they are taken apart.

    With TRACER_FAULTS=all in the environment: all errors at all calls; with
    TRACER_LONG: one error at each call, and all of them at the first and the
    last; else a part of that.

    Takes long in Debug.

--*/

#include "TestFaults/TestFaults.h"

//
// A crash or a standstill ends the program, and says in which run.  A run takes
// a fraction of a second; on a machine that has no memory left for it one took
// more than a minute.
//

#define FAULT_STANDSTILL 900        // seconds

static volatile LONG FaultIsOver;

static
DWORD
WINAPI
FaultWatch(
    PVOID Parameter
    )
{
    LONG Last;
    ULONG Seconds;

    UNREFERENCED_PARAMETER(Parameter);

    Last = -1;
    Seconds = 0;
    while (!FaultIsOver) {
        Sleep(1000);
        Seconds = (Last == FaultRunNumber) ? Seconds + 1 : 0;
        Last = FaultRunNumber;
        if (Seconds >= FAULT_STANDSTILL) {
            RtlWriteText(TestOutput, "a standstill:\n");
            FaultPrintRun();
            ExitProcess(1);
        }
    }
    return 0;
}

static
LONG
WINAPI
FaultCrashed(
    EXCEPTION_POINTERS *Pointers
    )
{
    RtlWriteText(TestOutput,
                 "exception %x at %p:\n",
                 Pointers->ExceptionRecord->ExceptionCode,
                 Pointers->ExceptionRecord->ExceptionAddress);
    FaultPrintRun();
    ExitProcess(1);
    return EXCEPTION_CONTINUE_SEARCH;
}

//
// Routines whose calls are not the same in number in each run, because threads
// wait for each other.
//

static
BOOLEAN
FaultIsRace(
    ULONG Routine
    )
{
    return Routine == FaultNtSetEvent ||
           Routine == FaultNtWaitForSingleObject ||
           Routine == FaultNtWaitForMultipleObjects ||
           Routine == FaultNtSignalAndWaitForSingleObject ||
           Routine == FaultNtYieldExecution ||
           Routine == FaultNtDelayExecution ||
           Routine == FaultRtlDllShutdownInProgress;
}

//
// Routines that are called for each view, or for each piece of one: views of a
// thread that is slower are smaller (TraceAdvance.c), so the later calls of
// these may not come where the machine has other things to do.
//

static
BOOLEAN
FaultIsOfSpeed(
    ULONG Routine
    )
{
    return Routine == FaultNtAllocateVirtualMemory ||
           Routine == FaultNtFreeVirtualMemory ||
           Routine == FaultNtWriteFile;
}

//
// Whether there are failures in the table for a routine.
//

static
ULONG
FaultCountErrors(
    ULONG Routine,
    PULONG First
    )
{
    ULONG Index;
    ULONG Count;

    Count = 0;
    for (Index = 0; Index < FaultNumberOfErrors; Index += 1) {
        if (FaultErrors[Index].Routine == Routine) {
            if (Count == 0) {
                *First = Index;
            }
            Count += 1;
        }
    }
    return Count;
}

//
// All the calls of a program, with the worker or without.
//

static
VOID
FaultTestAllCalls(
    ULONG Mode,
    BOOLEAN Everything,
    BOOLEAN Quick
    )
{
    static LONG Counts[FaultNumberOfRoutines];
    FAULT Fault;
    ULONG Routine;
    ULONG First;
    ULONG Number;
    ULONG Error;
    ULONG Sticky;
    LONG Call;
    ULONG Runs;
    ULONG NotFired;
    ULONGLONG Start;
    BOOLEAN Wanted;

    //
    // Undisturbed, twice: where no thread waits for another the numbers are
    // the same.
    //

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = Mode;
    Fault.Error.Routine = FaultNtCreateThreadEx;
    Fault.Error.Reported = STATUS_ACCESS_DENIED;
    FaultRunWell(&Fault, 0);
    RtlCopyBytes(Counts, (PVOID)FaultCalls, sizeof(Counts));
    TEST_EQUAL(FaultOutcome.NumberOfStores, FAULT_THREADS);
    TEST_EQUAL(FaultOutcome.NumberOfStubs, 0);
    TEST_EQUAL(FaultOutcome.Recorded, FaultOutcome.Made);
    FaultRunWell(&Fault, 0);
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        if (FaultIsRace(Routine) || FaultIsOfSpeed(Routine)) {
            continue;
        }
        if (!TEST_EQUAL(FaultCalls[Routine], Counts[Routine])) {
            RtlWriteText(TestOutput, "    %s\n", FaultNames[Routine]);
        }
    }

    Runs = 0;
    NotFired = 0;
    Start = GetTickCount64();
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        First = 0;
        Number = FaultCountErrors(Routine, &First);

        //
        // What the writer calls has failures in the table, or cannot fail.
        //

        if (Counts[Routine] != 0 && Number == 0) {
            TEST(Routine == FaultRtlUpcaseUnicodeChar ||
                 Routine == FaultGetCommandLineW ||
                 Routine == FaultOutputDebugStringW ||
                 Routine == FaultRtlDllShutdownInProgress ||
                 Routine == FaultRtlLookupFunctionEntry);
            continue;
        }
        if (Mode == FAULT_BOTH && Routine == FaultNtCreateThreadEx) {
            continue;
        }

        for (Call = 1; Call <= Counts[Routine]; Call += 1) {
            for (Error = 0; Error < Number; Error += 1) {
                for (Sticky = 0; Sticky < 2; Sticky += 1) {
                    Wanted = Everything;
                    if (Error == (ULONG)Call % Number) {
                        Wanted = Wanted || Sticky == 0 || Call == 1;
                    }
                    if (Call == 1 || Call == Counts[Routine]) {
                        Wanted = Wanted || Sticky == 0;
                    }
                    if (Quick && !Everything) {
                        Wanted = Wanted && Error == 0 &&
                                 (Call == 1 || Call % 8 == 0 ||
                                  Call == Counts[Routine]);
                    }
                    if (!Wanted) {
                        continue;
                    }

                    Fault.Mode = Mode;
                    Fault.Call = Call;
                    Fault.Sticky = (BOOLEAN)Sticky;
                    Fault.Error = FaultErrors[First + Error];
                    FaultRunWell(&Fault,
                                 FaultIsRace(Routine) ||
                                 (FaultIsOfSpeed(Routine) && Call > 1) ?
                                 FAULT_PROBLEM_NOT_FIRED : 0);
                    Runs += 1;
                    NotFired += FaultFired == 0;
                }
            }
        }
    }

    RtlWriteText(TestOutput,
                 "%s: %u faults, %u of them not met, %llu ms\n",
                 Mode == FAULT_BOTH ? "without a worker" : "with a worker",
                 Runs,
                 NotFired,
                 GetTickCount64() - Start);
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        if (Counts[Routine] != 0) {
            RtlWriteText(TestOutput,
                         "    %5d  %s\n",
                         Counts[Routine],
                         FaultNames[Routine]);
        }
    }
}

//
// Some of the calls of a program that has options: the first two, the last and
// every sixteenth of each routine, once; and the first for good.  Those that
// take seconds are made fail once.
//

typedef struct _FAULT_OPTION {
    PCWSTR Name;
    PCWSTR Value;
} FAULT_OPTION;

static
VOID
FaultTestOptions(
    ULONG Mode,
    const FAULT_OPTION *Options,
    ULONG NumberOfOptions,
    BOOLEAN Quick
    )
{
    static LONG Counts[FaultNumberOfRoutines];
    FAULT Fault;
    ULONG Routine;
    ULONG First;
    ULONG Number;
    ULONG Index;
    ULONG Runs;
    LONG Call;
    ULONGLONG Start;

    for (Index = 0; Index < NumberOfOptions; Index += 1) {
        SetEnvironmentVariableW(Options[Index].Name, Options[Index].Value);
    }
    FaultHasOptions = TRUE;

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = Mode;
    Fault.Error.Routine = FaultNtCreateThreadEx;
    Fault.Error.Reported = STATUS_ACCESS_DENIED;
    FaultRunWell(&Fault, 0);
    RtlCopyBytes(Counts, (PVOID)FaultCalls, sizeof(Counts));
    TEST_EQUAL(FaultOutcome.NumberOfStores, FAULT_THREADS);
    TEST_EQUAL(FaultOutcome.Recorded, FaultOutcome.Made);

    Runs = 0;
    Start = GetTickCount64();
    for (Routine = 0; Routine < FaultNumberOfRoutines; Routine += 1) {
        First = 0;
        Number = FaultCountErrors(Routine, &First);
        if (Number == 0 ||
            (Mode == FAULT_BOTH && Routine == FaultNtCreateThreadEx)) {

            continue;
        }
        for (Call = 0; Call <= Counts[Routine]; Call += 1) {
            if ((Call > 2 && Call != Counts[Routine] &&
                 (Quick || Call % 16 != 0)) ||
                (FaultIsRace(Routine) && Call != 1)) {

                continue;
            }
            Fault.Mode = Mode;
            Fault.Call = Call == 0 ? 1 : Call;
            Fault.Sticky = Call == 0;
            Fault.Error = FaultErrors[First + (ULONG)Call % Number];
            if (Counts[Routine] != 0) {
                FaultRunWell(&Fault, FAULT_PROBLEM_NOT_FIRED);
                Runs += 1;
            }
        }
    }

    RtlWriteText(TestOutput, "options:");
    for (Index = 0; Index < NumberOfOptions; Index += 1) {
        RtlWriteText(TestOutput,
                     " %S=%S",
                     Options[Index].Name,
                     Options[Index].Value);
        SetEnvironmentVariableW(Options[Index].Name, NULL);
    }
    FaultHasOptions = FALSE;
    RtlWriteText(TestOutput,
                 ": %u faults, %d calls of NtFlushVirtualMemory, %llu ms\n",
                 Runs,
                 Counts[FaultNtFlushVirtualMemory],
                 GetTickCount64() - Start);
}

//
// A module that is left out, and whose code may not be changed: the jump stays
// and leads to a return.  There is one try in a process.
//

static
VOID
FaultTestLeftOut(
    VOID
    )
{
    static const PPENTER_ROUTINE Hooks[] = {
        _penter, _pexit, __cyg_profile_func_enter, __cyg_profile_func_exit
    };
    FAULT Fault;
    ULONG Index;
    BYTE Before[RTL_NUMBER_OF(Hooks)];

    for (Index = 0; Index < RTL_NUMBER_OF(Hooks); Index += 1) {
        Before[Index] = *(PBYTE)(ULONG_PTR)Hooks[Index];
    }

    SetEnvironmentVariableW(L"TRACER_MODULES", L"-testfaults");
    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Call = 1;
    Fault.Error.Routine = FaultNtProtectVirtualMemory;
    Fault.Error.Value = (ULONG)FAULT_DYNAMIC_CODE_BLOCKED;
    Fault.Error.Reported = FAULT_DYNAMIC_CODE_BLOCKED;

    //
    // Nobody is told: nothing was asked for that is not done.
    //

    TEST_EQUAL(FaultRun(&Fault), FAULT_PROBLEM_REPORT);
    TEST_EQUAL(FaultFired, 1);
    TEST_EQUAL(FaultCalls[FaultNtProtectVirtualMemory], 1);
    TEST_EQUAL(FaultNumberOfReports, 0);
    TEST(FaultOutcome.IsOff);
    TEST_EQUAL(FaultOutcome.NumberOfStores, 0);
    TEST(PenterEnterRoutine == PenterReturn);
    TEST(PenterExitFunctionRoutine == PenterReturn);
    for (Index = 0; Index < RTL_NUMBER_OF(Hooks); Index += 1) {
        TEST_EQUAL(*(PBYTE)(ULONG_PTR)Hooks[Index], Before[Index]);
        Hooks[Index]();
    }
    SetEnvironmentVariableW(L"TRACER_MODULES", L"testfaults;-other");
}

//
// Views whose pages cannot be had.
//

static
VOID
FaultTestPages(
    VOID
    )
{
    FAULT Fault;
    LONG Count;
    ULONG Sticky;

    FaultRun(NULL);
    Count = FaultCalls[FaultNtMapViewOfSection];
    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = FAULT_READ_ONLY;
    Fault.Error.Routine = FaultNtMapViewOfSection;
    for (Fault.Call = 1; Fault.Call <= Count; Fault.Call += 1) {
        for (Sticky = 0; Sticky < 2; Sticky += 1) {
            Fault.Sticky = (BOOLEAN)Sticky;
            FaultRunWell(&Fault, 0);
        }
    }
}

//
// All the threads at once, and a worker that is never waited for: the calls of
// all of them are numbered together, so that a fault may meet any of them.
//

static
VOID
FaultTestConcurrent(
    ULONG Runs
    )
{
    static LONG Counts[FaultNumberOfRoutines];
    FAULT Fault;
    ULONGLONG Random;
    ULONG Met;
    ULONG Index;
    ULONG Routine;

    FaultIsConcurrent = TRUE;
    FaultRunWell(NULL, 0);
    RtlCopyBytes(Counts, (PVOID)FaultCalls, sizeof(Counts));

    Random = 0x9E3779B97F4A7C15;
    Met = 0;
    for (Index = 0; Index < Runs; Index += 1) {
        do {
            Random ^= Random << 13;
            Random ^= Random >> 7;
            Random ^= Random << 17;
            RtlZeroBytes(&Fault, sizeof(Fault));
            Fault.Error = FaultErrors[Random % FaultNumberOfErrors];
            Routine = Fault.Error.Routine;
        } while (Counts[Routine] == 0);
        Fault.Call = 1 + (LONG)((Random >> 20) % (ULONG)Counts[Routine]);
        Fault.Sticky = (Random >> 60) % 4 == 0;

        FaultRunWell(&Fault, FAULT_PROBLEM_NOT_FIRED);
        Met += FaultFired != 0;
    }
    FaultIsConcurrent = FALSE;
    TEST(Met > Runs / 3);
    RtlWriteText(TestOutput, "all at once: %u faults, %u met\n", Runs, Met);
}

//
// The checks are not blind.
//

static
VOID
FaultTestControls(
    VOID
    )
{
    static const ULONG Hidden[] = {
        FaultNtUnmapViewOfSection,
        FaultNtClose,
        FaultNtFreeVirtualMemory,
        FaultTlsFree
    };
    FAULT Fault;
    ULONG Index;

    //
    // A routine that says that it has given something back, and has not.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Hidden); Index += 1) {
        RtlZeroBytes(&Fault, sizeof(Fault));
        Fault.Mode = FAULT_HIDE;
        Fault.Call = 1;
        Fault.Error.Routine = Hidden[Index];
        TEST((FaultRun(&Fault) & FAULT_PROBLEM_LEAK) != 0);
    }

    //
    // A view that is not of the file: what is written there is lost, and the
    // library cannot know.
    //

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Mode = FAULT_PRIVATE;
    Fault.Call = 5;
    Fault.Error.Routine = FaultNtMapViewOfSection;
    TEST((FaultRun(&Fault) & FAULT_PROBLEM_CONTENT) != 0);

    //
    // A store that disappears.
    //

    FaultDeleteAStore = TRUE;
    TEST((FaultRun(NULL) & FAULT_PROBLEM_ACCOUNT) != 0);
    TEST(!FaultDeleteAStore);

    //
    // Another status than the one that was given.
    //

    RtlZeroBytes(&Fault, sizeof(Fault));
    Fault.Call = 3;
    Fault.Error.Routine = FaultNtSetInformationFile;
    Fault.Error.Value = (ULONG)STATUS_DISK_FULL;
    Fault.Error.Reported = STATUS_ACCESS_DENIED;
    TEST((FaultRun(&Fault) &
          (FAULT_PROBLEM_REPORT | FAULT_PROBLEM_HEADER)) ==
         (FAULT_PROBLEM_REPORT | FAULT_PROBLEM_HEADER));

    //
    // A call that there is not.
    //

    Fault.Call = 100000;
    Fault.Error.Reported = STATUS_DISK_FULL;
    TEST_EQUAL(FaultRun(&Fault), FAULT_PROBLEM_NOT_FIRED);

    //
    // A program that computes something else.
    //

    FaultExpectedSums[0][1] += 1;
    TEST((FaultRun(NULL) & FAULT_PROBLEM_PROGRAM) != 0);
    FaultExpectedSums[0][1] -= 1;
    FaultRunWell(NULL, 0);
}

//
// Runs the tests.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    WCHAR Value[64];
    HANDLE Watch;
    PCWSTR Folder;
    ULONG Length;
    ULONG Index;
    BOOLEAN Everything;
    BOOLEAN Quick;

    static const FAULT_OPTION Rings[] = {
        { L"TRACER_MODE", L"ring" },
        { L"TRACER_MAX_BYTES", L"1M" },
        { L"TRACER_CLOCK", L"thread" },
        { L"TRACER_FLUSH", L"1" }
    };
    static const FAULT_OPTION Compacts[] = {
        { L"TRACER_MODE", L"compact" },
        { L"TRACER_MAX_BYTES", L"1M" },
        { L"TRACER_FLUSH", L"1" }
    };
    static const FAULT_OPTION CompactRings[] = {
        { L"TRACER_MODE", L"compact-ring" },
        { L"TRACER_MAX_BYTES", L"1M" }
    };
    static const FAULT_OPTION Trees[] = {
        { L"TRACER_MODE", L"tree" }
    };
    static const FAULT_OPTION Controlled[] = {
        { L"TRACER_CONTROL", L"64K" }
    };
    static const FAULT_OPTION Depths[] = {
        { L"TRACER_MAX_BYTES", L"8M" },
        { L"TRACER_CLOCK", L"none" },
        { L"TRACER_MAX_DEPTH", L"3000" }
    };

    UNREFERENCED_PARAMETER(Allocator);

    PenterTestRtl = Rtl;
    Quick = GetEnvironmentVariableW(L"TRACER_LONG", Value, 64) == 0;
    Everything = GetEnvironmentVariableW(L"TRACER_FAULTS", Value, 64) != 0;

    FaultInitial[0] = PenterEnterRoutine;
    FaultInitial[1] = PenterExitRoutine;
    FaultInitial[2] = PenterEnterFunctionRoutine;
    FaultInitial[3] = PenterExitFunctionRoutine;

    if (!TEST(TestCreateDirectory(&FaultFolder))) {
        return;
    }
    Folder = TestDosPath(&FaultFolder);
    Length = RtlLengthOfWideString(Folder);
    RtlCopyBytes(FaultRoot, Folder, Length * sizeof(WCHAR));
    RtlCopyBytes(FaultRoot + Length, L"\\run", 5 * sizeof(WCHAR));

    //
    // The traces, the current directory, the user's and the temporary directory
    // are one, so that what is written is found wherever it went.  One value
    // makes no sense, so that the log is written in every run.
    //

    SetEnvironmentVariableW(L"TRACER_DIRECTORY", FaultRoot);
    SetEnvironmentVariableW(L"LOCALAPPDATA", FaultRoot);
    SetEnvironmentVariableW(L"TMP", FaultRoot);
    SetEnvironmentVariableW(L"TEMP", FaultRoot);
    SetEnvironmentVariableW(L"TRACER_VIEW_SIZE", FAULT_VIEW_SIZE);
    SetEnvironmentVariableW(L"TRACER_MODULES", L"testfaults;-other");
    SetEnvironmentVariableW(L"TRACER_ENABLED", L"perhaps");

    //
    // A worker that looks at a control file makes calls whose number depends on
    // the time.
    //

    SetEnvironmentVariableW(L"TRACER_CONTROL", L"0");

    //
    // So little that every disk has it, and the system is asked.
    //

    SetEnvironmentVariableW(L"TRACER_MIN_FREE", L"1");

    SetUnhandledExceptionFilter(FaultCrashed);
    Watch = CreateThread(NULL, 0, FaultWatch, NULL, 0, NULL);

    //
    // What the program computes when nothing is recorded.
    //

    PenterEnterFunctionRoutine = PenterReturn;
    for (Index = 0; Index < FAULT_THREADS; Index += 1) {
        FaultRunning.Mode = FAULT_BOTH;
        FaultRunProgram();
        FaultExpectedSums[1][Index] = FaultThreads[Index].Sum;
        FaultRunning.Mode = FAULT_FAIL;
        FaultRunProgram();
        FaultExpectedSums[0][Index] = FaultThreads[Index].Sum;
    }
    TEST(FaultExpectedSums[0][0] != FaultExpectedSums[1][0]);
    TEST_EQUAL(FaultExpectedSums[0][1], FaultExpectedSums[1][1]);

    FaultTestControls();
    FaultTestMissing();
    FaultTestPages();
    FaultTestAllCalls(FAULT_FAIL, Everything, Quick);
    FaultTestAllCalls(FAULT_BOTH, Everything, Quick);
    FaultTestOptions(FAULT_FAIL, Rings, RTL_NUMBER_OF(Rings), Quick);
    FaultTestOptions(FAULT_FAIL, Compacts, RTL_NUMBER_OF(Compacts), Quick);
    FaultTestOptions(FAULT_BOTH,
                     CompactRings,
                     RTL_NUMBER_OF(CompactRings),
                     Quick);
    FaultTestOptions(FAULT_BOTH, Depths, RTL_NUMBER_OF(Depths), Quick);
    FaultTestOptions(FAULT_BOTH, Trees, RTL_NUMBER_OF(Trees), Quick);
    FaultTestConcurrent(Everything ? 1500 : (Quick ? 20 : 100));
    FaultTestOptions(FAULT_BOTH, Controlled, RTL_NUMBER_OF(Controlled), Quick);
    SetEnvironmentVariableW(L"TRACER_CONTROL", L"64K");
    FaultTestConcurrent(Everything ? 1500 : (Quick ? 20 : 100));

    FaultTestLeftOut();

    RtlWriteText(TestOutput,
                 "%d runs, %d times the worker did not come to rest\n",
                 FaultRunNumber,
                 FaultUnsettled);
    InterlockedExchange(&FaultIsOver, 1);
    WaitForSingleObject(Watch, INFINITE);
    CloseHandle(Watch);
    TestDeleteTree(&FaultFolder);
}
