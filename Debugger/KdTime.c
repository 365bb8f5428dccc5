/*++

Module Name:

    KdTime.c

Abstract:

    Times as text.

--*/

#include "KdTime.h"

static
BOOLEAN
KdTimeIsKnown(
    _In_ const KD_CONTEXT *Context,
    _In_ PCCORE_CLOCK Clock
    )
{
    return !Context->IsTicks && Clock->Ticks != 0 &&
           Clock->Kind != TRACE_CLOCK_NONE;
}

_Use_decl_annotations_
PCSZ
KdTimeUnit(
    const KD_CONTEXT *Context,
    PCCORE_CLOCK Clock
    )
{
    return KdTimeIsKnown(Context, Clock) ? "us" : "ticks";
}

_Use_decl_annotations_
VOID
KdTimeWrite(
    PKD_CONTEXT Context,
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks,
    ULONG Width
    )
{
    CHAR Text[48];
    RTL_WRITER Writer;
    ULONGLONG Time;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (KdTimeIsKnown(Context, Clock) &&
        CoreTicksToNanoseconds(Clock, Ticks, &Time)) {
        RtlWriteText(&Writer, "%llu.%03llu", Time / 1000, Time % 1000);
    } else {
        RtlWriteText(&Writer, "%llu", Ticks);
    }

    RtlWriteText(&Context->Writer,
                 "%*.*s",
                 (int)Width,
                 (int)Writer.LengthInBytes,
                 Text);
}
