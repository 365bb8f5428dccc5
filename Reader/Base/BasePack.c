/*++

Module Name:

    BasePack.c

Abstract:

    Reads a pack.  Nothing in it is believed: what contradicts itself, or
    points outside, makes the pack or the block one that is refused.

--*/

#include "BaseContainer.h"
#include "BaseCrc.h"
#include "BasePack.h"

//
// A fuzz target has to get beyond the checksum.
//

#ifndef READER_PACK_IS_CHECKED
#define READER_PACK_IS_CHECKED 1
#endif

//
// What one decoding works with.  Those that are not in use wait for the next.
//

typedef struct _READER_PACK_SCRATCH {
    ULONGLONG Decoder[CODEC_DECODER_SIZE / sizeof(ULONGLONG)];
    ULONGLONG Block[CODEC_BOUND(CODEC_MAXIMUM_BYTES) / sizeof(ULONGLONG) + 1];
} READER_PACK_SCRATCH;
typedef READER_PACK_SCRATCH *PREADER_PACK_SCRATCH;

struct _READER_PACK {
    PCREADER_CONTEXT Context;
    HANDLE File;
    UNICODE_STRING Path;            // NT path, allocated
    PUCHAR Directory;               // files, blocks and names, allocated
    PCREADER_PACK_FILE Files;       // these two in it
    PCREADER_PACK_BLOCK Blocks;
    ULONG NumberOfFiles;
    ULONGLONG NumberOfBlocks;
    PUNICODE_STRING Names;          // of the files; in Text
    PWCHAR Text;                    // allocated
    PULONG Order;                   // files, by name in upper case
    PREADER_PACK_SCRATCH volatile Scratch;  // one that nobody uses, or NULL
};


//
// Compares names as Windows does.
//

static
LONG
BaseComparePackNames(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING First,
    _In_ PCUNICODE_STRING Second
    )
{
    ULONG FirstLength = First->Length / sizeof(WCHAR);
    ULONG SecondLength = Second->Length / sizeof(WCHAR);
    ULONG Index;

    for (Index = 0; Index < FirstLength && Index < SecondLength; Index++) {

        WCHAR One = Rtl->RtlUpcaseUnicodeChar(First->Buffer[Index]);
        WCHAR Other = Rtl->RtlUpcaseUnicodeChar(Second->Buffer[Index]);

        //
        // A folder's files come one after another, before all other names
        // that begin so.
        //

        if (One != Other) {
            if (One == L'\\' || Other == L'\\') {
                return One == L'\\' ? -1 : 1;
            }
            return One < Other ? -1 : 1;
        }
    }

    return FirstLength < SecondLength ? -1 : FirstLength > SecondLength;
}


static
LONG
BaseComparePackFiles(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_PACK Pack = (PREADER_PACK)CompareContext;

    return BaseComparePackNames(Pack->Context->Rtl,
                                &Pack->Names[First],
                                &Pack->Names[Second]);
}


//
// Reads bytes of the pack's file, all of them.
//

_Must_inspect_result_
static
NTSTATUS
BaseReadPackFile(
    _In_ PCREADER_PACK Pack,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PUCHAR Place = (PUCHAR)Bytes;
    ULONG ReadInBytes;
    NTSTATUS Status;

    while (SizeInBytes != 0) {

        Status = RtlReadFile(Pack->Context->Rtl,
                             Pack->File,
                             Offset,
                             Place,
                             SizeInBytes,
                             &ReadInBytes);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (ReadInBytes == 0) {
            return STATUS_END_OF_FILE;
        }

        Offset += ReadInBytes;
        Place += ReadInBytes;
        SizeInBytes -= ReadInBytes;
    }

    return STATUS_SUCCESS;
}


//
// Checks a file's blocks: in order, apart, inside the file and inside the
// pack.
// End: where the pack's blocks end.
// Gaps: how many bytes no block may have; those of this file are taken off.
//

static
BOOLEAN
BaseArePackBlocksGood(
    _In_ PCREADER_PACK Pack,
    _In_ PCREADER_PACK_FILE File,
    _In_ ULONGLONG End,
    _Inout_ PULONGLONG Gaps
    )
{
    PCREADER_PACK_BLOCK Block;
    ULONGLONG Missing = File->SizeInBytes;
    ULONGLONG Offset = 0;
    ULONG Index;

    if (File->FirstBlock > Pack->NumberOfBlocks ||
        File->NumberOfBlocks > Pack->NumberOfBlocks - File->FirstBlock ||
        File->SizeInBytes > INT64_MAX || File->Unused != 0) {
        return FALSE;
    }

    for (Index = 0; Index < File->NumberOfBlocks; Index++) {

        Block = &Pack->Blocks[File->FirstBlock + Index];
        if (Block->RawBytes == 0 ||
            Block->RawBytes > CODEC_MAXIMUM_BYTES ||
            Block->FileOffset < Offset ||
            Block->FileOffset > File->SizeInBytes ||
            Block->RawBytes > File->SizeInBytes - Block->FileOffset ||
            Block->BlockSize < CODEC_HEADER_SIZE ||
            Block->BlockSize > CODEC_BOUND(Block->RawBytes) ||
            Block->PackOffset < sizeof(READER_PACK_HEADER) ||
            Block->PackOffset % sizeof(ULONGLONG) != 0 ||
            Block->PackOffset > End ||
            Block->BlockSize > End - Block->PackOffset) {
            return FALSE;
        }

        Offset = Block->FileOffset + Block->RawBytes;
        Missing -= Block->RawBytes;
    }

    if (Missing > *Gaps) {
        return FALSE;
    }

    *Gaps -= Missing;
    return TRUE;
}


//
// Gives the files their names, and finds those that cannot be.
// Names: in UTF-8, SizeInBytes of them.
//

_Must_inspect_result_
static
NTSTATUS
BaseNamePackFiles(
    _Inout_ PREADER_PACK Pack,
    _In_reads_bytes_(SizeInBytes) const CHAR *Names,
    _In_ ULONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    PCREADER_PACK_FILE File;
    PUNICODE_STRING Name;
    PWCHAR Place;
    ULONG Left = SizeInBytes;
    ULONG Length;
    ULONG Index;
    ULONG Char;

    Pack->Names = (PUNICODE_STRING)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Pack->NumberOfFiles + 1) *
                                sizeof(UNICODE_STRING));
    Pack->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Pack->NumberOfFiles + 1) *
                                sizeof(ULONG));
    Pack->Text = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                             ((SIZE_T)SizeInBytes + 1) *
                                                 sizeof(WCHAR));
    if (Pack->Names == NULL || Pack->Order == NULL || Pack->Text == NULL) {
        return STATUS_NO_MEMORY;
    }

    //
    // Names do not share their bytes, so that all have room.
    //

    Place = Pack->Text;
    for (Index = 0; Index < Pack->NumberOfFiles; Index++) {

        File = &Pack->Files[Index];
        Name = &Pack->Names[Index];
        if (File->NameLength == 0 || File->NameLength > Left ||
            File->Name > SizeInBytes ||
            File->NameLength > SizeInBytes - File->Name ||
            File->NameLength >= RTL_MAXIMUM_PATH_IN_CHARS) {
            return STATUS_FILE_CORRUPT_ERROR;
        }

        RtlUtf8ToWide(Names + File->Name,
                      File->NameLength,
                      Place,
                      File->NameLength,
                      &Length);
        Left -= File->NameLength;
        for (Char = 0; Char < Length; Char++) {
            if (Place[Char] == L'\\') {
                return STATUS_FILE_CORRUPT_ERROR;
            }
            if (Place[Char] == L'/') {
                Place[Char] = L'\\';
            }
        }

        RtlPointUnicodeString(Name, Place, Length);
        Place += Length;
        Pack->Order[Index] = Index;
        if (!RtlIsPlainName(Name, TRUE)) {
            return STATUS_FILE_CORRUPT_ERROR;
        }
    }

    BaseSort(Pack->Order, Pack->NumberOfFiles, BaseComparePackFiles, Pack);
    for (Index = 1; Index < Pack->NumberOfFiles; Index++) {

        PCUNICODE_STRING First = &Pack->Names[Pack->Order[Index - 1]];
        UNICODE_STRING Second = Pack->Names[Pack->Order[Index]];

        //
        // The same name, or a file where a folder is.
        //

        if (Second.Length > First->Length &&
            Second.Buffer[First->Length / sizeof(WCHAR)] == L'\\') {
            Second.Length = First->Length;
        }

        if (BaseComparePackNames(Pack->Context->Rtl, First, &Second) == 0) {
            return STATUS_FILE_CORRUPT_ERROR;
        }
    }

    return STATUS_SUCCESS;
}


//
// Whether words that nothing is in yet are zero.
//

static
BOOLEAN
BaseIsPackRoomEmpty(
    _In_reads_(Count) const ULONGLONG *Words,
    _In_ ULONG Count
    )
{
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {
        if (Words[Index] != 0) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Reads and checks what a pack has.
// Pack: the pack, its file open.
//

_Must_inspect_result_
static
NTSTATUS
BaseReadPackDirectory(
    _Inout_ PREADER_PACK Pack
    )
{
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    READER_PACK_HEADER Header;
    READER_PACK_END End;
    PREADER_CRC_TABLES Tables;
    ULONGLONG FileSize;
    ULONGLONG Gaps = READER_PACK_MAXIMUM_GAPS;
    ULONGLONG Size;
    ULONG Crc;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseReadPackFile(Pack, 0, &Header, sizeof(Header));
    if (Status == STATUS_END_OF_FILE ||
        (NT_SUCCESS(Status) && Header.Magic != READER_PACK_MAGIC)) {
        return STATUS_NOT_SUPPORTED;
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Pack->Context->Rtl, Pack->File, &FileSize);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Header.Version != READER_PACK_VERSION) {
        return STATUS_REVISION_MISMATCH;
    }

    if (Header.HeaderSize != sizeof(Header) ||
        !BaseIsPackRoomEmpty(Header.Unused, RTL_NUMBER_OF(Header.Unused)) ||
        FileSize < sizeof(Header) + sizeof(End)) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    Status = BaseReadPackFile(Pack,
                              FileSize - sizeof(End),
                              &End,
                              sizeof(End));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (End.Magic != READER_PACK_END_MAGIC ||
        End.Version != READER_PACK_VERSION ||
        !BaseIsPackRoomEmpty(End.Unused, RTL_NUMBER_OF(End.Unused)) ||
        End.Unused2 != 0 ||
        End.NumberOfFiles > READER_PACK_MAXIMUM_FILES ||
        End.NumberOfBlocks >
            READER_PACK_MAXIMUM_SIZE / sizeof(READER_PACK_BLOCK) ||
        End.SizeOfNames > READER_PACK_MAXIMUM_SIZE ||
        End.FilesOffset < sizeof(Header) ||
        End.FilesOffset > FileSize - sizeof(End)) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    Size = (ULONGLONG)End.NumberOfFiles * sizeof(READER_PACK_FILE) +
           End.NumberOfBlocks * sizeof(READER_PACK_BLOCK) + End.SizeOfNames;
    if (Size > READER_PACK_MAXIMUM_SIZE ||
        Size != FileSize - sizeof(End) - End.FilesOffset) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    Pack->Directory = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                  (SIZE_T)Size + 1);
    Tables = (PREADER_CRC_TABLES)Allocator->Allocate(Allocator->Context,
                                                     sizeof(*Tables));
    Status = STATUS_NO_MEMORY;
    if (Pack->Directory != NULL && Tables != NULL) {
        Status = BaseReadPackFile(Pack,
                                  End.FilesOffset,
                                  Pack->Directory,
                                  (ULONG)Size);
    }

    if (NT_SUCCESS(Status)) {
        BaseMakeCrcTables(Tables);
        Crc = BaseAddToCrc(Tables,
                           READER_CRC_START,
                           Pack->Directory,
                           (ULONG)Size);
        Crc = BaseAddToCrc(Tables,
                           Crc,
                           &End,
                           FIELD_OFFSET(READER_PACK_END, Crc));
        if (READER_PACK_IS_CHECKED && ~Crc != End.Crc) {
            Status = STATUS_FILE_CORRUPT_ERROR;
        }
    }

    Allocator->Free(Allocator->Context, Tables);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Pack->NumberOfFiles = End.NumberOfFiles;
    Pack->NumberOfBlocks = End.NumberOfBlocks;
    Pack->Files = (PCREADER_PACK_FILE)Pack->Directory;
    Pack->Blocks = (PCREADER_PACK_BLOCK)(Pack->Files + Pack->NumberOfFiles);
    for (Index = 0; Index < Pack->NumberOfFiles; Index++) {
        if (!BaseArePackBlocksGood(Pack,
                                   &Pack->Files[Index],
                                   End.FilesOffset,
                                   &Gaps)) {
            return STATUS_FILE_CORRUPT_ERROR;
        }
    }

    return BaseNamePackFiles(Pack,
                             (const CHAR *)(Pack->Blocks +
                                            Pack->NumberOfBlocks),
                             (ULONG)End.SizeOfNames);
}


_Use_decl_annotations_
NTSTATUS
BaseOpenPack(
    PCREADER_CONTEXT Context,
    PCUNICODE_STRING NtPath,
    PREADER_PACK *Pack
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_PACK New;
    PWCHAR Path;
    NTSTATUS Status;

    *Pack = NULL;
    New = (PREADER_PACK)Allocator->Allocate(Allocator->Context, sizeof(*New));
    Path = (PWCHAR)Allocator->Allocate(Allocator->Context,
                                       (SIZE_T)NtPath->Length + 1);
    if (New == NULL || Path == NULL) {
        Allocator->Free(Allocator->Context, New);
        Allocator->Free(Allocator->Context, Path);
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(New, sizeof(*New));
    New->Context = Context;
    RtlCopyBytes(Path, NtPath->Buffer, NtPath->Length);
    RtlPointUnicodeString(&New->Path, Path, NtPath->Length / sizeof(WCHAR));
    Status = RtlOpenFileForReading(Context->Rtl, NtPath, &New->File);
    if (!NT_SUCCESS(Status)) {
        New->File = NULL;
    } else {
        Status = BaseReadPackDirectory(New);
    }

    if (NT_SUCCESS(Status)) {
        *Pack = New;
    } else {
        BaseClosePack(New);
    }

    return Status;
}


_Use_decl_annotations_
VOID
BaseClosePack(
    PREADER_PACK Pack
    )
{
    PCALLOCATOR Allocator;

    if (Pack == NULL) {
        return;
    }

    Allocator = Pack->Context->Allocator;
    if (Pack->File != NULL) {
        RtlClose(Pack->Context->Rtl, Pack->File);
    }

    Allocator->Free(Allocator->Context, Pack->Scratch);
    Allocator->Free(Allocator->Context, Pack->Text);
    Allocator->Free(Allocator->Context, Pack->Order);
    Allocator->Free(Allocator->Context, Pack->Names);
    Allocator->Free(Allocator->Context, Pack->Directory);
    Allocator->Free(Allocator->Context, Pack->Path.Buffer);
    Allocator->Free(Allocator->Context, Pack);
}


_Use_decl_annotations_
ULONG
BaseCountPackFiles(
    PCREADER_PACK Pack
    )
{
    return Pack->NumberOfFiles;
}


_Use_decl_annotations_
ULONGLONG
BaseQueryPackFile(
    PCREADER_PACK Pack,
    ULONG File,
    PUNICODE_STRING Name
    )
{
    *Name = Pack->Names[File];
    return Pack->Files[File].SizeInBytes;
}


//
// What an NT path has behind the pack's own.  FALSE: it is another's.
// Name: receives it, without a backslash at its beginning; "" for the pack.
//

_Success_(return != FALSE)
static
BOOLEAN
BaseTakePackName(
    _In_ PCREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PUNICODE_STRING Name
    )
{
    ULONG Length = Pack->Path.Length / sizeof(WCHAR);
    ULONG PathLength = NtPath->Length / sizeof(WCHAR);

    if (PathLength < Length ||
        !RtlAreBytesEqual(NtPath->Buffer,
                          Pack->Path.Buffer,
                          Pack->Path.Length) ||
        (PathLength > Length && NtPath->Buffer[Length] != L'\\')) {
        return FALSE;
    }

    if (PathLength > Length) {
        Length += 1;
    }

    RtlPointUnicodeString(Name,
                          NtPath->Buffer + Length,
                          PathLength - Length);
    return TRUE;
}


//
// Finds the first file, in order, whose name is not before a name.
//

static
ULONG
BaseFindPackPlace(
    _In_ PCREADER_PACK Pack,
    _In_ PCUNICODE_STRING Name
    )
{
    ULONG Begin = 0;
    ULONG End = Pack->NumberOfFiles;
    ULONG Middle;

    while (Begin < End) {
        Middle = Begin + (End - Begin) / 2;
        if (BaseComparePackNames(Pack->Context->Rtl,
                                 &Pack->Names[Pack->Order[Middle]],
                                 Name) < 0) {
            Begin = Middle + 1;
        } else {
            End = Middle;
        }
    }

    return Begin;
}


_Use_decl_annotations_
ULONG
BaseFindPackFile(
    PCREADER_PACK Pack,
    PCUNICODE_STRING NtPath
    )
{
    UNICODE_STRING Name;
    ULONG Place;

    if (!BaseTakePackName(Pack, NtPath, &Name)) {
        return READER_NONE;
    }

    Place = BaseFindPackPlace(Pack, &Name);
    if (Place < Pack->NumberOfFiles &&
        BaseComparePackNames(Pack->Context->Rtl,
                             &Name,
                             &Pack->Names[Pack->Order[Place]]) == 0) {
        return Pack->Order[Place];
    }

    return READER_NONE;
}


_Use_decl_annotations_
ULONGLONG
BaseFindPackRun(
    PCREADER_PACK Pack,
    ULONG File,
    ULONGLONG FileOffset
    )
{
    PCREADER_PACK_FILE Entry = &Pack->Files[File];
    PCREADER_PACK_BLOCK Block = Pack->Blocks + Entry->FirstBlock +
                                Entry->NumberOfBlocks;
    ULONGLONG Start = Entry->SizeInBytes;
    ULONG Left = Entry->NumberOfBlocks;

    for (; Left != 0 && Start > FileOffset; Left--) {
        Block -= 1;
        if (Block->FileOffset + Block->RawBytes != Start) {
            return Start;
        }

        Start = Block->FileOffset;
    }

    return Start > FileOffset ? Start : FileOffset;
}


_Use_decl_annotations_
NTSTATUS
BaseListPack(
    PCREADER_PACK Pack,
    PCUNICODE_STRING NtPath,
    PRTL_DIRECTORY_CALLBACK Callback,
    PVOID CallbackContext
    )
{
    UNICODE_STRING Folder;
    UNICODE_STRING Name;
    UNICODE_STRING Last;
    ULONG Index;
    ULONG Length;
    ULONG Skipped;
    BOOLEAN IsFound = FALSE;
    NTSTATUS Status = STATUS_SUCCESS;

    if (!BaseTakePackName(Pack, NtPath, &Folder)) {
        return STATUS_OBJECT_PATH_NOT_FOUND;
    }

    RtlPointUnicodeString(&Last, NULL, 0);
    for (Index = BaseFindPackPlace(Pack, &Folder);
         NT_SUCCESS(Status) && Index < Pack->NumberOfFiles;
         Index++) {

        Name = Pack->Names[Pack->Order[Index]];
        Length = Name.Length / sizeof(WCHAR);
        Skipped = Folder.Length / sizeof(WCHAR);
        if (Skipped != 0) {

            if (Length <= Skipped || Name.Buffer[Skipped] != L'\\') {
                break;
            }

            Name.Length = Folder.Length;
            if (BaseComparePackNames(Pack->Context->Rtl,
                                     &Name,
                                     &Folder) != 0) {
                break;
            }

            Skipped += 1;
        }

        IsFound = TRUE;
        RtlPointUnicodeString(&Name,
                              Name.Buffer + Skipped,
                              Length - Skipped);
        for (Length = 0; Length < Name.Length / sizeof(WCHAR); Length++) {
            if (Name.Buffer[Length] == L'\\') {
                break;
            }
        }

        if (Length == Name.Length / sizeof(WCHAR)) {
            Status = Callback(CallbackContext,
                              &Name,
                              Pack->Files[Pack->Order[Index]].SizeInBytes,
                              FALSE);
            continue;
        }

        //
        // All of a folder come one after another.
        //

        RtlPointUnicodeString(&Name, Name.Buffer, Length);
        if (BaseComparePackNames(Pack->Context->Rtl, &Name, &Last) != 0) {
            Status = Callback(CallbackContext, &Name, 0, TRUE);
        }
        Last = Name;
    }

    return !NT_SUCCESS(Status) ? Status
           : IsFound || Folder.Length == 0 ? STATUS_SUCCESS
                                           : STATUS_OBJECT_PATH_NOT_FOUND;
}


//
// Reads a block and decodes it.
// Bytes: receives its RawBytes.
//

_Must_inspect_result_
static
NTSTATUS
BaseDecodePackBlock(
    _Inout_ PREADER_PACK Pack,
    _In_ PCREADER_PACK_BLOCK Block,
    _Out_writes_bytes_(Block->RawBytes) PUCHAR Bytes
    )
{
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    PREADER_PACK_SCRATCH Scratch;
    CODEC_BLOCK Header;
    NTSTATUS Status;

    Scratch = (PREADER_PACK_SCRATCH)
        InterlockedExchangePointer((PVOID volatile *)&Pack->Scratch, NULL);
    if (Scratch == NULL) {
        Scratch = (PREADER_PACK_SCRATCH)
            Allocator->Allocate(Allocator->Context, sizeof(*Scratch));
        if (Scratch == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    Status = BaseReadPackFile(Pack,
                              Block->PackOffset,
                              Scratch->Block,
                              Block->BlockSize);
    if (NT_SUCCESS(Status)) {
        Status = CodecDecode((PCODEC_DECODER)Scratch->Decoder,
                             Scratch->Block,
                             Block->BlockSize,
                             Bytes,
                             CODEC_MAXIMUM_BYTES,
                             &Header);
        if (NT_SUCCESS(Status) &&
            (Header.RawBytes != Block->RawBytes ||
             Header.EncodedBytes != Block->BlockSize - CODEC_HEADER_SIZE ||
             Header.Position != Block->FileOffset ||
             Header.FirstTimestamp != Block->FirstTimestamp)) {
            Status = STATUS_FILE_CORRUPT_ERROR;
        }
    }

    //
    // A block that is cut off is not the end of the file that it is of.
    //

    if (Status == STATUS_END_OF_FILE) {
        Status = STATUS_FILE_CORRUPT_ERROR;
    }

    Scratch = (PREADER_PACK_SCRATCH)
        InterlockedExchangePointer((PVOID volatile *)&Pack->Scratch, Scratch);
    Allocator->Free(Allocator->Context, Scratch);
    return Status;
}


//
// Finds the first block of a file behind a byte; the one before it may have it.
// Returns its number in the file.
//

static
ULONG
BaseFindPackBlock(
    _In_ PCREADER_PACK Pack,
    _In_ PCREADER_PACK_FILE Entry,
    _In_ ULONGLONG FileOffset
    )
{
    PCREADER_PACK_BLOCK Blocks = Pack->Blocks + Entry->FirstBlock;
    ULONG Begin = 0;
    ULONG End = Entry->NumberOfBlocks;
    ULONG Middle;

    while (Begin < End) {
        Middle = Begin + (End - Begin) / 2;
        if (Blocks[Middle].FileOffset <= FileOffset) {
            Begin = Middle + 1;
        } else {
            End = Middle;
        }
    }

    return Begin;
}


_Use_decl_annotations_
BOOLEAN
BaseIsPackGap(
    PCREADER_PACK Pack,
    ULONG File,
    ULONGLONG FileOffset,
    PULONGLONG Start,
    PULONGLONG End
    )
{
    PCREADER_PACK_FILE Entry = &Pack->Files[File];
    PCREADER_PACK_BLOCK Blocks = Pack->Blocks + Entry->FirstBlock;
    ULONG Next = BaseFindPackBlock(Pack, Entry, FileOffset);

    *Start = 0;
    *End = Next < Entry->NumberOfBlocks ? Blocks[Next].FileOffset
                                        : Entry->SizeInBytes;
    if (Next != 0) {
        *Start = Blocks[Next - 1].FileOffset + Blocks[Next - 1].RawBytes;
    }

    return FileOffset >= *Start && FileOffset < *End;
}


_Use_decl_annotations_
NTSTATUS
BaseMovePackView(
    PREADER_PACK Pack,
    ULONG File,
    ULONGLONG FileOffset,
    PREADER_PACK_VIEW View
    )
{
    PCALLOCATOR Allocator = Pack->Context->Allocator;
    PCREADER_PACK_FILE Entry = &Pack->Files[File];
    PCREADER_PACK_BLOCK Blocks = Pack->Blocks + Entry->FirstBlock;
    ULONGLONG Start = 0;
    ULONGLONG Size;
    ULONG Begin;
    NTSTATUS Status;

    if (View->SizeInBytes != 0 && FileOffset >= View->FileOffset &&
        FileOffset - View->FileOffset < View->SizeInBytes) {
        return STATUS_SUCCESS;
    }

    View->SizeInBytes = 0;
    if (FileOffset >= Entry->SizeInBytes) {
        return STATUS_END_OF_FILE;
    }

    if (View->Bytes == NULL) {
        View->Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                  CODEC_MAXIMUM_BYTES);
        if (View->Bytes == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    Begin = BaseFindPackBlock(Pack, Entry, FileOffset);
    if (Begin != 0) {
        Start = Blocks[Begin - 1].FileOffset + Blocks[Begin - 1].RawBytes;
        if (FileOffset < Start) {
            Status = BaseDecodePackBlock(Pack,
                                         &Blocks[Begin - 1],
                                         View->Bytes);
            if (NT_SUCCESS(Status)) {
                View->FileOffset = Blocks[Begin - 1].FileOffset;
                View->SizeInBytes = Blocks[Begin - 1].RawBytes;
            }
            return Status;
        }
    }

    //
    // What no block has is zero.
    //

    Start += (FileOffset - Start) / CODEC_MAXIMUM_BYTES * CODEC_MAXIMUM_BYTES;
    Size = (Begin < Entry->NumberOfBlocks ? Blocks[Begin].FileOffset
                                          : Entry->SizeInBytes) -
           Start;
    if (Size > CODEC_MAXIMUM_BYTES) {
        Size = CODEC_MAXIMUM_BYTES;
    }

    RtlZeroBytes(View->Bytes, (SIZE_T)Size);
    View->FileOffset = Start;
    View->SizeInBytes = (ULONG)Size;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
BaseFreePackView(
    PCREADER_PACK Pack,
    PREADER_PACK_VIEW View
    )
{
    PCALLOCATOR Allocator = Pack->Context->Allocator;

    Allocator->Free(Allocator->Context, View->Bytes);
    RtlZeroBytes(View, sizeof(*View));
}


_Use_decl_annotations_
NTSTATUS
BaseReadPack(
    PREADER_PACK Pack,
    ULONG File,
    ULONGLONG FileOffset,
    PVOID Bytes,
    ULONG SizeInBytes,
    PREADER_PACK_VIEW View,
    PULONG ReadInBytes
    )
{
    ULONG Size;
    NTSTATUS Status;

    *ReadInBytes = 0;
    while (*ReadInBytes < SizeInBytes) {

        Status = BaseMovePackView(Pack, File, FileOffset, View);
        if (Status == STATUS_END_OF_FILE) {
            return *ReadInBytes != 0 ? STATUS_SUCCESS : Status;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Size = View->SizeInBytes - (ULONG)(FileOffset - View->FileOffset);
        if (Size > SizeInBytes - *ReadInBytes) {
            Size = SizeInBytes - *ReadInBytes;
        }

        RtlCopyBytes((PUCHAR)Bytes + *ReadInBytes,
                     View->Bytes + (FileOffset - View->FileOffset),
                     Size);
        *ReadInBytes += Size;
        FileOffset += Size;
    }

    return STATUS_SUCCESS;
}
