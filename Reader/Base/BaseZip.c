/*++

Module Name:

    BaseZip.c

Abstract:

    Writes a ZIP file of compressed entries.

--*/

#include "BaseContainer.h"
#include "BaseZip.h"

#define READER_ZIP_BUFFER_SIZE 0x100000u

#define READER_ZIP_LOCAL_SIGNATURE 0x04034B50u
#define READER_ZIP_CENTRAL_SIGNATURE 0x02014B50u
#define READER_ZIP_END_SIGNATURE 0x06054B50u
#define READER_ZIP_END64_SIGNATURE 0x06064B50u
#define READER_ZIP_LOCATOR_SIGNATURE 0x07064B50u

#define READER_ZIP_VERSION 20u          // 2.0: folders
#define READER_ZIP_VERSION64 45u        // 4.5: Zip64
#define READER_ZIP_UTF8 0x0800u         // of a name
#define READER_ZIP_EXTRA64 0x0001u
#define READER_ZIP_DEFLATED 8u

//
// What is compressed may become longer by 5 bytes in 64 KiB, and a few more.  A
// scattered entry is so far behind the place of its compressed bytes that
// these never reach what is still to be read.
//

#define READER_ZIP_GROWTH(SizeInBytes) \
    (((SizeInBytes) >> 12) + READER_ZIP_BUFFER_SIZE)

#define READER_ZIP_LOCAL_SIZE 30u
#define READER_ZIP_LOCAL_CRC 14u
#define READER_ZIP_LOCAL64_COMPRESSED 12u    // in the Zip64 part
#define READER_ZIP_CENTRAL_SIZE 46u
#define READER_ZIP_MAXIMUM_EXTRA 28u
#define READER_ZIP_END_SIZE 22u
#define READER_ZIP_END64_SIZE 56u
#define READER_ZIP_LOCATOR_SIZE 20u

//
// A number that is as large is in the Zip64 part.  A test may be built with a
// smaller one.
//

#ifndef READER_ZIP_LIMIT
#define READER_ZIP_LIMIT 0xFFFFFFFFULL
#endif

#ifndef READER_ZIP_ENTRY_LIMIT
#define READER_ZIP_ENTRY_LIMIT 0xFFFFu
#endif

//
// The first year that DOS has.
//

#define READER_ZIP_FIRST_YEAR 1980u
#define READER_ZIP_LAST_YEAR 2107u


//
// Puts a number, the low byte first.
// SizeInBytes: how many bytes of it.
// Returns what is behind it.
//

static
PUCHAR
BasePutLittle(
    _Out_writes_bytes_(SizeInBytes) PUCHAR Place,
    _In_ ULONGLONG Number,
    _In_ ULONG SizeInBytes
    )
{
    ULONG Index;

    for (Index = 0; Index < SizeInBytes; Index++) {
        Place[Index] = (UCHAR)(Number >> (8 * Index));
    }

    return Place + SizeInBytes;
}


_Use_decl_annotations_
NTSTATUS
BaseInitializeZip(
    PREADER_ZIP Zip,
    PCREADER_CONTEXT Context,
    HANDLE File,
    ULONGLONG SystemTime
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    RTL_CALENDAR_TIME Calendar;

    RtlZeroBytes(Zip, sizeof(*Zip));
    Zip->Context = Context;
    Zip->File = File;

    RtlSystemTimeToCalendar(SystemTime, &Calendar);
    if (Calendar.Year < READER_ZIP_FIRST_YEAR ||
        Calendar.Year > READER_ZIP_LAST_YEAR) {
        Calendar.Year = READER_ZIP_FIRST_YEAR;
    }

    Zip->Date = (USHORT)((Calendar.Year - READER_ZIP_FIRST_YEAR) << 9 |
                         Calendar.Month << 5 | Calendar.Day);
    Zip->Time = (USHORT)(Calendar.Hour << 11 | Calendar.Minute << 5 |
                         Calendar.Second / 2);

    Zip->Deflate = BaseCreateDeflate(Allocator);
    Zip->Buffer = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                              READER_ZIP_BUFFER_SIZE);
    if (Zip->Deflate == NULL || Zip->Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    BaseMakeCrcTables(&Zip->Tables);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
BaseRundownZip(
    PREADER_ZIP Zip
    )
{
    PCALLOCATOR Allocator;

    if (Zip->Context == NULL) {
        return;
    }

    Allocator = Zip->Context->Allocator;
    Allocator->Free(Allocator->Context, Zip->Entries);
    Allocator->Free(Allocator->Context, Zip->Names);
    BaseDestroyDeflate(Zip->Deflate);
    Allocator->Free(Allocator->Context, Zip->Buffer);
    RtlZeroBytes(Zip, sizeof(*Zip));
}


//
// Takes compressed bytes of the open entry: a READER_DEFLATE_SINK.
//

static
NTSTATUS
BasePutZipBytes(
    _In_ PVOID Target,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_ZIP Zip = (PREADER_ZIP)Target;
    NTSTATUS Status;

    Status = RtlWriteFile(Zip->Context->Rtl,
                          Zip->File,
                          Zip->EndOfEntries + Zip->CompressedSize,
                          Bytes,
                          SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Zip->CompressedSize += SizeInBytes;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseBeginZipEntry(
    PREADER_ZIP Zip,
    const CHAR *Name,
    ULONG NameLength,
    ULONGLONG SizeInBytes,
    BOOLEAN IsScattered
    )
{
    PCALLOCATOR Allocator = Zip->Context->Allocator;
    PREADER_ZIP_ENTRY Entry;
    UCHAR Header[READER_ZIP_LOCAL_SIZE];
    UCHAR Extra[READER_ZIP_MAXIMUM_EXTRA];
    PUCHAR Place = Header;
    BOOLEAN Is64 = SizeInBytes + READER_ZIP_GROWTH(SizeInBytes) >=
                   READER_ZIP_LIMIT;
    ULONG ExtraLength = Is64 ? 20 : 0;
    NTSTATUS Status;

    if (NameLength > READER_ZIP_MAXIMUM_NAME) {
        return STATUS_NAME_TOO_LONG;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Zip->Entries,
                           &Zip->CapacityOfEntries,
                           Zip->NumberOfEntries + 1,
                           sizeof(READER_ZIP_ENTRY));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Zip->Names,
                               &Zip->CapacityOfNames,
                               Zip->SizeOfNames + NameLength,
                               sizeof(CHAR));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Entry = &Zip->Entries[Zip->NumberOfEntries];
    Zip->NumberOfEntries += 1;
    Entry->Offset = Zip->EndOfEntries;
    Entry->SizeInBytes = SizeInBytes;
    Entry->Name = Zip->SizeOfNames;
    Entry->NameLength = NameLength;
    RtlCopyBytes(Zip->Names + Zip->SizeOfNames, Name, NameLength);
    Zip->SizeOfNames += NameLength;

    Place = BasePutLittle(Place, READER_ZIP_LOCAL_SIGNATURE, 4);
    Place = BasePutLittle(Place,
                          Is64 ? READER_ZIP_VERSION64 : READER_ZIP_VERSION,
                          2);
    Place = BasePutLittle(Place, READER_ZIP_UTF8, 2);
    Place = BasePutLittle(Place, READER_ZIP_DEFLATED, 2);
    Place = BasePutLittle(Place, Zip->Time, 2);
    Place = BasePutLittle(Place, Zip->Date, 2);
    Place = BasePutLittle(Place, 0, 4);
    Place = BasePutLittle(Place, Is64 ? 0xFFFFFFFFULL : 0, 4);
    Place = BasePutLittle(Place, Is64 ? 0xFFFFFFFFULL : SizeInBytes, 4);
    Place = BasePutLittle(Place, NameLength, 2);
    BasePutLittle(Place, ExtraLength, 2);

    Place = BasePutLittle(Extra, READER_ZIP_EXTRA64, 2);
    Place = BasePutLittle(Place, 16, 2);
    Place = BasePutLittle(Place, SizeInBytes, 8);
    BasePutLittle(Place, 0, 8);

    Status = RtlWriteFile(Zip->Context->Rtl,
                          Zip->File,
                          Zip->EndOfEntries,
                          Header,
                          sizeof(Header));
    Zip->EndOfEntries += sizeof(Header);
    if (NT_SUCCESS(Status)) {
        Status = RtlWriteFile(Zip->Context->Rtl,
                              Zip->File,
                              Zip->EndOfEntries,
                              Name,
                              NameLength);
        Zip->EndOfEntries += NameLength;
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlWriteFile(Zip->Context->Rtl,
                              Zip->File,
                              Zip->EndOfEntries,
                              Extra,
                              ExtraLength);
        Zip->EndOfEntries += ExtraLength;
    }

    Entry->Is64 = Is64;
    Zip->Crc = READER_CRC_START;
    Zip->NumberWritten = 0;
    Zip->CompressedSize = 0;
    Zip->IsScattered = IsScattered;
    Zip->ScatteredOffset = Zip->EndOfEntries + READER_ZIP_GROWTH(SizeInBytes);
    BaseBeginDeflate(Zip->Deflate, BasePutZipBytes, Zip);
    return Status;
}


//
// Compresses the next bytes of the entry.
//

static
NTSTATUS
BaseCompressZipBytes(
    _Inout_ PREADER_ZIP Zip,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    Zip->Crc = BaseAddToCrc(&Zip->Tables, Zip->Crc, Bytes, SizeInBytes);
    Zip->NumberWritten += SizeInBytes;
    return BaseWriteDeflate(Zip->Deflate, Bytes, SizeInBytes);
}


//
// Compresses zeroes up to an offset in the entry.
//

static
NTSTATUS
BaseFillZipEntry(
    _Inout_ PREADER_ZIP Zip,
    _In_ ULONGLONG Offset
    )
{
    ULONGLONG Size;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Zip->NumberWritten < Offset) {
        RtlZeroBytes(Zip->Buffer, READER_ZIP_BUFFER_SIZE);
    }

    while (NT_SUCCESS(Status) && Zip->NumberWritten < Offset) {

        Size = Offset - Zip->NumberWritten;
        if (Size > READER_ZIP_BUFFER_SIZE) {
            Size = READER_ZIP_BUFFER_SIZE;
        }

        Status = BaseCompressZipBytes(Zip, Zip->Buffer, (ULONG)Size);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseWriteZipEntry(
    PREADER_ZIP Zip,
    ULONGLONG Offset,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    NTSTATUS Status;

    if (Zip->IsScattered) {
        return RtlWriteFile(Zip->Context->Rtl,
                            Zip->File,
                            Zip->ScatteredOffset + Offset,
                            Bytes,
                            SizeInBytes);
    }

    if (Offset < Zip->NumberWritten) {
        return STATUS_INVALID_PARAMETER;
    }

    Status = BaseFillZipEntry(Zip, Offset);
    if (NT_SUCCESS(Status)) {
        Status = BaseCompressZipBytes(Zip, Bytes, SizeInBytes);
    }

    return Status;
}


//
// Compresses an entry whose parts have all been written, in any order.
//

_Must_inspect_result_
static
NTSTATUS
BaseReadBackZipEntry(
    _Inout_ PREADER_ZIP Zip,
    _In_ ULONGLONG SizeInBytes
    )
{
    PCRTL Rtl = Zip->Context->Rtl;
    ULONGLONG Size;
    ULONG ReadInBytes = 1;
    NTSTATUS Status = STATUS_SUCCESS;

    //
    // The end of it may never have been written.
    //

    while (NT_SUCCESS(Status) &&
           ReadInBytes != 0 &&
           Zip->NumberWritten < SizeInBytes) {

        Size = SizeInBytes - Zip->NumberWritten;
        if (Size > READER_ZIP_BUFFER_SIZE) {
            Size = READER_ZIP_BUFFER_SIZE;
        }

        Status = RtlReadFile(Rtl,
                             Zip->File,
                             Zip->ScatteredOffset + Zip->NumberWritten,
                             Zip->Buffer,
                             (ULONG)Size,
                             &ReadInBytes);
        if (NT_SUCCESS(Status)) {
            Status = BaseCompressZipBytes(Zip, Zip->Buffer, ReadInBytes);
        }
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseEndZipEntry(
    PREADER_ZIP Zip
    )
{
    PREADER_ZIP_ENTRY Entry = &Zip->Entries[Zip->NumberOfEntries - 1];
    UCHAR Numbers[8];
    NTSTATUS Status = STATUS_SUCCESS;

    if (Zip->IsScattered) {
        Status = BaseReadBackZipEntry(Zip, Entry->SizeInBytes);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseFillZipEntry(Zip, Entry->SizeInBytes);
    }

    if (NT_SUCCESS(Status)) {
        Status = BaseEndDeflate(Zip->Deflate);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Entry->Crc = ~Zip->Crc;
    Entry->CompressedSize = Zip->CompressedSize;
    Zip->EndOfEntries += Zip->CompressedSize;

    //
    // Of an entry with a Zip64 part, the sizes are there.
    //

    BasePutLittle(Numbers, Entry->Crc, 4);
    BasePutLittle(Numbers + 4, Entry->CompressedSize, 4);
    Status = RtlWriteFile(Zip->Context->Rtl,
                          Zip->File,
                          Entry->Offset + READER_ZIP_LOCAL_CRC,
                          Numbers,
                          Entry->Is64 ? 4 : 8);
    if (NT_SUCCESS(Status) && Entry->Is64) {
        BasePutLittle(Numbers, Entry->CompressedSize, 8);
        Status = RtlWriteFile(Zip->Context->Rtl,
                              Zip->File,
                              Entry->Offset + READER_ZIP_LOCAL_SIZE +
                                  Entry->NameLength +
                                  READER_ZIP_LOCAL64_COMPRESSED,
                              Numbers,
                              8);
    }

    return Status;
}


//
// Puts an entry of the directory.
// Zip: the file.
// Bytes: it; there is room for the largest.
// Returns its size in bytes.
//

static
ULONG
BasePutCentralHeader(
    _In_ const READER_ZIP *Zip,
    _In_ const READER_ZIP_ENTRY *Entry,
    _Out_ PUCHAR Bytes
    )
{
    UCHAR Extra[READER_ZIP_MAXIMUM_EXTRA];
    PUCHAR ExtraEnd = Extra + 4;
    PUCHAR Place = Bytes;
    BOOLEAN IsLarge = Entry->Is64;
    BOOLEAN IsFar = Entry->Offset >= READER_ZIP_LIMIT;
    ULONG ExtraLength = 0;
    ULONG Version = IsLarge || IsFar ? READER_ZIP_VERSION64
                                     : READER_ZIP_VERSION;

    if (IsLarge) {
        ExtraEnd = BasePutLittle(ExtraEnd, Entry->SizeInBytes, 8);
        ExtraEnd = BasePutLittle(ExtraEnd, Entry->CompressedSize, 8);
    }

    if (IsFar) {
        ExtraEnd = BasePutLittle(ExtraEnd, Entry->Offset, 8);
    }

    if (IsLarge || IsFar) {
        ExtraLength = (ULONG)(ExtraEnd - Extra);
        BasePutLittle(Extra, READER_ZIP_EXTRA64, 2);
        BasePutLittle(Extra + 2, ExtraLength - 4, 2);
    }

    Place = BasePutLittle(Place, READER_ZIP_CENTRAL_SIGNATURE, 4);
    Place = BasePutLittle(Place, Version, 2);
    Place = BasePutLittle(Place, Version, 2);
    Place = BasePutLittle(Place, READER_ZIP_UTF8, 2);
    Place = BasePutLittle(Place, READER_ZIP_DEFLATED, 2);
    Place = BasePutLittle(Place, Zip->Time, 2);
    Place = BasePutLittle(Place, Zip->Date, 2);
    Place = BasePutLittle(Place, Entry->Crc, 4);
    Place = BasePutLittle(Place,
                          IsLarge ? 0xFFFFFFFFULL : Entry->CompressedSize,
                          4);
    Place = BasePutLittle(Place,
                          IsLarge ? 0xFFFFFFFFULL : Entry->SizeInBytes,
                          4);
    Place = BasePutLittle(Place, Entry->NameLength, 2);
    Place = BasePutLittle(Place, ExtraLength, 2);
    Place = BasePutLittle(Place, 0, 2);   // comment
    Place = BasePutLittle(Place, 0, 2);   // disk
    Place = BasePutLittle(Place, 0, 2);   // attributes
    Place = BasePutLittle(Place, 0, 4);
    Place = BasePutLittle(Place, IsFar ? 0xFFFFFFFFULL : Entry->Offset, 4);
    RtlCopyBytes(Place, Zip->Names + Entry->Name, Entry->NameLength);
    Place += Entry->NameLength;
    RtlCopyBytes(Place, Extra, ExtraLength);
    Place += ExtraLength;
    return (ULONG)(Place - Bytes);
}


_Use_decl_annotations_
NTSTATUS
BaseEndZip(
    PREADER_ZIP Zip
    )
{
    PCRTL Rtl = Zip->Context->Rtl;
    UCHAR End[READER_ZIP_END64_SIZE + READER_ZIP_LOCATOR_SIZE +
              READER_ZIP_END_SIZE];
    PUCHAR Place = End;
    ULONGLONG Offset = Zip->EndOfEntries;
    ULONGLONG Size;
    ULONGLONG Count = Zip->NumberOfEntries;
    ULONG Filled = 0;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         Index < Zip->NumberOfEntries && NT_SUCCESS(Status);
         Index++) {

        if (READER_ZIP_BUFFER_SIZE - Filled <
            READER_ZIP_CENTRAL_SIZE + READER_ZIP_MAXIMUM_NAME +
                READER_ZIP_MAXIMUM_EXTRA) {
            Status = RtlWriteFile(Rtl, Zip->File, Offset, Zip->Buffer, Filled);
            Offset += Filled;
            Filled = 0;
        }

        Filled += BasePutCentralHeader(Zip,
                                       &Zip->Entries[Index],
                                       Zip->Buffer + Filled);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlWriteFile(Rtl, Zip->File, Offset, Zip->Buffer, Filled);
        Offset += Filled;
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Size = Offset - Zip->EndOfEntries;
    if (Count >= READER_ZIP_ENTRY_LIMIT || Size >= READER_ZIP_LIMIT ||
        Zip->EndOfEntries >= READER_ZIP_LIMIT) {

        Place = BasePutLittle(Place, READER_ZIP_END64_SIGNATURE, 4);
        Place = BasePutLittle(Place, READER_ZIP_END64_SIZE - 12, 8);
        Place = BasePutLittle(Place, READER_ZIP_VERSION64, 2);
        Place = BasePutLittle(Place, READER_ZIP_VERSION64, 2);
        Place = BasePutLittle(Place, 0, 4);
        Place = BasePutLittle(Place, 0, 4);
        Place = BasePutLittle(Place, Count, 8);
        Place = BasePutLittle(Place, Count, 8);
        Place = BasePutLittle(Place, Size, 8);
        Place = BasePutLittle(Place, Zip->EndOfEntries, 8);

        Place = BasePutLittle(Place, READER_ZIP_LOCATOR_SIGNATURE, 4);
        Place = BasePutLittle(Place, 0, 4);
        Place = BasePutLittle(Place, Offset, 8);
        Place = BasePutLittle(Place, 1, 4);
    }

    if (Count >= READER_ZIP_ENTRY_LIMIT) {
        Count = 0xFFFFu;
    }

    Place = BasePutLittle(Place, READER_ZIP_END_SIGNATURE, 4);
    Place = BasePutLittle(Place, 0, 2);
    Place = BasePutLittle(Place, 0, 2);
    Place = BasePutLittle(Place, Count, 2);
    Place = BasePutLittle(Place, Count, 2);
    Place = BasePutLittle(Place,
                          Size >= READER_ZIP_LIMIT ? 0xFFFFFFFFULL : Size,
                          4);
    Place = BasePutLittle(Place,
                          Zip->EndOfEntries >= READER_ZIP_LIMIT
                             ? 0xFFFFFFFFULL
                             : Zip->EndOfEntries,
                          4);
    Place = BasePutLittle(Place, 0, 2);

    //
    // What a scattered entry took for a while may lie behind the end.
    //

    Status = RtlWriteFile(Rtl, Zip->File, Offset, End, (ULONG)(Place - End));
    if (NT_SUCCESS(Status)) {
        Status = RtlSetFileSize(Rtl,
                                Zip->File,
                                Offset + (ULONG)(Place - End));
    }

    return Status;
}
