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

#include "ReaderExport.h"
#include "ReaderTree.h"

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
    ULONG Unused;
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

typedef
VOID
(READER_INITIALIZE_DETAIL)(
    _Out_ PREADER_DETAIL Detail,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG MaximumItems,
    _In_ ULONG MaximumRows
    );
READER_INITIALIZE_DETAIL ReaderInitializeDetail;

typedef VOID (READER_RUNDOWN_DETAIL)(_Inout_ PREADER_DETAIL Detail);
READER_RUNDOWN_DETAIL ReaderRundownDetail;

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_DETAIL_TRACK)(
    _Inout_ PREADER_DETAIL Detail,
    _In_ ULONG Thread,
    _In_ ULONG Fiber,
    _Out_ PULONG Track
    );
READER_ADD_DETAIL_TRACK ReaderAddDetailTrack;

//
// Adds a call that ended; Count, Busy and Excess are not looked at.  Calls of
// a track come as they end.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_DETAIL)(
    _Inout_ PREADER_DETAIL Detail,
    _In_ ULONG Track,
    _In_ PCREADER_DETAIL_ITEM Call
    );
READER_ADD_DETAIL ReaderAddDetail;

//
// Makes the track that has the most items coarser.
//
//     STATUS_NO_MEMORY, STATUS_NO_MORE_ENTRIES (it is as coarse as can be)
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_COARSEN_DETAIL)(
    _Inout_ PREADER_DETAIL Detail
    );
READER_COARSEN_DETAIL ReaderCoarsenDetail;

//
// ExportHtmlTree.c
//

//
// A node of the merged tree, after its parent.
//

typedef struct _READER_HTML_NODE {
    READER_STATISTICS Statistics;
    ULONGLONG Weight;               // the largest time of it and those below
    ULONG Function;
    ULONG Parent;                   // READER_NONE: it is outermost
    ULONG Index;                    // in the file; READER_NONE: left out
    ULONG Unused;
} READER_HTML_NODE;
typedef READER_HTML_NODE *PREADER_HTML_NODE;
typedef const READER_HTML_NODE *PCREADER_HTML_NODE;

typedef struct _READER_HTML_TREE {
    PREADER_HTML_NODE Nodes;
    ULONG NumberOfNodes;
    ULONG CapacityOfNodes;
    ULONG NumberWritten;            // of nodes that have an index
    ULONG NumberOfTrackNodes;       // to be written, of all tracks
    PULONG Merged;                  // by node of the tree with tracks
    BOOLEAN HasTracks;              // their nodes are written too
} READER_HTML_TREE;
typedef READER_HTML_TREE *PREADER_HTML_TREE;
typedef const READER_HTML_TREE *PCREADER_HTML_TREE;

typedef
_Must_inspect_result_
NTSTATUS
(READER_MERGE_TRACKS)(
    _Inout_ PREADER_HTML_TREE Merged,
    _In_ const READER_TREE *Tree
    );
READER_MERGE_TRACKS ReaderMergeTracks;

//
// Decides again which nodes are written: at most so many.
//

typedef
VOID
(READER_CHOOSE_HTML_NODES)(
    _Inout_ PREADER_HTML_TREE Merged,
    _In_ const READER_TREE *Tree,
    _In_ ULONG MaximumNodes
    );
READER_CHOOSE_HTML_NODES ReaderChooseHtmlNodes;

typedef
VOID
(READER_RUNDOWN_HTML_TREE)(
    _Inout_ PREADER_HTML_TREE Merged,
    _In_ PCALLOCATOR Allocator
    );
READER_RUNDOWN_HTML_TREE ReaderRundownHtmlTree;

//
// ExportHtmlData.c
//

typedef struct _READER_HTML_FUNCTION {
    READER_STATISTICS Statistics;
    ULONGLONG Active;               // calls that are open
    ULONG Index;                    // in the file; READER_NONE: not there
    ULONG Unused;
} READER_HTML_FUNCTION;
typedef READER_HTML_FUNCTION *PREADER_HTML_FUNCTION;

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

typedef
VOID
(READER_PUT_HTML_TEXT)(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Writes a JSON string that may stand inside of a script element.
//

READER_PUT_HTML_TEXT ReaderPutHtmlText;

//
// How many bytes that takes at most.
//

typedef
ULONGLONG
(READER_MEASURE_HTML_TEXT)(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );
READER_MEASURE_HTML_TEXT ReaderMeasureHtmlText;

//
// Decides which functions are written, and how long names may be.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_CHOOSE_HTML_FUNCTIONS)(
    _Inout_ PREADER_HTML Html
    );
READER_CHOOSE_HTML_FUNCTIONS ReaderChooseHtmlFunctions;

//
// Makes the timeline so coarse that all data fits.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_FIT_HTML_DATA)(
    _Inout_ PREADER_HTML Html
    );
READER_FIT_HTML_DATA ReaderFitHtmlData;

typedef
VOID
(READER_WRITE_HTML_DATA)(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    );
READER_WRITE_HTML_DATA ReaderWriteHtmlData;

//
// The number of nodes that are written for a track, given its node.
//

typedef
ULONG
(READER_COUNT_HTML_NODES)(
    _In_ PCREADER_HTML Html,
    _In_ ULONG Root
    );
READER_COUNT_HTML_NODES ReaderCountHtmlNodes;

//
// A time as the other commands' JSON has it: nanoseconds, or ticks.
//

typedef
ULONGLONG
(READER_CONVERT_HTML_TIME)(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    );
READER_CONVERT_HTML_TIME ReaderConvertHtmlTime;

//
// ExportHtmlAbout.c
//

typedef
VOID
(READER_WRITE_HTML_ABOUT)(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    );
READER_WRITE_HTML_ABOUT ReaderWriteHtmlAbout;

//
// ExportHtmlPage.asm: what comes before the data, and after it.
//

extern const CHAR ReaderHtmlHead[];
extern const ULONG ReaderHtmlHeadSize;
extern const CHAR ReaderHtmlTail[];
extern const ULONG ReaderHtmlTailSize;

#endif // TRACER_EXPORT_HTML_H
