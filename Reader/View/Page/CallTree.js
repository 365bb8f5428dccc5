//
// A call tree as boxes: how wide each node is, its children in order, and
// where everything is when it is drawn.
//
// The tree is that of engine.tree(): for each node its function, its parent's
// number, calls, total and self, and, if there are imports, which module
// called; node 0 is the root, and a parent stands before its children.
//

class CallTree {
    static NONE = 0xffffffff;       // the root's function

    constructor(nodes) {
        const count = nodes.function.length;
        this.count = count;
        this.function = nodes.function;
        this.parent = nodes.parent;
        this.caller = nodes.caller || null;
        this.calls = nodes.calls;
        this.total = nodes.total;
        this.self = nodes.self;
        this.width = new Float64Array(count);
        this.depth = new Uint32Array(count);
        this.rows = 1;
        this.measure();
        this.orderChildren();
    }

    //
    // A node is as wide as its total, or as its children together if that is
    // more: the time of calls that were abandoned is in no total.
    //

    measure() {
        const inside = this.inside = new Float64Array(this.count);
        for (let i = this.count - 1; i > 0; i--) {
            this.width[i] = Math.max(this.total[i], inside[i]);
            inside[this.parent[i]] += this.width[i];
        }
        for (let i = 1; i < this.count; i++) {
            this.depth[i] = this.depth[this.parent[i]] + 1;
            this.rows = Math.max(this.rows, this.depth[i] + 1);
        }
        if (this.count) {
            this.width[0] = inside[0];
        }
    }

    get whole() {
        return this.count ? this.width[0] : 0;
    }

    //
    // The widest first.
    //

    orderChildren() {
        const first = new Uint32Array(this.count + 1);
        for (let i = 1; i < this.count; i++) {
            first[this.parent[i] + 1]++;
        }
        for (let i = 0; i < this.count; i++) {
            first[i + 1] += first[i];
        }
        const next = first.slice();
        const order = new Uint32Array(Math.max(this.count - 1, 0));
        for (let i = 1; i < this.count; i++) {
            order[next[this.parent[i]]++] = i;
        }
        for (let i = 0; i < this.count; i++) {
            if (first[i + 1] - first[i] > 1) {
                order.subarray(first[i], first[i + 1]).sort((one, other) =>
                    this.width[other] - this.width[one] || one - other);
            }
        }
        this.first = first;
        this.order = order;
    }

    childrenOf(node) {
        return this.order.subarray(this.first[node], this.first[node + 1]);
    }

    //
    // Which module called a node's function, if it is an import: a number; 0:
    // it is none.
    //

    callerOf(node) {
        return this.caller === null ? 0 : this.caller[node];
    }

    //
    // What tells a node from those beside it: the function, and which module
    // called it.
    //

    static keyOf(id, caller) {
        return id + (caller || 0) * 0x100000000;
    }

    keyOf(node) {
        return CallTree.keyOf(this.function[node], this.callerOf(node));
    }

    //
    // From the root's child to the node: their keys, by which the node is
    // found again in another tree.
    //

    pathOf(node) {
        const path = [];
        for (let at = node; at > 0; at = this.parent[at]) {
            path.unshift(this.keyOf(at));
        }
        return path;
    }

    //
    // The node at the end of a path, or the last one of it that there is.
    //

    nodeAt(path) {
        let node = 0;
        for (const wanted of path) {
            const next = this.childrenOf(node).find(
                each => this.keyOf(each) === wanted);
            if (next === undefined) {
                break;
            }
            node = next;
        }
        return node;
    }

    //
    // How much of the width is in nodes of which isWanted(function) is true;
    // of nodes inside of each other the outermost counts.
    //

    widthOf(isWanted) {
        const isInside = new Uint8Array(this.count);
        let sum = 0;
        for (let i = 1; i < this.count; i++) {
            const isAbove = isInside[this.parent[i]];
            const isHere = isWanted(this.function[i]);
            isInside[i] = isAbove || isHere ? 1 : 0;
            if (isHere && !isAbove) {
                sum += this.width[i];
            }
        }
        return sum;
    }

    //
    // Where the boxes are: what is above the zoomed node as wide as all, then
    // the node, then what is below it.  Nodes that would be narrower than
    // least pixels are one box, with their number.
    // Returns [{node, row, x, width, isAbove, rest}].
    //

    layout(zoomed, width, least = 0.5, rows = Infinity) {
        const boxes = [];
        const chain = [];
        for (let node = zoomed; node >= 0 && this.count; node =
            node === 0 ? -1 : this.parent[node]) {
            chain.unshift(node);
        }
        chain.forEach((node, row) => boxes.push({
            node, row, x: 0, width, isAbove: node !== zoomed, rest: 0
        }));
        if (!this.count || this.width[zoomed] <= 0) {
            return boxes;
        }
        const scale = width / this.width[zoomed];
        const work = [[zoomed, 0, chain.length]];
        while (work.length) {
            const [node, left, row] = work.pop();
            const children = this.childrenOf(node);
            let x = left;
            for (let i = 0; row < rows && i < children.length; i++) {
                const wide = this.width[children[i]] * scale;
                if (wide < least) {
                    let sum = 0;
                    for (let k = i; k < children.length; k++) {
                        sum += this.width[children[k]] * scale;
                    }
                    boxes.push({ node: children[i], row, x, width: sum,
                                 isAbove: false, rest: children.length - i });
                    break;
                }
                boxes.push({ node: children[i], row, x, width: wide,
                             isAbove: false, rest: 0 });
                work.push([children[i], x, row + 1]);
                x += wide;
            }
        }
        return boxes;
    }

    //
    // The nodes of a function that are in no other node of it.
    //

    outermost(wanted) {
        const isInside = new Uint8Array(this.count);
        const found = [];
        for (let i = 1; i < this.count; i++) {
            const isHere = this.function[i] === wanted;
            if (isHere && !isInside[this.parent[i]]) {
                found.push(i);
            }
            isInside[i] = isHere || isInside[this.parent[i]] ? 1 : 0;
        }
        return found;
    }

    static builder() {
        const nodes = { function: [CallTree.NONE], parent: [-1], calls: [0],
                        total: [0], self: [0], caller: [0] };
        const below = [new Map()];
        return {
            nodes,
            step(node, id, caller = 0) {
                const key = CallTree.keyOf(id, caller);
                let next = below[node].get(key);
                if (next === undefined) {
                    next = nodes.function.length;
                    below[node].set(key, next);
                    below.push(new Map());
                    nodes.function.push(id);
                    nodes.parent.push(node);
                    nodes.calls.push(0);
                    nodes.total.push(0);
                    nodes.self.push(0);
                    nodes.caller.push(caller);
                }
                return next;
            },
            add(node, calls, total, self) {
                nodes.calls[node] += calls;
                nodes.total[node] += total;
                nodes.self[node] += self;
            },
            tree: () => new CallTree({
                function: Uint32Array.from(nodes.function),
                parent: Int32Array.from(nodes.parent),
                calls: Float64Array.from(nodes.calls),
                total: Float64Array.from(nodes.total),
                self: Float64Array.from(nodes.self),
                caller: nodes.caller.some(each => each !== 0)
                    ? Uint16Array.from(nodes.caller) : null
            })
        };
    }

    //
    // What a function calls, from wherever it is called: the trees below its
    // outermost nodes as one.
    //

    below(wanted) {
        const made = CallTree.builder();
        const place = new Int32Array(this.count).fill(-1);
        for (const node of this.outermost(wanted)) {
            place[node] = made.step(0, wanted);
        }
        for (let i = 1; i < this.count; i++) {
            const above = place[this.parent[i]];
            if (place[i] < 0 && above >= 0) {
                place[i] = made.step(above, this.function[i],
                                     this.callerOf(i));
            }
            if (place[i] >= 0) {
                made.add(place[i], this.calls[i], this.width[i],
                         this.self[i]);
            }
        }
        return made.tree();
    }

    //
    // Who calls a function: the first node below the root is the function, its
    // children are its callers, theirs their callers; each is as wide as the
    // time that the function took when it was called this way.
    // moduleOf(caller, above): the module that called an import stands between
    // it and the function around it, if it is none of that module: its id, or
    // null.
    //

    above(wanted, moduleOf = () => null) {
        const made = CallTree.builder();
        for (const node of this.outermost(wanted)) {
            let at = 0;
            const add = (id, self) => {
                at = made.step(at, id);
                made.add(at, this.calls[node], this.width[node], self);
            };
            for (let i = node; i > 0; i = this.parent[i]) {
                add(this.function[i], i === node ? this.self[node] : 0);
                const id = moduleOf(this.callerOf(i),
                                    this.function[this.parent[i]]);
                if (id !== null) {
                    add(id, 0);
                }
            }
        }
        return made.tree();
    }
}
