/*++

Module Name:

    KdContext.c

Abstract:

    A command's interfaces and memory; reading the target; text.

    The target may be a process, a dump with holes or a machine at the end of a
    slow line, and may be damaged.  So pages are read whole and kept, whatever
    is read is asked for with its length, and every loop over what the target
    says comes by KdContextIsStopped.

--*/

#include "KdContext.h"

//
// The engine is asked for Ctrl+Break once in so many times.
//

#define KD_CHECKS                   64u

//
// What is read at a time, bytes.
//

#define KD_READ_SIZE                0x10000u

#define KD_NO_PAGE                  0xFFFFFFFFFFFFFFFFULL

static const GUID KdControlId = {
    0x5182e668, 0x105e, 0x416e, { 0xad, 0x92, 0x24, 0xef, 0x80, 0x04, 0x24,
                                  0xba } };
static const GUID KdDataId = {
    0x88f7dfab, 0x3ea7, 0x4c3a, { 0xae, 0xfb, 0xc4, 0xe8, 0x10, 0x61, 0x73,
                                  0xaa } };
static const GUID KdData2Id = {
    0x7a5e852f, 0x96e9, 0x468f, { 0xac, 0x1b, 0x0b, 0x3a, 0xdd, 0xc4, 0xa0,
                                  0x49 } };
static const GUID KdSymbolsId = {
    0x8c31e98c, 0x983a, 0x48a5, { 0x90, 0x16, 0x6f, 0xe5, 0xd6, 0x67, 0xa9,
                                  0x50 } };
static const GUID KdSystemId = {
    0x6b86fe2c, 0x2c4f, 0x4f0c, { 0x9d, 0xa2, 0x17, 0x43, 0x11, 0xac, 0xc3,
                                  0x27 } };

//
// In front of each block of memory: how large it is.
//

#define KD_BLOCK_HEADER             16u

static
_Must_inspect_result_
_Ret_maybenull_
PVOID
KdContextAllocateBlock(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PKD_CONTEXT This = (PKD_CONTEXT)Context;
    PUCHAR Block;

    if (SizeInBytes > KD_MEMORY_LIMIT - KD_BLOCK_HEADER - This->MemoryInUse) {
        return NULL;
    }

    Block = (PUCHAR)This->Rtl->RtlAllocateHeap(This->Rtl->ProcessHeap,
                                               HEAP_ZERO_MEMORY,
                                               SizeInBytes + KD_BLOCK_HEADER);
    if (Block == NULL) {
        return NULL;
    }

    *(PULONGLONG)Block = SizeInBytes;
    This->MemoryInUse += SizeInBytes;
    return Block + KD_BLOCK_HEADER;
}

static
VOID
KdContextFreeBlock(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    PKD_CONTEXT This = (PKD_CONTEXT)Context;
    PUCHAR Block;

    if (Address != NULL) {
        Block = (PUCHAR)Address - KD_BLOCK_HEADER;
        This->MemoryInUse -= *(PULONGLONG)Block;
        This->Rtl->RtlFreeHeap(This->Rtl->ProcessHeap, 0, Block);
    }
}

//
// Hands text to the engine, which takes it as an argument of printf.  Bytes
// that are no text for it are replaced: the symbols' names are in its own code
// page, and go as they are.
//

static
NTSTATUS
KdContextFlush(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const CHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PKD_CONTEXT Context = (PKD_CONTEXT)Writer->Handle;
    CHAR Piece[513];
    ULONG Length;

    while (SizeInBytes != 0) {
        Length = SizeInBytes < sizeof(Piece) - 1 ? SizeInBytes
                                                 : sizeof(Piece) - 1;
        RtlCopyBytes(Piece, Bytes, Length);
        Piece[Length] = 0;
        Context->Control->Methods->Output(Context->Control,
                                          KD_OUTPUT_NORMAL,
                                          "%s",
                                          Piece);
        Bytes += Length;
        SizeInBytes -= Length;
    }

    return STATUS_SUCCESS;
}

static
_Ret_maybenull_
PVOID
KdContextQuery(
    _In_ PKD_UNKNOWN Client,
    _In_ const GUID *InterfaceId
    )
{
    PVOID Interface = NULL;

    if (FAILED(Client->Methods->QueryInterface(Client,
                                               InterfaceId,
                                               &Interface))) {
        return NULL;
    }

    return Interface;
}

static
VOID
KdContextRelease(
    _In_opt_ PVOID Interface
    )
{
    PKD_UNKNOWN Unknown = (PKD_UNKNOWN)Interface;

    if (Unknown != NULL) {
        Unknown->Methods->Release(Unknown);
    }
}

_Use_decl_annotations_
HRESULT
KdContextCreate(
    PCRTL Rtl,
    PKD_UNKNOWN Client,
    PKD_CONTEXT *Context
    )
{
    PKD_CONTEXT This;
    ULONG Class = 0;
    ULONG Qualifier = 0;
    ULONG Index;

    *Context = NULL;
    if (Client == NULL) {
        return E_POINTER;
    }

    This = (PKD_CONTEXT)Rtl->RtlAllocateHeap(Rtl->ProcessHeap,
                                             HEAP_ZERO_MEMORY,
                                             sizeof(*This));
    if (This == NULL) {
        return E_OUTOFMEMORY;
    }

    This->Rtl = Rtl;
    This->Allocator.Context = This;
    This->Allocator.Allocate = KdContextAllocateBlock;
    This->Allocator.Free = KdContextFreeBlock;
    for (Index = 0; Index < KD_PAGES; Index++) {
        This->Pages[Index].Address = KD_NO_PAGE;
    }

    This->Control = (PKD_CONTROL)KdContextQuery(Client, &KdControlId);
    This->Data = (PKD_DATA)KdContextQuery(Client, &KdData2Id);
    This->HasQuery = This->Data != NULL;
    if (This->Data == NULL) {
        This->Data = (PKD_DATA)KdContextQuery(Client, &KdDataId);
    }

    This->Symbols = (PKD_SYMBOLS)KdContextQuery(Client, &KdSymbolsId);
    This->System = (PKD_SYSTEM)KdContextQuery(Client, &KdSystemId);
    if (This->Control == NULL || This->Data == NULL) {
        KdContextDestroy(This);
        return E_NOINTERFACE;
    }

    RtlInitializeBufferWriter(&This->Writer, This->Text, sizeof(This->Text));
    This->Writer.Flush = KdContextFlush;
    This->Writer.Handle = (HANDLE)This;

    if (SUCCEEDED(This->Control->Methods->GetDebuggeeType(This->Control,
                                                          &Class,
                                                          &Qualifier))) {
        This->HasTarget = Class == KD_CLASS_KERNEL || Class == KD_CLASS_USER;
        This->IsKernel = Class == KD_CLASS_KERNEL;
        This->IsKernelDump = This->IsKernel && Qualifier >= KD_KERNEL_DUMP;
    }

    *Context = This;
    return S_OK;
}

_Use_decl_annotations_
VOID
KdContextDestroy(
    PKD_CONTEXT Context
    )
{
    KdContextRelease(Context->System);
    KdContextRelease(Context->Symbols);
    KdContextRelease(Context->Data);
    KdContextRelease(Context->Control);
    Context->Rtl->RtlFreeHeap(Context->Rtl->ProcessHeap, 0, Context);
}

_Use_decl_annotations_
BOOLEAN
KdContextIsStopped(
    PKD_CONTEXT Context
    )
{
    Context->Checks += 1;
    if (Context->Checks % KD_CHECKS == 0 && !Context->IsStopped) {
        Context->IsStopped =
            Context->Control->Methods->GetInterrupt(Context->Control) == S_OK;
    }

    return Context->IsStopped;
}

_Use_decl_annotations_
BOOLEAN
KdContextEndLine(
    PKD_CONTEXT Context
    )
{
    RtlWriteBytes(&Context->Writer, "\n", 1);
    RtlFlushWriter(&Context->Writer);
    Context->NumberOfLines += 1;
    if (Context->NumberOfLines >= KD_MAXIMUM_LINES) {
        Context->IsCut = TRUE;
    }

    return !KdContextIsStopped(Context) && !Context->IsCut;
}

//
// The page at an address, as far as it could be read.
//

static
PKD_PAGE
KdContextGetPage(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Address
    )
{
    PKD_PAGE Page = &Context->Pages[(Address / KD_PAGE_SIZE) % KD_PAGES];
    ULONG Read = 0;

    Address -= Address % KD_PAGE_SIZE;
    if (Page->Address == Address) {
        return Page;
    }

    Page->Address = KD_NO_PAGE;
    Page->SizeInBytes = 0;
    Context->NumberOfReads += 1;
    if (FAILED(Context->Data->Methods->ReadVirtual(Context->Data,
                                                   Address,
                                                   Page->Bytes,
                                                   KD_PAGE_SIZE,
                                                   &Read)) ||
        Read > KD_PAGE_SIZE) {
        Read = 0;
    }

    Page->Address = Address;
    Page->SizeInBytes = Read;
    return Page;
}

_Use_decl_annotations_
ULONG
KdContextReadSome(
    PKD_CONTEXT Context,
    ULONGLONG Address,
    PVOID Buffer,
    ULONG SizeInBytes
    )
{
    PUCHAR Bytes = (PUCHAR)Buffer;
    PKD_PAGE Page;
    ULONG Done = 0;
    ULONG Offset;
    ULONG Size;
    ULONG Read;

    while (Done < SizeInBytes) {

        if (Address + Done < Address || KdContextIsStopped(Context)) {
            break;
        }

        Size = SizeInBytes - Done;
        Offset = (ULONG)((Address + Done) % KD_PAGE_SIZE);
        if (Size >= KD_PAGE_SIZE && Offset == 0) {

            //
            // What is large is not kept.
            //

            if (Size > KD_READ_SIZE) {
                Size = KD_READ_SIZE;
            }

            Read = 0;
            Context->NumberOfReads += 1;
            if (SUCCEEDED(Context->Data->Methods->ReadVirtual(
                    Context->Data,
                    Address + Done,
                    Bytes + Done,
                    Size,
                    &Read)) &&
                Read == Size) {
                Done += Size;
                continue;
            }

            //
            // Part of it is not there: up to where is found page by page.
            //

            Size = KD_PAGE_SIZE;
        }

        if (Size > KD_PAGE_SIZE - Offset) {
            Size = KD_PAGE_SIZE - Offset;
        }

        Page = KdContextGetPage(Context, Address + Done);
        if (Page->SizeInBytes > Offset) {

            Read = Page->SizeInBytes - Offset;
            if (Read > Size) {
                Read = Size;
            }

            RtlCopyBytes(Bytes + Done, Page->Bytes + Offset, Read);

        } else {

            //
            // A dump's memory may begin in the middle of a page.
            //

            Read = 0;
            Context->NumberOfReads += 1;
            if (FAILED(Context->Data->Methods->ReadVirtual(Context->Data,
                                                           Address + Done,
                                                           Bytes + Done,
                                                           Size,
                                                           &Read)) ||
                Read > Size) {
                Read = 0;
            }
        }

        Done += Read;
        if (Read < Size) {
            break;
        }
    }

    return Done;
}

_Use_decl_annotations_
BOOLEAN
KdContextRead(
    PKD_CONTEXT Context,
    ULONGLONG Address,
    PVOID Buffer,
    ULONG SizeInBytes
    )
{
    return KdContextReadSome(Context, Address, Buffer, SizeInBytes) ==
           SizeInBytes;
}

_Use_decl_annotations_
PVOID
KdContextAllocate(
    PKD_CONTEXT Context,
    ULONGLONG SizeInBytes
    )
{
    return Context->Allocator.Allocate(Context->Allocator.Context,
                                       (SIZE_T)SizeInBytes);
}

_Use_decl_annotations_
VOID
KdContextFree(
    PKD_CONTEXT Context,
    PVOID Address
    )
{
    Context->Allocator.Free(Context->Allocator.Context, Address);
}

_Use_decl_annotations_
VOID
KdContextWriteStatus(
    PKD_CONTEXT Context,
    NTSTATUS Status
    )
{
    PCSZ Name;

    //
    // Whoever ran the command says that it was stopped.
    //

    if (Status == STATUS_SUCCESS || Status == STATUS_CANCELLED ||
        Context->IsStopped) {
        return;
    }

    if (Status == STATUS_NO_MEMORY) {
        RtlWriteText(&Context->Writer,
                     "# there is not enough memory: a command takes %llu MiB "
                     "at most",
                     KD_MEMORY_LIMIT >> 20);
    } else {
        Name = RtlStatusName(Status);
        RtlWriteText(&Context->Writer,
                     "# failed: 0x%08X%s%s",
                     (ULONG)Status,
                     Name != NULL ? " " : "",
                     Name != NULL ? Name : "");
    }

    KdContextEndLine(Context);
}
