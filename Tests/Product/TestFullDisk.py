#!/usr/bin/env python3
"""Disks that are full, and other things of which there is nothing left.

The traced program must never notice: same output, same exit code.  What it
called is recorded, or counted in a store, or counted in the log; nothing is
lost in silence.  What ran out is named with its status.  Tests/Programs/
Exhaust.c takes all handles or all address space there is; disks are small file
systems in memory and in a file.
"""
# Takes long.

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs, trace_reader              # noqa: E402
from TestBadInput import (delete_logs, mentions, mounted,    # noqa: E402
                          run as run_reported)


# What the tests of this file limit programs to.
ADDRESS_SPACE = 3 << 30
OPEN_FILES = 400
FILE_SIZE = 4 << 20

NO_MEMORY, DISK_FULL, ACCESS = 0xC0000017, 0xC000007F, 0xC0000022
READ_ONLY, IN_PAGE, VIOLATION = 0xC00000A2, 0xC0000006, 0xC0000005
TOO_MANY_FILES, TOO_BIG = 0xC000011F, 0xC0000040
NOT_FOUND = (0xC0000034, 0xC000003A, 0xC0000103, 0xC000000E, 0xC000000F)
# A page that the disk has no room for is an access violation under Wine.
PAGES = (DISK_FULL, IN_PAGE, VIOLATION)


@support.watch.unless_wine_failed
def run(program, *arguments, directory=None, limits=(), **variables):
    """(exit code, output) of a program with limits of its own."""
    def limit():
        for what, value in limits:
            resource.setrlimit(what, (value, value))

    # Files, not pipes: what Wine leaves running would keep a pipe open.
    with tempfile.TemporaryFile() as output, \
            tempfile.TemporaryFile() as errors:
        try:
            done = support.watch.run(
                [programs.WINE, program, *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                preexec_fn=limit,
                env=support.environment(directory, **variables))
            errors.seek(0)
            code = support.watch.ExitCode(done.returncode, errors.read())
        except support.watch.Hangs:
            code = None
        output.seek(0)
        return code, output.read()


@contextlib.contextmanager
def private_server(scratch):
    """Variables for programs with a Wine server of their own.

    Limits of open files and of file sizes are those of the server.  The prefix
    has its own registry and shares everything else.
    """
    prefix = (os.environ.get('TRACER_WINE_PREFIX') or
              os.path.join(programs.ROOT, 'x64', 'Wine'))
    copy = tempfile.mkdtemp(prefix='prefix-', dir=scratch)
    for name in os.listdir(prefix):
        path = os.path.join(prefix, name)
        if name == 'drive_c':
            os.symlink(path, os.path.join(copy, name))
        elif name == 'dosdevices':
            shutil.copytree(path, os.path.join(copy, name), symlinks=True)
        elif os.path.isfile(path) and not name.startswith('wineserver'):
            shutil.copy2(path, copy)
    variables = {'TRACER_WINE_PREFIX': copy}
    try:
        yield variables
    finally:
        for option in ('-k', '-w'):
            support.watch.run([programs.WINE, '--server', option],
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              env=support.environment(None, **variables))


@contextlib.contextmanager
def disk(scratch, kind, size):
    """A small file system: tmpfs or ext4.  None where one may not mount."""
    path = tempfile.mkdtemp(prefix='disk-', dir=scratch)
    if kind == 'tmpfs':
        with mounted(os.path.join(path, 'in'), size) as root:
            yield root
        return
    image = os.path.join(path, 'image')
    root = os.path.join(path, 'in')
    os.makedirs(root)
    with open(image, 'wb') as file:
        file.truncate(size)
    code = 1
    if shutil.which('mkfs.ext4'):
        code = subprocess.run(['mkfs.ext4', '-q', '-O', '^has_journal', '-m',
                               '0', image], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode
    if code == 0:
        code = subprocess.run(['mount', '-o', 'loop', image, root],
                              stderr=subprocess.DEVNULL).returncode
    try:
        yield root if code == 0 else None
    finally:
        if code == 0:
            subprocess.run(['umount', '-l', root], check=True)


def fill(root, leave=0):
    """Fills a disk but for some bytes."""
    room = os.statvfs(root)
    with contextlib.suppress(OSError), \
            open(os.path.join(root, 'filler'), 'wb', buffering=0) as file:
        for _ in range(max(0, room.f_bavail - leave // room.f_frsize)):
            file.write(bytes(room.f_frsize))
        while not leave:
            file.write(bytes(512))


class Account:
    """Where the events of a program are."""

    def __init__(self, copy, text):
        self.recorded = self.lost = self.stopped = self.stubs = 0
        self.statuses = {int(code, 16) for code in
                         re.findall(r'0x([0-9A-F]{8})', text)}
        self.unrecorded = sum(int(count) for count in re.findall(
            r'(\d+) events are not recorded', text))
        self.bad = []
        self.closed = []
        for path in support.stores(copy) if copy else ():
            with open(path, 'rb') as file:
                header = file.read(8)
            if header.strip(b'\0') == b'':
                self.stubs += 1
                continue
            store = trace_reader.Store(path)
            support.read_all(store)
            self.recorded += store.number_of_slots
            self.lost += store.NumberOfEventsLost
            if store.bad:
                self.bad.append((path, dict(store.bad)))
            if store.State == support.STATE_STOPPED:
                self.stopped += 1
                self.statuses.add(store.Status)
            elif store.State == support.STATE_CLOSED:
                self.closed.append(store.number_of_slots)
            else:
                self.bad.append((path, store.State))

    def sum(self):
        return self.recorded + self.lost + self.unrecorded


def read_logs(program, copy):
    text = delete_logs(program)
    for above, _, names in os.walk(copy) if copy else ():
        for name in names:
            if name.endswith('.log'):
                with open(os.path.join(above, name),
                          encoding='utf-8') as file:
                    text += file.read().replace('\0', '')
    return text


def check_exhaust(results, what, program, arguments, directory, scratch,
                  statuses, limits=(), after=None, tries=0, **variables):
    """One program with something missing; returns its Account.

    A thread that is slow keeps its views small, and may then have all that it
    needs: with tries it is tried again, and where that is so each time, on a
    machine that has other work to do, there is nothing to see.
    """
    delete_logs(program)
    expected = run(program, *arguments, limits=limits, TRACER_ENABLED='0',
                   **variables)
    taken = b': taken' if arguments[0] != 'nothing' else b': nothing'
    results.check(expected[0] == 33 and taken in expected[1],
                  '%s: untraced' % what, expected)
    seen = run(program, *arguments, directory=directory, limits=limits,
               **variables)
    results.check(seen == expected, '%s: the program' % what,
                  [seen, expected])
    made = 2 * sum(int(count) for count in
                   re.findall(rb'(\d+) calls', seen[1]))

    # A page that the disk has no room for cannot be read through a mapping
    # either; a copy has zeroes in its place.
    found = support.sessions(directory)
    copy = None
    if found:
        copy = tempfile.mkdtemp(prefix='copy-', dir=scratch)
        shutil.copytree(found[0], os.path.join(copy, 'session'))
    text = read_logs(program, copy)
    account = Account(copy, text)
    details = [text, vars(account)]
    results.check(account.sum() == made and made > 1000000,
                  '%s: made %d, accounted for %d' %
                  (what, made, account.sum()), details)
    results.check(not account.bad, '%s: stores' % what, details)
    results.check(not account.statuses - set(statuses),
                  '%s: statuses %s' %
                  (what, ' '.join('%X' % status for status in
                                  sorted(account.statuses))), details)
    if tries and not (account.statuses or account.lost or
                      account.unrecorded or account.bad):
        if tries > 1:
            return check_exhaust(results, what, program, arguments,
                                 directory + '-again', scratch, statuses,
                                 limits, after, tries - 1, **variables)
        results.skip('%s: the threads had all that they needed' % what)
        return account
    results.check(bool(statuses) == bool(account.statuses) ==
                  bool(account.lost + account.unrecorded),
                  '%s: something is missing' % what, details)
    if after is not None:
        results.check(after in account.closed,
                      '%s: the last thread is recorded' % what, details)
    if support.stores(directory) and support.has_reader():
        code, rows, output = support.verify(found[0])
        complete = not account.stopped and not account.lost
        results.check(code in ((0,) if complete else (2,)) or
                      (account.stubs and code in (0, 2)),
                      '%s: TraceReader verify: %s' % (what, code), [output])
        results.equal(sum(int(row['lost']) for row in rows.values()),
                      account.lost, '%s: TraceReader verify: lost' % what)
        results.check(all(row['bad'] == '0' for row in rows.values()),
                      '%s: TraceReader verify: bad' % what, [output])
        if account.recorded:
            code, output, errors = support.reader(
                'info', programs.windows_path(found[0]))
            results.check(code == 0 and (not account.stopped or
                                         'stopped' in output),
                          '%s: TraceReader info: %s' % (what, code),
                          [output, errors])
    print('%s: made %d, recorded %d, lost %d in %d stores, %d without one; %s'
          % (what, made, account.recorded, account.lost, account.stopped,
             account.unrecorded, ' '.join('%08X' % status for status in
                                          sorted(account.statuses))))
    return account


# What the last thread of Exhaust leaves, which starts when all is back.
LAST = 2 * 50001


def check_undisturbed(results, program, scratch):
    """Nothing is missing; and what the account would say if it were."""
    directory = os.path.join(scratch, 'undisturbed')
    account = check_exhaust(results, 'undisturbed', program,
                            ('nothing', 'middle'), directory, scratch, (),
                            after=LAST)
    results.equal(len(account.closed), 4, 'undisturbed: stores')
    paths = support.stores(directory)
    os.remove(paths[0])
    less = Account(directory, '')
    results.check(less.sum() < account.sum() and len(less.closed) == 3,
                  'control: a store that disappears is missed')
    with open(paths[1], 'r+b') as file:
        file.seek(support.HEADER_SIZE)
        file.write(bytes(support.RECORD_SIZE))
    results.check(Account(directory, '').bad,
                  'control: a record that disappears is missed')


def can_run(results, what, program, limits, **variables):
    """Whether programs run at all with such limits."""
    code, _ = run(program, 'nothing', 'middle', limits=limits,
                  TRACER_ENABLED='0', **variables)
    if code != 33:
        results.skip('%s: nothing runs with that limit' % what)
    return code == 33


def check_exhaustion(results, program, scratch):
    """Handles and address space, taken before the first call and later."""
    limits = [(resource.RLIMIT_AS, ADDRESS_SPACE)]
    if can_run(results, 'address space', program, limits):
        for what in ('memory', 'large'):
            for when in ('before', 'middle'):
                check_exhaust(results, '%s, %s' % (what, when), program,
                              (what, when),
                              os.path.join(scratch, what + when), scratch,
                              (NO_MEMORY,), limits=limits, after=LAST,
                              tries=10 if what == 'large' else 0)

    limits = [(resource.RLIMIT_NOFILE, OPEN_FILES)]
    with private_server(scratch) as variables:
        if can_run(results, 'handles', program, limits, **variables):
            for when in ('before', 'middle'):
                check_exhaust(results, 'handles, %s' % when, program,
                              ('handles', when),
                              os.path.join(scratch, 'handles' + when),
                              scratch, (TOO_MANY_FILES,), limits=limits,
                              after=LAST, **variables)

    limits = [(resource.RLIMIT_FSIZE, FILE_SIZE)]
    with private_server(scratch) as variables:
        if can_run(results, 'file sizes', program, limits, **variables):
            check_exhaust(results, 'files of 4 MiB', program,
                          ('nothing', 'middle'),
                          os.path.join(scratch, 'sizes'), scratch,
                          (TOO_BIG, DISK_FULL), limits=limits,
                          # The raw ring of a compact store is larger.
                          after=None if support.IS_COMPACT else LAST,
                          **variables)


def check_no_directory(results, program, scratch):
    """There is nowhere to write."""
    plain = os.path.join(scratch, 'plain')
    with open(plain, 'w') as file:
        file.write('not a directory')
    work = ('nothing', 'middle')
    check_exhaust(results, 'below a file', program, work,
                  os.path.join(plain, 'below'), scratch,
                  NOT_FOUND + (ACCESS,))
    missing = {'TRACER_DIRECTORY': 'Q:\\traces'}
    check_exhaust(results, 'a drive that is missing', program, work,
                  os.path.join(scratch, 'never'), scratch, NOT_FOUND,
                  **missing)
    with disk(scratch, 'tmpfs', 'ro') as root:
        if root:
            check_exhaust(results, 'a disk that cannot be written', program,
                          work, os.path.join(root, 'traces'), scratch,
                          (ACCESS, READ_ONLY))
        else:
            results.skip('a read-only file system cannot be mounted')


def check_disks(results, program, scratch):
    """Disks that are full, or become full."""
    work = ('nothing', 'middle')
    cases = [
        ('tmpfs', 'size=1m', 'fill'), ('tmpfs', 'size=1m,nr_inodes=2', None),
        ('tmpfs', 'size=1m,nr_inodes=4', None), ('tmpfs', 'size=200k', None),
        ('tmpfs', 'size=3m', None), ('tmpfs', 'size=12m', None),
        ('ext4', 2 << 20, 'fill'), ('ext4', 1 << 20, None),
        ('ext4', 4 << 20, None),
        ('ext4', (12 if support.IS_COMPACT else 16) << 20, None),
    ]
    skipped = set()
    for kind, size, before in cases:
        what = '%s, %s%s' % (kind, size, ', full before' if before else '')
        with disk(scratch, kind, size) as root:
            if not root:
                if kind not in skipped:
                    results.skip('%s: a file system cannot be mounted' % kind)
                skipped.add(kind)
                continue
            if before:
                fill(root)
            directory = os.path.join(root, 'traces')
            check_exhaust(results, what, program, work, directory, scratch,
                          PAGES)


def roles(session):
    """The first site of each store: (records, lost, state, reason, path)."""
    result = {}
    for path in support.stores(session):
        try:
            store = trace_reader.Store(path)
        except trace_reader.FormatError:
            continue
        first = next(store.records(), None)
        if first is not None:
            result[first[1]] = (store.number_of_slots,
                                store.NumberOfEventsLost, store.State,
                                store.Reason, path)
    return result


def check_stopped(results, what, session, copy, expected):
    """Every call is recorded or counted, and the reader says so."""
    found = roles(copy)
    results.check(found and set(found) <= set(expected),
                  '%s: threads %s' % (what, sorted(found)))
    stopped = lost = 0
    for role, (records, missed, state, reason, path) in found.items():
        results.equal(records + missed, expected[role][0],
                      '%s: recorded and lost in %s' %
                      (what, os.path.basename(path)))
        store = trace_reader.Store(path)
        support.read_all(store)
        results.equal(dict(store.bad), {}, '%s: bad records' % what)
        if missed:
            stopped += 1
            lost += missed
            results.check(state == support.STATE_STOPPED and
                          reason in (4, 5, 6) and store.Status >= 0xC0000000,
                          '%s: state %d, reason %d, status %x' %
                          (what, state, reason, store.Status))
    results.check(stopped, '%s: a store has stopped' % what)
    print('%s: %d stores, %d stopped, %d events lost' %
          (what, len(found), stopped, lost))
    if support.has_reader():
        code, rows, text = support.verify(session)
        results.equal((code, sum(int(row['lost']) for row in rows.values())),
                      (2, lost), '%s: TraceReader verify' % what)
        results.equal(sum('stopped' in row['result'] and
                          row['state'] == 'stopped'
                          for row in rows.values()), stopped,
                      '%s: TraceReader verify: stopped' % what)
        code, text, errors = support.reader('info',
                                            programs.windows_path(session))
        results.check(code == 0 and str(lost) in text and 'stopped' in text,
                      '%s: TraceReader info' % what, [code, text, errors])


def check_full_disk(results, program, scratch):
    """A disk that fills up under threads that run at the same time."""
    work = ('run', '4', '12000', '0')
    whole = os.path.join(scratch, 'whole')
    code, expected, _ = run_reported(program, *work, directory=whole)
    results.equal(code, 0, 'full disk: the program with room')
    everything = roles(support.sessions(whole)[0])

    for number, size in enumerate(('2m', '700k', '100k', '4k')):
        what = 'full disk, %s' % size
        with mounted(os.path.join(scratch, 'small%d' % number),
                     'size=%s' % size) as small:
            if not small:
                results.skip('%s: a file system cannot be mounted' % what)
                continue
            code, text, reports = run_reported(program, *work, directory=small)
            results.equal((code, text), (0, expected),
                          '%s: the program' % what)
            results.check(mentions(reports, 'Tracer: Busy.exe'),
                          '%s: reports' % what, reports)
            found = support.sessions(small)
            if size == '4k':
                continue
            if results.check(found, '%s: a session' % what):

                # A page that the disk has no room for cannot be read through
                # a mapping either; a copy has zeroes in its place.
                copy = os.path.join(scratch, 'copy%d' % number)
                shutil.copytree(found[0], copy)
                check_stopped(results, what, found[0], copy, everything)
    delete_logs(program)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        program = programs.build(
            os.path.join(scratch, 'exhaust'),
            [os.path.join(programs.PROGRAMS, 'Exhaust.c')],
            programs.PENTER_FLAGS, 'Exhaust.exe', [programs.LIBRARY])
        check_undisturbed(results, program, scratch)
        check_exhaustion(results, program, scratch)
        check_no_directory(results, program, scratch)
        check_disks(results, program, scratch)
        busy = support.build_busy(os.path.join(scratch, 'busy'))
        check_full_disk(results, busy, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
