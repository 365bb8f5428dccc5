/*++

Module Name:

    EtlFormat.h

Abstract:

    What Windows writes into an event trace log (.etl), as far as it is read
    here: layouts in our own words, with where they are documented.

    The file is a row of buffers, each with a header of 0x48 bytes and events
    behind it that begin at multiples of 8.  A buffer is one processor's.  The
    first event of the first buffer describes the log.

    Where this is from:

    - TRACE_LOGFILE_HEADER, EVENT_HEADER, EVENT_TRACE_HEADER, and the classes
      CSwitch, ReadyThread, SampledProfile, Thread_V2_TypeGroup1 and
      EventTrace_Header: learn.microsoft.com, "Event Tracing" (win32/etw) and
      evntrace.h, evntcons.h of the SDK's reference.
    - WMI_BUFFER_HEADER, the headers by type, the hook identifiers, flags of
      buffers: ntwmi.h of phnt (github.com/winsiderss/systeminformer).
    - That a log's method of compression is in the state of its first buffer,
      that a compressed buffer is as long as it says with what it had before in
      its saved offset: albertziegenhagel/snail-server, which reads real logs.
    - Bytes of context switches, version 5: published there and by others from
      real logs; the fields used here are where version 2 has them.

--*/

#ifndef TRACER_ETL_FORMAT_H
#define TRACER_ETL_FORMAT_H

#include "../../Rtl/RtlTypes.h"

//
// A buffer's header (WMI_BUFFER_HEADER).
//

typedef struct _ETL_BUFFER_HEADER {
    ULONG SizeInBytes;              // 0x00 in the file, with this header
    ULONG SavedOffset;              // 0x04 where its events end
    ULONG CurrentOffset;            // 0x08
    ULONG ReferenceCount;           // 0x0c
    ULONGLONG Timestamp;            // 0x10 when it was flushed
    ULONGLONG Sequence;             // 0x18 counts the log's buffers
    ULONGLONG Clock;                // 0x20
    USHORT Processor;               // 0x28 ETL_BUFFER_INDEX: all of it, else
                                    //      its low byte
    USHORT Logger;                  // 0x2a
    ULONG State;                    // 0x2c
    ULONG Offset;                   // 0x30 where its events end, too
    USHORT Flags;                   // 0x34 ETL_BUFFER_*
    USHORT Type;                    // 0x36
    ULONGLONG Reference[2];         // 0x38
} ETL_BUFFER_HEADER;
typedef ETL_BUFFER_HEADER *PETL_BUFFER_HEADER;
typedef const ETL_BUFFER_HEADER *PCETL_BUFFER_HEADER;

C_ASSERT(sizeof(ETL_BUFFER_HEADER) == 0x48);
C_ASSERT(FIELD_OFFSET(ETL_BUFFER_HEADER, Processor) == 0x28);
C_ASSERT(FIELD_OFFSET(ETL_BUFFER_HEADER, Flags) == 0x34);

#define ETL_BUFFER_EVENTS_LOST  0x0002u
#define ETL_BUFFER_BUFFER_LOST  0x0004u
#define ETL_BUFFER_INDEX        0x0020u     // Processor has 11 bits
#define ETL_BUFFER_COMPRESSED   0x0040u

#define ETL_PROCESSOR_MASK      0x07FFu
#define ETL_MAXIMUM_PROCESSORS  0x0800u

//
// The largest buffer that Windows has (16 MiB).  Tests have less.
//

#ifndef ETL_MAXIMUM_BUFFER
#define ETL_MAXIMUM_BUFFER      0x1000000u
#endif

//
// The first half of an event: flags, type and, by type, size or version.
//

typedef struct _ETL_MARKER {
    USHORT Low;                     // size or version
    UCHAR Type;                     // ETL_TYPE_*
    UCHAR Flags;                    // ETL_MARKER_*
    USHORT Size;                    // where Low is no size
    USHORT Hook;                    // group << 8 | type; likewise
} ETL_MARKER;
typedef ETL_MARKER *PETL_MARKER;
typedef const ETL_MARKER *PCETL_MARKER;

C_ASSERT(sizeof(ETL_MARKER) == 8);

#define ETL_MARKER_TRACE        0x80u
#define ETL_MARKER_EVENT        0x40u
#define ETL_MARKER_MESSAGE      0x10u

#define ETL_TYPE_SYSTEM32       1u
#define ETL_TYPE_SYSTEM64       2u
#define ETL_TYPE_COMPACT32      3u
#define ETL_TYPE_COMPACT64      4u
#define ETL_TYPE_FULL32         10u
#define ETL_TYPE_INSTANCE32     11u
#define ETL_TYPE_ERROR          13u
#define ETL_TYPE_MESSAGE        15u
#define ETL_TYPE_PERFINFO32     16u
#define ETL_TYPE_PERFINFO64     17u
#define ETL_TYPE_EVENT32        18u
#define ETL_TYPE_EVENT64        19u
#define ETL_TYPE_FULL64         20u
#define ETL_TYPE_INSTANCE64     21u

//
// SYSTEM_TRACE_HEADER; the compact one ends before KernelTime.
//

typedef struct _ETL_SYSTEM_HEADER {
    ETL_MARKER Marker;              // Low: version
    ULONG ThreadId;                 // 0x08
    ULONG ProcessId;                // 0x0c
    ULONGLONG Timestamp;            // 0x10
    ULONG KernelTime;               // 0x18
    ULONG UserTime;                 // 0x1c
} ETL_SYSTEM_HEADER;
typedef const ETL_SYSTEM_HEADER *PCETL_SYSTEM_HEADER;

C_ASSERT(sizeof(ETL_SYSTEM_HEADER) == 32);

#define ETL_COMPACT_SIZE        24u

//
// PERFINFO_TRACE_HEADER: nothing but a time.  Counters may lie between it and
// the data, 8 bytes each, as the version says.
//

typedef struct _ETL_PERFINFO_HEADER {
    ETL_MARKER Marker;              // Low: version and ETL_PERFINFO_*
    ULONGLONG Timestamp;
} ETL_PERFINFO_HEADER;
typedef const ETL_PERFINFO_HEADER *PCETL_PERFINFO_HEADER;

C_ASSERT(sizeof(ETL_PERFINFO_HEADER) == 16);

#define ETL_PERFINFO_PEBS       0x8000u
#define ETL_PERFINFO_COUNTERS   0x0700u
#define ETL_PERFINFO_COUNTERS_SHIFT 8

//
// EVENT_TRACE_HEADER (types 10 and 20) and EVENT_HEADER (18 and 19) begin
// alike.  A class's version is Version of the former.
//

typedef struct _ETL_FULL_HEADER {
    USHORT Size;                    // 0x00
    UCHAR Type;
    UCHAR MarkerFlags;
    UCHAR Class;                    // 0x04 type 10 and 20: what happened;
    UCHAR Level;                    //      18 and 19: these two are flags
    USHORT Version;                 // 0x06
    ULONG ThreadId;                 // 0x08
    ULONG ProcessId;                // 0x0c
    ULONGLONG Timestamp;            // 0x10
    UCHAR Provider[16];             // 0x18 a GUID
} ETL_FULL_HEADER;
typedef const ETL_FULL_HEADER *PCETL_FULL_HEADER;

C_ASSERT(sizeof(ETL_FULL_HEADER) == 0x28);

#define ETL_FULL_SIZE           48u
#define ETL_EVENT_SIZE          80u
#define ETL_EVENT_VERSION       0x2Au       // of EVENT_DESCRIPTOR
#define ETL_EVENT_OPCODE        0x2Du
#define ETL_EVENT_EXTENDED      0x01u       // of the flags

//
// Hooks: groups (high byte) and types.
//

#define ETL_HOOK_HEADER             0x0000u
#define ETL_HOOK_PROCESS_START      0x0301u
#define ETL_HOOK_PROCESS_DC_START   0x0303u
#define ETL_HOOK_PROCESS_DC_END     0x0304u
#define ETL_HOOK_THREAD_START       0x0501u
#define ETL_HOOK_THREAD_END         0x0502u
#define ETL_HOOK_THREAD_DC_START    0x0503u
#define ETL_HOOK_THREAD_DC_END      0x0504u
#define ETL_HOOK_SWITCH             0x0524u
#define ETL_HOOK_COMPACT_SWITCHES   0x0525u
#define ETL_HOOK_READY              0x0532u
#define ETL_HOOK_SAMPLE             0x0F2Eu
#define ETL_GROUP_PROCESS           0x0300u
#define ETL_GROUP_THREAD            0x0500u
#define ETL_GROUP_PERFINFO          0x0F00u

//
// What the log is like (TRACE_LOGFILE_HEADER), up to the names.  They are
// pointers, and what follows them is at a multiple of 8: ETL_LOG_TAIL.
//

typedef struct _ETL_LOG_HEADER {
    ULONG BufferSize;               // 0x00 bytes
    ULONG Version;                  // 0x04 of Windows
    ULONG Build;                    // 0x08
    ULONG NumberOfProcessors;       // 0x0c
    ULONGLONG EndTime;              // 0x10 FILETIME
    ULONG TimerResolution;          // 0x18
    ULONG MaximumFileSize;          // 0x1c
    ULONG Mode;                     // 0x20 ETL_MODE_*
    ULONG BuffersWritten;           // 0x24
    ULONG StartBuffers;             // 0x28
    ULONG PointerSize;              // 0x2c bytes
    ULONG EventsLost;               // 0x30
    ULONG CpuSpeed;                 // 0x34
} ETL_LOG_HEADER;
typedef const ETL_LOG_HEADER *PCETL_LOG_HEADER;

C_ASSERT(sizeof(ETL_LOG_HEADER) == 0x38);

#define ETL_MODE_COMPRESSED     0x04000000u
#define ETL_MODE_SHARED_BUFFERS 0x10000000u     // no buffers of processors

typedef struct _ETL_LOG_TAIL {
    ULONGLONG BootTime;             // FILETIME
    ULONGLONG Frequency;            // of the performance counter
    ULONGLONG StartTime;            // FILETIME
    ULONG ClockType;                // ETL_CLOCK_*
    ULONG BuffersLost;
} ETL_LOG_TAIL;
typedef const ETL_LOG_TAIL *PCETL_LOG_TAIL;

C_ASSERT(sizeof(ETL_LOG_TAIL) == 32);

#define ETL_TIME_ZONE_SIZE      172u

#define ETL_LOG_TAIL_OFFSET(PointerSize)                                    \
    ((sizeof(ETL_LOG_HEADER) + 2 * (PointerSize) + ETL_TIME_ZONE_SIZE + 7) & \
     ~(SIZE_T)7)

#define ETL_CLOCK_COUNTER       1u      // QueryPerformanceCounter
#define ETL_CLOCK_SYSTEM        2u
#define ETL_CLOCK_CYCLES        3u      // rdtsc

//
// Methods of compression, as COMPRESSION_FORMAT_* has them.
//

#define ETL_METHOD_LZNT1        2u
#define ETL_METHOD_XPRESS       3u
#define ETL_METHOD_XPRESS_HUFFMAN 4u

//
// A context switch, of all versions from 2 on: later ones have more behind it.
//

typedef struct _ETL_SWITCH {
    ULONG NewThread;                // 0x00
    ULONG OldThread;                // 0x04
    UCHAR NewPriority;              // 0x08
    UCHAR OldPriority;              // 0x09
    UCHAR PreviousCState;           // 0x0a
    UCHAR Spare;                    // 0x0b
    UCHAR OldReason;                // 0x0c KWAIT_REASON
    UCHAR OldMode;                  // 0x0d
    UCHAR OldState;                 // 0x0e KTHREAD_STATE
    UCHAR OldIdealProcessor;        // 0x0f
    ULONG NewWaitTime;              // 0x10
    ULONG Reserved;                 // 0x14
} ETL_SWITCH;
typedef const ETL_SWITCH *PCETL_SWITCH;

C_ASSERT(sizeof(ETL_SWITCH) == 24);
C_ASSERT(FIELD_OFFSET(ETL_SWITCH, OldReason) == 12);
C_ASSERT(FIELD_OFFSET(ETL_SWITCH, OldState) == 14);

//
// KTHREAD_STATE.
//

#define ETL_THREAD_READY        1u
#define ETL_THREAD_RUNNING      2u
#define ETL_THREAD_STANDBY      3u
#define ETL_THREAD_TERMINATED   4u
#define ETL_THREAD_WAITING      5u
#define ETL_THREAD_TRANSITION   6u
#define ETL_THREAD_DEFERRED     7u
#define ETL_THREAD_GATE         8u      // waits for a gate
#define ETL_THREAD_IN_SWAP      9u      // waits for its process to be in memory

//
// A thread is made ready.
//

typedef struct _ETL_READY {
    ULONG Thread;
    UCHAR AdjustReason;
    UCHAR AdjustIncrement;
    UCHAR Flags;                    // ETL_READY_*
    UCHAR Reserved;
} ETL_READY;
typedef const ETL_READY *PCETL_READY;

C_ASSERT(sizeof(ETL_READY) == 8);

#define ETL_READY_DPC           0x01u

//
// A thread begins, ends, or was there when the log began or ended.
//

typedef struct _ETL_THREAD_EVENT {
    ULONG ProcessId;
    ULONG ThreadId;
} ETL_THREAD_EVENT;
typedef const ETL_THREAD_EVENT *PCETL_THREAD_EVENT;

//
// A process begins, or was there when the log began or ended, versions 2 to 4:
// a pointer; its identifier; three numbers of 32 bits; from version 3 on a
// pointer; from 4 on a number of 32 bits; its user: 32 bits that are zero, or
// two pointers and a SID of 8 bytes and 4 for each of the parts that its second
// byte counts; its file's name, terminated (Process_V2_TypeGroup1 and later).
//

#define ETL_PROCESS_NUMBERS     16u         // bytes, with the identifier
#define ETL_MAXIMUM_NAME        64u         // bytes that are kept

#endif // TRACER_ETL_FORMAT_H
