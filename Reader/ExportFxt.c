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

#include "ExportEvents.h"

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
#define READER_FXT_ARGUMENT_KOID 8u
#define READER_FXT_PROCESS 1u
#define READER_FXT_THREAD_OBJECT 2u

//
// Indexes of strings begin with 1, and so do those of threads.  The first
// strings are the marks' names and that of an argument.
//

#define READER_FXT_STRINGS 0x7FFFu
#define READER_FXT_THREADS 0xFFu
#define READER_FXT_MARKS 4u
#define READER_FXT_PROCESS_STRING (READER_FXT_MARKS + 1)
#define READER_FXT_FIRST_STRING (READER_FXT_MARKS + 2)
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


static
VOID
ReaderPutWords(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_(Count) const ULONGLONG *Words,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Writes words.

Arguments:

    Writer - Where to write.

    Words, Count - The words, 32 at most.

Return Value:

    None.

--*/
{
    PCHAR Place = ReaderMakeRoom(Writer, Count * sizeof(ULONGLONG));

    RtlCopyBytes(Place, Words, Count * sizeof(ULONGLONG));
    Writer->LengthInBytes += Count * sizeof(ULONGLONG);
}


static
VOID
ReaderPutPaddedText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
/*++

Routine Description:

    Writes a text and fills its last word with zeroes.

Arguments:

    Writer - Where to write.

    Text, Length - The text.

Return Value:

    None.

--*/
{
    static const CHAR Zeroes[8];

    RtlWriteBytes(Writer, Text, Length);
    RtlWriteBytes(Writer, Zeroes, (8 - Length % 8) % 8);
}


static
VOID
ReaderFxtWriteString(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
/*++

Routine Description:

    Writes a string record.

Arguments:

    Events - The walk.

    Index - The string's.

    Text, Length - The text, which is well-formed.

Return Value:

    None.

--*/
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
    ReaderPutWords(Writer, &Header, 1);
    ReaderPutPaddedText(Writer, Text, Length);
}


static
ULONG
ReaderFxtAddString(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Owner,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
/*++

Routine Description:

    Gives a text a place in the table of strings.

Arguments:

    Fxt - The export.

    Owner - Whose it is.

    Text, Length - The text; not cleaned.

Return Value:

    Its index; 0, which is the empty text, if there is no memory.

--*/
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
    ReaderWriteCleanText(&Writer, Text, Length);
    ReaderFxtWriteString(Events, Index, Clean, Writer.LengthInBytes);
    Allocator->Free(Allocator->Context, Clean);

    Fxt->Owners[Index] = Owner;
    Fxt->NextString = Index == READER_FXT_STRINGS ? READER_FXT_FIRST_STRING
                                                  : Index + 1;
    return Index;
}


static
ULONG
ReaderFxtFindFunction(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Finds the string of a function's name, and adds it.

Arguments:

    Fxt - The export.

    Index - The function.

Return Value:

    The string's index.

--*/
{
    PREADER_EVENTS Events = &Fxt->Events;
    PCREADER_FUNCTION Function =
        &Events->Export->Functions.Functions[Index];
    PREADER_EVENT_FUNCTION Known;
    BOOLEAN IsNew;

    if (!ReaderNumberFunction(Events, Index, &IsNew, &Known)) {
        return 0;
    }

    if (IsNew || Fxt->Owners[Known->TextOffset] != Index) {
        Known->TextOffset = ReaderFxtAddString(Fxt,
                                               Index,
                                               Function->Name,
                                               Function->NameLength);
    }

    return Known->TextOffset;
}


static
ULONG
ReaderFxtFindModule(
    _Inout_ PREADER_FXT Fxt,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Finds the string of a module's name, and adds it.

Arguments:

    Fxt - The export.

    Index - The module.

Return Value:

    The string's index.

--*/
{
    PREADER_EXPORT Export = Fxt->Events.Export;
    const READER_MODULE *Module = Export->Session.Modules[Index];
    NTSTATUS Status;

    if (Index >= Fxt->CapacityOfModules) {
        Status = ReaderGrowArray(Export->Context->Allocator,
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
        Fxt->Modules[Index] = ReaderFxtAddString(Fxt,
                                                 READER_FXT_MODULE | Index,
                                                 Module->Name,
                                                 Module->NameLength);
    }

    return Fxt->Modules[Index];
}


static
VOID
ReaderFxtWriteObject(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Type,
    _In_ ULONG Identifier,
    _In_ ULONG NumberOfProcess,
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length
    )
/*++

Routine Description:

    Writes a kernel object record: the name of the process or of a thread.

Arguments:

    Events - The walk.

    Type - READER_FXT_PROCESS or READER_FXT_THREAD_OBJECT.

    Identifier - The object's.

    NumberOfProcess - Of a thread's process.

    Name, Length - Its name, 256 bytes at most; not cleaned.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = &Events->File.Writer;
    ULONG Arguments = Type == READER_FXT_THREAD_OBJECT ? 1 : 0;
    ULONGLONG Words[2];
    CHAR Clean[512];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Clean, sizeof(Clean));
    ReaderWriteCleanText(&Text, Name, Length);

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
    ReaderPutWords(Writer, Words, 2);
    ReaderPutPaddedText(Writer, Clean, Text.LengthInBytes);
    if (Arguments != 0) {
        Words[0] = READER_FXT_HEADER(READER_FXT_ARGUMENT_KOID, 2) |
                   ((ULONGLONG)READER_FXT_PROCESS_STRING << 16);
        Words[1] = NumberOfProcess;
        ReaderPutWords(Writer, Words, 2);
    }
}


static
VOID
ReaderFxtBeginFile(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Begins a file.

Arguments:

    Events - The walk.

Return Value:

    None.

--*/
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
    ReaderPutWords(Writer, Words, 2);
    ReaderPutPaddedText(Writer, Provider, sizeof(Provider) - 1);

    Words[0] = READER_FXT_HEADER(READER_FXT_METADATA, 1) |
               ((ULONGLONG)READER_FXT_PROVIDER_SECTION << 16) |
               ((ULONGLONG)READER_FXT_PROVIDER << 20);
    ReaderPutWords(Writer, Words, 1);

    Words[0] = READER_FXT_HEADER(READER_FXT_INITIALIZATION, 2);
    Words[1] = CORE_NANOSECONDS_PER_SECOND;
    ReaderPutWords(Writer, Words, 2);

    for (Index = 0; Index < READER_FXT_MARKS; Index++) {
        ReaderFxtWriteString(Events,
                             Index + 1,
                             ReaderFxtMarks[Index],
                             RtlLengthOfString(ReaderFxtMarks[Index]));
    }

    ReaderFxtWriteString(Events, READER_FXT_PROCESS_STRING, "process", 7);

    for (Index = 0;
         Index < Events->Export->Session.NumberOfProcesses;
         Index++) {
        RtlInitializeBufferWriter(&Text, Name, 160);
        ReaderWriteProcessName(&Text, Events, Index);
        ReaderFxtWriteObject(Events,
                             READER_FXT_PROCESS,
                             ReaderNumberProcess(Events, Index),
                             0,
                             Name,
                             Text.LengthInBytes);
    }
}


static
VOID
ReaderFxtEndFile(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Ends a file; there is nothing to write.

Arguments:

    Events - The walk.

Return Value:

    None.

--*/
{
    UNREFERENCED_PARAMETER(Events);
}


static
VOID
ReaderFxtBeginTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
/*++

Routine Description:

    Names a track.

Arguments:

    Events - The walk.

    Track - The track.

Return Value:

    None.

--*/
{
    CHAR Name[256];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    ReaderWriteTrackName(&Text, Track);
    ReaderFxtWriteObject(Events,
                         READER_FXT_THREAD_OBJECT,
                         Track->Identifier,
                         Track->NumberOfProcess,
                         Name,
                         Text.LengthInBytes);
}


static
ULONG
ReaderFxtFindThread(
    _Inout_ PREADER_FXT Fxt,
    _Inout_ PREADER_EXPORT_TRACK Track
    )
/*++

Routine Description:

    Finds a track's place in the table of threads, and gives it one.

Arguments:

    Fxt - The export.

    Track - The track.

Return Value:

    The thread's index.

--*/
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
    ReaderPutWords(&Fxt->Events.File.Writer, Words, 3);
    return Index;
}


static
VOID
ReaderFxtPutEvent(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks,
    _In_ ULONG Type
    )
/*++

Routine Description:

    Writes an event.

Arguments:

    Events - The walk.

    Track, Function, Time, Marks - The event.

    Type - READER_FXT_DURATION_BEGIN or READER_FXT_DURATION_END.

Return Value:

    None.

--*/
{
    PREADER_FXT Fxt = (PREADER_FXT)Events;
    ULONGLONG Words[3];
    ULONG Arguments = 0;
    ULONG Category;
    ULONG Module;
    ULONG Index;
    ULONG Name;

    //
    // The function's name may have taken the module's place.
    //

    Module = Events->Export->Functions.Functions[Function].Module;
    (VOID)ReaderFxtFindModule(Fxt, Module);
    Name = ReaderFxtFindFunction(Fxt, Function);
    Category = ReaderFxtFindModule(Fxt, Module);

    for (Index = 0; Index < READER_FXT_MARKS; Index++) {
        if ((Marks & (1u << Index)) != 0) {
            Words[2] = READER_FXT_HEADER(READER_FXT_ARGUMENT_UINT32, 1) |
                       ((ULONGLONG)(Index + 1) << 16) |
                       (1ULL << 32);
            Arguments = 1;
        }
    }

    Words[0] = READER_FXT_HEADER(READER_FXT_EVENT, 2 + Arguments) |
               ((ULONGLONG)Type << 16) |
               ((ULONGLONG)Arguments << 20) |
               ((ULONGLONG)ReaderFxtFindThread(Fxt, Track) << 24) |
               ((ULONGLONG)Category << 32) |
               ((ULONGLONG)Name << 48);
    Words[1] = Time;
    ReaderPutWords(&Events->File.Writer, Words, 2 + Arguments);
}


static
VOID
ReaderFxtEnter(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Writes the beginning of a call.

Arguments:

    Events, Track, Function, Time, Marks - See READER_EVENTS_CALL.

Return Value:

    None.

--*/
{
    ReaderFxtPutEvent(Events,
                      Track,
                      Function,
                      Time,
                      Marks,
                      READER_FXT_DURATION_BEGIN);
}


static
VOID
ReaderFxtLeave(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Writes the end of a call.

Arguments:

    Events, Track, Function, Time, Marks - See READER_EVENTS_CALL.

Return Value:

    None.

--*/
{
    ReaderFxtPutEvent(Events,
                      Track,
                      Function,
                      Time,
                      Marks,
                      READER_FXT_DURATION_END);
}


static
VOID
ReaderFxtInstant(
    _Inout_ PREADER_EVENTS Events,
    _In_opt_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Process,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG Time
    )
/*++

Routine Description:

    Writes an instant event, with its thread and its texts in the record.

Arguments:

    Events, Track, Process, Name, NameLength, Time - See
        READER_EVENTS_INSTANT.

Return Value:

    None.

--*/
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

    if (Track == NULL && !ReaderFindInMap(&Fxt->Sessions, Key, &Value)) {
        READER_KEEP_STATUS(Events, ReaderAddToMap(&Fxt->Sessions, Key, 0));
        ReaderFxtWriteObject(Events,
                             READER_FXT_THREAD_OBJECT,
                             READER_FXT_SESSION(Process),
                             ReaderNumberProcess(Events, Process),
                             Session,
                             sizeof(Session) - 1);
    }

    RtlInitializeBufferWriter(&Text, Clean, sizeof(Clean));
    ReaderWriteCleanText(&Text, Name, NameLength);

    Words[0] = READER_FXT_HEADER(READER_FXT_EVENT,
                                 4 + (sizeof(Category) - 1 + 7) / 8 +
                                     (Text.LengthInBytes + 7) / 8) |
               ((ULONGLONG)READER_FXT_INSTANT << 16) |
               ((ULONGLONG)(0x8000 | (sizeof(Category) - 1)) << 32);
    if (Text.LengthInBytes != 0) {
        Words[0] |= (ULONGLONG)(0x8000 | Text.LengthInBytes) << 48;
    }

    Words[1] = Time;
    Words[2] = ReaderNumberProcess(Events, Process);
    Words[3] = Track != NULL ? Track->Identifier
                             : READER_FXT_SESSION(Process);
    ReaderPutWords(Writer, Words, 4);
    ReaderPutPaddedText(Writer, Category, sizeof(Category) - 1);
    ReaderPutPaddedText(Writer, Clean, Text.LengthInBytes);
}


static const READER_EVENT_FORMAT ReaderFxtFormat = {
    ReaderFxtBeginFile,
    ReaderFxtEndFile,
    ReaderFxtBeginTrack,
    NULL,
    ReaderFxtEnter,
    ReaderFxtLeave,
    ReaderFxtInstant
};


_Use_decl_annotations_
ULONG
ReaderExportFxt(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes the Fuchsia trace format.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
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
        return ReaderFail(Export->Context,
                          "export",
                          Export->Options->OutputUtf8,
                          STATUS_NO_MEMORY);
    }

    ReaderInitializeMap(&Fxt->Sessions, Allocator);
    ExitCode = ReaderExportEvents(&Fxt->Events, Export, &ReaderFxtFormat);
    ReaderRundownMap(&Fxt->Sessions);
    Allocator->Free(Allocator->Context, Fxt->Owners);
    Allocator->Free(Allocator->Context, Fxt->Modules);
    Allocator->Free(Allocator->Context, Fxt);
    return ExitCode;
}
