/*++

Module Name:

    ImportsList.c

Abstract:

    What is recorded: the user's lists, TRACER_IMPORTS and TRACER_CALLERS; and
    what is left out whatever they say, or unless they name it.

    An import is "module!function", where the module has no ".dll".  The lists
    are of prefixes of that, and of file names of modules that call; the longest
    one that matches decides, and a '-' in front leaves out.

--*/

#include "../Penter/PenterWord.h"
#include "../Rtl/RtlTeb.h"
#include "../StringTable/StringTable.h"
#include "ImportsList.h"
#include "ImportsTrivial.h"

//
// A variable has 32,767 characters at most, and a prefix takes two of them.
//

#define IMPORTS_MAXIMUM_PREFIXES 16384
#define IMPORTS_TEXT_SIZE 0x18000

typedef struct _IMPORTS_LIST {
    PSTRING_TABLE Table;            // NULL: there are no prefixes
    BOOLEAN IsGiven;
    BOOLEAN IsOpen;                 // what no prefix matches is wanted
    BOOLEAN HasProgram;             // it names the program's own module,
    BOOLEAN IsProgramMinus;         // to leave it out
    ULONG NumberOfPrefixes;
    BOOLEAN IsMinus[IMPORTS_MAXIMUM_PREFIXES];
    BOOLEAN IsNamed[IMPORTS_MAXIMUM_PREFIXES];  // it has a '!' and more
} IMPORTS_LIST;
typedef IMPORTS_LIST *PIMPORTS_LIST;

static IMPORTS_LIST ImportsList;
static IMPORTS_LIST ImportsCallers;
static BOOLEAN ImportsIsEither;
static CHAR ImportsText[IMPORTS_TEXT_SIZE];
static STRING_TABLE_PREFIX ImportsPrefixes[IMPORTS_MAXIMUM_PREFIXES];

//
// Functions whose work is in the frame of whoever calls them, and handlers,
// which the system calls and no one else.
//

static const PCSZ ImportsNever[] = {
    "setjmp", "_setjmp", "_setjmpex", "_setjmp3", "__intrinsic_setjmp",
    "__intrinsic_setjmpex", "__wine_setjmpex", "__wine_longjmp",
    "__wine_rtl_unwind", "sigsetjmp", "__sigsetjmp",
    "RtlCaptureContext", "RtlCaptureContext2", "RtlRestoreContext",
    "RtlUnwind", "RtlUnwindEx", "RtlRaiseException", "RtlGetCallersAddress",
    "NtContinue", "NtContinueEx", "ZwContinue", "ZwContinueEx",
    "NtCallbackReturn", "ZwCallbackReturn", "NtRaiseException",
    "ZwRaiseException", "LdrGetProcedureAddress", "LdrGetProcedureAddressEx",
    "RtlUserThreadStart", "LdrInitializeThunk", "KiUserExceptionDispatcher",
    "KiUserCallbackDispatcher", "KiUserApcDispatcher",
    "__chkstk", "_chkstk", "___chkstk_ms", "_alloca_probe", "_alloca_probe_8",
    "_alloca_probe_16", "_local_unwind", "__jump_unwind", "_NLG_Notify",
    "__C_specific_handler", "__C_specific_handler_noexcept",
    "_C_specific_handler",
    "__CxxFrameHandler", "__CxxFrameHandler2", "__CxxFrameHandler3",
    "__CxxFrameHandler4", "__GSHandlerCheck", "__GSHandlerCheck_EH",
    "__GSHandlerCheck_SEH", "__gxx_personality_v0", "__gxx_personality_seh0",
    "__gcc_personality_v0", "__gcc_personality_seh0", "__gnat_personality_v0",
    "__gnat_personality_seh0", "_GCC_specific_handler", "_except_handler2",
    "_except_handler3", "_except_handler4_common", "_abnormal_termination",
    "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
    "_Unwind_ForcedUnwind", "_Unwind_Backtrace", "__unwind_info"
};

//
// What is left out unless a list names it.
//

static const PCSZ ImportsTrivial[] = { IMPORTS_TRIVIAL };

#define IMPORTS_NEVER_COUNT RTL_NUMBER_OF(ImportsNever)
#define IMPORTS_TRIVIAL_COUNT RTL_NUMBER_OF(ImportsTrivial)

C_ASSERT(IMPORTS_NEVER_COUNT + IMPORTS_TRIVIAL_COUNT <=
         IMPORTS_MAXIMUM_PREFIXES);

static PSTRING_TABLE ImportsKnown;
static ULONG ImportsKnownLengths[IMPORTS_NEVER_COUNT + IMPORTS_TRIVIAL_COUNT];

//
// Parts of the names of functions with as many arguments as a caller likes.
//

static const PCSZ ImportsVariadic[] = {
    "printf", "scanf", "execl", "spawnl", "DbgPrint", "TraceMessage",
    "NdrClientCall", "NdrAsyncClientCall", "_dbg_log"
};

static
PSTRING_TABLE
ImportsMakeTable(
    _In_ ULONG Count,
    _In_ ULONG Flags
    )
{
    static ALLOCATOR Allocator;
    STRING_TABLE_ALLOCATOR TableAllocator;
    PSTRING_TABLE Table;

    RtlInitializePageAllocator(&ImportsState.Rtl, &Allocator);
    TableAllocator.Context = Allocator.Context;
    TableAllocator.Allocate = Allocator.Allocate;
    TableAllocator.Free = Allocator.Free;
    if (Count == 0 ||
        StringTableCreate(&TableAllocator,
                          StringTableQueryInstructions(),
                          Flags,
                          ImportsPrefixes,
                          Count,
                          &Table,
                          NULL) < 0) {

        return NULL;
    }

    return Table;
}

//
// Puts one prefix of a list into ImportsPrefixes, as UTF-8 at Text, where
// "kernel32.dll" is "kernel32!".  FALSE if there is nothing of it.
//

static
BOOLEAN
ImportsAddPrefix(
    _Inout_ PIMPORTS_LIST List,
    _In_ PCUNICODE_STRING Pattern,
    _In_ BOOLEAN AreFunctions,
    _Inout_ PCHAR *Text
    )
{
    PCHAR Buffer;
    ULONG Length;
    ULONG Index;
    ULONG Skip;
    ULONG End;

    Skip = Pattern->Buffer[0] == L'-';
    Buffer = *Text;
    RtlWideToUtf8(Pattern->Buffer + Skip,
                  Pattern->Length / sizeof(WCHAR) - Skip,
                  Buffer,
                  (ULONG)(ImportsText + sizeof(ImportsText) - Buffer),
                  &Length);
    if (Length == 0 || List->NumberOfPrefixes == IMPORTS_MAXIMUM_PREFIXES) {
        return FALSE;
    }

    if (Length == 1 && Buffer[0] == '*') {
        List->IsOpen = !Skip;
        return TRUE;
    }

    for (End = 0; End < Length && Buffer[End] != '!'; End += 1) {
    }

    if (AreFunctions && End > 4 && Buffer[End - 4] == '.' &&
        (Buffer[End - 3] | 0x20) == 'd' && (Buffer[End - 2] | 0x20) == 'l' &&
        (Buffer[End - 1] | 0x20) == 'l') {

        for (Index = End; Index < Length; Index += 1) {
            Buffer[Index - 4] = Buffer[Index];
        }
        End -= 4;
        Length -= 4;

        //
        // A whole name is no beginning of another.
        //

        if (End == Length) {
            Buffer[Length] = '!';
            Length += 1;
        }
    }

    List->IsMinus[List->NumberOfPrefixes] = (BOOLEAN)Skip;
    List->IsNamed[List->NumberOfPrefixes] = End + 1 < Length;
    ImportsPrefixes[List->NumberOfPrefixes].Buffer = Buffer;
    ImportsPrefixes[List->NumberOfPrefixes].LengthInBytes = Length;
    List->NumberOfPrefixes += 1;
    *Text += Length;
    return TRUE;
}

//
// Is a pattern the word for the program's own module, whatever its name is?
//

static
BOOLEAN
ImportsIsProgram(
    _In_ PCUNICODE_STRING Pattern
    )
{
    static const WCHAR Word[] = L"@PROGRAM";
    UNICODE_STRING Name = *Pattern;

    if (*Name.Buffer == L'-') {
        Name.Buffer += 1;
        Name.Length -= sizeof(WCHAR);
    }

    return PenterIsWord(&ImportsState.Rtl, &Name, Word);
}

//
// What an earlier request has left.
//

static
VOID
ImportsForgetLists(
    VOID
    )
{
    PSTRING_TABLE *Tables[] = {
        &ImportsList.Table, &ImportsCallers.Table, &ImportsKnown
    };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Tables); Index += 1) {
        if (*Tables[Index] != NULL) {
            StringTableDestroy(*Tables[Index]);
            *Tables[Index] = NULL;
        }
    }

    RtlZeroBytes(&ImportsList, sizeof(ImportsList));
    RtlZeroBytes(&ImportsCallers, sizeof(ImportsCallers));
}

static
VOID
ImportsReadList(
    _In_ PCUNICODE_STRING Value,
    _In_ BOOLEAN AreFunctions,
    _Inout_ PIMPORTS_LIST List
    )
{
    UNICODE_STRING Pattern;
    PCHAR Text;
    ULONG Position;
    BOOLEAN HasStar;

    Text = ImportsText;
    Position = 0;
    List->IsOpen = TRUE;
    HasStar = FALSE;
    while (PenterNextPattern(Value, &Position, &Pattern)) {
        List->IsGiven = TRUE;
        HasStar = HasStar ||
                  (Pattern.Length == sizeof(WCHAR) && *Pattern.Buffer == L'*');
        if (Pattern.Buffer[0] != L'-' && !HasStar) {
            List->IsOpen = FALSE;
        }
        if (!AreFunctions && ImportsIsProgram(&Pattern)) {
            List->HasProgram = TRUE;
            List->IsProgramMinus = *Pattern.Buffer == L'-';
        } else {
            (VOID)ImportsAddPrefix(List, &Pattern, AreFunctions, &Text);
        }
        if (HasStar) {
            List->IsOpen = TRUE;
        }
    }

    List->Table = ImportsMakeTable(List->NumberOfPrefixes,
                                   STRING_TABLE_IGNORE_CASE);
}

_Use_decl_annotations_
BOOLEAN
ImportsReadLists(
    VOID
    )
{
    PPENTER_CONFIG Config;
    PVOID Base;
    ULONG Index;
    PCSZ Name;

    if (!NT_SUCCESS(RtlAllocatePages(&ImportsState.Rtl,
                                     sizeof(*Config),
                                     &Base))) {
        return FALSE;
    }

    ImportsForgetLists();
    Config = (PPENTER_CONFIG)Base;
    ImportsState.Rtl.Environment = PenterEnvironment;
    PenterReadConfig(&ImportsState.Rtl, &__ImageBase, Config);
    ImportsState.Rtl.Environment = NULL;
    ImportsState.AreChildren = Config->AreChildren;
    ImportsReadList(&Config->Imports, TRUE, &ImportsList);
    ImportsReadList(&Config->Callers, FALSE, &ImportsCallers);
    ImportsIsEither = Config->IsEither;
    RtlFreePages(&ImportsState.Rtl, Base);
    if (!ImportsList.IsGiven && !ImportsCallers.IsGiven) {
        return FALSE;
    }

    for (Index = 0;
         Index < IMPORTS_NEVER_COUNT + IMPORTS_TRIVIAL_COUNT;
         Index += 1) {

        Name = Index < IMPORTS_NEVER_COUNT
                   ? ImportsNever[Index]
                   : ImportsTrivial[Index - IMPORTS_NEVER_COUNT];
        ImportsKnownLengths[Index] = RtlLengthOfString(Name);
        ImportsPrefixes[Index].Buffer = Name;
        ImportsPrefixes[Index].LengthInBytes = ImportsKnownLengths[Index];
    }

    ImportsKnown = ImportsMakeTable(Index, 0);
    return ImportsKnown != NULL;
}

//
// Which prefix decides: its index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
ImportsSearch(
    _In_ const IMPORTS_LIST *List,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    return List->Table == NULL ? STRING_TABLE_NOT_FOUND
                               : StringTableSearch(List->Table, Text, Length);
}

//
// Has TRACER_CALLERS a module?
//

static
BOOLEAN
ImportsIsListed(
    _In_ const IMPORTS_MODULE *Module
    )
{
    ULONG Found;

    if (!ImportsCallers.IsGiven) {
        return TRUE;
    }

    if (ImportsCallers.HasProgram &&
        Module->Base == *(PVOID *)(__readgsqword(TEB_PEB) + PEB_IMAGE_BASE)) {

        return !ImportsCallers.IsProgramMinus;
    }

    Found = ImportsSearch(&ImportsCallers, Module->Name, Module->NameLength);
    return Found == STRING_TABLE_NOT_FOUND ? ImportsCallers.IsOpen
                                           : !ImportsCallers.IsMinus[Found];
}

_Use_decl_annotations_
BOOLEAN
ImportsIsCaller(
    const IMPORTS_MODULE *Module
    )
{
    return !Module->IsOurs && (ImportsIsEither || ImportsIsListed(Module));
}

_Use_decl_annotations_
IMPORTS_CHOICE
ImportsChoose(
    const IMPORTS_MODULE *Importer,
    const IMPORTS_MODULE *Exporter,
    PCIMPORTS_NAME Name
    )
{
    RTL_WRITER Writer;
    ULONG Length;
    ULONG Found;
    CHAR Text[512];

    if (!ImportsList.IsGiven ||
        (ImportsIsEither && ImportsIsListed(Importer))) {

        return ImportsWanted;
    }

    Length = Exporter->NameLength;
    if (Length > 4 &&
        RtlAreBytesEqual(Exporter->Name + Length - 4, ".dll", 4)) {

        Length -= 4;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteBytes(&Writer, Exporter->Name, Length);
    RtlWriteBytes(&Writer, "!", 1);
    if (Name->Text != NULL) {
        RtlWriteBytes(&Writer, Name->Text, Name->Length);
    } else {
        RtlWriteText(&Writer, "#%u", Name->Ordinal);
    }

    Found = ImportsSearch(&ImportsList, Text, Writer.LengthInBytes);
    if (Found == STRING_TABLE_NOT_FOUND) {
        return ImportsList.IsOpen ? ImportsWanted : ImportsUnwanted;
    }

    return ImportsList.IsMinus[Found]   ? ImportsUnwanted
           : ImportsList.IsNamed[Found] ? ImportsNamed
                                        : ImportsWanted;
}

_Use_decl_annotations_
VOID
ImportsQueryTraits(
    PCIMPORTS_NAME Name,
    PIMPORTS_TRAITS Traits
    )
{
    ULONG Found;
    ULONG Part;
    ULONG Length;
    ULONG Index;

    RtlZeroBytes(Traits, sizeof(*Traits));
    if (Name->Text == NULL) {
        return;
    }

    Found = StringTableSearch(ImportsKnown, Name->Text, Name->Length);
    if (Found != STRING_TABLE_NOT_FOUND &&
        ImportsKnownLengths[Found] == Name->Length) {

        Traits->IsNever = Found < IMPORTS_NEVER_COUNT;
        Traits->IsTrivial = !Traits->IsNever;
    }

    for (Part = 0; Part < RTL_NUMBER_OF(ImportsVariadic); Part += 1) {
        Length = RtlLengthOfString(ImportsVariadic[Part]);
        for (Index = 0; Index + Length <= Name->Length; Index += 1) {
            if (Name->Text[Index] == ImportsVariadic[Part][0] &&
                RtlAreBytesEqual(Name->Text + Index,
                                 ImportsVariadic[Part],
                                 Length)) {

                Traits->IsLarge = TRUE;
                return;
            }
        }
    }
}
