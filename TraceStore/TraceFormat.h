/*++

Module Name:

    TraceFormat.h

Abstract:

    The on-disk format of a trace store: one 4,096-byte header, then 16-byte
    records until the end that the header publishes.  This is the one header
    that a third party needs; it depends on stdint.h and stddef.h alone and
    compiles as C11 and C++11.  Docs/Format.md is the normative text.

    All values are little endian.  "File offset" is in bytes from the start of
    the file.  Times named SystemTime are FILETIMEs: 100 ns units since
    1601-01-01 UTC.

--*/

#ifndef TRACER_TRACE_FORMAT_H
#define TRACER_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TRACE_FORMAT_ASSERT(Condition) static_assert(Condition, #Condition)
#else
#define TRACE_FORMAT_ASSERT(Condition) _Static_assert(Condition, #Condition)
#endif

//
// The first eight bytes of a store: "TRCSTORE".  The writer stores them last,
// when the rest of the header is complete; a file whose first eight bytes are
// zero is a store that is still being created (or whose creator was killed at
// that very moment).
//

#define TRACE_STORE_MAGIC 0x45524F5453435254ULL

//
// A reader accepts every minor version of the major version that it knows and
// refuses a higher major version.
//

#define TRACE_FORMAT_MAJOR 1
#define TRACE_FORMAT_MINOR 6

#define TRACE_HEADER_SIZE 4096
#define TRACE_RECORD_SIZE 16

//
// The file name of a store ends with this.
//

#define TRACE_FILE_SUFFIX ".trace"

//
// A record.  All-zero bytes are a record that was reserved and not (yet)
// written.  The writer stores Site and StackKind first and Timestamp last,
// with one 8-byte store: a non-zero Timestamp says that the record is whole.
//

typedef struct _TRACE_RECORD {

    //
    // What the store's clock (TRACE_STORE_HEADER.Clock) showed, in ticks of the
    // time stamp counter; with TRACE_CLOCK_NONE the record's own position.
    //

    uint64_t Timestamp;

    //
    // The low 32 bits of an address inside the module.  For _ENTER and _EXIT
    // it is the return address of the call to the hook, an address inside the
    // function; for _ENTER_FUNCTION and _EXIT_FUNCTION it is the function's
    // own first address.  (uint32_t)(Site - (uint32_t)ModuleBase) is the RVA.
    //

    uint32_t Site;

    //
    // The low 32 bits of RSP at the call to the hook (before the call pushed
    // its return address; always a multiple of 8), plus the kind in the low 3
    // bits.
    //

    uint32_t StackKind;

} TRACE_RECORD;
typedef TRACE_RECORD *PTRACE_RECORD;
typedef const TRACE_RECORD *PCTRACE_RECORD;

TRACE_FORMAT_ASSERT(sizeof(TRACE_RECORD) == TRACE_RECORD_SIZE);
TRACE_FORMAT_ASSERT(offsetof(TRACE_RECORD, Timestamp) == 0);
TRACE_FORMAT_ASSERT(offsetof(TRACE_RECORD, Site) == 8);
TRACE_FORMAT_ASSERT(offsetof(TRACE_RECORD, StackKind) == 12);

#define TRACE_KIND_MASK             0x7u
#define TRACE_KIND_ENTER            1u  // _penter, __fentry__
#define TRACE_KIND_EXIT             2u  // _pexit, __return__
#define TRACE_KIND_ENTER_FUNCTION   3u  // __cyg_profile_func_enter
#define TRACE_KIND_EXIT_FUNCTION    4u  // __cyg_profile_func_exit

//
// Of no hook's call: every open call of the stack whose RSP is below this one's
// has been left.  Site is that of the entry that follows.
//

#define TRACE_KIND_GONE             5u

//
// Values of TRACE_STORE_HEADER.Mode: what follows the header.
//

#define TRACE_MODE_RECORDS          0u  // records, one for each hook call
#define TRACE_MODE_TREE             1u  // a calling-context tree ("Trees")
#define TRACE_MODE_COMPACT          2u  // records, most of them in blocks

//
// MajorVersion of a store of that mode: who knows stores of version 1 alone
// must refuse it.  MinorVersion is as in the others.
//

#define TRACE_FORMAT_MAJOR_COMPACT  2

//
// TRACE_STORE_HEADER.BlocksTail: no block lies behind the header.
//

#define TRACE_BLOCKS_NO_TAIL        0xFFFFFFFFFFFFFFFFULL

//
// One reading of the three clocks, taken together.  Check is the exclusive or
// of the other three fields; an anchor whose Check differs was torn by a
// crash or is being written, and is ignored.  An anchor of all zeroes is
// absent.
//

typedef struct _TRACE_CLOCK_ANCHOR {
    uint64_t Tsc;               // rdtsc, ticks
    uint64_t Qpc;               // QueryPerformanceCounter, counts
    uint64_t SystemTime;        // FILETIME, UTC
    uint64_t Check;             // Tsc ^ Qpc ^ SystemTime
} TRACE_CLOCK_ANCHOR;
typedef TRACE_CLOCK_ANCHOR *PTRACE_CLOCK_ANCHOR;
typedef const TRACE_CLOCK_ANCHOR *PCTRACE_CLOCK_ANCHOR;

TRACE_FORMAT_ASSERT(sizeof(TRACE_CLOCK_ANCHOR) == 32);

//
// Values of TRACE_STORE_HEADER.State.
//

#define TRACE_STATE_OPEN            1u  // the writer may append
#define TRACE_STATE_CLOSED          2u  // ended in good order
#define TRACE_STATE_STOPPED         3u  // recording stopped early: see Reason

//
// Values of TRACE_STORE_HEADER.Reason: why the store is closed or stopped.
//

#define TRACE_REASON_NONE               0u
#define TRACE_REASON_THREAD_EXIT        1u  // closed
#define TRACE_REASON_MODULE_UNLOAD      2u  // closed
#define TRACE_REASON_PROCESS_EXIT       3u  // closed
#define TRACE_REASON_EXTEND_FAILED      4u  // stopped: the file cannot grow
#define TRACE_REASON_MAP_FAILED         5u  // stopped: no view of the file
#define TRACE_REASON_PAGE_FAILED        6u  // stopped: a page of the view
                                            // cannot be had (full disk)
#define TRACE_REASON_INVARIANT          7u  // stopped: the library found
                                            // itself inconsistent
#define TRACE_REASON_MAXIMUM_BYTES      8u  // stopped: MaximumBytes are there
#define TRACE_REASON_MINIMUM_FREE       9u  // stopped: the disk would have less
                                            // left than the user wants (1.5)

//
// Bits of TRACE_STORE_HEADER.Flags.
//

#define TRACE_FLAG_TSC_INVARIANT        0x1u    // CPUID 80000007h EDX bit 8
#define TRACE_FLAG_FIBER                0x2u    // the thread was a fiber when
                                                // the store was made: the
                                                // stack may not be its own
#define TRACE_FLAG_EXCLUDED             0x4u    // calls of hooks are taken out
                                                // of the module's code
#define TRACE_FLAG_CHRONOLOGICAL        0x8u    // of records: only what was
                                                // called inside chosen calls is
                                                // here, and all of it is in the
                                                // thread's tree, too
#define TRACE_FLAG_IMPORTS              0x10u   // the sites are those of stubs:
                                                // session.imports names them
#define TRACE_FLAG_KERNEL               0x20u   // a driver's, collected from
                                                // its rings: the process is
                                                // the collector

//
// A step of the clock thread this many times longer than the resolution is a
// freeze: the clock's thread did not run, and nor did the clock.
//

#define TRACE_CLOCK_FREEZE              64u

//
// Bits of TRACE_STORE_HEADER.HookFlags.
//

#define TRACE_HOOK_STOPPED              0x1u    // count, do not record
#define TRACE_HOOK_SHARED               0x2u    // several threads count here;
                                                // in no file
#define TRACE_HOOK_PAUSED               0x4u    // stopped from outside, until
                                                // it is started again

//
// Values of TRACE_STORE_HEADER.Clock: what a record's Timestamp is.
//

#define TRACE_CLOCK_TSC                 0u      // rdtsc
#define TRACE_CLOCK_THREAD              1u      // the latest rdtsc of a thread
                                                // that does nothing else
#define TRACE_CLOCK_NONE                2u      // no time: the position of the
                                                // record, in bytes, which
                                                // grows with every record

//
// Bits of TRACE_STORE_HEADER.TimesValid (1.5).
//

#define TRACE_TIMES_OPEN                0x1u    // OpenUserTime, OpenKernelTime
#define TRACE_TIMES_END                 0x2u    // EndUserTime, EndKernelTime
#define TRACE_TIMES_PROCESS             0x4u    // ProcessUser-, -KernelTime
#define TRACE_TIMES_CREATED             0x8u    // ThreadCreationTime

//
// The first minor versions that have processor times, before which PdbPath had
// more room, and whose trees know how long abandoned calls took.
//

#define TRACE_MINOR_TIMES               5u
#define TRACE_PDB_PATH_BEFORE           544u
#define TRACE_MINOR_ABANDONED           6u

//
// The cost of the hooks is in parts of a tick.
//

#define TRACE_PROBE_UNIT                256u

//
// Positions.  Records are numbered by their position in bytes, which counts on
// from TRACE_HEADER_SIZE for ever.  In a store that keeps everything it is the
// file offset.  In a ring (RingSizeInBytes not 0) what lies at or beyond
// RingFileOffset goes around:
//
//     file offset = position                              below RingFileOffset
//     file offset = RingFileOffset +
//         (position - RingFileOffset) % RingSizeInBytes   from there on
//
// A ring holds the records from FirstPosition on.  The writer advances
// FirstPosition before it overwrites what lies before it: a reader takes what
// it has copied only if FirstPosition, read again afterwards, is not beyond it.
//

//
// The header.  Text fields are UTF-8 without terminator; XxxLength is the
// number of bytes that are there, XxxFullLength the number that the whole
// text has (larger when it did not fit; the text is then cut at a character).
//

typedef struct _TRACE_STORE_HEADER {

    //
    // 0x000: what this is.
    //

    uint64_t Magic;                 // 0x000
    uint16_t MajorVersion;          // 0x008
    uint16_t MinorVersion;          // 0x00a
    uint32_t HeaderSize;            // 0x00c bytes; also the file offset of the
                                    //       first record
    uint32_t RecordSize;            // 0x010 bytes
    uint32_t Flags;                 // 0x014 TRACE_FLAG_*
    uint32_t ProcessId;             // 0x018
    uint32_t ThreadId;              // 0x01c
    uint64_t ProcessCreationTime;   // 0x020 FILETIME, UTC
    uint64_t StackBase;             // 0x028 highest address of the stack
    uint64_t StackLimit;            // 0x030 lowest reserved address of it
    uint32_t SequenceNumber;        // 0x038 of the file name
    uint32_t Clock;                 // 0x03c TRACE_CLOCK_*

    //
    // 0x040: the live line, one cache line, written by the traced thread and
    // nobody else.  The hook itself uses Cursor, Limit, HookFlags and
    // NumberOfEventsLost.
    //
    //     position of the end of the records = Cursor + CursorToFileOffset
    //
    // modulo 2^64, valid when Generation was even and the same before and
    // after both were read.  While Generation is odd no record can be
    // appended and the end of the records is ViewFileOffset.
    //

    uint64_t Cursor;                // 0x040 address in the writer
    uint64_t Limit;                 // 0x048 address in the writer
    uint64_t CursorToFileOffset;    // 0x050 (to the position)
    uint32_t Generation;            // 0x058 odd while the view changes
    uint32_t HookFlags;             // 0x05c TRACE_HOOK_*
    uint64_t NumberOfEventsLost;    // 0x060 hook calls since the store stopped
    uint64_t ViewFileOffset;        // 0x068 the position where the current
                                    //       view's records begin: the end of
                                    //       all before it
    uint64_t WriterContext;         // 0x070 opaque: the writer's own
    uint64_t NumberOfEventsReentered; // 0x078 hook calls from inside the
                                    //       library's own slow path

    //
    // 0x080: state and counters, written on the slow path.
    //

    uint32_t State;                 // 0x080 TRACE_STATE_*
    uint32_t Reason;                // 0x084 TRACE_REASON_*
    uint32_t Status;                // 0x088 the NTSTATUS that goes with it
    uint32_t NumberOfViewChanges;   // 0x08c
    uint32_t NumberOfViewsMappedInline; // 0x090 by the traced thread itself
    uint32_t NumberOfInlinePreparations; // 0x094 page chunks, likewise
    uint64_t InlineTicks;           // 0x098 TSC ticks the traced thread spent
                                    //       on its slow path in this store
    uint64_t MaximumInlineTicks;    // 0x0a0 the longest single one
    uint64_t FirstPosition;         // 0x0a8 of the oldest record that a ring
                                    //       still holds; 0 until one is gone
    uint64_t RingFileOffset;        // 0x0b0 see "Positions"
    uint64_t RingSizeInBytes;       // 0x0b8 0: everything is kept

    //
    // 0x0c0: clocks.
    //

    uint64_t QpcFrequency;          // 0x0c0 counts per second
    uint64_t ClockResolution;       // 0x0c8 ticks; TRACE_CLOCK_THREAD: 99 of
                                    //       100 steps are no longer
    uint64_t NumberOfClockFreezes;  // 0x0d0 TRACE_CLOCK_THREAD: steps longer
                                    //       than TRACE_CLOCK_FREEZE times the
                                    //       resolution
    uint64_t MaximumClockStep;      // 0x0d8 ticks, the longest of them
    TRACE_CLOCK_ANCHOR OpenAnchor;  // 0x0e0 when the store was created
    TRACE_CLOCK_ANCHOR LastAnchor;  // 0x100 at the latest view change or close

    //
    // 0x120: the module that the hooks were linked into.
    //

    uint64_t ModuleBase;            // 0x120 image base in the process
    uint32_t ModuleSize;            // 0x128 SizeOfImage, bytes
    uint32_t ModuleTimeDateStamp;   // 0x12c of the PE file header
    uint32_t ModuleCheckSum;        // 0x130 of the PE optional header
    uint32_t CodeViewAge;           // 0x134 0 when there is no CodeView entry
    uint8_t CodeViewGuid[16];       // 0x138 as stored in the image

    //
    // 0x148: lengths of the texts, in bytes.
    //

    uint32_t ModulePathLength;      // 0x148
    uint32_t ModulePathFullLength;  // 0x14c
    uint32_t ProcessPathLength;     // 0x150
    uint32_t ProcessPathFullLength; // 0x154
    uint32_t CommandLineLength;     // 0x158
    uint32_t CommandLineFullLength; // 0x15c
    uint32_t PdbPathLength;         // 0x160
    uint32_t PdbPathFullLength;     // 0x164
    uint32_t ThreadNameLength;      // 0x168
    uint32_t ThreadNameFullLength;  // 0x16c

    //
    // 0x170: what is left out when the user asks for that.
    //

    uint64_t MinimumDuration;       // 0x170 ticks; a call without children
                                    //       that takes less is taken back
    uint64_t NumberOfCallsTakenBack; // 0x178
    uint64_t MaximumBytes;          // 0x180 of the file; 0: no limit
    uint32_t MaximumDepth;          // 0x188 calls deeper than that are not
                                    //       recorded; 0: no limit
    uint32_t NumberOfEventsDoubtful; // 0x18c of NumberOfEventsTooDeep, of which
                                    //       it is not certain that their calls
                                    //       were deeper; 2^32 - 1: or more
    uint64_t NumberOfEventsTooDeep; // 0x190 hook calls left out for that
    uint64_t NumberOfWaits;         // 0x198 times the traced thread had to wait
                                    //       for its pages or make them itself
    uint64_t WaitTicks;             // 0x1a0 TSC ticks that this took
    uint32_t ProbeInner;            // 0x1a8 what a pair of hooks costs between
                                    //       its two time stamps, in
                                    //       TRACE_PROBE_UNITths of a TSC tick;
                                    //       0: not known
    uint32_t ProbeTotal;            // 0x1ac what it costs in all, likewise
    uint32_t Mode;                  // 0x1b0 TRACE_MODE_*
    uint32_t NumberOfActions;       // 0x1b4 of the control file, that the
                                    //       thread has carried out
    uint64_t NumberOfEventsPaused;  // 0x1b8 hook calls while recording was
                                    //       stopped from outside, up to the
                                    //       last start
    uint64_t ClearTimestamp;        // 0x1c0 of the last clearing that the
                                    //       thread has carried out; 0: none

    //
    // 0x1c8: of trees, or of compact stores, but for what says otherwise.
    // "Stream offset" is in bytes from the start of the stream of blocks.
    //

    union {                         // 0x1c8
        uint64_t NodesFileOffset;
        uint64_t BlocksFileOffset;  // compact: where the stream begins
    };
    union {                         // 0x1d0
        uint64_t NumberOfNodes;     // trees: whole ones, the root is the first
        uint64_t BlocksEnd;         // compact: stream offset, the end of all
    };
    union {                         // 0x1d8
        uint64_t BaseAddress;       // trees: of the file, in the writer: an
                                    //       address less this is a file offset
        uint64_t BlocksTail;        // compact: stream offset; what is behind it
                                    //       is right behind the header
    };
    union {                         // 0x1e0
        uint64_t NumberOfUnmatchedExits;
        uint64_t NumberOfCallsDoubtful; // records: calls that took less than
                                    //       MinimumDuration and were kept, as
                                    //       it is not known whether the latest
                                    //       entry was theirs
    };
    union {                         // 0x1e8
        uint64_t StackFileOffset;   // trees: of the TRACE_TREE_STACK in use
        uint64_t BlocksFirst;       // compact: stream offset of the oldest
    };
    uint32_t ParentProcessId;       // 0x1f0 of the process that started this
                                    //       one; 0: not known
    union {                         // 0x1f4
        uint32_t NumberOfModules;   // trees: further ones, of TRACE_TREE_MODULE
        uint32_t NumberOfBlocksInline; // compact: that the traced thread
                                    //       encoded itself
    };
    union {                         // 0x1f8
        uint64_t NumberOfCallsCleared; // trees: calls that clearings took out
                                    //       of the nodes, but for those that
                                    //       were open and are in them
        uint64_t BlocksCapacity;    // compact: bytes that the stream goes
                                    //       around in; 0: without limit
    };

    //
    // 0x200: the texts.
    //

    char ModulePath[1056];          // 0x200
    char ProcessPath[1056];         // 0x620
    char CommandLine[768];          // 0xa40
    char PdbPath[480];              // 0xd40 (before 1.5: 544)

    //
    // 0xf20: processor times, in 100 ns, as the system counts them.  Up to
    // minor version 4 this is the end of PdbPath.
    //

    uint64_t OpenUserTime;          // 0xf20 of the thread, when the store was
    uint64_t OpenKernelTime;        // 0xf28 made
    uint64_t EndUserTime;           // 0xf30 of the thread, when it ended the
    uint64_t EndKernelTime;         // 0xf38 store itself
    uint64_t ProcessUserTime;       // 0xf40 of the process at the end of the
    uint64_t ProcessKernelTime;     // 0xf48 store
    uint32_t TimesValid;            // 0xf50 TRACE_TIMES_*: which are there
    uint32_t Reserved1;             // 0xf54
    uint64_t ThreadCreationTime;    // 0xf58 FILETIME, UTC

    char ThreadName[160];           // 0xf60

} TRACE_STORE_HEADER;
typedef TRACE_STORE_HEADER *PTRACE_STORE_HEADER;
typedef const TRACE_STORE_HEADER *PCTRACE_STORE_HEADER;

#define TRACE_FORMAT_ASSERT_OFFSET(Field, Offset) \
    TRACE_FORMAT_ASSERT(offsetof(TRACE_STORE_HEADER, Field) == (Offset))

TRACE_FORMAT_ASSERT(sizeof(TRACE_STORE_HEADER) == TRACE_HEADER_SIZE);
TRACE_FORMAT_ASSERT_OFFSET(Magic, 0x000);
TRACE_FORMAT_ASSERT_OFFSET(MajorVersion, 0x008);
TRACE_FORMAT_ASSERT_OFFSET(MinorVersion, 0x00a);
TRACE_FORMAT_ASSERT_OFFSET(HeaderSize, 0x00c);
TRACE_FORMAT_ASSERT_OFFSET(RecordSize, 0x010);
TRACE_FORMAT_ASSERT_OFFSET(Flags, 0x014);
TRACE_FORMAT_ASSERT_OFFSET(ProcessId, 0x018);
TRACE_FORMAT_ASSERT_OFFSET(ThreadId, 0x01c);
TRACE_FORMAT_ASSERT_OFFSET(ProcessCreationTime, 0x020);
TRACE_FORMAT_ASSERT_OFFSET(StackBase, 0x028);
TRACE_FORMAT_ASSERT_OFFSET(StackLimit, 0x030);
TRACE_FORMAT_ASSERT_OFFSET(SequenceNumber, 0x038);
TRACE_FORMAT_ASSERT_OFFSET(Clock, 0x03c);
TRACE_FORMAT_ASSERT_OFFSET(Cursor, 0x040);
TRACE_FORMAT_ASSERT_OFFSET(Limit, 0x048);
TRACE_FORMAT_ASSERT_OFFSET(CursorToFileOffset, 0x050);
TRACE_FORMAT_ASSERT_OFFSET(Generation, 0x058);
TRACE_FORMAT_ASSERT_OFFSET(HookFlags, 0x05c);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfEventsLost, 0x060);
TRACE_FORMAT_ASSERT_OFFSET(ViewFileOffset, 0x068);
TRACE_FORMAT_ASSERT_OFFSET(WriterContext, 0x070);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfEventsReentered, 0x078);
TRACE_FORMAT_ASSERT_OFFSET(State, 0x080);
TRACE_FORMAT_ASSERT_OFFSET(Reason, 0x084);
TRACE_FORMAT_ASSERT_OFFSET(Status, 0x088);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfViewChanges, 0x08c);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfViewsMappedInline, 0x090);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfInlinePreparations, 0x094);
TRACE_FORMAT_ASSERT_OFFSET(InlineTicks, 0x098);
TRACE_FORMAT_ASSERT_OFFSET(MaximumInlineTicks, 0x0a0);
TRACE_FORMAT_ASSERT_OFFSET(FirstPosition, 0x0a8);
TRACE_FORMAT_ASSERT_OFFSET(RingFileOffset, 0x0b0);
TRACE_FORMAT_ASSERT_OFFSET(RingSizeInBytes, 0x0b8);
TRACE_FORMAT_ASSERT_OFFSET(QpcFrequency, 0x0c0);
TRACE_FORMAT_ASSERT_OFFSET(ClockResolution, 0x0c8);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfClockFreezes, 0x0d0);
TRACE_FORMAT_ASSERT_OFFSET(MaximumClockStep, 0x0d8);
TRACE_FORMAT_ASSERT_OFFSET(OpenAnchor, 0x0e0);
TRACE_FORMAT_ASSERT_OFFSET(LastAnchor, 0x100);
TRACE_FORMAT_ASSERT_OFFSET(ModuleBase, 0x120);
TRACE_FORMAT_ASSERT_OFFSET(ModuleSize, 0x128);
TRACE_FORMAT_ASSERT_OFFSET(ModuleTimeDateStamp, 0x12c);
TRACE_FORMAT_ASSERT_OFFSET(ModuleCheckSum, 0x130);
TRACE_FORMAT_ASSERT_OFFSET(CodeViewAge, 0x134);
TRACE_FORMAT_ASSERT_OFFSET(CodeViewGuid, 0x138);
TRACE_FORMAT_ASSERT_OFFSET(ModulePathLength, 0x148);
TRACE_FORMAT_ASSERT_OFFSET(ModulePathFullLength, 0x14c);
TRACE_FORMAT_ASSERT_OFFSET(ProcessPathLength, 0x150);
TRACE_FORMAT_ASSERT_OFFSET(ProcessPathFullLength, 0x154);
TRACE_FORMAT_ASSERT_OFFSET(CommandLineLength, 0x158);
TRACE_FORMAT_ASSERT_OFFSET(CommandLineFullLength, 0x15c);
TRACE_FORMAT_ASSERT_OFFSET(PdbPathLength, 0x160);
TRACE_FORMAT_ASSERT_OFFSET(PdbPathFullLength, 0x164);
TRACE_FORMAT_ASSERT_OFFSET(ThreadNameLength, 0x168);
TRACE_FORMAT_ASSERT_OFFSET(ThreadNameFullLength, 0x16c);
TRACE_FORMAT_ASSERT_OFFSET(MinimumDuration, 0x170);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfCallsTakenBack, 0x178);
TRACE_FORMAT_ASSERT_OFFSET(MaximumBytes, 0x180);
TRACE_FORMAT_ASSERT_OFFSET(MaximumDepth, 0x188);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfEventsTooDeep, 0x190);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfWaits, 0x198);
TRACE_FORMAT_ASSERT_OFFSET(WaitTicks, 0x1a0);
TRACE_FORMAT_ASSERT_OFFSET(ProbeInner, 0x1a8);
TRACE_FORMAT_ASSERT_OFFSET(ProbeTotal, 0x1ac);
TRACE_FORMAT_ASSERT_OFFSET(Mode, 0x1b0);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfActions, 0x1b4);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfEventsPaused, 0x1b8);
TRACE_FORMAT_ASSERT_OFFSET(ClearTimestamp, 0x1c0);
TRACE_FORMAT_ASSERT_OFFSET(NodesFileOffset, 0x1c8);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfNodes, 0x1d0);
TRACE_FORMAT_ASSERT_OFFSET(BlocksTail, 0x1d8);
TRACE_FORMAT_ASSERT_OFFSET(BlocksFirst, 0x1e8);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfBlocksInline, 0x1f4);
TRACE_FORMAT_ASSERT_OFFSET(BlocksCapacity, 0x1f8);
TRACE_FORMAT_ASSERT_OFFSET(BaseAddress, 0x1d8);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfUnmatchedExits, 0x1e0);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfCallsDoubtful, 0x1e0);
TRACE_FORMAT_ASSERT_OFFSET(StackFileOffset, 0x1e8);
TRACE_FORMAT_ASSERT_OFFSET(ParentProcessId, 0x1f0);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfModules, 0x1f4);
TRACE_FORMAT_ASSERT_OFFSET(NumberOfCallsCleared, 0x1f8);
TRACE_FORMAT_ASSERT_OFFSET(ModulePath, 0x200);
TRACE_FORMAT_ASSERT_OFFSET(ProcessPath, 0x620);
TRACE_FORMAT_ASSERT_OFFSET(CommandLine, 0xa40);
TRACE_FORMAT_ASSERT_OFFSET(PdbPath, 0xd40);
TRACE_FORMAT_ASSERT_OFFSET(OpenUserTime, 0xf20);
TRACE_FORMAT_ASSERT_OFFSET(OpenKernelTime, 0xf28);
TRACE_FORMAT_ASSERT_OFFSET(EndUserTime, 0xf30);
TRACE_FORMAT_ASSERT_OFFSET(EndKernelTime, 0xf38);
TRACE_FORMAT_ASSERT_OFFSET(ProcessUserTime, 0xf40);
TRACE_FORMAT_ASSERT_OFFSET(ProcessKernelTime, 0xf48);
TRACE_FORMAT_ASSERT_OFFSET(TimesValid, 0xf50);
TRACE_FORMAT_ASSERT_OFFSET(ThreadName, 0xf60);

//
// Trees.  In a store of TRACE_MODE_TREE, RecordSize is that of a node.  The
// thread writes it and nobody else; every field is written by one store of its
// own size, so that none is ever torn.  What belongs together is not written at
// once: a reader reads the nodes first, in order, then the open frames, and
// counts the time of a frame only if it was open before the first node was
// read; it takes differences that come out negative for 0.  While Generation is
// odd the tree is being cleared: the reader begins again.
//
// "Writer address" fields are the thread's own and mean nothing to a reader,
// but for the frames' Node: address - BaseAddress is its file offset.
//
// The self time of a node is Total less the Total of its children less Away.
// The call that is open at a node (there is one at most, but for
// TRACE_NODE_OTHER) is in Calls and not yet in Total.
//

#define TRACE_NODE_SIZE 128

typedef struct _TRACE_NODE {

    //
    // 0x00: the line that the hooks use.
    //

    uint64_t Calls;                 // 0x00 entries
    uint64_t Total;                 // 0x08 ticks, of the calls that have ended
    uint64_t Minimum;               // 0x10 ticks; all ones: none has ended
    uint64_t Maximum;               // 0x18 ticks
    uint64_t LastChild;             // 0x20 writer address
    uint32_t Site;                  // 0x28 as a record's; 0: root and other
    uint32_t FrameSize;             // 0x2c from RSP at the entry hook's call up
                                    //      to the return address, bytes
    uint32_t Place;                 // 0x30 the low 32 bits of a return address
                                    //      in the parent's own function, where
                                    //      it was called from; 0: none yet
    uint32_t Reserved1;             // 0x34
    uint32_t Kind;                  // 0x38 TRACE_KIND_ENTER or _ENTER_FUNCTION;
                                    //      0: root and other
    uint32_t Flags;                 // 0x3c TRACE_NODE_*

    //
    // 0x40: the rest.
    //

    uint64_t First;                 // 0x40 ticks, of the first call that ended
                                    //      by its exit
    uint64_t Abandoned;             // 0x48 calls that ended without an exit; in
                                    //      Calls and, up to when that was seen,
                                    //      in Total
    uint64_t Away;                  // 0x50 ticks that other stacks of the
                                    //      thread ran while this was innermost
    uint64_t HashNext;              // 0x58 writer address
    uint64_t Parent;                // 0x60 index of the parent; the root's is
                                    //      its own, 0
    uint64_t OtherChild;            // 0x68 writer address, or 0
    uint32_t Module;                // 0x70 0: that of the header; else the
                                    //      number of a TRACE_TREE_MODULE
    uint32_t Reserved2;             // 0x74
    uint64_t AbandonedTotal;        // 0x78 ticks of them, in Total

} TRACE_NODE;
typedef TRACE_NODE *PTRACE_NODE;
typedef const TRACE_NODE *PCTRACE_NODE;

TRACE_FORMAT_ASSERT(sizeof(TRACE_NODE) == TRACE_NODE_SIZE);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Total) == 0x08);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Minimum) == 0x10);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Maximum) == 0x18);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, LastChild) == 0x20);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Site) == 0x28);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, FrameSize) == 0x2c);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Place) == 0x30);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, OtherChild) == 0x68);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Kind) == 0x38);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Flags) == 0x3c);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, First) == 0x40);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Abandoned) == 0x48);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Away) == 0x50);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, HashNext) == 0x58);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Parent) == 0x60);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, Module) == 0x70);
TRACE_FORMAT_ASSERT(offsetof(TRACE_NODE, AbandonedTotal) == 0x78);

//
// A node for all the functions that its parent calls and that have no nodes of
// their own, for lack of room, and for all that those call: their calls are in
// Calls, and only the outermost's time is in Total.
//

#define TRACE_NODE_OTHER            0x1u

//
// A node of a function whose calls are recorded, with all that they call, in a
// store of TRACE_FLAG_CHRONOLOGICAL, too.
//

#define TRACE_NODE_CHRONOLOGICAL    0x2u

//
// The FrameSize of a function that saves its static chain around the call of
// the entry hook: its frames' Stack is 8 above RSP at that call, where the exit
// hook has it, and its return address is there.
//

#define TRACE_FRAME_SIZE_CHAIN      0xFFFFFFFFu

//
// A node that the hooks do not find by themselves, since the low 32 bits of its
// address lie in another module, too.
//

#define TRACE_NODE_HIDDEN           0x4u

//
// A module whose functions have nodes in the tree, beside that of the header.
// Number n, from 1 to NumberOfModules, lies n * TRACE_TREE_MODULE_SIZE before
// the nodes.  It is whole before it is counted, and never changes.
//

#define TRACE_TREE_MODULE_SIZE 2048
#define TRACE_TREE_MODULES 63

typedef struct _TRACE_TREE_MODULE {
    uint64_t ModuleBase;            // 0x000 as in the header, this and all that
    uint32_t ModuleSize;            // 0x008 follows
    uint32_t ModuleTimeDateStamp;   // 0x00c
    uint32_t ModuleCheckSum;        // 0x010
    uint32_t CodeViewAge;           // 0x014
    uint8_t CodeViewGuid[16];       // 0x018
    uint32_t ModulePathLength;      // 0x028
    uint32_t ModulePathFullLength;  // 0x02c
    uint32_t PdbPathLength;         // 0x030
    uint32_t PdbPathFullLength;     // 0x034
    uint32_t Flags;                 // 0x038 TRACE_FLAG_EXCLUDED, _IMPORTS
    uint32_t Reserved1;             // 0x03c
    uint64_t JoinTimestamp;         // 0x040 rdtsc, when it was entered here
    uint64_t Reserved2[7];          // 0x048
    char ModulePath[1056];          // 0x080
    char PdbPath[544];              // 0x4a0
    uint8_t Reserved3[320];         // 0x6c0
} TRACE_TREE_MODULE;
typedef TRACE_TREE_MODULE *PTRACE_TREE_MODULE;
typedef const TRACE_TREE_MODULE *PCTRACE_TREE_MODULE;

TRACE_FORMAT_ASSERT(sizeof(TRACE_TREE_MODULE) == TRACE_TREE_MODULE_SIZE);
TRACE_FORMAT_ASSERT(offsetof(TRACE_TREE_MODULE, CodeViewGuid) == 0x18);
TRACE_FORMAT_ASSERT(offsetof(TRACE_TREE_MODULE, JoinTimestamp) == 0x40);
TRACE_FORMAT_ASSERT(offsetof(TRACE_TREE_MODULE, ModulePath) == 0x80);
TRACE_FORMAT_ASSERT(offsetof(TRACE_TREE_MODULE, PdbPath) == 0x4a0);

//
// An open call.  The frames of a stack lie one behind the other, the outermost
// first; the first of all is none: its Node is the root.
//

#define TRACE_FRAME_SIZE 32

typedef struct _TRACE_FRAME {
    uint64_t Stack;                 // 0x00 RSP at the entry hook's call; of the
                                    //      first: all ones
    uint64_t Start;                 // 0x08 time stamp
    uint64_t Node;                  // 0x10 writer address
    uint64_t Flags;                 // 0x18 TRACE_FRAME_*
} TRACE_FRAME;
typedef TRACE_FRAME *PTRACE_FRAME;
typedef const TRACE_FRAME *PCTRACE_FRAME;

TRACE_FORMAT_ASSERT(sizeof(TRACE_FRAME) == TRACE_FRAME_SIZE);
TRACE_FORMAT_ASSERT(offsetof(TRACE_FRAME, Start) == 0x08);
TRACE_FORMAT_ASSERT(offsetof(TRACE_FRAME, Node) == 0x10);
TRACE_FORMAT_ASSERT(offsetof(TRACE_FRAME, Flags) == 0x18);

//
// The call was open when recording was started again, or its time was set back
// by a clearing: it may have ended unseen.
//

#define TRACE_FRAME_STALE           0x1u

//
// What comes before the frames of a stack: the thread's own, or a fiber's.  The
// innermost open frame of the stack in use (TRACE_STORE_HEADER.StackFileOffset)
// is at the writer address Cursor; that of another stack at Top.
//

typedef struct _TRACE_TREE_STACK {
    uint64_t StackBase;             // 0x00 highest address of the stack
    uint64_t Top;                   // 0x08 writer address; of the stack in use
                                    //      that of an earlier time
    uint64_t End;                   // 0x10 writer address: end of the frames'
                                    //      room
    uint64_t LeftTimestamp;         // 0x18 when another stack took over; 0: it
                                    //      has not
    uint64_t NextFileOffset;        // 0x20 of another stack; 0: the last
    uint64_t Reserved[3];           // 0x28
} TRACE_TREE_STACK;
typedef TRACE_TREE_STACK *PTRACE_TREE_STACK;
typedef const TRACE_TREE_STACK *PCTRACE_TREE_STACK;

TRACE_FORMAT_ASSERT(sizeof(TRACE_TREE_STACK) == 64);

//
// The thread's own stack comes directly behind the header; what others there
// are is found through NextFileOffset.
//

#define TRACE_TREE_FIRST_STACK TRACE_HEADER_SIZE

//
// The control file of a session, which is steered through it while it runs: a
// header of TRACE_CONTROL_HEADER_SIZE bytes, then actions.  Everyone maps it
// for writing, and whoever wants something appends an action: makes sure that
// the page of the next place is there (the file grows, and never shrinks),
// claims it by raising NumberClaimed by 1, fills it, and writes Kind last.
// Before 1.4 the file did not grow, and NumberClaimed may be more than it has.
//

#define TRACE_CONTROL_FILE_NAME "session.control"
#define TRACE_CONTROL_MAGIC 0x4C52544E4F435254ULL  // "TRCONTRL"
#define TRACE_CONTROL_HEADER_SIZE 4096
#define TRACE_CONTROL_ACTION_SIZE 128
#define TRACE_CONTROL_INSTANCES 64

//
// Who appends a mark or a name makes sure that there are pages for so many
// places more: they are for stop, start and clear when the disk is full.
//

#define TRACE_CONTROL_SPARE 128

//
// A module instance that follows the control file.
//

typedef struct _TRACE_CONTROL_INSTANCE {
    uint64_t ModuleBase;            // 0x00 0: free
    uint32_t NumberSeen;            // 0x08 actions, by the library's worker
    uint32_t State;                 // 0x0c TRACE_ACTION_START or _STOP, and
                                    //      from 1.4 on perhaps
                                    //      TRACE_CONTROL_FOLLOWS
} TRACE_CONTROL_INSTANCE;

//
// A thread of the library looks at the file all the time.  Without it the
// instance follows when a thread of the program comes by.
//

#define TRACE_CONTROL_FOLLOWS 0x100u

TRACE_FORMAT_ASSERT(sizeof(TRACE_CONTROL_INSTANCE) == 16);

typedef struct _TRACE_CONTROL {
    uint64_t Magic;                 // 0x00 written last
    uint16_t MajorVersion;          // 0x08 those of the stores
    uint16_t MinorVersion;          // 0x0a
    uint32_t ProcessId;             // 0x0c
    uint64_t ProcessCreationTime;   // 0x10 FILETIME, UTC
    uint32_t Capacity;              // 0x18 actions, when the file was made
    uint32_t NumberClaimed;         // 0x1c
    uint64_t NumberLeftOut;         // 0x20 actions of the process itself that
                                    //      could not be written (1.4)
    uint64_t Reserved[3];           // 0x28
    TRACE_CONTROL_INSTANCE Instances[TRACE_CONTROL_INSTANCES]; // 0x40
} TRACE_CONTROL;
typedef TRACE_CONTROL *PTRACE_CONTROL;
typedef const TRACE_CONTROL *PCTRACE_CONTROL;

TRACE_FORMAT_ASSERT(sizeof(TRACE_CONTROL) <= TRACE_CONTROL_HEADER_SIZE);
TRACE_FORMAT_ASSERT(offsetof(TRACE_CONTROL, Instances) == 0x40);

//
// Values of TRACE_CONTROL_ACTION.Kind.
//

#define TRACE_ACTION_NONE           0u      // claimed, not written (yet)
#define TRACE_ACTION_START          1u
#define TRACE_ACTION_STOP           2u
#define TRACE_ACTION_CLEAR          3u      // what was recorded before does not
                                            // count any more
#define TRACE_ACTION_MARK           4u      // a named instant
#define TRACE_ACTION_NAME           5u      // the thread's name
#define TRACE_ACTION_VOID           6u      // given up: whoever claimed it has
                                            // not written it

typedef struct _TRACE_CONTROL_ACTION {
    uint32_t Kind;                  // 0x00 TRACE_ACTION_*, written last
    uint32_t ThreadId;              // 0x04 0: from outside the process
    uint64_t Timestamp;             // 0x08 rdtsc
    uint64_t SystemTime;            // 0x10 FILETIME, UTC
    uint32_t TextLength;            // 0x18 bytes of Text
    uint32_t Reserved;              // 0x1c
    char Text[96];                  // 0x20 UTF-8, cut at a character
} TRACE_CONTROL_ACTION;
typedef TRACE_CONTROL_ACTION *PTRACE_CONTROL_ACTION;
typedef const TRACE_CONTROL_ACTION *PCTRACE_CONTROL_ACTION;

TRACE_FORMAT_ASSERT(sizeof(TRACE_CONTROL_ACTION) == TRACE_CONTROL_ACTION_SIZE);

//
// The file that says which function each stub of TracerImports.dll calls: a
// header of HeaderSize bytes, then entries up to End.  Only the process writes
// it: entries first, and then the header, which makes them count.
//

#define TRACE_IMPORTS_FILE_NAME "session.imports"
#define TRACE_IMPORTS_MAGIC 0x54524F504D495254ULL  // "TRIMPORT"
#define TRACE_IMPORTS_VERSION 1
#define TRACE_IMPORTS_MAXIMUM 0x4000000            // bytes of the file

//
// Why an import that the user asks for is left as it is: indexes of
// TRACE_IMPORTS_HEADER.NumberLeftOut.
//

#define TRACE_IMPORTS_DATA          0   // it is no code, or not resolved
#define TRACE_IMPORTS_NEVER         1   // it must see its caller's frame
#define TRACE_IMPORTS_TRIVIAL       2   // of the functions that are left out
                                        // unless they are named
#define TRACE_IMPORTS_NO_STUB       3   // there was none left
#define TRACE_IMPORTS_NO_ACCESS     4   // it could not be written
#define TRACE_IMPORTS_REASONS       8

typedef struct _TRACE_IMPORTS_HEADER {
    uint64_t Magic;                 // 0x00
    uint32_t Version;               // 0x08
    uint32_t HeaderSize;            // 0x0c a later version may have more
    uint64_t ProcessCreationTime;   // 0x10 FILETIME, UTC
    uint32_t ProcessId;             // 0x18
    uint32_t ModuleTimeDateStamp;   // 0x1c of TracerImports.dll
    uint32_t ModuleSize;            // 0x20
    uint32_t NumberOfStubs;         // 0x24 that have entries
    uint64_t End;                   // 0x28 file offset
    uint32_t NumberOfImports;       // 0x30 that were asked for
    uint32_t NumberPatched;         // 0x34 of them
    uint32_t NumberLeftOut[TRACE_IMPORTS_REASONS];  // 0x38
    uint64_t Reserved;              // 0x58
} TRACE_IMPORTS_HEADER;
typedef TRACE_IMPORTS_HEADER *PTRACE_IMPORTS_HEADER;
typedef const TRACE_IMPORTS_HEADER *PCTRACE_IMPORTS_HEADER;

TRACE_FORMAT_ASSERT(sizeof(TRACE_IMPORTS_HEADER) == 0x60);

#define TRACE_IMPORTS_MODULE    1   // an entry's Kind: a module's file name;
                                    // its number is how many came before
#define TRACE_IMPORTS_STUB      2   // a stub, and its function's name
#define TRACE_IMPORTS_NO_MODULE 0xFFFFFFFFu

typedef struct _TRACE_IMPORTS_ENTRY {
    uint16_t SizeInBytes;           // 0x00 with the name, a multiple of 8
    uint16_t Kind;                  // 0x02
    uint16_t NameLength;            // 0x04 bytes, UTF-8
    uint16_t Ordinal;               // 0x06 by which it is imported; 0: by name
    uint32_t Rva;                   // 0x08 of the stub
    uint32_t StubSize;              // 0x0c bytes
    uint32_t Importer;              // 0x10 a module's number, or
    uint32_t Exporter;              // 0x14 TRACE_IMPORTS_NO_MODULE
                                    // 0x18 the name
} TRACE_IMPORTS_ENTRY;
typedef TRACE_IMPORTS_ENTRY *PTRACE_IMPORTS_ENTRY;
typedef const TRACE_IMPORTS_ENTRY *PCTRACE_IMPORTS_ENTRY;

TRACE_FORMAT_ASSERT(sizeof(TRACE_IMPORTS_ENTRY) == 0x18);

#ifdef __cplusplus
}
#endif

#endif // TRACER_TRACE_FORMAT_H
