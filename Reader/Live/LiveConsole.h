/*++

Module Name:

    LiveConsole.h

Abstract:

    The terminal: its modes, its size, its keys.

--*/

#ifndef TRACER_LIVE_CONSOLE_H
#define TRACER_LIVE_CONSOLE_H

#include "LiveView.h"

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
// Finds the routines. FALSE: there are none. Finds kernel32.dll's routines for
// consoles.
//

BOOLEAN
LiveLoadConsoleRoutines(
    _In_ PCRTL Rtl,
    _Out_ PREADER_CONSOLE_ROUTINES Routines
    );

//
// Takes the terminal over.  FALSE: it is no terminal, or cannot show a screen,
// and is as it was.
// Allocator: for what a refresh needs; must outlive the console.
// Routines: kernel32.dll's.
//

_Success_(return != FALSE)
BOOLEAN
LiveOpenConsole(
    _Out_ PREADER_CONSOLE Console,
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_CONSOLE_ROUTINES Routines
    );

//
// Leaves the terminal as it was found.  Closing twice does nothing.
//

VOID
LiveCloseConsole(
    _Inout_ PREADER_CONSOLE Console
    );

//
// Asks how large the terminal's window is.
// Width, Height: the size in cells.
//

VOID
LiveQueryConsoleSize(
    _In_ const READER_CONSOLE *Console,
    _Out_ PULONG Width,
    _Out_ PULONG Height
    );

//
// Shows what has changed, in one write.
// Console: the console, open.
//

_Must_inspect_result_
NTSTATUS
LiveShowScreen(
    _Inout_ PREADER_CONSOLE Console,
    _Inout_ PREADER_SCREEN Screen
    );

//
// The next key that was pressed, or ReaderKeyNone; does not wait.
// Console: the console, open.
//

READER_KEY
LiveConsoleReadKey(
    _Inout_ PREADER_CONSOLE Console,
    _Out_ PULONG Character
    );

//
// Waits for a key, for a process (or NULL) to end, or for a time.
// Console: the console, open.
// Milliseconds: how long at most.
//

VOID
LiveWaitForKey(
    _Inout_ PREADER_CONSOLE Console,
    _In_opt_ HANDLE Process,
    _In_ ULONG Milliseconds
    );

#endif // TRACER_LIVE_CONSOLE_H
