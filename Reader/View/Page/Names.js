//
// Names of functions: short ones, such as TraceReader shows on a terminal,
// ones that fit a width, and the search for what somebody types.
//
// A name may be anything: brackets are counted, not parsed, and what does not
// come out even is left as it is.  The rules are those of
// Reader/Functions/FunctionShorten.c, so that a name looks the same in both.
//

const Names = (() => {
    const SIGNS = ['()', '[]', '->*', '->', '<=>', '<<=', '>>=', '<<', '>>',
                   '<=', '>=', '<', '>'];
    const QUALIFIERS = [' const', ' volatile', ' noexcept', ' &&', ' &',
                        'const', 'volatile'];
    const STRINGS = [['char8_t', 'std::u8string'],
                     ['char16_t', 'std::u16string'],
                     ['char32_t', 'std::u32string'],
                     ['wchar_t', 'std::wstring'], ['char', 'std::string']];

    const isIdentifier = letter => (letter >= 'a' && letter <= 'z') ||
        (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
        letter === '_' || letter === '$' || letter >= '\x80';

    //
    // Where the name begins behind its return type; 0: there is none.
    //

    const skipReturnType = name => {
        let start = 0, depth = 0, quotes = 0;
        for (let i = 0; i < name.length; i++) {
            switch (name[i]) {
            case '(':
                if (depth === 0 && !name.startsWith('(anonymous ', i) &&
                    !name.endsWith('decltype', i)) {
                    return start;
                }
                depth++;
                break;
            case '`':
                quotes++;
                depth++;
                break;
            case '\'':
                if (quotes) {
                    quotes--;
                    depth = Math.max(depth - 1, 0);
                }
                break;
            case '<': case '[': case '{':
                depth++;
                break;
            case '>':
                if (name[i - 1] === '-') {
                    break;
                }
                depth = Math.max(depth - 1, 0);
                break;
            case ')': case ']': case '}':
                depth = Math.max(depth - 1, 0);
                break;
            case ' ':
                if (depth === 0) {
                    start = i + 1;
                }
                break;
            case 'o':
                if (depth === 0 && name.startsWith('operator', i) &&
                    (i === 0 || name[i - 1] === ':' || name[i - 1] === ' ')) {
                    return start;
                }
                break;
            }
        }
        return 0;
    };

    //
    // Behind an operator's sign, or index: there is no operator.
    //

    const skipOperator = (name, index) => {
        const end = index + 8;
        if (!name.startsWith('operator', index) ||
            isIdentifier(name[index - 1]) || isIdentifier(name[end])) {
            return index;
        }
        const sign = SIGNS.find(each => name.startsWith(each, end));
        return sign ? end + sign.length : end;
    };

    const step = walk => {
        const { name, index } = walk;
        switch (name[index]) {
        case '`':
            walk.quotes++;
            walk.depth++;
            break;
        case '\'':
            if (walk.quotes) {
                walk.quotes--;
                walk.depth = Math.max(walk.depth - 1, 0);
            }
            break;
        case '(': case '<': case '[': case '{':
            walk.depth++;
            break;
        case '>':
            if (name[index - 1] !== '-') {
                walk.depth = Math.max(walk.depth - 1, 0);
            }
            break;
        case ')': case ']': case '}':
            walk.depth = Math.max(walk.depth - 1, 0);
            break;
        case 'o':
            walk.index = skipOperator(name, index);
            if (walk.index !== index) {
                return;
            }
            break;
        }
        walk.index++;
    };

    //
    // Behind what a bracket opens; 0: it is not closed by one of its kind.
    //

    const skipBrackets = (name, index, end) => {
        const walk = { name, index, depth: 0, quotes: 0 };
        do {
            if (walk.index >= end) {
                return 0;
            }
            step(walk);
        } while (walk.depth !== 0);
        return name[walk.index - 1] === (name[index] === '(' ? ')' : '>')
            ? walk.index : 0;
    };

    const skipQualifiers = (name, index) => {
        for (;;) {
            const word = QUALIFIERS.find(each => name.startsWith(each, index));
            if (!word) {
                return index;
            }
            index += word.length;
        }
    };

    //
    // Where the name without return type begins and ends, and where its
    // parameters end.
    //

    const findParts = name => {
        const walk = { name, index: skipReturnType(name), depth: 0, quotes: 0 };
        const start = walk.index, whole = name.length;
        while (walk.index < whole) {
            if (walk.depth === 0 && walk.index !== start &&
                name.startsWith(' [', walk.index)) {
                return [start, walk.index, walk.index];
            }
            if (walk.depth !== 0 || name[walk.index] !== '(' ||
                name.startsWith('(anonymous ', walk.index) ||
                name.endsWith('decltype', walk.index)) {
                step(walk);
                continue;
            }
            const behind = skipBrackets(name, walk.index, whole);
            if (behind === 0 || walk.index === start) {
                return [0, whole, whole];
            }
            const next = skipQualifiers(name, behind);
            if (!name.startsWith('::', next)) {
                return [start, walk.index, behind];
            }
            walk.index = next;
        }
        return [start, whole, whole];
    };

    //
    // std::basic_string with all that belongs to it: [name, index behind it].
    //

    const takeString = (name, index, end) => {
        let place = index + 5;
        for (const word of ['__cxx11::', '__1::']) {
            if (name.startsWith(word, place)) {
                place += word.length;
                break;
            }
        }
        if (!name.startsWith('basic_string<', place)) {
            return null;
        }
        place += 13;
        for (const [character, short] of STRINGS) {
            if (name.startsWith(character, place)) {
                const next = name[place + character.length];
                const behind = next === ',' || next === '>'
                    ? skipBrackets(name, place - 1, end) : 0;
                return behind ? [short, behind] : null;
            }
        }
        return null;
    };

    const shortenPart = (name, index, end) => {
        let isEven = true, operatorEnd = 0, text = '';
        while (index < end) {
            if (isEven && (index === 0 || !isIdentifier(name[index - 1]))) {
                const next = Math.min(skipOperator(name, index), end);
                if (next !== index) {
                    text += name.slice(index, next);
                    index = operatorEnd = next;
                    continue;
                }
                const string = name.startsWith('std::', index)
                    ? takeString(name, index, end) : null;
                if (string) {
                    text += string[0];
                    index = string[1];
                    continue;
                }
                const noise = (name.endsWith('std::', index)
                    ? ['__cxx11::', '__1::'] : []).concat('class ', 'struct ',
                    'union ', 'enum ').find(each =>
                    name.startsWith(each, index) && index + each.length <= end);
                if (noise) {
                    index += noise.length;
                    continue;
                }
            }
            if (isEven && name[index] === '<' && index !== 0 &&
                (isIdentifier(name[index - 1]) || index === operatorEnd ||
                 (index === operatorEnd + 1 && name[index - 1] === ' '))) {
                const next = skipBrackets(name, index, end);
                if (next) {
                    text += '<...>';
                    index = next;
                    continue;
                }
                isEven = false;
            }
            text += name[index++];
        }
        return text;
    };

    //
    // Without return type, and with <...> for what templates are of.
    //

    const shorten = (name, hasParameters = true) => {
        const [start, end, tail] = findParts(name);
        const behind = hasParameters || tail <= end ? tail
            : skipQualifiers(name, tail);
        return shortenPart(name, start, end) +
            (hasParameters ? shortenPart(name, end, tail) : '') +
            name.slice(behind);
    };

    //
    // Characters outside of the first plane are two: none is cut in half.
    //

    const cut = (text, head, tail) => {
        const isLow = index => text.charCodeAt(index) >= 0xdc00 &&
            text.charCodeAt(index) < 0xe000;
        if (isLow(head)) {
            head--;
        }
        let from = text.length - tail;
        if (isLow(from)) {
            from++;
        }
        return text.slice(0, head) + '\u2026' + text.slice(from);
    };

    //
    // The first of these that is not wider than width: the name, the name
    // that is short, the one without parameters, and that one without its
    // middle, of which the end stays rather than the beginning.
    // measure: the width of a text.
    //

    const fit = (name, width, measure) => {
        let text = name;
        if (measure(text) <= width) {
            return text;
        }
        for (const hasParameters of [true, false]) {
            text = shorten(name, hasParameters);
            if (text && measure(text) <= width) {
                return text;
            }
        }
        text = text || name;
        let low = 0, high = text.length - 1;
        while (low < high) {
            const letters = Math.ceil((low + high) / 2);
            const head = Math.floor(letters / 3);
            if (measure(cut(text, head, letters - head)) <= width) {
                low = letters;
            } else {
                high = letters - 1;
            }
        }
        const head = Math.floor(low / 3);
        return cut(text, head, low - head);
    };

    //
    // What a letter is: 0 none of a word, 1 a small one or another, 2 a
    // capital, 3 a digit.
    //

    const kindOf = code => code >= 97 && code <= 122 ? 1
        : code >= 65 && code <= 90 ? 2
            : code >= 48 && code <= 57 ? 3
                : code === 36 || code >= 128 ? 1 : 0;

    //
    // Whether a letter begins a word: behind none that is of a word, or a
    // capital behind none, or a digit behind none.
    //

    const beginsWord = (text, index) => {
        if (index === 0) {
            return true;
        }
        const last = kindOf(text.charCodeAt(index - 1));
        const here = kindOf(text.charCodeAt(index));
        return last === 0 || (here > 1 && here !== last);
    };

    //
    // How well what somebody types is found in a name: its letters in this
    // order, others in between.  A letter counts 1, one that follows the last
    // one found 4 more, one that begins a word 3 more, and one in the same
    // case 1 more; the name's length takes a little, so that of two that are
    // found alike the shorter one comes first.
    // Returns null, or {score, places}: the best there is.
    //

    let room = 0;                   // of these, which are used again
    let last, ends, back, first, final;

    const find = (typed, name) => {
        const length = name.length, count = typed.length;
        const lower = name.toLowerCase(), lowerTyped = typed.toLowerCase();
        const isFolded = lower.length === length && lowerTyped.length === count;
        const small = isFolded ? lower : name;
        const wanted = isFolded ? lowerTyped : typed;
        if (count === 0) {
            return { score: 0, places: [] };
        }
        if (count > length) {
            return null;
        }
        if (room < count * length) {
            room = 2 * count * length;
            last = new Float64Array(room);
            ends = new Float64Array(room);
            back = new Int32Array(room);
            first = new Int32Array(room);
            final = new Int32Array(room);
        }

        //
        // Where each letter can be at all: the first and the last place.
        //

        for (let at = 0, i = 0; i < count; i++, at++) {
            at = small.indexOf(wanted[i], at);
            if (at < 0) {
                return null;
            }
            first[i] = at;
        }
        for (let at = length - 1, i = count - 1; i >= 0; i--, at--) {
            at = small.lastIndexOf(wanted[i], at);
            final[i] = at;
        }

        //
        // ends[j]: the best with the ith letter found at j, last[j] the same
        // of the letter before it; back: where that one was found then.
        //

        for (let i = 0; i < count; i++) {
            let best = i === 0 ? 0 : -Infinity, bestAt = -1;
            let next = i === 0 ? Infinity : first[i - 1];
            const code = wanted.charCodeAt(i), own = typed.charCodeAt(i);
            for (let j = first[i]; j <= final[i]; j++) {
                for (; next < j && next <= final[i - 1]; next++) {
                    if (last[next] > best) {
                        best = last[next];
                        bestAt = next;
                    }
                }
                ends[j] = -Infinity;
                if (small.charCodeAt(j) === code) {
                    const isNext = i > 0 && j > first[i - 1] &&
                        j - 1 <= final[i - 1] && last[j - 1] + 4 > best;
                    ends[j] = (isNext ? last[j - 1] + 4 : best) + 1 +
                        (beginsWord(name, j) ? 3 : 0) +
                        (name.charCodeAt(j) === own ? 1 : 0);
                    back[i * length + j] = isNext ? j - 1 : bestAt;
                }
            }
            [last, ends] = [ends, last];
        }
        let at = first[count - 1];
        for (let j = at + 1; j <= final[count - 1]; j++) {
            if (last[j] > last[at]) {
                at = j;
            }
        }
        const score = last[at] - length / 1000;
        const places = [];
        for (let i = count - 1; i >= 0; i--) {
            places.unshift(at);
            at = back[i * length + at];
        }
        return { score, places };
    };

    return { shorten, fit, find };
})();
