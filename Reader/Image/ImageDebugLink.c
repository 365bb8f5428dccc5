/*++

Module Name:

    ImageDebugLink.c

Abstract:

    The file that holds an image's debugging information apart from it.
    ImageDebugLink.h says what the routines promise; the section is described
    in GDB's manual, "Debugging Information in Separate Files".

--*/

#include "ImageDebugLink.h"

#define READER_CRC_POLYNOMIAL 0xedb88320u
#define READER_CRC_ENTRIES 256

_Use_decl_annotations_
VOID
ImageFindDebugLink(
    PCREADER_COFF Coff,
    const UCHAR *Image,
    ULONGLONG SizeInBytes,
    PREADER_DEBUG_LINK Link
    )
{
    const UCHAR *Bytes;
    ULONG Length = 0;
    ULONG Offset;
    ULONG Size;

    Link->Checksum = 0;
    Link->NameLength = 0;
    Link->Name[0] = 0;

    Bytes = ImageFindCoffSection(Coff,
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

    ImageCopyPrintable(Link->Name, Bytes, Length);
    Link->Checksum = (ULONG)Bytes[Offset] |
                     ((ULONG)Bytes[Offset + 1] << 8) |
                     ((ULONG)Bytes[Offset + 2] << 16) |
                     ((ULONG)Bytes[Offset + 3] << 24);
    Link->NameLength = Length;
}

_Use_decl_annotations_
ULONG
ImageChecksumDebugFile(
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes
    )
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
ImageIsDebugFileOf(
    PCREADER_COFF DebugFile,
    PCREADER_COFF Image
    )
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
        Other = ImageFindCodeSection(DebugFile, Section->StartRva);
        if (Other == NULL ||
            Other->StartRva != Section->StartRva ||
            Other->EndRva != Section->EndRva) {
            return FALSE;
        }
    }

    return TRUE;
}
