/*++

Module Name:

    OutputKey.c

Abstract:

    The keys that a terminal's input tells of, with its processing of Ctrl+C
    off.

--*/

//
// The codes of keys are the only thing of winuser.h that the reader needs.
//

#undef NOUSER
#include "OutputKey.h"

#define READER_KEY_STOP 3           // Ctrl+C as a character


_Use_decl_annotations_
READER_KEY
OutputTranslateKey(
    BOOL IsDown,
    WORD Code,
    WCHAR Unicode,
    PULONG Character
    )
{
    static const struct {
        WORD Code;
        WORD Key;
    } Keys[] = {
        { VK_UP, ReaderKeyUp },
        { VK_DOWN, ReaderKeyDown },
        { VK_LEFT, ReaderKeyLeft },
        { VK_RIGHT, ReaderKeyRight },
        { VK_PRIOR, ReaderKeyPageUp },
        { VK_NEXT, ReaderKeyPageDown },
        { VK_HOME, ReaderKeyHome },
        { VK_END, ReaderKeyEnd },
        { VK_RETURN, ReaderKeyEnter },
        { VK_ESCAPE, ReaderKeyEscape },
        { VK_TAB, ReaderKeyTab },
        { VK_BACK, ReaderKeyBackspace }
    };
    ULONG Index;

    *Character = 0;
    if (!IsDown) {
        return ReaderKeyNone;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Keys); Index++) {
        if (Code == Keys[Index].Code) {
            return (READER_KEY)Keys[Index].Key;
        }
    }

    *Character = Unicode;
    if (*Character == READER_KEY_STOP) {
        return ReaderKeyStop;
    }

    return *Character >= ' ' ? ReaderKeyCharacter : ReaderKeyNone;
}
