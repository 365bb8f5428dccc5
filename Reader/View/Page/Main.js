//
// What the parts of the page share: the engine, the session, the state, and
// who wants to know of its changes.
//
// Viewer.state is never changed in place.  Viewer.set({...}) takes the fields
// that shall be different; listeners get what did change, and the new state:
//
//     begin, end       the range on the screen, in ticks
//     selection        {begin, end}, a range that was chosen; or null
//     function         the function that stands out; or null
//     call             {thread, begin, end, depth, function}, the call that was
//                      chosen; or null
//     pinned           identifiers of threads that stay at the top
//     collapsed        'p3' or 't7': processes and threads shown as one line
//     filter           functions that are searched for: their names' part
//     scope            'p3' or 't7': panels are about this process or thread
//                      alone; null: about all
//     panel            the panel that is open; or null
//
// Beside these, listeners are told of what isn't state:
//
//     opened           another session is there; session is told as well
//     session          the session has changed: it was opened, or has grown
//     pass             {done, total, thread}: how far the engine has read; done
//                      is total at the end
//     problems         something more could not be read, or has no name
//     settled          the range has not moved for a moment: what costs more
//                      than a frame waits for this
//     theme            light is dark now: colours are to be read again
//     reveal           {thread, begin, end}: what is to come into sight
//     redraw           nothing changed; panels are not told
//
// A listener is called at most once in a frame, with all that changed in it.
//

const $ = id => document.getElementById(id);

const Viewer = {
    engine: null,
    session: null,
    state: Object.freeze({
        begin: 0, end: 1, selection: null, function: null, call: null,
        pinned: [], collapsed: [], filter: '', scope: null, panel: null
    }),
    format: Format,
    panels: [],
    sessionName: '',
    isPassed: false,
    passTime: 0
};

window.Viewer = Viewer;

{
    const SETTLED = 200;
    const listeners = [];
    let pending = null;
    let settling = 0;

    const flush = () => {
        const change = pending;
        pending = null;
        for (const listener of listeners) {
            listener(change, Viewer.state);
        }
    };

    const note = change => {
        if (pending === null) {
            pending = {};
            requestAnimationFrame(flush);
        }
        Object.assign(pending, change);
    };

    const areEqual = (one, other) => one === other ||
        JSON.stringify(one) === JSON.stringify(other);

    Viewer.on = listener => {
        listeners.push(listener);
    };

    Viewer.tell = note;

    //
    // What is on the screen is to be painted again, though nothing changed.
    //

    Viewer.redraw = () => note({ redraw: true });

    Viewer.set = change => {
        const changed = {};
        let has = false;
        for (const name of Object.keys(change)) {
            if (!areEqual(Viewer.state[name], change[name])) {
                changed[name] = change[name];
                has = true;
            }
        }
        if (!has) {
            return;
        }
        Viewer.state = Object.freeze({ ...Viewer.state, ...changed });
        note(changed);
        if ('begin' in changed || 'end' in changed) {
            Viewer.engine?.pace?.(!Viewer.isPassed);
            clearTimeout(settling);
            settling = setTimeout(() => {
                Viewer.engine?.pace?.(false);
                note({ settled: true });
            }, SETTLED);
        }
    };
}

//
// The range that panels sum up: what is selected, or what is on the screen.
//

Viewer.range = () => Viewer.state.selection ||
    { begin: Viewer.state.begin, end: Viewer.state.end };

//
// Moves the range on the screen; it stays within the session, and is at least
// so long that a tick has some pixels.
//

Viewer.LEAST = 20;

Viewer.setRange = (begin, end) => {
    const session = Viewer.session;
    if (session === null) {
        return;
    }
    const whole = Math.max(session.end - session.begin, 1);
    const span = Math.min(Math.max(end - begin, Math.min(Viewer.LEAST, whole)),
                          whole);
    begin = Math.min(Math.max(begin, session.begin),
                     session.begin + whole - span);
    Viewer.set({ begin, end: begin + span });
};

Viewer.fit = () => {
    if (Viewer.session !== null) {
        Viewer.setRange(Viewer.session.begin, Viewer.session.end);
    }
};

//
// Goes to a call or a range: it is in the middle, and wide enough to be seen.
// With a thread, that comes into sight; with a depth and a function, the call
// is chosen.
//

Viewer.show = where => {
    const { begin, end } = where;
    const { state } = Viewer;
    const length = Math.max(end - begin, 1);
    const span = state.end - state.begin;
    if (length > span || length < span / 200) {
        Viewer.setRange(begin - length, end + length);
    } else if (begin < state.begin || end > state.end) {
        const middle = (begin + end) / 2;
        Viewer.setRange(middle - span / 2, middle + span / 2);
    }
    if (where.depth !== undefined && where.function !== undefined) {
        Viewer.set({
            call: { thread: where.thread, begin, end, depth: where.depth,
                    function: where.function },
            function: where.function
        });
    }
    if (where.thread !== undefined && where.thread !== null) {
        Viewer.tell({ reveal: where });
    }
};

//
// Threads and processes by identifier, and functions.
//

Viewer.threadOf = id => {
    const { threads } = Viewer.session;
    return threads[id] && threads[id].id === id ? threads[id]
        : threads.find(each => each.id === id);
};
Viewer.processOf = id => Viewer.session.processes.find(
    each => each.id === id);

//
// The processes and the threads that --process and --thread mean: all that have
// the number of one.
//

Viewer.processesLike = process => Viewer.session.processes.filter(
    each => each.pid === process.pid);

Viewer.threadsLike = thread => {
    const { pid } = Viewer.processOf(thread.process);
    return Viewer.session.threads.filter(each => each.tid === thread.tid &&
        Viewer.processOf(each.process).pid === pid);
};

//
// How many threads there are of these, as TraceReader counts them: one that was
// detached from and attached to again is drawn by itself, and is the same one.
//

Viewer.countThreads = ids => new Set(ids.map(id => Viewer.threadOf(id))
    .map(each => each.same ?? each.id)).size;

Viewer.againOf = ({ part }) => !(part > 1) ? '' : ', attached again' +
    (part > 2 ? ' (' + part + ')' : '');

Viewer.functionOf = id => id === null ? undefined
    : Viewer.engine.functions[id] || Viewer.engine.moduleOf?.(id);

Viewer.nameOf = id => {
    const known = Viewer.functionOf(id);
    return known ? known.name : id === null ? '' : 'function ' + id;
};

//
// The name of a module that called an import; '' for 0.
//

Viewer.importerOf = caller => caller
    ? Viewer.engine.importers[caller - 1] : '';

//
// Panels: below the timeline, one of them visible.  A panel's update is called
// when it comes into sight (the change is {shown: true}), and then for what
// changes while it is there.
//

Viewer.addPanel = panel => {
    Viewer.panels.push(panel);
};

Viewer.copy = async (text, what) => {
    try {
        await navigator.clipboard.writeText(text);
    } catch {

        //
        // A page from file: may not have a clipboard; an old way does it.
        //

        const area = document.createElement('textarea');
        area.value = text;
        area.className = 'offscreen';
        document.body.append(area);
        area.select();
        document.execCommand('copy');
        area.remove();
    }
    Viewer.say('Copied' + (what ? ' ' + what : '') + ': ' + text);
};

//
// A line at the bottom, which is read aloud.
//

Viewer.say = text => {
    $('status').textContent = text;
};
