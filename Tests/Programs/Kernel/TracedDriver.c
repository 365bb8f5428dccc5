/*++

Module Name:

    TracedDriver.c

Abstract:

    A WDM driver that counts the calls of its own functions, for the tests of
    TracerPenterKernel.lib (Tests/Library/DriverSupport.py): what the library
    has recorded is compared with what it says itself.

    Every function but those in here marked QUIET is instrumented.

--*/

#include <ntddk.h>

#define QUIET __attribute__((no_instrument_function))
#define APART __attribute__((noinline, noclone))
#define PAGED __attribute__((section("PAGE")))
#define DISCARDED __attribute__((section("INIT")))

#define CONTROL_WORK    CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, METHOD_BUFFERED, \
                                 FILE_ANY_ACCESS)
#define CONTROL_COUNTS  CTL_CODE(FILE_DEVICE_UNKNOWN, 0x802, METHOD_BUFFERED, \
                                 FILE_ANY_ACCESS)
#define CONTROL_PAUSE   CTL_CODE(FILE_DEVICE_UNKNOWN, 0x803, METHOD_BUFFERED, \
                                 FILE_ANY_ACCESS)
#define CONTROL_RESUME  CTL_CODE(FILE_DEVICE_UNKNOWN, 0x804, METHOD_BUFFERED, \
                                 FILE_ANY_ACCESS)

#define CONTROL_LEAVE   CTL_CODE(FILE_DEVICE_UNKNOWN, 0x805, METHOD_BUFFERED, \
                                 FILE_ANY_ACCESS)

//
// The functions, in the order of the counters.
//

enum {
    CountDriverEntry, CountUnload, CountCreate, CountControl, CountWork,
    CountOuter, CountMiddle, CountLeaf, CountRecurse, CountTail,
    CountTailTarget, CountAsmFramed, CountAsmLeaf, CountVeryDeep, NumberOfCounts
};

volatile LONG64 Counts[NumberOfCounts];
volatile LONG64 Wrong;                  // results that are not right

#define COUNT(Name) InterlockedIncrement64(&Counts[Count##Name])

#include "TracerKernel.h"

#ifdef ASM_CALLERS
ULONG AsmFramed(ULONG Value);
ULONG AsmLeaf(ULONG Value);
#endif

static volatile ULONG Sink;

APART
ULONG
Leaf(ULONG Value)
{
    COUNT(Leaf);
    return Value * 3 + 1;
}

APART
PAGED
ULONG
Middle(ULONG Value)
{
    COUNT(Middle);
    return Leaf(Value) + Leaf(Value + 1);
}

APART
ULONG
Outer(ULONG Value)
{
    COUNT(Outer);
    return Middle(Value) ^ Leaf(Value);
}

APART
ULONG
Recurse(ULONG Depth)
{
    COUNT(Recurse);
    if (Depth == 0) {
        return 1;
    }
    Depth = Recurse(Depth - 1);
    __asm__ volatile ("" : "+r" (Depth));   // this must not become a loop
    return Depth + 1;
}

APART
ULONG
TailTarget(ULONG Value)
{
    COUNT(TailTarget);
    return Value ^ 5;
}

APART
ULONG
Tail(ULONG Value)
{
    COUNT(Tail);
    return TailTarget(Value + 1);
}

//
// A call that is never returned from: what it has called goes on elsewhere, as
// after an exception.
//

static void *LeftTo[5];

APART
void
VeryDeep(void)
{
    COUNT(VeryDeep);
    __builtin_longjmp(LeftTo, 1);
}

APART
void
Work(ULONG Rounds)
{
    ULONG Index;

    COUNT(Work);
    for (Index = 0; Index < Rounds; Index += 1) {
        Sink += Outer(Index);
        Sink += Recurse(3);
        Sink += Tail(Index);
#ifdef ASM_CALLERS
        if (AsmFramed(Index) != Index * 3 + 1 ||
            AsmLeaf(Index) != Index * 2 + 1) {
            InterlockedIncrement64(&Wrong);
        }
#endif
    }
}

static
QUIET
NTSTATUS
Complete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

APART
NTSTATUS
NTAPI
Create(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    COUNT(Create);
    return Complete(Irp, STATUS_SUCCESS, 0);
}

//
// Not recorded: the system closes a handle when it likes.
//

QUIET
NTSTATUS
NTAPI
Close(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Complete(Irp, STATUS_SUCCESS, 0);
}

APART
NTSTATUS
NTAPI
Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION Stack;
    ULONG64 *Buffer;
    ULONG Index;

    (void)Device;
    COUNT(Control);
    Stack = IoGetCurrentIrpStackLocation(Irp);
    Buffer = (ULONG64 *)Irp->AssociatedIrp.SystemBuffer;

    switch (Stack->Parameters.DeviceIoControl.IoControlCode) {
    case CONTROL_WORK:
        if (Stack->Parameters.DeviceIoControl.InputBufferLength < 8) {
            return Complete(Irp, STATUS_INVALID_PARAMETER, 0);
        }
        Work((ULONG)*Buffer);
        return Complete(Irp, STATUS_SUCCESS, 0);

    case CONTROL_COUNTS:
        if (Stack->Parameters.DeviceIoControl.OutputBufferLength <
            sizeof(Counts) + sizeof(Wrong)) {
            return Complete(Irp, STATUS_BUFFER_TOO_SMALL, 0);
        }
        for (Index = 0; Index < NumberOfCounts; Index += 1) {
            Buffer[Index] = (ULONG64)Counts[Index];
        }
        Buffer[Index] = (ULONG64)Wrong;
        return Complete(Irp, STATUS_SUCCESS, sizeof(Counts) + sizeof(Wrong));

    case CONTROL_LEAVE:
        if (__builtin_setjmp(LeftTo) == 0) {
            VeryDeep();
        }
        return Complete(Irp, STATUS_SUCCESS, 0);

    case CONTROL_PAUSE:
        TracerKernelPause();
        return Complete(Irp, STATUS_SUCCESS, 0);

    case CONTROL_RESUME:
        TracerKernelResume();
        return Complete(Irp, STATUS_SUCCESS, 0);
    }
    return Complete(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

APART
void
NTAPI
Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING Link;

    COUNT(Unload);
    RtlInitUnicodeString(&Link, L"\\DosDevices\\" DRIVER_NAME);
    IoDeleteSymbolicLink(&Link);
    IoDeleteDevice(Driver->DeviceObject);
#ifdef STARTS_ITSELF
    TracerKernelStop();
#endif
}

APART
DISCARDED
NTSTATUS
NTAPI
DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Registry)
{
    UNICODE_STRING Name;
    UNICODE_STRING Link;
    PDEVICE_OBJECT Device;
    NTSTATUS Status;

    (void)Registry;
#ifdef STARTS_ITSELF
    TracerKernelStart(Registry);
#endif
    COUNT(DriverEntry);
#ifdef FAILS
    Work(10);
    return STATUS_DEVICE_NOT_CONNECTED;
#endif
    RtlInitUnicodeString(&Name, L"\\Device\\" DRIVER_NAME);
    RtlInitUnicodeString(&Link, L"\\DosDevices\\" DRIVER_NAME);
    Status = IoCreateDevice(Driver, 0, &Name, FILE_DEVICE_UNKNOWN, 0, FALSE,
                            &Device);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = IoCreateSymbolicLink(&Link, &Name);
    if (!NT_SUCCESS(Status)) {
        IoDeleteDevice(Device);
        return Status;
    }
    Driver->MajorFunction[IRP_MJ_CREATE] = Create;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Close;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    Driver->DriverUnload = Unload;
    return STATUS_SUCCESS;
}
