"""What a traced program says of its own calls, against what was recorded.

A program linked with Witness.dll (Witness.h) writes the call tree of each of
its threads and fibers.  This module builds that library, reads such a file,
reads the same trees from `TraceReader tree --per-thread`, and compares them.
"""

import csv
import io
import os
import subprocess

import programs

WITNESS = os.path.join(programs.PROGRAMS, 'Witness.c')


class Node:
    """A chain of calls; numbers are those of its last function."""
    __slots__ = ('name', 'calls', 'abandoned', 'open', 'children')

    def __init__(self, name=''):
        self.name = name
        self.calls = self.abandoned = self.open = 0
        self.children = {}

    def add(self, calls, abandoned, still_open):
        self.calls += calls
        self.abandoned += abandoned
        self.open += still_open

    def child(self, name):
        node = self.children.get(name)
        if node is None:
            node = self.children[name] = Node(name)
        return node


def build(folder):
    """Builds Witness.dll; returns (library to link with, its folder)."""
    os.makedirs(folder, exist_ok=True)
    library = os.path.join(folder, 'libWitness.a')
    subprocess.run([programs.GCC, '-O2', '-fno-optimize-sibling-calls',
                    '-shared', '-static', WITNESS,
                    '-o', os.path.join(folder, 'Witness.dll'),
                    '-Wl,--out-implib,' + library], check=True)
    return library, folder


def read_witness(path):
    """(thread, fiber) -> list of trees; a thread's number is used again."""
    tracks, nodes = {}, {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            track, thread, fiber, number, parent, calls, gone, still, name = \
                line.rstrip('\n').split('\t')
            if number == '0':
                node = Node()
                tracks.setdefault((int(thread), int(fiber)), []).append(node)
                nodes = {}
            else:
                node = nodes[parent].child(name)
                node.add(int(calls), int(gone), int(still))
            nodes[number] = node
    return tracks


def read_tree(session, *options):
    """The same of a session, as TraceReader shows it."""
    code, text = programs.trace_reader('tree', '--csv', '--per-thread',
                                       *options,
                                       programs.windows_path(session))
    if code != 0:
        raise RuntimeError('TraceReader tree: exit code %d: %s' % (code, text))
    tracks, nodes, track = {}, {}, None
    for row in csv.DictReader(io.StringIO(text)):
        if row['track'] != track:
            track = row['track']
            root = Node()
            tracks.setdefault((int(row['thread']), int(row['fiber'])),
                              []).append(root)
            nodes = {}
        above = nodes.get(row['parent'], root)
        node = above.child(row['function'])
        node.add(int(row['calls']), int(row['abandoned']),
                 int(row['unfinished']))
        nodes[row['node']] = node
    return tracks


def merge(trees):
    """One tree of many: equal chains are added up."""
    whole = Node()
    waiting = [(whole, tree) for tree in trees]
    while waiting:
        into, tree = waiting.pop()
        into.add(tree.calls, tree.abandoned, tree.open)
        for name, child in tree.children.items():
            waiting.append((into.child(name), child))
    return whole


def describe(tree):
    """Chain of calls -> numbers; for shallow trees and for messages."""
    rows, waiting = {}, [((), tree)]
    while waiting:
        chain, node = waiting.pop()
        if chain:
            rows['/'.join(chain)] = (node.calls, node.abandoned, node.open)
        waiting.extend((chain + (name,), child)
                       for name, child in node.children.items())
    return rows


def differences(expected, seen, ignore_open=False):
    """What differs between two trees: (chain, expected, seen) each.

    The chain is cut to its last eight functions.
    """
    found, waiting = [], [((), expected, seen)]
    nothing = Node()
    while waiting:
        chain, left, right = waiting.pop()
        one = (left.calls, left.abandoned, 0 if ignore_open else left.open)
        two = (right.calls, right.abandoned, 0 if ignore_open else right.open)
        if one != two and chain:
            found.append(('/'.join(chain), one, two))
        for name in left.children.keys() | right.children.keys():
            waiting.append(((chain + (name,))[-8:],
                            left.children.get(name, nothing),
                            right.children.get(name, nothing)))
    return found


def track_differences(expected, seen):
    """The same, track by track (see read_witness)."""
    found = []
    for key in sorted(expected.keys() | seen.keys()):
        left, right = expected.get(key, []), seen.get(key, [])
        left = [tree for tree in left if tree.children]
        if len(left) != len(right):
            found.append((key, '%d tracks' % len(left), len(right)))
            continue

        # Threads of one number ran one after the other, in an order that
        # the two files do not tell: each is matched with one that is equal.
        right = list(right)
        for tree in left:
            for index, other in enumerate(right):
                if not differences(tree, other):
                    del right[index]
                    break
            else:
                found.append((key, *max((differences(tree, other) for other
                                         in right), default=[], key=len)[:5]))
    return found
