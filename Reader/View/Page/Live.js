//
// The files of a running program.  A browser does not read a file that was
// changed after it was asked for, and where mapped memory changes a file's time
// at once, that is all the time.  So such files are copied, with their end as
// their header says it (Docs/Format.md, section 5); what was copied of a store
// that only grows is kept.
//

class LiveFile {
    static HEADER = 4096;
    static PIECE = 16 << 20;
    static TRIES = 100;
    static OPEN = 1;                // a header's state

    constructor({ path, handle }) {
        this.path = path;
        this.handle = handle;
        this.header = null;
        this.parts = [];
        this.end = LiveFile.HEADER;
        this.file = null;
        this.size = 0;
        this.isGrowing = false;
        this.copied = null;
    }

    //
    // What is at an offset: the file is asked for again if it has changed.
    //

    async read(offset, size) {
        for (let i = 0; ; i++) {
            try {
                if (this.file === null) {
                    this.file = await this.handle.getFile();
                }
                return await this.file.slice(offset, offset + size)
                    .arrayBuffer();
            } catch (error) {
                this.file = null;
                if (error.name !== 'NotReadableError' ||
                    i >= LiveFile.TRIES) {
                    throw new Error(this.path + ': ' + error.message);
                }
            }
        }
    }

    async readParts(from, to) {
        const parts = [];
        for (let at = from; at < to; at += LiveFile.PIECE) {
            const piece = await this.read(at, Math.min(LiveFile.PIECE,
                                                       to - at));
            parts.push(new Blob([piece]));
            if (piece.byteLength < Math.min(LiveFile.PIECE, to - at)) {
                break;
            }
        }
        return parts;
    }

    static isStore(header) {
        return header.byteLength === LiveFile.HEADER &&
            new DataView(header).getBigUint64(0, true) ===
                0x45524f5453435254n;
    }

    //
    // Where the records of a store end that only grows; 0: it isn't one.
    //

    static endOf(header) {
        if (!LiveFile.isStore(header)) {
            return 0;
        }
        const view = new DataView(header);
        const isPlain = view.getUint32(0x1b0, true) === 0 &&
            view.getBigUint64(0xb8, true) === 0n &&
            view.getBigUint64(0x170, true) === 0n;
        if (!isPlain) {
            return 0;
        }
        const end = view.getUint32(0x58, true) % 2
            ? view.getBigUint64(0x68, true)
            : BigInt.asUintN(64, view.getBigUint64(0x40, true) +
                view.getBigUint64(0x50, true));
        return end < 0x20000000000000n ? Number(end) : 0;
    }

    static areSame(one, other) {
        if (one === null || one.byteLength !== other.byteLength) {
            return false;
        }
        const left = new Uint8Array(one), right = new Uint8Array(other);
        return left.every((byte, i) => byte === right[i]);
    }

    //
    // The file as it is now.
    //

    async copy() {
        this.file = null;
        const header = await this.read(0, LiveFile.HEADER);
        const { size, lastModified, name } = this.file;
        const isStore = LiveFile.isStore(header);
        if (this.copied && isStore && size === this.size &&
            LiveFile.areSame(this.header, header)) {
            return this.copied;
        }
        const end = Math.min(LiveFile.endOf(header), size);
        if (end >= LiveFile.HEADER) {
            if (end < this.end || !this.isGrowing) {
                this.parts = [];
                this.end = LiveFile.HEADER;
            }
            this.parts.push(...await this.readParts(this.end, end));
            if (this.parts.length > 64) {
                this.parts = [new Blob(this.parts)];
            }
            this.end = end;
            this.isGrowing = true;
        } else {
            this.parts = await this.readParts(LiveFile.HEADER, size);
            this.isGrowing = false;
        }
        this.header = header;
        this.size = size;
        this.copied = new File([header, ...this.parts], name,
                               { lastModified });
        this.file = null;
        return this.copied;
    }
}

class Live {
    static FRESH = 15000;           // milliseconds
    static MOST = 2 ** 31;          // bytes that are copied

    constructor(roots) {
        this.roots = roots;
        this.copies = null;
        this.isTooLarge = false;
        this.order = new Map();
    }

    //
    // A file has the same place in the list each time; new ones come last.
    //

    sort(files) {
        for (const { path } of files) {
            if (!this.order.has(path)) {
                this.order.set(path, this.order.size);
            }
        }
        return files.sort((one, other) => this.order.get(one.path) -
            this.order.get(other.path));
    }

    //
    // May a program be writing a file?  What a store's header says that is
    // closed stays as it is.
    //

    static async isBeingWritten({ path, file, handle }) {
        if (!handle || !/\.trace$/i.test(path) ||
            Date.now() - file.lastModified >= Live.FRESH) {
            return false;
        }
        const header = await new LiveFile({ path, handle })
            .read(0, LiveFile.HEADER);
        return !LiveFile.isStore(header) ||
            new DataView(header).getUint32(0x80, true) === LiveFile.OPEN;
    }

    //
    // Files, as the engine takes them.  They are copied if one of them is
    // being written, and there aren't too many for the browser: what it has no
    // room for it takes without a word, and cannot read.
    //

    async take(files) {
        this.sort(files);
        this.isTooLarge = false;
        if (this.copies === null) {
            const list = await Promise.all(files.map(Live.isBeingWritten));
            if (!list.includes(true)) {
                return files;
            }
            this.copies = new Map();
        }
        const size = files.reduce((sum, each) => sum + each.file.size, 0);
        const taken = size > Live.MOST ? null : await this.copy(files);
        if (taken === null || !await Live.areReadable(taken)) {
            this.copies = null;
            this.isTooLarge = true;
            return files;
        }
        return taken;
    }

    static async areReadable(files) {
        try {
            for (const { file } of files) {
                await file.slice(0, 1).arrayBuffer();
                await file.slice(-1).arrayBuffer();
            }
            return true;
        } catch {
            return false;
        }
    }

    async copy(files) {
        const taken = [];
        for (const each of files) {
            if (!each.handle) {
                taken.push(each);
                continue;
            }
            let copy = this.copies.get(each.path);
            if (!copy) {
                copy = new LiveFile(each);
                this.copies.set(each.path, copy);
            }
            taken.push({ ...each, file: await copy.copy() });
        }
        return taken;
    }

    //
    // The same folders once more: there may be new files.  Null: they cannot
    // be looked at again.
    //

    async again() {
        if (!this.roots.length) {
            return null;
        }
        const list = [];
        for (const root of this.roots) {
            await Files.ofHandle(root, '', list);
        }
        return this.take(list);
    }
}
