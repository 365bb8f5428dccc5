#!/usr/bin/env python3
"""What a session is made of is the user's alone, whatever the umask and
whatever the directory: every directory and file that the library and
TraceReader make for it has no right for others.  A file of another user that
has a name which one of them would take is not written to.

Wine turns descriptors into modes: for files, what Everyone has becomes that of
others; what the user has, the group gets too, less the umask.  Whose a file is
on the other side of Wine is told by stand-ins, in TestTrust.c.
"""

import os
import shutil
import stat
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

OTHERS = stat.S_IRWXO


def walk(folder):
    """Every directory and file below a folder, and itself."""
    yield folder
    for above, folders, files in os.walk(folder):
        for name in folders + files:
            yield os.path.join(above, name)


def check_private(results, what, folder, least):
    """All below the folder is the user's alone."""
    found = list(walk(folder)) if os.path.isdir(folder) else []
    open_ones = [(path, oct(os.stat(path).st_mode)) for path in found
                 if os.stat(path).st_mode & OTHERS]
    results.check(len(found) >= least and not open_ones,
                  what + ': nothing for others', open_ones or found)
    executable = [path for path in found if os.path.isfile(path) and
                  os.stat(path).st_mode & stat.S_IXUSR]
    results.check(not executable, what + ': no file is executable', executable)
    return [os.path.relpath(path, folder) for path in found]


def check_sessions(results, scratch, program):
    for mask in (0o022, 0o000, 0o077):
        os.umask(mask)
        for mode, variables in (
                ('file', {}), ('ring', {'TRACER_MODE': 'ring'}),
                ('tree', {'TRACER_MODE': 'tree'}),
                ('depth', {'TRACER_MAX_DEPTH': '2'})):
            what = 'umask %03o, %s' % (mask, mode)
            above = os.path.join(scratch, '%03o%s' % (mask, mode))
            os.mkdir(above)
            os.chmod(above, 0o777)
            where = os.path.join(above, 'made', 'sessions')
            code, _ = support.run(
                program, 'run', '2', '2000', '0', cwd=above,
                TRACER_DIRECTORY=programs.windows_path(where),
                TRACER_VIEW_SIZE='banana', **variables)
            results.equal(code, 0, what + ': exit code')
            names = check_private(results, what, os.path.join(above, 'made'),
                                  6)
            kinds = {os.path.splitext(name)[1] for name in names}
            results.check({'.trace', '.log', '.control'} <= kinds,
                          what + ': stores, a log, a control file', names)

            # What the reader adds, and a copy that it makes.
            session = support.sessions(where)
            if not results.check(len(session) == 1, what + ': session'):
                continue
            path = programs.windows_path(session[0])
            for command in (('report',), ('tree',)):
                programs.trace_reader(*command, path)
            check_private(results, what + ', read', where, 5)
            target = os.path.join(above, 'repaired')
            code, text = programs.trace_reader(
                'recover', '--output', programs.windows_path(target), path)
            results.check(code in (0, 1) and os.path.isdir(target),
                          what + ': recover', [code, text])
            check_private(results, what + ', recovered', target, 3)
            packed, target = (os.path.join(above, name)
                              for name in ('a.tracepack', 'unpacked'))
            programs.trace_reader('pack', '-o', programs.windows_path(packed),
                                  path)
            code, text = programs.trace_reader(
                'unpack', '-o', programs.windows_path(target),
                programs.windows_path(packed))
            results.check(code == 0 and os.path.isdir(target),
                          what + ': unpack', [code, text])
            check_private(results, what + ', unpacked', target, 4)

            # A control: what a user asks for by name is as the folder has it.
            page = os.path.join(above, 'page.csv')
            programs.trace_reader('export', '--format', 'csv', '-o',
                                  programs.windows_path(page), path)
            if mask == 0 and os.path.exists(page):
                results.check(os.stat(page).st_mode & stat.S_IROTH,
                              what + ': an export is as any file')
    os.umask(0o022)


def check_control(results, scratch):
    """Wine gives others what nobody has said otherwise: the modes above come
    from the descriptors."""
    os.umask(0)
    path = os.path.join(scratch, 'said')
    os.mkdir(path)
    exe = programs.build(os.path.join(scratch, 'many'),
                         [os.path.join(programs.PROGRAMS, 'Processes.c')],
                         programs.PENTER_FLAGS, 'Processes.exe',
                         [programs.LIBRARY])
    said = os.path.join(path, 'file')
    code, _ = support.run(exe, '0', '1', '0', cwd=path,
                          PROCESSES_FILE=programs.windows_path(said))
    os.umask(0o022)
    results.check(code == 0 and os.stat(said).st_mode & stat.S_IROTH,
                  'a file that the program makes is as ever')


def check_names(results, scratch, program):
    """A link or a file in the way of a session's name."""
    above = os.path.join(scratch, 'links')
    os.makedirs(os.path.join(above, 'target'))
    os.symlink('target', os.path.join(above, 'link'))
    code, _ = support.run(program, 'run', '1', '2000', '0', cwd=above,
                          TRACER_DIRECTORY='link')
    results.equal((code, len(support.sessions(os.path.join(above, 'target')))),
                  (0, 1), 'TRACER_DIRECTORY is a link')
    with open(os.path.join(above, 'file'), 'w') as file:
        file.write('mine')
    code, _ = support.run(program, 'run', '1', '2000', '0', cwd=above,
                          TRACER_DIRECTORY='file')
    with open(os.path.join(above, 'file')) as file:
        results.equal((code, file.read()), (0, 'mine'),
                      'TRACER_DIRECTORY is a file')


def check_values(results, scratch, program):
    """Values of the environment as long as they can be, and of any text: the
    program runs as ever."""
    expected = None
    for number, value in enumerate((
            None, '\\\\', '\\\\.\\NUL', '\\\\.\\C:', '\\\\?\\', '?', '*',
            'a\\..\\..\\..\\..\\..\\..\\..\\..\\..\\..\\proc\\self',
            'x' * 300, 'y\\' * 2000, 'C:' + '\\z' * 10000, '%s%n%d',
            '\x01\x02', '\ud83d\ude00' * 50, 'NUL', 'CON', 'file.txt:stream',
            ' ', '.', '"')):
        for variable in ('TRACER_DIRECTORY', 'TRACER_EXCLUDE', 'TRACER_CONFIG',
                         'TRACER_MODULES', 'TRACER_VIEW_SIZE'):
            folder = os.path.join(scratch, 'values')
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            try:
                variables = {} if value is None else {
                    variable: value.encode('utf-16', 'surrogatepass').decode(
                        'utf-16')}
            except UnicodeError:
                continue
            code, text = support.run(
                program, 'run', '1', '50', '0', cwd=folder,
                TRACER_BASE_DIRECTORY=programs.windows_path(folder),
                **variables)
            if expected is None:
                expected = code, text
            results.equal((code, text), expected, 'value %d of %s' %
                          (number, variable))
            if value is None:
                break


def main():
    results = programs.Results()
    wanted = sys.argv[1:]
    with programs.Scratch() as scratch:
        program = support.build_busy(os.path.join(scratch, 'busy'))
        if not wanted or 'control' in wanted:
            check_control(results, scratch)
        for check in (check_sessions, check_names, check_values):
            if not wanted or check.__name__[6:] in wanted:
                check(results, scratch, program)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
