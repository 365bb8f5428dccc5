//
// What is below what in the timeline: pinned threads, and then processes with
// their threads.  Places are in units of the page; the pinned ones do not
// scroll.
//

class Lanes {
    static ROW = 17;
    static GROUP = 24;
    static CLOSED = 24;
    static PAD = 7;

    constructor(answers) {
        this.answers = answers;
        this.list = [];
        this.pinned = [];
        this.height = 0;
        this.pinnedHeight = 0;
    }

    static keyOf(thread) {
        return 't' + thread.id;
    }

    //
    // A lane for each; lanes stay the same objects as long as their thread
    // does.
    //

    layOut(state) {
        const { session } = Viewer;
        const old = new Map();
        for (const lane of [...this.list, ...this.pinned]) {
            old.set(lane.key, lane);
        }
        const collapsed = new Set(state.collapsed);
        const pinned = new Set(state.pinned);
        const byId = new Map(session.threads.map(each => [each.id, each]));
        const take = (key, make) => {
            const lane = old.get(key) || { key, y: 0, height: 0 };
            return Object.assign(lane, make);
        };
        const threadLane = (thread, isPinned) => {
            const key = Lanes.keyOf(thread);
            const isOpen = !collapsed.has(key);
            const source = this.answers.sourceOf(key + (isOpen ? '' : '-'),
                [thread.id], !isOpen);
            return take(key, {
                kind: 'thread', thread, isOpen, isPinned, source,
                height: isOpen ? source.depths * Lanes.ROW + Lanes.PAD
                    : Lanes.CLOSED
            });
        };

        this.pinned = state.pinned.filter(id => byId.has(id)).map(
            id => threadLane(byId.get(id), true));
        this.list = [];
        for (const process of session.processes) {
            const key = 'p' + process.id;
            const isOpen = !collapsed.has(key);
            const group = take(key, {
                kind: 'process', process, isOpen, isPinned: false,
                source: isOpen ? null : this.answers.sourceOf(key,
                    process.threads, true),
                height: isOpen ? Lanes.GROUP : Lanes.GROUP + 34
            });
            this.list.push(group);
            if (isOpen) {
                for (const id of process.threads) {
                    if (byId.has(id) && !pinned.has(id)) {
                        this.list.push(threadLane(byId.get(id), false));
                    }
                }
            }
        }
        let y = 0;
        for (const lane of this.pinned) {
            lane.y = y;
            y += lane.height;
        }
        this.pinnedHeight = y;
        y = 0;
        let group = null;
        for (const lane of this.list) {
            if (lane.kind === 'process') {
                if (group !== null) {
                    group.bottom = y;
                }
                group = lane;
            }
            lane.y = y;
            lane.group = group;
            y += lane.height;
        }
        if (group !== null) {
            group.bottom = y;
        }
        this.height = y;
    }

    //
    // The lane of a thread: null if its process is collapsed.
    //

    laneOf(thread) {
        const key = 't' + thread;
        return this.pinned.find(each => each.key === key) ||
            this.list.find(each => each.key === key) || null;
    }

    //
    // The first lane that ends below a place.
    //

    firstAt(y) {
        let low = 0, high = this.list.length;
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (this.list[middle].y + this.list[middle].height > y) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
}
