/*++

Module Name:

    ExportFolded.c

Abstract:

    Folded stacks: a line for each chain of calls, its functions separated by
    semicolons, the outermost first, then a blank and the self time of the
    last one in nanoseconds (its calls, if there are no times).  flamegraph.pl,
    speedscope and others read it.  Of a chain of more than 1,000 functions
    those in the middle become one, "(N more)".

    Above an import whose caller is not recorded is the module that called it,
    "[game.exe]".

--*/

#include "../Functions/FunctionStub.h"
#include "Export.h"

//
// Chains with more levels are written without those in the middle.
//

#define READER_FOLDED_LEVELS 1000u


//
// Writes the name of a function or a module. What separates names and lines in
// the format becomes something else.
//

static
VOID
ExportWriteFoldedName(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength
    )
{
    CHAR Piece[128];
    ULONG Length = 0;
    ULONG Index;

    for (Index = 0; Index < NameLength; Index++) {

        CHAR Char = Name[Index];

        Piece[Length] = Char == ';' ? ':' : Char;
        Length += 1;

        //
        // A piece ends before a character's first byte.
        //

        if (Length >= sizeof(Piece) - 4 &&
            (Index + 1 == NameLength ||
             (Name[Index + 1] & 0xC0) != 0x80)) {
            RtlWriteCleanText(Writer, Piece, Length);
            Length = 0;
        }

        if (Length == sizeof(Piece)) {
            RtlWriteCleanText(Writer, Piece, Length);
            Length = 0;
        }
    }

    RtlWriteCleanText(Writer, Piece, Length);
}


//
// Writes all chains.
//

_Must_inspect_result_
static
NTSTATUS
ExportWriteFolded(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PREADER_FUNCTION Functions = Tree->Functions->Functions;
    PULONG Path = NULL;
    ULONG Capacity = 0;
    PCREADER_IMPORTED Imported;
    ULONGLONG Weight;
    ULONG Function;
    ULONG Caller;
    ULONG Depth;
    ULONG Node;
    ULONG Place;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        //
        // A node comes directly after those that it is below: Path[D] is the
        // last one of depth D.
        //

        Depth = Tree->Nodes[Node].Depth;
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Path,
                               &Capacity,
                               Depth + 1,
                               sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Path[Depth] = Node;
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

        for (Place = 0; Place <= Depth; Place++) {

            //
            // Written in full, chains would take the square of their depth.
            //

            if (Depth >= READER_FOLDED_LEVELS &&
                Place == READER_FOLDED_LEVELS / 2 - 1) {
                RtlWriteText(Writer,
                             "(%u more);",
                             Depth + 1 - READER_FOLDED_LEVELS);
                Place += Depth + 1 - READER_FOLDED_LEVELS;
            }

            Function = Tree->Nodes[Path[Place]].Function;
            Caller = FunctionStubFindCaller(
                Tree->Functions,
                Function,
                Place != 0 ? Tree->Nodes[Path[Place - 1]].Function
                           : READER_NONE);
            if (Caller != 0) {
                Imported = &Tree->Functions->Imported[Caller - 1];
                RtlWriteText(Writer, "[");
                ExportWriteFoldedName(Writer,
                                      Imported->Name,
                                      Imported->NameLength);
                RtlWriteText(Writer, "];");
            }

            ExportWriteFoldedName(Writer,
                                  Functions[Function].Name,
                                  Functions[Function].NameLength);
            RtlWriteText(Writer, Place != Depth ? ";" : " ");
        }

        RtlWriteText(Writer, "%llu\n", Weight);
    }

    Allocator->Free(Allocator->Context, Path);
    return Status;
}


_Use_decl_annotations_
ULONG
ExportFolded(
    PREADER_EXPORT Export
    )
{
    return ExportTree(Export, 0, ExportWriteFolded);
}
