/*++

Module Name:

    TestSymbols.h

Abstract:

    What the sources of TestSymbols share.

--*/

#ifndef TRACER_TEST_SYMBOLS_H
#define TRACER_TEST_SYMBOLS_H

#include "../../../Rtl/Rtl.h"
#include "../../../Reader/Symbols/Symbols.h"
#include "../../../Reader/Symbols/SymbolUndecorate.h"
#include "Test.h"

#define TEST_IMAGE_CAPACITY 4096
#define TEST_PATH_IN_CHARS 1024
#define TEST_MAXIMUM_IMAGE_IN_BYTES (32 * 1024 * 1024)
#define TEST_LOOKUPS 10000
#define TEST_THIS_PROCESS ((HANDLE)(LONG_PTR)-1)

//
// An allocator that counts, and that fails from the given call on.
//

typedef struct _TEST_COUNTER {
    LONG Outstanding;
    ULONG Calls;
    ULONG FailAt;                   // number of the call; 0: never
} TEST_COUNTER;
typedef TEST_COUNTER *PTEST_COUNTER;

//
// The image that is made here.
//
//     RVA     file    size
//     0x1000  0x400   0x100   .text   code
//     0x2000  0x500   0x180   .data   data, with the export directory
//     0x3000  0x700   0x080   .more   code
//             0x780           symbols, then strings
//

#define TEST_TEXT               0x1000
#define TEST_DATA               0x2000
#define TEST_MORE               0x3000
#define TEST_TEXT_FILE          0x400
#define TEST_DATA_FILE          0x500
#define TEST_MORE_FILE          0x700
#define TEST_SYMBOLS_FILE       0x780
#define TEST_NT                 0x40
#define TEST_OPTIONAL           (TEST_NT + 24)
#define TEST_SECTIONS           (TEST_OPTIONAL + 240)
#define TEST_IMAGE_SIZE         0x4000
#define TEST_TIME_DATE_STAMP    0x12345678
#define TEST_CHECK_SUM          0x0badf00d

extern PCRTL TestRtl;
extern PCALLOCATOR TestAllocator;
extern TRACE_STORE_HEADER TestHeader;
extern UCHAR TestImage[TEST_IMAGE_CAPACITY];
extern WCHAR TestPath[TEST_PATH_IN_CHARS];
extern TEST_PATH TestFolder;
extern TEST_PATH TestFilePath;
extern RTL_ERROR TestError;

extern TEST_COUNTER TestCounter;
extern const ALLOCATOR TestCountingAllocator;

//
// RTLs without DbgHelp, with a DbgHelp that lacks everything, and with the
// DbgHelp of FakeDbgHelp.c.
//

extern RTL TestRtlWithout;
extern RTL TestRtlEmpty;
extern RTL TestRtlFake;

extern const WCHAR TestImageName[];

//
// Files.c.
//

//
// Writes a little-endian 16-bit number.
// Bytes: where it goes.
//

VOID
TestPutUshort(
    PUCHAR Bytes,
    ULONG Value
    );

//
// Writes a little-endian 32-bit number.
// Bytes: where it goes.
//

VOID
TestPutUlong(
    PUCHAR Bytes,
    ULONG Value
    );

//
// Reads a little-endian 32-bit number.
// Bytes: its first byte.
//

ULONG
TestGetUlong(
    const UCHAR *Bytes
    );

//
// Makes a store's header that names a module.
// Path: the image's path, terminated.
// Base, Size: where the module was, and its size in bytes.
// TimeDateStamp, CheckSum: its identity.
//

VOID
TestFillHeader(
    PTRACE_STORE_HEADER Header,
    PCWSTR Path,
    ULONGLONG Base,
    ULONG Size,
    ULONG TimeDateStamp,
    ULONG CheckSum
    );

//
// Makes a store's header that names a loaded module; its path is in TestPath
// afterwards.
// Returns FALSE if its path cannot be had.
//

BOOLEAN
TestFillHeaderOfModule(
    PTRACE_STORE_HEADER Header,
    HMODULE Module
    );

//
// Finds the characteristics of the section of a loaded module that holds an
// RVA. This uses the Windows headers' structures, not the code under test.
// Rva: the address.
// Returns the flags, or 0 if it is in no section.
//

ULONG
TestSectionFlags(
    HMODULE Module,
    ULONG Rva
    );

//
// Opens a file for reading, or creates it anew.
// Path: its DOS path, terminated.
// Create: whether to create it.
// File: where the handle goes.
// Returns the status of what failed, or STATUS_SUCCESS.
//

NTSTATUS
TestOpen(
    PCWSTR Path,
    BOOLEAN Create,
    PHANDLE File
    );

//
// Makes the absolute DOS path of a file in this run's folder.
// Returns the path, terminated; good until the next call.
//

PCWSTR
TestPathInFolder(
    PCWSTR Name
    );

//
// Path: its DOS path, terminated.
// Bytes, SizeInBytes: what is in it.
// Returns the status of what failed, or STATUS_SUCCESS.
//

NTSTATUS
TestWriteWholeFile(
    PCWSTR Path,
    const VOID *Bytes,
    ULONG SizeInBytes
    );

//
// Path: its DOS path, terminated.
// SizeInBytes: where its size goes.
// Returns the bytes, to be freed, or NULL.
//

PUCHAR
TestReadWholeFile(
    PCWSTR Path,
    PULONG SizeInBytes
    );

//
// OwnImage.c.
//

//
// Says whether the reader finds a certain function.
// Rva: the address to ask for.
// StartRva, Name: what should be found.
// Returns TRUE if that is found.
//

BOOLEAN
TestFindsName(
    PREADER_SYMBOLS Symbols,
    ULONG Rva,
    ULONG StartRva,
    PCSZ Name
    );

//
// Says whether an image's tables have a certain function.
// Rva: the address to ask for.
// StartRva, Name: what should be found.
// Returns TRUE if that is found.
//

BOOLEAN
TestCoffFinds(
    PCREADER_COFF Coff,
    ULONG Rva,
    ULONG StartRva,
    PCSZ Name
    );

//
// Says whether an image's tables have no function at an address.
// Rva: the address to ask for.
// Returns TRUE if nothing is found.
//

BOOLEAN
TestCoffFindsNothing(
    PCREADER_COFF Coff,
    ULONG Rva
    );

//
// Measures how long many different addresses take.
// Rtl: the RTL, with DbgHelp or without.
// Module: a module whose code is that large.
// StepInBytes: the distance of the addresses.
//

VOID
TestSpeedOf(
    PCRTL Rtl,
    HMODULE Module,
    ULONG StepInBytes
    );

//
// MadeImages.c.
//

//
// WithSymbols: whether it gets a COFF symbol table.
// Returns its size in bytes.
//

ULONG
TestMakeImage(
    BOOLEAN WithSymbols
    );

//
// Sources.c.
//

//
// Creates and destroys the symbols of a header.
// Header: the store's header.
// Source, ExpectedStatus: what should come of it.
// Returns TRUE if the source and the error are as expected and no memory was
// lost.
//

BOOLEAN
TestSourceIs(
    PCRTL Rtl,
    PCTRACE_STORE_HEADER Header,
    READER_SYMBOL_SOURCE Source,
    NTSTATUS ExpectedStatus
    );

//
// FakeDbgHelp.c.
//

//
// Stands in for LoadLibraryExW: there is no DbgHelp.
// Returns NULL.
//

HMODULE
WINAPI
TestLoadNothing(
    LPCWSTR FileName,
    HANDLE File,
    DWORD Flags
    );

//
// Stands in for LoadLibraryExW: gives a DLL that has none of DbgHelp's
// routines.
// FileName, File, Flags: what is not used.
// Returns ntdll's handle.
//

HMODULE
WINAPI
TestLoadNtdll(
    LPCWSTR FileName,
    HANDLE File,
    DWORD Flags
    );

//
// Stands in for LoadLibraryExW: gives this program, which exports routines
// with DbgHelp's names.
// FileName, File, Flags: what is not used.
// Returns this program's handle.
//

HMODULE
WINAPI
TestLoadItself(
    LPCWSTR FileName,
    HANDLE File,
    DWORD Flags
    );

//
// Stands in for FreeLibrary, for handles that were not counted.
// Module: what is not used.
// Returns TRUE.
//

BOOL
WINAPI
TestFreeNothing(
    HMODULE Module
    );

//
// What TestSymbols.c calls, source by source.
//

VOID TestOwnImage(VOID);                // OwnImage.c
VOID TestDamagedPdb(VOID);              // OwnImage.c
VOID TestExportsOf(PCWSTR ModuleName);  // OwnImage.c

VOID TestMadeImage(VOID);               // MadeImages.c
VOID TestHostileImages(VOID);           // MadeImages.c
VOID TestSharedName(VOID);              // MadeImages.c

VOID TestFiles(VOID);                   // Sources.c

VOID TestFakeDbgHelp(VOID);             // FakeDbgHelp.c

#endif // TRACER_TEST_SYMBOLS_H
