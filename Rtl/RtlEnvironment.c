/*++

Module Name:

    RtlEnvironment.c

Abstract:

    Environment variables.

--*/

#include "Rtl.h"

_Use_decl_annotations_
NTSTATUS
RtlQueryEnvironment(
    PCRTL Rtl,
    PCWSTR Name,
    PWCHAR Buffer,
    ULONG CapacityInChars,
    PUNICODE_STRING Value
    )
/*++

Routine Description:

    Reads an environment variable of the process, or of Rtl->Environment.

Arguments:

    Rtl - Supplies the RTL.

    Name - Supplies the variable's name.

    Buffer - Receives the value.

    CapacityInChars - Supplies the size of Buffer, in 16-bit units.

    Value - Receives the value, which lies in Buffer; not written on failure.

Return Value:

    STATUS_SUCCESS - The variable is there; its value may be empty.

    STATUS_VARIABLE_NOT_FOUND - It is not there.

    STATUS_BUFFER_TOO_SMALL - Buffer is too small.

--*/
{
    UNICODE_STRING NameString;
    UNICODE_STRING ValueString;
    NTSTATUS Status;

    if (CapacityInChars > RTL_MAXIMUM_PATH_IN_CHARS) {
        CapacityInChars = RTL_MAXIMUM_PATH_IN_CHARS;
    }

    RtlPointUnicodeString(&NameString, Name, RtlLengthOfWideString(Name));

    ValueString.Length = 0;
    ValueString.MaximumLength = (USHORT)(CapacityInChars * sizeof(WCHAR));
    ValueString.Buffer = Buffer;

    Status = Rtl->RtlQueryEnvironmentVariable_U(Rtl->Environment,
                                                &NameString,
                                                &ValueString);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Value = ValueString;
    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlSetEnvironment(
    PCRTL Rtl,
    PCWSTR Name,
    PCUNICODE_STRING Value
    )
/*++

Routine Description:

    Sets an environment variable of the process, which is not done if
    Rtl->Environment takes the place of those that it has.

Arguments:

    Rtl - Supplies the RTL.

    Name - Supplies the variable's name.

    Value - Supplies the value.

Return Value:

    STATUS_SUCCESS.

    STATUS_NOT_SUPPORTED - The system has no routine for that, or the process's
        environment is not the one that is read.

    Or what that routine gave.

--*/
{
    UNICODE_STRING NameString;

    if (Rtl->RtlSetEnvironmentVariable == NULL || Rtl->Environment != NULL) {
        return STATUS_NOT_SUPPORTED;
    }

    RtlPointUnicodeString(&NameString, Name, RtlLengthOfWideString(Name));
    return Rtl->RtlSetEnvironmentVariable(NULL, &NameString, Value);
}
