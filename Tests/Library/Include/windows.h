//
// Test programs are compiled with this folder before the system's
// (programs.py).  Two thirds of what windows.h reads, and of the compiler's
// time, are intrinsics up to AVX-512, and interfaces that have headers of
// their own: a program that needs them includes those.
//

#ifndef TRACER_TESTS_WINDOWS_H
#define TRACER_TESTS_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#define _X86INTRIN_H_INCLUDED           // gcc's <x86intrin.h>
#define __X86INTRIN_H                   // clang's
#include_next <windows.h>
#undef _X86INTRIN_H_INCLUDED
#undef __X86INTRIN_H

#endif
