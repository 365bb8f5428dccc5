#!/usr/bin/env python3
"""Runs what BenchModes.sh has built, and prints the tables.

The times of a function are added up from the nodes of `TraceReader tree`, in
both modes alike.  Total is that of its outermost calls, with abandoned ones.
The hooks are taken out by what a pair of them was measured to take in that run
(`info`: hooks, of which inner lies between the call's own time stamps):

    total - calls * inner - calls below * hooks
    self - calls * inner - direct children's calls * (hooks - inner)

Which of the two is nearer to the program without hooks is measured with the same
image, in which all hooks but those of one function are taken out at load time
(TRACER_EXCLUDE): nothing that it calls is slowed down, and its own pair of
hooks, measured as above, is taken out of its total.

BenchModes.sh says what is measured and which variables set its sizes.
"""

import collections
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

WINE = os.environ['TRACER_WINE']
READER = os.path.join(os.environ['TRACER_BIN'], 'TraceReader.exe')
WORK = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PREFIX = (os.environ.get('PREFIX') or '').split()
ROUNDS = int(os.environ.get('ROUNDS') or 5)
LUA_ROUNDS = os.environ.get('LUA_ROUNDS') or '3'
INPUT_SIZE = int(os.environ.get('INPUT_SIZE') or 1 << 20)
SHOWN = 8                        # functions of a program
BARE = int(os.environ.get('BARE') or 4)     # of these, also without the others
MODES = ('file', 'tree')
ROOM = 4 << 30                   # bytes
WARM = int(os.environ.get('WARM') or 1 << 30)     # bytes

# BenchHooks.py: the kernel tells a virtual machine's host which free pages it
# may take back, unless this is as high as can be.
REPORTING = '/sys/module/page_reporting/parameters/page_reporting_order'
NO_REPORTING = '11'


def windows_path(path):
    return 'Z:' + path.replace('/', '\\')


def choose_folder():
    chosen = os.environ.get('SESSIONS')
    if not chosen:
        shared = '/dev/shm'
        chosen = shared if (os.path.isdir(shared) and
                            shutil.disk_usage(shared).free > ROOM) else WORK
    return os.path.join(chosen, 'TracerBenchModes')


def make_input(path):
    """Text that has something to compress: drawn words, the same each time."""
    numbers = random.Random(7)
    words = [bytes(numbers.choices(b'etaoinshrdlucmfwyp', k=length))
             for length in numbers.choices(range(2, 11), k=3000)]
    text = bytearray()
    while len(text) < INPUT_SIZE:
        text += b' '.join(numbers.choices(words, k=12)) + b'\n'
    with open(path, 'wb') as file:
        file.write(text[:INPUT_SIZE])


def read_json(command, session):
    done = subprocess.run([WINE, READER, command, '--json', '--no-cache',
                           windows_path(session)], check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return json.loads(done.stdout.decode('utf-8'))


class Function:
    def __init__(self):
        self.calls = 0
        self.abandoned = 0
        self.total = 0.0
        self.own = 0.0


def add_up(session):
    """name -> Function."""
    module = read_json('info', session)['modules'][0]
    inner = module['probe_inner_ps'] / 1000
    hooks = module['probe_total_ps'] / 1000
    nodes = {row['node']: row for row in read_json('tree', session)['nodes']}
    below = collections.Counter()
    direct = collections.Counter()
    for number in reversed(nodes):           # parents come first
        parent = nodes[number]['parent']
        below[parent] += below[number] + nodes[number]['calls']
        direct[parent] += nodes[number]['calls']
    above = {}
    functions = collections.defaultdict(Function)
    for number, row in nodes.items():
        name = row['function']
        names = above.get(row['parent'], frozenset())
        above[number] = names | {name}
        found = functions[name]
        found.calls += row['calls']
        found.abandoned += row['abandoned']
        found.own += ((row['self_ns'] or 0) - row['calls'] * inner -
                      direct[number] * (hooks - inner))
        if name not in names:
            found.total += ((row['total_ns'] or 0) +
                            (row['abandoned_time_ns'] or 0) -
                            row['calls'] * inner - below[number] * hooks)
    return dict(functions)


def report_pages(order):
    """Sets the order of pages that are reported; returns what it was."""
    try:
        with open(REPORTING, 'r+', encoding='ascii') as file:
            before = file.read()
            file.seek(0)
            file.write(order)
        return before
    except OSError:
        return None


def warm(folder):
    """Touches memory that the next session gets: a first touch that the host
    answers takes longer than the records of a page."""
    path = os.path.join(folder, 'warm')
    block = bytes(1 << 20)
    with open(path, 'wb') as file:
        for _ in range(WARM >> 20):
            file.write(block)
    os.remove(path)


def take_out_others(name, function):
    """A list that excludes all functions but one; None if it cannot be had."""
    path = os.path.join(WORK, '%s-%s.list' % (name, function))
    subprocess.run([WINE, READER, 'exclude', '--output', windows_path(path),
                    windows_path(os.path.join(WORK, name + '.exe')), '*',
                    '-' + function], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    return path if os.path.exists(path) else None


def measure(name, arguments, mode, folder, excluded=None):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    warm(folder)
    environment = dict(os.environ, TRACER_DIRECTORY=windows_path(folder),
                       TRACER_MODE=mode)
    if excluded:
        environment['TRACER_EXCLUDE'] = windows_path(excluded)
    with open(os.path.join(WORK, 'output'), 'wb') as output:
        subprocess.run([*PREFIX, WINE, os.path.join(WORK, name + '.exe'),
                        *arguments], check=True, cwd=WORK, env=environment,
                       stdin=subprocess.DEVNULL, stdout=output)
    sessions = os.listdir(folder)
    if len(sessions) != 1:
        sys.exit('BenchModes: %s: sessions: %s' % (name, sessions))
    return add_up(os.path.join(folder, sessions[0]))


def show(name, rounds):
    """Prints one program's table."""
    first = rounds[0]['file']
    counts = {each: (found.calls, found.abandoned)
              for each, found in first.items()}
    for number, answers in enumerate(rounds):
        for mode in MODES:
            other = {each: (found.calls, found.abandoned)
                     for each, found in answers[mode].items()}
            if other != counts:
                parts = [(each, counts.get(each), other.get(each))
                         for each in sorted(set(counts) | set(other))
                         if counts.get(each) != other.get(each)]
                sys.exit('BenchModes: %s, round %d, %s: other calls: %s' %
                         (name, number, mode, parts[:8]))

    def median(mode, field, function):
        return statistics.median(getattr(answers[mode][function], field)
                                 for answers in rounds)

    def ratio(field, function):
        ratios = [getattr(answers['tree'][function], field) /
                  getattr(answers['file'][function], field)
                  for answers in rounds
                  if getattr(answers['file'][function], field) > 0]
        return '%.2f' % statistics.median(ratios) if ratios else '-'

    order = sorted(first, key=lambda each: -median('file', 'own', each))
    print('\n| %s | calls | abandoned | total, ms (file) | tree / file | self, '
          'ns a call (file) | self, ns a call (tree) | tree / file |' % name)
    print('|---' * 8 + '|')
    for each in order[:SHOWN]:
        calls, abandoned = counts[each]
        print('| `%s` | %s | %s | %.1f | %s | %.1f | %.1f | %s |' % (
            each, format(calls, ','), format(abandoned, ','),
            median('file', 'total', each) / 1e6, ratio('total', each),
            median('file', 'own', each) / calls,
            median('tree', 'own', each) / calls, ratio('own', each)))
    print('\nAll %d functions: %s calls, %s abandoned, the same in both.' % (
        len(counts), format(sum(each[0] for each in counts.values()), ','),
        format(sum(each[1] for each in counts.values()), ',')))
    sys.stdout.flush()


def order_of(answers):
    found = answers['file']
    return sorted(found, key=lambda each: -found[each].own)


def show_bare(name, rounds):
    """Totals against those of the same image with one function's hooks: medians
    within a round, and the shortest of all rounds, which other programs on the
    machine have made longer least."""
    print('\n| %s | calls | total alone, ms | file / alone | tree / alone | '
          'shortest alone | file / alone | tree / alone |' % name)
    print('|---' * 8 + '|')
    for each in rounds[0]['bare']:
        alone = [answers['bare'][each] for answers in rounds]
        first = rounds[0]['file'][each]
        if any(other.calls != first.calls for other in alone):
            sys.exit('BenchModes: %s alone: other calls: %s' %
                     (each, [first.calls, [other.calls for other in alone]]))
        ratios = ['%.2f' % statistics.median(
            answers[mode][each].total / answers['bare'][each].total
            for answers in rounds) for mode in MODES]
        least = min(other.total for other in alone)
        ratios += ['%.1f' % (least / 1e6)] + ['%.2f' % (
            min(answers[mode][each].total for answers in rounds) / least)
            for mode in MODES]
        print('| `%s` | %s | %.1f | %s | %s | %s | %s | %s |' % (
            each, format(first.calls, ','),
            statistics.median(other.total for other in alone) / 1e6, *ratios))
    sys.stdout.flush()


def main():
    text = os.path.join(WORK, 'input')
    make_input(text)
    script = os.path.join(ROOT, 'Benchmarks', 'Peers', 'Calls.lua')
    programs = [('bzip2', ['-c', '-9', windows_path(text)]),
                ('minigzip', ['-9', '-c', windows_path(text)]),
                ('Lua', [windows_path(script), LUA_ROUNDS])]
    folder = choose_folder()
    before = report_pages(NO_REPORTING)
    if before is None:
        print('Free pages may be taken back by the host: first touches are in '
              'the times of file mode.')
    try:
        for name, arguments in programs:
            if not os.path.exists(os.path.join(WORK, name + '.exe')):
                print('%s: no source, not measured' % name)
                continue
            rounds = []
            for _ in range(ROUNDS):
                answers = {}
                for mode in random.sample(MODES, len(MODES)):
                    answers[mode] = measure(name, arguments, mode, folder)
                if not rounds:
                    lists = {each: take_out_others(name, each)
                             for each in order_of(answers)[:BARE]}
                    lists = {each: path for each, path in lists.items()
                             if path is not None}
                answers['bare'] = {
                    each: measure(name, arguments, 'file', folder, path)[each]
                    for each, path in random.sample(sorted(lists.items()),
                                                    len(lists))}
                rounds.append(answers)
            show(name, rounds)
            show_bare(name, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if before is not None:
            report_pages(before)
    print('\nMedians of %d rounds.' % ROUNDS)


if __name__ == '__main__':
    main()
