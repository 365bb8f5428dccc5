/*++

Module Name:

    PenterExclude.c

Abstract:

    Functions that are excluded at no cost: the calls of the hooks in them are
    taken out of the module's code when the hooks are prepared, and put back
    when they are taken apart.

    Which they are is said by a list that TraceReader exclude makes
    (PenterList.c).  The list names the image by its identity and has the
    address of each call.  Nothing is believed: a place is changed only if it
    lies in code, its bytes call one of this module's hooks, and an instruction
    begins there.  That is proven as TraceReader does it, by decoding the
    function around it, which the image's own unwind data describes, from its
    first byte to its last.

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

#include "../TraceStore/TraceFrame.h"
#include "PenterHooks.h"
#include "PenterList.h"
#include "PenterPatch.h"
#include "RtlDecode.h"

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
// The room for the marks of a function's bytes grows by so many.
//

#define PENTER_MARKS                0x10000

//
// In a group's number of functions: one of its places is no call of a hook.
//

#define PENTER_GROUP_REFUSED        0x80000000u

//
// Tells whether a range lies in one of the module's executable sections.
// Rva: the range's first address.
//

static
BOOLEAN
PenterIsCode(
    _In_ const PENTER_LIST *List,
    _In_ ULONG_PTR Rva,
    _In_ ULONG SizeInBytes
    )
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

//
// Tells whether a place in the module calls one of its hooks, or jumps to it,
// directly or by way of the jumps that a linker makes.
//

static
BOOLEAN
PenterIsHookSite(
    _In_ const PENTER_LIST *List,
    _In_ const PENTER_SITE *Site
    )
{
    PBYTE Place;
    ULONG_PTR Offset;
    ULONG Thunks;
    ULONG Rva;

    Rva = PENTER_SITE_RVA(Site);
    if (!PenterIsCode(List, Rva, PENTER_NEAR_SIZE) ||
        List->Base[Rva] !=
            ((Site->Rva & PENTER_SITE_JUMP) != 0 ? PENTER_JUMP : PENTER_CALL)) {


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

//
// Moves a site down to where it belongs in a heap, whose largest is first.
// Place: the site's index.
//

static
VOID
PenterSiftSite(
    _Inout_updates_(Count) PPENTER_SITE Sites,
    _In_ ULONG Place,
    _In_ ULONG Count
    )
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

//
// Puts the sites in the order of the image, so that each page is opened once.
//

static
VOID
PenterSortSites(
    _Inout_updates_(Count) PPENTER_SITE Sites,
    _In_ ULONG Count
    )
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
}

//
// Finds the function around a place, whose code is all there.
//

static
PCTRACE_FUNCTION
PenterFindFunction(
    _In_ const PENTER_LIST *List,
    _In_ ULONG Rva
    )
{
    PCTRACE_FUNCTION Function;

    Function = TraceFrameFindEntry(List->Base, List->Header->ModuleSize, Rva);
    return Function != NULL &&
           PenterIsCode(List, Function->Begin, Function->End - Function->Begin)
               ? Function
               : NULL;
}

//
// A place calls no hook: all functions that share it are left as they are.
//

static
VOID
PenterRefuseSite(
    _Inout_ PPENTER_LIST List,
    _In_ const PENTER_SITE *Site,
    _Inout_ PPENTER_EXCLUSION Exclusion
    )
{
    PULONG Group;

    Group = &List->Groups[Site->Group];
    if (Exclusion->NumberRefused == 0) {
        Exclusion->RefusedRva = PENTER_SITE_RVA(Site);
    }
    if ((*Group & PENTER_GROUP_REFUSED) == 0) {
        Exclusion->NumberRefused += *Group;
        *Group |= PENTER_GROUP_REFUSED;
    }
}

//
// Refuses places, in the order of the image, where no instruction begins: the
// bytes of a call may be those of a constant.  A function that the image does
// not describe, or that is not all made of instructions, proves nothing.  Each
// function is decoded once.  STATUS_NO_MEMORY, or STATUS_SUCCESS.
//

static
NTSTATUS
PenterSweepSites(
    _Inout_ PPENTER_LIST List,
    _Inout_ PPENTER_EXCLUSION Exclusion
    )
{
    PCTRACE_FUNCTION Function;
    PPENTER_SITE Site;
    NTSTATUS Status;
    BOOLEAN HasIndirectJump;
    BOOLEAN IsProven;
    PVOID Marks;
    ULONG Capacity;
    ULONG Begin;
    ULONG End;
    ULONG Rva;
    ULONG Index;

    Status = STATUS_SUCCESS;
    Marks = NULL;
    Capacity = 0;
    Begin = 0;
    End = 0;
    IsProven = FALSE;
    for (Index = 0; Index < List->NumberOfSites; Index += 1) {
        Site = &List->Sites[Index];
        if ((List->Groups[Site->Group] & PENTER_GROUP_REFUSED) != 0) {
            continue;
        }

        Rva = PENTER_SITE_RVA(Site);
        if (Rva >= End) {
            Function = PenterFindFunction(List, Rva);
            Begin = Function != NULL ? Function->Begin : Rva;
            End = Function != NULL ? Function->End : Rva + 1;
            if (End - Begin > Capacity) {
                RtlFreePages(List->Rtl, Marks);
                Marks = NULL;
                Capacity = (End - Begin + PENTER_MARKS - 1) &
                           ~(PENTER_MARKS - 1u);
                Status = RtlAllocatePages(List->Rtl, Capacity, &Marks);
                if (!NT_SUCCESS(Status)) {
                    break;
                }
            }

            IsProven = Function != NULL &&
                       RtlMarkInstructions(List->Base + Begin,
                                           End - Begin,
                                           (PUCHAR)Marks,
                                           &HasIndirectJump);
        }

        if (!IsProven || End - Rva < PENTER_NEAR_SIZE ||
            (((PUCHAR)Marks)[Rva - Begin] & RTL_MARK_START) == 0) {

            PenterRefuseSite(List, Site, Exclusion);
        }
    }

    RtlFreePages(List->Rtl, Marks);
    return Status;
}

//
// Looks at the places of a list: those that remain are in the order of the
// image and have the displacements of their calls.
//

static
NTSTATUS
PenterCheckSites(
    _Inout_ PPENTER_LIST List,
    _Inout_ PPENTER_EXCLUSION Exclusion,
    _Out_ PRTL_ERROR Error
    )
{
    PPENTER_SITE Sites;
    PENTER_SITE Site;
    NTSTATUS Status;
    ULONG Count;
    ULONG Index;

    Sites = List->Sites;
    for (Index = 0; Index < List->NumberOfSites; Index += 1) {
        if (!PenterIsHookSite(List, &Sites[Index])) {
            PenterRefuseSite(List, &Sites[Index], Exclusion);
        }
    }

    PenterSortSites(Sites, List->NumberOfSites);
    Status = PenterSweepSites(List, Exclusion);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           PenterExcludeSteps.Allocate,
                           List->ModuleName,
                           Status);
    }

    Count = 0;
    for (Index = 0; Index < List->NumberOfSites; Index += 1) {
        Site = Sites[Index];
        if ((List->Groups[Site.Group] & PENTER_GROUP_REFUSED) != 0) {
            continue;
        }

        //
        // Instructions do not overlap, but one may be listed twice.
        //

        if (Count != 0 &&
            PENTER_SITE_RVA(&Site) == PENTER_SITE_RVA(&Sites[Count - 1])) {

            return RtlSetError(Error,
                               "reading TRACER_EXCLUDE: a place is listed "
                               "twice",
                               List->ModuleName,
                               STATUS_CONFLICTING_ADDRESSES);
        }

        Site.Displacement =
            *(ULONG UNALIGNED *)(List->Base + PENTER_SITE_RVA(&Site) + 1);
        Sites[Count] = Site;
        Count += 1;
    }

    for (Index = 0; Index < List->NumberOfGroups; Index += 1) {
        if ((List->Groups[Index] & PENTER_GROUP_REFUSED) == 0) {
            Exclusion->NumberOfFunctions += List->Groups[Index];
        }
    }

    Exclusion->NumberOfSites = Count;
    return STATUS_SUCCESS;
}

//
// Finds where a site's code is written: not at its first byte if that is the
// last of its word.
// Base: the module's base.
// Returns the first byte that changes; the others are in its word.
//

static
PBYTE
PenterGetWrittenPlace(
    _In_ PBYTE Base,
    _In_ const PENTER_SITE *Site
    )
{
    PBYTE Place;

    Place = Base + PENTER_SITE_RVA(Site);
    if ((Site->Rva & PENTER_SITE_JUMP) == 0 &&
        (ULONG_PTR)Place % PENTER_WORD == PENTER_WORD - 1) {

        Place += 1;
    }

    return Place;
}

//
// Changes a site's code, or puts back what was there.
// Base: the module's base.
// Site: the site, whose page may be written.
// IsExcluded: which of the two.
//

static
VOID
PenterWriteSite(
    _In_ PBYTE Base,
    _In_ const PENTER_SITE *Site,
    _In_ BOOLEAN IsExcluded
    )
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

//
// Changes the code of sites, or puts it back, page by page.
// Base: the module's base.
// Sites, Count: the sites, in the order of the image.
// IsExcluded: which of the two.
// NumberWritten: how many were written.
// Returns STATUS_SUCCESS or NtProtectVirtualMemory's status, where the rest is
// left as it was: STATUS_DYNAMIC_CODE_BLOCKED where the process has forbidden
// it.
//

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
{
    PENTER_LIST List;
    NTSTATUS Status;
    PVOID Base;
    PVOID Groups;
    ULONG Written;
    ULONG Undone;

    RtlZeroBytes(Exclusion, sizeof(*Exclusion));
    RtlZeroBytes(&List, sizeof(List));
    List.Rtl = Rtl;
    List.Header = Header;
    List.ModuleName = ModuleName;
    List.Base = (PBYTE)(ULONG_PTR)Header->ModuleBase;
    Base = NULL;
    Groups = NULL;

    Status = PenterReadList(&List,
                            &PenterExcludeSteps,
                            ListName,
                            Text,
                            SizeInBytes,
                            Error);
    if (!NT_SUCCESS(Status) || List.NumberOfSites == 0) {
        return Status;
    }

    Status = RtlAllocatePages(Rtl,
                              (SIZE_T)List.NumberOfSites *
                                  sizeof(PENTER_SITE),
                              &Base);
    if (NT_SUCCESS(Status)) {
        Status = RtlAllocatePages(Rtl,
                                  (SIZE_T)List.NumberOfGroups * sizeof(ULONG),
                                  &Groups);
    }
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, PenterExcludeSteps.Allocate, ModuleName, Status);
        goto Error;
    }

    List.Sites = (PPENTER_SITE)Base;
    List.Groups = (PULONG)Groups;
    (VOID)PenterReadList(&List,
                         &PenterExcludeSteps,
                         ListName,
                         Text,
                         SizeInBytes,
                         Error);
    Exclusion->Base = List.Base;
    Exclusion->Sites = List.Sites;
    Status = PenterCheckSites(&List, Exclusion, Error);
    if (!NT_SUCCESS(Status)) {
        goto Error;
    }

    Status = PenterWriteSites(Rtl,
                              List.Base,
                              List.Sites,
                              Exclusion->NumberOfSites,
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

    RtlFreePages(Rtl, Groups);
    return STATUS_SUCCESS;

Error:

    RtlFreePages(Rtl, Groups);
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

_Use_decl_annotations_
VOID
PenterIncludeAgain(
    PCRTL Rtl,
    PPENTER_EXCLUSION Exclusion
    )
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
