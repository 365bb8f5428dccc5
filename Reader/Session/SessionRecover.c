/*++

Module Name:

    SessionRecoverStore.c

Abstract:

    What is good of one store: its records are looked at one by one, its header
    is believed, put right or made from those of others, and both are written.

    pack and snapshots copy the records that a valid header tells of, with
    SessionCopyRecords.  Here the header may be what is wrong, and there may be
    good records behind the end that it tells of: so everything in the file is
    read before it is decided how the store is written: as it is, or record by
    record.  So it is with the blocks of a compact store, which becomes one of
    records if it is not sound.

--*/

#include "SessionRecover.h"

//
// How many records of a store without a header are compared with the modules
// that it may be of.
//

#define READER_RECOVER_SAMPLE 4096u

//
// Adds a clause to a store's result.
// Format: a literal with one %llu, or none.
//

static
VOID
SessionSayOfStore(
    _Inout_ PREADER_RECOVER_STORE Store,
    _In_z_ PCSZ Format,
    _In_ ULONGLONG Number
    )
{
    if (Store->Result.LengthInBytes != 0) {
        RtlWriteText(&Store->Result, "; ");
    }

    RtlWriteText(&Store->Result, Format, Number);
}

_Use_decl_annotations_
NTSTATUS
SessionRecoverFile(
    PREADER_RECOVER Recover,
    HANDLE Source,
    HANDLE Target,
    ULONGLONG Start,
    ULONGLONG End,
    NTSTATUS *WriteStatus
    )
{
    READER_COPY_FILE Copy = { Recover->Context, Target, FALSE };

    return SessionCopyPart(Recover->Context,
                           Source,
                           Start,
                           End,
                           Recover->Input,
                           READER_RECOVER_BUFFER_SIZE,
                           SessionCopyToFile,
                           &Copy,
                           WriteStatus);
}

//
// Writes the records that have been gathered.
//

static
VOID
SessionFlushRecords(
    _Inout_ PREADER_RECOVER Recover
    )
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

//
// Keeps a record that is good.
//

static
VOID
SessionKeepRecord(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PCTRACE_RECORD Record
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;

    Store->Check.PreviousTimestamp = Record->Timestamp;
    Store->Records += 1;
    if (Store->Target == NULL) {
        return;
    }

    if (Store->Filled == READER_RECOVER_BUFFER_SIZE) {
        SessionFlushRecords(Recover);
    }

    RtlCopyBytes(Recover->Output + Store->Filled, Record, sizeof(*Record));
    Store->Filled += sizeof(*Record);
    Store->TargetSize += sizeof(*Record);
}

//
// Decides whether the first of the records that wait is kept. One that is
// later than the two behind it is bad, and they are not.
// Recover: the recovery, with a record or two waiting.
// Third: the record after those; NULL: there is none.
//

static
VOID
SessionDecideRecord(
    _Inout_ PREADER_RECOVER Recover,
    _In_opt_ PCTRACE_RECORD Third
    )
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
        SessionKeepRecord(Recover, First);
    }

    Store->Waiting[0] = Store->Waiting[1];
    Store->NumberWaiting -= 1;
}

//
// Takes the next record of a store.
// Record: what is in its place.
//

static
VOID
SessionTakeRecord(
    _Inout_ PREADER_RECOVER Recover,
    _In_ PCTRACE_RECORD Record
    )
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
        SessionDecideRecord(Recover, Record);
    }

    Store->Waiting[Store->NumberWaiting] = *Record;
    Store->NumberWaiting += 1;
}

//
// Reads a part of the store's file.
// Start, End: the part, file offsets.
// Routine: takes it; its failure ends reading, and is none.
// Returns STATUS_SUCCESS or what reading gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadPart(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _In_ PREADER_COPY_ROUTINE Routine,
    _In_ PVOID Target
    )
{
    NTSTATUS RoutineStatus;

    return SessionCopyPart(Recover->Context,
                           Recover->Store.Source,
                           Start,
                           End,
                           Recover->Input,
                           READER_RECOVER_BUFFER_SIZE,
                           Routine,
                           Target,
                           &RoutineStatus);
}

//
// Takes the records of a piece of the file: a READER_COPY_ROUTINE.
// Target: the recovery.
//

static
NTSTATUS
SessionTakeRecords(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PCTRACE_RECORD Records = (PCTRACE_RECORD)Bytes;
    ULONG Index;

    UNREFERENCED_PARAMETER(FileOffset);

    for (Index = 0; Index < SizeInBytes / TRACE_RECORD_SIZE; Index++) {
        SessionTakeRecord((PREADER_RECOVER)Target, &Records[Index]);
    }

    return STATUS_SUCCESS;
}

//
// Takes the records of a compact store that are in blocks.
//

_Must_inspect_result_
static
NTSTATUS
SessionScanBlocks(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PREADER_BLOCKS Blocks = &Store->Blocks;
    PCTRACE_RECORD Records;
    ULONGLONG Position;
    ULONG NumberOfRecords;
    ULONG Index;
    NTSTATUS Status;

    Status = SessionLocateOldestBlock(Blocks, &Position);
    while (NT_SUCCESS(Status) && Position < Blocks->Live.First) {

        Status = SessionTakeBlock(Blocks,
                                  ReaderBlockCopied,
                                  Position,
                                  &Records,
                                  &NumberOfRecords);
        if (Status == STATUS_FILE_CORRUPT_ERROR &&
            Blocks->LostEnd > Position) {

            //
            // Where raw records begin may not be known.
            //

            if (Store->IsStart || Blocks->LostEnd < Blocks->Live.First) {
                Store->Bad += (Blocks->LostEnd - Position) /
                              TRACE_RECORD_SIZE;
            }

            Position = Blocks->LostEnd;
            Status = STATUS_SUCCESS;
            continue;
        }

        for (Index = 0; NT_SUCCESS(Status) && Index < NumberOfRecords;
             Index++) {
            SessionTakeRecord(Recover, &Records[Index]);
        }

        Position += (ULONGLONG)NumberOfRecords * TRACE_RECORD_SIZE;
    }

    return Status;
}

//
// Takes all records of a store, and then what may lie behind the end that it
// published: the header of a store whose machine went down may be older than
// its records.
//
// Recover: the recovery, the store's parts known.
// Returns STATUS_SUCCESS or what reading gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionScanStore(
    _Inout_ PREADER_RECOVER Recover
    )
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

    if (Store->Blocks.Context != NULL) {
        Status = SessionScanBlocks(Recover);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    for (Index = 0; Index < Store->NumberOfParts; Index++) {
        Status = SessionReadPart(Recover,
                                 Store->Parts[Index].Start,
                                 Store->Parts[Index].End,
                                 SessionTakeRecords,
                                 Recover);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    while (Store->NumberWaiting != 0) {
        SessionDecideRecord(Recover, NULL);
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
    Status = SessionReadPart(Recover,
                             Store->NumberOfParts != 0 ? Store->Parts[0].End
                                                       : Header->HeaderSize,
                             Store->FileSize,
                             SessionTakeRecords,
                             Recover);
    while (Store->NumberWaiting != 0) {
        SessionDecideRecord(Recover, NULL);
    }

    Store->Beyond = Store->Records - Records;
    if (Store->Beyond == 0) {
        Store->Bad = Bad;
    }

    return Status;
}

//
// Takes a store's name apart: MODULE-THREAD-SEQUENCE.trace.
// ThreadId, SequenceNumber: the numbers; 0 if it is no such name.
// Returns the number of characters of MODULE; 0 if it is no such name.
//

static
ULONG
SessionLengthOfModuleName(
    _In_ PCUNICODE_STRING Name,
    _Out_ PULONG ThreadId,
    _Out_ PULONG SequenceNumber
    )
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

//
// Decides whether a store has a header that is valid and of a process.
// Known: a header of the process, or NULL.
//

static
BOOLEAN
SessionIsOfProcess(
    _In_ PCREADER_STORE Store,
    _In_opt_ PCTRACE_STORE_HEADER Known
    )
{
    return NT_SUCCESS(Store->Status) &&
           Store->HeaderResult.State == CoreHeaderValid &&
           Known != NULL &&
           Store->Header->ProcessId == Known->ProcessId &&
           Store->Header->ProcessCreationTime == Known->ProcessCreationTime;
}

_Use_decl_annotations_
VOID
SessionRecoverProcess(
    PREADER_RECOVER Recover
    )
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
        if (!SessionIsOfProcess(Store, Store->Header)) {
            continue;
        }

        if (Votes == 0) {
            Candidate = Store->Header;
        }

        if (SessionIsOfProcess(Store, Candidate)) {
            Votes += 1;
        } else {
            Votes -= 1;
        }
    }

    Votes = 0;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (SessionIsOfProcess(Session->Stores[Index], Candidate)) {
            Votes += 1;
        }

        if (SessionIsOfProcess(Session->Stores[Index], Session->Header)) {
            First += 1;
        }
    }

    Recover->Known = Votes > First ? Candidate : Session->Header;
}

//
// Counts the records that can be of a module.
// Returns how many can.
//

static
ULONG
SessionCountFitting(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
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

//
// Finds the store whose module the records of one without a header fit best:
// among those whose names say that they are of the same module.
// Returns the store, or NULL.
//

static
PREADER_STORE
SessionSeekSibling(
    _Inout_ PREADER_RECOVER Recover
    )
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
    Length = SessionLengthOfModuleName(Name, &Number, &Number);
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Other = Session->Stores[Index];
        if (!SessionIsOfProcess(Other, Recover->Known) ||
            (Length != 0 &&
             (SessionLengthOfModuleName(&Other->Name, &Number, &Number) !=
                  Length ||
              !RtlAreBytesEqual(Other->Name.Buffer,
                                Name->Buffer,
                                Length * sizeof(WCHAR))))) {
            continue;
        }

        Count = SessionCountFitting(Other->Header,
                                    (PCTRACE_RECORD)Recover->Input,
                                    NumberOfRecords);
        //
        // What a compact store begins with may be blocks.
        //

        if (Count == 0 && Other->Header->Mode == TRACE_MODE_COMPACT) {
            Count = 1;
        }

        if (Count > BestCount) {
            Best = Other;
            BestCount = Count;
        }
    }

    return Best;
}

//
// Finds the stack of a thread whose store has no header: in what is left of
// it, or in another store of the thread. Otherwise it stays unknown.
// Recover: the recovery; the header has the thread's identifier.
// OwnSize: how much there is of the store's own header.
//

static
VOID
SessionSeekStack(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONG OwnSize
    )
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

        if (SessionIsOfProcess(Other, Recover->Known) &&
            Other->Header->ThreadId == Header->ThreadId &&
            Header->ThreadId != 0 &&
            (Other->Header->Flags & TRACE_FLAG_FIBER) == 0) {
            Header->StackBase = Other->Header->StackBase;
            Header->StackLimit = Other->Header->StackLimit;
            return;
        }
    }
}

//
// Makes a header for a store that has none: the process, the module and the
// clock are those of another store of the module, the thread is that of the
// file's name; the anchors are the store's own where their sums are right.
// What nobody else can know (why it ended, what it counted) is left empty.
//
// OwnSize: how much there is of the store's own header.
// Returns FALSE if there is no other store of the module.
//

static
BOOLEAN
SessionRebuildHeader(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONG OwnSize
    )
{
    PTRACE_STORE_HEADER Header = Recover->Header;
    PCTRACE_STORE_HEADER Own = Recover->Own;
    PREADER_STORE Sibling;
    ULONG ThreadId;
    ULONG SequenceNumber;

    Sibling = SessionSeekSibling(Recover);
    if (Sibling == NULL) {
        return FALSE;
    }

    RtlCopyBytes(Header, Sibling->Header, sizeof(*Header));
    (VOID)SessionLengthOfModuleName(&Recover->Store.Store->Name,
                                    &ThreadId,
                                    &SequenceNumber);
    Header->ThreadId = ThreadId;
    Header->SequenceNumber = SequenceNumber;
    SessionSeekStack(Recover, OwnSize);

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
    Header->NumberOfCallsDoubtful = 0;
    Header->NumberOfEventsTooDeep = 0;
    Header->NumberOfEventsDoubtful = 0;
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

//
// Finds the header by which a store is read: its own, its own with the fields
// put right that are the same in every store, or one that is rebuilt.
// OwnSize: how much there is of the store's own header.
// Returns FALSE if there is none.
//

static
BOOLEAN
SessionChooseHeader(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONG OwnSize
    )
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
    Header->MajorVersion = Header->Mode == TRACE_MODE_COMPACT
                               ? TRACE_FORMAT_MAJOR_COMPACT
                               : TRACE_FORMAT_MAJOR;
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
    return SessionRebuildHeader(Recover, OwnSize);
}

//
// Adds a part of the file to those that have records.
// Start, End: the part, file offsets.
//

static
VOID
SessionAddPart(
    _Inout_ PREADER_RECOVER_STORE Store,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
{
    if (Start < End &&
        Store->NumberOfParts < READER_RECOVER_MAXIMUM_PARTS) {
        Store->Parts[Store->NumberOfParts].Start = Start;
        Store->Parts[Store->NumberOfParts].End = End;
        Store->NumberOfParts += 1;
    }
}

//
// The search for a ring's latest record.
//

typedef struct _READER_RECOVER_LATEST {
    CORE_RECORD_CHECK Check;
    ULONGLONG Start;                // of the ring, a file offset
    ULONGLONG Timestamp;            // of the latest one so far
    ULONGLONG Latest;               // where that ends; Start: there is none
    BOOLEAN IsAround;               // the ring has come around: older records
                                    // are behind it, or its beginning is empty
} READER_RECOVER_LATEST;
typedef READER_RECOVER_LATEST *PREADER_RECOVER_LATEST;

//
// Looks for it in a piece of the ring: a READER_COPY_ROUTINE.
//

static
NTSTATUS
SessionSeekLatest(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_RECOVER_LATEST Search = (PREADER_RECOVER_LATEST)Target;
    PCTRACE_RECORD Record = (PCTRACE_RECORD)Bytes;
    PCTRACE_RECORD End = Record + SizeInBytes / TRACE_RECORD_SIZE;

    for (; Record < End; Record++) {

        if (FileOffset == Search->Start && Record->Timestamp == 0) {
            Search->IsAround = TRUE;
        }

        FileOffset += TRACE_RECORD_SIZE;
        Search->Check.PreviousTimestamp = 0;
        if (CoreValidateRecord(&Search->Check, Record, FALSE) !=
            CoreRecordValid) {
            continue;
        }

        if (Record->Timestamp >= Search->Timestamp) {
            Search->Timestamp = Record->Timestamp;
            Search->Latest = FileOffset;
        } else {
            Search->IsAround = TRUE;
        }
    }

    return STATUS_SUCCESS;
}

//
// Looks for the blocks of a compact store whose own header is lost, by what the
// file has behind the header that was rebuilt: blocks, the end of the stream if
// the store was closed, or raw records.
//

static
VOID
SessionGuessBlocks(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PTRACE_STORE_HEADER Header = Recover->Header;
    ULONGLONG RingEnd = Header->RingFileOffset + Header->RingSizeInBytes;
    ULONG ReadInBytes;
    ULONG Index;
    BOOLEAN IsEmpty = TRUE;

    Header->BlocksFirst = 0;
    Header->BlocksCapacity = 0;
    Header->BlocksTail = TRACE_BLOCKS_NO_TAIL;
    Header->BlocksEnd = 0;
    if (Header->BlocksFileOffset < RingEnd) {
        Header->BlocksFileOffset = RingEnd;
    }

    if (Store->FileSize > Header->BlocksFileOffset) {
        Header->BlocksEnd = Store->FileSize - Header->BlocksFileOffset;
    }

    if (!NT_SUCCESS(RtlReadFile(Recover->Context->Rtl,
                                Store->Source,
                                Header->HeaderSize,
                                Recover->Input,
                                READER_RECOVER_SAMPLE * TRACE_RECORD_SIZE,
                                &ReadInBytes))) {
        ReadInBytes = 0;
    }

    for (Index = 0; IsEmpty && Index < ReadInBytes; Index++) {
        IsEmpty = Recover->Input[Index] == 0;
    }

    if (ReadInBytes >= sizeof(ULONG) &&
        *(const ULONG *)(const VOID *)Recover->Input == CODEC_MAGIC) {

        Header->BlocksTail = 0;
        Header->BlocksEnd = Store->FileSize - Header->HeaderSize;

    } else if (!IsEmpty &&
               SessionCountFitting(Header,
                                   (PCTRACE_RECORD)Recover->Input,
                                   ReadInBytes / TRACE_RECORD_SIZE) == 0) {

        Header->BlocksTail = Header->BlocksEnd;
        Header->BlocksEnd += Header->BlocksFileOffset - Header->HeaderSize;
    }

    Header->BlocksEnd -= Header->BlocksEnd % sizeof(ULONGLONG);
}

//
// Prepares the reading of a compact store's blocks.
// IsEndKnown: whether the header's end of the records is believed.
//

static
VOID
SessionPrepareBlocks(
    _Inout_ PREADER_RECOVER Recover,
    _In_ BOOLEAN IsEndKnown
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PTRACE_STORE_HEADER Header = Recover->Header;
    PREADER_BLOCKS Blocks = &Store->Blocks;
    CORE_BLOCKS Live;

    CoreReadBlocks(Header, &Live);
    Store->IsStart = IsEndKnown;
    if (!IsEndKnown || !CoreAreBlocksGood(Header, &Live)) {

        //
        // Blocks are followed as far as there are any.
        //

        Store->IsStart = FALSE;
        if (!CoreAreBlocksGood(Header, &Live) ||
            RtlAreStringsEqual(Store->Header, "rebuilt")) {
            SessionGuessBlocks(Recover);
        }

        Header->FirstPosition = CORE_MAXIMUM_STREAM;
    }

    Blocks->Context = Recover->Context;
    Blocks->File = Store->Source;
    Blocks->Header = Header;
    Blocks->Mapped = Header;
    CoreReadBlocks(Header, &Blocks->Live);
}

//
// Where a compact store's file may end.
//

static
ULONGLONG
SessionEndOfStream(
    _In_ PCTRACE_STORE_HEADER Header
    )
{
    ULONGLONG End = Header->HeaderSize;
    ULONGLONG Most = Header->BlocksEnd;

    if (Header->BlocksEnd > Header->BlocksTail) {
        End += Header->BlocksEnd - Header->BlocksTail;
        Most = Header->BlocksTail;
    }

    if (Header->BlocksCapacity != 0 && Most > Header->BlocksCapacity) {
        Most = Header->BlocksCapacity;
    }

    return Most != 0 && End < Header->BlocksFileOffset + Most
               ? Header->BlocksFileOffset + Most
               : End;
}

//
// Finds the parts of a store that does not say where its records end: all of
// the file; of a ring that has come around first what lies behind its latest
// record.
//
// Recover: the recovery, with a header.
// Returns STATUS_SUCCESS or what reading gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionSeekAllParts(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCTRACE_STORE_HEADER Header = Recover->Header;
    ULONGLONG Segment = Header->RingFileOffset;
    ULONGLONG FileEnd = Store->FileSize;
    READER_RECOVER_LATEST Search;
    NTSTATUS Status;

    Store->IsEndKnown = FALSE;
    if (Header->Mode == TRACE_MODE_COMPACT) {

        SessionPrepareBlocks(Recover, FALSE);
        if (Store->Blocks.Live.Tail < Store->Blocks.Live.End) {
            return STATUS_SUCCESS;
        }

        if (FileEnd > Segment + Header->RingSizeInBytes) {
            FileEnd = Segment + Header->RingSizeInBytes;
        }
    }

    if (Header->RingSizeInBytes == 0 || FileEnd <= Segment) {
        SessionAddPart(Store, Header->HeaderSize, FileEnd);
        return STATUS_SUCCESS;
    }

    RtlZeroBytes(&Search, sizeof(Search));
    CoreInitializeRecordCheck(&Search.Check, Header);
    Search.Start = Segment;
    Search.Latest = Segment;
    Status = SessionReadPart(Recover,
                             Segment,
                             FileEnd,
                             SessionSeekLatest,
                             &Search);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Search.IsAround && Search.Latest != Segment) {
        SessionAddPart(Store, Search.Latest, FileEnd);
    } else {
        SessionAddPart(Store, Header->HeaderSize, Segment);
    }

    SessionAddPart(Store, Segment, Search.Latest);
    return STATUS_SUCCESS;
}

//
// Finds the parts of the file that have the store's records.
// Recover: the recovery, with a header.
// Returns STATUS_SUCCESS or what reading gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionSeekParts(
    _Inout_ PREADER_RECOVER Recover
    )
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
            SessionSayOfStore(Store, "its end was not published", 0);
        }

        return SessionSeekAllParts(Recover);
    }

    if (EndState == CoreEndBeyondFile) {
        Store->Missing = (End - First - (Range.End - Range.Start)) /
                         TRACE_RECORD_SIZE;
        SessionSayOfStore(Store, "the file was cut", 0);
    }

    Store->IsSound = EndState == CoreEndValid &&
                     RtlAreStringsEqual(Store->Header, "whole");
    if (Header->Mode == TRACE_MODE_COMPACT) {
        SessionPrepareBlocks(Recover, TRUE);
        Store->IsSound = Store->IsSound && Store->IsStart;
    }

    for (Position = Range.Start; Position < Range.End;) {

        Offset = CorePositionToFileOffset(Header, Position, &Available);
        if (Available > Range.End - Position) {
            Available = Range.End - Position;
        }

        if (Available == 0) {
            break;
        }

        SessionAddPart(Store, Offset, Offset + Available);
        Position += Available;
    }

    return STATUS_SUCCESS;
}

//
// Writes what is good of a store: its records one behind the other, so that a
// ring becomes a store that keeps everything.  The header is made to say so.
// Recover: the recovery, the store's parts known.
// Returns STATUS_SUCCESS or what reading gave; Store.WriteStatus has what
// writing gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionWriteClean(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    NTSTATUS Status;

    Store->TargetSize = TRACE_HEADER_SIZE;
    Store->Filled = 0;
    Status = SessionScanStore(Recover);
    SessionFlushRecords(Recover);
    SessionStraightenHeader(Recover->Header, Store->TargetSize);
    return Status;
}

//
// Makes the copy of a store.  The header comes last.
// SizeInBytes: how much of the file is copied as it is; 0: what is good of it
// is written, record by record.
// Returns STATUS_SUCCESS or what reading gave; Store.WriteStatus has what
// writing gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionMakeCopy(
    _Inout_ PREADER_RECOVER Recover,
    _In_ ULONGLONG SizeInBytes
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    NTSTATUS Status;

    Store->WriteStatus = SessionMakeTargetFile(&Recover->Target,
                                               READER_NONE,
                                               &Store->Store->Name,
                                               &Store->Target);
    if (!NT_SUCCESS(Store->WriteStatus)) {
        return STATUS_SUCCESS;
    }

    Status = SizeInBytes != 0 ? SessionRecoverFile(Recover,
                                                Store->Source,
                                                Store->Target,
                                                0,
                                                SizeInBytes,
                                                &Store->WriteStatus)
                              : SessionWriteClean(Recover);
    if (NT_SUCCESS(Status) && NT_SUCCESS(Store->WriteStatus)) {
        Store->WriteStatus = RtlWriteFile(Recover->Context->Rtl,
                                          Store->Target,
                                          0,
                                          Recover->Header,
                                          sizeof(*Recover->Header));
    }

    SessionCloseTargetFile(&Recover->Target,
                           Store->Target,
                           NT_SUCCESS(Status) &&
                               NT_SUCCESS(Store->WriteStatus));
    Store->Target = NULL;
    return Status;
}

//
// Notes that a store is left out.
// Why: a literal.
// IsLost: whether there was something in it.
//

static
VOID
SessionLoseStore(
    _Inout_ PREADER_RECOVER_STORE Store,
    _In_z_ PCSZ Why,
    _In_ BOOLEAN IsLost
    )
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
    SessionSayOfStore(Store, Why, 0);
}

//
// Looks for something in a piece of the file that is not zero, a
// READER_COPY_ROUTINE: nothing more is read then.
// Target: whether the file is empty.
//

static
NTSTATUS
SessionSeekContent(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    const UCHAR *Byte = (const UCHAR *)Bytes;
    ULONG Index;

    UNREFERENCED_PARAMETER(FileOffset);

    for (Index = 0; Index < SizeInBytes; Index++) {
        if (Byte[Index] != 0) {
            *(PBOOLEAN)Target = FALSE;
            return STATUS_CANCELLED;
        }
    }

    return STATUS_SUCCESS;
}

//
// Writes the copy of a store.  One that is sound is copied as it is, but for
// what lies behind its records.
// Recover: the recovery, the store's parts known.
// Returns STATUS_SUCCESS or what reading gave; Store.WriteStatus has what
// writing gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionWriteStore(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    ULONGLONG End = Recover->Header->HeaderSize;
    ULONG Index;
    NTSTATUS Status;

    Status = SessionScanStore(Recover);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Store->Bad != 0 || Store->Beyond != 0 || !Store->IsSound) {
        return SessionMakeCopy(Recover, 0);
    }

    if (Store->Blocks.Context != NULL) {
        End = SessionEndOfStream(Recover->Header);
    }

    for (Index = 0; Index < Store->NumberOfParts; Index++) {
        if (Store->Parts[Index].End > End) {
            End = Store->Parts[Index].End;
        }
    }

    return SessionMakeCopy(Recover, End);
}

//
// Copies a store that holds a tree: what is bad in it is for the reader to
// leave out. One whose own header is lost is lost.
// Recover: the recovery, with a header of a tree.
// Returns STATUS_SUCCESS or what reading gave; Store.WriteStatus has what
// writing gave.
//

_Must_inspect_result_
static
NTSTATUS
SessionRecoverTree(
    _Inout_ PREADER_RECOVER Recover
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    NTSTATUS Status;

    if (RtlAreStringsEqual(Store->Header, "rebuilt")) {
        SessionLoseStore(Store,
                         "it contains a tree, whose location only its own "
                         "header could give",
                         TRUE);
        return STATUS_SUCCESS;
    }

    Status = SessionMakeCopy(Recover, Store->FileSize);
    if (NT_SUCCESS(Status) && NT_SUCCESS(Store->WriteStatus)) {
        SessionSayOfStore(Store,
                          "a tree of %llu nodes, copied as it is",
                          Recover->Header->NumberOfNodes);
    }

    return Status;
}

_Use_decl_annotations_
VOID
SessionRecoverStore(
    PREADER_RECOVER Recover,
    PREADER_STORE Source
    )
{
    PREADER_RECOVER_STORE Store = &Recover->Store;
    PCRTL Rtl = Recover->Context->Rtl;
    BOOLEAN IsEmpty = TRUE;
    ULONG OwnSize = 0;
    NTSTATUS Status;

    RtlZeroBytes(Store, FIELD_OFFSET(READER_RECOVER_STORE, Text));
    RtlInitializeBufferWriter(&Store->Result,
                              Store->Text,
                              sizeof(Store->Text));
    Store->Store = Source;
    Status = SessionOpenFile(&Recover->Session,
                             &Source->Name,
                             &Store->Source,
                             &Store->FileSize);
    if (!NT_SUCCESS(Status)) {
        SessionLoseStore(Store, "it cannot be opened", TRUE);
        return;
    }

    RtlZeroBytes(Recover->Own, sizeof(*Recover->Own));
    Status = SessionReadPart(Recover,
                             0,
                             Store->FileSize,
                             SessionSeekContent,
                             &IsEmpty);
    if (NT_SUCCESS(Status) && !IsEmpty) {
        Status = RtlReadFile(Rtl,
                             Store->Source,
                             0,
                             Recover->Own,
                             sizeof(*Recover->Own),
                             &OwnSize);
    }

    if (!NT_SUCCESS(Status)) {
        SessionLoseStore(Store, "it cannot be read", TRUE);
    } else if (IsEmpty) {
        SessionLoseStore(Store, "there is nothing in it", FALSE);
    } else if (!SessionChooseHeader(Recover, OwnSize)) {
        SessionLoseStore(Store,
                         Store->IsForeign
                            ? "it is of another process"
                            : "no other store says what its header was",
                         TRUE);
    } else {

        if (Recover->Header->Mode == TRACE_MODE_TREE) {
            Status = SessionRecoverTree(Recover);
        } else {
            Status = SessionSeekParts(Recover);
            if (NT_SUCCESS(Status)) {
                Status = SessionWriteStore(Recover);
            }
        }

        if (!NT_SUCCESS(Status)) {
            SessionLoseStore(Store, "it cannot be read", TRUE);
        }
    }

    SessionRundownBlocks(&Store->Blocks);
    RtlClose(Rtl, Store->Source);
    Store->Source = NULL;
    if (Store->Beyond != 0) {
        SessionSayOfStore(Store,
                          "%llu were after the published end",
                          Store->Beyond);
    }

    if (Store->Result.LengthInBytes == 0) {
        SessionSayOfStore(Store,
                          Store->Bad != 0 ? "bad records left out" : "ok",
                          0);
    }
}
