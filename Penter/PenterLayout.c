/*++

Module Name:

    PenterLayout.c

Abstract:

    Asserts that Asm/TraceLayout.inc says what TraceFormat.h says.  The values
    on the right are those of the .inc file.

--*/

#include "PenterPrivate.h"

C_ASSERT(sizeof(TRACE_RECORD) == 16);
C_ASSERT(FIELD_OFFSET(TRACE_RECORD, Timestamp) == 0);
C_ASSERT(FIELD_OFFSET(TRACE_RECORD, Site) == 8);
C_ASSERT(FIELD_OFFSET(TRACE_RECORD, StackKind) == 12);

C_ASSERT(TRACE_KIND_ENTER == 1);
C_ASSERT(TRACE_KIND_EXIT == 2);
C_ASSERT(TRACE_KIND_ENTER_FUNCTION == 3);
C_ASSERT(TRACE_KIND_EXIT_FUNCTION == 4);

C_ASSERT(FIELD_OFFSET(TRACE_STORE_HEADER, Cursor) == 0x40);
C_ASSERT(FIELD_OFFSET(TRACE_STORE_HEADER, Limit) == 0x48);
C_ASSERT(FIELD_OFFSET(TRACE_STORE_HEADER, HookFlags) == 0x5c);
C_ASSERT(FIELD_OFFSET(TRACE_STORE_HEADER, NumberOfEventsLost) == 0x60);
C_ASSERT(TRACE_HOOK_STOPPED == 1);
C_ASSERT(TRACE_HOOK_SHARED == 2);

//
// A stand-in header covers all that the hook touches.
//

C_ASSERT(sizeof(PENTER_STAND_IN) ==
         FIELD_OFFSET(TRACE_STORE_HEADER, State));
