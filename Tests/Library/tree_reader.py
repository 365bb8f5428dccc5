"""A reader of tree stores (TRACER_MODE=tree), written from Docs/Format.md.

Tree(path) has the header's fields that matter, .nodes (a list of Node, the root
first) and .frames (the open calls of every stack, as node indexes with their
start and flags).  A store that is not one raises Broken.
"""

import struct

HEADER_SIZE = 4096
NODE_SIZE = 128
FRAME_SIZE = 32
STACK_SIZE = 64
MODULE_SIZE = 2048
MODE_TREE = 1
NODE_OTHER = 1
FRAME_STALE = 1
NONE = 0xFFFFFFFFFFFFFFFF

STATE_OPEN, STATE_CLOSED, STATE_STOPPED = 1, 2, 3


class Broken(Exception):
    """What the file says is not what the format allows."""


class Node:
    """A calling context."""

    __slots__ = ('index', 'calls', 'total', 'minimum', 'maximum', 'site',
                 'frame_size', 'kind', 'flags', 'first', 'abandoned', 'away',
                 'parent', 'module', 'abandoned_total')

    def __init__(self, index, raw):
        self.index = index
        (self.calls, self.total, self.minimum, self.maximum, _, self.site,
         self.frame_size, _, self.kind, self.flags, self.first,
         self.abandoned, self.away, _, self.parent, _,
         self.module, _, self.abandoned_total) = struct.unpack_from(
             '<QQQQQIIQIIQQQQQQIIQ', raw)

    @property
    def is_other(self):
        return bool(self.flags & NODE_OTHER)


class Module:
    """A module that nodes name."""

    def __init__(self, base, size, path):
        self.base, self.size, self.path = base, size, path


class Frame:
    """An open call."""

    def __init__(self, stack, start, node, flags):
        self.stack = stack
        self.start = start
        self.node = node
        self.is_stale = bool(flags & FRAME_STALE)


class Tree:
    """A store.  Of a running thread, no more than size bytes may be read."""

    def __init__(self, path, size=-1):
        self.path = path
        with open(path, 'rb') as file:
            self.data = data = file.read(size)
        if len(data) < HEADER_SIZE or data[:8] != b'TRCSTORE':
            raise Broken('no store')
        self.major, self.minor = struct.unpack_from('<HH', data, 8)
        (self.header_size, self.record_size, self.file_flags, self.process,
         self.thread) = struct.unpack_from('<IIIII', data, 0x0c)
        self.mode, self.actions = struct.unpack_from('<II', data, 0x1b0)
        if self.mode != MODE_TREE:
            raise Broken('no tree')
        if self.record_size != NODE_SIZE or self.header_size != HEADER_SIZE:
            raise Broken('sizes')
        self.stack_base, self.stack_limit = struct.unpack_from('<QQ', data,
                                                               0x28)
        self.clock, = struct.unpack_from('<I', data, 0x3c)
        (self.cursor, self.limit, _, self.generation, self.hook_flags,
         self.lost, _, _, self.reentered) = struct.unpack_from(
             '<QQQIIQQQQ', data, 0x40)
        self.state, self.reason, self.status = struct.unpack_from(
            '<III', data, 0x80)
        self.module_base, self.module_size = struct.unpack_from(
            '<QI', data, 0x120)
        self.maximum_bytes, = struct.unpack_from('<Q', data, 0x180)
        self.too_deep, = struct.unpack_from('<Q', data, 0x190)
        self.probe_inner, self.probe_total = struct.unpack_from('<II', data,
                                                                0x1a8)
        (self.paused, self.cleared, self.nodes_offset, self.number_of_nodes,
         self.base, self.unmatched, self.stack_offset) = struct.unpack_from(
             '<QQQQQQQ', data, 0x1b8)
        self.number_of_modules, = struct.unpack_from('<I', data, 0x1f4)
        self.modules = self._modules()
        self.nodes = self._nodes()
        self.frames = self._frames()

    def _modules(self):
        """The header's, and those of the table before the nodes."""
        length, = struct.unpack_from('<I', self.data, 0x148)
        modules = [Module(self.module_base, self.module_size,
                          self.data[0x200:0x200 + length].decode())]
        for number in range(1, self.number_of_modules + 1):
            place = self.nodes_offset - number * MODULE_SIZE
            if place < HEADER_SIZE + STACK_SIZE:
                raise Broken('modules outside of their room')
            base, size = struct.unpack_from('<QI', self.data, place)
            length, = struct.unpack_from('<I', self.data, place + 0x28)
            path = self.data[place + 0x80:place + 0x80 + length]
            if not base or not size or length > 1056:
                raise Broken('a module')
            modules.append(Module(base, size, path.decode()))
        return modules

    def _nodes(self):
        end = self.nodes_offset + self.number_of_nodes * NODE_SIZE
        if (self.number_of_nodes < 1 or self.nodes_offset < HEADER_SIZE or
                end > len(self.data)):
            raise Broken('nodes outside of the file')
        nodes = [Node(index, self.data[offset:offset + NODE_SIZE])
                 for index, offset in
                 enumerate(range(self.nodes_offset, end, NODE_SIZE))]
        for node in nodes:
            if node.index and node.parent >= node.index:
                raise Broken('a node before its parent')
            if node.module >= len(self.modules):
                raise Broken('the module of a node')
            if node.kind and self.rva(node) >= self.modules[node.module].size:
                raise Broken('a site outside of its module')
        if nodes[0].site or nodes[0].kind or nodes[0].parent:
            raise Broken('the root')
        return nodes

    def _frames(self):
        frames = []
        offset = HEADER_SIZE
        seen = set()
        while offset:
            if offset in seen or offset + STACK_SIZE > len(self.data):
                raise Broken('the list of stacks')
            seen.add(offset)
            _, top, end, _, following = struct.unpack_from('<QQQQQ', self.data,
                                                           offset)
            if offset == self.stack_offset:
                top = self.cursor
            top -= self.base
            first = offset + STACK_SIZE
            if (top < first or (top - first) % FRAME_SIZE or
                    top + FRAME_SIZE > end - self.base or
                    top + FRAME_SIZE > len(self.data)):
                raise Broken('the top of a stack')
            for place in range(first, top + 1, FRAME_SIZE):
                stack, start, node, flags = struct.unpack_from(
                    '<QQQQ', self.data, place)
                node -= self.base + self.nodes_offset
                if (node % NODE_SIZE or
                        not 0 <= node // NODE_SIZE < self.number_of_nodes):
                    raise Broken('the node of a frame')
                if place == first:
                    if stack != NONE or node:
                        raise Broken('the first frame')
                    continue
                frames.append(Frame(stack, start, node // NODE_SIZE, flags))
            offset = following
        if self.stack_offset not in seen:
            raise Broken('the stack in use')
        return frames

    def rva(self, node):
        """The RVA of a node's site."""
        return (node.site - self.modules[node.module].base) & 0xFFFFFFFF

    def calls(self):
        """Calls by (RVA, kind); those of "other" nodes under None."""
        counts = {}
        for node in self.nodes[1:]:
            key = None if node.is_other else (self.rva(node), node.kind)
            counts[key] = counts.get(key, 0) + node.calls
        return counts

    def number_of_calls(self):
        return sum(node.calls for node in self.nodes)

    def children(self, index):
        return [node for node in self.nodes[1:] if node.parent == index]

    def own(self, node):
        """The self time of a node, in ticks."""
        return (node.total - node.away -
                sum(child.total for child in self.children(node.index)))
