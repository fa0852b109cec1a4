// SPDX-License-Identifier: MIT OR Apache-2.0
// The heap of a program, changed or not: what its allocator handed out, by
// place, as a flame graph in four modes and as a table; and what is no block of
// the allocator's beside it.
import {type JSX} from "preact";
import {useMemo, useState} from "preact/hooks";
import {groupPlaces, GROUPINGS, growthOf, HEAP_MODES, usualLife, type Group, type Grouping, type Heap, type HeapMode, type Kept} from "../data/heap";
import {MEMORY_KINDS, type HeapSums} from "../data/meta";
import {type Report} from "../data/report";
import {bytes, bytesParts, count, label, many, plain, time} from "../format";
import {Plot} from "../charts/plot";
import {css, mix, seriesColor} from "../canvas/palette";
import {useStore, type Store} from "../state";
import {FlameBox, PathTable, sandwichPlan, treePlan, type Measure} from "./flame_box";
import {Name, Num, Section} from "./parts";
import {bytesColumn, countColumn, DataTable, largest, shareColumn, timeColumn, type Column} from "./table";

export function HeapView({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const h = report.meta.heap;
    useStore(store, (s) => s.loaded);
    if (!h) return null;
    return (
        <Section id="heap" title="Heap" note={`What the allocator handed out: ${bytes(h.peak)} at most, at ${time(h.peak_at)}; ${bytes(h.current)} in ${many(h.blocks, "block")} not freed. ${many(h.n_allocs, "block")}, ${bytes(h.allocated)} in all, ${count(h.n_temporary)} of them freed before their thread allocated again.`}>
            <Limits h={h} />
            <Sums h={h} heap={report.heap} />
            <OverTime report={report} store={store} />
            {report.heap.isWhole && <HeapFlame report={report} store={store} />}
            {report.heap.isWhole && <Places report={report} store={store} />}
            {report.heap.kept.length > 0 && <KeptTable report={report} store={store} />}
        </Section>
    );
}

/** What went wrong, and how far to believe the rest. */
function Limits({h}: {h: HeapSums}): JSX.Element {
    const f = h.failed;
    return (
        <>
            {f && <p class="problem">{f.is_too_much ? "Failed allocation" : "Out of memory"}: the allocator had nothing for {bytes(f.bytes)} after {time(f.at)}{f.where && <>, in <bdi>{f.where}</bdi></>}{f.count > 1 ? ", the first of several times" : ""}. {f.is_too_much ? "That is more than there is." : "High water is what was live then."}</p>}
            {h.sampled > 0 && <p class="note">Estimates: one block every {bytes(h.sampled)} was looked at; sums of n such blocks are good to about 200 / √n %.</p>}
            {h.n_missed > 0 && <p class="note">{many(h.n_missed, "block")} could not be followed and {h.n_missed === 1 ? "is" : "are"} in none of these figures.</p>}
        </>
    );
}

interface Sum {
    what: string;
    tip: string;
    most: number;
    end: number;
}

/** One picture: what the allocator handed out, and what is beside it. */
function Sums({h, heap}: {h: HeapSums; heap: Heap}): JSX.Element {
    const rows: Sum[] = [{what: "Handed out by the allocator", tip: "malloc and its kin, as asked for, without what the allocator keeps beside it.", most: h.peak, end: h.current}];
    const part = (named: number, what: string, tip: string): void => {
        const of = heap.places.filter((p) => p.named === named);
        rows.push({what, tip, most: of.reduce((s, p) => s + p.atPeak, 0), end: of.reduce((s, p) => s + p.current, 0)});
    };
    if (heap.places.some((p) => p.named)) {
        part(1, "– of that annotated", "Blocks that the program tracks: one block with a name, not two.");
        part(0, "– of that found", "Blocks that the program does not track, known by their place alone.");
    }
    if (h.n_mapped) rows.push({what: "Mapped beside it", tip: "Anonymous memory that the program mapped itself. It is in no sum of the allocator's: allocators of its own may hand out parts of it.", most: h.mapped_peak, end: h.mapped});
    if (h.resident_peak) rows.push({what: "Resident", tip: "All of the processes' memory that was in RAM: the above as far as it was touched, code, stacks, and what the allocator holds for later.", most: h.resident_peak, end: h.resident ?? NaN});
    const columns: Column<Sum>[] = [
        {key: "what", head: "Memory", tip: "Rest on a line to see what it is.", cell: (r) => <span data-tip={r.tip}>{r.what}<span class="sr">: {r.tip}</span></span>, value: (r) => r.what},
        bytesColumn("peak", "At most", (r) => r.most, {tip: "Of parts of the allocator's: at its peak."}),
        shareColumn("share", "Of the largest", (r) => r.most / largest(rows, (x) => x.most), {tip: "At most, by the largest of these lines.", minor: true}),
        bytesColumn("end", "At the end", (r) => r.end, {tip: "When recording ended, or when it was last looked at."}),
    ];
    return <DataTable caption="Memory of the process" columns={columns} rows={rows} id={(r) => r.what} />;
}

/** What was live over time, and what of the processes' memory was in RAM. */
function OverTime({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const h = report.meta.heap!, {levels} = report.heap;
    const resident = report.counters.find((s) => s.id >= 0 && s.id === h.resident_name);
    const x = levels?.time ?? resident?.time;
    if (!x || x.length < 2) return null;
    return (
        <div class="screen">
            <h3>Over time</h3>
            <Plot store={store} x={x} height={170} label={`${levels ? `Live bytes of the heap over time, peak ${bytes(h.peak)}` : ""}${levels && resident ? "; " : ""}${resident ? `resident memory over time, ${bytes(resident.max)} at most` : ""}`} formatY={bytes} stepped binary fromZero xMax={report.duration}
                curves={(theme) => [...(levels ? [{y: levels.value, color: css(seriesColor(0, theme.dark)), fill: css(mix(seriesColor(0, theme.dark), theme.rowBg, theme.dark ? 0.55 : 0.45))}] : []), ...(resident ? [{x: resident.time, y: resident.value, color: theme.text}] : [])]}
                onClick={(t) => store.set({cursor: Math.round(t)})} />
            <p class="note hint">{levels && "Filled: handed out by the allocator, highest and lowest of each stretch. "}{resident && "Line: resident. "}Its figures are in the table above.</p>
        </div>
    );
}

/** Blocks that were never freed, each with its time and thread. */
function KeptTable({report, store}: {report: Report; store: Store}): JSX.Element {
    const who = (k: Kept): string => (k.thread ? report.threadName(k.thread - 1) : "");
    const columns: Column<Kept>[] = [
        {key: "place", head: "Place", tip: "Where it was asked for.", cell: (k) => <Name report={report} id={k.place.label} max={80} />, value: (k) => report.label(k.place.label)},
        bytesColumn("bytes", "Bytes", (k) => k.bytes, {tip: "Of this block."}),
        timeColumn("at_ns", "Since", (k) => k.at, {tip: "When it was allocated."}),
        {key: "thread", head: "Thread", tip: "Who allocated it.", cell: (k) => <bdi class="name">{who(k).slice(0, 60)}</bdi>, value: who},
        countColumn("blocks", "Stands for", (k) => k.blocks, {minor: true, tip: "Blocks of its place that it stands for, itself among them."}),
    ];
    const rows = report.heap.kept;
    return (
        <details class="as-table">
            <summary>Blocks that were never freed, one by one ({count(rows.length)})</summary>
            <DataTable caption="Blocks that were never freed" columns={columns} rows={rows} sort="bytes" id={(k) => rows.indexOf(k)} limit={12} onChoose={(k) => store.set({op: k.place.at, cursor: Math.round(k.at)})} />
        </details>
    );
}

function HeapFlame({report, store}: {report: Report; store: Store}): JSX.Element {
    const at = useStore(store, (s) => s.heapMode), mode = HEAP_MODES[at] ?? HEAP_MODES[0]!, op = useStore(store, (s) => s.op);
    const [isSandwich, setSandwich] = useState(false);
    const tree = report.heap.tree(at);
    const focus = isSandwich ? (op >= 0 && tree.has(op) ? op : heaviest(report.heap, mode)) : -1;
    const plan = useMemo(() => (focus >= 0 ? sandwichPlan(tree, focus) : treePlan(tree)), [tree, focus]);
    const format = mode.isBytes ? bytes : (x: number): string => many(x, "block");
    const measure: Measure = {key: mode.key, head: mode.head, format, count: mode.beside === "blocks" ? ["Blocks", "Not freed, on this path."] : ["Allocations", "In all, on this path."]};
    return (
        <div class="screen">
            <h3>By path <span class="muted">{mode.tip.replace(/^./, (c) => c.toLowerCase())}{focus >= 0 ? `: callers above, callees below ${label(report.label(focus), 60)}` : ""}</span></h3>
            <FlameBox report={report} store={store} plan={plan} format={format} label={`Flame graph of the heap: ${mode.head}`} isMarked={!isSandwich}>
                <div class="segments" role="group" aria-label="Mode">
                    {HEAP_MODES.map((m, k) => <button key={m.key} aria-pressed={m === mode} data-tip={`${m.tip} (key H: the next of the four)`} onClick={() => store.set({heapMode: k})}>{m.head}</button>)}
                </div>
                <div class="segments" role="group" aria-label="Way">
                    <button aria-pressed={!isSandwich} data-tip="From the outermost inwards, heaviest first" onClick={() => setSandwich(false)}>Left heavy</button>
                    <button aria-pressed={isSandwich} data-tip="One name: through whom it asks for memory above, what asks for it below" onClick={() => setSandwich(true)}>Sandwich</button>
                </div>
                {!tree.weight[0] && <span class="muted">nothing of that kind</span>}
            </FlameBox>
            <PathTable report={report} tree={tree} measure={measure} store={store} />
        </div>
    );
}

/** The name of the place that weighs most. */
function heaviest(heap: Heap, mode: HeapMode): number {
    return heap.places.reduce((a, b) => (b[mode.weight] > a[mode.weight] ? b : a)).at;
}

function Places({report, store}: {report: Report; store: Store}): JSX.Element {
    const op = useStore(store, (s) => s.op), hits = useStore(store, (s) => s.hits), mode = useStore(store, (s) => s.heapMode);
    const [by, setBy] = useState<Grouping>("place");
    const all = useMemo(() => groupPlaces(report.heap, by, (id) => report.label(id)), [by]);
    const rows = useMemo(() => (hits ? all.filter((g) => g.text.toLowerCase().includes(store.state.search.trim().toLowerCase())) : all), [hits, all]);
    const columns = useMemo(() => placeColumns(report, by, all), [all]);
    const growing = all.filter((g) => growthOf(g) === "grows").length;
    const canChoose = by === "place" || by === "function";
    return (
        <>
            <h3>By place <span class="muted">{growing ? `${growing === 1 ? "one grows" : `${growing} grow`} with the steps` : many(all.length, by)}</span></h3>
            <div class="tools"><div class="segments" role="group" aria-label="One line for each">
                {GROUPINGS.map(([g, head, tip]) => <button key={g} aria-pressed={by === g} data-tip={tip} onClick={() => setBy(g)}>{head}</button>)}
            </div></div>
            <DataTable key={`${mode}${by}`} caption="Places of the heap" columns={columns} rows={rows} sort={HEAP_MODES[mode]!.key} id={(g) => g.text} chosen={canChoose && op >= 0 ? (g) => g.at === op : undefined} onChoose={canChoose ? (g) => store.chooseOp(g.at) : undefined} limit={12} />
        </>
    );
}

function placeColumns(report: Report, by: Grouping, all: Group[]): Column<Group>[] {
    const some = (f: (g: Group) => unknown): boolean => all.some(f);
    const most = all.reduce((s, g) => s + g.atPeak, 0) || 1;
    const [, head, tip] = GROUPINGS.find((g) => g[0] === by)!;
    const isFine = by === "place" || by === "function"; // else a line is of many kinds
    const c: (Column<Group> | false)[] = [
        {key: "place", head, tip, cell: (g) => <><bdi class="name" data-tip={g.text.length > 40 ? g.text : undefined}>{label(g.text, 80)}</bdi>{isFine && g.named ? <span class="tag">annotated</span> : null}</>, value: (g) => g.text},
        isFine && some((g) => g.kind) && {key: "kind", head: "Kind", tip: "What the program said that it holds.", minor: true, cell: (g) => MEMORY_KINDS[g.kind] ?? "", value: (g) => MEMORY_KINDS[g.kind] ?? ""},
        bytesColumn("peak", "At the peak", (g) => g.atPeak, {tip: "Bytes that were live when most was."}),
        shareColumn("share", "Share", (g) => g.atPeak / most, {tip: "Of all bytes that were live then."}),
        bytesColumn("leaks", "Not freed", (g) => g.current, {tip: "Bytes that were live when recording ended."}),
        some(growthOf) && bytesColumn("growth", "Growth a step", (g) => (growthOf(g) === "grows" ? g.late : NaN), {tip: "By how much more it held after each step, at no less than a quarter of the pace before. Levelled off: it filled up, as a cache does.", cell: (g) => (growthOf(g) === "grows" ? <>▲ <Num q={bytesParts(g.late)} /></> : growthOf(g) || "–")}),
        countColumn("blocks", "Blocks", (g) => g.blocks, {minor: true, tip: "Blocks that were live when recording ended."}),
        bytesColumn("allocated", "Allocated", (g) => g.allocated, {minor: true, tip: "All bytes that it asked for, freed or not."}),
        countColumn("allocs", "Allocations", (g) => g.allocs, {minor: true, tip: "How often it asked for memory."}),
        countColumn("temporary", "Temporary", (g) => g.temporary, {minor: true, tip: "Blocks that were freed before their thread allocated again."}),
        some((g) => g.stepAllocs) && countColumn("step_allocs", "Blocks a step", (g) => g.stepAllocs || NaN, {minor: true, cell: (g) => plain(g.stepAllocs || NaN), text: (g) => plain(g.stepAllocs || NaN), tip: "Churn: what it allocated in each step, from the second on."}),
        some((g) => g.stepBytes) && bytesColumn("step_bytes", "Bytes a step", (g) => g.stepBytes || NaN, {minor: true, tip: "Churn: what it allocated in each step, from the second on."}),
        report.heap.hasTimes && {key: "life", head: "Usual life", tip: "How long the middle one of the blocks that were freed lived: an estimate by those that were followed.", minor: true, cell: (g) => usualLife(g).words || "–", value: (g) => usualLife(g).rank, text: (g) => usualLife(g).words},
        report.heap.hasTimes && timeColumn("first_ns", "First", (g) => g.first, {minor: true, tip: "When it first asked for memory."}),
        report.heap.hasTimes && timeColumn("last_ns", "Last", (g) => g.last, {minor: true, tip: "When it last did."}),
        report.heap.hasTimes && {key: "thread", head: "Thread", tip: "Whose all of it was; empty: several threads'.", minor: true, cell: (g) => <bdi class="name">{g.thread ? report.threadName(g.thread - 1).slice(0, 40) : ""}</bdi>, value: (g) => (g.thread ? report.threadName(g.thread - 1) : "")},
    ];
    return c.filter((x): x is Column<Group> => x !== false);
}
