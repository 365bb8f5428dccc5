/*++

Module Name:

    RtlSecurity.c

Abstract:

    Who may write to a file, with which rights a process runs, and security
    descriptors for files that are the user's alone.

    The rules are those of Microsoft's documentation: "How DACLs Control Access
    to an Object", "DACL for a New Object", "Well-known SIDs", "File Access
    Rights Constants", TOKEN_ELEVATION_TYPE, "Mandatory Integrity Control";
    the layouts those of winnt.h (SECURITY_DESCRIPTOR_RELATIVE, ACL,
    ACCESS_ALLOWED_ACE, SID).

--*/

#include "Rtl.h"

#define RTLP_CURRENT_PROCESS ((HANDLE)(LONG_PTR)-1)

//
// The largest descriptor: two ACLs and four SIDs.
//

#define RTLP_DESCRIPTOR_IN_BYTES 0x21000

//
// Layouts.
//

typedef struct _RTLP_DESCRIPTOR {
    UCHAR Revision;
    UCHAR Unused;
    USHORT Control;                 // RTLP_CONTROL_*
    ULONG Owner;                    // offsets; 0: there is none
    ULONG Group;
    ULONG Sacl;
    ULONG Dacl;
} RTLP_DESCRIPTOR;
typedef RTLP_DESCRIPTOR *PRTLP_DESCRIPTOR;
typedef const RTLP_DESCRIPTOR *PCRTLP_DESCRIPTOR;
C_ASSERT(sizeof(RTLP_DESCRIPTOR) == 20);

#define RTLP_DESCRIPTOR_REVISION    1
#define RTLP_CONTROL_DACL_PRESENT   0x0004
#define RTLP_CONTROL_DACL_PROTECTED 0x1000
#define RTLP_CONTROL_SELF_RELATIVE  0x8000

typedef struct _RTLP_ACL {
    UCHAR Revision;
    UCHAR Unused;
    USHORT Size;                    // bytes, with the entries
    USHORT Count;
    USHORT Unused2;
} RTLP_ACL;
typedef RTLP_ACL *PRTLP_ACL;
typedef const RTLP_ACL *PCRTLP_ACL;
C_ASSERT(sizeof(RTLP_ACL) == 8);

#define RTLP_ACL_REVISION           2

//
// SID: revision, number of subauthorities, an authority of six bytes.
//

#define RTLP_SID_HEADER     8
#define RTLP_SID_REVISION   1

//
// What makes another file, or other contents, of a file or of what a directory
// has.  Attributes count: whoever may change them may make a reparse point
// (FSCTL_SET_REPARSE_POINT).
//

#define RTLP_WRITING_ACCESS (FILE_WRITE_DATA | FILE_APPEND_DATA |           \
                             FILE_WRITE_EA | FILE_WRITE_ATTRIBUTES |        \
                             FILE_DELETE_CHILD | DELETE | WRITE_DAC |       \
                             WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL)

//
// Types of access control entries, and their flags (winnt.h).
//

#define RTLP_ACE_ALLOWED                    0
#define RTLP_ACE_DENIED                     1
#define RTLP_ACE_DENIED_OBJECT              6
#define RTLP_ACE_ALLOWED_CALLBACK           9
#define RTLP_ACE_DENIED_CALLBACK            10
#define RTLP_ACE_DENIED_CALLBACK_OBJECT     12
#define RTLP_ACE_OBJECT_INHERIT             0x01
#define RTLP_ACE_CONTAINER_INHERIT          0x02
#define RTLP_ACE_INHERIT_ONLY               0x08
#define RTLP_ACE_HEADER                     8       // with the mask

//
// TOKEN_INFORMATION_CLASS, TOKEN_ELEVATION_TYPE.
//

#define RTLP_TOKEN_USER                     1
#define RTLP_TOKEN_RESTRICTED_SIDS          11
#define RTLP_TOKEN_ELEVATION_TYPE           18
#define RTLP_TOKEN_INTEGRITY_LEVEL          25
#define RTLP_TOKEN_IS_APP_CONTAINER         29
#define RTLP_TOKEN_APP_CONTAINER_SID        31
#define RTLP_ELEVATION_TYPE_FULL            2
#define RTLP_ELEVATION_ENABLED              1       // RtlQueryElevationFlags
#define RTLP_MEDIUM_INTEGRITY               0x2000  // of the label's SID
#define RTLP_PROCESS_QUERY_LIMITED          0x1000

//
// Who is trusted besides the user.  The last two are found in entries only:
// CREATOR OWNER gives nothing to anybody until it is inherited, and OWNER
// RIGHTS gives it to the owner, who is looked at.
//

static const UCHAR RtlpSystem[] = {
    1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0
};

static const UCHAR RtlpAdministrators[] = {
    1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 0x02, 0, 0
};

static const UCHAR RtlpTrustedInstaller[] = {
    1, 6, 0, 0, 0, 0, 0, 5,
    80, 0, 0, 0,
    0xB5, 0x89, 0xFB, 0x38,
    0x19, 0x84, 0xC2, 0xCB,
    0x5C, 0x6C, 0x23, 0x6D,
    0x57, 0x00, 0x77, 0x6E,
    0xC0, 0x02, 0x64, 0x87
};

static const UCHAR RtlpCreatorOwner[] = {
    1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0
};

static const UCHAR RtlpOwnerRights[] = {
    1, 1, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0
};

//
// Whose a file is on a file system that knows no owners.
//

static const UCHAR RtlpEveryone[] = {
    1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0
};

//
// Measures a SID.
// Sid: where it begins.
// SizeInBytes: how much there is to read.
// Returns its size in bytes; 0 if there is none.
//

static
ULONG
RtlpSidSize(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Sid,
    _In_ SIZE_T SizeInBytes
    )
{
    ULONG Size;

    if (SizeInBytes < RTLP_SID_HEADER || Sid[0] != RTLP_SID_REVISION) {
        return 0;
    }

    Size = RTLP_SID_HEADER + Sid[1] * sizeof(ULONG);
    return Size <= RTL_MAXIMUM_SID_IN_BYTES && Size <= SizeInBytes ? Size : 0;
}

//
// Tells whether a SID is the user's, or of those that may do as they like.
// IsEntry: whether it is an entry's, not the owner's.
//

static
BOOLEAN
RtlpIsTrusted(
    _In_ PCRTL_USER User,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Sid,
    _In_ ULONG SizeInBytes,
    _In_ BOOLEAN IsEntry
    )
{
#define RTLP_IS(Known)                                                      \
    (SizeInBytes == sizeof(Known) &&                                        \
     RtlAreBytesEqual(Sid, Known, sizeof(Known)))

    return (SizeInBytes == User->SidSize &&
            RtlAreBytesEqual(Sid, User->Sid, SizeInBytes)) ||
           RTLP_IS(RtlpSystem) ||
           RTLP_IS(RtlpAdministrators) ||
           RTLP_IS(RtlpTrustedInstaller) ||
           (IsEntry && (RTLP_IS(RtlpCreatorOwner) ||
                        RTLP_IS(RtlpOwnerRights)));
}

//
// Asks a token for something that begins with a pointer to a SID.
// InformationClass: what is asked for.
// SidSize: its size; 0 if there is none.
// Returns the status of NtQueryInformationToken, or STATUS_INVALID_SID.
//

static
_Must_inspect_result_
NTSTATUS
RtlpQuerySid(
    _In_ PCRTL Rtl,
    _In_ HANDLE Token,
    _In_ ULONG InformationClass,
    _Out_writes_bytes_(RTL_MAXIMUM_SID_IN_BYTES) PUCHAR Sid,
    _Out_ PULONG SidSize
    )
{
    NTSTATUS Status;
    ULONG Length;
    union {
        const UCHAR *Sid;
        UCHAR Bytes[256];
    } Information;

    *SidSize = 0;
    Status = Rtl->NtQueryInformationToken(Token,
                                          InformationClass,
                                          &Information,
                                          sizeof(Information),
                                          &Length);
    if (!NT_SUCCESS(Status) || Information.Sid == NULL) {
        return Status;
    }

    *SidSize = RtlpSidSize(Information.Sid, RTL_MAXIMUM_SID_IN_BYTES);
    if (*SidSize == 0) {
        return STATUS_INVALID_SID;
    }

    RtlCopyBytes(Sid, Information.Sid, *SidSize);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlQueryUser(
    PCRTL Rtl,
    HANDLE Process,
    PRTL_USER User
    )
/*++

Routine Description:

    Asks who runs a process.

Arguments:

    Rtl - Supplies the RTL.

    Process - Supplies the process.

    User - Receives what its token says.

Return Value:

    STATUS_SUCCESS or the failing call's status; STATUS_NOT_SUPPORTED if the
    system cannot be asked.

--*/
{
    NTSTATUS Status;
    HANDLE Token;
    ULONG Number;
    ULONG Length;
    struct {
        ULONG Count;
        UCHAR Rest[252];
    } Groups;

    RtlZeroBytes(User, sizeof(*User));
    if (Rtl->NtOpenProcessToken == NULL ||
        Rtl->NtQueryInformationToken == NULL) {

        return STATUS_NOT_SUPPORTED;
    }

    Status = Rtl->NtOpenProcessToken(Process, TOKEN_QUERY, &Token);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlpQuerySid(Rtl,
                          Token,
                          RTLP_TOKEN_USER,
                          User->Sid,
                          &User->SidSize);
    if (NT_SUCCESS(Status) && User->SidSize == 0) {
        Status = STATUS_INVALID_SID;
    }
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    //
    // Windows 7 knows no AppContainers, and says so.
    //

    Number = 0;
    if (NT_SUCCESS(Rtl->NtQueryInformationToken(Token,
                                                RTLP_TOKEN_IS_APP_CONTAINER,
                                                &Number,
                                                sizeof(Number),
                                                &Length)) &&
        Number != 0) {

        User->IsContainer = TRUE;
        Status = RtlpQuerySid(Rtl,
                              Token,
                              RTLP_TOKEN_APP_CONTAINER_SID,
                              User->ContainerSid,
                              &User->ContainerSidSize);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
    }

    //
    // More of them than there is room for are some, too.
    //

    Groups.Count = 0;
    Status = Rtl->NtQueryInformationToken(Token,
                                          RTLP_TOKEN_RESTRICTED_SIDS,
                                          &Groups,
                                          sizeof(Groups),
                                          &Length);
    User->IsRestricted = Status == STATUS_BUFFER_TOO_SMALL ||
                         (NT_SUCCESS(Status) && Groups.Count != 0);
    Status = STATUS_SUCCESS;

End:

    RtlClose(Rtl, Token);
    return Status;
}

//
// Asks with which of its user's rights a process runs.
// ElevationType: its token's TOKEN_ELEVATION_TYPE.
// Integrity: the last subauthority of its integrity label's SID.
// Returns STATUS_SUCCESS or the failing call's status.
//

static
_Must_inspect_result_
NTSTATUS
RtlpQueryElevation(
    _In_ PCRTL Rtl,
    _In_ HANDLE Process,
    _Out_ PULONG ElevationType,
    _Out_ PULONG Integrity
    )
{
    NTSTATUS Status;
    HANDLE Token;
    ULONG Length;
    ULONG SidSize;
    UCHAR Sid[RTL_MAXIMUM_SID_IN_BYTES];

    Status = Rtl->NtOpenProcessToken(Process, TOKEN_QUERY, &Token);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = Rtl->NtQueryInformationToken(Token,
                                          RTLP_TOKEN_ELEVATION_TYPE,
                                          ElevationType,
                                          sizeof(*ElevationType),
                                          &Length);
    if (NT_SUCCESS(Status)) {
        Status = RtlpQuerySid(Rtl,
                              Token,
                              RTLP_TOKEN_INTEGRITY_LEVEL,
                              Sid,
                              &SidSize);
        if (NT_SUCCESS(Status) && SidSize <= RTLP_SID_HEADER) {
            Status = STATUS_INVALID_SID;
        }
    }
    if (NT_SUCCESS(Status)) {
        RtlCopyBytes(Integrity, Sid + SidSize - sizeof(ULONG), sizeof(ULONG));
    }

    RtlClose(Rtl, Token);
    return Status;
}

//
// Opens the process that started this one.
// Parent: the handle.
// Returns STATUS_SUCCESS; STATUS_NO_MORE_ENTRIES if nobody did; what failed,
// which is STATUS_PROCESS_IS_TERMINATING if that process has ended and another
// one has its id.
//

static
_Must_inspect_result_
NTSTATUS
RtlpOpenParent(
    _In_ PCRTL Rtl,
    _Out_ PHANDLE Parent
    )
{
    NTSTATUS Status;
    RTL_PROCESS_BASIC Basic;
    OBJECT_ATTRIBUTES Attributes;
    HANDLE ClientId[2];
    LARGE_INTEGER Own[4];           // creation, exit, kernel, user
    LARGE_INTEGER Other[4];

    Status = Rtl->NtQueryInformationProcess(RTLP_CURRENT_PROCESS,
                                            RTL_PROCESS_BASIC_INFORMATION,
                                            &Basic,
                                            sizeof(Basic),
                                            NULL);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (Basic.InheritedFromUniqueProcessId == 0) {
        return STATUS_NO_MORE_ENTRIES;
    }

    ClientId[0] = (HANDLE)Basic.InheritedFromUniqueProcessId;
    ClientId[1] = NULL;
    InitializeObjectAttributes(&Attributes, NULL, 0, NULL, NULL);
    Status = Rtl->NtOpenProcess(Parent,
                                RTLP_PROCESS_QUERY_LIMITED,
                                &Attributes,
                                ClientId);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = Rtl->NtQueryInformationProcess(RTLP_CURRENT_PROCESS,
                                            RTL_PROCESS_TIMES,
                                            Own,
                                            sizeof(Own),
                                            NULL);
    if (NT_SUCCESS(Status)) {
        Status = Rtl->NtQueryInformationProcess(*Parent,
                                                RTL_PROCESS_TIMES,
                                                Other,
                                                sizeof(Other),
                                                NULL);
    }
    if (NT_SUCCESS(Status) && Other[0].QuadPart > Own[0].QuadPart) {
        Status = STATUS_PROCESS_IS_TERMINATING;
    }
    if (!NT_SUCCESS(Status)) {
        RtlClose(Rtl, *Parent);
    }

    return Status;
}

_Use_decl_annotations_
BOOLEAN
RtlHasMoreRights(
    PCRTL Rtl,
    PCRTL_USER User,
    PNTSTATUS Reason
    )
/*++

Routine Description:

    Tells whether this process may do what those that could have prepared its
    current directory may not.

    Elevated is what Windows calls TokenElevationTypeFull: the user has another
    token, with less, that his other programs run with.  Where User Account
    Control is on that is enough.  Where it is off, or there is none, a process
    is compared with the one that started it: its user, its elevation, its
    integrity level.  If that one has ended, a process of medium integrity or
    less without elevation has no more rights than its user anyway.  One that
    no process has started has nobody to compare it with: on Windows there are
    none but the system's, and Wine has them.

Arguments:

    Rtl - Supplies the RTL.

    User - Supplies this process's user.

    Reason - Receives why.

Return Value:

    TRUE if so, or if it cannot be known.

--*/
{
    NTSTATUS Status;
    RTL_USER ParentUser;
    HANDLE Parent;
    ULONG Type;
    ULONG Integrity;
    ULONG ParentType;
    ULONG ParentIntegrity;
    ULONG Flags;

    *Reason = STATUS_PRIVILEGE_NOT_HELD;
    if (User->IsContainer || User->IsRestricted) {
        return TRUE;
    }

    Status = RtlpQueryElevation(Rtl, RTLP_CURRENT_PROCESS, &Type, &Integrity);
    if (!NT_SUCCESS(Status)) {
        *Reason = Status;
        return TRUE;
    }

    Flags = 0;
    if (Type == RTLP_ELEVATION_TYPE_FULL &&
        Rtl->RtlQueryElevationFlags != NULL &&
        (!NT_SUCCESS(Rtl->RtlQueryElevationFlags(&Flags)) ||
         (Flags & RTLP_ELEVATION_ENABLED) != 0)) {

        return TRUE;
    }

    Status = RtlpOpenParent(Rtl, &Parent);
    if (Status == STATUS_NO_MORE_ENTRIES) {
        return FALSE;
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlQueryUser(Rtl, Parent, &ParentUser);
        if (NT_SUCCESS(Status)) {
            Status = RtlpQueryElevation(Rtl,
                                        Parent,
                                        &ParentType,
                                        &ParentIntegrity);
        }
        RtlClose(Rtl, Parent);
    }
    if (!NT_SUCCESS(Status)) {
        *Reason = Status;
        return Type == RTLP_ELEVATION_TYPE_FULL ||
               Integrity > RTLP_MEDIUM_INTEGRITY;
    }

    return ParentUser.SidSize != User->SidSize ||
           !RtlAreBytesEqual(ParentUser.Sid, User->Sid, User->SidSize) ||
           (Type == RTLP_ELEVATION_TYPE_FULL && ParentType != Type) ||
           Integrity > ParentIntegrity;
}

//
// Looks for an entry that lets somebody else write. Entries that deny are
// passed over: they only take away.
// Acl: the list.
// SizeInBytes: how much there is to read.
// Returns STATUS_SUCCESS if there is none; STATUS_ACCESS_DENIED if there is
// one, or one whose kind is not known; STATUS_INVALID_ACL.
//

static
NTSTATUS
RtlpCheckEntries(
    _In_ PCRTL_USER User,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Acl,
    _In_ SIZE_T SizeInBytes
    )
{
    const UCHAR *Ace;
    SIZE_T Room;
    ULONG Size;
    ULONG SidSize;
    ULONG Access;
    ULONG Count;
    ULONG Index;

    if (SizeInBytes < sizeof(RTLP_ACL) ||
        ((PCRTLP_ACL)Acl)->Size < sizeof(RTLP_ACL) ||
        ((PCRTLP_ACL)Acl)->Size > SizeInBytes) {

        return STATUS_INVALID_ACL;
    }

    Room = ((PCRTLP_ACL)Acl)->Size - sizeof(RTLP_ACL);
    Count = ((PCRTLP_ACL)Acl)->Count;
    Ace = Acl + sizeof(RTLP_ACL);
    for (Index = 0; Index < Count; Index += 1) {

        if (Room < RTLP_ACE_HEADER) {
            return STATUS_INVALID_ACL;
        }
        Size = Ace[2] | (ULONG)Ace[3] << 8;
        if (Size < RTLP_ACE_HEADER || Size > Room) {
            return STATUS_INVALID_ACL;
        }

        if ((Ace[1] & RTLP_ACE_INHERIT_ONLY) == 0) {
            switch (Ace[0]) {
            case RTLP_ACE_DENIED:
            case RTLP_ACE_DENIED_OBJECT:
            case RTLP_ACE_DENIED_CALLBACK:
            case RTLP_ACE_DENIED_CALLBACK_OBJECT:
                break;
            case RTLP_ACE_ALLOWED:
            case RTLP_ACE_ALLOWED_CALLBACK:
                SidSize = RtlpSidSize(Ace + RTLP_ACE_HEADER,
                                      Size - RTLP_ACE_HEADER);
                if (SidSize == 0) {
                    return STATUS_INVALID_ACL;
                }
                RtlCopyBytes(&Access, Ace + 4, sizeof(Access));
                if ((Access & RTLP_WRITING_ACCESS) != 0 &&
                    !RtlpIsTrusted(User,
                                   Ace + RTLP_ACE_HEADER,
                                   SidSize,
                                   TRUE)) {

                    return STATUS_ACCESS_DENIED;
                }
                break;
            default:
                return STATUS_ACCESS_DENIED;
            }
        }

        Ace += Size;
        Room -= Size;
    }

    return STATUS_SUCCESS;
}

//
// Looks at a descriptor's owner, and at who may write.
// Descriptor, SizeInBytes: the descriptor, in its self-relative form.
// IsOwnerEnough: whether only the owner matters; then a file system that knows
// no owners is none's.
// Returns as RtlCheckWriters.
//

static
NTSTATUS
RtlpCheckDescriptor(
    _In_ PCRTL_USER User,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Descriptor,
    _In_ ULONG SizeInBytes,
    _In_ BOOLEAN IsOwnerEnough
    )
{
    PCRTLP_DESCRIPTOR Header;
    ULONG SidSize;

    Header = (PCRTLP_DESCRIPTOR)Descriptor;
    if (SizeInBytes < sizeof(*Header) ||
        (Header->Control & RTLP_CONTROL_SELF_RELATIVE) == 0 ||
        Header->Owner > SizeInBytes || Header->Dacl > SizeInBytes) {

        return STATUS_INVALID_SECURITY_DESCR;
    }

    SidSize = 0;
    if (Header->Owner != 0) {
        SidSize = RtlpSidSize(Descriptor + Header->Owner,
                              SizeInBytes - Header->Owner);
    }
    if (IsOwnerEnough &&
        (Header->Owner == 0 ||
         (SidSize == sizeof(RtlpEveryone) &&
          RtlAreBytesEqual(Descriptor + Header->Owner,
                           RtlpEveryone,
                           SidSize)))) {

        return STATUS_SUCCESS;
    }
    if (SidSize == 0 ||
        !RtlpIsTrusted(User, Descriptor + Header->Owner, SidSize, FALSE)) {

        return STATUS_INVALID_OWNER;
    }
    if (IsOwnerEnough) {
        return STATUS_SUCCESS;
    }

    //
    // Without a list everybody may do everything.
    //

    if ((Header->Control & RTLP_CONTROL_DACL_PRESENT) == 0 ||
        Header->Dacl == 0) {

        return STATUS_ACCESS_DENIED;
    }

    return RtlpCheckEntries(User,
                            Descriptor + Header->Dacl,
                            SizeInBytes - Header->Dacl);
}

_Use_decl_annotations_
NTSTATUS
RtlCheckWriters(
    PCRTL Rtl,
    PCRTL_USER User,
    HANDLE Object
    )
/*++

Routine Description:

    Tells whether nobody can write to a file or a directory but the user and
    those who may do as they like: SYSTEM, Administrators, TrustedInstaller.

Arguments:

    Rtl - Supplies the RTL.

    User - Supplies the user.

    Object - Supplies the file or directory, opened with READ_CONTROL.

Return Value:

    STATUS_SUCCESS - Nobody else can.

    STATUS_INVALID_OWNER - It is somebody else's.

    STATUS_ACCESS_DENIED - Others are allowed to write.

    Or why it cannot be known.

--*/
{
    NTSTATUS Status;
    PVOID Base;
    ULONG Size;

    if (Rtl->NtQuerySecurityObject == NULL) {
        return STATUS_NOT_SUPPORTED;
    }

    Status = RtlAllocatePages(Rtl, RTLP_DESCRIPTOR_IN_BYTES, &Base);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Size = 0;
    Status = Rtl->NtQuerySecurityObject(Object,
                                        OWNER_SECURITY_INFORMATION |
                                        DACL_SECURITY_INFORMATION,
                                        Base,
                                        RTLP_DESCRIPTOR_IN_BYTES,
                                        &Size);
    if (NT_SUCCESS(Status)) {
        Status = RtlpCheckDescriptor(User,
                                     (const UCHAR *)Base,
                                     Size < RTLP_DESCRIPTOR_IN_BYTES ?
                                     Size : RTLP_DESCRIPTOR_IN_BYTES,
                                     FALSE);
    }

    RtlFreePages(Rtl, Base);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
RtlCheckOwner(
    PCRTL Rtl,
    PCRTL_USER User,
    HANDLE Object
    )
/*++

Routine Description:

    Tells whether a file or a directory is the user's, or of those who may do
    as they like.  On a file system that knows no owners everything is: there
    the I/O manager says that all belongs to Everyone, whom no file can be
    given to elsewhere, or there is no answer.

Arguments:

    Rtl - Supplies the RTL.

    User - Supplies the user.

    Object - Supplies the file or directory, opened with READ_CONTROL.

Return Value:

    STATUS_SUCCESS - It is.

    STATUS_INVALID_OWNER - It is somebody else's.

    STATUS_INVALID_SECURITY_DESCR - The answer makes no sense.

--*/
{
    NTSTATUS Status;
    ULONG Size;
    union {
        ULONGLONG Alignment;
        UCHAR Bytes[256];
    } Descriptor;

    if (Rtl->NtQuerySecurityObject == NULL) {
        return STATUS_SUCCESS;
    }

    Size = 0;
    Status = Rtl->NtQuerySecurityObject(Object,
                                        OWNER_SECURITY_INFORMATION,
                                        &Descriptor,
                                        sizeof(Descriptor),
                                        &Size);
    if (!NT_SUCCESS(Status)) {
        return STATUS_SUCCESS;
    }

    return RtlpCheckDescriptor(User,
                               Descriptor.Bytes,
                               Size < sizeof(Descriptor) ?
                               Size : sizeof(Descriptor),
                               TRUE);
}

//
// Writes an entry that allows.
// Flags: what inherits it.
// Sid, SidSize: whom.
// Returns the place behind it.
//

static
PUCHAR
RtlpPutEntry(
    _Out_ PUCHAR Place,
    _In_ ULONG Flags,
    _In_ ULONG Access,
    _In_reads_bytes_(SidSize) const UCHAR *Sid,
    _In_ ULONG SidSize
    )
{
    Place[0] = RTLP_ACE_ALLOWED;
    Place[1] = (UCHAR)Flags;
    Place[2] = (UCHAR)(RTLP_ACE_HEADER + SidSize);
    Place[3] = 0;
    RtlCopyBytes(Place + 4, &Access, sizeof(Access));
    RtlCopyBytes(Place + RTLP_ACE_HEADER, Sid, SidSize);
    return Place + RTLP_ACE_HEADER + SidSize;
}

_Use_decl_annotations_
VOID
RtlMakePrivateDescriptor(
    PCRTL_USER User,
    BOOLEAN IsDirectory,
    BOOLEAN IsProtected,
    PRTL_PRIVATE_DESCRIPTOR Descriptor
    )
/*++

Routine Description:

    Makes a descriptor for what is the user's alone: full access for him, for
    SYSTEM and for Administrators.  The owner is the token's.  Files need not
    be executed, so that right is left out of theirs.

Arguments:

    User - Supplies the user; for a process in an AppContainer, which the
        system lets at nothing that does not name it, the container as well.

    IsDirectory - Supplies whether it is for a directory, whose entries are
        inherited by what is made in it without a descriptor.

    IsProtected - Supplies whether what the directory above has to inherit does
        not count.  If not, it is added ("DACL for a New Object").

    Descriptor - Receives the descriptor, self-relative.

Return Value:

    None.

--*/
{
    PRTLP_DESCRIPTOR Header;
    PRTLP_ACL Acl;
    PUCHAR Place;
    ULONG Access;
    ULONG Flags;

    RtlZeroBytes(Descriptor, sizeof(*Descriptor));
    Header = (PRTLP_DESCRIPTOR)Descriptor->Bytes;
    Header->Revision = RTLP_DESCRIPTOR_REVISION;
    Header->Control = RTLP_CONTROL_SELF_RELATIVE | RTLP_CONTROL_DACL_PRESENT;
    if (IsProtected) {
        Header->Control |= RTLP_CONTROL_DACL_PROTECTED;
    }
    Header->Dacl = sizeof(*Header);

    Access = FILE_ALL_ACCESS;
    Flags = RTLP_ACE_OBJECT_INHERIT | RTLP_ACE_CONTAINER_INHERIT;
    if (!IsDirectory) {
        Access &= ~(ULONG)FILE_EXECUTE;
        Flags = 0;
    }

    Acl = (PRTLP_ACL)(Descriptor->Bytes + Header->Dacl);
    Place = RtlpPutEntry((PUCHAR)(Acl + 1),
                         Flags,
                         Access,
                         User->Sid,
                         User->SidSize);
    Place = RtlpPutEntry(Place,
                         Flags,
                         Access,
                         RtlpSystem,
                         sizeof(RtlpSystem));
    Place = RtlpPutEntry(Place,
                         Flags,
                         Access,
                         RtlpAdministrators,
                         sizeof(RtlpAdministrators));
    Acl->Count = 3;
    if (User->ContainerSidSize != 0) {
        Place = RtlpPutEntry(Place,
                             Flags,
                             Access,
                             User->ContainerSid,
                             User->ContainerSidSize);
        Acl->Count += 1;
    }
    Acl->Revision = RTLP_ACL_REVISION;
    Acl->Size = (USHORT)(Place - (PUCHAR)Acl);
}
