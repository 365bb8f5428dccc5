/*++

Module Name:

    OutputColor.c

Abstract:

    Colours of text.

    A console gets attributes, which all consoles understand: not all of those
    that say that they take control sequences do.  Attributes hold for what is
    written next, so that the buffer is written first.

--*/

#include "OutputColor.h"
#include "OutputGrid.h"

#define READER_ATTRIBUTE_COLORS 0x0Fu           // of the text
#define READER_ATTRIBUTE_BRIGHT 0x08u

//
// By READER_COLOR: the attribute's colours, and the sequence.
//

static const struct {
    WORD Attribute;
    PCSZ Sequence;
} ReaderColors[] = {
    { 0x00, "\x1B[0m" },
    { 0x00, "\x1B[1m" },                        // brighter than the others
    { READER_ATTRIBUTE_BRIGHT, "\x1B[90m" },
    { 0x03, "\x1B[36m" },
    { 0x0C, "\x1B[31m" },
    { 0x0A, "\x1B[32m" }
};

typedef BOOL (WINAPI READER_GET_SCREEN_BUFFER_INFO)(
    _In_ HANDLE Console,
    _Out_ PCONSOLE_SCREEN_BUFFER_INFO Information
    );
typedef READER_GET_SCREEN_BUFFER_INFO *PREADER_GET_SCREEN_BUFFER_INFO;


//
// Asks a console for its screen's buffer.
//

_Success_(return != FALSE)
static
BOOLEAN
OutputQueryScreen(
    _In_ const RTL_WRITER *Writer,
    _Out_ PCONSOLE_SCREEN_BUFFER_INFO Information
    )
{
    static const PCSZ Name = "GetConsoleScreenBufferInfo";
    PVOID Routine = NULL;
    HMODULE Module;

    if (!Writer->IsConsole) {
        return FALSE;
    }

    Module = Writer->Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
    return Module != NULL &&
           RtlLoadSymbols(Module, &Name, &Routine, 1, NULL) == 0 &&
           ((PREADER_GET_SCREEN_BUFFER_INFO)Routine)(Writer->Handle,
                                                     Information);
}


_Success_(return != FALSE)
static
BOOLEAN
OutputQueryAttributes(
    _In_ const RTL_WRITER *Writer,
    _Out_ PUSHORT Attributes
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Information;

    if (!OutputQueryScreen(Writer, &Information)) {
        return FALSE;
    }

    *Attributes = Information.wAttributes;
    return TRUE;
}


_Use_decl_annotations_
ULONG
OutputQueryTerminalWidth(
    const RTL_WRITER *Writer
    )
{
    CONSOLE_SCREEN_BUFFER_INFO Information;
    LONG Width;

    if (!OutputQueryScreen(Writer, &Information)) {
        return 0;
    }

    Width = Information.srWindow.Right - Information.srWindow.Left;
    if (Width < (LONG)READER_GRID_MINIMUM_WIDTH) {
        return Width <= 0 ? 0 : READER_GRID_MINIMUM_WIDTH;
    }

    return Width < (LONG)READER_GRID_MAXIMUM_WIDTH ? (ULONG)Width
                                                   : READER_GRID_MAXIMUM_WIDTH;
}


_Use_decl_annotations_
VOID
OutputBeginColors(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    BOOLEAN IsPlain,
    PREADER_COLORS Colors
    )
{
    static const PCSZ Name = "SetConsoleTextAttribute";
    PRTL_WRITER Writer = Context->Output;
    UNICODE_STRING Value;
    WCHAR Text[8];
    PVOID Routine = NULL;
    HMODULE Module;
    NTSTATUS Status;

    Colors->SetTextAttribute = NULL;
    Colors->Attributes = 0;
    Writer->Colors = NULL;
    if (Options->Color == READER_COLOR_NEVER ||
        Options->Format != ReaderFormatText) {
        return;
    }

    if (Options->Color == READER_COLOR_AUTO) {

        if (!Writer->IsConsole || IsPlain) {
            return;
        }

        //
        // no-color.org: whatever it is, unless it is empty.
        //

        Status = RtlQueryEnvironment(Context->Rtl,
                                     L"NO_COLOR",
                                     Text,
                                     RTL_NUMBER_OF(Text),
                                     &Value);
        if (Status == STATUS_BUFFER_TOO_SMALL ||
            Status == STATUS_BUFFER_OVERFLOW ||
            (NT_SUCCESS(Status) && Value.Length != 0)) {
            return;
        }
    }

    //
    // A pager takes sequences.
    //

    if (Writer->IsConsole && Writer->Pager == NULL) {

        Module = Context->Rtl->LoadLibraryExW(L"kernel32.dll", NULL, 0);
        if (Module == NULL ||
            RtlLoadSymbols(Module, &Name, &Routine, 1, NULL) != 0 ||
            !OutputQueryAttributes(Writer, &Colors->Attributes)) {
            return;
        }

        Colors->SetTextAttribute = (PREADER_SET_TEXT_ATTRIBUTE)Routine;
    }

    Writer->Colors = Colors;
}


//
// A console's attributes with a colour.
//

static
WORD
OutputMakeAttributes(
    _In_ WORD Base,
    _In_ ULONG Color
    )
{
    if (Color == ReaderColorTitle) {
        return Base | READER_ATTRIBUTE_BRIGHT;
    }

    return Color == ReaderColorNone
               ? Base
               : (WORD)((Base & ~READER_ATTRIBUTE_COLORS) |
                        ReaderColors[Color].Attribute);
}


_Use_decl_annotations_
ULONG
OutputReadSequence(
    const CHAR *Bytes,
    ULONG LengthInBytes,
    WORD Base,
    PUSHORT Attributes
    )
{
    ULONG Color;
    ULONG Index;

    for (Color = 0; Color < RTL_NUMBER_OF(ReaderColors); Color++) {

        PCSZ Sequence = ReaderColors[Color].Sequence;

        for (Index = 0; Index < LengthInBytes && Sequence[Index] != 0 &&
                        Sequence[Index] == Bytes[Index]; Index++) {
        }

        if (Sequence[Index] == 0) {
            *Attributes = OutputMakeAttributes(Base, Color);
            return Index;
        }
    }

    return 0;
}


_Use_decl_annotations_
VOID
OutputSetColor(
    PRTL_WRITER Writer,
    READER_COLOR Color
    )
{
    PREADER_COLORS Colors = (PREADER_COLORS)Writer->Colors;

    if (Colors == NULL) {
        return;
    }

    if (Colors->SetTextAttribute == NULL) {
        RtlWriteText(Writer, "%s", ReaderColors[Color].Sequence);
        return;
    }

    RtlFlushWriter(Writer);
    (VOID)Colors->SetTextAttribute(Writer->Handle,
                                   OutputMakeAttributes(Colors->Attributes,
                                                        Color));
}
