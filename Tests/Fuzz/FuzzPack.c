/*++

Module Name:

    FuzzPack.c

Abstract:

    Fuzz target: any bytes as a pack (Reader/Base/BasePack.c), above a file in
    memory.  All of its directories are listed and its files read; of large
    ones, their beginning and their end.

    The input:

        2 bytes     which allocation fails; 0: none
        1 byte      which call of the system fails; 0: none
        1 byte      how many bytes the file gives at once, in units of 64; 0:
                    all
        1 byte      FUZZ_PACK_*
        the rest    the file

    The sums of blocks and the CRC of the pack are not checked (Build.sh).

--*/

#include "FuzzSupport.h"
#include "../../Reader/Base/BasePack.h"
#include "../../Reader/Base/BaseContainer.h"
#include <stdlib.h>
#include <string.h>

//
// The end of the file is made that of a pack: its magic and version, and where
// its lists begin, from their sizes.
//

#define FUZZ_PACK_END_IS_MADE   0x1

#define FUZZ_MAXIMUM_READ       0x280000ULL     // bytes of a file, at its
                                                // beginning
#define FUZZ_MAXIMUM_TOTAL      0x600000ULL     // of all files
#define FUZZ_MAXIMUM_PIECE      0x30000u
#define FUZZ_MAXIMUM_FOLDERS    4096u
#define FUZZ_STANDARD_END_OF_FILE 8             // offset of EndOfFile

static const WCHAR FuzzPath[] = L"\\??\\C:\\a.tracepack";

static const UCHAR *FuzzBytes;
static SIZE_T FuzzSize;
static ULONG FuzzPiece;
static ULONG FuzzCallsLeft;
static LONG FuzzHandles;

//
// Whether this call of the system is the one that fails.
//

static
BOOLEAN
FuzzIsFailing(
    VOID
    )
{
    if (FuzzCallsLeft == 0) {
        return FALSE;
    }

    FuzzCallsLeft -= 1;
    return FuzzCallsLeft == 0;
}

static
NTSTATUS
FuzzCreateFile(
    PHANDLE Handle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES Attributes,
    PIO_STATUS_BLOCK IoStatus,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(Attributes);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(AllocationSize);
    UNREFERENCED_PARAMETER(FileAttributes);
    UNREFERENCED_PARAMETER(ShareAccess);
    UNREFERENCED_PARAMETER(CreateOptions);
    UNREFERENCED_PARAMETER(EaBuffer);
    UNREFERENCED_PARAMETER(EaLength);

    FUZZ_CHECK(CreateDisposition == FILE_OPEN);
    if (FuzzIsFailing()) {
        return STATUS_ACCESS_DENIED;
    }

    FuzzHandles += 1;
    *Handle = (HANDLE)&FuzzHandles;
    return STATUS_SUCCESS;
}

static
NTSTATUS
FuzzReadFile(
    HANDLE FileHandle,
    HANDLE Event,
    PVOID ApcRoutine,
    PVOID ApcContext,
    PIO_STATUS_BLOCK IoStatus,
    PVOID Buffer,
    ULONG Length,
    PLARGE_INTEGER ByteOffset,
    PULONG Key
    )
{
    ULONGLONG Offset = (ULONGLONG)ByteOffset->QuadPart;

    UNREFERENCED_PARAMETER(Event);
    UNREFERENCED_PARAMETER(ApcRoutine);
    UNREFERENCED_PARAMETER(ApcContext);
    UNREFERENCED_PARAMETER(Key);

    FUZZ_CHECK(FileHandle == (HANDLE)&FuzzHandles && FuzzHandles == 1);
    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    if (Offset >= FuzzSize) {
        return STATUS_END_OF_FILE;
    }

    if (Length > FuzzSize - Offset) {
        Length = (ULONG)(FuzzSize - Offset);
    }

    if (FuzzPiece != 0 && Length > FuzzPiece) {
        Length = FuzzPiece;
    }

    FuzzSpendWork(Length);
    memcpy(Buffer, FuzzBytes + Offset, Length);
    IoStatus->Information = Length;
    return STATUS_SUCCESS;
}

static
NTSTATUS
FuzzQueryInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatus,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    ULONGLONG Size = FuzzSize;

    UNREFERENCED_PARAMETER(FileHandle);
    UNREFERENCED_PARAMETER(IoStatus);
    UNREFERENCED_PARAMETER(FileInformationClass);

    if (FuzzIsFailing()) {
        return STATUS_UNSUCCESSFUL;
    }

    memset(FileInformation, 0, Length);
    memcpy((PUCHAR)FileInformation + FUZZ_STANDARD_END_OF_FILE, &Size, 8);
    return STATUS_SUCCESS;
}

static
NTSTATUS
FuzzClose(
    HANDLE Handle
    )
{
    FUZZ_CHECK(Handle == (HANDLE)&FuzzHandles);
    FuzzHandles -= 1;
    return STATUS_SUCCESS;
}

static
WCHAR
FuzzUpcaseUnicodeChar(
    WCHAR SourceCharacter
    )
{
    return SourceCharacter >= L'a' && SourceCharacter <= L'z'
               ? (WCHAR)(SourceCharacter - 32)
               : SourceCharacter;
}

//
// What a pack has, as it is listed.
//

typedef struct _FUZZ_LISTING {
    PCREADER_PACK Pack;
    UNICODE_STRING Path;            // of the directory; room for any name
    ULONG NumberOfFiles;
    ULONG NumberOfFolders;
} FUZZ_LISTING;
typedef FUZZ_LISTING *PFUZZ_LISTING;

static NTSTATUS FuzzListFolder(PFUZZ_LISTING Listing);

//
// Appends a name to the path; returns how long it was.
//

static
USHORT
FuzzEnter(
    PFUZZ_LISTING Listing,
    PCUNICODE_STRING Name
    )
{
    USHORT Length = Listing->Path.Length;

    FUZZ_CHECK(Length + 2 + Name->Length <= Listing->Path.MaximumLength);
    Listing->Path.Buffer[Length / 2] = L'\\';
    memcpy(Listing->Path.Buffer + Length / 2 + 1, Name->Buffer, Name->Length);
    Listing->Path.Length = (USHORT)(Length + 2 + Name->Length);
    return Length;
}

//
// Takes an entry of a directory: a file, which must be found by its path, or a
// folder, which is not a file.
//

static
NTSTATUS
FuzzVisit(
    PVOID CallbackContext,
    PCUNICODE_STRING Name,
    ULONGLONG SizeInBytes,
    BOOLEAN IsDirectory
    )
{
    PFUZZ_LISTING Listing = (PFUZZ_LISTING)CallbackContext;
    UNICODE_STRING Whole;
    ULONG File;
    ULONG Index;
    USHORT Length;
    NTSTATUS Status = STATUS_SUCCESS;

    FUZZ_CHECK(Name->Length != 0);
    for (Index = 0; Index < Name->Length / sizeof(WCHAR); Index++) {
        FUZZ_CHECK(Name->Buffer[Index] >= L' ' &&
                   Name->Buffer[Index] != L'\\' &&
                   Name->Buffer[Index] != L'/' &&
                   Name->Buffer[Index] != L':');
    }

    FUZZ_CHECK(!(Name->Length == 2 && Name->Buffer[0] == L'.'));
    FUZZ_CHECK(!(Name->Length == 4 && Name->Buffer[0] == L'.' &&
                 Name->Buffer[1] == L'.'));
    Length = FuzzEnter(Listing, Name);
    File = BaseFindPackFile(Listing->Pack, &Listing->Path);
    if (!IsDirectory) {

        FUZZ_CHECK(File < BaseCountPackFiles(Listing->Pack));
        FUZZ_CHECK(BaseQueryPackFile(Listing->Pack, File, &Whole) ==
                   SizeInBytes);
        FUZZ_CHECK(Whole.Length >= Name->Length &&
                   memcmp((PUCHAR)Whole.Buffer + Whole.Length - Name->Length,
                          Name->Buffer,
                          Name->Length) == 0);
        Listing->NumberOfFiles += 1;

    } else {

        FUZZ_CHECK(File == READER_NONE);
        FUZZ_CHECK(SizeInBytes == 0);
        Listing->NumberOfFolders += 1;
        if (Listing->NumberOfFolders > FUZZ_MAXIMUM_FOLDERS) {
            Status = STATUS_CANCELLED;
        } else {
            Status = FuzzListFolder(Listing);
        }
    }

    Listing->Path.Length = Length;
    return Status;
}

static
NTSTATUS
FuzzListFolder(
    PFUZZ_LISTING Listing
    )
{
    return BaseListPack(Listing->Pack, &Listing->Path, FuzzVisit, Listing);
}

//
// Whether reading may fail so.
//

static
BOOLEAN
FuzzIsExpected(
    NTSTATUS Status,
    BOOLEAN IsFailing
    )
{
    return Status == STATUS_FILE_CORRUPT_ERROR ||
           Status == STATUS_REVISION_MISMATCH ||
           Status == STATUS_FILE_INVALID ||
           (IsFailing && (Status == STATUS_NO_MEMORY ||
                          Status == STATUS_UNSUCCESSFUL));
}

//
// Reads a part of a file, twice: in pieces through one view, and around its
// middle through another.
// End: where the part ends, not behind the file's end.
//

static
VOID
FuzzReadPart(
    PREADER_PACK Pack,
    ULONG File,
    ULONGLONG Offset,
    ULONGLONG End,
    ULONG Piece,
    PUCHAR Bytes,
    BOOLEAN IsFailing
    )
{
    READER_PACK_VIEW View;
    READER_PACK_VIEW Other;
    UCHAR Again[64];
    ULONG Read;
    ULONG ReadAgain;
    ULONG Wanted;
    NTSTATUS Status;

    memset(&View, 0, sizeof(View));
    memset(&Other, 0, sizeof(Other));
    while (Offset < End) {

        Wanted = End - Offset < Piece ? (ULONG)(End - Offset) : Piece;
        Read = 0xFFFFFFFF;
        Status = BaseReadPack(Pack, File, Offset, Bytes, Wanted, &View, &Read);
        if (!NT_SUCCESS(Status)) {
            FUZZ_CHECK(FuzzIsExpected(Status, IsFailing));
            FUZZ_CHECK(View.SizeInBytes == 0);
            Offset += CODEC_MAXIMUM_BYTES;
            continue;
        }

        FUZZ_CHECK(Read == Wanted);
        FUZZ_CHECK(View.SizeInBytes <= CODEC_MAXIMUM_BYTES);
        FUZZ_CHECK(Offset + Read - 1 >= View.FileOffset &&
                   Offset + Read - 1 - View.FileOffset < View.SizeInBytes);
        if (Read >= 2 * sizeof(Again) && !IsFailing) {
            Status = BaseReadPack(Pack,
                                  File,
                                  Offset + Read / 2,
                                  Again,
                                  sizeof(Again),
                                  &Other,
                                  &ReadAgain);
            FUZZ_CHECK(NT_SUCCESS(Status) && ReadAgain == sizeof(Again));
            FUZZ_CHECK(memcmp(Again, Bytes + Read / 2, sizeof(Again)) == 0);
        }

        Offset += Read;
    }

    BaseFreePackView(Pack, &View);
    BaseFreePackView(Pack, &Other);
}

//
// Reads all files.
//

static
VOID
FuzzReadFiles(
    PREADER_PACK Pack,
    ULONG Piece,
    BOOLEAN IsFailing
    )
{
    PUCHAR Bytes = malloc(Piece);
    READER_PACK_VIEW View;
    UNICODE_STRING Name;
    ULONGLONG Left = FUZZ_MAXIMUM_TOTAL;
    ULONGLONG Size;
    ULONGLONG First;
    ULONG File;
    ULONG Read;

    if (Bytes == NULL) {
        abort();
    }

    for (File = 0; File < BaseCountPackFiles(Pack); File++) {

        Size = BaseQueryPackFile(Pack, File, &Name);
        memset(&View, 0, sizeof(View));
        FUZZ_CHECK(BaseReadPack(Pack, File, Size, Bytes, 1, &View, &Read) ==
                   STATUS_END_OF_FILE);
        FUZZ_CHECK(Read == 0);
        FUZZ_CHECK(Size == 0 ||
                   !NT_SUCCESS(BaseReadPack(Pack, File, Size - 1, Bytes, 2,
                                            &View, &Read)) ||
                   Read == 1);
        BaseFreePackView(Pack, &View);
        First = Size < FUZZ_MAXIMUM_READ ? Size : FUZZ_MAXIMUM_READ;
        if (First > Left) {
            First = Left;
        }

        Left -= First;
        FuzzReadPart(Pack, File, 0, First, Piece, Bytes, IsFailing);
        if (Size > First && Left != 0) {
            FuzzReadPart(Pack,
                         File,
                         Size - First < Piece ? First : Size - Piece,
                         Size,
                         Piece,
                         Bytes,
                         IsFailing);
        }
    }

    free(Bytes);
}

//
// Makes the end that of a pack.
//

static
VOID
FuzzMakeEnd(
    PUCHAR Bytes,
    SIZE_T Size
    )
{
    READER_PACK_HEADER Header;
    READER_PACK_END End;
    ULONGLONG Lists;

    if (Size < sizeof(Header) + sizeof(End)) {
        return;
    }

    memset(&Header, 0, sizeof(Header));
    Header.Magic = READER_PACK_MAGIC;
    Header.Version = READER_PACK_VERSION;
    Header.HeaderSize = sizeof(Header);
    memcpy(Bytes, &Header, sizeof(Header));
    Size -= sizeof(End);
    memcpy(&End, Bytes + Size, sizeof(End));
    End.Magic = READER_PACK_END_MAGIC;
    End.Version = READER_PACK_VERSION;
    End.Unused[0] = 0;
    End.Unused[1] = 0;
    End.Unused2 = 0;
    Lists = (ULONGLONG)End.NumberOfFiles * sizeof(READER_PACK_FILE) +
            End.NumberOfBlocks * sizeof(READER_PACK_BLOCK) + End.SizeOfNames;
    End.FilesOffset = Size - Lists;
    memcpy(Bytes + Size, &End, sizeof(End));
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    static WCHAR Path[0x8000];
    FUZZ_ALLOCATOR Allocator;
    FUZZ_INPUT Input = { Data, Size };
    FUZZ_LISTING Listing;
    READER_CONTEXT Context;
    RTL Rtl;
    PREADER_PACK Pack;
    PUCHAR Bytes;
    UNICODE_STRING Name;
    BOOLEAN IsFailing;
    ULONG Flags;
    ULONG Piece;
    NTSTATUS Status;

    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 2));
    FuzzCallsLeft = (ULONG)FuzzTake(&Input, 1);
    IsFailing = FuzzCallsLeft != 0 || Allocator.FailAfter != 0;
    FuzzPiece = (ULONG)FuzzTake(&Input, 1) * 64;
    Flags = (ULONG)FuzzTake(&Input, 1);
    Piece = (Flags & 0xF0) == 0 ? FUZZ_MAXIMUM_PIECE
                                : ((Flags & 0xF0) << 6) + (Flags >> 4);
    FuzzSize = Input.Left;
    Bytes = malloc(FuzzSize + (FuzzSize == 0));
    if (Bytes == NULL) {
        abort();
    }

    memcpy(Bytes, Input.Bytes, FuzzSize);
    if ((Flags & FUZZ_PACK_END_IS_MADE) != 0) {
        FuzzMakeEnd(Bytes, FuzzSize);
    }

    FuzzBytes = Bytes;
    memset(&Rtl, 0, sizeof(Rtl));
    Rtl.NtCreateFile = FuzzCreateFile;
    Rtl.NtReadFile = FuzzReadFile;
    Rtl.NtQueryInformationFile = FuzzQueryInformationFile;
    Rtl.NtClose = FuzzClose;
    Rtl.RtlUpcaseUnicodeChar = FuzzUpcaseUnicodeChar;
    memset(&Context, 0, sizeof(Context));
    Context.Rtl = &Rtl;
    Context.Allocator = &Allocator.Allocator;
    Context.Decoder = NULL;

    //
    // What is decoded is limited, and so are the views that are zeroed for it.
    //

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(FuzzSize) + 40 * FUZZ_MAXIMUM_TOTAL);
    RtlPointUnicodeString(&Name,
                          (PWSTR)FuzzPath,
                          RTL_NUMBER_OF(FuzzPath) - 1);
    Status = BaseOpenPack(&Context, &Name, &Pack);
    FUZZ_CHECK(NT_SUCCESS(Status) == (Pack != NULL));
    if (NT_SUCCESS(Status)) {

        memset(&Listing, 0, sizeof(Listing));
        Listing.Pack = Pack;
        memcpy(Path, FuzzPath, sizeof(FuzzPath));
        Listing.Path.Buffer = Path;
        Listing.Path.Length = Name.Length;
        Listing.Path.MaximumLength = 0xFFFE;
        Status = FuzzListFolder(&Listing);
        FUZZ_CHECK(NT_SUCCESS(Status) ||
                   Listing.NumberOfFolders > FUZZ_MAXIMUM_FOLDERS);
        FUZZ_CHECK(!NT_SUCCESS(Status) ||
                   Listing.NumberOfFiles == BaseCountPackFiles(Pack));
        FuzzReadFiles(Pack, Piece, IsFailing);

    } else {

        FUZZ_CHECK(Status == STATUS_NOT_SUPPORTED ||
                   Status == STATUS_END_OF_FILE ||
                   FuzzIsExpected(Status, IsFailing) ||
                   (IsFailing && Status == STATUS_ACCESS_DENIED));
    }

    BaseClosePack(Pack);
    BaseClosePack(NULL);
    FUZZ_CHECK(FuzzHandles == 0);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    free(Bytes);
    return 0;
}
