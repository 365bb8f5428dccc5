//
// Where records of a thread are missing: hatched, over all of its rows.  A
// thread's losses are {begin, end, records}; one whose oldest records were
// overwritten has one before its begin, as wide as the eye needs.
//

const Losses = {
    LEAST: 4,                   // pixels
    BEFORE: 14,
    PERIOD: 7,
    NEAR: 3,

    has: thread => Boolean(thread.losses && thread.losses.length),

    //
    // How many records of a session could not be read.
    //

    count: session => session.threads.reduce((sum, thread) => sum +
        (thread.losses || []).reduce((all, loss) => all + loss.records, 0), 0),

    //
    // Calls visit with each loss of a thread that is on the screen, and its
    // pixels.
    //

    each(timeline, thread, visit) {
        const { ratio, raster } = timeline;
        const left = Math.round(timeline.gutter * ratio);
        const place = time => left + (time - timeline.begin) * timeline.scale;
        const clip = x => Math.max(left, Math.min(raster.width,
                                                  Math.round(x)));
        const show = (from, to, loss) => {
            if (to > left && from < raster.width) {
                visit(clip(from), clip(to), loss);
            }
        };
        for (const loss of thread.losses || []) {
            const from = place(loss.begin);
            const to = Math.max(place(loss.end), from + this.LEAST * ratio);
            show(from, to, loss);
        }
        if (thread.isOverwritten) {
            const to = place(thread.begin);
            show(to - this.BEFORE * ratio, to, null);
        }
    },

    paint(timeline, lane, y, clipTop, clipBottom) {
        const { raster, ratio } = timeline;
        const { thread } = lane;
        if (!thread.isOverwritten && !this.has(thread)) {
            return;
        }
        const top = Math.max(clipTop, Math.round(y * ratio));
        const bottom = Math.min(clipBottom,
                                Math.round((y + lane.height - 1) * ratio));
        const pixel = Raster.pixelOf(...Raster.parse(Style.lost));
        const period = Math.round(this.PERIOD * ratio);
        const thick = Math.max(2, Math.round(2 * ratio));
        this.each(timeline, thread, (from, to) => {
            for (let line = top; line < bottom; line++) {
                const at = line * raster.width;
                for (let x = from; x < to; x++) {
                    if ((x + line) % period < thick) {
                        raster.pixels[at + x] = pixel;
                    }
                }
            }
        });
    },

    //
    // The loss at a place of the canvas; undefined: there is none.
    //

    at(timeline, thread, x) {
        const { ratio } = timeline;
        let found;
        this.each(timeline, thread, (from, to, loss) => {
            if (found === undefined && x * ratio >= from - this.NEAR &&
                x * ratio <= to + this.NEAR) {
                found = loss;
            }
        });
        return found;
    },

    text(loss) {
        return loss === null ? 'the oldest records were overwritten'
            : Format.plural(loss.records, 'record') + ' could not be read';
    },

    describe(thread, loss, x, y) {
        const rows = loss === null
            ? [['the oldest that is left', Format.time(thread.begin)]]
            : [['after', Format.time(loss.begin) + ' (' +
                Format.exact(loss.begin) + ')'],
               ['up to', Format.time(loss.end) + ' (' +
                Format.exact(loss.end) + ')'],
               ['records', Format.count(loss.records)]];
        rows.push(['thread', Timeline.titleOf(thread)]);
        Tip.show(x, y, loss === null ? 'Overwritten before'
            : 'Records are missing here', rows);
    }
};
