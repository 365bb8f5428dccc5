/*++

Module Name:

    FuzzConfig.c

Abstract:

    Fuzz target: the environment through PenterConfig.c, against a plain
    rendering of what is documented.  There is no ini file; FuzzIni has those.

    The input is

        1 byte      nothing
        1 byte      which allocation of pages fails; 0: none
        1 byte      which variables are there (bits 0 to 3); bit 4: texts have
                    two bytes a character; bit 5: paths cannot be made absolute
        texts       TRACER_ENABLED, TRACER_VIEW_SIZE, TRACER_DIRECTORY,
                    TRACER_MODULES, the module's path: 2 bytes of length each
        1 byte      which of those that follow are there
        texts       TRACER_CLOCK, TRACER_MODE, TRACER_MAX_BYTES,
                    TRACER_MAX_DEPTH, TRACER_FLUSH, TRACER_MIN_DURATION,
                    TRACER_BASE_DIRECTORY, TRACER_MIN_FREE: likewise

--*/

#include "FuzzSupport.h"
#include "../../Penter/PenterConfig.h"
#include "../../TraceStore/TraceDepth.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FUZZ_IS_WIDE_TEXT 0x10
#define FUZZ_IS_FULL_PATH_FAILING 0x20

#define FUZZ_NUMBER_OF_TEXTS 13
#define FUZZ_FIRST_CHOICE 5
#define FUZZ_TEXT_DIRECTORY 2
#define FUZZ_TEXT_MODULES 3
#define FUZZ_TEXT_MODULE_PATH 4
#define FUZZ_TEXT_CLOCK 5
#define FUZZ_TEXT_MODE 6
#define FUZZ_TEXT_MAX_BYTES 7
#define FUZZ_TEXT_MAX_DEPTH 8
#define FUZZ_TEXT_FLUSH 9
#define FUZZ_TEXT_MIN_DURATION 10
#define FUZZ_TEXT_BASE_DIRECTORY 11
#define FUZZ_TEXT_MIN_FREE 12

typedef struct _FUZZ_TEXT {
    PWCHAR Buffer;
    ULONG Length;                   // 16-bit units
    BOOLEAN IsThere;
} FUZZ_TEXT;
typedef FUZZ_TEXT *PFUZZ_TEXT;

typedef struct _FUZZ_ENVIRONMENT {
    FUZZ_TEXT Texts[FUZZ_NUMBER_OF_TEXTS];
    ULONG Flags;
    FUZZ_ALLOCATOR Allocator;
} FUZZ_ENVIRONMENT;

static FUZZ_ENVIRONMENT FuzzEnvironment;

static const PCSZ FuzzNames[FUZZ_NUMBER_OF_TEXTS] = {
    "TRACER_ENABLED",
    "TRACER_VIEW_SIZE",
    "TRACER_DIRECTORY",
    "TRACER_MODULES",
    "(the module's path)",
    "TRACER_CLOCK",
    "TRACER_MODE",
    "TRACER_MAX_BYTES",
    "TRACER_MAX_DEPTH",
    "TRACER_FLUSH",
    "TRACER_MIN_DURATION",
    "TRACER_BASE_DIRECTORY",
    "TRACER_MIN_FREE"
};

//
// Texts, for the plain rendering.
//

//
// RtlUpcaseUnicodeChar, for Latin-1.
// Returns the capital.
//

static
WCHAR
FuzzUpcaseUnicodeChar(
    WCHAR SourceCharacter
    )
{
    if ((SourceCharacter >= L'a' && SourceCharacter <= L'z') ||
        (SourceCharacter >= 0xE0 && SourceCharacter <= 0xFE &&
         SourceCharacter != 0xF7)) {
        return (WCHAR)(SourceCharacter - 32);
    }

    return SourceCharacter;
}

//
// Says whether a text begins with another one, in any case.
// Prefix, PrefixLength: the beginning.
//

static
BOOLEAN
FuzzIsPrefix(
    const WCHAR *Prefix,
    ULONG PrefixLength,
    const WCHAR *Text,
    ULONG TextLength
    )
{
    ULONG Index;

    if (PrefixLength > TextLength) {
        return FALSE;
    }

    for (Index = 0; Index < PrefixLength; Index++) {
        if (FuzzUpcaseUnicodeChar(Prefix[Index]) !=
            FuzzUpcaseUnicodeChar(Text[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Says whether a file name may begin like this.
// Name, Length: the beginning.
//

static
BOOLEAN
FuzzIsNameValid(
    const WCHAR *Name,
    ULONG Length
    )
{
    ULONG Index;

    for (Index = 0; Index < Length; Index++) {
        if (Name[Index] < 0x20 ||
            (Name[Index] < 0x80 &&
             strchr("\"*/:<>?\\|", (int)Name[Index]) != NULL)) {
            return FALSE;
        }
    }

    return Length != 0;
}

//
// Says whether a path is that of one directory, whoever uses it: \\..., also
// with /, \?..., or X:\....
//

static
BOOLEAN
FuzzIsAbsolute(
    const FUZZ_TEXT *Text
    )
{
    static const WCHAR Forms[][4] = {
        L"\\\\", L"\\/", L"/\\", L"//", L"\\?", L"/?"
    };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Forms); Index++) {
        if (Text->Length >= 2 && Text->Buffer[0] == Forms[Index][0] &&
            Text->Buffer[1] == Forms[Index][1]) {
            return TRUE;
        }
    }

    return Text->Length > 2 && Text->Buffer[1] == L':' &&
           (Text->Buffer[2] == L'\\' || Text->Buffer[2] == L'/');
}

//
// Decides about a module as PenterConfig.h says, pattern by pattern.
// Patterns: the value of TRACER_MODULES.
// Name, NameLength: the module's file name.
// Included: the decision.
// Returns FALSE if a pattern is not valid.
//

static
BOOLEAN
FuzzDecide(
    const FUZZ_TEXT *Patterns,
    const WCHAR *Name,
    ULONG NameLength,
    PBOOLEAN Included
    )
{
    const WCHAR *Text = Patterns->Buffer;
    ULONG BestLength = 0;
    ULONG End;
    ULONG Next;
    ULONG Start;
    BOOLEAN HasIncludes = FALSE;
    BOOLEAN HasMatch = FALSE;
    BOOLEAN IsExclude;
    BOOLEAN Best = TRUE;

    for (Start = 0; Start < Patterns->Length; Start = Next + 1) {

        Next = Start;
        while (Next < Patterns->Length && Text[Next] != L';') {
            Next += 1;
        }

        End = Next;
        while (Start < End && Text[Start] == L' ') {
            Start += 1;
        }
        while (Start < End && Text[End - 1] == L' ') {
            End -= 1;
        }
        if (Start == End) {
            continue;
        }

        IsExclude = Text[Start] == L'-';
        if (IsExclude) {
            Start += 1;
        } else {
            HasIncludes = TRUE;
        }

        if (!FuzzIsNameValid(Text + Start, End - Start)) {
            *Included = TRUE;
            return FALSE;
        }

        if (FuzzIsPrefix(Text + Start, End - Start, Name, NameLength) &&
            (!HasMatch || End - Start > BestLength)) {
            HasMatch = TRUE;
            Best = !IsExclude;
            BestLength = End - Start;
        }
    }

    *Included = HasMatch ? Best : !HasIncludes;
    return TRUE;
}

//
// Parses a number as Rtl.h says.
// Returns FALSE if it is none.
//

static
BOOLEAN
FuzzParseNumber(
    const FUZZ_TEXT *Text,
    PULONGLONG Number
    )
{
    static const CHAR Digits[] = "0123456789ABCDEF";
    __extension__ unsigned __int128 Value = 0;
    ULONG Base = 10;
    ULONG Index = 0;
    ULONG Length = Text->Length;
    ULONG Shift = 0;
    WCHAR Last;
    PCSZ Digit;

    if (Length == 0) {
        return FALSE;
    }

    if (Length >= 2 && Text->Buffer[0] == L'0' &&
        FuzzUpcaseUnicodeChar(Text->Buffer[1]) == L'X') {
        Base = 16;
        Index = 2;
    }

    Last = FuzzUpcaseUnicodeChar(Text->Buffer[Length - 1]);
    Shift = Last == L'K' ? 10 : Last == L'M' ? 20 : Last == L'G' ? 30 : 0;
    if (Shift != 0) {
        Length -= 1;
    }

    if (Index >= Length) {
        return FALSE;
    }

    for (; Index < Length; Index++) {
        Last = FuzzUpcaseUnicodeChar(Text->Buffer[Index]);
        Digit = Last == 0 || Last > 0x7F ? NULL : strchr(Digits, (int)Last);
        if (Digit == NULL || (ULONG)(Digit - Digits) >= Base) {
            return FALSE;
        }

        Value = Value * Base + (ULONG)(Digit - Digits);
        if (Value > UINT64_MAX) {
            return FALSE;
        }
    }

    Value <<= Shift;
    *Number = (ULONGLONG)Value;
    return Value <= UINT64_MAX;
}

//
// The system.
//

//
// RtlQueryEnvironmentVariable_U.
// As RtlQueryEnvironmentVariable_U.
//

static
NTSTATUS
FuzzQueryEnvironmentVariable(
    PVOID Environment,
    PUNICODE_STRING Name,
    PUNICODE_STRING Value
    )
{
    static const PCSZ Unset[] = {
        "LOCALAPPDATA", "TRACER_CHRONO", "TRACER_CONFIG",
        "TRACER_CONTROL", "TRACER_EXCLUDE", "TRACER_EXECUTABLES",
        "TRACER_STOPPED"
    };
    PFUZZ_TEXT Text;
    ULONG Char;
    ULONG Index;

    UNREFERENCED_PARAMETER(Environment);

    for (Index = 0; Index < RTL_NUMBER_OF(FuzzNames); Index++) {

        for (Char = 0; Char < Name->Length / sizeof(WCHAR); Char++) {
            if (Name->Buffer[Char] != (WCHAR)FuzzNames[Index][Char]) {
                break;
            }
        }

        if (Char != Name->Length / sizeof(WCHAR) ||
            FuzzNames[Index][Char] != 0) {
            continue;
        }

        Text = &FuzzEnvironment.Texts[Index];
        if (!Text->IsThere) {
            return STATUS_VARIABLE_NOT_FOUND;
        }

        if (Text->Length * sizeof(WCHAR) > Value->MaximumLength) {
            Value->Length = (USHORT)(Text->Length * sizeof(WCHAR));
            return STATUS_BUFFER_TOO_SMALL;
        }

        RtlCopyBytes(Value->Buffer,
                     Text->Buffer,
                     Text->Length * sizeof(WCHAR));
        Value->Length = (USHORT)(Text->Length * sizeof(WCHAR));
        return STATUS_SUCCESS;
    }

    //
    // Those that are not in the input.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Unset); Index++) {
        for (Char = 0; Char < Name->Length / sizeof(WCHAR); Char++) {
            if (Name->Buffer[Char] != (WCHAR)Unset[Index][Char]) {
                break;
            }
        }
        if (Char == Name->Length / sizeof(WCHAR) && Unset[Index][Char] == 0) {
            return STATUS_VARIABLE_NOT_FOUND;
        }
    }

    FUZZ_CHECK(!"a variable that is documented");
    return STATUS_VARIABLE_NOT_FOUND;
}

//
// NtCreateFile: there is no file.
// As NtCreateFile.
// Returns STATUS_OBJECT_NAME_NOT_FOUND.
//

static
NTSTATUS
FuzzCreateFile(
    PHANDLE Handle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PIO_STATUS_BLOCK IoStatus,
    LARGE_INTEGER *AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG Disposition,
    ULONG Options,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    UNREFERENCED_PARAMETER(Handle);
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(Disposition);
    UNREFERENCED_PARAMETER(Options);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    return STATUS_OBJECT_NAME_NOT_FOUND;
}

//
// GetModuleFileNameW.
// As GetModuleFileNameW.
// Returns the length; Size if it does not fit.
//

static
DWORD
FuzzGetModuleFileName(
    HMODULE Module,
    LPWSTR FileName,
    DWORD Size
    )
{
    PFUZZ_TEXT Text = &FuzzEnvironment.Texts[FUZZ_TEXT_MODULE_PATH];

    UNREFERENCED_PARAMETER(Module);

    if (Text->Length >= Size) {
        RtlCopyBytes(FileName, Text->Buffer, (Size - 1) * sizeof(WCHAR));
        FileName[Size - 1] = 0;
        return Size;
    }

    RtlCopyBytes(FileName, Text->Buffer, Text->Length * sizeof(WCHAR));
    FileName[Text->Length] = 0;
    return Text->Length;
}

//
// GetFullPathNameW: C:\ in front of what has no backslash in front.
// As GetFullPathNameW.
// Returns the length, the size that is needed, or 0.
//

static
DWORD
FuzzGetFullPathName(
    LPCWSTR FileName,
    DWORD BufferLength,
    LPWSTR Buffer,
    LPWSTR *FilePart
    )
{
    DWORD Length = 0;
    DWORD Start = FileName[0] == L'\\' ? 0 : 3;

    UNREFERENCED_PARAMETER(FilePart);

    if ((FuzzEnvironment.Flags & FUZZ_IS_FULL_PATH_FAILING) != 0) {
        return 0;
    }

    while (FileName[Length] != 0) {
        Length += 1;
    }

    if (Length + Start >= BufferLength) {
        return Length + Start + 1;
    }

    memcpy(Buffer, L"C:\\", Start * sizeof(WCHAR));
    memcpy(Buffer + Start, FileName, (Length + 1) * sizeof(WCHAR));
    return Length + Start;
}

//
// NtAllocateVirtualMemory.
// As NtAllocateVirtualMemory.
//

static
NTSTATUS
FuzzAllocateVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    ULONG_PTR ZeroBits,
    PSIZE_T RegionSize,
    ULONG AllocationType,
    ULONG Protect
    )
{
    PALLOCATOR Allocator = &FuzzEnvironment.Allocator.Allocator;

    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(AllocationType);
    UNREFERENCED_PARAMETER(Protect);

    *BaseAddress = Allocator->Allocate(Allocator->Context, *RegionSize);
    return *BaseAddress == NULL ? STATUS_NO_MEMORY : STATUS_SUCCESS;
}

//
// NtFreeVirtualMemory.
// As NtFreeVirtualMemory.
// Returns STATUS_SUCCESS.
//

static
NTSTATUS
FuzzFreeVirtualMemory(
    HANDLE ProcessHandle,
    PVOID *BaseAddress,
    PSIZE_T RegionSize,
    ULONG FreeType
    )
{
    PALLOCATOR Allocator = &FuzzEnvironment.Allocator.Allocator;

    UNREFERENCED_PARAMETER(ProcessHandle);
    UNREFERENCED_PARAMETER(RegionSize);
    UNREFERENCED_PARAMETER(FreeType);

    Allocator->Free(Allocator->Context, *BaseAddress);
    return STATUS_SUCCESS;
}

//
// Counts what was noted about a variable.
// Config: what was made of the environment.
// Returns the number of notes.
//

static
ULONG
FuzzCountErrors(
    const PENTER_CONFIG *Config,
    PCSZ Name
    )
{
    ULONG Count = 0;
    ULONG Index;

    for (Index = 0; Index < Config->NumberOfErrors; Index++) {
        FUZZ_CHECK(!NT_SUCCESS(Config->Errors[Index].Status));
        FUZZ_CHECK(Config->Errors[Index].ObjectLengthInChars <=
                   RTL_NUMBER_OF(Config->Errors[Index].Object));
        if (strstr(Config->Errors[Index].Step, Name) != NULL) {
            Count += 1;
        }
    }

    return Count;
}

//
// Checks the decision about the module.
// Config: what was made of the environment.
// IsMemoryShort: whether an allocation may have failed.
//

static
VOID
FuzzCheckModules(
    const PENTER_CONFIG *Config,
    BOOLEAN IsMemoryShort
    )
{
    const FUZZ_TEXT *Modules = &FuzzEnvironment.Texts[FUZZ_TEXT_MODULES];
    const FUZZ_TEXT *Path = &FuzzEnvironment.Texts[FUZZ_TEXT_MODULE_PATH];
    ULONG Errors = FuzzCountErrors(Config, FuzzNames[FUZZ_TEXT_MODULES]);
    ULONG Start = Path->Length;
    BOOLEAN Included;
    BOOLEAN IsValid;

    if (!Modules->IsThere) {
        FUZZ_CHECK(Config->ModuleIncluded && Errors == 0);
        return;
    }

    //
    // A module without a name, which the system does not know.
    //

    if (Path->Length == 0) {
        FUZZ_CHECK(Config->ModuleIncluded && Errors == 1);
        return;
    }

    while (Start != 0 && Path->Buffer[Start - 1] != L'\\' &&
           Path->Buffer[Start - 1] != L'/' &&
           (Start != 2 || Path->Buffer[1] != L':')) {
        Start -= 1;
    }

    IsValid = FuzzDecide(Modules,
                         Path->Buffer + Start,
                         Path->Length - Start,
                         &Included);
    if (IsMemoryShort && Errors != 0) {
        FUZZ_CHECK(Config->ModuleIncluded);
        return;
    }

    FUZZ_CHECK(Errors == (IsValid ? 0u : 1u));
    FUZZ_CHECK(Config->ModuleIncluded == Included);
}

//
// What the user may choose.
//

//
// Finds the word that a text is, in any case.
// Words, NumberOfWords: the words, in capitals.
// Returns the number of the word, or NumberOfWords.
//

static
ULONG
FuzzFindWord(
    ULONG Index,
    const PCSZ *Words,
    ULONG NumberOfWords
    )
{
    const FUZZ_TEXT *Text = &FuzzEnvironment.Texts[Index];
    ULONG Char;
    ULONG Word;

    for (Word = 0; Word < NumberOfWords; Word++) {
        for (Char = 0; Char < Text->Length; Char++) {
            if (FuzzUpcaseUnicodeChar(Text->Buffer[Char]) !=
                (WCHAR)Words[Word][Char] || Words[Word][Char] == 0) {
                break;
            }
        }
        if (Char == Text->Length && Words[Word][Char] == 0) {
            break;
        }
    }

    return Word;
}

//
// Checks that a value that makes no sense is noted, and no other.
// Config: what was made of the environment.
// Index: the variable.
// IsValid: whether its value makes sense.
// Returns TRUE if the variable is there and makes sense.
//

static
BOOLEAN
FuzzCheckValue(
    const PENTER_CONFIG *Config,
    ULONG Index,
    BOOLEAN IsValid
    )
{
    const FUZZ_TEXT *Text = &FuzzEnvironment.Texts[Index];
    BOOLEAN IsUsed = Text->IsThere && Text->Length != 0 &&
                     Text->Length < RTL_MAXIMUM_PATH_IN_CHARS;

    if (Text->Length < RTL_MAXIMUM_PATH_IN_CHARS) {
        FUZZ_CHECK(FuzzCountErrors(Config, FuzzNames[Index]) ==
                   (IsUsed && !IsValid ? 1u : 0u));
    }

    return IsUsed && IsValid;
}

//
// Checks a number that the user may choose.
// Config: what was made of the environment.
// Index: the variable.
// Least, Most: what makes sense.
// Default: what it is otherwise.
// Actual: what it is.
//

static
VOID
FuzzCheckNumber(
    const PENTER_CONFIG *Config,
    ULONG Index,
    ULONGLONG Least,
    ULONGLONG Most,
    ULONGLONG Default,
    ULONGLONG Actual
    )
{
    ULONGLONG Number = 0;
    BOOLEAN IsValid;

    IsValid = FuzzParseNumber(&FuzzEnvironment.Texts[Index], &Number) &&
              Number >= Least && Number <= Most;
    FUZZ_CHECK(Actual ==
               (FuzzCheckValue(Config, Index, IsValid) ? Number : Default));
}

//
// Checks TRACER_MIN_DURATION: digits or 0x and hexadecimal digits, then
// nothing, ns, us, ms or s; an hour at most; nothing but 0 without a clock.
// Config: what was made of the environment.
//

static
VOID
FuzzCheckDuration(
    const PENTER_CONFIG *Config
    )
{
    static const struct {
        PCSZ Suffix;
        ULONGLONG Nanoseconds;
    } Units[] = {
        { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }
    };
    FUZZ_TEXT Number = FuzzEnvironment.Texts[FUZZ_TEXT_MIN_DURATION];
    ULONGLONG Unit = 1;
    ULONGLONG Value = 0;
    ULONG Char;
    ULONG Index;
    ULONG Length;
    BOOLEAN IsValid;
    WCHAR Last;

    for (Index = 0; Index < RTL_NUMBER_OF(Units); Index++) {
        Length = (ULONG)strlen(Units[Index].Suffix);
        for (Char = 0; Number.Length > Length && Char < Length; Char++) {
            if (Number.Buffer[Number.Length - Length + Char] !=
                (WCHAR)Units[Index].Suffix[Char]) {
                break;
            }
        }
        if (Number.Length > Length && Char == Length) {
            Unit = Units[Index].Nanoseconds;
            Number.Length -= Length;
            break;
        }
    }

    Last = Number.Length == 0 ? 0 : Number.Buffer[Number.Length - 1];
    IsValid = FuzzParseNumber(&Number, &Value) &&
              Last < 0x80 && strchr("kKmMgG", (int)Last) == NULL &&
              Value <= PENTER_MAXIMUM_DURATION / Unit &&
              (Value == 0 || Config->Clock != TRACE_CLOCK_NONE);
    FUZZ_CHECK(Config->MinimumDuration ==
               (FuzzCheckValue(Config, FUZZ_TEXT_MIN_DURATION, IsValid) ?
                Value * Unit : 0));
}

//
// Checks what the disk keeps: bytes, or a percentage.
// Config: what was made of the environment.
//

static
VOID
FuzzCheckFree(
    const PENTER_CONFIG *Config
    )
{
    FUZZ_TEXT Number = FuzzEnvironment.Texts[FUZZ_TEXT_MIN_FREE];
    ULONGLONG Value = 0;
    WCHAR Last = 0;
    BOOLEAN IsPercent;
    BOOLEAN IsValid;

    IsPercent = Number.Length != 0 && Number.Buffer[Number.Length - 1] == '%';
    if (IsPercent) {
        Number.Length -= 1;
        Last = Number.Length == 0 ? 0 : Number.Buffer[Number.Length - 1];
    }

    IsValid = FuzzParseNumber(&Number, &Value) &&
              (Last >= 0x80 || Last == 0 ||
               strchr("kKmMgG", (int)Last) == NULL) &&
              Value <= (IsPercent ? 99 : INT64_MAX);
    if (!FuzzCheckValue(Config, FUZZ_TEXT_MIN_FREE, IsValid)) {
        FUZZ_CHECK(Config->MinimumFree == PENTER_DEFAULT_FREE_BYTES &&
                   Config->MinimumFreePercent == PENTER_DEFAULT_FREE_PERCENT);
        return;
    }

    FUZZ_CHECK(Config->MinimumFree == (IsPercent ? 0 : Value));
    FUZZ_CHECK(Config->MinimumFreePercent == (IsPercent ? Value : 0));
}

//
// Checks the clock, what is kept, and what is left out.
// Config: what was made of the environment.
//

static
VOID
FuzzCheckChoices(
    const PENTER_CONFIG *Config
    )
{
    static const PCSZ Clocks[] = { "TSC", "THREAD", "NONE" };
    static const PCSZ Modes[] = { "FILE", "RING", "TREE",
                                  "COMPACT", "COMPACT-RING" };
    ULONG Clock;
    ULONG Word;

    //
    // The clock's name is also in what is noted about the duration.
    //

    Clock = FuzzFindWord(FUZZ_TEXT_CLOCK, Clocks, RTL_NUMBER_OF(Clocks));
    if (!FuzzEnvironment.Texts[FUZZ_TEXT_CLOCK].IsThere ||
        Clock == RTL_NUMBER_OF(Clocks)) {
        Clock = TRACE_CLOCK_TSC;
    }

    Word = FuzzFindWord(FUZZ_TEXT_MODE, Modes, RTL_NUMBER_OF(Modes));
    if (!FuzzCheckValue(Config,
                        FUZZ_TEXT_MODE,
                        Word < RTL_NUMBER_OF(Modes))) {
        Word = 0;
    }
    FUZZ_CHECK(Config->IsRing == (Word == 1 || Word == 4));
    FUZZ_CHECK(Config->IsTree == (Word == 2));
    FUZZ_CHECK(Config->IsCompact == (Word == 3 || Word == 4));

    //
    // A tree needs times, and leaves out what does not go with it.
    //

    if (Config->IsTree && Clock == TRACE_CLOCK_NONE) {
        Clock = TRACE_CLOCK_TSC;
    }
    FUZZ_CHECK(Config->Clock == Clock);

    FuzzCheckNumber(Config,
                    FUZZ_TEXT_MAX_BYTES,
                    TRACE_MAXIMUM_BYTES_LEAST,
                    INT64_MAX,
                    Config->IsRing ? PENTER_DEFAULT_RING_BYTES : 0,
                    Config->MaximumBytes);
    FuzzCheckFree(Config);
    if (Config->IsTree) {
        FUZZ_CHECK(Config->MaximumDepth == 0 && !Config->Flush &&
                   Config->MinimumDuration == 0);
        return;
    }
    FuzzCheckNumber(Config,
                    FUZZ_TEXT_MAX_DEPTH,
                    1,
                    TRACE_MAXIMUM_DEPTH,
                    0,
                    Config->MaximumDepth);
    FuzzCheckNumber(Config, FUZZ_TEXT_FLUSH, 0, 1, 0, Config->Flush);
    FuzzCheckDuration(Config);
}

//
// Runs an environment through PenterReadConfig.
//

static
VOID
FuzzReadEnvironment(
    PFUZZ_INPUT Input
    )
{
    PPENTER_CONFIG Config = (PPENTER_CONFIG)calloc(1, sizeof(PENTER_CONFIG));
    ULONG FailAfter = (ULONG)FuzzTake(Input, 1);
    PFUZZ_TEXT Text;
    PFUZZ_TEXT Base;
    ULONG CharacterSize;
    ULONG Char;
    ULONG Choices;
    ULONG Index;
    ULONGLONG Number;
    BOOLEAN IsValid;
    RTL Rtl;

    if (Config == NULL) {
        abort();
    }

    memset(&FuzzEnvironment, 0, sizeof(FuzzEnvironment));
    FuzzInitializeAllocator(&FuzzEnvironment.Allocator, FailAfter);
    FuzzEnvironment.Flags = (ULONG)FuzzTake(Input, 1);
    CharacterSize =
        (FuzzEnvironment.Flags & FUZZ_IS_WIDE_TEXT) != 0 ? 2 : 1;

    Choices = 0;
    for (Index = 0; Index < FUZZ_NUMBER_OF_TEXTS; Index++) {

        if (Index == FUZZ_FIRST_CHOICE) {
            Choices = (ULONG)FuzzTake(Input, 1);
        }

        Text = &FuzzEnvironment.Texts[Index];
        Text->IsThere = Index < FUZZ_FIRST_CHOICE ?
            (FuzzEnvironment.Flags & (1u << Index)) != 0 :
            (Choices & (1u << (Index - FUZZ_FIRST_CHOICE))) != 0;
        Text->Length = (ULONG)FuzzTake(Input, 2) & 0x7FFF;
        if (Text->Length > Input->Left / CharacterSize) {
            Text->Length = (ULONG)(Input->Left / CharacterSize);
        }

        Text->Buffer = (PWCHAR)malloc(Text->Length * sizeof(WCHAR) + 1);
        if (Text->Buffer == NULL) {
            abort();
        }

        for (Char = 0; Char < Text->Length; Char++) {
            Text->Buffer[Char] = (WCHAR)FuzzTake(Input, CharacterSize);
        }
    }

    memset(&Rtl, 0, sizeof(Rtl));
    Rtl.RtlQueryEnvironmentVariable_U = FuzzQueryEnvironmentVariable;
    Rtl.RtlUpcaseUnicodeChar = FuzzUpcaseUnicodeChar;
    Rtl.NtCreateFile = FuzzCreateFile;
    Rtl.GetModuleFileNameW = FuzzGetModuleFileName;
    Rtl.GetFullPathNameW = FuzzGetFullPathName;
    Rtl.NtAllocateVirtualMemory = FuzzAllocateVirtualMemory;
    Rtl.NtFreeVirtualMemory = FuzzFreeVirtualMemory;

    PenterReadConfig(&Rtl, NULL, Config);

    FUZZ_CHECK(FuzzEnvironment.Allocator.Count == 0);
    FUZZ_CHECK(Config->NumberOfErrors <= PENTER_MAXIMUM_CONFIG_ERRORS);

    Text = &FuzzEnvironment.Texts[0];
    IsValid = FuzzParseNumber(Text, &Number) && Number <= 1;
    FUZZ_CHECK(Config->Enabled == (!Text->IsThere || !IsValid || Number != 0));
    FUZZ_CHECK(FuzzCountErrors(Config, FuzzNames[0]) ==
               (Text->IsThere && Text->Length != 0 && !IsValid ? 1u : 0u));

    if (Config->Enabled) {

        Text = &FuzzEnvironment.Texts[1];
        IsValid = FuzzParseNumber(Text, &Number) &&
                  Number >= TRACE_VIEW_MINIMUM_SIZE &&
                  Number <= TRACE_VIEW_MAXIMUM_SIZE &&
                  (Number & (Number - 1)) == 0;
        FUZZ_CHECK(Config->MaximumViewSize ==
                   (Text->IsThere && IsValid ? Number : 0));
        FUZZ_CHECK(FuzzCountErrors(Config, FuzzNames[1]) ==
                   (Text->IsThere && Text->Length != 0 && !IsValid ? 1u : 0u));

        Text = &FuzzEnvironment.Texts[FUZZ_TEXT_DIRECTORY];
        Base = &FuzzEnvironment.Texts[FUZZ_TEXT_BASE_DIRECTORY];
        FUZZ_CHECK(Config->RootDirectory.Length != 0);
        IsValid = Text->IsThere && FuzzIsAbsolute(Text) &&
                  FuzzCountErrors(Config,
                                  FuzzNames[FUZZ_TEXT_DIRECTORY]) == 0;
        if (!IsValid && Base->IsThere && FuzzIsAbsolute(Base) &&
            FuzzCountErrors(Config,
                            FuzzNames[FUZZ_TEXT_BASE_DIRECTORY]) == 0) {
            Text = Base;
        }

        FUZZ_CHECK(Config->IsDirectoryShared == (!IsValid && Text != Base));
        if (Text == Base) {
            FUZZ_CHECK(Config->RootDirectory.Length ==
                       Text->Length * sizeof(WCHAR));
            FUZZ_CHECK(memcmp(Config->RootDirectory.Buffer,
                              Text->Buffer,
                              Text->Length * sizeof(WCHAR)) == 0);
        } else if (!Text->IsThere || Text->Length == 0 ||
            FuzzCountErrors(Config, FuzzNames[FUZZ_TEXT_DIRECTORY]) != 0) {
            FUZZ_CHECK(Config->RootDirectory.Length == sizeof(WCHAR));
            FUZZ_CHECK(Config->RootDirectory.Buffer[0] == L'.');
        } else {
            FUZZ_CHECK(Config->RootDirectory.Length ==
                       Text->Length * sizeof(WCHAR));
            FUZZ_CHECK(memcmp(Config->RootDirectory.Buffer,
                              Text->Buffer,
                              Text->Length * sizeof(WCHAR)) == 0);
        }

        FuzzCheckChoices(Config);
        FuzzCheckModules(Config, FailAfter != 0);
    }

    for (Index = 0; Index < FUZZ_NUMBER_OF_TEXTS; Index++) {
        free(FuzzEnvironment.Texts[Index].Buffer);
    }
    free(Config);
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
    FUZZ_INPUT Input = { Data, Size };

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Size));
    (VOID)FuzzTake(&Input, 1);
    FuzzReadEnvironment(&Input);

    (VOID)FuzzEndWork();
    return 0;
}
