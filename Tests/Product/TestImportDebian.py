#!/usr/bin/env python3
"""Programs of Debian that were built without any switch: their calls into the
system, counted as Wine's own log of calls (WINEDEBUG=+relay) counts them.

bzip2, zlib's minigzip and, in the long form, SQLite's shell are built from
Debian's source packages with MinGW, with its usual optimisation and nothing
else.  What they write must be the same with imports recorded and without, and
how often ReadFile, WriteFile, malloc and others were called must be what the
log of another run has.  Controls: a log of other work has other numbers, and
the log has the lines that are looked for.
"""
# Takes long.

import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import programs                                              # noqa: E402
from TestImports import calls, run                           # noqa: E402

# Calls that the program makes itself, and those that the C library makes for
# it: by whom does not matter.  Functions that take as many arguments as they
# like are not in Wine's log.
OWN = ('malloc', 'free', 'realloc', 'fread', 'fwrite', 'fopen', 'fclose',
       'fflush', 'fgets', 'fputs', 'fgetc', 'ungetc', 'ferror', 'exit',
       '_read', '_write', '_close', '_isatty', '_fdopen', '_setmode',
       'memcpy', 'memset', 'strlen', 'strcmp', 'strncmp', 'strcpy', 'qsort',
       '_stat64i32', '_utime', 'remove')
SYSTEM = ('ReadFile', 'WriteFile', 'CreateFileA', 'CreateFileW', 'CloseHandle',
          'SetFilePointerEx', 'SetFilePointer', 'GetFileType', 'SetEndOfFile',
          'LockFileEx', 'LockFile', 'UnlockFile', 'UnlockFileEx',
          'FlushFileBuffers', 'GetFileSize', 'GetFileAttributesW',
          'GetFileAttributesExW', 'DeleteFileW')
NAMES = ['msvcrt!' + name for name in OWN] + [
    'kernel32!' + name for name in SYSTEM]


def fetch(package, marker, folder):
    """A source package's folder, or None (what is missing was printed)."""
    code, text = programs.run([
        os.path.join(programs.ROOT, 'Build', 'FetchSource.sh'), package,
        marker, os.path.join(programs.ROOT, 'x64', folder)])
    return text.strip().splitlines()[-1] if code == 0 else None


def build(folder, name, sources, *flags):
    program = os.path.join(folder, name)
    subprocess.run([programs.GCC, '-O2', '-w', *flags, *sources, '-o',
                    program], check=True, cwd=folder)
    return program


def build_bzip2(folder):
    source = fetch('bzip2', 'bzip2.c', 'Bzip2')
    if source is None:
        return None
    # Its name for Windows has a backslash.
    with open(os.path.join(folder, 'sys\\stat.h'), 'w',
              encoding='ascii') as file:
        file.write('#include <sys/stat.h>\n')
    return build(folder, 'bzip2.exe', [
        os.path.join(source, name + '.c') for name in (
            'blocksort', 'huffman', 'crctable', 'randtable', 'compress',
            'decompress', 'bzlib', 'bzip2')], '-DBZ_UNIX=0', '-DBZ_LCCWIN32=1',
        '-I' + folder)


def build_minigzip(folder):
    source = fetch('zlib', 'test/minigzip.c', 'Zlib')
    if source is None:
        return None
    top = os.path.dirname(source)
    return build(folder, 'minigzip.exe', [
        *(os.path.join(top, name) for name in sorted(os.listdir(top))
          if name.endswith('.c')), os.path.join(source, 'minigzip.c')],
        '-I' + top)


def build_sqlite(folder):
    source = fetch('sqlite3', 'test/speedtest1.c', 'Sqlite')
    if source is None or shutil.which('tclsh') is None:
        return None
    with open(os.path.join(folder, 'make.log'), 'wb') as log:
        for command in ([os.path.join(os.path.dirname(source), 'configure'),
                         '--disable-tcl', '--disable-readline'],
                        ['make', 'sqlite3.c', 'shell.c']):
            if subprocess.run(command, cwd=folder, stdout=log,
                              stderr=log).returncode:
                return None
    return build(folder, 'sqlite3.exe', ['sqlite3.c', 'shell.c'])


def read_log(program, arguments, names):
    """Calls by name, from Wine's log, of the thread that makes calls from the
    program's image, from the first of these on: what is called before the
    program begins is not recorded."""
    threads = {}
    wanted = re.compile(r'([0-9a-f]+):Call (\w+)\.(?:dll\.)?(\w+)\(.*'
                        r'ret=([0-9a-f]+)')
    with tempfile.TemporaryFile() as log, \
            tempfile.TemporaryFile() as output:
        code = programs.watch.run(
            [programs.WINE, program, *arguments], stdin=subprocess.DEVNULL,
            stderr=log, stdout=output,
            env=dict(support.environment(), WINEDEBUG='+relay')).returncode
        log.seek(0)
        for line in log:
            match = wanted.match(line.decode('utf-8', 'replace'))
            if match is None:
                continue
            own = match[4].startswith('140') and match[2] == 'msvcrt'
            if own or match[1] in threads:
                counts = threads.setdefault(match[1], collections.Counter())
                counts['', 'own'] += own
                name = '%s!%s' % (match[2].lower(), match[3])
                if name in names:
                    counts[name] += 1
    counts = max(threads.values(), key=lambda one: one['', 'own'])
    del counts['', 'own']
    return code, dict(counts)


def check(results, folder, program, work):
    """work: (arguments, what is left behind, what is gone) of each run."""
    name = os.path.basename(program)
    names = set(NAMES)
    before = None
    for number, (arguments, prepare, left) in enumerate(work):
        what = '%s %s' % (name, number)
        outputs = []
        for way in ('log', 'plain', 'imports', 'tree'):
            prepare()
            if way == 'log':
                code, logged = read_log(program, arguments, names)
            elif way == 'plain':
                code, outputs, _, _ = run(program, *arguments)
            else:
                code, text, errors, session = run(
                    program, *arguments,
                    options=['--imports', ';'.join(NAMES),
                             *(['--mode', 'tree'] if way == 'tree' else [])],
                    directory=os.path.join(folder, '%s%d' % (way, number)))
                results.check(session and text == outputs,
                              '%s, %s: what it says' % (what, way),
                              [text[:200], outputs[:200], errors])
                seen = calls(session)
                results.equal(programs.differences(logged, seen), [],
                              '%s, %s: calls, and Wine\'s log' % (what, way))
            data = []
            for path in left:
                with open(path, 'rb') as file:
                    data.append(file.read())
            results.equal(code, 0, '%s, %s: exit code' % (what, way))
            if way == 'log':
                expected = data
            results.check(data == expected, '%s, %s: what it writes' % (
                what, way))
        results.check(logged.get('kernel32!WriteFile', 0) > 0 and
                      logged.get('kernel32!ReadFile', 0) > 0 and
                      logged.get('msvcrt!malloc', 0) > 0,
                      '%s: the log' % what, [logged])
        results.check(before != logged, '%s: other work' % what, [logged])
        before = logged


def make_text(path, size, seed):
    chance = random.Random(seed)
    words = [''.join(chance.choice('etaoinshrdlu') for _ in range(
        chance.randrange(2, 9))) for _ in range(300)]
    text = []
    while size > 0:
        text.append(chance.choice(words))
        size -= len(text[-1]) + 1
    with open(path, 'w', encoding='ascii') as file:
        file.write(' '.join(text))


def check_packer(results, scratch, name, build_one, suffix, unpack):
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    program = build_one(folder)
    if program is None:
        results.skip('there is no %s' % name)
        return
    text = os.path.join(folder, 'text.txt')
    kept = os.path.join(folder, 'kept' + suffix)

    def prepare_text():
        for path in (text, text + suffix):
            if os.path.exists(path):
                os.remove(path)
        make_text(text, 300000, 1)

    def prepare_packed():
        for path in (text, text + suffix):
            if os.path.exists(path):
                os.remove(path)
        shutil.copy(kept, text + suffix)

    path = programs.windows_path(text)
    check(results, folder, program, [([path], prepare_text, [text + suffix])])
    shutil.copy(text + suffix, kept)
    check(results, os.path.join(folder, 'unpack'), program,
          [([unpack, path + suffix], prepare_packed, [text])])
    with open(text, 'rb') as file:
        unpacked = file.read()
    prepare_text()
    with open(text, 'rb') as file:
        results.check(file.read() == unpacked, '%s: packed and unpacked' % name)


SQL = '''create table t(a integer primary key, b text, c real);
begin;
%s
commit;
create index i on t(b);
update t set c = c * 2 where a %% 3 = 0;
delete from t where a %% 7 = 0;
select count(*), sum(c), max(b) from t;
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
vacuum;
pragma integrity_check;
'''


def check_sqlite(results, scratch):
    folder = os.path.join(scratch, 'sqlite')
    os.makedirs(folder)
    program = build_sqlite(folder)
    if program is None:
        results.skip('there is no SQLite')
        return
    script = os.path.join(folder, 'script.sql')
    with open(script, 'w', encoding='ascii') as file:
        file.write(SQL % '\n'.join(
            'insert into t values(%d, \'name%d\', %d.25);' % (
                number, number * 7919 % 97, number) for number in range(600)))
    base = os.path.join(folder, 'base.db')

    def prepare():
        if os.path.exists(base):
            os.remove(base)

    check(results, folder, program, [
        (['-batch', programs.windows_path(base), '.read ' +
          programs.windows_path(script).replace('\\', '/')], prepare, [])])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        check_packer(results, scratch, 'bzip2', build_bzip2, '.bz2', '-d')
        check_packer(results, scratch, 'minigzip', build_minigzip, '.gz', '-d')
        if programs.LONG:
            check_sqlite(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
