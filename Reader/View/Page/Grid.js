//
// A table of any number of rows, of which those in sight are made.
//
// The caller gives columns and rows:
//
//     id, title, help     the head, and what it says about itself
//     width               pixels at first; isWide: takes what is left
//     isText, isName      left-aligned; shortened in the middle
//     isHidden            at first
//     value(row)          what is sorted by, and copied as CSV
//     text(row)           what is shown; value otherwise
//     tip(row)            when the pointer rests on it
//     share(row)          0 to 1: a bar behind the text
//
// A table is one stop of the Tab key, and its head another.
//

class Grid {
    static ROW = 22;
    static PRINTED = 1000;          // rows

    //
    // id: unique in the page; label: the table's name; none: what is said
    // without rows, a text or what gives one; keyOf(row): what stays
    // the same when rows are new; choose(row): a click, Enter; open(row): a
    // double click, Shift and Enter; isChosen(row); press(event, row): a key.
    //

    constructor(element, options) {
        this.options = options;
        this.rows = [];
        this.order = [];
        this.current = 0;
        this.pool = [];
        this.words = [];
        this.isDue = false;
        this.isPrinting = false;
        this.isFilled = false;      // rows were set
        this.version = 0;
        this.fits = new Map();
        this.columns = new Columns(options.columns, options.key, what => {
            this.keepColumns();
            if (what === 'order') {
                this.arrange();
            } else if (what === 'columns') {
                this.makeHead();
            } else {
                this.layout();
                this.draw();
            }
        }, options.isAscending);
        this.build(element);
        this.restoreColumns();
        this.listen();
        this.makeHead();
    }

    static make(tag, name, role) {
        const element = document.createElement(tag);
        element.className = name;
        if (role) {
            element.setAttribute('role', role);
        }
        return element;
    }

    build(element) {
        const { id, label, isTree } = this.options;
        this.box = Grid.make('div', 'grid', isTree ? 'treegrid' : 'grid');
        this.box.id = id;
        this.box.tabIndex = 0;
        this.box.setAttribute('aria-label', label);
        this.head = Grid.make('div', 'gridHead', 'row');
        this.head.setAttribute('aria-rowindex', 1);
        this.body = Grid.make('div', 'gridBody', 'rowgroup');
        this.empty = Grid.make('p', 'gridEmpty');
        this.empty.hidden = true;
        const heads = Grid.make('div', 'gridHeads', 'rowgroup');
        heads.append(this.head);
        this.box.append(heads, this.body, this.empty);
        element.append(this.box);
        this.ruler = document.createElement('canvas').getContext('2d');
        this.widen();
    }

    //
    // A column has room for its title and the sign of sorting.
    //

    widen() {
        this.ruler.font = '600 12px ' +
            getComputedStyle(document.body).fontFamily;
        for (const column of this.columns.columns) {
            column.width = Math.max(column.width, Math.ceil(
                this.ruler.measureText(column.title + ' \u25bc').width) + 12);
        }
        this.ruler.font = this.ruler.font.replace('600 ', '');
    }

    //
    // Columns.
    //

    keepColumns() {
        PanelKit.keep('columns.' + this.options.id, this.columns.write());
        Viewer.tell({ panelState: true });
    }

    restoreColumns() {
        this.columns.read(PanelKit.kept('columns.' + this.options.id));
    }

    //
    // What a link has; that is not kept.
    //

    readColumns(text) {
        this.columns.read(text);
        this.makeHead();
    }

    resetColumns() {
        this.columns.reset();
        this.keepColumns();
        this.makeHead();
    }

    makeHead() {
        const shown = this.columns.shown;
        this.headed = shown.length;
        this.head.replaceChildren(...shown.map((column, index) => {
            const cell = Grid.make('div', column.isText ? 'isText' : '',
                                   'columnheader');
            cell.setAttribute('aria-colindex', index + 1);
            cell.dataset.id = column.id;
            const button = document.createElement('button');
            button.type = 'button';
            button.textContent = column.title;
            button.title = (column.help ? column.help + '\n' : '') +
                'Click: sort. Shift and arrows: width. Delete: hide.';
            button.tabIndex = index === 0 ? 0 : -1;
            button.addEventListener('click', () =>
                this.columns.sort(column.id));
            const sizer = Grid.make('span', 'gridSizer');
            sizer.title = 'Width; double click: as at first';
            sizer.addEventListener('pointerdown', event =>
                this.beginSizing(event, column, cell, sizer));
            sizer.addEventListener('dblclick', () => {
                this.columns.widths.delete(column.id);
                this.columns.changed('width');
            });
            cell.append(button, sizer);
            return cell;
        }));
        this.box.setAttribute('aria-colcount', shown.length);
        this.pool = [];
        this.body.replaceChildren();
        this.arrange();
    }

    beginSizing(event, column, cell, sizer) {
        const from = event.clientX, width = cell.offsetWidth;
        sizer.setPointerCapture(event.pointerId);
        event.preventDefault();
        const move = each => this.columns.size(column.id,
                                               width + each.clientX - from);
        const end = () => {
            sizer.removeEventListener('pointermove', move);
            sizer.removeEventListener('lostpointercapture', end);
        };
        sizer.addEventListener('pointermove', move);
        sizer.addEventListener('lostpointercapture', end);
    }

    pressHead(event) {
        const cells = [...this.head.children];
        const at = cells.findIndex(each => each.contains(event.target));
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) {
            return false;
        }
        const { id } = cells[at].dataset;
        if (by && event.shiftKey) {
            this.columns.size(id, cells[at].offsetWidth + 16 * by);
        } else if (by || event.key === 'Home' || event.key === 'End') {
            const next = event.key === 'Home' ? 0 : event.key === 'End'
                ? cells.length - 1
                : Math.min(Math.max(at + by, 0), cells.length - 1);
            this.focusHead(next);
        } else if (event.key === 'Delete') {
            this.columns.hide(id, true);
            this.focusHead(Math.min(at, this.head.children.length - 1));
        } else if (event.key === 'ArrowDown') {
            this.box.focus();
        } else {
            return false;
        }
        return true;
    }

    focusHead(index) {
        [...this.head.children].forEach((cell, i) => {
            cell.firstChild.tabIndex = i === index ? 0 : -1;
        });
        const cell = this.head.children[index];
        cell.firstChild.focus();
        cell.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }

    //
    // Checkboxes for the columns, for a menu.
    //

    columnChoices() {
        return this.columns.columns.map(column => {
            const label = document.createElement('label');
            const box = document.createElement('input');
            box.type = 'checkbox';
            box.checked = !this.columns.hidden.has(column.id);
            box.addEventListener('change', () => {
                this.columns.hide(column.id, !box.checked);
                box.checked = !this.columns.hidden.has(column.id);
            });
            label.append(box, ' ' + column.title);
            if (column.help) {
                label.title = column.help;
            }
            return label;
        });
    }

    //
    // Rows.
    //

    setRows(rows) {
        this.isFilled = true;
        if (this.columns.shown.length !== this.headed) {
            this.makeHead();        // there is more to be said now
        }
        const { keyOf } = this.options;
        const row = this.order[this.current];
        const key = row !== undefined && keyOf ? keyOf(row) : null;
        this.rows = rows;
        this.arrange();
        if (key !== null) {
            const at = this.order.findIndex(each => keyOf(each) === key);
            this.current = Math.max(at, 0);
        }
    }

    filter(text) {
        this.words = text.toLowerCase().split(/\s+/).filter(word => word);
        this.box.scrollTop = 0;
        this.current = 0;
        this.arrange();
    }

    //
    // The rows that are shown, in order.
    //

    arrange() {
        const { key, isAscending } = this.columns;
        const { textOf, isTree, keepsOrder } = this.options;
        const { words } = this;
        let order = this.rows;
        if (words.length && textOf) {
            order = order.filter(row => {
                const text = textOf(row).toLowerCase();
                return words.every(word => text.includes(word));
            });
        }
        const column = this.columns.of(key);
        if (column && !isTree && !keepsOrder) {
            order = Grid.sort(order, column, isAscending);
        }
        this.order = order;
        this.current = Math.min(this.current, Math.max(order.length - 1, 0));
        this.box.setAttribute('aria-rowcount', order.length + 1);
        this.empty.hidden = order.length > 0;
        const { none } = this.options;
        this.empty.textContent = this.rows.length
            ? 'Nothing has this in its name.' : !this.isFilled
                ? 'Adding up \u2026'
                : typeof none === 'function' ? none() : none;
        this.showSorting();
        this.layout();
        this.draw();
        if (this.options.arranged) {
            this.options.arranged(order.length, this.rows.length);
        }
    }

    //
    // What has no value comes last either way; what is equal stays in order.
    //

    static sort(rows, column, isAscending) {
        const values = rows.map(row => column.value(row));
        const indexes = Array.from(rows, (row, index) => index);
        const sign = isAscending ? 1 : -1;
        const isNone = values.map(value => value === null ||
            value === undefined || value === '');
        indexes.sort((one, other) => {
            const a = values[one], b = values[other];
            if (isNone[one] || isNone[other]) {
                return isNone[one] - isNone[other] || one - other;
            }
            return a < b ? -sign : a > b ? sign : one - other;
        });
        return indexes.map(index => rows[index]);
    }

    showSorting() {
        const { key, isAscending } = this.columns;
        for (const cell of this.head.children) {
            const column = this.columns.of(cell.dataset.id);
            const isKey = column.id === key && !this.options.keepsOrder &&
                !this.options.isTree;
            cell.setAttribute('aria-sort', !isKey ? 'none' : isAscending
                ? 'ascending' : 'descending');
            cell.firstChild.textContent = column.title + (!isKey ? ''
                : isAscending ? ' \u25b2' : ' \u25bc');
        }
    }

    layout() {
        let wide = 0;
        const template = this.columns.shown.map(column => {
            const width = this.columns.widthOf(column.id);
            wide += width;
            return column.isWide && !this.columns.widths.has(column.id)
                ? 'minmax(' + width + 'px, 1fr)' : width + 'px';
        }).join(' ');
        this.box.style.setProperty('--columns', template);
        this.box.style.setProperty('--wide', wide + 'px');
    }

    //
    // Fills all rows again; scrolling only those that come into sight.
    //

    draw() {
        this.version++;
        this.schedule();
    }

    schedule() {
        if (!this.isDue) {
            this.isDue = true;
            requestAnimationFrame(() => {
                this.isDue = false;
                this.paint();
            });
        }
    }

    get scroll() {
        return new RowScroll(this.order.length, Grid.ROW,
                             this.box.clientHeight - this.head.offsetHeight);
    }

    paint() {
        const scroll = this.scroll;
        const widths = [...this.head.children].map(each => each.clientWidth);
        let { first, last, offset } = scroll.rangeOf(this.box.scrollTop);
        if (this.isPrinting) {
            first = offset = 0;
            last = Math.min(this.order.length, Grid.PRINTED);
        }
        this.body.style.height = this.isPrinting ? last * Grid.ROW + 'px'
            : scroll.space + 'px';
        while (this.pool.length < last - first) {
            this.pool.push(this.makeRow());
            this.version++;
        }

        //
        // A row stays in its element as long as it is in sight.
        //

        const isFocused = document.activeElement === this.box;
        const { length } = this.pool;
        this.pool.forEach((row, i) => {
            const place = first + (i - first % length + length) % length;
            if (row.element.hidden !== place >= last) {
                row.element.hidden = place >= last;
            }
            if (place < last) {
                const top = offset + (place - first) * Grid.ROW;
                if (row.top !== top) {
                    row.top = top;
                    row.element.style.transform = 'translateY(' + top + 'px)';
                }
                if (row.place !== place || row.version !== this.version) {
                    row.version = this.version;
                    this.fillRow(row, place, widths, isFocused);
                }
            }
        });
        if (this.order.length && this.current >= first &&
            this.current < last) {
            this.box.setAttribute('aria-activedescendant',
                                  this.options.id + '-' + this.current);
        } else {
            this.box.removeAttribute('aria-activedescendant');
        }
    }

    makeRow() {
        const element = Grid.make('div', 'gridRow', 'row');
        const cells = this.columns.shown.map((column, index) => {
            const cell = Grid.make('div', column.isText ? 'isText' : '',
                                   index === 0 ? 'rowheader' : 'gridcell');
            cell.setAttribute('aria-colindex', index + 1);
            element.append(cell);
            return cell;
        });
        const row = { element, cells, place: -1 };
        element.addEventListener('click', event => {
            this.current = row.place;
            this.act('choose', event);
        });
        element.addEventListener('dblclick', event => this.act('open', event));
        element.addEventListener('pointerover', event =>
            this.setTip(cells.indexOf(event.target), row));
        this.body.append(element);
        return row;
    }

    fillRow(row, place, widths, isFocused) {
        const { element, cells } = row;
        const data = this.order[place];
        const { options } = this;
        const isChosen = Boolean(options.isChosen && options.isChosen(data));
        row.place = place;
        element.id = options.id + '-' + place;
        element.setAttribute('aria-rowindex', place + 2);
        element.setAttribute('aria-selected', isChosen);
        element.className = 'gridRow' + (place % 2 ? ' isOdd' : '') +
            (place === this.current && isFocused ? ' isCurrent' : '') +
            (options.classOf ? ' ' + options.classOf(data) : '');
        if (options.isTree) {
            const { level, isOpen, count, position } = options.nodeOf(data);
            element.setAttribute('aria-level', level);
            element.setAttribute('aria-setsize', count);
            element.setAttribute('aria-posinset', position);
            if (isOpen === null) {
                element.removeAttribute('aria-expanded');
            } else {
                element.setAttribute('aria-expanded', isOpen);
            }
        }
        this.columns.shown.forEach((column, index) =>
            this.fillCell(cells[index], column, data, widths[index]));
    }

    //
    // What a cell says when the pointer rests on it: more than there is room
    // for.
    //

    setTip(index, row) {
        const column = this.columns.shown[index];
        const data = this.order[row.place];
        if (column && data !== undefined) {
            const value = column.text ? column.text(data)
                : column.value(data);
            row.cells[index].title = column.tip ? column.tip(data)
                : String(value ?? '') === row.cells[index].textContent ? ''
                    : value ?? '';
        }
    }

    fit(text, width) {
        const key = width + ' ' + text;
        let shown = this.fits.get(key);
        if (shown === undefined) {
            if (this.fits.size > 5000) {
                this.fits.clear();
            }
            shown = Names.fit(text, width, each =>
                this.ruler.measureText(each).width);
            this.fits.set(key, shown);
        }
        return shown;
    }

    fillCell(cell, column, data, width) {
        const value = column.text ? column.text(data) : column.value(data);
        const text = value === null || value === undefined ? ''
            : String(value);
        const indent = column.indent ? column.indent(data) : 0;
        let shown = text;
        if (column.isName) {
            shown = this.fit(text, width - 10 - indent);
        }
        if (cell.shown !== shown) {
            cell.textContent = cell.shown = shown;
        }
        if (column.indent) {
            cell.style.paddingLeft = 5 + indent + 'px';
        }
        if (column.share) {
            const share = column.share(data);
            if (cell.share !== share) {
                cell.share = share;
                cell.classList.toggle('isBar', share !== null);
                cell.style.setProperty('--share', 100 *
                    Math.min(Math.max(share || 0, 0), 1) + '%');
            }
        }
    }

    //
    // What is done with the row of the keyboard.
    //

    get row() {
        return this.order[this.current];
    }

    act(name, event) {
        const { row } = this;
        if (row !== undefined && this.options[name]) {
            this.options[name](row, event);
        }
        this.draw();
    }

    goTo(place) {
        this.current = Math.min(Math.max(place, 0), this.order.length - 1);
        const scroll = this.scroll;
        this.box.scrollTop = scroll.reveal(this.current, this.box.scrollTop);
        this.draw();
    }

    reveal(isWanted) {
        const place = this.order.findIndex(isWanted);
        if (place >= 0) {
            this.goTo(place);
        }
        return place >= 0;
    }

    press(event) {
        const { key } = event;
        if (this.order.length && this.options.press &&
            this.options.press(event, this.row)) {
            return true;
        }
        if (event.ctrlKey || event.metaKey || event.altKey) {
            if (key.toLowerCase() === 'c' && !event.altKey && this.row &&
                String(getSelection()) === '') {
                Viewer.copy(this.csv([this.row]), 'the row');
                return true;
            }
            return false;
        }
        const page = Math.max(Math.floor(this.scroll.view / Grid.ROW) - 1, 1);
        const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page,
                        PageDown: page, Home: -Infinity, End: Infinity };
        if (!this.order.length) {
            return false;
        }
        if (key === 'ArrowUp' && this.current === 0) {
            this.focusHead([...this.head.children].findIndex(
                cell => cell.firstChild.tabIndex === 0));
        } else if (key in steps) {
            this.goTo(this.current + steps[key]);
        } else if (key === 'ArrowLeft' || key === 'ArrowRight') {
            this.box.scrollLeft += key === 'ArrowLeft' ? -60 : 60;
        } else if (key === 'Enter' || key === ' ') {
            this.act(event.shiftKey ? 'open' : 'choose', event);
        } else {
            return false;
        }
        return true;
    }

    listen() {
        this.box.addEventListener('scroll', () => this.schedule());
        this.box.addEventListener('focus', () => this.draw());
        this.box.addEventListener('blur', () => this.draw());
        this.box.addEventListener('keydown', event => {
            const isDone = event.target === this.box ? this.press(event)
                : this.pressHead(event);
            if (isDone) {
                event.preventDefault();
                event.stopPropagation();
            }
        });
        new ResizeObserver(() => this.draw()).observe(this.box);
        const print = isPrinting => () => {
            this.isPrinting = isPrinting;
            if (this.box.offsetParent !== null) {
                this.paint();
            }
        };
        window.addEventListener('beforeprint', print(true));
        window.addEventListener('afterprint', print(false));
    }

    //
    // All that is shown, as CSV: whole numbers, not what is rounded for the
    // screen.
    //

    csv(rows = this.order) {
        const columns = this.columns.shown;
        return Csv.write(columns.map(each => each.csv || each.id),
                         rows.map(row => columns.map(each =>
                             (each.exact || each.value)(row))));
    }
}
