/*++

Module Name:

    CommandRecover.c

Abstract:

    TraceReader recover: makes a clean copy of a session that was damaged.  A
    store that is sound is copied as it is; of another one all records that are
    good, behind a header that says so.

--*/

#include "ReaderFile.h"

#define READER_RECOVER_BUFFER_SIZE 0x100000u

//
// How many records of a store without a header are compared with the modules
// that it may be of.
//

#define READER_RECOVER_SAMPLE 4096u

//
// A ring's records are in three parts of its file at most.
//

#define READER_RECOVER_MAXIMUM_PARTS 3u

static const READER_COLUMN ReaderRecoverColumns[] = {
    { "Store", "store", ReaderColumnText, 36 },
    { "Header", "header", ReaderColumnText, 8 },
    { "Records", "records", ReaderColumnNumber, 12 },
    { "Bad", "bad", ReaderColumnNumber, 8 },
    { "Missing", "missing", ReaderColumnNumber, 8 },
    { "Result", "result", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderRecoverTable = {
    "stores",
    ReaderRecoverColumns,
    RTL_NUMBER_OF(ReaderRecoverColumns),
    FALSE
};

static const READER_COLUMN ReaderRecoverSummaryColumns[] = {
    { "Stores", "stores", ReaderColumnNumber, 0 },
    { "Records", "records", ReaderColumnNumber, 0 },
    { "Bad", "bad", ReaderColumnNumber, 0 },
    { "Missing", "missing", ReaderColumnNumber, 0 },
    { "Lost", "lost", ReaderColumnNumber, 0 }
};

static const READER_TABLE ReaderRecoverSummaryTable = {
    "summary",
    ReaderRecoverSummaryColumns,
    RTL_NUMBER_OF(ReaderRecoverSummaryColumns),
    FALSE
};

//
// A part of a store's file, in which records lie one behind the other.
//

typedef struct _READER_RECOVER_PART {
    ULONGLONG Start;                // file offset
    ULONGLONG End;
} READER_RECOVER_PART;

//
// The store that is being recovered.
//

typedef struct _READER_RECOVER_STORE {
    PREADER_STORE Store;
    HANDLE Source;
    HANDLE Target;                  // NULL: records are only counted
    ULONGLONG FileSize;
    PCSZ Header;                    // what became of it, a literal
    READER_RECOVER_PART Parts[READER_RECOVER_MAXIMUM_PARTS];
    ULONG NumberOfParts;
    BOOLEAN IsEndKnown;             // the last part ends where records end
    BOOLEAN IsSound;                // the header and the end are good
    BOOLEAN IsLost;                 // nothing can be made of it
    BOOLEAN IsForeign;              // it is of another process
    CORE_RECORD_CHECK Check;
    TRACE_RECORD Waiting[2];        // good by themselves, the time undecided
    ULONG NumberWaiting;
    ULONGLONG NumberOfHoles;        // unwritten, since the last good one
    ULONGLONG Records;              // good
    ULONGLONG Bad;
    ULONGLONG Missing;              // that the file does not have
    ULONGLONG Beyond;               // good, behind the end that was published
    ULONGLONG TargetSize;           // bytes, with those in the buffer
    ULONG Filled;                   // bytes of the buffer
    NTSTATUS WriteStatus;
    RTL_WRITER Result;
    CHAR Text[600];
} READER_RECOVER_STORE;
typedef READER_RECOVER_STORE *PREADER_RECOVER_STORE;

typedef struct _READER_RECOVER {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    UNICODE_STRING Target;          // NT path of the new directory
    USHORT TargetLength;            // bytes of it that are the directory's
    PUCHAR Input;
    PUCHAR Output;
    PCTRACE_STORE_HEADER Known;     // of the session's process, or NULL
    PTRACE_STORE_HEADER Own;        // as the file has it
    PTRACE_STORE_HEADER Header;     // as the copy gets it
    READER_RECOVER_STORE Store;
} READER_RECOVER;
typedef READER_RECOVER *PREADER_RECOVER;


static
VOID
ReaderSayOfStore(
    _Inout_ PREADER_RECOVER_STORE Store,
    _In_z_ PCSZ Format,
    _In_ ULONGLONG Number
    )
/*++

Routine Description:

    Adds a clause to a store's result.

Arguments:

    Store - The store.

    Format - A literal with one %llu, or none.

    Number - The number.

Return Value:

    None.

--*/
{
    if (Store->Result.LengthInBytes != 0) {
        RtlWriteText(&Store->Result, "; ");
    }

    RtlWriteText(&Store->Result, Format, Number);
}


static
NTSTATUS
ReaderOpenTarget(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PCUNICODE_STRING Name,
    _Out_ PHANDLE File
    )
/*++

Routine Description:

    Creates a file of the new directory, which had nothing in it.

Arguments:

    Recover - The recovery.

    Name - The file's.

    File - Receives the handle, or NULL.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    NTSTATUS Status;

    *File = NULL;
    Recover->Target.Length = Recover->TargetLength;
    Status = RtlAppendPath(&Recover->Target,
                           Name->Buffer,
                           Name->Length / sizeof(WCHAR),
                           TRUE);
    if (NT_SUCCESS(Status)) {
        Status = ReaderOpenTemporaryFile(Recover->Context,
                                         &Recover->Target,
                                         File);
    }

    Recover->Target.Length = Recover->TargetLength;
    return Status;
}


static
NTSTATUS
ReaderOpenSource(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PCUNICODE_STRING Name,
    _Out_ PHANDLE File,
    _Out_ PULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Opens a file of the session.

Arguments:

    Recover - The recovery.

    Name - The file's.

    File - Receives the handle, or NULL.

    SizeInBytes - Receives the file's size.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Recover->Session;
    PCRTL Rtl = Recover->Context->Rtl;
    NTSTATUS Status = STATUS_SUCCESS;

    *File = NULL;
    *SizeInBytes = 0;
    Session->Path.Length = Session->DirectoryLength;
    if (Session->IsDirectory) {
        Status = RtlAppendPath(&Session->Path,
                               Name->Buffer,
                               Name->Length / sizeof(WCHAR),
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &Session->Path, File);
        if (!NT_SUCCESS(Status)) {
            *File = NULL;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Rtl, *File, SizeInBytes);
        if (!NT_SUCCESS(Status)) {
            RtlClose(Rtl, *File);
            *File = NULL;
        }
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCopyFile(
    _Inout_ PREADER_RECOVER Recover,
    _In_ HANDLE Source,
    _In_ HANDLE Target,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Out_ NTSTATUS *WriteStatus
    )
/*++

Routine Description:

    Copies a part of a file as it is, to the same place.

Arguments:

    Recover - The recovery.

    Source, Target - The files.

    Start, End - The part, file offsets.

    WriteStatus - Receives what writing gave.

Return Value:

    What reading gave; a file that ends sooner is no failure.

--*/
{
    PCRTL Rtl = Recover->Context->Rtl;
    ULONGLONG Offset;
    ULONGLONG Size;
    ULONG ReadInBytes;
    NTSTATUS Status;

    *WriteStatus = STATUS_SUCCESS;
    for (Offset = Start; Offset < End; Offset += ReadInBytes) {

        Size = End - Offset;
        if (Size > READER_RECOVER_BUFFER_SIZE) {
            Size = READER_RECOVER_BUFFER_SIZE;
        }

        Status = RtlReadFile(Rtl,
                             Source,
                             Offset,
                             Recover->Input,
                             (ULONG)Size,
                             &ReadInBytes);
        if (Status == STATUS_END_OF_FILE ||
            (NT_SUCCESS(Status) && ReadInBytes == 0)) {
            break;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        *WriteStatus = RtlWriteFile(Rtl,
                                    Target,
                                    Offset,
                                    Recover->Input,
                                    ReadInBytes);
        if (!NT_SUCCESS(*WriteStatus)) {
            return STATUS_SUCCESS;
        }
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderFlushRecords(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Writes the records that have been gathered.

Arguments:

    Recover - The recovery.

Return Value:

    None.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;

    if (Store->Filled != 0 && NT_SUCCESS(Store->WriteStatus)) {
        Store->WriteStatus = RtlWriteFile(Recover->Context->Rtl,
                                          Store->Target,
                                          Store->TargetSize - Store->Filled,
                                          Recover->Output,
                                          Store->Filled);
    }

    Store->Filled = 0;
}


static
VOID
ReaderKeepRecord(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PCTRACE_RECORD Record
    )
/*++

Routine Description:

    Keeps a record that is good.

Arguments:

    Recover - The recovery.

    Record - The record.

Return Value:

    None.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;

    Store->Check.PreviousTimestamp = Record->Timestamp;
    Store->Records += 1;
    if (Store->Target == NULL) {
        return;
    }

    if (Store->Filled == READER_RECOVER_BUFFER_SIZE) {
        ReaderFlushRecords(Recover);
    }

    RtlCopyBytes(Recover->Output + Store->Filled, Record, sizeof(*Record));
    Store->Filled += sizeof(*Record);
    Store->TargetSize += sizeof(*Record);
}


static
VOID
ReaderDecideRecord(
    _Inout_ PREADER_RECOVER Recover,
    _In_opt_ PCTRACE_RECORD Third
    )
/*++

Routine Description:

    Decides whether the first of the records that wait is kept.  One that is
    later than the two behind it is bad, and they are not.

Arguments:

    Recover - The recovery, with a record or two waiting.

    Third - The record after those; NULL: there is none.

Return Value:

    None.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCTRACE_RECORD First = &Store->Waiting[0];
    PCTRACE_RECORD Second = &Store->Waiting[1];
    ULONGLONG Previous = Store->Check.PreviousTimestamp;

    if (First->Timestamp < Previous ||
        (Third != NULL &&
         First->Timestamp > Second->Timestamp &&
         First->Timestamp > Third->Timestamp &&
         Second->Timestamp >= Previous &&
         Third->Timestamp >= Second->Timestamp)) {
        Store->Bad += 1;
    } else {
        ReaderKeepRecord(Recover, First);
    }

    Store->Waiting[0] = Store->Waiting[1];
    Store->NumberWaiting -= 1;
}


static
VOID
ReaderTakeRecord(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PCTRACE_RECORD Record
    )
/*++

Routine Description:

    Takes the next record of a store.

Arguments:

    Recover - The recovery.

    Record - What is in its place.

Return Value:

    None.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    CORE_RECORD_CHECK Check = Store->Check;

    if (Record->Timestamp == 0) {
        if (Store->IsEndKnown || Store->Records != 0 ||
            Store->NumberWaiting != 0) {
            Store->NumberOfHoles += 1;
        }

        return;
    }

    Check.PreviousTimestamp = 0;
    if (CoreValidateRecord(&Check, Record, FALSE) != CoreRecordValid) {
        Store->Bad += 1;
        return;
    }

    //
    // Holes with a good record behind them were records.
    //

    Store->Bad += Store->NumberOfHoles;
    Store->NumberOfHoles = 0;
    if (Store->NumberWaiting == 2) {
        ReaderDecideRecord(Recover, Record);
    }

    Store->Waiting[Store->NumberWaiting] = *Record;
    Store->NumberWaiting += 1;
}


_Must_inspect_result_
static
NTSTATUS
ReaderScanPart(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
/*++

Routine Description:

    Takes the records of a part of the file.

Arguments:

    Recover - The recovery.

    Start, End - The part, file offsets.

Return Value:

    STATUS_SUCCESS or what reading gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    ULONGLONG Size;
    ULONG ReadInBytes;
    ULONG Index;
    NTSTATUS Status;

    while (End - Start >= TRACE_RECORD_SIZE && Start < End) {

        Size = End - Start;
        if (Size > READER_RECOVER_BUFFER_SIZE) {
            Size = READER_RECOVER_BUFFER_SIZE;
        }

        Status = RtlReadFile(Recover->Context->Rtl,
                             Store->Source,
                             Start,
                             Recover->Input,
                             (ULONG)Size,
                             &ReadInBytes);
        if (Status == STATUS_END_OF_FILE ||
            (NT_SUCCESS(Status) && ReadInBytes < TRACE_RECORD_SIZE)) {
            break;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        ReadInBytes -= ReadInBytes % TRACE_RECORD_SIZE;
        for (Index = 0; Index < ReadInBytes; Index += TRACE_RECORD_SIZE) {
            ReaderTakeRecord(Recover,
                             (PCTRACE_RECORD)(Recover->Input + Index));
        }

        Start += ReadInBytes;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderScanStore(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Takes all records of a store, and then what may lie behind the end that it
    published: the header of a store whose machine went down may be older than
    its records.

Arguments:

    Recover - The recovery, the store's parts known.

Return Value:

    STATUS_SUCCESS or what reading gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCTRACE_STORE_HEADER Header = Recover->Header;
    ULONGLONG Bad;
    ULONGLONG Records;
    ULONG Index;
    NTSTATUS Status;

    CoreInitializeRecordCheck(&Store->Check, Header);
    Store->NumberWaiting = 0;
    Store->NumberOfHoles = 0;
    Store->Records = 0;
    Store->Bad = 0;
    Store->Beyond = 0;

    for (Index = 0; Index < Store->NumberOfParts; Index++) {
        Status = ReaderScanPart(Recover,
                                Store->Parts[Index].Start,
                                Store->Parts[Index].End);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    while (Store->NumberWaiting != 0) {
        ReaderDecideRecord(Recover, NULL);
    }

    //
    // The last record before the end may be reserved and not written.
    //

    if (Store->IsEndKnown && Store->NumberOfHoles > 1) {
        Store->Bad += Store->NumberOfHoles - 1;
    }

    if (!Store->IsEndKnown || Header->State != TRACE_STATE_OPEN ||
        Header->RingSizeInBytes != 0) {
        return STATUS_SUCCESS;
    }

    Bad = Store->Bad;
    Records = Store->Records;
    Store->NumberOfHoles = 0;
    Status = ReaderScanPart(Recover,
                            Store->NumberOfParts != 0 ? Store->Parts[0].End
                                                      : Header->HeaderSize,
                            Store->FileSize);
    while (Store->NumberWaiting != 0) {
        ReaderDecideRecord(Recover, NULL);
    }

    Store->Beyond = Store->Records - Records;
    if (Store->Beyond == 0) {
        Store->Bad = Bad;
    }

    return Status;
}


static
ULONG
ReaderLengthOfModuleName(
    _In_ PCUNICODE_STRING Name,
    _Out_ PULONG ThreadId,
    _Out_ PULONG SequenceNumber
    )
/*++

Routine Description:

    Takes a store's name apart: MODULE-THREAD-SEQUENCE.trace.

Arguments:

    Name - The name.

    ThreadId, SequenceNumber - Receive the numbers; 0 if it is no such name.

Return Value:

    The number of characters of MODULE; 0 if it is no such name.

--*/
{
    ULONG Numbers[2] = { 0, 0 };
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Index;
    ULONG End;
    ULONGLONG Number;

    *ThreadId = 0;
    *SequenceNumber = 0;
    if (Length < sizeof(TRACE_FILE_SUFFIX)) {
        return 0;
    }

    Length -= sizeof(TRACE_FILE_SUFFIX) - 1;
    for (Index = 0; Index < 2; Index++) {

        End = Length;
        while (Length != 0 && Name->Buffer[Length - 1] >= L'0' &&
               Name->Buffer[Length - 1] <= L'9') {
            Length -= 1;
        }

        if (Length == 0 || Name->Buffer[Length - 1] != L'-' ||
            !RtlParseNumber(Name->Buffer + Length, End - Length, &Number) ||
            Number > 0xFFFFFFFFULL) {
            return 0;
        }

        Numbers[Index] = (ULONG)Number;
        Length -= 1;
    }

    *ThreadId = Numbers[1];
    *SequenceNumber = Numbers[0];
    return Length;
}


static
BOOLEAN
ReaderIsOfProcess(
    _In_ PCREADER_STORE Store,
    _In_opt_ PCTRACE_STORE_HEADER Known
    )
/*++

Routine Description:

    Decides whether a store has a header that is valid and of a process.

Arguments:

    Store - The store.

    Known - A header of the process, or NULL.

Return Value:

    TRUE if so.

--*/
{
    return NT_SUCCESS(Store->Status) &&
           Store->HeaderResult.State == CoreHeaderValid &&
           Known != NULL &&
           Store->Header->ProcessId == Known->ProcessId &&
           Store->Header->ProcessCreationTime == Known->ProcessCreationTime;
}


static
VOID
ReaderFindProcess(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Finds the process that most of the stores are of; in doubt, that of the
    first one.

Arguments:

    Recover - The recovery, whose Known is set.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = &Recover->Session;
    PCTRACE_STORE_HEADER Candidate = NULL;
    PREADER_STORE Store;
    ULONG Votes = 0;
    ULONG First = 0;
    ULONG Index;

    //
    // A store that is of another process takes a vote away: only what most are
    // of can be left.
    //

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (!ReaderIsOfProcess(Store, Store->Header)) {
            continue;
        }

        if (Votes == 0) {
            Candidate = Store->Header;
        }

        if (ReaderIsOfProcess(Store, Candidate)) {
            Votes += 1;
        } else {
            Votes -= 1;
        }
    }

    Votes = 0;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (ReaderIsOfProcess(Session->Stores[Index], Candidate)) {
            Votes += 1;
        }

        if (ReaderIsOfProcess(Session->Stores[Index], Session->Header)) {
            First += 1;
        }
    }

    Recover->Known = Votes > First ? Candidate : Session->Header;
}


static
ULONG
ReaderCountFitting(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
/*++

Routine Description:

    Counts the records that can be of a module.

Arguments:

    Header - A header of the module.

    Records, NumberOfRecords - The records.

Return Value:

    How many can.

--*/
{
    CORE_RECORD_CHECK Check;
    ULONG Count = 0;
    ULONG Index;

    CoreInitializeRecordCheck(&Check, Header);
    for (Index = 0; Index < NumberOfRecords; Index++) {
        Check.PreviousTimestamp = 0;
        if (CoreValidateRecord(&Check, &Records[Index], FALSE) ==
            CoreRecordValid) {
            Count += 1;
        }
    }

    return Count;
}


static
PREADER_STORE
ReaderFindSibling(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Finds the store whose module the records of one without a header fit best:
    among those whose names say that they are of the same module.

Arguments:

    Recover - The recovery.

Return Value:

    The store, or NULL.

--*/
{
    PREADER_SESSION Session = &Recover->Session;
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCUNICODE_STRING Name = &Store->Store->Name;
    PREADER_STORE Best = NULL;
    PREADER_STORE Other;
    ULONG BestCount = 0;
    ULONG NumberOfRecords;
    ULONG ReadInBytes;
    ULONG Length;
    ULONG Number;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    Status = RtlReadFile(Recover->Context->Rtl,
                         Store->Source,
                         TRACE_HEADER_SIZE,
                         Recover->Input,
                         READER_RECOVER_SAMPLE * TRACE_RECORD_SIZE,
                         &ReadInBytes);
    if (!NT_SUCCESS(Status)) {
        return NULL;
    }

    NumberOfRecords = ReadInBytes / TRACE_RECORD_SIZE;
    Length = ReaderLengthOfModuleName(Name, &Number, &Number);
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Other = Session->Stores[Index];
        if (!ReaderIsOfProcess(Other, Recover->Known) ||
            (Length != 0 &&
             (ReaderLengthOfModuleName(&Other->Name, &Number, &Number) !=
                  Length ||
              !RtlAreBytesEqual(Other->Name.Buffer,
                                Name->Buffer,
                                Length * sizeof(WCHAR))))) {
            continue;
        }

        Count = ReaderCountFitting(Other->Header,
                                   (PCTRACE_RECORD)Recover->Input,
                                   NumberOfRecords);
        if (Count > BestCount) {
            Best = Other;
            BestCount = Count;
        }
    }

    return Best;
}


static
VOID
ReaderFindStack(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONG OwnSize
    )
/*++

Routine Description:

    Finds the stack of a thread whose store has no header: in what is left of
    it, or in another store of the thread.  Otherwise it stays unknown.

Arguments:

    Recover - The recovery; the header has the thread's identifier.

    OwnSize - How much there is of the store's own header.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = &Recover->Session;
    PTRACE_STORE_HEADER Header = Recover->Header;
    PCTRACE_STORE_HEADER Own = Recover->Own;
    ULONG Index;

    Header->Flags &= ~TRACE_FLAG_FIBER;
    if (OwnSize == TRACE_HEADER_SIZE &&
        Own->ProcessId == Header->ProcessId &&
        Own->ProcessCreationTime == Header->ProcessCreationTime &&
        Own->ThreadId == Header->ThreadId &&
        Own->StackBase > Own->StackLimit &&
        Own->StackBase - Own->StackLimit <= 0xFFFFFFFFULL) {
        Header->StackBase = Own->StackBase;
        Header->StackLimit = Own->StackLimit;
        Header->Flags |= Own->Flags & TRACE_FLAG_FIBER;
        return;
    }

    Header->StackBase = 0;
    Header->StackLimit = 0;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Other = Session->Stores[Index];

        if (ReaderIsOfProcess(Other, Recover->Known) &&
            Other->Header->ThreadId == Header->ThreadId &&
            Header->ThreadId != 0 &&
            (Other->Header->Flags & TRACE_FLAG_FIBER) == 0) {
            Header->StackBase = Other->Header->StackBase;
            Header->StackLimit = Other->Header->StackLimit;
            return;
        }
    }
}


static
BOOLEAN
ReaderRebuildHeader(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONG OwnSize
    )
/*++

Routine Description:

    Makes a header for a store that has none: the process, the module and the
    clock are those of another store of the module, the thread is that of the
    file's name; the anchors are the store's own where their sums are right.
    What nobody else can know (why it ended, what it counted) is left empty.

Arguments:

    Recover - The recovery.

    OwnSize - How much there is of the store's own header.

Return Value:

    FALSE if there is no other store of the module.

--*/
{
    PTRACE_STORE_HEADER Header = Recover->Header;
    PCTRACE_STORE_HEADER Own = Recover->Own;
    PREADER_STORE Sibling;
    ULONG ThreadId;
    ULONG SequenceNumber;

    Sibling = ReaderFindSibling(Recover);
    if (Sibling == NULL) {
        return FALSE;
    }

    RtlCopyBytes(Header, Sibling->Header, sizeof(*Header));
    (VOID)ReaderLengthOfModuleName(&Recover->Store.Store->Name,
                                   &ThreadId,
                                   &SequenceNumber);
    Header->ThreadId = ThreadId;
    Header->SequenceNumber = SequenceNumber;
    ReaderFindStack(Recover, OwnSize);

    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->HookFlags = 0;
    Header->NumberOfEventsLost = 0;
    Header->NumberOfEventsReentered = 0;
    Header->State = TRACE_STATE_OPEN;
    Header->Reason = TRACE_REASON_NONE;
    Header->Status = 0;
    Header->NumberOfViewChanges = 0;
    Header->NumberOfViewsMappedInline = 0;
    Header->NumberOfInlinePreparations = 0;
    Header->InlineTicks = 0;
    Header->MaximumInlineTicks = 0;
    Header->FirstPosition = 0;
    Header->NumberOfCallsTakenBack = 0;
    Header->NumberOfEventsTooDeep = 0;
    Header->NumberOfWaits = 0;
    Header->WaitTicks = 0;
    Header->ThreadNameLength = 0;
    Header->ThreadNameFullLength = 0;
    RtlZeroBytes(Header->ThreadName, sizeof(Header->ThreadName));
    RtlZeroBytes(&Header->OpenAnchor, sizeof(Header->OpenAnchor));
    RtlZeroBytes(&Header->LastAnchor, sizeof(Header->LastAnchor));
    if (OwnSize == TRACE_HEADER_SIZE) {
        if (CoreIsAnchorValid(&Own->OpenAnchor)) {
            Header->OpenAnchor = Own->OpenAnchor;
        }

        if (CoreIsAnchorValid(&Own->LastAnchor)) {
            Header->LastAnchor = Own->LastAnchor;
        }
    }

    return TRUE;
}


static
BOOLEAN
ReaderChooseHeader(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONG OwnSize
    )
/*++

Routine Description:

    Finds the header by which a store is read: its own, its own with the fields
    put right that are the same in every store, or one that is rebuilt.

Arguments:

    Recover - The recovery.

    OwnSize - How much there is of the store's own header.

Return Value:

    FALSE if there is none.

--*/
{
    PTRACE_STORE_HEADER Header = Recover->Header;
    PCTRACE_STORE_HEADER Known = Recover->Known;
    CORE_HEADER_RESULT Result;
    BOOLEAN IsId;
    BOOLEAN IsTime;

    RtlCopyBytes(Header, Recover->Own, sizeof(*Header));
    if (CoreValidateHeader(Header, OwnSize, &Result)) {

        //
        // A store of another process has neither its identifier nor its time.
        //

        Recover->Store.Header = "whole";
        IsId = Known == NULL || Header->ProcessId == Known->ProcessId;
        IsTime = Known == NULL || Header->ProcessCreationTime ==
                                      Known->ProcessCreationTime;
        if (IsId != IsTime) {
            Header->ProcessId = Known->ProcessId;
            Header->ProcessCreationTime = Known->ProcessCreationTime;
            Recover->Store.Header = "repaired";
        }

        Recover->Store.IsForeign = !IsId && !IsTime;
        return !Recover->Store.IsForeign;
    }

    if (Result.State == CoreHeaderNewerVersion &&
        Header->HeaderSize != TRACE_HEADER_SIZE) {
        return FALSE;
    }

    Header->Magic = TRACE_STORE_MAGIC;
    Header->MajorVersion = TRACE_FORMAT_MAJOR;
    Header->MinorVersion = TRACE_FORMAT_MINOR;
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->RecordSize = Header->Mode == TRACE_MODE_TREE ? TRACE_NODE_SIZE
                                                         : TRACE_RECORD_SIZE;
    if (CoreValidateHeader(Header, OwnSize, &Result) &&
        (Known == NULL ||
         (Header->ProcessId == Known->ProcessId &&
          Header->ProcessCreationTime == Known->ProcessCreationTime))) {
        Recover->Store.Header = "repaired";
        return TRUE;
    }

    Recover->Store.Header = "rebuilt";
    return ReaderRebuildHeader(Recover, OwnSize);
}


static
VOID
ReaderAddPart(
    _Inout_ PREADER_RECOVER_STORE Store,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
/*++

Routine Description:

    Adds a part of the file to those that have records.

Arguments:

    Store - The store.

    Start, End - The part, file offsets.

Return Value:

    None.

--*/
{
    if (Start < End &&
        Store->NumberOfParts < READER_RECOVER_MAXIMUM_PARTS) {
        Store->Parts[Store->NumberOfParts].Start = Start;
        Store->Parts[Store->NumberOfParts].End = End;
        Store->NumberOfParts += 1;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindLatest(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Out_ PULONGLONG Latest,
    _Out_ PBOOLEAN IsAround
    )
/*++

Routine Description:

    Finds where in a ring its latest record is.

Arguments:

    Recover - The recovery.

    Start, End - The ring, file offsets.

    Latest - Receives where that record ends; Start: there is none.

    IsAround - Receives whether the ring has come around: older records are
        behind that one, or its beginning is empty.

Return Value:

    STATUS_SUCCESS or what reading gave.

--*/
{
    CORE_RECORD_CHECK Check;
    PCTRACE_RECORD Record;
    ULONGLONG Timestamp = 0;
    ULONGLONG Offset = Start;
    ULONG ReadInBytes;
    ULONG Index;
    NTSTATUS Status;

    *Latest = Start;
    *IsAround = FALSE;
    CoreInitializeRecordCheck(&Check, Recover->Header);
    while (Offset < End) {

        Status = RtlReadFile(Recover->Context->Rtl,
                             Recover->Store.Source,
                             Offset,
                             Recover->Input,
                             End - Offset > READER_RECOVER_BUFFER_SIZE
                                 ? READER_RECOVER_BUFFER_SIZE
                                 : (ULONG)(End - Offset),
                             &ReadInBytes);
        if (Status == STATUS_END_OF_FILE ||
            (NT_SUCCESS(Status) && ReadInBytes < TRACE_RECORD_SIZE)) {
            break;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        ReadInBytes -= ReadInBytes % TRACE_RECORD_SIZE;
        for (Index = 0; Index < ReadInBytes; Index += TRACE_RECORD_SIZE) {

            Record = (PCTRACE_RECORD)(Recover->Input + Index);
            Check.PreviousTimestamp = 0;
            if (Offset + Index == Start && Record->Timestamp == 0) {
                *IsAround = TRUE;
            }

            if (CoreValidateRecord(&Check, Record, FALSE) !=
                CoreRecordValid) {
                continue;
            }

            if (Record->Timestamp >= Timestamp) {
                Timestamp = Record->Timestamp;
                *Latest = Offset + Index + TRACE_RECORD_SIZE;
            } else {
                *IsAround = TRUE;
            }
        }

        Offset += ReadInBytes;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindAllParts(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Finds the parts of a store that does not say where its records end: all of
    the file; of a ring that has come around first what lies behind its latest
    record.

Arguments:

    Recover - The recovery, with a header.

Return Value:

    STATUS_SUCCESS or what reading gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCTRACE_STORE_HEADER Header = Recover->Header;
    ULONGLONG Segment = Header->RingFileOffset;
    ULONGLONG Latest;
    BOOLEAN IsAround;
    NTSTATUS Status;

    Store->IsEndKnown = FALSE;
    if (Header->RingSizeInBytes == 0 || Store->FileSize <= Segment) {
        ReaderAddPart(Store, Header->HeaderSize, Store->FileSize);
        return STATUS_SUCCESS;
    }

    Status = ReaderFindLatest(Recover,
                              Segment,
                              Store->FileSize,
                              &Latest,
                              &IsAround);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (IsAround && Latest != Segment) {
        ReaderAddPart(Store, Latest, Store->FileSize);
    } else {
        ReaderAddPart(Store, Header->HeaderSize, Segment);
    }

    ReaderAddPart(Store, Segment, Latest);
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindParts(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Finds the parts of the file that have the store's records.

Arguments:

    Recover - The recovery, with a header.

Return Value:

    STATUS_SUCCESS or what reading gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCTRACE_STORE_HEADER Header = Recover->Header;
    CORE_END_STATE EndState = CoreEndBad;
    CORE_RANGE Range;
    ULONGLONG First = CoreReadFirstRecord(Header);
    ULONGLONG Available;
    ULONGLONG Position;
    ULONGLONG Offset;
    ULONGLONG End;

    Store->NumberOfParts = 0;
    Store->IsEndKnown = TRUE;
    Store->IsSound = FALSE;
    Store->Missing = 0;

    End = (Header->Generation & 1) != 0
              ? Header->ViewFileOffset
              : Header->Cursor + Header->CursorToFileOffset;
    if (!RtlAreStringsEqual(Store->Header, "rebuilt")) {
        EndState = CoreFindRecords(Header,
                                   End,
                                   First,
                                   Store->FileSize,
                                   &Range);
    }

    if (EndState == CoreEndBad) {
        if (!RtlAreStringsEqual(Store->Header, "rebuilt")) {
            ReaderSayOfStore(Store, "its end was not published", 0);
        }

        return ReaderFindAllParts(Recover);
    }

    if (EndState == CoreEndBeyondFile) {
        Store->Missing = (End - First - (Range.End - Range.Start)) /
                         TRACE_RECORD_SIZE;
        ReaderSayOfStore(Store, "the file was cut", 0);
    }

    Store->IsSound = EndState == CoreEndValid &&
                     RtlAreStringsEqual(Store->Header, "whole");
    for (Position = Range.Start; Position < Range.End;) {

        Offset = CorePositionToFileOffset(Header, Position, &Available);
        if (Available > Range.End - Position) {
            Available = Range.End - Position;
        }

        if (Available == 0) {
            break;
        }

        ReaderAddPart(Store, Offset, Offset + Available);
        Position += Available;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCopySound(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Copies a store that is sound: its header and its records are as they were.

Arguments:

    Recover - The recovery, the store scanned.

Return Value:

    STATUS_SUCCESS or what reading gave; Store.WriteStatus has what writing
    gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    ULONGLONG End = Recover->Header->HeaderSize;
    ULONG Index;

    for (Index = 0; Index < Store->NumberOfParts; Index++) {
        if (Store->Parts[Index].End > End) {
            End = Store->Parts[Index].End;
        }
    }

    return ReaderCopyFile(Recover,
                          Store->Source,
                          Store->Target,
                          0,
                          End,
                          &Store->WriteStatus);
}


_Must_inspect_result_
static
NTSTATUS
ReaderWriteClean(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Writes what is good of a store: its records one behind the other, so that a
    ring becomes a store that keeps everything; then a header for them.

Arguments:

    Recover - The recovery, the store's parts known.

Return Value:

    STATUS_SUCCESS or what reading gave; Store.WriteStatus has what writing
    gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PTRACE_STORE_HEADER Header = Recover->Header;
    NTSTATUS Status;

    Store->TargetSize = TRACE_HEADER_SIZE;
    Store->Filled = 0;
    Status = ReaderScanStore(Recover);
    ReaderFlushRecords(Recover);
    if (!NT_SUCCESS(Status) || !NT_SUCCESS(Store->WriteStatus)) {
        return Status;
    }

    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->Generation = 0;
    Header->Cursor = Store->TargetSize;
    Header->CursorToFileOffset = 0;
    Header->ViewFileOffset = Store->TargetSize;
    Header->Limit = Store->TargetSize;
    Header->WriterContext = 0;
    Header->FirstPosition = 0;
    Header->RingFileOffset = 0;
    Header->RingSizeInBytes = 0;
    Store->WriteStatus = RtlWriteFile(Recover->Context->Rtl,
                                      Store->Target,
                                      0,
                                      Header,
                                      sizeof(*Header));
    return STATUS_SUCCESS;
}


static
VOID
ReaderLoseStore(
    _Inout_ PREADER_RECOVER_STORE Store,
    _In_z_ PCSZ Why,
    _In_ BOOLEAN IsLost
    )
/*++

Routine Description:

    Notes that a store is left out.

Arguments:

    Store - The store.

    Why - A literal.

    IsLost - Whether there was something in it.

Return Value:

    None.

--*/
{
    Store->Header = IsLost ? "lost" : "empty";
    Store->IsLost = IsLost;
    Store->Records = 0;
    Store->Bad = 0;
    Store->Missing = 0;
    Store->Beyond = 0;
    RtlInitializeBufferWriter(&Store->Result,
                              Store->Text,
                              sizeof(Store->Text));
    ReaderSayOfStore(Store, Why, 0);
}


_Must_inspect_result_
static
NTSTATUS
ReaderIsEmptyFile(
    _Inout_ PREADER_RECOVER Recover,
    _Out_ PBOOLEAN IsEmpty
    )
/*++

Routine Description:

    Decides whether there is nothing but zeroes in a file.

Arguments:

    Recover - The recovery, the store's file open.

    IsEmpty - Receives the answer.

Return Value:

    STATUS_SUCCESS or what reading gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    ULONGLONG Offset;
    ULONG ReadInBytes;
    ULONG Index;
    NTSTATUS Status;

    *IsEmpty = FALSE;
    for (Offset = 0; Offset < Store->FileSize; Offset += ReadInBytes) {

        Status = RtlReadFile(Recover->Context->Rtl,
                             Store->Source,
                             Offset,
                             Recover->Input,
                             READER_RECOVER_BUFFER_SIZE,
                             &ReadInBytes);
        if (Status == STATUS_END_OF_FILE ||
            (NT_SUCCESS(Status) && ReadInBytes == 0)) {
            break;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        for (Index = 0; Index < ReadInBytes; Index++) {
            if (Recover->Input[Index] != 0) {
                return STATUS_SUCCESS;
            }
        }
    }

    *IsEmpty = TRUE;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderWriteStore(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Writes the copy of a store.

Arguments:

    Recover - The recovery, the store's parts known.

Return Value:

    STATUS_SUCCESS or what reading gave; Store.WriteStatus has what writing
    gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCREADER_CONTEXT Context = Recover->Context;
    NTSTATUS Status;

    Status = ReaderScanStore(Recover);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Store->Bad != 0 || Store->Beyond != 0) {
        Store->IsSound = FALSE;
    }

    Store->WriteStatus = ReaderOpenTarget(Recover,
                                          &Store->Store->Name,
                                          &Store->Target);
    if (!NT_SUCCESS(Store->WriteStatus)) {
        return STATUS_SUCCESS;
    }

    Status = Store->IsSound ? ReaderCopySound(Recover)
                            : ReaderWriteClean(Recover);
    if (!NT_SUCCESS(Status) || !NT_SUCCESS(Store->WriteStatus)) {
        ReaderRemoveFile(Context, Store->Target);
    }

    RtlClose(Context->Rtl, Store->Target);
    Store->Target = NULL;
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderRecoverTree(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Copies a store that holds a tree: what is bad in it is for the reader to
    leave out.  One whose own header is lost is lost.

Arguments:

    Recover - The recovery, with a header of a tree.

Return Value:

    STATUS_SUCCESS or what reading gave; Store.WriteStatus has what writing
    gave.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCREADER_CONTEXT Context = Recover->Context;
    NTSTATUS Status;

    if (RtlAreStringsEqual(Store->Header, "rebuilt")) {
        ReaderLoseStore(Store,
                        "it holds a tree, and where that is its header would "
                        "have to say",
                        TRUE);
        return STATUS_SUCCESS;
    }

    Store->WriteStatus = ReaderOpenTarget(Recover,
                                          &Store->Store->Name,
                                          &Store->Target);
    if (!NT_SUCCESS(Store->WriteStatus)) {
        return STATUS_SUCCESS;
    }

    Status = ReaderCopyFile(Recover,
                            Store->Source,
                            Store->Target,
                            0,
                            Store->FileSize,
                            &Store->WriteStatus);
    if (NT_SUCCESS(Status) && NT_SUCCESS(Store->WriteStatus)) {
        Store->WriteStatus = RtlWriteFile(Context->Rtl,
                                          Store->Target,
                                          0,
                                          Recover->Header,
                                          sizeof(*Recover->Header));
        ReaderSayOfStore(Store,
                         "a tree of %llu nodes, copied as it is",
                         Recover->Header->NumberOfNodes);
    }

    if (!NT_SUCCESS(Status) || !NT_SUCCESS(Store->WriteStatus)) {
        ReaderRemoveFile(Context, Store->Target);
    }

    RtlClose(Context->Rtl, Store->Target);
    Store->Target = NULL;
    return Status;
}


static
VOID
ReaderRecoverStore(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PREADER_STORE Source
    )
/*++

Routine Description:

    Recovers one store.

Arguments:

    Recover - The recovery; its Store receives what came of it.

    Source - The store.

Return Value:

    None.

--*/
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCRTL Rtl = Recover->Context->Rtl;
    BOOLEAN IsEmpty;
    ULONG OwnSize = 0;
    NTSTATUS Status;

    RtlZeroBytes(Store, FIELD_OFFSET(READER_RECOVER_STORE, Text));
    RtlInitializeBufferWriter(&Store->Result,
                              Store->Text,
                              sizeof(Store->Text));
    Store->Store = Source;
    Status = ReaderOpenSource(Recover,
                              &Source->Name,
                              &Store->Source,
                              &Store->FileSize);
    if (!NT_SUCCESS(Status)) {
        ReaderLoseStore(Store, "it cannot be opened", TRUE);
        return;
    }

    RtlZeroBytes(Recover->Own, sizeof(*Recover->Own));
    Status = ReaderIsEmptyFile(Recover, &IsEmpty);
    if (NT_SUCCESS(Status) && !IsEmpty) {
        Status = RtlReadFile(Rtl,
                             Store->Source,
                             0,
                             Recover->Own,
                             sizeof(*Recover->Own),
                             &OwnSize);
    }

    if (!NT_SUCCESS(Status)) {
        ReaderLoseStore(Store, "it cannot be read", TRUE);
    } else if (IsEmpty) {
        ReaderLoseStore(Store, "there is nothing in it", FALSE);
    } else if (!ReaderChooseHeader(Recover, OwnSize)) {
        ReaderLoseStore(Store,
                        Store->IsForeign
                            ? "it is of another process"
                            : "no other store says what its header was",
                        TRUE);
    } else {

        if (Recover->Header->Mode == TRACE_MODE_TREE) {
            Status = ReaderRecoverTree(Recover);
        } else {
            Status = ReaderFindParts(Recover);
            if (NT_SUCCESS(Status)) {
                Status = ReaderWriteStore(Recover);
            }
        }

        if (!NT_SUCCESS(Status)) {
            ReaderLoseStore(Store, "it cannot be read", TRUE);
        }
    }

    RtlClose(Rtl, Store->Source);
    Store->Source = NULL;
    if (Store->Beyond != 0) {
        ReaderSayOfStore(Store,
                         "%llu were behind the end that was published",
                         Store->Beyond);
    }

    if (Store->Result.LengthInBytes == 0) {
        ReaderSayOfStore(Store,
                         Store->Bad != 0 ? "bad records left out" : "ok",
                         0);
    }
}


static
VOID
ReaderPutRecovered(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_RECOVER_STORE *Store
    )
/*++

Routine Description:

    Writes a store's row.

Arguments:

    Output - The output.

    Store - What came of it.

Return Value:

    None.

--*/
{
    CHAR Name[600];
    ULONG Length;

    RtlWideToUtf8(Store->Store->Name.Buffer,
                  Store->Store->Name.Length / sizeof(WCHAR),
                  Name,
                  sizeof(Name),
                  &Length);
    ReaderPutText(Output, Name, Length);
    ReaderPutString(Output, Store->Header);
    ReaderPutNumber(Output, Store->Records);
    ReaderPutNumber(Output, Store->Bad);
    ReaderPutNumber(Output, Store->Missing);
    ReaderPutText(Output, Store->Text, Store->Result.LengthInBytes);
}


static
ULONG
ReaderRecoverStores(
    _Inout_ PREADER_RECOVER Recover
    )
/*++

Routine Description:

    Recovers all stores, and says what came of each.

Arguments:

    Recover - The recovery.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Recover->Context;
    PREADER_SESSION Session = &Recover->Session;
    PREADER_RECOVER_STORE Store = &Recover->Store;
    READER_OUTPUT Output;
    ULONGLONG Records = 0;
    ULONGLONG Bad = 0;
    ULONGLONG Missing = 0;
    ULONG Lost = 0;
    ULONG Index;

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Recover->Options->Format,
                        &Session->Clock,
                        "recover",
                        FALSE);
    ReaderBeginTable(&Output, &ReaderRecoverTable, 0);
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        ReaderRecoverStore(Recover, Session->Stores[Index]);
        if (!NT_SUCCESS(Store->WriteStatus)) {
            return ReaderFail(Context,
                              "write a store",
                              Recover->Options->OutputUtf8,
                              Store->WriteStatus);
        }

        ReaderPutRecovered(&Output, Store);
        Records += Store->Records;
        Bad += Store->Bad;
        Missing += Store->Missing;
        Lost += Store->IsLost ? 1 : 0;
    }

    ReaderEndTable(&Output);
    switch (Recover->Options->Format) {

    case ReaderFormatJson:
        ReaderBeginTable(&Output, &ReaderRecoverSummaryTable, 0);
        ReaderPutNumber(&Output, Session->NumberOfStores);
        ReaderPutNumber(&Output, Records);
        ReaderPutNumber(&Output, Bad);
        ReaderPutNumber(&Output, Missing);
        ReaderPutNumber(&Output, Lost);
        ReaderEndTable(&Output);
        break;

    case ReaderFormatText:
        RtlWriteText(Context->Output,
                     "%u store%s, %llu records, %llu bad, %llu missing, %u "
                     "stores lost\n",
                     Session->NumberOfStores,
                     Session->NumberOfStores == 1 ? "" : "s",
                     Records,
                     Bad,
                     Missing,
                     Lost);
        break;

    default:
        break;
    }

    ReaderEndDocument(&Output);
    return Bad != 0 || Missing != 0 || Lost != 0 ? READER_EXIT_BAD
                                                 : READER_EXIT_SUCCESS;
}


static
NTSTATUS
ReaderCopyOther(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
/*++

Routine Description:

    Copies a directory's entry as it is if it is a log, the symbol cache or the
    control file.

Arguments:

    CallbackContext - The recovery.

    Name - The entry's.

    SizeInBytes - Not used: it may be older than the file.

    IsDirectory - Whether the entry is one.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    static const WCHAR Log[] = L".LOG";
    static const WCHAR Cache[] = L"SYMBOLS.CACHE";
    static const WCHAR Control[] = L"SESSION.CONTROL";
    PREADER_RECOVER Recover = (PREADER_RECOVER)CallbackContext;
    PCRTL Rtl = Recover->Context->Rtl;
    ULONG NameLength = Name->Length / sizeof(WCHAR);
    HANDLE Source;
    HANDLE Target;
    ULONGLONG Size;
    BOOLEAN IsLog = NameLength >= RTL_NUMBER_OF(Log) - 1;
    BOOLEAN IsCache = NameLength == RTL_NUMBER_OF(Cache) - 1;
    BOOLEAN IsControl = NameLength == RTL_NUMBER_OF(Control) - 1;
    ULONG Index;
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    for (Index = 0; IsLog && Index < RTL_NUMBER_OF(Log) - 1; Index++) {
        IsLog = Rtl->RtlUpcaseUnicodeChar(
                    Name->Buffer[NameLength - (RTL_NUMBER_OF(Log) - 1) +
                                 Index]) == Log[Index];
    }

    for (Index = 0; IsCache && Index < NameLength; Index++) {
        IsCache =
            Rtl->RtlUpcaseUnicodeChar(Name->Buffer[Index]) == Cache[Index];
    }

    for (Index = 0; IsControl && Index < NameLength; Index++) {
        IsControl =
            Rtl->RtlUpcaseUnicodeChar(Name->Buffer[Index]) == Control[Index];
    }

    if (IsDirectory || (!IsLog && !IsCache && !IsControl)) {
        return STATUS_SUCCESS;
    }

    //
    // A file that cannot be read is left out: no record is in it.
    //

    Status = ReaderOpenSource(Recover, Name, &Source, &Size);
    if (!NT_SUCCESS(Status)) {
        return STATUS_SUCCESS;
    }

    Status = ReaderOpenTarget(Recover, Name, &Target);
    if (NT_SUCCESS(Status)) {

        Status = ReaderCopyFile(Recover,
                                Source,
                                Target,
                                0,
                                Size,
                                &WriteStatus);
        if (!NT_SUCCESS(Status) || !NT_SUCCESS(WriteStatus)) {
            ReaderRemoveFile(Recover->Context, Target);
        }

        Status = WriteStatus;
        RtlClose(Rtl, Target);
    }

    RtlClose(Rtl, Source);
    return Status;
}


static
NTSTATUS
ReaderFindAnything(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
/*++

Routine Description:

    Ends a listing: there is something in the directory.

Arguments:

    All are unused.

Return Value:

    STATUS_DIRECTORY_NOT_EMPTY.

--*/
{
    UNREFERENCED_PARAMETER(CallbackContext);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(SizeInBytes);
    UNREFERENCED_PARAMETER(IsDirectory);

    return STATUS_DIRECTORY_NOT_EMPTY;
}


_Must_inspect_result_
static
NTSTATUS
ReaderMakeTarget(
    _Inout_ PREADER_RECOVER Recover,
    _Inout_ PWCHAR PathBuffer
    )
/*++

Routine Description:

    Makes the new directory, unless it is there and empty.

Arguments:

    Recover - The recovery.

    PathBuffer - Room for a path.

Return Value:

    STATUS_SUCCESS, STATUS_DIRECTORY_NOT_EMPTY, or what failed.

--*/
{
    PCRTL Rtl = Recover->Context->Rtl;
    UNICODE_STRING Given;
    NTSTATUS Status;

    RtlPointUnicodeString(&Given,
                          Recover->Options->Output,
                          RtlLengthOfWideString(Recover->Options->Output));
    Status = RtlDosPathToNtPath(Rtl,
                                &Given,
                                PathBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &Recover->Target);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Recover->Target.MaximumLength = (USHORT)
        ((RTL_MAXIMUM_PATH_IN_CHARS -
          (ULONG)(Recover->Target.Buffer - PathBuffer)) * sizeof(WCHAR));
    Recover->TargetLength = Recover->Target.Length;
    Status = RtlCreateDirectory(Rtl, &Recover->Target);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Rtl,
                                       &Recover->Target,
                                       ReaderFindAnything,
                                       NULL);
    }

    return Status;
}


static
ULONG
ReaderRecoverTo(
    _Inout_ PREADER_RECOVER Recover,
    _Inout_ PWCHAR PathBuffer
    )
/*++

Routine Description:

    Recovers a session to a new directory.

Arguments:

    Recover - The recovery, its session open.

    PathBuffer - Room for a path.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Recover->Context;
    PCREADER_OPTIONS Options = Recover->Options;
    PREADER_SESSION Session = &Recover->Session;
    NTSTATUS Status;

    if (Session->HasDirectories) {
        return ReaderFail(Context,
                          "recover sessions of several processes (name one; "
                          "TraceReader sessions lists them)",
                          Options->PathUtf8,
                          STATUS_NOT_SUPPORTED);
    }

    if (Session->Header != NULL &&
        ReaderQueryProcess(Session) == ReaderProcessRunning) {
        return ReaderFail(Context,
                          "recover (the program still runs)",
                          Options->PathUtf8,
                          STATUS_SHARING_VIOLATION);
    }

    ReaderFindProcess(Recover);
    Status = ReaderMakeTarget(Recover, PathBuffer);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          Status == STATUS_DIRECTORY_NOT_EMPTY
                              ? "make the new directory (it is there and "
                                "has something in it)"
                              : "make the new directory",
                          Options->OutputUtf8,
                          Status);
    }

    if (Session->IsDirectory) {
        Session->Path.Length = Session->DirectoryLength;
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &Session->Path,
                                       ReaderCopyOther,
                                       Recover);
        if (!NT_SUCCESS(Status)) {
            return ReaderFail(Context,
                              "copy the logs",
                              Options->OutputUtf8,
                              Status);
        }
    }

    return ReaderRecoverStores(Recover);
}


static
ULONG
ReaderCommandRecover(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs recover.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_RECOVER Recover;
    PUCHAR Memory;
    SIZE_T Size = 2 * READER_RECOVER_BUFFER_SIZE +
                  2 * sizeof(TRACE_STORE_HEADER) +
                  RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->Output == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: recover: to which directory? --output is "
                     "missing (see TraceReader recover --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Recover = (PREADER_RECOVER)Allocator->Allocate(Allocator->Context,
                                                   sizeof(READER_RECOVER));
    Memory = (PUCHAR)Allocator->Allocate(Allocator->Context, Size);
    if (Recover == NULL || Memory == NULL) {

        ReaderFail(Context, "recover", Options->PathUtf8, STATUS_NO_MEMORY);

    } else {

        Recover->Context = Context;
        Recover->Options = Options;
        Recover->Input = Memory;
        Recover->Output = Memory + READER_RECOVER_BUFFER_SIZE;
        Recover->Own = (PTRACE_STORE_HEADER)
            (Memory + 2 * READER_RECOVER_BUFFER_SIZE);
        Recover->Header = Recover->Own + 1;
        if (ReaderOpenCommandSession(&Recover->Session, Context, Options)) {
            ExitCode = ReaderRecoverTo(Recover,
                                       (PWCHAR)(Recover->Header + 1));
            ReaderCloseSession(&Recover->Session);
        }
    }

    Allocator->Free(Allocator->Context, Recover);
    Allocator->Free(Allocator->Context, Memory);
    return ExitCode;
}


const READER_COMMAND ReaderRecoverCommand = {
    "recover",
    "PATH",
    "Makes a clean copy of a damaged session",
    "FILE of --output is a directory that is not there, or empty; it gets the\n"
    "session's stores, logs and symbol cache.  The session is only read.\n"
    "A store that is sound is copied as it is, but for unused room.  Of other\n"
    "stores all good records are kept, in order: bad ones are left out, and\n"
    "a ring becomes a store that ends.  Records behind the end that a store\n"
    "of a process that died has published are kept if they are good.  A\n"
    "damaged header is repaired, or rebuilt from another store of the same\n"
    "module, the thread's identifier from the file's name; what the store\n"
    "had counted is then not known.\n"
    "CSV, and JSON in the array stores, hold store, header (whole, repaired,\n"
    "rebuilt; lost: the store is left out; empty: there was nothing in it),\n"
    "records, bad (left out), missing (that the file no longer has), result;\n"
    "JSON also has the array summary with stores, records, bad, missing,\n"
    "lost.  Exit code 2 if anything is bad, missing or lost.\n",
    "  TraceReader recover -o C:\\traces\\clean SESSION\n",
    READER_OPTION_OUTPUT | READER_OPTION_FORMAT,
    ReaderCommandRecover
};
