/*++

Module Name:

    FuzzReal.c

Abstract:

    Inputs that are whole sessions: FuzzReal.h says how.

--*/

#include "FuzzReal.h"
#include <stdlib.h>
#include <string.h>

#define FUZZ_PIECE_HEAD 5               // bytes
#define FUZZ_PIECE_SIZE 0xFFFF
#define FUZZ_PIECE_GAP 0xFFFFFF

//
// Fewer zeroes than this do not end a piece.
//

#define FUZZ_PIECE_ZEROES 8

const PCSZ FuzzRealLines[] = {
    "info", "info --json", "report", "report --csv", "report --json",
    "report --lines", "report --percentiles --csv", "report --all",
    "report --subtract-probe", "report --by process",
    "report --function Leaf,-Work", "report --from 10us --to 3ms",
    "tree", "tree --csv", "tree --json --depth 3", "tree --per-thread",
    "tree --subtract-probe", "tree --exclude Leaf",
    "replay", "replay --all --times", "replay --json --limit 9",
    "verify", "verify --json", "threads", "threads --json", "modules",
    "modules --csv", "sessions", "diff", "diff --json",
    "outliers", "outliers --json --limit 3", "callers", "callers --csv",
    "callees", "callees --json --sort self --limit 2",
    "hot", "hot --json", "stack", "stack --json",
    "live --count 2 --interval 50", "live --count 2 --html O.html",
    "live --count 3 --budget 1", "live --count 2 --from-start",
    "export --format html --embed 0 -o O.html", "export --format chrome -o O.x",
    "export --format perfetto -o O.x", "export --format fxt -o O.x",
    "export --format speedscope -o O.x", "export --format folded -o O.x",
    "export --format callgrind -o O.x", "export --format csv -o O.x",
    "export --format csv-osr -o O.x", "export --format csv-cap -o O.x",
    "pack -o O.zip", "recover -o R", "ctl status", "report --no-cache",
    "report --mark-every 64", "tree --limit 4", "waits", "waits --json",
};

const ULONG FuzzNumberOfRealLines = RTL_NUMBER_OF(FuzzRealLines);

VOID
FuzzDecodeReal(
    const UCHAR *Data,
    SIZE_T Size,
    PFUZZ_REAL_SESSION Session
    )
{
    FUZZ_INPUT Input = { Data, Size };
    PFUZZ_REAL_FILE File;
    const UCHAR *Bytes;
    SIZE_T Length;
    SIZE_T Offset;
    ULONG Index;

    memset(Session, 0, sizeof(*Session));
    for (Index = 0; Index < FUZZ_REAL_HEAD; Index++) {
        Session->Head[Index] = (UCHAR)FuzzTake(&Input, 1);
    }

    while (Input.Left != 0 && Session->NumberOfFiles < FUZZ_REAL_FILES) {

        File = &Session->Files[Session->NumberOfFiles];
        Session->NumberOfFiles += 1;
        File->Flags = (ULONG)FuzzTake(&Input, 1);
        Length = (SIZE_T)FuzzTake(&Input, 1) & (FUZZ_REAL_NAME - 1);
        Bytes = FuzzTakeBytes(&Input, &Length);
        memcpy(File->Name, Bytes, Length);
        File->NameLength = (ULONG)Length;

        Length = (SIZE_T)FuzzTake(&Input, 4);
        if (Length > FUZZ_REAL_SIZE - Session->Size) {
            Length = FUZZ_REAL_SIZE - Session->Size;
        }

        FUZZ_CHECK(FuzzResizeReal(Session, File, Length));
        for (Offset = 0;;) {

            Offset += (SIZE_T)FuzzTake(&Input, 3);
            Length = (SIZE_T)FuzzTake(&Input, 2);
            if (Length == 0) {
                break;
            }

            Bytes = FuzzTakeBytes(&Input, &Length);
            if (Offset < File->Size) {
                memcpy(File->Bytes + Offset,
                       Bytes,
                       Length < File->Size - Offset ? Length
                                                    : File->Size - Offset);
            }

            Offset += Length;
        }
    }
}

BOOLEAN
FuzzResizeReal(
    PFUZZ_REAL_SESSION Session,
    PFUZZ_REAL_FILE File,
    SIZE_T Size
    )
{
    PUCHAR Bytes;

    if (Size > FUZZ_REAL_SIZE - (Session->Size - File->Size)) {
        return FALSE;
    }

    Bytes = (PUCHAR)calloc(1, Size + 1);
    if (Bytes == NULL) {
        abort();
    }

    if (File->Size != 0) {
        memcpy(Bytes, File->Bytes, File->Size < Size ? File->Size : Size);
    }

    free(File->Bytes);
    Session->Size += Size - File->Size;
    File->Bytes = Bytes;
    File->Size = Size;
    return TRUE;
}

VOID
FuzzFreeReal(
    PFUZZ_REAL_SESSION Session
    )
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfFiles; Index++) {
        free(Session->Files[Index].Bytes);
        Session->Files[Index].Bytes = NULL;
    }
}

BOOLEAN
FuzzHasSuffix(
    const FUZZ_REAL_FILE *File,
    PCSZ Suffix
    )
{
    ULONG Length = (ULONG)strlen(Suffix);

    return File->NameLength >= Length &&
           memcmp(File->Name + File->NameLength - Length,
                  Suffix,
                  Length) == 0;
}

//
// Appends bytes if there is room; a place of all ones says that there was none.
//

static
VOID
FuzzPut(
    PUCHAR Data,
    SIZE_T MaximumSize,
    PSIZE_T Place,
    const VOID *Bytes,
    SIZE_T SizeInBytes
    )
{
    if (*Place > MaximumSize || SizeInBytes > MaximumSize - *Place) {
        *Place = ~(SIZE_T)0;
        return;
    }

    memcpy(Data + *Place, Bytes, SizeInBytes);
    *Place += SizeInBytes;
}

SIZE_T
FuzzEncodeReal(
    const FUZZ_REAL_SESSION *Session,
    PUCHAR Data,
    SIZE_T MaximumSize
    )
{
    const FUZZ_REAL_FILE *File;
    SIZE_T Place = 0;
    SIZE_T Begin;
    SIZE_T End;
    SIZE_T Last;
    SIZE_T Zeroes;
    UCHAR Head[FUZZ_PIECE_HEAD];
    ULONG Size;
    ULONG Index;

    FuzzPut(Data, MaximumSize, &Place, Session->Head, FUZZ_REAL_HEAD);
    for (Index = 0; Index < Session->NumberOfFiles; Index++) {

        File = &Session->Files[Index];
        Head[0] = (UCHAR)File->Flags;
        Head[1] = (UCHAR)File->NameLength;
        Size = (ULONG)File->Size;
        FuzzPut(Data, MaximumSize, &Place, Head, 2);
        FuzzPut(Data, MaximumSize, &Place, File->Name, File->NameLength);
        FuzzPut(Data, MaximumSize, &Place, &Size, 4);

        for (Last = 0;; Last = End) {

            for (Begin = Last; Begin < File->Size && File->Bytes[Begin] == 0;
                 Begin++) {
            }

            if (Begin - Last > FUZZ_PIECE_GAP) {
                Begin = Last + FUZZ_PIECE_GAP;
            }

            for (End = Begin, Zeroes = 0;
                 End < File->Size && End - Begin < FUZZ_PIECE_SIZE &&
                 Zeroes < FUZZ_PIECE_ZEROES;
                 End++) {
                Zeroes = File->Bytes[End] == 0 ? Zeroes + 1 : 0;
            }

            End -= Zeroes;
            if (End <= Begin) {
                break;
            }

            Head[0] = (UCHAR)(Begin - Last);
            Head[1] = (UCHAR)((Begin - Last) >> 8);
            Head[2] = (UCHAR)((Begin - Last) >> 16);
            Head[3] = (UCHAR)(End - Begin);
            Head[4] = (UCHAR)((End - Begin) >> 8);
            FuzzPut(Data, MaximumSize, &Place, Head, FUZZ_PIECE_HEAD);
            FuzzPut(Data,
                    MaximumSize,
                    &Place,
                    File->Bytes + Begin,
                    End - Begin);
        }

        memset(Head, 0, sizeof(Head));
        FuzzPut(Data, MaximumSize, &Place, Head, FUZZ_PIECE_HEAD);
    }

    return Place > MaximumSize ? 0 : Place;
}
