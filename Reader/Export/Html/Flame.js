//
// The flame graph: what calls what, the outermost at the top; a box is as wide
// as its calls took together.
//

class Flame {
    constructor() {
        this.box = $('flameScroll');
        this.canvas = $('flameCanvas');
        this.parent = new Int32Array(about.nodes);
        this.func = new Uint32Array(about.nodes);
        this.called = new Uint32Array(about.nodes);
        this.depth = new Uint32Array(about.nodes);
        this.all = new Statistics(about.nodes);
        this.trees = [];            // of tracks, when they were shown
        this.root = -1;             // the node that is zoomed to
        this.focus = -1;            // the node of the keyboard
        this.isDue = false;
        this.drawn = [];

        const from = new Numbers('tree');
        for (let i = 0; i < about.nodes; i++) {
            const back = from.next();
            this.parent[i] = back === 0 ? -1 : i - back;
            this.depth[i] = back === 0 ? 0 : this.depth[i - back] + 1;
            this.called[i] = from.next();
            this.func[i] = functionOf(this.called[i]);
            this.all.read(from, i);
        }
        this.statistics = this.all;
        this.present = null;        // by node; null: all are
        this.measure();
        this.offerTracks();
        this.listen();
    }

    offerTracks() {
        const choice = $('flameTrack');
        const add = (text, value) => {
            const option = document.createElement('option');
            option.textContent = text;
            option.value = value;
            choice.append(option);
        };
        add(about.tracks.length === 1 && !about.trees.length
            ? 'The thread' : 'All threads', -1);
        about.trees.forEach(([thread, fiber], index) => {
            const track = about.tracks.find(each => each.thread === thread &&
                                            each.fiber === fiber);
            add('Thread ' + thread + (fiber ? ', fiber ' + fiber : '') +
                (track && track.name ? ' \u2013 ' + track.name : ''), index);
        });
        choice.addEventListener('change', () =>
            this.showTrack(Number(choice.value)));
    }

    showTrack(index) {
        $('flameTrack').value = index;
        if (index < 0) {
            this.statistics = this.all;
            this.present = null;
        } else {
            if (!this.trees[index]) {
                const statistics = new Statistics(about.nodes);
                const present = new Uint8Array(about.nodes);
                const from = new Numbers('tree' + index);
                let node = 0;
                for (let i = 0; i < about.trees[index][2]; i++) {
                    node += from.difference();
                    present[node] = 1;
                    statistics.read(from, node);
                }
                this.trees[index] = { statistics, present };
            }
            this.statistics = this.trees[index].statistics;
            this.present = this.trees[index].present;
        }
        this.root = this.focus = -1;
        this.measure();
        this.draw();
    }

    //
    // A box is as wide as its time, or as its children together if that is
    // more (the time of abandoned calls is in no total).
    //

    measure() {
        const nodes = about.nodes;
        const own = this.statistics;
        const width = this.width = new Float64Array(nodes);
        const inside = new Float64Array(nodes);
        const kids = new Uint32Array(nodes + 2);
        this.whole = 0;
        this.rows = 0;
        for (let i = nodes - 1; i >= 0; i--) {
            if (this.present && !this.present[i]) {
                continue;
            }
            width[i] = Math.max(HAS_TIMES
                ? own.total[i] + own.abandonedTime[i] : own.calls[i],
            inside[i]);
            if (this.parent[i] < 0) {
                this.whole += width[i];
            } else {
                inside[this.parent[i]] += width[i];
            }
            kids[this.parent[i] + 2]++;
            this.rows = Math.max(this.rows, this.depth[i] + 1);
        }

        //
        // Children by node, the widest first; those of the root at 0.
        //

        for (let i = 1; i < kids.length; i++) {
            kids[i] += kids[i - 1];
        }
        this.first = kids.slice();
        const order = new Uint32Array(kids[kids.length - 1]);
        const next = kids.slice();
        for (let i = 0; i < nodes; i++) {
            if (!this.present || this.present[i]) {
                order[next[this.parent[i] + 1]++] = i;
            }
        }
        for (let i = 0; i <= nodes; i++) {
            if (this.first[i + 1] - this.first[i] > 1) {
                order.subarray(this.first[i], this.first[i + 1])
                    .sort((a, b) => width[b] - width[a] || a - b);
            }
        }
        this.children = order;
        this.match();
    }

    childrenOf(node) {
        return this.children.subarray(this.first[node + 1],
                                      this.first[node + 2]);
    }

    //
    // How much of the time is in what is searched or selected: of calls
    // inside of each other the outermost counts.
    //

    match() {
        this.matched = null;
        if (isMarking()) {
            const inside = new Uint8Array(about.nodes);
            this.matched = 0;
            for (let i = 0; i < about.nodes; i++) {
                if (this.present && !this.present[i]) {
                    continue;
                }
                const above = this.parent[i] >= 0 && inside[this.parent[i]];
                const here = isMarked(this.func[i]);
                inside[i] = above || here ? 1 : 0;
                if (here && !above) {
                    this.matched += this.width[i];
                }
            }
        }
        $('matched').textContent = this.matched === null || !this.whole ? ''
            : percent(this.matched / this.whole) + ' matched';
    }

    zoom(node) {
        this.root = node;
        this.focus = node;
        $('flameReset').hidden = node < 0;
        this.box.scrollTop = 0;
        this.draw();
    }

    draw() {
        if (!this.isDue) {
            this.isDue = true;
            requestAnimationFrame(() => {
                this.isDue = false;
                this.paint();
            });
        }
    }

    paint() {
        const width = this.box.clientWidth, height = this.box.clientHeight;
        if (!width || !height) {
            return;
        }
        const space = Math.max((this.rows + 1) * ROW + 8 - height, 0);
        if (this.space !== space) {
            this.space = space;
            $('flameSpace').style.height = space + 'px';
        }
        const context = prepareCanvas(this.canvas, width, height);
        context.fillStyle = style.back;
        context.fillRect(0, 0, width, height);
        context.font = FONT;
        context.textBaseline = 'middle';
        this.drawn = [];
        if (!this.whole) {
            context.fillStyle = style.soft;
            context.fillText('No calls.', 10, 20);
            return;
        }

        //
        // The whole, what is above the node that is zoomed to, and then that
        // node.
        //

        const chain = [];
        for (let node = this.root; node >= 0; node = this.parent[node]) {
            chain.unshift(node);
        }
        chain.unshift(-1);
        const zoomed = chain[chain.length - 1];
        chain.forEach((node, row) =>
            this.paintNode(context, node, 0, row, width, node !== zoomed));

        const scale = width / (zoomed < 0 ? this.whole : this.width[zoomed]);
        const work = [[zoomed, 0, chain.length]];
        while (work.length) {
            const [node, left, row] = work.pop();
            let x = left;
            if (row * ROW > this.box.scrollTop + height) {
                continue;
            }
            const children = this.childrenOf(node);
            for (let i = 0; i < children.length; i++) {
                const wide = this.width[children[i]] * scale;
                if (wide < 0.5) {
                    this.paintRest(context, children.length - i, x, row,
                                   children, i, scale);
                    break;
                }
                this.paintNode(context, children[i], x, row, wide, false);
                work.push([children[i], x, row + 1]);
                x += wide;
            }
        }
    }

    paintNode(context, node, x, row, width, isAbove) {
        const y = row * ROW + 2 - this.box.scrollTop;
        if (y < -ROW || y > this.box.clientHeight) {
            return;
        }
        const isRoot = node < 0;
        const isHere = !isRoot && isMarked(this.func[node]);
        const isDim = isAbove || (isMarking() && !isHere);
        context.fillStyle = isRoot ? style.grid : colorOf(this.func[node]);
        context.globalAlpha = isRoot ? 1 : isDim ? 0.35 : 1;
        context.fillRect(x, y, Math.max(width - (width > 3 ? 0.7 : 0), 0.5),
                         ROW - 1);
        context.globalAlpha = 1;
        if (!isRoot && this.statistics.abandoned[node] && width > 12) {
            drawBox(context, x, y, width - 0.7, ROW - 1, ABANDONED,
                    'transparent', 1);
        }
        if (isHere || (node >= 0 && node === this.focus &&
                       document.activeElement === this.box)) {
            context.strokeStyle = node === this.focus &&
                document.activeElement === this.box ? style.accent
                : style.mark;
            context.lineWidth = 2;
            context.strokeRect(x + 1, y + 1, Math.max(width - 2.5, 0.5),
                               ROW - 3);
            context.lineWidth = 1;
        }
        if (width > 16) {
            context.fillStyle = isRoot || isDim ? style.text : INK;
            drawLabel(context, isRoot ? this.rootName()
                : functionName(this.func[node]), x + 4, y + ROW / 2,
            width - 8);
        }
        this.drawn.push({ x, y, width, node });
    }

    paintRest(context, number, x, row, children, from, scale) {
        let width = 0;
        for (let i = from; i < children.length; i++) {
            width += this.width[children[i]] * scale;
        }
        const y = row * ROW + 2 - this.box.scrollTop;
        if (width >= 1) {
            context.fillStyle = '#bbbbbb';
            context.fillRect(x, y, width, ROW - 1);
            context.fillStyle = hatching(context);
            context.fillRect(x, y, width, ROW - 1);
            this.drawn.push({ x, y, width, node: -2, number });
        }
    }

    rootName() {
        const choice = $('flameTrack');
        return choice.options[choice.selectedIndex].textContent +
            (HAS_TIMES ? ', ' + time(this.whole) : '');
    }

    hit(x, y) {
        let best = null;
        for (const each of this.drawn) {
            if (y >= each.y && y < each.y + ROW && x >= each.x - 0.5 &&
                x < each.x + Math.max(each.width, 1)) {
                best = each;
            }
        }
        return best;
    }

    describe(hit, x, y) {
        if (hit.node === -2) {
            tip.show(x, y, plural(hit.number, 'function') +
                     ' too narrow to tell apart', [], 'Click above to zoom.');
            return;
        }
        if (hit.node === -1) {
            tip.show(x, y, this.rootName(), []);
            return;
        }
        const func = this.func[hit.node];
        const rows = [['of all', percent(this.width[hit.node] / this.whole)]];
        const parent = this.parent[hit.node];
        if (parent >= 0) {
            rows.push(['of ' + functionName(this.func[parent]).slice(0, 40),
                       percent(this.width[hit.node] / this.width[parent])]);
        }
        if (callerOf(this.called[hit.node])) {
            rows.push(['called by', callerOf(this.called[hit.node])]);
        }
        rows.push(['called this way', ''],
                  ...numberRows(this.statistics, hit.node));
        if (func < FUNCTIONS) {
            rows.push(['all calls', ''], ...numberRows(numbers, func));
        }
        tip.show(x, y, functionName(func), rows,
                 [moduleName(func), sourceOf(func)[0]]
                     .filter(text => text).join(', '));
    }

    listen() {
        const place = event => {
            const frame = this.canvas.getBoundingClientRect();
            return [event.clientX - frame.left, event.clientY - frame.top];
        };
        this.canvas.addEventListener('pointermove', event => {
            const hit = this.hit(...place(event));
            this.canvas.style.cursor = hit ? 'pointer' : 'default';
            if (hit) {
                this.describe(hit, event.clientX, event.clientY);
            } else {
                tip.hide();
            }
        });
        this.canvas.addEventListener('pointerleave', () => tip.hide());
        this.canvas.addEventListener('click', event => {
            const hit = this.hit(...place(event));
            if (hit && hit.node >= -1) {
                this.open(hit.node);
            }
        });
        this.box.addEventListener('scroll', () => this.draw());
        this.box.addEventListener('focus', () => this.draw());
        this.box.addEventListener('blur', () => this.draw());
        $('flameReset').addEventListener('click', () => this.zoom(-1));
        state.changed.add(() => {
            this.match();
            this.draw();
        });
        new ResizeObserver(() => this.draw()).observe(this.box);
    }

    open(node) {
        this.zoom(node);
        if (node >= 0 && this.func[node] < FUNCTIONS) {
            select(this.func[node]);
        }
    }

    key(key) {
        const top = this.childrenOf(-1);
        let focus = this.focus;
        if (focus < 0) {
            focus = top.length ? top[0] : -1;
            if (!key.startsWith('Arrow') || focus < 0) {
                return false;
            }
        } else if (key === 'ArrowDown') {
            const below = this.childrenOf(focus);
            focus = below.length ? below[0] : focus;
        } else if (key === 'ArrowUp') {
            focus = this.parent[focus] >= 0 ? this.parent[focus] : focus;
        } else if (key === 'ArrowLeft' || key === 'ArrowRight') {
            const beside = this.childrenOf(this.parent[focus]);
            const at = beside.indexOf(focus) +
                (key === 'ArrowLeft' ? -1 : 1);
            focus = at >= 0 && at < beside.length ? beside[at] : focus;
        } else if (key === 'Enter') {
            this.open(focus);
            return true;
        } else if (key === 'Escape' && this.root >= 0) {
            this.zoom(-1);
            return true;
        } else {
            return false;
        }
        this.focus = focus;
        const y = (this.depth[focus] + 1) * ROW;
        if (y < this.box.scrollTop ||
            y + ROW > this.box.scrollTop + this.box.clientHeight) {
            this.box.scrollTop = y - this.box.clientHeight / 2;
        }
        $('status').textContent = functionName(this.func[focus]) + ': ' +
            percent(this.width[focus] / this.whole) + ', ' +
            numberRows(this.statistics, focus)
                .map(each => each.join(' ')).join(', ');
        this.draw();
        return true;
    }
}
