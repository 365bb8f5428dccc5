//
// What the page is about, and the numbers, as TraceReader wrote them.  Texts
// come from the traced program: they go into the page as text alone.
//

const $ = id => document.getElementById(id);

const started = performance.now();
const about = JSON.parse($('session').textContent);
const HAS_TIMES = about.unit !== 'none';

//
// The part of an element's name that is a number of bytes as base64.
//

function bytesOf(id) {
    const element = $(id);
    const text = element.textContent;
    element.remove();
    if (Uint8Array.fromBase64) {
        return Uint8Array.fromBase64(text);
    }
    const decoded = atob(text);
    const bytes = new Uint8Array(decoded.length);
    for (let i = 0; i < bytes.length; i++) {
        bytes[i] = decoded.charCodeAt(i);
    }
    return bytes;
}

class Numbers {
    constructor(id) {
        this.bytes = bytesOf(id);
        this.at = 0;
    }

    next() {
        const bytes = this.bytes;
        let byte = bytes[this.at++];
        if (byte < 128) {
            return byte;
        }
        let value = byte & 127;
        let scale = 128;
        do {
            byte = bytes[this.at++];
            value += (byte & 127) * scale;
            scale *= 128;
        } while (byte >= 128);
        return value;
    }

    difference() {
        const value = this.next();
        return value % 2 ? -(value - 1) / 2 : value / 2;
    }
}

const FIELDS = ['calls', 'total', 'self', 'average', 'min', 'max',
                'abandoned', 'abandonedTime', 'unfinished', 'uncertain',
                'begunBefore'];

class Statistics {
    constructor(count) {
        for (const field of FIELDS) {
            this[field] = new Float64Array(count);
        }
    }

    read(numbers, index) {
        const calls = numbers.next();
        this.calls[index] = Math.floor(calls / 2);
        for (let i = 1; i < (calls % 2 ? FIELDS.length : 6); i++) {
            this[FIELDS[i]][index] = numbers.next();
        }
    }

    get(index) {
        const result = {};
        for (const field of FIELDS) {
            result[field] = this[field][index];
        }
        return result;
    }
}

//
// Functions.  One more stands for those that the file does not name.
//

const names = JSON.parse($('names').textContent);
$('names').remove();
const FUNCTIONS = names.length;
const NOWHERE = FUNCTIONS;

const functionName = index => index < FUNCTIONS
    ? names[index][1] + (names[index][2] ? '\u2026' : '')
    : '(a function that is not listed)';

const moduleName = index => index < FUNCTIONS &&
    about.modules[names[index][0]] ? about.modules[names[index][0]][0] : '';

const files = JSON.parse($('files').textContent);
$('files').remove();

//
// Functions that wait, and for what; calls of locks only if they take long
// enough.
//

const waiting = JSON.parse($('waits').textContent);
$('waits').remove();
const waits = new Map(waiting.functions);
const isWait = (index, time) => waits.has(index) &&
    (waits.get(index) !== 'lock' || time >= waiting.contention);

const baseName = path => path.split(/[\\/]/).filter(part => part).pop() ||
    path;

//
// Where a function begins: the file's name and line, and with its whole path.
//

function sourceOf(index) {
    if (index >= FUNCTIONS || names[index].length < 5) {
        return ['', ''];
    }
    const [, , , file, line] = names[index];
    return [baseName(files[file]) + ':' + line, files[file] + ':' + line];
}

//
// A number behind those of functions is an import's of which it is known who
// called: its function, and the module.  What is shown of it is the function.
//

const imports = JSON.parse($('imports').textContent);
$('imports').remove();
const functionOf = number => number <= FUNCTIONS ? number
    : imports[number - FUNCTIONS - 1][0];
const callerOf = number => number <= FUNCTIONS ? ''
    : about.modules[imports[number - FUNCTIONS - 1][1]][0];

//
// The modules that called a function, as report has them.
//

const callers = new Map();
imports.forEach(([index], number) => {
    const list = callers.get(index) || [];
    list.push(callerOf(FUNCTIONS + 1 + number));
    callers.set(index, list);
});
const callersOf = index =>
    (callers.get(index) || []).sort((a, b) => a < b ? -1 : 1).join('; ');

const numbers = new Statistics(FUNCTIONS);
{
    const from = new Numbers('functions');
    for (let i = 0; i < FUNCTIONS; i++) {
        numbers.read(from, i);
    }
}

//
// Numbers for people.
//

const GROUPS = new Intl.NumberFormat('en-US');
const count = number => GROUPS.format(number);

const UNITS = [['s', 1e9], ['ms', 1e6], ['\u00b5s', 1e3], ['ns', 1]];

function time(value) {
    if (!HAS_TIMES) {
        return '-';
    }
    if (about.unit === 'ticks') {
        return count(Math.round(value)) + ' ticks';
    }
    const [unit, size] = UNITS.find(each => Math.abs(value) >= each[1]) ||
        UNITS[3];
    if (size === 1) {
        return Math.round(value) + ' ns';
    }
    const scaled = value / size;
    const digits = scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
    return (Math.floor(scaled * 10 ** digits) / 10 ** digits)
        .toFixed(digits) + ' ' + unit;
}

const exact = value => HAS_TIMES
    ? count(value) + ' ' + about.unit : 'no time was recorded';

const percent = share => (share * 100).toFixed(share < 0.1 ? 2 : 1) + ' %';

const plural = (number, one, many) =>
    count(number) + ' ' + (number === 1 ? one : many || one + 's');

//
// A palette that those with a color vision deficiency tell apart, on which
// black text can be read.  Neighbors in the order of time get different ones.
//

const PALETTE = ['#77aadd', '#ee8866', '#eedd88', '#44bb99', '#ffaabb',
                 '#99ddff', '#bbcc33', '#d6b4e8', '#aaaa00'];
const INK = '#101316';

const WAITED = '#e2e5e9';

const colorOf = (index, time = 0) => isWait(index, time) ? WAITED
    : index < FUNCTIONS ? PALETTE[index % PALETTE.length] : '#bbbbbb';

//
// The timeline's tracks are read when they are first seen.
//

const BLOCK = 1, ABANDONED = 2, OPEN = 4, BEGUN = 8, UNCERTAIN = 16;

class Row {
    constructor(start, end, func, flags, calls, busy, share, called) {
        this.start = start;
        this.end = end;
        this.func = func;
        this.flags = flags;
        this.calls = calls;     // of all before an item
        this.busy = busy;
        this.share = share;
        this.called = called;   // func, or an import by who called
        this.count = start.length;
        this.marks = null;
    }

    callsOf(from, to) {
        return this.calls[to] - this.calls[from];
    }
}

function readTrack(index) {
    const items = about.tracks[index].items;
    const from = new Numbers('track' + index);
    const depths = new Uint16Array(items);
    const raw = [Float64Array, Float64Array, Uint32Array, Uint8Array,
                 Float64Array, Uint8Array, Uint8Array, Uint32Array]
        .map(Type => new Type(items));
    const [start, end, func, flags, calls, busy, share, called] = raw;
    let depth = 0, previous = 0, rows = 0;

    for (let i = 0; i < items; i++) {
        const head = from.next();
        const step = Math.floor(head / 64);
        depth += head & 32 ? -step : step;
        flags[i] = head & 31;
        depths[i] = depth;
        rows = Math.max(rows, depth + 1);
        start[i] = previous + from.difference();
        previous = end[i] = start[i] + from.next();
        called[i] = from.next();
        func[i] = functionOf(called[i]);
        if (head & BLOCK) {
            calls[i] = from.next();
            busy[i] = Math.min(from.next(), 250);
            share[i] = from.next();
        } else {
            calls[i] = 1;
            busy[i] = 250;
        }
    }

    //
    // By depth; the order within one is that of time already.
    //

    const place = new Uint32Array(rows + 1);
    for (let i = 0; i < items; i++) {
        place[depths[i] + 1]++;
    }
    for (let i = 0; i < rows; i++) {
        place[i + 1] += place[i];
    }
    const order = new Uint32Array(items);
    const next = place.slice();
    for (let i = 0; i < items; i++) {
        order[next[depths[i]]++] = i;
    }
    const sorted = raw.map(array => {
        const copy = new array.constructor(items);
        for (let i = 0; i < items; i++) {
            copy[i] = array[order[i]];
        }
        return copy;
    });

    const result = [];
    for (let row = 0; row < rows; row++) {
        const parts = sorted.map(
            array => array.subarray(place[row], place[row + 1]));
        const sums = new Float64Array(parts[4].length + 1);
        for (let i = 0; i < parts[4].length; i++) {
            sums[i + 1] = sums[i] + parts[4][i];
        }
        parts[4] = sums;
        result.push(new Row(...parts));
    }
    return result;
}

//
// The first index from Low on for which array[index] > value (or >=).
//

function firstAbove(array, value, low = 0, high = array.length) {
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (array[middle] > value) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

function firstNotBelow(array, value, low = 0, high = array.length) {
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (array[middle] >= value) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

//
// What is selected and searched, which all parts show.
//

const state = {
    selected: -1,
    query: '',
    matches: null,              // by function: 1 if it matches; null: none
    changed: new Set()          // called when one of them changes
};

function announce(what) {
    for (const each of state.changed) {
        each(what);
    }
}

function select(index) {
    state.selected = index;
    announce('selection');
}

function search(query) {
    state.query = query;
    state.matches = null;
    const words = query.toLowerCase().split(/\s+/).filter(word => word);
    if (words.length) {
        state.matches = new Uint8Array(FUNCTIONS + 1);
        for (let i = 0; i < FUNCTIONS; i++) {
            const text = (functionName(i) + ' ' + moduleName(i)).toLowerCase();
            state.matches[i] = words.every(word => text.includes(word));
        }
    }
    announce('search');
}

//
// Is a function to stand out?  NULL: none is.
//

const isMarking = () => state.matches !== null || state.selected >= 0;
const isMarked = index => index === state.selected ||
    (state.matches !== null && state.matches[index] === 1);

//
// The tooltip: a title, and rows of a name and a text.
//

const tip = {
    show(x, y, title, rows, note) {
        const box = $('tip');
        const heading = document.createElement('b');
        heading.textContent = title;
        const table = document.createElement('table');
        for (const [name, text] of rows) {
            const row = table.insertRow();
            const head = document.createElement('th');
            head.scope = 'row';
            head.textContent = name;
            row.append(head);
            if (text === '') {
                head.colSpan = 2;
                head.className = 'part';
            } else {
                row.insertCell().textContent = text;
            }
        }
        box.replaceChildren(heading, table);
        if (note) {
            const line = document.createElement('em');
            line.textContent = note;
            box.append(line);
        }
        box.hidden = false;
        const width = box.offsetWidth, height = box.offsetHeight;
        box.style.left = Math.max(4, Math.min(x + 14,
            innerWidth - width - 6)) + 'px';
        box.style.top = Math.max(4, y + 18 + height < innerHeight
            ? y + 18 : y - height - 10) + 'px';
    },
    hide() {
        $('tip').hidden = true;
    }
};

//
// The numbers of a function or of a node of the flame graph.
//

function numberRows(of, index) {
    const rows = [['calls', count(of.calls[index])]];
    if (HAS_TIMES) {
        rows.push(['total', time(of.total[index])],
                  ['self', time(of.self[index])],
                  ['average', time(of.average[index])],
                  ['min, max', time(of.min[index]) + ', ' +
                      time(of.max[index])]);
    }
    if (of.abandoned[index]) {
        rows.push(['abandoned', count(of.abandoned[index]) +
            (HAS_TIMES ? ', ' + time(of.abandonedTime[index]) : '')]);
    }
    for (const [field, text] of [['unfinished', 'unfinished'],
                                 ['uncertain', 'uncertain'],
                                 ['begunBefore', 'begun before']]) {
        if (of[field][index]) {
            rows.push([text, count(of[field][index])]);
        }
    }
    return rows;
}

//
// Canvases in the size that they have on the screen.
//

function prepareCanvas(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) ||
        canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.height = height + 'px';
    }
    const context = canvas.getContext('2d', { alpha: false });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
}

const FONT = '11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

const style = {};

function readStyle() {
    const computed = getComputedStyle(document.documentElement);
    for (const name of ['back', 'panel', 'line', 'text', 'soft', 'accent',
                        'mark', 'grid']) {
        style[name] = computed.getPropertyValue('--' + name).trim();
    }
    style.isDark = document.documentElement.dataset.theme === 'dark';
}

//
// Strokes for what is several calls.
//

let hatch = null;

function hatching(context) {
    if (hatch === null) {
        const tile = document.createElement('canvas');
        tile.width = tile.height = 6;
        const pen = tile.getContext('2d');
        pen.strokeStyle = 'rgba(0, 0, 0, 0.42)';
        pen.lineWidth = 1.2;
        pen.beginPath();
        for (const shift of [-6, 0, 6]) {
            pen.moveTo(shift - 1, 7);
            pen.lineTo(shift + 7, -1);
        }
        pen.stroke();
        hatch = context.createPattern(tile, 'repeat');
    }
    return hatch;
}

//
// Text in a box, as much as fits.
//

const widths = new Map();

function drawLabel(context, text, x, y, width) {
    if (width < 16) {
        return;
    }
    let size = widths.get(text);
    if (size === undefined) {
        if (widths.size > 20000) {
            widths.clear();
        }
        size = context.measureText(text).width;
        widths.set(text, size);
    }
    if (size > width) {
        const letters = Math.floor(text.length * (width - 8) / size);
        if (letters < 2) {
            return;
        }
        text = text.slice(0, letters) + '\u2026';
    }
    context.fillText(text, x, y);
}

//
// A box for a call, with the signs of how it began and ended; strength is
// between 0 and 1.
//

function drawBox(context, x, y, width, height, flags, color, strength) {
    context.fillStyle = color;
    context.globalAlpha = strength;
    context.fillRect(x, y, width, height);
    if (flags & BLOCK) {
        context.fillStyle = hatching(context);
        context.fillRect(x, y, width, height);
    }
    context.globalAlpha = 1;
    if (width < 5 || !(flags & (ABANDONED | OPEN | BEGUN | UNCERTAIN))) {
        return;
    }
    context.fillStyle = context.strokeStyle = INK;
    if (flags & ABANDONED) {
        const teeth = 4, step = height / teeth;
        context.beginPath();
        context.moveTo(x + width, y);
        for (let i = 0; i < teeth; i++) {
            context.lineTo(x + width - 5, y + (i + 0.5) * step);
            context.lineTo(x + width, y + (i + 1) * step);
        }
        context.fill();
    }
    if (flags & OPEN && width >= 9) {
        drawArrow(context, x + width - 7, y + height / 2);
    }
    if (flags & BEGUN && width >= 18) {
        drawArrow(context, x + 2, y + height / 2);
    }
    if (flags & UNCERTAIN) {
        context.setLineDash([3, 2]);
        context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
        context.setLineDash([]);
    }
}

function drawArrow(context, x, y) {
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x + 5, y);
    context.lineTo(x, y + 4);
    context.fill();
}
