/*++

Module Name:

    CoreHeader.c

Abstract:

    Validation of a store's header.

--*/

#include "../../TraceStore/TraceFormat.h"
#include "CoreHeader.h"

//
// What a text field may hold, and where its two lengths are.
//

typedef struct _CORE_TEXT_FIELD {
    PCSZ Field;
    ULONG LengthOffset;
    ULONG FullLengthOffset;
    ULONG Capacity;
} CORE_TEXT_FIELD;

#define CORE_TEXT(Name)                                                     \
    {                                                                       \
        #Name "Length",                                                     \
        (ULONG)offsetof(TRACE_STORE_HEADER, Name##Length),                  \
        (ULONG)offsetof(TRACE_STORE_HEADER, Name##FullLength),              \
        (ULONG)sizeof(((PTRACE_STORE_HEADER)0)->Name)                       \
    }

static const CORE_TEXT_FIELD CoreTextFields[] = {
    CORE_TEXT(ModulePath),
    CORE_TEXT(ProcessPath),
    CORE_TEXT(CommandLine),
    CORE_TEXT(PdbPath),
    CORE_TEXT(ThreadName),
};

//
// An image is mapped in multiples of the page size and is smaller than 2 GiB.
//

#define CORE_PAGE_SIZE 4096u
#define CORE_MAXIMUM_MODULE_SIZE 0x80000000u

//
// What a ring may be.  Positions in it go on for ever, so that a size far
// from 2^64 keeps every sum in range.
//
// A test may be built with smaller segments.
//

#ifndef CORE_MINIMUM_SEGMENT_SIZE
#define CORE_MINIMUM_SEGMENT_SIZE 0x10000ULL
#endif

#define CORE_MAXIMUM_RING_SIZE 0x4000000000000000ULL
#define CORE_MINIMUM_SEGMENTS 3

//
// A tree's nodes come after the room for the frames of the thread's stack.
//

#define CORE_MINIMUM_NODES_OFFSET                                           \
    (TRACE_TREE_FIRST_STACK + sizeof(TRACE_TREE_STACK) + TRACE_FRAME_SIZE)
#define CORE_MAXIMUM_TREE_SIZE 0x4000000000ULL

//
// What no processor time is above, 100 ns: 146 years.  Two of them can be
// added, and are a number of nanoseconds.
//

#define CORE_MAXIMUM_TIME (~0ULL / 400)


//
// Fills a result.
// Result: the other arguments.
// State: what the header is.
// FileOffset: of the field in question, in bytes.
// Field: its name, a literal.
// Problem: what is wrong with it, a literal.
// Value: what it holds.
//

static
VOID
CoreSetHeaderResult(
    _Out_ PCORE_HEADER_RESULT Result,
    _In_ CORE_HEADER_STATE State,
    _In_ ULONG FileOffset,
    _In_z_ PCSZ Field,
    _In_z_ PCSZ Problem,
    _In_ ULONGLONG Value
    )
{
    Result->State = State;
    Result->FileOffset = FileOffset;
    Result->Field = Field;
    Result->Problem = Problem;
    Result->Value = Value;
}

#define CORE_BAD_FIELD(Name, Problem)                                       \
    CoreSetHeaderResult(Result,                                             \
                        CoreHeaderBad,                                      \
                        (ULONG)offsetof(TRACE_STORE_HEADER, Name),          \
                        #Name,                                              \
                        Problem,                                            \
                        (ULONGLONG)Header->Name)


//
// Checks that every text lies in its array.
// Result: the first field that is bad; untouched otherwise.
// Returns TRUE if all are good.
//

static
BOOLEAN
CoreValidateTexts(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PCORE_HEADER_RESULT Result
    )
{
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(CoreTextFields); Index++) {

        const CORE_TEXT_FIELD *Text = &CoreTextFields[Index];
        const UCHAR *Bytes = (const UCHAR *)Header;
        ULONG Capacity = Text->Capacity;
        ULONG Length = *(const ULONG *)(const VOID *)
                           (Bytes + Text->LengthOffset);
        ULONG FullLength = *(const ULONG *)(const VOID *)
                               (Bytes + Text->FullLengthOffset);

        if (Text->LengthOffset ==
                offsetof(TRACE_STORE_HEADER, PdbPathLength) &&
            Header->MinorVersion < TRACE_MINOR_TIMES) {
            Capacity = TRACE_PDB_PATH_BEFORE;
        }

        if (Length > Capacity) {
            CoreSetHeaderResult(Result,
                                CoreHeaderBad,
                                Text->LengthOffset,
                                Text->Field,
                                "is more than the field can hold",
                                Length);
            return FALSE;
        }

        if (FullLength < Length) {
            CoreSetHeaderResult(Result,
                                CoreHeaderBad,
                                Text->LengthOffset,
                                Text->Field,
                                "is more than the whole text's length",
                                Length);
            return FALSE;
        }
    }

    return TRUE;
}


//
// Checks where a ring is: behind one segment's worth of the file, and of three
// segments at least.
// Result: the first field that is bad; untouched otherwise.
// Returns TRUE if there is no ring, or a possible one.
//

static
BOOLEAN
CoreValidateRing(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PCORE_HEADER_RESULT Result
    )
{
    ULONGLONG Segment = Header->RingFileOffset;

    if (Header->RingSizeInBytes == 0 && Header->Mode != TRACE_MODE_COMPACT) {
        return TRUE;
    }

    if (Segment < CORE_MINIMUM_SEGMENT_SIZE ||
        Segment < Header->HeaderSize ||
        Segment > CORE_MAXIMUM_RING_SIZE ||
        (Segment & (Segment - 1)) != 0) {
        CORE_BAD_FIELD(RingFileOffset, "is not a possible segment's size");
        return FALSE;
    }

    if (Header->RingSizeInBytes > CORE_MAXIMUM_RING_SIZE ||
        Header->RingSizeInBytes % Segment != 0 ||
        Header->RingSizeInBytes / Segment < CORE_MINIMUM_SEGMENTS) {
        CORE_BAD_FIELD(RingSizeInBytes,
                       "is not three segments or more of RingFileOffset "
                       "bytes");
        return FALSE;
    }

    //
    // The first segment that is given up is the ring's first, and all before
    // the ring goes with it.  Of a compact store it is where a view begins.
    //

    if (Header->Mode == TRACE_MODE_COMPACT) {
        return TRUE;
    }

    if (Header->FirstPosition % Segment != 0 ||
        Header->FirstPosition == Segment) {
        CORE_BAD_FIELD(FirstPosition, "is not where a segment begins");
        return FALSE;
    }

    return TRUE;
}


//
// Checks what the header of a compact store says of its blocks, except for what
// changes while it is written.
// Result: the first field that is bad; untouched otherwise.
// Returns TRUE if all are possible.
//

static
BOOLEAN
CoreValidateCompact(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PCORE_HEADER_RESULT Result
    )
{
    if (Header->BlocksFileOffset < Header->RingFileOffset ||
        Header->BlocksFileOffset > CORE_MAXIMUM_RING_SIZE ||
        Header->BlocksFileOffset % CORE_MINIMUM_SEGMENT_SIZE != 0) {
        CORE_BAD_FIELD(BlocksFileOffset, "is not where blocks can be");
        return FALSE;
    }

    if (Header->BlocksCapacity > CORE_MAXIMUM_RING_SIZE ||
        Header->BlocksCapacity % CORE_MINIMUM_SEGMENT_SIZE != 0) {
        CORE_BAD_FIELD(BlocksCapacity, "is not a possible size");
        return FALSE;
    }

    return TRUE;
}


//
// Checks what the header says of a tree: where its nodes are, behind the room
// for one open frame at least, and how many there are.
// Result: the first field that is bad; untouched otherwise.
// Returns TRUE if all are possible.
//

static
BOOLEAN
CoreValidateTree(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PCORE_HEADER_RESULT Result
    )
{
    if (Header->RecordSize != TRACE_NODE_SIZE) {
        CORE_BAD_FIELD(RecordSize, "is not 128, a node's");
        return FALSE;
    }

    if (Header->HeaderSize != TRACE_HEADER_SIZE) {
        CORE_BAD_FIELD(HeaderSize, "is not 4096, which a tree requires");
        return FALSE;
    }

    if (Header->Clock == TRACE_CLOCK_NONE) {
        CORE_BAD_FIELD(Clock, "is NONE, which a tree cannot use");
        return FALSE;
    }

    if (Header->RingSizeInBytes != 0) {
        CORE_BAD_FIELD(RingSizeInBytes, "is not 0: a tree is no ring");
        return FALSE;
    }

    if (Header->NodesFileOffset < CORE_MINIMUM_NODES_OFFSET ||
        Header->NodesFileOffset > CORE_MAXIMUM_TREE_SIZE ||
        Header->NodesFileOffset % sizeof(ULONGLONG) != 0) {
        CORE_BAD_FIELD(NodesFileOffset, "is not where nodes can be");
        return FALSE;
    }

    if (Header->NumberOfNodes > CORE_MAXIMUM_TREE_SIZE / TRACE_NODE_SIZE) {
        CORE_BAD_FIELD(NumberOfNodes, "is more than a store can have");
        return FALSE;
    }

    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
CoreValidateHeader(
    const VOID *Bytes,
    SIZE_T SizeInBytes,
    PCORE_HEADER_RESULT Result
    )
{
    PCTRACE_STORE_HEADER Header = (PCTRACE_STORE_HEADER)Bytes;
    const UCHAR *FirstBytes = (const UCHAR *)Bytes;
    SIZE_T Index;
    UCHAR AnyBit;

    CoreSetHeaderResult(Result, CoreHeaderValid, 0, "", "", 0);

    //
    // The writer creates an empty file, extends it with zeroes, fills the
    // header and stores the magic last.  So no magic yet is not damage.
    //

    AnyBit = 0;
    for (Index = 0; Index < SizeInBytes && Index < 8; Index++) {
        AnyBit |= FirstBytes[Index];
    }

    if (AnyBit == 0) {
        Result->State = CoreHeaderBeingCreated;
        return FALSE;
    }

    if (SizeInBytes >= 8 && Header->Magic != TRACE_STORE_MAGIC) {
        CoreSetHeaderResult(Result,
                            CoreHeaderForeign,
                            0,
                            "Magic",
                            "is not a trace store's",
                            Header->Magic);
        return FALSE;
    }

    if (SizeInBytes < TRACE_HEADER_SIZE) {
        CoreSetHeaderResult(Result,
                            CoreHeaderTooShort,
                            (ULONG)SizeInBytes,
                            "file size",
                            "is less than a header's",
                            SizeInBytes);
        return FALSE;
    }

    if (Header->MajorVersion > TRACE_FORMAT_MAJOR_COMPACT ||
        (Header->MajorVersion == TRACE_FORMAT_MAJOR_COMPACT &&
         Header->Mode != TRACE_MODE_COMPACT)) {
        CoreSetHeaderResult(Result,
                            CoreHeaderNewerVersion,
                            (ULONG)offsetof(TRACE_STORE_HEADER, MajorVersion),
                            "MajorVersion",
                            "is newer than this reader",
                            Header->MajorVersion);
        return FALSE;
    }

    if (Header->MajorVersion < TRACE_FORMAT_MAJOR) {
        CORE_BAD_FIELD(MajorVersion, "never existed");
        return FALSE;
    }

    if (Header->HeaderSize < TRACE_HEADER_SIZE ||
        Header->HeaderSize > CORE_MAXIMUM_HEADER_SIZE ||
        Header->HeaderSize % TRACE_RECORD_SIZE != 0) {
        CORE_BAD_FIELD(HeaderSize, "is not a possible size");
        return FALSE;
    }

    if (Header->Mode > TRACE_MODE_TREE &&
        (Header->Mode != TRACE_MODE_COMPACT ||
         Header->MajorVersion != TRACE_FORMAT_MAJOR_COMPACT)) {
        CORE_BAD_FIELD(Mode, "is not a known mode");
        return FALSE;
    }

    if (Header->Mode != TRACE_MODE_TREE &&
        Header->RecordSize != TRACE_RECORD_SIZE) {
        CORE_BAD_FIELD(RecordSize, "is not 16");
        return FALSE;
    }

    if ((Header->StackBase != 0 || Header->StackLimit != 0) &&
        (Header->StackBase <= Header->StackLimit ||
         Header->StackBase - Header->StackLimit > 0xFFFFFFFFULL)) {
        CORE_BAD_FIELD(StackBase, "and StackLimit do not describe a possible "
                                  "stack");
        return FALSE;
    }

    if (Header->State < TRACE_STATE_OPEN ||
        Header->State > TRACE_STATE_STOPPED) {
        CORE_BAD_FIELD(State, "is not a known state");
        return FALSE;
    }

    if (Header->ModuleBase == 0 ||
        Header->ModuleBase % CORE_PAGE_SIZE != 0) {
        CORE_BAD_FIELD(ModuleBase, "is not a possible image base");
        return FALSE;
    }

    if (Header->ModuleSize == 0 ||
        Header->ModuleSize > CORE_MAXIMUM_MODULE_SIZE) {
        CORE_BAD_FIELD(ModuleSize, "is not a possible image size");
        return FALSE;
    }

    if (Header->Clock > TRACE_CLOCK_NONE) {
        CORE_BAD_FIELD(Clock, "is not a known clock");
        return FALSE;
    }

    if (Header->Mode == TRACE_MODE_TREE &&
        !CoreValidateTree(Header, Result)) {
        return FALSE;
    }

    return CoreValidateRing(Header, Result) &&
           (Header->Mode != TRACE_MODE_COMPACT ||
            CoreValidateCompact(Header, Result)) &&
           CoreValidateTexts(Header, Result);
}

_Use_decl_annotations_
BOOLEAN
CoreGetThreadTimes(
    PCTRACE_STORE_HEADER Header,
    PULONGLONG Begin,
    PULONGLONG End
    )
{
    const ULONG Wanted = TRACE_TIMES_OPEN | TRACE_TIMES_END;

    if (Header->MinorVersion < TRACE_MINOR_TIMES ||
        (Header->TimesValid & Wanted) != Wanted ||
        Header->EndUserTime < Header->OpenUserTime ||
        Header->EndKernelTime < Header->OpenKernelTime ||
        Header->EndUserTime > CORE_MAXIMUM_TIME ||
        Header->EndKernelTime > CORE_MAXIMUM_TIME) {
        return FALSE;
    }

    *Begin = Header->OpenUserTime + Header->OpenKernelTime;
    *End = Header->EndUserTime + Header->EndKernelTime;
    return TRUE;
}

_Use_decl_annotations_
ULONGLONG
CoreGetThreadCreation(
    PCTRACE_STORE_HEADER Header
    )
{
    return Header->MinorVersion < TRACE_MINOR_TIMES ||
                   (Header->TimesValid & TRACE_TIMES_CREATED) == 0
               ? 0
               : Header->ThreadCreationTime;
}

_Use_decl_annotations_
BOOLEAN
CoreGetProcessTime(
    PCTRACE_STORE_HEADER Header,
    PULONGLONG Time
    )
{
    if (Header->MinorVersion < TRACE_MINOR_TIMES ||
        (Header->TimesValid & TRACE_TIMES_PROCESS) == 0 ||
        Header->ProcessUserTime > CORE_MAXIMUM_TIME ||
        Header->ProcessKernelTime > CORE_MAXIMUM_TIME) {
        return FALSE;
    }

    *Time = Header->ProcessUserTime + Header->ProcessKernelTime;
    return TRUE;
}
