//
// The table of functions.  Rows are made for what is in sight.
//

const LINE = 22;

class Table {
    constructor() {
        this.box = $('table');
        this.body = $('tableBody');
        this.head = $('tableHead');
        this.key = HAS_TIMES ? 'total' : 'calls';
        this.isAscending = false;
        this.current = 0;           // the row of the keyboard
        const has = field => numbers[field].some(value => value);
        this.columns = [
            ['name', 'Function', 'minmax(140px, 1fr)'],
            ['module', 'Module', 12 + 7 * Math.min(20, about.modules.reduce(
                (most, each) => Math.max(most, each[0].length), 6)) + 'px'],
            ...(imports.length ? [['caller', 'Called by', '130px']] : []),
            ['calls', 'Calls', '60px'],
            ...(HAS_TIMES ? [['total', 'Total', '69px'],
                             ['self', 'Self', '69px'],
                             ['average', 'Average', '69px'],
                             ['min', 'Min', '69px'],
                             ['max', 'Max', '69px']] : []),
            ...(has('abandoned') ? [['abandoned', 'Abandoned', '82px']] : []),
            ...(has('abandoned') && HAS_TIMES
                ? [['abandonedTime', 'Abandoned time', '116px']] : []),
            ...(has('unfinished') ? [['unfinished', 'Unfinished', '92px']]
                : []),
            ...(has('uncertain') ? [['uncertain', 'Uncertain', '92px']] : []),
            ...(has('begunBefore')
                ? [['begunBefore', 'Begun before', '100px']] : []),
            ...(files.length ? [['source', 'Source', '130px']] : [])
        ];
        const digits = field => 14 + 7 * count(numbers[field].reduce(
            (most, value) => Math.max(most, value), 0)).length;
        this.template = this.columns.map(([field, , width]) =>
            FIELDS.includes(field) && !Table.isTime(field)
                ? Math.max(parseInt(width, 10), digits(field)) + 'px' : width)
            .join(' ');
        this.box.style.setProperty('--wide', this.template.match(/\d+(?=px)/g)
            .reduce((sum, width) => sum + Number(width), 16) + 'px');
        this.makeHead();
        this.arrange();
        this.listen();
    }

    static isTime(field) {
        return ['total', 'self', 'average', 'min', 'max', 'abandonedTime']
            .includes(field);
    }

    makeHead() {
        this.head.style.gridTemplateColumns = this.template;
        this.head.replaceChildren(...this.columns.map(([field, title]) => {
            const cell = document.createElement('div');
            cell.setAttribute('role', 'columnheader');
            cell.className = Table.isText(field) ? 'text' : '';
            const button = document.createElement('button');
            button.type = 'button';
            button.dataset.field = field;
            button.addEventListener('click', () => this.sort(field));
            cell.append(button);
            button.textContent = title;
            return cell;
        }));
        this.box.setAttribute('aria-colcount', this.columns.length);
    }

    static isText(field) {
        return ['name', 'module', 'caller', 'source'].includes(field);
    }

    sort(field) {
        const isText = Table.isText(field);
        this.isAscending = this.key === field ? !this.isAscending : isText;
        this.key = field;
        this.arrange();
    }

    arrange() {
        const words = $('filter').value.toLowerCase().split(/\s+/)
            .filter(word => word);
        const order = [];
        for (let i = 0; i < FUNCTIONS; i++) {
            const text = words.length
                ? (functionName(i) + ' ' + moduleName(i)).toLowerCase() : '';
            if (words.every(word => text.includes(word))) {
                order.push(i);
            }
        }
        const sign = this.isAscending ? 1 : -1;
        if (Table.isText(this.key)) {
            const text = { name: functionName, module: moduleName,
                           caller: callersOf,
                           source: index => sourceOf(index)[0] }[this.key];
            const texts = new Map(order.map(i => [i, text(i)]));
            order.sort((a, b) => {
                const first = texts.get(a), second = texts.get(b);
                return first < second ? -sign : first > second ? sign : a - b;
            });
        } else {
            const values = numbers[this.key];
            order.sort((a, b) => sign * (values[a] - values[b]) || a - b);
        }
        this.order = order;
        this.place = new Int32Array(FUNCTIONS).fill(-1);
        order.forEach((index, place) => {
            this.place[index] = place;
        });
        this.current = Math.min(this.current, Math.max(order.length - 1, 0));
        $('tableSpace').style.height = order.length * LINE + 'px';
        $('filtered').textContent = words.length
            ? count(order.length) + ' of ' + count(FUNCTIONS)
            : plural(FUNCTIONS, 'function');
        this.box.setAttribute('aria-rowcount', order.length + 1);
        for (const cell of this.head.children) {
            const button = cell.firstChild;
            const isKey = button.dataset.field === this.key;
            const title = this.columns.find(
                each => each[0] === button.dataset.field)[1];
            button.textContent = title +
                (isKey ? this.isAscending ? ' \u25b2' : ' \u25bc' : '');
            cell.setAttribute('aria-sort', !isKey ? 'none'
                : this.isAscending ? 'ascending' : 'descending');
        }
        this.draw();
    }

    cell(field, index) {
        if (field === 'name') {
            return [functionName(index), functionName(index)];
        }
        if (field === 'module') {
            return [moduleName(index), names[index][0] < about.modules.length
                ? about.modules[names[index][0]][1] : ''];
        }
        if (field === 'caller') {
            return [callersOf(index), callersOf(index)];
        }
        if (field === 'source') {
            return sourceOf(index);
        }
        const value = numbers[field][index];
        return Table.isTime(field) ? [time(value), exact(value)]
            : [count(value), ''];
    }

    draw() {
        const top = this.body.scrollTop;
        const first = Math.max(Math.floor(top / LINE) - 4, 0);
        const last = Math.min(first + Math.ceil(this.body.clientHeight /
            LINE) + 9, this.order.length);
        const rows = [];
        for (let place = first; place < last; place++) {
            rows.push(this.makeRow(place));
        }
        for (const row of this.body.querySelectorAll('.row')) {
            row.remove();
        }
        this.body.append(...rows);
        if (this.order.length) {
            this.box.setAttribute('aria-activedescendant',
                                  'row' + this.order[this.current]);
        }
    }

    makeRow(place) {
        const index = this.order[place];
        const row = document.createElement('div');
        row.className = 'row' +
            (place === this.current && this.isFocused() ? ' current' : '') +
            (state.matches && state.matches[index] ? ' matching' : '');
        row.id = 'row' + index;
        row.style.top = place * LINE + 'px';
        row.style.gridTemplateColumns = this.template;
        row.setAttribute('role', 'row');
        row.setAttribute('aria-rowindex', place + 2);
        row.setAttribute('aria-selected', index === state.selected);
        for (const [field] of this.columns) {
            const cell = document.createElement('div');
            const [text, title] = this.cell(field, index);
            cell.setAttribute('role', field === 'name' ? 'rowheader'
                : 'gridcell');
            cell.className = Table.isText(field) ? 'text' : '';
            cell.textContent = text;
            if (title) {
                cell.title = title;
            }
            row.append(cell);
        }
        row.addEventListener('click', () => {
            this.current = place;
            select(index === state.selected ? -1 : index);
        });
        return row;
    }

    isFocused() {
        return document.activeElement === this.box;
    }

    reveal(index) {
        const place = this.place[index];
        if (place < 0) {
            return;
        }
        this.current = place;
        const top = place * LINE;
        if (top < this.body.scrollTop ||
            top + LINE > this.body.scrollTop + this.body.clientHeight) {
            this.body.scrollTop = top - this.body.clientHeight / 2;
        }
    }

    listen() {
        this.body.addEventListener('scroll', () => this.draw());
        this.box.addEventListener('focus', () => this.draw());
        this.box.addEventListener('blur', () => this.draw());
        $('filter').addEventListener('input', () => {
            this.body.scrollTop = 0;
            this.arrange();
        });
        state.changed.add(what => {
            if (what === 'selection' && state.selected >= 0) {
                this.reveal(state.selected);
            }
            this.draw();
        });
        new ResizeObserver(() => this.draw()).observe(this.body);
    }

    press(key) {
        const page = Math.max(Math.floor(this.body.clientHeight / LINE) - 1,
                              1);
        const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page,
                        PageDown: page, Home: -1e9, End: 1e9 };
        if (!this.order.length) {
            return false;
        }
        if (key in steps) {
            const place = Math.min(Math.max(this.current + steps[key], 0),
                                   this.order.length - 1);
            this.reveal(this.order[place]);
            this.draw();
            return true;
        }
        if (key === 'Enter' || key === ' ') {
            const index = this.order[this.current];
            select(index === state.selected ? -1 : index);
            return true;
        }
        return false;
    }
}
