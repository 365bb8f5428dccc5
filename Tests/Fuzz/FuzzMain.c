/*++

Module Name:

    FuzzMain.c

Abstract:

    The main program of a fuzz target where there is no libFuzzer: gives the
    target the files that are named, and those of the folders that are.

--*/

#include "FuzzSupport.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_MAXIMUM_PATH 4096

//
// Gives the target one file.
// Returns the number of files, 1; 0 if it cannot be read.
//

static
int
FuzzRunFile(
    PCSZ Path
    )
{
    FILE *File = fopen(Path, "rb");
    UCHAR *Bytes;
    long Size;

    if (File == NULL) {
        return 0;
    }

    if (fseek(File, 0, SEEK_END) != 0 || (Size = ftell(File)) < 0 ||
        fseek(File, 0, SEEK_SET) != 0) {
        fclose(File);
        return 0;
    }

    //
    // A block of the file's size, so that the sanitizer knows its end.
    //

    Bytes = (UCHAR *)malloc(Size == 0 ? 1 : (size_t)Size);
    if (Bytes == NULL || fread(Bytes, 1, (size_t)Size, File) != (size_t)Size) {
        fclose(File);
        free(Bytes);
        return 0;
    }

    fclose(File);
    LLVMFuzzerTestOneInput(Bytes, (SIZE_T)Size);
    free(Bytes);
    return 1;
}

//
// Runs the target.
// NumberOfArguments, Arguments: files and folders; options of libFuzzer are
// passed over.
// Returns 0; a finding ends the program otherwise.
//

int
main(
    int NumberOfArguments,
    char **Arguments
    )
{
    char Path[FUZZ_MAXIMUM_PATH];
    struct dirent *Entry;
    int Count = 0;
    DIR *Folder;
    int Index;

    for (Index = 1; Index < NumberOfArguments; Index++) {

        if (Arguments[Index][0] == '-') {
            continue;
        }

        Folder = opendir(Arguments[Index]);
        if (Folder == NULL) {
            Count += FuzzRunFile(Arguments[Index]);
            continue;
        }

        while ((Entry = readdir(Folder)) != NULL) {
            if (Entry->d_name[0] != '.') {
                snprintf(Path,
                         sizeof(Path),
                         "%s/%s",
                         Arguments[Index],
                         Entry->d_name);
                Count += FuzzRunFile(Path);
            }
        }

        closedir(Folder);
    }

    printf("%d files\n", Count);
    return 0;
}
