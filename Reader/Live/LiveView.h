/*++

Module Name:

    LiveView.h

Abstract:

    A refresh as a screen, and what keys do to it.

--*/

#ifndef TRACER_LIVE_VIEW_H
#define TRACER_LIVE_VIEW_H

#include "LiveModel.h"
#include "LiveScreen.h"

typedef enum _READER_KEY {
    ReaderKeyNone = 0,
    ReaderKeyCharacter,
    ReaderKeyUp,
    ReaderKeyDown,
    ReaderKeyLeft,
    ReaderKeyRight,
    ReaderKeyPageUp,
    ReaderKeyPageDown,
    ReaderKeyHome,
    ReaderKeyEnd,
    ReaderKeyEnter,
    ReaderKeyEscape,
    ReaderKeyTab,
    ReaderKeyBackspace,
    ReaderKeyResize,
    ReaderKeyStop                   // Ctrl+C, Ctrl+Break
} READER_KEY;

typedef enum _READER_VIEW_KIND {
    ReaderViewFunctions = 0,
    ReaderViewThreads,
    ReaderViewFrames,
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

#define READER_NUMBER_OF_VIEWS 3        // without the help
#define READER_VIEW_FILTER_SIZE 96      // bytes

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
