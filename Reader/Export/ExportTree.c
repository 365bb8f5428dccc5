/*++

Module Name:

    ExportTree.c

Abstract:

    What the exports of the call tree have in common: reading the session,
    and the file.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Sums/SumPaths.h"
#include "Export.h"


_Use_decl_annotations_
ULONG
ExportTree(
    PREADER_EXPORT Export,
    ULONG Flags,
    PREADER_WRITE_TREE WriteRoutine
    )
{
    PCREADER_OPTIONS Options = Export->Options;
    READER_TREE Tree;
    READER_FILE File;
    ULONG ExitCode;
    ULONG Code;
    NTSTATUS Status;

    SumInitializeTree(&Tree,
                      &Export->Functions,
                      &Export->Range,
                      0xFFFFFFFF,
                      (Flags & READER_EXPORT_TRACKS) != 0);
    Tree.Team = Export->Team;
    ExitCode = SumBuildTree(&Tree, Options);
    Export->NumberOfRecords = Tree.NumberOfRecords;
    Export->NumberOfOrdinary = Tree.NumberOfOrdinary;
    Export->NumberOfThreads = Tree.NumberOfThreads;
    Export->NumberOfWorkers = Tree.NumberOfWorkers;
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    if ((Flags & READER_EXPORT_FUNCTIONS) != 0) {
        FunctionFilterFunctions(&Export->Functions, Options->Filter);
    } else {
        SumFilterTree(&Tree, Options->Filter, 0);
        Export->NumberShown = Tree.NumberShown;
        Export->NotShown = Tree.NotShown;
    }

    Status = SumSortTree(&Tree);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Export->Context,
                            "export",
                            Options->PathUtf8,
                            Status);
        goto End;
    }

    if (!BaseCreateFile(&File,
                        Export->Context,
                        Options->Output,
                        Options->OutputUtf8,
                        (Options->Given & READER_OPTION_GZIP) != 0)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    Status = WriteRoutine(Export, &Tree, &File.Writer);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Export->Context,
                            "export",
                            Options->PathUtf8,
                            Status);
    }

    Code = BaseCloseFile(&File, NT_SUCCESS(Status));
    if (Code != READER_EXIT_SUCCESS) {
        ExitCode = Code;
    }

    ExitCode = FunctionEndFilter(Export->Context,
                                 Options->Filter,
                                 &Export->Functions,
                                 Export->NumberShown,
                                 &Export->NotShown,
                                 ExitCode);

End:
    SumRundownTree(&Tree);
    return ExitCode;
}
