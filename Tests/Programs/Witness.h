/*++

Module Name:

    Witness.h

Abstract:

    What a program that is traced says of its own calls.

    Witness.dll is built without hooks and linked to every module of such a
    program, whatever compiler and hooks that module was built with.  A traced
    function tells it that it was entered and that it returns; the handler of
    an exception, or the place where longjmp arrives, tells it which frames are
    gone.  From that the library makes the call tree of every thread and fiber,
    and writes it to the file that WITNESS_FILE names when it is unloaded with
    the process, or when the program asks for it.

    The file has one line for each node, tab separated:

        track  thread  fiber  node  parent  calls  abandoned  open  name

    Node 0 is the root of its track.  Fiber 0 is the thread's own stack; the
    others are numbered in the order in which they began.

    No routine changes the last error value.

--*/

#ifndef TRACER_TESTS_WITNESS_H
#define TRACER_TESTS_WITNESS_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef WITNESS_BUILD
#define WITNESS_API __declspec(dllexport)
#else
#define WITNESS_API __declspec(dllimport)
#endif

//
// The calling function was entered.  Name must live as long as the process.
//

WITNESS_API void WitnessEnter(const char *Name);

//
// Keeps a copy of a name that may go away with its module; equal names have
// one copy.
//

WITNESS_API const char *WitnessKeep(const char *Name);

//
// The function that was entered last, on this thread and fiber, returns.
//

WITNESS_API void WitnessLeave(void);

//
// How many functions are open on this thread and fiber.
//

WITNESS_API unsigned WitnessDepth(void);

//
// Only the outermost Depth functions are still open; the others were left
// without an exit (IsAbandoned 1), or with one (0).
//

WITNESS_API void WitnessLeaveTo(unsigned Depth, int IsAbandoned);

//
// Called once by a fiber that is not its thread's first, before the others.
//

WITNESS_API void WitnessBeginFiber(void);

//
// Writes the file now; what comes later is not in it.
//

WITNESS_API void WitnessWrite(void);

#ifdef __cplusplus
}
#endif

#endif // TRACER_TESTS_WITNESS_H
