/*++

Module Name:

    FunctionWaits.c

Abstract:

    The functions that wait: a table of the system's, from its documentation
    (Docs/Waits.md says from where), and the file of --waits.

    A table's function is one that was imported.  A file's may have hooks, too.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Core/CorePair.h"
#include "FunctionWaits.h"

#define READER_MAXIMUM_WAITS_FILE 0x1000000u

//
// Longer names have no short ones here, bytes.
//

#define READER_WAIT_NAME 512

const PCSZ ReaderWaitKindNames[] = {
    "",
    "object",
    "sleep",
    "lock",
    "condition",
    "thread",
    "file",
    "pipe",
    "socket",
    "port",
    "message",
    "console"
};

C_ASSERT(RTL_NUMBER_OF(ReaderWaitKindNames) == ReaderNumberOfWaitKinds);

//
// Words with a blank between two.  What comes by way of an API set has the
// name of the module with the code, and that may be ntdll.
//

typedef struct _READER_WAIT_GROUP {
    READER_WAIT_KIND Kind;
    PCSZ Modules;                   // without .dll
    PCSZ Functions;                 // Nt... is Zw..., too
} READER_WAIT_GROUP;

static const READER_WAIT_GROUP ReaderWaitGroups[] = {
    { ReaderWaitObject, "kernel32 kernelbase ntdll",
      "WaitForSingleObject WaitForSingleObjectEx WaitForMultipleObjects "
      "WaitForMultipleObjectsEx SignalObjectAndWait WaitForDebugEvent "
      "WaitForDebugEventEx WaitForThreadpoolWorkCallbacks "
      "WaitForThreadpoolTimerCallbacks WaitForThreadpoolWaitCallbacks "
      "WaitForThreadpoolIoCallbacks CloseThreadpoolCleanupGroupMembers "
      "UnregisterWaitEx DeleteTimerQueueEx DeleteTimerQueueTimer "
      "EnterSynchronizationBarrier" },
    { ReaderWaitObject, "user32",
      "WaitForInputIdle" },
    { ReaderWaitObject, "ole32 combase",
      "CoWaitForMultipleHandles CoWaitForMultipleObjects" },
    { ReaderWaitObject, "ntdll",
      "NtWaitForSingleObject NtWaitForMultipleObjects "
      "NtSignalAndWaitForSingleObject NtWaitForKeyedEvent "
      "NtReleaseKeyedEvent NtWaitForDebugEvent "
      "NtWaitForWorkViaWorkerFactory RtlBarrier RtlDeregisterWaitEx "
      "RtlDeleteTimerQueueEx TpWaitForWork TpWaitForTimer TpWaitForWait "
      "TpWaitForIoCompletion" },
    { ReaderWaitSleep, "kernel32 kernelbase ntdll",
      "Sleep SleepEx" },
    { ReaderWaitSleep, "ntdll",
      "NtDelayExecution" },
    { ReaderWaitSleep, "msvcrt ucrtbase",
      "_sleep" },
    { ReaderWaitSleep, "msvcp140",
      "_Thrd_sleep" },
    { ReaderWaitSleep, "libwinpthread-1",
      "nanosleep clock_nanosleep" },
    { ReaderWaitLock, "kernel32 kernelbase ntdll",
      "EnterCriticalSection AcquireSRWLockExclusive AcquireSRWLockShared "
      "InitOnceBeginInitialize" },
    { ReaderWaitLock, "ntdll",
      "RtlEnterCriticalSection RtlAcquireSRWLockExclusive "
      "RtlAcquireSRWLockShared RtlAcquireResourceExclusive "
      "RtlAcquireResourceShared RtlRunOnceBeginInitialize "
      "LdrLockLoaderLock" },
    { ReaderWaitLock, "msvcrt ucrtbase",
      "_lock _lock_file" },
    { ReaderWaitLock, "msvcp140",
      "_Mtx_lock _Mtx_timedlock" },
    { ReaderWaitLock, "libwinpthread-1",
      "pthread_mutex_lock pthread_mutex_timedlock pthread_rwlock_rdlock "
      "pthread_rwlock_wrlock pthread_rwlock_timedrdlock "
      "pthread_rwlock_timedwrlock pthread_spin_lock" },
    { ReaderWaitCondition, "kernel32 kernelbase ntdll",
      "SleepConditionVariableCS SleepConditionVariableSRW WaitOnAddress" },
    { ReaderWaitCondition, "ntdll",
      "RtlSleepConditionVariableCS RtlSleepConditionVariableSRW "
      "RtlWaitOnAddress NtWaitForAlertByThreadId" },
    { ReaderWaitCondition, "msvcp140",
      "_Cnd_wait _Cnd_timedwait" },
    { ReaderWaitCondition, "libwinpthread-1",
      "pthread_cond_wait pthread_cond_timedwait "
      "pthread_cond_timedwait_relative_np pthread_barrier_wait sem_wait "
      "sem_timedwait" },
    { ReaderWaitThread, "msvcp140",
      "_Thrd_join" },
    { ReaderWaitThread, "libwinpthread-1",
      "pthread_join" },
    { ReaderWaitFile, "kernel32 kernelbase ntdll",
      "ReadFile WriteFile FlushFileBuffers FlushViewOfFile LockFile "
      "LockFileEx GetOverlappedResult GetOverlappedResultEx "
      "DeviceIoControl ReadDirectoryChangesW WaitCommEvent CopyFileA "
      "CopyFileW CopyFileExA CopyFileExW CopyFile2" },
    { ReaderWaitFile, "ntdll",
      "NtReadFile NtWriteFile NtFlushBuffersFile NtLockFile "
      "NtDeviceIoControlFile NtFsControlFile NtNotifyChangeDirectoryFile" },
    { ReaderWaitFile, "msvcrt ucrtbase",
      "_read _write _commit" },
    { ReaderWaitPipe, "kernel32 kernelbase ntdll",
      "ConnectNamedPipe CallNamedPipeA CallNamedPipeW WaitNamedPipeA "
      "WaitNamedPipeW TransactNamedPipe" },
    { ReaderWaitSocket, "ws2_32",
      "accept connect recv recvfrom send sendto select WSAAccept "
      "WSAConnect WSAConnectByList WSAConnectByNameA WSAConnectByNameW "
      "WSARecv WSARecvFrom WSASend WSASendTo WSASendMsg WSAPoll "
      "WSAWaitForMultipleEvents WSAGetOverlappedResult "
      "WSALookupServiceNextA WSALookupServiceNextW getaddrinfo "
      "GetAddrInfoW getnameinfo GetNameInfoW gethostbyname gethostbyaddr" },
    { ReaderWaitSocket, "wsock32",
      "accept connect recv recvfrom send sendto select gethostbyname "
      "gethostbyaddr" },
    { ReaderWaitSocket, "mswsock",
      "WSARecvEx" },
    { ReaderWaitSocket, "dnsapi",
      "DnsQuery_A DnsQuery_W DnsQuery_UTF8" },
    { ReaderWaitSocket, "winhttp",
      "WinHttpSendRequest WinHttpReceiveResponse "
      "WinHttpQueryDataAvailable WinHttpReadData WinHttpWriteData" },
    { ReaderWaitSocket, "wininet",
      "HttpSendRequestA HttpSendRequestW InternetOpenUrlA "
      "InternetOpenUrlW InternetConnectA InternetConnectW "
      "InternetReadFile InternetWriteFile" },
    { ReaderWaitPort, "kernel32 kernelbase ntdll",
      "GetQueuedCompletionStatus GetQueuedCompletionStatusEx" },
    { ReaderWaitPort, "ntdll",
      "NtRemoveIoCompletion NtRemoveIoCompletionEx NtReplyWaitReceivePort "
      "NtReplyWaitReceivePortEx NtRequestWaitReplyPort "
      "NtAlpcSendWaitReceivePort" },
    { ReaderWaitMessage, "user32",
      "GetMessageA GetMessageW WaitMessage MsgWaitForMultipleObjects "
      "MsgWaitForMultipleObjectsEx MessageBoxA MessageBoxW MessageBoxExA "
      "MessageBoxExW" },
    { ReaderWaitMessage, "win32u",
      "NtUserGetMessage NtUserWaitMessage "
      "NtUserMsgWaitForMultipleObjectsEx" },
    { ReaderWaitConsole, "kernel32 kernelbase ntdll",
      "ReadConsoleA ReadConsoleW ReadConsoleInputA ReadConsoleInputW" },
    { ReaderWaitConsole, "msvcrt ucrtbase",
      "_getch _getche _getwch _getwche" }
};

typedef struct _READER_WAIT_LINE {
    const CHAR *Name;               // in the file's text
    ULONG NameLength;               // bytes
    ULONG ModuleLength;             // of it, before the '!'; 0: it has none
    READER_WAIT_KIND Kind;          // ReaderWaitNone: it does not wait
} READER_WAIT_LINE;
typedef READER_WAIT_LINE *PREADER_WAIT_LINE;
typedef const READER_WAIT_LINE *PCREADER_WAIT_LINE;

typedef struct _READER_WAITS {
    PCHAR Text;                     // the file's; NULL: there is none
    PREADER_WAIT_LINE Lines;
    ULONG NumberOfLines;
    ULONG CapacityOfLines;
} READER_WAITS;


static
CHAR
FunctionLowerWait(
    _In_ CHAR Character
    )
{
    return Character >= 'A' && Character <= 'Z' ? (CHAR)(Character + 32)
                                                : Character;
}


static
BOOLEAN
FunctionIsWaitWord(
    _In_reads_(FirstLength) const CHAR *First,
    _In_ ULONG FirstLength,
    _In_reads_(SecondLength) const CHAR *Second,
    _In_ ULONG SecondLength
    )
{
    ULONG Index;

    if (FirstLength != SecondLength) {
        return FALSE;
    }

    for (Index = 0; Index < FirstLength; Index++) {
        if (FunctionLowerWait(First[Index]) !=
            FunctionLowerWait(Second[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Looks for a word among others.
//

static
BOOLEAN
FunctionIsAmongWaits(
    _In_z_ PCSZ Words,
    _In_reads_(Length) const CHAR *Word,
    _In_ ULONG Length
    )
{
    ULONG Begin = 0;
    ULONG End;

    for (End = 0;; End++) {

        if (Words[End] != 0 && Words[End] != ' ') {
            continue;
        }

        if (FunctionIsWaitWord(Words + Begin, End - Begin, Word, Length)) {
            return TRUE;
        }

        if (Words[End] == 0) {
            return FALSE;
        }

        Begin = End + 1;
    }
}


//
// Looks for an import in the table.
// Module, Function: the two parts of its name.
//

static
READER_WAIT_KIND
FunctionFindInWaitGroups(
    _In_reads_(ModuleLength) const CHAR *Module,
    _In_ ULONG ModuleLength,
    _In_reads_(FunctionLength) const CHAR *Function,
    _In_ ULONG FunctionLength
    )
{
    const READER_WAIT_GROUP *Group;
    CHAR Name[READER_WAIT_NAME];
    ULONG Index;

    if (FunctionLength > sizeof(Name)) {
        return ReaderWaitNone;
    }

    RtlCopyBytes(Name, Function, FunctionLength);
    if (FunctionLength > 2 && FunctionIsWaitWord(Name, 2, "Zw", 2)) {
        Name[0] = 'N';
        Name[1] = 't';
    }

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderWaitGroups); Index++) {
        Group = &ReaderWaitGroups[Index];
        if (FunctionIsAmongWaits(Group->Modules, Module, ModuleLength) &&
            FunctionIsAmongWaits(Group->Functions, Name, FunctionLength)) {
            return Group->Kind;
        }
    }

    return ReaderWaitNone;
}


//
// Says whether a line of the file means a function that was not imported.
//

static
BOOLEAN
FunctionIsOfWaitLine(
    _In_ PCREADER_WAIT_LINE Line,
    _In_ PCREADER_FUNCTION Function,
    _In_reads_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength
    )
{
    const CHAR *Rest = Line->Name;
    ULONG RestLength = Line->NameLength;
    ULONG Stem = Function->ModuleNameLength;

    if (Line->ModuleLength == 0) {
        return BaseCompareText(Rest, RestLength, Name, NameLength) == 0;
    }

    while (Stem != 0 && Function->ModuleName[Stem - 1] != '.') {
        Stem -= 1;
    }

    if (!FunctionIsWaitWord(Rest,
                            Line->ModuleLength,
                            Function->ModuleName,
                            Function->ModuleNameLength) &&
        (Stem == 0 || !FunctionIsWaitWord(Rest,
                                          Line->ModuleLength,
                                          Function->ModuleName,
                                          Stem - 1))) {
        return FALSE;
    }

    Rest += Line->ModuleLength + 1;
    RestLength -= Line->ModuleLength + 1;
    return FunctionIsWaitWord(Rest, RestLength, Name, NameLength);
}


_Use_decl_annotations_
READER_WAIT_KIND
FunctionFindWait(
    PREADER_WAITS Waits,
    PCREADER_FUNCTION Function
    )
{
    PCREADER_WAIT_LINE Line;
    CHAR Buffer[READER_SHORT_NAME_SIZE(READER_WAIT_NAME)];
    const CHAR *Name = Function->FullName;
    ULONG NameLength = Function->BareLength;
    ULONG ShortLength = 0;
    ULONG Module = 0;
    ULONG Index;

    if (!Function->IsStub && Waits->NumberOfLines != 0 &&
        NameLength <= READER_WAIT_NAME) {
        ShortLength = FunctionShortenName(Name,
                                          NameLength,
                                          FALSE,
                                          Buffer,
                                          sizeof(Buffer));
    }

    //
    // Of several lines the last one counts.
    //

    for (Index = Waits->NumberOfLines; Index != 0; Index--) {

        Line = &Waits->Lines[Index - 1];
        if (Function->IsStub ? FunctionIsWaitWord(Line->Name,
                                                  Line->NameLength,
                                                  Name,
                                                  NameLength)
                             : FunctionIsOfWaitLine(Line,
                                                    Function,
                                                    Name,
                                                    NameLength) ||
                                   FunctionIsOfWaitLine(Line,
                                                        Function,
                                                        Buffer,
                                                        ShortLength)) {
            return Line->Kind;
        }
    }

    if (!Function->IsStub) {
        return ReaderWaitNone;
    }

    while (Module < NameLength && Name[Module] != '!') {
        Module += 1;
    }

    return Module == NameLength
               ? ReaderWaitNone
               : FunctionFindInWaitGroups(Name,
                                          Module,
                                          Name + Module + 1,
                                          NameLength - Module - 1);
}


_Use_decl_annotations_
ULONG
FunctionQueryWaitFlags(
    const READER_FUNCTIONS *Functions,
    ULONG Function
    )
{
    UCHAR Wait = Functions->Functions[Function].Wait;

    return Wait == ReaderWaitNone   ? 0
           : Wait == ReaderWaitLock ? CORE_CALL_LOCK
                                    : CORE_CALL_WAIT;
}


//
// Takes a line of the file: NAME KIND, or -NAME.
// Text, Length: the line, without blanks around it.
// Problem: receives what is wrong with it; NULL: nothing.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddWaitLine(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_WAITS Waits,
    _In_reads_(Length) const CHAR *Text,
    _In_ ULONG Length,
    _Outptr_result_maybenull_ PCSZ *Problem
    )
{
    PREADER_WAIT_LINE Line;
    BOOLEAN IsTaken = Text[0] == '-';
    ULONG Kind = ReaderWaitNone;
    ULONG Begin = Length;
    ULONG Index;
    NTSTATUS Status;

    *Problem = NULL;
    if (IsTaken) {
        Text += 1;
        Length -= 1;
    } else {

        while (Begin != 0 && Text[Begin - 1] != ' ' &&
               Text[Begin - 1] != '\t') {
            Begin -= 1;
        }

        for (Index = 1; Index < ReaderNumberOfWaitKinds; Index++) {
            if (FunctionIsWaitWord(Text + Begin,
                                   Length - Begin,
                                   ReaderWaitKindNames[Index],
                                   RtlLengthOfString(
                                       ReaderWaitKindNames[Index]))) {
                Kind = Index;
            }
        }

        if (Kind == ReaderWaitNone) {
            *Problem = "does not end with a kind: object, sleep, lock, "
                       "condition, thread, file, pipe, socket, port, message "
                       "or console";
            return STATUS_SUCCESS;
        }

        Length = Begin;
    }

    while (Length != 0 &&
           (Text[Length - 1] == ' ' || Text[Length - 1] == '\t')) {
        Length -= 1;
    }

    if (Length == 0) {
        *Problem = "has no function";
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Waits->Lines,
                           &Waits->CapacityOfLines,
                           Waits->NumberOfLines + 1,
                           sizeof(READER_WAIT_LINE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Line = &Waits->Lines[Waits->NumberOfLines];
    Line->Name = Text;
    Line->NameLength = Length;
    Line->Kind = (READER_WAIT_KIND)Kind;
    for (Index = 0; Index < Length; Index++) {
        if (Text[Index] == '!') {
            Line->ModuleLength = Index;
            break;
        }
    }

    Waits->NumberOfLines += 1;
    return STATUS_SUCCESS;
}


//
// Takes the lines of the file.
// Returns FALSE if one is not good, or there is no memory; that was written.
//

_Must_inspect_result_
static
BOOLEAN
FunctionTakeWaits(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_WAITS Waits,
    _In_ ULONG SizeInBytes,
    _In_z_ PCSZ Name
    )
{
    const CHAR *Text = Waits->Text;
    PCSZ Problem;
    ULONG Line = 1;
    ULONG Begin = 0;
    ULONG First;
    ULONG Last;
    ULONG End;
    NTSTATUS Status;

    if (SizeInBytes >= 3 && RtlAreBytesEqual(Text, "\xEF\xBB\xBF", 3)) {
        Begin = 3;
    }

    for (; Begin <= SizeInBytes; Begin = End + 1, Line++) {

        for (End = Begin; End < SizeInBytes && Text[End] != '\n'; End++) {
        }

        First = Begin;
        Last = End;
        while (First < Last && (UCHAR)Text[First] <= ' ') {
            First += 1;
        }

        while (First < Last && (UCHAR)Text[Last - 1] <= ' ') {
            Last -= 1;
        }

        if (First == Last || Text[First] == '#') {
            continue;
        }

        Status = FunctionAddWaitLine(Context->Allocator,
                                     Waits,
                                     Text + First,
                                     Last - First,
                                     &Problem);
        if (!NT_SUCCESS(Status)) {
            BaseFail(Context, "read the file of --waits", Name, Status);
            return FALSE;
        }

        if (Problem != NULL) {
            RtlWriteText(Context->Errors,
                         "TraceReader: read the file of --waits: %T: line %u "
                         "%s\n",
                         Name,
                         Line,
                         Problem);
            RtlFlushWriter(Context->Errors);
            return FALSE;
        }
    }

    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
FunctionBeginWaits(
    PREADER_SESSION Session,
    PCREADER_OPTIONS Options
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PREADER_WAITS Waits;
    ULONG SizeInBytes;
    NTSTATUS Status;

    Waits = (PREADER_WAITS)
        Context->Allocator->Allocate(Context->Allocator->Context,
                                     sizeof(READER_WAITS));
    if (Waits == NULL) {
        BaseFail(Context,
                 Options->Command,
                 Options->PathUtf8,
                 STATUS_NO_MEMORY);
        return FALSE;
    }

    RtlZeroBytes(Waits, sizeof(*Waits));
    Session->Waits = Waits;
    if (Options->Waits == NULL) {
        return TRUE;
    }

    Status = BaseReadFile(Context,
                          Options->Waits,
                          READER_MAXIMUM_WAITS_FILE,
                          (PVOID *)&Waits->Text,
                          &SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "read the file of --waits",
                 Options->WaitsUtf8,
                 Status);
    } else if (FunctionTakeWaits(Context,
                                 Waits,
                                 SizeInBytes,
                                 Options->WaitsUtf8)) {
        return TRUE;
    }

    FunctionEndWaits(Session);
    return FALSE;
}


_Use_decl_annotations_
VOID
FunctionEndWaits(
    PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_WAITS Waits = Session->Waits;

    if (Waits != NULL) {
        Allocator->Free(Allocator->Context, Waits->Text);
        Allocator->Free(Allocator->Context, Waits->Lines);
        Allocator->Free(Allocator->Context, Waits);
        Session->Waits = NULL;
    }
}
