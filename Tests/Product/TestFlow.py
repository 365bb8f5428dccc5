#!/usr/bin/env python3
"""Programs of hard control flow: exceptions, longjmp, faults, calls in tail
position, stacks that grow and overflow.  The tree that a trace shows of every
thread must be exactly what the program itself says that it called
(Tests/Programs/Witness.h, Flow.h), and the program must do what it does
untraced.
"""

import collections
import concurrent.futures
import functools
import os
import re
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402
import witness                                               # noqa: E402

GCC_CPP = (programs.GCC, *programs.SAME_CALLS)
KEEP_CALLS = [flag for flag in programs.SAME_CALLS
              if flag != '-fno-optimize-sibling-calls']
GCC = (programs.GCC, *KEEP_CALLS)
GCC_PLAIN = (programs.GCC, '-O0')
GCC_INLINE = (programs.GCC, '-O2', '-DFLOW_INLINE')
CLANG = (programs.CLANG, '--target=x86_64-w64-mingw32', '-O2', '-fno-inline')
CLANG_PLAIN = (programs.CLANG, '--target=x86_64-w64-mingw32', '-O0')
CLANG_INLINE = (programs.CLANG, '--target=x86_64-w64-mingw32', '-O2',
                '-DFLOW_INLINE')
CLANG_CL = (programs.CLANG, '--driver-mode=cl',
            '--target=x86_64-pc-windows-msvc', '/nologo', '/c', '/GS-', '/Zl',
            '-imsvc', '/usr/share/mingw-w64/include', '-D__GNUC__=4',
            '-D__GNUC_MINOR__=2', '-D__GNUC_PATCHLEVEL__=1',
            '-DFLOW_NO_CRT', '-Wno-everything')
CYG = [*programs.FUNCTION_FLAGS]
CYG_CL = ['/clang:-finstrument-functions']
GCC_CYG = [*CYG, '-DFLOW_UNWIND_EXITS']
JUMPS_EXIT = ['-DFLOW_TAIL_EXITS']
PENTER = programs.PENTER_FLAGS
ENTRIES = ['-pg', '-mfentry', '-DFLOW_ENTRIES', *JUMPS_EXIT]

# What programs without a C runtime import.
IMPORTS = {
    'kernel32.dll': ['CloseHandle', 'CreateThread', 'ExitProcess',
                     'GetCommandLineA', 'GetModuleHandleW', 'GetProcAddress',
                     'GetStdHandle', 'RaiseException', 'WaitForSingleObject',
                     'WriteFile'],
    'ntdll.dll': ['__C_specific_handler', '__chkstk', '_local_unwind',
                  'RtlUnwind', 'memcpy', 'memset'],
    'msvcrt.dll': ['__CxxFrameHandler3', '_CxxThrowException'],
    'Witness.dll': ['WitnessEnter', 'WitnessLeave', 'WitnessLeaveTo',
                    'WitnessDepth', 'WitnessWrite'],
}

# A million frames in one build; the others go down 20,000.
STACKS = ('StackAlloca', 'StackLarge', 'StackArguments', 'StackDeep',
          'TailDirect', 'TailStates', 'TailRare', 'TailLeaves',
          'UnsureGrow')
SCENARIOS = {'FlowJump.c': (), 'FlowStack.c': STACKS, 'FlowFault.c': (),
             'FlowThrow.cpp': ()}

# (build, program, compiler, flags, scenarios; none: all)
CASES = [
    ('_penter', 'FlowJump.c', GCC, [*PENTER, *JUMPS_EXIT], ()),
    ('_penter', 'FlowStack.c', GCC, [*PENTER, *JUMPS_EXIT], ()),
    ('_penter', 'FlowFault.c', GCC, [*PENTER, *JUMPS_EXIT], ()),
    ('_penter', 'FlowThrow.cpp', GCC_CPP, PENTER, ()),
    ('_penter, frame pointers', 'FlowStack.c', GCC,
     [*PENTER, *JUMPS_EXIT, '-fno-omit-frame-pointer'], STACKS),
    *[(build, source, compiler, flags, scenarios)
      for build, compiler, flags in (
          ('_penter -O0', GCC_PLAIN, PENTER),
          ('functions', GCC, GCC_CYG),
          ('functions -O0', GCC_PLAIN, GCC_CYG),
          ('functions, inlined', GCC_INLINE, GCC_CYG),
          ('clang', CLANG, CYG),
          ('clang -O0', CLANG_PLAIN, CYG),
          ('clang, inlined', CLANG_INLINE, CYG))
      for source, scenarios in SCENARIOS.items()],
    ('clang, entries only', 'FlowJump.c', CLANG, ENTRIES,
     ('JumpPairs', 'JumpAcross', 'JumpLoop', 'JumpRecursion', 'JumpSelf',
      'JumpWalk', 'JumpToEnd')),
    ('clang, entries only', 'FlowStack.c', CLANG, ENTRIES,
     ('StackLarge', 'StackArguments', 'StackDeep', 'TailDirect', 'TailStates',
      'TailRare', 'UnsureGrow')),
    ('clang-cl', 'FlowSeh.c', (*CLANG_CL, '/O2', '/clang:-fno-inline'),
     CYG_CL, ()),
    ('clang-cl /Od', 'FlowSeh.c', (*CLANG_CL, '/Od'), CYG_CL, ()),
    ('clang-cl', 'FlowCatch.cpp', (*CLANG_CL, '/O2', '/EHsc', '/GR-',
                                   '/clang:-fno-inline'), CYG_CL, ()),
    ('clang-cl /Od', 'FlowCatch.cpp', (*CLANG_CL, '/Od', '/EHsc', '/GR-'),
     CYG_CL, ()),
    ('longjmp', 'FlowShapes.c', GCC, [], ()),
    ('SEH', 'FlowShapes.c', (*CLANG_CL, '/O2'), [], ()),
    ('three kinds of hooks, two modules', 'FlowMixed.c', GCC, [], ()),
]
# Builds that only the long form of this test has.
LONG = ('-O0', '/Od', 'inlined', 'frame pointers', 'FlowStack.cfunctions',
        'FlowFault.cfunctions', 'FlowJump.cclang', 'FlowStack.cclang',
        'FlowFault.cclang', 'FlowStartfunctions', 'FlowStartclang',
        'FlowCatch.cpp', 'FlowFault.c_penter', 'FlowStack.c_penter',
        'FlowThrow.cppfunctions', 'FlowMixed', 'entries only',
        'FlowThrow.cppclang')

# Scenarios of which only the number of calls of each function is compared,
# because their records can be read in more than one way.
UNSURE = {'UnsureGrow', 'UnsureRaise'}

# clang aligns frames by an amount that is not in the unwind data.
UNSURE_CLANG = {'JumpAligned'}

# A function that was inlined runs in the frame of the one around it.  Where it
# is left by a jump, and others that were inlined there are called next, nothing
# that is recorded tells those from its own calls.
UNSURE_INLINED = {'JumpAligned', 'JumpLoop', 'StackLarge', 'ThrowAcross',
                  'ThrowInConstructor', 'ThrowLoop', 'ThrowWalk'}

STARTS = [
    ('_penter', GCC_CPP, PENTER),
    ('functions', GCC_CPP, GCC_CYG),
    ('clang', CLANG, CYG),
]

# How FlowStart ends, and its exit codes.
WAYS = {'return': 4, 'exit': 5, 'quick': 6, 'abort': 3, 'terminate': 7,
        'thread': 8, 'throw': 9}

MADE_BY_COMPILER = re.compile(r'_GLOBAL__sub_I_|__tcf_|__cxx_global_var_init|'
                              r'__dtor_|_Z\d*__static_initialization|'
                              r'__static_initialization')


class Checks(list):
    """What a case found, to be told to the results: (condition, text,
    details)."""

    def check(self, condition, text, details=()):
        self.append((bool(condition), text, [str(line)[:400]
                                             for line in details][:12]))
        return bool(condition)

    def equal(self, left, right, text):
        return self.check(left == right, text, [left, right])


def source_path(name):
    return os.path.join(programs.PROGRAMS, name)


def make_import_libraries(folder):
    paths = []
    for name, symbols in IMPORTS.items():
        definition = os.path.join(folder, name + '.def')
        with open(definition, 'w', encoding='ascii') as file:
            file.write('LIBRARY %s\nEXPORTS\n%s\n' %
                       (name, '\n'.join(symbols)))
        paths.append(os.path.join(folder, name + '.lib'))
        subprocess.run(['llvm-dlltool-19', '-m', 'i386:x86-64', '-d',
                        definition, '-l', paths[-1]], check=True)
    return paths


def assemble(folder, name):
    target = os.path.join(folder, name + '.obj')
    subprocess.run(['nasm', '-f', 'win64', source_path(name), '-o', target],
                   check=True)
    return target


def build_cl(folder, sources, compiler, flags, libraries, debug):
    """Compiles with clang-cl, links with lld-link and no C runtime."""
    os.makedirs(folder)
    objects = []
    for source in sources:
        target = os.path.join(folder, os.path.basename(source) + '.obj')
        subprocess.run([*compiler, *flags, '/Fo' + target, '--', source],
                       check=True, cwd=folder)
        objects.append(target)
    program = os.path.join(folder, 'Flow.exe')
    subprocess.run(['lld-link-19', '/entry:mainCRTStartup', '/debug:' + debug,
                    '/subsystem:console', '/nodefaultlib',
                    '/out:' + program, *objects, *libraries,
                    programs.LIBRARY], check=True, cwd=folder)
    return program


def build_mixed(folder, shared):
    """FlowMixed: three kinds of hooks in the program, two in its DLL."""
    os.makedirs(folder)
    source = source_path('FlowMixed.c')
    parts = [
        (GCC, ['-DPART=0']),
        (GCC_CPP, [*PENTER, '-DPART=1']),
        (GCC_CPP, [*CYG, '-DPART=2']),
        (CLANG, [*CYG, '-DPART=3']),
        (GCC_CPP, [*PENTER, '-DPART=4', '-DMIXED_DLL']),
        (CLANG, [*CYG, '-DPART=5', '-DMIXED_DLL']),
        (GCC, ['-DPART=0']),
    ]
    objects = []
    for number, (compiler, flags) in enumerate(parts):
        file = source if number < 6 else source_path('FlowMain.c')
        objects.append(os.path.join(folder, 'part%d.o' % number))
        subprocess.run([*programs.CACHE, *compiler, *flags, '-c', file, '-o',
                        objects[-1]], check=True)
    common = [programs.LIBRARY, shared['witness'], '-static', '-o']
    program = os.path.join(folder, 'Flow.exe')
    library = os.path.join(folder, 'libMixed.a')
    subprocess.run([programs.GCC, '-shared', *objects[4:6], *common,
                    os.path.join(folder, 'Mixed.dll'),
                    '-Wl,--out-implib,' + library], check=True)
    subprocess.run([programs.GCC, *objects[:4], objects[6], library, *common,
                    program], check=True)
    return program


def build(folder, source, compiler, flags, shared):
    sources = [source_path(source)]
    if source != 'FlowStart.cpp':
        sources.append(source_path('FlowMain.c'))
    shapes = [shared['shapes']] if source == 'FlowShapes.c' else []
    if source == 'FlowMixed.c':
        program = build_mixed(folder, shared)
    elif compiler[:2] == CLANG_CL[:2]:
        program = build_cl(folder, sources, compiler, flags,
                           [*shapes, *shared['imports']],
                           'symtab' if shapes else 'full')
    else:
        program = programs.build(
            folder, sources, [*flags, '-Wall', '-Wno-infinite-recursion'],
            'Flow.exe',
            [*shapes, programs.LIBRARY, shared['witness'], '-lstdc++'],
            compiler=compiler)
    shutil.copy(os.path.join(shared['folder'], 'Witness.dll'), folder)
    return program


def run(program, scenarios, report, directory=None, **variables):
    return support.run(program, *scenarios, directory=directory,
                       cwd=os.path.dirname(program),
                       WITNESS_FILE=programs.windows_path(report),
                       **variables)


@functools.lru_cache(maxsize=None)
def readable(name):
    """A linker's name of a C++ function as the reader shows it."""
    if not name.startswith('_Z'):
        return name
    return subprocess.run(['llvm-cxxfilt-19', name], capture_output=True,
                          check=True, text=True).stdout.strip()


def tidy(tree):
    """Leaves out what the compiler makes, and makes names readable: the several
    that a constructor or destructor has for one address are one then.
    """
    result = witness.Node()
    waiting = [(result, tree)]
    while waiting:
        into, node = waiting.pop()
        for child in node.children.values():
            if MADE_BY_COMPILER.match(child.name):
                waiting.append((into, child))
                continue
            other = into.child(readable(child.name))
            other.add(child.calls, child.abandoned, child.open)
            waiting.append((other, child))
    return result


def read(reader, path, is_cpp=True):
    tracks = reader(path)
    if is_cpp:
        tracks = {key: [tidy(tree) for tree in trees]
                  for key, trees in tracks.items()}
    return tracks


def flow_of(report):
    """What a program's report says without the numbers of its threads."""
    with open(report, 'rb') as file:
        return re.sub(rb'^(\d+)\t\d+\t', rb'\1\t', file.read(),
                      flags=re.MULTILINE)


def count_calls(tree):
    """How often each function of a tree was called."""
    counts = collections.Counter()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        counts[node.name] += node.calls
        waiting.extend(node.children.values())
    return counts


def split_unsure(tracks, names):
    """Takes the trees of some scenarios out; returns their calls."""
    unsure = []
    for key, trees in tracks.items():
        unsure.extend(count_calls(tree) for tree in trees
                      if tree.children.keys() & names)
        tracks[key] = [tree for tree in trees
                       if not tree.children.keys() & names]
    return sorted(unsure, key=lambda calls: sorted(calls.items()))


def compare(checks, what, report, session, is_cpp, unsure=frozenset()):
    expected = read(witness.read_witness, report, is_cpp)
    seen = read(witness.read_tree, session, is_cpp)
    checks.check(any(tree.children for trees in expected.values()
                     for tree in trees), what + ': the program reported')
    checks.equal(split_unsure(seen, unsure), split_unsure(expected, unsure),
                 what + ': calls where records have several meanings')
    found = witness.track_differences(expected, seen)
    checks.check(not found, what + ': the trees are the same', found)


def verify(checks, what, session):
    code, rows, text = support.verify(session)
    checks.check(code == 0 and rows and
                 all(row['bad'] == '0' for row in rows.values()),
                 what + ': verify', [text[-500:]])
    code, text, errors = support.reader('report', '--limit', '1',
                                        programs.windows_path(session))
    checks.check(code == 0 and 'had no entry' not in text,
                 what + ': no exit without an entry', [text + errors])
    checks.equal(support.report_differences(session), [],
                 what + ': ways to read a report')


def check_run(checks, what, program, arguments, code):
    """Runs a program untraced and traced, and compares all there is; returns
    its report and its session.
    """
    base = os.path.join(os.path.dirname(program), 'run' + ''.join(arguments))
    plain, report, directory = base + '.plain', base + '.report', base
    expected = run(program, arguments, plain, TRACER_ENABLED='0')
    checks.check(expected[0] == code, what + ': untraced', expected)
    checks.equal(run(program, arguments, report, directory), expected,
                 what + ': output and exit code')
    checks.check(flow_of(plain) == flow_of(report),
                 what + ': the program did the same')
    found = support.sessions(directory)
    if not checks.check(len(found) == 1, what + ': sessions', found):
        return report, None
    verify(checks, what, found[0])
    return report, found[0]


def change_tree(track, change):
    """A track's tree with one thing changed; None if nothing was found."""
    tree = witness.merge([track])
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if change(node):
            return tree
        waiting.extend(node.children.values())
    return None


def move_call(node):
    """The first call of a call's call becomes its sibling."""
    for child in node.children.values():
        for name, grandchild in list(child.children.items()):
            if grandchild.calls == 1 and not grandchild.children:
                del child.children[name]
                node.child(name).add(1, grandchild.abandoned, grandchild.open)
                return True
    return False


def complete_call(node):
    """One call that was abandoned counts as completed."""
    if not node.abandoned:
        return False
    node.abandoned -= 1
    return True


def miss_call(node):
    if node.calls < 2:
        return False
    node.calls -= 1
    return True


def damage(session, copy, change):
    """Copies a session; one pair of neighbouring records is changed."""
    shutil.copytree(session, copy)
    for path in support.stores(copy):
        with open(path, 'r+b') as file:
            data = bytearray(file.read())
            for offset in range(support.HEADER_SIZE, len(data) - 31,
                                support.RECORD_SIZE):
                pair = struct.unpack_from('<QIIQII', data, offset)
                new = change(*pair[1:3], *pair[4:])
                if pair[0] and pair[3] and new:
                    struct.pack_into('<II', data, offset + 8, *new[:2])
                    struct.pack_into('<II', data, offset + 24, *new[2:])
                    file.seek(0)
                    file.write(data)
                    return True
    return False


ENTER, EXIT = 1, 2


def raise_inner(site, stack, inner_site, inner_stack):
    """A call made inside another one seems to have been made beside it."""
    if stack & 7 == ENTER and inner_stack & 7 == ENTER and stack > inner_stack:
        return site, stack, inner_site, stack
    return None


def flip_exit(site, stack, next_site, next_stack):
    if stack & 7 == ENTER and next_stack & 7 == EXIT:
        return site, stack, next_site, next_stack ^ ENTER ^ EXIT
    return None


def swap_stacks(site, stack, next_site, next_stack):
    if (stack & 7 == ENTER and next_stack & 7 == ENTER and
            stack > next_stack):
        return site, next_stack, next_site, stack
    return None


def other_function(site, stack, next_site, next_stack):
    if stack & 7 == ENTER and next_stack & 7 == ENTER and site != next_site:
        return site, stack, site, next_stack
    return None


def check_controls(checks, report, session, folder):
    """The comparison must see each thing that is wrong."""
    expected = witness.read_witness(report)
    for change in (move_call, complete_call, miss_call):
        what = 'control: ' + change.__name__
        found = None
        for trees in expected.values():
            for tree in trees:
                wrong = found is None and change_tree(tree, change)
                if wrong:
                    found = witness.differences(tree, wrong)
        checks.check(found, what + ' is found', [found])
    for change in (raise_inner, flip_exit, swap_stacks, other_function):
        copy = os.path.join(folder, change.__name__)
        what = 'control: ' + change.__name__
        if checks.check(damage(session, copy, change), what + ': done'):
            found = witness.track_differences(expected,
                                              witness.read_tree(copy))
            checks.check(found, what + ' is found')


def run_case(number, case, scratch, shared):
    checks = Checks()
    name, source, compiler, flags, scenarios = case
    what = '%s, %s' % (source, name)
    folder = os.path.join(scratch, 'case%d' % number)
    program = build(folder, source, compiler, flags, shared)
    report, session = check_run(checks, what, program, scenarios, 0)
    if session:
        is_cpp = source.endswith('.cpp')
        unsure = set(UNSURE)
        if compiler[0] == programs.CLANG:
            unsure |= UNSURE_CLANG
        if '-DFLOW_INLINE' in compiler and not (is_cpp and flags == GCC_CYG):
            unsure |= UNSURE_INLINED
        compare(checks, what, report, session, is_cpp, unsure)
        if (name, source) == ('_penter', 'FlowFault.c'):
            check_controls(checks, report, session, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return checks


def run_start(number, case, scratch, shared):
    """FlowStart, which ends in a way and with a code of its own each time."""
    checks = Checks()
    name, compiler, flags = case
    folder = os.path.join(scratch, 'start%d' % number)
    program = build(folder, 'FlowStart.cpp', compiler, flags, shared)
    for way, code in WAYS.items():
        what = 'FlowStart.cpp, %s, %s' % (name, way)
        report, session = check_run(checks, what, program, (way,), code)
        if session:
            compare(checks, what, report, session, True)
    shutil.rmtree(folder, ignore_errors=True)
    return checks


def main():
    results = programs.Results()

    def is_wanted(name):
        if sys.argv[1:]:
            return any(word in name for word in sys.argv[1:])
        return programs.LONG or not any(word in name for word in LONG)

    with programs.Scratch() as scratch:
        library, folder = witness.build(os.path.join(scratch, 'witness'))
        shared = {'witness': library, 'folder': folder,
                  'imports': make_import_libraries(folder),
                  'shapes': assemble(folder, 'FlowShapes.asm')}
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            cases = [pool.submit(run_case, number, case, scratch, shared)
                     for number, case in enumerate(CASES)
                     if is_wanted(case[1] + case[0])]
            cases += [pool.submit(run_start, number, case, scratch, shared)
                      for number, case in enumerate(STARTS)
                      if is_wanted('FlowStart' + case[0])]
            for case in cases:
                for condition, text, details in case.result():
                    results.check(condition, text, details)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
