// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph's section: three ways (time order, left heavy, sandwich), by
// time, calls or bytes; also as a table.
import {type JSX} from "preact";
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from "preact/hooks";
import {type Report} from "../data/report";
import {callees, callers, rangeTree, wholeTree, type Tree, type Weight} from "../data/tree";
import {isLoose} from "../data/trace";
import {bytes, many, time} from "../format";
import {useStore, type FlameMode, type Store} from "../state";
import {Flame, FLAME_ROW, MAX_DEPTH, type Box, type Layer} from "../canvas/flame";
import {useScope} from "./operations";
import {Section} from "./parts";
import {countColumn, DataTable, shareColumn, type Column} from "./table";

const MODES: [FlameMode, string, string][] = [
    [1, "Time order", "One thread, as it ran (key 1)"],
    [2, "Left heavy", "Same paths together, heaviest first (key 2)"],
    [3, "Sandwich", "One operation: who calls it above, what it calls below (key 3)"],
];

export function weightFormat(w: Weight): (x: number) => string {
    return w === "time" ? time : w === "bytes" ? bytes : (x) => many(x, "call");
}

interface PathRow {
    id: number;
    path: string;
    weight: number;
    share: number;
    calls: number;
}

/** The heaviest paths, for those who read rather than look. */
function pathRows(report: Report, tree: Tree): PathRow[] {
    const order = Array.from({length: tree.n - 1}, (_, k) => k + 1).filter((k) => tree.weight[k]! > 0).sort((a, b) => tree.weight[b]! - tree.weight[a]!).slice(0, 200);
    return order.map((k) => {
        const names: string[] = [];
        for (let a = k; a > 0 && names.length < 40; a = tree.parent[a]!) names.push(report.label(tree.name[a]!).slice(0, 60));
        return {id: k, path: names.reverse().join(" › "), weight: tree.weight[k]!, share: tree.weight[k]! / tree.weight[0]!, calls: tree.calls[k]!};
    });
}

function useTree(report: Report, store: Store): {tree: Tree | null; note: string} {
    const scope = useScope(report, store);
    const weight = useStore(store, (s) => s.flameWeight);
    return useMemo(() => {
        if (scope.sums && weight !== "bytes") return {tree: rangeTree(report.trace!, scope.sums, weight), note: `In the selected ${time(scope.range![1] - scope.range![0])}.`};
        if (!report.meta.tree) return {tree: null, note: ""};
        return {tree: wholeTree(report.meta.tree, weight), note: scope.sums ? "Allocated bytes are known for the whole run only." : "The whole run, threads merged."};
    }, [scope, weight]);
}

export function FlameView({report, store}: {report: Report; store: Store}): JSX.Element {
    const {tree, note} = useTree(report, store);
    const mode = useStore(store, (s) => s.flameMode), weight = useStore(store, (s) => s.flameWeight);
    const op = useStore(store, (s) => s.op), hits = useStore(store, (s) => s.hits);
    const range = useStore(store, (s) => s.range), loaded = useStore(store, (s) => s.loaded), dark = useStore(store, (s) => s.dark);
    const flameTrack = useStore(store, (s) => s.flameTrack);
    const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
    const flame = useRef<Flame | null>(null);
    const [width, setWidth] = useState(600);
    const [zoomed, setZoomed] = useState(false);
    const [said, setSaid] = useState("");
    const hasBytes = !!report.meta.tree?.alloc.some((x) => x > 0);

    const main = useMemo(() => busiestTrack(report), [loaded]);
    const track = flameTrack >= 0 ? flameTrack : main;
    const focus = op >= 0 && tree && hasName(tree, op) ? op : tree ? heaviestSelf(report) : -1;
    const sandwich = useMemo(() => (mode === 3 && tree && focus >= 0 ? {up: callers(tree, focus), down: callees(tree, focus)} : null), [mode, tree, focus]);

    const plan = useMemo((): {layers: Layer[]; height: number} => {
        if (mode === 1 && report.trace && track >= 0) return {layers: [], height: Math.min(report.trace.tracks[track]!.depth, MAX_DEPTH) * FLAME_ROW};
        if (sandwich) {
            const above = Flame.depthOf(sandwich.up), below = Flame.depthOf(sandwich.down);
            const top = (above - 1) * FLAME_ROW;
            return {layers: [{tree: sandwich.up, top: top + FLAME_ROW, up: true}, {tree: sandwich.down, top, up: false}], height: (above - 1 + below) * FLAME_ROW};
        }
        return tree ? {layers: [{tree, top: 0, up: false}], height: Flame.depthOf(tree) * FLAME_ROW} : {layers: [], height: 0};
    }, [tree, mode, sandwich, track, loaded]);
    const height = Math.max(FLAME_ROW * 2, plan.height);

    const draw = (): void => {
        const f = flame.current;
        if (!f) return;
        f.width = width;
        const marked = {op, hits: hits?.names ?? null};
        if (mode === 1 && report.trace && track >= 0) {
            const [a, b] = range ?? [0, report.duration];
            f.drawChart(track, a, b, height, marked);
        } else f.drawTrees(plan.layers, height, mode === 3 ? {op: -1, hits: marked.hits} : marked);
    };
    useLayoutEffect(() => {
        flame.current = new Flame(canvas.current!, report);
        const o = new ResizeObserver(() => setWidth(Math.max(50, box.current!.clientWidth - 12)));
        o.observe(box.current!);
        return () => o.disconnect();
    }, []);
    useEffect(() => {
        flame.current?.view.set(0, 1);
        setZoomed(false);
    }, [plan]);
    useEffect(() => {
        flame.current?.setTheme();
        draw();
    }, [dark]);
    useEffect(draw);
    const format = weightFormat(mode === 1 ? "time" : weight);
    const place = (e: MouseEvent): Box | null => {
        const r = canvas.current!.getBoundingClientRect();
        return flame.current!.at(e.clientX - r.left, e.clientY - r.top);
    };
    const hover = (b: Box | null): void => {
        flame.current!.hover = b;
        setSaid(b ? (b.tree ? flame.current!.describe(b, format) : `${flame.current!.describe(b, format)} — ${time(report.trace!.dur[b.node]!)}`) : "");
    };
    const zoomTo = (b: Box): void => {
        const f = flame.current!;
        const from = f.view.at(b.x, width), to = f.view.at(b.x + b.w, width);
        f.view.set(from, to);
        f.hover = null;
        setZoomed(f.view.span < 0.999);
        draw();
    };
    const click = (b: Box | null): void => {
        if (!b) return;
        if (b.tree && b.node === 0 && mode === 2) return reset();
        if (!b.tree) store.chooseSlice(b.node);
        else if (b.name !== op) store.set({op: b.name});
    };
    const reset = (): void => {
        flame.current!.view.set(0, 1);
        setZoomed(false);
        draw();
    };
    const keys = (e: KeyboardEvent): void => {
        const next = neighbour(flame.current!, e.key);
        if (next) {
            e.preventDefault();
            e.stopPropagation();
            hover(next);
            const b = box.current!;
            b.scrollTop = Math.max(next.y + 2 * FLAME_ROW - b.clientHeight, Math.min(next.y, b.scrollTop));
        } else if (e.key === "Enter" && flame.current!.hover) {
            e.preventDefault();
            const b = flame.current!.hover;
            click(b);
            zoomTo(b);
        }
    };
    return (
        <Section id="flame" title="Flame graph" note={mode === 1 ? "One thread in time order." : mode === 3 && focus >= 0 ? `Callers above, callees below ${report.label(focus).slice(0, 60)}. ${note}` : note}>
            <div class="tools">
                <div class="segments" role="group" aria-label="Way">
                    {MODES.map(([m, text, tip]) => <button key={m} aria-pressed={mode === m} data-tip={tip} disabled={m === 1 && loaded !== 2} onClick={() => store.set({flameMode: m})}>{text}</button>)}
                </div>
                {mode !== 1 ? (
                    <div class="segments" role="group" aria-label="Width by">
                        {(["time", "calls", ...(hasBytes ? ["bytes"] : [])] as Weight[]).map((w) => <button key={w} aria-pressed={weight === w} data-tip={w === "bytes" ? "Bytes allocated inside" : w === "time" ? "Total time" : "How often it ran"} onClick={() => store.set({flameWeight: w})}>by {w}</button>)}
                    </div>
                ) : <TrackChoice report={report} track={track} onChoose={(t) => store.set({flameTrack: t})} />}
                {zoomed && <button class="quiet" onClick={reset}>Reset zoom</button>}
                <span class="spacer" />
                <span class="muted said" role="status">{said}</span>
            </div>
            <div ref={box} class="flame-box">
                <canvas ref={canvas} tabIndex={0} role="application" aria-label="Flame graph. Arrow keys move, Enter selects and zooms. The same data are in the table below." style={{height: `${height}px`}}
                    onMouseMove={(e) => { hover(place(e)); draw(); }} onMouseLeave={() => { hover(null); draw(); }} onClick={(e) => click(place(e))}
                    onDblClick={(e) => { const b = place(e); if (b) zoomTo(b); }} onKeyDown={keys}
                    onWheel={(e) => {
                        if (!e.ctrlKey) return;
                        e.preventDefault();
                        const f = flame.current!, r = canvas.current!.getBoundingClientRect();
                        f.view.zoom(f.view.at(e.clientX - r.left, width), Math.exp(-e.deltaY * 0.005));
                        setZoomed(f.view.span < 0.999);
                        draw();
                    }} />
            </div>
            <p class="note hint">Click selects an operation everywhere · double-click or <kbd>Enter</kbd> zooms · Ctrl + wheel zooms</p>
            {tree && <PathTable report={report} tree={tree} weight={weight} store={store} />}
        </Section>
    );
}

function PathTable({report, tree, weight, store}: {report: Report; tree: Tree; weight: Weight; store: Store}): JSX.Element {
    const [open, setOpen] = useState(false);
    const rows = useMemo(() => (open ? pathRows(report, tree) : []), [open, tree]);
    const format = weightFormat(weight);
    const columns: Column<PathRow>[] = [
        {key: "path", head: "Path", tip: "From the outermost scope inwards.", cell: (r) => <bdi class="path">{r.path}</bdi>, value: (r) => r.path},
        {key: weight, head: weight === "time" ? "Total" : weight === "bytes" ? "Bytes" : "Calls", tip: "With all that is below it on the path.", num: true, cell: (r) => format(r.weight), value: (r) => r.weight, text: (r) => format(r.weight)},
        shareColumn("share", "Share", (r) => r.share, {tip: "Of the whole tree."}),
        countColumn("calls", "Calls", (r) => r.calls, {tip: "On this path."}),
    ];
    return (
        <details class="as-table" open={open} onToggle={(e) => setOpen((e.target as HTMLDetailsElement).open)}>
            <summary>As a table: the heaviest paths</summary>
            {open && <DataTable caption="Heaviest paths" columns={columns} rows={rows} sort={weight} id={(r) => r.id} onChoose={(r) => store.set({op: tree.name[r.id]!})} />}
        </details>
    );
}

function TrackChoice({report, track, onChoose}: {report: Report; track: number; onChoose: (t: number) => void}): JSX.Element {
    const list = (report.trace?.tracks ?? []).filter((t) => t.kind === "slices" && t.depth > 0);
    return (
        <label class="choice">Row <select value={track} onChange={(e) => onChoose(Number(e.currentTarget.value))}>
            {list.map((t) => <option key={t.index} value={t.index}>{trackLabel(report, t.index)}</option>)}
        </select></label>
    );
}

export function trackLabel(report: Report, track: number): string {
    const t = report.trace!.tracks[track]!;
    const at = Number(t.row.slice(1));
    const th = t.row[0] === "t" ? report.meta.threads[at] : undefined;
    const name = th ? `${th.rank >= 0 ? `rank ${th.rank} ` : ""}${th.name || `thread ${th.id}`}` : t.row[0] === "q" ? report.meta.queues?.[at]?.name ?? "queue" : t.name ?? "spans";
    return (t.lane ? `${name}, lane ${t.lane + 1}` : name).slice(0, 60);
}

export function busiestTrack(report: Report): number {
    const trace = report.trace;
    if (!trace) return -1;
    let best = -1, most = -1;
    for (const t of trace.tracks) {
        if (t.kind !== "slices" || t.depth === 0 || isLoose(t)) continue;
        const score = t.depth * 1e9 + t.n;
        if (score > most) (most = score), (best = t.index);
    }
    return best;
}

function hasName(tree: Tree, name: number): boolean {
    for (let k = 1; k < tree.n; k++) if (tree.name[k] === name && tree.weight[k]! > 0) return true;
    return false;
}

function heaviestSelf(report: Report): number {
    return report.ops.reduce((a, b) => (b.self > (a?.self ?? -1) ? b : a), report.ops[0])?.name ?? -1;
}

/** The box that an arrow key leads to. */
function neighbour(f: Flame, key: string): Box | null {
    if (!key.startsWith("Arrow")) return null;
    const now = f.hover ?? null;
    if (!now) return f.boxes[0] ?? null;
    const mid = now.x + now.w / 2;
    if (key === "ArrowUp" || key === "ArrowDown") {
        const y = now.y + (key === "ArrowDown" ? FLAME_ROW : -FLAME_ROW);
        const row = f.boxes.filter((b) => Math.abs(b.y - y) < 2 && b.x < now.x + now.w && b.x + b.w > now.x);
        return row.find((b) => mid >= b.x && mid < b.x + b.w) ?? row[0] ?? now;
    }
    const row = f.boxes.filter((b) => Math.abs(b.y - now.y) < 2).sort((a, b) => a.x - b.x);
    return row[row.findIndex((b) => b.x === now.x) + (key === "ArrowRight" ? 1 : -1)] ?? now;
}

