//
// What the engine has answered for the timeline, by thread (boxes) or by
// process (activity), and what is to be asked next.
//
// What is drawn at once is what is there: an answer for the whole session, and
// a finer one for the range on the screen with a margin at both sides.  At most
// one question is under way for each source, so that an answer comes and is
// seen while the range moves on; it is cancelled if it has nothing to do with
// the range any more.
//

const FLAG_ABANDONED = 1, FLAG_OPEN = 2, FLAG_WAITS = 4, FLAG_SUMMARY = 8,
      FLAG_UNKNOWN = 16, FLAG_LOST = 32;

class Source {
    constructor(threads, isActivity) {
        this.threads = threads;
        this.isActivity = isActivity;
        this.whole = null;
        this.fine = null;
        this.pending = null;
        this.depths = 1;
        this.tracks = [{ base: 0, depths: 1 }];
        this.error = '';
    }

    //
    // A lane has as many rows as were ever seen.
    //

    grow(tracks) {
        tracks.forEach((each, at) => {
            if (this.tracks[at] === undefined) {
                this.tracks[at] = { base: 0, depths: 0 };
            }
            this.tracks[at].depths = Math.min(Math.max(each.depths,
                this.tracks[at].depths), Answers.DEEPEST);
        });
        this.depths = 0;
        for (const each of this.tracks) {
            each.base = this.depths;
            this.depths += each.depths;
        }
    }

    //
    // The track and the depth of a lane's row.
    //

    placeOf(row) {
        let track = this.tracks.length - 1;
        while (track > 0 && this.tracks[track].base > row) {
            track--;
        }
        return { track, depth: row - this.tracks[track].base };
    }

    rowOf(track, depth) {
        const at = this.tracks[track || 0];
        return at === undefined ? depth : at.base + depth;
    }
}

class Answers {
    static MARGIN = 0.5;
    static WHOLE_PIXELS = 1000;
    static RUNNING = 4;
    static DEEPEST = 4096;

    constructor(onAnswer) {
        this.onAnswer = onAnswer;
        this.sources = new Map();
        this.running = 0;
        this.generation = 0;
        this.isPassed = false;
        this.staleAt = 0;
    }

    clear() {
        this.sources.clear();
        this.running = 0;
        this.generation++;
        this.isPassed = false;
    }

    sourceOf(key, threads, isActivity) {
        let source = this.sources.get(key);
        if (source === undefined) {
            source = new Source(threads, isActivity);
            this.sources.set(key, source);
        }
        return source;
    }

    //
    // All answers are old: there is more in the session now.  They are drawn
    // until there are others.
    //

    expire(isForAll) {
        for (const source of this.sources.values()) {
            for (const answer of [source.whole, source.fine]) {
                if (answer && (isForAll || answer.hasUnknown)) {
                    answer.isStale = true;
                }
            }
        }
    }

    //
    // Does an answer show this range as well as can be?
    //

    static suits(answer, begin, end, pixel, depth) {
        return answer !== null && !answer.isStale &&
            answer.begin <= begin && answer.end >= end &&
            answer.maxDepth >= depth &&
            (answer.pixel <= pixel * 1.02 || !answer.hasSummary) &&
            (answer.pixel >= pixel / 4 || answer.count < 4000);
    }

    //
    // Asks for what is missing, in the order of the list: [{source, depth}].
    // Each is what is on the screen, down to a depth.
    //

    serve(wanted, count, begin, end, width) {
        const pixel = (end - begin) / width;
        const { session } = Viewer;
        for (let i = 0; i < count && this.running < Answers.RUNNING; i++) {
            const { source, depth } = wanted[i];
            if (source.pending !== null) {
                this.dropIfFar(source, begin, end, pixel);
                continue;
            }
            if (Answers.suits(source.fine, begin, end, pixel, depth)) {
                continue;
            }
            const margin = (end - begin) * Answers.MARGIN;
            const from = Math.max(begin - margin, session.begin);
            const to = Math.min(end + margin, session.end);
            this.ask(source, 'fine', Math.floor(from), Math.ceil(to),
                     Math.ceil((to - from) / pixel), depth + 32);
        }
        for (let i = 0; i < count && this.running < 2; i++) {
            const { source } = wanted[i];
            if (source.pending === null && (source.whole === null ||
                source.whole.isStale)) {
                this.askWhole(source);
            }
        }
    }

    //
    // Has all of a thread been read?
    //

    static isKnown(id) {
        const thread = Viewer.threadOf(id);
        return Viewer.isPassed || (thread !== undefined &&
            thread.known !== undefined && thread.known >= thread.end);
    }

    //
    // When all else is done: how deep the calls of threads are that are not
    // in sight, so that their places do not change when they come.
    //

    serveOthers(lanes) {
        for (let i = 0; i < lanes.length && this.running < 2; i++) {
            const { source } = lanes[i];
            if (source && source.pending === null && source.whole === null) {
                this.askWhole(source);
            }
        }
    }

    askWhole(source) {
        const { session } = Viewer;
        this.ask(source, 'whole', session.begin, session.end,
                 Answers.WHOLE_PIXELS, 128);
    }

    dropIfFar(source, begin, end, pixel) {
        const { pending } = source;
        if (pending.slot === 'fine' && (pending.end < begin ||
            pending.begin > end || pending.pixel > pixel * 64 ||
            pending.pixel < pixel / 64) && pending.promise &&
            pending.promise.token !== undefined && !pending.isDropped) {
            pending.isDropped = true;
            Viewer.engine.cancel(pending.promise.token);
        }
    }

    async ask(source, slot, begin, end, pixels, maxDepth) {
        const { engine } = Viewer;
        const { generation } = this;
        end = Math.max(end, begin + 1);
        const isKnown = source.threads.every(id => Answers.isKnown(id));
        const pending = { slot, begin, end, pixel: (end - begin) / pixels,
                          promise: null, isDropped: false };
        source.pending = pending;
        this.running++;
        let answer = null;
        try {
            pending.promise = source.isActivity
                ? engine.activity({ threads: source.threads, begin, end,
                                    pixels })
                : engine.query({ thread: source.threads[0], begin, end,
                                 pixels, maxDepth });
            answer = await pending.promise;
            source.error = '';
        } catch (error) {
            if (error.name !== 'AbortError') {
                source.error = error.message;

                //
                // It is not asked again and again.
                //

                answer = source.isActivity
                    ? { covered: new Float32Array(pixels),
                        function: new Uint32Array(pixels),
                        calls: new Float64Array(pixels) }
                    : { depths: 1, count: 0, start: new Float64Array(0),
                        stop: new Float64Array(0), depth: new Uint16Array(0),
                        function: new Uint32Array(0),
                        calls: new Uint32Array(0),
                        covered: new Float32Array(0),
                        flags: new Uint8Array(0) };
            }
        }
        if (generation !== this.generation) {
            return;
        }
        this.running--;
        source.pending = null;
        if (answer !== null) {
            const prepared = source.isActivity
                ? Answers.prepareActivity(answer, begin, end, pixels)
                : Answers.prepare(answer, begin, end, pixels, maxDepth);
            prepared.hasUnknown = prepared.hasUnknown || !isKnown ||
                answer.isRough === true;
            source[slot] = prepared;
            if (prepared.isWhole) {
                source.whole = prepared;
            }
            if (!source.isActivity) {
                source.grow(prepared.tracks);
            }
        }
        this.onAnswer(answer !== null);
    }

    static prepareActivity(answer, begin, end, pixels) {
        const { session } = Viewer;
        let most = 0;
        for (let i = 0; i < pixels; i++) {
            most = Math.max(most, answer.covered[i]);
        }
        return { begin, end, pixels, covered: answer.covered,
                 function: answer.function, calls: answer.calls, most,
                 pixel: (end - begin) / pixels, count: pixels,
                 maxDepth: Infinity, hasSummary: true,
                 hasUnknown: answer.complete === false,
                 isStale: false,
                 isWhole: begin <= session.begin && end >= session.end };
    }

    //
    // Boxes by row, in the order of time: rows[row] is where they begin.  A
    // row is a depth of the thread, and then one of its first fiber, and so
    // on: tracks[0] is the thread, each {base: its first row, depths}.
    //

    static prepare(answer, begin, end, pixels, maxDepth) {
        const { session } = Viewer;
        const { count, depth, start } = answer;
        const track = answer.track || null;
        const tracks = [{ base: 0, depths: 0 }];
        let hasSummary = false, hasUnknown = false;
        for (let i = 0; i < count; i++) {
            hasSummary = hasSummary || answer.calls[i] !== 1;
            hasUnknown = hasUnknown || (answer.flags[i] & FLAG_UNKNOWN) !== 0;
            const at = track === null ? 0 : track[i];
            while (tracks.length <= at) {
                tracks.push({ base: 0, depths: 0 });
            }
            if (depth[i] >= tracks[at].depths) {
                tracks[at].depths = depth[i] + 1;
            }
        }
        let depths = 0;
        for (const each of tracks) {
            each.base = depths;
            depths += each.depths;
        }
        const row = new Uint32Array(count);
        let isSorted = true;
        for (let i = 0; i < count; i++) {
            row[i] = depth[i] + (track === null ? 0 : tracks[track[i]].base);
            if (i > 0 && (row[i] < row[i - 1] ||
                (row[i] === row[i - 1] && start[i] < start[i - 1]))) {
                isSorted = false;
            }
        }
        const names = ['start', 'stop', 'function', 'calls', 'covered',
                       'flags'];
        if (answer.caller) {
            names.push('caller');
        }
        const arrays = {};
        const order = isSorted ? null
            : Uint32Array.from({ length: count }, (_, i) => i)
                .sort((one, other) => row[one] - row[other] ||
                    start[one] - start[other]);
        for (const name of names) {
            const from = answer[name];
            if (isSorted) {
                arrays[name] = from;
                continue;
            }
            const to = new from.constructor(count);
            for (let i = 0; i < count; i++) {
                to[i] = from[order[i]];
            }
            arrays[name] = to;
        }
        const rows = new Uint32Array(depths + 1);
        for (let i = 0; i < count; i++) {
            rows[row[i] + 1]++;
        }
        for (let i = 0; i < depths; i++) {
            rows[i + 1] += rows[i];
        }
        return {
            begin, end, count, rows, tracks, ...arrays,
            pixel: (end - begin) / pixels, hasSummary, hasUnknown, maxDepth,
            isStale: false,
            isWhole: begin <= session.begin && end >= session.end
        };
    }

    //
    // The row of a depth of a track; -1 if there are no boxes.
    //

    static rowOf(answer, track, depth) {
        const at = answer.tracks[track || 0];
        return at !== undefined && depth >= 0 && depth < at.depths
            ? at.base + depth : -1;
    }

    //
    // The first box of a row that ends after a time.
    //

    static firstAt(answer, row, time) {
        let low = answer.rows[row], high = answer.rows[row + 1];
        const { stop } = answer;
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (stop[middle] > time) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
}
