/*++

Module Name:

    PenterJump.h

Abstract:

    Exit hooks that were jumped to.

--*/

#ifndef TRACER_PENTER_JUMP_H
#define TRACER_PENTER_JUMP_H

#include "PenterHooks.h"

//
// Where the exit hook was jumped to from the end of a function, the function's
// frame has gone: RSP at its entry was lower by the frame's size and a return
// address.  A frame has 32 bytes for what it calls, and with the return address
// a multiple of 16: 48 at least.  So an entry that is less than
// PENTER_JUMP_CERTAIN below has no room for a second one of its function in
// between.  Whether one that is farther away is the exit's own is found out by
// PenterCheckJump, once for a function and a distance.  PenterJumps is of what
// was found: bits 0 to 31 the function, 32 to 63 the distance, bit 32 set if it
// is not, bit 33 if there is no unwind data that would tell; each written at
// once, by any thread.  Up to PENTER_JUMP_NEAR the hook may read what is below
// RSP.
//

#define PENTER_NUMBER_OF_JUMPS      1024
#define PENTER_JUMP_CERTAIN         96
#define PENTER_JUMP_NEAR            0x1000

extern ULONGLONG volatile PenterJumps[PENTER_NUMBER_OF_JUMPS];

//
// Finds out whether an exit that was jumped to is that of the latest record,
// and notes the answer in PenterJumps for the hook.
// Store: the calling thread's store, whose latest record is an entry of the
// function; its JumpPlace is the return address just below the entry's stack
// pointer, or 1 if that may not be read.
//

VOID
PenterCheckJump(
    _Inout_ PTRACE_STORE Store,
    _In_ PCPENTER_SLOW_CALL Call
    );

#endif // TRACER_PENTER_JUMP_H
