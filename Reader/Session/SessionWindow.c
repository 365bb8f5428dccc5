/*++

Module Name:

    SessionWindow.c

Abstract:

    The window that slides over a store's file: its section, of which a part is
    mapped.  Of a store in a pack it is a copy of what is in a block.

--*/

#include "SessionWindow.h"

#define READER_MAPPING_GRANULARITY 0x10000ULL

//
// A test may be built with a smaller window, a multiple of the granularity.
//

#ifndef READER_WINDOW_SIZE
#define READER_WINDOW_SIZE 0x800000ULL
#endif

//
// Where what is mapped is read (in a browser), a window begins small and grows
// while it goes on: of many stores only the first record is looked at.
//

#ifndef READER_FIRST_WINDOW_SIZE
#define READER_FIRST_WINDOW_SIZE READER_WINDOW_SIZE
#endif

#define READER_WINDOW_GROWTH 4

//
// Times that a section is tried for, of a file that its writer cuts off between
// the question for its size and the section.
//

#define READER_SECTION_TRIES 8


_Use_decl_annotations_
NTSTATUS
SessionFailStore(
    PREADER_STORE Store,
    PCSZ Step,
    NTSTATUS Status
    )
{
    Store->Status = Status;
    Store->FailedStep = Step;
    return Status;
}


_Use_decl_annotations_
NTSTATUS
SessionQueryStoreSize(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    UNICODE_STRING Name;
    NTSTATUS Status;

    if (Store->Pack != NULL) {
        Store->FileSize = BaseQueryPackFile(Store->Pack,
                                            Store->PackFile,
                                            &Name);
        return STATUS_SUCCESS;
    }

    Status = RtlQueryFileSize(Context->Rtl, Store->File, &Store->FileSize);
    if (!NT_SUCCESS(Status)) {
        return SessionFailStore(Store, "query the file's size", Status);
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SessionDropSection(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    if (Store->Pack != NULL) {
        BaseFreePackView(Store->Pack, &Store->PackView);
        Store->Window = NULL;
    } else if (Store->Window != NULL) {
        RtlUnmapFileSection(Context->Rtl, Store->Window);
        Store->Window = NULL;
    }

    if (Store->Section != NULL) {
        RtlClose(Context->Rtl, Store->Section);
        Store->Section = NULL;
    }

    Store->WindowOffset = 0;
    Store->WindowSize = 0;
    Store->SectionSize = 0;
}


_Use_decl_annotations_
NTSTATUS
SessionMakeSection(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    ULONG Tries = 0;
    NTSTATUS Status;

    SessionDropSection(Context, Store);

    do {
        Status = SessionQueryStoreSize(Context, Store);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = RtlCreateFileSection(Context->Rtl,
                                      Store->File,
                                      Store->FileSize,
                                      FALSE,
                                      &Store->Section);
        Tries += 1;
    } while (Status == STATUS_SECTION_TOO_BIG &&
             Tries < READER_SECTION_TRIES);

    if (!NT_SUCCESS(Status)) {
        Store->Section = NULL;
        return SessionFailStore(Store, "create a section", Status);
    }

    Store->SectionSize = Store->FileSize;
    return STATUS_SUCCESS;
}


//
// The same as SessionMapWindow of a store in a pack.
//

_Must_inspect_result_
static
NTSTATUS
SessionMovePackWindow(
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG FileOffset,
    _In_ ULONG Size
    )
{
    NTSTATUS Status;

    Status = BaseMovePackView(Store->Pack,
                              Store->PackFile,
                              FileOffset,
                              &Store->PackView);
    Store->Window = NULL;
    Store->WindowSize = 0;
    if (NT_SUCCESS(Status)) {

        Store->Window = Store->PackView.Bytes;
        Store->WindowOffset = Store->PackView.FileOffset;
        Store->WindowSize = Store->PackView.SizeInBytes;

        //
        // Blocks end between records, unless somebody made them otherwise.
        //

        if (FileOffset - Store->WindowOffset + Size > Store->WindowSize) {
            Status = STATUS_FILE_CORRUPT_ERROR;
        }
    }

    return NT_SUCCESS(Status)
               ? STATUS_SUCCESS
               : SessionFailStore(Store, "read the pack", Status);
}


_Use_decl_annotations_
NTSTATUS
SessionMapWindow(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store,
    ULONGLONG FileOffset,
    ULONG Size
    )
{
    ULONGLONG Limit = READER_FIRST_WINDOW_SIZE;
    NTSTATUS Status;

    if (Store->Window != NULL &&
        FileOffset >= Store->WindowOffset &&
        FileOffset - Store->WindowOffset + Size <= Store->WindowSize) {
        return STATUS_SUCCESS;
    }

    if (Store->Pack != NULL) {
        return SessionMovePackWindow(Store, FileOffset, Size);
    }

    if (Store->Window != NULL) {

        if (FileOffset >= Store->WindowOffset &&
            FileOffset <= Store->WindowOffset + Store->WindowSize) {
            Limit = Store->WindowSize * READER_WINDOW_GROWTH;
        }

        RtlUnmapFileSection(Context->Rtl, Store->Window);
        Store->Window = NULL;
        Store->WindowSize = 0;
    }

    //
    // The end is never beyond the file, so a section that does not reach
    // it is older than the file's last growth.
    //

    if (Store->Section == NULL ||
        Store->SectionSize < FileOffset + Size) {
        Status = SessionMakeSection(Context, Store);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Store->SectionSize < FileOffset + Size) {
            return SessionFailStore(Store,
                                    "read the records",
                                    STATUS_END_OF_FILE);
        }
    }

    Store->WindowOffset = FileOffset & ~(READER_MAPPING_GRANULARITY - 1);
    Store->WindowSize = Store->SectionSize - Store->WindowOffset;
    if (Limit > READER_WINDOW_SIZE) {
        Limit = READER_WINDOW_SIZE;
    }

    if (Store->WindowSize > Limit) {
        Store->WindowSize = Limit;
    }

    //
    // A damaged tree's nodes may lie anywhere: one that would cross the
    // window's end makes the window longer, or nobody would ever get past it.
    //

    if (Store->WindowSize < FileOffset - Store->WindowOffset + Size) {
        Store->WindowSize = FileOffset - Store->WindowOffset + Size;
    }

    Status = RtlMapFileSection(Context->Rtl,
                               Store->Section,
                               Store->WindowOffset,
                               (SIZE_T)Store->WindowSize,
                               FALSE,
                               NULL,
                               &Store->Window);
    if (!NT_SUCCESS(Status)) {
        Store->Window = NULL;
        Store->WindowSize = 0;
        return SessionFailStore(Store, "map the records", Status);
    }

    return STATUS_SUCCESS;
}
