//
// The TraceReader command that prints what a panel shows, and the range of
// time that both mean.
//

const Commands = (() => {
    const SCALE = 1000000;          // parts of a tick that a rate is exact to
    const SECOND = 1000000000n;

    const divideUp = (value, divisor) => (value + divisor - 1n) / divisor;

    //
    // The session's clock as a fraction: so many ticks are so many
    // nanoseconds.  Without a rate a tick is one, as it is for --from.
    //

    const clockOf = ({ clock, ticksPerSecond }) => {
        if (clock && clock.ticks) {
            return clock;
        }
        return ticksPerSecond ? {
            ticks: BigInt(Math.round(ticksPerSecond * SCALE)),
            nanoseconds: SECOND * BigInt(SCALE)
        } : { ticks: 1n, nanoseconds: 1n };
    };

    //
    // Ticks as TraceReader --csv writes them: whole nanoseconds, rounded down;
    // of a clock thread, down to its step, granularity; without a clock none.
    //

    const nanoseconds = (ticks, session) => {
        if (session.hasTimes === false) {
            return null;
        }
        const clock = clockOf(session);
        const time = BigInt(Math.round(ticks)) * clock.nanoseconds /
            clock.ticks;
        return Number(time - time % BigInt(session.granularity || 1));
    };

    //
    // A range as --from and --to take it, in whole nanoseconds, and the ticks
    // that TraceReader then reads: the first tick whose time is not less than
    // from, and the last one whose time, rounded down, is not more than to.
    // What covers the session is the session; from and to are null then.  Times
    // are after the first record of what is read, at zero: with --process that
    // is a process's (alone, of Engine.js), by its clock.
    //

    const rangeOf = ({ begin, end }, session) => {
        if (begin <= session.begin && end >= session.end) {
            return { begin: session.begin, end: session.end, from: null,
                     to: null };
        }
        const clock = clockOf(session);
        const step = BigInt(session.granularity || 1);
        const zero = session.zero || 0;
        const timeOf = ticks => {
            const time = BigInt(Math.max(Math.round(ticks - zero), 0)) *
                clock.nanoseconds / clock.ticks;
            return time - time % step;
        };
        const from = timeOf(begin), to = timeOf(end);
        return {
            begin: zero + Number(divideUp(from * clock.ticks,
                                          clock.nanoseconds)),
            end: zero + Number(divideUp((to + step) * clock.ticks,
                                        clock.nanoseconds) - 1n),
            from: Number(from), to: Number(to)
        };
    };

    //
    // A word of a command line, as the C runtime's rules read it; both cmd
    // and PowerShell leave a word in double quotes together.
    //

    const quote = word => {
        const text = String(word);
        return /^[A-Za-z0-9_.:\\\/-]+$/.test(text) ? text
            : '"' + text.replace(/(\\*)"/g, '$1$1\\"')
                .replace(/(\\+)$/, '$1$1') + '"';
    };

    //
    // An import's name begins with its module.  Where there is an import whose
    // name a function's with its module would be, it is the name alone that
    // means the function.
    //

    const nameOf = ({ module, name }, isImport) => {
        const stem = (module || '').replace(/\.[^.]*$/, '').toLowerCase() + '!';
        return !module || name.toLowerCase().startsWith(stem) ||
            isImport(stem + name.toLowerCase()) ? name : module + '!' + name;
    };

    //
    // name: report, tree ...; options: what it has; arguments: what stands
    // before the session.
    //

    const make = (name, { range = null, thread = null, process = null,
                          sort = null, limit = null, find = '', lines = false,
                          more = [], target = null, isAllRuns = false,
                          isImport = () => false, session }) => {
        const words = ['TraceReader', name];
        const add = (option, value) => {
            if (value !== null && value !== '') {
                words.push(option, quote(value));
            }
        };
        if (range !== null && range.from !== null) {
            add('--from', range.from);
            add('--to', range.to);
        }
        add('--process', process);
        add('--thread', thread);
        add('--sort', sort);
        add('--limit', limit);

        //
        // A list's parts are separated by commas: what has one, or begins or
        // ends with what a list leaves out, cannot be said.
        //

        const typed = find.trim();
        if (typed && !typed.includes(',') && !/\s/.test(typed)) {
            add('--function', '~' + typed);
        }
        if (lines) {
            words.push('--lines');
        }
        words.push(...more);
        if (isAllRuns && name !== 'verify') {
            words.push('--all-runs');
        }
        if (target !== null) {
            words.push(quote(nameOf(target, isImport)));
        }
        words.push(quote(session));
        return words.join(' ');
    };

    return { nanoseconds, rangeOf, quote, make };
})();
