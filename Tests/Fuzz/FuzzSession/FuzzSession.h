/*++

Module Name:

    FuzzSession.h

Abstract:

    What the sources of FuzzSession share.

--*/

#ifndef TRACER_FUZZ_SESSION_H
#define TRACER_FUZZ_SESSION_H

#include "../FuzzReal.h"
#include "../../../Reader/Symbols/SymbolDbgHelp.h"
#include "../../../Reader/Export/ExportHtml.h"
#include "../../../Reader/Live/LiveConsole.h"
#include "../../../Reader/Output/OutputPager.h"
#include "../../../Reader/Commands/Command.h"
#include "../../../StringTable/StringTable.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_SESSION_ONE_STORE  0x01    // the path is that of the first file
#define FUZZ_SESSION_PROCESS    0x02    // the process runs
#define FUZZ_SESSION_DENIED     0x04    // or may not be asked
#define FUZZ_SESSION_ENDS       0x08    // it ends when it is waited for
#define FUZZ_SESSION_INDEX      0x10    // there are indexes, and more marks
#define FUZZ_SESSION_FROM       0x20    // --from, --from-start
#define FUZZ_SESSION_TO         0x40    // --to
#define FUZZ_SESSION_SEVERAL    0x80    // the files lie in D0, D1 and D2, in
                                        // turn: of a process each

#define FUZZ_FILE_IS_MADE       0x01    // by FuzzMakeStore, else bytes
#define FUZZ_FILE_IS_LATE       0x02    // is there from the first wait on
#define FUZZ_FILE_GROWS         0x04    // its end moves at the first wait
#define FUZZ_FILE_IS_DIRECTORY  0x08
#define FUZZ_FILE_HAS_SUFFIX    0x10    // .trace follows the name
#define FUZZ_FILE_IS_WIDE       0x20    // the name has 2 bytes a character
#define FUZZ_FILE_IS_IMAGE      0x40    // the name is Program.exe
#define FUZZ_FILE_IS_CACHE      0x80    // the name is symbols.cache
#define FUZZ_FILE_IS_KEPT       0x100   // nothing may be written to it
#define FUZZ_FILE_IS_BELOW      0x200   // in the directory that a command makes

//
// What an input may cost: work (FuzzWork.c), and bytes of memory at a time.
// The reader's own tables have some MiB however little there is to read.  A
// session is read six times and more, by a few hundred comparisons for each
// record.  A hundred million are a second, so that no input of FUZZ_REAL_SIZE
// takes ten.
//

#define FUZZ_WORK               60000000ULL
#define FUZZ_WORK_OF_BYTE       600ULL
#define FUZZ_MEMORY             0x1000000ULL
#define FUZZ_MEMORY_OF_BYTE     32ULL

#define FUZZ_DIRECTORIES 3
#define FUZZ_MAXIMUM_FILES 12
#define FUZZ_MAXIMUM_MADE_FILES 256     // with those that the reader makes
#define FUZZ_MAXIMUM_NAME 80
#define FUZZ_MAXIMUM_VIEWS 256
#define FUZZ_MAXIMUM_ARGUMENTS 24
#define FUZZ_TAKEN_ARGUMENTS 6
#define FUZZ_OUTPUT_SIZE 0x40000
#define FUZZ_FIRST_TIMESTAMP 100000000
#define FUZZ_AROUND_STRING 64           // what a search reads at a time
#define FUZZ_PROCESS_CREATION_TIME 0x01DC000000000000LL
#define FUZZ_MAXIMUM_TIME 0x4000000000000000ULL
#define FUZZ_NEW_DIRECTORY 99           // one that a command makes

typedef struct _FUZZ_FILE {
    WCHAR Name[FUZZ_MAXIMUM_NAME];
    ULONG NameLength;
    ULONG Flags;                    // FUZZ_FILE_*
    PUCHAR Bytes;
    SIZE_T Size;
    ULONGLONG Cursor;               // that the header has after the first wait
    ULONGLONG FirstPosition;        // likewise, and the next of a compact store
    ULONGLONG BlocksEnd;
} FUZZ_FILE;
typedef FUZZ_FILE *PFUZZ_FILE;

typedef struct _FUZZ_VIEW {
    PUCHAR Address;                 // NULL: not in use
    PFUZZ_FILE File;
    SIZE_T Offset;
} FUZZ_VIEW;

typedef struct _FUZZ_WORLD {
    FUZZ_FILE Files[FUZZ_MAXIMUM_MADE_FILES];
    ULONG NumberOfFiles;
    BOOLEAN HasNewDirectory;
    FUZZ_VIEW Views[FUZZ_MAXIMUM_VIEWS];
    ULONG Flags;                    // FUZZ_SESSION_*
    ULONG FailAfter;                // calls of the system
    ULONG NumberOfWaits;
    WCHAR DirectoryNames[FUZZ_DIRECTORIES][2];
    LONG NumberOfHandles;
    LONG NumberOfPages;             // allocations of pages
    LONGLONG CreationTime;          // of the process
    BOOLEAN IsReal;                 // a whole session: FuzzReal.h
} FUZZ_WORLD;

//
// Makes a compact store of the file, whose header has that mode and the records
// behind it.
//

VOID
FuzzMakeCompact(
    _Inout_ PFUZZ_FILE File
    );

//
// The arguments of the program.
//

typedef struct _FUZZ_COMMAND {
    RTL_ARGUMENT Arguments[FUZZ_MAXIMUM_ARGUMENTS + 3];
    ULONG Count;
    WCHAR Wide[512];
    CHAR Utf8[512];
    ULONG Used;                     // of both
} FUZZ_COMMAND;
typedef FUZZ_COMMAND *PFUZZ_COMMAND;

//
// What is written: it is kept until it is looked at.
//

typedef struct _FUZZ_OUTPUT {
    RTL_WRITER Writer;
    CHAR Buffer[512];
    SIZE_T Length;
    CHAR Text[FUZZ_OUTPUT_SIZE];
} FUZZ_OUTPUT;
typedef FUZZ_OUTPUT *PFUZZ_OUTPUT;

extern FUZZ_WORLD FuzzWorld;

extern FUZZ_OUTPUT FuzzOutput;
extern FUZZ_OUTPUT FuzzErrors;

//
// FuzzSession.c.
//

//
// Says whether a command has an argument.
//

BOOLEAN
FuzzHasArgument(
    const FUZZ_COMMAND *Command,
    PCSZ Text
    );

//
// Makes an output.
//

VOID
FuzzInitializeOutput(
    PFUZZ_OUTPUT Output
    );

//
// Adds an argument of ASCII text.
// Text, Length: the argument; what cannot be printed becomes a letter.
//

VOID
FuzzAddArgument(
    PFUZZ_COMMAND Command,
    const CHAR *Text,
    ULONG Length
    );

//
// Is it one of these commands?  Names: each with a blank on either side.
//

BOOLEAN
FuzzIsCommand(
    const FUZZ_COMMAND *Command,
    PCSZ Names
    );

//
// World.c.
//

//
// Says whether a file is an index: the only one that the reader may write.
//

BOOLEAN
FuzzIsIndex(
    const WCHAR *Name,
    ULONG Length
    );

//
// Checks.c.
//

//
// Adds the name of the function that the session spent most time in.
// Command: the argument.
// IsFailing: whether something is to fail later, and not before: the name is
// then one that there may not be.
//

VOID
FuzzAddFunction(
    PCREADER_CONTEXT Context,
    PFUZZ_COMMAND Command,
    const CHAR *Path,
    ULONG PathLength,
    BOOLEAN IsFailing
    );

//
// Checks that the general rules alone, and one worker, make what was made.
//

VOID
FuzzCheckGeneral(
    PCREADER_CONTEXT Context,
    PFUZZ_COMMAND Command,
    ULONG ExitCode
    );

//
// Checks that a command shows the same when it writes an index, and from a
// time on with that, a report also by the general rules alone; and that it
// does no harm when the index is damaged. Here checksums do not count.
//
// Context: the context, with what was written in the two outputs.
// Command: the command that wrote it.
// ExitCode: what it returned.
// Seed: says which time, and which damage.
// IsOwn: the input has no index.
//

VOID
FuzzCheckIndex(
    PCREADER_CONTEXT Context,
    const FUZZ_COMMAND *Command,
    ULONG ExitCode,
    ULONG Seed,
    BOOLEAN IsOwn
    );

//
// What FuzzSession.c calls, source by source.
//

VOID FuzzInitializeRtl(PRTL Rtl);       // World.c

#endif // TRACER_FUZZ_SESSION_H
