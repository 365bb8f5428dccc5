/*++

Module Name:

    ReaderDebugLink.c

Abstract:

    The file that holds an image's debugging information apart from it.
    ReaderDebugLink.h says what the routines promise; the section is described
    in GDB's manual, "Debugging Information in Separate Files".

--*/

#include "ReaderDebugLink.h"

#define READER_CRC_POLYNOMIAL 0xedb88320u
#define READER_CRC_ENTRIES 256

_Use_decl_annotations_
VOID
ReaderFindDebugLink(
    PCREADER_COFF Coff,
    const UCHAR *Image,
    ULONGLONG SizeInBytes,
    PREADER_DEBUG_LINK Link
    )
/*++

Routine Description:

    Reads the name of the file with the image's debugging information: a
    terminated name, then, at the next multiple of four, the checksum.

Arguments:

    Coff - Supplies the image's tables.

    Image - Supplies the image's file.

    SizeInBytes - Supplies its size.

    Link - Receives the name and the checksum.

Return Value:

    None.

--*/
{
    const UCHAR *Bytes;
    ULONG Length = 0;
    ULONG Offset;
    ULONG Size;

    Link->Checksum = 0;
    Link->NameLength = 0;
    Link->Name[0] = 0;

    Bytes = ReaderFindCoffSection(Coff,
                                  Image,
                                  SizeInBytes,
                                  ".gnu_debuglink",
                                  &Size);
    if (Bytes == NULL) {
        return;
    }

    while (Length < Size &&
           Length < READER_DEBUG_LINK_MAXIMUM_NAME &&
           Bytes[Length] != 0) {

        //
        // Nothing but the name of a file beside the image.
        //

        if (Bytes[Length] < ' ' ||
            Bytes[Length] == '/' ||
            Bytes[Length] == '\\' ||
            Bytes[Length] == ':' ||
            Bytes[Length] == '*' ||
            Bytes[Length] == '?') {
            return;
        }
        Length += 1;
    }

    Offset = (Length + 4) & ~3u;
    if (Length == 0 ||
        Offset > Size ||
        Size - Offset < sizeof(ULONG) ||
        Bytes[Length] != 0) {
        return;
    }

    ReaderCopyPrintable(Link->Name, Bytes, Length);
    Link->Checksum = (ULONG)Bytes[Offset] |
                     ((ULONG)Bytes[Offset + 1] << 8) |
                     ((ULONG)Bytes[Offset + 2] << 16) |
                     ((ULONG)Bytes[Offset + 3] << 24);
    Link->NameLength = Length;
}

_Use_decl_annotations_
ULONG
ReaderChecksumDebugFile(
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Computes the checksum of a file.

Arguments:

    Bytes - Supplies the file.

    SizeInBytes - Supplies its size.

Return Value:

    The checksum.

--*/
{
    ULONG Table[READER_CRC_ENTRIES];
    ULONG Bit;
    ULONG Checksum;
    ULONGLONG Index;

    for (Index = 0; Index < READER_CRC_ENTRIES; Index++) {
        Checksum = (ULONG)Index;
        for (Bit = 0; Bit < 8; Bit++) {
            Checksum = (Checksum & 1) != 0 ?
                           (Checksum >> 1) ^ READER_CRC_POLYNOMIAL :
                           Checksum >> 1;
        }
        Table[Index] = Checksum;
    }

    Checksum = 0xffffffffu;
    for (Index = 0; Index < SizeInBytes; Index++) {
        Checksum = Table[(Checksum ^ Bytes[Index]) & 0xff] ^ (Checksum >> 8);
    }

    return ~Checksum;
}

_Use_decl_annotations_
BOOLEAN
ReaderIsDebugFileOf(
    PCREADER_COFF DebugFile,
    PCREADER_COFF Image
    )
/*++

Routine Description:

    Says whether two files are of one build.

Arguments:

    DebugFile - Supplies the tables of the file with debugging information.

    Image - Supplies those of the image.

Return Value:

    TRUE if they are.

--*/
{
    PCREADER_COFF_SECTION Section;
    PCREADER_COFF_SECTION Other;
    ULONG Index;

    if (DebugFile->ImageBase != Image->ImageBase) {
        return FALSE;
    }

    for (Index = 0; Index < Image->NumberOfSections; Index++) {
        Section = &Image->Sections[Index];
        if (!Section->IsExecutable || Section->StartRva == Section->EndRva) {
            continue;
        }
        Other = ReaderFindCodeSection(DebugFile, Section->StartRva);
        if (Other == NULL ||
            Other->StartRva != Section->StartRva ||
            Other->EndRva != Section->EndRva) {
            return FALSE;
        }
    }

    return TRUE;
}
