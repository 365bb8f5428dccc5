/*++

Module Name:

    KernelEntry.c

Abstract:

    An entry point for drivers that are traced as they are: recording starts
    before the driver's own entry point and ends behind its unload routine.

    TracerKernelRealEntry is the driver's own: GsDriverEntry or DriverEntry for
    WDM drivers and minifilters, FxDriverEntry for KMDF.  The linker is told
    which (PenterKernel.props, Docs/Drivers.md).

--*/

#include "Kernel.h"

NTSTATUS
NTAPI
TracerKernelRealEntry(
    _In_ PKERNEL_DRIVER_OBJECT DriverObject,
    _In_ PUNICODE_STRING RegistryPath
    );

//
// The driver's own unload routine.
//

static PKERNEL_UNLOAD KernelEntryRealUnload;

static
VOID
NTAPI
KernelEntryUnload(
    _In_ PKERNEL_DRIVER_OBJECT DriverObject
    )
{
    KernelEntryRealUnload(DriverObject);
    TracerKernelStop();
}

_Use_decl_annotations_
NTSTATUS
NTAPI
TracerKernelDriverEntry(
    PKERNEL_DRIVER_OBJECT DriverObject,
    PUNICODE_STRING RegistryPath
    )
{
    NTSTATUS Status;

    //
    // Without a key this is the copy of a disk's driver that writes crash
    // dumps, at any IRQL, or an image without a driver object.
    //

    if (DriverObject == NULL || RegistryPath == NULL) {
        return TracerKernelRealEntry(DriverObject, RegistryPath);
    }

    //
    // Not to be traced is no reason for a driver not to run.
    //

    TracerKernelStart(RegistryPath);

    Status = TracerKernelRealEntry(DriverObject, RegistryPath);
    if (!NT_SUCCESS(Status)) {
        TracerKernelStop();
        return Status;
    }

    //
    // The frameworks, and the filter manager, have put their routines there by
    // now, and are called in turn.  A driver without one is not unloaded.
    //

    if (TracerKernelHeader != NULL && DriverObject->DriverUnload != NULL) {
        KernelEntryRealUnload = DriverObject->DriverUnload;
        DriverObject->DriverUnload = KernelEntryUnload;
    }
    return Status;
}
