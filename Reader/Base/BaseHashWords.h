/*++

Module Name:

    BaseHashWords.h

Abstract:

    The hash that files of ours are checked by and recognized with.

--*/

#ifndef TRACER_BASE_HASH_WORDS_H
#define TRACER_BASE_HASH_WORDS_H

#include "../../Rtl/Rtl.h"

//
// Adds bytes to a hash.
// Hash: what was hashed before, or a seed.
// Bytes: aligned on 8.
// SizeInBytes: a multiple of 8.
//

ULONGLONG
BaseHashWords(
    _In_ ULONGLONG Hash,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes
    );

#endif // TRACER_BASE_HASH_WORDS_H
