//
// Texts on the canvas, as much of them as fits.  A name is measured once, and
// each of its shortened forms is made once.
//

const Texts = {
    names: [],
    loose: new Map(),
    kept: 0,

    clear() {
        this.names = [];
        this.loose.clear();
        this.kept = 0;
    },

    measured(context, text) {
        return { text, width: context.measureText(text).width, cuts: [] };
    },

    //
    // The form of a measured text that fits into a width; empty if none does.
    //

    cut(measured, width) {
        if (measured.width <= width) {
            return measured.text;
        }
        const letters = Math.floor(measured.text.length * (width - 6) /
            measured.width);
        if (letters < 6) {
            return '';
        }
        let cut = measured.cuts[letters];
        if (cut === undefined) {
            if (++this.kept > 100000) {
                this.clear();
            }
            cut = Format.shorten(measured.text, letters);
            measured.cuts[letters] = cut;
        }
        return cut;
    },

    //
    // A function's name whole, without what its templates are made of, without
    // its parameters: the first of these that fits, or a part of the last.
    //

    ofFunction(context, id, width) {
        let forms = this.names[id];
        if (forms === undefined) {
            const known = Viewer.functionOf(id);
            if (known === undefined) {
                return '';
            }
            const texts = [known.name, Names.shorten(known.name, true),
                           Names.shorten(known.name, false)];
            forms = texts.filter((text, i) => text &&
                texts.indexOf(text) === i).map(
                text => this.measured(context, text));
            this.names[id] = forms;
        }
        const last = forms.length - 1;
        for (let i = 0; i < last; i++) {
            if (forms[i].width <= width) {
                return forms[i].text;
            }
        }
        return this.cut(forms[last], width);
    },

    of(context, text, width) {
        let measured = this.loose.get(text);
        if (measured === undefined) {
            if (this.loose.size > 20000) {
                this.loose.clear();
            }
            measured = this.measured(context, text);
            this.loose.set(text, measured);
        }
        return this.cut(measured, width);
    },

    widthOf(context, text) {
        this.of(context, text, Infinity);
        return this.loose.get(text).width;
    }
};
