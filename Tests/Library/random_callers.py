#!/usr/bin/env python3
"""Writes random programs whose functions keep values everywhere across the
calls of the hooks, and works out what they print.

    random_callers.py FOLDER [SEED [FUNCTIONS [LEVEL]]]

The functions are NASM source for win64, in the shapes that compilers give to
instrumented functions:

    framed      sub rsp, N; call _penter; ...; call _pexit; add rsp, N; ret
    pushes      the same behind pushes of non-volatile registers, some also
                with saves of xmm6 to xmm15
    leaf        call _penter; ...; call _pexit; ret, without a frame
    alloca      rbp is the frame pointer, and RSP moves between the hooks
    gcc         call _penter first of all, call __return__ last, before ret or
                before the jmp of a tail call

Whatever can hold a value holds one that comes from the running checksum when
a hook is called, and goes into the checksum afterwards: general registers,
flags, vector and mask registers, the x87 stack, MXCSR, the home space above
the return address, the frame, the last error.  In the gcc shape the caller
sets the values and the callee uses them, and the other way round at the end.

Every instruction is written down twice, as NASM source and as the Python
statement that does the same to a model of the machine.  The Python program
knows nothing of hooks: what it prints, and which functions it enters in which
order, is what the assembled program must show.  Vectors are modelled at the
width that they are used with.  LEVEL says which there are: 0 xmm, 1 ymm, 2 zmm
and the mask registers.
"""

import os
import random
import sys

MASK = (1 << 64) - 1
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)
NAMES64 = ['rax', 'rcx', 'rdx', 'rbx', 'rsp', 'rbp', 'rsi', 'rdi',
           *('r%d' % n for n in range(8, 16))]
NAMES32 = ['eax', 'ecx', 'edx', 'ebx', 'esp', 'ebp', 'esi', 'edi',
           *('r%dd' % n for n in range(8, 16))]
NAMES8 = ['al', 'cl', 'dl', 'bl', 'spl', 'bpl', 'sil', 'dil',
          *('r%db' % n for n in range(8, 16))]
VOLATILE = [RAX, RCX, RDX, 8, 9, 10, 11]
NONVOLATILE = [RBX, RSI, RDI, 12, 13, 14, 15]

# What the model keeps behind the 16 general registers.
CF, PF, AF, ZF, SF, OF, DF, MXCSR, LAST_ERROR, LAST_STATUS, X87_CONTROL, \
    DEPTH, IS_TAIL_CALL = range(16, 29)

MXCSR_DEFAULT, X87_DEFAULT = 0x1F80, 0x037F
MXCSR_VALUES = [0x3F80, 0x5F80, 0x7F80, 0x9FC0]
X87_VALUES = [0x0F7F, 0x0C7F, 0x067F]
NUMBER_OF_CONSTANTS = 24        # of 64 bytes each
NUMBER_OF_WORDS = 64            # for the string instructions
TABLE = 0x10000000              # where the model has them
MAXIMUM_COST = 40               # calls that one call may lead to
ROOTS_APART = 7                 # as in RandomCallers.c

CONDITIONS = {
    'o': 'r[21]', 'no': 'not r[21]', 'b': 'r[16]', 'ae': 'not r[16]',
    'z': 'r[19]', 'nz': 'not r[19]', 'be': 'r[16] or r[19]',
    'a': 'not (r[16] or r[19])', 's': 'r[20]', 'ns': 'not r[20]',
    'p': 'r[17]', 'np': 'not r[17]', 'l': 'r[20] != r[21]',
    'ge': 'r[20] == r[21]', 'le': 'r[19] or r[20] != r[21]',
    'g': 'not r[19] and r[20] == r[21]',
}

# The model's routines: the six flags of the processor's manual.
MODEL = '''
M = (1 << 64) - 1

def set_result(r, value):
    r[17] = 1 - bin(value & 255).count('1') % 2
    r[19] = int(value == 0)
    r[20] = value >> 63

def flags_add(r, a, b, carry=0):
    value = (a + b + carry) & M
    r[16] = int(a + b + carry > M)
    r[18] = int((a & 15) + (b & 15) + carry > 15)
    r[21] = (~(a ^ b) & (a ^ value)) >> 63 & 1
    set_result(r, value)
    return value

def flags_sub(r, a, b):
    value = (a - b) & M
    r[16] = int(a < b)
    r[18] = int((a & 15) < (b & 15))
    r[21] = ((a ^ b) & (a ^ value)) >> 63 & 1
    set_result(r, value)
    return value

def ah(r):
    return r[20] << 7 | r[19] << 6 | r[18] << 4 | r[17] << 2 | 2 | r[16]

def to_integer(value, mxcsr):
    mode = mxcsr >> 13 & 3
    if mode == 0:
        return round(value) & M
    if mode == 1:
        return math.floor(value) & M
    if mode == 2:
        return math.ceil(value) & M
    return int(value) & M
'''


class Code:
    """One function, in both languages."""

    def __init__(self, name):
        self.name = name
        self.assembly = []
        self.python = []
        self.indent = 1
        self.number_of_labels = 0

    def line(self, assembly, python=''):
        if assembly:
            self.assembly.append(assembly)
        if python:
            self.python.append(' ' * self.indent + python)

    def label(self):
        self.number_of_labels += 1
        return '.l%d' % self.number_of_labels

    def skip_begin(self, jump, python):
        """What follows is done if the Python condition holds."""
        label = self.label()
        self.line('%s near %s' % (jump, label), 'if %s:' % python)
        self.indent += 1
        return label

    def skip_end(self, label):
        self.assembly.append(label + ':')
        self.indent -= 1

    # Instructions of more than one place.

    def move(self, to, source):
        if to != source:
            self.line('mov %s, %s' % (NAMES64[to], NAMES64[source]),
                      'r[%d] = r[%d]' % (to, source))

    def move_constant(self, to, value):
        self.line('mov %s, %d' % (NAMES64[to], value),
                  'r[%d] = %d' % (to, value & MASK))

    def load(self, to, base, offset):
        self.line('mov %s, [%s + %d]' % (NAMES64[to], NAMES64[base], offset),
                  'r[%d] = mem[r[%d] + %d]' % (to, base, offset))

    def store(self, base, offset, source):
        self.line('mov [%s + %d], %s' % (NAMES64[base], offset,
                                         NAMES64[source]),
                  'mem[r[%d] + %d] = r[%d]' % (base, offset, source))

    def push(self, register):
        self.line('push ' + NAMES64[register],
                  'r[4] -= 8; mem[r[4]] = r[%d]' % register)

    def pop(self, register):
        self.line('pop ' + NAMES64[register],
                  'r[%d] = mem[r[4]]; r[4] += 8' % register)

    def combine(self, rng, total, assembly, python):
        """Works an operand into the checksum in register total."""
        name = NAMES64[total]
        kind = rng.randrange(3)
        if kind == 2:
            factor = rng.getrandbits(30) | 1
            self.line('imul %s, %s, %d' % (name, name, factor),
                      'r[%d] = r[%d] * %d & M' % (total, total, factor))
            self.line('sub %s, %s' % (name, assembly),
                      'r[%d] = (r[%d] - %s) & M' % (total, total, python))
            return
        count = rng.randrange(1, 64)
        self.line('rol %s, %d' % (name, count),
                  'r[%d] = (r[%d] << %d | r[%d] >> %d) & M' %
                  (total, total, count, total, 64 - count))
        if kind == 0:
            self.line('xor %s, %s' % (name, assembly),
                      'r[%d] ^= %s' % (total, python))
        else:
            self.line('add %s, %s' % (name, assembly),
                      'r[%d] = (r[%d] + %s) & M' % (total, total, python))

    def combine_register(self, rng, total, register):
        self.combine(rng, total, NAMES64[register], 'r[%d]' % register)

    def combine_slot(self, rng, total, base, offset):
        self.combine(rng, total, 'qword [%s + %d]' % (NAMES64[base], offset),
                     'mem[r[%d] + %d]' % (base, offset))


class Site:
    """What is live at one call of a hook, and how it got there."""

    def __init__(self, rng, level, extended=(), slots=(), direction=None,
                 registers=()):
        self.rng = rng
        general = list(VOLATILE)
        rng.shuffle(general)
        self.free = general.pop()
        self.general = general
        self.others = list(registers)
        self.direction = direction          # 'lods', 'pushf' or None
        few = rng.choice([1, 2, 6])
        vectors = list(range(6))
        if level == 2:
            vectors += range(16, 32)
        chosen = rng.sample(vectors, rng.randrange(few + 1))
        chosen += [number for number in extended if rng.random() < 0.6]
        self.vectors = []
        for number in chosen:
            width = rng.randrange(level + 1)
            if number >= 16:
                width = 2
            self.vectors.append((number, width,
                                 rng.randrange(NUMBER_OF_CONSTANTS)))
        self.masks = []
        if level == 2 and rng.random() < 0.4:
            self.masks = rng.sample(range(8), rng.randrange(1, 4))
        self.x87 = rng.randrange(1, 8) if rng.random() < 0.15 else 0
        self.x87_control = None
        if rng.random() < 0.08:
            self.x87_control = rng.randrange(len(X87_VALUES))
        self.mxcsr = None
        if rng.random() < 0.12:
            self.mxcsr = rng.randrange(len(MXCSR_VALUES))
        self.last_error = rng.random() < 0.25
        self.last_status = rng.random() < 0.10
        self.home = sorted(rng.sample(range(4), rng.randrange(5)))
        self.slots = sorted(rng.sample(list(slots),
                                       rng.randrange(len(slots) + 1)))

        # test leaves AF undefined: said here, since the routine that uses the
        # flags may be written before the one that sets them.
        self.auxiliary_is_known = rng.random() < 0.8

    def live(self):
        return self.general + self.others

    def fill_general(self, code, source, but=()):
        """Gives every live volatile register a value that comes of source."""
        rng = self.rng
        filled = [source]
        order = [register for register in self.general
                 if register not in but and register != source]
        rng.shuffle(order)
        for register in order:
            fill_register(code, rng, register, rng.choice(filled))
            filled.append(register)
        if source == self.free:
            register = rng.choice(order)
            code.combine_register(rng, register, source)
            fill_register(code, rng, source, register)
        return filled

    def fill_home(self, code, base, offset, live):
        for index in self.home:
            code.store(base, offset + 8 * index, self.rng.choice(live))

    def fill_others(self, code, base, offset, live):
        """The rest but for home space and flags; uses the home space."""
        rng = self.rng
        if self.x87_control is not None:
            index = self.x87_control
            code.line('fldcw [X87Values + %d]' % (2 * index),
                      'r[26] = %d' % X87_VALUES[index])
        for _ in range(self.x87):
            register = rng.choice(live)
            code.store(base, offset, register)
            code.line('fild qword [%s + %d]' % (NAMES64[base], offset),
                      'X.append(r[%d])' % register)
        for number, width, constant in self.vectors:
            fill_vector(code, rng.choice(live), number, width, constant)
        for number in self.masks:
            register = rng.choice(live)
            code.line('kmovq k%d, %s' % (number, NAMES64[register]),
                      'K[%d] = r[%d]' % (number, register))
        if self.last_error:
            register = rng.choice(live)
            code.line('mov [gs:68h], %s' % NAMES32[register],
                      'r[24] = r[%d] & 0xFFFFFFFF' % register)
        if self.last_status:
            register = rng.choice(live)
            code.line('mov [gs:1250h], %s' % NAMES32[register],
                      'r[25] = r[%d] & 0xFFFFFFFF' % register)
        for slot in self.slots:
            code.store(RSP, slot, rng.choice(live))
        if self.mxcsr is not None:
            index = self.mxcsr
            code.line('ldmxcsr [MxcsrValues + %d]' % (4 * index),
                      'r[23] = %d' % MXCSR_VALUES[index])
        if self.direction == 'lods':
            where = 8 * rng.randrange(8, NUMBER_OF_WORDS - 8)
            code.line('lea rsi, [Words + %d]' % where,
                      'r[6] = %d' % (TABLE + where))

    def fill_flags(self, code, kept=()):
        """The flags, last: from two live registers."""
        rng = self.rng
        live = self.live()
        changed = rng.choice([register for register in live
                              if register not in kept and register != RSI])
        other = rng.choice([register for register in live if register != RSI])
        a, b = NAMES64[changed], NAMES64[other]
        x, y = 'r[%d]' % changed, 'r[%d]' % other
        kinds = ['cmp', 'add', 'sub', 'neg', 'inc', 'dec', 'stc', 'clc']
        if RAX in live:
            kinds += ['sahf'] * 3
        if not self.auxiliary_is_known:
            kinds += ['test'] * 10
        kind = rng.choice(kinds)
        if kind in ('inc', 'dec', 'stc', 'clc', 'sahf', 'cmp'):
            code.line('cmp %s, %s' % (a, b), 'flags_sub(r, %s, %s)' % (x, y))
        if kind == 'add':
            code.line('add %s, %s' % (a, b),
                      '%s = flags_add(r, %s, %s)' % (x, x, y))
        elif kind == 'sub':
            code.line('sub %s, %s' % (a, b),
                      '%s = flags_sub(r, %s, %s)' % (x, x, y))
        elif kind == 'neg':
            code.line('neg ' + a, '%s = flags_sub(r, 0, %s)' % (x, x))
        elif kind == 'inc':
            code.line('inc ' + a, 'old = r[16]; %s = flags_add(r, %s, 1); '
                      'r[16] = old' % (x, x))
        elif kind == 'dec':
            code.line('dec ' + a, 'old = r[16]; %s = flags_sub(r, %s, 1); '
                      'r[16] = old' % (x, x))
        elif kind == 'test':
            code.line('test %s, %s' % (a, b),
                      'r[16] = r[21] = 0; set_result(r, %s & %s)' % (x, y))
        elif kind == 'stc':
            code.line('stc', 'r[16] = 1')
        elif kind == 'clc':
            code.line('clc', 'r[16] = 0')
        elif kind == 'sahf':
            code.line('sahf', 'old = r[0] >> 8; r[16] = old & 1; '
                      'r[17] = old >> 2 & 1; r[18] = old >> 4 & 1; '
                      'r[19] = old >> 6 & 1; r[20] = old >> 7 & 1')
        if self.direction:
            code.line('std', 'r[22] = 1')

    def use_flags(self, code):
        """Puts the flags into registers; returns those to combine."""
        rng = self.rng
        live = [register for register in self.live()
                if not (register == RSI and self.direction == 'lods')]
        free = self.free
        if self.direction == 'pushf':
            mask = 0xCD5 if self.auxiliary_is_known else 0xCC5
            code.line('pushfq')
            code.line('pop ' + NAMES64[free])
            code.line('cld')
            code.line('and %s, %d' % (NAMES32[free], mask),
                      'r[%d] = (r[16] | r[17] << 2 | r[18] << 4 | r[19] << 6'
                      ' | r[20] << 7 | r[22] << 10 | r[21] << 11) & %d; '
                      'r[22] = 0' % (free, mask))
            return live + [free]
        if rng.random() < 0.5:
            if free != RAX:
                code.move(free, RAX)
            code.line('lahf')
            code.line('seto al')
            code.line('movzx eax, ax', 'r[0] = ah(r) << 8 | r[21]')
            if not self.auxiliary_is_known:
                code.line('and eax, 0EFFFh', 'r[0] &= 0xEFFF')
            return live + [free]
        name = NAMES64[free]
        code.move_constant(free, rng.getrandbits(62))
        if rng.random() < 0.5:
            condition = rng.choice(sorted(CONDITIONS))
            source = rng.choice(live)
            code.line('cmov%s %s, %s' % (condition, name, NAMES64[source]),
                      'r[%d] = r[%d] if %s else r[%d]' %
                      (free, source, CONDITIONS[condition], free))
        if rng.random() < 0.5:
            condition = rng.choice(sorted(CONDITIONS))
            label = code.label()
            add = rng.getrandbits(30)
            code.line('j%s short %s' % (condition, label),
                      'if not (%s):' % CONDITIONS[condition])
            code.line('lea %s, [%s + %d]' % (name, name, add),
                      ' r[%d] = (r[%d] + %d) & M' % (free, free, add))
            code.assembly.append(label + ':')
        condition = rng.choice(sorted(CONDITIONS))
        code.line('set%s %s' % (condition, NAMES8[free]),
                  'r[%d] = r[%d] & ~255 | int(%s)' %
                  (free, free, CONDITIONS[condition]))
        kind = rng.randrange(4)
        if kind == 0:
            add = rng.getrandbits(30)
            code.line('adc %s, %d' % (name, add),
                      'r[%d] = (r[%d] + %d + r[16]) & M' % (free, free, add))
        elif kind == 1:
            code.line('rcl %s, 1' % name,
                      'r[%d] = (r[%d] << 1 | r[16]) & M' % (free, free))
        elif kind == 2:
            source = rng.choice(live)
            code.line('sbb %s, %s' % (name, NAMES64[source]),
                      'r[%d] = (r[%d] - r[%d] - r[16]) & M' %
                      (free, free, source))
        return live + [free]

    def use_all(self, code, registers, base, offset):
        """Combines everything; the checksum comes out in rax."""
        rng = self.rng
        registers = list(registers)
        total = rng.choice([register for register in registers
                            if register in VOLATILE])
        registers.remove(total)
        rng.shuffle(registers)
        for register in registers:
            code.combine_register(rng, total, register)
        spare = rng.choice([register for register in VOLATILE
                            if register not in (total, RAX)])
        if self.direction == 'lods':
            if total == RAX:
                total = spare
                code.move(total, RAX)
                spare = RAX
            code.line('lodsq', 'r[0] = words[(r[6] - %d) >> 3]; '
                      'r[6] += -8 if r[22] else 8' % TABLE)
            code.line('cld', 'r[22] = 0')
            code.combine_register(rng, total, RAX)
            code.line('lea rax, [Words]')
            code.line('sub rsi, rax', 'r[6] -= %d; r[0] = 0' % TABLE)
            code.combine_register(rng, total, RSI)
        if total != RAX:
            code.move(RAX, total)
        if spare == RAX:
            spare = RCX
        for there, where, index in ((self.last_error, '68h', LAST_ERROR),
                                    (self.last_status, '1250h',
                                     LAST_STATUS)):
            if there:
                code.line('mov %s, [gs:%s]' % (NAMES32[spare], where),
                          'r[%d] = r[%d]' % (spare, index))
                code.combine_register(rng, RAX, spare)
        for index in self.home:
            code.combine_slot(rng, RAX, base, offset + 8 * index)
        for slot in self.slots:
            code.combine_slot(rng, RAX, RSP, slot)
        if self.mxcsr is not None:
            index = rng.randrange(8)
            name, place = NAMES64[base], offset
            code.line('stmxcsr [%s + %d]' % (name, place))
            code.line('mov %s, [%s + %d]' % (NAMES32[spare], name, place))
            code.line('and %s, 0FFC0h' % NAMES32[spare],
                      'r[%d] = r[23] & 0xFFC0; mem[r[%d] + %d] = 0' %
                      (spare, base, place))
            code.combine_register(rng, RAX, spare)
            code.line('cvtsd2si %s, [Halves + %d]' % (NAMES64[spare],
                                                      8 * index),
                      'r[%d] = to_integer(halves[%d], r[23])' % (spare, index))
            code.combine_register(rng, RAX, spare)
            code.line('ldmxcsr [MxcsrDefault]', 'r[23] = %d' % MXCSR_DEFAULT)
        for _ in range(self.x87):
            code.line('fistp qword [%s + %d]' % (NAMES64[base], offset),
                      'mem[r[%d] + %d] = X.pop()' % (base, offset))
            code.combine_slot(rng, RAX, base, offset)
        if self.x87_control is not None:
            code.line('fnstcw [%s + %d]' % (NAMES64[base], offset))
            code.line('movzx %s, word [%s + %d]' %
                      (NAMES32[spare], NAMES64[base], offset),
                      'r[%d] = r[26]; mem[r[%d] + %d] = 0' %
                      (spare, base, offset))
            code.combine_register(rng, RAX, spare)
            code.line('fninit', 'r[26] = %d' % X87_DEFAULT)
        for number, width, _ in self.vectors:
            use_vector(code, rng, number, width, base, offset)
        for number in self.masks:
            code.line('kmovq %s, k%d' % (NAMES64[spare], number),
                      'r[%d] = K[%d]' % (spare, number))
            code.combine_register(rng, RAX, spare)


def fill_register(code, rng, register, source):
    """A value that comes of source, by a reversible way."""
    name, other = NAMES64[register], NAMES64[source]
    kind = rng.randrange(4)
    if kind == 0:
        value = rng.getrandbits(63)
        code.move_constant(register, value)
        code.line('xor %s, %s' % (name, other),
                  'r[%d] ^= r[%d]' % (register, source))
    elif kind == 1:
        value = rng.getrandbits(31)
        code.line('lea %s, [%s + %d]' % (name, other, value),
                  'r[%d] = (r[%d] + %d) & M' % (register, source, value))
    elif kind == 2:
        count = rng.randrange(1, 64)
        code.move(register, source)
        code.line('ror %s, %d' % (name, count),
                  'r[%d] = (r[%d] >> %d | r[%d] << %d) & M' %
                  (register, register, count, register, 64 - count))
    else:
        factor = rng.getrandbits(30) | 1
        code.line('imul %s, %s, %d' % (name, other, factor),
                  'r[%d] = r[%d] * %d & M' % (register, source, factor))


def fill_vector(code, source, number, width, constant):
    """The register in every 64 bits, changed by a constant."""
    lanes = 2 << width
    name, place = NAMES64[source], '[Constants + %d]' % (64 * constant)
    if width == 2:
        code.line('vpbroadcastq zmm%d, %s' % (number, name))
        code.line('vpxorq zmm%d, zmm%d, %s' % (number, number, place))
    elif width == 1:
        code.line('vmovq xmm%d, %s' % (number, name))
        code.line('vpbroadcastq ymm%d, xmm%d' % (number, number))
        code.line('vpxor ymm%d, ymm%d, %s' % (number, number, place))
    else:
        code.line('movq xmm%d, %s' % (number, name))
        code.line('punpcklqdq xmm%d, xmm%d' % (number, number))
        code.line('pxor xmm%d, %s' % (number, place))
    code.line('', 'V[%d][:%d] = [r[%d] ^ c for c in constants[%d][:%d]]' %
              (number, lanes, source, constant, lanes))


def use_vector(code, rng, number, width, base, offset):
    """Combines all lanes by way of 32 bytes of memory."""
    name = NAMES64[base]

    def lanes(first, last):
        for lane in range(first, last):
            place = offset + 8 * (lane - first)
            code.line('', 'mem[r[%d] + %d] = V[%d][%d]' %
                      (base, place, number, lane))
            code.combine_slot(rng, RAX, base, place)

    if width == 0:
        code.line('movdqu [%s + %d], xmm%d' % (name, offset, number))
        lanes(0, 2)
        return
    if width == 2:
        code.line('vextracti64x4 [%s + %d], zmm%d, 1' % (name, offset, number))
        lanes(4, 8)
        code.line('vextracti64x4 [%s + %d], zmm%d, 0' % (name, offset, number))
    else:
        code.line('vmovdqu [%s + %d], ymm%d' % (name, offset, number))
    lanes(0, 4)


class Function:
    """One function: its shape, its sites, its callees."""

    def __init__(self, index, rng, level, shape):
        self.index = index
        self.name = 'rc%05d' % index
        self.rng = rng
        self.level = level
        self.shape = shape
        self.callees = []           # (function, its depth, is conditional)
        self.recursive = False
        self.tail = None
        self.called = False
        self.cost = [1]             # calls that one call leads to, by depth
        self.unwind = []            # (offset label, code, extra words)
        self.pushes = []
        self.saves = []
        if shape in ('pushes', 'alloca', 'gcc'):
            self.pushes = rng.sample(NONVOLATILE, rng.randrange(
                0 if shape == 'gcc' else 1, 6))
        if shape == 'thunk':
            self.pushes = [*NONVOLATILE, RBP]
            self.saves = list(range(6, 16))
        if shape in ('pushes', 'alloca') and rng.random() < 0.4:
            self.saves = rng.sample(range(6, 16), rng.randrange(1, 5))
        self.locals = rng.randrange(4)

        # A function that leaves RSP alone needs no unwind data.
        self.prologue_end = None
        self.has_entry = shape != 'leaf' or rng.random() < 0.5

        # Frame: 32 bytes for callees, the depth, a slot, locals, saves.
        size = 48 + 8 * self.locals
        self.depth_slot, self.spare_slot = 32, 40
        size += -size % 16
        self.save_offset = size
        size += 16 * len(self.saves)
        pushed = len(self.pushes) + (shape == 'alloca')
        if (8 + 8 * pushed + size) % 16:
            size += 8
        self.frame = size
        self.pushed = pushed
        if shape == 'leaf':
            self.frame = 0

        # The sites, made first: callers must know them.
        entry_slots, exit_slots = (), ()
        direction = [None, None]
        if shape in ('framed', 'pushes', 'alloca'):
            slots = [8 * n for n in range(4)]
            if shape != 'alloca':
                slots += [48 + 8 * n for n in range(self.locals)]
            entry_slots = exit_slots = slots
            if shape == 'alloca':
                direction = [rng.choice([None, 'pushf']) for _ in range(2)]
            elif RSI in self.pushes:
                direction = [rng.choice([None, 'lods']) for _ in range(2)]
        extended = self.saves if shape in ('pushes', 'alloca') else ()
        self.uses_rsi = 'lods' in direction
        self.items = [register for register in self.pushes
                      if not (register == RSI and self.uses_rsi)]
        hooks_in_frame = shape in ('framed', 'pushes', 'alloca')
        self.entry = Site(rng, level, extended, entry_slots, direction[0],
                          self.items if hooks_in_frame else ())
        self.exit = Site(rng, level, extended, exit_slots, direction[1],
                         self.items if hooks_in_frame else ())
        self.depth_register = rng.choice(
            [register for register in self.entry.general if register != RAX])

    # The caller's part of a call.

    def arguments(self, code, depth):
        """Fills what is live at the entry; the checksum is in rax.

        depth is None: the caller's own, less one.
        """
        site = self.entry
        rng = site.rng
        register = self.depth_register
        filled = site.fill_general(code, RAX, but=(register,))
        assembly, python = depth
        code.line('mov %s, %s' % (NAMES32[register], assembly),
                  'r[%d] = %s' % (register, python))
        if depth[0].startswith('['):
            code.line('sub %s, 1' % NAMES32[register], 'r[%d] -= 1' % register)
        return filled

    def set_entry_in_caller(self, code, offset, live):
        """gcc's shape: nothing can be set between entry and hook."""
        site = self.entry
        site.fill_others(code, RSP, offset, live)
        site.fill_home(code, RSP, offset, live)
        site.fill_flags(code, (self.depth_register,))

    def last(self):
        """The function that returns in this one's place."""
        return self.tail.last() if self.tail else self

    def use_result(self, code):
        """After a call: the checksum comes out in rax."""
        returning = self.last()
        if returning.shape == 'gcc':
            registers = returning.exit.use_flags(code)
            returning.exit.use_all(code, registers, RSP, 0)

    # The function.

    def prologue_point(self, code, value, *words):
        label = code.label()
        code.assembly.append(label + ':')
        self.unwind.append((label, value, words))

    def prologue(self, code):
        if self.shape == 'alloca':
            code.push(RBP)
            self.prologue_point(code, RBP << 4)
        for register in self.pushes:
            code.push(register)
            self.prologue_point(code, register << 4)
        if self.frame:
            code.line('sub rsp, %d' % self.frame,
                      'r[4] -= %d' % self.frame)
            if self.frame <= 128:
                self.prologue_point(code, (self.frame // 8 - 1) << 4 | 2)
            else:
                self.prologue_point(code, 1, self.frame // 8)
        if self.shape == 'alloca':
            code.line('mov rbp, rsp', 'r[5] = r[4]')
            self.prologue_point(code, 3)
        for index, number in enumerate(self.saves):
            place = self.save_offset + 16 * index
            code.line('movaps [rsp + %d], xmm%d' % (place, number),
                      'mem[r[4] + %d], mem[r[4] + %d] = V[%d][:2]' %
                      (place, place + 8, number))
            self.prologue_point(code, number << 4 | 8, place // 16)
        self.prologue_end = code.label()
        code.assembly.append(self.prologue_end + ':')

    def epilogue(self, code):
        base = RBP if self.shape == 'alloca' else RSP
        for index, number in enumerate(self.saves):
            place = self.save_offset + 16 * index
            code.line('movaps xmm%d, [%s + %d]' % (number, NAMES64[base],
                                                   place),
                      'V[%d][:2] = [mem[r[%d] + %d], mem[r[%d] + %d]]' %
                      (number, base, place, base, place + 8))
        if self.shape == 'alloca':
            code.line('lea rsp, [rbp + %d]' % self.frame,
                      'r[4] = r[5] + %d' % self.frame)
        elif self.frame:
            code.line('add rsp, %d' % self.frame, 'r[4] += %d' % self.frame)
        for register in reversed(self.pushes):
            code.pop(register)
        if self.shape == 'alloca':
            code.pop(RBP)

    def body(self, code):
        """Calls; the checksum is in rax before and after."""
        rng = self.rng
        base = RBP if self.shape == 'alloca' else RSP
        calls = [(callee, ('%d' % depth, '%d' % depth), conditional)
                 for callee, depth, conditional in self.callees]
        if self.recursive:
            place = NAMES64[base], self.depth_slot
            calls.insert(rng.randrange(len(calls) + 1),
                         (self, ('[%s + %d]' % place, 'mem[r[%d] + %d]' %
                                 (base, self.depth_slot)), False))
        for callee, depth, conditional in calls:
            label = None
            if callee is self:
                code.line('cmp dword %s, 0' % depth[0])
                label = code.skip_begin('je', '%s != 0' % depth[1])
            elif conditional:
                bit = rng.randrange(64)
                code.line('bt rax, %d' % bit)
                label = code.skip_begin('jnc', 'r[0] >> %d & 1' % bit)
            live = callee.arguments(code, depth)
            if callee.shape == 'gcc':
                callee.set_entry_in_caller(code, 0, live)
            code.line('call ' + callee.name,
                      'r[4] -= 8; %s(r); r[4] += 8' % callee.name)
            callee.use_result(code)
            if label:
                code.skip_end(label)
        if calls and self.shape != 'thunk' and rng.random() < 0.08:
            code.store(base, self.spare_slot, RAX)
            code.line('call CountFrames', 'r[0] = r[27]')
            code.combine_slot(rng, RAX, base, self.spare_slot)

    def fill_items(self, code, live):
        for register in self.items:
            fill_register(code, self.rng, register, self.rng.choice(live))

    def use_items(self, code):
        for register in self.items:
            code.combine_register(self.rng, RAX, register)

    def write_visual(self, code):
        """The shapes of /Gh and /GH."""
        rng = self.rng
        entry, leave = self.entry, self.exit
        framed = self.shape != 'leaf'
        base = RBP if self.shape == 'alloca' else RSP
        home = self.frame + 8 * self.pushed + 8

        # Home space that the vectors do not need can be set before the
        # frame is there.
        if not entry.x87:
            entry.fill_home(code, RSP, 8, entry.general)
        if framed:
            self.prologue(code)
            self.fill_items(code, entry.general)
        live = entry.live()
        entry.fill_others(code, base, home, live)
        if entry.x87:
            entry.fill_home(code, base, home, entry.general)
        entry.fill_flags(code, (self.depth_register,))
        code.line('call _penter')
        registers = entry.use_flags(code)
        if framed:
            code.line('mov [%s + %d], %s' % (NAMES64[base], self.depth_slot,
                                             NAMES64[self.depth_register]),
                      'mem[r[%d] + %d] = r[%d]' %
                      (base, self.depth_slot, self.depth_register))
        entry.use_all(code, registers, base, home)
        if framed and rng.random() < 0.7:
            self.fill_items(code, [RAX])

        kept = []
        if self.shape == 'alloca':
            code.move(RCX, RAX)
            code.line('mov eax, eax', 'r[0] &= 0xFFFFFFFF')
            code.line('and eax, 70h', 'r[0] &= 0x70')
            code.line('add eax, 64', 'r[0] += 64')
            code.line('sub rsp, rax', 'r[4] -= r[0]')
            kept = [32 + 8 * n for n in range(4)]
            for slot in kept:
                code.store(RSP, slot, RCX)
                code.line('rol rcx, 9',
                          'r[1] = (r[1] << 9 | r[1] >> 55) & M')
            code.move(RAX, RCX)
        if framed:
            self.body(code)
        for slot in kept:
            code.combine_slot(rng, RAX, RSP, slot)

        live = leave.fill_general(code, RAX) + leave.others
        leave.fill_others(code, base, home, live)
        leave.fill_home(code, base, home, live)
        leave.fill_flags(code)
        code.line('call _pexit')
        registers = leave.use_flags(code)
        leave.use_all(code, registers, base, home)
        self.use_items(code)
        if framed:
            self.epilogue(code)
        code.line('ret')

    def write_gcc(self, code):
        """The shape of -mfentry -minstrument-return=call."""
        rng = self.rng
        entry, leave = self.entry, self.exit
        code.line('call _penter')
        registers = entry.use_flags(code)
        if self.has_frame():
            self.prologue(code)
            home = self.frame + 8 * self.pushed + 8
            code.store(RSP, self.depth_slot, self.depth_register)
            entry.use_all(code, registers, RSP, home)
            self.fill_items(code, [RAX])
            self.body(code)
            self.use_items(code)
        else:
            home = 8
            entry.use_all(code, registers, RSP, home)

        leaves, leave = self, self.exit
        if self.tail:
            leaves, leave = self.tail, self.tail.entry
            live = self.tail.arguments(code, ('%d' % self.tail_depth,
                                              '%d' % self.tail_depth))
        else:
            live = leave.fill_general(code, RAX)
        if self.has_frame():
            self.epilogue(code)
        if not self.tail or self.tail.shape == 'gcc':
            leave.fill_others(code, RSP, 8, live)
            leave.fill_home(code, RSP, 8, live)
            leave.fill_flags(code, (leaves.depth_register,)
                             if self.tail else ())
        code.line('call __return__')
        if self.tail:
            code.line('jmp ' + self.tail.name,
                      'r[27] -= 1; r[28] = 1; %s(r); r[27] += 1' %
                      self.tail.name)
        else:
            code.line('ret')

    def has_frame(self):
        return bool(self.callees or self.recursive or self.pushes)

    def write_thunk(self, code):
        """Called by C with a checksum in rcx; no hooks."""
        self.prologue(code)
        code.move(RAX, RCX)
        self.body(code)
        if self.level:
            code.line('vzeroupper')
        self.epilogue(code)
        code.line('ret')

    def write(self):
        """Returns the Code, with the unwind data at its end."""
        code = Code(self.name)
        code.line('', 'r[27] += 1')
        if self.shape != 'thunk':
            code.line('', 'log.append((r[27] - 2, %d, r[28])); r[28] = 0' %
                      self.index)
        if self.shape == 'gcc':
            self.write_gcc(code)
        elif self.shape == 'thunk':
            self.write_thunk(code)
        else:
            self.write_visual(code)
        code.line('', 'r[27] -= 1')
        return code

    def source(self, code):
        lines = ['global ' + self.name, 'align 16', self.name + ':',
                 *code.assembly, '.end:']
        if not self.has_entry:
            return lines
        codes = []
        for label, value, words in reversed(self.unwind):
            codes.append(' db %s%s - %s, %d' % (self.name, label, self.name,
                                                value))
            codes += [' dw %d' % word for word in words]
        count = len(self.unwind) + sum(len(words)
                                       for _, _, words in self.unwind)
        size = '0'
        if self.prologue_end:
            size = '%s%s - %s' % (self.name, self.prologue_end, self.name)
        lines += [
            ' section .xdata rdata align=4', ' align 4, db 0', '.info:',
            ' db 1, %s, %d, %d' % (size, count,
                                   RBP if self.shape == 'alloca' else 0),
            *codes, ' align 4, db 0',
            ' section .pdata rdata align=4',
            ' dd %s wrt ..imagebase' % self.name,
            ' dd .end wrt ..imagebase',
            ' dd .info wrt ..imagebase', ' section .text']
        return lines


class Program:
    """A random program: folder of sources, and the model."""

    def __init__(self, seed, number_of_functions, level):
        rng = random.Random('%d %d %d' % (seed, number_of_functions, level))
        self.level = level
        self.constants = [[rng.getrandbits(64) for _ in range(8)]
                          for _ in range(NUMBER_OF_CONSTANTS)]
        self.words = [rng.getrandbits(64) for _ in range(NUMBER_OF_WORDS)]
        self.halves = [rng.randrange(-1000, 1000) + 0.5 for _ in range(8)]
        self.functions = []
        shapes = ['framed', 'pushes', 'pushes', 'leaf', 'alloca', 'gcc',
                  'gcc', 'gcc']
        for index in reversed(range(number_of_functions)):
            function = Function(index, rng, level, rng.choice(shapes))
            self.choose_callees(rng, function)
            self.functions.append(function)
        self.functions.reverse()
        self.roots = []
        for function in self.functions:
            if not function.called:
                thunk = Function(len(self.roots), rng, level, 'thunk')
                thunk.name = 'start%05d' % len(self.roots)
                thunk.callees = [(function, rng.randrange(4), False)]
                self.roots.append(thunk)
        self.codes = [function.write()
                      for function in [*self.functions, *self.roots]]

    def choose_callees(self, rng, function):
        if function.shape == 'leaf':
            function.cost = [1] * 4
            return
        later = self.functions[-60:]
        recursive = rng.random() < 0.15
        limit = MAXIMUM_COST // 4 if recursive else MAXIMUM_COST
        cost = 1
        for _ in range(rng.choice([0, 1, 1, 2, 3, 4]) if later else 0):
            callee, depth = rng.choice(later), rng.randrange(4)
            if cost + callee.cost[depth] <= limit:
                cost += callee.cost[depth]
                function.callees.append((callee, depth, rng.random() < 0.3))
                callee.called = True
        if later and function.shape == 'gcc' and rng.random() < 0.4:
            # A reader knows by the unwind data where the target begins.
            callee, depth = rng.choice(later), rng.randrange(4)
            if cost + callee.cost[depth] <= limit and callee.has_entry:
                cost += callee.cost[depth]
                function.tail, function.tail_depth = callee, depth
                callee.called = True
        function.recursive = recursive
        function.cost = [cost * (depth + 1 if recursive else 1)
                         for depth in range(4)]

    def write(self, folder, number_of_files=2):
        """Writes the NASM sources; returns their paths."""
        everything = list(zip([*self.functions, *self.roots], self.codes))
        data = ['Constants', 'Words', 'Halves', 'X87Values', 'MxcsrValues',
                'MxcsrDefault']
        paths = []
        for number in range(number_of_files):
            mine = everything[number::number_of_files]
            names = {function.name for function, _ in mine}
            others = sorted({function.name for function, _ in everything} -
                            names)
            lines = [' bits 64', ' default rel',
                     ' extern _penter, _pexit, __return__, CountFrames']
            lines += [' extern ' + name for name in others]
            lines += [' %s %s' % ('extern' if number else 'global', name)
                      for name in data]
            if number == 0:
                lines += self.data()
            lines.append(' section .text code align=16')
            for function, code in mine:
                lines += function.source(code)
            path = os.path.join(folder, 'callers%d.asm' % number)
            with open(path, 'w', encoding='ascii') as file:
                file.write('\n'.join(lines) + '\n')
            paths.append(path)
        return paths

    def data(self):
        lines = [' section .rdata rdata align=64', 'Constants:']
        lines += [' dq ' + ', '.join('%d' % value for value in row)
                  for row in self.constants]
        lines += ['Words:', ' dq ' + ', '.join(map(str, self.words)),
                  'Halves:', ' dq ' + ', '.join(map(str, self.halves)),
                  'MxcsrValues:', ' dd ' + ', '.join(map(str, MXCSR_VALUES)),
                  'MxcsrDefault:', ' dd %d' % MXCSR_DEFAULT,
                  'X87Values:', ' dw ' + ', '.join(map(str, X87_VALUES)),
                  ' global NumberOfRoots, Roots', ' align 8',
                  'NumberOfRoots: dq %d' % len(self.roots), 'Roots:']
        lines += [' dq ' + thunk.name for thunk in self.roots]
        return lines

    def run(self, seeds, rounds):
        """What the program prints, and the calls of each thread in order.

        A call is its depth, the function's name, and whether it is a tail
        call (which is as deep as the one that it replaces).
        """
        space = {'mem': {}, 'V': [[0] * 8 for _ in range(32)], 'K': [0] * 8,
                 'X': [],
                 'constants': self.constants, 'words': self.words,
                 'halves': self.halves, 'math': __import__('math')}
        exec(compile(MODEL, 'model', 'exec'), space)
        for code in self.codes:
            text = '\n'.join(['def %s(r):' % code.name, *code.python])
            exec(compile(text, code.name, 'exec'), space)
        machine = [0] * 29
        machine[RSP] = 1 << 40
        machine[MXCSR], machine[X87_CONTROL] = MXCSR_DEFAULT, X87_DEFAULT
        lines, calls = [], []
        for thread, seed in enumerate(seeds):
            space['log'] = []
            value = seed
            for _ in range(rounds):
                results = [None] * len(self.roots)
                for index in range(len(self.roots)):
                    root = (seed * ROOTS_APART + index) % len(self.roots)
                    machine[RCX] = value
                    machine[LAST_ERROR] = value & 0xFFFFFFFF
                    space[self.roots[root].name](machine)
                    value = machine[RAX]
                    results[root] = (value, machine[LAST_ERROR])
            lines += ['%d %d %016x %08x' % (thread, index, *result)
                      for index, result in enumerate(results)]
            calls.append([(depth, self.functions[index].name, is_tail_call)
                          for depth, index, is_tail_call in space['log']])
        return lines, calls


# The controls: a hook that changes one thing, at one call of so many.  Each
# is NASM source that leaves the rest as it is.

def around_flags(*lines):
    return ['pushfq', *lines, 'popfq']


def controls(level):
    """Name of what is changed -> source."""
    found = {}
    for register in (*range(4), *range(5, 16)):
        # Not a bit that makes an address or a depth of recursion go wild.
        bit = 3 if register == RSI else 45
        found[NAMES64[register]] = around_flags('btc %s, %d' %
                                                (NAMES64[register], bit))
    for name, bit in (('CF', 0), ('PF', 2), ('AF', 4), ('ZF', 6), ('SF', 7),
                      ('OF', 11)):
        found[name] = around_flags('xor qword [rsp], %d' % (1 << bit))

    # Set where nobody expects it, it would take the C runtime down.
    found['DF'] = ['cld']
    for number in range(16):
        found['xmm%d' % number] = ['pxor xmm%d, [Low]' % number]
        if level == 1:
            found['ymm%d' % number] = ['vpxor ymm%d, ymm%d, [Middle]' %
                                       (number, number)]
        elif level == 2:
            found['ymm%d' % number] = ['vpxorq zmm%d, zmm%d, [Middle]' %
                                       (number, number)]
            found['zmm%d' % number] = ['vpxorq zmm%d, zmm%d, [High]' %
                                       (number, number)]
    if level == 2:
        for number in range(16, 32):
            for part in ('Low', 'Middle', 'High'):
                found['zmm%d %s' % (number, part)] = [
                    'vpxorq zmm%d, zmm%d, [%s]' % (number, number, part)]
        for number in range(8):
            found['k%d' % number] = around_flags(
                'push rax', 'kmovq rax, k%d' % number, 'btc rax, 40',
                'kmovq k%d, rax' % number, 'pop rax')
    found['MXCSR'] = around_flags('push rax', 'stmxcsr [rsp]',
                                  'xor dword [rsp], 2000h', 'ldmxcsr [rsp]',
                                  'pop rax')
    found['x87 value'] = ['fchs']
    found['x87 control'] = around_flags('push rax', 'fnstcw [rsp]',
                                        'xor dword [rsp], 800h',
                                        'fldcw [rsp]', 'pop rax')
    for offset in (16, 24, 32, 40):
        found['stack + %d' % offset] = around_flags(
            'xor byte [rsp + %d], 1' % (8 + offset))
    found['last error'] = around_flags('xor dword [gs:68h], 1')
    found['last status'] = around_flags('xor dword [gs:1250h], 1')
    return found


def broken_hooks(level, interval=13):
    """NASM source of hooks that change what BrokenKind says (0: nothing)."""
    lines = [' bits 64', ' default rel',
             ' global _penter, _pexit, __return__, BrokenKind',
             ' section .data data align=64',
             'Low: dq 0, 0x200000000000, 0, 0, 0, 0, 0, 0',
             'Middle: dq 0, 0, 0x200000000000, 0, 0, 0, 0, 0',
             'High: dq 0, 0, 0, 0, 0, 0, 0, 0x200000000000',
             'BrokenKind: dq 0', 'Countdown: dq %d' % interval,
             'Routines: dq Nothing']
    changes = controls(level)
    lines += [' dq Change%d' % number for number in range(len(changes))]
    lines += [' section .text code align=16', '_penter:', '_pexit:',
              '__return__:', ' pushfq', ' dec qword [Countdown]',
              ' jz .change', ' popfq', ' ret', '.change:',
              ' mov qword [Countdown], %d' % interval, ' push rax',
              ' push rcx', ' lea rcx, [Routines]', ' mov rax, [BrokenKind]',
              ' mov rax, [rcx + rax * 8]', ' mov [Target], rax', ' pop rcx',
              ' pop rax', ' popfq', ' jmp [Target]', 'Nothing: ret']
    for number, change in enumerate(changes.values()):
        lines.append('Change%d:' % number)
        lines += [' ' + line for line in change]
        lines.append(' ret')
    lines += [' section .data', 'Target: dq 0']
    return '\n'.join(lines) + '\n'


def clobber(level):
    """NASM source of what stands in for PenterSlowPath (ld --wrap): it calls
    that, and then changes all that C and the system may change."""
    lines = [' bits 64', ' default rel', ' extern __real_PenterSlowPath',
             ' global __wrap_PenterSlowPath, NumberOfClobbers',
             ' section .data data align=64', 'NumberOfClobbers: dq 0',
             'OtherMxcsr: dd 7F80h', 'OtherX87: dw 0F7Fh',
             ' section .text code align=16', '__wrap_PenterSlowPath:',
             ' sub rsp, 40', '.prologue:', ' call __real_PenterSlowPath',
             ' lock inc qword [NumberOfClobbers]', ' fninit', ' fldpi',
             ' fldpi', ' fldcw [OtherX87]', ' ldmxcsr [OtherMxcsr]']
    lines += [' pcmpeqd xmm%d, xmm%d' % (n, n) for n in range(6)]
    if level:
        lines += [' vinserti128 ymm%d, ymm%d, xmm0, 1' % (n, n)
                  for n in range(16)]
    if level == 2:
        lines += [' vinserti64x4 zmm%d, zmm%d, ymm0, 1' % (n, n)
                  for n in range(16)]
        lines += [' vpternlogd zmm%d, zmm%d, zmm%d, 255' % (n, n, n)
                  for n in range(16, 32)]
        lines += [' kxnorq k%d, k%d, k%d' % (n, n, n) for n in range(8)]
    lines += [' mov %s, 0BADh' % NAMES64[register] for register in VOLATILE
              if register != RAX]
    lines += [' mov [gs:68h], ecx', ' mov [gs:1250h], ecx', ' add rsp, 40',
              ' neg rcx', ' ret', '.end:',
              ' section .xdata rdata align=4', '.info:',
              ' db 1, .prologue - __wrap_PenterSlowPath, 1, 0',
              ' db .prologue - __wrap_PenterSlowPath, 42h, 0, 0',
              ' section .pdata rdata align=4',
              ' dd __wrap_PenterSlowPath wrt ..imagebase',
              ' dd .end wrt ..imagebase', ' dd .info wrt ..imagebase']
    return '\n'.join(lines) + '\n'


def main(arguments):
    if not 1 <= len(arguments) <= 4:
        sys.exit(__doc__)
    numbers = [int(value) for value in arguments[1:]] + [1, 500, 2][
        len(arguments) - 1:]
    program = Program(*numbers)
    for path in program.write(arguments[0]):
        print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
