/*++

Module Name:

    ExportHtmlData.c

Abstract:

    Names and numbers as the page of the HTML export reads them: JSON for
    texts; numbers in sevens of bits, the lowest first, with the eighth set
    where more follow, as base64.  Each part is the text of a script element
    whose type is none that a browser runs.

--*/

#include "ExportHtml.h"

//
// The source files of functions, by where their names are.
//

typedef struct _READER_HTML_FILES {
    READER_MAP Numbers;
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
ReaderPutHtmlByte(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONG Byte
    )
/*++

Routine Description:

    Writes a byte.

Arguments:

    Bytes - Where to write.

    Byte - The byte.

Return Value:

    None.

--*/
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


static
VOID
ReaderEndHtmlBytes(
    _Inout_ PREADER_HTML_BYTES Bytes
    )
/*++

Routine Description:

    Writes what is left, up to a whole number of three bytes: the reader knows
    how many there are.

Arguments:

    Bytes - Where to write.

Return Value:

    None.

--*/
{
    while (Bytes->NumberPending != 0) {
        ReaderPutHtmlByte(Bytes, 0);
    }
}


static
VOID
ReaderPutHtmlNumber(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONGLONG Number
    )
/*++

Routine Description:

    Writes a number.

Arguments:

    Bytes - Where to write.

    Number - The number.

Return Value:

    None.

--*/
{
    while (Number >= 0x80) {
        ReaderPutHtmlByte(Bytes, (ULONG)(Number & 0x7F) | 0x80);
        Number >>= 7;
    }

    ReaderPutHtmlByte(Bytes, (ULONG)Number);
}


static
VOID
ReaderPutHtmlDifference(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONGLONG Number,
    _In_ ULONGLONG Previous
    )
/*++

Routine Description:

    Writes a number as its difference to another one: the sign is the lowest
    bit.

Arguments:

    Bytes - Where to write.

    Number - The number, below 2^62.

    Previous - The other one, likewise.

Return Value:

    None.

--*/
{
    ReaderPutHtmlNumber(Bytes,
                        Number >= Previous
                            ? (Number - Previous) << 1
                            : ((Previous - Number) << 1) | 1);
}


_Use_decl_annotations_
ULONGLONG
ReaderConvertHtmlTime(
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks
    )
/*++

Routine Description:

    Converts a time.

Arguments:

    Clock - The session's clock.

    Ticks - The time.

Return Value:

    Nanoseconds, or ticks if the rate is not known; no finer than the clock.

--*/
{
    ULONGLONG Value;

    if (Clock->Kind == TRACE_CLOCK_NONE) {
        return 0;
    }

    (VOID)CoreTicksToNanoseconds(Clock, Ticks, &Value);
    return Value - Value % CoreQueryGranularity(Clock);
}


static
VOID
ReaderPutHtmlStatistics(
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ PCCORE_CLOCK Clock,
    _In_ PCREADER_STATISTICS Statistics
    )
/*++

Routine Description:

    Writes the numbers of a function or node; those that are rare, only where
    there are any.

Arguments:

    Bytes - Where to write.

    Clock - For times.

    Statistics - The numbers.

Return Value:

    None.

--*/
{
    BOOLEAN IsRare = Statistics->Abandoned != 0 ||
                     Statistics->Unfinished != 0 ||
                     Statistics->Uncertain != 0 ||
                     Statistics->BegunBefore != 0;

    ReaderPutHtmlNumber(Bytes, (Statistics->Calls << 1) | IsRare);
    ReaderPutHtmlNumber(Bytes,
                        ReaderConvertHtmlTime(Clock,
                                              Statistics->TotalTicks));
    ReaderPutHtmlNumber(Bytes,
                        ReaderConvertHtmlTime(Clock, Statistics->SelfTicks));
    ReaderPutHtmlNumber(
        Bytes,
        ReaderConvertHtmlTime(Clock, ReaderQueryAverage(Statistics)));
    ReaderPutHtmlNumber(Bytes,
                        ReaderConvertHtmlTime(Clock,
                                              Statistics->MinimumTicks));
    ReaderPutHtmlNumber(Bytes,
                        ReaderConvertHtmlTime(Clock,
                                              Statistics->MaximumTicks));
    if (IsRare) {
        ReaderPutHtmlNumber(Bytes, Statistics->Abandoned);
        ReaderPutHtmlNumber(
            Bytes,
            ReaderConvertHtmlTime(Clock, Statistics->AbandonedTicks));
        ReaderPutHtmlNumber(Bytes, Statistics->Unfinished);
        ReaderPutHtmlNumber(Bytes, Statistics->Uncertain);
        ReaderPutHtmlNumber(Bytes, Statistics->BegunBefore);
    }
}


_Use_decl_annotations_
VOID
ReaderPutHtmlText(
    PRTL_WRITER Writer,
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a JSON string.  What could end a script element or begin a comment
    is escaped; what is not UTF-8 becomes U+FFFD.

Arguments:

    Writer - Where to write.

    Text, LengthInBytes - The text.

Return Value:

    None.

--*/
{
    ULONG Begin = 0;
    ULONG CodePoint;
    ULONG Index = 0;
    ULONG Length;

    RtlWriteText(Writer, "\"");
    while (Index < LengthInBytes) {

        Length = RtlDecodeUtf8(Text + Index, LengthInBytes - Index,
                               &CodePoint);
        if (CodePoint >= 0x20 && CodePoint != '"' && CodePoint != '\\' &&
            CodePoint != '<' && CodePoint != '>' && CodePoint != '&' &&
            (CodePoint < 0x7F || CodePoint > 0x9F) &&
            CodePoint != 0x2028 && CodePoint != 0x2029 &&
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
ReaderMeasureHtmlText(
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Says how long a text becomes as a JSON string.

Arguments:

    Text, LengthInBytes - The text.

Return Value:

    Bytes, never too few.

--*/
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


static
LONG
ReaderCompareHtmlFunctions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by total time, then as they were met.

Arguments:

    CompareContext - The export.

    First, Second - Functions.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_HTML Html = (PREADER_HTML)CompareContext;
    LONG Order;

    Order = ReaderCompareStatistics(&Html->Functions[First].Statistics,
                                    &Html->Functions[Second].Statistics,
                                    ReaderSortTotal);
    if (Order == 0) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Use_decl_annotations_
NTSTATUS
ReaderChooseHtmlFunctions(
    PREADER_HTML Html
    )
/*++

Routine Description:

    Decides which functions are written: those that were called and that the
    filter lets through, the ones with the most time first.

Arguments:

    Html - The export.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_FUNCTIONS Functions = &Html->Export->Functions;
    PREADER_HTML_FUNCTION Each;
    ULONGLONG Sum;
    ULONG Capacity = 0;
    ULONG Count = Functions->NumberOfFunctions;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Html->Export->Context->Allocator,
                             (PVOID *)&Html->Order,
                             &Capacity,
                             Count,
                             sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Status = ReaderGrowArray(Html->Export->Context->Allocator,
                                 (PVOID *)&Html->Functions,
                                 &Html->CapacityOfFunctions,
                                 Count,
                                 sizeof(READER_HTML_FUNCTION));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderFilterFunctions(Functions, Html->Export->Options->Filter);
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

    ReaderSort(Html->Order,
               Html->NumberOfFunctions,
               ReaderCompareHtmlFunctions,
               Html);

    if (Html->NumberOfFunctions > READER_HTML_MAXIMUM_FUNCTIONS) {
        Html->FunctionsLeftOut =
            Html->NumberOfFunctions - READER_HTML_MAXIMUM_FUNCTIONS;
        Html->NumberOfFunctions = READER_HTML_MAXIMUM_FUNCTIONS;
    }

    for (Index = 0; Index < Html->NumberOfFunctions; Index++) {
        Html->Functions[Html->Order[Index]].Index = Index;
    }

    //
    // Names share a fixed room.
    //

    Html->LongestName = 0x10000;
    do {
        Html->LongestName /= 2;
        Sum = 0;
        for (Index = 0; Index < Html->NumberOfFunctions; Index++) {
            Count = Functions->Functions[Html->Order[Index]].NameLength;
            Sum += ReaderMeasureHtmlText(
                Functions->Functions[Html->Order[Index]].Name,
                Count < Html->LongestName ? Count : Html->LongestName);
        }
    } while (Sum > READER_HTML_MAXIMUM_NAMES && Html->LongestName > 16);

    return STATUS_SUCCESS;
}


static
ULONG
ReaderQueryHtmlFunction(
    _In_ PCREADER_HTML Html,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Finds a function's index in the file.

Arguments:

    Html - The export.

    Function - The function.

Return Value:

    The index; the number of functions stands for all that are not written.

--*/
{
    ULONG Index = Html->Functions[Function].Index;

    return Index == READER_NONE ? Html->NumberOfFunctions : Index;
}


static
BOOLEAN
ReaderFindHtmlLine(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_FILES Files,
    _In_ PCREADER_FUNCTION Function,
    _Out_ PULONG File,
    _Out_ PULONG LineNumber
    )
/*++

Routine Description:

    Finds where a function begins, and gives its file a number.

Arguments:

    Html - The export.

    Files - The files so far.

    Function - The function.

    File - Receives the file's number.

    LineNumber - Receives the line.

Return Value:

    FALSE if it is not known, or there is no room for the file's name.

--*/
{
    READER_SESSION *Session = &Html->Export->Session;
    READER_SOURCE_LINE Line;
    ULONGLONG Key;
    ULONGLONG Size;
    NTSTATUS Status;

    if (!ReaderFindLine(Session,
                        ((ULONGLONG)Function->Module << 32) | Function->Rva,
                        &Line)) {
        return FALSE;
    }

    *LineNumber = Line.LineNumber;
    Key = (ULONGLONG)(ULONG_PTR)Line.FileName;
    if (ReaderFindInMap(&Files->Numbers, Key, File)) {
        return TRUE;
    }

    Size = ReaderMeasureHtmlText(Line.FileName, Line.LengthInBytes);
    if (Size > Files->Room) {
        return FALSE;
    }

    Status = ReaderGrowArray(Html->Export->Context->Allocator,
                             (PVOID *)&Files->Files,
                             &Files->Capacity,
                             Files->Count + 1,
                             sizeof(READER_SOURCE_LINE));
    if (NT_SUCCESS(Status)) {
        Status = ReaderAddToMap(&Files->Numbers, Key, Files->Count);
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


static
VOID
ReaderWriteHtmlNames(
    _In_ PCREADER_HTML Html,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the functions: module, name, whether that was cut, and file and line
    if they are known; then the files.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
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
    ReaderInitializeMap(&Files.Numbers, Allocator);

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
                     Function->Module);
        ReaderPutHtmlText(Writer, Function->Name, Length);
        RtlWriteText(Writer, ",%u", Length < Function->NameLength);
        if (ReaderFindHtmlLine(Html, &Files, Function, &File, &LineNumber)) {
            RtlWriteText(Writer, ",%u,%u", File, LineNumber);
        }
        RtlWriteText(Writer, "]");
    }

    RtlWriteText(Writer,
                 "]</script>\n"
                 "<script type=\"application/json\" id=\"files\">[");
    for (Index = 0; Index < Files.Count; Index++) {
        RtlWriteText(Writer, Index == 0 ? "" : ",\n");
        ReaderPutHtmlText(Writer,
                          Files.Files[Index].FileName,
                          Files.Files[Index].LengthInBytes);
    }

    RtlWriteText(Writer, "]</script>\n");
    Allocator->Free(Allocator->Context, Files.Files);
    ReaderRundownMap(&Files.Numbers);
}


static
VOID
ReaderPutHtmlFunctions(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes
    )
/*++

Routine Description:

    Writes the functions' numbers.

Arguments:

    Html - The export.

    Bytes - Where to write.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Html->NumberOfFunctions; Index++) {
        ReaderPutHtmlStatistics(
            Bytes,
            &Html->Export->Session.Clock,
            &Html->Functions[Html->Order[Index]].Statistics);
    }

    ReaderEndHtmlBytes(Bytes);
}


static
VOID
ReaderPutHtmlTree(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes
    )
/*++

Routine Description:

    Writes the merged tree: for each node how far back its parent is (0: it
    has none), its function and its numbers.

Arguments:

    Html - The export.

    Bytes - Where to write.

Return Value:

    None.

--*/
{
    PCREADER_HTML_TREE Merged = &Html->Merged;
    PCREADER_HTML_NODE Node;
    ULONG Index;

    for (Index = 0; Index < Merged->NumberOfNodes; Index++) {

        Node = &Merged->Nodes[Index];
        if (Node->Index == READER_NONE) {
            continue;
        }

        ReaderPutHtmlNumber(
            Bytes,
            Node->Parent == READER_NONE
                ? 0
                : Node->Index - Merged->Nodes[Node->Parent].Index);
        ReaderPutHtmlNumber(Bytes,
                            ReaderQueryHtmlFunction(Html, Node->Function));
        ReaderPutHtmlStatistics(Bytes,
                                &Html->Export->Session.Clock,
                                &Node->Statistics);
    }

    ReaderEndHtmlBytes(Bytes);
}


static
ULONG
ReaderPutHtmlTrackTree(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ ULONG Root
    )
/*++

Routine Description:

    Writes a track's tree: which nodes of the merged one it has, and its
    numbers for them.

Arguments:

    Html - The export.

    Bytes - Where to write.

    Root - The track's node.

Return Value:

    The number of nodes.

--*/
{
    const READER_TREE *Tree = &Html->Tree;
    ULONGLONG Previous = 0;
    ULONG Count = 0;
    ULONG Index;
    ULONG Node;

    for (Node = ReaderNextNode(Tree, Root);
         Node != READER_NONE && Tree->Nodes[Node].Function != READER_NONE;
         Node = ReaderNextNode(Tree, Node)) {

        Index = Html->Merged.Nodes[Html->Merged.Merged[Node]].Index;
        if (Index == READER_NONE) {
            continue;
        }

        ReaderPutHtmlDifference(Bytes, Index, Previous);
        ReaderPutHtmlStatistics(Bytes,
                                &Html->Export->Session.Clock,
                                &Tree->Nodes[Node].Statistics);
        Previous = Index;
        Count += 1;
    }

    ReaderEndHtmlBytes(Bytes);
    return Count;
}


_Use_decl_annotations_
ULONG
ReaderCountHtmlNodes(
    PCREADER_HTML Html,
    ULONG Root
    )
/*++

Routine Description:

    Counts the nodes of a track.

Arguments:

    Html - The export.

    Root - The track's node.

Return Value:

    The number of nodes.

--*/
{
    READER_HTML_BYTES Bytes;

    RtlZeroBytes(&Bytes, sizeof(Bytes));
    return ReaderPutHtmlTrackTree(Html, &Bytes, Root);
}


static
VOID
ReaderPutHtmlTrack(
    _In_ PCREADER_HTML Html,
    _Inout_ PREADER_HTML_BYTES Bytes,
    _In_ PCREADER_DETAIL_TRACK Track
    )
/*++

Routine Description:

    Writes a track's items: depth and kind together; where it begins, from the
    end of the one before; how long it is; its function.  A block then has its
    calls, how much of its time they took, in 250ths, and by how much its
    function's part of that exceeds half of it at least, in hundredths.

Arguments:

    Html - The export.

    Bytes - Where to write.

    Track - The track.

Return Value:

    None.

--*/
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

    for (Chunk = Track->First; Chunk != NULL; Chunk = Chunk->Next) {
        for (Index = 0; Index < Chunk->NumberOfItems; Index++) {

            Item = &Chunk->Items[Index];
            Start = ReaderConvertHtmlTime(
                Clock,
                Item->Start > First ? Item->Start - First : 0);
            Length = ReaderConvertHtmlTime(Clock, Item->End - Item->Start);

            ReaderPutHtmlNumber(
                Bytes,
                Item->Flags |
                    (Item->Depth >= Depth
                         ? (ULONGLONG)(Item->Depth - Depth) << 6
                         : ((ULONGLONG)(Depth - Item->Depth) << 6) | 0x20));
            ReaderPutHtmlDifference(Bytes, Start, Previous);
            ReaderPutHtmlNumber(Bytes, Length);
            ReaderPutHtmlNumber(
                Bytes,
                ReaderQueryHtmlFunction(Html, Item->Function));
            if ((Item->Flags & READER_DETAIL_BLOCK) != 0) {
                ReaderPutHtmlNumber(Bytes, Item->Count);
                ReaderPutHtmlNumber(
                    Bytes,
                    Item->End == Item->Start
                        ? 250
                        : CoreMultiplyDivide(Item->Busy,
                                             250,
                                             Item->End - Item->Start));
                ReaderPutHtmlNumber(
                    Bytes,
                    Item->Busy == 0
                        ? 0
                        : CoreMultiplyDivide(Item->Excess, 100, Item->Busy));
            }

            Depth = Item->Depth;
            Previous = Start + Length;
        }
    }

    ReaderEndHtmlBytes(Bytes);
}


static
VOID
ReaderPutHtmlTrackTrees(
    _In_ PCREADER_HTML Html,
    _Inout_opt_ PRTL_WRITER Writer,
    _Inout_ PULONGLONG NumberOfBytes
    )
/*++

Routine Description:

    Writes the trees of all tracks, or counts their bytes.

Arguments:

    Html - The export.

    Writer - Where to write, or NULL.

    NumberOfBytes - What they take is added to it.

Return Value:

    None.

--*/
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

        (VOID)ReaderPutHtmlTrackTree(Html, &Bytes, Root);
        *NumberOfBytes += Bytes.NumberOfBytes;
        if (Writer != NULL) {
            RtlWriteText(Writer, "</script>\n");
        }

        Index += 1;
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderFitHtmlData(
    PREADER_HTML Html
    )
/*++

Routine Description:

    Leaves out nodes of the tree, and makes the timeline so coarse, that all
    data fits.

Arguments:

    Html - The export; functions and nodes have been chosen.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
        ReaderPutHtmlFunctions(Html, &Bytes);
        ReaderPutHtmlTree(Html, &Bytes);
        Fixed = Bytes.NumberOfBytes;
        ReaderPutHtmlTrackTrees(Html, NULL, &Fixed);
        if (Fixed <= READER_HTML_MAXIMUM_DATA / 2 ||
            Html->Merged.NumberWritten < 16) {
            break;
        }

        if (Html->Merged.HasTracks) {
            Html->Merged.HasTracks = FALSE;
        } else {
            ReaderChooseHtmlNodes(&Html->Merged,
                                  &Html->Tree,
                                  Html->Merged.NumberWritten / 2);
        }
    }

    for (;;) {

        RtlZeroBytes(&Bytes, sizeof(Bytes));
        for (Index = 0; Index < Html->Detail.NumberOfTracks; Index++) {
            ReaderPutHtmlTrack(Html, &Bytes, &Html->Detail.Tracks[Index]);
        }

        if (Fixed + Bytes.NumberOfBytes <= READER_HTML_MAXIMUM_DATA) {
            return STATUS_SUCCESS;
        }

        Status = ReaderCoarsenDetail(&Html->Detail);
        if (!NT_SUCCESS(Status)) {
            return Status == STATUS_NO_MORE_ENTRIES ? STATUS_SUCCESS : Status;
        }
    }
}


_Use_decl_annotations_
VOID
ReaderWriteHtmlData(
    PCREADER_HTML Html,
    PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes names and numbers.

Arguments:

    Html - The export.

    Writer - Where to write.

Return Value:

    None.

--*/
{
    READER_HTML_BYTES Bytes;
    ULONGLONG NumberOfBytes = 0;
    ULONG Index;

    ReaderWriteHtmlNames(Html, Writer);

    RtlZeroBytes(&Bytes, sizeof(Bytes));
    Bytes.Writer = Writer;
    RtlWriteText(Writer, "<script type=\"text/plain\" id=\"functions\">");
    ReaderPutHtmlFunctions(Html, &Bytes);

    RtlZeroBytes(&Bytes, sizeof(Bytes));
    Bytes.Writer = Writer;
    RtlWriteText(Writer,
                 "</script>\n<script type=\"text/plain\" id=\"tree\">");
    ReaderPutHtmlTree(Html, &Bytes);
    RtlWriteText(Writer, "</script>\n");

    ReaderPutHtmlTrackTrees(Html, Writer, &NumberOfBytes);

    for (Index = 0; Index < Html->Detail.NumberOfTracks; Index++) {

        RtlZeroBytes(&Bytes, sizeof(Bytes));
        Bytes.Writer = Writer;
        RtlWriteText(Writer,
                     "<script type=\"text/plain\" id=\"track%u\">",
                     Index);
        ReaderPutHtmlTrack(Html, &Bytes, &Html->Detail.Tracks[Index]);
        RtlWriteText(Writer, "</script>\n");
    }
}
