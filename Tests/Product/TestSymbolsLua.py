#!/usr/bin/env python3
"""The names and source lines that the reader finds in programs with DWARF or
a PDB are those that llvm-symbolizer finds: Lua, C++ and assembly, by gcc and
clang, at the start of every function and at places inside.

What differs by nature is put right here: a part that the compiler moved out
(Function.cold) is named as the function; one of several names at one address
is as good as the other; llvm-symbolizer takes labels in assembly for functions
as well.

Damaged information is read without harm: TestDwarf --damage.
"""
# Takes long.


import csv
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402
from programs import windows_path                            # noqa: E402

PREFIX = 'x86_64-w64-mingw32-'
CLANG = ['clang-19', '--target=x86_64-w64-mingw32']
SYMBOLIZER, PDBUTIL, LLD = 'llvm-symbolizer-19', 'llvm-pdbutil-19', 'ld.lld-19'
TOOL = os.path.join(programs.BIN, 'TestDwarf.exe')
PDB, DWARF, COFF = 1, 2, 3          # READER_SYMBOL_SOURCE
FAR, NOWHERE = 0x7fff0000, ('', '', 0)
MANY = 3000
MUTATIONS = 300

ONE = r'''
#include <cstdio>
#include <stdexcept>
#include <vector>
#include "shared.h"

namespace Outer {
namespace {
int __attribute__((noinline)) hidden(int x) { volatile int y = x; return y; }
}
template <class T> struct Box {
    T value;
    __attribute__((noinline)) T get(T k)
    {
        if (k > 100) {
            throw std::runtime_error("large");
        }
        return value + k;
    }
    struct Inner { static __attribute__((noinline)) int twice(int x)
    { volatile int y = x; return 2 * y; } };
};
struct Base { virtual ~Base() { } virtual int virtual_one(int x) = 0; };
struct Derived : Base {
    int operator()(int x) const;
    int virtual_one(int x) override { volatile int y = x; return y + 9; }
};
int Derived::operator()(int x) const { volatile int y = x; return y - 1; }
}

static __attribute__((noinline)) int same_name(int x)
{
    volatile int y = x;
    return y * 2;
}

static __attribute__((noinline)) int cloned(int x, int k)
{
    volatile int y = x;
    if (k == 3) {
        y += 2;
    }
    return y * k;
}

extern "C" __attribute__((noinline)) int plain_c(int x)
{
    volatile int y = x;
    return shared_inline(y) + same_name(y);
}

int other_file(int x);

int main(int count, char **)
{
    Outer::Box<int> b{count};
    Outer::Box<double> d{1.0 * count};
    Outer::Derived object;
    Outer::Base *base = &object;
    auto lambda = [&](int q) __attribute__((noinline)) {
        volatile int z = q;
        return z + count;
    };
    auto generic = [](auto q) __attribute__((noinline)) {
        volatile int z = (int)q;
        return z + 4;
    };
    int r = 0;
    try {
        r = b.get(count) + (int)d.get(count) + lambda(count) + generic(2.5) +
            generic(count) + Outer::hidden(count) + same_name(count) +
            cloned(count, 3) + cloned(r, 3) + object(count) +
            base->virtual_one(count) + Outer::Box<char>::Inner::twice(count) +
            plain_c(count) + other_file(count);
    } catch (const std::exception &error) {
        puts(error.what());
    }
    std::vector<int> list(count);
    list.push_back(r);
    return list[0];
}
'''

TWO = r'''
#include "shared.h"

static __attribute__((noinline)) int same_name(int x)
{
    volatile int y = x;
    return y * 5;
}

int other_file(int x)
{
    return same_name(x) + shared_inline(x);
}
'''

SHARED = r'''
static inline int shared_inline(int x)
{
    volatile int y = x;
    return y + 7;
}
'''

#
# What compilers for Windows do not write, but others do: version 5 with
# indexes (strx, addrx, rnglistx), a function in two parts whose entry is not
# the lower one, and names by way of a specification and of an origin.
#

ASSEMBLY = r'''
    .text
    .file 1 "indexed.c"
    .globl cold_one
    .def cold_one; .scl 2; .type 32; .endef
.Ltext:
cold_one.cold:
    .loc 1 30
    nop
    .loc 1 31
    ret
.Lcold_end:
    .p2align 4
cold_one:
    .loc 1 20
    nop
    nop
    .loc 1 21
    ret
.Lhot_end:
    .p2align 4
    .globl _ZN5Outer5named
    .def _ZN5Outer5named; .scl 2; .type 32; .endef
_ZN5Outer5named:
    .loc 1 40
    nop
    ret
.Lnamed_end:
    .globl main
    .def main; .scl 2; .type 32; .endef
main:
    .loc 1 50
    xorl %eax, %eax
    .loc 1 51
    ret
.Lmain_end:
.Letext:

    .section .debug_abbrev,"dr"
.Labbrev:
    .byte 1, 0x11, 1
    .byte 0x03, 0x25, 0x1b, 0x26, 0x10, 0x17, 0x72, 0x17, 0x73, 0x17
    .byte 0x74, 0x17, 0x11, 0x01, 0x55, 0x23, 0, 0
    .byte 2, 0x2e, 0
    .byte 0x03, 0x1a, 0x52, 0x29, 0x55, 0x23, 0, 0
    .byte 3, 0x2e, 0
    .byte 0x03, 0x27, 0x6e, 0x28, 0x3c, 0x19, 0, 0
    .byte 4, 0x2e, 0
    .byte 0x47, 0x13, 0x11, 0x1b, 0x12, 0x06, 0, 0
    .byte 5, 0x2e, 0
    .byte 0x03, 0x08, 0x20, 0x21, 1, 0, 0
    .byte 6, 0x2e, 0
    .byte 0x31, 0x10, 0x11, 0x2a, 0x12, 0x2c, 0, 0
    .byte 0

    .section .debug_info,"dr"
    .long .Linfo_end - .Linfo
.Linfo:
    .short 5
    .byte 1, 8
    .secrel32 .Labbrev
    .byte 1, 0                          # name
    .short 1                            # comp_dir
    .secrel32 .debug_line
    .secrel32 .Lstr_offsets
    .secrel32 .Laddr
    .secrel32 .Lrnglists
    .quad 0
    .byte 0                             # ranges
.Lorigin:
    .byte 5
    .asciz "main"
.Ldeclared:
    .byte 3, 3, 0, 0                    # strx3
    .long 4                             # strx4
    .byte 2, 2                          # cold_one
    .byte 1                             # entry: addrx1
    .byte 1                             # ranges
    .byte 4                             # the declared one
    .long .Ldeclared - .Linfo + 4
    .byte 2                             # addrx
    .long .Lnamed_end - _ZN5Outer5named
    .byte 6                             # main
    .secrel32 .Lorigin
    .short 3                            # addrx2
    .long 4                             # addrx4
    .byte 0
.Linfo_end:

    .section .debug_str,"dr"
.Ls0: .asciz "indexed.c"
.Ls1: .asciz "/some/where"
.Ls2: .asciz "cold_one"
.Ls3: .asciz "named"
.Ls4: .asciz "_ZN5Outer5named"

    .section .debug_str_offsets,"dr"
    .long .Lstr_end - .Lstr_header
.Lstr_header:
    .short 5, 0
.Lstr_offsets:
    .secrel32 .Ls0
    .secrel32 .Ls1
    .secrel32 .Ls2
    .secrel32 .Ls3
    .secrel32 .Ls4
.Lstr_end:

    .section .debug_addr,"dr"
    .long .Laddr_end - .Laddr_header
.Laddr_header:
    .short 5
    .byte 8, 0
.Laddr:
    .quad cold_one.cold
    .quad cold_one
    .quad _ZN5Outer5named
    .quad main
    .quad .Lmain_end
.Laddr_end:

    .section .debug_rnglists,"dr"
    .long .Lrng_end - .Lrng_header
.Lrng_header:
    .short 5
    .byte 8, 0
    .long 2
.Lrnglists:
    .long .Lrng0 - .Lrnglists
    .long .Lrng1 - .Lrnglists
.Lrng0:
    .byte 6
    .quad .Ltext, .Letext
    .byte 0
.Lrng1:
    .byte 1, 0                          # base_addressx
    .byte 4, 0                          # offset_pair
    .uleb128 .Lcold_end - cold_one.cold
    .byte 3, 1                          # startx_length
    .uleb128 .Lhot_end - cold_one
    .byte 0
.Lrng_end:
'''


def output(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          **options).stdout.decode('utf-8', 'replace')


def image_base(image):
    text = output([PREFIX + 'objdump', '-p', image])
    return int(re.search(r'^ImageBase\s+(\w+)', text, re.M).group(1), 16)


def table_symbols(image):
    """The symbol table: {RVA: [name]} of what is in a section with code."""
    base, symbols = image_base(image), {}
    for line in output([PREFIX + 'nm', '--defined-only', image],
                       stderr=subprocess.DEVNULL).splitlines():
        address, kind, name = line.split(None, 2)
        if name.startswith('.weak.'):
            name = name[6:].split('.')[0]
        if kind in 'tTwW' and not name.startswith('.'):
            symbols.setdefault(int(address, 16) - base, []).append(name)
    return symbols


def typed_functions(image):
    """The names of the symbols whose type is that of a function."""
    return set(re.findall(r'\(ty +20\).* (\S+)$',
                          output([PREFIX + 'objdump', '-t', image]), re.M))


def pdb_symbols(image, pdb):
    """The functions that have debugging information in a PDB."""
    text = output([PDBUTIL, 'dump', '--symbols', pdb])
    first = int(re.search(r'^\s+0 \.text\s+\w+\s+(\w+)',
                          output([PREFIX + 'objdump', '-h', image]),
                          re.M).group(1), 16) - image_base(image)
    found = re.findall(r'S_[GL]PROC32 .*`(.*)`\n.*addr = 0001:(\d+), '
                       r'code size = (\d+)', text)
    return {first + int(offset): ([name], int(size))
            for name, offset, size in found}


def places(starts):
    """Addresses: the starts, and some on the way to the next one."""
    wanted = set()
    for start, end in zip(starts, [*starts[1:], starts[-1] + 16]):
        size = end - start
        wanted |= {start, start + size // 4, start + size // 2,
                   start + 3 * size // 4, end - 1}
    return sorted(wanted)


def symbolize(image, addresses, innermost=True):
    """{RVA: (function, file, line)} as llvm-symbolizer has it.

    The function is the one that is called, with what is inlined in it; file
    and line are those of the instruction, or, if not innermost, those in that
    function.
    """
    base = image_base(image)
    text = output([SYMBOLIZER, '--obj=' + image, '--output-style=JSON',
                   '--no-demangle'],
                  input=''.join('0x%x\n' % (base + rva)
                                for rva in addresses).encode())
    found = {}
    for line in text.splitlines():
        answer = json.loads(line)
        frames = answer.get('Symbol') or [{}]
        frame = frames[0 if innermost else -1]
        file, number = frame.get('FileName', ''), frame.get('Line', 0)
        found[int(answer['Address'], 16) - base] = (
            frames[-1].get('FunctionName', ''), file if number else '', number)
    return found


def look_up(folder, image, addresses, pdb=None):
    """({RVA: (function, file, line)}, {RVA: start}, source, cost)."""
    path = os.path.join(folder, 'addresses')
    with open(path, 'w') as file:
        file.write(''.join('%x\n' % rva for rva in addresses))
    code, text = programs.run_windows(TOOL, '--look-up', windows_path(image),
                                      windows_path(path),
                                      *([pdb] if pdb else []))
    found, starts, cost = {}, {}, {}
    for line in text.splitlines():
        fields = line.split('\t')
        if fields[0] == '=':
            rva = int(fields[1], 16)
            found[rva] = (fields[3], fields[5], int(fields[4]))
            starts[rva] = None if fields[2] == '-' else int(fields[2], 16)
        elif fields[0] == '#':
            for field in fields[1:]:
                name, number = field.split()[:2]
                cost[name] = int(number)
    if code != 0 or 'lost' in cost:
        raise RuntimeError('%s: %d: %s' % (image, code, text[-300:]))
    return found, starts, cost.get('source', 0), cost


def as_posix(path):
    return re.sub(r'^[A-Za-z]:', '', path.replace('\\', '/'))


def wrong_answers(symbols, expected, found, starts, functions=None):
    """Every address whose answer is not llvm-symbolizer's.

    functions: the names that are known for functions' (None: all are).
    """
    wrong = []
    for rva, (name, file, line) in sorted(expected.items()):
        at, start = found[rva], starts[rva]
        names = symbols.get(start, ())
        main, _, suffix = name.rpartition('.')
        if at[0] in names and (
                name in names or                    # two of one function
                (suffix == 'cold' and main in names) or
                (functions is not None and name not in functions and
                 start <= rva)):                    # a label in a function
            name = at[0]
        if (name, as_posix(file), line) != (at[0], as_posix(at[1]), at[2]):
            wrong.append('%x: %s, not %s' % (rva, at, (name, file, line)))
    return wrong


def check_image(results, folder, image, text, source=DWARF, own=()):
    """All of an image; returns (addresses, expected, found, starts)."""
    symbols = table_symbols(image)
    addresses = places(sorted(symbols))
    expected = symbolize(image, addresses)
    found, starts, seen, _ = look_up(folder, image, addresses)
    wrong = wrong_answers(symbols, expected, found, starts,
                          typed_functions(image))
    lines = sum(1 for answer in expected.values() if answer[2])
    print('%s: %d symbols, %d addresses, %d of them with a line, %d wrong' %
          (text, len(symbols), len(addresses), lines, len(wrong)))
    results.equal(seen, source, text + ': source')
    results.check(not wrong, text + ': names and lines', wrong)
    results.check(len(found) == len(addresses) == len(expected) and lines > 50,
                  text + ': lines')
    names = {answer[0] for answer in found.values()}
    results.equal(sorted(set(own) - names), [], text + ': names that are there')
    return addresses, expected, found, starts


def compile_all(folder, compiler, sources, flags, name='a.exe'):
    os.makedirs(folder)
    subprocess.run([*compiler, *flags, '-c', *sources], check=True, cwd=folder)
    objects = sorted(os.path.join(folder, entry) for entry in os.listdir(folder)
                     if entry.endswith('.o'))
    image = os.path.join(folder, name)
    output([PREFIX + 'g++', *objects, '-static', '-o', image],
           stderr=subprocess.STDOUT)
    return image


def check_lua(results, folder, source):
    sources = sorted(os.path.join(source, name) for name in os.listdir(source)
                     if name.endswith('.c') and name != 'luac.c')
    wanted = ['main', 'luaV_execute', 'luaD_throw', 'lua_pcallk']
    images = {}
    for text, flags in (('DWARF 5', ['-O2', '-g']),
                        ('DWARF 4', ['-O1', '-gdwarf-4'])):
        image = compile_all(os.path.join(folder, 'lua ' + text),
                            [PREFIX + 'gcc'], sources, flags, name='lua.exe')
        images[text] = image, check_image(results, folder, image,
                                          'Lua, ' + text, own=wanted)

    #
    # Negative controls: another image's answers, and answers that are one
    # function or one line off.
    #

    image, (addresses, expected, found, starts) = images['DWARF 5']
    symbols, functions = table_symbols(image), typed_functions(image)
    cold = [rva for rva in addresses
            if expected[rva][0].endswith('.cold') and starts[rva] not in
            (None, rva) and found[rva][2]]
    results.check(len(cold) > 3, 'Lua: parts that were moved out')
    with_line = [rva for rva in addresses if expected[rva][2]]
    for text, change in (
            ('line', lambda answer: (*answer[:2], answer[2] + 1)),
            ('file', lambda answer: (answer[0], answer[1] + 'c', answer[2])),
            ('name', lambda answer: ('not_' + answer[0], *answer[1:]))):
        rva = with_line[len(with_line) // 2]
        changed = dict(expected)
        changed[rva] = change(changed[rva])
        results.equal(len(wrong_answers(symbols, changed, found, starts,
                                        functions | {changed[rva][0]})), 1,
                      'a wrong %s is seen' % text)
    other = images['DWARF 4'][0]
    wrong = wrong_answers(symbols, expected,
                          *look_up(folder, other, addresses)[:2])
    results.check(len(wrong) > len(addresses) // 4,
                  'the answers of another image are not these')

    #
    # Stripped of its debugging information: names, but no line.
    #

    bare = os.path.join(folder, 'bare.exe')
    subprocess.run([PREFIX + 'strip', '--strip-debug', '-o', bare, image],
                   check=True)
    answers, _, seen, _ = look_up(folder, bare, addresses)
    results.equal((seen, sum(1 for at in answers.values() if at[2])),
                  (COFF, 0), 'Lua without debugging information')
    results.equal(look_up(folder, image, [0, 1, FAR, 0xffffffff])[0],
                  {rva: NOWHERE for rva in (0, 1, FAR, 0xffffffff)},
                  'addresses outside')
    return images, sources


def check_pdb(results, folder, sources):
    """clang's CodeView, linked by lld into a PDB: through dbghelp.dll."""
    folder = os.path.join(folder, 'lua pdb')
    os.makedirs(folder)
    subprocess.run([*CLANG, '-O1', '-g', '-gcodeview', '-c', *sources],
                   check=True, cwd=folder)
    image = os.path.join(folder, 'lua.exe')
    pdb = os.path.join(folder, 'lua.pdb')
    subprocess.run([*CLANG, '-fuse-ld=' + shutil.which(LLD),
                    *sorted(os.path.join(folder, entry)
                            for entry in os.listdir(folder)
                            if entry.endswith('.o')),
                    '-static', '-Wl,-S', '-Wl,--pdb=' + pdb, '-o', image],
                   check=True)
    functions = pdb_symbols(image, pdb)
    addresses = sorted({start + size * part // 4
                        for start, (_, size) in functions.items()
                        for part in range(4)})
    expected = symbolize(image, addresses, innermost=False)
    found, starts, source, _ = look_up(folder, image, addresses,
                                       windows_path(pdb))

    #
    # Wine's dbghelp.dll has fewer lines: functions' first ones are compared.
    #

    for rva in addresses:
        if rva not in functions:
            expected[rva] = (expected[rva][0], *found[rva][1:])
    symbols = {start: names for start, (names, _) in functions.items()}
    wrong = wrong_answers(symbols, expected, found, starts)
    print('Lua, PDB: %d functions, %d addresses, %d wrong' %
          (len(functions), len(addresses), len(wrong)))
    results.check(len(functions) > 500, 'Lua, PDB: functions')
    results.equal(source, PDB, 'Lua, PDB: source')
    results.check(not wrong, 'Lua, PDB: names and lines', wrong)
    results.check(sum(1 for at in found.values() if at[2]) >
                  len(addresses) * 9 // 10, 'Lua, PDB: lines')


def check_cpp(results, folder):
    sources = os.path.join(folder, 'c++')
    os.makedirs(sources)
    for name, text in (('one.cpp', ONE), ('two.cpp', TWO),
                       ('shared.h', SHARED)):
        with open(os.path.join(sources, name), 'w') as file:
            file.write(text)
    files = [os.path.join(sources, name) for name in ('one.cpp', 'two.cpp')]
    wanted = ['_ZL9same_namei', '_ZN5Outer3BoxIiE3getEi', 'main', 'plain_c',
              '_ZNK5Outer7DerivedclEi', '_Z10other_filei',
              '_ZN5Outer12_GLOBAL__N_16hiddenEi',
              '_ZN5Outer3BoxIcE5Inner5twiceEi']
    gcc, clang = [PREFIX + 'g++'], ['clang++-19', *CLANG[1:]]
    image = None
    for number, (compiler, flags) in enumerate((
            (gcc, ['-O2', '-g']),
            (gcc, ['-O0', '-gdwarf-4']),
            (gcc, ['-O1', '-gdwarf-3', '-gno-strict-dwarf']),
            (gcc, ['-O1', '-gdwarf-2', '-gstrict-dwarf']),
            (gcc, ['-O1', '-gdwarf-5', '-gdwarf64']),
            (gcc, ['-O2', '-g', '-ffunction-sections', '-falign-functions=1']),
            (clang, ['-O1', '-gdwarf-5']),
            (clang, ['-O0', '-gdwarf-4']))):
        text = ' '.join(['C++,', compiler[0].rpartition('-')[2]
                         if compiler is gcc else 'clang', *flags])
        image = compile_all(os.path.join(folder, 'c++ %d' % number), compiler,
                            files, flags)
        _, _, found, starts = check_image(results, folder, image, text,
                                          own=wanted)
        if number == 0:
            copies = {starts[rva]: os.path.basename(at[1])
                      for rva, at in found.items()
                      if at[0] == '_ZL9same_namei' and at[2]}
            results.equal(sorted(copies.values()), ['one.cpp', 'two.cpp'],
                          'two static functions of one name')
            suffixes = {at[0] for at in found.values()
                        if '.constprop.' in at[0] or '.isra.' in at[0]}
            results.check('_ZL6clonedii.constprop.0' in suffixes,
                          'a copy with a suffix', suffixes)
    return image


def check_assembly(results, folder):
    source = os.path.join(folder, 'indexed.s')
    with open(source, 'w') as file:
        file.write(ASSEMBLY)
    image = compile_all(os.path.join(folder, 'assembly'), CLANG, [source], [])
    addresses, _, found, starts = check_image(
        results, folder, image, 'indexes',
        own=['cold_one', '_ZN5Outer5named', 'main'])
    symbols = table_symbols(image)
    entry, = [rva for rva, names in symbols.items() if 'cold_one' in names]
    moved = [rva for rva in addresses if found[rva] ==
             ('cold_one', '/some/where/indexed.c', 30)]
    results.check(moved and all(starts[rva] == entry > rva for rva in moved),
                  'a function that is entered behind its other part')
    return image


def check_debug_link(results, folder, image):
    """Debugging information apart from the image: beside it, or in .debug."""
    addresses = places(sorted(table_symbols(image)))
    expected, starts, _, _ = look_up(folder, image, addresses)
    place = os.path.join(folder, 'link')
    os.makedirs(os.path.join(place, '.debug'))
    apart, bare = os.path.join(place, 'a.debug'), os.path.join(place, 'a.exe')
    subprocess.run([PREFIX + 'objcopy', '--only-keep-debug', image, apart],
                   check=True)
    subprocess.run([PREFIX + 'objcopy', '--strip-all',
                    '--add-gnu-debuglink=a.debug', image, bare],
                   check=True, cwd=place)
    found = look_up(folder, bare, addresses)
    results.equal(found[2], DWARF, 'a file apart: source')
    wrong = [rva for rva in addresses if (found[0][rva], found[1][rva]) !=
             (expected[rva], starts[rva])]
    results.check(not wrong and len(addresses) > 500,
                  'a file apart: names and lines',
                  [(rva, found[0][rva], expected[rva]) for rva in wrong])
    moved = os.path.join(place, '.debug', 'a.debug')
    os.rename(apart, moved)
    results.equal(look_up(folder, bare, addresses)[:3], found[:3],
                  'a file apart, in .debug')
    with open(moved, 'rb+') as file:
        file.seek(-1, os.SEEK_END)
        last = file.read()
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    damaged = look_up(folder, bare, addresses)
    results.check(damaged[2] not in (DWARF, COFF) and
                  not any(at[2] for at in damaged[0].values()),
                  'a file apart that is another one', [damaged[2]])
    os.remove(moved)
    results.equal(look_up(folder, bare, addresses)[:3], damaged[:3],
                  'a file apart that is gone')


def check_report(results, folder):
    """report's fields, and its text with --lines, against llvm-symbolizer."""
    program = programs.build_sample(
        os.path.join(folder, 'sample'),
        ['-O2', '-g', '-pg', '-mfentry', '-mfentry-name=_penter',
         '-minstrument-return=call'], [programs.LIBRARY])
    _, session = programs.trace(program, '2', '20', '2',
                                directory=os.path.join(folder, 'traces'))
    _, text = programs.trace_reader('report', '--csv', windows_path(session))
    rows = list(csv.DictReader(io.StringIO(text)))
    wanted = symbolize(program, [int(row['rva'], 16) for row in rows])
    results.equal([(row['function'], row['file'], int(row['line'] or 0))
                   for row in rows],
                  [wanted[int(row['rva'], 16)] for row in rows],
                  'report --csv: file and line')
    results.check(len(rows) > 5 and all(row['file'] for row in rows),
                  'report --csv: rows')
    _, text = programs.trace_reader('report', '--json', windows_path(session))
    results.equal([(row['function'], row['file'], row['line'])
                   for row in json.loads(text)['functions']],
                  [(row['function'], row['file'], int(row['line']))
                   for row in rows], 'report --json')
    _, plain = programs.trace_reader('report', windows_path(session))
    _, text = programs.trace_reader('report', '--lines', windows_path(session))
    lines = text.splitlines()
    results.equal([line.split()[-2:] for line in lines[1:1 + len(rows)]],
                  [[row['function'], '%s:%s' % (row['file'], row['line'])]
                   for row in rows], 'report --lines')
    results.check('Source' in lines[0] and 'Source' not in plain and
                  rows[0]['file'] not in plain,
                  'report: no lines unless they are asked for')


def check_many(results, folder):
    """Many functions: all of them, and in how much memory."""
    source = os.path.join(folder, 'many.c')
    with open(source, 'w') as file:
        for number in range(MANY):
            file.write('int many_%d(int a)\n{\n    return a + %d;\n}\n' %
                       (number, number))
        file.write('int main(void) { return 0; }\n')
    image = compile_all(os.path.join(folder, 'many'), [PREFIX + 'gcc'],
                        [source], ['-O0', '-g'])
    places_of = {name: rva for rva, names in table_symbols(image).items()
                 for name in names if name.startswith('many_')}
    found, starts, _, cost = look_up(folder, image,
                                     [rva + 5 for rva in places_of.values()])
    results.equal([(name, starts[rva + 5], found[rva + 5][2])
                   for name, rva in places_of.items()],
                  [(name, rva, int(name[5:]) * 4 + 2)
                   for name, rva in places_of.items()], 'many functions')
    results.check(len(places_of) == MANY and
                  cost['peak'] < 4 * os.path.getsize(image),
                  'many functions: memory', [cost])
    print('%d functions: %d ms, %d bytes at most' %
          (MANY, cost['load'] + cost['lookups'], cost['peak']))


def check_damage(results, folder, text, image, seed):
    path = os.path.join(folder, 'addresses')
    addresses = places(sorted(table_symbols(image)))
    with open(path, 'w') as file:
        file.write(''.join('%x\n' % rva for rva in addresses[::7]))
    code, answer = programs.run_windows(
        TOOL, '--damage', windows_path(image), windows_path(path),
        str(MUTATIONS), str(seed))
    match = re.search(r'whole (\d+) names (\d+) lines (\d+) bad\t'
                      r'(\d+) damaged: (\d+) names (\d+) lines (\d+) bad\t'
                      r'wrong (\d+)\tslowest (\d+) ms', answer)
    if not results.check(code == 0 and match, text + ': damaged',
                         [code, answer[-300:]]):
        return
    numbers = list(map(int, match.groups()))
    print('%s: %s' % (text, match.group(0).replace('\t', ', ')))
    results.check(numbers[0] > 20 and numbers[1] > 20 and numbers[2] == 0 and
                  numbers[3] == MUTATIONS, text + ': whole')
    results.check(0 < numbers[4] < MUTATIONS * numbers[0] and numbers[6] > 0,
                  text + ': the damage shows')
    results.equal(numbers[7], 0, text + ': memory and answers')


def uleb(number):
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(data + bytes([number]))


def made_image(sections):
    """A PE image with 64 KiB of code and the given sections behind it."""
    base, headers, strings = 0x140000000, bytearray(), bytearray(4)
    data = bytearray(0x1000)
    data[0:2] = b'MZ'
    struct.pack_into('<I', data, 0x3C, 0x40)
    data[0x40:0x44] = b'PE\0\0'
    rva = 0x1000
    for name, content in [('.text', bytes(0x10000)), *sections.items()]:
        raw = name.encode()
        if len(raw) > 8:
            raw = b'/%d' % len(strings)
            strings += name.encode() + b'\0'
        headers += struct.pack('<8sIIIIIIHHI', raw, len(content), rva,
                               len(content), len(data), 0, 0, 0, 0,
                               0x60000020 if name == '.text' else 0x42000040)
        data += content
        rva += (len(content) + 0xFFF) & ~0xFFF
    struct.pack_into('<I', strings, 0, len(strings))
    struct.pack_into('<HHIIIHH', data, 0x44, 0x8664, 1 + len(sections),
                     0x12345678, len(data), 0, 0xF0, 0x22)
    struct.pack_into('<H', data, 0x58, 0x20B)
    struct.pack_into('<QII', data, 0x58 + 24, base, 0x1000, 0x200)
    struct.pack_into('<II', data, 0x58 + 56, rva, 0x400)
    struct.pack_into('<I', data, 0x58 + 108, 16)
    data[0x58 + 0xF0:0x58 + 0xF0 + len(headers)] = headers
    return bytes(data + strings)


def unit(entries, version=4, abbreviations=0):
    body = struct.pack('<HIB', version, abbreviations, 8) + entries
    return struct.pack('<I', len(body)) + body


def made_lines(size):
    """A version 4 line table of that many rows, one byte each."""
    header = bytes([1, 1, 1, 0xff, 4, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1,
                    0]) + b'a.c\0\0\0\0\0'
    header = header[:1] + header[1:]
    program = (b'\0\x09\x02' + struct.pack('<Q', 0x140001000) +
               bytes([10 + 1]) * size + b'\x02\x01\0\x01\x01')
    body = struct.pack('<HI', 4, len(header)) + header + program
    return struct.pack('<I', len(body)) + body


def check_hostile(results, folder):
    """Information that is read in no time if it is read as it is meant, and
    in a square of its size if it is not."""
    many, text = 100000, 0x140001000
    low = struct.pack('<Q', text)
    cu = b'\x01\x11\0\0\0'
    images = {}

    #
    # Entries of one byte with thousands of attributes that take no space.
    #

    images['flags'] = made_image({
        '.debug_abbrev': cu + b'\x02\x2e\0' + b'\x3f\x19' * 100000 +
                         b'\0\0\0',
        '.debug_info': unit(b'\x01' + b'\x02' * (10 * many))})

    #
    # Functions that share a long name, a long list of ranges, or refer to an
    # entry that is long, or to one that refers to itself.
    #

    images['name'] = made_image({
        '.debug_abbrev': cu + b'\x02\x2e\0\x03\x0e\x11\x01\x12\x0b\0\0\0',
        '.debug_str': b'n' * 1000000 + b'\0',
        '.debug_info': unit(b'\x01' + (b'\x02' + bytes(4) + low + b'\x01') *
                            many)})
    images['ranges'] = made_image({
        '.debug_abbrev': cu + b'\x02\x2e\0\x03\x08\x55\x17\0\0\0',
        '.debug_ranges': struct.pack('<QQ', text, text + 1) * 50000,
        '.debug_info': unit(b'\x01' + b'\x02a\0\0\0\0\0' * many)})
    head = 11 + 1
    images['long entry'] = made_image({
        '.debug_abbrev': cu + b'\x02\x2e\0\x47\x13\x11\x01\x12\x0b\0\0' +
                         b'\x03\x2e\0\x02\x08\x03\x08\0\0\0',
        '.debug_info': unit(b'\x01\x03' + b'x' * 1000000 + b'\0name\0' + (
            b'\x02' + struct.pack('<I', head) + low + b'\x01') * many)})
    images['itself'] = made_image({
        '.debug_abbrev': cu + b'\x02\x2e\0\x47\x13\x11\x01\x12\x0b\0\0\0',
        '.debug_info': unit(b'\x01' + (b'\x02' + struct.pack('<I', head) +
                                       low + b'\x01') * many)})

    #
    # Units with tables of abbreviations, and with line tables, that overlap.
    #

    table = b''.join(uleb(code) + b'\x11\0\0\0' for code in range(1, 20000))
    images['tables'] = made_image({
        '.debug_abbrev': table + b'\0',
        '.debug_info': b''.join(unit(b'\x01', abbreviations=number)
                                for number in range(20000))})
    lines = made_lines(1000000)
    images['lines'] = made_image({
        '.debug_abbrev': b'\x01\x11\0\x10\x17\x11\x01\x12\x0b\0\0\0',
        '.debug_line': lines,
        '.debug_info': b''.join(
            unit(b'\x01' + bytes(4) + struct.pack('<Q', text + number) +
                 b'\x01') for number in range(5000))})

    for name, data in images.items():
        image = os.path.join(folder, 'hostile.exe')
        with open(image, 'wb') as file:
            file.write(data)

        # It may have to wait for a processor, but not each time.
        for _ in range(5):
            started = time.monotonic()
            found, _, _, cost = look_up(folder, image, range(0x1000, 0x3000))
            taken = time.monotonic() - started
            if taken < 60:
                break
        print('hostile, %s: %d bytes: %d ms, %d bytes of memory, %d names, '
              '%d lines' % (name, len(data), cost['load'] + cost['lookups'],
                            cost['peak'],
                            sum(1 for at in found.values() if at[0]),
                            sum(1 for at in found.values() if at[2])))
        results.check(taken < 60, 'hostile: time: ' + name, [taken])
        results.check(cost['peak'] < 24 * len(data) + 0x200000,
                      'hostile: memory: ' + name, [cost, len(data)])


def main():
    results = programs.Results()
    missing = [tool for tool in (SYMBOLIZER, PDBUTIL, LLD, CLANG[0])
               if shutil.which(tool) is None]
    if missing:
        results.skip('no ' + ', '.join(missing))
        return results.finish()
    with programs.Scratch() as folder:
        lua = programs.find_lua()
        if lua is None:
            results.skip("Lua's source is not to be had")
        else:
            images, sources = check_lua(results, folder, lua)
            check_debug_link(results, folder, images['DWARF 5'][0])
            check_pdb(results, folder, sources)
            check_damage(results, folder, 'Lua, DWARF 5',
                         images['DWARF 5'][0], 1)
            check_damage(results, folder, 'Lua, DWARF 4',
                         images['DWARF 4'][0], 2)
        check_damage(results, folder, 'C++', check_cpp(results, folder), 3)
        check_damage(results, folder, 'indexes',
                     check_assembly(results, folder), 4)
        check_report(results, folder)
        check_many(results, folder)
        check_hostile(results, folder)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
