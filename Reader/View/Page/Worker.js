/*
 * Runs the reader (Viewer.wasm) over the files that the page was given: one
 * instance for each worker, with the whole session open, of which it reads
 * the threads that it is told to.
 *
 * It is asked by messages {id, op, ...} and answers {id, result | error}; with
 * an answer come the functions that are new since the last one.  In node the
 * same source runs as a worker thread, for the tests.
 */
"use strict";

(function () {
    const inNode = typeof process === "object" && !!process.versions &&
        !!process.versions.node;
    const port = inNode ? require("worker_threads").parentPort : self;

    // Pieces of levels that become a blob.
    const PARTS = 64;

    // Numbers of a function's or a node's sums.
    const FIELDS = 18;

    // Records at a time, between which messages are looked at.
    const SLICE = 0x8000;
    const SLICE_MS = 12;

    // What is left between them while the picture moves, so that it finds a
    // processor: two workers take half of one.
    const REST_MS = 36;

    // How long a question waits for the pass.
    const LATE_MS = 200;

    let wasm = null;
    let scratch = 0;
    const files = new WorkerFiles();
    let functionsSent = 0;
    let callersSent = 0;
    let passing = null;
    let known = new Map();
    let due = new Set();
    let late = [];
    let isMoving = false;
    let sumProgress = null;
    let kept = null;
    let given = new Set();

    const decoder = new TextDecoder();
    const encoder = new TextEncoder();

    function bytes(address, size) {
        return new Uint8Array(wasm.memory.buffer, address >>> 0, size);
    }

    const host = {
        read(number, offset, address, size) {
            return files.read(number, offset, bytes(address, size));
        },
        keep(address, size) {
            kept.push(bytes(address, size).slice());
            if (!inNode && kept.length % PARTS === 0) {
                kept.push(new Blob(kept.splice(kept.length - PARTS)));
            }
        },
        progress(records) {
            if (sumProgress) {
                sumProgress(records);
            }
        }
    };

    // Puts a text into the instance's memory, as UTF-16 or UTF-8, with a NUL.
    function putWide(text) {
        const address = wasm.allocate(text.length * 2 + 2) >>> 0;
        const to = new Uint16Array(wasm.memory.buffer, address,
            text.length + 1);
        for (let i = 0; i < text.length; i++) {
            to[i] = text.charCodeAt(i);
        }
        to[text.length] = 0;
        return address;
    }

    function putText(text) {
        const data = encoder.encode(text);
        const address = wasm.allocate(data.length + 1) >>> 0;
        bytes(address, data.length).set(data);
        return address;
    }

    function fields(count) {
        return new Uint32Array(wasm.memory.buffer, scratch, count);
    }

    function takeText(ask) {
        ask(scratch);
        const [address, size] = fields(2);
        return decoder.decode(bytes(address, size).slice());
    }

    function takeNotes() {
        return takeText(wasm.notes).replace(/\r/g, "").trim();
    }

    // Of modules without names, by which no numbers are lost.
    function takeNameNotes() {
        return takeText(wasm.nameNotes).replace(/\r/g, "").trim();
    }

    // What could not be read of the files, since this was asked last.
    function takeErrors() {
        const failed = files.list.filter((file) => file.error);
        const text = failed.map((file) => file.path.slice(2) + ": " +
            file.error).join("; ");
        for (const file of failed) {
            file.error = undefined;
        }
        return text;
    }

    function takeAnswer() {
        return JSON.parse(takeText(wasm.answer));
    }

    function newFunctions() {
        if (!wasm) {
            return [];
        }
        const count = wasm.describeFunctions(functionsSent);
        if (count === functionsSent) {
            return [];
        }
        functionsSent = count;
        return takeAnswer();
    }

    // The names of modules that called imports; a number that is not 0 is that
    // of one, from 1 on.
    function newCallers() {
        if (!wasm) {
            return [];
        }
        const count = wasm.describeCallers(callersSent);
        if (count === callersSent) {
            return [];
        }
        callersSent = count;
        return takeAnswer();
    }

    function fail(text) {
        throw new Error(text);
    }

    function addFile(entry, number) {
        if (entry.isReplaced) {
            return;
        }
        const path = putWide(entry.path);
        if (!wasm.addFile(path, entry.path.length, number, entry.size)) {
            fail("there is no memory for the list of files");
        }
        wasm.release(path);
    }

    const operations = {
        async open(message) {
            const instance = await WebAssembly.instantiate(message.module,
                { host });
            wasm = instance.exports;
            scratch = wasm.allocate(256) >>> 0;
            functionsSent = 0;
            callersSent = 0;
            if (!message.isAgain) {
                files.set(message.files);
                if (message.pieces) {
                    files.putPieces(message.pieces.list, message.pieces.bytes);
                }
                if (message.isFirst) {
                    await files.readEnds();
                }
            }
            given = new Set();
            known = new Map();
            due = new Set();
            files.list.forEach(addFile);
            wasm.setLive(message.isLive ? 1 : 0);
            const path = putWide(message.path);
            const text = putText(message.name);
            const isOpen = wasm.open(path, text, message.isLive ? 1 : 0,
                message.isAllRuns ? 1 : 0);
            const notes = takeNotes();
            if (!isOpen) {
                const reason = files.list.find((file) => file.error);
                const says = notes || "the session cannot be opened";
                wasm = null;
                fail(reason ? says + " (" + reason.path + ": " +
                    reason.error + ")" : says);
            }
            if (!message.isFirst) {
                return {};
            }
            wasm.describe();
            return { session: takeAnswer(), notes,
                pieces: message.isLive ? null : files.takePieces() };
        },

        describe() {
            wasm.describe();
            return { session: takeAnswer(), notes: takeNotes() };
        },

        // Files have become longer, or are new; the session goes on.
        refresh(message) {
            if (passing) {
                fail("the session is still being read");
            }
            files.set(message.files);
            files.list.forEach(addFile);
            due = new Set(known.keys());
            if (!wasm.refresh()) {
                fail(takeNotes() || "the session cannot be read again");
            }
            const notes = takeNotes();
            wasm.describe();
            return { session: takeAnswer(), notes };
        },

        // Reads threads, one after the other; told of in 'pass' messages.
        pass(message) {
            files.bytesRead = 0;
            passing = { threads: message.threads.slice(), id: message.id,
                mayRestore: !message.isLive, keeps: message.keeps || {},
                isLive: message.isLive };
            prepare();
            nextSlice();
            return DEFERRED;
        },

        // A running program's thread that is being read further is asked for
        // its records behind that, if that is soon: the levels alone, which it
        // can be asked for at any time, put short calls together.
        async query(message) {
            const until = Date.now() + LATE_MS;
            while (isRough(message) && Date.now() < until) {
                await new Promise((resolve) => {
                    late.push(resolve);
                    setTimeout(resolve, LATE_MS);
                });
            }
            const rough = isRough(message);
            return Object.assign(takeBoxes(message), { isRough: rough });
        },

        // What threads did in each pixel of a range: the sum of the shares in
        // which a call was open, calls that begin, and the innermost function
        // of most of it, with what made it that.
        activity(message) {
            const { begin, end, pixels } = message;
            const covered = new Float64Array(pixels);
            const functions = new Uint32Array(pixels).fill(0xFFFFFFFF);
            const calls = new Float64Array(pixels);
            const best = new Float64Array(pixels);
            const width = (end - begin) / pixels;
            for (const thread of message.threads) {
                const boxes = takeBoxes({ ...message, thread });
                if (boxes.count < 0) {
                    return {};
                }
                for (let i = 0; i < boxes.count; i++) {
                    const start = boxes.start[i], stop = boxes.stop[i];
                    const first = Math.max(0,
                        Math.floor((start - begin) / width));
                    const last = Math.min(pixels - 1,
                        Math.floor((stop - begin) / width));
                    if (start >= begin) {
                        calls[Math.min(pixels - 1, first)] += boxes.calls[i];
                    }
                    for (let p = first; p <= last; p++) {
                        const low = begin + p * width;
                        const part = Math.min(stop, low + width) -
                            Math.max(start, low);
                        const share = stop > start
                            ? part / width * boxes.covered[i] : 0;
                        if (boxes.depth[i] === 0) {
                            covered[p] += share;
                        }
                        const weight = share + boxes.depth[i];
                        if (share >= 0.3 && weight > best[p]) {
                            best[p] = weight;
                            functions[p] = boxes.function[i];
                        }
                    }
                }
            }
            return { covered, function: functions, calls, best };
        },

        // What a range adds up to, by function: FIELDS numbers of each.
        sums(message) {
            return withMask(message, (mask) => {
                const count = wasm.sum(message.isAll ? 1 : 0, message.begin,
                    message.end, mask) >>> 0;
                const notes = takeNotes();
                if (count === 0xFFFFFFFF) {
                    fail(notes || "the range could not be added up");
                }
                const address = wasm.allocate(count * FIELDS * 8 + 8) >>> 0;
                if (!address) {
                    fail('there is no memory for the sums');
                }
                wasm.sums(address);
                const sums = new Float64Array(wasm.memory.buffer, address,
                    count * FIELDS).slice();
                wasm.release(address);
                const local = new Uint32Array(count);
                for (let i = 0; i < count; i++) {
                    local[i] = i;
                }
                return { function: local, sums, notes };
            });
        },

        // The same by chain of calls; node 0 is the root.
        tree(message) {
            return withMask(message, (mask) => {
                const count = wasm.sumTree(message.isAll ? 1 : 0,
                    message.begin, message.end, mask) >>> 0;
                const notes = takeNotes();
                if (count === 0) {
                    fail(notes || "the call tree could not be built");
                }
                const address = wasm.allocate(count * (FIELDS * 8 + 10) + 8)
                    >>> 0;
                if (!address) {
                    fail("there is no memory for the call tree");
                }
                const functions = address + count * FIELDS * 8;
                const parents = functions + count * 4;
                const callers = parents + count * 4;
                wasm.nodes(functions, parents, callers, address);
                const buffer = wasm.memory.buffer;
                const result = {
                    sums: new Float64Array(buffer, address,
                        count * FIELDS).slice(),
                    function: new Uint32Array(buffer, functions,
                        count).slice(),
                    parent: new Int32Array(buffer, parents, count).slice(),
                    caller: new Uint16Array(buffer, callers, count).slice(),
                    notes
                };
                wasm.release(address);
                return result;
            });
        },

        // The calls of one function: how long they took, the slowest; or the
        // first, or the last, that begins in the range.
        calls(message) {
            return withMask(message, (mask) => {
                const done = wasm.findCalls(message.kind, message.module,
                    message.rva, message.isAll ? 1 : 0, message.begin,
                    message.end, mask);
                const result = takeAnswer();
                result.notes = takeNotes();
                result.isComplete = done !== 0;
                return result;
            });
        },

        // By what the levels of threads are kept; null: they cannot be.
        identify(message) {
            const identities = [];
            for (let id = 0; id < message.numberOfThreads; id++) {
                wasm.identify(id, scratch);
                const [low, high] = fields(2);
                identities.push(low || high
                    ? high.toString(16).padStart(8, "0") +
                        low.toString(16).padStart(8, "0") : null);
            }
            return { identities };
        },

        pace(message) {
            ({ isMoving } = message);
            return {};
        },

        // Files that instances have written (indexes) and the page has now,
        // with their numbers.
        moved(message) {
            for (const file of message.files) {
                files.list[file.number] = file;
                const path = putWide(file.path);
                wasm.moveWritten(path, file.path.length, file.number,
                    file.size);
                wasm.release(path);
            }
            return {};
        },

        // Takes what another instance has written (indexes).
        written(message) {
            for (const file of message.files) {
                const path = putWide(file.path);
                const address = wasm.allocate(file.bytes.length) >>> 0;
                bytes(address, file.bytes.length).set(file.bytes);
                wasm.addWritten(path, file.path.length, address,
                    file.bytes.length);
                wasm.release(path);
                given.add(file.path + file.bytes.length);
            }
            return {};
        },

        close() {
            if (wasm) {
                passing = null;
                wasm.close();
                wasm = null;
            }
            files.close();
            return {};
        }
    };

    function isReadNow(thread) {
        return passing !== null && passing.threads[0] === thread;
    }

    // Whether a picture is made of levels only because its thread is read
    // further now, or is going to be, and the range goes on behind that.
    function isRough({ thread, begin, end, pixels }) {
        return due.has(thread) &&
            (isReadNow(thread) || end > known.get(thread)) &&
            wasm.estimate(thread, begin, end, pixels) > 0;
    }

    // The boxes of a thread.
    function takeBoxes(message) {
        const depth = message.maxDepth === undefined ? 0xFFFFFFFF
                                                     : message.maxDepth;
        files.expect(message.atOnce || isReadNow(message.thread) ? 0
            : wasm.estimate(message.thread, message.begin, message.end,
                message.pixels));
        const count = wasm.query(message.thread, message.begin,
            message.end, message.pixels, depth,
            message.atOnce || 0) >>> 0;
        files.expect(null);
        if (count === 0xFFFFFFFF && message.atOnce) {
            takeNotes();
            return { count: -1 };
        }
        if (count === 0xFFFFFFFF) {
            fail(takeNotes() || takeErrors() ||
                "the records could not be read");
        }
        const room = count * 35 + 16;
        const address = wasm.allocate(room) >>> 0;
        if (!address) {
            fail("there is no memory for the answer");
        }
        wasm.boxes(address, count, depth);
        const buffer = wasm.memory.buffer;
        let at = address;
        const take = (Type) => {
            const part = new Type(buffer, at, count).slice();
            at += count * Type.BYTES_PER_ELEMENT;
            return part;
        };
        const result = { count };
        result.start = take(Float64Array);
        result.stop = take(Float64Array);
        result.covered = take(Float32Array);
        result.function = take(Uint32Array);
        result.calls = take(Uint32Array);
        result.depth = take(Uint16Array);
        result.track = take(Uint16Array);
        result.caller = take(Uint16Array);
        result.flags = take(Uint8Array);
        wasm.release(address);
        let depths = 0;
        for (let i = 0; i < count; i++) {
            if (result.depth[i] >= depths) {
                depths = result.depth[i] + 1;
            }
        }
        result.depths = depths;
        result.begin = message.begin;
        result.end = message.end;
        return result;
    }

    const DEFERRED = {};

    // Calls with the address of a byte for each thread, or 0: all.
    function withMask(message, call) {
        if (!message.threads) {
            return call(0);
        }
        const size = wasm.countThreads() >>> 0;
        const mask = wasm.allocate(size + 1) >>> 0;
        const to = bytes(mask, size);
        to.fill(0);
        for (const thread of message.threads) {
            to[thread] = 1;
        }
        try {
            return call(mask);
        } finally {
            wasm.release(mask);
        }
    }

    // What the instance has written: the path and a copy of the bytes.
    function takeWritten() {
        const list = [];
        while (wasm.getWritten(list.length, scratch)) {
            const [path, pathSize, address, size] = fields(4);
            const wide = new Uint16Array(wasm.memory.buffer, path,
                pathSize / 2);
            list.push({ path: String.fromCharCode(...wide),
                bytes: bytes(address, size).slice() });
        }

        // What the page has been given once, and has not said it keeps, is not
        // given again.
        const fresh = list.filter((file) => !given.has(file.path +
            file.bytes.length));
        for (const file of fresh) {
            given.add(file.path + file.bytes.length);
        }
        return fresh;
    }

    // Levels that were kept make the pass over a thread unnecessary.
    function takeKept(thread) {
        if (!passing.mayRestore) {
            return false;
        }
        passing.mayRestore = false;
        const keep = passing.keeps[thread];
        if (keep && keep.number !== undefined &&
            wasm.restore(thread, keep.number)) {
            return true;
        }
        return wasm.restore(thread, 0xFFFFFFFF) !== 0;
    }

    // The levels of a thread, for the page to keep.
    function giveLevels(thread) {
        if (!passing.keeps[thread]) {
            return null;
        }
        kept = [];
        const isWhole = wasm.save(thread) !== 0;
        const parts = kept;
        kept = null;
        return !isWhole ? null : inNode ? parts : new Blob(parts);
    }

    // The stores that are read now and next.
    function prepare() {
        for (const [at, thread] of passing.threads.slice(0, 2).entries()) {
            const keep = passing.keeps[thread];
            if (!passing.isLive && !(keep && keep.number !== undefined)) {
                files.prepare(wasm.firstFile(thread) >>> 0, at === 0);
            }
        }
    }

    function takeLosses(thread) {
        wasm.losses(thread);
        return takeAnswer();
    }

    function releaseLate() {
        late.splice(0).forEach((resolve) => resolve());
    }

    function passSlice() {
        try {
            readSlice();
        } catch (error) {
            if (passing === null) {
                throw error;
            }
            const { id } = passing;
            passing = null;
            releaseLate();
            port.postMessage({ id,
                error: String(error && error.message || error) });
        }
    }

    // A slice of the pass; messages that came meanwhile go first.
    function readSlice() {
        if (!passing || !wasm) {
            return;
        }
        const begun = Date.now();
        do {
            if (passing.threads.length === 0) {
                const id = passing.id;
                passing = null;
                answer(id, {});
                return;
            }
            const thread = passing.threads[0];
            const isRestored = takeKept(thread);
            const state = files.forPass(() =>
                wasm.pass(thread, SLICE, scratch));
            const [records, time] = new Float64Array(wasm.memory.buffer,
                scratch, 2);
            if (state !== 0) {
                files.dropAheads();
                passing.threads.shift();
                known.set(thread, time);
                due.delete(thread);
                releaseLate();
                prepare();
                passing.mayRestore = !passing.isLive;
            }
            const notes = state === 2 ? takeNotes() : "";
            if (state !== 0 || Date.now() - begun >= SLICE_MS) {
                port.postMessage({ event: "pass", thread, records, known: time,
                    isDone: state !== 0, notes, functions: newFunctions(),
                    callers: newCallers(), nameNotes: takeNameNotes(),
                    written: state !== 0 ? takeWritten() : [],
                    losses: state !== 0 ? takeLosses(thread) : [],
                    isRestored, bytesRead: files.bytesRead,
                    memory: wasm.memory.buffer.byteLength,
                    levels: state === 1 && !isRestored
                        ? giveLevels(thread) : null });
            }
        } while (!files.isBehind && Date.now() - begun < SLICE_MS);
        if (files.isBehind) {
            files.catchUp().then(goOn);
        } else {
            goOn();
        }
    }

    function goOn() {
        if (isMoving) {
            setTimeout(passSlice, REST_MS);
        } else {
            nextSlice();
        }
    }

    let nextSlice;
    if (inNode) {
        nextSlice = () => setImmediate(passSlice);
    } else {
        const channel = new MessageChannel();
        channel.port1.onmessage = passSlice;
        nextSlice = () => channel.port2.postMessage(0);
    }

    function answer(id, result) {
        const transfer = [];
        for (const value of [...Object.values(result),
            ...Object.values(result.pieces || {})]) {
            if (ArrayBuffer.isView(value)) {
                transfer.push(value.buffer);
            }
        }
        port.postMessage({ id, result, functions: newFunctions(),
            callers: newCallers(), nameNotes: wasm ? takeNameNotes() : "",
            bytesRead: files.bytesRead }, transfer);
    }

    // What comes while the session is being opened waits for it.
    let opening = null;

    async function take(message) {
        try {
            if (message.op === "open") {
                opening = operations.open(message);
                answer(message.id, await opening);
                return;
            }
            await opening;
            if (!wasm && message.op !== "close") {
                fail("no session is open");
            }
            const result = await operations[message.op](message);
            if (result !== DEFERRED) {
                answer(message.id, result);
            }
        } catch (error) {
            port.postMessage({ id: message.id,
                error: String(error && error.message || error) });
        }
    }

    if (inNode) {
        port.on("message", take);
    } else {
        port.onmessage = (event) => take(event.data);
    }
})();
