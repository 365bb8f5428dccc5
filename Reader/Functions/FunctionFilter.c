/*++

Module Name:

    FunctionFilter.c

Abstract:

    --function and --exclude: which functions are shown.  The prefixes of both
    go into one string table, and the longest one that a function's name
    begins with decides, unless a pattern excludes it.  Each distinct function
    is decided about once.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Base/BaseNearest.h"
#include "FunctionFilter.h"
#include "FunctionFindByName.h"
#include "FunctionPattern.h"
#include "FunctionQualified.h"

//
// Larger files hardly hold prefixes.
//

#define READER_MAXIMUM_PREFIX_FILE 0x4000000u   // 64 MiB

//
// A file of prefixes, until the table has copies of them.
//

typedef struct _READER_PREFIX_FILE {
    struct _READER_PREFIX_FILE *Next;
    ULONG SizeInBytes;
    CHAR Bytes[4];                  // SizeInBytes of them
} READER_PREFIX_FILE;
typedef READER_PREFIX_FILE *PREADER_PREFIX_FILE;

typedef struct _READER_FILTER_PATTERN {
    PREADER_PATTERN Pattern;
    BOOLEAN IsExclude;
} READER_FILTER_PATTERN;
typedef READER_FILTER_PATTERN *PREADER_FILTER_PATTERN;

//
// Names that were given, to be compared when there is nothing of that name.
//

#define READER_MAXIMUM_GIVEN 8u

typedef struct _READER_FILTER {
    PCALLOCATOR Allocator;
    CHAR Given[READER_MAXIMUM_GIVEN][READER_NEAREST_MAXIMUM + 1];
    ULONG NumberOfGiven;
    PREADER_PREFIX_FILE Files;
    PSTRING_TABLE_PREFIX Prefixes;  // NULL when there is a table
    ULONG CapacityOfPrefixes;
    PUCHAR IsExclude;               // by prefix
    ULONG CapacityOfIsExclude;
    ULONG NumberOfPrefixes;
    PREADER_FILTER_PATTERN Patterns;
    ULONG CapacityOfPatterns;
    ULONG NumberOfPatterns;
    PREADER_QUALIFIED Qualified;    // what has a module; NULL: nothing
    ULONG NumberOfItems;            // that were given
    BOOLEAN HasFunctions;           // one of them is not to be excluded
    BOOLEAN HasRest;                // *: what nothing else says anything of
    BOOLEAN IsRestExcluded;
    PSTRING_TABLE Table;            // NULL: not yet
    ULONGLONG BuildMicroseconds;
} READER_FILTER;

static const READER_COLUMN ReaderNotShownColumns[] = {
    { "", "functions", ReaderColumnNumber, 0, 0,
      "Functions that were left out and would have had a row." },
    { "", "calls", ReaderColumnNumber, 0, 0,
      "Their calls." }
};

static const READER_COLUMN ReaderLimitsColumns[] = {
    { "", "short_calls", ReaderColumnNumber, 0, 0,
      "Calls that --min-duration left out." },
    { "", "short_nodes", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,
      "Of a tree: their nodes; else null." },
    { "", "deep_calls", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,
      "Calls that --depth left out, short ones among them; null of a tree." }
};

const READER_TABLE ReaderLimitsTable = {
    "limits",
    ReaderLimitsColumns,
    RTL_NUMBER_OF(ReaderLimitsColumns),
    FALSE,
    TRUE,
    "Only in JSON, with --min-duration or --depth: what these left out."
};

const READER_TABLE ReaderNotShownTable = {
    "not_shown",
    ReaderNotShownColumns,
    RTL_NUMBER_OF(ReaderNotShownColumns),
    FALSE,
    TRUE,
    "With --function or --exclude, in JSON only: what they left out."
};

static const READER_COLUMN ReaderNodesNotShownColumns[] = {
    { "", "nodes", ReaderColumnNumber, 0, 0,
      "Nodes that were left out and would have had a row." },
    { "", "calls", ReaderColumnNumber, 0, 0,
      "Their calls." }
};

const READER_TABLE ReaderNodesNotShownTable = {
    "not_shown",
    ReaderNodesNotShownColumns,
    RTL_NUMBER_OF(ReaderNodesNotShownColumns),
    FALSE,
    TRUE,
    "With --function or --exclude, in JSON only: what they left out."
};


//
// Reads a clock.
// Rtl: the operating system's routines.
// Returns microseconds since some time; 0 if that is not known.
//

static
ULONGLONG
FunctionReadMicroseconds(
    _In_ PCRTL Rtl
    )
{
    LARGE_INTEGER Counts;
    LARGE_INTEGER Frequency;

    if (!NT_SUCCESS(Rtl->NtQueryPerformanceCounter(&Counts, &Frequency)) ||
        Frequency.QuadPart <= 0) {
        return 0;
    }

    return CoreMultiplyDivide((ULONGLONG)Counts.QuadPart,
                              1000000,
                              (ULONGLONG)Frequency.QuadPart);
}


//
// Text: the prefix, which must stay where it is until there is a table.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddPrefix(
    _Inout_ PREADER_FILTER Filter,
    _In_ BOOLEAN IsExclude,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    PSTRING_TABLE_PREFIX Prefix;
    NTSTATUS Status;

    Status = BaseGrowArray(Filter->Allocator,
                           (PVOID *)&Filter->Prefixes,
                           &Filter->CapacityOfPrefixes,
                           Filter->NumberOfPrefixes + 1,
                           sizeof(STRING_TABLE_PREFIX));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Filter->Allocator,
                               (PVOID *)&Filter->IsExclude,
                               &Filter->CapacityOfIsExclude,
                               Filter->NumberOfPrefixes + 1,
                               sizeof(UCHAR));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Prefix = &Filter->Prefixes[Filter->NumberOfPrefixes];
    Prefix->Buffer = Text;
    Prefix->LengthInBytes = LengthInBytes;
    Filter->IsExclude[Filter->NumberOfPrefixes] = IsExclude;
    Filter->NumberOfPrefixes += 1;
    return STATUS_SUCCESS;
}


//
// Adds a pattern.
// Kind: which of those that are no prefix.
// STATUS_INVALID_PARAMETER: Problem and Position say what is wrong with it.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddPattern(
    _Inout_ PREADER_FILTER Filter,
    _In_ BOOLEAN IsExclude,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ READER_PATTERN_KIND Kind,
    _Out_ PCSZ *Problem,
    _Out_ PULONG Position
    )
{
    PREADER_FILTER_PATTERN Pattern;
    NTSTATUS Status;

    *Problem = "";
    *Position = 0;
    Status = BaseGrowArray(Filter->Allocator,
                           (PVOID *)&Filter->Patterns,
                           &Filter->CapacityOfPatterns,
                           Filter->NumberOfPatterns + 1,
                           sizeof(READER_FILTER_PATTERN));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Pattern = &Filter->Patterns[Filter->NumberOfPatterns];
    Status = FunctionCreatePattern(Filter->Allocator,
                                   Text,
                                   LengthInBytes,
                                   Kind,
                                   &Pattern->Pattern,
                                   Problem,
                                   Position);
    if (NT_SUCCESS(Status)) {
        Pattern->IsExclude = IsExclude;
        Filter->NumberOfPatterns += 1;
    }

    return Status;
}


//
// Filter: the filter, without a table.
// IsExclude: whether it is one of --exclude.
// Text, LengthInBytes: the prefix or pattern, with what stands around it. It
// must stay where it is until there is a table. If there is nothing in it,
// nothing is added.
// Problem: what is wrong with it, a literal.
// Position: of a pattern, where, from 1; 0: it is none.
// STATUS_INVALID_PARAMETER: something is wrong with it.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddItem(
    _Inout_ PREADER_FILTER Filter,
    _In_ BOOLEAN IsExclude,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _Out_ PCSZ *Problem,
    _Out_ PULONG Position
    )
{
    READER_PATTERN_KIND Kind;
    NTSTATUS Status = STATUS_SUCCESS;

    *Problem = "";
    *Position = 0;
    while (LengthInBytes != 0 && (Text[0] == ' ' || Text[0] == '\t')) {
        Text += 1;
        LengthInBytes -= 1;
    }

    while (LengthInBytes != 0 && (Text[LengthInBytes - 1] == ' ' ||
                                  Text[LengthInBytes - 1] == '\t')) {
        LengthInBytes -= 1;
    }

    if (LengthInBytes == 0) {
        return STATUS_SUCCESS;
    }

    if (Text[0] == '-') {

        if (IsExclude) {
            *Problem = "begins with -, which is not allowed in --exclude";
            return STATUS_INVALID_PARAMETER;
        }

        IsExclude = TRUE;
        Text += 1;
        LengthInBytes -= 1;
        if (LengthInBytes == 0) {
            *Problem = "has a - without a prefix";
            return STATUS_INVALID_PARAMETER;
        }
    }

    if (LengthInBytes > STRING_TABLE_MAXIMUM_PREFIX_IN_CHARS) {
        *Problem = "is longer than 32767 bytes";
        return STATUS_INVALID_PARAMETER;
    }

    Kind = FunctionFindPatternKind(Text, &LengthInBytes);
    if (Kind == ReaderPatternNone && !IsExclude &&
        LengthInBytes <= READER_NEAREST_MAXIMUM &&
        Filter->NumberOfGiven < READER_MAXIMUM_GIVEN) {
        RtlCopyBytes(Filter->Given[Filter->NumberOfGiven],
                     Text,
                     LengthInBytes);
        Filter->Given[Filter->NumberOfGiven][LengthInBytes] = 0;
        Filter->NumberOfGiven += 1;
    }

    if (Kind <= ReaderPatternGlob &&
        FunctionQualifiedIsItem(Text, LengthInBytes)) {
        Status = FunctionQualifiedAdd(Filter->Allocator,
                                      &Filter->Qualified,
                                      IsExclude,
                                      Text,
                                      LengthInBytes,
                                      Kind,
                                      Problem,
                                      Position);
        goto End;
    }

    if (Kind >= ReaderPatternGlob) {
        Status = FunctionAddPattern(Filter,
                                    IsExclude,
                                    Text,
                                    LengthInBytes,
                                    Kind,
                                    Problem,
                                    Position);
    }

    //
    // A name may begin with what is also a pattern, asterisks and all.
    //

    if (NT_SUCCESS(Status) && Kind <= ReaderPatternGlob) {

        if (LengthInBytes != 0) {
            Status = FunctionAddPrefix(Filter, IsExclude, Text, LengthInBytes);
        } else if (!Filter->HasRest) {
            Filter->HasRest = TRUE;
            Filter->IsRestExcluded = IsExclude;
        }
    }

End:

    if (NT_SUCCESS(Status)) {
        Filter->NumberOfItems += 1;
        Filter->HasFunctions |= !IsExclude;
    }

    return Status;
}


//
// Says whether a line is UTF-8 without control characters.
//

static
BOOLEAN
FunctionIsTextLine(
    _In_reads_bytes_(LengthInBytes) const CHAR *Line,
    _In_ ULONG LengthInBytes
    )
{
    ULONG CodePoint;
    ULONG Index = 0;
    ULONG Length;

    while (Index < LengthInBytes) {

        Length = RtlDecodeUtf8(Line + Index,
                               LengthInBytes - Index,
                               &CodePoint);

        //
        // What is ill-formed gives U+FFFD, which has a form of its own, too.
        //

        if (CodePoint == 0xFFFD &&
            (Length != 3 ||
             !RtlAreBytesEqual(Line + Index, "\xEF\xBF\xBD", 3))) {
            return FALSE;
        }

        if ((CodePoint < 0x20 && CodePoint != '\t') || CodePoint == 0x7F) {
            return FALSE;
        }

        Index += Length;
    }

    return TRUE;
}


//
// Adds the prefixes of a file.
// IsExclude: whether they are of --exclude.
// File: the file; the filter keeps it.
// Returns STATUS_SUCCESS or what failed, which has been written.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddLines(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_FILTER Filter,
    _In_ BOOLEAN IsExclude,
    _In_ const READER_PREFIX_FILE *File,
    _In_z_ PCSZ Name
    )
{
    PCSZ Problem = "";
    ULONG Character = 0;
    ULONG Position = 0;
    ULONG Line = 0;
    ULONG Start;
    ULONG End;
    NTSTATUS Status = STATUS_SUCCESS;

    if (File->SizeInBytes >= 3 &&
        RtlAreBytesEqual(File->Bytes, "\xEF\xBB\xBF", 3)) {
        Position = 3;
    }

    while (Position < File->SizeInBytes && NT_SUCCESS(Status)) {

        Start = Position;
        End = Start;
        while (End < File->SizeInBytes && File->Bytes[End] != '\n') {
            End += 1;
        }

        Position = End + 1;
        Line += 1;
        if (End > Start && File->Bytes[End - 1] == '\r') {
            End -= 1;
        }

        if (!FunctionIsTextLine(File->Bytes + Start, End - Start)) {
            Problem = "is not text in UTF-8";
            Status = STATUS_INVALID_PARAMETER;
            break;
        }

        while (Start < End && (File->Bytes[Start] == ' ' ||
                               File->Bytes[Start] == '\t')) {
            Start += 1;
        }

        if (Start == End || File->Bytes[Start] == '#') {
            continue;
        }

        Status = FunctionAddItem(Filter,
                                 IsExclude,
                                 File->Bytes + Start,
                                 End - Start,
                                 &Problem,
                                 &Character);
    }

    if (Status == STATUS_INVALID_PARAMETER && Character != 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: read the file of prefixes: %T: line %u: the "
                     "pattern, character %u: %s\n",
                     Name,
                     Line,
                     Character,
                     Problem);
        RtlFlushWriter(Context->Errors);
    } else if (Status == STATUS_INVALID_PARAMETER) {
        RtlWriteText(Context->Errors,
                     "TraceReader: read the file of prefixes: %T: line %u %s\n",
                     Name,
                     Line,
                     Problem);
        RtlFlushWriter(Context->Errors);
    } else if (!NT_SUCCESS(Status)) {
        BaseFail(Context, "read the file of prefixes", Name, Status);
    }

    return Status;
}


//
// Reads a file of prefixes.
// Path: the file's, as it was given.
// Name: the same in UTF-8.
// PrefixFile: the file, allocated; NULL on failure.
// Returns STATUS_SUCCESS or what failed, which has been written.
//

_Must_inspect_result_
static
NTSTATUS
FunctionReadPrefixFile(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _In_z_ PCSZ Name,
    _Outptr_ PREADER_PREFIX_FILE *PrefixFile
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING NtPath;
    ULONGLONG SizeInBytes;
    HANDLE Handle = NULL;
    PREADER_PREFIX_FILE File = NULL;
    PCSZ Step = "find the file of prefixes";
    ULONG Read;
    NTSTATUS Status;

    *PrefixFile = NULL;
    Status = BaseMakeNtPath(Context, Path, &NtPath);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Step = "open the file of prefixes";
    Status = RtlOpenFileForReading(Context->Rtl, &NtPath, &Handle);
    if (!NT_SUCCESS(Status)) {
        Handle = NULL;
        goto End;
    }

    Step = "read the file of prefixes";
    Status = RtlQueryFileSize(Context->Rtl, Handle, &SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (SizeInBytes > READER_MAXIMUM_PREFIX_FILE) {
        Status = STATUS_FILE_TOO_LARGE;
        goto End;
    }

    File = (PREADER_PREFIX_FILE)
        Allocator->Allocate(Allocator->Context,
                            sizeof(READER_PREFIX_FILE) + (SIZE_T)SizeInBytes);
    if (File == NULL) {
        Status = STATUS_NO_MEMORY;
        goto End;
    }

    //
    // The file may have become shorter meanwhile.
    //

    while (File->SizeInBytes < SizeInBytes) {

        Status = RtlReadFile(Context->Rtl,
                             Handle,
                             File->SizeInBytes,
                             File->Bytes + File->SizeInBytes,
                             (ULONG)SizeInBytes - File->SizeInBytes,
                             &Read);
        if (Status == STATUS_END_OF_FILE || (NT_SUCCESS(Status) && Read == 0)) {
            Status = STATUS_SUCCESS;
            break;
        }

        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        File->SizeInBytes += Read;
    }

    *PrefixFile = File;
    File = NULL;

End:

    if (Handle != NULL) {
        RtlClose(Context->Rtl, Handle);
    }

    Allocator->Free(Allocator->Context, File);
    Allocator->Free(Allocator->Context, NtPath.Buffer);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context, Step, Name, Status);
    }

    return Status;
}


//
// Adds the prefixes of a file.
// IsExclude: whether they are of --exclude.
// Path, Name: the file's path as it was given, in UTF-16 and UTF-8.
// Returns STATUS_SUCCESS or what failed, which has been written.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddPrefixFile(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_FILTER Filter,
    _In_ BOOLEAN IsExclude,
    _In_z_ PCWSTR Path,
    _In_z_ PCSZ Name
    )
{
    PREADER_PREFIX_FILE File;
    ULONG Before = Filter->NumberOfItems;
    NTSTATUS Status;

    Status = FunctionReadPrefixFile(Context, Path, Name, &File);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    File->Next = Filter->Files;
    Filter->Files = File;
    Status = FunctionAddLines(Context, Filter, IsExclude, File, Name);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // Nothing to exclude is nothing excluded.  But without a function to show
    // everything would be shown.
    //

    if (!IsExclude && Filter->NumberOfItems == Before) {
        RtlWriteText(Context->Errors,
                     "TraceReader: read the file of prefixes: %T: there is "
                     "no prefix in it\n",
                     Name);
        RtlFlushWriter(Context->Errors);
        return STATUS_NOT_FOUND;
    }

    return STATUS_SUCCESS;
}


//
// Finds the end of an item of a list: the comma behind it, or the list's end.
//

static
ULONG
FunctionFindItemEnd(
    _In_reads_bytes_(LengthInBytes) const CHAR *List,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Start
    )
{
    ULONG End = Start;

    while (End < LengthInBytes && (List[End] == ' ' || List[End] == '\t')) {
        End += 1;
    }

    End += End < LengthInBytes && List[End] == '-';
    if (End < LengthInBytes && List[End] == '/') {
        End = FunctionFindExpressionEnd(List, LengthInBytes, End);
        End = End != 0 ? End : Start;
    }

    while (End < LengthInBytes && List[End] != ',') {
        End += 1;
    }

    return End;
}


//
// Adds the prefixes of an argument, which commas separate. Empty ones are
// passed over.
// IsExclude: whether they are of --exclude.
// List: the argument; the filter points into it.
// IsBadValue: whether it is no such list.
// Returns STATUS_SUCCESS or what failed; without IsBadValue it has been
// written.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddList(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_FILTER Filter,
    _In_ BOOLEAN IsExclude,
    _In_z_ PCSZ List,
    _Out_ PBOOLEAN IsBadValue
    )
{
    ULONG Before = Filter->NumberOfItems;
    ULONG Length = RtlLengthOfString(List);
    ULONG Start = 0;
    ULONG End;
    ULONG Character;
    PCSZ Problem;
    NTSTATUS Status;

    for (;;) {

        End = FunctionFindItemEnd(List, Length, Start);
        Status = FunctionAddItem(Filter,
                                 IsExclude,
                                 List + Start,
                                 End - Start,
                                 &Problem,
                                 &Character);
        if (!NT_SUCCESS(Status) || End >= Length) {
            break;
        }

        Start = End + 1;
    }

    *IsBadValue = FALSE;
    if (Status == STATUS_INVALID_PARAMETER && Character != 0) {
        RtlWriteText(Context->Errors, "TraceReader: the pattern ");
        RtlWriteCleanText(Context->Errors, List + Start, End - Start);
        RtlWriteText(Context->Errors,
                     ", character %u: %s\n",
                     Character,
                     Problem);
        RtlFlushWriter(Context->Errors);
        return Status;
    }

    if (NT_SUCCESS(Status) && Filter->NumberOfItems == Before) {
        Status = STATUS_INVALID_PARAMETER;
    }

    *IsBadValue = (BOOLEAN)(Status == STATUS_INVALID_PARAMETER);
    if (!NT_SUCCESS(Status) && !*IsBadValue) {
        BaseFail(Context, "take the prefixes", List, Status);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
FunctionAddPrefixes(
    PCREADER_CONTEXT Context,
    PREADER_FILTER *Filter,
    BOOLEAN IsExclude,
    PCWSTR Value,
    PCSZ ValueUtf8,
    PBOOLEAN IsBadValue
    )
{
    PCALLOCATOR Allocator = Context->Allocator;

    *IsBadValue = FALSE;
    if (*Filter == NULL) {

        *Filter = (PREADER_FILTER)
            Allocator->Allocate(Allocator->Context, sizeof(READER_FILTER));
        if (*Filter == NULL) {
            BaseFail(Context,
                     "take the prefixes",
                     ValueUtf8,
                     STATUS_NO_MEMORY);
            return STATUS_NO_MEMORY;
        }

        (*Filter)->Allocator = Allocator;
    }

    if (ValueUtf8[0] != '@') {
        return FunctionAddList(Context,
                               *Filter,
                               IsExclude,
                               ValueUtf8,
                               IsBadValue);
    }

    if (ValueUtf8[1] == 0) {
        *IsBadValue = TRUE;
        return STATUS_INVALID_PARAMETER;
    }

    return FunctionAddPrefixFile(Context,
                                 *Filter,
                                 IsExclude,
                                 Value + 1,
                                 ValueUtf8 + 1);
}


//
// Frees what is needed only until there is a table.
//

static
VOID
FunctionFreePrefixes(
    _Inout_ PREADER_FILTER Filter
    )
{
    PCALLOCATOR Allocator = Filter->Allocator;
    PREADER_PREFIX_FILE File;

    while (Filter->Files != NULL) {
        File = Filter->Files;
        Filter->Files = File->Next;
        Allocator->Free(Allocator->Context, File);
    }

    Allocator->Free(Allocator->Context, Filter->Prefixes);
    Filter->Prefixes = NULL;
    Filter->CapacityOfPrefixes = 0;
}


_Use_decl_annotations_
BOOLEAN
FunctionBuildFilter(
    PCREADER_CONTEXT Context,
    PREADER_FILTER Filter
    )
{
    STRING_TABLE_ALLOCATOR Allocator;
    ULONGLONG Start;
    NTSTATUS Status;

    if (Filter == NULL) {
        return TRUE;
    }

    Status = FunctionQualifiedBuild(Filter->Qualified);
    if (NT_SUCCESS(Status) && Filter->NumberOfPrefixes != 0) {

        Allocator.Context = Filter->Allocator->Context;
        Allocator.Allocate = Filter->Allocator->Allocate;
        Allocator.Free = Filter->Allocator->Free;
        Start = FunctionReadMicroseconds(Context->Rtl);
        Status = StringTableCreate(&Allocator,
                                   StringTableQueryInstructions(),
                                   0,
                                   Filter->Prefixes,
                                   Filter->NumberOfPrefixes,
                                   &Filter->Table,
                                   NULL);
        Filter->BuildMicroseconds =
            FunctionReadMicroseconds(Context->Rtl) - Start;
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "make a table of the prefixes",
                 "--function, --exclude",
                 Status);
        return FALSE;
    }

    FunctionFreePrefixes(Filter);
    return TRUE;
}


_Use_decl_annotations_
VOID
FunctionDestroyFilter(
    PREADER_FILTER Filter
    )
{
    PCALLOCATOR Allocator;
    ULONG Index;

    if (Filter == NULL) {
        return;
    }

    Allocator = Filter->Allocator;
    for (Index = 0; Index < Filter->NumberOfPatterns; Index++) {
        FunctionDestroyPattern(Filter->Patterns[Index].Pattern);
    }

    FunctionQualifiedDestroy(Filter->Qualified);
    StringTableDestroy(Filter->Table);
    Allocator->Free(Allocator->Context, Filter->Patterns);
    FunctionFreePrefixes(Filter);
    Allocator->Free(Allocator->Context, Filter->IsExclude);
    Allocator->Free(Allocator->Context, Filter);
}


//
// Do the patterns say anything of a function?
// IsExcluded: one of them excludes it.
//

static
BOOLEAN
FunctionAskPatterns(
    _In_ PCREADER_FILTER Filter,
    _In_ PCREADER_FUNCTION Function,
    _Out_ PBOOLEAN IsExcluded
    )
{
    const READER_FILTER_PATTERN *Pattern;
    BOOLEAN IsMeant = FALSE;
    ULONG Index;

    *IsExcluded = FALSE;
    for (Index = 0; Index < Filter->NumberOfPatterns; Index++) {

        Pattern = &Filter->Patterns[Index];
        if ((!IsMeant || Pattern->IsExclude) &&
            FunctionMatchPattern(Pattern->Pattern,
                                 Function->FullName,
                                 Function->FullLength)) {
            IsMeant = TRUE;
            if (Pattern->IsExclude) {
                *IsExcluded = TRUE;
                break;
            }
        }
    }

    return IsMeant;
}


//
// Decides about a function.
// Filter: the filter; NULL shows all.
//

static
VOID
FunctionDecide(
    _In_opt_ PCREADER_FILTER Filter,
    _Inout_ PREADER_FUNCTION Function
    )
{
    BOOLEAN IsExcluded;
    BOOLEAN IsQualifiedExcluded;
    BOOLEAN IsQualified;
    BOOLEAN IsMeant;
    ULONG Prefix = STRING_TABLE_NOT_FOUND;
    ULONG Skip;

    Function->IsExcluded = FALSE;
    Function->IsShown = Filter == NULL || !Filter->HasFunctions;
    if (Filter == NULL) {
        return;
    }

    IsMeant = FunctionAskPatterns(Filter, Function, &IsExcluded);
    if (Filter->Table != NULL && !IsExcluded) {

        Skip = FunctionSkipReturnType(Function->FullName, Function->FullLength);
        Prefix = StringTableSearch(Filter->Table,
                                   Function->FullName + Skip,
                                   Function->FullLength - Skip);
        if (Prefix == STRING_TABLE_NOT_FOUND && Skip != 0) {
            Prefix = StringTableSearch(Filter->Table,
                                       Function->FullName,
                                       Function->FullLength);
        }
    }

    if (Prefix != STRING_TABLE_NOT_FOUND) {
        IsMeant = TRUE;
        IsExcluded = Filter->IsExclude[Prefix];
    }

    //
    // Of what says something with a module and without the one that excludes
    // decides.
    //

    IsQualified = FunctionQualifiedAsk(Filter->Qualified,
                                       Function,
                                       &IsQualifiedExcluded);
    if (IsQualified) {
        IsExcluded = (IsMeant && IsExcluded) || IsQualifiedExcluded;
        IsMeant = TRUE;
    } else if (!IsMeant && Filter->HasRest) {
        IsMeant = TRUE;
        IsExcluded = Filter->IsRestExcluded;
    }

    if (IsMeant) {
        Function->IsExcluded = IsExcluded;
        Function->IsShown = !IsExcluded;
    }
}


_Use_decl_annotations_
VOID
FunctionFilterFunctions(
    PREADER_FUNCTIONS Functions,
    PCREADER_FILTER Filter
    )
{
    PCRTL Rtl = Functions->Session->Context->Rtl;
    ULONGLONG Start = 0;

    FunctionGiveShortNames(Functions);
    if (Functions->NumberOfDecided == Functions->NumberOfFunctions) {
        return;
    }

    if (Filter != NULL) {
        Start = FunctionReadMicroseconds(Rtl);
    }

    for (;
         Functions->NumberOfDecided < Functions->NumberOfFunctions;
         Functions->NumberOfDecided++) {

        Functions->NumberOfDecisions += 1;
        FunctionDecide(Filter,
                       &Functions->Functions[Functions->NumberOfDecided]);
    }

    if (Filter != NULL) {
        Functions->FilterMicroseconds += FunctionReadMicroseconds(Rtl) - Start;
    }
}


//
// What is deeper than --depth is never made a node.
//

static
VOID
FunctionPutLimits(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_NOT_SHOWN NotShown
    )
{
    PRTL_WRITER Writer = Output->Writer;

    if (Output->Format == ReaderFormatText) {

        if (NotShown->ShortNodes != 0) {
            RtlWriteText(Writer,
                         "Not shown (--min-duration): %llu node%s, %llu "
                         "call%s.\n",
                         NotShown->ShortNodes,
                         NotShown->ShortNodes == 1 ? "" : "s",
                         NotShown->ShortCalls,
                         NotShown->ShortCalls == 1 ? "" : "s");
        } else if (NotShown->ShortCalls != 0) {
            RtlWriteText(Writer,
                         "Not shown (--min-duration): %llu call%s.\n",
                         NotShown->ShortCalls,
                         NotShown->ShortCalls == 1 ? "" : "s");
        }

        if (NotShown->DeepCalls != 0) {
            RtlWriteText(Writer,
                         "Not shown (--depth): %llu call%s.\n",
                         NotShown->DeepCalls,
                         NotShown->DeepCalls == 1 ? "" : "s");
        }

    } else if (Output->Format == ReaderFormatJson) {

        OutputBeginTable(Output, &ReaderLimitsTable, 0);
        OutputPutNumber(Output, NotShown->ShortCalls);
        if (NotShown->AreNodes) {
            OutputPutNumber(Output, NotShown->ShortNodes);
            OutputPutNothing(Output);
        } else {
            OutputPutNothing(Output);
            OutputPutNumber(Output, NotShown->DeepCalls);
        }

        OutputEndTable(Output);
    }
}


_Use_decl_annotations_
VOID
FunctionPutNotShown(
    PREADER_OUTPUT Output,
    PCREADER_FILTER Filter,
    PCREADER_NOT_SHOWN NotShown
    )
{
    PCSZ Unit = NotShown->AreNodes ? "node" : "function";

    if (NotShown->HasLimits) {
        FunctionPutLimits(Output, NotShown);
    }

    if (Filter == NULL) {
        return;
    }

    switch (Output->Format) {

    case ReaderFormatText:
        RtlWriteText(Output->Writer,
                     "Not shown (--function, --exclude): %llu %s%s, %llu "
                     "call%s.\n",
                     NotShown->Rows,
                     Unit,
                     NotShown->Rows == 1 ? "" : "s",
                     NotShown->Calls,
                     NotShown->Calls == 1 ? "" : "s");
        break;

    case ReaderFormatJson:
        OutputBeginTable(Output,
                         NotShown->AreNodes ? &ReaderNodesNotShownTable
                                            : &ReaderNotShownTable,
                         0);
        OutputPutNumber(Output, NotShown->Rows);
        OutputPutNumber(Output, NotShown->Calls);
        OutputEndTable(Output);
        break;

    default:
        break;
    }
}


_Use_decl_annotations_
ULONG
FunctionEndFilter(
    PCREADER_CONTEXT Context,
    PCREADER_FILTER Filter,
    const READER_FUNCTIONS *Functions,
    ULONGLONG NumberShown,
    PCREADER_NOT_SHOWN NotShown,
    ULONG ExitCode
    )
{
    ULONG Index;

    for (Index = 0;
         Filter != NULL && Functions != NULL && Index < Filter->NumberOfGiven;
         Index++) {
        FunctionNoteNear(Functions, Filter->Given[Index]);
    }

    if (Filter == NULL || NumberShown != 0 || NotShown->Rows == 0) {
        return ExitCode;
    }

    RtlWriteText(Context->Errors,
                 "TraceReader: %s (prefixes are compared with full names, "
                 "with the same case and without the module)\n",
                 Filter->HasFunctions
                     ? "--function and --exclude leave no function"
                     : "--exclude leaves no function");
    RtlFlushWriter(Context->Errors);
    return ExitCode == READER_EXIT_SUCCESS ? READER_EXIT_NOTHING : ExitCode;
}


_Use_decl_annotations_
VOID
FunctionPutFilterCost(
    const READER_FUNCTIONS *Functions,
    PCREADER_FILTER Filter
    )
{
    PRTL_WRITER Errors = Functions->Session->Context->Errors;

    if (Filter == NULL) {
        return;
    }

    RtlWriteText(Errors,
                 "TraceReader: filter: %u prefixes in a table in %llu us; "
                 "%llu functions decided in %llu us (%s)\n",
                 Filter->NumberOfPrefixes,
                 Filter->BuildMicroseconds,
                 Functions->NumberOfDecisions,
                 Functions->FilterMicroseconds,
                 Filter->Table != NULL ? StringTableVariant(Filter->Table)
                                       : "no prefixes");
    if (Filter->NumberOfPatterns != 0) {
        RtlWriteText(Errors,
                     "TraceReader: filter: %u patterns beside the prefixes\n",
                     Filter->NumberOfPatterns);
    }

    RtlFlushWriter(Errors);
}
