//
// The panel of one function in its range: who called it above, whom it called
// below, as tables with the numbers of TraceReader callers and callees, and
// beside them as pictures of whole chains.
//

class SandwichPanel {
    constructor(element) {
        this.past = [];
        this.future = [];
        this.shown = null;          // the function
        this.isCalled = false;      // in the range
        this.frame = new PanelFrame(element, {
            title: 'Callers and callees', hasRange: true, asks: ['function'],
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.csv(),
            command: () => this.command()
        });
        this.back = PanelKit.button('\u25c0', 'The function before ' +
            '(Backspace)', () => this.walk(-1));
        this.forth = PanelKit.button('\u25b6', 'The next one again', () =>
            this.walk(1));
        this.back.setAttribute('aria-label', 'The function before');
        this.forth.setAttribute('aria-label', 'The next one again');
        this.frame.tools.append(this.back, this.forth);
        this.build();
        element.addEventListener('keydown', event => {
            if (event.key === 'Backspace' && event.target.tagName !== 'INPUT' &&
                this.walk(event.shiftKey ? 1 : -1)) {
                event.preventDefault();
                event.stopPropagation();
            }
        });
    }

    build() {
        const body = Grid.make('div', 'sandwich');
        const tables = Grid.make('div', 'sandwichSide');
        const pictures = Grid.make('div', 'sandwichSide isPicture');
        this.title = Grid.make('div', 'sandwichTitle');
        this.titleName = document.createElement('b');
        this.titleFacts = document.createElement('span');
        this.title.append(this.titleName, this.titleFacts);
        this.callers = this.makeGrid(tables, 'callers', 'Callers',
            () => this.shown === null ? '' : 'It was not called here.');
        tables.append(this.title);
        this.callees = this.makeGrid(tables, 'callees', 'Callees',
            () => this.shown === null || !this.isCalled ? ''
                : 'It calls no function that is recorded.');
        this.above = this.makePicture(pictures, 'callersFlame',
            'Chains of callers', true);
        this.below = this.makePicture(pictures, 'calleesFlame',
            'Chains of callees', false);
        this.grids = [this.callers, this.callees];
        body.append(tables, pictures);
        this.frame.body.append(body);
    }

    makePicture(element, id, label, isUp) {
        return new FlameView(element, {
            id, isUp,
            label: label + ': arrows move between functions, Shift and ' +
                'Enter goes to one',
            rootName: () => label,
            open: name => this.go(name)
        });
    }

    makeGrid(element, id, label, none) {
        const { format } = Viewer;
        const isCaller = id === 'callers';
        const share = row => this.whole > 0 ? row.total / this.whole : null;
        const time = (name, title, help) => ({
            id: name, title, help, width: 82, csv: name + '_ns',
            value: row => row[name], text: row => format.time(row[name]),
            exact: row => PanelKit.ns(row[name]),
            tip: row => format.exact(row[name])
        });
        return new Grid(element, {
            id, label, key: 'total', none,
            columns: [
                { id: 'name', title: isCaller ? 'Called by' : 'Calls',
                  width: 160, isWide: true, isText: true, isName: true,
                  csv: 'function', value: row => row.name },
                { id: 'module', title: 'Module', width: 100, isText: true,
                  isName: true, isHidden: true, value: row => row.module },
                ...(isCaller ? [] : [PanelKit.callerColumn()]),
                { id: 'calls', title: 'Calls', width: 74,
                  help: 'From the one to the other',
                  value: row => row.calls,
                  text: row => format.count(row.calls) },
                time('total', 'Total', 'Time in these calls'),
                { id: 'share', title: 'Share', width: 76,
                  csv: 'share_percent',
                  help: 'Total, of the function\'s total; with recursion ' +
                      'they add up to more than 100 %',
                  value: share, share,
                  exact: row => share(row) === null ? null
                      : Number((share(row) * 100).toFixed(2)),
                  text: row => share(row) === null ? ''
                      : format.percent(share(row)) },
                time('self', 'Self', isCaller
                    ? 'The function\'s own time in these calls'
                    : 'The callee\'s own time in these calls')
            ],
            keyOf: row => CallTree.keyOf(row.function, row.caller),
            classOf: row => row.function === null ? 'isSoft'
                : PanelKit.isFound(row.function) ? 'isFound' : '',
            choose: row => this.go(row.function)
        });
    }

    //
    // To another function; back and forth again.
    //

    go(id) {
        const known = Viewer.functionOf(id);
        if (known && !known.isModule && id !== this.shown) {
            Viewer.set({ function: id });
        }
    }

    walk(direction) {
        const [from, to] = direction < 0 ? [this.past, this.future]
            : [this.future, this.past];
        if (!from.length) {
            return false;
        }
        if (this.shown !== null) {
            to.push(this.shown);
        }
        this.shown = from.pop();
        Viewer.set({ function: this.shown });
        this.showSteps();
        return true;
    }

    showSteps() {
        const name = list => list.length
            ? Viewer.nameOf(list[list.length - 1]) : '';
        this.back.disabled = !this.past.length;
        this.forth.disabled = !this.future.length;
        this.back.title = 'Backspace: ' + name(this.past);
        this.forth.title = 'Shift and Backspace: ' + name(this.future);
    }

    update(change, state) {
        const id = state.function;
        if (change.opened) {
            this.past = [];
            this.future = [];
            this.shown = null;
        }
        if (id !== null && id !== this.shown) {
            if (this.shown !== null) {
                this.past = [...this.past.slice(-99), this.shown];
                this.future = [];
            }
            this.shown = id;
        }
        this.showSteps();
        this.frame.update(change, state);
        if ('filter' in change || change.theme) {
            this.callers.draw();
            this.callees.draw();
            this.above.draw();
            this.below.draw();
        }
    }

    async ask() {
        const id = this.shown;
        if (id === null) {
            return null;
        }
        const { begin, end } = PanelKit.range();
        const about = { function: id, threads: PanelKit.threads(), begin, end };
        const { engine } = Viewer;
        const callers = await engine.callers(about);
        const callees = await engine.callees(about);
        const tree = await engine.tree({ threads: about.threads, begin, end,
                                         limit: FlamePanel.LIMIT });
        return { id, callers, callees, tree };
    }

    show(answer) {
        const { format } = Viewer;
        if (answer === null) {
            this.titleName.textContent = 'No function is chosen';
            this.titleFacts.textContent = 'Choose one in the timeline, in ' +
                'Functions or in Find.';
            this.callers.setRows([]);
            this.callees.setRows([]);
            const none = new CallTree({ function: [], parent: [], calls: [],
                                        total: [], self: [] });
            this.above.setTree(none);
            this.below.setTree(none);
            return;
        }
        const { id, callers, callees, tree } = answer;
        const sum = callers.own && callers.own.calls ? callers.own : null;
        this.isCalled = sum !== null;
        this.whole = sum ? sum.total : 0;
        const name = Viewer.nameOf(id);
        this.titleName.textContent = Names.shorten(name) || name;
        this.titleName.title = name;
        this.titleFacts.textContent = !sum ? 'Not called here.' : [
            format.plural(sum.calls, 'call'),
            'total ' + format.time(sum.total),
            'self ' + format.time(sum.self) + (sum.total > 0
                ? ' (' + format.percent(sum.self / sum.total) + ')' : ''),
            PanelKit.sourceOf(Viewer.functionOf(id)), ...PanelKit.twinsOf(id)
        ].filter(text => text).join(' \u00b7 ');
        const rows = list => list.map(each => {
            const known = Viewer.functionOf(each.function);
            return { ...each,
                     name: each.function === null ? '(outermost)'
                         : Viewer.nameOf(each.function),
                     module: known && known.module || '' };
        });
        this.callers.setRows(rows(callers.rows));
        this.callees.setRows(rows(callees.rows));
        const whole = new CallTree(tree.nodes);
        this.above.setTree(whole.above(id, (caller, above) =>
            Viewer.engine.callingModule(caller, above)));
        this.below.setTree(whole.below(id));
    }

    csv() {
        const part = (grid, relation) => grid.order.map(row => [
            relation, row.calls,
            PanelKit.ns(row.total),
            PanelKit.ns(row.self),
            this.whole > 0 ? Number((100 * row.total / this.whole).toFixed(2))
                : null, Viewer.importerOf(row.caller), row.module, row.name]);
        return Csv.write(['relation', 'calls', 'total_ns', 'self_ns',
                          'share_percent', 'caller_module', 'module',
                          'function'],
                         [...part(this.callers, 'caller'),
                          ...part(this.callees, 'callee')]);
    }

    command() {
        const target = Viewer.functionOf(this.shown);
        return !target ? PanelKit.command('report')
            : PanelKit.command('callers', { target }) + '\n' +
                PanelKit.command('callees', { target });
    }
}
