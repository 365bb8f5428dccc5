/*++

Module Name:

    KdMain.c

Abstract:

    TracerKd.dll: an extension of WinDbg, cdb, ntsd and kd.

    Each command begins with nothing and leaves nothing: the engine may unload
    the extension, and load it again, between two of them.  Whatever goes wrong
    in a command ends it with a line of text, and never the debugger.

--*/

#include "Kd.h"
#include "KdCommands.h"

BOOL
WINAPI
KdEntry(
    _In_ HINSTANCE Module,
    _In_ DWORD Reason,
    _In_opt_ LPVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(Module);
    UNREFERENCED_PARAMETER(Reason);
    UNREFERENCED_PARAMETER(Reserved);

    return TRUE;
}

_Use_decl_annotations_
HRESULT
CALLBACK
DebugExtensionInitialize(
    PULONG Version,
    PULONG Flags
    )
{
    *Version = KD_EXTENSION_VERSION;
    *Flags = 0;
    return S_OK;
}

_Use_decl_annotations_
VOID
CALLBACK
DebugExtensionUninitialize(
    VOID
    )
{
}

_Use_decl_annotations_
VOID
CALLBACK
DebugExtensionNotify(
    ULONG Notify,
    ULONGLONG Argument
    )
{
    UNREFERENCED_PARAMETER(Notify);
    UNREFERENCED_PARAMETER(Argument);
}

//
// Says why a command is not carried out.
//

static
VOID
KdSay(
    _Inout_ PKD_CONTEXT Context,
    _In_z_ PCSZ Text
    )
{
    RtlWriteText(&Context->Writer, "%s", Text);
    KdContextEndLine(Context);
}

static
HRESULT
KdRun(
    _In_opt_ PKD_UNKNOWN Client,
    _In_opt_z_ PCSTR Arguments,
    _In_ PKD_COMMAND Command
    )
{
    RTL Rtl;
    PKD_CONTEXT Context;
    ULONG Code = 0;
    HRESULT Result;

    if (!NT_SUCCESS(RtlBootstrap(&Rtl, NULL))) {
        return E_FAIL;
    }

    Result = KdContextCreate(&Rtl, Client, &Context);
    if (FAILED(Result)) {
        return Result;
    }

    //
    // An exception here is a mistake of ours, or of the engine: the memory of
    // the command is lost, and the debugger lives.
    //

    __try {

        if (!Context->HasTarget && Command != KdHelp) {
            KdSay(Context, "There is no target.");
        } else if (Command != KdHelp &&
                   Context->Control->Methods->IsPointer64Bit(
                       Context->Control) != S_OK) {
            KdSay(Context, "The target is not one of 64 bits.");
        } else {
            Command(Context, Arguments);
        }

        if (Context->IsStopped) {
            KdSay(Context, "# stopped by Ctrl+Break: this is not all");
        } else if (Context->IsCut) {
            KdSay(Context, "# there are more lines than are shown");
        }

    } __except (Code = GetExceptionCode(), EXCEPTION_EXECUTE_HANDLER) {

        Context->Writer.LengthInBytes = 0;
        RtlWriteText(&Context->Writer,
                     "# TracerKd failed: exception 0x%08X",
                     Code);
        KdContextEndLine(Context);
        Result = E_FAIL;
    }

    KdContextDestroy(Context);
    return Result;
}

#define KD_EXPORT_COMMAND(Name, Command)                                    \
    _Use_decl_annotations_                                                  \
    HRESULT                                                                 \
    CALLBACK                                                                \
    Name(                                                                   \
        PKD_UNKNOWN Client,                                                 \
        PCSTR Arguments                                                     \
        )                                                                   \
    {                                                                       \
        return KdRun(Client, Arguments, Command);                           \
    }

KD_EXPORT_COMMAND(modulestats, KdModuleStats)
KD_EXPORT_COMMAND(lastcalls, KdLastCalls)
KD_EXPORT_COMMAND(calltree, KdCallTree)
KD_EXPORT_COMMAND(stack_usage, KdStackUsage)
KD_EXPORT_COMMAND(tracer, KdTracer)
KD_EXPORT_COMMAND(help, KdHelp)
