#!/usr/bin/env python3
"""Where sessions go when nothing says where: to the user's directory, which
other tests need without any.
"""
# Runs alone.

import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import TestRun as tool                                       # noqa: E402
from TestRun import programs, support                        # noqa: E402


def main():
    results = programs.Results()
    with programs.Scratch() as scratch, tool.no_default():
        program = tool.build_traced(scratch)
        before = tool.execute([programs.READER, 'report', 'echo'], cwd=scratch)
        results.check(before[0] == 1, 'control: it is not found before',
                      [before])
        code, _, errors = tool.run(program, '8', cwd=scratch)
        session = tool.session_of(results, errors, 'default')
        try:
            results.check(code == 0 and re.search(
                r'\\AppData\\Local\\Tracer\\echo\.exe-\d+-[-\d]+$', session),
                          'default: where it is', [errors])
            expected = support.reader('report', '--csv', session)
            seen = tool.execute([programs.READER, 'report', '--csv', 'echo'],
                                cwd=scratch)
            results.equal(tool.steady(seen), tool.steady(expected),
                          'default: it is found')

            # A program without TraceReader finds the same place.
            where = os.path.join(scratch, 'where')
            os.makedirs(where)
            code, _, _ = tool.execute([program, '9'], cwd=where)
            sessions = support.sessions(os.path.dirname(tool.native(session)))
            results.equal((code, len(sessions), os.listdir(where)), (0, 2, []),
                          'default: without run')
        finally:
            if session:
                shutil.rmtree(os.path.dirname(tool.native(session)))
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
