#!/usr/bin/env python3
"""Readable names of C++ functions: what the reader makes of every name in
MinGW's libstdc++, of names that compilers give to the functions of
Programs/Names.cpp, and of damaged names, compared with llvm-cxxfilt; suffixes,
which llvm-cxxfilt shows in another way, compared with GNU c++filt.  Names of
clang-cl are compared with llvm-undname.
"""

import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
from StoreSupport import programs                            # noqa: E402

CXXFILT = 'llvm-cxxfilt-19'
UNDNAME = 'llvm-undname-19'
GNU_CXXFILT = 'x86_64-w64-mingw32-c++filt'
TOOL = os.path.join(programs.BIN, 'TestSymbols.exe')
CLANG_CL = (programs.CLANG, '--driver-mode=cl',
            '--target=x86_64-pc-windows-msvc', '/nologo', '/c', '/O1', '/Ob0',
            '/GS-', '/Gy', '/Zl', '/GR-', '/std:c++17')
DAMAGED = 4000
PARTS = ['S_', 'S0_', 'St', 'Sa', 'T_', 'DpT_', 'I', 'E', 'J', 'X', 'P', 'R',
         'K', 'N', 'F', 'v', 'i', 'Li5E', 'Lb1E', 'sr', 'cl', 'fp_', 'UlvE_',
         'C1', 'cv', 'plT_T_', 'DTE', 'A5_', 'M', '1A', 'L_Z1fvE', 'Do', '_']

# Microsoft's names.  The last ones are those that Wine's UnDecorateSymbolName
# does not understand, or gets wrong.
MICROSOFT = r'''
namespace ns {
int f(int x) { return x; }
int f(const char *, double d) { return (int)d; }
struct Base {
    virtual ~Base();
    virtual int v(int);
    int m(int &, const int *) const;
    static int st(unsigned char, long long);
    Base(const Base &);
    Base &operator=(const Base &);
    bool operator==(const Base &) const;
    operator int() const;
    int operator()(int);
};
Base::~Base() {}
int Base::v(int a) { return a; }
int Base::m(int &a, const int *) const { return a; }
int Base::st(unsigned char c, long long) { return c; }
Base::Base(const Base &) {}
Base &Base::operator=(const Base &) { return *this; }
bool Base::operator==(const Base &) const { return true; }
Base::operator int() const { return 1; }
int Base::operator()(int q) { return q; }
template<class T> struct Vec {
    T get(T t, Vec<T> *) { return t; }
    template<class U> U conv(U u, T) { return u; }
};
template struct Vec<int>;
template struct Vec<Vec<const char *> >;
template char Vec<int>::conv(char, int);
template<class T, int N> T arr(T (&a)[N]) { return a[0]; }
template int arr(int (&)[3]);
template<class... A> int var(A...) { return 0; }
template int var(int, char);
}
int pointers(int (*)(int, char), int ns::Base::*, int (&)[3]) { return 1; }
enum class E : short { A };
int en(E, bool, float, long double, unsigned long, char16_t) { return 1; }
int vaf(const char *, ...) { return 1; }
ns::Base *operator+(ns::Base &a, int) { return &a; }
void operator delete(void *, decltype(sizeof(0))) {}
'''
NOT_WINES = r'''
namespace ns {
template<class... A> int var(A...) { return 0; }
template int var();
template<int (*F)(int)> int call(int x) { return F(x); }
int g(int x) { return x; }
template int call<g>(int);
}
namespace { struct Loc { int q(wchar_t) { return 1; } }; }
int anonymous() { return Loc().q(L'x'); }
'''


def lines_of(command, names):
    output = subprocess.run(command, input='\n'.join(names) + '\n',
                            capture_output=True, check=True, text=True).stdout
    return output.split('\n')[:-1]


def readable(scratch, names, *options):
    """What the reader makes of names."""
    path = os.path.join(scratch, 'names')
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        file.write('\n'.join(names) + '\n')
    code, text = support.run(TOOL, '--readable', programs.windows_path(path),
                             *options)
    lines = text.split('\n')[:-1]
    return lines if code == 0 and len(lines) == len(names) else None


def symbols_of(path, *command):
    """The names in an object or a library, by nm."""
    output = subprocess.run([*(command or (programs.NM,)), path],
                            capture_output=True, text=True).stdout
    words = (line.split()[-1] for line in output.splitlines() if line.strip())
    return sorted({word for word in words if re.match(r'_Z\w+$|\?', word)})


def compare(results, what, names, ours, theirs):
    if not results.check(ours is not None, f'{what}: the reader answers'):
        return
    wrong = [(n, o, t) for n, o, t in zip(names, ours, theirs) if o != t]
    print(f'{what}: {len(names)} names, {len(wrong)} not as expected')
    results.check(not wrong, f'{what}: names', wrong[:5])


def check_library(results, scratch):
    """All names of libstdc++, as long as there are a few thousand."""
    path = subprocess.run(['x86_64-w64-mingw32-g++',
                           '-print-file-name=libstdc++.a'],
                          capture_output=True, text=True).stdout.strip()
    names = symbols_of(path)
    theirs = lines_of([CXXFILT], names)
    results.check(len(names) > 3000 and
                  sum(n != t for n, t in zip(names, theirs)) > 3000,
                  'libstdc++: there are thousands of names', [len(names)])
    compare(results, 'libstdc++', names, readable(scratch, names), theirs)
    return names


def check_compilers(results, scratch):
    """The names of Programs/Names.cpp, by gcc and by clang."""
    source = os.path.join(programs.PROGRAMS, 'Names.cpp')
    for name, command in (
            ('gcc', ['x86_64-w64-mingw32-g++']),
            ('clang', [programs.CLANG, '--target=x86_64-w64-mingw32'])):
        target = os.path.join(scratch, name + '.o')
        subprocess.run([*command, '-std=c++17', '-w', '-c', source, '-o',
                        target], check=True)
        names = symbols_of(target)
        results.check(len(names) > 120, f'{name}: there are names',
                      [len(names)])
        compare(results, name, names, readable(scratch, names),
                lines_of([CXXFILT], names))


def check_damaged(results, scratch, names):
    """Names with changes: what llvm-cxxfilt refuses may be refused or read,
    but what both read must be the same.  Operators in the place of types are
    left out: it takes them for names of types."""
    chance = random.Random(7)
    names = [name for name in names if len(name) < 120]
    damaged = []
    while len(damaged) < DAMAGED:
        name = chance.choice(names)
        place = chance.randrange(2, len(name) + 1)
        name = (name[:place] + chance.choice(PARTS) +
                name[place + chance.randrange(3):])
        if re.match(r'_Z\w+$', name):
            damaged.append(name)
    theirs = lines_of([CXXFILT], damaged)
    ours = readable(scratch, damaged)
    if not results.check(ours is not None, 'damaged: the reader answers'):
        return
    both = [(n, o, t) for n, o, t in zip(damaged, ours, theirs)
            if o != n and t != n and 'operator' not in t]
    wrong = [entry for entry in both if entry[1] != entry[2]]
    refused = [(n, t) for n, o, t in zip(damaged, ours, theirs)
               if o == n and t != n and 'operator' not in t]
    print(f'damaged: {len(both)} read by both, {len(wrong)} differ, '
          f'{len(refused)} read by llvm-cxxfilt alone')
    results.check(len(both) > DAMAGED // 20 and
                  sum(o == n for n, o in zip(damaged, ours)) > DAMAGED // 4,
                  'damaged: some are read and some are not')
    results.check(len(wrong) <= len(both) // 200 and
                  len(refused) <= DAMAGED // 200, 'damaged: the same text',
                  wrong[:5] + refused[:5])


def check_others(results, scratch):
    """Suffixes, and what stays as it is."""
    names = ['_Z1fi.cold', '_Z1fi.constprop.0', '_Z1fi.isra.0.cold',
             '_Z1fi.part.0.constprop.1', '_Z1fi.llvm.1234', '_Z1fi.123',
             '_ZN2ns1fEi.lto_priv.0']
    compare(results, 'suffixes', names, readable(scratch, names),
            lines_of([GNU_CXXFILT], names))

    #
    # The last two would be too deep and too long.
    #

    same = ['main', '_Zebra', '_', '_Z', 'Zf', '_Z999foo', '_Z1f', 'f(int)',
            '_Z1fSE_', '_Z1fT_', '_Z1fi$', '?', '??', '?f',
            '_Z1f' + 'P' * 4000 + 'i',
            '_Z1fSt4pairIiiE' + ''.join(
                'S_IS%s_S%s_E' % (c, c) for c in '0123456789ABCDEFGHIJ')]
    same[6:7] = []
    compare(results, 'not understood', same, readable(scratch, same), same)
    ours = readable(scratch, ['__Z1fi', '_ZN2ns1fEi'])
    results.check(ours == ['f(int)', 'ns::f(int)'], 'two underscores', [ours])


def plain(text):
    """Microsoft's text without what only one of the two shows."""
    text = re.sub(r'\b(public|private|protected): ', '', text)
    text = re.sub(r'\b(static|virtual|__ptr64|__cdecl)\b', ' ', text)
    text = re.sub(r'\s+', '', text)
    return text.replace("`scalardeletingdtor'", "`scalardeletingdestructor'")


def check_microsoft(results, scratch):
    """DbgHelp's text, without the result's type that llvm-undname shows."""
    names = {}
    for name, source in (('common', MICROSOFT), ('rest', NOT_WINES)):
        path = os.path.join(scratch, name + '.cpp')
        with open(path, 'w', encoding='ascii') as file:
            file.write(source)
        subprocess.run([*CLANG_CL, '/Fo' + path + '.obj', '--', path],
                       check=True)
        names[name] = [n for n in symbols_of(path + '.obj', 'llvm-nm-19')
                       if n.startswith('?')]
    results.check(len(names['common']) >= 20 and len(names['rest']) >= 2,
                  'clang-cl: there are names', names)

    def right(name, text):
        whole = subprocess.run([UNDNAME, name], capture_output=True,
                               text=True).stdout.split('\n')[1]
        return plain(whole).endswith(plain(text))

    ours = readable(scratch, names['common']) or []
    wrong = [(n, o) for n, o in zip(names['common'], ours)
             if o == n or not right(n, o)]
    print(f'clang-cl: {len(ours)} names, {len(wrong)} not as expected')
    results.check(ours and not wrong, 'clang-cl: names', wrong[:5])

    #
    # What Wine cannot do is left alone; Windows may know better.
    #

    ours = readable(scratch, names['rest']) or []
    wrong = [(n, o) for n, o in zip(names['rest'], ours)
             if o != n and not right(n, o)]
    results.check(ours and not wrong, 'clang-cl: nothing is wrong', wrong)
    ours = readable(scratch, names['common'], '--no-dbghelp')
    results.check(ours == names['common'], 'clang-cl: without DbgHelp')


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        names = check_library(results, scratch)
        check_compilers(results, scratch)
        check_damaged(results, scratch, names)
        check_others(results, scratch)
        check_microsoft(results, scratch)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
