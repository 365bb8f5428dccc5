/*++

Module Name:

    Penter.h

Abstract:

    For programs that are traced: marks in the recording, names for threads, and
    recording that is stopped, started and cleared by the program itself.

    Without TRACER_PENTER nothing in here leaves a trace in the program: no
    call, no reference, and no argument is evaluated.  Define it where
    TracerPenter.lib (or TracerPenterNull.lib, where all of this does nothing)
    is linked; Penter.props does.  C and C++, MSVC and MinGW.

    Everything may be called at any time, on any thread: before the first traced
    call, in constructors, in DllMain, while threads start and end.  Nothing is
    waited for; the last error stays as it is.  Where nothing is recorded
    (TRACER_ENABLED=0, TRACER_CONTROL=0, a module that is left out) nothing
    happens.

    A call appends an action to the session's control file, some microseconds
    and 128 bytes: it is not for every iteration of an inner loop.  The file
    grows with them, up to what the disk holds.  Those that find it full are
    left out and counted (TraceReader info, verify, ctl status); the last 128
    places are left to PenterStop, PenterStart and PenterClear.

    Actions are for the whole process: all modules that the library is linked
    into, and all threads.  In the module that asks, a thread notices with its
    next traced call; in others 50 milliseconds later.  The time that counts is
    that of the call in any case.

--*/

#ifndef TRACER_PENTER_H
#define TRACER_PENTER_H

#ifdef TRACER_PENTER

#ifdef __cplusplus
extern "C" {
#endif

//
// MinGW's compilers use other names for the same, which keep the library's
// symbols out of a DLL's exports (PenterGnu.asm).
//

#if defined(__MINGW32__)
#define PENTER_NAME(Name) __asm__(Name "Gnu")
#else
#define PENTER_NAME(Name)
#endif

//
// Marks this instant with a text, UTF-8 and at most 96 bytes: what is longer is
// cut at a character.
//

void
PenterMark(
    const char *Text
    ) PENTER_NAME("PenterMark");

//
// Names the calling thread, in the same way.
//

void
PenterNameThread(
    const char *Name
    ) PENTER_NAME("PenterNameThread");

//
// Starts and stops recording.  It is on at first.  Calls that are open when it
// stops count up to then, and again from when it starts.
//

void
PenterStart(
    void
    ) PENTER_NAME("PenterStart");

void
PenterStop(
    void
    ) PENTER_NAME("PenterStop");

//
// What was recorded before does not count any more.  Calls that are open count
// from now on.
//

void
PenterClear(
    void
    ) PENTER_NAME("PenterClear");

#ifdef __cplusplus
}
#endif

#else

#define PenterMark(Text) ((void)sizeof(Text))
#define PenterNameThread(Name) ((void)sizeof(Name))
#define PenterStart() ((void)0)
#define PenterStop() ((void)0)
#define PenterClear() ((void)0)

#endif

#endif // TRACER_PENTER_H
