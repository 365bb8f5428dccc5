//
// The page's keys, and the help that lists them.
//

const Keys = {
    LIST: [
        ['Wheel, W, S, +, \u2212', 'zoom around the pointer'],
        ['Drag, A, D', 'move; Shift and wheel scrolls'],
        ['0, double click beside calls', 'show everything'],
        ['Home, End', 'go to the begin, to the end'],
        ['Click, Enter', 'choose a call: the one at the pointer, in the ' +
            'middle'],
        ['Arrows', 'from the call: the earlier, the later one; the one ' +
            'around it, the first inside'],
        ['Double click, Z', 'zoom to the call, to the selection'],
        ['Shift and drag, drag on the axis', 'select a range and measure it'],
        ['Shift and arrows', 'make a selection, longer or shorter'],
        ['R', 'select the time of the call'],
        ['n, N', 'next, previous call of the function'],
        ['m, M', 'next, previous mark'],
        ['Page down, Page up', 'next, previous thread or process'],
        ['c, C', 'collapse or expand: it, all processes'],
        ['X', 'pin the thread to the top, or let it go'],
        ['/, F', 'search functions'],
        ['Y', 'copy the TraceReader command for what is on the screen'],
        ['L', 'copy a link to what is on the screen'],
        ['P', 'follow the running program, or pause'],
        ['O, I', 'open another session; what is known of this one'],
        ['T', 'light or dark'],
        ['Escape', 'let go of the search, the call, the selection, the ' +
            'function']
    ],

    start(timeline, input) {
        this.timeline = timeline;
        this.input = input;
        document.addEventListener('keydown', event => this.press(event));
        $('helpOpen').addEventListener('click', () => this.openHelp());
        $('fit').addEventListener('click', () => Viewer.fit());
        $('next').addEventListener('click', () => Calls.step(1));
        $('previous').addEventListener('click', () => Calls.step(-1));
        $('copyCommand').addEventListener('click',
            () => Command.copy(timeline));
        const search = $('search');
        search.addEventListener('input', () =>
            Viewer.set({ filter: search.value.trim() }));
        search.addEventListener('keydown', event => {
            if (event.key === 'Enter') {
                this.goToFound(event.shiftKey ? -1 : 1);
            } else if (event.key === 'Escape') {
                search.value = '';
                Viewer.set({ filter: '' });
                $('timelineScroll').focus({ preventScroll: true });
                event.stopPropagation();
            }
        });
        Viewer.on((change, state) => {
            if (('filter' in change || change.pass) && Viewer.engine) {
                $('found').textContent = state.filter
                    ? Format.plural(this.found().length, 'function') : '';
            }
        });
    },

    //
    // The functions that the search finds, the best first: those whose names
    // begin with it.
    //

    found() {
        const words = Viewer.state.filter.toLowerCase().split(/\s+/)
            .filter(each => each);
        if (!words.length) {
            return [];
        }
        const all = Viewer.engine.functions.filter(each => {
            const text = each ? (each.name + ' ' + each.module).toLowerCase()
                : '';
            return words.every(word => text.includes(word));
        });
        const rank = each => {
            const name = each.name.toLowerCase();
            return name === words[0] ? 0 : name.startsWith(words[0]) ? 1 : 2;
        };
        return all.sort((one, other) => rank(one) - rank(other) ||
            one.name.length - other.name.length);
    },

    //
    // Enter in the search: the best function's next call.
    //

    goToFound(direction) {
        const found = this.found();
        if (!found.length) {
            Viewer.say('No function is called so.');
            return;
        }
        if (!found.some(each => each.id === Viewer.state.function)) {
            Viewer.set({ function: found[0].id, call: null });
        }
        Calls.step(direction);
    },

    press(event) {
        const { target } = event;
        if (event.defaultPrevented || event.ctrlKey || event.metaKey ||
            event.altKey || document.querySelector('dialog[open]')) {
            return;
        }
        if (['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName)) {
            if (event.key === 'Escape') {
                target.blur();
            }
            return;
        }
        if ((target.tagName === 'BUTTON' || target.tagName === 'SUMMARY') &&
            (event.key === 'Enter' || event.key === ' ')) {
            return;
        }
        const isInPanel = $('panels').contains(target);
        const isMovement = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown',
            'Home', 'End', 'PageUp', 'PageDown', 'Enter'].includes(event.key);
        if (this.pressed(event) || (Viewer.session !== null &&
            !(isInPanel && isMovement) && target !== $('divider') &&
            this.input.press(event))) {
            event.preventDefault();
        }
    },

    pressed(event) {
        const key = event.key.length === 1 && !'N'.includes(event.key)
            ? event.key.toLowerCase() : event.key;
        if (key === '?') {
            this.openHelp();
            return true;
        }
        if (key === 't') {
            Style.next();
            return true;
        }
        if (key === 'o') {
            Open.pickFolder();
            return true;
        }
        if (Viewer.session === null) {
            return false;
        }
        switch (key) {
        case '/': case 'f':
            $('search').focus();
            $('search').select();
            return true;
        case 'n': Calls.step(1); return true;
        case 'N': Calls.step(-1); return true;
        case 'y': Command.copy(this.timeline); return true;
        case 'l':
            Viewer.copy(location.href.replace(/#.*$/, '') + Link.make(),
                        'the link');
            return true;
        case 'p': Open.togglePause(); return true;
        case 'i': Open.openAbout(); return true;
        case 'Escape': this.letGo(); return true;
        default: return Panels.press(event.key);
        }
    },

    //
    // Of one thing after the other.
    //

    letGo() {
        const { state } = Viewer;
        if (state.filter) {
            $('search').value = '';
            Viewer.set({ filter: '' });
        } else if (state.call !== null) {
            Viewer.set({ call: null });
        } else if (state.selection !== null) {
            Viewer.set({ selection: null });
        } else {
            Viewer.set({ function: null });
        }
        Tip.hide();
    },

    openHelp() {
        const fill = (id, list) => {
            const table = $(id);
            table.replaceChildren();
            for (const [name, text] of list) {
                const row = table.insertRow();
                const head = document.createElement('th');
                head.scope = 'row';
                head.append(name);
                row.append(head);
                row.insertCell().textContent = text;
            }
        };
        const panels = Viewer.panels.filter(each => each.key);
        fill('helpKeys', [...this.LIST, ...panels.length
            ? [[panels[0].key + ' to ' + panels[panels.length - 1].key,
                panels.map(each => each.title).join(', ')]] : []]);
        fill('helpSigns', this.signs());
        $('help').showModal();
    },

    //
    // The signs of boxes, painted as in the timeline.
    //

    signs() {
        const sign = paint => {
            const canvas = document.createElement('canvas');
            canvas.style.width = '84px';
            const context = Style.fit(canvas, 84, 18);
            context.fillStyle = Style.back;
            context.fillRect(0, 0, 84, 18);
            paint(context);
            canvas.setAttribute('role', 'img');
            canvas.setAttribute('aria-label', 'sign');
            return canvas;
        };
        const box = (color, alpha = 1, x = 2, wide = 80) => context => {
            context.globalAlpha = alpha;
            context.fillStyle = color;
            context.fillRect(x, 1, wide, 16);
            context.globalAlpha = 1;
        };
        const ending = flags => context => {
            box(Format.PALETTE[0])(context);
            context.fillStyle = Format.INK;
            this.timeline.paintEnd(context, 82, 1, flags);
        };
        return [
            [sign(box(Format.PALETTE[0])), 'a call'],
            [sign(context => {
                for (let x = 2; x < 82; x++) {
                    const share = 0.5 + 0.5 * Math.sin(x / 5);
                    box(Format.PALETTE[x % 17 < 9 ? 3 : 1], 0.3 + 0.7 *
                        share, x, 1)(context);
                }
            }), 'calls narrower than a pixel: the colour of what takes the ' +
                'most time, as strong as the share of time in calls'],
            [sign(box(Style.waited)), 'a function that waits'],
            [sign(ending(FLAG_ABANDONED)),
             'abandoned: left without an exit; its end is an upper bound'],
            [sign(ending(FLAG_OPEN)), 'open at the end of what is recorded'],
            [sign(context => {
                box(Format.PALETTE[0])(context);
                context.strokeStyle = Style.mark;
                context.lineWidth = 1.5;
                context.strokeRect(2.75, 1.75, 78.5, 14.5);
            }), 'of the function that is chosen or searched'],
            [sign(context => {
                box(Format.PALETTE[0])(context);
                context.strokeStyle = Style.text;
                context.lineWidth = 2;
                context.strokeRect(3, 2, 78, 14);
            }), 'the call that is chosen'],
            [sign(box(Style.unknown)), 'not read yet'],
            [sign(box(Style.lost)), 'records were lost or overwritten here'],
            [sign(context => {
                context.fillStyle = Style.accent;
                context.fillRect(8, 1, 1, 16);
                context.beginPath();
                context.moveTo(8, 1);
                context.lineTo(17, 5);
                context.lineTo(8, 9);
                context.fill();
                context.fillStyle = Style.text;
                context.font = Style.FONT;
                context.textBaseline = 'middle';
                context.fillText('text', 20, 9);
            }), 'a mark of the program'],
            [sign(context => {
                context.strokeStyle = context.fillStyle = Style.accent;
                context.lineWidth = 1.5;
                context.beginPath();
                context.arc(40, 3, 2.5, 0, 7);
                context.fill();
                context.moveTo(40, 3);
                context.lineTo(40, 12);
                context.stroke();
                context.beginPath();
                context.moveTo(36, 11);
                context.lineTo(44, 11);
                context.lineTo(40, 17);
                context.fill();
            }), 'a process started another one']
        ];
    }
};
