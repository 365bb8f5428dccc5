#!/usr/bin/env python3
"""Programs that are hostile to their own process run on, traced, as they do
untraced: Tests/Programs/Hostile.c, at two sizes of views.
"""
# Takes long.

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

MODES = ('suspend', 'terminate', 'handles', 'overflow')


@support.watch.unless_wine_failed
def run(program, mode, directory, cwd, **variables):
    """(exit code, output); the code is None if the program did not end."""
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        try:
            done = support.watch.run(
                [programs.WINE, program, mode], stdin=subprocess.DEVNULL,
                stdout=output, stderr=errors, cwd=cwd,
                env=support.environment(directory, **variables))
            errors.seek(0)
            code = support.watch.ExitCode(done.returncode, errors.read())
        except support.watch.Hangs:
            code = None
        output.seek(0)
        return code, support.decode(output.read())


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = programs.build(
            os.path.join(scratch, 'hostile'),
            [os.path.join(programs.PROGRAMS, 'Hostile.c')],
            programs.PENTER_FLAGS, 'Hostile.exe', [programs.LIBRARY])
        for mode in MODES:
            cwd = os.path.join(scratch, mode)
            os.makedirs(cwd)
            expected = run(program, mode, None, cwd, TRACER_ENABLED='0')
            results.check(expected[0] == 0 and expected[1].startswith(mode),
                          '%s: untraced' % mode, expected)
            for size in ('64K', '1M'):
                what = '%s, views of %s' % (mode, size)
                directory = os.path.join(scratch, mode + size)
                results.equal(run(program, mode, directory, cwd,
                                  TRACER_VIEW_SIZE=size), expected, what)
                found = support.sessions(directory)
                if not results.check(len(found) == 1, what + ': sessions'):
                    continue
                _, rows, text = support.verify(found[0])
                results.check(rows and all(row['bad'] == '0'
                                           for row in rows.values()),
                              what + ': verify', [text[-500:]])
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
