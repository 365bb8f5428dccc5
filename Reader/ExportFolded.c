/*++

Module Name:

    ExportFolded.c

Abstract:

    Folded stacks: a line for each chain of calls, its functions separated by
    semicolons, the outermost first, then a blank and the self time of the
    last one.  flamegraph.pl, speedscope and others read it.

--*/

#include "ReaderExport.h"
#include "ReaderFile.h"
#include "ReaderTree.h"


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


static
VOID
ReaderWriteFolded(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_TREE *Tree,
    _In_reads_(Tree->NumberOfNodes) PULONG Chain
    )
/*++

Routine Description:

    Writes all chains.

Arguments:

    Writer - Where to write.

    Tree - The tree.

    Chain - Room for the nodes of the longest chain.

Return Value:

    None.

--*/
{
    PREADER_FUNCTION Functions = Tree->Functions->Functions;
    ULONGLONG Time;
    ULONG Length;
    ULONG Node;
    ULONG Above;

    for (Node = ReaderNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = ReaderNextNode(Tree, Node)) {

        CoreTicksToNanoseconds(&Tree->Session->Clock,
                               Tree->Nodes[Node].Statistics.SelfTicks,
                               &Time);
        if (Time == 0) {
            continue;
        }

        Length = 0;
        for (Above = Node;
             Above != READER_ROOT_NODE;
             Above = Tree->Nodes[Above].Parent) {
            Chain[Length] = Above;
            Length += 1;
        }

        while (Length != 0) {
            Length -= 1;
            ReaderWriteFoldedName(
                Writer,
                &Functions[Tree->Nodes[Chain[Length]].Function]);
            RtlWriteText(Writer, Length != 0 ? ";" : " ");
        }

        RtlWriteText(Writer, "%llu\n", Time);
    }
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
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_OPTIONS Options = Export->Options;
    READER_TREE Tree;
    READER_FILE File;
    PULONG Chain = NULL;
    ULONG ExitCode;
    ULONG Code;

    ReaderInitializeTree(&Tree,
                         &Export->Functions,
                         &Export->Range,
                         0xFFFFFFFF,
                         FALSE);
    ExitCode = ReaderBuildTree(&Tree, Options);
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    ReaderFilterTree(&Tree, Options->Filter);
    Chain = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Tree.NumberOfNodes * sizeof(ULONG));
    if (Chain == NULL) {
        ExitCode = ReaderFail(Export->Context,
                              "export",
                              Options->PathUtf8,
                              STATUS_NO_MEMORY);
        goto End;
    }

    if (!ReaderCreateFile(&File,
                          Export->Context,
                          Options->Output,
                          Options->OutputUtf8)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    ReaderWriteFolded(&File.Writer, &Tree, Chain);
    Code = ReaderCloseFile(&File, TRUE);
    if (Code != READER_EXIT_SUCCESS) {
        ExitCode = Code;
    }

    ExitCode = ReaderEndFilter(Export->Context,
                               Options->Filter,
                               Tree.NumberShown,
                               &Tree.NotShown,
                               ExitCode);

End:
    Allocator->Free(Allocator->Context, Chain);
    ReaderRundownTree(&Tree);
    return ExitCode;
}
