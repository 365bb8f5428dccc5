/*++

Module Name:

    ReaderTable.c

Abstract:

    Tables as text, CSV (RFC 4180) and JSON (RFC 8259).  Rows are written as
    they come; nothing is kept.

    Text that comes from the traced process is cleaned: bytes that are not
    UTF-8 become U+FFFD, and control characters do not reach the terminal.

--*/

#include "Reader.h"

#define READER_REPLACEMENT_CHARACTER "\xEF\xBF\xBD"

//
// Text output shows this many levels of indentation and a number beyond them.
//

#define READER_MAXIMUM_INDENTATION 60


static
ULONG
ReaderMeasureCharacter(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Measures the UTF-8 character that a text begins with.

Arguments:

    Text - The text.

    LengthInBytes - Its length, not 0.

Return Value:

    1 to 4 bytes; 0 if the first byte begins no well-formed character.

--*/
{
    const UCHAR *Bytes = (const UCHAR *)Text;
    UCHAR First = Bytes[0];
    UCHAR LowestSecond = 0x80;
    UCHAR HighestSecond = 0xBF;
    ULONG Length;
    ULONG Index;

    if (First < 0x80) {
        return 1;
    }

    //
    // The second byte's range excludes overlong forms, surrogates and what is
    // beyond U+10FFFF (Unicode, table 3-7).
    //

    if (First >= 0xC2 && First <= 0xDF) {
        Length = 2;
    } else if (First >= 0xE0 && First <= 0xEF) {
        Length = 3;
        if (First == 0xE0) {
            LowestSecond = 0xA0;
        } else if (First == 0xED) {
            HighestSecond = 0x9F;
        }
    } else if (First >= 0xF0 && First <= 0xF4) {
        Length = 4;
        if (First == 0xF0) {
            LowestSecond = 0x90;
        } else if (First == 0xF4) {
            HighestSecond = 0x8F;
        }
    } else {
        return 0;
    }

    if (Length > LengthInBytes ||
        Bytes[1] < LowestSecond ||
        Bytes[1] > HighestSecond) {
        return 0;
    }

    for (Index = 2; Index < Length; Index++) {
        if (Bytes[Index] < 0x80 || Bytes[Index] > 0xBF) {
            return 0;
        }
    }

    return Length;
}


static
ULONG
ReaderMeasureText(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Counts the characters that a text is written as.

Arguments:

    Text, LengthInBytes - The text.

Return Value:

    The number of characters.

--*/
{
    ULONG Count = 0;
    ULONG Index = 0;

    while (Index < LengthInBytes) {

        ULONG Length = ReaderMeasureCharacter(Text + Index,
                                              LengthInBytes - Index);

        Index += Length == 0 ? 1 : Length;
        Count += 1;
    }

    return Count;
}


static
VOID
ReaderWriteEncoded(
    _Inout_ PRTL_WRITER Writer,
    _In_ READER_FORMAT Format,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a text as its format wants it, without quotes around it.

Arguments:

    Writer - Where to write.

    Format - Text: control characters become '?'.  CSV: quotes are doubled.
        JSON: quotes, backslashes and control characters are escaped.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    ULONG Begin = 0;
    ULONG Index = 0;

    //
    // Runs of ordinary bytes are written at once.
    //

    while (Index < LengthInBytes) {

        UCHAR Byte = (UCHAR)Text[Index];
        ULONG Length = ReaderMeasureCharacter(Text + Index,
                                              LengthInBytes - Index);

        //
        // C2 and a byte below A0 are the control characters U+0080 to U+009F,
        // whose number is that of the second byte.
        //

        if (Length == 2 && Byte == 0xC2 && (UCHAR)Text[Index + 1] < 0xA0 &&
            Format != ReaderFormatCsv) {
            Byte = (UCHAR)Text[Index + 1];
        } else if (Length > 1 ||
                   (Length == 1 && Byte >= 0x20 && Byte != 0x7F &&
                    Byte != '"' && Byte != '\\')) {
            Index += Length;
            continue;
        }

        RtlWriteBytes(Writer, Text + Begin, Index - Begin);
        Index += Length == 0 ? 1 : Length;
        Begin = Index;

        if (Length == 0) {
            RtlWriteText(Writer, "%s", READER_REPLACEMENT_CHARACTER);
        } else if (Format == ReaderFormatJson) {
            if (Byte == '"' || Byte == '\\') {
                RtlWriteText(Writer, "\\%c", Byte);
            } else {
                RtlWriteText(Writer, "\\u%04x", (ULONG)Byte);
            }
        } else if (Format == ReaderFormatCsv) {
            RtlWriteText(Writer, Byte == '"' ? "\"\"" : "%c", Byte);
        } else {
            RtlWriteText(Writer,
                         "%c",
                         Byte == '"' || Byte == '\\' ? Byte : '?');
        }
    }

    RtlWriteBytes(Writer, Text + Begin, Index - Begin);
}


_Use_decl_annotations_
VOID
ReaderWriteCleanText(
    PRTL_WRITER Writer,
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a text that a traced process made.

Arguments:

    Writer - Where to write.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    ReaderWriteEncoded(Writer, ReaderFormatText, Text, LengthInBytes);
}


static
VOID
ReaderWriteCsvText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a text as a CSV field, in quotes if it needs them.

Arguments:

    Writer - Where to write.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    BOOLEAN NeedsQuotes = FALSE;
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if (Text[Index] == '"' || Text[Index] == ',' ||
            Text[Index] == '\r' || Text[Index] == '\n') {
            NeedsQuotes = TRUE;
            break;
        }
    }

    if (NeedsQuotes) {
        RtlWriteText(Writer, "\"");
    }

    ReaderWriteEncoded(Writer, ReaderFormatCsv, Text, LengthInBytes);
    if (NeedsQuotes) {
        RtlWriteText(Writer, "\"");
    }
}


_Use_decl_annotations_
VOID
ReaderWriteTime(
    PRTL_WRITER Writer,
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks
    )
/*++

Routine Description:

    Writes a time in the unit that suits it.

Arguments:

    Writer - Where to write.

    Clock - The clock; when its rate is not known the ticks are written.

    Ticks - The time.

Return Value:

    None.

--*/
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
ReaderWriteSize(
    PRTL_WRITER Writer,
    ULONGLONG Bytes
    )
/*++

Routine Description:

    Writes a number of bytes in the unit that suits it.

Arguments:

    Writer - Where to write.

    Bytes - The number.

Return Value:

    None.

--*/
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


static
ULONG
ReaderQueryWidth(
    _In_ const READER_OUTPUT *Output,
    _In_ PCREADER_COLUMN Column
    )
/*++

Routine Description:

    Says how wide a column is in text.

Arguments:

    Output - The output.

    Column - The column.

Return Value:

    Characters.

--*/
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


static
VOID
ReaderWriteDate(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG SystemTime
    )
/*++

Routine Description:

    Writes a date and time of day (ISO 8601, UTC).

Arguments:

    Writer - Where to write.

    SystemTime - A FILETIME.

Return Value:

    None.

--*/
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


static
PCSZ
ReaderTimeSuffix(
    _In_ const READER_OUTPUT *Output,
    _In_ PCREADER_COLUMN Column
    )
/*++

Routine Description:

    What a column's field name ends with.

Arguments:

    Output - The output.

    Column - The column.

Return Value:

    "_ns" or "_ticks" for times, otherwise "".

--*/
{
    if (Column->Type != ReaderColumnTime &&
        Column->Type != ReaderColumnSignedTime &&
        Column->Type != ReaderColumnExactTime) {
        return "";
    }

    return Output->Clock->Ticks != 0 ? "_ns" : "_ticks";
}


_Use_decl_annotations_
VOID
ReaderBeginDocument(
    PREADER_OUTPUT Output,
    PRTL_WRITER Writer,
    READER_FORMAT Format,
    PCCORE_CLOCK Clock,
    PCSZ Command,
    BOOLEAN HasSeveralTables
    )
/*++

Routine Description:

    Begins a command's output.

Arguments:

    Output - Receives its state.

    Writer - Where it goes.

    Format - Its format.

    Clock - For times.

    Command - The command's name.

    HasSeveralTables - CSV has one header line, so several tables become rows
        of table, row, field and value.

Return Value:

    None.

--*/
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
                     ReaderDescribeClock(Clock));
    } else if (Output->IsLongCsv) {
        RtlWriteText(Writer, "table,row,field,value\r\n");
    }
}


_Use_decl_annotations_
VOID
ReaderEndDocument(
    PREADER_OUTPUT Output
    )
/*++

Routine Description:

    Ends a command's output.

Arguments:

    Output - The output.

Return Value:

    None.

--*/
{
    if (Output->Format == ReaderFormatJson) {
        RtlWriteText(Output->Writer, "\n}\n");
    }
}


static
BOOLEAN
ReaderIsColumnAbsent(
    _In_ const READER_OUTPUT *Output,
    _In_ PCREADER_COLUMN Column
    )
/*++

Routine Description:

    Decides whether an output lacks a column in every format.

Arguments:

    Output - The output.

    Column - The column.

Return Value:

    TRUE if it is one of processes, and there is one alone.

--*/
{
    return !Output->HasProcesses &&
           (Column->Type == ReaderColumnProcess ||
            Column->Type == ReaderColumnProcessId);
}


_Use_decl_annotations_
VOID
ReaderBeginTable(
    PREADER_OUTPUT Output,
    PCREADER_TABLE Table,
    ULONGLONG HiddenColumns
    )
/*++

Routine Description:

    Begins a table and writes its head.

Arguments:

    Output - The output.

    Table - The table.

    HiddenColumns - Bit N set: text output leaves column N out.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_COLUMN Column;
    BOOLEAN IsFirst;
    ULONG Index;

    Output->Table = Table;
    Output->HiddenColumns = HiddenColumns;
    Output->Column = 0;
    Output->NumberOfRows = 0;

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
            if (ReaderIsColumnAbsent(Output, Column)) {
                continue;
            }

            RtlWriteText(Writer,
                         "%s%s%s",
                         Index != 0 ? "," : "",
                         Column->Field,
                         ReaderTimeSuffix(Output, Column));
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

        IsFirst = TRUE;
        for (Index = 0; Index < Table->NumberOfColumns; Index++) {

            Column = &Table->Columns[Index];
            if ((HiddenColumns & (1ULL << Index)) != 0 ||
                ReaderIsColumnAbsent(Output, Column)) {
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
                                 : (int)ReaderQueryWidth(Output, Column),
                             Column->Title);
            } else {
                RtlWriteText(Writer,
                             "%*s",
                             (int)ReaderQueryWidth(Output, Column),
                             Column->Title);
            }

            IsFirst = FALSE;
        }

        RtlWriteText(Writer, "\n");
        break;
    }

    Output->NumberOfTables += 1;
}


_Use_decl_annotations_
VOID
ReaderEndTable(
    PREADER_OUTPUT Output
    )
/*++

Routine Description:

    Ends a table.

Arguments:

    Output - The output.

Return Value:

    None.

--*/
{
    if (Output->Format == ReaderFormatJson) {
        RtlWriteText(Output->Writer, "\n]");
    }

    Output->Table = NULL;
}


static
BOOLEAN
ReaderBeginCell(
    _Inout_ PREADER_OUTPUT Output,
    _Out_ PCREADER_COLUMN *Column
    )
/*++

Routine Description:

    Writes what goes before a cell.

Arguments:

    Output - The output.

    Column - Receives the cell's column.

Return Value:

    FALSE if the cell is not to be written.

--*/
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_TABLE Table = Output->Table;
    BOOLEAN IsFirst = TRUE;
    ULONG Index;

    *Column = &Table->Columns[Output->Column];
    if (ReaderIsColumnAbsent(Output, *Column)) {
        return FALSE;
    }

    //
    // The columns before it may be absent.
    //

    for (Index = 0; IsFirst && Index < Output->Column; Index++) {
        IsFirst = ReaderIsColumnAbsent(Output, &Table->Columns[Index]);
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
                     ReaderTimeSuffix(Output, *Column));
        return TRUE;

    case ReaderFormatCsv:
        if (Output->IsLongCsv) {
            RtlWriteText(Writer,
                         "%s,%llu,%s%s,",
                         Table->Name,
                         Output->NumberOfRows,
                         (*Column)->Field,
                         ReaderTimeSuffix(Output, *Column));
        } else if (!IsFirst) {
            RtlWriteText(Writer, ",");
        }

        return TRUE;

    default:
        if ((Output->HiddenColumns & (1ULL << Output->Column)) != 0) {
            return FALSE;
        }

        if (Table->IsList) {
            RtlWriteText(Writer, "%-18s  ", (*Column)->Title);
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


static
VOID
ReaderEndCell(
    _Inout_ PREADER_OUTPUT Output
    )
/*++

Routine Description:

    Writes what goes after a cell, and after the last one of a row.

Arguments:

    Output - The output.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Output->Writer;
    BOOLEAN IsAbsent;
    BOOLEAN IsHidden;

    IsAbsent = ReaderIsColumnAbsent(Output,
                                    &Output->Table->Columns[Output->Column]);
    IsHidden = IsAbsent ||
               (Output->HiddenColumns & (1ULL << Output->Column)) != 0;
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
            RtlWriteText(Writer, ",%s", ReaderDescribeClock(Output->Clock));
        }

        RtlWriteText(Writer, "\r\n");
        break;

    default:
        if (!Output->Table->IsList) {
            RtlWriteText(Writer, "\n");
        }
        break;
    }
}


_Use_decl_annotations_
VOID
ReaderPutIndentedText(
    PREADER_OUTPUT Output,
    ULONG Depth,
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a text cell.

Arguments:

    Output - The output.

    Depth - Levels of indentation, of two columns each, in text output.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_COLUMN Column;
    ULONG Length;

    if (ReaderBeginCell(Output, &Column)) {

        switch (Output->Format) {

        case ReaderFormatJson:
            RtlWriteText(Writer, "\"");
            ReaderWriteEncoded(Writer,
                               ReaderFormatJson,
                               Text,
                               LengthInBytes);
            RtlWriteText(Writer, "\"");
            break;

        case ReaderFormatCsv:
            ReaderWriteCsvText(Writer, Text, LengthInBytes);
            break;

        default:
            if (Depth > READER_MAXIMUM_INDENTATION) {
                RtlWriteText(Writer,
                             "%*s[%u] ",
                             2 * READER_MAXIMUM_INDENTATION,
                             "",
                             Depth);
            } else {
                RtlWriteText(Writer, "%*s", (int)(2 * Depth), "");
            }

            ReaderWriteEncoded(Writer,
                               ReaderFormatText,
                               Text,
                               LengthInBytes);
            if (!Output->Table->IsList &&
                Output->Column + 1 != Output->Table->NumberOfColumns) {
                Length = ReaderMeasureText(Text, LengthInBytes) + 2 * Depth;
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

    ReaderEndCell(Output);
}


_Use_decl_annotations_
VOID
ReaderPutText(
    PREADER_OUTPUT Output,
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a text cell.

Arguments:

    Output - The output.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    ReaderPutIndentedText(Output, 0, Text, LengthInBytes);
}


_Use_decl_annotations_
VOID
ReaderPutString(
    PREADER_OUTPUT Output,
    PCSZ String
    )
/*++

Routine Description:

    Writes a text cell.

Arguments:

    Output - The output.

    String - The text, terminated.

Return Value:

    None.

--*/
{
    ReaderPutIndentedText(Output, 0, String, RtlLengthOfString(String));
}


static
VOID
ReaderPutAligned(
    _Inout_ PRTL_WRITER Writer,
    _In_ const RTL_WRITER *Text,
    _In_ int Width
    )
/*++

Routine Description:

    Writes a text of ASCII to the right of its column.

Arguments:

    Writer - Where to write.

    Text - A writer that holds it.

    Width - The column's.

Return Value:

    None.

--*/
{
    int Length = (int)Text->LengthInBytes;

    if (Width > Length) {
        RtlWriteText(Writer, "%*s", Width - Length, "");
    }

    RtlWriteBytes(Writer, Text->Buffer, Text->LengthInBytes);
}


static
VOID
ReaderWriteSigned(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_COLUMN Column,
    _In_ ULONGLONG Number,
    _In_ int Width
    )
/*++

Routine Description:

    Writes a number or a time with its sign.

Arguments:

    Output - The output.

    Column - The column.

    Number - The number, as a LONGLONG.

    Width - In text; otherwise 0.

Return Value:

    None.

--*/
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
        ReaderWriteTime(&Writer, Output->Clock, Magnitude);
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
ReaderPutNumber(
    PREADER_OUTPUT Output,
    ULONGLONG Number
    )
/*++

Routine Description:

    Writes a cell that is not text.

Arguments:

    Output - The output.

    Number - A number, ticks or a FILETIME, as the column's type says.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Output->Writer;
    PCREADER_COLUMN Column;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    PCSZ Quote = Output->Format == ReaderFormatJson ? "\"" : "";
    RTL_WRITER TimeWriter;
    CHAR Time[32];
    PCCORE_CLOCK Clock = Output->Clock;
    CORE_CLOCK Exact;
    ULONGLONG Value;
    ULONG Skip;
    int Width;

    Column = &Output->Table->Columns[Output->Column];
    if (Clock->Kind == TRACE_CLOCK_NONE &&
        (Column->Type == ReaderColumnTime ||
         Column->Type == ReaderColumnSignedTime)) {
        ReaderPutNothing(Output);
        return;
    }

    if (!ReaderBeginCell(Output, &Column)) {
        ReaderEndCell(Output);
        return;
    }

    Width = 0;
    if (IsText && !Output->Table->IsList) {
        Width = (int)ReaderQueryWidth(Output, Column);
    }

    switch (Column->Type) {

    case ReaderColumnExactTime:
        Exact = *Clock;
        Exact.Kind = TRACE_CLOCK_TSC;
        Clock = &Exact;
        // Fall through.

    case ReaderColumnTime:
        if (IsText && Output->Table->IsList) {

            //
            // Nothing stands below it to line up with.
            //

            RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
            ReaderWriteTime(&TimeWriter, Clock, Number);
            Skip = 0;
            while (Skip < TimeWriter.LengthInBytes && Time[Skip] == ' ') {
                Skip += 1;
            }

            RtlWriteBytes(Writer,
                          Time + Skip,
                          TimeWriter.LengthInBytes - Skip);

        } else if (IsText) {

            RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
            ReaderWriteTime(&TimeWriter, Clock, Number);
            ReaderPutAligned(Writer, &TimeWriter, Width);
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
        ReaderWriteSize(&TimeWriter, Number);
        ReaderPutAligned(Writer, &TimeWriter, Width);
        break;

    case ReaderColumnHexadecimal:
        if (IsText && Width > 2) {
            RtlWriteText(Writer, "0x%0*llx", Width - 2, Number);
        } else {
            RtlWriteText(Writer, "%s0x%llx%s", Quote, Number, Quote);
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
        ReaderWriteSigned(Output, Column, Number, Width);
        break;

    case ReaderColumnDate:
        RtlWriteText(Writer, "%s", Quote);
        ReaderWriteDate(Writer, Number);
        RtlWriteText(Writer, "%s", Quote);
        break;

    default:
        RtlWriteText(Writer, "%*llu", Width, Number);
        break;
    }

    ReaderEndCell(Output);
}


_Use_decl_annotations_
VOID
ReaderPutNothing(
    PREADER_OUTPUT Output
    )
/*++

Routine Description:

    Writes a cell that has no value.

Arguments:

    Output - The output.

Return Value:

    None.

--*/
{
    PREADER_OUTPUT This = Output;
    PCREADER_COLUMN Column;
    int Width;

    if (ReaderBeginCell(This, &Column)) {

        if (This->Format == ReaderFormatJson) {
            RtlWriteText(This->Writer, "null");
        } else if (This->Format == ReaderFormatText) {
            Width = 0;
            if (!This->Table->IsList) {
                Width = (int)ReaderQueryWidth(This, Column);
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

    ReaderEndCell(This);
}


_Use_decl_annotations_
VOID
ReaderPutProcess(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    ULONG Process
    )
/*++

Routine Description:

    Writes the cells that say which process a row is of.

Arguments:

    Output - The output.

    Session - The session.

    Process - The process's index.

Return Value:

    None.

--*/
{
    PCREADER_PROCESS Known = &Session->Processes[Process];

    ReaderPutNumber(Output, Known->Header->ProcessId);
    ReaderPutText(Output, Known->Name, Known->NameLength);
}


_Use_decl_annotations_
VOID
ReaderPutNote(
    PREADER_OUTPUT Output,
    PCSZ Line
    )
/*++

Routine Description:

    Writes a line outside the tables in text output.

Arguments:

    Output - The output.

    Line - The line, without a line feed.

Return Value:

    None.

--*/
{
    if (Output->Format == ReaderFormatText) {
        RtlWriteText(Output->Writer, "%s\n", Line);
    }
}


_Use_decl_annotations_
VOID
ReaderPutMore(
    PREADER_OUTPUT Output,
    ULONGLONG Count,
    PCSZ What
    )
/*++

Routine Description:

    Says how many rows were left out.

Arguments:

    Output - The output, between tables.

    Count - How many; 0: nothing is said.

    What - What a row is of.

Return Value:

    None.

--*/
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
ReaderDescribeClock(
    PCCORE_CLOCK Clock
    )
/*++

Routine Description:

    Names a clock.

Arguments:

    Clock - The clock.

Return Value:

    A literal.

--*/
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


static
VOID
ReaderWriteTrimmedTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    )
/*++

Routine Description:

    Writes a time of the time stamp counter without blanks before it.

Arguments:

    Writer - Where to write.

    Clock - The session's.

    Ticks - The time.

Return Value:

    None.

--*/
{
    CORE_CLOCK Exact = *Clock;
    RTL_WRITER TimeWriter;
    CHAR Time[32];
    ULONG Skip = 0;

    Exact.Kind = TRACE_CLOCK_TSC;
    RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
    ReaderWriteTime(&TimeWriter, &Exact, Ticks);
    while (Skip < TimeWriter.LengthInBytes && Time[Skip] == ' ') {
        Skip += 1;
    }

    RtlWriteBytes(Writer, Time + Skip, TimeWriter.LengthInBytes - Skip);
    if (Clock->Ticks == 0) {
        RtlWriteText(Writer, " ticks");
    }
}


static
VOID
ReaderWriteThreadClock(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session
    )
/*++

Routine Description:

    Says what a clock thread's times are worth.

Arguments:

    Writer - Where to write.

    Session - The session.

Return Value:

    None.

--*/
{
    PCCORE_CLOCK Clock = &Session->Clock;

    RtlWriteText(Writer, "Times are those of a clock thread, in steps of ");
    if (Clock->Resolution != 0) {
        ReaderWriteTrimmedTime(Writer, Clock, Clock->Resolution);
    } else {
        RtlWriteText(Writer, "a size that is not known");
    }

    if (Session->NumberOfClockFreezes != 0) {
        RtlWriteText(Writer,
                     ".  It stood still %llu times, the longest for ",
                     Session->NumberOfClockFreezes);
        ReaderWriteTrimmedTime(Writer, Clock, Session->MaximumClockStep);
    }

    RtlWriteText(Writer, ".\n");
}


static
VOID
ReaderWriteLeftOut(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session
    )
/*++

Routine Description:

    Says which calls were not kept while the session was recorded, because
    their time is in that of others.

Arguments:

    Writer - Where to write.

    Session - The session.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Session->Header;
    ULONGLONG Calls = 0;
    RTL_WRITER Time;
    CHAR Text[32];
    ULONG Index;
    ULONG Skip = 0;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (Session->Stores[Index]->Thread != READER_NONE) {
            Calls += Session->Stores[Index]->Header->NumberOfCallsTakenBack;
        }
    }

    if (Calls != 0) {

        RtlInitializeBufferWriter(&Time, Text, sizeof(Text));
        ReaderWriteTime(&Time, &Session->Clock, Header->MinimumDuration);
        while (Skip < Time.LengthInBytes && Text[Skip] == ' ') {
            Skip += 1;
        }

        RtlWriteText(Writer,
                     "TRACER_MIN_DURATION: %llu call%s that took less than ",
                     Calls,
                     Calls == 1 ? "" : "s");
        RtlWriteBytes(Writer, Text + Skip, Time.LengthInBytes - Skip);
        RtlWriteText(Writer,
                     " were taken back; their time is in the self time of "
                     "their callers.\n");
    }

    if (Header->MaximumDepth != 0) {
        RtlWriteText(Writer,
                     "TRACER_MAX_DEPTH: calls deeper than %u were not "
                     "recorded; their time is in the self time of those "
                     "above.\n",
                     Header->MaximumDepth);
    }
}


_Use_decl_annotations_
VOID
ReaderPutClockNote(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session
    )
/*++

Routine Description:

    Says what is to be known about the times, and what is in them that was not
    kept.

Arguments:

    Output - The output.

    Session - The session.

Return Value:

    None.

--*/
{
    if (Output->Format == ReaderFormatText) {
        ReaderWriteLeftOut(Output->Writer, Session);
    }

    if (Session->HasOther) {
        ReaderPutNote(Output,
                      "(other): calls of functions for which a tree had no "
                      "more room (TRACER_MAX_BYTES), and of what these "
                      "called.");
    }

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        ReaderPutNote(Output,
                      "There are no times: the clock was off.  Calls and "
                      "their order are right.");
        return;
    }

    if (Session->Clock.IsRaw && Session->Clock.Ticks != 0) {
        ReaderPutNote(Output, "Times are whole nanoseconds.");
    }

    if (Session->Clock.Kind == TRACE_CLOCK_THREAD &&
        Output->Format == ReaderFormatText) {
        ReaderWriteThreadClock(Output->Writer, Session);
    }

    if (Session->Clock.Ticks == 0) {
        ReaderPutNote(Output,
                      "Times are ticks of the time stamp counter: the stores "
                      "hold no two readings of the clocks.");
    } else if ((Session->Header->Flags & TRACE_FLAG_TSC_INVARIANT) == 0) {
        ReaderPutNote(Output,
                      "Times are approximate: the time stamp counter is not "
                      "invariant.");
    } else if (Session->Clock.Nanoseconds < READER_MINIMUM_CLOCK_SPAN) {
        ReaderPutNote(Output,
                      "Times are approximate: the readings of the clocks are "
                      "less than 10 ms apart.");
    }
}
