/*++

Module Name:

    PenterList.c

Abstract:

    Reads the lists that TRACER_EXCLUDE and TRACER_CHRONO name.  Their format is
    described in Docs/Exclude.md.

    A list is read twice: the whole of it is checked and counted before memory
    is taken, and before anything is done that it asks for.  Its last line says
    that it is whole: a file that was cut, by a full disk or a copy that was
    not finished, would exclude some of the functions without a word.

--*/

#include "PenterList.h"

const PENTER_LIST_STEPS PenterExcludeSteps = {
    "opening TRACER_EXCLUDE",
    "reading TRACER_EXCLUDE",
    "reading TRACER_EXCLUDE, which is of another version than "
        PENTER_LIST_VERSION,
    "reading TRACER_EXCLUDE, whose last line, \"end\", is missing",
    "comparing the image with that of TRACER_EXCLUDE",
    "allocating what TRACER_EXCLUDE needs"
};

static const PENTER_LIST_STEPS PenterChronoSteps = {
    "opening TRACER_CHRONO",
    "reading TRACER_CHRONO",
    "reading TRACER_CHRONO, which is of another version than "
        PENTER_LIST_VERSION,
    "reading TRACER_CHRONO, whose last line, \"end\", is missing",
    "comparing the image with that of TRACER_CHRONO",
    "allocating what TRACER_CHRONO needs"
};

//
// Takes a word and the blank behind it.
//

static
BOOLEAN
PenterTakeWord(
    _Inout_ const CHAR **Text,
    _In_ const CHAR *End,
    _In_z_ PCSZ Word
    )
{
    ULONG Length = RtlLengthOfString(Word);

    if ((SIZE_T)(End - *Text) <= Length ||
        !RtlAreBytesEqual(*Text, Word, Length) ||
        (*Text)[Length] != ' ') {

        return FALSE;
    }

    *Text += Length + 1;
    return TRUE;
}

//
// Takes a hexadecimal number of one to eight digits and the blank behind it,
// or the line's end if it is the last word.
//

static
BOOLEAN
PenterTakeNumber(
    _Inout_ const CHAR **Text,
    _In_ const CHAR *End,
    _In_ BOOLEAN IsLast,
    _Out_ PULONG Number
    )
{
    const CHAR *At;
    ULONG Value;
    CHAR Digit;

    Value = 0;
    for (At = *Text; At < End && *At != ' '; At += 1) {
        Digit = *At;
        if (At - *Text == 8) {
            return FALSE;
        }
        if (Digit >= '0' && Digit <= '9') {
            Value = (Value << 4) | (ULONG)(Digit - '0');
        } else if ((Digit | 0x20) >= 'a' && (Digit | 0x20) <= 'f') {
            Value = (Value << 4) | (ULONG)((Digit | 0x20) - 'a' + 10);
        } else {
            return FALSE;
        }
    }

    if (At == *Text || (At == End) != IsLast) {
        return FALSE;
    }

    *Number = Value;
    *Text = At == End ? At : At + 1;
    return TRUE;
}

//
// Compares what a part says of the PDB with the module: the GUID and the age,
// in hexadecimal digits, or a dash.
//

static
BOOLEAN
PenterIsModuleIdentity(
    _In_ const PENTER_LIST *List,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ SIZE_T LengthInBytes
    )
{
    const UCHAR *Guid;
    RTL_WRITER Writer;
    CHAR Expected[48];

    Guid = List->Header->CodeViewGuid;
    RtlInitializeBufferWriter(&Writer, Expected, sizeof(Expected));
    if (List->Header->CodeViewAge == 0) {
        RtlWriteText(&Writer, "-");
    } else {
        RtlWriteText(&Writer,
                     "%02X%02X%02X%02X%02X%02X%02X%02X"
                     "%02X%02X%02X%02X%02X%02X%02X%02X%X",
                     Guid[3], Guid[2], Guid[1], Guid[0],
                     Guid[5], Guid[4], Guid[7], Guid[6],
                     Guid[8], Guid[9], Guid[10], Guid[11],
                     Guid[12], Guid[13], Guid[14], Guid[15],
                     List->Header->CodeViewAge);
    }

    return Writer.LengthInBytes == LengthInBytes &&
           RtlAreBytesEqual(Expected, Text, LengthInBytes);
}

//
// Compares a file name, UTF-8, with the module's, without regard to case.
//

static
BOOLEAN
PenterIsModuleName(
    _In_ const PENTER_LIST *List,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    WCHAR Name[PENTER_MAXIMUM_MODULE_NAME];
    ULONG Length;
    ULONG Index;

    Length = RtlUtf8ToWide(Text,
                           LengthInBytes,
                           Name,
                           RTL_NUMBER_OF(Name),
                           NULL);
    if (Length > RTL_NUMBER_OF(Name) ||
        Length != List->ModuleName->Length / sizeof(WCHAR)) {

        return FALSE;
    }

    for (Index = 0; Index < Length; Index += 1) {
        if (List->Rtl->RtlUpcaseUnicodeChar(Name[Index]) !=
            List->Rtl->RtlUpcaseUnicodeChar(
                List->ModuleName->Buffer[Index])) {

            return FALSE;
        }
    }

    return TRUE;
}

static
VOID
PenterEndGroup(
    _Inout_ PPENTER_LIST List
    )
{
    List->HasFunction = FALSE;
    List->HasSite = FALSE;
}

static
BOOLEAN
PenterReadModuleLine(
    _Inout_ PPENTER_LIST List,
    _In_ const CHAR *Text,
    _In_ const CHAR *End
    )
{
    const CHAR *Pdb;
    const CHAR *PdbEnd;
    ULONG TimeDateStamp;
    ULONG Size;
    ULONG CheckSum;

    if (!PenterTakeNumber(&Text, End, FALSE, &TimeDateStamp) ||
        !PenterTakeNumber(&Text, End, FALSE, &Size) ||
        !PenterTakeNumber(&Text, End, FALSE, &CheckSum)) {

        return FALSE;
    }

    Pdb = Text;
    while (Text < End && *Text != ' ') {
        Text += 1;
    }
    PdbEnd = Text;
    Text += 1;
    if (PdbEnd == Pdb || Text >= End || End - Text > PENTER_MAXIMUM_NAME) {
        return FALSE;
    }

    PenterEndGroup(List);
    List->HasModule = TRUE;
    List->IsOurs = FALSE;
    if (PenterIsModuleName(List, Text, (ULONG)(End - Text))) {
        List->IsNamed = TRUE;
        List->IsOurs =
            TimeDateStamp == List->Header->ModuleTimeDateStamp &&
            Size == List->Header->ModuleSize &&
            CheckSum == List->Header->ModuleCheckSum &&
            PenterIsModuleIdentity(List, Pdb, (SIZE_T)(PdbEnd - Pdb));
        List->IsFound = List->IsFound || List->IsOurs;
    }

    return TRUE;
}

static
BOOLEAN
PenterReadFunctionLine(
    _Inout_ PPENTER_LIST List,
    _In_ const CHAR *Text,
    _In_ const CHAR *End
    )
{
    ULONG FirstRva;
    ULONG LastRva;

    if (!List->HasModule ||
        !PenterTakeNumber(&Text, End, FALSE, &FirstRva) ||
        !PenterTakeNumber(&Text, End, FALSE, &LastRva) ||
        FirstRva >= LastRva || Text == End) {

        return FALSE;
    }

    if (List->HasSite) {
        PenterEndGroup(List);
    }
    if (List->IsOurs) {
        if (!List->HasFunction) {
            List->NumberOfGroups += 1;
        }
        if (List->Groups != NULL) {
            List->Groups[List->NumberOfGroups - 1] += 1;
        }
        if (List->Ranges != NULL) {
            List->Ranges[List->NumberOfRanges].First = FirstRva;
            List->Ranges[List->NumberOfRanges].End = LastRva;
        }
        List->NumberOfRanges += 1;
    }

    List->HasFunction = TRUE;
    return TRUE;
}

static
BOOLEAN
PenterReadSiteLine(
    _Inout_ PPENTER_LIST List,
    _In_ const CHAR *Text,
    _In_ const CHAR *End,
    _In_ ULONG Flags
    )
{
    PPENTER_SITE Site;
    ULONG Rva;

    if (!List->HasFunction ||
        !PenterTakeNumber(&Text, End, TRUE, &Rva) ||
        (Rva & PENTER_SITE_JUMP) != 0) {

        return FALSE;
    }

    List->HasSite = TRUE;
    if (!List->IsOurs) {
        return TRUE;
    }

    if (List->Sites != NULL) {
        Site = &List->Sites[List->NumberOfSites];
        Site->Rva = Rva | Flags;
        Site->Group = List->NumberOfGroups - 1;
    }

    List->NumberOfSites += 1;
    return TRUE;
}

//
// Reads a line behind the first.
//

static
BOOLEAN
PenterReadLine(
    _Inout_ PPENTER_LIST List,
    _In_ const CHAR *Text,
    _In_ const CHAR *End
    )
{
    if (Text == End || *Text == '#') {
        return TRUE;
    }

    //
    // Nothing more is said behind the end.
    //

    if (List->HasEnd) {
        return FALSE;
    }

    if (End - Text == 3 && RtlAreBytesEqual(Text, "end", 3)) {
        List->HasEnd = TRUE;
        return TRUE;
    }
    if (PenterTakeWord(&Text, End, "module")) {
        return PenterReadModuleLine(List, Text, End);
    }
    if (PenterTakeWord(&Text, End, "function")) {
        return PenterReadFunctionLine(List, Text, End);
    }
    if (PenterTakeWord(&Text, End, "call")) {
        return PenterReadSiteLine(List, Text, End, 0);
    }
    if (PenterTakeWord(&Text, End, "jump")) {
        return PenterReadSiteLine(List, Text, End, PENTER_SITE_JUMP);
    }

    return FALSE;
}

//
// Reads the lines, up to the first that makes no sense.
//

static
NTSTATUS
PenterReadLines(
    _Inout_ PPENTER_LIST List
    )
{
    const CHAR *Text;
    const CHAR *End;
    BOOLEAN IsLast;
    BOOLEAN IsRight;

    do {
        Text = List->Next;
        End = Text;
        while (End < List->End && *End != '\n') {
            End += 1;
        }
        IsLast = End == List->End;
        List->Next = IsLast ? End : End + 1;
        List->Line += 1;
        if (End > Text && End[-1] == '\r') {
            End -= 1;
        }

        if (List->Line != 1) {
            IsRight = PenterReadLine(List, Text, End);
        } else {
            IsRight =
                (SIZE_T)(End - Text) == sizeof(PENTER_LIST_VERSION) - 1 &&
                RtlAreBytesEqual(Text,
                                 PENTER_LIST_VERSION,
                                 sizeof(PENTER_LIST_VERSION) - 1);
            if (!IsRight && !IsLast &&
                PenterTakeWord(&Text, End, PENTER_LIST_NAME)) {

                return STATUS_UNKNOWN_REVISION;
            }
        }

        //
        // A line without its end that is not known is as a rule the first
        // part of one.
        //

        if (!IsRight) {
            return IsLast && !List->HasEnd ? STATUS_END_OF_FILE
                                           : STATUS_FILE_INVALID;
        }
    } while (List->Next < List->End);

    return List->HasEnd ? STATUS_SUCCESS : STATUS_END_OF_FILE;
}

//
// Says which line of a list makes no sense.
//

static
NTSTATUS
PenterSetLineError(
    _Out_ PRTL_ERROR Error,
    _In_ PCPENTER_LIST_STEPS Steps,
    _In_ PCUNICODE_STRING ListName,
    _In_ ULONG Line
    )
{
    RTL_WRITER Writer;
    UNICODE_STRING Object;
    CHAR Text[200];
    WCHAR Wide[200];
    ULONG Written;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "line %u of %Z", Line, ListName);
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Wide,
                  RTL_NUMBER_OF(Wide),
                  &Written);
    RtlPointUnicodeString(&Object, Wide, Written);
    return RtlSetError(Error, Steps->Read, &Object, STATUS_FILE_INVALID);
}

_Use_decl_annotations_
NTSTATUS
PenterReadList(
    PPENTER_LIST List,
    PCPENTER_LIST_STEPS Steps,
    PCUNICODE_STRING ListName,
    const CHAR *Text,
    ULONG SizeInBytes,
    PRTL_ERROR Error
    )
{
    NTSTATUS Status;

    List->Next = Text;
    List->End = Text + SizeInBytes;
    List->Line = 0;
    List->HasModule = FALSE;
    List->HasEnd = FALSE;
    List->IsOurs = FALSE;
    List->IsFound = FALSE;
    List->IsNamed = FALSE;
    List->NumberOfSites = 0;
    List->NumberOfGroups = 0;
    List->NumberOfRanges = 0;
    PenterEndGroup(List);

    Status = PenterReadLines(List);
    switch (Status) {

    case STATUS_SUCCESS:
        if (!List->IsNamed || List->IsFound) {
            return STATUS_SUCCESS;
        }
        return RtlSetError(Error,
                           Steps->Compare,
                           List->ModuleName,
                           STATUS_REVISION_MISMATCH);

    case STATUS_FILE_INVALID:
        return PenterSetLineError(Error, Steps, ListName, List->Line);

    case STATUS_END_OF_FILE:
        return RtlSetError(Error, Steps->Cut, ListName, Status);

    default:
        return RtlSetError(Error, Steps->Version, ListName, Status);
    }
}

_Use_decl_annotations_
NTSTATUS
PenterReadListFile(
    PCRTL Rtl,
    PCPENTER_LIST_STEPS Steps,
    PCUNICODE_STRING NtPath,
    PVOID *Text,
    PULONG SizeInBytes,
    PRTL_ERROR Error
    )
{
    NTSTATUS Status;
    ULONGLONG Size;
    HANDLE File;

    *Text = NULL;
    *SizeInBytes = 0;
    Status = RtlOpenFileForReading(Rtl, NtPath, &File);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error, Steps->Open, NtPath, Status);
    }

    Status = RtlQueryFileSize(Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size > PENTER_MAXIMUM_LIST) {
        Status = STATUS_FILE_TOO_LARGE;
    }
    if (NT_SUCCESS(Status)) {
        Status = RtlAllocatePages(Rtl, (SIZE_T)Size + 1, Text);
    }

    //
    // Reading at the end of a file is an error.
    //

    if (NT_SUCCESS(Status) && Size != 0) {
        Status = RtlReadFile(Rtl, File, 0, *Text, (ULONG)Size, SizeInBytes);
    }
    RtlClose(Rtl, File);

    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error, Steps->Read, NtPath, Status);
    }

    return Status;
}

//
// Puts ranges in order, and makes one of those that overlap.  There is one at
// least; returns their new number.
//

static
ULONG
PenterOrderRanges(
    _Inout_updates_(Count) PTRACE_CHRONO_RANGE Ranges,
    _In_ ULONG Count
    )
{
    TRACE_CHRONO_RANGE Range;
    ULONG Gap;
    ULONG Index;
    ULONG Place;
    ULONG Last;

    //
    // Shell's sort: the list has them in order, unless it was put together by
    // hand.
    //

    for (Gap = Count / 2; Gap > 0; Gap = Gap == 2 ? 1 : Gap * 5 / 11) {
        for (Index = Gap; Index < Count; Index += 1) {
            Range = Ranges[Index];
            for (Place = Index;
                 Place >= Gap && Ranges[Place - Gap].First > Range.First;
                 Place -= Gap) {

                Ranges[Place] = Ranges[Place - Gap];
            }
            Ranges[Place] = Range;
        }
    }

    Last = 0;
    for (Index = 1; Index < Count; Index += 1) {
        if (Ranges[Index].First >= Ranges[Last].End) {
            Last += 1;
            Ranges[Last] = Ranges[Index];
        } else if (Ranges[Index].End > Ranges[Last].End) {
            Ranges[Last].End = Ranges[Index].End;
        }
    }

    return Last + 1;
}

_Use_decl_annotations_
NTSTATUS
PenterReadChronoList(
    PCRTL Rtl,
    PCTRACE_STORE_HEADER Header,
    PCUNICODE_STRING ModuleName,
    PCUNICODE_STRING NtPath,
    PTRACE_CHRONO_RANGE *Ranges,
    PULONG NumberOfRanges,
    PRTL_ERROR Error
    )
{
    PENTER_LIST List;
    NTSTATUS Status;
    UNICODE_STRING Name;
    PVOID Text;
    PVOID Base;
    ULONG Size;

    *Ranges = NULL;
    *NumberOfRanges = 0;
    RtlBaseName(NtPath, &Name);
    Status = PenterReadListFile(Rtl,
                                &PenterChronoSteps,
                                NtPath,
                                &Text,
                                &Size,
                                Error);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    RtlZeroBytes(&List, sizeof(List));
    List.Rtl = Rtl;
    List.Header = Header;
    List.ModuleName = ModuleName;

    Status = PenterReadList(&List,
                            &PenterChronoSteps,
                            &Name,
                            (const CHAR *)Text,
                            Size,
                            Error);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }
    if (List.NumberOfRanges == 0) {
        goto End;
    }

    Status = RtlAllocatePages(Rtl,
                              (SIZE_T)List.NumberOfRanges *
                                  sizeof(TRACE_CHRONO_RANGE),
                              &Base);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, PenterChronoSteps.Allocate, ModuleName, Status);
        goto End;
    }

    List.Ranges = (PTRACE_CHRONO_RANGE)Base;
    (VOID)PenterReadList(&List,
                         &PenterChronoSteps,
                         &Name,
                         (const CHAR *)Text,
                         Size,
                         Error);
    *Ranges = List.Ranges;
    *NumberOfRanges = PenterOrderRanges(List.Ranges, List.NumberOfRanges);

End:

    RtlFreePages(Rtl, Text);
    return Status;
}
