/*++

Module Name:

    FunctionCache.h

Abstract:

    What was ever asked of the images, in a file of the session's directory.

--*/

#ifndef TRACER_FUNCTION_CACHE_H
#define TRACER_FUNCTION_CACHE_H

#include "../Session/Session.h"

//
// Gives a session its cache, and takes it away. Without memory it has none.
//

VOID
FunctionOpenCache(
    _Inout_ PREADER_SESSION Session
    );

//
// Frees a session's cache, which the names that it gave out are in.
// Session: the session, with a cache or without.
//

VOID
FunctionCloseCache(
    _Inout_ PREADER_SESSION Session
    );

//
// Looks for a module in the cache; sets its CachedModule and CachedSource.
//

BOOLEAN
FunctionFindModuleInCache(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_MODULE Module
    );

//
// Is what the image says of a module's sites known, from itself or from the
// cache?  The module is loaded.
//

BOOLEAN
FunctionIsImageKnown(
    _In_ const READER_MODULE *Module
    );

//
// Forgets what the cache has of a module, which now has better symbols.
//

VOID
FunctionDropModuleFromCache(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_MODULE Module
    );

//
// Asks the cache for the function that a site is in. What the cache knows
// (FALSE: it does not), and telling it what the image said. The module's
// symbols are loaded.
//
// Session: the session; the module is loaded.
// Site: (module index << 32) | RVA.
// Symbol: the function; only its StartRva if it has no name.
// IsFound: whether it has one.
//

_Success_(return != FALSE)
BOOLEAN
FunctionFindNameInCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Site,
    _Out_ PREADER_SYMBOL Symbol,
    _Out_ PBOOLEAN IsFound
    );

//
// Tells the cache which function a site is in.
// Site: (module index << 32) | RVA.
// IsFound: whether the image's symbols have a name for it.
// Symbol: the function, as they have it; else only its StartRva.
//

VOID
FunctionAddNameToCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Site,
    _In_ BOOLEAN IsFound,
    _In_ const READER_SYMBOL *Symbol
    );

//
// Asks the cache what the image says of a call's site.
// Session: the session; the module is loaded.
// Key: (module index << 32) | RVA.
// IsFunction: whether the RVA is a function's first address.
// Site: what the image said.
// Returns FALSE: the cache does not know.
//

_Success_(return != FALSE)
BOOLEAN
FunctionFindSiteInCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Key,
    _In_ BOOLEAN IsFunction,
    _Out_ PREADER_SITE Site
    );

//
// Tells the cache what the image says of a call's site.
// Key: (module index << 32) | RVA.
// IsFunction: whether the RVA is a function's first address.
//

VOID
FunctionAddSiteToCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Key,
    _In_ BOOLEAN IsFunction,
    _In_ PCREADER_SITE Site
    );

//
// Asks the cache how often a function may have been inlined.
// Session: the session; the module is loaded.
// Key: (outer RVA << 32) | inner RVA.
// Returns FALSE: the cache does not know.
//

_Success_(return != FALSE)
BOOLEAN
FunctionFindInlinedInCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ ULONGLONG Key,
    _Out_ PULONG Number
    );

//
// Tells the cache how often a function may have been inlined.
// Key: (outer RVA << 32) | inner RVA.
//

VOID
FunctionAddInlinedToCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ ULONGLONG Key,
    _In_ ULONG Number
    );

//
// The cache's file, in memory of the allocator, with what is new.
// Bytes: the file, which is the caller's to free.
// STATUS_FILE_TOO_LARGE: it would be larger than a cache may be.
//

_Must_inspect_result_
NTSTATUS
FunctionMakeCache(
    _In_ PREADER_SESSION Session,
    _Outptr_ PVOID *Bytes,
    _Out_ PULONG SizeInBytes
    );

//
// Writes the cache, if there is something new in it; what a command does that
// has read everything. A folder that cannot be written in is no failure. A
// cache of another version is replaced only if all that it has can be found
// again.
//
// Session: the session, with a cache or without.
// IsVerbose: whether to say what came of it.
//

VOID
FunctionSaveCache(
    _Inout_ PREADER_SESSION Session,
    _In_ BOOLEAN IsVerbose
    );

#endif // TRACER_FUNCTION_CACHE_H
