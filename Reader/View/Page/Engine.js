/*
 * The engine: opens a session's files and answers what the page asks of them.
 * It does not read anything itself: workers do, each with an instance of the
 * reader (Worker.js).  A thread of the session belongs to one of them.
 *
 * All times are ticks since the session's first record.
 */
"use strict";

class Engine {
    constructor(options) {
        this.wasm = options.wasm;
        this.workerSource = options.workerSource;
        this.keeper = options.keeper || null;
        this.numberOfWorkers = Math.max(1, options.workers || 2);
        this.workers = [];
        this.functions = [];
        this.functionIds = new Map();
        this.importers = [];
        this.session = null;
        this.nextId = 1;
        this.queries = new Map();
        this.module = null;
        this.adder = null;
        this.retired = new Set();
        this.finding = 0;
        this.peeker = null;
        this.written = [];
        this.trees = [];
        this.keeps = new Map();
        this.bytesRead = 0;
        this.pieces = null;
        this.nameNotes = new Set();
        this.onProblem = null;
        this.lastToken = 0;
        this.passing = null;
        this.isMoving = false;
        this.wasRough = false;
    }

    // Opens what was dropped: {path, file, handle}, file a File (in tests
    // {nodePath, size}).
    async open(files, onProgress, options) {
        try {
            return await this.openFiles(files, onProgress, options);
        } catch (error) {
            this.close();
            throw error;
        }
    }

    async openFiles(files, onProgress, options) {
        this.close();
        if (!this.module) {
            this.module = await WebAssembly.compile(this.wasm);
        }
        this.files = files;
        const plan = Engine.plan(files, options);
        this.plan = plan;
        this.functions = [];
        this.functionIds = new Map();
        this.importers = [];
        const list = files.map((entry) =>
            Engine.describeFile(entry, plan.prefix));
        this.list = list;
        this.hasIndex = files.some((f) => /\.trace\.index$/i.test(f.path) &&
            f.file.size > 0);
        this.isLive = Engine.mayGoOn(files);
        for (let i = 0; i < this.numberOfWorkers; i++) {
            this.workers.push(this.addWorker());
        }
        const opened = await this.openAll();
        this.session = this.makeSession(opened, plan);
        await this.findKept();
        this.shareThreads();
        if (this.session.threads.some((t) => this.mayPeek(
            { thread: t.id, begin: t.begin, end: t.begin + 1 }) &&
            (this.keeps.get(t.id) || {}).number === undefined)) {
            this.getPeeker();
        }
        if (onProgress) {
            onProgress({ done: 0, total: this.totalBytes() });
        }
        return this.session;
    }

    askAll(message) {
        return Promise.all(this.workers.map((worker) =>
            this.ask(worker, { ...message })));
    }

    // What the first worker says of the session; they all say the same.  What
    // it has read for that the others need not read; where there are fewer
    // threads than workers, some are not needed.
    async openAll() {
        this.pieces = null;
        let opened = await this.askFirst({ ...this.openMessage(),
            isFirst: true });
        if (this.isLive && !opened.session.threads.some((t) => t.isOpen)) {
            this.isLive = false;
            opened = await this.askFirst({ ...this.openMessage(),
                isFirst: true, isAgain: true });
        }
        while (this.workers.length > Math.max(1,
            opened.session.threads.length)) {
            Engine.stop(this.workers.pop());
        }
        this.pieces = opened.pieces;
        await Promise.all(this.workers.slice(1).map((worker) =>
            this.ask(worker, this.openMessage())));
        return opened;
    }

    openMessage() {
        return { op: "open", module: this.module, files: this.list,
            path: this.plan.path, name: this.plan.name, isLive: this.isLive,
            isAllRuns: this.plan.isAllRuns, pieces: this.pieces };
    }

    // What the stores are, as far as the page can tell without reading them.
    static fingerprint(files) {
        const texts = files.filter((f) => Engine.IS_READ.test(f.path))
            .map((f) => f.path.replace(/^.*[\\/]/, "") + "|" + f.file.size +
                "|" + (f.file.lastModified || 0)).sort();
        let one = 0x9E3779B9, other = 0x85EBCA6B;
        for (const text of texts) {
            for (let i = 0; i < text.length; i++) {
                const c = text.charCodeAt(i);
                one = Math.imul(one ^ c, 0x01000193);
                other = Math.imul(other ^ (c + i), 0x5BD1E995);
                other ^= other >>> 15;
            }
        }
        return (one >>> 0).toString(16).padStart(8, "0") +
            (other >>> 0).toString(16).padStart(8, "0");
    }

    // What was kept of the session's threads, when it was open before: levels,
    // and indexes.
    async findKept() {
        this.keeps = new Map();
        if (!this.keeper || this.isLive) {
            return;
        }
        const { identities } = await this.askFirst({ op: "identify",
            numberOfThreads: this.session.threads.length });
        const print = Engine.fingerprint(this.files);
        const threads = [];
        identities.forEach((identity, thread) => {
            if (identity !== null) {
                threads.push(thread);
                this.keeps.set(thread, { key: print + identity });
            }
        });
        const found = await this.keeper.find(threads.map(
            (thread) => this.keeps.get(thread).key));
        const files = [];
        for (const [i, thread] of threads.entries()) {
            if (!found[i]) {
                continue;
            }
            const { levels, indexes } = found[i];
            const keep = this.keeps.get(thread);
            keep.number = this.list.length;
            files.push(this.addFile("K\\" + keep.key, levels));
            for (const index of indexes) {
                const path = this.pathBeside(index.name);
                if (path !== null) {
                    files.push(this.addFile(path, index.data));
                }
            }
        }
        if (files.length) {
            await this.askAll({ op: "moved", files });
        }
    }

    // Where an index belongs; null: that is not clear.
    pathBeside(name) {
        const store = "\\" + name.replace(/\.index$/i, "");
        const found = this.list.filter((f) => f.path.endsWith(store));
        return found.length === 1 ? found[0].path + ".index" : null;
    }

    // Another file for the workers, or one instead of another: a blob, in
    // tests bytes.
    addFile(path, data) {
        const file = { path, number: this.list.length,
            size: data.size === undefined ? data.length : data.size };
        file[data.size === undefined ? "bytes" : "blob"] = data;
        for (const other of this.list) {
            other.isReplaced = other.isReplaced || other.path === path;
        }
        this.list.push(file);
        return file;
    }

    // Files that can be read again, and of which one is new enough that its
    // program may run.
    static mayGoOn(files) {
        const now = Date.now();
        return files.some((entry) => (entry.handle || entry.file.nodePath) &&
            /\.trace$/i.test(entry.path) &&
            now - (entry.file.lastModified || 0) < Engine.FRESH_MS);
    }

    // Which path of the reader's the session is: a pack, or the folder that
    // all stores are in, or that is above those.
    //
    // options.top: of several that were given, the one that is to be opened.
    // options.isAllRuns: not the newest run alone; what was given as several
    // is wanted as such.
    static plan(files, options) {
        const { top, isAllRuns } = options || {};
        const problems = [];
        const stores = files.filter((f) => /\.trace$/i.test(f.path));
        const packs = files.filter((f) => /\.(pack|tracepack)$/i.test(f.path));
        if (stores.length === 0 && packs.length === 0) {
            throw new Error("there is no .trace file and no pack in what " +
                "was given (" + files.length + " files)");
        }
        const plan = { problems, tops: Engine.tops(stores, packs),
            top: null, isAllRuns: Boolean(isAllRuns), prefix: [], depth: 0 };
        const pack = packs.find((f) => f.path === top) ||
            (stores.length === 0 ? packs[0] : null);
        if (pack) {
            return { ...plan, path: "W:\\S\\" + Engine.clean(pack.path),
                name: pack.path, top: pack.path, prefix: undefined };
        }
        const isTop = plan.tops.some((each) => each === top);
        plan.top = isTop ? top : null;
        let common = null;
        for (const store of stores) {
            const parts = Engine.clean(store.path).split("\\").slice(0, -1);
            if (isTop && parts[0] !== top) {
                continue;
            }
            if (common === null) {
                common = parts;
            }
            let same = 0;
            while (same < common.length && same < parts.length &&
                   common[same] === parts[same]) {
                same++;
            }
            common = common.slice(0, same);
        }
        plan.prefix = common;
        plan.isAllRuns = plan.isAllRuns || common.length === 0;
        const deep = new Set(stores.map((store) => Engine.clean(store.path)
            .split("\\").slice(0, -1)).filter((parts) => common.length &&
                parts.length > common.length + 1 &&
                common.every((part, i) => parts[i] === part))
            .map((parts) => parts.join("/")));
        for (const path of deep) {
            problems.push({ path, text: "is shown; TraceReader's commands " +
                "look into " + common.join("/") + " and the folders in it, " +
                "not deeper" });
        }
        return { ...plan, path: "W:\\" + ["S", ...common].join("\\"),
            name: common.join("/") || plan.tops.join(", ") ||
                "what was given" };
    }

    static clean(path) {
        return path.replace(/^[\\/]+/, "").replace(/\//g, "\\");
    }

    // What was given as several: the folders, and the packs.
    static tops(stores, packs) {
        const tops = new Set(stores.map((f) => Engine.clean(f.path))
            .filter((path) => path.includes("\\"))
            .map((path) => path.split("\\")[0]));
        const all = [...tops, ...packs.map((f) => f.path)];
        return all.length > 1 ? all : [];
    }

    // The reader looks at a folder and at those in it.  What lies deeper is for
    // it in one folder whose name has the names of all.
    static describeFile(entry, prefix) {
        const parts = Engine.clean(entry.path).split("\\");
        const depth = prefix === undefined ||
            prefix.some((part, i) => part !== parts[i]) ? 0 : prefix.length;
        const name = parts.pop();
        const below = parts.slice(depth);
        const path = ["S", ...parts.slice(0, depth),
            ...(prefix === undefined || below.length < 2 ? below
                : [below.join(" - ")]), name].join("\\");
        return entry.file.nodePath !== undefined
            ? { path, nodePath: entry.file.nodePath, size: entry.file.size }
            : { path, blob: entry.file, size: entry.file.size };
    }

    makeSession(opened, plan) {
        const raw = opened.session;
        const clock = { ticks: BigInt(raw.clockTicks),
            nanoseconds: BigInt(raw.clockNanoseconds) };
        const session = {
            problems: plan.problems.concat(raw.problems),
            ticksPerSecond: raw.tickRate,
            clock,
            granularity: raw.granularity,
            first: BigInt(raw.first),
            begin: 0,
            end: raw.end,
            startUtc: raw.startTime === "0" ? null
                : Number(BigInt(raw.startTime) / 10000n) - 11644473600000,
            hasTimes: raw.clockKind !== 2,
            hasTrees: raw.hasTrees,
            isLive: this.isLive,
            processes: raw.processes,
            threads: raw.threads,
            numberOfRuns: raw.numberOfRuns,
            modules: raw.modules,
            marks: raw.marks
        };
        if (raw.numberOfRuns > 1) {
            session.problems.push({ path: plan.name, text: raw.numberOfRuns +
                " runs are there; " + (plan.isAllRuns ? "all are shown"
                : "the newest is shown") });
        }
        for (const line of opened.notes.split("\n")) {
            if (line && !session.problems.some((p) => line.includes(p.text))) {
                session.problems.push({ path: plan.name,
                    text: line.replace(/^TraceReader: /, "") });
            }
        }
        session.problems.push(...this.nameProblems([...this.nameNotes]));
        for (const process of session.processes) {
            const own = session.threads.filter(
                (t) => t.process === process.id);
            process.threads = own.map((t) => t.id);
            process.begin = Math.min(...own.map((t) => t.begin));
            process.end = Math.max(...own.map((t) => t.end));
        }
        for (const process of session.processes) {
            process.alone = Engine.aloneOf(process, session);
        }
        const parts = new Map();
        for (const thread of session.threads) {
            thread.isLive = this.isLive && thread.isOpen;
            const notes = [];
            if (thread.eventsLost) {
                notes.push(thread.eventsLost + " events were lost");
            }
            if (thread.isOverwritten) {
                notes.push("the oldest records were overwritten");
            }
            thread.lost = notes.length ? notes.join("; ") : null;
            thread.part = (parts.get(thread.same) || 0) + 1;
            parts.set(thread.same, thread.part);
        }
        for (const mark of session.marks) {
            const threads = session.threads.filter((t) =>
                t.process === mark.process && t.tid === mark.tid);
            const thread = threads.findLast((t) => t.begin <= mark.time) ||
                threads[0];
            mark.thread = thread ? thread.id : null;
        }
        return session;
    }

    // The session as TraceReader has it with --process: what has this number.
    static aloneOf({ pid, clockTicks, clockNanoseconds }, session) {
        const own = session.processes.filter((p) => p.pid === pid);
        const begin = Math.min(...own.map((p) => p.begin));
        return { zero: begin, begin,
            end: Math.max(...own.map((p) => p.end)),
            clock: { ticks: BigInt(clockTicks),
                nanoseconds: BigInt(clockNanoseconds) },
            ticksPerSecond: session.ticksPerSecond,
            granularity: session.granularity, hasTimes: session.hasTimes };
    }

    addWorker() {
        const worker = { pending: new Map(), functionIds: [],
            importerIds: [0], threads: [], bytesRead: 0 };
        if (typeof Worker === "undefined") {
            const { Worker: Thread } = require("worker_threads");
            worker.thread = new Thread(this.workerSource, { eval: true });
            worker.thread.on("message", (m) => this.take(worker, m));
            worker.thread.on("error", (e) => this.fail(worker, e));
        } else {
            if (!this.url) {
                this.url = URL.createObjectURL(new Blob([this.workerSource],
                    { type: "text/javascript" }));
            }
            worker.thread = new Worker(this.url);
            worker.thread.onmessage = (e) => this.take(worker, e.data);
            worker.thread.onerror = (e) => this.fail(worker,
                new Error("a worker failed: " + e.message));
        }
        return worker;
    }

    static stop(worker) {
        worker.thread.terminate();
    }

    ask(worker, message) {
        return new Promise((resolve, reject) => {
            message.id = this.nextId++;
            worker.pending.set(message.id, { resolve, reject });
            worker.thread.postMessage(message);
        });
    }

    fail(worker, error) {
        for (const waiting of worker.pending.values()) {
            waiting.reject(error);
        }
        worker.pending.clear();
    }

    // A worker numbers functions as it meets them; here they have one number.
    learnFunctions(worker, functions) {
        for (const f of functions || []) {
            const key = f.module + ":" + f.rva;
            let id = this.functionIds.get(key);
            if (id === undefined) {
                id = this.functions.length;
                this.functionIds.set(key, id);
                this.functions.push({ id, name: f.name, module: f.moduleName,
                    moduleId: f.module, rva: f.rva, file: f.file || null,
                    line: f.line || null, waits: f.wait !== 0 });
            }
            worker.functionIds.push(id);
        }
    }

    // Likewise the modules that called imports, from 1 on: `caller` of boxes
    // and nodes; 0: what is no import, or it is not known.
    learnImporters(worker, names) {
        for (const name of names || []) {
            let id = this.importers.indexOf(name) + 1;
            if (id === 0) {
                id = this.importers.push(name);
            }
            worker.importerIds.push(id);
        }
    }

    // A module that called, as a function of its own.
    moduleOf(id) {
        const name = this.importers[id - Engine.MODULE - 1];
        return name === undefined ? undefined
            : { id, name: "[" + name + "]", module: name, isModule: true,
                file: null, line: null, waits: false };
    }

    // Who called, if it is an import and no function of the module that did is
    // around it: a module's id; null: the function above did.
    callingModule(caller, above) {
        if (!caller) {
            return null;
        }
        const around = this.functions[above];
        const small = (text) => text.replace(/[A-Z]/g,
            (letter) => letter.toLowerCase());
        return around &&
            small(around.module) === small(this.importers[caller - 1])
            ? null : Engine.MODULE + caller;
    }

    // Where no import is among them there are no callers.
    mapCallers(worker, result) {
        const { caller } = result;
        if (!caller.some((id) => id !== 0)) {
            delete result.caller;
            return;
        }
        for (let i = 0; i < caller.length; i++) {
            caller[i] = worker.importerIds[caller[i]];
        }
    }

    mapFunctions(worker, list) {
        const ids = worker.functionIds;
        for (let i = 0; i < list.length; i++) {
            if (list[i] !== 0xFFFFFFFF) {
                list[i] = ids[list[i]];
            }
        }
    }

    take(worker, message) {
        this.learnFunctions(worker, message.functions);
        this.learnImporters(worker, message.callers);
        if (message.nameNotes) {
            this.learnNameNotes(message.nameNotes);
        }
        if (message.bytesRead !== undefined) {
            this.bytesRead += message.bytesRead - worker.bytesRead;
            worker.bytesRead = message.bytesRead;
        }
        if (message.event === "pass") {
            this.takePass(worker, message);
            return;
        }
        const waiting = worker.pending.get(message.id);
        if (!waiting) {
            return;
        }
        worker.pending.delete(message.id);
        if (this.retired.has(worker) && worker.pending.size === 0) {
            this.retired.delete(worker);
            Engine.stop(worker);
        }
        if (message.error !== undefined) {
            waiting.reject(new Error(message.error));
            return;
        }
        if (message.result && message.result.function) {
            this.mapFunctions(worker, message.result.function);
            if (message.result.caller) {
                this.mapCallers(worker, message.result);
            }
        }
        waiting.resolve(message.result);
    }

    // Each worker says of each module once that it has no names.
    learnNameNotes(text) {
        const fresh = text.split("\n").map((line) =>
            line.replace(/^TraceReader: (warning: )?/, ""))
            .filter((line) => !this.nameNotes.has(line));
        for (const line of fresh) {
            this.nameNotes.add(line);
        }
        if (fresh.length && this.session) {
            this.session.problems.push(...this.nameProblems(fresh));
            queueMicrotask(() => this.onProblem?.());
        }
    }

    nameProblems(lines) {
        return lines.map((text) => ({ path: this.plan.name, text,
            isOfNames: true }));
    }

    // The threads with the most records first, each to whoever has the least,
    // who reads them in the order of the timeline's rows.
    shareThreads() {
        const load = this.workers.map(() => 0);
        const order = this.session.threads.slice()
            .sort((a, b) => b.records - a.records || a.id - b.id);
        this.workerOf = [];
        for (const thread of order) {
            const least = load.indexOf(Math.min(...load));
            load[least] += thread.records + 1;
            this.workers[least].threads.push(thread.id);
            this.workerOf[thread.id] = this.workers[least];
        }
        for (const worker of this.workers) {
            worker.threads.sort((a, b) => a - b);
        }
    }

    totalBytes() {
        return 16 * this.session.threads.reduce((n, t) => n + t.records, 0);
    }

    // Whether the picture moves: the pass leaves a processor to it then.
    pace(isMoving) {
        if (this.isMoving !== isMoving) {
            this.isMoving = isMoving;
            this.askAll({ op: "pace", isMoving }).catch(() => {});
        }
    }

    // Reads everything once.  Queries go on meanwhile.
    pass(onProgress) {
        this.passing = this.passAll(onProgress);
        this.passing.then(() => this.dropPeeker(), () => {});
        return this.passing;
    }

    async passAll(onProgress) {
        this.onPass = onProgress;
        this.toldAt = 0;
        this.passed = new Map();
        await Promise.all(this.workers.map((worker) => this.ask(worker,
            { op: "pass", threads: worker.threads, isLive: this.isLive,
                keeps: Object.fromEntries(this.keeps) })));
    }

    takePass(worker, message) {
        this.passed.set(message.thread, message.records);
        const thread = this.session.threads[message.thread];
        thread.known = message.isDone ? thread.end : message.known;
        thread.isPassed = thread.isPassed || message.isDone;
        if (message.notes) {
            this.session.problems.push({ path: "thread " + thread.tid,
                text: message.notes });
        }
        worker.memory = message.memory;
        if (message.isDone) {
            thread.losses = message.losses;
            thread.isRestored = message.isRestored;
        }
        const now = Date.now();
        if (this.onPass && now - this.toldAt >= Engine.TELL_MS) {
            this.toldAt = now;
            let done = 0;
            for (const records of this.passed.values()) {
                done += records * 16;
            }
            this.onPass({ done, total: this.totalBytes(),
                thread: message.thread });
        }
        if (message.isDone && !this.isLive) {
            this.keep(message);
        } else if (message.isDone && message.written.length) {
            this.written = this.written.filter(({ path }) =>
                !message.written.some((file) => file.path === path));
            this.written.push(...message.written);
            if (this.adder) {
                this.ask(this.adder, { op: "written",
                    files: message.written }).catch(() => {});
            }
            for (const other of this.workers) {
                if (other !== worker) {
                    this.ask(other, { op: "written",
                        files: message.written }).catch(() => {});
                }
            }
        }
    }

    // What a worker has written is the page's from now on, so that it is there
    // once; and what the pass over a thread has left is kept.
    keep(message) {
        const isBlob = typeof Worker !== "undefined";
        const indexes = message.written.map((file) => ({ path: file.path,
            name: file.path.replace(/^.*\\/, ""),
            data: isBlob ? new Blob([file.bytes]) : file.bytes }));
        const files = indexes.filter((index) =>
            !this.list.some((f) => f.isOfPass && f.path === index.path))
            .map((index) => this.addFile(index.path, index.data));
        for (const file of files) {
            file.isOfPass = true;
        }
        if (files.length) {
            for (const each of [...this.workers, this.adder, this.peeker]) {
                if (each) {
                    this.ask(each, { op: "moved", files }).catch(() => {});
                }
            }
        }
        if (message.levels) {
            const levels = isBlob ? message.levels
                : Engine.join(message.levels);
            this.keeper.put(this.keeps.get(message.thread).key, { levels,
                indexes: indexes.map(({ name, data }) => ({ name, data })) });
        }
    }

    static join(parts) {
        const whole = new Uint8Array(parts.reduce(
            (sum, part) => sum + part.length, 0));
        let at = 0;
        for (const part of parts) {
            whole.set(part, at);
            at += part.length;
        }
        return whole;
    }

    // Reads the files again, those that are given or those that there were,
    // and what is new in them.  Says whether anything is.
    async refresh(files) {
        if (!this.session || !this.isLive || this.refreshing) {
            return false;
        }
        this.refreshing = true;
        this.wasRough = false;
        try {
            const before = this.extent();
            const old = this.list;
            this.files = files || await Promise.all(this.files.map(
                async (entry) => ({ ...entry,
                    file: entry.handle ? await entry.handle.getFile()
                        : Engine.statAgain(entry.file) })));
            this.list = this.files.map((entry) =>
                Engine.describeFile(entry, this.plan.prefix));
            await Promise.all(this.workers.map((worker) => this.ask(worker,
                { op: "refresh", files: this.list })));
            let opened = await this.askFirst({ op: "describe" });
            this.updateSession(opened);
            const grown = this.extent();
            if (grown !== before || !Engine.areSame(old, this.list)) {
                this.forget();
            }
            await this.pass(this.onPass);
            opened = await Promise.all(this.workers.map(
                (worker) => this.ask(worker, { op: "describe" })));
            for (const [i, worker] of this.workers.entries()) {
                for (const id of worker.threads) {
                    const { end, records } = opened[i].session.threads[id];
                    Object.assign(this.session.threads[id],
                        { end, records });
                }
            }
            this.session.end = Math.max(this.session.end,
                ...this.session.threads.map((t) => t.end));
            for (const process of this.session.processes) {
                process.end = Math.max(...process.threads.map(
                    (id) => this.session.threads[id].end));
            }
            if (this.extent() !== grown) {
                this.forget();
            }
            return this.extent() !== before;
        } finally {
            this.refreshing = false;
        }
    }

    // How much there is of the session, as a text to compare.
    extent() {
        return JSON.stringify([this.session.marks.length,
            ...this.session.threads.map((t) => [t.records, t.end])]);
    }

    // Would files that were opened before still be read alike?
    static areSame(old, list) {
        return old.length === list.length && list.every((file, i) =>
            file.path === old[i].path && file.size === old[i].size &&
            file.blob?.lastModified === old[i].blob?.lastModified);
    }

    // What was added up is of less than there is now.  A worker that is asked
    // something gives its answer before it goes, or one that takes longer than
    // from one look at the session to the next would never come.
    forget() {
        if (this.adder && this.adder.list !== this.list) {
            if (this.adder.pending.size === 0) {
                Engine.stop(this.adder);
            } else {
                this.retired.add(this.adder);
            }
            this.adder = null;
        }
        this.trees = [];
    }

    static statAgain(file) {
        if (file.nodePath === undefined) {
            return file;
        }
        const stat = require("fs").statSync(file.nodePath);
        return { nodePath: file.nodePath, size: stat.size,
            lastModified: stat.mtimeMs };
    }

    askFirst(message) {
        return this.ask(this.workers[0], message);
    }

    // The session stays the same object; threads that are new get a worker.
    updateSession(opened) {
        const fresh = this.makeSession(opened, this.plan);
        const known = this.session.threads;
        for (const thread of fresh.threads) {
            const old = known[thread.id];
            if (old) {
                thread.end = Math.max(thread.end, old.end);
                thread.records = Math.max(thread.records, old.records);
                Object.assign(old, thread);
                fresh.threads[thread.id] = old;
            }
        }
        fresh.problems = this.session.problems.concat(fresh.problems.filter(
            (p) => !this.session.problems.some((q) => q.text === p.text)));
        fresh.end = Math.max(fresh.end, this.session.end);
        Object.assign(this.session, fresh);
        for (const thread of this.session.threads) {
            if (!this.workerOf[thread.id]) {
                const least = this.workers.reduce((a, b) =>
                    b.threads.length < a.threads.length ? b : a);
                least.threads.push(thread.id);
                this.workerOf[thread.id] = least;
            }
        }
    }

    static aborted() {
        const error = new Error("overtaken");
        error.name = "AbortError";
        return error;
    }

    // One query of a kind and a thread is under way; of those that come
    // meanwhile the last one waits, the others are given up.  run is given a
    // function that says whether its answer is still waited for.
    //
    // The promise has a token, by which cancel() takes the question back.
    latest(key, run) {
        const queue = this.queries.get(key) || { running: false, next: null,
            current: null };
        this.queries.set(key, queue);
        const token = ++this.lastToken;
        const promise = new Promise((resolve, reject) => {
            if (queue.next) {
                queue.next.reject(Engine.aborted());
            }
            queue.next = { run, resolve, reject, token };
            this.advance(queue);
        });
        promise.token = token;
        return promise;
    }

    advance(queue) {
        if (queue.running || !queue.next) {
            return;
        }
        const { run, resolve, reject, token } = queue.next;
        queue.next = null;
        queue.running = true;
        const current = queue.current = { token, reject };
        run(() => queue.current === current && !queue.next).then(resolve,
            reject).finally(() => {
            queue.running = false;
            queue.current = null;
            this.advance(queue);
        });
    }

    // Takes a question back: whoever waits for the answer is told at once.
    // What adds up stops in the middle; a picture that is being made is made,
    // which takes no time, and is thrown away.
    cancel(token) {
        for (const [key, queue] of this.queries) {
            if (queue.next && queue.next.token === token) {
                queue.next.reject(Engine.aborted());
                queue.next = null;
            } else if (queue.current && queue.current.token === token) {
                queue.current.reject(Engine.aborted());
                queue.current = null;
                if (key.startsWith("adder:")) {
                    this.dropAdder();
                }
            }
        }
    }

    // The answer is rough if it was given before a thread of a running program
    // was read further, which it shows less of than there is.
    query(options) {
        const key = "query:" + options.thread + ":" + (options.key || "");
        return this.latest(key, async () => {
            const message = { op: "query", thread: options.thread,
                begin: options.begin, end: options.end,
                pixels: options.pixels, maxDepth: options.maxDepth };
            const found = this.mayPeek(options)
                ? await this.peek(message) : null;
            if (found && found.count >= 0) {
                return found;
            }
            const answer = await this.ask(this.workerOf[options.thread],
                message);
            this.wasRough = this.wasRough || answer.isRough;
            return answer;
        });
    }

    // A short range that the pass has not come to: where an index says how to
    // get there, or the thread is short, the records are read at once, by a
    // worker that does nothing else.
    mayPeek({ thread, begin, end }) {
        const t = this.session.threads[thread];
        const length = Math.max(1, t.end - t.begin);
        return t.records > 0 && !t.isPassed && !(t.known >= end) &&
            !this.isLive &&
            t.records * (end - begin) / length < Engine.PEEK / 2 &&
            (t.records < Engine.SHORT || this.hasIndex);
    }

    getPeeker() {
        if (!this.peeker) {
            this.peeker = this.addWorker();
            this.ask(this.peeker, this.openMessage()).catch(() => {});
        }
        return this.peeker;
    }

    // null: the pass has ended meanwhile, so the thread's own worker knows.
    async peek(message) {
        try {
            return await this.ask(this.getPeeker(),
                { ...message, atOnce: Engine.PEEK });
        } catch (error) {
            if (error.name === "AbortError" && this.session) {
                return null;
            }
            throw error;
        }
    }

    dropPeeker() {
        if (this.peeker) {
            this.fail(this.peeker, Engine.aborted());
            Engine.stop(this.peeker);
            this.peeker = null;
        }
    }

    // What several threads did, for each pixel of a range: the share of the
    // time in which a call is open in one of them, averaged over those that
    // are; the function that is there innermost most of the time; calls.
    //
    // The workers add that up, some threads at a time, so that the timeline's
    // questions come between.
    async activity(options) {
        const { begin, end, pixels } = options;
        const ids = options.threads || this.session.threads.map((t) => t.id);
        const sum = Engine.emptyActivity(pixels);
        const parts = await Promise.all(this.workers.map((worker) =>
            this.activityOf(worker, ids, options)));
        for (const part of parts) {
            Engine.addActivity(sum, part);
        }
        return { function: sum.function, calls: sum.calls,
            covered: Float32Array.from(sum.covered,
                (share) => share / ids.length) };
    }

    // Of those that are a worker's.  Where the pass has not come to, a part of
    // the session is looked at, as for the boxes.
    async activityOf(worker, ids, options) {
        const { begin, end, pixels } = options;
        const isPart = begin > this.session.begin || end < this.session.end;
        const sum = Engine.emptyActivity(pixels);
        const own = ids.filter((id) => this.workerOf[id] === worker &&
            this.session.threads[id].mode !== "tree");
        const message = { op: "activity", begin, end, pixels,
            maxDepth: options.maxDepth || 64 };
        const known = [];
        for (const id of own) {
            const part = isPart && this.mayPeek({ thread: id, begin, end })
                ? await this.peek({ ...message, threads: [id] }) : null;
            if (part && part.calls) {
                Engine.addActivity(sum, part);
            } else {
                known.push(id);
            }
        }
        for (let i = 0; i < known.length; i += Engine.ACTIVITY) {
            Engine.addActivity(sum, await this.ask(worker, { ...message,
                threads: known.slice(i, i + Engine.ACTIVITY) }));
        }
        return sum;
    }

    static emptyActivity(pixels) {
        return { covered: new Float64Array(pixels),
            function: new Uint32Array(pixels).fill(0xFFFFFFFF),
            calls: new Float64Array(pixels),
            best: new Float64Array(pixels) };
    }

    static addActivity(sum, part) {
        for (let p = 0; p < sum.calls.length; p++) {
            sum.covered[p] += part.covered[p];
            sum.calls[p] += part.calls[p];
            if (part.best[p] > sum.best[p]) {
                sum.best[p] = part.best[p];
                sum.function[p] = part.function[p];
            }
        }
    }

    // Ranges are added up by a worker of their own, so that no picture waits.
    // Whoever is not wanted any more is stopped in the middle; what others have
    // asked begins again.
    dropAdder() {
        for (const adder of [this.adder, ...this.retired]) {
            if (adder) {
                this.fail(adder, Engine.aborted());
                Engine.stop(adder);
                adder.isDropped = true;
            }
        }
        this.adder = null;
        this.retired.clear();
    }

    // Nobody waits any longer for what is added up.
    stopAdding() {
        for (const [key, queue] of this.queries) {
            if (key.startsWith("adder:")) {
                Engine.abandon(queue);
            }
        }
        this.dropAdder();
    }

    static abandon(queue) {
        for (const each of [queue.next, queue.current]) {
            if (each) {
                each.reject(Engine.aborted());
            }
        }
        queue.next = queue.current = null;
    }

    askAdder(message) {
        const key = "adder:" + (message.key || message.op);
        const queue = this.queries.get(key);

        // To open a session of many files takes its time, too: it must be
        // worth it.
        if (queue && queue.running && this.adder && this.adder.isOpen &&
            Date.now() - this.adder.since >
                Math.max(Engine.PATIENCE_MS, 2 * this.adder.openTime)) {
            this.dropAdder();
        }
        return this.latest(key, async (isWanted) => {
            for (;;) {
                const adder = this.openAdder();
                try {
                    return await this.ask(adder, message);
                } catch (error) {
                    if (!adder.isDropped || !isWanted()) {
                        throw error;
                    }
                }
            }
        });
    }

    openAdder() {
        if (!this.adder) {
            const adder = this.addWorker();
            this.adder = adder;
            adder.list = this.list;
            const begun = Date.now();
            adder.isOpen = false;
            this.ask(adder, this.openMessage()).catch(() => {}).finally(() => {
                adder.isOpen = true;
                adder.since = Date.now();
                adder.openTime = adder.since - begun;
            });
            if (this.written.length) {
                this.ask(adder, { op: "written",
                    files: this.written }).catch(() => {});
            }
        }
        this.adder.since = Date.now();
        return this.adder;
    }

    // A range of the interface, for the reader: a whole session is one
    // without.
    rangeOf(options) {
        const begin = options.begin === undefined ? 0 : options.begin;
        const end = options.end === undefined || options.end === null
            ? this.session.end : options.end;
        const all = options.threads === undefined || options.threads === null
            || options.threads.length === this.session.threads.length;
        return { begin: Math.max(0, Math.ceil(begin)),
            end: Math.floor(end),
            isAll: begin <= 0 && end >= this.session.end,
            threads: all ? null : options.threads.slice() };
    }

    static statistics(sums, index) {
        const at = index * Engine.FIELDS;
        return { calls: sums[at], total: sums[at + 1], self: sums[at + 2],
            min: sums[at + 3], max: sums[at + 4], abandoned: sums[at + 5],
            abandonedTime: sums[at + 6] < 0 ? null : sums[at + 6],
            unfinished: sums[at + 7],
            begunBefore: sums[at + 8], waited: sums[at + 9],
            average: sums[at + 10], uncertain: sums[at + 11] };
    }

    // Of everything the pass has the sums already, each worker those of its
    // threads; while it goes on, that is waited for.
    async sumsOfPass(range) {
        if (range.threads === null ||
            !range.threads.every((id) => this.session.threads[id].isPassed)) {
            await this.passing;
        }
        const wanted = range.threads || this.session.threads.map((t) => t.id);
        const parts = await Promise.all(this.workers.map((worker) => {
            const threads = worker.threads.filter((id) =>
                wanted.includes(id));
            return threads.length ? this.ask(worker, { op: "sums", ...range,
                threads }) : null;
        }));
        return Engine.joinSums(parts.filter((part) => part !== null));
    }

    static joinSums(parts) {
        const F = Engine.FIELDS;
        const sums = new Map();
        for (const part of parts) {
            for (let i = 0; i < part.function.length; i++) {
                const one = part.sums.subarray(i * F, i * F + F);
                const known = sums.get(part.function[i]);
                if (known) {
                    Engine.addSums(known, one);
                } else {
                    sums.set(part.function[i], one.slice());
                }
            }
        }
        const all = new Float64Array(sums.size * F);
        [...sums.values()].forEach((one, i) => all.set(one, i * F));
        return { function: [...sums.keys()], sums: all,
            notes: [...new Set(parts.map((part) => part.notes)
                .filter((text) => text))].join("\n") };
    }

    // Adds one function's sums to another's (CoreAddStatistics); the average is
    // of sums that are longer than a double.
    static addSums(to, one) {
        if (one[0] !== one[5]) {
            to[3] = to[0] === to[5] ? one[3] : Math.min(to[3], one[3]);
            to[4] = Math.max(to[4], one[4]);
        }
        for (const i of [0, 1, 2, 5, 7, 8, 11, 15, 16, 17]) {
            to[i] += one[i];
        }
        to[6] = to[15] !== 0 && to[17] === 0 ? -1 : to[17];
        to[9] = Math.min(to[16], to[1]);
        const sum = Engine.longSum(to) + Engine.longSum(one);
        to[12] = Number(sum & 0xFFFFFFFFn);
        to[13] = Number(sum >> 32n & 0xFFFFFFFFn);
        to[14] = Number(sum >> 64n);
        const calls = to[0] - to[5] + to[15];
        to[10] = calls === 0 ? 0 : Number(sum / BigInt(calls));
    }

    static longSum(sums) {
        return (BigInt(sums[14]) << 64n) + (BigInt(sums[13]) << 32n) +
            BigInt(sums[12]);
    }

    // Of threads that lie in the range as a whole it is the same; but what is
    // in trees has no times, and is in no range.
    async sumsOfRange(range, key) {
        if (this.isLive || !this.passing) {
            return this.askAdder({ op: "sums", ...range, key });
        }
        if (range.isAll) {
            return this.sumsOfPass(range);
        }
        const wanted = range.threads || this.session.threads.map((t) => t.id);
        const isWhole = (id) => {
            const { isPassed, begin, end } = this.session.threads[id];
            return isPassed && !this.session.hasTrees &&
                begin > range.begin && end < range.end;
        };
        const whole = wanted.filter(isWhole);
        if (!whole.length) {
            return this.askAdder({ op: "sums", ...range, key });
        }
        const rest = wanted.filter((id) => !isWhole(id));
        const parts = [this.sumsOfPass({ ...range, isAll: true,
            threads: whole })];
        if (rest.length) {
            parts.push(this.askAdder({ op: "sums", ...range, threads: rest,
                key }));
        }
        return Engine.joinSums(await Promise.all(parts));
    }

    // As `TraceReader report`, from begin to end, both included.
    async sums(options) {
        const range = this.rangeOf(options);
        const answer = await this.sumsOfRange(range, options.key);
        const functions = [];
        for (let i = 0; i < answer.function.length; i++) {
            const s = Engine.statistics(answer.sums, i);
            if (s.calls !== 0) {
                functions.push({ function: answer.function[i], ...s });
            }
        }
        const notes = answer.notes || this.sayLost(range);
        return { functions, complete: notes === "", notes,
            ticks: range.end - range.begin };
    }

    // What the pass has found of a range that could not be read; the reader
    // itself says so of a store once.
    sayLost(range) {
        let lost = 0;
        for (const { id, losses } of this.session.threads) {
            if (!range.threads || range.threads.includes(id)) {
                for (const each of losses || []) {
                    lost += each.begin <= range.end && each.end >= range.begin
                        ? each.records : 0;
                }
            }
        }
        return lost ? lost + (lost === 1 ? " record" : " records") +
            (range.isAll ? "" : " around here") + " could not be read" : "";
    }

    // The whole tree of a range; the last few are kept.
    async wholeTree(options) {
        const range = this.rangeOf(options);
        const key = JSON.stringify(range);
        const known = this.trees.find((t) => t.key === key);
        if (known) {
            return known.tree;
        }
        const { trees } = this;
        const tree = await this.askAdder({ op: "tree", ...range,
            key: options.key });
        trees.unshift({ key, tree });
        trees.length = Math.min(trees.length, 3);
        return tree;
    }

    // As `TraceReader tree`.  With a limit, the nodes with the most time, and
    // those above them.
    async tree(options) {
        const tree = await this.wholeTree(options);
        const F = Engine.FIELDS;
        const count = tree.function.length;
        let chosen = null;
        if (options.limit && count > options.limit) {
            const order = Array.from({ length: count - 1 }, (_, i) => i + 1)
                .sort((a, b) => tree.sums[b * F + 1] - tree.sums[a * F + 1]);
            const keep = new Uint8Array(count);
            let kept = keep[0] = 1;
            for (const node of order) {
                if (kept >= options.limit) {
                    break;
                }
                for (let n = node; !keep[n]; n = tree.parent[n]) {
                    keep[n] = 1;
                    kept++;
                }
            }
            chosen = keep;
        }
        const place = new Int32Array(count).fill(-1);
        let next = 0;
        for (let i = 0; i < count; i++) {
            if (!chosen || chosen[i]) {
                place[i] = next++;
            }
        }
        const nodes = { function: new Uint32Array(next),
            parent: new Int32Array(next), calls: new Float64Array(next),
            total: new Float64Array(next), self: new Float64Array(next) };
        if (tree.caller) {
            nodes.caller = new Uint16Array(next);
        }
        for (let i = 0; i < count; i++) {
            const to = place[i];
            if (to < 0) {
                continue;
            }
            nodes.function[to] = tree.function[i];
            nodes.parent[to] = i === 0 ? -1 : place[tree.parent[i]];
            if (nodes.caller) {
                nodes.caller[to] = tree.caller[i];
            }
            nodes.calls[to] = tree.sums[i * F];
            nodes.total[to] = tree.sums[i * F + 1];
            nodes.self[to] = tree.sums[i * F + 2];
            if (i !== 0 && tree.parent[i] === 0) {
                nodes.calls[0] += nodes.calls[to];
                nodes.total[0] += nodes.total[to];
            }
        }
        return { nodes, left: count - next, notes: tree.notes };
    }

    // As `TraceReader callers` and `callees`, of the first level; a caller of
    // null is above the outermost call, and a module that called an import is
    // one (moduleOf).  `own` is the function itself.
    async edges(options, areCallees) {
        const tree = await this.wholeTree(options);
        const F = Engine.FIELDS;
        const count = tree.function.length;
        const first = new Int32Array(count).fill(-1);
        const next = new Int32Array(count).fill(-1);
        for (let i = count - 1; i > 0; i--) {
            next[i] = first[tree.parent[i]];
            first[tree.parent[i]] = i;
        }
        const rows = new Map();
        const own = Engine.emptyEdge(options.function);
        const edgesOf = (node) => {
            const edges = [];
            if (tree.function[node] === options.function) {
                edges.push(own);
            }
            const above = tree.parent[node];
            const of = areCallees ? tree.function[above] : tree.function[node];
            if (of === options.function && !(areCallees && above === 0)) {
                const caller = tree.caller ? tree.caller[node] : 0;
                const other = areCallees ? tree.function[node]
                    : this.callingModule(caller, tree.function[above]) ||
                        (above === 0 ? null : tree.function[above]);
                const key = areCallees ? other + ":" + caller : other;
                if (!rows.has(key)) {
                    const edge = Engine.emptyEdge(other);
                    rows.set(key, edge);
                    if (areCallees && caller) {
                        edge.caller = caller;
                    }
                }
                edges.push(rows.get(key));
            }
            return edges;
        };
        let node = first[0];
        while (node > 0) {
            for (const edge of edgesOf(node)) {
                Engine.addToEdge(edge, tree.sums, node * F);
            }
            if (first[node] !== -1) {
                node = first[node];
                continue;
            }
            while (node > 0) {
                for (const edge of edgesOf(node)) {
                    edge.open--;
                }
                if (next[node] !== -1) {
                    node = next[node];
                    break;
                }
                node = tree.parent[node];
            }
        }
        const list = [...rows.values()];
        for (const edge of [own, ...list]) {
            delete edge.open;
        }
        list.sort((a, b) => b.total - a.total || b.calls - a.calls);
        return { own, rows: list, notes: tree.notes };
    }

    static emptyEdge(id) {
        return { function: id, calls: 0, total: 0, self: 0, min: 0, max: 0,
            abandoned: 0, abandonedTime: 0, unfinished: 0, begunBefore: 0,
            waited: 0, open: 0 };
    }

    static addToEdge(edge, sums, at) {
        const isFirst = edge.calls === edge.abandoned;
        if (sums[at] !== sums[at + 5]) {
            if (isFirst || sums[at + 3] < edge.min) {
                edge.min = sums[at + 3];
            }
            edge.max = Math.max(edge.max, sums[at + 4]);
        }
        if (edge.open === 0) {
            edge.total += sums[at + 1];
            edge.abandonedTime += Math.max(0, sums[at + 6]);
            edge.waited += sums[at + 9];
        }
        edge.calls += sums[at];
        edge.self += sums[at + 2];
        edge.abandoned += sums[at + 5];
        edge.unfinished += sums[at + 7];
        edge.begunBefore += sums[at + 8];
        edge.open++;
    }

    callers(options) {
        return this.edges({ key: "callers", ...options }, false);
    }

    callees(options) {
        return this.edges({ key: "callees", ...options }, true);
    }

    // How long a function's calls take, and the slowest of them.
    async histogram(options) {
        const f = this.functions[options.function];
        const range = this.rangeOf(options);
        const answer = await this.askAdder({ op: "calls", kind: 0,
            module: f.moduleId, rva: f.rva, key: "histogram", ...range });
        const [p50, p90, p99, p999] = answer.percentiles;
        return { buckets: answer.buckets, calls: answer.calls,
            abandoned: answer.abandoned, max: answer.maximum,
            percentiles: { p50, p90, p99, p999 }, slowest: answer.found,
            complete: answer.isComplete, notes: answer.notes };
    }

    // The next call of a function that begins after a time, or the last one
    // before it.  Whoever asks for another gives up the one before.
    async find(options) {
        const f = this.functions[options.function];
        const all = this.session.threads.map((t) => t.id);
        const threads = options.threads || all;
        const turn = ++this.finding;
        const ask = (thread, kind, begin, end) => {
            if (turn !== this.finding) {
                throw Engine.aborted();
            }
            return this.askAdder({ op: "calls", kind, module: f.moduleId,
                rva: f.rva, isAll: false, begin, end, threads: [thread],
                key: "find" });
        };
        let best = null;
        for (const id of threads) {
            const thread = this.session.threads[id];
            if (options.direction >= 0) {
                const begin = Math.max(options.from + 1, thread.begin);
                const end = best ? best.begin - 1 : thread.end;
                if (begin <= end) {
                    const answer = await ask(id, 1, begin, end);
                    best = answer.found[0] || best;
                }
                continue;
            }
            // Backwards, in windows that become longer.
            let end = Math.min(options.from - 1, thread.end);
            let length = Math.max(1, (thread.end - thread.begin) / 4096);
            const least = best ? best.begin + 1 : thread.begin;
            while (end >= least) {
                const begin = Math.max(least, Math.floor(end - length));
                const answer = await ask(id, 2, begin, end);
                if (answer.found.length) {
                    best = answer.found[0];
                    break;
                }
                end = begin - 1;
                length *= 4;
            }
        }
        if (!best) {
            return null;
        }
        const boxes = await this.query({ thread: best.thread,
            begin: best.begin, end: best.begin + 1, pixels: 1,
            maxDepth: best.depth + 1, key: "find" });
        for (let i = 0; i < boxes.count; i++) {
            if (boxes.start[i] === best.begin && boxes.depth[i] === best.depth
                && boxes.calls[i] === 1) {
                best.end = boxes.stop[i];
            }
        }
        return best;
    }

    // Nanoseconds since the session's begin, as TraceReader shows times and
    // --from and --to take them; and back: the first tick that is not before.
    nanoseconds(ticks) {
        const { clock } = this.session;
        if (clock.ticks === 0n) {
            return Math.floor(ticks);
        }
        return Number(BigInt(Math.floor(ticks)) * clock.nanoseconds /
            clock.ticks);
    }

    ticks(nanoseconds) {
        const { clock } = this.session;
        if (clock.ticks === 0n) {
            return Math.ceil(nanoseconds);
        }
        const n = BigInt(Math.ceil(nanoseconds)) * clock.ticks;
        return Number((n + clock.nanoseconds - 1n) / clock.nanoseconds);
    }

    close() {
        for (const worker of this.workers) {
            this.fail(worker, Engine.aborted());
            Engine.stop(worker);
        }
        for (const queue of this.queries.values()) {
            Engine.abandon(queue);
        }
        this.dropAdder();
        this.dropPeeker();
        this.workers = [];
        this.written = [];
        this.pieces = null;
        this.nameNotes = new Set();
        this.trees = [];
        this.session = null;
        this.queries = new Map();
        this.passing = null;
        this.isMoving = false;
        this.bytesRead = 0;
    }
}

Engine.FIELDS = 18;
Engine.MODULE = 0x80000000;     // ids from here on are moduleOf's
Engine.IS_READ = /\.(trace|pack|tracepack)$/i;
Engine.FRESH_MS = 60000;
Engine.PATIENCE_MS = 1000;
Engine.TELL_MS = 50;
Engine.PEEK = 400000;
Engine.ACTIVITY = 8;
Engine.SHORT = 2000000;

if (typeof module !== "undefined") {
    module.exports = { Engine };
}
