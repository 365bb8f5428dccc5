/*++

Module Name:

    ExportFxt.c

Abstract:

    The Fuchsia trace format (fuchsia.dev, "Fuchsia trace format"), which
    Perfetto and magic-trace's viewer read: records of 64-bit words.

    A file begins with the magic number, a provider and the number of ticks in a
    second.  Names, categories (modules) and threads are put into tables first:
    32,767 strings and 255 threads.  When a table is full its places are given
    out anew, the oldest first, and what lost its place gets another one when it
    is needed again.

--*/

#include "../Base/BaseErrors.h"
#include "ExportEvents.h"
#include "ExportText.h"
#include "ExportTracks.h"

//
// Types of records, in a header's lowest four bits; its size, in words, is in
// the next twelve.
//

#define READER_FXT_METADATA 0u
#define READER_FXT_INITIALIZATION 1u
#define READER_FXT_STRING 2u
#define READER_FXT_THREAD 3u
#define READER_FXT_EVENT 4u
#define READER_FXT_KERNEL_OBJECT 7u

#define READER_FXT_HEADER(Type, Words)                                      \
    ((ULONGLONG)(Type) | ((ULONGLONG)(Words) << 4))

//
// The magic number record; metadata of the types provider info and provider
// section.
//

#define READER_FXT_MAGIC 0x0016547846040010ULL
#define READER_FXT_PROVIDER_INFO 1u
#define READER_FXT_PROVIDER_SECTION 2u
#define READER_FXT_PROVIDER 1u

//
// Types of events and arguments, and of kernel objects.
//

#define READER_FXT_INSTANT 0u
#define READER_FXT_DURATION_BEGIN 2u
#define READER_FXT_DURATION_END 3u
#define READER_FXT_ARGUMENT_UINT32 2u
#define READER_FXT_ARGUMENT_STRING 6u
#define READER_FXT_ARGUMENT_KOID 8u
#define READER_FXT_PROCESS 1u
#define READER_FXT_THREAD_OBJECT 2u

//
// Indexes of strings begin with 1, and so do those of threads.  The first
// strings are the marks' names and those of two arguments.
//

#define READER_FXT_STRINGS 0x7FFFu
#define READER_FXT_THREADS 0xFFu
#define READER_FXT_MARKS 4u
#define READER_FXT_PROCESS_STRING (READER_FXT_MARKS + 1)
#define READER_FXT_CALLER_STRING (READER_FXT_MARKS + 2)
#define READER_FXT_FIRST_STRING (READER_FXT_MARKS + 3)
#define READER_FXT_MAXIMUM_LENGTH 32000u

//
// The thread that a process's own instants are of, for the process's index: no
// thread has that number.
//

#define READER_FXT_SESSION(Process) \
    ((Process) == 0 ? 0u : 0x80000000u + (Process))

//
// A string's owner: a function or a module.
//

#define READER_FXT_MODULE 0x80000000u

typedef struct _READER_FXT {
    READER_EVENTS Events;
    PULONG Owners;                  // of strings, by index; READER_NONE: none
    PULONG Modules;                 // strings of modules; 0: none
    ULONG CapacityOfModules;
    ULONG NextString;
    ULONG Threads[READER_FXT_THREADS + 1];  // tracks, by index
    ULONG NextThread;
    READER_MAP Sessions;            // (file << 32) | process, if the file knows
                                    // the process's READER_FXT_SESSION
} READER_FXT;
typedef READER_FXT *PREADER_FXT;

static const PCSZ ReaderFxtMarks[READER_FXT_MARKS] = {
    "begun_before",
    "continued",
    "abandoned",
    "unfinished"
};


//
// Words, Count: the words, 32 at most.
//

static
VOID
ExportPutWords(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_(Count) const ULONGLONG *Words,
    _In_ ULONG Count
    )
{
    PCHAR Place = ExportMakeRoom(Writer, Count * sizeof(ULONGLONG));

    RtlCopyBytes(Place, Words, Count * sizeof(ULONGLONG));
    Writer->LengthInBytes += Count * sizeof(ULONGLONG);
}


//
// Writes a text and fills its last word with zeroes.
//

static
VOID
ExportPutPaddedText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    static const CHAR Zeroes[8];

    RtlWriteBytes(Writer, Text, Length);
    RtlWriteBytes(Writer, Zeroes, (8 - Length % 8) % 8);
}


//
// Writes a string record.
// Events: the walk.
// Text, Length: the text, which is well-formed.
//

static
VOID
ExportFxtWriteString(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    PRTL_WRITER Writer = &Events->File.Writer;
    ULONGLONG Header;

    if (Length > READER_FXT_MAXIMUM_LENGTH) {
        Length = READER_FXT_MAXIMUM_LENGTH;
        Length -= RtlIncompleteUtf8Tail(Text, Length);
    }

    Header = READER_FXT_HEADER(READER_FXT_STRING, 1 + (Length + 7) / 8) |
             ((ULONGLONG)Index << 16) |
             ((ULONGLONG)Length << 32);
    ExportPutWords(Writer, &Header, 1);
    ExportPutPaddedText(Writer, Text, Length);
}


//
// Gives a text a place in the table of strings.
// Fxt: the export.
// Owner: whose it is.
// Text, Length: the text; not cleaned.
// Returns its index; 0, which is the empty text, if there is no memory.
//

static
ULONG
ExportFxtAddString(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Owner,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    PREADER_EVENTS Events = &Fxt->Events;
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    RTL_WRITER Writer;
    PCHAR Clean;
    ULONG Index = Fxt->NextString;

    //
    // A byte becomes three at most.
    //

    Clean = (PCHAR)Allocator->Allocate(Allocator->Context,
                                       (SIZE_T)Length * 3 + 1);
    if (Clean == NULL) {
        READER_KEEP_STATUS(Events, STATUS_NO_MEMORY);
        return 0;
    }

    RtlInitializeBufferWriter(&Writer, Clean, Length * 3 + 1);
    RtlWriteCleanText(&Writer, Text, Length);
    ExportFxtWriteString(Events, Index, Clean, Writer.LengthInBytes);
    Allocator->Free(Allocator->Context, Clean);

    Fxt->Owners[Index] = Owner;
    Fxt->NextString = Index == READER_FXT_STRINGS ? READER_FXT_FIRST_STRING
                                                  : Index + 1;
    return Index;
}


//
// Finds the string of a function's name, and adds it.
// Fxt: the export.
// Returns the string's index.
//

static
ULONG
ExportFxtFindFunction(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Index
    )
{
    PREADER_EVENTS Events = &Fxt->Events;
    PCREADER_FUNCTION Function =
        &Events->Export->Functions.Functions[Index];
    PREADER_EVENT_FUNCTION Known;
    BOOLEAN IsNew;

    if (!ExportNumberFunction(Events, Index, &IsNew, &Known)) {
        return 0;
    }

    if (IsNew || Fxt->Owners[Known->TextOffset] != Index) {
        Known->TextOffset = ExportFxtAddString(Fxt,
                                               Index,
                                               Function->Name,
                                               Function->NameLength);
    }

    return Known->TextOffset;
}


//
// Finds the string of a module's name, and adds it.
// Fxt: the export.
// Index: FunctionNumberModule's number.
// Returns the string's index.
//

static
ULONG
ExportFxtFindModule(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Index,
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length
    )
{
    PREADER_EXPORT Export = Fxt->Events.Export;
    NTSTATUS Status;

    if (Index >= Fxt->CapacityOfModules) {
        Status = BaseGrowArray(Export->Context->Allocator,
                               (PVOID *)&Fxt->Modules,
                               &Fxt->CapacityOfModules,
                               Index + 1,
                               sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            READER_KEEP_STATUS(&Fxt->Events, Status);
            return 0;
        }
    }

    if (Fxt->Owners[Fxt->Modules[Index]] != (READER_FXT_MODULE | Index)) {
        Fxt->Modules[Index] = ExportFxtAddString(Fxt,
                                                 READER_FXT_MODULE | Index,
                                                 Name,
                                                 Length);
    }

    return Fxt->Modules[Index];
}


//
// Finds the string of the module that calls a stub.
// Fxt: the export.
// Importer: index + 1 in Imported; 0: there is none.
//

static
ULONG
ExportFxtFindCaller(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Importer
    )
{
    PREADER_EXPORT Export = Fxt->Events.Export;
    PCREADER_IMPORTED Caller;

    if (Importer == 0) {
        return 0;
    }

    Caller = &Export->Functions.Imported[Importer - 1];
    return ExportFxtFindModule(Fxt,
                               Export->Session.NumberOfModules + Importer - 1,
                               Caller->Name,
                               Caller->NameLength);
}


//
// Writes a kernel object record: the name of the process or of a thread.
// Events: the walk.
// Type: READER_FXT_PROCESS or READER_FXT_THREAD_OBJECT.
// Name, Length: its name, 256 bytes at most; not cleaned.
//

static
VOID
ExportFxtWriteObject(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Type,
    _In_ ULONG Identifier,
    _In_ ULONG NumberOfProcess,
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length
    )
{
    PRTL_WRITER Writer = &Events->File.Writer;
    ULONG Arguments = Type == READER_FXT_THREAD_OBJECT ? 1 : 0;
    ULONGLONG Words[2];
    CHAR Clean[768];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Clean, sizeof(Clean));
    RtlWriteCleanText(&Text, Name, Length);

    //
    // The name is in the record: the highest bit of its reference says so, and
    // the others are its length.
    //

    Words[0] = READER_FXT_HEADER(READER_FXT_KERNEL_OBJECT,
                                 2 + (Text.LengthInBytes + 7) / 8 +
                                     2 * Arguments) |
               ((ULONGLONG)Type << 16) |
               ((ULONGLONG)(0x8000 | Text.LengthInBytes) << 24) |
               ((ULONGLONG)Arguments << 40);
    Words[1] = Identifier;
    ExportPutWords(Writer, Words, 2);
    ExportPutPaddedText(Writer, Clean, Text.LengthInBytes);
    if (Arguments != 0) {
        Words[0] = READER_FXT_HEADER(READER_FXT_ARGUMENT_KOID, 2) |
                   ((ULONGLONG)READER_FXT_PROCESS_STRING << 16);
        Words[1] = NumberOfProcess;
        ExportPutWords(Writer, Words, 2);
    }
}


//
// Events: the walk.
//

static
VOID
ExportFxtBeginFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    static const CHAR Provider[] = "TraceReader";
    PREADER_FXT Fxt = (PREADER_FXT)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    ULONGLONG Words[2];
    CHAR Name[256];
    RTL_WRITER Text;
    ULONG Index;

    for (Index = 0; Index <= READER_FXT_STRINGS; Index++) {
        Fxt->Owners[Index] = READER_NONE;
    }

    for (Index = 0; Index <= READER_FXT_THREADS; Index++) {
        Fxt->Threads[Index] = READER_NONE;
    }

    Fxt->NextString = READER_FXT_FIRST_STRING;
    Fxt->NextThread = 1;

    Words[0] = READER_FXT_MAGIC;
    Words[1] = READER_FXT_HEADER(READER_FXT_METADATA,
                                 1 + (sizeof(Provider) - 1 + 7) / 8) |
               ((ULONGLONG)READER_FXT_PROVIDER_INFO << 16) |
               ((ULONGLONG)READER_FXT_PROVIDER << 20) |
               ((ULONGLONG)(sizeof(Provider) - 1) << 52);
    ExportPutWords(Writer, Words, 2);
    ExportPutPaddedText(Writer, Provider, sizeof(Provider) - 1);

    Words[0] = READER_FXT_HEADER(READER_FXT_METADATA, 1) |
               ((ULONGLONG)READER_FXT_PROVIDER_SECTION << 16) |
               ((ULONGLONG)READER_FXT_PROVIDER << 20);
    ExportPutWords(Writer, Words, 1);

    Words[0] = READER_FXT_HEADER(READER_FXT_INITIALIZATION, 2);
    Words[1] = CORE_NANOSECONDS_PER_SECOND;
    ExportPutWords(Writer, Words, 2);

    for (Index = 0; Index < READER_FXT_MARKS; Index++) {
        ExportFxtWriteString(Events,
                             Index + 1,
                             ReaderFxtMarks[Index],
                             RtlLengthOfString(ReaderFxtMarks[Index]));
    }

    ExportFxtWriteString(Events, READER_FXT_PROCESS_STRING, "process", 7);
    ExportFxtWriteString(Events,
                         READER_FXT_CALLER_STRING,
                         "caller_module",
                         13);

    for (Index = 0;
         Index < Events->Export->Session.NumberOfProcesses;
         Index++) {
        RtlInitializeBufferWriter(&Text, Name, 160);
        ExportWriteProcessName(&Text, Events, Index);
        ExportFxtWriteObject(Events,
                             READER_FXT_PROCESS,
                             ExportNumberProcess(Events, Index),
                             0,
                             Name,
                             Text.LengthInBytes);
    }
}


//
// Ends a file; there is nothing to write.
// Events: the walk.
//

static
VOID
ExportFxtEndFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    UNREFERENCED_PARAMETER(Events);
}


//
// Names a track.
// Events: the walk.
//

static
VOID
ExportFxtBeginTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
{
    CHAR Name[256];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    ExportWriteTrackName(&Text, Track);
    ExportFxtWriteObject(Events,
                         READER_FXT_THREAD_OBJECT,
                         Track->Identifier,
                         Track->NumberOfProcess,
                         Name,
                         Text.LengthInBytes);
}


//
// Finds a track's place in the table of threads, and gives it one.
// Fxt: the export.
// Returns the thread's index.
//

static
ULONG
ExportFxtFindThread(
    _Inout_ PREADER_FXT Fxt,
    _Inout_ PREADER_EXPORT_TRACK Track
    )
{
    ULONGLONG Words[3];
    ULONG Index = Track->Slot;

    if (Fxt->Threads[Index] == Track->Index) {
        return Index;
    }

    Index = Fxt->NextThread;
    Fxt->NextThread = Index == READER_FXT_THREADS ? 1 : Index + 1;
    Fxt->Threads[Index] = Track->Index;
    Track->Slot = Index;

    Words[0] = READER_FXT_HEADER(READER_FXT_THREAD, 3) |
               ((ULONGLONG)Index << 16);
    Words[1] = Track->NumberOfProcess;
    Words[2] = Track->Identifier;
    ExportPutWords(&Fxt->Events.File.Writer, Words, 3);
    return Index;
}


//
// Events: the walk.
// Type: READER_FXT_DURATION_BEGIN or READER_FXT_DURATION_END.
//

static
VOID
ExportFxtPutEvent(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks,
    _In_ ULONG Type
    )
{
    PREADER_FXT Fxt = (PREADER_FXT)Events;
    const READER_FUNCTIONS *Functions = &Events->Export->Functions;
    PCREADER_FUNCTION This = &Functions->Functions[Function];
    ULONGLONG Words[4];
    ULONG Arguments = 0;
    ULONG Category;
    ULONG Caller;
    ULONG Index;
    ULONG Name;
    ULONG Next;

    //
    // One that is added may take another one's place.
    //

    do {
        Next = Fxt->NextString;
        Caller = ExportFxtFindCaller(
            Fxt,
            Type == READER_FXT_DURATION_BEGIN ? This->Importer : 0);
        Category = ExportFxtFindModule(Fxt,
                                       FunctionNumberModule(Functions, This),
                                       This->ModuleName,
                                       This->ModuleNameLength);
        Name = ExportFxtFindFunction(Fxt, Function);
    } while (Next != Fxt->NextString);

    if (Caller != 0) {
        Words[2] = READER_FXT_HEADER(READER_FXT_ARGUMENT_STRING, 1) |
                   ((ULONGLONG)READER_FXT_CALLER_STRING << 16) |
                   ((ULONGLONG)Caller << 32);
        Arguments = 1;
    }

    for (Index = 0; Index < READER_FXT_MARKS; Index++) {
        if ((Marks & (1u << Index)) != 0) {
            Words[2 + Arguments] =
                READER_FXT_HEADER(READER_FXT_ARGUMENT_UINT32, 1) |
                ((ULONGLONG)(Index + 1) << 16) |
                (1ULL << 32);
            Arguments += 1;
            break;
        }
    }

    Words[0] = READER_FXT_HEADER(READER_FXT_EVENT, 2 + Arguments) |
               ((ULONGLONG)Type << 16) |
               ((ULONGLONG)Arguments << 20) |
               ((ULONGLONG)ExportFxtFindThread(Fxt, Track) << 24) |
               ((ULONGLONG)Category << 32) |
               ((ULONGLONG)Name << 48);
    Words[1] = Time;
    ExportPutWords(&Events->File.Writer, Words, 2 + Arguments);
}


//
// Writes the beginning of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportFxtEnter(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    ExportFxtPutEvent(Events,
                      Track,
                      Function,
                      Time,
                      Marks,
                      READER_FXT_DURATION_BEGIN);
}


//
// Writes the end of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportFxtLeave(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    ExportFxtPutEvent(Events,
                      Track,
                      Function,
                      Time,
                      Marks,
                      READER_FXT_DURATION_END);
}


//
// Writes an instant event, with its thread and its texts in the record.
// Events, Track, Process, Name, NameLength, Time: see READER_EVENTS_INSTANT.
//

static
VOID
ExportFxtInstant(
    _Inout_ PREADER_EVENTS Events,
    _In_opt_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Process,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG Time
    )
{
    static const CHAR Session[] = "Session";
    static const CHAR Category[] = READER_INSTANT_CATEGORY;
    PREADER_FXT Fxt = (PREADER_FXT)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    ULONGLONG Words[4];
    CHAR Clean[320];
    RTL_WRITER Text;
    ULONGLONG Key = ((ULONGLONG)Events->Part << 32) | Process;
    ULONG Value;

    if (Track == NULL && !BaseFindInMap(&Fxt->Sessions, Key, &Value)) {
        READER_KEEP_STATUS(Events, BaseAddToMap(&Fxt->Sessions, Key, 0));
        ExportFxtWriteObject(Events,
                             READER_FXT_THREAD_OBJECT,
                             READER_FXT_SESSION(Process),
                             ExportNumberProcess(Events, Process),
                             Session,
                             sizeof(Session) - 1);
    }

    RtlInitializeBufferWriter(&Text, Clean, sizeof(Clean));
    RtlWriteCleanText(&Text, Name, NameLength);

    Words[0] = READER_FXT_HEADER(READER_FXT_EVENT,
                                 4 + (sizeof(Category) - 1 + 7) / 8 +
                                     (Text.LengthInBytes + 7) / 8) |
               ((ULONGLONG)READER_FXT_INSTANT << 16) |
               ((ULONGLONG)(0x8000 | (sizeof(Category) - 1)) << 32);
    if (Text.LengthInBytes != 0) {
        Words[0] |= (ULONGLONG)(0x8000 | Text.LengthInBytes) << 48;
    }

    Words[1] = Time;
    Words[2] = ExportNumberProcess(Events, Process);
    Words[3] = Track != NULL ? Track->Identifier
                             : READER_FXT_SESSION(Process);
    ExportPutWords(Writer, Words, 4);
    ExportPutPaddedText(Writer, Category, sizeof(Category) - 1);
    ExportPutPaddedText(Writer, Clean, Text.LengthInBytes);
}


static const READER_EVENT_FORMAT ReaderFxtFormat = {
    ExportFxtBeginFile,
    ExportFxtEndFile,
    ExportFxtBeginTrack,
    NULL,
    ExportFxtEnter,
    ExportFxtLeave,
    ExportFxtInstant,
    NULL
};


_Use_decl_annotations_
ULONG
ExportFxt(
    PREADER_EXPORT Export
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PREADER_FXT Fxt;
    ULONG ExitCode;

    Fxt = (PREADER_FXT)Allocator->Allocate(Allocator->Context, sizeof(*Fxt));
    if (Fxt != NULL) {
        Fxt->Owners = (PULONG)
            Allocator->Allocate(Allocator->Context,
                                (READER_FXT_STRINGS + 1) * sizeof(ULONG));
    }

    if (Fxt == NULL || Fxt->Owners == NULL) {
        Allocator->Free(Allocator->Context, Fxt);
        return BaseFail(Export->Context,
                        "export",
                        Export->Options->OutputUtf8,
                        STATUS_NO_MEMORY);
    }

    BaseInitializeMap(&Fxt->Sessions, Allocator);
    ExitCode = ExportEvents(&Fxt->Events, Export, &ReaderFxtFormat);
    BaseRundownMap(&Fxt->Sessions);
    Allocator->Free(Allocator->Context, Fxt->Owners);
    Allocator->Free(Allocator->Context, Fxt->Modules);
    Allocator->Free(Allocator->Context, Fxt);
    return ExitCode;
}
