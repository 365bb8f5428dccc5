/*++

Module Name:

    BaseContext.h

Abstract:

    What every part of the reader is given, and the exit codes of the program.

--*/

#ifndef TRACER_BASE_CONTEXT_H
#define TRACER_BASE_CONTEXT_H

#include "../../Rtl/Rtl.h"

#define READER_NONE 0xFFFFFFFFu

#define READER_MAXIMUM_TIMESTAMP 0xFFFFFFFFFFFFFFFFULL

//
// The exit codes of the program.
//

#define READER_EXIT_SUCCESS 0
#define READER_EXIT_FAILURE 1   // usage, or something could not be read
#define READER_EXIT_BAD     2   // verify: something is bad or lost
#define READER_EXIT_NOTHING 3   // --function, --exclude: nothing is left

//
// What every part is given: where memory and output come from and go to.
//

typedef struct _READER_CONTEXT {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    PRTL_WRITER Output;
    PRTL_WRITER Errors;
    ULONG NumberOfProcessors;   // 0: not known
    PVOID volatile *Decoder;    // where one waits that nobody uses
                                // (BaseDecoder.h); NULL: none ever does
} READER_CONTEXT;
typedef READER_CONTEXT *PREADER_CONTEXT;
typedef const READER_CONTEXT *PCREADER_CONTEXT;

#endif // TRACER_BASE_CONTEXT_H
