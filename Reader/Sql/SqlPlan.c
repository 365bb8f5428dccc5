/*++

Module Name:

    SqlPlan.c

Abstract:

    What SQLite asks of a scan becomes a plan, and the plan with its values a
    query.

    A plan's text is the columns that are used, as 16 hexadecimal digits, and
    a letter for each argument.  SQLite looks at all constraints itself as
    well, but for arguments: what is taken here may let more through, never
    less.

--*/

#include "SqlPlan.h"

#define SQL_PLAN_DIGITS 16

#define SQL_PLAN_PATH       'P'
#define SQL_PLAN_SESSION    'S'
#define SQL_PLAN_THREAD     'T'
#define SQL_PLAN_NAME       'N'
#define SQL_PLAN_NAMES      'I'
#define SQL_PLAN_GLOB       'G'
#define SQL_PLAN_LIKE       'L'
#define SQL_PLAN_FROM       'F'
#define SQL_PLAN_AFTER      'A'
#define SQL_PLAN_TO         'U'
#define SQL_PLAN_BEFORE     'B'
#define SQL_PLAN_AT         'E'
#define SQL_PLAN_SINCE      'C'
#define SQL_PLAN_UNTIL      'D'

//
// How much less there is to do with a constraint of each kind.
//

#define SQL_PART_THREAD     0.2
#define SQL_PART_FUNCTION   0.5
#define SQL_PART_TIME       0.3
#define SQL_PART_SESSION    0.2

//
// And how much more without the argument: more than all of these leave out.
//

#define SQL_PART_NO_PATH    1000000.0

//
// Without it two terms of an OR must cost more than the whole table: a row that
// fits both would come twice, as its rowid in each scan is another.
//

#define SQL_PART_OF_TERM    0.6

//
// Is a constraint's comparison one of bytes?  Function names are compared so
// here.
//

static
BOOLEAN
SqlIsBinary(
    _In_ PSQL_CONNECTION Connection,
    _In_ PSQL_INDEX Index,
    _In_ int Constraint
    )
{
    PCSZ Name = Connection->Api.vtab_collation(Index, Constraint);

    return Name != NULL && RtlAreStringsEqual(Name, "BINARY");
}

//
// Finds the letter of a constraint; 0: it is left to SQLite.
// Part: becomes smaller by what it leaves out.
//

static
CHAR
SqlPlanConstraint(
    _In_ PSQL_CONNECTION Connection,
    _In_ PCSQL_TABLE Table,
    _In_ PSQL_INDEX Index,
    _In_ int Number,
    _Inout_ double *Part
    )
{
    const SQL_INDEX_CONSTRAINT *Constraint = &Index->Constraints[Number];
    SQL_ROLE Role;

    if (Constraint->Column < 0 ||
        (ULONG)Constraint->Column >= Table->NumberOfColumns) {
        return 0;
    }

    Role = Table->Columns[Constraint->Column].Role;
    switch (Role) {

    case SqlRolePath:
        return Constraint->Operator == SQL_INDEX_EQ ? SQL_PLAN_PATH : 0;

    case SqlRoleSince:
        return Constraint->Operator == SQL_INDEX_EQ ? SQL_PLAN_SINCE : 0;

    case SqlRoleUntil:
        return Constraint->Operator == SQL_INDEX_EQ ? SQL_PLAN_UNTIL : 0;

    case SqlRoleSession:
        if (Constraint->Operator != SQL_INDEX_EQ ||
            !SqlIsBinary(Connection, Index, Number)) {
            return 0;
        }
        *Part *= SQL_PART_SESSION;
        return SQL_PLAN_SESSION;

    case SqlRoleThread:
        if (Constraint->Operator != SQL_INDEX_EQ) {
            return 0;
        }
        *Part *= SQL_PART_THREAD;
        return SQL_PLAN_THREAD;

    case SqlRoleFunction:
        switch (Constraint->Operator) {

        case SQL_INDEX_EQ:
            if (!SqlIsBinary(Connection, Index, Number)) {
                return 0;
            }
            *Part *= SQL_PART_FUNCTION;
            if (Connection->Api.vtab_in != NULL &&
                Connection->Api.vtab_in(Index, Number, -1)) {

                Connection->Api.vtab_in(Index, Number, 1);
                return SQL_PLAN_NAMES;
            }
            return SQL_PLAN_NAME;

        case SQL_INDEX_GLOB:
            *Part *= SQL_PART_FUNCTION;
            return SQL_PLAN_GLOB;

        case SQL_INDEX_LIKE:
            *Part *= SQL_PART_FUNCTION;
            return SQL_PLAN_LIKE;
        }
        return 0;

    case SqlRoleStart:
        *Part *= SQL_PART_TIME;
        switch (Constraint->Operator) {

        case SQL_INDEX_EQ:
            *Part *= SQL_PART_TIME;
            return SQL_PLAN_AT;

        case SQL_INDEX_GE:
            return SQL_PLAN_FROM;

        case SQL_INDEX_GT:
            return SQL_PLAN_AFTER;

        case SQL_INDEX_LE:
            return SQL_PLAN_TO;

        case SQL_INDEX_LT:
            return SQL_PLAN_BEFORE;
        }
        return 0;

    default:
        return 0;
    }
}

//
// Finds the argument that a constraint gives: rows depend on it and do not have
// it, so a scan that does not know it yet is of no use.
// Returns the column's role; SqlRoleNone: it is no argument.
//

static
SQL_ROLE
SqlFindArgument(
    _In_ PCSQL_TABLE Table,
    _In_ const SQL_INDEX_CONSTRAINT *Constraint
    )
{
    SQL_ROLE Role;

    if (Constraint->Column < 0 ||
        (ULONG)Constraint->Column >= Table->NumberOfColumns) {
        return SqlRoleNone;
    }

    Role = Table->Columns[Constraint->Column].Role;
    if (Role == SqlRolePath) {
        return Role;
    }

    return Constraint->Operator == SQL_INDEX_EQ &&
                   (Role == SqlRoleSince || Role == SqlRoleUntil ||
                    (Role == SqlRoleThread && Table == &SqlFunctionsTable))
               ? Role
               : SqlRoleNone;
}

_Use_decl_annotations_
int
SqlMakePlan(
    PSQL_CONNECTION Connection,
    PCSQL_TABLE Table,
    PSQL_INDEX Index
    )
{
    RTL_WRITER Writer;
    PCHAR Text;
    double Part = 1;
    BOOLEAN HasPath = FALSE;
    BOOLEAN HasUnusablePath = FALSE;
    BOOLEAN IsWithoutArgument = FALSE;
    ULONG NumberOfTests = 0;
    int Arguments = 0;
    int Number;
    CHAR Letter;

    Text = (PCHAR)Connection->Api.malloc64(SQL_PLAN_DIGITS + 1 +
                                           (ULONGLONG)
                                               Index->NumberOfConstraints);
    if (Text == NULL) {
        return SQL_NOMEM;
    }

    RtlInitializeBufferWriter(&Writer, Text, SQL_PLAN_DIGITS);
    RtlWriteText(&Writer, "%016llX", Index->ColumnsUsed);
    for (Number = 0; Number < Index->NumberOfConstraints; Number++) {

        if (!Index->Constraints[Number].IsUsable) {
            switch (SqlFindArgument(Table, &Index->Constraints[Number])) {

            case SqlRolePath:
                HasUnusablePath = TRUE;
                break;

            case SqlRoleNone:
                break;

            default:
                IsWithoutArgument = TRUE;
                break;
            }
            continue;
        }

        Letter = SqlPlanConstraint(Connection, Table, Index, Number, &Part);
        if (Letter == SQL_PLAN_PATH && HasPath) {
            Letter = 0;
        }

        if (Letter == SQL_PLAN_NAME || Letter == SQL_PLAN_NAMES ||
            Letter == SQL_PLAN_GLOB || Letter == SQL_PLAN_LIKE) {

            NumberOfTests += 1;
            if (NumberOfTests > SQL_MAXIMUM_TESTS &&
                Letter != SQL_PLAN_NAMES) {
                Letter = 0;
            }
        }

        if (Letter == 0) {
            continue;
        }

        Text[SQL_PLAN_DIGITS + Arguments] = Letter;
        Arguments += 1;
        Index->Usages[Number].Argument = Arguments;
        HasPath = HasPath || Letter == SQL_PLAN_PATH;
        if (Letter == SQL_PLAN_PATH || Letter == SQL_PLAN_SINCE ||
            Letter == SQL_PLAN_UNTIL) {
            Index->Usages[Number].IsOmitted = 1;
        }
    }

    Text[SQL_PLAN_DIGITS + Arguments] = 0;
    Index->Text = Text;
    Index->IsTextToBeFreed = 1;
    if (IsWithoutArgument || (!HasPath && HasUnusablePath)) {

        //
        // SQLite before 3.41 does not free it then.
        //

        Connection->Api.free(Text);
        Index->Text = NULL;
        Index->IsTextToBeFreed = 0;
        return SQL_CONSTRAINT;
    }

    if (!HasPath) {

        //
        // The argument is missing, or this is a term of an OR, which SQLite
        // shows without the table's other constraints: no such plan may be the
        // one that is chosen where there is an argument.
        //

        if (Part < SQL_PART_OF_TERM) {
            Part = SQL_PART_OF_TERM;
        }

        Part *= SQL_PART_NO_PATH;
    }

    Index->Number = 0;
    if (Table->Time != NULL && Index->NumberOfOrders == 1 &&
        !Index->Orders[0].IsDescending && Index->Orders[0].Column >= 0 &&
        Table->Columns[Index->Orders[0].Column].Role == SqlRoleStart) {

        Index->IsOrderConsumed = 1;
        Index->Number = 1;
    }

    Index->EstimatedCost = Table->Cost * Part + 1;
    Index->EstimatedRows = (LONGLONG)(Table->Cost * Part) + 1;
    return SQL_OK;
}

//
// Copies a value's text.  NULL: there is no memory.
//

_Must_inspect_result_
_Ret_maybenull_
static
PCHAR
SqlCopyText(
    _In_ PSQL_CONNECTION Connection,
    _In_ SQL_VALUE *Value
    )
{
    PCSZ Text = Connection->Api.value_text(Value);
    int Length = Connection->Api.value_bytes(Value);
    PCHAR Copy;

    if (Text == NULL) {
        return NULL;
    }

    Copy = (PCHAR)Connection->Allocator.Allocate(
        Connection->Allocator.Context,
        (SIZE_T)Length + 1);
    if (Copy != NULL) {
        RtlCopyBytes(Copy, Text, (SIZE_T)Length);
    }

    return Copy;
}

//
// Adds a value to a test.  What is no text is no function's name.
//

_Must_inspect_result_
static
NTSTATUS
SqlAddName(
    _In_ PSQL_CONNECTION Connection,
    _Inout_ PSQL_NAME_TEST Test,
    _Inout_ PULONG Capacity,
    _In_ SQL_VALUE *Value
    )
{
    NTSTATUS Status;

    if (Connection->Api.value_type(Value) != SQL_TEXT) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(&Connection->Allocator,
                           (PVOID *)&Test->Texts,
                           Capacity,
                           Test->NumberOfTexts + 1,
                           sizeof(PCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Test->Texts[Test->NumberOfTexts] = SqlCopyText(Connection, Value);
    if (Test->Texts[Test->NumberOfTexts] == NULL) {
        return STATUS_NO_MEMORY;
    }

    Test->NumberOfTexts += 1;
    return STATUS_SUCCESS;
}

//
// Takes a constraint on a function's name.
//

_Must_inspect_result_
static
NTSTATUS
SqlTakeName(
    _In_ PSQL_CONNECTION Connection,
    _Inout_ PSQL_QUERY Query,
    _In_ CHAR Letter,
    _In_ SQL_VALUE *Value
    )
{
    PSQL_NAME_TEST Test = &Query->Tests[Query->NumberOfTests];
    SQL_VALUE *Item = NULL;
    ULONG Capacity = 0;
    int Result;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Query->NumberOfTests == SQL_MAXIMUM_TESTS) {
        return STATUS_SUCCESS;
    }

    Query->NumberOfTests += 1;
    Test->Operator = Letter == SQL_PLAN_GLOB   ? SQL_INDEX_GLOB
                     : Letter == SQL_PLAN_LIKE ? SQL_INDEX_LIKE
                                               : SQL_INDEX_EQ;
    if (Letter != SQL_PLAN_NAMES) {
        return SqlAddName(Connection, Test, &Capacity, Value);
    }

    for (Result = Connection->Api.vtab_in_first(Value, &Item);
         NT_SUCCESS(Status) && Result == SQL_OK && Item != NULL;
         Result = Connection->Api.vtab_in_next(Value, &Item)) {

        Status = SqlAddName(Connection, Test, &Capacity, Item);
    }

    if (NT_SUCCESS(Status) && Result == SQL_NOMEM) {
        Status = STATUS_NO_MEMORY;
    }

    return Status;
}

//
// Takes a constraint on a time.  A number with a fraction gives a bound that is
// a little wider, as SQLite looks again; but not an argument, at which it does
// not look.
//

static
VOID
SqlTakeTime(
    _In_ PSQL_CONNECTION Connection,
    _Inout_ PSQL_QUERY Query,
    _In_ CHAR Letter,
    _In_ SQL_VALUE *Value
    )
{
    LONGLONG From;
    LONGLONG To;
    double Fraction;
    BOOLEAN IsArgument = Letter == SQL_PLAN_SINCE || Letter == SQL_PLAN_UNTIL;

    switch (Connection->Api.value_type(Value)) {

    case SQL_INTEGER:
        From = Connection->Api.value_int64(Value);
        To = From;
        if (Letter == SQL_PLAN_AFTER && From != MAXLONG64) {
            From += 1;
        } else if (Letter == SQL_PLAN_BEFORE && To != MINLONG64) {
            To -= 1;
        }
        break;

    case SQL_TEXT:
        if (!IsArgument) {
            return;
        }

        //
        // It is a number, as where SQLite compares it with a column of
        // integers.
        //

    case SQL_FLOAT:
        Fraction = Connection->Api.value_double(Value);
        if (!(Fraction > -9e18 && Fraction < 9e18)) {
            Query->IsEmpty =
                Query->IsEmpty ||
                (IsArgument && (Fraction > 0) == (Letter == SQL_PLAN_SINCE));
            return;
        }

        From = (LONGLONG)Fraction;
        To = From;
        if (!IsArgument) {
            From -= 1;
            To += 1;
        } else if ((double)From < Fraction) {
            From += 1;
        } else if ((double)To > Fraction) {
            To -= 1;
        }
        break;

    case SQL_NULL:

        //
        // An argument that is not given is not there, or is NULL.
        //

        Query->IsEmpty = Query->IsEmpty || !IsArgument;
        return;

    default:
        return;
    }

    if (Letter != SQL_PLAN_TO && Letter != SQL_PLAN_BEFORE &&
        Letter != SQL_PLAN_UNTIL && Query->From < From) {
        Query->From = From;
    }

    if (Letter != SQL_PLAN_FROM && Letter != SQL_PLAN_AFTER &&
        Letter != SQL_PLAN_SINCE && Query->To > To) {
        Query->To = To;
    }
}

static
VOID
SqlTakeThread(
    _In_ PSQL_CONNECTION Connection,
    _Inout_ PSQL_QUERY Query,
    _In_ SQL_VALUE *Value
    )
{
    LONGLONG Number;
    double Real;
    int Type = Connection->Api.value_type(Value);

    if (Type == SQL_NULL) {
        Query->IsEmpty = TRUE;
        return;
    }

    if (Type == SQL_INTEGER) {
        Number = Connection->Api.value_int64(Value);
    } else if (Type == SQL_TEXT || Type == SQL_FLOAT) {

        //
        // SQLite compares it as a number, and looks itself.
        //

        Real = Connection->Api.value_double(Value);
        Number = Real >= 0 && Real <= 4294967295.0 ? (LONGLONG)Real : -1;
    } else {
        return;
    }

    if (Number < 0 || Number > (LONGLONG)0xFFFFFFFF ||
        (Query->HasThread && Query->ThreadId != (ULONG)Number)) {
        Query->IsEmpty = TRUE;
        return;
    }

    Query->HasThread = TRUE;
    Query->ThreadId = (ULONG)Number;
}

_Use_decl_annotations_
NTSTATUS
SqlReadPlan(
    PSQL_CONNECTION Connection,
    PCSZ Text,
    BOOLEAN IsOrdered,
    int NumberOfArguments,
    SQL_VALUE **Arguments,
    PSQL_QUERY Query,
    PCSZ *Path,
    PULONG PathLength
    )
{
    ULONG Digit;
    int Index;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Query, sizeof(*Query));
    *Path = NULL;
    *PathLength = 0;
    Query->IsOrdered = IsOrdered;
    Query->From = 0;
    Query->To = MAXLONG64;
    for (Digit = 0; Digit < SQL_PLAN_DIGITS; Digit++) {
        Query->Columns = Query->Columns << 4 |
                         (ULONGLONG)(Text[Digit] <= '9'
                                         ? Text[Digit] - '0'
                                         : Text[Digit] - 'A' + 10);
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < NumberOfArguments; Index++) {

        CHAR Letter = Text[SQL_PLAN_DIGITS + Index];
        SQL_VALUE *Value = Arguments[Index];

        switch (Letter) {

        case SQL_PLAN_PATH:
            *Path = Connection->Api.value_text(Value);
            *PathLength = (ULONG)Connection->Api.value_bytes(Value);
            if (*Path == NULL) {
                *Path = "";
                *PathLength = 0;
            }
            break;

        case SQL_PLAN_SESSION:
            if (Connection->Api.value_type(Value) != SQL_TEXT) {
                Query->IsEmpty = TRUE;
            } else if (Query->Session == NULL) {
                Query->Session = SqlCopyText(Connection, Value);
                if (Query->Session == NULL) {
                    Status = STATUS_NO_MEMORY;
                }
            }
            break;

        case SQL_PLAN_THREAD:
            SqlTakeThread(Connection, Query, Value);
            break;

        case SQL_PLAN_NAME:
        case SQL_PLAN_NAMES:
        case SQL_PLAN_GLOB:
        case SQL_PLAN_LIKE:
            Status = SqlTakeName(Connection, Query, Letter, Value);
            break;

        default:
            SqlTakeTime(Connection, Query, Letter, Value);
            break;
        }
    }

    if (Query->From > Query->To) {
        Query->IsEmpty = TRUE;
    }

    return Status;
}

_Use_decl_annotations_
VOID
SqlFreeQuery(
    PSQL_CONNECTION Connection,
    PSQL_QUERY Query
    )
{
    PCALLOCATOR Allocator = &Connection->Allocator;
    ULONG Test;
    ULONG Index;

    for (Test = 0; Test < Query->NumberOfTests; Test++) {
        for (Index = 0; Index < Query->Tests[Test].NumberOfTexts; Index++) {
            Allocator->Free(Allocator->Context,
                            Query->Tests[Test].Texts[Index]);
        }

        Allocator->Free(Allocator->Context, Query->Tests[Test].Texts);
    }

    Allocator->Free(Allocator->Context, Query->Session);
    RtlZeroBytes(Query, sizeof(*Query));
}
