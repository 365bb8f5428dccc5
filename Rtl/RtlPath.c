/*++

Module Name:

    RtlPath.c

Abstract:

    Paths.

--*/

#include "Rtl.h"
#include "RtlTeb.h"

//
// A path up to this length is terminated on the stack for GetFullPathNameW; a
// longer one in pages of its own.
//

#define RTLP_STACK_PATH_IN_CHARS 260

//
// Every prefix of this form has four units: \\?\ \\.\ \??\ .
//

#define RTLP_PREFIX_IN_CHARS 4

//
// \??\UNC in front of \server is longer than \??\ in front of C:\ by the three
// letters.
//

#define RTLP_UNC_IN_CHARS 3

//
// Says whether a path begins with \\?\, \\.\ or \??\, after which it names an
// object as it stands.
// LengthInChars: its length in 16-bit units.
//

static
BOOLEAN
RtlpIsVerbatimPath(
    _In_reads_(LengthInChars) PCWSTR Path,
    _In_ ULONG LengthInChars
    )
{
    if (LengthInChars < RTLP_PREFIX_IN_CHARS ||
        Path[0] != L'\\' ||
        Path[3] != L'\\') {
        return FALSE;
    }

    if (Path[1] == L'\\') {
        return (Path[2] == L'?' || Path[2] == L'.');
    }

    return (Path[1] == L'?' && Path[2] == L'?');
}

//
// Makes a path absolute.
// Buffer: the absolute path, terminated.
// CapacityInChars: the size of Buffer, in 16-bit units.
// LengthInChars: its length without the terminator.
// Returns STATUS_SUCCESS, STATUS_NAME_TOO_LONG, STATUS_OBJECT_NAME_INVALID or
// the status of allocating memory.
//

static
NTSTATUS
RtlpQueryFullPath(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING DosPath,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PULONG LengthInChars
    )
{
    WCHAR Stack[RTLP_STACK_PATH_IN_CHARS];
    PWCHAR Terminated = Stack;
    PVOID Pages = NULL;
    SIZE_T SizeOfPages = 0;
    ULONG Length = DosPath->Length / sizeof(WCHAR);
    NTSTATUS Status;

    if (Length >= RTLP_STACK_PATH_IN_CHARS) {

        SizeOfPages = (SIZE_T)(Length + 1) * sizeof(WCHAR);

        Status = Rtl->NtAllocateVirtualMemory((HANDLE)(LONG_PTR)-1,
                                              &Pages,
                                              0,
                                              &SizeOfPages,
                                              MEM_RESERVE | MEM_COMMIT,
                                              PAGE_READWRITE);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Terminated = (PWCHAR)Pages;
    }

    RtlCopyBytes(Terminated, DosPath->Buffer, Length * sizeof(WCHAR));
    Terminated[Length] = L'\0';

    //
    // The length without the terminator if the path fits, with it otherwise.
    //

    Length = Rtl->GetFullPathNameW(Terminated, CapacityInChars, Buffer, NULL);

    if (Length == 0) {

        Status = STATUS_OBJECT_NAME_INVALID;
        if (__readgsdword(TEB_LAST_ERROR) == ERROR_FILENAME_EXCED_RANGE) {
            Status = STATUS_NAME_TOO_LONG;
        }

    } else if (Length >= CapacityInChars) {
        Status = STATUS_NAME_TOO_LONG;
    } else {
        *LengthInChars = Length;
        Status = STATUS_SUCCESS;
    }

    if (Pages != NULL) {
        SizeOfPages = 0;
        Rtl->NtFreeVirtualMemory((HANDLE)(LONG_PTR)-1,
                                 &Pages,
                                 &SizeOfPages,
                                 MEM_RELEASE);
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlDosPathToNtPath(
    PCRTL Rtl,
    PCUNICODE_STRING DosPath,
    PWCHAR Buffer,
    ULONG CapacityInChars,
    PUNICODE_STRING NtPath
    )
/*++

Routine Description:

    Makes the NT name of a DOS path.  \\?\, \\.\ and \??\ are taken as they
    are; everything else is made absolute first, which also resolves . and ..,
    turns / into \ and drops trailing spaces and dots.

Arguments:

    Rtl - Supplies the RTL.

    DosPath - Supplies the path; it need not be terminated.

    Buffer - Receives the NT name.

    CapacityInChars - Supplies the size of Buffer, in 16-bit units.  Eight more
        than the absolute path has are always enough.

    NtPath - Receives the NT name, which lies at the start of Buffer; its
        MaximumLength is what Buffer holds, so that names can be appended.  Not
        written on failure.

Return Value:

    STATUS_SUCCESS.

    STATUS_OBJECT_NAME_INVALID - DosPath is empty or holds a zero.

    STATUS_NAME_TOO_LONG - The name does not fit into Buffer, or into a
        UNICODE_STRING.

    Or the status of allocating memory, for a long path.

--*/
{
    PCWSTR Path = DosPath->Buffer;
    PWCHAR Full;
    ULONG Length = DosPath->Length / sizeof(WCHAR);
    ULONG Index;
    NTSTATUS Status;

    if (Length == 0) {
        return STATUS_OBJECT_NAME_INVALID;
    }

    for (Index = 0; Index < Length; Index++) {
        if (Path[Index] == L'\0') {
            return STATUS_OBJECT_NAME_INVALID;
        }
    }

    if (CapacityInChars > RTL_MAXIMUM_PATH_IN_CHARS) {
        CapacityInChars = RTL_MAXIMUM_PATH_IN_CHARS;
    }

    if (RtlpIsVerbatimPath(Path, Length)) {

        if (Length > CapacityInChars) {
            return STATUS_NAME_TOO_LONG;
        }

        RtlCopyBytes(Buffer, Path, Length * sizeof(WCHAR));

    } else {

        //
        // The absolute path goes behind room for the longest prefix, whatever
        // its kind turns out to be: a relative path has the kind of the
        // current directory, and NUL has that of a device.
        //

        if (CapacityInChars < RTLP_PREFIX_IN_CHARS + RTLP_UNC_IN_CHARS) {
            return STATUS_NAME_TOO_LONG;
        }

        Full = Buffer + RTLP_PREFIX_IN_CHARS + RTLP_UNC_IN_CHARS;

        Status = RtlpQueryFullPath(Rtl,
                                   DosPath,
                                   Full,
                                   CapacityInChars -
                                   RTLP_PREFIX_IN_CHARS -
                                   RTLP_UNC_IN_CHARS,
                                   &Length);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // What is moved moves downwards over itself: __movsb copies in
        // ascending order.
        //

        if (RtlpIsVerbatimPath(Full, Length)) {

            __movsb((PBYTE)Buffer, (const BYTE *)Full, Length * sizeof(WCHAR));

        } else if (Length >= 2 && Full[0] == L'\\' && Full[1] == L'\\') {

            //
            // \\server\share becomes \??\UNC\server\share.
            //

            Buffer[4] = L'U';
            Buffer[5] = L'N';
            Buffer[6] = L'C';
            __movsb((PBYTE)(Buffer + 7),
                    (const BYTE *)(Full + 1),
                    (Length - 1) * sizeof(WCHAR));
            Length += RTLP_PREFIX_IN_CHARS + RTLP_UNC_IN_CHARS - 1;

        } else {

            __movsb((PBYTE)(Buffer + RTLP_PREFIX_IN_CHARS),
                    (const BYTE *)Full,
                    Length * sizeof(WCHAR));
            Length += RTLP_PREFIX_IN_CHARS;
        }
    }

    Buffer[0] = L'\\';
    Buffer[1] = L'?';
    Buffer[2] = L'?';
    Buffer[3] = L'\\';

    NtPath->Length = (USHORT)(Length * sizeof(WCHAR));
    NtPath->MaximumLength = (USHORT)(CapacityInChars * sizeof(WCHAR));
    NtPath->Buffer = Buffer;

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
RtlBaseName(
    PCUNICODE_STRING Path,
    PUNICODE_STRING BaseName
    )
/*++

Routine Description:

    Finds the last component of a path.

Arguments:

    Path - Supplies the path, which may lack a directory.

    BaseName - Receives what is behind the last \ or /, or behind a drive's
        colon; it lies in Path and is empty if Path ends there.

Return Value:

    None.

--*/
{
    UNICODE_STRING Name;
    ULONG Length = Path->Length / sizeof(WCHAR);
    ULONG Start = Length;

    while (Start != 0) {

        if (Path->Buffer[Start - 1] == L'\\' ||
            Path->Buffer[Start - 1] == L'/') {
            break;
        }

        //
        // C:name; any other colon is within a name (a stream's).
        //

        if (Start == 2 && Path->Buffer[1] == L':') {
            break;
        }

        Start--;
    }

    RtlPointUnicodeString(&Name, Path->Buffer + Start, Length - Start);
    *BaseName = Name;
}

_Use_decl_annotations_
NTSTATUS
RtlAppendPath(
    PUNICODE_STRING Path,
    PCWSTR Text,
    ULONG LengthInChars,
    BOOLEAN Separator
    )
/*++

Routine Description:

    Appends to a path.

Arguments:

    Path - Supplies the path and receives the longer one.

    Text - Supplies what to append.

    LengthInChars - Supplies its length in 16-bit units.

    Separator - Supplies TRUE for a backslash between, unless Path is empty or
        ends with one.

Return Value:

    STATUS_SUCCESS, or STATUS_NAME_TOO_LONG if it does not fit.

--*/
{
    ULONG Length = Path->Length / sizeof(WCHAR);
    ULONG Capacity = Path->MaximumLength / sizeof(WCHAR);
    ULONG SeparatorLength = 0;

    if (Separator && Length != 0 && Path->Buffer[Length - 1] != L'\\') {
        SeparatorLength = 1;
    }

    if (Length > Capacity ||
        SeparatorLength > Capacity - Length ||
        LengthInChars > Capacity - Length - SeparatorLength) {
        return STATUS_NAME_TOO_LONG;
    }

    if (SeparatorLength != 0) {
        Path->Buffer[Length] = L'\\';
        Length++;
    }

    RtlCopyBytes(Path->Buffer + Length, Text, LengthInChars * sizeof(WCHAR));
    Length += LengthInChars;

    Path->Length = (USHORT)(Length * sizeof(WCHAR));

    return STATUS_SUCCESS;
}

//
// Says whether a name is a device's, with whatever extension.
// LengthInChars: its length in 16-bit units.
//

static
BOOLEAN
RtlpIsDeviceName(
    _In_reads_(LengthInChars) PCWSTR Name,
    _In_ ULONG LengthInChars
    )
{
    static const PCSZ Devices[] = {
        "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "COM#", "LPT#"
    };

    ULONG Length = 0;
    ULONG Device;
    ULONG Index;
    WCHAR Char;
    CHAR Wanted;

    while (Length < LengthInChars && Name[Length] != L'.') {
        Length++;
    }

    while (Length != 0 && Name[Length - 1] == L' ') {
        Length--;
    }

    for (Device = 0; Device < RTL_NUMBER_OF(Devices); Device++) {

        if (RtlLengthOfString(Devices[Device]) != Length) {
            continue;
        }

        for (Index = 0; Index < Length; Index++) {

            Char = Name[Index];
            Wanted = Devices[Device][Index];
            if (Char >= L'a' && Char <= L'z') {
                Char = (WCHAR)(Char - (L'a' - L'A'));
            }

            //
            // Superscript one, two and three count as digits.
            //

            if (Wanted == '#') {
                if ((Char < L'0' || Char > L'9') &&
                    Char != 0xB9 && Char != 0xB2 && Char != 0xB3) {
                    break;
                }
            } else if (Char != (WCHAR)Wanted) {
                break;
            }
        }

        if (Index == Length) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
RtlIsPlainName(
    PCUNICODE_STRING Name,
    BOOLEAN IsPath
    )
/*++

Routine Description:

    Says whether a name stays in the directory that it is looked for in.

Arguments:

    Name - Supplies the name.

    IsPath - Supplies TRUE for names with backslashes between.

Return Value:

    TRUE if it does.

--*/
{
    static const CHAR Reserved[] = "<>:\"/|?*\\";

    PCWSTR Text = Name->Buffer;
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Start = 0;
    ULONG Index;
    ULONG Other;

    for (Index = 0; Index <= Length; Index++) {

        if (Index < Length && (Text[Index] != L'\\' || !IsPath)) {

            for (Other = 0; Reserved[Other] != '\0'; Other++) {
                if (Text[Index] == (WCHAR)Reserved[Other]) {
                    return FALSE;
                }
            }

            if (Text[Index] < L' ') {
                return FALSE;
            }

            continue;
        }

        //
        // The end of a component.  One with a dot at its end is refused, and .
        // and .. with it.
        //

        if (Index == Start ||
            Text[Index - 1] == L'.' ||
            Text[Index - 1] == L' ' ||
            RtlpIsDeviceName(Text + Start, Index - Start)) {
            return FALSE;
        }

        Start = Index + 1;
    }

    return TRUE;
}
