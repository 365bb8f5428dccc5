/*++

Module Name:

    StringTableScalar.c

Abstract:

    The searches without vectors: eight bytes at a time.

--*/

#include "StringTablePrivate.h"

#define KERNEL_NAME(Name) KERNEL_NAME_OF(Name)
#define KERNEL_NAME_OF(Name) KERNEL_##Name
#define KERNEL_Flat StringTableFlatScalar
#define KERNEL_FlatBytes StringTableFlatScalarBytes
#define KERNEL_FlatUtf16 StringTableFlatScalarUtf16
#define KERNEL_Trie StringTableTrieScalar
#define KERNEL_TrieBytes StringTableTrieScalarBytes
#define KERNEL_TrieUtf16 StringTableTrieScalarUtf16
#define KERNEL_TARGET
#define KERNEL_WIDTH 8
#define KERNEL_IS_SCALAR 1

STRING_TABLE_INLINE
ULONG
KernelEqual(
    _In_reads_bytes_(KERNEL_WIDTH) const UCHAR *String,
    _In_reads_bytes_(KERNEL_WIDTH) const UCHAR *Prefix,
    _In_ ULONG Fold
    )
{
    ULONGLONG Difference;

    Difference = StringTableFold64(StringTableLoad64(String), Fold) ^
                 StringTableLoad64(Prefix);

    return Difference == 0 ? KERNEL_WIDTH :
                             StringTableLowestBit(Difference) / 8;
}

#include "StringTableKernel.h"
