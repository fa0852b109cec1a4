// SPDX-License-Identifier: MIT OR Apache-2.0
// Why nothing ran between two slices, as far as the trace can tell.
import {type Report} from "./report";
import {type Row, type Trace} from "./trace";

export interface Gap {
    from: number;
    to: number;
    cause: string; // short, for the canvas
    text: string; // a sentence
}

/** The first flow that ends at event i, as the event where it begins; −1: none. */
export function flowInto(trace: Trace, i: number): number {
    const f = trace.flows;
    if (!f) return -1;
    let lo = 0, hi = f.byTo.length;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (f.to[f.byTo[mid]!]! < i) lo = mid + 1;
        else hi = mid;
    }
    const k = f.byTo[lo];
    return k !== undefined && f.to[k] === i ? f.from[k]! : -1;
}

export function flowsFrom(trace: Trace, i: number): number[] {
    const f = trace.flows;
    if (!f) return [];
    let lo = 0, hi = f.from.length;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (f.from[mid]! < i) lo = mid + 1;
        else hi = mid;
    }
    const out: number[] = [];
    for (; lo < f.from.length && f.from[lo] === i; lo++) out.push(f.to[lo]!);
    return out;
}

/** The outermost-but-one slice that covers time t on the track of event i. */
export function runningAt(trace: Trace, track: number, t: number): number {
    const tr = trace.tracks[track]!;
    let found = -1;
    for (let d = 0; d < Math.min(tr.depth, 3); d++) {
        const row = trace.rows[tr.rows + d]!;
        const i = trace.firstAfter(row, t);
        if (i >= row.end || trace.start[i]! > t) break;
        found = i;
    }
    return found;
}

/** The gap before event i of a row at depth 0. */
export function gapBefore(report: Report, row: Row, i: number): Gap {
    const trace = report.trace!;
    const from = i > row.first ? trace.start[i - 1]! + trace.dur[i - 1]! : 0;
    const to = i < row.end ? trace.start[i]! : report.duration;
    const track = trace.tracks[row.track]!;
    if (track.row[0] !== "q" || i >= row.end)
        return {from, to, cause: "no scope", text: "No scope was open here: idle, or not instrumented."};
    const launch = flowInto(trace, i);
    if (launch >= 0 && trace.start[launch]! >= from) {
        const host = runningAt(trace, trace.rowOf(launch).track, (from + to) / 2);
        const what = host >= 0 ? report.label(trace.name(host)) : "";
        return {from, to, cause: what ? `host: ${what}` : "host late", text: `The queue was empty: the next launch came after the last one had ended${what ? `; meanwhile the host was in ${what}` : ""}.`};
    }
    if (to - from < 30000) return {from, to, cause: "short gap", text: "A short gap between two that were queued (under 30 µs)."};
    return {from, to, cause: "idle", text: "Idle; no launch was recorded that would say why."};
}
