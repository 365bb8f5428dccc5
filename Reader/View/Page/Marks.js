//
// The panel of marks: what the program, or somebody with TraceReader ctl, has
// written into the session.
//

class MarksPanel {
    constructor(element) {
        this.frame = new PanelFrame(element, {
            title: 'Marks', grids: () => this.grids,
            csv: () => this.grid.csv(),
            command: () => PanelKit.command('info', { range: null,
                about: PanelKit.ALL, more: ['--raw'] })
        });
        this.filter = this.frame.addFilter('Filter', text =>
            this.grid.filter(text));
        this.count = this.frame.addCount();
        this.frame.tools.append(
            PanelKit.button('Previous mark', 'The one above', () =>
                this.step(-1)),
            PanelKit.button('Next mark', 'The one below', () => this.step(1)),
            PanelKit.button('From this one to the next', 'Selects the range ' +
                'between the two, of those that are shown', () =>
                this.select()));
        this.grid = this.makeGrid();
        this.frame.addColumns(this.grid);
        this.grids = [this.grid];
    }

    makeGrid() {
        const { format } = Viewer;
        const ns = ticks => Commands.nanoseconds(ticks, Viewer.session);
        return new Grid(this.frame.body, {
            id: 'marks', label: 'Marks', key: 'time', isAscending: true,
            none: 'There are no marks in this session.',
            columns: [
                { id: 'time', title: 'Time', width: 100, csv: 'time_ns',
                  help: 'From the session\'s begin', value: row => row.time,
                  text: row => format.time(row.time),
                  exact: row => ns(row.time),
                  tip: row => format.exact(row.time) },
                { id: 'text', title: 'Text', width: 240, isWide: true,
                  isText: true, isName: true, value: row => row.text },
                { id: 'thread', title: 'Thread', width: 130, isText: true,
                  isName: true,
                  value: row => row.thread === null ? 'from outside'
                      : PanelKit.threadName(row.thread) },
                { id: 'process', title: 'Process', width: 130, isText: true,
                  isName: true, isAbsent: () => Viewer.session === null ||
                      Viewer.session.processes.length < 2,
                  value: row => {
                      const process = Viewer.processOf(row.process);
                      return process ? PanelKit.programOf(process) + ' ' +
                          process.pid : '';
                  } }
            ],
            keyOf: row => row.time + ' ' + row.text,
            textOf: row => row.text,
            classOf: row => {
                const { begin, end } = Viewer.state;
                return row.time < begin || row.time > end ? 'isSoft' : '';
            },
            choose: row => this.go(row),
            arranged: (shown, all) => {
                this.count.textContent = shown === all
                    ? Viewer.format.plural(all, 'mark')
                    : Viewer.format.count(shown) + ' of ' +
                        Viewer.format.count(all);
            }
        });
    }

    //
    // As far in or out as the screen is, with the mark in the middle.
    //

    go(mark) {
        const { begin, end } = Viewer.state;
        const half = (end - begin) / 2;
        const { session } = Viewer;
        if (end - begin >= session.end - session.begin) {
            Viewer.setRange(mark.time - half / 10, mark.time + half / 10);
        } else {
            Viewer.setRange(mark.time - half, mark.time + half);
        }
        if (mark.thread !== null) {
            Viewer.tell({ reveal: { thread: mark.thread, begin: mark.time,
                                    end: mark.time } });
        }
        Viewer.say(mark.text + ', at ' + Viewer.format.time(mark.time));
    }

    step(direction) {
        const { grid } = this;
        if (grid.order.length) {
            grid.goTo(grid.current + direction);
            this.go(grid.row);
        }
    }

    //
    // Between the mark of the keyboard and the next one in time that is shown.
    //

    select() {
        const { row, order } = this.grid;
        if (row) {
            const next = order.reduce((best, each) => each.time > row.time &&
                (best === null || each.time < best.time) ? each : best, null);
            const end = next ? next.time : Viewer.session.end;
            Viewer.set({ selection: { begin: row.time, end } });
            Viewer.show({ begin: row.time, end });
        }
    }

    update(change, state) {
        this.frame.update(change, state);
        if (change.shown || change.session) {
            this.grid.setRows(Viewer.session.marks);
        } else if ('begin' in change || 'end' in change) {
            this.grid.draw();
        }
    }
}
