/*++

Module Name:

    CommandHelp.c

Abstract:

    What --help and --schema write, from the rows of the commands, their
    options, tables and columns.  `make docs` keeps it in Docs.

--*/

#include "CommandOptions.h"

#define READER_HELP_WIDTH 79
#define READER_HELP_OPTION_WIDTH 22
#define READER_HELP_FIELD_WIDTH 26


//
// Writes a text from a column of its own on, in lines of whole words.
// Column: where the line is now.
// Indent: where the text begins.
//

static
VOID
CommandWriteWrapped(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG Column,
    _In_ ULONG Indent,
    _In_z_ PCSZ Text
    )
{
    ULONG Length;

    if (Column >= Indent) {
        RtlWriteText(Writer, "\n");
        Column = 0;
    }

    RtlWriteText(Writer, "%*s", (int)(Indent - Column), "");
    Column = Indent;
    while (Text[0] != 0) {

        Length = 0;
        while (Text[Length] != 0 && Text[Length] != ' ') {
            Length += 1;
        }

        if (Column != Indent) {
            if (Column + 1 + Length > READER_HELP_WIDTH) {
                RtlWriteText(Writer, "\n%*s", (int)Indent, "");
                Column = Indent;
            } else {
                RtlWriteText(Writer, " ");
                Column += 1;
            }
        }

        RtlWriteText(Writer, "%.*s", (int)Length, Text);
        Column += Length;
        Text += Length;
        while (Text[0] == ' ') {
            Text += 1;
        }
    }

    RtlWriteText(Writer, "\n");
}


//
// Writes one option's line.
// Name: the option's name without the dashes.
// Value: what its value is called, or NULL.
// Description: what it does.
//

static
VOID
CommandWriteOptionHelp(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_opt_z_ PCSZ Value,
    _In_z_ PCSZ Description
    )
{
    ULONG Length = 4 + RtlLengthOfString(Name);

    if (Value != NULL) {
        Length += 1 + RtlLengthOfString(Value);
    }

    RtlWriteText(Writer,
                 "  --%s%s%s",
                 Name,
                 Value != NULL ? " " : "",
                 Value != NULL ? Value : "");
    CommandWriteWrapped(Writer, Length, READER_HELP_OPTION_WIDTH, Description);
}


//
// Is it a column of CSV and JSON?
//

static
BOOLEAN
CommandIsField(
    _In_ PCREADER_COLUMN Column
    )
{
    return Column->Meaning != NULL && Column->Field[0] != 0;
}


//
// What the name of a time's field ends with.
//

static
PCSZ
CommandQuerySuffix(
    _In_ PCREADER_COLUMN Column
    )
{
    return READER_IS_TIME_COLUMN(Column) ? "_ns" : "";
}


static
VOID
CommandWriteTablesHelp(
    _Inout_ PRTL_WRITER Writer,
    _In_ const PCREADER_TABLE *Tables
    )
{
    PCREADER_TABLE Table;
    PCREADER_COLUMN Column;
    PCSZ Suffix;
    ULONG Index;
    ULONG Length;

    for (; *Tables != NULL; Tables += 1) {

        Table = *Tables;
        RtlWriteText(Writer, "\n  %s", Table->Name);
        CommandWriteWrapped(Writer,
                            2 + RtlLengthOfString(Table->Name),
                            4 + RtlLengthOfString(Table->Name),
                            Table->Meaning);
        for (Index = 0; Index < Table->NumberOfColumns; Index++) {

            Column = &Table->Columns[Index];
            if (!CommandIsField(Column)) {
                continue;
            }

            Suffix = CommandQuerySuffix(Column);
            Length = RtlLengthOfString(Column->Field) +
                     RtlLengthOfString(Suffix);
            RtlWriteText(Writer, "    %s%s", Column->Field, Suffix);
            CommandWriteWrapped(Writer,
                                4 + Length,
                                READER_HELP_FIELD_WIDTH,
                                Column->Meaning);
        }
    }
}


_Use_decl_annotations_
VOID
CommandWriteHelp(
    PRTL_WRITER Writer,
    PCREADER_COMMAND Command
    )
{
    ULONG Index;

    if (Command == NULL) {

        RtlWriteText(Writer,
                     "usage: TraceReader COMMAND [OPTIONS] [PATH]\n"
                     "       TraceReader run [SETTINGS] PROGRAM "
                     "[ARGUMENT...]\n\n"
                     "Reads what Tracer recorded.  PATH is a session "
                     "directory or one store in it\n(*" TRACE_FILE_SUFFIX
                     "), or a directory that contains sessions of several "
                     "processes;\nthe traced programs may still be "
                     "running.\nWithout PATH it is the newest session; @2 is "
                     "the one before that, NAME the newest\nof a program.\n\n"
                     "Commands:\n");
        for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
            RtlWriteText(Writer,
                         "  %-8s  %s\n",
                         ReaderCommands[Index]->Name,
                         ReaderCommands[Index]->Summary);
        }

        RtlWriteText(Writer,
                     "\nTraceReader COMMAND --help lists a command's "
                     "options, the fields of its CSV and\nJSON, and examples.  "
                     "TraceReader --schema writes the JSON Schema of what\n"
                     "--json writes.  TraceReader --version says which version "
                     "it is\nand which stores it reads.\n\n"
                     "Exit codes: 0 success; 1 usage error, or something "
                     "could not be read;\n2 verify or recover found something "
                     "bad or lost; 3 nothing to show: --function or\n--exclude "
                     "leave no function, or none has the name that was "
                     "given.\n");
        return;
    }

    RtlWriteText(Writer,
                 "usage: TraceReader %s [OPTIONS] %s\n\n%s.\n\nOptions:\n",
                 Command->Name,
                 Command->Arguments,
                 Command->Summary);
    for (Index = 0; Index < ReaderNumberOfOptions; Index++) {

        PCREADER_OPTION Option = &ReaderOptionList[Index];

        if ((Command->Options & Option->Flag) != 0) {
            CommandWriteOptionHelp(Writer,
                                   Option->Name,
                                   Option->Value,
                                   Option->Description);
        }
    }

    CommandWriteOptionHelp(Writer, "help", NULL, "this text");
    if (Command->Notes[0] != 0) {
        RtlWriteText(Writer, "\n%s", Command->Notes);
    }

    if (Command->Tables != NULL) {
        RtlWriteText(Writer, "\nFields of CSV and JSON, by table:\n");
        CommandWriteTablesHelp(Writer, Command->Tables);
    }

    if (Command->StaticTables != NULL) {
        RtlWriteText(Writer, "\nWith --static:\n");
        CommandWriteTablesHelp(Writer, Command->StaticTables);
    }

    RtlWriteText(Writer, "\nExamples:\n%s", Command->Examples);
}


//
// JSON's name for the type of a column's values.
//

static
PCSZ
CommandQueryJsonType(
    _In_ PCREADER_COLUMN Column
    )
{
    switch (Column->Type) {

    case ReaderColumnText:
    case ReaderColumnHexadecimal:
    case ReaderColumnDate:
    case ReaderColumnProcess:
        return "string";

    case ReaderColumnHundredths:
        return "number";

    default:
        return "integer";
    }
}


//
// Does every object of the table have the field?
//

static
BOOLEAN
CommandIsRequired(
    _In_ PCREADER_COLUMN Column
    )
{
    return (Column->Flags & READER_COLUMN_OPTIONAL) == 0 &&
           Column->Type != ReaderColumnProcessId &&
           Column->Type != ReaderColumnProcess;
}


static
VOID
CommandWriteTableSchema(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_TABLE Table
    )
{
    PCREADER_COLUMN Column;
    PCSZ Type;
    PCSZ Separator = "";
    ULONG Index;

    RtlWriteText(Writer,
                 ",\n    \"%s\": {\n"
                 "     \"type\": \"array\",\n"
                 "     \"description\": \"%s\",\n"
                 "     \"items\": {\n"
                 "      \"type\": \"object\",\n"
                 "      \"properties\": {",
                 Table->Name,
                 Table->Meaning);
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        Column = &Table->Columns[Index];
        if (!CommandIsField(Column)) {
            continue;
        }

        Type = CommandQueryJsonType(Column);
        RtlWriteText(Writer,
                     "%s\n       \"%s%s\": {\n        \"type\": ",
                     Separator,
                     Column->Field,
                     CommandQuerySuffix(Column));
        if ((Column->Flags & READER_COLUMN_NULLABLE) != 0) {
            RtlWriteText(Writer, "[\"%s\", \"null\"]", Type);
        } else {
            RtlWriteText(Writer, "\"%s\"", Type);
        }

        RtlWriteText(Writer,
                     ",\n        \"description\": \"%s\"\n       }",
                     Column->Meaning);
        Separator = ",";
    }

    RtlWriteText(Writer, "\n      },\n      \"required\": [");
    Separator = "";
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        Column = &Table->Columns[Index];
        if (CommandIsField(Column) && CommandIsRequired(Column)) {
            RtlWriteText(Writer,
                         "%s\"%s%s\"",
                         Separator,
                         Column->Field,
                         CommandQuerySuffix(Column));
            Separator = ", ";
        }
    }

    RtlWriteText(Writer,
                 "],\n"
                 "      \"additionalProperties\": false\n"
                 "     }\n"
                 "    }");
}


//
// Writes the schema of one kind of document.
// More: what comes after the command's name in the title; may be "".
//

static
VOID
CommandWriteDocumentSchema(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Separator,
    _In_ PCREADER_COMMAND Command,
    _In_z_ PCSZ More,
    _In_ const PCREADER_TABLE *Tables
    )
{
    ULONG Index;

    RtlWriteText(Writer,
                 "%s\n  {\n"
                 "   \"title\": \"%s%s\",\n"
                 "   \"type\": \"object\",\n"
                 "   \"properties\": {\n"
                 "    \"command\": { \"const\": \"%s\" },\n"
                 "    \"time_unit\": { \"$ref\": \"#/$defs/time_unit\" },\n"
                 "    \"clock\": { \"$ref\": \"#/$defs/clock\" }",
                 Separator,
                 Command->Name,
                 More,
                 Command->Name);
    for (Index = 0; Tables[Index] != NULL; Index++) {
        CommandWriteTableSchema(Writer, Tables[Index]);
    }

    RtlWriteText(Writer,
                 "\n   },\n"
                 "   \"required\": [\"command\", \"time_unit\", \"clock\"");
    for (Index = 0; Tables[Index] != NULL; Index++) {
        if (!Tables[Index]->IsOptional) {
            RtlWriteText(Writer, ", \"%s\"", Tables[Index]->Name);
        }
    }

    RtlWriteText(Writer,
                 "],\n"
                 "   \"additionalProperties\": false\n"
                 "  }");
}


_Use_decl_annotations_
VOID
CommandWriteSchema(
    PRTL_WRITER Writer
    )
{
    PCREADER_COMMAND Command;
    PCSZ Separator = "";
    ULONG Index;

    RtlWriteText(
        Writer,
        "{\n"
        " \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
        " \"title\": \"What TraceReader COMMAND --json writes\",\n"
        " \"description\": \"One JSON object in UTF-8; the property command "
        "says which of the kinds it is. Numbers are whole. Times are "
        "nanoseconds and their names end in _ns; while the rate of the time "
        "stamp counter is not known (time_unit is ticks) these names end in "
        "_ticks instead and the numbers are ticks. A time is null where there "
        "is none (clock none). Text from the traced program is escaped where "
        "it is not printable (Docs/Reader.md); ill-formed bytes become "
        "U+FFFD. Names of functions and source files have a question mark for "
        "each byte of such characters.\",\n"
        " \"oneOf\": [");
    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {

        Command = ReaderCommands[Index];
        if (Command->Tables == NULL) {
            continue;
        }

        CommandWriteDocumentSchema(Writer,
                                   Separator,
                                   Command,
                                   "",
                                   Command->Tables);
        Separator = ",";
        if (Command->StaticTables != NULL) {
            CommandWriteDocumentSchema(Writer,
                                       Separator,
                                       Command,
                                       " --static",
                                       Command->StaticTables);
        }
    }

    RtlWriteText(
        Writer,
        "\n ],\n"
        " \"$defs\": {\n"
        "  \"time_unit\": {\n"
        "   \"enum\": [\"ns\", \"ticks\"],\n"
        "   \"description\": \"ns, or ticks: the stores hold no two readings "
        "of the clocks that give the counter's rate.\"\n"
        "  },\n"
        "  \"clock\": {\n"
        "   \"enum\": [\"tsc\", \"thread\", \"none\"],\n"
        "   \"description\": \"The source of the time stamps: tsc, the time "
        "stamp counter; thread, a clock thread (times are rounded down to its "
        "step); none, no times.\"\n"
        "  }\n"
        " }\n"
        "}\n");
}
