/*++

Module Name:

    BaseBrowser.c

Abstract:

    Opens a page in the default browser.

--*/

#include "BaseBrowser.h"

#define READER_SHOW_NORMAL 1

//
// What ShellExecuteW gives is an error up to this number.
//

#define READER_LAST_SHELL_ERROR 32

typedef HANDLE (WINAPI READER_SHELL_EXECUTE_W)(
    _In_opt_ HANDLE Window,
    _In_opt_ PCWSTR Verb,
    _In_ PCWSTR File,
    _In_opt_ PCWSTR Parameters,
    _In_opt_ PCWSTR Directory,
    _In_ int Show
    );
typedef READER_SHELL_EXECUTE_W *PREADER_SHELL_EXECUTE_W;


//
// Does the path end so?
// Suffix: in lower case.
//

static
BOOLEAN
BaseEndsWith(
    _In_z_ PCWSTR Path,
    _In_z_ PCWSTR Suffix
    )
{
    ULONG Length = RtlLengthOfWideString(Path);
    ULONG SuffixLength = RtlLengthOfWideString(Suffix);
    ULONG Index;
    WCHAR Character;

    if (Length < SuffixLength) {
        return FALSE;
    }

    for (Index = 0; Index < SuffixLength; Index++) {
        Character = Path[Length - SuffixLength + Index];
        if (Character >= L'A' && Character <= L'Z') {
            Character += L'a' - L'A';
        }

        if (Character != Suffix[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
BaseOpenInBrowser(
    PCREADER_CONTEXT Context,
    PCWSTR Path
    )
{
    static const PCSZ Name = "ShellExecuteW";
    PREADER_SHELL_EXECUTE_W ShellExecute;
    HMODULE Module;

    if (!BaseEndsWith(Path, L".html") && !BaseEndsWith(Path, L".htm")) {
        return STATUS_OBJECT_NAME_INVALID;
    }

    Module = Context->Rtl->LoadLibraryExW(L"shell32.dll",
                                          NULL,
                                          LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (Module == NULL) {
        return STATUS_DLL_NOT_FOUND;
    }

    if (RtlLoadSymbols(Module, &Name, (PVOID *)&ShellExecute, 1, NULL) != 0) {
        return STATUS_ENTRYPOINT_NOT_FOUND;
    }

    return (ULONG_PTR)ShellExecute(NULL,
                                   L"open",
                                   Path,
                                   NULL,
                                   NULL,
                                   READER_SHOW_NORMAL) >
                   READER_LAST_SHELL_ERROR
               ? STATUS_SUCCESS
               : STATUS_UNSUCCESSFUL;
}
