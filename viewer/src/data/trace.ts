// SPDX-License-Identifier: MIT OR Apache-2.0
// The events of a run, laid out for drawing and summing.
//
//   chunks, in order of start ─► TraceBuilder ─► Trace
//
// In a Trace the events of one track at one depth lie side by side (a Row) and
// do not overlap: starts and ends both rise, so that a window is two binary
// searches, a parent is one search in the row above, and a range is summed
// without a branch. An event is its position. Instead of its name it has its
// node in the call tree, which knows the name, the path and the colour.
//
// Cost: 20 bytes an event (start, duration, node), 4 more where any event has
// args, and 20 bytes every 32 events for the summary that far zoom uses.
import {type Chunk, type Column} from "./decode";
import {type TrackInfo} from "./meta";

export const BLOCK = 32;
export const LARGE = BLOCK * BLOCK;
/** A position that is none. */
export const NONE = 0xffffffff;

export interface Row {
    track: number;
    depth: number;
    first: number;
    end: number;
}

export interface Track extends TrackInfo {
    index: number;
    rows: number; // index of the row at depth 0
    depth: number; // how many rows
}

/** Above what belongs to no thread's call tree: asynchronous spans, and scopes
 *  that overlap their siblings. Such events have calls and time, and no time of
 *  their own: it is others' at the same moment. */
export const LOOSE = 1;

export function isLoose(t: TrackInfo): boolean {
    return t.row[0] === "a" || (t.row[0] === "t" && t.lane > 0);
}

/** The call tree; node 0 is the root, node 1 stands for all that is loose. */
export class Nodes {
    name = new Uint32Array(1024);
    parent = new Int32Array(1024);
    /** Its name also stands above it on the path. */
    recursive = new Uint8Array(1024);
    n = 2;
    #slots = new Int32Array(4096);

    constructor() {
        this.parent[0] = -1;
        this.name[0] = this.name[LOOSE] = NONE;
    }

    /** Which nodes are loose; parents come before their children. */
    loose(): Uint8Array {
        const out = new Uint8Array(this.n);
        out[LOOSE] = 1;
        for (let k = 2; k < this.n; k++) out[k] = out[this.parent[k]!]!;
        return out;
    }

    child(parent: number, name: number): number {
        const mask = this.#slots.length - 1;
        let h = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b)) >>> 0;
        h = (h ^ (h >>> 15)) & mask;
        for (;;) {
            const node = this.#slots[h]!;
            if (node === 0) return this.#add(parent, name, h);
            if (this.parent[node] === parent && this.name[node] === name) return node;
            h = (h + 1) & mask;
        }
    }

    #add(parent: number, name: number, slot: number): number {
        const node = this.n++;
        if (node === this.name.length) this.#grow();
        this.name[node] = name;
        this.parent[node] = parent;
        for (let a = parent; a > 0; a = this.parent[a]!) {
            if (this.name[a] === name) {
                this.recursive[node] = 1;
                break;
            }
        }
        this.#slots[slot] = node;
        if (this.n * 2 > this.#slots.length) this.#rehash();
        return node;
    }

    #grow(): void {
        const size = this.name.length * 2;
        const wider = <T extends Uint32Array | Int32Array | Uint8Array>(from: T, to: T): T => (to.set(from), to);
        this.name = wider(this.name, new Uint32Array(size));
        this.parent = wider(this.parent, new Int32Array(size));
        this.recursive = wider(this.recursive, new Uint8Array(size));
    }

    #rehash(): void {
        const mask = this.#slots.length * 2 - 1;
        const slots = new Int32Array(mask + 1);
        for (let node = 2; node < this.n; node++) {
            let h = (Math.imul(this.parent[node]!, 0x9e3779b1) ^ Math.imul(this.name[node]!, 0x85ebca6b)) >>> 0;
            h = (h ^ (h >>> 15)) & mask;
            while (slots[h]) h = (h + 1) & mask;
            slots[h] = node;
        }
        this.#slots = slots;
    }
}

/** Of blocks of events: sum of durations, which is the longest, and how long. */
export interface Blocks {
    sum: Float64Array;
    longest: Uint32Array;
    peak: Float64Array;
}

/** Of 32 events each, or of 32 blocks each. */
function summarizeBlocks(dur: Float64Array, below?: Blocks): Blocks {
    const size = below ? below.sum.length : dur.length;
    const n = Math.ceil(size / BLOCK);
    const out = {sum: new Float64Array(n), longest: new Uint32Array(n), peak: new Float64Array(n)};
    const sums = below ? below.sum : dur, peaks = below ? below.peak : dur;
    for (let b = 0; b < n; b++) {
        const last = Math.min(size, (b + 1) * BLOCK);
        let sum = 0, best = b * BLOCK;
        for (let i = best; i < last; i++) {
            sum += sums[i]!;
            if (peaks[i]! > peaks[best]!) best = i;
        }
        out.sum[b] = sum;
        out.peak[b] = peaks[best]!;
        out.longest[b] = below ? below.longest[best]! : best;
    }
    return out;
}

export interface Flows {
    from: Uint32Array; // event positions, by `from`
    to: Uint32Array;
    byTo: Uint32Array; // indices, by `to`
}

export class Trace {
    constructor(
        readonly n: number,
        readonly start: Float64Array,
        readonly dur: Float64Array,
        readonly node: Uint32Array,
        readonly args: Uint32Array | null,
        readonly nodes: Nodes,
        readonly tracks: Track[],
        readonly rows: Row[],
        /** Latest end of any event. */
        readonly end: number,
    ) {
        this.blocks = summarizeBlocks(dur);
        this.large = summarizeBlocks(dur, this.blocks);
    }
    /** Of each 32 events, and of each 1024. */
    readonly blocks: Blocks;
    readonly large: Blocks;
    flows: Flows | null = null;
    /** Blocks that stand for many events: position → [how many, sum]. */
    merged = new Map<number, [number, number]>();

    name(i: number): number {
        return this.nodes.name[this.node[i]!]!;
    }

    /** First event of the row that starts at t or later. */
    lowerStart(row: Row, t: number): number {
        return lowerBound(this.start, row.first, row.end, t);
    }

    /** First event of the row that ends after t, or starts at t. */
    firstAfter(row: Row, t: number): number {
        const i = this.lowerStart(row, t);
        return i > row.first && this.start[i - 1]! + this.dur[i - 1]! > t ? i - 1 : i;
    }

    rowOf(i: number): Row {
        let lo = 0, hi = this.rows.length - 1;
        while (lo < hi) {
            const mid = (lo + hi + 1) >> 1;
            if (this.rows[mid]!.first <= i) lo = mid;
            else hi = mid - 1;
        }
        return this.rows[lo]!;
    }

    parent(i: number): number {
        const row = this.rowOf(i);
        if (row.depth === 0) return -1;
        const above = this.rows[this.tracks[row.track]!.rows + row.depth - 1]!;
        // The last one that starts no later: it holds i, or i would not be here.
        return this.lowerStart(above, this.start[i]! + 0.5) - 1;
    }

    childRange(i: number): [number, number] {
        const row = this.rowOf(i);
        const track = this.tracks[row.track]!;
        if (row.depth + 1 >= track.depth) return [0, 0];
        const below = this.rows[track.rows + row.depth + 1]!;
        const next = i + 1 < row.end ? this.start[i + 1]! : Infinity;
        const a = this.lowerStart(below, this.start[i]!);
        const b = next === this.start[i] ? a : this.lowerStart(below, Math.min(next, this.start[i]! + this.dur[i]! + 0.5));
        return [a, b];
    }

    self(i: number): number {
        const [a, b] = this.childRange(i);
        return this.dur[i]! - this.sumDur(a, b);
    }

    /** How much of the time from a to b the events of a row fill. */
    covered(row: Row, a: number, b: number): number {
        const first = this.firstAfter(row, a), end = this.lowerStart(row, b);
        if (end <= first) return 0;
        const sticksOut = Math.max(0, a - this.start[first]!) + Math.max(0, this.start[end - 1]! + this.dur[end - 1]! - b);
        return this.sumDur(first, end) - sticksOut;
    }

    /** Sum of the durations of events a … b − 1. */
    sumDur(a: number, b: number): number {
        let sum = 0;
        while (a < b && a % BLOCK) sum += this.dur[a++]!;
        for (; a + BLOCK <= b; a += BLOCK) sum += this.blocks.sum[a / BLOCK]!;
        while (a < b) sum += this.dur[a++]!;
        return sum;
    }
}

export function lowerBound(a: ArrayLike<number>, lo: number, hi: number, x: number): number {
    while (lo < hi) {
        const mid = (lo + hi) >>> 1;
        if (a[mid]! < x) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

// ---- building -------------------------------------------------------------------------

interface Part {
    n: number;
    number: number; // of its first event, through all tracks
    start: Float64Array;
    dur: Float64Array;
    node: Uint32Array;
    depth: Uint32Array;
    args: Uint32Array | null;
}

/** Takes the events chunks in order. */
export class TraceBuilder {
    readonly nodes = new Nodes();
    #parts: Part[] = [];
    #track = -1;
    #left = 0; // events of the track still to come
    #before = 0;
    #ends: number[] = [];
    #path: number[] = [];
    #depth = 0;
    #root = 0;
    #counts: number[][] = []; // events by track and depth
    #taken = 0;
    #number = 0; // taken and skipped
    #end = 0;

    constructor(private readonly infos: TrackInfo[], private readonly nNames: number) {}

    add(chunk: Chunk): void {
        const n = chunk.n;
        const {start, dur} = {start: new Float64Array(n), dur: new Float64Array(n)};
        const part: Part = {n, number: this.#number, start, dur, node: new Uint32Array(n), depth: new Uint32Array(n), args: chunk.columns[3]?.lo ?? null};
        const [cs, cd, cn, , cf] = chunk.columns as [Column, Column, Column, Column, Column];
        fill(start, cs);
        fill(dur, cd);
        this.#before = 0;
        for (let i = 0; i < n; i++) {
            if (this.#left === 0 && !this.#nextTrack()) throw new Error("has more events than the tracks");
            this.#left--;
            const s = (start[i]! += this.#before);
            this.#before = s;
            const e = s + dur[i]!;
            if (e > this.#end) this.#end = e;
            this.#nest(s, cf?.lo ? cf.lo[i]! : 0);
            const d = this.#depth;
            const name = cn.lo ? cn.lo[i]! : 0;
            const node = this.nodes.child(d ? this.#path[d - 1]! : this.#root, name < this.nNames ? name : 0);
            this.#ends[d] = e;
            this.#path[d] = node;
            this.#depth = d + 1;
            part.node[i] = node;
            part.depth[i] = d;
            const counts = this.#counts[this.#track]!;
            counts[d] = (counts[d] ?? 0) + 1;
        }
        this.#parts.push(part);
        this.#taken += n;
        this.#number += n;
    }

    /** A chunk of n events could not be read: they are missing. */
    skip(n: number): void {
        this.#before = 0;
        this.#number += n;
        while (n > 0) {
            if (this.#left === 0 && !this.#nextTrack()) return;
            const k = Math.min(n, this.#left);
            this.#left -= k;
            n -= k;
            this.#depth = 0;
        }
    }

    #nextTrack(): boolean {
        while (this.#left === 0) {
            const info = this.infos[++this.#track];
            if (!info) return false;
            this.#counts.push([]);
            this.#root = isLoose(info) ? LOOSE : 0;
            this.#left = info.n;
            this.#before = 0;
            this.#depth = 0;
        }
        return true;
    }

    /** Sets the depth of an event that starts at s. */
    #nest(s: number, more: number): void {
        let d = this.#depth;
        while (d > 0 && this.#ends[d - 1]! <= s) d--;
        this.#depth = Math.min(this.#depth, d + more);
    }

    /** Also gives the position of each event by its number, where asked. */
    finish(wantPositions: boolean): {trace: Trace; positions: Uint32Array | null} {
        const tracks: Track[] = [];
        const rows: Row[] = [];
        let at = 0;
        this.infos.forEach((info, index) => {
            const counts = this.#counts[index] ?? [];
            tracks.push({...info, index, rows: rows.length, depth: counts.length});
            counts.forEach((c, depth) => {
                rows.push({track: index, depth, first: at, end: at + c});
                at += c;
            });
        });
        const n = this.#taken;
        const start = new Float64Array(n), dur = new Float64Array(n), node = new Uint32Array(n);
        const args = this.#parts.some((p) => p.args) ? new Uint32Array(n) : null;
        const positions = wantPositions ? new Uint32Array(this.#number).fill(NONE) : null;
        this.#scatter({start, dur, node, args, positions}, tracks, rows);
        const trace = new Trace(n, start, dur, node, args, this.nodes, tracks, rows, this.#end);
        return {trace, positions};
    }

    /** Puts each event where its row has it: first the places, then a column at a time. */
    #scatter(to: {start: Float64Array; dur: Float64Array; node: Uint32Array; args: Uint32Array | null; positions: Uint32Array | null},
        tracks: Track[], rows: Row[]): void {
        const next = Uint32Array.from(rows, (r) => r.first);
        let track = -1, left = 0, base = 0;
        for (let k = 0; k < this.#parts.length; k++) {
            const p = this.#parts[k]!;
            this.#parts[k] = undefined as unknown as Part; // let go of it when done
            const place = p.depth, n = p.n;
            for (let i = 0; i < n; i++) {
                while (left === 0) {
                    track++;
                    left = this.#counts[track]!.reduce((a, b) => a + b, 0);
                    base = tracks[track]!.rows;
                }
                left--;
                place[i] = next[base + place[i]!]!++;
            }
            moveDoubles(p.start, to.start, place);
            moveDoubles(p.dur, to.dur, place);
            moveWords(p.node, to.node, place);
            if (to.args && p.args) moveWords(p.args, to.args, place);
            if (to.positions) to.positions.set(place, p.number);
        }
        this.#parts = [];
    }
}

// Two of them: one function for both kinds of array would be several times slower.
function moveDoubles(from: Float64Array, to: Float64Array, place: Uint32Array): void {
    for (let i = 0; i < place.length; i++) to[place[i]!] = from[i]!;
}

function moveWords(from: Uint32Array, to: Uint32Array, place: Uint32Array): void {
    for (let i = 0; i < place.length; i++) to[place[i]!] = from[i]!;
}

function fill(to: Float64Array, c: Column | undefined): void {
    const n = to.length;
    if (c?.lo) for (let i = 0; i < n; i++) to[i] = c.lo[i]!;
    if (c?.hi) for (let i = 0; i < n; i++) to[i]! += c.hi[i]! * 4294967296;
}
