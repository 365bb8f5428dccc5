/*++

Module Name:

    TestRefusal.c

Abstract:

    Tests which processes are refused, and for what reason, on facts that are
    made up: most of these processes there are on Windows alone.

    Each case is one that is not refused but for one fact; the control is that
    it is not refused without it.

--*/

#include "../../Reader/Base/BaseRefusal.h"
#include "../Library/Test.h"

#define TEST_MEDIUM 0x2000u
#define TEST_HIGH   0x3000u

static
VOID
TestMakeUser(
    _Out_ PREADER_PROCESS_USER User
    )
{
    RtlZeroBytes(User, sizeof(*User));
    User->IsKnown = TRUE;
    User->Integrity = TEST_MEDIUM;
    User->SidSize = 28;
    User->Sid[0] = 1;
    User->Sid[27] = 3;
}

//
// A process of the same user that nothing is wrong with.
//

static
VOID
TestMakeFacts(
    _Out_ PREADER_PROCESS_FACTS Facts
    )
{
    RtlZeroBytes(Facts, sizeof(*Facts));
    Facts->ProcessId = 1000;
    Facts->OwnProcessId = 1004;
    Facts->AreSessionsKnown = TRUE;
    Facts->SessionId = 1;
    Facts->OwnSessionId = 1;
    TestMakeUser(&Facts->User);
    TestMakeUser(&Facts->OwnUser);
}

static
BOOLEAN
TestHasText(
    _In_z_ PCSZ Text,
    _In_z_ PCSZ Part
    )
{
    ULONG Length = RtlLengthOfString(Part);

    for (; *Text != 0; Text += 1) {
        if (RtlLengthOfString(Text) >= Length &&
            RtlAreBytesEqual(Text, Part, Length)) {
            return TRUE;
        }
    }

    return FALSE;
}

static
VOID
TestRefused(
    _In_ PCREADER_PROCESS_FACTS Facts,
    _In_ NTSTATUS Status,
    _In_z_ PCSZ Part
    )
{
    READER_REFUSAL Refusal;

    if (TEST(BaseRefuseProcess(Facts, &Refusal))) {
        TEST(Refusal.Status == Status);
        TEST(!NT_SUCCESS(Refusal.Status));
        TEST(TestHasText(Refusal.Text, Part));
    }
}

static
VOID
TestGood(
    _In_ PCREADER_PROCESS_FACTS Facts
    )
{
    READER_REFUSAL Refusal;

    TEST(!BaseRefuseProcess(Facts, &Refusal));
}

static
VOID
TestKinds(
    VOID
    )
{
    READER_PROCESS_FACTS Facts;

    TestMakeFacts(&Facts);
    TestGood(&Facts);
    Facts.ProcessId = 0;
    TestRefused(&Facts, STATUS_NOT_SUPPORTED, "the system's own");
    Facts.ProcessId = 4;
    TestRefused(&Facts, STATUS_NOT_SUPPORTED, "the system's own");
    Facts.ProcessId = Facts.OwnProcessId;
    TestRefused(&Facts, STATUS_NOT_SUPPORTED, "TraceReader itself");

    TestMakeFacts(&Facts);
    Facts.LookStatus = STATUS_INVALID_CID;
    Facts.OpenStatus = STATUS_INVALID_CID;
    TestRefused(&Facts, STATUS_INVALID_CID, "no such process");

    TestMakeFacts(&Facts);
    Facts.IsEnding = TRUE;
    TestRefused(&Facts, STATUS_PROCESS_IS_TERMINATING, "has ended");

    TestMakeFacts(&Facts);
    Facts.Is32Bit = TRUE;
    TestRefused(&Facts, STATUS_NOT_SUPPORTED, "32-bit");

    TestMakeFacts(&Facts);
    Facts.SessionId = 0;
    TestRefused(&Facts, STATUS_NOT_SUPPORTED, "session 0");
    Facts.AreSessionsKnown = FALSE;
    TestGood(&Facts);

    TestMakeFacts(&Facts);
    Facts.User.IsContainer = TRUE;
    TestRefused(&Facts, STATUS_NOT_SUPPORTED, "AppContainer");

    TestMakeFacts(&Facts);
    Facts.IsSignedOnly = TRUE;
    TestRefused(&Facts, STATUS_INVALID_IMAGE_HASH, "Microsoft");
    Facts.IsSignedOnly = FALSE;
    Facts.IsStoreSignedOnly = TRUE;
    TestRefused(&Facts, STATUS_INVALID_IMAGE_HASH, "the Store");
}

//
// PS_PROTECTION as its documentation has it: type, audit, signer.
//

static
VOID
TestProtection(
    VOID
    )
{
    static const struct {
        UCHAR Protection;
        PCSZ Part;
    } Cases[] = {
        { 0x31, "light, antimalware" },
        { 0x41, "light, LSA" },
        { 0x61, "light, WinTcb" },
        { 0x62, "(WinTcb)" },
        { 0x72, "(WinSystem)" },
        { 0x81, "light, app" },
        { 0x39, "light, antimalware" },         // with audit
        { 0xF1, "unknown signer" }
    };
    READER_PROCESS_FACTS Facts;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        TestMakeFacts(&Facts);
        Facts.Protection = Cases[Index].Protection;

        //
        // It cannot be opened either; the reason is the protection.
        //

        Facts.OpenStatus = STATUS_ACCESS_DENIED;
        TestRefused(&Facts, STATUS_ACCESS_DENIED, Cases[Index].Part);
    }

    TestMakeFacts(&Facts);
    Facts.Protection = 0x30;                    // a signer, and no protection
    TestGood(&Facts);
}

static
VOID
TestDenied(
    VOID
    )
{
    READER_PROCESS_FACTS Facts;

    TestMakeFacts(&Facts);
    Facts.OpenStatus = STATUS_ACCESS_DENIED;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "its permissions");

    Facts.User.Integrity = TEST_HIGH;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "integrity level is 0x3000");
    Facts.User.IsElevated = TRUE;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "it is elevated");
    Facts.OwnUser.IsElevated = TRUE;
    Facts.OwnUser.Integrity = TEST_HIGH;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "its permissions");

    TestMakeFacts(&Facts);
    Facts.OpenStatus = STATUS_ACCESS_DENIED;
    Facts.User.Sid[27] = 4;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "another user's");
    Facts.User.IsElevated = TRUE;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "another user's, and elevated");
    Facts.User.SidSize = 12;
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "another user's");

    //
    // Whoever may open it may attach to it, whose it is and how elevated.
    //

    Facts.OpenStatus = STATUS_SUCCESS;
    TestGood(&Facts);

    TestMakeFacts(&Facts);
    Facts.OpenStatus = STATUS_ACCESS_DENIED;
    Facts.LookStatus = STATUS_ACCESS_DENIED;
    RtlZeroBytes(&Facts.User, sizeof(Facts.User));
    TestRefused(&Facts, STATUS_ACCESS_DENIED, "nor see whose it is");

    TestMakeFacts(&Facts);
    Facts.OpenStatus = STATUS_INSUFFICIENT_RESOURCES;
    TestRefused(&Facts, STATUS_INSUFFICIENT_RESOURCES, "cannot be opened");
}

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Allocator);

    TestKinds();
    TestProtection();
    TestDenied();
}
