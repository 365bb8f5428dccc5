#!/usr/bin/env python3
"""Real C++ programs that throw and catch, against a witness: every chain of
callers of the test programs of Debian's jsoncpp and, in the long form, pugixml,
with its number of calls.

A program is compiled once a convention and linked twice: with the library, and
with Programs/StackWitness.c, whose hooks walk the stack at each entry with the
system's unwinder.

    TestLeftReal.py [NAME...]       those programs, in both conventions
"""
# Takes long.

import collections
import concurrent.futures
import csv
import glob
import io
import itertools
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402

GXX = 'x86_64-w64-mingw32-g++'
IMAGE_BASE = 0x140000000

# A program's source package; a file that it has; its sources and include
# folders, from the top; what it says at its end; how many calls and chains of
# callers it has at least; and the conventions of a run of all tests: pugixml's
# 19 million calls with -finstrument-functions take minutes.
REAL = {
    'jsoncpp': ('libjsoncpp', 'src/lib_json/json_reader.cpp',
                ('src/*lib_json/*.cpp',), ('include',), 'tests passed',
                100000, 5000, ('_penter', 'functions')),
    'pugixml': ('pugixml', 'tests/main.cpp',
                ('src/*.cpp', 'tests/[!f]*.cpp'), ('src',), 'tests passed',
                1000000, 50000, ('_penter',)),
}
CONVENTIONS = {'_penter': programs.PENTER_FLAGS,
               'functions': programs.FUNCTION_FLAGS}
TREE = {'TRACER_MODE': 'tree', 'TRACER_MAX_BYTES': '256M'}


def find_source(name):
    """The top of a program's source, or None."""
    package, marker = REAL[name][:2]
    code, _ = programs.run([
        os.path.join(programs.ROOT, 'Build', 'FetchSource.sh'), package,
        marker, os.path.join(programs.ROOT, 'x64', name.capitalize())])
    return None if code else os.path.join(
        programs.ROOT, 'x64', name.capitalize(), 'Source')


def compile_all(scratch, source, sources, includes, conventions):
    """Convention -> objects of a program.

    The compiler takes most of this test's time: the largest files go first.
    """
    files = sorted(itertools.chain.from_iterable(
        glob.glob(os.path.join(source, each)) for each in sources),
        key=os.path.getsize, reverse=True)

    def compile_one(job):
        file, name = job
        made = os.path.join(scratch, name, os.path.basename(file) + '.o')
        subprocess.run([*programs.CACHE, GXX, '-O2', *CONVENTIONS[name],
                        *('-I' + os.path.join(source, each)
                          for each in includes),
                        '-c', file, '-o', made], check=True)
        return name, made

    objects = collections.defaultdict(list)
    for name in conventions:
        os.makedirs(os.path.join(scratch, name))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, made in pool.map(compile_one, itertools.product(
                files, conventions)):
            objects[name].append(made)
    return objects


def link(path, objects):
    subprocess.run([GXX, *objects, '-static', '-o', path], check=True)
    return path


def write_symbols(program, path):
    """What StackWitness.c wants: RVA and name, ascending."""
    listing = programs.write_symbols(program, path + '.nm')
    with open(listing, encoding='utf-8') as file:
        rows = sorted((int(fields[0], 16) - IMAGE_BASE, fields[2])
                      for fields in map(str.split, file)
                      if len(fields) == 3 and fields[1] in 'Tt' and
                      not fields[2].startswith('.'))
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        file.writelines('%x %s\n' % row for row in rows if row[0] >= 0)


def short(name):
    """The name without what demanglers write in their own ways: parameters,
    template arguments, the result's type, and what copy of a function it is.
    """
    name = re.sub(r' \[clone [^]]*\]|\.(part|constprop|isra|cold)\.?\d*|'
                  r'\[abi:\w+\]| \[\+\d+ folded\]', '', name)
    name = re.sub(r'operator(<<|>>|<=|>=|->|<|>)', 'operator_', name)
    text, depth = '', 0
    for letter in name:
        if letter in '<({':
            depth += 1
        elif letter in '>)}':
            depth -= 1
        elif depth == 0:
            text += letter
    return re.sub(r' const$', '', text.strip()).strip().split(' ')[-1]


def shorten(names):
    names = sorted(names)
    text = subprocess.run(['llvm-cxxfilt-19'], input='\n'.join(names),
                          capture_output=True, check=True, text=True).stdout
    return {name: short(line)
            for name, line in zip(names, text.split('\n'))}


def add_up(rows):
    """(node, parent, calls, name) of each -> chain -> calls."""
    names = shorten({row[3] for row in rows})
    chains, found = {}, collections.Counter()
    for node, parent, calls, name in rows:
        chains[node] = chains.get(parent, ()) + (names[name],)
        found[chains[node]] += int(calls)
    return found


def read_witness(path):
    with open(path, encoding='utf-8') as file:
        return add_up([line.rstrip('\n').split(' ', 3) for line in file
                       if not line.startswith('#')])


def read_session(session):
    code, text = programs.trace_reader('tree', '--csv', '--per-thread',
                                       programs.windows_path(session))
    if code != 0:
        raise RuntimeError('TraceReader tree: exit code %d' % code)
    return add_up([(row['node'], row['parent'], row['calls'],
                    row['function'])
                   for row in csv.DictReader(io.StringIO(text))])


def differences(left, right):
    return [(' / '.join(chain[-4:]), left[chain], right[chain])
            for chain in sorted(set(left) | set(right))
            if left[chain] != right[chain]]


def check_program(results, program, scratch, hooks):
    """All that is checked of one program."""
    _, _, sources, includes, success, calls, chains, conventions = REAL[program]
    if sys.argv[1:]:
        conventions = CONVENTIONS
    source = find_source(program)
    if source is None:
        results.skip('%s: its source cannot be had' % program)
        return
    for name, objects in compile_all(os.path.join(scratch, program), source,
                                     sources, includes, conventions).items():
        folder = os.path.join(scratch, program, name)
        witness = link(os.path.join(folder, 'Witness.exe'), [*objects, hooks])
        traced = link(os.path.join(folder, 'Traced.exe'),
                      [*objects, programs.LIBRARY])
        symbols, said = (os.path.join(folder, each)
                         for each in ('symbols', 'said'))
        write_symbols(witness, symbols)
        code, text = programs.run_windows(
            witness, cwd=source,
            WITNESS_SYMBOLS=programs.windows_path(symbols),
            WITNESS_FILE=programs.windows_path(said))
        name = '%s, %s' % (program, name)
        results.check(code == 0 and success in text, '%s: the witness' % name,
                      [text[-300:]])
        expected = read_witness(said)
        results.check(sum(expected.values()) > calls and
                      len(expected) > chains,
                      '%s: the witness saw the program' % name,
                      [sum(expected.values()), len(expected)])
        for mode, settings in (('records', {}), ('tree', TREE)):
            what = '%s, %s' % (name, mode)
            _, session = programs.trace(
                traced, directory=os.path.join(folder, mode), cwd=source,
                **settings)
            seen = read_session(session)
            found = differences(expected, seen)
            print('%s: %d calls, %d chains, %d differ' %
                  (what, sum(expected.values()), len(expected), len(found)))
            results.equal(sum(seen.values()), sum(expected.values()),
                          what + ': calls')
            results.check(not found, what + ': chains', found)
            shutil.rmtree(os.path.join(folder, mode), ignore_errors=True)
        wrong = collections.Counter(expected)
        chain = max(wrong, key=len)
        wrong[chain] -= 1
        wrong[chain[:-1]] += 1
        results.equal(len(differences(expected, wrong)), 2,
                      name + ': control: a call moved to its caller')


def main():
    results = programs.Results()
    chosen = sys.argv[1:] or (list(REAL) if programs.LONG else ['jsoncpp'])
    with programs.Scratch() as scratch:
        hooks = os.path.join(scratch, 'StackWitness.o')
        subprocess.run([programs.GCC, '-O2', '-Wall', '-c', os.path.join(
            programs.PROGRAMS, 'StackWitness.c'), '-o', hooks], check=True)
        for program in chosen:
            check_program(results, program, scratch, hooks)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
