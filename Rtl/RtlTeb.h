/*++

Module Name:

    RtlTeb.h

Abstract:

    The fields of the thread environment block, which gs shows on x64, of the
    process environment block, and of what the system shares with all processes.

--*/

#ifndef TRACER_RTL_TEB_H
#define TRACER_RTL_TEB_H

//
// The stack that the thread runs on: its highest address, and the lowest that
// is reserved for it.
//

#define TEB_STACK_BASE              0x08
#define TEB_DEALLOCATION_STACK      0x1478

//
// Whether the thread has been made a fiber: bit 2 of SameTebFlags; under Wine
// the fiber's address, in a field that Windows sets to a version number on
// other threads.
//

#define TEB_FIBER_DATA              0x20
#define TEB_NO_FIBER                0x1E00
#define TEB_SAME_TEB_FLAGS          0x17EE
#define TEB_HAS_FIBER_DATA          0x0004

//
// The field that is free for a thread's own use.
//

#define TEB_ARBITRARY_USER_POINTER  0x28

#define TEB_PROCESS_ID              0x40
#define TEB_THREAD_ID               0x48
#define TEB_PEB                     0x60
#define TEB_LAST_ERROR              0x68
#define TEB_LAST_STATUS             0x1250

//
// The first 64 TLS slots, and the array of the other 1,024.
//

#define TEB_TLS_SLOTS               0x1480
#define TEB_TLS_EXPANSION_SLOTS     0x1780
#define TEB_TLS_NUMBER_OF_SLOTS     64
#define TEB_TLS_NUMBER_OF_EXPANSION_SLOTS 1024

//
// In the process environment block.
//

#define PEB_IMAGE_BASE              0x10
#define PEB_PROCESS_HEAP            0x30
#define PEB_NUMBER_OF_PROCESSORS    0xB8

//
// KUSER_SHARED_DATA.NtSystemRoot: "C:\Windows"; characters at most.
//

#define RTL_SYSTEM_ROOT             ((PCWSTR)(ULONG_PTR)0x7FFE0030)
#define RTL_SYSTEM_ROOT_CHARS       260

#endif // TRACER_RTL_TEB_H
