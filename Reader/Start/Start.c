/*++

Module Name:

    Start.c

Abstract:

    TraceReader.exe's entry point.

--*/

#include "../../Rtl/RtlTeb.h"
#include "../Commands/Command.h"

#define READER_OUTPUT_CAPACITY 65536
#define READER_ERRORS_CAPACITY 4096

//
// Writes to the error output before there is an RTL to write with.
//

static
VOID
StartWriteDirectly(
    _In_z_ PCSZ Text
    )
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

//
// Makes the RTL, the allocator, the writers and the arguments, runs the
// program, and ends the process with its exit code.
// Does not return.
//

VOID
mainCRTStartup(
    VOID
    )
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
    PVOID volatile Decoder = NULL;
    ULONG ExitCode = READER_EXIT_FAILURE;
    RTL_USER User;
    RTL_PRIVATE_DESCRIPTOR DirectoryDescriptor;
    RTL_PRIVATE_DESCRIPTOR FileDescriptor;

    if (!NT_SUCCESS(RtlBootstrap(&Rtl, &MissingName))) {
        StartWriteDirectly("TraceReader: find a system routine: ");
        StartWriteDirectly(MissingName != NULL ? MissingName : "ntdll");
        StartWriteDirectly("\n");
        goto End;
    }

    //
    // What is made for a session is the user's alone, and the session's user's:
    // what the session directory lets inherit is added to files in it.
    //

    if (NT_SUCCESS(RtlQueryUser(&Rtl, (HANDLE)-1, &User)) &&
        !User.IsRestricted) {

        RtlMakePrivateDescriptor(&User, TRUE, TRUE, &DirectoryDescriptor);
        RtlMakePrivateDescriptor(&User, FALSE, FALSE, &FileDescriptor);
        Rtl.DirectorySecurity = &DirectoryDescriptor;
        Rtl.FileSecurity = &FileDescriptor;
    }

    RtlInitializeHeapAllocator(&Rtl, &Allocator);
    Buffers = (PCHAR)Allocator.Allocate(Allocator.Context,
                                        READER_OUTPUT_CAPACITY +
                                            READER_ERRORS_CAPACITY);
    if (Buffers == NULL) {
        StartWriteDirectly("TraceReader: allocate the output: "
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
    Context.Decoder = &Decoder;
    Context.NumberOfProcessors =
        *(PULONG)((PBYTE)__readgsqword(TEB_PEB) +
                  PEB_NUMBER_OF_PROCESSORS);

    if (!NT_SUCCESS(RtlSplitCommandLine(Rtl.GetCommandLineW(),
                                        &Allocator,
                                        &Arguments,
                                        &NumberOfArguments))) {
        StartWriteDirectly("TraceReader: split the command line: "
                                  "STATUS_NO_MEMORY\n");
        goto End;
    }

    ExitCode = CommandMain(&Context, Arguments, NumberOfArguments);

End:
    ExitProcess(ExitCode);
}
