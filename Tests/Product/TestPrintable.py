#!/usr/bin/env python3
"""What may be printed, and what names a file of its own, against others'
tables: RtlIsPrintable for every code point against the Unicode character
database, and RtlIsPlainName against Python's own idea of Windows' names.

The routines are built for this machine.
"""

import ctypes
import os
import pathlib
import random
import subprocess
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402

DIRECTIONS = ('LRE', 'RLE', 'LRO', 'RLO', 'PDF', 'LRI', 'RLI', 'FSI', 'PDI')

# Formatting characters (Cf) that show something: signs that stand over or
# around numbers, and those that arrange hieroglyphs.
SHOWN = ('ARABIC NUMBER', 'ARABIC SIGN', 'ARABIC FOOTNOTE', 'ARABIC END',
         'ARABIC DISPUTED', 'ARABIC POUND', 'ARABIC PIASTRE', 'SYRIAC ABB',
         'KAITHI NUMBER', 'EGYPTIAN HIEROGLYPH')

# Letters and marks that show nothing.
HIDDEN = ('CHOSEONG FILLER', 'JUNGSEONG FILLER', 'HANGUL FILLER',
          'VARIATION SELECTOR', 'GRAPHEME JOINER', 'VOWEL INHERENT')
NAMES = 20000


def build(folder):
    library = os.path.join(folder, 'Names.so')
    subprocess.run(
        ['gcc', '-std=c11', '-O1', '-shared', '-fPIC', '-Wall', '-Wextra',
         '-Werror', '-D_DEFAULT_SOURCE', '-fshort-wchar', '-idirafter',
         '/usr/share/mingw-w64/include', '-include',
         os.path.join(programs.ROOT, 'Rtl', 'RtlPortable.h'),
         '-I' + os.path.join(programs.ROOT, 'Rtl'),
         *(os.path.join(programs.ROOT, 'Rtl', source)
           for source in ('RtlString.c', 'RtlPath.c')), '-o', library],
        check=True)
    # Assembly that these two do not call is missing.
    return ctypes.CDLL(library, mode=os.RTLD_LAZY)


def expected(point):
    """True, False, or None where the database does not say."""
    character = chr(point)
    category = unicodedata.category(character)
    name = unicodedata.name(character, '')
    if point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF:
        return False
    if category in ('Cc', 'Zl', 'Zp', 'Cs') or \
            unicodedata.bidirectional(character) in DIRECTIONS:
        return False
    if category == 'Cf':
        return name.startswith(SHOWN)
    if category in ('Cn', 'Co'):
        return None
    return not any(word in name for word in HIDDEN)


def check_printable(results, library):
    is_printable = library.RtlIsPrintable
    is_printable.restype = ctypes.c_ubyte
    is_printable.argtypes = [ctypes.c_uint32]
    wrong, told, refused = [], 0, 0
    for point in range(0x110000):
        wanted = expected(point)
        if wanted is None:
            continue
        told += 1
        refused += not wanted
        if bool(is_printable(point)) != wanted:
            wrong.append('U+%04X %s %s: %s' % (
                point, unicodedata.category(chr(point)),
                unicodedata.name(chr(point), ''), not wanted))
    results.check(not wrong, 'printable: %d wrong' % len(wrong), wrong)
    results.check(told > 100000 and refused > 2000,
                  'printable: %d told, %d refused' % (told, refused))
    for point in (0x110000, 0xFFFFFFFF, 0x80000041):
        results.equal(is_printable(point), 0, 'no code point: %X' % point)
    print('Unicode %s: %d code points, %d not printable' %
          (unicodedata.unidata_version, told, refused))


class UnicodeString(ctypes.Structure):
    _fields_ = [('Length', ctypes.c_uint16), ('Maximum', ctypes.c_uint16),
                ('Buffer', ctypes.c_char_p)]


def is_plain(name):
    """One component, that says no more than the file's name.

    Microsoft's "Naming Files, Paths, and Namespaces" also reserves the names
    with 0, which Python takes.
    """
    if name.partition('.')[0].rstrip(' ').upper() in ('COM0', 'LPT0'):
        return False
    path = pathlib.PureWindowsPath(name)
    return (name != '' and path.name == name and not path.is_reserved() and
            name[-1] not in '. ' and
            not any(character < ' ' or character in '<>:"/|?*'
                    for character in name))


def check_names(results, library):
    routine = library.RtlIsPlainName
    routine.restype = ctypes.c_ubyte

    def ask(name, is_path):
        data = name.encode('utf-16-le')
        return bool(routine(ctypes.byref(UnicodeString(
            len(data), len(data), data)), ctypes.c_ubyte(is_path)))

    chance = random.Random(14)
    words = ['con', 'PRN', 'Aux', 'nul', 'COM1', 'com9', 'LPT3', 'COM0',
             'COM\u00b9', 'lpt\u00b2', 'CONIN$', 'conout$', 'CONSOLE', 'a',
             'store', '.', '..', ' ', ':', '\\', '/', '*', '\x1f', '\t',
             '.trace', '\u00e4', '\u65e5', 'C:', '?', '"', '<', '|', 'x.y']
    told = {False: 0, True: 0}
    wrong = []
    for _ in range(NAMES):
        name = ''.join(chance.choice(words)
                       for _ in range(chance.randint(0, 3)))
        wanted = is_plain(name)
        told[wanted] += 1
        if ask(name, 0) != wanted:
            wrong.append('%r: %s' % (name, not wanted))
        path = '\\'.join([name, chance.choice(['store', 'NUL', '..', ''])])
        wanted = all(map(is_plain, path.split('\\')))
        if ask(path, 1) != wanted:
            wrong.append('path %r: %s' % (path, not wanted))
    results.check(not wrong, 'plain names: %d wrong' % len(wrong),
                  sorted(set(wrong)))
    results.check(min(told.values()) > NAMES // 20,
                  'plain names: %r' % told)


def main():
    results = programs.Results()
    with programs.Scratch() as folder:
        library = build(folder)
        check_printable(results, library)
        check_names(results, library)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
