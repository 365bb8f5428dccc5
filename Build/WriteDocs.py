#!/usr/bin/env python3
"""Writes what the documents have from the program's own rows.

    Build/WriteDocs.py [--check] [READER]

Docs/Commands.md is what TraceReader says with --help, of itself and of every
command; Docs/TraceReader.schema.json is what it says with --schema, and
Packaging/Completions has what it says with --completions, for each shell.  With
--check nothing is written: the exit code is 1 if a document is not what would
be written, and the differences are printed.

READER: the program (x64/Release/TraceReader.exe).  DOCS in the environment: the
documents' folder (Docs); COMPLETIONS: that of the scripts.
"""

import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCS = os.environ.get('DOCS', os.path.join(ROOT, 'Docs'))
COMPLETIONS = os.environ.get('COMPLETIONS', os.path.join(ROOT, 'Packaging',
                                                         'Completions'))

# Where each document is, and what that is called.
FOLDERS = {'Docs': DOCS, 'Packaging/Completions': COMPLETIONS}

HEAD = '''# Commands of TraceReader

This page is the text of `TraceReader --help` and of `TraceReader COMMAND --help`. `make docs`
writes it from the program, so edit the rows in `Reader/Commands` instead. [Reader.md](Reader.md)
explains what the commands have in common.
'''


def say(reader, *arguments):
    """What the program writes; it must not fail."""
    done = subprocess.run([os.path.join(ROOT, 'Build', 'RunWine.sh'), reader,
                           *arguments], check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit('WriteDocs: %s %s: exit code %d, after %d bytes of text' %
                 (reader, ' '.join(arguments), done.returncode,
                  len(done.stdout)))
    return done.stdout.decode('utf-8').replace('\r\n', '\n')


def commands(text):
    """The names below "Commands:"."""
    return re.findall(r'^  ([a-z]+)  ', text.split('Commands:')[1]
                      .split('\n\n')[0], re.M)


def write(reader):
    """(folder, name, text) of each document."""
    text = say(reader, '--help')
    parts = [HEAD, '```text\n%s```\n' % text]
    for name in commands(text):
        parts.append('## %s\n' % name)
        parts.append('```text\n%s```\n' % say(reader, name, '--help'))
    yield 'Docs', 'Commands.md', '\n'.join(parts)
    yield 'Docs', 'TraceReader.schema.json', say(reader, '--schema')
    for shell, name in (('bash', 'TraceReader.bash'),
                        ('powershell', 'TraceReader.ps1')):
        yield 'Packaging/Completions', name, say(reader, '--completions', shell)


def main():
    arguments = sys.argv[1:]
    is_check = '--check' in arguments
    if is_check:
        arguments.remove('--check')
    reader = os.path.abspath(arguments[0] if arguments else os.path.join(
        ROOT, 'x64', 'Release', 'TraceReader.exe'))
    stale = 0
    for folder, name, text in write(reader):
        path = os.path.join(FOLDERS[folder], name)
        old = ''
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                old = file.read()
        if not is_check:
            with open(path, 'w', encoding='utf-8', newline='\n') as file:
                file.write(text)
        elif old != text:
            stale += 1
            print('%s/%s is stale: make docs writes it anew' % (folder, name))
            sys.stdout.writelines(list(difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), 'is', 'would be',
                n=0))[:20])
    if is_check:
        print('WriteDocs: %d of the documents are stale' % stale)
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main())
