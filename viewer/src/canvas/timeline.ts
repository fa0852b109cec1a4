// SPDX-License-Identifier: MIT OR Apache-2.0
// The timeline: lanes on one time axis.
//
//   base canvas     lanes and slices; redrawn when the view, the highlight or
//                   the theme changes. Slices of all visible rows are painted
//                   into one image, a line of pixels a row, which is stretched
//                   to the rows' heights: few canvas calls however many slices.
//   overlay canvas  what follows the pointer and the selection: cheap
//   top canvas      overview, axis and marks
//
// Place: owned by ui/TimelineView, which gives it elements; talks to the store.
// Not here: pointer and keys (canvas/input), the drawing of single lanes
// (canvas/lane_draw), the overlay (canvas/overlay).
import {type Store} from "../state";
import {type Report} from "../data/report";
import {BLOCK, LARGE, type Row, type Trace} from "../data/trace";
import {type StateAt} from "../data/states";
import {eventsOf} from "../data/search";
import {lanesHeight, makeLanes, type Lane} from "./lanes";
import {mix, nameColor, readTheme, type Theme} from "./palette";
import {paintHits, paintRow} from "./painter";
import {Strip} from "./strip";
import {fit, sizeCanvas, SLICE_FONT} from "./text";
import {drawCounter, drawGaps, drawMarksLane, drawMemory, drawSteps, type LaneBox} from "./lane_draw";
import {drawPath} from "./path_draw";
import {drawStates, STRIP, stripTop} from "./states_draw";
import {drawOverlay} from "./overlay";
import {drawTop, TOP_HEIGHT} from "./overview";
import {Viewport} from "./viewport";

export interface Parts {
    scroll: HTMLElement;
    base: HTMLCanvasElement;
    overlay: HTMLCanvasElement;
    top: HTMLCanvasElement;
}

export interface Hover {
    x: number;
    y: number;
    time: number;
    lane: Lane | null;
    event: number; // −1: none
}

interface PaintedRow {
    row: Row;
    y: number;
    h: number;
    label: boolean;
}

export class Timeline {
    readonly view: Viewport;
    readonly report: Report;
    lanes: Lane[] = [];
    theme: Theme;
    width = 300;
    height = 200;
    gutter = 150;
    hover: Hover | null = null;
    brush: [number, number] | null = null;
    /** Milliseconds of script that the last frames took. */
    frameTimes: number[] = [];
    onLayout: () => void = () => undefined;
    onHover: (h: Hover | null) => void = () => undefined;
    readonly toggled = new Set<string>();
    #colors = new Uint32Array(0); // by node, highlight applied
    #plain = new Uint32Array(0); // by node
    #highlighted: Uint32Array | null = null; // events
    #style = 0;
    readonly #strip = new Strip();
    #pending = 0;
    #dirty = {base: true, top: true};

    constructor(readonly parts: Parts, readonly store: Store) {
        this.report = store.report;
        this.theme = readTheme();
        this.view = new Viewport(0, this.report.duration, 20);
        this.view.set(...store.state.view);
    }

    get trace(): Trace | null {
        return this.report.trace;
    }

    /** Pixels for time: right of the labels. */
    get plotWidth(): number {
        return Math.max(10, this.width - this.gutter);
    }

    x(t: number): number {
        return this.gutter + this.view.x(t, this.plotWidth);
    }

    timeAt(x: number): number {
        return this.view.at(x - this.gutter, this.plotWidth);
    }

    // ---- changes -------------------------------------------------------------------------

    resize(width: number, height: number): void {
        this.width = width;
        this.height = height;
        this.gutter = Math.round(Math.min(190, Math.max(76, width * 0.15)));
        this.redraw(true);
    }

    setTheme(): void {
        this.theme = readTheme();
        this.#plain = new Uint32Array(0);
        this.highlight();
        this.redraw(true);
    }

    relayout(): void {
        this.lanes = makeLanes(this.report, this.toggled);
        this.view.max = this.report.duration;
        this.onLayout();
        this.redraw(true);
    }

    get contentHeight(): number {
        return lanesHeight(this.lanes);
    }

    setView(from: number, to: number): void {
        this.view.set(from, to);
        this.redraw(true);
    }

    /** Tells the others where this one looks now. */
    shareView(): void {
        this.store.set({view: [this.view.from, this.view.to]});
    }

    /** What is chosen or searched stands out; the rest is faint. */
    highlight(): void {
        const trace = this.trace;
        if (!trace) return;
        const {nodes} = trace;
        if (this.#plain.length !== nodes.n) {
            this.#plain = new Uint32Array(nodes.n);
            const byName = new Map<number, number>();
            for (let k = 1; k < nodes.n; k++) {
                const name = nodes.name[k]!;
                let c = byName.get(name);
                if (c === undefined) byName.set(name, (c = nameColor(this.report.text(name), this.report.categoryOf[name] ?? 0, this.theme.dark)));
                this.#plain[k] = c;
            }
        }
        const {op, hits} = this.store.state;
        const names = hits ? hits.names : op >= 0 ? new Set([op]) : null;
        this.#highlighted = hits ? hits.events ?? eventsOf(trace, hits.names) : names ? eventsOf(trace, names) : null;
        if (!names) {
            this.#colors = this.#plain;
        } else {
            this.#colors = new Uint32Array(nodes.n);
            for (let k = 1; k < nodes.n; k++) this.#colors[k] = names.has(nodes.name[k]!) ? this.#plain[k]! : mix(this.#plain[k]!, this.theme.rowBg, 0.28);
        }
        this.#style++;
        this.redraw(true);
    }

    redraw(base: boolean): void {
        this.#dirty.base ||= base;
        this.#dirty.top ||= base;
        if (this.#pending) return;
        this.#pending = requestAnimationFrame(() => {
            this.#pending = 0;
            const t = performance.now();
            this.draw();
            this.frameTimes.push(performance.now() - t);
            if (this.frameTimes.length > 240) this.frameTimes.shift();
        });
    }

    // ---- drawing ---------------------------------------------------------------------------

    draw(): void {
        if (this.width < 20 || !this.parts.base.isConnected) return;
        if (this.#dirty.base) this.#drawBase();
        if (this.#dirty.top) drawTop(this, sizeCanvas(this.parts.top, this.width, TOP_HEIGHT));
        drawOverlay(this, sizeCanvas(this.parts.overlay, this.width, this.height));
        this.#dirty = {base: false, top: false};
    }

    /** Device pixels for time. */
    get #columns(): number {
        return Math.max(1, Math.round(this.plotWidth * Math.max(1, window.devicePixelRatio || 1)));
    }

    /** Puts the view on the grid of pixels, so that panning moves whole ones. */
    #snap(): void {
        const pixel = this.view.span / this.#columns;
        const from = Math.round(this.view.from / pixel) * pixel;
        this.view.to += from - this.view.from;
        this.view.from = from;
    }

    #drawBase(): void {
        this.#snap();
        const ctx = sizeCanvas(this.parts.base, this.width, this.height);
        ctx.fillStyle = this.theme.panel;
        ctx.fillRect(0, 0, this.width, this.height);
        const scrolled = this.parts.scroll.scrollTop;
        const rows: PaintedRow[] = [];
        const boxes: LaneBox[] = [];
        for (const lane of this.lanes) {
            const y = lane.y - scrolled;
            if (y + lane.h < 0 || y > this.height) continue;
            boxes.push({lane, y, x: this.gutter, width: this.plotWidth});
            if (lane.kind === "track") this.#collectRows(lane, y, rows);
        }
        this.#paintRows(ctx, rows);
        for (const box of boxes) this.#drawLane(ctx, box);
        this.#drawLabels(ctx, rows);
    }

    #collectRows(lane: Lane, y: number, rows: PaintedRow[]): void {
        const track = lane.track!;
        for (let d = 0; d < lane.rows; d++) {
            const top = y + d * lane.rowHeight;
            if (top + lane.rowHeight < 0 || top > this.height) continue;
            rows.push({row: this.trace!.rows[track.rows + d]!, y: top, h: lane.rowHeight - (lane.rowHeight > 8 ? 2 : 1), label: lane.isOpen});
        }
    }

    #paintRows(ctx: CanvasRenderingContext2D, rows: PaintedRow[]): void {
        const trace = this.trace;
        if (!trace || rows.length === 0) return;
        const width = this.#columns;
        const {theme} = this;
        const strip = this.#strip, colors = this.#colors, plain = this.#plain, highlighted = this.#highlighted;
        strip.paint(rows.map((r) => r.row), {t0: this.view.from, scale: width / this.view.span, width}, this.#style, theme.rowBg, (row, w, out, base) => {
            paintRow(trace, row, w, colors, theme.rowBg, out, base);
            if (highlighted) paintHits(trace, row, w, highlighted, plain, out, base);
        });
        ctx.imageSmoothingEnabled = false;
        rows.forEach((r, k) => ctx.drawImage(strip.canvas, 0, k, width, 1, this.gutter, r.y, this.plotWidth, r.h));
    }

    #drawLane(ctx: CanvasRenderingContext2D, box: LaneBox): void {
        const {lane} = box;
        if (lane.kind === "steps") drawSteps(this, ctx, box);
        else if (lane.kind === "path") drawPath(this, ctx, box, this.report.onPath!);
        else if (lane.kind === "memory") drawMemory(this, ctx, box);
        else if (lane.kind === "counter") drawCounter(this, ctx, box);
        else if (lane.kind === "marks") drawMarksLane(this, ctx, box);
        else if (lane.kind === "track" && lane.isOpen) drawGaps(this, ctx, box);
        if (lane.states) drawStates(this, ctx, box);
        if (lane.kind === "group") return;
        ctx.fillStyle = this.theme.line;
        ctx.fillRect(0, Math.round(box.y + lane.h) + (lane.kind === "track" ? 0 : 1), this.width, 1);
    }

    /** Names on slices that have room for them. */
    #drawLabels(ctx: CanvasRenderingContext2D, rows: PaintedRow[]): void {
        const trace = this.trace;
        if (!trace) return;
        ctx.font = SLICE_FONT;
        ctx.textBaseline = "middle";
        ctx.fillStyle = this.theme.onSlice;
        const least = 26 / (this.plotWidth / this.view.span); // ns that make a label's room
        for (const r of rows) {
            if (!r.label) continue;
            const end = trace.lowerStart(r.row, this.view.to);
            let i = trace.firstAfter(r.row, this.view.from);
            while (i < end) {
                if (trace.dur[i]! < least) {
                    i = this.#nextLong(i, end, least);
                    continue;
                }
                this.#drawLabel(ctx, i, r.y + r.h / 2 + 0.5);
                i++;
            }
        }
    }

    /** The next event that is long enough, by the blocks' longest. */
    #nextLong(i: number, end: number, least: number): number {
        const {dur, blocks, large} = this.trace!;
        i++;
        while (i < end) {
            if (i % LARGE === 0 && i + LARGE <= end && large.peak[i / LARGE]! < least) i += LARGE;
            else if (i % BLOCK === 0 && i + BLOCK <= end && blocks.peak[i / BLOCK]! < least) i += BLOCK;
            else if (dur[i]! < least) i++;
            else break;
        }
        return i;
    }

    #drawLabel(ctx: CanvasRenderingContext2D, i: number, y: number): void {
        const trace = this.trace!;
        const a = Math.max(this.gutter, this.x(trace.start[i]!));
        const b = Math.min(this.width, this.x(trace.start[i]! + trace.dur[i]!));
        const merged = trace.merged.get(i);
        const name = this.report.label(trace.name(i));
        const text = fit(ctx, merged ? `▒ ${merged[0].toLocaleString("en")} merged` : name, b - a - 8);
        if (text) ctx.fillText(text, a + 4, y);
    }

    // ---- asking ------------------------------------------------------------------------------

    laneAt(y: number): Lane | null {
        const at = y + this.parts.scroll.scrollTop;
        return this.lanes.find((l) => at >= l.y && at < l.y + l.h) ?? null;
    }

    /** What the thread did at a point of its strip; null: that is none. */
    stateAt(x: number, y: number): StateAt | null {
        const lane = this.laneAt(y), states = lane?.states;
        const at = lane ? y + this.parts.scroll.scrollTop - lane.y - stripTop(lane) : 0;
        return states && x >= this.gutter && at >= -1 && at <= STRIP + 2 ? states.at(this.timeAt(x)) : null;
    }

    /** The event at a point; a near one where slices are narrower than a pixel. */
    eventAt(x: number, y: number): number {
        const lane = this.laneAt(y);
        const trace = this.trace;
        if (!trace || !lane?.track || x < this.gutter) return -1;
        const depth = Math.floor((y + this.parts.scroll.scrollTop - lane.y) / lane.rowHeight);
        if (depth >= lane.rows) return -1;
        const row = trace.rows[lane.track.rows + depth]!;
        const near = (lane.kind === "marks" ? 6 : 1.5) * (this.view.span / this.plotWidth);
        const t = this.timeAt(x);
        const end = trace.lowerStart(row, t + near);
        let best = -1;
        for (let i = trace.firstAfter(row, t - near), n = 0; i < end && n < 4096; i++, n++) if (best < 0 || trace.dur[i]! > trace.dur[best]!) best = i;
        return best;
    }

    /** Where an event is drawn: x, y, width, height in the scrolled area. */
    boxOf(i: number): {x: number; y: number; w: number; h: number} | null {
        const trace = this.trace;
        if (!trace || i < 0) return null;
        const row = trace.rowOf(i);
        const lane = this.lanes.find((l) => l.track?.index === row.track);
        if (!lane || row.depth >= lane.rows) return lane ? {x: this.x(trace.start[i]!), y: lane.y, w: 1, h: lane.h} : null;
        const x = this.x(trace.start[i]!);
        return {x, y: lane.y + row.depth * lane.rowHeight, w: Math.max(1, this.x(trace.start[i]! + trace.dur[i]!) - x), h: lane.rowHeight - 2};
    }

    /** Scrolls so that the event's row is to be seen. */
    reveal(i: number): void {
        const box = this.boxOf(i);
        const s = this.parts.scroll;
        if (!box) return;
        if (box.y < s.scrollTop + 10 || box.y + box.h > s.scrollTop + this.height - 10) s.scrollTop = Math.max(0, box.y - this.height / 2);
    }
}
