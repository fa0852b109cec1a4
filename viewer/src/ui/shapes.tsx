// SPDX-License-Identifier: MIT OR Apache-2.0
// Operations by shape: calls that told the same sizes, those that took longest
// and the others together. Of the whole run, whatever range is selected.
import {type JSX} from "preact";
import {useMemo} from "preact/hooks";
import {type Op, type Report} from "../data/report";
import {group} from "../format";
import {useStore, type Store} from "../state";
import {Name, Section} from "./parts";
import {countColumn, DataTable, rateColumn, shareColumn, timeColumn, type Column} from "./table";

interface Shape {
    id: number;
    op: Op;
    text: string;
    calls: number;
    total: number;
    flops: number; // a second; NaN: not declared
    bytes: number;
    allowed: number; // FLOP/s; NaN: not known
    roof: number; // share of that
    bound: string;
}

export function hasShapes(report: Report): boolean {
    return !!report.meta.shapes?.length;
}

function readShapes(report: Report): Shape[] {
    const out: Shape[] = [];
    for (const [id, [op, dims, stands, calls, total, flops, bytes, flopsNs, bytesNs, allowed, roof, bound]] of (report.meta.shapes ?? []).entries()) {
        if (!report.ops[op]) continue;
        const text = dims.length ? dims.join(" × ") : `${group(stands)} other${stands === 1 ? "" : "s"}`;
        out.push({id, op: report.ops[op]!, text, calls, total, allowed: (allowed ?? NaN) * 1e9, roof: roof ?? NaN, bound: bound ?? "", flops: flopsNs ? (flops! / flopsNs) * 1e9 : NaN, bytes: bytesNs ? (bytes! / bytesNs) * 1e9 : NaN});
    }
    return out;
}

function columnsFor(report: Report, rows: Shape[]): Column<Shape>[] {
    const c: (Column<Shape> | false)[] = [
        {key: "name", head: "Operation", cell: (s) => <Name report={report} id={s.op.name} max={70} />, value: (s) => report.label(s.op.name)},
        {key: "shape", head: "Shape", tip: "M × N × K of a product, or the sizes of a tensor, as the calls told them.", cell: (s) => s.text, value: (s) => s.text},
        timeColumn("total_ns", "Total", (s) => s.total, {tip: "With the scopes inside; each call as long as it took."}),
        shareColumn("share", "Of operation", (s) => s.total / s.op.total, {minor: true, tip: "Of the operation's total time."}),
        countColumn("calls", "Calls", (s) => s.calls),
        timeColumn("avg_ns", "Average", (s) => s.total / s.calls, {minor: true, tip: "Total time by calls."}),
        rows.some((s) => s.flops > 0) && rateColumn("flops_per_s", "Compute", (s) => s.flops, "FLOP/s", {tip: "Declared work per second of its calls."}),
        rows.some((s) => s.bytes > 0) && rateColumn("bytes_per_s", "Bandwidth", (s) => s.bytes, "B/s", {minor: true, tip: "Declared bytes per second of its calls."}),
        rows.some((s) => s.allowed > 0) && rateColumn("roof_per_s", "Roof", (s) => s.allowed, "FLOP/s", {minor: true, tip: "What the machine allows a call of this shape."}),
        rows.some((s) => s.roof > 0) && shareColumn("roof_share", "Of roof", (s) => s.roof, {tip: "What it reaches of what the machine allows it. More than 105 %: the declared work is wrong."}),
        rows.some((s) => s.bound) && {key: "bound_by", head: "Bound by", tip: "Arithmetic, or the level of memory that holds the data of a call.", cell: (s: Shape) => s.bound || "–", value: (s: Shape) => s.bound},
    ];
    return c.filter((x): x is Column<Shape> => x !== false);
}

export function Shapes({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const op = useStore(store, (s) => s.op), hits = useStore(store, (s) => s.hits);
    const all = useMemo(() => readShapes(report), []);
    const columns = useMemo(() => columnsFor(report, all), []);
    const rows = useMemo(() => (hits ? all.filter((s) => hits.names.has(s.op.name)) : all), [hits]);
    if (!all.length) return null;
    return (
        <Section id="shapes" title="Shapes" note="Calls of operations by the sizes that they told, in the whole run: those that took longest.">
            <DataTable caption="Shapes" columns={columns} rows={rows} sort="total_ns" id={(s) => s.id} chosen={op >= 0 ? (s) => s.op.name === op : undefined}
                onChoose={(s) => store.chooseOp(s.op.name)} limit={15} />
        </Section>
    );
}
