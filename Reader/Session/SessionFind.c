/*++

Module Name:

    SessionFind.c

Abstract:

    Sessions by age and by the name of their program.

--*/

#include "../Base/BaseFile.h"
#include "../Base/BasePack.h"
#include "SessionFind.h"
#include "SessionName.h"

//
// What follows the program's name and a '-': digits, and the lengths of the
// groups that a '-' is between.
//

#define READER_FOUND_DATE 8
#define READER_FOUND_TIME 6
#define READER_FOUND_MILLISECONDS 3
#define READER_FOUND_STAMP                                                  \
    (READER_FOUND_DATE + 1 + READER_FOUND_TIME + 1 + READER_FOUND_MILLISECONDS)

static
BOOLEAN
SessionTakeDigits(
    _In_reads_(Count) PCWSTR Text,
    _In_ ULONG Count,
    _Inout_ PULONGLONG Number
    )
{
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {
        if (Text[Index] < L'0' || Text[Index] > L'9') {
            return FALSE;
        }
        *Number = *Number * 10 + (ULONGLONG)(Text[Index] - L'0');
    }

    return TRUE;
}

//
// Takes a session's name apart.  FALSE: it is none.
//

static
BOOLEAN
SessionTakeFoundName(
    _In_ PCUNICODE_STRING Name,
    _Out_ PREADER_FOUND Found
    )
{
    PCWSTR Text = Name->Buffer;
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONGLONG ProcessId = 0;
    PCWSTR Stamp;
    ULONG Digits = 0;

    RtlZeroBytes(Found, sizeof(*Found));
    if (Length < READER_FOUND_STAMP + 4) {
        return FALSE;
    }

    Stamp = Text + Length - READER_FOUND_STAMP;
    if (Stamp[-1] != L'-' || Stamp[READER_FOUND_DATE] != L'-' ||
        Stamp[READER_FOUND_DATE + 1 + READER_FOUND_TIME] != L'-' ||
        !SessionTakeDigits(Stamp, READER_FOUND_DATE, &Found->Start) ||
        !SessionTakeDigits(Stamp + READER_FOUND_DATE + 1,
                           READER_FOUND_TIME,
                           &Found->Start) ||
        !SessionTakeDigits(Stamp + READER_FOUND_DATE + READER_FOUND_TIME + 2,
                           READER_FOUND_MILLISECONDS,
                           &Found->Start)) {
        return FALSE;
    }

    //
    // A date that no clock shows would always be the newest.
    //

    if (Found->Start / 100000000000ULL % 100 > 12 ||
        Found->Start / 1000000000 % 100 > 31 ||
        Found->Start / 10000000 % 100 > 23 ||
        Found->Start / 100000 % 100 > 59 ||
        Found->Start / 1000 % 100 > 59) {
        return FALSE;
    }

    Length -= READER_FOUND_STAMP + 1;
    while (Digits < Length && Digits < 10 &&
           Text[Length - Digits - 1] >= L'0' &&
           Text[Length - Digits - 1] <= L'9') {
        Digits += 1;
    }

    if (Digits == 0 || Digits + 1 >= Length ||
        Text[Length - Digits - 1] != L'-' ||
        !SessionTakeDigits(Text + Length - Digits, Digits, &ProcessId) ||
        ProcessId > 0xFFFFFFFF) {
        return FALSE;
    }

    Found->ProcessId = (ULONG)ProcessId;
    Found->ProgramLength = Length - Digits - 1;
    return TRUE;
}

static
NTSTATUS
SessionVisitFound(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_FOUND_LIST List = (PREADER_FOUND_LIST)CallbackContext;
    PCALLOCATOR Allocator = List->Context->Allocator;
    PREADER_FOUND Larger;
    READER_FOUND Found;
    PWCHAR Buffer;
    ULONG Capacity;
    ULONG Index;

    UNREFERENCED_PARAMETER(SizeInBytes);
    if (!IsDirectory || !RtlIsPlainName(Name, FALSE) ||
        !SessionTakeFoundName(Name, &Found)) {
        return STATUS_SUCCESS;
    }

    if (List->Number == List->Capacity) {

        Capacity = List->Capacity == 0 ? 64 : 2 * List->Capacity;
        Larger = (PREADER_FOUND)Allocator->Allocate(Allocator->Context,
                                                    (SIZE_T)Capacity *
                                                        sizeof(*Larger));
        if (Larger == NULL) {
            return STATUS_NO_MEMORY;
        }

        if (List->Number != 0) {
            RtlCopyBytes(Larger,
                         List->Found,
                         (SIZE_T)List->Number * sizeof(*Larger));
            Allocator->Free(Allocator->Context, List->Found);
        }

        List->Found = Larger;
        List->Capacity = Capacity;
    }

    Buffer = (PWCHAR)Allocator->Allocate(Allocator->Context, Name->Length);
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Buffer, Name->Buffer, Name->Length);
    RtlPointUnicodeString(&Found.Name, Buffer, Name->Length / sizeof(WCHAR));

    //
    // Names come in order, or nearly so: each moves a few places.  The order is
    // turned round in the end.
    //

    Index = List->Number;
    while (Index != 0 && List->Found[Index - 1].Start > Found.Start) {
        List->Found[Index] = List->Found[Index - 1];
        Index -= 1;
    }

    List->Found[Index] = Found;
    List->Number += 1;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SessionListFound(
    PCREADER_CONTEXT Context,
    PCWSTR Directory,
    PREADER_FOUND_LIST List
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;
    READER_FOUND Found;
    NTSTATUS Status;
    ULONG Index;

    RtlZeroBytes(List, sizeof(*List));
    List->Context = Context;
    Index = 0;
    Status = BaseMakeNtPath(Context, Directory, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &NtPath,
                                       SessionVisitFound,
                                       List);
    }

    for (; Index < List->Number / 2; Index++) {
        Found = List->Found[Index];
        List->Found[Index] = List->Found[List->Number - 1 - Index];
        List->Found[List->Number - 1 - Index] = Found;
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    return Status;
}

_Use_decl_annotations_
VOID
SessionFreeFound(
    PREADER_FOUND_LIST List
    )
{
    PCALLOCATOR Allocator = List->Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < List->Number; Index++) {
        Allocator->Free(Allocator->Context, List->Found[Index].Name.Buffer);
    }

    if (List->Found != NULL) {
        Allocator->Free(Allocator->Context, List->Found);
    }

    RtlZeroBytes(List, sizeof(*List));
}

_Use_decl_annotations_
BOOLEAN
SessionQueryPlace(
    PCREADER_CONTEXT Context,
    ULONG Place,
    PWCHAR Path,
    ULONG CapacityInChars
    )
{
    static const WCHAR Below[] = L"\\Tracer";
    UNICODE_STRING Value;
    ULONG Length;

    if (Place == 2) {
        Path[0] = L'.';
        Path[1] = 0;
        return TRUE;
    }

    if (!NT_SUCCESS(RtlQueryEnvironment(Context->Rtl,
                                        Place == 0 ? L"TRACER_DIRECTORY"
                                                   : L"LOCALAPPDATA",
                                        Path,
                                        CapacityInChars,
                                        &Value)) ||
        Value.Length == 0) {
        return FALSE;
    }

    Length = Value.Length / sizeof(WCHAR);
    if (Length + RTL_NUMBER_OF(Below) > CapacityInChars) {
        return FALSE;
    }

    Path[Length] = 0;
    if (Place == 1) {
        RtlCopyBytes(Path + Length, Below, sizeof(Below));
    }

    return TRUE;
}

//
// Does the name of a session's program begin with a text?
//

static
BOOLEAN
SessionIsProgram(
    _In_ PCRTL Rtl,
    _In_ PCREADER_FOUND Found,
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length
    )
{
    ULONG Index = 0;

    while (Index < Found->ProgramLength && Index < Length &&
           Rtl->RtlUpcaseUnicodeChar(Found->Name.Buffer[Index]) ==
               Rtl->RtlUpcaseUnicodeChar(Text[Index])) {
        Index += 1;
    }

    return Index == Length;
}

//
// Looks for a store among a directory's files.
//

typedef struct _READER_STORE_SEARCH {
    PCRTL Rtl;
    BOOLEAN HasStore;
} READER_STORE_SEARCH;
typedef READER_STORE_SEARCH *PREADER_STORE_SEARCH;

static
NTSTATUS
SessionVisitStore(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_STORE_SEARCH Search = (PREADER_STORE_SEARCH)CallbackContext;

    UNREFERENCED_PARAMETER(SizeInBytes);
    if (IsDirectory ||
        SessionEndsWith(Search->Rtl, Name, L".TRACE", 6)) {
        Search->HasStore = TRUE;
    }

    return STATUS_SUCCESS;
}

//
// May a session have a store?  One that cannot be listed, or that has
// directories, may.
// Place: its directory's.
//

static
BOOLEAN
SessionMayHaveStore(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Place,
    _In_ PCREADER_FOUND Found
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;
    ULONG Length = RtlLengthOfWideString(Place);
    PWCHAR Path;
    READER_STORE_SEARCH Search = { Context->Rtl, FALSE };
    NTSTATUS Status;

    Path = (PWCHAR)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Length + 2) * sizeof(WCHAR) + Found->Name.Length);
    if (Path == NULL) {
        return TRUE;
    }

    RtlCopyBytes(Path, Place, (SIZE_T)Length * sizeof(WCHAR));
    Path[Length] = L'\\';
    RtlCopyBytes(Path + Length + 1, Found->Name.Buffer, Found->Name.Length);
    Path[Length + 1 + Found->Name.Length / sizeof(WCHAR)] = 0;
    Status = BaseMakeNtPath(Context, Path, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &NtPath,
                                       SessionVisitStore,
                                       &Search);
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    Allocator->Free(Allocator->Context, Path);
    return Search.HasStore || !NT_SUCCESS(Status);
}

//
// Of the sessions of a place that fit, the newest that has a store; the newest
// if none has.
// Text: what their programs' names begin with.
// Newer: receives how many are newer.
//

static
PCREADER_FOUND
SessionPreferStore(
    _In_ const READER_FOUND_LIST *List,
    _In_z_ PCWSTR Place,
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length,
    _In_ PCREADER_FOUND Newest,
    _Out_ PULONG Newer
    )
{
    PCREADER_FOUND Found;

    *Newer = 0;
    for (Found = Newest; Found < List->Found + List->Number; Found++) {
        if (!SessionIsProgram(List->Context->Rtl, Found, Text, Length)) {
            continue;
        }
        if (SessionMayHaveStore(List->Context, Place, Found)) {
            return Found;
        }
        *Newer += 1;
    }

    *Newer = 0;
    return Newest;
}

//
// Chooses one of the sessions of a place.
// Text: what their programs' names begin with.
// Number: which one, by age; the first is 1.
// Fitting: how many fit.
// Returns NULL if there are fewer.
//

static
PCREADER_FOUND
SessionChooseFound(
    _In_ const READER_FOUND_LIST *List,
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length,
    _In_ ULONGLONG Number,
    _Out_ PULONG Fitting
    )
{
    PCREADER_FOUND Chosen = NULL;
    ULONG Index;

    *Fitting = 0;
    for (Index = 0; Index < List->Number; Index++) {
        if (SessionIsProgram(List->Context->Rtl,
                             &List->Found[Index],
                             Text,
                             Length)) {
            *Fitting += 1;
            if (*Fitting == Number) {
                Chosen = &List->Found[Index];
            }
        }
    }

    return Chosen;
}

//
// Finds the session that SessionFind finds.
// Text, Length: what the program's name begins with.
// Number: which of the sessions of such programs, by age; the first is 1; 0:
// the newest that has a store.
//

_Must_inspect_result_
static
NTSTATUS
SessionFindNumber(
    _In_ PCREADER_CONTEXT Context,
    _In_reads_(Length) PCWSTR Text,
    _In_ ULONG Length,
    _In_ ULONGLONG Number,
    _Outptr_ PWSTR *Path,
    _Out_ PULONG NumberOfOthers,
    _Out_ PULONG NumberEmpty
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_FOUND_LIST List;
    PCREADER_FOUND Chosen;
    PWCHAR Place;
    PWCHAR Result;
    NTSTATUS Status;
    BOOLEAN IsEnd = FALSE;
    ULONG Fitting;
    ULONG Index;
    ULONG PlaceLength;
    ULONG Name;

    *Path = NULL;
    *NumberOfOthers = 0;
    *NumberEmpty = 0;
    Place = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                        RTL_MAXIMUM_PATH_IN_CHARS *
                                            sizeof(WCHAR));
    if (Place == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = STATUS_NOT_FOUND;
    for (Index = 0;
         Index < READER_NUMBER_OF_PLACES && *Path == NULL && !IsEnd;
         Index++) {

        if (!SessionQueryPlace(Context,
                               Index,
                               Place,
                               RTL_MAXIMUM_PATH_IN_CHARS)) {
            continue;
        }

        //
        // A place that cannot be listed has none: it is usual that it is not
        // there.
        //

        if (SessionListFound(Context, Place, &List) == STATUS_NO_MEMORY) {
            Status = STATUS_NO_MEMORY;
            SessionFreeFound(&List);
            break;
        }

        //
        // An age means something within one place: the first that has any.
        //

        Chosen = SessionChooseFound(&List,
                                    Text,
                                    Length,
                                    Number == 0 ? 1 : Number,
                                    &Fitting);
        if (Number == 0 && Chosen != NULL) {
            Chosen = SessionPreferStore(&List,
                                        Place,
                                        Text,
                                        Length,
                                        Chosen,
                                        NumberEmpty);
        }
        IsEnd = Fitting != 0;
        *NumberOfOthers = Fitting;
        if (Chosen != NULL) {

            PlaceLength = RtlLengthOfWideString(Place);
            Name = Chosen->Name.Length / sizeof(WCHAR);
            Result = (PWCHAR)
                Allocator->Allocate(Allocator->Context,
                                    ((SIZE_T)PlaceLength + Name + 2) *
                                        sizeof(WCHAR));
            if (Result == NULL) {
                Status = STATUS_NO_MEMORY;
                SessionFreeFound(&List);
                break;
            }

            RtlCopyBytes(Result, Place, PlaceLength * sizeof(WCHAR));
            if (PlaceLength != 0 && Result[PlaceLength - 1] != L'\\' &&
                Result[PlaceLength - 1] != L'/' &&
                Result[PlaceLength - 1] != L':') {
                Result[PlaceLength] = L'\\';
                PlaceLength += 1;
            }

            RtlCopyBytes(Result + PlaceLength, Chosen->Name.Buffer,
                         Chosen->Name.Length);
            Result[PlaceLength + Name] = 0;
            *Path = Result;
            *NumberOfOthers = Fitting - 1;
            Status = STATUS_SUCCESS;
        }

        SessionFreeFound(&List);
    }

    Allocator->Free(Allocator->Context, Place);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
SessionFind(
    PCREADER_CONTEXT Context,
    PCWSTR Text,
    PWSTR *Path,
    PULONG NumberOfOthers,
    PBOOLEAN HasAge,
    PULONG NumberEmpty
    )
{
    ULONG Length = RtlLengthOfWideString(Text);
    ULONG Name = Length;
    ULONGLONG Number = 1;
    NTSTATUS Status;

    while (Name != 0 && Text[Name - 1] >= L'0' && Text[Name - 1] <= L'9') {
        Name -= 1;
    }

    *HasAge = Text[0] == L'@' ||
              (Name != 0 && Name != Length && Text[Name - 1] == L'@');
    if (Name == 0 || Text[Name - 1] != L'@') {
        if (Text[0] == L'@') {
            *Path = NULL;
            *NumberOfOthers = 0;
            *NumberEmpty = 0;
            return STATUS_OBJECT_NAME_INVALID;
        }
        return SessionFindNumber(Context,
                                 Text,
                                 Length,
                                 0,
                                 Path,
                                 NumberOfOthers,
                                 NumberEmpty);
    }

    //
    // A program's own name may end so.
    //

    if (Name != 1) {
        Status = SessionFindNumber(Context,
                                   Text,
                                   Length,
                                   0,
                                   Path,
                                   NumberOfOthers,
                                   NumberEmpty);
        if (Status != STATUS_NOT_FOUND) {
            return Status;
        }
    }

    if (!RtlParseNumber(Text + Name, Length - Name, &Number) || Number == 0) {
        *Path = NULL;
        *NumberOfOthers = 0;
        *NumberEmpty = 0;
        return STATUS_OBJECT_NAME_INVALID;
    }

    return SessionFindNumber(Context,
                             Text,
                             Name - 1,
                             Number,
                             Path,
                             NumberOfOthers,
                             NumberEmpty);
}

_Use_decl_annotations_
VOID
SessionFindNearest(
    PCREADER_CONTEXT Context,
    PCSZ Text,
    PCHAR Name
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_NEAREST Nearest;
    READER_FOUND_LIST List;
    CHAR Program[READER_NEAREST_MAXIMUM + 1];
    PWCHAR Place;
    BOOLEAN IsWhole = FALSE;
    ULONG Index;
    ULONG Found;
    ULONG Length;

    Name[0] = 0;
    BaseBeginNearest(&Nearest, Text);
    for (Index = 0; Text[Index] != 0; Index++) {
        IsWhole = IsWhole || Text[Index] == '.';
    }

    Place = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                        RTL_MAXIMUM_PATH_IN_CHARS *
                                            sizeof(WCHAR));
    if (Place == NULL) {
        return;
    }

    for (Index = 0; Index < READER_NUMBER_OF_PLACES; Index++) {

        if (!SessionQueryPlace(Context,
                               Index,
                               Place,
                               RTL_MAXIMUM_PATH_IN_CHARS)) {
            continue;
        }

        (VOID)SessionListFound(Context, Place, &List);
        for (Found = 0; Found < List.Number; Found++) {

            PCREADER_FOUND Session = &List.Found[Found];

            Length = Session->ProgramLength;
            if (!IsWhole && Length > 4 &&
                Session->Name.Buffer[Length - 4] == L'.') {
                Length -= 4;
            }

            if (Length > READER_NEAREST_MAXIMUM) {
                continue;
            }

            RtlWideToUtf8(Session->Name.Buffer,
                          Length,
                          Program,
                          READER_NEAREST_MAXIMUM,
                          &Length);
            Program[Length] = 0;
            BaseOfferNearest(&Nearest, Program);
            if (Nearest.Best == Program) {
                RtlCopyBytes(Name, Program, Length + 1);
                Nearest.Best = Name;
            }
        }

        SessionFreeFound(&List);
    }

    Allocator->Free(Allocator->Context, Place);
}

//
// Does a file begin with a number of SizeInBytes bytes?
//

static
BOOLEAN
SessionBeginsWith(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _In_ ULONGLONG Number,
    _In_ ULONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;
    HANDLE File;
    ULONGLONG Start = 0;
    ULONG Read = 0;

    if (NT_SUCCESS(BaseMakeNtPath(Context, Path, &NtPath)) &&
        NT_SUCCESS(RtlOpenFileForReading(Context->Rtl, &NtPath, &File))) {

        if (!NT_SUCCESS(RtlReadFile(Context->Rtl,
                                    File,
                                    0,
                                    &Start,
                                    SizeInBytes,
                                    &Read))) {
            Read = 0;
        }
        Context->Rtl->NtClose(File);
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);
    return Read == SizeInBytes && Start == Number;
}

_Use_decl_annotations_
BOOLEAN
SessionIsImage(
    PCREADER_CONTEXT Context,
    PCWSTR Path
    )
{
    return SessionBeginsWith(Context, Path, 0x5A4D, sizeof(USHORT));
}

_Use_decl_annotations_
BOOLEAN
SessionIsPack(
    PCREADER_CONTEXT Context,
    PCWSTR Path
    )
{
    return SessionBeginsWith(Context,
                             Path,
                             READER_PACK_MAGIC,
                             sizeof(ULONGLONG));
}

_Use_decl_annotations_
NTSTATUS
SessionFindPlace(
    PCREADER_CONTEXT Context,
    PWSTR *Path,
    PREADER_FOUND_LIST List
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    NTSTATUS Status;
    PWCHAR Place;
    ULONG Length;
    ULONG Index;

    *Path = NULL;
    Place = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                        RTL_MAXIMUM_PATH_IN_CHARS *
                                            sizeof(WCHAR));
    if (Place == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < READER_NUMBER_OF_PLACES; Index++) {

        if (!SessionQueryPlace(Context,
                               Index,
                               Place,
                               RTL_MAXIMUM_PATH_IN_CHARS)) {
            continue;
        }

        Status = SessionListFound(Context, Place, List);
        if (Status != STATUS_NO_MEMORY && List->Number != 0) {

            //
            // Without a separator at its end, but for a root's.
            //

            Length = RtlLengthOfWideString(Place);
            if (Length > 1 && Place[Length - 2] != L':' &&
                (Place[Length - 1] == L'\\' || Place[Length - 1] == L'/')) {
                Place[Length - 1] = 0;
            }

            *Path = Place;
            return STATUS_SUCCESS;
        }

        SessionFreeFound(List);
        if (Status == STATUS_NO_MEMORY) {
            Allocator->Free(Allocator->Context, Place);
            return Status;
        }
    }

    Allocator->Free(Allocator->Context, Place);
    return STATUS_NOT_FOUND;
}

static
NTSTATUS
SessionStopListing(
    _In_opt_ PVOID Context,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(SizeInBytes);
    UNREFERENCED_PARAMETER(IsDirectory);
    return STATUS_CANCELLED;
}

_Use_decl_annotations_
BOOLEAN
SessionIsPath(
    PCREADER_CONTEXT Context,
    PCWSTR Text
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING Path;
    UNICODE_STRING NtPath;
    NTSTATUS Status;
    ULONG Index;

    for (Index = 0; Text[Index] != 0; Index++) {
        if (Text[Index] == L'\\' || Text[Index] == L'/' ||
            Text[Index] == L':') {
            return TRUE;
        }
    }

    RtlPointUnicodeString(&Path, (PWCHAR)Text, Index);
    Status = BaseMakeNtPath(Context, Text, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &NtPath,
                                       SessionStopListing,
                                       NULL);
    }

    Allocator->Free(Allocator->Context, NtPath.Buffer);

    //
    // A program beside its sessions is not what is meant.
    //

    if (Status == STATUS_NOT_A_DIRECTORY) {
        return SessionEndsWith(Context->Rtl, &Path, L".TRACE", 6) ||
               SessionIsPack(Context, Text);
    }

    return Status != STATUS_OBJECT_NAME_NOT_FOUND &&
           Status != STATUS_OBJECT_PATH_NOT_FOUND &&
           Status != STATUS_NO_SUCH_FILE &&
           Status != STATUS_OBJECT_NAME_INVALID;
}
