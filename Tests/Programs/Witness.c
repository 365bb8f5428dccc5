/*++

Module Name:

    Witness.c

Abstract:

    Witness.dll: see Witness.h.

    A track (the calls of one thread on one stack) belongs to its thread alone,
    so only the list of all tracks needs an interlocked operation.  The track
    is kept in a fiber local slot, which follows a fiber by itself.  The
    system empties that slot when a thread ends, before the last DLLs are told
    of it: the track of a thread's own stack is also in a thread local slot.

--*/

#define WITNESS_BUILD
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "Witness.h"

typedef struct NODE {
    struct NODE *Parent;
    struct NODE *FirstChild;
    struct NODE *NextSibling;
    const char *Name;
    unsigned long long Calls;
    unsigned long long Abandoned;
    unsigned long long Open;
    unsigned long long Number;          // when it is written
} NODE;

#define NODES_PER_BLOCK 4096

typedef struct TRACK {
    struct TRACK *Next;
    NODE Root;
    NODE *Current;
    NODE *Block;
    unsigned NodesLeft;
    unsigned Depth;
    unsigned Thread;
    unsigned Fiber;
} TRACK;

static TRACK *volatile Tracks;
static volatile LONG IsWritten;
static DWORD TrackSlot;
static DWORD OwnTrackSlot;
static DWORD FiberCountSlot;

typedef struct NAME {
    struct NAME *Next;
    char Text[1];
} NAME;

static NAME *volatile Names;

static void
Fail(
    const char *What
    )
{
    fprintf(stderr, "Witness: %s\n", What);
    TerminateProcess(GetCurrentProcess(), 99);
}

static TRACK *
MakeTrack(
    void
    )
{
    TRACK *Track;
    TRACK *Next;

    Track = VirtualAlloc(NULL, sizeof(*Track), MEM_COMMIT, PAGE_READWRITE);
    if (Track == NULL) {
        Fail("no memory");
    }
    Track->Thread = GetCurrentThreadId();
    Track->Current = &Track->Root;
    do {
        Next = Tracks;
        Track->Next = Next;
    } while (InterlockedCompareExchangePointer((void *volatile *)&Tracks,
                                               Track,
                                               Next) != Next);
    FlsSetValue(TrackSlot, Track);
    return Track;
}

static TRACK *
GetTrack(
    void
    )
{
    TRACK *Track = FlsGetValue(TrackSlot);

    if (Track == NULL) {
        Track = TlsGetValue(OwnTrackSlot);
    }
    if (Track == NULL) {
        Track = MakeTrack();
        TlsSetValue(OwnTrackSlot, Track);
    }
    return Track;
}

const char *
WitnessKeep(
    const char *Name
    )
{
    DWORD Error = GetLastError();
    NAME *First;
    NAME *Known;
    NAME *New = NULL;

    do {
        First = Names;
        for (Known = First; Known != NULL; Known = Known->Next) {
            if (strcmp(Known->Text, Name) == 0) {
                free(New);
                SetLastError(Error);
                return Known->Text;
            }
        }
        if (New == NULL) {
            New = malloc(sizeof(*New) + strlen(Name));
            if (New == NULL) {
                Fail("no memory");
            }
            strcpy(New->Text, Name);
        }
        New->Next = First;
    } while (InterlockedCompareExchangePointer((void *volatile *)&Names,
                                               New,
                                               First) != First);
    SetLastError(Error);
    return New->Text;
}

static NODE *
FindChild(
    TRACK *Track,
    const char *Name
    )
{
    NODE *Parent = Track->Current;
    NODE *Node;

    for (Node = Parent->FirstChild; Node != NULL; Node = Node->NextSibling) {
        if (Node->Name == Name || strcmp(Node->Name, Name) == 0) {
            return Node;
        }
    }
    if (Track->NodesLeft == 0) {

        //
        // The first block is small: most threads make few different calls.
        //

        Track->NodesLeft = Track->Block == NULL ? 64 : NODES_PER_BLOCK;
        Track->Block = VirtualAlloc(NULL,
                                    Track->NodesLeft * sizeof(NODE),
                                    MEM_COMMIT,
                                    PAGE_READWRITE);
        if (Track->Block == NULL) {
            Fail("no memory");
        }
    }
    Node = Track->Block;
    Track->Block += 1;
    Track->NodesLeft -= 1;
    Node->Parent = Parent;
    Node->Name = Name;
    Node->NextSibling = Parent->FirstChild;
    Parent->FirstChild = Node;
    return Node;
}

void
WitnessEnter(
    const char *Name
    )
{
    DWORD Error = GetLastError();
    TRACK *Track = GetTrack();

    Track->Current = FindChild(Track, Name);
    Track->Current->Calls += 1;
    Track->Depth += 1;
    SetLastError(Error);
}

void
WitnessLeaveTo(
    unsigned Depth,
    int IsAbandoned
    )
{
    DWORD Error = GetLastError();
    TRACK *Track = GetTrack();

    if (Depth > Track->Depth) {
        Fail("more frames are left than were entered");
    }
    while (Track->Depth > Depth) {
        Track->Current->Abandoned += IsAbandoned != 0;
        Track->Current = Track->Current->Parent;
        Track->Depth -= 1;
    }
    SetLastError(Error);
}

void
WitnessLeave(
    void
    )
{
    unsigned Depth = WitnessDepth();

    if (Depth == 0) {
        Fail("more functions return than were entered");
    }
    WitnessLeaveTo(Depth - 1, 0);
}

unsigned
WitnessDepth(
    void
    )
{
    DWORD Error = GetLastError();
    unsigned Depth = GetTrack()->Depth;

    SetLastError(Error);
    return Depth;
}

void
WitnessBeginFiber(
    void
    )
{
    DWORD Error = GetLastError();
    ULONG_PTR Count = (ULONG_PTR)TlsGetValue(FiberCountSlot) + 1;

    TlsSetValue(FiberCountSlot, (void *)Count);
    MakeTrack()->Fiber = (unsigned)Count;
    SetLastError(Error);
}

static void
WriteTrack(
    FILE *File,
    TRACK *Track,
    unsigned Index
    )
{
    NODE *Node;
    unsigned long long Number = 0;

    for (Node = Track->Current; Node != NULL; Node = Node->Parent) {
        Node->Open += 1;
    }

    //
    // Depth first by the links: a tree can be a million calls deep.
    //

    Node = &Track->Root;
    Node->Name = "";
    while (Node != NULL) {
        Node->Number = Number;
        Number += 1;
        fprintf(File,
                "%u\t%u\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\n",
                Index,
                Track->Thread,
                Track->Fiber,
                Node->Number,
                Node->Parent != NULL ? Node->Parent->Number : 0,
                Node->Calls,
                Node->Abandoned,
                Node->Open,
                Node->Name);
        if (Node->FirstChild != NULL) {
            Node = Node->FirstChild;
            continue;
        }
        while (Node != NULL && Node->NextSibling == NULL) {
            Node = Node->Parent;
        }
        if (Node != NULL) {
            Node = Node->NextSibling;
        }
    }
}

void
WitnessWrite(
    void
    )
{
    const char *Path = getenv("WITNESS_FILE");
    FILE *File;
    TRACK *Track;
    unsigned Index = 0;

    if (Path == NULL || InterlockedExchange(&IsWritten, 1) != 0) {
        return;
    }
    File = fopen(Path, "wb");
    if (File == NULL) {
        Fail("WITNESS_FILE cannot be written");
    }
    for (Track = Tracks; Track != NULL; Track = Track->Next) {
        WriteTrack(File, Track, Index);
        Index += 1;
    }
    if (fclose(File) != 0) {
        Fail("WITNESS_FILE cannot be written");
    }
}

BOOL WINAPI
DllMain(
    HINSTANCE Instance,
    DWORD Reason,
    void *Reserved
    )
{
    (void)Instance;
    if (Reason == DLL_PROCESS_ATTACH) {
        TrackSlot = FlsAlloc(NULL);
        OwnTrackSlot = TlsAlloc();
        FiberCountSlot = TlsAlloc();
        if (TrackSlot == FLS_OUT_OF_INDEXES ||
            OwnTrackSlot == TLS_OUT_OF_INDEXES ||
            FiberCountSlot == TLS_OUT_OF_INDEXES) {
            return FALSE;
        }
    } else if (Reason == DLL_PROCESS_DETACH && Reserved != NULL) {
        WitnessWrite();
    }
    return TRUE;
}
