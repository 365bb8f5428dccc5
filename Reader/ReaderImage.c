/*++

Module Name:

    ReaderImage.c

Abstract:

    Commands that take an image in place of a session.

--*/

#include "ReaderImage.h"

//
// Where the headers of an image have what identifies it: bytes from the start
// of the file, and from the signature on.
//

#define PE_MAGIC                0x5A4Du
#define PE_SIGNATURE            0x00004550u
#define PE_SIGNATURE_OFFSET     0x3C
#define PE_TIME_DATE_STAMP      8
#define PE_IMAGE_BASE           48
#define PE_SIZE_OF_IMAGE        80
#define PE_CHECK_SUM            88
#define PE_IDENTITY_SIZE        92


static
ULONG
ReaderLoadField(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
/*++

Routine Description:

    Reads a little-endian 32-bit number, whatever its alignment.

Arguments:

    Bytes - Its first byte.

Return Value:

    The number.

--*/
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}


static
BOOLEAN
ReaderReadIdentity(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _Inout_ PREADER_IMAGE Image
    )
/*++

Routine Description:

    Reads what identifies an image from its headers.

Arguments:

    Context - The context.

    Path - Where it may be.

    Image - Receives the identity, in its header.

Return Value:

    FALSE if there is no such file, or it is no image.

--*/
{
    PCRTL Rtl = Context->Rtl;
    const UCHAR *Bytes = Image->Bytes;
    UNICODE_STRING Dos;
    UNICODE_STRING Nt;
    HANDLE File;
    ULONG Offset;
    ULONG Size = 0;
    NTSTATUS Status;

    RtlPointUnicodeString(&Dos, Path, RtlLengthOfWideString(Path));
    Status = RtlDosPathToNtPath(Rtl,
                                &Dos,
                                Image->Path,
                                RTL_NUMBER_OF(Image->Path),
                                &Nt);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Status = RtlOpenFileForReading(Rtl, &Nt, &File);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    Status = RtlReadFile(Rtl,
                         File,
                         0,
                         Image->Bytes,
                         sizeof(Image->Bytes),
                         &Size);
    RtlClose(Rtl, File);
    if (!NT_SUCCESS(Status) || Size < PE_SIGNATURE_OFFSET + 4 ||
        (ReaderLoadField(Bytes) & 0xFFFF) != PE_MAGIC) {
        return FALSE;
    }

    Offset = ReaderLoadField(Bytes + PE_SIGNATURE_OFFSET);
    if (Offset > Size || Size - Offset < PE_IDENTITY_SIZE ||
        ReaderLoadField(Bytes + Offset) != PE_SIGNATURE) {
        return FALSE;
    }

    Image->Header.ModuleBase =
        ReaderLoadField(Bytes + Offset + PE_IMAGE_BASE) |
        ((ULONGLONG)ReaderLoadField(Bytes + Offset + PE_IMAGE_BASE + 4)
            << 32);
    Image->Header.ModuleSize =
        ReaderLoadField(Bytes + Offset + PE_SIZE_OF_IMAGE);
    Image->Header.ModuleTimeDateStamp =
        ReaderLoadField(Bytes + Offset + PE_TIME_DATE_STAMP);
    Image->Header.ModuleCheckSum =
        ReaderLoadField(Bytes + Offset + PE_CHECK_SUM);
    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
ReaderOpenImage(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    PREADER_SESSION Session,
    PREADER_IMAGE *NewImage
    )
/*++

Routine Description:

    Makes an image that is no part of a session look like a session's module.

Arguments:

    Context - The context.

    Options - The options: its path, and --module.

    Session - Receives what a session has of its modules; zeroed before.

    NewImage - Receives the image.

Return Value:

    STATUS_SUCCESS, also if the path is not an image's: there is none then.

    STATUS_NO_MEMORY, STATUS_NAME_TOO_LONG.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_IMAGE Image;
    ULONG Length = RtlLengthOfString(Options->PathUtf8);
    ULONG Index;

    *NewImage = NULL;
    Image = (PREADER_IMAGE)
        Allocator->Allocate(Allocator->Context, sizeof(*Image));
    if (Image == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(Image, sizeof(*Image));
    if (!ReaderReadIdentity(Context, Options->Path, Image)) {
        Allocator->Free(Allocator->Context, Image);
        return STATUS_SUCCESS;
    }

    if (Length > sizeof(Image->Header.ModulePath)) {
        Allocator->Free(Allocator->Context, Image);
        return STATUS_NAME_TOO_LONG;
    }

    RtlCopyBytes(Image->Header.ModulePath, Options->PathUtf8, Length);
    Image->Header.ModulePathLength = Length;
    Image->Header.ModulePathFullLength = Length;
    for (Index = Length; Index > 0; Index--) {
        if (Options->PathUtf8[Index - 1] == '\\' ||
            Options->PathUtf8[Index - 1] == '/' ||
            Options->PathUtf8[Index - 1] == ':') {
            break;
        }
    }

    Image->Module.Header = &Image->Header;
    Image->Module.Name = Image->Header.ModulePath + Index;
    Image->Module.NameLength = Length - Index;
    Image->Modules[0] = &Image->Module;

    *NewImage = Image;
    Session->Context = Context;
    Session->Modules = Image->Modules;
    Session->NumberOfModules = 1;
    CoreInitializeClock(&Session->Clock);
    ReaderSelectModules(Session, Options->Module);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
ReaderCloseImage(
    PREADER_SESSION Session,
    PREADER_IMAGE Image
    )
/*++

Routine Description:

    Frees an image.

Arguments:

    Session - What ReaderOpenImage has made of it.

    Image - The image.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Session->Context->Allocator;

    ReaderDestroySymbols(Image->Module.Symbols);
    Allocator->Free(Allocator->Context, Image);
}
