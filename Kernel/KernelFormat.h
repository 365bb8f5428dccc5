/*++

Module Name:

    KernelFormat.h

Abstract:

    What TracerPenterKernel.lib leaves in memory: one section for each traced
    driver, which a collector maps read-only and a debugger finds in a dump.
    It depends on stdint.h, stddef.h and TraceFormat.h alone and compiles as
    C11 and C++11.  Docs/Format.md has the text.

    All values are little endian.  An offset is in bytes from the start of the
    section.  Addresses are whole: kernel stacks and drivers do not fit 32 bits.

    What lies in the section, in this order:

        header          TRACE_KERNEL_HEADER, 4,096 bytes
        rings           TRACE_KERNEL_RING, one for each processor
        records         RecordsPerRing for each ring
        functions       FunctionSlots for each ring
        open calls      OpenCallSlots, one table for all processors

--*/

#ifndef TRACER_KERNEL_FORMAT_H
#define TRACER_KERNEL_FORMAT_H

#include "TraceFormat.h"

//
// The first eight bytes: "TRCKERNL", stored last.
//

#define TRACE_KERNEL_MAGIC              0x4C4E52454B435254ULL
#define TRACE_KERNEL_MAJOR              1
#define TRACE_KERNEL_MINOR              0

//
// The section's name is this and the driver's service name.
//

#define TRACE_KERNEL_SECTION_PREFIX     "\\BaseNamedObjects\\TracerKernel."

//
// A driver that is started before there is \BaseNamedObjects (boot and system
// start) has its section there.
//

#define TRACE_KERNEL_EARLY_PREFIX       "\\Device\\TracerKernel."

//
// A record.  A ring's records are numbered from 0 on.  Number is written last:
// TRACE_KERNEL_NUMBER of a record that is whole, or an odd value while a hook
// writes one; 0 in a place that was never written.  A reader takes record N if
// Number is TRACE_KERNEL_NUMBER(N) before and after it was copied.
//
// A hook owns a place from the moment that it has made Number odd, by lock
// cmpxchg.  One that finds the place owned by another, or holding a newer one
// (the hook was interrupted for a whole round of the ring), writes nothing and
// counts itself in Collided: its number is reserved, and never comes.
//

#define TRACE_KERNEL_NUMBER(N)          (((uint32_t)(N) + 1u) << 1)

typedef struct _TRACE_KERNEL_RECORD {
    uint64_t Timestamp;         // rdtsc
    uint64_t Site;              // the return address of the call to the hook
    uint64_t Stack;             // RSP as in TRACE_RECORD, whole; kind below
    uint32_t Number;
    uint32_t ThreadIrql;        // thread ID (a multiple of 4) / 4, 28 bits;
                                // IRQL in the high 4 bits
} TRACE_KERNEL_RECORD;
typedef TRACE_KERNEL_RECORD *PTRACE_KERNEL_RECORD;

TRACE_FORMAT_ASSERT(sizeof(TRACE_KERNEL_RECORD) == 32);

//
// Stack's low three bits are TRACE_KIND_*.
//

#define TRACE_KERNEL_THREAD(ThreadIrql) (((ThreadIrql) & 0x0FFFFFFFu) << 2)
#define TRACE_KERNEL_IRQL(ThreadIrql)   ((ThreadIrql) >> 28)

//
// The ring of a processor.  A hook takes its place by lock xadd on Reserved,
// whichever processor it is on by then.  Records below Reserved less
// RecordsPerRing are overwritten: that many are gone.  A hook reads the clock
// right before it takes its place: times in a ring need not grow.
//

typedef struct _TRACE_KERNEL_RING {
    uint64_t Reserved;          // records ever begun
    uint64_t StatisticsLost;    // entries and returns for which the table of
                                // functions had no slot
    uint64_t OpenLost;          // entries for which OpenCalls had no slot
    uint64_t Unpaired;          // exits whose entry was not among OpenCalls
    uint64_t Abandoned;         // open calls whose place another call took
    uint64_t Paused;            // hook calls while State was PAUSED (all of
                                // them in the first ring)
    uint64_t Collided;          // records reserved that were never written
    uint64_t Spare[9];
} TRACE_KERNEL_RING;
typedef TRACE_KERNEL_RING *PTRACE_KERNEL_RING;

TRACE_FORMAT_ASSERT(sizeof(TRACE_KERNEL_RING) == 128);

//
// What a function's calls came to, on one processor: a hash table, where a slot
// whose Site is 0 is free, and one that is taken stays so.  Ticks are inclusive
// and of calls that returned.
//

typedef struct _TRACE_KERNEL_FUNCTION {
    uint64_t Site;              // of the entry hook
    uint64_t Calls;             // that returned
    uint64_t Ticks;
    uint64_t Minimum;           // 2^64 - 1 before the first
    uint64_t Maximum;
    uint64_t Entries;           // calls that began
    uint64_t Spare[2];
} TRACE_KERNEL_FUNCTION;
typedef TRACE_KERNEL_FUNCTION *PTRACE_KERNEL_FUNCTION;

TRACE_FORMAT_ASSERT(sizeof(TRACE_KERNEL_FUNCTION) == 64);

//
// A call that has not returned.  Kernel stacks share one address space, so a
// frame's RSP names it, whatever thread or interrupt it is of.
//

typedef struct _TRACE_KERNEL_OPEN_CALL {
    uint64_t Stack;             // as in a record, with the entry's kind; 0:
                                // free; bit 2: being written
    uint64_t Site;
    uint64_t Timestamp;
    uint64_t Thread;            // ThreadIrql of the entry
} TRACE_KERNEL_OPEN_CALL;
typedef TRACE_KERNEL_OPEN_CALL *PTRACE_KERNEL_OPEN_CALL;

TRACE_FORMAT_ASSERT(sizeof(TRACE_KERNEL_OPEN_CALL) == 32);

//
// Among a driver's variables, TracerKernelHeader has the section's address, and
// so many bytes before it is that of the rings, which the hooks read.
//

#define TRACE_KERNEL_RINGS_BEFORE       160u

#define TRACE_KERNEL_STATE_RUNNING      1u
#define TRACE_KERNEL_STATE_PAUSED       2u
#define TRACE_KERNEL_STATE_UNLOADED     3u

typedef struct _TRACE_KERNEL_HEADER {

    uint64_t Magic;                     // 0x000
    uint16_t MajorVersion;              // 0x008
    uint16_t MinorVersion;              // 0x00a
    uint32_t HeaderSize;                // 0x00c
    uint64_t SectionSize;               // 0x010
    uint32_t RecordSize;                // 0x018
    uint32_t Flags;                     // 0x01c TRACE_FLAG_TSC_INVARIANT
    uint32_t State;                     // 0x020 TRACE_KERNEL_STATE_*
    uint32_t NumberOfRings;             // 0x024 processors
    uint64_t RingsOffset;               // 0x028
    uint64_t RecordsOffset;             // 0x030 of the first ring's
    uint64_t RecordsPerRing;            // 0x038 a power of two
    uint64_t FunctionsOffset;           // 0x040 of the first ring's
    uint32_t FunctionSlots;             // 0x048 of each ring, a power of two
    uint32_t OpenCallSlots;             // 0x04c a power of two
    uint64_t OpenCallsOffset;           // 0x050
    uint64_t BaseAddress;               // 0x058 of the section, in the kernel
    uint64_t QpcFrequency;              // 0x060
    uint32_t ProbeInner;                // 0x068 as in TRACE_STORE_HEADER
    uint32_t ProbeTotal;                // 0x06c
    TRACE_CLOCK_ANCHOR OpenAnchor;      // 0x070
    TRACE_CLOCK_ANCHOR LastAnchor;      // 0x090
    uint64_t ModuleBase;                // 0x0b0
    uint32_t ModuleSize;                // 0x0b8
    uint32_t ModuleTimeDateStamp;       // 0x0bc
    uint32_t ModuleCheckSum;            // 0x0c0
    uint32_t CodeViewAge;               // 0x0c4
    uint8_t CodeViewGuid[16];           // 0x0c8
    uint32_t ProcessId;                 // 0x0d8 of the process that loaded it
    uint32_t BootId;                    // 0x0dc 0: not known
    uint64_t LoadTime;                  // 0x0e0 FILETIME
    uint32_t ModulePathLength;          // 0x0e8 UTF-8, bytes
    uint32_t DriverNameLength;          // 0x0ec UTF-8: the service's name
    uint32_t PdbPathLength;             // 0x0f0
    uint32_t Status;                    // 0x0f4
    uint64_t Spare[33];                 // 0x0f8
    uint8_t DriverName[256];            // 0x200
    uint8_t PdbPath[768];               // 0x300
    uint8_t ModulePath[2560];           // 0x600

} TRACE_KERNEL_HEADER;
typedef TRACE_KERNEL_HEADER *PTRACE_KERNEL_HEADER;

TRACE_FORMAT_ASSERT(sizeof(TRACE_KERNEL_HEADER) == TRACE_HEADER_SIZE);
TRACE_FORMAT_ASSERT(offsetof(TRACE_KERNEL_HEADER, OpenAnchor) == 0x070);
TRACE_FORMAT_ASSERT(offsetof(TRACE_KERNEL_HEADER, ModuleBase) == 0x0b0);
TRACE_FORMAT_ASSERT(offsetof(TRACE_KERNEL_HEADER, ModulePath) == 0x600);

#endif // TRACER_KERNEL_FORMAT_H
