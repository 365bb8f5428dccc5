"""A debugger's stand-in (KdHost.c) with TracerKd.dll, and what it is to look at:
a program that stands still (KdTarget.c), and made-up dumps."""

import glob
import os
import re
import struct
import subprocess

import programs
import trace_reader

EXTENSION = os.path.join(programs.BIN, 'TracerKd.dll')
LOW32 = 0xFFFFFFFF


def build_host(folder):
    path = os.path.join(folder, 'KdHost.exe')
    subprocess.run([programs.GCC, '-O1', '-w',
                    os.path.join(programs.PROGRAMS, 'Kernel', 'KdHost.c'), '-o', path],
                   check=True)
    return path


def build_target(folder, flags=tuple(programs.PENTER_FLAGS),
                 libraries=(programs.LIBRARY,)):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, 'KdTarget.exe')
    target = os.path.join(folder, 'KdTarget.o')
    subprocess.run([programs.GCC, *programs.SAME_CALLS, *flags, '-c',
                    os.path.join(programs.PROGRAMS, 'Kernel', 'KdTarget.c'), '-o',
                    target], check=True)
    subprocess.run([programs.GCC, target, *libraries, '-static', '-o', path], check=True)
    return path


def image_base(program):
    code, text = programs.run(['x86_64-w64-mingw32-objdump', '-p', program])
    return int(re.search(r'^ImageBase\s+(\w+)', text, re.M).group(1), 16)


def read_symbols(program):
    """[(rva, name)] in order, of functions."""
    base = image_base(program)
    code, text = programs.run([programs.NM, program])
    found = {}
    for line in text.splitlines():
        parts = line.split()
        if (len(parts) == 3 and parts[1] in 'Tt' and
                not parts[2].startswith('.')):
            found.setdefault(int(parts[0], 16) - base, parts[2])
    return sorted(found.items())


def write_symbols(path, module, base, size, symbols):
    with open(path, 'w', encoding='ascii') as file:
        file.write('M %s %x %x\n' % (module, base, size))
        for rva, name in symbols:
            file.write('S %x %s\n' % (base + rva, name))


class Host:
    def __init__(self, path):
        self.path = path

    def run(self, *arguments):
        """(exit code, output)"""
        return programs.run_windows(self.path,
                                    programs.windows_path(EXTENSION),
                                    *map(str, arguments))

    def commands(self, kind, target, symbols, commands, options=()):
        """[(text, reads, methods it should not call, references, code)] of each
        command"""
        code, text = self.run(kind, target, programs.windows_path(symbols),
                              *options, *commands)
        parts = re.split(r'^=== (.*)\n', text, flags=re.M)[1:]
        answers = []
        for name, body, end in zip(parts[::4], parts[1::4], parts[2::4]):
            match = re.match(r'0x(\w+) reads (\d+) unknown (-?\d+) references '
                             r'(-?\d+)$', end)
            if match is None:
                raise RuntimeError('KdHost: exit code %d: %s' % (code, text))
            answers.append((body, int(match.group(2)), int(match.group(3)),
                            int(match.group(4)), match.group(1)))
        if code != 0 or len(answers) != len(commands):
            raise RuntimeError('KdHost: exit code %d: %s' % (code, text))
        return answers


class Target:
    """The program, which stands still; counts has what each thread counted."""

    def __init__(self, program, folder, *arguments, before=(), **variables):
        os.makedirs(folder)
        self.folder = folder
        self.errors = open(os.path.join(folder, 'errors'), 'wb')
        self.process = subprocess.Popen(
            [programs.WINE, *before, program, *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.errors,
            env=dict(os.environ, TRACER_DIRECTORY=programs.windows_path(folder),
                     **variables))
        self.counts = {}
        self.pid = None
        while self.pid is None:
            line = self.process.stdout.readline().decode()
            if not line:
                raise RuntimeError('the target has ended')
            words = line.split()
            if words[0] == 'ready':
                self.pid = int(words[1])
            elif words[0] == 'thread':
                self.counts[int(words[1])] = {
                    name: int(count) for name, count in
                    (word.split('=') for word in words[2:])}
        self.session = os.path.dirname(
            glob.glob(os.path.join(folder, '*', '*.trace'))[0])

    def stores(self):
        """{thread: its store}, by the second reader."""
        return {store.ThreadId: store for store in
                (trace_reader.Store(path) for path in
                 glob.glob(os.path.join(self.session, '*.trace')))}

    def end(self, host):
        host.run('end', self.pid)
        programs.watch.wait(self.process)
        self.process.stdout.close()
        self.errors.close()


class Namer:
    def __init__(self, symbols):
        self.rvas = [rva for rva, _ in symbols]
        self.names = [name for _, name in symbols]

    def __call__(self, rva):
        import bisect
        return self.names[bisect.bisect_right(self.rvas, rva) - 1]


class Call:
    def __init__(self, start, name, depth):
        self.start, self.name, self.depth = start, name, depth
        self.ticks = None
        self.children = 0

    def key(self, end):
        """(before end, took, mark, depth, name), as !lastcalls -k says."""
        return (end - self.start,
                end - self.start if self.ticks is None else self.ticks,
                '>' if self.ticks is None else ' ', self.depth, self.name)


def pair(records, name):
    """(calls in the order of their entries, the last time): an independent
    pairing for programs that leave every function by its exit."""
    calls, stack, end = [], [], 0
    for time, rva, _, kind in records:
        end = time
        if kind in (1, 3):
            call = Call(time, name(rva), len(stack))
            calls.append(call)
            stack.append(call)
        elif stack:
            call = stack.pop()
            assert call.name == name(rva), (call.name, name(rva))
            call.ticks = time - call.start
    return calls, end


LINE = re.compile(r'^ *(\d+) +(\d+) ([ >!?]) +(\d+)  *(?:\w+!)?(\S+)$')


def read_last(text):
    """The lines of !lastcalls -k as Call.key gives them."""
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            found.append((int(match[1]), int(match[2]), match[3],
                          int(match[4]), match[5]))
    return found


def tree_of(calls, end):
    """{path: [calls, total, self]}"""
    nodes, path = {}, []
    for call in calls:
        del path[call.depth:]
        path.append(call.name)
        took = end - call.start if call.ticks is None else call.ticks
        node = nodes.setdefault(tuple(path), [0, 0, 0])
        node[0] += 1
        node[1] += took
        node[2] += took
        if len(path) > 1:
            nodes[tuple(path[:-1])][2] -= took
    return nodes


TREE = re.compile(r'^ *(\d+) +(\d+) +(\d+) ([ >]) ( *)(?:\w+!)?(\S+)$')


def read_tree(text):
    nodes, path = {}, []
    for line in text.splitlines():
        match = TREE.match(line)
        if match:
            depth = len(match[5]) // 2
            del path[depth:]
            path.append(match[6])
            nodes[tuple(path)] = [int(match[n]) for n in (1, 2, 3)]
    return nodes


def write_dump(path, regions, threads=()):
    """A minidump of {address: bytes} with memory's types, and of threads."""
    ranges = sorted((address, data, kind)
                    for address, (data, kind) in regions.items())
    at = 32 + 3 * 12
    thread_list = struct.pack('<I', len(threads)) + b''.join(
        struct.pack('<IIIIQ24x', thread, 0, 0, 0, teb)
        for thread, teb in threads)
    infos = struct.pack('<IIQ', 16, 48, len(ranges)) + b''.join(
        struct.pack('<QQIIQIIII', address, address, 4, 0, len(data), 0x1000, 4,
                    kind, 0) for address, data, kind in ranges)
    memory_size = 16 + 16 * len(ranges)
    places = [at, at + len(thread_list), at + len(thread_list) + len(infos)]
    base = places[2] + memory_size
    memory = struct.pack('<QQ', len(ranges), base) + b''.join(
        struct.pack('<QQ', address, len(data)) for address, data, _ in ranges)
    with open(path, 'wb') as file:
        file.write(struct.pack('<4sIIIIIQ', b'MDMP', 0xA793, 3, 32, 0, 0, 2))
        for kind, size, place in ((3, len(thread_list), places[0]),
                                  (16, len(infos), places[1]),
                                  (9, memory_size, places[2])):
            file.write(struct.pack('<III', kind, size, place))
        file.write(thread_list + infos + memory)
        for _, data, _ in ranges:
            file.write(data)
