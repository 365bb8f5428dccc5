/*++

Module Name:

    FuzzMutate.c

Abstract:

    Changes inputs of FuzzSession that are whole sessions (FuzzReal.h) at the
    fields of their files: numbers become others that matter, records, nodes,
    frames, actions and marks are changed, copied and moved, files are cut,
    grow, come twice and go.  Docs/Format.md has the offsets.

    Other inputs are libFuzzer's own to change, and so are the bytes of these
    now and then.

--*/

#include "FuzzReal.h"
#include <stdlib.h>
#include <string.h>

SIZE_T
LLVMFuzzerMutate(
    UCHAR *Data,
    SIZE_T Size,
    SIZE_T MaximumSize
    );

SIZE_T
LLVMFuzzerCustomMutator(
    UCHAR *Data,
    SIZE_T Size,
    SIZE_T MaximumSize,
    unsigned int Seed
    );

static ULONGLONG FuzzSeed;

static
ULONGLONG
FuzzRandom(
    ULONGLONG Below
    )
{
    FuzzSeed ^= FuzzSeed << 13;
    FuzzSeed ^= FuzzSeed >> 7;
    FuzzSeed ^= FuzzSeed << 17;
    return Below == 0 ? 0 : FuzzSeed % Below;
}

//
// Numbers that programs stumble over.
//

static const ULONGLONG FuzzNumbers[] = {
    0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 64, 0x7F, 0x80, 0xFF, 0x100, 0xFF8,
    0xFFF, 0x1000, 0x1001, 0xFFF8, 0xFFFF, 0x10000, 0x4FFF8, 0xFFFFFF,
    0x1000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000,
    0x0FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000,
    0xFFFFFFFFFFFFF000, 0xFFFFFFFFFFFFFFFF
};

static const LONGLONG FuzzSteps[] = {
    -1, 1, -8, 8, -16, 16, 32, -32, 64, -128, 128, -4096, 4096, 65536, -65536
};

//
// Changes one number of a file: to one that matters, or one nearby, or one
// that stands elsewhere in the file, or that the file's size gives.
//

static
VOID
FuzzChangeNumber(
    const FUZZ_REAL_FILE *File,
    SIZE_T Offset,
    ULONG Width
    )
{
    ULONGLONG Value = 0;
    ULONGLONG Other = 0;
    SIZE_T Place;

    if (Width > File->Size || Offset > File->Size - Width) {
        return;
    }

    memcpy(&Value, File->Bytes + Offset, Width);
    switch (FuzzRandom(10)) {
    case 0:
    case 1:
    case 2:
        Value = FuzzNumbers[FuzzRandom(RTL_NUMBER_OF(FuzzNumbers))];
        break;
    case 3:
    case 4:
        Value += (ULONGLONG)FuzzSteps[FuzzRandom(RTL_NUMBER_OF(FuzzSteps))];
        break;
    case 5:
        Value ^= 1ULL << FuzzRandom(8 * Width);
        break;
    case 6:
        Value = FuzzSeed * 0x9E3779B97F4A7C15ULL;
        break;
    case 7:
        Value = FuzzRandom(2) != 0 ? Value * 2 : Value << FuzzRandom(24);
        break;
    case 8:
        Value = File->Size - FuzzRandom(3) * 8 * FuzzRandom(20);
        break;
    default:
        Place = FuzzRandom(File->Size - Width + 1) & ~(SIZE_T)(Width - 1);
        memcpy(&Other, File->Bytes + Place, Width);
        Value = Other;
        break;
    }

    memcpy(File->Bytes + Offset, &Value, Width);
}

//
// Changes an item of a table, or copies some over others.
//

static
VOID
FuzzChangeItem(
    const FUZZ_REAL_FILE *File,
    SIZE_T Begin,
    SIZE_T End,
    SIZE_T SizeOfItem
    )
{
    SIZE_T Count;
    SIZE_T From;
    SIZE_T To;
    SIZE_T Size;

    if (End > File->Size) {
        End = File->Size;
    }

    if (Begin >= End || End - Begin < SizeOfItem) {
        FuzzChangeNumber(File, FuzzRandom(File->Size), 4);
        return;
    }

    Count = (End - Begin) / SizeOfItem;
    To = Begin + SizeOfItem * FuzzRandom(Count);
    if (FuzzRandom(6) != 0) {
        Size = FuzzRandom(3) != 0 ? 8 : 4;
        FuzzChangeNumber(File,
                         To + FuzzRandom(SizeOfItem / Size) * Size,
                         (ULONG)Size);
        return;
    }

    From = Begin + SizeOfItem * FuzzRandom(Count);
    Size = SizeOfItem << FuzzRandom(6);
    if (Size > End - From) {
        Size = End - From;
    }

    if (Size > End - To) {
        Size = End - To;
    }

    if (FuzzRandom(4) != 0) {
        memmove(File->Bytes + To, File->Bytes + From, Size);
    } else {
        memset(File->Bytes + To, FuzzRandom(2) != 0 ? 0xFF : 0, Size);
    }
}

static
ULONGLONG
FuzzPeek(
    const FUZZ_REAL_FILE *File,
    SIZE_T Offset,
    ULONG Width
    )
{
    ULONGLONG Value = 0;

    if (Width <= File->Size && Offset <= File->Size - Width) {
        memcpy(&Value, File->Bytes + Offset, Width);
    }

    return Value;
}

static
VOID
FuzzChangeStore(
    const FUZZ_REAL_FILE *File
    )
{
    static const USHORT Fields[] = {
        offsetof(TRACE_STORE_HEADER, Flags),
        offsetof(TRACE_STORE_HEADER, Cursor),
        offsetof(TRACE_STORE_HEADER, CursorToFileOffset),
        offsetof(TRACE_STORE_HEADER, Generation),
        offsetof(TRACE_STORE_HEADER, ViewFileOffset),
        offsetof(TRACE_STORE_HEADER, State),
        offsetof(TRACE_STORE_HEADER, FirstPosition),
        offsetof(TRACE_STORE_HEADER, RingFileOffset),
        offsetof(TRACE_STORE_HEADER, RingSizeInBytes),
        offsetof(TRACE_STORE_HEADER, QpcFrequency),
        offsetof(TRACE_STORE_HEADER, ModuleSize),
        offsetof(TRACE_STORE_HEADER, Mode),
        offsetof(TRACE_STORE_HEADER, NumberOfActions),
        offsetof(TRACE_STORE_HEADER, ClearTimestamp),
        offsetof(TRACE_STORE_HEADER, NodesFileOffset),
        offsetof(TRACE_STORE_HEADER, NumberOfNodes),
        offsetof(TRACE_STORE_HEADER, BaseAddress),
        offsetof(TRACE_STORE_HEADER, StackFileOffset),
        offsetof(TRACE_STORE_HEADER, BlocksCapacity),
    };
    SIZE_T Nodes = (SIZE_T)FuzzPeek(
        File, offsetof(TRACE_STORE_HEADER, NodesFileOffset), 8);
    SIZE_T Count = (SIZE_T)FuzzPeek(
        File, offsetof(TRACE_STORE_HEADER, NumberOfNodes), 8);
    BOOLEAN IsTree = Nodes > TRACE_HEADER_SIZE && Nodes < File->Size;

    switch (FuzzRandom(8)) {
    case 0:
    case 1:
        FuzzChangeNumber(File,
                         Fields[FuzzRandom(RTL_NUMBER_OF(Fields))],
                         FuzzRandom(4) != 0 ? 8 : 4);
        break;
    case 2:
        FuzzChangeNumber(File, FuzzRandom(0x80) * 4, FuzzRandom(2) ? 8 : 4);
        break;
    case 3:
        if (IsTree) {
            FuzzChangeItem(File, TRACE_TREE_FIRST_STACK,
                           TRACE_TREE_FIRST_STACK + 0x400, 32);
            break;
        }
        // fall through
    default:
        if (IsTree) {
            if (Count > (File->Size - Nodes) / TRACE_NODE_SIZE) {
                Count = (File->Size - Nodes) / TRACE_NODE_SIZE;
            }
            FuzzChangeItem(File, Nodes, Nodes + Count * TRACE_NODE_SIZE,
                           TRACE_NODE_SIZE);
        } else {
            FuzzChangeItem(File, TRACE_HEADER_SIZE, File->Size,
                           TRACE_RECORD_SIZE);
        }
        break;
    }
}

static
VOID
FuzzChangeControl(
    const FUZZ_REAL_FILE *File
    )
{
    SIZE_T Claimed = (SIZE_T)FuzzPeek(
        File, offsetof(TRACE_CONTROL, NumberClaimed), 4);

    if (FuzzRandom(3) == 0) {
        FuzzChangeNumber(File, FuzzRandom(0x20) * 4, FuzzRandom(2) ? 8 : 4);
    } else {
        FuzzChangeItem(File,
                       TRACE_CONTROL_HEADER_SIZE,
                       TRACE_CONTROL_HEADER_SIZE +
                           (Claimed + 2) * TRACE_CONTROL_ACTION_SIZE,
                       TRACE_CONTROL_ACTION_SIZE);
    }
}

//
// Another kind of file, or one whose kind is not to matter: numbers anywhere,
// in its first bytes most of all.
//

static
VOID
FuzzChangeAny(
    const FUZZ_REAL_FILE *File
    )
{
    static const UCHAR Widths[] = { 1, 2, 4, 8 };
    SIZE_T Place = FuzzRandom(FuzzRandom(2) != 0 && File->Size > 0x100
                                  ? 0x100
                                  : File->Size);
    ULONG Width = Widths[FuzzRandom(RTL_NUMBER_OF(Widths))];

    if (FuzzRandom(4) != 0) {
        Place &= ~(SIZE_T)(Width - 1);
    }

    FuzzChangeNumber(File, Place, Width);
}

static
VOID
FuzzChangeSize(
    PFUZZ_REAL_SESSION Session,
    PFUZZ_REAL_FILE File
    )
{
    SIZE_T Size;

    switch (FuzzRandom(4)) {
    case 0:
        Size = FuzzRandom(File->Size + 1);
        break;
    case 1:
        Size = File->Size & ~(SIZE_T)0xFFF;
        break;
    case 2:
        Size = File->Size + FuzzRandom(0x2000);
        break;
    default:
        Size = File->Size + (1ULL << FuzzRandom(20));
        break;
    }

    (VOID)FuzzResizeReal(Session, File, Size);
}

//
// A file comes twice, under another name and of another thread; or it goes;
// or two change places.
//

static
VOID
FuzzChangeFiles(
    PFUZZ_REAL_SESSION Session
    )
{
    PFUZZ_REAL_FILE File = &Session->Files[FuzzRandom(Session->NumberOfFiles)];
    PFUZZ_REAL_FILE Last = &Session->Files[Session->NumberOfFiles - 1];
    PFUZZ_REAL_FILE New;
    FUZZ_REAL_FILE Other;
    ULONG Number;

    switch (FuzzRandom(4)) {
    case 0:
        if (Session->NumberOfFiles == 1) {
            break;
        }
        Session->Size -= File->Size;
        free(File->Bytes);
        *File = *Last;
        Session->NumberOfFiles -= 1;
        memset(Last, 0, sizeof(*Last));
        break;
    case 1:
        Other = *File;
        *File = *Last;
        *Last = Other;
        break;
    case 2:
        File->Flags ^= FUZZ_REAL_IS_LATE;
        break;
    default:
        if (Session->NumberOfFiles == FUZZ_REAL_FILES ||
            File->Size > FUZZ_REAL_SIZE - Session->Size) {
            break;
        }
        New = Last + 1;
        memset(New, 0, sizeof(*New));
        New->NameLength = File->NameLength;
        memcpy(New->Name, File->Name, sizeof(New->Name));
        Session->NumberOfFiles += 1;
        (VOID)FuzzResizeReal(Session, New, File->Size);
        memcpy(New->Bytes, File->Bytes, File->Size);
        if (New->NameLength != 0) {
            New->Name[0] = (CHAR)('0' + FuzzRandom(10));
        }
        if (FuzzRandom(2) != 0 &&
            New->Size >= sizeof(TRACE_STORE_HEADER) &&
            FuzzHasSuffix(New, ".trace")) {
            Number = (ULONG)FuzzRandom(0x10000);
            memcpy(New->Bytes + offsetof(TRACE_STORE_HEADER, ThreadId),
                   &Number,
                   sizeof(Number));
        }
        break;
    }
}

SIZE_T
LLVMFuzzerCustomMutator(
    UCHAR *Data,
    SIZE_T Size,
    SIZE_T MaximumSize,
    unsigned int Seed
    )
{
    FUZZ_REAL_SESSION Session;
    PFUZZ_REAL_FILE File;
    SIZE_T NewSize;
    ULONG Count;

    FuzzSeed = Seed * 0x9E3779B97F4A7C15ULL + 1;
    (VOID)FuzzRandom(1);
    (VOID)FuzzRandom(1);
    if (Size <= FUZZ_REAL_HEAD || Data[0] != FUZZ_REAL ||
        FuzzRandom(16) == 0) {
        return LLVMFuzzerMutate(Data, Size, MaximumSize);
    }

    FuzzDecodeReal(Data, Size, &Session);
    for (Count = 1 + (ULONG)FuzzRandom(5); Count != 0; Count--) {

        File = &Session.Files[FuzzRandom(Session.NumberOfFiles)];
        switch (FuzzRandom(16)) {
        case 0:
        case 1:
        case 2:
            Session.Head[FUZZ_REAL_HEAD - 1] = (UCHAR)FuzzSeed;
            break;
        case 3:

            //
            // What fails, and what the process does, matters now and then
            // only.
            //

            memset(Session.Head + 2, 0, FUZZ_REAL_HEAD - 3);
            Session.Head[1] &= 0x80;
            if (FuzzRandom(3) == 0) {
                Session.Head[1] ^= (UCHAR)FuzzRandom(0x80);
            }
            if (FuzzRandom(20) == 0) {
                Session.Head[1] ^= 0x80;
            }
            if (FuzzRandom(6) == 0) {
                Session.Head[2 + FuzzRandom(3)] = (UCHAR)FuzzRandom(0x100);
            }
            break;
        case 4:
            FuzzChangeFiles(&Session);
            break;
        case 5:
            FuzzChangeSize(&Session, File);
            break;
        default:
            if (File->Size == 0) {
                break;
            }
            if (FuzzRandom(10) == 0) {
                FuzzChangeAny(File);
            } else if (FuzzHasSuffix(File, ".trace")) {
                FuzzChangeStore(File);
            } else if (FuzzHasSuffix(File, ".control")) {
                FuzzChangeControl(File);
            } else {
                FuzzChangeAny(File);
            }
            break;
        }
    }

    NewSize = FuzzEncodeReal(&Session, Data, MaximumSize);
    FuzzFreeReal(&Session);
    if (NewSize == 0) {

        //
        // It was written over in part, which is as good an input as any.
        //

        NewSize = LLVMFuzzerMutate(Data, Size, MaximumSize);
    }

    return NewSize;
}
