/*++

Module Name:

    SqlCells.c

Abstract:

    What the tables have in common: which rows are asked for, and cells.

--*/

#include "../Functions/FunctionLine.h"
#include "../Session/SessionControl.h"
#include "SqlCursor.h"

_Use_decl_annotations_
VOID
SqlCountRows(
    PSQL_CURSOR Cursor,
    PULONGLONG Number
    )
{
    ULONG Count = *Number > 0xFFFFFFFFu ? 0xFFFFFFFFu : (ULONG)*Number;

    Cursor->NumberAlike = Count - 1;
    *Number -= Count;
}

_Use_decl_annotations_
BOOLEAN
SqlIsProcessAsked(
    PSQL_CURSOR Cursor,
    ULONG Process
    )
{
    CHAR Name[SQL_NAME_BYTES];
    ULONG Length;

    if (Cursor->Query.Session == NULL) {
        return TRUE;
    }

    Length = SqlNameSession(Cursor->World, Process, Name, sizeof(Name));
    return RtlLengthOfString(Cursor->Query.Session) == Length &&
           RtlAreBytesEqual(Cursor->Query.Session, Name, Length);
}

_Use_decl_annotations_
BOOLEAN
SqlIsThreadAsked(
    PSQL_CURSOR Cursor,
    ULONG Thread
    )
{
    const READER_THREAD *Known = &Cursor->World->Session.Threads[Thread];

    return (!Cursor->Query.HasThread ||
            Cursor->Query.ThreadId == Known->ThreadId) &&
           Known->FirstTimestamp <= Cursor->World->Moment->Horizon &&
           SqlIsProcessAsked(Cursor, Known->Process);
}

//
// Is a name like a pattern?  SQLite's routines take texts that end with a
// zero, which a name need not have.
//

static
BOOLEAN
SqlIsNameLike(
    _In_ PSQL_CURSOR Cursor,
    _In_ const SQL_NAME_TEST *Test,
    _In_ PCREADER_FUNCTION Function
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PCSQL_API Api = &Cursor->Connection->Api;
    PCHAR Copy;
    int Result;

    if (Test->NumberOfTexts == 0) {
        return FALSE;
    }

    Copy = (PCHAR)Allocator->Allocate(Allocator->Context,
                                      (SIZE_T)Function->NameLength + 1);
    if (Copy == NULL) {
        return TRUE;                // SQLite looks itself
    }

    RtlCopyBytes(Copy, Function->Name, Function->NameLength);
    Result = Test->Operator == SQL_INDEX_GLOB
                 ? Api->strglob(Test->Texts[0], Copy)
                 : Api->strlike(Test->Texts[0], Copy, 0);
    Allocator->Free(Allocator->Context, Copy);
    return Result == 0;
}

_Use_decl_annotations_
BOOLEAN
SqlIsFunctionAsked(
    PSQL_CURSOR Cursor,
    PCREADER_FUNCTION Function
    )
{
    const SQL_NAME_TEST *Test;
    ULONG Index;
    ULONG Text;
    BOOLEAN IsFound;

    for (Index = 0; Index < Cursor->Query.NumberOfTests; Index++) {

        Test = &Cursor->Query.Tests[Index];
        IsFound = FALSE;
        if (Test->Operator != SQL_INDEX_EQ) {
            IsFound = SqlIsNameLike(Cursor, Test, Function);
        }

        for (Text = 0;
             Test->Operator == SQL_INDEX_EQ && !IsFound &&
                 Text < Test->NumberOfTexts;
             Text++) {

            IsFound = RtlLengthOfString(Test->Texts[Text]) ==
                          Function->NameLength &&
                      RtlAreBytesEqual(Test->Texts[Text],
                                       Function->Name,
                                       Function->NameLength);
        }

        if (!IsFound) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
SqlPutText(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    Cursor->Connection->Api.result_text(Result,
                                        Text,
                                        (int)LengthInBytes,
                                        SQL_TRANSIENT);
}

_Use_decl_annotations_
VOID
SqlPutSession(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONG Process
    )
{
    CHAR Name[SQL_NAME_BYTES];
    ULONG Length;

    Length = SqlNameSession(Cursor->World, Process, Name, sizeof(Name));
    SqlPutText(Cursor, Result, Name, Length);
}

_Use_decl_annotations_
VOID
SqlPutThreadName(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONG Thread
    )
{
    const CHAR *Name;
    ULONG Length;

    SessionQueryThreadName(&Cursor->World->Session, Thread, &Name, &Length);
    if (Length == 0) {
        SqlPutNothing(Cursor, Result);
    } else {
        SqlPutText(Cursor, Result, Name, Length);
    }
}

_Use_decl_annotations_
VOID
SqlPutTicks(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONGLONG Ticks
    )
{
    if (SQL_HAS_TIMES(Cursor->World)) {
        SqlPutNumber(Cursor, Result, SqlQueryDuration(Cursor->World, Ticks));
    } else {
        SqlPutNothing(Cursor, Result);
    }
}

_Use_decl_annotations_
VOID
SqlPutTime(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONGLONG Timestamp
    )
{
    if (SQL_HAS_TIMES(Cursor->World)) {
        SqlPutNumber(Cursor, Result, SqlQueryTime(Cursor->World, Timestamp));
    } else {
        SqlPutNothing(Cursor, Result);
    }
}

_Use_decl_annotations_
VOID
SqlPutFunction(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONG Function
    )
{
    PCREADER_FUNCTION Known;

    if (Function == READER_NONE) {
        SqlPutNothing(Cursor, Result);
        return;
    }

    Known = &Cursor->World->Functions.Functions[Function];
    SqlPutText(Cursor, Result, Known->Name, Known->NameLength);
}

_Use_decl_annotations_
VOID
SqlPutModule(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONG Function
    )
{
    PCREADER_FUNCTION Known =
        &Cursor->World->Functions.Functions[Function];

    SqlPutText(Cursor, Result, Known->ModuleName, Known->ModuleNameLength);
}

_Use_decl_annotations_
VOID
SqlPutCaller(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONG Function
    )
{
    const READER_FUNCTIONS *Functions = &Cursor->World->Functions;
    ULONG Importer = Functions->Functions[Function].Importer;

    if (Importer == 0) {
        SqlPutNothing(Cursor, Result);
    } else {
        SqlPutText(Cursor,
                   Result,
                   Functions->Imported[Importer - 1].Name,
                   Functions->Imported[Importer - 1].NameLength);
    }
}

_Use_decl_annotations_
VOID
SqlPutSource(
    PSQL_CURSOR Cursor,
    SQL_RESULT *Result,
    ULONG Function,
    BOOLEAN IsLine
    )
{
    PCREADER_FUNCTION Known =
        &Cursor->World->Functions.Functions[Function];
    READER_SOURCE_LINE Line;

    if (Known->Rva == READER_OTHER_RVA || Known->IsStub ||
        !FunctionFindLine(&Cursor->World->Session,
                          ((ULONGLONG)Known->Module << 32) | Known->Rva,
                          &Line)) {
        SqlPutNothing(Cursor, Result);
    } else if (IsLine) {
        SqlPutNumber(Cursor, Result, Line.LineNumber);
    } else {
        SqlPutText(Cursor, Result, Line.FileName, Line.LengthInBytes);
    }
}
