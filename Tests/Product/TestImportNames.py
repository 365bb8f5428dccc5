#!/usr/bin/env python3
"""What imported functions are called, and whose they are: their module is the
one that has them, in everything that shows or exports a module.

The program and its DLL count themselves what they call.  Control: functions
with hooks beside them keep their own module.
"""

import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestExportTraces as traces                            # noqa: E402
import programs                                              # noqa: E402
from TestImports import run                                  # noqa: E402

PLUG = r'''
#include <windows.h>
int Sleeps, Ticks;
__declspec(dllexport) int Work(int Rounds)
{
    volatile int Sum = 0;
    for (int I = 0; I < Rounds; I += 1) {
        Sleeps += 1;
        Sleep(0);
    }
    for (int I = 0; I < 20000; I += 1) Sum += I;
    Ticks += 1;
    return GetTickCount() == 1 ? 1 : Sum;
}
__declspec(dllexport) int Back(int (*Routine)(int), int X)
{
    return Routine(X) + 1;
}
__declspec(dllexport) void Told(int *Numbers)
{
    Numbers[0] = Sleeps;
    Numbers[1] = Ticks;
}
'''
NAMES = r'''
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
int Work(int), Back(int (*)(int), int);
void Told(int *);
static int Sleeps, Ticks, Works, Backs;
__attribute__((noinline)) int Compare(const void *A, const void *B)
{
    Ticks += 1;
    return GetTickCount() == 1 ? 7 : *(const int *)A - *(const int *)B;
}
__attribute__((noinline)) int Deep(int X)
{
    Works += 1;
    return Work(1) + X;
}
__attribute__((noinline)) int Again(int X)
{
    Backs += 1;
    return X == 0 ? 1 : Back(Again, X - 1);
}
__attribute__((noinline)) void Nap(void)
{
    Sleeps += 1;
    Sleep(0);
}
int main(void)
{
    int List[9] = { 5, 3, 8, 1, 9, 2, 7, 4, 6 }, Numbers[2];
    volatile int Sum = 0;
    for (int I = 0; I < 30; I += 1) Nap();
    for (int I = 0; I < 20; I += 1) { Works += 1; Sum += Work(3); }
    for (int I = 0; I < 10; I += 1) Sum += Back(Deep, I);
    Sum += Again(6);
    qsort(List, 9, sizeof(List[0]), Compare);
    Told(Numbers);
    printf("names.exe Sleep %d\nnames.exe GetTickCount %d\n", Sleeps, Ticks);
    printf("plug.dll Sleep %d\nplug.dll GetTickCount %d\n", Numbers[0],
           Numbers[1]);
    printf("names.exe Work %d\nnames.exe Back %d\n", Works, Backs - 1 + 10);
    return List[0] == 1 && List[8] == 9 ? 6 : 7;
}
'''


class Programs:
    """Names.exe and Plug.dll without hooks, and Hooked.exe, which is Names.exe
    with hooks."""

    def __init__(self, scratch):
        self.folder = os.path.join(scratch, 'names')
        os.makedirs(self.folder)
        for name, text in (('plug.c', PLUG), ('names.c', NAMES)):
            with open(os.path.join(self.folder, name), 'w',
                      encoding='ascii') as file:
                file.write(text)
        for arguments in (
                ['-shared', 'plug.c', '-o', 'Plug.dll',
                 '-Wl,--out-implib,libPlug.a'],
                ['names.c', 'libPlug.a', '-o', 'Names.exe'],
                ['-c', *programs.PENTER_FLAGS, 'names.c', '-o', 'hooked.o'],
                ['hooked.o', 'libPlug.a', programs.LIBRARY, '-o',
                 'Hooked.exe']):
            subprocess.run([programs.GCC, '-O1', '-w', *arguments],
                           check=True, cwd=self.folder)
        self.counts, self.number = {}, 0

    def run(self, results, name, *options, **environment):
        """The session; counts receives what the program has counted."""
        self.number += 1
        code, output, errors, session = run(
            os.path.join(self.folder, name), options=options,
            directory=os.path.join(self.folder, 'run%d' % self.number),
            **environment)
        results.check(code == 6 and session, '%s %s' % (name, options),
                      [code, output, errors])
        self.counts = {
            (importer, function): int(number)
            for importer, function, number in re.findall(
                r'(\S+) (\S+) (\d+)', output.decode())}
        return session


def read(command, *arguments, key):
    code, text, errors = support.reader(command, '--json', *arguments)
    if code:
        raise RuntimeError('%s %s: %d: %s' % (command, arguments, code,
                                              errors))
    return json.loads(text)[key]


#
# What exports have as the modules of functions: pairs of a function and a
# module.
#

def pairs_of_perfetto(path):
    names = {'event_names': {}, 'event_categories': {}}
    found = set()
    for packet in traces.decode(path)['packet']:
        for part in packet.get('interned_data', []):
            for kind in names:
                for entry in part.get(kind, []):
                    names[kind][entry['iid'][0]] = entry['name'][0]
        for event in packet.get('track_event', []):
            if event['type'] == ['TYPE_SLICE_BEGIN']:
                found.add((names['event_names'][event['name_iid'][0]],
                           names['event_categories']
                           [event['category_iids'][0]]))
    return found


class Fxt(traces.Fxt):
    def event(self, header):
        if traces.field(header, 16, 19) == 2:
            self.found.add((self.string(traces.field(header, 48, 63)),
                            self.string(traces.field(header, 32, 47))))
        super().event(header)


def pairs_of_fxt(path):
    with open(path, 'rb') as file:
        reader = Fxt(file.read(), [])
    reader.found = set()
    reader.read()
    return reader.found


def pairs_of_callgrind(path):
    known, current, found = {}, {}, set()
    with open(path, encoding='utf-8') as file:
        for line in file:
            match = re.match(r'(c?)(ob|fn)=\((\d+)\)(?: (.*))?$', line)
            if match:
                key = match[2], match[3]
                known.setdefault(key, match[4])
                current[match[1] + match[2]] = known[key]
                if match[2] == 'fn':
                    found.add((known[key], current[match[1] + 'ob']))
    return found


def pairs_of_html(path):
    with open(path, encoding='utf-8') as file:
        page = file.read()
    names, about = (json.loads(re.search(
        r'<script type="application/json" id="%s">(.*?)</script>' % part, page,
        re.S)[1]) for part in ('names', 'session'))
    return {(row[1], about['modules'][row[0]][0]) for row in names}


def pairs_of_csv(path):
    """csv-osr: module!function first; csv-cap's have no more."""
    with open(path, encoding='utf-8') as file:
        return {tuple(reversed(match.groups())) for match in re.finditer(
            r'^"?(\w+)!((?:\w+!)?\w+)', file.read(), re.M)}


def pairs_of_json(path):
    """Chrome's and speedscope's."""
    with open(path, encoding='utf-8') as file:
        data = json.load(file)
    if 'shared' in data:
        return {(frame['name'], frame['file'])
                for frame in data['shared']['frames']}
    return {(event['name'], event['cat']) for event in data['traceEvents']
            if event['ph'] in 'BX'}


EXPORTS = (('perfetto', pairs_of_perfetto), ('fxt', pairs_of_fxt),
           ('callgrind', pairs_of_callgrind), ('html', pairs_of_html),
           ('chrome', pairs_of_json), ('speedscope', pairs_of_json))


def check_exports(results, made):
    for name, options in (('Names.exe', []), ('Hooked.exe', []),
                          ('Hooked.exe', ['--mode', 'compact']),
                          ('Hooked.exe', ['--mode', 'tree'])):
        session = made.run(results, name, '--imports',
                           'kernel32!Sleep;kernel32!GetTickCount;plug;'
                           'msvcrt!qsort', *options)
        expected = {('kernel32!Sleep', 'kernel32.dll'),
                    ('kernel32!GetTickCount', 'kernel32.dll'),
                    ('plug!Work', 'plug.dll'), ('plug!Back', 'plug.dll'),
                    ('plug!Told', 'plug.dll'), ('msvcrt!qsort', 'msvcrt.dll')}
        if name == 'Hooked.exe':
            expected |= {(function, name) for function in
                         ('main', 'Nap', 'Deep', 'Again', 'Compare', 'printf')}
        for form, pairs in EXPORTS:
            if 'tree' in options and form not in ('callgrind', 'html'):
                continue
            path = os.path.join(made.folder, 'exported.' + form)
            if os.path.exists(path):
                os.remove(path)
            code, _, errors = support.reader(
                'export', '--format', form, '-o',
                programs.windows_path(path), session)
            results.equal((code, pairs(path) if code == 0 else errors),
                          (0, expected), '%s %s: %s' % (name, options, form))


def check_selected(results, made):
    """--module, by the name of the module that has the function."""
    session = made.run(results, 'Hooked.exe', '--imports',
                       'kernel32!Sleep;kernel32!GetTickCount;plug')
    for command, key in (('report', 'functions'), ('stack', 'functions')):
        rows = read(command, session, key=key)
        for prefix in ('KERNEL32', 'kernel32.dll', 'plug.d', 'hooked', 'H'):
            expected = {row['function'] for row in rows
                        if row['module'].lower().startswith(prefix.lower())}
            seen = {row['function'] for row in read(
                command, '--module', prefix, session, key=key)}
            results.check(seen == expected and seen, '%s --module %s' % (
                command, prefix), [seen, expected])
    for prefix, warned, shown in (
            ('Tracer', False, False), ('kernel33', True, False),
            ('kernel32', False, True), ('Hooked.exe', False, True)):
        _, text, errors = support.reader('report', '--csv', '--module',
                                         prefix, session)
        results.equal(('no module\'s name begins' in errors,
                       len(text.splitlines()) > 1), (warned, shown),
                      'a warning, rows: %s' % prefix)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        made = Programs(scratch)
        check_exports(results, made)
        check_selected(results, made)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
