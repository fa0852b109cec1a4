// SPDX-License-Identifier: MIT OR Apache-2.0
// Who ended a wait: from a slice that is a wait to the thread that ended it, to
// that moment and to what it was in then; and back, from what a thread was in to
// the waits that it ended.
import {lowerBound, NONE, type Trace} from "./trace";

/** A slice is looked at in so many places, and told of so many. */
const MOST_LOOKS = 20000;
export const MOST_ENDED = 100;

export interface Waker {
    wait: number; // event
    thread: number; // who ended it …
    time: number; // … and when
}

export class Wakers {
    readonly #byWait: Waker[]; // by event
    readonly #byTime: Waker[]; // by thread, then time
    #last: {slice: number; ended: Waker[]} | null = null;

    constructor(readonly trace: Trace, positions: Uint32Array, event: Float64Array, thread: Float64Array, before: Float64Array) {
        const all: Waker[] = [];
        for (let i = 0; i < event.length; i++) {
            const wait = positions[event[i]!] ?? NONE;
            if (wait !== NONE) all.push({wait, thread: thread[i]!, time: trace.start[wait]! + trace.dur[wait]! - before[i]!});
        }
        this.#byWait = all.sort((a, b) => a.wait - b.wait);
        this.#byTime = [...all].sort((a, b) => a.thread - b.thread || a.time - b.time);
    }

    /** Who ended that wait; null: it is none, or nobody is known. */
    of(wait: number): Waker | null {
        const w = this.#byWait[first(this.#byWait, (x) => x.wait >= wait)];
        return w?.wait === wait ? w : null;
    }

    /** What the thread that ended a wait was in then; −1: in no scope. */
    slice(w: Waker): number {
        return innermostAt(this.trace, w.thread, w.time);
    }

    /** The waits that ended while a thread was in this slice and in none inside it. */
    endedBy(i: number): Waker[] {
        if (this.#last?.slice === i) return this.#last.ended;
        const {trace} = this, row = trace.rowOf(i), track = trace.tracks[row.track]!;
        if (track.row[0] !== "t") return [];
        const thread = Number(track.row.slice(1)), end = trace.start[i]! + trace.dur[i]!;
        const out: Waker[] = [];
        let k = first(this.#byTime, (x) => x.thread > thread || (x.thread === thread && x.time >= trace.start[i]!));
        for (const stop = Math.min(this.#byTime.length, k + MOST_LOOKS); k < stop && out.length < MOST_ENDED; k++) {
            const w = this.#byTime[k]!;
            if (w.thread !== thread || w.time > end) break;
            if (this.slice(w) === i) out.push(w);
        }
        this.#last = {slice: i, ended: out};
        return out;
    }
}

/** The first of a list that is sorted by the question. */
function first<T>(list: T[], isIt: (x: T) => boolean): number {
    let lo = 0, hi = list.length;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (isIt(list[mid]!)) hi = mid;
        else lo = mid + 1;
    }
    return lo;
}

/** The innermost slice of a thread until a time: one that ends then counts, one
 *  that begins then does not. −1: none. */
export function innermostAt(trace: Trace, thread: number, t: number): number {
    const track = trace.tracks.find((x) => x.row === `t${thread}` && x.lane === 0 && x.kind === "slices");
    let found = -1;
    for (let d = 0; d < (track?.depth ?? 0); d++) {
        const row = trace.rows[track!.rows + d]!;
        const i = lowerBound(trace.start, row.first, row.end, t) - 1;
        if (i < row.first || trace.start[i]! + trace.dur[i]! < t) break;
        found = i;
    }
    return found;
}
