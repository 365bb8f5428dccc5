/*++

Module Name:

    PenterSwitch.c

Abstract:

    Which routines the hooks jump to: a return, or those that record, for the
    clock, the mode and the place of a thread's context.

--*/

#include "PenterSwitch.h"

PPENTER volatile PenterInstance;
ULONG volatile PenterInitializingThread;

//
// Sets where the public hooks jump to.
//

static
VOID
PenterSetRoutines(
    _In_ PPENTER_ROUTINE Enter,
    _In_ PPENTER_ROUTINE Exit,
    _In_ PPENTER_ROUTINE EnterFunction,
    _In_ PPENTER_ROUTINE ExitFunction
    )
{
    PenterEnterRoutine = Enter;
    PenterExitRoutine = Exit;
    PenterEnterFunctionRoutine = EnterFunction;
    PenterExitFunctionRoutine = ExitFunction;
}

_Use_decl_annotations_
VOID
PenterTurnOff(
    VOID
    )
{
    PenterSetRoutines(PenterReturn, PenterReturn, PenterReturn, PenterReturn);
}

_Use_decl_annotations_
PCPENTER_ROUTINES
PenterSetSlot(
    PPENTER Penter
    )
{
    PCPENTER_ROUTINES Routines;

    Routines = Penter->IsTree ?
               PenterTreeRoutines[Penter->Clock] :
               PenterRoutines[Penter->Clock][Penter->Chooses];
    if (Penter->TlsIndex < TEB_TLS_NUMBER_OF_SLOTS) {
        PenterSlotOffset = TEB_TLS_SLOTS + Penter->TlsIndex * sizeof(PVOID);
    } else {
        PenterSlotOffset =
            (Penter->TlsIndex - TEB_TLS_NUMBER_OF_SLOTS) * sizeof(PVOID);
        Routines += 1;
    }

    return Routines;
}

_Use_decl_annotations_
VOID
PenterTurnOn(
    PPENTER Penter
    )
{
    PCPENTER_ROUTINES Routines;

    Routines = PenterSetSlot(Penter);
    PenterSetRoutines(Routines->Enter,
                      Routines->Exit,
                      Routines->EnterFunction,
                      Routines->ExitFunction);
}
