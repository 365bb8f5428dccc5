/*++

Module Name:

    ExportHtmlData.c

Abstract:

    Names and numbers as the page of the HTML export reads them: JSON for
    texts; numbers in sevens of bits, the lowest first, with the eighth set
    where more follow, as base64.  Each part is the text of a script element
    whose type is none that a browser runs.

--*/

#include "../Functions/FunctionLine.h"
#include "../Functions/FunctionWaits.h"
#include "../Sums/SumPutStatistics.h"
#include "ExportHtml.h"

//
// The source files of functions, by where their names are, and by a hash of the
// names: each part of a program that has been compiled has its own names.
//

typedef struct _READER_HTML_FILES {
    READER_MAP Numbers;
    READER_MAP Names;
    PREADER_SOURCE_LINE Files;
    ULONG Capacity;
    ULONG Count;
    ULONGLONG Room;                 // bytes for names
} READER_HTML_FILES;
typedef READER_HTML_FILES *PREADER_HTML_FILES;

static const CHAR ReaderBase64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";


static
VOID
ExportPutHtmlByte(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONG Byte
    )
{
    CHAR Four[4];

    Bytes->NumberOfBytes += 1;
    if (Bytes->Writer == NULL) {
        return;
    }

    Bytes->Pending = (Bytes->Pending << 8) | Byte;
    Bytes->NumberPending += 1;
    if (Bytes->NumberPending == 3) {
        Four[0] = ReaderBase64[(Bytes->Pending >> 18) & 63];
        Four[1] = ReaderBase64[(Bytes->Pending >> 12) & 63];
        Four[2] = ReaderBase64[(Bytes->Pending >> 6) & 63];
        Four[3] = ReaderBase64[Bytes->Pending & 63];
        RtlWriteBytes(Bytes->Writer, Four, 4);
        Bytes->Pending = 0;
        Bytes->NumberPending = 0;
    }
}


//
// Writes what is left, up to a whole number of three bytes: the reader knows
// how many there are.
//

static
VOID
ExportEndHtmlBytes(
    _Inout_ PREADER_HTML_BYTES Bytes
    )
{
    while (Bytes->NumberPending != 0) {
        ExportPutHtmlByte(Bytes, 0);
    }
}


static
VOID
ExportPutHtmlNumber(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONGLONG Number
    )
{
    while (Number >= 0x80) {
        ExportPutHtmlByte(Bytes, (ULONG)(Number & 0x7F) | 0x80);
        Number >>= 7;
    }

    ExportPutHtmlByte(Bytes, (ULONG)Number);
}


//
// Writes a number as its difference to another one: the sign is the lowest
// bit.
// Number: the number, below 2^62.
// Previous: the other one, likewise.
//

static
VOID
ExportPutHtmlDifference(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONGLONG Number,
    _In_ ULONGLONG Previous
    )
{
    ExportPutHtmlNumber(Bytes,
                        Number >= Previous
                            ? (Number - Previous) << 1
                            : ((Previous - Number) << 1) | 1);
}


_Use_decl_annotations_
ULONGLONG
ExportConvertHtmlTime(
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks
    )
{
    ULONGLONG Value;

    if (Clock->Kind == TRACE_CLOCK_NONE) {
        return 0;
    }

    (VOID)CoreTicksToNanoseconds(Clock, Ticks, &Value);
    return Value - Value % CoreQueryGranularity(Clock);
}


//
// Writes the numbers of a function or node; those that are rare, only where
// there are any.
// Clock: for times.
//

static
VOID
ExportPutHtmlStatistics(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ PCCORE_CLOCK Clock,
    _In_ PCREADER_STATISTICS Statistics
    )
{
    BOOLEAN IsRare = Statistics->Abandoned != 0 ||
                     Statistics->Unfinished != 0 ||
                     Statistics->Uncertain != 0 ||
                     Statistics->BegunBefore != 0;

    ExportPutHtmlNumber(Bytes, (Statistics->Calls << 1) | IsRare);
    ExportPutHtmlNumber(Bytes,
                        ExportConvertHtmlTime(Clock,
                                              Statistics->TotalTicks));
    ExportPutHtmlNumber(Bytes,
                        ExportConvertHtmlTime(Clock, Statistics->SelfTicks));
    ExportPutHtmlNumber(
        Bytes,
        ExportConvertHtmlTime(Clock, CoreQueryAverage(Statistics)));
    ExportPutHtmlNumber(Bytes,
                        ExportConvertHtmlTime(Clock,
                                              Statistics->MinimumTicks));
    ExportPutHtmlNumber(Bytes,
                        ExportConvertHtmlTime(Clock,
                                              Statistics->MaximumTicks));
    if (IsRare) {
        ExportPutHtmlNumber(Bytes, Statistics->Abandoned);
        ExportPutHtmlNumber(
            Bytes,
            ExportConvertHtmlTime(Clock, Statistics->AbandonedTicks));
        ExportPutHtmlNumber(Bytes, Statistics->Unfinished);
        ExportPutHtmlNumber(Bytes, Statistics->Uncertain);
        ExportPutHtmlNumber(Bytes, Statistics->BegunBefore);
    }
}


_Use_decl_annotations_
VOID
ExportPutHtmlText(
    PRTL_WRITER Writer,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    ULONG Begin = 0;
    ULONG CodePoint;
    ULONG Index = 0;
    ULONG Length;

    RtlWriteText(Writer, "\"");
    while (Index < LengthInBytes) {

        Length = RtlDecodeUtf8(Text + Index, LengthInBytes - Index,
                               &CodePoint);
        if (!RtlIsPrintable(CodePoint)) {
            CodePoint = 0xFFFD;
        }

        if (CodePoint != '"' && CodePoint != '\\' &&
            CodePoint != '<' && CodePoint != '>' && CodePoint != '&' &&
            CodePoint != 0xFFFD) {
            Index += Length;
            continue;
        }

        RtlWriteBytes(Writer, Text + Begin, Index - Begin);
        RtlWriteText(Writer, "\\u%04x", CodePoint);
        Index += Length;
        Begin = Index;
    }

    RtlWriteBytes(Writer, Text + Begin, LengthInBytes - Begin);
    RtlWriteText(Writer, "\"");
}


_Use_decl_annotations_
ULONGLONG
ExportMeasureHtmlText(
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    ULONGLONG Size = 2;
    ULONG Index;

    //
    // A byte that is not ASCII is one of a character that stays or, at worst,
    // becomes one of six bytes.
    //

    for (Index = 0; Index < LengthInBytes; Index++) {

        CHAR Byte = Text[Index];

        Size += (Byte >= 'a' && Byte <= 'z') || (Byte >= 'A' && Byte <= 'Z') ||
                        (Byte >= '0' && Byte <= '9') || Byte == '_' ||
                        Byte == ':' || Byte == ',' || Byte == ' '
                    ? 1
                    : 6;
    }

    return Size;
}


//
// Orders functions by total time, then as they were met.
// CompareContext: the export.
// Returns negative, zero or positive.
//

static
LONG
ExportCompareHtmlFunctions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_HTML Html = (PREADER_HTML)CompareContext;
    LONG Order;

    Order = SumCompareStatistics(&Html->Functions[First].Statistics,
                                 &Html->Functions[Second].Statistics,
                                 ReaderSortTotal);
    if (Order == 0) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Use_decl_annotations_
NTSTATUS
ExportGrowHtmlFunctions(
    PREADER_HTML Html
    )
{
    const READER_FUNCTIONS *Functions = &Html->Export->Functions;
    PREADER_HTML_FUNCTION This;
    ULONGLONG Key;
    NTSTATUS Status;

    Status = BaseGrowArray(Html->Export->Context->Allocator,
                           (PVOID *)&Html->Functions,
                           &Html->CapacityOfFunctions,
                           Functions->NumberOfFunctions,
                           sizeof(READER_HTML_FUNCTION));
    while (NT_SUCCESS(Status) &&
           Html->NumberKnown < Functions->NumberOfFunctions) {

        This = &Html->Functions[Html->NumberKnown];
        Key = READER_HTML_KEY(&Functions->Functions[Html->NumberKnown]);
        if (!BaseFindInMap(&Html->Alike, Key, &This->Alike)) {
            This->Alike = Html->NumberKnown;
            Status = BaseAddToMap(&Html->Alike, Key, Html->NumberKnown);
        }

        Html->NumberKnown += 1;
    }

    return Status;
}


//
// Numbers the imports that were called by who called them.
//

static
VOID
ExportNumberHtmlImports(
    _Inout_ PREADER_HTML Html
    )
{
    const READER_FUNCTIONS *Functions = &Html->Export->Functions;
    PREADER_HTML_FUNCTION This;
    ULONG Index;

    for (Index = 0; Index < Html->Tree.NumberOfNodes; Index++) {
        if (Html->Tree.Nodes[Index].Function != READER_NONE &&
            Html->Tree.Nodes[Index].Statistics.Calls != 0) {
            Html->Functions[Html->Tree.Nodes[Index].Function].IsCalled = TRUE;
        }
    }

    for (Index = 0; Index < Html->NumberKnown; Index++) {

        This = &Html->Functions[Index];
        This->Import = READER_NONE;
        if (This->IsCalled && Functions->Functions[Index].Importer != 0 &&
            Html->Functions[This->Alike].Index != READER_NONE &&
            Html->NumberOfImports < READER_HTML_MAXIMUM_FUNCTIONS) {
            This->Import = Html->NumberOfImports;
            Html->NumberOfImports += 1;
        }
    }
}


_Use_decl_annotations_
NTSTATUS
ExportChooseHtmlFunctions(
    PREADER_HTML Html
    )
{
    PREADER_FUNCTIONS Functions = &Html->Export->Functions;
    PREADER_HTML_FUNCTION Each;
    ULONGLONG Sum;
    ULONG Capacity = 0;
    ULONG Count = Functions->NumberOfFunctions;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Html->Export->Context->Allocator,
                           (PVOID *)&Html->Order,
                           &Capacity,
                           Count,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Status = ExportGrowHtmlFunctions(Html);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    FunctionFilterFunctions(Functions, Html->Export->Options->Filter);
    for (Index = 0; Index < Count; Index++) {

        Each = &Html->Functions[Index];
        Each->Index = READER_NONE;
        if (Each->Statistics.Calls == 0) {
            continue;
        }

        if (!Functions->Functions[Index].IsShown) {
            Html->FunctionsNotShown += 1;
            Html->CallsNotShown += Each->Statistics.Calls;
            continue;
        }

        Html->Order[Html->NumberOfFunctions] = Index;
        Html->NumberOfFunctions += 1;
    }

    BaseSort(Html->Order,
             Html->NumberOfFunctions,
             ExportCompareHtmlFunctions,
             Html);

    if (Html->NumberOfFunctions > READER_HTML_MAXIMUM_FUNCTIONS) {
        Html->FunctionsLeftOut =
            Html->NumberOfFunctions - READER_HTML_MAXIMUM_FUNCTIONS;
        Html->NumberOfFunctions = READER_HTML_MAXIMUM_FUNCTIONS;
    }

    for (Index = 0; Index < Html->NumberOfFunctions; Index++) {
        Html->Functions[Html->Order[Index]].Index = Index;
    }

    ExportNumberHtmlImports(Html);

    //
    // Names share a fixed room.
    //

    Html->LongestName = 0x10000;
    do {
        Html->LongestName /= 2;
        Sum = 0;
        for (Index = 0; Index < Html->NumberOfFunctions; Index++) {
            Count = Functions->Functions[Html->Order[Index]].NameLength;
            Sum += ExportMeasureHtmlText(
                Functions->Functions[Html->Order[Index]].Name,
                Count < Html->LongestName ? Count : Html->LongestName);
        }
    } while (Sum > READER_HTML_MAXIMUM_NAMES && Html->LongestName > 16);

    return STATUS_SUCCESS;
}


//
// Finds a function's index in the file.
// Html: the export.
// Returns the index; the number of functions stands for all that are not
// written.  Behind that come imports by who called them.
//

static
ULONG
ExportQueryHtmlFunction(
    _In_ PCREADER_HTML Html,
    _In_ ULONG Function
    )
{
    const READER_HTML_FUNCTION *This = &Html->Functions[Function];
    ULONG Index = Html->Functions[This->Alike].Index;

    return Index == READER_NONE          ? Html->NumberOfFunctions
           : This->Import == READER_NONE ? Index
                                         : Html->NumberOfFunctions + 1 +
                                               This->Import;
}


//
// Finds a file whose name is somewhere else, too.
// Hash: receives that of the name, for Files->Names.
//

static
BOOLEAN
ExportFindHtmlFile(
    _In_ const READER_HTML_FILES *Files,
    _In_ const READER_SOURCE_LINE *Line,
    _Out_ PULONGLONG Hash,
    _Out_ PULONG File
    )
{
    ULONG Index;

    *Hash = 0xCBF29CE484222325ULL;
    for (Index = 0; Index < Line->LengthInBytes; Index++) {
        *Hash = (*Hash ^ (UCHAR)Line->FileName[Index]) * 0x100000001B3ULL;
    }

    return BaseFindInMap(&Files->Names, *Hash, File) &&
           Files->Files[*File].LengthInBytes == Line->LengthInBytes &&
           RtlAreBytesEqual(Files->Files[*File].FileName,
                            Line->FileName,
                            Line->LengthInBytes);
}


//
// Finds where a function begins, and gives its file a number.
// Html: the export.
// Files: the files so far.
// Returns FALSE if it is not known, or there is no room for the file's name.
//

static
BOOLEAN
ExportFindHtmlLine(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_FILES Files,
    _In_ PCREADER_FUNCTION Function,
    _Out_ PULONG File,
    _Out_ PULONG LineNumber
    )
{
    READER_SESSION *Session = &Html->Export->Session;
    READER_SOURCE_LINE Line;
    ULONGLONG Key;
    ULONGLONG Hash;
    ULONGLONG Size;
    ULONG Other;
    NTSTATUS Status;

    if (!FunctionFindLine(Session,
                          ((ULONGLONG)Function->Module << 32) | Function->Rva,
                          &Line)) {
        return FALSE;
    }

    *LineNumber = Line.LineNumber;
    Key = (ULONGLONG)(ULONG_PTR)Line.FileName;
    if (BaseFindInMap(&Files->Numbers, Key, File)) {
        return TRUE;
    }

    if (ExportFindHtmlFile(Files, &Line, &Hash, File)) {
        return NT_SUCCESS(BaseAddToMap(&Files->Numbers, Key, *File));
    }

    Size = ExportMeasureHtmlText(Line.FileName, Line.LengthInBytes);
    if (Size > Files->Room) {
        return FALSE;
    }

    Status = BaseGrowArray(Html->Export->Context->Allocator,
                           (PVOID *)&Files->Files,
                           &Files->Capacity,
                           Files->Count + 1,
                           sizeof(READER_SOURCE_LINE));
    if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Files->Numbers, Key, Files->Count);
    }

    if (NT_SUCCESS(Status) && !BaseFindInMap(&Files->Names, Hash, &Other)) {
        Status = BaseAddToMap(&Files->Names, Hash, Files->Count);
    }

    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    *File = Files->Count;
    Files->Files[Files->Count] = Line;
    Files->Count += 1;
    Files->Room -= Size;
    return TRUE;
}


//
// Writes the functions: module, name, whether that was cut, and file and line
// if they are known; then the files.
// Html: the export.
//

static
VOID
ExportWriteHtmlNames(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    PCALLOCATOR Allocator = Html->Export->Context->Allocator;
    PREADER_FUNCTIONS Functions = &Html->Export->Functions;
    PCREADER_FUNCTION Function;
    READER_HTML_FILES Files;
    ULONG File;
    ULONG Index;
    ULONG Length;
    ULONG LineNumber;

    RtlZeroBytes(&Files, sizeof(Files));
    Files.Room = READER_HTML_MAXIMUM_OTHERS;
    BaseInitializeMap(&Files.Numbers, Allocator);
    BaseInitializeMap(&Files.Names, Allocator);

    RtlWriteText(Writer,
                 "<script type=\"application/json\" id=\"names\">[");
    for (Index = 0; Index < Html->NumberOfFunctions; Index++) {

        Function = &Functions->Functions[Html->Order[Index]];
        Length = Function->NameLength;
        if (Length > Html->LongestName) {
            Length = Html->LongestName;
            Length -= RtlIncompleteUtf8Tail(Function->Name, Length);
        }

        RtlWriteText(Writer, Index == 0 ? "[%u," : ",\n[%u,",
                     FunctionNumberModule(Functions, Function));
        ExportPutHtmlText(Writer, Function->Name, Length);
        RtlWriteText(Writer, ",%u", Length < Function->NameLength);
        if (ExportFindHtmlLine(Html, &Files, Function, &File, &LineNumber)) {
            RtlWriteText(Writer, ",%u,%u", File, LineNumber);
        }
        RtlWriteText(Writer, "]");
    }

    RtlWriteText(Writer,
                 "]</script>\n"
                 "<script type=\"application/json\" id=\"files\">[");
    for (Index = 0; Index < Files.Count; Index++) {
        RtlWriteText(Writer, Index == 0 ? "" : ",\n");
        ExportPutHtmlText(Writer,
                          Files.Files[Index].FileName,
                          Files.Files[Index].LengthInBytes);
    }

    RtlWriteText(Writer, "]</script>\n");
    Allocator->Free(Allocator->Context, Files.Files);
    BaseRundownMap(&Files.Numbers);
    BaseRundownMap(&Files.Names);
}


//
// Writes the functions' numbers.
// Html: the export.
//

static
VOID
ExportPutHtmlFunctions(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes
    )
{
    ULONG Index;

    for (Index = 0; Index < Html->NumberOfFunctions; Index++) {
        ExportPutHtmlStatistics(
            Bytes,
            &Html->Export->Session.Clock,
            &Html->Functions[Html->Order[Index]].Statistics);
    }

    ExportEndHtmlBytes(Bytes);
}


//
// Writes the merged tree: for each node how far back its parent is (0: it has
// none), its function and its numbers.
// Html: the export.
//

static
VOID
ExportPutHtmlTree(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes
    )
{
    PCREADER_HTML_TREE Merged = &Html->Merged;
    PCREADER_HTML_NODE Node;
    ULONG Index;

    for (Index = 0; Index < Merged->NumberOfNodes; Index++) {

        Node = &Merged->Nodes[Index];
        if (Node->Index == READER_NONE) {
            continue;
        }

        ExportPutHtmlNumber(
            Bytes,
            Node->Parent == READER_NONE
                ? 0
                : Node->Index - Merged->Nodes[Node->Parent].Index);
        ExportPutHtmlNumber(Bytes,
                            ExportQueryHtmlFunction(Html, Node->Function));
        ExportPutHtmlStatistics(Bytes,
                                &Html->Export->Session.Clock,
                                &Node->Statistics);
    }

    ExportEndHtmlBytes(Bytes);
}


//
// Writes a track's tree: which nodes of the merged one it has, and its numbers
// for them.
// Html: the export.
//

static
ULONG
ExportPutHtmlTrackTree(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONG Root
    )
{
    const READER_TREE *Tree = &Html->Tree;
    ULONGLONG Previous = 0;
    ULONG Count = 0;
    ULONG Index;
    ULONG Node;

    for (Node = SumNextNode(Tree, Root);
         Node != READER_NONE && Tree->Nodes[Node].Function != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        Index = Html->Merged.Nodes[Html->Merged.Merged[Node]].Index;
        if (Index == READER_NONE) {
            continue;
        }

        ExportPutHtmlDifference(Bytes, Index, Previous);
        ExportPutHtmlStatistics(Bytes,
                                &Html->Export->Session.Clock,
                                &Tree->Nodes[Node].Statistics);
        Previous = Index;
        Count += 1;
    }

    ExportEndHtmlBytes(Bytes);
    return Count;
}


_Use_decl_annotations_
ULONG
ExportCountHtmlNodes(
    PCREADER_HTML Html,
    ULONG Root
    )
{
    READER_HTML_BYTES Bytes;

    RtlZeroBytes(&Bytes, sizeof(Bytes));
    return ExportPutHtmlTrackTree(Html, &Bytes, Root);
}


//
// Writes a track's items: depth and kind together; where it begins, from the
// end of the one before; how long it is; its function. A block then has its
// calls, how much of its time they took, in 250ths, and by how much its
// function's part of that exceeds half of it at least, in hundredths.
//
// Html: the export.
//

static
VOID
ExportPutHtmlTrack(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ PCREADER_DETAIL_TRACK Track
    )
{
    PCCORE_CLOCK Clock = &Html->Export->Session.Clock;
    ULONGLONG First = Html->Export->Range.FirstTimestamp;
    ULONGLONG Previous = 0;
    ULONGLONG Start;
    ULONGLONG Length;
    PREADER_DETAIL_CHUNK Chunk;
    PCREADER_DETAIL_ITEM Item;
    ULONG Depth = 0;
    ULONG Index;
    BOOLEAN IsBlock;

    for (Chunk = Track->First; Chunk != NULL; Chunk = Chunk->Next) {
        for (Index = 0; Index < Chunk->NumberOfItems; Index++) {

            Item = &Chunk->Items[Index];
            IsBlock = (Item->Flags & READER_DETAIL_BLOCK) != 0;
            Start = ExportConvertHtmlTime(
                Clock,
                Item->Start > First ? Item->Start - First : 0);
            Length = ExportConvertHtmlTime(Clock, Item->End - Item->Start);

            ExportPutHtmlNumber(
                Bytes,
                Item->Flags |
                    (Item->Depth >= Depth
                         ? (ULONGLONG)(Item->Depth - Depth) << 6
                         : ((ULONGLONG)(Depth - Item->Depth) << 6) | 0x20));
            ExportPutHtmlDifference(Bytes, Start, Previous);
            ExportPutHtmlNumber(Bytes, Length);
            ExportPutHtmlNumber(
                Bytes,
                IsBlock ? ExportQueryHtmlFunction(Html, Item->Function)
                        : ExportQueryHtmlFunction(Html, Item->Called));
            if (IsBlock) {
                ExportPutHtmlNumber(Bytes, Item->Count);
                ExportPutHtmlNumber(
                    Bytes,
                    Item->End == Item->Start
                        ? 250
                        : CoreMultiplyDivide(Item->Busy,
                                             250,
                                             Item->End - Item->Start));
                ExportPutHtmlNumber(
                    Bytes,
                    Item->Busy == 0
                        ? 0
                        : CoreMultiplyDivide(Item->Excess, 100, Item->Busy));
            }

            Depth = Item->Depth;
            Previous = Start + Length;
        }
    }

    ExportEndHtmlBytes(Bytes);
}


//
// Writes the trees of all tracks, or counts their bytes.
// Html: the export.
// Writer: where to write, or NULL.
// NumberOfBytes: what they take is added to it.
//

static
VOID
ExportPutHtmlTrackTrees(
    _In_ PCREADER_HTML Html,
    _Inout_opt_ PRTL_WRITER Writer,
    _Inout_ PULONGLONG NumberOfBytes
    )
{
    const READER_TREE *Tree = &Html->Tree;
    READER_HTML_BYTES Bytes;
    ULONG Index = 0;
    ULONG Root;

    if (!Html->Merged.HasTracks) {
        return;
    }

    for (Root = Tree->Nodes[READER_ROOT_NODE].FirstChild;
         Root != READER_NONE;
         Root = Tree->Nodes[Root].NextSibling) {

        RtlZeroBytes(&Bytes, sizeof(Bytes));
        Bytes.Writer = Writer;
        if (Writer != NULL) {
            RtlWriteText(Writer,
                         "<script type=\"text/plain\" id=\"tree%u\">",
                         Index);
        }

        (VOID)ExportPutHtmlTrackTree(Html, &Bytes, Root);
        *NumberOfBytes += Bytes.NumberOfBytes;
        if (Writer != NULL) {
            RtlWriteText(Writer, "</script>\n");
        }

        Index += 1;
    }
}


_Use_decl_annotations_
NTSTATUS
ExportFitHtmlData(
    PREADER_HTML Html
    )
{
    READER_HTML_BYTES Bytes;
    ULONGLONG Fixed = 0;
    ULONG Index;
    NTSTATUS Status;

    //
    // Half of the room is the timeline's.
    //

    for (;;) {

        RtlZeroBytes(&Bytes, sizeof(Bytes));
        ExportPutHtmlFunctions(Html, &Bytes);
        ExportPutHtmlTree(Html, &Bytes);
        Fixed = Bytes.NumberOfBytes;
        ExportPutHtmlTrackTrees(Html, NULL, &Fixed);
        if (Fixed <= READER_HTML_MAXIMUM_DATA / 2 ||
            Html->Merged.NumberWritten < 16) {
            break;
        }

        if (Html->Merged.HasTracks) {
            Html->Merged.HasTracks = FALSE;
        } else {
            ExportChooseHtmlNodes(&Html->Merged,
                                  &Html->Tree,
                                  Html->Merged.NumberWritten / 2);
        }
    }

    for (;;) {

        RtlZeroBytes(&Bytes, sizeof(Bytes));
        for (Index = 0; Index < Html->Detail.NumberOfTracks; Index++) {
            ExportPutHtmlTrack(Html, &Bytes, &Html->Detail.Tracks[Index]);
        }

        if (Fixed + Bytes.NumberOfBytes <= READER_HTML_MAXIMUM_DATA) {
            return STATUS_SUCCESS;
        }

        Status = ExportCoarsenDetail(&Html->Detail);
        if (!NT_SUCCESS(Status)) {
            return Status == STATUS_NO_MORE_ENTRIES ? STATUS_SUCCESS : Status;
        }
    }
}


//
// Writes which functions wait, and for what, and how long a call of a lock
// takes at least that has waited.
//

static
VOID
ExportWriteHtmlWaits(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    PCREADER_FUNCTION Function;
    PCSZ Separator = "";
    ULONG Index;

    RtlWriteText(Writer,
                 "<script type=\"application/json\" id=\"waits\">"
                 "{\"contention\":%llu,\"functions\":[",
                 Html->Export->Options->Contention);
    for (Index = 0; Index < Html->NumberOfFunctions; Index++) {

        Function = &Html->Export->Functions.Functions[Html->Order[Index]];
        if (Function->Wait != ReaderWaitNone) {
            RtlWriteText(Writer,
                         "%s[%u,\"%s\"]",
                         Separator,
                         Index,
                         ReaderWaitKindNames[Function->Wait]);
            Separator = ",";
        }
    }

    RtlWriteText(Writer, "]}</script>\n");
}


//
// Writes the imports that were called by who called: function and module.
//

static
VOID
ExportWriteHtmlImports(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
{
    const READER_FUNCTIONS *Functions = &Html->Export->Functions;
    PCSZ Separator = "";
    ULONG Index;

    RtlWriteText(Writer,
                 "<script type=\"application/json\" id=\"imports\">[");
    for (Index = 0; Index < Html->NumberKnown; Index++) {
        if (Html->Functions[Index].Import != READER_NONE) {
            RtlWriteText(Writer,
                         "%s[%u,%u]",
                         Separator,
                         Html->Functions[Html->Functions[Index].Alike].Index,
                         Functions->Session->NumberOfModules +
                             Functions->Functions[Index].Importer - 1);
            Separator = ",";
        }
    }

    RtlWriteText(Writer, "]</script>\n");
}


_Use_decl_annotations_
VOID
ExportWriteHtmlData(
    PCREADER_HTML Html,
    PRTL_WRITER Writer
    )
{
    READER_HTML_BYTES Bytes;
    ULONGLONG NumberOfBytes = 0;
    ULONG Index;

    ExportWriteHtmlNames(Html, Writer);
    ExportWriteHtmlWaits(Html, Writer);
    ExportWriteHtmlImports(Html, Writer);

    RtlZeroBytes(&Bytes, sizeof(Bytes));
    Bytes.Writer = Writer;
    RtlWriteText(Writer, "<script type=\"text/plain\" id=\"functions\">");
    ExportPutHtmlFunctions(Html, &Bytes);

    RtlZeroBytes(&Bytes, sizeof(Bytes));
    Bytes.Writer = Writer;
    RtlWriteText(Writer,
                 "</script>\n<script type=\"text/plain\" id=\"tree\">");
    ExportPutHtmlTree(Html, &Bytes);
    RtlWriteText(Writer, "</script>\n");

    ExportPutHtmlTrackTrees(Html, Writer, &NumberOfBytes);

    for (Index = 0; Index < Html->Detail.NumberOfTracks; Index++) {

        RtlZeroBytes(&Bytes, sizeof(Bytes));
        Bytes.Writer = Writer;
        RtlWriteText(Writer,
                     "<script type=\"text/plain\" id=\"track%u\">",
                     Index);
        ExportPutHtmlTrack(Html, &Bytes, &Html->Detail.Tracks[Index]);
        RtlWriteText(Writer, "</script>\n");
    }
}
