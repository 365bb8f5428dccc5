/*++

Module Name:

    FuzzControl.c

Abstract:

    The library's side of a control file that somebody else writes to:
    TraceControl.c, TraceControlFile.c, TraceControlOpen.c and
    TraceControlAppend.c above a file in memory.

    The input is a number of steps, each a byte that says what is done (the
    library looks, or its worker does, a thread comes by, the program appends
    something, a stranger changes bytes or makes the file longer) and what that
    takes; and then the bytes that the file has at first, behind its header.

    Pages that vanish cannot be had here, since there are no exceptions:
    Tests/Product/TestControlHostile.py takes them away from a running program.

--*/

#include <stdlib.h>
#include <string.h>
#include "../../TraceStore/TraceControl.h"
#include "../../TraceStore/TraceControlAppend.h"
#include "../../TraceStore/TraceControlOpen.h"
#include "../../TraceStore/TraceDirectory.h"
#include "../../TraceStore/TraceLock.h"
#include "../../TraceStore/TraceLog.h"
#include "../../TraceStore/TraceThread.h"
#include "../../TraceStore/TraceTree.h"
#include "../../TraceStore/TraceWatch.h"
#include "Asm.h"
#include "FuzzSupport.h"

//
// The file is a block that is as large as it can become; what is behind its
// end is not to be touched.
//

#define FUZZ_FILE_MOST      0x400000u
#define FUZZ_STEPS_MOST     512
#define FUZZ_MODULE         ((PVOID)0x10000)

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(Address, Size) ((void)(Address))
#define ASAN_UNPOISON_MEMORY_REGION(Address, Size) ((void)(Address))
#endif

static PUCHAR FuzzFile;
static ULONGLONG FuzzFileSize;
static ULONGLONG FuzzDiskSize;
static ULONG FuzzLogged;
static LONG FuzzViews;
static ULONGLONG FuzzCounted[3];       // hook calls that a paused store counted

static
VOID
FuzzResize(
    ULONGLONG Size
    )
{
    if (Size > FuzzFileSize) {
        ASAN_UNPOISON_MEMORY_REGION(FuzzFile, Size);
        memset(FuzzFile + FuzzFileSize, 0, Size - FuzzFileSize);
    }
    FuzzFileSize = Size;
}

//
// What the library's side is made upon.
//

NTSTATUS
RtlCreateFileSection(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG SizeInBytes,
    BOOLEAN Writable,
    PHANDLE Section
    )
{
    (VOID)Rtl;
    FUZZ_CHECK(File != NULL && Writable);
    if (SizeInBytes > FuzzDiskSize) {
        return STATUS_DISK_FULL;
    }
    if (SizeInBytes > FuzzFileSize) {
        FuzzResize(SizeInBytes);
    }
    *Section = (HANDLE)(ULONG_PTR)SizeInBytes;
    return STATUS_SUCCESS;
}

NTSTATUS
RtlMapFileSection(
    PCRTL Rtl,
    HANDLE Section,
    ULONGLONG FileOffset,
    SIZE_T SizeInBytes,
    BOOLEAN Writable,
    PVOID Address,
    PVOID *View
    )
{
    (VOID)Rtl;
    FUZZ_CHECK(Writable && Address == NULL && FileOffset % 0x10000 == 0);
    FUZZ_CHECK(FileOffset + SizeInBytes <= (ULONG_PTR)Section);
    FuzzViews += 1;
    *View = FuzzFile + FileOffset;
    return STATUS_SUCCESS;
}

VOID
RtlUnmapFileSection(
    PCRTL Rtl,
    PVOID View
    )
{
    (VOID)Rtl;
    FuzzViews -= View != NULL;
}

NTSTATUS
RtlQueryFileSize(
    PCRTL Rtl,
    HANDLE File,
    PULONGLONG SizeInBytes
    )
{
    (VOID)Rtl;
    FUZZ_CHECK(File != NULL);
    *SizeInBytes = FuzzFileSize;
    return STATUS_SUCCESS;
}

NTSTATUS
RtlSetFileSize(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG SizeInBytes
    )
{
    (VOID)Rtl;
    FUZZ_CHECK(File != NULL && SizeInBytes >= FuzzFileSize);
    FuzzResize(SizeInBytes);
    return STATUS_SUCCESS;
}

VOID
RtlClose(
    PCRTL Rtl,
    HANDLE Handle
    )
{
    (VOID)Rtl;
    FUZZ_CHECK(Handle != NULL);
}

VOID
RtlProtectHandle(
    PCRTL Rtl,
    HANDLE Handle,
    BOOLEAN IsProtected
    )
{
    (VOID)Rtl;
    (VOID)IsProtected;
    FUZZ_CHECK(Handle != NULL);
}

NTSTATUS
RtlSetError(
    PRTL_ERROR Error,
    PCSZ Step,
    PCUNICODE_STRING Name,
    NTSTATUS Status
    )
{
    (VOID)Error;
    FUZZ_CHECK(Step != NULL && Name != NULL && !NT_SUCCESS(Status));
    return Status;
}

VOID
RtlReadClocks(
    PCRTL Rtl,
    PRTL_CLOCK_READING Reading
    )
{
    (VOID)Rtl;
    memset(Reading, 0, sizeof(*Reading));
    Reading->Tsc = __rdtsc();
    Reading->Qpc = Reading->Tsc;
    Reading->QpcFrequency = 64;
}

VOID
AsmTouchPages(
    PVOID Address,
    SIZE_T SizeInBytes
    )
{
    PUCHAR Page = Address;

    FUZZ_CHECK((SIZE_T)(Page - FuzzFile) % 4096 == 0);
    for (; SizeInBytes >= 4096; SizeInBytes -= 4096) {
        *(UCHAR volatile *)Page = *(UCHAR volatile *)Page;
        Page += 4096;
    }
}

NTSTATUS
TraceDirectoryOpenSession(
    PTRACE_SESSION Session,
    PHANDLE Directory,
    PRTL_ERROR Error
    )
{
    (VOID)Session;
    (VOID)Error;
    *Directory = (HANDLE)1;
    return STATUS_SUCCESS;
}

VOID
TraceLogError(
    PTRACE_SESSION Session,
    PCRTL_ERROR Error,
    PCSZ Consequence
    )
{
    (VOID)Session;
    (VOID)Error;
    (VOID)Consequence;
    FuzzLogged += 1;
}

BOOLEAN
TraceThreadRequest(
    PTRACE_SESSION Session
    )
{
    Session->Worker.State = TRACE_WORKER_RUNNING;
    return TRUE;
}

BOOLEAN
TraceLockTryAcquire(
    PTRACE_STORE Store
    )
{
    (VOID)Store;
    return TRUE;
}

VOID
TraceLockAcquire(
    PTRACE_STORE Store
    )
{
    (VOID)Store;
}

VOID
TraceLockRelease(
    PTRACE_STORE Store
    )
{
    (VOID)Store;
}

BOOLEAN
TraceWatchIsPossible(
    PCRTL Rtl
    )
{
    (VOID)Rtl;
    return TRUE;
}

VOID
TraceTreeStop(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
{
    FUZZ_CHECK(Timestamp <= RtlPortableTimestamp);
    Store->Header->HookFlags |= TRACE_HOOK_STOPPED | TRACE_HOOK_PAUSED;
}

VOID
TraceTreeStart(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
{
    FUZZ_CHECK(Timestamp <= RtlPortableTimestamp);
    Store->Header->HookFlags &= ~(TRACE_HOOK_STOPPED | TRACE_HOOK_PAUSED);
}

VOID
TraceTreeClear(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
{
    FUZZ_CHECK(Timestamp <= RtlPortableTimestamp);
    Store->Header->ClearTimestamp = Timestamp;
}

VOID
TraceTreeSetLimit(
    PTRACE_STORE Store
    )
{
    Store->Header->Limit = 1;
}

static
NTSTATUS
FuzzCreateFile(
    PHANDLE File,
    ACCESS_MASK Access,
    POBJECT_ATTRIBUTES Attributes,
    PIO_STATUS_BLOCK IoStatus,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG Share,
    ULONG Disposition,
    ULONG Options,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    (VOID)Access;
    (VOID)Attributes;
    (VOID)IoStatus;
    (VOID)AllocationSize;
    (VOID)FileAttributes;
    (VOID)Share;
    (VOID)Disposition;
    (VOID)Options;
    (VOID)EaBuffer;
    (VOID)EaLength;
    *File = (HANDLE)2;
    return STATUS_SUCCESS;
}

static
NTSTATUS
FuzzQuerySystemTime(
    PLARGE_INTEGER Time
    )
{
    Time->QuadPart = (LONGLONG)RtlPortableTimestamp;
    return STATUS_SUCCESS;
}

static
NTSTATUS
FuzzQueryThread(
    HANDLE Thread,
    ULONG Class,
    PVOID Buffer,
    ULONG Length,
    PULONG Returned
    )
{
    (VOID)Thread;
    (VOID)Class;
    (VOID)Returned;
    memset(Buffer, 0, Length);
    return STATUS_SUCCESS;
}

//
// What must be so whatever the file says.
//

static
VOID
FuzzCheckStore(
    PTRACE_SESSION Session,
    PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header = Store->Header;

    FUZZ_CHECK(Header->NumberOfActions <= TRACE_CONTROL_SEEN(Session));
    FUZZ_CHECK(Header->ThreadNameLength <= sizeof(Header->ThreadName));
    FUZZ_CHECK(Header->ClearTimestamp <= RtlPortableTimestamp);
    FUZZ_CHECK(Store->ActionTimestamp <= RtlPortableTimestamp);
    FUZZ_CHECK((Header->HookFlags &
                ~(TRACE_HOOK_STOPPED | TRACE_HOOK_PAUSED)) == 0);
    FUZZ_CHECK(Header->NumberOfEventsLost + Header->NumberOfEventsPaused ==
               FuzzCounted[Store - Session->Blocks->Stores]);
    FUZZ_CHECK((PBYTE)Session->Control == FuzzFile);
}

static
VOID
FuzzAppend(
    PTRACE_SESSION Session,
    ULONG Kind,
    ULONG Length
    )
{
    static const CHAR Text[256] = "\xC3\xA4\xE2\x82\xAC text";
    LONGLONG LeftOut = Session->ControlLeftOut;
    PTRACE_CONTROL_ACTION Action;
    ULONG Before;
    ULONG Claimed;
    NTSTATUS Status;

    memcpy(&Before, FuzzFile + 0x1C, sizeof(Before));
    Status = TraceControlAppend(Session, Kind, Text, Length);
    memcpy(&Claimed, FuzzFile + 0x1C, sizeof(Claimed));
    if (NT_SUCCESS(Status)) {
        FUZZ_CHECK(Claimed > Before);
        Action = (PTRACE_CONTROL_ACTION)
            (FuzzFile + TRACE_CONTROL_HEADER_SIZE) + Claimed - 1;
        FUZZ_CHECK((PUCHAR)(Action + 1) <= FuzzFile + FuzzFileSize);
        FUZZ_CHECK(Action->Kind == Kind);
        FUZZ_CHECK(Action->TextLength <= sizeof(Action->Text));
        FUZZ_CHECK(Session->ControlLeftOut == LeftOut);
    } else {
        FUZZ_CHECK(Session->ControlFailed ||
                   Session->ControlLeftOut == LeftOut + 1);
    }
}

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    static TRACE_STORE_HEADER Template;
    static TRACE_STORE_HEADER Headers[3];
    static TRACE_STORE_BLOCK Block;
    static TRACE_SESSION Session;
    FUZZ_INPUT Input = { Data, Size };
    PTRACE_STORE Store;
    ULONGLONG Offset;
    ULONGLONG Value;
    SIZE_T Length;
    ULONG Number;
    ULONG Index;
    ULONG Step;
    const UCHAR *Bytes;

    RtlPortableTimestamp = 1000000;
    FuzzLogged = 0;
    FuzzViews = 0;
    memset(&Session, 0, sizeof(Session));
    memset(&Block, 0, sizeof(Block));
    memset(Headers, 0, sizeof(Headers));
    memset(FuzzCounted, 0, sizeof(FuzzCounted));
    memset(&Template, 0, sizeof(Template));
    if (FuzzFile == NULL) {
        FuzzFile = malloc(FUZZ_FILE_MOST);
        FUZZ_CHECK(FuzzFile != NULL);
    }
    FuzzFileSize = 0;
    ASAN_POISON_MEMORY_REGION(FuzzFile, FUZZ_FILE_MOST);

    Number = (ULONG)FuzzTake(&Input, 1);
    Template.Mode = Number & 1 ? TRACE_MODE_TREE : TRACE_MODE_RECORDS;
    FuzzDiskSize = Number & 2 ? FUZZ_FILE_MOST : 0x50000;
    Template.ProcessId = 4242;
    Template.ProcessCreationTime = 77;
    Session.Template = &Template;
    Session.ModuleBase = FUZZ_MODULE;
    Session.ControlSize = Number & 4 ? 0x20000 : TRACE_CONTROL_LEAST;
    Session.Rtl.NtCreateFile = (PVOID)FuzzCreateFile;
    Session.Rtl.NtQuerySystemTime = (PVOID)FuzzQuerySystemTime;
    Session.Rtl.NtQueryInformationThread = (PVOID)FuzzQueryThread;
    Session.Blocks = &Block;

    //
    // What another instance, or somebody else, left in the file.
    //

    Bytes = NULL;
    Length = FuzzTake(&Input, 2);
    if (Length != 0) {
        Bytes = FuzzTakeBytes(&Input, &Length);
        FuzzResize(Number & 8 ? 0x10000 : Length);
        memcpy(FuzzFile, Bytes, Length);
    }

    TraceControlOpen(&Session);
    if (Session.Control == NULL) {
        FUZZ_CHECK(Session.ControlFailed && FuzzLogged == 1);
        FUZZ_CHECK(TraceControlAppend(&Session, TRACE_ACTION_STOP, "", 0) ==
                   STATUS_NOT_FOUND);
        TraceControlPoll(&Session);
        TraceControlWatch(&Session);
        goto End;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Headers); Index += 1) {
        Store = &Block.Stores[Index];
        Store->Session = &Session;
        Store->Header = &Headers[Index];
        Headers[Index].Mode = Template.Mode;
        Headers[Index].State = TRACE_STATE_OPEN;
        Headers[Index].OpenAnchor.Tsc = RtlPortableTimestamp;
        if (Index != 2) {
            Store->Use = TRACE_STORE_USED;
        }
    }

    for (Step = 0; Step < FUZZ_STEPS_MOST && Input.Left != 0; Step += 1) {

        Number = (ULONG)FuzzTake(&Input, 1);
        Index = Number >> 4 & 1;
        Store = &Block.Stores[Index];
        switch (Number & 15) {

        case 0:
            TraceControlPoll(&Session);
            break;

        case 1:
            TraceControlWatch(&Session);
            break;

        case 2:
            RtlPortableTimestamp += 256;
            TraceControlWatch(&Session);
            break;

        case 3:
            Store = &Block.Stores[2];
            if (Store->Use != TRACE_STORE_USED) {
                Store->Use = TRACE_STORE_USED;
                TraceControlBegin(Store);
            }
            break;

        case 4:
        case 5:
            if (TraceControlServe(Store)) {
                Store->Header->NumberOfEventsLost += 1;
                FuzzCounted[Index] += 1;
            }
            break;

        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
            FuzzAppend(&Session,
                       (Number & 15) - 5,
                       (ULONG)FuzzTake(&Input, 1));
            break;

        case 11:
            Store->Header->State = TRACE_STATE_STOPPED;
            break;

        case 12:
            Value = FuzzTake(&Input, 4);
            if (Value > FuzzFileSize && Value <= FUZZ_FILE_MOST) {
                FuzzResize(Value);
            }
            break;

        default:

            //
            // The stranger: up to 8 bytes, mostly of the header or of the
            // first actions.
            //

            Offset = FuzzTake(&Input, (Number & 15) - 12);
            Length = FuzzTake(&Input, 1) & 7;
            Value = FuzzTake(&Input, (ULONG)Length + 1);
            if (Offset + Length + 1 <= FuzzFileSize) {
                memcpy(FuzzFile + Offset, &Value, Length + 1);
            }
            break;
        }

        for (Index = 0; Index < RTL_NUMBER_OF(Headers); Index += 1) {
            FuzzCheckStore(&Session, &Block.Stores[Index]);
        }
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Headers); Index += 1) {
        if (Block.Stores[Index].Use == TRACE_STORE_USED) {
            TraceControlSettle(&Block.Stores[Index]);
            FuzzCheckStore(&Session, &Block.Stores[Index]);
        }
    }

End:
    TraceControlClose(&Session);
    FUZZ_CHECK(FuzzViews == 0);
    FUZZ_CHECK(Session.ControlFile == NULL && Session.Control == NULL);
    FUZZ_CHECK(FuzzLogged <= 3);
    return 0;
}
