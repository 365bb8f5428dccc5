#!/usr/bin/env python3
"""Checks what the reader takes from images' unwind data and code.

llvm-readobj says how every function's prologue lowers RSP, objdump where gcc's
functions leave by a jump in tail position.  Reader/Image/ImageUnwind.c, built
natively with sanitizers, must say the same for every function of real images:
of clang, of gcc with and without optimization, and of NASM.

Which functions were inlined into which is known of a source whose functions
the compiler must inline, or must not.

Which functions move RSP behind their prologs, as TraceStore/TraceFixed.c says
while a program runs, is known of a source, too; of every function of an image
that it calls fixed, objdump must show no instruction that moves RSP but in the
prolog and in runs that end with a return or a jump.

A control changes one byte of the unwind data and one of a jump: the
comparisons must see it.
"""
# Takes long.

import bisect
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402

READOBJ = 'llvm-readobj-19'
OBJDUMP = 'x86_64-w64-mingw32-objdump'
BASE = 0x140000000
SOURCES = ['Tests/Programs/UnwindDump.c', 'Reader/Image/ImageUnwind.c',
           'Reader/Image/ImageUnwindData.c', 'Reader/Image/ImageCoff.c',
           'Rtl/RtlDecode.c', 'Rtl/RtlString.c']

# Rtl.h without Windows' headers, as the fuzz targets have it.  Of RtlString.c
# only what is called is linked: it needs assembly for the rest.
NATIVE = ['-D_DEFAULT_SOURCE', '-fshort-wchar', '-ffunction-sections',
          '-Wl,--gc-sections', '-idirafter',
          '/usr/share/mingw-w64/include', '-include',
          os.path.join(programs.ROOT, 'Rtl', 'RtlPortable.h'),
          *('-I' + os.path.join(programs.ROOT, folder)
            for folder in ('Rtl', 'TraceStore'))]

JUMPING = r'''
#include <stdio.h>
#define KEPT __attribute__((noinline, noclone, noipa))
KEPT int Last(int value) { return value * 3 + 1; }
KEPT int Direct(int value) { return Last(value + 2); }
KEPT int Choice(int value) { return value & 1 ? Last(value) : Direct(value); }
KEPT int Pointer(int (*routine)(int), int value) { return routine(value); }
KEPT int Even(unsigned value);
KEPT int Odd(unsigned value) { return value ? Even(value - 1) : 0; }
KEPT int Even(unsigned value) { return value ? Odd(value - 1) : 1; }
int main(void)
{
    printf("%d\n", Choice(4) + Choice(5) + Pointer(Direct, 6) + Even(9));
    return 0;
}
'''

# One call of the hook does for several where clang merges them: the address
# comes through a cmov (Choose), or by a jump (End).  main calls __main before
# the hook.  Constants has two constants with Other's address in rcx: one has
# the bytes of a jump to the hook's call, the other those of a call of the hook.
INLINED = r'''
#include <stdlib.h>
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone, noipa))
#endif
#define INLINED static inline __attribute__((always_inline))
int Count;
__asm__(".text\n"
        ".globl Constants\n"
        ".seh_proc Constants\n"
        "Constants:\n"
        "sub $40, %rsp\n"
        ".seh_stackalloc 40\n"
        ".seh_endprologue\n"
        "lea Constants(%rip), %rcx\n"
        "1: call __cyg_profile_func_enter\n"
        "lea Other(%rip), %rax\n"
        "mov %rax, %rcx\n"
        ".byte 0xb8, 0x76, 1b - 2f\n"
        "2: .byte 0, 0\n"
        ".byte 0x48, 0xb8, 0xe8\n"
        ".long __cyg_profile_func_enter - (. + 4)\n"
        ".byte 0, 0, 0\n"
        "call Other\n"
        "add $40, %rsp\n"
        "ret\n"
        ".seh_endproc\n");
INLINED void One(int value) { Count += value; }
INLINED void Two(int value) { Count += value; }
INLINED void EndOne(void) { abort(); }
INLINED void EndTwo(void) { abort(); }
INLINED void EndThree(void) { abort(); }
KEPT void Other(int value) { Count -= value; }
KEPT void Choose(int value) { if (value & 1) One(value); else Two(value); }
KEPT void End(int value, int other)
{
    if (value & 1) {
        if (other & 4) EndOne();
        if (other & 9) EndTwo();
        if (value == 18) EndThree();
    }
    Count++;
}
KEPT void Twice(int value) { One(value); Other(value); One(3); }
KEPT void Hand(int value) { atexit((void (*)(void))Other); Two(value); }
int main(int count, char **arguments)
{
    for (int i = 0; i < count * 3; i++) {
        One(i); Other(i); Choose(i); Twice(i); Hand(i);
    }
    End(2, count);
    return arguments == 0;
}
'''
FUNCTIONS = ('One', 'Two', 'EndOne', 'EndTwo', 'EndThree', 'Other')
INSIDE = {
    'main': {'One': 1}, 'Choose': {'One': 1, 'Two': 1},
    'End': {'EndOne': 1, 'EndTwo': 1, 'EndThree': 1},
    'Twice': {'One': 2}, 'Hand': {'Two': 1}, 'Other': {}, 'Constants': {},
}

# What an operation takes from RSP; the others (saves, SET_FPREG) nothing.
PUSH, ALLOCATION = 'PUSH_NONVOL', ('ALLOC_SMALL', 'ALLOC_LARGE')


# Of the functions below, those that move RSP as they go.
FIXED = r'''
#include <stdlib.h>
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone, noipa))
#endif
volatile int Sink;
KEPT int Plain(int a) { return a + 1; }
KEPT int Calls(int a) { return Plain(a) + Plain(a + 2); }
KEPT int Many(int a, int b, int c, int d, int e, int f, int g)
{
    return a + b + c + d + e + f + g + Plain(a);
}
KEPT int CallsMany(int a)
{
    return Many(a, 1, 2, 3, 4, 5, 6) + Many(1, 2, 3, 4, 5, 6, a);
}
KEPT int Large(int a)
{
    volatile char b[100000];
    b[a] = 1;
    return Plain(b[a]);
}
KEPT int Alloca(int a)
{
    volatile char *b = __builtin_alloca(a + 40);
    b[a] = 1;
    return Plain(b[a]);
}
KEPT int Perhaps(int a)
{
    int s = Plain(a);
    if (s > 5) {
        volatile char *b = __builtin_alloca(s * 100);
        b[s] = 1;
        s = Plain(b[s]);
    }
    return s + Plain(s);
}
KEPT int Array(int n)
{
    int s = 0;
    for (int i = 1; i < n; i++) {
        volatile char b[i];
        b[i - 1] = 1;
        s += Plain(b[i - 1]);
    }
    return s;
}
KEPT int Switch(int a)
{
    switch (a) {
    case 1: return Plain(3);
    case 2: return Calls(7);
    case 3: return Plain(a * 9);
    case 4: return Calls(a + 8);
    case 5: return Plain(77);
    case 6: return Calls(1);
    default: return Plain(a);
    }
}
KEPT int Cold(int a)
{
    if (__builtin_expect(a == 12345, 0)) {
        Sink = Plain(a);
        abort();
    }
    return Plain(a) + Plain(a + 1);
}
KEPT int Tail(int a) { return Plain(a * 2); }
int main(int n, char **v)
{
    return Plain(n) + Calls(n) + CallsMany(n) + Large(n) + Alloca(n) +
           Perhaps(n) + Array(n) + Switch(n) + Cold(n) + Tail(n) + !v;
}
'''
MOVING = {'Alloca', 'Perhaps', 'Array'}
FIXED_NAMES = {'Calls', 'CallsMany', 'Large', 'Switch', 'Cold'}

# As objdump writes them.
MOVES = re.compile(r'(push|pop|leave|enter|ret)|'
                   r'(add|sub|and|lea|mov|xchg)\w*\s.*,%[er]sp$')
ALWAYS = re.compile(r'(ret|jmp)')


def build_dump(folder, name='UnwindDump', sources=tuple(SOURCES)):
    dump = os.path.join(folder, name)
    subprocess.run([
        'gcc', '-std=c11', '-O1', '-g', '-Wall', '-Wextra', '-Werror',
        *NATIVE, '-fsanitize=address,undefined', '-fno-sanitize-recover=all',
        *(os.path.join(programs.ROOT, source) for source in sources),
        '-o', dump], check=True)
    return dump


def ask(dump, image, places):
    """place -> (function, size, body size, dynamic) or None, jump or None."""
    text = subprocess.run(
        [dump, image], check=True, stdout=subprocess.PIPE,
        input='\n'.join('%x' % place for place in places).encode()).stdout
    answers = {}
    for line in text.decode().splitlines():
        fields = line.split()
        frame = jump = None
        if fields[1] == 'frame':
            frame = (int(fields[2], 16), *map(int, fields[3:6]))
        if fields[-2] == 'jump':
            jump = int(fields[-1], 16)
        answers[int(fields[0], 16)] = frame, jump
    return answers


def expected_frames(image):
    """The same for every place just behind an instruction of a prologue."""
    _, text = programs.run([READOBJ, '--unwind', image])
    expected, chained, steps = {}, 0, []
    functions = text.split('RuntimeFunction {')[1:]
    for function in functions:
        begin, end = (int(re.search(name + r': \S* ?\(?(0x[0-9A-F]+)',
                                    function).group(1), 16) - BASE
                      for name in ('StartAddress', 'EndAddress'))
        if 'ChainInfo' in function or 'Chained' in function:
            chained += 1
            continue
        dynamic = int('FrameRegister: -' not in function)
        steps = []
        for offset, operation, rest in re.findall(
                r'0x([0-9A-F]+): ([A-Z_0-9]+)(.*)', function):
            size = 8 if operation == PUSH else 0
            if operation in ALLOCATION:
                size = int(re.search(r'size=(\d+)', rest).group(1))
            steps.append((int(offset, 16), size))
        body = sum(size for _, size in steps)
        for offset, _ in steps:
            if begin + offset + 1 <= end:
                size = sum(taken for at, taken in steps if at <= offset)
                expected[begin + offset + 1] = begin, size, body, dynamic
        expected[end] = begin, body, body, dynamic
        expected[begin + 1] = begin, sum(
            taken for at, taken in steps if at < 1), body, dynamic
    return expected, len(functions), chained


def expected_jumps(image):
    """Where each call of __return__ returns to -> the jump's target."""
    _, text = programs.run([OBJDUMP, '-d', '--no-show-raw-insn', image])
    jumps, behind = {}, False
    for line in text.splitlines():
        found = re.match(r'\s*([0-9a-f]+):\t(\w+)\s*(\S*)\s*(<[^>+]*>)?',
                         line)
        if not found:
            continue
        address, operation, operand, symbol = found.groups()
        if behind:
            target = None
            if operation == 'jmp' and symbol:
                target = int(operand, 16) - BASE
            jumps[int(address, 16) - BASE] = target
        behind = operation == 'call' and symbol == '<__return__>'
    return jumps


def compare(results, dump, image, what):
    expected, functions, chained = expected_frames(image)
    seen = ask(dump, image, sorted(expected))
    wrong = [(hex(place), expected[place], seen[place][0])
             for place in expected if expected[place] != seen[place][0]]
    results.check(functions > 20 and not wrong,
                  '%s: frames (place, readobj, reader)' % what, wrong)
    print('%s: %d functions (%d chained), %d places, %d with a moving RSP' % (
        what, functions, chained, len(expected),
        len({frame[0] for frame in expected.values() if frame[3]})))
    return wrong


def compare_jumps(dump, image):
    jumps = expected_jumps(image)
    seen = ask(dump, image, sorted(jumps))
    return jumps, [(hex(place), jumps[place], seen[place][1])
                   for place in jumps if jumps[place] != seen[place][1]]


def check_controls(results, dump, image, folder):
    """One byte of unwind data, and one of a jump, are changed."""
    with open(image, 'rb') as file:
        data = bytearray(file.read())
    expected, _, _ = expected_frames(image)
    changed = os.path.join(folder, 'changed.exe')
    _, text = programs.run([READOBJ, '--sections', image])
    found = re.search(r'Name: \.xdata.*?RawDataSize: (\d+).*?'
                      r'PointerToRawData: (0x[0-9A-F]+)', text, re.S)
    size, start = int(found.group(1)), int(found.group(2), 16)

    # The first small allocation there is gets eight bytes more.
    for offset in range(start, start + size, 2):
        if data[offset + 1] & 15 == 2 and data[offset + 1] >> 4 < 15:
            data[offset + 1] += 16
            break
    with open(changed, 'wb') as file:
        file.write(data)
    seen = ask(dump, changed, sorted(expected))
    results.check(any(expected[place] != seen[place][0] for place in expected),
                  'control: an allocation of eight bytes more')

    jumps, _ = compare_jumps(dump, image)
    place = next(place for place, target in sorted(jumps.items())
                 if target is not None)
    _, text = programs.run([READOBJ, '--sections', image])
    found = re.search(r'Name: \.text.*?VirtualAddress: (0x[0-9A-F]+).*?'
                      r'PointerToRawData: (0x[0-9A-F]+)', text, re.S)
    offset = place - int(found.group(1), 16) + int(found.group(2), 16)
    data[offset + 1] ^= 0x10
    with open(changed, 'wb') as file:
        file.write(data)
    seen = ask(dump, changed, [place])
    results.check(seen[place][1] != jumps[place], 'control: another target')


def check_inlined(results, dump, folder, compiler):
    """At least as often as it is in the source; never what is not.

    Without optimization every address goes through one register, so that
    one that is made for something else counts.
    """
    what = ' '.join((compiler[0], compiler[-1]))
    source = os.path.join(folder, 'Inlined.c')
    with open(source, 'w', encoding='utf-8') as file:
        file.write(INLINED)
    image = programs.build(os.path.join(folder, what.replace(' ', '')),
                           [source], programs.FUNCTION_FLAGS, 'Inlined.exe',
                           [programs.LIBRARY], compiler=compiler)
    _, text = programs.run([programs.NM, image])
    places = {name: int(address, 16) - BASE for address, name in
              re.findall(r'^([0-9a-f]{16}) [tTwW] (\S+)$', text, re.M)}
    pairs = [(outer, inner) for outer in INSIDE for inner in FUNCTIONS
             if inner in places and outer != inner]
    text = subprocess.run(
        [dump, image, 'inlined'], check=True, stdout=subprocess.PIPE,
        input='\n'.join('%x %x' % (places[outer], places[inner])
                        for outer, inner in pairs).encode()).stdout
    numbers = dict(zip(pairs, map(int, text.split())))
    wrong = [(pair, INSIDE[pair[0]].get(pair[1], 0), number)
             for pair, number in numbers.items()
             if number < INSIDE[pair[0]].get(pair[1], 0) or
             (number != 0 and pair[1] not in INSIDE[pair[0]] and
              ('-O0' not in compiler or pair[0] == 'Constants'))]
    results.check(len(numbers) == len(pairs) > 15 and not wrong,
                  '%s: inlined (pair, source, reader)' % what, wrong)
    exact = sum(number == INSIDE[pair[0]].get(pair[1], 0)
                for pair, number in numbers.items())
    print('%s: %d pairs of functions, %d exact' % (what, len(pairs), exact))


def read_fixed(dump, image, places):
    """Those of the functions' addresses that are said not to move RSP."""
    text = subprocess.run(
        [dump, image], check=True, stdout=subprocess.PIPE,
        input='\n'.join('%x' % place for place in places).encode()).stdout
    return {int(line.split()[0], 16) for line in text.decode().splitlines()
            if line.split()[1] == '1'}


def moves_behind(lines):
    """Whether RSP is moved other than on the way out."""
    inside = called = False
    for operation in lines:
        if ALWAYS.match(operation):
            inside = called = False
        elif called:
            return True
        elif operation.startswith('call'):
            called = inside
        elif inside and operation.startswith('j'):
            return True
        else:
            inside = inside or bool(MOVES.match(operation))
    return inside


def check_against_objdump(results, image, fixed, what):
    """Functions with a frame register that are fixed; the others are not asked
    for."""
    _, text = programs.run([READOBJ, '--unwind', image])
    ends, wrong = {}, []
    for function in text.split('RuntimeFunction {')[1:]:
        begin, end = (int(re.search(name + r': \S* ?\(?(0x[0-9A-F]+)',
                                    function).group(1), 16) - BASE
                      for name in ('StartAddress', 'EndAddress'))
        prolog = int(re.search(r'PrologSize: (\d+)', function).group(1))
        if 'FrameRegister: -' not in function and begin in fixed:
            ends[begin] = begin + prolog, end
    _, text = programs.run([OBJDUMP, '-d', '--no-show-raw-insn', image])
    lines = [(int(line.split(':')[0], 16) - BASE, line.split('\t', 1)[1])
             for line in text.splitlines()
             if re.match(r'\s*[0-9a-f]+:\t', line)]
    places = [place for place, _ in lines]
    for first, end in ends.values():
        body = [line for _, line in lines[bisect.bisect_left(places, first):
                                          bisect.bisect_left(places, end)]]
        if moves_behind(body):
            wrong.append(hex(first))
    results.check(not wrong, '%s: objdump finds none that moves RSP' % what,
                  wrong)
    return len(ends)


def check_fixed(results, dump, folder):
    results.check(moves_behind(['sub $8,%rsp', 'call f', 'nop', 'ret']) and
                  moves_behind(['add $8,%rsp', 'jne x', 'ret']) and
                  not moves_behind(['add $8,%rsp', 'pop %rbp', 'ret']),
                  'control: what moves RSP')
    source = os.path.join(folder, 'Fixed.c')
    with open(source, 'w', encoding='utf-8') as file:
        file.write(FIXED)
    clang = (programs.CLANG, '--target=x86_64-w64-mingw32')
    for number, (compiler, flags) in enumerate([
            (compiler, flags)
            for compiler, kinds in (
                ((programs.GCC, '-O0'), 2),
                ((programs.GCC, '-O2', '-fno-omit-frame-pointer'), 2),
                ((programs.GCC, '-Os', '-fno-omit-frame-pointer'), 2),
                ((*clang, '-O0'), 1),
                ((*clang, '-O2', '-fno-omit-frame-pointer'), 1))
            for flags in (programs.FUNCTION_FLAGS,
                          programs.PENTER_FLAGS)[:kinds]]):
        what = ' '.join((compiler[0], *compiler[1:], flags[0]))
        image = programs.build(os.path.join(folder, 'fixed%d' % number),
                               [source], flags, 'Fixed.exe',
                               [programs.LIBRARY], compiler=compiler)
        _, text = programs.run([programs.NM, image])
        names = {int(address, 16) - BASE: name for address, name in
                 re.findall(r'^([0-9a-f]{16}) T (\S+)$', text, re.M)}
        fixed = read_fixed(dump, image, names)
        said = {names[place] for place in fixed}
        results.check(FIXED_NAMES <= said and not said & MOVING,
                      '%s: which move RSP' % what,
                      [FIXED_NAMES - said, said & MOVING])
        number = check_against_objdump(results, image, fixed, what)
        print('%s: %d with a frame pointer are fixed' % (what, number))


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        dump = build_dump(scratch)
        compare(results, dump, programs.READER, 'TraceReader.exe, clang')
        compare(results, dump, os.path.join(programs.BIN, 'TestPenter.exe'),
                'TestPenter.exe, clang and NASM')
        for what, options in (
                ('gcc -O0', ['-O0']), ('gcc -O2', ['-O2']),
                ('gcc -O2 -fno-omit-frame-pointer',
                 ['-O2', '-fno-omit-frame-pointer'])):
            image = programs.build_sample(
                os.path.join(scratch, what.replace(' ', '')),
                programs.PENTER_FLAGS, [programs.LIBRARY],
                compiler=(programs.GCC, *options))
            compare(results, dump, image, what)
        source = os.path.join(scratch, 'Jumping.c')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(JUMPING)
        image = programs.build(os.path.join(scratch, 'jumping'), [source],
                               programs.PENTER_FLAGS, 'Jumping.exe',
                               [programs.LIBRARY],
                               compiler=(programs.GCC, '-O2'))
        jumps, wrong = compare_jumps(dump, image)
        results.check(not wrong, 'jumps (place, objdump, reader)', wrong)
        number = sum(target is not None for target in jumps.values())
        print('%d of %d exits jump to a function' % (number, len(jumps)))
        results.check(number >= 5 and number < len(jumps), 'jumps')
        check_controls(results, dump, image, scratch)
        clang = (programs.CLANG, '--target=x86_64-w64-mingw32')
        for compiler in ((programs.GCC, '-O2'), (programs.GCC, '-O0'),
                         (*clang, '-O2'), (*clang, '-O1')):
            check_inlined(results, dump, scratch, compiler)
        check_fixed(results, build_dump(
            scratch, 'FixedDump', ('Tests/Programs/FixedDump.c',
                                   'TraceStore/TraceFixed.c',
                                   'Rtl/RtlDecode.c')), scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
