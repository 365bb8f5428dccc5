/*++

Module Name:

    KdNames.c

Abstract:

    Addresses become functions.

    The engine has symbols, and names for what has none: the module alone, or
    the nearest export.  So where the unwind data says that the function begins
    behind the symbol, the name says by how much.

--*/

#include "../Reader/Calls/CallSiteImage.h"
#include "KdNames.h"

//
// One address can be where a call of a hook returns to and a function's first.
//

#define KD_SITE_IS_FUNCTION         0x8000000000000000ULL

//
// How far behind a stub's call of the hook the call of its target may be.
//

#define KD_STUB_SIZE                64u

_Use_decl_annotations_
VOID
KdNamesInitialize(
    PKD_CONTEXT Context,
    PKD_NAMES Names
    )
{
    RtlZeroBytes(Names, sizeof(*Names));
    Names->Context = Context;
    BaseInitializeMap(&Names->SiteIndexes, &Context->Allocator);
    BaseInitializeMap(&Names->Starts, &Context->Allocator);
}

_Use_decl_annotations_
VOID
KdNamesRundown(
    PKD_NAMES Names
    )
{
    PKD_CONTEXT Context = Names->Context;
    ULONG Index;

    if (Context == NULL) {
        return;
    }

    for (Index = 0; Index < Names->NumberOfModules; Index++) {
        KdImageRundown(&Names->Modules[Index]->Image);
        KdContextFree(Context, Names->Modules[Index]);
    }

    for (Index = 0; Index < Names->NumberOfFunctions; Index++) {
        KdContextFree(Context, Names->Functions[Index].Name);
    }

    KdContextFree(Context, Names->Modules);
    KdContextFree(Context, Names->Functions);
    KdContextFree(Context, Names->Sites);
    BaseRundownMap(&Names->SiteIndexes);
    BaseRundownMap(&Names->Starts);
    RtlZeroBytes(Names, sizeof(*Names));
}

_Use_decl_annotations_
NTSTATUS
KdNamesAddModule(
    PKD_NAMES Names,
    ULONGLONG Base,
    ULONG Size,
    ULONG TimeDateStamp,
    ULONG Flags,
    const CHAR *Path,
    ULONG PathLength,
    PULONG Index
    )
{
    PKD_MODULE Module;
    ULONG First = PathLength;
    ULONG End = PathLength;
    ULONG Position;
    NTSTATUS Status;

    for (*Index = 0; *Index < Names->NumberOfModules; *Index += 1) {
        Module = Names->Modules[*Index];
        if (Module->Base == Base &&
            Module->Size == Size &&
            Module->TimeDateStamp == TimeDateStamp) {
            return STATUS_SUCCESS;
        }
    }

    Status = BaseGrowArray(&Names->Context->Allocator,
                           (PVOID *)&Names->Modules,
                           &Names->ModuleCapacity,
                           Names->NumberOfModules + 1,
                           sizeof(PKD_MODULE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Module = (PKD_MODULE)KdContextAllocate(Names->Context, sizeof(*Module));
    if (Module == NULL) {
        return STATUS_NO_MEMORY;
    }

    while (First != 0 && Path[First - 1] != '\\' && Path[First - 1] != '/') {
        First -= 1;
        if (Path[First] == '.' && End == PathLength) {
            End = First;
        }
    }

    if (End == First) {
        End = PathLength;
    }

    Module->NameLength = End - First;
    if (Module->NameLength > sizeof(Module->Name)) {
        Module->NameLength = sizeof(Module->Name);
    }

    //
    // The target's memory says it: no line may begin in it.
    //

    for (Position = 0; Position < Module->NameLength; Position++) {
        Module->Name[Position] = Path[First + Position];
        if ((UCHAR)Module->Name[Position] < ' ' ||
            Module->Name[Position] == 0x7F) {
            Module->Name[Position] = '?';
        }
    }

    Module->Base = Base;
    Module->Size = Size;
    Module->TimeDateStamp = TimeDateStamp;
    Module->IsImports = (Flags & TRACE_FLAG_IMPORTS) != 0;
    Module->IsExcluded = (Flags & TRACE_FLAG_EXCLUDED) != 0;
    *Index = Names->NumberOfModules;
    Names->Modules[*Index] = Module;
    Names->NumberOfModules += 1;
    return STATUS_SUCCESS;
}

//
// Reads a module's image, once.  In a kernel the code stays where it is: a
// line to it may be slow, and its hooks are such that only tail calls are to be
// told apart by it.
//

_Must_inspect_result_
static
NTSTATUS
KdNamesOpenImage(
    _Inout_ PKD_NAMES Names,
    _Inout_ PKD_MODULE Module
    )
{
    NTSTATUS Status;

    if (Module->IsOpened) {
        return STATUS_SUCCESS;
    }

    Module->IsOpened = TRUE;
    Status = KdImageOpen(Names->Context,
                         Module->Base,
                         !Names->Context->IsKernel,
                         &Module->Image);
    Module->IsThere = NT_SUCCESS(Status) &&
                      Module->Image.TimeDateStamp == Module->TimeDateStamp;
    if (Status == STATUS_CANCELLED || Status == STATUS_NO_MEMORY) {
        return Status;
    }

    if (!Module->IsThere) {
        KdImageRundown(&Module->Image);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
ULONG
KdNamesAsk(
    PKD_CONTEXT Context,
    ULONGLONG Address,
    PCHAR Name,
    PULONGLONG Displacement
    )
{
    ULONG Needed = 0;
    ULONG Length = 0;

    Name[0] = 0;
    *Displacement = 0;
    if (Context->Symbols == NULL ||
        FAILED(Context->Symbols->Methods->GetNameByOffset(Context->Symbols,
                                                          Address,
                                                          Name,
                                                          KD_NAME_SIZE,
                                                          &Needed,
                                                          Displacement))) {
        return 0;
    }

    while (Length < KD_NAME_SIZE && Name[Length] != 0) {
        if ((UCHAR)Name[Length] < ' ' || Name[Length] == 0x7F) {
            Name[Length] = '?';
        }
        Length += 1;
    }

    return Length == KD_NAME_SIZE ? 0 : Length;
}

//
// The target of a stub: the call through a variable that follows.
//

static
ULONGLONG
KdNamesFindTarget(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Address
    )
{
    UCHAR Code[KD_STUB_SIZE];
    ULONGLONG Target = 0;
    ULONG Index;

    if (!KdContextRead(Context, Address, Code, sizeof(Code))) {
        return 0;
    }

    for (Index = 0; Index + 6 <= sizeof(Code); Index++) {
        if (Code[Index] == 0xFF && Code[Index + 1] == 0x15) {
            if (!KdContextRead(Context,
                               Address + Index + 6 +
                                   (ULONGLONG)(LONG)ImageLoadUlong(
                                       Code + Index + 2),
                               &Target,
                               sizeof(Target))) {
                Target = 0;
            }
            break;
        }
    }

    return Target;
}

static
BOOLEAN
KdNamesHasFunction(
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length
    )
{
    ULONG Index;

    for (Index = 0; Index < Length && Name[Index] != '!'; Index++) {
    }

    return Index < Length;
}

//
// Adds a function, if there is none of that beginning.
//

_Must_inspect_result_
static
NTSTATUS
KdNamesAdd(
    _Inout_ PKD_NAMES Names,
    _In_ ULONGLONG Start,
    _In_ ULONG Module,
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length,
    _Out_ PULONG Function
    )
{
    PKD_FUNCTION This;
    NTSTATUS Status;

    if (BaseFindInMap(&Names->Starts, Start, Function)) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(&Names->Context->Allocator,
                           (PVOID *)&Names->Functions,
                           &Names->FunctionCapacity,
                           Names->NumberOfFunctions + 1,
                           sizeof(KD_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    This = &Names->Functions[Names->NumberOfFunctions];
    This->Name = (PCHAR)KdContextAllocate(Names->Context, Length + 1);
    if (This->Name == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(This->Name, Name, Length);
    This->NameLength = Length;
    This->Start = Start;
    This->Module = Module;
    *Function = Names->NumberOfFunctions;
    Names->NumberOfFunctions += 1;
    return BaseAddToMap(&Names->Starts, Start, *Function);
}

_Use_decl_annotations_
NTSTATUS
KdNamesFindFunction(
    PKD_NAMES Names,
    ULONG Module,
    ULONGLONG Address,
    PULONG Function
    )
{
    PKD_CONTEXT Context = Names->Context;
    PKD_MODULE This = Names->Modules[Module];
    RTL_WRITER Writer;
    CHAR Name[KD_NAME_SIZE];
    ULONGLONG Displacement = 0;
    ULONGLONG Start = Address;
    ULONGLONG Beyond = 0;
    ULONGLONG Target;
    ULONG Length = 0;
    ULONG Rva;
    BOOLEAN IsKnown = FALSE;
    NTSTATUS Status;

    *Function = KD_NONE;
    if (KdContextIsStopped(Context)) {
        return STATUS_CANCELLED;
    }

    Status = KdNamesOpenImage(Names, This);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // The call is in front of the place, and may be the function's last
    // instruction: the engine is asked for what is in front of it, too.
    //

    if (This->IsThere &&
        ImageFindUnwindStart(&This->Image.Unwind,
                             (ULONG)(Address - This->Base),
                             &Rva)) {
        Start = This->Base + Rva;
        IsKnown = TRUE;
    }

    if (This->IsThere && This->IsImports) {
        Target = KdNamesFindTarget(Context, Address);
        if (Target != 0) {
            Length = KdNamesAsk(Context, Target, Name, &Displacement);
            if (Length != 0) {
                return KdNamesAdd(Names,
                                  Start,
                                  Module,
                                  Name,
                                  Length,
                                  Function);
            }
        }
    }

    if (This->IsThere) {
        Length = KdNamesAsk(Context, Address, Name, &Displacement);
    }

    if (Length != 0 && KdNamesHasFunction(Name, Length)) {
        if (!IsKnown || Address - Displacement >= Start) {
            Start = Address - Displacement;
        } else {
            Beyond = Start - (Address - Displacement);
        }
    } else {

        //
        // No symbol: the module's own name, and where in it this is.
        //

        RtlCopyBytes(Name, This->Name, This->NameLength);
        Length = This->NameLength;
        Beyond = Start - This->Base;
        if (Length < sizeof(Name)) {
            Name[Length] = '!';
            Length += 1;
        }
    }

    if (Beyond != 0) {
        RtlInitializeBufferWriter(&Writer,
                                  Name + Length,
                                  sizeof(Name) - Length);
        RtlWriteText(&Writer, "+0x%llx", Beyond);
        Length += Writer.LengthInBytes;
    }

    return KdNamesAdd(Names, Start, Module, Name, Length, Function);
}

_Use_decl_annotations_
NTSTATUS
KdNamesFindOther(
    PKD_NAMES Names,
    PULONG Function
    )
{
    static const CHAR Other[] = "(other)";

    return KdNamesAdd(Names,
                      1,
                      KD_NONE,
                      Other,
                      sizeof(Other) - 1,
                      Function);
}

_Use_decl_annotations_
NTSTATUS
KdNamesDescribe(
    PKD_NAMES Names,
    PCORE_CALL Call,
    PULONG Function
    )
{
    PKD_MODULE Module = Names->Modules[(ULONG)(Call->Site >> 32)];
    PKD_SITE Site;
    ULONGLONG Key = Call->Site;
    ULONG Index;
    BOOLEAN IsFunction = Call->Kind == TRACE_KIND_ENTER_FUNCTION ||
                         Call->Kind == TRACE_KIND_EXIT_FUNCTION;
    NTSTATUS Status;

    if (IsFunction) {
        Key |= KD_SITE_IS_FUNCTION;
    }

    if (!BaseFindInMap(&Names->SiteIndexes, Key, &Index)) {

        Status = KdNamesOpenImage(Names, Module);
        if (NT_SUCCESS(Status)) {
            Status = BaseGrowArray(&Names->Context->Allocator,
                                   (PVOID *)&Names->Sites,
                                   &Names->SiteCapacity,
                                   Names->NumberOfSites + 1,
                                   sizeof(KD_SITE));
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Index = Names->NumberOfSites;
        Site = &Names->Sites[Index];
        RtlZeroBytes(Site, sizeof(*Site));
        Status = KdNamesFindFunction(Names,
                                     (ULONG)(Call->Site >> 32),
                                     Module->Base + (ULONG)Call->Site,
                                     &Site->Function);
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Names->SiteIndexes, Key, Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Module->IsThere && (!IsFunction || !Module->IsExcluded)) {
            CallSiteImageRead(&Module->Image.Unwind, Call);
            Site->Key = Call->Function;
            Site->JumpTarget = Call->JumpTarget;
            Site->FrameSize = Call->FrameSize;
            Site->BodySize = Call->BodySize;
            Site->Flags = Call->Flags;
        }

        Names->NumberOfSites += 1;
    }

    Site = &Names->Sites[Index];
    Call->Function = Site->Key;
    Call->JumpTarget = Site->JumpTarget;
    Call->FrameSize = Site->FrameSize;
    Call->BodySize = Site->BodySize;
    Call->Flags = Site->Flags;
    *Function = Site->Function;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
ULONG
KdNamesCountInlined(
    PVOID Context,
    ULONGLONG Outer,
    ULONGLONG Inner
    )
{
    PKD_NAMES Names = (PKD_NAMES)Context;
    PKD_MODULE Module;

    if (READER_SITE_MODULE(Outer) != READER_SITE_MODULE(Inner)) {
        return 0;
    }

    Module = Names->Modules[(ULONG)(Outer >> 32)];
    if (!Module->IsThere) {
        return READER_INLINED_UNKNOWN;
    }

    return ImageCountInlined(&Module->Image.Unwind,
                             (ULONG)Outer,
                             (ULONG)Inner);
}

_Use_decl_annotations_
BOOLEAN
KdNamesIsOfModule(
    PCKD_FUNCTION Function,
    const CHAR *Module,
    ULONG Length
    )
{
    return Function->NameLength > Length &&
           Function->Name[Length] == '!' &&
           BaseIsTextAlike(Function->Name, Length, Module, Length);
}

_Use_decl_annotations_
VOID
KdNamesWrite(
    PKD_CONTEXT Context,
    PCKD_FUNCTION Function
    )
{
    RtlWriteBytes(&Context->Writer, Function->Name, Function->NameLength);
}

_Use_decl_annotations_
VOID
KdNamesWriteText(
    PKD_CONTEXT Context,
    const CHAR *Text,
    ULONG Length
    )
{
    ULONG Index;
    CHAR Character;

    for (Index = 0; Index < Length; Index++) {
        Character = Text[Index] >= ' ' && Text[Index] < 0x7F ? Text[Index]
                                                             : '?';
        RtlWriteBytes(&Context->Writer, &Character, 1);
    }
}
