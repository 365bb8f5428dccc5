//
// The tooltip: a title, rows of a name and a text, and a line below.
//

const Tip = {
    show(x, y, title, rows, line) {
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
            row.insertCell().textContent = text;
        }
        box.replaceChildren(heading, table);
        if (line) {
            const below = document.createElement('em');
            below.textContent = line;
            box.append(below);
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
