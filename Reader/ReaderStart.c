/*++

Module Name:

    ReaderStart.c

Abstract:

    TraceReader.exe's entry point.

--*/

#include "Reader.h"

#define READER_OUTPUT_CAPACITY 65536
#define READER_ERRORS_CAPACITY 4096

//
// Offsets in the TEB and in the PEB on x64.
//

#define READER_TEB_PEB                  0x60
#define READER_PEB_NUMBER_OF_PROCESSORS 0xB8

static
VOID
ReaderWriteBytesDirectly(
    _In_z_ PCSZ Text
    )
/*++

Routine Description:

    Writes to the error output before there is an RTL to write with.

Arguments:

    Text - The text.

Return Value:

    None.

--*/
{
    DWORD Written;
    DWORD Length = 0;

    while (Text[Length] != 0) {
        Length += 1;
    }

    WriteFile(GetStdHandle(STD_ERROR_HANDLE), Text, Length, &Written, NULL);
}

VOID
mainCRTStartup(
    VOID
    );

VOID
mainCRTStartup(
    VOID
    )
/*++

Routine Description:

    Makes the RTL, the allocator, the writers and the arguments, runs the
    program, and ends the process with its exit code.

Arguments:

    None.

Return Value:

    None.  Does not return.

--*/
{
    RTL Rtl;
    ALLOCATOR Allocator;
    RTL_WRITER Output;
    RTL_WRITER Errors;
    READER_CONTEXT Context;
    PRTL_ARGUMENT Arguments;
    ULONG NumberOfArguments;
    PCSZ MissingName = NULL;
    PCHAR Buffers;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (!NT_SUCCESS(RtlBootstrap(&Rtl, &MissingName))) {
        ReaderWriteBytesDirectly("TraceReader: find a system routine: ");
        ReaderWriteBytesDirectly(MissingName != NULL ? MissingName : "ntdll");
        ReaderWriteBytesDirectly("\n");
        goto End;
    }

    RtlInitializeHeapAllocator(&Rtl, &Allocator);
    Buffers = (PCHAR)Allocator.Allocate(Allocator.Context,
                                        READER_OUTPUT_CAPACITY +
                                            READER_ERRORS_CAPACITY);
    if (Buffers == NULL) {
        ReaderWriteBytesDirectly("TraceReader: allocate the output: "
                                 "STATUS_NO_MEMORY\n");
        goto End;
    }

    RtlInitializeStandardWriter(&Rtl,
                                STD_OUTPUT_HANDLE,
                                &Output,
                                Buffers,
                                READER_OUTPUT_CAPACITY);
    RtlInitializeStandardWriter(&Rtl,
                                STD_ERROR_HANDLE,
                                &Errors,
                                Buffers + READER_OUTPUT_CAPACITY,
                                READER_ERRORS_CAPACITY);
    Context.Rtl = &Rtl;
    Context.Allocator = &Allocator;
    Context.Output = &Output;
    Context.Errors = &Errors;
    Context.NumberOfProcessors =
        *(PULONG)((PBYTE)__readgsqword(READER_TEB_PEB) +
                  READER_PEB_NUMBER_OF_PROCESSORS);

    if (!NT_SUCCESS(RtlSplitCommandLine(Rtl.GetCommandLineW(),
                                        &Allocator,
                                        &Arguments,
                                        &NumberOfArguments))) {
        ReaderWriteBytesDirectly("TraceReader: split the command line: "
                                 "STATUS_NO_MEMORY\n");
        goto End;
    }

    ExitCode = ReaderMain(&Context, Arguments, NumberOfArguments);

End:
    ExitProcess(ExitCode);
}
