#!/usr/bin/env python3
"""C++ built with -finstrument-functions, with all that the compiler inlines.

The hooks of such a program nest: an exit is that of the innermost function
that has not exited.  So the tree of calls can be made without a look at the
stack or at the code, and the one that TraceReader shows must be the same, with
no call abandoned and no exit without an entry.

gcc loads functions' addresses from variables (.refptr.NAME) and from the
stack, and clang chooses one of two (cmov); what is built is looked at, that it
has these.  Controls: the variables in the image are changed after the program
ran, and a pair of records is taken out.
"""

import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402
import trace_reader                                          # noqa: E402
import witness                                               # noqa: E402

OBJDUMP = 'x86_64-w64-mingw32-objdump'
CLANG = (programs.CLANG, '--target=x86_64-w64-mingw32')
ENTER, EXIT = 3, 4
BASE = 0x140000000       # of images that GNU ld makes

SLOT = r'mov\s+\S+\(%rip\),%(\w+)\s+# [0-9a-f]+ <\.refptr\.'
STACK = r'mov\s+0x[0-9a-f]+\(%rsp\),%(r\w+)$'
CHOICE = r'cmov\w+\s+%r\w+,%(r\w+)$'

# (build, compiler, arguments, ways that addresses get into registers)
CASES = [
    ('gcc -O2', (programs.GCC, '-O2'), ('x',), (SLOT, STACK)),
    ('gcc -O3', (programs.GCC, '-O3'), ('x',), (SLOT,)),
    ('gcc -Os', (programs.GCC, '-Os'), ('x',), ()),
    ('clang -O2', (*CLANG, '-O2'), (), (CHOICE,)),
]


def count_ways(program, ways):
    """How often a register is written so and then handed to the entry hook."""
    _, text = programs.run([OBJDUMP, '-d', '--no-show-raw-insn', program])
    numbers, holding, argument = [0] * len(ways), {}, None
    for line in text.splitlines():
        line = line.split('\t', 1)[-1].rstrip()
        if line.endswith('>:'):
            holding, argument = {}, None
        move = re.match(r'mov\s+%(r\w+),%rcx$', line)
        written = re.search(r'%(r\w+)(\s+#.*)?$', line)
        if move:
            argument = holding.get(move.group(1))
        elif re.match(r'call\s.*<__cyg_profile_func_enter>', line):
            if argument is not None:
                numbers[argument] += 1
            argument = None
        elif written and not line.startswith(('push', 'cmp', 'test')):
            holding.pop(written.group(1), None)
            for index, way in enumerate(ways):
                found = re.match(way, line)
                if found and found.group(1) == 'rcx':
                    argument = index
                elif found:
                    holding[found.group(1)] = index
    return numbers


def nest(session):
    """Per thread the tree of its calls by nesting; functions are RVAs."""
    trees = []
    for store in trace_reader.open_all([session]):
        root = witness.Node()
        chain = [root]
        for _, rva, _, kind in store.records():
            if kind == ENTER:
                node = chain[-1].child(rva)
                node.add(1, 0, 0)
                chain.append(node)
            elif kind != EXIT or chain.pop().name != rva:
                raise RuntimeError('the hooks of %s do not nest' % store.path)
        if len(chain) != 1:
            raise RuntimeError('calls of %s are open' % store.path)
        trees.append(root)
    return trees


def read_names(program, folder):
    """A resolver (RVA -> name), with C++ names made readable."""
    path = programs.write_symbols(program, os.path.join(folder, 'symbols'))
    with open(path, encoding='utf-8') as file:
        rows = re.findall(r'^([0-9a-f]{16}) (\w) (\S+)$', file.read(), re.M)
    readable = subprocess.run(
        ['llvm-cxxfilt-19'], check=True, stdout=subprocess.PIPE,
        input='\n'.join(row[2] for row in rows).encode()).stdout.decode()
    names = {}
    for row, name in zip(rows, readable.split('\n')):
        if row[1] in 'Tt' and not name.startswith('.'):
            names.setdefault(int(row[0], 16) - BASE,
                             name.replace('<...>', '<>'))
    return names.__getitem__


def name_functions(tree, names):
    """The same tree with names; functions of one name are one."""
    whole = witness.Node()
    waiting = [(whole, tree)]
    while waiting:
        into, node = waiting.pop()
        into.add(node.calls, node.abandoned, node.open)
        for rva, child in node.children.items():
            waiting.append((into.child(names(rva)), child))
    return whole


def find_wrong(session, expected):
    """What TraceReader shows otherwise: of the tree, and exits unmatched."""
    seen = witness.read_tree(session, '--no-cache')
    trees = [tree for trees in seen.values() for tree in trees]
    _, text = programs.trace_reader('report', '--no-cache', '--limit', '1',
                                    programs.windows_path(session))
    wrong = [line for line in text.splitlines() if 'had no entry' in line]
    return wrong + witness.differences(witness.merge(expected),
                                       witness.merge(trees))


def change_slots(program):
    """Every variable that has a function's address gets main's."""
    _, text = programs.run([programs.NM, program])
    symbols = {name: int(address, 16) for address, _, name in
               re.findall(r'^([0-9a-f]{16}) (\w) (\S+)$', text, re.M)}
    _, text = programs.run([OBJDUMP, '-h', program])
    sections = [tuple(int(field, 16) for field in fields) for fields in
                re.findall(r'^ +\d+ \S+ +(\w{8})  (\w{16})  \w{16}  (\w{8})',
                           text, re.M)]
    number = 0
    with open(program, 'r+b') as file:
        for name, address in symbols.items():
            target = symbols.get(name[len('.refptr.'):])
            if not name.startswith('.refptr.') or target is None:
                continue
            for size, start, offset in sections:
                if start <= address < start + size:
                    file.seek(address - start + offset)
                    if struct.unpack('<Q', file.read(8))[0] == target:
                        file.seek(address - start + offset)
                        file.write(struct.pack('<Q', symbols['main']))
                        number += 1
    return number


def remove_pair(session):
    """The first exit that follows its own entry goes, and so does that."""
    path = support.stores(session)[0]
    with open(path, 'r+b') as file:
        data = file.read()
        for offset in range(support.HEADER_SIZE, len(data) - 31,
                            support.RECORD_SIZE):
            _, site, word, _, other, next_word = struct.unpack_from(
                '<QIIQII', data, offset)
            if (word & 7, next_word & 7) == (ENTER, EXIT) and site == other:
                file.seek(offset)
                file.write(bytes(2 * support.RECORD_SIZE))
                return True
    return False


def check_case(results, scratch, number, case):
    name, compiler, arguments, ways = case
    folder = os.path.join(scratch, 'inlined%d' % number)
    program = programs.build(
        folder, [os.path.join(programs.PROGRAMS, 'Inlined.cpp')],
        programs.FUNCTION_FLAGS, 'Inlined.exe',
        [programs.LIBRARY, '-lstdc++', '-Wl,--no-warnings'],
        compiler=compiler)
    numbers = count_ways(program, ways)
    results.check(all(numbers), '%s: ways that addresses come' % name, numbers)
    _, session = programs.trace(program, *arguments,
                                directory=os.path.join(folder, 'traces'))
    names = read_names(program, folder)
    expected = [name_functions(tree, names) for tree in nest(session)]
    wrong = find_wrong(session, expected)
    results.check(not wrong,
                  '%s: tree (calls, nested, TraceReader)' % name, wrong)
    whole = witness.describe(witness.merge(expected))
    print('%s: %d calls in %d chains; %s' % (
        name, sum(row[0] for row in whole.values()), len(whole), numbers))
    results.check(len(whole) > 100, '%s: chains' % name)
    if number == 0:
        results.check(change_slots(program) > 10, 'control: variables')
        results.check(find_wrong(session, expected),
                      'control: other addresses in the image are seen')
    if number == 1:
        results.check(remove_pair(session), 'control: a pair is removed')
        results.check(find_wrong(session, expected),
                      'control: a pair that is missing is seen')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for number, case in enumerate(CASES):
            check_case(results, scratch, number, case)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
