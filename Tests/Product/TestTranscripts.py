#!/usr/bin/env python3
"""What a user sees, as text at 80 and 120 columns: the first run of a program
that MinGW compiled, a crash, and two runs compared.

The texts are in Tests/Product/Transcripts.  What varies has stand-ins of the
same width: the directory, the process and the date in names of sessions; and
the times, because the records get time stamps by their numbers before they are
read.  No line may be wider than the screen.

    TRACER_TRANSCRIPTS=write Tests/Product/TestTranscripts.py

writes the texts anew: read them before you commit them.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestScreen as screen                                  # noqa: E402
from StoreSupport import programs                            # noqa: E402

support.OTHER_MODES.clear()     # it gives records other times where they lie

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      'Transcripts')
WIDTHS = (80, 120)
PLACE = 'C:\\traces'
SESSION = re.compile(r'\b(\w+\.exe)-(\d+)-(\d{8})-(\d{6})-(\d{3})\b')
WRITE = os.environ.get('TRACER_TRANSCRIPTS') == 'write'


def set_times(session, factor=1):
    """Time stamps by the numbers of the records, at 2 GHz."""
    screen.fix_rate(session)
    for path in support.stores(session):
        with open(path, 'r+b') as file:
            data = bytearray(file.read())
            first, = struct.unpack_from('<Q', data, 0x0E0)
            time, number = first + 2000, 0
            for place in range(4096, len(data) - 15, 16):
                if not struct.unpack_from('<Q', data, place)[0]:
                    break
                struct.pack_into('<Q', data, place, time)
                time += (60 + number * 7919 % 180) * factor
                number += 1
            file.seek(0)
            file.write(data)


class Transcript:
    """The commands of one, and what they write."""

    def __init__(self, results, scratch, program, name, width):
        self.results, self.program = results, program
        self.name, self.width = name, width
        self.traces = os.path.join(scratch, '%s-%d' % (name, width))
        self.text, self.names = '', []

    def shorten(self, text):
        """Stand-ins for what varies; the folder has a short name instead of
        its own."""
        text = text.replace(programs.windows_path(self.traces), PLACE)
        text = text.replace(programs.windows_path(self.program), 'game.exe')
        text = re.sub(r'\[ *\d+\] \|', '[  4712] |', text)
        text = re.sub(r'\bThread \d+ was', 'Thread 4712 was', text)
        return SESSION.sub(self.rename, text)

    def rename(self, match):
        """The first session's name is of 14:03:22, the next one's of :23."""
        if match[0] not in self.names:
            self.names.append(match[0])
        number = self.names.index(match[0])
        return '%s-%d-20261126-%d-500' % (match[1], 4711 + 4 * number,
                                          140322 + number)

    def start(self, command, *arguments):
        """Runs TraceReader; what it writes to a terminal, errors first."""
        with tempfile.TemporaryFile() as output, \
                tempfile.TemporaryFile() as errors:
            done = support.watch.run(
                [programs.WINE, programs.READER, *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                env=support.environment(self.traces))
            output.seek(0)
            errors.seek(0)
            texts = support.decode(output.read()), support.decode(
                errors.read())
        told = '\n'.join(line for line in texts[1].split('\n')
                         if not re.match(r'[0-9a-f]{4}:|wine: ', line))
        # A program writes before run does, and run writes errors.
        parts = (texts[0], told) if arguments[0] == 'run' else (told, texts[0])
        self.text += '$ %s\n%s\n' % (command, self.shorten(''.join(parts)))
        return done.returncode

    def run(self, command, *arguments, crashes=False, factor=1):
        before = support.sessions(self.traces)
        code = self.start('TraceReader run game.exe' + command, 'run',
                          programs.windows_path(self.program), *arguments)
        self.results.check((code == 0) != crashes, self.name + ': run',
                           [code, self.text])
        new = [path for path in support.sessions(self.traces)
               if path not in before]
        self.results.equal(len(new), 1, self.name + ': a session')
        for path in new:
            set_times(path, factor)

    def read(self, command):
        code = self.start('TraceReader ' + command, *command.split(),
                          *(() if command.startswith('replay') else
                            ('--width', str(self.width))))
        self.results.equal(code, 0, self.name + ': ' + command)

    def finish(self):
        path = os.path.join(FOLDER, '%s-%d.txt' % (self.name, self.width))
        if WRITE:
            os.makedirs(FOLDER, exist_ok=True)
            with open(path, 'w', encoding='utf-8', newline='\n') as file:
                file.write(self.text)
        with open(path, encoding='utf-8') as file:
            expected = file.read()
        screen.same(self.results, self.text, expected,
                    '%s at %d' % (self.name, self.width))
        wide = [line for line in self.text.split('\n')
                if screen.cells(line) > self.width]
        self.results.check(not wide, '%s: lines wider than %d' %
                           (self.name, self.width), wide)


def first_run(transcript):
    transcript.run('')
    transcript.read('report')
    transcript.read('callers Distance')


def crash(transcript):
    transcript.run(' 10 crash', '10', 'crash', crashes=True)
    transcript.read('replay --tail 14')


def two_runs(transcript):
    transcript.run('')
    transcript.run(' 12', '12', factor=2)
    transcript.read('diff @2 @1')


def check_control(results, scratch, program):
    """Without a width lines are wider than the screens."""
    transcript = Transcript(results, scratch, program, 'control', 80)
    transcript.run('')
    code, text, _ = support.reader('report', programs.windows_path(
        support.sessions(transcript.traces)[0]))
    results.check(code == 0 and max(map(screen.cells, text.split('\n'))) > 80,
                  'control: without --width lines are wider', [text])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = programs.build(
            os.path.join(scratch, 'program'),
            [os.path.join(programs.PROGRAMS, 'Game.c')],
            programs.PENTER_FLAGS, 'game.exe', [programs.LIBRARY])
        for name, commands in (('first-run', first_run), ('crash', crash),
                               ('two-runs', two_runs)):
            for width in WIDTHS:
                transcript = Transcript(results, scratch, program, name,
                                        width)
                commands(transcript)
                transcript.finish()
                shutil.rmtree(transcript.traces)
        check_control(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
