/*++

Module Name:

    ReaderSite.c

Abstract:

    What the images say of the places that hooks are called from.  Each
    distinct site is looked up once.

--*/

#include "Reader.h"

//
// One address can be where a call of a hook returns to and the start of the
// next function, which a hook of -finstrument-functions is told.
//

#define READER_SITE_IS_FUNCTION 0x8000000000000000ULL

//
// The part of a key that says which module.
//

#define READER_SITE_MODULE(Key) ((Key) & 0xFFFFFFFF00000000ULL)


static
VOID
ReaderReadSite(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCCORE_CALL Call,
    _Out_ PREADER_SITE Site
    )
/*++

Routine Description:

    Reads what an image says of a site.

Arguments:

    Unwind - The image.

    Call - The site and its kind.

    Site - Receives what is known.

Return Value:

    None.

--*/
{
    READER_UNWIND_FRAME Frame;
    ULONG Rva = (ULONG)Call->Site;
    ULONG Target;

    if (Call->Kind == TRACE_KIND_ENTER_FUNCTION ||
        Call->Kind == TRACE_KIND_EXIT_FUNCTION) {

        //
        // The site is the function's first address, and the hook is called
        // from its body, or from that of a copy, of which nothing is known.
        //

        if (!ReaderFindUnwindFrame(Unwind, Rva + 1, &Frame) ||
            Frame.FunctionRva != Rva ||
            ReaderHasClone(Unwind, Rva)) {
            return;
        }

        Site->Function = Call->Site;
        Site->FrameSize = Frame.BodySizeInBytes;
        if (ReaderMayJumpOut(Unwind, Rva)) {
            Site->Flags = CORE_CALL_JUMPS;
        }

    } else {

        if (!ReaderFindUnwindFrame(Unwind, Rva, &Frame)) {
            return;
        }

        Site->Function = READER_SITE_MODULE(Call->Site) | Frame.FunctionRva;
        Site->FrameSize = Frame.SizeInBytes;
        Site->BodySize = Frame.BodySizeInBytes - Frame.SizeInBytes;
        if (Call->Kind == TRACE_KIND_EXIT &&
            ReaderFindJumpTarget(Unwind, Rva, &Target)) {
            Site->JumpTarget = READER_SITE_MODULE(Call->Site) | Target;
        }
    }

    Site->Flags |= CORE_CALL_FRAME_KNOWN;
    if (Frame.IsDynamic) {
        Site->Flags |= CORE_CALL_DYNAMIC;
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderDescribeCall(
    PREADER_SESSION Session,
    PCORE_CALL Call
    )
/*++

Routine Description:

    Fills in what the image says of a call's site.

Arguments:

    Session - The session.

    Call - The call.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_MODULE Module;
    PREADER_UNWIND Unwind;
    PREADER_SITE Site;
    ULONGLONG Key = Call->Site;
    BOOLEAN IsFunction = Call->Kind == TRACE_KIND_ENTER_FUNCTION ||
                         Call->Kind == TRACE_KIND_EXIT_FUNCTION;
    ULONG Index;
    NTSTATUS Status;

    if (IsFunction) {
        Key |= READER_SITE_IS_FUNCTION;
    }

    if (!ReaderFindInMap(&Session->SiteIndexes, Key, &Index)) {

        Module = Session->Modules[(ULONG)(Call->Site >> 32)];
        Status = ReaderLoadModuleSymbols(Session, Module);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Index = Session->NumberOfSites;
        Status = ReaderGrowArray(Session->Context->Allocator,
                                 (PVOID *)&Session->Sites,
                                 &Session->CapacityOfSites,
                                 Index + 1,
                                 sizeof(READER_SITE));
        if (NT_SUCCESS(Status)) {
            Status = ReaderAddToMap(&Session->SiteIndexes, Key, Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Session->NumberOfSites += 1;
        if (!ReaderFindSiteInCache(Session,
                                   Call->Site,
                                   IsFunction,
                                   &Session->Sites[Index])) {

            Status = ReaderLoadModuleImage(Session, Module);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Unwind = Module->Symbols != NULL
                         ? ReaderGetUnwind(Module->Symbols)
                         : NULL;

            //
            // A function that is told to the hook may have been inlined into
            // one that is excluded: then nothing says that the stack frame is
            // not its own.
            //

            if (Unwind != NULL &&
                (!IsFunction ||
                 (Module->Header->Flags & TRACE_FLAG_EXCLUDED) == 0)) {
                ReaderReadSite(Unwind, Call, &Session->Sites[Index]);
            }

            ReaderAddSiteToCache(Session,
                                 Call->Site,
                                 IsFunction,
                                 &Session->Sites[Index]);
        }
    }

    Site = &Session->Sites[Index];
    Call->Function = Site->Function;
    Call->JumpTarget = Site->JumpTarget;
    Call->FrameSize = Site->FrameSize;
    Call->BodySize = Site->BodySize;
    Call->Flags = Site->Flags;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
ReaderCountInlinedInSession(
    PVOID Context,
    ULONGLONG Outer,
    ULONGLONG Inner
    )
/*++

Routine Description:

    Counts how often a function may have been inlined into another one.

Arguments:

    Context - The session.

    Outer - The function around, (module << 32) | RVA.

    Inner - The function inside.

Return Value:

    At least as many times as it was.

--*/
{
    PREADER_SESSION Session = (PREADER_SESSION)Context;
    PREADER_MODULE Module = Session->Modules[(ULONG)(Outer >> 32)];
    PCREADER_UNWIND Unwind;
    ULONGLONG Key = (Outer << 32) | (ULONG)Inner;
    ULONG ModuleIndex;
    ULONG Answer;
    NTSTATUS Status;

    if (READER_SITE_MODULE(Outer) != READER_SITE_MODULE(Inner)) {
        return 0;
    }

    if (Module->Inlined.Allocator == NULL) {
        ReaderInitializeMap(&Module->Inlined, Session->Context->Allocator);
    }

    if (ReaderFindInMap(&Module->Inlined, Key, &Answer)) {
        return Answer;
    }

    ModuleIndex = (ULONG)(Outer >> 32);
    if (!ReaderFindInlinedInCache(Session, ModuleIndex, Key, &Answer)) {

        Status = ReaderLoadModuleImage(Session, Module);
        Unwind = NT_SUCCESS(Status) && Module->Symbols != NULL
                     ? ReaderGetUnwind(Module->Symbols)
                     : NULL;
        if (Unwind == NULL) {
            Module->IsImageMissed = TRUE;
            return READER_INLINED_UNKNOWN;
        }

        Answer = ReaderCountInlined(Unwind, (ULONG)Outer, (ULONG)Inner);
        ReaderAddInlinedToCache(Session, ModuleIndex, Key, Answer);
    }

    //
    // Without memory to remember it the answer is found again each time.
    //

    Status = ReaderAddToMap(&Module->Inlined, Key, Answer);
    (VOID)Status;
    return Answer;
}
