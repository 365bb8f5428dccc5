/*++

Module Name:

    BaseExit.c

Abstract:

    What the exit code of a process tells.

--*/

#include "BaseExit.h"

//
// Exit codes of this severity, and not of a customer's facility, are the
// system's.
//

#define READER_EXIT_SEVERITY 0xF0000000
#define READER_EXIT_ERROR 0xC0000000

//
// From here on they are small negative numbers.
//

#define READER_EXIT_NEGATIVE 0xFFFF0000


_Use_decl_annotations_
PCSZ
BaseNameExit(
    ULONG ExitCode
    )
{
    static const struct {
        ULONG ExitCode;
        PCSZ Name;
    } Crashes[] = {
        { 0x80000002, "STATUS_DATATYPE_MISALIGNMENT" },
        { 0x80000003, "STATUS_BREAKPOINT" },
        { 0x80000004, "STATUS_SINGLE_STEP" },
        { 0xC0000005, "STATUS_ACCESS_VIOLATION" },
        { 0xC0000006, "STATUS_IN_PAGE_ERROR" },
        { 0xC0000008, "STATUS_INVALID_HANDLE" },
        { 0xC0000017, "STATUS_NO_MEMORY" },
        { 0xC000001D, "STATUS_ILLEGAL_INSTRUCTION" },
        { 0xC0000025, "STATUS_NONCONTINUABLE_EXCEPTION" },
        { 0xC0000026, "STATUS_INVALID_DISPOSITION" },
        { 0xC000008C, "STATUS_ARRAY_BOUNDS_EXCEEDED" },
        { 0xC000008D, "STATUS_FLOAT_DENORMAL_OPERAND" },
        { 0xC000008E, "STATUS_FLOAT_DIVIDE_BY_ZERO" },
        { 0xC000008F, "STATUS_FLOAT_INEXACT_RESULT" },
        { 0xC0000090, "STATUS_FLOAT_INVALID_OPERATION" },
        { 0xC0000091, "STATUS_FLOAT_OVERFLOW" },
        { 0xC0000092, "STATUS_FLOAT_STACK_CHECK" },
        { 0xC0000093, "STATUS_FLOAT_UNDERFLOW" },
        { 0xC0000094, "STATUS_INTEGER_DIVIDE_BY_ZERO" },
        { 0xC0000095, "STATUS_INTEGER_OVERFLOW" },
        { 0xC0000096, "STATUS_PRIVILEGED_INSTRUCTION" },
        { 0xC00000FD, "STATUS_STACK_OVERFLOW" },
        { 0xC0000135, "STATUS_DLL_NOT_FOUND" },
        { 0xC0000138, "STATUS_ORDINAL_NOT_FOUND" },
        { 0xC0000139, "STATUS_ENTRYPOINT_NOT_FOUND" },
        { 0xC000013A, "STATUS_CONTROL_C_EXIT" },
        { 0xC0000142, "STATUS_DLL_INIT_FAILED" },
        { 0xC0000194, "STATUS_POSSIBLE_DEADLOCK" },
        { 0xC0000374, "STATUS_HEAP_CORRUPTION" },
        { 0xC0000409, "STATUS_STACK_BUFFER_OVERRUN, or fail fast" },
        { 0xC0000417, "STATUS_INVALID_CRUNTIME_PARAMETER" },
        { 0xC0000420, "STATUS_ASSERTION_FAILURE" },
        { 0xC0000602, "STATUS_FAIL_FAST_EXCEPTION" },
        { 0xE06D7363, "a C++ exception that nobody caught" }
    };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Crashes); Index++) {
        if (Crashes[Index].ExitCode == ExitCode) {
            return Crashes[Index].Name;
        }
    }

    return NULL;
}


_Use_decl_annotations_
BOOLEAN
BaseIsCrash(
    ULONG ExitCode
    )
{
    return BaseNameExit(ExitCode) != NULL ||
           (ExitCode & READER_EXIT_SEVERITY) == READER_EXIT_ERROR;
}


_Use_decl_annotations_
VOID
BaseDescribeExit(
    PRTL_WRITER Writer,
    ULONG ExitCode,
    BOOLEAN IsNamed
    )
{
    PCSZ Name = BaseNameExit(ExitCode);

    if (ExitCode >= READER_EXIT_NEGATIVE || ExitCode < 0x80000000) {
        RtlWriteText(Writer, "%d", (LONG)ExitCode);
    } else {
        RtlWriteText(Writer, "0x%08X", ExitCode);
    }

    if (Name != NULL && IsNamed) {
        RtlWriteText(Writer, " (%s)", Name);
    }
}
