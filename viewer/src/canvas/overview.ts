// SPDX-License-Identifier: MIT OR Apache-2.0
// Above the lanes: the whole run in small (how many rows were busy, and the
// window that is shown below), then the time axis with its marks.
import {axisTime, time, timeStep} from "../format";
import {isLoose} from "../data/trace";
import {SLICE_FONT} from "./text";
import {type Timeline} from "./timeline";

export const OVERVIEW_HEIGHT = 34;
export const AXIS_HEIGHT = 24;
export const TOP_HEIGHT = OVERVIEW_HEIGHT + AXIS_HEIGHT;

interface Profile {
    width: number;
    path: Path2D;
}

const profiles = new WeakMap<object, Profile>();

/** How many outermost rows were busy, over the whole run. */
function profileOf(tl: Timeline): Profile | null {
    const trace = tl.trace;
    if (!trace) return null;
    const width = Math.round(tl.plotWidth);
    const known = profiles.get(trace);
    if (known?.width === width) return known;
    const busy = new Float64Array(width);
    const pixel = tl.report.duration / width;
    for (const track of trace.tracks) {
        if (track.kind !== "slices" || track.depth === 0 || isLoose(track)) continue;
        const row = trace.rows[track.rows]!;
        for (let p = 0; p < width; p++) busy[p]! += Math.max(0, Math.min(1, trace.covered(row, p * pixel, (p + 1) * pixel) / pixel));
    }
    const m = tl.report.domains.find((d) => d.series)?.series;
    if (!trace.n && m) {
        // No slices: live bytes instead.
        let i = 0;
        for (let p = 0; p < width; p++) {
            while (i + 1 < m.time.length && m.time[i + 1]! <= (p + 1) * pixel) i++;
            busy[p] = m.total[i]!;
        }
    }
    const most = busy.reduce((a, b) => Math.max(a, b), 1), h = OVERVIEW_HEIGHT - 6;
    const path = new Path2D();
    path.moveTo(tl.gutter, 2 + h);
    busy.forEach((b, p) => path.lineTo(tl.gutter + p + 0.5, 2 + h - (b / most) * (h - 3)));
    path.lineTo(tl.gutter + width, 2 + h);
    const profile = {width, path};
    profiles.set(trace, profile);
    return profile;
}

export function drawTop(tl: Timeline, ctx: CanvasRenderingContext2D): void {
    ctx.clearRect(0, 0, tl.width, TOP_HEIGHT);
    drawOverview(tl, ctx);
    drawAxis(tl, ctx);
}

function drawOverview(tl: Timeline, ctx: CanvasRenderingContext2D): void {
    const {theme, gutter, plotWidth} = tl;
    const h = OVERVIEW_HEIGHT - 6;
    const all = tl.report.duration;
    ctx.fillStyle = theme.idle;
    ctx.fillRect(gutter, 2, plotWidth, h);
    const profile = profileOf(tl);
    if (profile) {
        ctx.fillStyle = theme.muted;
        ctx.globalAlpha = 0.55;
        ctx.fill(profile.path);
        ctx.globalAlpha = 1;
    }
    const range = tl.store.state.range;
    if (range) {
        ctx.fillStyle = theme.select;
        ctx.globalAlpha = 0.7;
        const a = (range[0] / all) * plotWidth;
        ctx.fillRect(gutter + a, 2, Math.max(1.5, ((range[1] - range[0]) / all) * plotWidth), h);
        ctx.globalAlpha = 1;
    }
    const a = gutter + Math.max(0, (tl.view.from / all) * plotWidth), b = gutter + Math.min(plotWidth, (tl.view.to / all) * plotWidth);
    ctx.fillStyle = theme.panel;
    ctx.globalAlpha = 0.6;
    ctx.fillRect(gutter, 2, Math.max(0, a - gutter), h);
    ctx.fillRect(b, 2, Math.max(0, gutter + plotWidth - b), h);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 1;
    ctx.strokeRect(a + 0.5, 2.5, Math.max(2, b - a - 1), h - 1);
    ctx.font = SLICE_FONT;
    ctx.textBaseline = "middle";
    ctx.fillStyle = theme.muted;
    ctx.fillText(gutter > 110 ? `${time(tl.view.span)} of ${time(all)}` : time(tl.view.span), 8, 2 + h / 2);
}

function drawAxis(tl: Timeline, ctx: CanvasRenderingContext2D): void {
    const {theme, view, gutter} = tl;
    const y = OVERVIEW_HEIGHT;
    const step = timeStep(view.span, Math.max(2, tl.plotWidth / 110));
    ctx.font = SLICE_FONT;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillStyle = theme.muted;
    for (let t = Math.ceil(Math.max(0, view.from) / step) * step; t <= view.to; t += step) {
        const x = tl.x(t);
        if (x < gutter - 1) continue;
        ctx.fillRect(Math.round(x), y + AXIS_HEIGHT - 7, 1, 7);
        const label = axisTime(Math.round(t), step);
        if (x + 70 < tl.width || x + ctx.measureText(label).width + 4 < tl.width) ctx.fillText(label, x + 4, y + AXIS_HEIGHT / 2);
    }
    drawFlags(tl, ctx, y);
}

/** The marks that a person set with M. */
function drawFlags(tl: Timeline, ctx: CanvasRenderingContext2D, y: number): void {
    tl.store.state.marks.forEach((m, k) => {
        const x = tl.x(m.from);
        if (x < tl.gutter || x > tl.width) return;
        ctx.fillStyle = tl.theme.accent;
        ctx.fillRect(x - 0.5, y, 1.5, AXIS_HEIGHT);
        ctx.fillRect(x, y, 22, 12);
        if (m.to > m.from) ctx.fillRect(x, y + AXIS_HEIGHT - 3, Math.max(1, tl.x(m.to) - x), 3);
        ctx.fillStyle = tl.theme.panel;
        ctx.fillText(`M${k + 1}`, x + 3, y + 6.5);
    });
}
