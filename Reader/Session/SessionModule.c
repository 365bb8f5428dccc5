/*++

Module Name:

    SessionModule.c

Abstract:

    The modules of a session: found or made for what headers and tables of trees
    name.

--*/

#include "SessionModule.h"
#include "SessionName.h"

_Use_decl_annotations_
BOOLEAN
SessionIsNameSelected(
    const READER_SESSION *Session,
    const CHAR *Name,
    ULONG LengthInBytes
    )
{
    PCRTL Rtl = Session->Context->Rtl;
    PCWSTR Prefix = Session->ModulePrefix;
    WCHAR Wide[300];
    ULONG Length;
    ULONG Char;

    if (Prefix == NULL) {
        return TRUE;
    }

    RtlUtf8ToWide(Name, LengthInBytes, Wide, RTL_NUMBER_OF(Wide), &Length);
    for (Char = 0; Prefix[Char] != 0; Char++) {
        if (Char >= Length ||
            Rtl->RtlUpcaseUnicodeChar(Prefix[Char]) !=
                Rtl->RtlUpcaseUnicodeChar(Wide[Char])) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
SessionSelectModules(
    PREADER_SESSION Session,
    PCWSTR Prefix
    )
{
    PREADER_MODULE Module;
    ULONG Index;

    Session->ModulePrefix = Prefix;
    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        Module->IsSelected = SessionIsNameSelected(Session,
                                                   Module->Name,
                                                   Module->NameLength);
    }
}

//
// Decides whether two stores are of one module (wherever it was loaded).
// First, Second: their headers.
//

static
BOOLEAN
SessionIsSameModule(
    _In_ PCTRACE_STORE_HEADER First,
    _In_ PCTRACE_STORE_HEADER Second
    )
{
    //
    // What a stub stands for is another thing in each process.
    //

    if (((First->Flags | Second->Flags) & TRACE_FLAG_IMPORTS) != 0 &&
        (First->ProcessId != Second->ProcessId ||
         First->ProcessCreationTime != Second->ProcessCreationTime)) {
        return FALSE;
    }

    return First->ModuleTimeDateStamp == Second->ModuleTimeDateStamp &&
           First->ModuleSize == Second->ModuleSize &&
           First->ModuleCheckSum == Second->ModuleCheckSum &&
           First->CodeViewAge == Second->CodeViewAge &&
           RtlAreBytesEqual(First->CodeViewGuid,
                            Second->CodeViewGuid,
                            sizeof(First->CodeViewGuid)) &&
           First->ModulePathLength == Second->ModulePathLength &&
           RtlAreBytesEqual(First->ModulePath,
                            Second->ModulePath,
                            First->ModulePathLength);
}

_Use_decl_annotations_
NTSTATUS
SessionAssignModule(
    PREADER_SESSION Session,
    PCTRACE_STORE_HEADER Header,
    PULONG ModuleIndex
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_MODULE Module;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        if (SessionIsSameModule(Session->Modules[Index]->Header, Header)) {
            *ModuleIndex = Index;
            return STATUS_SUCCESS;
        }
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Session->Modules,
                           &Session->CapacityOfModules,
                           Session->NumberOfModules + 1,
                           sizeof(PREADER_MODULE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Module = (PREADER_MODULE)Allocator->Allocate(Allocator->Context,
                                                 sizeof(READER_MODULE));
    if (Module == NULL) {
        return STATUS_NO_MEMORY;
    }

    Module->Header = Header;
    Module->IsSelected = TRUE;

    Index = SessionSkipFolders(Header->ModulePath, Header->ModulePathLength);
    Module->Name = Header->ModulePath + Index;
    Module->NameLength = Header->ModulePathLength - Index;

    *ModuleIndex = Session->NumberOfModules;
    Session->Modules[Session->NumberOfModules] = Module;
    Session->NumberOfModules += 1;
    if (Session->ModulePrefix != NULL) {
        SessionSelectModules(Session, Session->ModulePrefix);
    }

    return STATUS_SUCCESS;
}

//
// What PdbPath has more of in a tree's table than in a header is there.
//

C_ASSERT(FIELD_OFFSET(TRACE_STORE_HEADER, PdbPath) +
             sizeof(((PTRACE_TREE_MODULE)0)->PdbPath) <=
         FIELD_OFFSET(TRACE_STORE_HEADER, ThreadName));

_Use_decl_annotations_
NTSTATUS
SessionAssignTreeModule(
    PREADER_SESSION Session,
    PREADER_STORE Store,
    PCTRACE_TREE_MODULE TreeModule
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PTRACE_STORE_HEADER Header;
    ULONG Index;
    NTSTATUS Status;

    Header = (PTRACE_STORE_HEADER)Allocator->Allocate(Allocator->Context,
                                                      sizeof(*Header));
    if (Header == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Header, Store->Header, sizeof(*Header));
    Header->ModuleBase = TreeModule->ModuleBase;
    Header->ModuleSize = TreeModule->ModuleSize;
    Header->ModuleTimeDateStamp = TreeModule->ModuleTimeDateStamp;
    Header->ModuleCheckSum = TreeModule->ModuleCheckSum;
    Header->CodeViewAge = TreeModule->CodeViewAge;
    RtlCopyBytes(Header->CodeViewGuid,
                 TreeModule->CodeViewGuid,
                 sizeof(Header->CodeViewGuid));
    Header->ModulePathLength = TreeModule->ModulePathLength;
    Header->ModulePathFullLength = TreeModule->ModulePathFullLength;
    Header->PdbPathLength = TreeModule->PdbPathLength;
    Header->PdbPathFullLength = TreeModule->PdbPathFullLength;
    Header->Flags =
        (Header->Flags & ~(TRACE_FLAG_EXCLUDED | TRACE_FLAG_IMPORTS)) |
        (TreeModule->Flags & (TRACE_FLAG_EXCLUDED | TRACE_FLAG_IMPORTS));
    RtlCopyBytes(Header->ModulePath,
                 TreeModule->ModulePath,
                 sizeof(Header->ModulePath));

    //
    // The processor times, which the path may reach into, are no module's.
    //

    Header->TimesValid = 0;
    RtlCopyBytes((PCHAR)Header + FIELD_OFFSET(TRACE_STORE_HEADER, PdbPath),
                 TreeModule->PdbPath,
                 sizeof(TreeModule->PdbPath));

    Status = SessionAssignModule(Session, Header, &Index);
    if (NT_SUCCESS(Status)) {
        Store->Modules[Store->NumberOfModules] = Index;
        Store->NumberOfModules += 1;
    }

    if (NT_SUCCESS(Status) && Session->Modules[Index]->Header == Header) {
        Session->Modules[Index]->OwnHeader = Header;
    } else {
        Allocator->Free(Allocator->Context, Header);
    }

    return Status;
}
