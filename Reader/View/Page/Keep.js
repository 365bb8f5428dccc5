//
// What the engine has added up of sessions, in the browser's database, so that
// a session that is opened again needs no pass.  A page that has no database
// (a browser may refuse it to pages from file:) keeps nothing, and says nothing.
//
// There are two tables: what is kept, and when it was used last and how large it
// is, so that what is oldest can go without being read.
//

class Keeper {
    static NAME = 'TraceViewer';
    static MOST = 512 * (1 << 20);      // bytes in all

    constructor() {
        this.opening = null;
        this.waiting = Promise.resolve();
    }

    open() {
        if (this.opening === null) {
            this.opening = new Promise(resolve => {
                try {
                    const request = indexedDB.open(Keeper.NAME, 1);
                    request.onupgradeneeded = () => {
                        request.result.createObjectStore('kept');
                        request.result.createObjectStore('uses');
                    };
                    request.onsuccess = () => resolve(request.result);
                    request.onerror = () => resolve(null);
                    request.onblocked = () => resolve(null);
                } catch {
                    resolve(null);
                }
            });
        }
        return this.opening;
    }

    static result(request) {
        return new Promise((resolve, reject) => {
            request.onsuccess = () => resolve(request.result);
            request.onerror = () => reject(request.error);
        });
    }

    static ended(transaction) {
        return new Promise((resolve, reject) => {
            transaction.oncomplete = () => resolve();
            transaction.onerror = () => reject(transaction.error);
            transaction.onabort = () => reject(transaction.error);
        });
    }

    //
    // For each key what is kept: {levels, indexes: [{name, data}]}, blobs; or
    // null.  What is not of that shape is as nothing.
    //

    async find(keys) {
        const none = keys.map(() => null);
        try {
            const base = await this.open();
            if (base === null) {
                return none;
            }
            const table = base.transaction('kept').objectStore('kept');
            const found = await Promise.all(keys.map(key =>
                Keeper.result(table.get(key))));
            const list = found.map(each => Keeper.isWhole(each) ? each
                : null);
            const used = base.transaction('uses', 'readwrite');
            list.forEach((each, i) => {
                if (each !== null) {
                    used.objectStore('uses').put({ size: Keeper.sizeOf(each),
                        time: Date.now() }, keys[i]);
                }
            });
            await Keeper.ended(used);
            return list;
        } catch {
            return none;
        }
    }

    static isWhole(one) {
        return typeof one === 'object' && one !== null &&
            one.levels instanceof Blob && Array.isArray(one.indexes) &&
            one.indexes.every(each => typeof each.name === 'string' &&
                              each.data instanceof Blob);
    }

    static sizeOf(one) {
        return one.indexes.reduce((sum, each) => sum + each.data.size,
                                  one.levels.size);
    }

    //
    // Keeps something, one after the other; what was used least lately goes if
    // there is too much.  What cannot be kept is not.
    //

    put(key, one) {
        this.waiting = this.waiting.then(() => this.putNow(key, one))
            .catch(() => {});
        return this.waiting;
    }

    async putNow(key, one) {
        const base = await this.open();
        const size = Keeper.sizeOf(one);
        if (base === null || size > Keeper.MOST) {
            return;
        }
        await this.drop(base, Keeper.MOST - size);
        const change = base.transaction(['kept', 'uses'], 'readwrite');
        change.objectStore('kept').put(one, key);
        change.objectStore('uses').put({ size, time: Date.now() }, key);
        await Keeper.ended(change);
    }

    //
    // Makes what there is be so large at most.
    //

    async drop(base, most) {
        const uses = await Keeper.list(base);
        let size = uses.reduce((sum, each) => sum + each.size, 0);
        const old = [];
        for (const each of uses.sort((one, other) => one.time - other.time)) {
            if (size > most) {
                size -= each.size;
                old.push(each.key);
            }
        }
        if (old.length) {
            const change = base.transaction(['kept', 'uses'], 'readwrite');
            for (const key of old) {
                change.objectStore('kept').delete(key);
                change.objectStore('uses').delete(key);
            }
            await Keeper.ended(change);
        }
    }

    static async list(base) {
        const table = base.transaction('uses').objectStore('uses');
        const [keys, values] = await Promise.all([
            Keeper.result(table.getAllKeys()), Keeper.result(table.getAll())]);
        return values.map((each, i) => ({ key: keys[i],
            size: Number(each.size) || 0, time: Number(each.time) || 0 }));
    }

    //
    // How many threads' levels are kept, and how many bytes these are.
    //

    async usage() {
        try {
            const base = await this.open();
            const uses = base === null ? [] : await Keeper.list(base);
            return { number: uses.length,
                     size: uses.reduce((sum, each) => sum + each.size, 0) };
        } catch {
            return { number: 0, size: 0 };
        }
    }

    async clear() {
        const base = await this.open();
        if (base !== null) {
            await this.drop(base, -1);
        }
    }
}

Viewer.keeper = new Keeper();
