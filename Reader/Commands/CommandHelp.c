/*++

Module Name:

    CommandHelp.c

Abstract:

    What --help, --schema and --completions write, from the rows of the
    commands, their options, tables and columns.  `make docs` keeps it in Docs
    and in Packaging/Completions.

--*/

#include "../Base/BaseSettings.h"
#include "CommandOptions.h"

//
// All commands, in the order of the help.
//

const PCREADER_COMMAND ReaderCommands[] = {
    &ReaderRunCommand,
    &ReaderAttachCommand,
    &ReaderDetachCommand,
    &ReaderCollectCommand,
    &ReaderInfoCommand,
    &ReaderSessionsCommand,
    &ReaderReportCommand,
    &ReaderTreeCommand,
    &ReaderCallersCommand,
    &ReaderCalleesCommand,
    &ReaderOutliersCommand,
    &ReaderWaitsCommand,
    &ReaderHotCommand,
    &ReaderExcludeCommand,
    &ReaderStackCommand,
    &ReaderThreadsCommand,
    &ReaderModulesCommand,
    &ReaderDiffCommand,
    &ReaderReplayCommand,
    &ReaderLiveCommand,
    &ReaderCtlCommand,
    &ReaderViewCommand,
    &ReaderExportCommand,
    &ReaderSqlCommand,
    &ReaderVerifyCommand,
    &ReaderPackCommand,
    &ReaderUnpackCommand,
    &ReaderRecoverCommand,
};

const ULONG ReaderNumberOfCommands = RTL_NUMBER_OF(ReaderCommands);

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

    if (Command->Other != NULL) {
        RtlWriteText(Writer, "\nWith %s:\n", Command->Other->Option);
        CommandWriteTablesHelp(Writer, Command->Other->Tables);
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
// More: the option that comes after the command's name in the title; may be "".
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
                 "   \"title\": \"%s%s%s\",\n"
                 "   \"type\": \"object\",\n"
                 "   \"properties\": {\n"
                 "    \"command\": { \"const\": \"%s\" },\n"
                 "    \"time_unit\": { \"$ref\": \"#/$defs/time_unit\" },\n"
                 "    \"clock\": { \"$ref\": \"#/$defs/clock\" }",
                 Separator,
                 Command->Name,
                 More[0] != 0 ? " " : "",
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
        if (Command->Other != NULL) {
            CommandWriteDocumentSchema(Writer,
                                       Separator,
                                       Command,
                                       Command->Other->Option,
                                       Command->Other->Tables);
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


//
// Writes an option as the scripts have it: --NAME, with = if it takes a value,
// then the values that there are or what kind of path it is.
//

static
VOID
CommandWriteCompletion(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_OPTION Option
    )
{
    const PCSZ *Words;
    ULONG Index;

    RtlWriteText(Writer, "--%s", Option->Name);
    if (Option->Value == NULL) {
        return;
    }

    RtlWriteText(Writer, "=");
    switch (Option->Kind) {

    case ReaderOptionWord:
        for (Index = 0; Index < Option->NumberOfWords; Index++) {
            RtlWriteText(Writer,
                         "%s%s",
                         Index == 0 ? "" : ",",
                         READER_WORD(Option, Index));
        }

        break;

    case ReaderOptionWidth:
        RtlWriteText(Writer, "auto,none");
        break;

    case ReaderOptionSetting:
        Words = BaseSettings[Option->Minimum].Words;
        for (Index = 0; Words != NULL && Words[Index] != NULL; Index++) {
            RtlWriteText(Writer, "%s%s", Index == 0 ? "" : ",", Words[Index]);
        }

        break;

    default:
        break;
    }

    if (RtlAreStringsEqual(Option->Value, "FILE")) {
        RtlWriteText(Writer, "@file");
    } else if (RtlAreStringsEqual(Option->Value, "DIR") ||
               RtlAreStringsEqual(Option->Value, "PATHS")) {
        RtlWriteText(Writer, "@directory");
    }
}


//
// Writes a text between single quotes, as PowerShell reads it.
//

static
VOID
CommandWriteQuoted(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Text
    )
{
    ULONG Index;

    for (Index = 0; Text[Index] != 0; Index++) {
        RtlWriteText(Writer,
                     "%s%.*s",
                     Text[Index] == '\'' ? "'" : "",
                     1,
                     &Text[Index]);
    }
}


//
// Names the commands that have an option, if they are few.
//

#define COMMAND_NAMED_OWNERS 6

static
VOID
CommandWriteOwners(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Flag
    )
{
    ULONG Index;
    ULONG Named = 0;
    ULONG Number = 0;

    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        Number += (ReaderCommands[Index]->Options & Flag) != 0;
    }

    if (Number > COMMAND_NAMED_OWNERS) {
        RtlWriteText(Writer, ": other commands have it");
        return;
    }

    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        if ((ReaderCommands[Index]->Options & Flag) != 0) {
            RtlWriteText(Writer,
                         "%s%s",
                         Named == 0            ? ": "
                         : Named + 1 == Number ? " and "
                                               : ", ",
                         ReaderCommands[Index]->Name);
            Named += 1;
        }
    }

    RtlWriteText(Writer, Number == 1 ? " has it" : " have it");
}

_Use_decl_annotations_
VOID
CommandWriteUnknownOption(
    PCREADER_CONTEXT Context,
    PCREADER_COMMAND Command,
    PCSZ Argument
    )
{
    READER_NEAREST Nearest;
    PCSZ Name = Argument;
    ULONG Length = 0;
    ULONGLONG Owned = 0;
    ULONG Index;

    while (*Name == '-') {
        Name += 1;
    }

    while (Name[Length] != 0 && Name[Length] != '=' && Name[Length] != ':') {
        Length += 1;
    }

    BaseBeginNearest(&Nearest, Name);
    for (Index = 0; Index < ReaderNumberOfOptions; Index++) {
        if ((Command->Options & ReaderOptionList[Index].Flag) != 0) {
            BaseOfferNearest(&Nearest, ReaderOptionList[Index].Name);
        } else if (RtlLengthOfString(ReaderOptionList[Index].Name) == Length &&
                   RtlAreBytesEqual(ReaderOptionList[Index].Name,
                                    Name,
                                    Length)) {
            Owned = ReaderOptionList[Index].Flag;
        }
    }

    BaseOfferNearest(&Nearest, "help");
    RtlWriteText(Context->Errors,
                 "TraceReader: %s: unknown option %T",
                 Command->Name,
                 Argument);
    if (Owned != 0) {
        CommandWriteOwners(Context->Errors, Owned);
    } else if (Nearest.Best != NULL) {
        RtlWriteText(Context->Errors, ": did you mean --%s?", Nearest.Best);
    }

    RtlWriteText(Context->Errors,
                 " (see TraceReader %s --help)\n",
                 Command->Name);
    RtlFlushWriter(Context->Errors);
}

static
VOID
CommandWriteBash(
    _Inout_ PRTL_WRITER Writer
    )
{
    PCREADER_COMMAND Command;
    ULONG Index;
    ULONG Row;

    RtlWriteText(
        Writer,
        "# Completes what is typed after TraceReader, in bash:\n"
        "#\n"
        "#     source TraceReader.bash\n"
        "#\n"
        "# Written by `TraceReader --completions bash`.\n"
        "\n"
        "_TraceReader_commands='");
    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        RtlWriteText(Writer,
                     "%s%s",
                     Index == 0 ? "" : " ",
                     ReaderCommands[Index]->Name);
    }

    RtlWriteText(
        Writer,
        "'\n"
        "\n"
        "# A command's options, one a line: --NAME, or --NAME= and its "
        "values.\n"
        "_TraceReader_options()\n"
        "{\n"
        "    case $1 in\n");
    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {

        Command = ReaderCommands[Index];
        RtlWriteText(Writer, "    %s) echo '", Command->Name);
        for (Row = 0; Row < ReaderNumberOfOptions; Row++) {
            if ((Command->Options & ReaderOptionList[Row].Flag) != 0) {
                CommandWriteCompletion(Writer, &ReaderOptionList[Row]);
                RtlWriteText(Writer, "\n");
            }
        }

        RtlWriteText(Writer, "--help' ;;\n");
    }

    RtlWriteText(
        Writer,
        "    esac\n"
        "}\n"
        "\n"
        "_TraceReader()\n"
        "{\n"
        "    local Word=${COMP_WORDS[COMP_CWORD]} Prefix='' Names='' Row\n"
        "    local Previous=${COMP_WORDS[COMP_CWORD - 1]} Index Place=options\n"
        "    local -A Takes=()\n"
        "    COMPREPLY=()\n"
        "\n"
        "    if [ \"$COMP_CWORD\" = 1 ] ||\n"
        "        [ \"$COMP_CWORD ${COMP_WORDS[1]}\" = '2 help' ]; then\n"
        "        [ \"$COMP_CWORD\" = 2 ] || Names='help --help --version "
        "--schema'\n"
        "        mapfile -t COMPREPLY < <(compgen -W \\\n"
        "            \"$_TraceReader_commands $Names\" -- \"$Word\")\n"
        "        return\n"
        "    fi\n"
        "\n"
        "    while IFS= read -r Row; do\n"
        "        Names=\"$Names ${Row%%%%=*}\"\n"
        "        [ \"$Row\" = \"${Row%%%%=*}\" ] ||\n"
        "            Takes[${Row%%%%=*}]=${Row#*=}\n"
        "        [ \"${Row%%%%=*}\" != --output ] || Takes[-o]=${Row#*=}\n"
        "    done < <(_TraceReader_options \"${COMP_WORDS[1]}\")\n"
        "\n"
        "    # What stands before the word: bash makes the = of --NAME=VALUE\n"
        "    # a word of its own.\n"
        "    for ((Index = 2; Index < COMP_CWORD; Index++)); do\n"
        "        Row=${COMP_WORDS[Index]}\n"
        "        if [ \"$Row\" = -- ]; then\n"
        "            Place=paths\n"
        "        elif [ \"$Row\" = = ]; then\n"
        "            Index=$((Index + 1))\n"
        "        elif [ -n \"$Row\" ] && [ \"${Takes[$Row]+x}\" ]; then\n"
        "            [ \"${COMP_WORDS[Index + 1]}\" = = ] || "
        "Index=$((Index + 1))\n"
        "        elif [ \"${Row:0:1}\" != - ] && "
        "[ \"${COMP_WORDS[1]}\" = run ]; then\n"
        "            Place=paths\n"
        "        fi\n"
        "        [ $Place = options ] || break\n"
        "    done\n"
        "\n"
        "    if [ \"$Word\" = = ]; then\n"
        "        Word=''\n"
        "    elif [ \"$Previous\" = = ]; then\n"
        "        Previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    elif [ \"${Word#--*=}\" != \"$Word\" ]; then\n"
        "        Previous=${Word%%%%=*}\n"
        "        Prefix=$Previous=\n"
        "        Word=${Word#*=}\n"
        "    fi\n"
        "\n"
        "    Row=@file\n"
        "    if [ $Place = options ]; then\n"
        "        if [ -n \"$Previous\" ] && [ \"${Takes[$Previous]+x}\" ]; "
        "then\n"
        "            Row=${Takes[$Previous]}\n"
        "        elif [ \"${Word:0:1}\" = - ]; then\n"
        "            Row=${Names// /,}\n"
        "        fi\n"
        "    fi\n"
        "\n"
        "    case $Row in\n"
        "    @file) Row=-f ;;\n"
        "    @directory) Row=-d ;;\n"
        "    *)\n"
        "        mapfile -t COMPREPLY < <(compgen -P \"$Prefix\" \\\n"
        "            -W \"${Row//,/ }\" -- \"$Word\")\n"
        "        return\n"
        "        ;;\n"
        "    esac\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    mapfile -t COMPREPLY < <(compgen -P \"$Prefix\" $Row -- "
        "\"$Word\")\n"
        "}\n"
        "\n"
        "complete -F _TraceReader TraceReader TraceReader.exe\n");
}


static
VOID
CommandWritePowerShell(
    _Inout_ PRTL_WRITER Writer
    )
{
    PCREADER_COMMAND Command;
    ULONG Index;
    ULONG Row;

    RtlWriteText(
        Writer,
        "# Completes what is typed after TraceReader, in PowerShell 5 or "
        "later:\n"
        "#\n"
        "#     . .\\TraceReader.ps1\n"
        "#\n"
        "# Written by `TraceReader --completions powershell`.\n"
        "\n"
        "Register-ArgumentCompleter -Native -CommandName "
        "'TraceReader', 'TraceReader.exe' -ScriptBlock {\n"
        "    param($Word, $Ast, $Position)\n"
        "\n"
        "    $Commands = [ordered]@{\n");
    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        RtlWriteText(Writer, "        '%s' = '", ReaderCommands[Index]->Name);
        CommandWriteQuoted(Writer, ReaderCommands[Index]->Summary);
        RtlWriteText(Writer, "'\n");
    }

    RtlWriteText(
        Writer,
        "    }\n"
        "\n"
        "    # --NAME, or --NAME= and its values; then what it does.\n"
        "    $Options = @{\n");
    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {

        Command = ReaderCommands[Index];
        RtlWriteText(Writer, "        '%s' = @(\n", Command->Name);
        for (Row = 0; Row < ReaderNumberOfOptions; Row++) {
            if ((Command->Options & ReaderOptionList[Row].Flag) != 0) {
                RtlWriteText(Writer, "            '");
                CommandWriteCompletion(Writer, &ReaderOptionList[Row]);
                RtlWriteText(Writer, " ");
                CommandWriteQuoted(Writer, ReaderOptionList[Row].Description);
                RtlWriteText(Writer, "'\n");
            }
        }

        RtlWriteText(Writer, "            '--help this text'\n        )\n");
    }

    RtlWriteText(
        Writer,
        "    }\n"
        "\n"
        "    $Complete = {\n"
        "        param($Text, $Help)\n"
        "        [System.Management.Automation.CompletionResult]::new(\n"
        "            $Text, $Text, 'ParameterValue', $Help)\n"
        "    }\n"
        "\n"
        "    # What stands before the word.\n"
        "    $Words = @($Ast.CommandElements |\n"
        "        Where-Object { $_.Extent.EndOffset -lt $Position } |\n"
        "        ForEach-Object { $_.Extent.Text })\n"
        "    if ($Words.Count -le 1 -or\n"
        "        ($Words.Count -eq 2 -and $Words[1] -eq 'help')) {\n"
        "        foreach ($Name in $Commands.Keys) {\n"
        "            if ($Name.StartsWith($Word)) { & $Complete $Name "
        "$Commands[$Name] }\n"
        "        }\n"
        "        return\n"
        "    }\n"
        "\n"
        "    # Without an answer PowerShell completes names of files.\n"
        "    $Rows = $Options[$Words[1]]\n"
        "    if ($null -eq $Rows) { return }\n"
        "    $Takes = @{}\n"
        "    foreach ($Row in $Rows) {\n"
        "        $Option, $Values = ($Row -split ' ', 2)[0] -split '=', 2\n"
        "        if ($null -ne $Values) { $Takes[$Option] = $Values }\n"
        "        if ($Option -eq '--output') { $Takes['-o'] = $Values }\n"
        "    }\n"
        "\n"
        "    for ($Index = 2; $Index -lt $Words.Count; $Index++) {\n"
        "        if ($Words[$Index] -eq '--') { return }\n"
        "        if ($Takes.ContainsKey($Words[$Index])) {\n"
        "            $Index++\n"
        "        } elseif ($Words[1] -eq 'run' -and "
        "-not $Words[$Index].StartsWith('-')) {\n"
        "            return\n"
        "        }\n"
        "    }\n"
        "\n"
        "    $Prefix = ''\n"
        "    $Option = $Words[-1]\n"
        "    if ($Word -match '^(--[^=]+)=(.*)$') {\n"
        "        $Option = $Matches[1]\n"
        "        $Prefix = \"$Option=\"\n"
        "        $Word = $Matches[2]\n"
        "    }\n"
        "    if ($Takes.ContainsKey($Option)) {\n"
        "        foreach ($Value in $Takes[$Option] -split ',') {\n"
        "            if ($Value -ne '' -and -not $Value.StartsWith('@') -and "
        "$Value.StartsWith($Word)) {\n"
        "                & $Complete \"$Prefix$Value\" $Value\n"
        "            }\n"
        "        }\n"
        "    } elseif ($Word.StartsWith('-')) {\n"
        "        foreach ($Row in $Rows) {\n"
        "            $Name, $Help = $Row -split ' ', 2\n"
        "            $Name = ($Name -split '=', 2)[0]\n"
        "            if ($Name.StartsWith($Word)) { & $Complete $Name $Help }\n"
        "        }\n"
        "    }\n"
        "}\n");
}


_Use_decl_annotations_
BOOLEAN
CommandWriteCompletions(
    PRTL_WRITER Writer,
    PCSZ Shell
    )
{
    if (RtlAreStringsEqual(Shell, "bash")) {
        CommandWriteBash(Writer);
        return TRUE;
    }

    if (RtlAreStringsEqual(Shell, "powershell")) {
        CommandWritePowerShell(Writer);
        return TRUE;
    }

    return FALSE;
}
