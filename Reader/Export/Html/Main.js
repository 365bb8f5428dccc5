//
// What holds the parts together: the header, notes, keys, themes.
//

function setTheme(theme) {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const shown = theme === 'system' ? (dark.matches ? 'dark' : 'light')
        : theme;
    document.documentElement.dataset.theme = shown;
    state.theme = theme;
    readStyle();
    $('theme').textContent = { system: 'Theme', light: 'Light',
                               dark: 'Dark' }[theme];
    announce('theme');
}

function nextTheme() {
    const isDark = document.documentElement.dataset.theme === 'dark';
    if (state.theme === 'system') {
        setTheme(isDark ? 'light' : 'dark');
    } else {
        const dark = matchMedia('(prefers-color-scheme: dark)').matches;
        setTheme(isDark === dark ? 'system' : isDark ? 'light' : 'dark');
    }
}

function describeSession() {
    const program = baseName(about.program) || baseName(about.session);
    document.title = program + ' \u2013 trace';
    $('title').textContent = program;
    $('title').title = about.program;
    $('subtitle').textContent = [
        plural(about.calls, 'call'), plural(about.threads, 'thread'),
        plural(about.functions, 'function'),
        ...(HAS_TIMES ? [time(about.to - about.from)] : [])
    ].join(' \u00b7 ');

    const facts = [
        ['Session', about.session],
        ['Program', about.program],
        ['Command line', about.commandLine],
        ['Process', String(about.process)],
        ['State', about.state]
    ];
    if (about.started) {
        facts.push(['First record', new Date(about.started - 11644473600000)
            .toISOString().replace('T', ' ').replace('Z', ' UTC')]);
    }
    if (HAS_TIMES) {
        facts.push(['Range', exact(about.from) + ' to ' + exact(about.to) +
            ' after the first record']);
    }
    facts.push(['Clock', { tsc: 'time stamp counter',
                           thread: 'clock thread',
                           none: 'none' }[about.clock] || about.clock]);
    facts.push(['Calls', count(about.calls)]);
    if (about.unmatched) {
        facts.push(['Exits without an entry', count(about.unmatched)]);
    }
    about.modules.filter(([, , symbols]) => symbols).forEach(
        ([name, path, symbols]) => facts.push([
            'Module', (path || name) + ' (symbols: ' + symbols + ')']));
    const notes = listNotes();
    for (const note of notes) {
        facts.push(['Note', note]);
        const item = document.createElement('li');
        item.textContent = note;
        $('notes').append(item);
    }
    for (const [name, text] of facts) {
        const term = document.createElement('dt');
        term.textContent = name;
        const value = document.createElement('dd');
        value.textContent = text;
        $('facts').append(term, value);
    }
}

//
// What is left out, and what is to be known about the times.
//

function listNotes() {
    const notes = about.clockNotes.filter(line => line);
    if (about.hasFrom || about.hasTo) {
        notes.push('A part of the session: from ' + exact(about.from) +
            ' to ' + exact(about.to) + ' after its first record' +
            (about.hasFrom ? ' (--from)' : '') +
            (about.hasTo ? ' (--to)' : '') + '.');
    }
    if (about.cleared) {
        notes.push('What was recorded before the last clear is left out ' +
            '(--all shows it).');
    }
    if (about.marksLeftOut) {
        notes.push(plural(about.marksLeftOut, 'mark') + ' more than are ' +
            'shown.');
    }
    if (about.thread !== undefined) {
        notes.push('Thread ' + about.thread + ' alone (--thread).');
    }
    if (about.hasFilter) {
        notes.push('--function and --exclude leave out ' +
            plural(about.functionsNotShown, 'function') + ' with ' +
            plural(about.callsNotShown, 'call') + '.');
    }
    const merged = about.tracks.reduce(
        (sum, track) => sum + track.calls - track.kept, 0);
    if (merged) {
        const coarse = Math.max(...about.tracks.map(
            track => track.resolution));
        const isDeep = about.tracks.some(
            track => track.rows > about.maximumRows);
        notes.push(plural(merged, 'call') + ' of ' +
            count(about.tracks.reduce((sum, each) => sum + each.calls, 0)) +
            ' have no box of their own in the timeline: too short (' +
            time(coarse) + ')' + (isDeep ? ' or more than ' +
                count(about.maximumRows) + ' deep' : '') +
            '. They are in hatched blocks; export a part with --from and ' +
            '--to to see them. All numbers are exact.');
    }
    if (about.tracksLeftOut) {
        notes.push(plural(about.tracksLeftOut, 'more track') +
            ' (threads or fibers) of which the timeline has no room.');
    }
    if (about.nodesLeftOut) {
        notes.push('The flame graph leaves out ' +
            plural(about.nodesLeftOut, 'chain') +
            ' of calls that took the least time.');
    }
    if (about.functionsLeftOut) {
        notes.push(plural(about.functionsLeftOut, 'function') +
            ' that took the least time have no row in the table.');
    }
    if (about.unmatched) {
        notes.push(plural(about.unmatched, 'exit') +
            ' without an entry (their calls began before the data).');
    }
    return notes;
}

function showSelection() {
    const index = state.selected;
    $('status').textContent = index < 0
        ? 'Click a call, a frame or a row to select its function.'
        : functionName(index) + ' (' + [moduleName(index),
            sourceOf(index)[0]].filter(text => text).join(', ') + '):  ' +
            numberRows(numbers, index).map(each => each.join(' '))
                .join('  \u00b7  ');
    let text = '';
    if (state.matches) {
        const found = state.matches.reduce((sum, each) => sum + each, 0);
        text = plural(found, 'function');
    }
    $('found').textContent = text;
}

describeSession();
setTheme('system');
matchMedia('(prefers-color-scheme: dark)').addEventListener('change',
    () => setTheme(state.theme));

const timeline = HAS_TIMES && about.tracks.length ? new Timeline() : null;
const flame = new Flame();
const table = new Table();

if (timeline === null) {
    $('timeline').hidden = true;
    $('divider').hidden = true;
    for (const id of ['previous', 'next', 'fit']) {
        $(id).hidden = true;
    }
}

state.changed.add(showSelection);
showSelection();

//
// The header.
//

const box = $('search');
box.addEventListener('input', () => search(box.value));
box.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
        go(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
        box.value = '';
        search('');
        box.blur();
    }
});

function go(direction) {
    if (timeline !== null) {
        timeline.step(direction);
    }
}

$('next').addEventListener('click', () => go(1));
$('previous').addEventListener('click', () => go(-1));
$('fit').addEventListener('click', () => timeline.fit());
$('theme').addEventListener('click', nextTheme);
$('aboutOpen').addEventListener('click', () => $('about').showModal());
$('helpOpen').addEventListener('click', openHelp);

function openHelp() {
    drawLegend();
    $('help').showModal();
}

function drawLegend() {
    const context = $('legend').getContext('2d');
    context.fillStyle = style.back;
    context.fillRect(0, 0, 520, 153);
    context.font = FONT;
    context.textBaseline = 'middle';
    [[0, 'a call'],
     [BLOCK, 'several calls, too short to be drawn one by one'],
     [ABANDONED, 'abandoned: left without an exit'],
     [OPEN, 'open at the end'],
     [BEGUN, 'began before the range'],
     [-1, 'of the selected function, or found by the search'],
     [-2, 'waits: for another thread, a file, the network, the clock']
    ].forEach(([flags, text], i) => {
        const y = 4 + i * 21;
        drawBox(context, 4, y, 90, 16, flags < 0 ? 0 : flags,
                flags === -2 ? WAITED : PALETTE[i], 1);
        if (flags === -1) {
            context.strokeStyle = style.mark;
            context.lineWidth = 2;
            context.strokeRect(5, y + 1, 88, 14);
            context.lineWidth = 1;
        }
        context.fillStyle = style.text;
        context.fillText(text, 106, y + 8);
    });
}

//
// The height of the timeline.
//

{
    const divider = $('divider');
    const set = height => {
        const whole = document.querySelector('main').clientHeight;
        const part = Math.min(Math.max(height / whole, 0.1), 0.9);
        $('timeline').style.flexBasis = part * 100 + '%';
    };
    divider.addEventListener('pointerdown', event =>
        divider.setPointerCapture(event.pointerId));
    divider.addEventListener('pointermove', event => {
        if (divider.hasPointerCapture(event.pointerId)) {
            set(event.clientY -
                $('timeline').getBoundingClientRect().top);
        }
    });
    divider.addEventListener('keydown', event => {
        const by = { ArrowUp: -20, ArrowDown: 20 }[event.key];
        if (by) {
            set($('timeline').clientHeight + by);
            event.preventDefault();
            event.stopPropagation();
        }
    });
}

//
// Keys.
//

document.addEventListener('keydown', event => {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey ||
        document.querySelector('dialog[open]')) {
        return;
    }
    if (target.tagName === 'INPUT' || target.tagName === 'SELECT') {
        if (event.key === 'Escape') {
            target.blur();
        }
        return;
    }
    const isButton = target.tagName === 'BUTTON' &&
        (event.key === 'Enter' || event.key === ' ');
    if (isButton) {
        return;
    }
    const inside = id => $(id).contains(target);
    const key = event.key.length === 1 && !'NM'.includes(event.key)
        ? event.key.toLowerCase() : event.key;
    if ((inside('table') && table.press(event.key)) ||
        (inside('flameScroll') && flame.key(event.key)) ||
        pressed(key)) {
        event.preventDefault();
    }
});

function pressed(key) {
    switch (key) {
    case 'f': case '/': box.focus(); box.select(); break;
    case '?': openHelp(); break;
    case 'n': go(1); break;
    case 'N': go(-1); break;
    case 't': nextTheme(); break;
    case 'Escape':
        if (state.selected >= 0) {
            select(-1);
        } else if (state.query) {
            box.value = '';
            search('');
        } else {
            flame.zoom(-1);
        }
        break;
    default: return timeline !== null && timeline.key(key);
    }
    return true;
}

//
// For scripts: what the page knows.
//

window.tracer = {
    about, state, timeline, flame, table, numbers, names, functionName,
    moduleName, sourceOf, callerOf, callersOf, select, search, started,
    loaded: performance.now()
};
