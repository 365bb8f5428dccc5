//
// The whole session in a strip: how much was called when, the marks, and the
// range on the screen as a window that can be moved and resized.
//

class Minimap {
    static EDGE = 7;

    constructor(timeline) {
        this.timeline = timeline;
        this.canvas = $('minimapCanvas');
        this.picture = document.createElement('canvas');
        this.answers = new Answers(() => {
            this.isOld = true;
            Viewer.redraw();
        });
        this.source = null;
        this.isOld = true;
        this.drag = null;
        this.askedAt = 0;
        this.wide = 0;
        this.high = 0;
        this.shown = [];
        Viewer.on((change, state) => this.update(change, state));
        this.listen();
    }

    update(change, state) {
        const { session } = Viewer;
        if (session === null) {
            return;
        }
        if (change.opened) {
            this.answers.clear();
            this.source = this.answers.sourceOf('all',
                session.threads.map(each => each.id), true);
        }
        if (change.session) {
            this.source.threads = session.threads.map(each => each.id);
            this.answers.expire(true);
        }
        const now = performance.now();

        //
        // Every thread is asked for it, which the picture would feel while it
        // moves.
        //

        if (change.pass && (Viewer.isPassed ||
            (now - this.askedAt > 500 && !Viewer.engine.isMoving))) {
            this.answers.expire(true);
        }
        if (change.session || change.theme || change.opened) {
            this.isOld = true;
        }
        const { wide: width, high: height } = this;
        if (!width || !height) {
            return;
        }
        const { source } = this;
        if (source.pending === null && (source.whole === null ||
            source.whole.isStale || source.whole.pixels !==
                Math.max(width - this.timeline.gutter, 1))) {
            this.askedAt = now;
            this.answers.ask(source, 'whole', session.begin, session.end,
                Math.max(width - this.timeline.gutter, 1), 0);
        }
        this.paint(state, width, height);
        if (change.settled || change.opened) {
            this.describe(state);
        }
    }

    placeOf(time) {
        const { session } = Viewer;
        const { gutter } = this.timeline;
        return gutter + (time - session.begin) /
            Math.max(session.end - session.begin, 1) * (this.width - gutter);
    }

    timeAt(x) {
        const { session } = Viewer;
        const { gutter } = this.timeline;
        return session.begin + (x - gutter) / (this.width - gutter) *
            (session.end - session.begin);
    }

    //
    // What does not move is painted once, and then copied.
    //

    paintPicture(width, height) {
        const { gutter, marks } = this.timeline;
        const context = Style.fit(this.picture, width, height);
        context.fillStyle = Style.panel;
        context.fillRect(0, 0, width, height);
        context.fillStyle = Style.back;
        context.fillRect(gutter, 0, width - gutter, height);
        const { whole } = this.source;
        if (whole !== null) {
            const most = Math.max(whole.most, 1e-9);
            const step = (width - gutter) / whole.pixels;
            for (let i = 0; i < whole.pixels; i++) {
                const part = whole.covered[i] / most;
                if (part > 0) {
                    const tall = Math.max(1, part * (height - 12));
                    context.fillStyle = Format.colorOf(whole.function[i]);
                    context.fillRect(gutter + i * step, height - tall, step +
                        0.3, tall);
                }
            }
        }
        context.fillStyle = Style.soft;
        let last = -1;
        for (let i = 0; i < marks.count; i++) {
            const x = Math.round(this.placeOf(marks.times[i]));
            if (x !== last) {
                context.fillRect(x, 0, 1, 5);
                last = x;
            }
        }
        context.font = Style.FONT;
        context.textBaseline = 'middle';
        context.fillText(Texts.of(context, Format.time(Viewer.session.end -
            Viewer.session.begin) + ' in all', gutter - 16), 8, height / 2);
        context.fillStyle = Style.line;
        context.fillRect(gutter - 1, 0, 1, height);
    }

    paint(state, width, height) {
        const isResized = this.width !== width || this.height !== height;
        this.width = width;
        this.height = height;
        const isNew = this.isOld || isResized ||
            this.gutter !== this.timeline.gutter;
        if (isNew) {
            this.isOld = false;
            this.gutter = this.timeline.gutter;
            this.paintPicture(width, height);
        }
        const { selection } = state;
        const shown = [state.begin, state.end, selection && selection.begin,
                       selection && selection.end];
        if (!isNew && this.shown.every((each, i) => each === shown[i])) {
            return;
        }
        this.shown = shown;
        const context = Style.fit(this.canvas, width, height);
        context.drawImage(this.picture, 0, 0, width, height);
        const from = this.placeOf(state.begin), to = this.placeOf(state.end);
        const wide = Math.max(to - from, 2);
        context.fillStyle = Style.back;
        context.globalAlpha = 0.62;
        context.fillRect(this.gutter, 0, from - this.gutter, height);
        context.fillRect(from + wide, 0, width - from - wide, height);
        context.globalAlpha = 1;
        if (state.selection !== null) {
            const left = this.placeOf(state.selection.begin);
            const right = this.placeOf(state.selection.end);
            context.fillStyle = Style.accent;
            context.globalAlpha = 0.3;
            context.fillRect(left, 0, Math.max(right - left, 1), height);
            context.globalAlpha = 1;
        }
        context.strokeStyle = Style.accent;
        context.lineWidth = 1.5;
        context.strokeRect(from + 0.5, 0.75, wide - 1, height - 1.5);
        context.lineWidth = 1;
        context.fillStyle = Style.accent;
        if (wide > 24) {
            context.fillRect(from - 1, height / 2 - 7, 3, 14);
            context.fillRect(from + wide - 2, height / 2 - 7, 3, 14);
        }
    }

    //
    // For who can't see it, when all is still.
    //

    describe(state) {
        this.canvas.setAttribute('aria-valuetext', 'from ' +
            Format.time(state.begin) + ' to ' + Format.time(state.end));
        const { session } = Viewer;
        const room = session.end - session.begin - (state.end - state.begin);
        this.canvas.setAttribute('aria-valuenow', String(room > 0
            ? Math.round((state.begin - session.begin) / room * 100) : 0));
    }

    listen() {
        const { canvas } = this;
        const placeOf = event => event.clientX -
            canvas.getBoundingClientRect().left;
        const kindAt = x => {
            const { state } = Viewer;
            const from = this.placeOf(state.begin);
            const to = this.placeOf(state.end);
            const isWide = to - from > 3 * Minimap.EDGE;
            return isWide && Math.abs(x - from) < Minimap.EDGE ? 'begin'
                : isWide && Math.abs(x - to) < Minimap.EDGE ? 'end'
                    : x > Math.min(from, to - 8) && x < Math.max(to, from + 8)
                        ? 'move' : 'new';
        };
        canvas.addEventListener('pointerdown', event => {
            if (event.button !== 0 || Viewer.session === null) {
                return;
            }
            const x = placeOf(event);
            const { state } = Viewer;
            this.drag = { kind: kindAt(x), x, begin: state.begin,
                          end: state.end, at: this.timeAt(x),
                          hasMoved: false };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener('pointermove', event => {
            const x = placeOf(event);
            const { drag } = this;
            if (!drag) {
                const kind = kindAt(x);
                canvas.style.cursor = kind === 'begin' || kind === 'end'
                    ? 'ew-resize' : kind === 'move' ? 'grab' : 'crosshair';
                return;
            }
            drag.hasMoved = drag.hasMoved || Math.abs(x - drag.x) > 3;
            if (!drag.hasMoved) {
                return;
            }
            const now = this.timeAt(x);
            switch (drag.kind) {
            case 'move':
                Viewer.setRange(drag.begin + now - drag.at,
                                drag.end + now - drag.at);
                break;
            case 'begin':
                Viewer.setRange(Math.min(now, drag.end - Viewer.LEAST),
                                drag.end);
                break;
            case 'end':
                Viewer.setRange(drag.begin,
                                Math.max(now, drag.begin + Viewer.LEAST));
                break;
            case 'new':
                Viewer.setRange(Math.min(now, drag.at),
                                Math.max(now, drag.at));
                break;
            }
        });
        canvas.addEventListener('pointerup', () => {
            const { drag } = this;
            this.drag = null;
            if (drag && !drag.hasMoved && drag.kind === 'new') {
                const half = (drag.end - drag.begin) / 2;
                Viewer.setRange(drag.at - half, drag.at + half);
            }
        });
        canvas.addEventListener('pointercancel', () => {
            this.drag = null;
        });
        canvas.addEventListener('dblclick', () => Viewer.fit());
        canvas.addEventListener('wheel', event => {
            event.preventDefault();
            const { state } = Viewer;
            const at = this.timeAt(placeOf(event));
            const factor = Math.exp(Math.max(-1.2, Math.min(1.2,
                event.deltaY * (event.deltaMode ? 30 : 1) / 300)));
            Viewer.setRange(at - (at - state.begin) * factor,
                            at + (state.end - at) * factor);
        }, { passive: false });
        canvas.addEventListener('keydown', event => {
            const { state } = Viewer;
            const span = state.end - state.begin;
            const by = { ArrowLeft: -0.2, ArrowRight: 0.2,
                         PageUp: -1, PageDown: 1 }[event.key];
            const factor = { ArrowUp: 0.7, ArrowDown: 1.4 }[event.key];
            if (by !== undefined) {
                Viewer.setRange(state.begin + by * span,
                                state.end + by * span);
            } else if (factor !== undefined) {
                const middle = (state.begin + state.end) / 2;
                Viewer.setRange(middle - span * factor / 2,
                                middle + span * factor / 2);
            } else {
                return;
            }
            event.preventDefault();
            event.stopPropagation();
        });
        new ResizeObserver(() => {
            this.wide = canvas.parentElement.clientWidth;
            this.high = canvas.parentElement.clientHeight;
            Viewer.redraw();
        }).observe(canvas.parentElement);
    }
}
