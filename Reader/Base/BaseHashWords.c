/*++

Module Name:

    BaseHashWords.c

Abstract:

    The hash that files of ours are checked by and recognized with.  It is part
    of what these files are (Docs/Format.md).

--*/

#include "BaseHashWords.h"

//
// 2^64 divided by the golden ratio.
//

#define READER_WORDS_MULTIPLIER 0x9E3779B97F4A7C15ULL

_Use_decl_annotations_
ULONGLONG
BaseHashWords(
    ULONGLONG Hash,
    const VOID *Bytes,
    SIZE_T SizeInBytes
    )
{
    const ULONGLONG *Words = (const ULONGLONG *)Bytes;
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes / sizeof(ULONGLONG); Index++) {
        Hash = (Hash ^ Words[Index]) * READER_WORDS_MULTIPLIER;
        Hash ^= Hash >> 29;
    }

    return Hash;
}
