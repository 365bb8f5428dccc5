/*++

Module Name:

    SessionName.c

Abstract:

    The names of the files in a session's directory, and of images.

--*/

#include "SessionName.h"

_Use_decl_annotations_
NTSTATUS
SessionComposeName(
    const READER_SESSION *Session,
    PCUNICODE_STRING Name,
    PWCHAR Buffer,
    PUNICODE_STRING Composed
    )
{
    PCUNICODE_STRING Above =
        &Session->Directories[Session->VisitedDirectory].Name;
    ULONG Length = Above->Length / sizeof(WCHAR);

    if (Length + 1 + Name->Length / sizeof(WCHAR) >
        READER_MAXIMUM_NAME_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    RtlCopyBytes(Buffer, Above->Buffer, Above->Length);
    if (Length != 0) {
        Buffer[Length] = L'\\';
        Length += 1;
    }

    RtlCopyBytes(Buffer + Length, Name->Buffer, Name->Length);
    RtlPointUnicodeString(Composed,
                          Buffer,
                          Length + Name->Length / sizeof(WCHAR));
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
BOOLEAN
SessionAdmitName(
    PREADER_SESSION Session,
    PCUNICODE_STRING Name
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;

    if (RtlIsPlainName(Name, FALSE)) {
        return TRUE;
    }

    if (!Session->IsNameWarned) {
        Session->IsNameWarned = TRUE;
        RtlWriteText(Errors,
                     "TraceReader: warning: %Z: ignored, as are all names that "
                     "a file in this directory cannot have\n",
                     Name);
        RtlFlushWriter(Errors);
    }

    return FALSE;
}


_Use_decl_annotations_
NTSTATUS
SessionNameCopy(
    PCALLOCATOR Allocator,
    PCUNICODE_STRING Name,
    PUNICODE_STRING Copy
    )
{
    PWSTR Buffer = NULL;

    if (Name->Length != 0) {

        Buffer = (PWSTR)Allocator->Allocate(Allocator->Context, Name->Length);
        if (Buffer == NULL) {
            return STATUS_NO_MEMORY;
        }

        RtlCopyBytes(Buffer, Name->Buffer, Name->Length);
    }

    RtlPointUnicodeString(Copy, Buffer, Name->Length / sizeof(WCHAR));
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
SessionSkipFolders(
    const CHAR *Path,
    ULONG LengthInBytes
    )
{
    ULONG Index = LengthInBytes;

    while (Index != 0 && Path[Index - 1] != '\\' && Path[Index - 1] != '/') {
        Index -= 1;
    }

    return Index;
}


_Use_decl_annotations_
BOOLEAN
SessionEndsWith(
    PCRTL Rtl,
    PCUNICODE_STRING Name,
    PCWSTR Text,
    ULONG LengthInChars
    )
{
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Index;

    if (Length < LengthInChars) {
        return FALSE;
    }

    for (Index = 0; Index < LengthInChars; Index++) {
        if (Rtl->RtlUpcaseUnicodeChar(
                Name->Buffer[Length - LengthInChars + Index]) != Text[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}
