#!/usr/bin/env python3
"""Names that threads give themselves after their first traced call: in the
headers, in what the reader shows, with both hook conventions, from records,
rings and trees; of a process that was terminated; and while a thread runs.

A second name is the one that stays, and a mark says when it was noticed.
Controls: a thread without a name has none, and its store is there.
"""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

SOURCE = os.path.join(programs.PROGRAMS, 'Named.c')
ONE, SECOND = 'gr\u00fcn \u2014 one', 'second'


def build(scratch, name, flags):
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    program = os.path.join(folder, 'Named.exe')
    subprocess.run([programs.GCC, '-O2', *flags, '-c', SOURCE, '-o',
                    program + '.o'], check=True)
    subprocess.run([programs.GCC, program + '.o', programs.LIBRARY, '-static',
                    '-o', program], check=True)
    return program


def read_name(path):
    """The name in a store's header (Docs/Format.md)."""
    with open(path, 'rb') as file:
        data = file.read(0x1000)
    length = int.from_bytes(data[0x168:0x16C], 'little')
    return data[0xF60:0xF60 + length].decode('utf-8')


def names_of(session):
    return sorted(read_name(os.path.join(session, name))
                  for name in os.listdir(session) if name.endswith('.trace'))


def marks_of(session):
    code, text = programs.trace_reader('replay', '--json', '--function',
                                       'Nothing', programs.windows_path(session))
    return [row['text'] for row in json.loads(text)['events']
            if row['event'] == 'mark'] if text else [code]


def check_ended(results, scratch, program, what, **variables):
    _, session = programs.trace(program, 'end', directory=os.path.join(
        scratch, 'end-' + what.replace(' ', '-')), **variables)
    results.equal(names_of(session), sorted(['', '', ONE, SECOND]),
                  what + ': headers')
    path = programs.windows_path(session)
    for command in ('info', ), ('threads', ):
        code, text = programs.trace_reader(*command, '--json', path)
        results.check(code == 0 and ONE in text and '"second"' in text and
                      '"first"' not in text,
                      '%s: %s' % (what, ' '.join(command)), [code])
    if variables.get('TRACER_MODE') != 'tree':
        results.equal(marks_of(session), ['thread name: second'],
                      what + ': marks')
        target = os.path.join(scratch, what.replace(' ', '-') + '.json')
        code, _ = programs.trace_reader('export', '--format', 'chrome', '-o',
                                        programs.windows_path(target), path)
        with open(target, encoding='utf-8') as file:
            data = json.load(file)
        events = data['traceEvents'] if isinstance(data, dict) else data
        named = {row['args']['name'] for row in events
                 if row.get('name') == 'thread_name'}
        results.check(code == 0 and any(ONE in name for name in named) and
                      any(SECOND in name for name in named),
                      what + ': export', sorted(named))


def check_killed(results, scratch, program):
    _, session = programs.trace(program, 'kill', directory=os.path.join(
        scratch, 'kill'))
    results.equal(names_of(session), ['', 'waiting'], 'a process that was '
                  'terminated')


def check_live(results, scratch, program, what, **variables):
    """The header, while the thread runs."""
    folder = os.path.join(scratch, 'live-' + what)
    traces = os.path.join(folder, 'traces')
    os.makedirs(traces)
    process = support.start(program, 'live', directory=traces, cwd=folder,
                            **variables)
    seen = []

    def is_named():
        for name in os.listdir(traces):
            try:
                seen[:] = names_of(os.path.join(traces, name))
            except (OSError, UnicodeDecodeError):
                pass
        return 'alive' in seen

    support.wait_for(is_named)
    running = process.poll() is None
    results.check(running and 'alive' in seen, what + ': while it runs',
                  [seen])
    with open(os.path.join(folder, 'stop'), 'w', encoding='ascii'):
        pass
    support.finish(process)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        penter = build(scratch, 'penter', programs.PENTER_FLAGS)
        plain = build(scratch, 'functions', programs.FUNCTION_FLAGS)
        check_ended(results, scratch, penter, 'records')
        check_ended(results, scratch, plain, 'functions')
        check_ended(results, scratch, penter, 'ring', TRACER_MODE='ring')
        check_ended(results, scratch, penter, 'tree', TRACER_MODE='tree')
        check_killed(results, scratch, penter)
        check_live(results, scratch, penter, 'records')
        check_live(results, scratch, penter, 'tree', TRACER_MODE='tree')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
