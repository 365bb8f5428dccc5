/*++

Module Name:

    ReaderLive.h

Abstract:

    What the parts of TraceReader live share.

        LiveRead    passes over the threads' records, all of them or a sample
        LiveModel   a refresh as numbers and names, without a session
        LivePlain   a refresh as lines
        LiveView    a refresh as a screen, and what keys do to it
        LiveScreen  a screen of cells, and how it gets to a terminal
        LiveConsole the terminal: its modes, its size, its keys
        LiveHtml    a refresh as a page

    CommandLive.c has the loop.

--*/

#ifndef TRACER_READER_LIVE_H
#define TRACER_READER_LIVE_H

#include "Reader.h"
#include "ReaderFile.h"

//
// LiveRead.c
//

//
// A function, by its index in the tally.
//

typedef struct _READER_LIVE_FUNCTION {
    ULONGLONG OtherCalls;           // that ended and are not in the tally:
    ULONGLONG OtherSelfTicks;       // of abandoned ones, and of those that
    ULONGLONG OtherTotalTicks;      // were open where records were left out
    ULONGLONG ClosedCalls;          // of calls that had ended when it was
    ULONGLONG ClosedSelfTicks;      // looked at last
    ULONGLONG ClosedTotalTicks;
    LONGLONG Calls;                 // these three since then, and not added
    LONGLONG SelfTicks;             // to those below yet
    LONGLONG TotalTicks;
    ULONGLONG PieceCalls;           // that began in a thread's pieces
    ULONGLONG IntervalCalls;        // these may be estimates
    ULONGLONG IntervalSelfTicks;
    ULONGLONG AllCalls;             // since reading began
    ULONGLONG AllSelfTicks;
    ULONGLONG AllTotalTicks;
    ULONGLONG TreeCalls;            // these two of calls in trees, without
    ULONGLONG TreeTicks;            // those that are open; for the average
} READER_LIVE_FUNCTION;
typedef READER_LIVE_FUNCTION *PREADER_LIVE_FUNCTION;
typedef const READER_LIVE_FUNCTION *PCREADER_LIVE_FUNCTION;

//
// An open frame when it was looked at last.
//

typedef struct _READER_LIVE_OPEN {
    ULONG Function;                 // index in the tally
    ULONG Unused;
    ULONGLONG SelfTicks;            // so far
    ULONGLONG TotalTicks;           // likewise; 0 inside a call of its own
} READER_LIVE_OPEN;
typedef READER_LIVE_OPEN *PREADER_LIVE_OPEN;

//
// What a thread's trees had of a function when they were looked at last.
//

typedef struct _READER_LIVE_TREE_SUM {
    ULONGLONG Calls;
    ULONGLONG SelfTicks;
    ULONGLONG TotalTicks;
    ULONGLONG EndedCalls;
    ULONGLONG EndedTicks;
} READER_LIVE_TREE_SUM;
typedef READER_LIVE_TREE_SUM *PREADER_LIVE_TREE_SUM;

typedef struct _READER_LIVE_THREAD {
    READER_STREAM Stream;
    PREADER_LIVE_OPEN Open;
    ULONG NumberOfOpen;
    ULONG CapacityOfOpen;
    ULONGLONG TakenTo;              // time stamp up to which time is counted
    ULONGLONG WindowStart;          // time stamp; 0: this pass read all
    ULONGLONG PieceRecords;         // of those that calls are counted in
    ULONGLONG PassStart;            // time stamp of the record before it
    ULONGLONG GapTicks;             // that were left out just now
    ULONGLONG PassRecords;          // of this pass, read or not
    ULONGLONG PassRead;             // of those, read
    ULONGLONG AllRecords;           // since reading began, read or not
    ULONGLONG IntervalRecords;      // of those, of this interval
    ULONG GapJumps;                 // frames with fewer were open where
                                    // records were left out
    ULONG LongFunction;             // index in the tally: it was innermost
                                    // when there were no records for long
    BOOLEAN HasLongFunction;
    BOOLEAN IsBegun;                // it has been read
    BOOLEAN IsDone;                 // read to its end, and closed
    BOOLEAN HasTrees;               // these up to the end are of its trees
    ULONGLONG IntervalCalls;
    ULONGLONG ClearTimestamp;       // of all of them, added
    PREADER_LIVE_TREE_SUM Sums;     // by index in the tally
    ULONG CapacityOfSums;
    ULONG NumberOfFrames;
    PREADER_TREE_FRAME Frames;      // their functions are those of the table
    ULONG CapacityOfFrames;
    ULONG Innermost;                // function; READER_NONE: none is open
} READER_LIVE_THREAD;
typedef READER_LIVE_THREAD *PREADER_LIVE_THREAD;
typedef const READER_LIVE_THREAD *PCREADER_LIVE_THREAD;

#define READER_LIVE_NUMBER_OF_SAMPLES 32

typedef struct _READER_LIVE {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    READER_TALLY Before;            // for what is passed over
    PREADER_LIVE_FUNCTION List;     // by index in the tally
    ULONG CapacityOfList;
    PREADER_LIVE_THREAD *Threads;   // as the session's
    ULONG NumberOfThreads;
    ULONG CapacityOfThreads;
    ULONGLONG Horizon;              // the time stamp that has been read up to
    ULONGLONG IntervalStart;        // time stamp
    ULONGLONG IntervalQpc;          // counts, when the interval began
    RTL_CLOCK_READING Reading;      // when the last pass began
    ULONGLONG NewRecords;           // of this interval
    ULONGLONG NewRead;              // of those, read
    ULONGLONG AllRecords;           // since reading began
    ULONGLONG SinceRecords;         // but for those before the first refresh
    ULONGLONG SinceRead;            // of those, read
    ULONGLONG Random;               // for where pieces are
    ULONGLONG Overtaken;            // records that were overwritten before
                                    // they were read, of closed threads
    ULONGLONG Age;                  // nanoseconds, of the oldest data shown
    READER_PROGRESS Progress;       // until the first refresh
    ULONGLONG Since;                // time stamp from which on the records of
                                    // all threads are read; 0: all are
    ULONG BudgetInPercent;          // of a processor; 100: read everything
    ULONGLONG Allowance;            // records that a pass may read
    ULONGLONG Busy;                 // nanoseconds of drawing since the last
                                    // pass
    ULONGLONG Drawing;              // the same, of a pass on the average
    ULONGLONG Fixed;                // nanoseconds of a pass, but for reading
    ULONGLONG Samples[READER_LIVE_NUMBER_OF_SAMPLES];   // nanoseconds that
                                    // threads' parts of this pass took
    ULONG NumberOfSamples;
    ULONG NumberOfParts;            // of this pass
    ULONGLONG PartTime;             // nanoseconds of all of them
    ULONGLONG Spent;                // of the budget, in millionths: the last
                                    // passes on the average
    BOOLEAN IsBefore;               // the first refresh has not begun
    BOOLEAN IsPassedOver;           // something was
    BOOLEAN IsSampling;             // records were left out, at least once
    BOOLEAN IsPassSampled;          // by the last pass
    BOOLEAN IsBackUnread;           // and those before the first refresh
    BOOLEAN HasPage;                // --html: one has been written
    ULONG ExitCode;
} READER_LIVE;
typedef READER_LIVE *PREADER_LIVE;
typedef const READER_LIVE *PCREADER_LIVE;

//
// Makes room in the list for the tally's functions.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_GROW_LIVE_LIST)(
    _Inout_ PREADER_LIVE Live
    );
READER_GROW_LIVE_LIST ReaderGrowLiveList;

//
// LiveTree.c
//

//
// Reads a thread's trees and adds what is new in them to what is to be taken.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_READ_LIVE_TREES)(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    );
READER_READ_LIVE_TREES ReaderReadLiveTrees;

//
// Data older than this, in nanoseconds, is read again before it is shown,
// unless the writer is faster than the reader can be.
//

#define READER_LIVE_MAXIMUM_AGE 50000000ULL

//
// All zeroes but for Options and Session.
//

typedef VOID (READER_INITIALIZE_LIVE)(_Inout_ PREADER_LIVE Live);
READER_INITIALIZE_LIVE ReaderInitializeLive;

typedef VOID (READER_RUNDOWN_LIVE)(_Inout_ PREADER_LIVE Live);
READER_RUNDOWN_LIVE ReaderRundownLive;

//
// Reads what was recorded before the first refresh.
//

typedef NTSTATUS (READER_BEGIN_LIVE)(_Inout_ PREADER_LIVE Live);
READER_BEGIN_LIVE ReaderBeginLive;

//
// Forgets what the last interval had, and closes threads that have ended.
//

typedef VOID (READER_BEGIN_LIVE_INTERVAL)(_Inout_ PREADER_LIVE Live);
READER_BEGIN_LIVE_INTERVAL ReaderBeginLiveInterval;

//
// Reads until what has been read is fresh, and charges the running functions
// up to then.  IsRefresh is FALSE for a pass in the middle of an interval.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_CATCH_UP_LIVE)(
    _Inout_ PREADER_LIVE Live,
    _In_ BOOLEAN IsRefresh
    );
READER_CATCH_UP_LIVE ReaderCatchUpLive;

//
// May a thread write more?
//

typedef
BOOLEAN
(READER_IS_LIVE_THREAD_GROWING)(
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread
    );
READER_IS_LIVE_THREAD_GROWING ReaderIsLiveThreadGrowing;

//
// A thread's records that its writer overwrote before they were read.
//

typedef
ULONGLONG
(READER_COUNT_LIVE_OVERTAKEN)(
    _In_ PCREADER_LIVE_THREAD Thread
    );
READER_COUNT_LIVE_OVERTAKEN ReaderCountLiveOvertaken;

//
// LiveModel.c
//

typedef struct _READER_LIVE_FUNCTION_ROW {
    PCSZ Name;                      // UTF-8, as the image has it
    ULONG NameLength;               // bytes
    BOOLEAN IsShown;                // --function, --exclude
    BOOLEAN IsRunning;              // it ran in this interval
    ULONGLONG Calls;                // of the interval
    ULONGLONG CallsPerSecond;
    ULONGLONG SelfTicks;            // of the interval
    ULONGLONG SelfPerSecond;        // ticks
    ULONGLONG SelfPerMille;         // of all functions' in the interval
    ULONGLONG AllCalls;
    ULONGLONG AllTotalTicks;
    ULONGLONG AllSelfTicks;
    ULONGLONG AverageTicks;
    BOOLEAN HasAverage;             // a call has ended
} READER_LIVE_FUNCTION_ROW;
typedef READER_LIVE_FUNCTION_ROW *PREADER_LIVE_FUNCTION_ROW;
typedef const READER_LIVE_FUNCTION_ROW *PCREADER_LIVE_FUNCTION_ROW;

typedef struct _READER_LIVE_THREAD_ROW {
    ULONG ThreadId;
    const CHAR *Name;
    ULONG NameLength;               // bytes; 0: it has none
    PCSZ State;                     // a literal
    ULONGLONG CallsPerSecond;
    ULONGLONG Records;              // since reading began
    ULONGLONG SizeInBytes;          // of its stores' records
    ULONG FirstFrame;               // index
    ULONG Depth;                    // number of frames
    PCSZ Innermost;                 // the running function's name
    ULONG InnermostLength;          // bytes; 0: none
    ULONG Unused;
    CHAR Label[64];                 // what Name is where there are several
                                    // processes: the process's, and its own
} READER_LIVE_THREAD_ROW;
typedef READER_LIVE_THREAD_ROW *PREADER_LIVE_THREAD_ROW;
typedef const READER_LIVE_THREAD_ROW *PCREADER_LIVE_THREAD_ROW;

typedef struct _READER_LIVE_FRAME_ROW {
    PCSZ Name;
    ULONG NameLength;               // bytes
    ULONG Track;                    // 0: the thread's own stack
    ULONGLONG AgeInTicks;
    BOOLEAN IsShown;                // --function, --exclude
    BOOLEAN IsAssumed;              // records after its entry were left out
} READER_LIVE_FRAME_ROW;
typedef READER_LIVE_FRAME_ROW *PREADER_LIVE_FRAME_ROW;
typedef const READER_LIVE_FRAME_ROW *PCREADER_LIVE_FRAME_ROW;

#define READER_LIVE_SENTENCE_SIZE 240   // bytes

//
// The beginning of a line on what is followed.
//

#define READER_PUT_LIVE_PROCESS(Writer, Model, First)                       \
    do {                                                                    \
        if ((Model)->NumberOfProcesses > 1) {                               \
            RtlWriteText((Writer),                                          \
                         "%u processes",                                    \
                         (Model)->NumberOfProcesses);                       \
        } else {                                                            \
            RtlWriteText((Writer),                                          \
                         "%srocess %u",                                     \
                         (First),                                           \
                         (Model)->ProcessId);                               \
        }                                                                   \
    } while (0)

typedef struct _READER_LIVE_MODEL {
    PCALLOCATOR Allocator;
    PCSZ Path;                      // UTF-8, of the session
    PCCORE_CLOCK Clock;
    ULONG ProcessId;
    ULONG NumberOfProcesses;        // of several, ProcessId is the first's
    ULONG NumberOfRunning;          // threads
    ULONGLONG SystemTime;           // FILETIME
    ULONGLONG IntervalInNanoseconds;    // 0: not known
    ULONGLONG NewRecords;           // of a session of trees alone, calls
    ULONGLONG AllRecords;
    ULONGLONG CallsPerSecond;
    ULONGLONG SamplePerMille;       // of the interval's records; 1000: all
    BOOLEAN IsOfTrees;              // there are no records
    BOOLEAN IsEnded;                // the numbers are those of the whole run
    BOOLEAN IsWhole;                // likewise: it had ended before
    BOOLEAN IsLate;                 // reading does not keep up
    ULONGLONG SincePerMille;        // of those since reading began, read
    BOOLEAN IsEstimated;            // some of All* are
    BOOLEAN IsBackUnread;           // frames from before are not known
    ULONGLONG Overtaken;            // records overwritten before they were
                                    // read
    ULONGLONG AgeInMilliseconds;    // of what is shown
    PCSZ ClockName;                 // NULL: that of the time stamp counter
    CHAR End[READER_LIVE_SENTENCE_SIZE];    // how the program ended
    ULONG EndLength;
    PREADER_LIVE_FUNCTION_ROW Functions;
    ULONG NumberOfFunctions;
    ULONG CapacityOfFunctions;
    PREADER_LIVE_THREAD_ROW Threads;
    ULONG NumberOfThreads;
    ULONG CapacityOfThreads;
    PREADER_LIVE_FRAME_ROW Frames;  // by thread, the outermost first
    ULONG NumberOfFrames;
    ULONG CapacityOfFrames;
} READER_LIVE_MODEL;
typedef READER_LIVE_MODEL *PREADER_LIVE_MODEL;
typedef const READER_LIVE_MODEL *PCREADER_LIVE_MODEL;

//
// What NewRecords and AllRecords are.
//

#define READER_LIVE_UNIT(Model) ((Model)->IsOfTrees ? "calls" : "records")

//
// Makes the model of what has been read.  What it points to stays until the
// session is closed.  IsWhole: the interval is all that there is.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_MAKE_LIVE_MODEL)(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ BOOLEAN IsWhole
    );
READER_MAKE_LIVE_MODEL ReaderMakeLiveModel;

//
// Makes the model of a whole session whose program has ended, from a tally of
// all its threads.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_MAKE_ENDED_MODEL)(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ const READER_TALLY *Tally
    );
READER_MAKE_ENDED_MODEL ReaderMakeEndedModel;

typedef VOID (READER_RUNDOWN_MODEL)(_Inout_ PREADER_LIVE_MODEL Model);
READER_RUNDOWN_MODEL ReaderRundownModel;

//
// Says how the program ended, without a line feed; the process is gone.
//

typedef
VOID
(READER_WRITE_LIVE_END)(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session
    );
READER_WRITE_LIVE_END ReaderWriteLiveEnd;

//
// Says in plain words how fresh and how good the numbers are, without a line
// feed.
//

typedef
VOID
(READER_WRITE_LIVE_STATE)(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model
    );
READER_WRITE_LIVE_STATE ReaderWriteLiveState;

//
// Write a number in a column of that width, and a time in one of
// READER_TIME_WIDTH.  An estimate has a ~ and three digits at most.
//

#define READER_ESTIMATE_SIZE 16     // bytes, of such a number or time

typedef
VOID
(READER_WRITE_LIVE_NUMBER)(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Number,
    _In_ BOOLEAN IsEstimate,
    _In_ int Width
    );
READER_WRITE_LIVE_NUMBER ReaderWriteLiveNumber;

typedef
VOID
(READER_WRITE_LIVE_TIME)(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _In_ BOOLEAN IsEstimate
    );
READER_WRITE_LIVE_TIME ReaderWriteLiveTime;

//
// LivePlain.c
//

typedef struct _READER_LIVE_PLAIN {
    READER_OUTPUT Output;
    ULONGLONG Limit;
    PULONG Order;
    ULONG CapacityOfOrder;
    ULONGLONG NumberShown;          // rows and frames, of all refreshes
    READER_NOT_SHOWN NotShown;      // likewise
} READER_LIVE_PLAIN;
typedef READER_LIVE_PLAIN *PREADER_LIVE_PLAIN;

typedef
_Must_inspect_result_
NTSTATUS
(READER_PUT_LIVE_PLAIN)(
    _Inout_ PREADER_LIVE_PLAIN Plain,
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model
    );
READER_PUT_LIVE_PLAIN ReaderPutLivePlain;

//
// LiveScreen.c
//

#define READER_SCREEN_MAXIMUM_WIDTH 1000u
#define READER_SCREEN_MAXIMUM_HEIGHT 500u

typedef enum _READER_STYLE {
    ReaderStyleNormal = 0,
    ReaderStyleBold,
    ReaderStyleHeading,             // inverse
    ReaderStyleSelected,            // inverse and bold
    ReaderStyleDim,
    ReaderStyleWarning              // bold, in a color if there are any
} READER_STYLE;

typedef struct _READER_CELL {
    ULONG Character;                // code point; 0: the right half of the
                                    // character before it
    ULONG Style;                    // READER_STYLE
} READER_CELL;
typedef READER_CELL *PREADER_CELL;
typedef const READER_CELL *PCREADER_CELL;

typedef struct _READER_SCREEN {
    PCALLOCATOR Allocator;
    ULONG Width;                    // cells
    ULONG Height;
    PREADER_CELL Cells;             // what is to be shown
    PREADER_CELL Shown;             // what the terminal shows
    PCHAR Bytes;                    // for a refresh, large enough for all
    ULONG CapacityInBytes;
    BOOLEAN IsAllChanged;           // nobody knows what the terminal shows
    BOOLEAN HasColor;
} READER_SCREEN;
typedef READER_SCREEN *PREADER_SCREEN;
typedef const READER_SCREEN *PCREADER_SCREEN;

//
// Gives a screen a size (from 1 x 1 to the largest); it is then blank.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_RESIZE_SCREEN)(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Width,
    _In_ ULONG Height
    );
READER_RESIZE_SCREEN ReaderResizeScreen;

typedef VOID (READER_RUNDOWN_SCREEN)(_Inout_ PREADER_SCREEN Screen);
READER_RUNDOWN_SCREEN ReaderRundownScreen;

typedef VOID (READER_CLEAR_SCREEN)(_Inout_ PREADER_SCREEN Screen);
READER_CLEAR_SCREEN ReaderClearScreen;

//
// How many cells a character takes: 0, 1 or 2.
//

typedef ULONG (READER_QUERY_CHARACTER_WIDTH)(_In_ ULONG Character);
READER_QUERY_CHARACTER_WIDTH ReaderQueryCharacterWidth;

//
// Puts UTF-8 on a line, from column X on and over at most Width cells; what
// does not fit is cut, and an ellipsis says so.  Control characters and
// ill-formed bytes are replaced, characters without a width left out.  Returns
// the number of cells.
//

typedef
ULONG
(READER_PUT_ON_SCREEN)(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG X,
    _In_ ULONG Y,
    _In_ ULONG Width,
    _In_ READER_STYLE Style,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );
READER_PUT_ON_SCREEN ReaderPutOnScreen;

//
// Gives a whole line a style.
//

typedef
VOID
(READER_STYLE_LINE)(
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_ READER_STYLE Style
    );
READER_STYLE_LINE ReaderStyleLine;

//
// The lines that differ from what the terminal shows.  FALSE: none does.
//

typedef
BOOLEAN
(READER_FIND_CHANGES)(
    _In_ PCREADER_SCREEN Screen,
    _Out_ PULONG First,
    _Out_ PULONG Last
    );
READER_FIND_CHANGES ReaderFindChanges;

//
// Makes the control sequences that bring a terminal up to date, in Bytes, and
// takes the lines for shown.  Returns their number.
//

typedef ULONG (READER_RENDER_SCREEN)(_Inout_ PREADER_SCREEN Screen);
READER_RENDER_SCREEN ReaderRenderScreen;

//
// LiveView.c
//

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
    BOOLEAN IsThreadChosen;
    BOOLEAN IsPaused;
    BOOLEAN IsEditing;              // the filter
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

typedef
VOID
(READER_INITIALIZE_VIEW)(
    _Out_ PREADER_VIEW View,
    _In_ ULONG IntervalInMilliseconds
    );
READER_INITIALIZE_VIEW ReaderInitializeView;

//
// What a key does.  TRUE: the screen is to be drawn again.
//

typedef
BOOLEAN
(READER_PRESS_KEY)(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ READER_KEY Key,
    _In_ ULONG Character
    );
READER_PRESS_KEY ReaderPressKey;

typedef
_Must_inspect_result_
NTSTATUS
(READER_DRAW_VIEW)(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Inout_ PREADER_SCREEN Screen
    );
READER_DRAW_VIEW ReaderDrawView;

//
// LiveConsole.c
//

//
// kernel32.dll's routines for consoles, which only a terminal needs.
//

typedef BOOL (WINAPI READER_SET_CONSOLE_MODE)(
    _In_ HANDLE Console,
    _In_ DWORD Mode
    );

typedef BOOL (WINAPI READER_GET_CONSOLE_SCREEN_BUFFER_INFO)(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_SCREEN_BUFFER_INFO Information
    );

typedef BOOL (WINAPI READER_READ_CONSOLE_INPUT_W)(
    _In_ HANDLE Console,
    _Out_writes_to_(Length, *NumberRead) PINPUT_RECORD Records,
    _In_ DWORD Length,
    _Out_ LPDWORD NumberRead
    );

typedef BOOL (WINAPI READER_GET_NUMBER_OF_CONSOLE_INPUT_EVENTS)(
    _In_ HANDLE Console,
    _Out_ LPDWORD Number
    );

typedef BOOL (WINAPI READER_SET_CONSOLE_CURSOR_POSITION)(
    _In_ HANDLE Console,
    _In_ COORD Position
    );

typedef BOOL (WINAPI READER_SET_CONSOLE_CURSOR_INFO)(
    _In_ HANDLE Console,
    _In_ const CONSOLE_CURSOR_INFO *Information
    );

typedef BOOL (WINAPI READER_GET_CONSOLE_CURSOR_INFO)(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_CURSOR_INFO Information
    );

typedef BOOL (WINAPI READER_READ_CONSOLE_OUTPUT_W)(
    _In_ HANDLE Console,
    _Out_ PCHAR_INFO Cells,
    _In_ COORD Size,
    _In_ COORD Origin,
    _Inout_ PSMALL_RECT Region
    );

typedef BOOL (WINAPI READER_WRITE_CONSOLE_OUTPUT_W)(
    _In_ HANDLE Console,
    _In_ const CHAR_INFO *Cells,
    _In_ COORD Size,
    _In_ COORD Origin,
    _Inout_ PSMALL_RECT Region
    );

typedef BOOL (WINAPI READER_SET_CONSOLE_CTRL_HANDLER)(
    _In_opt_ PHANDLER_ROUTINE Handler,
    _In_ BOOL IsAdded
    );

typedef DWORD (WINAPI READER_WAIT_FOR_MULTIPLE_OBJECTS)(
    _In_ DWORD Count,
    _In_reads_(Count) const HANDLE *Handles,
    _In_ BOOL IsAll,
    _In_ DWORD Milliseconds
    );

#define READER_CONSOLE_ROUTINES_LIST(ENTRY)                                 \
    ENTRY(READER_SET_CONSOLE_MODE, SetConsoleMode)                          \
    ENTRY(READER_GET_CONSOLE_SCREEN_BUFFER_INFO,                            \
          GetConsoleScreenBufferInfo)                                       \
    ENTRY(READER_READ_CONSOLE_INPUT_W, ReadConsoleInputW)                   \
    ENTRY(READER_GET_NUMBER_OF_CONSOLE_INPUT_EVENTS,                        \
          GetNumberOfConsoleInputEvents)                                    \
    ENTRY(READER_SET_CONSOLE_CURSOR_POSITION, SetConsoleCursorPosition)     \
    ENTRY(READER_SET_CONSOLE_CURSOR_INFO, SetConsoleCursorInfo)             \
    ENTRY(READER_GET_CONSOLE_CURSOR_INFO, GetConsoleCursorInfo)             \
    ENTRY(READER_READ_CONSOLE_OUTPUT_W, ReadConsoleOutputW)                 \
    ENTRY(READER_WRITE_CONSOLE_OUTPUT_W, WriteConsoleOutputW)               \
    ENTRY(READER_SET_CONSOLE_CTRL_HANDLER, SetConsoleCtrlHandler)           \
    ENTRY(READER_WAIT_FOR_MULTIPLE_OBJECTS, WaitForMultipleObjects)

#define READER_DECLARE_ROUTINE(Type, Name) Type *Name;

typedef struct _READER_CONSOLE_ROUTINES {
    READER_CONSOLE_ROUTINES_LIST(READER_DECLARE_ROUTINE)
} READER_CONSOLE_ROUTINES;
typedef READER_CONSOLE_ROUTINES *PREADER_CONSOLE_ROUTINES;
typedef const READER_CONSOLE_ROUTINES *PCREADER_CONSOLE_ROUTINES;

typedef struct _READER_CONSOLE {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    READER_CONSOLE_ROUTINES Routines;
    HANDLE Input;
    HANDLE Output;
    HANDLE StopEvent;               // set by Ctrl+Break
    DWORD InputMode;                // these as they were found
    DWORD OutputMode;
    WORD Attributes;                // of the text
    CONSOLE_CURSOR_INFO CursorInformation;
    COORD CursorPosition;
    SMALL_RECT Window;
    PCHAR_INFO Saved;               // what the window showed, if there are
                                    // no sequences
    BOOLEAN IsOpen;
    BOOLEAN IsSequences;            // the terminal takes control sequences
    INPUT_RECORD Records[16];       // that were read and not looked at
    ULONG NumberOfRecords;
    ULONG NextRecord;
    ULONG NumberOfRepeats;          // of the key before
    READER_KEY RepeatedKey;
    ULONG RepeatedCharacter;
    PWCHAR Wide;                    // for a refresh
    ULONG CapacityOfWide;           // 16-bit units
    PCHAR_INFO Information;         // for a refresh without sequences
    ULONG CapacityOfInformation;
} READER_CONSOLE;
typedef READER_CONSOLE *PREADER_CONSOLE;

//
// Finds the routines.  FALSE: there are none.
//

typedef
BOOLEAN
(READER_LOAD_CONSOLE_ROUTINES)(
    _In_ PCRTL Rtl,
    _Out_ PREADER_CONSOLE_ROUTINES Routines
    );
READER_LOAD_CONSOLE_ROUTINES ReaderLoadConsoleRoutines;

//
// Takes the terminal over.  FALSE: it is no terminal, or cannot show a screen,
// and is as it was.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_OPEN_CONSOLE)(
    _Out_ PREADER_CONSOLE Console,
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_CONSOLE_ROUTINES Routines
    );
READER_OPEN_CONSOLE ReaderOpenConsole;

//
// Leaves the terminal as it was found.  Closing twice does nothing.
//

typedef
VOID
(READER_CLOSE_CONSOLE)(
    _Inout_ PREADER_CONSOLE Console
    );
READER_CLOSE_CONSOLE ReaderCloseConsole;

typedef
VOID
(READER_QUERY_CONSOLE_SIZE)(
    _In_ const READER_CONSOLE *Console,
    _Out_ PULONG Width,
    _Out_ PULONG Height
    );
READER_QUERY_CONSOLE_SIZE ReaderQueryConsoleSize;

//
// Shows what has changed, in one write.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_SHOW_SCREEN)(
    _Inout_ PREADER_CONSOLE Console,
    _Inout_ PREADER_SCREEN Screen
    );
READER_SHOW_SCREEN ReaderShowScreen;

//
// The next key that was pressed, or ReaderKeyNone; does not wait.
//

typedef
READER_KEY
(READER_READ_KEY)(
    _Inout_ PREADER_CONSOLE Console,
    _Out_ PULONG Character
    );
READER_READ_KEY ReaderReadKey;

//
// Waits for a key, for a process (or NULL) to end, or for a time.
//

typedef
VOID
(READER_WAIT_FOR_KEY)(
    _Inout_ PREADER_CONSOLE Console,
    _In_opt_ HANDLE Process,
    _In_ ULONG Milliseconds
    );
READER_WAIT_FOR_KEY ReaderWaitForKey;

//
// LiveHtml.c
//

//
// Writes the page that --html names.  Returns READER_EXIT_*; a failure has
// been written.  Only the first page and the last one can fail.
//

typedef
ULONG
(READER_WRITE_LIVE_PAGE)(
    _Inout_ PREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG IntervalInMilliseconds
    );
READER_WRITE_LIVE_PAGE ReaderWriteLivePage;

#endif // TRACER_READER_LIVE_H
