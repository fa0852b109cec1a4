// SPDX-License-Identifier: MIT OR Apache-2.0
// What stands below what on the timeline: steps, critical path, memory, counters, then
// threads and queues, grouped by rank or process where there are several.
import {bytes, valueFormat} from "../format";
import {isFlat, type Domain, type Report, type Series} from "../data/report";
import {type ThreadStates} from "../data/states";
import {type Trace, type Track} from "../data/trace";
import {PATH_HEIGHT} from "./path_draw";
import {STRIP} from "./states_draw";

export const ROW = 18;
const COMPACT_ROW = 4;
const COMPACT_DEPTH = 6;
const COMPACT_HEIGHT = 24;
const EXPANDED_HEIGHT = 640;

export interface Lane {
    kind: "steps" | "path" | "memory" | "counter" | "group" | "track" | "marks" | "states";
    key: string;
    label: string;
    sub: string;
    y: number;
    h: number;
    track?: Track;
    rows: number;
    rowHeight: number;
    isOpen: boolean;
    canToggle: boolean;
    series?: Series;
    domain?: Domain;
    states?: ThreadStates;
}

/** A track, or a thread of which nothing but its states is known. */
interface Item {
    row: string;
    lane: number;
    kind: "slices" | "marks" | "states";
    name?: string;
    track?: Track;
}

interface Owner {
    label: string;
    group: string;
    isQueue: boolean;
}

function groupOf(of: {rank: number; process: number} | undefined): string {
    return !of ? "" : of.rank >= 0 ? `Rank ${of.rank}` : `Process ${of.process}`;
}

function ownerOf(report: Report, track: Item): Owner {
    const at = Number(track.row.slice(1));
    if (track.row[0] === "t") {
        const t = report.meta.threads[at];
        return {label: report.threadName(at), group: groupOf(t), isQueue: false};
    }
    const q = report.meta.queues?.[at];
    if (track.row[0] === "q") return {label: q?.name ?? "queue", group: groupOf(q), isQueue: true};
    return {label: track.name ?? "spans", group: groupOf(report.meta.threads[0]), isQueue: true};
}

function lane(of: Partial<Lane> & Pick<Lane, "kind" | "key" | "label" | "h">): Lane {
    return {sub: "", y: 0, rows: 0, rowHeight: 0, isOpen: true, canToggle: false, ...of};
}

function head(report: Report): Lane[] {
    const lanes: Lane[] = [];
    if (report.steps.length) lanes.push(lane({kind: "steps", key: "steps", label: "Steps", h: 20}));
    if (report.onPath) lanes.push(lane({kind: "path", key: "path", label: "Critical path", h: PATH_HEIGHT}));
    for (const d of report.domains) {
        const label = d.number < 0 ? "Memory" : `Memory of ${d.label}`;
        if (d.series) lanes.push(lane({kind: "memory", key: `memory${d.number}`, label, sub: `peak ${bytes(d.meta.peak)}`, h: 52, domain: d}));
    }
    const levels = report.heap.levels;
    if (levels) {
        const max = report.meta.heap?.peak ?? 0;
        lanes.push(lane({kind: "counter", key: "heap", label: "Heap", sub: `peak ${bytes(max)}`, h: 44, series: {id: -1, name: "heap_bytes", ...levels, min: 0, max}}));
    }
    return lanes;
}

function counters(report: Report): Lane[] {
    return report.counters.filter((s) => !isFlat(s)).slice(0, 32).map((series, i) => {
        const f = valueFormat(series.name);
        return lane({kind: "counter", key: `c${i}`, label: series.name, sub: `${f(series.min)} … ${f(series.max)}`, h: 38, series});
    });
}

/** Lanes in order, with their places. `toggled` holds keys that a person changed. */
export function makeLanes(report: Report, toggled: Set<string>): Lane[] {
    const lanes = head(report);
    const trace = report.trace;
    // A few counters stand beside the steps, many below the threads.
    const values = counters(report), few = values.length <= 3;
    if (few || !trace) lanes.push(...values);
    if (!trace) return place(lanes);
    const groups = new Map<string, Item[]>();
    for (const item of itemsOf(report, trace)) {
        const g = ownerOf(report, item).group;
        if (!groups.has(g)) groups.set(g, []);
        groups.get(g)!.push(item);
    }
    const named = groups.size > 1;
    let height = lanes.reduce((h, l) => h + l.h, 0);
    for (const [group, items] of groups) {
        if (named) lanes.push(lane({kind: "group", key: group, label: group, h: 22}));
        for (const item of items.sort((a, b) => byPlace(report, a, b))) {
            const one = itemLane(report, item, toggled, height);
            lanes.push(one);
            height += one.h;
        }
    }
    if (!few) lanes.push(...values);
    return place(lanes);
}

function itemsOf(report: Report, trace: Trace): Item[] {
    const items: Item[] = trace.tracks.filter((t) => t.depth > 0).map((track) => ({...track, track}));
    const drawn = new Set(items.filter(isMain).map((t) => t.row));
    for (const i of report.states.keys()) if (!drawn.has(`t${i}`)) items.push({row: `t${i}`, lane: 0, kind: "states"});
    return items;
}

/** What a thread's states stand below. */
function isMain(t: Item): boolean {
    return t.row[0] === "t" && t.lane === 0 && t.kind === "slices";
}

/** Threads, the main one first, queues, spans; a thread's marks below its slices. */
function byPlace(report: Report, a: Item, b: Item): number {
    const kind = (t: Item): number => "tqa".indexOf(t.row[0]!);
    const at = (t: Item): number => {
        const i = Number(t.row.slice(1)) || 0, thread = report.meta.threads[i];
        return !kind(t) && thread?.id === thread?.process ? -1 : i;
    };
    return kind(a) - kind(b) || at(a) - at(b) || Number(a.kind === "marks") - Number(b.kind === "marks") || a.lane - b.lane;
}

function itemLane(report: Report, item: Item, toggled: Set<string>, above: number): Lane {
    const owner = ownerOf(report, item);
    const key = `${item.row}.${item.lane}.${item.kind}`;
    const label = item.lane > 0 ? `${owner.label} · lane ${item.lane + 1}` : owner.label;
    const states = item.row[0] === "t" ? report.states.get(Number(item.row.slice(1))) : undefined;
    const {track} = item;
    if (!track) return lane({kind: "states", key, label, h: 18, states});
    if (track.kind === "marks")
        return lane({kind: "marks", key, label: `${owner.label} · marks`, h: 16, track, rows: 1, rowHeight: 16});
    const fits = above + track.depth * ROW < EXPANDED_HEIGHT;
    const isOpen = track.depth === 1 || fits !== toggled.has(key);
    const rows = isOpen ? track.depth : Math.min(track.depth, COMPACT_DEPTH);
    const rowHeight = isOpen ? ROW : Math.max(COMPACT_ROW, Math.floor(COMPACT_HEIGHT / rows));
    const strip = states && isMain(item) ? STRIP + 3 : 0;
    return lane({kind: "track", key, label, sub: busySub(report, track), h: rows * rowHeight + 2 + strip, ...(strip ? {states} : {}), track, rows, rowHeight, isOpen, canToggle: track.depth > 1});
}

function busySub(report: Report, track: Track): string {
    const list = track.row[0] === "t" ? report.meta.threads : track.row[0] === "q" ? report.meta.queues ?? [] : [];
    const o = list[Number(track.row.slice(1))];
    if (!o || track.lane > 0) return "";
    const life = o.end - o.begin;
    return life > 0 ? `${Math.round((Math.min(o.busy, life) / life) * 100)} % in scopes` : "";
}

function place(lanes: Lane[]): Lane[] {
    let y = 0;
    for (const l of lanes) {
        l.y = y;
        y += l.h + (l.kind === "track" ? 2 : 4);
    }
    return lanes;
}

export function lanesHeight(lanes: Lane[]): number {
    const last = lanes[lanes.length - 1];
    return last ? last.y + last.h + 6 : 0;
}

