#!/usr/bin/env python3
"""What every command of TraceReader has in common: help with examples, exit
codes, errors on the error output that say what to do, JSON as
Docs/TraceReader.schema.json has it, CSV with a cell in every column, --raw,
and plain text where the output is no terminal.

The commands are those that --help lists, so that a new one is looked at, too;
its options are those that its own help lists.
"""
# Takes long.

import csv
import io
import json
import os
import re
import shlex
import sys

try:
    import jsonschema
except ImportError:     # another Python than Debian's comes first
    sys.path.append('/usr/lib/python3/dist-packages')
    import jsonschema

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestHot as hot                                        # noqa: E402
from StoreSupport import programs                            # noqa: E402

SCHEMA = os.path.join(programs.ROOT, 'Docs', 'TraceReader.schema.json')
UNIT = re.compile(r'\b\d+(\.\d+)? *(ns|us|ms|s|[KMGTP]iB|B)\b')

#
# What stands before the session (or behind it), for the commands that take
# more.
#

FIRST = {'outliers': 'Outer', 'callers': 'Small', 'callees': 'Outer',
         'ctl': 'status', 'exclude': 'Outer'}


def commands():
    code, text, errors = support.reader('--help')
    names = re.findall(r'^  ([a-z]+) {2,}\S', text.split('Commands:')[1],
                       re.M)
    return names, (code, errors)


class Command:
    def __init__(self, name):
        self.name, self.number = name, 0
        self.code, self.help, self.errors = support.reader(name, '--help')
        usage = re.match(r'usage: TraceReader (\S+) \[OPTIONS\] (.+)\n',
                         self.help)
        self.arguments = usage.group(2).split() if usage else []
        self.options = dict(re.findall(r'^  --([a-z-]+)(?: ([A-Z]+))? ',
                                       self.help, re.M))
        self.examples = re.findall(r'^  TraceReader (.+)$',
                                   self.help.split('\nExamples:\n')[-1], re.M)

    def run(self, session, *options, scratch=None):
        places = [session if name in ('PATH', '[PATH]', 'A', 'B') else
                  FIRST.get(self.name, name) for name in self.arguments
                  if name == '[PATH]' or not name.startswith('[')]
        more = []
        if 'output' in self.options and scratch:
            self.number += 1
            more = ['-o', programs.windows_path(os.path.join(
                scratch, 'out-%s-%d' % (self.name, self.number)))]
        if 'format' in self.options:
            more += ['--format', 'folded']
        if self.name == 'live':
            more += ['--count', '1']
        if self.name == 'waits' and scratch:
            path = os.path.join(scratch, 'waits')
            with open(path, 'w', encoding='ascii') as file:
                file.write('Small sleep\n')
            more += ['--waits', programs.windows_path(path)]
        if self.name == 'unpack' and scratch:
            self.number += 1
            pack = programs.windows_path(os.path.join(
                scratch, 'pack-%d' % self.number))
            if support.reader('pack', '-o', pack, session)[0] == 0:
                places = [pack if place == session else place
                          for place in places]
        code, text, errors = support.reader(self.name, *more, *options,
                                            *places)

        # A made-up session has no image.
        errors = ''.join(line for line in errors.splitlines(True)
                         if 'no function names for made-up.exe' not in line)
        return code, text, errors


def check_help(results, command, known):
    results.check(command.code == 0 and not command.errors and
                  command.arguments and command.help.isascii(),
                  '%s --help' % command.name, [command.help])
    results.check(command.examples, '%s: examples' % command.name)
    results.equal(support.reader('help', command.name)[1], command.help,
                  'help %s' % command.name)
    for example in command.examples:
        words = shlex.split(example.split(' > ')[0], posix=False)
        options = known.get(words[0], {})
        results.check(
            all(word.startswith('--') and
                word[2:].split('=')[0] in options or
                word == '-o' and 'output' in options
                for word in words if word.startswith('-')) and options,
            'an example of %s: %s' % (command.name, example))
    results.check(all(len(line) <= 100 for line in command.help.split('\n')),
                  '%s --help: short lines' % command.name)


def check_other_commands(results, listed):
    """An option that only other commands have is named with these."""
    for option in ('etl', 'tail', 'json'):
        owners = [command.name for command in listed
                  if option in command.options]
        for command in listed:
            if command.name in owners or 'PROGRAM' in command.arguments:
                continue
            code, _, errors = support.reader(command.name, '--' + option)
            found = re.search('unknown option --%s: (.*) ha(?:s|ve) it' %
                              option, errors)
            named = re.split(', | and ', found.group(1)) if found else []
            results.check(code == 1 and named == (
                owners if len(owners) <= 6 else ['other commands']),
                          '%s --%s' % (command.name, option),
                          [errors, owners])


def check_bits(results):
    """Each option has a bit of its own."""
    with open(os.path.join(programs.ROOT, 'Reader', 'Base', 'BaseOptions.h'),
              encoding='ascii') as file:
        bits = [int(bit, 16) for bit in re.findall(
            r'^#define READER_OPTION_\w+ +(0x[0-9a-fA-F]+)ULL', file.read(),
            re.MULTILINE)]
    results.check(len(bits) > 50 and len(set(bits)) == len(bits) and
                  all(bit & (bit - 1) == 0 for bit in bits),
                  'the bits of options', sorted(bits))


def check_usage(results, command, session):
    """What is wrong is said on the error output, with where to look."""
    for arguments, words in (
            (['--no-such-option'], 'unknown option --no-such-option'),
            ([], 'missing' if len(command.arguments) == 1 else 'needed'),
            ([session] * (40 if command.arguments[-1].endswith('...') else
                          len(command.arguments) + 1), 'too many')):
        code, text, errors = support.reader(command.name, *arguments)
        results.check(
            code == 1 and not text and words in errors and
            'see TraceReader %s --help' % command.name in errors,
            '%s %s' % (command.name, arguments), [code, text, errors])
    if command.options.get('limit'):
        code, text, errors = support.reader(command.name, '--limit', 'x',
                                            session)
        results.check(code == 1 and not text and
                      'bad value "x" for --limit: it takes' in errors,
                      '%s --limit x' % command.name, [code, errors])


def check_missing(results, command, scratch):
    code, text, errors = command.run(
        programs.windows_path(os.path.join(scratch, 'nothing here')),
        scratch=scratch)
    results.check(
        code == 1 and not text and 'nothing here' in errors and
        'no such file or directory (0xC0000034' in errors,
        '%s: a session that is not there' % command.name,
        [code, text, errors])


def check_json(results, command, session, schema, scratch):
    if 'json' not in command.options:
        return None
    code, text, errors = command.run(session, '--json', scratch=scratch)
    if not results.check(code == 0 and not errors,
                         '%s --json' % command.name, [code, errors]):
        return None
    data = json.loads(text)
    problems = ['%s: %s' % (list(problem.absolute_path), problem.message)
                for branch in schema['oneOf'] if branch['title'] ==
                command.name for problem in jsonschema.Draft202012Validator(
                    {**branch, '$defs': schema['$defs']}).iter_errors(data)]
    titles = [branch['title'] for branch in schema['oneOf']]
    results.check(command.name in titles and not problems,
                  '%s --json: the schema' % command.name, problems)
    results.check(problems or
                  jsonschema.Draft202012Validator(schema).is_valid(data),
                  '%s --json: one kind' % command.name)
    code, _, errors = command.run(session, '--csv', '--json', scratch=scratch)
    results.check(code == 1 and '--csv and --json exclude' in errors,
                  '%s --csv --json' % command.name, [code, errors])
    return data


def check_csv(results, command, session, data, scratch):
    code, text, errors = command.run(session, '--csv', scratch=scratch)
    rows = list(csv.reader(io.StringIO(text, newline='')))
    results.check(
        code == 0 and not errors and len(rows) > 1 and
        len({len(row) for row in rows}) == 1 and
        len(set(rows[0])) == len(rows[0]),
        '%s --csv' % command.name, [code, errors, rows[:2]])
    tables = [name for name, rows in data.items() if isinstance(rows, list)]
    if len(tables) == 1:
        results.check(rows[0] == list(data[tables[0]][0]),
                      '%s: CSV has the fields of JSON' % command.name,
                      [rows[0], list(data[tables[0]][0])])


def check_text(results, command, session, scratch):
    """Text is plain; with --raw it has no units; both for a pipe."""
    code, text, errors = command.run(session, scratch=scratch)
    results.check(code in (0, 2) and '\x1b' not in text + errors and
                  '\r' not in text, '%s: plain text' % command.name,
                  [code, errors])
    if 'raw' in command.options:
        _, raw, errors = command.run(session, '--raw', scratch=scratch)
        raw = ''.join(line for line in raw.splitlines(True)
                      if not line.endswith('.\n'))     # tables alone
        found = UNIT.search(raw)
        results.check(raw and not found, '%s --raw: no units' % command.name,
                      [raw[max(0, found.start() - 80):found.end() + 20]
                       if found else errors])


def check_numbers(results, session):
    """--raw shows what JSON holds; control: without it, it does not."""
    rows = json.loads(support.reader('report', '--json',
                                     session)[1])['functions']
    raw = support.reader('report', '--raw', session)[1].split('\n')
    plain = support.reader('report', session)[1].split('\n')
    for lines, is_raw in ((raw, True), (plain, False)):
        found = [line.split()[1:6] for line in lines[1:len(rows) + 1]]
        wanted = [[str(row[key]) for key in (
            'total_ns', 'self_ns', 'average_ns', 'min_ns', 'max_ns')]
            for row in rows]
        results.check((found == wanted) == is_raw,
                      'report: raw is %s' % is_raw, [found, wanted])


def main():
    results = programs.Results()
    with open(SCHEMA, encoding='utf-8') as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        traces = os.path.join(scratch, 'traces')
        support.run(program, 'run', '2', '1000', '0', directory=traces)
        real = programs.windows_path(support.sessions(traces)[0])

        # Which of a real program's functions are hot is up to the clock.
        path = os.path.join(scratch, 'made-up.trace')
        hot.make(path)
        made = programs.windows_path(path)
        names, problem = commands()
        results.check(problem == (0, '') and len(names) > 6, '--help', names)
        listed = [Command(name) for name in names]
        known = {command.name: command.options for command in listed}
        for command in listed:
            check_help(results, command, known)
            results.check(any(example.startswith(command.name + ' ')
                              for example in command.examples),
                          '%s: an example' % command.name)
            if 'PROGRAM' in command.arguments:
                continue        # it has no session: TestRun.py
            if command.name == 'sql':
                continue        # its output is the statement's: TestSql.py
            session = made if command.name == 'hot' else real
            check_usage(results, command, session)
            if {'PID', 'DRIVER'} & set(command.arguments):
                continue        # nor have these: TestAttach.py, TestCollect.py
            check_missing(results, command, scratch)
            check_text(results, command, session, scratch)
            data = check_json(results, command, session, schema, scratch)
            if data:
                check_csv(results, command, session, data, scratch)
        results.equal({branch['title'].split()[0]
                       for branch in schema['oneOf']},
                      {name for name in names if 'json' in known[name]} -
                      {'sql'},
                      'the schema has all commands')
        check_bits(results)
        check_other_commands(results, listed)
        check_numbers(results, real)
        code, text, errors = support.reader()
        results.check(code == 1 and not text and 'Commands:' in errors,
                      'without a command', [code, text])
        code, text, errors = support.reader('reprot', session)
        results.check(code == 1 and 'unknown command reprot' in errors,
                      'an unknown command', [code, errors])
        code, text, errors = support.reader('--version')
        results.check(code == 0 and re.match(r'TraceReader [\d.]+, .* 1\.\d+\n$',
                                             text), '--version', [text])

        #
        # A control: a field that the schema does not know is refused.
        #

        data = json.loads(support.reader('report', '--json', session)[1])
        data['functions'][0]['more'] = 1
        results.check(not jsonschema.Draft202012Validator(schema).is_valid(
            data), 'control: a field too many')
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
