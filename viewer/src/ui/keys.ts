// SPDX-License-Identifier: MIT OR Apache-2.0
// The keys. Letters are taken by their place on the keyboard (code), so that
// W A S D lie together on every layout; signs by what they are (key).
import {flowsOf} from "../canvas/overlay";
import {type Timeline} from "../canvas/timeline";
import {HEAP_MODES} from "../data/heap";
import {flowInto, flowsFrom} from "../data/gaps";
import {type Waker} from "../data/wakers";
import {type FlameMode, type Store} from "../state";

export const KEYS: [string, string][] = [
    ["W S", "zoom in, out (at the pointer)"],
    ["A D", "move left, right"],
    ["Ctrl + wheel, pinch", "zoom at the pointer"],
    ["drag", "select a range of time"],
    ["Shift + drag, middle button", "move"],
    ["wheel", "scroll"],
    ["F", "go to what is selected"],
    ["0", "show the whole run"],
    ["/", "search; Enter and Shift+Enter go to the next and previous match"],
    [". ,", "next, previous slice in the row"],
    ["↑ ↓", "parent, child of the selected slice (in the timeline)"],
    ["[ ]", "back, forward along an arrow: from a kernel to its launch, from a wait to who ended it"],
    ["R", "select the slice's time, or what is shown, as the range"],
    ["M", "mark the selection, or the time at the pointer; again: remove"],
    ["1 2 3", "flame graph: time order, left heavy, sandwich"],
    ["H", "heap: the next of its four modes"],
    ["Esc", "clear the selection"],
    ["?", "this list"],
];

function isTyping(e: KeyboardEvent): boolean {
    const t = e.target as HTMLElement | null;
    return !!t && (t.tagName === "INPUT" || t.tagName === "SELECT" || t.tagName === "TEXTAREA" || t.isContentEditable);
}

export function handleKey(e: KeyboardEvent, store: Store, tl: Timeline | null): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Escape") return escape(store);
    if (isTyping(e)) return;
    if (byKey(e, store, tl) || (tl && (byCode(e.code, tl) || (inTimeline(tl) && byArrow(e.key, tl))))) e.preventDefault();
}

function escape(store: Store): void {
    if (store.state.help) return store.set({help: false});
    (document.activeElement as HTMLElement | null)?.blur?.();
    store.clear();
}

function inTimeline(tl: Timeline): boolean {
    return document.activeElement === tl.parts.scroll;
}

function byKey(e: KeyboardEvent, store: Store, tl: Timeline | null): boolean {
    switch (e.key) {
    case "/":
        document.getElementById("search")?.focus();
        return true;
    case "?":
        store.set({help: !store.state.help});
        return true;
    case "1":
    case "2":
    case "3":
        store.set({flameMode: Number(e.key) as FlameMode});
        return true;
    case "0":
        store.set({view: [0, store.report.duration]});
        return true;
    case ".":
    case ",":
        if (tl) stepInRow(tl, e.key === "." ? 1 : -1);
        return true;
    case "[":
    case "]":
        if (tl) along(tl, e.key === "]");
        return true;
    default: return false;
    }
}

function byCode(code: string, tl: Timeline): boolean {
    const {view} = tl;
    const at = tl.hover && tl.hover.x >= tl.gutter ? tl.hover.time : (view.from + view.to) / 2;
    switch (code) {
    case "KeyW": view.zoom(at, 1.3); break;
    case "KeyS": view.zoom(at, 1 / 1.3); break;
    case "KeyA": view.pan(-view.span * 0.12); break;
    case "KeyD": view.pan(view.span * 0.12); break;
    case "KeyH": tl.store.set({heapMode: (tl.store.state.heapMode + 1) % HEAP_MODES.length}); return true;
    case "KeyF": focusSelection(tl); return true;
    case "KeyM": toggleMark(tl); return true;
    case "KeyR": selectShown(tl); return true;
    default: return false;
    }
    tl.redraw(true);
    tl.shareView();
    return true;
}

function byArrow(key: string, tl: Timeline): boolean {
    const {trace, store} = tl;
    const i = store.state.slice;
    if (!trace) return false;
    if (key === "ArrowLeft" || key === "ArrowRight") return stepInRow(tl, key === "ArrowRight" ? 1 : -1), true;
    if (i < 0 || (key !== "ArrowUp" && key !== "ArrowDown")) return false;
    if (key === "ArrowUp") go(tl, trace.parent(i));
    else {
        const [a, b] = trace.childRange(i);
        if (b > a) go(tl, a);
    }
    return true;
}

/** Selects an event and brings it into view. */
export function go(tl: Timeline, i: number): void {
    const {trace, store, view} = tl;
    if (!trace || i < 0) return;
    store.chooseSlice(i);
    const a = trace.start[i]!, b = a + trace.dur[i]!;
    if (b < view.from || a > view.to || trace.dur[i]! < view.span / tl.plotWidth) {
        const span = Math.min(view.span, Math.max(trace.dur[i]! * 20, 200));
        store.set({view: [(a + b) / 2 - span / 2, (a + b) / 2 + span / 2]});
    }
    tl.reveal(i);
}

/** Selects what the thread that ended a wait was in then, or shows the moment. */
export function goWaker(tl: Timeline, w: Waker): void {
    const slice = tl.report.wakers!.slice(w), {from, to, span} = tl.view;
    if (slice >= 0) tl.store.chooseSlice(slice);
    if (w.time < from || w.time > to) tl.store.set({view: [w.time - span / 2, w.time + span / 2]});
    if (slice >= 0) tl.reveal(slice);
    tl.store.set({cursor: Math.round(w.time)});
}

function stepInRow(tl: Timeline, by: number): void {
    const {trace, store, view} = tl;
    if (!trace || trace.n === 0) return;
    const i = store.state.slice;
    if (i < 0) {
        const row = trace.rows.find((r) => trace.tracks[r.track]!.kind === "slices");
        if (row) go(tl, Math.min(row.end - 1, trace.firstAfter(row, view.from)));
        return;
    }
    const row = trace.rowOf(i);
    go(tl, Math.max(row.first, Math.min(row.end - 1, i + by)));
}

function along(tl: Timeline, forward: boolean): void {
    const {trace, store} = tl;
    const i = store.state.slice;
    if (!trace || i < 0) return;
    const next = forward ? flowsFrom(trace, i)[0] ?? -1 : flowInto(trace, i);
    if (next >= 0) return go(tl, next);
    const wakers = tl.report.wakers, woken = wakers?.of(i);
    if (!forward && woken) return goWaker(tl, woken);
    const ended = forward ? wakers?.endedBy(i)[0] : undefined;
    if (ended) return go(tl, ended.wait);
    const near = flowsOf(tl, i).find(([a, b]) => (forward ? b !== i && a !== i : a !== i && b !== i));
    if (near) go(tl, forward ? near[1] : near[0]);
}

function focusSelection(tl: Timeline): void {
    const {trace, store} = tl;
    const {slice, range} = store.state;
    if (slice >= 0 && trace) {
        store.focus(trace.start[slice]!, trace.start[slice]! + trace.dur[slice]!);
        tl.reveal(slice);
    } else if (range) store.focus(range[0], range[1]);
}

/** A range without a mouse. */
function selectShown({trace, store, view, report}: Timeline): void {
    const i = store.state.slice;
    if (i >= 0 && trace) store.chooseRange([trace.start[i]!, trace.start[i]! + trace.dur[i]!]);
    else store.chooseRange([Math.max(0, Math.round(view.from)), Math.min(report.duration, Math.round(view.to))]);
}

function toggleMark(tl: Timeline): void {
    const {trace, store, view} = tl;
    const {slice, range, marks} = store.state;
    let m = {from: tl.hover ? tl.hover.time : (view.from + view.to) / 2, to: 0};
    m.to = m.from;
    if (slice >= 0 && trace) m = {from: trace.start[slice]!, to: trace.start[slice]! + trace.dur[slice]!};
    else if (range) m = {from: range[0], to: range[1]};
    m.from = Math.round(m.from);
    m.to = Math.round(m.to);
    const near = (view.span / tl.plotWidth) * 4;
    const at = marks.findIndex((k) => Math.abs(k.from - m.from) < near && Math.abs(k.to - m.to) < near);
    store.set({marks: at >= 0 ? marks.filter((_, k) => k !== at) : [...marks, m].slice(-50)});
}
