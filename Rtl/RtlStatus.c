/*++

Module Name:

    RtlStatus.c

Abstract:

    Errors: what failed, where, and with which status.

--*/

#include "Rtl.h"

//
// The statuses that have a name in messages: those that files, sections,
// memory, loading and Tracer's own checks give.
//

#define RTLP_STATUS_NAMES(ENTRY)                                            \
    ENTRY(STATUS_SUCCESS)                                                   \
    ENTRY(STATUS_TIMEOUT)                                                   \
    ENTRY(STATUS_PENDING)                                                   \
    ENTRY(STATUS_BUFFER_OVERFLOW)                                           \
    ENTRY(STATUS_NO_MORE_FILES)                                             \
    ENTRY(STATUS_NO_MORE_ENTRIES)                                           \
    ENTRY(STATUS_UNSUCCESSFUL)                                              \
    ENTRY(STATUS_NOT_IMPLEMENTED)                                           \
    ENTRY(STATUS_INVALID_INFO_CLASS)                                        \
    ENTRY(STATUS_INFO_LENGTH_MISMATCH)                                      \
    ENTRY(STATUS_ACCESS_VIOLATION)                                          \
    ENTRY(STATUS_IN_PAGE_ERROR)                                             \
    ENTRY(STATUS_PAGEFILE_QUOTA)                                            \
    ENTRY(STATUS_INVALID_HANDLE)                                            \
    ENTRY(STATUS_INVALID_CID)                                               \
    ENTRY(STATUS_INVALID_PARAMETER)                                         \
    ENTRY(STATUS_NO_SUCH_DEVICE)                                            \
    ENTRY(STATUS_NO_SUCH_FILE)                                              \
    ENTRY(STATUS_INVALID_DEVICE_REQUEST)                                    \
    ENTRY(STATUS_END_OF_FILE)                                               \
    ENTRY(STATUS_NO_MEDIA_IN_DEVICE)                                        \
    ENTRY(STATUS_NO_MEMORY)                                                 \
    ENTRY(STATUS_CONFLICTING_ADDRESSES)                                     \
    ENTRY(STATUS_NOT_MAPPED_VIEW)                                           \
    ENTRY(STATUS_INVALID_VIEW_SIZE)                                         \
    ENTRY(STATUS_INVALID_FILE_FOR_SECTION)                                  \
    ENTRY(STATUS_ACCESS_DENIED)                                             \
    ENTRY(STATUS_BUFFER_TOO_SMALL)                                          \
    ENTRY(STATUS_OBJECT_TYPE_MISMATCH)                                      \
    ENTRY(STATUS_DISK_CORRUPT_ERROR)                                        \
    ENTRY(STATUS_OBJECT_NAME_INVALID)                                       \
    ENTRY(STATUS_OBJECT_NAME_NOT_FOUND)                                     \
    ENTRY(STATUS_OBJECT_NAME_COLLISION)                                     \
    ENTRY(STATUS_OBJECT_PATH_INVALID)                                       \
    ENTRY(STATUS_OBJECT_PATH_NOT_FOUND)                                     \
    ENTRY(STATUS_OBJECT_PATH_SYNTAX_BAD)                                    \
    ENTRY(STATUS_SHARING_VIOLATION)                                         \
    ENTRY(STATUS_QUOTA_EXCEEDED)                                            \
    ENTRY(STATUS_INVALID_PAGE_PROTECTION)                                   \
    ENTRY(STATUS_SECTION_TOO_BIG)                                           \
    ENTRY(STATUS_FILE_LOCK_CONFLICT)                                        \
    ENTRY(STATUS_LOCK_NOT_GRANTED)                                          \
    ENTRY(STATUS_DELETE_PENDING)                                            \
    ENTRY(STATUS_UNKNOWN_REVISION)                                          \
    ENTRY(STATUS_REVISION_MISMATCH)                                         \
    ENTRY(STATUS_INVALID_OWNER)                                             \
    ENTRY(STATUS_PRIVILEGE_NOT_HELD)                                        \
    ENTRY(STATUS_DATA_ERROR)                                                \
    ENTRY(STATUS_CRC_ERROR)                                                 \
    ENTRY(STATUS_INVALID_IMAGE_FORMAT)                                      \
    ENTRY(STATUS_DISK_FULL)                                                 \
    ENTRY(STATUS_INTEGER_OVERFLOW)                                          \
    ENTRY(STATUS_FILE_INVALID)                                              \
    ENTRY(STATUS_INSUFFICIENT_RESOURCES)                                    \
    ENTRY(STATUS_COMMITMENT_LIMIT)                                          \
    ENTRY(STATUS_DEVICE_NOT_READY)                                          \
    ENTRY(STATUS_MEDIA_WRITE_PROTECTED)                                     \
    ENTRY(STATUS_PIPE_BROKEN)                                               \
    ENTRY(STATUS_PIPE_EMPTY)                                                \
    ENTRY(STATUS_PIPE_CLOSING)                                              \
    ENTRY(STATUS_IO_TIMEOUT)                                                \
    ENTRY(STATUS_TOO_MANY_OPENED_FILES)                                     \
    ENTRY(STATUS_FILE_IS_A_DIRECTORY)                                       \
    ENTRY(STATUS_NOT_SUPPORTED)                                             \
    ENTRY(STATUS_BAD_NETWORK_PATH)                                          \
    ENTRY(STATUS_BAD_NETWORK_NAME)                                          \
    ENTRY(STATUS_DUPLICATE_NAME)                                            \
    ENTRY(STATUS_NETWORK_ACCESS_DENIED)                                     \
    ENTRY(STATUS_NOT_SAME_DEVICE)                                           \
    ENTRY(STATUS_FILE_RENAMED)                                              \
    ENTRY(STATUS_INVALID_ADDRESS)                                           \
    ENTRY(STATUS_NOT_A_DIRECTORY)                                           \
    ENTRY(STATUS_VARIABLE_NOT_FOUND)                                        \
    ENTRY(STATUS_DIRECTORY_NOT_EMPTY)                                       \
    ENTRY(STATUS_FILE_CORRUPT_ERROR)                                        \
    ENTRY(STATUS_NAME_TOO_LONG)                                             \
    ENTRY(STATUS_CANCELLED)                                                 \
    ENTRY(STATUS_CANNOT_DELETE)                                             \
    ENTRY(STATUS_FILE_DELETED)                                              \
    ENTRY(STATUS_FILE_CLOSED)                                               \
    ENTRY(STATUS_DLL_NOT_FOUND)                                             \
    ENTRY(STATUS_ENTRYPOINT_NOT_FOUND)                                      \
    ENTRY(STATUS_PROCEDURE_NOT_FOUND)                                       \
    ENTRY(STATUS_MAPPED_ALIGNMENT)                                          \
    ENTRY(STATUS_NOT_FOUND)                                                 \
    ENTRY(STATUS_USER_MAPPED_FILE)                                          \
    ENTRY(STATUS_PROCESS_IS_TERMINATING)                                    \
    ENTRY(STATUS_FILE_SYSTEM_LIMITATION)                                    \
    ENTRY(STATUS_FILE_TOO_LARGE)                                            \
    ENTRY(STATUS_REPARSE_POINT_ENCOUNTERED)

typedef struct _RTLP_STATUS_NAME {
    NTSTATUS Status;
    PCSZ Name;
} RTLP_STATUS_NAME;

#define RTLP_STATUS_ENTRY(Name) { (NTSTATUS)Name, #Name },

static const RTLP_STATUS_NAME RtlpStatusNames[] = {
    RTLP_STATUS_NAMES(RTLP_STATUS_ENTRY)
};

_Use_decl_annotations_
PCSZ
RtlStatusName(
    NTSTATUS Status
    )
/*++

Routine Description:

    Names a status.

Arguments:

    Status - Supplies the status.

Return Value:

    Its name, or NULL if it is not one of the common ones.

--*/
{
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(RtlpStatusNames); Index++) {
        if (RtlpStatusNames[Index].Status == Status) {
            return RtlpStatusNames[Index].Name;
        }
    }

    return NULL;
}

_Use_decl_annotations_
NTSTATUS
RtlSetError(
    PRTL_ERROR Error,
    PCSZ Step,
    PCUNICODE_STRING Object,
    NTSTATUS Status
    )
/*++

Routine Description:

    Notes what failed.

Arguments:

    Error - Optionally receives the step, the object and the status.

    Step - Supplies what was being done; the string is kept, not copied.

    Object - Optionally supplies what it was done to.  What does not fit is
        left out, without cutting a surrogate pair.

    Status - Supplies the status.

Return Value:

    Status.

--*/
{
    ULONG Length = 0;

    if (Error == NULL) {
        return Status;
    }

    if (Object != NULL) {

        Length = Object->Length / sizeof(WCHAR);

        if (Length > RTL_NUMBER_OF(Error->Object)) {

            Length = RTL_NUMBER_OF(Error->Object);

            if ((Object->Buffer[Length - 1] & 0xFC00) == 0xD800) {
                Length--;
            }
        }

        RtlCopyBytes(Error->Object, Object->Buffer, Length * sizeof(WCHAR));
    }

    Error->Step = Step;
    Error->Status = Status;
    Error->ObjectLengthInChars = Length;

    return Status;
}

_Use_decl_annotations_
VOID
RtlWriteError(
    PRTL_WRITER Writer,
    PCRTL_ERROR Error
    )
/*++

Routine Description:

    Writes an error on one line, without a line feed; of a success only what
    was done, and to what.

Arguments:

    Writer - Supplies the writer.

    Error - Supplies the error.

Return Value:

    None.

--*/
{
    UNICODE_STRING Object;
    PCSZ Name;

    RtlWriteText(Writer, "%s", Error->Step);

    if (Error->ObjectLengthInChars != 0) {
        RtlPointUnicodeString(&Object,
                              Error->Object,
                              Error->ObjectLengthInChars);
        RtlWriteText(Writer, ": %Z", &Object);
    }

    //
    // What is said of a success is no error's code.
    //

    if (Error->Status == STATUS_SUCCESS) {
        return;
    }

    RtlWriteText(Writer, ": 0x%08X", (ULONG)Error->Status);

    Name = RtlStatusName(Error->Status);
    if (Name != NULL) {
        RtlWriteText(Writer, " (%s)", Name);
    }
}
