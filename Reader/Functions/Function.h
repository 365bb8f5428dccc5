/*++

Module Name:

    Function.h

Abstract:

    The functions of a session, by the sites that records name.

--*/

#ifndef TRACER_FUNCTION_H
#define TRACER_FUNCTION_H

#include "../Session/Session.h"
#include "FunctionShorten.h"

//
// The site that stands for the functions without nodes of their own in a tree.
//

#define READER_OTHER_RVA 0xFFFFFFFFu

typedef struct _READER_FUNCTION {
    ULONG Module;                   // index
    ULONG Rva;                      // of its start, or of the site, or
                                    // READER_OTHER_RVA: it has none
    PCSZ Name;                      // as it is shown, UTF-8: the full name, or
    ULONG NameLength;               // a short one that is no other function's
    PCSZ FullName;                  // which is what names are compared by
    ULONG FullLength;               // bytes
    ULONG BareLength;               // of it, without READER_APART_SUFFIX
    ULONG FoldedLength;             // bytes
    PCSZ FoldedNames;               // of other functions with the same code,
                                    // joined by "; "; ""
    PCHAR ShortName;                // both allocated, or NULL: without and
    PCHAR LongerName;               // with parameters
    ULONG ShortLength;
    ULONG LongerLength;
    ULONG NextNamesake;             // index + 1 of another one of the same
                                    // full name, behind the first; 0: none
    const CHAR *ModuleName;         // its module's file name; of a stub that
    ULONG ModuleNameLength;         // of the function that it calls
    ULONG Imported;                 // of such a stub: index + 1 of that module
                                    // in Imported; 0: it is none
    ULONG Importer;                 // likewise, where AreStubsApart: of the
                                    // module that calls the stub
    ULONG FirstRva;                 // Rva; of a stub that of the first one
                                    // that calls the same function
    BOOLEAN IsNameOwned;            // module+0xRVA, or "... [+2 folded]"
    BOOLEAN IsStub;                 // Rva is TracerImports.dll's
    BOOLEAN IsSelected;             // by --module, by ModuleName
    BOOLEAN IsNamed;                // by a symbol that is its own
    BOOLEAN IsShown;                // these two by FunctionFilterFunctions
    BOOLEAN IsExcluded;             // the longest prefix is one of --exclude
    BOOLEAN IsLeftOut;              // the command's: it was, at least once
    UCHAR Wait;                     // READER_WAIT_KIND: FunctionWaits.h
} READER_FUNCTION;
typedef READER_FUNCTION *PREADER_FUNCTION;
typedef const READER_FUNCTION *PCREADER_FUNCTION;

//
// A module that has functions that stubs call, or calls stubs.  There is one of
// a name.
//

typedef struct _READER_IMPORTED {
    PCSZ Name;                      // "kernel32.dll"; the session's
    ULONG NameLength;
} READER_IMPORTED;
typedef READER_IMPORTED *PREADER_IMPORTED;
typedef const READER_IMPORTED *PCREADER_IMPORTED;

typedef struct _READER_FUNCTIONS {
    PREADER_SESSION Session;
    READER_MAP Sites;               // site to function
    READER_MAP Starts;              // (module << 32) | start RVA to function
    PREADER_FUNCTION Functions;
    ULONG NumberOfFunctions;
    ULONG CapacityOfFunctions;
    ULONG NumberOfDecided;          // by FunctionFilterFunctions
    ULONGLONG NumberOfDecisions;    // that it has made
    ULONGLONG FilterMicroseconds;   // that this took
    READER_MAP ShortNames;          // hash of a short name to its function
    READER_MAP LongerNames;         // of one that has its parameters
    ULONG NumberOfShortened;        // by FunctionGiveShortNames
    PREADER_IMPORTED Imported;      // in the order of their first functions
    ULONG NumberOfImported;
    ULONG CapacityOfImported;
    READER_MAP Callers;             // (function << 32) | number of Imported of
                                    // a module that calls its stubs
    struct _READER_FUNCTIONS *Peer; // what is shown beside these, or NULL
    BOOLEAN IsQuiet;                // the caller warns of missing symbols
    BOOLEAN AreCallersNoted;        // the caller's: of trees' nodes
    BOOLEAN AreStubsApart;          // the caller's, before the first: a
                                    // function that several modules import is
                                    // one for each
} READER_FUNCTIONS;
typedef READER_FUNCTIONS *PREADER_FUNCTIONS;

//
// Makes an empty table of functions.
// Session: the session; must outlive the table.
//

VOID
FunctionInitializeFunctions(
    _Out_ PREADER_FUNCTIONS Functions,
    _In_ PREADER_SESSION Session
    );

//
// Frees what the table holds.
//

VOID
FunctionRundownFunctions(
    _Inout_ PREADER_FUNCTIONS Functions
    );

//
// The index of the function that a site is in.
// Site: (module index << 32) | RVA.
// IsSilent: a module without names is not warned of, as where the table
// IsQuiet.
//

_Must_inspect_result_
NTSTATUS
FunctionFindFunction(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONGLONG Site,
    _In_ BOOLEAN IsSilent,
    _Out_ PULONG Function
    );

//
// Numbers a function's module for what needs a number for each: the session's
// modules come first, then those of Imported.  No module may come to the
// session afterwards.
//

ULONG
FunctionNumberModule(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ PCREADER_FUNCTION Function
    );

//
// Which module a site's stub belongs to: index + 1 in Imported; 0: it is none,
// or that is not known.
//

_Must_inspect_result_
NTSTATUS
FunctionFindImporter(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONGLONG Site,
    _Out_ PULONG Importer
    );

//
// Notes which module a site's stub belongs to, if it is one, of those that have
// called a function.
//

_Must_inspect_result_
NTSTATUS
FunctionNoteCaller(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONGLONG Site,
    _In_ ULONG Function
    );

//
// Gives each function the index of the first one that it is the same as but for
// the module that calls its stub.
//

_Must_inspect_result_
NTSTATUS
FunctionFindAlike(
    _In_ const READER_FUNCTIONS *Functions,
    _Out_writes_(Functions->NumberOfFunctions) PULONG Alike
    );

//
// Does a function's stub belong to a module of this name, in any case?
//

BOOLEAN
FunctionIsImporter(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ PCREADER_FUNCTION Function,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    );

//
// Compares two functions by their names as they are shown, byte by byte.
// Returns negative, zero or positive.
//

LONG
FunctionCompareNames(
    _In_ PCREADER_FUNCTION First,
    _In_ PCREADER_FUNCTION Second
    );

//
// Puts READER_APART_SUFFIX behind a function's name, unless it is there: its
// self time may contain other functions' of the same thread.
//

_Must_inspect_result_
NTSTATUS
FunctionMarkApart(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG Function
    );

//
// Gives the functions that were found since the last time short names, if the
// session's are: without parameters; with them where two functions would have
// the same short name otherwise; the full name where that does not tell them
// apart.  A function that was named before may get a longer name by that.  To
// be called before names are shown.
//

VOID
FunctionGiveShortNames(
    _Inout_ PREADER_FUNCTIONS Functions
    );

//
// Says why a module's functions have no names, if they have none, unless that
// was said before.
//

VOID
FunctionWarnOfSymbols(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_MODULE Module
    );

//
// Makes ready what is known of a module, unless that was tried before: the
// cache, if it has the module with good symbols, else its image's symbols.
// What the cache has is enough if nothing better is to be found; otherwise the
// image is looked for each time, and what is found there takes the cache's
// place if it is better.
//
// STATUS_SUCCESS: there may be no symbols all the same.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_LOAD_MODULE_SYMBOLS)(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_MODULE Module
    );
READER_LOAD_MODULE_SYMBOLS FunctionLoadModuleSymbols;

//
// Loads the symbols of a module's image, for what the cache does not know,
// unless that was tried before.
// STATUS_SUCCESS: there may be no symbols all the same.
//

READER_LOAD_MODULE_SYMBOLS FunctionLoadModuleImage;

//
// Where a module's names come from, now or when they came into the cache.
// Module: the module, its symbols loaded.
// Returns the best source; single names may come from a lesser one.
//

READER_SYMBOL_SOURCE
FunctionGetModuleSource(
    _In_ const READER_MODULE *Module
    );

#endif // TRACER_FUNCTION_H
