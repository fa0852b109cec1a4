// SPDX-License-Identifier: MIT OR Apache-2.0
// A flame graph that is used: hover, keys, zoom, what is said of the box under
// the pointer; and the same tree as a table. Which tree, and in which way, is
// up to who uses it.
import {type ComponentChildren, type JSX} from "preact";
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from "preact/hooks";
import {type Report} from "../data/report";
import {callees, callers, type Tree} from "../data/tree";
import {time} from "../format";
import {useStore, type Store} from "../state";
import {Flame, FLAME_ROW, type Box, type Layer} from "../canvas/flame";
import {countColumn, DataTable, shareColumn, type Column} from "./table";

/** What is drawn: trees, or a row of the timeline in time order. */
export interface Plan {
    layers: Layer[];
    height: number;
    chart?: {track: number; from: number; to: number};
}

/** What the widths are. */
export interface Measure {
    key: string;
    head: string;
    format: (x: number) => string;
    /** The head of the table's last column, and what it means. */
    count?: [string, string];
}

export function treePlan(tree: Tree | null): Plan {
    return tree ? {layers: [{tree, top: 0, up: false}], height: Flame.depthOf(tree) * FLAME_ROW} : {layers: [], height: 0};
}

/** One name: who calls it above, what it calls below. */
export function sandwichPlan(tree: Tree, name: number): Plan {
    const up = callers(tree, name), down = callees(tree, name);
    const above = Flame.depthOf(up), top = (above - 1) * FLAME_ROW;
    return {layers: [{tree: up, top: top + FLAME_ROW, up: true}, {tree: down, top, up: false}], height: (above - 1 + Flame.depthOf(down)) * FLAME_ROW};
}

interface Props {
    report: Report;
    store: Store;
    plan: Plan;
    format: (x: number) => string;
    label: string;
    /** The chosen name is outlined and all others are faint. */
    isMarked: boolean;
    /** What stands above it, on the left. */
    children: ComponentChildren;
}

export function FlameBox({report, store, plan, format, label, isMarked, children}: Props): JSX.Element {
    const op = useStore(store, (s) => s.op), hits = useStore(store, (s) => s.hits), dark = useStore(store, (s) => s.dark);
    const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
    const flame = useRef<Flame | null>(null);
    const [width, setWidth] = useState(600);
    const [zoomed, setZoomed] = useState(false);
    const [said, setSaid] = useState("");
    const height = Math.max(FLAME_ROW * 2, plan.height);

    const draw = (): void => {
        const f = flame.current;
        if (!f) return;
        f.width = width;
        const marked = {op: isMarked ? op : -1, hits: hits?.names ?? null};
        if (plan.chart) f.drawChart(plan.chart.track, plan.chart.from, plan.chart.to, height, marked);
        else f.drawTrees(plan.layers, height, marked);
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
    const place = (e: MouseEvent): Box | null => {
        const r = canvas.current!.getBoundingClientRect();
        return flame.current!.at(e.clientX - r.left, e.clientY - r.top);
    };
    const hover = (b: Box | null): void => {
        flame.current!.hover = b;
        setSaid(b ? (b.tree ? flame.current!.describe(b, format) : `${flame.current!.describe(b, format)} — ${time(report.trace!.dur[b.node]!)}`) : "");
    };
    const reset = (): void => {
        flame.current!.view.set(0, 1);
        setZoomed(false);
        draw();
    };
    const zoomTo = (b: Box): void => {
        const f = flame.current!;
        f.view.set(f.view.at(b.x, width), f.view.at(b.x + b.w, width));
        f.hover = null;
        setZoomed(f.view.span < 0.999);
        draw();
    };
    const click = (b: Box | null): void => {
        if (!b) return;
        if (b.tree && flame.current!.isRoot(b.tree, b.node)) return reset();
        if (!b.tree) store.chooseSlice(b.node);
        else if (b.name !== op) store.set({op: b.name});
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
        <>
            <div class="tools">
                {children}
                {zoomed && <button class="quiet" onClick={reset}>Reset zoom</button>}
                <span class="spacer" />
                <span class="muted said" role="status">{said}</span>
            </div>
            <div ref={box} class="flame-box">
                <canvas ref={canvas} tabIndex={0} role="application" aria-label={`${label}. Arrow keys move, Enter selects and zooms. The same data are in the table below.`} style={{height: `${height}px`}}
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
            <p class="note hint">Click selects a name everywhere · double-click or <kbd>Enter</kbd> zooms · Ctrl + wheel zooms</p>
        </>
    );
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

// ---- as a table --------------------------------------------------------------------------

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

export function PathTable({report, tree, measure, store}: {report: Report; tree: Tree; measure: Measure; store: Store}): JSX.Element {
    const [open, setOpen] = useState(false);
    const rows = useMemo(() => (open ? pathRows(report, tree) : []), [open, tree]);
    const {key, head, format, count} = measure;
    const columns: Column<PathRow>[] = [
        {key: "path", head: "Path", tip: "From the outermost inwards.", cell: (r) => <span class="path"><bdi dir="ltr">{r.path}</bdi></span>, value: (r) => r.path},
        {key, head, tip: "With all that is below it on the path.", num: true, cell: (r) => format(r.weight), value: (r) => r.weight, text: (r) => format(r.weight)},
        shareColumn("share", "Share", (r) => r.share, {tip: "Of the whole tree."}),
        ...(count ? [countColumn<PathRow>("count", count[0], (r) => r.calls, {tip: count[1]})] : []),
    ];
    return (
        <details class="as-table" open={open} onToggle={(e) => setOpen((e.target as HTMLDetailsElement).open)}>
            <summary>As a table: the heaviest paths</summary>
            {open && <DataTable key={key} caption="Heaviest paths" columns={columns} rows={rows} sort={key} id={(r) => r.id} onChoose={(r) => store.set({op: tree.name[r.id]!})} />}
        </details>
    );
}
