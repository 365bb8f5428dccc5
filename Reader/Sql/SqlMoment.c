/*++

Module Name:

    SqlMoment.c

Abstract:

    What the statements that run see of a program that goes on.

--*/

#include "../Session/SessionStoreOpen.h"
#include "SqlMoment.h"

_Use_decl_annotations_
NTSTATUS
SqlBeginMoment(
    PSQL_WORLD World,
    ULONGLONG Now
    )
{
    PSQL_CONNECTION Connection = World->Connection;
    PCALLOCATOR Allocator = &Connection->Allocator;
    PSQL_MOMENT Moment;

    for (Moment = Connection->Moments;
         Moment != NULL;
         Moment = Moment->Next) {

        if (Moment->Boot == World->Boot &&
            Moment->PathLength == World->PathLength &&
            RtlAreBytesEqual(Moment->Path, World->Path, World->PathLength)) {
            Moment->References += 1;
            World->Moment = Moment;
            return STATUS_SUCCESS;
        }
    }

    Moment = (PSQL_MOMENT)
        Allocator->Allocate(Allocator->Context,
                            sizeof(SQL_MOMENT) + World->PathLength);
    if (Moment == NULL) {
        return STATUS_NO_MEMORY;
    }

    BaseInitializeMap(&Moment->Places, Allocator);
    Moment->References = 1;
    Moment->Horizon = Now;
    Moment->Boot = World->Boot;
    Moment->PathLength = World->PathLength;
    RtlCopyBytes(Moment->Path, World->Path, World->PathLength);
    Moment->Next = Connection->Moments;
    Connection->Moments = Moment;
    World->Moment = Moment;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
SqlEndMoment(
    PSQL_WORLD World
    )
{
    PCALLOCATOR Allocator = &World->Connection->Allocator;
    PSQL_MOMENT Moment = World->Moment;
    PSQL_MOMENT *Link;

    World->Moment = NULL;
    if (Moment == NULL) {
        return;
    }

    Moment->References -= 1;
    if (Moment->References != 0) {
        return;
    }

    for (Link = &World->Connection->Moments;
         *Link != Moment;
         Link = &(*Link)->Next) {
    }

    *Link = Moment->Next;
    BaseRundownMap(&Moment->Places);
    Allocator->Free(Allocator->Context, Moment->Ends);
    Allocator->Free(Allocator->Context, Moment);
}

//
// What a store is known by: see SessionIsStoreCopied.
//

static
ULONGLONG
SqlHashStore(
    _In_ PCREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG Parts[5];
    ULONGLONG Hash = 0;
    ULONG Index;

    Parts[0] = Header->OpenAnchor.Tsc;
    Parts[1] = (ULONGLONG)Header->ProcessId << 32 | Header->ThreadId;
    Parts[2] = Header->SequenceNumber;
    Parts[3] = Header->ModuleBase;
    Parts[4] = Header->ProcessCreationTime;
    for (Index = 0; Index < RTL_NUMBER_OF(Parts); Index++) {
        Hash = (Hash ^ Parts[Index]) * 0x9E3779B97F4A7C15ULL;
        Hash ^= Hash >> 29;
    }

    return Hash;
}

//
// Can more records come to be in a store than the moment's?
//

static
BOOLEAN
SqlIsStoreOfMoment(
    _In_ const SQL_WORLD *World,
    _In_ PCREADER_STORE Store
    )
{
    return World->Moment->Horizon != READER_MAXIMUM_TIMESTAMP &&
           Store->Thread != READER_NONE && Store->Header != NULL &&
           !Store->IsTree;
}

//
// A store of the session was opened: a READER_STORE_OPENED.
//

static
VOID
SqlClipStore(
    _In_ PVOID Context,
    _Inout_ PREADER_STORE Store
    )
{
    PSQL_WORLD World = (PSQL_WORLD)Context;
    PSQL_MOMENT Moment = World->Moment;
    ULONG Place;

    if (SqlIsStoreOfMoment(World, Store) &&
        BaseFindInMap(&Moment->Places, SqlHashStore(Store), &Place) &&
        Moment->Ends[Place].Position < Store->EndOfRecords) {
        Store->EndOfRecords = Moment->Ends[Place].Position;
    }
}

//
// Finds where the records of an open store end that are not later than the
// moment, and when the last of them was made: a search of which each look reads
// one record.
//

static
VOID
SqlFindEnd(
    _In_ const SQL_WORLD *World,
    _Inout_ PREADER_STORE Store,
    _Out_ PSQL_END End
    )
{
    ULONGLONG Base = World->Session.Threads[Store->Thread].TimestampBase;
    ULONGLONG Low = Store->StartOfRecords;
    ULONGLONG High = Store->EndOfRecords;
    ULONGLONG Last = Store->LastTimestamp;
    ULONGLONG Middle;
    TRACE_RECORD Record;
    ULONG Count;

    //
    // All before Low are good; the record at High is too late, or there is
    // none.
    //

    End->Position = High;
    End->LastTimestamp = Last;
    while (Low < High) {

        Middle = Low + (High - Low) / 2 / TRACE_RECORD_SIZE *
                           TRACE_RECORD_SIZE;
        if (!NT_SUCCESS(SessionReadRecords(&World->Context,
                                           Store,
                                           Middle,
                                           &Record,
                                           1,
                                           &Count)) ||
            Count == 0 || Record.Timestamp == 0) {

            //
            // Something is missing or bad: then it is not searched.
            //

            return;
        }

        if (Record.Timestamp + Base <= World->Moment->Horizon) {
            Last = Record.Timestamp;
            Low = Middle + TRACE_RECORD_SIZE;
        } else {
            High = Middle;
        }
    }

    End->Position = Low;
    End->LastTimestamp = Last;
}

//
// Finds a store's end for the moment, or that which another scan has found.
//

_Must_inspect_result_
static
NTSTATUS
SqlKeepStore(
    _Inout_ PSQL_WORLD World,
    _Inout_ PREADER_STORE Store
    )
{
    PSQL_MOMENT Moment = World->Moment;
    ULONGLONG Key = SqlHashStore(Store);
    ULONG Place;
    NTSTATUS Status;

    if (!BaseFindInMap(&Moment->Places, Key, &Place)) {

        Place = Moment->NumberOfEnds;
        Status = BaseGrowArray(&World->Connection->Allocator,
                               (PVOID *)&Moment->Ends,
                               &Moment->CapacityOfEnds,
                               Place + 1,
                               sizeof(SQL_END));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = SessionOpenSessionStore(&World->Session, Store);
        if (!NT_SUCCESS(Status)) {
            return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
        }

        SqlFindEnd(World, Store, &Moment->Ends[Place]);
        SessionCloseStore(&World->Context, Store);
        Status = BaseAddToMap(&Moment->Places, Key, Place);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Moment->NumberOfEnds += 1;
    }

    if (Moment->Ends[Place].Position < Store->EndOfRecords) {
        Store->EndOfRecords = Moment->Ends[Place].Position;
    }

    if (Moment->Ends[Place].LastTimestamp < Store->LastTimestamp) {
        Store->LastTimestamp = Moment->Ends[Place].LastTimestamp;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SqlKeepMoment(
    PSQL_WORLD World
    )
{
    PREADER_SESSION Session = &World->Session;
    READER_THREAD *Thread;
    PREADER_STORE Store;
    ULONGLONG Last;
    ULONG Index;
    NTSTATUS Status;

    if (World->Moment->Horizon == READER_MAXIMUM_TIMESTAMP) {
        return STATUS_SUCCESS;
    }

    if (!World->Moment->HasClock) {
        World->Moment->Clock = Session->Clock;
        World->Moment->HasClock = TRUE;
    }

    Session->Clock = World->Moment->Clock;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (SqlIsStoreOfMoment(World, Store)) {
            Status = SqlKeepStore(World, Store);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        Thread = &Session->Threads[Index];
        Last = World->Moment->Horizon;
        if (Thread->LastTimestamp > Last) {
            Thread->LastTimestamp = Last;
        }

        if (Session->Stores[Thread->FirstStore]->NextInThread == READER_NONE &&
            SqlIsStoreOfMoment(World, Session->Stores[Thread->FirstStore])) {

            Last = Session->Stores[Thread->FirstStore]->LastTimestamp +
                   Thread->TimestampBase;
            if (Last < Thread->LastTimestamp) {
                Thread->LastTimestamp = Last;
            }
        }
    }

    Session->StoreOpened = SqlClipStore;
    Session->StoreOpenedContext = World;
    return STATUS_SUCCESS;
}
