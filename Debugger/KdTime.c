/*++

Module Name:

    KdTime.c

Abstract:

    Times as text.

--*/

#include "KdTime.h"

//
// Anchors that are as far apart give a rate that is right to a millionth.
//

#define KD_SPAN                     (CORE_NANOSECONDS_PER_SECOND / 10)

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

_Use_decl_annotations_
VOID
KdTimeImprove(
    const KD_CONTEXT *Context,
    PCORE_CLOCK Clock
    )
{
    RTL_CLOCK_READING Now;
    TRACE_CLOCK_ANCHOR Anchor;

    if (Clock->Ticks != 0 && Clock->Nanoseconds >= KD_SPAN) {
        return;
    }

    RtlReadClocks(Context->Rtl, &Now);
    Anchor.Tsc = Now.Tsc;
    Anchor.Qpc = Now.Qpc;
    Anchor.SystemTime = Now.SystemTime;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    if (CoreIsSameBoot(Clock, &Anchor, Now.QpcFrequency)) {
        CoreAddAnchor(Clock, &Anchor, Now.QpcFrequency);
    }
}
