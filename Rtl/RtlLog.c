/*++

Module Name:

    RtlLog.c

Abstract:

    What sessions are called and how a line of their logs begins.

--*/

#include "RtlLog.h"
#include "RtlTeb.h"

_Use_decl_annotations_
VOID
RtlMakeSessionName(
    PCUNICODE_STRING Program,
    ULONGLONG CreationTime,
    PWCHAR Buffer,
    ULONG CapacityInChars,
    PUNICODE_STRING Name
    )
/*++

Routine Description:

    Makes the name of a session's directory.

Arguments:

    Program - Supplies the file name of the program, or of what else is traced.

    CreationTime - Supplies when the calling process was created.

    Buffer - Receives the name, which is not terminated.

    CapacityInChars - Supplies the size of Buffer, more than
        RTL_SESSION_SUFFIX_CHARS.

    Name - Receives a string that points into Buffer.

Return Value:

    None.

--*/
{
    RTL_CALENDAR_TIME Time;
    RTL_WRITER Writer;
    CHAR Text[RTL_SESSION_SUFFIX_CHARS];
    ULONG Length;
    ULONG Index;

    RtlSystemTimeToCalendar(CreationTime, &Time);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "-%u-%04u%02u%02u-%02u%02u%02u-%03u",
                 __readgsdword(TEB_PROCESS_ID),
                 Time.Year,
                 Time.Month,
                 Time.Day,
                 Time.Hour,
                 Time.Minute,
                 Time.Second,
                 Time.Milliseconds);

    Length = Program->Length / sizeof(WCHAR);
    if (Length > CapacityInChars - sizeof(Text)) {
        Length = CapacityInChars - sizeof(Text);
    }

    RtlCopyBytes(Buffer, Program->Buffer, Length * sizeof(WCHAR));
    for (Index = 0; Index < Writer.LengthInBytes; Index++) {
        Buffer[Length] = (WCHAR)Text[Index];
        Length += 1;
    }

    RtlPointUnicodeString(Name, Buffer, Length);
}

_Use_decl_annotations_
VOID
RtlWriteLogHead(
    PCRTL Rtl,
    PRTL_WRITER Writer,
    PCUNICODE_STRING Module
    )
/*++

Routine Description:

    Writes what a line of a log begins with.

Arguments:

    Rtl - Supplies the RTL.

    Writer - Supplies the writer.

    Module - Supplies the module's name.

Return Value:

    None.

--*/
{
    RTL_CALENDAR_TIME Time;
    LARGE_INTEGER Now;

    Now.QuadPart = 0;
    Rtl->NtQuerySystemTime(&Now);
    RtlSystemTimeToCalendar((ULONGLONG)Now.QuadPart, &Time);
    RtlWriteText(Writer,
                 "%04u-%02u-%02u %02u:%02u:%02u.%03uZ Tracer: %Z "
                 "(process %u, thread %u): ",
                 Time.Year,
                 Time.Month,
                 Time.Day,
                 Time.Hour,
                 Time.Minute,
                 Time.Second,
                 Time.Milliseconds,
                 Module,
                 __readgsdword(TEB_PROCESS_ID),
                 __readgsdword(TEB_THREAD_ID));
}
