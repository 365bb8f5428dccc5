//
// Draws rows of boxes into pixels of its own: a row costs as much as it has
// boxes and pixels, whatever there is to see, and nothing is left to collect.
//
// Of what is narrower than a pixel, the pixel has the colour of what covers
// most of it, as strong as the share that is covered.  A box that is marked
// comes first.
//

const LITTLE_GAP = 3;           // boxes wider than this have a gap after them

class Raster {
    static LEVELS = 64;
    static FAINTEST = 0.3;
    static DIM = 0.36;
    static WAITED = 9;
    static UNKNOWN = 10;
    static LOST = 11;
    static COLORS = 12;

    constructor() {
        this.width = 0;
        this.height = 0;
        this.image = null;
        this.pixels = null;
        this.background = 0;
        this.mixed = new Uint32Array(2 * Raster.COLORS * Raster.LEVELS);

        //
        // What gets a text, a frame or a sign afterwards: numbers in arrays
        // that stay.
        //

        this.labels = 0;
        this.labelX = new Float32Array(16384);
        this.labelY = new Float32Array(16384);
        this.labelWidth = new Float32Array(16384);
        this.labelFunction = new Uint32Array(16384);
        this.labelFlags = new Uint8Array(16384);
        this.frames = 0;
        this.frameX = new Float32Array(16384);
        this.frameY = new Float32Array(16384);
        this.frameWidth = new Float32Array(16384);
        this.marked = null;
    }

    resize(width, height, context) {
        if (this.width === width && this.height === height) {
            return;
        }
        this.width = width;
        this.height = height;
        this.image = context.createImageData(width, height);
        this.pixels = new Uint32Array(this.image.data.buffer);
        this.covered = new Float32Array(width + 1);
        this.most = new Float32Array(width + 1);
        this.color = new Uint8Array(width + 1);
    }

    //
    // Pixels are 0xAABBGGRR.
    //

    static pixelOf(red, green, blue) {
        return (0xff000000 | blue << 16 | green << 8 | red) >>> 0;
    }

    static parse(text) {
        const value = parseInt(text.slice(1), 16);
        return [value >> 16 & 255, value >> 8 & 255, value & 255];
    }

    readTheme(style) {
        const back = Raster.parse(style.back);
        const colors = [...Format.PALETTE, style.waited, style.unknown,
                        style.lost].map(Raster.parse);
        this.background = Raster.pixelOf(...back);
        for (let dim = 0; dim < 2; dim++) {
            colors.forEach((color, at) => {
                for (let level = 0; level < Raster.LEVELS; level++) {
                    const share = (Raster.FAINTEST + (1 - Raster.FAINTEST) *
                        level / (Raster.LEVELS - 1)) * (dim ? Raster.DIM : 1);
                    this.mixed[(dim * Raster.COLORS + at) * Raster.LEVELS +
                        level] = Raster.pixelOf(...color.map((part, i) =>
                        Math.round(back[i] + (part - back[i]) * share)));
                }
            });
        }
    }

    begin(marked) {
        this.pixels.fill(this.background);
        this.labels = 0;
        this.frames = 0;
        this.marked = marked;
    }

    fill(top, bottom, pixel) {
        this.pixels.fill(pixel, top * this.width, bottom * this.width);
    }

    //
    // A row of an answer's boxes between two pixels, from line top up to
    // bottom.  Lines above clipTop or below clipBottom are left out.  ratio is
    // pixels for each unit of the page.
    //

    drawRow(answer, row, begin, scale, left, low, high, top, bottom,
            clipTop, clipBottom, ratio, hasTexts) {
        const { covered, most, color, pixels, width, marked } = this;
        const { start, stop, calls, flags } = answer;
        const share = answer.covered;
        const functions = answer.function;
        const last = answer.rows[row + 1];
        const hues = Format.hues();
        const lower = begin + (low - left) / scale;
        const least = 30 * ratio, gapWidth = LITTLE_GAP * ratio;
        const upper = begin + (high - left) / scale;
        const textFrom = hasTexts ? least : Infinity;
        let min = high, max = low;

        for (let i = Answers.firstAt(answer, row, lower);
             i < last && start[i] < upper; i++) {
            let x0 = left + (start[i] - begin) * scale;
            let x1 = left + (stop[i] - begin) * scale;
            const flag = flags[i];
            const id = functions[i];
            const isDim = marked !== null && marked[id] !== 1;
            const whole = x1 - x0;
            if (x0 < low) {
                x0 = low;
            }
            if (x1 > high) {
                x1 = high;
            } else if (whole > gapWidth) {
                x1 -= ratio;
            }
            const wide = x1 - x0;
            if (wide < 0) {
                continue;
            }
            const at = (flag & FLAG_UNKNOWN ? Raster.UNKNOWN
                : flag & FLAG_LOST ? Raster.LOST
                    : flag & FLAG_WAITS ? Raster.WAITED : hues[id] | 0) +
                (isDim ? Raster.COLORS : 0);
            const strength = calls[i] === 1 ? 1 : share[i];
            const first = x0 | 0, end = x1 | 0;
            const boost = marked !== null && !isDim ? 4 : 0;
            if (first < min) {
                min = first;
            }
            if (first === end) {
                const part = Math.max(wide, 0.02) * strength;
                covered[first] += boost ? Math.max(part, 0.6) : part;
                if (part + boost > most[first]) {
                    most[first] = part + boost;
                    color[first] = at;
                }
                if (first >= max) {
                    max = first + 1;
                }
            } else {
                const head = (first + 1 - x0) * strength;
                covered[first] += head;
                if (head + boost > most[first]) {
                    most[first] = head + boost;
                    color[first] = at;
                }
                if (end > first + 1) {
                    covered.fill(strength, first + 1, end);
                    most.fill(strength + boost, first + 1, end);
                    color.fill(at, first + 1, end);
                }
                const tail = (x1 - end) * strength;
                if (tail > 0) {
                    covered[end] += tail;
                    if (tail + boost > most[end]) {
                        most[end] = tail + boost;
                        color[end] = at;
                    }
                }
                if (end + 1 > max) {
                    max = end + 1;
                }
                if (wide >= textFrom && this.labels < 16384 &&
                    !(flag & FLAG_SUMMARY && !(flag & FLAG_UNKNOWN |
                                               flag & FLAG_LOST))) {
                    const label = this.labels++;
                    this.labelX[label] = x0;
                    this.labelY[label] = top;
                    this.labelWidth[label] = wide;
                    this.labelFunction[label] = id;
                    this.labelFlags[label] = flag | (isDim ? 128 : 0);
                } else if (flag & (FLAG_ABANDONED | FLAG_OPEN) &&
                           wide > 5 * ratio && this.labels < 16384) {
                    const label = this.labels++;
                    this.labelX[label] = x0;
                    this.labelY[label] = top;
                    this.labelWidth[label] = wide;
                    this.labelFunction[label] = 0xffffffff;
                    this.labelFlags[label] = flag;
                }
            }
            if (boost && wide >= 4 * ratio && this.frames < 16384) {
                const frame = this.frames++;
                this.frameX[frame] = x0;
                this.frameY[frame] = top;
                this.frameWidth[frame] = wide;
            }
        }
        if (max > high) {
            max = high;
        }
        if (min >= max) {
            return;
        }

        //
        // One line of pixels, which the others are copies of.
        //

        const from = Math.max(top, clipTop), to = Math.min(bottom, clipBottom);
        const levels = Raster.LEVELS - 1;
        if (from < to) {
            const line = from * width;
            for (let x = min; x < max; x++) {
                const part = covered[x];
                if (part > 0) {
                    pixels[line + x] = this.mixed[color[x] * Raster.LEVELS +
                        (part >= 1 ? levels : part * levels | 0)];
                }
            }
            for (let y = from + 1; y < to; y++) {
                pixels.copyWithin(y * width + min, line + min, line + max);
            }
        }
        covered.fill(0, min, max + 1);
        most.fill(0, min, max + 1);
    }

    //
    // How much of the time something was called: a column for each pixel.
    //

    drawActivity(answer, begin, scale, left, low, high, top, bottom, clipTop,
                 clipBottom, share) {
        const { pixels, width, marked, mixed } = this;
        const height = bottom - top;
        const hues = Format.hues();
        const by = 1 / answer.pixel / scale;
        const levels = Raster.LEVELS - 1;
        let from = (begin - answer.begin) / answer.pixel;
        from += (low + 0.5 - left) * by;
        for (let x = low; x < high; x++, from += by) {
            const at = from | 0;
            if (from < 0 || at >= answer.pixels) {
                continue;
            }
            const part = answer.covered[at] * share;
            if (!(part > 0)) {
                continue;
            }
            const id = answer.function[at];
            const isDim = marked !== null && marked[id] !== 1;
            const tall = Math.max(1, Math.round(Math.min(part, 1) * height));
            const pixel = mixed[((hues[id] | 0) + (isDim ? Raster.COLORS : 0)) *
                Raster.LEVELS + levels];
            const until = Math.min(bottom, clipBottom);
            for (let y = Math.max(bottom - tall, clipTop); y < until; y++) {
                pixels[y * width + x] = pixel;
            }
        }
    }
}
