// SPDX-License-Identifier: MIT OR Apache-2.0
// The critical path by time: which thread the run's length came from at each
// moment, and what that thread did then.
import {values, type Column} from "./decode";
import {type Report} from "./report";
import {READY} from "./states";
import {lowerBound, type Track} from "./trace";

const WORK = 0, NO_CPU = 2;

/** By kind of a piece. */
export const PIECE_KINDS = ["work", "a wait that nothing hides", "no processor was free", "nothing that is known"];

export class Path {
    readonly n: number;
    readonly begin: Float64Array;
    readonly end: Float64Array;
    /** Strings. */
    readonly name: Float64Array;
    /** Index into threads; −1: nobody's, or a queue's. */
    readonly thread: Int32Array;
    readonly kind: Uint8Array;

    constructor(columns: Column[], n: number) {
        this.n = n;
        this.begin = values(columns[0], n);
        this.end = values(columns[1], n);
        let at = 0; // a piece begins so long after the one before
        for (let i = 0; i < n; i++) {
            this.begin[i]! += at;
            at = this.end[i]! += this.begin[i]!;
        }
        this.name = values(columns[2], n);
        this.thread = Int32Array.from(values(columns[3], n), (x) => x - 1);
        this.kind = Uint8Array.from(values(columns[4], n), (x) => Math.min(x, 3));
    }

    /** The piece at that time; −1: none. */
    at(t: number): number {
        const i = lowerBound(this.end, 0, this.n, t + 0.5);
        return i < this.n && this.begin[i]! <= t ? i : -1;
    }
}

/** What is on the path at a moment. */
export interface OnPath {
    piece: number;
    kind: number;
    name: number;
    from: number;
    to: number;
}

/** A piece of work may be several operations in a long run; the thread's slices and
 * states tell the moment. What waits there is no work: the piece knows better. */
export class PathReader {
    readonly #tracks = new Map<number, Track>();

    constructor(readonly report: Report, readonly path: Path) {
        for (const t of report.trace?.tracks ?? []) if (t.row[0] === "t" && t.lane === 0 && t.kind === "slices") this.#tracks.set(Number(t.row.slice(1)), t);
    }

    at(t: number): OnPath | null {
        const {path, report} = this, piece = path.at(t);
        if (piece < 0) return null;
        const thread = path.thread[piece]!, from = path.begin[piece]!, to = path.end[piece]!;
        const whole = {piece, kind: path.kind[piece]!, name: path.name[piece]!, from, to};
        if (whole.kind !== WORK) return whole;
        const state = report.states.get(thread)?.at(t);
        const i = this.#innermost(thread, t);
        const isWait = i >= 0 && report.category(report.trace!.name(i)) === "sync";
        const name = i < 0 || isWait ? whole.name : report.trace!.name(i);
        if (state?.state === READY) return {...whole, kind: NO_CPU, name, from: Math.max(from, state.from), to: Math.min(to, state.to)};
        if (i < 0 || isWait) return whole;
        const {start, dur} = report.trace!;
        return {...whole, kind: WORK, name, from: Math.max(from, start[i]!), to: Math.min(to, start[i]! + dur[i]!)};
    }

    /** The innermost slice of a thread at a time; −1: none. */
    #innermost(thread: number, t: number): number {
        const {trace} = this.report, track = this.#tracks.get(thread);
        let found = -1;
        for (let d = 0; track && d < track.depth; d++) {
            const row = trace!.rows[track.rows + d]!, i = trace!.firstAfter(row, t);
            if (i >= row.end || trace!.start[i]! > t) break;
            found = i;
        }
        return found;
    }
}
