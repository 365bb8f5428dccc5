/*++

Module Name:

    ExportView.h

Abstract:

    The viewer's page (../View/Page) of a session: the session is in it as a
    pack, if it is small; else the page says which directory it wants.

--*/

#ifndef TRACER_EXPORT_VIEW_H
#define TRACER_EXPORT_VIEW_H

#include "../Base/BaseFile.h"
#include "ExportPack.h"

//
// What a page may have in it by default: bytes of the pack.
//

#define READER_VIEW_MAXIMUM_BYTES 0x1000000u

typedef struct _READER_VIEW_PAGE {
    PREADER_PACKING Packing;        // its first five fields are set, the others
                                    // are zero
    PCWSTR Output;                  // the page's path
    PCSZ OutputUtf8;
    ULONGLONG MaximumBytes;         // of a pack in the page; 0: none is
    BOOLEAN IsOnlyEmbedded;         // no page, if the pack would be larger
    ULONGLONG EmbeddedBytes;        // is set: of the pack in the page; 0: there
                                    // is none
} READER_VIEW_PAGE;
typedef READER_VIEW_PAGE *PREADER_VIEW_PAGE;

//
// What comes before what is known of the session, and after it: empty in a
// TraceReader that was built without (ExportViewPage.asm).
//

extern const CHAR ReaderViewBefore[];
extern const ULONG ReaderViewBeforeSize;
extern const CHAR ReaderViewAfter[];
extern const ULONG ReaderViewAfterSize;

//
// Writes the page.  All records are read, and what the images say of their
// sites is in the session's cache afterwards, or could be: FunctionSaveCache.
// Returns READER_EXIT_*; failures have been written.  With IsOnlyEmbedded, and
// nothing embedded, no file was made.
//

ULONG
ExportWriteViewPage(
    _Inout_ PREADER_VIEW_PAGE Page
    );

#endif // TRACER_EXPORT_VIEW_H
