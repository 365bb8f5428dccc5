/*++

Module Name:

    PenterLeftOut.c

Abstract:

    A module that TRACER_MODULES does not have leaves nothing: its hooks return,
    and there is no session, thread or log.  But if no module of the process has
    one, the list is wrong, and a module that it does not have says so when the
    process ends.  Nobody knows earlier, since DLLs may come at any time; and
    nothing is done until then but to keep the configuration.

--*/

#include "../Rtl/RtlTeb.h"
#include "../TraceStore/TraceDirectory.h"
#include "../TraceStore/TraceLog.h"
#include "../TraceStore/TraceSession.h"
#include "PenterLeftOut.h"
#include "PenterSwitch.h"

static PPENTER_CONFIG volatile PenterUnmatched;

//
// At the end of a process the callbacks of an EXE's TLS directory are not
// called everywhere; those of fiber local storage are.
//

static
VOID
NTAPI
PenterUnmatchedCallback(
    PVOID Value
    )
{
    UNREFERENCED_PARAMETER(Value);

    PenterCloseUnmatched();
}

_Use_decl_annotations_
BOOLEAN
PenterKeepUnmatched(
    PCRTL Rtl,
    PPENTER_CONFIG Config
    )
{
    UNICODE_STRING Path;
    DWORD FlsIndex;

    //
    // The program may change its current directory.
    //

    if (Config->Unmatched == NULL ||
        !NT_SUCCESS(RtlDosPathToNtPath(Rtl,
                                       &Config->RootDirectory,
                                       Config->Scratch,
                                       RTL_MAXIMUM_PATH_IN_CHARS,
                                       &Path)) ||
        Path.Length <= 6 * sizeof(WCHAR)) {

        return FALSE;
    }

    //
    // \\?\C:\... for \??\C:\...
    //

    Path.Buffer[1] = L'\\';
    RtlCopyBytes(Config->RootDirectoryBuffer, Path.Buffer, Path.Length);
    RtlPointUnicodeString(&Config->RootDirectory,
                          Config->RootDirectoryBuffer,
                          Path.Length / sizeof(WCHAR));

    if (InterlockedCompareExchangePointer((PVOID volatile *)&PenterUnmatched,
                                          Config,
                                          NULL) != NULL) {
        return FALSE;
    }

    //
    // A DLL must not leave a callback behind, and its TLS callback is called.
    //

    if (*(PVOID *)(__readgsqword(TEB_PEB) + PEB_IMAGE_BASE) ==
        (PVOID)&__ImageBase) {

        FlsIndex = Rtl->FlsAlloc(PenterUnmatchedCallback);
        if (FlsIndex != FLS_OUT_OF_INDEXES) {
            Rtl->FlsSetValue(FlsIndex, Config);
        }
    }

    return TRUE;
}

//
// Says that nothing is recorded, if that is so.
//

static
VOID
PenterReportUnmatched(
    _In_ PCRTL Rtl,
    _In_ PPENTER_CONFIG Config
    )
{
    TRACE_SESSION_PARAMETERS Parameters;
    PTRACE_SESSION Session;
    RTL_ERROR Error;
    RTL_WRITER Writer;
    CHAR Text[512];

    RtlZeroBytes(&Parameters, sizeof(Parameters));
    Parameters.ModuleBase = &__ImageBase;
    Parameters.RootDirectory = Config->RootDirectory;
    Parameters.HasFallback = Config->IsDirectoryDefault;
    if (!NT_SUCCESS(TraceSessionCreate(Rtl, &Parameters, &Session, &Error))) {
        return;
    }

    if (!TraceDirectoryIsThere(Session)) {
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text) - 1);
        RtlWriteText(&Writer,
                     "none of these is how the name of this module begins, and "
                     "nothing of the process is recorded; TRACER_MODULES=%Z "
                     "records this module",
                     &Session->ModuleName);
        Text[Writer.LengthInBytes] = '\0';
        TraceLogError(Session, Config->Unmatched, Text);
    }

    TraceSessionDestroy(Session, TRACE_REASON_NONE);
}

_Use_decl_annotations_
VOID
PenterCloseUnmatched(
    VOID
    )
{
    RTL Rtl;
    PCSZ MissingName;
    PPENTER_CONFIG Config;

    if (PenterUnmatched == NULL ||
        !NT_SUCCESS(RtlBootstrap(&Rtl, &MissingName))) {

        return;
    }

    //
    // A thread that ends is nothing to say anything of.
    //

    Config = PenterUnmatched;
    if (Rtl.RtlDllShutdownInProgress == NULL ||
        !Rtl.RtlDllShutdownInProgress()) {

        return;
    }

    if (InterlockedCompareExchangePointer((PVOID volatile *)&PenterUnmatched,
                                          NULL,
                                          Config) == Config) {

        PenterReportUnmatched(&Rtl, Config);
    }
}

_Use_decl_annotations_
VOID
PenterForgetUnmatched(
    VOID
    )
{
    RTL Rtl;
    PCSZ MissingName;
    PPENTER_CONFIG Config;

    Config = (PPENTER_CONFIG)
        InterlockedExchangePointer((PVOID volatile *)&PenterUnmatched, NULL);
    if (Config != NULL && NT_SUCCESS(RtlBootstrap(&Rtl, &MissingName))) {
        RtlFreePages(&Rtl, Config);
    }
}
