/*++

Module Name:

    FuzzIni.c

Abstract:

    Fuzz target: an ini file through PenterIni.c, against a plain reading of
    what Docs/Settings.md says: the text and the line of every setting, and the
    number of messages.

    The input is

        1 byte      bit 0: it is a CAP.INI
        bytes       the file

--*/

#include "FuzzSupport.h"
#include "../../Penter/PenterIni.h"
#include <stdlib.h>
#include <string.h>

#define FUZZ_MAXIMUM_FILE   0x4000
#define FUZZ_BAD_CHARACTER  0xFFFFFFFFu

//
// Of a longer one all values may have no room; what is noted then is not said
// here.
//

#define FUZZ_KNOWN_ROOM     (PENTER_INI_TEXT_IN_CHARS - 2 * FUZZ_MAXIMUM_FILE)

typedef struct _FUZZ_VALUE {
    ULONG Line;
    ULONG Length;
    WCHAR Text[PENTER_INI_TEXT_IN_CHARS];
} FUZZ_VALUE;

//
// A line as UTF-16, or with a bad character where it is none.
//

typedef struct _FUZZ_LINE {
    ULONG Length;
    BOOLEAN IsBad;
    WCHAR Text[FUZZ_MAXIMUM_FILE + 1];
} FUZZ_LINE;
typedef FUZZ_LINE *PFUZZ_LINE;

static FUZZ_VALUE FuzzValues[PENTER_NUMBER_OF_SETTINGS];
static FUZZ_LINE FuzzLine;
static ULONG FuzzLineNumber;
static ULONG FuzzNotes;
static int FuzzSection;                 // -1: none yet, -2: unknown
static ULONG FuzzSaid[8];
static const WCHAR FuzzDirectory[] = L"C:\\Program Files\\";

static const PCSZ FuzzSections[2][9] = {
    { "executables", "modules", "exclude", "chronological", "output", "flags",
      NULL },
    { "exes", "patch imports", "patch callers", "name length", "chrono funcs",
      "exclude funcs", "output file", "cap flags", NULL }
};

static const struct {
    int Section;
    PCSZ Key;
    PENTER_SETTING Setting;
} FuzzKeys[] = {
    { 2, "list", PenterSettingExclude },
    { 3, "list", PenterSettingChrono },
    { 4, "directory", PenterSettingDirectory },
    { 4, "mode", PenterSettingMode },
    { 4, "max_bytes", PenterSettingMaximumBytes },
    { 4, "view_size", PenterSettingViewSize },
    { 4, "flush", PenterSettingFlush },
    { 4, "control", PenterSettingControl },
    { 5, "enabled", PenterSettingEnabled },
    { 5, "clock", PenterSettingClock },
    { 5, "min_duration", PenterSettingMinimumDuration },
    { 5, "max_depth", PenterSettingMaximumDepth },
    { 5, "stopped", PenterSettingStopped },
    { 5, "children", PenterSettingChildren }
};

//
// RtlUpcaseUnicodeChar, for ASCII.
// Returns the capital.
//

static
WCHAR
FuzzUpcaseUnicodeChar(
    WCHAR SourceCharacter
    )
{
    return SourceCharacter >= L'a' && SourceCharacter <= L'z' ?
           (WCHAR)(SourceCharacter - 32) : SourceCharacter;
}

//
// Says whether a text without the blanks around it is a word, in any case.
// Word: the word, in small letters.
//

static
BOOLEAN
FuzzIs(
    const WCHAR *Text,
    ULONG Length,
    PCSZ Word
    )
{
    ULONG Index;

    if (Length != strlen(Word)) {
        return FALSE;
    }
    for (Index = 0; Index < Length; Index++) {
        if (FuzzUpcaseUnicodeChar(Text[Index]) !=
            FuzzUpcaseUnicodeChar((WCHAR)Word[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Leaves out the blanks around a text.
//

static
VOID
FuzzTrim(
    const WCHAR **Text,
    ULONG *Length
    )
{
    while (*Length != 0 && (**Text == L' ' || **Text == L'\t')) {
        *Text += 1;
        *Length -= 1;
    }
    while (*Length != 0 && ((*Text)[*Length - 1] == L' ' ||
                            (*Text)[*Length - 1] == L'\t')) {
        *Length -= 1;
    }
}

//
// Sets a value; paths that are relative are in the directory of the file.
//

static
VOID
FuzzSet(
    PENTER_SETTING Setting,
    const WCHAR *Text,
    ULONG Length
    )
{
    FUZZ_VALUE *Value = &FuzzValues[Setting];
    ULONG Start = 0;

    if ((Setting == PenterSettingDirectory || Setting == PenterSettingExclude ||
         Setting == PenterSettingChrono) &&
        Length != 0 && Text[0] != L'\\' && Text[0] != L'/' &&
        (Length == 1 || Text[1] != L':')) {

        Start = RTL_NUMBER_OF(FuzzDirectory) - 1;
        memcpy(Value->Text, FuzzDirectory, Start * sizeof(WCHAR));
    }

    memcpy(Value->Text + Start, Text, Length * sizeof(WCHAR));
    Value->Length = Start + Length;
    Value->Line = FuzzLineNumber;
}

//
// Adds the names of a line, which semicolons separate.
//

static
VOID
FuzzAddNames(
    PENTER_SETTING Setting,
    const WCHAR *Text,
    ULONG Length
    )
{
    FUZZ_VALUE *Value = &FuzzValues[Setting];
    const WCHAR *Name;
    ULONG NameLength;
    ULONG Index;
    BOOLEAN IsGood;

    while (Length != 0) {
        Name = Text;
        while (Length != 0 && *Text != L';') {
            Text += 1;
            Length -= 1;
        }
        NameLength = (ULONG)(Text - Name);
        if (Length != 0) {
            Text += 1;
            Length -= 1;
        }

        //
        // Only blanks are around a name: a tab is none.
        //

        while (NameLength != 0 && *Name == L' ') {
            Name += 1;
            NameLength -= 1;
        }
        while (NameLength != 0 && Name[NameLength - 1] == L' ') {
            NameLength -= 1;
        }
        if (NameLength == 0) {
            continue;
        }

        IsGood = NameLength != 1 || *Name != L'-';
        for (Index = 0; Index < NameLength; Index++) {
            if (Name[Index] < 0x20 ||
                (Name[Index] < 0x80 &&
                 strchr("\"*/:<>?\\|", (int)Name[Index]) != NULL)) {
                IsGood = FALSE;
            }
        }
        if (!IsGood) {
            FuzzNotes += 1;
            continue;
        }

        if (Value->Line == 0) {
            Value->Line = FuzzLineNumber;
        } else if (Value->Length < PENTER_INI_TEXT_IN_CHARS / 2) {
            Value->Text[Value->Length] = L';';
            Value->Length += 1;
        }
        if (Value->Length < PENTER_INI_TEXT_IN_CHARS / 2) {
            memcpy(Value->Text + Value->Length,
                   Name,
                   NameLength * sizeof(WCHAR));
            Value->Length += NameLength;
        }
    }
}

//
// Counts what is noted once for a section.
//

static
VOID
FuzzSayOnce(
    VOID
    )
{
    FuzzNotes += FuzzSaid[FuzzSection] == 0;
    FuzzSaid[FuzzSection] = 1;
}

//
// Reads a line of a CAP.INI.
// Key, KeyLength: what is before the equals sign; NULL: there is none.
// Value, ValueLength: what is behind it.
//

static
VOID
FuzzReadCap(
    const WCHAR *Text,
    ULONG Length,
    const WCHAR *Key,
    ULONG KeyLength,
    const WCHAR *Value,
    ULONG ValueLength
    )
{
    ULONG Directory;

    switch (FuzzSection) {
    case 0:
        FuzzAddNames(PenterSettingExecutables, Text, Length);
        return;
    case 1:
    case 2:
        FuzzSayOnce();
        FuzzAddNames(PenterSettingModules, Text, Length);
        return;
    case 3:
    case 4:
    case 5:
        FuzzSayOnce();
        return;
    case 6:
        if (Key == NULL || !FuzzIs(Key, KeyLength, "filename")) {
            FuzzNotes += 1;
            return;
        }
        if (ValueLength == 0) {
            return;
        }
        FuzzNotes += 1;
        Directory = ValueLength;
        while (Directory != 0 && Value[Directory - 1] != L'\\' &&
               Value[Directory - 1] != L'/' &&
               (Directory != 2 || Value[1] != L':')) {
            Directory -= 1;
        }
        if (Directory != 0) {
            FuzzSet(PenterSettingDirectory, Value, Directory);
        }
        return;
    default:
        if (Key == NULL || !FuzzIs(Key, KeyLength, "profile")) {
            FuzzNotes += 1;
        } else if (FuzzIs(Value, ValueLength, "off")) {
            FuzzSet(PenterSettingStopped, L"1", 1);
        } else if (FuzzIs(Value, ValueLength, "on")) {
            FuzzSet(PenterSettingStopped, L"0", 1);
        } else {
            FuzzNotes += ValueLength != 0;
        }
        return;
    }
}

//
// Reads a line of text of a section that is known.
// IsCap: whether it is a CAP.INI.
//

static
VOID
FuzzReadLine(
    const WCHAR *Text,
    ULONG Length,
    BOOLEAN IsCap
    )
{
    const WCHAR *Key = NULL;
    const WCHAR *Value = NULL;
    ULONG KeyLength = 0;
    ULONG ValueLength = 0;
    ULONG Index;
    BOOLEAN IsFunction = TRUE;

    for (Index = 0; Index < Length; Index++) {
        if (Text[Index] == L'=') {
            Key = Text;
            KeyLength = Index;
            Value = Text + Index + 1;
            ValueLength = Length - Index - 1;
            FuzzTrim(&Key, &KeyLength);
            FuzzTrim(&Value, &ValueLength);
            if (ValueLength >= 2 && Value[0] == L'"' &&
                Value[ValueLength - 1] == L'"') {
                Value += 1;
                ValueLength -= 2;
            }
            break;
        }
    }

    if (IsCap) {
        FuzzReadCap(Text, Length, Key, KeyLength, Value, ValueLength);
        return;
    }
    if (FuzzSection < 2) {
        FuzzAddNames(FuzzSection == 0 ? PenterSettingExecutables :
                                        PenterSettingModules,
                     Text,
                     Length);
        return;
    }

    if (Key != NULL) {
        IsFunction = FALSE;
        for (Index = 0; Index < KeyLength; Index++) {
            if (Key[Index] == L'!') {
                IsFunction = TRUE;
            }
        }
    }
    if (FuzzSection < 4 && IsFunction) {
        FuzzSayOnce();
        return;
    }

    for (Index = 0; Key != NULL && Index < RTL_NUMBER_OF(FuzzKeys); Index++) {
        if (FuzzKeys[Index].Section == FuzzSection &&
            FuzzIs(Key, KeyLength, FuzzKeys[Index].Key)) {
            FuzzNotes += FuzzValues[FuzzKeys[Index].Setting].Line != 0;
            FuzzSet(FuzzKeys[Index].Setting, Value, ValueLength);
            return;
        }
    }
    FuzzNotes += 1;
}

//
// Reads a line that begins with a bracket.
// IsCap: whether it is a CAP.INI.
//

static
VOID
FuzzReadHeading(
    const WCHAR *Text,
    ULONG Length,
    BOOLEAN IsCap
    )
{
    FuzzSection = -2;
    if (Length >= 2 && Text[Length - 1] == L']') {
        Text += 1;
        Length -= 2;
        FuzzTrim(&Text, &Length);
        for (FuzzSection = 0;
             FuzzSections[IsCap][FuzzSection] != NULL;
             FuzzSection++) {
            if (FuzzIs(Text, Length, FuzzSections[IsCap][FuzzSection])) {
                return;
            }
        }
        FuzzSection = -2;
    }
    FuzzNotes += 1;
}

//
// Decodes UTF-8 as the Unicode standard's table of well-formed sequences has
// it.
// Bytes, Size: what is left, at least a byte.
// Character: the character, or FUZZ_BAD_CHARACTER.
// Returns how many bytes it has; 1 of a bad one.
//

static
SIZE_T
FuzzDecode(
    const UCHAR *Bytes,
    SIZE_T Size,
    ULONG *Character
    )
{
    static const struct {
        UCHAR First, Last, LowSecond, HighSecond, Length;
    } Rows[] = {
        { 0x00, 0x7F, 0, 0, 1 },
        { 0xC2, 0xDF, 0x80, 0xBF, 2 },
        { 0xE0, 0xE0, 0xA0, 0xBF, 3 },
        { 0xE1, 0xEC, 0x80, 0xBF, 3 },
        { 0xED, 0xED, 0x80, 0x9F, 3 },
        { 0xEE, 0xEF, 0x80, 0xBF, 3 },
        { 0xF0, 0xF0, 0x90, 0xBF, 4 },
        { 0xF1, 0xF3, 0x80, 0xBF, 4 },
        { 0xF4, 0xF4, 0x80, 0x8F, 4 }
    };
    SIZE_T Index;
    ULONG Row;

    *Character = FUZZ_BAD_CHARACTER;
    for (Row = 0; Row < RTL_NUMBER_OF(Rows); Row++) {
        if (Bytes[0] >= Rows[Row].First && Bytes[0] <= Rows[Row].Last) {
            break;
        }
    }
    if (Row == RTL_NUMBER_OF(Rows) || Size < Rows[Row].Length) {
        return 1;
    }
    for (Index = 1; Index < Rows[Row].Length; Index++) {
        if (Bytes[Index] < (Index == 1 ? Rows[Row].LowSecond : 0x80) ||
            Bytes[Index] > (Index == 1 ? Rows[Row].HighSecond : 0xBF)) {
            return 1;
        }
    }

    *Character = Rows[Row].Length == 1 ? Bytes[0] :
                 Bytes[0] & (0xFFu >> (Rows[Row].Length + 1));
    for (Index = 1; Index < Rows[Row].Length; Index++) {
        *Character = *Character << 6 | (Bytes[Index] & 0x3Fu);
    }
    return Rows[Row].Length;
}

//
// Makes FuzzLine of a line's bytes.
// Bytes, Size: the line, trimmed.
// IsWide: whether it is UTF-16.
//

static
VOID
FuzzConvert(
    const UCHAR *Bytes,
    SIZE_T Size,
    BOOLEAN IsWide
    )
{
    ULONG Character;
    SIZE_T Used;

    FuzzLine.Length = 0;
    FuzzLine.IsBad = FALSE;
    while (Size != 0) {
        if (IsWide) {
            Character = (ULONG)(Bytes[0] | Bytes[1] << 8);
            Used = 2;
        } else {
            Used = FuzzDecode(Bytes, Size, &Character);
        }
        Bytes += Used;
        Size -= Used;
        if (Character == FUZZ_BAD_CHARACTER ||
            (Character < 0x20 && Character != 9)) {
            FuzzLine.IsBad = TRUE;
            return;
        }
        if (Character > 0xFFFF) {
            FuzzLine.Text[FuzzLine.Length] =
                (WCHAR)(0xD7C0 + (Character >> 10));
            FuzzLine.Length += 1;
            Character = 0xDC00 + (Character & 0x3FF);
        }
        FuzzLine.Text[FuzzLine.Length] = (WCHAR)Character;
        FuzzLine.Length += 1;
    }
}

//
// Reads a file into FuzzValues, and counts FuzzNotes.
// IsCap: whether it is a CAP.INI.
//

static
VOID
FuzzReadFile(
    const UCHAR *Bytes,
    SIZE_T Size,
    BOOLEAN IsCap
    )
{
    const WCHAR *Text;
    SIZE_T Unit = 1;
    SIZE_T First;
    SIZE_T Last;
    SIZE_T Next;
    ULONG Length;
    UCHAR Begins;

    if (Size >= 3 && memcmp(Bytes, "\xEF\xBB\xBF", 3) == 0) {
        Bytes += 3;
        Size -= 3;
    } else if (Size >= 2 && memcmp(Bytes, "\xFF\xFE", 2) == 0) {
        Bytes += 2;
        Size -= 2;
        Unit = 2;
    } else if (Size >= 2 && Bytes[0] != 0 && Bytes[1] == 0) {
        Unit = 2;
    }
    Size -= Size % Unit;

#define FUZZ_IS_UNIT(Place, Value) \
    (Bytes[Place] == (Value) && (Unit == 1 || Bytes[(Place) + 1] == 0))

    for (First = 0; First < Size; First = Next) {
        FuzzLineNumber += 1;
        Last = First;
        while (Last < Size && !FUZZ_IS_UNIT(Last, '\n')) {
            Last += Unit;
        }
        Next = Last + Unit;

        while (Last > First && (FUZZ_IS_UNIT(Last - Unit, ' ') ||
                                FUZZ_IS_UNIT(Last - Unit, '\t'))) {
            Last -= Unit;
        }
        if (Last > First && FUZZ_IS_UNIT(Last - Unit, '\r')) {
            Last -= Unit;
        }
        while (First < Last && (FUZZ_IS_UNIT(First, ' ') ||
                                FUZZ_IS_UNIT(First, '\t'))) {
            First += Unit;
        }
        if (First == Last) {
            continue;
        }

        Begins = Unit == 1 || Bytes[First + 1] == 0 ? Bytes[First] : 0;
        if (Begins == ';' || Begins == '#' ||
            (Begins != '[' && FuzzSection == -2)) {
            continue;
        }
        FuzzConvert(Bytes + First, Last - First, Unit == 2);
        Text = FuzzLine.Text;
        Length = FuzzLine.Length;
        FuzzTrim(&Text, &Length);
        if (FuzzLine.IsBad) {
            FuzzNotes += 1;
            FuzzSection = Begins == '[' ? -2 : FuzzSection;
        } else if (Begins == '[') {
            FuzzReadHeading(Text, Length, IsCap);
        } else if (FuzzSection == -1) {
            FuzzNotes += 1;
        } else {
            FuzzReadLine(Text, Length, IsCap);
        }
    }
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    static const WCHAR Name[] = L"x.ini";
    PPENTER_CONFIG Config;
    PENTER_INI_VALUE *Value;
    PUCHAR File;
    ULONG Index;
    ULONG Length = RTL_NUMBER_OF(FuzzDirectory) - 1;
    BOOLEAN IsCap;
    RTL Rtl;

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size));
    if (Size == 0 || Size > FUZZ_MAXIMUM_FILE) {
        return 0;
    }
    IsCap = (Data[0] & 1) != 0;
    Size -= 1;

    //
    // A block of the file's size, so that the sanitizer knows its end.
    //

    Config = (PPENTER_CONFIG)calloc(1, sizeof(*Config));
    File = (PUCHAR)malloc(Size == 0 ? 1 : Size);
    if (Config == NULL || File == NULL) {
        abort();
    }
    memcpy(File, Data + 1, Size);
    memcpy(Config->Ini.PathBuffer, FuzzDirectory, Length * sizeof(WCHAR));
    memcpy(Config->Ini.PathBuffer + Length, Name, sizeof(Name));
    RtlPointUnicodeString(&Config->Ini.Path,
                          Config->Ini.PathBuffer,
                          Length + RTL_NUMBER_OF(Name) - 1);

    memset(&Rtl, 0, sizeof(Rtl));
    Rtl.RtlUpcaseUnicodeChar = FuzzUpcaseUnicodeChar;
    PenterParseIni(&Rtl, Config, File, (ULONG)Size, IsCap);

    for (Index = 0; Index < PENTER_NUMBER_OF_SETTINGS; Index++) {
        FuzzValues[Index].Line = 0;
        FuzzValues[Index].Length = 0;
    }
    memset(FuzzSaid, 0, sizeof(FuzzSaid));
    FuzzLineNumber = 0;
    FuzzNotes = 0;
    FuzzSection = -1;
    FuzzReadFile(File, Size, IsCap);

    FUZZ_CHECK(Config->NumberOfErrors <= PENTER_MAXIMUM_CONFIG_ERRORS);
    FUZZ_CHECK(Config->Ini.LengthInChars <= PENTER_INI_TEXT_IN_CHARS);
    for (Index = 0; Index < Config->NumberOfErrors; Index++) {
        FUZZ_CHECK(!NT_SUCCESS(Config->Errors[Index].Status));
        FUZZ_CHECK(Config->Consequences[Index] != NULL);
        FUZZ_CHECK(Config->Errors[Index].ObjectLengthInChars <=
                   RTL_NUMBER_OF(Config->Errors[Index].Object));
    }

    if (Config->Ini.LengthInChars < FUZZ_KNOWN_ROOM) {
        FUZZ_CHECK(Config->NumberOfErrors + Config->NumberOfErrorsLeftOut ==
                   FuzzNotes);
        for (Index = 0; Index < PENTER_NUMBER_OF_SETTINGS; Index++) {
            Value = &Config->Ini.Values[Index];
            FUZZ_CHECK(Value->Line == FuzzValues[Index].Line);
            FUZZ_CHECK(Value->Text.Length ==
                       FuzzValues[Index].Length * sizeof(WCHAR));
            FUZZ_CHECK(Value->Text.Length == 0 ||
                       memcmp(Value->Text.Buffer,
                              FuzzValues[Index].Text,
                              Value->Text.Length) == 0);
        }
    }

    free(File);
    free(Config);
    (VOID)FuzzEndWork();
    return 0;
}
