#!/usr/bin/env python3
"""Checks what functions without a symbol are called.

A program has a function between two others whose label begins with L: the
assembler leaves such a label out of the symbol table.  Its calls are not those
of the function before it, but of module+0xRVA, with the function's first
address; so are all calls in a stripped image, but those of its exports.  The
program prints how often it calls what, and where that is; llvm-readobj says
where functions with unwind data begin.

Without unwind data nothing tells the function from the one before it, and a
label that begins with another letter is there: these are the controls.
"""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import programs                                              # noqa: E402

READOBJ = 'llvm-readobj-19'
BASE = 0x140000000       # of images that GNU ld makes
CALLS = {'First': 3, 'Middle': 5, 'Last': 7}

MAIN = r'''
int printf(const char *, ...);     // the header has an inline one
extern char __ImageBase;
typedef int ROUTINE(int);
extern ROUTINE *Routines[3];
static const int Calls[3] = { 3, 5, 7 };
__attribute__((noinline)) int Within(int value) { return value * 3; }
int main(void)
{
    int sum = Within(1), call, index;
    for (index = 0; index < 3; index++) {
        for (call = 0; call < Calls[index]; call++) {
            sum += Routines[index](call);
        }
        printf("%x\n", (int)((char *)Routines[index] - &__ImageBase));
    }
    printf("%x\n", (int)((char *)Within - &__ImageBase));
    printf("%x\n", (int)((char *)main - &__ImageBase));
    return sum == 0;
}
'''

# The hooks are called as gcc does.
ROUTINE = r'''
%(name)s:
        %(unwind)s .seh_proc %(name)s
        call    _penter
        pushq   %%rbx
        %(unwind)s .seh_pushreg %%rbx
        %(unwind)s .seh_endprologue
        leal    1(%%rcx), %%eax
        popq    %%rbx
        call    __return__
        ret
        %(unwind)s .seh_endproc
'''
# Its hooks are called in a part whose .pdata entry continues that of the part
# before it, as compilers do around late prologues; no directive makes one.
CHAINED = r'''
Lmiddle:
        jmp     Lpart
        nop
Lpart:
        call    _penter
        leal    1(%rcx), %eax
        call    __return__
        ret
Lend:
        .section .xdata
        .balign 4
Lwhole: .byte   1, 0, 0, 0
Lmore:  .byte   0x21, 0, 0, 0
        .rva    Lmiddle, Lpart, Lwhole
        .section .pdata
        .rva    Lmiddle, Lpart, Lwhole, Lpart, Lend, Lmore
        .text
'''
GLOBAL = '''
        .globl  %(name)s
        .def    %(name)s; .scl 2; .type 32; .endef
'''
EXPORT = '''
        .section .drectve
        .ascii  " -export:First -export:Last"
'''


def build(folder, middle='Lmiddle', unwind=('', '', ''), flags=(),
          chained=False, exports=False, strip=False):
    """Makes Unnamed.exe of the three routines; returns its path.

    unwind: what is before the directives of each, # leaves them out.
    chained: the second one is CHAINED.
    """
    os.makedirs(folder)
    text = ''
    names = ('First', middle, 'Last')
    for name, mark in zip(names, unwind):
        values = {'name': name, 'unwind': mark}
        if name != 'Lmiddle':
            text += GLOBAL % values
        text += (CHAINED if chained and name == 'Lmiddle' else
                 ROUTINE % values)
    text += ('        .data\n        .globl  Routines\nRoutines:\n' +
             ''.join('        .quad   %s\n' % name for name in names))
    paths = []
    for name, source in (('main.c', MAIN),
                         ('routines.s', '        .text\n' + text +
                          (EXPORT if exports else ''))):
        paths.append(os.path.join(folder, name))
        with open(paths[-1], 'w', encoding='ascii') as file:
            file.write(source)
    program = programs.build(
        os.path.join(folder, 'build'), paths,
        [*programs.PENTER_FLAGS, *flags], 'Unnamed.exe', [programs.LIBRARY])
    if strip:
        subprocess.run(['x86_64-w64-mingw32-strip', '-s', program], check=True)
    return program


def read_starts(program):
    """Where .pdata's entries begin, and how many continue another one."""
    _, text = programs.run([READOBJ, '--unwind', program])
    return {int(value, 16) - BASE for value in re.findall(
        r'StartAddress: .*?\(?0x([0-9A-Fa-f]+)\)?$', text, re.M)}, len(
            re.findall(r'ChainInfo|Chained', text))


def read_calls(session):
    """name -> calls; a name twice is an error."""
    calls = {}
    for name, row in programs.read_report(session).items():
        if row['rows'] != 1:
            raise RuntimeError('%s has %d rows' % (name, row['rows']))
        calls[name] = row['calls']
    return calls


class Case:
    """A program that was built and run."""

    def __init__(self, results, scratch, what, **options):
        self.results, self.what = results, what
        folder = os.path.join(scratch, re.sub(r'\W', '-', what))
        self.program = build(folder, **options)
        text, self.session = programs.trace(
            self.program, directory=os.path.join(folder, 'trace'))
        self.rvas = dict(zip((*CALLS, 'Within', 'main'),
                             (int(line, 16) for line in text.split())))
        self.starts, self.chained = read_starts(self.program)

    def place(self, name):
        """What the function is called by its place."""
        return 'Unnamed.exe+0x%x' % self.rvas[name]

    def expect(self, names, **more):
        """The report has these names, each with the calls of a function."""
        expected = {shown: CALLS[name] for name, shown in names.items()}
        expected.update(more)
        calls = read_calls(self.session)
        self.results.equal(calls, expected, self.what)
        os.rename(self.program, self.program + '.gone')
        self.results.equal(read_calls(self.session), expected,
                           self.what + ': without the image')
        os.rename(self.program + '.gone', self.program)


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        for what, flags in (('symbols', ()), ('debugging information',
                                              ('-g',))):
            case = Case(results, scratch, what, flags=flags)
            results.check(set(case.rvas.values()) <= case.starts,
                          what + ': .pdata has all of them', [case.rvas])
            case.expect({'First': 'First', 'Last': 'Last',
                         'Middle': case.place('Middle')}, main=1, Within=1)

        case = Case(results, scratch, 'stripped', strip=True)
        results.check(set(case.rvas.values()) <= case.starts,
                      'stripped: .pdata has all of them', [case.rvas])
        case.expect({name: case.place(name) for name in CALLS},
                    **{case.place('Within'): 1, case.place('main'): 1})

        case = Case(results, scratch, 'exports', exports=True, strip=True)
        calls = read_calls(case.session)
        results.equal({name: calls.get(name) for name in
                       ('First', 'Last', case.place('Middle'))},
                      {'First': 3, 'Last': 7, case.place('Middle'): 5},
                      'exports')

        for what, strip in (('chained', False), ('chained, stripped', True)):
            case = Case(results, scratch, what, chained=True, strip=strip)
            results.check(case.chained and case.rvas['Middle'] + 3 in
                          case.starts, 'control: .pdata has the part',
                          [case.chained, case.rvas, sorted(case.starts)])
            calls = read_calls(case.session)
            results.equal((calls.get(case.place('Middle')), sum(
                calls.values())), (5, 17), what)

        # A leaf, as far as the image tells: what is before it names it.
        case = Case(results, scratch, 'without unwind data',
                    unwind=('', '#', ''))
        results.check(case.rvas['Middle'] not in case.starts,
                      'control: .pdata does not have it')
        results.equal(read_calls(case.session),
                      {'First': 8, 'Last': 7, 'main': 1, 'Within': 1},
                      'control: without unwind data')

        # The one before it is a leaf, and its symbol not for the next one.
        case = Case(results, scratch, 'after a leaf', unwind=('#', '', ''))
        case.expect({'First': 'First', 'Last': 'Last',
                     'Middle': case.place('Middle')}, main=1, Within=1)

        case = Case(results, scratch, 'named', middle='Middle')
        case.expect({name: name for name in CALLS}, main=1, Within=1)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
