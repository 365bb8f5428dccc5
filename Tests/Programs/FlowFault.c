/*++

Module Name:

    FlowFault.c

Abstract:

    Functions that fault or raise exceptions, and the handlers that put things
    right, send the thread elsewhere or leave: see Flow.h.

--*/

#include <windows.h>
#include <malloc.h>
#include <setjmp.h>
#include "Flow.h"

static jmp_buf Target;
static volatile unsigned TargetDepth;

#define SET_TARGET() (TargetDepth = WitnessDepth(), setjmp(Target))
#define ARRIVE() WitnessLeaveTo(TargetDepth, 1)

#define CODE_CONTINUE   0xE0000001
#define CODE_REDIRECT   0xE0000002
#define CODE_NESTED     0xE0000003

#define PAGES           16
#define PAGE            4096

static unsigned char *Pages;
static volatile unsigned Handled;

TRACED unsigned
Leaf(
    unsigned Value
    )
{
    ENTER();
    Value = Value * 3 + FlowZero;
    LEAVE();
    return Value;
}

TRACED unsigned
Large(
    unsigned Value
    )
{
    volatile unsigned char Frame[20000];

    ENTER();
    Frame[Value % 20000] = 1;
    Value = Leaf(Frame[Value % 20000]);
    LEAVE();
    return Value;
}

//
// Pages that become writable when they are touched.
//

TRACED LONG CALLBACK
ResumeHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    EXCEPTION_RECORD *Record = Pointers->ExceptionRecord;
    LONG Result = EXCEPTION_CONTINUE_SEARCH;
    DWORD Old;

    ENTER();
    Leaf(1);
    if (Record->ExceptionCode == EXCEPTION_ACCESS_VIOLATION &&
        Record->ExceptionInformation[1] - (ULONG_PTR)Pages < PAGES * PAGE) {

        VirtualProtect((void *)Record->ExceptionInformation[1],
                       1,
                       PAGE_READWRITE,
                       &Old);
        Handled += 1;
        Result = EXCEPTION_CONTINUE_EXECUTION;
    }
    LEAVE();
    return Result;
}

TRACED unsigned
Touch(
    unsigned Page
    )
{
    unsigned Value;

    ENTER();
    Value = Leaf(Page);
    *(volatile unsigned char *)(Pages + Page * PAGE) = 5;
    Value += Large(Page);
    Value += *(volatile unsigned char *)(Pages + Page * PAGE);
    LEAVE();
    return Value;
}

TRACED unsigned
FaultResume(
    void
    )
{
    unsigned Value = 0;
    unsigned Page;
    void *Handler;

    ENTER();
    Handled = 0;
    Pages = VirtualAlloc(NULL, PAGES * PAGE, MEM_COMMIT, PAGE_NOACCESS);
    Handler = AddVectoredExceptionHandler(1, ResumeHandler);
    for (Page = 0; Page < PAGES * 2; Page += 1) {
        Value += Touch(Page % PAGES);
    }
    RemoveVectoredExceptionHandler(Handler);
    VirtualFree(Pages, 0, MEM_RELEASE);
    LEAVE();
    return Value + Handled;
}

//
// A handler that faults itself while it handles.
//

TRACED LONG CALLBACK
NestedHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    EXCEPTION_RECORD *Record = Pointers->ExceptionRecord;
    LONG Result;

    ENTER();
    if (Record->ExceptionCode == CODE_NESTED) {
        Touch((unsigned)Record->ExceptionInformation[0]);
        Result = EXCEPTION_CONTINUE_EXECUTION;
    } else {
        Result = ResumeHandler(Pointers);
    }
    LEAVE();
    return Result;
}

TRACED unsigned
FaultNested(
    void
    )
{
    unsigned Value = 0;
    ULONG_PTR Page;
    void *Handler;

    ENTER();
    Handled = 0;
    Pages = VirtualAlloc(NULL, PAGES * PAGE, MEM_COMMIT, PAGE_NOACCESS);
    Handler = AddVectoredExceptionHandler(1, NestedHandler);
    for (Page = 0; Page < PAGES; Page += 1) {
        RaiseException(CODE_NESTED, 0, 1, &Page);
        Value += Leaf((unsigned)Page);
    }
    RemoveVectoredExceptionHandler(Handler);
    VirtualFree(Pages, 0, MEM_RELEASE);
    LEAVE();
    return Value + Handled;
}

//
// Exceptions that are raised and continued, from many depths.
//

TRACED LONG CALLBACK
ContinueHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    LONG Result = EXCEPTION_CONTINUE_SEARCH;

    ENTER();
    if (Pointers->ExceptionRecord->ExceptionCode == CODE_CONTINUE) {
        Handled += Leaf(1);
        Result = EXCEPTION_CONTINUE_EXECUTION;
    }
    LEAVE();
    return Result;
}

TRACED unsigned
RaiseDown(
    unsigned Depth
    )
{
    unsigned Value;

    ENTER();
    RaiseException(CODE_CONTINUE, 0, 0, NULL);
    Value = Large(Depth);
    if (Depth != 0) {
        Value += RaiseDown(Depth - 1);
    }
    RaiseException(CODE_CONTINUE, 0, 0, NULL);
    LEAVE();
    return Value;
}

TRACED unsigned
FaultContinue(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;
    void *Handler;

    ENTER();
    Handled = 0;
    Handler = AddVectoredExceptionHandler(1, ContinueHandler);
    for (Round = 0; Round < 10; Round += 1) {
        Value += RaiseDown(Round);
    }
    RemoveVectoredExceptionHandler(Handler);
    LEAVE();
    return Value + Handled;
}

//
// A handler that lets the thread go on in a function that jumps: as if the
// function that raised had called it.
//

TRACED void
Landing(
    void
    )
{
    ENTER();
    Leaf(7);
    longjmp(Target, 1);
}

PLAIN static void
PlainLanding(
    void
    )
{
    longjmp(Target, 1);
}

static volatile unsigned IsPlainLanding;

TRACED LONG CALLBACK
RedirectHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    CONTEXT *Context = Pointers->ContextRecord;
    LONG Result = EXCEPTION_CONTINUE_SEARCH;

    ENTER();
    Leaf(2);
    if (Pointers->ExceptionRecord->ExceptionCode == CODE_REDIRECT ||
        Pointers->ExceptionRecord->ExceptionCode ==
            EXCEPTION_ACCESS_VIOLATION) {

        //
        // A call's return address, which unwinding goes back to.
        //

        Context->Rsp = (Context->Rsp & ~(DWORD64)15) - 8;
        *(DWORD64 *)Context->Rsp = Context->Rip;
        Context->Rip = IsPlainLanding ? (DWORD64)PlainLanding :
                                        (DWORD64)Landing;
        Result = EXCEPTION_CONTINUE_EXECUTION;
    }
    LEAVE();
    return Result;
}

TRACED unsigned
RaiseAtBottom(
    unsigned Depth
    )
{
    unsigned Value = 0;

    ENTER();
    if (Depth == FlowZero) {
        *(volatile unsigned *)(ULONG_PTR)(FlowZero + 16) = 1;
    }
    Value += RaiseAtBottom(Depth - 1);
    LEAVE();
    return Value + 1;
}

TRACED unsigned
RedirectOnce(
    unsigned Depth
    )
{
    volatile unsigned Value = 0;

    ENTER();
    IsPlainLanding = Depth % 2;
    if (SET_TARGET() == 0) {
        Value += RaiseAtBottom(Depth);
    } else {
        ARRIVE();
        Value += Leaf(3);
    }
    Value += Large(1);
    LEAVE();
    return Value;
}

TRACED unsigned
FaultRedirect(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;
    void *Handler;

    ENTER();
    Handler = AddVectoredExceptionHandler(1, RedirectHandler);
    for (Round = 0; Round < 30; Round += 1) {
        Value += RedirectOnce(Round);
    }
    RemoveVectoredExceptionHandler(Handler);
    LEAVE();
    return Value;
}

//
// The handler runs far below the function that raises, and below a call that
// this one has made and lost: it could be a part of that one.
//

TRACED void
JumpBack(
    void
    )
{
    ENTER();
    if (FlowZero == 0) {
        longjmp(Target, 1);
    }
    LEAVE();
}

TRACED unsigned
LoseThenRaise(
    void
    )
{
    volatile unsigned Value = 1;

    ENTER();
    if (SET_TARGET() == 0) {
        JumpBack();
    } else {
        ARRIVE();
    }
    RaiseException(CODE_CONTINUE, 0, 0, NULL);
    Value += Leaf(1);
    LEAVE();
    return Value;
}

TRACED unsigned
UnsureRaise(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;
    void *Handler;

    ENTER();
    Handler = AddVectoredExceptionHandler(1, ContinueHandler);
    for (Round = 0; Round < 10; Round += 1) {
        Value += LoseThenRaise();
    }
    RemoveVectoredExceptionHandler(Handler);
    LEAVE();
    return Value;
}

//
// Back to a context that was captured further out.
//

static CONTEXT Captured;
static volatile unsigned Returns;

TRACED void
RestoreDown(
    unsigned Depth
    )
{
    ENTER();
    Leaf(Depth);
    if (Depth == FlowZero) {
        RtlRestoreContext(&Captured, NULL);
    }
    RestoreDown(Depth - 1);
    LEAVE();
}

TRACED unsigned
CaptureAndRestore(
    unsigned Depth
    )
{
    volatile unsigned Value = 0;

    ENTER();
    TargetDepth = WitnessDepth();
    Returns = 0;
    RtlCaptureContext(&Captured);
    ARRIVE();
    if (Returns < 3) {
        Returns += 1;
        RestoreDown(Depth + Returns);
    }
    Value += Large(Depth);
    LEAVE();
    return Value + Returns;
}

TRACED unsigned
FaultContext(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 20; Round += 1) {
        Value += CaptureAndRestore(Round);
    }
    LEAVE();
    return Value;
}

//
// The stack overflows, in a routine that is not traced, so that it is known
// what is on it; the thread survives, makes the guard page again, and
// overflows again.
//

PLAIN static void
OverflowLanding(
    void
    )
{
    longjmp(Target, 1);
}

PLAIN static LONG CALLBACK
OverflowHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    CONTEXT *Context = Pointers->ContextRecord;

    if (Pointers->ExceptionRecord->ExceptionCode != EXCEPTION_STACK_OVERFLOW) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    Context->Rsp = (Context->Rsp & ~(DWORD64)15) - 8;
    Context->Rip = (DWORD64)OverflowLanding;
    return EXCEPTION_CONTINUE_EXECUTION;
}

PLAIN static unsigned
TouchStack(
    void
    )
{
    volatile unsigned char Frame[0x10000];
    unsigned Index;

    for (Index = sizeof(Frame); Index >= PAGE; Index -= PAGE) {
        Frame[Index - 1] = 1;
    }
    return Frame[sizeof(Frame) - 1];
}

TRACED unsigned
Deeper(
    unsigned Depth
    )
{
    volatile unsigned char Frame[1000];
    unsigned Value = 0;

    ENTER();
    Frame[Depth % 1000] = 1;
    if (Depth % 10 == 0) {
        Value = TouchStack();
    }
    Value += Deeper(Depth + 1) + Frame[Depth % 1000];
    LEAVE();
    return Value;
}

TRACED unsigned
OverflowOnce(
    unsigned Round
    )
{
    volatile unsigned Value = 0;

    ENTER();
    if (SET_TARGET() == 0) {
        Value += Deeper(Round);
    } else {
        ARRIVE();
        Value += 1;
        if (_resetstkoflw()) {
            Value += 1;
        }
    }
    Value += Large(Round);
    LEAVE();
    return Value;
}

TRACED unsigned
FaultOverflow(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;
    void *Handler;

    ENTER();
    Handler = AddVectoredExceptionHandler(1, OverflowHandler);
    for (Round = 0; Round < 5; Round += 1) {
        Value += OverflowOnce(Round);
    }
    RemoveVectoredExceptionHandler(Handler);
    LEAVE();
    return Value;
}

//
// A procedure call that the thread is sent while it waits.
//

TRACED void CALLBACK
Procedure(
    ULONG_PTR Depth
    )
{
    ENTER();
    Leaf((unsigned)Depth);
    if (Depth != 0) {
        QueueUserAPC(Procedure, GetCurrentThread(), Depth - 1);
        SleepEx(0, TRUE);
    }
    LEAVE();
}

TRACED unsigned
FaultProcedure(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 20; Round += 1) {
        QueueUserAPC(Procedure, GetCurrentThread(), Round % 4);
        QueueUserAPC(Procedure, GetCurrentThread(), 0);
        SleepEx(0, TRUE);
        Value += Leaf(Round);
    }
    LEAVE();
    return Value;
}

//
// Traced functions run one instruction at a time.
//

static volatile unsigned Instructions;
static volatile BOOL IsStepping;

PLAIN static LONG CALLBACK
StepHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    if (Pointers->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    Instructions += 1;
    if (IsStepping) {
        Pointers->ContextRecord->EFlags |= 0x100;
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

PLAIN static void
StartStepping(
    void
    )
{
    IsStepping = TRUE;
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc",
                     "memory");
}

TRACED unsigned
FaultStep(
    void
    )
{
    unsigned Value;
    void *Handler;

    ENTER();
    Instructions = 0;
    Handler = AddVectoredExceptionHandler(1, StepHandler);
    Value = Large(1);
    StartStepping();
    Value += Leaf(1);
    Value += Large(2);
    IsStepping = FALSE;
    Value += Leaf(1);
    RemoveVectoredExceptionHandler(Handler);
    LEAVE();
    return Value + (Instructions > 100);
}

const FLOW_SCENARIO FlowScenarios[] = {
    { "FaultResume", FaultResume, 4 },
    { "FaultNested", FaultNested, 4 },
    { "FaultContinue", FaultContinue, 4 },
    { "FaultRedirect", FaultRedirect, 4 },
    { "UnsureRaise", UnsureRaise, 4 },
    { "FaultContext", FaultContext, 4 },
    { "FaultOverflow", FaultOverflow, 1 },
    { "FaultProcedure", FaultProcedure, 4 },
    { "FaultStep", FaultStep, 4 },
    { NULL, NULL, 0 }
};
