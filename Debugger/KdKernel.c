/*++

Module Name:

    KdKernel.c

Abstract:

    What a traced driver's library keeps in the kernel's memory.

    A driver has a variable, TracerKernelHeader, with the section's address.
    Nothing else is believed: sizes are powers of two within bounds, offsets
    within the section, and a record counts if its number is the one that its
    place can have.

--*/

#include "KdKernel.h"
#include "KdTime.h"

#define KD_KERNEL_VARIABLE          "TracerKernelHeader"

//
// What a section can have.
//

#define KD_MAXIMUM_RINGS            4096u
#define KD_MAXIMUM_SLOTS            0x01000000u
#define KD_MAXIMUM_RECORDS          0x10000000ULL
#define KD_MAXIMUM_SECTION          0x10000000000ULL

//
// Variables of a driver that are looked through, bytes.
//

#define KD_MAXIMUM_VARIABLES        0x01000000u

//
// The same of each driver, when all are looked through.
//

#define KD_MAXIMUM_VARIABLES_OF_ALL 0x00010000u

//
// Variables that are read at a time, and how many before one are looked at.
//

#define KD_SCANNED                  128u
#define KD_BEFORE                   (TRACE_KERNEL_RINGS_BEFORE / \
                                     sizeof(ULONGLONG))

#define KD_KERNEL_CHUNK             0x10000u

static
BOOLEAN
KdKernelIsPower(
    _In_ ULONGLONG Value,
    _In_ ULONGLONG Most
    )
{
    return Value != 0 && Value <= Most && (Value & (Value - 1)) == 0;
}

//
// Whether so many bytes lie in the section.
//

static
BOOLEAN
KdKernelIsInside(
    _In_ PTRACE_KERNEL_HEADER Header,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG SizeInBytes
    )
{
    return Offset >= Header->HeaderSize &&
           Offset <= Header->SectionSize &&
           SizeInBytes <= Header->SectionSize - Offset;
}

//
// Says what is wrong with a header; NULL: nothing.
//

static
_Ret_maybenull_
PCSZ
KdKernelCheck(
    _In_ PTRACE_KERNEL_HEADER Header,
    _In_ ULONGLONG Address,
    _In_ ULONGLONG ModuleBase
    )
{
    if (Header->MajorVersion != TRACE_KERNEL_MAJOR) {
        return "is of a version that this extension does not know";
    }

    if (Header->HeaderSize != sizeof(*Header) ||
        Header->RecordSize != sizeof(TRACE_KERNEL_RECORD) ||
        Header->SectionSize > KD_MAXIMUM_SECTION) {
        return "has sizes that cannot be";
    }

    if (Header->BaseAddress != Address || Header->ModuleBase != ModuleBase) {
        return "says that it is of another driver";
    }

    if (Header->NumberOfRings == 0 ||
        Header->NumberOfRings > KD_MAXIMUM_RINGS ||
        !KdKernelIsPower(Header->RecordsPerRing, KD_MAXIMUM_RECORDS) ||
        !KdKernelIsPower(Header->FunctionSlots, KD_MAXIMUM_SLOTS) ||
        (Header->OpenCallSlots != 0 &&
         !KdKernelIsPower(Header->OpenCallSlots, KD_MAXIMUM_SLOTS))) {
        return "has numbers that cannot be";
    }

    if (!KdKernelIsInside(Header,
                          Header->RingsOffset,
                          Header->NumberOfRings *
                              sizeof(TRACE_KERNEL_RING)) ||
        !KdKernelIsInside(Header,
                          Header->RecordsOffset,
                          Header->NumberOfRings * Header->RecordsPerRing *
                              sizeof(TRACE_KERNEL_RECORD)) ||
        !KdKernelIsInside(Header,
                          Header->FunctionsOffset,
                          (ULONGLONG)Header->NumberOfRings *
                              Header->FunctionSlots *
                              sizeof(TRACE_KERNEL_FUNCTION)) ||
        (Header->OpenCallSlots != 0 &&
         !KdKernelIsInside(Header,
                           Header->OpenCallsOffset,
                           (ULONGLONG)Header->OpenCallSlots *
                               sizeof(TRACE_KERNEL_OPEN_CALL)))) {
        return "has parts that are not in it";
    }

    return NULL;
}

//
// Reads the variable at an address: whether it leads to a section.
//

static
ULONGLONG
KdKernelFollow(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Variable
    )
{
    ULONGLONG Address;
    ULONGLONG Magic;

    if (Variable == 0 ||
        !KdContextRead(Context, Variable, &Address, sizeof(Address)) ||
        Address == 0 ||
        !KdContextRead(Context, Address, &Magic, sizeof(Magic)) ||
        Magic != TRACE_KERNEL_MAGIC) {
        return 0;
    }

    return Address;
}

//
// Looks through a driver's variables.  They lead to the registers of devices,
// too, where a machine that runs must not be read: there only what stands among
// others as the library's variable does is followed.
//

static
ULONGLONG
KdKernelScan(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_IMAGE *Image,
    _In_ ULONG MostInBytes
    )
{
    ULONGLONG Values[KD_BEFORE + KD_SCANNED];   // those before come first
    ULONGLONG Value;
    ULONGLONG Magic;
    ULONG Section;
    ULONG Rva;
    ULONG Size;
    ULONG Offset;
    ULONG Part;
    ULONG Read;
    ULONG Index;
    ULONG Looked = 0;

    for (Section = 0;
         KdImageGetDataSection(Context, Image, Section, &Rva, &Size);
         Section++) {

        RtlZeroBytes(Values, KD_BEFORE * sizeof(ULONGLONG));
        for (Offset = 0; Offset < Size && Looked < MostInBytes;
             Offset += Part) {

            Part = Size - Offset;
            if (Part > KD_SCANNED * sizeof(ULONGLONG)) {
                Part = KD_SCANNED * sizeof(ULONGLONG);
            }

            Looked += Part;
            if (KdContextIsStopped(Context)) {
                return 0;
            }

            Read = KdContextReadSome(Context,
                                     Image->Base + Rva + Offset,
                                     Values + KD_BEFORE,
                                     Part) / sizeof(ULONGLONG);
            for (Index = 0; Index < Read; Index++) {

                Value = Values[KD_BEFORE + Index];
                if (Value != 0 &&
                    Value % KD_PAGE_SIZE == 0 &&
                    (Context->IsKernelDump ||
                     Values[Index] - Value == sizeof(TRACE_KERNEL_HEADER)) &&
                    KdContextRead(Context, Value, &Magic, sizeof(Magic)) &&
                    Magic == TRACE_KERNEL_MAGIC) {
                    return Value;
                }
            }

            if (Read == KD_SCANNED) {
                RtlCopyBytes(Values,
                             Values + KD_SCANNED,
                             KD_BEFORE * sizeof(ULONGLONG));
            } else {
                RtlZeroBytes(Values, KD_BEFORE * sizeof(ULONGLONG));
            }
        }
    }

    return 0;
}

//
// Asks the symbols for the variable.
//

static
ULONGLONG
KdKernelFindSymbol(
    _Inout_ PKD_CONTEXT Context,
    _In_z_ PCSZ Name
    )
{
    CHAR Symbol[128];
    RTL_WRITER Writer;
    ULONGLONG Address = 0;

    RtlInitializeBufferWriter(&Writer, Symbol, sizeof(Symbol) - 1);
    RtlWriteText(&Writer, "%T!" KD_KERNEL_VARIABLE, Name);
    Symbol[Writer.LengthInBytes] = 0;
    if (Context->Symbols == NULL || !NT_SUCCESS(Writer.Status) ||
        FAILED(Context->Symbols->Methods->GetOffsetByName(Context->Symbols,
                                                          Symbol,
                                                          &Address))) {
        return 0;
    }

    return Address;
}

//
// Reads the header and the rings.
//

_Must_inspect_result_
static
NTSTATUS
KdKernelReadHeader(
    _Inout_ PKD_DRIVER Driver,
    _In_ ULONGLONG ModuleBase
    )
{
    PKD_CONTEXT Context = Driver->Context;
    PTRACE_KERNEL_HEADER Header;
    ULONG Length;
    ULONG Size;
    ULONG Module;

    Header = (PTRACE_KERNEL_HEADER)KdContextAllocate(Context, sizeof(*Header));
    if (Header == NULL) {
        return STATUS_NO_MEMORY;
    }

    Driver->Header = Header;
    if (!KdContextRead(Context, Driver->Address, Header, sizeof(*Header))) {
        Driver->Problem = "is not in memory as a whole";
        return STATUS_SUCCESS;
    }

    Driver->Problem = KdKernelCheck(Header, Driver->Address, ModuleBase);
    if (Driver->Problem != NULL) {
        return STATUS_SUCCESS;
    }

    CoreAddAnchor(&Driver->Clock, &Header->OpenAnchor, Header->QpcFrequency);
    CoreAddAnchor(&Driver->Clock, &Header->LastAnchor, Header->QpcFrequency);
    KdTimeImprove(Context, &Driver->Clock);
    Size = Header->NumberOfRings * sizeof(TRACE_KERNEL_RING);
    Driver->Rings = (PTRACE_KERNEL_RING)KdContextAllocate(Context, Size);
    if (Driver->Rings == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (!KdContextRead(Context,
                       Driver->Address + Header->RingsOffset,
                       Driver->Rings,
                       Size)) {
        Driver->Problem = "has rings that are not in memory";
        return STATUS_SUCCESS;
    }

    Length = Header->ModulePathLength;
    if (Length > sizeof(Header->ModulePath)) {
        Length = sizeof(Header->ModulePath);
    }

    return KdNamesAddModule(&Driver->Names,
                            Header->ModuleBase,
                            Header->ModuleSize,
                            Header->ModuleTimeDateStamp,
                            0,
                            (const CHAR *)Header->ModulePath,
                            Length,
                            &Module);
}

_Use_decl_annotations_
NTSTATUS
KdKernelOpen(
    PKD_CONTEXT Context,
    ULONGLONG Base,
    PCSZ Name,
    BOOLEAN IsThorough,
    PKD_DRIVER Driver
    )
{
    KD_IMAGE Image;
    NTSTATUS Status;

    RtlZeroBytes(Driver, sizeof(*Driver));
    Driver->Context = Context;
    CoreInitializeClock(&Driver->Clock);
    KdNamesInitialize(Context, &Driver->Names);

    //
    // Only the headers are wanted here, not hundreds of drivers' unwind data.
    //

    Status = KdImageOpenHeaders(Context, Base, &Image);
    if (NT_SUCCESS(Status)) {
        Driver->Address = KdKernelFollow(
            Context,
            KdImageFindExport(Context, &Image, KD_KERNEL_VARIABLE));
    } else if (Status == STATUS_CANCELLED || Status == STATUS_NO_MEMORY) {
        KdImageRundown(&Image);
        return Status;
    }

    if (Driver->Address == 0 && IsThorough && Name != NULL) {
        Driver->Address = KdKernelFollow(Context,
                                         KdKernelFindSymbol(Context, Name));
    }

    if (Driver->Address == 0) {
        Driver->Address = KdKernelScan(Context,
                                       &Image,
                                       IsThorough
                                           ? KD_MAXIMUM_VARIABLES
                                           : KD_MAXIMUM_VARIABLES_OF_ALL);
    }

    KdImageRundown(&Image);
    if (Context->IsStopped) {
        return STATUS_CANCELLED;
    }

    return Driver->Address == 0 ? STATUS_NOT_FOUND
                                : KdKernelReadHeader(Driver, Base);
}

_Use_decl_annotations_
VOID
KdKernelClose(
    PKD_DRIVER Driver
    )
{
    if (Driver->Context != NULL) {
        KdContextFree(Driver->Context, Driver->Header);
        KdContextFree(Driver->Context, Driver->Rings);
        KdNamesRundown(&Driver->Names);
        RtlZeroBytes(Driver, sizeof(*Driver));
    }
}

_Use_decl_annotations_
NTSTATUS
KdKernelReadFunctions(
    PKD_DRIVER Driver,
    ULONG Ring,
    PTRACE_KERNEL_FUNCTION *Functions
    )
{
    PTRACE_KERNEL_HEADER Header = Driver->Header;
    ULONG Size = Header->FunctionSlots * sizeof(TRACE_KERNEL_FUNCTION);

    *Functions = (PTRACE_KERNEL_FUNCTION)KdContextAllocate(Driver->Context,
                                                           Size);
    if (*Functions == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (!KdContextRead(Driver->Context,
                       Driver->Address + Header->FunctionsOffset +
                           (ULONGLONG)Ring * Size,
                       *Functions,
                       Size)) {

        KdContextFree(Driver->Context, *Functions);
        *Functions = NULL;
        Driver->UnreadInBytes += Size;
        return Driver->Context->IsStopped ? STATUS_CANCELLED
                                          : STATUS_PARTIAL_COPY;
    }

    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
KdKernelKeep(
    _Inout_ PKD_KERNEL_FEED Feed,
    _In_ const TRACE_KERNEL_RECORD *Record,
    _In_ ULONG Ring
    )
{
    NTSTATUS Status;

    if (Feed->Count == KD_MAXIMUM_GATHERED) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(&Feed->Driver->Context->Allocator,
                           (PVOID *)&Feed->Records,
                           &Feed->Capacity,
                           Feed->Count + 1,
                           sizeof(KD_KERNEL_RECORD));
    if (NT_SUCCESS(Status)) {
        Feed->Records[Feed->Count].Record = *Record;
        Feed->Records[Feed->Count].Ring = Ring;
        Feed->Count += 1;
    }

    return Status;
}

//
// Gathers the records of one ring.
//

_Must_inspect_result_
static
NTSTATUS
KdKernelGather(
    _Inout_ PKD_KERNEL_FEED Feed,
    _In_ ULONG Thread,
    _In_ ULONG Ring,
    _In_ ULONG Most,
    _Out_writes_bytes_(KD_KERNEL_CHUNK) PTRACE_KERNEL_RECORD Buffer
    )
{
    PKD_DRIVER Driver = Feed->Driver;
    PTRACE_KERNEL_HEADER Header = Driver->Header;
    ULONGLONG Records = Driver->Address + Header->RecordsOffset +
                        (ULONGLONG)Ring * Header->RecordsPerRing *
                            sizeof(TRACE_KERNEL_RECORD);
    ULONGLONG End = Driver->Rings[Ring].Reserved;
    ULONGLONG Number = 0;
    ULONGLONG Place;
    ULONGLONG Count;
    ULONG Read;
    ULONG Index;
    ULONG Kind;
    NTSTATUS Status;

    Count = Header->RecordsPerRing < Most ? Header->RecordsPerRing : Most;
    if (End > Count) {
        Number = End - Count;
    }

    while (Number < End) {

        if (KdContextIsStopped(Driver->Context)) {
            return STATUS_CANCELLED;
        }

        Place = Number & (Header->RecordsPerRing - 1);
        Count = Header->RecordsPerRing - Place;
        if (Count > End - Number) {
            Count = End - Number;
        }

        if (Count > KD_KERNEL_CHUNK / sizeof(TRACE_KERNEL_RECORD)) {
            Count = KD_KERNEL_CHUNK / sizeof(TRACE_KERNEL_RECORD);
        }

        Read = KdContextReadSome(Driver->Context,
                                 Records + Place * sizeof(*Buffer),
                                 Buffer,
                                 (ULONG)Count * sizeof(*Buffer)) /
               sizeof(*Buffer);
        if (Read == 0) {

            Read = (KD_PAGE_SIZE -
                    (ULONG)((Records + Place * sizeof(*Buffer)) %
                            KD_PAGE_SIZE) +
                    sizeof(*Buffer) - 1) / sizeof(*Buffer);
            if (Read > Count) {
                Read = (ULONG)Count;
            }

            Driver->UnreadInBytes += Read * sizeof(*Buffer);
            Number += Read;
            continue;
        }

        for (Index = 0; Index < Read; Index++, Number++) {

            //
            // One that is just being written, or was when the machine stopped,
            // has another number.
            //

            if (Buffer[Index].Number != TRACE_KERNEL_NUMBER(Number)) {
                continue;
            }

            Kind = (ULONG)Buffer[Index].Stack & TRACE_KIND_MASK;
            if (Kind < TRACE_KIND_ENTER || Kind > TRACE_KIND_EXIT_FUNCTION ||
                Buffer[Index].Timestamp == 0 ||
                Buffer[Index].Site - Header->ModuleBase >=
                    Header->ModuleSize) {
                Driver->NumberBad += 1;
                continue;
            }

            if (Thread == KD_ALL_THREADS ||
                Thread == TRACE_KERNEL_THREAD(Buffer[Index].ThreadIrql)) {
                Status = KdKernelKeep(Feed, &Buffer[Index], Ring);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    return STATUS_SUCCESS;
}

static
LONG
KdKernelCompare(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PKD_KERNEL_RECORD Records = (PKD_KERNEL_RECORD)Context;
    ULONGLONG One = Records[First].Record.Timestamp;
    ULONGLONG Other = Records[Second].Record.Timestamp;

    if (One != Other) {
        return One < Other ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}

_Use_decl_annotations_
NTSTATUS
KdKernelOpenFeed(
    PKD_DRIVER Driver,
    ULONG Thread,
    ULONG Ring,
    ULONG MaximumInRing,
    PKD_KERNEL_FEED Feed
    )
{
    PTRACE_KERNEL_RECORD Buffer;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Feed, sizeof(*Feed));
    Feed->Driver = Driver;
    Buffer = (PTRACE_KERNEL_RECORD)KdContextAllocate(Driver->Context,
                                                     KD_KERNEL_CHUNK);
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Driver->Header->NumberOfRings;
         Index++) {
        if (Ring == KD_ALL_RINGS || Ring == Index) {
            Status = KdKernelGather(Feed, Thread, Index, MaximumInRing, Buffer);
        }
    }

    KdContextFree(Driver->Context, Buffer);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Feed->Order = (PULONG)KdContextAllocate(
        Driver->Context,
        ((ULONGLONG)Feed->Count + 1) * sizeof(ULONG));
    if (Feed->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Feed->Count; Index++) {
        Feed->Order[Index] = Index;
    }

    if (Feed->Count > 1) {
        BaseSort(Feed->Order, Feed->Count, KdKernelCompare, Feed->Records);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
KdKernelCloseFeed(
    PKD_KERNEL_FEED Feed
    )
{
    if (Feed->Driver != NULL) {
        KdContextFree(Feed->Driver->Context, Feed->Records);
        KdContextFree(Feed->Driver->Context, Feed->Order);
        RtlZeroBytes(Feed, sizeof(*Feed));
    }
}

_Use_decl_annotations_
NTSTATUS
KdKernelNext(
    PKD_CONTEXT Context,
    PULONG Index,
    PKD_DRIVER Driver
    )
{
    PKD_SYMBOLS Symbols = Context->Symbols;
    ULONG Loaded = 0;
    ULONG Unloaded = 0;
    ULONGLONG Base;
    NTSTATUS Status;

    RtlZeroBytes(Driver, sizeof(*Driver));
    if (Symbols == NULL ||
        FAILED(Symbols->Methods->GetNumberModules(Symbols,
                                                  &Loaded,
                                                  &Unloaded))) {
        return STATUS_NO_MORE_ENTRIES;
    }

    while (*Index < Loaded && *Index < 0x10000) {

        if (KdContextIsStopped(Context)) {
            return STATUS_CANCELLED;
        }

        *Index += 1;
        if (FAILED(Symbols->Methods->GetModuleByIndex(Symbols,
                                                      *Index - 1,
                                                      &Base))) {
            continue;
        }

        Status = KdKernelOpen(Context, Base, NULL, FALSE, Driver);
        if (Status != STATUS_NOT_FOUND) {
            return Status;
        }

        KdKernelClose(Driver);
    }

    return STATUS_NO_MORE_ENTRIES;
}

_Use_decl_annotations_
BOOLEAN
KdKernelOpenNamed(
    PKD_CONTEXT Context,
    const CHAR *Module,
    ULONG Length,
    PKD_DRIVER Driver
    )
{
    CHAR Name[128];
    ULONGLONG Base = 0;
    ULONG Index = 0;
    NTSTATUS Status;

    RtlZeroBytes(Driver, sizeof(*Driver));
    if (Module == NULL) {

        Status = KdKernelNext(Context, &Index, Driver);
        if (Status == STATUS_NO_MORE_ENTRIES) {
            RtlWriteText(&Context->Writer,
                         "No loaded driver leads to a section of "
                         "TracerPenterKernel; name one to have its symbols "
                         "asked: -m MODULE");
            KdContextEndLine(Context);
            return FALSE;
        }

    } else {

        if (Length >= sizeof(Name)) {
            Length = sizeof(Name) - 1;
        }

        RtlCopyBytes(Name, Module, Length);
        Name[Length] = 0;
        if (Context->Symbols == NULL ||
            FAILED(Context->Symbols->Methods->GetModuleByModuleName(
                Context->Symbols,
                Name,
                0,
                &Index,
                &Base))) {

            RtlWriteText(&Context->Writer,
                         "%T: no module of that name is loaded",
                         Name);
            KdContextEndLine(Context);
            return FALSE;
        }

        Status = KdKernelOpen(Context, Base, Name, TRUE, Driver);
        if (Status == STATUS_NOT_FOUND) {
            RtlWriteText(&Context->Writer,
                         "%T: the module at %016llx is not traced, or its "
                         "variables are not in memory: nothing leads to a "
                         "section",
                         Name,
                         Base);
            KdContextEndLine(Context);
            return FALSE;
        }
    }

    if (!NT_SUCCESS(Status)) {
        KdContextWriteStatus(Context, Status);
        return FALSE;
    }

    if (Driver->Problem != NULL) {
        RtlWriteText(&Context->Writer,
                     "The section at %016llx %s",
                     Driver->Address,
                     Driver->Problem);
        KdContextEndLine(Context);
        return FALSE;
    }

    return TRUE;
}
