/*++

Module Name:

    CoreTreeStack.c

Abstract:

    The open calls of a tree: its stacks, and the frames of each.

    Nothing of it is believed: a list that goes in a circle is found by the
    place that was remembered last, and stacks that lie in each other by there
    being more frames than the file has room for.

--*/

#include "CoreTreeStack.h"

#define CORE_TREE_FRAMES (CORE_TREE_BUFFER_SIZE / TRACE_FRAME_SIZE)

//
// Reads the frames of one stack.
// Offset: file offset of the first frame.
//

_Must_inspect_result_
static
NTSTATUS
CoreReadTreeFrames(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG NumberOfFrames,
    _In_ ULONGLONG Before,
    _Out_writes_bytes_(CORE_TREE_BUFFER_SIZE) PVOID Buffer,
    _In_ PCORE_READ_TREE Read,
    _In_opt_ PVOID ReadContext
    )
{
    PCTRACE_FRAME Frames = (PCTRACE_FRAME)Buffer;
    ULONG Node = CORE_TREE_NO_NODE;
    ULONG Wanted;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    while (NumberOfFrames != 0) {

        Wanted = NumberOfFrames < CORE_TREE_FRAMES ? (ULONG)NumberOfFrames
                                                   : CORE_TREE_FRAMES;
        Status = Read(ReadContext,
                      Offset,
                      Buffer,
                      TRACE_FRAME_SIZE,
                      Wanted,
                      &Count);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        for (Index = 0; Index < Count; Index++) {

            Status = CoreAddTreeFrame(Tree,
                                      &Frames[Index],
                                      Offset,
                                      Before,
                                      &Node);
            if (Status == STATUS_FILE_INVALID) {
                return STATUS_SUCCESS;
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Offset += TRACE_FRAME_SIZE;
        }

        if (Count != Wanted) {
            CoreNoteTreeProblem(Tree,
                                Offset,
                                "open call",
                                "",
                                "is not there",
                                NumberOfFrames - Count);
            return STATUS_SUCCESS;
        }

        NumberOfFrames -= Count;
    }

    return STATUS_SUCCESS;
}

//
// How many frames a stack has; 0, which is noted unless the stack may be
// changing: its top is at none.
// Offset: its file offset.
//

static
ULONGLONG
CoreCountTreeFrames(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCTRACE_TREE_STACK Stack,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG FileSize
    )
{
    ULONGLONG First = Offset + sizeof(*Stack);
    ULONGLONG End = Stack->End - Header->BaseAddress;
    ULONGLONG Top;
    ULONGLONG Cursor;
    BOOLEAN IsInUse = Offset == Header->StackFileOffset;

    //
    // While recording is stopped the cursor is not where it was.
    //

    Top = IsInUse && !Tree->IsStopped ? Header->Cursor : Stack->Top;
    Cursor = Top - Header->BaseAddress;
    if (End > FileSize) {
        End = FileSize;
    }

    if (Cursor >= First && Cursor < End &&
        End - Cursor >= TRACE_FRAME_SIZE &&
        (Cursor - First) % TRACE_FRAME_SIZE == 0) {
        return (Cursor - First) / TRACE_FRAME_SIZE + 1;
    }

    if (!Tree->IsLive) {
        CoreNoteTreeProblem(Tree,
                            IsInUse ? offsetof(TRACE_STORE_HEADER, Cursor)
                                    : Offset + offsetof(TRACE_TREE_STACK, Top),
                            IsInUse ? "header" : "stack",
                            IsInUse ? "Cursor" : "Top",
                            "is not at a frame of its stack",
                            IsInUse ? Header->Cursor : Stack->Top);
    }

    return 0;
}

_Use_decl_annotations_
NTSTATUS
CoreReadTreeStacks(
    PCORE_TREE Tree,
    PCTRACE_STORE_HEADER Header,
    ULONGLONG FileSize,
    ULONGLONG Before,
    PVOID Buffer,
    PCORE_READ_TREE Read,
    PVOID ReadContext
    )
{
    TRACE_TREE_STACK Stack;
    ULONGLONG Offset = TRACE_TREE_FIRST_STACK;
    ULONGLONG Link = offsetof(TRACE_STORE_HEADER, StackFileOffset);
    ULONGLONG StacksLeft = FileSize / (sizeof(Stack) + TRACE_FRAME_SIZE);
    ULONGLONG FramesLeft = FileSize / TRACE_FRAME_SIZE;
    ULONGLONG Mark = 0;
    ULONGLONG Steps = 0;
    ULONGLONG First;
    ULONGLONG Count;
    SIZE_T Frames;
    ULONG NumberRead;
    NTSTATUS Status;

    while (Offset != 0) {

        First = Offset + sizeof(Stack);
        if (Offset < TRACE_TREE_FIRST_STACK ||
            Offset % sizeof(ULONGLONG) != 0 ||
            First < Offset ||
            First > FileSize ||
            FileSize - First < TRACE_FRAME_SIZE ||
            StacksLeft == 0 ||
            Offset == Mark) {

            CoreNoteTreeProblem(Tree,
                                Link,
                                "stack",
                                "NextFileOffset",
                                StacksLeft == 0 || Offset == Mark
                                    ? "goes in a circle"
                                    : "is no stack's",
                                Offset);
            return STATUS_SUCCESS;
        }

        //
        // A circle comes by the place that was remembered last.
        //

        StacksLeft -= 1;
        Steps += 1;
        if ((Steps & (Steps - 1)) == 0) {
            Mark = Offset;
        }

        Status = Read(ReadContext,
                      Offset,
                      &Stack,
                      TRACE_FRAME_SIZE,
                      sizeof(Stack) / TRACE_FRAME_SIZE,
                      &NumberRead);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (NumberRead != sizeof(Stack) / TRACE_FRAME_SIZE) {
            CoreNoteTreeProblem(Tree, Offset, "stack", "", "is not there", 0);
            return STATUS_SUCCESS;
        }

        //
        // Stacks that lie in each other are of no use.
        //

        Count = CoreCountTreeFrames(Tree, Header, &Stack, Offset, FileSize);
        if (Count > FramesLeft) {
            CoreNoteTreeProblem(Tree,
                                Link,
                                "stack",
                                "NextFileOffset",
                                "leads to overlapping stacks",
                                Offset);
            return STATUS_SUCCESS;
        }

        FramesLeft -= Count;
        Frames = Tree->NumberOfFrames;
        Status = CoreReadTreeFrames(Tree,
                                    First,
                                    Count,
                                    Before,
                                    Buffer,
                                    Read,
                                    ReadContext);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        CoreEndTreeStack(Tree,
                         Frames,
                         Stack.LeftTimestamp,
                         Offset == Header->StackFileOffset);
        Link = Offset + offsetof(TRACE_TREE_STACK, NextFileOffset);
        Offset = Stack.NextFileOffset;
    }

    return STATUS_SUCCESS;
}
