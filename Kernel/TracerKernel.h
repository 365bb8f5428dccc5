/*++

Module Name:

    TracerKernel.h

Abstract:

    For drivers that are traced and that start the tracer themselves.  A driver
    whose entry point is TracerKernelDriverEntry needs none of this
    (PenterKernel.props, Docs/Drivers.md).

    It depends on nothing: NTSTATUS is a long, and PUNICODE_STRING a pointer to
    the structure named here.

--*/

#ifndef TRACER_KERNEL_H
#define TRACER_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

struct _UNICODE_STRING;

//
// Starts recording, as the registry says (RegistryPath is what DriverEntry was
// given).  At PASSIVE_LEVEL, in the system process, once: first thing in
// DriverEntry, whose own entry is then not recorded.  A failure is printed, and
// the driver runs as it is; the hooks then do nothing.
//

long
TracerKernelStart(
    struct _UNICODE_STRING *RegistryPath
    );

//
// Ends recording and frees the memory.  At PASSIVE_LEVEL, when no other code of
// the driver can run any more: last thing in the unload routine, and where
// DriverEntry fails.  It may be called without a start, and twice.
//

void
TracerKernelStop(
    void
    );

//
// Stops recording, and goes on, at any IRQL.  Hook calls meanwhile are counted.
//

void
TracerKernelPause(
    void
    );

void
TracerKernelResume(
    void
    );

#ifdef __cplusplus
}
#endif

#endif // TRACER_KERNEL_H
