/*++

Module Name:

    OutputPagerProgram.c

Abstract:

    A program that shows the output page by page: what --pager, TRACER_PAGER and
    PAGER name.

    The text goes to it through a pipe, in UTF-8.  It is started without a
    shell, so that its absence is known at once.

--*/

#include "OutputPagerProgram.h"

//
// What git gives less, too: colours, and what it showed stays on the screen.
//

#define READER_LESS_OPTIONS L"FRX"


_Use_decl_annotations_
BOOLEAN
OutputIsLess(
    PCWSTR Command
    )
{
    static const WCHAR Less[] = L"less";
    BOOLEAN IsQuoted = Command[0] == L'"';
    ULONG Start = 0;
    ULONG Index;

    for (Index = IsQuoted ? 1 : 0; Command[Index] != 0; Index++) {
        if (Command[Index] == (IsQuoted ? L'"' : L' ')) {
            break;
        }
        if (Command[Index] == L'\\' || Command[Index] == L'/' ||
            Command[Index] == L'"') {
            Start = Index + 1;
        }
    }

    Start += IsQuoted && Start == 0 ? 1 : 0;
    for (Index = 0; Less[Index] != 0; Index++) {
        if ((Command[Start + Index] | 0x20) != Less[Index]) {
            return FALSE;
        }
    }

    return Command[Start + Index] == 0 || Command[Start + Index] == L' ' ||
           Command[Start + Index] == L'.' || Command[Start + Index] == L'"';
}


_Use_decl_annotations_
NTSTATUS
OutputStartProgram(
    PREADER_PAGER_PROGRAM Program,
    PCREADER_CONTEXT Context,
    PCWSTR Command
    )
{
    PCRTL Rtl = Context->Rtl;
    PCALLOCATOR Allocator = Context->Allocator;
    SIZE_T Size = ((SIZE_T)RtlLengthOfWideString(Command) + 1) * sizeof(WCHAR);
    UNICODE_STRING Value;
    WCHAR Buffer[4];
    PWCHAR Copy;
    HANDLE Read;
    HANDLE Write;
    NTSTATUS Status;

    RtlZeroBytes(Program, sizeof(*Program));
    Status = BaseLoadProgram(&Program->Program, Context);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Copy = (PWCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (Copy == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Copy, Command, Size);
    Status = BasePipeProgram(&Program->Program, &Read, &Write);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, Copy);
        return Status;
    }

    if (OutputIsLess(Command) &&
        RtlQueryEnvironment(Rtl, L"LESS", Buffer, RTL_NUMBER_OF(Buffer),
                            &Value) == STATUS_VARIABLE_NOT_FOUND) {
        RtlPointUnicodeString(&Value,
                              READER_LESS_OPTIONS,
                              RTL_NUMBER_OF(READER_LESS_OPTIONS) - 1);
        (VOID)RtlSetEnvironment(Rtl, L"LESS", &Value);
    }

    Status = BaseStartProgram(&Program->Program, Copy, Read, NULL);
    Allocator->Free(Allocator->Context, Copy);
    Rtl->NtClose(Read);
    if (!NT_SUCCESS(Status)) {
        Rtl->NtClose(Write);
        return Status;
    }

    Program->Pipe = Write;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
OutputWriteToProgram(
    const READER_PAGER_PROGRAM *Program,
    const CHAR *Bytes,
    ULONG SizeInBytes
    )
{
    PCRTL Rtl = Program->Program.Context->Rtl;
    DWORD Written;

    while (SizeInBytes != 0) {

        Written = 0;
        if (!Rtl->WriteFile(Program->Pipe,
                            Bytes,
                            SizeInBytes,
                            &Written,
                            NULL) ||
            Written == 0 || Written > SizeInBytes) {
            return STATUS_PIPE_BROKEN;
        }

        Bytes += Written;
        SizeInBytes -= Written;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
OutputWaitForProgram(
    PREADER_PAGER_PROGRAM Program
    )
{
    PCRTL Rtl;

    if (Program->Pipe != NULL) {
        Rtl = Program->Program.Context->Rtl;
        Rtl->NtClose(Program->Pipe);
        (VOID)Rtl->NtWaitForSingleObject(Program->Program.Process,
                                         FALSE,
                                         NULL);
        Rtl->NtClose(Program->Program.Process);
        Program->Pipe = NULL;
    }
}
