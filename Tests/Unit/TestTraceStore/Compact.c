/*++

Module Name:

    Compact.c

Abstract:

    Compact stores: what the file holds at any moment is all that was recorded,
    whatever fails, by a reader that was written from Docs/Format.md, section
    21.

--*/

#include "TestTraceStore.h"
#include "../../../Codec/Codec.h"

#define COMPACT_FILE_SIZE   0x4000000       // the most that is read, 64 MiB
#define COMPACT_FIRST       0x10000         // where the raw ring begins

TEST_COMPACT TestCompact;

static PBYTE CompactFile;
static ULONGLONG CompactDecoder[CODEC_DECODER_SIZE / 8];
static ULONGLONG CompactRaw[CODEC_MAXIMUM_BYTES / 8];
static ULONGLONG CompactBlock[CODEC_BOUND(CODEC_MAXIMUM_BYTES) / 8 + 1];

//
// The file that is read at each write, and what was found.
//

static WCHAR CompactPath[RTL_MAXIMUM_PATH_IN_CHARS];
static ULONGLONG CompactSegment;
static PTRACE_STORE_HEADER CompactHeader;
static BOOLEAN CompactIsLive;
static ULONG CompactChecks;
static ULONG CompactFaults;
static PCSZ CompactFault;

//
// Controls: a writer that says before the write what is to be said after it,
// and one that says nothing of what it overwrites.
//

#define COMPACT_NO_CONTROL      0
#define COMPACT_SAYS_EARLY      1
#define COMPACT_KEEPS_FIRST     2

static ULONG CompactControl;

//
// Where a byte of the stream is, and how many more are behind it.
//

static
ULONGLONG
CompactPlace(
    PCTRACE_STORE_HEADER Header,
    ULONGLONG StreamOffset,
    PULONGLONG Piece
    )
{
    ULONGLONG Offset;

    *Piece = MAXULONG64;
    if (StreamOffset >= Header->BlocksTail) {
        return TRACE_HEADER_SIZE + (StreamOffset - Header->BlocksTail);
    }
    *Piece = Header->BlocksTail - StreamOffset;

    Offset = StreamOffset;
    if (Header->BlocksCapacity != 0) {
        Offset = StreamOffset % Header->BlocksCapacity;
        if (*Piece > Header->BlocksCapacity - Offset) {
            *Piece = Header->BlocksCapacity - Offset;
        }
    }
    return Header->BlocksFileOffset + Offset;
}

static
BOOLEAN
CompactCopy(
    PTEST_COMPACT Content,
    ULONGLONG StreamOffset,
    PBYTE Bytes,
    ULONGLONG SizeInBytes
    )
{
    ULONGLONG Offset;
    ULONGLONG Piece;

    while (SizeInBytes != 0) {
        Offset = CompactPlace(&Content->Header, StreamOffset, &Piece);
        if (Piece > SizeInBytes) {
            Piece = SizeInBytes;
        }
        if (Offset + Piece > Content->FileSize) {
            return FALSE;
        }
        RtlCopyBytes(Bytes, CompactFile + Offset, (SIZE_T)Piece);
        Bytes += Piece;
        StreamOffset += Piece;
        SizeInBytes -= Piece;
    }
    return TRUE;
}

//
// Takes records at a position that follows what was taken before.
//

static
BOOLEAN
CompactTake(
    PTEST_COMPACT Content,
    ULONGLONG Position,
    PCTRACE_RECORD Records,
    ULONGLONG NumberOfRecords,
    PULONGLONG Last
    )
{
    ULONGLONG Count;
    ULONG Index;

    Index = (ULONG)((Position - TRACE_HEADER_SIZE) / TRACE_RECORD_SIZE);
    for (Count = 0; Count < NumberOfRecords; Count += 1) {
        if (Records->Site != TestSite(Index) ||
            Records->StackKind != TestStackKind(Index) ||
            (TestNoise ? Records->Timestamp != TestNoiseTime(Index) :
                         Records->Timestamp < *Last)) {

            Content->Fault = "a record is not what was written";
            return FALSE;
        }
        *Last = Records->Timestamp;
        Records += 1;
        Index += 1;
        Content->NumberOfGoodRecords += 1;
    }
    return TRUE;
}

static
BOOLEAN
CompactReadFile(
    PCWSTR Path,
    PTEST_COMPACT Content
    )
{
    HANDLE File;
    TRACE_STORE_HEADER Again;
    OVERLAPPED Overlapped;
    DWORD Read;
    ULONG Tries;

    if (CompactFile == NULL) {
        CompactFile = (PBYTE)VirtualAlloc(NULL,
                                          COMPACT_FILE_SIZE,
                                          MEM_RESERVE | MEM_COMMIT,
                                          PAGE_READWRITE);
    }

    Content->Fault = "the file cannot be read";
    File = CreateFileW(Path,
                       GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL,
                       OPEN_EXISTING,
                       0,
                       NULL);
    if (File == INVALID_HANDLE_VALUE || CompactFile == NULL) {
        return FALSE;
    }

    for (Tries = 0; Tries < 1000; Tries += 1) {
        RtlZeroBytes(&Overlapped, sizeof(Overlapped));
        if (!ReadFile(File,
                      &Content->Header,
                      TRACE_HEADER_SIZE,
                      &Read,
                      &Overlapped) || Read != TRACE_HEADER_SIZE ||
            !ReadFile(File,
                      &Again,
                      TRACE_HEADER_SIZE,
                      &Read,
                      &Overlapped)) {

            CloseHandle(File);
            return FALSE;
        }
        if (Again.Generation == Content->Header.Generation) {
            break;
        }
    }

    RtlZeroBytes(&Overlapped, sizeof(Overlapped));
    if (!ReadFile(File, CompactFile, COMPACT_FILE_SIZE, &Read, &Overlapped)) {
        Read = 0;
    }
    CloseHandle(File);
    Content->FileSize = Read;
    Content->Fault = NULL;
    return Read >= TRACE_HEADER_SIZE && Read < COMPACT_FILE_SIZE;
}

//
// What section 21 says of the header.
//

static
PCSZ
CompactCheckHeader(
    PCTRACE_STORE_HEADER Header,
    ULONGLONG End
    )
{
    ULONGLONG First;

    First = Header->FirstPosition;
    if (Header->Magic != TRACE_STORE_MAGIC || Header->MajorVersion != 2 ||
        Header->Mode != 2 || Header->RecordSize != 16) {

        return "it is no compact store";
    }
    if (Header->RingFileOffset != COMPACT_FIRST ||
        Header->RingSizeInBytes < 3 * COMPACT_FIRST ||
        Header->RingSizeInBytes % COMPACT_FIRST != 0 ||
        Header->BlocksFileOffset % COMPACT_FIRST != 0 ||
        Header->BlocksCapacity % COMPACT_FIRST != 0) {

        return "places are wrong";
    }
    if (Header->BlocksFileOffset <
        COMPACT_FIRST + Header->RingSizeInBytes &&
        (Header->BlocksFileOffset != COMPACT_FIRST || End > COMPACT_FIRST)) {

        return "blocks are in the raw ring";
    }
    if (End < TRACE_HEADER_SIZE || (End - TRACE_HEADER_SIZE) % 16 != 0) {
        return "the end is wrong";
    }
    if (First > End ||
        (First == 0 && End > COMPACT_FIRST + Header->RingSizeInBytes) ||
        (First != 0 && End - First > Header->RingSizeInBytes)) {

        return "FirstPosition is wrong";
    }
    if (Header->BlocksFirst > Header->BlocksEnd ||
        Header->BlocksFirst % 8 != 0 || Header->BlocksEnd % 8 != 0 ||
        (Header->BlocksCapacity != 0 &&
         Header->BlocksEnd - Header->BlocksFirst > Header->BlocksCapacity)) {

        return "the stream is wrong";
    }
    return NULL;
}

//
// The blocks, up to FirstPosition.
//

static
BOOLEAN
CompactReadBlocks(
    PTEST_COMPACT Content,
    PULONGLONG Last
    )
{
    PCTRACE_STORE_HEADER Header;
    CODEC_BLOCK Block;
    ULONGLONG Offset;
    ULONGLONG Position;
    ULONGLONG Size;

    Header = &Content->Header;
    Offset = Header->BlocksFirst;
    Position = Offset == 0 ? TRACE_HEADER_SIZE : 0;
    while (Position < Header->FirstPosition) {
        Content->Fault = "a block is missing";
        if (!CompactCopy(Content, Offset, (PBYTE)&Block, sizeof(Block)) ||
            Block.Magic != CODEC_MAGIC || Block.RawBytes == 0 ||
            Block.RawBytes % 16 != 0 ||
            Block.EncodedBytes > CODEC_MAXIMUM_BYTES) {

            return FALSE;
        }

        if (Position == 0) {
            Position = Block.Position;
            Content->First = Position;
        }
        Size = CODEC_HEADER_SIZE + Block.EncodedBytes;
        Content->Fault = "a block is not where it belongs";
        if (Block.Position != Position ||
            Offset + Size > Header->BlocksEnd ||
            !CompactCopy(Content, Offset, (PBYTE)CompactBlock, Size)) {

            return FALSE;
        }

        Content->Fault = "a block is bad";
        if (!NT_SUCCESS(CodecDecode((PCODEC_DECODER)CompactDecoder,
                                    CompactBlock,
                                    (SIZE_T)Size,
                                    CompactRaw,
                                    sizeof(CompactRaw),
                                    &Block))) {
            return FALSE;
        }

        Content->Fault = NULL;
        if (!CompactTake(Content,
                         Position,
                         (PCTRACE_RECORD)CompactRaw,
                         Block.RawBytes / 16,
                         Last)) {

            return FALSE;
        }
        Content->NumberOfBlocks += 1;
        Position += Block.RawBytes;
        Offset += (Size + 7) / 8 * 8;
    }

    if (Header->FirstPosition != 0 && Position != Header->FirstPosition) {
        Content->Fault = "no block ends at FirstPosition";
        return FALSE;
    }
    return TRUE;
}

//
// Where a record that is not in a block is.
//

static
ULONGLONG
CompactRawOffset(
    PCTRACE_STORE_HEADER Header,
    ULONGLONG Position
    )
{
    return Position < COMPACT_FIRST ? Position :
           COMPACT_FIRST + (Position - COMPACT_FIRST) %
                           Header->RingSizeInBytes;
}

static
BOOLEAN
CompactRead(
    PCWSTR Path,
    ULONGLONG Segment,
    BOOLEAN IsLive,
    PTEST_COMPACT Content
    )
{
    PCTRACE_STORE_HEADER Header;
    PCTRACE_RECORD Record;
    ULONGLONG Position;
    ULONGLONG Offset;
    ULONGLONG Last;

    RtlZeroBytes(Content, sizeof(*Content));
    if (!CompactReadFile(Path, Content)) {
        return FALSE;
    }
    Header = &Content->Header;
    Content->End = Header->Cursor + Header->CursorToFileOffset;
    if ((Header->Generation & 1) != 0) {
        Content->End = Header->ViewFileOffset;
    }
    Content->First = TRACE_HEADER_SIZE;
    Content->Fault = CompactCheckHeader(Header, Content->End);
    Last = 1;
    if (Content->Fault != NULL || !CompactReadBlocks(Content, &Last)) {
        return FALSE;
    }

    Position = Header->FirstPosition;
    if (Position == 0) {
        Position = TRACE_HEADER_SIZE;
    }
    for (; Position < Content->End; Position += 16) {
        Offset = CompactRawOffset(Header, Position);
        if (Offset + 16 > Content->FileSize) {
            Content->Fault = "a raw record is not in the file";
            return FALSE;
        }

        //
        // The last one may be about to be written.
        //

        Record = (PCTRACE_RECORD)(CompactFile + Offset);
        if (!CompactTake(Content, Position, Record, 1, &Last)) {
            if (IsLive && Position + 16 == Content->End) {
                Content->Fault = NULL;
            }
            return Content->Fault == NULL;
        }
        Content->NumberOfRawRecords += 1;
    }

    //
    // What follows in the view is empty: nothing there is taken for a record
    // while one is made.
    //

    if (IsLive || Header->State != TRACE_STATE_OPEN ||
        Content->End == Header->FirstPosition) {

        return TRUE;
    }
    for (; (Position < COMPACT_FIRST ?
            Position : (Position - COMPACT_FIRST) % Segment) != 0 &&
           Position != COMPACT_FIRST;
         Position += 16) {

        Offset = CompactRawOffset(Header, Position);
        if (Offset + 16 > Content->FileSize) {
            break;
        }
        if (((PCTRACE_RECORD)(CompactFile + Offset))->Timestamp != 0) {
            Content->Fault = "a view was not emptied";
            return FALSE;
        }
    }
    return TRUE;
}

static
BOOLEAN
CompactFind(
    PTRACE_SESSION Session,
    ULONG SequenceNumber
    )
{
    ULONG Count;
    ULONG Index;
    PCWSTR Path;

    Count = TestListFiles(Session, L"*.trace");
    for (Index = 0; Index < Count; Index += 1) {
        Path = TestSessionPath(Session, TestFileNames[Index]);
        RtlCopyBytes(CompactPath,
                     Path,
                     (RtlLengthOfWideString(Path) + 1) * sizeof(WCHAR));
        if (CompactReadFile(CompactPath, &TestCompact) &&
            TestCompact.Header.SequenceNumber == SequenceNumber) {

            return TRUE;
        }
    }
    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
TestReadCompact(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    BOOLEAN IsLive
    )
{
    return CompactFind(Session, SequenceNumber) &&
           CompactRead(CompactPath,
                       Session->SegmentSize,
                       IsLive,
                       &TestCompact);
}

_Use_decl_annotations_
BOOLEAN
TestCheckCompact(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    ULONGLONG NumberOfRecords
    )
{
    BOOLEAN Passed;

    Passed = TEST(TestReadCompact(Session, SequenceNumber, FALSE));
    if (TestCompact.Fault != NULL) {
        RtlWriteText(TestOutput,
                     "    ... %s, after 0x%llx good records of 0x%llx\n",
                     TestCompact.Fault,
                     TestCompact.NumberOfGoodRecords,
                     NumberOfRecords);
    }
    Passed = TEST_EQUAL(TestCompact.End, TRACE_HEADER_SIZE +
                                         NumberOfRecords * 16) && Passed;
    Passed = TEST_EQUAL(TestCompact.First +
                        TestCompact.NumberOfGoodRecords * 16,
                        TestCompact.End) && Passed;
    if (TestCompact.Header.BlocksFirst == 0) {
        Passed = TEST_EQUAL(TestCompact.NumberOfGoodRecords,
                            NumberOfRecords) && Passed;
    }
    if (TestCompact.Header.MaximumBytes != 0) {
        Passed = TEST(TestCompact.FileSize <=
                      TestCompact.Header.MaximumBytes) && Passed;
    }
    return Passed;
}

_Use_decl_annotations_
VOID
TestHoldWorker(
    PTRACE_STORE Store
    )
{
    TraceLockAcquire(Store);
    TraceLockWaitForWorker(Store, TRACE_WORKER_ANY);
}

_Use_decl_annotations_
BOOLEAN
TestOpenCompact(
    ULONGLONG MaximumViewSize,
    ULONGLONG MaximumBytes,
    BOOLEAN IsRing,
    BOOLEAN Worker,
    PTRACE_SESSION *Session,
    PTRACE_STORE *Store
    )
{
    TestOptions.IsCompact = TRUE;
    TestOptions.IsRing = IsRing;
    TestOptions.MaximumBytes = MaximumBytes;
    return TestOpenSession(MaximumViewSize, Worker, Session, Store);
}

//
// A store that was closed: whole, and as short as it can be.
//

static
BOOLEAN
CompactCheckClosed(
    PTRACE_SESSION Session,
    ULONG SequenceNumber,
    ULONGLONG NumberOfRecords
    )
{
    PCTRACE_STORE_HEADER Header;
    ULONGLONG Size;
    BOOLEAN Passed;

    Passed = TestCheckCompact(Session, SequenceNumber, NumberOfRecords);
    Header = &TestCompact.Header;
    Passed = TEST_EQUAL(Header->State, TRACE_STATE_CLOSED) && Passed;
    Passed = TEST_EQUAL(Header->Reason, TRACE_REASON_THREAD_EXIT) && Passed;

    //
    // 4,096 bytes of records: fewer stay as they are.
    //

    if (NumberOfRecords < 256) {
        Passed = TEST_EQUAL(Header->FirstPosition, 0) && Passed;
        Passed = TEST_EQUAL(TestCompact.NumberOfBlocks, 0) && Passed;
        return TEST_EQUAL(TestCompact.FileSize,
                          TRACE_HEADER_SIZE + NumberOfRecords * 16) && Passed;
    }

    Passed = TEST_EQUAL(Header->FirstPosition, TestCompact.End) && Passed;
    if (Header->BlocksCapacity != 0 &&
        Header->BlocksEnd > Header->BlocksCapacity) {

        Passed = TEST_EQUAL(Header->BlocksTail, MAXULONG64) && Passed;
        Size = Header->BlocksFileOffset + Header->BlocksCapacity;
    } else if (Header->BlocksEnd >
               Header->BlocksFileOffset - TRACE_HEADER_SIZE) {

        Size = TRACE_HEADER_SIZE + Header->BlocksEnd;
        Passed = TEST_EQUAL(Header->BlocksTail,
                            Size - Header->BlocksFileOffset) && Passed;
    } else {
        Passed = TEST_EQUAL(Header->BlocksTail, 0) && Passed;
        Size = TRACE_HEADER_SIZE + Header->BlocksEnd;
    }
    return TEST_EQUAL(TestCompact.FileSize, Size) && Passed;
}

//
// Stores of all sizes, looked at where nothing agrees with anything, over laps
// of the raw ring and of the blocks.
//

VOID
TestCompactStores(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Size;
    ULONG Case;
    ULONG Sequence;
    ULONG Records;
    ULONG Step;
    ULONG Most;
    BOOLEAN Passed;

    //
    // Sixteen views of 512 KiB, or as many and as large as a quarter of the
    // file has room for.
    //

    static const struct {
        ULONGLONG ViewSize;
        ULONGLONG MaximumBytes;
        BOOLEAN IsRing;
        BOOLEAN Noise;
        ULONGLONG RingSize;
        ULONGLONG Capacity;
        ULONG Records;
    } Cases[] = {
        { 0x10000, 0, FALSE, FALSE, 0x100000, 0, 200000 },
        { 0x10000, 0, TRUE, TRUE, 0x100000, 0, 150000 },
        { 0x20000, 0, FALSE, TRUE, 0x200000, 0, 200000 },
        { 0x40000, 0, FALSE, FALSE, 0x400000, 0, 500000 },
        { 0x80000, 0, FALSE, FALSE, 0x800000, 0, 900000 },
        { 0x100000, 0, FALSE, TRUE, 0x800000, 0, 600000 },
        { 0, 0, FALSE, FALSE, 0x800000, 0, 600000 },
        { 0, 0x100000, TRUE, FALSE, 0x30000, 0xC0000, 900000 },
        { 0, 0x100000, TRUE, TRUE, 0x30000, 0xC0000, 300000 },
        { 0, 0x100000, FALSE, FALSE, 0x30000, 0, 100000 },
        { 0x10000, 0x123456, TRUE, TRUE, 0x30000, 0xE0000, 200000 },
        { 0, 0x400000, TRUE, TRUE, 0xF0000 / 0x20000 * 0x20000, 0, 0 },
        { 0x20000, 0x600000, TRUE, TRUE, 0x100000, 0x4F0000, 900000 },
        { 0x400000, 0x1200000, TRUE, TRUE, 0x400000, 0xDF0000, 2500000 }
    };

    for (Case = 0; Case < 2 * RTL_NUMBER_OF(Cases); Case += 1) {
        Most = Cases[Case / 2].Records;
        if (Most == 0) {
            continue;
        }
        TestNoise = Cases[Case / 2].Noise;
        if (!TestOpenCompact(Cases[Case / 2].ViewSize,
                             Cases[Case / 2].MaximumBytes,
                             Cases[Case / 2].IsRing,
                             Case & 1,
                             &Session,
                             &Store)) {
            return;
        }
        Header = Store->Header;
        Sequence = Header->SequenceNumber;
        Passed = TEST_EQUAL(Header->RingSizeInBytes, Cases[Case / 2].RingSize);
        Passed = TEST_EQUAL(Header->BlocksFileOffset,
                            COMPACT_FIRST + Header->RingSizeInBytes) && Passed;
        Passed = TEST_EQUAL(Header->BlocksCapacity,
                            Cases[Case / 2].Capacity) && Passed;
        Passed = TEST_EQUAL(Header->BlocksTail, MAXULONG64) && Passed;

        Records = 0;
        Size = Header->RingSizeInBytes;
        Step = Most / 13 + 1237;
        while (Records < Most) {
            Passed = TEST_EQUAL(TestAppendMany(Store, Records, Records + Step),
                                Step) && Passed;
            Records += Step;
            TestHoldWorker(Store);
            Passed = TestCheckCompact(Session, Sequence, Records) && Passed;
            Passed = TEST_EQUAL(TestCompact.Header.State,
                                TRACE_STATE_OPEN) && Passed;
            if (Records * 16ull > Size + COMPACT_FIRST) {
                Passed = TEST(TestCompact.NumberOfBlocks > 1) && Passed;
                Passed = TEST(TestCompact.NumberOfRawRecords * 16 <=
                              Size) && Passed;
            }
            TraceLockRelease(Store);
        }
        if (Cases[Case / 2].Capacity != 0) {
            Passed = TEST(Header->BlocksFirst > Header->BlocksCapacity) &&
                     Passed;
            Passed = TEST(TestLargestFile <= Header->MaximumBytes) && Passed;
        }
        Passed = TEST((Case & 1) != 0 || Header->NumberOfBlocksInline ==
                      TestCompact.NumberOfBlocks ||
                      Header->BlocksFirst != 0) && Passed;

        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        Passed = CompactCheckClosed(Session, Sequence, Records) && Passed;
        TestEndSession(Session);
        if (!Passed) {
            RtlWriteText(TestOutput, "    ... compact case %u\n", Case);
        }
    }
    TestNoise = FALSE;
}

//
// Threads that end where something begins.
//

VOID
TestCompactEnds(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Sequence;
    ULONG Records;
    BOOLEAN Passed;

    //
    // Views of 64 KiB hold 4,096 records, the first one 3,840.
    //

    static const ULONG Counts[] = {
        0, 1, 255, 256, 257, 3839, 3840, 3841, 3840 + 4095, 3840 + 4096,
        3840 + 4097, 3840 + 4 * 4096, 3840 + 8 * 4096 - 1, 3840 + 8 * 4096,
        3840 + 8 * 4096 + 1, 3840 + 9 * 4096, 3840 + 16 * 4096,
        3840 + 16 * 4096 + 1
    };

    for (Case = 0; Case < 8 * RTL_NUMBER_OF(Counts); Case += 1) {
        Records = Counts[Case / 8];
        TestNoise = (Case & 2) != 0;
        if (!TestOpenCompact(0x10000,
                             (Case & 4) != 0 ? 0x200000 : 0,
                             (Case & 4) != 0,
                             Case & 1,
                             &Session,
                             &Store)) {
            return;
        }
        Sequence = Store->Header->SequenceNumber;
        Passed = TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        TestHoldWorker(Store);
        Passed = TestCheckCompact(Session, Sequence, Records) && Passed;
        TraceLockRelease(Store);
        if (Records <= 3840) {
            Passed = TEST_EQUAL(TestNumberOfViews, 1) && Passed;
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        Passed = CompactCheckClosed(Session, Sequence, Records) && Passed;
        TestEndSession(Session);
        if (!Passed) {
            RtlWriteText(TestOutput,
                         "    ... %u records, case %u\n",
                         Records,
                         Case & 7);
        }
    }
    TestNoise = FALSE;
}

//
// Whether a write is over blocks that readers may still take.
//

static
BOOLEAN
CompactIsOverBlocks(
    ULONGLONG FileOffset,
    ULONG SizeInBytes,
    ULONGLONG First
    )
{
    ULONGLONG Offset;
    ULONGLONG Piece;
    ULONGLONG Place;

    for (Offset = First; Offset < CompactHeader->BlocksEnd; Offset += Piece) {
        Place = CompactPlace(CompactHeader, Offset, &Piece);
        if (Piece > CompactHeader->BlocksEnd - Offset) {
            Piece = CompactHeader->BlocksEnd - Offset;
        }
        if (FileOffset < Place + Piece && Place < FileOffset + SizeInBytes) {
            return TRUE;
        }
    }
    return FALSE;
}

//
// At each write the file is complete before and after it, nothing is
// overwritten that counts, and nothing is said of what is not there.
//

static
VOID
CompactAtWrite(
    ULONGLONG FileOffset,
    const VOID *Bytes,
    ULONG SizeInBytes,
    BOOLEAN IsAfter
    )
{
    static ULONGLONG Position;
    static ULONGLONG Stream;
    static ULONGLONG First;
    static ULONGLONG OldFirst;
    static ULONGLONG OldEnd;
    const CODEC_BLOCK *Block;
    PTRACE_STORE_HEADER Header;
    ULONGLONG End;
    ULONGLONG Piece;
    PCSZ Fault;

    Header = CompactHeader;
    Block = (const CODEC_BLOCK *)Bytes;
    Fault = NULL;

    //
    // Zeroes over fresh views.
    //

    if (FileOffset < Header->BlocksFileOffset &&
        FileOffset >= Header->RingFileOffset &&
        Header->BlocksEnd == 0) {

        return;
    }

    CompactChecks += 1;
    End = Header->Cursor + Header->CursorToFileOffset;
    if (FileOffset < Header->BlocksFileOffset) {

        //
        // The end of the stream, once no record is raw.
        //

        if (Header->FirstPosition != End ||
            Header->BlocksTail != TRACE_BLOCKS_NO_TAIL) {

            Fault = "it is moved too early";
        }

    } else if (!IsAfter) {

        if (SizeInBytes >= sizeof(*Block) && Block->Magic == CODEC_MAGIC) {
            Position = Block->Position;
            Stream = Header->BlocksEnd;
            if (CompactPlace(Header, Stream, &Piece) != FileOffset) {
                Fault = "it is not written behind the others";
            }
        } else if (FileOffset != Header->BlocksFileOffset) {
            Fault = "it does not go on at the beginning";
        }
        if (CompactIsOverBlocks(FileOffset,
                                SizeInBytes,
                                CompactControl == COMPACT_KEEPS_FIRST ?
                                First : Header->BlocksFirst)) {

            Fault = "a block is overwritten that counts";
        }
        First = Header->BlocksFirst;
    }

    OldFirst = Header->FirstPosition;
    OldEnd = Header->BlocksEnd;
    if (CompactControl == COMPACT_SAYS_EARLY && !IsAfter &&
        FileOffset >= Header->BlocksFileOffset) {

        Header->BlocksEnd += (SizeInBytes + 7) / 8 * 8;
        Header->FirstPosition = Position + Block->RawBytes;
    } else if (FileOffset >= Header->BlocksFileOffset &&
               (Header->BlocksEnd != Stream ||
                (Header->FirstPosition != Position &&
                 (Header->FirstPosition != 0 ||
                  Position != TRACE_HEADER_SIZE)))) {

        Fault = "it is published before it is written";
    }

    if (Fault == NULL &&
        !CompactRead(CompactPath,
                     CompactSegment,
                     CompactIsLive,
                     &TestCompact)) {

        Fault = TestCompact.Fault;
    }
    if (Fault == NULL &&
        TestCompact.First + TestCompact.NumberOfGoodRecords * 16 !=
        TestCompact.End &&
        !(CompactIsLive &&
          TestCompact.First + TestCompact.NumberOfGoodRecords * 16 + 16 ==
          TestCompact.End)) {

        Fault = "records are missing";
    }
    Header->FirstPosition = OldFirst;
    Header->BlocksEnd = OldEnd;
    if (Fault != NULL) {
        CompactFaults += 1;
        CompactFault = Fault;
    }
}

VOID
TestCompactWrites(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Sequence;
    ULONG Records;
    BOOLEAN Passed;

    static const struct {
        ULONGLONG ViewSize;
        ULONGLONG MaximumBytes;
        BOOLEAN Noise;
        BOOLEAN Worker;
        ULONG Control;
        ULONG Records;
    } Cases[] = {
        { 0x10000, 0, FALSE, FALSE, COMPACT_NO_CONTROL, 100000 },
        { 0x10000, 0, FALSE, TRUE, COMPACT_NO_CONTROL, 100000 },
        { 0x20000, 0, TRUE, FALSE, COMPACT_NO_CONTROL, 100000 },
        { 0x10000, 0x100000, TRUE, FALSE, COMPACT_NO_CONTROL, 200000 },
        { 0x10000, 0x100000, TRUE, TRUE, COMPACT_NO_CONTROL, 200000 },
        { 0x10000, 0x100000, FALSE, FALSE, COMPACT_NO_CONTROL, 500000 },
        { 0x10000, 0x100000, FALSE, TRUE, COMPACT_NO_CONTROL, 500000 },
        { 0x10000, 0, FALSE, FALSE, COMPACT_NO_CONTROL, 3000 },
        { 0x10000, 0, TRUE, FALSE, COMPACT_NO_CONTROL, 3840 },
        { 0x10000, 0, FALSE, FALSE, COMPACT_SAYS_EARLY, 60000 },
        { 0x10000, 0x100000, TRUE, FALSE, COMPACT_KEEPS_FIRST, 100000 }
    };

    for (Case = 0; Case < RTL_NUMBER_OF(Cases); Case += 1) {
        TestNoise = Cases[Case].Noise;
        if (!TestOpenCompact(Cases[Case].ViewSize,
                             Cases[Case].MaximumBytes,
                             Cases[Case].MaximumBytes != 0,
                             Cases[Case].Worker,
                             &Session,
                             &Store)) {
            return;
        }
        Sequence = Store->Header->SequenceNumber;
        Records = Cases[Case].Records;
        CompactHeader = Store->Header;
        CompactIsLive = Cases[Case].Worker;
        CompactSegment = Session->SegmentSize;
        CompactControl = Cases[Case].Control;
        CompactChecks = 0;
        CompactFaults = 0;
        CompactFault = NULL;
        Passed = TEST(CompactFind(Session, Sequence));
        TestAtWrite = CompactAtWrite;
        Passed = TEST_EQUAL(TestAppendMany(Store, 0, Records), Records) &&
                 Passed;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TestAtWrite = NULL;
        Passed = TEST(CompactChecks >= (Records + 4095) / 4096 ||
                      Cases[Case].ViewSize != 0x10000) && Passed;
        Passed = TEST((CompactFaults == 0) ==
                      (CompactControl == COMPACT_NO_CONTROL)) && Passed;
        Passed = CompactCheckClosed(Session, Sequence, Records) && Passed;
        TestEndSession(Session);
        if (!Passed) {
            RtlWriteText(TestOutput,
                         "    ... writes, case %u: %u of %u, %s\n",
                         Case,
                         CompactFaults,
                         CompactChecks,
                         CompactFault == NULL ? "" : CompactFault);
        }
    }
    TestNoise = FALSE;
}

//
// Stores that may not grow any more: what was recorded is there, and the next
// thread's store is as good as any.
//

static
VOID
CompactStop(
    ULONGLONG MaximumBytes,
    ULONGLONG MinimumFree,
    ULONGLONG Free,
    BOOLEAN Worker,
    ULONG Least,
    ULONG Reason
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Second;
    RTL_ERROR Error;
    ULONG Sequence;
    ULONG SecondSequence;
    ULONG Recorded;
    BOOLEAN Passed;

    TestNoise = TRUE;
    TestOptions.MinimumFree = MinimumFree;
    TestVolumeSize = 0x1000000000;
    TestVolumeFree = Free;
    TestVolumeUnit = 8;
    if (!TestOpenCompact(0, MaximumBytes, FALSE, Worker, &Session, &Store)) {
        return;
    }
    Sequence = Store->Header->SequenceNumber;
    Recorded = TestAppendMany(Store, 0, 1100000);
    Passed = TEST(Recorded >= Least && Recorded < 1100000);
    Passed = TEST_EQUAL(Store->Header->State, TRACE_STATE_STOPPED) && Passed;
    Passed = TEST_EQUAL(Store->Header->Reason, Reason) && Passed;
    Passed = TEST_STATUS((NTSTATUS)Store->Header->Status,
                         Reason == TRACE_REASON_MAXIMUM_BYTES ?
                         STATUS_SUCCESS : STATUS_DISK_FULL) && Passed;
    Passed = TEST_EQUAL(Store->Header->NumberOfEventsLost,
                        1100000 - Recorded) && Passed;
    TestHoldWorker(Store);
    Passed = TestCheckCompact(Session, Sequence, Recorded) && Passed;
    TraceLockRelease(Store);

    TestVolumeFree = MAXULONG64;
    if (TEST_SUCCESS(TraceStoreOpen(Session, &Second, &Error))) {
        SecondSequence = Second->Header->SequenceNumber;
        Passed = TEST_EQUAL(TestAppendMany(Second, 0, 20000), 20000) && Passed;
        TraceStoreClose(Second, TRACE_REASON_THREAD_EXIT);
        Passed = CompactCheckClosed(Session, SecondSequence, 20000) && Passed;
    }

    TestVolumeFree = Free;
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    Passed = TestCheckCompact(Session, Sequence, Recorded) && Passed;
    Passed = TEST_EQUAL(TestCompact.Header.State, TRACE_STATE_STOPPED) &&
             Passed;
    Passed = TEST_EQUAL(TestCompact.Header.Reason, Reason) && Passed;
    if (!Passed) {
        RtlWriteText(TestOutput,
                     "    ... at most 0x%llx bytes, 0x%llx free, %s\n",
                     MaximumBytes,
                     Free,
                     Worker ? "worker" : "no worker");
    }
    TestEndSession(Session);
    TestVolumeFree = MAXULONG64;
    TestNoise = FALSE;
}

VOID
TestCompactStops(
    VOID
    )
{
    ULONG Worker;

    for (Worker = 0; Worker < 2; Worker += 1) {

        //
        // Blocks of 64 KiB and some bytes more, so that one fewer fits; and
        // the views.
        //

        CompactStop(0x100000, 0, MAXULONG64, (BOOLEAN)Worker,
                    (0xC0000 / 0x10000 - 1 + 3) * 4096 + 3840 - 4096,
                    TRACE_REASON_MAXIMUM_BYTES);
        CompactStop(0x2FFFFF, 0, MAXULONG64, (BOOLEAN)Worker,
                    0x240000 / 16,
                    TRACE_REASON_MAXIMUM_BYTES);

        //
        // No room for the raw ring; for it, and nothing else; for one block;
        // for several.
        //

        CompactStop(0, 0x40000000, 0x40000000 + 0x200000, (BOOLEAN)Worker,
                    3840, TRACE_REASON_MINIMUM_FREE);
        CompactStop(0, 0x40000000, 0x40000000 + 0x810000, (BOOLEAN)Worker,
                    3840 + 0x800000 / 16, TRACE_REASON_MINIMUM_FREE);
        CompactStop(0, 0x40000000, 0x40000000 + 0x830000, (BOOLEAN)Worker,
                    3840 + 0x800000 / 16, TRACE_REASON_MINIMUM_FREE);
        CompactStop(0, 0x40000000, 0x40000000 + 0xB00000, (BOOLEAN)Worker,
                    3840 + 0x980000 / 16, TRACE_REASON_MINIMUM_FREE);
    }
}

//
// Every call of the system fails, once or for good.
//

typedef struct _COMPACT_OUTCOMES {
    ULONG NoStore;
    ULONG Stopped;
    ULONG Completed;
} COMPACT_OUTCOMES;

static COMPACT_OUTCOMES CompactOutcomes;

static
BOOLEAN
CompactRunWithFault(
    ULONGLONG MaximumBytes,
    ULONG Records,
    BOOLEAN Worker,
    BOOLEAN Flush
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Second;
    RTL_ERROR Error;
    ULONG Recorded;
    ULONG Sequence;
    ULONG Reason;
    NTSTATUS Status;
    BOOLEAN Stopped;
    BOOLEAN Passed;

    Passed = TRUE;
    TestOptions.IsCompact = TRUE;
    TestOptions.IsRing = MaximumBytes != 0;
    TestOptions.MaximumBytes = MaximumBytes;
    TestOptions.Flush = Flush;
    if (!NT_SUCCESS(TestCreateSession(&TestCounting,
                                      0x10000,
                                      Worker,
                                      &Session,
                                      &Error))) {

        CompactOutcomes.NoStore += 1;
        return TestCheckBalance();
    }
    Status = TraceStoreOpen(Session, &Store, &Error);
    if (!NT_SUCCESS(Status)) {
        CompactOutcomes.NoStore += 1;
        Passed = TEST(TestFault.Fired > 0);
        goto End;
    }

    Sequence = Store->Header->SequenceNumber;
    Recorded = TestAppendMany(Store, 0, Records);
    Stopped = Store->Header->State == TRACE_STATE_STOPPED;
    Reason = Store->Header->Reason;
    if (Stopped) {
        CompactOutcomes.Stopped += 1;
        Passed = TEST_STATUS((NTSTATUS)Store->Header->Status,
                             TestFault.Status) && Passed;
        Passed = TEST(Recorded > 0) && Passed;
        switch (TestFault.Routine) {
        case TestRoutineNtWriteFile:
            Passed = TEST(Reason == TRACE_REASON_EXTEND_FAILED ||
                          Reason == TRACE_REASON_PAGE_FAILED) && Passed;
            break;
        case TestRoutineNtReadFile:
            Passed = TEST_EQUAL(Reason, TRACE_REASON_INVARIANT) && Passed;
            break;
        case TestRoutineNtSetInformationFile:
            Passed = TEST_EQUAL(Reason, TRACE_REASON_EXTEND_FAILED) && Passed;
            break;
        default:
            Passed = TEST_EQUAL(Reason, TRACE_REASON_MAP_FAILED) && Passed;
            break;
        }
    } else {
        CompactOutcomes.Completed += 1;
        Passed = TEST_EQUAL(Recorded, Records) && Passed;
    }
    Passed = TEST_EQUAL(Store->Header->NumberOfEventsLost,
                        Records - Recorded) && Passed;
    TestHoldWorker(Store);
    Passed = TestCheckCompact(Session, Sequence, Recorded) && Passed;
    TraceLockRelease(Store);

    Second = NULL;
    if (NT_SUCCESS(TraceStoreOpen(Session, &Second, &Error))) {
        Passed = TEST_EQUAL(TestAppendMany(Second, 0, 1000), 1000) && Passed;
        TraceStoreClose(Second, TRACE_REASON_THREAD_EXIT);
    } else {
        Passed = TEST(TestFault.Fired > 0) && Passed;
    }

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    Passed = TestCheckCompact(Session, Sequence, Recorded) && Passed;
    Passed = TEST_EQUAL(TestCompact.Header.State,
                        Stopped ? TRACE_STATE_STOPPED : TRACE_STATE_CLOSED) &&
             Passed;
    Passed = TEST_EQUAL(TestCompact.Header.NumberOfEventsLost,
                        Records - Recorded) && Passed;
    if (Second != NULL) {
        Passed = TestCheckCompact(Session, Sequence + 1, 1000) && Passed;
    }

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    return TestCheckBalance() && Passed;
}

static
ULONG
CompactFailEveryCall(
    ULONG Routine,
    NTSTATUS Status,
    ULONG Mode
    )
{
    LONG Call;

    RtlZeroBytes(&CompactOutcomes, sizeof(CompactOutcomes));
    for (Call = 1; Call < 300; Call += 1) {
        TestNextRoot();
        TestResetCounters();
        TestNoise = (Mode & 4) != 0;
        TestFault.Routine = Routine;
        TestFault.Call = Call;
        TestFault.Status = Status;
        TestFault.Sticky = (Mode & 2) != 0;
        if (!CompactRunWithFault((Mode & 4) != 0 ? 0x100000 : 0,
                                 (Mode & 4) != 0 ? 80000 : 50000,
                                 Mode & 1,
                                 Routine == TestRoutineNtFlushBuffersFile)) {

            RtlWriteText(TestOutput,
                         "    ... routine %u, call %d, mode %u\n",
                         Routine,
                         Call,
                         Mode);
        }
        if (TestFault.Fired == 0) {
            break;
        }
    }
    TestNoise = FALSE;
    TEST(Call < 300);
    return (ULONG)Call - 1;
}

VOID
TestCompactFaults(
    VOID
    )
{
    ULONG Mode;

    //
    // Bits: the worker, for good, a ring.
    //

    for (Mode = 0; Mode < 8; Mode += 1) {
        TEST(CompactFailEveryCall(TestRoutineNtWriteFile,
                                  STATUS_DISK_FULL,
                                  Mode) >= 12);
        TEST(CompactOutcomes.Stopped > 2 && CompactOutcomes.NoStore == 0);

        TEST(CompactFailEveryCall(TestRoutineNtReadFile,
                                  STATUS_IO_DEVICE_ERROR,
                                  Mode) >= ((Mode & 4) != 0 ? 5u : 1u));
        TEST((CompactOutcomes.Stopped > 0) == ((Mode & 4) != 0));

        TEST(CompactFailEveryCall(TestRoutineNtSetInformationFile,
                                  STATUS_DISK_FULL,
                                  Mode) >= 4);
        TEST_EQUAL(CompactOutcomes.NoStore, 1);
        TEST_EQUAL(CompactOutcomes.Stopped, 1);

        TEST(CompactFailEveryCall(TestRoutineNtCreateSection,
                                  STATUS_INSUFFICIENT_RESOURCES,
                                  Mode) >= 3);
        TEST_EQUAL(CompactOutcomes.Stopped, 1);

        TEST(CompactFailEveryCall(TestRoutineNtMapViewOfSection,
                                  STATUS_NO_MEMORY,
                                  Mode) >= 3);
        TEST_EQUAL(CompactOutcomes.Stopped, 1);

        TEST(CompactFailEveryCall(TestRoutineNtAllocateVirtualMemory,
                                  STATUS_NO_MEMORY,
                                  Mode) >= 3);
        TEST(CompactOutcomes.NoStore == 2);

        TEST(CompactFailEveryCall(TestRoutineNtFlushBuffersFile,
                                  STATUS_IO_DEVICE_ERROR,
                                  Mode) >= 5);
        TEST(CompactOutcomes.NoStore == 0 && CompactOutcomes.Stopped == 0);
    }
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
}

//
// Blocks are put on the disk if the user asks for it, and the system can.
//

VOID
TestCompactFlush(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Sequence;
    ULONG Records;

    Records = 60000;
    for (Case = 0; Case < 6; Case += 1) {
        TestOptions.Flush = Case >= 2;
        if (!TestOpenCompact(0x10000, 0, FALSE, Case & 1, &Session, &Store)) {
            return;
        }
        if (Case >= 4) {
            Session->Rtl.NtFlushBuffersFile = NULL;
        }
        Sequence = Store->Header->SequenceNumber;
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        CompactCheckClosed(Session, Sequence, Records);
        TEST_EQUAL(TestCompact.NumberOfBlocks,
                   1 + (Records - 3840 + 4095) / 4096);
        TEST_EQUAL(TestCalls[TestRoutineNtFlushBuffersFile],
                   Case == 2 || Case == 3 ?
                   (LONG)TestCompact.NumberOfBlocks : 0);
        TEST_EQUAL(TestCalls[TestRoutineNtFlushVirtualMemory], 0);
        TestEndSession(Session);
    }
}

//
// Calls are taken back as the hook does it, by Docs/Format.md.  The newest
// record may be in the view before, once the first one of this view has been
// taken back; then it is in a block, and Floor says that it stays.
//
// Control: it is taken back nevertheless.
//

VOID
TestCompactTakesBack(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Record;
    ULONGLONG Timestamp;
    ULONG Sequence;
    ULONG Index;
    ULONG View;
    ULONG Borders;
    ULONG Tries;

    if (!TestOpenCompact(0x10000, 0x100000, FALSE, TRUE, &Session, &Store)) {
        return;
    }
    Header = Store->Header;
    Sequence = Header->SequenceNumber;
    Index = 0;
    Borders = 0;
    for (View = 0; View < 30; View += 1) {
        TestAppendMany(Store, Index, 3840 + View * 4096 + 1);
        Index = 3840 + View * 4096 + 1;
        if (View % 4 != 3) {
            continue;
        }
        for (Tries = 0;
             Tries < TEST_PATIENCE &&
             *(ULONGLONG volatile *)&Header->FirstPosition !=
             Store->Current.Position;
             Tries += 1) {

            TraceControlRequestWorker(Session);
            Sleep(1);
        }
        TestHoldWorker(Store);
        TEST(TestCheckCompact(Session, Sequence, Index));

        Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor - 1;
        TEST((ULONG_PTR)Record >= (ULONG_PTR)Store->Floor);
        RtlStoreRelease64(&Record->Timestamp, 0);
        RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)Record);
        Index -= 1;
        TEST(TestCheckCompact(Session, Sequence, Index));

        Record -= 1;
        TEST((ULONG_PTR)Record < (ULONG_PTR)Store->Floor);
        if (Record > (PTRACE_RECORD)Store->Compact.Ring.Base) {
            Timestamp = Record->Timestamp;
            RtlStoreRelease64(&Record->Timestamp, 0);
            RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)Record);
            TEST(!TestReadCompact(Session, Sequence, FALSE));
            RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)(Record + 1));
            RtlStoreRelease64(&Record->Timestamp, Timestamp);
            Borders += 1;
        }
        TraceLockRelease(Store);
    }
    TEST(Borders > 3);
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    CompactCheckClosed(Session, Sequence, Index);
    TestEndSession(Session);
}

//
// A file system whose views do not show what is written: the end of the blocks
// stays where it is, since what the views hold would come over it.
//

VOID
TestCompactIncoherent(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Sequence;
    ULONG Records;

    for (Case = 0; Case < 8; Case += 1) {
        Records = Case < 4 ? 100000 : 3000;
        TestNoise = (Case & 2) != 0;
        if (!TestOpenCompact(0x10000, 0, FALSE, Case & 1, &Session, &Store)) {
            return;
        }
        TestHiddenBelow = Case < 4 ? Store->Header->BlocksFileOffset :
                                     COMPACT_FIRST;
        Sequence = Store->Header->SequenceNumber;
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TestCheckCompact(Session, Sequence, Records);
        TEST_EQUAL(TestCompact.Header.State, TRACE_STATE_CLOSED);
        TEST_EQUAL(TestCompact.Header.BlocksTail, MAXULONG64);
        TestEndSession(Session);
    }
    TestNoise = FALSE;
}
