/*++

Module Name:

    CallIndexFile.c

Abstract:

    What reading and writing the file of an index share.

--*/

#include "../Base/BaseHashWords.h"
#include "CallIndexFile.h"

_Use_decl_annotations_
ULONGLONG
CallHashMark(
    PCREADER_INDEX_MARK Mark,
    ULONGLONG Offset
    )
{
    return BaseHashWords(Offset,
                         &Mark->SizeInBytes,
                         Mark->SizeInBytes - sizeof(ULONGLONG));
}

_Use_decl_annotations_
ULONGLONG
CallHashHeader(
    const READER_INDEX_HEADER *Header
    )
{
    return BaseHashWords(0,
                         Header,
                         FIELD_OFFSET(READER_INDEX_HEADER, Checksum));
}

_Use_decl_annotations_
ULONGLONG
CallIdentifyStore(
    PCTRACE_STORE_HEADER Header
    )
{
    ULONGLONG Hash = Header->MinimumDuration;

    Hash = BaseHashWords(Hash,
                         Header,
                         FIELD_OFFSET(TRACE_STORE_HEADER, Cursor));
    Hash = BaseHashWords(Hash,
                         &Header->OpenAnchor,
                         sizeof(Header->OpenAnchor));
    return BaseHashWords(Hash,
                         &Header->ModuleBase,
                         FIELD_OFFSET(TRACE_STORE_HEADER, ModulePathLength) -
                               FIELD_OFFSET(TRACE_STORE_HEADER, ModuleBase));
}

_Use_decl_annotations_
ULONG
CallDescribeImage(
    const READER_MODULE *Module
    )
{
    if (Module->Symbols != NULL && SymbolGetUnwind(Module->Symbols) != NULL) {
        return READER_INDEX_UNWIND;
    }

    if (Module->IsSymbolsTried && Module->CachedModule != READER_NONE &&
        !Module->IsPairingMissed) {
        return READER_INDEX_UNWIND;
    }

    return 0;
}

_Use_decl_annotations_
NTSTATUS
CallGrowMarkBuffer(
    PREADER_STREAM Stream,
    ULONG SizeInBytes
    )
{
    return BaseGrowArray(Stream->Session->Context->Allocator,
                         &Stream->Index->Buffer,
                         &Stream->Index->Capacity,
                         (SizeInBytes + sizeof(ULONGLONG) - 1) /
                               sizeof(ULONGLONG),
                         sizeof(ULONGLONG));
}

_Use_decl_annotations_
BOOLEAN
CallIndexFileReadNear(
    PREADER_STREAM Stream,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
{
    PREADER_INDEX Index = Stream->Index;
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    ULONGLONG Start = Offset & ~(ULONGLONG)(READER_INDEX_NEAR - 1);
    ULONG Place = (ULONG)(Offset - Start);

    if (SizeInBytes > READER_INDEX_NEAR - Place) {
        return CallIndexFileReadExactly(&Index->Source,
                                        Offset,
                                        Bytes,
                                        SizeInBytes);
    }

    if (Index->Near == NULL) {
        Index->Near = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                  READER_INDEX_NEAR);
        if (Index->Near == NULL) {
            return FALSE;
        }
    }

    //
    // What it lacked may be there now.
    //

    if (Index->NearOffset != Start ||
        Place + SizeInBytes > Index->NearLength) {

        Index->NearOffset = Start;
        if (!NT_SUCCESS(SessionReadSource(&Index->Source,
                                          Start,
                                          Index->Near,
                                          READER_INDEX_NEAR,
                                          &Index->NearLength))) {
            Index->NearLength = 0;
        }
    }

    if (Place + SizeInBytes > Index->NearLength) {
        return FALSE;
    }

    RtlCopyBytes(Bytes, Index->Near + Place, SizeInBytes);
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
CallIndexFileReadExactly(
    PREADER_SOURCE Source,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
{
    ULONG ReadInBytes;
    NTSTATUS Status;

    Status = SessionReadSource(Source,
                               Offset,
                               Bytes,
                               SizeInBytes,
                               &ReadInBytes);
    return NT_SUCCESS(Status) && ReadInBytes == SizeInBytes;
}

_Use_decl_annotations_
BOOLEAN
CallIndexFileReadRecord(
    const READER_STREAM *Stream,
    PREADER_STORE Store,
    ULONGLONG Position,
    PTRACE_RECORD Record
    )
{
    ULONG NumberRead;
    NTSTATUS Status;

    Status = SessionReadRecords(Stream->Session->Context,
                                Store,
                                Position,
                                Record,
                                1,
                                &NumberRead);
    if (!NT_SUCCESS(Status)) {

        //
        // Whoever needs the record finds that out again.
        //

        Store->Status = STATUS_SUCCESS;
        Store->FailedStep = NULL;
        return FALSE;
    }

    return NumberRead == 1;
}
