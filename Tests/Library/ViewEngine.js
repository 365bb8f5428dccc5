// Runs the viewer's engine (Reader/View/Page) over sessions, without a browser.
//
//     node ViewEngine.js PAGE-FOLDER WASM < REQUESTS
//
// REQUESTS is JSON: a list of {path, steps: [{op, ...}]}; each op is a method
// of the engine.  Writes JSON: for each session {session, results} or {error};
// what an op throws is {error} in its place.  path may be a list: what is given
// at once.  Requests with the same keeper have what the others have kept there;
// with damage one byte of each of these is another first, at that share of it.
"use strict";

const fs = require("fs");
const path = require("path");

const [page, wasm] = process.argv.slice(2);
const { Engine } = require(path.resolve(page, "Engine.js"));

function collect(place, isFresh) {
    const found = [];
    const walk = (at, name) => {
        const stat = fs.statSync(at);
        if (!stat.isDirectory()) {
            found.push({ path: name, handle: null,
                file: { nodePath: at, size: stat.size,
                    lastModified: isFresh ? stat.mtimeMs : 0 } });
            return;
        }
        for (const entry of fs.readdirSync(at).sort()) {
            walk(path.join(at, entry), name + "/" + entry);
        }
    };
    walk(place, path.basename(place));
    return found;
}

// What the page keeps in the browser's database, in memory.
class Keeper {
    constructor() {
        this.kept = new Map();
    }

    async find(keys) {
        return keys.map((key) => this.kept.get(key) || null);
    }

    async put(key, one) {
        this.kept.set(key, one);
    }

    damage(share) {
        for (const one of this.kept.values()) {
            one.levels = one.levels.slice();
            one.levels[Math.floor((one.levels.length - 1) * share)] ^= 0x41;
        }
    }
}

const keepers = new Map();

function keeperOf({ keeper, damage }) {
    if (keeper === undefined) {
        return null;
    }
    if (!keepers.has(keeper)) {
        keepers.set(keeper, new Keeper());
    }
    if (damage !== undefined) {
        keepers.get(keeper).damage(damage);
    }
    return keepers.get(keeper);
}

function plain(value) {
    return JSON.parse(JSON.stringify(value, (_, v) =>
        typeof v === "bigint" ? String(v)
        : ArrayBuffer.isView(v) ? Array.from(v) : v));
}

// The functions by name, as what is compared knows them.
function nameOf(engine, id) {
    if (id === null || id === 0xFFFFFFFF) {
        return null;
    }
    const f = engine.functions[id] || engine.moduleOf(id);
    return f ? f.module + "!" + f.name : "?" + id;
}

async function runStep(engine, step) {
    const { op, ...options } = step;
    if (options.name !== undefined) {
        const found = engine.functions.find(
            (f) => f.module + "!" + f.name === options.name);
        if (!found) {
            return { error: "there is no function " + options.name };
        }
        options.function = found.id;
    }
    switch (op) {
    case "pass": {
        let told = 0;
        await engine.pass(() => { told++; });
        return { told };
    }
    case "during": {
        // What is asked while the pass goes on.
        const pass = engine.pass();
        const answers = [];
        for (const inner of options.steps) {
            answers.push(await runStep(engine, inner));
        }
        await pass;
        return { answers };
    }
    case "refresh": {
        // Files take the places of others before, as if they had grown; some
        // is asked meanwhile.
        for (const [from, to] of options.copies) {
            fs.copyFileSync(from, to);
        }
        const adder = engine.adder;
        const asked = options.asked && engine[options.asked.what](
            options.asked);
        const refresh = engine.refresh(collect(options.path, true));
        const answers = [];
        for (const inner of options.steps || []) {
            answers.push(await runStep(engine, inner));
        }
        return { changed: await refresh, answers,
            isKept: adder !== null && engine.adder === adder,
            asked: plain(await asked || null),
            retired: engine.retired.size };
    }
    case "pace":
        engine.pace(true);
        return {};
    case "cost":
        return { bytesRead: engine.bytesRead,
            restored: engine.session.threads.map((t) => t.isRestored) };
    case "cancel": {
        const promise = engine[options.what](options);
        const said = promise.then(() => "answered", (error) => error.name);
        if (options.isLate) {
            await new Promise((done) => setTimeout(done, 50));
        }
        engine.cancel(promise.token === undefined ? engine.lastToken
            : promise.token);
        return { said: await said };
    }
    case "disturbed": {
        // The worker that adds up is stopped while it is asked, as it is when
        // a running program's session grows, or somebody else's question has
        // become old.
        const promise = engine[options.what](options);
        for (const wait of options.waits) {
            await new Promise((done) => setTimeout(done, wait));
            engine.dropAdder();
        }
        return plain(await promise);
    }
    case "together": {
        // Asked one after the other without waiting for an answer.
        const asked = options.functions.map((name) => engine[options.what]({
            ...options, function: engine.functions.find(
                (f) => f.module + "!" + f.name === name).id }));
        return { said: await Promise.all(asked.map((one) => one.then(
            (answer) => plain(answer), (error) => error.name))) };
    }
    case "stopped": {
        // Two that wait, of which the second is asked when the first has
        // become a thing of the past.
        const asked = [0, 1].map(() => engine[options.what](options).then(
            () => "answered", (error) => error.name));
        await new Promise((done) => setTimeout(done, options.wait));
        engine.stopAdding();
        return { said: await Promise.all(asked), adder: engine.adder };
    }
    case "closed": {
        const said = engine[options.what](options).then(() => "answered",
            (error) => error.name);
        await new Promise((done) => setTimeout(done, options.wait));
        engine.close();
        return { said: await said, adder: engine.adder };
    }
    case "session":
        return plain(engine.session);
    case "functions":
        return plain(engine.functions);
    case "find":
    case "nanoseconds":
    case "ticks":
        return plain(await engine[op](op === "find" ? options
            : options.value));
    default:
    }
    let answer = plain(await engine[op](options));
    while (answer.isRough) {
        answer = plain(await engine[op](options));
    }
    for (const list of [answer.rows, answer.functions]) {
        for (const row of list || []) {
            row.function = nameOf(engine, row.function);
            if (row.caller) {
                row.caller = engine.importers[row.caller - 1];
            }
        }
    }
    for (const boxes of [answer, answer.nodes]) {
        if (boxes && boxes.caller) {
            boxes.caller = boxes.caller.map(
                (id) => id ? engine.importers[id - 1] : null);
        }
    }
    if (answer.nodes) {
        answer.nodes.function = answer.nodes.function.map(
            (id) => nameOf(engine, id));
    }
    if (op === "query" || op === "activity") {
        answer.function = answer.function.map((id) => nameOf(engine, id));
    }
    return answer;
}

async function run(request) {
    const engine = new Engine({ wasm: fs.readFileSync(wasm),
        workerSource: ["WorkerFiles.js", "Worker.js"].map((name) =>
            fs.readFileSync(path.resolve(page, name), "utf8")).join(""),
        workers: request.workers || 2, keeper: keeperOf(request) });
    const results = [];
    try {
        const session = plain(await engine.open([request.path].flat()
            .flatMap((place) => collect(place, request.isFresh)), null,
        request.options));
        for (const step of request.steps) {
            try {
                results.push(await runStep(engine, step));
            } catch (error) {
                results.push({ error: error.message });
            }
        }
        return { session, results };
    } catch (error) {
        return { error: error.message };
    } finally {
        engine.close();
    }
}

async function main() {
    const requests = JSON.parse(fs.readFileSync(0, "utf8"));
    const answers = [];
    for (const request of requests) {
        answers.push(await run(request));
    }
    process.stdout.write(JSON.stringify(answers));
}

main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
