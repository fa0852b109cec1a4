// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of operations: of the whole run as the recorder counted them, or
// of the selected range, summed from the timeline.
import {type JSX} from "preact";
import {useMemo} from "preact/hooks";
import {CATEGORIES} from "../data/meta";
import {type Op, type Report} from "../data/report";
import {type NodeSums} from "../data/aggregate";
import {time} from "../format";
import {useStore, type Store} from "../state";
import {Name, Section} from "./parts";
import {countColumn, DataTable, largest, percentColumn, rateColumn, shareColumn, timeColumn, type Column} from "./table";

export interface Scope {
    ops: Op[];
    sums: NodeSums | null; // null: the whole run
    range: [number, number] | null;
}

let cache: {key: string; scope: Scope} | null = null;

/** What is being looked at: the selected range, else everything. */
export function useScope(report: Report, store: Store): Scope {
    const range = useStore(store, (s) => s.range), loaded = useStore(store, (s) => s.loaded);
    return useMemo(() => {
        if (!range || loaded !== 2) return {ops: report.ops, sums: null, range: null};
        const key = range.join();
        if (cache?.key !== key) {
            const got = report.opsIn(range[0], range[1])!;
            cache = {key, scope: {...got, range}};
        }
        return cache.scope;
    }, [range, loaded]);
}

function columnsFor(report: Report, scope: Scope): Column<Op>[] {
    const whole = !scope.range;
    const has = (f: (o: Op) => number): boolean => scope.ops.some((o) => Number.isFinite(f(o)) && f(o) > 0);
    const c: (Column<Op> | false)[] = [
        {key: "name", head: "Operation", tip: "Choose one to see it in every part of the page.", cell: (o) => <><Name report={report} id={o.name} />{o.category ? <span class="tag">{CATEGORIES[o.category] ?? ""}</span> : null}{o.doubt ? <span class="tag" data-tip={`Recording took too much of it to know the rest: ${time(o.doubt)} of its own time may be the recorder's.`}>doubtful</span> : null}</>, value: (o) => report.label(o.name)},
        timeColumn("self_ns", "Self", (o) => o.self, {tip: whole ? "Time in the operation itself, without the scopes inside it; the profiler's own cost is taken off." : "Time in the operation itself within the range."}),
        shareColumn("share", "Share", (o) => o.share, {tip: (whole ? "Self time, of the lives of the threads that it ran on (thread time)." : "Self time, of the range on all rows.") + " The longest bar is the largest share."}, largest(scope.ops, (o) => o.share)),
        timeColumn("total_ns", "Total", (o) => o.total, {tip: "With the scopes inside it; recursion counted once."}),
        countColumn("calls", "Calls", (o) => o.calls, {tip: whole ? "How often it ran." : "Calls that touch the range."}),
        timeColumn("avg_ns", "Average", (o) => o.avg, {minor: true, tip: whole ? "Total time by calls." : "Time inside the range by calls."}),
        timeColumn("min_ns", "Min", (o) => o.min, {minor: true, tip: "Of whole calls."}),
        whole && timeColumn("p50_ns", "p50", (o) => o.p50, {minor: true, tip: "The median: half of the calls are faster."}),
        whole && timeColumn("p95_ns", "p95", (o) => o.p95, {minor: true, tip: "95 of 100 calls are faster."}),
        whole && timeColumn("p99_ns", "p99", (o) => o.p99, {minor: true, tip: "99 of 100 calls are faster."}),
        timeColumn("max_ns", "Max", (o) => o.max, {minor: true, tip: "Of whole calls."}),
        has((o) => o.gflops) && rateColumn("flops_per_s", "Compute", (o) => o.gflops * 1e9, "FLOP/s", {minor: true, tip: "Declared floating-point operations per second of the calls that declared any."}),
        has((o) => o.gbps) && rateColumn("bytes_per_s", "Bandwidth", (o) => o.gbps * 1e9, "B/s", {minor: true, tip: "Declared bytes read and written per second. 1 GB/s is 10^9 B/s."}),
        has((o) => o.roof) && percentColumn("roof_share", "Of roof", (o) => o.roof, {minor: true, tip: "What it reaches of what the machine allows an operation with its ratio of FLOPs to bytes (see Roofline)."}),
        scope.ops.some((o) => o.file) && {key: "source", head: "Source", tip: "Where the scope stands in the code.", minor: true, cell: (o) => (o.file ? <bdi class="source" data-tip={`${o.file}:${o.line}`}>{o.file.split("/").pop()}:{o.line}</bdi> : ""), value: (o) => (o.file ? `${o.file}:${o.line}` : "")},
    ];
    return c.filter((x): x is Column<Op> => x !== false);
}

export function Operations({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const scope = useScope(report, store);
    const op = useStore(store, (s) => s.op), hits = useStore(store, (s) => s.hits);
    const columns = useMemo(() => columnsFor(report, scope), [scope]);
    const rows = useMemo(() => (hits ? scope.ops.filter((o) => hits.names.has(o.name)) : scope.ops), [scope, hits]);
    if (!report.ops.length) return null;
    const note = scope.range
        ? `In the selected ${time(scope.range[1] - scope.range[0])}, from the timeline.`
        : `The whole run, all threads and queues together.`;
    return (
        <Section id="operations" title="Operations" note={<>{note}{hits ? ` Only names with “${store.state.search.slice(0, 40)}”.` : ""}</>}>
            <DataTable caption="Operations" columns={columns} rows={rows} sort="self_ns" id={(o) => o.name} chosen={op >= 0 ? op : undefined}
                onChoose={(o) => store.chooseOp(o.name)} limit={15} />
        </Section>
    );
}
