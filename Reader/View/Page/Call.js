//
// The panel of one call, the one that was chosen: what it is, the calls around
// it, and what it called.
//

class CallPanel {
    static CALLEES = 5000;          // nodes that are asked for

    constructor(element) {
        this.answer = null;
        this.frame = new PanelFrame(element, {
            title: 'Call', asks: ['call'],
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.csv(),
            command: () => this.command()
        });
        this.frame.tools.append(
            PanelKit.button('Previous call', 'N', () => Calls.step(-1)),
            PanelKit.button('Next call', 'n', () => Calls.step(1)),
            PanelKit.button('Select its range', 'The other panels are ' +
                'about the call alone then', () => this.select()),
            PanelKit.button('Go there', 'Shows the call in the timeline', () =>
                this.answer && Viewer.show(this.answer.call)));
        const body = Grid.make('div', 'callPanel');
        this.facts = document.createElement('dl');
        this.facts.className = 'callFacts';
        const side = Grid.make('div', 'callSide');
        this.stack = this.makeStack(side);
        this.callees = this.makeCallees(side);
        this.grids = [this.stack, this.callees];
        body.append(this.facts, side);
        this.frame.body.append(body);
    }

    //
    // The chosen call's thread, whatever the panels are about.
    //

    static about() {
        const { call } = Viewer.state;
        if (call === null) {
            return PanelKit.scope();
        }
        const thread = Viewer.threadOf(call.thread);
        return { thread, process: Viewer.processOf(thread.process) };
    }

    static times() {
        const { format } = Viewer;
        return (id, title, help, value) => ({
            id, title, help, width: 84, csv: id + '_ns', value,
            text: row => format.time(value(row)),
            exact: row => PanelKit.ns(value(row), CallPanel.about()),
            tip: row => format.exact(value(row))
        });
    }

    makeStack(element) {
        const time = CallPanel.times();
        return new Grid(element, {
            id: 'callStack', label: 'The calls around it, the outermost first',
            key: 'depth', keepsOrder: true, none: '',
            columns: [
                { id: 'depth', title: 'Depth', width: 52,
                  value: row => row.depth },
                { id: 'name', title: 'Called from, the outermost first',
                  width: 180, isWide: true, isText: true, isName: true,
                  csv: 'function', value: row => row.name },
                PanelKit.callerColumn(),
                time('duration', 'Duration', 'Of the whole call',
                     row => row.end - row.begin),
                time('before', 'Before', 'How long it had run when this call ' +
                    'began', row => this.answer.call.begin - row.begin)
            ],
            keyOf: row => row.depth,
            isChosen: row => PanelKit.isCall(row),
            choose: row => Viewer.show(row)
        });
    }

    makeCallees(element) {
        const { format } = Viewer;
        const time = CallPanel.times();
        return new Grid(element, {
            id: 'callCallees', label: 'What it called', key: 'total',
            none: () => this.answer
                ? 'It called nothing that is recorded.' : '',
            columns: [
                { id: 'name', title: 'What it called', width: 180,
                  isWide: true, isText: true, isName: true, csv: 'function',
                  value: row => row.name },
                PanelKit.callerColumn(),
                { id: 'calls', title: 'Calls', width: 70,
                  value: row => row.calls,
                  text: row => format.count(row.calls) },
                time('total', 'Total', 'Time in these calls',
                     row => row.total),
                { id: 'share', title: 'Share', width: 76,
                  help: 'Of the call\'s duration', csv: 'share_percent',
                  value: row => row.share, share: row => row.share,
                  exact: row => Number((row.share * 100).toFixed(2)),
                  text: row => format.percent(row.share) }
            ],
            keyOf: row => CallTree.keyOf(row.function, row.caller),
            isChosen: row => row.function === Viewer.state.function,
            choose: row => Viewer.set({ function: row.function })
        });
    }

    update(change, state) {
        this.frame.update(change, state);
        if ('function' in change) {
            this.callees.draw();
        }
    }

    //
    // The calls around it are those that are open at its begin.  What it
    // called is in the tree of the thread in its time, at the end of its path;
    // a neighbour that ends in the same tick adds no time to that.
    //

    async ask() {
        const { call } = Viewer.state;
        if (call === null) {
            return null;
        }
        const { engine } = Viewer;
        const { thread, begin, end, depth, track = 0 } = call;
        const callerAt = i => boxes.caller ? boxes.caller[i] : 0;
        const isHere = i => !boxes.track || boxes.track[i] === track;
        const boxes = await engine.query({
            thread, begin, end: begin + 1, pixels: 1, maxDepth: depth + 1,
            key: 'call' });
        const stack = new Map();
        for (let i = 0; i < boxes.count; i++) {
            const isAround = boxes.start[i] <= begin && boxes.stop[i] >= end;
            if (boxes.calls[i] === 1 && boxes.depth[i] < depth && isAround &&
                isHere(i)) {
                stack.set(boxes.depth[i], {
                    thread, track, begin: boxes.start[i], end: boxes.stop[i],
                    depth: boxes.depth[i], function: boxes.function[i],
                    caller: callerAt(i)
                });
            }
        }
        let flags = 0, caller = 0;
        for (let i = 0; i < boxes.count; i++) {
            if (boxes.depth[i] === depth && boxes.start[i] === begin &&
                isHere(i)) {
                flags = boxes.flags[i];
                caller = callerAt(i);
            }
        }
        const { nodes } = await engine.tree({ threads: [thread], begin, end,
                                              limit: CallPanel.CALLEES });
        const parents = [...stack.values()].sort(
            (one, other) => one.depth - other.depth);
        return { call, caller, parents, flags, tree: new CallTree(nodes) };
    }

    show(answer) {
        this.answer = answer;
        if (answer === null) {
            this.facts.replaceChildren();
            this.stack.setRows([]);
            this.callees.setRows([]);
            this.frame.say('No call is chosen: click one in the timeline, or ' +
                'one of the slowest calls in Durations.');
            return;
        }
        const { caller, parents, tree } = answer;
        const call = { ...answer.call, caller };
        const named = each => ({ ...each, name: Viewer.nameOf(each.function) });
        this.stack.setRows([...parents, call].map(named));
        this.stack.goTo(parents.length);
        const path = [...parents, call].map(each =>
            CallTree.keyOf(each.function, each.caller));
        const node = tree.nodeAt(path);
        const isThere = tree.pathOf(node).length === path.length;
        const length = call.end - call.begin;
        const rows = isThere ? [...tree.childrenOf(node)].map(child => ({
            function: tree.function[child], caller: tree.callerOf(child),
            name: Viewer.nameOf(tree.function[child]),
            calls: tree.calls[child], total: tree.width[child],
            share: length > 0 ? tree.width[child] / length : 0
        })).filter(row => row.total > 0 || length === 0) : [];
        this.callees.setRows(rows);
        this.showFacts(isThere ? tree.self[node] : null);
    }

    showFacts(self) {
        const { call, caller, flags } = this.answer;
        const { format } = Viewer;
        const known = Viewer.functionOf(call.function) || {};
        const length = call.end - call.begin;
        const facts = [
            ['Function', Viewer.nameOf(call.function)],
            ['Module', known.module || ''],
            ['Called by', Viewer.importerOf(caller)],
            ['Source', known.file ? known.file + ':' + known.line : ''],
            ['Begin', format.time(call.begin) + ' (' +
                format.exact(call.begin) + ')'],
            ['End', format.time(call.end) + ' (' + format.exact(call.end) +
                ')'],
            ['Duration', format.time(length) + ' (' + format.exact(length) +
                ')'],
            ['Self', self === null ? '' : format.time(self) + (length > 0
                ? ' (' + format.percent(self / length) + ')' : '')],
            ['Depth', String(call.depth)],
            ['Thread', PanelKit.threadPlace(call.thread)],
            ['Began at', this.clock(call.begin)],
            ['Note', CallPanel.noteOf(flags)]
        ];
        this.facts.replaceChildren(...facts.filter(each => each[1])
            .flatMap(([name, text]) => {
                const term = document.createElement('dt');
                term.textContent = name;
                const value = document.createElement('dd');
                value.textContent = text;
                return [term, value];
            }));
    }

    static noteOf(flags) {
        return [
            [1, 'abandoned: left without an exit; the end is when that was ' +
                'seen'],
            [2, 'open at the end of what was recorded'],
            [4, 'its function waits'],
            [32, 'records were lost here']
        ].filter(([flag]) => flags & flag).map(each => each[1]).join('; ');
    }

    //
    // The time of day, in UTC.
    //

    clock(ticks) {
        const { session, format } = Viewer;
        if (!session.startUtc) {
            return '';
        }
        return new Date(session.startUtc + format.nanoseconds(ticks) / 1e6)
            .toISOString().replace('T', ' ').replace('Z', ' UTC');
    }

    select() {
        if (this.answer) {
            const { begin, end } = this.answer.call;
            Viewer.set({ selection: { begin, end: Math.max(end, begin + 1) } });
        }
    }

    csv() {
        if (!this.answer) {
            return '';
        }
        const { call, caller, parents } = this.answer;
        const about = CallPanel.about();
        return Csv.write(['depth', 'start_ns', 'duration_ns', 'thread',
                          'caller_module', 'module', 'function', 'file',
                          'line'],
                         [...parents, { ...call, caller }].map(each => {
            const known = Viewer.functionOf(each.function) || {};
            return [each.depth, PanelKit.placeNs(each.begin, about),
                    PanelKit.ns(each.end - each.begin, about),
                    Viewer.threadOf(each.thread).tid,
                    Viewer.importerOf(each.caller), known.module,
                    Viewer.nameOf(each.function), known.file, known.line];
        }));
    }

    command() {
        if (!this.answer) {
            return PanelKit.command('replay');
        }
        return PanelKit.command('replay', { range: this.answer.call,
                                            about: CallPanel.about() });
    }
}
