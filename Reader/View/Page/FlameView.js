//
// Draws a call tree on a canvas: a flame graph, from the bottom up, or an
// icicle, from the top down.  A box is as wide as its calls took; what no box
// below (above) it covers is its own time.
//

class FlameView {
    static ROW = 18;
    static TEXT = 34;               // pixels of a box that has its name

    //
    // label: the name; choose(function): a box was chosen; open(function): a
    // double click, Shift and Enter; zoomed(): another node is zoomed to.
    //

    constructor(element, options) {
        this.options = options;
        this.tree = null;
        this.isUp = Boolean(options.isUp);
        this.root = this.focus = 0;
        this.boxes = [];
        this.fits = new Map();
        this.box = Grid.make('div', 'flame', 'tree');
        this.box.tabIndex = 0;
        this.box.id = options.id;
        this.box.setAttribute('aria-label', options.label);
        this.canvas = document.createElement('canvas');
        this.space = Grid.make('div', 'flameSpace');
        this.item = Grid.make('div', 'offscreen', 'treeitem');
        this.item.id = options.id + '-item';
        this.item.setAttribute('aria-label', 'nothing chosen');
        this.box.append(this.canvas, this.space, this.item);
        element.append(this.box);
        this.listen();
    }

    //
    // A new tree shows what the last one showed, if it has that.
    //

    setTree(tree) {
        const zoom = this.tree ? this.tree.pathOf(this.root) : [];
        const focus = this.tree ? this.tree.pathOf(this.focus) : [];
        this.tree = tree;
        this.root = tree.nodeAt(zoom);
        this.focus = tree.nodeAt(focus);
        this.tellZoom();
        this.describeFocus();
        this.draw();
    }

    turn(isUp) {
        this.isUp = isUp;
        this.draw();
        this.toRoot = true;
    }

    zoom(node) {
        this.root = node;
        this.focus = node;
        this.toRoot = true;
        this.tellZoom();
        this.describeFocus();
        this.draw();
    }

    tellZoom() {
        if (this.options.zoomed) {
            this.options.zoomed(this.root);
        }
    }

    nameOf(node) {
        return node === 0 ? this.options.rootName()
            : Viewer.nameOf(this.tree.function[node]);
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

    //
    // Rows from the top of the scrolled area on; a flame graph has its root at
    // the bottom.
    //

    yOf(row) {
        const { ROW } = FlameView;
        const height = Math.max(this.box.clientHeight,
                                this.tree.rows * ROW + 4);
        return (this.isUp ? height - (row + 1) * ROW - 2 : row * ROW + 2) -
            this.box.scrollTop;
    }

    paint() {
        const width = this.box.clientWidth, height = this.box.clientHeight;
        if (!width || !height || !this.tree) {
            return;
        }
        const { ROW } = FlameView;
        const space = Math.max(this.tree.rows * ROW + 4 - height, 0);
        if (this.spaceHeight !== space) {
            this.spaceHeight = space;
            this.space.style.height = space + 'px';
            this.toRoot = this.toRoot || this.isUp;
        }
        const context = Style.fit(this.canvas, width, height);
        if (this.toRoot) {
            this.toRoot = false;
            this.box.scrollTop = this.isUp ? space : 0;
        }
        this.colors = Style;
        context.fillStyle = this.colors.back;
        context.fillRect(0, 0, width, height);
        context.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", ' +
            'sans-serif';
        context.textBaseline = 'middle';
        this.boxes = [];
        if (!this.tree.whole) {
            context.fillStyle = this.colors.soft;
            context.fillText('No calls here.', 10, 20);
            return;
        }
        this.isSearching = Viewer.state.filter.trim() !== '';
        for (const box of this.tree.layout(this.root, width)) {
            const y = this.yOf(box.row);
            if (y > -ROW && y < height) {
                this.paintBox(context, { ...box, y });
            }
        }
    }

    isMarked(id) {
        return id === Viewer.state.function ||
            (this.isSearching && PanelKit.isFound(id));
    }

    paintBox(context, box) {
        const { ROW } = FlameView;
        const { colors } = this;
        const { node, x, y, width } = box;
        const isRoot = node === 0;
        const wide = Math.max(width - (width > 3 ? 0.7 : 0), 0.5);
        this.boxes.push(box);
        if (box.rest) {
            this.paintRest(context, x, y, width);
            return;
        }
        const id = this.tree.function[node];
        const isMarked = !isRoot && this.isMarked(id);
        const isDim = box.isAbove || (this.isSearching && !isMarked);
        context.fillStyle = isRoot ? colors.grid : Viewer.format.colorOf(id);
        context.globalAlpha = !isRoot && isDim ? 0.35 : 1;
        context.fillRect(x, y, wide, ROW - 1);
        context.globalAlpha = 1;
        const isFocus = node === this.focus &&
            document.activeElement === this.box;
        if (isMarked || isFocus) {
            context.strokeStyle = isFocus ? colors.accent : colors.mark;
            context.lineWidth = 2;
            context.strokeRect(x + 1, y + 1, Math.max(wide - 2, 0.5), ROW - 3);
        }
        if (width > FlameView.TEXT) {
            context.fillStyle = isRoot || isDim ? colors.text
                : Viewer.format.INK;
            context.fillText(this.fit(context, this.nameOf(node), width - 9),
                             x + 4, y + ROW / 2);
        }
    }

    //
    // What is too narrow to be told apart.
    //

    paintRest(context, x, y, width) {
        const { ROW } = FlameView;
        context.fillStyle = '#bbbbbb';
        context.fillRect(x, y, Math.max(width, 0.5), ROW - 1);
        context.save();
        context.beginPath();
        context.rect(x, y, width, ROW - 1);
        context.clip();
        context.strokeStyle = '#00000055';
        context.lineWidth = 1;
        context.beginPath();
        for (let at = x - ROW; at < x + width; at += 5) {
            context.moveTo(at, y + ROW);
            context.lineTo(at + ROW, y);
        }
        context.stroke();
        context.restore();
    }

    fit(context, name, width) {
        const key = Math.floor(width) + ' ' + name;
        let text = this.fits.get(key);
        if (text === undefined) {
            if (this.fits.size > 20000) {
                this.fits.clear();
            }
            text = Names.fit(name, width, each =>
                context.measureText(each).width);
            if (text.length < 5 && text !== name) {
                text = '';
            }
            this.fits.set(key, text);
        }
        return text;
    }

    hit(event) {
        const frame = this.canvas.getBoundingClientRect();
        const x = event.clientX - frame.left, y = event.clientY - frame.top;
        let best = null;
        for (const each of this.boxes) {
            if (y >= each.y && y < each.y + FlameView.ROW &&
                x >= each.x - 0.5 && x < each.x + Math.max(each.width, 1)) {
                best = each;
            }
        }
        return best;
    }

    //
    // A node in words: [[what, how much]].
    //

    facts(node) {
        const { tree } = this;
        const { format } = Viewer;
        const share = (part, whole) => whole > 0 ? format.percent(part / whole)
            : '';
        const rows = [['of all', share(tree.width[node], tree.whole)]];
        const caller = Viewer.importerOf(tree.callerOf(node));
        if (caller) {
            rows.unshift(['called by', caller]);
        }
        const parent = tree.parent[node];
        if (parent > 0) {
            rows.push(['of ' + Names.shorten(this.nameOf(parent), false)
                .slice(0, 60), share(tree.width[node], tree.width[parent])]);
        }
        rows.push(['total', format.time(tree.width[node])],
                  ['self', format.time(tree.self[node]) + ' (' +
                      share(tree.self[node], tree.width[node]) + ')'],
                  ['calls', format.count(tree.calls[node])],
                  ['average', tree.calls[node]
                      ? format.time(tree.width[node] / tree.calls[node]) :
                      '']);
        return rows;
    }

    describe({ clientX: x, clientY: y }, hit) {
        if (hit.rest) {
            Tip.show(x, y, Viewer.format.plural(hit.rest, 'function') +
                ' too narrow to tell apart', [], 'Zoom into the box ' +
                (this.isUp ? 'below' : 'above') + '.');
        } else if (hit.node === 0) {
            Tip.show(x, y, this.nameOf(0), [], '');
        } else {
            const known = Viewer.functionOf(this.tree.function[hit.node]);
            Tip.show(x, y, this.nameOf(hit.node), this.facts(hit.node),
                     PanelKit.sourceOf(known));
        }
    }

    //
    // A click: it is zoomed to, and its function stands out; what is zoomed to
    // already shows all again.
    //

    choose(node) {
        this.zoom(node === this.root && node !== 0 ? this.tree.parent[node]
            : node);
        this.focus = node;
        this.describeFocus();
        if (node > 0 && this.options.choose) {
            this.options.choose(this.tree.function[node]);
        }
    }

    listen() {
        this.canvas.addEventListener('pointermove', event => {
            const hit = this.hit(event);
            this.canvas.style.cursor = hit ? 'pointer' : 'default';
            if (hit) {
                this.describe(event, hit);
            } else {
                Tip.hide();
            }
        });
        this.canvas.addEventListener('pointerleave', () => Tip.hide());
        this.canvas.addEventListener('click', event => {
            const hit = this.hit(event);
            if (hit && !hit.rest && event.detail < 2) {
                this.choose(hit.node);
            }
        });
        this.canvas.addEventListener('dblclick', event => {
            const hit = this.hit(event);
            const { open } = this.options;
            if (hit && hit.node > 0 && !hit.rest && open) {
                open(this.tree.function[hit.node]);
            }
        });
        for (const name of ['scroll', 'focus', 'blur']) {
            this.box.addEventListener(name, () => this.draw());
        }
        this.box.addEventListener('keydown', event => {
            if (!event.ctrlKey && !event.metaKey && !event.altKey &&
                this.tree && this.press(event)) {
                event.preventDefault();
                event.stopPropagation();
            }
        });
        new ResizeObserver(() => this.draw()).observe(this.box);
    }

    //
    // Down is away from the root, whichever way the picture is drawn.
    //

    press(event) {
        const { tree } = this;
        const inward = this.isUp ? 'ArrowUp' : 'ArrowDown';
        const outward = this.isUp ? 'ArrowDown' : 'ArrowUp';
        const { key } = event;
        let { focus } = this;
        if (key === inward) {
            const below = tree.childrenOf(focus);
            focus = below.length ? below[0] : focus;
        } else if (key === outward) {
            focus = Math.max(tree.parent[focus], 0);
        } else if (key === 'ArrowLeft' || key === 'ArrowRight') {
            if (focus > 0) {
                const beside = tree.childrenOf(tree.parent[focus]);
                const at = beside.indexOf(focus) +
                    (key === 'ArrowLeft' ? -1 : 1);
                focus = beside[at] === undefined ? focus : beside[at];
            }
        } else if (key === 'Home') {
            focus = 0;
        } else if (key === 'Enter' || key === ' ') {
            if (event.shiftKey && focus > 0 && this.options.open) {
                this.options.open(tree.function[focus]);
            } else {
                this.choose(focus);
            }
            return true;
        } else if (key === 'Escape' && this.root > 0) {
            this.zoom(0);
            return true;
        } else {
            return false;
        }
        this.focus = focus;
        const y = this.yOf(tree.depth[focus]);
        if (y < 0 || y + FlameView.ROW > this.box.clientHeight) {
            this.box.scrollTop += y - this.box.clientHeight / 2;
        }
        this.describeFocus();
        this.draw();
        return true;
    }

    //
    // The node of the keyboard, for who can't see the picture.
    //

    describeFocus() {
        const { tree, item, focus } = this;
        if (!tree || !tree.count) {
            return;
        }
        const below = tree.childrenOf(focus);
        const beside = focus > 0 ? tree.childrenOf(tree.parent[focus]) : [0];
        item.setAttribute('aria-level', tree.depth[focus] + 1);
        item.setAttribute('aria-setsize', beside.length);
        item.setAttribute('aria-posinset', beside.indexOf(focus) + 1);
        item.setAttribute('aria-selected', focus === this.root);
        if (below.length) {
            item.setAttribute('aria-expanded', 'true');
        } else {
            item.removeAttribute('aria-expanded');
        }
        item.removeAttribute('aria-label');
        item.textContent = this.nameOf(focus) + (focus === 0 ? '' : ': ' +
            this.facts(focus).map(each => each.join(' ')).join(', '));
        this.box.setAttribute('aria-activedescendant', item.id);
        if (document.activeElement === this.box) {
            Viewer.say(item.textContent);
        }
    }
}
