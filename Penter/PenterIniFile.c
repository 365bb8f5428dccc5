/*++

Module Name:

    PenterIniFile.c

Abstract:

    Which ini file is read: the one that TRACER_CONFIG names, or else the first
    that there is of tracer.ini beside the program, tracer.ini in the current
    directory, CAP.INI beside the program and CAP.INI in the current directory.

    An ini file says where the program writes and which hooks' calls are taken
    out of its code.  Whoever can write beside the program can change the
    program, and whoever sets its environment could set all of this there.  But
    a current directory may be anybody's, so a file there is taken only if
    nobody can write to it or to its directory but the user and administrators,
    and never in a process that may do more than those who could have put it
    there (RtlSecurity.c, Docs/Trust.md).  The directory is looked at by its
    handle, the file is opened from that handle and looked at by its own, and
    it is read through the same.

--*/

#include "PenterIni.h"
#include "PenterIniFile.h"
#include "PenterWord.h"

#define PENTER_INI_OPEN "opening the ini file"

typedef enum _PENTER_INI_PLACE {
    PenterIniNamed,                 // by TRACER_CONFIG
    PenterIniBeside,                // the program
    PenterIniCurrent                // in the current directory
} PENTER_INI_PLACE;

static const PCSZ PenterIniTaken[] = {
    "it is used: TRACER_CONFIG names it",
    "it is used: it is beside the program",
    "it is used: nobody but the user and administrators can write where it is"
};

//
// FileBasicInformation (WDK, FILE_BASIC_INFORMATION).
//

typedef struct _PENTER_BASIC_INFORMATION {
    LARGE_INTEGER Times[4];
    ULONG FileAttributes;
} PENTER_BASIC_INFORMATION;
C_ASSERT(FIELD_OFFSET(PENTER_BASIC_INFORMATION, FileAttributes) == 32);

//
// Reads the ini file.
// Config: the configuration, whose Ini.Path is the file's.
// IsCap: whether it is a CAP.INI.
// Returns FALSE if it cannot be read, which is noted.
//

static
BOOLEAN
PenterLoadIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_ HANDLE File,
    _In_ BOOLEAN IsCap
    )
{
    NTSTATUS Status;
    ULONGLONG Size;
    ULONG Read;
    ULONG Offset;
    PVOID Base;

    Base = NULL;
    Offset = 0;
    Status = RtlQueryFileSize(Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size > PENTER_INI_MAXIMUM_SIZE) {
        Status = STATUS_FILE_TOO_LARGE;
    }
    if (NT_SUCCESS(Status) && Size != 0) {
        Status = RtlAllocatePages(Rtl, (SIZE_T)Size, &Base);
    }
    while (NT_SUCCESS(Status) && Offset < Size) {
        Status = RtlReadFile(Rtl,
                             File,
                             Offset,
                             (PUCHAR)Base + Offset,
                             (ULONG)Size - Offset,
                             &Read);
        if (Status == STATUS_END_OF_FILE || (NT_SUCCESS(Status) && Read == 0)) {
            Status = STATUS_SUCCESS;
            break;
        }
        Offset += Read;
    }

    if (NT_SUCCESS(Status)) {
        PenterParseIni(Rtl, Config, Base, Offset, IsCap);
    } else {
        PenterIniError(Config,
                       PENTER_INI_STEP,
                       0,
                       NULL,
                       Status,
                       "no ini file is used");
    }

    RtlFreePages(Rtl, Base);
    return NT_SUCCESS(Status);
}

//
// Opens a file or a directory that is there, sharing everything.
// Root: the directory that it is in, or NULL.
// Name: its name there, or its NT path.
// Options: the options of NtCreateFile.
// Returns the status of NtCreateFile.
//

static
NTSTATUS
PenterOpenRelative(
    _In_ PCRTL Rtl,
    _In_opt_ HANDLE Root,
    _In_ PUNICODE_STRING Name,
    _In_ ACCESS_MASK Access,
    _In_ ULONG Options,
    _Out_ PHANDLE Handle
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;

    InitializeObjectAttributes(&Attributes,
                               Name,
                               OBJ_CASE_INSENSITIVE,
                               Root,
                               NULL);
    return Rtl->NtCreateFile(Handle,
                             Access | SYNCHRONIZE,
                             &Attributes,
                             &IoStatus,
                             NULL,
                             FILE_ATTRIBUTE_NORMAL,
                             FILE_SHARE_READ | FILE_SHARE_WRITE |
                             FILE_SHARE_DELETE,
                             FILE_OPEN,
                             Options | FILE_SYNCHRONOUS_IO_NONALERT,
                             NULL,
                             0);
}

//
// Opens a file of the current directory if what it says may be believed.
// File: the handle; NULL after a failure.
// Consequence: receives, after a failure, a literal for the log.
// Returns STATUS_SUCCESS; what failed; what is wrong with the file.
//

static
NTSTATUS
PenterOpenTrusted(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PHANDLE File,
    _Out_ PCSZ *Consequence
    )
{
    NTSTATUS Status;
    RTL_USER User;
    UNICODE_STRING Directory;
    UNICODE_STRING Name;
    IO_STATUS_BLOCK IoStatus;
    PENTER_BASIC_INFORMATION Basic;
    HANDLE Root;
    HANDLE Handle;
    ULONG Length;

    *File = NULL;
    *Consequence = "it is not used: it is unknown whether others could have "
                   "written it";
    Status = RtlQueryUser(Rtl, (HANDLE)-1, &User);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (RtlHasMoreRights(Rtl, &User, &Status)) {
        *Consequence = "it is not used: it is in the current directory, and "
                       "this process has more rights than its user's other "
                       "processes, or than whoever started it; TRACER_CONFIG "
                       "can name it";
        return Status;
    }

    //
    // A volume's root keeps its separator.
    //

    RtlBaseName(NtPath, &Name);
    Length = (NtPath->Length - Name.Length) / sizeof(WCHAR);
    if (Length >= 2 && NtPath->Buffer[Length - 2] != L':') {
        Length -= 1;
    }
    RtlPointUnicodeString(&Directory, NtPath->Buffer, Length);
    Status = PenterOpenRelative(Rtl,
                                NULL,
                                &Directory,
                                FILE_READ_ATTRIBUTES | FILE_TRAVERSE |
                                READ_CONTROL,
                                FILE_DIRECTORY_FILE,
                                &Root);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlCheckWriters(Rtl, &User, Root);
    if (NT_SUCCESS(Status)) {
        Status = PenterOpenRelative(Rtl,
                                    Root,
                                    &Name,
                                    FILE_GENERIC_READ,
                                    FILE_NON_DIRECTORY_FILE |
                                    FILE_OPEN_REPARSE_POINT,
                                    &Handle);
    } else if (Status == STATUS_ACCESS_DENIED ||
               Status == STATUS_INVALID_OWNER) {

        *Consequence = "it is not used: users other than this user and "
                       "administrators can write to its directory; "
                       "TRACER_CONFIG can name it";
    }
    RtlClose(Rtl, Root);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // What a link leads to lies in a directory that has not been looked at.
    //

    Status = Rtl->NtQueryInformationFile(Handle,
                                         &IoStatus,
                                         &Basic,
                                         sizeof(Basic),
                                         RTL_FILE_BASIC_INFORMATION);
    if (NT_SUCCESS(Status) &&
        (Basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {

        Status = STATUS_REPARSE_POINT_ENCOUNTERED;
        *Consequence = "it is not used: it is a link; TRACER_CONFIG can name "
                       "what it leads to";
    }
    if (NT_SUCCESS(Status)) {
        Status = RtlCheckWriters(Rtl, &User, Handle);
        if (Status == STATUS_ACCESS_DENIED || Status == STATUS_INVALID_OWNER) {
            *Consequence = "it is not used: users other than this user and "
                           "administrators can write to it; TRACER_CONFIG can "
                           "name it";
        }
    }
    if (!NT_SUCCESS(Status)) {
        RtlClose(Rtl, Handle);
        return Status;
    }

    *File = Handle;
    return STATUS_SUCCESS;
}

//
// Tells whether a file could not be opened because there is none.
// Status: why it could not be opened.
//

static
BOOLEAN
PenterIsAbsent(
    _In_ NTSTATUS Status
    )
{
    return Status == STATUS_OBJECT_NAME_NOT_FOUND ||
           Status == STATUS_OBJECT_PATH_NOT_FOUND ||
           Status == STATUS_NO_SUCH_FILE ||
           Status == STATUS_NAME_TOO_LONG;
}

//
// Reads the ini file if there is one at a path.
// Config: the configuration, whose Ini.PathBuffer has the path.
// LengthInChars: its length in 16-bit units.
// Place: how it was found. The one that is named must be there.
// Returns TRUE if there is a file, if only one that cannot be read; FALSE if
// there is none, or one that may be anybody's, which is noted.
//

static
BOOLEAN
PenterOpenIni(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config,
    _In_ ULONG LengthInChars,
    _In_ PENTER_INI_PLACE Place
    )
{
    NTSTATUS Status;
    UNICODE_STRING NtPath;
    UNICODE_STRING Name;
    PPENTER_INI Ini;
    HANDLE File;
    PCSZ Consequence;

    Ini = &Config->Ini;
    RtlPointUnicodeString(&Ini->Path, Ini->PathBuffer, LengthInChars);
    Status = RtlDosPathToNtPath(Rtl,
                                &Ini->Path,
                                Config->Scratch,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &NtPath, &File);
    }

    //
    // That there is one has cost nothing more than that there is none.  It is
    // opened anew by way of its directory.
    //

    if (NT_SUCCESS(Status) && Place == PenterIniCurrent) {
        RtlClose(Rtl, File);
        Status = PenterOpenTrusted(Rtl, &NtPath, &File, &Consequence);
        if (!NT_SUCCESS(Status)) {
            if (!PenterIsAbsent(Status)) {
                PenterIniError(Config,
                               PENTER_INI_OPEN,
                               0,
                               NULL,
                               Status,
                               Consequence);
            }
            return FALSE;
        }
    }

    if (NT_SUCCESS(Status)) {
        RtlBaseName(&Ini->Path, &Name);
        if (PenterLoadIni(Rtl,
                          Config,
                          File,
                          PenterIsWord(Rtl, &Name, L"CAP.INI"))) {

            //
            // NUL is none, and a device's path begins with \\.\.
            //

            if (Ini->Path.Length < 4 * sizeof(WCHAR) ||
                Ini->Path.Buffer[0] != L'\\' ||
                Ini->Path.Buffer[2] != L'.') {

                Ini->Taken = PenterIniTaken[Place];
            }
        }
        RtlClose(Rtl, File);
        return TRUE;
    }

    if (Place != PenterIniNamed && PenterIsAbsent(Status)) {
        return FALSE;
    }

    PenterIniError(Config,
                   Place == PenterIniNamed ?
                   "opening the ini file of TRACER_CONFIG" : PENTER_INI_OPEN,
                   0,
                   NULL,
                   Status,
                   "no ini file is used");
    return TRUE;
}

_Use_decl_annotations_
VOID
PenterFindIni(
    PCRTL Rtl,
    PPENTER_CONFIG Config
    )
{
    NTSTATUS Status;
    UNICODE_STRING Path;
    UNICODE_STRING BaseName;
    PPENTER_INI Ini;
    PWCHAR Name;
    ULONG Length;
    ULONG Index;

    static const PCWSTR Names[] = { L"tracer.ini", L"CAP.INI" };

    Ini = &Config->Ini;
    RtlPointUnicodeString(&Path, Config->Scratch, 0);
    Status = RtlQueryEnvironment(Rtl,
                                 L"TRACER_CONFIG",
                                 Config->Scratch,
                                 RTL_MAXIMUM_PATH_IN_CHARS,
                                 &Path);
    if (Status != STATUS_VARIABLE_NOT_FOUND &&
        (!NT_SUCCESS(Status) || Path.Length != 0)) {

        Length = 0;
        if (NT_SUCCESS(Status)) {
            Config->Scratch[Path.Length / sizeof(WCHAR)] = L'\0';
            Length = Rtl->GetFullPathNameW(Config->Scratch,
                                           RTL_MAXIMUM_PATH_IN_CHARS,
                                           Ini->PathBuffer,
                                           NULL);
            Status = Length >= RTL_MAXIMUM_PATH_IN_CHARS ?
                     STATUS_NAME_TOO_LONG : STATUS_OBJECT_NAME_INVALID;
        }
        if (Length == 0 || Length >= RTL_MAXIMUM_PATH_IN_CHARS) {
            PenterAddError(Config,
                           "opening the ini file of TRACER_CONFIG",
                           &Path,
                           Status,
                           "no ini file is used");
        } else {
            (VOID)PenterOpenIni(Rtl, Config, Length, PenterIniNamed);
        }
        return;
    }

    //
    // The program's directory, up to and with the separator.
    //

    Length = Rtl->GetModuleFileNameW(NULL,
                                     Config->ModuleName,
                                     RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Path, Config->ModuleName, Length);
    if (Length == 0) {
        PenterAddError(Config,
                       "looking for an ini file beside the program",
                       &Path,
                       STATUS_NOT_FOUND,
                       "only an ini file in the current directory can be used");
    }
    RtlBaseName(&Path, &BaseName);
    Path.Length -= BaseName.Length;

    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index += 1) {
        Length = RtlLengthOfWideString(Names[Index]);
        if (Path.Length != 0 &&
            Path.Length / sizeof(WCHAR) + Length < RTL_MAXIMUM_PATH_IN_CHARS) {

            Name = Ini->PathBuffer + Path.Length / sizeof(WCHAR);
            RtlCopyBytes(Ini->PathBuffer, Path.Buffer, Path.Length);
            RtlCopyBytes(Name, Names[Index], Length * sizeof(WCHAR));
            if (PenterOpenIni(Rtl,
                              Config,
                              Path.Length / sizeof(WCHAR) + Length,
                              PenterIniBeside)) {
                return;
            }
        }

        Length = Rtl->GetFullPathNameW(Names[Index],
                                       RTL_MAXIMUM_PATH_IN_CHARS,
                                       Ini->PathBuffer,
                                       NULL);
        if (Length != 0 && Length < RTL_MAXIMUM_PATH_IN_CHARS &&
            PenterOpenIni(Rtl, Config, Length, PenterIniCurrent)) {
            return;
        }
    }

    Ini->Path.Length = 0;
}

_Use_decl_annotations_
ULONG
PenterQueryIni(
    PCRTL Rtl,
    PPENTER_CONFIG Config,
    PCWSTR Variable,
    PUNICODE_STRING Text
    )
{
    if (!Config->Ini.IsRead) {
        Config->Ini.IsRead = TRUE;
        PenterFindIni(Rtl, Config);
    }

    return PenterGetIniValue(Config, Variable, Text);
}
