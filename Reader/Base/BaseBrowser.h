/*++

Module Name:

    BaseBrowser.h

Abstract:

    Opens a file in the program that the user has for such files.

--*/

#ifndef TRACER_BASE_BROWSER_H
#define TRACER_BASE_BROWSER_H

#include "BaseContext.h"

//
// Opens a page in the default browser, with ShellExecuteW of shell32.dll, which
// is loaded from the system's folder for it.  The path is all that it is told:
// no command line is made of it.
//
// Path: the full path of a file that is there.
//
//     STATUS_OBJECT_NAME_INVALID (neither .html nor .htm: what opens another
//     file may do anything), STATUS_DLL_NOT_FOUND, STATUS_ENTRYPOINT_NOT_FOUND,
//     STATUS_UNSUCCESSFUL (nothing opens pages, or it could not be started)
//

_Must_inspect_result_
NTSTATUS
BaseOpenInBrowser(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path
    );

#endif // TRACER_BASE_BROWSER_H
