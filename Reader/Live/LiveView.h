/*++

Module Name:

    LiveView.h

Abstract:

    A refresh as a screen, and what keys do to it.

--*/

#ifndef TRACER_LIVE_VIEW_H
#define TRACER_LIVE_VIEW_H

#include "../Output/OutputKey.h"
#include "LiveNodes.h"
#include "LiveScreen.h"

typedef enum _READER_VIEW_KIND {
    ReaderViewFunctions = 0,
    ReaderViewThreads,
    ReaderViewFrames,
    ReaderViewTree,
    ReaderViewCallers,
    ReaderViewHelp
} READER_VIEW_KIND;

//
// What a key asks of the program that is followed.
//

typedef enum _READER_VIEW_REQUEST {
    ReaderRequestNone = 0,
    ReaderRequestStart,
    ReaderRequestStop,
    ReaderRequestClear,
    ReaderRequestMark,              // these two with a text
    ReaderRequestSnapshot
} READER_VIEW_REQUEST;

#define READER_NUMBER_OF_VIEWS 5        // without the help
#define READER_NUMBER_OF_TABS 4         // and without the callers
#define READER_VIEW_FILTER_SIZE 96      // bytes

//
// A function whose callers are shown, and before it those from which the user
// came.
//

#define READER_VIEW_MOST_TARGETS 16u

typedef struct _READER_VIEW_TARGET {
    PCSZ Name;                      // as a row of the model has it
    ULONG NameLength;               // bytes
    ULONG Function;                 // in the table of functions
} READER_VIEW_TARGET;
typedef READER_VIEW_TARGET *PREADER_VIEW_TARGET;
typedef const READER_VIEW_TARGET *PCREADER_VIEW_TARGET;

//
// What is known of a node: what the user did to it, and whether the filters
// leave it or one below it.
//

#define READER_NODE_FOLDED      0x1
#define READER_NODE_UNFOLDED    0x2
#define READER_NODE_KEPT        0x4

typedef struct _READER_VIEW {
    READER_VIEW_KIND Kind;
    READER_VIEW_KIND KindBeforeHelp;
    ULONG SortColumn[READER_NUMBER_OF_VIEWS];
    BOOLEAN IsReversed[READER_NUMBER_OF_VIEWS];
    ULONG Selected[READER_NUMBER_OF_VIEWS];     // row
    ULONG Top[READER_NUMBER_OF_VIEWS];          // first row on the screen
    ULONG NumberOfRows;             // of the list that was drawn last
    ULONG LinesOfList;              // likewise
    ULONG Thread;                   // index, whose frames are shown
    ULONG WidthOfNames;             // of the threads' column of them
    BOOLEAN IsThreadChosen;
    BOOLEAN IsPaused;
    BOOLEAN IsEditing;              // the filter, or the text
    READER_VIEW_REQUEST Asking;     // for this the text is edited
    READER_VIEW_REQUEST Request;    // that the caller is to fulfil
    CHAR Text[READER_VIEW_FILTER_SIZE + 1];     // with a terminator
    ULONG TextLength;               // bytes
    CHAR Said[READER_LIVE_SENTENCE_SIZE];   // what came of the last request
    ULONG SaidLength;               // bytes; 0: nothing, or a key came since
    BOOLEAN IsQuitting;
    ULONG IntervalInMilliseconds;
    CHAR Filter[READER_VIEW_FILTER_SIZE];
    ULONG FilterLength;             // bytes
    READER_VIEW_KIND KindBeforeCallers;
    READER_VIEW_TARGET Targets[READER_VIEW_MOST_TARGETS];
    ULONG NumberOfTargets;          // the last one's callers are shown
    PREADER_LIVE_EDGE Edges;        // of that one
    ULONG NumberOfEdges;
    ULONG CapacityOfEdges;
    PUCHAR Folds;                   // READER_NODE_*, by node
    ULONG CapacityOfFolds;
    ULONG Generation;               // of the nodes that they are of
    ULONG SelectedNode;             // these two as the tree was drawn last
    ULONG RowOfSelectedNode;
    BOOLEAN IsRenewing;             // the caller is to begin the tree anew
    ULONG TopOfHelp;                // first line on the screen
    PULONG Order;                   // of the rows of the list
    ULONG CapacityOfOrder;
    CHAR Notice[READER_LIVE_SENTENCE_SIZE]; // in place of the model's state
    ULONG NoticeLength;             // bytes; 0: there is none
} READER_VIEW;
typedef READER_VIEW *PREADER_VIEW;
typedef const READER_VIEW *PCREADER_VIEW;

//
// Makes the view that a user sees first.
// IntervalInMilliseconds: between two refreshes.
//

VOID
LiveInitializeView(
    _Out_ PREADER_VIEW View,
    _In_ ULONG IntervalInMilliseconds
    );

//
// Frees what a view holds.
// Allocator: that of the models that it was drawn from.
//

VOID
LiveRundownView(
    _Inout_ PREADER_VIEW View,
    _In_ PCALLOCATOR Allocator
    );

//
// Decides whether what is shown, or comes after the help, is made of nodes.
//

BOOLEAN
LiveNeedsNodes(
    _In_ PCREADER_VIEW View
    );

//
// What a key does.  TRUE: the screen is to be drawn again.  What it asks of
// the program is left in Request.
// View: the view, as it was drawn.
// Model: the model that it was drawn from.
//

BOOLEAN
LivePressKey(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ READER_KEY Key,
    _In_ ULONG Character
    );

//
// Screen: the screen, with a size.
//

_Must_inspect_result_
NTSTATUS
LiveDrawView(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Inout_ PREADER_SCREEN Screen
    );

#endif // TRACER_LIVE_VIEW_H
