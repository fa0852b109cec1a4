// SPDX-License-Identifier: MIT OR Apache-2.0
// What the program's allocator was seen to hand out, by place: a tree of names
// (scopes, functions, what the program calls it) and the figures of each place
// at the node where it ends. Input: untrusted; what refers to nothing is left out.
import {doubles, running, values, type Column} from "./decode";
import {MEMORY_KINDS} from "./meta";
import {Tree} from "./tree";

export interface Place {
    node: number;
    at: number; // string: the function, or the program's own name for it
    label: number; // string: with scope, file and line
    scopes: number; // so many names at the beginning of its path are scopes
    named: number; // 1: the program has a name for it
    kind: number;
    current: number;
    blocks: number;
    atPeak: number;
    allocated: number;
    allocs: number;
    frees: number;
    temporary: number;
    early: number; // growth in bytes a step
    late: number;
    stepAllocs: number;
    stepBytes: number;
    first: number; // when it first asked for memory …
    last: number; // … and last; NaN: not known
    thread: number; // 1 + whose all of it was; 0: several, or not known
    /** Blocks by how long they lived: less than 10 µs, 100 µs … 10 s, and more. */
    lived: number[];
}

/** A block that was never freed. */
export interface Kept {
    place: Place;
    bytes: number;
    at: number;
    thread: number; // 1 + its index; 0: not known
    blocks: number; // that it stands for, itself among them
}

type Figure = Exclude<keyof Place, "lived">;
/** In the order of the table's columns; four of them are doubles. */
const KEYS: Figure[] = ["node", "at", "label", "scopes", "named", "kind", "current", "blocks", "atPeak", "allocated", "allocs", "frees", "temporary", "early", "late", "stepAllocs", "stepBytes", "first", "last", "thread"];
const DOUBLES = [13, 16], AGES = 8;
const FIGURES = KEYS.slice(6, 17); // that add up

export interface HeapMode {
    key: string;
    head: string;
    tip: string;
    weight: Figure;
    /** What stands beside the weight in the table of paths. */
    beside: Figure;
    isBytes: boolean;
}

export const HEAP_MODES: HeapMode[] = [
    {key: "peak", head: "High water", tip: "What was live when most was: bytes at the peak", weight: "atPeak", beside: "allocs", isBytes: true},
    {key: "leaks", head: "Leaks", tip: "Bytes that were not freed when recording ended", weight: "current", beside: "blocks", isBytes: true},
    {key: "allocated", head: "Allocated", tip: "All bytes that were ever asked for, freed or not", weight: "allocated", beside: "allocs", isBytes: true},
    {key: "temporary", head: "Temporary", tip: "Blocks that were freed before their thread allocated again: that costs time, not memory", weight: "temporary", beside: "allocs", isBytes: false},
];

export class Heap {
    name: Float64Array = new Float64Array(0);
    parent = new Int32Array(0);
    places: Place[] = [];
    /** When places allocated, and how long their blocks lived, is known. */
    hasTimes = false;
    /** Live bytes over time, highest and lowest in turn. */
    levels: {time: Float64Array; value: Float64Array} | null = null;
    kept: Kept[] = [];
    #last: {mode: HeapMode; tree: Tree} | null = null;

    readTree(columns: Column[], n: number): void {
        this.name = values(columns[0], n);
        // Parents come first; what says otherwise hangs on the root.
        this.parent = Int32Array.from(values(columns[1], n), (p, k) => (k === 0 ? -1 : p < k ? p : 0));
    }

    readPlaces(columns: Column[], n: number): void {
        const none = new Float64Array(n).fill(NaN);
        const all = KEYS.map((_, k) => (k >= columns.length ? none : (k >= DOUBLES[0]! && k <= DOUBLES[1]! ? doubles : values)(columns[k], n)));
        const ages = Array.from({length: AGES}, (_, k) => values(columns[KEYS.length + k], n));
        this.hasTimes = columns.length >= KEYS.length + AGES;
        this.places = Array.from({length: n}, (_, i) => ({...Object.fromEntries(KEYS.map((key, k) => [key, all[k]![i]!])), lived: ages.map((a) => a[i]!)}) as Place);
    }

    /** Stretches of time, each with the least and the most that was live in it. */
    readLevels(columns: Column[], n: number, end: number): void {
        const from = running(columns[0], n), least = values(columns[1], n), most = values(columns[2], n);
        const time: number[] = [], value: number[] = [];
        for (let i = 0; i < n; i++) {
            time.push(from[i]!);
            value.push(most[i]!);
            if (least[i] === most[i]) continue;
            time.push((from[i]! + (from[i + 1] ?? end)) / 2);
            value.push(least[i]!);
        }
        this.levels = {time: Float64Array.from(time), value: Float64Array.from(value)};
    }

    readKept(columns: Column[], n: number): void {
        const [place, bytes, at, thread, blocks] = [0, 1, 2, 3, 4].map((k) => values(columns[k], n)) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
        for (let i = 0; i < n; i++) {
            const of = this.places[place[i]!];
            if (of) this.kept.push({place: of, bytes: bytes[i]!, at: at[i]!, thread: thread[i]!, blocks: blocks[i]!});
        }
    }

    /** Both tables were there. */
    get isWhole(): boolean {
        return this.name.length > 0 && this.places.length > 0;
    }

    /** Names of the scopes that were open, outermost first. */
    scopePath(p: Place): number[] {
        const path: number[] = [];
        for (let k = p.node < this.parent.length ? p.node : 0; k > 0; k = this.parent[k]!) path.push(this.name[k]!);
        return path.reverse().slice(0, p.scopes);
    }

    /** With the weights of a mode; the last one that was asked for is kept. */
    tree(at: number): Tree {
        const mode = HEAP_MODES[at] ?? HEAP_MODES[0]!;
        if (this.#last?.mode !== mode) this.#last = {mode, tree: new Tree(this.name, this.parent, this.#sum(mode.weight), this.#sum(mode.beside))};
        return this.#last.tree;
    }

    /** Of each node with all below it. */
    #sum(key: Figure): Float64Array {
        const sum = new Float64Array(this.name.length);
        for (const p of this.places) if (p.node < sum.length) sum[p.node]! += p[key];
        for (let k = sum.length - 1; k > 0; k--) sum[this.parent[k]!]! += sum[k]!;
        return sum;
    }
}

export type Grouping = "place" | "function" | "scope" | "kind";
/** In which ways places can be one line, and what the line is called. */
export const GROUPINGS: [Grouping, string, string][] = [
    ["place", "Place", "What the program calls it; else the innermost function that is not the C or C++ library's, with its line. The scope that was open stands before it."],
    ["function", "Function or name", "What the program calls it, else the function, whatever its line and scope."],
    ["scope", "Scope", "The scopes that were open, outermost first."],
    ["kind", "Kind", "What the program said that it holds."],
];

export interface Group extends Place {
    text: string;
}

/** Places that are one by that grouping; `text` names a string. */
export function groupPlaces(heap: Heap, by: Grouping, text: (id: number) => string): Group[] {
    const groups = new Map<string, Group>();
    for (const p of heap.places) {
        if (!p.allocs && !p.blocks) continue; // all of it has got a name
        const key = by === "place" ? text(p.label) : by === "function" ? text(p.at) : by === "scope" ? heap.scopePath(p).map(text).join(" › ") || "(in no scope)" : MEMORY_KINDS[p.kind] || (p.named ? "(annotated, of no kind)" : "(found)");
        const g = groups.get(key);
        if (!g) {
            groups.set(key, {...p, text: key});
            continue;
        }
        for (const k of FIGURES) g[k] += p[k];
        g.first = Math.min(g.first, p.first);
        g.last = Math.max(g.last, p.last);
        if (g.thread !== p.thread) g.thread = 0;
        g.lived = g.lived.map((n, k) => n + p.lived[k]!);
        g.kind ||= p.kind;
        g.named ||= p.named;
    }
    return [...groups.values()];
}

/** "grows": more after each step, at no less than a quarter of the pace before. */
export function growthOf(p: Place): "" | "grows" | "levelled off" {
    return !(p.early > 0) ? "" : p.late >= p.early / 4 ? "grows" : "levelled off";
}

const AGE_WORDS = ["under 10 µs", "10 – 100 µs", "100 µs – 1 ms", "1 – 10 ms", "10 – 100 ms", "100 ms – 1 s", "1 – 10 s", "over 10 s"];

/** How long the middle one of its blocks lived; "": none went. */
export function usualLife(p: Place): {words: string; rank: number} {
    const all = p.lived.reduce((a, b) => a + b, 0);
    let seen = 0;
    const rank = p.lived.findIndex((n) => (seen += n) * 2 >= all);
    return all > 0 ? {words: AGE_WORDS[rank] ?? "", rank} : {words: "", rank: NaN};
}
