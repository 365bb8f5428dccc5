#!/usr/bin/env python3
"""Checks what the viewer's timeline computes, without a browser: node runs the
page's scripts.

Expected pixels, orders, copies and links are computed here in another way: with
fractions, by sorting, from the bytes that a file was made of.  Without node all
is skipped.
"""

import base64
import fractions
import json
import os
import random
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
from StoreSupport import programs                            # noqa: E402

PAGE = os.path.join(os.path.dirname(__file__), '../../Reader/View/Page')
SCRIPTS = ('Format.js', 'Answers.js', 'Raster.js', 'MarkLane.js', 'Live.js',
           'Link.js')

def color_of(name):
    """A function's colour goes by its name: an FNV-1a hash, folded."""
    value = 0x811c9dc5
    for letter in name:
        value = (value ^ ord(letter)) * 0x01000193 & 0xFFFFFFFF
    return (value ^ value >> 15) % 9


# Function N has the colour N % 9.
NAMES = [next(name for name in ('f%d.%d' % (function, i) for i in range(999))
              if color_of(name) == function % 9) for function in range(64)]

# What the scripts take from the page's others.
BEFORE = '''"use strict";
const Viewer = { session: { begin: 0, end: 1e9, ticksPerSecond: 1e9,
                            threads: [], processes: [] },
                 panels: [], state: {}, isPassed: true,
                 threadOf: id => Viewer.session.threads[id],
                 processOf: id => Viewer.session.processes[id],
                 threadsLike: ({ tid, process }) =>
                     Viewer.session.threads.filter(each =>
                         each.tid === tid && each.process === process),
                 functionOf: id => Viewer.engine.functions[id],
                 tell() {}, setRange(begin, end) {
                     Viewer.state = { ...Viewer.state, begin, end };
                 }, set(change) {
                     Viewer.state = { ...Viewer.state, ...change };
                 }, engine: { functions: FUNCTIONS } };
const $ = () => ({ value: '' });
const Lanes = { ROW: 17 }, Timeline = { AXIS: 22, MARKS: 19 };
const Style = {}, Texts = { of: () => '', widthOf: () => 0 };
'''

# Reads [[name, arguments] ...]; writes what each of these gives.
AFTER = '''
const COLORS = ['#77aadd', '#ee8866', '#eedd88', '#44bb99', '#ffaabb',
                '#99ddff', '#bbcc33', '#d6b4e8', '#aaaa00'];
const boxesOf = boxes => ({
    start: Float64Array.from(boxes, each => each[0]),
    stop: Float64Array.from(boxes, each => each[1]),
    depth: Uint16Array.from(boxes, each => each[2]),
    function: Uint32Array.from(boxes, each => each[3]),
    calls: Uint32Array.from(boxes, each => each[4]),
    covered: Float32Array.from(boxes, each => each[5]),
    flags: Uint8Array.from(boxes, each => each[6]),
    track: Uint16Array.from(boxes, each => each[7] || 0),
    count: boxes.length, depths: 1
});
const tests = {
    row({ boxes, width, begin, scale, marked }) {
        const raster = new Raster();
        raster.resize(width, 4, { createImageData: (wide, high) =>
            ({ data: new Uint8ClampedArray(wide * high * 4) }) });
        raster.readTheme({ back: '#ffffff', waited: '#000001',
                           unknown: '#000002', lost: '#000003' });
        raster.begin(marked ? Uint8Array.from(marked) : null);
        const answer = Answers.prepare(boxesOf(boxes), 0, 1e9, width, 9);
        if (answer.rows.length > 1) {
            raster.drawRow(answer, 0, begin, scale, 0, 0, width, 1, 3, 0, 4,
                           1, true);
        }

        //
        // Of each pixel: its colour and its level; -1: paper.
        //

        const lines = [0, 1, 2, 3].map(y => Array.from(raster.pixels.subarray(
            y * width, (y + 1) * width)));
        const found = lines[1].map(pixel => {
            if (pixel === raster.background) {
                return [-1, 0];
            }
            for (let i = 0; i < raster.mixed.length; i++) {
                if (raster.mixed[i] === pixel) {
                    return [Math.floor(i / Raster.LEVELS), i % Raster.LEVELS];
                }
            }
            return [-2, 0];
        });
        return { found, isSame: String(lines[1]) === String(lines[2]),
                 isClear: [...lines[0], ...lines[3]].every(
                     pixel => pixel === raster.background),
                 labels: raster.labels };
    },
    order({ boxes }) {
        const answer = Answers.prepare(boxesOf(boxes), 0, 1e9, 100, 9);
        const rows = [];
        answer.tracks.forEach((track, at) => {
            for (let depth = 0; depth < track.depths; depth++) {
                const row = Answers.rowOf(answer, at, depth);
                const list = [];
                for (let i = answer.rows[row]; i < answer.rows[row + 1]; i++) {
                    list.push([answer.start[i], answer.stop[i],
                               answer.function[i]]);
                }
                rows.push([at, depth, list]);
            }
        });
        return rows;
    },
    marks({ times, begin, end, width }) {
        const lane = new MarkLane();
        lane.read(times.map(time => ({ time, text: 'x' })));
        const nothing = () => {};
        const context = new Proxy({}, { get: () => nothing,
                                        set: () => true });
        lane.paint(context, { gutter: 0, width, height: 9 }, { begin, end });
        return Array.from({ length: lane.flags }, (_, i) =>
            [lane.flagFirst[i], lane.flagCount[i], lane.flagX[i]]);
    },
    async live({ steps, failing }) {
        let reads = 0, bytes = 0, now = null;
        const handle = { async getFile() {
            return { size: now.length, lastModified: 1, name: 'a.trace',
                     slice: (from, to) => ({ async arrayBuffer() {
                         if (failing && ++reads % 3 === 1) {
                             const error = new Error('it has changed');
                             error.name = 'NotReadableError';
                             throw error;
                         }
                         const part = now.subarray(from, to);
                         bytes += part.length;
                         return Uint8Array.from(part).buffer;
                     } }) };
        } };
        const file = new LiveFile({ path: 'a.trace', handle });
        const results = [];
        for (const step of steps) {
            now = Buffer.from(step, 'base64');
            bytes = 0;
            const copy = await file.copy();
            results.push([Buffer.from(await copy.arrayBuffer())
                .toString('base64'), bytes]);
        }
        return results;
    },
    async taken({ files, isFull }) {
        const list = files.map(({ path, data, age, hasHandle }) => {
            const bytes = Buffer.from(data, 'base64');
            const file = new File([bytes], path,
                                  { lastModified: Date.now() - age });
            return { path, file, handle: hasHandle
                ? { getFile: async () => file } : null };
        });
        const live = new Live([]);
        const copy = LiveFile.prototype.copy;
        if (isFull) {
            LiveFile.prototype.copy = async () => ({ slice: () => ({
                arrayBuffer: async () => {
                    throw new Error('no room');
                } }) });
        }
        try {
            const taken = await live.take([...list]);
            return [taken.map((each, i) => each.file !== list[i].file),
                    live.isTooLarge];
        } finally {
            LiveFile.prototype.copy = copy;
        }
    },
    link({ session, functions, state, later }) {
        Viewer.session = session;
        Viewer.engine = { functions };
        Viewer.state = state;
        const text = Link.make();
        Viewer.engine = { functions: later || functions };
        Viewer.state = {};
        Link.restore(text);
        return [text, Viewer.state];
    }
};
(async () => {
    const input = require('fs').readFileSync(0, 'utf8');
    const answers = [];
    for (const [name, args] of JSON.parse(input)) {
        answers.push(await tests[name](args));
    }
    process.stdout.write(JSON.stringify(answers));
})();
'''


def page(name, many):
    """What a test in AFTER gives for each of several arguments."""
    source = [BEFORE.replace('FUNCTIONS', json.dumps(
        [{'name': each} for each in NAMES]))]
    for script in SCRIPTS:
        with open(os.path.join(PAGE, script), encoding='utf-8') as file:
            source.append(file.read())
    with programs.Scratch() as scratch:
        path = os.path.join(scratch, 'page.js')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join([*source, AFTER]))
        done = subprocess.run(
            ['node', path], check=False, capture_output=True,
            input=json.dumps([(name, each) for each in many]).encode())
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors='replace')[-2000:])
    return json.loads(done.stdout)


#
# Pixels.  A box covers what it covers; one that is wider than three pixels
# leaves the last one free.
#

def random_row(numbers, width):
    boxes, at = [], 0
    span = 1000 * width
    while at < span and len(boxes) < 400:
        length = int(numbers.choice((1, 10, 300, 900, 1500, 9000, 40000)) *
                     (0.5 + numbers.random()))
        length = max(length, 1)
        is_summary = numbers.random() < 0.3
        boxes.append([at, at + length, 0, numbers.randrange(30),
                      numbers.randrange(2, 99) if is_summary else 1,
                      numbers.random() if is_summary else 1,
                      8 if is_summary else 0, 0])
        at += length + numbers.choice((0, 0, 5, 700, 5000))
    return boxes


def expected_row(boxes, width, begin, scale):
    """Of each pixel: {colour: share}."""
    pixels = [{} for _ in range(width)]
    for start, stop, _, function, calls, covered, _, _ in boxes:
        left = fractions.Fraction(start - begin) * scale
        right = fractions.Fraction(stop - begin) * scale
        is_wide = right - left > 3
        if left >= width or right <= 0:
            continue
        left, right = max(left, 0), \
            right - 1 if is_wide and right <= width else min(right, width)
        if right < left:
            continue
        strength = fractions.Fraction(covered) if calls > 1 else 1
        first = int(left)
        for x in range(first, min(int(right) + 1, width)):
            share = (min(right, x + 1) - max(left, x)) * strength
            if share > 10 ** -6 or x == first:
                color = function % 9
                pixels[x].setdefault(color, []).append(share)
    return pixels


def check_pixels(results):
    numbers = random.Random(19)
    cases = []
    for _ in range(60):
        width = numbers.randrange(40, 300)
        scale = numbers.choice((0.001, 0.0004, 0.003, 0.02))
        cases.append({'boxes': random_row(numbers, width), 'width': width,
                      'begin': numbers.randrange(0, 20000), 'scale': scale})
    wrong, moved, pixels = [], 0, 0
    for case, seen in zip(cases, page('row', cases)):
        scale = fractions.Fraction(case['scale'])
        expected = expected_row(case['boxes'], case['width'], case['begin'],
                                scale)
        shifted = expected[1:] + [{}]
        results.check(seen['isSame'] and seen['isClear'],
                      'a row is as high as its lines and no higher')
        for x, (color, level) in enumerate(seen['found']):
            pixels += 1
            wrong += [(case['begin'], x, color, level, expected[x])
                      for _ in [0] if not fits(expected[x], color, level)]
            moved += not fits(shifted[x], color, level)
    results.check(not wrong, '%d pixels have the colour of what covers most '
                  'of them, and its strength' % pixels, wrong[:5])
    results.check(moved > pixels // 20,
                  'control: they would not fit one pixel further (%d)' % moved)


def fits(shares, color, level):
    if not shares:
        return color == -1
    single = {each: max(list(many)) for each, many in shares.items()}
    best = max(single.values())
    near = [each for each, share in single.items()
            if share >= best - fractions.Fraction(1, 1000)]
    total = sum(sum(many) for many in shares.values())
    if best < fractions.Fraction(1, 40):

        #
        # What is hardly there is drawn as if it were a fiftieth of a pixel.
        #

        return color >= 0 and level <= 63 * (float(total) + 0.02 *
                                             sum(map(len, shares.values())))
    strength = min(float(total), 1) * 63
    return color in near and abs(level - strength) <= 2.6


def check_ten(results):
    """Ten calls are ten boxes, and one that is much narrower than a pixel is
    seen all the same."""
    cases = []
    for length in (1, 3, 50, 900):
        boxes = [[i * 20000 + 300, i * 20000 + 300 + length, 0, i, 1, 1, 0, 0]
                 for i in range(10)]
        cases.append({'boxes': boxes, 'width': 200, 'begin': 0,
                      'scale': 0.001})
    for case, seen in zip(cases, page('row', cases)):
        groups, last = [], -1
        for color, _ in seen['found']:
            if color >= 0 and color != last:
                groups.append(color)
            last = color
        results.equal(groups, [i % 9 for i in range(10)],
                      'ten calls of %d ticks, a pixel is 1,000: ten boxes' %
                      (case['boxes'][0][1] - case['boxes'][0][0]))


def check_marked(results):
    """The one call that is searched for, among many in one pixel, is seen."""
    boxes = [[i * 10, i * 10 + 9, 0, 5 if i == 40 else 1, 1, 1, 0, 0]
             for i in range(100)]
    marked = [0] * 5 + [1]
    case = {'boxes': boxes, 'width': 10, 'begin': 0, 'scale': 0.001}
    plain, found = page('row', [case, {**case, 'marked': marked}])
    results.equal(plain['found'][0][0], 1, 'most of a pixel is the others')
    results.equal(found['found'][0][0], 5, 'the one that is searched for')


def check_order(results):
    numbers = random.Random(4)
    cases = []
    for _ in range(20):
        boxes = [[start, start + 3, numbers.randrange(5),
                  numbers.randrange(9), 1, 1, 0, numbers.choice((0, 0, 1, 3))]
                 for start in numbers.sample(range(100000), 200)]
        cases.append({'boxes': boxes})
    for case, seen in zip(cases, page('order', cases)):
        rows = {}
        for start, stop, depth, function, _, _, _, track in case['boxes']:
            rows.setdefault((track, depth), []).append(
                [start, stop, function])
        results.equal({(track, depth): many for track, depth, many in seen
                       if many},
                      {key: sorted(many) for key, many in rows.items()},
                      'boxes are by track, depth and time')


def check_marks(results):
    numbers = random.Random(8)
    cases = []
    for count in (1, 10, 1000, 10000):
        times = sorted(numbers.randrange(10 ** 9) for _ in range(count))
        cases.append({'times': times, 'begin': 2 * 10 ** 8,
                      'end': 7 * 10 ** 8, 'width': 1000})
    for case, flags in zip(cases, page('marks', cases)):
        inside = [i for i, time in enumerate(case['times'])
                  if case['begin'] <= time < case['end']]
        shown = [i for first, many, _ in flags
                 for i in range(first, first + many)]
        results.check(sorted(shown) == shown and
                      set(inside) <= set(shown),
                      '%d marks: each is in one flag' % len(case['times']))
        places = [x for _, _, x in flags]
        results.check(all(b - a >= 11.9 for a, b in zip(places, places[1:])),
                      'flags are not on each other')


#
# Copies of a file that grows.
#

def store(records, mode=0, ring=0, minimum=0, more=b'', turn=0):
    end = 4096 + len(records)
    header = bytearray(4096)
    header[:8] = b'TRCSTORE'
    struct.pack_into('<Q', header, 0x40, 0x7ff000000000 + end)
    struct.pack_into('<q', header, 0x50, -0x7ff000000000)
    struct.pack_into('<Q', header, 0x98, turn)
    struct.pack_into('<Q', header, 0xB8, ring)
    struct.pack_into('<Q', header, 0x170, minimum)
    struct.pack_into('<I', header, 0x1B0, mode)
    return bytes(header) + records + more


def check_live(results):
    numbers = random.Random(3)
    data = numbers.randbytes(200000)
    sizes = (0, 16, 4096, 4096, 90000, 200000)
    kinds = {
        'a store that grows': [store(data[:size], more=bytes(5000))
                               for size in sizes],
        'a ring': [store(numbers.randbytes(50000), ring=4096, turn=turn)
                   for turn in range(4)],
        'compact blocks': [store(numbers.randbytes(size), mode=2, turn=turn)
                           for turn, size in enumerate((10, 5000, 5000))],
        'calls that are taken back': [
            store(data[:5000], minimum=9), store(data[1:4001], minimum=9)],
        'a file without a header': [b'', b'abc', data[:9000],
                                    data[:5000] + data[:4000]],
        'a store that was made anew': [store(data[:9000]),
                                       store(data[500:3000])],
    }
    cases, names = [], []
    for name, steps in kinds.items():
        for failing in (False, True):
            names.append((name, steps, failing))
            cases.append({'failing': failing,
                          'steps': [base64.b64encode(step).decode()
                                    for step in steps]})
    for (name, steps, failing), seen in zip(names, page('live', cases)):
        good = True
        for step, (copy, _) in zip(steps, seen):
            copy = base64.b64decode(copy)
            end = len(step)
            if step.startswith(b'TRCSTORE') and name == 'a store that grows':
                end = struct.unpack_from('<Q', step, 0x40)[0] - 0x7ff000000000
            good = good and copy[:end] == step[:end]
        results.check(good, '%s is copied as it is%s' % (
            name, ', and read again where it had changed' * failing))
        if name == 'a store that grows':
            read = [size for _, size in seen]
            results.equal(read[2:], [4096 + 4080, 4096, 4096 + 85904,
                                     4096 + 110000],
                          'only what is new is read, and the header')

def check_taken(results):
    """What is copied: sessions that a program may be writing."""
    def file(path, state, age, has_handle=True):
        header = bytearray(4096)
        header[:8] = b'TRCSTORE' if state else bytes(8)
        struct.pack_into('<I', header, 0x80, state)
        return {'path': path, 'age': age, 'hasHandle': has_handle,
                'data': base64.b64encode(bytes(header) + b'x' * 99).decode()}

    cases = [
        ('open', [file('a.trace', 1, 0), file('b.trace', 2, 0)], [True] * 2),
        ('closed', [file('a.trace', 2, 0), file('b.trace', 3, 0)],
         [False] * 2),
        ('being made', [file('a.trace', 0, 0)], [True]),
        ('killed long ago', [file('a.trace', 1, 60000)], [False]),
        ('without handles', [file('a.trace', 1, 0, False)], [False]),
        ('a pack', [file('a.pack', 1, 0)], [False]),
        ('a log of a closed one', [file('a.trace', 2, 0),
                                   file('a.log', 0, 0)], [False] * 2),
    ]
    answers = page('taken', [{'files': files, 'isFull': is_full}
                             for _, files, _ in cases
                             for is_full in (False, True)])
    for index, (name, _, expected) in enumerate(cases):
        results.equal(answers[2 * index], [expected, False],
                      'taken: ' + name)
        results.equal(answers[2 * index + 1],
                      [[False] * len(expected), any(expected)],
                      'taken: %s, and there is no room for copies' % name)


#
# Links.
#

def check_links(results):
    numbers = random.Random(5)
    names = ['main', 'a<b, c>::d(int) const', 'x&y=z#%', 'Grüße "文"', '-']
    cases = []
    for _ in range(30):
        processes = [{'id': i, 'pid': 100 + 4 * i} for i in range(3)]
        threads = [{'id': i, 'process': i % 3, 'tid': 7 + i // 6 * 4,
                    'begin': 0, 'end': 10 ** 12} for i in range(12)]
        functions = [{'id': i, 'name': name, 'module': 'm%d.exe' % i}
                     for i, name in enumerate(names)]
        later = [{**each, 'id': i}
                 for i, each in enumerate(reversed(functions))]
        function = numbers.choice((None, 0, 1, 2, 3, 4))
        begin = numbers.randrange(10 ** 11)
        state = {
            'begin': begin, 'end': begin + numbers.randrange(20, 10 ** 10),
            'selection': numbers.choice((None, {'begin': 5, 'end': 10 ** 11})),
            'function': function,
            'call': None if function is None or numbers.random() < 0.5 else {
                'thread': numbers.randrange(12), 'begin': 55, 'end': 77,
                'depth': 3, 'function': function},
            'pinned': numbers.sample(range(12), numbers.randrange(3)),
            'collapsed': numbers.sample(['p0', 'p2', 't3', 't11'],
                                        numbers.randrange(4)),
            'filter': numbers.choice(('', 'a b', '&x=y')),
            'panel': numbers.choice((None, 'flame')), 'scope': None,
        }
        cases.append({'session': {'processes': processes, 'threads': threads,
                                  'begin': 0, 'end': 10 ** 12},
                      'functions': functions, 'state': state, 'later': later})
    for case, (text, seen) in zip(cases, page('link', cases)):
        state = json.loads(json.dumps(case['state']))
        for place in (state, state['call'] or {}):
            if place.get('function') is not None:
                place['function'] = len(names) - 1 - place['function']
        for name, value in state.items():
            if name in ('panel', 'scope') and value is None:
                continue
            results.equal(seen.get(name), value,
                          'a link brings back %s (%s)' % (name, text))


def main():
    results = programs.Results()
    if not shutil.which('node'):
        results.skip('the viewer\'s timeline: node is not there')
        return results.finish()
    check_pixels(results)
    check_ten(results)
    check_marked(results)
    check_order(results)
    check_marks(results)
    check_live(results)
    check_taken(results)
    check_links(results)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
