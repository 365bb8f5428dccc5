/*++

Module Name:

    TestRtl.h

Abstract:

    What the sources of TestRtl share.

--*/

#ifndef TRACER_TEST_RTL_H
#define TRACER_TEST_RTL_H

#include "Test.h"

#define TEST_PAGE_SIZE 4096

//
// Bootstrap.c.
//

//
// Finds an export without the code under test.
// Dll: the DLL's name.
// Returns the export, or NULL.
//

PVOID
TestExport(
    _In_z_ PCWSTR Dll,
    _In_z_ PCSZ Name
    );

//
// What TestRtl.c calls, source by source.
//

VOID TestBootstrap(_In_ PCRTL Rtl);                 // Bootstrap.c

VOID TestAllocator(_In_ PCALLOCATOR Allocator);     // Memory.c
VOID TestMemory(VOID);                              // Memory.c
VOID TestCrt(VOID);                                 // Memory.c

VOID TestConversions(VOID);                         // Strings.c
VOID TestAllCharacters(VOID);                       // Strings.c
VOID TestStrings(VOID);                             // Strings.c

VOID TestFormats(VOID);                             // Formats.c
VOID TestFormatsByReference(VOID);                  // Formats.c
VOID TestTruncation(VOID);                          // Formats.c

VOID TestFlush(VOID);                               // Writers.c
VOID TestStandardHandles(_In_ PCRTL Rtl);           // Writers.c
VOID TestErrors(VOID);                              // Writers.c

VOID TestPaths(_In_ PCRTL Rtl);                     // Paths.c
VOID TestEnvironment(_In_ PCRTL Rtl);               // Paths.c
VOID TestCommandLines(_In_ PCALLOCATOR Allocator);  // Paths.c

VOID TestFiles(_In_ PCRTL Rtl);                     // Files.c

VOID TestClockWaits(_In_ PCRTL Rtl);                // Clock.c
VOID TestClocks(_In_ PCRTL Rtl);                    // Clock.c
VOID TestCalendar(VOID);                            // Clock.c

VOID TestCpu(_In_ PCRTL Rtl);                       // Processor.c
VOID TestStackProbe(VOID);                          // Processor.c

#endif // TRACER_TEST_RTL_H
