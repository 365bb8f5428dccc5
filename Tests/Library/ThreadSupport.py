"""What the tests of threads, fibers and DLLs have in common: the programs'
builds, how they are run, and what a session must show.

A program is run without hooks, with hooks that are off, and traced.  All three
must print the same and end with the same code; the session must be without
faults; and the call tree of every thread and fiber must be the one that the
program itself has told Witness.dll.
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402
import witness                                               # noqa: E402


# Name -> (compiler, flags); "plain" has no hooks and no library.
GCC = (programs.GCC, *programs.SAME_CALLS)
CLANG = (programs.CLANG, *programs.CLANG_SAME_CALLS)
COMPILERS = {
    'plain': (GCC, []),
    'penter': (GCC, programs.PENTER_FLAGS),
    'gcc': (GCC, programs.FUNCTION_FLAGS),
    'clang': (CLANG, programs.FUNCTION_FLAGS),
}

Outcome = collections.namedtuple('Outcome', 'code output errors')


class Builds:
    """Programs in several builds, each in a folder with its Witness.dll."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.library, self.witness = witness.build(
            os.path.join(scratch, 'witness'))
        self.number = 0

    def folder(self, build):
        return os.path.join(self.scratch, build)

    def add(self, build, source, name, *flags, shared=False):
        """Compiles and links one program or DLL; returns its path."""
        compiler, hooks = COMPILERS[build]
        libraries = [self.library]
        if build != 'plain':
            libraries.insert(0, programs.LIBRARY)
        if shared:
            libraries.append('-shared')
        target = programs.build(
            os.path.join(self.folder(build), name + '.build'),
            [os.path.join(programs.PROGRAMS, source)],
            [*hooks, *flags], name, libraries, compiler=compiler)
        target = shutil.copy(target, self.folder(build))
        shutil.copy(os.path.join(self.witness, 'Witness.dll'),
                    self.folder(build))
        return target

    def path(self, build, name):
        return os.path.join(self.folder(build), name)

    def fresh(self, name):
        """A new folder for what a run leaves."""
        self.number += 1
        path = os.path.join(self.scratch, '%s-%d' % (name, self.number))
        os.makedirs(path)
        return path


@support.watch.unless_wine_failed
def run(program, *arguments, directory=None, tree=None, cwd=None,
        before=(), **variables):
    """Runs a program; the code is None if it hung.

    before is a command that runs it.
    """
    if tree:
        variables['WITNESS_FILE'] = programs.windows_path(tree)
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        try:
            code = support.watch.run(
                [*before, programs.WINE, program, *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                cwd=cwd or os.path.dirname(program),
                env=support.environment(directory, **variables)
            ).returncode
        except support.watch.Hangs:
            code = None
        output.seek(0)
        errors.seek(0)
        text, told = (support.decode(file.read()) for file in (output, errors))
        if code is not None:
            code = support.watch.ExitCode(code, told)
        return Outcome(code, text, told)


def same_as_untraced(results, builds, build, name, arguments, outcome, what,
                     expected=None):
    """Checks that hooks change nothing of what a program prints and returns."""
    if expected is None:
        expected = run(builds.path('plain', name), *arguments)
    off = run(builds.path(build, name), *arguments, TRACER_ENABLED='0')
    results.check(off[:2] == expected[:2], what + ': hooks that are off',
                  [off, expected])
    results.check(outcome[:2] == expected[:2], what + ': traced, untraced',
                  [outcome, expected])
    return expected


def check_session(results, session, what):
    """Every store is good and nothing is lost; returns verify's rows."""
    code, rows, text = support.verify(session)
    wrong = [row for row in rows.values()
             if (row['bad'], row['lost']) != ('0', '0')]
    results.check(code == 0 and rows and not wrong,
                  '%s: verify: exit code %s, %d stores' %
                  (what, code, len(rows)), [*wrong, text[-600:]])
    results.equal(support.report_differences(session), [],
                  what + ': ways to read a report')
    code, text = exits_without_entry(session)
    results.check(code == 0 and not text,
                  what + ': no exit without an entry', [code, text])
    return rows


def exits_without_entry(session):
    """What TraceReader says of exits that close no call: (code, text)."""
    code, text, errors = support.reader('report', '--limit', '1',
                                        programs.windows_path(session))
    said = [line for line in text.splitlines() if 'had no entry' in line]
    return code, '\n'.join(said) or (errors if code else '')


def one_session(results, directory, what):
    found = support.sessions(directory)
    if results.check(len(found) == 1,
                     '%s: sessions: %s' % (what, found)):
        return found[0]
    return None


def not_returned(tree):
    """Counts the calls without an exit as one: open at the end, abandoned.

    When a fiber is deleted its open calls stay open, unless another fiber gets
    the same addresses and so shows them gone.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        node.abandoned, node.open = node.abandoned + node.open, 0
        waiting.extend(node.children.values())
    return tree


def without_fibers(tracks):
    """Thread -> one list with the trees of its fibers merged."""
    by_thread = collections.defaultdict(list)
    for (thread, fiber), trees in tracks.items():
        by_thread[thread, fiber != 0].extend(trees)
    return {key: [not_returned(witness.merge(trees))]
            for key, trees in by_thread.items()}


def without_numbers(tracks):
    """Thread -> the trees of its fibers, whatever their numbers."""
    by_thread = collections.defaultdict(list)
    for (thread, _), trees in tracks.items():
        by_thread[thread, 0].extend(trees)
    return by_thread


def count_calls(tracks):
    """The number of calls in all trees."""
    total, waiting = 0, [tree for trees in tracks.values() for tree in trees]
    while waiting:
        node = waiting.pop()
        total += node.calls
        waiting.extend(node.children.values())
    return total


def count_trees(tracks):
    return sum(1 for trees in tracks.values()
               for tree in trees if tree.children)


def change_one(tracks, how):
    """A copy in which one call is missing, or is on another track."""
    copy = {key: [witness.merge([tree]) for tree in trees]
            for key, trees in tracks.items()}
    keys = sorted(key for key, trees in copy.items() if trees[0].children)
    source, target = copy[keys[0]][0], copy[keys[-1]][-1]
    node = source
    while node.children:
        node = max(node.children.values(), key=lambda child: child.calls)
    node.calls -= 1
    if how == 'moved':
        waiting = [target]
        while waiting:
            found = waiting.pop()
            if found.name == node.name and found is not node:
                found.calls += 1
                return copy
            waiting.extend(found.children.values())
        target.child(node.name).calls += 1
    return copy


def check_trees(results, expected, seen, what, controls=True):
    """Compares the trees, and makes sure that a difference is found."""
    found = witness.track_differences(expected, seen)
    results.check(not found and count_calls(expected) > 0,
                  '%s: trees of %d threads and fibers, %d calls; seen %d, %d' %
                  (what, count_trees(expected), count_calls(expected),
                   count_trees(seen), count_calls(seen)), found)
    if controls:
        for how in ('missing', 'moved'):
            if how == 'moved' and count_trees(seen) < 2:
                continue
            results.check(witness.track_differences(expected,
                                                    change_one(seen, how)),
                          '%s: control: a call that is %s is found' %
                          (what, how))
