/*++

Module Name:

    FuzzReal.h

Abstract:

    Inputs of FuzzSession that are whole sessions, as a traced program left
    them or as they were damaged later: files with their names, of which only
    what is not zero is in the input.  Seeds.py makes them of sessions,
    FuzzMutate.c changes them at their fields.

        1 byte      FUZZ_REAL
        1 byte      FUZZ_SESSION_*
        2 bytes     which allocation fails; 0: none
        1 byte      which call of the system fails; 0: none
        1 byte      the command and its options: FuzzRealLines
        files       until the input ends:

            1 byte      FUZZ_REAL_*
            1 byte      the length of the name, 63 at most
                        the name, one byte a character
            4 bytes     the size
            pieces      until one of length 0 comes, or the input ends:

                3 bytes     zeroes since the piece before
                2 bytes     the length
                            the bytes

--*/

#ifndef TRACER_FUZZ_REAL_H
#define TRACER_FUZZ_REAL_H

#include "FuzzSupport.h"

#define FUZZ_REAL 0xFF

#define FUZZ_REAL_HEAD 6                // bytes before the files
#define FUZZ_REAL_FILES 24
#define FUZZ_REAL_NAME 64

//
// All files of an input together have no more bytes than this.
//

#define FUZZ_REAL_SIZE 0x180000

#define FUZZ_REAL_IS_LATE 0x01          // is there from the first wait on

typedef struct _FUZZ_REAL_FILE {
    ULONG Flags;                        // FUZZ_REAL_*
    ULONG NameLength;
    CHAR Name[FUZZ_REAL_NAME];
    SIZE_T Size;
    PUCHAR Bytes;                       // calloc
} FUZZ_REAL_FILE;
typedef FUZZ_REAL_FILE *PFUZZ_REAL_FILE;

typedef struct _FUZZ_REAL_SESSION {
    UCHAR Head[FUZZ_REAL_HEAD];
    FUZZ_REAL_FILE Files[FUZZ_REAL_FILES];
    ULONG NumberOfFiles;
    SIZE_T Size;                        // of all files
} FUZZ_REAL_SESSION;
typedef FUZZ_REAL_SESSION *PFUZZ_REAL_SESSION;

//
// Whatever the input holds is a session; FuzzFreeReal frees its files.
//

VOID
FuzzDecodeReal(
    const UCHAR *Data,
    SIZE_T Size,
    PFUZZ_REAL_SESSION Session
    );

//
// Returns the input's size, or 0 if it would be larger than MaximumSize.
//

SIZE_T
FuzzEncodeReal(
    const FUZZ_REAL_SESSION *Session,
    PUCHAR Data,
    SIZE_T MaximumSize
    );

VOID
FuzzFreeReal(
    PFUZZ_REAL_SESSION Session
    );

//
// Gives a file another size; what is new is zero.  FALSE: the session would be
// too large, and nothing was done.
//

BOOLEAN
FuzzResizeReal(
    PFUZZ_REAL_SESSION Session,
    PFUZZ_REAL_FILE File,
    SIZE_T Size
    );

BOOLEAN
FuzzHasSuffix(
    const FUZZ_REAL_FILE *File,
    PCSZ Suffix
    );

//
// The commands of whole sessions, as they are typed.
//

extern const PCSZ FuzzRealLines[];
extern const ULONG FuzzNumberOfRealLines;

#endif // TRACER_FUZZ_REAL_H
