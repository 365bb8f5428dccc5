#!/usr/bin/env python3
"""Compression: any bytes and gzip'd exports give back, by Python's zlib, what
was compressed.

Any bytes are compressed by Tests/Fuzz/GzipTool.c, which is built natively with
the compressor that exports use.  In the long form there are more of them.
"""

import gzip
import os
import random
import shutil
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import MadeStores as made                                    # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402
from TestBadInput import mounted                             # noqa: E402
from TestExportTables import nested_calls                    # noqa: E402

BLOCK = 0x40000
HISTORY = 0x8000

FORMATS = ['folded', 'chrome', 'perfetto', 'fxt', 'speedscope', 'callgrind',
           'csv', 'csv-osr', 'csv-cap']


def noise(numbers, size):
    return numbers.randbytes(size)


def skewed(numbers):
    """Symbols so rare that their codes would be longer than 15 bits: their
    counts are Fibonacci's numbers."""
    first, second, data = 1, 1, bytearray()
    for symbol in range(24):
        data += bytes([symbol]) * first
        first, second = second, first + second
    shuffled = list(data)
    numbers.shuffle(shuffled)
    return bytes(shuffled)


def words(numbers, size):
    """Text whose words repeat, at all distances."""
    known = [numbers.randbytes(numbers.randrange(1, 40)).hex().encode()
             for _ in range(200)]
    data = bytearray()
    while len(data) < size:
        data += numbers.choice(known)
        data += numbers.choice((b' ', b', ', b'\n'))
    return bytes(data[:size])


def inputs(numbers):
    """Bytes that meet the limits of the format and of the compressor."""
    yield 'nothing', b''
    yield 'a byte', b'x'
    for size in (2, 3, 4, 5, 7):
        yield f'{size} equal bytes', b'y' * size
        yield f'{size} bytes', noise(numbers, size)
    for size in (257, 258, 259, 260, 515, 516, 517, 518):
        yield f'a run of {size}', b'<' + b'z' * size + b'>'
        piece = noise(numbers, size)
        yield f'a match of {size}', piece + b'-' + piece + b'+'
    for distance in (HISTORY - 1, HISTORY, HISTORY + 1):
        piece = noise(numbers, 200)
        yield (f'a match {distance} back',
               piece + noise(numbers, distance - len(piece)) + piece)
    for size in (BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 3, 2 * BLOCK + 3):
        yield f'{size} of one byte', b'\0' * size
        yield f'noise of {size}', noise(numbers, size)
    yield 'a match over the end of a block', \
        noise(numbers, BLOCK - 100) + b'm' * 4000 + noise(numbers, 100)
    yield 'rare symbols', skewed(numbers)
    yield 'all lengths of words', words(numbers, 700001)
    yield 'noise, text, noise', noise(numbers, 70000) + \
        words(numbers, 300000) + noise(numbers, 200000)
    for index in range(150 if programs.LONG else 15):
        parts = bytearray()
        alphabet = noise(numbers, numbers.randrange(1, 30))
        for _ in range(numbers.randrange(1, 60)):
            kind = numbers.randrange(4)
            size = int(4 ** (numbers.random() * 7))
            if kind == 0:
                parts += noise(numbers, size)
            elif kind == 1:
                parts += bytes(numbers.choices(alphabet, k=size))
            elif kind == 2:
                parts += numbers.choice(alphabet).to_bytes(1, 'little') * size
            elif parts:
                start = numbers.randrange(len(parts))
                parts += parts[start:start + size]
        yield f'parts {index}', bytes(parts)


def make_session(folder, numbers):
    session = os.path.join(folder, 'made')
    os.makedirs(session)
    records = [made.record(*record) for record in
               nested_calls(numbers, 20000, 1000)]
    made.write(os.path.join(session, 'made.trace'), records)
    return session


SOURCES = ['Tests/Fuzz/GzipTool.c', 'Reader/Base/BaseDeflate.c']
FLAGS = ['-std=c11', '-O2', '-D_DEFAULT_SOURCE', '-fshort-wchar', '-include',
         'Rtl/RtlPortable.h', '-idirafter',
         '/usr/share/mingw-w64/include', '-IRtl', '-IStringTable', '-IAsm',
         '-ITraceStore', '-ITests/Fuzz']


def build_tool(folder):
    """The path of GzipTool, or None if there is no compiler."""
    compiler = shutil.which(programs.CLANG) or shutil.which('gcc')
    if not compiler:
        return None
    path = os.path.join(folder, 'GzipTool')
    subprocess.run([compiler, *FLAGS, *SOURCES, '-o', path], check=True,
                   cwd=programs.ROOT)
    return path


def inflate(data):
    """What zlib makes of a stream, which must be all of the data."""
    inflater = zlib.decompressobj(-15)
    result = inflater.decompress(data) + inflater.flush()
    if not inflater.eof or inflater.unused_data:
        raise zlib.error('the stream does not end with the file')
    return result


def check_bytes(results, folder, numbers):
    """Every input, at once and in pieces."""
    tool = build_tool(folder)
    if tool is None:
        results.skip('there is no compiler for this machine')
        return
    source, target = (os.path.join(folder, name) for name in ('from', 'to'))
    largest = b''
    for what, data in inputs(numbers):
        with open(source, 'wb') as file:
            file.write(data)
        found = []
        for piece in ([], [str(max(1, len(data) // 7 + 1))]):
            code = subprocess.run([tool, source, target, *piece],
                                  check=False).returncode
            results.equal(code, 0, what + ': is compressed')
            with open(target, 'rb') as file:
                found.append(file.read())
        packed = found[0]
        results.check(found[1] == packed, what + ': in pieces')
        try:
            results.check(inflate(packed) == data, what + ': its bytes')
        except zlib.error as error:
            results.check(False, what + ': is read', [str(error)])

        #
        # zlib with the effort that gzip has by default is the measure; bytes
        # that cannot be compressed take 5 more in each 65,535.
        #

        least = len(zlib.compress(data, 6))
        results.check(len(packed) <= least * 1.15 + 200 and
                      len(packed) <= len(data) + 5 * (len(data) // 65535 + 3),
                      what + ': is small',
                      [f'{len(data)}: {len(packed)} bytes, zlib {least}'])
        if what == 'all lengths of words':
            largest = packed, data

    #
    # Control: the witness notices one bit.
    #

    packed, data = bytearray(largest[0]), largest[1]
    packed[5000] ^= 4
    try:
        found = inflate(packed) != data
    except zlib.error:
        found = True
    results.check(found, 'control: a changed bit is found')


def export(session, form, path, *options):
    return support.reader('export', '--format', form, '-o',
                          programs.windows_path(path), *options,
                          programs.windows_path(session))


def check_exports(results, session, folder):
    for form in FORMATS:
        plain = os.path.join(folder, 'plain.' + form)
        packed = os.path.join(folder, 'plain.' + form + '.gz')
        first = export(session, form, plain)
        second = export(session, form, packed, '--gzip')
        results.check(first[0] == 0 and second[0] == 0,
                      form + ': exit codes', [first, second])
        with open(plain, 'rb') as file:
            expected = file.read()
        with gzip.open(packed) as file:
            results.check(file.read() == expected,
                          form + ': what was compressed is the export')
        results.check(os.path.getsize(packed) < len(expected) or
                      len(expected) < 100, form + ': is smaller')

    parts = os.path.join(folder, 'parts.json.gz')
    code, _, told = export(session, 'chrome', parts, '--gzip',
                           '--split-size', '1M')
    plain = os.path.join(folder, 'parts.json')
    export(session, 'chrome', plain, '--split-size', '1M')
    names = sorted(name for name in os.listdir(folder)
                   if name.startswith('parts'))
    results.check(code == 0, 'parts: exit code', [code, told])
    results.check('parts-2.json.gz' in names and 'parts-2.json' in names,
                  'parts: names', names)
    for name in names:
        if name.endswith('.gz'):
            with gzip.open(os.path.join(folder, name)) as left, \
                    open(os.path.join(folder, name[:-3]), 'rb') as right:
                results.check(left.read() == right.read(),
                              name + ': is the same part')

    code, text, told = support.reader('export', '--format', 'chrome', '-o', '-',
                                      programs.windows_path(session))
    results.check(code != 0 and 'standard output' in told and not text and
                  not os.path.exists('-'), 'no file is called -',
                  [code, told])

    path = os.path.join(folder, 'page.html')
    code, _, told = export(session, 'html', path, '--gzip')
    results.check(code != 0 and '--gzip' in told and not os.path.exists(path),
                  'html is not compressed', [code, told])


def check_full_disk(results, session, folder):
    """What cannot be written leaves no file under its name."""
    place = os.path.join(folder, 'small')
    with mounted(place, 'size=64k') as is_mounted:
        if not is_mounted:
            results.skip('nothing can be mounted here')
            return
        path = os.path.join(place, 'large.json.gz')
        code, _, told = export(session, 'chrome', path, '--gzip')
        results.check(code != 0 and 'write the file' in told,
                      'full disk: is said', [code, told])
        results.equal(os.listdir(place), [], 'full disk: nothing is left')


def main():
    results = programs.Results()
    numbers = random.Random(1952)
    with programs.Scratch() as scratch:
        session = make_session(scratch, numbers)
        check_bytes(results, scratch, numbers)
        check_exports(results, session, scratch)
        check_full_disk(results, session, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
