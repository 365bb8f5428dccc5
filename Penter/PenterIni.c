/*++

Module Name:

    PenterIni.c

Abstract:

    What an ini file asks for: tracer.ini, or NT Call Profiler's CAP.INI.

    Which file that is says PenterIniFile.c.  Each setting's text is kept in the
    configuration, with its line.  What it means is decided by PenterConfig.c,
    which is the same for the environment's.

    The file is anybody's: whatever is in it, what can be used of it is, and
    the rest is noted with its line.

--*/

#include "PenterIni.h"
#include "PenterWord.h"

//
// How much of the file's path, from its end, and what of a line is shown.
//

#define PENTER_INI_SHOWN_PATH 160
#define PENTER_INI_SHOWN_TEXT 300

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
#define PENTER_INI_SECTIONS         8

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
    { L"FLAGS", PenterIniKeys, PenterSettingNone, NULL },
    { L"IMPORTS", PenterIniNames, PenterSettingImports, NULL },
    { L"CALLERS", PenterIniNames, PenterSettingCallers, NULL }
};

#define PENTER_CAP_PATCH_IMPORTS    1
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
// What two of them are to TracerImports.dll: the modules whose imports are
// patched are those that call, and those whose callers are patched are called.
//

static const PENTER_INI_SECTION PenterCapPatches[] = {
    { L"PATCH IMPORTS", PenterIniNames, PenterSettingCallers, NULL },
    { L"PATCH CALLERS", PenterIniNames, PenterSettingImports, NULL }
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
    { L"TRACER_MIN_FREE", L"MIN_FREE", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_VIEW_SIZE", L"VIEW_SIZE", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_FLUSH", L"FLUSH", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_CONTROL", L"CONTROL", PENTER_INI_OUTPUT, FALSE },
    { L"TRACER_ENABLED", L"ENABLED", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_CLOCK", L"CLOCK", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_MIN_DURATION", L"MIN_DURATION", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_MAX_DEPTH", L"MAX_DEPTH", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_STOPPED", L"STOPPED", PENTER_INI_FLAGS, FALSE },
    { L"TRACER_IMPORTS", NULL, 0, FALSE },
    { L"TRACER_CALLERS", NULL, 0, FALSE },
    { L"TRACER_CHILDREN", L"CHILDREN", PENTER_INI_FLAGS, FALSE }
};

//
// CAP's flags but for profile, and why they do not apply.
//

static const struct {
    PCWSTR Name;
    PCSZ Consequence;
} PenterCapFlags[] = {
    { L"DUMPBINARY",
      "stores are always binary; TraceReader converts them to text" },
    { L"CAPTHREAD",
      "there are no threads to turn off: TraceReader reads the stores of a "
      "program that runs" },
    { L"LOADLIBRARY",
      "LoadLibrary is not patched: each module that has hooks records "
      "itself" },
    { L"SETJUMP",
      "longjmp is not patched: calls that it leaves are always recognized by "
      "their stack pointers" },
    { L"UNDECORATENAME",
      "names are made by TraceReader, which undecorates them unless it is "
      "told --raw" },
    { L"EXCELAWARE",
      "reports are made by TraceReader: its --csv is for spreadsheets" },
    { L"REGULAR DUMP",
      "there is no dump at the end: reports are made by TraceReader" },
    { L"CHRONOCOLLECT", "calls are recorded in their order anyway" },
    { L"CHRONODUMP",
      "there is no dump at the end: TraceReader replay shows calls in their "
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

//
// Tells whether a character is a blank or a tab.
//

static
BOOLEAN
PenterIsBlank(
    _In_ WCHAR Character
    )
{
    return Character == L' ' || Character == L'\t';
}

//
// Leaves out the blanks around a text.
// Text: the text and receives the part of it.
//

static
VOID
PenterTrim(
    _Inout_ PUNICODE_STRING Text
    )
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

//
// Appends to a text as much as fits.
// Text: the text, whose MaximumLength says what fits.
// More: what is appended.
// LengthInChars: its length in 16-bit units.
//

static
VOID
PenterAppend(
    _Inout_ PUNICODE_STRING Text,
    _In_reads_(LengthInChars) PCWSTR More,
    _In_ ULONG LengthInChars
    )
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

//
// Appends a decimal number to a text.
//

static
VOID
PenterAppendNumber(
    _Inout_ PUNICODE_STRING Text,
    _In_ ULONG Number
    )
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

//
// Notes something about the line that is being read.
// Parser: the file.
// Text: what is there, or NULL.
// Status: what is wrong with it.
// Consequence: a literal that says what happens now.
//

static
VOID
PenterNote(
    _In_ PPENTER_INI_PARSER Parser,
    _In_opt_ PCUNICODE_STRING Text,
    _In_ NTSTATUS Status,
    _In_z_ PCSZ Consequence
    )
{
    PenterIniError(Parser->Config,
                   PENTER_INI_STEP,
                   Parser->Line,
                   Text,
                   Status,
                   Consequence);
}

//
// Notes what there is to say about all the lines of this section, and counts
// the lines.
// Parser: the file.
//

static
VOID
PenterNoteOnce(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
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

//
// Adds to what was noted once how many more lines it is about.
// Parser: the file, which has been read.
//

static
VOID
PenterCountNotes(
    _In_ PPENTER_INI_PARSER Parser
    )
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

//
// Tells whether a path has neither a drive nor a separator in front.
//

static
BOOLEAN
PenterIsRelative(
    _In_ PCUNICODE_STRING Path
    )
{
    ULONG Length;

    Length = Path->Length / sizeof(WCHAR);
    return Length != 0 &&
           Path->Buffer[0] != L'\\' &&
           Path->Buffer[0] != L'/' &&
           (Length < 2 || Path->Buffer[1] != L':');
}

//
// Keeps a setting's value. A path without a drive is one below the ini file's
// directory.
// IsMore: TRUE if what there is already counts as well, with a semicolon
// between.
// What there is no room for is noted.
//

static
VOID
PenterKeepValue(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PENTER_SETTING Setting,
    _In_ PCUNICODE_STRING Value,
    _In_ BOOLEAN IsMore
    )
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

//
// Takes a line of names: one, or several with semicolons between.
// Parser: the file.
//

static
VOID
PenterReadNames(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
{
    UNICODE_STRING Pattern;
    ULONG Position;

    Position = 0;
    while (PenterNextPattern(Text, &Position, &Pattern)) {
        if (PenterIsPattern(&Pattern) ||
            (Parser->Section->Setting >= PenterSettingImports &&
             Pattern.Length == sizeof(WCHAR) && Pattern.Buffer[0] == L'*')) {

            PenterKeepValue(Parser, Parser->Section->Setting, &Pattern, TRUE);
        } else {
            PenterNote(Parser,
                       &Pattern,
                       STATUS_OBJECT_NAME_INVALID,
                       "no file name begins with this, it is left out");
        }
    }
}

//
// Splits KEY = VALUE at the first equals sign.
// Key: the key without the blanks around it.
// Value: the value without the blanks around it, or the quotes if it is
// between two.
// Returns FALSE if there is no equals sign.
//

static
BOOLEAN
PenterSplitLine(
    _In_ PCUNICODE_STRING Text,
    _Out_ PUNICODE_STRING Key,
    _Out_ PUNICODE_STRING Value
    )
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

//
// Takes a line of a section of tracer.ini that has keys.
// Parser: the file.
//

static
VOID
PenterReadKey(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
{
    UNICODE_STRING Key;
    UNICODE_STRING Value;
    ULONG Section;
    ULONG Setting;

    if (!PenterSplitLine(Text, &Key, &Value)) {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "lines of this section are KEY = VALUE; the line is "
                   "ignored");
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
                   "there is no such key in this section; the line is ignored");
        return;
    }

    if (Parser->Config->Ini.Values[Setting].Line != 0) {
        PenterNote(Parser,
                   Text,
                   STATUS_OBJECT_NAME_COLLISION,
                   "this key occurred before; this line is used");
    }
    PenterKeepValue(Parser, (PENTER_SETTING)Setting, &Value, FALSE);
}

//
// Takes a line of a section about functions: the file of a list, or a
// function's name, which has a ! before any equals sign.
//

static
VOID
PenterReadFunction(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
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

//
// Takes a line of CAP.INI's [OUTPUT FILE]: the file's directory is where the
// sessions go.
//

static
VOID
PenterReadCapOutput(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
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
                   "there is no such key in this section; the line is ignored");
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

//
// Takes a line of CAP.INI's [CAP FLAGS].
// Parser: the file.
//

static
VOID
PenterReadCapFlag(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
{
    UNICODE_STRING Key;
    UNICODE_STRING Value;
    ULONG Index;

    if (!PenterSplitLine(Text, &Key, &Value)) {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "lines of this section are KEY = VALUE; the line is "
                   "ignored");
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
                       "the value must be on or off; the line is ignored");
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
               "there is no such key in this section; the line is ignored");
}

//
// Lines.
//

//
// Takes a line that begins a section.
// Parser: the file.
// Text: the line, whose first character is a bracket. Until it is known, there
// is no section.
//

static
VOID
PenterReadHeading(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
{
    UNICODE_STRING Name;
    ULONG Length;
    ULONG Index;

    Length = Text->Length / sizeof(WCHAR);
    if (Length < 2 || Text->Buffer[Length - 1] != L']') {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "a section is [NAME] on a line of its own; the lines that "
                   "follow are ignored");
        return;
    }

    RtlPointUnicodeString(&Name, Text->Buffer + 1, Length - 2);
    PenterTrim(&Name);
    for (Index = 0; Index < Parser->NumberOfSections; Index += 1) {
        if (PenterIsWord(Parser->Rtl, &Name, Parser->Sections[Index].Name)) {
            Parser->Section = &Parser->Sections[Index];
            if (Parser->Section->Kind == PenterIniCapNames &&
                PenterIsModuleOurs) {

                Parser->Section = &PenterCapPatches[
                    Index == PENTER_CAP_PATCH_IMPORTS ? 0 : 1];
            }
            return;
        }
    }

    PenterNote(Parser,
               Text,
               STATUS_NOT_FOUND,
               "there is no such section; the lines that follow are ignored");
}

//
// Takes a line that is neither empty nor a comment.
// Parser: the file.
// Text: the line without the blanks around it.
//

static
VOID
PenterReadLine(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ PCUNICODE_STRING Text
    )
{
    if (Text->Buffer[0] == L'[') {
        PenterReadHeading(Parser, Text);
        return;
    }

    if (Parser->Section == NULL) {
        PenterNote(Parser,
                   Text,
                   STATUS_INVALID_PARAMETER,
                   "the line is in no section; it is ignored");
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

//
// Reads the unit at a place of the file.
// Place: the place, which has a whole unit.
// Returns the 16-bit unit of UTF-16, or the byte of UTF-8.
//

static
WCHAR
PenterPeek(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ const UCHAR *Place
    )
{
    return Parser->IsWide ? (WCHAR)(Place[0] | Place[1] << 8) : Place[0];
}

//
// Tells whether a line is text: well-formed, without control characters.
// Parser: the file.
// SizeInBytes: its size, a whole number of units.
//

static
BOOLEAN
PenterIsLineText(
    _In_ PPENTER_INI_PARSER Parser,
    _In_ const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
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

//
// Makes text of a line that is neither empty nor a comment, and takes it.
// Parser: the file.
// SizeInBytes: its size, a whole number of units.
//

static
VOID
PenterConvertLine(
    _Inout_ PPENTER_INI_PARSER Parser,
    _In_ const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
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
                   "this is not text in UTF-8 or UTF-16; the line is ignored");
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
                   "the line is ignored");
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
    Config->Ini.IsCap = IsCap;
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

_Use_decl_annotations_
ULONG
PenterGetIniValue(
    const PENTER_CONFIG *Config,
    PCWSTR Variable,
    PUNICODE_STRING Text
    )
{
    const PENTER_INI_VALUE *Value;
    ULONG Length;
    ULONG Index;

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
