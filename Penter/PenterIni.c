/*++

Module Name:

    PenterIni.c

Abstract:

    What an ini file asks for: tracer.ini, or NT Call Profiler's CAP.INI.

    The file is the one that TRACER_CONFIG names, or else the first that there
    is of tracer.ini beside the program, tracer.ini in the current directory,
    CAP.INI beside the program and CAP.INI in the current directory.  It is
    read as a whole into pages that are freed again, and each setting's text
    is kept in the configuration, with its line.  What it means is decided by
    PenterConfig.c, which is the same for the environment's.

    The file is anybody's: whatever is in it, what can be used of it is, and
    the rest is noted with its line.

--*/

#include "PenterPrivate.h"

//
// How much of the file's path, from its end, and what of a line is shown.
//

#define PENTER_INI_SHOWN_PATH 160
#define PENTER_INI_SHOWN_TEXT 300

#define PENTER_INI_STEP "reading the ini file"

//
// What the lines of a section are.
//

typedef enum _PENTER_INI_KIND {
    PenterIniNames,                 // prefixes of file names
    PenterIniKeys,                  // KEY = VALUE
    PenterIniFunctions,             // list = FILE, or MODULE!FUNCTION
    PenterIniCapNames,              // names to patch
    PenterIniCapLength,             // a number
    PenterIniCapFunctions,          // MODULE=FUNCTION
    PenterIniCapOutput,             // filename=PATH
    PenterIniCapFlags               // NAME=on or off
} PENTER_INI_KIND;

typedef struct _PENTER_INI_SECTION {
    PCWSTR Name;                    // in capitals
    PENTER_INI_KIND Kind;
    PENTER_SETTING Setting;         // of names
    PCSZ Consequence;               // of what is noted once for the section
} PENTER_INI_SECTION;
typedef const PENTER_INI_SECTION *PCPENTER_INI_SECTION;

#define PENTER_INI_EXCLUDE          2
#define PENTER_INI_CHRONOLOGICAL    3
#define PENTER_INI_OUTPUT           4
#define PENTER_INI_FLAGS            5
#define PENTER_INI_SECTIONS         6

static const PENTER_INI_SECTION PenterIniSections[PENTER_INI_SECTIONS] = {
    { L"EXECUTABLES", PenterIniNames, PenterSettingExecutables, NULL },
    { L"MODULES", PenterIniNames, PenterSettingModules, NULL },
    { L"EXCLUDE", PenterIniFunctions, PenterSettingExclude,
      "names are resolved by TraceReader exclude: name the file that it makes "
      "in [exclude] as list = FILE" },
    { L"CHRONOLOGICAL", PenterIniFunctions, PenterSettingChrono,
      "names are resolved by TraceReader exclude: name the file that it makes "
      "in [chronological] as list = FILE" },
    { L"OUTPUT", PenterIniKeys, PenterSettingNone, NULL },
    { L"FLAGS", PenterIniKeys, PenterSettingNone, NULL }
};

#define PENTER_CAP_SECTIONS         8

static const PENTER_INI_SECTION PenterCapSections[PENTER_CAP_SECTIONS] = {
    { L"EXES", PenterIniNames, PenterSettingExecutables, NULL },
    { L"PATCH IMPORTS", PenterIniCapNames, PenterSettingModules,
      "calls are recorded by hooks that are compiled in, and imports are not "
      "patched: the names are taken as modules to record" },
    { L"PATCH CALLERS", PenterIniCapNames, PenterSettingModules,
      "calls are recorded by hooks that are compiled in, and exports are not "
      "patched: the names are taken as modules to record" },
    { L"NAME LENGTH", PenterIniCapLength, PenterSettingNone,
      "names are not cut here: TraceReader fits them to the screen" },
    { L"CHRONO FUNCS", PenterIniCapFunctions, PenterSettingNone,
      "names are resolved by TraceReader exclude: name the file that it makes "
      "in [chronological] of a tracer.ini as list = FILE" },
    { L"EXCLUDE FUNCS", PenterIniCapFunctions, PenterSettingNone,
      "names are resolved by TraceReader exclude: name the file that it makes "
      "in [exclude] of a tracer.ini as list = FILE" },
    { L"OUTPUT FILE", PenterIniCapOutput, PenterSettingDirectory, NULL },
    { L"CAP FLAGS", PenterIniCapFlags, PenterSettingNone, NULL }
};

//
// The settings: PenterSetting... are indexes of this.  Those of sections of
// names have no key.
//

typedef struct _PENTER_INI_KEY {
    PCWSTR Variable;
    PCWSTR Key;                     // in capitals, or NULL
    ULONG Section;
    BOOLEAN IsPath;
} PENTER_INI_KEY;

static const PENTER_INI_KEY PenterIniSettings[PENTER_NUMBER_OF_SETTINGS] = {
    { L"TRACER_EXECUTABLES", NULL, 0, FALSE },
    { L"TRACER_MODULES", NULL, 0, FALSE },
    { L"TRACER_EXCLUDE", L"LIST", PENTER_INI_EXCLUDE, TRUE },
    { L"TRACER_CHRONO", L"LIST", PENTER_INI_CHRONOLOGICAL, TRUE },
    { L"TRACER_DIRECTORY", L"DIRECTORY", PENTER_INI_OUTPUT, TRUE },
    { L"TRACER_MODE", L"MODE", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_MAX_BYTES", L"MAX_BYTES", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_VIEW_SIZE", L"VIEW_SIZE", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_FLUSH", L"FLUSH", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_CONTROL", L"CONTROL", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_ENABLED", L"ENABLED", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_CLOCK", L"CLOCK", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_MIN_DURATION", L"MIN_DURATION", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_MAX_DEPTH", L"MAX_DEPTH", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_STOPPED", L"STOPPED", PENTER_INI_FLAGS, FALSE }
};

//
// CAP's flags but for profile, and why they do not apply.
//

static const struct {
    PCWSTR Name;
    PCSZ Consequence;
} PenterCapFlags[] = {
    { L"DUMPBINARY",
      "stores are binary always, and TraceReader makes text of them" },
    { L"CAPTHREAD",
      "there are no threads to turn off: TraceReader reads the stores of a "
      "program that runs" },
    { L"LOADLIBRARY",
      "LoadLibrary is not patched: each module that has hooks records "
      "itself" },
    { L"SETJUMP",
      "longjmp is not patched: calls that it leaves are told by their stack "
      "pointers, always" },
    { L"UNDECORATENAME",
      "names are made by TraceReader, which undecorates them unless it is "
      "told --raw" },
    { L"EXCELAWARE",
      "reports are made by TraceReader: its --csv is for spreadsheets" },
    { L"REGULAR DUMP",
      "nothing is dumped at the end: reports are made by TraceReader" },
    { L"CHRONOCOLLECT", "calls are recorded in their order anyway" },
    { L"CHRONODUMP",
      "nothing is dumped at the end: TraceReader replay shows calls in their "
      "order" },
    { L"SLOWSYMBOLS",
      "symbols are looked up by TraceReader, static ones too" }
};

//
// A file that is being read.
//

typedef struct _PENTER_INI_PARSER {
    PCRTL Rtl;
    PPENTER_CONFIG Config;
    const UCHAR *Next;
    const UCHAR *End;
    BOOLEAN IsWide;                 // UTF-16LE
    BOOLEAN IsInSection;            // there has been one
    ULONG Line;                     // from 1
    PCPENTER_INI_SECTION Section;   // NULL: none that is known
    PCPENTER_INI_SECTION Sections;
    ULONG NumberOfSections;
    ULONG Notes[PENTER_CAP_SECTIONS];   // what was noted once: its error
    ULONG Counts[PENTER_CAP_SECTIONS];  // and for how many lines
} PENTER_INI_PARSER;
typedef PENTER_INI_PARSER *PPENTER_INI_PARSER;

C_ASSERT(PENTER_CAP_SECTIONS >= PENTER_INI_SECTIONS);

//
// Texts.
//

static
BOOLEAN
PenterIsBlank(
    _In_ WCHAR Character
    )
/*++

Routine Description:

    Tells whether a character is a blank or a tab.

Arguments:

    Character - Supplies the character.

Return Value:

    TRUE if it is.

--*/
{
    return Character == L' ' || Character == L'\t';
}

static
VOID
PenterTrim(
    _Inout_ PUNICODE_STRING Text
    )
/*++

Routine Description:

    Leaves out the blanks around a text.

Arguments:

    Text - Supplies the text and receives the part of it.

Return Value:

    None.

--*/
{
    PWCHAR Buffer;
    ULONG Length;

    Buffer = Text->Buffer;
    Length = Text->Length / sizeof(WCHAR);
    while (Length != 0 && PenterIsBlank(Buffer[Length - 1])) {
        Length -= 1;
    }
    while (Length != 0 && PenterIsBlank(Buffer[0])) {
        Buffer += 1;
        Length -= 1;
    }

    RtlPointUnicodeString(Text, Buffer, Length);
}

static
VOID
PenterAppend(
    _Inout_ PUNICODE_STRING Text,
    _In_reads_(LengthInChars) PCWSTR More,
    _In_ ULONG LengthInChars
    )
/*++

Routine Description:

    Appends to a text as much as fits.

Arguments:

    Text - Supplies the text, whose MaximumLength says what fits.

    More - Supplies what is appended.

    LengthInChars - Supplies its length in 16-bit units.

Return Value:

    None.

--*/
{
    ULONG Room;

    Room = (Text->MaximumLength - Text->Length) / sizeof(WCHAR);
    if (LengthInChars > Room) {
        LengthInChars = Room;
    }

    RtlCopyBytes(Text->Buffer + Text->Length / sizeof(WCHAR),
                 More,
                 LengthInChars * sizeof(WCHAR));
    Text->Length += (USHORT)(LengthInChars * sizeof(WCHAR));
}

static
VOID
PenterAppendNumber(
    _Inout_ PUNICODE_STRING Text,
    _In_ ULONG Number
    )
/*++

Routine Description:

    Appends a decimal number to a text.

Arguments:

    Text - Supplies the text.

    Number - Supplies the number.

Return Value:

    None.

--*/
{
    WCHAR Digits[10];
    ULONG First;

    First = RTL_NUMBER_OF(Digits);
    do {
        First -= 1;
        Digits[First] = (WCHAR)(L'0' + Number % 10);
        Number /= 10;
    } while (Number != 0);

    PenterAppend(Text, Digits + First, RTL_NUMBER_OF(Digits) - First);
}

_Use_decl_annotations_
VOID
PenterIniError(
    PPENTER_CONFIG Config,
    PCSZ Step,
    ULONG Line,
    PCUNICODE_STRING Text,
    NTSTATUS Status,
    PCSZ Consequence
    )
/*++

Routine Description:

    Notes something about the ini file, with its path and the line.

Arguments:

    Config - Supplies the configuration.

    Step - Supplies a literal that says what was done.

    Line - Supplies the line; 0: the file as a whole.

    Text - Supplies what is there, or NULL.

    Status - Supplies what is wrong with it.

    Consequence - Supplies a literal that says what happens now, or NULL for
        the default that is used.

Return Value:

    None.

--*/
{
    UNICODE_STRING Object;
    PCUNICODE_STRING Path;
    ULONG Length;
    WCHAR Buffer[PENTER_INI_SHOWN_TEXT];

    Path = &Config->Ini.Path;
    Length = Path->Length / sizeof(WCHAR);
    Object.Buffer = Buffer;
    Object.Length = 0;
    Object.MaximumLength = sizeof(Buffer);

    if (Length > PENTER_INI_SHOWN_PATH) {
        PenterAppend(&Object, L"...", 3);
        Length = PENTER_INI_SHOWN_PATH;
    }
    PenterAppend(&Object,
                 Path->Buffer + Path->Length / sizeof(WCHAR) - Length,
                 Length);
    if (Line != 0) {
        PenterAppend(&Object, L", line ", 7);
        PenterAppendNumber(&Object, Line);
    }
    if (Text != NULL) {
        PenterAppend(&Object, L": ", 2);
        PenterAppend(&Object, Text->Buffer, Text->Length / sizeof(WCHAR));
    }

    PenterAddError(Config, Step, &Object, Status, Consequence);
}

static
VOID
PenterNote(
    _In_ PPENTER_INI_PARSER Parser,
    _In_opt_ PCUNICODE_STRING Text,
    _In_ NTSTATUS Status,
    _In_z_ PCSZ Consequence
    )
/*++

Routine Description:

    Notes something about the line that is being read.

Arguments:

    Parser - Supplies the file.

    Text - Supplies what is there, or NULL.

    Status - Supplies what is wrong with it.

    Consequence - Supplies a literal that says what happens now.

Return Value:

    None.

--*/
{
    PenterIniError(Parser->Config,
                   PENTER_INI_STEP,
                   Parser->Line,
                   Text,
                   Status,
                   Consequence);
}

static
VOID
PenterNoteOnce(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Notes what there is to say about all the lines of this section, and counts
    the lines.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line.

Return Value:

    None.

--*/
{
    ULONG Index;

    Index = (ULONG)(Parser->Section - Parser->Sections);
    if (Parser->Counts[Index] == 0) {
        Parser->Notes[Index] = Parser->Config->NumberOfErrors;
        PenterNote(Parser,
                   Text,
                   STATUS_NOT_SUPPORTED,
                   Parser->Section->Consequence);
    }
    Parser->Counts[Index] += 1;
}

static
VOID
PenterCountNotes(
    _In_ PPENTER_INI_PARSER Parser
    )
/*++

Routine Description:

    Adds to what was noted once how many more lines it is about.

Arguments:

    Parser - Supplies the file, which has been read.

Return Value:

    None.

--*/
{
    PRTL_ERROR Error;
    UNICODE_STRING Object;
    ULONG Index;

    for (Index = 0; Index < Parser->NumberOfSections; Index += 1) {
        if (Parser->Counts[Index] < 2 ||
            Parser->Notes[Index] >= PENTER_MAXIMUM_CONFIG_ERRORS) {
            continue;
        }
        Error = &Parser->Config->Errors[Parser->Notes[Index]];
        Object.Buffer = Error->Object;
        Object.Length = (USHORT)(Error->ObjectLengthInChars * sizeof(WCHAR));
        Object.MaximumLength = sizeof(Error->Object);
        PenterAppend(&Object, L" (and ", 6);
        PenterAppendNumber(&Object, Parser->Counts[Index] - 1);
        PenterAppend(&Object, L" more)", 6);
        Error->ObjectLengthInChars = Object.Length / sizeof(WCHAR);
    }
}

//
// Values.
//

static
BOOLEAN
PenterIsRelative(
    _In_ PCUNICODE_STRING Path
    )
/*++

Routine Description:

    Tells whether a path has neither a drive nor a separator in front.

Arguments:

    Path - Supplies the path.

Return Value:

    TRUE if so.

--*/
{
    ULONG Length;

    Length = Path->Length / sizeof(WCHAR);
    return Length != 0 &&
           Path->Buffer[0] != L'\\' &&
           Path->Buffer[0] != L'/' &&
           (Length < 2 || Path->Buffer[1] != L':');
}

static
VOID
PenterKeepValue(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PENTER_SETTING Setting,
    _In_ PCUNICODE_STRING Value,
    _In_ BOOLEAN IsMore
    )
/*++

Routine Description:

    Keeps a setting's value.  A path without a drive is one below the ini
    file's directory.

Arguments:

    Parser - Supplies the file.

    Setting - Supplies the setting.

    Value - Supplies the value.

    IsMore - Supplies TRUE if what there is already counts as well, with a
        semicolon between.

Return Value:

    None.  What there is no room for is noted.

--*/
{
    PPENTER_INI Ini;
    PPENTER_INI_VALUE Kept;
    PWCHAR Text;
    UNICODE_STRING Name;
    PCWSTR First;
    ULONG FirstLength;
    ULONG Length;
    BOOLEAN IsAtEnd;

    Ini = &Parser->Config->Ini;
    Kept = &Ini->Values[Setting];
    Text = Ini->Text + Ini->LengthInChars;
    First = NULL;
    FirstLength = 0;
    IsAtEnd = FALSE;

    if (IsMore && Kept->Text.Length != 0) {
        First = Kept->Text.Buffer;
        FirstLength = Kept->Text.Length / sizeof(WCHAR);
        IsAtEnd = First + FirstLength == Text;
    } else if (PenterIniSettings[Setting].IsPath && PenterIsRelative(Value)) {
        RtlBaseName(&Ini->Path, &Name);
        First = Ini->Path.Buffer;
        FirstLength = (Ini->Path.Length - Name.Length) / sizeof(WCHAR);
    }

    //
    // The first line of several is the setting's.
    //

    if (!IsMore || Kept->Line == 0) {
        Kept->Line = Parser->Line;
        Kept->Text.Length = 0;
    }

    Length = FirstLength + IsMore + Value->Length / sizeof(WCHAR);
    if (Length >= RTL_MAXIMUM_PATH_IN_CHARS ||
        Length - (IsAtEnd ? FirstLength : 0) >
        PENTER_INI_TEXT_IN_CHARS - Ini->LengthInChars) {

        PenterNote(Parser,
                   Value,
                   STATUS_NAME_TOO_LONG,
                   "this value is left out");
        return;
    }

    if (IsAtEnd) {
        Text -= FirstLength;
        Ini->LengthInChars -= FirstLength;
    } else {
        RtlCopyBytes(Text, First, FirstLength * sizeof(WCHAR));
    }
    Length = FirstLength;
    if (IsMore && FirstLength != 0) {
        Text[Length] = L';';
        Length += 1;
    }
    RtlCopyBytes(Text + Length, Value->Buffer, Value->Length);
    Length += Value->Length / sizeof(WCHAR);

    RtlPointUnicodeString(&Kept->Text, Text, Length);
    Ini->LengthInChars += Length;
}

static
VOID
PenterReadNames(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line of names: one, or several with semicolons between.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line.

Return Value:

    None.

--*/
{
    UNICODE_STRING Pattern;
    ULONG Position;

    Position = 0;
    while (PenterNextPattern(Text, &Position, &Pattern)) {
        if (PenterIsPattern(&Pattern)) {
            PenterKeepValue(Parser, Parser->Section->Setting, &Pattern, TRUE);
        } else {
            PenterNote(Parser,
                       &Pattern,
                       STATUS_OBJECT_NAME_INVALID,
                       "no file name begins with this, it is left out");
        }
    }
}

static
BOOLEAN
PenterSplitLine(
    _In_ PCUNICODE_STRING Text,
    _Out_ PUNICODE_STRING Key,
    _Out_ PUNICODE_STRING Value
    )
/*++

Routine Description:

    Splits KEY = VALUE at the first equals sign.

Arguments:

    Text - Supplies the line.

    Key - Receives the key without the blanks around it.

    Value - Receives the value without the blanks around it, or the quotes if
        it is between two.

Return Value:

    FALSE if there is no equals sign.

--*/
{
    ULONG Length;
    ULONG Index;

    Length = Text->Length / sizeof(WCHAR);
    for (Index = 0; Index < Length; Index += 1) {
        if (Text->Buffer[Index] == L'=') {
            break;
        }
    }
    if (Index == Length) {
        return FALSE;
    }

    RtlPointUnicodeString(Key, Text->Buffer, Index);
    PenterTrim(Key);
    RtlPointUnicodeString(Value,
                          Text->Buffer + Index + 1,
                          Length - Index - 1);
    PenterTrim(Value);

    Length = Value->Length / sizeof(WCHAR);
    if (Length >= 2 &&
        Value->Buffer[0] == L'"' && Value->Buffer[Length - 1] == L'"') {
        RtlPointUnicodeString(Value, Value->Buffer + 1, Length - 2);
    }

    return TRUE;
}

static
VOID
PenterReadKey(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line of a section of tracer.ini that has keys.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line.

Return Value:

    None.

--*/
{
    UNICODE_STRING Key;
    UNICODE_STRING Value;
    ULONG Section;
    ULONG Setting;

    if (!PenterSplitLine(Text, &Key, &Value)) {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "lines of this section are KEY = VALUE, this one is passed "
                   "over");
        return;
    }

    Section = (ULONG)(Parser->Section - Parser->Sections);
    for (Setting = 0; Setting < PENTER_NUMBER_OF_SETTINGS; Setting += 1) {
        if (PenterIniSettings[Setting].Key != NULL &&
            PenterIniSettings[Setting].Section == Section &&
            PenterIsWord(Parser->Rtl, &Key, PenterIniSettings[Setting].Key)) {
            break;
        }
    }
    if (Setting == PENTER_NUMBER_OF_SETTINGS) {
        PenterNote(Parser,
                   Text,
                   STATUS_NOT_FOUND,
                   "there is no such key in this section, the line is passed "
                   "over");
        return;
    }

    if (Parser->Config->Ini.Values[Setting].Line != 0) {
        PenterNote(Parser,
                   Text,
                   STATUS_OBJECT_NAME_COLLISION,
                   "this is said before, this line counts");
    }
    PenterKeepValue(Parser, (PENTER_SETTING)Setting, &Value, FALSE);
}

static
VOID
PenterReadFunction(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line of a section about functions: the file of a list, or a
    function's name, which has a ! before any equals sign.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line.

Return Value:

    None.

--*/
{
    UNICODE_STRING Key;
    UNICODE_STRING Value;
    ULONG Index;

    if (PenterSplitLine(Text, &Key, &Value)) {
        for (Index = 0; Index < Key.Length / sizeof(WCHAR); Index += 1) {
            if (Key.Buffer[Index] == L'!') {
                break;
            }
        }
        if (Index == Key.Length / sizeof(WCHAR)) {
            PenterReadKey(Parser, Text);
            return;
        }
    }

    PenterNoteOnce(Parser, Text);
}

static
VOID
PenterReadCapOutput(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line of CAP.INI's [OUTPUT FILE]: the file's directory is where the
    sessions go.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line.

Return Value:

    None.

--*/
{
    UNICODE_STRING Key;
    UNICODE_STRING Value;
    UNICODE_STRING Name;
    ULONG Length;

    if (!PenterSplitLine(Text, &Key, &Value) ||
        !PenterIsWord(Parser->Rtl, &Key, L"FILENAME")) {

        PenterNote(Parser,
                   Text,
                   STATUS_NOT_FOUND,
                   "there is no such key in this section, the line is passed "
                   "over");
        return;
    }
    if (Value.Length == 0) {
        return;
    }

    RtlBaseName(&Value, &Name);
    Length = (Value.Length - Name.Length) / sizeof(WCHAR);
    if (Length == 0) {
        PenterNote(Parser,
                   Text,
                   STATUS_NOT_SUPPORTED,
                   "a session is a directory of its own, and this names no "
                   "directory to make it in: the default is used");
        return;
    }

    PenterNote(Parser,
               Text,
               STATUS_NOT_SUPPORTED,
               "a session is a directory of its own, which is made in that "
               "of this file");
    RtlPointUnicodeString(&Value, Value.Buffer, Length);
    PenterKeepValue(Parser, PenterSettingDirectory, &Value, FALSE);
}

static
VOID
PenterReadCapFlag(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line of CAP.INI's [CAP FLAGS].

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line.

Return Value:

    None.

--*/
{
    UNICODE_STRING Key;
    UNICODE_STRING Value;
    ULONG Index;

    if (!PenterSplitLine(Text, &Key, &Value)) {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "lines of this section are KEY = VALUE, this one is passed "
                   "over");
        return;
    }

    if (PenterIsWord(Parser->Rtl, &Key, L"PROFILE")) {
        if (PenterIsWord(Parser->Rtl, &Value, L"OFF")) {
            RtlPointUnicodeString(&Value, L"1", 1);
            PenterKeepValue(Parser, PenterSettingStopped, &Value, FALSE);
        } else if (PenterIsWord(Parser->Rtl, &Value, L"ON")) {
            RtlPointUnicodeString(&Value, L"0", 1);
            PenterKeepValue(Parser, PenterSettingStopped, &Value, FALSE);
        } else if (Value.Length != 0) {
            PenterNote(Parser,
                       Text,
                       STATUS_INVALID_PARAMETER,
                       "this is on or off, the line is passed over");
        }
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(PenterCapFlags); Index += 1) {
        if (PenterIsWord(Parser->Rtl, &Key, PenterCapFlags[Index].Name)) {
            PenterNote(Parser,
                       Text,
                       STATUS_NOT_SUPPORTED,
                       PenterCapFlags[Index].Consequence);
            return;
        }
    }

    PenterNote(Parser,
               Text,
               STATUS_NOT_FOUND,
               "there is no such key in this section, the line is passed over");
}

//
// Lines.
//

static
VOID
PenterReadHeading(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line that begins a section.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line, whose first character is a bracket.  Until it is
        known, there is no section.

Return Value:

    None.

--*/
{
    UNICODE_STRING Name;
    ULONG Length;
    ULONG Index;

    Length = Text->Length / sizeof(WCHAR);
    if (Length < 2 || Text->Buffer[Length - 1] != L']') {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "a section is [NAME] on a line of its own, the lines that "
                   "follow are passed over");
        return;
    }

    RtlPointUnicodeString(&Name, Text->Buffer + 1, Length - 2);
    PenterTrim(&Name);
    for (Index = 0; Index < Parser->NumberOfSections; Index += 1) {
        if (PenterIsWord(Parser->Rtl, &Name, Parser->Sections[Index].Name)) {
            Parser->Section = &Parser->Sections[Index];
            return;
        }
    }

    PenterNote(Parser,
               Text,
               STATUS_NOT_FOUND,
               "there is no such section, the lines that follow are passed "
               "over");
}

static
VOID
PenterReadLine(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
/*++

Routine Description:

    Takes a line that is neither empty nor a comment.

Arguments:

    Parser - Supplies the file.

    Text - Supplies the line without the blanks around it.

Return Value:

    None.

--*/
{
    if (Text->Buffer[0] == L'[') {
        PenterReadHeading(Parser, Text);
        return;
    }

    if (Parser->Section == NULL) {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "this is in no section, it is passed over");
        return;
    }

    switch (Parser->Section->Kind) {
    case PenterIniNames:
        PenterReadNames(Parser, Text);
        break;
    case PenterIniKeys:
        PenterReadKey(Parser, Text);
        break;
    case PenterIniFunctions:
        PenterReadFunction(Parser, Text);
        break;
    case PenterIniCapNames:
        PenterNoteOnce(Parser, Text);
        PenterReadNames(Parser, Text);
        break;
    case PenterIniCapLength:
    case PenterIniCapFunctions:
        PenterNoteOnce(Parser, Text);
        break;
    case PenterIniCapOutput:
        PenterReadCapOutput(Parser, Text);
        break;
    case PenterIniCapFlags:
        PenterReadCapFlag(Parser, Text);
        break;
    }
}

static
WCHAR
PenterPeek(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ const UCHAR *Place
    )
/*++

Routine Description:

    Reads the unit at a place of the file.

Arguments:

    Parser - Supplies the file.

    Place - Supplies the place, which has a whole unit.

Return Value:

    The 16-bit unit of UTF-16, or the byte of UTF-8.

--*/
{
    return Parser->IsWide ? (WCHAR)(Place[0] | Place[1] << 8) : Place[0];
}

static
BOOLEAN
PenterIsLineText(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Tells whether a line is text: well-formed, without control characters.

Arguments:

    Parser - Supplies the file.

    Bytes - Supplies the line.

    SizeInBytes - Supplies its size, a whole number of units.

Return Value:

    TRUE if it is.

--*/
{
    ULONG CodePoint;
    ULONG Size;

    while (SizeInBytes != 0) {
        if (Parser->IsWide) {
            CodePoint = PenterPeek(Parser, Bytes);
            Size = sizeof(WCHAR);
        } else {
            Size = RtlDecodeUtf8((const CHAR *)Bytes, SizeInBytes, &CodePoint);
            if (CodePoint == 0xFFFD &&
                (Size != 3 || Bytes[0] != 0xEF ||
                 Bytes[1] != 0xBF || Bytes[2] != 0xBD)) {
                return FALSE;
            }
        }
        if (CodePoint < L' ' && CodePoint != L'\t') {
            return FALSE;
        }
        Bytes += Size;
        SizeInBytes -= Size;
    }

    return TRUE;
}

static
VOID
PenterConvertLine(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Makes text of a line that is neither empty nor a comment, and takes it.

Arguments:

    Parser - Supplies the file.

    Bytes - Supplies the line.

    SizeInBytes - Supplies its size, a whole number of units.

Return Value:

    None.

--*/
{
    UNICODE_STRING Text;
    PWCHAR Buffer;
    ULONG Length;
    ULONG Needed;

    //
    // A section that cannot be read is one that is not known, and what is in
    // such a section need not be text.
    //

    if (PenterPeek(Parser, Bytes) == L'[') {
        Parser->IsInSection = TRUE;
        Parser->Section = NULL;
    } else if (Parser->IsInSection && Parser->Section == NULL) {
        return;
    }

    if (!PenterIsLineText(Parser, Bytes, SizeInBytes)) {
        PenterNote(Parser,
                   NULL,
                   STATUS_INVALID_PARAMETER,
                   "this is not text in UTF-8 or UTF-16, the line is passed "
                   "over");
        return;
    }

    Buffer = Parser->Config->Scratch;
    if (Parser->IsWide) {
        Needed = SizeInBytes / sizeof(WCHAR);
        Length = 0;
        while (Length < Needed && Length < RTL_MAXIMUM_PATH_IN_CHARS) {
            Buffer[Length] = PenterPeek(Parser, Bytes);
            Bytes += sizeof(WCHAR);
            Length += 1;
        }
    } else {
        Needed = RtlUtf8ToWide((const CHAR *)Bytes,
                               SizeInBytes,
                               Buffer,
                               RTL_MAXIMUM_PATH_IN_CHARS,
                               &Length);
    }
    RtlPointUnicodeString(&Text, Buffer, Length);
    if (Needed > Length) {
        PenterNote(Parser,
                   &Text,
                   STATUS_NAME_TOO_LONG,
                   "the line is passed over");
        return;
    }

    PenterTrim(&Text);
    PenterReadLine(Parser, &Text);
}

_Use_decl_annotations_
VOID
PenterParseIni(
    PCRTL Rtl,
    PPENTER_CONFIG Config,
    PVOID Bytes,
    ULONG SizeInBytes,
    BOOLEAN IsCap
    )
/*++

Routine Description:

    Takes what an ini file says.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration, whose Ini.Path is the file's; its
        Scratch is overwritten.

    Bytes - Supplies the file.

    SizeInBytes - Supplies its size.

    IsCap - Supplies whether it is a CAP.INI.

Return Value:

    None.

--*/
{
    PENTER_INI_PARSER Parser;
    const UCHAR *First;
    const UCHAR *Last;
    ULONG Unit;
    WCHAR Character;

    RtlZeroBytes(&Parser, sizeof(Parser));
    Parser.Rtl = Rtl;
    Parser.Config = Config;
    Parser.Next = (const UCHAR *)Bytes;
    Parser.End = Parser.Next + SizeInBytes;
    Parser.Sections = IsCap ? PenterCapSections : PenterIniSections;
    Parser.NumberOfSections = IsCap ? PENTER_CAP_SECTIONS : PENTER_INI_SECTIONS;

    //
    // UTF-16 is told by its mark, or by a zero after the first byte: a text
    // begins with a bracket, a letter, a line's end, or what begins a comment.
    //

    if (SizeInBytes >= 3 && Parser.Next[0] == 0xEF &&
        Parser.Next[1] == 0xBB && Parser.Next[2] == 0xBF) {
        Parser.Next += 3;
    } else if (SizeInBytes >= 2 && Parser.Next[0] == 0xFF &&
               Parser.Next[1] == 0xFE) {
        Parser.IsWide = TRUE;
        Parser.Next += 2;
    } else if (SizeInBytes >= 2 && Parser.Next[0] != 0 &&
               Parser.Next[1] == 0) {
        Parser.IsWide = TRUE;
    }
    Unit = Parser.IsWide ? sizeof(WCHAR) : 1;
    Parser.End -= (ULONG)(Parser.End - Parser.Next) % Unit;

    while (Parser.Next < Parser.End) {
        Parser.Line += 1;
        First = NULL;
        Last = NULL;
        while (Parser.Next < Parser.End) {
            Character = PenterPeek(&Parser, Parser.Next);
            Parser.Next += Unit;
            if (Character == L'\n') {
                break;
            }
            if (!PenterIsBlank(Character)) {
                Last = Parser.Next;
                if (First == NULL) {
                    First = Last - Unit;
                }
            }
        }

        //
        // From its first character to behind its last one, which may be the
        // carriage return of the line's end.
        //

        if (First != NULL && PenterPeek(&Parser, Last - Unit) == L'\r') {
            Last -= Unit;
        }
        if (First == NULL || First == Last) {
            continue;
        }
        Character = PenterPeek(&Parser, First);
        if (Character != L';' && Character != L'#') {
            PenterConvertLine(&Parser, First, (ULONG)(Last - First));
        }
    }

    PenterCountNotes(&Parser);
}

//
// The file.
//

static
VOID
PenterLoadIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_ HANDLE File,
    _In_ BOOLEAN IsCap
    )
/*++

Routine Description:

    Reads the ini file.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration, whose Ini.Path is the file's.

    File - Supplies the file.

    IsCap - Supplies whether it is a CAP.INI.

Return Value:

    None.

--*/
{
    NTSTATUS Status;
    ULONGLONG Size;
    ULONG Read;
    ULONG Offset;
    PVOID Base;

    Base = NULL;
    Offset = 0;
    Status = RtlQueryFileSize(Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size > PENTER_INI_MAXIMUM_SIZE) {
        Status = STATUS_FILE_TOO_LARGE;
    }
    if (NT_SUCCESS(Status) && Size != 0) {
        Status = RtlAllocatePages(Rtl, (SIZE_T)Size, &Base);
    }
    while (NT_SUCCESS(Status) && Offset < Size) {
        Status = RtlReadFile(Rtl,
                             File,
                             Offset,
                             (PUCHAR)Base + Offset,
                             (ULONG)Size - Offset,
                             &Read);
        if (Status == STATUS_END_OF_FILE || (NT_SUCCESS(Status) && Read == 0)) {
            Status = STATUS_SUCCESS;
            break;
        }
        Offset += Read;
    }

    if (NT_SUCCESS(Status)) {
        PenterParseIni(Rtl, Config, Base, Offset, IsCap);
    } else {
        PenterIniError(Config,
                       PENTER_INI_STEP,
                       0,
                       NULL,
                       Status,
                       "no ini file is used");
    }

    RtlFreePages(Rtl, Base);
}

static
BOOLEAN
PenterOpenIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_ ULONG LengthInChars,
    _In_ BOOLEAN IsNamed
    )
/*++

Routine Description:

    Reads the ini file if there is one at a path.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration, whose Ini.PathBuffer has the path.

    LengthInChars - Supplies its length in 16-bit units.

    IsNamed - Supplies whether the user has named it, so that it must be there.

Return Value:

    TRUE if there is a file, if only one that cannot be read.

--*/
{
    NTSTATUS Status;
    UNICODE_STRING NtPath;
    UNICODE_STRING Name;
    PPENTER_INI Ini;
    HANDLE File;

    Ini = &Config->Ini;
    RtlPointUnicodeString(&Ini->Path, Ini->PathBuffer, LengthInChars);
    Status = RtlDosPathToNtPath(Rtl,
                                &Ini->Path,
                                Config->Scratch,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &NtPath, &File);
    }
    if (NT_SUCCESS(Status)) {
        RtlBaseName(&Ini->Path, &Name);
        PenterLoadIni(Rtl, Config, File, PenterIsWord(Rtl, &Name, L"CAP.INI"));
        RtlClose(Rtl, File);
        return TRUE;
    }

    if (!IsNamed &&
        (Status == STATUS_OBJECT_NAME_NOT_FOUND ||
         Status == STATUS_OBJECT_PATH_NOT_FOUND ||
         Status == STATUS_NO_SUCH_FILE ||
         Status == STATUS_NAME_TOO_LONG)) {
        return FALSE;
    }

    PenterIniError(Config,
                   IsNamed ? "opening the ini file of TRACER_CONFIG" :
                             "opening the ini file",
                   0,
                   NULL,
                   Status,
                   "no ini file is used");
    return TRUE;
}

static
VOID
PenterFindIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    )
/*++

Routine Description:

    Looks for the ini file and reads it.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration; its Scratch and ModuleName are
        overwritten.

Return Value:

    None.

--*/
{
    NTSTATUS Status;
    UNICODE_STRING Path;
    UNICODE_STRING BaseName;
    PPENTER_INI Ini;
    PWCHAR Name;
    ULONG Length;
    ULONG Index;

    static const PCWSTR Names[] = { L"tracer.ini", L"CAP.INI" };

    Ini = &Config->Ini;
    RtlPointUnicodeString(&Path, Config->Scratch, 0);
    Status = RtlQueryEnvironment(Rtl,
                                 L"TRACER_CONFIG",
                                 Config->Scratch,
                                 RTL_MAXIMUM_PATH_IN_CHARS,
                                 &Path);
    if (Status != STATUS_VARIABLE_NOT_FOUND &&
        (!NT_SUCCESS(Status) || Path.Length != 0)) {

        Length = 0;
        if (NT_SUCCESS(Status)) {
            Config->Scratch[Path.Length / sizeof(WCHAR)] = L'\0';
            Length = Rtl->GetFullPathNameW(Config->Scratch,
                                           RTL_MAXIMUM_PATH_IN_CHARS,
                                           Ini->PathBuffer,
                                           NULL);
            Status = Length >= RTL_MAXIMUM_PATH_IN_CHARS ?
                     STATUS_NAME_TOO_LONG : STATUS_OBJECT_NAME_INVALID;
        }
        if (Length == 0 || Length >= RTL_MAXIMUM_PATH_IN_CHARS) {
            PenterAddError(Config,
                           "opening the ini file of TRACER_CONFIG",
                           &Path,
                           Status,
                           "no ini file is used");
        } else {
            (VOID)PenterOpenIni(Rtl, Config, Length, TRUE);
        }
        return;
    }

    //
    // The program's directory, up to and with the separator.
    //

    Length = Rtl->GetModuleFileNameW(NULL,
                                     Config->ModuleName,
                                     RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Path, Config->ModuleName, Length);
    if (Length == 0) {
        PenterAddError(Config,
                       "looking for an ini file beside the program",
                       &Path,
                       STATUS_NOT_FOUND,
                       "only one in the current directory is used");
    }
    RtlBaseName(&Path, &BaseName);
    Path.Length -= BaseName.Length;

    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index += 1) {
        Length = RtlLengthOfWideString(Names[Index]);
        if (Path.Length != 0 &&
            Path.Length / sizeof(WCHAR) + Length < RTL_MAXIMUM_PATH_IN_CHARS) {

            Name = Ini->PathBuffer + Path.Length / sizeof(WCHAR);
            RtlCopyBytes(Ini->PathBuffer, Path.Buffer, Path.Length);
            RtlCopyBytes(Name, Names[Index], Length * sizeof(WCHAR));
            if (PenterOpenIni(Rtl,
                              Config,
                              Path.Length / sizeof(WCHAR) + Length,
                              FALSE)) {
                return;
            }
        }

        Length = Rtl->GetFullPathNameW(Names[Index],
                                       RTL_MAXIMUM_PATH_IN_CHARS,
                                       Ini->PathBuffer,
                                       NULL);
        if (Length != 0 && Length < RTL_MAXIMUM_PATH_IN_CHARS &&
            PenterOpenIni(Rtl, Config, Length, FALSE)) {
            return;
        }
    }

    Ini->Path.Length = 0;
}

_Use_decl_annotations_
ULONG
PenterQueryIni(
    PCRTL Rtl,
    PPENTER_CONFIG Config,
    PCWSTR Variable,
    PUNICODE_STRING Text
    )
/*++

Routine Description:

    Looks up what the ini file says for a variable.  The first call looks for
    the file and reads it.

Arguments:

    Rtl - Supplies the RTL.

    Config - Supplies the configuration; its Scratch and ModuleName may be
        overwritten.

    Variable - Supplies the variable's name.

    Text - Receives the value, which lies in the configuration.

Return Value:

    The line; 0 if the file says nothing, or an empty text.

--*/
{
    PPENTER_INI_VALUE Value;
    ULONG Length;
    ULONG Index;

    if (!Config->Ini.IsRead) {
        Config->Ini.IsRead = TRUE;
        PenterFindIni(Rtl, Config);
    }

    Length = RtlLengthOfWideString(Variable);
    for (Index = 0; Index < PENTER_NUMBER_OF_SETTINGS; Index += 1) {
        Value = &Config->Ini.Values[Index];
        if (Value->Text.Length != 0 &&
            RtlLengthOfWideString(PenterIniSettings[Index].Variable) ==
            Length &&
            RtlAreBytesEqual(PenterIniSettings[Index].Variable,
                             Variable,
                             Length * sizeof(WCHAR))) {

            *Text = Value->Text;
            return Value->Line;
        }
    }

    return 0;
}
