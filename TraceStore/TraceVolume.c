/*++

Module Name:

    TraceVolume.c

Abstract:

    What stays free of the disk that a session is on: before a store's file
    grows the system is asked how much is left.  That is once a view, which
    lasts 100 ms if the thread is busy, and costs some microseconds; a ring that
    has come around, and a tree, never grow.

--*/

#include "TraceSession.h"
#include "TraceVolume.h"

//
// A number of units in bytes, or all ones if there are that many.
//

static
ULONGLONG
TraceVolumeBytes(
    _In_ LONGLONG Units,
    _In_ ULONGLONG SizeInBytes
    )
{
    if (Units < 0) {
        return 0;
    }

    return (ULONGLONG)Units > MAXULONG64 / SizeInBytes ?
           MAXULONG64 : (ULONGLONG)Units * SizeInBytes;
}

_Use_decl_annotations_
BOOLEAN
TraceVolumeHasRoom(
    PTRACE_STORE Store,
    PCTRACE_VIEW View
    )
{
    PTRACE_SESSION Session;
    PCRTL Rtl;
    IO_STATUS_BLOCK IoStatus;
    RTL_VOLUME_SIZE Size;
    ULONGLONG Unit;
    ULONGLONG Free;
    ULONGLONG Kept;
    ULONGLONG Total;
    ULONGLONG Part;
    ULONGLONG Growth;

    Session = Store->Session;
    Rtl = &Session->Rtl;
    Growth = View->FileOffset + View->SizeInBytes;
    if ((Session->MinimumFree == 0 && Session->MinimumFreePercent == 0) ||
        Growth <= Store->FileSizeInBytes ||
        Rtl->NtQueryVolumeInformationFile == NULL) {

        return TRUE;
    }
    Growth -= Store->FileSizeInBytes;

    RtlZeroBytes(&Size, sizeof(Size));
    if (!NT_SUCCESS(Rtl->NtQueryVolumeInformationFile(
            Store->File,
            &IoStatus,
            &Size,
            sizeof(Size),
            RTL_VOLUME_FULL_SIZE_INFORMATION))) {

        return TRUE;
    }

    //
    // A file system that does not know its size has none to keep free.
    //

    Unit = (ULONGLONG)Size.SectorsPerUnit * Size.BytesPerSector;
    if (Unit == 0 || Size.Total.QuadPart <= 0) {
        return TRUE;
    }

    Free = TraceVolumeBytes(Size.CallerFree.QuadPart, Unit);
    Kept = Session->MinimumFree;
    if (Session->MinimumFreePercent != 0) {
        Total = TraceVolumeBytes(Size.Total.QuadPart, Unit);
        Part = Total / 100 * Session->MinimumFreePercent +
               Total % 100 * Session->MinimumFreePercent / 100;
        if (Kept == 0 || Kept > Part) {
            Kept = Part;
        }
    }

    if (Free >= Growth && Free - Growth >= Kept) {
        return TRUE;
    }

    Session->VolumeFree = Free;
    Session->VolumeKept = Kept;
    return FALSE;
}
