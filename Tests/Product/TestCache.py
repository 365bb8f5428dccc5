#!/usr/bin/env python3
"""The symbol cache: with it, and without the image, TraceReader shows the same
to the byte as with the image; and whatever bytes are in it, it does no harm.

The cache is read here by Docs/Format.md; its names are compared with those of
nm.  The stores are copied without their clock anchors, so that times are in
ticks and two runs can be compared.
"""

import bisect
import concurrent.futures
import os
import random
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

NAME, SITE, FUNCTION_SITE, INLINED, LINE = range(5)
HEADER, MODULE, ENTRY = 64, 64, 40
LOW64 = 0xFFFFFFFFFFFFFFFF
HOSTILE = 12
WARNING = 'TraceReader: warning: symbols.cache is not used: '
WAYS = [['report', '--csv'], ['report', '--general', '--sort', 'name'],
        ['tree', '--json'], ['replay', '--csv']]

SOURCE = r'''
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#define APART __attribute__((noinline, noclone))
static jmp_buf Back;
static volatile int Sink;
static inline __attribute__((always_inline)) int Inner(int n)
{ Sink += n; return n * 3; }
APART int Leaf(int n) { return Inner(n) + Inner(n + 1); }
APART int Jumps(int n) { Sink += n; return Leaf(n + 1); }
APART int Dynamic(int n)
{
    volatile char *bytes = __builtin_alloca(n * 16 + 16);
    bytes[0] = (char)n;
    return Leaf(bytes[0]) + Jumps(n);
}
APART void Leaves(int n) { if (n & 1) longjmp(Back, 1); Sink += n; }
APART void Around(int n)
{
    if (setjmp(Back) == 0)
        Leaves(n);
    Sink += Dynamic(n & 63);
}
static DWORD WINAPI Thread(void *n)
{ Around(*(int *)n); return 0; }
int main(void)
{
    int n;
    HANDLE thread;
    for (n = 0; n < 200; n++)
        Around(n);
    thread = CreateThread(NULL, 0, Thread, &n, 0, NULL);
    WaitForSingleObject(thread, INFINITE);
    printf("%d\n", Sink);
    return 0;
}
'''


def make_session(scratch, name, flags):
    """Traces the program: (session in ticks, its image)."""
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    source = os.path.join(folder, 'Cached.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write(SOURCE)
    program = programs.build(os.path.join(folder, 'bin'), [source],
                             ['-fno-pie', *flags], 'Cached.exe',
                             [programs.LIBRARY],
                             compiler=(programs.GCC, '-O2'))
    _, traced = programs.trace(program,
                               directory=os.path.join(folder, 'traces'))
    session = os.path.join(folder, 'session')
    os.makedirs(session)
    for path in support.stores(traced):
        with open(path, 'rb') as file:
            data = bytearray(file.read())
        data[0x0E0:0x120] = bytes(0x40)
        with open(os.path.join(session, os.path.basename(path)), 'wb') as out:
            out.write(data)
    return session, program


def show(session, *options, ways=WAYS):
    """What each way of reading writes to its standard output."""
    path = programs.windows_path(session)
    return [support.reader(*way, *options, path)[:2] for way in ways]


def cache_of(session):
    return os.path.join(session, 'symbols.cache')


def read_bytes(path):
    with open(path, 'rb') as file:
        return file.read()


def write_bytes(path, data):
    with open(path, 'wb') as file:
        file.write(data)


#
# Docs/Format.md, section 14.
#

def checksum(data):
    value = 0
    for start, end in ((0, 56), (64, len(data))):
        for word, in struct.iter_unpack('<Q', data[start:end]):
            value = ((value ^ word) * 0x9E3779B97F4A7C15) & LOW64
            value ^= value >> 29
    return value


def sealed(data):
    """The same bytes with the right checksum."""
    data = bytearray(data)
    data[56:64] = struct.pack('<Q', checksum(bytes(data)))
    return bytes(data)


def parse(data):
    """A cache: (modules, (module, type, key) -> values, texts in place)."""
    (magic, version, modules, entries, texts, size) = struct.unpack_from(
        '<8s2I3Q', data)
    assert magic == b'TRCCACHE' and version == 4 and size == len(data)
    assert struct.unpack_from('<Q', data, 56)[0] == checksum(data)
    assert HEADER + MODULE * modules + ENTRY * entries + texts == size
    blob = data[size - texts:]

    def text(offset, length):
        assert blob[offset + length] == 0
        return blob[offset:offset + length].decode()

    names = []
    for index in range(modules):
        fields = struct.unpack_from('<4I16s3I', data, HEADER + MODULE * index)
        names.append((fields[0], fields[1], text(fields[5], fields[6]),
                      fields[7]))
    found, last = {}, None
    for index in range(entries):
        fields = struct.unpack_from(
            '<2IQ6I', data, HEADER + MODULE * modules + ENTRY * index)
        key, values = fields[:3], fields[3:]
        assert last is None or key > last
        last = key
        if key[1] == NAME and values[0]:
            values = values[1], text(*values[2:4]), text(*values[4:6])
        elif key[1] == LINE and values[0]:
            values = values[0], text(*values[1:3])
        found[key] = values
    return names, found


def entry_rvas(session):
    found = set()
    for store in trace_reader.open_all([session]):
        for _, rva, _, kind in store.records():
            if kind in (trace_reader.ENTER, trace_reader.ENTER_FUNCTION):
                found.add(rva)
    return found


def check_contents(results, session, image):
    """The names of all entries' sites must be those of nm."""
    modules, entries = parse(read_bytes(cache_of(session)))
    results.equal([name[2] for name in modules],
                  [programs.windows_path(image)], 'contents: modules')
    _, text = programs.run([programs.NM, image])
    symbols, base = {}, 0x140000000
    for fields in map(str.split, text.splitlines()):
        if len(fields) == 3 and fields[2] == '__ImageBase':
            base = int(fields[0], 16)
        elif (len(fields) == 3 and fields[1] in 'Tt' and
              not fields[2].startswith('.')):
            symbols.setdefault(int(fields[0], 16), fields[2])
    addresses = sorted(symbols)
    wanted = {}
    for rva in entry_rvas(session):
        address = addresses[bisect.bisect_right(addresses, base + rva) - 1]
        wanted[rva] = address - base, symbols[address]
    found = {key[2]: values[:2] for key, values in entries.items()
             if key[1] == NAME}
    results.equal(found, wanted, 'contents: names')
    results.check(len(wanted) > 5, 'contents: there are names')


#
# What is checked.
#

def check_same(results, what, session, image, has_inlined):
    """With the cache, without the image; and a control without either."""
    expected = show(session, '--no-cache', '--no-index')
    results.check(all(code == 0 for code, _ in expected) and
                  'Around' in expected[0][1] and 'ticks' in expected[0][1],
                  what + ': without a cache', expected[:1])
    results.check(not os.path.exists(cache_of(session)),
                  what + ': --no-cache leaves no file')
    results.equal(show(session), expected, what + ': the cache is made')
    data = read_bytes(cache_of(session))
    before = os.stat(cache_of(session)).st_mtime_ns
    results.equal(show(session), expected, what + ': the cache is used')
    code, _, errors = support.reader('report', '--verbose',
                                     programs.windows_path(session))
    results.check(code == 0 and ' 0 are new; nothing new' in errors,
                  what + ': --verbose', [errors])
    results.equal((read_bytes(cache_of(session)),
                   os.stat(cache_of(session)).st_mtime_ns), (data, before),
                  what + ': nothing new, nothing written')
    _, entries = parse(data)
    results.equal(any(key[1] == INLINED for key in entries), has_inlined,
                  what + ': functions that were inlined were asked for')
    results.check(sorted(os.listdir(session)) ==
                  sorted([os.path.basename(path)
                          for path in support.stores(session)] +
                         ['symbols.cache']), what + ': no other files',
                  os.listdir(session))

    os.rename(image, image + '.gone')
    results.equal(show(session), expected, what + ': without the image')
    results.equal(show(session, '--no-index'), expected,
                  what + ': without the image and the index')
    control = show(session, '--no-cache')
    results.check(all(have[0] == 0 and have != wanted for have, wanted in
                      zip(control, expected)),
                  what + ': control: neither image nor cache', control[:1])
    results.equal(read_bytes(cache_of(session)), data,
                  what + ': nothing is forgotten')
    os.rename(image + '.gone', image)
    return expected, data


def check_better(results, session, image):
    """A cache that was made without symbols is not kept for ever."""
    good = read_bytes(image)
    stripped = bytearray(good)
    header = struct.unpack_from('<I', stripped, 0x3C)[0]
    stripped[header + 12:header + 20] = bytes(8)
    ways = WAYS[:1]
    os.remove(cache_of(session))
    expected = show(session, '--no-cache', ways=ways)
    write_bytes(image, stripped)
    first = show(session, ways=ways)
    results.check('Around' not in first[0][1] and
                  os.path.exists(cache_of(session)),
                  'better: a cache without names', first)
    write_bytes(image, good)
    results.equal(show(session, ways=ways), expected,
                  'better: the symbols have come')
    write_bytes(image, stripped)
    results.equal(show(session, ways=ways), expected,
                  'better: the symbols are gone, the cache has them')
    write_bytes(image, good)


def check_damage(results, session, expected, data):
    """Each damage: one warning, the same output, and a new cache."""
    path = cache_of(session)
    ways, expected = WAYS[:1], expected[:1]
    numbers = random.Random(5)
    place = numbers.randrange(HEADER, len(data))
    flipped = bytearray(data)
    flipped[place] ^= 0x40
    for what, bad in [('a bit', bytes(flipped)), ('cut', data[:-8]),
                      ('longer', data + bytes(8)), ('empty', b''),
                      ('foreign', b'Something else.' * 50)]:
        write_bytes(path, bad)
        code, text, errors = support.reader(*ways[0],
                                            programs.windows_path(session))
        results.check(((code, text), errors.count(WARNING)) ==
                      (expected[0], 1), 'damaged: ' + what, [errors, text])
        results.equal(parse(read_bytes(path)), parse(data),
                      'damaged: %s: made anew' % what)


def check_version(results, session, image, data):
    """A cache of another version is not lost when the image is."""
    other = bytearray(data)
    struct.pack_into('<I', other, 8, 2)
    write_bytes(cache_of(session), sealed(other))
    os.rename(image, image + '.gone')
    _, _, errors = support.reader('report', programs.windows_path(session))
    results.check(errors.count(WARNING + 'it is of another version') == 1 and
                  read_bytes(cache_of(session)) == sealed(other),
                  'version: kept', [errors])
    os.rename(image + '.gone', image)
    support.reader(*WAYS[0], programs.windows_path(session))
    results.equal(parse(read_bytes(cache_of(session))), parse(data),
                  'version: replaced where nothing is lost')


def check_hostile(results, session, data):
    """Bytes with a right checksum and wrong contents: no crash, no hang."""
    numbers = random.Random(11)
    path = programs.windows_path(session)
    used = 0
    for number in range(HOSTILE):
        bad = bytearray(data)
        if number == 0:     # every number is as large as it can be
            struct.pack_into('<2I3Q', bad, 8, 1, 0xFFFFFFFF, LOW64, LOW64 & ~7,
                             len(bad))
        elif number < HOSTILE // 2:
            for _ in range(numbers.randrange(1, 6)):
                struct.pack_into('<I', bad, numbers.randrange(
                    8, len(bad) - 4) & ~3, numbers.getrandbits(32) >>
                    numbers.choice((0, 8, 24)))
            struct.pack_into('<Q', bad, 32, len(bad))
        else:               # what passes: frames, targets and names
            count = struct.unpack_from('<I', bad, 16)[0]
            for index in range(count):
                place = HEADER + MODULE + ENTRY * index
                kind = struct.unpack_from('<I', bad, place + 4)[0]
                if kind in (SITE, FUNCTION_SITE):
                    struct.pack_into('<6I', bad, place + 16,
                                     numbers.randrange(4),
                                     *(numbers.getrandbits(32)
                                       for _ in range(4)),
                                     numbers.randrange(8))
                elif kind == INLINED:
                    struct.pack_into('<I', bad, place + 16,
                                     numbers.randrange(3))
                elif kind == NAME:
                    struct.pack_into('<I', bad, place + 20,
                                     numbers.getrandbits(32))
        write_bytes(cache_of(session), sealed(bad))
        way = WAYS[number % 4]
        code, text, errors = support.reader(*way, '--no-index', path)
        used += WARNING not in errors
        results.check(code == 0 and text, 'hostile %d' % number,
                      [code, errors])
    results.check(HOSTILE // 2 <= used < HOSTILE,
                  'hostile: some are used, some are found', [used])
    write_bytes(cache_of(session), data)


def check_writing(results, session, expected, data):
    """Several readers at once; a folder that cannot be written in; a part of
    the session; a store alone."""
    path = programs.windows_path(session)
    os.remove(cache_of(session))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        outputs = [text for _, text, _ in pool.map(
            lambda _: support.reader(*WAYS[0], path), range(3))]
    results.equal(outputs, [expected[0][1]] * 3, 'three at once')
    results.equal(parse(read_bytes(cache_of(session))), parse(data),
                  'three at once: the cache')

    os.remove(cache_of(session))
    os.mkdir(cache_of(session) + '.new')
    code, text, errors = support.reader(*WAYS[0], path)
    results.equal((code, text, errors), (*expected[0], ''),
                  'a folder that cannot be written in')
    code, _, errors = support.reader('report', '--verbose', path)
    results.check('; not written: 0xC' in errors,
                  'a folder that cannot be written in: --verbose', [errors])
    os.rmdir(cache_of(session) + '.new')

    threads = [store.ThreadId for store in trace_reader.open_all([session])]
    results.check(len(set(threads)) == 2, 'there are two threads')
    support.reader(*WAYS[0], '--thread', str(threads[-1]), path)
    part = parse(read_bytes(cache_of(session)))[1]
    support.reader(*WAYS[0], '--thread', str(threads[0]), path)
    whole = parse(read_bytes(cache_of(session)))[1]
    everything = parse(data)[1]
    results.check(0 < len(part) < len(everything) and whole == everything,
                  'thread by thread', [len(part), len(whole)])

    os.remove(cache_of(session))
    code, _, errors = support.reader(
        'report', '--verbose',
        programs.windows_path(support.stores(session)[0]))
    results.check(code == 0 and 'not written for one store' in errors and
                  not os.path.exists(cache_of(session)),
                  'a store alone leaves no cache', [code, errors])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        session, image = make_session(scratch, 'penter',
                                      programs.PENTER_FLAGS)
        expected, data = check_same(results, 'penter', session, image, False)
        check_contents(results, session, image)
        check_better(results, session, image)
        check_damage(results, session, expected, data)
        check_version(results, session, image, data)
        check_hostile(results, session, data)
        check_writing(results, session, expected, data)
        session, image = make_session(
            scratch, 'functions', [*programs.FUNCTION_FLAGS, '-gdwarf-4'])
        check_same(results, 'functions', session, image, True)
        shutil.rmtree(session)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
