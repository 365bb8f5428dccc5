/*++

Module Name:

    Compact.c

Abstract:

    FuzzSession: compact stores.  A store whose header has that mode, with
    records behind it, gets them encoded, as its writer would have it.

--*/

#include "FuzzSession.h"
#include "../../../Codec/Codec.h"

#define FUZZ_VIEW_SIZE 0x400u
#define FUZZ_SEGMENT 0x1000u
#define FUZZ_RING 0x3000u
#define FUZZ_MAXIMUM_RING 0x10000u

//
// Writes a part of the stream where the header says that it is.
//

static
VOID
FuzzPutStream(
    PUCHAR Store,
    SIZE_T Size,
    ULONGLONG StreamOffset,
    const UCHAR *Bytes,
    ULONG SizeInBytes
    )
{
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)Store;
    ULONGLONG Place;
    ULONG Index;

    for (Index = 0; Index < SizeInBytes; Index++) {
        Place = StreamOffset + Index;
        if (Header->BlocksCapacity != 0) {
            Place %= Header->BlocksCapacity;
        }

        Place += FUZZ_SEGMENT + Header->RingSizeInBytes;
        if (Place < Size) {
            Store[Place] = Bytes[Index];
        }
    }
}

//
// What a header has is kept, unless it is 0.
//

static
VOID
FuzzDefault(
    PULONGLONG Field,
    ULONGLONG Value
    )
{
    ULONGLONG Old;

    memcpy(&Old, Field, sizeof(Old));
    if (Old == 0) {
        memcpy(Field, &Value, sizeof(Value));
    }
}

_Use_decl_annotations_
VOID
FuzzMakeCompact(
    PFUZZ_FILE File
    )
{
    static ULONGLONG Encoder[CODEC_ENCODER_SIZE / 8];
    static ULONGLONG Block[CODEC_BOUND(FUZZ_VIEW_SIZE) / 8 + 1];
    static ULONGLONG Raw[FUZZ_VIEW_SIZE / 8];
    PTRACE_STORE_HEADER Header = (PTRACE_STORE_HEADER)(PVOID)File->Bytes;
    ULONGLONG End = File->Size;
    ULONGLONG First = TRACE_HEADER_SIZE;
    ULONGLONG Position;
    ULONGLONG StreamEnd = 0;
    ULONGLONG Oldest = 0;
    ULONGLONG EarlyEnd = TRACE_HEADER_SIZE;
    ULONGLONG EarlyStream = 0;
    ULONGLONG Place;
    SIZE_T Size;
    PUCHAR Store;
    ULONG SizeOfBlock;

    if (Header->MajorVersion == TRACE_FORMAT_MAJOR) {
        Header->MajorVersion = TRACE_FORMAT_MAJOR_COMPACT;
    }

    FuzzDefault(&Header->RingFileOffset, FUZZ_SEGMENT);
    FuzzDefault(&Header->RingSizeInBytes, FUZZ_RING);
    if (Header->RingFileOffset != FUZZ_SEGMENT ||
        Header->RingSizeInBytes > FUZZ_MAXIMUM_RING ||
        Header->RingSizeInBytes < FUZZ_RING ||
        Header->BlocksCapacity > FUZZ_MAXIMUM_RING) {
        return;
    }

    //
    // As many views are full as there are, or as FirstPosition says.
    //

    Size = (SIZE_T)(FUZZ_SEGMENT + Header->RingSizeInBytes + 2 * End);
    Store = (PUCHAR)calloc(1, Size);
    if (Store == NULL) {
        abort();
    }

    for (Position = TRACE_HEADER_SIZE;
         Position + FUZZ_VIEW_SIZE <= End &&
         (Header->FirstPosition == 0 ||
          Header->FirstPosition > Position ||
          End - Position > Header->RingSizeInBytes);
         Position += FUZZ_VIEW_SIZE) {

        memcpy(Raw, File->Bytes + Position, FUZZ_VIEW_SIZE);
        SizeOfBlock = CodecEncode((PCODEC_ENCODER)(PVOID)Encoder,
                                  Raw,
                                  FUZZ_VIEW_SIZE,
                                  Position,
                                  Block);
        memcpy(Store, Header, sizeof(*Header));
        FuzzPutStream(Store,
                      Size,
                      StreamEnd,
                      (const UCHAR *)Block,
                      SizeOfBlock);
        EarlyEnd = Position;
        EarlyStream = StreamEnd;
        StreamEnd += (SizeOfBlock + 7) & ~7u;
        while (Header->BlocksCapacity != 0 &&
               StreamEnd - Oldest > Header->BlocksCapacity) {

            //
            // Sizes of blocks differ: the oldest one is found again.
            //

            CODEC_BLOCK Old;
            ULONG Index;

            for (Index = 0; Index < sizeof(Old); Index++) {
                Place = FUZZ_SEGMENT + Header->RingSizeInBytes +
                        (Oldest + Index) % Header->BlocksCapacity;
                ((PUCHAR)&Old)[Index] = Place < Size ? Store[Place] : 0;
            }

            if (Old.Magic != CODEC_MAGIC ||
                Old.EncodedBytes > FUZZ_VIEW_SIZE) {
                Oldest = StreamEnd;
                break;
            }

            Oldest += (CODEC_HEADER_SIZE + Old.EncodedBytes + 7) & ~7ULL;
        }

        First = Position + FUZZ_VIEW_SIZE;
    }

    //
    // Raw records are there as far as the ring reaches, for a reader that came
    // earlier.
    //

    Position = TRACE_HEADER_SIZE;
    if (End - Position > Header->RingSizeInBytes) {
        Position = End - Header->RingSizeInBytes;
        Position -= Position % TRACE_RECORD_SIZE;
    }

    for (; Position + TRACE_RECORD_SIZE <= End;
         Position += TRACE_RECORD_SIZE) {
        Place = FUZZ_SEGMENT +
                (Position - FUZZ_SEGMENT) % Header->RingSizeInBytes;
        memcpy(Store + Place, File->Bytes + Position, TRACE_RECORD_SIZE);
    }

    FuzzDefault(&Header->BlocksFileOffset,
                FUZZ_SEGMENT + Header->RingSizeInBytes);
    FuzzDefault(&Header->BlocksTail, TRACE_BLOCKS_NO_TAIL);
    FuzzDefault(&Header->BlocksFirst, Oldest);
    FuzzDefault(&Header->BlocksEnd, StreamEnd);
    if (First != TRACE_HEADER_SIZE) {
        FuzzDefault(&Header->FirstPosition, First);
    }

    memcpy(Store, Header, sizeof(*Header));
    free(File->Bytes);
    Header = (PTRACE_STORE_HEADER)(PVOID)Store;
    File->Bytes = Store;
    File->Size = Size;
    File->Cursor = Header->Cursor;
    File->FirstPosition = Header->FirstPosition;
    File->BlocksEnd = Header->BlocksEnd;
    if ((File->Flags & FUZZ_FILE_GROWS) != 0) {

        //
        // Earlier: the last block was being written.
        //

        Header->BlocksEnd = EarlyStream;
        Header->FirstPosition = EarlyEnd == TRACE_HEADER_SIZE ? 0 : EarlyEnd;
        Header->Cursor -= End - First;
        Header->State = TRACE_STATE_OPEN;
        Header->Reason = TRACE_REASON_NONE;
    }
}
