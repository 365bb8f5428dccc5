/*++

Module Name:

    KernelTestOs.c

Abstract:

    A kernel for TestKernel.  Its sections are real, and its second mapping of
    one is another view of it.

--*/

#include "KernelTest.h"

KERNEL_TEST_OS KernelTestOs;

#define TEST_KEY            ((HANDLE)0x10)
#define TEST_PARAMETERS     ((HANDLE)0x20)

static HANDLE TestSection;
static ULONGLONG TestSectionSize;
static KERNEL_MDL TestMdl;
static PVOID TestMapping;

VOID
KernelTestReset(
    VOID
    )
{
    RtlZeroBytes(&KernelTestOs, sizeof(KernelTestOs));
    KernelTestOs.IsUserMode = TRUE;
    KernelTestOs.Processors = 2;
    KernelTestOs.Status = STATUS_INSUFFICIENT_RESOURCES;
    KernelTestProcessor = 0;
    KernelTestRotate = 0;
    KernelTestIrql = 0;
}

VOID
KernelTestSetNumber(
    _In_z_ PCWSTR Name,
    _In_ const ULONG *Number
    )
{
    KERNEL_TEST_VALUE *Value;

    Value = &KernelTestOs.Values[KernelTestOs.NumberOfValues];
    KernelTestOs.NumberOfValues += 1;
    Value->Name = Name;
    Value->Type = REG_DWORD;
    Value->Size = sizeof(*Number);
    Value->Data = Number;
}

NTSTATUS
KernelTestStart(
    VOID
    )
{
    static WCHAR Path[] = L"\\Registry\\Machine\\System\\Services\\Driver";
    UNICODE_STRING String;

    String.Buffer = Path;
    String.Length = sizeof(Path) - sizeof(WCHAR);
    String.MaximumLength = sizeof(Path);
    return TracerKernelStart(&String);
}

BOOLEAN
KernelTestHasPrinted(
    _In_z_ PCSZ Text
    )
{
    ULONG Index;
    ULONG Length;

    Length = (ULONG)RtlLengthOfString(Text);
    for (Index = 0; Index + Length <= KernelTestOs.PrintedLength; Index += 1) {
        if (RtlAreBytesEqual(KernelTestOs.Printed + Index, Text, Length)) {
            return TRUE;
        }
    }
    return FALSE;
}

VOID
KernelTestCheckNothingLeft(
    VOID
    )
{
    TEST_EQUAL(KernelTestOs.Sections, 0);
    TEST_EQUAL(KernelTestOs.Views, 0);
    TEST_EQUAL(KernelTestOs.Mdls, 0);
    TEST_EQUAL(KernelTestOs.Locks, 0);
    TEST_EQUAL(KernelTestOs.Keys, 0);
    TEST(TracerKernelHeader == NULL);
    TEST(KernelEnterRoutine == KernelReturn);
    TEST(KernelExitRoutine == KernelReturn);
    TEST(KernelEnterFunctionRoutine == KernelReturn);
    TEST(KernelExitFunctionRoutine == KernelReturn);
}

//
// In place of KernelMode.asm.
//

BOOLEAN
KernelIsUserMode(
    VOID
    )
{
    return KernelTestOs.IsUserMode;
}

const BYTE *
KernelSharedData(
    VOID
    )
{
    return (const BYTE *)0x7FFE0000ULL;
}

//
// In place of ntoskrnl.exe.
//

static
VOID
TestPut(
    _In_ CHAR Character
    )
{
    if (KernelTestOs.PrintedLength < sizeof(KernelTestOs.Printed)) {
        KernelTestOs.Printed[KernelTestOs.PrintedLength] = Character;
        KernelTestOs.PrintedLength += 1;
    }
}

//
// Knows %s, %lu and %08lx.
//

static
ULONG
TestDbgPrintEx(
    ULONG Component,
    ULONG Level,
    PCSZ Format,
    ...
    )
{
    va_list Arguments;
    ULONG Value;
    ULONG Divisor;
    PCSZ Text;

    TEST_EQUAL(Component, 77);
    TEST_EQUAL(Level, 0);
    va_start(Arguments, Format);
    for (; *Format != 0; Format += 1) {
        if (*Format != '%') {
            TestPut(*Format);
        } else if (Format[1] == 's') {
            for (Text = va_arg(Arguments, PCSZ); *Text != 0; Text += 1) {
                TestPut(*Text);
            }
            Format += 1;
        } else if (Format[1] == '0') {
            Value = va_arg(Arguments, ULONG);
            for (Divisor = 8; Divisor > 0; Divisor -= 1) {
                TestPut("0123456789abcdef"[(Value >> (4 * (Divisor - 1))) &
                                           15]);
            }
            Format += 4;
        } else {
            Value = va_arg(Arguments, ULONG);
            Divisor = 1;
            while (Value / Divisor >= 10) {
                Divisor *= 10;
            }
            for (; Divisor > 0; Divisor /= 10) {
                TestPut((CHAR)('0' + Value / Divisor % 10));
            }
            Format += 2;
        }
    }
    va_end(Arguments);
    return 0;
}

static
ULONG
NTAPI
TestCountProcessors(
    USHORT Group
    )
{
    TEST_EQUAL(Group, 0xFFFF);
    return KernelTestOs.Processors;
}

static
LARGE_INTEGER
NTAPI
TestQueryCounter(
    PLARGE_INTEGER Frequency
    )
{
    LARGE_INTEGER Counter;

    Frequency->QuadPart = 12345678;
    Counter.QuadPart = 0x1122334455;
    return Counter;
}

static
VOID
NTAPI
TestQueryTime(
    PLARGE_INTEGER Time
    )
{
    Time->QuadPart = 0x01D0000000000000;
}

//
// The memory must still be there: a DPC's hook may be writing to it.
//

static
VOID
NTAPI
TestFlushDpcs(
    VOID
    )
{
    TEST_EQUAL(KernelTestOs.Locks, 1);
    KernelTestOs.Flushes += 1;
}

static
PVOID
NTAPI
TestGetSystemRoutineAddress(
    PUNICODE_STRING Name
    )
{
    static const struct {
        PCWSTR Name;
        PVOID Routine;
    } Routines[] = {
        { L"KeQueryMaximumProcessorCountEx", (PVOID)TestCountProcessors },
        { L"KeGetCurrentIrql", (PVOID)KernelTestGetIrql },
        { L"KeQueryPerformanceCounter", (PVOID)TestQueryCounter },
        { L"KeQuerySystemTimePrecise", (PVOID)TestQueryTime },
        { L"KeFlushQueuedDpcs", (PVOID)TestFlushDpcs },
    };
    ULONG Index;
    ULONG Length;

    for (Index = 0; Index < RTL_NUMBER_OF(Routines); Index += 1) {
        Length = (ULONG)RtlLengthOfWideString(Routines[Index].Name);
        if (Name->Length == Length * sizeof(WCHAR) &&
            RtlAreBytesEqual(Name->Buffer,
                             Routines[Index].Name,
                             Name->Length)) {

            return KernelTestOs.LacksRoutines && Index > 0 ?
                   NULL : Routines[Index].Routine;
        }
    }
    TEST(FALSE);
    return NULL;
}

static
HANDLE
NTAPI
TestGetProcess(
    VOID
    )
{
    return (HANDLE)4;
}

static
NTSTATUS
NTAPI
TestOpenKey(
    PHANDLE Key,
    ACCESS_MASK Access,
    POBJECT_ATTRIBUTES Attributes
    )
{
    TEST_EQUAL(Access, 0x20019);
    TEST_EQUAL(Attributes->Attributes & OBJ_KERNEL_HANDLE, OBJ_KERNEL_HANDLE);
    if (Attributes->RootDirectory == NULL) {
        if (KernelTestOs.Fails == KernelTestKeyOpen) {
            return KernelTestOs.Status;
        }
        *Key = TEST_KEY;
    } else {
        TEST_EQUAL(Attributes->RootDirectory, TEST_KEY);
        if (KernelTestOs.Fails == KernelTestParametersOpen) {
            return KernelTestOs.Status;
        }
        *Key = TEST_PARAMETERS;
    }
    KernelTestOs.Keys += 1;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestQueryValueKey(
    HANDLE Key,
    PUNICODE_STRING Name,
    ULONG Class,
    PVOID Information,
    ULONG Size,
    PULONG ResultSize
    )
{
    const KERNEL_TEST_VALUE *Value;
    PKERNEL_VALUE Found;
    ULONG Index;

    TEST_EQUAL(Class, 2);
    if (KernelTestOs.Fails == KernelTestValueQuery) {
        return KernelTestOs.Status;
    }
    Found = (PKERNEL_VALUE)Information;
    for (Index = 0; Index < KernelTestOs.NumberOfValues; Index += 1) {
        Value = &KernelTestOs.Values[Index];
        if (RtlLengthOfWideString(Value->Name) * sizeof(WCHAR) !=
            Name->Length ||
            !RtlAreBytesEqual(Value->Name, Name->Buffer, Name->Length)) {
            continue;
        }
        TEST_EQUAL(Key == TEST_KEY, Value->Name[0] == L'I');
        *ResultSize = 12 + Value->Size;
        if (*ResultSize > Size) {
            return STATUS_BUFFER_OVERFLOW;
        }
        Found->TitleIndex = 0;
        Found->Type = Value->Type;
        Found->DataLength = Value->Size;
        RtlCopyBytes(Found->Data, Value->Data, Value->Size);
        return STATUS_SUCCESS;
    }
    return STATUS_OBJECT_NAME_NOT_FOUND;
}

static
NTSTATUS
NTAPI
TestCreateSection(
    PHANDLE Section,
    ACCESS_MASK Access,
    POBJECT_ATTRIBUTES Attributes,
    PLARGE_INTEGER MaximumSize,
    ULONG Protection,
    ULONG Allocation,
    HANDLE File
    )
{
    static const WCHAR Base[] = L"\\BaseNamedObjects";
    ULONG Index;

    UNREFERENCED_PARAMETER(Access);
    TEST_EQUAL(Protection, PAGE_READWRITE);
    TEST_EQUAL(Allocation, SEC_COMMIT);
    TEST(File == NULL);
    TEST_EQUAL(Attributes->Attributes & OBJ_KERNEL_HANDLE, OBJ_KERNEL_HANDLE);
    if (KernelTestOs.Fails == KernelTestSectionCreate) {
        return KernelTestOs.Status;
    }
    if (KernelTestOs.HasNoNames &&
        RtlAreBytesEqual(Attributes->ObjectName->Buffer, Base, 34)) {

        return STATUS_OBJECT_PATH_NOT_FOUND;
    }
    KernelTestOs.SectionNameChars = Attributes->ObjectName->Length / 2;
    for (Index = 0; Index < KernelTestOs.SectionNameChars; Index += 1) {
        KernelTestOs.SectionName[Index] = Attributes->ObjectName->Buffer[Index];
    }
    KernelTestOs.Security = Attributes->SecurityDescriptor;
    TestSectionSize = (ULONGLONG)MaximumSize->QuadPart;
    TestSection = CreateFileMappingW(INVALID_HANDLE_VALUE,
                                     NULL,
                                     PAGE_READWRITE,
                                     MaximumSize->u.HighPart,
                                     MaximumSize->u.LowPart,
                                     NULL);
    TEST(TestSection != NULL);
    *Section = TestSection;
    KernelTestOs.Sections += 1;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestMapViewOfSection(
    HANDLE Section,
    HANDLE Process,
    PVOID *Base,
    ULONG_PTR ZeroBits,
    SIZE_T CommitSize,
    PLARGE_INTEGER Offset,
    PSIZE_T ViewSize,
    ULONG Inherit,
    ULONG Allocation,
    ULONG Protection
    )
{
    UNREFERENCED_PARAMETER(ZeroBits);
    UNREFERENCED_PARAMETER(CommitSize);
    UNREFERENCED_PARAMETER(Offset);
    UNREFERENCED_PARAMETER(Inherit);
    UNREFERENCED_PARAMETER(Allocation);
    UNREFERENCED_PARAMETER(Protection);
    TEST_EQUAL(Section, TestSection);
    TEST_EQUAL(Process, -1);
    if (KernelTestOs.Fails == KernelTestViewMap) {
        return KernelTestOs.Status;
    }
    *Base = MapViewOfFile(Section, FILE_MAP_WRITE, 0, 0, 0);
    *ViewSize = KernelTestOs.Fails == KernelTestViewSize ? 4096 :
                                                           TestSectionSize;
    TEST(*Base != NULL);
    KernelTestOs.Views += 1;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestUnmapViewOfSection(
    HANDLE Process,
    PVOID Base
    )
{
    TEST_EQUAL(Process, -1);
    TEST(UnmapViewOfFile(Base));
    KernelTestOs.Views -= 1;
    return STATUS_SUCCESS;
}

static
NTSTATUS
NTAPI
TestClose(
    HANDLE Handle
    )
{
    if (Handle == TEST_KEY || Handle == TEST_PARAMETERS) {
        KernelTestOs.Keys -= 1;
        return STATUS_SUCCESS;
    }
    TEST_EQUAL(Handle, TestSection);
    TEST(CloseHandle(Handle));
    KernelTestOs.Sections -= 1;
    return STATUS_SUCCESS;
}

static
PKERNEL_MDL
NTAPI
TestAllocateMdl(
    PVOID Address,
    ULONG Length,
    BOOLEAN IsSecondary,
    BOOLEAN IsCharged,
    PVOID Irp
    )
{
    UNREFERENCED_PARAMETER(IsSecondary);
    UNREFERENCED_PARAMETER(IsCharged);
    TEST(Irp == NULL);
    TEST(Address != NULL);
    TEST_EQUAL(Length, TestSectionSize);
    if (KernelTestOs.Fails == KernelTestMdlAllocate) {
        return NULL;
    }
    KernelTestOs.Mdls += 1;
    return &TestMdl;
}

static
VOID
NTAPI
TestFreeMdl(
    PKERNEL_MDL Mdl
    )
{
    TEST(Mdl == &TestMdl);
    TEST_EQUAL(KernelTestOs.Locks, 0);
    KernelTestOs.Mdls -= 1;
}

static
VOID
NTAPI
TestProbeAndLockPages(
    PKERNEL_MDL Mdl,
    CCHAR Mode,
    ULONG Operation
    )
{
    TEST(Mdl == &TestMdl);
    TEST_EQUAL(Mode, 0);
    TEST_EQUAL(Operation, 2);
    if (KernelTestOs.Fails == KernelTestPagesLock) {
        RaiseException((DWORD)KernelTestOs.Status, 0, 0, NULL);
    }
    KernelTestOs.Locks += 1;
}

static
VOID
NTAPI
TestUnlockPages(
    PKERNEL_MDL Mdl
    )
{
    TEST(Mdl == &TestMdl);
    KernelTestOs.Locks -= 1;
    if (TestMapping != NULL) {
        TEST(UnmapViewOfFile(TestMapping));
        TestMapping = NULL;
    }
}

static
PVOID
NTAPI
TestMapLockedPages(
    PKERNEL_MDL Mdl,
    CCHAR Mode,
    ULONG CacheType,
    PVOID Base,
    ULONG BugCheckOnFailure,
    ULONG Priority
    )
{
    TEST(Mdl == &TestMdl);
    TEST_EQUAL(Mode, 0);
    TEST_EQUAL(CacheType, 1);
    TEST(Base == NULL);
    TEST_EQUAL(BugCheckOnFailure, 0);
    TEST_EQUAL(Priority, 0x40000010);
    TEST_EQUAL(KernelTestOs.Locks, 1);
    if (KernelTestOs.Fails == KernelTestPagesMap) {
        return NULL;
    }
    TestMapping = MapViewOfFile(TestSection, FILE_MAP_WRITE, 0, 0, 0);
    return TestMapping;
}

#define TEST_IMPORT(Name, Routine) \
    extern const PVOID __imp_##Name; \
    const PVOID __imp_##Name = (PVOID)(ULONG_PTR)Routine

TEST_IMPORT(DbgPrintEx, TestDbgPrintEx);
TEST_IMPORT(IoAllocateMdl, TestAllocateMdl);
TEST_IMPORT(IoFreeMdl, TestFreeMdl);
TEST_IMPORT(KeGetCurrentProcessorNumberEx, KernelTestGetProcessor);
TEST_IMPORT(MmGetSystemRoutineAddress, TestGetSystemRoutineAddress);
TEST_IMPORT(MmMapLockedPagesSpecifyCache, TestMapLockedPages);
TEST_IMPORT(MmProbeAndLockPages, TestProbeAndLockPages);
TEST_IMPORT(MmUnlockPages, TestUnlockPages);
TEST_IMPORT(PsGetCurrentProcessId, TestGetProcess);
TEST_IMPORT(PsGetCurrentThreadId, KernelTestGetThread);
TEST_IMPORT(ZwClose, TestClose);
TEST_IMPORT(ZwCreateSection, TestCreateSection);
TEST_IMPORT(ZwMapViewOfSection, TestMapViewOfSection);
TEST_IMPORT(ZwOpenKey, TestOpenKey);
TEST_IMPORT(ZwQueryValueKey, TestQueryValueKey);
TEST_IMPORT(ZwUnmapViewOfSection, TestUnmapViewOfSection);
