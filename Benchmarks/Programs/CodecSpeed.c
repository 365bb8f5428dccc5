/*++

Module Name:

    CodecSpeed.c

Abstract:

    How small and how fast the codec (Codec/) is on stores, beside lz4 and
    zstd at their fastest levels, if this machine has their libraries.

    usage: CodecSpeed ROUNDS NAME=STORE...

    A + before the name adds noise of 0 to 25 ticks to every time, as a finer
    clock would.  Of a store, the first 128 MiB of records are taken, in blocks
    of 1 MiB; all ways run in turn, ROUNDS times.  Rates are of medians, of the
    thread's processor time (on Windows, of the clock), in GB/s of records.

    Built natively it is linked with the sources, and with MinGW with the
    library that the products are made of.

--*/

#include "../../Codec/Codec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef _WIN32
#include <dlfcn.h>
#endif

#define SPEED_BLOCK (1u << 20)
#define SPEED_RECORDS ((size_t)128 << 20)
#define SPEED_ROUNDS 99
#define SPEED_NOISE 26

typedef struct _SPEED_WAY {
    const char *Name;
    size_t Block;                   // bytes that are encoded at once
    double Encode[SPEED_ROUNDS];    // seconds
    double Decode[SPEED_ROUNDS];
    size_t Bytes;
} SPEED_WAY;

static SPEED_WAY SpeedWays[] = {
    { "tokens", SPEED_BLOCK, { 0 }, { 0 }, 0 },
    { "tokens, blocks of 256 KiB", SPEED_BLOCK / 4, { 0 }, { 0 }, 0 },
    { "dense", SPEED_BLOCK, { 0 }, { 0 }, 0 },
    { "lz4 -1", SPEED_BLOCK, { 0 }, { 0 }, 0 },
    { "zstd -1", SPEED_BLOCK, { 0 }, { 0 }, 0 },
    { "copy", SPEED_BLOCK, { 0 }, { 0 }, 0 },
};

#define SPEED_WAYS (sizeof(SpeedWays) / sizeof(SpeedWays[0]))

static PCODEC_ENCODER SpeedEncoder;
static PCODEC_PACKER SpeedPacker;
static PCODEC_DECODER SpeedDecoder;
static int (*Lz4Compress)(const char *, char *, int, int);
static int (*Lz4Decompress)(const char *, char *, int, int);
static size_t (*ZstdCompress)(void *, size_t, const void *, size_t, int);
static size_t (*ZstdDecompress)(void *, size_t, const void *, size_t);

static double
SpeedNow(
    void
    )
{
#ifdef _WIN32
    LARGE_INTEGER Count;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Count);
    QueryPerformanceFrequency(&Frequency);
    return (double)Count.QuadPart / (double)Frequency.QuadPart;
#else
    struct timespec Time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &Time);
    return (double)Time.tv_sec + (double)Time.tv_nsec * 1e-9;
#endif
}

static int
SpeedHas(
    size_t Way
    )
{
    return (Way != 3 || Lz4Compress != NULL) &&
           (Way != 4 || ZstdCompress != NULL);
}

static size_t
SpeedEncode(
    size_t Way,
    const unsigned char *Raw,
    size_t Size,
    unsigned char *Block
    )
{
    switch (Way) {

    case 2:
        return CodecPack(SpeedPacker, Raw, (ULONG)Size, 0, Block);

    case 3:
        return (size_t)Lz4Compress((const char *)Raw, (char *)Block, (int)Size,
                                   2 * SPEED_BLOCK);

    case 4:
        return ZstdCompress(Block, 2 * SPEED_BLOCK, Raw, Size, 1);

    case 5:
        memcpy(Block, Raw, Size);
        return Size;
    }

    return CodecEncode(SpeedEncoder, Raw, (ULONG)Size, 0, Block);
}

static int
SpeedDecode(
    size_t Way,
    const unsigned char *Block,
    size_t SizeOfBlock,
    unsigned char *Raw,
    size_t Size
    )
{
    CODEC_BLOCK Header;

    switch (Way) {

    case 3:
        return Lz4Decompress((const char *)Block, (char *)Raw,
                             (int)SizeOfBlock, (int)Size) == (int)Size;

    case 4:
        return ZstdDecompress(Raw, Size, Block, SizeOfBlock) == Size;

    case 5:
        memcpy(Raw, Block, Size);
        return 1;
    }

    return NT_SUCCESS(CodecDecode(SpeedDecoder, Block, SizeOfBlock, Raw, Size,
                                  &Header));
}

//
// One way, one round: all blocks are encoded, and decoded to the same bytes.
//

static void
SpeedRun(
    size_t Way,
    int Round,
    const unsigned char *Records,
    size_t Size,
    unsigned char *Encoded,
    unsigned char *Raw
    )
{
    SPEED_WAY *This = &SpeedWays[Way];
    size_t Number = (Size + This->Block - 1) / This->Block;
    size_t *Sizes = malloc(Number * sizeof(size_t));
    unsigned char *Next = Encoded;
    size_t Index;
    size_t Length;
    double Start = SpeedNow();

    for (Index = 0; Index < Number; Index++) {
        Length = Size - Index * This->Block;
        Length = Length < This->Block ? Length : This->Block;
        Sizes[Index] = SpeedEncode(Way, Records + Index * This->Block, Length,
                                   Next);
        Next += (Sizes[Index] + 7) & ~(size_t)7;
    }

    This->Encode[Round] = SpeedNow() - Start;
    This->Bytes = 0;
    This->Decode[Round] = 0;
    Next = Encoded;
    for (Index = 0; Index < Number; Index++) {
        Length = Size - Index * This->Block;
        Length = Length < This->Block ? Length : This->Block;
        Start = SpeedNow();
        if (!SpeedDecode(Way, Next, Sizes[Index], Raw, Length)) {
            fprintf(stderr, "%s: a block is refused\n", This->Name);
            exit(1);
        }

        This->Decode[Round] += SpeedNow() - Start;
        if (memcmp(Raw, Records + Index * This->Block, Length) != 0) {
            fprintf(stderr, "%s: other bytes\n", This->Name);
            exit(1);
        }

        This->Bytes += Sizes[Index];
        Next += (Sizes[Index] + 7) & ~(size_t)7;
    }

    free(Sizes);
}

static int
SpeedCompare(
    const void *First,
    const void *Second
    )
{
    double Difference = *(const double *)First - *(const double *)Second;

    return Difference < 0 ? -1 : Difference > 0;
}

static unsigned char *
SpeedLoad(
    const char *Path,
    int IsNoisy,
    size_t *Size
    )
{
    FILE *File = fopen(Path, "rb");
    unsigned char *Records = malloc(SPEED_RECORDS);
    unsigned Random = 1;
    size_t Index;
    unsigned long long Time;

    if (File == NULL || Records == NULL || fseek(File, 4096, SEEK_SET) != 0) {
        perror(Path);
        exit(2);
    }

    *Size = fread(Records, 1, SPEED_RECORDS, File) / 16 * 16;
    fclose(File);
    for (Index = 0; IsNoisy && Index < *Size; Index += 16) {
        Random = Random * 1664525u + 1013904223u;
        memcpy(&Time, Records + Index, 8);
        Time += (Random >> 8) % SPEED_NOISE;
        memcpy(Records + Index, &Time, 8);
    }

    return Records;
}

int
main(
    int Count,
    char **Arguments
    )
{
    unsigned char *Encoded = malloc(SPEED_RECORDS + (SPEED_RECORDS >> 4) +
                                    4 * SPEED_BLOCK);
    unsigned char *Raw = malloc(SPEED_BLOCK);
    unsigned char *Records;
    char *Path;
    int Argument;
    int Round;
    int Rounds = Count > 1 ? atoi(Arguments[1]) : 0;
    size_t Size;
    size_t Way;

    SpeedEncoder = malloc(CODEC_ENCODER_SIZE);
    SpeedPacker = malloc(CODEC_PACKER_SIZE);
    SpeedDecoder = malloc(CODEC_DECODER_SIZE);
    if (Rounds < 1 || Rounds > SPEED_ROUNDS || Encoded == NULL ||
        Raw == NULL || SpeedEncoder == NULL || SpeedPacker == NULL ||
        SpeedDecoder == NULL) {
        fprintf(stderr, "usage: CodecSpeed ROUNDS NAME=STORE...\n");
        return 2;
    }

#ifndef _WIN32
    {
        void *Lz4 = dlopen("liblz4.so.1", RTLD_NOW);
        void *Zstd = dlopen("libzstd.so.1", RTLD_NOW);

        if (Lz4 != NULL) {
            *(void **)&Lz4Compress = dlsym(Lz4, "LZ4_compress_default");
            *(void **)&Lz4Decompress = dlsym(Lz4, "LZ4_decompress_safe");
        }

        if (Zstd != NULL) {
            *(void **)&ZstdCompress = dlsym(Zstd, "ZSTD_compress");
            *(void **)&ZstdDecompress = dlsym(Zstd, "ZSTD_decompress");
        }
    }
#endif

    for (Argument = 2; Argument < Count; Argument++) {

        Path = strchr(Arguments[Argument], '=');
        if (Path == NULL) {
            return 2;
        }

        *Path = 0;
        Records = SpeedLoad(Path + 1, Arguments[Argument][0] == '+', &Size);
        memset(Encoded, 1, SPEED_RECORDS);
        for (Round = 0; Round < Rounds; Round++) {
            for (Way = 0; Way < SPEED_WAYS; Way++) {
                if (SpeedHas(Way)) {
                    SpeedRun(Way, Round, Records, Size, Encoded, Raw);
                }
            }
        }

        for (Way = 0; Way < SPEED_WAYS; Way++) {

            SPEED_WAY *This = &SpeedWays[Way];

            if (!SpeedHas(Way)) {
                continue;
            }

            qsort(This->Encode, Rounds, sizeof(double), SpeedCompare);
            qsort(This->Decode, Rounds, sizeof(double), SpeedCompare);
            printf("%s|%s|%zu|%.3f|%.2f|%.2f\n", Arguments[Argument],
                   This->Name, Size / 16, (double)This->Bytes * 32 / Size,
                   (double)Size / This->Encode[Rounds / 2] / 1e9,
                   (double)Size / This->Decode[Rounds / 2] / 1e9);
        }

        free(Records);
    }

    return 0;
}
