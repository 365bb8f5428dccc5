/*++

Module Name:

    LiveConsole.c

Abstract:

    The terminal that TraceReader live takes over, and leaves as it was.

    A console that takes control sequences gets those, on its alternate screen
    buffer.  Older ones, and Wine's, say that they take them and write them as
    text: one sequence that shows nothing is tried, and when the cursor has
    moved, the console gets cells, and at the end those back that its window
    had.  Either way a refresh is one write.

    Keys come from ReadConsoleInputW, with the input mode's processing of
    Ctrl+C and of lines off.

--*/

#include "LiveConsole.h"

#define READER_CONSOLE_NAME(Type, Name) #Name,

static const PCSZ ReaderConsoleNames[] = {
    READER_CONSOLE_ROUTINES_LIST(READER_CONSOLE_NAME)
};

C_ASSERT(sizeof(READER_CONSOLE_ROUTINES) ==
         RTL_NUMBER_OF(ReaderConsoleNames) * sizeof(PVOID));

//
// Modes that older headers do not have.
//

#define READER_OUTPUT_PROCESSED         0x0001u
#define READER_OUTPUT_SEQUENCES         0x0004u
#define READER_INPUT_WINDOW             0x0008u
#define READER_INPUT_KEPT               0x00E0u // insert, quick edit, extended

//
// Sequences: the alternate screen buffer, and the cursor.
//

#define READER_SEQUENCE_TRIED   L"\x1b[0m"
#define READER_SEQUENCE_BEGIN   L"\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J"
#define READER_SEQUENCE_END     L"\x1b[0m\x1b[?25h\x1b[?1049l"

#define READER_CONSOLE_DEFAULT_WIDTH 80
#define READER_CONSOLE_DEFAULT_HEIGHT 24

#define READER_ATTRIBUTE_BRIGHT 0x08u
#define READER_ATTRIBUTE_YELLOW 0x0Eu
#define READER_ATTRIBUTE_GREEN 0x0Au
#define READER_ATTRIBUTE_BROWN 0x06u
#define READER_ATTRIBUTE_RED 0x0Cu
#define READER_ATTRIBUTE_LEADING 0x0100u
#define READER_ATTRIBUTE_TRAILING 0x0200u

#define READER_CONSOLE_PAUSE 10     // milliseconds

#define READER_NOTIFICATION_EVENT 0 // EVENT_TYPE: stays set

//
// For Ctrl+Break, which comes in a thread of its own and with nothing but its
// number.
//

static HANDLE volatile ReaderStopEvent;
static NT_SET_EVENT * volatile ReaderSetStopEvent;


//
// Called when Ctrl+C or Ctrl+Break is pressed, or the console goes away.
// Type: CTRL_*_EVENT.
// Returns TRUE if the process goes on, to end by itself.
//

static
BOOL
WINAPI
LiveHandleBreak(
    _In_ DWORD Type
    )
{
    if ((Type == CTRL_C_EVENT || Type == CTRL_BREAK_EVENT) &&
        ReaderStopEvent != NULL && ReaderSetStopEvent != NULL) {
        ReaderSetStopEvent(ReaderStopEvent, NULL);
        return TRUE;
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
LiveLoadConsoleRoutines(
    PCRTL Rtl,
    PREADER_CONSOLE_ROUTINES Routines
    )
{
    HMODULE Module = Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);

    RtlZeroBytes(Routines, sizeof(*Routines));
    return Module != NULL &&
           RtlLoadSymbols(Module,
                          ReaderConsoleNames,
                          (PVOID *)Routines,
                          RTL_NUMBER_OF(ReaderConsoleNames),
                          NULL) == 0;
}


//
// Tries whether the console takes control sequences.
// Console: the console; the mode for sequences is not set yet.
// Returns TRUE if it does; the mode is set then, and otherwise as it was.
//

static
BOOLEAN
LiveTakesSequences(
    _In_ const READER_CONSOLE *Console
    )
{
    static const WCHAR Sequence[] = READER_SEQUENCE_TRIED;
    static const WCHAR Blanks[] = L"    ";
    CONSOLE_SCREEN_BUFFER_INFO Before;
    CONSOLE_SCREEN_BUFFER_INFO After;
    DWORD Written;

    //
    // Without wrapping at the end of a line, the last cell can be written.
    //

    if (!Console->Routines.SetConsoleMode(Console->Output,
                                          READER_OUTPUT_PROCESSED |
                                              READER_OUTPUT_SEQUENCES)) {
        return FALSE;
    }

    if (Console->Routines.GetConsoleScreenBufferInfo(Console->Output,
                                                     &Before) &&
        Console->Rtl->WriteConsoleW(Console->Output,
                                    Sequence,
                                    RTL_NUMBER_OF(Sequence) - 1,
                                    &Written,
                                    NULL) &&
        Console->Routines.GetConsoleScreenBufferInfo(Console->Output,
                                                     &After)) {

        if (Before.dwCursorPosition.X == After.dwCursorPosition.X &&
            Before.dwCursorPosition.Y == After.dwCursorPosition.Y) {
            return TRUE;
        }

        Console->Routines.SetConsoleCursorPosition(Console->Output,
                                                   Before.dwCursorPosition);
        Console->Rtl->WriteConsoleW(Console->Output,
                                    Blanks,
                                    RTL_NUMBER_OF(Blanks) - 1,
                                    &Written,
                                    NULL);
        Console->Routines.SetConsoleCursorPosition(Console->Output,
                                                   Before.dwCursorPosition);
    }

    Console->Routines.SetConsoleMode(Console->Output, Console->OutputMode);
    return FALSE;
}


//
// Saves what the window shows, or puts it back: line by line, because older
// consoles take no more than 64 KiB at once.
// Console: the console, with memory for that.
// IsBack: whether to put it back.
//

static
VOID
LiveCopyWindow(
    _In_ const READER_CONSOLE *Console,
    _In_ BOOLEAN IsBack
    )
{
    SMALL_RECT Region;
    COORD Origin = { 0, 0 };
    COORD Size;
    SHORT Line;

    Size.X = Console->Window.Right - Console->Window.Left + 1;
    Size.Y = 1;
    for (Line = Console->Window.Top; Line <= Console->Window.Bottom; Line++) {

        PCHAR_INFO Cells =
            Console->Saved + (SIZE_T)(Line - Console->Window.Top) * Size.X;

        Region.Left = Console->Window.Left;
        Region.Right = Console->Window.Right;
        Region.Top = Line;
        Region.Bottom = Line;
        if (IsBack) {
            Console->Routines.WriteConsoleOutputW(Console->Output,
                                                  Cells,
                                                  Size,
                                                  Origin,
                                                  &Region);
        } else {
            Console->Routines.ReadConsoleOutputW(Console->Output,
                                                 Cells,
                                                 Size,
                                                 Origin,
                                                 &Region);
        }
    }
}


//
// Saves what the window shows, and hides the cursor.
// Returns FALSE if there is no memory for it.
//

static
BOOLEAN
LiveSaveWindow(
    _Inout_ PREADER_CONSOLE Console
    )
{
    CONSOLE_CURSOR_INFO Cursor = { 1, FALSE };
    SIZE_T Count;

    if (Console->Window.Right < Console->Window.Left ||
        Console->Window.Bottom < Console->Window.Top) {
        return FALSE;
    }

    Count = (SIZE_T)(Console->Window.Right - Console->Window.Left + 1) *
            (SIZE_T)(Console->Window.Bottom - Console->Window.Top + 1);
    Console->Saved = (PCHAR_INFO)
        Console->Allocator->Allocate(Console->Allocator->Context,
                                     Count * sizeof(CHAR_INFO));
    if (Console->Saved == NULL) {
        return FALSE;
    }

    LiveCopyWindow(Console, FALSE);
    Console->Routines.SetConsoleCursorInfo(Console->Output, &Cursor);
    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
LiveOpenConsole(
    PREADER_CONSOLE Console,
    PCRTL Rtl,
    PCALLOCATOR Allocator,
    PCREADER_CONSOLE_ROUTINES Routines
    )
{
    static const WCHAR Begin[] = READER_SEQUENCE_BEGIN;
    CONSOLE_SCREEN_BUFFER_INFO Information;
    DWORD Written;

    RtlZeroBytes(Console, sizeof(*Console));
    Console->Rtl = Rtl;
    Console->Allocator = Allocator;
    Console->Routines = *Routines;
    Console->Input = Rtl->GetStdHandle(STD_INPUT_HANDLE);
    Console->Output = Rtl->GetStdHandle(STD_OUTPUT_HANDLE);
    if (!Rtl->GetConsoleMode(Console->Input, &Console->InputMode) ||
        !Rtl->GetConsoleMode(Console->Output, &Console->OutputMode) ||
        !Routines->GetConsoleScreenBufferInfo(Console->Output, &Information) ||
        !Routines->GetConsoleCursorInfo(Console->Output,
                                        &Console->CursorInformation)) {
        return FALSE;
    }

    Console->Attributes = Information.wAttributes & 0xFF;
    Console->CursorPosition = Information.dwCursorPosition;
    Console->Window = Information.srWindow;
    Console->IsSequences = LiveTakesSequences(Console);
    if (!Console->IsSequences && !LiveSaveWindow(Console)) {
        return FALSE;
    }

    if (!Routines->SetConsoleMode(Console->Input,
                                  (Console->InputMode & READER_INPUT_KEPT) |
                                      READER_INPUT_WINDOW)) {
        Console->IsOpen = TRUE;
        LiveCloseConsole(Console);
        return FALSE;
    }

    if (Console->IsSequences) {
        Rtl->WriteConsoleW(Console->Output,
                           Begin,
                           RTL_NUMBER_OF(Begin) - 1,
                           &Written,
                           NULL);
    }

    //
    // Without the event Ctrl+Break ends the process at once.
    //

    if (NT_SUCCESS(Rtl->NtCreateEvent(&Console->StopEvent,
                                      EVENT_ALL_ACCESS,
                                      NULL,
                                      READER_NOTIFICATION_EVENT,
                                      FALSE))) {
        ReaderStopEvent = Console->StopEvent;
        ReaderSetStopEvent = Rtl->NtSetEvent;
        Routines->SetConsoleCtrlHandler(LiveHandleBreak, TRUE);
    } else {
        Console->StopEvent = NULL;
    }

    Console->IsOpen = TRUE;
    return TRUE;
}


_Use_decl_annotations_
VOID
LiveCloseConsole(
    PREADER_CONSOLE Console
    )
{
    static const WCHAR End[] = READER_SEQUENCE_END;
    PCREADER_CONSOLE_ROUTINES Routines = &Console->Routines;
    PCALLOCATOR Allocator = Console->Allocator;
    DWORD Written;

    if (!Console->IsOpen) {
        return;
    }

    Console->IsOpen = FALSE;
    if (Console->StopEvent != NULL) {
        Routines->SetConsoleCtrlHandler(LiveHandleBreak, FALSE);
        ReaderStopEvent = NULL;
        Console->Rtl->NtClose(Console->StopEvent);
        Console->StopEvent = NULL;
    }

    if (Console->IsSequences) {
        Console->Rtl->WriteConsoleW(Console->Output,
                                    End,
                                    RTL_NUMBER_OF(End) - 1,
                                    &Written,
                                    NULL);
        Routines->SetConsoleMode(Console->Output, Console->OutputMode);
    }

    if (Console->Saved != NULL) {
        LiveCopyWindow(Console, TRUE);
        Routines->SetConsoleCursorPosition(Console->Output,
                                           Console->CursorPosition);
        Routines->SetConsoleCursorInfo(Console->Output,
                                       &Console->CursorInformation);
    }

    Routines->SetConsoleMode(Console->Input, Console->InputMode);
    Allocator->Free(Allocator->Context, Console->Saved);
    Allocator->Free(Allocator->Context, Console->Wide);
    Allocator->Free(Allocator->Context, Console->Information);
    Console->Saved = NULL;
    Console->Wide = NULL;
    Console->Information = NULL;
}


_Use_decl_annotations_
VOID
LiveQueryConsoleSize(
    const READER_CONSOLE *Console,
    PULONG Width,
    PULONG Height
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Information;

    *Width = READER_CONSOLE_DEFAULT_WIDTH;
    *Height = READER_CONSOLE_DEFAULT_HEIGHT;
    if (Console->Routines.GetConsoleScreenBufferInfo(Console->Output,
                                                     &Information) &&
        Information.srWindow.Right >= Information.srWindow.Left &&
        Information.srWindow.Bottom >= Information.srWindow.Top) {
        *Width = (ULONG)(Information.srWindow.Right -
                         Information.srWindow.Left + 1);
        *Height = (ULONG)(Information.srWindow.Bottom -
                          Information.srWindow.Top + 1);
    }
}


//
// Makes the attributes of a cell.
//

static
WORD
LiveMakeAttributes(
    _In_ const READER_CONSOLE *Console,
    _In_ PCREADER_SCREEN Screen,
    _In_ ULONG Style
    )
{
    WORD Normal = Console->Attributes;
    WORD Inverse = (WORD)(((Normal & 0x0F) << 4) | ((Normal & 0xF0) >> 4));

    switch (Style) {

    case ReaderStyleBold:
        return Normal ^ READER_ATTRIBUTE_BRIGHT;

    case ReaderStyleHeading:
        return Inverse;

    case ReaderStyleSelected:
        return Inverse ^ READER_ATTRIBUTE_BRIGHT;

    case ReaderStyleDim:
        return Screen->HasColor
                   ? (WORD)((Normal & 0xF0) | READER_ATTRIBUTE_BRIGHT)
                   : Normal;

    case ReaderStyleWarning:
        return Screen->HasColor
                   ? (WORD)((Normal & 0xF0) | READER_ATTRIBUTE_YELLOW)
                   : (WORD)(Normal ^ READER_ATTRIBUTE_BRIGHT);

    case ReaderStyleGood:
        return Screen->HasColor
                   ? (WORD)((Normal & 0xF0) | READER_ATTRIBUTE_GREEN)
                   : Normal;

    case ReaderStyleWarm:
        return Screen->HasColor
                   ? (WORD)((Normal & 0xF0) | READER_ATTRIBUTE_BROWN)
                   : Normal;

    case ReaderStyleHot:
        return Screen->HasColor
                   ? (WORD)((Normal & 0xF0) | READER_ATTRIBUTE_RED)
                   : Normal;

    default:
        return Normal;
    }
}


//
// Shows what has changed on a console that takes cells.
//

_Must_inspect_result_
static
NTSTATUS
LiveShowCells(
    _Inout_ PREADER_CONSOLE Console,
    _Inout_ PREADER_SCREEN Screen
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Information;
    SMALL_RECT Region;
    COORD Size;
    COORD Origin = { 0, 0 };
    SIZE_T Start;
    SIZE_T Index;
    ULONG First;
    ULONG Last;
    ULONG Count;
    NTSTATUS Status;

    if (!LiveFindChanges(Screen, &First, &Last)) {
        return STATUS_SUCCESS;
    }

    Count = (Last - First + 1) * Screen->Width;
    Status = BaseGrowArray(Screen->Allocator,
                           (PVOID *)&Console->Information,
                           &Console->CapacityOfInformation,
                           Count,
                           sizeof(CHAR_INFO));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Start = (SIZE_T)First * Screen->Width;
    for (Index = 0; Index < Count; Index++) {

        PCREADER_CELL Cell = &Screen->Cells[Start + Index];
        PCHAR_INFO To = &Console->Information[Index];
        ULONG Character = Cell->Character;

        To->Attributes = LiveMakeAttributes(Console, Screen, Cell->Style);

        //
        // Both halves of a wide character have it.
        //

        if (Character == 0 && Index != 0) {
            Character = Cell[-1].Character;
            To->Attributes |= READER_ATTRIBUTE_TRAILING;
        } else if (Index + 1 < Count && Cell[1].Character == 0) {
            To->Attributes |= READER_ATTRIBUTE_LEADING;
        }

        To->Char.UnicodeChar =
            Character < 0x10000 ? (WCHAR)Character : (WCHAR)0xFFFD;
    }

    RtlZeroBytes(&Information, sizeof(Information));
    Console->Routines.GetConsoleScreenBufferInfo(Console->Output,
                                                 &Information);
    Region.Left = Information.srWindow.Left;
    Region.Right = (SHORT)(Region.Left + Screen->Width - 1);
    Region.Top = (SHORT)(Information.srWindow.Top + First);
    Region.Bottom = (SHORT)(Information.srWindow.Top + Last);
    Size.X = (SHORT)Screen->Width;
    Size.Y = (SHORT)(Last - First + 1);
    if (!Console->Routines.WriteConsoleOutputW(Console->Output,
                                               Console->Information,
                                               Size,
                                               Origin,
                                               &Region)) {
        return STATUS_UNSUCCESSFUL;
    }

    RtlCopyBytes(Screen->Shown + Start,
                 Screen->Cells + Start,
                 Count * sizeof(READER_CELL));
    Screen->IsAllChanged = FALSE;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
LiveShowScreen(
    PREADER_CONSOLE Console,
    PREADER_SCREEN Screen
    )
{
    ULONG Size;
    ULONG Length;
    ULONG Start;
    DWORD Written;
    NTSTATUS Status;

    if (!Console->IsSequences) {
        return LiveShowCells(Console, Screen);
    }

    Size = LiveRenderScreen(Screen);
    if (Size == 0) {
        return STATUS_SUCCESS;
    }

    //
    // A byte gives one 16-bit unit at most.
    //

    Status = BaseGrowArray(Screen->Allocator,
                           (PVOID *)&Console->Wide,
                           &Console->CapacityOfWide,
                           Size,
                           sizeof(WCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlUtf8ToWide(Screen->Bytes,
                  Size,
                  Console->Wide,
                  Console->CapacityOfWide,
                  &Length);
    for (Start = 0; Start < Length; Start += Written) {
        Written = 0;
        if (!Console->Rtl->WriteConsoleW(Console->Output,
                                         Console->Wide + Start,
                                         Length - Start,
                                         &Written,
                                         NULL) ||
            Written == 0 || Written > Length - Start) {
            return STATUS_UNSUCCESSFUL;
        }
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
READER_KEY
LiveConsoleReadKey(
    PREADER_CONSOLE Console,
    PULONG Character
    )
{
    LARGE_INTEGER AtOnce;
    PINPUT_RECORD Record;
    READER_KEY Key;
    DWORD Count;

    *Character = 0;
    AtOnce.QuadPart = 0;
    if (Console->StopEvent != NULL &&
        Console->Rtl->NtWaitForSingleObject(Console->StopEvent,
                                            FALSE,
                                            &AtOnce) == STATUS_SUCCESS) {
        return ReaderKeyStop;
    }

    if (Console->NumberOfRepeats != 0) {
        Console->NumberOfRepeats -= 1;
        *Character = Console->RepeatedCharacter;
        return Console->RepeatedKey;
    }

    for (;;) {

        if (Console->NextRecord == Console->NumberOfRecords) {

            Console->NextRecord = 0;
            Console->NumberOfRecords = 0;
            Count = 0;
            if (!Console->Routines.GetNumberOfConsoleInputEvents(
                    Console->Input,
                    &Count) ||
                Count == 0 ||
                !Console->Routines.ReadConsoleInputW(
                    Console->Input,
                    Console->Records,
                    RTL_NUMBER_OF(Console->Records),
                    &Count) ||
                Count > RTL_NUMBER_OF(Console->Records)) {
                return ReaderKeyNone;
            }

            Console->NumberOfRecords = Count;
            if (Count == 0) {
                return ReaderKeyNone;
            }
        }

        Record = &Console->Records[Console->NextRecord];
        Console->NextRecord += 1;
        if (Record->EventType == WINDOW_BUFFER_SIZE_EVENT) {
            return ReaderKeyResize;
        }

        if (Record->EventType != KEY_EVENT) {
            continue;
        }

        Key = OutputTranslateKey(Record->Event.KeyEvent.bKeyDown,
                                 Record->Event.KeyEvent.wVirtualKeyCode,
                                 Record->Event.KeyEvent.uChar.UnicodeChar,
                                 Character);
        if (Key == ReaderKeyNone) {
            continue;
        }

        if (Record->Event.KeyEvent.wRepeatCount > 1) {
            Console->NumberOfRepeats =
                (ULONG)Record->Event.KeyEvent.wRepeatCount - 1;
            Console->RepeatedKey = Key;
            Console->RepeatedCharacter = *Character;
        }

        return Key;
    }
}


_Use_decl_annotations_
VOID
LiveWaitForKey(
    PREADER_CONSOLE Console,
    HANDLE Process,
    ULONG Milliseconds
    )
{
    LARGE_INTEGER Timeout;
    HANDLE Handles[3];
    DWORD Count = 0;
    DWORD Result;
    ULONG Pause = 0;

    if (Console->NextRecord != Console->NumberOfRecords ||
        Console->NumberOfRepeats != 0) {
        return;
    }

    Handles[Count] = Console->Input;
    Count += 1;
    if (Console->StopEvent != NULL) {
        Handles[Count] = Console->StopEvent;
        Count += 1;
    }

    if (Process != NULL) {
        Handles[Count] = Process;
        Count += 1;
    }

    //
    // An input that is at its end, or that somebody else has emptied, must
    // not keep a processor busy.
    //

    Result = Console->Routines.WaitForMultipleObjects(Count,
                                                      Handles,
                                                      FALSE,
                                                      Milliseconds);
    if (Result == WAIT_FAILED) {
        Pause = Milliseconds;
    } else if (Result == WAIT_OBJECT_0 &&
               (!Console->Routines.GetNumberOfConsoleInputEvents(
                    Console->Input,
                    &Count) ||
                Count == 0)) {
        Pause = READER_CONSOLE_PAUSE;
    }

    if (Pause != 0) {

        //
        // Relative times are negative, in units of 100 ns.
        //

        Timeout.QuadPart = -(LONGLONG)Pause * 10000;
        Console->Rtl->NtDelayExecution(FALSE, &Timeout);
    }
}
