/*++

Module Name:

    CommandExclude.c

Abstract:

    TraceReader exclude: makes the list of functions for TRACER_EXCLUDE out of
    their names, with the help of their image.

--*/

#include "ReaderFile.h"
#include "ReaderExclude.h"
#include "ReaderImage.h"
#include "ReaderWalk.h"

//
// The largest file of names, bytes; and the largest list that the library
// reads.
//

#define READER_MAXIMUM_NAMES_FILE   0x400000
#define READER_MAXIMUM_EXCLUDE_FILE 0x400000

typedef struct _READER_EXCLUDING {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    PREADER_IMAGE Image;            // NULL: there is a session
    READER_FUNCTIONS Functions;
    READER_EXCLUDE Exclude;
    PUCHAR IsCalling;               // by function: it calls hooks
    PUCHAR IsMeant;                 // by function
    ULONG NumberNotFound;           // names
} READER_EXCLUDING;
typedef READER_EXCLUDING *PREADER_EXCLUDING;


static
BOOLEAN
ReaderTakeHexadecimal(
    _Inout_ PCSZ *Text,
    _Out_ PULONG Number
    )
/*++

Routine Description:

    Takes a number that begins with 0x.

Arguments:

    Text - Where it may be; receives what follows.

    Number - Receives it.

Return Value:

    FALSE if there is none.

--*/
{
    PCSZ At = *Text;
    ULONG Digits = 0;
    CHAR Digit;

    *Number = 0;
    if (At[0] != '0' || (At[1] | 0x20) != 'x') {
        return FALSE;
    }

    for (At += 2; ; At++) {

        Digit = *At;
        if (Digit >= '0' && Digit <= '9') {
            *Number = (*Number << 4) | (ULONG)(Digit - '0');
        } else if ((Digit | 0x20) >= 'a' && (Digit | 0x20) <= 'f') {
            *Number = (*Number << 4) | (ULONG)((Digit | 0x20) - 'a' + 10);
        } else {
            break;
        }
        Digits += 1;
    }

    *Text = At;
    return Digits >= 1 && Digits <= 8;
}


static
BOOLEAN
ReaderTakeRange(
    _In_ PCREADER_NAME Name,
    _Out_ PULONG First,
    _Out_ PULONG End
    )
/*++

Routine Description:

    Takes a range of addresses: 0xFIRST-0xEND.

Arguments:

    Name - The name that may be one.

    First - Receives its first address, image-relative.

    End - Receives the one after its last.

Return Value:

    FALSE if it is none.

--*/
{
    PCSZ Text = Name->Name;

    if (!ReaderTakeHexadecimal(&Text, First) || *Text != '-') {
        return FALSE;
    }

    Text += 1;
    return ReaderTakeHexadecimal(&Text, End) && *Text == 0 && *First < *End;
}


static
BOOLEAN
ReaderIsModuleOfName(
    _In_ PREADER_EXCLUDING This,
    _In_ PCREADER_NAME Name,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Tells whether a function is in the module that a range is of.

Arguments:

    This - The functions.

    Name - The range.

    Function - The function's index.

Return Value:

    TRUE if so.

--*/
{
    READER_NAME Any = *Name;

    //
    // No text at all is the beginning of every name.
    //

    Any.NameLength = 0;
    return This->IsCalling[Function] &&
           ReaderMatchName(&Any, Function) != ReaderMatchNone;
}


static
VOID
ReaderTakeName(
    _Inout_ PREADER_EXCLUDING This,
    _In_z_ PCSZ Text
    )
/*++

Routine Description:

    Marks the functions that a name means.

Arguments:

    This - The functions.

    Text - The name; must stay.

Return Value:

    None.  That there is none has been written.

--*/
{
    READER_NAME Name;
    READER_MATCH Match;
    READER_MATCH Best = ReaderMatchPrefix;
    PCREADER_FUNCTION Function;
    BOOLEAN IsPrefix;
    ULONG Count = 0;
    ULONG First;
    ULONG End;
    ULONG Index;

    ReaderInitializeName(&Name, &This->Functions, "exclude", Text);
    if (ReaderTakeRange(&Name, &First, &End)) {

        for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {
            Function = &This->Functions.Functions[Index];
            if (Function->Rva >= First && Function->Rva < End &&
                ReaderIsModuleOfName(This, &Name, Index)) {
                This->IsMeant[Index] = TRUE;
                Count += 1;
            }
        }
        goto End;
    }

    //
    // The name itself comes first, which may end with an asterisk.
    //

    for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {
        Match = This->IsCalling[Index] ? ReaderMatchName(&Name, Index)
                                       : ReaderMatchNone;
        if (Match > Best) {
            Best = Match;
        }
    }

    IsPrefix = FALSE;
    if (Best == ReaderMatchPrefix &&
        Name.NameLength > 1 &&
        Name.Name[Name.NameLength - 1] == '*') {
        Name.NameLength -= 1;
        IsPrefix = TRUE;
    }

    for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {

        Match = This->IsCalling[Index] ? ReaderMatchName(&Name, Index)
                                       : ReaderMatchNone;
        if ((IsPrefix && Match != ReaderMatchNone) ||
            (!IsPrefix && Match == Best && Match > ReaderMatchPrefix)) {
            This->IsMeant[Index] = TRUE;
            Count += 1;
        }
    }

End:

    if (Count == 0) {
        This->NumberNotFound += 1;
        RtlWriteText(This->Context->Errors,
                     "TraceReader: exclude: no function that calls hooks has "
                     "the name %s (NAME* means all that begin with NAME)\n",
                     Text);
        RtlFlushWriter(This->Context->Errors);
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadNames(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _Outptr_ PCHAR *Names,
    _Out_ PULONG SizeInBytes
    )
/*++

Routine Description:

    Reads a file of names.

Arguments:

    Context - The context.

    Path - The file's.

    Names - Receives its bytes, allocated, and a byte of 0 behind them; NULL
        after a failure.

    SizeInBytes - Receives their number.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    UNICODE_STRING DosPath;
    UNICODE_STRING NtPath;
    ULONGLONG Size;
    HANDLE File;
    PWCHAR Buffer;
    NTSTATUS Status;

    *Names = NULL;
    *SizeInBytes = 0;
    if (RtlLengthOfWideString(Path) > RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    Buffer = (PWCHAR)
        Allocator->Allocate(Allocator->Context,
                            RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR));
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlPointUnicodeString(&DosPath, Path, RtlLengthOfWideString(Path));
    Status = RtlDosPathToNtPath(Context->Rtl,
                                &DosPath,
                                Buffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Context->Rtl, &NtPath, &File);
    }

    Allocator->Free(Allocator->Context, Buffer);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlQueryFileSize(Context->Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size > READER_MAXIMUM_NAMES_FILE) {
        Status = STATUS_FILE_TOO_LARGE;
    }

    if (NT_SUCCESS(Status)) {
        *Names = (PCHAR)Allocator->Allocate(Allocator->Context,
                                            (SIZE_T)Size + 1);
        if (*Names == NULL) {
            Status = STATUS_NO_MEMORY;
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlReadFile(Context->Rtl,
                             File,
                             0,
                             *Names,
                             (ULONG)Size,
                             SizeInBytes);
        if (Status == STATUS_END_OF_FILE) {
            Status = STATUS_SUCCESS;
        }
    }

    RtlClose(Context->Rtl, File);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, *Names);
        *Names = NULL;
    }

    return Status;
}


static
VOID
ReaderTakeNames(
    _Inout_ PREADER_EXCLUDING This,
    _Inout_updates_bytes_(SizeInBytes + 1) PCHAR Names,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Marks the functions that the lines of a file mean: a name a line.

Arguments:

    This - The functions.

    Names, SizeInBytes - The file, whose lines are terminated.

Return Value:

    None.

--*/
{
    ULONG Index = 0;
    ULONG Begin;
    ULONG End;

    while (Index < SizeInBytes) {

        Begin = Index;
        while (Index < SizeInBytes && Names[Index] != '\n') {
            Index += 1;
        }

        End = Index;
        Index += 1;
        while (Begin < End && (Names[Begin] == ' ' || Names[Begin] == '\t')) {
            Begin += 1;
        }

        while (Begin < End && (Names[End - 1] == ' ' ||
                               Names[End - 1] == '\t' ||
                               Names[End - 1] == '\r')) {
            End -= 1;
        }

        if (Begin != End && Names[Begin] != '#') {
            Names[End] = 0;
            ReaderTakeName(This, Names + Begin);
        }
    }
}


_Use_decl_annotations_
BOOLEAN
ReaderIsModuleRepeated(
    const READER_SESSION *Session,
    ULONG Module,
    PULONG First
    )
/*++

Routine Description:

    Says whether an earlier module of a session is of the same image: one that
    was unloaded, and loaded again elsewhere.

Arguments:

    Session - The session.

    Module - The module's index.

    First - Receives that module's index.

Return Value:

    TRUE if so.

--*/
{
    const READER_MODULE *This = Session->Modules[Module];
    const READER_MODULE *Other;
    ULONG Index;

    for (Index = 0; Index < Module; Index++) {

        Other = Session->Modules[Index];
        if (This->Header->ModuleTimeDateStamp ==
                Other->Header->ModuleTimeDateStamp &&
            This->Header->ModuleSize == Other->Header->ModuleSize &&
            This->Header->ModuleCheckSum == Other->Header->ModuleCheckSum &&
            ReaderCompareText(This->Name,
                              This->NameLength,
                              Other->Name,
                              Other->NameLength) == 0) {
            *First = Index;
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
ULONG
ReaderFindSessionHookSites(
    PREADER_EXCLUDE Exclude,
    PCSZ Path
    )
/*++

Routine Description:

    Finds the places in the selected modules of a session.

Arguments:

    Exclude - Receives them.

    Path - The session, for messages.

Return Value:

    READER_EXIT_*; failures have been written.

--*/
{
    PREADER_SESSION Session = Exclude->Functions->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PRTL_WRITER Errors = Context->Errors;
    PREADER_MODULE Module;
    ULONG Found = 0;
    ULONG Index;
    ULONG First;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        if (!Module->IsSelected ||
            ReaderIsModuleRepeated(Session, Index, &First)) {
            continue;
        }

        Status = ReaderFindHookSites(Exclude, Index);
        if (Status == STATUS_NOT_FOUND) {
            RtlWriteText(Errors,
                         "TraceReader: warning: the image with its unwind "
                         "data is needed, and not there: ");
            ReaderWriteCleanText(Errors, Module->Name, Module->NameLength);
            RtlWriteText(Errors, " (--symbols says in which folders)\n");
            RtlFlushWriter(Errors);
            continue;
        }

        if (!NT_SUCCESS(Status)) {
            return ReaderFail(Context, "find the hooks' calls", Path, Status);
        }

        Found += 1;
    }

    if (Found == 0) {
        return ReaderFail(Context,
                          "find an image that calls hooks",
                          Path,
                          STATUS_NOT_FOUND);
    }

    if (Exclude->NumberUnknown != 0) {
        RtlWriteText(Errors,
                     "TraceReader: warning: of %u calls of hooks it cannot be "
                     "told whose they are; they stay\n",
                     Exclude->NumberUnknown);
        RtlFlushWriter(Errors);
    }

    return READER_EXIT_SUCCESS;
}


_Use_decl_annotations_
ULONG
ReaderSaveExcludeList(
    PREADER_EXCLUDE Exclude,
    PUCHAR IsMeant,
    PCSZ Source,
    PCWSTR Name,
    PCSZ NameUtf8
    )
/*++

Routine Description:

    Writes the list to a file, and says on the output what is in it.

Arguments:

    Exclude - The places.

    IsMeant - By function, whether it is meant.

    Source - What the list is made of.

    Name, NameUtf8 - The file.

Return Value:

    READER_EXIT_*; failures have been written.

--*/
{
    PCREADER_CONTEXT Context = Exclude->Functions->Session->Context;
    READER_FILE File;
    ULONGLONG Size;
    ULONG ExitCode;
    NTSTATUS Status;

    if (!ReaderCreateFile(&File, Context, Name, NameUtf8)) {
        return READER_EXIT_FAILURE;
    }

    Status = ReaderWriteExcludeList(Exclude, IsMeant, Source, &File.Writer);
    Size = READER_FILE_SIZE(&File);
    if (NT_SUCCESS(Status) && Size > READER_MAXIMUM_EXCLUDE_FILE) {
        Status = STATUS_FILE_TOO_LARGE;
    }

    ExitCode = ReaderCloseFile(&File, NT_SUCCESS(Status));
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context, "write the list", NameUtf8, Status);
    }

    if (ExitCode == READER_EXIT_SUCCESS && Exclude->NumberRefused != 0) {
        ExitCode = READER_EXIT_FAILURE;
    }

    return ExitCode;
}


static
ULONG
ReaderExcludeNames(
    _Inout_ PREADER_EXCLUDING This
    )
/*++

Routine Description:

    Marks what the names mean, and writes the list.

Arguments:

    This - The functions that call hooks.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = This->Context;
    PCREADER_OPTIONS Options = This->Options;
    PCALLOCATOR Allocator = Context->Allocator;
    SIZE_T Size = (SIZE_T)This->Functions.NumberOfFunctions + 1;
    PCHAR Names = NULL;
    ULONG SizeInBytes;
    ULONG Index;
    ULONG ExitCode;
    NTSTATUS Status = STATUS_SUCCESS;

    This->IsCalling = (PUCHAR)Allocator->Allocate(Allocator->Context, Size);
    This->IsMeant = (PUCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (This->IsCalling == NULL || This->IsMeant == NULL) {
        return ReaderFail(Context,
                          "exclude",
                          Options->PathUtf8,
                          STATUS_NO_MEMORY);
    }

    ReaderMarkHookFunctions(&This->Exclude, This->IsCalling);
    for (Index = 0; Index < Options->NumberOfNames; Index++) {
        ReaderTakeName(This, Options->Names[Index]);
    }

    if (Options->NamesFrom != NULL) {
        Status = ReaderReadNames(Context,
                                 Options->NamesFrom,
                                 &Names,
                                 &SizeInBytes);
        if (!NT_SUCCESS(Status)) {
            return ReaderFail(Context,
                              "read the file of names",
                              Options->NamesFromUtf8,
                              Status);
        }

        ReaderTakeNames(This, Names, SizeInBytes);
        Allocator->Free(Allocator->Context, Names);
    }

    if (This->NumberNotFound != 0) {
        return READER_EXIT_NOTHING;
    }

    if (Options->Output == NULL) {
        Status = ReaderWriteExcludeList(&This->Exclude,
                                        This->IsMeant,
                                        Options->PathUtf8,
                                        Context->Output);
        if (!NT_SUCCESS(Status)) {
            return ReaderFail(Context, "exclude", Options->PathUtf8, Status);
        }

        return This->Exclude.NumberRefused != 0 ? READER_EXIT_FAILURE
                                                : READER_EXIT_SUCCESS;
    }

    ExitCode = ReaderSaveExcludeList(&This->Exclude,
                                     This->IsMeant,
                                     Options->PathUtf8,
                                     Options->Output,
                                     Options->OutputUtf8);
    RtlWriteText(Context->Output,
                 "%u of %u functions are excluded; their hooks are called at "
                 "%u places.\n",
                 This->Exclude.NumberExcluded,
                 This->Exclude.NumberExcluded + This->Exclude.NumberRefused,
                 This->Exclude.NumberOfPlaces);
    return ExitCode;
}


static
ULONG
ReaderCommandExclude(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs exclude.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_EXCLUDING This;
    ULONG ExitCode;
    NTSTATUS Status;

    if (Options->NumberOfNames == 0 && Options->NamesFrom == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: exclude: a NAME or --functions-from is "
                     "needed (see TraceReader exclude --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&This, sizeof(This));
    This.Context = Context;
    This.Options = Options;
    Status = ReaderOpenImage(Context, Options, &This.Session, &This.Image);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "open the image",
                          Options->PathUtf8,
                          Status);
    }

    if (This.Image == NULL &&
        !ReaderBeginCommand(&This.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    This.Session.SymbolPath = Options->Symbols;
    ReaderInitializeFunctions(&This.Functions, &This.Session);
    ReaderInitializeExclude(&This.Exclude, &This.Functions);
    ExitCode = ReaderFindSessionHookSites(&This.Exclude, Options->PathUtf8);
    if (ExitCode == READER_EXIT_SUCCESS) {
        ExitCode = ReaderExcludeNames(&This);
    }

    Allocator->Free(Allocator->Context, This.IsCalling);
    Allocator->Free(Allocator->Context, This.IsMeant);
    ReaderRundownExclude(&This.Exclude);
    ReaderRundownFunctions(&This.Functions);
    if (This.Image != NULL) {
        ReaderCloseImage(&This.Session, This.Image);
    } else {
        ReaderCloseSession(&This.Session);
    }

    return ExitCode;
}


const READER_COMMAND ReaderExcludeCommand = {
    "exclude",
    "PATH NAME...",
    "Makes the list of functions that TRACER_EXCLUDE leaves out at no cost",
    "PATH is an image (EXE or DLL), or a session whose images are there.\n"
    "NAME is a function's name as report shows it, with or without its\n"
    "parameters; NAME* means all functions whose names begin with NAME,\n"
    "MODULE!NAME those of one module, 0xFIRST-0xEND those that begin in a\n"
    "range of image-relative addresses.\n"
    "The list goes to standard output, or to FILE with --output.  A program\n"
    "that runs with TRACER_EXCLUDE=FILE calls no hook in them; what these\n"
    "functions call is recorded as before.  The list belongs to this build of\n"
    "the image, and is refused by any other.\n"
    "Exit code 3: no function that calls hooks has one of the names; no list\n"
    "is written then.  Exit code 1: some functions cannot be excluded, and\n"
    "the list is without them.\n",
    "  TraceReader exclude -o fast.list program.exe is_equal \"lua_*\"\n"
    "  TraceReader exclude --functions-from dear.txt -o fast.list SESSION\n",
    READER_OPTION_OUTPUT | READER_OPTION_MODULE | READER_OPTION_NAMES_FROM |
        READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE,
    ReaderCommandExclude
};
