/*++

Module Name:

    ReaderFile.h

Abstract:

    Files that commands write.  What is written goes to NAME.tmp, which takes
    the place of NAME when it is complete: whoever opens NAME finds all of it,
    or what was there before.

--*/

#ifndef TRACER_READER_FILE_H
#define TRACER_READER_FILE_H

#include "Reader.h"

typedef struct _READER_FILE {
    PCREADER_CONTEXT Context;
    PCSZ Name;                      // UTF-8, for messages
    HANDLE Handle;                  // NULL: there is nothing to close
    PVOID Memory;
    UNICODE_STRING Path;            // NT path
    UNICODE_STRING TemporaryPath;   // NT path
    RTL_WRITER Writer;
} READER_FILE;
typedef READER_FILE *PREADER_FILE;

//
// Creates NAME.tmp, or empties it.  FALSE: the failure has been written and
// there is nothing to close.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_CREATE_FILE)(
    _Out_ PREADER_FILE File,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ NameUtf8
    );
READER_CREATE_FILE ReaderCreateFile;

//
// How many bytes have been written.
//

#define READER_FILE_SIZE(File)                                              \
    ((File)->Writer.FileOffset + (File)->Writer.LengthInBytes)

//
// Closes the file and gives it its name.  With IsComplete FALSE, or when
// something could not be written, it is deleted instead, and NAME stays as it
// was.  Returns READER_EXIT_*; a failure has been written.
//

typedef
ULONG
(READER_CLOSE_FILE)(
    _Inout_ PREADER_FILE File,
    _In_ BOOLEAN IsComplete
    );
READER_CLOSE_FILE ReaderCloseFile;

#endif // TRACER_READER_FILE_H
