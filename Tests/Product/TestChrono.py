#!/usr/bin/env python3
"""TRACER_CHRONO: what is called inside chosen functions, beside the tree.

The witness is the same program recorded as a whole: its records, read by
trace_reader.py and cut to the calls of the listed functions by name, must be
those of the chronological stores, in their order, with their distances between
stack pointers.  The trees must be those of a run without TRACER_CHRONO.

    TestChrono.py [PART...]

PART: calls, ends, lists, settings, control, reader.
"""

import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import tree_reader                                           # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402

TREE = {'TRACER_MODE': 'tree'}
SOURCE = os.path.join(programs.PROGRAMS, 'Chrono.cpp')
CHRONOLOGICAL = 0x8
NODE_CHRONOLOGICAL = 0x2
LISTED = ('Listed', 'Second')
ENTRIES = (1, 3)

Event = collections.namedtuple('Event', 'name is_entry rsp part',
                               defaults=(0,))


def build(folder, flags):
    return programs.build(folder, [SOURCE], flags, 'Chrono.exe',
                          [programs.LIBRARY, '-lstdc++'])


def make_list(results, program, path, *names):
    """TraceReader exclude."""
    code, _, errors = support.reader(
        'exclude', '-o', programs.windows_path(path),
        programs.windows_path(program), *names)
    results.check(code == 0 and os.path.exists(path),
                  'exclude: exit code %d' % code, [errors])
    return path


def flags(path):
    """Mode and Flags of a store."""
    with open(path, 'rb') as file:
        header = file.read(4096)
    return (int.from_bytes(header[0x1b0:0x1b4], 'little'),
            int.from_bytes(header[0x14:0x18], 'little'))


MODULE = r'''
#include <windows.h>
#define TRACED __attribute__((noinline))
volatile int Sink;
TRACED void Leaf(void) { Sink += 1; }
TRACED void Listed(int Depth) { Leaf(); if (Depth) { Listed(Depth - 1); } }
TRACED void Other(void) { Leaf(); Listed(2); Leaf(); }
__declspec(dllexport) void Work(int Count)
{
    while (Count-- > 0) { Other(); }
}
BOOL WINAPI DllMain(HINSTANCE Module, DWORD Reason, LPVOID Reserved)
{
    (void)Module;
    (void)Reserved;
    if (Reason == DLL_PROCESS_DETACH || Reason == DLL_THREAD_DETACH) {
        Listed(0);
    }
    return TRUE;
}
'''
LOADER = r'''
#include <windows.h>
#include <stdlib.h>
static void (*Work)(int);
static DWORD WINAPI Run(LPVOID Argument)
{
    Work((int)(size_t)Argument);
    return 0;
}
int main(int Number, char **Words)
{
    HMODULE Module = LoadLibraryA("Module.dll");
    HANDLE Thread;
    (void)Number;
    Work = (void (*)(int))(void *)GetProcAddress(Module, "Work");
    Thread = CreateThread(0, 0, Run, (LPVOID)(size_t)300, 0, 0);
    WaitForSingleObject(Thread, INFINITE);
    Work(200);
    if (atoi(Words[1])) { FreeLibrary(Module); }
    return 0;
}
'''


def build_module(folder):
    """A DLL with hooks, and a program without that loads it."""
    os.makedirs(folder)
    for name, text, hooks, more in (
            ('Module', MODULE, programs.PENTER_FLAGS,
             [programs.LIBRARY, '-shared', '-Wl,--image-base,0x140000000',
              '-o', 'Module.dll']),
            ('Loader', LOADER, [], ['-o', 'Loader.exe'])):
        with open(os.path.join(folder, name + '.c'), 'w',
                  encoding='ascii') as file:
            file.write(text)
        subprocess.run([programs.GCC, *programs.SAME_CALLS, *hooks, '-c',
                        name + '.c'], check=True, cwd=folder)
        subprocess.run([programs.GCC, name + '.o', *more, '-static'],
                       check=True, cwd=folder)
    return [os.path.join(folder, name) for name in ('Module.dll',
                                                    'Loader.exe')]


class Run:
    """A run: its stores of each kind, by thread."""

    numbers = iter(range(1000))

    def __init__(self, scratch, program, *arguments, code=0, chrono=None,
                 **variables):
        directory = os.path.join(scratch, 'run-%d' % next(Run.numbers))
        os.makedirs(directory)
        if chrono:
            variables['TRACER_CHRONO'] = programs.windows_path(chrono)
        self.code, self.text = support.run(program, *arguments,
                                           directory=directory, **variables)
        self.session = support.sessions(directory)[0]
        self.is_right = self.code == code
        self.log = ''
        for name in os.listdir(self.session):
            if name.endswith('.log'):
                with open(os.path.join(self.session, name),
                          encoding='utf-8') as file:
                    self.log += file.read()
        self.records, self.ranges, self.trees = [], [], []
        for path in support.stores(self.session):
            mode, bits = flags(path)
            if mode == tree_reader.MODE_TREE:
                self.trees.append(tree_reader.Tree(path))
            elif bits & CHRONOLOGICAL:
                self.ranges.append(trace_reader.Store(path))
            else:
                self.records.append(trace_reader.Store(path))


def events(store, resolve):
    return [Event(resolve(rva), kind in ENTRIES, rsp)
            for _, rva, rsp, kind in store.records()
            if kind != trace_reader.GONE]


def cut(seen, listed):
    """The events of a thread that are inside listed calls.

    Their stack pointers count from that of the outermost one's entry.  What is
    called on a fiber is not inside of what the thread was in.
    """
    inside, levels, base, kept = [], 0, None, []
    for event in seen:
        if event.name == 'FiberWork':
            if event.is_entry:
                kept.append((levels, base))
                levels = 0
            else:
                levels, base = kept.pop()
            continue
        if event.name == 'Landed' and event.is_entry:
            levels = 0
        if event.name in listed and event.is_entry:
            if levels == 0:
                base = event.rsp, len(inside)
            levels += 1
        if levels:
            inside.append(event._replace(rsp=event.rsp - base[0],
                                         part=base[1]))
        if event.name in listed and not event.is_entry and levels:
            levels -= 1
    return inside


def shape(some):
    return [(event.name, event.is_entry) for event in some]


def by_shape(threads):
    return sorted(threads, key=shape)


def contexts(tree, resolve):
    """Calls, abandoned and open by chain of names."""
    chains, counts = [()], collections.Counter()
    opened = collections.Counter(frame.node for frame in tree.frames)
    for node in tree.nodes[1:]:
        name = None if node.is_other else resolve(tree.rva(node))
        chains.append((*chains[node.parent], name))
        for field, count in (('calls', node.calls),
                             ('abandoned', node.abandoned),
                             ('open', opened[node.index])):
            if count:
                counts[chains[-1], field] += count
    return counts


def in_order(some):
    return sorted(some, key=repr)


def compare_trees(results, what, plain, chrono, resolve):
    """The trees of two runs."""
    left = in_order([sorted(contexts(tree, resolve).items(), key=repr)
                     for tree in plain.trees])
    right = in_order([sorted(contexts(tree, resolve).items(), key=repr)
                      for tree in chrono.trees])
    results.check(left and left == right,
                  what + ': %d trees as without TRACER_CHRONO' % len(left),
                  [list(set(a) ^ set(b)) for a, b in zip(left, right)
                   if a != b][:3])
    wrong = [(tree.lost, tree.reentered, tree.unmatched, tree.too_deep)
             for tree in chrono.trees
             if tree.lost or tree.reentered or tree.unmatched]
    results.check(not wrong, what + ': nothing lost or unmatched', wrong)
    spoiled = [list(one) for one in right]
    spoiled[0][0] = (spoiled[0][0][0], spoiled[0][0][1] + 1)
    results.check(left != spoiled, what + ': control: one call more is found')


def compare_records(results, what, full, chrono, resolve, listed):
    """The records of a run as a whole, cut, and those of ranges."""
    whole = [events(store, resolve) for store in full.records]
    expected = by_shape(filter(None, (cut(thread, listed)
                                      for thread in whole)))
    for store in chrono.ranges:
        results.check(list(store.records()) and not store.bad and
                      store.NumberOfEventsLost == 0,
                      what + ': a whole store', [dict(store.bad)])
    seen = by_shape(events(store, resolve) for store in chrono.ranges)
    left, right = list(map(shape, expected)), list(map(shape, seen))
    results.check(expected and left == right,
                  '%s: %d events of %d threads in %d' %
                  (what, sum(map(len, expected)), len(expected),
                   sum(map(len, whole))),
                  [(len(a), len(b), next(((index, x, y) for index, (x, y) in
                                          enumerate(zip(a, b)) if x != y),
                                         None))
                   for a, b in zip(left, right) if a != b])

    wrong = 0
    for one, other in zip(expected, seen):
        base = {}
        for event, found in zip(one, other):
            base.setdefault(event.part, found.rsp)
            wrong += found.rsp - base[event.part] != event.rsp
    results.check(not wrong, '%s: %d stack pointers differ' % (what, wrong))
    spoiled = [list(thread) for thread in right]
    target = max(spoiled, key=len)
    del target[random.Random(5).randrange(len(target))]
    results.check(spoiled != left, what + ': control: an event less is found')
    results.check(len(max(expected, key=len)) < len(max(whole, key=len)),
                  what + ': control: not all is in ranges')


def resolver(program):
    return trace_reader.read_symbols(
        programs.write_symbols(program, program + '.symbols'))


BUILDS = [('penter', programs.PENTER_FLAGS),
          ('functions', programs.FUNCTION_FLAGS)]


class Builds:
    """Programs and their lists."""

    def __init__(self, results, scratch):
        self.results, self.scratch, self.made = results, scratch, {}

    def __call__(self, name):
        if name not in self.made:
            folder = os.path.join(self.scratch, name)
            program = build(folder, dict(BUILDS)[name])
            path = make_list(self.results, program,
                             os.path.join(folder, 'chrono.list'), *LISTED)
            self.made[name] = (program, path, resolver(program))
        return self.made[name]


def check_calls(results, scratch, builds):
    """Ranges of all kinds on several threads."""
    for name, _ in BUILDS:
        program, path, resolve = builds(name)
        arguments = ('3', '120')
        full = Run(scratch, program, *arguments)
        plain = Run(scratch, program, *arguments, **TREE)
        chrono = Run(scratch, program, *arguments, chrono=path, **TREE)
        results.check(full.is_right and plain.is_right and chrono.is_right,
                      name + ': exit codes')
        results.equal(full.text, chrono.text, name + ': output')
        results.equal(chrono.log, '', name + ': log')
        results.check(not plain.ranges and len(chrono.trees) == 5 and
                      len(chrono.ranges) == 4 and not chrono.records,
                      name + ': stores', [len(plain.ranges),
                                          len(chrono.trees),
                                          len(chrono.ranges)])
        compare_records(results, name, full, chrono, resolve, LISTED)
        compare_trees(results, name, plain, chrono, resolve)
        marked = {resolve(tree.rva(node)) for tree in chrono.trees
                  for node in tree.nodes if node.flags & NODE_CHRONOLOGICAL}
        results.equal(marked, set(LISTED), name + ': nodes that are marked')
        results.check(all(store.State == support.STATE_CLOSED
                          for store in chrono.ranges),
                      name + ': the stores are closed')
    # The list of one of the two; the other is inside it in part.
    program, _, resolve = builds('penter')
    path = make_list(results, program, os.path.join(scratch, 'one.list'),
                     'Second')
    full = Run(scratch, program, '1', '60')
    chrono = Run(scratch, program, '1', '60', chrono=path, **TREE)
    compare_records(results, 'one function', full, chrono, resolve,
                    ('Second',))
    # One of the threads calls neither; which store is first is by chance.
    results.check(any(cut(events(store, resolve), ('Second',)) !=
                      cut(events(store, resolve), LISTED)
                      for store in full.records),
                  'one function: control: the lists differ')
    chrono = Run(scratch, program, '1', '60', chrono=path,
                 TRACER_CLOCK='thread', **TREE)
    compare_records(results, 'clock thread', full, chrono, resolve,
                    ('Second',))


def check_ends(results, scratch, builds):
    """The process ends, or is killed, inside a range."""
    program, path, resolve = builds('penter')
    for last, code in (('exit', 0), ('die', 3)):
        arguments = ('0', '10', last)
        full = Run(scratch, program, *arguments, code=code)
        chrono = Run(scratch, program, *arguments, code=code, chrono=path,
                     **TREE)
        results.check(full.is_right and chrono.is_right, last + ': exit code',
                      [full.code, chrono.code])
        compare_records(results, last, full, chrono, resolve, LISTED)
        state = (support.STATE_CLOSED if last == 'exit' else
                 support.STATE_OPEN)
        results.check([store.State for store in chrono.ranges] == [state],
                      last + ': state')
        opened = collections.Counter(
            resolve(tree.rva(tree.nodes[frame.node]))
            for tree in chrono.trees for frame in tree.frames)
        results.equal(opened['Listed'], 2, last + ': open calls of Listed')


def check_modules(results, scratch, _):
    """A DLL: its DllMain calls a listed function at the end of threads."""
    module, loader = build_module(os.path.join(scratch, 'module'))
    path = make_list(results, module, os.path.join(scratch, 'dll.list'),
                     'Listed')
    resolve = resolver(module)
    for unloads in '01':
        full = Run(scratch, loader, unloads)
        plain = Run(scratch, loader, unloads, **TREE)
        chrono = Run(scratch, loader, unloads, chrono=path, **TREE)
        what = 'DLL, unloaded ' + unloads
        results.check(full.is_right and chrono.is_right and
                      'TRACER_CHRONO' not in chrono.log,
                      what + ': exit codes', [chrono.log])
        compare_records(results, what, full, chrono, resolve, ('Listed',))
        compare_trees(results, what, plain, chrono, resolve)
        results.check(all(store.State == support.STATE_CLOSED
                          for store in chrono.ranges),
                      what + ': the stores are closed')


def check_lists(results, scratch, builds):
    """Lists of another image, of nothing, that make no sense."""
    program, path, resolve = builds('penter')
    other, other_list, _ = builds('functions')
    run = Run(scratch, program, '0', '20', chrono=other_list, **TREE)
    results.check(run.is_right and not run.ranges and run.trees and
                  'TRACER_CHRONO' in run.log and 'Chrono.exe' in run.log and
                  'comparing the image' in run.log,
                  'a list of another image', [run.log, len(run.ranges)])
    run = Run(scratch, program, '0', '20',
              chrono=os.path.join(scratch, 'none.list'), **TREE)
    results.check(run.is_right and not run.ranges and
                  'opening TRACER_CHRONO' in run.log, 'no list', [run.log])
    broken = os.path.join(scratch, 'broken.list')
    with open(path, encoding='utf-8') as file:
        lines = file.read().split('\n')
    for text, what in (
            ('\n'.join(['tracer-exclude 9', *lines[1:]]),
             'of another version than tracer-exclude 2'),
            ('\n'.join([*lines[:-1], 'function 10 x y', '']), 'line %d of' %
             len(lines)),
            ('\n'.join(lines[:-2]), 'whose last line, "end", is missing'),
            ('', 'whose last line, "end", is missing')):
        with open(broken, 'w', encoding='utf-8') as file:
            file.write(text)
        run = Run(scratch, program, '0', '20', chrono=broken, **TREE)
        results.check(run.is_right and not run.ranges and what in run.log and
                      'reading TRACER_CHRONO' in run.log,
                      'a list that makes no sense', [run.log])
    # Functions in any order, twice, and overlapping.
    first = next(index for index, line in enumerate(lines)
                 if line.startswith('module '))
    functions = [line for line in lines if line.startswith('function ')]
    with open(broken, 'w', encoding='utf-8') as file:
        file.write('\r\n'.join([lines[0], lines[first], *reversed(functions),
                                *functions, 'end', '']))
    full = Run(scratch, program, '0', '20')
    run = Run(scratch, program, '0', '20', chrono=broken, **TREE)
    compare_records(results, 'a list by hand', full, run, resolve, LISTED)


def check_settings(results, scratch, builds):
    """Without a tree; from an ini file; limits."""
    program, path, resolve = builds('penter')
    full = Run(scratch, program, '0', '20')
    run = Run(scratch, program, '0', '20', chrono=path)
    results.check(run.is_right and not run.ranges and len(run.records) == 2 and
                  'with TRACER_MODE=tree only' in run.log,
                  'without a tree', [run.log])
    ini = os.path.join(scratch, 'chrono.ini')
    with open(ini, 'w', encoding='utf-8') as file:
        file.write('[output]\nmode = tree\n[chronological]\nlist = %s\n' %
                   programs.windows_path(path))
    run = Run(scratch, program, '0', '20',
              TRACER_CONFIG=programs.windows_path(ini))
    compare_records(results, 'ini file', full, run, resolve, LISTED)
    # The second store ends at the limit, the tree goes on.
    plain = Run(scratch, program, '0', '4000', **TREE)
    run = Run(scratch, program, '0', '4000', chrono=path,
              TRACER_MAX_BYTES='1M', **TREE)
    sizes = [os.path.getsize(store.path) for store in run.ranges]
    results.check(len(sizes) == 1 and sizes[0] <= 1 << 20 and
                  run.ranges[0].State == support.STATE_STOPPED and
                  run.ranges[0].NumberOfEventsLost > 0,
                  'a limit: the store has stopped', [sizes])
    left, right = ([sum((contexts(tree, resolve)
                         for tree in one.trees), collections.Counter())]
                   for one in (plain, run))
    results.check(left == right, 'a limit: the tree goes on')
    full = Run(scratch, program, '0', '4000')
    wanted = sum(len(cut(events(store, resolve), LISTED))
                 for store in full.records)
    kept = len(list(run.ranges[0].records()))
    results.equal(kept + run.ranges[0].NumberOfEventsLost, wanted,
                  'a limit: recorded and lost')
    # A tree without room for nodes: the trees still agree.
    wide = [('TRACER_MAX_BYTES', '1M')]
    plain = Run(scratch, program, '2', '40', **TREE, **dict(wide))
    run = Run(scratch, program, '2', '40', chrono=path, **TREE, **dict(wide))
    compare_trees(results, 'small trees', plain, run, resolve)


def followers(session):
    """Of each running thread with a chronological store how many actions its
    tree has seen, and how many events it has left out: thread -> numbers."""
    trees, listed = {}, set()
    for path in support.stores(session):
        with open(path, 'rb') as file:
            header = file.read(4096)
        if len(header) < 4096 or header[:8] != b'TRCSTORE':
            continue
        thread, = struct.unpack_from('<I', header, 0x1c)
        mode, actions, paused = struct.unpack_from('<IIQ', header, 0x1b0)
        lost, = struct.unpack_from('<Q', header, 0x60)
        if mode == tree_reader.MODE_TREE:
            trees[thread] = actions, paused + lost
        else:
            listed.add(thread)
    return {thread: trees[thread] for thread in listed & set(trees)}


def check_control(results, scratch, builds):
    """Stops, starts and clears while threads are in ranges.

    Of the three threads one ends at once, outside of ranges, and may be stopped
    and cleared for all its life; the others follow each request before the next
    one is made, and have something to leave out.
    """
    program, path, resolve = builds('penter')
    go = os.path.join(scratch, 'go.txt')
    arguments = ('2', '60', programs.windows_path(go))
    folder = os.path.join(scratch, 'control')
    os.makedirs(folder)
    process = support.start(program, *arguments, directory=folder,
                            TRACER_CHRONO=programs.windows_path(path), **TREE)
    done = []
    try:
        session = support.wait_for(lambda: support.sessions(folder))[0]
        support.wait_for(lambda: len(followers(session)) >= 2)
        for number, verb in enumerate(('stop', 'start', 'clear', 'stop',
                                       'clear', 'start')):
            before = followers(session)
            done.append(support.ctl(session, verb)[0])
            done.append(not support.wait_for(lambda: all(
                actions > number and
                (verb != 'stop' or left_out > before[thread][1] + 8)
                for thread, (actions, left_out) in
                followers(session).items())))
    finally:
        with open(go, 'w', encoding='ascii'):
            pass
    code, text = support.finish(process)
    results.check(support.has_ended(code) and not any(done),
                  'control: exit codes',
                  [code, text, done])
    full = Run(scratch, program, *arguments)
    expected = [shape(cut(events(store, resolve), LISTED))
                for store in full.records]
    expected = in_order([thread[-1500:] for thread in expected if thread])
    ranges, trees = [], []
    for name in support.stores(session):
        if flags(name)[0] == tree_reader.MODE_TREE:
            trees.append(tree_reader.Tree(name))
        else:
            ranges.append(trace_reader.Store(name))
    seen = in_order([shape(events(store, resolve))[-1500:]
                     for store in ranges])
    results.check(expected and min(map(len, expected)) == 1500 and
                  seen == expected,
                  'control: what comes after the last start is all there',
                  [(len(a), len(b)) for a, b in zip(expected, seen)])
    results.check(all(store.State == support.STATE_CLOSED and
                      store.NumberOfEventsLost == 0 and
                      not store.bad for store in ranges),
                  'control: nothing is lost')
    results.check(sum(tree.paused for tree in trees) > 0 and
                  not any(tree.lost for tree in trees),
                  'control: the trees were stopped',
                  [(tree.paused, tree.lost) for tree in trees])
    # A call that was open at a start is open until something shows it gone:
    # what these two leave is higher on their stacks than all of it.
    outside = {'Outside', 'FiberWork'} & {
        event.name for store in ranges for event in events(store, resolve)}
    results.check(not outside, 'control: nothing from outside of ranges',
                  [outside])
    listed = {store.ThreadId for store in ranges}
    counts = [sum(node.calls for node in tree.nodes)
              for tree in trees if tree.thread in listed]
    results.check(len(counts) == 2 and all(counts),
                  'control: the trees count', [counts])


def rows(*arguments):
    """What a command of TraceReader shows, as JSON."""
    code, text = programs.trace_reader(*arguments)
    return json.loads(text) if code == 0 else None


def check_reader(results, scratch, builds):
    """TraceReader: no call twice, and every recorded one where wanted."""
    program, path, resolve = builds('penter')
    run = Run(scratch, program, '1', '40', chrono=path, **TREE)
    session = programs.windows_path(run.session)
    calls = collections.Counter()
    for tree in run.trees:
        for (chain, field), count in contexts(tree, resolve).items():
            if field == 'calls':
                calls[chain[-1]] += count
    seen = collections.Counter({
        re.sub(r'\(.*', '', name): row['calls']
        for name, row in programs.read_report(run.session).items()})
    calls = collections.Counter({re.sub(r'^_Z.*|^printf.*', 'printf', name):
                                 count for name, count in calls.items()})
    wrong = programs.differences(calls, seen)
    results.check(seen and not wrong, 'report: calls (function, tree, report)',
                  wrong)
    listed = rows('replay', '--json', session)
    listed = listed['events'] if isinstance(listed, dict) else listed or []
    entered = collections.Counter(row['function'] for row in listed
                                  if row['event'] == 'enter')
    expected = collections.Counter(
        event.name for store in run.ranges
        for event in events(store, resolve) if event.is_entry)
    wrong = programs.differences(expected, entered)
    results.check(entered and not wrong,
                  'replay: entries (function, records, replay)', wrong)
    shown = rows('info', '--json', session)
    results.equal(shown['recording'][0]['mode'], 'tree and ranges', 'info')
    found = rows('outliers', 'Listed', '--json', session)
    results.check(found and found['summary'][0]['calls'] +
                  found['summary'][0]['abandoned'] +
                  found['summary'][0]['unfinished'] >= expected['Listed'],
                  'outliers', [found and found['summary']])
    trace = os.path.join(scratch, 'trace.json')
    code, _ = programs.trace_reader('export', '--format', 'chrome', '-o',
                                    programs.windows_path(trace), session)
    with open(trace, encoding='utf-8') as file:
        drawn = collections.Counter(
            row['name'] for row in json.load(file)['traceEvents']
            if row.get('ph') in ('B', 'X'))
    results.check(code == 0 and drawn == expected, 'export: chrome',
                  programs.differences(expected, drawn))
    code, _ = programs.trace_reader('verify', session)
    results.equal(code, 0, 'verify')

    # Without the flag the calls of ranges would be there twice, and the thread
    # would have two stores: the mark behind the name says so.
    for store in run.ranges:
        with open(store.path, 'r+b') as file:
            file.seek(0x14)
            bits = int.from_bytes(file.read(4), 'little')
            file.seek(0x14)
            file.write((bits & ~CHRONOLOGICAL).to_bytes(4, 'little'))
    twice = collections.Counter()
    for name, row in programs.read_report(run.session).items():
        twice[re.sub(r'(\(| \[).*', '', name)] += row['calls']
    results.equal(twice['Listed'], calls['Listed'] + expected['Listed'],
                  'control: without the flag the calls are there twice')


def main():
    parts = [word for word in sys.argv[1:] if not word.startswith('-')]
    results = programs.Results()
    with programs.Scratch() as scratch:
        builds = Builds(results, scratch)
        for name, check in (('calls', check_calls), ('ends', check_ends),
                            ('modules', check_modules),
                            ('lists', check_lists),
                            ('settings', check_settings),
                            ('control', check_control),
                            ('reader', check_reader)):
            if not parts or name in parts:
                folder = os.path.join(scratch, 'part-' + name)
                os.makedirs(folder)
                check(results, folder, builds)
                shutil.rmtree(folder)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
