/*++

Module Name:

    ImportsStub.c

Abstract:

    Which stubs are given out, and what for.  A stub is never given out twice,
    since records that name it are read by what the file says of it.

--*/

#include "Imports.h"

typedef struct _IMPORTS_STUB {
    ULONG Importer;                 // modules
    ULONG Exporter;
    ULONG NameHash;
    ULONG Next;                     // of the same bucket, plus 1; 0: none
    BOOLEAN IsDead;
} IMPORTS_STUB;
typedef IMPORTS_STUB *PIMPORTS_STUB;

#define IMPORTS_BUCKETS 16384

static IMPORTS_STUB ImportsStubs[IMPORTS_NUMBER_OF_STUBS];
static ULONG ImportsBuckets[IMPORTS_BUCKETS];

static
ULONG
ImportsHashName(
    _In_ PCIMPORTS_NAME Name
    )
{
    ULONG Hash;
    ULONG Index;

    //
    // The same function by its name and by its ordinal is one.
    //

    Hash = 0x811C9DC5 ^ (Name->Text == NULL ? Name->Ordinal : 0);
    for (Index = 0; Name->Text != NULL && Index < Name->Length; Index += 1) {
        Hash = (Hash ^ (UCHAR)Name->Text[Index]) * 0x01000193;
    }

    return Hash;
}

_Use_decl_annotations_
ULONG
ImportsGetStub(
    ULONG Importer,
    ULONG Exporter,
    PVOID Target,
    PCIMPORTS_NAME Name,
    BOOLEAN IsLarge
    )
{
    PIMPORTS_STUB Stub;
    PULONG Bucket;
    ULONG NameHash;
    ULONG Index;

    NameHash = ImportsHashName(Name);
    Bucket = &ImportsBuckets[(NameHash ^ (Importer * 0x9E3779B1)) %
                             IMPORTS_BUCKETS];
    for (Index = *Bucket; Index != 0; Index = Stub->Next) {
        Stub = &ImportsStubs[Index - 1];
        if (!Stub->IsDead && ImportsTargets[Index - 1] == Target &&
            Stub->Importer == Importer && Stub->Exporter == Exporter &&
            Stub->NameHash == NameHash) {

            //
            // It may be that the file could not be written before.
            //

            ImportsPutStub(Index - 1, Importer, Exporter, Name);
            return Index - 1;
        }
    }

    //
    // A large one does for what a small one does, and not the other way.
    //

    if (!IsLarge && ImportsState.NextSmall < IMPORTS_SMALL_STUBS) {
        Index = ImportsState.NextSmall;
        ImportsState.NextSmall += 1;
    } else if (ImportsState.NextLarge < IMPORTS_LARGE_STUBS) {
        Index = IMPORTS_SMALL_STUBS + ImportsState.NextLarge;
        ImportsState.NextLarge += 1;
    } else {
        return IMPORTS_NONE;
    }

    Stub = &ImportsStubs[Index];
    Stub->Importer = Importer;
    Stub->Exporter = Exporter;
    Stub->NameHash = NameHash;
    Stub->Next = *Bucket;
    *Bucket = Index + 1;
    ImportsTargets[Index] = Target;
    ImportsPutStub(Index, Importer, Exporter, Name);
    return Index;
}

_Use_decl_annotations_
ULONG
ImportsGetImporter(
    ULONG Stub
    )
{
    return ImportsStubs[Stub].Importer;
}

_Use_decl_annotations_
VOID
ImportsForgetStubs(
    ULONG Exporter
    )
{
    ULONG Index;

    for (Index = 0; Index < IMPORTS_NUMBER_OF_STUBS; Index += 1) {
        if (ImportsTargets[Index] != NULL &&
            (ImportsStubs[Index].Exporter == Exporter ||
             (ULONG_PTR)ImportsTargets[Index] -
                 (ULONG_PTR)ImportsModules[Exporter].Base <
                 ImportsModules[Exporter].SizeInBytes)) {

            ImportsStubs[Index].IsDead = TRUE;
        }
    }
}
