//
// The timeline: what is painted, and where.  How the pointer and the keys move
// it is in TimelineInput.js, boxes are drawn by Raster.js.
//

class Timeline {
    static AXIS = 22;
    static MARKS = 19;
    static PINNED = 0.6;        // of the height, at most

    constructor() {
        this.scroller = $('timelineScroll');
        this.canvas = $('timelineCanvas');
        this.space = $('timelineSpace');
        this.raster = new Raster();
        this.answers = new Answers(isNew => {
            this.isLaidOut = this.isLaidOut && !isNew;
            Viewer.redraw();
        });
        this.lanes = new Lanes(this.answers);
        this.marks = new MarkLane();
        this.width = 0;
        this.height = 0;
        this.gutter = 180;
        this.ratio = 1;
        this.current = null;            // key of the lane that keys act on
        this.marked = null;
        this.markedSize = 0;
        this.wanted = Array.from({ length: 256 }, () =>
            ({ source: null, depth: 0 }));
        this.wantedCount = 0;
        this.place = { track: 0, depth: 0 };
        this.passAt = 0;
        this.space.style.height = '0';
        this.scroll = 0;
        this.spaceHeight = 0;
        this.isLaidOut = false;
        Viewer.on((change, state) => this.update(change, state));
        new ResizeObserver(() => {
            this.width = this.scroller.clientWidth;
            this.height = this.scroller.clientHeight;
            this.isLaidOut = false;
            Viewer.redraw();
        }).observe(this.scroller);
        this.scroller.addEventListener('scroll', () => {
            this.scroll = this.scroller.scrollTop;
            Viewer.redraw();
        });
    }

    update(change, state) {
        const { session } = Viewer;
        if (session === null) {
            return;
        }
        if (change.opened) {
            this.answers.clear();
            this.lanes = new Lanes(this.answers);
            this.current = null;
            this.scrollTo(0);
            Texts.clear();
        }
        if (change.session) {
            this.marks.read(session.marks);
            this.answers.expire(true);
        }
        if (change.pass) {

            //
            // What was not known is asked again, but not all the time.
            //

            const now = performance.now();
            if (now - this.passAt > 400 || Viewer.isPassed) {
                this.passAt = now;
                this.answers.expire(false);
            }
        }
        if (change.theme || change.opened) {
            this.raster.readTheme(Style);
        }
        if ('function' in change || 'filter' in change || change.session ||
            change.pass || change.functions) {
            this.readMarked(state);
        }
        if (!this.isLaidOut || change.session || 'collapsed' in change ||
            'pinned' in change) {
            this.layOut(state);
        }
        if (change.reveal) {
            this.reveal(change.reveal);
        }
        this.paint(state);
        if (this.onMoved && ('begin' in change || 'end' in change ||
            change.reveal)) {
            this.onMoved();
        }
    }

    //
    // A time with as many digits as a pixel tells apart.
    //

    static digits = Array.from({ length: 10 }, (_, digits) =>
        new Intl.NumberFormat('en-US', { minimumFractionDigits: digits,
                                         maximumFractionDigits: digits }));

    precise(time) {
        const [unit, size] = Timeline.unitOf(this.tickStep || 1e9);
        const pixel = Format.nanoseconds(Viewer.state.end -
            Viewer.state.begin) / Math.max(this.width - this.gutter, 1);
        const digits = Math.min(Math.max(0, Math.ceil(Math.log10(size /
            Math.max(pixel, 0.1)))), 9);
        return Timeline.digits[digits].format(Format.nanoseconds(time) /
            size) + ' ' + unit;
    }

    //
    // Functions that stand out: the one that is selected, or those that are
    // searched for.
    //

    readMarked(state) {
        const { functions } = Viewer.engine;
        this.marked = null;
        if (state.function === null && !state.filter) {
            return;
        }
        this.marked = new Uint8Array(functions.length);
        if (state.filter) {
            const words = state.filter.toLowerCase().split(/\s+/)
                .filter(each => each);
            functions.forEach((each, id) => {
                const text = (each.name + ' ' + each.module).toLowerCase();
                this.marked[id] = words.every(word => text.includes(word))
                    ? 1 : 0;
            });
        }
        if (state.function !== null) {
            if (!state.filter) {
                this.marked.fill(0);
            }
            this.marked[state.function] = 1;
        }
    }

    //
    // Places.  What is in sight stays where it is if something above it grows.
    //

    layOut(state) {
        const { lanes, scroll } = this;
        const first = lanes.list[lanes.firstAt(scroll)];
        const above = first ? scroll - first.y : 0;
        lanes.layOut(state);
        this.isLaidOut = true;
        this.gutter = this.width < 800 ? 130 : 190;
        this.head = Timeline.AXIS + (this.marks.count ? Timeline.MARKS : 0);
        this.pinnedHeight = Math.min(lanes.pinnedHeight,
            Math.floor((this.height - this.head) * Timeline.PINNED));
        this.top = this.head + this.pinnedHeight;
        const space = Math.max(this.top + lanes.height - this.height, 0);
        if (this.spaceHeight !== space) {
            this.spaceHeight = space;
            this.space.style.height = space + 'px';
        }
        if (first && lanes.list.includes(first)) {
            const to = Math.max(Math.min(first.y + above, space), 0);
            if (first.y > 0 && Math.abs(to - scroll) > 1) {
                this.scrollTo(to);
            }
        }
    }

    scrollTo(to) {
        to = Math.max(0, Math.min(Math.round(to), this.spaceHeight));
        if (to !== this.scroll) {
            this.scroll = to;
            this.scroller.scrollTop = to;
            Viewer.redraw();
        }
    }

    //
    // Time and place.
    //

    timeAt(x) {
        const { state } = Viewer;
        return state.begin + (x - this.gutter) / (this.width - this.gutter) *
            (state.end - state.begin);
    }

    placeOf(time) {
        const { state } = Viewer;
        return this.gutter + (time - state.begin) * (this.width -
            this.gutter) / (state.end - state.begin);
    }

    //
    // Everything.
    //

    paint(state) {
        const { width, height, gutter, canvas, raster } = this;
        if (width <= gutter || height <= 0) {
            return;
        }
        const started = performance.now();
        const context = Style.fit(canvas, width, height, true);
        const ratio = devicePixelRatio || 1;
        this.ratio = ratio;
        this.context = context;
        raster.resize(canvas.width, canvas.height, context);
        raster.begin(this.marked);
        this.begin = state.begin;
        this.scale = (width - gutter) * ratio / (state.end - state.begin);
        this.wantedCount = 0;
        this.findTicks(state);
        this.paintGrid();

        const { scroll } = this;
        const { lanes } = this;
        for (const lane of lanes.pinned) {
            if (lane.y < this.pinnedHeight) {
                this.paintBoxes(lane, this.head + lane.y, this.head,
                                this.top);
            }
        }
        const first = lanes.firstAt(scroll);
        let last = first;
        const sticky = this.stickyOf(first, scroll);
        const clip = sticky ? sticky.at + Lanes.GROUP : this.top;
        for (; last < lanes.list.length; last++) {
            const lane = lanes.list[last];
            const y = this.top + lane.y - scroll;
            if (y >= height) {
                break;
            }
            this.paintBoxes(lane, y, Math.max(clip, this.top), height);
        }
        context.putImageData(raster.image, 0, 0);
        context.font = Style.FONT;
        context.textBaseline = 'middle';
        this.paintLabels(context, ratio);
        this.paintSelection(context, state);
        this.paintCall(context, state, scroll, clip);
        context.fillStyle = Style.panel;
        context.fillRect(0, this.head, gutter, height - this.head);
        this.clipTo(context, this.top, height);
        for (let i = first; i < last; i++) {
            const lane = lanes.list[i];
            this.paintName(context, lane, this.top + lane.y - scroll,
                           Math.max(clip, this.top), height);
        }
        if (sticky) {
            this.paintGroup(context, sticky.lane, sticky.at);
        }
        this.paintParents(context, scroll);
        context.restore();
        this.clipTo(context, this.head, this.top);
        for (const lane of lanes.pinned) {
            this.paintName(context, lane, this.head + lane.y, this.head,
                           this.top);
        }
        context.restore();
        context.fillStyle = Style.line;
        context.fillRect(gutter - 1, this.head, 1, height - this.head);
        if (this.pinnedHeight > 0) {
            context.fillStyle = Style.accent;
            context.fillRect(0, this.top - 2, width, 2);
        }
        this.paintAxis(context, state);
        this.marks.paint(context, this, state);
        this.frameTime = performance.now() - started;
        this.answers.serve(this.wanted, this.wantedCount, state.begin,
                           state.end, (width - gutter) * ratio);
        if (Viewer.isPassed && this.answers.running === 0) {
            this.answers.serveOthers(lanes.list);
        }
    }

    clipTo(context, top, bottom) {
        context.save();
        context.beginPath();
        context.rect(0, top, this.width, Math.max(bottom - top, 0));
        context.clip();
    }

    //
    // The process whose threads are at the top keeps its head in sight.
    //

    stickyOf(first, scroll) {
        const lane = this.lanes.list[first];
        if (!lane || !lane.group || lane.group.y >= scroll ||
            !lane.group.isOpen) {
            return null;
        }
        const left = lane.group.bottom - scroll;
        return { lane: lane.group,
                 at: this.top + Math.min(0, left - Lanes.GROUP) };
    }

    //
    // The boxes of a lane, in pixels; y, clip and bottom in units of the page.
    //

    want(source, depth) {
        if (this.wantedCount < this.wanted.length) {
            const wanted = this.wanted[this.wantedCount++];
            wanted.source = source;
            wanted.depth = depth;
        }
    }

    paintBoxes(lane, y, clip, bottom) {
        const { raster, ratio } = this;
        if (y + lane.height <= clip) {
            return;
        }
        const clipTop = Math.round(clip * ratio);
        const clipBottom = Math.min(Math.round(bottom * ratio),
                                    raster.height);
        if (lane.kind === 'process') {
            if (!lane.isOpen) {
                this.paintActivity(lane, y + Lanes.GROUP + 3,
                    y + lane.height - 3, clipTop, clipBottom);
            }
            return;
        }
        this.paintLife(lane, y, clipTop, clipBottom);
        if (!lane.isOpen) {
            this.paintActivity(lane, y + 3, y + lane.height - 3, clipTop,
                               clipBottom);
            Losses.paint(this, lane, y, clipTop, clipBottom);
            return;
        }
        const { source } = lane;
        const first = Math.max(0, Math.floor((clip - y - 3) / Lanes.ROW));
        const last = Math.min(source.depths,
            Math.ceil((bottom - y) / Lanes.ROW));
        this.want(source, last);
        const left = Math.round(this.gutter * ratio);
        const right = raster.width;
        const { whole, fine } = source;
        let low = left, high = left;
        if (fine !== null && !(whole !== null && fine.pixel >= whole.pixel)) {
            low = Math.max(left, Math.min(right, Math.round(left +
                (fine.begin - this.begin) * this.scale)));
            high = Math.max(low, Math.min(right, Math.round(left +
                (fine.end - this.begin) * this.scale)));
        }
        for (let at = first; at < last; at++) {
            const { track, depth } = source.tracks.length === 1
                ? this.depthAt(at) : source.placeOf(at);
            const top = Math.round((y + 3 + at * Lanes.ROW) * ratio);
            const end = Math.round((y + 3 + (at + 1) * Lanes.ROW - 1) *
                ratio);
            const row = whole === null ? -1
                : Answers.rowOf(whole, track, depth);
            if (row >= 0) {
                if (low > left) {
                    raster.drawRow(whole, row, this.begin, this.scale, left,
                        left, low, top, end, clipTop, clipBottom, ratio,
                        true);
                }
                if (high < right) {
                    raster.drawRow(whole, row, this.begin, this.scale, left,
                        high, right, top, end, clipTop, clipBottom, ratio,
                        true);
                }
            }
            const fineRow = high > low ? Answers.rowOf(fine, track, depth)
                : -1;
            if (fineRow >= 0) {
                raster.drawRow(fine, fineRow, this.begin, this.scale, left, low,
                    high, top, end, clipTop, clipBottom, ratio, true);
            }
        }
        Losses.paint(this, lane, y, clipTop, clipBottom);
    }

    //
    // The same object again and again: this is called for each row of each
    // frame.
    //

    depthAt(row) {
        this.place.depth = row;
        return this.place;
    }

    paintActivity(lane, y, bottom, clipTop, clipBottom) {
        const { raster, ratio } = this;
        const { source } = lane;
        this.want(source, 0);
        const left = Math.round(this.gutter * ratio);
        const { whole, fine } = source;
        const top = Math.round(y * ratio), end = Math.round(bottom * ratio);
        let low = left, high = left;
        if (fine !== null) {
            low = Math.max(left, Math.min(raster.width, Math.round(left +
                (fine.begin - this.begin) * this.scale)));
            high = Math.max(low, Math.min(raster.width, Math.round(left +
                (fine.end - this.begin) * this.scale)));
        }
        const share = answer => answer.most > 1.001
            ? 1 / source.threads.length : 1;
        if (whole !== null) {
            raster.drawActivity(whole, this.begin, this.scale, left, left,
                low, top, end, clipTop, clipBottom, share(whole));
            raster.drawActivity(whole, this.begin, this.scale, left, high,
                raster.width, top, end, clipTop, clipBottom, share(whole));
        }
        if (high > low) {
            raster.drawActivity(fine, this.begin, this.scale, left, low, high,
                top, end, clipTop, clipBottom, share(fine));
        }
    }

    //
    // A thread's time from its begin to its end is paper, what is around it
    // isn't.
    //

    paintLife(lane, y, clipTop, clipBottom) {
        const { raster, ratio } = this;
        const left = Math.round(this.gutter * ratio);
        const place = time => Math.max(left, Math.min(raster.width,
            Math.round(left + (time - this.begin) * this.scale)));
        const begin = place(lane.thread.begin);
        const end = place(lane.thread.isLive ? Viewer.session.end
            : lane.thread.end);
        const top = Math.max(clipTop, Math.round(y * ratio));
        const bottom = Math.min(clipBottom,
            Math.round((y + lane.height) * ratio));
        if (begin > left || end < raster.width) {
            for (let line = top; line < bottom; line++) {
                const at = line * raster.width;
                raster.pixels.fill(this.nowhere, at + left, at + begin);
                raster.pixels.fill(this.nowhere, at + end,
                                   at + raster.width);
            }
        }
        if (bottom > top && bottom < clipBottom) {
            raster.pixels.fill(this.gridPixel, (bottom - 1) * raster.width +
                left, bottom * raster.width);
        }
    }

    //
    // The lines of the axis.
    //

    findTicks(state) {
        const span = Format.nanoseconds(state.end - state.begin);
        const room = Math.max((this.width - this.gutter) / 110, 1);
        let step = 10 ** Math.floor(Math.log10(span / room));
        for (const factor of [1, 2, 5, 10]) {
            if (span / (step * factor) <= room) {
                step *= factor;
                break;
            }
        }
        step = Math.max(step, 1);
        this.tickStep = step;
        this.tickFirst = Math.ceil(Format.nanoseconds(state.begin) / step);
        this.tickCount = Math.max(0, Math.floor(
            Format.nanoseconds(state.end) / step) - this.tickFirst + 1);
        this.nowhere = Raster.pixelOf(...Raster.parse(Style.row));
        this.gridPixel = Raster.pixelOf(...Raster.parse(Style.grid));
    }

    tickPlace(i) {
        const time = (this.tickFirst + i) * this.tickStep / 1e9 *
            Viewer.session.ticksPerSecond;
        return this.placeOf(time);
    }

    paintGrid() {
        const { raster, ratio } = this;
        const top = Math.round(this.head * ratio);
        for (let i = 0; i < this.tickCount; i++) {
            const x = Math.round(this.tickPlace(i) * ratio);
            if (x >= 0 && x < raster.width) {
                for (let at = top * raster.width + x;
                     at < raster.pixels.length; at += raster.width) {
                    raster.pixels[at] = this.gridPixel;
                }
            }
        }
    }

    static unitOf(step) {
        return step >= 1e9 ? ['s', 1e9] : step >= 1e6 ? ['ms', 1e6]
            : step >= 1e3 ? ['\u00b5s', 1e3] : ['ns', 1];
    }

    static tickText(value, step) {
        const [unit, size] = Timeline.unitOf(step);
        return Format.count(Math.round(value / size)) + ' ' + unit;
    }

    paintAxis(context, state) {
        const { width, gutter } = this;
        context.fillStyle = Style.panel;
        context.fillRect(0, 0, width, this.head);
        context.fillStyle = Style.line;
        context.fillRect(0, Timeline.AXIS - 1, width, 1);
        context.fillRect(0, this.head - 1, width, 1);
        context.textAlign = 'left';

        //
        // Where the range begins, and below that its length; the lines have
        // their times from there on.
        //

        context.fillStyle = Style.text;
        const span = Texts.of(context, Format.time(state.end - state.begin) +
            ' on the screen', gutter - 16);
        context.fillText(span, 8, Timeline.AXIS / 2);
        context.fillStyle = Style.soft;
        for (let i = 0; i < this.tickCount; i++) {
            const x = this.tickPlace(i);
            const text = Timeline.tickText((this.tickFirst + i) *
                this.tickStep, this.tickStep);
            context.fillRect(x, Timeline.AXIS - 6, 1, 5);
            if (x + 4 + Texts.widthOf(context, text) < width) {
                context.fillText(text, x + 4, Timeline.AXIS / 2);
            }
        }
        if (state.selection !== null) {
            this.paintMeasure(context, state.selection);
        }
    }

    paintLabels(context, ratio) {
        const { raster } = this;
        const half = (Lanes.ROW - 1) / 2;
        this.clipTo(context, this.head, this.height);
        for (let i = 0; i < raster.labels; i++) {
            const x = raster.labelX[i] / ratio;
            const y = raster.labelY[i] / ratio;
            const width = raster.labelWidth[i] / ratio;
            const flags = raster.labelFlags[i];
            const id = raster.labelFunction[i];
            if (flags & (FLAG_ABANDONED | FLAG_OPEN)) {
                context.fillStyle = Format.INK;
                this.paintEnd(context, x + width, y, flags);
            }
            if (id === 0xffffffff) {
                continue;
            }
            const room = width - (flags & (FLAG_ABANDONED | FLAG_OPEN)
                ? 16 : 7);
            const text = flags & FLAG_UNKNOWN
                ? Texts.of(context, 'not read yet', room)
                : flags & FLAG_LOST
                    ? Texts.of(context, 'records lost here', room)
                    : Texts.ofFunction(context, id, room);
            if (text) {
                context.fillStyle = flags & 128 || flags & FLAG_UNKNOWN
                    ? Style.soft : Format.INK;
                context.fillText(text, x + 4, y + half + 0.5);
            }
        }
        context.strokeStyle = Style.mark;
        context.lineWidth = 1.5;
        for (let i = 0; i < raster.frames; i++) {
            context.strokeRect(raster.frameX[i] / ratio + 0.5,
                raster.frameY[i] / ratio + 0.75,
                Math.max(raster.frameWidth[i] / ratio - 1, 1),
                Lanes.ROW - 2.5);
        }
        context.lineWidth = 1;
        context.restore();
    }

    //
    // A toothed edge: abandoned.  An arrow: open at the end.
    //

    paintEnd(context, x, y, flags) {
        const height = Lanes.ROW - 1;
        context.beginPath();
        if (flags & FLAG_ABANDONED) {
            const step = height / 4;
            context.moveTo(x, y);
            for (let i = 0; i < 4; i++) {
                context.lineTo(x - 5, y + (i + 0.5) * step);
                context.lineTo(x, y + (i + 1) * step);
            }
        } else {
            context.moveTo(x - 7, y + height / 2 - 4);
            context.lineTo(x - 2, y + height / 2);
            context.lineTo(x - 7, y + height / 2 + 4);
        }
        context.fill();
    }

    paintSelection(context, state) {
        if (state.selection === null) {
            return;
        }
        const from = this.placeOf(state.selection.begin);
        const to = this.placeOf(state.selection.end);
        context.fillStyle = Style.accent;
        context.globalAlpha = 0.13;
        context.fillRect(from, this.head, to - from, this.height);
        context.globalAlpha = 1;
        context.fillRect(from - 0.5, this.head, 1, this.height);
        context.fillRect(to - 0.5, this.head, 1, this.height);
    }

    paintMeasure(context, selection) {
        const { gutter, width } = this;
        const from = Math.max(this.placeOf(selection.begin), gutter);
        const to = Math.min(this.placeOf(selection.end), width);
        if (to < gutter || from > width) {
            return;
        }
        context.fillStyle = Style.accent;
        context.fillRect(from, 0, to - from, 3);
        context.fillRect(from - 1.5, 0, 3, Timeline.AXIS - 1);
        context.fillRect(to - 1.5, 0, 3, Timeline.AXIS - 1);
        const text = Format.time(selection.end - selection.begin);
        const wide = Texts.widthOf(context, text) + 10;
        let x = (from + to) / 2 - wide / 2;
        x = Math.max(gutter, Math.min(x, width - wide));
        context.fillStyle = Style.chosen;
        context.fillRect(x, 3, wide, Timeline.AXIS - 5);
        context.fillStyle = Style.text;
        context.fillText(text, x + 5, Timeline.AXIS / 2);
    }

    //
    // The frame of the call that is chosen.
    //

    paintCall(context, state, scroll, clip) {
        const { call } = state;
        const lane = call && this.lanes.laneOf(call.thread);
        if (!lane || !lane.isOpen) {
            return;
        }
        const y = (lane.isPinned ? this.head + lane.y
            : this.top + lane.y - scroll) + 3 +
            lane.source.rowOf(call.track, call.depth) * Lanes.ROW;
        const from = Math.max(this.placeOf(call.begin), this.gutter - 4);
        const to = Math.min(this.placeOf(call.end), this.width + 4);
        if (to < this.gutter || from > this.width) {
            return;
        }
        this.clipTo(context, lane.isPinned ? this.head
            : Math.max(clip, this.top), lane.isPinned ? this.top
            : this.height);
        context.strokeStyle = Style.text;
        context.lineWidth = 2;
        context.strokeRect(from, y, Math.max(to - from - 1, 2),
                           Lanes.ROW - 1);
        context.lineWidth = 1;
        context.restore();
    }

    //
    // Names at the left; a name stays in sight as long as its lane is.
    //

    static titleOf(thread) {
        return (thread.name || 'Thread ' + thread.tid) +
            Viewer.againOf(thread);
    }

    paintName(context, lane, y, clip, bottom) {
        if (lane.kind === 'process') {
            this.paintGroup(context, lane, y);
            return;
        }
        if (y + lane.height <= clip || y >= bottom) {
            return;
        }
        const { gutter } = this;
        const { thread } = lane;
        const at = Math.max(y, Math.min(clip, y + lane.height - 22));
        if (lane.key === this.current) {
            context.fillStyle = Style.chosen;
            context.fillRect(0, Math.max(y, clip), gutter - 1, lane.height -
                Math.max(clip - y, 0) - 1);
            context.fillStyle = Style.accent;
            context.fillRect(0, Math.max(y, clip), 3, lane.height -
                Math.max(clip - y, 0) - 1);
        }
        this.paintArrow(context, 12, at + 11, lane.isOpen);
        context.fillStyle = Style.text;
        const title = Timeline.titleOf(thread);
        context.fillText(Texts.of(context, title, gutter - 46), 20, at + 11);
        this.paintPin(context, gutter - 14, at + 11, lane.isPinned);
        if (lane.height > 40) {
            const isLost = thread.lost || Losses.has(thread);
            context.fillStyle = isLost ? Style.bad : Style.soft;
            const more = [];
            if (thread.name) {
                more.push(String(thread.tid));
            }
            if (lane.isPinned) {
                more.push(Format.baseName(Viewer.processOf(thread.process)
                    .program));
            }
            more.push(isLost ? 'lost records' : thread.mode);
            if (thread.isLive) {
                more.push('live');
            }
            if (lane.source.error) {
                more.length = 0;
                more.push(lane.source.error);
                context.fillStyle = Style.bad;
            }
            context.fillText(Texts.of(context, more.join(' \u00b7 '),
                                      gutter - 30), 20, at + 25);
        }
        context.fillStyle = Style.grid;
        context.fillRect(0, y + lane.height - 1, gutter, 1);
        if (thread.mode === 'tree' && at + 11 < bottom) {
            context.fillStyle = Style.soft;
            context.fillText(Texts.of(context, 'A tree: sums, without single '
                + 'calls. Functions and Flame graph show them.',
            this.width - gutter - 24), gutter + 10, at + 11);
        }
        if (lane.isOpen && lane.source.tracks.length > 1) {
            this.paintFibers(context, lane, y, clip);
        }
    }

    //
    // A thread's fibers are below what is the thread's own.
    //

    paintFibers(context, lane, y, clip) {
        lane.source.tracks.forEach((track, at) => {
            const top = y + 2 + track.base * Lanes.ROW;
            if (at === 0 || !track.depths || top < clip) {
                return;
            }
            context.fillStyle = Style.line;
            context.fillRect(20, top, this.width - 20, 1);
            context.fillStyle = Style.soft;
            if (top > y + 30) {
                context.fillText('fiber ' + at, 20, top + Lanes.ROW / 2 + 1);
            }
        });
    }

    paintArrow(context, x, y, isOpen) {
        context.fillStyle = Style.soft;
        context.beginPath();
        if (isOpen) {
            context.moveTo(x - 4, y - 2);
            context.lineTo(x + 4, y - 2);
            context.lineTo(x, y + 3);
        } else {
            context.moveTo(x - 2, y - 4);
            context.lineTo(x + 3, y);
            context.lineTo(x - 2, y + 4);
        }
        context.fill();
    }

    paintPin(context, x, y, isPinned) {
        context.fillStyle = isPinned ? Style.accent : Style.line;
        context.beginPath();
        context.moveTo(x - 4, y - 5);
        context.lineTo(x + 4, y - 5);
        context.lineTo(x + 2, y - 1);
        context.lineTo(x + 4, y + 2);
        context.lineTo(x - 4, y + 2);
        context.lineTo(x - 2, y - 1);
        context.fill();
        context.fillRect(x - 0.75, y + 2, 1.5, 4);
    }

    paintGroup(context, lane, y) {
        if (y + Lanes.GROUP <= this.top || y >= this.height) {
            return;
        }
        const { process } = lane;
        context.fillStyle = Style.group;
        context.fillRect(0, y, this.width, Lanes.GROUP);
        if (lane.key === this.current) {
            context.fillStyle = Style.accent;
            context.fillRect(0, y, 3, Lanes.GROUP);
        }
        context.fillStyle = Style.line;
        context.fillRect(0, y, this.width, 1);
        context.fillRect(0, y + Lanes.GROUP - 1, this.width, 1);
        const middle = y + Lanes.GROUP / 2;
        this.paintArrow(context, 12, middle, lane.isOpen);
        context.fillStyle = Style.text;
        context.font = '600 ' + Style.FONT;
        const name = Format.baseName(process.program);
        context.fillText(name, 20, middle);
        const wide = context.measureText(name).width;
        context.font = Style.FONT;
        context.fillStyle = Style.soft;
        const more = ['process ' + process.pid,
            Format.plural(Viewer.countThreads(process.threads), 'thread'),
            Format.time(process.end - process.begin)];
        if (process.exitCode !== null && process.exitCode !== undefined) {
            more.push('exit code ' + process.exitCode);
        }
        if (process.parent !== null && process.parent !== undefined) {
            const parent = Viewer.processOf(process.parent);
            if (parent) {
                more.push('started by ' + Format.baseName(parent.program) +
                    ' (' + parent.pid + ') at ' +
                    Format.time(process.begin));
            }
        }
        context.fillText(Texts.of(context, more.join(' \u00b7 '),
                                  this.width - wide - 44), 32 + wide, middle);
    }

    //
    // A line from a process to the one that it started, when it did.
    //

    paintParents(context, scroll) {
        const { list } = this.lanes;
        for (const lane of list) {
            const { process } = lane;
            if (lane.kind !== 'process' || process.parent === null ||
                process.parent === undefined) {
                continue;
            }
            const parent = list.find(each => each.key ===
                'p' + process.parent);
            const x = this.placeOf(process.begin);
            if (!parent || x < this.gutter || x > this.width) {
                continue;
            }
            const from = this.top + parent.y - scroll + Lanes.GROUP;
            const to = this.top + lane.y - scroll;
            context.strokeStyle = context.fillStyle = Style.accent;
            context.globalAlpha = 0.75;
            context.lineWidth = 1.5;
            const bend = from < to ? 12 : -12;
            context.beginPath();
            context.moveTo(x, from - 5);
            context.bezierCurveTo(x + bend, from + 12, x + bend, to - 12,
                                  x, to - 2);
            context.stroke();
            context.lineWidth = 1;
            context.beginPath();
            context.arc(x, from - 6, 3, 0, 7);
            context.fill();
            context.beginPath();
            context.moveTo(x - 4, to - 6);
            context.lineTo(x + 4, to - 6);
            context.lineTo(x, to + 1);
            context.fill();
            context.globalAlpha = 1;
        }
    }

    //
    // What is at a place: {lane, part: 'name' | 'pin' | 'group' | 'boxes',
    // depth, answer, box}; null if nothing is.
    //

    hit(x, y) {
        if (y < this.head) {
            return null;
        }
        const { scroll } = this;
        const { lanes } = this;
        let lane = null, top = 0;
        if (y < this.top) {
            lane = lanes.pinned.find(each => y < this.head + each.y +
                each.height) || null;
            top = lane ? this.head + lane.y : 0;
        } else {
            const first = lanes.firstAt(scroll);
            const sticky = this.stickyOf(first, scroll);
            if (sticky && y < sticky.at + Lanes.GROUP) {
                return { lane: sticky.lane, part: 'group' };
            }
            lane = lanes.list[lanes.firstAt(y - this.top + scroll)] || null;
            top = lane ? this.top + lane.y - scroll : 0;
            if (lane && y < top) {
                return null;
            }
        }
        if (lane === null) {
            return null;
        }
        if (lane.kind === 'process' && y < top + Lanes.GROUP) {
            return { lane, part: 'group' };
        }
        if (x < this.gutter) {
            return { lane, part: lane.kind === 'thread' &&
                x > this.gutter - 26 ? 'pin' : 'name' };
        }
        if (!lane.isOpen) {
            return { lane, part: 'activity' };
        }
        const row = Math.floor((y - top - 3) / Lanes.ROW);
        const { track, depth } = lane.source.placeOf(Math.max(row, 0));
        return { lane, part: 'boxes', track, depth, ...row < 0
            ? { answer: null, box: -1 }
            : this.boxAt(lane.source, track, depth, x) };
    }

    boxAt(source, track, depth, x) {
        const time = this.timeAt(x);
        const slack = (Viewer.state.end - Viewer.state.begin) /
            (this.width - this.gutter);
        const { fine, whole } = source;
        const answer = fine && fine.begin <= time && fine.end >= time &&
            !(whole && whole.pixel < fine.pixel) ? fine : whole;
        const row = answer ? Answers.rowOf(answer, track, depth) : -1;
        if (row < 0) {
            return { answer: null, box: -1 };
        }
        const last = answer.rows[row + 1];
        let best = -1, least = 1.5 * slack;
        for (let i = Answers.firstAt(answer, row, time - 2 * slack), n = 0;
             i < last && n < 64 && answer.start[i] <= time + 2 * slack;
             i++, n++) {
            const off = time < answer.start[i] ? answer.start[i] - time
                : time > answer.stop[i] ? time - answer.stop[i] : -1;
            if (off < least) {
                least = off;
                best = i;
                if (off < 0) {
                    break;
                }
            }
        }
        return { answer, box: best };
    }

    //
    // A thread, and with a depth a call's row, comes into sight.
    //

    reveal({ thread, track = 0, depth = 0 }) {
        const { lanes, scroll } = this;
        let lane = lanes.laneOf(thread);
        const about = Viewer.threadOf(thread);
        if (!about) {
            return;
        }
        const hidden = ['p' + about.process, 't' + thread].filter(
            each => Viewer.state.collapsed.includes(each));
        if (hidden.length) {
            Viewer.set({ collapsed: Viewer.state.collapsed.filter(
                each => !hidden.includes(each)) });
            this.layOut(Viewer.state);
            lane = lanes.laneOf(thread);
        }
        if (lane === null || lane.isPinned) {
            return;
        }
        const known = lane.source.tracks[track];
        if (known !== undefined && depth >= known.depths) {
            known.depths = Math.min(depth + 1, Answers.DEEPEST);
            lane.source.grow([]);
            this.layOut(Viewer.state);
        }
        this.current = lane.key;
        const y = lane.y + 3 + lane.source.rowOf(track, depth) * Lanes.ROW;
        const room = this.height - this.top;
        if (y - Lanes.GROUP < scroll) {
            this.scrollTo(y - Lanes.GROUP - 20);
        } else if (y + Lanes.ROW > scroll + room) {
            const least = y + Lanes.ROW - room;
            this.scrollTo(lane.y - Lanes.GROUP > least
                ? lane.y - Lanes.GROUP : least + 20);
        }
    }
}
