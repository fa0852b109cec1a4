// SPDX-License-Identifier: MIT OR Apache-2.0
// The one selection that every part of the page shows, and its form in the
// URL's hash. Parts subscribe to what they use; nothing else is shared.
import {useEffect, useState} from "preact/hooks";
import {type Report} from "./data/report";
import {type Weight} from "./data/tree";
import {HEAP_MODES} from "./data/heap";
import {findHits, type Hits} from "./data/search";

export interface Mark {
    from: number;
    to: number; // = from: a moment
}

export type FlameMode = 1 | 2 | 3;

export interface State {
    /** 0 … 1 while the timeline is decoded; 2: it is there; −1: it is not. */
    loaded: number;
    op: number; // name; −1: none
    range: [number, number] | null;
    step: number; // position in report.steps; −1: none
    slice: number; // event; −1: none
    search: string;
    hits: Hits | null;
    view: [number, number];
    flameMode: FlameMode;
    flameWeight: Weight;
    flameTrack: number;
    heapMode: number; // of HEAP_MODES
    marks: Mark[];
    cursor: number; // time that the memory table shows; −1: the peak
    theme: "auto" | "light" | "dark";
    dark: boolean; // what the theme comes to
    help: boolean;
}

export class Store {
    state: State;
    #listeners = new Set<(changed: Partial<State>) => void>();
    #hashTimer = 0;

    constructor(readonly report: Report) {
        this.state = {
            loaded: 0, op: -1, range: null, step: -1, slice: -1, search: "", hits: null, view: [0, report.duration],
            flameMode: 2, flameWeight: "time", flameTrack: -1, heapMode: 0, marks: [], cursor: -1, theme: "auto", dark: false, help: false,
        };
    }

    set(change: Partial<State>): void {
        Object.assign(this.state, change);
        for (const f of [...this.#listeners]) f(change);
        this.#saveSoon();
    }

    subscribe(f: (changed: Partial<State>) => void): () => void {
        this.#listeners.add(f);
        return () => this.#listeners.delete(f);
    }

    // ---- what a choice means ---------------------------------------------------------

    chooseOp(name: number): void {
        this.set({op: name === this.state.op ? -1 : name});
    }

    chooseSlice(i: number): void {
        const t = this.report.trace;
        this.set({slice: i, op: i >= 0 && t ? t.name(i) : this.state.op});
    }

    chooseRange(range: [number, number] | null): void {
        this.set({range, step: -1});
    }

    chooseStep(at: number): void {
        const s = this.report.steps[at];
        if (!s) return;
        const pad = (s.end - s.begin) * 0.05;
        this.set({step: at, range: [s.begin, s.end], view: [s.begin - pad, s.end + pad]});
    }

    searchFor(text: string): void {
        this.set({search: text, hits: findHits(this.report, text)});
    }

    clear(): void {
        this.set({op: -1, range: null, step: -1, slice: -1, search: "", hits: null});
    }

    /** Something that a person chose to look at: it moves into view. */
    focus(from: number, to: number): void {
        const pad = Math.max((to - from) * 0.15, 50);
        this.set({view: [from - pad, to + pad]});
    }

    // ---- the hash ----------------------------------------------------------------------

    #saveSoon(): void {
        clearTimeout(this.#hashTimer);
        this.#hashTimer = window.setTimeout(() => this.#save(), 250);
    }

    #save(): void {
        if (this.state.loaded >= 0 && this.state.loaded < 2) return; // not yet restored
        const hash = toHash(this.state, this.report);
        if (hash !== location.hash.slice(1)) {
            try {
                history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
            } catch {
                location.hash = hash;
            }
        }
    }

    restore(): void {
        const change = fromHash(location.hash.slice(1), this.report);
        if (change.search !== undefined) change.hits = findHits(this.report, change.search);
        this.set(change);
    }
}

export function useStore<T>(store: Store, pick: (s: State) => T): T {
    const [value, setValue] = useState(() => pick(store.state));
    useEffect(() => {
        setValue(() => pick(store.state));
        return store.subscribe(() => setValue(() => pick(store.state)));
    }, [store]);
    return value;
}

function toHash(s: State, report: Report): string {
    const out = new URLSearchParams();
    const pair = (a: readonly [number, number]): string => `${Math.round(a[0])}-${Math.round(a[1])}`;
    if (Math.abs(s.view[0]) > 1 || Math.abs(s.view[1] - report.duration) > 1) out.set("v", pair(s.view));
    if (s.step >= 0) out.set("step", String(report.steps[s.step]!.index));
    else if (s.range) out.set("r", pair(s.range));
    if (s.op >= 0) out.set("op", report.text(s.op).slice(0, 500));
    if (s.slice >= 0 && report.trace) {
        const row = report.trace.rowOf(s.slice);
        out.set("e", `${row.track}.${row.depth}.${report.trace.start[s.slice]}`);
    }
    if (s.search) out.set("q", s.search.slice(0, 200));
    if (s.flameMode !== 2 || s.flameWeight !== "time") out.set("f", `${s.flameMode}${s.flameWeight[0]}`);
    if (s.heapMode) out.set("h", HEAP_MODES[s.heapMode]!.key);
    if (s.marks.length) out.set("m", s.marks.map((m) => pair([m.from, m.to])).join("_"));
    if (s.theme !== "auto") out.set("t", s.theme);
    return out.toString();
}

function toPair(text: string | null): [number, number] | null {
    const m = /^(-?\d+)-(-?\d+)$/.exec(text ?? "");
    return m && Number(m[2]) >= Number(m[1]) ? [Number(m[1]), Number(m[2])] : null;
}

function fromHash(hash: string, report: Report): Partial<State> {
    const q = new URLSearchParams(hash);
    const change: Partial<State> = {op: -1, range: null, step: -1, slice: -1, search: q.get("q") ?? ""};
    change.view = toPair(q.get("v")) ?? [0, report.duration];
    change.range = toPair(q.get("r"));
    const step = q.get("step");
    if (step !== null) {
        const at = report.steps.findIndex((s) => String(s.index) === step);
        if (at >= 0) Object.assign(change, {step: at, range: [report.steps[at]!.begin, report.steps[at]!.end]});
    }
    const op = q.get("op");
    if (op) change.op = report.strings.findIndex((s) => s.slice(0, 500) === op);
    const e = /^(\d+)\.(\d+)\.([\d.e+]+)$/.exec(q.get("e") ?? "");
    const track = e ? report.trace?.tracks[Number(e[1])] : undefined;
    if (e && track && report.trace && Number(e[2]) < track.depth) {
        const row = report.trace.rows[track.rows + Number(e[2])]!;
        const i = report.trace.lowerStart(row, Number(e[3]));
        if (i < row.end) change.slice = i;
    }
    const f = /^([123])([tcb])$/.exec(q.get("f") ?? "");
    if (f) Object.assign(change, {flameMode: Number(f[1]), flameWeight: {t: "time", c: "calls", b: "bytes"}[f[2]!]});
    change.heapMode = Math.max(0, HEAP_MODES.findIndex((m) => m.key === q.get("h")));
    const marks = (q.get("m") ?? "").split("_").map(toPair).filter((p) => p !== null);
    change.marks = marks.slice(0, 50).map(([from, to]) => ({from, to}));
    const t = q.get("t");
    change.theme = t === "light" || t === "dark" ? t : "auto";
    return change;
}
