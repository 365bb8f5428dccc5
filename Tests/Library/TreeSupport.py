"""Stores that hold a tree, made from a nested description.

    root = [call('main', 1, 0, call('Leaf', 3, 60, minimum=10, maximum=30),
                 open=1000)]

is a thread in main, entered at the time stamp 1000, which has called Leaf
three times.  The fields of a store's nodes, open calls and stacks are named
here as in Docs/Format.md; what a reader should make of them is computed here
as well, from the description alone.
"""

import collections
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import TestFilters as filters                                # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

NONE_ENDED = 0xFFFFFFFFFFFFFFFF
LOW64 = 0xFFFFFFFFFFFFFFFF
ADDRESS = 0x7A0000000           # of the file, in the writer
OTHER = '(other)'

FIRST_STACK = 4096
STACK_SIZE, FRAME_SIZE, NODE_SIZE = 64, 32, 128
STALE = 1

# Fields: (name, offset, struct code).
NODE_FIELDS = [
    ('Calls', 0x00, 'Q'), ('Total', 0x08, 'Q'), ('Minimum', 0x10, 'Q'),
    ('Maximum', 0x18, 'Q'), ('LastChild', 0x20, 'Q'), ('Site', 0x28, 'I'),
    ('FrameSize', 0x2C, 'I'), ('Place', 0x30, 'I'), ('Kind', 0x38, 'I'),
    ('Flags', 0x3C, 'I'), ('First', 0x40, 'Q'), ('Abandoned', 0x48, 'Q'),
    ('Away', 0x50, 'Q'), ('HashNext', 0x58, 'Q'), ('Parent', 0x60, 'Q'),
    ('OtherChild', 0x68, 'Q'), ('AbandonedTotal', 0x78, 'Q'),
]
FRAME_FIELDS = [
    ('Stack', 0x00, 'Q'), ('Start', 0x08, 'Q'), ('Node', 0x10, 'Q'),
    ('Flags', 0x18, 'Q'),
]
STACK_FIELDS = [
    ('StackBase', 0x00, 'Q'), ('Top', 0x08, 'Q'), ('End', 0x10, 'Q'),
    ('LeftTimestamp', 0x18, 'Q'), ('NextFileOffset', 0x20, 'Q'),
]
HEADER_FIELDS = [
    ('Magic', 0x000, 'Q'), ('MajorVersion', 0x008, 'H'),
    ('MinorVersion', 0x00A, 'H'), ('HeaderSize', 0x00C, 'I'),
    ('RecordSize', 0x010, 'I'), ('Flags', 0x014, 'I'),
    ('ThreadId', 0x01C, 'I'), ('StackBase', 0x028, 'Q'),
    ('StackLimit', 0x030, 'Q'), ('Clock', 0x03C, 'I'),
    ('Cursor', 0x040, 'Q'), ('Limit', 0x048, 'Q'),
    ('CursorToFileOffset', 0x050, 'Q'), ('Generation', 0x058, 'I'),
    ('HookFlags', 0x05C, 'I'), ('NumberOfEventsLost', 0x060, 'Q'),
    ('ViewFileOffset', 0x068, 'Q'), ('State', 0x080, 'I'),
    ('Reason', 0x084, 'I'), ('FirstPosition', 0x0A8, 'Q'),
    ('RingFileOffset', 0x0B0, 'Q'), ('RingSizeInBytes', 0x0B8, 'Q'),
    ('QpcFrequency', 0x0C0, 'Q'), ('OpenAnchor', 0x0E0, 'Q'),
    ('LastAnchor', 0x100, 'Q'), ('ModuleBase', 0x120, 'Q'),
    ('ModuleSize', 0x128, 'I'), ('MaximumBytes', 0x180, 'Q'),
    ('Mode', 0x1B0, 'I'), ('NumberOfActions', 0x1B4, 'I'),
    ('NumberOfEventsPaused', 0x1B8, 'Q'), ('ClearTimestamp', 0x1C0, 'Q'),
    ('NodesFileOffset', 0x1C8, 'Q'), ('NumberOfNodes', 0x1D0, 'Q'),
    ('BaseAddress', 0x1D8, 'Q'), ('NumberOfUnmatchedExits', 0x1E0, 'Q'),
    ('StackFileOffset', 0x1E8, 'Q'),
]
HEADER = {name: (offset, code) for name, offset, code in HEADER_FIELDS}


class Call:
    """A node.  open is when its open call began, or None."""

    def __init__(self, name, calls, total, children, **fields):
        self.name, self.calls, self.total = name, calls, total
        self.children = children
        self.open = fields.pop('open', None)
        self.stale = fields.pop('stale', False)
        self.abandoned = fields.pop('abandoned', 0)
        # Of total, in a store of version 6 or later.
        self.abandoned_total = fields.pop(
            'abandoned_total', total if self.abandoned == calls else 0)
        self.away = fields.pop('away', 0)
        ended = calls - self.abandoned - (self.open is not None)
        average = total // ended if ended else 0
        self.minimum = fields.pop('minimum', average if ended else NONE_ENDED)
        self.maximum = fields.pop('maximum', average)
        self.first = fields.pop('first', average)
        assert not fields, fields
        self.index = None

    def walk(self, depth=0, above=()):
        """(depth, names from the outermost on, node), callers first."""
        names = above + (self.name,)
        yield depth, names, self
        for child in self.children:
            yield from child.walk(depth + 1, names)


def call(name, calls, total, *children, **fields):
    return Call(name, calls, total, children, **fields)


class Store:
    """A store's bytes: header, stacks with open calls, nodes."""

    def __init__(self, roots, names, *, thread=1, other_stacks=(),
                 frames_room=4096, now=None, kind=1, path=None,
                 module_size=made.SIZE, **header):
        self.roots, self.names, self.now = roots, names, now
        self.nodes = []
        self.kind = kind
        self.nodes_offset = FIRST_STACK + STACK_SIZE + frames_room
        self._number(roots, 0)
        self.data = bytearray(self.nodes_offset +
                              NODE_SIZE * (len(self.nodes) + 1))
        self._put_node(0, None, 0)
        for node, parent in self.nodes:
            self._put_node(node.index, node, parent)
        open_calls = self._open_calls(roots)
        cursor = self._put_stack(FIRST_STACK, open_calls, frames_room)
        if header.get('HookFlags', 0) & 1:
            struct.pack_into('<Q', self.data, FIRST_STACK + 0x08, cursor)
            cursor = ADDRESS + FIRST_STACK + STACK_SIZE
        where = len(self.data)
        link = FIRST_STACK + 0x20
        for calls, left in other_stacks:
            struct.pack_into('<Q', self.data, link, where)
            self.data += bytes(STACK_SIZE + FRAME_SIZE * (len(calls) + 1))
            top = self._put_stack(where, calls, FRAME_SIZE * (len(calls) + 1))
            struct.pack_into('<Q', self.data, where + 0x08, top)
            struct.pack_into('<Q', self.data, where + 0x18, left)
            link = where + 0x20
            where = len(self.data)
        self._put_header(thread, cursor, path, module_size, header)

    def _number(self, calls, parent):
        for each in calls:
            each.index = len(self.nodes) + 1
            self.nodes.append((each, parent))
            self._number(each.children, each.index)

    @staticmethod
    def _open_calls(roots):
        """The open calls of the stack in use, the outermost first."""
        calls = []
        while True:
            found = [each for each in roots if each.open is not None]
            if not found:
                return calls
            calls.append((found[0], found[0].open, found[0].stale))
            roots = found[0].children

    def offset(self, index):
        return self.nodes_offset + NODE_SIZE * index

    def address(self, index):
        return ADDRESS + self.offset(index)

    def _put_node(self, index, node, parent):
        is_other = node is not None and node.name == OTHER
        site = 0
        if node is not None and not is_other:
            site = (made.BASE + self.rva(node.name) + 5) & 0xFFFFFFFF
        values = {
            'LastChild': self.address(0), 'Parent': parent,
            'Minimum': NONE_ENDED, 'Site': site,
            'Kind': self.kind if site else 0, 'Flags': int(is_other),
        }
        if node is not None:
            values.update(Calls=node.calls, Total=node.total,
                          Minimum=node.minimum, Maximum=node.maximum,
                          First=node.first, Abandoned=node.abandoned,
                          AbandonedTotal=node.abandoned_total,
                          Away=node.away)
            for child in node.children:
                values['LastChild'] = self.address(child.index)
                if child.name == OTHER:
                    values['OtherChild'] = self.address(child.index)
        for name, offset, code in NODE_FIELDS:
            struct.pack_into('<' + code, self.data,
                             self.offset(index) + offset,
                             values.get(name, 0))

    def rva(self, name):
        return filters.FIRST + self.names.index(name) * filters.STEP

    def _put_stack(self, where, calls, room):
        """Returns the address of the innermost frame."""
        first = where + STACK_SIZE
        struct.pack_into('<5Q', self.data, where, made.TOP, ADDRESS + first,
                         ADDRESS + first + room, 0, 0)
        frames = [(NONE_ENDED, 0, self.address(0), 0)]
        for depth, (node, start, stale) in enumerate(calls):
            frames.append((made.TOP - 0x40 * (depth + 1), start,
                           self.address(node.index), STALE if stale else 0))
        for number, frame in enumerate(frames):
            struct.pack_into('<4Q', self.data, first + FRAME_SIZE * number,
                             *frame)
        return ADDRESS + first + FRAME_SIZE * (len(frames) - 1)

    def _put_header(self, thread, cursor, path, module_size, changes):
        data = self.data
        data[0:4096] = made.header(0)
        values = {
            'MinorVersion': 3, 'RecordSize': NODE_SIZE, 'ThreadId': thread,
            'Cursor': cursor, 'Limit': cursor + 1024,
            'CursorToFileOffset': 0, 'ViewFileOffset': 0, 'Mode': 1,
            'MaximumBytes': 1 << 20, 'ModuleSize': module_size,
            'NodesFileOffset': self.nodes_offset,
            'NumberOfNodes': len(self.nodes) + 1, 'BaseAddress': ADDRESS,
            'StackFileOffset': FIRST_STACK, **changes,
        }
        struct.pack_into('<I', data, 0x12C, 0x12345678)
        for name, value in values.items():
            offset, code = HEADER[name]
            struct.pack_into('<' + code, data, offset, value)
        if self.now is not None:
            data[0x0E0:0x120] = bytes(64)       # times are ticks
            data[0x0E0:0x100] = made.anchor(1, 0)
            data[0x100:0x120] = made.anchor(self.now, 0)
        if path is not None:
            struct.pack_into('<4I', data, 0x148, *(4 * [len(path)]))
            data[0x200:0x200 + len(path)] = path
            data[0x620:0x620 + len(path)] = path

    def change(self, offset, code, value):
        struct.pack_into('<' + code, self.data, offset, value)

    def get(self, offset, code):
        return struct.unpack_from('<' + code, self.data, offset)[0]


def write_session(folder, names, stores, session='session'):
    """Writes stores (of Store) and the image that names their functions.

    stores: a list of (roots, keyword arguments of Store).
    """
    directory = os.path.join(folder, session)
    os.makedirs(directory)
    path = os.path.join(folder, 'made-up.exe')
    image, size = filters.image(names)
    with open(path, 'wb') as file:
        file.write(image)
    path = programs.windows_path(path).encode()
    written = []
    for number, (roots, options) in enumerate(stores, 1):
        store = Store(roots, names,
                      **{'thread': number, 'path': path, 'module_size': size,
                         **options})
        name = os.path.join(directory, 'made-up.exe-%d-0.trace' % number)
        with open(name, 'wb') as file:
            file.write(store.data)
        written.append((name, store))
    return directory, written


#
# What a reader should make of it.
#

Sums = collections.namedtuple('Sums', 'calls total self abandoned unfinished')


def inclusive(node, now):
    """A node's time: that of its ended calls, and of its open one."""
    return node.total + (max(now - node.open, 0) if node.open is not None
                         else 0)


def own(node, now):
    return max(inclusive(node, now) - node.away -
               sum(inclusive(child, now) for child in node.children), 0)


def functions(stores):
    """name -> Sums, of (roots, now) pairs; recursion counted once."""
    found = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for roots, now in stores:
        for root in roots:
            for _, names, node in root.walk():
                sums = found[node.name]
                sums[0] += node.calls
                if node.calls != node.abandoned:
                    if node.name not in names[:-1]:
                        sums[1] += inclusive(node, now)
                    sums[2] += own(node, now)
                sums[3] += node.abandoned
                sums[4] += node.open is not None
    return {name: Sums(*sums) for name, sums in found.items()}


def chains(stores):
    """(names from the outermost on) -> (calls, total, self), merged."""
    found = collections.defaultdict(lambda: [0, 0, 0])
    for roots, now in stores:
        for root in roots:
            for _, names, node in root.walk():
                found[names][0] += node.calls
                found[names][1] += inclusive(node, now)
                found[names][2] += own(node, now)
    return {names: tuple(sums) for names, sums in found.items()}
