#!/usr/bin/env python3
"""A process, and a thread, that end inside their calls while a DLL's DllMain
is still to come: what a tree (TRACER_MODE=tree) keeps of it.

Programs/Ends.c says which functions call which and how long each waits at
least; the tree and the records must both have that, the calls that are open at
the end up to the end.  Controls: a program that has returned, whose DllMain
is nobody's.
"""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

SOURCE = os.path.join(programs.PROGRAMS, 'Ends.c')
GCC = [programs.GCC, '-O2', '-g', '-gdwarf-4', '-fno-optimize-sibling-calls']
CLANG = ['clang-19', '--driver-mode=cl', '--target=x86_64-pc-windows-msvc',
         '/nologo', '/O2', '/GS-', '/Zl', '/Z7', '-imsvc',
         '/usr/share/mingw-w64/include', '-D__GNUC__=4', '-D__GNUC_MINOR__=2',
         '-D__GNUC_PATCHLEVEL__=1', '/clang:-fno-optimize-sibling-calls']
KERNEL = '/usr/x86_64-w64-mingw32/lib/libkernel32.a'
WAIT = 20000000         # ns
EXIT_CODE = 7

# (what, the program's compiler and flags, the DLL's flags).
BUILDS = [
    ('penter', GCC + programs.PENTER_FLAGS, programs.PENTER_FLAGS),
    ('functions', GCC + programs.FUNCTION_FLAGS, programs.PENTER_FLAGS),
    ('functions in both', GCC + programs.FUNCTION_FLAGS,
     programs.FUNCTION_FLAGS),
    ('clang-cl, functions', CLANG + ['/clang:-finstrument-functions'],
     programs.PENTER_FLAGS),
    ('clang-cl, entries alone', CLANG + ['/clang:-pg', '/clang:-mfentry'],
     programs.PENTER_FLAGS),
]

# What the source says: the calls of a thread by their chains, those that are
# open, and the time that each waits itself, in WAITs.  DllMain is called for
# the thread or the process first.
ENDING = {
    'exit': [{
        'DllMain': (1, 0, 0),
        'Exit': (1, 1, 0),
        'Exit/Work': (1, 0, 0),
        'Exit/Work/Inner': (2, 0, 2),
        'Exit/Leave': (1, 1, 1),
        'Exit/Leave/DllMain': (1, 0, 1),
        'Exit/Leave/DllMain/Detached': (1, 0, 1),
    }],
    'thread': [{
        'DllMain': (2, 0, 1),
        'DllMain/Detached': (1, 0, 1),
        'Thread': (1, 0, 4),
    }, {
        'DllMain': (1, 0, 0),
        'Run': (1, 1, 0),
        'Run/Work': (1, 0, 0),
        'Run/Work/Inner': (2, 0, 2),
        'Run/LeaveThread': (1, 1, 1),
        'Run/LeaveThread/DllMain': (1, 0, 0),
        'Run/LeaveThread/DllMain/ThreadDetached': (1, 0, 1),
    }],
    'return': [{
        'DllMain': (2, 0, 1),
        'DllMain/Detached': (1, 0, 1),
        'Return': (1, 0, 0),
        'Return/Work': (1, 0, 0),
        'Return/Work/Inner': (2, 0, 2),
    }],
}


def build(folder, compiler, dll_flags):
    os.makedirs(folder)
    path = os.path.join(folder, 'Ends')
    subprocess.run([*programs.CACHE, *GCC, *dll_flags, '-DENDS_DLL', '-c',
                    SOURCE, '-o', path + '-dll.o'], check=True)
    subprocess.run([programs.GCC, '-shared', path + '-dll.o',
                    programs.LIBRARY, '-static', '-o',
                    os.path.join(folder, 'EndsDll.dll'),
                    '-Wl,--export-all-symbols,--out-implib,' + path + '.a'],
                   check=True)
    if compiler[0] == programs.GCC:
        subprocess.run([*programs.CACHE, *compiler, '-c', SOURCE, '-o',
                        path + '.o'], check=True)
        subprocess.run([programs.GCC, '-nostdlib', '-Wl,-eBegin', path + '.o',
                        programs.LIBRARY, path + '.a', '-lkernel32', '-lntdll',
                        '-o', path + '.exe'], check=True)
    else:
        subprocess.run([*compiler, '/c', '/Fo' + path + '.o', '--', SOURCE],
                       check=True)
        subprocess.run(['lld-link-19', '/nologo', '/entry:Begin', '/debug',
                        '/nodefaultlib', '/subsystem:console',
                        '/out:' + path + '.exe', path + '.o', path + '.a',
                        programs.LIBRARY, KERNEL], check=True)
    return path + '.exe'


class Thread:
    """A thread's tree: chain -> row."""

    def __init__(self):
        self.rows = {}

    def calls(self):
        return {chain: (row['calls'], row['unfinished'], row['abandoned'])
                for chain, row in self.rows.items()}


def read_threads(session):
    """The threads of a program that ran code of its own."""
    code, text, errors = support.reader('tree', '--json', '--per-thread',
                                        session)
    if code != 0:
        raise RuntimeError('tree: %s: %s' % (code, errors))
    threads, chains = {}, {}
    for row in json.loads(text)['nodes']:
        chain = row['function']
        if row['parent'] in chains:
            chain = chains[row['parent']] + '/' + chain
        chains[row['node']] = chain
        threads.setdefault(row['thread'], Thread()).rows[chain] = row
    return [thread for thread in threads.values()
            if set(thread.rows) & {'Exit', 'Return', 'Thread', 'Run'}]


def check(results, what, thread, expected):
    results.equal(thread.calls(), {chain: (calls, is_open, 0)
                                   for chain, (calls, is_open, _)
                                   in expected.items()}, what + ': calls')
    for chain, (_, _, waits) in expected.items():
        row = thread.rows.get(chain)
        if row is not None and waits != 0:
            results.check(row['self_ns'] >= waits * WAIT,
                          '%s: the time of %s' % (what, chain), [row])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for name, compiler, dll_flags in BUILDS:
            folder = name.replace(' ', '-').replace(',', '')
            program = build(os.path.join(scratch, folder), compiler, dll_flags)
            for way, expected in ENDING.items():

                # Without exits nothing says when a call has returned.
                if way != 'exit' and name.endswith('entries alone'):
                    continue
                for mode in 'file', 'tree':
                    what = '%s, %s, %s' % (name, way, mode)
                    directory = os.path.join(scratch, folder, way + mode)
                    result, told = support.run(program, way,
                                               directory=directory,
                                               TRACER_MODE=mode)
                    results.check(support.has_ended(result, EXIT_CODE), what,
                                  [result, told])
                    threads = read_threads(programs.windows_path(directory))
                    if not results.equal(len(threads), len(expected),
                                         what + ': threads'):
                        continue
                    threads.sort(key=lambda each: 'Run' in each.rows)
                    for thread, calls in zip(threads, expected):
                        check(results, what, thread, calls)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
