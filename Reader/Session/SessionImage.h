/*++

Module Name:

    SessionImage.h

Abstract:

    Commands that take an image in place of a session: the image as the only
    module of a session that has recorded nothing.

--*/

#ifndef TRACER_SESSION_IMAGE_H
#define TRACER_SESSION_IMAGE_H

#include "../Base/BaseOptions.h"
#include "Session.h"

//
// An image that is not of a session: what a session has of a module.
//

typedef struct _READER_IMAGE {
    TRACE_STORE_HEADER Header;
    READER_MODULE Module;
    PREADER_MODULE Modules[1];
    UCHAR Bytes[4096];              // the file's first
    WCHAR Path[RTL_MAXIMUM_PATH_IN_CHARS + 1];
} READER_IMAGE;
typedef READER_IMAGE *PREADER_IMAGE;

//
// Makes the image that Options->Path names a module of Session, which is zeroed
// before and of which only Context, Modules and Clock are for use.  If the path
// is no image's that is a success, too, and Image is NULL.
//
//     STATUS_NO_MEMORY, STATUS_NAME_TOO_LONG
//

_Must_inspect_result_
NTSTATUS
SessionOpenImage(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _Inout_ PREADER_SESSION Session,
    _Outptr_result_maybenull_ PREADER_IMAGE *NewImage
    );

//
// Frees an image.
// Session: what SessionOpenImage has made of it.
//

VOID
SessionCloseImage(
    _In_ PREADER_SESSION Session,
    _In_ PREADER_IMAGE Image
    );

#endif // TRACER_SESSION_IMAGE_H
