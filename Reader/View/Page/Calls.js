//
// Moves from call to call: the next one of a thread at the same depth, the one
// around it, the first inside of it.  Summaries are looked into until a single
// call is found.
//

const Calls = {
    turn: 0,

    //
    // A question that the timeline's own overtook is asked again.
    //

    async query(what) {
        for (let i = 0; ; i++) {
            try {
                const answer = await Viewer.engine.query(
                    { ...what, key: 'walk' });
                return Answers.prepare(answer, what.begin, what.end,
                                       what.pixels, what.maxDepth);
            } catch (error) {
                if (error.name !== 'AbortError' || i >= 20) {
                    throw error;
                }
                await new Promise(resolve => setTimeout(resolve, 30));
            }
        }
    },

    //
    // The first (direction 1) or last (-1) call of a thread's, or its fiber's,
    // depth that begins in [begin, end); null if there is none.
    //

    async nearest({ thread, track = 0 }, depth, begin, end, direction) {
        for (let round = 0; round < 40 && end > begin; round++) {
            const answer = await this.query({
                thread, begin, end, pixels: 256, maxDepth: depth + 1 });
            const { rows, start, stop, calls } = answer;
            let best = -1;
            const row = Answers.rowOf(answer, track, depth);
            if (row >= 0) {
                for (let i = rows[row]; i < rows[row + 1]; i++) {
                    const isInside = start[i] < end && (calls[i] > 1
                        ? stop[i] > begin : start[i] >= begin);
                    if (isInside && (direction < 0 || best < 0)) {
                        best = i;
                    }
                }
            }
            if (best < 0) {
                return null;
            }
            if (calls[best] === 1 &&
                !(answer.flags[best] & FLAG_UNKNOWN)) {
                return { thread, begin: start[best], end: stop[best], track,
                         depth, function: answer.function[best] };
            }
            const from = Math.max(begin, Math.floor(start[best]));
            const to = Math.min(end, Math.ceil(stop[best]));
            if (from === begin && to === end) {
                return null;
            }
            begin = from;
            end = to;
        }
        return null;
    },

    //
    // A call's sibling in a direction; what is looked at grows.
    //

    async sibling(call, direction) {
        const thread = Viewer.threadOf(call.thread);
        const { session } = Viewer;
        let span = Math.max(call.end - call.begin, 1000);
        let at = direction > 0 ? Math.max(call.end, call.begin + 1)
            : call.begin;
        const last = direction > 0 ? Math.max(thread.end, session.end)
            : Math.min(thread.begin, session.begin);
        while (direction > 0 ? at < last : at > last) {
            const to = direction > 0 ? Math.min(at + span, last + 1)
                : Math.max(at - span, last);
            const found = await this.nearest(call, call.depth,
                Math.min(at, to), Math.max(at, to), direction);
            if (found !== null) {
                return found;
            }
            at = to;
            span *= 16;
        }
        return null;
    },

    async parent(call) {
        if (call.depth === 0) {
            return null;
        }
        const answer = await this.query({
            thread: call.thread, begin: call.begin, end: call.begin + 1,
            pixels: 64, maxDepth: call.depth });
        const depth = call.depth - 1;
        const row = Answers.rowOf(answer, call.track, depth);
        if (row < 0) {
            return null;
        }
        for (let i = answer.rows[row]; i < answer.rows[row + 1]; i++) {
            if (answer.start[i] <= call.begin && answer.stop[i] >= call.end &&
                answer.calls[i] === 1) {
                return { thread: call.thread, begin: answer.start[i],
                         end: answer.stop[i], track: call.track, depth,
                         function: answer.function[i] };
            }
        }
        return null;
    },

    child(call) {
        return this.nearest(call, call.depth + 1, call.begin,
                            Math.max(call.end, call.begin + 1), 1);
    },

    //
    // Goes to a call once it is found, unless another one is asked for until
    // then.
    //

    async go(promise, text) {
        const turn = ++this.turn;
        let found = null;
        try {
            found = await promise;
        } catch (error) {
            if (turn === this.turn && error.name !== 'AbortError') {
                Viewer.say(error.message);
            }
            return;
        }
        if (turn !== this.turn) {
            return;
        }
        if (found === null) {
            Viewer.say(text);
            return;
        }
        this.choose(found);
        const { state } = Viewer;
        const length = found.end - found.begin;
        const span = state.end - state.begin;
        if (length < span / 400 || found.end < state.begin ||
            found.begin > state.end || (length > span * 4 &&
                (found.begin > state.begin || found.end < state.end))) {
            Viewer.show(found);
        } else {
            Viewer.tell({ reveal: found });
        }
    },

    choose(call) {
        Viewer.set({ call, function: call.function });
        const text = this.describe(call);
        $('callText').textContent = text;
        Viewer.say(text);
    },

    describe(call) {
        const thread = Viewer.threadOf(call.thread);
        const known = Viewer.functionOf(call.function);
        return [Viewer.nameOf(call.function),
                known ? known.module : '',
                'takes ' + Format.time(call.end - call.begin),
                'begins at ' + Format.time(call.begin),
                'depth ' + call.depth,
                Timeline.titleOf(thread)].filter(each => each).join(', ');
    },

    //
    // The next or previous call of the function that is chosen.
    //

    async step(direction) {
        const { state } = Viewer;
        if (state.function === null) {
            Viewer.say('Choose a function first: click a call, or search.');
            return;
        }
        const { call } = state;
        const from = call && call.function === state.function
            ? call.begin : direction > 0 ? state.begin : state.end;
        const name = Viewer.nameOf(state.function);
        await this.go((async () => {
            const found = await Viewer.engine.find({
                function: state.function, threads: PanelKit.threads(), from,
                direction });
            return found && { ...found, function: state.function };
        })(), direction > 0 ? 'No later call of ' + name + '.'
            : 'No earlier call of ' + name + '.');
    }
};
