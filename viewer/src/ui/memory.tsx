// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory by name: over time, at the peak or wherever the cursor is, and what
// was never freed.
import {type JSX} from "preact";
import {useMemo} from "preact/hooks";
import {MEMORY_KINDS, type Leak, type MemoryName} from "../data/meta";
import {type Report} from "../data/report";
import {lowerBound} from "../data/trace";
import {bytes, count, many, time} from "../format";
import {Plot} from "../charts/plot";
import {css, mix, seriesColor} from "../canvas/palette";
import {useStore, type Store} from "../state";
import {Name, Section} from "./parts";
import {bytesColumn, countColumn, DataTable, largest, shareColumn, timeColumn, type Column} from "./table";

interface Row extends MemoryName {
    here: number;
    share: number;
    series: number; // which colour; −1: none of its own
}

/** The line of the memory table for a time: the last change before it. */
function lineAt(report: Report, t: number): number {
    const m = report.memory!;
    return Math.max(0, lowerBound(m.time, 0, m.time.length, t + 1) - 1);
}

/** Live bytes of each name with those below it. */
function stack(report: Report): Float64Array[] {
    const m = report.memory!;
    const below = new Float64Array(m.time.length);
    return m.columns.map((c) => {
        for (let i = 0; i < below.length; i++) below[i]! += c[i]!;
        return below.slice();
    });
}

export function Memory({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const mem = report.meta.memory;
    const cursor = useStore(store, (s) => s.cursor), op = useStore(store, (s) => s.op), loaded = useStore(store, (s) => s.loaded);
    const range = useStore(store, (s) => s.range);
    const dark = useStore(store, (s) => s.dark);
    const sums = useMemo(() => (report.memory ? stack(report) : null), [loaded]);
    const at = useMemo(() => whereToLook(report, cursor, range), [cursor, range, loaded]);
    if (!mem?.peak && !mem?.n_allocs) return null;
    const order = report.memory?.names ?? [];
    const rows: Row[] = mem.names.map((n) => {
        const k = order.indexOf(n.name);
        const here = at.line < 0 ? n.at_peak : k >= 0 ? report.memory!.columns[k]![at.line]! : NaN;
        return {...n, here, share: here / at.total, series: k};
    });
    return (
        <Section id="memory" title="Memory" note={`Peak ${bytes(mem.peak)} at ${time(mem.peak_at)}; ${bytes(mem.current)} still live at the end. ${many(mem.n_allocs, "allocation")} of ${bytes(mem.allocated)} in all, ${count(mem.n_frees)} freed.`}>
            {sums && report.memory && (
                <Plot store={store} x={report.memory.time} height={220} label={`Live bytes over time; peak ${bytes(mem.peak)}`} formatY={bytes} stepped binary fromZero xMax={report.duration}
                    curves={(theme) => sums.map((y, k) => ({y, color: css(seriesColor(k, theme.dark)), fill: css(mix(seriesColor(k, theme.dark), theme.rowBg, theme.dark ? 0.55 : 0.45))})).reverse()}
                    onClick={(x) => store.set({cursor: Math.round(x)})} />
            )}
            {report.memory && report.memory.time.length > 1 && (
                <input class="slider" type="range" min={0} max={report.duration} step="any" value={at.line >= 0 ? report.memory.time[at.line] : mem.peak_at} aria-label="Moment that the table shows; arrow keys go from change to change"
                    aria-valuetext={at.title} onInput={(e) => store.set({cursor: Math.round(Number(e.currentTarget.value))})}
                    onKeyDown={(e) => {
                        const times = report.memory!.time, line = at.line >= 0 ? at.line : lineAt(report, mem.peak_at);
                        const to = {ArrowRight: line + 1, ArrowUp: line + 1, ArrowLeft: line - 1, ArrowDown: line - 1, Home: 0, End: times.length - 1}[e.key];
                        if (to === undefined) return;
                        e.preventDefault();
                        store.set({cursor: times[Math.max(0, Math.min(times.length - 1, to))]!});
                    }} />
            )}
            <h3>{at.title} <span class="muted">{bytes(at.total)}</span>{at.line >= 0 && cursor >= 0 && <button class="quiet" onClick={() => store.set({cursor: -1})}>Back to the peak</button>}</h3>
            <DataTable caption={at.title} columns={nameColumns(report, dark, largest(rows, (r) => r.share))} rows={rows} sort="bytes" id={(r) => r.name} chosen={op >= 0 ? op : undefined} onChoose={(r) => store.chooseOp(r.name)} limit={10} />
            {mem.leaks.length > 0 && <Leaks report={report} leaks={mem.leaks} store={store} />}
        </Section>
    );
}

/** The cursor, else the moment in the range when most was live, else the peak. */
function whereToLook(report: Report, cursor: number, range: [number, number] | null): {line: number; total: number; title: string} {
    const m = report.memory, mem = report.meta.memory;
    if (m && cursor >= 0) {
        const line = lineAt(report, cursor);
        return {line, total: m.total[line] ?? 0, title: m.exact ? `Live at ${time(cursor)}` : `Live around ${time(m.time[line] ?? 0)}`};
    }
    if (m && range) {
        let line = lineAt(report, range[0]);
        for (let i = line; i < m.time.length && m.time[i]! <= range[1]; i++) if (m.total[i]! > m.total[line]!) line = i;
        return {line, total: m.total[line] ?? 0, title: `At the most in the selected range, ${time(m.time[line] ?? 0)}`};
    }
    return {line: -1, total: mem?.peak ?? 0, title: `At the peak, ${time(mem?.peak_at ?? 0)}`};
}

function nameColumns(report: Report, dark: boolean, most: number): Column<Row>[] {
    return [
        {key: "name", head: "Name", cell: (r) => <><span class="swatch" style={{background: r.series >= 0 ? css(seriesColor(r.series, dark)) : "transparent"}} aria-hidden="true" /><Name report={report} id={r.name} max={70} /></>, value: (r) => report.label(r.name)},
        {key: "kind", head: "Kind", tip: "What the program said that it holds.", minor: true, cell: (r) => MEMORY_KINDS[r.kind] ?? "", value: (r) => MEMORY_KINDS[r.kind] ?? ""},
        bytesColumn("bytes", "Live then", (r) => r.here, {tip: "Bytes of this name that were live at that moment."}),
        shareColumn("share", "Share", (r) => r.share, {tip: "Of all bytes that were live at that moment. The longest bar is the largest share."}, most),
        bytesColumn("peak", "Own peak", (r) => r.peak, {minor: true, tip: "The most that this name ever held."}),
        bytesColumn("current", "At the end", (r) => r.current, {minor: true, tip: "Live when recording ended."}),
        countColumn("n_allocs", "Allocations", (r) => r.n_allocs, {minor: true, tip: "How often something of this name was allocated."}),
        bytesColumn("allocated", "Allocated in all", (r) => r.allocated, {minor: true, tip: "The sum of all allocations, freed or not."}),
    ];
}

function Leaks({report, leaks, store}: {report: Report; leaks: Leak[]; store: Store}): JSX.Element {
    const candidates = leaks.filter((l) => !l.is_retained);
    const columns: Column<Leak>[] = [
        {key: "name", head: "Name", cell: (l) => <Name report={report} id={l.name} max={70} />, value: (l) => report.label(l.name)},
        bytesColumn("bytes", "Not freed", (l) => l.bytes, {tip: "Bytes of this name that were live at the end."}),
        countColumn("blocks", "Blocks", (l) => l.n_blocks, {minor: true, tip: "Allocations that were not freed."}),
        timeColumn("since_ns", "Since", (l) => l.at, {tip: "When something of that name first was live and stayed so."}),
        {key: "retained", head: "Judgement", tip: "Live since the first step and not grown since: weights, say, and no leak.", cell: (l) => (l.is_retained ? "kept: live since the first step and not grown" : "leak candidate"), value: (l) => (l.is_retained ? "retained" : "candidate")},
    ];
    return (
        <>
            <h3>Not freed <span class="muted">{candidates.length ? many(candidates.length, "leak candidate") : "no leak candidates"}</span></h3>
            <DataTable caption="Not freed at the end" columns={columns} rows={leaks} sort="bytes" id={(l) => l.name} limit={6} onChoose={(l) => store.chooseOp(l.name)} />
        </>
    );
}

