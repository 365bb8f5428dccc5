//
// The view as the fragment of the page's address: a link that brings it back,
// if the same session is opened.  What can have another number the next time is
// written by what it is: functions by name and module, threads by process and
// thread.  A panel with save() and restore(text) has a part of its own.
//

const Link = {
    SETTLED: 300,
    timer: 0,
    written: '',
    isRestoring: false,

    threadText(id) {
        const thread = Viewer.threadOf(id);
        const process = Viewer.processOf(thread.process);
        const same = Viewer.threadsLike(thread);
        return process.pid + '.' + thread.tid + (same.length > 1
            ? '.' + same.indexOf(thread) : '');
    },

    threadFrom(text) {
        const [pid, tid, nth] = text.split('.').map(Number);
        const { session } = Viewer;
        const found = session.threads.filter(each => each.tid === tid &&
            Viewer.processOf(each.process).pid === pid);
        return found.length ? found[Math.min(nth || 0, found.length - 1)].id
            : null;
    },

    functionText(id) {
        const known = Viewer.functionOf(id);
        return known ? known.module + '!' + known.name : '';
    },

    functionFrom(text) {
        const found = Viewer.engine.functions.find(
            each => each && each.module + '!' + each.name === text);
        return found ? found.id : null;
    },

    groupText(key) {
        return key[0] === 'p' ? 'p' + Viewer.processOf(Number(
            key.slice(1))).pid : 't' + this.threadText(Number(key.slice(1)));
    },

    groupFrom(text) {
        if (text[0] === 't') {
            const id = this.threadFrom(text.slice(1));
            return id === null ? null : 't' + id;
        }
        const process = Viewer.session.processes.find(
            each => each.pid === Number(text.slice(1)));
        return process ? 'p' + process.id : null;
    },

    make() {
        const { state } = Viewer;
        const parts = ['range=' + Math.floor(state.begin) + '-' +
            Math.ceil(state.end)];
        const add = (name, text) => {
            if (text) {
                parts.push(name + '=' + encodeURIComponent(text));
            }
        };
        if (state.selection) {
            add('selection', state.selection.begin + '-' +
                state.selection.end);
        }
        if (state.function !== null) {
            add('function', this.functionText(state.function));
        }
        if (state.call) {
            const { call } = state;
            add('call', [this.threadText(call.thread), call.begin, call.end,
                         call.depth, ...call.track ? [call.track] : []]
                .join('-'));
        }
        add('pinned', state.pinned.map(id => this.threadText(id)).join());
        add('collapsed', state.collapsed.map(
            key => this.groupText(key)).join());
        add('filter', state.filter);
        if (state.scope) {
            add('scope', this.groupText(state.scope));
        }
        add('panel', state.panel);
        for (const panel of Viewer.panels) {
            if (panel.save) {
                add('panel.' + panel.id, panel.save());
            }
        }
        return '#' + parts.join('&');
    },

    //
    // Writes it when all is still; not into the history: one would never get
    // back.
    //

    note() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
            if (Viewer.session === null || this.isRestoring) {
                return;
            }
            this.written = this.make();
            try {
                history.replaceState(null, '', this.written);
            } catch {

                //
                // Some browsers do not let a page from a file do so, or not
                // so often.
                //
            }
        }, this.SETTLED);
    },

    restore(fragment) {
        const parts = new Map(fragment.replace(/^#/, '').split('&')
            .filter(each => each.includes('=')).map(each => {
                const at = each.indexOf('=');
                let text = each.slice(at + 1);
                try {
                    text = decodeURIComponent(text);
                } catch {

                    //
                    // As it is.
                    //
                }
                return [each.slice(0, at), text];
            }));
        if (!parts.size) {
            return false;
        }
        const range = text => (text || '').split('-').map(Number);
        const isRange = ([begin, end]) => begin >= 0 && end > begin;
        const change = {};
        const selection = range(parts.get('selection'));
        change.selection = isRange(selection)
            ? { begin: selection[0], end: selection[1] } : null;
        change.function = parts.has('function')
            ? this.functionFrom(parts.get('function')) : null;
        const list = (name, from) => (parts.get(name) || '').split(',')
            .filter(each => each).map(from).filter(each => each !== null);
        change.pinned = list('pinned', text => this.threadFrom(text));
        change.collapsed = list('collapsed', text => this.groupFrom(text));
        change.scope = parts.has('scope')
            ? this.groupFrom(parts.get('scope')) : null;
        change.filter = parts.get('filter') || '';
        change.panel = parts.get('panel') || Viewer.state.panel;
        change.call = null;
        if (parts.has('call')) {
            const [thread, begin, end, depth, track] = parts.get('call')
                .split('-');
            const id = this.threadFrom(thread);
            if (id !== null && change.function !== null) {
                change.call = { thread: id, begin: Number(begin),
                                end: Number(end), depth: Number(depth),
                                ...track ? { track: Number(track) } : {},
                                function: change.function };
            }
        }
        Viewer.set(change);
        $('search').value = change.filter;
        for (const panel of Viewer.panels) {
            if (panel.restore && parts.has('panel.' + panel.id)) {
                panel.restore(parts.get('panel.' + panel.id));
            }
        }
        const shown = range(parts.get('range'));
        if (isRange(shown)) {
            Viewer.setRange(shown[0], shown[1]);
        }
        if (change.call) {
            Viewer.tell({ reveal: change.call });
        }
        return true;
    },

    //
    // Functions get known as the session is read: a link's are looked for
    // again until they are there.
    //

    start() {
        Viewer.on(change => {
            if (Object.keys(change).some(each => each in Viewer.state ||
                each === 'panelState')) {
                this.note();
            }
            if (change.pass && this.wanted) {
                const parts = /(?:^#|&)function=([^&]*)/.exec(this.wanted);
                const isKnown = parts && this.functionFrom(
                    decodeURIComponent(parts[1])) !== null;
                if (isKnown || Viewer.isPassed) {
                    const { wanted } = this;
                    this.wanted = null;
                    if (isKnown && Viewer.state.function === null) {
                        this.restore(wanted);
                    }
                    this.isRestoring = false;
                    this.note();
                }
            }
        });
        window.addEventListener('hashchange', () => {
            if (Viewer.session !== null && location.hash !== this.written) {
                this.restore(location.hash);
            }
        });
    },

    //
    // A session was opened.
    //

    opened(fragment) {
        this.wanted = null;
        this.isRestoring = false;
        if (!this.restore(fragment)) {
            Viewer.fit();
            return;
        }
        if (/(?:^#|&)function=/.test(fragment) &&
            Viewer.state.function === null) {
            this.wanted = fragment;
            this.isRestoring = true;
        }
    }
};
