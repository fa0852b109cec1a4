// SPDX-License-Identifier: MIT OR Apache-2.0
// Search over names: which match, how many slices they have, and what share of
// the recorded time is theirs.
import {type Report} from "./report";
import {lowerBound, type Trace} from "./trace";

export interface Hits {
    names: Set<number>;
    /** Events, in the order of rows, then time; null: no timeline. */
    events: Uint32Array | null;
    share: number; // of the sum of self times
}

export function findHits(report: Report, text: string): Hits | null {
    const needle = text.trim().toLowerCase();
    if (needle === "") return null;
    const names = new Set<number>();
    report.strings.forEach((s, id) => {
        if (s.length < 100000 && s.toLowerCase().includes(needle)) names.add(id);
    });
    let mine = 0, all = 0;
    for (const op of report.ops) {
        all += op.self;
        if (names.has(op.name)) mine += op.self;
    }
    return {names, events: report.trace ? eventsOf(report.trace, names) : null, share: all ? mine / all : 0};
}

/** Every event whose name is among these. */
export function eventsOf(trace: Trace, names: Set<number>): Uint32Array {
    const {nodes, node, n} = trace;
    const want = new Uint8Array(nodes.n);
    for (let k = 1; k < nodes.n; k++) if (names.has(nodes.name[k]!)) want[k] = 1;
    let count = 0;
    for (let i = 0; i < n; i++) count += want[node[i]!]!;
    const out = new Uint32Array(count);
    let at = 0;
    for (let i = 0; i < n; i++) if (want[node[i]!]) out[at++] = i;
    return out;
}

/** The next or previous of these events in time, after event `from`. */
export function nextHit(trace: Trace, events: Uint32Array, from: number, forward: boolean): number {
    const now = from >= 0 ? trace.start[from]! : forward ? -Infinity : Infinity;
    let best = -1, bestKey = Infinity;
    for (const row of trace.rows) {
        const a = lowerBound(events, 0, events.length, row.first), b = lowerBound(events, 0, events.length, row.end);
        if (a === b) continue;
        // In a row, events rise with time: search by start.
        let lo = a, hi = b;
        while (lo < hi) {
            const mid = (lo + hi) >> 1;
            const e = events[mid]!;
            const s = trace.start[e]!;
            if (s < now || (s === now && (forward ? e <= from : e < from))) lo = mid + 1;
            else hi = mid;
        }
        const k = forward ? lo : lo - 1;
        if (k < a || k >= b) continue;
        const key = forward ? trace.start[events[k]!]! - now : now - trace.start[events[k]!]!;
        const finite = Number.isFinite(key) ? key : forward ? trace.start[events[k]!]! : -trace.start[events[k]!]!;
        if (finite < bestKey) {
            bestKey = finite;
            best = events[k]!;
        }
    }
    return best;
}

/** The event of a name that took longest. */
export function longestOf(trace: Trace, name: number): number {
    let best = -1;
    for (const i of eventsOf(trace, new Set([name]))) if (best < 0 || trace.dur[i]! > trace.dur[best]!) best = i;
    return best;
}
