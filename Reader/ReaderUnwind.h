/*++

Module Name:

    ReaderUnwind.h

Abstract:

    What the unwind data and the code of a PE32+ x64 image say of the places
    that hooks are called from: the function that a place is in, how large its
    stack frame is there, what it jumps to next.

    The bytes may be anything; nothing in them is believed before it is
    checked.  The code is pure C over bytes and also builds natively.

--*/

#ifndef TRACER_READER_UNWIND_H
#define TRACER_READER_UNWIND_H

#include "ReaderCoff.h"

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
    PULONG Cloned;                  // see ReaderHasClone
    ULONG NumberOfCloned;
    ULONG CapacityOfCloned;
    BOOLEAN IsClonesSearched;
} READER_UNWIND;
typedef READER_UNWIND *PREADER_UNWIND;
typedef const READER_UNWIND *PCREADER_UNWIND;

//
// Keeps what is needed of the image that Coff was made from; its bytes may go
// away afterwards.  An image without unwind data is no failure.  After a
// failure, too, the structure is good for ReaderRundownUnwind.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_UNWIND)(
    _In_ PCALLOCATOR Allocator,
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_UNWIND Unwind
    );
READER_INITIALIZE_UNWIND ReaderInitializeUnwind;

typedef VOID (READER_RUNDOWN_UNWIND)(_Inout_ PREADER_UNWIND Unwind);
READER_RUNDOWN_UNWIND ReaderRundownUnwind;

//
// The bytes of a range of addresses, in code or in unwind data; NULL if not
// all of them are kept.
//

typedef
_Ret_maybenull_
const UCHAR *
(READER_GET_UNWIND_BYTES)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _In_ ULONG SizeInBytes
    );
READER_GET_UNWIND_BYTES ReaderGetUnwindBytes;

//
// The address, image-relative, that a variable has from the start, if code
// loads it or jumps to it; 0 if there is none in the image.
//

typedef
ULONG
(READER_READ_SLOT)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );
READER_READ_SLOT ReaderReadSlot;

//
// The .pdata entry that an address belongs to, or NULL.
//

//
// A .pdata entry: first RVA, the RVA after the last, RVA of the unwind
// information.
//

#define PE_FUNCTION_BEGIN               0
#define PE_FUNCTION_END                 4
#define PE_FUNCTION_UNWIND              8
#define PE_FUNCTION_SIZE                12

typedef
_Ret_maybenull_
const UCHAR *
(READER_FIND_UNWIND_ENTRY)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );
READER_FIND_UNWIND_ENTRY ReaderFindUnwindEntry;

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
// Finds the frame of the function that Rva is in; Rva is where a call returns
// to.  FALSE if the unwind data does not say.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_UNWIND_FRAME)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PREADER_UNWIND_FRAME Frame
    );
READER_FIND_UNWIND_FRAME ReaderFindUnwindFrame;

//
// The first address of one of the NumberOfFunctions ranges that have unwind
// data, in the order of the image.  A function may have several.
//

typedef
ULONG
(READER_QUERY_UNWIND_RANGE)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Index
    );
READER_QUERY_UNWIND_RANGE ReaderQueryUnwindRange;

//
// If the instruction at Rva is a direct jump out of its function: where to.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_JUMP_TARGET)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PULONG Target
    );
READER_FIND_JUMP_TARGET ReaderFindJumpTarget;

//
// May the function that begins at Rva jump to an exit hook?  FALSE only if it
// certainly does not.
//

typedef
BOOLEAN
(READER_MAY_JUMP_OUT)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );
READER_MAY_JUMP_OUT ReaderMayJumpOut;

//
// May a function that is instrumented with -finstrument-functions (its first
// address) also run as a copy, which the optimizer made for some of its
// callers?  Such a copy calls the hooks with the function's address, but has
// another stack frame.  The image is searched when this is asked first;
// without memory for that the answer is TRUE.
//

typedef
BOOLEAN
(READER_HAS_CLONE)(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );
READER_HAS_CLONE ReaderHasClone;

//
// How often may Inner, instrumented with -finstrument-functions, have been
// inlined into Outer (first addresses of functions)?  Never less than it was;
// READER_INLINED_UNKNOWN if that cannot be seen.
//

#define READER_INLINED_UNKNOWN 0xFFFFFFFFu

typedef
ULONG
(READER_COUNT_INLINED)(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Outer,
    _In_ ULONG Inner
    );
READER_COUNT_INLINED ReaderCountInlined;

#endif // TRACER_READER_UNWIND_H
