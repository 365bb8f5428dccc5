//
// Tables as CSV (RFC 4180), as TraceReader --csv writes them: texts that a
// spreadsheet would take for a formula begin with an apostrophe.
//

const Csv = (() => {
    const FORMULA = /^ *[=+\-@'"\uff1d\uff0b\uff0d\uff20]/;

    const cell = value => {
        if (value === null || value === undefined) {
            return '';
        }
        if (typeof value === 'number') {
            return String(value);
        }
        const text = String(value).replace(/[\u0000-\u001f\u007f-\u009f]/g,
                                           '?');
        const guarded = text.split(';').map(part =>
            FORMULA.test(part) ? '\'' + part : part).join(';');
        return /[",;]/.test(guarded) || guarded !== text
            ? '"' + guarded.replace(/"/g, '""') + '"' : guarded;
    };

    //
    // heads: the columns' names; rows: arrays of values, numbers and texts.
    //

    const write = (heads, rows) => [heads, ...rows].map(row =>
        row.map(cell).join(',') + '\r\n').join('');

    return { cell, write };
})();
