// SPDX-License-Identifier: MIT OR Apache-2.0
// The lanes that are not slices: steps, memory, counters, marks; and the idle
// gaps between slices, tinted and named.
import {time} from "../format";
import {gapBefore} from "../data/gaps";
import {lowerBound, type Row} from "../data/trace";
import {type Lane} from "./lanes";
import {fit, SLICE_FONT} from "./text";
import {type Timeline} from "./timeline";

export interface LaneBox {
    lane: Lane;
    y: number;
    x: number;
    width: number;
}

export function drawSteps(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox): void {
    const {theme, report} = tl;
    const p50 = report.meta.steps?.p50 ?? 0;
    ctx.font = SLICE_FONT;
    ctx.textBaseline = "middle";
    const every = labelEvery(tl, p50);
    const labels: [string, number][] = [];
    let drawn = -1;
    report.steps.forEach((s, at) => {
        if (s.end < tl.view.from || s.begin > tl.view.to) return;
        const a = Math.max(box.x, tl.x(s.begin)), b = Math.min(tl.width, tl.x(s.end));
        if (b <= box.x || a >= tl.width || b < drawn + 0.5) return;
        drawn = b;
        const isSlow = p50 > 0 && s.end - s.begin > 1.5 * p50;
        const isChosen = at === tl.store.state.step;
        ctx.fillStyle = isChosen ? theme.accent : isSlow ? theme.select : s.index % 2 ? theme.line : theme.idle;
        ctx.fillRect(a, box.y + 2, Math.max(0.6, b - a - (b - a > 3 ? 1 : 0)), box.lane.h - 4);
        if (isSlow && b - a > 14) labels.push([`▲ ${b - a > 40 ? s.index : ""}${b - a > 110 ? ` · ${time(s.end - s.begin)}` : ""}`, a]);
        else if (s.index % every === 0) labels.push([`${s.index}${b - a > 100 ? ` · ${time(s.end - s.begin)}` : ""}`, a]);
    });
    ctx.fillStyle = theme.text;
    labels.forEach(([text, x], k) => {
        const next = labels[k + 1]?.[1] ?? Infinity;
        if (text[0] === "▲" || x + 5 + ctx.measureText(text).width < next) ctx.fillText(text, x + 3, box.y + box.lane.h / 2 + 0.5);
    });
}

/** Numbers that have room: every step, every 5th, 10th, 50th … */
function labelEvery(tl: Timeline, step: number): number {
    const px = (step / tl.view.span) * tl.plotWidth;
    for (let k = 1; k < 1e9; k *= 10) for (const m of [1, 5]) if (k * m * px > 34) return k * m;
    return 1e9;
}

interface Curve {
    time: Float64Array;
    value: Float64Array;
    low: number;
    high: number;
    steps: boolean;
}

/** A curve as a path: extremes of each pixel kept. */
function tracePath(tl: Timeline, ctx: CanvasRenderingContext2D, c: Curve, y: number, h: number): {first: number; last: number} {
    const from = Math.max(0, lowerBound(c.time, 0, c.time.length, tl.view.from) - 1);
    const to = Math.min(c.time.length, lowerBound(c.time, 0, c.time.length, tl.view.to) + 1);
    const py = (v: number): number => y + h - ((v - c.low) / (c.high - c.low || 1)) * h;
    let before = 0;
    for (let i = from; i < to; i++) {
        const x = Math.max(tl.gutter, tl.x(c.time[i]!));
        let lowest = c.value[i]!, highest = lowest;
        // What falls into the same pixel is one line from its lowest to its highest.
        while (i + 1 < to && i > from && tl.x(c.time[i + 1]!) < x + 0.5) {
            i++;
            lowest = Math.min(lowest, c.value[i]!);
            highest = Math.max(highest, c.value[i]!);
        }
        if (i === from) ctx.moveTo(x, py(lowest));
        else {
            if (c.steps) ctx.lineTo(x, before);
            ctx.lineTo(x, py(lowest));
            if (highest > lowest) ctx.lineTo(x, py(highest));
        }
        before = py(c.value[i]!);
    }
    const last = Math.min(tl.width, Math.max(tl.gutter, tl.x(Math.min(tl.view.to, tl.report.duration))));
    if (to > from) ctx.lineTo(last, before);
    return {first: Math.max(tl.gutter, tl.x(c.time[from] ?? 0)), last};
}

export function drawMemory(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox): void {
    const {series, meta} = box.lane.domain!, m = series!;
    const peak = Math.max(1, meta.peak, m.total.reduce((a, b) => Math.max(a, b), 0));
    const y = box.y + 4, h = box.lane.h - 6;
    ctx.beginPath();
    const {first, last} = tracePath(tl, ctx, {time: m.time, value: m.total, low: 0, high: peak, steps: m.exact}, y, h);
    ctx.strokeStyle = tl.theme.accent;
    ctx.lineWidth = 1;
    ctx.stroke();
    ctx.lineTo(last, y + h);
    ctx.lineTo(first, y + h);
    ctx.closePath();
    ctx.globalAlpha = 0.18;
    ctx.fillStyle = tl.theme.accent;
    ctx.fill();
    ctx.globalAlpha = 1;
}

export function drawCounter(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox): void {
    const s = box.lane.series!;
    ctx.beginPath();
    tracePath(tl, ctx, {time: s.time, value: s.value, low: Math.min(0, s.min), high: s.max, steps: true}, box.y + 4, box.lane.h - 7);
    ctx.strokeStyle = tl.theme.text;
    ctx.globalAlpha = 0.75;
    ctx.lineWidth = 1;
    ctx.stroke();
    ctx.globalAlpha = 1;
}

export function drawMarksLane(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox): void {
    const trace = tl.trace!;
    const row = trace.rows[box.lane.track!.rows]!;
    const end = trace.lowerStart(row, tl.view.to);
    ctx.fillStyle = tl.theme.accent;
    const y = box.y + box.lane.h / 2;
    let before = -10;
    for (let i = trace.lowerStart(row, tl.view.from); i < end; i++) {
        const x = tl.x(trace.start[i]!);
        if (x - before < 1) continue;
        before = x;
        ctx.beginPath();
        ctx.moveTo(x, y - 5);
        ctx.lineTo(x + 4, y);
        ctx.lineTo(x, y + 5);
        ctx.lineTo(x - 4, y);
        ctx.fill();
    }
}

// ---- idle gaps ----------------------------------------------------------------------------

const SCAN = 50000; // events looked at directly
const large = new WeakMap<Row, Uint32Array>(); // events with a long gap before them

function largeGaps(tl: Timeline, row: Row): Uint32Array {
    let list = large.get(row);
    if (!list) {
        const {start, dur} = tl.trace!;
        const least = tl.report.duration / 3000;
        const found: number[] = [];
        for (let i = row.first + 1; i < row.end; i++) if (start[i]! - start[i - 1]! - dur[i - 1]! >= least) found.push(i);
        large.set(row, (list = Uint32Array.from(found)));
    }
    return list;
}

/** Tints the gaps of the outermost row that are wide enough to see. */
export function drawGaps(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox): void {
    const trace = tl.trace!;
    const row = trace.rows[box.lane.track!.rows]!;
    const least = 10 / (tl.plotWidth / tl.view.span);
    const from = trace.firstAfter(row, tl.view.from);
    const to = Math.min(row.end, trace.lowerStart(row, tl.view.to) + 1);
    const h = box.lane.rowHeight - 2;
    if (to - from <= SCAN) {
        for (let i = from; i < to; i++) {
            if (i > row.first && trace.start[i]! - trace.start[i - 1]! - trace.dur[i - 1]! >= least) drawGap(tl, ctx, row, i, box.y, h);
        }
        return;
    }
    const list = largeGaps(tl, row);
    for (let k = lowerBound(list, 0, list.length, from); k < list.length && list[k]! < to; k++) {
        const i = list[k]!;
        if (trace.start[i]! - trace.start[i - 1]! - trace.dur[i - 1]! >= least) drawGap(tl, ctx, row, i, box.y, h);
    }
}

function drawGap(tl: Timeline, ctx: CanvasRenderingContext2D, row: Row, i: number, y: number, h: number): void {
    const gap = gapBefore(tl.report, row, i);
    const a = Math.max(tl.gutter, tl.x(gap.from)) + 1, b = Math.min(tl.width, tl.x(gap.to)) - 1;
    if (b - a < 4) return;
    ctx.fillStyle = tl.theme.idle;
    ctx.fillRect(a, y, b - a, h);
    if (b - a < 60) return;
    ctx.font = SLICE_FONT;
    ctx.textBaseline = "middle";
    ctx.fillStyle = tl.theme.muted;
    const text = fit(ctx, `${gap.cause} · ${time(gap.to - gap.from)}`, b - a - 8);
    if (text) ctx.fillText(text, a + 4, y + h / 2 + 0.5);
}
