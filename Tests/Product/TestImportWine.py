#!/usr/bin/env python3
# Takes long.
"""Every program that Wine ships and that ends by itself, with the imports of
all modules recorded: the same output and exit code as without.

The list is the installation's.  By what its image says a program is left out:
a library or a driver; with routines among its imports that make windows; or a
service or server, by the routine in which these wait.  Two open a window by
other DLLs, and are named.  Each of the others is run without arguments and with /?, at the end of
its input; one that has not ended after a minute does not end by itself.  What
is left out is printed, and counted.  Where two runs of a program differ by
themselves (a list of processes), its exit code is compared and its session
looked at.
"""

import collections
import glob
import os
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import programs                                              # noqa: E402
from TestImports import read_file, run                       # noqa: E402

SERVICES = {'StartServiceCtrlDispatcherA', 'StartServiceCtrlDispatcherW',
            'RpcServerListen', 'CoRegisterClassObject'}
WINDOWS = {'CreateWindowExA', 'CreateWindowExW', 'DialogBoxParamA',
           'DialogBoxParamW', 'CreateDialogParamA', 'CreateDialogParamW',
           'DialogBoxIndirectParamW', 'MessageBoxA', 'MessageBoxW',
           'PropertySheetA', 'PropertySheetW', 'GetMessageA', 'GetMessageW'}
OPENS_A_WINDOW = {'control.exe', 'iexplore.exe'}    # by shell32, ieframe
SUBSYSTEMS = {2, 3}                                 # windows, console
LIBRARY, PATIENCE = 0x2000, 60
NOT_FOUND = 53      # what Wine says of a program that is switched off


def text_at(data, offset):
    return data[offset:data.index(b'\0', offset)].decode('latin-1')


def read_image(path):
    """(subsystem, characteristics, names of its imports, delayed ones too)."""
    with open(path, 'rb') as file:
        data = file.read()
    header, = struct.unpack_from('<I', data, 60)
    count, = struct.unpack_from('<H', data, header + 6)
    size, flags = struct.unpack_from('<HH', data, header + 20)
    subsystem, = struct.unpack_from('<H', data, header + 24 + 68)
    sections = [struct.unpack_from('<8sIIII', data, header + 24 + size +
                                   40 * index) for index in range(count)]

    def find(rva):
        for _, length, start, raw, offset in sections:
            if start <= rva < start + max(length, raw):
                return rva - start + offset
        raise ValueError('%s: RVA %x' % (path, rva))

    names = set()
    for directory, form, table in ((1, '<5I', 0), (13, '<8I', 4)):
        rva, = struct.unpack_from('<I', data, header + 24 + 112 +
                                  8 * directory)
        entry = find(rva) if rva else None
        while entry is not None:
            fields = struct.unpack_from(form, data, entry)
            if not fields[3]:
                break
            thunk = find(fields[table] or fields[4])
            while True:
                value, = struct.unpack_from('<Q', data, thunk)
                if not value:
                    break
                if not value >> 63:
                    names.add(text_at(data, find(value) + 2))
                thunk += 8
            entry += struct.calcsize(form)
    return subsystem, flags, names


def is_for_x64(path):
    with open(path, 'rb') as file:
        data = file.read(4096)
    header, = struct.unpack_from('<I', data, 60)
    return data[header + 4:header + 6] == b'\x64\x86'


def sort_out(path):
    """Why a program is not run, or None."""
    subsystem, flags, names = read_image(path)
    if flags & LIBRARY or subsystem == 1:
        return 'a library'
    if names & SERVICES:
        return 'a service'
    if (subsystem not in SUBSYSTEMS or names & WINDOWS or
            os.path.basename(path) in OPENS_A_WINDOW):
        return 'a window'
    return None


def ends(program, arguments):
    """Runs a program, and kills what does not end."""
    child = subprocess.Popen([programs.WINE, program, *arguments],
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL,
                             env=support.environment())
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
    return True


def check(results, scratch, program, arguments):
    """What it was not compared for, or None."""
    what = ' '.join((program, *arguments))
    environment = {'TRACER_MIN_FREE': '0'}
    if not ends(program, arguments):
        return 'does not end'
    plain = run(program, *arguments, **environment)
    if plain[0] == NOT_FOUND:
        return 'does not start'
    again = run(program, *arguments, **environment)
    directory = os.path.join(scratch, 'session')
    code, output, errors, session = run(
        program, *arguments, options=['--imports', '*', '--no-symbols'],
        directory=directory, **environment)
    if plain[0] == again[0]:
        results.equal(code, plain[0], '%s: exit code' % what)
    if plain[1] == again[1]:
        results.check(output == plain[1], '%s: output' % what,
                      [output[:300], plain[1][:300], errors])
    else:
        print('%s: its output is another one each time' % what)
    if results.check(session, '%s: a session' % what, [errors]):
        header, _ = read_file(session)
        results.check(header[10] > 50 and header[14] == 0,
                      '%s: imports' % what, [header])
        results.equal([name for name in os.listdir(session)
                       if name.endswith('.log')], [], '%s: no log' % what)
        code, text, errors = support.reader('report', '--by', 'module',
                                            '--csv', session)
        results.check(code == 0 and 'kernel' in text, '%s: modules' % what,
                      [code, text[:300], errors])
    shutil.rmtree(directory)
    return None


def main():
    results = programs.Results()
    folder = next((path for path in (
        os.path.join(os.environ.get('WINEDLLPATH', ''), 'x86_64-windows'),
        *glob.glob('/usr/lib/*/wine/x86_64-windows'),
        *glob.glob('/usr/lib/wine/x86_64-windows'),
        *glob.glob('/opt/wine*/lib*/wine/x86_64-windows'))
        if os.path.isdir(path)), None)
    if folder is None:
        results.skip('Wine\'s programs were not found')
        return results.finish()
    left = collections.defaultdict(list)
    windows = os.path.join(os.environ.get('TRACER_WINE_PREFIX') or
                           os.path.join(programs.ROOT, 'x64', 'Wine'), 'drive_c',
                           'windows')
    number = 0
    with programs.Scratch() as scratch:
        for path in sorted(glob.glob(os.path.join(folder, '*.exe'))):
            name = os.path.basename(path)
            why = sort_out(path)
            if why is not None:
                left[why].append(name)
                continue
            # Some are only in folders of their own; 32-bit ones do not count.
            places = sorted(
                (place for place in glob.glob(os.path.join(
                    windows, '**', name), recursive=True)
                 if is_for_x64(place)),
                key=lambda place: ('system32' not in place, place))
            if not places:
                left['not in the prefix'].append(name)
                continue
            program = 'C:\\' + os.path.relpath(
                places[0], os.path.dirname(windows)).replace('/', '\\')
            for arguments in ((), ('/?',)):
                why = check(results, scratch, program, arguments)
                if why is None:
                    number += 1
                else:
                    left[why].append(' '.join((name, *arguments)))
    for why, names in sorted(left.items()):
        print('not run, %s: %d: %s' % (why, len(names), ' '.join(names)))
    print('%d runs of programs' % number)
    results.check(number > 50, 'programs were run', [number])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
