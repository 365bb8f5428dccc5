/*++

Module Name:

    OutputKey.h

Abstract:

    The keys that a terminal's input tells of.

--*/

#ifndef TRACER_OUTPUT_KEY_H
#define TRACER_OUTPUT_KEY_H

#include "../../Rtl/Rtl.h"

typedef enum _READER_KEY {
    ReaderKeyNone = 0,
    ReaderKeyCharacter,
    ReaderKeyUp,
    ReaderKeyDown,
    ReaderKeyLeft,
    ReaderKeyRight,
    ReaderKeyPageUp,
    ReaderKeyPageDown,
    ReaderKeyHome,
    ReaderKeyEnd,
    ReaderKeyEnter,
    ReaderKeyEscape,
    ReaderKeyTab,
    ReaderKeyBackspace,
    ReaderKeyResize,
    ReaderKeyStop                   // Ctrl+C, Ctrl+Break
} READER_KEY;

//
// Says which key a console's event is of; ReaderKeyNone: none that means
// anything, or one that was let go.
// Code: the key's virtual code.
// Unicode: the character that it gives, or 0.
// Character: that of ReaderKeyCharacter; otherwise 0, or a control character.
//

READER_KEY
OutputTranslateKey(
    _In_ BOOL IsDown,
    _In_ WORD Code,
    _In_ WCHAR Unicode,
    _Out_ PULONG Character
    );

#endif // TRACER_OUTPUT_KEY_H
