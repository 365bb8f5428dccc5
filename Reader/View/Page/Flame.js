//
// The panel of the flame graph: which function called which in the range, and
// how long that took.
//

class FlamePanel {
    static LIMIT = 200000;          // nodes

    constructor(element) {
        this.frame = new PanelFrame(element, {
            title: 'Flame graph', hasRange: true,
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.csv(),
            command: () => PanelKit.command('tree')
        });
        const isUp = PanelKit.kept('flame') === 'up';
        this.turn = PanelKit.button('', 'Whether the outermost functions ' +
            'are at the top or at the bottom', () => this.setUp(!this.view
            .isUp));
        this.whole = PanelKit.button('Whole tree', 'Escape', () =>
            this.view.zoom(0));
        this.whole.hidden = true;
        this.matched = document.createElement('output');
        this.frame.tools.append(this.turn, this.whole, this.matched);
        this.view = new FlameView(this.frame.body, {
            id: 'flameGraph', isUp,
            label: 'Flame graph: arrows move between calls, Enter zooms, ' +
                'Shift and Enter shows callers and callees, Escape shows all',
            rootName: () => this.rootName(),
            choose: id => Viewer.set({ function: id }),
            open: id => PanelKit.open('sandwich', { function: id }),
            zoomed: node => {
                this.whole.hidden = node === 0;
            }
        });
        this.grids = [];
        this.setUp(isUp);
    }

    setUp(isUp) {
        this.turn.textContent = isUp ? 'As an icicle' : 'As flames';
        PanelKit.keep('flame', isUp ? 'up' : '');
        this.view.turn(isUp);
    }

    rootName() {
        const { thread, process } = PanelKit.scope();
        return (thread ? PanelKit.threadsName(thread) : process
            ? PanelKit.programOf(process) + ' ' + process.pid
            : 'All threads') + ', ' + Viewer.format.time(this.view.tree.whole);
    }

    update(change, state) {
        this.frame.update(change, state);
        if ('function' in change || 'filter' in change || change.theme) {
            this.match();
            this.view.draw();
        }
    }

    ask() {
        const { begin, end } = PanelKit.range();
        return Viewer.engine.tree({ threads: PanelKit.threads(), begin, end,
                                    limit: FlamePanel.LIMIT });
    }

    show({ nodes, left = 0, notes = '' }) {
        this.view.setTree(new CallTree(nodes));
        this.match();
        this.frame.say([notes, left ? Viewer.format.plural(left, 'node') +
            ' with the least time are not shown.' : '']
            .filter(text => text).join(' '));
    }

    match() {
        const { tree } = this.view;
        const { state, format } = Viewer;
        const isSearching = state.filter.trim() !== '';
        this.matched.textContent = '';
        if (tree && tree.whole && (isSearching || state.function !== null)) {
            const width = tree.widthOf(id => isSearching
                ? PanelKit.isFound(id)
                : id === state.function);
            this.matched.textContent = format.percent(width / tree.whole) +
                (isSearching ? ' found' : ' in the chosen function');
        }
    }

    //
    // The nodes as tree --csv has them: each before its children, the largest
    // first.
    //

    csv() {
        const { tree } = this.view;
        const rows = [];
        const work = tree ? [...tree.childrenOf(0)].reverse() : [];
        const numbers = new Map([[0, 0]]);
        while (work.length) {
            const node = work.pop();
            const known = Viewer.functionOf(tree.function[node]);
            numbers.set(node, rows.length + 1);
            rows.push([tree.calls[node], PanelKit.ns(tree.total[node]),
                       PanelKit.ns(tree.self[node]), rows.length + 1,
                       numbers.get(tree.parent[node]), tree.depth[node] - 1,
                       Viewer.importerOf(tree.callerOf(node)),
                       known ? known.module : '',
                       Viewer.nameOf(tree.function[node])]);
            work.push(...[...tree.childrenOf(node)].reverse());
        }
        return Csv.write(['calls', 'total_ns', 'self_ns', 'node', 'parent',
                          'depth', 'caller_module', 'module', 'function'],
                         rows);
    }
}
