"""Drivers with TracerPenterKernel.lib in them, for the tests: builds them, has
Wine's service manager load them (Tests/Programs/Kernel/DriverLoader.c), and reads the
section that the library exports, from Docs/Format.md and not from its header.
"""

import bisect
import os
import struct
import subprocess
import tempfile
from collections import Counter, namedtuple

import programs

LIBRARY = os.path.join(programs.BIN, 'TracerPenterKernel.lib')
KERNEL = os.path.join(programs.ROOT, 'Kernel')
HEADERS = '/usr/share/mingw-w64/include/ddk'
FUNCTIONS = ['DriverEntry', 'Unload', 'Create', 'Control', 'Work', 'Outer',
             'Middle', 'Leaf', 'Recurse', 'Tail', 'TailTarget', 'AsmFramed',
             'AsmLeaf', 'VeryDeep', 'Wrong']
FLAGS = ['-O2', '-fno-inline', '-fno-ipa-cp', '-fno-ipa-icf', '-fno-ipa-sra',
         '-fno-partial-inlining', '-Wall', '-Wextra', '-Werror']

ENTER, EXIT, ENTER_FUNCTION, EXIT_FUNCTION = 1, 2, 3, 4
RUNNING, PAUSED, UNLOADED = 1, 2, 3

Record = namedtuple('Record', 'time site stack kind number thread irql ring')
Function = namedtuple('Function', 'site calls ticks minimum maximum entries '
                                  'ring')
Ring = namedtuple('Ring', 'reserved statistics_lost open_lost unpaired '
                          'abandoned paused collided')
Open = namedtuple('Open', 'stack site time thread')


class Section:
    """What a copy of a section says."""

    def __init__(self, data):
        self.data = data
        (self.magic, self.major, self.minor, self.header_size, self.size,
         self.record_size, self.flags, self.state, self.number,
         rings, records, self.records_per_ring, functions, self.slots,
         self.open_slots, opened, self.base, self.frequency, self.inner,
         self.total) = struct.unpack_from('<QHHIQIIIIQQQQIIQQQII', data)
        self.open_anchor = struct.unpack_from('<4Q', data, 0x70)
        self.last_anchor = struct.unpack_from('<4Q', data, 0x90)
        (self.module, self.module_size, self.stamp, self.checksum, self.age
         ) = struct.unpack_from('<QIIII', data, 0xb0)
        self.guid = data[0xc8:0xd8]
        (self.process, self.boot, self.load_time, path, name, pdb, self.status
         ) = struct.unpack_from('<IIQIIII', data, 0xd8)
        self.name = data[0x200:0x200 + name].decode()
        self.pdb = data[0x300:0x300 + pdb].decode()
        self.path = data[0x600:0x600 + path].decode()
        self.offsets = rings, records, functions, opened
        self.rings = [Ring(*struct.unpack_from('<7Q', data, rings + 128 * ring))
                      for ring in range(self.number)]
        self.functions = []
        for ring in range(self.number):
            for slot in range(self.slots):
                fields = struct.unpack_from('<6Q', data, functions + 64 * (
                    ring * self.slots + slot))
                if fields[0]:
                    self.functions.append(Function(*fields, ring))
        self.open = [Open(*struct.unpack_from('<4Q', data, opened + 32 * slot))
                     for slot in range(self.open_slots)]
        self.open = [call for call in self.open if call.stack]

    def records(self, ring):
        """The whole ones that are in a ring, in the order of their numbers,
        and how many are not whole."""
        count = self.rings[ring].reserved
        found, missing = [], 0
        for number in range(max(0, count - self.records_per_ring), count):
            time, site, stack, low, thread = struct.unpack_from(
                '<QQQII', self.data, self.offsets[1] + 32 * (
                    ring * self.records_per_ring +
                    number % self.records_per_ring))
            if low != (number + 1) * 2 % 2 ** 32:
                missing += 1
                continue
            found.append(Record(time, site, stack & ~7, stack & 7, number,
                                (thread & 0xfffffff) << 2, thread >> 28, ring))
        return found, missing

    def all_records(self):
        return sorted((record for ring in range(self.number)
                       for record in self.records(ring)[0]),
                      key=lambda record: record.time)

    def total_of(self, counter):
        return sum(getattr(ring, counter) for ring in self.rings)


class Names:
    """Functions of a driver, by the sites in them."""

    def __init__(self, image):
        with open(image, 'rb') as file:
            data = file.read(4096)
        header = struct.unpack_from('<I', data, 0x3c)[0]
        self.stamp = struct.unpack_from('<I', data, header + 8)[0]
        self.image_size = struct.unpack_from('<I', data, header + 24 + 56)[0]
        self.checksum = struct.unpack_from('<I', data, header + 24 + 64)[0]
        base = struct.unpack_from('<Q', data, header + 24 + 24)[0]
        symbols = {}
        for line in subprocess.run([programs.NM, image], check=True, text=True,
                                   capture_output=True).stdout.split('\n'):
            fields = line.split()
            if len(fields) == 3 and fields[1] in 'Tt' and \
                    fields[2][0] != '.' and \
                    fields[2] not in ('PAGE', 'INIT', 'TracerKernelRealEntry'):
                symbols[int(fields[0], 16) - base] = fields[2]
        self.places = sorted(symbols)
        self.symbols = symbols

    def find(self, section, site):
        place = bisect.bisect_right(self.places, site - section.module) - 1
        return self.symbols[self.places[place]] if place >= 0 else None


def tool(command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def build_loader(folder):
    target = os.path.join(folder, 'DriverLoader.exe')
    tool([programs.GCC, '-O1', '-Wall',
                       os.path.join(programs.PROGRAMS, 'Kernel', 'DriverLoader.c'), '-o',
                       target, '-lntdll', '-ladvapi32'])
    return target


def build_asm(folder):
    """TracedDriver.asm, for more of build_driver."""
    made = os.path.join(folder, 'TracedDriverAsm.o')
    tool(['nasm', '-f', 'win64', '-Werror',
          '-DCOUNT_FRAMED=%d' % FUNCTIONS.index('AsmFramed'),
          '-DCOUNT_LEAF=%d' % FUNCTIONS.index('AsmLeaf'),
          os.path.join(programs.PROGRAMS, 'Kernel', 'TracedDriver.asm'), '-o', made])
    return ['-DASM_CALLERS', made]


def build_driver(folder, name, hooks=None, more=(), entry=True):
    """A driver of TracedDriver.c, and what is in more: objects, and -D."""
    hooks = programs.PENTER_FLAGS if hooks is None else hooks
    made = os.path.join(folder, name + '.o')
    tool([programs.GCC, *FLAGS, *hooks, '-I', HEADERS, '-I', KERNEL,
                       '-DDRIVER_NAME=L"%s"' % name, '-c',
                       os.path.join(programs.PROGRAMS, 'Kernel', 'TracedDriver.c'),
                       '-o', made,
                       *[option for option in more if option[:2] == '-D']])
    target = os.path.join(folder, name + '.sys')
    begin = ['-Wl,--entry,TracerKernelDriverEntry',
             '-Wl,--defsym,TracerKernelRealEntry=DriverEntry'] if entry else [
                 '-Wl,--entry,DriverEntry']
    tool([programs.GCC, '-nostdlib', '-shared',
                       '-Wl,--subsystem,native', '-Wl,--exclude-all-symbols',
                       *begin, '-o', target, made,
                       *[option for option in more if option[:2] != '-D'],
                       LIBRARY, '-lntoskrnl'])
    return target


class Driver:
    """A driver that the service manager knows."""

    def __init__(self, loader, image):
        self.loader, self.image = loader, image
        self.name = os.path.basename(image).removesuffix('.sys')
        self.folder = os.path.dirname(image)
        self.names = Names(image)
        self.dumps = 0

    def run(self, *steps):
        """(exit code, lines).  The output goes to a file: Wine's services,
        which the first program starts, keep a pipe open."""
        with tempfile.TemporaryFile() as output:
            code = subprocess.run([programs.WINE, self.loader, self.name,
                                   *steps], stdin=subprocess.DEVNULL,
                                  stdout=output,
                                  stderr=subprocess.DEVNULL).returncode
            output.seek(0)
            return code, output.read().decode('utf-8', 'replace').replace(
                '\r', '').split('\n')

    def use(self, results, *steps):
        """The lines of steps that have to succeed."""
        code, lines = self.run(*steps)
        results.check(code == 0, '%s: %s' % (self.name, ' '.join(steps)), lines)
        return lines

    def install(self, results):
        return self.use(results, 'install=' +
                        programs.windows_path(self.image))

    def counts(self, lines):
        """The driver's own counters, and how many results were wrong."""
        for line in lines:
            if line.startswith('counts'):
                counts = Counter(dict(zip(FUNCTIONS,
                                          map(int, line.split()[1:]))))
                wrong = counts.pop('Wrong')
                return +counts, wrong
        return Counter(), None

    def dump_step(self, step='dump'):
        self.dumps += 1
        self.path = os.path.join(self.folder, '%s.%d' % (self.name, self.dumps))
        return step + '=' + programs.windows_path(self.path)

    def dumped(self):
        with open(self.path, 'rb') as file:
            return Section(file.read())

    def end(self):
        self.run('stop')
        self.run('remove')


def count_statistics(section, names, field):
    counts = Counter()
    for function in section.functions:
        counts[names.find(section, function.site)] += getattr(function, field)
    return counts


def count_records(section, names, kinds):
    return Counter(names.find(section, record.site)
                   for record in section.all_records() if record.kind in kinds)
