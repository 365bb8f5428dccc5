/*++

Module Name:

    BaseRefusal.c

Abstract:

    Which processes no DLL can be loaded into from outside, and why.  Facts go
    in and words come out; nothing is asked of the system here.

    The rules are those of Microsoft's documentation: "Process Security and
    Access Rights" (protected processes; who may open whose processes),
    PS_PROTECTION and ZwQueryInformationProcess, "CreateRemoteThread" (it fails
    for a process of another session, on versions before Windows 8 and for those
    of services), PROCESS_MITIGATION_BINARY_SIGNATURE_POLICY, "Mandatory
    Integrity Control", "AppContainer isolation".

--*/

#include "../../Rtl/Rtl.h"
#include "BaseRefusal.h"

//
// PS_PROTECTION: three bits of the type, one of audit, four of the signer.
//

#define READER_PROTECTION_TYPE      0x07
#define READER_PROTECTION_LIGHT     1
#define READER_PROTECTION_SIGNER    4       // bits to shift

#define READER_SYSTEM_PROCESS       4u      // its identifier; 0 is the idle one

static
PCSZ
BaseDescribeSigner(
    _In_ UCHAR Protection
    )
{
    static const PCSZ Signers[] = {
        "no signer", "Authenticode", "code generation", "antimalware", "LSA",
        "Windows", "WinTcb", "WinSystem", "app"
    };
    ULONG Signer = Protection >> READER_PROTECTION_SIGNER;

    return Signer < RTL_NUMBER_OF(Signers) ? Signers[Signer]
                                           : "unknown signer";
}

static
VOID
BaseDescribeDenied(
    _In_ PCREADER_PROCESS_FACTS Facts,
    _Inout_ PRTL_WRITER Writer
    )
{
    PCREADER_PROCESS_USER User = &Facts->User;
    PCREADER_PROCESS_USER Own = &Facts->OwnUser;

    if (!User->IsKnown || !Own->IsKnown) {
        RtlWriteText(Writer,
                     "the system does not let this user open it, nor see "
                     "whose it is");
    } else if (User->SidSize != Own->SidSize ||
               !RtlAreBytesEqual(User->Sid, Own->Sid, Own->SidSize)) {
        RtlWriteText(Writer,
                     "it is another user's%s",
                     User->IsElevated && !Own->IsElevated ? ", and elevated"
                                                          : "");
    } else if (User->IsElevated && !Own->IsElevated) {
        RtlWriteText(Writer,
                     "it is elevated and TraceReader is not: run that as "
                     "administrator, too");
    } else if (User->Integrity > Own->Integrity) {
        RtlWriteText(Writer,
                     "its integrity level is 0x%x, above the 0x%x of "
                     "TraceReader",
                     User->Integrity,
                     Own->Integrity);
    } else {
        RtlWriteText(Writer,
                     "it is of this user, but its permissions do not let it "
                     "be opened");
    }
}

_Use_decl_annotations_
BOOLEAN
BaseRefuseProcess(
    PCREADER_PROCESS_FACTS Facts,
    PREADER_REFUSAL Refusal
    )
{
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer,
                              Refusal->Text,
                              sizeof(Refusal->Text) - 1);
    Refusal->Status = STATUS_NOT_SUPPORTED;

    //
    // What is certain whoever asks comes first, then what depends on that.
    //

    if (Facts->ProcessId == 0 || Facts->ProcessId == READER_SYSTEM_PROCESS) {
        RtlWriteText(&Writer, "it is the system's own");
    } else if (Facts->ProcessId == Facts->OwnProcessId) {
        RtlWriteText(&Writer, "it is TraceReader itself");
    } else if (Facts->LookStatus == STATUS_INVALID_CID ||
               Facts->LookStatus == STATUS_INVALID_PARAMETER) {
        Refusal->Status = Facts->LookStatus;
        RtlWriteText(&Writer, "there is no such process");
    } else if (Facts->IsEnding) {
        Refusal->Status = STATUS_PROCESS_IS_TERMINATING;
        RtlWriteText(&Writer, "it has ended, or is about to");
    } else if ((Facts->Protection & READER_PROTECTION_TYPE) != 0) {
        Refusal->Status = STATUS_ACCESS_DENIED;
        RtlWriteText(&Writer,
                     "it is a protected process (%s%s), which nobody may "
                     "change",
                     (Facts->Protection & READER_PROTECTION_TYPE) ==
                             READER_PROTECTION_LIGHT
                         ? "light, "
                         : "",
                     BaseDescribeSigner(Facts->Protection));
    } else if (Facts->Is32Bit) {
        RtlWriteText(&Writer, "it is a 32-bit program");
    } else if (Facts->AreSessionsKnown &&
               Facts->SessionId != Facts->OwnSessionId) {
        RtlWriteText(&Writer,
                     "it runs in session %u of the machine, and TraceReader "
                     "in session %u",
                     Facts->SessionId,
                     Facts->OwnSessionId);
    } else if (Facts->User.IsKnown && Facts->User.IsContainer) {
        RtlWriteText(&Writer,
                     "it runs in an AppContainer, where it can read no DLL of "
                     "ours");
    } else if (Facts->IsSignedOnly || Facts->IsStoreSignedOnly) {
        Refusal->Status = STATUS_INVALID_IMAGE_HASH;
        RtlWriteText(&Writer,
                     "it loads only DLLs that %s has signed",
                     Facts->IsSignedOnly ? "Microsoft" : "the Store");
    } else if (Facts->OpenStatus == STATUS_ACCESS_DENIED) {
        Refusal->Status = Facts->OpenStatus;
        BaseDescribeDenied(Facts, &Writer);
    } else if (!NT_SUCCESS(Facts->OpenStatus)) {
        Refusal->Status = Facts->OpenStatus;
        RtlWriteText(&Writer, "it cannot be opened");
    } else {
        return FALSE;
    }

    Refusal->Text[Writer.LengthInBytes] = 0;
    return TRUE;
}
