/*++

Module Name:

    KernelTestStart.c

Abstract:

    Starting and stopping: what the section says, settings and their bounds,
    modules, each failure with what it leaves, and both ways of having memory.

--*/

#include "KernelTest.h"

//
// A power of two that is at least twice what the section .pdata holds, as the
// section's own header has it.
//

static
ULONG
TestDefaultFunctions(
    VOID
    )
{
    const IMAGE_NT_HEADERS64 *Nt;
    const IMAGE_SECTION_HEADER *Section;
    ULONG Size;

    Nt = (const IMAGE_NT_HEADERS64 *)((const BYTE *)GetModuleHandleW(NULL) +
        ((const IMAGE_DOS_HEADER *)GetModuleHandleW(NULL))->e_lfanew);
    Section = IMAGE_FIRST_SECTION(Nt);
    while (!RtlAreBytesEqual(Section->Name, ".pdata", 7)) {
        Section += 1;
    }
    Size = 1024;
    while (Size < Section->Misc.VirtualSize / 12 * 2) {
        Size *= 2;
    }
    return Size;
}

//
// What was measured at the start has left nothing: all places are as they are
// before the first call.
//

static
VOID
TestNothingRecorded(
    VOID
    )
{
    const BYTE *Bytes;
    ULONGLONG Index;
    ULONGLONG Size;
    ULONGLONG Other;

    Bytes = (const BYTE *)TracerKernelHeader;
    Size = TracerKernelHeader->SectionSize;
    Other = 0;
    for (Index = TracerKernelHeader->RingsOffset; Index < Size; Index += 8) {
        if (Index >= TracerKernelHeader->FunctionsOffset &&
            Index < TracerKernelHeader->OpenCallsOffset &&
            (Index - TracerKernelHeader->FunctionsOffset) % 64 == 24) {

            Other += *(const ULONGLONG *)(Bytes + Index) != MAXULONG64;
        } else {
            Other += *(const ULONGLONG *)(Bytes + Index) != 0;
        }
    }
    TEST_EQUAL(Other, 0);
    TEST_EQUAL(KernelTestReserved(), 0);
    TEST_EQUAL(KernelTestOpenCalls(), 0);
}

static
VOID
TestHeader(
    VOID
    )
{
    PTRACE_KERNEL_HEADER Header;

    Header = TracerKernelHeader;
    TEST_EQUAL(Header->Magic, 0x4C4E52454B435254);
    TEST_EQUAL(Header->HeaderSize, 4096);
    TEST_EQUAL(Header->RecordSize, 32);
    TEST_EQUAL(Header->State, TRACE_KERNEL_STATE_RUNNING);
    TEST_EQUAL(Header->NumberOfRings, KernelTestOs.Processors);
    TEST_EQUAL(Header->BaseAddress, (ULONG_PTR)Header);
    TEST_EQUAL(Header->QpcFrequency, 12345678);
    TEST_EQUAL(Header->OpenAnchor.Qpc, 0x1122334455);
    TEST_EQUAL(Header->LoadTime, 0x01D0000000000000);
    TEST_EQUAL(Header->OpenAnchor.Check,
               Header->OpenAnchor.Tsc ^ Header->OpenAnchor.Qpc ^
               Header->OpenAnchor.SystemTime);
    TEST_EQUAL(Header->ModuleBase, (ULONG_PTR)GetModuleHandleW(NULL));
    TEST_EQUAL(Header->ProcessId, 4);
    TEST_EQUAL_TEXT((const CHAR *)Header->DriverName,
                    Header->DriverNameLength,
                    "Driver");
    TEST(Header->PdbPathLength != 0);
    TEST(Header->ProbeInner <= Header->ProbeTotal);
    TestNothingRecorded();
}

//
// The security descriptor, as the system reads it.
//

static
VOID
TestSecurity(
    VOID
    )
{
    PACL Acl;
    PSID Owner;
    PACCESS_ALLOWED_ACE Ace;
    BOOL IsPresent;
    BOOL IsDefault;
    ULONG Index;
    static const ULONG Rids[] = { SECURITY_LOCAL_SYSTEM_RID,
                                  DOMAIN_ALIAS_RID_ADMINS };
    PSECURITY_DESCRIPTOR Security;
    HMODULE Module;
    BOOL (WINAPI *IsValid)(PSECURITY_DESCRIPTOR);
    BOOL (WINAPI *GetDacl)(PSECURITY_DESCRIPTOR, LPBOOL, PACL *, LPBOOL);
    BOOL (WINAPI *GetOwner)(PSECURITY_DESCRIPTOR, PSID *, LPBOOL);
    BOOL (WINAPI *GetEntry)(PACL, DWORD, LPVOID *);
    PUCHAR (WINAPI *GetCount)(PSID);
    PDWORD (WINAPI *GetPart)(PSID, DWORD);

    Module = LoadLibraryW(L"advapi32.dll");
    if (!TEST(Module != NULL)) {
        return;
    }
    IsValid = (PVOID)GetProcAddress(Module, "IsValidSecurityDescriptor");
    GetDacl = (PVOID)GetProcAddress(Module, "GetSecurityDescriptorDacl");
    GetOwner = (PVOID)GetProcAddress(Module, "GetSecurityDescriptorOwner");
    GetEntry = (PVOID)GetProcAddress(Module, "GetAce");
    GetCount = (PVOID)GetProcAddress(Module, "GetSidSubAuthorityCount");
    GetPart = (PVOID)GetProcAddress(Module, "GetSidSubAuthority");

    Security = (PSECURITY_DESCRIPTOR)KernelTestOs.Security;
    TEST(IsValid(Security));
    TEST(GetDacl(Security, &IsPresent, &Acl, &IsDefault));
    TEST(IsPresent);
    TEST_EQUAL(Acl->AceCount, 2);
    for (Index = 0; Index < 2; Index += 1) {
        TEST(GetEntry(Acl, Index, (LPVOID *)&Ace));
        TEST_EQUAL(Ace->Header.AceType, ACCESS_ALLOWED_ACE_TYPE);
        TEST_EQUAL(Ace->Mask, SECTION_QUERY | SECTION_MAP_READ | READ_CONTROL);
        TEST_EQUAL(*GetPart(&Ace->SidStart, *GetCount(&Ace->SidStart) - 1),
                   Rids[Index]);
    }
    TEST(GetOwner(Security, &Owner, &IsDefault));
    TEST_EQUAL(*GetCount(Owner), 1);
    TEST_EQUAL(*GetPart(Owner, 0), SECURITY_LOCAL_SYSTEM_RID);
}

static
VOID
TestDefaults(
    VOID
    )
{
    KernelTestReset();
    TEST_SUCCESS(KernelTestStart());
    TestHeader();
    TestSecurity();
    TEST_EQUAL(TracerKernelHeader->RecordsPerRing, 65536);
    TEST_EQUAL(TracerKernelHeader->FunctionSlots, TestDefaultFunctions());
    TEST_EQUAL(TracerKernelHeader->OpenCallSlots, 8192);
    TEST_EQUAL_TEXT((const CHAR *)TracerKernelHeader->ModulePath,
                    TracerKernelHeader->ModulePathLength,
                    "\\SystemRoot\\System32\\drivers\\Driver.sys");
    TEST_EQUAL_WIDE(KernelTestOs.SectionName,
                    KernelTestOs.SectionNameChars,
                    L"\\BaseNamedObjects\\TracerKernel.Driver");
    TEST_EQUAL(KernelTestOs.PrintedLength, 0);
    TEST_EQUAL(KernelTestOs.Mdls, 0);
    TEST_EQUAL(KernelTestOs.Keys, 0);

    //
    // A second start changes nothing; nor does a second stop.
    //

    TEST_STATUS(KernelTestStart(), STATUS_ALREADY_REGISTERED);
    TEST_EQUAL(KernelTestOs.Sections, 1);
    TracerKernelStop();
    KernelTestCheckNothingLeft();
    TracerKernelStop();
    KernelTestCheckNothingLeft();
    TracerKernelPause();
    TracerKernelResume();
    KernelTestCheckNothingLeft();
}

//
// As in a kernel: pages are locked, mapped again, and the view goes.
//

static
VOID
TestLockedPages(
    VOID
    )
{
    KernelTestReset();
    KernelTestOs.IsUserMode = FALSE;
    KernelTestOs.HasNoNames = TRUE;
    TEST_SUCCESS(KernelTestStart());
    TestHeader();
    TEST_EQUAL(KernelTestOs.Views, 0);
    TEST_EQUAL(KernelTestOs.Mdls, 1);
    TEST_EQUAL(KernelTestOs.Locks, 1);
    TEST_EQUAL(KernelTestOs.Sections, 1);
    TEST_EQUAL_WIDE(KernelTestOs.SectionName,
                    KernelTestOs.SectionNameChars,
                    L"\\Device\\TracerKernel.Driver");
    KernelCallPair(_penter, _pexit);
    TEST_EQUAL(KernelTestReserved(), 2);
    TEST_EQUAL(KernelTestOs.Flushes, 0);
    TracerKernelStop();
    TEST_EQUAL(KernelTestOs.Flushes, 1);
    KernelTestCheckNothingLeft();

    //
    // The copy of a driver that writes crash dumps has no key.
    //

    TEST_EQUAL((ULONG)TracerKernelStart(NULL), (ULONG)STATUS_INVALID_PARAMETER);
    KernelTestCheckNothingLeft();

    //
    // Old kernels do not tell the IRQL, nor the time.
    //

    KernelTestReset();
    KernelTestOs.IsUserMode = TRUE;
    KernelTestOs.LacksRoutines = TRUE;
    TEST_SUCCESS(KernelTestStart());
    TEST(KernelState.GetIrql == KernelPassiveIrql);
    TEST(TracerKernelHeader->OpenAnchor.SystemTime > 0x01D0000000000000);
    TEST_EQUAL(TracerKernelHeader->QpcFrequency, 0);
    TracerKernelStop();
    KernelTestCheckNothingLeft();
}

static
VOID
TestFailures(
    VOID
    )
{
    static const struct {
        KERNEL_TEST_STEP Step;
        PCSZ Text;
    } Cases[] = {
        { KernelTestSectionCreate, "Tracer: Driver: making the section: " },
        { KernelTestViewMap, "Tracer: Driver: mapping the section: " },
        { KernelTestViewSize, "Tracer: Driver: mapping the section: " },
        { KernelTestMdlAllocate, "Tracer: Driver: describing its pages: " },
        { KernelTestPagesLock, "Tracer: Driver: locking its pages: " },
        { KernelTestPagesMap, "Tracer: Driver: mapping its pages: " },
    };
    NTSTATUS Status;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        KernelTestReset();
        KernelTestOs.IsUserMode = FALSE;
        KernelTestOs.Fails = Cases[Index].Step;
        Status = KernelTestStart();
        if (Cases[Index].Step == KernelTestViewSize) {
            TEST_STATUS(Status, STATUS_INVALID_VIEW_SIZE);
        } else {
            TEST_STATUS(Status, STATUS_INSUFFICIENT_RESOURCES);
            TEST(KernelTestHasPrinted("status 0xc000009a; the driver is not "
                                      "traced\n"));
        }
        TEST(KernelTestHasPrinted(Cases[Index].Text));
        KernelTestCheckNothingLeft();
        KernelCallPair(_penter, _pexit);
        TracerKernelStop();
        KernelTestCheckNothingLeft();

        KernelTestOs.Fails = KernelTestNothing;
        TEST_SUCCESS(KernelTestStart());
        TracerKernelStop();
        KernelTestCheckNothingLeft();
    }

    //
    // Without its settings a driver is traced as by default.
    //

    for (Index = KernelTestKeyOpen; Index < KernelTestNumberOfSteps;
         Index += 1) {

        KernelTestReset();
        KernelTestOs.Fails = (KERNEL_TEST_STEP)Index;
        TEST_SUCCESS(KernelTestStart());
        TEST_EQUAL(TracerKernelHeader->RecordsPerRing, 65536);
        TEST(KernelTestHasPrinted(Index == KernelTestValueQuery ?
                                  "TracerRecords cannot be read" :
                                  "settings are the defaults"));
        TracerKernelStop();
        KernelTestCheckNothingLeft();
    }

    KernelTestReset();
    KernelTestOs.Fails = KernelTestParametersOpen;
    KernelTestOs.Status = STATUS_OBJECT_NAME_NOT_FOUND;
    TEST_SUCCESS(KernelTestStart());
    TEST_EQUAL(KernelTestOs.PrintedLength, 0);
    TracerKernelStop();
}

static
VOID
TestSettings(
    VOID
    )
{
    static const struct {
        ULONG Value;
        ULONG Records;
        ULONG Functions;
        ULONG OpenCalls;
        ULONG Messages;
    } Cases[] = {
        { 0, 65536, 0, 0, 2 },
        { 15, 65536, 0, 8192, 3 },
        { 16, 16, 16, 16, 0 },
        { 17, 32, 32, 32, 0 },
        { 1000, 1024, 1024, 1024, 0 },
        { 65536, 65536, 65536, 65536, 0 },
        { 65537, 131072, 0, 131072, 1 },
        { 0x100001, 0x200000, 0, 8192, 2 },
        { 0x1000001, 65536, 0, 8192, 3 },
        { 0xFFFFFFFF, 65536, 0, 8192, 3 },
    };
    static const WCHAR Path[] =
        L"\\??\\Z:\\some\\\x00E4\x20AC\xD83D\xDE00\xD800.sys";
    static const ULONG Zero = 0;
    ULONG Index;
    ULONG Place;
    ULONG Messages;

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        KernelTestReset();
        KernelTestSetNumber(L"TracerRecords", &Cases[Index].Value);
        KernelTestSetNumber(L"TracerFunctions", &Cases[Index].Value);
        KernelTestSetNumber(L"TracerOpenCalls", &Cases[Index].Value);
        TEST_SUCCESS(KernelTestStart());
        TEST_EQUAL(TracerKernelHeader->RecordsPerRing, Cases[Index].Records);
        TEST_EQUAL(TracerKernelHeader->FunctionSlots,
                   Cases[Index].Functions != 0 ? Cases[Index].Functions :
                   TestDefaultFunctions());
        TEST_EQUAL(TracerKernelHeader->OpenCallSlots, Cases[Index].OpenCalls);
        Messages = 0;
        for (Place = 0; Place < KernelTestOs.PrintedLength; Place += 1) {
            Messages += KernelTestOs.Printed[Place] == '\n';
        }
        TEST_EQUAL(Messages, Cases[Index].Messages);
        if (Cases[Index].Value == 15) {
            TEST(KernelTestHasPrinted("Tracer: Driver: TracerRecords is out of "
                                      "bounds (15); it is 65536\n"));
        }
        KernelCallPair(_penter, _pexit);
        TEST_EQUAL(KernelTestReserved(), 2);
        TracerKernelStop();
        KernelTestCheckNothingLeft();
    }

    //
    // A value that is no number, and a path.
    //

    KernelTestReset();
    KernelTestSetNumber(L"TracerFunctions", &Zero);
    KernelTestOs.Values[0].Type = REG_SZ;
    KernelTestSetNumber(L"ImagePath", &Zero);
    KernelTestOs.Values[1].Type = REG_EXPAND_SZ;
    KernelTestOs.Values[1].Data = Path;
    KernelTestOs.Values[1].Size = sizeof(Path);
    TEST_SUCCESS(KernelTestStart());
    TEST(KernelTestHasPrinted("TracerFunctions is no REG_DWORD (1)"));
    TEST_EQUAL_TEXT((const CHAR *)TracerKernelHeader->ModulePath,
                    TracerKernelHeader->ModulePathLength,
                    "Z:\\some\\\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD"
                    ".sys");
    TracerKernelStop();

    //
    // Too much for all processors together.
    //

    KernelTestReset();
    KernelTestOs.Processors = 64;
    KernelTestSetNumber(L"TracerRecords", &Cases[7].Value);
    TEST_SUCCESS(KernelTestStart());
    TEST_EQUAL(TracerKernelHeader->RecordsPerRing, 0x40000);
    TEST(TracerKernelHeader->SectionSize <= 0x40000000);
    TEST(KernelTestHasPrinted("TracerRecords is too much for 64 processors; it "
                              "is 262144\n"));
    TracerKernelStop();

    KernelTestReset();
    KernelTestSetNumber(L"TracerEnabled", &Zero);
    TEST_SUCCESS(KernelTestStart());
    KernelTestCheckNothingLeft();
}

static
VOID
TestModules(
    VOID
    )
{
    static const struct {
        PCWSTR Text;
        BOOLEAN IsTraced;
    } Cases[] = {
        { L"", TRUE }, { L";;", TRUE }, { L"driver", TRUE },
        { L" Dri ; other", TRUE }, { L"other", FALSE }, { L"-other", TRUE },
        { L"-dri", FALSE }, { L"-dri;driver", TRUE }, { L"d;-drive", FALSE },
        { L"driver2", FALSE }, { L"-driver2", TRUE }, { L"-", TRUE },
        { L"other;-driver", FALSE },
    };
    KERNEL_TEST_VALUE *Value;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        KernelTestReset();
        Value = &KernelTestOs.Values[0];
        KernelTestOs.NumberOfValues = 1;
        Value->Name = L"TracerModules";
        Value->Type = REG_SZ;
        Value->Data = Cases[Index].Text;
        Value->Size = (ULONG)(RtlLengthOfWideString(Cases[Index].Text) + 1) *
                      sizeof(WCHAR);
        TEST_SUCCESS(KernelTestStart());
        TEST_EQUAL(TracerKernelHeader != NULL, Cases[Index].IsTraced);
        TracerKernelStop();
        KernelTestCheckNothingLeft();
    }

    Value->Type = REG_BINARY;
    TEST_SUCCESS(KernelTestStart());
    TEST(TracerKernelHeader != NULL);
    TEST(KernelTestHasPrinted("TracerModules is no REG_SZ"));
    TracerKernelStop();
}

VOID
KernelTestStarting(
    VOID
    )
{
    TestDefaults();
    TestLockedPages();
    TestFailures();
    TestSettings();
    TestModules();
}
