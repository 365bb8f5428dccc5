/*++

Module Name:

    LiveHelp.c

Abstract:

    What the screen says of its keys and of its numbers.

--*/

#include "LiveHelp.h"

//
// The keys come first, so that a screen of 24 lines has all of them.
//

static const PCSZ ReaderViewHelpLines[] = {
    "1 2 3 4 Tab functions, threads, open frames, call tree (4 or T)",
    "Up Down PgUp PgDn Home End   move in the list",
    "Left Right  sort by another column; open frames: another thread;",
    "            call tree: fold and unfold",
    "s c t n     sort by self time, calls, total time, name",
    "r           reverse the order",
    "Enter       on a thread: its open frames; on a function: its callers",
    "Esc Backspace   from the callers back to where they were asked for",
    "T           the call tree; in it: begin it anew",
    "/           show only names that contain a text; Esc: all again",
    "p Space     pause: the screen stands still, reading goes on",
    "+ -         refresh more often, less often",
    "S G         stop recording, go on recording (as ctl stop, ctl start)",
    "C           clear: what was recorded so far does not count (ctl clear)",
    "M W         set a mark; write a snapshot (ctl mark, ctl snapshot)",
    "h ?         this text",
    "q Ctrl+C    quit",
    "",
    "Self %      of the time of all functions since the last refresh",
    "Self/s      time in the function itself, per second, all threads",
    "Calls/s     since the last refresh",
    "Calls Total Self   since reading began; when the program has ended,",
    "            of the whole run, as report says",
    "Average     time of a call that has ended, with what it called",
    "Age         how long a frame has been open; ? after it: it was open",
    "            before the skipped records and may have been replaced;",
    "            * after it: on a fiber",
    "Total %     call tree: of the time of all calls since it was opened",
    "Share %     callers: of the function's time",
    "(+3)        call tree: so many nodes below are folded away: those with",
    "            less than half a percent of the time, where there is no room",
    "            for all, until Right is pressed",
    "",
    "With a budget (--budget) only a part of the records is read when there",
    "are more than it allows.  Numbers of records are exact then; calls and",
    "times are estimates from that part.  --budget 100 reads everything."
};

//
// What the last line says: as much of it as there is room for.
//

#define READER_VIEW_MOST_HINTS 16

static const PCSZ ReaderViewHints[READER_NUMBER_OF_VIEWS]
                                 [READER_VIEW_MOST_HINTS] = {
    { "q quit", "h help", "Tab view", "Enter callers", "T tree",
      "s c t n sort", "/ filter", "p pause", "r reverse", "+ - interval",
      "S stop", "G go on", "C clear", "M mark", "W snapshot" },
    { "q quit", "h help", "Tab view", "Enter frames", "T tree",
      "s c t n sort", "/ filter", "p pause", "r reverse", "+ - interval",
      "S stop", "G go on", "C clear", "M mark", "W snapshot" },
    { "q quit", "h help", "Tab view", "Left Right thread", "Enter callers",
      "/ filter", "p pause", "T tree", "+ - interval", "S stop", "G go on",
      "C clear", "M mark", "W snapshot" },
    { "q quit", "h help", "Tab view", "Left Right fold", "Enter callers",
      "T anew", "/ filter", "p pause", "+ - interval", "S stop", "G go on",
      "C clear", "M mark", "W snapshot" },
    { "q quit", "h help", "Esc back", "Enter callers", "T tree", "/ filter",
      "p pause", "+ - interval", "S stop", "G go on", "C clear", "M mark",
      "W snapshot" }
};


_Use_decl_annotations_
VOID
LiveWriteHints(
    PRTL_WRITER Writer,
    READER_VIEW_KIND Kind,
    ULONG Width
    )
{
    const PCSZ *Hints = ReaderViewHints[Kind];
    ULONG Used = 0;
    ULONG Index;

    for (Index = 0;
         Index < READER_VIEW_MOST_HINTS && Hints[Index] != NULL;
         Index++) {
        Used += RtlLengthOfString(Hints[Index]) + (Index != 0 ? 2 : 0);
        if (Used > Width && Index != 0) {
            break;
        }

        RtlWriteText(Writer, "%s%s", Index != 0 ? "  " : "", Hints[Index]);
    }
}


_Use_decl_annotations_
VOID
LiveDrawHelp(
    PREADER_VIEW View,
    PREADER_SCREEN Screen
    )
{
    static const CHAR Title[] =
        "TraceReader live: keys (Up Down: more; any other key goes back)";
    ULONG Count = RTL_NUMBER_OF(ReaderViewHelpLines);
    ULONG Lines = Screen->Height - 1;
    ULONG Index;

    LivePutOnScreen(Screen,
                    0,
                    0,
                    Screen->Width,
                    ReaderStyleBold,
                    Title,
                    sizeof(Title) - 1);
    if (View->TopOfHelp > (Count > Lines ? Count - Lines : 0)) {
        View->TopOfHelp = Count > Lines ? Count - Lines : 0;
    }

    for (Index = View->TopOfHelp; Index < Count; Index++) {
        LivePutOnScreen(Screen,
                        0,
                        Index - View->TopOfHelp + 1,
                        Screen->Width,
                        ReaderStyleNormal,
                        ReaderViewHelpLines[Index],
                        RtlLengthOfString(ReaderViewHelpLines[Index]));
    }
}
