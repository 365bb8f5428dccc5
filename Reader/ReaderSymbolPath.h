/*++

Module Name:

    ReaderSymbolPath.h

Abstract:

    The folders in which images and their PDBs are looked for: those of
    --symbols, then those of the environment variable _NT_SYMBOL_PATH; and the
    search for the PDB that belongs to an image.

    A PDB that does not belong to the image is never used, whatever DbgHelp
    would do: its GUID and age must be those that the image names.

--*/

#ifndef TRACER_READER_SYMBOL_PATH_H
#define TRACER_READER_SYMBOL_PATH_H

#include "../Rtl/Rtl.h"
#include "ReaderPdb.h"

typedef struct _READER_SYMBOL_PATH {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    PWSTR Buffer;                   // elements with semicolons, terminated
    ULONG LengthInChars;
    BOOLEAN HasServer;              // one of them is for DbgHelp alone:
                                    // srv*..., cache*...
} READER_SYMBOL_PATH;
typedef READER_SYMBOL_PATH *PREADER_SYMBOL_PATH;
typedef const READER_SYMBOL_PATH *PCREADER_SYMBOL_PATH;

//
// Option is what --symbols gave, or NULL.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_SYMBOL_PATH)(
    _Out_ PREADER_SYMBOL_PATH Path,
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_opt_z_ PCWSTR Option
    );
READER_INITIALIZE_SYMBOL_PATH ReaderInitializeSymbolPath;

//
// The next folder; *Offset is 0 for the first and kept for the next call.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_NEXT_SYMBOL_FOLDER)(
    _In_ PCREADER_SYMBOL_PATH Path,
    _Inout_ PULONG Offset,
    _Out_ PUNICODE_STRING Folder
    );
READER_NEXT_SYMBOL_FOLDER ReaderNextSymbolFolder;

typedef VOID (READER_RUNDOWN_SYMBOL_PATH)(_Inout_ PREADER_SYMBOL_PATH Path);
READER_RUNDOWN_SYMBOL_PATH ReaderRundownSymbolPath;

//
// What came of the search for a PDB.
//

#define READER_PDB_WARNING_SIZE 4096

typedef struct _READER_PDB_SEARCH {
    BOOLEAN IsFound;
    BOOLEAN IsDamagedSeen;          // in one of the places where DbgHelp looks
    ULONG FolderLength;             // in Path, with the separator
    UNICODE_STRING Path;            // of the PDB that was found, terminated
    READER_COFF Table;              // its functions
    ULONG WarningLength;            // bytes; 0: there is none
    CHAR Warning[READER_PDB_WARNING_SIZE];
    WCHAR Buffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR NtBuffer[RTL_MAXIMUM_PATH_IN_CHARS + 1];
    WCHAR NameBuffer[READER_COFF_MAXIMUM_PDB_PATH];
} READER_PDB_SEARCH;
typedef READER_PDB_SEARCH *PREADER_PDB_SEARCH;

//
// Looks for the PDB that Image names: where it says, in the current folder,
// beside the image at ImagePath, and in the folders of Path (in a folder
// itself, or as symbol stores have it: NAME\GUIDAGE\NAME).  Search is zeroed by
// the caller; its table is the caller's to run down.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_FIND_PDB)(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING ImagePath
    );
READER_FIND_PDB ReaderFindPdb;

//
// Looks at the PDB at PdbPath, terminated.  If it is of no use Search has the
// warning.
//
//     STATUS_NOT_FOUND               there is no such file
//     STATUS_REVISION_MISMATCH       it does not belong to the image
//     STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_CHECK_PDB)(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_z_ PCWSTR PdbPath
    );
READER_CHECK_PDB ReaderCheckPdb;

#endif // TRACER_READER_SYMBOL_PATH_H
