/*++

Module Name:

    SqlScan.c

Abstract:

    A scan over all of a path.

--*/

#include "SqlScan.h"

//
// Makes another lane the current one.
//

static
VOID
SqlSwitchLane(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ ULONG Lane
    )
{
    PSQL_LANE Old = &Cursor->Lanes[Cursor->Lane];
    PSQL_LANE New = &Cursor->Lanes[Lane];

    if (Lane == Cursor->Lane) {
        return;
    }

    Old->World = Cursor->World;
    Old->State = Cursor->State;
    Old->IsBegun = Cursor->IsBegun;
    Old->Item = Cursor->Item;
    Old->NextItem = Cursor->NextItem;
    Cursor->World = New->World;
    Cursor->State = New->State;
    Cursor->IsBegun = New->IsBegun;
    Cursor->Item = New->Item;
    Cursor->NextItem = New->NextItem;
    Cursor->Lane = Lane;
}

static
VOID
SqlCloseLane(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;

    if (Cursor->World != NULL) {
        SqlCloseWorld(Cursor->World);
        Allocator->Free(Allocator->Context, Cursor->World);
        Cursor->World = NULL;
    }
}

//
// Opens the current lane, unless it is.
//

_Must_inspect_result_
static
NTSTATUS
SqlOpenLane(
    _Inout_ PSQL_CURSOR Cursor,
    _In_reads_bytes_(PathLength) const CHAR *Path,
    _In_ ULONG PathLength,
    _Inout_ PRTL_WRITER Error
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    NTSTATUS Status;

    if (Cursor->World != NULL && Cursor->World->IsReady) {
        return STATUS_SUCCESS;
    }

    SqlCloseLane(Cursor);
    Cursor->World = (PSQL_WORLD)
        Allocator->Allocate(Allocator->Context, sizeof(SQL_WORLD));
    if (Cursor->World == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = SqlOpenWorld(Cursor->World,
                          Cursor->Connection,
                          Path,
                          PathLength,
                          Cursor->Lane,
                          Cursor->Table->TakesDamaged,
                          Error);
    if (NT_SUCCESS(Status)) {
        Cursor->World->IsReady = TRUE;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
SqlOpenScan(
    PSQL_CURSOR Cursor,
    const CHAR *Path,
    ULONG PathLength,
    PRTL_WRITER Error
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    NTSTATUS Status;

    if (Cursor->Lanes != NULL) {
        SqlSwitchLane(Cursor, 0);
    }

    if (Cursor->World != NULL &&
        (!Cursor->World->IsReady || Cursor->World->PathLength != PathLength ||
         !RtlAreBytesEqual(Cursor->World->Path, Path, PathLength))) {
        SqlForgetScan(Cursor);
    }

    Status = SqlOpenLane(Cursor, Path, PathLength, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Cursor->Lanes == NULL) {

        Cursor->NumberOfLanes = Cursor->World->Session.NumberOfBoots;
        if (Cursor->NumberOfLanes == 0) {
            Cursor->NumberOfLanes = 1;
        }

        Cursor->Lanes = (PSQL_LANE)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Cursor->NumberOfLanes *
                                    sizeof(SQL_LANE));
        if (Cursor->Lanes == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    if (Cursor->Query.Session != NULL && !Cursor->Table->TakesDamaged &&
        SqlDescribeDamage(Cursor->World, Cursor->Query.Session, Error)) {
        return STATUS_FILE_INVALID;
    }

    return STATUS_SUCCESS;
}

//
// Begins the scan of a lane, and finds its first row.
//

_Must_inspect_result_
static
NTSTATUS
SqlBeginLane(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ ULONG Lane,
    _Inout_ PRTL_WRITER Error
    )
{
    PSQL_WORLD First;
    NTSTATUS Status;

    SqlSwitchLane(Cursor, 0);
    First = Cursor->World;
    SqlSwitchLane(Cursor, Lane);
    Status = SqlOpenLane(Cursor, First->Path, First->PathLength, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Cursor->Item = 0;
    Cursor->NextItem = 0;
    Cursor->IsBegun = TRUE;
    Status = Cursor->Table->Begin(Cursor);
    return NT_SUCCESS(Status) ? Cursor->Table->Next(Cursor) : Status;
}

//
// Takes what was found in the current lane of several that are read side by
// side.
//

static
NTSTATUS
SqlNoteLane(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ NTSTATUS Status
    )
{
    PSQL_LANE Lane = &Cursor->Lanes[Cursor->Lane];

    Lane->IsAtEnd = Status == STATUS_END_OF_FILE;
    if (Lane->IsAtEnd) {
        return STATUS_SUCCESS;
    }

    if (NT_SUCCESS(Status)) {
        Lane->Time = Cursor->Table->Time(Cursor);
    }

    return Status;
}

//
// Goes to the lane with the earliest row.
//

static
NTSTATUS
SqlChooseLane(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_LANE Lanes = Cursor->Lanes;
    ULONG Chosen = Cursor->NumberOfLanes;
    ULONG Index;

    for (Index = 0; Index < Cursor->NumberOfLanes; Index++) {
        if (!Lanes[Index].IsAtEnd &&
            (Chosen == Cursor->NumberOfLanes ||
             Lanes[Index].Time < Lanes[Chosen].Time)) {
            Chosen = Index;
        }
    }

    if (Chosen == Cursor->NumberOfLanes) {
        return STATUS_END_OF_FILE;
    }

    SqlSwitchLane(Cursor, Chosen);
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SqlBeginScan(
    PSQL_CURSOR Cursor,
    PRTL_WRITER Error
    )
{
    ULONG Lane;
    NTSTATUS Status;

    Cursor->IsSideBySide = Cursor->Query.IsOrdered &&
                           Cursor->NumberOfLanes > 1 &&
                           Cursor->Table->Time != NULL;
    if (!Cursor->IsSideBySide) {
        return SqlMoveScan(Cursor, SqlBeginLane(Cursor, 0, Error), Error);
    }

    for (Lane = 0; Lane < Cursor->NumberOfLanes; Lane++) {
        Status = SqlNoteLane(Cursor, SqlBeginLane(Cursor, Lane, Error));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return SqlChooseLane(Cursor);
}

_Use_decl_annotations_
NTSTATUS
SqlMoveScan(
    PSQL_CURSOR Cursor,
    NTSTATUS Status,
    PRTL_WRITER Error
    )
{
    if (Cursor->IsSideBySide) {
        Status = SqlNoteLane(Cursor, Status);
        return NT_SUCCESS(Status) ? SqlChooseLane(Cursor) : Status;
    }

    while (Status == STATUS_END_OF_FILE &&
           Cursor->Lane + 1 < Cursor->NumberOfLanes) {
        Status = SqlBeginLane(Cursor, Cursor->Lane + 1, Error);
    }

    return Status;
}

//
// Ends the current lane's scan.
//

static
VOID
SqlEndLane(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    if (Cursor->IsBegun || Cursor->State != NULL) {
        Cursor->Table->End(Cursor);
        Cursor->State = NULL;
        Cursor->IsBegun = FALSE;
    }
}

_Use_decl_annotations_
VOID
SqlEndScan(
    PSQL_CURSOR Cursor,
    BOOLEAN IsKept
    )
{
    ULONG Lane;

    if (IsKept && Cursor->Table->IsKept) {
        return;
    }

    SqlEndLane(Cursor);
    for (Lane = 0; Lane < Cursor->NumberOfLanes && Cursor->Lanes != NULL;
         Lane++) {
        SqlSwitchLane(Cursor, Lane);
        SqlEndLane(Cursor);
    }
}

_Use_decl_annotations_
VOID
SqlForgetScan(
    PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    ULONG Lane;

    SqlEndScan(Cursor, FALSE);
    SqlCloseLane(Cursor);
    for (Lane = 0; Lane < Cursor->NumberOfLanes && Cursor->Lanes != NULL;
         Lane++) {
        SqlSwitchLane(Cursor, Lane);
        SqlCloseLane(Cursor);
    }

    Allocator->Free(Allocator->Context, Cursor->Lanes);
    Cursor->Lanes = NULL;
    Cursor->NumberOfLanes = 0;
    Cursor->Lane = 0;
}
