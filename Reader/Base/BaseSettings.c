/*++

Module Name:

    BaseSettings.c

Abstract:

    The settings of a traced program, and what they may be.

--*/

#include "BaseSettings.h"

static const PCSZ BaseModes[] = {
    "file", "ring", "tree", "compact", "compact-ring", NULL
};
static const PCSZ BaseClocks[] = { "tsc", "thread", "none", NULL };

#define READER_PATH .Kind = ReaderSettingPath
#define READER_PREFIXES .Kind = ReaderSettingModules
#define READER_ONE_OF(List) .Kind = ReaderSettingWord, .Words = (List)
#define READER_BETWEEN(Lowest, Highest)                                     \
    .Kind = ReaderSettingNumber, .Least = (Lowest), .Most = (Highest)

const READER_SETTING BaseSettings[ReaderSettingCount] = {
    [ReaderSettingOfDirectory] = { "TRACER_DIRECTORY", READER_PATH },
    [ReaderSettingOfMode] = { "TRACER_MODE", READER_ONE_OF(BaseModes) },
    [ReaderSettingOfModules] = { "TRACER_MODULES", READER_PREFIXES },
    [ReaderSettingOfExecutables] = { "TRACER_EXECUTABLES", READER_PREFIXES },
    [ReaderSettingOfImports] = { "TRACER_IMPORTS",
        .Kind = ReaderSettingImports },
    [ReaderSettingOfCallers] = { "TRACER_CALLERS",
        .Kind = ReaderSettingImports },
    [ReaderSettingOfChildren] = { "TRACER_CHILDREN", READER_BETWEEN(0, 1) },
    [ReaderSettingOfExclude] = { "TRACER_EXCLUDE", READER_PATH },
    [ReaderSettingOfChrono] = { "TRACER_CHRONO", READER_PATH },
    [ReaderSettingOfMaximumBytes] = { "TRACER_MAX_BYTES",
        READER_BETWEEN(0x100000, INT64_MAX) },
    [ReaderSettingOfMinimumFree] = { "TRACER_MIN_FREE",
        .Kind = ReaderSettingShare, .Most = INT64_MAX },
    [ReaderSettingOfViewSize] = { "TRACER_VIEW_SIZE",
        .Kind = ReaderSettingPowerOfTwo,
        .Least = 0x10000, .Most = 0x40000000 },
    [ReaderSettingOfClock] = { "TRACER_CLOCK", READER_ONE_OF(BaseClocks) },
    [ReaderSettingOfMinimumDuration] = { "TRACER_MIN_DURATION",
        .Kind = ReaderSettingDuration, .Most = 3600000000000ULL },
    [ReaderSettingOfMaximumDepth] = { "TRACER_MAX_DEPTH",
        READER_BETWEEN(1, 16000) },
    [ReaderSettingOfStopped] = { "TRACER_STOPPED", READER_BETWEEN(0, 1) },
    [ReaderSettingOfFlush] = { "TRACER_FLUSH", READER_BETWEEN(0, 1) },
    [ReaderSettingOfControl] = { "TRACER_CONTROL",
        .Kind = ReaderSettingZeroOr,
        .Least = 0x10000, .Most = 0x10000000 },
    [ReaderSettingOfEnabled] = { "TRACER_ENABLED", READER_BETWEEN(0, 1) },
    [ReaderSettingOfConfig] = { "TRACER_CONFIG", READER_PATH },
};

static
BOOLEAN
BaseIsLetter(
    _In_ WCHAR Character,
    _In_ CHAR Letter
    )
{
    return Character == (WCHAR)Letter ||
           (Letter >= 'a' && Letter <= 'z' &&
            Character == (WCHAR)(Letter - 'a' + 'A')) ||
           (Letter >= 'A' && Letter <= 'Z' &&
            Character == (WCHAR)(Letter - 'A' + 'a'));
}

//
// K, M and G are of bytes.
//

static
BOOLEAN
BaseIsSizeSuffix(
    _In_ WCHAR Character
    )
{
    return BaseIsLetter(Character, 'k') ||
           BaseIsLetter(Character, 'm') ||
           BaseIsLetter(Character, 'g');
}

static
BOOLEAN
BaseIsShareGood(
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length,
    _In_ ULONGLONG Most
    )
{
    ULONGLONG Number;

    if (Text[Length - 1] != L'%') {
        return RtlParseNumber(Text, Length, &Number) && Number <= Most;
    }

    return Length > 1 && !BaseIsSizeSuffix(Text[Length - 2]) &&
           RtlParseNumber(Text, Length - 1, &Number) && Number < 100;
}

static
BOOLEAN
BaseIsDurationGood(
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length,
    _In_ ULONGLONG Most
    )
{
    ULONGLONG Unit = 1;
    ULONGLONG Number;

    if (Length > 1 && Text[Length - 1] == L's') {
        Length -= 1;
        Unit = 1000000000;
        if (Length > 1 && Text[Length - 1] == L'm') {
            Unit = 1000000;
            Length -= 1;
        } else if (Length > 1 && Text[Length - 1] == L'u') {
            Unit = 1000;
            Length -= 1;
        } else if (Length > 1 && Text[Length - 1] == L'n') {
            Unit = 1;
            Length -= 1;
        }
    }

    return !BaseIsSizeSuffix(Text[Length - 1]) &&
           RtlParseNumber(Text, Length, &Number) &&
           Number <= Most / Unit;
}

//
// Are all of the prefixes, which semicolons separate, beginnings that a file's
// name can have, or a function's?
//

static
BOOLEAN
BaseAreModulesGood(
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length,
    _In_ BOOLEAN AreFunctions
    )
{
    static const WCHAR NotInNames[] = L"\"*/:<>?\\|";
    static const WCHAR NotInFunctions[] = L"\"*/\\|";
    PCWSTR Refused = AreFunctions ? NotInFunctions : NotInNames;
    ULONG Begin = 0;
    ULONG End;
    ULONG Index;
    ULONG Other;

    while (Begin < Length) {

        End = Begin;
        while (End < Length && Text[End] != L';') {
            End += 1;
        }

        Index = Begin;
        Begin = End + 1;
        while (Index < End && Text[Index] == L' ') {
            Index += 1;
        }
        while (Index < End && Text[End - 1] == L' ') {
            End -= 1;
        }

        if (Index == End) {
            continue;
        }

        if (Text[Index] == L'-') {
            Index += 1;
            if (Index == End) {
                return FALSE;
            }
        }

        if (AreFunctions && End - Index == 1 && Text[Index] == L'*') {
            continue;
        }

        for (; Index < End; Index++) {
            if (Text[Index] < L' ') {
                return FALSE;
            }
            for (Other = 0; Refused[Other] != 0; Other++) {
                if (Text[Index] == Refused[Other]) {
                    return FALSE;
                }
            }
        }
    }

    return TRUE;
}

//
// Is it anything but blanks, and are all of its characters such that a path can
// have them?  One that begins with \\?\ or \??\ is the object manager's.
//

static
BOOLEAN
BaseIsPathGood(
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length
    )
{
    static const WCHAR Refused[] = L"\"*<>?|";
    BOOLEAN IsBlank = TRUE;
    ULONG Index = 0;
    ULONG Other;

    if (Length > 4 && Text[0] == L'\\' && Text[3] == L'\\' &&
        Text[2] == L'?' && (Text[1] == L'?' || Text[1] == L'\\')) {
        Index = 4;
    }

    for (; Index < Length; Index++) {
        if (Text[Index] < L' ') {
            return FALSE;
        }
        for (Other = 0; Refused[Other] != 0; Other++) {
            if (Text[Index] == Refused[Other]) {
                return FALSE;
            }
        }
        IsBlank = IsBlank && Text[Index] == L' ';
    }

    return !IsBlank;
}

_Use_decl_annotations_
BOOLEAN
BaseIsSettingGood(
    PCREADER_SETTING Setting,
    PCWSTR Text
    )
{
    ULONG Length = RtlLengthOfWideString(Text);
    ULONGLONG Number;
    ULONG Word;
    ULONG Index;

    if (Length == 0 || Length >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return FALSE;
    }

    switch (Setting->Kind) {

    case ReaderSettingPath:
        return BaseIsPathGood(Text, Length);

    case ReaderSettingModules:
    case ReaderSettingImports:
        return BaseAreModulesGood(Text,
                                  Length,
                                  Setting->Kind == ReaderSettingImports);

    case ReaderSettingShare:
        return BaseIsShareGood(Text, Length, Setting->Most);

    case ReaderSettingDuration:
        return BaseIsDurationGood(Text, Length, Setting->Most);

    case ReaderSettingWord:
        for (Word = 0; Setting->Words[Word] != NULL; Word++) {
            Index = 0;
            while (Index < Length && Setting->Words[Word][Index] != 0 &&
                   BaseIsLetter(Text[Index], Setting->Words[Word][Index])) {
                Index += 1;
            }
            if (Index == Length && Setting->Words[Word][Index] == 0) {
                return TRUE;
            }
        }

        return FALSE;

    default:
        if (!RtlParseNumber(Text, Length, &Number)) {
            return FALSE;
        }
        if (Number == 0 && Setting->Kind == ReaderSettingZeroOr) {
            return TRUE;
        }

        return Number >= Setting->Least && Number <= Setting->Most &&
               (Setting->Kind != ReaderSettingPowerOfTwo ||
                (Number & (Number - 1)) == 0);
    }
}

_Use_decl_annotations_
ULONG
BaseFindSetting(
    PCSZ Name,
    ULONG LengthInBytes
    )
{
    ULONG Setting;
    ULONG Index;

    for (Setting = 0; Setting < ReaderSettingCount; Setting++) {

        PCSZ Variable = BaseSettings[Setting].Variable;

        Index = 0;
        while (Index < LengthInBytes && Variable[Index] != 0 &&
               BaseIsLetter((UCHAR)Name[Index], Variable[Index])) {
            Index += 1;
        }

        if (Index == LengthInBytes && Variable[Index] == 0) {
            break;
        }
    }

    return Setting;
}
