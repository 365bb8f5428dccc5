//
// The program's marks, below the axis: a flag for each, or one with a number
// for several that are too close to be told apart.  Texts are written where
// there is room up to the next flag.
//

class MarkLane {
    static NEAR = 12;

    constructor() {
        this.marks = [];
        this.times = new Float64Array(0);
        this.count = 0;

        //
        // What was painted: the first mark of each flag, how many, and where.
        //

        this.flags = 0;
        this.flagFirst = new Uint32Array(4096);
        this.flagCount = new Uint32Array(4096);
        this.flagX = new Float32Array(4096);
        this.chosen = -1;
    }

    read(marks) {
        this.marks = marks;
        this.count = marks.length;
        this.times = Float64Array.from(marks, each => each.time);
        this.chosen = -1;
    }

    firstNotBefore(time) {
        let low = 0, high = this.count;
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (this.times[middle] >= time) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    paint(context, timeline, state) {
        this.flags = 0;
        if (!this.count) {
            return;
        }
        const { gutter, width } = timeline;
        const scale = (width - gutter) / (state.end - state.begin);
        const top = Timeline.AXIS, { times } = this;
        const middle = top + Timeline.MARKS / 2;
        context.fillStyle = Style.soft;
        context.fillText(Texts.of(context, Format.plural(this.count, 'mark'),
                                  gutter - 16), 8, middle);
        let i = this.firstNotBefore(state.begin - 6 / scale);
        const last = this.firstNotBefore(state.end);
        while (i < last && this.flags < 4096) {
            const x = gutter + (times[i] - state.begin) * scale;
            const next = this.firstNotBefore(times[i] + MarkLane.NEAR /
                scale);
            this.flagFirst[this.flags] = i;
            this.flagCount[this.flags] = Math.max(next - i, 1);
            this.flagX[this.flags++] = x;
            i = Math.max(next, i + 1);
        }
        for (let n = 0; n < this.flags; n++) {
            const x = this.flagX[n], count = this.flagCount[n];
            const first = this.flagFirst[n];
            if (x < gutter - 4) {
                continue;
            }
            const isChosen = this.chosen >= first &&
                this.chosen < first + count;
            context.fillStyle = isChosen ? Style.text
                : count > 1 ? Style.soft : Style.accent;
            context.fillRect(x - 0.5, top + 2, 1, Timeline.MARKS - 3);
            context.beginPath();
            context.moveTo(x, top + 2);
            context.lineTo(x + 8, top + 5);
            context.lineTo(x, top + 9);
            context.fill();
            const room = (n + 1 < this.flags ? this.flagX[n + 1] : width) -
                x - 14;
            if (room > 20) {
                context.fillStyle = count > 1 ? Style.soft : Style.text;
                context.fillText(this.textOf(context, first, count, room),
                                 x + 10, middle);
            }
            if (isChosen) {
                context.fillRect(x - 0.5, top, 1, timeline.height);
            }
        }
    }

    textOf(context, first, count, room) {
        if (count === 1) {
            return Texts.of(context, this.marks[first].text, room);
        }
        const text = Format.count(count) + ' marks';
        return Texts.widthOf(context, text) <= room ? text
            : Texts.of(context, Format.count(count), room);
    }

    //
    // The flag at a place.
    //

    hit(x) {
        let best = -1, least = 9;
        for (let n = 0; n < this.flags; n++) {
            const off = Math.abs(this.flagX[n] + 3 - x);
            if (off < least) {
                least = off;
                best = n;
            }
        }
        return best;
    }

    describe(flag, x, y) {
        const first = this.flagFirst[flag], count = this.flagCount[flag];
        const mark = this.marks[first];
        if (count > 1) {
            const rows = this.marks.slice(first, first + Math.min(count, 8))
                .map(each => [Format.time(each.time),
                              Format.shorten(each.text, 60)]);
            Tip.show(x, y, Format.plural(count, 'mark') + ' close together',
                     rows, count > 8 ? 'Zoom in to see all.' : '');
            return;
        }
        const rows = [['at', Format.time(mark.time) + ' (' +
            Format.exact(mark.time) + ')']];
        const process = Viewer.processOf(mark.process);
        if (process) {
            rows.push(['process', Format.baseName(process.program) + ' (' +
                process.pid + ')']);
        }
        const thread = mark.thread !== null && mark.thread !== undefined
            ? Viewer.threadOf(mark.thread) : null;
        if (thread) {
            rows.push(['thread', Timeline.titleOf(thread)]);
        }
        Tip.show(x, y, mark.text, rows);
    }

    //
    // To a mark: it comes into the middle if it isn't on the screen.
    //

    go(index) {
        const mark = this.marks[index];
        const { state } = Viewer;
        this.chosen = index;
        if (mark.time < state.begin || mark.time > state.end) {
            const span = state.end - state.begin;
            Viewer.setRange(mark.time - span / 2, mark.time + span / 2);
        }
        Viewer.say('Mark at ' + Format.time(mark.time) + ': ' + mark.text);
        Viewer.redraw();
    }

    step(direction) {
        if (!this.count) {
            return;
        }
        const { state } = Viewer;
        let to = this.chosen + direction;
        if (this.chosen < 0 || this.times[this.chosen] < state.begin ||
            this.times[this.chosen] > state.end) {
            const middle = (state.begin + state.end) / 2;
            to = this.firstNotBefore(middle) - (direction < 0 ? 1 : 0);
        }
        if (to >= 0 && to < this.count) {
            this.go(to);
        } else {
            Viewer.say(direction > 0 ? 'No further mark.'
                : 'No earlier mark.');
        }
    }
}
