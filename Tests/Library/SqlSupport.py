"""SQLite for Windows, built from the distribution's source, and statements over
sessions through TracerSqlite.dll."""

import contextlib
import csv
import fcntl
import io
import os
import shutil
import subprocess

import programs

FOLDER = os.path.join(programs.ROOT, 'x64', 'Sqlite', 'Tests')
EXTENSION = os.path.join(programs.BIN, 'TracerSqlite.dll')


@contextlib.contextmanager
def alone(name):
    """One test at a time builds what others use, too."""
    folder = os.path.join(programs.ROOT, 'x64', 'Sqlite')
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + '.lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_sqlite():
    """The folder with sqlite3.exe, sqlite3.dll and SqlHost.exe, or None (what
    is missing was printed)."""
    with alone('Tests'):
        return build_sqlite()


def build_sqlite():
    code, text = programs.run([
        os.path.join(programs.ROOT, 'Build', 'FetchSource.sh'), 'sqlite3',
        'test/speedtest1.c', os.path.join(programs.ROOT, 'x64', 'Sqlite')])
    if code != 0 or shutil.which('tclsh') is None:
        return None
    source = os.path.dirname(text.strip().splitlines()[-1])
    os.makedirs(FOLDER, exist_ok=True)
    if not os.path.exists(os.path.join(FOLDER, 'sqlite3.exe')):
        with open(os.path.join(FOLDER, 'make.log'), 'wb') as log:
            for command in ([os.path.join(source, 'configure'),
                             '--disable-tcl', '--disable-readline'],
                            ['make', 'sqlite3.c', 'shell.c']):
                if subprocess.run(command, cwd=FOLDER, stdout=log,
                                  stderr=log).returncode:
                    return None
        compile_one('sqlite3.c', '-c', '-o', 'sqlite3.o')
        compile_one('sqlite3.o', '-shared', '-o', 'sqlite3.dll',
                    '-Wl,--export-all-symbols')
        compile_one('sqlite3.o', 'shell.c', '-o', 'sqlite3.exe')
    compile_host(FOLDER)
    return FOLDER


def find_version(version):
    """The folder with sqlite3.dll and SqlHost.exe of another version, or None
    (what is missing was printed).  Its own assertions are compiled in, of what
    a virtual table may do as well."""
    with alone(version):
        return build_version(version)


def build_version(version):
    code, text = programs.run([
        os.path.join(programs.ROOT, 'Build', 'FetchSqlite.sh'), version])
    if code != 0:
        return None
    folder = text.strip().splitlines()[-1]
    if not os.path.exists(os.path.join(folder, 'checked.o')):
        compile_one('sqlite3.c', '-DSQLITE_DEBUG', '-DSQLITE_ENABLE_API_ARMOR',
                    '-c', '-o', 'checked.new', folder=folder)
        compile_one('checked.new', '-shared', '-o', 'sqlite3.dll',
                    '-Wl,--export-all-symbols', folder=folder)
        os.rename(os.path.join(folder, 'checked.new'),
                  os.path.join(folder, 'checked.o'))
    compile_host(folder)
    return folder


def compile_host(folder):
    """Not while another test runs it."""
    source = os.path.join(programs.PROGRAMS, 'SqlHost.c')
    host_program = os.path.join(folder, 'SqlHost.exe')
    if not os.path.exists(host_program) or \
            os.path.getmtime(host_program) < os.path.getmtime(source):
        compile_one(source, 'sqlite3.dll', '-o', 'SqlHost.new', folder=folder)
        os.rename(os.path.join(folder, 'SqlHost.new'), host_program)


def compile_one(*arguments, folder=FOLDER):
    subprocess.run([programs.GCC, '-O1', '-w', '-I.', *arguments], check=True,
                   cwd=folder)


def quote(path):
    return "'%s'" % programs.windows_path(path).replace("'", "''")


def shell(statements, extension=EXTENSION):
    """(rows of each statement's columns as text, what was an error)"""
    script = ['.load ' + programs.windows_path(extension).replace('\\', '\\\\'),
              '.mode csv']
    for statement in statements:
        script += [statement.rstrip(';') + ';', '.print ----']
    done = programs.watch.run(
        [programs.WINE, os.path.join(FOLDER, 'sqlite3.exe'), '-batch',
         ':memory:'], input='\n'.join(script).encode() + b'\n',
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(os.environ))
    text = done.stdout.decode('utf-8', 'replace').replace('\r', '')
    parts = text.split('----\n')[:-1]
    return ([list(csv.reader(io.StringIO(part))) for part in parts],
            done.stderr.decode('utf-8', 'replace').replace('\r', ''))


def host(*arguments, folder=FOLDER):
    """(exit code, output) of SqlHost."""
    return programs.run_windows(os.path.join(folder, 'SqlHost.exe'),
                                programs.windows_path(EXTENSION), *arguments)
