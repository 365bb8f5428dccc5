//
// The panel of functions: what the calls of a range took, by function.
//

class FunctionsPanel {
    constructor(element) {
        this.whole = 0;
        this.frame = new PanelFrame(element, {
            title: 'Functions', hasRange: true,
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.grid.csv(),
            command: () => this.command()
        });
        this.filter = this.frame.addFilter('Filter', text =>
            this.grid.filter(text));
        this.count = this.frame.addCount();
        this.grid = new Grid(this.frame.body, {
            id: 'functions', label: 'Functions', key: 'self',
            columns: this.makeColumns(),
            none: 'No function was called here.',
            keyOf: row => row.function,
            textOf: row => row.name + ' ' + row.module,
            isChosen: row => row.function === Viewer.state.function,
            choose: row => Viewer.set({
                function: row.function === Viewer.state.function ? null
                    : row.function
            }),
            open: row => PanelKit.open('sandwich', { function: row.function }),
            classOf: row => PanelKit.isFound(row.function) ? 'isFound' : '',
            arranged: (shown, all) => {
                this.count.textContent = shown === all
                    ? Viewer.format.plural(all, 'function')
                    : Viewer.format.count(shown) + ' of ' +
                        Viewer.format.count(all);
            }
        });
        this.frame.addColumns(this.grid);
        this.grids = [this.grid];
    }

    makeColumns() {
        const { format } = Viewer;
        const ns = ticks => ticks === null ? null
            : PanelKit.ns(ticks);
        const known = value => value === undefined ? null : value;
        const time = (id, title, help, value, more = {}) => ({
            id, title, help, width: 82, csv: id + '_ns',
            value: row => known(value(row)),
            text: row => known(value(row)) === null ? ''
                : format.time(value(row)),
            exact: row => ns(known(value(row))),
            tip: row => known(value(row)) === null ? ''
                : format.exact(value(row)),
            ...more
        });
        const number = (id, title, help, more = {}) => ({
            id, title, help, width: 74,
            value: row => known(row[id]),
            text: row => known(row[id]) === null ? ''
                : format.count(row[id]),
            ...more
        });
        const part = (id, title, help, of) => ({
            id, title, help, width: 76, csv: id + '_percent',
            value: of,
            text: row => of(row) === null ? '' : format.percent(of(row)),
            exact: row => of(row) === null ? null
                : Number((of(row) * 100).toFixed(2)),
            share: of
        });
        const share = name => row => this.whole > 0
            ? row[name] / this.whole : null;
        return [
            { id: 'name', title: 'Function', width: 210, isWide: true,
              isText: true, isName: true, csv: 'function',
              value: row => row.name },
            { id: 'module', title: 'Module', width: 110, isText: true,
              isName: true, value: row => row.module },
            number('calls', 'Calls', 'Calls, with those that were abandoned'),
            time('total', 'Total', 'Time in its calls, recursion counted once',
                 row => row.total),
            part('totalShare', 'Total %', 'Total, of the time of all ' +
                'functions', share('total')),
            time('self', 'Self', 'Time in its calls without what they call',
                 row => row.self),
            part('selfShare', 'Self %', 'Self, of the time of all functions',
                 share('self')),
            time('average', 'Average', 'Of a call\'s time', row =>
                row.average),
            time('min', 'Min', 'The shortest call', row => row.min),
            time('max', 'Max', 'The longest call', row => row.max),
            time('waited', 'Waited', 'Of total, the time in functions that ' +
                'wait', row => row.waited, { isHidden: true }),
            number('abandoned', 'Abandoned', 'Calls that were left without ' +
                'an exit: an exception, longjmp', { isHidden: true }),
            time('abandonedTime', 'Abandoned time', 'Until it was seen that ' +
                'they were left', row => row.abandonedTime,
            { isHidden: true, csv: 'abandoned_time_ns' }),
            number('unfinished', 'Unfinished', 'Calls that were open at the ' +
                'end of the range', { isHidden: true }),
            number('begunBefore', 'Begun before', 'Calls that were open ' +
                'where the range begins', { isHidden: true,
                                            csv: 'begun_before' }),
            { id: 'source', title: 'Source', width: 150, isText: true,
              isName: true, isHidden: true,
              value: row => row.file ? Viewer.format.baseName(row.file) + ':' +
                  row.line : '',
              exact: row => row.file ? row.file + ':' + row.line : '',
              tip: row => row.file ? row.file + ':' + row.line : '' }
        ];
    }

    update(change, state) {
        this.frame.update(change, state);
        if ('function' in change && state.function !== null) {
            this.grid.reveal(row => row.function === state.function);
        }
        if ('function' in change || 'filter' in change || change.theme) {
            this.grid.draw();
        }
    }

    async ask() {
        const { begin, end } = PanelKit.range();
        return Viewer.engine.sums({ threads: PanelKit.threads(), begin, end });
    }

    show({ functions, complete, notes }) {
        const rows = functions.map(each => FunctionsPanel.rowOf(each));
        this.whole = 0;
        for (const row of rows) {
            this.whole += row.self;
        }
        this.grid.setRows(rows);
        if (!complete) {
            this.frame.say(notes || 'The session is still being read: these ' +
                'sums are of what has been read so far.');
        }
    }

    //
    // A function without a call that ended has neither a shortest nor a
    // longest one.
    //

    static rowOf(each) {
        const known = Viewer.functionOf(each.function);
        const isEnded = each.calls > (each.abandoned || 0);
        return {
            function: each.function, calls: each.calls, total: each.total,
            self: each.self, waited: each.waited, abandoned: each.abandoned,
            abandonedTime: each.abandonedTime, unfinished: each.unfinished,
            begunBefore: each.begunBefore,
            average: each.average ?? (isEnded && each.sum !== undefined
                ? each.sum / (each.calls - (each.abandoned || 0)) : null),
            min: isEnded && Number.isFinite(each.min) ? each.min : null,
            max: isEnded ? each.max : null,
            name: Viewer.nameOf(each.function),
            module: known && known.module || '',
            file: known && known.file || '',
            line: known && known.line || 0
        };
    }

    command() {
        const { columns } = this.grid;
        const keys = { name: 'name', calls: 'calls', total: 'total',
                       totalShare: 'total', self: 'self', selfShare: 'self',
                       average: 'avg', min: 'min', max: 'max',
                       waited: 'waited' };
        return PanelKit.command('report', {
            sort: keys[columns.key] || null,
            find: PanelKit.listed(this.filter.value, this.grid.rows,
                                  this.grid.order),
            lines: !columns.hidden.has('source')
        });
    }
}
