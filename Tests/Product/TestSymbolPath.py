#!/usr/bin/env python3
"""Where symbols are looked for: beside the image, where it says, in the
folders of --symbols and _NT_SYMBOL_PATH; that a PDB of another build is refused
by name; that the image itself is found on another machine; functions that a
linker has folded.

PDBs are made by clang-cl and lld-link.  Names are compared with those of
llvm-symbolizer, parameters with those of llvm-undname, identities with those of
llvm-pdbutil.
"""

import csv
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import MadeStores as made                                    # noqa: E402
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

TOOL = os.path.join(programs.BIN, 'TestSymbols.exe')
LLD = 'lld-link-19'
PDBUTIL = 'llvm-pdbutil-19'
GXX = 'x86_64-w64-mingw32-g++'
SYMBOLIZER = 'llvm-symbolizer-19'
UNDNAME = ('llvm-undname-19', '--no-calling-convention',
           '--no-access-specifier', '--no-return-type', '--no-member-type')
CLANG_CL = (programs.CLANG, '--driver-mode=cl',
            '--target=x86_64-pc-windows-msvc', '/nologo', '/c', '/O1', '/Ob0',
            '/GS-', '/Gy', '/Zl', '/Zi', '/GR-', '/std:c++17')
PDB, COFF, EXPORTS, NONE = '1', '3', '4', '0'
IMAGE_BASE = 0x140000000

CPP = r'''
extern "C" int _fltused = 0;
#define NI __declspec(noinline)
volatile int sink;
volatile char padding[VALUE * 16384];
namespace ns {
NI int f(int x) { sink += x + padding[x]; return VALUE; }
NI int f(const char *, double d) { sink -= 1; return (int)d; }
struct Base {
    int x = 3;
    virtual ~Base() { sink++; }
    NI virtual int v(int a) { sink = a; return a + 7; }
    NI int m(int &a, const int *b) const { sink = a + *b; return x; }
    NI static int st(unsigned char c, long long l) { sink = c; return (int)l; }
    NI bool operator==(const Base &o) const { return x == o.x; }
    NI operator int() const { return x + sink; }
    NI int operator()(int q) { sink ^= q; return 5; }
};
template<class T> struct Vec {
    NI T get(T t, Vec<T> *) { sink += sizeof(T); return t; }
    template<class U> NI U conv(U u, T) { sink += sizeof(U) * 3; return u; }
};
template<class... A> NI int var(A...) { sink += sizeof...(A) + 100; return 1; }
}
namespace { NI int anonymous(int *p) { sink += *p; return 13; } }
static NI int local(const int *p) { sink += *p + 37; return 2; }
extern "C" NI int cfunc(int a) { sink += 41 * a; return a; }
void operator delete(void *, unsigned long long) { sink++; }
extern "C" int mainCRTStartup()
{
    int a[3] = {1, 2, 3};
    ns::Base b;
    ns::Vec<int> v;
    auto lambda = [&](int q) { sink += q + a[0]; return q * 47; };
    return ns::f(1) + ns::f("a", 2.0) + b.v(1) + b.m(a[0], a) +
           ns::Base::st(1, 2) + (b == b) + (int)b + b(1) + v.get(1, &v) +
           v.conv('c', 2) + v.conv(2.0, 3) + ns::var(1, 'c') + ns::var() +
           anonymous(a) + local(a) + cfunc(5) + lambda(3);
}
'''
FOLDED = r'''
volatile int sink;
#define NI __declspec(noinline)
extern "C" {
NI int Alpha(int x) { sink += x; return x * 3; }
NI int Beta(int x) { sink += x; return x * 3; }
NI int Gamma(int x) { sink += x; return x * 3; }
NI int Other(int x) { sink -= x; return x * 5; }
int mainCRTStartup() { return Alpha(1) + Beta(2) + Gamma(3) + Other(4); }
}
'''
TRACED = r'''
static volatile int Sink;
#define APART __attribute__((noinline, noclone))
namespace ns {
APART int f(int n) { Sink += n; return n + 1; }
template<class T> struct Box { T value; APART T get(T n) { Sink += n;
                                                          return value; } };
}
int main()
{
    ns::Box<int> box = { 3 };
    int n = 0;
    for (int i = 0; i < 20; i++)
        n += ns::f(i) + box.get(i);
    return n == 0;
}
'''
TRACED_FOLDED = r'''
static volatile int Sink;
#define APART __attribute__((noinline))
extern "C" {
APART int Alpha(int x) { Sink += x; return x * 3; }
int Beta(int x) __attribute__((alias("Alpha")));
int Gamma(int x) __attribute__((alias("Alpha")));
}
int main() { return Alpha(1) + Beta(2) + Gamma(3) == 0; }
'''


def without_noise(name):
    """A name as all tools have it."""
    return re.sub(r'\b(class|struct|union|enum) | ', '', name)


class Build:
    """A program of clang-cl's in a folder of its own."""

    def __init__(self, folder, text, options=(), link=()):
        os.makedirs(folder)
        self.folder = folder
        self.image = os.path.join(folder, 'Program.exe')
        self.pdb = os.path.join(folder, 'Program.pdb')
        source = os.path.join(folder, 'Program.cpp')
        with open(source, 'w', encoding='ascii') as file:
            file.write(text)
        subprocess.run([*CLANG_CL, *options, '/Fo' + source + '.obj', '--',
                        source], check=True)
        subprocess.run([LLD, '/nologo', '/nodefaultlib', '/debug',
                        '/entry:mainCRTStartup', '/subsystem:console',
                        '/opt:ref', '/pdbaltpath:%_PDB%', *link,
                        '/export:cfunc' if 'cfunc' in text else '/opt:ref',
                        '/out:' + self.image, source + '.obj'], check=True,
                       cwd=folder)

    def functions(self):
        """(RVA, name) of each function in the PDB, by llvm-pdbutil."""
        text = subprocess.run([PDBUTIL, 'dump', '-symbols', self.pdb],
                              capture_output=True, text=True).stdout
        with open(self.image, 'rb') as file:
            data = file.read()
        header, = struct.unpack_from('<I', data, 60)
        size, = struct.unpack_from('<H', data, header + 20)
        found = re.findall(r'S_[GL]PROC32(?:_ID)? \[.*?\] `(.*)`\n.*?'
                           r'addr = (\d+):(\d+)', text)
        return [(struct.unpack_from('<I', data, header + 24 + size +
                                    40 * (int(section) - 1) + 12)[0] +
                 int(offset), name) for name, section, offset in found]

    def readable(self):
        """(RVA, name, parameters) of each function: the parameters of its
        public symbol, by llvm-undname; '' where there is none, or one that
        Wine's UnDecorateSymbolName cannot read (an empty pack)."""
        text = subprocess.run([PDBUTIL, 'dump', '-publics', self.pdb],
                              capture_output=True, text=True).stdout
        places = re.findall(r'S_PUB32 \[.*?\] `(\?.*)`\n *flags = function, '
                            r'addr = (\d+):(\d+)', text)
        texts = subprocess.run(UNDNAME, capture_output=True, text=True,
                               input=''.join(name + '\n' for name, _, _ in
                                             places)).stdout.strip().split('\n\n')
        with open(self.image, 'rb') as file:
            data = file.read()
        header, = struct.unpack_from('<I', data, 60)
        size, = struct.unpack_from('<H', data, header + 20)
        publics = {}
        for (name, section, offset), shown in zip(places, texts):
            base, = struct.unpack_from('<I', data, header + 24 + size +
                                       40 * (int(section) - 1) + 12)
            if '$$V' not in name:
                publics[base + int(offset)] = without_noise(
                    shown.split('\n')[1])
        result = []
        for rva, name in self.functions():
            parameters = ''
            public = publics.get(rva, '')
            if public.startswith(without_noise(name) + '('):
                parameters = public[len(without_noise(name)):]
            result.append((rva, name, parameters.replace('(void)', '()')))
        return result

    def identity(self):
        """As the warning shows it, by llvm-pdbutil."""
        text = subprocess.run([PDBUTIL, 'dump', '-summary', self.pdb],
                              capture_output=True, text=True).stdout
        return '%s age %s' % (re.search(r'GUID: (\{.*\})', text).group(1),
                              re.search(r'Age: (\d+)', text).group(1))


class Answer:
    """What the tool says of an image."""

    def __init__(self, scratch, image, rvas, *options, cwd=None, path=None):
        listed = os.path.join(scratch, 'rvas')
        with open(listed, 'w', encoding='ascii') as file:
            file.write(''.join('%x\n' % rva for rva in rvas))
        variables = {} if path is None else {'_NT_SYMBOL_PATH': path}
        code, text = support.run(TOOL, '--names', programs.windows_path(image),
                                 programs.windows_path(listed), *options,
                                 '--raw', cwd=cwd or scratch, **variables)
        self.text = text if code == 0 else f'exit code {code}: {text}'
        lines = text.split('\n')
        self.source = lines[0][7:] if lines[0].startswith('source ') else None
        self.warning = next((line[8:] for line in lines
                             if line.startswith('warning ')), '')
        self.names = [line.split(' ', 3)[3] for line in lines
                      if line.startswith('= ')]
        self.starts = [line.split(' ', 3)[2] for line in lines
                       if line.startswith('= ')]
        self.raw = [line[4:] for line in lines if line.startswith('raw ')]
        self.folded = [line[7:] for line in lines if line.startswith('folded ')]


def symbolize(image, rvas):
    """llvm-symbolizer's names, without parameters."""
    text = subprocess.run(
        [SYMBOLIZER, '--obj=' + image, '--inlining=false', '--functions=short',
         *('0x%x' % (IMAGE_BASE + rva) for rva in rvas)],
        capture_output=True, text=True).stdout
    return [part.split('\n')[0] for part in text.strip().split('\n\n')]


def check_names(results, scratch, build):
    """Names of a PDB with DbgHelp and without it."""
    functions = build.functions()
    rvas = [rva for rva, _ in functions]
    results.check(len(functions) > 15, 'names: there are functions')
    theirs = symbolize(build.image, rvas)
    inside = [rva + 3 for rva in rvas]
    for options in ([], ['--no-dbghelp']):
        what = 'names ' + ' '.join(options)
        answer = Answer(scratch, build.image, rvas, *options)
        results.check(answer.source == PDB and answer.warning == '',
                      f'{what}: the PDB', [answer.source, answer.warning])
        readable = build.readable()
        results.check(sum(parameters != '' for _, _, parameters in readable)
                      > 12, f'{what}: there are parameters', readable)
        if options:                     # nothing undecorates the publics
            readable = [(rva, name, '') for rva, name, _ in readable]
        results.equal([name[:len(plain)] for name, (_, plain, _) in
                       zip(answer.names, readable)],
                      [name for _, name in functions],
                      f'{what}: those of llvm-pdbutil')
        results.equal([without_noise(name[len(plain):]) for
                       name, (_, plain, _) in zip(answer.names, readable)],
                      [parameters for _, _, parameters in readable],
                      f'{what}: the parameters of llvm-undname')
        wrong = [(o, t) for (_, o, _), t in zip(readable, theirs)
                 if t and o != t.split('(')[0] and
                 not t.startswith(o.rstrip('>'))]
        results.check(len(theirs) == len(rvas) and not wrong,
                      f'{what}: those of llvm-symbolizer', wrong)
        results.check('?f@ns@@YAHH@Z' in answer.raw and
                      'cfunc' in answer.raw, f'{what}: raw', answer.raw)
        answer = Answer(scratch, build.image, inside, *options)
        results.equal(answer.starts, ['%x' % rva for rva in rvas],
                      f'{what}: inside')


def move(build, folder, *names):
    os.makedirs(folder, exist_ok=True)
    for name in names:
        shutil.copy(getattr(build, name), folder)
    return os.path.join(folder, os.path.basename(build.image))


def check_paths(results, scratch, build, other):
    """Places where the PDB may be, and PDBs that are not the image's."""
    rva, name = next(entry for entry in build.functions()
                     if entry[1] == 'ns::Base::m')
    lone = move(build, os.path.join(scratch, 'lone'), 'image')
    windows = programs.windows_path

    def ask(what, image, source, warning, *options, **more):
        answer = Answer(scratch, image, [rva], *options, **more)
        wanted = name if source == PDB else 'cfunc'
        if source == PDB and '--no-dbghelp' not in options:
            wanted += '(int&, int const*) const'
        results.check(answer.source == source and answer.names == [wanted],
                      f'{what}: names', [answer.text])
        if warning is None:
            results.check(answer.warning == '', f'{what}: no warning',
                          [answer.warning])
        else:
            results.check(all(part in answer.warning for part in warning),
                          f'{what}: warning', [answer.warning, *warning])

    ask('beside the image', build.image, PDB, None)
    ask('nowhere', lone, EXPORTS, None)
    ask('in the current folder', lone, PDB, None, cwd=build.folder)
    ask('--symbols', lone, PDB, None, '--symbols', windows(build.folder))
    ask('the second of --symbols', lone, PDB, None, '--symbols',
        'C:\\nowhere;;' + windows(build.folder) + '\\')
    ask('_NT_SYMBOL_PATH', lone, PDB, None, path=windows(build.folder))
    ask('_NT_SYMBOL_PATH with a server', lone, PDB, None,
        path='srv*C:\\cache*https://symbols.invalid;' + windows(build.folder))
    ask('a server alone', lone, EXPORTS, None,
        path='srv*C:\\nowhere*https://symbols.invalid')
    identity = build.identity()
    digits = re.sub(r'[{}-]', '', identity.split(' ')[0])
    store = os.path.join(scratch, 'store')
    move(build, os.path.join(store, 'Program.pdb',
                             digits + '%x' % int(identity.split(' ')[-1])),
         'pdb')
    ask('a symbol store', lone, PDB, None, '--symbols', windows(store))

    #
    # Another build's, by each way; then the right one as well.
    #

    wrong = move(build, os.path.join(scratch, 'wrong'), 'image')
    shutil.copy(other.pdb, os.path.dirname(wrong))
    refused = ['Program.pdb', other.identity(), identity]
    results.check(other.identity() != identity, 'two builds are two')
    ask('another PDB beside it', wrong, EXPORTS,
        [*refused, windows(os.path.dirname(wrong))])
    ask('another PDB in --symbols', lone, EXPORTS, refused, '--symbols',
        windows(other.folder))
    ask('another PDB in _NT_SYMBOL_PATH', lone, EXPORTS, refused,
        path=windows(other.folder))
    ask('both', wrong, PDB, None, '--symbols', windows(build.folder))
    ask('both, without DbgHelp', wrong, PDB, None, '--symbols',
        windows(build.folder), '--no-dbghelp')
    ask('the wrong one first', lone, PDB, None, '--symbols',
        windows(other.folder) + ';' + windows(build.folder))

    #
    # The age alone: that of the debugging information counts, which is what
    # the image names, and not that of the whole PDB.
    #

    for what, stream, source in (('age of the PDB', 1, PDB),
                                 ('age of the debugging information', 3,
                                  EXPORTS)):
        aged = move(build, os.path.join(scratch, 'aged%d' % stream),
                    'image', 'pdb')
        path = os.path.join(os.path.dirname(aged), 'Program.pdb')
        with open(path, 'rb') as file:
            data = bytearray(file.read())
        block, = struct.unpack_from('<I', data, 32)
        table, = struct.unpack_from('<I', data, 52)
        first, = struct.unpack_from('<I', data, block * table)
        words = struct.unpack_from('<%dI' % (block // 4), data, block * first)
        place = 1 + words[0] + sum(-(-size // block)
                                   for size in words[1:1 + stream])
        struct.pack_into('<I', data, words[place] * block + 8, 77)
        with open(path, 'wb') as file:
            file.write(data)
        ask(what, aged, source,
            None if source == PDB else ['age 77', identity])

    #
    # Damage: cut, nothing, no PDB.
    #

    for what, change in (('cut', lambda data: data[:5000]),
                         ('empty', lambda data: b''),
                         ('text', lambda data: b'text' * 500),
                         ('no directory', lambda data: data[:52] +
                          b'\xff\xff\xff\x7f' + data[56:])):
        path = os.path.join(scratch, 'damaged')
        shutil.rmtree(path, ignore_errors=True)
        image = move(build, path, 'image')
        with open(build.pdb, 'rb') as file:
            data = file.read()
        with open(os.path.join(path, 'Program.pdb'), 'wb') as file:
            file.write(change(data))
        ask(f'damaged: {what}', image, EXPORTS, ['is damaged'])


def check_moved_image(results, scratch, build, other):
    """The image is looked for in the folders, too."""
    rva, name = build.functions()[0]
    name += '(int)'
    gone = 'C:\\gone\\Program.exe'
    windows = programs.windows_path
    ask = Answer(scratch, build.image, [rva], '--recorded', gone)
    results.check(ask.source == NONE and ask.names == ['-'],
                  'the image is gone', [ask.text])
    ask = Answer(scratch, build.image, [rva], '--recorded', gone, '--symbols',
                 'C:\\nowhere;' + windows(build.folder))
    results.check(ask.source == PDB and ask.names == [name],
                  'the image in --symbols', [ask.text])

    # Wine's name for a file of Unix is like that of a device: it could be
    # opened, but only the user may say so.
    device = '\\\\?\\unix' + build.image.replace('/', '\\')
    for what, path in (('a device', device),
                       ('a share', '\\\\localhost\\share\\Program.exe'),
                       ('a slash', '//localhost/share/Program.exe'),
                       ('NT', '\\??\\' + windows(build.image)),
                       ('a port', 'C:\\COM1')):
        ask = Answer(scratch, build.image, [rva], '--recorded', path)
        results.check(ask.source == NONE and ask.names == ['-'],
                      'the store names ' + what, [ask.text])
    ask = Answer(scratch, build.image, [rva], '--recorded', device,
                 '--symbols', os.path.dirname(device.replace('\\', '/'))
                 .replace('/', '\\'))
    results.check(ask.source == PDB and ask.names == [name],
                  'control: the device can be opened', [ask.text])
    ask = Answer(scratch, build.image, [rva], '--recorded',
                 '\\\\?\\' + windows(build.image))
    results.check(ask.source == PDB and ask.names == [name],
                  'the store names a drive in the long form', [ask.text])
    ask = Answer(scratch, build.image, [rva], '--recorded', gone,
                 path=windows(build.folder))
    results.check(ask.source == PDB and ask.names == [name],
                  'the image in _NT_SYMBOL_PATH', [ask.text])
    ask = Answer(scratch, build.image, [rva], '--recorded', gone, '--symbols',
                 windows(other.folder))
    results.check(ask.source == NONE and ask.names == ['-'],
                  'another image of that name', [ask.text])

    #
    # By name, with both identities; nothing is said once the right one is
    # found, nor of folders without such a file.
    #

    def identity(image):
        with open(image, 'rb') as file:
            data = file.read(0x400)
        at, = struct.unpack_from('<I', data, 60)
        return (struct.unpack_from('<I', data, at + 8)[0],
                struct.unpack_from('<I', data, at + 24 + 56)[0])

    theirs, ours = identity(other.image), identity(build.image)
    results.check(theirs != ours, 'control: builds differ', [ours])
    results.equal(ask.warning, 'image not used: %s is another build (time '
                  'stamp 0x%08X, size 0x%X; traced was 0x%08X, 0x%X)' %
                  (windows(other.image), *theirs, *ours),
                  'another image of that name: a warning')
    text = os.path.join(scratch, 'text')
    os.makedirs(text)
    with open(os.path.join(text, 'Program.exe'), 'w',
              encoding='ascii') as file:
        file.write('no image' * 100)
    ask = Answer(scratch, build.image, [rva], '--recorded', gone, '--symbols',
                 windows(text))
    results.check(ask.names == ['-'] and
                  ask.warning == 'image not used: %s cannot be read as one '
                  '(0xC000007B)' % windows(os.path.join(text, 'Program.exe')),
                  'a text of that name: a warning', [ask.text])
    for what, folders in (('found after another', [other.folder, text,
                                                   build.folder]),
                          ('found first', [build.folder, other.folder])):
        ask = Answer(scratch, build.image, [rva], '--recorded', gone,
                     '--symbols', ';'.join(windows(path) for path in folders))
        results.equal((ask.source, ask.warning), (PDB, ''), what)
    ask = Answer(scratch, build.image, [rva], '--recorded', gone, '--symbols',
                 'C:\\nowhere;' + windows(scratch))
    results.equal((ask.names, ask.warning), (['-'], ''), 'no such file')
    ask = Answer(scratch, build.image, [rva], '--recorded',
                 windows(other.image), '--symbols', windows(build.folder))
    results.check(ask.source == PDB and ask.names == [name],
                  'a rebuilt image where it was', [ask.text])


def check_overloads(results, scratch, build):
    """Functions that only their parameters tell apart are two, and each can
    be chosen."""
    functions = [(rva, name) for rva, name in build.functions()
                 if name == 'ns::f']
    results.equal(len(functions), 2, 'overloads: there are two')
    with open(build.image, 'rb') as file:
        data = file.read()
    header, = struct.unpack_from('<I', data, 60)
    stamp, = struct.unpack_from('<I', data, header + 8)
    size, = struct.unpack_from('<I', data, header + 24 + 56)
    path = programs.windows_path(build.image).encode()
    records, time = [], 1000
    for number, (rva, _) in enumerate(functions):
        for _ in range(number + 1):
            records += [(time, rva + 3, made.TOP - 128, made.ENTER),
                        (time + 5, rva + 3, made.TOP - 128, made.EXIT)]
            time += 10
    session = os.path.join(scratch, 'overloads')
    os.makedirs(session)
    made.write(os.path.join(session, 'Program.exe-1-0.trace'), records,
               at0x80=struct.pack('<II', 1, 0),
               at0x128=struct.pack('<II', size, stamp),
               at0x148=struct.pack('<4I', *(4 * [len(path)])),
               at0x200=path, at0x620=path)
    rows, _ = report(session)
    names = ['ns::f(char const*, double)', 'ns::f(int)']
    results.equal(sorted(rows), names, 'overloads: two rows')
    results.equal(sorted(row['calls'] for row in rows.values()), ['1', '2'],
                  'overloads: their calls')
    for name, row in rows.items():
        code, text, errors = support.reader('callers', '--json', name,
                                            programs.windows_path(session))
        found = json.loads(text)['callers'] if text else []
        results.check(code == 0 and found and found[0]['function'] == name and
                      str(found[0]['calls']) == row['calls'],
                      'overloads: callers ' + name, [text, errors])
    code, text, errors = support.reader('callers', 'ns::f',
                                        programs.windows_path(session))
    results.check(code == 1 and all(name in errors for name in names),
                  'overloads: both are named', [code, text, errors])


def check_folded(results, scratch):
    """Functions with one address, by PDB and by exports."""
    build = Build(os.path.join(scratch, 'folded'), FOLDED, link=[
        '/opt:icf', '/export:Gamma', '/export:Alpha', '/export:Other'])
    apart = Build(os.path.join(scratch, 'apart'), FOLDED,
                  link=['/opt:noicf', '/export:Gamma', '/export:Alpha'])
    by_rva = {}
    for rva, name in build.functions():
        by_rva.setdefault(rva, []).append(name)
    together = next(rva for rva, names in by_rva.items() if len(names) > 1)
    other = next(rva for rva, names in by_rva.items() if names == ['Other'])
    results.equal(by_rva[together], ['Alpha', 'Beta', 'Gamma'],
                  'folded: by llvm-pdbutil')
    for options in ([], ['--no-dbghelp']):
        answer = Answer(scratch, build.image, [together, other], *options)
        results.equal((answer.names, answer.folded),
                      (['Alpha', 'Other'], ['2 Beta; Gamma', '0 ']),
                      'folded: PDB ' + ' '.join(options))
    results.equal(symbolize(build.image, [together]), ['Alpha'],
                  'folded: the name of llvm-symbolizer')
    lone = move(build, os.path.join(scratch, 'folded-lone'), 'image')
    answer = Answer(scratch, lone, [together, other])
    results.equal((answer.source, answer.names, answer.folded),
                  (EXPORTS, ['Alpha', 'Other'], ['1 Gamma', '0 ']),
                  'folded: exports')
    answer = Answer(scratch, apart.image,
                    [rva for rva, _ in apart.functions()])
    results.check(set(answer.folded) == {'0 '} and len(answer.folded) == 5,
                  'not folded: no others', answer.folded)


def trace_program(scratch, name, text):
    """Traces a C++ program: (session, image)."""
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    source = os.path.join(folder, 'Traced.cpp')
    with open(source, 'w', encoding='ascii') as file:
        file.write(text)
    program = programs.build(os.path.join(folder, 'bin'), [source],
                             programs.PENTER_FLAGS, 'Traced.exe',
                             [programs.LIBRARY], compiler=(GXX, '-O2'))
    _, traced = programs.trace(program,
                               directory=os.path.join(folder, 'traces'))
    return traced, program


def report(session, *options):
    """report --csv: (rows by function, errors)."""
    code, text, errors = support.reader('report', '--csv', '--no-cache',
                                        *options,
                                        programs.windows_path(session))
    return {row['function']: row
            for row in csv.DictReader(io.StringIO(text))}, errors


def check_reader(results, scratch):
    """The commands themselves."""
    session, image = trace_program(scratch, 'traced', TRACED)
    rows, _ = report(session)
    results.check(rows.get('ns::f(int)', {}).get('calls') == '20' and
                  rows.get('ns::Box<int>::get(int)', {}).get('calls') == '20'
                  and not any('_Z' in name for name in rows),
                  'report: readable names', sorted(rows))
    for command in (['tree'], ['replay'], ['tree', '--json'],
                    ['report', '--json']):
        code, text, _ = support.reader(*command, '--no-cache',
                                       programs.windows_path(session))
        results.check(code == 0 and 'ns::Box<int>::get(int)' in text and
                      '_ZN' not in text, ' '.join(command) + ': names')
    kept, _ = report(session, '--function', 'ns::f(')
    results.equal(sorted(kept), ['ns::f(int)'], 'report --function')

    elsewhere = os.path.join(scratch, 'elsewhere')
    os.makedirs(elsewhere)
    shutil.move(image, elsewhere)
    lost, errors = report(session)
    results.check(not any('ns::' in name for name in lost) and
                  'no function names' in errors, 'report: the image is gone',
                  sorted(lost) + [errors])
    found, errors = report(session, '--symbols',
                           'C:\\nowhere;' + programs.windows_path(elsewhere))
    results.equal(sorted(found), sorted(rows), 'report --symbols')
    results.check('not used' not in errors, 'report --symbols: no warning',
                  [errors])

    # What tells builds apart are seconds, and this one may be as old.
    _, wrong = trace_program(scratch, 'rebuilt', TRACED_FOLDED)
    with open(wrong, 'r+b') as file:
        at, = struct.unpack_from('<I', file.read(64), 60)
        file.seek(at + 8)
        stamp, = struct.unpack('<I', file.read(4))
        file.seek(at + 8)
        file.write(struct.pack('<I', stamp + 1))
    lost, errors = report(session, '--symbols',
                          programs.windows_path(os.path.dirname(wrong)))
    results.check(not any('ns::' in name for name in lost) and
                  'Traced.exe: image not used: %s is another build' %
                  programs.windows_path(wrong) in errors,
                  'report: another build in --symbols', [errors])
    code, _, errors = support.reader(
        'exclude', '--symbols',
        programs.windows_path(os.path.dirname(wrong)),
        programs.windows_path(session), 'main')
    results.check(code == 1 and 'image not used: %s is another build' %
                  programs.windows_path(wrong) in errors,
                  'exclude: another build in --symbols', [code, errors])

    session, image = trace_program(scratch, 'icf', TRACED_FOLDED)
    rows, _ = report(session)
    folded = [row for row in rows.values() if row['folded']]
    text = support.reader('report', '--no-cache',
                          programs.windows_path(session))[1]
    data = json.loads(support.reader('report', '--json', '--no-cache',
                                     programs.windows_path(session))[1])
    results.check(
        len(folded) == 1 and
        folded[0]['function'].endswith(' [+2 folded]') and
        sorted([folded[0]['function'].split(' ')[0],
                *folded[0]['folded'].split('; ')]) ==
        ['Alpha', 'Beta', 'Gamma'] and folded[0]['calls'] == '3',
        'report: folded', [(r['function'], r['folded'], r['calls'])
                           for r in rows.values()])
    #
    # Neither gcc with GNU ld nor lld with --icf=all folds MinGW's functions,
    # each of which has a section name of its own; these are aliases.
    #

    results.check(' [+2 folded]' in text and
                  any(row['folded'] for row in data['functions']),
                  'report: folded in text and JSON', [text])


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        build = Build(os.path.join(scratch, 'one'), CPP, ['/DVALUE=1'])
        other = Build(os.path.join(scratch, 'two'), CPP, ['/DVALUE=2'])
        check_names(results, scratch, build)
        check_paths(results, scratch, build, other)
        check_moved_image(results, scratch, build, other)
        check_overloads(results, scratch, build)
        check_folded(results, scratch)
        check_reader(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
