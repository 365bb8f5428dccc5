/*++

Module Name:

    CommandExclude.c

Abstract:

    TraceReader exclude: makes the list of functions for TRACER_EXCLUDE out of
    their names, with the help of their image.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Session/SessionImage.h"
#include "../Session/SessionImports.h"
#include "../Functions/FunctionFindByName.h"
#include "Command.h"
#include "CommandExclude.h"

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
    PUCHAR IsKept;                  // by function: -NAME means it
    ULONG NumberNotFound;           // names
    ULONG NumberOfNames;            // without those of what is kept
    BOOLEAN HasFailed;              // on one of them, which has been written
} READER_EXCLUDING;
typedef READER_EXCLUDING *PREADER_EXCLUDING;


//
// Takes a number that begins with 0x.
// Text: where it may be; receives what follows.
// Returns FALSE if there is none.
//

static
BOOLEAN
CommandTakeHexadecimal(
    _Inout_ PCSZ *Text,
    _Out_ PULONG Number
    )
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


//
// Takes a range of addresses: 0xFIRST-0xEND.
// Name: the name that may be one.
// First: its first address, image-relative.
// End: the one after its last.
// Returns FALSE if it is none.
//

static
BOOLEAN
CommandTakeRange(
    _In_ PCREADER_NAME Name,
    _Out_ PULONG First,
    _Out_ PULONG End
    )
{
    PCSZ Text = Name->Name;

    if (!CommandTakeHexadecimal(&Text, First) || *Text != '-') {
        return FALSE;
    }

    Text += 1;
    return CommandTakeHexadecimal(&Text, End) && *Text == 0 && *First < *End;
}


//
// Tells whether a function is in the module that a range is of.
// Function: the function's index.
//

static
BOOLEAN
CommandIsModuleOfName(
    _In_ PREADER_EXCLUDING This,
    _In_ PCREADER_NAME Name,
    _In_ ULONG Function
    )
{
    READER_NAME Any = *Name;

    //
    // No text at all is the beginning of every name.
    //

    Any.NameLength = 0;
    return This->IsCalling[Function] &&
           FunctionMatchName(&Any, Function) != ReaderMatchNone;
}


//
// Marks the functions that a name means, or -NAME.
// Text: the name; must stay.
// That there is none has been written.
//

static
VOID
CommandTakeName(
    _Inout_ PREADER_EXCLUDING This,
    _In_z_ PCSZ Text
    )
{
    READER_NAME Name;
    READER_MATCH Match;
    READER_MATCH Best = ReaderMatchNone;
    PCREADER_FUNCTION Function;
    PUCHAR IsMeant = This->IsMeant;
    PCSZ Meant = Text;
    BOOLEAN IsPattern;
    ULONG Count = 0;
    ULONG First;
    ULONG End;
    ULONG Index;

    if (Text[0] == '-' && Text[1] != 0) {
        IsMeant = This->IsKept;
        Meant += 1;
    } else {
        This->NumberOfNames += 1;
    }

    if (!FunctionInitializeName(&Name, &This->Functions, "exclude", Meant)) {
        This->HasFailed = TRUE;
        return;
    }

    if (CommandTakeRange(&Name, &First, &End)) {

        for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {
            Function = &This->Functions.Functions[Index];
            if (Function->Rva >= First && Function->Rva < End &&
                CommandIsModuleOfName(This, &Name, Index)) {
                IsMeant[Index] = TRUE;
                Count += 1;
            }
        }
        goto End;
    }

    //
    // The name itself comes first, which may have an asterisk.
    //

    for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {
        Match = This->IsCalling[Index] ? FunctionMatchName(&Name, Index)
                                       : ReaderMatchNone;
        if (Match > Best) {
            Best = Match;
        }
    }

    IsPattern = Best <= ReaderMatchPrefix && Name.Kind != ReaderPatternNone;
    for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {

        Match = This->IsCalling[Index] ? FunctionMatchName(&Name, Index)
                                       : ReaderMatchNone;
        if ((IsPattern && Match != ReaderMatchNone) ||
            (!IsPattern && Match == Best &&
             (Match > ReaderMatchPrefix || Match == ReaderMatchShort))) {
            IsMeant[Index] = TRUE;
            Count += 1;
        }
    }

End:

    FunctionRundownName(&Name);
    if (Count == 0) {
        This->NumberNotFound += 1;
        RtlWriteText(This->Context->Errors,
                     "TraceReader: exclude: no function that calls hooks has "
                     "the name %T (NAME* means all that begin with NAME)\n",
                     Meant);
        RtlFlushWriter(This->Context->Errors);
    }
}

//
// Marks the functions that the lines of a file mean: a name a line.
// Names, SizeInBytes: the file, whose lines are terminated.
//

static
VOID
CommandTakeNames(
    _Inout_ PREADER_EXCLUDING This,
    _Inout_updates_bytes_(SizeInBytes + 1) PCHAR Names,
    _In_ ULONG SizeInBytes
    )
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
            CommandTakeName(This, Names + Begin);
        }
    }
}


_Use_decl_annotations_
BOOLEAN
CommandIsModuleRepeated(
    const READER_SESSION *Session,
    ULONG Module,
    PULONG First
    )
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
            BaseCompareText(This->Name,
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
CommandFindSessionHookSites(
    PREADER_EXCLUDE Exclude,
    PCSZ Path
    )
{
    PREADER_SESSION Session = Exclude->Functions->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PRTL_WRITER Errors = Context->Errors;
    PREADER_MODULE Module;
    PCSZ Warning;
    ULONG Found = 0;
    ULONG Index;
    ULONG First;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        if (!Module->IsSelected ||
            CommandIsModuleRepeated(Session, Index, &First)) {
            continue;
        }

        //
        // A stub stands for another function in the next run: TRACER_IMPORTS
        // leaves those out.
        //

        if (SessionHasImports(Module)) {
            continue;
        }

        Status = FunctionFindHookSites(Exclude, Index);
        if (Status == STATUS_NOT_FOUND) {
            RtlWriteText(Errors,
                         "TraceReader: warning: the image, with its unwind "
                         "data, is needed but was not found: ");
            RtlWriteCleanText(Errors, Module->Name, Module->NameLength);
            RtlWriteText(Errors, " (name its folder with --symbols)\n");
            Warning = Module->Symbols != NULL
                          ? SymbolGetSymbolWarning(Module->Symbols)
                          : NULL;
            if (Warning != NULL) {
                RtlWriteText(Errors, "TraceReader: warning: %T\n", Warning);
            }

            RtlFlushWriter(Errors);
            continue;
        }

        if (!NT_SUCCESS(Status)) {
            return BaseFail(Context, "find the hooks' calls", Path, Status);
        }

        Found += 1;
    }

    if (Found == 0) {
        return BaseFail(Context,
                        "find an image that calls hooks",
                        Path,
                        STATUS_NOT_FOUND);
    }

    if (Exclude->NumberUnknown != 0) {
        RtlWriteText(Errors,
                     "TraceReader: warning: %u calls of hooks cannot be "
                     "attributed to a function; they are not removed\n",
                     Exclude->NumberUnknown);
        RtlFlushWriter(Errors);
    }

    return READER_EXIT_SUCCESS;
}


_Use_decl_annotations_
ULONG
CommandSaveExcludeList(
    PREADER_EXCLUDE Exclude,
    PUCHAR IsMeant,
    PCSZ Source,
    PCWSTR Name,
    PCSZ NameUtf8
    )
{
    PCREADER_CONTEXT Context = Exclude->Functions->Session->Context;
    READER_FILE File;
    ULONGLONG Size;
    ULONG ExitCode;
    NTSTATUS Status;

    if (!BaseCreateFile(&File, Context, Name, NameUtf8, FALSE)) {
        return READER_EXIT_FAILURE;
    }

    Status = FunctionWriteExcludeList(Exclude, IsMeant, Source, &File.Writer);
    Size = READER_FILE_SIZE(&File);
    if (NT_SUCCESS(Status) && Size > READER_MAXIMUM_EXCLUDE_FILE) {
        Status = STATUS_FILE_TOO_LARGE;
    }

    ExitCode = BaseCloseFile(&File, NT_SUCCESS(Status));
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context, "write the list", NameUtf8, Status);
    }

    if (ExitCode == READER_EXIT_SUCCESS && Exclude->NumberRefused != 0) {
        ExitCode = READER_EXIT_FAILURE;
    }

    return ExitCode;
}


//
// Marks what the names mean, and writes the list.
// This: the functions that call hooks.
//

static
ULONG
CommandExcludeNames(
    _Inout_ PREADER_EXCLUDING This
    )
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
    This->IsKept = (PUCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (This->IsCalling == NULL || This->IsMeant == NULL ||
        This->IsKept == NULL) {

        return BaseFail(Context,
                        "exclude",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    FunctionMarkHookFunctions(&This->Exclude, This->IsCalling);
    for (Index = 0; Index < Options->NumberOfNames; Index++) {
        CommandTakeName(This, Options->Names[Index]);
    }

    if (Options->NamesFrom != NULL) {
        Status = BaseReadFile(Context,
                              Options->NamesFrom,
                              READER_MAXIMUM_NAMES_FILE,
                              (PVOID *)&Names,
                              &SizeInBytes);
        if (!NT_SUCCESS(Status)) {
            return BaseFail(Context,
                            "read the file of names",
                            Options->NamesFromUtf8,
                            Status);
        }

        CommandTakeNames(This, Names, SizeInBytes);
        Allocator->Free(Allocator->Context, Names);
    }

    if (This->HasFailed) {
        return READER_EXIT_FAILURE;
    }

    if (This->NumberNotFound != 0) {
        return READER_EXIT_NOTHING;
    }

    if (This->NumberOfNames == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: exclude: -NAME keeps a function that other "
                     "names exclude, and there are none; \"*\" means all\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    //
    // What is kept is so wherever it stands among the names.
    //

    for (Index = 0; Index < This->Functions.NumberOfFunctions; Index++) {
        if (This->IsKept[Index]) {
            This->IsMeant[Index] = FALSE;
        }
    }

    if (Options->Output == NULL) {
        Status = FunctionWriteExcludeList(&This->Exclude,
                                          This->IsMeant,
                                          Options->PathUtf8,
                                          Context->Output);
        if (!NT_SUCCESS(Status)) {
            return BaseFail(Context, "exclude", Options->PathUtf8, Status);
        }

        return This->Exclude.NumberRefused != 0 ? READER_EXIT_FAILURE
                                                : READER_EXIT_SUCCESS;
    }

    ExitCode = CommandSaveExcludeList(&This->Exclude,
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
CommandExclude(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
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
    Status = SessionOpenImage(Context, Options, &This.Session, &This.Image);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "open the image",
                        Options->PathUtf8,
                        Status);
    }

    if (This.Image == NULL &&
        !CommandBeginCommand(&This.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    This.Session.SymbolPath = Options->Symbols;
    FunctionInitializeFunctions(&This.Functions, &This.Session);
    FunctionInitializeExclude(&This.Exclude, &This.Functions);
    ExitCode = CommandFindSessionHookSites(&This.Exclude, Options->PathUtf8);
    if (ExitCode == READER_EXIT_SUCCESS) {
        ExitCode = CommandExcludeNames(&This);
    }

    Allocator->Free(Allocator->Context, This.IsCalling);
    Allocator->Free(Allocator->Context, This.IsMeant);
    Allocator->Free(Allocator->Context, This.IsKept);
    FunctionRundownExclude(&This.Exclude);
    FunctionRundownFunctions(&This.Functions);
    if (This.Image != NULL) {
        SessionCloseImage(&This.Session, This.Image);
    } else {
        CommandCloseCommandSession(&This.Session);
    }

    return ExitCode;
}


const READER_COMMAND ReaderExcludeCommand = {
    "exclude",
    "PATH NAME...",
    "Writes the list of functions whose hooks TRACER_EXCLUDE removes",
    "PATH is an image (EXE or DLL), or a session whose images are there.\n"
    "NAME is a function's name as report shows it, with or without its\n"
    "parameters; NAME* means all functions whose names begin with NAME, *\n"
    "all, another pattern all that it matches, MODULE!NAME those of one\n"
    "module, 0xFIRST-0xEND those that begin in a range of image-relative\n"
    "addresses.  -NAME, wherever it stands, keeps what NAME means although\n"
    "another name excludes it.\n"
    READER_PATTERN_NOTE
    "The list goes to standard output, or to FILE with --output.  A program\n"
    "that runs with TRACER_EXCLUDE=FILE calls no hook in them; what these\n"
    "functions call is recorded as before.  The list belongs to this build of\n"
    "the image, and is refused by any other.\n"
    "Exit code 3: no function that calls hooks has one of the names; no list\n"
    "is written then.  Exit code 1: some functions cannot be excluded, and\n"
    "the list is without them.\n",
    "  TraceReader exclude -o fast.list program.exe is_equal \"lua_*\"\n"
    "  TraceReader exclude -o most.list program.exe \"*\" \"-main\"\n"
    "  TraceReader exclude --functions-from costly.txt -o fast.list SESSION\n",
    READER_OPTION_OUTPUT | READER_OPTION_MODULE | READER_OPTION_NAMES_FROM |
        READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE,
    CommandExclude,
    NULL,
    NULL
};
