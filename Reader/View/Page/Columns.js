//
// What somebody has made of a table's columns: which are hidden, how wide they
// are, by which the rows are sorted.  It is kept in the browser, and a link
// has it: as a text such as "self-.name_300.!module" (sorted by self, the
// largest first; name is 300 pixels wide; module is hidden).
//

class Columns {
    static LEAST = 36;              // pixels of a column
    static MOST = 4000;

    //
    // columns: [{id, width, isHidden, isText, isAbsent()}], isAbsent: whether
    // the session has nothing for it; key: by which the rows are sorted at
    // first; isAscending: how; changed(what): is called after each change of
    // the 'order', a 'width', the 'columns'.
    //

    constructor(columns, key, changed = () => {}, isAscending = null) {
        this.columns = columns;
        this.firstKey = key;
        this.firstWay = isAscending ?? this.isText(key);
        this.changed = changed;
        this.reset();
    }

    reset() {
        this.widths = new Map();
        this.hidden = new Set(this.columns.filter(each => each.isHidden)
            .map(each => each.id));
        this.key = this.firstKey;
        this.isAscending = this.firstWay;
    }

    of(id) {
        return this.columns.find(each => each.id === id);
    }

    isText(id) {
        const column = this.of(id);
        return Boolean(column && column.isText);
    }

    get shown() {
        return this.columns.filter(each => !this.hidden.has(each.id) &&
            !(each.isAbsent && each.isAbsent()));
    }

    widthOf(id) {
        return this.widths.get(id) || this.of(id).width;
    }

    //
    // A click on a head: the other way round, or by this column, texts from A
    // on and numbers the largest first.
    //

    sort(id) {
        this.isAscending = this.key === id ? !this.isAscending
            : this.isText(id);
        this.key = id;
        this.changed('order');
    }

    size(id, width) {
        const limited = Math.min(Math.max(Math.round(width), Columns.LEAST),
                                 Columns.MOST);
        this.widths.set(id, limited);
        this.changed('width');
    }

    //
    // Hides or shows a column.  The last one stays; rows are not sorted by one
    // that is hidden.
    //

    hide(id, isHidden) {
        if (isHidden && this.shown.length > 1) {
            this.hidden.add(id);
            if (this.key === id) {
                this.key = this.hidden.has(this.firstKey) ? this.shown[0].id
                    : this.firstKey;
                this.isAscending = this.key === this.firstKey ? this.firstWay
                    : this.isText(this.key);
            }
        } else if (!isHidden) {
            this.hidden.delete(id);
        }
        this.changed('columns');
    }

    //
    // Only what is not as it was at first.
    //

    write() {
        const parts = [];
        if (this.key !== this.firstKey ||
            this.isAscending !== this.firstWay) {
            parts.push(this.key + (this.isAscending ? '+' : '-'));
        }
        for (const column of this.columns) {
            const isHidden = this.hidden.has(column.id);
            if (isHidden !== Boolean(column.isHidden)) {
                parts.push((isHidden ? '!' : '*') + column.id);
            }
            if (this.widths.has(column.id)) {
                parts.push(column.id + '_' + this.widths.get(column.id));
            }
        }
        return parts.join('.');
    }

    //
    // What nobody has written, or another version has, is left out.
    //

    read(text) {
        this.reset();
        for (const part of String(text || '').split('.')) {
            const sorted = /^(\w+?)([+-])$/.exec(part);
            const hidden = /^([!*])(\w+)$/.exec(part);
            const sized = /^(\w+)_(\d{1,5})$/.exec(part);
            if (sorted && this.of(sorted[1])) {
                this.key = sorted[1];
                this.isAscending = sorted[2] === '+';
            } else if (hidden && this.of(hidden[2])) {
                if (hidden[1] === '!') {
                    this.hidden.add(hidden[2]);
                } else {
                    this.hidden.delete(hidden[2]);
                }
            } else if (sized && this.of(sized[1])) {
                this.widths.set(sized[1], Math.min(Math.max(Number(sized[2]),
                    Columns.LEAST), Columns.MOST));
            }
        }
        if (this.shown.length === 0) {
            this.hidden.delete(this.columns[0].id);
        }
    }
}

//
// Where rows are while a table is scrolled.  Browsers cut elements that are
// too high; a table of more rows is scrolled in proportion.
//

class RowScroll {
    static HIGHEST = 8000000;       // pixels; Firefox has twice as many

    constructor(rows, height, view) {
        this.rows = rows;
        this.height = height;       // of a row
        this.view = Math.max(view, height);
        this.space = Math.min(rows * height, RowScroll.HIGHEST);
    }

    //
    // The row, with a fraction, that is at the top.
    //

    topOf(scroll) {
        const most = this.space - this.view;
        if (this.space === this.rows * this.height || most <= 0) {
            return scroll / this.height;
        }
        const last = this.rows - this.view / this.height;
        return Math.min(Math.max(scroll / most, 0), 1) * last;
    }

    scrollOf(top) {
        if (this.space === this.rows * this.height) {
            return top * this.height;
        }
        const last = this.rows - this.view / this.height;
        return Math.min(Math.max(top / last, 0), 1) *
            (this.space - this.view);
    }

    //
    // The rows that are made, with some around, and where the first one is.
    //

    rangeOf(scroll, around = 4) {
        const top = this.topOf(scroll);
        const first = Math.max(Math.floor(top) - around, 0);
        const last = Math.min(Math.ceil(top + this.view / this.height) +
            around, this.rows);
        return { first, last: Math.max(first, last),
                 offset: scroll + (first - top) * this.height };
    }

    //
    // Where to scroll so that a row is in sight; scroll, if it is.
    //

    reveal(row, scroll) {
        const top = this.topOf(scroll);
        const seen = this.view / this.height;
        if (row < top) {
            return this.scrollOf(row);
        }
        if (row + 1 > top + seen) {
            return this.scrollOf(row + 1 - seen);
        }
        return scroll;
    }
}
