//
// How the panel of durations is drawn: where a duration is on a logarithmic
// axis, and which marks the axis has.
//

class DurationAxis {
    //
    // least, most: ticks; width: pixels.
    //

    constructor(least, most, width) {
        this.low = Math.log2(Math.max(least, 1));
        this.high = Math.max(Math.log2(Math.max(most, 1)), this.low + 0.05);
        this.width = width;
    }

    xOf(ticks) {
        const at = (Math.log2(Math.max(ticks, 1)) - this.low) /
            (this.high - this.low);
        return Math.min(Math.max(at, 0), 1) * this.width;
    }

    //
    // Buckets as bars, none narrower than least pixels: what begins in the
    // same pixels is one.  Returns [{from, to, calls, x, wide}].
    //

    bars(buckets, least) {
        const bars = [];
        for (const { from, to, calls } of buckets) {
            const x = Math.floor(this.xOf(from) / least) * least;
            const last = bars[bars.length - 1];
            if (last && last.x === x) {
                last.to = to;
                last.calls += calls;
                last.wide = Math.max(last.wide, this.xOf(to) - x);
            } else {
                bars.push({ from, to, calls, x,
                            wide: Math.max(this.xOf(to) - x, least) });
            }
        }
        bars.forEach((bar, i) => {
            const next = i + 1 < bars.length ? bars[i + 1].x : this.width;
            bar.wide = Math.max(Math.min(bar.wide, next - bar.x), 1);
        });
        return bars;
    }

    //
    // 1, 2 and 5 of each power of ten of nanoseconds, as many as have room.
    // perTick: nanoseconds.  Returns ticks.
    //

    marks(perTick, room = 70) {
        const from = 2 ** this.low * perTick, to = 2 ** this.high * perTick;
        for (const steps of [[1, 2, 5], [1, 3], [1]]) {
            for (let skip = 1; skip < 9; skip += steps.length > 1 ? 9 : 1) {
                const found = [];
                for (let power = Math.floor(Math.log10(from)); 10 ** power <=
                     to; power++) {
                    if (power % skip) {
                        continue;
                    }
                    for (const step of steps) {
                        const value = step * 10 ** power;
                        if (value >= from && value <= to) {
                            found.push(value / perTick);
                        }
                    }
                }
                if (found.every((each, i) => i === 0 || this.xOf(each) -
                    this.xOf(found[i - 1]) >= room)) {
                    return found;
                }
            }
        }
        return [];
    }
}

//
// The panel of durations: how long the calls of a function took, the
// percentiles, and its slowest calls.
//

class HistogramPanel {
    static BAR = 5;                 // pixels
    static PERCENTILES = [['p50', '50 %'], ['p90', '90 %'], ['p99', '99 %'],
                          ['p999', '99.9 %']];

    constructor(element) {
        this.answer = null;
        this.bars = [];
        this.current = -1;          // the bar of the keyboard
        this.isLinear = PanelKit.kept('histogram') === 'linear';
        this.frame = new PanelFrame(element, {
            title: 'Durations', hasRange: true, asks: ['function'],
            ask: () => this.ask(),
            show: answer => this.show(answer),
            csv: () => this.csv(),
            command: () => this.command()
        });
        this.scaleButton = PanelKit.button('', 'Whether a bar is as high as ' +
            'its number of calls, or as the number\'s logarithm', () => {
            this.isLinear = !this.isLinear;
            PanelKit.keep('histogram', this.isLinear ? 'linear' : '');
            this.draw();
        });
        this.frame.tools.append(this.scaleButton);
        this.build();
    }

    build() {
        const body = Grid.make('div', 'durations');
        const left = Grid.make('div', 'durationsSide');
        this.title = Grid.make('div', 'sandwichTitle');
        this.titleName = document.createElement('b');
        this.titleFacts = document.createElement('span');
        this.title.append(this.titleName, this.titleFacts);
        this.chart = Grid.make('div', 'histogram', 'application');
        this.chart.id = 'histogram';
        this.chart.tabIndex = 0;
        this.chart.setAttribute('aria-roledescription', 'histogram');
        this.chart.setAttribute('aria-label', 'How long the calls took: ' +
            'Left and Right move between bars');
        this.canvas = document.createElement('canvas');
        this.canvas.setAttribute('role', 'img');
        this.chart.append(this.canvas);
        left.append(this.title, this.chart);
        body.append(left);
        this.grid = this.makeGrid(body);
        this.frame.body.append(body);
        this.frame.addColumns(this.grid);
        this.grids = [this.grid];
        this.listen();
    }

    makeGrid(body) {
        const { format } = Viewer;
        return new Grid(body, {
            id: 'slowest', label: 'The slowest calls', key: 'duration',
            none: () => this.answer ? 'No call ended here.' : '',
            columns: [
                { id: 'duration', title: 'Duration', width: 96,
                  csv: 'duration_ns', value: row => row.end - row.begin,
                  text: row => format.time(row.end - row.begin),
                  exact: row => PanelKit.ns(row.end - row.begin),
                  tip: row => format.exact(row.end - row.begin),
                  share: row => this.most > 0 ? (row.end - row.begin) /
                      this.most : null },
                { id: 'start', title: 'Start', width: 96, csv: 'start_ns',
                  help: 'From the session\'s begin',
                  value: row => row.begin,
                  text: row => format.time(row.begin),
                  exact: row => PanelKit.placeNs(row.begin),
                  tip: row => format.exact(row.begin) },
                { id: 'thread', title: 'Thread', width: 120, isWide: true,
                  isText: true, isName: true,
                  value: row => PanelKit.threadPlace(row.thread),
                  exact: row => Viewer.threadOf(row.thread).tid },
                { id: 'depth', title: 'Depth', width: 58,
                  value: row => row.depth }
            ],
            keyOf: row => row.thread + ' ' + row.begin + ' ' + row.depth,
            isChosen: row => PanelKit.isCall(row),
            choose: row => Viewer.show({ ...row,
                                         function: this.answer.id })
        });
    }

    update(change, state) {
        this.frame.update(change, state);
        if ('call' in change) {
            this.grid.draw();
        }
        if (change.theme) {
            this.draw();
        }
    }

    async ask() {
        const id = Viewer.state.function;
        if (id === null) {
            return null;
        }
        const { begin, end } = PanelKit.range();
        return { id, ...await Viewer.engine.histogram({
            function: id, threads: PanelKit.threads(), begin, end }) };
    }

    show(answer) {
        const { format } = Viewer;
        this.answer = answer;
        this.current = -1;
        this.most = 0;
        if (answer === null) {
            this.titleName.textContent = 'No function is chosen';
            this.titleFacts.textContent = 'Choose one in the timeline, in ' +
                'Functions or in Find.';
            this.grid.setRows([]);
            this.draw();
            return;
        }
        const { id, buckets, percentiles, slowest } = answer;
        const name = Viewer.nameOf(id);
        const calls = buckets.reduce((sum, each) => sum + each.calls, 0);
        this.most = slowest.length ? slowest[0].end - slowest[0].begin : 0;
        this.titleName.textContent = Names.shorten(name) || name;
        this.titleName.title = name;
        this.titleFacts.textContent = [
            format.plural(calls, 'call that ended', 'calls that ended'),
            ...(calls ? HistogramPanel.PERCENTILES.map(([key, title]) =>
                title + ' \u2264 ' + format.time(percentiles[key])) : []),
            ...PanelKit.twinsOf(id)
        ].join(' \u00b7 ');
        this.canvas.setAttribute('aria-label',
                                 this.titleFacts.textContent);
        this.grid.setRows(slowest);
        this.draw();
    }

    draw() {
        this.scaleButton.textContent = this.isLinear ? 'Logarithmic'
            : 'Linear';
        if (!this.isDue) {
            this.isDue = true;
            requestAnimationFrame(() => {
                this.isDue = false;
                this.paint();
            });
        }
    }

    paint() {
        const width = this.chart.clientWidth;
        const height = this.chart.clientHeight;
        if (width < 60 || height < 40) {
            return;
        }
        const context = Style.fit(this.canvas, width, height);
        context.fillStyle = Style.back;
        context.fillRect(0, 0, width, height);
        context.font = Style.FONT;
        const buckets = this.answer ? this.answer.buckets : [];
        this.bars = [];
        if (!buckets.length) {
            return;
        }
        const left = 10, right = 10, top = 32, bottom = 20;
        const axis = new DurationAxis(buckets[0].from,
                                      buckets[buckets.length - 1].to,
                                      width - left - right);
        this.bars = axis.bars(buckets, HistogramPanel.BAR);
        const most = this.bars.reduce((max, each) => Math.max(max, each.calls),
                                      0);
        const scale = calls => this.isLinear ? calls / most
            : Math.log2(1 + calls) / Math.log2(1 + most);
        const base = height - bottom;
        const isFocused = document.activeElement === this.chart;
        this.bars.forEach((bar, index) => {
            bar.x += left;
            const high = bar.calls ? Math.max(scale(bar.calls) *
                (base - top), 1.5) : 0;
            context.fillStyle = Style.accent;
            context.globalAlpha = index === this.current && isFocused ? 1 : .6;
            context.fillRect(bar.x, base - high, Math.max(bar.wide - 0.6, 0.8),
                             high);
            context.globalAlpha = 1;
        });
        this.paintAxis(context, axis, left, base, width);
        this.paintPercentiles(context, axis, left, top, base, width);
    }

    paintAxis(context, axis, left, base, width) {
        const { format, session } = Viewer;
        context.strokeStyle = Style.line;
        context.fillStyle = Style.soft;
        context.textBaseline = 'top';
        context.textAlign = 'center';
        context.beginPath();
        context.moveTo(left, base + 0.5);
        context.lineTo(width - 10, base + 0.5);
        const perTick = 1e9 / (session.ticksPerSecond || 1e9);
        for (const ticks of axis.marks(perTick)) {
            const x = left + axis.xOf(ticks);
            const text = PanelKit.round(format.time(ticks * (1 + 1e-9)));
            const half = context.measureText(text).width / 2;
            context.moveTo(x, base);
            context.lineTo(x, base + 4);
            context.fillText(text, Math.min(Math.max(x, half + 1),
                                            width - half - 1), base + 6);
        }
        context.stroke();
    }

    //
    // Percentiles as lines; their names take turns in two rows and are left
    // out where there is no room (the title has all of them).
    //

    paintPercentiles(context, axis, left, top, base, width) {
        const { percentiles } = this.answer;
        const ends = [-Infinity, -Infinity];
        context.textBaseline = 'top';
        context.textAlign = 'left';
        HistogramPanel.PERCENTILES.forEach(([key, title]) => {
            const x = left + axis.xOf(percentiles[key]);
            const wide = context.measureText(title).width;
            const at = Math.min(x + 3, width - wide - 2);
            const row = ends.findIndex(end => at > end + 4);
            context.strokeStyle = Style.text;
            context.setLineDash([3, 3]);
            context.beginPath();
            context.moveTo(x, row < 0 ? top : 4 + row * 14);
            context.lineTo(x, base);
            context.stroke();
            context.setLineDash([]);
            if (row >= 0) {
                ends[row] = at + wide;
                context.fillStyle = Style.back;
                context.globalAlpha = 0.8;
                context.fillRect(at - 1, 3 + row * 14, wide + 2, 13);
                context.globalAlpha = 1;
                context.fillStyle = Style.text;
                context.fillText(title, at, 4 + row * 14);
            }
        });
    }

    describe(index) {
        const { format } = Viewer;
        const { bars } = this;
        const { from, to, calls } = bars[index];
        const sum = (first, last) => bars.slice(first, last).reduce(
            (whole, each) => whole + each.calls, 0);
        const whole = sum(0, bars.length);
        return [format.time(from) + ' to ' + format.time(to),
                [['calls', format.count(calls)],
                 ['of all', format.percent(calls / whole)],
                 ['as long or shorter', format.percent(sum(0, index + 1) /
                     whole)],
                 ['longer', format.count(sum(index + 1, bars.length))]]];
    }

    listen() {
        this.chart.addEventListener('pointermove', event => {
            const x = event.clientX - this.canvas.getBoundingClientRect().left;
            const index = this.bars.findIndex(each => x >= each.x &&
                x < each.x + each.wide);
            if (index >= 0) {
                Tip.show(event.clientX, event.clientY,
                         ...this.describe(index), '');
            } else {
                Tip.hide();
            }
        });
        this.chart.addEventListener('pointerleave', () => Tip.hide());
        this.chart.addEventListener('focus', () => this.draw());
        this.chart.addEventListener('blur', () => this.draw());
        this.chart.addEventListener('keydown', event => {
            const count = this.bars.length;
            const to = { ArrowLeft: this.current - 1,
                         ArrowRight: this.current + 1, Home: 0,
                         End: count - 1 }[event.key];
            if (to === undefined || !count || event.ctrlKey || event.altKey ||
                event.metaKey) {
                return;
            }
            this.current = Math.min(Math.max(to, 0), count - 1);
            const [title, rows] = this.describe(this.current);
            Viewer.say(title + ': ' + rows.map(each => each.join(' '))
                .join(', '));
            this.draw();
            event.preventDefault();
            event.stopPropagation();
        });
        new ResizeObserver(() => this.draw()).observe(this.chart);
    }

    csv() {
        if (!this.answer) {
            return '';
        }
        const { buckets, percentiles, slowest } = this.answer;
        const rows = [];
        buckets.forEach(({ from, to, calls }, i) => rows.push(
            ['histogram', i + 1, 'from_ns', PanelKit.ns(from)],
            ['histogram', i + 1, 'to_ns', PanelKit.ns(to)],
            ['histogram', i + 1, 'calls', calls]));
        for (const [key] of HistogramPanel.PERCENTILES) {
            rows.push(['summary', 1, (key === 'p999' ? 'p99_9' : key) + '_ns',
                       PanelKit.ns(percentiles[key])]);
        }
        slowest.forEach(({ thread, begin, end, depth }, i) => rows.push(
            ['calls', i + 1, 'duration_ns', PanelKit.ns(end - begin)],
            ['calls', i + 1, 'start_ns', PanelKit.placeNs(begin)],
            ['calls', i + 1, 'thread', Viewer.threadOf(thread).tid],
            ['calls', i + 1, 'depth', depth]));
        return Csv.write(['table', 'row', 'field', 'value'], rows);
    }

    command() {
        const target = Viewer.functionOf(Viewer.state.function);
        return !target ? PanelKit.command('report')
            : PanelKit.command('outliers', { target, limit: 100 });
    }
}
