#!/usr/bin/env python3
"""One tree a thread over all the modules that it runs in (TRACER_MODE=tree).

Programs/TreeModules.cpp is a program and up to five DLLs that call each other
back and forth, are loaded late, unloaded and loaded again, others at their
places, throw exceptions through each other, stop, clear and start recording
meanwhile, and run fibers.  It counts every
chain of calls itself, and reads the hooks' clock around and inside every call:
the tree must have the same chains, and for each function a total and a self
time between the two, which holds whatever the machine does meanwhile.  The same
program's records (TRACER_MODE=file) must give the same chains.

    TestTreeModules.py [CASE...]
"""
# Takes long.

import bisect
import collections
import json
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import tree_reader                                           # noqa: E402
from StoreSupport import programs              # noqa: E402

SOURCE = os.path.join(programs.PROGRAMS, 'TreeModules.cpp')
GXX = 'x86_64-w64-mingw32-g++'
FLAGS = ['-O2', '-g', '-gdwarf-4', '-fno-optimize-sibling-calls',
         '-fno-ipa-icf']
PENTER = programs.PENTER_FLAGS
FUNCTIONS = programs.FUNCTION_FLAGS
NAMES = ['Host', 'Alpha', 'Beta', 'Gamma', 'Delta', 'Omega']
STAMP = b'Tracer: shared trees, \0\0'
TREE = {'TRACER_MODE': 'tree'}


def build(folder, number, convention, base=None, name=None):
    """Builds a module; returns its path."""
    name = name or NAMES[number]
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, name + ('.exe' if number == 0 else '.dll'))
    made = os.path.join(folder, name + '.o')
    defines = ['-DMODULE=%d' % number,
               *('-D%s=%s%s' % (each, NAMES[number], each) for each in 'ABT')]
    if number == 3:
        defines.append('-DTHROWS')
    if number == 0:
        defines += ['-DTRACER_PENTER', '-I',
                    os.path.join(programs.ROOT, 'Penter')]
    subprocess.run([*programs.CACHE, GXX, *FLAGS, *convention, *defines, '-c',
                    SOURCE, '-o', made], check=True)
    link = [] if number == 0 else ['-shared']
    if base is not None:
        link.append('-Wl,--image-base=0x%x' % base)
    subprocess.run([GXX, made, programs.LIBRARY, *link, '-static', '-o',
                    target], check=True)
    return target


def other_version(path):
    """Makes the library in a module one of another version."""
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    if data.count(STAMP) != 1:
        raise RuntimeError('%s: no stamp' % path)
    data[data.index(STAMP) + len(STAMP)] ^= 0x40
    with open(path, 'wb') as file:
        file.write(data)


class Account:
    """What the program says of itself."""

    def __init__(self, text):
        self.chains = collections.defaultdict(collections.Counter)
        self.times = collections.defaultdict(dict)
        self.threads = {}
        self.bases = collections.defaultdict(list)
        for line in text.split('\n'):
            words = line.split()
            if not words:
                continue
            if words[0] == 'chain':
                chain = tuple(words[3].split('/'))
                self.chains[int(words[1])][chain] += int(words[2])
            elif words[0] == 'times':
                self.times[int(words[1])][words[2]] = [
                    int(word) for word in words[3:]]
            elif words[0] == 'thread':
                self.threads[int(words[1])] = int(words[2])
            elif words[0] == 'base':
                self.bases[int(words[1])].append(words[2])

    def all_chains(self, without=()):
        """Chains of all threads; the calls of some functions left out."""
        found = collections.Counter()
        for chains in self.chains.values():
            for chain, calls in chains.items():
                if chain[-1] not in without:
                    found[tuple(name for name in chain
                                if name not in without)] += calls
        return found


class Modules:
    """The symbols of the modules that were built."""

    def __init__(self, paths):
        self.symbols = {}
        for path in paths:
            symbols = programs.write_symbols(path, path + '.symbols')
            with open(path, 'rb') as file:
                image = file.read(4096)
            base, = struct.unpack_from(
                '<Q', image, struct.unpack_from('<I', image, 0x3c)[0] + 0x30)
            self.symbols[os.path.basename(path)] = self.read(symbols, base)

    @staticmethod
    def read(path, base):
        with open(path, encoding='utf-8') as file:
            lines = [line.split() for line in file]
        return sorted((int(line[0], 16) - base, line[2]) for line in lines
                      if len(line) == 3 and line[1] in 'Tt' and
                      not line[2].startswith('.'))

    def name(self, tree, node):
        module = tree.modules[node.module]
        base = module.path.replace('\\', '/').rsplit('/', 1)[-1]
        symbols = self.symbols[base]
        index = bisect.bisect_right(symbols, (tree.rva(node), '\x7f')) - 1
        return symbols[index][1] if index >= 0 else hex(tree.rva(node))


def sums(trees, modules):
    """(chains, name -> [total, self]) of trees."""
    chains = collections.Counter()
    times = collections.defaultdict(lambda: [0, 0])
    for tree in trees:
        names = {0: ()}
        below = collections.Counter()
        for node in tree.nodes[1:]:
            names[node.index] = (names[node.parent] +
                                 (modules.name(tree, node),))
            if node.calls:
                chains[names[node.index]] += node.calls
            below[node.parent] += node.total
        for node in tree.nodes[1:]:
            own = times[names[node.index][-1]]
            own[0] += node.total
            own[1] += node.total - node.away - below[node.index]
    return chains, times


def outside(account, thread, times):
    """The functions whose times are not where the program says."""
    wrong = []
    for name, (inner, outer, inside, around) in account.times[thread].items():
        total, own = times.get(name, (0, 0))
        if not inner <= total <= outer:
            wrong.append('%s: total %d, not from %d to %d' %
                         (name, total, inner, outer))
        if not inner - around <= own <= outer - inside:
            wrong.append('%s: self %d, not from %d to %d' %
                         (name, own, inner - around, outer - inside))
    return wrong


def differ(left, right):
    return ['%s: %d, %d' % ('/'.join(chain), left[chain], right[chain])
            for chain in sorted(set(left) | set(right))
            if left[chain] != right[chain]]


def read_json(*arguments):
    code, text = programs.trace_reader(arguments[0], '--json', *arguments[1:])
    if code != 0:
        raise RuntimeError('%s: exit code %d' % (arguments, code))
    return json.loads(text)


def read_trees(session):
    return [tree_reader.Tree(path) for path in support.stores(session)]


def reader_chains(results, session, what):
    """Chains of `TraceReader tree`, and whose module each function is of."""
    answer = read_json('tree', programs.windows_path(session))
    chains = collections.Counter()
    above = {0: ()}
    wrong = []
    for row in answer['nodes']:
        chain = above[row['parent']] + (row['function'],)
        above[row['node']] = chain
        chains[chain] += row['calls']
        module = row['module'].rsplit('.', 1)[0]
        if not row['function'].startswith(module) and (
                row['function'] not in ('Hold', 'Catch', 'Throw')):
            wrong.append('%s of %s' % (row['function'], row['module']))
    results.check(not wrong, '%s: functions and their modules' % what, wrong)
    return collections.Counter({chain: calls for chain, calls in
                                chains.items() if calls})


def run(folder, host, dlls, case, rounds, name, **environment):
    """Runs the program; returns (Account, session directory)."""
    words = ['-' if dll is None else programs.windows_path(dll)
             for dll in dlls]
    text, session = programs.trace(host, case, str(rounds), *words,
                                   directory=os.path.join(folder, name),
                                   **environment)
    return Account(text), session


def check(results, folder, host, dlls, case, rounds, what, timed=True,
          without=(), records=True, **environment):
    """A case in both modes."""
    modules = Modules([host] + [dll for dll in dlls if dll is not None])
    account, session = run(folder, host, dlls, case, rounds, what + '-tree',
                           **TREE, **environment)
    trees = read_trees(session)
    found = collections.defaultdict(list)
    for tree in trees:
        found[tree.thread].append(tree)
    for thread, identifier in account.threads.items():
        mine = found[identifier]
        results.equal(len(mine), 1, '%s: trees of thread %d' % (what, thread))
        chains, times = sums(mine, modules)
        expected = collections.Counter()
        for chain, calls in account.chains[thread].items():
            if chain[-1] not in without:
                expected[tuple(each for each in chain
                               if each not in without)] += calls
        results.check(chains == expected and len(chains) > 20,
                      '%s: the chains of thread %d' % (what, thread),
                      differ(chains, expected) or [len(chains)])
        if timed:
            wrong = outside(account, thread, times)
            results.check(not wrong, '%s: times of thread %d' % (what, thread),
                          wrong)
        results.check(not any(tree.lost or tree.reentered or tree.unmatched
                              for tree in mine),
                      '%s: nothing is lost in thread %d' % (what, thread))
    code, text = programs.trace_reader('verify',
                                       programs.windows_path(session))
    results.check(code == 0, '%s: verify' % what, text.split('\n'))

    read = reader_chains(results, session, what)
    expected = account.all_chains(without)
    results.check(read == expected, '%s: TraceReader tree' % what,
                  differ(read, expected))

    if not records:
        return account, session, modules
    again, session_of_records = run(folder, host, dlls, case, rounds, what + '-file',
                         **environment)
    read = reader_chains(results, session_of_records, what + ', records')
    expected = again.all_chains(without)
    results.check(read == expected, '%s: records' % what,
                  differ(read, expected))
    if case not in ('owner', 'swap'):
        results.equal(again.all_chains(), account.all_chains(),
                      '%s: the program does the same twice' % what)
    return account, session, modules


def reports(results, folder, account, session):
    """What the other commands say of a session."""
    path = programs.windows_path(session)
    calls = collections.Counter()
    for chain, count in account.all_chains().items():
        calls[chain[-1]] += count

    answer = read_json('report', path)
    found = collections.Counter()
    for row in answer['functions']:
        found[row['function']] += row['calls']
    results.check(found == calls, 'report: calls', [found, calls])

    check_modules(results, path)
    answer = read_json('modules', path)
    found = {row['module'].rsplit('.', 1)[0]: row['calls']
             for row in answer['modules']}
    results.equal(found, {name: calls[name + 'A'] + calls[name + 'B']
                          for name in NAMES[:4]}, 'modules: calls')

    answer = read_json('callers', 'BetaA', path)
    text = repr(answer)
    results.check("'AlphaB'" in text and "'Alpha.dll'" in text,
                  'callers: of another module', [text[:400]])

    for words in (['info'], ['threads'], ['callees', 'HostA']):
        code, text = programs.trace_reader(*words, path)
        results.check(code == 0 and text, ' '.join(words),
                      text.split('\n')[:8])
    for form in ('folded', 'callgrind', 'csv'):
        output = os.path.join(folder, 'export.' + form)
        code, _ = programs.trace_reader('export', '--format', form, '--output',
                                        programs.windows_path(output), path)
        with open(output, encoding='utf-8') as file:
            text = file.read()
        results.check(code == 0 and 'GammaB' in text and (
            form == 'folded' or 'Gamma.dll' in text),
                      'export to %s' % form, text.split('\n')[:8])


def check_modules(results, path):
    """Who calls whom across modules: what the tree says is what its chains
    say, and all modules have a part in its store."""
    calls = collections.defaultdict(lambda: [0, 0])
    above = {0: None}
    for row in read_json('tree', path)['nodes']:
        module = row['module']
        above[row['node']] = module
        outer = above[row['parent']]
        calls[module][0] += row['calls'] if outer is None else 0
        calls[module][1] += row['calls'] if outer not in (None, module) else 0
    rows = read_json('modules', path)['modules']
    results.equal({row['module']: [row['calls_outermost'],
                                   row['calls_from_others']] for row in rows},
                  dict(calls), 'modules: calls from outside')
    results.check(all(outside > 50 for _, outside in calls.values()),
                  'modules: control: there are some', [dict(calls)])
    results.check(len({row['stores'] for row in rows}) == 1 and
                  rows[0]['stores'] > 0, 'modules: each is in every store',
                  [[row['stores'] for row in rows]])


def check_ranges(results, folder, host, three):
    """Every function begins a range: the records of the four modules, put
    together, are what the tree has, and a part of the time has those events of
    all that lie in it."""
    _, whole = run(folder, host, three, 'ping', 4, 'listed', **TREE)
    listed = os.path.join(folder, 'all.list')
    code, text, errors = support.reader(
        'exclude', '-o', programs.windows_path(listed),
        programs.windows_path(whole), 'Host*', 'Alpha*', 'Beta*', 'Gamma*')
    results.check(os.path.exists(listed), 'ranges: the list',
                  [code, text, errors])
    account, session = run(folder, host, three, 'ping', 12, 'ranges', **TREE,
                           TRACER_CHRONO=programs.windows_path(listed))
    path = programs.windows_path(session)
    events = read_json('replay', path)['events']
    calls = collections.Counter(row['function'] for row in events
                                if row['event'] == 'enter')
    expected = collections.Counter()
    for chain, count in account.all_chains().items():
        expected[chain[-1]] += count
    results.equal(calls, expected, 'ranges: calls of all modules')
    depths = collections.Counter()
    for chain, count in account.all_chains().items():
        depths[len(chain) - 1] += count
    results.equal(collections.Counter(row['depth'] for row in events
                                      if row['event'] == 'enter'), depths,
                  'ranges: they are nested across modules')
    times = sorted(row['time_ns'] for row in events)
    first, last = times[len(times) // 3], times[2 * len(times) // 3]
    part = read_json('replay', '--from', '%dns' % first, '--to',
                     '%dns' % last, path)['events']

    def inside(rows):
        return [(row['time_ns'], row['event'], row['function'])
                for row in rows if first < row['time_ns'] < last]

    results.check(inside(part) == inside(events) and len(part) < len(events)
                  and len(inside(part)) > len(events) // 4,
                  'ranges: a part of the time',
                  [len(part), len(events), len(inside(events))])


REFRESHES = 50      # after the program has stopped to wait, one will do


class Watched:
    """A program that waits for a line after each round, and a TraceReader live
    that looks at it from its first wait on."""

    def __init__(self, results, host, words, directory):
        self.results, self.live = results, None
        environment = dict(os.environ, TRACER_DIRECTORY=programs.windows_path(
            directory), **TREE)
        self.process = subprocess.Popen(
            [programs.WINE, host, *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment)
        self.wait()
        found = support.sessions(directory)
        results.equal(len(found), 1, 'live: one session')
        self.session = found[0]
        self.path = programs.windows_path(self.session)
        self.live = support.start(programs.READER, 'live', '--interval', '100',
                                  self.path)
        self.lines_of_refresh()

    def wait(self):
        while b'look' not in self.process.stdout.readline():
            if self.process.poll() is not None:
                raise RuntimeError('live: the program has ended')

    def lines_of_refresh(self):
        """What live writes up to the next refresh."""
        lines = []
        for line in self.live.stdout:
            lines.append(support.decode(line))
            if ' threads running, ' in lines[-1]:
                return ''.join(lines)
        raise RuntimeError('live: it has ended')

    def go_on(self, wanted=()):
        """One more round: which functions live shows, up to a refresh that
        has nothing new, and each one's calls since the start."""
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()
        self.wait()
        shown = set()
        for _ in range(REFRESHES if wanted else 3):
            new = marked(self.lines_of_refresh())[1]
            shown |= new
            if wanted and shown >= wanted and not new:
                break
        return shown, self.calls()

    def calls(self):
        return {row['function']: row['calls']
                for row in read_json('report', self.path)['functions']}

    def order(self, verb):
        code, text, errors, _ = support.ctl(self.session, verb)
        self.results.check(code == 0, 'live: ctl %s' % verb,
                           [code, text, errors])

    def end(self):
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()
        self.results.check(support.has_ended(self.process.wait()),
                           'live: the program')
        self.live.stdout.read()
        code = support.exit_code(self.live)
        self.results.check(support.has_ended(code), 'live: its exit code',
                           [code, code.errors])

    def kill(self):
        for process in (self.process, self.live):
            if process is not None:
                process.kill()
                process.wait()


def check_live(results, folder, host, three):
    """A module that is loaded while somebody looks at the running program: its
    functions are shown beside the others.  Somebody else stops and starts the
    recording of all modules: one tree, and one switch."""
    directory = os.path.join(folder, 'live')
    os.makedirs(directory)
    others = {'HostA', 'HostB', 'BetaA', 'BetaB', 'GammaA', 'GammaB'}
    every = others | {'AlphaA', 'AlphaB'}
    watched = Watched(results, host, [
        'live', '60', *map(programs.windows_path, three)], directory)
    try:
        first = watched.calls()
        results.equal(set(first), others, 'live: before a module comes')
        shown, second = watched.go_on(every)
        results.equal([shown, set(second)], [every, every],
                      'live: a module that comes later')
        watched.order('stop')
        shown, third = watched.go_on()
        results.equal([shown, third], [set(), second],
                      'live: nothing while it is stopped')
        watched.order('start')
        shown, last = watched.go_on(every)
        results.check(shown == every and all(last[name] > third[name]
                                             for name in every),
                      'live: every module is recorded again',
                      [shown, third, last])
        watched.end()
    finally:
        watched.kill()


SPLIT = 'threads with more than one tree'
MARK = ' [+other trees]'
COMMANDS = (['report'], ['report', '--csv'], ['report', '--json'], ['tree'],
            ['tree', '--csv'], ['tree', '--json'], ['callers', 'BetaA'],
            ['callees', 'BetaA', '--json'], ['hot'], ['hot', '--csv'],
            ['hot', '--json'], ['threads'], ['threads', '--json'], ['modules'],
            ['modules', '--json'], ['live', '--count', '1'], ['info'])
FORMATS = ('folded', 'callgrind', 'csv', 'csv-osr', 'csv-cap', 'html')


def marked(text):
    """The names of functions that are marked, and those that are not."""
    found = set(re.findall(r'(?:Host|Alpha|Beta|Gamma)[AB]\b(?: \[[^]]*\])?',
                           text))
    return ({name for name in found if name.endswith(MARK)},
            {name for name in found if not name.endswith(MARK)})


def check_rows(results, text, is_split, what):
    with_mark, without = marked(text)
    results.check(with_mark and not without if is_split else
                  without and not with_mark, what + ': each row says so',
                  [with_mark, without, text[:300]])


def check_said(results, folder, session, is_split, what):
    """Every output says whether a thread has more than one tree, and each row
    what its self time has in it."""
    path = programs.windows_path(session)
    for command in COMMANDS:
        code, text, errors = support.reader(*command, path)
        place = errors if '--csv' in command or '--json' in command else text
        results.check(code == 0 and (SPLIT in place) == is_split and
                      (SPLIT in text + errors) == is_split,
                      '%s: %s' % (what, ' '.join(command)),
                      [code, text[-300:], errors[-300:]])
        name = '%s: %s' % (what, ' '.join(command))
        if command[0] == 'modules':
            results.equal('Gamma.dll' + MARK in text, is_split, name)
        elif command[0] not in ('info', 'hot'):     # hot has no rows here
            check_rows(results, text, is_split, name)
    for form in FORMATS:
        target = os.path.join(folder, what + '.' + form)
        code, text, errors = support.reader(
            'export', '--format', form, '-o', programs.windows_path(target),
            path)
        with open(target, encoding='utf-8', errors='replace') as file:
            page = file.read()
        check_rows(results, page, is_split, '%s: export to %s' % (what, form))
        results.check(code == 0 and (SPLIT in errors) == is_split and
                      (form != 'html' or (SPLIT in page) == is_split),
                      '%s: export to %s' % (what, form),
                      [code, text[-300:], errors[-300:]])


def check_hot(results, folder, host, dlls, is_split, what):
    """The rows of the dearest functions say so, too, and a list of them is of
    names as another session has them.

    Which are dear is a matter of time; that one of four is, on a machine that
    does other things, perhaps of the second try.
    """
    for attempt in range(3):
        name = '%s-tiny%d' % (what, attempt)
        _, session = run(folder, host, dlls, 'tiny', 300000, name, **TREE)
        path = programs.windows_path(session)
        rows = read_json('hot', path)['functions']
        if rows:
            break
    found = {row['function'] for row in rows}
    expected = {name + 'T' + MARK * is_split for name in NAMES[:4]}
    results.check(found and found <= expected, '%s: hot' % what, found)
    for options in ([], ['--csv']):
        code, text, errors = support.reader('hot', *options, path)
        results.equal(set(re.findall(
            r'(?:Host|Alpha|Beta|Gamma)T\b(?: \[[^]]*\])?', text)), found,
                      '%s: hot %s' % (what, options))
    listed = os.path.join(folder, what + '.list')
    support.reader('hot', '-o', programs.windows_path(listed), path)
    with open(listed, encoding='utf-8') as file:
        lines = {line.rstrip('\n') for line in file if line[0] != '#'}
    results.equal(lines, {name.replace(MARK, '') for name in found},
                  '%s: the list that hot writes' % what)


def main():
    results = programs.Results()
    cases = [word for word in sys.argv[1:] if not word.startswith('-')]

    def wanted(name):
        return not cases or name in cases

    with programs.Scratch() as folder:
        built = os.path.join(folder, 'built')
        host = build(built, 0, PENTER)
        alpha = build(built, 1, PENTER, 0x310000000)
        beta = build(built, 2, FUNCTIONS)
        gamma = build(built, 3, PENTER)
        three = [alpha, beta, gamma]

        if wanted('ping'):
            account, session, _ = check(results, folder, host, three, 'ping',
                                        200, 'ping')
            reports(results, folder, account, session)
        if wanted('late'):
            check(results, folder, host, three, 'late', 60, 'late')
        if wanted('owner'):
            account, _, _ = check(results, folder, host, three, 'owner', 20,
                                  'owner')
            results.equal(len(account.bases[1]), 4,
                          'control: Alpha was loaded four times')
        if wanted('steer'):

            # The module that has made the tree is unloaded and loaded again
            # while recording is stopped; two of six times all is cleared then.

            account, session, _ = check(results, folder, host, three, 'steer',
                                        20, 'steer', timed=False,
                                        records=False)
            results.equal(len(account.bases[1]), 4,
                          'steer: control: Alpha was loaded four times')
            trees = [tree for tree in read_trees(session)
                     if tree.thread == account.threads[2]]
            code, text = programs.trace_reader(
                'info', '--json', programs.windows_path(session))
            results.check(code == 0 and '"cleared"' in text,
                          'steer: it was cleared', text.split('\n')[:4])
            results.check(min(sum(chains.values())
                              for chains in account.chains.values()) > 100,
                          'steer: control: calls since then', [len(trees)])
        if wanted('swap'):
            delta = build(built, 4, PENTER, 0x310000000)
            account, _, _ = check(results, folder, host, three + [delta],
                                  'swap', 20, 'swap')
            results.equal(set(account.bases[1]), set(account.bases[4]),
                          'control: the two DLLs lie at the same place')
        if wanted('collide'):
            omega = build(built, 5, PENTER, 0x410000000)
            account, _, _ = check(results, folder, host,
                                  three + [None, omega], 'ping', 60,
                                  'collide')
            bases = [int(account.bases[each][0], 16) for each in (1, 5)]
            results.check(bases[0] != bases[1] and
                          (bases[0] - bases[1]) % (1 << 32) == 0,
                          'control: the low 32 bits are the same', bases)
        if wanted('throw'):
            check(results, folder, host, three, 'throw', 50, 'throw',
                  timed=False)
        if wanted('fibers'):
            check(results, folder, host, three, 'fibers', 100, 'fibers')
        if wanted('live'):
            check_live(results, folder, host, three)
        if wanted('ranges'):
            check_ranges(results, folder, host, three)
        if wanted('left-out'):
            check(results, folder, host, three, 'ping', 40, 'left-out',
                  timed=False, without=('BetaA', 'BetaB'),
                  TRACER_MODULES='Host.exe;Alpha.dll;Gamma.dll')
        if wanted('clock'):

            # Records of several modules have no order at this clock.

            check(results, folder, host, three, 'ping', 20, 'clock',
                  timed=False, records=False, TRACER_CLOCK='thread')

        if wanted('control'):
            control = os.path.join(folder, 'control')
            apart = build(control, 2, FUNCTIONS)
            other_version(apart)
            account, session = run(folder, host, [alpha, apart, gamma],
                                   'ping', 40, 'apart', **TREE)
            modules = Modules([host, alpha, apart, gamma])
            trees = read_trees(session)
            results.equal(len(trees), 2 * len(account.threads),
                          'control: two trees a thread')
            check_said(results, folder, session, True, 'apart')
            _, whole = run(folder, host, three, 'ping', 2, 'whole', **TREE)
            check_said(results, folder, whole, False, 'whole')
            check_hot(results, folder, host, [alpha, apart, gamma], True,
                      'apart')
            check_hot(results, folder, host, three, False, 'whole')
            answer = read_json('diff', programs.windows_path(whole),
                               programs.windows_path(session))
            results.equal({row['in'] for row in answer['functions']},
                          {'both'}, 'diff: a mark makes no other function')
            answer = read_json('callers', 'BetaA',
                               programs.windows_path(session))
            results.check(answer, 'callers: by the name without its mark')
            for thread, identifier in account.threads.items():
                mine = [tree for tree in trees if tree.thread == identifier]
                chains, times = sums(mine, modules)
                results.check(chains != account.chains[thread],
                              'control: other chains')

                # Whose time a self time has in it follows from the chains: no
                # machine is too slow for that.

                def is_apart(chain):
                    return len({name.startswith('Beta')
                                for name in chain}) == 2

                results.check(any(map(is_apart, account.chains[thread])) and
                              not any(map(is_apart, chains)),
                              'control: Beta is in no chain with others',
                              [chain for chain in chains if is_apart(chain)])
                over = {name: [outer, outer - inside + 1] for name, (
                    _, outer, inside, _) in account.times[thread].items()}
                results.equal(len(outside(account, thread, over)), len(over),
                              'control: self times that are too large')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
