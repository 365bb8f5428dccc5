/*++

Module Name:

    TestLiveScreen.h

Abstract:

    What the sources of TestLiveScreen share.

--*/

#ifndef TRACER_TEST_LIVE_SCREEN_H
#define TRACER_TEST_LIVE_SCREEN_H

#include "Test.h"
#include "../../../Reader/Live/LiveConsole.h"

#define TEST_WIDTH 200
#define TEST_HEIGHT 40

//
// The terminal.
//

typedef struct _TEST_TERMINAL {
    ULONG Width;
    ULONG Height;
    ULONG X;
    ULONG Y;
    BOOLEAN IsBold;
    BOOLEAN IsInverse;
    ULONG Color;                    // 0: the default
    BOOLEAN IsAlternate;
    BOOLEAN IsCursorHidden;
    ULONG NumberOfMoves;
    ULONG NumberOfColors;
    ULONG NumberOfErrors;
    ULONG Cells[TEST_HEIGHT][TEST_WIDTH];
    BOOLEAN Inverse[TEST_HEIGHT][TEST_WIDTH];
    BOOLEAN Bold[TEST_HEIGHT][TEST_WIDTH];
    ULONG Colors[TEST_HEIGHT][TEST_WIDTH];
} TEST_TERMINAL;
typedef TEST_TERMINAL *PTEST_TERMINAL;

extern PCRTL TestRtl;
extern PCALLOCATOR TestAllocator;

extern TEST_TERMINAL TestTerminal;

//
// Terminal.c.
//

//
// Makes a terminal that shows a question mark everywhere.
// Width, Height: its size.
//

VOID
TestResetTerminal(
    _In_ ULONG Width,
    _In_ ULONG Height
    );

//
// Shows bytes on the terminal.
// Bytes, Length: UTF-8 and control sequences.
//

VOID
TestFollow(
    _In_reads_bytes_(Length) const CHAR *Bytes,
    _In_ ULONG Length
    );

//
// Compares the terminal with the screen.
// Returns the number of cells that differ.
//

ULONG
TestCountDifferences(
    _In_ PCREADER_SCREEN Screen
    );

//
// Checks a line, but for blanks at its end.
// Expected: ASCII, with ~ for an ellipsis and # for any other character.
//

VOID
TestLine(
    _In_ PCREADER_SCREEN Screen,
    _In_ ULONG Y,
    _In_z_ PCSZ Expected
    );

//
// Views.c.
//

//
// Width, Height: its size.
//

VOID
TestDraw(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_ ULONG Width,
    _In_ ULONG Height
    );

//
// Presses keys, and draws after each.
// Screen: the screen, with a size.
//

VOID
TestType(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_z_ PCSZ Characters
    );

//
// Presses a key, and draws.
// Screen: the screen, with a size.
//

VOID
TestPress(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen,
    _In_ READER_KEY Key
    );

//
// The program that the views show.
//

extern READER_LIVE_MODEL TestModel;

//
// What TestLiveScreen.c calls, source by source.
//

VOID TestPutting(VOID);                 // Terminal.c
VOID TestRendering(VOID);               // Terminal.c

VOID TestMakeModel(VOID);               // Views.c
VOID TestFunctionView(VOID);            // Views.c
VOID TestOtherViews(VOID);              // Views.c
VOID TestNamesOfViews(VOID);            // Views.c
VOID TestRequestsOfViews(VOID);         // Views.c

VOID TestTreeView(VOID);                // TreeViews.c
VOID TestCallersView(VOID);             // TreeViews.c
VOID TestColors(VOID);                  // TreeViews.c
VOID TestHelp(VOID);                    // TreeViews.c

VOID TestConsoles(VOID);                // Consoles.c

VOID TestPages(VOID);                   // Pages.c

#endif // TRACER_TEST_LIVE_SCREEN_H
