//
// What is dropped, chosen or embedded, as a list of files with their paths.
//

const Files = {
    MOST: 200000,
    AT_ONCE: 32,
    names: new WeakMap(),       // of what was dropped, by handle

    //
    // Of several things of one name that are dropped at once, the others have a
    // number.
    //

    nameApart(names, name) {
        let apart = name;
        for (let i = 2; names.has(apart); i++) {
            apart = name + ' (' + i + ')';
        }
        names.add(apart);
        return apart;
    },

    add(list, path, file, handle) {
        if (list.length >= this.MOST) {
            throw new Error(path + ': more than ' + Format.count(this.MOST) +
                ' files; open a session alone');
        }
        list.push({ path, file, handle });
    },

    //
    // name: what it is called here.
    //

    async ofHandle(handle, path, list, name = Files.names.get(handle) ||
                   handle.name) {
        if (handle.kind === 'file') {
            this.add(list, path + name, await handle.getFile(), handle);
            return;
        }
        let some = [];
        for await (const each of handle.values()) {
            some.push(each);
            if (some.length === this.AT_ONCE) {
                await this.ofHandles(some, path + name + '/', list);
                some = [];
            }
        }
        await this.ofHandles(some, path + name + '/', list);
    },

    //
    // The browser takes 1 ms to give a file: some are asked for at once.
    //

    async ofHandles(handles, path, list) {
        const files = await Promise.all(handles.map(each =>
            each.kind === 'file' ? each.getFile() : null));
        for (const [i, each] of handles.entries()) {
            if (files[i] !== null) {
                this.add(list, path + each.name, files[i], each);
            } else {
                await this.ofHandle(each, path, list);
            }
        }
    },

    async ofEntry(entry, path, list, name = entry.name) {
        if (entry.isFile) {
            const file = await new Promise((resolve, reject) =>
                entry.file(resolve, reject));
            this.add(list, path + name, file, null);
            return;
        }
        const reader = entry.createReader();
        for (;;) {
            const some = await new Promise((resolve, reject) =>
                reader.readEntries(resolve, reject));
            if (!some.length) {
                return;
            }
            for (const each of some) {
                await this.ofEntry(each, path + name + '/', list);
            }
        }
    },

    //
    // The items of a drop are only there while the event is handled: so all
    // are asked first.
    //

    async ofDrop(transfer, roots) {
        const asked = [...transfer.items].filter(each =>
            each.kind === 'file').map(item => {
            const entry = item.webkitGetAsEntry ? item.webkitGetAsEntry()
                : null;
            const file = item.getAsFile();
            let handle = null;
            if (item.getAsFileSystemHandle && window.isSecureContext) {
                handle = item.getAsFileSystemHandle().catch(() => null);
            }
            return { entry, file, handle };
        });
        const list = [];
        const names = new Set();
        for (const { entry, file, handle } of asked) {
            const found = handle ? await handle : null;
            if (found) {
                roots.push(found);
                this.names.set(found, this.nameApart(names, found.name));
                await this.ofHandle(found, '', list);
            } else if (entry) {
                await this.ofEntry(entry, '', list,
                                   this.nameApart(names, entry.name));
            } else if (file) {
                this.add(list, file.name, file, null);
            }
        }
        return list;
    },

    ofInput(input) {
        const list = [];
        for (const file of input.files) {
            this.add(list, file.webkitRelativePath || file.name, file, null);
        }
        return list;
    },

    bytesOf(id) {
        const element = $(id);
        const text = element.textContent.trim();
        element.remove();
        if (Uint8Array.fromBase64) {
            return Uint8Array.fromBase64(text);
        }
        const decoded = atob(text);
        const bytes = new Uint8Array(decoded.length);
        for (let i = 0; i < bytes.length; i++) {
            bytes[i] = decoded.charCodeAt(i);
        }
        return bytes;
    },

    //
    // The pack that the page was written with.
    //

    ofPage() {
        const element = $('embedded');
        if (element === null) {
            return null;
        }
        const name = element.dataset.name || 'session.pack';
        return [{ path: name, file: new File([this.bytesOf('embedded')], name),
                  handle: null }];
    },

    //
    // What a list of files is called: the folder that all are in, or the file.
    //

    nameOf(list) {
        const tops = new Set(list.map(each => each.path.split('/')[0]));
        return tops.size === 1 ? [...tops][0]
            : [...tops].slice(0, 3).join(' ');
    }
};
