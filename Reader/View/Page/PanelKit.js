//
// What the panels share: what the browser keeps for them, which threads and
// which range they are about, and the bar above each of them.
//

const PanelKit = (() => {
    const PREFIX = 'TraceViewer.';

    //
    // A page from file: or in a private window may keep nothing.
    //

    const keep = (name, text) => {
        try {
            if (text) {
                localStorage.setItem(PREFIX + name, text);
            } else {
                localStorage.removeItem(PREFIX + name);
            }
        } catch {
            return;
        }
    };

    const kept = name => {
        try {
            return localStorage.getItem(PREFIX + name);
        } catch {
            return null;
        }
    };

    //
    // The scope: 'p3', a process; 't7', a thread, and those that had its number
    // before and after it; null, all.  What a session does not have is all.
    //

    const scope = () => {
        const text = Viewer.state.scope ?? '';
        const id = Number(text.slice(1));
        if (text[0] === 'p') {
            const process = Viewer.processOf(id);
            return { process: process || null, thread: null };
        }
        if (text[0] === 't') {
            const thread = Viewer.threadOf(id);
            return { process: thread ? Viewer.processOf(thread.process) : null,
                     thread: thread || null };
        }
        return { process: null, thread: null };
    };

    const threads = () => {
        const { process, thread } = scope();
        return thread ? Viewer.threadsLike(thread).map(each => each.id)
            : process ? Viewer.processesLike(process).flatMap(
                each => each.threads) : null;
    };

    //
    // What a panel is about that shows everything, whatever the scope.
    //

    const ALL = { process: null, thread: null };

    //
    // The process that a command names: none if there is no other one, and
    // none for a thread whose number no other one's has, as that would change
    // what times count from.
    //

    const named = ({ process, thread }) => {
        const { session } = Viewer;
        const isOther = each => each.pid !== process.pid;
        return process && (thread ? session.threads.some(
            each => each.tid === thread.tid &&
                isOther(Viewer.processOf(each.process)))
            : session.processes.some(isOther)) ? process : null;
    };

    //
    // What times are of in the tables of TraceReader, and in the panels': a
    // length, and a place, which is after the first record of what is read.
    //

    const readOf = about => named(about)?.alone || Viewer.session;
    const ns = (ticks, about = scope()) =>
        Commands.nanoseconds(ticks, readOf(about));
    const placeNs = (ticks, about = scope()) =>
        ns(ticks - (readOf(about).zero || 0), about);

    //
    // The range in ticks, as the TraceReader command will read it.
    //

    const range = (about = scope()) => Commands.rangeOf(Viewer.range(),
                                                         readOf(about));

    const programOf = process => process.program
        ? Viewer.format.baseName(process.program) : 'process ' + process.pid;

    const threadName = id => {
        const thread = Viewer.threadOf(id);
        return !thread ? '' : (thread.name ? thread.name + ' ' : 'Thread ') +
            thread.tid + Viewer.againOf(thread);
    };

    //
    // All threads of a number: their names, each once.
    //

    const threadsName = thread => {
        const names = new Set(Viewer.threadsLike(thread).map(
            each => each.name).filter(name => name));
        return (names.size ? [...names].join(', ') + ' ' : 'Thread ') +
            thread.tid;
    };

    //
    // A thread, with its process where there are several.
    //

    const threadPlace = id => {
        const thread = Viewer.threadOf(id);
        const process = thread && Viewer.processOf(thread.process);
        return threadName(id) + (process &&
            Viewer.session.processes.length > 1
            ? ', ' + programOf(process) + ' ' + process.pid : '');
    };

    //
    // The command for a panel's content: about, {process, thread}, and range
    // say what it shows if that is not what the panels are about.
    //

    const command = (name, { about = scope(), range: shown = Viewer.range(),
                             ...more } = {}) => {
        const { engine } = Viewer;
        const process = named(about);
        return Commands.make(name, {
            range: shown && Commands.rangeOf(shown, readOf(about)),
            thread: about.thread ? about.thread.tid : null,
            process: process ? process.pid : null,
            isAllRuns: engine.plan?.isAllRuns &&
                engine.plan.prefix?.length !== 0,
            isImport: text => engine.functions.some(
                each => each && each.name.toLowerCase() === text),
            session: Viewer.sessionName,
            ...more
        });
    };

    //
    // What is typed into a filter, for --function: a name has it as it is
    // written there.  Only if that means the same functions as the filter, of
    // those in rows; else nothing.
    //

    const listed = (typed, rows, shown) => {
        const word = typed.trim();
        const isShown = new Set(shown.map(row => row.function));
        return rows.every(row => row.name.includes(word) ===
            isShown.has(row.function)) ? word : '';
    };

    //
    // The threads of a session as choices, by process.
    //

    const fillScope = select => {
        const { session, state } = Viewer;

        //
        // A list that is open must not change while nothing does.
        //

        const content = JSON.stringify([session.processes.map(
            each => [each.pid, each.threads]), session.threads.map(
            each => [each.tid, each.name])]);
        const firstOf = process => process.threads.filter(
            id => Viewer.threadsLike(Viewer.threadOf(id))[0].id === id);
        const { thread } = scope();
        const chosen = thread ? 't' + Viewer.threadsLike(thread)[0].id
            : state.scope || '';
        if (select.content === content) {
            select.value = chosen;
            return;
        }
        select.content = content;
        const optionOf = id => option(threadsName(Viewer.threadOf(id)),
                                      't' + id);
        const option = (text, value) => {
            const element = document.createElement('option');
            element.textContent = text;
            element.value = value;
            return element;
        };
        const isAlone = session.processes.length < 2;
        const parts = [option(isAlone ? 'All threads' : 'All processes', '')];
        for (const process of session.processes) {
            let into = parts;
            if (!isAlone) {
                const group = document.createElement('optgroup');
                group.label = programOf(process) + ' ' + process.pid;
                group.append(option('All of ' + group.label,
                                    'p' + process.id));
                parts.push(group);
                into = null;
                for (const id of firstOf(process)) {
                    group.append(optionOf(id));
                }
            }
            if (into) {
                for (const id of firstOf(process)) {
                    into.push(optionOf(id));
                }
            }
        }
        select.replaceChildren(...parts);
        select.value = chosen;
    };

    //
    // A function whose name others of its module have, too: file-static ones,
    // say.  A command means all of them, a panel the chosen one.
    //

    const twinsOf = id => {
        const { module, name } = Viewer.functionOf(id);
        const found = Viewer.engine.functions.filter(each => each &&
            each.name === name && each.module === module).length;
        return found > 1 ? ['one of ' + found + ' functions of this name, of ' +
            'which the command is of all'] : [];
    };

    const sourceOf = known => [known && known.module,
                               known && known.file
                                   ? known.file + ':' + known.line : '']
        .filter(text => text).join(', ');

    const rangeText = () => {
        const { state, format, session } = Viewer;
        const { begin, end } = Viewer.range();
        const isWhole = begin <= session.begin && end >= session.end;
        return (isWhole ? 'Whole session: '
            : state.selection ? 'Selection: ' : 'On the screen: ') +
            format.time(end - begin);
    };

    //
    // Whether the page's search means this function: all its words are in the
    // name and the module.  Asked for each node of a tree, therefore kept.
    //

    const found = { filter: '', words: [], known: new Map() };

    const isFound = id => {
        const { filter } = Viewer.state;
        if (found.filter !== filter) {
            found.filter = filter;
            found.words = filter.toLowerCase().split(/\s+/).filter(
                word => word);
            found.known.clear();
        }
        if (!found.words.length) {
            return false;
        }
        let isHere = found.known.get(id);
        if (isHere === undefined) {
            const known = Viewer.functionOf(id);
            const text = known ? (known.name + ' ' + known.module)
                .toLowerCase() : '';
            isHere = found.words.every(word => text.includes(word));
            if (known) {
                found.known.set(id, isHere);
            }
        }
        return isHere;
    };

    //
    // Whether a call is the one that was chosen.
    //

    const isCall = ({ thread, begin, depth, track = 0 }) => {
        const { call } = Viewer.state;
        return call !== null && call.thread === thread &&
            call.begin === begin && call.depth === depth &&
            (call.track || 0) === track;
    };

    //
    // A column: which module called an import.
    //

    const callerColumn = () => ({
        id: 'caller', title: 'By module', width: 100, isText: true,
        isName: true, csv: 'caller_module',
        help: 'Which module called an imported function',
        isAbsent: () => !Viewer.engine?.importers?.length,
        value: row => Viewer.importerOf(row.caller)
    });

    //
    // A time for an axis: 10.00 ms is 10 ms.
    //

    const round = text => text.replace(/(\.\d*?)0+(?= )/, '$1')
        .replace(/\.(?= )/, '');

    //
    // A panel in a link: the columns of its tables, and its filter's text.
    //

    const save = ({ grids, filter }) => {
        const parts = grids.map(grid => grid.columns.write());
        if (filter && filter.value) {
            parts.push('?' + filter.value);
        }
        return parts.some(part => part) ? parts.join('~') : '';
    };

    const restore = ({ grids, filter }, text) => {
        const [columns, ...words] = text.split('?');
        const parts = columns.split('~');
        grids.forEach((grid, i) => grid.readColumns(parts[i] || ''));
        if (filter && words.length) {
            filter.value = words.join('?');
            filter.dispatchEvent(new Event('input'));
        }
    };

    //
    // Opens a panel and goes there.
    //

    const open = (id, change = {}) => Viewer.set({ ...change, panel: id });

    const button = (text, title, action) => {
        const element = document.createElement('button');
        element.type = 'button';
        element.textContent = text;
        element.title = title;
        element.addEventListener('click', action);
        return element;
    };

    return { ALL, ns, placeNs, keep, kept, scope, threads, range, programOf,
             threadName, threadsName,
             threadPlace, command, listed, fillScope, rangeText, sourceOf,
             twinsOf,
             isFound, isCall, callerColumn, round, save, restore, open,
             button };
})();

//
// The frame of a panel: a bar with its tools, a place for its content, and the
// questions that it asks the engine, of which only the last one's answer is
// shown.
//

class PanelFrame {
    static STOPPABLE = 1000;        // milliseconds

    //
    // hasRange: the panel is about a range and a scope; ask(): gives a promise
    // of what show(answer) shows; csv(): what is copied; command(): likewise.
    //

    constructor(element, options) {
        this.options = options;
        this.turn = 0;
        this.isAsking = false;
        this.isDue = false;         // once more, when it is answered
        this.bar = Grid.make('div', 'panelBar', 'toolbar');
        this.bar.setAttribute('aria-label', options.title);
        this.tools = Grid.make('span', 'panelTools');
        this.note = Grid.make('p', 'panelNote', 'status');
        this.note.hidden = true;
        this.body = Grid.make('div', 'panelBody');
        if (options.hasRange) {
            this.range = document.createElement('output');
            this.range.className = 'panelRange';
            this.scope = document.createElement('select');
            this.scope.setAttribute('aria-label', 'Threads');
            this.scope.addEventListener('change', () =>
                Viewer.set({ scope: this.scope.value || null }));
            this.bar.append(this.range, this.scope);
        }
        this.bar.append(this.tools);
        if (options.csv) {
            this.bar.append(PanelKit.button('Copy CSV',
                'Copy what is shown as comma-separated values', () =>
                    Viewer.copy(options.csv(), 'as CSV')));
        }
        if (options.command) {
            this.bar.append(PanelKit.button('Copy command',
                'Copy the TraceReader command that prints this', () =>
                    Viewer.copy(options.command(), 'the command')));
        }
        this.stopButton = PanelKit.button('Stop',
            'Do not wait for what is being added up', () => this.stop());
        this.stopButton.hidden = true;
        this.bar.append(this.stopButton);
        element.append(this.bar, this.note, this.body);
    }

    addFilter(label, changed) {
        const box = document.createElement('input');
        box.type = 'search';
        box.placeholder = label;
        box.className = 'panelFilter';
        box.setAttribute('aria-label', label);
        box.autocomplete = 'off';
        box.spellcheck = false;
        box.addEventListener('input', () => {
            changed(box.value);
            Viewer.tell({ panelState: true });
        });
        box.addEventListener('keydown', event => {
            if (event.key === 'Escape' && box.value) {
                box.value = '';
                changed('');
                event.stopPropagation();
            }
        });
        this.tools.append(box);
        return box;
    }

    addCount() {
        const count = document.createElement('output');
        this.tools.append(count);
        return count;
    }

    //
    // Puts a menu below its button, or above it where more room is.
    //

    static place(menu, { left, top, bottom }) {
        const below = innerHeight - bottom - 10, above = top - 10;
        const isBelow = below >= Math.min(menu.scrollHeight + 4, above);
        menu.style.maxHeight = (isBelow ? below : above) + 'px';
        menu.style.left = Math.max(Math.min(left, document.documentElement
            .clientWidth - menu.offsetWidth - 4), 4) + 'px';
        menu.style.top = (isBelow ? bottom + 2
            : Math.max(top - menu.offsetHeight - 2, 4)) + 'px';
    }

    //
    // A button that opens the checkboxes of a grid's columns.
    //

    addColumns(grid) {
        const holder = Grid.make('span', 'panelMenu');
        const menu = Grid.make('div', 'panelChoices', 'group');
        menu.hidden = true;
        menu.setAttribute('aria-label', 'Columns');
        const close = isFocused => {
            menu.hidden = true;
            button.setAttribute('aria-expanded', 'false');
            if (isFocused) {
                button.focus();
            }
        };
        const fill = () => menu.replaceChildren(...grid.columnChoices(),
            PanelKit.button('As at first', 'Shows, sizes and sorts the ' +
                'columns as at first', () => {
                grid.resetColumns();
                fill();
            }));
        const button = PanelKit.button('Columns', 'Which columns are shown',
            () => {
                if (!menu.hidden) {
                    close(false);
                    return;
                }
                fill();
                menu.hidden = false;
                button.setAttribute('aria-expanded', 'true');
                PanelFrame.place(menu, button.getBoundingClientRect());
                menu.querySelector('input').focus();
            });
        button.setAttribute('aria-expanded', 'false');
        holder.addEventListener('keydown', event => {
            if (menu.hidden) {
                return;
            }
            const all = [...menu.querySelectorAll('input, button')];
            const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
            const at = all.indexOf(document.activeElement);
            if (event.key === 'Escape') {
                close(true);
            } else if (by && at >= 0) {
                all[(at + by + all.length) % all.length].focus();
            } else {
                return;
            }
            event.preventDefault();
            event.stopPropagation();
        });
        holder.addEventListener('focusout', event => {
            if (!holder.contains(event.relatedTarget)) {
                close(false);
            }
        });
        holder.append(button, menu);
        this.tools.append(holder);
    }

    //
    // Called by the panel for each change; asks anew where it matters.
    //

    update(change, state) {
        if (Viewer.session === null) {
            return;
        }
        if (change.shown || change.opened) {
            this.options.grids?.().forEach(grid => grid.makeHead());
        }
        const { hasRange, asks = [] } = this.options;
        if (hasRange) {
            this.range.textContent = PanelKit.rangeText();
            if (change.shown || change.session || 'scope' in change) {
                PanelKit.fillScope(this.scope);
            }
        }
        const isMoved = hasRange && (change.selection !== undefined ||
            'scope' in change || (change.settled && !state.selection));
        const isRead = change.pass && change.pass.done >= change.pass.total;
        if (change.shown || change.opened || isMoved || isRead ||
            asks.some(name => name in change)) {
            this.askNow();
        } else if (change.session) {

            //
            // A session that grows tells so every second; a question that
            // takes longer is answered nevertheless.
            //

            if (this.isAsking) {
                this.isDue = true;
            } else {
                this.askNow();
            }
        }
    }

    //
    // A question that another one overtakes is asked again, unless this panel
    // itself has asked something newer.
    //

    async askNow() {
        const turn = ++this.turn;
        const { ask, show } = this.options;
        if (!ask) {
            return;
        }
        this.isAsking = true;
        this.isDue = false;
        this.body.dataset.state = 'asking';
        const wait = setTimeout(() => {
            this.body.classList.add('isBusy');
            this.body.setAttribute('aria-busy', 'true');
        }, 150);
        const offer = setTimeout(() => {
            this.stopButton.hidden = false;
        }, PanelFrame.STOPPABLE);
        for (let tries = 0; turn === this.turn; tries++) {
            try {
                const answer = await ask();
                if (turn === this.turn) {
                    this.say('');
                    show(answer);
                }
                break;
            } catch (error) {
                if (error.name === 'AbortError' && tries < 20) {
                    await new Promise(done => setTimeout(done, 60));
                    continue;
                }
                if (turn === this.turn) {
                    this.say(error.message, true);
                }
                break;
            }
        }
        clearTimeout(wait);
        clearTimeout(offer);
        if (turn === this.turn) {
            this.stopButton.hidden = true;
            this.isAsking = false;
            this.body.dataset.state = 'shown';
            this.body.classList.remove('isBusy');
            this.body.removeAttribute('aria-busy');
            if (this.isDue && Viewer.session !== null) {
                this.askNow();
            }
        }
    }

    //
    // A question that takes long is taken back; the answer before stays.
    //

    stop() {
        this.turn++;
        Viewer.engine.stopAdding?.();
        this.stopButton.hidden = true;
        this.isAsking = false;
        this.isDue = false;
        this.body.dataset.state = 'stopped';
        this.body.classList.remove('isBusy');
        this.body.removeAttribute('aria-busy');
        this.say('Stopped: this is not of the range that is chosen.');
    }

    say(text, isBad = false) {
        this.note.hidden = !text;
        this.note.textContent = text;
        this.note.classList.toggle('isBad', isBad);
    }
}
