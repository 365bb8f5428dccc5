/*++

Module Name:

    Wasm.h

Abstract:

    What the sources share that are the reader's operating system in a browser:
    memory, and files that the page has been given and reads on demand.

--*/

#ifndef TRACER_VIEW_WASM_H
#define TRACER_VIEW_WASM_H

#include "../../Base/BaseContext.h"

#define WASM_EXPORT(Name) __attribute__((export_name(#Name)))
#define WASM_IMPORT(Name) \
    __attribute__((import_module("host"), import_name(#Name)))

//
// The page's: reads bytes of a file that it was given, by its number; returns
// how many, or -1.
//

WASM_IMPORT(read)
LONG
WasmHostRead(
    ULONG File,
    double Offset,
    PVOID Buffer,
    ULONG SizeInBytes
    );

//
// The page's: takes a piece of levels that are to be kept.
//

WASM_IMPORT(keep)
VOID
WasmHostKeep(
    const CHAR *Bytes,
    ULONG SizeInBytes
    );

//
// The page's: called now and then while something long is done.
//

WASM_IMPORT(progress)
VOID
WasmHostProgress(
    double Records
    );

//
// WasmMemory.c: memory that is never given back, but used again.
//

extern const ALLOCATOR WasmAllocator;

//
// WasmWorld.c: fills the routines that the reader calls.
//

VOID
WasmInitializeRtl(
    _Out_ PRTL Rtl
    );

//
// WasmWorld.c: a file's number; WASM_NO_HOST: the page has not given it.
//

#define WASM_NO_HOST 0xFFFFFFFFu

ULONG
WasmFindHost(
    _In_ PCUNICODE_STRING Path
    );

//

#endif // TRACER_VIEW_WASM_H
