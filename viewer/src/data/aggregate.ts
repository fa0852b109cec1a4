// SPDX-License-Identifier: MIT OR Apache-2.0
// Statistics of a range of time, from the events.
//
// An event counts as a call where it touches the range; its time is what lies
// inside. Within a row only the first and the last event can stick out, so
// the rest is summed as it is: 5 M events take some 30 ms.
import {type Trace} from "./trace";

/** By node of the call tree. */
export interface NodeSums {
    calls: Float64Array;
    total: Float64Array;
    min: Float64Array; // of whole calls
    max: Float64Array;
    flops: Float64Array | null;
    bytes: Float64Array | null;
}

/** What the args of an event say of its work, by args id. */
export interface WorkTable {
    flops: Float64Array;
    bytes: Float64Array;
}

export function sumRange(trace: Trace, a: number, b: number, work: WorkTable | null): NodeSums {
    const n = trace.nodes.n;
    const withWork = work !== null && trace.args !== null;
    const sums: NodeSums = {
        calls: new Float64Array(n),
        total: new Float64Array(n),
        min: new Float64Array(n).fill(Infinity),
        max: new Float64Array(n),
        flops: withWork ? new Float64Array(n) : null,
        bytes: withWork ? new Float64Array(n) : null,
    };
    const {start, dur} = trace;
    for (const row of trace.rows) {
        if (trace.tracks[row.track]!.kind !== "slices") continue;
        let first = trace.firstAfter(row, a);
        const end = trace.lowerStart(row, b);
        // An event that ends at a, without duration there, is not in the range.
        while (first < end && start[first]! < a && start[first]! + dur[first]! <= a) first++;
        if (first >= end) continue;
        addWhole(trace, first, end, sums);
        clip(trace, first, a, b, sums);
        if (end - 1 > first) clip(trace, end - 1, a, b, sums);
        if (withWork) addWork(trace, first, end, work, sums);
    }
    return sums;
}

function addWhole(trace: Trace, first: number, end: number, s: NodeSums): void {
    const {dur, node} = trace;
    const {calls, total, min, max} = s;
    for (let i = first; i < end; i++) {
        const k = node[i]!, d = dur[i]!;
        calls[k]!++;
        total[k]! += d;
        if (d < min[k]!) min[k] = d;
        if (d > max[k]!) max[k] = d;
    }
}

/** Takes off what sticks out of the range. */
function clip(trace: Trace, i: number, a: number, b: number, s: NodeSums): void {
    const from = trace.start[i]!, to = from + trace.dur[i]!;
    s.total[trace.node[i]!]! -= Math.max(0, a - from) + Math.max(0, to - b);
}

function addWork(trace: Trace, first: number, end: number, work: WorkTable, s: NodeSums): void {
    const args = trace.args!;
    for (let i = first; i < end; i++) {
        const id = args[i]!;
        if (id === 0) continue;
        s.flops![trace.node[i]!]! += work.flops[id]!;
        s.bytes![trace.node[i]!]! += work.bytes[id]!;
    }
}

/** By name. */
export interface NameSums {
    calls: number;
    total: number; // recursion once
    self: number;
    min: number;
    max: number;
    flops: number;
    bytes: number;
}

export function byName(trace: Trace, s: NodeSums): Map<number, NameSums> {
    const {parent, name, recursive, n} = trace.nodes;
    const self = s.total.slice(0, n);
    const loose = trace.nodes.loose();
    for (let k = n - 1; k > 0; k--) self[parent[k]!]! -= s.total[k]!;
    const out = new Map<number, NameSums>();
    for (let k = 1; k < n; k++) {
        if (s.calls[k] === 0) continue;
        let o = out.get(name[k]!);
        if (!o) out.set(name[k]!, (o = {calls: 0, total: 0, self: 0, min: Infinity, max: 0, flops: 0, bytes: 0}));
        o.calls += s.calls[k]!;
        if (!loose[k]) o.self += self[k]!;
        if (!recursive[k]) o.total += s.total[k]!;
        o.min = Math.min(o.min, s.min[k]!);
        o.max = Math.max(o.max, s.max[k]!);
        if (s.flops) o.flops += s.flops[k]!;
        if (s.bytes) o.bytes += s.bytes[k]!;
    }
    return out;
}
