// SPDX-License-Identifier: MIT OR Apache-2.0
// One row of slices as one line of pixels.
//
// A slice of a pixel or more is filled; what is narrower is merged: the pixel
// gets the colour of the longest slice in it, the fainter the less of it is
// covered. Cost: some 100 operations a pixel however many slices lie in it,
// since blocks of slices know their sum and their longest.
import {BLOCK, LARGE, lowerBound, type Row, type Trace} from "../data/trace";
import {mix} from "./palette";

export interface Window {
    t0: number;
    scale: number; // pixels a nanosecond
    width: number; // pixels
}

/** Of events a … b − 1: [sum of durations, the longest]. Kept between calls. */
let rangeSum = 0;
let rangeLongest = 0;

function summarize(trace: Trace, a: number, b: number): void {
    const {dur, blocks, large} = trace;
    let total = 0, best = a, bestDur = dur[a]!;
    let i = a;
    while (i < b) {
        if (i % BLOCK === 0 && i + BLOCK <= b) {
            const isLarge = i % LARGE === 0 && i + LARGE <= b;
            const level = isLarge ? large : blocks;
            const k = isLarge ? i / LARGE : i / BLOCK;
            total += level.sum[k]!;
            if (level.peak[k]! > bestDur) (bestDur = level.peak[k]!), (best = level.longest[k]!);
            i += isLarge ? LARGE : BLOCK;
            continue;
        }
        const stop = Math.min(b, (Math.floor(i / BLOCK) + 1) * BLOCK);
        for (; i < stop; i++) {
            const d = dur[i]!;
            total += d;
            if (d > bestDur) (bestDur = d), (best = i);
        }
    }
    rangeSum = total;
    rangeLongest = best;
}

/** First event at or after `from` that starts at t or later, found by strides. */
function gallop(start: Float64Array, from: number, end: number, t: number, guess: number): number {
    let lo = from, stride = guess < 1 ? 1 : guess;
    while (lo + stride < end && start[lo + stride]! < t) {
        lo += stride;
        stride *= 2;
    }
    return lowerBound(start, lo, Math.min(end, lo + stride), t);
}

/** Fills out[base … base + width − 1] with the row; colours by node. */
export function paintRow(trace: Trace, row: Row, w: Window, colors: Uint32Array, bg: number, out: Uint32Array, base: number): void {
    const {start, dur, node} = trace;
    const {t0, scale, width} = w;
    const pixel = 1 / scale;
    const end = trace.lowerStart(row, t0 + width * pixel);
    let i = trace.firstAfter(row, t0);
    let guess = 1;
    while (i < end) {
        const x = (start[i]! - t0) * scale;
        const wide = dur[i]! * scale;
        if (wide >= 1) {
            fillSlice(out, base, width, x, wide, colors[node[i]!]!);
            i++;
            continue;
        }
        const px = Math.floor(x);
        if (px >= width) break;
        if (px < 0) {
            i++; // it belongs to the pixel before
            continue;
        }
        const edge = t0 + (px + 1) * pixel;
        let j = i + 1;
        if (j < end && start[j]! < edge) {
            j = gallop(start, j, end, edge, guess);
            guess = (j - i) >> 1;
            // The last one may be wide: it is drawn by itself.
            if (dur[j - 1]! * scale >= 1 && j - 1 > i) j--;
        }
        summarize(trace, i, j);
        const cover = Math.min(1, rangeSum * scale);
        out[base + px] = mix(colors[node[rangeLongest]!]!, bg, 0.3 + 0.7 * Math.sqrt(cover));
        i = j;
    }
}

function fillSlice(out: Uint32Array, base: number, width: number, x: number, wide: number, color: number): void {
    let a = Math.round(x), b = Math.round(x + wide);
    if (b - a >= 3) b--; // a gap to the next
    if (b <= a) b = a + 1;
    if (a < 0) a = 0;
    if (b > width) b = width;
    for (let p = base + a; p < base + b; p++) out[p] = color;
}

/** Draws these events of the row over what is there, at least a pixel each. */
export function paintHits(trace: Trace, row: Row, w: Window, events: Uint32Array, colors: Uint32Array, out: Uint32Array, base: number): void {
    const {start, dur, node} = trace;
    const {t0, scale, width} = w;
    const last = trace.lowerStart(row, t0 + width / scale);
    let k = lowerBound(events, 0, events.length, trace.firstAfter(row, t0));
    const end = lowerBound(events, k, events.length, last);
    while (k < end) {
        const i = events[k]!;
        const x = (start[i]! - t0) * scale;
        fillSlice(out, base, width, x, dur[i]! * scale, colors[node[i]!]!);
        k++;
        if (dur[i]! * scale >= 1) continue;
        // The rest of this pixel shows nothing more.
        const edge = t0 + (Math.floor(x) + 1) / scale;
        while (k < end && start[events[k]!]! < edge) k += 1 + (k + 64 < end && start[events[k + 64]!]! < edge ? 64 : 0);
    }
}
