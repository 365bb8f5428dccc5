/*++

Module Name:

    CallSite.c

Abstract:

    What the images say of the places that hooks are called from.  Each
    distinct site is looked up once.

--*/

#include "../Functions/FunctionCache.h"
#include "../Functions/Function.h"
#include "CallSite.h"
#include "CallSiteImage.h"

//
// One address can be where a call of a hook returns to and the start of the
// next function, which a hook of -finstrument-functions is told.
//

#define READER_SITE_IS_FUNCTION 0x8000000000000000ULL

_Use_decl_annotations_
NTSTATUS
CallDescribeCall(
    PREADER_SESSION Session,
    PCORE_CALL Call
    )
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

    if (!BaseFindInMap(&Session->SiteIndexes, Key, &Index)) {

        Module = Session->Modules[(ULONG)(Call->Site >> 32)];
        Status = FunctionLoadModuleSymbols(Session, Module);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Index = Session->NumberOfSites;
        Status = BaseGrowArray(Session->Context->Allocator,
                               (PVOID *)&Session->Sites,
                               &Session->CapacityOfSites,
                               Index + 1,
                               sizeof(READER_SITE));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Session->SiteIndexes, Key, Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Session->NumberOfSites += 1;
        if (!FunctionFindSiteInCache(Session,
                                     Call->Site,
                                     IsFunction,
                                     &Session->Sites[Index])) {

            Status = FunctionLoadModuleImage(Session, Module);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Unwind = Module->Symbols != NULL
                         ? SymbolGetUnwind(Module->Symbols)
                         : NULL;

            if (Unwind == NULL) {
                Module->IsPairingMissed = TRUE;
            }

            //
            // A function that is told to the hook may have been inlined into
            // one that is excluded: then nothing says that the stack frame is
            // not its own.
            //

            if (Unwind != NULL &&
                (!IsFunction ||
                 (Module->Header->Flags & TRACE_FLAG_EXCLUDED) == 0)) {

                CallSiteImageRead(Unwind, Call);
                Site = &Session->Sites[Index];
                Site->Function = Call->Function;
                Site->JumpTarget = Call->JumpTarget;
                Site->FrameSize = Call->FrameSize;
                Site->BodySize = Call->BodySize;
                Site->Flags = Call->Flags;
            }

            FunctionAddSiteToCache(Session,
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
CallCountInlinedInSession(
    PVOID Context,
    ULONGLONG Outer,
    ULONGLONG Inner
    )
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
        BaseInitializeMap(&Module->Inlined, Session->Context->Allocator);
    }

    if (BaseFindInMap(&Module->Inlined, Key, &Answer)) {
        return Answer;
    }

    ModuleIndex = (ULONG)(Outer >> 32);
    if (!FunctionFindInlinedInCache(Session, ModuleIndex, Key, &Answer)) {

        Status = FunctionLoadModuleImage(Session, Module);
        Unwind = NT_SUCCESS(Status) && Module->Symbols != NULL
                     ? SymbolGetUnwind(Module->Symbols)
                     : NULL;
        if (Unwind == NULL) {
            Module->IsImageMissed = TRUE;
            Module->IsPairingMissed = TRUE;
            return READER_INLINED_UNKNOWN;
        }

        Answer = ImageCountInlined(Unwind, (ULONG)Outer, (ULONG)Inner);
        FunctionAddInlinedToCache(Session, ModuleIndex, Key, Answer);
    }

    //
    // Without memory to remember it the answer is found again each time.
    //

    Status = BaseAddToMap(&Module->Inlined, Key, Answer);
    (VOID)Status;
    return Answer;
}
