/*++

Module Name:

    ExportFolded.c

Abstract:

    Folded stacks: a line for each chain of calls, its functions separated by
    semicolons, the outermost first, then a blank and the self time of the
    last one in nanoseconds (its calls, if there are no times).  flamegraph.pl,
    speedscope and others read it.  Of a chain of more than 1,000 functions
    those in the middle become one, "(N more)".

--*/

#include "ReaderExport.h"
#include "ReaderTree.h"

//
// Chains with more levels are written without those in the middle.
//

#define READER_FOLDED_LEVELS 1000u


static
VOID
ReaderWriteFoldedName(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_FUNCTION Function
    )
/*++

Routine Description:

    Writes a function's name.  What separates names and lines in the format
    becomes something else.

Arguments:

    Writer - Where to write.

    Function - The function.

Return Value:

    None.

--*/
{
    CHAR Piece[128];
    ULONG Length = 0;
    ULONG Index;

    for (Index = 0; Index < Function->NameLength; Index++) {

        CHAR Char = Function->Name[Index];

        Piece[Length] = Char == ';' ? ':' : Char;
        Length += 1;

        //
        // A piece ends before a character's first byte.
        //

        if (Length >= sizeof(Piece) - 4 &&
            (Index + 1 == Function->NameLength ||
             (Function->Name[Index + 1] & 0xC0) != 0x80)) {
            ReaderWriteCleanText(Writer, Piece, Length);
            Length = 0;
        }

        if (Length == sizeof(Piece)) {
            ReaderWriteCleanText(Writer, Piece, Length);
            Length = 0;
        }
    }

    ReaderWriteCleanText(Writer, Piece, Length);
}


_Must_inspect_result_
static
NTSTATUS
ReaderWriteFolded(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes all chains.

Arguments:

    Export - The export.

    Tree - The tree.

    Writer - Where to write.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PREADER_FUNCTION Functions = Tree->Functions->Functions;
    PULONG Chain = NULL;
    ULONG Capacity = 0;
    ULONGLONG Weight;
    ULONG Length;
    ULONG Left;
    ULONG Node;
    ULONG Above;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Node = ReaderNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = ReaderNextNode(Tree, Node)) {

        if (Tree->Session->Clock.Kind == TRACE_CLOCK_NONE) {
            Weight = Tree->Nodes[Node].Statistics.Calls;
        } else {
            CoreTicksToNanoseconds(&Tree->Session->Clock,
                                   Tree->Nodes[Node].Statistics.SelfTicks,
                                   &Weight);
        }

        if (Weight == 0) {
            continue;
        }

        Length = Tree->Nodes[Node].Depth + 1;
        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Chain,
                                 &Capacity,
                                 Length,
                                 sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Length = 0;
        for (Above = Node;
             Above != READER_ROOT_NODE;
             Above = Tree->Nodes[Above].Parent) {
            Chain[Length] = Above;
            Length += 1;
        }

        Left = Length;
        while (Length != 0) {
            Length -= 1;

            //
            // Written in full, chains would take the square of their depth.
            //

            if (Left > READER_FOLDED_LEVELS &&
                Left - Length == READER_FOLDED_LEVELS / 2) {
                RtlWriteText(Writer,
                             "(%u more);",
                             Left - READER_FOLDED_LEVELS);
                Length -= Left - READER_FOLDED_LEVELS;
            }

            ReaderWriteFoldedName(
                Writer,
                &Functions[Tree->Nodes[Chain[Length]].Function]);
            RtlWriteText(Writer, Length != 0 ? ";" : " ");
        }

        RtlWriteText(Writer, "%llu\n", Weight);
    }

    Allocator->Free(Allocator->Context, Chain);
    return Status;
}


_Use_decl_annotations_
ULONG
ReaderExportFolded(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes folded stacks.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
{
    return ReaderExportTree(Export, 0, ReaderWriteFolded);
}
