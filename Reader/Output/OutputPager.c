/*++

Module Name:

    OutputPager.c

Abstract:

    Text that is longer than the terminal is shown page by page.

    The writer's text comes here instead of to the terminal.  Until there is
    more than the terminal has rows it is only kept; if it ends before, it is
    written as it is.  Otherwise the first page is shown, and the command waits
    in its write until more is wanted: what nobody looks at is not computed.

    Pages are written below each other, as other programs' output is, so that
    they stay when the pager has ended; only going back draws over what is
    there.  Colours are sequences in the text, and attributes on the terminal,
    which all consoles understand (OutputColor.c).

    Keys are read with the console's processing of lines and of Ctrl+C off.
    While the command computes it is on.

--*/

#include "../Base/BaseErrors.h"
#include "OutputColor.h"
#include "OutputKey.h"
#include "OutputPager.h"
#include "OutputPagerProgram.h"
#include "OutputPagerText.h"

//
// kernel32.dll's routines, which only a terminal needs.
//

typedef BOOL (WINAPI READER_PAGER_SET_MODE)(
    _In_ HANDLE Console,
    _In_ DWORD Mode
    );

typedef BOOL (WINAPI READER_PAGER_GET_SCREEN)(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_SCREEN_BUFFER_INFO Information
    );

typedef BOOL (WINAPI READER_PAGER_READ_INPUT)(
    _In_ HANDLE Console,
    _Out_writes_to_(Length, *NumberRead) PINPUT_RECORD Records,
    _In_ DWORD Length,
    _Out_ LPDWORD NumberRead
    );

typedef BOOL (WINAPI READER_PAGER_SET_CURSOR)(
    _In_ HANDLE Console,
    _In_ COORD Position
    );

typedef BOOL (WINAPI READER_PAGER_SET_ATTRIBUTE)(
    _In_ HANDLE Console,
    _In_ WORD Attributes
    );

typedef BOOL (WINAPI READER_PAGER_FILL_CHARACTER)(
    _In_ HANDLE Console,
    _In_ WCHAR Character,
    _In_ DWORD Length,
    _In_ COORD Position,
    _Out_ LPDWORD NumberWritten
    );

typedef BOOL (WINAPI READER_PAGER_FILL_ATTRIBUTE)(
    _In_ HANDLE Console,
    _In_ WORD Attributes,
    _In_ DWORD Length,
    _In_ COORD Position,
    _Out_ LPDWORD NumberWritten
    );

#define READER_PAGER_CONSOLE_LIST(ENTRY)                                    \
    ENTRY(READER_PAGER_SET_MODE, SetConsoleMode)                            \
    ENTRY(READER_PAGER_GET_SCREEN, GetConsoleScreenBufferInfo)              \
    ENTRY(READER_PAGER_READ_INPUT, ReadConsoleInputW)                       \
    ENTRY(READER_PAGER_SET_CURSOR, SetConsoleCursorPosition)                \
    ENTRY(READER_PAGER_SET_ATTRIBUTE, SetConsoleTextAttribute)              \
    ENTRY(READER_PAGER_FILL_CHARACTER, FillConsoleOutputCharacterW)         \
    ENTRY(READER_PAGER_FILL_ATTRIBUTE, FillConsoleOutputAttribute)

#define READER_PAGER_FIELD(Type, Name) Type *Name;
#define READER_PAGER_NAME(Type, Name) #Name,

typedef struct _READER_PAGER_CONSOLE {
    READER_PAGER_CONSOLE_LIST(READER_PAGER_FIELD)
} READER_PAGER_CONSOLE;

static const PCSZ OutputConsoleNames[] = {
    READER_PAGER_CONSOLE_LIST(READER_PAGER_NAME)
};

C_ASSERT(sizeof(READER_PAGER_CONSOLE) ==
         RTL_NUMBER_OF(OutputConsoleNames) * sizeof(PVOID));

//
// What a write gives when whoever read the output has ended.
//

#define READER_STATUS_ENOUGH ((NTSTATUS)(0xC0070000 | ERROR_BROKEN_PIPE))

#define READER_PAGER_INPUT_WINDOW 0x0008u
#define READER_PAGER_INPUT_KEPT 0x00E0u     // insert, quick edit, extended

#define READER_PAGER_SEARCH_CHARS 64
#define READER_PAGER_COMMAND_CHARS 512
#define READER_PAGER_STATUS_SIZE 256
#define READER_PAGER_LEAST_WIDTH 10u

#define READER_PAGER_HELP                                                   \
    "Space b: pages  Enter Up Down: lines  Home End  / n N: find  q: quit"

typedef struct _READER_PAGER {
    PCREADER_CONTEXT Context;
    READER_PAGER_CONSOLE Console;
    HANDLE Input;
    HANDLE Output;
    DWORD InputMode;                // as it was found
    WORD Attributes;                // as they were found
    PRTL_WRITER_FLUSH FlushOutput;  // the writers' own
    PRTL_WRITER_FLUSH FlushErrors;
    READER_PAGER_PROGRAM Program;
    PWCHAR Command;                 // inside this block; NULL: none
    READER_PAGER_TEXT Text;
    ULONG Page;                     // rows
    ULONGLONG Top;                  // the row that is shown first, and the one
    ULONGLONG Goal;                 // that is to be: counted from the first
                                    // that there ever was
    ULONGLONG SearchFrom;           // the next row to look at
    BOOLEAN IsOpen;                 // pages are shown
    BOOLEAN IsShown;                // a page is, with its status line
    BOOLEAN IsEnded;                // the text is complete
    BOOLEAN IsDone;                 // the user has seen enough
    BOOLEAN IsModeSet;
    BOOLEAN IsGoalEnd;
    BOOLEAN IsSearching;
    BOOLEAN IsBackward;
    BOOLEAN IsAsking;               // for a text to find
    BOOLEAN IsAllChanged;           // what is shown is not on the terminal
    BOOLEAN IsBelow;                // and is to be written below it
    PCSZ Message;                   // NULL: none
    WCHAR Search[READER_PAGER_SEARCH_CHARS];
    ULONG SearchLength;
    CHAR Pattern[READER_PAGER_SEARCH_CHARS * 3];        // the same
    ULONG PatternLength;
    WCHAR CommandText[READER_PAGER_COMMAND_CHARS];
} READER_PAGER;


//
// Asks how large the terminal is.
// Returns FALSE if it cannot be asked.
//

_Success_(return != FALSE)
static
BOOLEAN
OutputQueryPage(
    _In_ const READER_PAGER *Pager,
    _Out_ PULONG Width,
    _Out_ PULONG Page
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Screen;
    LONG Columns;
    LONG Rows;

    if (!Pager->Console.GetConsoleScreenBufferInfo(Pager->Output, &Screen)) {
        return FALSE;
    }

    //
    // One column less, so that no terminal begins a line of its own; one row
    // less for the status line.
    //

    Columns = Screen.srWindow.Right - Screen.srWindow.Left;
    Rows = Screen.srWindow.Bottom - Screen.srWindow.Top;
    if (Columns < (LONG)READER_PAGER_LEAST_WIDTH || Rows < 1) {
        return FALSE;
    }

    *Width = (ULONG)Columns;
    *Page = (ULONG)Rows;
    return TRUE;
}


//
// Writes a part of the text as it is.
//

static
VOID
OutputPutPart(
    _In_ const READER_PAGER *Pager,
    _In_ ULONG Start,
    _In_ ULONG End
    )
{
    if (End > Start) {
        (VOID)Pager->FlushOutput(Pager->Context->Output,
                                 Pager->Text.Bytes + Start,
                                 End - Start);
    }
}


//
// Writes a part of the text with its colours, which begin with those of its
// line, and with what was searched for standing out.
//

static
VOID
OutputPutColored(
    _In_ const READER_PAGER *Pager,
    _In_ ULONG Start,
    _In_ ULONG End
    )
{
    PCREADER_PAGER_TEXT Text = &Pager->Text;
    WORD Color = Pager->Attributes;
    WORD Attributes;
    WORD Last = Pager->Attributes;
    ULONG Place = Start;
    ULONG Begin;
    ULONG MatchEnd = 0;
    ULONG Size;

    while (Place != 0 && Text->Bytes[Place - 1] != '\n') {
        Place -= 1;
    }

    Begin = Start;
    while (Place < End) {

        Size = OutputReadSequence(Text->Bytes + Place,
                                  End - Place,
                                  Pager->Attributes,
                                  &Color);
        if (Size != 0) {
            if (Place >= Start) {
                OutputPutPart(Pager, Begin, Place);
                Begin = Place + Size;
            }
            Place += Size;
            continue;
        }

        if (Pager->PatternLength != 0 && Place >= MatchEnd) {
            Size = OutputMatchText(Text,
                                   Place,
                                   Pager->Pattern,
                                   Pager->PatternLength);
            MatchEnd = Size != 0 ? Place + Size : MatchEnd;
        }

        Attributes = Color;
        if (Place < MatchEnd) {
            Attributes = (WORD)(((Color & 0x0F) << 4) | ((Color & 0xF0) >> 4));
        }

        if (Place >= Start && Attributes != Last) {
            OutputPutPart(Pager, Begin, Place);
            Begin = Place;
            Pager->Console.SetConsoleTextAttribute(Pager->Output, Attributes);
            Last = Attributes;
        }

        Place += 1;
    }

    OutputPutPart(Pager, Begin, End);
    if (Last != Pager->Attributes) {
        Pager->Console.SetConsoleTextAttribute(Pager->Output,
                                               Pager->Attributes);
    }
}


//
// Empties a line of the terminal, and puts the cursor at its beginning.
//

static
VOID
OutputClearLine(
    _In_ const READER_PAGER *Pager,
    _In_ SHORT Line
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Screen;
    COORD Position = { 0, 0 };
    DWORD Length;
    DWORD Written;

    if (!Pager->Console.GetConsoleScreenBufferInfo(Pager->Output, &Screen)) {
        return;
    }

    Position.Y = Line;
    Length = (DWORD)(ULONG)Screen.dwSize.X;
    Pager->Console.FillConsoleOutputCharacterW(Pager->Output,
                                               L' ',
                                               Length,
                                               Position,
                                               &Written);
    Pager->Console.FillConsoleOutputAttribute(Pager->Output,
                                              Pager->Attributes,
                                              Length,
                                              Position,
                                              &Written);
    Pager->Console.SetConsoleCursorPosition(Pager->Output, Position);
}


//
// The line of the cursor: that of the status.
//

static
SHORT
OutputQueryLine(
    _In_ const READER_PAGER *Pager
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Screen;

    return Pager->Console.GetConsoleScreenBufferInfo(Pager->Output, &Screen)
               ? Screen.dwCursorPosition.Y
               : 0;
}


//
// The number of rows that there have been.
//

static
ULONGLONG
OutputCountRows(
    _In_ const READER_PAGER *Pager
    )
{
    return Pager->Text.NumberDropped + Pager->Text.NumberOfRows;
}


//
// Writes a row; nothing if there is none.
//

static
VOID
OutputPutRow(
    _In_ const READER_PAGER *Pager,
    _In_ ULONGLONG Row
    )
{
    PCREADER_PAGER_TEXT Text = &Pager->Text;
    ULONG Start;
    ULONG End;

    if (Row < Text->NumberDropped || Row >= OutputCountRows(Pager)) {
        return;
    }

    Start = Text->Starts[Row - Text->NumberDropped];
    End = Text->Starts[Row - Text->NumberDropped + 1];
    if (End > Start && Text->Bytes[End - 1] == '\n') {
        End -= 1;
    }

    OutputPutColored(Pager, Start, End);
}


//
// Writes the status line, where the cursor is.
//

static
VOID
OutputPutStatus(
    _In_ const READER_PAGER *Pager
    )
{
    CHAR Buffer[READER_PAGER_STATUS_SIZE];
    ULONGLONG Last = Pager->Top + Pager->Page;
    ULONG Length;
    RTL_WRITER Writer;

    //
    // A cell has a byte at least; the text that is asked for may have more.
    //

    RtlInitializeBufferWriter(&Writer, Buffer, sizeof(Buffer));
    if (Pager->IsAsking) {

        RtlWriteText(&Writer, "/");
        RtlWriteCleanText(&Writer, Pager->Pattern, Pager->PatternLength);

    } else if (Pager->Message != NULL) {

        RtlWriteText(&Writer, "%s", Pager->Message);

    } else {

        if (Last > OutputCountRows(Pager)) {
            Last = OutputCountRows(Pager);
        }

        RtlWriteText(&Writer, "lines %llu-%llu", Pager->Top + 1, Last);
        if (Pager->IsEnded) {
            RtlWriteText(&Writer,
                         " of %llu%s",
                         OutputCountRows(Pager),
                         Last == OutputCountRows(Pager) ? " (end)" : "");
        }

        RtlWriteText(&Writer, "  Space: on  b: back  q: quit  h: help");
    }

    Length = Writer.LengthInBytes;
    if (Length > Pager->Text.Width) {
        Length = Pager->Text.Width;
        Length -= RtlIncompleteUtf8Tail(Buffer, Length);
    }

    Pager->Console.SetConsoleTextAttribute(
        Pager->Output,
        (WORD)(((Pager->Attributes & 0x0F) << 4) |
               ((Pager->Attributes & 0xF0) >> 4)));
    (VOID)Pager->FlushOutput(Pager->Context->Output, Buffer, Length);
    Pager->Console.SetConsoleTextAttribute(Pager->Output, Pager->Attributes);
}


//
// Shows the page of the goal.
//

static
VOID
OutputShowPage(
    _Inout_ PREADER_PAGER Pager
    )
{
    static const CHAR End[] = "\n";
    PRTL_WRITER Writer = Pager->Context->Output;
    SHORT Line = OutputQueryLine(Pager);
    ULONGLONG First = Pager->Goal;
    ULONGLONG Row;
    ULONG Index;

    //
    // This is the status line, or what the command said before.
    //

    OutputClearLine(Pager, Line);
    if (Pager->IsShown && !Pager->IsBelow &&
        (Pager->IsAllChanged || Pager->Goal < Pager->Top)) {

        for (Index = 0; Index < Pager->Page; Index++) {
            if (Line - (LONG)Pager->Page + (LONG)Index >= 0) {
                OutputClearLine(Pager,
                                (SHORT)(Line - (LONG)Pager->Page +
                                        (LONG)Index));
                OutputPutRow(Pager, Pager->Goal + Index);
            }
        }

        OutputClearLine(Pager, Line);

    } else {

        if (Pager->IsShown && !Pager->IsBelow &&
            Pager->Goal - Pager->Top <= Pager->Page) {
            First = Pager->Top + Pager->Page;
        }

        for (Row = First; Row < Pager->Goal + Pager->Page; Row++) {
            if (Row < OutputCountRows(Pager)) {
                OutputPutRow(Pager, Row);
                (VOID)Pager->FlushOutput(Writer, End, sizeof(End) - 1);
            }
        }
    }

    Pager->Top = Pager->Goal;
    Pager->IsShown = TRUE;
    Pager->IsAllChanged = FALSE;
    Pager->IsBelow = FALSE;
    OutputPutStatus(Pager);
}


//
// Looks for the text, as far as there are rows.
// Returns FALSE if more are needed.
//

static
BOOLEAN
OutputSearch(
    _Inout_ PREADER_PAGER Pager
    )
{
    PCREADER_PAGER_TEXT Text = &Pager->Text;

    if (Pager->SearchFrom < Text->NumberDropped) {
        Pager->SearchFrom = Text->NumberDropped;
    }

    while (Pager->SearchFrom >= Text->NumberDropped &&
           Pager->SearchFrom < OutputCountRows(Pager)) {

        if (OutputIsInRow(Text,
                          (ULONG)(Pager->SearchFrom - Text->NumberDropped),
                          Pager->Pattern,
                          Pager->PatternLength)) {
            Pager->IsSearching = FALSE;
            Pager->Goal = Pager->SearchFrom;
            return TRUE;
        }

        if (Pager->IsBackward && Pager->SearchFrom == 0) {
            break;
        }

        Pager->SearchFrom += Pager->IsBackward ? -1 : 1;
    }

    if (!Pager->IsBackward && !Pager->IsEnded) {
        return FALSE;
    }

    Pager->IsSearching = FALSE;
    Pager->Message = "not found";
    return TRUE;
}


//
// Is all there that is to be shown?  The goal is then one that can be.
//

static
BOOLEAN
OutputIsReached(
    _Inout_ PREADER_PAGER Pager
    )
{
    ULONGLONG Count;

    if (Pager->IsSearching && !OutputSearch(Pager)) {
        return FALSE;
    }

    Count = OutputCountRows(Pager);
    if (!Pager->IsEnded &&
        (Pager->IsGoalEnd || Count <= Pager->Goal + Pager->Page)) {
        return FALSE;
    }

    if (Pager->IsGoalEnd || Pager->Goal + Pager->Page > Count) {
        Pager->Goal = Count > Pager->Page ? Count - Pager->Page : 0;
        Pager->IsGoalEnd = FALSE;
    }

    if (Pager->Goal < Pager->Text.NumberDropped) {
        Pager->Goal = Pager->Text.NumberDropped;
        Pager->Message = "what was before is not kept any more";
    }

    return TRUE;
}


//
// Sets the mode for keys, or what it was.
//

static
VOID
OutputSetInput(
    _Inout_ PREADER_PAGER Pager,
    _In_ BOOLEAN IsForKeys
    )
{
    if (Pager->IsModeSet != IsForKeys) {
        Pager->Console.SetConsoleMode(
            Pager->Input,
            IsForKeys ? (Pager->InputMode & READER_PAGER_INPUT_KEPT) |
                            READER_PAGER_INPUT_WINDOW
                      : Pager->InputMode);
        Pager->IsModeSet = IsForKeys;
    }
}


//
// Waits for a key.  An input that is at its end is like the end of what is
// wanted.
//

static
READER_KEY
OutputReadKey(
    _In_ const READER_PAGER *Pager,
    _Out_ PULONG Character
    )
{
    INPUT_RECORD Record;
    READER_KEY Key = ReaderKeyNone;
    DWORD Count;

    while (Key == ReaderKeyNone) {

        Count = 0;
        *Character = 0;
        if (!Pager->Console.ReadConsoleInputW(Pager->Input,
                                              &Record,
                                              1,
                                              &Count) ||
            Count == 0) {
            return ReaderKeyStop;
        }

        if (Record.EventType == WINDOW_BUFFER_SIZE_EVENT) {
            return ReaderKeyResize;
        }

        if (Record.EventType == KEY_EVENT) {
            Key = OutputTranslateKey(Record.Event.KeyEvent.bKeyDown,
                                     Record.Event.KeyEvent.wVirtualKeyCode,
                                     Record.Event.KeyEvent.uChar.UnicodeChar,
                                     Character);
        }
    }

    return Key;
}


//
// Begins to look for the text, behind what is at the top or before it.
//

static
VOID
OutputBeginSearch(
    _Inout_ PREADER_PAGER Pager,
    _In_ BOOLEAN IsBackward
    )
{
    if (Pager->PatternLength == 0 || (IsBackward && Pager->Top == 0)) {
        Pager->Message = Pager->PatternLength == 0 ? "/ asks what to find"
                                                   : "not found";
        return;
    }

    Pager->IsSearching = TRUE;
    Pager->IsBackward = IsBackward;
    Pager->SearchFrom = IsBackward ? Pager->Top - 1 : Pager->Top + 1;
}


//
// Changes the text that is asked for.
//

static
VOID
OutputEditSearch(
    _Inout_ PREADER_PAGER Pager,
    _In_ READER_KEY Key,
    _In_ ULONG Character
    )
{
    switch (Key) {

    case ReaderKeyEnter:
        Pager->IsAsking = FALSE;
        Pager->IsAllChanged = TRUE;
        if (Pager->PatternLength != 0) {

            //
            // What is at the top may be it, too.
            //

            OutputBeginSearch(Pager, FALSE);
            Pager->SearchFrom = Pager->Top;
        }
        break;

    case ReaderKeyEscape:
    case ReaderKeyStop:
        Pager->IsAsking = FALSE;
        Pager->IsAllChanged = TRUE;
        Pager->SearchLength = 0;
        break;

    case ReaderKeyBackspace:
        Pager->SearchLength -= Pager->SearchLength != 0 ? 1 : 0;
        break;

    case ReaderKeyCharacter:
        if (Pager->SearchLength < READER_PAGER_SEARCH_CHARS) {
            Pager->Search[Pager->SearchLength] = (WCHAR)Character;
            Pager->SearchLength += 1;
        }
        break;

    default:
        break;
    }

    RtlWideToUtf8(Pager->Search,
                  Pager->SearchLength,
                  Pager->Pattern,
                  sizeof(Pager->Pattern),
                  &Pager->PatternLength);
}


//
// The terminal may have another size.
//

static
VOID
OutputResize(
    _Inout_ PREADER_PAGER Pager
    )
{
    ULONGLONG Dropped = Pager->Text.NumberDropped;
    ULONG Width;
    ULONG Page;
    ULONG Place = 0;
    ULONG Row = 0;

    if (!OutputQueryPage(Pager, &Width, &Page) ||
        (Width == Pager->Text.Width && Page == Pager->Page)) {
        return;
    }

    //
    // What is at the top stays there.
    //

    if (Pager->Top >= Dropped && Pager->Top < OutputCountRows(Pager)) {
        Place = Pager->Text.Starts[Pager->Top - Dropped];
    }

    if (!NT_SUCCESS(OutputSplitText(&Pager->Text, Width)) ||
        (Pager->IsEnded && !NT_SUCCESS(OutputEndText(&Pager->Text)))) {
        Pager->IsDone = TRUE;
        return;
    }

    while (Row + 1 < Pager->Text.NumberOfRows &&
           Pager->Text.Starts[Row + 1] <= Place) {
        Row += 1;
    }

    Pager->Page = Page;
    Pager->Goal = Dropped + Row;
    Pager->IsBelow = TRUE;
}


//
// Does what a key asks for.
//

static
VOID
OutputTakeKey(
    _Inout_ PREADER_PAGER Pager,
    _In_ READER_KEY Key,
    _In_ ULONG Character
    )
{
    LONGLONG Move = 0;

    Pager->Message = NULL;
    if (Key == ReaderKeyResize) {
        OutputResize(Pager);
        return;
    }

    if (Pager->IsAsking) {
        OutputEditSearch(Pager, Key, Character);
        return;
    }

    switch (Key) {

    case ReaderKeyEnter:
    case ReaderKeyDown:
        Move = 1;
        break;

    case ReaderKeyUp:
        Move = -1;
        break;

    case ReaderKeyPageDown:
        Move = Pager->Page;
        break;

    case ReaderKeyPageUp:
        Move = -(LONGLONG)Pager->Page;
        break;

    case ReaderKeyHome:
        Pager->Goal = 0;
        break;

    case ReaderKeyEnd:
        Pager->IsGoalEnd = TRUE;
        break;

    case ReaderKeyEscape:
    case ReaderKeyStop:
        Pager->IsDone = TRUE;
        break;

    case ReaderKeyCharacter:
        switch (Character) {

        case ' ':
        case 'f':
            Move = Pager->Page;
            break;

        case 'b':
            Move = -(LONGLONG)Pager->Page;
            break;

        case 'j':
            Move = 1;
            break;

        case 'k':
            Move = -1;
            break;

        case 'g':
        case '<':
            Pager->Goal = 0;
            break;

        case 'G':
        case '>':
            Pager->IsGoalEnd = TRUE;
            break;

        case '/':
            Pager->IsAsking = TRUE;
            Pager->SearchLength = 0;
            Pager->PatternLength = 0;
            break;

        case 'n':
        case 'N':
            OutputBeginSearch(Pager, Character == 'N');
            break;

        case 'h':
        case '?':
            Pager->Message = READER_PAGER_HELP;
            break;

        case 'q':
        case 'Q':
            Pager->IsDone = TRUE;
            break;

        default:
            break;
        }
        break;

    default:
        break;
    }

    if (Move < 0) {
        Pager->Goal -= Pager->Goal < (ULONGLONG)-Move ? Pager->Goal
                                                      : (ULONGLONG)-Move;
    } else {
        Pager->Goal += (ULONGLONG)Move;
    }
}


//
// Shows pages until more text is needed, or the user has seen enough.
//

static
VOID
OutputServe(
    _Inout_ PREADER_PAGER Pager
    )
{
    static const CHAR Waiting[] = " ...";
    READER_KEY Key;
    ULONG Character;

    while (!Pager->IsDone) {

        if (!OutputIsReached(Pager)) {

            //
            // What is shown stays; the status says that it is read on.
            //

            if (Pager->IsModeSet && Pager->IsShown) {
                OutputSetInput(Pager, FALSE);
                OutputClearLine(Pager, OutputQueryLine(Pager));
                (VOID)Pager->FlushOutput(Pager->Context->Output,
                                         Waiting,
                                         sizeof(Waiting) - 1);
            }
            return;
        }

        OutputShowPage(Pager);
        OutputSetInput(Pager, TRUE);
        Key = OutputReadKey(Pager, &Character);
        OutputTakeKey(Pager, Key, Character);
    }

    OutputSetInput(Pager, FALSE);
    if (Pager->IsShown) {
        OutputClearLine(Pager, OutputQueryLine(Pager));
        Pager->IsShown = FALSE;
    }
}


//
// Begins to show pages: there is more text than the terminal has rows.
//

static
VOID
OutputOpenPager(
    _Inout_ PREADER_PAGER Pager
    )
{
    PCREADER_CONTEXT Context = Pager->Context;
    CHAR Command[READER_PAGER_COMMAND_CHARS * 3 + 1];
    ULONG Length;
    NTSTATUS Status;

    Pager->IsOpen = TRUE;
    if (Pager->Command == NULL) {
        return;
    }

    Status = OutputStartProgram(&Pager->Program, Context, Pager->Command);
    if (NT_SUCCESS(Status)) {

        Status = OutputWriteToProgram(&Pager->Program,
                                      Pager->Text.Bytes,
                                      Pager->Text.Length);
        Pager->IsDone = !NT_SUCCESS(Status);
        OutputRundownText(&Pager->Text);
        return;
    }

    //
    // Its own is always there.
    //

    Pager->IsOpen = FALSE;
    RtlWideToUtf8(Pager->Command,
                  RtlLengthOfWideString(Pager->Command),
                  Command,
                  sizeof(Command) - 1,
                  &Length);
    Command[Length] = 0;
    BaseFail(Context, "start the pager", Command, Status);
    Pager->Command = NULL;
    Pager->IsOpen = TRUE;
}


//
// Takes text of either writer.
//

static
NTSTATUS
OutputTakeText(
    _Inout_ PREADER_PAGER Pager,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    NTSTATUS Status;

    if (Pager->IsDone) {
        return READER_STATUS_ENOUGH;
    }

    if (Pager->Program.Pipe != NULL) {
        Status = OutputWriteToProgram(&Pager->Program, Bytes, SizeInBytes);
        Pager->IsDone = !NT_SUCCESS(Status);
        return NT_SUCCESS(Status) ? Status : READER_STATUS_ENOUGH;
    }

    Status = OutputAppendText(&Pager->Text, Bytes, SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!Pager->IsOpen && Pager->Text.NumberOfRows > Pager->Page) {
        OutputOpenPager(Pager);
    }

    if (Pager->IsOpen && Pager->Program.Pipe == NULL) {
        OutputServe(Pager);
    }

    return Pager->IsDone ? READER_STATUS_ENOUGH : STATUS_SUCCESS;
}


static
NTSTATUS
OutputFlushToPager(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    return OutputTakeText((PREADER_PAGER)Writer->Pager, Bytes, SizeInBytes);
}


//
// Warnings and errors are among the pages while there are any.  Progress, which
// begins with a return, is not.
//

static
NTSTATUS
OutputFlushErrorsToPager(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_PAGER Pager = (PREADER_PAGER)Writer->Pager;

    if (!Pager->IsOpen || Pager->IsDone || Pager->Program.Pipe != NULL) {
        return Pager->FlushErrors(Writer, Bytes, SizeInBytes);
    }

    if (Bytes[0] != '\r') {
        (VOID)OutputTakeText(Pager, Bytes, SizeInBytes);
    }

    return STATUS_SUCCESS;
}


//
// Finds out which program shows the pages: CommandText and Command.
// Returns FALSE if nothing is to.
//

static
BOOLEAN
OutputChoosePager(
    _Inout_ PREADER_PAGER Pager,
    _In_opt_ PCREADER_OPTIONS Options
    )
{
    static const PCWSTR Names[] = { L"TRACER_PAGER", L"PAGER" };
    static const WCHAR None[] = L"cat";
    UNICODE_STRING Value;
    NTSTATUS Status;
    ULONG Index;

    if (Options != NULL && Options->IsUnpaged) {
        return FALSE;
    }

    if (Options != NULL && Options->Pager != NULL) {

        Index = RtlLengthOfWideString(Options->Pager);
        if (Index >= READER_PAGER_COMMAND_CHARS) {
            return TRUE;
        }

        RtlCopyBytes(Pager->CommandText,
                     Options->Pager,
                     ((SIZE_T)Index + 1) * sizeof(WCHAR));

    } else {

        for (Index = 0; Index < RTL_NUMBER_OF(Names); Index++) {

            Status = RtlQueryEnvironment(Pager->Context->Rtl,
                                         Names[Index],
                                         Pager->CommandText,
                                         READER_PAGER_COMMAND_CHARS - 1,
                                         &Value);
            if (NT_SUCCESS(Status)) {
                Pager->CommandText[Value.Length / sizeof(WCHAR)] = 0;
                break;
            }
        }

        if (Index == RTL_NUMBER_OF(Names)) {
            return TRUE;
        }
    }

    for (Index = 0; Index < RTL_NUMBER_OF(None); Index++) {
        if (Pager->CommandText[Index] != None[Index]) {
            break;
        }
    }

    Pager->Command = Pager->CommandText;
    return Pager->Command[0] != 0 && Index < RTL_NUMBER_OF(None);
}


_Use_decl_annotations_
PREADER_PAGER
OutputBeginPager(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    PRTL_WRITER Output = Context->Output;
    PCALLOCATOR Allocator = Context->Allocator;
    CONSOLE_SCREEN_BUFFER_INFO Screen;
    PREADER_PAGER Pager;
    HMODULE Module;
    HANDLE Input;
    DWORD Mode;
    ULONG Width;

    if (!Output->IsConsole || Output->Flush == NULL ||
        (Options != NULL && Options->Format != ReaderFormatText)) {
        return NULL;
    }

    Input = Context->Rtl->GetStdHandle(STD_INPUT_HANDLE);
    if (!Context->Rtl->GetConsoleMode(Input, &Mode)) {
        return NULL;
    }

    Pager = (PREADER_PAGER)Allocator->Allocate(Allocator->Context,
                                               sizeof(*Pager));
    if (Pager == NULL) {
        return NULL;
    }

    RtlZeroBytes(Pager, sizeof(*Pager));
    Pager->Context = Context;
    Pager->Input = Input;
    Pager->InputMode = Mode;
    Pager->Output = Output->Handle;
    Module = Context->Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
    if (!OutputChoosePager(Pager, Options) || Module == NULL ||
        RtlLoadSymbols(Module,
                       OutputConsoleNames,
                       (PVOID *)&Pager->Console,
                       RTL_NUMBER_OF(OutputConsoleNames),
                       NULL) != 0 ||
        !OutputQueryPage(Pager, &Width, &Pager->Page) ||
        !Pager->Console.GetConsoleScreenBufferInfo(Pager->Output, &Screen)) {

        Allocator->Free(Allocator->Context, Pager);
        return NULL;
    }

    Pager->Attributes = Screen.wAttributes;
    OutputInitializeText(&Pager->Text, Allocator, Width);
    Pager->FlushOutput = Output->Flush;
    Output->Flush = OutputFlushToPager;
    Output->Pager = Pager;
    if (Context->Errors->IsConsole) {
        Pager->FlushErrors = Context->Errors->Flush;
        Context->Errors->Flush = OutputFlushErrorsToPager;
        Context->Errors->Pager = Pager;
    }

    return Pager;
}


_Use_decl_annotations_
VOID
OutputEndPager(
    PREADER_PAGER Pager
    )
{
    PCREADER_CONTEXT Context;

    if (Pager == NULL) {
        return;
    }

    Context = Pager->Context;
    RtlFlushWriter(Context->Errors);
    RtlFlushWriter(Context->Output);
    if (Pager->Program.Pipe != NULL) {

        OutputWaitForProgram(&Pager->Program);

    } else if (Pager->IsOpen) {

        Pager->IsEnded = NT_SUCCESS(OutputEndText(&Pager->Text));
        Pager->IsDone = Pager->IsDone || !Pager->IsEnded;
        OutputServe(Pager);

    } else if (!Pager->IsDone) {

        OutputPutColored(Pager, 0, Pager->Text.Length);
    }

    Context->Output->Flush = Pager->FlushOutput;
    Context->Output->Pager = NULL;
    if (Pager->FlushErrors != NULL) {
        Context->Errors->Flush = Pager->FlushErrors;
        Context->Errors->Pager = NULL;
    }

    OutputRundownText(&Pager->Text);
    Context->Allocator->Free(Context->Allocator->Context, Pager);
}


_Use_decl_annotations_
BOOLEAN
OutputIsPagerPlain(
    const RTL_WRITER *Writer
    )
{
    PREADER_PAGER Pager = (PREADER_PAGER)Writer->Pager;

    return Pager != NULL && Pager->Command != NULL &&
           !OutputIsLess(Pager->Command);
}
