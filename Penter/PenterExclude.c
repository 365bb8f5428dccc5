/*++

Module Name:

    PenterExclude.c

Abstract:

    Functions that are excluded at no cost: the calls of the hooks in them are
    taken out of the module's code when the hooks are prepared, and put back
    when they are taken apart.

    Which they are is said by a list that TraceReader exclude makes; its format
    is described in Docs/Exclude.md.  The list names the image by its identity
    and has the address of each call.  Nothing is believed: a place is changed
    only if it lies in code and its bytes call one of this module's hooks.

    TRACER_CHRONO has such a list, too, of which only the functions' addresses
    are taken.

    Other threads may be running the code.  Processors promise that they fetch
    all or nothing of a change that another processor makes only if it is one
    store within an aligned word of eight bytes, which is less than a cache
    line.  So each change is such a store, and so is each that undoes it:

        call hook       a no-operation of five bytes takes its place
        the same, in    its first two bytes become a jump over the other three;
        two words       if only one of them is in the first word, the call goes
                        to a return
        jmp hook        its first byte becomes a return

    The pages keep the right to be executed meanwhile.

--*/

#include "PenterPrivate.h"

#define PENTER_PAGE                 4096
#define PENTER_WORD                 8           // what is fetched as a whole

#define PENTER_CALL                 0xE8        // call rel32
#define PENTER_JUMP                 0xE9        // jmp rel32
#define PENTER_JUMP_SHORT           0xEB
#define PENTER_JUMP_INDIRECT        0x25FF      // jmp [rip + rel32]
#define PENTER_RETURN               0xC3
#define PENTER_NEAR_SIZE            5
#define PENTER_INDIRECT_SIZE        6

//
// nop dword ptr [rax + rax], and jmp $ + 5.
//

#define PENTER_NOP                  0x0000441F0FULL
#define PENTER_NEAR_MASK            0xFFFFFFFFFFULL
#define PENTER_SKIP                 (PENTER_JUMP_SHORT | (3ULL << 8))
#define PENTER_SKIP_MASK            0xFFFFULL

//
// How many jumps a linker may have put between a call and its hook.
//

#define PENTER_MAXIMUM_THUNKS       2

//
// In a site's Rva: it is a jump, not a call.
//

#define PENTER_SITE_JUMP            0x80000000u
#define PENTER_SITE_RVA(Site)       ((Site)->Rva & ~PENTER_SITE_JUMP)

//
// What is known while the list is read.
//

//
// What is said of a list that cannot be used.
//

typedef struct _PENTER_LIST_STEPS {
    PCSZ Open;
    PCSZ Read;
    PCSZ Compare;
    PCSZ Allocate;
} PENTER_LIST_STEPS;
typedef const PENTER_LIST_STEPS *PCPENTER_LIST_STEPS;

static const PENTER_LIST_STEPS PenterExcludeSteps = {
    "opening TRACER_EXCLUDE",
    "reading TRACER_EXCLUDE",
    "comparing the image with that of TRACER_EXCLUDE",
    "allocating what TRACER_EXCLUDE needs"
};

static const PENTER_LIST_STEPS PenterChronoSteps = {
    "opening TRACER_CHRONO",
    "reading TRACER_CHRONO",
    "comparing the image with that of TRACER_CHRONO",
    "allocating what TRACER_CHRONO needs"
};

typedef struct _PENTER_LIST {
    PCRTL Rtl;
    PCTRACE_STORE_HEADER Header;    // identifies the module
    PCUNICODE_STRING ModuleName;
    PBYTE Base;                     // of the module
    const CHAR *Next;               // what is still to be read
    const CHAR *End;
    ULONG Line;                     // from 1
    BOOLEAN HasModule;              // a part has begun
    BOOLEAN HasFunction;            // and a function in it
    BOOLEAN HasSite;                // and a place in that
    BOOLEAN IsOurs;                 // the part is this module's
    BOOLEAN IsNamed;                // a part has its file name
    BOOLEAN IsFound;                // and one of them its identity
    BOOLEAN IsRefused;              // the functions since GroupBegin
    PPENTER_SITE Sites;             // NULL: they are only counted
    ULONG NumberOfSites;
    ULONG NumberOfFunctions;
    ULONG NumberRefused;            // functions
    ULONG RefusedRva;               // the first place that no hook is called
    ULONG GroupSite;                // where these functions' sites begin
    ULONG GroupFunctions;           // their number
    PTRACE_CHRONO_RANGE Ranges;     // NULL: they are only counted
    ULONG NumberOfRanges;           // functions of this module
} PENTER_LIST;
typedef PENTER_LIST *PPENTER_LIST;

static
BOOLEAN
PenterTakeWord(
    _Inout_ const CHAR **Text,
    _In_ const CHAR *End,
    _In_z_ PCSZ Word
    )
/*++

Routine Description:

    Takes a word and the blank behind it.

Arguments:

    Text - Supplies where it should be; receives what follows.

    End - Supplies the line's end.

    Word - Supplies the word.

Return Value:

    FALSE if something else is there.

--*/
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

static
BOOLEAN
PenterTakeNumber(
    _Inout_ const CHAR **Text,
    _In_ const CHAR *End,
    _In_ BOOLEAN IsLast,
    _Out_ PULONG Number
    )
/*++

Routine Description:

    Takes a hexadecimal number of one to eight digits and the blank behind it.

Arguments:

    Text - Supplies where it should be; receives what follows.

    End - Supplies the line's end.

    IsLast - Supplies whether the line ends there, without a blank.

    Number - Receives the number.

Return Value:

    FALSE if something else is there.

--*/
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

static
BOOLEAN
PenterIsModuleIdentity(
    _In_ const PENTER_LIST *List,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ SIZE_T LengthInBytes
    )
/*++

Routine Description:

    Compares what a part says of the PDB with the module: the GUID and the age,
    in hexadecimal digits, or a dash.

Arguments:

    List - Supplies the list.

    Text, LengthInBytes - Supply the word.

Return Value:

    TRUE if they are the same.

--*/
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

static
BOOLEAN
PenterIsModuleName(
    _In_ const PENTER_LIST *List,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Compares a file name with the module's, without regard to case.

Arguments:

    List - Supplies the list.

    Text, LengthInBytes - Supply the name, UTF-8.

Return Value:

    TRUE if they are the same.

--*/
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
BOOLEAN
PenterIsCode(
    _In_ const PENTER_LIST *List,
    _In_ ULONG_PTR Rva,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Tells whether a range lies in one of the module's executable sections.

Arguments:

    List - Supplies the list.

    Rva - Supplies the range's first address.

    SizeInBytes - Supplies its size.

Return Value:

    TRUE if it does.

--*/
{
    PIMAGE_NT_HEADERS64 NtHeaders;
    PIMAGE_SECTION_HEADER Section;
    ULONG Index;

    if (Rva >= List->Header->ModuleSize ||
        SizeInBytes > List->Header->ModuleSize - Rva) {

        return FALSE;
    }

    NtHeaders = (PIMAGE_NT_HEADERS64)
        (List->Base + ((PIMAGE_DOS_HEADER)List->Base)->e_lfanew);
    Section = IMAGE_FIRST_SECTION(NtHeaders);
    for (Index = 0;
         Index < NtHeaders->FileHeader.NumberOfSections;
         Index += 1) {

        if ((Section[Index].Characteristics & IMAGE_SCN_MEM_EXECUTE) != 0 &&
            Rva >= Section[Index].VirtualAddress &&
            Rva - Section[Index].VirtualAddress <
                Section[Index].Misc.VirtualSize &&
            SizeInBytes <= Section[Index].Misc.VirtualSize -
                           (Rva - Section[Index].VirtualAddress)) {

            return TRUE;
        }
    }

    return FALSE;
}

static
BOOLEAN
PenterIsHookSite(
    _In_ const PENTER_LIST *List,
    _In_ ULONG Rva,
    _In_ UCHAR Instruction
    )
/*++

Routine Description:

    Tells whether a place in the module calls one of its hooks, or jumps to it,
    directly or by way of the jumps that a linker makes.

Arguments:

    List - Supplies the list.

    Rva - Supplies the place.

    Instruction - Supplies PENTER_CALL or PENTER_JUMP.

Return Value:

    TRUE if it does.

--*/
{
    PBYTE Place;
    ULONG_PTR Offset;
    ULONG Thunks;

    if (!PenterIsCode(List, Rva, PENTER_NEAR_SIZE) ||
        List->Base[Rva] != Instruction) {

        return FALSE;
    }

    Place = List->Base + Rva;
    for (Thunks = 0; Thunks <= PENTER_MAXIMUM_THUNKS; Thunks += 1) {

        Place += PENTER_NEAR_SIZE + *(LONG UNALIGNED *)(Place + 1);
        if (PenterIsHook(Place)) {
            return TRUE;
        }

        Offset = (ULONG_PTR)Place - (ULONG_PTR)List->Base;
        if (!PenterIsCode(List, Offset, PENTER_INDIRECT_SIZE)) {
            return FALSE;
        }

        if (*(USHORT UNALIGNED *)Place == PENTER_JUMP_INDIRECT) {
            Offset += PENTER_INDIRECT_SIZE +
                      (ULONG_PTR)(LONG_PTR)*(LONG UNALIGNED *)(Place + 2);
            return Offset < List->Header->ModuleSize &&
                   List->Header->ModuleSize - Offset >= sizeof(PVOID) &&
                   PenterIsHook(*(PBYTE UNALIGNED *)(List->Base + Offset));
        }

        if (*Place != PENTER_JUMP) {
            return FALSE;
        }
    }

    return FALSE;
}

static
VOID
PenterEndGroup(
    _Inout_ PPENTER_LIST List
    )
/*++

Routine Description:

    Ends functions that are excluded all or not at all: if one of their places
    is not a call of a hook, all are left as they are.

Arguments:

    List - Supplies the list.

Return Value:

    None.

--*/
{
    if (List->IsOurs) {
        if (List->IsRefused) {
            List->NumberOfSites = List->GroupSite;
            List->NumberRefused += List->GroupFunctions;
        } else {
            List->NumberOfFunctions += List->GroupFunctions;
        }
    }

    List->GroupSite = List->NumberOfSites;
    List->GroupFunctions = 0;
    List->IsRefused = FALSE;
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
/*++

Routine Description:

    Reads the line that a part begins with.

Arguments:

    List - Supplies the list.

    Text, End - Supply what follows the line's first word.

Return Value:

    FALSE if the line makes no sense.

--*/
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
/*++

Routine Description:

    Reads the line that names a function.

Arguments:

    List - Supplies the list.

    Text, End - Supply what follows the line's first word.

Return Value:

    FALSE if the line makes no sense.

--*/
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
    List->HasFunction = TRUE;
    List->GroupFunctions += 1;
    if (List->IsOurs) {
        if (List->Ranges != NULL) {
            List->Ranges[List->NumberOfRanges].First = FirstRva;
            List->Ranges[List->NumberOfRanges].End = LastRva;
        }
        List->NumberOfRanges += 1;
    }
    return TRUE;
}

static
BOOLEAN
PenterReadSiteLine(
    _Inout_ PPENTER_LIST List,
    _In_ const CHAR *Text,
    _In_ const CHAR *End,
    _In_ UCHAR Instruction
    )
/*++

Routine Description:

    Reads a line that has a place where a hook is called.

Arguments:

    List - Supplies the list.

    Text, End - Supply what follows the line's first word.

    Instruction - Supplies PENTER_CALL or PENTER_JUMP.

Return Value:

    FALSE if the line makes no sense.

--*/
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
        if (!PenterIsHookSite(List, Rva, Instruction)) {
            if (List->NumberRefused == 0 && !List->IsRefused) {
                List->RefusedRva = Rva;
            }
            List->IsRefused = TRUE;
            return TRUE;
        }
        Site = &List->Sites[List->NumberOfSites];
        Site->Rva = Instruction == PENTER_JUMP ? Rva | PENTER_SITE_JUMP : Rva;
        Site->Displacement = *(ULONG UNALIGNED *)(List->Base + Rva + 1);
    }

    List->NumberOfSites += 1;
    return TRUE;
}

static
BOOLEAN
PenterReadLine(
    _Inout_ PPENTER_LIST List
    )
/*++

Routine Description:

    Reads a line.

Arguments:

    List - Supplies the list, which is not at its end.

Return Value:

    FALSE if the line makes no sense.

--*/
{
    const CHAR *Text;
    const CHAR *End;

    Text = List->Next;
    End = Text;
    while (End < List->End && *End != '\n') {
        End += 1;
    }
    List->Next = End < List->End ? End + 1 : End;
    List->Line += 1;
    if (End > Text && End[-1] == '\r') {
        End -= 1;
    }

    if (List->Line == 1) {
        return (SIZE_T)(End - Text) == sizeof(PENTER_LIST_VERSION) - 1 &&
               RtlAreBytesEqual(Text,
                                PENTER_LIST_VERSION,
                                sizeof(PENTER_LIST_VERSION) - 1);
    }

    if (Text == End || *Text == '#') {
        return TRUE;
    }
    if (PenterTakeWord(&Text, End, "module")) {
        return PenterReadModuleLine(List, Text, End);
    }
    if (PenterTakeWord(&Text, End, "function")) {
        return PenterReadFunctionLine(List, Text, End);
    }
    if (PenterTakeWord(&Text, End, "call")) {
        return PenterReadSiteLine(List, Text, End, PENTER_CALL);
    }
    if (PenterTakeWord(&Text, End, "jump")) {
        return PenterReadSiteLine(List, Text, End, PENTER_JUMP);
    }

    return FALSE;
}

static
BOOLEAN
PenterReadList(
    _Inout_ PPENTER_LIST List,
    _In_reads_bytes_(SizeInBytes) const CHAR *Text,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Reads the list: the first time to check its lines and to count, the second
    time to keep this module's places.

Arguments:

    List - Supplies the module; receives the places, or their number.

    Text, SizeInBytes - Supply the list.

Return Value:

    FALSE if a line, the last that was read, makes no sense.

--*/
{
    List->Next = Text;
    List->End = Text + SizeInBytes;
    List->Line = 0;
    List->HasModule = FALSE;
    List->IsOurs = FALSE;
    List->IsFound = FALSE;
    List->IsNamed = FALSE;
    List->NumberOfSites = 0;
    List->NumberOfFunctions = 0;
    List->NumberRefused = 0;
    List->NumberOfRanges = 0;
    PenterEndGroup(List);

    do {
        if (!PenterReadLine(List)) {
            return FALSE;
        }
    } while (List->Next < List->End);

    PenterEndGroup(List);
    return TRUE;
}

static
VOID
PenterSiftSite(
    _Inout_updates_(Count) PPENTER_SITE Sites,
    _In_ ULONG Place,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Moves a site down to where it belongs in a heap, whose largest is first.

Arguments:

    Sites, Count - Supply the heap.

    Place - Supplies the site's index.

Return Value:

    None.

--*/
{
    PENTER_SITE Site;
    ULONG Child;

    Site = Sites[Place];
    for (;;) {
        Child = 2 * Place + 1;
        if (Child >= Count) {
            break;
        }
        if (Child + 1 < Count &&
            PENTER_SITE_RVA(&Sites[Child]) <
                PENTER_SITE_RVA(&Sites[Child + 1])) {

            Child += 1;
        }
        if (PENTER_SITE_RVA(&Sites[Child]) <= PENTER_SITE_RVA(&Site)) {
            break;
        }
        Sites[Place] = Sites[Child];
        Place = Child;
    }

    Sites[Place] = Site;
}

static
BOOLEAN
PenterSortSites(
    _Inout_updates_(Count) PPENTER_SITE Sites,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Puts the sites in the order of the image, so that each page is opened once.

Arguments:

    Sites, Count - Supply the sites.

Return Value:

    FALSE if two of them overlap, or are the same.

--*/
{
    PENTER_SITE Site;
    ULONG Index;

    for (Index = Count / 2; Index > 0; Index -= 1) {
        PenterSiftSite(Sites, Index - 1, Count);
    }
    for (Index = Count; Index > 1; Index -= 1) {
        Site = Sites[0];
        Sites[0] = Sites[Index - 1];
        Sites[Index - 1] = Site;
        PenterSiftSite(Sites, 0, Index - 1);
    }

    for (Index = 1; Index < Count; Index += 1) {
        if (PENTER_SITE_RVA(&Sites[Index]) -
            PENTER_SITE_RVA(&Sites[Index - 1]) < PENTER_NEAR_SIZE) {

            return FALSE;
        }
    }

    return TRUE;
}

static
PBYTE
PenterGetWrittenPlace(
    _In_ PBYTE Base,
    _In_ const PENTER_SITE *Site
    )
/*++

Routine Description:

    Finds where a site's code is written: not at its first byte if that is the
    last of its word.

Arguments:

    Base - Supplies the module's base.

    Site - Supplies the site.

Return Value:

    The first byte that changes; the others are in its word.

--*/
{
    PBYTE Place;

    Place = Base + PENTER_SITE_RVA(Site);
    if ((Site->Rva & PENTER_SITE_JUMP) == 0 &&
        (ULONG_PTR)Place % PENTER_WORD == PENTER_WORD - 1) {

        Place += 1;
    }

    return Place;
}

static
VOID
PenterWriteSite(
    _In_ PBYTE Base,
    _In_ const PENTER_SITE *Site,
    _In_ BOOLEAN IsExcluded
    )
/*++

Routine Description:

    Changes a site's code, or puts back what was there.

Arguments:

    Base - Supplies the module's base.

    Site - Supplies the site, whose page may be written.

    IsExcluded - Supplies which of the two.

Return Value:

    None.

--*/
{
    PBYTE Place;
    LONGLONG volatile *Word;
    ULONGLONG Mask;
    ULONGLONG Code;
    LONGLONG Old;
    LONGLONG New;
    ULONG Offset;

    Place = Base + PENTER_SITE_RVA(Site);
    if ((Site->Rva & PENTER_SITE_JUMP) != 0) {
        *(BYTE volatile *)Place = IsExcluded ? PENTER_RETURN : PENTER_JUMP;
        return;
    }

    Offset = (ULONG)((ULONG_PTR)Place % PENTER_WORD);
    if (Offset == PENTER_WORD - 1) {

        //
        // The displacement is at the beginning of a word.
        //

        *(ULONG volatile *)(Place + 1) =
            IsExcluded ? (ULONG)((ULONG_PTR)PenterReturn -
                                 (ULONG_PTR)(Place + PENTER_NEAR_SIZE)) :
                         Site->Displacement;
        return;
    }

    //
    // The whole word is written, never one across two words: what a processor
    // fetches of such a store may be half of it.
    //

    Code = PENTER_CALL | ((ULONGLONG)Site->Displacement << 8);
    if (Offset <= PENTER_WORD - PENTER_NEAR_SIZE) {
        Mask = PENTER_NEAR_MASK;
        if (IsExcluded) {
            Code = PENTER_NOP;
        }
    } else {
        Mask = PENTER_SKIP_MASK;
        if (IsExcluded) {
            Code = PENTER_SKIP;
        }
    }

    Mask <<= Offset * 8;
    Code = (Code << (Offset * 8)) & Mask;
    Word = (LONGLONG volatile *)(Place - Offset);
    do {
        Old = *Word;
        New = (LONGLONG)(((ULONGLONG)Old & ~Mask) | Code);
    } while (_InterlockedCompareExchange64(Word, New, Old) != Old);
}

static
NTSTATUS
PenterWriteSites(
    _In_ PCRTL Rtl,
    _In_ PBYTE Base,
    _In_reads_(Count) const PENTER_SITE *Sites,
    _In_ ULONG Count,
    _In_ BOOLEAN IsExcluded,
    _Out_ PULONG NumberWritten
    )
/*++

Routine Description:

    Changes the code of sites, or puts it back, page by page.

Arguments:

    Rtl - Supplies the RTL.

    Base - Supplies the module's base.

    Sites, Count - Supply the sites, in the order of the image.

    IsExcluded - Supplies which of the two.

    NumberWritten - Receives how many were written.

Return Value:

    STATUS_SUCCESS or NtProtectVirtualMemory's status, where the rest is left
    as it was: STATUS_DYNAMIC_CODE_BLOCKED where the process has forbidden it.

--*/
{
    NTSTATUS Status;
    ULONG_PTR Opened;
    PVOID Page;
    SIZE_T Size;
    ULONG Protection;
    ULONG Ignored;
    ULONG Index;

    Index = 0;
    while (Index < Count) {

        Opened = (ULONG_PTR)PenterGetWrittenPlace(Base, &Sites[Index]) &
                 ~(ULONG_PTR)(PENTER_PAGE - 1);
        Page = (PVOID)Opened;
        Size = PENTER_PAGE;
        Status = Rtl->NtProtectVirtualMemory((HANDLE)-1,
                                             &Page,
                                             &Size,
                                             PAGE_EXECUTE_READWRITE,
                                             &Protection);
        if (!NT_SUCCESS(Status)) {
            *NumberWritten = Index;
            return Status;
        }

        do {
            PenterWriteSite(Base, &Sites[Index], IsExcluded);
            Index += 1;
        } while (Index < Count &&
                 (ULONG_PTR)PenterGetWrittenPlace(Base, &Sites[Index]) -
                     Opened < PENTER_PAGE);

        //
        // Should this fail, the page keeps what it was given, which includes
        // what it had.
        //

        Page = (PVOID)Opened;
        Size = PENTER_PAGE;
        (VOID)Rtl->NtProtectVirtualMemory((HANDLE)-1,
                                          &Page,
                                          &Size,
                                          Protection,
                                          &Ignored);
        if (Rtl->NtFlushInstructionCache != NULL) {
            Rtl->NtFlushInstructionCache((HANDLE)-1,
                                         (PVOID)Opened,
                                         PENTER_PAGE);
        }
    }

    *NumberWritten = Count;
    return STATUS_SUCCESS;
}

static
NTSTATUS
PenterSetLineError(
    _Out_ PRTL_ERROR Error,
    _In_ PCPENTER_LIST_STEPS Steps,
    _In_ PCUNICODE_STRING ListName,
    _In_ ULONG Line
    )
/*++

Routine Description:

    Says which line of a list makes no sense.

Arguments:

    Error - Receives it.

    Steps - Supplies which list it is.

    ListName - Supplies the list's name.

    Line - Supplies the line.

Return Value:

    STATUS_FILE_INVALID.

--*/
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

static
NTSTATUS
PenterReadListFile(
    _In_ PCRTL Rtl,
    _In_ PCPENTER_LIST_STEPS Steps,
    _In_ PCUNICODE_STRING NtPath,
    _Outptr_ PVOID *Text,
    _Out_ PULONG SizeInBytes,
    _Out_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Reads the file of a list.

Arguments:

    Rtl - Supplies the RTL.

    Steps - Supplies which list it is.

    NtPath - Supplies the file.

    Text - Receives pages with what the file has; NULL if none are to be freed.

    SizeInBytes - Receives its size.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or why the file cannot be read.

--*/
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
    if (NT_SUCCESS(Status)) {
        Status = RtlReadFile(Rtl, File, 0, *Text, (ULONG)Size, SizeInBytes);
    }
    RtlClose(Rtl, File);

    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error, Steps->Read, NtPath, Status);
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
PenterExcludeByText(
    PCRTL Rtl,
    PCTRACE_STORE_HEADER Header,
    PCUNICODE_STRING ModuleName,
    PCUNICODE_STRING ListName,
    const CHAR *Text,
    ULONG SizeInBytes,
    PPENTER_EXCLUSION Exclusion,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Excludes the functions of a list.

Arguments:

    Rtl - Supplies the RTL.

    Header - Supplies the module's base and what identifies it.

    ModuleName - Supplies its file name.

    ListName - Supplies the list's name, for the error.

    Text, SizeInBytes - Supply the list.

    Exclusion - Receives what was done; it is zeroed before.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS, also if some functions were refused; or what failed, and
    then nothing is excluded: see the header.

--*/
{
    PENTER_LIST List;
    NTSTATUS Status;
    PVOID Base;
    ULONG Written;
    ULONG Undone;

    RtlZeroBytes(Exclusion, sizeof(*Exclusion));
    RtlZeroBytes(&List, sizeof(List));
    List.Rtl = Rtl;
    List.Header = Header;
    List.ModuleName = ModuleName;
    List.Base = (PBYTE)(ULONG_PTR)Header->ModuleBase;

    if (!PenterReadList(&List, Text, SizeInBytes)) {
        return PenterSetLineError(Error,
                                  &PenterExcludeSteps,
                                  ListName,
                                  List.Line);
    }
    if (List.IsNamed && !List.IsFound) {
        return RtlSetError(Error,
                           PenterExcludeSteps.Compare,
                           ModuleName,
                           STATUS_REVISION_MISMATCH);
    }
    if (List.NumberOfSites == 0) {
        return STATUS_SUCCESS;
    }

    Status = RtlAllocatePages(Rtl,
                              (SIZE_T)List.NumberOfSites *
                                  sizeof(PENTER_SITE),
                              &Base);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           PenterExcludeSteps.Allocate,
                           ModuleName,
                           Status);
    }

    List.Sites = (PPENTER_SITE)Base;
    (VOID)PenterReadList(&List, Text, SizeInBytes);
    Exclusion->Base = List.Base;
    Exclusion->NumberOfFunctions = List.NumberOfFunctions;
    Exclusion->NumberRefused = List.NumberRefused;
    Exclusion->RefusedRva = List.RefusedRva;

    if (!PenterSortSites(List.Sites, List.NumberOfSites)) {
        Status = RtlSetError(Error,
                             "reading TRACER_EXCLUDE: places overlap",
                             ModuleName,
                             STATUS_CONFLICTING_ADDRESSES);
        goto Error;
    }

    Status = PenterWriteSites(Rtl,
                              List.Base,
                              List.Sites,
                              List.NumberOfSites,
                              TRUE,
                              &Written);
    if (!NT_SUCCESS(Status)) {
        (VOID)PenterWriteSites(Rtl,
                               List.Base,
                               List.Sites,
                               Written,
                               FALSE,
                               &Undone);
        RtlSetError(Error,
                    "changing the code for TRACER_EXCLUDE",
                    ModuleName,
                    Status);
        goto Error;
    }

    Exclusion->Sites = List.Sites;
    Exclusion->NumberOfSites = List.NumberOfSites;
    return STATUS_SUCCESS;

Error:

    RtlFreePages(Rtl, Base);
    RtlZeroBytes(Exclusion, sizeof(*Exclusion));
    return Status;
}

_Use_decl_annotations_
NTSTATUS
PenterExcludeByFile(
    PCRTL Rtl,
    PCTRACE_STORE_HEADER Header,
    PCUNICODE_STRING ModuleName,
    PCUNICODE_STRING NtPath,
    PPENTER_EXCLUSION Exclusion,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Excludes the functions of a file's list.

Arguments:

    Rtl - Supplies the RTL.

    Header - Supplies the module's base and what identifies it.

    ModuleName - Supplies its file name.

    NtPath - Supplies the file.

    Exclusion - Receives what was done; it is zeroed before.

    Error - Receives what failed.

Return Value:

    What PenterExcludeByText returns, or why the file cannot be read.

--*/
{
    NTSTATUS Status;
    UNICODE_STRING Name;
    PVOID Text;
    ULONG Size;

    RtlZeroBytes(Exclusion, sizeof(*Exclusion));
    RtlBaseName(NtPath, &Name);
    Status = PenterReadListFile(Rtl,
                                &PenterExcludeSteps,
                                NtPath,
                                &Text,
                                &Size,
                                Error);
    if (NT_SUCCESS(Status)) {
        Status = PenterExcludeByText(Rtl,
                                     Header,
                                     ModuleName,
                                     &Name,
                                     (const CHAR *)Text,
                                     Size,
                                     Exclusion,
                                     Error);
    }

    RtlFreePages(Rtl, Text);
    return Status;
}

static
ULONG
PenterOrderRanges(
    _Inout_updates_(Count) PTRACE_CHRONO_RANGE Ranges,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Puts ranges in order, and makes one of those that overlap.

Arguments:

    Ranges, Count - Supply the ranges, one at least.

Return Value:

    Their new number.

--*/
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
/*++

Routine Description:

    Reads the functions of TRACER_CHRONO.

Arguments:

    Rtl - Supplies the RTL.

    Header - Supplies the module's base and what identifies it.

    ModuleName - Supplies its file name.

    NtPath - Supplies the file.

    Ranges - Receives pages with where the module's functions are; NULL if the
        list has none of its functions.

    NumberOfRanges - Receives their number.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or why the list cannot be used: see the header.

--*/
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
    List.Base = (PBYTE)(ULONG_PTR)Header->ModuleBase;

    if (!PenterReadList(&List, (const CHAR *)Text, Size)) {
        Status = PenterSetLineError(Error,
                                    &PenterChronoSteps,
                                    &Name,
                                    List.Line);
        goto End;
    }
    if (List.IsNamed && !List.IsFound) {
        Status = RtlSetError(Error,
                             PenterChronoSteps.Compare,
                             ModuleName,
                             STATUS_REVISION_MISMATCH);
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
    (VOID)PenterReadList(&List, (const CHAR *)Text, Size);
    *Ranges = List.Ranges;
    *NumberOfRanges = PenterOrderRanges(List.Ranges, List.NumberOfRanges);

End:

    RtlFreePages(Rtl, Text);
    return Status;
}

_Use_decl_annotations_
VOID
PenterIncludeAgain(
    PCRTL Rtl,
    PPENTER_EXCLUSION Exclusion
    )
/*++

Routine Description:

    Puts back the code of excluded functions.

Arguments:

    Rtl - Supplies the RTL.

    Exclusion - Supplies what was done; is zeroed.

Return Value:

    None.

--*/
{
    ULONG Written;

    (VOID)PenterWriteSites(Rtl,
                           Exclusion->Base,
                           Exclusion->Sites,
                           Exclusion->NumberOfSites,
                           FALSE,
                           &Written);
    RtlFreePages(Rtl, Exclusion->Sites);
    RtlZeroBytes(Exclusion, sizeof(*Exclusion));
}
