#!/usr/bin/env python3
"""TracerKd.dll in a debugger's stand-in (KdHost.c), whose interfaces are those of
mingw-w64's dbgeng.h.

A program that stands still, or has crashed, is looked at while it lives and in a
minidump: what the commands say is what it has counted itself, what a second
reader pairs, and what TraceReader exports.  Then parts of the dump are taken
away and changed.  Frames are compared with llvm-readobj's, and a driver's
section is made up (TestDebuggerKernel.py).
"""
# Takes long.

import csv
import functools
import glob
import io
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402
import KdSupport as kd                                       # noqa: E402
import trace_reader                                          # noqa: E402

TRACED = ('Leaf', 'Middle', 'Outer', 'Deep', 'Work', 'Inner', 'Park')
OPEN = ('Work', 'Inner', 'Park')

# Rounds, TRACER_ variables: all in the first view, or much more than that.
SMALL, LARGE = 20, 20000
MODES = [('file', {}), ('ring', {'TRACER_MAX_BYTES': '1M'}),
         ('compact', {}), ('compact-ring', {'TRACER_MAX_BYTES': '1M'}),
         ('tree', {})]


def check_answers(results, answers, what):
    for body, _, unknown, references, code in answers:
        results.equal((unknown, references, code), (0, 0, '00000000'),
                      '%s: methods not to be called, references, result' % what)
        results.check('TracerKd failed' not in body, '%s: no exception' % what, [body])


def read_csv(text):
    """({name: (calls, ticks, each)}, notes) of !modulestats or csv-osr."""
    lines = text.splitlines()
    rows = {row['Function'].split('!')[1]:
            tuple(int(row[column]) for column in
                  ('CallCount', 'CallTicks', 'TicksPerCall'))
            for row in csv.DictReader(io.StringIO('\n'.join(
                line for line in lines if not line.startswith('#'))))}
    return rows, [line for line in lines if line.startswith('#')]


def export_rows(results, folder, target, what):
    path = os.path.join(folder, 'osr.csv')
    code, text = programs.trace_reader(
        'export', '--format', 'csv-osr', '--output',
        programs.windows_path(path), programs.windows_path(target.session))
    results.equal(code, 0, '%s: export' % what)
    with open(path, encoding='utf-8') as file:
        return read_csv(file.read())[0]


def visible(store):
    """Records that lie in memory without a gap, up to the end."""
    view, first = (struct.unpack_from('<Q', store.map, at)[0]
                   for at in (0x68, 0xA8))
    records = list(store.records())
    if store.is_compact:
        return records[-((store.end - max(first, 4096)) // 16):]
    return records if view <= 65536 else records[-((store.end - view) // 16):]


def check_thread(results, store, name, last, tree, what):
    """!lastcalls -k and !calltree -k of one thread, by the second reader."""
    records = visible(store)
    calls, end = kd.pair(records, name)
    expected = [call.key(end) for call in calls]
    found = kd.read_last(last)
    results.equal(len(found) >= min(len(expected), 300), True,
                  '%s: there are calls' % what)
    results.equal(found[-250:], expected[-250:], '%s: the last calls' % what)
    if len(records) * 16 + 4096 == store.end:
        results.equal(kd.read_tree(tree), kd.tree_of(calls, end),
                      '%s: the tree' % what)


def check_mode(results, folder, host, program, symbols, name, mode, rounds,
               settings, crash=False):
    what = '%s, %d rounds%s' % (mode, rounds, ', crash' if crash else '')
    target = kd.Target(program, os.path.join(folder, '%s-%d%s' % (
        mode, rounds, '-crash' if crash else '')), rounds,
        'crash' if crash else 'park', TRACER_MODE=mode, **settings)
    try:
        check_target(results, folder, host, symbols, name, target, mode, rounds,
                     what)
    finally:
        target.end(host)


def check_target(results, folder, host, symbols, name, target, mode, rounds,
                 what):
    threads = sorted(target.counts)
    commands = ['tracer', 'modulestats KdTarget', 'modulestats -t -k *']
    for thread in threads:
        commands += ['lastcalls -k %x 300' % thread, 'calltree -k %x' % thread]
    answers = host.commands('live', target.pid, symbols, commands)
    check_answers(results, answers, what)

    # The same of a dump, whichever way stores are found there.
    dump = os.path.join(folder, 'dump')
    code, text = host.run('save', target.pid, programs.windows_path(dump))
    results.equal(code, 0, '%s: a dump is saved: %s' % (what, text))
    dumped = host.commands('dump', programs.windows_path(dump), symbols,
                           commands)
    results.check('the debugger says process 1234' in dumped[0][0],
                  '%s: another process is told' % what)
    dumped[0] = (re.sub('# the debugger says .*\n', '', dumped[0][0]),)
    results.check([answer[0] for answer in dumped] ==
                  [answer[0] for answer in answers],
                  '%s: a dump gives the same as the process' % what,
                  [text for text, *_ in dumped])
    by_threads = host.commands('dump', programs.windows_path(dump), symbols,
                               commands, ['noquery'])
    results.check([answer[0] for answer in by_threads[1:]] ==
                  [answer[0] for answer in answers[1:]],
                  '%s: through TLS the stores are the same' % what,
                  [text for text, *_ in by_threads])

    # Times in microseconds are the ticks' by the rate of the anchors.
    if mode == 'file':
        check_rate(results, host, target, symbols, threads, what)

    # What the engine's current thread is.
    current = host.commands('dump', programs.windows_path(dump), symbols,
                            ['lastcalls -k', 'lastcalls *'],
                            ['thread=%d' % threads[1]])
    results.check('Thread %x (%d)' % (threads[1], threads[1]) in
                  current[0][0], '%s: the current thread' % what)
    results.equal(sorted(map(int, re.findall(r'^Thread \w+ \((\d+)\)',
                                             current[1][0], re.M))), threads,
                  '%s: all threads' % what)

    rows, notes = read_csv(answers[1][0])
    for note in notes:
        results.check('file' in note, '%s: the note: %s' % (what, note))
    sums = {function: sum(counts[function]
                          for counts in target.counts.values())
            for function in TRACED}
    is_all = rounds == SMALL or mode == 'tree'
    if is_all:
        results.equal({function: rows[function][0] for function in TRACED},
                      sums, '%s: what the program counted' % what)
        results.check(
            {function: rows[function][0] + 1 for function in TRACED} != sums,
            '%s: (control) another count is seen' % what)
        expected = export_rows(results, folder, target, what)
        results.equal({function: row for function, row in rows.items()
                       if function not in OPEN},
                      {function: row for function, row in expected.items()
                       if function not in OPEN},
                      '%s: what TraceReader exports' % what)
        results.equal({function: rows[function][0] for function in OPEN},
                      {function: expected[function][0] for function in OPEN},
                      '%s: calls of open ones' % what)
    else:
        results.check(bool(notes), '%s: it is said that this is not all' % what)

    stores = target.stores() if mode != 'tree' else {}
    for index, thread in enumerate(threads):
        last, tree = answers[3 + 2 * index][0], answers[4 + 2 * index][0]
        if mode == 'tree':
            results.check('!calltree %x' % thread in last,
                          '%s: a tree has no single calls' % what)
            nodes = kd.read_tree(tree)
            for function in TRACED:
                results.equal(sum(node[0] for path, node in nodes.items()
                                  if path[-1] == function),
                              target.counts[thread][function],
                              '%s: %s in the tree' % (what, function))
            results.equal([path[-1] for path in nodes
                           if re.search(r'> *\w+!%s$' % path[-1], tree, re.M)
                           ][:3], list(OPEN), '%s: open calls' % what)
        else:
            check_thread(results, stores[thread], name, last, tree, what)
    check_damage(results, host, dump, symbols, target, what)


def check_rate(results, host, target, symbols, threads, what):
    ticks, times = (
        [[float(word) for word in line.split()[:2]]
         for line in answer[0].splitlines() if '!' in line]
        for answer in host.commands('live', target.pid, symbols,
                                    ['calltree -k %x' % threads[0],
                                     'calltree %x' % threads[0]]))
    rate = trace_reader.ticks_per_second(target.stores().values())
    largest = max(range(len(ticks)), key=lambda index: ticks[index][1])
    seen = ticks[largest][1] / times[largest][1] * 1e6
    results.check([row[0] for row in ticks] == [row[0] for row in times],
                  '%s: calls in both units' % what)
    results.check(all(abs(row[1] / seen * 1e6 - time[1]) <
                      0.002 + row[1] / largest_of(ticks) * 0.002
                      for row, time in zip(ticks, times)),
                  '%s: one rate for all times' % what, zip(ticks, times))
    results.check(rate is None or 0.5 < seen / rate < 2,
                  '%s: ticks a second: %s, %s' % (what, seen, rate))


def largest_of(rows):
    return max(row[1] for row in rows)


def check_damage(results, host, dump, symbols, target, what):
    """Holes in the dump's stores: a message, and the rest."""
    dump = programs.windows_path(dump)
    text = host.commands('dump', dump, symbols, ['tracer'])[0][0]
    stores = [int(address.replace('`', ''), 16) for address in
              re.findall(r'^Store at (\w+`\w+)', text, re.M)]
    results.equal(len(stores), len(target.counts), '%s: stores' % what)
    commands = ['tracer', 'modulestats *', 'lastcalls *', 'calltree *']
    answers = host.commands('dump', dump, symbols, commands,
                            ['hole=%x,1000' % stores[0]])
    check_answers(results, answers, what)
    results.equal(len(re.findall('^Store at', answers[0][0], re.M)),
                  len(stores) - 1, '%s: a store whose header is gone' % what)
    answers = host.commands('dump', dump, symbols, commands,
                            ['hole=%x,800' % (stores[0] + 0x800)])
    check_answers(results, answers, what)
    results.check('not in memory as a whole' in answers[0][0],
                  '%s: half a header' % what, [answers[0][0]])
    answers = host.commands('dump', dump, symbols, commands,
                            ['hole=%x,ff000' % (stores[0] + 0x1000)])
    check_answers(results, answers, what)
    answers = host.commands('dump', dump, symbols, ['lastcalls *'],
                            ['hole=0,7fffffffffff'])
    results.check('No store is mapped' in answers[0][0],
                  '%s: nothing is there' % what, [answers[0][0]])


def check_jumps(results, folder, host, program, symbols):
    """Calls that are left by longjmp."""
    for mode in 'file', 'tree':
        target = kd.Target(program, os.path.join(folder, 'jump-' + mode), 30,
                           'jump', TRACER_MODE=mode)
        thread = min(target.counts,
                     key=lambda one: target.counts[one]['Middle'])
        answers = host.commands('live', target.pid, symbols,
                                ['modulestats KdTarget',
                                 'lastcalls -k %x 1000' % thread])
        check_answers(results, answers, 'jumps')
        rows, _ = read_csv(answers[0][0])
        expected = export_rows(results, folder, target, 'jumps, ' + mode)
        target.end(host)
        results.equal({name: row for name, row in rows.items()
                       if name not in OPEN},
                      {name: row for name, row in expected.items()
                       if name not in OPEN}, 'jumps, %s: sums' % mode)
        results.equal({function: rows[function][0] for function in TRACED},
                      {function: sum(counts[function] for counts in
                                     target.counts.values())
                       for function in TRACED}, 'jumps, %s: counts' % mode)
        if mode == 'file':
            left = [call[4] for call in kd.read_last(answers[1][0])
                    if call[2] == '!']
            results.equal(left, ['Middle'] * 10, 'calls that were left')


def check_stop(results, host, dump, symbols):
    dump = programs.windows_path(dump)
    for after in (0, 1, 2, 5):
        answers = host.commands('dump', dump, symbols,
                                ['lastcalls *', 'calltree *', 'modulestats *',
                                 'stack_usage KdTarget!*'],
                                ['interrupt=%d' % after])
        check_answers(results, answers, 'Ctrl+Break')
        for body, *_ in answers:
            results.check('stopped by Ctrl+Break' in body,
                          'Ctrl+Break after %d ends a command' % after,
                          [body[-300:]])


def check_misuse(results, host):
    code, text = host.run('misuse')
    results.equal(code, 0, 'misuse')
    results.check('=== 0 references, 0 unknown' in text, 'misuse: %s' % text)
    results.equal(text.count('0x80004003'), 6, 'without a client: %s' % text)
    results.equal(text.count('There is no target.'), 5, 'without a target')
    results.check('version 10000 flags 0' in text, 'the version')
    results.check('-x: is no option of this command' in text, 'an option')


def read_frames(program):
    """{rva: (bytes, frame register)} by llvm-readobj's own reading of the
    unwind data; chained ranges go to their function."""
    code, text = programs.run(['llvm-readobj-19', '--unwind', program])
    found = {}
    chained = {}
    for part in text.split('RuntimeFunction {')[1:]:
        match = re.search(r'StartAddress: .*?\(?(0x[0-9A-F]+)\)?\n', part)
        start = int(match.group(1), 16)
        size = 8 * len(re.findall(r': PUSH_NONVOL', part))
        size += sum(int(value) for value in
                    re.findall(r'ALLOC_\w+ size=(\d+)', part))
        found[start] = (size, 'SET_FPREG' in part)
        if 'Chained' in part:
            chained[start] = part
    return found, chained


def check_frames(results, folder, host, symbols, program, base):
    frames, chained = read_frames(program)
    dump = os.path.join(folder, 'dump')
    text = host.commands('dump', programs.windows_path(dump), symbols,
                         ['stack_usage KdTarget!*', 'stack_usage KdTarget!oUt*',
                          'stack_usage KdTarget!* 7', 'stack_usage nobody!*',
                          'stack_usage KdTarget!NoSuch*'])
    check_answers(results, text, 'stack_usage')
    found = {}
    sizes = []
    for line in text[0][0].splitlines():
        match = re.match(r'(\d+) bytes used for frame by func: (\w+)`(\w+) '
                         r'KdTarget!(\S+) \((\d+) allocated, (\d+) saved '
                         r'registers(, frame register)?\)$', line)
        if not results.check(match is not None, 'a line: %s' % line):
            continue
        address = int(match[2] + match[3], 16)
        found[address - base] = (int(match[1]), bool(match[7]))
        results.equal(int(match[5]) + int(match[6]), int(match[1]),
                      'the parts of a frame')
        sizes.append(int(match[1]))
    results.equal(sizes, sorted(sizes, reverse=True), 'largest frames first')
    expected = {start - base if start >= base else start: frame
                for start, frame in frames.items() if start not in chained}
    results.check(len(expected) > 200, 'functions of llvm-readobj: %d' %
                  len(expected))
    different = [(rva, expected.get(rva), found.get(rva))
                 for rva in sorted(set(expected) | set(found))
                 if expected.get(rva) != found.get(rva)]
    results.equal(different[:5], [], 'frames as llvm-readobj has them')
    results.check('KdTarget!Outer (' in text[1][0] and
                  len(text[1][0].splitlines()) == 1, 'a pattern',
                  [text[1][0]])
    results.equal(text[2][0].splitlines(), text[0][0].splitlines()[:7],
                  'the first seven')
    results.check('no module of that name' in text[3][0], 'no such module')
    results.check('none is called so' in text[4][0], 'no such function')


def check_fuzz(results, folder, host, symbols):
    commands = ['tracer', 'modulestats *', 'lastcalls * 50', 'calltree *',
                'stack_usage KdTarget!*']
    rounds = 3000 if programs.LONG else 60
    for kind in 'file', 'tree', 'compact':
        dump = programs.windows_path(os.path.join(folder, 'fuzz-' + kind))
        code, text = host.run('fuzz', dump, programs.windows_path(symbols),
                              rounds, 7, *commands)
        results.check(code == 0 and '%d rounds, 0 failures, 0 unknown' %
                      rounds in text, 'damaged memory, %s: exit code %s: %s' %
                      (kind, code, text[-500:]))
        code, text = host.run('memory', dump, programs.windows_path(symbols),
                              *commands)
        results.check(code == 0 and '=== 0 failures' in text,
                      'no memory, %s: exit code %s: %s' % (kind, code, text))
        results.check(all(int(count) > 8 for count in
                          re.findall(r': (\d+) allocations', text)),
                      'no memory, %s: allocations: %s' % (kind, text))


def check_functions(results, folder, host):
    """A program whose hooks are told the function (-finstrument-functions)."""
    program = kd.build_target(os.path.join(folder, 'functions'),
                              programs.FUNCTION_FLAGS)
    names = kd.read_symbols(program)
    symbols = os.path.join(folder, 'functions', 'symbols')
    kd.write_symbols(symbols, 'KdTarget', kd.image_base(program), 0x200000,
                     names)
    check_mode(results, os.path.join(folder, 'functions'), host, program,
               symbols, kd.Namer(names), 'file', SMALL, {})


def check_imports(results, folder, host):
    """A program without hooks, whose imports are recorded: a stub's name is its
    target's."""
    folder = os.path.join(folder, 'imports')
    program = kd.build_target(folder, (), ())
    symbols = os.path.join(folder, 'symbols')
    kd.write_symbols(symbols, 'KdTarget', kd.image_base(program), 0x200000, [])
    target = kd.Target(
        programs.windows_path(program), os.path.join(folder, 'session'), 5,
        'park', before=[programs.READER, 'run', '--imports', 'kernel32',
                        '--callers', 'kdtarget', '--'])
    threads = sorted(target.counts)
    answers = host.commands('live', target.pid, symbols, [
        'lastcalls -k %x' % thread for thread in threads] + [
            'modulestats TracerImports'])
    check_answers(results, answers, 'imports')
    rows, _ = read_csv(answers[-1][0])
    expected = export_rows(results, folder, target, 'imports')
    target.end(host)

    # Some of kernel32's functions are ntdll's, under another name.
    results.equal({name.removeprefix('Rtl'): row[0]
                   for name, row in rows.items()},
                  {name.removeprefix('Rtl'): row[0]
                   for name, row in expected.items()}, 'imports: calls')
    results.check(rows.get('WriteFile', [0])[0] == 4, 'imports: WriteFile',
                  [rows])
    for thread, (text, *_) in zip(threads, answers):
        calls = kd.read_last(text)
        results.equal([call[4] for call in calls if call[2] == '>'],
                      ['WaitForSingleObject'],
                      'imports: what thread %d waits in' % thread)


PART = '''
__attribute__((noinline)) unsigned PartLeaf(unsigned X)
{ static volatile unsigned Sink; return X + Sink; }
__attribute__((dllexport, noinline)) unsigned Part(unsigned X)
{ return PartLeaf(X) + PartLeaf(X + 1); }
'''


def check_modules(results, folder, host, program, symbols):
    """A thread with stores of two modules: their calls come in one order."""
    folder = os.path.join(folder, 'modules')
    os.makedirs(folder)
    with open(os.path.join(folder, 'Part.c'), 'w', encoding='ascii') as file:
        file.write(PART)
    part = os.path.join(folder, 'Part.dll')
    subprocess.run([programs.GCC, *programs.SAME_CALLS, *programs.PENTER_FLAGS,
                    '-c', 'Part.c', '-o', 'Part.o'], check=True, cwd=folder)
    subprocess.run([programs.GCC, '-shared', 'Part.o', programs.LIBRARY, '-o',
                    part], check=True, cwd=folder)
    target = kd.Target(program, os.path.join(folder, 'session'), 6, 'park',
                       programs.windows_path(part))
    stores = [trace_reader.Store(path) for path in glob.glob(
        os.path.join(target.session, '*.trace'))]
    names = {}
    both = os.path.join(folder, 'symbols')
    with open(symbols, encoding='ascii') as file:
        text = file.read()
    for store in stores:
        name = store.ModulePath.replace('/', '\\').split('\\')[-1]
        image = part if name == 'Part.dll' else program
        listed = kd.read_symbols(image)
        names[store.ModuleBase] = kd.Namer(listed)
        if name == 'Part.dll':
            kd.write_symbols(both, 'Part', store.ModuleBase, store.ModuleSize,
                             listed)
    with open(both, 'a', encoding='ascii') as file:
        file.write(text)
    results.equal(len(names), 2, 'modules with stores')
    threads = sorted(target.counts)
    commands = ['modulestats Part', 'modulestats *']
    for thread in threads:
        commands += ['lastcalls -k %x 1000' % thread, 'calltree -k %x' % thread]
    answers = host.commands('live', target.pid, both, commands)
    check_answers(results, answers, 'modules')
    outer = sum(counts['Outer'] for counts in target.counts.values())
    rows, _ = read_csv(answers[0][0])
    results.equal({name: row[0] for name, row in rows.items()},
                  {'Part': outer, 'PartLeaf': 2 * outer}, 'calls of the DLL')
    expected = export_rows(results, folder, target, 'modules')
    rows, _ = read_csv(answers[1][0])
    results.equal({name: row for name, row in rows.items() if name not in OPEN},
                  {name: row for name, row in expected.items()
                   if name not in OPEN}, 'sums of both modules')
    for index, thread in enumerate(threads):
        records = [(time, stack, kind in (1, 3),
                    (time, names[store.ModuleBase](rva), stack, kind), store)
                   for store in stores if store.ThreadId == thread
                   for time, rva, stack, kind in store.records()]
        records.sort(key=functools.cmp_to_key(trace_reader.earlier))
        calls, end = kd.pair([record[3] for record in records],
                             lambda name: name)
        results.equal(kd.read_last(answers[2 + 2 * index][0]),
                      [call.key(end) for call in calls],
                      'calls of both modules, thread %x' % thread)
        results.equal(kd.read_tree(answers[3 + 2 * index][0]),
                      kd.tree_of(calls, end),
                      'tree of both modules, thread %x' % thread)
    target.end(host)


def check_words(results, host, dump, symbols):
    """What is typed wrong, and an engine that fails."""
    dump = programs.windows_path(dump)
    commands = {
        'lastcalls zz': 'is no thread', 'lastcalls fffffe': 'has no store',
        'lastcalls * 0': 'is no number of calls',
        'lastcalls * 0n5': '# ', 'lastcalls * 200000': 'is no number of calls',
        'lastcalls * 5 6': 'is one word too many',
        'calltree -t': 'is no option', 'modulestats': 'Which module?',
        'stack_usage': 'Of what?', 'stack_usage !x': 'Of what?',
        'stack_usage KdTarget!* x': 'Of what?', 'tracer x': 'is one word too',
        'modulestats nothing': 'Function,CallCount'}
    answers = host.commands('dump', dump, symbols, list(commands))
    check_answers(results, answers, 'words')
    for (command, text), answer in zip(commands.items(), answers):
        results.check(text in answer[0], command, [answer[0][:300]])
    for at, fails in (1, 2), (3, 2), (5, 1), (20, 1):
        answers = host.commands('dump', dump, symbols,
                                ['lastcalls *', 'stack_usage KdTarget'],
                                ['raise=%d' % at])
        results.equal([('TracerKd failed: exception 0xC0000005' in body, code)
                       for body, _, _, _, code in answers],
                      [(True, '80004005')] * fails +
                      [(False, '00000000')] * (2 - fails),
                      'an exception in the engine, at read %d' % at)
        results.equal([answer[2:4] for answer in answers], [(0, 0)] * 2,
                      'an exception in the engine: references')


def main():
    results = programs.Results()
    with programs.Scratch() as folder:
        host = kd.Host(kd.build_host(folder))
        program = kd.build_target(folder)
        names = kd.read_symbols(program)
        name = kd.Namer(names)
        symbols = os.path.join(folder, 'symbols')

        # Where the image is, and how large: another reader says it.
        target = kd.Target(program, os.path.join(folder, 'first'), 1, 'park')
        store = next(iter(target.stores().values()))
        kd.write_symbols(symbols, 'KdTarget', store.ModuleBase,
                         store.ModuleSize, names)
        target.end(host)
        for mode, settings in MODES:
            for rounds in ((SMALL, LARGE) if programs.LONG or mode in (
                    'file', 'compact-ring', 'tree') else (SMALL,)):
                check_mode(results, folder, host, program, symbols, name, mode,
                           rounds, settings)
                if rounds == SMALL or mode == 'file':
                    os.rename(os.path.join(folder, 'dump'), os.path.join(
                        folder, '%s-%s' % ('fuzz' if rounds == SMALL
                                           else 'stop', mode)))
        check_frames(results, folder, host, symbols, program,
                     store.ModuleBase)
        check_stop(results, host, os.path.join(folder, 'stop-file'), symbols)
        check_mode(results, folder, host, program, symbols, name, 'file', SMALL,
                   {}, crash=True)
        check_functions(results, folder, host)
        check_imports(results, folder, host)
        check_modules(results, folder, host, program, symbols)
        check_words(results, host, os.path.join(folder, 'fuzz-file'), symbols)
        check_jumps(results, folder, host, program, symbols)
        check_misuse(results, host)
        check_fuzz(results, folder, host, symbols)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
