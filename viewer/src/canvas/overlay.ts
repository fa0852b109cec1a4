// SPDX-License-Identifier: MIT OR Apache-2.0
// What lies over the lanes: grid at the pointer, the chosen range and slice,
// and the arrows of flows. Drawn at every move of the pointer, so it is kept
// small: it never looks at more slices than are chosen.
import {flowInto, flowsFrom} from "../data/gaps";
import {lowerBound} from "../data/trace";
import {time} from "../format";
import {SLICE_FONT} from "./text";
import {type Timeline} from "./timeline";

const MOST_FAINT_ARROWS = 120;

export function drawOverlay(tl: Timeline, ctx: CanvasRenderingContext2D): void {
    ctx.clearRect(0, 0, tl.width, tl.height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(tl.gutter, 0, tl.plotWidth, tl.height);
    ctx.clip();
    const range = tl.brush ?? tl.store.state.range;
    if (range) drawRange(tl, ctx, range);
    for (const m of tl.store.state.marks) line(tl, ctx, m.from, tl.theme.accent);
    drawFlows(tl, ctx);
    drawWakers(tl, ctx);
    outline(tl, ctx, tl.hover?.event ?? -1, tl.theme.text, 1);
    outline(tl, ctx, tl.store.state.slice, tl.theme.accent, 2);
    if (tl.store.state.cursor >= 0) line(tl, ctx, tl.store.state.cursor, tl.theme.muted);
    if (tl.hover && tl.hover.x >= tl.gutter) line(tl, ctx, tl.hover.time, tl.theme.muted);
    ctx.restore();
}

function line(tl: Timeline, ctx: CanvasRenderingContext2D, t: number, color: string): void {
    ctx.fillStyle = color;
    ctx.globalAlpha = 0.6;
    ctx.fillRect(Math.round(tl.x(t)), 0, 1, tl.height);
    ctx.globalAlpha = 1;
}

function drawRange(tl: Timeline, ctx: CanvasRenderingContext2D, [from, to]: [number, number]): void {
    const a = tl.x(from), b = tl.x(to);
    ctx.fillStyle = tl.theme.bg;
    ctx.globalAlpha = 0.55;
    ctx.fillRect(tl.gutter, 0, Math.max(0, a - tl.gutter), tl.height);
    ctx.fillRect(b, 0, Math.max(0, tl.width - b), tl.height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = tl.theme.accent;
    ctx.fillRect(a - 0.5, 0, 1, tl.height);
    ctx.fillRect(b - 0.5, 0, 1, tl.height);
    const text = time(to - from);
    ctx.font = SLICE_FONT;
    ctx.textBaseline = "middle";
    const w = ctx.measureText(text).width + 10;
    const x = Math.max(tl.gutter, Math.min(tl.width - w, (Math.max(a, tl.gutter) + Math.min(b, tl.width)) / 2 - w / 2));
    ctx.fillRect(x, tl.height - 18, w, 16);
    ctx.fillStyle = tl.theme.panel;
    ctx.fillText(text, x + 5, tl.height - 9.5);
}

function outline(tl: Timeline, ctx: CanvasRenderingContext2D, i: number, color: string, width: number): void {
    const box = tl.boxOf(i);
    if (!box) return;
    const y = box.y - tl.parts.scroll.scrollTop;
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    const x = Math.max(box.x, tl.gutter - 4);
    const right = Math.min(box.x + box.w, tl.width + 4);
    ctx.strokeRect(x - 0.5, y - 0.5, Math.max(3, right - x), box.h + 1);
}

// ---- flows --------------------------------------------------------------------------------

/** The chosen slice's arrows, or those of the slices right below it. */
export function flowsOf(tl: Timeline, i: number): [number, number][] {
    const trace = tl.trace;
    if (!trace?.flows || i < 0) return [];
    const of = (e: number): [number, number][] => {
        const out: [number, number][] = flowsFrom(trace, e).map((to) => [e, to]);
        const from = flowInto(trace, e);
        if (from >= 0) out.push([from, e]);
        return out;
    };
    const own = of(i);
    if (own.length) return own;
    const [a, b] = trace.childRange(i);
    const below: [number, number][] = [];
    for (let c = a; c < Math.min(b, a + 20); c++) below.push(...of(c));
    return below;
}

function drawFlows(tl: Timeline, ctx: CanvasRenderingContext2D): void {
    const trace = tl.trace;
    if (!trace?.flows) return;
    const chosen = flowsOf(tl, tl.store.state.slice);
    const {from, to} = trace.flows;
    // All that are in view, faintly, where they are few enough to follow.
    const visible: [number, number][] = [];
    for (const lane of tl.lanes) {
        if (!lane.track || visible.length > MOST_FAINT_ARROWS) continue;
        for (let d = 0; d < lane.rows && visible.length <= MOST_FAINT_ARROWS; d++) {
            const row = trace.rows[lane.track.rows + d]!;
            const a = lowerBound(from, 0, from.length, trace.firstAfter(row, tl.view.from));
            const b = lowerBound(from, 0, from.length, trace.lowerStart(row, tl.view.to));
            if (b - a > MOST_FAINT_ARROWS) {
                visible.length = MOST_FAINT_ARROWS + 1;
                break;
            }
            for (let k = a; k < b; k++) visible.push([from[k]!, to[k]!]);
        }
    }
    if (visible.length <= MOST_FAINT_ARROWS) for (const [a, b] of visible) arrow(tl, ctx, a, b, tl.theme.muted, 0.35);
    for (const [a, b] of chosen) arrow(tl, ctx, a, b, tl.theme.accent, 1);
}

/** From who ended the chosen wait to where it went on; from a slice to the waits that it ended. */
function drawWakers(tl: Timeline, ctx: CanvasRenderingContext2D): void {
    const {wakers} = tl.report, i = tl.store.state.slice;
    if (!wakers || i < 0) return;
    const woken = wakers.of(i);
    for (const w of woken ? [woken] : wakers.endedBy(i).slice(0, MOST_FAINT_ARROWS)) {
        const slice = wakers.slice(w);
        const from = slice >= 0 ? tl.boxOf(slice) : null, to = tl.boxOf(w.wait);
        const lane = tl.lanes.find((l) => l.key.startsWith(`t${w.thread}.0.`));
        const y = from ? from.y + from.h : lane ? lane.y + lane.h / 2 : -1;
        if (to && y >= 0) curve(tl, ctx, {x: tl.x(w.time), y}, {x: to.x + to.w, y: to.y + to.h / 2});
    }
}

function arrow(tl: Timeline, ctx: CanvasRenderingContext2D, a: number, b: number, color: string, alpha: number): void {
    const p = tl.boxOf(a), q = tl.boxOf(b);
    if (p && q) curve(tl, ctx, {x: p.x + Math.min(p.w, 4), y: p.y + p.h}, {x: q.x, y: q.y + q.h / 2}, color, alpha);
}

interface Point {
    x: number;
    y: number; // in the scrolled area
}

function curve(tl: Timeline, ctx: CanvasRenderingContext2D, from: Point, to: Point, color = tl.theme.accent, alpha = 1): void {
    const top = tl.parts.scroll.scrollTop;
    const x0 = from.x, y0 = from.y - top, x1 = to.x, y1 = to.y - top;
    const bend = Math.max(12, Math.abs(x1 - x0) / 2);
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = alpha === 1 ? 1.5 : 1;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0, y0 + 14, x1 - bend, y1, x1 - 2, y1);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 6, y1 - 3.5);
    ctx.lineTo(x1 - 6, y1 + 3.5);
    ctx.fill();
    ctx.globalAlpha = 1;
}
