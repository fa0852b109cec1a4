// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph's section: three ways (time order, left heavy, sandwich), by
// time, calls or bytes; also as a table.
import {type JSX} from "preact";
import {useMemo} from "preact/hooks";
import {type Report} from "../data/report";
import {rangeTree, wholeTree, type Tree, type Weight} from "../data/tree";
import {isLoose} from "../data/trace";
import {bytes, many, time} from "../format";
import {useStore, type FlameMode, type Store} from "../state";
import {FLAME_ROW, MAX_DEPTH} from "../canvas/flame";
import {FlameBox, PathTable, sandwichPlan, treePlan, type Measure, type Plan} from "./flame_box";
import {useScope} from "./operations";
import {Section} from "./parts";

const MODES: [FlameMode, string, string][] = [
    [1, "Time order", "One thread, as it ran (key 1)"],
    [2, "Left heavy", "Same paths together, heaviest first (key 2)"],
    [3, "Sandwich", "One operation: who calls it above, what it calls below (key 3)"],
];

const MEASURES: Record<Weight, Measure> = {
    time: {key: "time", head: "Total", format: time, count: ["Calls", "On this path."]},
    calls: {key: "calls", head: "Calls", format: (x) => many(x, "call")},
    bytes: {key: "bytes", head: "Bytes", format: bytes, count: ["Calls", "On this path."]},
};

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
    const op = useStore(store, (s) => s.op), range = useStore(store, (s) => s.range), loaded = useStore(store, (s) => s.loaded);
    const flameTrack = useStore(store, (s) => s.flameTrack);
    const hasBytes = !!report.meta.tree?.alloc.some((x) => x > 0);

    const main = useMemo(() => busiestTrack(report), [loaded]);
    const track = flameTrack >= 0 ? flameTrack : main;
    const focus = op >= 0 && tree && tree.has(op) ? op : tree ? heaviestSelf(report) : -1;
    const plan = useMemo((): Plan => {
        if (mode === 1 && report.trace && track >= 0) {
            const [from, to] = range ?? [0, report.duration];
            return {layers: [], height: Math.min(report.trace.tracks[track]!.depth, MAX_DEPTH) * FLAME_ROW, chart: {track, from, to}};
        }
        return mode === 3 && tree && focus >= 0 ? sandwichPlan(tree, focus) : treePlan(tree);
    }, [tree, mode, mode === 3 && focus, track, loaded, mode === 1 && range]);
    return (
        <Section id="flame" title="Flame graph" note={mode === 1 ? "One thread in time order." : mode === 3 && focus >= 0 ? `Callers above, callees below ${report.label(focus).slice(0, 60)}. ${note}` : note}>
            <FlameBox report={report} store={store} plan={plan} format={MEASURES[mode === 1 ? "time" : weight].format} label="Flame graph" isMarked={mode !== 3}>
                <div class="segments" role="group" aria-label="Way">
                    {MODES.map(([m, text, tip]) => <button key={m} aria-pressed={mode === m} data-tip={tip} disabled={m === 1 && loaded !== 2} onClick={() => store.set({flameMode: m})}>{text}</button>)}
                </div>
                {mode !== 1 ? (
                    <div class="segments" role="group" aria-label="Width by">
                        {(["time", "calls", ...(hasBytes ? ["bytes"] : [])] as Weight[]).map((w) => <button key={w} aria-pressed={weight === w} data-tip={w === "bytes" ? "Bytes allocated inside" : w === "time" ? "Total time" : "How often it ran"} onClick={() => store.set({flameWeight: w})}>by {w}</button>)}
                    </div>
                ) : <TrackChoice report={report} track={track} onChoose={(t) => store.set({flameTrack: t})} />}
            </FlameBox>
            {tree && <PathTable report={report} tree={tree} measure={MEASURES[weight]} store={store} />}
        </Section>
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
    const name = th ? `${th.rank >= 0 ? `rank ${th.rank} ` : ""}${report.threadName(at)}` : t.row[0] === "q" ? report.meta.queues?.[at]?.name ?? "queue" : t.name ?? "spans";
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

function heaviestSelf(report: Report): number {
    return report.ops.reduce((a, b) => (b.self > (a?.self ?? -1) ? b : a), report.ops[0])?.name ?? -1;
}
