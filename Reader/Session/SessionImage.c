/*++

Module Name:

    SessionImage.c

Abstract:

    Commands that take an image in place of a session.

--*/

#include "SessionImage.h"
#include "SessionModule.h"

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


//
// Reads a little-endian 32-bit number, whatever its alignment.
// Bytes: its first byte.
//

static
ULONG
SessionLoadField(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}


//
// Reads what identifies an image from its headers.
// Path: where it may be.
// Returns FALSE if there is no such file, or it is no image.
//

static
BOOLEAN
SessionReadIdentity(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _Inout_ PREADER_IMAGE Image
    )
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
        (SessionLoadField(Bytes) & 0xFFFF) != PE_MAGIC) {
        return FALSE;
    }

    Offset = SessionLoadField(Bytes + PE_SIGNATURE_OFFSET);
    if (Offset > Size || Size - Offset < PE_IDENTITY_SIZE ||
        SessionLoadField(Bytes + Offset) != PE_SIGNATURE) {
        return FALSE;
    }

    Image->Header.ModuleBase =
        SessionLoadField(Bytes + Offset + PE_IMAGE_BASE) |
        ((ULONGLONG)SessionLoadField(Bytes + Offset + PE_IMAGE_BASE + 4)
            << 32);
    Image->Header.ModuleSize =
        SessionLoadField(Bytes + Offset + PE_SIZE_OF_IMAGE);
    Image->Header.ModuleTimeDateStamp =
        SessionLoadField(Bytes + Offset + PE_TIME_DATE_STAMP);
    Image->Header.ModuleCheckSum =
        SessionLoadField(Bytes + Offset + PE_CHECK_SUM);
    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
SessionOpenImage(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    PREADER_SESSION Session,
    PREADER_IMAGE *NewImage
    )
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
    if (!SessionReadIdentity(Context, Options->Path, Image)) {
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
    SessionSelectModules(Session, Options->Module);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SessionCloseImage(
    PREADER_SESSION Session,
    PREADER_IMAGE Image
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;

    SymbolDestroySymbols(Image->Module.Symbols);
    Allocator->Free(Allocator->Context, Image);
}
