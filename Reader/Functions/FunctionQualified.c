/*++

Module Name:

    FunctionQualified.c

Abstract:

    What --function and --exclude say with a module.  All is compared in small
    letters; a function has two names here, with its module's extension and
    without.

--*/

#include "../../StringTable/StringTable.h"
#include "FunctionQualified.h"

typedef struct _READER_QUALIFIED_PATTERN {
    PREADER_PATTERN Pattern;
    BOOLEAN IsExclude;
} READER_QUALIFIED_PATTERN;
typedef READER_QUALIFIED_PATTERN *PREADER_QUALIFIED_PATTERN;

typedef struct _READER_QUALIFIED {
    PCALLOCATOR Allocator;
    PSTRING_TABLE_PREFIX Prefixes;  // allocated, each; until there is a table
    ULONG CapacityOfPrefixes;
    PUCHAR IsExclude;               // by prefix
    PULONG Lengths;                 // likewise, bytes
    ULONG CapacityOfIsExclude;
    ULONG CapacityOfLengths;
    ULONG NumberOfPrefixes;
    PREADER_QUALIFIED_PATTERN Patterns;
    ULONG CapacityOfPatterns;
    ULONG NumberOfPatterns;
    PSTRING_TABLE Table;            // NULL: not yet
    PCHAR Name;                     // the one that is looked at
    ULONG CapacityOfName;
} READER_QUALIFIED;


static
CHAR
FunctionQualifiedFold(
    _In_ CHAR Letter
    )
{
    return Letter >= 'A' && Letter <= 'Z' ? (CHAR)(Letter | 0x20) : Letter;
}


static
VOID
FunctionQualifiedCopy(
    _Out_writes_bytes_(LengthInBytes) PCHAR Buffer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        Buffer[Index] = FunctionQualifiedFold(Text[Index]);
    }
}


//
// Where the first ! of a text is; LengthInBytes: there is none.
//

static
ULONG
FunctionQualifiedFindMark(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Mark = 0;

    while (Mark < LengthInBytes && Text[Mark] != '!') {
        Mark += 1;
    }

    return Mark;
}


_Use_decl_annotations_
BOOLEAN
FunctionQualifiedIsItem(
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    static const CHAR Operator[] = "operator";
    ULONG Mark = FunctionQualifiedFindMark(Text, LengthInBytes);
    ULONG Length = sizeof(Operator) - 1;
    ULONG Index;

    if (Mark == 0 || Mark == LengthInBytes ||
        (Mark >= Length &&
         RtlAreBytesEqual(Text + Mark - Length, Operator, Length))) {
        return FALSE;
    }

    for (Index = 0; Index < Mark; Index++) {
        switch (Text[Index]) {
        case ':':
        case '<':
        case '>':
        case '(':
        case ')':
        case '"':
        case '/':
        case '\\':
        case '|':
            return FALSE;
        default:
            break;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
FunctionQualifiedAdd(
    PCALLOCATOR Allocator,
    PREADER_QUALIFIED *List,
    BOOLEAN IsExclude,
    const CHAR *Text,
    ULONG LengthInBytes,
    READER_PATTERN_KIND Kind,
    PCSZ *Problem,
    PULONG Position
    )
{
    PREADER_QUALIFIED This = *List;
    PREADER_QUALIFIED_PATTERN Pattern;
    PCHAR Copy;
    NTSTATUS Status;

    *Problem = "";
    *Position = 0;
    if (This == NULL) {
        This = (PREADER_QUALIFIED)
            Allocator->Allocate(Allocator->Context, sizeof(READER_QUALIFIED));
        if (This == NULL) {
            return STATUS_NO_MEMORY;
        }

        This->Allocator = Allocator;
        *List = This;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&This->Prefixes,
                           &This->CapacityOfPrefixes,
                           This->NumberOfPrefixes + 1,
                           sizeof(STRING_TABLE_PREFIX));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&This->IsExclude,
                               &This->CapacityOfIsExclude,
                               This->NumberOfPrefixes + 1,
                               sizeof(UCHAR));
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&This->Lengths,
                               &This->CapacityOfLengths,
                               This->NumberOfPrefixes + 1,
                               sizeof(ULONG));
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&This->Patterns,
                               &This->CapacityOfPatterns,
                               This->NumberOfPatterns + 1,
                               sizeof(READER_QUALIFIED_PATTERN));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Copy = (PCHAR)Allocator->Allocate(Allocator->Context,
                                      (SIZE_T)LengthInBytes + 1);
    if (Copy == NULL) {
        return STATUS_NO_MEMORY;
    }

    FunctionQualifiedCopy(Copy, Text, LengthInBytes);
    if (Kind < ReaderPatternGlob) {

        This->Prefixes[This->NumberOfPrefixes].Buffer = Copy;
        This->Prefixes[This->NumberOfPrefixes].LengthInBytes = LengthInBytes;
        This->Lengths[This->NumberOfPrefixes] = LengthInBytes;
        This->IsExclude[This->NumberOfPrefixes] = IsExclude;
        This->NumberOfPrefixes += 1;
        return STATUS_SUCCESS;
    }

    Pattern = &This->Patterns[This->NumberOfPatterns];
    Status = FunctionCreatePattern(Allocator,
                                   Copy,
                                   LengthInBytes,
                                   Kind,
                                   &Pattern->Pattern,
                                   Problem,
                                   Position);
    if (NT_SUCCESS(Status)) {
        Pattern->IsExclude = IsExclude;
        This->NumberOfPatterns += 1;
    }

    Allocator->Free(Allocator->Context, Copy);
    return Status;
}


//
// Frees what is needed only until there is a table.
//

static
VOID
FunctionQualifiedFreePrefixes(
    _Inout_ PREADER_QUALIFIED List
    )
{
    PCALLOCATOR Allocator = List->Allocator;
    ULONG Index;

    for (Index = 0;
         List->Prefixes != NULL && Index < List->NumberOfPrefixes;
         Index++) {
        Allocator->Free(Allocator->Context,
                        (PVOID)List->Prefixes[Index].Buffer);
    }

    Allocator->Free(Allocator->Context, List->Prefixes);
    List->Prefixes = NULL;
    List->CapacityOfPrefixes = 0;
}


_Use_decl_annotations_
NTSTATUS
FunctionQualifiedBuild(
    PREADER_QUALIFIED List
    )
{
    STRING_TABLE_ALLOCATOR Allocator;
    NTSTATUS Status = STATUS_SUCCESS;

    if (List == NULL) {
        return STATUS_SUCCESS;
    }

    if (List->NumberOfPrefixes != 0) {
        Allocator.Context = List->Allocator->Context;
        Allocator.Allocate = List->Allocator->Allocate;
        Allocator.Free = List->Allocator->Free;
        Status = StringTableCreate(&Allocator,
                                   StringTableQueryInstructions(),
                                   0,
                                   List->Prefixes,
                                   List->NumberOfPrefixes,
                                   &List->Table,
                                   NULL);
    }

    FunctionQualifiedFreePrefixes(List);
    return Status;
}


_Use_decl_annotations_
VOID
FunctionQualifiedDestroy(
    PREADER_QUALIFIED List
    )
{
    PCALLOCATOR Allocator;
    ULONG Index;

    if (List == NULL) {
        return;
    }

    Allocator = List->Allocator;
    for (Index = 0; Index < List->NumberOfPatterns; Index++) {
        FunctionDestroyPattern(List->Patterns[Index].Pattern);
    }

    FunctionQualifiedFreePrefixes(List);
    StringTableDestroy(List->Table);
    Allocator->Free(Allocator->Context, List->Patterns);
    Allocator->Free(Allocator->Context, List->IsExclude);
    Allocator->Free(Allocator->Context, List->Lengths);
    Allocator->Free(Allocator->Context, List->Name);
    Allocator->Free(Allocator->Context, List);
}


_Use_decl_annotations_
const CHAR *
FunctionQualifiedSkipModule(
    PCREADER_FUNCTION Function,
    PULONG LengthInBytes
    )
{
    ULONG Skip;

    Skip = Function->IsStub
               ? FunctionQualifiedFindMark(Function->FullName,
                                           *LengthInBytes)
               : FunctionSkipReturnType(Function->FullName, *LengthInBytes);
    if (Function->IsStub && Skip < *LengthInBytes) {
        Skip += 1;
    }

    *LengthInBytes -= Skip;
    return Function->FullName + Skip;
}


//
// How long a module's name is without its extension.
//

static
ULONG
FunctionQualifiedMeasureStem(
    _In_ PCREADER_FUNCTION Function
    )
{
    ULONG Stem = Function->ModuleNameLength;

    while (Stem != 0 && Function->ModuleName[Stem - 1] != '.') {
        Stem -= 1;
    }

    return Stem > 1 ? Stem - 1 : Function->ModuleNameLength;
}


_Use_decl_annotations_
const CHAR *
FunctionQualifiedSplit(
    PCREADER_FUNCTION Function,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    ULONG Mark = FunctionQualifiedFindMark(Text, LengthInBytes);

    if (Mark == LengthInBytes ||
        (Mark != Function->ModuleNameLength &&
         Mark != FunctionQualifiedMeasureStem(Function)) ||
        !BaseIsTextAlike(Text, Mark, Function->ModuleName, Mark)) {
        return NULL;
    }

    return Text + Mark + 1;
}


//
// Asks about one of a function's two names.
// Longest: the longest prefix so far.
//

static
VOID
FunctionQualifiedAskName(
    _In_ PREADER_QUALIFIED List,
    _In_ ULONG LengthInBytes,
    _Inout_ PULONG Longest,
    _Inout_ PBOOLEAN IsPrefixExcluded,
    _Inout_ PBOOLEAN IsMeant,
    _Inout_ PBOOLEAN IsExcluded
    )
{
    ULONG Prefix;
    ULONG Index;

    if (List->Table != NULL) {
        Prefix = StringTableSearch(List->Table, List->Name, LengthInBytes);
        if (Prefix != STRING_TABLE_NOT_FOUND &&
            List->Lengths[Prefix] > *Longest) {
            *Longest = List->Lengths[Prefix];
            *IsPrefixExcluded = List->IsExclude[Prefix];
        }
    }

    for (Index = 0; Index < List->NumberOfPatterns; Index++) {
        if (FunctionMatchPattern(List->Patterns[Index].Pattern,
                                 List->Name,
                                 LengthInBytes)) {
            *IsMeant = TRUE;
            *IsExcluded |= List->Patterns[Index].IsExclude;
        }
    }
}


_Use_decl_annotations_
BOOLEAN
FunctionQualifiedAsk(
    PREADER_QUALIFIED List,
    PCREADER_FUNCTION Function,
    PBOOLEAN IsExcluded
    )
{
    ULONG Length = Function->FullLength;
    const CHAR *Name = FunctionQualifiedSkipModule(Function, &Length);
    ULONG Modules[2];
    ULONG Longest = 0;
    ULONG Index;
    BOOLEAN IsPrefixExcluded = FALSE;
    BOOLEAN IsMeant = FALSE;

    *IsExcluded = FALSE;
    if (List == NULL ||
        !NT_SUCCESS(BaseGrowArray(List->Allocator,
                                  (PVOID *)&List->Name,
                                  &List->CapacityOfName,
                                  Function->ModuleNameLength + 1 + Length,
                                  sizeof(CHAR)))) {
        return FALSE;
    }

    Modules[0] = FunctionQualifiedMeasureStem(Function);
    Modules[1] = Function->ModuleNameLength;
    for (Index = 0; Index < 2; Index++) {

        FunctionQualifiedCopy(List->Name,
                              Function->ModuleName,
                              Modules[Index]);
        List->Name[Modules[Index]] = '!';
        FunctionQualifiedCopy(List->Name + Modules[Index] + 1, Name, Length);
        FunctionQualifiedAskName(List,
                                 Modules[Index] + 1 + Length,
                                 &Longest,
                                 &IsPrefixExcluded,
                                 &IsMeant,
                                 IsExcluded);
        if (Modules[0] == Modules[1]) {
            break;
        }
    }

    if (Longest != 0 && !*IsExcluded) {
        IsMeant = TRUE;
        *IsExcluded = IsPrefixExcluded;
    }

    return IsMeant;
}
