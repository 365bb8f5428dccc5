#!/usr/bin/env python3
"""Compression: entries of packs and gzip'd exports give back, by Python's zlib,
what was compressed.

A pack has a session's logs as they are, so a log may be any bytes at all.  In
the long form there are more of them.
"""

import gzip
import os
import random
import sys
import zipfile
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


def check_packs(results, session, folder, numbers):
    """Every input as a log of the session."""
    contents = {}
    for index, (what, data) in enumerate(inputs(numbers)):
        name = f'L{index}.log'
        contents[name] = (what, data)
        with open(os.path.join(session, name), 'wb') as file:
            file.write(data)
    path = os.path.join(folder, 'made.tracepack')
    code, _, told = support.reader('pack', programs.windows_path(session), '-o',
                                   programs.windows_path(path))
    results.check(code == 0, 'pack: exit code', [code, told])
    with zipfile.ZipFile(path) as file:
        entries = {os.path.basename(entry.filename): entry
                   for entry in file.infolist()}
        for name, (what, data) in contents.items():
            entry = entries.get(name)
            if not results.check(entry is not None, what + ': is packed'):
                continue
            try:
                results.check(file.read(entry) == data, what + ': its bytes')
            except (zipfile.BadZipFile, zlib.error) as error:
                results.check(False, what + ': is read', [str(error)])
            results.equal(entry.compress_type, zipfile.ZIP_DEFLATED,
                          what + ': method')

            #
            # zlib with the effort that gzip has by default is the measure;
            # bytes that cannot be compressed take 5 more in each 65,535.
            #

            least = len(zlib.compress(data, 6))
            results.check(entry.compress_size <= least * 1.15 + 200 and
                          entry.compress_size <=
                          len(data) + 5 * (len(data) // 65535 + 3),
                          what + ': is compressed',
                          [f'{len(data)}: {entry.compress_size} bytes, '
                           f'zlib {least}'])
        whole = [entry for entry in entries.values()
                 if entry.compress_size > 10000]

    #
    # Control: the witness notices one bit.
    #

    with open(path, 'rb') as file:
        data = bytearray(file.read())
    data[whole[0].header_offset + 5000] ^= 4
    with open(path, 'wb') as file:
        file.write(data)
    with zipfile.ZipFile(path) as file:
        try:
            found = file.testzip() is not None
        except zlib.error:
            found = True
    results.check(found, 'control: a changed bit is found')
    for name in contents:
        os.unlink(os.path.join(session, name))


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
        check_packs(results, session, scratch, numbers)
        check_exports(results, session, scratch)
        check_full_disk(results, session, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
