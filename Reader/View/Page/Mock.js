//
// An engine over calls that are made up, with the interface of the real one:
// for building the page, and for tests of the page alone.
//

class MockEngine {
    constructor({ threads = 100, processes = 3, marks = 10000,
                  calls = 20000 } = {}) {
        this.size = { threads, processes, marks, calls };
        this.functions = [];
        this.stores = new Map();
        this.known = new Set();
        this.session = null;
        this.tokens = new Map();
    }

    //
    // A generator that gives the same everywhere.
    //

    static random(seed) {
        let state = seed >>> 0 || 1;
        return () => {
            state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d);
            state = Math.imul(state ^ state >>> 12, 0x297a2d39);
            state = (state ^ state >>> 15) >>> 0;
            return (state = (state + 0x9e3779b9) >>> 0) / 4294967296;
        };
    }

    async open() {
        const random = MockEngine.random(7);
        const { size } = this;
        const end = 24e9;
        const words = ['Read', 'Write', 'Parse', 'Hash', 'Index', 'Sort',
                       'Lock', 'Wait', 'Draw', 'Send', 'Find', 'Merge'];
        const things = ['Block', 'Node', 'Table', 'Page', 'Queue', 'Stream',
                        'Buffer', 'Row', 'Key'];
        const modules = [];
        const processes = [];
        const threads = [];
        const programs = ['indexer.exe', 'server.exe', 'worker.exe'];
        for (let i = 0; i < size.processes; i++) {
            processes.push({
                id: i, pid: 1000 + 4 * i, program: 'C:\\build\\' +
                    programs[i % programs.length], begin: i * 1e8,
                end: end - i * 2e8, parent: i ? 0 : null,
                exitCode: i === 1 ? null : 0, threads: []
            });
            modules.push({ id: i, process: i,
                           name: programs[i % programs.length],
                           path: processes[i].program });
        }
        for (const word of words) {
            for (const thing of things) {
                const id = this.functions.length;
                this.functions.push({
                    id, name: id % 5 === 4
                        ? 'engine::storage::' + thing + '<std::basic_string' +
                            '<char, std::char_traits<char> >, engine::' +
                            thing + 'Traits>::' + word
                        : word + thing,
                    module: programs[id % programs.length],
                    file: 'C:\\source\\' + thing + '.cpp',
                    line: 10 + id * 7
                });
            }
        }
        for (let i = 0; i < size.threads; i++) {
            const process = processes[i % size.processes];
            process.threads.push(i);
            threads.push({
                id: i, process: process.id, tid: 2000 + 4 * i,
                name: i % 7 === 0 ? 'Pool ' + i / 7 : '', begin: process.begin +
                    Math.floor(random() * 1e8), end: process.end,
                mode: ['file', 'compact', 'ring'][i % 3],
                records: size.calls * 2, isLive: false,
                lost: i === 5 ? '1,024 records had no room' : null
            });
        }
        const marks = [];
        for (let i = 0; i < size.marks; i++) {
            marks.push({ time: Math.floor(random() * end), process: i %
                size.processes, thread: i % 3 ? i % size.threads : null,
                         text: (i % 2 ? 'request ' : 'frame ') + i });
        }
        marks.sort((one, other) => one.time - other.time);
        this.session = {
            problems: [{ path: 'session/2020.trace',
                         text: 'damaged: block 17 has a wrong checksum' }],
            ticksPerSecond: 3e9, begin: 0, end,
            startUtc: Date.UTC(2026, 10, 26, 14, 3, 22), isLive: false,
            processes, threads, modules, marks
        };
        return this.session;
    }

    async pass(onProgress) {
        const { threads } = this.session;
        for (let i = 0; i < threads.length; i++) {
            await new Promise(resolve => setTimeout(resolve, 5));
            this.storeOf(threads[i].id);
            this.known.add(threads[i].id);
            onProgress({ done: i + 1, total: threads.length,
                         thread: threads[i].id });
        }
    }

    //
    // A thread's calls, by depth: an array of starts, one of stops, and sums
    // of what they cover.
    //

    storeOf(id) {
        let store = this.stores.get(id);
        if (store) {
            return store;
        }
        const thread = this.session.threads[id];
        const random = MockEngine.random(id + 1);
        const calls = [];
        const fill = (begin, end, depth, budget) => {
            const span = end - begin;
            const most = depth === 0 ? Math.min(budget, 120)
                : Math.min(budget, 2 + Math.floor(random() * 6));
            const base = Math.floor(random() * this.functions.length);
            let time = begin;
            for (let i = 0; i < most && depth < 14; i++) {
                const share = (0.3 + random() * 0.7) / most;
                const start = Math.floor(time + span / most * 0.15 * random());
                const stop = Math.floor(start + span * share * 0.85);
                if (stop - start < 4 || stop >= end) {
                    return;
                }
                calls.push({ start, stop, depth,
                             function: (base + Math.floor(random() * 4)) %
                                 this.functions.length,
                             flags: random() < 0.002 ? 1 : 0 });
                fill(start, stop, depth + 1, Math.floor(budget / most) - 1);
                time = begin + span * (i + 1) / most;
            }
        };
        fill(thread.begin, thread.end, 0, this.size.calls);
        const byDepth = [];
        for (const call of calls) {
            (byDepth[call.depth] = byDepth[call.depth] || []).push(call);
        }
        store = byDepth.map(list => {
            list.sort((one, other) => one.start - other.start);
            const row = {
                start: Float64Array.from(list, each => each.start),
                stop: Float64Array.from(list, each => each.stop),
                function: Uint32Array.from(list, each => each.function),
                flags: Uint8Array.from(list, each => each.flags |
                    (this.functions[each.function].name.includes('Wait')
                        ? 4 : 0)),
                sum: new Float64Array(list.length + 1)
            };
            list.forEach((each, i) => {
                row.sum[i + 1] = row.sum[i] + each.stop - each.start;
            });
            return row;
        });
        this.stores.set(id, store);
        return store;
    }

    static above(array, value) {
        let low = 0, high = array.length;
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (array[middle] > value) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    //
    // Answers come late, and only to the newest question.
    //

    async wait(key) {
        const token = {};
        this.tokens.set(key, token);
        await new Promise(resolve => setTimeout(resolve, 8));
        if (this.tokens.get(key) !== token) {
            throw new DOMException('overtaken', 'AbortError');
        }
    }

    async query({ thread, begin, end, pixels, maxDepth = 1000 }) {
        await this.wait('query ' + thread);
        const found = [];
        if (!this.known.has(thread)) {
            const about = this.session.threads[thread];
            found.push([about.begin, about.end, 0, 0, 2, 1, 8 | 16]);
            return MockEngine.pack(found, begin, end, 1);
        }
        const store = this.storeOf(thread);
        const pixel = (end - begin) / pixels;
        const depths = Math.min(store.length, maxDepth);
        for (let depth = 0; depth < depths; depth++) {
            const row = store[depth];
            let i = Math.max(MockEngine.above(row.stop, begin), 0);
            while (i < row.start.length && row.start[i] < end) {
                if (row.stop[i] - row.start[i] >= pixel) {
                    found.push([row.start[i], row.stop[i], depth,
                                row.function[i], 1, 1, row.flags[i]]);
                    i++;
                    continue;
                }
                let next = i + 1;
                const limit = row.start[i] + pixel;
                while (next < row.start.length && row.stop[next] <= limit) {
                    next++;
                }
                if (next === i + 1) {
                    found.push([row.start[i], row.stop[i], depth,
                                row.function[i], 1, 1, row.flags[i]]);
                } else {
                    found.push([row.start[i], row.stop[next - 1], depth,
                                row.function[i], next - i,
                                (row.sum[next] - row.sum[i]) /
                                    (row.stop[next - 1] - row.start[i]), 8]);
                }
                i = next;
            }
        }
        return MockEngine.pack(found, begin, end, depths);
    }

    static pack(found, begin, end, depths) {
        const part = (type, at) => type.from(found, each => each[at]);
        return {
            begin, end, depths, count: found.length,
            start: part(Float64Array, 0), stop: part(Float64Array, 1),
            depth: part(Uint16Array, 2), function: part(Uint32Array, 3),
            calls: part(Uint32Array, 4), covered: part(Float32Array, 5),
            flags: part(Uint8Array, 6)
        };
    }

    async activity({ threads, begin, end, pixels }) {
        await this.wait('activity ' + threads.join());
        const covered = new Float32Array(pixels);
        const functions = new Uint32Array(pixels);
        const calls = new Float64Array(pixels);
        const width = (end - begin) / pixels;
        for (const thread of threads) {
            if (!this.known.has(thread)) {
                continue;
            }
            const row = this.storeOf(thread)[0];
            if (!row) {
                continue;
            }
            let i = MockEngine.above(row.stop, begin);
            for (; i < row.start.length && row.start[i] < end; i++) {
                const first = Math.max(0, Math.floor((row.start[i] - begin) /
                    width));
                const last = Math.min(pixels - 1,
                    Math.floor((row.stop[i] - begin) / width));
                for (let x = first; x <= last; x++) {
                    covered[x] += (Math.min(row.stop[i], begin + (x + 1) *
                        width) - Math.max(row.start[i], begin + x * width)) /
                        width / threads.length;
                    functions[x] = row.function[i];
                    calls[x]++;
                }
            }
        }
        return { covered, function: functions, calls };
    }

    //
    // All calls that overlap a range, with what their callees take.
    //

    *callsOf(threads, begin, end) {
        for (const thread of threads || this.session.threads.map(
            each => each.id)) {
            const store = this.storeOf(thread);
            const cut = (row, i) => Math.min(row.stop[i], end) -
                Math.max(row.start[i], begin);
            for (let depth = 0; depth < store.length; depth++) {
                const row = store[depth], below = store[depth + 1];
                let i = MockEngine.above(row.stop, begin);
                for (; i < row.start.length && row.start[i] < end; i++) {
                    let self = cut(row, i);
                    if (below) {
                        let k = MockEngine.above(below.stop, row.start[i]);
                        for (; k < below.start.length &&
                             below.start[k] < row.stop[i]; k++) {
                            if (below.stop[k] > begin &&
                                below.start[k] < end) {
                                self -= cut(below, k);
                            }
                        }
                    }
                    yield { thread, depth, begin: row.start[i],
                            end: row.stop[i], function: row.function[i],
                            total: cut(row, i), self,
                            isAbandoned: row.flags[i] & 1 };
                }
            }
        }
    }

    parentOf(call) {
        if (call.depth === 0) {
            return null;
        }
        const row = this.storeOf(call.thread)[call.depth - 1];
        return row.function[MockEngine.above(row.start, call.begin) - 1];
    }

    async sums({ threads = null, begin, end }) {
        await this.wait('sums');
        const rows = new Map();
        for (const call of this.callsOf(threads, begin, end)) {
            let row = rows.get(call.function);
            if (!row) {
                row = { function: call.function, calls: 0, total: 0, self: 0,
                        min: Infinity, max: 0, abandoned: 0, waited: null };
                rows.set(call.function, row);
            }
            row.calls++;
            row.total += call.total;
            row.self += call.self;
            row.min = Math.min(row.min, call.end - call.begin);
            row.max = Math.max(row.max, call.end - call.begin);
            row.abandoned += call.isAbandoned;
        }
        return { functions: [...rows.values()], complete: true,
                 ticks: end - begin };
    }

    async tree({ threads = null, begin, end, limit = 100000 }) {
        await this.wait('tree');
        const nodes = [{ function: 0xffffffff, parent: -1, calls: 0, total: 0,
                         self: 0, below: new Map() }];
        let chain = [], at = null;
        const calls = [...this.callsOf(threads, begin, end)].sort(
            (one, other) => one.thread - other.thread ||
                one.begin - other.begin || one.depth - other.depth);
        for (const call of calls) {
            if (call.thread !== at) {
                at = call.thread;
                chain = [0];
            }
            chain.length = Math.min(chain.length, call.depth + 1);
            const parent = chain[chain.length - 1];
            let index = nodes[parent].below.get(call.function);
            if (index === undefined) {
                if (nodes.length >= limit) {
                    continue;
                }
                index = nodes.length;
                nodes[parent].below.set(call.function, index);
                nodes.push({ function: call.function, parent, calls: 0,
                             total: 0, self: 0, below: new Map() });
            }
            nodes[index].calls++;
            nodes[index].total += call.total;
            nodes[index].self += call.self;
            if (call.depth === 0) {
                nodes[0].total += call.total;
            }
            chain.push(index);
        }
        const part = (type, name) => type.from(nodes, each => each[name]);
        return { nodes: {
            function: part(Uint32Array, 'function'),
            parent: part(Int32Array, 'parent'),
            calls: part(Float64Array, 'calls'),
            total: part(Float64Array, 'total'),
            self: part(Float64Array, 'self')
        } };
    }

    async related(key, { function: id, threads = null, begin, end }, of) {
        await this.wait(key);
        const rows = new Map();
        for (const call of this.callsOf(threads, begin, end)) {
            const [mine, other] = of(call);
            if (mine !== id) {
                continue;
            }
            const row = rows.get(other) || { function: other, calls: 0,
                                             total: 0, self: 0 };
            rows.set(other, row);
            row.calls++;
            row.total += call.total;
            row.self += call.self;
        }
        const own = { function: id, calls: 0, total: 0, self: 0 };
        for (const call of this.callsOf(threads, begin, end)) {
            if (call.function === id) {
                own.calls++;
                own.total += call.total;
                own.self += call.self;
            }
        }
        return { own, rows: [...rows.values()] };
    }

    callers(what) {
        return this.related('callers', what,
                            call => [call.function, this.parentOf(call)]);
    }

    callees(what) {
        return this.related('callees', what,
                            call => [this.parentOf(call), call.function]);
    }

    async histogram({ function: id, threads = null, begin, end }) {
        await this.wait('histogram');
        const calls = [];
        for (const call of this.callsOf(threads, begin, end)) {
            if (call.function === id) {
                calls.push(call);
            }
        }
        const length = call => call.end - call.begin;
        calls.sort((one, other) => length(one) - length(other));
        const buckets = [];
        for (const call of calls) {
            const from = 2 ** (Math.floor(Math.log2(Math.max(length(call), 1)) *
                4) / 4);
            let last = buckets[buckets.length - 1];
            if (!last || last.from !== from) {
                last = { from, to: from * 2 ** 0.25, calls: 0 };
                buckets.push(last);
            }
            last.calls++;
        }
        const at = share => calls.length
            ? length(calls[Math.min(calls.length - 1,
                                    Math.ceil(share * calls.length) - 1)]) : 0;
        return {
            buckets,
            percentiles: { p50: at(0.5), p90: at(0.9), p99: at(0.99),
                           p999: at(0.999) },
            slowest: calls.slice(-100).reverse().map(
                ({ thread, begin: from, end: to, depth }) =>
                    ({ thread, begin: from, end: to, depth }))
        };
    }

    async find({ function: id, threads = null, from, direction }) {
        await this.wait('find');
        let best = null;
        for (const call of this.callsOf(threads, 0, Infinity)) {
            const by = direction * (call.begin - from);
            if (call.function === id && by > 0 &&
                (best === null || by < direction * (best.begin - from))) {
                best = call;
            }
        }
        return best && { thread: best.thread, begin: best.begin,
                         end: best.end, depth: best.depth };
    }

    async refresh() {
        if (!this.session.isLive) {
            return false;
        }
        this.session.end += 1e8;
        return true;
    }

    cancel() {
        this.tokens.clear();
    }

    close() {
        this.stores.clear();
    }
}
