/*++

Module Name:

    PenterThrow.c

Abstract:

    A vectored exception handler that tells the thread's store of each exception
    in it: from then on the hooks look who has called, until a call ends by its
    exit that was open before.

    It is the last in the list, does nothing else, and always lets the search
    go on.  It calls nothing of the system's and takes no lock, so that it may
    run on any thread at any place.  Only C++ exceptions of GCC's runtime count.
    Only the EXE's copy of the library has one.

--*/

#include "../TraceStore/TraceLog.h"
#include "PenterThrow.h"

//
// The codes of the GCC runtime's C++ exceptions (throw, unwind, forced).  In
// Microsoft's model handlers run on top of the frames that are being left, and
// a walk over the stack still finds those:  there stack pointers decide alone.
//

#define THROW_GCC               0x20474343
#define THROW_GCC_MASK          0xFCFFFFFF

static PPENTER volatile PenterThrowInstance;

static
LONG
NTAPI
PenterNoteException(
    _In_ PEXCEPTION_POINTERS Pointers
    )
{
    ULONG Code;
    PPENTER Penter;
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;

    Code = (ULONG)Pointers->ExceptionRecord->ExceptionCode;
    Penter = PenterThrowInstance;
    if (Penter == NULL || (Code & THROW_GCC_MASK) != THROW_GCC) {
        return EXCEPTION_CONTINUE_SEARCH;
    }

    Header = PenterGetContext(Penter);
    if (Header == NULL) {
        return EXCEPTION_CONTINUE_SEARCH;
    }

    //
    // The library's own exceptions never leave it.
    //

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    if (Store != NULL && !Store->InSlowPath) {
        TraceCallerArm(Store);
    }

    return EXCEPTION_CONTINUE_SEARCH;
}

_Use_decl_annotations_
VOID
PenterWatchExceptions(
    PCRTL Rtl,
    PPENTER Penter
    )
{
    RTL_ERROR Error;

    //
    // AddVectoredExceptionHandler's documentation warns of a handler in a DLL
    // that is unloaded, and RemoveVectoredExceptionHandler's does not promise
    // that no thread is inside of the handler, or on its way there, when it
    // returns.  So only a module that stays for as long as the process has one,
    // which is never removed.  That also takes no lock at process exit, which a
    // thread that was ended may hold.
    //

    if (Penter->IsTree || !Penter->IsExe) {
        return;
    }

    PenterThrowInstance = Penter;
    if (Rtl->RtlAddVectoredExceptionHandler != NULL) {
        Penter->ExceptionHandler =
            Rtl->RtlAddVectoredExceptionHandler(0, PenterNoteException);
    }
    if (Penter->ExceptionHandler == NULL) {
        RtlSetError(&Error,
                    "adding a vectored exception handler",
                    NULL,
                    Rtl->RtlAddVectoredExceptionHandler == NULL ?
                    STATUS_ENTRYPOINT_NOT_FOUND : STATUS_NO_MEMORY);
        TraceLogError(Penter->Session,
                      &Error,
                      "what is called after an exception may be shown inside "
                      "calls that it has left");
    }
}

_Use_decl_annotations_
VOID
PenterForgetExceptions(
    VOID
    )
{
    PenterThrowInstance = NULL;
}
