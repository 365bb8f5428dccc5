/*++

Module Name:

    BaseCrc.c

Abstract:

    The CRC-32 of ZIP and gzip, eight bytes at a time.

--*/

#include "BaseCrc.h"

#define READER_CRC_POLYNOMIAL 0xEDB88320u   // reflected


_Use_decl_annotations_
VOID
BaseMakeCrcTables(
    PREADER_CRC_TABLES Tables
    )
{
    ULONG Byte;
    ULONG Bit;
    ULONG Table;
    ULONG Crc;

    for (Byte = 0; Byte < 256; Byte++) {

        Crc = Byte;
        for (Bit = 0; Bit < 8; Bit++) {
            Crc = (Crc >> 1) ^ ((Crc & 1) != 0 ? READER_CRC_POLYNOMIAL : 0);
        }

        Tables->Table[0][Byte] = Crc;
    }

    for (Table = 1; Table < 8; Table++) {
        for (Byte = 0; Byte < 256; Byte++) {
            Crc = Tables->Table[Table - 1][Byte];
            Tables->Table[Table][Byte] = (Crc >> 8) ^
                                         Tables->Table[0][(UCHAR)Crc];
        }
    }
}


_Use_decl_annotations_
ULONG
BaseAddToCrc(
    PCREADER_CRC_TABLES Tables,
    ULONG Crc,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    const UCHAR *Byte = (const UCHAR *)Bytes;
    ULONGLONG Word;

    for (; SizeInBytes >= 8; SizeInBytes -= 8, Byte += 8) {

        RtlCopyBytes(&Word, Byte, sizeof(Word));
        Word ^= Crc;
        Crc = Tables->Table[7][(UCHAR)Word] ^
              Tables->Table[6][(UCHAR)(Word >> 8)] ^
              Tables->Table[5][(UCHAR)(Word >> 16)] ^
              Tables->Table[4][(UCHAR)(Word >> 24)] ^
              Tables->Table[3][(UCHAR)(Word >> 32)] ^
              Tables->Table[2][(UCHAR)(Word >> 40)] ^
              Tables->Table[1][(UCHAR)(Word >> 48)] ^
              Tables->Table[0][(UCHAR)(Word >> 56)];
    }

    for (; SizeInBytes != 0; SizeInBytes--, Byte++) {
        Crc = (Crc >> 8) ^ Tables->Table[0][(UCHAR)(Crc ^ *Byte)];
    }

    return Crc;
}
