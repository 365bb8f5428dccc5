/*++

Module Name:

    ImageUnwindData.h

Abstract:

    What the unwind data of a PE32+ x64 image says: the function that a place
    is in, and how large its stack frame is there.

    The bytes may be anything; nothing in them is believed before it is
    checked.  The code is pure C over bytes and also builds natively.

--*/

#ifndef TRACER_IMAGE_UNWIND_DATA_H
#define TRACER_IMAGE_UNWIND_DATA_H

#include "ImageCoff.h"

//
// A .pdata entry: first RVA, the RVA after the last, RVA of the unwind
// information.
//

#define PE_FUNCTION_BEGIN               0
#define PE_FUNCTION_END                 4
#define PE_FUNCTION_UNWIND              8
#define PE_FUNCTION_SIZE                12

//
// Unwind information: version and flags, size of the prologue, number of
// codes, frame register; then the codes, two bytes each; then, if it is
// chained, the entry that it continues.
//

#define PE_UNWIND_HEADER_SIZE           4
#define PE_UNWIND_FLAG_CHAINED          0x4
#define PE_UNWIND_REGISTER_MASK         0x0F

typedef struct _READER_UNWIND_SECTION {
    PUCHAR Bytes;
    ULONG Rva;
    ULONG SizeInBytes;              // of Bytes
    BOOLEAN IsSlots;                // kept for the variables in it that have
                                    // functions' addresses, and only for them
} READER_UNWIND_SECTION;
typedef READER_UNWIND_SECTION *PREADER_UNWIND_SECTION;
typedef const READER_UNWIND_SECTION *PCREADER_UNWIND_SECTION;

typedef struct _READER_UNWIND {
    PCALLOCATOR Allocator;
    PREADER_UNWIND_SECTION Sections;
    const UCHAR *Functions;         // the .pdata entries, in one of Sections
    ULONG NumberOfSections;
    ULONG NumberOfFunctions;
    ULONG SizeOfImage;              // bytes
    ULONGLONG ImageBase;            // what addresses in variables are above
    PULONG Cloned;                  // see ImageHasClone
    ULONG NumberOfCloned;
    ULONG CapacityOfCloned;
    BOOLEAN IsClonesSearched;
} READER_UNWIND;
typedef READER_UNWIND *PREADER_UNWIND;
typedef const READER_UNWIND *PCREADER_UNWIND;

//
// Reads a little-endian 32-bit number, whatever its alignment.
// Bytes: its first byte.
//

ULONG
ImageLoadUlong(
    _In_reads_bytes_(4) const UCHAR *Bytes
    );

//
// Keeps what is needed of the image that Coff was made from; its bytes may go
// away afterwards.  An image without unwind data is no failure.  After a
// failure, too, the structure is good for ImageRundownUnwind.
//
//     STATUS_NO_MEMORY
//
// Allocator: the memory; it must outlive Unwind.
//

_Must_inspect_result_
NTSTATUS
ImageInitializeUnwind(
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_UNWIND Unwind
    );

//
// Frees what ImageInitializeUnwind allocated. It may be called after a
// failure, twice, and on zeroes.
// Unwind: the structure.
//

VOID
ImageRundownUnwind(
    _Inout_ PREADER_UNWIND Unwind
    );

//
// The bytes of a range of addresses, in code or in unwind data; NULL if not
// all of them are kept.
// Unwind: the image's sections.
// Rva: the first address.
//

_Ret_maybenull_
const UCHAR *
ImageGetUnwindBytes(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _In_ ULONG SizeInBytes
    );

//
// The address, image-relative, that a variable has from the start, if code
// loads it or jumps to it; 0 if there is none in the image.
// Unwind: the image's sections.
//

ULONG
ImageReadSlot(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );

//
// Finds the .pdata entry that an address belongs to.
// Unwind: the entries, which linkers sort by address.
// Returns the entry, or NULL.
//

_Ret_maybenull_
const UCHAR *
ImageFindUnwindEntry(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );

//
// Finds the first address of the function that an address belongs to. Chained
// entries belong to the entry that they continue, also one after another.
// Rva: the address, not that behind a call.
// Returns FALSE if the unwind data does not say; then nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindUnwindStart(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PULONG StartRva
    );

//
// The stack frame at a place.
//

typedef struct _READER_UNWIND_FRAME {
    ULONG FunctionRva;              // its first address
    ULONG SizeInBytes;              // from RSP at the place to the return
                                    // address, if the place is in the prologue
                                    // or in the body
    ULONG BodySizeInBytes;          // the same in the body
    ULONG SavedInBytes;             // of these, pushed registers
    BOOLEAN IsDynamic;              // RSP may move in the body
} READER_UNWIND_FRAME;
typedef READER_UNWIND_FRAME *PREADER_UNWIND_FRAME;

//
// Finds the frame of the function that a place is in. FALSE if the unwind data
// does not say.
// Rva: the place, an address that a call returns to.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindUnwindFrame(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PREADER_UNWIND_FRAME Frame
    );

//
// Says where a range with unwind data begins. The first address of one of the
// NumberOfFunctions ranges that have unwind data, in the order of the image. A
// function may have several.
//

ULONG
ImageQueryUnwindRange(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Index
    );

#endif // TRACER_IMAGE_UNWIND_DATA_H
