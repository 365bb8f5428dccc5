/*++

Module Name:

    LiveKeys.c

Abstract:

    What keys do to what TraceReader live shows on a screen.

--*/

#include "../Functions/FunctionStub.h"
#include "LiveColumns.h"
#include "LiveTreeView.h"

static const ULONG ReaderViewIntervals[] = {
    100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000
};


//
// Adds a character to a text, if there is room.
// Size: of the text, in bytes.
//

static
VOID
LiveAddCharacter(
    _Inout_updates_bytes_(Size) PCHAR Text,
    _Inout_ PULONG Length,
    _In_ ULONG Size,
    _In_ ULONG Character
    )
{
    CHAR Bytes[3];
    ULONG Count = 0;

    if (Character < 0x80) {
        Bytes[Count++] = (CHAR)Character;
    } else if (Character < 0x800) {
        Bytes[Count++] = (CHAR)(0xC0 | (Character >> 6));
        Bytes[Count++] = (CHAR)(0x80 | (Character & 0x3F));
    } else if (Character < 0x10000 &&
               (Character < 0xD800 || Character > 0xDFFF)) {
        Bytes[Count++] = (CHAR)(0xE0 | (Character >> 12));
        Bytes[Count++] = (CHAR)(0x80 | ((Character >> 6) & 0x3F));
        Bytes[Count++] = (CHAR)(0x80 | (Character & 0x3F));
    }

    if (*Length + Count <= Size) {
        RtlCopyBytes(Text + *Length, Bytes, Count);
        *Length += Count;
    }
}


//
// Changes the filter, or the text that something is asked with.
// View: the view, while it is edited.
// Returns TRUE: the screen is to be drawn again.
//

static
BOOLEAN
LiveEditText(
    _Inout_ PREADER_VIEW View,
    _In_ READER_KEY Key,
    _In_ ULONG Character
    )
{
    BOOLEAN IsFilter = View->Asking == ReaderRequestNone;
    PCHAR Text = IsFilter ? View->Filter : View->Text;
    PULONG Length = IsFilter ? &View->FilterLength : &View->TextLength;

    switch (Key) {

    case ReaderKeyEnter:
        View->IsEditing = FALSE;
        if (View->TextLength != 0) {
            View->Request = View->Asking;
        }

        View->Asking = ReaderRequestNone;
        return TRUE;

    case ReaderKeyEscape:
        View->IsEditing = FALSE;
        View->Asking = ReaderRequestNone;
        *Length = 0;
        return TRUE;

    case ReaderKeyBackspace:

        //
        // The whole character goes.
        //

        while (*Length != 0) {
            *Length -= 1;
            if ((Text[*Length] & 0xC0) != 0x80) {
                break;
            }
        }
        return TRUE;

    case ReaderKeyCharacter:
        LiveAddCharacter(Text, Length, READER_VIEW_FILTER_SIZE, Character);
        return TRUE;

    default:
        return FALSE;
    }
}


//
// Takes the next shorter or longer interval.
//

static
VOID
LiveChangeInterval(
    _Inout_ PREADER_VIEW View,
    _In_ BOOLEAN IsShorter
    )
{
    ULONG Count = RTL_NUMBER_OF(ReaderViewIntervals);
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {

        ULONG Other = ReaderViewIntervals[IsShorter ? Count - 1 - Index
                                                    : Index];

        if (IsShorter ? Other < View->IntervalInMilliseconds
                      : Other > View->IntervalInMilliseconds) {
            View->IntervalInMilliseconds = Other;
            return;
        }
    }
}


//
// Sorts the list by a column.
// FunctionColumn, ThreadColumn: the column, in either list.
//

static
VOID
LiveSortBy(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG FunctionColumn,
    _In_ ULONG ThreadColumn
    )
{
    if (View->Kind < ReaderViewFrames) {
        View->SortColumn[View->Kind] = View->Kind == ReaderViewFunctions
                                           ? FunctionColumn
                                           : ThreadColumn;
        View->IsReversed[View->Kind] = FALSE;
    }
}


//
// Takes the next column to sort by, or the next thread.
// View: the view, not the help.
// IsRight: which way.
//

static
VOID
LiveMoveSideways(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ BOOLEAN IsRight
    )
{
    ULONG Count;
    ULONG Value;

    if (View->Kind == ReaderViewTree) {
        LiveFoldNode(View, Model, IsRight);
        return;
    }

    if (View->Kind == ReaderViewCallers) {
        return;
    }

    if (View->Kind == ReaderViewFrames) {
        Count = Model->NumberOfThreads;
        Value = View->Thread;
    } else {
        Count = View->Kind == ReaderViewFunctions
                    ? ReaderNumberOfFunctionColumns
                    : ReaderNumberOfThreadColumns;
        Value = View->SortColumn[View->Kind];
    }

    if (Count == 0) {
        return;
    }

    Value = IsRight ? (Value + 1) % Count : (Value + Count - 1) % Count;
    if (View->Kind == ReaderViewFrames) {
        View->Thread = Value;
        View->IsThreadChosen = TRUE;
        View->Selected[ReaderViewFrames] = 0;
    } else {
        View->SortColumn[View->Kind] = Value;
    }
}


//
// Shows who called the function of the selected row.
// Returns FALSE if it has none.
//

static
BOOLEAN
LiveEnterCallers(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    READER_VIEW_TARGET Target;
    PCREADER_LIVE_NODE Node;
    ULONG Row = View->Selected[View->Kind];
    ULONG Index;

    if (Row >= View->NumberOfRows) {
        return FALSE;
    }

    Row = View->Order[Row];
    if (View->Kind == ReaderViewFunctions) {
        Target.Name = Model->Functions[Row].Name;
        Target.NameLength = Model->Functions[Row].NameLength;
        Target.Function = Model->Functions[Row].Function;
    } else if (View->Kind == ReaderViewFrames) {
        Target.Name = Model->Frames[Row].Name;
        Target.NameLength = Model->Frames[Row].NameLength;
        Target.Function = Model->Frames[Row].Function;
    } else {
        if (View->Kind == ReaderViewCallers) {
            if (Row == 0 ||
                View->Edges[Row].Function >= READER_CALLING_MODULE) {
                return FALSE;
            }

            Row = View->Edges[Row].Node;
        }

        Node = &Model->Nodes[Row];
        Target.Name = Node->Name;
        Target.NameLength = Node->NameLength;
        Target.Function = Node->Function;
    }

    if (View->Kind != ReaderViewCallers) {
        View->KindBeforeCallers = View->Kind;
        View->NumberOfTargets = 0;
    }

    //
    // Who came a long way does not go back all of it.
    //

    if (View->NumberOfTargets == READER_VIEW_MOST_TARGETS) {
        for (Index = 1; Index < READER_VIEW_MOST_TARGETS; Index++) {
            View->Targets[Index - 1] = View->Targets[Index];
        }

        View->NumberOfTargets -= 1;
    }

    View->Targets[View->NumberOfTargets] = Target;
    View->NumberOfTargets += 1;
    View->Kind = ReaderViewCallers;
    View->Selected[ReaderViewCallers] = 0;
    return TRUE;
}


//
// Goes back from the callers of a function to where they were asked for.
//

static
VOID
LiveLeaveCallers(
    _Inout_ PREADER_VIEW View
    )
{
    if (View->NumberOfTargets != 0) {
        View->NumberOfTargets -= 1;
    }

    View->Selected[ReaderViewCallers] = 0;
    if (View->NumberOfTargets == 0) {
        View->Kind = View->KindBeforeCallers;
    }
}


//
// What a character does.
// View: the view, not the help.
// Returns TRUE: the screen is to be drawn again.
//

static
BOOLEAN
LivePressCharacter(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Character
    )
{
    switch (Character) {

    case 'q':
    case 'Q':
        View->IsQuitting = TRUE;
        break;

    case '1':
    case '2':
    case '3':
    case '4':
        View->Kind = (READER_VIEW_KIND)(Character - '1');
        break;

    case 'T':
        View->IsRenewing = View->Kind == ReaderViewTree;
        View->Kind = ReaderViewTree;
        break;

    case 's':
        LiveSortBy(View,
                   ReaderFunctionSelfPercent,
                   ReaderThreadCallsPerSecond);
        break;

    case 'c':
        LiveSortBy(View,
                   ReaderFunctionCallsPerSecond,
                   ReaderThreadCallsPerSecond);
        break;

    case 't':
        LiveSortBy(View, ReaderFunctionTotal, ReaderThreadId);
        break;

    case 'n':
        LiveSortBy(View, ReaderFunctionName, ReaderThreadName);
        break;

    case 'r':
        if (View->Kind < ReaderViewFrames) {
            View->IsReversed[View->Kind] = !View->IsReversed[View->Kind];
        }
        break;

    case 'p':
    case ' ':
        View->IsPaused = !View->IsPaused;
        break;

    case 'S':
        View->Request = ReaderRequestStop;
        break;

    case 'G':
        View->Request = ReaderRequestStart;
        break;

    case 'C':
        View->Request = ReaderRequestClear;
        break;

    case 'M':
    case 'W':
        View->IsEditing = TRUE;
        View->Asking = Character == 'M' ? ReaderRequestMark
                                        : ReaderRequestSnapshot;
        View->TextLength = 0;
        break;

    case '/':
        View->IsEditing = TRUE;
        View->FilterLength = 0;
        break;

    case '+':
        LiveChangeInterval(View, TRUE);
        break;

    case '-':
        LiveChangeInterval(View, FALSE);
        break;

    case 'h':
    case '?':
        View->KindBeforeHelp = View->Kind;
        View->Kind = ReaderViewHelp;
        View->TopOfHelp = 0;
        break;

    default:
        return FALSE;
    }

    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
LivePressKey(
    PREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    READER_KEY Key,
    ULONG Character
    )
{
    PULONG Selected;
    ULONG Page = View->LinesOfList > 1 ? View->LinesOfList - 1 : 1;
    BOOLEAN IsSaid = FALSE;

    if (Key == ReaderKeyStop) {
        View->IsQuitting = TRUE;
        return FALSE;
    }

    if (Key == ReaderKeyResize) {
        return TRUE;
    }

    if (View->SaidLength != 0) {
        View->SaidLength = 0;
        IsSaid = TRUE;
    }

    if (View->Kind == ReaderViewHelp) {
        if (Key == ReaderKeyUp || Key == ReaderKeyDown) {
            View->TopOfHelp += Key == ReaderKeyDown;
            View->TopOfHelp -= Key == ReaderKeyUp && View->TopOfHelp != 0;
            return TRUE;
        }

        View->Kind = View->KindBeforeHelp;
        if (Key == ReaderKeyCharacter && Character == 'q') {
            View->IsQuitting = TRUE;
        }
        return TRUE;
    }

    if (View->IsEditing) {
        return LiveEditText(View, Key, Character);
    }

    Selected = &View->Selected[View->Kind];
    switch (Key) {

    case ReaderKeyUp:
        *Selected -= *Selected != 0;
        return TRUE;

    case ReaderKeyDown:
        *Selected += *Selected + 1 < View->NumberOfRows;
        return TRUE;

    case ReaderKeyPageUp:
        *Selected -= *Selected < Page ? *Selected : Page;
        return TRUE;

    case ReaderKeyPageDown:
        *Selected += Page;
        if (*Selected >= View->NumberOfRows) {
            *Selected = View->NumberOfRows != 0 ? View->NumberOfRows - 1 : 0;
        }
        return TRUE;

    case ReaderKeyHome:
        *Selected = 0;
        return TRUE;

    case ReaderKeyEnd:
        *Selected = View->NumberOfRows != 0 ? View->NumberOfRows - 1 : 0;
        return TRUE;

    case ReaderKeyLeft:
    case ReaderKeyRight:
        LiveMoveSideways(View, Model, Key == ReaderKeyRight);
        return TRUE;

    case ReaderKeyTab:
        View->Kind = View->Kind < READER_NUMBER_OF_TABS
                         ? (READER_VIEW_KIND)((View->Kind + 1) %
                                              READER_NUMBER_OF_TABS)
                         : ReaderViewFunctions;
        return TRUE;

    case ReaderKeyEscape:
        if (View->FilterLength == 0 && View->Kind == ReaderViewCallers) {
            LiveLeaveCallers(View);
        }

        View->FilterLength = 0;
        return TRUE;

    case ReaderKeyBackspace:
        if (View->Kind == ReaderViewCallers) {
            LiveLeaveCallers(View);
            return TRUE;
        }
        return IsSaid;

    case ReaderKeyEnter:
        if (View->Kind != ReaderViewThreads) {
            return LiveEnterCallers(View, Model) || IsSaid;
        }

        if (*Selected < View->NumberOfRows) {

            //
            // The innermost frames are of most interest; the drawing brings
            // the number down.
            //

            View->Thread = View->Order[*Selected];
            View->IsThreadChosen = TRUE;
            View->Selected[ReaderViewFrames] = 0xFFFFFFFFu;
            View->Kind = ReaderViewFrames;
            return TRUE;
        }
        return IsSaid;

    case ReaderKeyCharacter:
        return LivePressCharacter(View, Character) || IsSaid;

    default:
        return IsSaid;
    }
}
