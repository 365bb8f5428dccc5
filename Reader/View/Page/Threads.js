//
// The panel of processes and their threads, with what they did in the range.
//

class ThreadsPanel {
    static CALLS = 64;              // parts that a thread's share is read from

    constructor(element) {
        this.closed = new Set();    // processes whose threads are hidden
        this.activity = new Map();
        this.text = '';
        this.frame = new PanelFrame(element, {
            title: 'Threads', hasRange: true,
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.grid.csv(),
            command: () => PanelKit.command('threads', { about: PanelKit.ALL })
        });
        this.filter = this.frame.addFilter('Filter', text => {
            this.text = text;
            this.fill();
        });
        this.count = this.frame.addCount();
        this.grid = this.makeGrid();
        this.frame.addColumns(this.grid);
        this.grids = [this.grid];
    }

    makeGrid() {
        const { format } = Viewer;
        const ns = ticks => Commands.nanoseconds(ticks, Viewer.session);
        const shareOf = row => row.covered === undefined ? null : row.covered;
        const time = (id, title, value) => ({
            id, title, width: 84, csv: id + '_ns', value,
            text: row => format.time(value(row)),
            exact: row => ns(value(row)), tip: row => format.exact(value(row)),
            isHidden: id !== 'length'
        });
        return new Grid(this.frame.body, {
            id: 'threads', label: 'Processes and threads', key: 'name',
            isTree: true, none: 'There are no threads.',
            columns: [
                { id: 'name', title: 'Process, thread', width: 200,
                  isWide: true, isText: true, isName: true,
                  value: row => row.name, indent: row => row.isThread ? 20 : 0,
                  text: row => (row.isThread ? '' : this.closed.has(row.id)
                      ? '\u25b8 ' : '\u25be ') + row.name },
                { id: 'number', title: 'Identifier', width: 80,
                  value: row => row.number },
                { id: 'share', title: 'In calls', width: 80,
                  csv: 'in_calls_percent',
                  help: 'Of the range, the share in which a recorded call ' +
                      'was open; of a process, the mean of its threads',
                  value: shareOf, share: shareOf,
                  exact: row => shareOf(row) === null ? null
                      : Number((shareOf(row) * 100).toFixed(2)),
                  text: row => shareOf(row) === null ? ''
                      : format.percent(shareOf(row)) },
                { id: 'top', title: 'Most of it in', width: 170, isText: true,
                  isName: true, help: 'The outermost function with the most ' +
                      'time in the range', value: row => row.top || '' },
                { id: 'records', title: 'Records', width: 100,
                  help: 'In the whole session: two for a call that ended',
                  value: row => row.records,
                  text: row => format.count(row.records) },
                { id: 'mode', title: 'Mode', width: 74, isText: true,
                  value: row => row.mode },
                time('begin', 'Begin', row => row.begin),
                time('end', 'End', row => row.end),
                time('length', 'Length', row => row.end - row.begin),
                { id: 'state', title: 'State', width: 130, isText: true,
                  isName: true, value: row => row.state }
            ],
            keyOf: row => (row.isThread ? 't' : 'p') + row.id,
            nodeOf: row => ({
                level: row.isThread ? 2 : 1, count: row.count,
                position: row.position,
                isOpen: row.isThread ? null : !this.closed.has(row.id)
            }),
            classOf: row => row.isThread ? '' : 'isGroup',
            isChosen: row => this.isChosen(row),
            choose: (row, event) => this.choose(row, event),
            press: (event, row) => this.press(event, row)
        });
    }

    //
    // A click, Enter: the panels are about this thread or process alone, and
    // the timeline shows it; once more: about all again.
    //

    choose(row, event) {
        if (event && event.type === 'click' && !row.isThread &&
            event.clientX - this.grid.box.getBoundingClientRect().left < 20) {
            this.turn(row, !this.closed.has(row.id));
            return;
        }
        const isNew = !this.isChosen(row);
        Viewer.set({ scope: isNew ? (row.isThread ? 't' : 'p') + row.id
            : null });
        const thread = row.isThread ? row.id
            : Viewer.processOf(row.id).threads[0];
        if (isNew && thread !== undefined) {
            Viewer.tell({ reveal: { thread } });
        }
        const { thread: chosen } = PanelKit.scope();
        Viewer.say(isNew ? 'The panels are about ' + (chosen
            ? PanelKit.threadsName(chosen) : row.name) + ' alone.'
            : 'The panels are about all threads.');
    }

    isChosen(row) {
        const { thread, process } = PanelKit.scope();
        return thread ? row.isThread && Viewer.threadsLike(thread).some(
            each => each.id === row.id)
            : process !== null && !row.isThread &&
                Viewer.processesLike(process).some(each => each.id === row.id);
    }

    press(event, row) {
        if (event.ctrlKey || event.altKey || event.metaKey) {
            return false;
        }
        if (event.key === 'ArrowRight' && !row.isThread) {
            this.turn(row, false);
        } else if (event.key === 'ArrowLeft') {
            if (row.isThread) {
                this.grid.reveal(each => !each.isThread &&
                    each.id === row.process);
            } else {
                this.turn(row, true);
            }
        } else {
            return false;
        }
        return true;
    }

    turn(row, isClosed) {
        if (isClosed) {
            this.closed.add(row.id);
        } else {
            this.closed.delete(row.id);
        }
        this.fill();
    }

    update(change, state) {
        this.frame.update(change, state);
        if (change.shown || change.session) {
            this.fill();
        }
        if ('scope' in change) {
            this.grid.draw();
        }
    }

    //
    // All threads, whatever the scope: the panel is where it is chosen.  One
    // is asked after the other, so that the timeline's questions come between.
    //

    async ask() {
        const { begin, end } = PanelKit.range(PanelKit.ALL);
        const found = new Map();
        for (const thread of Viewer.session.threads) {
            const parts = await Viewer.engine.activity({
                threads: [thread.id], begin, end, pixels: ThreadsPanel.CALLS });
            found.set(thread.id, ThreadsPanel.sumOf(parts));
        }
        return found;
    }

    //
    // The share of the parts that is covered, and the function of most of it.
    //

    static sumOf(parts) {
        const shares = new Map();
        let covered = 0;
        parts.covered.forEach((share, i) => {
            covered += share / parts.covered.length;
            if (share > 0) {
                const id = parts.function[i];
                shares.set(id, (shares.get(id) || 0) + share);
            }
        });
        let top = null;
        for (const [id, share] of shares) {
            if (top === null || share > shares.get(top)) {
                top = id;
            }
        }
        return { covered, top };
    }

    show(found) {
        this.activity = found;
        this.fill();
    }

    rowOf(thread, position, count) {
        const known = this.activity.get(thread.id);
        return {
            isThread: true, id: thread.id, process: thread.process,
            name: (thread.name || 'Thread') + Viewer.againOf(thread),
            number: thread.tid,
            covered: known && known.covered,
            top: known && known.top !== null ? Viewer.nameOf(known.top) : '',
            records: thread.records, mode: thread.mode, begin: thread.begin,
            end: thread.end, position, count,
            state: [thread.isLive ? 'running' : '',
                    thread.lost ? 'lost: ' + thread.lost : '']
                .filter(text => text).join(', ')
        };
    }

    fill() {
        const { session, format } = Viewer;
        const words = this.text.toLowerCase().split(/\s+/).filter(
            word => word);
        const rows = [];
        let threads = 0;
        session.processes.forEach((process, index) => {
            const program = PanelKit.programOf(process);
            const below = process.threads.map((id, position) =>
                this.rowOf(Viewer.threadOf(id), position + 1,
                           process.threads.length))
                .filter(row => words.every(word => [program, process.pid,
                    row.name, row.number, row.mode, row.state].join(' ')
                    .toLowerCase().includes(word)));
            if (words.length && !below.length) {
                return;
            }
            threads += Viewer.countThreads(below.map(row => row.id));
            const asked = below.filter(row => row.covered !== undefined);
            rows.push({
                isThread: false, id: process.id, name: program,
                number: process.pid, position: index + 1,
                count: session.processes.length,
                covered: asked.length ? asked.reduce((sum, row) => sum +
                    row.covered, 0) / asked.length : undefined,
                records: below.reduce((sum, row) => sum + row.records, 0),
                mode: '', begin: process.begin, end: process.end,
                state: process.exitCode === null ? ''
                    : 'exit code ' + process.exitCode
            });
            if (!this.closed.has(process.id)) {
                rows.push(...below);
            }
        });
        this.count.textContent = [
            format.plural(session.processes.length, 'process', 'processes'),
            format.plural(threads, 'thread')].join(', ');
        this.grid.setRows(rows);
    }
}
