//
// The panel that finds a function by some letters of its name, and its calls
// one after the other.
//

class FindPanel {
    static SLICE = 8;               // milliseconds

    constructor(element) {
        this.turn = 0;
        this.frame = new PanelFrame(element, {
            title: 'Find', hasRange: true,
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.grid.csv(),
            command: () => this.command()
        });
        this.sums = new Map();
        this.found = [];
        this.box = this.frame.addFilter('Letters of a name', () =>
            this.search());
        this.box.setAttribute('role', 'combobox');
        this.box.setAttribute('aria-expanded', 'true');
        this.box.setAttribute('aria-controls', 'found-functions');
        this.count = this.frame.addCount();
        this.box.addEventListener('keydown', event => this.press(event));
        this.frame.tools.append(
            PanelKit.button('Previous call', 'N', () => Calls.step(-1)),
            PanelKit.button('Next call', 'n', () => Calls.step(1)));
        this.filter = this.box;
        this.grid = this.makeGrid();
        this.grids = [this.grid];
    }

    makeGrid() {
        const { format } = Viewer;
        return new Grid(this.frame.body, {
            id: 'found-functions', label: 'Functions that were found',
            key: 'score', none: 'No function has these letters in this order.',
            columns: [
                { id: 'name', title: 'Function', width: 240, isWide: true,
                  isText: true, isName: true, csv: 'function',
                  value: row => row.name },
                { id: 'module', title: 'Module', width: 110, isText: true,
                  isName: true, value: row => row.module },
                { id: 'calls', title: 'Calls here', width: 90, csv: 'calls',
                  help: 'Calls in the range', value: row => this.callsOf(row),
                  text: row => this.callsOf(row) === null ? ''
                      : format.count(this.callsOf(row)) },
                { id: 'source', title: 'Source', width: 170, isText: true,
                  isName: true, value: row => row.source },
                { id: 'score', title: 'Match', width: 64,
                  help: 'How well the letters are found',
                  value: row => row.score,
                  text: row => row.score.toFixed(1) }
            ],
            keyOf: row => row.function,
            isChosen: row => row.function === Viewer.state.function,
            choose: row => Viewer.set({ function: row.function }),
            open: row => {
                Viewer.set({ function: row.function });
                Calls.step(1);
            }
        });
    }

    callsOf(row) {
        const { calls } = this.sums.get(row.function) || { calls: null };
        return calls;
    }

    //
    // In the box: Enter chooses and goes to the next call, arrows choose
    // another row.
    //

    press(event) {
        const { grid } = this;
        const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8,
                     PageUp: -8 }[event.key];
        if (by) {
            grid.goTo(grid.current + by);
            this.tellRow();
        } else if (event.key === 'Enter' && grid.row) {
            Viewer.set({ function: grid.row.function });
            Calls.step(event.shiftKey ? -1 : 1);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    tellRow() {
        const { row } = this.grid;
        if (row) {
            this.box.setAttribute('aria-activedescendant',
                                  'found-functions-' + this.grid.current);
            Viewer.say(row.name);
        }
    }

    update(change, state) {
        this.frame.update(change, state);
        if (change.shown || change.session) {
            this.search();
        }
        if ('function' in change) {
            this.grid.draw();
        }
    }

    command() {
        const { functions } = Viewer.engine;
        const rows = functions.map(({ name }, id) => ({ name, function: id }));
        return PanelKit.command('report', {
            find: PanelKit.listed(this.box.value, rows, this.grid.order) });
    }

    ask() {
        const { begin, end } = PanelKit.range();
        return Viewer.engine.sums({ threads: PanelKit.threads(), begin, end });
    }

    show({ functions }) {
        this.sums = new Map(functions.map(each => [each.function, each]));
        this.grid.arrange();
    }

    //
    // Names are compared in slices, so that typing goes on.
    //

    async search() {
        const turn = ++this.turn;
        const typed = this.box.value.trim().replace(/\s+/g, '');
        const { functions } = Viewer.engine;
        const found = [];
        let until = performance.now() + FindPanel.SLICE;
        for (let i = 0; i < functions.length; i++) {
            const known = functions[i];
            const match = known && Names.find(typed, known.name);
            if (match) {
                found.push({
                    function: i, name: known.name, module: known.module || '',
                    source: known.file ? Viewer.format.baseName(known.file) +
                        ':' + known.line : '',
                    score: match.score
                });
            }
            if (i % 64 === 63 && performance.now() > until) {
                await new Promise(done => setTimeout(done));
                if (turn !== this.turn) {
                    return;
                }
                until = performance.now() + FindPanel.SLICE;
            }
        }
        this.count.textContent = Viewer.format.plural(found.length,
                                                      'function');
        this.grid.box.scrollTop = 0;
        this.grid.current = 0;
        this.grid.setRows(found);
        this.grid.goTo(0);
    }
}
