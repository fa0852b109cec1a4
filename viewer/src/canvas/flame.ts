// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph: a call tree as nested boxes, or one thread in time order,
// drawn with the same rows, colours and viewport as the timeline.
import {label as cutLabel, percent} from "../format";
import {type Report} from "../data/report";
import {NONE} from "../data/trace";
import {type Tree} from "../data/tree";
import {paintRow} from "./painter";
import {css, mix, nameColor, readTheme, type Theme} from "./palette";
import {fit, sizeCanvas, SLICE_FONT} from "./text";
import {Viewport} from "./viewport";

export const FLAME_ROW = 19;
export const MAX_DEPTH = 400;

export interface Box {
    tree: Tree | null; // null: a slice of the timeline
    node: number; // or the event
    depth: number;
    x: number;
    y: number;
    w: number;
    name: number;
}

/** One tree on the canvas: downwards, or upwards from its bottom line. */
export interface Layer {
    tree: Tree;
    top: number;
    up: boolean;
}

export interface Marked {
    op: number;
    hits: Set<number> | null;
}

export class Flame {
    view = new Viewport(0, 1, 1e-6); // share of the total weight
    boxes: Box[] = [];
    theme: Theme = readTheme();
    width = 300;
    hover: Box | null = null;
    #colors = new Map<number, number>();
    #chartColors = new Uint32Array(0);
    readonly #strip = document.createElement("canvas");

    constructor(readonly canvas: HTMLCanvasElement, readonly report: Report) {}

    setTheme(): void {
        this.theme = readTheme();
        this.#colors.clear();
        this.#chartColors = new Uint32Array(0);
    }

    #color(name: number): number {
        let c = this.#colors.get(name);
        if (c === undefined) this.#colors.set(name, (c = nameColor(this.report.text(name), this.report.categoryOf[name] ?? 0, this.theme.dark)));
        return c;
    }

    #begin(height: number): CanvasRenderingContext2D {
        const ctx = sizeCanvas(this.canvas, this.width, height);
        ctx.clearRect(0, 0, this.width, height);
        ctx.font = SLICE_FONT;
        ctx.textBaseline = "middle";
        this.boxes = [];
        return ctx;
    }

    // ---- trees ---------------------------------------------------------------------------

    /** Rows that the tree fills, of nodes wide enough to be drawn. */
    static depthOf(tree: Tree): number {
        const least = tree.weight[0]! / 4000;
        const depth = new Uint32Array(tree.n);
        let most = 0;
        for (let k = 1; k < tree.n; k++) {
            if (tree.weight[k]! < least) continue;
            depth[k] = depth[tree.parent[k]!]! + 1;
            most = Math.max(most, depth[k]!);
        }
        return Math.min(MAX_DEPTH, most + 1);
    }

    drawTrees(layers: Layer[], height: number, marked: Marked): void {
        const ctx = this.#begin(height);
        for (const layer of layers) {
            const total = layer.tree.weight[0]!;
            if (total > 0) this.#drawNode(ctx, layer, 0, 0, 0, total, marked);
        }
        this.#outline(ctx, marked.op);
    }

    #drawNode(ctx: CanvasRenderingContext2D, layer: Layer, node: number, depth: number, from: number, total: number, marked: Marked): void {
        const {tree} = layer;
        const a = this.view.x(from / total, this.width), b = this.view.x((from + tree.weight[node]!) / total, this.width);
        if (b < 0 || a > this.width || b - a < 0.4 || depth > MAX_DEPTH) return;
        const y = layer.up ? layer.top - (depth + 1) * FLAME_ROW : layer.top + depth * FLAME_ROW;
        const x = Math.max(0, a), w = Math.min(this.width, b) - x;
        const name = tree.name[node]!;
        const isRoot = this.isRoot(tree, node);
        this.#drawBox(ctx, {tree, node, depth, x, y, w, name}, isRoot, marked, isRoot ? "all" : this.report.label(name));
        let at = from;
        for (const c of tree.children(node)) {
            this.#drawNode(ctx, layer, c, depth + 1, at, total, marked);
            at += tree.weight[c]!;
            if (this.view.x(at / total, this.width) > this.width) break;
        }
    }

    /** "all": the root of a whole tree, and not the name that a sandwich is about. */
    isRoot(tree: Tree, node: number): boolean {
        return node === 0 && tree.parent[0] === -1 && (tree.name[0] === NONE || this.report.text(tree.name[0]!) === "(root)");
    }

    #drawBox(ctx: CanvasRenderingContext2D, box: Box, isRoot: boolean, marked: Marked, text: string): void {
        const isLit = marked.hits ? marked.hits.has(box.name) : marked.op < 0 || marked.op === box.name;
        const base = isRoot ? mix(this.theme.rowBg, 0xff888888, 0.75) : this.#color(box.name);
        ctx.fillStyle = css(isLit || isRoot ? base : mix(base, this.theme.rowBg, 0.3));
        ctx.fillRect(box.x, box.y, Math.max(0.5, box.w - (box.w > 2 ? 1 : 0)), FLAME_ROW - 1);
        this.boxes.push(box);
        if (box.w < 24) return;
        ctx.fillStyle = this.theme.onSlice;
        const label = fit(ctx, text, box.w - 8);
        if (label) ctx.fillText(label, box.x + 4, box.y + FLAME_ROW / 2);
    }

    #outline(ctx: CanvasRenderingContext2D, op: number): void {
        for (const b of this.boxes) {
            if (b !== this.hover && (op < 0 || b.name !== op || b.w < 3)) continue;
            ctx.strokeStyle = b === this.hover ? this.theme.text : this.theme.accent;
            ctx.lineWidth = 1.5;
            ctx.strokeRect(b.x + 0.5, b.y + 0.5, Math.max(2, b.w - 2), FLAME_ROW - 2);
        }
    }

    // ---- time order ----------------------------------------------------------------------

    drawChart(track: number, from: number, to: number, height: number, marked: Marked): void {
        const trace = this.report.trace!;
        const ctx = this.#begin(height);
        const t = trace.tracks[track]!;
        const dpr = ctx.getTransform().a;
        const width = Math.max(1, Math.round(this.width * dpr));
        const span = to - from;
        const t0 = from + this.view.from * span, t1 = from + this.view.to * span;
        const rows = Math.min(t.depth, MAX_DEPTH, Math.ceil(height / FLAME_ROW));
        if (rows < 1) return;
        this.#fillChartColors(marked);
        const image = new ImageData(width, rows);
        const pixels = new Uint32Array(image.data.buffer);
        pixels.fill(this.theme.rowBg);
        const w = {t0, scale: width / (t1 - t0), width};
        for (let d = 0; d < rows; d++) paintRow(trace, trace.rows[t.rows + d]!, w, this.#chartColors, this.theme.rowBg, pixels, d * width);
        this.#strip.width = width;
        this.#strip.height = rows;
        this.#strip.getContext("2d")!.putImageData(image, 0, 0);
        ctx.imageSmoothingEnabled = false;
        for (let d = 0; d < rows; d++) {
            ctx.drawImage(this.#strip, 0, d, width, 1, 0, d * FLAME_ROW, this.width, FLAME_ROW - 1);
            this.#chartLabels(ctx, track, d, t0, t1);
        }
        this.#outline(ctx, marked.op);
    }

    #fillChartColors(marked: Marked): void {
        const {nodes} = this.report.trace!;
        this.#chartColors = new Uint32Array(nodes.n);
        for (let k = 1; k < nodes.n; k++) {
            const name = nodes.name[k]!;
            const isLit = marked.hits ? marked.hits.has(name) : marked.op < 0 || marked.op === name;
            this.#chartColors[k] = isLit ? this.#color(name) : mix(this.#color(name), this.theme.rowBg, 0.3);
        }
    }

    #chartLabels(ctx: CanvasRenderingContext2D, track: number, d: number, t0: number, t1: number): void {
        const trace = this.report.trace!;
        const row = trace.rows[trace.tracks[track]!.rows + d]!;
        const end = trace.lowerStart(row, t1), least = (3 * (t1 - t0)) / this.width;
        ctx.fillStyle = this.theme.onSlice;
        let seen = 0;
        for (let i = trace.firstAfter(row, t0); i < end && seen < 20000; i++, seen++) {
            if (trace.dur[i]! < least) continue;
            const x = Math.max(0, ((trace.start[i]! - t0) / (t1 - t0)) * this.width);
            const b = Math.min(this.width, ((trace.start[i]! + trace.dur[i]! - t0) / (t1 - t0)) * this.width);
            this.boxes.push({tree: null, node: i, depth: d, x, y: d * FLAME_ROW, w: b - x, name: trace.name(i)});
            const text = b - x > 24 ? fit(ctx, this.report.label(trace.name(i)), b - x - 8) : "";
            if (text) ctx.fillText(text, x + 4, d * FLAME_ROW + FLAME_ROW / 2);
        }
    }

    // ---- asking --------------------------------------------------------------------------

    at(x: number, y: number): Box | null {
        for (let k = this.boxes.length - 1; k >= 0; k--) {
            const b = this.boxes[k]!;
            if (x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + FLAME_ROW) return b;
        }
        return null;
    }

    describe(b: Box, format: (w: number) => string): string {
        const text = b.tree && this.isRoot(b.tree, b.node) ? "all" : cutLabel(this.report.text(b.name), 120);
        if (!b.tree) return text;
        return `${text} — ${format(b.tree.weight[b.node]!)}, ${percent(b.tree.weight[b.node]! / b.tree.weight[0]!)}`;
    }
}
