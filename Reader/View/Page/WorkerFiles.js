/*
 * The files of a session, as a worker reads them: synchronously, for that is
 * how the reader asks.
 *
 * A browser takes 2 ms for a part of a file, however small it is, and 5 to 9
 * for each MiB of it; out of a stream a MiB takes 1.3 ms.  So the pass, which
 * can wait between its slices, has what it reads next out of a stream; what
 * else is read comes in pieces that are kept, more at once while a file is read
 * on.
 *
 * This file is put before Worker.js: both are one program.
 */
"use strict";

// A file that is read from one place on, and what is there of it from the last
// read on.
class ReadAhead {
    constructor(offset, end, onRead) {
        this.onRead = onRead;                   // is told of bytes
        this.offset = offset;                   // of the last read
        this.end = end;
        this.reads = 1;
        this.bytes = new Uint8Array(0);
        this.base = this.filled = end;          // what is in bytes
        this.stream = null;
        this.filling = null;
        this.isEnded = false;
    }

    // Whether a read goes on where the last one ended.
    isNext(offset, end) {
        return offset > this.offset && offset <= this.end && end > this.end;
    }

    get isBehind() {
        return this.reads >= WorkerFiles.READS && !this.isEnded &&
            this.filled < this.end + WorkerFiles.NEXT;
    }

    goOn(offset, end) {
        this.offset = offset;
        this.end = end;
        this.reads++;
    }

    // Copies what is there; says whether it is.
    take(offset, target) {
        if (offset < this.base || offset + target.length > this.filled) {
            return false;
        }
        const at = offset - this.base;
        target.set(this.bytes.subarray(at, at + target.length));
        return true;
    }

    // The stream begins with a copy of the last read: the next one may begin
    // in it.
    put(bytes) {
        this.bytes = bytes.slice();
        this.base = this.offset;
        this.filled = this.offset + bytes.length;
    }

    // Adds the next bytes of the file.  At its end, and where it cannot be
    // read, there are no more: whoever reads it then is told why.
    async addFromStream(blob) {
        try {
            if (!this.stream) {
                this.stream = ReadAhead.open(blob.slice(this.filled));
            }
            const { value } = await this.stream.read();
            if (value && value.length) {
                this.makeRoom(value.length);
                this.bytes.set(value, this.filled - this.base);
                this.filled += value.length;
                this.onRead(value.length);
                return;
            }
        } catch {
            // The same as at the end.
        }
        this.isEnded = true;
    }

    // Has enough of it; those who come meanwhile wait for the same.
    fill(blob) {
        if (this.filling === null) {
            this.filling = this.fillUp(blob).finally(() => {
                this.filling = null;
            });
        }
        return this.filling;
    }

    async fillUp(blob) {
        while (!this.isEnded && this.filled < this.end + WorkerFiles.AHEAD) {
            await this.addFromStream(blob);
        }
    }

    // Drops what is before the last read, where there is no room.
    makeRoom(size) {
        const old = this.bytes;
        if (this.filled - this.base + size <= old.length) {
            return;
        }
        const first = Math.min(Math.max(this.offset, this.base), this.filled);
        const left = old.subarray(first - this.base, this.filled - this.base);
        if (left.length + size > old.length) {
            this.bytes = new Uint8Array(left.length + size + ReadAhead.ROOM);
        }
        this.bytes.set(left);
        this.base = first;
    }

    // A stream that fills a buffer of ours is three times as fast as another.
    //
    // Somebody must have the reader as long as it is read from: Chromium
    // collects one that nobody can reach, and the read never ends.
    static open(blob) {
        const stream = blob.stream();
        try {
            const reader = stream.getReader({ mode: "byob" });
            let buffer = new ArrayBuffer(ReadAhead.PART);
            return { reader, async read() {
                const result = await reader.read(new Uint8Array(buffer));
                if (result.value) {
                    ({ buffer } = result.value);
                }
                return result;
            } };
        } catch {
            const reader = stream.getReader();
            return { reader, read: () => reader.read() };
        }
    }

    close() {
        if (this.stream) {
            this.stream.reader.cancel().catch(() => {});
        }
        this.isEnded = true;
    }
}

ReadAhead.LEAST = 0x100000;
ReadAhead.PART = 0x400000;
ReadAhead.ROOM = 0x800000;

class WorkerFiles {
    constructor() {
        this.list = [];
        this.bytesRead = 0;
        this.reader = typeof FileReaderSync === "undefined" ? null
            : new FileReaderSync();
        this.isPass = false;
        this.aheads = new Map();
        this.forget();
    }

    // What the files are now.
    set(list) {
        this.close();
        this.list = list;
    }

    close() {
        for (const file of this.list) {
            if (file.descriptor !== undefined) {
                WorkerFiles.fs.closeSync(file.descriptor);
                file.descriptor = undefined;
            }
        }
        this.list = [];
        this.forget();
    }

    // The pass goes on elsewhere: in what is prepared.
    dropAheads() {
        for (const [number, ahead] of this.aheads) {
            if (ahead.reads !== 0) {
                ahead.close();
                this.aheads.delete(number);
            }
        }
    }

    forget() {
        for (const ahead of this.aheads.values()) {
            ahead.close();
        }
        this.aheads.clear();
        this.stores = new Map();
        this.others = new Map();
        this.runs = new Map();
        this.expect(null);
    }

    // Reads where the stores begin and end, which is what opening them takes:
    // all at once, as one after the other each takes 2 ms and more.
    async readEnds() {
        const { PIECE } = WorkerFiles;
        const most = WorkerFiles.STORES / 2;
        const ends = [];
        for (const [number, file] of this.list.entries()) {
            const last = Math.floor((file.size - 1) / PIECE);
            if (file.blob && last >= 0 && this.isStore(number) &&
                ends.length < most) {
                ends.push(...[...new Set([0, last])].map(
                    (index) => this.endOf(number, index)));
            }
        }
        for (let i = 0; i < ends.length; i += WorkerFiles.ENDS) {
            await this.readTogether(ends.slice(i, i + WorkerFiles.ENDS));
        }
    }

    endOf(number, index) {
        const { PIECE } = WorkerFiles;
        const file = this.list[number];
        const size = Math.min(PIECE, file.size - index * PIECE);
        return { key: number + ":" + index, size,
            blob: file.blob.slice(index * PIECE, index * PIECE + size) };
    }

    // Where one cannot be read none is there: whoever wants it is told why.
    async readTogether(ends) {
        let read;
        try {
            read = new Uint8Array(await new Blob(ends.map(
                (end) => end.blob)).arrayBuffer());
        } catch {
            return;
        }
        this.bytesRead += read.length;
        if (read.length === WorkerFiles.sum(ends)) {
            this.putPieces(ends, read);
        }
    }

    static sum(list) {
        return list.reduce((sum, each) => sum + each.size, 0);
    }

    // What is no store is kept for longer, and does not keep the rest.
    putPieces(list, bytes) {
        let at = 0;
        for (const { key, size } of list) {
            if (this.isStore(key.split(":")[0])) {
                this.stores.set(key, bytes.subarray(at, at + size));
            } else {
                this.others.set(key, bytes.slice(at, at + size));
            }
            at += size;
        }
    }

    // What has been read, for other workers, unless it is much: one piece of
    // memory, as many would hold up the page.
    takePieces() {
        const pieces = [...this.stores, ...this.others];
        if (pieces.length > WorkerFiles.GIVEN) {
            return null;
        }
        const list = pieces.map(([key, piece]) => ({ key,
            size: piece.length }));
        const bytes = new Uint8Array(WorkerFiles.sum(list));
        let at = 0;
        for (const [, piece] of pieces) {
            bytes.set(piece, at);
            at += piece.length;
        }
        return { list, bytes };
    }

    // About how many bytes of a store are read next; 0: some; null: that is not
    // known at all.
    expect(size) {
        this.expected = size;
        this.most = size === 0 ? WorkerFiles.SOME : WorkerFiles.MORE;
    }

    // What is read while the call runs is the pass's.
    forPass(call) {
        this.isPass = true;
        try {
            return call();
        } finally {
            this.isPass = false;
        }
    }

    // Bytes that were read, fewer at the end of the file; -1: the file says
    // why.
    read(number, offset, target) {
        try {
            return this.isPass && target.length > WorkerFiles.SMALL
                ? this.readForPass(number, offset, target)
                : this.readPieces(number, offset, target);
        } catch (error) {
            this.list[number].error = String(error && error.message || error);
            return -1;
        }
    }

    readPieces(number, offset, target) {
        const { PIECE } = WorkerFiles;
        const end = offset + target.length;
        let done = 0;
        while (done < target.length) {
            const at = offset + done;
            const piece = this.getPiece(number, Math.floor(at / PIECE), end);
            const part = piece.subarray(at % PIECE,
                at % PIECE + target.length - done);
            if (part.length === 0) {
                break;
            }
            target.set(part, done);
            done += part.length;
        }
        if (this.expected !== null && this.isStore(number) &&
            offset + this.expected <= this.list[number].size) {
            this.expected = Math.max(0, this.expected - done);
        }
        return done;
    }

    isStore(number) {
        return /\.trace$/i.test(this.list[number].path);
    }

    // The oldest piece of either kind goes first, so that those which were read
    // at once, and are one piece of memory, go together.
    getPiece(number, index, end) {
        const pieces = this.isStore(number) ? this.stores : this.others;
        const key = number + ":" + index;
        if (!pieces.has(key)) {
            this.addPieces(pieces, number, index, end);
        }
        return pieces.get(key);
    }

    // Reads pieces from one on that is not there: as many as are missing up to
    // the end, and more where that is going to be read.
    addPieces(pieces, number, index, end) {
        const { PIECE, STORES, OTHERS } = WorkerFiles;
        const start = index * PIECE;
        const most = pieces === this.stores ? STORES : OTHERS;
        const stop = Math.max(end, Math.min(this.list[number].size,
            start + this.chooseSize(number, start)));
        let last = index + 1;
        while (last * PIECE < stop && last - index < most &&
            !pieces.has(number + ":" + last)) {
            last++;
        }
        const run = this.runs.get(number);
        this.runs.set(number, { end: last * PIECE,
            start: run && run.end === start ? run.start : start });
        const read = this.readBytes(number, start, (last - index) * PIECE);
        for (let at = index; at < last; at++) {
            pieces.set(number + ":" + at, read.subarray(
                (at - index) * PIECE, (at - index + 1) * PIECE));
        }
        for (const key of pieces.keys()) {
            if (pieces.size <= most) {
                break;
            }
            pieces.delete(key);
        }
    }

    // How much is read at once: of a store what is expected, of an index all or
    // some marks, as those before them come next.  Else, where a file is read
    // on, as much as was read of it.
    //
    // What is read first near the end of a store is mostly not what is
    // expected, but the record that an index is checked by.
    chooseSize(number, start) {
        const { expected } = this;
        const run = this.runs.get(number);
        const more = run && run.end === start ? start - run.start : 0;
        if (expected === null) {
            return Math.min(WorkerFiles.AT_ONCE, more);
        }
        if (!this.isStore(number)) {
            const { size } = this.list[number];
            return start === 0 && size <= WorkerFiles.WHOLE ? size
                : WorkerFiles.MARKS;
        }
        if (more === 0 && start + expected > this.list[number].size) {
            return 0;
        }
        return Math.min(WorkerFiles.AT_ONCE,
            Math.max(expected, Math.min(this.most, more)));
    }

    readForPass(number, offset, target) {
        const end = offset + target.length;
        let ahead = this.aheads.get(number);
        if (!this.list[number].blob) {
            return this.readNow(number, offset, target);
        }
        if (ahead) {
            this.aheads.delete(number);
            this.aheads.set(number, ahead);
        }
        if (ahead && ahead.take(offset, target)) {
            if (end > ahead.end) {
                ahead.goOn(offset, end);
            }
            return target.length;
        }
        if (ahead && ahead.isNext(offset, end)) {
            ahead.goOn(offset, end);
        } else {
            ahead = this.addAhead(number, offset, end);
        }
        const size = this.readNow(number, offset, target);
        if (ahead.reads === WorkerFiles.READS && !ahead.stream) {
            ahead.put(target.subarray(0, size));
        }
        return size;
    }

    // A thread may have a store of each of some modules, which are read side by
    // side: the one that was not read for the longest goes.
    addAhead(number, offset, end) {
        for (const [other, ahead] of this.aheads) {
            if (other === number || this.aheads.size === WorkerFiles.AHEADS) {
                ahead.close();
                this.aheads.delete(other);
            }
        }
        const ahead = new ReadAhead(offset, end, (size) => {
            this.bytesRead += size;
        });
        this.aheads.set(number, ahead);
        return ahead;
    }

    // The pass reads this file from its start, now or next: a stream takes some
    // time to begin.
    prepare(number, isNow) {
        const file = this.list[number];
        if (!file || !file.blob || file.size < ReadAhead.LEAST) {
            return;
        }
        let ahead = this.aheads.get(number);
        if (!ahead) {
            ahead = this.addAhead(number, -1, 0);
            ahead.reads = 0;
            ahead.fill(file.blob);
        }
        if (isNow && ahead.reads === 0) {
            ahead.reads = WorkerFiles.READS;
        }
    }

    readNow(number, offset, target) {
        const bytes = this.readBytes(number, offset, target.length);
        target.set(bytes);
        return bytes.length;
    }

    readBytes(number, offset, size) {
        const bytes = this.readPart(this.list[number], offset, size);
        this.bytesRead += bytes.length;
        return bytes;
    }

    readPart(file, offset, size) {
        if (file.bytes !== undefined) {
            return file.bytes.subarray(offset, offset + size);
        }
        if (file.nodePath !== undefined) {
            if (file.descriptor === undefined) {
                file.descriptor = WorkerFiles.fs.openSync(file.nodePath, "r");
            }
            const bytes = new Uint8Array(size);
            return bytes.subarray(0, WorkerFiles.fs.readSync(file.descriptor,
                bytes, 0, size, offset));
        }
        return new Uint8Array(this.reader.readAsArrayBuffer(
            file.blob.slice(offset, offset + size)));
    }

    // Whether the pass may read soon what is not there yet, but comes.
    get isBehind() {
        for (const ahead of this.aheads.values()) {
            if (ahead.isBehind) {
                return true;
            }
        }
        return false;
    }

    // Has more than the pass reads next.
    async catchUp() {
        for (const [number, ahead] of this.aheads) {
            if (ahead.reads >= WorkerFiles.READS) {
                await ahead.fill(this.list[number].blob);
            }
        }
    }
}

// How many pieces of how many bytes are kept, in each worker: 64 and 4 MiB; are
// given to others: 36 MiB; and are read at once: 8 MiB.
WorkerFiles.PIECE = 0x10000;
WorkerFiles.STORES = 1024;
WorkerFiles.OTHERS = 64;
WorkerFiles.GIVEN = 576;
WorkerFiles.ENDS = 128;

// What is read at once at most; by a question of what is no store, if that is
// no longer than the first or else, behind what was expected, and of what was
// only said that it is some.
WorkerFiles.AT_ONCE = 0x1000000;
WorkerFiles.WHOLE = 0x100000;
WorkerFiles.MARKS = 0x40000;
WorkerFiles.MORE = 0x20000;
WorkerFiles.SOME = 0x80000;

// What a slice of the pass reads in pieces, too; after how many reads that
// follow each other a stream begins, and of how many files; what is read at once
// at most; how much comes out of the stream between two slices.
WorkerFiles.SMALL = 0x8000;
WorkerFiles.READS = 3;
WorkerFiles.AHEADS = 4;
WorkerFiles.NEXT = 0x90000;
WorkerFiles.AHEAD = 0x800000;
WorkerFiles.fs = typeof process === "object" && process.versions &&
    process.versions.node ? require("fs") : null;
