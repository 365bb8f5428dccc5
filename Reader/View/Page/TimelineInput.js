//
// The pointer and the keys on the timeline.
//

class TimelineInput {
    constructor(timeline) {
        this.timeline = timeline;
        this.held = new Map();
        this.last = 0;
        this.pointer = null;
        this.drag = null;
        timeline.onMoved = () => {
            if (this.pointer !== null) {
                this.moveCursor(this.pointer);
            }
            Tip.hide();
        };
        this.listen();
    }

    zoom(factor, x) {
        const { timeline } = this;
        const { state } = Viewer;
        const at = x === null || x === undefined || x < timeline.gutter
            ? (state.begin + state.end) / 2 : timeline.timeAt(x);
        Viewer.setRange(at - (at - state.begin) * factor,
                        at + (state.end - at) * factor);
    }

    pan(share) {
        const { state } = Viewer;
        const by = (state.end - state.begin) * share;
        Viewer.setRange(state.begin + by, state.end + by);
    }

    placeOf(event) {
        if (event.target === this.timeline.canvas) {
            return [event.offsetX, event.offsetY];
        }
        const frame = this.timeline.canvas.getBoundingClientRect();
        return [event.clientX - frame.left, event.clientY - frame.top];
    }

    listen() {
        const { timeline } = this;
        const { scroller, canvas } = timeline;
        scroller.addEventListener('wheel', event => this.wheel(event),
                                  { passive: false });
        canvas.addEventListener('pointerdown', event => this.down(event));
        canvas.addEventListener('pointermove', event => this.move(event));
        canvas.addEventListener('pointerup', event => this.up(event));
        canvas.addEventListener('pointercancel', () => {
            this.drag = null;
        });
        canvas.addEventListener('pointerleave', () => {
            this.pointer = null;
            Tip.hide();
            $('cursor').hidden = true;
        });
        canvas.addEventListener('dblclick', event => this.double(event));
        window.addEventListener('keyup', event => {
            this.held.delete(event.key.toLowerCase());
        });
        window.addEventListener('blur', () => this.held.clear());
    }

    wheel(event) {
        const { timeline } = this;
        const [x] = this.placeOf(event);
        const pixels = event.deltaMode === 1 ? 30
            : event.deltaMode === 2 ? 300 : 1;
        if (x < timeline.gutter && !event.ctrlKey) {
            return;
        }
        event.preventDefault();
        if (event.shiftKey || event.altKey) {
            timeline.scrollTo(timeline.scroll + (event.deltaY ||
                event.deltaX) * pixels);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            this.pan(event.deltaX * pixels / (timeline.width -
                timeline.gutter));
        } else {
            this.zoom(Math.exp(Math.max(-1.2, Math.min(1.2,
                event.deltaY * pixels / 300))), x);
        }
        Tip.hide();
    }

    //
    // Which edge of the selection is at a place: 'begin', 'end' or null.
    //

    edgeAt(x, y) {
        const { selection } = Viewer.state;
        if (selection === null || y > this.timeline.head) {
            return null;
        }
        const { timeline } = this;
        return Math.abs(timeline.placeOf(selection.end) - x) < 6 ? 'end'
            : Math.abs(timeline.placeOf(selection.begin) - x) < 6 ? 'begin'
                : null;
    }

    down(event) {
        const { timeline } = this;
        if (event.button !== 0) {
            return;
        }
        const [x, y] = this.placeOf(event);
        const { state } = Viewer;
        const edge = this.edgeAt(x, y);
        const isAxis = y < Timeline.AXIS && x >= timeline.gutter;
        this.drag = {
            x: event.clientX, y: event.clientY, begin: state.begin,
            end: state.end, top: timeline.scroll,
            kind: x < timeline.gutter ? 'scroll' : edge ? 'select'
                : event.shiftKey || isAxis ? 'select' : 'pan',
            anchor: edge ? state.selection[edge === 'end' ? 'begin' : 'end']
                : timeline.timeAt(x),
            hasMoved: false
        };
        timeline.canvas.setPointerCapture(event.pointerId);
        timeline.scroller.focus({ preventScroll: true });
    }

    moveDrag(event, x) {
        const { drag, timeline } = this;
        const by = event.clientX - drag.x;
        if (Math.abs(by) + Math.abs(event.clientY - drag.y) > 3) {
            drag.hasMoved = true;
        }
        if (!drag.hasMoved) {
            return;
        }
        Tip.hide();
        if (drag.kind === 'select') {
            const { session } = Viewer;
            const time = Math.min(Math.max(timeline.timeAt(
                Math.min(Math.max(x, timeline.gutter), timeline.width)),
            session.begin), session.end);
            const begin = Math.floor(Math.min(time, drag.anchor));
            const end = Math.max(Math.ceil(Math.max(time, drag.anchor)),
                                 begin + 1);
            Viewer.set({ selection: { begin, end } });
            Viewer.say('Selected ' + Format.time(end - begin) + ': from ' +
                Format.exact(begin) + ' to ' + Format.exact(end));
            return;
        }
        if (drag.kind === 'pan') {
            const span = drag.end - drag.begin;
            const begin = drag.begin - by / (timeline.width -
                timeline.gutter) * span;
            Viewer.setRange(begin, begin + span);
        }
        timeline.scrollTo(drag.top - (event.clientY - drag.y));
    }

    move(event) {
        const { timeline } = this;
        const [x, y] = this.placeOf(event);
        this.pointer = x;
        this.moveCursor(x);
        if (this.drag) {
            this.moveDrag(event, x);
            return;
        }
        if (this.edgeAt(x, y)) {
            timeline.canvas.style.cursor = 'ew-resize';
            return;
        }
        if (y >= Timeline.AXIS && y < timeline.head && x >= timeline.gutter) {
            const flag = timeline.marks.hit(x);
            timeline.canvas.style.cursor = flag >= 0 ? 'pointer' : 'default';
            if (flag >= 0) {
                timeline.marks.describe(flag, event.clientX, event.clientY);
            } else {
                Tip.hide();
            }
            return;
        }
        const hit = timeline.hit(x, y);
        timeline.canvas.style.cursor = hit && (hit.box >= 0 ||
            ['group', 'name', 'pin'].includes(hit.part)) ? 'pointer'
            : y < Timeline.AXIS ? 'text' : 'default';
        const loss = hit && hit.lane && hit.lane.kind === 'thread' &&
            x >= timeline.gutter
            ? Losses.at(timeline, hit.lane.thread, x) : undefined;
        if (loss !== undefined) {
            Losses.describe(hit.lane.thread, loss, event.clientX,
                            event.clientY);
        } else if (hit && hit.box >= 0) {
            this.describe(hit, event.clientX, event.clientY);
        } else if (hit && (hit.part === 'name' || hit.part === 'pin')) {
            this.describeThread(hit, event.clientX, event.clientY);
        } else if (hit && hit.part === 'group') {
            this.describeProcess(hit.lane.process, event.clientX,
                                 event.clientY);
        } else {
            Tip.hide();
        }
    }

    moveCursor(x) {
        const { timeline } = this;
        const cursor = $('cursor');
        const isIn = x >= timeline.gutter && x < timeline.width &&
            Viewer.session !== null;
        cursor.hidden = !isIn;
        if (isIn) {
            cursor.style.transform = 'translateX(' + x + 'px)';
            cursor.classList.toggle('left', x > timeline.width - 140);
            cursor.firstChild.textContent =
                timeline.precise(timeline.timeAt(x));
        }
    }

    //
    // What the tooltip says.
    //

    describe({ lane, answer, box, track, depth }, x, y) {
        const start = answer.start[box], stop = answer.stop[box];
        const flags = answer.flags[box];
        const { thread } = lane;
        if (flags & FLAG_UNKNOWN) {
            Tip.show(x, y, 'Not read yet', [],
                     'It is shown as soon as it has been read.');
            return;
        }
        const name = Viewer.nameOf(answer.function[box]);
        if (answer.calls[box] !== 1) {
            Tip.show(x, y, Format.plural(answer.calls[box], 'call'), [
                ['mostly', name],
                ['from', Format.time(start)],
                ['together', Format.time(stop - start) + ', of which ' +
                    Format.percent(answer.covered[box]) + ' in calls'],
                ['thread', Timeline.titleOf(thread)]
            ], 'Zoom in to see each.');
            return;
        }
        const known = Viewer.functionOf(answer.function[box]);
        const rows = [];
        if (known && known.module) {
            rows.push(['module', known.module]);
        }
        const caller = answer.caller && answer.caller[box];
        if (caller) {
            rows.push(['called by', Viewer.importerOf(caller)]);
        }
        if (known && known.file) {
            rows.push(['source', Format.baseName(known.file) + ':' +
                known.line]);
        }
        rows.push(['begins', Format.time(start) + ' (' +
            Format.exact(start) + ')']);
        rows.push(['takes', Format.time(stop - start) + ' (' +
            Format.exact(stop - start) + ')']);
        rows.push(['depth', String(depth)]);
        rows.push(['thread', Timeline.titleOf(thread) +
            (track ? ', fiber ' + track : '')]);
        const signs = [[FLAG_ABANDONED, 'abandoned: left without an exit'],
                       [FLAG_OPEN, 'open at the end of what is recorded'],
                       [FLAG_WAITS, 'a function that waits'],
                       [FLAG_LOST, 'records are missing here']]
            .filter(each => flags & each[0]).map(each => each[1]);
        if (signs.length) {
            rows.push(['is', signs.join('; ')]);
        }
        Tip.show(x, y, name, rows);
    }

    describeThread({ lane, part }, x, y) {
        if (lane.kind !== 'thread') {
            return;
        }
        const { thread } = lane;
        if (part === 'pin') {
            Tip.show(x, y, lane.isPinned ? 'Back to its process'
                : 'Pin to the top', []);
            return;
        }
        const rows = [['thread', String(thread.tid)],
            ['begins', Format.time(thread.begin)],
            ['ends', thread.isLive ? 'runs' : Format.time(thread.end)],
            ['mode', thread.mode],
            ['records', Format.count(thread.records)]];
        if (thread.lost) {
            rows.push(['lost', thread.lost]);
        }
        if (lane.source.error) {
            rows.push(['error', lane.source.error]);
        }
        Tip.show(x, y, Timeline.titleOf(thread), rows,
                 lane.isOpen ? 'Click to collapse.' : 'Click to expand.');
    }

    describeProcess(process, x, y) {
        const rows = [['program', process.program],
            ['process', String(process.pid)],
            ['begins', Format.time(process.begin)],
            ['ends', Format.time(process.end)],
            ['threads', Format.count(Viewer.countThreads(process.threads))]];
        const parent = process.parent === null ? null
            : Viewer.processOf(process.parent);
        if (parent) {
            rows.push(['started by', Format.baseName(parent.program) + ' (' +
                parent.pid + ')']);
        }
        Tip.show(x, y, Format.baseName(process.program), rows,
                 'Click to collapse or expand.');
    }

    //
    // Clicks.
    //

    up(event) {
        const { drag, timeline } = this;
        this.drag = null;
        if (!drag || drag.hasMoved) {
            return;
        }
        const [x, y] = this.placeOf(event);
        if (y < timeline.head) {
            const flag = y >= Timeline.AXIS ? timeline.marks.hit(x) : -1;
            if (flag >= 0) {
                this.clickMark(flag);
            } else if (y < Timeline.AXIS) {
                Viewer.set({ selection: null });
            }
            return;
        }
        const hit = timeline.hit(x, y);
        if (hit === null) {
            return;
        }
        this.timeline.current = hit.lane.key;
        if (hit.part === 'group' || hit.part === 'name') {
            this.toggle([hit.lane.key]);
        } else if (hit.part === 'pin') {
            this.pin(hit.lane.thread.id);
        } else if (hit.box >= 0) {
            this.choose(hit);
        } else {
            Viewer.set({ call: null });
        }
        Viewer.redraw();
    }

    clickMark(flag) {
        const { marks } = this.timeline;
        const first = marks.flagFirst[flag], count = marks.flagCount[flag];
        if (count > 1) {
            const begin = marks.times[first];
            const end = marks.times[first + count - 1];
            const edge = Math.max((end - begin) * 0.1, Viewer.LEAST);
            Viewer.setRange(begin - edge, end + edge);
        } else {
            marks.go(first);
        }
    }

    choose(hit) {
        const { answer, box, track, depth, lane } = hit;
        if (answer.flags[box] & FLAG_UNKNOWN) {
            return;
        }
        if (answer.calls[box] === 1) {
            Calls.choose({ thread: lane.thread.id, begin: answer.start[box],
                           end: answer.stop[box], track, depth,
                           function: answer.function[box] });
        } else {
            Viewer.set({ function: answer.function[box], call: null });
            Viewer.say(Format.plural(answer.calls[box], 'call') +
                ', mostly ' + Viewer.nameOf(answer.function[box]) +
                '. Zoom in to see each.');
        }
    }

    //
    // A call, or several, fill the screen; beside them, everything does.
    //

    double(event) {
        const [x, y] = this.placeOf(event);
        const hit = this.timeline.hit(x, y);
        if (hit && hit.box >= 0) {
            const start = hit.answer.start[hit.box];
            const stop = hit.answer.stop[hit.box];
            const edge = Math.max((stop - start) * 0.05, 1);
            Viewer.setRange(start - edge, stop + edge);
        } else if (x >= this.timeline.gutter && (!hit ||
            hit.part === 'boxes' || hit.part === 'activity')) {
            Viewer.fit();
        }
    }

    toggle(keys) {
        const collapsed = new Set(Viewer.state.collapsed);
        for (const key of keys) {
            if (!collapsed.delete(key)) {
                collapsed.add(key);
            }
        }
        Viewer.set({ collapsed: [...collapsed] });
    }

    toggleAll() {
        const { session, state } = Viewer;
        Viewer.set({ collapsed: state.collapsed.length ? []
            : session.processes.map(each => 'p' + each.id) });
    }

    pin(id) {
        const { pinned } = Viewer.state;
        Viewer.set({ pinned: pinned.includes(id)
            ? pinned.filter(each => each !== id) : [...pinned, id] });
    }

    //
    // Held keys move as long as they are held; one that is only touched moves
    // a little.
    //

    hold(key) {
        const isNew = this.held.size === 0;
        if (!this.held.has(key)) {
            this.held.set(key, performance.now());
        }
        if (isNew) {
            this.last = performance.now();
            this.glide();
        }
    }

    static RATES = {
        w: ['zoom', -1], s: ['zoom', 1], '+': ['zoom', -1], '=': ['zoom', -1],
        '-': ['zoom', 1], '_': ['zoom', 1], a: ['pan', -1], d: ['pan', 1]
    };

    glide() {
        const frame = now => {
            const by = Math.min(Math.max(now - this.last, 0), 50) / 1000;
            this.last = now;
            for (const key of this.held.keys()) {
                const [kind, sign] = TimelineInput.RATES[key];
                if (kind === 'zoom') {
                    this.zoom(Math.exp(sign * by * 3), this.pointer);
                } else {
                    this.pan(sign * by * 0.9);
                }
            }
            if (this.held.size) {
                requestAnimationFrame(frame);
            }
        };
        requestAnimationFrame(frame);
    }

    touch(key) {
        const [kind, sign] = TimelineInput.RATES[key];
        if (kind === 'zoom') {
            this.zoom(Math.exp(sign * 0.25), this.pointer);
        } else {
            this.pan(sign * 0.08);
        }
        this.hold(key);
    }

    //
    // A key; true if it means something here.
    //

    press(event) {
        const { timeline } = this;
        const { state } = Viewer;
        const key = event.key.length === 1 ? event.key.toLowerCase()
            : event.key;
        const isUpper = event.key !== key;
        if (event.shiftKey && (key === 'ArrowLeft' || key === 'ArrowRight')) {
            this.grow(key === 'ArrowRight' ? 1 : -1);
            return true;
        }
        if (TimelineInput.RATES[key]) {
            if (!event.repeat) {
                this.touch(key);
            }
            return true;
        }
        switch (key) {
        case 'ArrowLeft': this.walk('left'); return true;
        case 'ArrowRight': this.walk('right'); return true;
        case 'ArrowUp': this.walk('up'); return true;
        case 'ArrowDown': this.walk('down'); return true;
        case 'PageUp': this.stepLane(-1); return true;
        case 'PageDown': this.stepLane(1); return true;
        case 'Home':
            Viewer.setRange(Viewer.session.begin, Viewer.session.begin +
                state.end - state.begin);
            return true;
        case 'End':
            Viewer.setRange(Viewer.session.end - state.end + state.begin,
                            Viewer.session.end);
            return true;
        case 'Enter': this.chooseMiddle(); return true;
        case '0': Viewer.fit(); return true;
        case 'm': timeline.marks.step(isUpper ? -1 : 1); return true;
        case 'c':
            if (isUpper || timeline.current === null) {
                this.toggleAll();
            } else {
                this.toggle([timeline.current]);
            }
            return true;
        case 'x': {
            const lane = this.currentLane();
            if (lane && lane.kind === 'thread') {
                this.pin(lane.thread.id);
            }
            return true;
        }
        case 'r':
            if (state.call !== null) {
                Viewer.set({ selection: {
                    begin: state.call.begin,
                    end: Math.max(state.call.end, state.call.begin + 1)
                } });
                Viewer.say('Selected the call: ' + Format.time(
                    state.call.end - state.call.begin));
            }
            return true;
        case 'z': {
            const at = state.selection || state.call;
            if (at !== null) {
                const edge = Math.max((at.end - at.begin) * 0.05, 1);
                Viewer.setRange(at.begin - edge, at.end + edge);
            }
            return true;
        }
        default: return false;
        }
    }

    currentLane() {
        const { lanes, current } = this.timeline;
        return [...lanes.pinned, ...lanes.list].find(
            each => each.key === current) || null;
    }

    //
    // To the next thread or process.
    //

    stepLane(by) {
        const { timeline } = this;
        const { lanes } = timeline;
        const all = [...lanes.pinned, ...lanes.list];
        const now = all.findIndex(each => each.key === timeline.current);
        const lane = all[now < 0 ? 0
            : Math.min(Math.max(now + by, 0), all.length - 1)];
        timeline.current = lane.key;
        if (!lane.isPinned) {
            const { scroll } = timeline;
            const room = timeline.height - timeline.top;
            if (lane.y - Lanes.GROUP < scroll || lane.y +
                Math.min(lane.height, room) > scroll + room) {
                timeline.scrollTo(lane.y - (lane.kind === 'thread'
                    ? Lanes.GROUP : 0));
            }
        }
        const text = lane.kind === 'process'
            ? 'Process ' + Format.baseName(lane.process.program) + ', ' +
                lane.process.pid + ', ' + Format.plural(
                Viewer.countThreads(lane.process.threads), 'thread')
            : Timeline.titleOf(lane.thread) + ', ' + lane.thread.tid + ', ' +
                Format.count(lane.thread.records) + ' records' +
                (lane.isOpen ? '' : ', collapsed');
        $('callText').textContent = text;
        Viewer.say(text);
        Viewer.redraw();
    }

    //
    // The selection begins in the middle and grows and shrinks at its end.
    //

    grow(direction) {
        const { session, state } = Viewer;
        const step = Math.max(1, Math.round((state.end - state.begin) / 50));
        const middle = Math.round((state.begin + state.end) / 2);
        const old = state.selection || { begin: middle, end: middle };
        const end = Math.min(Math.max(old.end + direction * step,
                                      old.begin + 1), session.end);
        Viewer.set({ selection: { begin: old.begin, end } });
        Viewer.say('Selected ' + Format.time(end - old.begin) + ': from ' +
            Format.exact(old.begin) + ' to ' + Format.exact(end));
    }

    walk(where) {
        const { call } = Viewer.state;
        if (call === null) {
            if (where === 'left' || where === 'right') {
                this.pan(where === 'left' ? -0.15 : 0.15);
            } else {
                this.timeline.scrollTo(this.timeline.scroll +
                    (where === 'up' ? -3 : 3) * Lanes.ROW);
            }
            return;
        }
        switch (where) {
        case 'left':
            Calls.go(Calls.sibling(call, -1), 'No earlier call there.');
            break;
        case 'right':
            Calls.go(Calls.sibling(call, 1), 'No later call there.');
            break;
        case 'up':
            Calls.go(Calls.parent(call), 'Nothing around this call.');
            break;
        case 'down':
            Calls.go(Calls.child(call), 'No calls inside of this call.');
            break;
        }
    }

    //
    // For the keyboard: of the current thread, or of the first in sight, the
    // deepest call in the middle of the screen.
    //

    async chooseMiddle() {
        const { timeline } = this;
        const { state } = Viewer;
        let lane = this.currentLane();
        if (lane && lane.kind === 'process') {
            this.toggle([lane.key]);
            return;
        }
        if (lane === null) {
            const { lanes } = timeline;
            lane = lanes.pinned[0] || lanes.list.slice(
                lanes.firstAt(timeline.scroll)).find(
                each => each.kind === 'thread');
        }
        if (!lane) {
            return;
        }
        timeline.current = lane.key;
        const middle = Math.floor((state.begin + state.end) / 2);
        const answer = await Calls.query({
            thread: lane.thread.id, begin: middle, end: middle + 1,
            pixels: 8, maxDepth: Answers.DEEPEST });
        for (let depth = answer.tracks[0].depths - 1; depth >= 0; depth--) {
            for (let i = answer.rows[depth]; i < answer.rows[depth + 1];
                 i++) {
                if (answer.calls[i] === 1 && answer.start[i] <= middle &&
                    answer.stop[i] >= middle) {
                    const found = { thread: lane.thread.id,
                                    begin: answer.start[i],
                                    end: answer.stop[i], depth,
                                    function: answer.function[i] };
                    Calls.choose(found);
                    Viewer.tell({ reveal: found });
                    return;
                }
            }
        }
        const next = await Calls.nearest({ thread: lane.thread.id }, 0,
            middle, Viewer.session.end + 1, 1);
        if (next !== null) {
            Calls.choose(next);
            Viewer.show(next);
        } else {
            Viewer.say('No call here, nor later.');
        }
    }
}
