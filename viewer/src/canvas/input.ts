// SPDX-License-Identifier: MIT OR Apache-2.0
// Pointer and wheel on the timeline: drag selects a range, Shift-drag or the
// middle button pans, Ctrl+wheel and pinch zoom where the pointer is, a plain
// wheel scrolls. Keys are in ui/keys.
import {OVERVIEW_HEIGHT} from "./overview";
import {type Timeline} from "./timeline";

type Drag = {kind: "brush" | "pan" | "overview" | "press"; x: number; time: number; id: number};

export class Input {
    #drag: Drag | null = null;
    #fingers = new Map<number, {x: number; y: number}>();
    readonly #off: (() => void)[] = [];

    constructor(private readonly tl: Timeline) {
        const {overlay, top, scroll} = tl.parts;
        this.#on(overlay, "pointerdown", (e) => this.#down(e, false));
        this.#on(top, "pointerdown", (e) => this.#down(e, true));
        for (const c of [overlay, top]) {
            this.#on(c, "pointermove", (e) => this.#move(e));
            this.#on(c, "pointerup", (e) => this.#up(e));
            this.#on(c, "pointercancel", (e) => this.#cancel(e));
            this.#on(c, "pointerleave", () => this.#leave());
            this.#on(c, "wheel", (e) => this.#wheel(e));
        }
        this.#on(overlay, "dblclick", () => {
            const i = tl.store.state.slice;
            if (i >= 0 && tl.trace) tl.store.focus(tl.trace.start[i]!, tl.trace.start[i]! + tl.trace.dur[i]!);
        });
        this.#on(scroll, "scroll", () => tl.redraw(true));
    }

    #on<K extends keyof HTMLElementEventMap>(to: HTMLElement, type: K, f: (e: HTMLElementEventMap[K]) => void): void {
        to.addEventListener(type, f, {passive: false});
        this.#off.push(() => to.removeEventListener(type, f));
    }

    stop(): void {
        for (const f of this.#off) f();
    }

    #at(e: MouseEvent): {x: number; y: number} {
        const box = this.tl.parts.base.getBoundingClientRect();
        return {x: e.clientX - box.left, y: e.clientY - box.top};
    }

    #down(e: PointerEvent, inTop: boolean): void {
        if (e.button > 1) return;
        const {x} = this.#at(e);
        const {tl} = this;
        (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
        this.#fingers.set(e.pointerId, this.#at(e));
        const inOverview = inTop && e.offsetY < OVERVIEW_HEIGHT;
        const kind = inOverview ? "overview" : e.button === 1 || e.shiftKey || e.pointerType === "touch" ? "pan" : "press";
        this.#drag = {kind, x, time: tl.timeAt(x), id: e.pointerId};
        if (kind === "overview") this.#centre(x);
        if (e.button === 1) e.preventDefault();
        if (e.pointerType !== "touch") tl.parts.scroll.focus({preventScroll: true});
    }

    #centre(x: number): void {
        const {tl} = this;
        const t = ((x - tl.gutter) / tl.plotWidth) * tl.report.duration;
        tl.setView(t - tl.view.span / 2, t + tl.view.span / 2);
        tl.shareView();
    }

    #move(e: PointerEvent): void {
        const {x, y} = this.#at(e);
        const {tl} = this;
        if (this.#fingers.size === 2 && this.#fingers.has(e.pointerId)) return this.#pinch(e);
        const d = this.#drag;
        if (d && d.id === e.pointerId) {
            if (d.kind === "press" && Math.abs(x - d.x) > 3) d.kind = "brush";
            if (d.kind === "pan") {
                tl.view.pan(d.time - tl.timeAt(x));
                tl.redraw(true);
            } else if (d.kind === "overview") this.#centre(x);
            else if (d.kind === "brush") {
                const t = tl.timeAt(Math.max(tl.gutter, x));
                tl.brush = [Math.max(0, Math.min(t, d.time)), Math.min(tl.report.duration, Math.max(t, d.time))];
            }
        }
        const inTop = e.currentTarget === tl.parts.top;
        tl.hover = {x, y, time: tl.timeAt(x), lane: inTop ? null : tl.laneAt(y), event: inTop || d?.kind === "brush" ? -1 : tl.eventAt(x, y)};
        tl.onHover(tl.hover);
        tl.redraw(false);
    }

    #pinch(e: PointerEvent): void {
        const {tl} = this;
        const [a, b] = [...this.#fingers.values()] as [{x: number; y: number}, {x: number; y: number}];
        const before = Math.abs(a.x - b.x);
        this.#fingers.set(e.pointerId, this.#at(e));
        const [c, d] = [...this.#fingers.values()] as [{x: number; y: number}, {x: number; y: number}];
        const after = Math.abs(c.x - d.x);
        if (before > 8 && after > 8) {
            tl.view.zoom(tl.timeAt((c.x + d.x) / 2), after / before);
            tl.redraw(true);
        }
        this.#drag = null;
    }

    #up(e: PointerEvent): void {
        const {tl} = this;
        const d = this.#drag;
        this.#fingers.delete(e.pointerId);
        this.#drag = null;
        if (!d || d.id !== e.pointerId) return tl.shareView();
        const {x, y} = this.#at(e);
        if (d.kind === "brush" && tl.brush) {
            const [a, b] = tl.brush;
            tl.brush = null;
            tl.store.chooseRange([Math.round(a), Math.round(b)]);
        } else if (d.kind === "pan") {
            tl.shareView();
            if (Math.abs(x - d.x) < 4) this.#click(x, y, e);
        } else if (d.kind === "press") this.#click(x, y, e);
    }

    #click(x: number, y: number, e: PointerEvent): void {
        const {tl} = this;
        if (e.currentTarget === tl.parts.top) return;
        const lane = tl.laneAt(y);
        const t = tl.timeAt(x);
        if (lane?.kind === "steps") {
            const at = tl.report.steps.findIndex((s) => t >= s.begin && t < s.end);
            if (at >= 0) tl.store.chooseStep(at);
        } else if (lane?.kind === "path") {
            const at = tl.report.onPath!.at(t);
            if (at) tl.store.set({op: tl.report.opByName.has(at.name) ? at.name : -1});
        } else if (lane?.kind === "memory") {
            tl.store.set({cursor: Math.max(0, Math.round(t))});
        } else if (tl.stateAt(x, y)) {
            const s = tl.stateAt(x, y)!;
            tl.store.chooseRange([Math.round(s.from), Math.round(s.to)]);
        } else {
            const i = tl.eventAt(x, y);
            if (i >= 0) tl.store.chooseSlice(i);
            else tl.store.set({slice: -1, op: -1});
        }
    }

    #cancel(e: PointerEvent): void {
        this.#fingers.delete(e.pointerId);
        this.#drag = null;
        this.tl.brush = null;
        this.tl.redraw(false);
    }

    #leave(): void {
        if (this.#drag) return;
        this.tl.hover = null;
        this.tl.onHover(null);
        this.tl.redraw(false);
    }

    #wheel(e: WheelEvent): void {
        const {tl} = this;
        const {x} = this.#at(e);
        if (e.ctrlKey || e.metaKey) {
            e.preventDefault();
            const lines = e.deltaMode === 1 ? e.deltaY * 16 : e.deltaY;
            tl.view.zoom(tl.timeAt(Math.max(tl.gutter, x)), Math.exp(-Math.max(-80, Math.min(80, lines)) * 0.006));
        } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
            e.preventDefault();
            const by = e.shiftKey && e.deltaX === 0 ? e.deltaY : e.deltaX;
            tl.view.pan((by / tl.plotWidth) * tl.view.span);
        } else {
            return;
        }
        tl.redraw(true);
        tl.shareView();
    }
}
