/*++

Module Name:

    TestTrust.c

Abstract:

    Tests whom the library trusts (Docs/Trust.md): who may write to a file
    (RtlCheckWriters, RtlCheckOwner), with which rights a process runs
    (RtlHasMoreRights), the descriptors of what is made
    (RtlMakePrivateDescriptor), which ini file of a current directory is read
    (PenterIniFile.c), and that what a session creates has a descriptor.

    Descriptors are made, and read back, by advapi32's routines for the
    security descriptor definition language.  What Wine has not (elevation,
    AppContainers, owners that are guests of a directory) is told by stand-ins
    for the system's routines.

--*/

#include "Test.h"
#include "../../Penter/PenterIniFile.h"
#include "../../TraceStore/TraceControl.h"
#include "../../TraceStore/TraceDirectory.h"
#include "../../TraceStore/TraceLog.h"
#include "../../TraceStore/TraceStore.h"
#include <windows.h>

#define TEST_OWN    L"S-1-5-21-1-2-3-1001"
#define TEST_OTHER  L"S-1-5-21-1-2-3-1002"

typedef
BOOL
(WINAPI TEST_FROM_TEXT)(
    PCWSTR Text,
    DWORD Revision,
    PVOID *Descriptor,
    PULONG SizeInBytes
    );

typedef
BOOL
(WINAPI TEST_TO_TEXT)(
    PVOID Descriptor,
    DWORD Revision,
    ULONG Information,
    PWSTR *Text,
    PULONG LengthInChars
    );

typedef BOOL (WINAPI TEST_SID_FROM_TEXT)(PCWSTR Text, PVOID *Sid);

static TEST_FROM_TEXT *TestFromText;
static TEST_TO_TEXT *TestToText;
static TEST_SID_FROM_TEXT *TestSidFromText;

static PCRTL TestReal;
static RTL TestRtl;
static RTL_USER TestUser;

//
// What the stand-ins say.
//

static PVOID TestDescriptor;            // of every object; NULL: ask the system
static ULONG TestDescriptorSize;
static NTSTATUS TestDescriptorStatus;
static LONG TestDescriptorCall;         // of NtQuerySecurityObject: which one
static LONG TestDescriptorDue;          // gets the descriptor; 0: each
static PCWSTR TestSwapFrom;             // renamed when a file is looked at,
static PCWSTR TestSwapTo;               // to this
static PCWSTR TestSwapInto;             // and this in its place
static ULONG TestAttributes;            // more of them for each file
static LONG TestUnprotected;            // files made without a descriptor
static LONG TestCreated;

typedef struct _TEST_PROCESS {
    PCWSTR User;
    ULONG ElevationType;
    ULONG Integrity;
    BOOLEAN IsContainer;
    BOOLEAN IsRestricted;
} TEST_PROCESS;

static TEST_PROCESS TestOwn;
static TEST_PROCESS TestParent;
static ULONG_PTR TestParentId;          // 0: none
static NTSTATUS TestParentStatus;       // of opening it
static LONGLONG TestParentTime;         // of its creation; this one's is 1000
static NTSTATUS TestTokenStatus;
static ULONG TestElevationFlags;
static LONG TestHandles;

#define TEST_OWN_TOKEN      ((HANDLE)0x111)
#define TEST_PARENT_TOKEN   ((HANDLE)0x222)
#define TEST_PARENT         ((HANDLE)0x333)

static
NTSTATUS
NTAPI
TestNtQuerySecurityObject(
    HANDLE Handle,
    ULONG SecurityInformation,
    PVOID SecurityDescriptor,
    ULONG Length,
    PULONG LengthNeeded
    )
{
    TestDescriptorCall += 1;
    if (TestSwapFrom != NULL && TestDescriptorCall == 2) {
        TEST(MoveFileW(TestSwapFrom, TestSwapTo));
        TEST(MoveFileW(TestSwapInto, TestSwapFrom));
    }
    if (!NT_SUCCESS(TestDescriptorStatus)) {
        return TestDescriptorStatus;
    }
    if (TestDescriptor == NULL ||
        (TestDescriptorDue != 0 && TestDescriptorDue != TestDescriptorCall)) {

        return TestReal->NtQuerySecurityObject(Handle,
                                               SecurityInformation,
                                               SecurityDescriptor,
                                               Length,
                                               LengthNeeded);
    }

    *LengthNeeded = TestDescriptorSize;
    if (Length < TestDescriptorSize) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    RtlCopyBytes(SecurityDescriptor, TestDescriptor, TestDescriptorSize);
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestNtOpenProcessToken(
    HANDLE ProcessHandle,
    ACCESS_MASK DesiredAccess,
    PHANDLE TokenHandle
    )
{
    TEST_EQUAL(DesiredAccess, TOKEN_QUERY);
    if (!NT_SUCCESS(TestTokenStatus)) {
        return TestTokenStatus;
    }
    TestHandles += 1;
    *TokenHandle = ProcessHandle == TEST_PARENT ? TEST_PARENT_TOKEN :
                                                  TEST_OWN_TOKEN;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestNtQueryInformationToken(
    HANDLE TokenHandle,
    ULONG TokenInformationClass,
    PVOID TokenInformation,
    ULONG Length,
    PULONG ReturnLength
    )
{
    static WCHAR Text[32];
    const TEST_PROCESS *Process;
    RTL_WRITER Writer;
    CHAR Bytes[32];
    PVOID Sid;
    ULONG Index;

    Process = TokenHandle == TEST_PARENT_TOKEN ? &TestParent : &TestOwn;
    *ReturnLength = 0;
    switch (TokenInformationClass) {
    case TokenUser:
        TEST(TestSidFromText(Process->User, &Sid));
        *(PVOID *)TokenInformation = Sid;
        return STATUS_SUCCESS;
    case TokenElevationType:
        *(PULONG)TokenInformation = Process->ElevationType;
        return STATUS_SUCCESS;
    case TokenIntegrityLevel:
        RtlInitializeBufferWriter(&Writer, Bytes, sizeof(Bytes));
        RtlWriteText(&Writer, "S-1-16-%u", Process->Integrity);
        for (Index = 0; Index < Writer.LengthInBytes; Index += 1) {
            Text[Index] = (WCHAR)Bytes[Index];
        }
        Text[Index] = L'\0';
        TEST(TestSidFromText(Text, &Sid));
        *(PVOID *)TokenInformation = Sid;
        return STATUS_SUCCESS;
    case 29:                            // TokenIsAppContainer
        *(PULONG)TokenInformation = Process->IsContainer;
        return STATUS_SUCCESS;
    case 31:                            // TokenAppContainerSid
        TEST(TestSidFromText(L"S-1-15-2-1-2-3-4-5-6-7", &Sid));
        *(PVOID *)TokenInformation = Sid;
        return STATUS_SUCCESS;
    case TokenRestrictedSids:
        if (Process->IsRestricted) {
            return STATUS_BUFFER_TOO_SMALL;
        }
        *(PULONG)TokenInformation = 0;
        return STATUS_SUCCESS;
    default:
        TEST_EQUAL(TokenInformationClass, 0);
        TEST_EQUAL(Length, 0);
        return STATUS_INVALID_INFO_CLASS;
    }
}

static
NTSTATUS
NTAPI
TestNtQueryInformationProcess(
    HANDLE Handle,
    ULONG InformationClass,
    PVOID Information,
    ULONG Length,
    PULONG ReturnLength
    )
{
    UNREFERENCED_PARAMETER(Length);
    UNREFERENCED_PARAMETER(ReturnLength);

    if (InformationClass == RTL_PROCESS_BASIC_INFORMATION) {
        ((RTL_PROCESS_BASIC *)Information)->InheritedFromUniqueProcessId =
            TestParentId;
    } else {
        *(PLONGLONG)Information = Handle == TEST_PARENT ? TestParentTime : 1000;
    }
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestNtOpenProcess(
    PHANDLE ProcessHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PVOID ClientId
    )
{
    UNREFERENCED_PARAMETER(ObjectAttributes);

    TEST_EQUAL(DesiredAccess, 0x1000);
    TEST_EQUAL(*(ULONG_PTR *)ClientId, TestParentId);
    if (!NT_SUCCESS(TestParentStatus)) {
        return TestParentStatus;
    }
    TestHandles += 1;
    *ProcessHandle = TEST_PARENT;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestRtlQueryElevationFlags(
    PULONG Flags
    )
{
    *Flags = TestElevationFlags;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestNtClose(
    HANDLE Handle
    )
{
    if (Handle == TEST_OWN_TOKEN || Handle == TEST_PARENT_TOKEN ||
        Handle == TEST_PARENT) {

        TestHandles -= 1;
        return STATUS_SUCCESS;
    }
    return TestReal->NtClose(Handle);
}

static
NTSTATUS
NTAPI
TestNtQueryInformationFile(
    HANDLE FileHandle,
    PIO_STATUS_BLOCK IoStatusBlock,
    PVOID FileInformation,
    ULONG Length,
    ULONG FileInformationClass
    )
{
    NTSTATUS Status;

    Status = TestReal->NtQueryInformationFile(FileHandle,
                                              IoStatusBlock,
                                              FileInformation,
                                              Length,
                                              FileInformationClass);
    if (FileInformationClass == RTL_FILE_BASIC_INFORMATION) {
        ((PULONG)FileInformation)[8] |= TestAttributes;
    }
    return Status;
}

static
NTSTATUS
NTAPI
TestNtCreateFile(
    PHANDLE FileHandle,
    ACCESS_MASK DesiredAccess,
    POBJECT_ATTRIBUTES ObjectAttributes,
    PIO_STATUS_BLOCK IoStatusBlock,
    PLARGE_INTEGER AllocationSize,
    ULONG FileAttributes,
    ULONG ShareAccess,
    ULONG CreateDisposition,
    ULONG CreateOptions,
    PVOID EaBuffer,
    ULONG EaLength
    )
{
    if (CreateDisposition != FILE_OPEN) {
        TestCreated += 1;
        TestUnprotected += ObjectAttributes->SecurityDescriptor == NULL;
    }
    return TestReal->NtCreateFile(FileHandle,
                                  DesiredAccess,
                                  ObjectAttributes,
                                  IoStatusBlock,
                                  AllocationSize,
                                  FileAttributes,
                                  ShareAccess,
                                  CreateDisposition,
                                  CreateOptions,
                                  EaBuffer,
                                  EaLength);
}

static
VOID
TestSetDescriptor(
    PCWSTR Text
    )
{
    TestDescriptor = NULL;
    TestDescriptorSize = 0;
    TestDescriptorDue = 0;
    TestDescriptorCall = 0;
    if (Text != NULL) {
        TEST(TestFromText(Text, 1, &TestDescriptor, &TestDescriptorSize));
    }
}

//
// Who may write: by what Microsoft documents of each entry.
//

typedef struct _TEST_WRITERS {
    PCWSTR Text;
    NTSTATUS Status;
    NTSTATUS OwnerStatus;
} TEST_WRITERS;

#define TEST_USUAL L"D:(A;OICI;FA;;;" TEST_OWN L")(A;OICI;FA;;;SY)" \
                   L"(A;OICI;FA;;;BA)"

static const TEST_WRITERS TestWritersTable[] = {
    { L"O:" TEST_OWN TEST_USUAL, STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:BA" TEST_USUAL, STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:SY" TEST_USUAL, STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
      TEST_USUAL, STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:" TEST_OTHER TEST_USUAL, STATUS_INVALID_OWNER, STATUS_INVALID_OWNER },
    { L"O:BU" TEST_USUAL, STATUS_INVALID_OWNER, STATUS_INVALID_OWNER },
    { L"O:CO" TEST_USUAL, STATUS_INVALID_OWNER, STATUS_INVALID_OWNER },
    { TEST_USUAL, STATUS_INVALID_OWNER, STATUS_SUCCESS },
    { L"O:WD" TEST_USUAL, STATUS_INVALID_OWNER, STATUS_SUCCESS },
    { L"O:" TEST_OWN, STATUS_ACCESS_DENIED, STATUS_SUCCESS },
    { L"O:" TEST_OWN L"D:", STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;OICI;FRFX;;;WD)(A;;0x1200a9;;;BU)",
      STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;OICIIO;FA;;;WD)", STATUS_SUCCESS,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;OICI;FA;;;CO)(A;;FA;;;S-1-3-4)",
      STATUS_SUCCESS, STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(D;;FA;;;WD)", STATUS_SUCCESS,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN L"D:(D;;FA;;;WD)(A;;FA;;;WD)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;FA;;;" TEST_OTHER L")",
      STATUS_ACCESS_DENIED, STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x2;;;AU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x4;;;AU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x10;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x40;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x100;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x10000;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x40000;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x80000;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x40000000;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x10000000;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS },
    { L"O:" TEST_OWN TEST_USUAL L"(A;;0x1a02af;;;BU)", STATUS_ACCESS_DENIED,
      STATUS_SUCCESS }
};

static
VOID
TestWriters(
    VOID
    )
{
    const TEST_WRITERS *Row;
    PUCHAR Whole;
    ULONG Size;
    ULONG Index;
    ULONG Bits;
    ULONG Byte;
    UCHAR Bytes[512];

    for (Index = 0; Index < RTL_NUMBER_OF(TestWritersTable); Index += 1) {
        Row = &TestWritersTable[Index];
        TestSetDescriptor(Row->Text);
        if (!TEST_STATUS(RtlCheckWriters(&TestRtl, &TestUser, NULL),
                         Row->Status) ||
            !TEST_STATUS(RtlCheckOwner(&TestRtl, &TestUser, NULL),
                         Row->OwnerStatus)) {

            RtlWriteText(TestOutput, "row %u\n", Index);
        }
    }

    //
    // A list that is absent though it is said to be there is no list; one
    // entry whose kind nobody knows may be any.
    //

    TestSetDescriptor(TestWritersTable[0].Text);
    Whole = (PUCHAR)TestDescriptor;
    Size = TestDescriptorSize;
    TEST(Size <= sizeof(Bytes));
    TestDescriptor = Bytes;
    RtlCopyBytes(Bytes, Whole, Size);
    *(PULONG)(Bytes + 16) = 0;
    TEST_STATUS(RtlCheckWriters(&TestRtl, &TestUser, NULL),
                STATUS_ACCESS_DENIED);
    RtlCopyBytes(Bytes, Whole, Size);
    Bytes[*(PULONG)(Bytes + 16) + 8] = 4;
    TEST_STATUS(RtlCheckWriters(&TestRtl, &TestUser, NULL),
                STATUS_ACCESS_DENIED);
    RtlCopyBytes(Bytes, Whole, Size);
    Bytes[3] &= 0x7F;
    TEST_STATUS(RtlCheckWriters(&TestRtl, &TestUser, NULL),
                STATUS_INVALID_SECURITY_DESCR);

    //
    // Cut anywhere, it is not believed; with any bit of its lengths, counts
    // and offsets changed it is not read beyond its end, which the sizes tell:
    // what is believed has an owner and a list that lie in it.
    //

    for (TestDescriptorSize = 0;
         TestDescriptorSize < Size;
         TestDescriptorSize += 1) {

        RtlCopyBytes(Bytes, Whole, Size);
        TEST(!NT_SUCCESS(RtlCheckWriters(&TestRtl, &TestUser, NULL)));
    }
    TestDescriptorSize = Size;
    for (Bits = 0; Bits < Size * 8; Bits += 1) {
        RtlCopyBytes(Bytes, Whole, Size);
        Bytes[Bits / 8] ^= (UCHAR)(1 << Bits % 8);
        Byte = Bits / 8;
        if (NT_SUCCESS(RtlCheckWriters(&TestRtl, &TestUser, NULL))) {
            TEST(*(PULONG)(Bytes + 4) < Size && *(PULONG)(Bytes + 16) < Size);
            TEST(Byte < 4 || Byte >= 20 || (Byte >= 8 && Byte < 16));
        }
    }

    TestSetDescriptor(NULL);
    TestDescriptorStatus = STATUS_NOT_SUPPORTED;
    TEST_STATUS(RtlCheckWriters(&TestRtl, &TestUser, NULL),
                STATUS_NOT_SUPPORTED);
    TEST_SUCCESS(RtlCheckOwner(&TestRtl, &TestUser, NULL));
    TestDescriptorStatus = STATUS_SUCCESS;
}

//
// With which rights.  Default, Full, Limited: TOKEN_ELEVATION_TYPE's 1, 2, 3.
//

typedef struct _TEST_RIGHTS {
    TEST_PROCESS Own;
    TEST_PROCESS Parent;
    ULONG_PTR ParentId;
    NTSTATUS ParentStatus;
    LONGLONG ParentTime;
    ULONG ElevationFlags;
    BOOLEAN HasMore;
} TEST_RIGHTS;

#define TEST_IS(User, Type, Integrity) { User, Type, Integrity, FALSE, FALSE }

static const TEST_RIGHTS TestRightsTable[] = {

    //
    // Usual: a shell's child, with and without User Account Control; all of a
    // user whose tokens are not split; Wine's, which nobody has started.
    //

    { TEST_IS(TEST_OWN, 3, 0x2000), TEST_IS(TEST_OWN, 3, 0x2000), 4, 0, 1, 1,
      FALSE },
    { TEST_IS(TEST_OWN, 1, 0x2000), TEST_IS(TEST_OWN, 1, 0x2000), 4, 0, 1, 1,
      FALSE },
    { TEST_IS(TEST_OWN, 1, 0x3000), TEST_IS(TEST_OWN, 1, 0x3000), 4, 0, 1, 0,
      FALSE },
    { TEST_IS(TEST_OWN, 2, 0x3000), TEST_IS(TEST_OWN, 2, 0x3000), 4, 0, 1, 0,
      FALSE },
    { TEST_IS(TEST_OWN, 2, 0x3000), TEST_IS(TEST_OWN, 2, 0x3000), 0, 0, 1, 0,
      FALSE },
    { TEST_IS(TEST_OWN, 3, 0x1000), TEST_IS(TEST_OWN, 3, 0x2000), 4, 0, 1, 1,
      FALSE },

    //
    // Elevated, by whomever.
    //

    { TEST_IS(TEST_OWN, 2, 0x3000), TEST_IS(TEST_OWN, 3, 0x2000), 4, 0, 1, 1,
      TRUE },
    { TEST_IS(TEST_OWN, 2, 0x3000), TEST_IS(TEST_OWN, 2, 0x3000), 4, 0, 1, 1,
      TRUE },
    { TEST_IS(TEST_OWN, 2, 0x3000), TEST_IS(TEST_OWN, 3, 0x2000), 4, 0, 1, 0,
      TRUE },
    { TEST_IS(TEST_OWN, 1, 0x3000), TEST_IS(TEST_OWN, 1, 0x2000), 4, 0, 1, 0,
      TRUE },
    { TEST_IS(TEST_OWN, 1, 0x2000), TEST_IS(TEST_OWN, 1, 0x1000), 4, 0, 1, 0,
      TRUE },

    //
    // Another user's: a service's, or of runas.
    //

    { TEST_IS(TEST_OWN, 3, 0x2000), TEST_IS(TEST_OTHER, 3, 0x2000), 4, 0, 1, 1,
      TRUE },
    { TEST_IS(TEST_OWN, 3, 0x2000), TEST_IS(L"S-1-5-18", 1, 0x4000), 4, 0, 1, 1,
      TRUE },

    //
    // The parent has ended, its id is another's since, it cannot be opened.
    //

    { TEST_IS(TEST_OWN, 3, 0x2000), TEST_IS(TEST_OTHER, 3, 0x2000), 4,
      STATUS_INVALID_CID, 1, 1, FALSE },
    { TEST_IS(TEST_OWN, 3, 0x2000), TEST_IS(TEST_OTHER, 3, 0x2000), 4, 0, 1001,
      1, FALSE },
    { TEST_IS(TEST_OWN, 1, 0x3000), TEST_IS(TEST_OWN, 1, 0x3000), 4, 0, 1001,
      0, TRUE },
    { TEST_IS(TEST_OWN, 2, 0x3000), TEST_IS(TEST_OWN, 2, 0x3000), 4,
      STATUS_ACCESS_DENIED, 1, 0, TRUE },
    { TEST_IS(TEST_OWN, 1, 0x4000), TEST_IS(TEST_OWN, 1, 0x4000), 4,
      STATUS_INVALID_CID, 1, 0, TRUE },

    //
    // In a container; with restricting SIDs.
    //

    { { TEST_OWN, 3, 0x1000, TRUE, FALSE }, TEST_IS(TEST_OWN, 3, 0x2000), 4, 0,
      1, 1, TRUE },
    { { TEST_OWN, 3, 0x2000, FALSE, TRUE }, TEST_IS(TEST_OWN, 3, 0x2000), 4, 0,
      1, 1, TRUE }
};

static
VOID
TestSetProcess(
    const TEST_RIGHTS *Row
    )
{
    TestOwn = Row->Own;
    TestParent = Row->Parent;
    TestParentId = Row->ParentId;
    TestParentStatus = Row->ParentStatus;
    TestParentTime = Row->ParentTime;
    TestElevationFlags = Row->ElevationFlags;
    TestRtl.NtOpenProcessToken = TestNtOpenProcessToken;
    TestRtl.NtQueryInformationToken = TestNtQueryInformationToken;
    TestRtl.NtQueryInformationProcess = TestNtQueryInformationProcess;
    TestRtl.NtOpenProcess = TestNtOpenProcess;
    TestRtl.RtlQueryElevationFlags = TestRtlQueryElevationFlags;
}

static
VOID
TestRestore(
    VOID
    )
{
    TestRtl = *TestReal;
    TestRtl.NtQuerySecurityObject = TestNtQuerySecurityObject;
    TestRtl.NtQueryInformationFile = TestNtQueryInformationFile;
    TestRtl.NtCreateFile = TestNtCreateFile;
    TestRtl.NtClose = TestNtClose;
}

static
VOID
TestRights(
    VOID
    )
{
    RTL_USER User;
    NTSTATUS Reason;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(TestRightsTable); Index += 1) {
        TestSetProcess(&TestRightsTable[Index]);
        Reason = STATUS_SUCCESS;
        if (!TEST_SUCCESS(RtlQueryUser(&TestRtl, (HANDLE)-1, &User)) ||
            !TEST_EQUAL(RtlHasMoreRights(&TestRtl, &User, &Reason),
                        TestRightsTable[Index].HasMore) ||
            !TEST(!TestRightsTable[Index].HasMore || !NT_SUCCESS(Reason))) {

            RtlWriteText(TestOutput, "row %u\n", Index);
        }
    }
    TEST_EQUAL(TestHandles, 0);

    TestTokenStatus = STATUS_ACCESS_DENIED;
    TEST_STATUS(RtlQueryUser(&TestRtl, (HANDLE)-1, &User),
                STATUS_ACCESS_DENIED);
    TEST(RtlHasMoreRights(&TestRtl, &TestUser, &Reason));
    TEST_STATUS(Reason, STATUS_ACCESS_DENIED);
    TestTokenStatus = STATUS_SUCCESS;

    TestRtl.NtOpenProcessToken = NULL;
    TEST_STATUS(RtlQueryUser(&TestRtl, (HANDLE)-1, &User),
                STATUS_NOT_SUPPORTED);
    TestRestore();
}

static
VOID
TestMade(
    VOID
    )
{
    RTL_PRIVATE_DESCRIPTOR Descriptor;
    RTL_USER User;
    PWSTR Text;
    ULONG Index;

    static const PCWSTR Expected[] = {
        L"D:(A;;0x1f01df;;;" TEST_OWN L")(A;;0x1f01df;;;SY)"
        L"(A;;0x1f01df;;;BA)",
        L"D:P(A;;0x1f01df;;;" TEST_OWN L")(A;;0x1f01df;;;SY)"
        L"(A;;0x1f01df;;;BA)",
        L"D:(A;OICI;FA;;;" TEST_OWN L")(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)",
        L"D:P(A;OICI;FA;;;" TEST_OWN L")(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    };

    for (Index = 0; Index < RTL_NUMBER_OF(Expected); Index += 1) {
        RtlMakePrivateDescriptor(&TestUser,
                                 (Index & 2) != 0,
                                 (Index & 1) != 0,
                                 &Descriptor);
        Text = NULL;
        TEST(TestToText(&Descriptor, 1, 7, &Text, NULL));
        TEST_EQUAL_WIDE(Text, RtlLengthOfWideString(Text), Expected[Index]);
        LocalFree(Text);
    }

    //
    // The system lets a process in a container at what names the container.
    //

    TestSetProcess(&TestRightsTable[RTL_NUMBER_OF(TestRightsTable) - 2]);
    TEST_SUCCESS(RtlQueryUser(&TestRtl, (HANDLE)-1, &User));
    RtlMakePrivateDescriptor(&User, TRUE, TRUE, &Descriptor);
    TEST(TestToText(&Descriptor, 1, 7, &Text, NULL));
    TEST_EQUAL_WIDE(Text,
                    RtlLengthOfWideString(Text),
                    L"D:P(A;OICI;FA;;;" TEST_OWN L")(A;OICI;FA;;;SY)"
                    L"(A;OICI;FA;;;BA)"
                    L"(A;OICI;FA;;;S-1-15-2-1-2-3-4-5-6-7)");
    LocalFree(Text);
    TestRestore();
}

//
// The ini file of a current directory.
//

static
VOID
TestWriteFile(
    PCWSTR Name,
    PCSZ Text
    )
{
    HANDLE File;
    DWORD Written;

    File = CreateFileW(Name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    if (TEST(File != INVALID_HANDLE_VALUE)) {
        TEST(WriteFile(File, Text, RtlLengthOfString(Text), &Written, NULL));
        CloseHandle(File);
    }
}

static
VOID
TestFindIni(
    PPENTER_CONFIG Config,
    BOOLEAN IsUsed,
    NTSTATUS Status,
    ULONG Line
    )
{
    UNICODE_STRING Text;

    RtlZeroBytes(Config, sizeof(*Config));
    TEST_EQUAL(PenterQueryIni(&TestRtl, Config, L"TRACER_MAX_DEPTH", &Text),
               IsUsed ? Line : 0);
    TEST_EQUAL(Config->Ini.Taken != NULL, IsUsed);
    TEST_EQUAL(Config->NumberOfErrors, !IsUsed);
    if (!IsUsed) {
        TEST_STATUS(Config->Errors[0].Status, Status);
    }
    TEST_EQUAL(TestHandles, 0);
}

static
VOID
TestCurrent(
    VOID
    )
{
    PPENTER_CONFIG Config;
    PVOID Pages;
    ULONG Index;

    //
    // The test's folder is its current directory; the program is elsewhere.
    //

    if (!TEST_SUCCESS(RtlAllocatePages(TestReal,
                                       sizeof(PENTER_CONFIG),
                                       &Pages))) {
        return;
    }
    Config = (PPENTER_CONFIG)Pages;
    TestWriteFile(L"tracer.ini", "[flags]\nmax_depth = 5\n");
    TestRestore();
    TestSetDescriptor(NULL);
    TestFindIni(Config, TRUE, STATUS_SUCCESS, 2);
    TEST_EQUAL(TestDescriptorCall, 2);

    //
    // By the process's rights.  Under Wine real ones are those of a user whom
    // nobody has given more.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(TestRightsTable); Index += 1) {
        TestSetProcess(&TestRightsTable[Index]);
        TestSetDescriptor(TestWritersTable[0].Text);
        TestFindIni(Config,
                    !TestRightsTable[Index].HasMore,
                    !NT_SUCCESS(TestRightsTable[Index].ParentStatus) ?
                    TestRightsTable[Index].ParentStatus :
                    TestRightsTable[Index].ParentTime > 1000 ?
                    STATUS_PROCESS_IS_TERMINATING : STATUS_PRIVILEGE_NOT_HELD,
                    2);
    }

    //
    // TRACER_CONFIG names it: then it is the user's word.
    //

    SetEnvironmentVariableW(L"TRACER_CONFIG", L"tracer.ini");
    TestFindIni(Config, TRUE, STATUS_SUCCESS, 2);
    SetEnvironmentVariableW(L"TRACER_CONFIG", NULL);

    //
    // By the directory's descriptor, then the file's.
    //

    TestSetProcess(&TestRightsTable[0]);
    for (Index = 0; Index < RTL_NUMBER_OF(TestWritersTable); Index += 1) {
        TestSetDescriptor(TestWritersTable[Index].Text);
        TestFindIni(Config,
                    NT_SUCCESS(TestWritersTable[Index].Status),
                    TestWritersTable[Index].Status,
                    2);
    }
    TestRestore();
    for (Index = 1; Index <= 2; Index += 1) {
        TestSetDescriptor(L"O:" TEST_OTHER TEST_USUAL);
        TestDescriptorDue = (LONG)Index;
        TestFindIni(Config, FALSE, STATUS_INVALID_OWNER, 0);
    }
    TestSetDescriptor(NULL);
    TestDescriptorStatus = STATUS_NOT_SUPPORTED;
    TestFindIni(Config, FALSE, STATUS_NOT_SUPPORTED, 0);
    TestDescriptorStatus = STATUS_SUCCESS;

    //
    // A link.
    //

    TestAttributes = FILE_ATTRIBUTE_REPARSE_POINT;
    TestFindIni(Config, FALSE, STATUS_REPARSE_POINT_ENCOUNTERED, 0);
    TestAttributes = 0;
    TestFindIni(Config, TRUE, STATUS_SUCCESS, 2);

    //
    // Another file gets the name while the one that was opened is looked at:
    // what has been looked at is read.
    //

    TestWriteFile(L"other.ini", "\n\n\n[flags]\nmax_depth = 9\n");
    TestSetDescriptor(NULL);
    TestSwapFrom = L"tracer.ini";
    TestSwapTo = L"first.ini";
    TestSwapInto = L"other.ini";
    TestFindIni(Config, TRUE, STATUS_SUCCESS, 2);
    TestSwapFrom = NULL;
    TestFindIni(Config, TRUE, STATUS_SUCCESS, 5);

    DeleteFileW(L"tracer.ini");
    DeleteFileW(L"first.ini");
    RtlFreePages(TestReal, Config);
}

//
// What a session makes.
//

static
VOID
TestSession(
    VOID
    )
{
    TRACE_SESSION_PARAMETERS Parameters;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    HANDLE Directory;
    UNICODE_STRING Root;
    ULONG Index;

    RtlPointUnicodeString(&Root, L"sessions\\below", 14);
    for (Index = 0; Index < 4; Index += 1) {
        TestRestore();
        TestSetDescriptor(NULL);
        TestCreated = 0;
        TestUnprotected = 0;
        RtlZeroBytes(&Parameters, sizeof(Parameters));
        Parameters.ModuleBase = GetModuleHandleW(NULL);
        Parameters.RootDirectory = Root;
        Parameters.ControlSize = TRACE_CONTROL_LEAST;
        Parameters.IsTree = Index == 1;
        if (Index == 3) {
            TestSetProcess(&TestRightsTable[RTL_NUMBER_OF(TestRightsTable) -
                                            1]);
            TestRtl.NtQueryInformationProcess =
                TestReal->NtQueryInformationProcess;
        }
        if (!TEST_SUCCESS(TraceSessionCreate(&TestRtl,
                                             &Parameters,
                                             &Session,
                                             &Error))) {
            continue;
        }

        //
        // The third time the directory is somebody else's.
        //

        if (Index == 2) {
            TestSetDescriptor(L"O:" TEST_OTHER TEST_USUAL);
            TEST_STATUS(TraceDirectoryOpenSession(Session, &Directory, &Error),
                        STATUS_INVALID_OWNER);
            TEST_EQUAL(Session->DirectoryHandle, NULL);
            TestSetDescriptor(L"O:WD" TEST_USUAL);
            TEST_SUCCESS(TraceDirectoryOpenSession(Session,
                                                   &Directory,
                                                   &Error));
        } else if (Index == 3) {
            TestSetDescriptor(TestWritersTable[0].Text);
            TEST_SUCCESS(TraceDirectoryOpenSession(Session,
                                                   &Directory,
                                                   &Error));
        } else {
            TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
            RtlSetError(&Error, "a step", NULL, STATUS_UNSUCCESSFUL);
            TraceLogError(Session, &Error, "nothing happens");
            TEST(TestCreated >= 4);
        }
        TEST_EQUAL(TestUnprotected, Index == 3 ? TestCreated : 0);
        TEST(TestCreated != 0);
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    }

    //
    // Without knowing whose it is to be, none is made.
    //

    TestSetProcess(&TestRightsTable[0]);
    TestTokenStatus = STATUS_ACCESS_DENIED;
    TEST_STATUS(TraceSessionCreate(&TestRtl, &Parameters, &Session, &Error),
                STATUS_ACCESS_DENIED);
    TestTokenStatus = STATUS_SUCCESS;
    TestRestore();
    TestSetDescriptor(NULL);
}

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    HMODULE Module;
    PVOID Sid;

    UNREFERENCED_PARAMETER(Allocator);

    TestReal = Rtl;
    TestRestore();
    Module = LoadLibraryW(L"advapi32.dll");
    TestFromText = (TEST_FROM_TEXT *)(ULONG_PTR)GetProcAddress(
        Module,
        "ConvertStringSecurityDescriptorToSecurityDescriptorW");
    TestToText = (TEST_TO_TEXT *)(ULONG_PTR)GetProcAddress(
        Module,
        "ConvertSecurityDescriptorToStringSecurityDescriptorW");
    TestSidFromText = (TEST_SID_FROM_TEXT *)(ULONG_PTR)GetProcAddress(
        Module,
        "ConvertStringSidToSidW");
    if (!TEST(TestFromText != NULL && TestToText != NULL &&
              TestSidFromText != NULL) ||
        !TEST(TestSidFromText(TEST_OWN, &Sid))) {

        return;
    }
    TestUser.SidSize = 8 + 5 * 4;
    RtlCopyBytes(TestUser.Sid, Sid, TestUser.SidSize);

    TestWriters();
    TestRights();
    TestMade();
    TestCurrent();
    TestSession();
}
