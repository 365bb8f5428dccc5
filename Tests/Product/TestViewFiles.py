#!/usr/bin/env python3
"""Checks how the viewer's workers read files (WorkerFiles.js), without a
browser: node runs it over blobs whose bytes are known.

Reads at any place, by the pass and by others, while a stream is behind, ends
early or breaks, have to give the blob's bytes; few reads have to reach the
file.  Changes to the script have to be found.  Without node all is skipped.
"""
# Takes long.

import json
import os
import random
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
from StoreSupport import programs                            # noqa: E402

SCRIPT = os.path.join(os.path.dirname(__file__),
                      '../../Reader/View/Page/WorkerFiles.js')
LISTS = os.path.join(os.path.dirname(SCRIPT), 'Files.js')
KIB = 1024
MIB = 1024 * KIB

# A file's byte at N is byte N % 65521 of a block that is made of a seed.  A
# blob of them says how often it was read, and may break from a place on.
AFTER = '''
const BLOCK = 65521;
const blocks = new Map();
const blockOf = seed => {
    if (!blocks.has(seed)) {
        const block = new Uint8Array(BLOCK);
        let state = seed + 1;
        for (let i = 0; i < BLOCK; i++) {
            state = (Math.imul(state, 1103515245) + 12345) & 0x7FFFFFFF;
            block[i] = state >>> 16;
        }
        blocks.set(seed, block);
    }
    return blocks.get(seed);
};
const bytesOf = (seed, begin, end) => {
    const bytes = new Uint8Array(Math.max(0, end - begin));
    const block = blockOf(seed);
    for (let at = begin; at < end;) {
        const from = at % BLOCK, size = Math.min(BLOCK - from, end - at);
        bytes.set(block.subarray(from, from + size), at - begin);
        at += size;
    }
    return bytes;
};
const counts = { sync: 0, syncBytes: 0, streams: 0, cancelled: 0,
                 together: 0, togetherBytes: 0 };

class TestBlob {
    constructor(file, begin, end) {
        Object.assign(this, { file, begin, end });
    }
    slice(begin, end = this.end - this.begin) {
        return new TestBlob(this.file, Math.min(this.end, this.begin + begin),
            Math.min(this.end, this.begin + end));
    }
    stream() {
        const { file, end } = this;
        let at = this.begin;
        counts.streams++;
        const next = most => {
            if (at >= file.breaks) {
                throw new Error('the stream broke');
            }
            const part = bytesOf(file.seed, at,
                Math.min(end, at + Math.min(most, file.chunk)));
            at += part.length;
            return part;
        };
        return new ReadableStream({
            type: file.isPlain ? undefined : 'bytes',
            pull(control) {
                const request = control.byobRequest;
                const part = next(request ? request.view.byteLength : 1e9);
                if (part.length === 0) {
                    control.close();
                    if (request) {
                        request.respond(0);
                    }
                } else if (request) {
                    request.view.set(part);
                    request.respond(part.length);
                } else {
                    control.enqueue(part);
                }
            },
            cancel() { counts.cancelled++; }
        });
    }
}

globalThis.FileReaderSync = class {
    readAsArrayBuffer(blob) {
        if (blob.file.isGone && blob.begin >= blob.file.breaks) {
            throw new Error('the file is gone');
        }
        counts.sync++;
        counts.syncBytes += blob.end - blob.begin;
        return bytesOf(blob.file.seed, blob.begin, blob.end).buffer;
    }
};

globalThis.Blob = class {
    constructor(parts) {
        this.parts = parts;
    }
    async arrayBuffer() {
        const parts = this.parts.map(blob => {
            if (blob.file.isGone && blob.end > blob.file.breaks) {
                throw new Error('the file is gone');
            }
            return bytesOf(blob.file.seed, blob.begin,
                Math.min(blob.end, blob.file.now ?? Infinity));
        });
        const whole = Buffer.concat(parts);
        counts.together++;
        counts.togetherBytes += whole.length;
        return new Uint8Array(whole).buffer;
    }
};

const workerOf = files => {
    const worker = new WorkerFiles();
    worker.set(files.map(file => ({ size: file.size,
        path: file.path || 'a.trace', blob: new TestBlob(
        { breaks: Infinity, chunk: 131072, ...file }, 0, file.size) })));
    return worker;
};

async function run({ files, steps }) {
    let worker = workerOf(files);
    for (const name of Object.keys(counts)) {
        counts[name] = 0;
    }
    const wrong = [];
    for (const [what, number, offset, size] of steps) {
        if (what === 'ends') {
            await worker.readEnds();
            continue;
        }
        if (what === 'hand') {
            const pieces = worker.takePieces();
            worker.close();
            worker = workerOf(files);
            if (pieces !== null) {
                worker.putPieces(pieces.list, structuredClone(pieces.bytes));
            }
            continue;
        }
        if (what === 'expect') {
            worker.expect(number);
            continue;
        }
        if (what === 'wait') {
            if (worker.isBehind) {
                await worker.catchUp();
            }
            continue;
        }
        const target = new Uint8Array(size).fill(0xA5);
        const call = () => worker.read(number, offset, target);
        const read = what === 'pass' ? worker.forPass(call) : call();
        const expected = bytesOf(files[number].seed, offset,
            Math.min(files[number].size, offset + size));
        if (read === -1 && worker.list[number].error) {
            wrong.push([what, number, offset, size, worker.list[number].error]);
            worker.list[number].error = undefined;
        } else if (read !== expected.length || Buffer.compare(
            Buffer.from(target.subarray(0, read)), Buffer.from(expected))) {
            wrong.push([what, number, offset, size, 'other bytes']);
        }
    }
    worker.close();
    return { ...counts, wrong, bytesRead: worker.bytesRead };
}

(async () => {
    const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
    const answers = [];
    for (const one of cases) {
        answers.push(await run(one));
    }
    process.stdout.write(JSON.stringify(answers));
})();
'''


def page(cases, *changes):
    with open(SCRIPT, encoding='utf-8') as file:
        text = file.read()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    done = subprocess.run(['node', '-e', text + AFTER],
                          input=json.dumps(cases).encode(),
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def windows(size):
    """As the reader maps a store: windows that grow, each of which begins
    where the last one ends, or in it."""
    offset, length = 0, 64 * KIB
    while offset < size:
        yield offset, min(length, size - offset)
        offset += length
        length = min(4 * length, 512 * KIB)


def pass_over(number, size):
    steps = []
    for offset, length in windows(size):
        steps += [('pass', number, offset, length), ('wait',)]
    return steps


def at_random(numbers, sizes, count):
    """Some windows of one file, some of another, as of a thread with several
    stores, and reads by others between them.  Some of the pass's come again
    from a place in the last one, as after a question that moved the window."""
    steps = []
    passes = {number: list(windows(size)) for number, size in enumerate(sizes)}
    while passes:
        number = numbers.choice(list(passes))
        for _ in range(numbers.randint(1, 5)):
            if not passes[number]:
                del passes[number]
                break
            offset, length = passes[number].pop(0)
            steps.append(('pass', number, offset, length))
            for _ in range(numbers.randrange(count)):
                other = numbers.randrange(len(sizes))
                at = numbers.randrange(sizes[other])
                most = min(sizes[other] - at, numbers.choice(
                    (1, 64, 4096, 32 * KIB, 64 * KIB, MIB, 3 * MIB)))
                steps.append(('read', other, at, numbers.randint(1, most)))
            if numbers.random() < 0.3:
                at = offset + numbers.randrange(length) // 65536 * 65536
                steps.append(('pass', number, at,
                              min(64 * KIB, sizes[number] - at)))
            if numbers.random() < 0.8:
                steps.append(('wait',))
    return steps


def check_pass(results):
    size = 40 * MIB + 12345
    whole = {'files': [{'seed': 1, 'size': size}], 'steps': pass_over(0, size)}
    plain = {'files': [{'seed': 1, 'size': size, 'isPlain': True}],
             'steps': whole['steps']}
    for name, seen in zip(('into buffers', 'otherwise'),
                          page([whole, plain])):
        results.equal(seen['wrong'], [], 'a pass, streamed %s' % name)
        results.equal(seen['streams'], 1, 'has one stream (%s)' % name)
        results.equal(seen['sync'], 3, 'after three reads (%s)' % name)
        results.equal(seen['bytesRead'], size,
                      'and reads each byte once (%s)' % name)


def check_breaks(results):
    size = 40 * MIB
    steps = pass_over(0, size)
    broken, gone = page([
        {'files': [{'seed': 2, 'size': size, 'breaks': 20 * MIB}],
         'steps': steps},
        {'files': [{'seed': 2, 'size': size, 'breaks': 20 * MIB,
                    'isGone': True}], 'steps': steps}])
    results.equal(broken['wrong'], [], 'what a broken stream lacks is read')
    results.check(broken['sync'] > 5, 'without the stream',
                  ['%d reads' % broken['sync']])
    results.check(gone['wrong'] and all(
        each[4] == 'the file is gone' for each in gone['wrong']),
        'a file that is gone says so', gone['wrong'][:3])
    results.check(all(each[2] + each[3] > 20 * MIB for each in gone['wrong']),
                  'where it is gone only', gone['wrong'][:3])


def check_pieces(results):
    """Records before each mark of an index, from the last mark back, read
    twice; and ever smaller ranges around one place."""
    size = 80 * MIB
    back = [('read', 1, at, 32 * KIB) for at in range(0, 512 * KIB, 4096)]
    place = 33 * MIB + 4096
    around = [('read', 0, place - span // 65536 * 65536, span)
              for span in (2 * MIB, MIB, 512 * KIB, 64 * KIB)]
    files = [{'seed': 3, 'size': size}, {'seed': 4, 'size': 2 * MIB, 'path': 'a.trace.index'}]
    moved = [('read', 0, at, 2 * MIB) for at in range(0, 80 * MIB, 2 * MIB)]
    one, two, near, on, asked, again, bounded = page([
        {'files': files, 'steps': back},
        {'files': files, 'steps': back + back},
        {'files': files, 'steps': around},
        {'files': files, 'steps': [('read', 0, at, 64 * KIB)
                                   for at in range(0, size, 64 * KIB)]},
        {'files': files, 'steps': [('expect', 5 * MIB), *back[:9]] + [
            ('read', 0, 33 * MIB + offset, length)
            for offset, length in windows(5 * MIB)]},
        {'files': files, 'steps': back + moved + back},
        {'files': files, 'steps': moved + moved[:2]}])
    for seen in one, two, near, on, asked, again, bounded:
        results.equal(seen['wrong'], [], 'pieces have the file\'s bytes')

    # A record near the end, which an index is checked by, brings little.
    checked, = page([{'files': files, 'steps': [
        ('expect', 2 * MIB), ('read', 0, size - 640 * KIB, 64 * KIB),
        ('read', 0, 33 * MIB, 64 * KIB),
        ('read', 0, 34 * MIB, 960 * KIB)]}])
    results.equal((checked['wrong'], checked['sync'], checked['syncBytes']),
                  ([], 2, 2 * MIB + 64 * KIB),
                  'what is expected is elsewhere')

    # A short index is read once, a long one is not read whole.
    for length, reads, most in (700 * KIB, 1, 700 * KIB), (4 * MIB, 3, MIB):
        seen, = page([{'files': [{'seed': 5, 'size': 80 * MIB},
                                 {'seed': 6, 'size': length,
                                  'path': 'a.trace.index'}], 'steps': [
            ('expect', MIB), ('read', 1, 0, 4 * KIB)] + [
                ('read', 1, at, 4 * KIB)
                for at in range(640 * KIB, 0, -4 * KIB)]}])
        results.check((seen['wrong'], seen['sync'] >= reads,
                       seen['sync'] == 1) == ([], True, reads == 1) and
                      seen['syncBytes'] <= most,
                      'an index of %d KiB' % (length // KIB),
                      [seen['sync'], seen['syncBytes']])

    # Of what is no store less is kept than may be read at once.
    large = {'seed': 5, 'size': 40 * MIB, 'path': 'a.tracepack'}
    answers = page([
        {'files': [large], 'steps': [(who, 0, at, length)
                                     for at in range(0, size, length)]}
        for length, size in ((20000, 30 * MIB), (64 * KIB, 40 * MIB),
                             (6 * MIB, 24 * MIB), (30 * MIB, 30 * MIB))
        for who in ('read', 'pass')])
    for seen in answers:
        results.equal(seen['wrong'], [], 'of a large pack')
    results.equal(two['syncBytes'], one['syncBytes'],
                  'what was read is not read again')
    results.equal(near['sync'], 1, 'nor a part of it')
    results.equal(asked['sync'], 2, 'what is expected is read at once, and '
                  'some of the index')
    results.equal(again['syncBytes'], bounded['syncBytes'] - 4 * MIB +
                  one['syncBytes'], 'an index is not lost among records')
    results.check(bounded['syncBytes'] > size,
                  'but records are, in the end', bounded['syncBytes'])
    results.check(on['sync'] < 20, 'a file that is read on is read in large '
                  'parts', ['%d reads' % on['sync']])
    results.check(on['syncBytes'] <= size, 'each once',
                  ['%d bytes' % on['syncBytes']])


def check_ends(results):
    """Where stores begin and end is read at once, and handed on."""
    numbers = random.Random(13)
    sizes = [1, 65535, 65536, 65537, 131072] + [
        numbers.randrange(128) * 64 * KIB + numbers.randrange(48, 64 * KIB)
        for _ in range(195)]
    files = [{'seed': 20 + number, 'size': size}
             for number, size in enumerate(sizes)]
    files.append({'seed': 19, 'size': 3 * MIB, 'path': 'symbols.cache'})
    files.append({'seed': 18, 'size': 0})
    looks = []
    for number, size in enumerate(sizes):
        looks += [('read', number, 0, min(size, 4096)),
                  ('read', number, max(size - 48, 0), min(size, 48)),
                  ('read', number, size - 1, 1)]
    other = [('read', 200, 0, 5000), ('read', 200, 3 * MIB - 5, 5)]
    without, ends, handed, both = page([
        {'files': files, 'steps': looks},
        {'files': files, 'steps': [('ends',)] + looks},
        {'files': files, 'steps': [('ends',), ('hand',)] + looks},
        {'files': files, 'steps': [('ends',)] + other + [('hand',)] + looks +
         other}])
    for seen in without, ends, handed, both:
        results.equal(seen['wrong'], [], 'ends have the files\' bytes')
    pieces = sum(1 if size <= 64 * KIB else 2 for size in sizes)
    results.equal(without['sync'], pieces, 'a read for each end')
    results.equal((ends['sync'], ends['together'], ends['togetherBytes']),
                  (0, -(-pieces // 128), without['syncBytes']),
                  'none when they were read together')
    results.equal((handed['sync'], handed['together']), (0, ends['together']),
                  'nor when they were handed on')
    results.equal((both['sync'], both['syncBytes']), (2, 128 * KIB),
                  'nor of what is no store')

    # Files that are not what they were: what is missing is read one by one.
    gone = [dict(each) for each in files]
    gone[7].update(isGone=True, breaks=0)
    shorter = [dict(each) for each in files]
    shorter[8].update(now=100)
    lost, short = page([{'files': each, 'steps': [('ends',)] + looks}
                        for each in (gone, shorter)])
    results.check(lost['wrong'] and all(
        each[1] == 7 and each[4] == 'the file is gone'
        for each in lost['wrong']), 'of a file that is gone alone, it is said',
        lost['wrong'][:3])
    results.equal(short['wrong'], [], 'a file that is shorter')
    for seen in lost, short:
        results.check(100 < seen['sync'] < 140, 'only those beside it are '
                      'read one by one', [seen['sync']])

    # Many: more than are kept.
    many = [{'seed': 20, 'size': 100 * KIB} for _ in range(700)]
    seen, = page([{'files': many, 'steps': [('ends',), ('hand',)] + [
        ('read', number, 0, 4096) for number in range(700)]}])
    results.equal(seen['wrong'], [], 'many stores')
    results.equal(seen['togetherBytes'], 256 * 100 * KIB,
                  'ends of the first are read together')
    results.check(seen['sync'] == 700 - 256, 'and the others\' not',
                  [seen['sync']])


# The list of a directory's files, with handles that are made up.
LIST = '''
const Format = { count: String };
let given = 0, most = 0, under = 0;
const file = name => ({ kind: 'file', name, async getFile() {
    given++;
    most = Math.max(most, ++under);
    await new Promise(resolve => setTimeout(resolve, (given * 7) % 5));
    under--;
    return { name };
} });
const folder = (name, inside) => ({ kind: 'directory', name,
    async *values() { yield* inside; } });
const many = (name, count) => Array.from({ length: count },
    (_, i) => file(name + i));
(async () => {
    const tree = folder('top', [file('a'), folder('empty', []),
        ...many('b', 70), folder('in', [...many('c', 3), folder('deep', many('d', 40))]),
        file('e')]);
    const list = [];
    await Files.ofHandle(tree, '', list);
    const right = ['a', ...many('b', 70).map(each => each.name),
        ...many('c', 3).map(each => 'in/' + each.name),
        ...many('d', 40).map(each => 'in/deep/' + each.name), 'e'];
    const isSame = JSON.stringify(list.map(each => each.path)) ===
        JSON.stringify(right.map(each => 'top/' + each)) && list.every(each =>
        each.file.name === each.path.split('/').pop() &&
        each.handle.name === each.file.name);
    const first = given;
    Files.MOST = 50;
    const error = await Files.ofHandle(tree, '', []).then(() => 'none',
        found => found.message);
    process.stdout.write(JSON.stringify({ isSame, most, error,
        more: given - first }));
})();
'''


def check_list(results):
    with open(LISTS, encoding='utf-8') as file:
        text = file.read()
    done = subprocess.run(['node', '-e', text + LIST], check=True,
                          stdout=subprocess.PIPE)
    seen = json.loads(done.stdout)
    results.check(seen['isSame'], 'files of folders: names and their order')
    results.equal(seen['most'], 32, 'so many are asked for at once')
    results.check('more than 50 files' in seen['error'], 'too many',
                  [seen['error']])
    results.check(50 < seen['more'] <= 50 + 32, 'the rest is not asked for',
                  [seen['more']])


# What would be wrong without a line of the script: not by each case.
CHANGES = (
    ('this.base = first;', 'this.base = first + 1;'),
    ('this.filled += value.length;', 'this.filled += value.length + 1;'),
    ('offset < this.base ||', ''),
    ('(at - index) * PIECE, (', '(at - index) * PIECE + 1, ('),
    ('this.base = this.offset;', 'this.base = 0;'),
    ('const key = number + ":" + index', 'const key = "1:" + index'),
    ('first - this.base, this.filled', 'first + 1 - this.base, this.filled'),
    ('const end = offset + target.length;\n        let ahead = this.aheads.get('
     'number)', 'const end = offset + target.length;\n        let ahead = '
     '[...this.aheads.values()][0]'),
)


def check_random(results):
    numbers = random.Random(11)
    cases = []
    for _ in range(8):
        sizes = [numbers.randrange(MIB, 16 * MIB) for _ in range(6)]
        cases.append({
            'files': [{'seed': number, 'size': size,
                       'isPlain': numbers.random() < 0.3,
                       'path': 'a.trace' if number else 'a.tracepack',
                       'chunk': numbers.choice((5000, 131072, 900000)),
                       'breaks': numbers.choice((10 ** 12, 10 ** 12,
                                                 numbers.randrange(size)))}
                      for number, size in enumerate(sizes)],
            'steps': at_random(numbers, sizes, 4)})
    for case, seen in zip(cases, page(cases)):
        results.equal(seen['wrong'], [], 'reads at random')
        results.check(seen['streams'] > 0, 'some out of streams')
    for old, new in CHANGES:
        results.check(any(seen['wrong'] for seen in page(cases[:3], (old, new))),
                      'would be found: %s' % (new or 'no ' + old))


def main():
    results = programs.Results()
    if not shutil.which('node'):
        results.skip('how the viewer reads files: node is not there')
        return results.finish()
    check_pass(results)
    check_breaks(results)
    check_pieces(results)
    check_ends(results)
    check_list(results)
    check_random(results)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
