/*++

Module Name:

    OutputPagerText.c

Abstract:

    The text that the pager keeps, and the rows that it makes on a terminal.

    Both have a bound: beyond it the first half goes, so that each byte is moved
    at most once in the mean.

--*/

#include "../Base/BaseContainer.h"
#include "OutputPagerText.h"
#include "OutputWidth.h"

#define READER_PAGER_ESCAPE '\x1B'


_Use_decl_annotations_
VOID
OutputInitializeText(
    PREADER_PAGER_TEXT Text,
    PCALLOCATOR Allocator,
    ULONG Width
    )
{
    RtlZeroBytes(Text, sizeof(*Text));
    Text->Allocator = Allocator;
    Text->Width = Width;
    Text->MaximumBytes = READER_PAGER_MAXIMUM_BYTES;
    Text->MaximumRows = READER_PAGER_MAXIMUM_ROWS;
}


_Use_decl_annotations_
VOID
OutputRundownText(
    PREADER_PAGER_TEXT Text
    )
{
    PCALLOCATOR Allocator = Text->Allocator;

    Allocator->Free(Allocator->Context, Text->Bytes);
    Allocator->Free(Allocator->Context, Text->Starts);
    OutputInitializeText(Text, Allocator, Text->Width);
}


_Use_decl_annotations_
ULONG
OutputMeasureSequence(
    const CHAR *Bytes,
    ULONG LengthInBytes
    )
{
    ULONG Index;

    if (LengthInBytes < 3 || Bytes[0] != READER_PAGER_ESCAPE ||
        Bytes[1] != '[') {
        return 0;
    }

    for (Index = 2; Index < LengthInBytes; Index++) {
        if (Bytes[Index] == 'm') {
            return Index + 1;
        }
        if (Bytes[Index] != ';' &&
            (Bytes[Index] < '0' || Bytes[Index] > '9')) {
            break;
        }
    }

    return 0;
}


//
// Ends the row that is not complete.
//

_Must_inspect_result_
static
NTSTATUS
OutputEndRow(
    _Inout_ PREADER_PAGER_TEXT Text,
    _In_ ULONG Place
    )
{
    NTSTATUS Status;

    Status = BaseGrowArray(Text->Allocator,
                           (PVOID *)&Text->Starts,
                           &Text->CapacityOfStarts,
                           Text->NumberOfRows + 2,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        if (Text->NumberOfRows == 0) {
            Text->Starts[0] = 0;
        }

        Text->NumberOfRows += 1;
        Text->Starts[Text->NumberOfRows] = Place;
        Text->Cells = 0;
    }

    return Status;
}


//
// Makes rows of what was added.
//

_Must_inspect_result_
static
NTSTATUS
OutputMakeRows(
    _Inout_ PREADER_PAGER_TEXT Text
    )
{
    NTSTATUS Status = STATUS_SUCCESS;
    ULONG Character;
    ULONG Cells;
    ULONG Size;

    while (NT_SUCCESS(Status) && Text->Place < Text->Length) {

        PCHAR Bytes = Text->Bytes + Text->Place;
        ULONG Rest = Text->Length - Text->Place;

        if (Bytes[0] == READER_PAGER_ESCAPE) {

            //
            // The rest of a sequence may follow.
            //

            Size = OutputMeasureSequence(Bytes, Rest);
            if (Size == 0 && Rest < 8) {
                break;
            }

            Text->Place += Size == 0 ? 1 : Size;
            continue;
        }

        Size = RtlDecodeUtf8(Bytes, Rest, &Character);
        if (Character == '\n') {
            Text->Place += 1;
            Status = OutputEndRow(Text, Text->Place);
            continue;
        }

        Cells = OutputQueryCharacterWidth(Character);
        if (Text->Cells + Cells > Text->Width && Text->Cells != 0) {
            Status = OutputEndRow(Text, Text->Place);
        }

        Text->Cells += Cells;
        Text->Place += Size;
    }

    return Status;
}


//
// Drops the first half of what is kept.
//

static
VOID
OutputDropRows(
    _Inout_ PREADER_PAGER_TEXT Text
    )
{
    ULONG Count = Text->NumberOfRows / 2;
    ULONG Size;
    ULONG Index;

    if (Count == 0) {
        return;
    }

    //
    // In ascending order: the two places may overlap.
    //

    Size = Text->Starts[Count];
    __movsb((PBYTE)Text->Bytes,
            (const BYTE *)Text->Bytes + Size,
            Text->Length - Size);
    for (Index = Count; Index <= Text->NumberOfRows; Index++) {
        Text->Starts[Index - Count] = Text->Starts[Index] - Size;
    }

    Text->Length -= Size;
    Text->Place -= Size;
    Text->NumberOfRows -= Count;
    Text->NumberDropped += Count;
}


_Use_decl_annotations_
NTSTATUS
OutputAppendText(
    PREADER_PAGER_TEXT Text,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    NTSTATUS Status;

    if (Text->Length + SizeInBytes > Text->MaximumBytes) {
        OutputDropRows(Text);
    }

    Status = BaseGrowArray(Text->Allocator,
                           (PVOID *)&Text->Bytes,
                           &Text->Capacity,
                           Text->Length + SizeInBytes,
                           sizeof(CHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlCopyBytes(Text->Bytes + Text->Length, Bytes, SizeInBytes);
    Text->Length += SizeInBytes;
    Status = OutputMakeRows(Text);
    if (Text->NumberOfRows > Text->MaximumRows) {
        OutputDropRows(Text);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
OutputEndText(
    PREADER_PAGER_TEXT Text
    )
{
    ULONG Start = Text->NumberOfRows == 0
                      ? 0
                      : Text->Starts[Text->NumberOfRows];

    Text->Place = Text->Length;
    return Text->Length == Start ? STATUS_SUCCESS
                                 : OutputEndRow(Text, Text->Length);
}


_Use_decl_annotations_
NTSTATUS
OutputSplitText(
    PREADER_PAGER_TEXT Text,
    ULONG Width
    )
{
    Text->Width = Width;
    Text->NumberOfRows = 0;
    Text->Place = 0;
    Text->Cells = 0;
    return OutputMakeRows(Text);
}


_Use_decl_annotations_
ULONG
OutputMatchText(
    PCREADER_PAGER_TEXT Text,
    ULONG Place,
    const CHAR *Pattern,
    ULONG LengthInBytes
    )
{
    BOOLEAN IsCaseKept = FALSE;
    ULONG Start = Place;
    ULONG Index;

    for (Index = 0; Index < LengthInBytes; Index++) {
        if (Pattern[Index] >= 'A' && Pattern[Index] <= 'Z') {
            IsCaseKept = TRUE;
        }
    }

    for (Index = 0; Index < LengthInBytes; Index++) {

        CHAR Byte;

        while (Index != 0 && Place < Text->Length) {

            ULONG Size = OutputMeasureSequence(Text->Bytes + Place,
                                               Text->Length - Place);

            if (Size == 0) {
                break;
            }
            Place += Size;
        }

        if (Place >= Text->Length) {
            return 0;
        }

        Byte = Text->Bytes[Place];
        if (!IsCaseKept && Byte >= 'A' && Byte <= 'Z') {
            Byte += 'a' - 'A';
        }

        if (Byte != Pattern[Index]) {
            return 0;
        }

        Place += 1;
    }

    return Place - Start;
}


_Use_decl_annotations_
BOOLEAN
OutputIsInRow(
    PCREADER_PAGER_TEXT Text,
    ULONG Row,
    const CHAR *Pattern,
    ULONG LengthInBytes
    )
{
    ULONG Place;

    for (Place = Text->Starts[Row]; Place < Text->Starts[Row + 1]; Place++) {
        if (OutputMatchText(Text, Place, Pattern, LengthInBytes) != 0) {
            return TRUE;
        }
    }

    return FALSE;
}
