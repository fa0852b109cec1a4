// SPDX-License-Identifier: MIT OR Apache-2.0
// Labels on a canvas: cut to the room there is. Measuring is the slow part, so
// that widths are remembered by text.
import {cut} from "../format";

export const SLICE_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

const widths = new Map<string, number>();

export function widthOf(ctx: CanvasRenderingContext2D, text: string): number {
    const key = ctx.font + text;
    let w = widths.get(key);
    if (w === undefined) {
        if (widths.size > 20000) widths.clear();
        widths.set(key, (w = ctx.measureText(text).width));
    }
    return w;
}

/** The text, or as much of it as fits into so many pixels; "": nothing does. */
export function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
    const w = widthOf(ctx, text);
    if (w <= room) return text;
    const n = Math.floor((text.length * (room - 8)) / w);
    return n < 2 ? "" : cut(text, n) + "…";
}

/** Gives a canvas its size in device pixels; the context draws in CSS pixels. */
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
    const dpr = Math.max(1, window.devicePixelRatio || 1);
    const w = Math.max(1, Math.round(width * dpr)), h = Math.max(1, Math.round(height * dpr));
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
    }
    const ctx = canvas.getContext("2d")!;
    ctx.setTransform(w / Math.max(1, width), 0, 0, h / Math.max(1, height), 0, 0);
    return ctx;
}
