"""Packs that are written byte by byte, from Docs/Format.md, sections 15 and 19,
and what the tests of packs have in common."""

import os
import struct
import sys
import types
import zlib

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import codec_reader                                          # noqa: E402
import pack_reader                                           # noqa: E402

LARGEST_READ = 4 << 20      # bytes that pack_reader is given to decode


def read_bytes(path):
    with open(path, 'rb') as file:
        return file.read()


def files_below(folder):
    """{name, with slashes: bytes} of all files."""
    return {os.path.relpath(os.path.join(above, name),
                            folder).replace(os.sep, '/'):
            read_bytes(os.path.join(above, name))
            for above, _, names in os.walk(folder) for name in names}


def sealed(block):
    """The same block with the sum that is right."""
    contents = bytes(block[64:])
    return (bytes(block[:56]) + struct.pack(
        '<Q', codec_reader.sum_of(bytes(block), contents)) + contents)


def stored(data, position):
    """A block that has the bytes as they are."""
    first = last = 0
    for index, (time, _, word) in enumerate(
            struct.iter_unpack('<QII', data[:len(data) // 16 * 16])):
        first = first if index else time
        last = time
    return sealed(struct.pack(
        '<IBBHIIQQQQIIQ', codec_reader.MAGIC, 1, codec_reader.STORED, 0,
        len(data), len(data), position, first, last, 0, 0, 0, 0) + data)


def make(files, change=None):
    """The bytes of a pack.

    files are (name, bytes) or (name, size, [(offset, block)]).  change may
    alter what is passed to it before the CRC is made: header and end, lists of
    fields; files and blocks, lists of such lists; names and body, bytearrays.
    Its crc, if it is set, is taken as it is, and tail follows the end.
    """
    parts = types.SimpleNamespace(
        header=[b'TRACPACK', 1, 64, bytes(48)], body=bytearray(), files=[],
        blocks=[], names=bytearray(), crc=None, tail=b'', unused=0,
        end=[b'TRACPEND', 1, 0, 0, 0, 0, bytes(16)])
    for name, *content in files:
        if len(content) == 1:
            data = content[0]
            size = len(data)
            blocks = [(at, stored(data[at:at + (1 << 20)], at))
                      for at in range(0, size, 1 << 20)]
        else:
            size, blocks = content
        name = name if isinstance(name, bytes) else name.encode()
        parts.files.append([size, len(parts.blocks), len(blocks),
                            len(parts.names), len(name), 0])
        parts.names += name
        for offset, block in blocks:
            raw, = struct.unpack_from('<I', block, 8)
            time, = struct.unpack_from('<Q', block, 24)
            parts.blocks.append([64 + len(parts.body), offset, len(block), raw,
                                 time])
            parts.body += block + bytes(-len(block) % 8)
    parts.end[2:6] = [len(parts.files), len(parts.blocks),
                      64 + len(parts.body), len(parts.names)]
    if change:
        change(parts)
    lists = b''.join([pack_reader.FILE.pack(*file) for file in parts.files] +
                     [pack_reader.BLOCK.pack(*block)
                      for block in parts.blocks] + [bytes(parts.names)])
    end = struct.pack('<8sIIQQQ16s', *parts.end)
    crc = zlib.crc32(lists + end) if parts.crc is None else parts.crc
    return (struct.pack('<8sII48s', *parts.header) + bytes(parts.body) +
            lists + end + struct.pack('<II', crc, parts.unused) + parts.tail)


def check_unpacked(results, path, folder, numbers, what):
    """What unpack made of a pack is what pack_reader reads of it; of a large
    one, some of its blocks.  Returns the names in the pack."""
    data = read_bytes(path)
    entries, end = pack_reader.parse(data)
    names = [name for name, _, _ in entries]
    tops = {name.split('/')[0] for name in names}
    results.check(len(tops) == 1 and all('/' in name for name in names),
                  what + ': one folder', names)
    found = files_below(folder)
    results.equal(sorted(found), sorted(name.split('/', 1)[1]
                                        for name in names), what + ': names')
    total = sum(raw for _, _, blocks in entries for _, _, _, raw, _ in blocks)
    for name, size, blocks in entries:
        have = found.get(name.split('/', 1)[1], b'')
        results.equal(len(have), size, what + ': size of ' + name)
        if total <= LARGEST_READ:
            results.check(pack_reader.read_file(data, size, blocks, end) ==
                          have, what + ': bytes of ' + name)
            continue
        for at, offset, length, raw, _ in numbers.sample(
                blocks, min(len(blocks), 2)):
            _, plain, _ = codec_reader.decode(data[at:at + length])
            results.check(plain == have[offset:offset + raw],
                          '%s: bytes of %s at %d' % (what, name, offset))
    return names
