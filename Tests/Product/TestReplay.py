#!/usr/bin/env python3
"""replay's lines: a name that has its parameters gets no other parentheses,
any other name gets a pair.

The sessions are made up, and so are the images that name their functions.  The
table below says of each name what is read from its image and how its line is
to begin.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

LINES = {
    'main': 'main()',
    'ns::foo': 'ns::foo()',
    'ns::foo::bar()': 'ns::foo::bar()',
    'ns::f(int)': 'ns::f(int)',
    '_ZN2ns3foo3barEv': 'ns::foo::bar()',
    '_ZNK2ns3foo3bazEiPKc': 'ns::foo::baz(int, char const*) const',
    '_ZNO2ns3foo3quxEv': 'ns::foo::qux() &&',
    '_ZN2ns3fooclEv': 'ns::foo::operator()()',
    '_ZNK2ns3fooclEi': 'ns::foo::operator()(int) const',
    'Functor::operator()': 'Functor::operator()()',
    'Functor::operator()<int>': 'Functor::operator()<int>()',
    'operator!=': 'operator!=()',
    'operator()': 'operator()()',
    '_ZN12_GLOBAL__N_14DrawEv': '(anonymous namespace)::Draw()',
    '(anonymous namespace)::Lone': '(anonymous namespace)::Lone()',
    '_ZZ4mainENKUliE_clEi': "main::'lambda'(int)::operator()(int) const",
    'main::{lambda(int)#1}': 'main::{lambda(int)#1}()',
    'Map<void (int)>::Find': 'Map<void (int)>::Find()',
    'Map<void (int)>': 'Map<void (int)>()',
    '_ZN3MapIFviEE4FindEv': 'Map<void (int)>::Find()',
    '_Z3runPFviE': 'run(void (*)(int))',
    '_Z4coldv.part.0': 'cold() [clone .part.0]',
    '_ZN1AB5cxx11Ev': 'A[abi:cxx11]()',
    'with blank': 'with blank()',
    '?': '?()',
    ')': ')()',
    '()': '()()',
    'const': 'const()',
    '[x]': '[x]()',
}


def main():
    results = programs.Results()
    with programs.Scratch() as scratch:
        names = list(LINES)
        place = made.TOP - 0x200
        inner = place - 0x40
        records = []
        for index in range(len(names)):
            site = filters.FIRST + index * filters.STEP
            time = 1000 + 1000 * index
            records += [(time, site, place, made.ENTER),
                        (time + 100, filters.FIRST, inner, made.ENTER),
                        (time + 200, filters.FIRST + 9, inner, made.EXIT),
                        (time + 300, site + 9, place, made.EXIT),
                        (time + 400, site, place, made.ENTER),
                        (time + 500, site + 9, place, made.EXIT)]
        session = filters.make_session(scratch, names, [records])
        code, text, _ = support.reader('replay', '--no-cache',
                                       programs.windows_path(session))
        lines = [re.sub(r'^[^|]*\| ', '', line)
                 for line in text.splitlines()[1:]]
        results.equal((code, len(lines)), (0, 4 * len(names)), 'lines')
        for index, name in enumerate(names):
            shown = LINES[name]
            bare = shown[:-2] if shown in (name + '()', ) else shown
            results.equal(lines[4 * index:4 * index + 4],
                          [shown + ' {', '  main();', '} /* %s */' % bare,
                           shown + ';'], name)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
