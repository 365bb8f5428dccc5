#!/usr/bin/env python3
"""Reads packs: a second reader, made from Docs/Format.md, sections 15 and 19,
alone.

As a module: read(path) gives {name: bytes}, or raises FormatError.
"""

import re
import struct
import zlib

import codec_reader
from codec_reader import FormatError, require

HEADER = struct.Struct('<8sII48s')
END = struct.Struct('<8sIIQQQ16sII')
FILE = struct.Struct('<QQIIII')
BLOCK = struct.Struct('<QQIIQ')

MAXIMUM_FILES = 0x40000
MAXIMUM_NAME = 32767
MAXIMUM_GAPS = 1 << 36

# What no file is called, whatever follows a dot.
DEVICES = re.compile('(con|prn|aux|nul|conin[$]|conout[$]|'
                     '(com|lpt)[0-9\u00b9\u00b2\u00b3]) *([.:].*)?',
                     re.IGNORECASE | re.DOTALL)


def is_plain(part):
    """Whether a folder or a file may have the name."""
    return (part != '' and part[-1] not in '. ' and
            not re.search('[\0-\x1f<>:"/|?*\\\\]', part) and
            not DEVICES.fullmatch(part))


def without_case(name):
    return ''.join(char.upper() if len(char.upper()) == 1 else char
                   for char in name)


def check_names(names):
    """Plain ones, none twice, and none a folder of another."""
    require(all(is_plain(part) for name in names for part in name.split('/')),
            'a name is not that of a plain file')
    known = [without_case(name) for name in names]
    require(len(set(known)) == len(known), 'a name is there twice')
    folders = {name[:index] for name in known
               for index, char in enumerate(name) if char == '/'}
    require(not folders & set(known), 'a file is a folder of another')


def read_file(data, size, blocks, end_of_blocks):
    """A file's bytes, from its blocks' entries."""
    content = bytearray(size)
    end = 0
    for at, file_offset, block_size, raw, time in blocks:
        require(at % 8 == 0 and at >= 64 and
                at + block_size <= end_of_blocks and raw != 0 and
                file_offset >= end and file_offset + raw <= size, 'blocks')
        header, plain, used = codec_reader.decode(data[at:at + block_size])
        require((used, header.raw_bytes, header.position,
                 header.first_timestamp) ==
                (block_size, raw, file_offset, time), 'block')
        content[file_offset:file_offset + raw] = plain
        end = file_offset + raw
    return bytes(content)


def parse(data):
    """The lists of a pack: ([(name, size, its blocks)], where blocks end)."""
    require(len(data) >= 128, 'too short')
    magic, version, size, unused = HEADER.unpack(data[:64])
    require((magic, version, size) == (b'TRACPACK', 1, 64) and
            not any(unused), 'header')
    (magic, version, number_of_files, number_of_blocks, offset,
     size_of_names, unused, crc, unused2) = END.unpack(data[-64:])
    require(magic == b'TRACPEND' and version == 1 and not any(unused) and
            unused2 == 0 and number_of_files <= MAXIMUM_FILES and
            offset >= 64, 'end')
    blocks_at = offset + FILE.size * number_of_files
    names_at = blocks_at + BLOCK.size * number_of_blocks
    require(names_at + size_of_names == len(data) - 64, 'sizes')
    require(zlib.crc32(data[offset:-8]) == crc, 'CRC')
    blocks = list(BLOCK.iter_unpack(data[blocks_at:names_at]))
    files, names = [], []
    for (size, first, count, name, length,
         unused) in FILE.iter_unpack(data[offset:blocks_at]):
        require(unused == 0 and size < 1 << 63 and
                first + count <= number_of_blocks and
                name + length <= size_of_names and length < MAXIMUM_NAME,
                'files')
        names.append(data[names_at + name:names_at + name + length])
        files.append((names[-1].decode('utf-8', 'replace'), size,
                      blocks[first:first + count]))
    require(sum(map(len, names)) <= size_of_names, 'names overlap')
    require(sum(size - sum(block[3] for block in has)
                for _, size, has in files) <= MAXIMUM_GAPS, 'gaps')
    check_names([name for name, _, _ in files])
    return files, offset


def read(path):
    """All files of a pack."""
    with open(path, 'rb') as file:
        data = file.read()
    files, end = parse(data)
    return {name: read_file(data, size, blocks, end)
            for name, size, blocks in files}


__all__ = ['FormatError', 'parse', 'read']
