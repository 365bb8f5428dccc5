/*++

Module Name:

    ExportTree.c

Abstract:

    What the exports of the call tree have in common: reading the session,
    and the file.

--*/

#include "ReaderExport.h"
#include "ReaderFile.h"
#include "ReaderTree.h"


_Use_decl_annotations_
ULONG
ReaderExportTree(
    PREADER_EXPORT Export,
    BOOLEAN HasTracks,
    PREADER_WRITE_TREE WriteRoutine
    )
/*++

Routine Description:

    Reads the session into a call tree and has it written to the file.

Arguments:

    Export - The export.

    HasTracks - Whether each thread and each fiber has its own tree.

    WriteRoutine - Writes the tree.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_OPTIONS Options = Export->Options;
    READER_TREE Tree;
    READER_FILE File;
    ULONG ExitCode;
    ULONG Code;
    NTSTATUS Status;

    ReaderInitializeTree(&Tree,
                         &Export->Functions,
                         &Export->Range,
                         0xFFFFFFFF,
                         HasTracks);
    ExitCode = ReaderBuildTree(&Tree, Options);
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    ReaderFilterTree(&Tree, Options->Filter);
    Status = ReaderSortTree(&Tree);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Export->Context,
                              "export",
                              Options->PathUtf8,
                              Status);
        goto End;
    }

    if (!ReaderCreateFile(&File,
                          Export->Context,
                          Options->Output,
                          Options->OutputUtf8)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    Status = WriteRoutine(Export, &Tree, &File.Writer);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Export->Context,
                              "export",
                              Options->PathUtf8,
                              Status);
    }

    Code = ReaderCloseFile(&File, NT_SUCCESS(Status));
    if (Code != READER_EXIT_SUCCESS) {
        ExitCode = Code;
    }

    ExitCode = ReaderEndFilter(Export->Context,
                               Options->Filter,
                               Tree.NumberShown,
                               &Tree.NotShown,
                               ExitCode);

End:
    ReaderRundownTree(&Tree);
    return ExitCode;
}
