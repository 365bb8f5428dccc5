#!/usr/bin/env python3
"""What imported functions are called, and whose they are: their module is the
one that has them, in everything that shows or exports a module.

The program and its DLL count themselves what they call.  Control: functions
with hooks beside them keep their own module.
"""
# Takes long.

import base64
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestExportTables as tables                            # noqa: E402
import TestExportTraces as traces                            # noqa: E402
import TestLivePty as pty                                    # noqa: E402
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402
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


LEFT = r'''
#include <windows.h>
int Work(int), Back(int (*)(int), int);
static intptr_t Buffer[5];
static int Sum;
/* Is called back and jumps out: Back is left, with what has ended in it. */
__attribute__((noinline)) int Jump(int X)
{
    Sum += Work(2);
    if (X % 3 != 0) __builtin_longjmp(Buffer, 1);
    Sleep(0);
    return X;
}
__attribute__((noinline)) int Nested(int X)
{
    return Back(Jump, X) + 1;
}
int main(void)
{
    for (volatile int I = 0; I < 12; I += 1) {
        if (__builtin_setjmp(Buffer) == 0) {
            Sum += I % 2 ? Back(Nested, I) : Back(Jump, I);
        }
        Sleep(0);
    }
    return Sum != 1 ? 6 : 7;
}
'''
DEPTHS = r'''
#include <windows.h>
int Back(int (*)(int), int);
__attribute__((noinline)) int Bottom(int X)
{
    volatile char Room[7000];
    for (int I = 0; I < 7000; I += 1000) Room[I] = (char)X;
    return Room[1000 * (X & 3)];
}
__attribute__((noinline)) int Middle(int X)
{
    volatile char Room[300];
    Room[X & 255] = 1;
    return Bottom(X) + Room[X & 255];
}
__attribute__((noinline)) int Twice(int X)
{
    return Back(Middle, X) + 1;
}
__attribute__((noinline)) void Nap(void)
{
    volatile char Room[20000];
    Room[19999] = Room[3] = 1;
    Sleep(0);
}
int main(int Count, char **Arguments)
{
    int Sum = Back(Twice, 3) + Middle(2);
    if (Count > 1) Nap();
    return Sum != 0 ? 6 : 7;
}
'''


class Programs:
    """Names.exe and Plug.dll without hooks, and Hooked.exe, which is Names.exe
    with hooks."""

    def __init__(self, scratch):
        self.folder = os.path.join(scratch, 'names')
        os.makedirs(self.folder)
        for name, text in (('plug.c', PLUG), ('names.c', NAMES),
                           ('left.c', LEFT), ('depths.c', DEPTHS)):
            with open(os.path.join(self.folder, name), 'w',
                      encoding='ascii') as file:
                file.write(text)
        for arguments in (
                ['-shared', 'plug.c', '-o', 'Plug.dll',
                 '-Wl,--out-implib,libPlug.a'],
                ['names.c', 'libPlug.a', '-o', 'Names.exe'],
                ['-c', *programs.PENTER_FLAGS, 'names.c', '-o', 'hooked.o'],
                ['hooked.o', 'libPlug.a', programs.LIBRARY, '-o',
                 'Hooked.exe'],
                ['left.c', 'libPlug.a', '-o', 'Left.exe'],
                ['-c', *programs.PENTER_FLAGS, 'left.c', '-o', 'left.o'],
                ['left.o', 'libPlug.a', programs.LIBRARY, '-o',
                 'HookedLeft.exe'],
                ['-c', *programs.PENTER_FLAGS, '-fno-optimize-sibling-calls',
                 'depths.c', '-o', 'depths.o'],
                ['depths.o', 'libPlug.a', programs.LIBRARY, '-o',
                 'Depths.exe']):
            subprocess.run([programs.GCC, '-O1', '-w', *arguments],
                           check=True, cwd=self.folder)
        # And one whose DLL has hooks.
        self.other = os.path.join(self.folder, 'other')
        os.makedirs(self.other)
        shutil.copy(os.path.join(self.folder, 'Names.exe'), self.other)
        for arguments in (
                ['-c', *programs.PENTER_FLAGS, '../plug.c', '-o', 'plug.o'],
                ['-shared', 'plug.o', programs.LIBRARY, '-o', 'Plug.dll']):
            subprocess.run([programs.GCC, '-O1', '-w', *arguments],
                           check=True, cwd=self.other)
        self.counts, self.number = {}, 0

    def run(self, results, name, *options, words=(), **environment):
        """The session; counts receives what the program has counted."""
        self.number += 1
        code, output, errors, session = run(
            os.path.join(self.folder, name), *words, options=options,
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
    return {(event['name'], event['cat'].split(',')[0])
            for event in data['traceEvents'] if event['ph'] in 'BX'}


#
# Which modules called, of exports of every call: how often, by (module that
# called, function, module).
#

def callers_of_chrome(path):
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    if any('args' in event for event in events if event['ph'] == 'E'):
        raise RuntimeError('an end has arguments')
    return collections.Counter(
        (event.get('args', {}).get('caller_module'), event['name'])
        for event in events if event['ph'] == 'B')


def callers_of_perfetto(path):
    kinds = ('event_names', 'debug_annotation_names',
             'debug_annotation_string_values')
    names, found = {kind: {} for kind in kinds}, collections.Counter()
    for packet in traces.decode(path)['packet']:
        for part in packet.get('interned_data', []):
            for kind in kinds:
                for entry in part.get(kind, []):
                    names[kind][entry['iid'][0]] = entry[
                        'str' if 'str' in entry else 'name'][0]
        for event in packet.get('track_event', []):
            notes = {names[kinds[1]][note['name_iid'][0]]:
                     names[kinds[2]][note['string_value_iid'][0]]
                     for note in event.get('debug_annotations', [])
                     if 'name_iid' in note}
            if event['type'] == ['TYPE_SLICE_BEGIN']:
                found[notes.pop('caller_module', None),
                      names['event_names'][event['name_iid'][0]]] += 1
            if notes:
                raise RuntimeError('other annotations: %s' % notes)
    return found


def callers_of_fxt(path):
    with open(path, 'rb') as file:
        reader = traces.Fxt(file.read(), [])
    reader.read()
    return reader.callers


def callers_of_folded(path):
    """The frames above the imports that the programs count, and the frames of
    modules: a module's is above an import, and no line is there twice."""
    found, seen = set(), set()
    with open(path, encoding='utf-8') as file:
        for line in file:
            chain, _ = line.rsplit(' ', 1)
            if chain in seen:
                raise RuntimeError('twice: %s' % chain)
            seen.add(chain)
            frames = [None, *chain.split(';')]
            for above, name in zip(frames, frames[1:]):
                if re.fullmatch(r'(kernel32|plug)!\w+', name):
                    found.add((above, name))
                elif above and above.startswith('[') and '!' not in name:
                    raise RuntimeError('above what is no import: %s' % chain)
    return found


def callers_of_speedscope(path):
    """How often each frame is directly in which other one."""
    found = collections.Counter()
    with open(path, encoding='utf-8') as file:
        data = json.load(file)
    frames = [frame['name'] for frame in data['shared']['frames']]
    if len(set(frames)) != len(frames):
        raise RuntimeError('a frame is there twice: %s' % frames)
    for profile in data['profiles']:
        stack = [None]
        for event in profile['events']:
            name = frames[event['frame']]
            if event['type'] == 'O':
                found[stack[-1], name] += 1
                stack.append(name)
            elif stack.pop() != name:
                raise RuntimeError('not nested: %s' % event)
    return found


def callers_of_callgrind(path):
    """The same, as callgrind_annotate shows it."""
    code, lines, text, errors = tables.annotate(path, '--tree=caller',
                                                '--inclusive=yes')
    if code or errors:
        raise RuntimeError('callgrind_annotate: %s %s' % (text, errors))
    found, callers = collections.Counter(), []
    for _, kind, place, times, _ in lines:
        name = place.split(':', 2 if re.match(r'[A-Z]:\\', place) else 1)[-1]
        if kind == '<':
            callers.append((name, tables.number(times)))
        elif kind == '*':
            for caller, number in callers:
                found[None if caller == '(outermost)' else caller,
                      name] += number
            callers = []
    return found


def callers_of_cap(path):
    """csv-cap: the same, of its trees.  A module's row is that of what it
    calls, but for the time of its own."""
    found, stack, last = collections.Counter(), [], None
    with open(path, encoding='utf-8') as file:
        for line in file:
            cells = line.rstrip('\n').split('\t')
            if not cells[0].isdigit():
                stack = []
                continue
            depth, name = int(cells[0]), cells[1]
            if depth > len(stack):
                raise RuntimeError('a level is missing: %s' % line)
            if not name.startswith('['):
                # ExportSplitName: an import has its module, others theirs.
                name = name if name.split('!')[0].islower() \
                    else name.split('!', 1)[1]
            stack[depth:] = [name]
            found[stack[-2] if depth else None, name] += int(cells[2])
            if last and (depth != last[0] + 1 or last[1][:3] + [
                    '0.000'] * 2 + last[1][5:] != cells[2:5] + [
                        '0.000'] * 2 + cells[7:] or
                         last[1][3:5] != ['0.000'] * 2):
                raise RuntimeError('a module\'s row: %s %s' % (last, cells))
            last = (depth, cells[2:]) if name.startswith('[') else None
    return found


class Picture:
    """The page's numbers, read as Data.js reads them."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as file:
            self.page = file.read()
        self.about, self.names, self.imports = (
            json.loads(self.part(name)) for name in ('session', 'names',
                                                     'imports'))

    def part(self, name):
        return re.search(r'<script type="[a-z/]+" id="%s">(.*?)</script>' %
                         name, self.page, re.S)[1]

    def numbers(self, name):
        value = shift = 0
        for byte in base64.b64decode(self.part(name)):
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                yield value
                value = shift = 0

    def called(self, number):
        """(module that called, function)."""
        if number <= len(self.names):
            return None, [*self.names, [0, '']][number][1]
        function, module = self.imports[number - len(self.names) - 1]
        return self.about['modules'][module][0], self.names[function][1]

    def nodes(self):
        """(module, function) -> calls, of the flame graph."""
        found, numbers = collections.Counter(), self.numbers('tree')
        for _ in range(self.about['nodes']):
            next(numbers)
            called, calls = self.called(next(numbers)), next(numbers)
            for _ in range(10 if calls & 1 else 5):
                next(numbers)
            found[called] += calls // 2
        return found

    def items(self):
        """The same of the timeline; blocks are not expected."""
        found = collections.Counter()
        for index, track in enumerate(self.about['tracks']):
            numbers = self.numbers('track%d' % index)
            for _ in range(track['items']):
                if next(numbers) & 1:
                    raise RuntimeError('a block')
                next(numbers)
                next(numbers)
                found[self.called(next(numbers))] += 1
        return found

    def modules(self):
        """function -> modules that called, as the table has them."""
        found = {}
        for function, module in self.imports:
            found.setdefault(self.names[function][1], []).append(
                self.about['modules'][module][0])
        return {name: '; '.join(sorted(modules))
                for name, modules in found.items()}


def callers_of_html(path):
    return Picture(path).nodes()


def check_picture(results, made, what, session, ways):
    """html: who called, in the flame graph, the timeline and the table."""
    for arguments in (), ('--function', 'kernel32!'):
        picture = Picture(export(results, made, 'html', session, *arguments))
        rows = read('report', *arguments, session, key='functions')
        results.equal(picture.modules(), {
            row['function']: row['caller_modules'] for row in rows
            if row['caller_modules']}, '%s: html, the table' % what)
        results.check(len(picture.modules()) < len(picture.imports),
                      '%s: html, one that several called' % what)
        results.equal(len({row[1] for row in picture.names}),
                      len(picture.names), '%s: html, each once' % what)
        nodes = collections.Counter()
        for row in read('tree', *arguments, session, key='nodes'):
            if not arguments or row['function'].startswith('kernel32!'):
                nodes[row['caller_module'], row['function']] += row['calls']
        found = picture.nodes()
        if arguments:
            found.pop((None, ''), None)     # those that only lead there
        results.equal(found, nodes, '%s: html, its nodes' % what)
        if 'tree' not in ways:
            results.equal(picture.items(), nodes,
                          '%s: html, its calls' % what)
    facts = [name for name, _, source in picture.about['modules'] if source]
    results.check('kernel32.dll' in facts and 'names.exe' not in facts,
                  '%s: html, modules that have imports' % what, facts)


def check_modules_around(results, made, what, name, session, counts, ways):
    """The formats that have a function, or frame, for a module that called
    where the function that did is not recorded."""
    own = os.path.basename(name).lower()
    hooked = {'Hooked.exe': 'Nap', 'other/Names.exe': None}
    mine = hooked.get(name) or '[%s]' % own
    plug = 'Work' if name.startswith('other') else 'plug!Work'
    check_picture(results, made, what, session, ways)
    for form, callers in (('speedscope', callers_of_speedscope),
                          ('callgrind', callers_of_callgrind),
                          ('csv-cap', callers_of_cap)):
        if 'tree' in ways and form == 'speedscope' or (
                form == 'callgrind' and
                not shutil.which('callgrind_annotate')):
            continue
        found = callers(export(results, made, form, session))
        results.equal({above: number for (above, called), number in
                       found.items() if called == 'kernel32!Sleep'},
                      {mine: counts[own, 'Sleep'],
                       plug: counts['plug.dll', 'Sleep']},
                      '%s: %s, who called Sleep' % (what, form))
        modules = {above for above, _ in found
                   if above and above.startswith('[')}
        results.equal(modules, set() if name == 'Hooked.exe'
                      else {'[%s]' % own}, '%s: %s, modules' % (what, form))
        # A module is around as many calls as it makes, and nothing else.
        for module in modules:
            results.equal(sum(number for (_, called), number in found.items()
                              if called == module),
                          sum(number for (above, _), number in found.items()
                              if above == module),
                          '%s: %s, calls of %s' % (what, form, module))
            results.check(all('!' in called for above, called in found
                              if above == module),
                          '%s: %s, what %s calls' % (what, form, module))


CALLERS = (('chrome', callers_of_chrome), ('perfetto', callers_of_perfetto),
           ('fxt', callers_of_fxt), ('html', callers_of_html))


def export(results, made, form, session, *arguments):
    path = os.path.join(made.folder, 'exported.' + form)
    if os.path.exists(path):
        os.remove(path)
    code, _, errors = support.reader('export', '--format', form, '-o',
                                     programs.windows_path(path),
                                     *support.as_picture(form), *arguments,
                                     session)
    results.equal(code, 0, 'export %s: %s' % (form, errors))
    return path


def check_exported_callers(results, made, what, name, session, counts, ways):
    """What exports say of who called an import."""
    own = os.path.basename(name).lower()
    imports = 'Sleep', 'GetTickCount', 'Work', 'Back'
    for form, callers in CALLERS:
        if ('tree' in ways and form != 'html') or (
                form == 'perfetto' and not shutil.which('protoc')):
            continue
        found = callers(export(results, made, form, session))
        seen = {(module, function.split('!')[1]): number
                for (module, function), number in found.items()
                if '!' in function and function.split('!')[1] in imports}
        results.equal(seen, counts, '%s: %s' % (what, form))
        results.equal({module for (module, function), _ in found.items()
                       if '!' not in function},
                      {None} if name != 'Names.exe' else set(),
                      '%s: %s, functions with hooks' % (what, form))
    found = callers_of_folded(export(results, made, 'folded', session))
    mine = '[%s]' % own
    expected = {
        'Names.exe': {(mine, 'kernel32!Sleep'), (mine, 'plug!Work'),
                      (mine, 'plug!Back'),
                      ('plug!Work', 'kernel32!Sleep')},
        'Hooked.exe': {('Nap', 'kernel32!Sleep'), ('main', 'plug!Work'),
                       ('main', 'plug!Back'), ('Again', 'plug!Back'),
                       ('Deep', 'plug!Work'),
                       ('plug!Work', 'kernel32!Sleep')},
        'other/Names.exe': {(mine, 'kernel32!Sleep'), (mine, 'plug!Work'),
                            (mine, 'plug!Back'),
                            ('Work', 'kernel32!Sleep')}}[name]
    results.check(expected <= found, '%s: folded' % what,
                  sorted(expected - found, key=str))
    results.equal({above for above, _ in found
                   if above is None or above.startswith('[')},
                  set() if name == 'Hooked.exe' else {mine},
                  '%s: folded, modules' % what)


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
        functions = {('kernel32!Sleep', 'kernel32.dll'),
                     ('kernel32!GetTickCount', 'kernel32.dll'),
                     ('plug!Work', 'plug.dll'), ('plug!Back', 'plug.dll'),
                     ('plug!Told', 'plug.dll'), ('msvcrt!qsort', 'msvcrt.dll')}
        if name == 'Hooked.exe':
            functions |= {(function, name) for function in
                          ('main', 'Nap', 'Deep', 'Again', 'Compare',
                           'printf')}
        for form, pairs in EXPORTS:
            if 'tree' in options and form not in ('callgrind', 'html'):
                continue
            expected = functions
            if name == 'Names.exe' and form in ('callgrind', 'speedscope'):
                expected = functions | {('[names.exe]', 'names.exe')}
            path = os.path.join(made.folder, 'exported.' + form)
            if os.path.exists(path):
                os.remove(path)
            code, _, errors = support.reader(
                'export', '--format', form, *support.as_picture(form), '-o',
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


LISTS = 'kernel32!Sleep;kernel32!GetTickCount;plug;msvcrt!qsort'
WAYS = [('Names.exe', []), ('Names.exe', ['--mode', 'file']),
        ('Names.exe', ['--mode', 'compact']), ('Names.exe', ['--mode', 'tree']),
        ('Hooked.exe', []), ('Hooked.exe', ['--mode', 'compact']),
        ('Hooked.exe', ['--mode', 'tree']),
        ('other/Names.exe', ['--mode', 'file']),
        ('other/Names.exe', ['--mode', 'tree'])]


def add_modules(nodes, functions=lambda node: True):
    """What report --by module must say, from tree's nodes: by module, in small
    letters, (calls into it, total, self, inside, functions)."""
    rows, sums = {}, {}
    for node in nodes:
        above = rows.get(node['parent']) if node['depth'] else None
        module = node['module'].lower()
        node['open'] = dict(above['open']) if above else {}
        rows[node['node']] = node
        if not functions(node):
            continue
        sum_of = sums.setdefault(module, [0, 0, 0, 0, set()])
        outermost = not node['open'].get(module)
        inside = above and above['module'].lower() == module and \
            '!' not in node['function']
        if outermost or not inside:
            sum_of[0] += node['calls']
            sum_of[1] += node['total_ns'] + node['abandoned_time_ns'] \
                if outermost else 0
        else:
            sum_of[3] += node['calls']
        sum_of[2] += node['self_ns']
        sum_of[4].add(node['function'])
        node['open'][module] = node['open'].get(module, 0) + 1
    return {module: (*row[:4], len(row[4])) for module, row in sums.items()}


def by_module(session, *options):
    rows = read('report', '--by', 'module', *options, session, key='modules')
    return {row['module']: (row['calls'], row['total_ns'], row['self_ns'],
                            row['inside'], row['functions']) for row in rows}


def near(first, second):
    """Equal but for the rounding of times to nanoseconds, of each node, and by
    a rate that is better known once the process has ended."""
    return first.keys() == second.keys() and all(
        first[key][::3] == second[key][::3] and
        first[key][4] == second[key][4] and
        all(abs(a - b) <= 100 for a, b in zip(first[key][1:3],
                                              second[key][1:3]))
        for key in first)


def check_modules(results, made):
    """report --by module: what each module cost."""
    for name, options in WAYS:
        what = '%s %s' % (name, options)
        session = made.run(results, name, '--imports', LISTS, *options)
        seen = by_module(session)
        exact = {key.lower(): row for key, row in seen.items()}
        nodes = read('tree', session, key='nodes')
        expected = add_modules(nodes)
        results.check(near(exact, expected), '%s: modules' % what,
                      [exact, expected])
        imports = {'kernel32.dll': ('Sleep', 'GetTickCount'),
                   'plug.dll': ('Work', 'Back')}
        for module, functions in imports.items():
            results.equal(exact[module][0], sum(
                number for (_, function), number in made.counts.items()
                if function in functions) + (module == 'plug.dll'),
                '%s: calls into %s' % (what, module))
        results.equal('Plug.dll' in seen, name.startswith('other'),
                      '%s: its name' % what)
        # Again's calls of Back are inside others; each is counted in calls,
        # and its time once.
        results.check(sum(row['total_ns'] for row in nodes
                          if row['function'].startswith('plug!')) >
                      exact['plug.dll'][1] > 0 and
                      sum(row['self_ns'] for row in nodes) - 100 <=
                      sum(row[2] for row in exact.values()) <=
                      sum(row['self_ns'] for row in nodes) + 100,
                      '%s: self is whole' % what)

        # The table of modules has the modules of imports, too.
        table = {row['module']: row for row in
                 read('modules', session, key='modules')}
        stubs = table.pop('TracerImports.dll')
        results.equal((stubs['calls'], stubs['functions'],
                       stubs['records'] > 0 or 'tree' in options,
                       stubs['stores'] > 0), (0, 0, True, True),
                      '%s: modules, the stubs' % what)
        results.equal({module: (row['calls'], row['functions'],
                                row['stores'] is None)
                       for module, row in table.items()},
                      {module: (row[0] + row[3], row[4],
                                module not in ('Hooked.exe', 'Plug.dll'))
                       for module, row in seen.items()},
                      '%s: modules' % what)
        results.check(all(abs(row['self_ns'] - seen[module][2]) <= 100
                          for module, row in table.items()),
                      '%s: modules, self' % what, [table, seen])
        results.equal(sum(row['calls_from_others'] + row['calls_outermost']
                          for row in table.values()),
                      sum(node['calls'] for node in nodes
                          if not node['depth'] or
                          node['module'].lower() !=
                          [above for above in nodes if above['node'] ==
                           node['parent']][0]['module'].lower()),
                      '%s: modules, from outside' % what)

        # The same by the general way, by one worker, and of a pack; of part
        # of the functions and of the time.
        pack = os.path.join(made.folder, 'pack%d.tracepack' % made.number)
        code, _, errors = support.reader('pack', '--output',
                                         programs.windows_path(pack), session)
        results.equal(code, 0, '%s: pack %s' % (what, errors))
        for path, more in ((session, ['--general']), (pack, []),
                           (session, ['--workers', '1'])):
            found = by_module(path, *more)
            results.check(near(found, seen), '%s: %s %s' % (
                what, path[-9:], more), [found, seen])
        for lists, chosen in (
                ('PLUG!w', lambda node: re.fullmatch('(plug!)?Work',
                                                     node['function'])),
                ('plug!,-plug.dll!B', lambda node: node['module'].lower() ==
                 'plug.dll' and 'Back' not in node['function'])):
            found = by_module(session, '--function', lists)
            results.check(near({key.lower(): row
                                for key, row in found.items()},
                               add_modules(nodes, chosen)),
                          '%s: --function %s' % (what, lists), [found])
        found = by_module(session, '--module', 'KERNEL')
        results.check(near(found, {'kernel32.dll': seen['kernel32.dll']}),
                      '%s: --module' % what, [found])
        if 'tree' not in options:
            middle, ends = 'until 2 ms, %s' % what, ['--to', '2ms']
            found = by_module(session, *ends)
            results.check(near({key.lower(): row
                                for key, row in found.items()},
                               add_modules(read('tree', *ends, session,
                                                key='nodes'))), middle,
                          [found])
        code, text, _ = support.reader('report', '--by', 'module', '--csv',
                                       session)
        rows = list(csv.DictReader(text.splitlines()))
        results.check(near({row['module']: tuple(
            int(row[field]) for field in (
                'calls', 'total_ns', 'self_ns', 'inside', 'functions'))
                            for row in rows}, seen), '%s: CSV' % what, rows)
        for key, field in (('self', 2), ('calls', 0), ('total', 1)):
            code, text, _ = support.reader('report', '--by', 'module',
                                           '--sort', key, session)
            order = [line.split()[-1] for line in text.splitlines()[1:]
                     if line.split() and line.split()[-1] in seen]
            results.equal(order, sorted(seen, key=lambda module: (
                -seen[module][field], module)), '%s: --sort %s' % (what, key))

    # Of several processes, whose modules are one by their names.
    code, _, errors = support.reader('report', '--by', 'module', '--lines',
                                     session)
    results.check(code == 1 and '--by module' in errors, '--lines', [errors])
    folder = os.path.join(made.folder, 'several')
    os.makedirs(folder)
    single = []
    for number in range(2):
        session = made.run(results, 'Hooked.exe', '--imports', LISTS)
        single.append(by_module(session))
        shutil.move(session, os.path.join(folder, os.path.basename(session)))
    both = by_module(folder, '--all-runs')
    results.check(both.keys() == single[0].keys() and all(
        both[key][index] == single[0][key][index] + single[1][key][index]
        for key in both for index in (0, 3)) and all(
            abs(both[key][index] - single[0][key][index] -
                single[1][key][index]) <= 4 + both[key][index] // 10000
            for key in both for index in (1, 2)), 'two processes',
        [both, *single])


def walk_modules(events):
    """The same from the single calls of replay: by module, (total, self), of
    the outermost calls into it, however they ended, and of all that were not
    abandoned."""
    sums, stack, inside = {}, [], []
    for row in events:
        if row['event'] == 'enter':
            stack.append(row['module'].lower())
            inside.append(0)
            continue
        module, duration = stack.pop(), row['duration_ns']
        children = inside.pop()
        sum_of = sums.setdefault(module, [0, 0])
        if module not in stack:
            sum_of[0] += duration
        if row['event'] != 'abandoned':
            sum_of[1] += duration - children
        if inside:
            inside[-1] += duration
    return sums


def check_left(results, made):
    """Modules around calls that are left without an exit: their time is in
    total, so that self is never more."""
    for name, mode in (('Left.exe', 'file'), ('Left.exe', 'tree'),
                       ('HookedLeft.exe', 'file'),
                       ('HookedLeft.exe', 'tree')):
        what = 'left, %s, %s' % (name, mode)
        session = made.run(results, name, '--imports', LISTS, '--mode', mode)
        data = json.loads(support.reader('report', '--by', 'module', '--json',
                                         session)[1])['modules']
        rows = {row['module'].lower(): row for row in data}
        # Control: there are abandoned calls with others inside them.
        results.check(rows['plug.dll']['abandoned'] > 4 and
                      rows['plug.dll']['self_ns'] > 0, what + ': control',
                      [rows['plug.dll']])
        results.check(all(row['self_ns'] <= row['total_ns'] + 100
                          for row in data), what + ': self', data)
        expected = add_modules(read('tree', session, key='nodes'))
        results.check(near({module: (row['calls'], row['total_ns'],
                                     row['self_ns'], row['inside'],
                                     row['functions'])
                            for module, row in rows.items()}, expected),
                      what + ': from the tree', [rows, expected])
        text = ' '.join(support.reader('report', '--by', 'module',
                                       session)[1].split())
        results.check('is in total, with that of what was called' in text,
                      what + ': the note', [text])
        if mode == 'tree':
            continue
        walked = walk_modules(read('replay', session, key='events'))
        results.check(walked.keys() == rows.keys() and all(
            abs(rows[module][field] - number) <= 1000
            for module, numbers in walked.items()
            for field, number in zip(('total_ns', 'self_ns'), numbers)),
                      what + ': from the single calls', [rows, walked])


def add_calls(rows):
    """Calls by (caller_module, function) of the functions that the programs
    count; others have no module that called."""
    sums = {}
    for row in rows:
        found = re.fullmatch(r'(kernel32|plug)!(\w+)', row['function'])
        if found and found[2] != 'Told':
            key = row['caller_module'], found[2]
            sums[key] = sums.get(key, 0) + row.get('calls', 1)
    return sums


def check_waits(results, what, name, session, counts):
    """For whom imports waited, where there are functions with hooks and where
    there are none; one with hooks that is called by a stub."""
    own = os.path.basename(name).lower()
    mine, other = counts[own, 'Sleep'], counts['plug.dll', 'Sleep']
    expected = {'[%s]' % own: mine, '[plug.dll]': other}
    if name == 'Hooked.exe':
        expected = {'Nap': mine, 'main': 20 * 3, 'Deep': 10}
    elif name.startswith('other'):
        expected = {'[%s]' % own: mine, 'Work': other}
    _, text, errors = support.reader('waits', '--json', session)
    results.equal(errors, '', '%s: waits' % what)
    found = json.loads(text)
    results.equal({row['caller']: row['calls'] for row in found['callers']},
                  expected, '%s: for whom it waited' % what)
    results.equal([(row['function'], row['calls'])
                   for row in found['functions']],
                  [('kernel32!Sleep', mine + other)],
                  '%s: one function waited' % what)
    if name == 'Names.exe':
        return
    function = 'main' if name == 'Hooked.exe' else 'Work'
    path = os.path.join(os.path.dirname(session), 'list.txt')
    with open(path, 'w', encoding='ascii') as file:
        file.write(function + ' sleep\n')
    _, text, _ = support.reader('waits', '--json', '--waits',
                                programs.windows_path(path), session)
    results.equal({row['caller']: row['calls']
                   for row in json.loads(text)['callers']
                   if row['function'] == function},
                  {'(outermost)': 1} if function == 'main' else
                  {'[%s]' % own: 20, 'Back': 10},
                  '%s: for whom %s waited' % (what, function))


def check_callers(results, made):
    """Who called an import."""
    for name, options in WAYS:
        what = '%s %s' % (name, options)
        session = made.run(results, name, '--imports', LISTS, *options)
        own = os.path.basename(name).lower()
        counts = {(importer.replace('names.exe', own), function): number
                  for (importer, function), number in made.counts.items()}
        report = {row['function']: row for row in
                  read('report', session, key='functions')}
        # By module in any part of the time, with several workers or one.
        for more in ([], ['--general'], ['--workers', '1']):
            results.equal({
                row['function']: row['caller_modules'] for row in read(
                    'report', *more, session, key='functions')
                if row['caller_modules'] is not None},
                          {'kernel32!Sleep': '; '.join(sorted({own,
                                                               'plug.dll'})),
                           'kernel32!GetTickCount': '; '.join(
                               sorted({own, 'plug.dll'})),
                           'plug!Work': own, 'plug!Back': own,
                           'plug!Told': own, 'msvcrt!qsort': own},
                          '%s: report %s' % (what, more))
        if 'tree' not in options:
            last = max(row['time_ns'] for row in read(
                'replay', session, key='events') if row['function'] ==
                       'plug!Work')
            results.equal({
                row['function']: row['caller_modules'] for row in read(
                    'report', '--from', '%dns' % (last + 1), session,
                    key='functions') if row['function'] in
                ('kernel32!GetTickCount', 'kernel32!Sleep')},
                          {'kernel32!GetTickCount': own},
                          '%s: report --from' % what)
        # The caller of each, where the module's functions are recorded.
        hooked = {'Sleep': {'Hooked.exe': 'Nap', 'other': 'Work'},
                  'GetTickCount': {'Hooked.exe': 'Compare', 'other': 'Work'}}
        callers = {}
        for function in ('Sleep', 'GetTickCount'):
            code, text, errors = support.reader(
                'callers', '--json', 'kernel32!' + function, session)
            results.equal((code, errors), (0, ''), '%s: callers' % what)
            rows = json.loads(text)['callers']
            callers[function] = {row['function']: (row['calls'], row['module'])
                                 for row in rows[1:]}
            expected = {'[%s]' % own: (counts[own, function], own),
                        'plug!Work': (counts['plug.dll', function],
                                      'plug.dll')}
            if name == 'Hooked.exe':
                expected[hooked[function][name]] = (
                    expected.pop('[hooked.exe]')[0], name)
            elif name.startswith('other'):
                expected['Work'] = (expected.pop('plug!Work')[0], 'Plug.dll')
            results.equal(callers[function], expected,
                          '%s: callers of %s' % (what, function))
            results.equal(rows[0]['calls'],
                          report['kernel32!' + function]['calls'],
                          '%s: calls of %s' % (what, function))

            # Each chain goes on, unless it is at its end: nothing is lost and
            # nothing counted twice.
            rows = read('callers', '--depth', '20', 'kernel32!' + function,
                        session, key='callers')
            stack = []
            for row in rows + [{'level': -1, 'calls': 0, 'self_ns': 0,
                                'function': ''}]:
                while stack and stack[-1][0]['level'] >= row['level']:
                    above, calls, self_ns = stack.pop()
                    if above['function'] != '(outermost)':
                        results.check(
                            calls == above['calls'] and
                            abs(self_ns - above['self_ns']) < 50,
                            '%s: the callers of %s' % (what,
                                                       above['function']),
                            [above, calls, self_ns])
                if stack:
                    stack[-1][1] += row['calls']
                    stack[-1][2] += row['self_ns']
                stack.append([row, 0, 0])
            names = {row['function'] for row in rows}
            results.equal('[%s]' % own in names, name != 'Hooked.exe',
                          '%s: calling modules' % what)
            if name == 'Names.exe' and function == 'GetTickCount':
                chains = [row['function'] for row in rows]
                place = chains.index('msvcrt!qsort')
                results.equal(chains[place - 1:place + 3],
                              ['[names.exe]', 'msvcrt!qsort', '[names.exe]',
                               '(outermost)'], 'a callback\'s call')
        check_waits(results, what, name, session, counts)
        check_exported_callers(results, made, what, name, session, counts,
                               options)
        check_modules_around(results, made, what, name, session, counts,
                             options)
        nodes = read('tree', session, key='nodes')
        results.equal(add_calls(nodes), counts, '%s: tree' % what)
        results.equal({row['function'] for row in nodes
                       if row['caller_module'] is None},
                      {function for function in report if '!' not in function},
                      '%s: nodes without a module that called' % what)
        results.equal([row[field] for row in read('tree', '--general', session,
                                                  key='nodes')
                       for field in ('calls', 'caller_module', 'function')],
                      [row[field] for row in nodes
                       for field in ('calls', 'caller_module', 'function')],
                      '%s: tree --general' % what)
        found = read('callees', 'plug!Work', session, key='callees')[1:]
        results.equal({(row['caller_module'], row['function']):
                       row['calls'] for row in found},
                      {(None, 'Work'): counts[own, 'Work']}
                      if name.startswith('other') else
                      {('plug.dll', 'kernel32!' + function):
                       counts['plug.dll', function] for function in hooked},
                      '%s: callees' % what)
        code, text, _ = support.reader('tree', '--width', '200', session)
        results.check('Called by' in text and 'plug.dll' in text,
                      '%s: the column' % what, [text[:300]])
        if 'tree' in options:
            continue
        events = read('replay', session, key='events')
        results.equal(add_calls([row for row in events
                                 if row['event'] == 'enter']), counts,
                      '%s: replay' % what)
        code, text, _ = support.reader('replay', session)
        results.equal(text.count('kernel32!Sleep(); /* [%s] */' % own),
                      counts[own, 'Sleep'], '%s: replay\'s text' % what)
        rows = read('stack', session, key='functions')
        results.equal(add_calls(rows), counts, '%s: stack' % what)
        for function in ('Sleep', 'GetTickCount'):
            code, text, errors = support.reader(
                'outliers', '--json', '--limit', '1000', 'kernel32!' +
                function, session)
            data = json.loads(text)
            results.equal({row['caller']: (row['calls'], row['module'])
                           for row in data['callers']}, callers[function],
                          '%s: outliers by caller' % what)
            sums = {}
            for row in data['calls']:
                caller = row['path'].split(';')[-1]
                sums[caller] = sums.get(caller, 0) + 1
            results.equal(sums, {caller: row[0] for caller, row in
                                 callers[function].items()},
                          '%s: outliers\' paths' % what)
            results.equal(errors, '', '%s: outliers' % what)


FILTERS = (
    (['--function', 'KERNEL32!'], r'kernel32!'),
    (['--function', 'kernel32.DLL!sl'], r'kernel32!Sleep'),
    (['--function', 'kernel32!S*'], r'kernel32!Sleep'),
    (['--function', 'k*!*tick*'], r'kernel32!GetTickCount'),
    (['--function', 'ernel32!'], None), (['--function', 'kernel3!'], None),
    (['--function', '*!*ount'], r'kernel32!GetTickCount'),
    (['--function', 'hooked!'], r'\w+$'),
    (['--function', 'HOOKED.EXE!na'], r'Nap$'),
    (['--function', 'Nap,kernel32!,-Kernel32!sleep'],
     r'Nap|kernel32!GetTickCount'),
    (['--function', 'kernel32!sleep', '--exclude', 'kernel32!'],
     r'kernel32!Sleep'),
    (['--function', 'kernel32!', '--exclude', 'kernel32!Sleep'],
     r'kernel32!GetTickCount'),
    (['--function', 'hooked!', '--exclude', 'N'], r'(?!Nap)\w+$'),
    (['--function', 'Nap', '--exclude', 'hooked.exe!'], None),
    (['--exclude', 'Plug!,HOOKED!,msvcrt.dll!'], r'kernel32!'),
    (['--exclude', '*', '--function', 'hooked!Nap'], r'Nap$'),
    (['--exclude', '*!*e*'],
     r'msvcrt!qsort|Nap|Again|main|printf|plug!(Work|Back|Told)$'),
    (['--function', 'nap'], None), (['--function', '~kernel32!S'],
                                    r'kernel32!Sleep'),
    (['--function', '/^kernel32!S/'], r'kernel32!Sleep'),
    (['--function', 'operator!,Foo::operator!='], None))


def check_filters(results, made):
    """--function and --exclude with modules."""
    session = made.run(results, 'Hooked.exe', '--imports', LISTS)
    every = {row['function'] for row in read('report', session,
                                             key='functions')}
    for options, pattern in FILTERS:
        expected = {name for name in every
                    if pattern and re.match(pattern, name)}
        code, text, _ = support.reader('report', '--json', *options, session)
        rows = json.loads(text)['functions']
        results.equal((code, {row['function'] for row in rows}),
                      (0 if expected else 3, expected), '%s' % options)
        # Live, tree and exports have the same filter.
        code, text, _ = support.reader('replay', '--json', *options, session)
        results.equal({row['function'] for row in json.loads(text)['events']},
                      expected, 'replay %s' % options)
    for text, said in (('kernel32!Slep', 'kernel32!Sleep'), ('hooked!Nap', ''),
                       ('KERNEL32!sle', ''), ('hooked!', '')):
        _, _, errors = support.reader('report', '--function', text, session)
        results.check((said in errors) if said else errors == '',
                      'misspelt or not: %s' % text, [errors])
    other = made.run(results, 'other/Names.exe', '--imports', LISTS, '--mode',
                     'file')
    for path, text, found in (
            (session, 'KERNEL32!sleep', 'kernel32!Sleep'),
            (session, 'Kernel32.dll!SLEEP', 'kernel32!Sleep'),
            (session, 'kernel32!Sl', 'kernel32!Sleep'),
            (session, 'plug!b', 'plug!Back'),
            (session, 'hooked!Nap', 'Nap'), (session, 'Hooked.exe!Nap', 'Nap'),
            (session, 'kernel32!', None), (session, 'ernel32!Sleep', None),
            (session, 'Sleep', None), (other, 'Work', 'Work'),
            (other, 'plug!Work', 'plug!Work'), (other, 'PLUG.DLL!work',
                                                'plug!Work')):
        for command in ('callers', 'outliers'):
            code, written, errors = support.reader(command, '--json', text,
                                                   path)
            table = 'callers' if command == 'callers' else 'summary'
            results.equal((code == 0, found and json.loads(written)[table][0]
                           ['function'] if code == 0 else None),
                          (found is not None, found),
                          '%s %s %s' % (command, text, errors))


def check_live(results, made):
    """live says where functions are of whose name there are several: here in
    two processes."""
    folder = os.path.join(made.folder, 'live')
    os.makedirs(folder)
    for _ in range(2):
        session = made.run(results, 'Hooked.exe', '--imports', LISTS)
        shutil.move(session, os.path.join(folder, os.path.basename(session)))
    if pty.pyte is None:
        results.skip('there is no pyte')
        return
    terminal = pty.Terminal('--all-runs', programs.windows_path(folder),
                            width=160)
    terminal.wait_for(lambda shown: 'exactly' in shown.text())
    places = re.findall(r'(kernel32!Sleep|plug!Work) \[([\w.]+), process \d+\]',
                        terminal.text())
    results.equal(collections.Counter(places),
                  {('kernel32!Sleep', 'kernel32.dll'): 2,
                   ('plug!Work', 'plug.dll'): 2}, 'live: modules')
    results.check('TracerImports' not in terminal.text(),
                  'live: no other module', terminal.lines())
    terminal.type(b'q')
    results.check(support.has_ended(terminal.finish()), 'live: the end',
                  [terminal.code])


def check_live_callers(results, made):
    """Who called an import, in live: the module, where its functions are not
    recorded, as in callers."""
    if pty.pyte is None:
        return
    for name, options in (('Names.exe', ['--mode', 'file']),
                          ('Names.exe', ['--mode', 'tree']),
                          ('Names.exe', ['--mode', 'compact', '--callers',
                                         'names']),
                          ('Hooked.exe', [])):
        session = made.run(results, name, '--imports', LISTS, *options)
        own = name.lower()
        counts = {function: number for (importer, function), number in
                  made.counts.items() if importer == 'names.exe'}
        other = made.counts['plug.dll', 'Sleep']
        mine = counts['Sleep']
        expected = {
            'plug!Work': {'': 30, '[names.exe]': 30},
            'kernel32!Sleep': {'': mine, '[names.exe]': mine}}
        if name == 'Hooked.exe':
            expected = {
                'plug!Work': {'': 30, 'main': 20, 'Deep': 10},
                'kernel32!Sleep': {'': mine + other, 'Nap': mine,
                                   'plug!Work': other}}
        elif '--callers' not in options:
            expected['kernel32!Sleep'] = {
                '': mine + other, '[names.exe]': mine, 'plug!Work': other}
        results.equal(counts['Work'], 30, 'the program\'s own count')
        terminal = pty.Terminal(programs.windows_path(session), width=160)
        terminal.wait_for(lambda shown: 'exactly' in shown.text())
        for function, callers in expected.items():
            terminal.type(b'1/%s\r' % function.encode())
            terminal.wait_for(lambda shown, function=function: list(
                pty.by_name(shown.rows())) == [function])
            terminal.type(b'\r')
            terminal.wait_for(lambda shown, function=function:
                              'of %s' % function in shown.text())
            terminal.type(b'/\r')

            def seen(shown):
                return {caller: pty.number(row[1]) for caller, row in
                        (shown.callers() or {}).items()}
            results.check(terminal.wait_for(
                lambda shown, callers=callers: seen(shown) == callers),
                '%s %s: live, callers of %s' % (name, options, function),
                [seen(terminal), callers, *terminal.lines()])
            if own == 'hooked.exe':
                continue
            found = read('callers', function, session, key='callers')
            results.equal({row['function'] if row['level'] else '':
                           row['calls'] for row in found}, callers,
                          '%s %s: callers' % (name, options))
            if len(callers) > 2:
                continue
            terminal.type(b'\x1b[F\r')
            results.check(terminal.wait_for(
                lambda shown: '1 caller of' in shown.text()),
                'a module has no callers', terminal.lines())
        terminal.type(b'q')
        results.check(support.has_ended(terminal.finish()), 'live: the end',
                      [terminal.code])


def check_stack(results, made):
    """How much stack is used is what the same program uses without imports, to
    the byte; what an import takes itself is not known."""
    def depths(*arguments, words=()):
        session = made.run(results, 'Depths.exe', *arguments, words=words)
        data = json.loads(support.reader('stack', '--json', session)[1])
        thread = [row for row in data['stacks'] if row['levels'] > 1][0]
        chain = [row for row in data['paths']
                 if row['thread'] == thread['thread']]
        results.equal((sum(row['bytes'] for row in chain),
                       chain[-1]['total']), (thread['used'],) * 2,
                      'stack: the chain adds up')
        rows = {row['function']: row for row in data['functions']}
        return (session, thread['used'] - chain[0]['bytes'], thread, chain,
                rows)

    def sizes(row):
        return [row[field] for field in ('least', 'most', 'with_callees')]

    none = 'not-there'
    bare, used, thread, chain, rows = depths('--imports', none)
    results.equal((thread['exact'], thread['function']), ('yes', 'Bottom'),
                  'stack: without imports')
    session, seen, stack, levels, found = depths('--imports', LISTS)
    # Control: on the stack itself the frames of two stubs lie in between.
    spans = []
    for path in bare, session:
        store, = [store for store in trace_reader.open_all([path])
                  if store.ModulePath.lower().endswith('depths.exe')]
        places = [record[2] for record in store.records()]
        spans.append(max(places) - min(places))
    results.equal(spans[1] - spans[0], 2 * (65 * 8 + 8),
                  'stack: the stubs\' frames')
    results.equal((seen, stack['exact']), (used, 'yes'),
                  'stack: used, with imports')
    results.equal([row['function'] for row in levels[1:]],
                  ['main', 'plug!Back', 'Twice', 'plug!Back', 'Middle',
                   'Bottom'], 'stack: the chain')
    shares = {row['function']: row['bytes'] for row in levels}
    below = {row['function']: row['bytes'] for row in chain}
    for name in 'main', 'Twice':
        results.equal(shares[name] + shares['plug!Back'], below[name],
                      'stack: %s, with what it calls' % name)
    for name in 'Middle', 'Bottom':
        results.equal(shares[name], below[name], 'stack: ' + name)
        results.equal(sizes(found[name]), sizes(rows[name]),
                      'stack: ' + name)
    back = found['plug!Back']
    results.equal((back['calls'], back['exact'], back['least'], back['most']),
                  (2, 'no', shares['plug!Back'], shares['plug!Back']),
                  'stack: an import that calls back')
    results.equal(back['with_callees'], seen - shares['main'],
                  'stack: with its callees')

    # An import at the end of the chain.
    bare, used, thread, chain, rows = depths('--imports', none, words=('nap',))
    _, seen, stack, levels, found = depths('--imports', LISTS, words=('nap',))
    results.equal((thread['exact'], thread['function'], stack['exact'],
                   stack['function'], seen),
                  ('yes', 'Nap', 'no', 'kernel32!Sleep', used + 8),
                  'stack: an import at the end')
    results.equal((found['kernel32!Sleep']['exact'], *sizes(
        found['kernel32!Sleep'])), ('no', None, None, None),
                  'stack: an import is not known')
    results.equal(sizes(found['Nap'])[:2], sizes(rows['Nap'])[:2],
                  'stack: who calls it')
    text = support.reader('stack', session)[1]
    results.check('Imports: how much' in text and 'Not exact' not in text,
                  'stack: text', text.splitlines()[-8:])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        made = Programs(scratch)
        check_exports(results, made)
        check_selected(results, made)
        check_modules(results, made)
        check_callers(results, made)
        check_filters(results, made)
        check_stack(results, made)
        check_left(results, made)
        check_live(results, made)
        check_live_callers(results, made)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
