#!/usr/bin/env python3
"""TRACER_EXCLUDE with real programs: the functions of the list vanish, all
others are called and abandoned as often as without it, and what the program
prints is the same.

The places in a list are compared with what objdump says calls the hooks; the
bytes of a DLL, which it prints itself when it is loaded and unloaded, with
those of its file.  Lists of another build, with garbage, with places that call
nothing, that were cut, and ones that are not there exclude nothing, and the log
says why; one that names the bytes of a constant changes nothing.  The same holds where functions are chronological beside a tree.
"""
# Takes long.

import json
import os
import random
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestChrono as chrono                                  # noqa: E402
import programs                                              # noqa: E402

OBJDUMP = 'x86_64-w64-mingw32-objdump'
SOURCE = os.path.join(programs.PROGRAMS, 'Exclude.c')
HOOKS = ('_penter', '_pexit', '__return__', '__fentry__',
         '__cyg_profile_func_enter', '__cyg_profile_func_exit')
CLANG = (programs.CLANG, '--target=x86_64-w64-mingw32')
NOP = '0f1f440000'

BUILDS = [
    ('gcc -mfentry', (programs.GCC, '-O2'), programs.PENTER_FLAGS),
    ('gcc', (programs.GCC, '-O2'), programs.FUNCTION_FLAGS),
    ('clang', (*CLANG, '-O2'), programs.FUNCTION_FLAGS),
]

LUA = """
local function fib(n) if n < 2 then return n end
  return fib(n - 1) + fib(n - 2) end
local t = {} for i = 1, 200 do t[i] = (i * 7919) % 1000 end
table.sort(t) table.sort(t, function(a, b) return a > b end)
local s = string.format('%d %s %5.2f', 3, 'x', 1.5) .. table.concat(t, ',')
s = s:gsub('%d+', function(x) return #x end):rep(3):upper()
for i = 1, 5 do pcall(function() error({}) end) end
local co = coroutine.wrap(function() for i = 1, 20 do coroutine.yield(i) end
  end)
for i = 1, 20 do co() end
local f = load('local a = 1 for i = 1, 10 do a = a * 2 + i end return a')
collectgarbage()
print(fib(10), #s, f(), math.floor(3.7), string.pack('i4', 7):byte(1, -1))
"""


#
# Building and running.
#

def build(folder, compiler, flags, name, *more, shared=False, source=SOURCE):
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, name)
    subprocess.run([*programs.CACHE, *compiler, *flags, *more, '-c', source,
                    '-o', target + '.o'], check=True)
    subprocess.run([programs.GCC, target + '.o', programs.LIBRARY, '-static',
                    *(['-shared'] if shared else []), '-o', target],
                   check=True)
    return target


class Run:
    """A run of a program: its output, its log, its functions' calls."""

    def __init__(self, directory, program, *arguments, exclude=None,
                 **environment):
        if exclude:
            environment['TRACER_EXCLUDE'] = programs.windows_path(exclude)
        self.text, self.session = programs.trace(
            program, *arguments, directory=directory, **environment)
        self.log = ''
        for name in sorted(os.listdir(self.session)):
            if name.endswith('.log'):
                path = os.path.join(self.session, name)
                with open(path, encoding='utf-8') as file:
                    self.log += file.read()
        self.calls = {name: (row['rows'], row['calls'], row['abandoned'])
                      for name, row in
                      programs.read_report(self.session).items()}

    def output(self):
        """Without the bytes, which may differ."""
        return [line for line in self.text.split('\n')
                if not re.match('(at|de)tach ', line)]


class Runs:
    """Runs in folders of their own."""

    def __init__(self, scratch, **environment):
        self.scratch, self.environment = scratch, environment
        self.number = 0

    def __call__(self, program, *arguments, exclude=None):
        self.number += 1
        return Run(os.path.join(self.scratch, 'run-%d' % self.number),
                   program, *arguments, exclude=exclude, **self.environment)


@programs.watch.unless_wine_failed
def exclude(path, *names, output=None, more=()):
    """(exit code, output, errors) of TraceReader exclude."""
    command = [programs.WINE, programs.READER, 'exclude', *more]
    if output:
        command += ['-o', programs.windows_path(output)]
    done = programs.watch.run([*command, programs.windows_path(path), *names],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = (text.decode().replace('\r\n', '\n')
                      for text in (done.stdout, done.stderr))
    return programs.watch.ExitCode(done.returncode, errors), output, errors


def refused(errors):
    return set(re.findall(r'not excluded: [^!\n]+!(.*?): (?:a call|it calls|'
                          r'no call)', errors))


def read_list(path):
    """[(functions {name: (begin, end)}, places {(kind, RVA)})], modules."""
    groups, modules = [], []
    with open(path, encoding='utf-8') as file:
        lines = file.read().split('\n')
    if lines[0] != 'tracer-exclude 2' or lines[-2:] != ['end', '']:
        raise RuntimeError('no list: %s' % lines)
    for line in lines[1:-2]:
        words = line.split(' ')
        if words[0] == 'module':
            modules.append(words[1:])
        elif words[0] == 'function':
            if not groups or groups[-1][1]:
                groups.append(({}, set()))
            groups[-1][0][' '.join(words[3:])] = (int(words[1], 16),
                                                  int(words[2], 16))
        elif words[0] in ('call', 'jump'):
            groups[-1][1].add((words[0], int(words[1], 16)))
        elif line and not line.startswith('#'):
            raise RuntimeError('a line: %s' % line)
    return groups, modules


def hook_places(program):
    """function -> places that call hooks in its code, says objdump."""
    _, text = programs.run([OBJDUMP, '-d', '--no-show-raw-insn', program])
    base = int(re.search(r'ImageBase\s+([0-9a-f]+)', programs.run(
        [OBJDUMP, '-p', program])[1]).group(1), 16)
    places, function = {}, None
    for line in text.splitlines():
        begin = re.match(r'[0-9a-f]+ <(.*)>:$', line)
        if begin:
            function = begin.group(1)
        call = re.match(r'\s*([0-9a-f]+):\s+(call|jmp)q?\s+\S+ <(.*)>$', line)
        if call and call.group(3) in HOOKS and not function.startswith('..'):
            places.setdefault(function, set()).add(
                ('call' if call.group(2) == 'call' else 'jump',
                 int(call.group(1), 16) - base))
    return places


def file_bytes(image, name, count):
    """The first bytes of a function in an image's file."""
    _, text = programs.run([programs.NM, image])
    address = int(re.search(r'^(\S+) T %s$' % name, text, re.M).group(1), 16)
    with open(image, 'rb') as file:
        data = file.read()
    at = struct.unpack_from('<I', data, 0x3C)[0]
    sections, optional = (struct.unpack_from('<H', data, at + 6)[0],
                          struct.unpack_from('<H', data, at + 20)[0])
    rva = address - struct.unpack_from('<Q', data, at + 48)[0]
    for number in range(sections):
        _, start, size, raw = struct.unpack_from(
            '<4I', data, at + 24 + optional + 40 * number + 8)
        if start <= rva < start + size:
            return data[rva - start + raw:][:count].hex()
    raise RuntimeError(name)


def less(calls, names):
    return {name: row for name, row in calls.items() if name not in names}


def differences(expected, seen):
    return [(name, expected.get(name), seen.get(name))
            for name in sorted(set(expected) | set(seen))
            if expected.get(name) != seen.get(name)]


def check_less(results, title, full, run, names):
    """The run has all that the full one has but for the names."""
    results.check(set(names) <= set(full.calls), title + ': control',
                  sorted(set(names) - set(full.calls)))
    wrong = differences(less(full.calls, names), run.calls)
    results.check(not wrong, title + ': calls', wrong)
    results.equal(run.output(), full.output(), title + ': output')


#
# The tests.
#

def check_program(results, scratch, runs, title, compiler, flags):
    """An EXE and the DLL that it loads twice."""
    folder = os.path.join(scratch, title.replace(' ', ''))
    program = build(folder, compiler, flags, 'program.exe')
    module = build(folder, compiler, flags, 'module.dll', '-DEXCLUDE_DLL',
                   shared=True)
    path = programs.windows_path(module)
    where = os.path.join(folder, 'list')
    full = runs(program, path)
    inlined = {'Inlined'} & set(full.calls)
    results.equal(bool(inlined), flags == programs.FUNCTION_FLAGS,
                  title + ': hooks of what is inlined')

    #
    # One list for both, by way of the session.
    #

    names = {'Leaf', 'Several', 'Leave', 'DllLeaf'} | inlined
    code, text, errors = exclude(full.session, 'Lea*', 'program!Several',
                                 'module.DLL!DllLeaf', *inlined, output=where)
    results.equal((code, errors), (0, ''), title + ': exclude')
    groups, modules = read_list(where)
    places = set().union(*(group[1] for group in groups))
    results.equal({name for group in groups for name in group[0]}, names,
                  title + ': functions')
    results.equal(text, '%d of %d functions are excluded; their hooks are '
                  'called at %d places.\n' % (len(names), len(names),
                                              len(places)), title + ': text')
    results.equal(sorted(name[-1] for name in modules),
                  ['module.dll', 'program.exe'], title + ': modules')
    said = {**hook_places(program), **hook_places(module)}
    if not inlined:
        wrong = [(name, said[name], group[1]) for group in groups
                 for name in group[0] if said[name] != group[1]]
        results.check(not wrong, title + ': places', wrong)
    results.check(places <= set().union(*said.values()),
                  title + ': places are calls', [places])
    run = runs(program, path, exclude=where)
    check_less(results, title, full, run, names)
    results.equal(run.log, '', title + ': log')

    #
    # The bytes: both times that it was loaded.
    #

    shown = re.findall(r'^(attach|detach) (\w+) (\w+)$', run.text, re.M)
    results.equal([row[:2] for row in shown],
                  2 * [(when, name) for when in ('attach', 'detach')
                       for name in ('DllLeaf', 'DllOuter')],
                  title + ': bytes')
    for when, name, data in shown:
        same = data == file_bytes(module, name, 48)
        results.equal(same, (when, name) != ('attach', 'DllLeaf'),
                      '%s: bytes at %s of %s' % (title, when, name))
        if not same and not inlined:
            results.equal(data[:10], NOP, title + ': what is in their place')

    #
    # By address; all functions; names that are not there.
    #

    begin, end = [function for group in groups
                  for name, function in group[0].items() if name == 'Leaf'][0]
    span = 'program.exe!0x%x-0x%X' % (begin, end)
    code, _, errors = exclude(full.session, span, output=where)
    results.equal((code, errors), (0, ''), title + ': a range')
    results.equal([set(group[0]) for group in read_list(where)[0]],
                  [{'Leaf'}], title + ': functions of a range')
    check_less(results, title + ': a range', full,
               runs(program, path, exclude=where), {'Leaf'})
    code, text, errors = exclude(full.session, '0x0-0xffffff')
    results.equal((code, errors), (0, ''), title + ': all')
    with open(where, 'w', encoding='utf-8') as file:
        file.write(text)
    run = runs(program, path)
    results.equal(differences(full.calls, run.calls), [], title + ': control')
    directory = os.path.join(scratch, 'none-' + title.replace(' ', ''))
    os.makedirs(directory)
    code, text = programs.run_windows(
        program, path, directory=directory,
        TRACER_EXCLUDE=programs.windows_path(where),
        TRACER_DIRECTORY=programs.windows_path(directory))
    results.equal((code, sorted(text.split('\n')[-2:])),
                  (0, sorted(full.text.split('\n')[-2:])),
                  title + ': all are excluded')
    results.check(not [name for name in os.listdir(os.path.join(
        directory, (os.listdir(directory) or [''])[0]))
        if name.endswith('.trace')] if os.listdir(directory) else True,
        title + ': all are excluded: no store')
    return full, program, path


def check_refusals(results, scratch, runs, full, program, path):
    """Lists that exclude nothing, or not all."""
    where = os.path.join(scratch, 'refused.list')
    code, _, _ = exclude(program, 'Leaf', 'Several', output=where)
    results.equal(code, 0, 'exclude IMAGE')
    with open(where, encoding='utf-8') as file:
        good = file.read()
    lines = good.split('\n')

    def check(title, text, words, names=()):
        with open(where, 'w', encoding='utf-8', newline='') as file:
            file.write(text)
        run = runs(program, path, exclude=where)
        check_less(results, title, full, run, names)
        results.check(all(word in run.log for word in words) and
                      bool(run.log) == bool(words),
                      title + ': log', [run.log])

    check('a list', good, [], {'Leaf', 'Several'})
    check('line ends of DOS', '\r\n'.join(lines), [], {'Leaf', 'Several'})
    nothing = 'no function of this module is excluded'
    check('a garbage line', good + 'call everything\n',
          ['reading TRACER_EXCLUDE: line %d of refused.list' % len(lines),
           'STATUS_FILE_INVALID', nothing])
    check('no list', 'garbage\n' + good, ['line 1 of refused.list'])
    check('a list of another version', good.replace(' 2\n', ' 1\n', 1),
          ['reading TRACER_EXCLUDE, which is of another version than '
           'tracer-exclude 2: refused.list: 0xC0000058 '
           '(STATUS_UNKNOWN_REVISION)', nothing])
    cuts = (0, 5, len(lines[0]), len(good) // 2, len(good) - len('\nend\n'),
            len(good) - len('nd\n'))
    for size in cuts:
        check('cut at %d of %d' % (size, len(good)), good[:size],
              ['reading TRACER_EXCLUDE, whose last line, "end", is missing: '
               'refused.list: 0xC0000011 (STATUS_END_OF_FILE)', nothing])
    check('its last line feed', good[:-1], [], {'Leaf', 'Several'})
    check('too large a list', good + '#' * 0x400000,
          ['reading TRACER_EXCLUDE', '0xC0000904'])

    #
    # A place that calls no hook: its function is recorded, others are not.
    #

    places = [index for index, line in enumerate(lines)
              if line.startswith(('call ', 'jump '))]
    wrong = list(lines)
    rva = int(wrong[places[0]].split(' ')[1], 16) + 1
    wrong[places[0]] = '%s %08x' % (wrong[places[0]].split(' ')[0], rva)
    first = [line for line in lines[:places[0]]
             if line.startswith('function ')][-1].split(' ')[3]
    check('a wrong place', '\n'.join(wrong),
          ['no hook is called at 0x%x' % rva, '1 functions are recorded, '
           '1 are excluded'], {'Leaf', 'Several'} - {first})

    os.remove(where)
    run = runs(program, path, exclude=where)
    check_less(results, 'no list', full, run, ())
    results.check('opening TRACER_EXCLUDE' in run.log and
                  'STATUS_OBJECT_NAME_NOT_FOUND' in run.log, 'no list: log',
                  [run.log])


def check_within(results, scratch, runs):
    """A list of somebody who means harm: the bytes of a call in a constant."""
    title, compiler, flags = BUILDS[0]
    folder = os.path.join(scratch, 'within')
    program = build(folder, compiler, flags, 'within.exe',
                    source=os.path.join(programs.PROGRAMS, 'ExcludeWithin.c'))
    full = runs(program)
    _, text = programs.run([programs.NM, program])
    address, hook = (int(re.search(r'^(\S+) T %s$' % name, text,
                                   re.M).group(1), 16)
                     for name in ('Within', '_penter'))
    data = bytes.fromhex(file_bytes(program, 'Within', 8))
    results.equal((data[0], address + 5 +
                   struct.unpack_from('<i', data, 1)[0], data[5:].hex()),
                  (0xe8, hook, '909090'), 'within: control: a call')
    results.equal(full.output()[0].split(' ')[0].lower(), data[::-1].hex(),
                  'within: control: it is printed')
    base = int(re.search(r'ImageBase\s+([0-9a-f]+)', programs.run(
        [OBJDUMP, '-p', program])[1]).group(1), 16)
    where = os.path.join(folder, 'list')
    _, text, _ = exclude(program, 'Other')
    with open(where, 'w', encoding='utf-8') as file:
        file.write(text.replace('\nend\n', '\nfunction %x %x Within\n'
                                'call %x\nend\n' %
                                (address - base, address - base + 8,
                                 address - base)))
    run = runs(program, exclude=where)
    check_less(results, 'within', full, run, {'Other'})
    results.check('no hook is called at 0x%x; 1 functions are recorded, 1 are '
                  'excluded' % (address - base) in run.log, 'within: log',
                  [run.log])


def chronological(run, resolve):
    """The names of what a run's ranges have, and of each entry's kind."""
    return [[(event.name, event.is_entry)
             for event in chrono.events(store, resolve)]
            for store in run.ranges]


def check_chronological(results, scratch, title, compiler, flags):
    """The functions of one list are chronological, those of another are not
    recorded at all."""
    title += ', chronological'
    folder = os.path.join(scratch, title.replace(' ', ''))
    program = build(folder, compiler, flags, 'program.exe')
    module = build(folder, compiler, flags, 'module.dll', '-DEXCLUDE_DLL',
                   shared=True)
    path = programs.windows_path(module)
    ranges, where = (os.path.join(folder, name) for name in ('ranges',
                                                             'list'))
    parts = []
    for image, names in ((program, ('Middle', 'Recursive')),
                         (module, ('DllOuter',))):
        code, text, _ = exclude(image, *names)
        results.equal(code, 0, title + ': functions')
        parts.append(text.split('\n')[:-2])
    with open(ranges, 'w', encoding='utf-8') as file:
        file.write('\n'.join([*parts[0], *parts[1][1:], 'end', '']))
    environment = {'TRACER_MODE': 'tree',
                   'TRACER_CHRONO': programs.windows_path(ranges)}
    runs = Runs(os.path.join(folder, 'report'), **environment)
    full = runs(program, path)
    names = {'Leaf', 'DllLeaf', 'Several'}
    code, _, _ = exclude(full.session, 'Lea*', 'DllLeaf', 'Several',
                         '-Leave', output=where)
    results.equal(code, 0, title + ': exclude')
    run = runs(program, path, exclude=where)
    check_less(results, title, full, run, names)
    results.equal((full.log, run.log), ('', ''), title + ': log')

    #
    # The ranges: those of the program, by an other reader.
    #

    resolve = chrono.resolver(program)
    full = chrono.Run(folder, program, **environment)
    run = chrono.Run(folder, program,
                     TRACER_EXCLUDE=programs.windows_path(where),
                     **environment)
    results.check(full.is_right and run.is_right and full.text == run.text,
                  title + ': output', [full.text, run.text])
    seen = chronological(full, resolve)
    results.check(len(seen) == 1 and ('Leaf', True) in seen[0] and
                  ('Several', True) in seen[0],
                  title + ': control: ranges', [len(seen)])
    results.equal(chronological(run, resolve),
                  [[event for event in store if event[0] not in names]
                   for store in seen], title + ': ranges')

    #
    # Each list is cut: the other one counts.
    #

    with open(where, encoding='utf-8') as file:
        good = file.read()
    cut = os.path.join(folder, 'cut')
    with open(cut, 'w', encoding='utf-8') as file:
        file.write(good[:-len('end\n')])
    run = chrono.Run(folder, program,
                     TRACER_EXCLUDE=programs.windows_path(cut), **environment)
    results.equal(chronological(run, resolve), seen,
                  title + ': a list that was cut: ranges')
    results.check('reading TRACER_EXCLUDE, whose last line' in run.log,
                  title + ': a list that was cut: log', [run.log])
    run = chrono.Run(folder, program,
                     TRACER_EXCLUDE=programs.windows_path(where),
                     **{**environment,
                        'TRACER_CHRONO': programs.windows_path(cut)})
    results.check(not run.ranges and run.is_right and
                  run.log.count('reading TRACER_CHRONO, whose last line') == 1
                  and 'TRACER_EXCLUDE' not in run.log,
                  title + ': ranges that were cut', [run.log])
    listed = {resolve(tree.rva(node)) for tree in run.trees
              for node in tree.nodes[1:] if not node.is_other}
    results.check('Middle' in listed and not names & listed,
                  title + ': ranges that were cut: the tree', sorted(listed))


def check_other_build(results, scratch, runs, full, path):
    """The list of one build is refused by the next, by name."""
    title, compiler, flags = BUILDS[0]
    where = os.path.join(scratch, 'other.list')
    folder = os.path.join(scratch, 'other')
    old = os.path.join(scratch, title.replace(' ', ''), 'program.exe')
    code, _, _ = exclude(old, 'Leaf', output=where)
    other = build(folder, compiler, flags, 'program.exe',
                  '-DEXCLUDE_OTHER_BUILD')
    run = runs(other, path, exclude=where)
    check_less(results, 'another build', full, run, ())
    results.check(code == 0 and
                  'comparing the image with that of TRACER_EXCLUDE: '
                  'program.exe: 0xC0000059 (STATUS_REVISION_MISMATCH); no '
                  'function of this module is excluded' in run.log and
                  run.log.count('\n') == 1, 'another build: log', [run.log])


def check_command(results, scratch, program):
    where = os.path.join(scratch, 'command.list')
    for names, code, words in (
            ((), 1, 'a NAME or --functions-from is needed'),
            (('Nothing',), 3, 'has the name Nothing'),
            (('Leaf', 'Lea'), 3, 'has the name Lea '),
            (('other!Leaf',), 3, 'has the name other!Leaf'),
            (('0x10-0x8',), 3, '0x10-0x8'),
            (('*', '-Nothing'), 3, 'has the name Nothing'),
            (('*', '-Nothing*'), 3, 'has the name Nothing*'),
            (('other!*',), 3, 'has the name other!*'),
            (('-Leaf',), 1, '"*" means all'),
            (('*', '--nothing'), 1, 'unknown option --nothing'),
            (('printf_nothing*',), 3, 'printf_nothing*')):
        seen = exclude(program, *names, output=where)
        results.check(seen[0] == code and not seen[1] and words in seen[2] and
                      not os.path.exists(where), 'exclude %s' % (names,),
                      seen)

    #
    # All, and all but some.  What all is says the range of all addresses.
    #

    def listed(*names, more=()):
        code, text, errors = exclude(program, *names, more=more)
        results.equal((code, errors), (0, ''), 'exclude %s' % (names,))
        return sorted(re.findall(r'^function \S+ \S+ (\S+)$', text, re.M))

    every = listed('0x0-0xffffff')
    results.check(len(every) > 7 and {'Leaf', 'Leave', 'Several', 'main'} <
                  set(every), 'exclude: all functions', every)
    results.equal(listed('*'), every, 'exclude *')
    results.equal(listed('program!*'), every, 'exclude MODULE!*')
    for names, kept in (
            (('*', '-main'), {'main'}), (('-main', '*'), {'main'}),
            (('*', '-Lea*', '-program!Several', '-main'),
             {'Leaf', 'Leave', 'Several', 'main'}),
            (('Lea*', '-Leaf'), set(every) - {'Leave'}),
            (('*', '-*'), set(every))):
        results.equal(listed(*names), sorted(set(every) - kept),
                      'exclude %s: names' % (names,))
    with open(where, 'w', encoding='utf-8') as file:
        file.write('*\n -Leaf\n-main\n')
    results.equal(listed(more=('--functions-from',
                               programs.windows_path(where))),
                  sorted(set(every) - {'Leaf', 'main'}),
                  '--functions-from: all but some')
    os.remove(where)
    seen = exclude(os.path.join(scratch, 'not there.exe'), 'Leaf')
    results.check(seen[0] == 1 and '0xC0000034' in seen[2], 'no image', seen)
    seen = exclude(program, 'Leaf', more=(
        '--functions-from', programs.windows_path(where)))
    results.check(seen[0] == 1 and 'read the file of names' in seen[2] and
                  '0xC0000034' in seen[2], 'no file of names', seen)
    seen = exclude(program, *['Leaf'] * 33)
    results.check(seen[0] == 1 and 'too many arguments: Leaf' in seen[2],
                  'too many names', seen)
    with open(where, 'w', encoding='utf-8') as file:
        file.write('# some\r\n\r\n  Leaf  \r\nTa*\n')
    seen = exclude(program, 'Recursive', more=(
        '--functions-from', programs.windows_path(where)))
    results.equal((seen[0], sorted(re.findall(r'^function \S+ \S+ (\S+)$',
                                              seen[1], re.M))),
                  (0, ['Leaf', 'Recursive', 'Tail']), '--functions-from')


def check_hot(results, scratch, runs, full, program, path):
    """hot writes the list of the functions that it shows."""
    where = os.path.join(scratch, 'hot.list')
    code, text = programs.trace_reader(
        'hot', '--json', '--exclude-list', programs.windows_path(where),
        programs.windows_path(full.session))
    shown = {row['function'] for row in json.loads(text)['functions']}
    if not results.check(code == 0 and shown, 'hot', [code, text]):
        return
    groups, _ = read_list(where)
    results.equal({name for group in groups for name in group[0]}, shown,
                  'hot --exclude-list')
    check_less(results, 'hot --exclude-list', full,
               runs(program, path, exclude=where), shown)


def check_lua(results, scratch, runs, title, compiler, flags, rounds):
    source = programs.find_lua()
    if source is None:
        results.skip('no source of Lua')
        return
    folder = os.path.join(scratch, 'lua-' + title.replace(' ', ''))
    files = sorted(os.path.join(source, name) for name in os.listdir(source)
                   if name.endswith('.c') and name != 'luac.c')
    lua = programs.build(folder, files, [*flags, *programs.LUA_FLAGS],
                         'lua.exe', [programs.LIBRARY], compiler=compiler)
    script = os.path.join(folder, 'script.lua')
    with open(script, 'w', encoding='utf-8') as file:
        file.write(LUA)
    path = programs.windows_path(script)
    full = runs(lua, path)
    numbers = random.Random(7)
    where, names_file = (os.path.join(folder, name)
                         for name in ('list', 'names'))

    #
    # A name that several functions have would be excluded in part.
    #

    names = sorted(name for name, row in full.calls.items() if row[0] == 1)
    results.check(len(names) > 300, title + ': functions', [len(names)])
    for number in range(rounds):
        chosen = numbers.sample(names, len(names) // (2, 30, 4)[number % 3])
        with open(names_file, 'w', encoding='utf-8') as file:
            file.write('\n'.join(chosen))
        code, _, errors = exclude(lua, output=where, more=(
            '--functions-from', programs.windows_path(names_file)))
        left = refused(errors)
        groups, _ = read_list(where)
        listed = {name for group in groups for name in group[0]}
        results.equal((listed, code), (set(chosen) - left, 1 if left else 0),
                      '%s, round %d: list' % (title, number))
        results.check(len(left) <= 1 + len(chosen) / 20,
                      '%s, round %d: few are refused' % (title, number),
                      sorted(left))
        run = runs(lua, path, exclude=where)
        check_less(results, '%s, round %d' % (title, number), full, run,
                   listed)
        results.equal(run.log, '', '%s, round %d: log' % (title, number))


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        runs = Runs(scratch)
        for title, compiler, flags in BUILDS:
            full, program, path = check_program(results, scratch, runs, title,
                                                compiler, flags)
            if title == BUILDS[0][0]:
                check_refusals(results, scratch, runs, full, program, path)
                check_other_build(results, scratch, runs, full, path)
                check_command(results, scratch, program)
                check_within(results, scratch, runs)
            check_hot(results, scratch, runs, full, program, path)
            check_chronological(results, scratch, title, compiler, flags)
        if programs.LONG:
            check_lua(results, scratch, runs, 'Lua, gcc -mfentry',
                      (programs.GCC, '-O2'), programs.PENTER_FLAGS, 2)
            check_lua(results, scratch, runs, 'Lua, gcc',
                      (programs.GCC, '-O2'), programs.FUNCTION_FLAGS, 2)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
