/*++

Module Name:

    OutputTable.c

Abstract:

    Tables as text, CSV (RFC 4180) and JSON (RFC 8259).  Rows are written as
    they come; nothing is kept.

    Text that comes from the traced process is cleaned (RtlIsPrintable); JSON
    has what is not printable escaped, and CSV nothing that a spreadsheet takes
    for a formula.

--*/

#include "../Base/BaseExit.h"
#include "OutputTable.h"

#define READER_REPLACEMENT 0xFFFDu

//
// Text output shows this many levels of indentation and a number beyond them.
//

#define READER_MAXIMUM_INDENTATION 60


//
// Counts the characters that a text is written as.
// Returns the number of characters.
//

static
ULONG
OutputMeasureText(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG CodePoint;
    ULONG Count = 0;
    ULONG Index = 0;

    while (Index < LengthInBytes) {
        Index += RtlDecodeUtf8(Text + Index,
                               LengthInBytes - Index,
                               &CodePoint);
        Count += 1;
    }

    return Count;
}


//
// Writes a character of a JSON string by its number (RFC 8259, section 7).
//

static
VOID
OutputWriteJsonEscape(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG CodePoint
    )
{
    if (CodePoint == READER_REPLACEMENT) {
        RtlWriteText(Writer, "%c", CodePoint);
    } else if (CodePoint == '"' || CodePoint == '\\') {
        RtlWriteText(Writer, "\\%c", CodePoint);
    } else if (CodePoint < 0x10000) {
        RtlWriteText(Writer, "\\u%04x", CodePoint);
    } else {
        CodePoint -= 0x10000;
        RtlWriteText(Writer,
                     "\\u%04x\\u%04x",
                     0xD800 + (CodePoint >> 10),
                     0xDC00 + (CodePoint & 0x3FF));
    }
}


//
// Decides whether a spreadsheet could take a cell for a formula, or for
// something that was put in front of one here. OWASP's "CSV Injection" names =
// + - @, their full-width forms, and TAB, CR and LF, which become question
// marks. A quote is among them because it could begin a cell that goes on
// behind the next separator.
//
// Text, LengthInBytes: what a cell could begin with.
//

static
BOOLEAN
OutputStartsFormula(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG CodePoint = ' ';
    ULONG Index = 0;

    while (CodePoint == ' ' && Index < LengthInBytes) {
        Index += RtlDecodeUtf8(Text + Index,
                               LengthInBytes - Index,
                               &CodePoint);
    }

    switch (CodePoint) {

    case '=':
    case '+':
    case '-':
    case '@':
    case '\'':
    case '"':
    case 0xFF1D:
    case 0xFF0B:
    case 0xFF0D:
    case 0xFF20:
        return TRUE;

    default:
        return FALSE;
    }
}


//
// Writes a text as CSV or JSON want it, without quotes around it.
// Format: CSV: it is cleaned, quotes are doubled, and where a cell could begin
// for a program that separates them by semicolons, none is taken for a
// formula. JSON: quotes, backslashes and what is not printable are escaped.
//

static
VOID
OutputWriteEncoded(
    _Inout_ PRTL_WRITER Writer,
    _In_ READER_FORMAT Format,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    BOOLEAN IsJson = Format == ReaderFormatJson;
    ULONG Begin = 0;
    ULONG Index = 0;
    ULONG CodePoint;

    //
    // Runs of what stays are written at once.
    //

    while (Index < LengthInBytes) {

        ULONG Length = RtlDecodeUtf8(Text + Index,
                                     LengthInBytes - Index,
                                     &CodePoint);

        if (IsJson ? CodePoint != '"' && CodePoint != '\\' &&
                         CodePoint != READER_REPLACEMENT &&
                         RtlIsPrintable(CodePoint)
                   : CodePoint != '"' && CodePoint != ';') {
            Index += Length;
            continue;
        }

        if (IsJson) {
            RtlWriteBytes(Writer, Text + Begin, Index - Begin);
            OutputWriteJsonEscape(Writer, CodePoint);
            Index += Length;
            Begin = Index;
            continue;
        }

        Index += Length;
        RtlWriteCleanText(Writer, Text + Begin, Index - Begin);
        Begin = Index;
        if (CodePoint == '"') {
            RtlWriteBytes(Writer, "\"", 1);
        } else if (OutputStartsFormula(Text + Index, LengthInBytes - Index)) {
            RtlWriteBytes(Writer, "'", 1);
        }
    }

    if (IsJson) {
        RtlWriteBytes(Writer, Text + Begin, LengthInBytes - Begin);
    } else {
        RtlWriteCleanText(Writer, Text + Begin, LengthInBytes - Begin);
    }
}


_Use_decl_annotations_
VOID
OutputWriteCsvText(
    PRTL_WRITER Writer,
    const CHAR *Qualifier,
    ULONG QualifierLength,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    const CHAR *Parts[2];
    ULONG Lengths[2];
    BOOLEAN NeedsQuotes;
    ULONG Part;
    ULONG Index;

    Parts[0] = Qualifier;
    Lengths[0] = Qualifier != NULL ? QualifierLength : 0;
    Parts[1] = Text;
    Lengths[1] = LengthInBytes;
    NeedsQuotes = Qualifier != NULL
                      ? OutputStartsFormula(Qualifier, QualifierLength)
                      : OutputStartsFormula(Text, LengthInBytes);
    RtlWriteText(Writer, NeedsQuotes ? "\"'" : "");
    for (Part = 0; Part < 2 && !NeedsQuotes; Part++) {
        for (Index = 0; Index < Lengths[Part] && !NeedsQuotes; Index++) {
            NeedsQuotes = Parts[Part][Index] == '"' ||
                          Parts[Part][Index] == ',' ||
                          Parts[Part][Index] == ';';
            RtlWriteText(Writer, NeedsQuotes ? "\"" : "");
        }
    }

    if (Qualifier != NULL) {
        OutputWriteEncoded(Writer,
                           ReaderFormatCsv,
                           Qualifier,
                           QualifierLength);
        RtlWriteText(Writer, "!");
    }

    OutputWriteEncoded(Writer, ReaderFormatCsv, Text, LengthInBytes);
    RtlWriteText(Writer, NeedsQuotes ? "\"" : "");
}


_Use_decl_annotations_
VOID
OutputWriteTabText(
    PRTL_WRITER Writer,
    const CHAR *Qualifier,
    ULONG QualifierLength,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    if (OutputStartsFormula(Qualifier, QualifierLength)) {
        RtlWriteText(Writer, "'");
    }

    RtlWriteCleanText(Writer, Qualifier, QualifierLength);
    RtlWriteText(Writer, "!");
    RtlWriteCleanText(Writer, Text, LengthInBytes);
}


_Use_decl_annotations_
VOID
OutputWriteTime(
    PRTL_WRITER Writer,
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks
    )
{
    static const PCSZ Units[] = { "ns", "us", "ms", " s" };
    static const ULONG Powers[] = { 1, 10, 100, 1000 };
    ULONGLONG Granularity;
    ULONGLONG Value;
    ULONGLONG Scale;
    ULONG Digits;
    ULONG Unit;
    int Width;

    Width = Clock->IsRaw ? READER_RAW_TIME_WIDTH : READER_TIME_WIDTH;
    if (Clock->Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Writer, "%*s", Width, "-");
        return;
    }

    Granularity = CoreQueryGranularity(Clock);
    if (!CoreTicksToNanoseconds(Clock, Ticks, &Value) || Clock->IsRaw) {
        RtlWriteText(Writer, "%*llu", Width, Value - Value % Granularity);
        return;
    }

    //
    // The unit has one to three digits before the point, unless the clock
    // has no such digits.
    //

    Scale = 1;
    for (Unit = 0;
         Unit < 3 && (Value / Scale >= 1000 || Scale < Granularity);
         Unit++) {
        Scale *= 1000;
    }

    Digits = 0;
    while (Digits < 3 && Scale / Powers[Digits] / 10 >= Granularity) {
        Digits += 1;
    }

    if (Digits == 0) {
        RtlWriteText(Writer, "%7llu %s", Value / Scale, Units[Unit]);
        return;
    }

    RtlWriteText(Writer,
                 "%*llu.%0*llu %s",
                 (int)(6 - Digits),
                 Value / Scale,
                 (int)Digits,
                 Value % Scale / (Scale / Powers[Digits]),
                 Units[Unit]);
}


_Use_decl_annotations_
VOID
OutputWriteSize(
    PRTL_WRITER Writer,
    ULONGLONG Bytes
    )
{
    static const PCSZ Units[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
    ULONG Shift = 10;
    ULONG Unit = 0;

    if (Bytes < 1024) {
        RtlWriteText(Writer, "%llu B", Bytes);
        return;
    }

    while (Unit + 1 < RTL_NUMBER_OF(Units) && Bytes >> Shift >= 1024) {
        Unit += 1;
        Shift += 10;
    }

    //
    // What is cut off is less than a hundredth of the unit.
    //

    RtlWriteText(Writer,
                 "%llu.%02llu %s",
                 Bytes >> Shift,
                 ((Bytes >> (Shift - 10)) % 1024) * 100 / 1024,
                 Units[Unit]);
}


//
// Says how wide a column is in text.
// Returns characters.
//

static
ULONG
OutputQueryWidth(
    _In_ const READER_OUTPUT *Output,
    _In_ PCREADER_COLUMN Column
    )
{
    if (Output->Clock->IsRaw &&
        Column->Width != 0 &&
        Column->Width < READER_RAW_TIME_WIDTH &&
        (Column->Type == ReaderColumnSignedTime ||
         (Column->Type >= ReaderColumnBytes &&
          Column->Type <= ReaderColumnExactTime))) {
        return READER_RAW_TIME_WIDTH;
    }

    return Column->Width;
}


//
// Writes a date and time of day (ISO 8601, UTC).
// SystemTime: a FILETIME.
//

static
VOID
OutputWriteDate(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG SystemTime
    )
{
    RTL_CALENDAR_TIME Calendar;

    RtlSystemTimeToCalendar(SystemTime, &Calendar);
    RtlWriteText(Writer,
                 "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                 (ULONG)Calendar.Year,
                 (ULONG)Calendar.Month,
                 (ULONG)Calendar.Day,
                 (ULONG)Calendar.Hour,
                 (ULONG)Calendar.Minute,
                 (ULONG)Calendar.Second,
                 (ULONG)Calendar.Milliseconds);
}


//
// What a column's field name ends with.
// Returns "_ns" or "_ticks" for times, otherwise "".
//

static
PCSZ
OutputTimeSuffix(
    _In_ const READER_OUTPUT *Output,
    _In_ PCREADER_COLUMN Column
    )
{
    if (!READER_IS_TIME_COLUMN(Column)) {
        return "";
    }

    return Output->Clock->Ticks != 0 || Column->Type == ReaderColumnCpuTime
               ? "_ns"
               : "_ticks";
}


_Use_decl_annotations_
VOID
OutputBeginDocument(
    PREADER_OUTPUT Output,
    PRTL_WRITER Writer,
    READER_FORMAT Format,
    PCCORE_CLOCK Clock,
    PCSZ Command,
    BOOLEAN HasSeveralTables
    )
{
    RtlZeroBytes(Output, sizeof(*Output));
    Output->Writer = Writer;
    Output->Format = Format;
    Output->Clock = Clock;
    Output->IsLongCsv = HasSeveralTables && Format == ReaderFormatCsv;

    if (Format == ReaderFormatJson) {
        RtlWriteText(Writer,
                     "{\n\"command\": \"%s\",\n\"time_unit\": \"%s\",\n"
                     "\"clock\": \"%s\"",
                     Command,
                     Clock->Ticks != 0 ? "ns" : "ticks",
                     OutputDescribeClock(Clock));
    } else if (Output->IsLongCsv) {
        RtlWriteText(Writer, "table,row,field,value\r\n");
    }
}


_Use_decl_annotations_
VOID
OutputEndDocument(
    PREADER_OUTPUT Output
    )
{
    if (Output->Grid != NULL) {
        OutputEndGrid(Output);
    }

    if (Output->Format == ReaderFormatJson) {
        RtlWriteText(Output->Writer, "\n}\n");
    }
}


//
// Decides whether an output lacks a column in every format.
// Returns TRUE if it is one of processes, and there is one alone.
//

static
BOOLEAN
OutputIsColumnAbsent(
    _In_ const READER_OUTPUT *Output,
    _In_ PCREADER_COLUMN Column
    )
{
    return !Output->HasProcesses &&
           (Column->Type == ReaderColumnProcess ||
            Column->Type == ReaderColumnProcessId);
}


_Use_decl_annotations_
VOID
OutputBeginTable(
    PREADER_OUTPUT Output,
    PCREADER_TABLE Table,
    ULONG When
    )
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_COLUMN Column;
    BOOLEAN IsFirst;
    ULONG Index;

    Output->Table = Table;
    Output->HiddenColumns = 0;
    Output->Column = 0;
    Output->NumberOfRows = 0;

    for (Index = 0; Index < Table->NumberOfColumns; Index++) {
        Column = &Table->Columns[Index];
        if ((Column->Flags & READER_COLUMN_DATA) != 0 ||
            (Column->Flags & READER_COLUMN_WHEN & ~When) != 0) {
            Output->HiddenColumns |= 1ULL << Index;
        }
    }

    switch (Output->Format) {

    case ReaderFormatJson:
        RtlWriteText(Writer, ",\n\"%s\": [", Table->Name);
        break;

    case ReaderFormatCsv:
        if (Output->IsLongCsv) {
            break;
        }

        for (Index = 0; Index < Table->NumberOfColumns; Index++) {
            Column = &Table->Columns[Index];
            if (OutputIsColumnAbsent(Output, Column)) {
                continue;
            }

            RtlWriteText(Writer,
                         "%s%s%s",
                         Index != 0 ? "," : "",
                         Column->Field,
                         OutputTimeSuffix(Output, Column));
        }

        //
        // Times of another clock than the counter say so in every row.
        //

        RtlWriteText(Writer,
                     Output->Clock->Kind == TRACE_CLOCK_TSC ? "\r\n"
                                                            : ",clock\r\n");
        break;

    default:
        if (Output->NumberOfTables != 0) {
            RtlWriteText(Writer, "\n");
        }

        if (Table->IsList) {
            break;
        }

        if (Writer->Layout != NULL) {
            for (Index = 0; Index < Table->NumberOfColumns; Index++) {
                if (OutputIsColumnAbsent(Output, &Table->Columns[Index])) {
                    Output->HiddenColumns |= 1ULL << Index;
                }
            }

            OutputBeginGrid((PREADER_GRID)Writer->Layout, Output);
            break;
        }

        OutputSetColor(Writer, ReaderColorTitle);
        IsFirst = TRUE;
        for (Index = 0; Index < Table->NumberOfColumns; Index++) {

            Column = &Table->Columns[Index];
            if ((Output->HiddenColumns & (1ULL << Index)) != 0 ||
                OutputIsColumnAbsent(Output, Column)) {
                continue;
            }

            if (!IsFirst) {
                RtlWriteText(Writer, "  ");
            }

            if (READER_IS_TEXT_COLUMN(Column)) {
                RtlWriteText(Writer,
                             "%-*s",
                             Index + 1 == Table->NumberOfColumns
                                 ? 0
                                 : (int)OutputQueryWidth(Output, Column),
                             Column->Title);
            } else {
                RtlWriteText(Writer,
                             "%*s",
                             (int)OutputQueryWidth(Output, Column),
                             Column->Title);
            }

            IsFirst = FALSE;
        }

        OutputSetColor(Writer, ReaderColorNone);
        RtlWriteText(Writer, "\n");
        break;
    }

    Output->NumberOfTables += 1;
}


_Use_decl_annotations_
VOID
OutputEndTable(
    PREADER_OUTPUT Output
    )
{
    if (Output->Grid != NULL) {
        OutputEndGrid(Output);
    }

    if (Output->Format == ReaderFormatJson) {
        RtlWriteText(Output->Writer, "\n]");
    }

    Output->Table = NULL;
}


//
// Writes what goes before a cell.
// Returns FALSE if the cell is not to be written.
//

static
BOOLEAN
OutputBeginCell(
    _Inout_ PREADER_OUTPUT Output,
    _Out_ PCREADER_COLUMN *Column
    )
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_TABLE Table = Output->Table;
    BOOLEAN IsFirst = TRUE;
    ULONG Index;

    *Column = &Table->Columns[Output->Column];
    if (OutputIsColumnAbsent(Output, *Column)) {
        return FALSE;
    }

    //
    // The columns before it may be absent.
    //

    for (Index = 0; IsFirst && Index < Output->Column; Index++) {
        IsFirst = OutputIsColumnAbsent(Output, &Table->Columns[Index]);
    }

    switch (Output->Format) {

    case ReaderFormatJson:
        if (IsFirst) {
            RtlWriteText(Writer,
                         "%s\n{",
                         Output->NumberOfRows != 0 ? "," : "");
        }

        RtlWriteText(Writer,
                     "%s\"%s%s\": ",
                     IsFirst ? "" : ", ",
                     (*Column)->Field,
                     OutputTimeSuffix(Output, *Column));
        return TRUE;

    case ReaderFormatCsv:
        if (Output->IsLongCsv) {
            RtlWriteText(Writer,
                         "%s,%llu,%s%s,",
                         Table->Name,
                         Output->NumberOfRows,
                         (*Column)->Field,
                         OutputTimeSuffix(Output, *Column));
        } else if (!IsFirst) {
            RtlWriteText(Writer, ",");
        }

        return TRUE;

    default:
        if ((Output->HiddenColumns & (1ULL << Output->Column)) != 0) {
            return FALSE;
        }

        if (Output->Grid != NULL) {
            return TRUE;
        }

        if (Table->IsList) {
            OutputSetColor(Writer, ReaderColorTitle);
            RtlWriteText(Writer, "%-18s  ", (*Column)->Title);
            OutputSetColor(Writer, ReaderColorNone);
            return TRUE;
        }

        for (Index = 0; Index < Output->Column; Index++) {
            if ((Output->HiddenColumns & (1ULL << Index)) == 0) {
                RtlWriteText(Writer, "  ");
                break;
            }
        }

        return TRUE;
    }
}


//
// Writes what goes after a cell, and after the last one of a row.
// Value, Depth: what a grid has to know of the cell.
//

static
VOID
OutputEndCell(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Value,
    _In_ ULONG Depth
    )
{
    PRTL_WRITER Writer = Output->Writer;
    BOOLEAN IsAbsent;
    BOOLEAN IsHidden;

    IsAbsent = OutputIsColumnAbsent(Output,
                                    &Output->Table->Columns[Output->Column]);
    IsHidden = IsAbsent ||
               (Output->HiddenColumns & (1ULL << Output->Column)) != 0;
    if (Output->Grid != NULL && !IsHidden) {
        OutputEndGridCell(Output, Value, Depth);
    }

    Output->Column += 1;

    if (Output->IsLongCsv) {
        if (!IsAbsent) {
            RtlWriteText(Writer, "\r\n");
        }
    } else if (Output->Format == ReaderFormatText &&
               Output->Table->IsList &&
               !IsHidden) {
        RtlWriteText(Writer, "\n");
    }

    if (Output->Column < Output->Table->NumberOfColumns) {
        return;
    }

    Output->Column = 0;
    Output->NumberOfRows += 1;

    switch (Output->Format) {

    case ReaderFormatJson:
        RtlWriteText(Writer, "}");
        break;

    case ReaderFormatCsv:
        if (Output->IsLongCsv) {
            break;
        }

        if (Output->Clock->Kind != TRACE_CLOCK_TSC) {
            RtlWriteText(Writer, ",%s", OutputDescribeClock(Output->Clock));
        }

        RtlWriteText(Writer, "\r\n");
        break;

    default:
        if (Output->Grid != NULL) {
            OutputEndGridRow(Output);
        } else if (!Output->Table->IsList) {
            RtlWriteText(Writer, "\n");
        }
        break;
    }
}


_Use_decl_annotations_
VOID
OutputPutIndentedText(
    PREADER_OUTPUT Output,
    ULONG Depth,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_COLUMN Column;
    ULONG Length;

    if (OutputBeginCell(Output, &Column)) {

        switch (Output->Format) {

        case ReaderFormatJson:
            RtlWriteText(Writer, "\"");
            OutputWriteEncoded(Writer,
                               ReaderFormatJson,
                               Text,
                               LengthInBytes);
            RtlWriteText(Writer, "\"");
            break;

        case ReaderFormatCsv:
            OutputWriteCsvText(Writer, NULL, 0, Text, LengthInBytes);
            break;

        default:
            if (Output->Grid != NULL) {
                RtlWriteCleanText(Writer, Text, LengthInBytes);
                break;
            }

            if (Depth > READER_MAXIMUM_INDENTATION) {
                RtlWriteText(Writer,
                             "%*s[%u] ",
                             2 * READER_MAXIMUM_INDENTATION,
                             "",
                             Depth);
            } else {
                RtlWriteText(Writer, "%*s", (int)(2 * Depth), "");
            }

            RtlWriteCleanText(Writer, Text, LengthInBytes);
            if (!Output->Table->IsList &&
                Output->Column + 1 != Output->Table->NumberOfColumns) {
                Length = OutputMeasureText(Text, LengthInBytes) + 2 * Depth;
                if (Length < Column->Width) {
                    RtlWriteText(Writer,
                                 "%*s",
                                 (int)(Column->Width - Length),
                                 "");
                }
            }
            break;
        }
    }

    OutputEndCell(Output, LengthInBytes, Depth);
}


_Use_decl_annotations_
VOID
OutputPutText(
    PREADER_OUTPUT Output,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    OutputPutIndentedText(Output, 0, Text, LengthInBytes);
}


_Use_decl_annotations_
VOID
OutputPutString(
    PREADER_OUTPUT Output,
    PCSZ String
    )
{
    OutputPutIndentedText(Output, 0, String, RtlLengthOfString(String));
}


//
// Writes a text of ASCII to the right of its column.
// Text: a writer that holds it.
//

static
VOID
OutputPutAligned(
    _Inout_ PRTL_WRITER Writer,
    _In_ const RTL_WRITER *Text,
    _In_ int Width
    )
{
    int Length = (int)Text->LengthInBytes;

    if (Width > Length) {
        RtlWriteText(Writer, "%*s", Width - Length, "");
    }

    RtlWriteBytes(Writer, Text->Buffer, Text->LengthInBytes);
}


//
// Writes a number or a time with its sign.
// Number: the number, as a LONGLONG.
// Width: in text; otherwise 0.
//

static
VOID
OutputWriteSigned(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_COLUMN Column,
    _In_ ULONGLONG Number,
    _In_ int Width
    )
{
    BOOLEAN IsNegative = (LONGLONG)Number < 0;
    ULONGLONG Magnitude = IsNegative ? 0 - Number : Number;
    RTL_WRITER Writer;
    CHAR Text[32];
    ULONG Skip = 0;
    ULONG Length;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (Column->Type == ReaderColumnSigned) {
        RtlWriteText(&Writer, "%llu", Magnitude);
    } else if (Output->Format == ReaderFormatText) {
        OutputWriteTime(&Writer, Output->Clock, Magnitude);
    } else {
        CoreTicksToNanoseconds(Output->Clock, Magnitude, &Magnitude);
        Magnitude -= Magnitude % CoreQueryGranularity(Output->Clock);
        RtlWriteText(&Writer, "%llu", Magnitude);
    }

    while (Skip < Writer.LengthInBytes && Text[Skip] == ' ') {
        Skip += 1;
    }

    Length = Writer.LengthInBytes - Skip;
    if ((ULONG)Width > Length + 1) {
        RtlWriteText(Output->Writer, "%*s", Width - (int)Length - 1, "");
    }

    //
    // In text, what grew has a sign, too.
    //

    if (IsNegative && Magnitude != 0) {
        RtlWriteText(Output->Writer, "-");
    } else if (Output->Format == ReaderFormatText) {
        RtlWriteText(Output->Writer, Magnitude != 0 ? "+" : " ");
    }

    RtlWriteBytes(Output->Writer, Text + Skip, Length);
}


_Use_decl_annotations_
VOID
OutputPutNumber(
    PREADER_OUTPUT Output,
    ULONGLONG Number
    )
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_COLUMN Column;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    PCSZ Quote = Output->Format == ReaderFormatJson ? "\"" : "";
    RTL_WRITER TimeWriter;
    CHAR Time[64];
    PCCORE_CLOCK Clock = Output->Clock;
    CORE_CLOCK Exact;
    ULONGLONG Value;
    ULONG Skip;
    int Width;

    Column = &Output->Table->Columns[Output->Column];
    if (Clock->Kind == TRACE_CLOCK_NONE &&
        (Column->Type == ReaderColumnTime ||
         Column->Type == ReaderColumnSignedTime)) {
        OutputPutNothing(Output);
        return;
    }

    if (!OutputBeginCell(Output, &Column)) {
        OutputEndCell(Output, Number, 0);
        return;
    }

    Width = 0;
    if (IsText && !Output->Table->IsList) {
        Width = (int)OutputQueryWidth(Output, Column);
    }

    switch (Column->Type) {

    case ReaderColumnCpuTime:
    case ReaderColumnExactTime:
        Exact = *Clock;
        Exact.Kind = TRACE_CLOCK_TSC;
        if (Column->Type == ReaderColumnCpuTime) {
            Exact.Ticks = 1;
            Exact.Nanoseconds = 100;
        }
        Clock = &Exact;
        // Fall through.

    case ReaderColumnTime:
        if (IsText && Output->Table->IsList) {

            //
            // Nothing stands below it to line up with.
            //

            RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
            OutputWriteTime(&TimeWriter, Clock, Number);
            Skip = 0;
            while (Skip < TimeWriter.LengthInBytes && Time[Skip] == ' ') {
                Skip += 1;
            }

            RtlWriteBytes(Writer,
                          Time + Skip,
                          TimeWriter.LengthInBytes - Skip);

        } else if (IsText) {

            RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
            OutputWriteTime(&TimeWriter, Clock, Number);
            OutputPutAligned(Writer, &TimeWriter, Width);
        } else {
            CoreTicksToNanoseconds(Clock, Number, &Value);
            RtlWriteText(Writer,
                         "%llu",
                         Value - Value % CoreQueryGranularity(Clock));
        }
        break;

    case ReaderColumnBytes:
        if (!IsText || Clock->IsRaw) {
            RtlWriteText(Writer, "%*llu", Width, Number);
            break;
        }

        RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
        OutputWriteSize(&TimeWriter, Number);
        OutputPutAligned(Writer, &TimeWriter, Width);
        break;

    case ReaderColumnHexadecimal:
        if (IsText && Width > 2) {
            RtlWriteText(Writer, "0x%0*llx", Width - 2, Number);
        } else {
            RtlWriteText(Writer, "%s0x%llx%s", Quote, Number, Quote);
        }
        break;

    case ReaderColumnExitCode:
        if (IsText) {
            RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
            BaseDescribeExit(&TimeWriter,
                             (ULONG)Number,
                             Output->Table->IsList);
            OutputPutAligned(Writer, &TimeWriter, Width);
        } else {
            RtlWriteText(Writer, "%llu", Number);
        }
        break;

    case ReaderColumnHundredths:
        RtlWriteText(Writer,
                     "%*llu.%02llu",
                     Width > 3 ? Width - 3 : 0,
                     Number / 100,
                     Number % 100);
        break;

    case ReaderColumnSigned:
    case ReaderColumnSignedTime:
        OutputWriteSigned(Output, Column, Number, Width);
        break;

    case ReaderColumnDate:
        RtlWriteText(Writer, "%s", Quote);
        OutputWriteDate(Writer, Number);
        RtlWriteText(Writer, "%s", Quote);
        break;

    default:
        RtlWriteText(Writer, "%*llu", Width, Number);
        break;
    }

    OutputEndCell(Output, Number, 0);
}


_Use_decl_annotations_
VOID
OutputPutNothing(
    PREADER_OUTPUT Output
    )
{
    PREADER_OUTPUT This = Output;
    PCREADER_COLUMN Column;
    int Width;

    if (OutputBeginCell(This, &Column)) {

        if (This->Format == ReaderFormatJson) {
            RtlWriteText(This->Writer, "null");
        } else if (This->Format == ReaderFormatText) {
            Width = 0;
            if (!This->Table->IsList) {
                Width = (int)OutputQueryWidth(This, Column);
            }
            if (READER_IS_TEXT_COLUMN(Column)) {
                Width = This->Column + 1 == This->Table->NumberOfColumns
                            ? 0
                            : -Width;
            }
            RtlWriteText(This->Writer,
                         Width < 0 ? "%-*s" : "%*s",
                         Width < 0 ? -Width : Width,
                         "-");
        }
    }

    OutputEndCell(This, 0, 0);
}


_Use_decl_annotations_
VOID
OutputPutNote(
    PREADER_OUTPUT Output,
    PCSZ Line
    )
{
    if (Output->Format != ReaderFormatText) {
        return;
    }

    if (Output->Writer->Layout != NULL) {
        OutputWriteWrapped((PREADER_GRID)Output->Writer->Layout,
                           Output->Writer,
                           Line);
    } else {
        RtlWriteText(Output->Writer, "%s\n", Line);
    }
}


_Use_decl_annotations_
VOID
OutputBeginNote(
    PREADER_NOTE Note
    )
{
    RtlInitializeBufferWriter(&Note->Writer,
                              Note->Text,
                              sizeof(Note->Text) - 1);
}


_Use_decl_annotations_
VOID
OutputEndNote(
    PREADER_OUTPUT Output,
    PREADER_NOTE Note
    )
{
    Note->Text[Note->Writer.LengthInBytes] = 0;
    OutputPutNote(Output, Note->Text);
}


_Use_decl_annotations_
VOID
OutputPutMore(
    PREADER_OUTPUT Output,
    ULONGLONG Count,
    PCSZ What
    )
{
    if (Count != 0 && Output->Format == ReaderFormatText) {
        RtlWriteText(Output->Writer,
                     "(%llu %s%s more: --limit)\n",
                     Count,
                     What,
                     Count == 1 ? "" : "s");
    }
}


_Use_decl_annotations_
PCSZ
OutputDescribeClock(
    PCCORE_CLOCK Clock
    )
{
    switch (Clock->Kind) {

    case TRACE_CLOCK_THREAD:
        return "thread";

    case TRACE_CLOCK_NONE:
        return "none";

    default:
        return "tsc";
    }
}
