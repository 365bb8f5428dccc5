/*++

Module Name:

    KernelSettings.c

Abstract:

    What is read from the registry:

        ...\Services\NAME           ImagePath
        ...\Services\NAME\Parameters
            TracerEnabled           REG_DWORD: 0 or 1
            TracerModules           REG_SZ: as TRACER_MODULES
            TracerRecords           REG_DWORD
            TracerFunctions         REG_DWORD
            TracerOpenCalls         REG_DWORD

--*/

#include "Kernel.h"

#define SETTINGS_KEY_READ       0x20019

//
// The longest text that is read, in characters.
//

#define SETTINGS_TEXT_CHARS     520

typedef struct _SETTINGS_BUFFER {
    KERNEL_VALUE Value;
    WCHAR Text[SETTINGS_TEXT_CHARS];
} SETTINGS_BUFFER;
typedef SETTINGS_BUFFER *PSETTINGS_BUFFER;

typedef struct _SETTINGS_NUMBER {
    PCWSTR Name;
    PCSZ Printed;
    ULONG Default;
    ULONG Minimum;
    ULONG Maximum;
    BOOLEAN MayBeZero;
    BYTE Unused[3];
    ULONG Offset;
} SETTINGS_NUMBER;

//
// The fewest places of a table of functions that is as large as the driver is.
//

#define SETTINGS_FUNCTIONS      1024

//
// All but the first are rounded up to a power of two.  A default of 0 is that
// which the driver's size gives.
//

static const SETTINGS_NUMBER SettingsNumbers[] = {
    { L"TracerEnabled", "TracerEnabled", 1, 1, 1, TRUE, { 0 },
      FIELD_OFFSET(KERNEL_SETTINGS, IsEnabled) },
    { L"TracerRecords", "TracerRecords", 65536, 16, 1 << 24, FALSE, { 0 },
      FIELD_OFFSET(KERNEL_SETTINGS, Records) },
    { L"TracerFunctions", "TracerFunctions", 0, 16, 1 << 16, FALSE, { 0 },
      FIELD_OFFSET(KERNEL_SETTINGS, Functions) },
    { L"TracerOpenCalls", "TracerOpenCalls", 8192, 16, 1 << 20, TRUE, { 0 },
      FIELD_OFFSET(KERNEL_SETTINGS, OpenCalls) },
};

//
// Opens a key; Name is relative to Parent if that is not NULL.
//

static
NTSTATUS
KernelSettingsOpen(
    _In_opt_ HANDLE Parent,
    _In_ PUNICODE_STRING Name,
    _Out_ PHANDLE Key
    )
{
    OBJECT_ATTRIBUTES Attributes;

    *Key = NULL;
    Attributes.Length = sizeof(Attributes);
    Attributes.RootDirectory = Parent;
    Attributes.ObjectName = Name;
    Attributes.Attributes = OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE;
    Attributes.SecurityDescriptor = NULL;
    Attributes.SecurityQualityOfService = NULL;
    return ZwOpenKey(Key, SETTINGS_KEY_READ, &Attributes);
}

static
NTSTATUS
KernelSettingsQuery(
    _In_ HANDLE Key,
    _In_z_ PCWSTR Name,
    _Out_ PSETTINGS_BUFFER Buffer
    )
{
    UNICODE_STRING String;
    ULONG Size;

    String = KernelTextString(Name);
    return ZwQueryValueKey(Key,
                           &String,
                           KERNEL_VALUE_PARTIAL,
                           Buffer,
                           sizeof(*Buffer),
                           &Size);
}

//
// The default: a table of functions has twice as many places as the driver has
// functions.
//

static
ULONG
KernelSettingsDefault(
    _In_ const SETTINGS_NUMBER *Number
    )
{
    ULONG Functions;
    ULONG Value;

    if (Number->Default != 0) {
        return Number->Default;
    }
    Functions = KernelImageCountFunctions();
    Value = SETTINGS_FUNCTIONS;
    while (Value / 2 < Functions && Value < Number->Maximum) {
        Value *= 2;
    }
    return Value;
}

//
// Says that a value is not taken.
//

static
VOID
KernelSettingsRefuse(
    _In_z_ PCSZ Name,
    _In_ const SETTINGS_NUMBER *Number,
    _In_z_ PCSZ Why,
    _In_ ULONG Value
    )
{
    KernelPrint("%s: %s %s (%lu); it is %lu\n",
                Name,
                Number->Printed,
                Why,
                Value,
                KernelSettingsDefault(Number));
}

static
ULONG
KernelSettingsReadNumber(
    _In_ HANDLE Key,
    _In_z_ PCSZ Name,
    _In_ const SETTINGS_NUMBER *Number,
    _Out_ PSETTINGS_BUFFER Buffer
    )
{
    NTSTATUS Status;
    ULONG Value;
    ULONG Power;

    Status = KernelSettingsQuery(Key, Number->Name, Buffer);
    if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
        return KernelSettingsDefault(Number);
    }
    if (!NT_SUCCESS(Status)) {
        KernelSettingsRefuse(Name, Number, "cannot be read", (ULONG)Status);
        return KernelSettingsDefault(Number);
    }
    if (Buffer->Value.Type != REG_DWORD ||
        Buffer->Value.DataLength != sizeof(ULONG)) {

        KernelSettingsRefuse(Name,
                             Number,
                             "is no REG_DWORD",
                             Buffer->Value.Type);
        return KernelSettingsDefault(Number);
    }

    Value = *(const ULONG UNALIGNED *)Buffer->Value.Data;
    if (Value == 0 && Number->MayBeZero) {
        return 0;
    }
    if (Value < Number->Minimum || Value > Number->Maximum) {
        KernelSettingsRefuse(Name, Number, "is out of bounds", Value);
        return KernelSettingsDefault(Number);
    }

    Power = 1;
    while (Power < Value) {
        Power <<= 1;
    }
    return Power;
}

//
// Whether a list of prefixes, parted by semicolons, lets this driver be traced.
// The longest prefix that matches decides; one behind a minus leaves it out.
// Without a match it is left out if the list has a prefix without a minus.
//

static
BOOLEAN
KernelSettingsMatch(
    _In_reads_(LengthInChars) const WCHAR *List,
    _In_ ULONG LengthInChars,
    _In_ PCUNICODE_STRING Module
    )
{
    ULONG Begin;
    ULONG End;
    ULONG Next;
    ULONG Longest;
    BOOLEAN Leaves;
    BOOLEAN HasWanted;
    BOOLEAN HasMatch;
    BOOLEAN IsWanted;

    Longest = 0;
    HasWanted = FALSE;
    HasMatch = FALSE;
    IsWanted = FALSE;
    for (Begin = 0; Begin < LengthInChars; Begin = Next + 1) {
        for (Next = Begin; Next < LengthInChars; Next += 1) {
            if (List[Next] == L';' || List[Next] == 0) {
                break;
            }
        }
        End = Next;
        while (Begin < End && List[Begin] == L' ') {
            Begin += 1;
        }
        while (End > Begin && List[End - 1] == L' ') {
            End -= 1;
        }
        Leaves = Begin < End && List[Begin] == L'-';
        if (Leaves) {
            Begin += 1;
        }
        if (Begin >= End) {
            continue;
        }
        HasWanted |= !Leaves;
        if (End - Begin >= Longest &&
            KernelTextBeginsWith(Module->Buffer,
                                 Module->Length / sizeof(WCHAR),
                                 List + Begin,
                                 End - Begin)) {

            Longest = End - Begin;
            HasMatch = TRUE;
            IsWanted = !Leaves;
        }
    }

    return HasMatch ? IsWanted : !HasWanted;
}

//
// The path of the driver's image: the service's ImagePath, or where the system
// looks without one.
//

static
VOID
KernelSettingsReadPath(
    _In_ HANDLE Service,
    _In_ PCUNICODE_STRING Name,
    _Out_ PKERNEL_SETTINGS Settings,
    _Out_ PSETTINGS_BUFFER Buffer
    )
{
    static const WCHAR Namespace[] = L"\\??\\";
    static const WCHAR Place[] = L"\\SystemRoot\\System32\\drivers\\";
    static const WCHAR Suffix[] = L".sys";
    const WCHAR *Text;
    ULONG Length;

    if (NT_SUCCESS(KernelSettingsQuery(Service, L"ImagePath", Buffer)) &&
        (Buffer->Value.Type == REG_SZ ||
         Buffer->Value.Type == REG_EXPAND_SZ)) {

        Text = (const WCHAR *)Buffer->Value.Data;
        Length = Buffer->Value.DataLength / sizeof(WCHAR);
        while (Length > 0 && Text[Length - 1] == 0) {
            Length -= 1;
        }
        if (KernelTextBeginsWith(Text, Length, Namespace, 4)) {
            Text += 4;
            Length -= 4;
        }
        Settings->PathLength = KernelTextToUtf8(Text,
                                                Length,
                                                Settings->Path,
                                                sizeof(Settings->Path));
        if (Settings->PathLength != 0) {
            return;
        }
    }

    Length = KernelTextToUtf8(Place,
                              RTL_NUMBER_OF(Place) - 1,
                              Settings->Path,
                              sizeof(Settings->Path));
    Length += KernelTextToUtf8(Name->Buffer,
                               Name->Length / sizeof(WCHAR),
                               Settings->Path + Length,
                               sizeof(Settings->Path) - Length);
    Length += KernelTextToUtf8(Suffix,
                               RTL_NUMBER_OF(Suffix) - 1,
                               Settings->Path + Length,
                               sizeof(Settings->Path) - Length);
    Settings->PathLength = Length;
}

//
// TracerModules.  A driver's module is its service's name.
//

static
VOID
KernelSettingsReadModules(
    _In_ HANDLE Key,
    _In_z_ PCSZ Name,
    _In_ PCUNICODE_STRING Module,
    _Inout_ PKERNEL_SETTINGS Settings,
    _Out_ PSETTINGS_BUFFER Buffer
    )
{
    NTSTATUS Status;

    Status = KernelSettingsQuery(Key, L"TracerModules", Buffer);
    if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
        return;
    }
    if (!NT_SUCCESS(Status) || Buffer->Value.Type != REG_SZ) {
        KernelPrint("%s: TracerModules is no REG_SZ that can be read (status "
                    "0x%08lx); all is traced\n",
                    Name,
                    (ULONG)Status);
        return;
    }
    if (!KernelSettingsMatch((const WCHAR *)Buffer->Value.Data,
                             Buffer->Value.DataLength / sizeof(WCHAR),
                             Module)) {

        Settings->IsEnabled = 0;
    }
}

_Use_decl_annotations_
VOID
KernelSettingsRead(
    PUNICODE_STRING RegistryPath,
    PCSZ Name,
    PKERNEL_SETTINGS Settings
    )
{
    UNICODE_STRING Module;
    UNICODE_STRING Parameters;
    SETTINGS_BUFFER Buffer;
    NTSTATUS Status;
    HANDLE Service;
    HANDLE Key;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(SettingsNumbers); Index += 1) {
        *(PULONG)((PBYTE)Settings + SettingsNumbers[Index].Offset) =
            KernelSettingsDefault(&SettingsNumbers[Index]);
    }
    Settings->PathLength = 0;

    Module = KernelTextLastName(RegistryPath);
    Status = KernelSettingsOpen(NULL, RegistryPath, &Service);
    if (!NT_SUCCESS(Status)) {
        KernelPrint("%s: opening the service's key: status 0x%08lx; settings "
                    "are the defaults\n",
                    Name,
                    (ULONG)Status);
        return;
    }

    KernelSettingsReadPath(Service, &Module, Settings, &Buffer);

    Parameters = KernelTextString(L"Parameters");
    Status = KernelSettingsOpen(Service, &Parameters, &Key);
    if (NT_SUCCESS(Status)) {
        for (Index = 0; Index < RTL_NUMBER_OF(SettingsNumbers); Index += 1) {
            *(PULONG)((PBYTE)Settings + SettingsNumbers[Index].Offset) =
                KernelSettingsReadNumber(Key,
                                         Name,
                                         &SettingsNumbers[Index],
                                         &Buffer);
        }
        KernelSettingsReadModules(Key, Name, &Module, Settings, &Buffer);
        ZwClose(Key);
    } else if (Status != STATUS_OBJECT_NAME_NOT_FOUND) {
        KernelPrint("%s: opening the service's Parameters: status 0x%08lx; "
                    "settings are the defaults\n",
                    Name,
                    (ULONG)Status);
    }
    ZwClose(Service);
}
