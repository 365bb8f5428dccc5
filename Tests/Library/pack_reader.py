#!/usr/bin/env python3
"""Reads packs: a second reader, made from Docs/Format.md, sections 15 and 19,
alone.

As a module: read(path) gives {name: bytes}, or raises FormatError.
"""

import struct
import zlib

import codec_reader
from codec_reader import FormatError, require

HEADER = struct.Struct('<8sII48s')
END = struct.Struct('<8sIIQQQ16sII')
FILE = struct.Struct('<QQIIII')
BLOCK = struct.Struct('<QQIIQ')


def read(path):
    """All files of a pack."""
    with open(path, 'rb') as file:
        data = file.read()
    require(len(data) >= 128, 'too short')
    magic, version, size, unused = HEADER.unpack(data[:64])
    require((magic, version, size) == (b'TRACPACK', 1, 64) and
            not any(unused), 'header')
    (magic, version, number_of_files, number_of_blocks, offset,
     size_of_names, unused, crc, unused2) = END.unpack(data[-64:])
    require(magic == b'TRACPEND' and version == 1 and not any(unused) and
            unused2 == 0, 'end')
    blocks_at = offset + FILE.size * number_of_files
    names_at = blocks_at + BLOCK.size * number_of_blocks
    require(names_at + size_of_names == len(data) - 64, 'sizes')
    require(zlib.crc32(data[offset:-8]) == crc, 'CRC')
    blocks = list(BLOCK.iter_unpack(data[blocks_at:names_at]))
    files = {}
    for (size, first, count, name, length,
         unused) in FILE.iter_unpack(data[offset:blocks_at]):
        text = data[names_at + name:names_at + name + length].decode()
        require(text not in files and unused == 0, 'files')
        content = bytearray(size)
        end = 0
        for at, file_offset, block_size, raw, time in blocks[first:first +
                                                             count]:
            require(at % 8 == 0 and file_offset >= end and
                    file_offset + raw <= size, 'blocks')
            header, plain, used = codec_reader.decode(data[at:at + block_size])
            require((used, header.raw_bytes, header.position,
                     header.first_timestamp) ==
                    (block_size, raw, file_offset, time), 'block')
            content[file_offset:file_offset + raw] = plain
            end = file_offset + raw
        files[text] = bytes(content)
    return files


__all__ = ['FormatError', 'read']
