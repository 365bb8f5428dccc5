/*++

Module Name:

    Consoles.c

Abstract:

    Consoles of each kind: how they are opened, written to, read from, and left
    as they were found.

--*/

//
// For the codes of keys.
//

#undef NOUSER
#include "TestLiveScreen.h"

//
// The console.
//

typedef enum _TEST_CONSOLE_KIND {
    TestConsoleSequences = 0,
    TestConsoleCells,               // says that it takes sequences
    TestConsoleOld,                 // says that it does not
    TestConsoleNone                 // standard output is a file
} TEST_CONSOLE_KIND;

static struct {
    TEST_CONSOLE_KIND Kind;
    DWORD InputMode;
    DWORD OutputMode;
    CONSOLE_CURSOR_INFO Cursor;
    COORD Position;
    COORD Size;
    CHAR_INFO Cells[TEST_HEIGHT][TEST_WIDTH];
    ULONG NumberOfWrites;
    INPUT_RECORD Input[16];
    ULONG NumberOfInputs;
    ULONG NumberOfHandlers;
} TestConsole;

#define TEST_INPUT_HANDLE ((HANDLE)(ULONG_PTR)0x10)
#define TEST_OUTPUT_HANDLE ((HANDLE)(ULONG_PTR)0x20)


static
HANDLE
WINAPI
TestGetStdHandle(
    _In_ DWORD StandardHandle
    )
{
    return StandardHandle == STD_INPUT_HANDLE ? TEST_INPUT_HANDLE
                                              : TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestGetConsoleMode(
    _In_ HANDLE Console,
    _Out_ LPDWORD Mode
    )
{
    if (Console == TEST_OUTPUT_HANDLE && TestConsole.Kind == TestConsoleNone) {
        return FALSE;
    }

    *Mode = Console == TEST_INPUT_HANDLE ? TestConsole.InputMode
                                         : TestConsole.OutputMode;
    return TRUE;
}


static
BOOL
WINAPI
TestSetConsoleMode(
    _In_ HANDLE Console,
    _In_ DWORD Mode
    )
{
    if (Console == TEST_INPUT_HANDLE) {
        TestConsole.InputMode = Mode;
        return TRUE;
    }

    if ((Mode & 4) != 0 && TestConsole.Kind == TestConsoleOld) {
        return FALSE;
    }

    TestConsole.OutputMode = Mode;
    return TRUE;
}


static
BOOL
WINAPI
TestGetConsoleScreenBufferInfo(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_SCREEN_BUFFER_INFO Information
    )
{
    RtlZeroBytes(Information, sizeof(*Information));
    if (Console != TEST_OUTPUT_HANDLE) {
        return FALSE;
    }

    Information->dwSize = TestConsole.Size;
    Information->wAttributes = 0x07;
    Information->dwCursorPosition = TestConsole.Position;
    Information->srWindow.Right = TestConsole.Size.X - 1;
    Information->srWindow.Bottom = TestConsole.Size.Y - 1;
    return TRUE;
}


static
BOOL
WINAPI
TestGetConsoleCursorInfo(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_CURSOR_INFO Information
    )
{
    *Information = TestConsole.Cursor;
    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestSetConsoleCursorInfo(
    _In_ HANDLE Console,
    _In_ const CONSOLE_CURSOR_INFO *Information
    )
{
    TestConsole.Cursor = *Information;
    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestSetConsoleCursorPosition(
    _In_ HANDLE Console,
    _In_ COORD Position
    )
{
    TestConsole.Position = Position;
    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
WINAPI
TestWriteConsoleW(
    _In_ HANDLE Console,
    _In_reads_(Count) const VOID *Buffer,
    _In_ DWORD Count,
    _Out_ LPDWORD Written,
    _In_opt_ LPVOID Reserved
    )
{
    CHAR Bytes[3 * 4096];
    ULONG Length;
    DWORD Index;

    UNREFERENCED_PARAMETER(Reserved);
    *Written = Count;
    TestConsole.NumberOfWrites += 1;
    if (TestConsole.Kind == TestConsoleSequences &&
        (TestConsole.OutputMode & 4) != 0) {
        if (Count > 4096) {
            return FALSE;
        }

        RtlWideToUtf8((PCWSTR)Buffer, Count, Bytes, sizeof(Bytes), &Length);
        TestFollow(Bytes, Length);
        return Console == TEST_OUTPUT_HANDLE;
    }

    for (Index = 0; Index < Count; Index++) {
        TestConsole.Cells[TestConsole.Position.Y][TestConsole.Position.X]
            .Char.UnicodeChar = ((PCWSTR)Buffer)[Index];
        TestConsole.Position.X += 1;
    }

    return Console == TEST_OUTPUT_HANDLE;
}


static
BOOL
TestCopyCells(
    _Inout_ PCHAR_INFO Cells,
    _In_ COORD Size,
    _In_ PSMALL_RECT Region,
    _In_ BOOLEAN IsWrite
    )
{
    SHORT X;
    SHORT Y;

    if (Region->Left < 0 || Region->Right >= TestConsole.Size.X ||
        Region->Top < 0 || Region->Bottom >= TestConsole.Size.Y ||
        Size.X != Region->Right - Region->Left + 1 ||
        Size.Y != Region->Bottom - Region->Top + 1) {
        TestTerminal.NumberOfErrors += 1;
        return FALSE;
    }

    for (Y = 0; Y < Size.Y; Y++) {
        for (X = 0; X < Size.X; X++) {
            PCHAR_INFO To =
                &TestConsole.Cells[Region->Top + Y][Region->Left + X];

            if (IsWrite) {
                *To = Cells[Y * Size.X + X];
            } else {
                Cells[Y * Size.X + X] = *To;
            }
        }
    }

    return TRUE;
}


static
BOOL
WINAPI
TestWriteConsoleOutputW(
    _In_ HANDLE Console,
    _In_ const CHAR_INFO *Cells,
    _In_ COORD Size,
    _In_ COORD Origin,
    _Inout_ PSMALL_RECT Region
    )
{
    UNREFERENCED_PARAMETER(Origin);
    TestConsole.NumberOfWrites += 1;
    return Console == TEST_OUTPUT_HANDLE &&
           TestCopyCells((PCHAR_INFO)Cells, Size, Region, TRUE);
}


static
BOOL
WINAPI
TestReadConsoleOutputW(
    _In_ HANDLE Console,
    _Out_ PCHAR_INFO Cells,
    _In_ COORD Size,
    _In_ COORD Origin,
    _Inout_ PSMALL_RECT Region
    )
{
    UNREFERENCED_PARAMETER(Origin);
    return Console == TEST_OUTPUT_HANDLE &&
           TestCopyCells(Cells, Size, Region, FALSE);
}


static
BOOL
WINAPI
TestReadConsoleInputW(
    _In_ HANDLE Console,
    _Out_ PINPUT_RECORD Records,
    _In_ DWORD Length,
    _Out_ LPDWORD NumberRead
    )
{
    *NumberRead = TestConsole.NumberOfInputs;
    if (Console != TEST_INPUT_HANDLE || Length < TestConsole.NumberOfInputs) {
        return FALSE;
    }

    RtlCopyBytes(Records,
                 TestConsole.Input,
                 TestConsole.NumberOfInputs * sizeof(INPUT_RECORD));
    TestConsole.NumberOfInputs = 0;
    return TRUE;
}


static
BOOL
WINAPI
TestGetNumberOfConsoleInputEvents(
    _In_ HANDLE Console,
    _Out_ LPDWORD Number
    )
{
    *Number = TestConsole.NumberOfInputs;
    return Console == TEST_INPUT_HANDLE;
}


static
BOOL
WINAPI
TestSetConsoleCtrlHandler(
    _In_opt_ PHANDLER_ROUTINE Handler,
    _In_ BOOL IsAdded
    )
{
    TestConsole.NumberOfHandlers += IsAdded ? 1u : 0xFFFFFFFFu;

    //
    // Ctrl+Break, at once.
    //

    if (IsAdded && Handler != NULL) {
        TEST(Handler(CTRL_BREAK_EVENT));
        TEST(!Handler(CTRL_CLOSE_EVENT));
    }

    return TRUE;
}


static
DWORD
WINAPI
TestWaitForMultipleObjects(
    _In_ DWORD Count,
    _In_reads_(Count) const HANDLE *Handles,
    _In_ BOOL IsAll,
    _In_ DWORD Milliseconds
    )
{
    UNREFERENCED_PARAMETER(Count);
    UNREFERENCED_PARAMETER(Handles);
    UNREFERENCED_PARAMETER(IsAll);
    UNREFERENCED_PARAMETER(Milliseconds);
    return WAIT_TIMEOUT;
}


static const READER_CONSOLE_ROUTINES TestRoutines = {
    TestSetConsoleMode,
    TestGetConsoleScreenBufferInfo,
    TestReadConsoleInputW,
    TestGetNumberOfConsoleInputEvents,
    TestSetConsoleCursorPosition,
    TestSetConsoleCursorInfo,
    TestGetConsoleCursorInfo,
    TestReadConsoleOutputW,
    TestWriteConsoleOutputW,
    TestSetConsoleCtrlHandler,
    TestWaitForMultipleObjects
};


//
// Adds a key to what the console has read.
// Code: the virtual key.
// IsDown: whether it was pressed or let go.
// Count: how often it repeats.
//

static
VOID
TestPutInput(
    _In_ WORD Code,
    _In_ WCHAR Character,
    _In_ BOOL IsDown,
    _In_ WORD Count
    )
{
    PINPUT_RECORD Record = &TestConsole.Input[TestConsole.NumberOfInputs];

    RtlZeroBytes(Record, sizeof(*Record));
    Record->EventType = KEY_EVENT;
    Record->Event.KeyEvent.bKeyDown = IsDown;
    Record->Event.KeyEvent.wRepeatCount = Count;
    Record->Event.KeyEvent.wVirtualKeyCode = Code;
    Record->Event.KeyEvent.uChar.UnicodeChar = Character;
    TestConsole.NumberOfInputs += 1;
}


//
// Checks which keys come out of what a console reads.
//

static
VOID
TestKeys(
    _Inout_ PREADER_CONSOLE Console
    )
{
    ULONG Character;

    TestConsole.NumberOfInputs = 0;
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyNone);
    TestPutInput('S', 's', TRUE, 1);
    TestPutInput('S', 's', FALSE, 1);
    TestPutInput(VK_SHIFT, 0, TRUE, 1);
    TestPutInput(VK_DOWN, 0, TRUE, 3);
    TestPutInput(VK_RETURN, '\r', TRUE, 1);
    TestPutInput('C', 3, TRUE, 1);
    TestConsole.Input[TestConsole.NumberOfInputs].EventType =
        WINDOW_BUFFER_SIZE_EVENT;
    TestConsole.NumberOfInputs += 1;
    TestConsole.Input[TestConsole.NumberOfInputs].EventType = FOCUS_EVENT;
    TestConsole.NumberOfInputs += 1;
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyCharacter);
    TEST_EQUAL(Character, 's');
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyDown);
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyDown);
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyDown);
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyEnter);
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyStop);
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyResize);
    TEST_EQUAL(LiveConsoleReadKey(Console, &Character), ReaderKeyNone);
}


//
// Checks that each kind of console shows the screen, gives its keys, and is
// left as it was found.
//

VOID
TestConsoles(
    VOID
    )
{
    static CHAR_INFO Before[TEST_HEIGHT][TEST_WIDTH];
    RTL Rtl = *TestRtl;
    READER_CONSOLE Console;
    READER_SCREEN Screen = { 0 };
    READER_VIEW View;
    ULONG Character;
    ULONG Different;
    ULONG Width;
    ULONG Height;
    ULONG Kind;
    ULONG X;
    ULONG Y;

    Rtl.GetStdHandle = TestGetStdHandle;
    Rtl.GetConsoleMode = TestGetConsoleMode;
    Rtl.WriteConsoleW = TestWriteConsoleW;
    for (Kind = 0; Kind < 4; Kind++) {

        BOOLEAN IsSequences = Kind == TestConsoleSequences;

        RtlZeroBytes(&TestConsole, sizeof(TestConsole));
        TestConsole.Kind = (TEST_CONSOLE_KIND)Kind;
        TestConsole.InputMode = 0x1F7;
        TestConsole.OutputMode = 3;
        TestConsole.Cursor.bVisible = TRUE;
        TestConsole.Cursor.dwSize = 25;
        TestConsole.Size.X = 90;
        TestConsole.Size.Y = 20;
        TestConsole.Position.X = 5;
        TestConsole.Position.Y = 7;
        for (Y = 0; Y < TEST_HEIGHT; Y++) {
            for (X = 0; X < TEST_WIDTH; X++) {
                TestConsole.Cells[Y][X].Char.UnicodeChar =
                    (WCHAR)('a' + (X + Y) % 26);
            }
        }

        //
        // What the first sequence showed as text is blanked out.
        //

        if (Kind == TestConsoleCells) {
            for (X = 5; X < 9; X++) {
                TestConsole.Cells[7][X].Char.UnicodeChar = ' ';
            }
        }

        RtlCopyBytes(Before, TestConsole.Cells, sizeof(Before));
        TestResetTerminal(90, 20);
        if (!TEST_EQUAL(LiveOpenConsole(&Console,
                                        &Rtl,
                                        TestAllocator,
                                        &TestRoutines),
                        Kind != TestConsoleNone)) {
            continue;
        }

        if (Kind == TestConsoleNone) {
            TEST_EQUAL(TestConsole.InputMode, 0x1F7);
            TEST_EQUAL(TestConsole.OutputMode, 3);
            TEST_EQUAL(TestConsole.NumberOfWrites, 0);
            LiveCloseConsole(&Console);
            continue;
        }

        TEST_EQUAL(Console.IsSequences, IsSequences);
        TEST_EQUAL(TestTerminal.IsAlternate, IsSequences);
        TEST_EQUAL(IsSequences ? TestTerminal.IsCursorHidden
                               : !TestConsole.Cursor.bVisible,
                   TRUE);
        TEST_EQUAL(TestConsole.InputMode & 0x1F, 8);

        //
        // Ctrl+Break came when the handler was set; it stays.
        //

        TEST_EQUAL(LiveConsoleReadKey(&Console, &Character), ReaderKeyStop);
        TestRtl->NtClose(Console.StopEvent);
        Console.StopEvent = NULL;
        TestKeys(&Console);

        LiveQueryConsoleSize(&Console, &Width, &Height);
        TEST_EQUAL(Width, 90);
        TEST_EQUAL(Height, 20);
        Screen.Allocator = TestAllocator;
        Screen.HasColor = TRUE;
        LiveInitializeView(&View, 1000);
        TestDraw(&View, &Screen, Width, Height);
        TestConsole.NumberOfWrites = 0;
        TEST_SUCCESS(LiveShowScreen(&Console, &Screen));
        TEST_EQUAL(TestConsole.NumberOfWrites, 1);
        TestType(&View, &Screen, "c");
        TEST_SUCCESS(LiveShowScreen(&Console, &Screen));
        TEST_EQUAL(TestConsole.NumberOfWrites, 2);
        TEST_SUCCESS(LiveShowScreen(&Console, &Screen));
        TEST_EQUAL(TestConsole.NumberOfWrites, 2);

        if (IsSequences) {
            Different = TestCountDifferences(&Screen);
        } else {
            Different = 0;
            for (Y = 0; Y < Height; Y++) {
                for (X = 0; X < Width; X++) {

                    PCREADER_CELL Cell = &Screen.Cells[Y * Width + X];
                    WORD Attributes = TestConsole.Cells[Y][X].Attributes;
                    ULONG Expected = Cell->Character != 0
                                         ? Cell->Character
                                         : Cell[-1].Character;

                    Different +=
                        TestConsole.Cells[Y][X].Char.UnicodeChar !=
                            Expected ||
                        ((Attributes & 0xF0) == 0x70) !=
                            (Cell->Style == ReaderStyleHeading ||
                             Cell->Style == ReaderStyleSelected) ||
                        ((Attributes & 0x200) != 0) !=
                            (Cell->Character == 0);
                }
            }
        }

        TEST_EQUAL(Different, 0);
        TEST_EQUAL(TestTerminal.NumberOfErrors, 0);

        LiveCloseConsole(&Console);
        LiveCloseConsole(&Console);
        TEST_EQUAL(TestConsole.InputMode, 0x1F7);
        TEST_EQUAL(TestConsole.OutputMode, 3);
        TEST(!TestTerminal.IsAlternate);
        TEST(!TestTerminal.IsCursorHidden);
        TEST(TestConsole.Cursor.bVisible);
        TEST_EQUAL(TestConsole.Position.X, 5);
        TEST_EQUAL(TestConsole.Position.Y, 7);
        TEST_EQUAL_BYTES(TestConsole.Cells, Before, sizeof(Before));
        LiveRundownScreen(&Screen);
        TestAllocator->Free(TestAllocator->Context, View.Order);
    }
}
