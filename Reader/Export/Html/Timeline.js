//
// The timeline: tracks below each other, time from left to right.
//

const ROW = 17, HEAD = 20, AXIS = 22, CELL = 2;

class Timeline {
    constructor() {
        this.box = $('timelineScroll');
        this.canvas = $('timelineCanvas');
        this.begin = about.from;
        this.end = Math.max(about.to, about.from + 1);
        this.from = this.begin;
        this.to = this.end;
        this.pointer = null;
        this.isDue = false;
        this.tracks = about.tracks.map((each, index) => ({
            index, about: each, rows: null, isOpen: true, marks: null,
            place: 0, title: this.titleOf(each)
        })).sort((one, other) => one.about.first - other.about.first ||
            one.about.thread - other.about.thread ||
            one.about.fiber - other.about.fiber);
        this.drawn = 0;
        this.makeMarks();
        this.layOut();
        this.listen();
    }

    titleOf(track) {
        return 'Thread ' + track.thread +
            (track.fiber ? ', fiber ' + track.fiber : '') +
            (track.name ? ' \u2013 ' + track.name : '');
    }

    rowsOf(track) {
        if (track.rows === null) {
            track.rows = readTrack(track.index);
        }
        return track.rows;
    }

    heightOf(track) {
        if (!track.isOpen) {
            return HEAD;
        }
        return HEAD + ROW * (track.rows ? track.rows.length
            : Math.min(track.about.rows, about.maximumRows + 1)) + 6;
    }

    layOut() {
        let place = AXIS;
        for (const track of this.tracks) {
            track.place = place;
            place += this.heightOf(track);
        }
        this.height = place;
        this.draw();
    }

    //
    // The range of time that is shown.
    //

    show(from, to) {
        const least = about.unit === 'ns' ? 20 : 50;
        const whole = this.end - this.begin;
        let span = Math.min(Math.max(to - from, Math.min(least, whole)),
                            whole);
        from = Math.min(Math.max(from, this.begin), this.end - span);
        this.from = from;
        this.to = from + span;
        this.draw();
    }

    zoom(factor, at) {
        const time = at === undefined ? (this.from + this.to) / 2
            : this.from + at / this.width * (this.to - this.from);
        this.show(time - (time - this.from) * factor,
                  time + (this.to - time) * factor);
    }

    pan(share) {
        const by = (this.to - this.from) * share;
        this.show(this.from + by, this.to + by);
    }

    fit() {
        this.show(this.begin, this.end);
    }

    timeAt(x) {
        return this.from + x / this.width * (this.to - this.from);
    }

    //
    // Drawing.
    //

    draw() {
        if (!this.isDue) {
            this.isDue = true;
            requestAnimationFrame(() => {
                this.isDue = false;
                this.paint();
            });
        }
    }

    paint() {
        const width = this.box.clientWidth, height = this.box.clientHeight;
        if (!width || !height) {
            return;
        }
        this.width = width;

        //
        // Tracks that come into sight are read; that may change their
        // heights.
        //

        const top = this.box.scrollTop;
        for (const track of this.tracks) {
            if (track.isOpen && !track.rows && track.place < top + height &&
                track.place + this.heightOf(track) > top) {
                this.rowsOf(track);
                this.layOut();
            }
        }

        const space = Math.max(this.height - height, 0);
        if (this.space !== space) {
            this.space = space;
            $('timelineSpace').style.height = space + 'px';
        }

        const context = prepareCanvas(this.canvas, width, height);
        context.fillStyle = style.back;
        context.fillRect(0, 0, width, height);
        context.font = FONT;
        context.textBaseline = 'middle';
        this.drawn = 0;
        this.drawGrid(context, height);
        for (const track of this.tracks) {
            const y = track.place - top;
            if (y < height && y + this.heightOf(track) > AXIS) {
                this.paintTrack(context, track, y, height);
            }
        }
        this.drawAxis(context);
        this.placeMarks(context, height);
        if (performance.firstPaint === undefined) {
            performance.firstPaint = performance.now();
        }
    }

    steps() {
        const span = this.to - this.from;
        const rough = span / Math.max(this.width / 110, 1);
        let step = 10 ** Math.floor(Math.log10(rough));
        for (const factor of [2, 5, 10]) {
            if (step < rough) {
                step = step === 0 ? 1 : 10 ** Math.floor(Math.log10(rough)) *
                    factor;
            }
        }
        return Math.max(step, 1);
    }

    labelOf(value, step) {
        if (about.unit === 'ticks' || value === 0) {
            return count(value);
        }
        const [unit, size] = UNITS.find(each => value >= each[1]) ||
            UNITS[3];
        const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
        return (value / size).toFixed(Math.min(digits, 9)) + ' ' + unit;
    }

    xOf(value) {
        return (value - this.from) / (this.to - this.from) * this.width;
    }

    drawGrid(context, height) {
        const step = this.steps();
        context.fillStyle = style.grid;
        for (let at = Math.ceil(this.from / step) * step; at <= this.to;
             at += step) {
            context.fillRect(Math.round(this.xOf(at)), AXIS, 1, height);
        }
    }

    drawAxis(context) {
        const step = this.steps();
        context.fillStyle = style.panel;
        context.fillRect(0, 0, this.width, AXIS);
        context.fillStyle = style.line;
        context.fillRect(0, AXIS - 1, this.width, 1);
        context.font = FONT;
        for (let at = Math.ceil(this.from / step) * step; at <= this.to;
             at += step) {
            const x = Math.round(this.xOf(at));
            context.fillStyle = style.line;
            context.fillRect(x, AXIS - 7, 1, 6);
            context.fillStyle = style.text;
            context.fillText(this.labelOf(at, step), x + 3, AXIS / 2 - 1);
        }
        const text = time(this.to - this.from) + ' shown';
        const size = context.measureText(text).width + 12;
        context.fillStyle = style.panel;
        context.fillRect(this.width - size, 0, size, AXIS - 1);
        context.fillStyle = style.soft;
        context.fillText(text, this.width - size + 6, AXIS / 2 - 1);
    }

    //
    // Marks, and when recording was stopped, started and cleared: a line, and
    // a button on the axis that says what it is.
    //

    makeMarks() {
        this.instants = about.marks.map(([at, thread, isMark, text], index) => {
            const button = document.createElement('button');
            const title = isMark ? text || '(no text)' : text;
            button.type = 'button';
            button.className = isMark ? 'mark' : 'other';
            button.hidden = true;
            button.setAttribute('aria-label',
                (isMark ? 'Mark: ' : '') + title + ', at ' + time(at));
            const instant = { at, button, isMark };
            const say = () => {
                const frame = button.getBoundingClientRect();
                const rows = [['at', time(at) + ' (' + exact(at) + ')']];
                if (thread) {
                    rows.push(['by', 'Thread ' + thread]);
                }
                this.instant = index;
                tip.show(frame.left, frame.bottom, title, rows);
            };
            button.addEventListener('pointerenter', say);
            button.addEventListener('focus', say);
            button.addEventListener('pointerleave', () => tip.hide());
            button.addEventListener('blur', () => tip.hide());
            button.addEventListener('click', () => this.showInstant(instant));
            $('marks').append(button);
            return instant;
        });
    }

    placeMarks(context, height) {
        for (const { at, button, isMark } of this.instants) {
            const isSeen = at >= this.from && at <= this.to;
            button.hidden = !isSeen;
            if (isSeen) {
                const x = Math.round(this.xOf(at));
                button.style.left = x + 'px';
                context.fillStyle = isMark ? style.accent : style.soft;
                context.fillRect(x, AXIS, 1, height);
            }
        }
    }

    showInstant({ at }) {
        const span = this.to - this.from;
        this.show(at - span / 2, at + span / 2);
    }

    //
    // The next or previous mark.
    //

    stepInstant(direction) {
        const next = this.instant === undefined
            ? (direction > 0 ? 0 : this.instants.length - 1)
            : this.instant + direction;
        const instant = this.instants[next];
        if (!instant) {
            return false;
        }
        if (instant.at < this.from || instant.at > this.to) {
            this.showInstant(instant);
        }
        instant.button.hidden = false;
        instant.button.style.left = Math.round(this.xOf(instant.at)) + 'px';
        instant.button.focus();
        return true;
    }

    paintTrack(context, track, y, height) {
        context.save();
        context.beginPath();
        context.rect(0, AXIS, this.width, height);
        context.clip();
        if (track.isOpen) {
            this.rowsOf(track).forEach((row, depth) => {
                const at = y + HEAD + depth * ROW;
                if (at < height && at + ROW > AXIS) {
                    this.paintRow(context, row, at);
                }
            });
        }

        //
        // The name stays in sight while some of the track is.
        //

        const head = Math.max(y, Math.min(
            AXIS, y + this.heightOf(track) - HEAD - 6));
        context.fillStyle = style.panel;
        context.fillRect(0, head, this.width, HEAD - 2);
        context.fillStyle = style.line;
        context.fillRect(0, head + HEAD - 3, this.width, 1);
        context.fillStyle = style.text;
        context.beginPath();
        if (track.isOpen) {
            context.moveTo(7, head + 6);
            context.lineTo(17, head + 6);
            context.lineTo(12, head + 12);
        } else {
            context.moveTo(8, head + 4);
            context.lineTo(15, head + 9);
            context.lineTo(8, head + 14);
        }
        context.fill();
        context.fillText(track.title + '   ' +
            plural(track.about.calls, 'call'), 23, head + HEAD / 2 - 1);
        context.restore();
    }

    //
    // Calls that are narrower than a cell share it with those that begin in
    // it.  Cells are fixed in time, so that moving does not make them flicker.
    // visit is called with what each box stands for.
    //

    eachBox(row, visit) {
        const scale = this.width / (this.to - this.from);
        const cell = CELL / scale;
        let i = firstAbove(row.end, this.from);
        if (i > 0 && row.end[i - 1] === this.from) {
            i--;
        }
        while (i < row.count && row.start[i] < this.to) {
            const long = (row.end[i] - row.start[i]) * scale;
            let next = i + 1;
            if (long < CELL && next < row.count) {
                const place = Math.floor(row.start[i] / cell);
                const limit = (place + 1) * cell;
                if (row.start[next] < limit) {
                    let step = 1;
                    while (i + step < row.count &&
                           row.start[i + step] < limit) {
                        step *= 2;
                    }
                    next = firstNotBelow(row.start, limit, i + (step >> 1),
                                         Math.min(i + step, row.count));
                    if (next - 1 > i &&
                        (row.end[next - 1] - row.start[next - 1]) * scale >=
                            CELL) {
                        next--;
                    }
                    if (next === i) {
                        next = i + 1;
                    }
                }
                if (next > i + 1) {
                    const x = (place * cell - this.from) * scale;
                    visit(i, next, x, CELL);
                    i = next;
                    continue;
                }
            }
            const x = (row.start[i] - this.from) * scale;
            visit(i, next, x, Math.max(long, 1));
            i = next;
        }
    }

    paintRow(context, row, y) {
        const isMarkingNow = isMarking();
        if (isMarkingNow && row.marks === null) {
            const marks = [];
            for (let i = 0; i < row.count; i++) {
                if (isMarked(row.func[i])) {
                    marks.push(i);
                }
            }
            row.marks = Uint32Array.from(marks);
        }
        let mark = 0, mergedFrom = -1, mergedTo = -1;
        const flush = () => {
            if (mergedTo > mergedFrom) {
                context.fillStyle = hatching(context);
                context.fillRect(mergedFrom, y, mergedTo - mergedFrom,
                                 ROW - 1);
            }
            mergedFrom = mergedTo = -1;
        };
        const frames = [];
        this.eachBox(row, (i, next, left, wide) => {
            let isMarkedHere = false;
            let from = i;
            if (isMarkingNow) {
                while (mark < row.marks.length && row.marks[mark] < i) {
                    mark = row.marks.length - mark > 32 &&
                        row.marks[mark + 32] < i
                        ? firstNotBelow(row.marks, i, mark + 32) : mark + 1;
                }
                if (mark < row.marks.length && row.marks[mark] < next) {
                    isMarkedHere = true;
                    from = row.marks[mark];
                }
            }
            this.drawn++;
            const x = Math.max(left, -4);
            const width = Math.min(left + wide, this.width + 4) - x;
            const color = colorOf(row.func[from],
                next - i > 1 || row.flags[i] & BLOCK
                    ? 0 : row.end[i] - row.start[i]);
            const isDim = isMarkingNow && !isMarkedHere;

            //
            // What little time of a block was spent in calls is pale.
            //

            const strength = isDim ? 0.25
                : 0.4 + 0.6 * row.busy[from] / 250;
            if (next - i > 1) {
                context.globalAlpha = strength;
                context.fillStyle = color;
                context.fillRect(x, y, width, ROW - 1);
                context.globalAlpha = 1;
                if (Math.abs(x - mergedTo) > 0.5) {
                    flush();
                    mergedFrom = x;
                }
                mergedTo = x + width;
            } else {
                flush();
                const flags = row.flags[i];
                const gap = width > 3 ? 0.6 : 0;
                drawBox(context, x, y, width - gap, ROW - 1, flags, color,
                        strength);
                if (width > 16) {
                    context.fillStyle = isDim ? style.text : INK;
                    drawLabel(context, flags & BLOCK
                        ? plural(row.callsOf(i, next), 'call') +
                            (row.share[i] ? ', mostly ' : ', as ') +
                            functionName(row.func[i])
                        : functionName(row.func[i]),
                    Math.max(x, 0) + (flags & BEGUN ? 11 : 4),
                    y + ROW / 2, Math.min(x + width, this.width) -
                        Math.max(x, 0) - (flags & (OPEN | BEGUN | ABANDONED)
                            ? 16 : 6));
                }
            }
            if (isMarkedHere) {
                const last = frames[frames.length - 1];
                if (last && x - last[1] < 1 && width < 4) {
                    last[1] = x + width;
                } else {
                    frames.push([x, x + width]);
                }
            }
        });
        flush();
        context.strokeStyle = style.mark;
        context.lineWidth = 2;
        for (const [left, right] of frames) {
            context.strokeRect(left + 0.5, y + 1,
                               Math.max(right - left - 1.5, 1), ROW - 3);
        }
        context.lineWidth = 1;
    }

    //
    // What is at a place: a track's name, or the items of a box.
    //

    hit(x, y) {
        const place = y + this.box.scrollTop;
        if (y < AXIS) {
            return null;
        }
        for (const track of this.tracks) {
            const height = this.heightOf(track);
            if (place < track.place || place >= track.place + height) {
                continue;
            }
            const head = Math.max(track.place - this.box.scrollTop,
                Math.min(AXIS, track.place - this.box.scrollTop + height -
                    HEAD - 6));
            if (y >= head && y < head + HEAD - 2) {
                return { track, isHead: true };
            }
            const depth = Math.floor((place - track.place - HEAD) / ROW);
            const row = track.isOpen ? this.rowsOf(track)[depth] : undefined;
            if (!row) {
                return { track };
            }
            let found = null;
            this.eachBox(row, (i, next, left, wide) => {
                if (x >= left - 1 && x <= left + Math.max(wide, 2) + 1 &&
                    (!found || x >= left)) {
                    found = { track, row, depth, first: i, next };
                }
            });
            if (found && isMarking() && found.next - found.first > 1 &&
                row.marks) {
                const at = firstNotBelow(row.marks, found.first);
                found.best = row.marks[at] < found.next ? row.marks[at]
                    : found.first;
            }
            return found || { track };
        }
        return null;
    }

    //
    // A call's self time, from what is inside of it; null if that is much.
    //

    selfOf(track, depth, row, index) {
        const below = track.rows[depth + 1];
        let left = row.end[index] - row.start[index], isExact = true;
        if (!below) {
            return [left, true];
        }
        let i = firstNotBelow(below.start, row.start[index]);
        for (let n = 0; i < below.count && below.end[i] <= row.end[index] &&
             below.start[i] <= row.end[index]; i++, n++) {
            if (n > 20000) {
                return null;
            }
            left -= (below.end[i] - below.start[i]) * below.busy[i] / 250;
            isExact = isExact && !(below.flags[i] & BLOCK);
        }
        return [Math.max(left, 0), isExact && !about.hasFilter];
    }

    describe(hit, x, y) {
        const { row, first, next, track, depth } = hit;
        if (next - first > 1 || row.flags[first] & BLOCK) {
            const isZoomable = next - first > 1;
            const calls = row.callsOf(first, next);
            const func = row.func[hit.best === undefined ? first : hit.best];
            const rows = [
                ['begins', time(row.start[first])],
                ['together', time(row.end[next - 1] - row.start[first])]];
            if (isZoomable) {
                rows.push(['among them', functionName(func)]);
            } else if (row.share[first]) {
                rows.push(['mostly', functionName(func) + ' (' +
                    Math.floor(50 + row.share[first] / 2) +
                    ' % of their time or more)']);
            } else {
                rows.push(['one of them', functionName(func)]);
            }
            tip.show(x, y, plural(calls, 'call') + (isZoomable
                ? ' that are too narrow to tell apart'
                : ' too short to show here'), rows,
            isZoomable ? 'Zoom in to see them.'
                : 'Those inside of them count too. Export a part of the ' +
                  'session with --from and --to to see them.');
            return;
        }
        const func = row.func[first], flags = row.flags[first];
        const rows = [];
        if (moduleName(func)) {
            rows.push(['module', moduleName(func)]);
        }
        if (callerOf(row.called[first])) {
            rows.push(['called by', callerOf(row.called[first])]);
        }
        if (sourceOf(func)[0]) {
            rows.push(['source', sourceOf(func)[0]]);
        }
        const length = row.end[first] - row.start[first];
        rows.push(['begins', time(row.start[first]) + ' (' +
            exact(row.start[first]) + ')']);
        rows.push(['takes', time(length) + ' (' + exact(length) + ')']);
        const self = this.selfOf(track, depth, row, first);
        if (self !== null) {
            rows.push(['itself', (self[1] ? '' : 'about ') + time(self[0])]);
        }
        const signs = [[ABANDONED, 'abandoned: left without an exit'],
                       [OPEN, about.hasTo ? 'open at the end of the range'
                           : 'open at the end of the data'],
                       [BEGUN, 'began before the range'],
                       [UNCERTAIN, 'the clock jumped during it']]
            .filter(each => flags & each[0]).map(each => each[1]);
        if (signs.length) {
            rows.push(['is', signs.join('; ')]);
        }
        if (func < FUNCTIONS) {
            rows.push(['all calls', ''], ...numberRows(numbers, func));
        }
        tip.show(x, y, functionName(func), rows);
    }

    //
    // The next or previous call that stands out.
    //

    step(direction) {
        if (!isMarking()) {
            return null;
        }
        const now = this.at === undefined
            ? (direction > 0 ? this.begin - 1 : this.end + 1) : this.at;
        let best = null;
        for (const track of this.tracks) {
            this.rowsOf(track).forEach((row, depth) => {
                let i = direction > 0 ? firstAbove(row.start, now)
                    : firstNotBelow(row.start, now) - 1;
                while (i >= 0 && i < row.count && !isMarked(row.func[i])) {
                    i += direction;
                }
                if (i >= 0 && i < row.count && (best === null ||
                    direction * (row.start[i] - best.row.start[best.i]) < 0)) {
                    best = { track, row, depth, i };
                }
            });
        }
        if (best !== null) {
            this.at = best.row.start[best.i];
            best.track.isOpen = true;
            this.layOut();
            this.reveal(best);
        }
        return best;
    }

    reveal({ track, row, depth, i }) {
        const length = Math.max(row.end[i] - row.start[i], 1);
        const span = this.to - this.from;
        const middle = row.start[i] + length / 2;
        if (length / span * this.width < 6 || length > span) {
            this.show(middle - length * 5, middle + length * 5);
        } else if (row.start[i] < this.from || row.end[i] > this.to) {
            this.show(middle - span / 2, middle + span / 2);
        }
        const y = track.place + HEAD + depth * ROW;
        if (y < this.box.scrollTop + AXIS + HEAD ||
            y + ROW > this.box.scrollTop + this.box.clientHeight) {
            $('timelineSpace').style.height =
                Math.max(this.height - this.box.clientHeight, 0) + 'px';
            this.box.scrollTop = y - this.box.clientHeight / 2;
        }
        this.draw();
    }

    //
    // Pointer and keys.
    //

    listen() {
        const box = this.box;
        let drag = null;
        const place = event => {
            const frame = this.canvas.getBoundingClientRect();
            return [event.clientX - frame.left, event.clientY - frame.top];
        };

        box.addEventListener('wheel', event => {
            if (event.shiftKey || event.altKey) {
                return;
            }
            event.preventDefault();
            const pixels = event.deltaMode === 1 ? 30
                : event.deltaMode === 2 ? 300 : 1;
            if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
                this.pan(event.deltaX * pixels / this.width);
            } else {
                this.zoom(Math.exp(Math.max(-1.2, Math.min(1.2,
                    event.deltaY * pixels / 300))), place(event)[0]);
            }
        }, { passive: false });
        box.addEventListener('scroll', () => this.draw());

        this.canvas.addEventListener('pointerdown', event => {
            if (event.button === 0) {
                drag = { x: event.clientX, y: event.clientY, from: this.from,
                         to: this.to, top: box.scrollTop, hasMoved: false };
                this.canvas.setPointerCapture(event.pointerId);
                box.focus({ preventScroll: true });
            }
        });
        this.canvas.addEventListener('pointermove', event => {
            const [x, y] = place(event);
            this.pointer = x;
            if (drag) {
                const by = event.clientX - drag.x;
                if (Math.abs(by) + Math.abs(event.clientY - drag.y) > 3) {
                    drag.hasMoved = true;
                }
                if (drag.hasMoved) {
                    const span = drag.to - drag.from;
                    const from = drag.from - by / this.width * span;
                    this.show(from, from + span);
                    box.scrollTop = drag.top - (event.clientY - drag.y);
                    tip.hide();
                    return;
                }
            }
            const hit = this.hit(x, y);
            this.canvas.style.cursor = hit && (hit.row || hit.isHead)
                ? 'pointer' : 'default';
            if (hit && hit.row) {
                this.describe(hit, event.clientX, event.clientY);
            } else {
                tip.hide();
            }
        });
        const release = event => {
            const was = drag;
            drag = null;
            if (!was || was.hasMoved || event.type === 'pointercancel') {
                return;
            }
            const hit = this.hit(...place(event));
            if (hit && hit.isHead) {
                hit.track.isOpen = !hit.track.isOpen;
                this.layOut();
            } else if (hit && hit.row) {
                this.choose(hit);
            }
        };
        this.canvas.addEventListener('pointerup', release);
        this.canvas.addEventListener('pointercancel', release);
        this.canvas.addEventListener('pointerleave', () => {
            this.pointer = null;
            tip.hide();
        });
        this.canvas.addEventListener('dblclick', event => {
            const hit = this.hit(...place(event));
            if (hit && hit.row) {
                const from = hit.row.start[hit.first];
                const to = hit.row.end[hit.next - 1];
                const edge = Math.max((to - from) * 0.05, 1);
                this.show(from - edge, to + edge);
            }
        });
        state.changed.add(what => {
            if (what === 'search') {
                this.at = undefined;
            }
            for (const track of this.tracks) {
                for (const row of track.rows || []) {
                    row.marks = null;
                }
            }
            this.draw();
        });
        new ResizeObserver(() => this.draw()).observe(box);
    }

    choose(hit) {
        const index = hit.best === undefined ? hit.first : hit.best;
        this.at = hit.row.start[index];
        if (hit.row.func[index] < FUNCTIONS) {
            select(hit.row.func[index]);
        }
    }

    //
    // The call in the middle, for the keyboard: the deepest one there.
    //

    chooseMiddle() {
        const x = this.width / 2, bottom = this.box.clientHeight;
        for (let y = bottom - 1; y > AXIS; y -= ROW / 2) {
            const hit = this.hit(x, y);
            if (hit && hit.row) {
                this.choose(hit);
                const frame = this.canvas.getBoundingClientRect();
                this.describe(hit, frame.left + x, frame.top + y);
                return;
            }
        }
    }

    key(key) {
        const at = this.pointer === null ? undefined : this.pointer;
        switch (key) {
        case 'w': case '+': case '=': this.zoom(1 / 1.5, at); break;
        case 's': case '-': case '_': this.zoom(1.5, at); break;
        case 'a': case 'ArrowLeft': this.pan(-0.15); break;
        case 'd': case 'ArrowRight': this.pan(0.15); break;
        case 'ArrowUp': this.box.scrollTop -= 3 * ROW; break;
        case 'ArrowDown': this.box.scrollTop += 3 * ROW; break;
        case 'Enter': this.chooseMiddle(); break;
        case '0': this.fit(); break;
        case 'm': return this.stepInstant(1);
        case 'M': return this.stepInstant(-1);
        case 'c': {
            const isOpen = !this.tracks.some(track => track.isOpen);
            for (const track of this.tracks) {
                track.isOpen = isOpen;
            }
            this.layOut();
            break;
        }
        default: return false;
        }
        return true;
    }
}
