/*++

Module Name:

    KdStackUsage.c

Abstract:

    !stack_usage: how many bytes of stack the functions of a module take, by
    what their unwind data says: registers pushed, and what is allocated, in the
    prologue.  What a function allocates as it goes (alloca) is not in it, and
    one that has no unwind data takes none.

--*/

#include "KdArguments.h"
#include "KdCommands.h"
#include "KdNames.h"

typedef struct _KD_FRAME {
    ULONG Rva;                      // of the function
    ULONG SizeInBytes;              // below the return address
    ULONG SavedInBytes;             // of it, registers
    BOOLEAN HasFrameRegister;
} KD_FRAME;
typedef KD_FRAME *PKD_FRAME;

typedef struct _KD_FRAMES {
    PKD_FRAME Frames;
    PULONG Order;
    ULONG Count;
    ULONG Capacity;
    ULONG NumberUnknown;            // of whose frames nothing can be said
    READER_MAP Rvas;
} KD_FRAMES;
typedef KD_FRAMES *PKD_FRAMES;

static
LONG
KdStackUsageCompare(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PKD_FRAME Frames = (PKD_FRAME)Context;

    if (Frames[First].SizeInBytes != Frames[Second].SizeInBytes) {
        return Frames[First].SizeInBytes > Frames[Second].SizeInBytes ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}

//
// Gathers the functions: what has several ranges is one, with the largest.
//

_Must_inspect_result_
static
NTSTATUS
KdStackUsageGather(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_IMAGE *Image,
    _Inout_ PKD_FRAMES Frames
    )
{
    PCREADER_UNWIND Unwind = &Image->Unwind;
    READER_UNWIND_FRAME Frame;
    PKD_FRAME This;
    ULONG Index;
    ULONG Place;
    NTSTATUS Status;

    for (Index = 0; Index < Unwind->NumberOfFunctions; Index++) {

        if (KdContextIsStopped(Context)) {
            return STATUS_CANCELLED;
        }

        if (!ImageFindUnwindFrame(Unwind,
                                  ImageQueryUnwindRange(Unwind, Index) + 1,
                                  &Frame)) {
            Frames->NumberUnknown += 1;
            continue;
        }

        if (!BaseFindInMap(&Frames->Rvas, Frame.FunctionRva, &Place)) {

            Place = Frames->Count;
            Status = BaseGrowArray(&Context->Allocator,
                                   (PVOID *)&Frames->Frames,
                                   &Frames->Capacity,
                                   Place + 1,
                                   sizeof(KD_FRAME));
            if (NT_SUCCESS(Status)) {
                Status = BaseAddToMap(&Frames->Rvas, Frame.FunctionRva, Place);
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Frames->Count += 1;
            Frames->Frames[Place].Rva = Frame.FunctionRva;
        }

        This = &Frames->Frames[Place];
        if (Frame.BodySizeInBytes >= This->SizeInBytes) {
            This->SizeInBytes = Frame.BodySizeInBytes;
            This->SavedInBytes = Frame.SavedInBytes;
        }

        This->HasFrameRegister = This->HasFrameRegister || Frame.IsDynamic;
    }

    Frames->Order = (PULONG)KdContextAllocate(
        Context,
        ((ULONGLONG)Frames->Count + 1) * sizeof(ULONG));
    if (Frames->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Frames->Count; Index++) {
        Frames->Order[Index] = Index;
    }

    if (Frames->Count > 1) {
        BaseSort(Frames->Order,
                 Frames->Count,
                 KdStackUsageCompare,
                 Frames->Frames);
    }

    return STATUS_SUCCESS;
}

//
// The name of a function, module!function or module!+rva.
//

static
ULONG
KdStackUsageName(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_IMAGE *Image,
    _In_z_ PCSZ Module,
    _In_ ULONG Rva,
    _Out_writes_bytes_(KD_NAME_SIZE) PCHAR Name
    )
{
    RTL_WRITER Writer;
    ULONGLONG Displacement;
    ULONG Length;
    ULONG Index;

    Length = KdNamesAsk(Context, Image->Base + Rva, Name, &Displacement);
    for (Index = 0; Index < Length && Name[Index] != '!'; Index++) {
    }

    if (Index == Length) {
        RtlInitializeBufferWriter(&Writer, Name, KD_NAME_SIZE);
        RtlWriteText(&Writer, "%T!+0x%x", Module, Rva);
        return Writer.LengthInBytes;
    }

    if (Displacement != 0) {
        RtlInitializeBufferWriter(&Writer,
                                  Name + Length,
                                  KD_NAME_SIZE - Length);
        RtlWriteText(&Writer, "+0x%llx", Displacement);
        Length += Writer.LengthInBytes;
    }

    return Length;
}

static
VOID
KdStackUsageWrite(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_IMAGE *Image,
    _In_z_ PCSZ Module,
    _In_ PCKD_ARGUMENT Pattern,
    _In_ PKD_FRAMES Frames,
    _In_ ULONGLONG Most
    )
{
    CHAR Name[KD_NAME_SIZE];
    PKD_FRAME Frame;
    ULONGLONG Address;
    ULONGLONG Written = 0;
    ULONG Index;
    ULONG Length;
    ULONG First;
    BOOLEAN IsWanted = TRUE;

    for (Index = 0;
         IsWanted && Index < Frames->Count && Written < Most;
         Index++) {

        if (KdContextIsStopped(Context)) {
            break;
        }

        Frame = &Frames->Frames[Frames->Order[Index]];
        Address = Image->Base + Frame->Rva;
        Length = KdStackUsageName(Context, Image, Module, Frame->Rva, Name);
        for (First = 0; First < Length && Name[First] != '!'; First++) {
        }

        if (!KdArgumentsMatch(Pattern->Text,
                              Pattern->Length,
                              Name + First + 1,
                              Length - First - 1)) {
            continue;
        }

        Written += 1;
        RtlWriteText(&Context->Writer,
                     "%u bytes used for frame by func: %08x`%08x ",
                     Frame->SizeInBytes,
                     (ULONG)(Address >> 32),
                     (ULONG)Address);
        RtlWriteBytes(&Context->Writer, Name, Length);
        RtlWriteText(&Context->Writer,
                     " (%u allocated, %u saved registers%s)",
                     Frame->SizeInBytes - Frame->SavedInBytes,
                     Frame->SavedInBytes,
                     Frame->HasFrameRegister ? ", frame register" : "");
        IsWanted = KdContextEndLine(Context);
    }

    if (Written == 0 && !Context->IsStopped) {
        RtlWriteText(&Context->Writer,
                     "%u functions have unwind data, and none is called so",
                     Frames->Count);
        KdContextEndLine(Context);
    }

    if (Frames->NumberUnknown != 0) {
        RtlWriteText(&Context->Writer,
                     "# %u ranges have unwind data that is damaged, or not in "
                     "memory",
                     Frames->NumberUnknown);
        KdContextEndLine(Context);
    }
}

static
VOID
KdStackUsageOfModule(
    _Inout_ PKD_CONTEXT Context,
    _In_z_ PCSZ Module,
    _In_ ULONGLONG Base,
    _In_ PCKD_ARGUMENT Pattern,
    _In_ ULONGLONG Most
    )
{
    KD_IMAGE Image;
    KD_FRAMES Frames;
    NTSTATUS Status;

    RtlZeroBytes(&Frames, sizeof(Frames));
    BaseInitializeMap(&Frames.Rvas, &Context->Allocator);
    Status = KdImageOpen(Context, Base, FALSE, &Image);
    if (Status == STATUS_PARTIAL_COPY ||
        Status == STATUS_INVALID_IMAGE_FORMAT) {

        RtlWriteText(&Context->Writer,
                     Status == STATUS_PARTIAL_COPY
                         ? "%T: the headers at %016llx are not in memory, or "
                           "are no image's"
                         : "%T: the image at %016llx is not one for x64",
                     Module,
                     Base);
        KdContextEndLine(Context);
        goto End;
    }

    if (NT_SUCCESS(Status)) {
        Status = KdStackUsageGather(Context, &Image, &Frames);
    }

    if (NT_SUCCESS(Status)) {

        KdStackUsageWrite(Context, &Image, Module, Pattern, &Frames, Most);
        if (Image.MissingInBytes != 0) {
            RtlWriteText(&Context->Writer,
                         "# %llu bytes of the image are not in memory: "
                         "functions may be missing",
                         Image.MissingInBytes);
            KdContextEndLine(Context);
        }
    }

    KdContextWriteStatus(Context, Status);

End:

    KdImageRundown(&Image);
    BaseRundownMap(&Frames.Rvas);
    KdContextFree(Context, Frames.Frames);
    KdContextFree(Context, Frames.Order);
}

_Use_decl_annotations_
VOID
KdStackUsage(
    PKD_CONTEXT Context,
    PCSTR Arguments
    )
{
    KD_ARGUMENTS Parsed;
    KD_ARGUMENT Pattern;
    CHAR Module[128];
    ULONGLONG Most = ~0ULL;
    ULONGLONG Base = 0;
    ULONG Length = 0;
    ULONG Index = 0;

    if (!KdArgumentsParse(Context, Arguments, 0, 0, 2, &Parsed)) {
        return;
    }

    if (Parsed.Count != 0) {
        Pattern = Parsed.Items[0];
        while (Length < Pattern.Length && Pattern.Text[Length] != '!') {
            Length += 1;
        }
    }

    if (Parsed.Count == 0 || Length == 0 || Length >= sizeof(Module) ||
        (Parsed.Count == 2 &&
         !KdArgumentsReadNumber(&Parsed.Items[1], TRUE, &Most))) {
        RtlWriteText(&Context->Writer,
                     "Of what? !stack_usage MODULE!PATTERN [N]");
        KdContextEndLine(Context);
        return;
    }

    Pattern = Parsed.Items[0];
    RtlCopyBytes(Module, Pattern.Text, Length);
    Module[Length] = 0;
    if (Length == Pattern.Length) {
        Pattern.Text = "*";
        Pattern.Length = 1;
    } else {
        Pattern.Text += Length + 1;
        Pattern.Length -= Length + 1;
    }

    if (Context->Symbols == NULL ||
        FAILED(Context->Symbols->Methods->GetModuleByModuleName(
            Context->Symbols,
            Module,
            0,
            &Index,
            &Base))) {

        RtlWriteText(&Context->Writer,
                     "%T: no module of that name is loaded",
                     Module);
        KdContextEndLine(Context);
        return;
    }

    KdStackUsageOfModule(Context, Module, Base, &Pattern, Most);
}
