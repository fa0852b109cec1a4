// SPDX-License-Identifier: MIT OR Apache-2.0
// What a thread did as the scheduler saw it: it ran, wanted a processor and had
// none, or waited. Recorded are the times off a processor; between them it ran,
// or was off for so short a time that it is not here.
import {running, values, type Column} from "./decode";
import {lowerBound} from "./trace";
import {type Thread} from "./meta";

export const WAITING = 1, READY = 2;
/** By state; 0: it ran. */
export const STATE_NAMES = ["running", "waiting", "wants a processor"];

/** Nanoseconds by state. */
export type StateSums = [number, number, number];

export interface StateAt {
    state: number;
    from: number;
    to: number;
}

export class ThreadStates {
    /** Of all before each: waiting, ready. */
    readonly #sums: [Float64Array, Float64Array];

    /** Times rise and do not overlap. */
    constructor(readonly life: [number, number], readonly begin: Float64Array, readonly end: Float64Array, readonly state: Uint8Array) {
        const n = begin.length;
        this.#sums = [new Float64Array(n + 1), new Float64Array(n + 1)];
        for (let i = 0; i < n; i++) {
            const d = end[i]! - begin[i]!;
            this.#sums[0][i + 1] = this.#sums[0][i]! + (state[i] === READY ? 0 : d);
            this.#sums[1][i + 1] = this.#sums[1][i]! + (state[i] === READY ? d : 0);
        }
    }

    /** How long it was in each state from a to b. */
    sums(a: number, b: number): StateSums {
        a = Math.max(a, this.life[0]);
        b = Math.min(b, this.life[1]);
        if (!(b > a)) return [0, 0, 0];
        const [w0, r0] = this.before(a), [w1, r1] = this.before(b);
        return [Math.max(0, b - a - (w1 - w0) - (r1 - r0)), w1 - w0, r1 - r0];
    }

    /** How long it had waited, and wanted a processor, before t. */
    before(t: number): [number, number] {
        const i = lowerBound(this.begin, 0, this.begin.length, t);
        const sums: [number, number] = [this.#sums[0][i]!, this.#sums[1][i]!];
        // the last one that has begun may go on
        if (i > 0 && this.end[i - 1]! > t) sums[this.state[i - 1] === READY ? 1 : 0] -= this.end[i - 1]! - t;
        return sums;
    }

    at(t: number): StateAt | null {
        if (t < this.life[0] || t > this.life[1]) return null;
        const i = lowerBound(this.end, 0, this.end.length, t + 0.5);
        if (i < this.begin.length && this.begin[i]! <= t) return {state: this.state[i]!, from: this.begin[i]!, to: this.end[i]!};
        return {state: 0, from: i ? this.end[i - 1]! : this.life[0], to: this.begin[i] ?? this.life[1]};
    }
}

/** By thread; those whose states are not known have none. */
export function readStates(threads: Thread[], columns: Column[], n: number): Map<number, ThreadStates> {
    const thread = values(columns[0], n), dur = values(columns[2], n), state = Uint8Array.from(values(columns[3], n));
    const out = new Map<number, ThreadStates>();
    for (let a = 0, b = 0; a < n; a = b) {
        while (b < n && thread[b] === thread[a]) b++;
        const begin = running(part(columns[1], a, b), b - a), end = new Float64Array(b - a);
        let before = 0; // times are since the end of the one before
        for (let i = 0; i < b - a; i++) {
            begin[i]! += before;
            before += dur[a + i]!;
            end[i] = begin[i]! + dur[a + i]!;
        }
        const t = threads[thread[a]!];
        if (t && !out.has(thread[a]!)) out.set(thread[a]!, new ThreadStates([Math.min(t.begin, begin[0]!), Math.max(t.end, end[b - a - 1]!)], begin, end, state.slice(a, b)));
    }
    // A thread that the scheduler told of and that was never off for long.
    threads.forEach((t, i) => {
        if (t.ready !== undefined && !out.has(i)) out.set(i, new ThreadStates([t.begin, t.end], new Float64Array(0), new Float64Array(0), new Uint8Array(0)));
    });
    return out;
}

function part(c: Column | undefined, a: number, b: number): Column {
    return {lo: c?.lo?.subarray(a, b) ?? null, hi: c?.hi?.subarray(a, b) ?? null};
}
