/*++

Module Name:

    ExportHtml.h

Abstract:

    What the parts of the HTML export (ExportHtml*.c) share.

    ExportHtmlDetail    what the timeline shows, in bounded memory
    ExportHtmlTree      the call tree of the flame graph
    ExportHtmlData      numbers and names as the page reads them
    ExportHtmlAbout     what the page says of the session
    ExportHtmlPage.asm  the page itself (Html/)

--*/

#ifndef TRACER_EXPORT_HTML_H
#define TRACER_EXPORT_HTML_H

#include "ExportHtmlTree.h"

//
// What keeps the file below 50 MB, and memory in bounds.
//

#define READER_HTML_MAXIMUM_ITEMS 0x180000u
#define READER_HTML_MAXIMUM_TRACKS 10000u
#define READER_HTML_MAXIMUM_ROWS 1000u          // of a track
#define READER_HTML_MAXIMUM_FUNCTIONS 100000u
#define READER_HTML_MAXIMUM_NAMES 0x500000u     // bytes, as they are written
#define READER_HTML_MAXIMUM_NODES 200000u       // merged
#define READER_HTML_MAXIMUM_TRACK_NODES 300000u
#define READER_HTML_MAXIMUM_OTHERS 0x100000u    // of modules and threads
#define READER_HTML_MAXIMUM_MARKS 1000u
#define READER_HTML_MAXIMUM_DATA 0x1B00000u     // bytes, before base64

//
// ExportHtmlDetail.c
//

//
// A call, or a block: calls that were too short to be kept, one after another
// at the same depth, with all calls below them.
//

#define READER_DETAIL_BLOCK         0x01u
#define READER_DETAIL_ABANDONED     0x02u
#define READER_DETAIL_OPEN          0x04u   // at the end of the data
#define READER_DETAIL_BEGUN_BEFORE  0x08u
#define READER_DETAIL_UNCERTAIN     0x10u

typedef struct _READER_DETAIL_ITEM {
    ULONGLONG Start;                // ticks
    ULONGLONG End;                  // ticks
    ULONGLONG Count;                // calls, with those below
    ULONGLONG Busy;                 // ticks that its outermost calls took
    ULONGLONG Excess;               // ticks by which Function's exceed those
                                    // of all others of the outermost
    ULONG Function;
    ULONG Depth;
    ULONG Flags;                    // READER_DETAIL_*; of a block: of any call
    ULONG Called;                   // of a call: Function, or the one that is
                                    // like it of the module that called
} READER_DETAIL_ITEM;
typedef READER_DETAIL_ITEM *PREADER_DETAIL_ITEM;
typedef const READER_DETAIL_ITEM *PCREADER_DETAIL_ITEM;

#define READER_DETAIL_CHUNK_ITEMS 60u

typedef struct _READER_DETAIL_CHUNK *PREADER_DETAIL_CHUNK;

typedef struct _READER_DETAIL_CHUNK {
    PREADER_DETAIL_CHUNK Previous;
    PREADER_DETAIL_CHUNK Next;
    ULONG NumberOfItems;
    ULONG Unused;
    READER_DETAIL_ITEM Items[READER_DETAIL_CHUNK_ITEMS];
} READER_DETAIL_CHUNK;

//
// A thread's own stack or a fiber's: its items, each after those inside it.
//

typedef struct _READER_DETAIL_TRACK {
    PREADER_DETAIL_CHUNK First;
    PREADER_DETAIL_CHUNK Last;
    ULONG Thread;                   // index
    ULONG Fiber;                    // 0: the thread's own stack
    ULONG NumberOfItems;
    ULONG NumberOfRows;             // of the deepest call that ended
    ULONG NumberBegunBefore;        // frames that are still open
    ULONG Unused;
    ULONGLONG NumberOfCalls;        // that ended and are shown
    ULONGLONG Resolution;           // ticks: shorter calls are in blocks
} READER_DETAIL_TRACK;
typedef READER_DETAIL_TRACK *PREADER_DETAIL_TRACK;
typedef const READER_DETAIL_TRACK *PCREADER_DETAIL_TRACK;

typedef struct _READER_DETAIL {
    PCALLOCATOR Allocator;
    PREADER_DETAIL_CHUNK Free;
    PREADER_DETAIL_TRACK Tracks;
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    ULONG NumberOfItems;            // of all tracks
    ULONG MaximumItems;
    ULONG MaximumRows;
    ULONG Unused;
} READER_DETAIL;
typedef READER_DETAIL *PREADER_DETAIL;
typedef const READER_DETAIL *PCREADER_DETAIL;

//
// Makes it empty.
// Allocator: where memory comes from.
// MaximumItems: how many there may be.
// MaximumRows: calls that are deeper become blocks of one more row, however
// long they are.
//

VOID
ExportInitializeDetail(
    _Out_ PREADER_DETAIL Detail,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG MaximumItems,
    _In_ ULONG MaximumRows
    );

//
// Frees what it holds.
//

VOID
ExportRundownDetail(
    _Inout_ PREADER_DETAIL Detail
    );

//
// Thread: the thread's index.
// Fiber: the fiber; 0 is the thread's own stack.
// Track: the track's index.
//

_Must_inspect_result_
NTSTATUS
ExportAddDetailTrack(
    _Inout_ PREADER_DETAIL Detail,
    _In_ ULONG Thread,
    _In_ ULONG Fiber,
    _Out_ PULONG Track
    );

//
// Adds a call that ended; Count, Busy and Excess are not looked at.  Calls of
// a track come as they end.
//

_Must_inspect_result_
NTSTATUS
ExportAddDetail(
    _Inout_ PREADER_DETAIL Detail,
    _In_ ULONG Track,
    _In_ PCREADER_DETAIL_ITEM Call
    );

//
// Makes the track that has the most items coarser.
//
//     STATUS_NO_MEMORY, STATUS_NO_MORE_ENTRIES (it is as coarse as can be)
//
// Makes the largest track coarser, by a quarter.
//

_Must_inspect_result_
NTSTATUS
ExportCoarsenDetail(
    _Inout_ PREADER_DETAIL Detail
    );

//
// ExportHtmlData.c
//

typedef struct _READER_HTML_FUNCTION {
    READER_STATISTICS Statistics;
    ULONGLONG Active;               // calls that are open
    ULONG Alike;                    // the one that has these numbers: itself,
                                    // but for imports, which the file has once
    ULONG Index;                    // in the file; READER_NONE: not there
    ULONG Import;                   // in the file's list of imports by who
                                    // called; READER_NONE: not there
    ULONG IsCalled;                 // the tree has it
} READER_HTML_FUNCTION;
typedef READER_HTML_FUNCTION *PREADER_HTML_FUNCTION;

//
// What is the same of functions that differ in the module that called alone.
//

#define READER_HTML_KEY(Function)                                           \
    (((ULONGLONG)(Function)->Module << 32) | (Function)->FirstRva)

//
// Everything that is known when the page is written.
//

typedef struct _READER_HTML {
    PREADER_EXPORT Export;
    READER_TREE Tree;
    READER_HTML_TREE Merged;
    READER_DETAIL Detail;
    PREADER_HTML_FUNCTION Functions;    // by function
    ULONG CapacityOfFunctions;
    ULONG NumberKnown;              // of Functions: they have Alike
    READER_MAP Alike;               // (module << 32) | first RVA to the first
                                    // function that has it
    ULONG NumberOfImports;          // with an Import
    PULONG Order;                   // functions that are written
    ULONG NumberOfFunctions;        // of those
    ULONG FunctionsLeftOut;         // for which there was no room
    ULONG FunctionsNotShown;        // by --function and --exclude
    ULONGLONG CallsNotShown;
    ULONG LongestName;              // bytes: longer ones are cut
    ULONG Thread;                   // that is being read; READER_NONE: none
    ULONG TracksLeftOut;            // for which there was no room
    ULONGLONG NumberOfCalls;        // that ended
    ULONGLONG Unmatched;            // exits
    ULONGLONG NumberActive;         // calls of the thread that are open
    PULONG TrackOfThread;           // by thread, its own stack's, likewise: of
    ULONG CapacityOfThreads;        // the first that is the same thread
    PULONG TrackOfFiber;            // of the thread: detail track + 1, or 0
    ULONG CapacityOfFibers;
    ULONG HighestFiber;
} READER_HTML;
typedef READER_HTML *PREADER_HTML;
typedef const READER_HTML *PCREADER_HTML;

//
// Bytes as base64.  Writer NULL: they are only counted.
//

typedef struct _READER_HTML_BYTES {
    PRTL_WRITER Writer;
    ULONGLONG NumberOfBytes;
    ULONG Pending;                  // bytes that are not written, in its
    ULONG NumberPending;            // lowest bits
} READER_HTML_BYTES;
typedef READER_HTML_BYTES *PREADER_HTML_BYTES;

//
// Writes a JSON string that may stand inside of a script element: what could
// end that or begin a comment is escaped; what is not printable, or not UTF-8,
// becomes U+FFFD.
//

VOID
ExportPutHtmlText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// How many bytes a text takes at most as such a string; never too few.
//

ULONGLONG
ExportMeasureHtmlText(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Makes room for the numbers of all functions that are known, and finds those
// that are the same but for the module that called.
//

_Must_inspect_result_
NTSTATUS
ExportGrowHtmlFunctions(
    _Inout_ PREADER_HTML Html
    );

//
// Decides which functions are written, and how long names may be. Those that
// were called and that the filter lets through, the ones with the most time
// first.
//

_Must_inspect_result_
NTSTATUS
ExportChooseHtmlFunctions(
    _Inout_ PREADER_HTML Html
    );

//
// Leaves out nodes of the tree, and makes the timeline so coarse, that all data
// fits.
// Html: the export; functions and nodes have been chosen.
//

_Must_inspect_result_
NTSTATUS
ExportFitHtmlData(
    _Inout_ PREADER_HTML Html
    );

//
// Writes names and numbers.
// Html: the export.
//

VOID
ExportWriteHtmlData(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    );

//
// The number of nodes that are written for a track, given its node.
//

ULONG
ExportCountHtmlNodes(
    _In_ PCREADER_HTML Html,
    _In_ ULONG Root
    );

//
// A time as the other commands' JSON has it: nanoseconds, or ticks.
// Clock: the session's clock.
// Returns nanoseconds, or ticks if the rate is not known; no finer than the
// clock.
//

ULONGLONG
ExportConvertHtmlTime(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    );

//
// Writes what the page says of the session.
//

VOID
ExportWriteHtmlAbout(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    );

//
// ExportHtmlPage.asm: what comes before the data, and after it.
//

extern const CHAR ReaderHtmlHead[];
extern const ULONG ReaderHtmlHeadSize;
extern const CHAR ReaderHtmlTail[];
extern const ULONG ReaderHtmlTailSize;

#endif // TRACER_EXPORT_HTML_H
