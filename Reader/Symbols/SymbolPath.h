/*++

Module Name:

    SymbolPath.h

Abstract:

    The folders in which images and their PDBs are looked for: those of
    --symbols, then those of the environment variable _NT_SYMBOL_PATH; and the
    search for the PDB that belongs to an image.

    A PDB that does not belong to the image is never used, whatever DbgHelp
    would do: its GUID and age must be those that the image names.

--*/

#ifndef TRACER_SYMBOL_PATH_H
#define TRACER_SYMBOL_PATH_H

#include "../../Rtl/Rtl.h"
#include "../Image/ImageCoff.h"

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
// Joins what --symbols and the environment say.
//
// Rtl: the operating system's routines.
//

_Must_inspect_result_
NTSTATUS
SymbolInitializeSymbolPath(
    _Out_ PREADER_SYMBOL_PATH Path,
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator,
    _In_opt_z_ PCWSTR Option
    );

//
// Finds the next element that is a folder. The next folder; *Offset is 0 for
// the first and kept for the next call.
// Offset: where to go on, in 16-bit units; receives it.
// Folder: the folder, in Path's memory.
// Returns FALSE if there are no more.
//

_Success_(return != FALSE)
BOOLEAN
SymbolNextSymbolFolder(
    _In_ PCREADER_SYMBOL_PATH Path,
    _Inout_ PULONG Offset,
    _Out_ PUNICODE_STRING Folder
    );

//
// Frees the path.
//

VOID
SymbolRundownSymbolPath(
    _Inout_ PREADER_SYMBOL_PATH Path
    );

//
// Whether a path that a store or an image names is of a drive of this machine
// and of a file.  Windows logs on to whatever machine a UNC path names, and a
// device may do anything when it is opened: such paths are for --symbols.
//

BOOLEAN
SymbolIsLocalPath(
    _In_ PCUNICODE_STRING Path
    );

//
// What came of the search for a PDB.
//

#define READER_PDB_WARNING_SIZE 4096

typedef struct _READER_PDB_SEARCH {
    BOOLEAN IsFound;
    BOOLEAN IsDamagedSeen;          // in one of the places where DbgHelp looks
    BOOLEAN IsTableDamaged;         // the PDB that was found is damaged; what
                                    // could be read is in Table
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
// Search: what was found.
//

_Must_inspect_result_
NTSTATUS
SymbolFindPdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_ PCUNICODE_STRING ImagePath
    );

//
// Looks at the PDB at PdbPath, terminated.  If it is of no use Search has the
// warning.
//
//     STATUS_NOT_FOUND               there is no such file
//     STATUS_REVISION_MISMATCH       it does not belong to the image
//     STATUS_FILE_CORRUPT_ERROR, STATUS_NO_MEMORY
//
// Says whether a PDB belongs to an image.
//
// Path: the operating system's routines.
// Returns STATUS_SUCCESS if it does, or the failures that SymbolPath.h
// lists.
//

_Must_inspect_result_
NTSTATUS
SymbolCheckPdb(
    _Inout_ PREADER_PDB_SEARCH Search,
    _In_ PCREADER_SYMBOL_PATH Path,
    _In_ PCREADER_COFF Image,
    _In_z_ PCWSTR PdbPath
    );

#endif // TRACER_SYMBOL_PATH_H
