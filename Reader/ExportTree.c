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
    ULONG Flags,
    PREADER_WRITE_TREE WriteRoutine
    )
/*++

Routine Description:

    Reads the session into a call tree and has it written to the file.

Arguments:

    Export - The export.

    Flags - READER_EXPORT_TRACKS, READER_EXPORT_FUNCTIONS or nothing.

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
                         (Flags & READER_EXPORT_TRACKS) != 0);
    ExitCode = ReaderBuildTree(&Tree, Options);
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    if ((Flags & READER_EXPORT_FUNCTIONS) != 0) {
        ReaderFilterFunctions(&Export->Functions, Options->Filter);
    } else {
        ReaderFilterTree(&Tree, Options->Filter);
        Export->NumberShown = Tree.NumberShown;
        Export->NotShown = Tree.NotShown;
    }

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
                               Export->NumberShown,
                               &Export->NotShown,
                               ExitCode);

End:
    ReaderRundownTree(&Tree);
    return ExitCode;
}
