// SPDX-License-Identifier: MIT OR Apache-2.0
// Call trees with a weight a node, as the flame graph draws them: of the whole
// run or of a range, from the top, or of one name with all its callers
// (upside down) and all it calls.
import {type TreeColumns} from "./meta";
import {type NodeSums} from "./aggregate";
import {type Trace} from "./trace";

export type Weight = "time" | "calls" | "bytes";

/** Node 0 is the root; parents come before their children. */
export class Tree {
    readonly n: number;
    #order: Int32Array | null = null;
    #from: Int32Array | null = null;

    constructor(readonly name: ArrayLike<number>, readonly parent: ArrayLike<number>,
        /** Inclusive. */
        readonly weight: Float64Array, readonly calls: ArrayLike<number>) {
        this.n = weight.length;
    }

    /** Children of a node, heaviest first. */
    children(node: number): Int32Array {
        if (!this.#from) this.#sort();
        return this.#order!.subarray(this.#from![node]!, this.#from![node + 1]!);
    }

    #sort(): void {
        const from = new Int32Array(this.n + 2);
        for (let k = 1; k < this.n; k++) from[this.parent[k]! + 2]!++;
        for (let k = 1; k < from.length; k++) from[k]! += from[k - 1]!;
        const order = new Int32Array(Math.max(0, this.n - 1));
        for (let k = 1; k < this.n; k++) order[from[this.parent[k]! + 1]!++] = k;
        for (let k = 0; k < this.n; k++) {
            const part = order.subarray(from[k]!, from[k + 1]!);
            if (part.length > 1) part.sort((a, b) => this.weight[b]! - this.weight[a]! || a - b);
        }
        this.#order = order;
        this.#from = from;
    }

    /** Whether anything of that name weighs something. */
    has(name: number): boolean {
        for (let k = 1; k < this.n; k++) if (this.name[k] === name && this.weight[k]! > 0) return true;
        return false;
    }
}

/** Where a parent's weight is less than its children's sum (calls), it is that. */
function atLeastChildren(parent: ArrayLike<number>, own: ArrayLike<number>): Float64Array {
    const n = own.length;
    const w = new Float64Array(n), kids = new Float64Array(n);
    for (let k = n - 1; k >= 0; k--) {
        w[k] = Math.max(own[k]!, kids[k]!);
        if (k > 0) kids[parent[k]!]! += w[k]!;
    }
    return w;
}

/** Adds what a node itself has to all above it. */
function inclusive(parent: ArrayLike<number>, own: ArrayLike<number>): Float64Array {
    const w = Float64Array.from(own);
    for (let k = w.length - 1; k > 0; k--) w[parent[k]!]! += w[k]!;
    return w;
}

export function wholeTree(t: TreeColumns, weight: Weight): Tree {
    const w = weight === "bytes" ? inclusive(t.parent, t.alloc)
        : atLeastChildren(t.parent, weight === "time" ? t.total : t.calls);
    return new Tree(t.name, t.parent, w, t.calls);
}

export function rangeTree(trace: Trace, sums: NodeSums, weight: Weight): Tree {
    const {nodes} = trace;
    const loose = nodes.loose();
    const own = (weight === "calls" ? sums.calls : sums.total).map((x, k) => (loose[k] ? 0 : x));
    const parent = nodes.parent.subarray(0, nodes.n);
    return new Tree(nodes.name.subarray(0, nodes.n), parent, atLeastChildren(parent, own), sums.calls);
}

// ---- sandwich -------------------------------------------------------------------------

class Builder {
    name: number[] = [];
    parent: number[] = [];
    weight: number[] = [];
    calls: number[] = [];
    #ids = new Map<string, number>();

    node(parent: number, name: number, weight: number, calls: number): number {
        const key = `${parent} ${name}`;
        let id = this.#ids.get(key);
        if (id === undefined) {
            id = this.name.length;
            this.#ids.set(key, id);
            this.name.push(name);
            this.parent.push(parent);
            this.weight.push(0);
            this.calls.push(0);
        }
        this.weight[id]! += weight;
        this.calls[id]! += calls;
        return id;
    }

    tree(): Tree {
        return new Tree(this.name, this.parent, Float64Array.from(this.weight), this.calls);
    }
}

/** Nodes of that name that have no other of that name above them. */
function outermost(t: Tree, name: number): number[] {
    const inside = new Uint8Array(t.n);
    const found: number[] = [];
    for (let k = 1; k < t.n; k++) {
        if (inside[t.parent[k]!]) inside[k] = 1;
        else if (t.name[k] === name) {
            inside[k] = 1;
            if (t.weight[k]! > 0) found.push(k);
        }
    }
    return found;
}

export function callees(t: Tree, name: number): Tree {
    const b = new Builder();
    b.node(-1, name, 0, 0);
    const add = (from: number, to: number, depth: number): void => {
        b.weight[to]! += t.weight[from]!;
        b.calls[to]! += t.calls[from]!;
        if (depth < 200) for (const c of t.children(from)) if (t.weight[c]! > 0) add(c, b.node(to, t.name[c]!, 0, 0), depth + 1);
    };
    for (const k of outermost(t, name)) add(k, 0, 0);
    return b.tree();
}

export function callers(t: Tree, name: number): Tree {
    const b = new Builder();
    b.node(-1, name, 0, 0);
    for (const k of outermost(t, name)) {
        const weight = t.weight[k]!, calls = t.calls[k]!;
        b.weight[0]! += weight;
        b.calls[0]! += calls;
        let at = 0;
        for (let a = t.parent[k]!; a > 0; a = t.parent[a]!) at = b.node(at, t.name[a]!, weight, calls);
    }
    return b.tree();
}
