#!/usr/bin/env python3
"""Checks TraceReader stack and stack --static.

What functions reserve is compared with what gcc and clang say of them
(-fstack-usage), and with llvm-readobj's reading of the unwind data; what
threads used with a reading of the records in Python.
"""

import csv
import io
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
import StoreSupport as support                                # noqa: E402
import MadeStores as made                                     # noqa: E402
import programs                                              # noqa: E402
import trace_reader                                          # noqa: E402

ENTER, EXIT, ENTER_F, EXIT_F = 1, 2, 3, 4
SLOT = 8                            # a return address
SOURCE = os.path.join(programs.PROGRAMS, 'Stack.c')
READOBJ = 'llvm-readobj-19'


def tables(*arguments):
    """The tables of stack --csv: name -> rows, and the exit code."""
    code, text, errors = support.reader('stack', '--csv', *arguments)
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(row['table'], {}).setdefault(
            int(row['row']), {})[row['field']] = row['value']
    return {name: [rows[index] for index in sorted(rows)]
            for name, rows in found.items()}, code, text + errors


def static(*arguments):
    """The rows of stack --static --csv, and the exit code."""
    code, text, errors = support.reader('stack', '--static', '--csv',
                                        *arguments)
    return list(csv.DictReader(io.StringIO(text))), code, text + errors


def read_usage(path):
    """What a compiler says: function -> (bytes, qualifier)."""
    usage = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            place, size, how = line.rstrip('\n').split('\t')
            usage[place.split(':')[-1]] = int(size), how
    return usage


def build(folder, flags, compiler=(programs.GCC,)):
    """(program, what the compiler says)."""
    os.makedirs(folder)
    target = os.path.join(folder, 'Stack.o')
    subprocess.run([*compiler, '-O2', '-fno-optimize-sibling-calls', *flags,
                    '-fstack-usage', '-c', SOURCE, '-o', target], check=True,
                   cwd=folder)
    program = os.path.join(folder, 'Stack.exe')
    subprocess.run([programs.GCC, target, programs.LIBRARY, '-static', '-o',
                    program], check=True, cwd=folder)
    return program, read_usage(os.path.join(folder, 'Stack.su'))


def check_static(results, scratch):
    for name, flags, compiler, above in (
            ('gcc', [], (programs.GCC,), 0),
            ('gcc-hooks', programs.PENTER_FLAGS, (programs.GCC,), 0),
            ('gcc-O0', ['-O0'], (programs.GCC,), 0),
            ('gcc-functions', programs.FUNCTION_FLAGS, (programs.GCC,), 0),
            # clang leaves the return address out.
            ('clang', [], (programs.CLANG, '--target=x86_64-w64-mingw32'),
             SLOT)):
        program, usage = build(os.path.join(scratch, name), flags, compiler)
        rows, code, text = static(programs.windows_path(program))
        results.check(code == 0 and rows, name + ': exit code', [text])
        seen = {row['function']: row for row in rows}
        functions = {key: value for key, value in usage.items()
                     if name != 'clang' or value[1] == 'static'}
        expected = {key: size + above
                    for key, (size, _) in functions.items()}
        results.check(len(expected) >= 10, '%s: %d functions' % (
            name, len(expected)))

        # Leaves of clang's have no unwind data, and take nothing.
        found = {key: int(seen[key]['frame']) if key in seen else SLOT
                 for key in expected}
        results.check(found == expected, name + ': bytes', [found, expected])
        results.check(len(set(found.values())) > 5 and
                      found['Large'] > 100000, name + ': control')
        results.check(all(seen[key]['dynamic'] == 'yes'
                          for key, (_, how) in usage.items()
                          if how == 'dynamic'), name + ': dynamic')
        if name not in ('gcc-O0', 'clang'):
            results.check({key for key, (_, how) in usage.items()
                           if how == 'dynamic'} ==
                          {key for key in usage if key in seen and
                           seen[key]['dynamic'] == 'yes'},
                          name + ': nothing else is dynamic')
        results.check(
            all(int(row['frame']) == int(row['locals']) + int(row['saved']) +
                SLOT for row in rows), name + ': parts')
        sizes = [int(row['frame']) for row in rows]
        results.check(sizes == sorted(sizes, reverse=True), name + ': order')


def unwind_frames(image):
    """What llvm-readobj reads: RVA -> (frame, saved, has frame register)."""
    text = subprocess.run([READOBJ, '--unwind', image], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    found = {}
    for part in text.split('RuntimeFunction {')[1:]:
        if 'Chained' in part:
            continue
        start = int(re.search(r'StartAddress: [^(\n]*\(?0x([0-9A-F]+)',
                              part).group(1), 16)
        saved = SLOT * part.count('PUSH_NONVOL')
        size = SLOT + saved + sum(
            map(int, re.findall(r'ALLOC_\w+ size=(\d+)', part)))
        found[start] = size, saved, 'SET_FPREG' in part
    return found


def check_images(results):
    """Every function of two products, with PDBs."""
    if shutil.which(READOBJ) is None:
        results.skip(READOBJ + ' is not there')
        return
    for name in 'TraceReader.exe', 'TestPenter.exe':
        image = os.path.join(programs.BIN, name)
        if not os.path.exists(image):
            results.skip(name + ' is not there')
            continue
        expected = unwind_frames(image)
        base = min(expected)
        rows, _, text = static(programs.windows_path(image))
        if base >= 1 << 30:
            # Absolute: the image base is the default one.
            expected = {key - 0x140000000: value
                        for key, value in expected.items()}
        seen = {int(row['rva'], 16): (int(row['frame']), int(row['saved']),
                                      row['dynamic'] == 'yes')
                for row in rows}
        results.check(len(seen) > 200, '%s: %d functions' % (
            name, len(seen)), [text[:300]])
        differences = [(hex(key), seen.get(key), expected.get(key))
                       for key in set(seen) | set(expected)
                       if seen.get(key) != expected.get(key)]
        results.check(not differences, name + ': as llvm-readobj says',
                      differences[:10])
    names = {row['function'] for row in rows}
    results.check('TestMain' in names or 'mainCRTStartup' in names,
                  'names from the PDB', sorted(names)[:5])


def expect_used(store, resolve, usage):
    """The same from the records: (used, chain, functions).

    In gcc's -pg code RSP at the hook is where the return address is.
    """
    frames, functions, best = [], {}, (0, [])
    for _, rva, rsp, kind in store.records():
        used = (store.StackBase - rsp) & 0xFFFFFFFF
        if kind == ENTER:
            name = resolve(rva)
            own = usage[name][0] - SLOT
            if frames:
                frames[-1][2] = max(frames[-1][2], used - frames[-1][1])
                for frame in frames:
                    frame[3] = max(frame[3], used + own)
            frames.append([name, used, SLOT + own, used + own])
            if used + own > best[0]:
                best = used + own, [(frame[0], frame[1]) for frame in frames]
        else:
            name, start, share, lowest = frames.pop()
            row = functions.setdefault(name, [0, share, 0, 0])
            row[0] += 1
            row[1] = min(row[1], share)
            row[2] = max(row[2], share)
            row[3] = max(row[3], lowest - start + SLOT)
    used, chain = best
    ends = [start - SLOT for _, start in chain[1:]] + [used]
    levels = [('', chain[0][1] - SLOT, chain[0][1] - SLOT)]
    levels += [(name, end - (start - SLOT), end)
               for (name, start), end in zip(chain, ends)]
    return used, levels, functions


def read_names(program):
    text = subprocess.run([programs.NM, program], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    path = program + '.nm'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return trace_reader.read_symbols(path)


def check_used(results, scratch):
    """gcc's -pg: exact, from the outermost call to the last leaf."""
    program = os.path.join(scratch, 'gcc-hooks', 'Stack.exe')
    usage = read_usage(os.path.join(scratch, 'gcc-hooks', 'Stack.su'))
    directory = os.path.join(scratch, 'used')
    code, text = support.run(program, directory=directory)
    results.check(code == 0, 'the program', [text])
    session = support.sessions(directory)[0]
    path = programs.windows_path(session)
    resolve = read_names(program)
    found, code, text = tables(path)
    results.check(code == 0, 'exit code', [text])
    everything = {}
    for store in trace_reader.open_all([session]):
        used, levels, functions = expect_used(store, resolve, usage)
        thread = str(store.ThreadId)
        row, = [row for row in found['stacks'] if row['thread'] == thread]
        results.check(
            (int(row['used']), int(row['reserved']), row['exact'],
             row['fiber'], int(row['levels']), row['function']) ==
            (used, store.StackBase - store.StackLimit, 'yes', '0',
             len(levels) - 1, levels[-1][0]),
            'used by a thread: %d' % used, [row])
        seen = [(row['function'], int(row['bytes']), int(row['total']))
                for row in found['paths'] if row['thread'] == thread]
        seen[0] = ('',) + seen[0][1:]
        results.check(seen == levels, 'the chain', [seen[:6], levels[:6]])
        results.check(sum(level[1] for level in seen) == used,
                      'the chain adds up')
        for name, numbers in functions.items():
            row = everything.setdefault(name, [0, numbers[1], 0, 0])
            row[0] += numbers[0]
            row[1] = min(row[1], numbers[1])
            row[2] = max(row[2], numbers[2])
            row[3] = max(row[3], numbers[3])
    seen = {row['function']: [int(row[field]) for field in (
        'calls', 'least', 'most', 'with_callees')]
        for row in found['functions']}
    results.check(seen == everything, 'functions', [
        (key, seen.get(key), everything.get(key))
        for key in set(seen) | set(everything)
        if seen.get(key) != everything.get(key)])

    # What the program is known to take.
    chains = {}
    for row in found['paths']:
        chains.setdefault(row['thread'], []).append(row['function'])
    results.check(sorted(chain[-2:] for chain in chains.values()) ==
                  [['Large', 'Touch'], ['Recurse', 'Touch']],
                  'who used the most', chains.values())
    results.check(20000 <= seen['Variable'][2] < 20200 and
                  1000 <= seen['Variable'][1] < 1200, 'alloca', [seen])
    results.check(30000 <= seen['LargeLeaf'][2] < 30100, 'a leaf', [seen])

    check_options(results, path, found, len(seen))


def check_options(results, path, found, count):
    text = support.reader('stack', path)[1]
    results.check('levels)' in text and 'Not exact' not in text and
                  text.count(' Recurse\n') < 80, 'text leaves levels out',
                  text.splitlines()[:5])
    some, _, _ = tables('--min', '1K', path)
    results.check({row['function'] for row in some['functions']} ==
                  {row['function'] for row in found['functions']
                   if int(row['most']) >= 1024} and
                  0 < len(some['functions']) < count, '--min')
    some, _, _ = tables('--limit', '2', path)
    results.check(some['functions'] == found['functions'][:2], '--limit')
    some, _, _ = tables('--function', 'Large', path)
    results.check(sorted(row['function'] for row in some['functions']) ==
                  ['Large', 'LargeLeaf'], '--function')
    thread = found['stacks'][0]['thread']
    some, _, _ = tables('--thread', thread, path)
    results.check([row['thread'] for row in some['stacks']] == [thread],
                  '--thread')
    value = json.loads(support.reader('stack', '--json', path)[1])
    results.check([len(value[name]) for name in (
        'stacks', 'paths', 'functions')] ==
        [len(found[name]) for name in ('stacks', 'paths', 'functions')],
        'JSON')
    rows, code, text = static('--min', '5000', '--function',
                              'Page,Small,Large', path)
    results.check(code == 0 and [row['function'] for row in rows] ==
                  ['Large', 'LargeLeaf', 'Page'], '--static of a session',
                  [text])
    rows, code, text = static('--function', 'nothing-of-that-name', path)
    results.check(code == 3 and not rows, '--static: nothing is left', [text])


def check_functions(results, scratch):
    """-finstrument-functions: the hooks run in the body, and at the end."""
    program = os.path.join(scratch, 'gcc-functions', 'Stack.exe')
    usage = read_usage(os.path.join(scratch, 'gcc-functions', 'Stack.su'))
    directory = os.path.join(scratch, 'functions')
    support.run(program, directory=directory)
    found, code, text = tables(programs.windows_path(
        support.sessions(directory)[0]))
    seen = {row['function']: row for row in found['functions']}
    results.check(code == 0 and len(seen) >= 12, 'functions: %d' % len(seen),
                  [text])
    for name in 'Small', 'Page', 'Large', 'LargeLeaf', 'Many', 'Nothing':
        results.equal(int(seen[name]['most']), usage[name][0],
                      'functions: ' + name)
    for name, size in ('Variable', 20000), ('VariableLeaf', 7000):
        results.check(size <= int(seen[name]['most']) < size + 300,
                      'functions: alloca in ' + name, [seen[name]])


def check_made_up(results, scratch):
    """Without an image: a fiber, what is not known, deep recursion."""
    folder = os.path.join(scratch, 'made-up')
    os.makedirs(folder)
    a, b, c = 0x1000, 0x2000, 0x3000
    top, fiber = made.TOP, made.FIBER
    path = programs.windows_path(made.write(
        os.path.join(folder, 'fiber.trace'), [
            (10, a, top - 64, ENTER), (20, b, top - 256, ENTER),
            (25, a, fiber - 16, ENTER), (26, c, fiber - 1016, ENTER),
            (27, c + 9, fiber - 1016, EXIT), (28, b, fiber - 500, ENTER),
            (29, b + 9, fiber - 500, EXIT), (30, a + 9, fiber - 16, EXIT),
            (40, b + 9, top - 256, EXIT), (41, c, top - 128, ENTER),
            (42, c + 9, top - 128, EXIT), (50, a + 9, top - 64, EXIT)]))
    found, code, text = tables(path)
    results.check(code == 0 and [
        (row['fiber'], row['reserved'], row['used'], row['levels'],
         row['exact']) for row in found['stacks']] ==
        [('0', str(0x100000), '256', '2', 'no'),
         ('1', '', '1008', '2', 'no')], 'a fiber', [text])
    results.check([(row['fiber'], row['level'], row['bytes'], row['total'])
                   for row in found['paths']] ==
                  [('0', '0', '56', '56'), ('0', '1', '192', '248'),
                   ('0', '2', '8', '256'), ('1', '1', '1000', '1000'),
                   ('1', '2', '8', '1008')], 'chains', [found['paths']])
    numbers = sorted((row['rva'], row['calls'], row['least'], row['most'],
                      row['with_callees']) for row in found['functions'])
    results.check(numbers == [('0x1000', '2', '192', '1000', '1008'),
                              ('0x2000', '2', '8', '8', '8'),
                              ('0x3000', '2', '8', '8', '8')],
                  'functions without an image', numbers)
    text = support.reader('stack', path)[1]
    results.check('Not exact' in text, 'text says what is not exact')

    # Random depths: the deepest chain, and no other.
    numbers = random.Random(11)
    records, stack, best, chain, time = [], [], 0, [], 100
    for _ in range(20000):
        time += 1
        if stack and (numbers.random() < 0.5 or len(stack) > 300):
            function, rsp = stack.pop()
            records.append((time, function + 9, rsp, EXIT))
        else:
            rsp = (stack[-1][1] if stack else top) - 8 * numbers.randrange(
                2, 20)
            function = 0x1000 * numbers.randrange(1, 30)
            stack.append((function, rsp))
            records.append((time, function, rsp, ENTER))
            if top - rsp > best:
                best, chain = top - rsp, list(stack)
    path = programs.windows_path(made.write(
        os.path.join(folder, 'random.trace'), records))
    found, _, _ = tables(path)
    results.equal(int(found['stacks'][0]['used']), best, 'random: used')
    results.check([int(row['function'].split('+0x')[1], 16)
                   for row in found['paths'] if row['level'] != '0'] ==
                  [function for function, _ in chain], 'random: the chain')


def check_bad(results, scratch):
    """What is no image, and damaged images: no crash, one line that says."""
    folder = os.path.join(scratch, 'bad')
    os.makedirs(folder)
    with open(os.path.join(scratch, 'gcc', 'Stack.exe'), 'rb') as file:
        good = file.read()
    bad = {'empty': b'', 'text': b'MZ, it says', 'cut': good[:600],
           'half': good[:len(good) // 2]}
    numbers = random.Random(3)
    for index in range(4):
        data = bytearray(good)
        for _ in range(2000 if index % 2 else 40):
            place = numbers.randrange(
                0x400 if index % 2 else 0, len(data) if index % 2 else 0x300)
            data[place] = numbers.randrange(256)
        data[:2] = b'MZ'
        bad['random%d' % index] = bytes(data)
    for name, data in bad.items():
        path = os.path.join(folder, name + '.exe')
        with open(path, 'wb') as file:
            file.write(data)
        code, text, errors = support.reader('stack', '--static',
                                            programs.windows_path(path))
        results.check(code == 0 or code == 1 and errors.startswith(
            'TraceReader: '), 'a bad image: ' + name, [code, text, errors])
        if name in ('empty', 'text', 'cut'):
            results.check(code == 1, 'it is refused: ' + name)
    code, _, errors = support.reader('stack', '--static', 'Z:\\not\\there')
    results.check(code == 1 and errors, 'no such path')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_static(results, scratch)
        check_images(results)
        check_used(results, scratch)
        check_functions(results, scratch)
        check_made_up(results, scratch)
        check_bad(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
