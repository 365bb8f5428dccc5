/*++

Module Name:

    SqlApi.c

Abstract:

    SQLite's routines: out of an extension's table, or out of a DLL.

--*/

#include "SqlApi.h"

#define SQL_PLACE(Type, Name, Place) Place,
#define SQL_NAME(Type, Name, Place) "sqlite3_" #Name,

static const USHORT SqlPlaces[] = { SQL_ROUTINES(SQL_PLACE) };
static const USHORT SqlPlacesOfIn[] = { SQL_ROUTINES_OF_IN(SQL_PLACE) };
static const PCSZ SqlNames[] = { SQL_ROUTINES(SQL_NAME) };
static const PCSZ SqlNamesOfIn[] = { SQL_ROUTINES_OF_IN(SQL_NAME) };

C_ASSERT(FIELD_OFFSET(SQL_API, vtab_in) == sizeof(SqlNames));
C_ASSERT(FIELD_OFFSET(SQL_API, Version) ==
         sizeof(SqlNames) + sizeof(SqlNamesOfIn));

//
// The structures as SQLite has them on x64.
//

C_ASSERT(sizeof(SQL_INDEX_CONSTRAINT) == 12);
C_ASSERT(sizeof(SQL_INDEX_ORDER) == 8);
C_ASSERT(sizeof(SQL_INDEX_USAGE) == 8);
C_ASSERT(sizeof(SQL_INDEX) == 96);
C_ASSERT(FIELD_OFFSET(SQL_INDEX, Text) == 48);
C_ASSERT(FIELD_OFFSET(SQL_INDEX, EstimatedCost) == 64);
C_ASSERT(FIELD_OFFSET(SQL_INDEX, ColumnsUsed) == 88);
C_ASSERT(sizeof(SQL_VTAB) == 24);

_Use_decl_annotations_
NTSTATUS
SqlTakeRoutines(
    PSQL_API Api,
    const PVOID *Table
    )
{
    PVOID *Routines = (PVOID *)Api;
    PVOID *RoutinesOfIn = (PVOID *)&Api->vtab_in;
    ULONG Index;

    RtlZeroBytes(Api, sizeof(*Api));

    //
    // These two are in all tables that there ever were; what an older one has
    // no place for is not read.
    //

    Api->libversion_number = (SQL_LIBVERSION *)(ULONG_PTR)
        Table[SQL_PLACE_OF_VERSION];
    Api->malloc = (SQL_MALLOC *)(ULONG_PTR)Table[SQL_PLACE_OF_MALLOC];
    Api->Version = Api->libversion_number();
    if (Api->Version < SQL_MINIMUM_VERSION) {
        return STATUS_REVISION_MISMATCH;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(SqlPlaces); Index++) {
        Routines[Index] = Table[SqlPlaces[Index]];
    }

    if (Api->Version >= SQL_VERSION_OF_IN) {
        for (Index = 0; Index < RTL_NUMBER_OF(SqlPlacesOfIn); Index++) {
            RoutinesOfIn[Index] = Table[SqlPlacesOfIn[Index]];
        }
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SqlLoadRoutines(
    PSQL_API Api,
    HMODULE Module,
    PCSZ *Missing
    )
{
    ULONG First = 0;

    RtlZeroBytes(Api, sizeof(*Api));
    if (RtlLoadSymbols(Module,
                       SqlNames,
                       (PVOID *)Api,
                       RTL_NUMBER_OF(SqlNames),
                       &First) != 0) {
        *Missing = SqlNames[First];
        return STATUS_ENTRYPOINT_NOT_FOUND;
    }

    *Missing = NULL;
    Api->Version = Api->libversion_number();
    if (Api->Version < SQL_MINIMUM_VERSION) {
        return STATUS_REVISION_MISMATCH;
    }

    if (Api->Version < SQL_VERSION_OF_IN ||
        RtlLoadSymbols(Module,
                       SqlNamesOfIn,
                       (PVOID *)&Api->vtab_in,
                       RTL_NUMBER_OF(SqlNamesOfIn),
                       NULL) != 0) {
        Api->vtab_in = NULL;
    }

    return STATUS_SUCCESS;
}
