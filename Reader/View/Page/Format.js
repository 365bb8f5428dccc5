//
// Numbers, names and colours for people.
//

const Format = (() => {
    const GROUPS = new Intl.NumberFormat('en-US');
    const UNITS = [['s', 1e9], ['ms', 1e6], ['\u00b5s', 1e3], ['ns', 1]];

    //
    // Those with a colour vision deficiency tell these apart, and black text
    // can be read on them.
    //

    const PALETTE = ['#77aadd', '#ee8866', '#eedd88', '#44bb99', '#ffaabb',
                     '#99ddff', '#bbcc33', '#d6b4e8', '#aaaa00'];

    const count = number => GROUPS.format(number);

    const nanoseconds = ticks => ticks * 1e9 /
        (Viewer.session ? Viewer.session.ticksPerSecond : 1e9);

    //
    // Without a clock (TRACER_CLOCK=none) a place is the number of a thread's
    // record; threads are PLACES apart.
    //

    const PLACES = 2 ** 48;
    const records = ticks => count(Math.round(ticks) % PLACES) + ' records';
    const isTimeless = () => Viewer.session?.hasTimes === false;

    //
    // A time in the largest unit that it fills, with four digits or so; never
    // rounded up.
    //

    const time = ticks => {
        if (isTimeless()) {
            return records(ticks);
        }
        const value = nanoseconds(ticks);
        const [unit, size] = UNITS.find(each => Math.abs(value) >= each[1]) ||
            UNITS[3];
        if (size === 1) {
            return Math.round(value) + ' ns';
        }
        const scaled = value / size;
        const digits = Math.abs(scaled) >= 100 ? 1
            : Math.abs(scaled) >= 10 ? 2 : 3;
        return (Math.trunc(scaled * 10 ** digits) / 10 ** digits)
            .toFixed(digits) + ' ' + unit;
    };

    //
    // For each function its colour's number, by its name: it has the same
    // whenever the session is opened, whatever was met first.
    //

    let colored = null;
    let numbers = new Uint8Array(1024);
    let numbered = 0;

    const hues = () => {
        const { engine } = Viewer;
        if (engine !== colored) {
            colored = engine;
            numbered = 0;
        }
        const functions = engine === null ? [] : engine.functions;
        if (functions.length > numbers.length) {
            const more = new Uint8Array(functions.length * 2);
            more.set(numbers);
            numbers = more;
        }
        for (; numbered < functions.length; numbered++) {
            const { name } = functions[numbered];
            let hash = 0x811c9dc5;
            for (let i = 0; i < name.length; i++) {
                hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
            }
            numbers[numbered] = ((hash ^ hash >>> 15) >>> 0) % PALETTE.length;
        }
        return numbers;
    };

    return {
        PALETTE,
        INK: '#101316',
        WAITED: '#e2e5e9',
        count,
        nanoseconds,
        time,

        //
        // Whole nanoseconds.
        //

        exact: ticks => isTimeless() ? records(ticks)
            : count(Math.round(nanoseconds(ticks))) + ' ns',

        //
        // What is not nothing is not shown as nothing.
        //

        percent: share => share > 0 && share < 0.00005 ? '< 0.01 %'
            : (share * 100).toFixed(share < 0.1 ? 2 : 1) + ' %',

        plural: (number, one, many) =>
            count(number) + ' ' + (number === 1 ? one : many || one + 's'),

        baseName: path => path.split(/[\\/]/).filter(part => part).pop() ||
            path,

        //
        // A long name is shortened in its middle: its end tells more.
        //

        shorten: (text, letters) => {
            if (text.length <= letters) {
                return text;
            }
            const head = Math.floor((letters - 1) / 3);
            return text.slice(0, head) + '\u2026' +
                text.slice(text.length - (letters - 1 - head));
        },

        hues,
        colorOf: id => PALETTE[hues()[id] | 0]
    };
})();
