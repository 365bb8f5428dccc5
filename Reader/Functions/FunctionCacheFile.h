/*++

Module Name:

    FunctionCacheFile.h

Abstract:

    What the parts of the symbol cache share: the format of its file, and how
    they call one another.  FunctionCache.h has what the rest of the reader
    calls.

--*/

#ifndef TRACER_FUNCTION_CACHE_FILE_H
#define TRACER_FUNCTION_CACHE_FILE_H

#include "../Session/Session.h"

//
// A fuzz target has to get beyond the checksum.
//

#ifndef READER_CACHE_IS_CHECKED
#define READER_CACHE_IS_CHECKED 1
#endif

#define READER_CACHE_MAGIC 0x4548434143435254ULL    // "TRCCACHE"

//
// Counts the formats, and the rules by which names are made.
//

#define READER_CACHE_VERSION 4u

//
// The largest file that is read or written, in bytes, and how many modules it
// may have.
//

#define READER_CACHE_MAXIMUM_SIZE 0x10000000ULL
#define READER_CACHE_MAXIMUM_MODULES 0x10000u

//
// The longest text that is kept, and what all entries' texts may come to, each
// counted as often as it is named; bytes.
//

#define READER_CACHE_MAXIMUM_TEXT 0x100000u
#define READER_CACHE_MAXIMUM_TEXTS 0x40000000ULL

typedef struct _READER_CACHE_HEADER {
    ULONGLONG Magic;
    ULONG Version;
    ULONG NumberOfModules;
    ULONGLONG NumberOfEntries;
    ULONGLONG SizeOfTexts;          // bytes, a multiple of 8
    ULONGLONG SizeInBytes;          // of the file
    ULONGLONG Unused[2];
    ULONGLONG Checksum;             // of what is before and behind it
} READER_CACHE_HEADER;
typedef READER_CACHE_HEADER *PREADER_CACHE_HEADER;

typedef struct _READER_CACHE_MODULE {
    ULONG TimeDateStamp;            // these as in a store's header
    ULONG SizeOfImage;
    ULONG CheckSum;
    ULONG CodeViewAge;
    UCHAR CodeViewGuid[16];
    ULONG Path;                     // offset among the texts
    ULONG PathLength;               // bytes
    ULONG Source;                   // READER_SYMBOL_SOURCE
    ULONG Unused[5];
} READER_CACHE_MODULE;
typedef READER_CACHE_MODULE *PREADER_CACHE_MODULE;
typedef const READER_CACHE_MODULE *PCREADER_CACHE_MODULE;

//
// What an entry answers, and what its Key and Values are.
//

typedef enum _READER_CACHE_TYPE {

    //
    // The function that an address is in.  Key: RVA; Values: 0 (no name), or 1
    // and the number of others that begin there; start RVA; name's offset and
    // length; raw text's offset and length.
    //

    ReaderCacheName = 0,

    //
    // What a call's site says, and the same of a site that is a function's
    // first address.  Key: RVA; Values: READER_CACHE_HAS_*, RVA of Function,
    // RVA of JumpTarget, FrameSize, BodySize, Flags.
    //

    ReaderCacheSite,
    ReaderCacheFunctionSite,

    //
    // How often a function may have been inlined.  Key: (outer RVA << 32) |
    // inner RVA; Values: the number.
    //

    ReaderCacheInlined,

    //
    // A source line.  Key: RVA; Values: the line, 0: none; file's offset and
    // length.
    //

    ReaderCacheLine,
    ReaderCacheNumberOfTypes
} READER_CACHE_TYPE;

#define READER_CACHE_VALUES 6

#define READER_CACHE_HAS_FUNCTION 0x1u
#define READER_CACHE_HAS_TARGET 0x2u

typedef struct _READER_CACHE_ENTRY {
    ULONG Module;                   // entries are in the order of these three
    ULONG Type;                     // READER_CACHE_TYPE
    ULONGLONG Key;
    ULONG Values[READER_CACHE_VALUES];
} READER_CACHE_ENTRY;
typedef READER_CACHE_ENTRY *PREADER_CACHE_ENTRY;
typedef const READER_CACHE_ENTRY *PCREADER_CACHE_ENTRY;

C_ASSERT(sizeof(READER_CACHE_HEADER) == 64);
C_ASSERT(sizeof(READER_CACHE_MODULE) == 64);
C_ASSERT(sizeof(READER_CACHE_ENTRY) == 40);
C_ASSERT(FIELD_OFFSET(READER_CACHE_HEADER, Checksum) == 56);

//
// The values of an entry that are a text's offset; its length follows.
//

#define READER_CACHE_NAME_TEXT 2u
#define READER_CACHE_RAW_TEXT 4u
#define READER_CACHE_FILE_TEXT 1u

//
// An entry that is not in the file.  Its module is the session's; its texts
// are where the symbols have them.
//

typedef struct _READER_CACHE_NEW {
    READER_CACHE_ENTRY Entry;
    PCSZ Text;                      // the name, or the file
    PCSZ RawText;
} READER_CACHE_NEW;
typedef READER_CACHE_NEW *PREADER_CACHE_NEW;

typedef struct _READER_CACHE {
    PUCHAR Bytes;                   // of the file; NULL: there is none
    PREADER_CACHE_HEADER Header;    // these four in Bytes
    PREADER_CACHE_MODULE Modules;
    PREADER_CACHE_ENTRY Entries;
    PCSZ Texts;
    PBOOLEAN IsDropped;             // by module: it has better symbols now
    PREADER_CACHE_NEW News;
    ULONG NumberOfNews;
    ULONG CapacityOfNews;
    ULONGLONG NumberOfHits;
    ULONGLONG SumOfTexts;           // of the lengths of what the file names
    BOOLEAN IsOtherVersion;         // the file is: it is not lost lightly
} READER_CACHE;

//
// Finds the checksum of a cache.
// Rest: what follows it.
// SizeInBytes: how much that is, a multiple of 8.
//

ULONGLONG
FunctionHashCache(
    _In_ const READER_CACHE_HEADER *Header,
    _In_reads_bytes_(SizeInBytes) const VOID *Rest,
    _In_ SIZE_T SizeInBytes
    );

//
// Names a file in the session's directory; the name's buffer is allocated.
// Directory: of the session's, 0 is its own.
// IsTemporary: whether the file that is written is meant, which takes the
// other one's name when it is whole.
// NtPath: the name, whose buffer is the caller's to free.
// Returns STATUS_SUCCESS, STATUS_NAME_TOO_LONG or STATUS_NO_MEMORY.
//

_Must_inspect_result_
NTSTATUS
FunctionNameCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG Directory,
    _In_ BOOLEAN IsTemporary,
    _Out_ PUNICODE_STRING NtPath
    );

//
// Is a module of the cache one of the session's?
// Header: of a store of the session's module.
//

BOOLEAN
FunctionIsCachedModule(
    _In_ const READER_CACHE *Cache,
    _In_ PCREADER_CACHE_MODULE Cached,
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// A file that cannot be used is said to be so, and is as none.
// FunctionCacheRead.c: reads the cache of one of the session's directories into
// a cache without bytes, if there is one.
//

VOID
FunctionLoadCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG Directory,
    _Inout_ PREADER_CACHE Cache
    );

//
// FunctionCacheMerge.c: of a session with several directories, reads the caches
// of all and makes one of them.
//

VOID
FunctionLoadCaches(
    _Inout_ PREADER_SESSION Session
    );

//
// Finds an entry, and makes one; NULL: there is none, or no room for it.
// Type: what is asked.
// Returns the entry; NULL: the cache does not know.
//

PCREADER_CACHE_ENTRY
FunctionFindInCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ READER_CACHE_TYPE Type,
    _In_ ULONGLONG Key
    );

//
// Adds an entry, if there is a cache and the image answered. Without memory it
// is not added, and looked up again another time.
// Type: what was asked.
// Returns the entry, to be filled in; NULL: none was added.
//

PREADER_CACHE_NEW
FunctionAddToCache(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ READER_CACHE_TYPE Type,
    _In_ ULONGLONG Key
    );

#endif // TRACER_FUNCTION_CACHE_FILE_H
