// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory by name, of the host and of each device: over time, at the peak or
// wherever the cursor is, and what was never freed.
import {type JSX} from "preact";
import {useMemo} from "preact/hooks";
import {MEMORY_KINDS, type Leak, type Memory as MemorySums, type MemoryName} from "../data/meta";
import {type Domain, type MemorySeries, type Report} from "../data/report";
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
function lineAt(m: MemorySeries, t: number): number {
    return Math.max(0, lowerBound(m.time, 0, m.time.length, t + 1) - 1);
}

/** Live bytes of each name with those below it. */
function stack(m: MemorySeries): Float64Array[] {
    const below = new Float64Array(m.time.length);
    return m.columns.map((c) => {
        for (let i = 0; i < below.length; i++) below[i]! += c[i]!;
        return below.slice();
    });
}

function summary(mem: MemorySums): string {
    return `Peak ${bytes(mem.peak)} at ${time(mem.peak_at)}; ${bytes(mem.current)} still live at the end. ${many(mem.n_allocs, "allocation")} of ${bytes(mem.allocated)} in all, ${count(mem.n_frees)} freed.`;
}

export function Memory({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const {domains} = report;
    useStore(store, (s) => s.loaded);
    if (!domains.length) return null;
    const isOne = domains.length === 1 && domains[0]!.number < 0;
    return (
        <Section id="memory" title="Memory" note={isOne ? summary(domains[0]!.meta) : "Of the host and of each device, each with a peak of its own."}>
            {!isOne && <DomainTable domains={domains} />}
            {domains.map((d) => <DomainView key={d.number} report={report} store={store} domain={d} isOne={isOne} />)}
        </Section>
    );
}

/** All of them at a glance. */
function DomainTable({domains}: {domains: Domain[]}): JSX.Element {
    const columns: Column<Domain>[] = [
        {key: "domain", head: "Where", tip: "The host's memory, or a device's.", cell: (d) => <bdi class="name">{d.label}</bdi>, value: (d) => d.label},
        bytesColumn("peak", "Peak", (d) => d.meta.peak, {tip: "The most bytes that were live there at one moment."}),
        timeColumn("peak_at_ns", "At", (d) => d.meta.peak_at, {tip: "When that was."}),
        bytesColumn("current", "At the end", (d) => d.meta.current, {tip: "Live when recording ended."}),
        bytesColumn("allocated", "Allocated in all", (d) => d.meta.allocated, {minor: true, tip: "The sum of all allocations, freed or not."}),
        countColumn("n_allocs", "Allocations", (d) => d.meta.n_allocs, {minor: true, tip: "How often something was allocated there."}),
    ];
    return <DataTable caption="Memory of the host and of devices" columns={columns} rows={domains} id={(d) => d.number} sort="peak" />;
}

function DomainView({report, store, domain, isOne}: {report: Report; store: Store; domain: Domain; isOne: boolean}): JSX.Element {
    const {meta: mem, series: m} = domain;
    const cursor = useStore(store, (s) => s.cursor), op = useStore(store, (s) => s.op);
    const range = useStore(store, (s) => s.range), dark = useStore(store, (s) => s.dark);
    const sums = useMemo(() => (m ? stack(m) : null), [m]);
    const at = useMemo(() => whereToLook(domain, cursor, range), [cursor, range, m]);
    const order = m?.names ?? [];
    const rows: Row[] = mem.names.map((n) => {
        const k = order.indexOf(n.name);
        const here = at.line < 0 ? n.at_peak : k >= 0 ? m!.columns[k]![at.line]! : NaN;
        return {...n, here, share: here / at.total, series: k};
    });
    const of = isOne ? "" : ` of ${domain.label}`;
    return (
        <div class="domain">
            {!isOne && <><h3 class="domain-head"><bdi>{domain.label}</bdi></h3><p class="note">{summary(mem)}</p></>}
            {sums && m && (
                <Plot store={store} x={m.time} height={isOne ? 220 : 170} label={`Live bytes${of} over time; peak ${bytes(mem.peak)}`} formatY={bytes} stepped binary fromZero xMax={report.duration}
                    curves={(theme) => sums.map((y, k) => ({y, color: css(seriesColor(k, theme.dark)), fill: css(mix(seriesColor(k, theme.dark), theme.rowBg, theme.dark ? 0.55 : 0.45))})).reverse()}
                    onClick={(x) => store.set({cursor: Math.round(x)})} />
            )}
            {m && m.time.length > 1 && (
                <input class="slider" type="range" min={0} max={report.duration} step="any" value={at.line >= 0 ? m.time[at.line] : mem.peak_at} aria-label={`Moment that the table${of} shows; arrow keys go from change to change`}
                    aria-valuetext={at.title} onInput={(e) => store.set({cursor: Math.round(Number(e.currentTarget.value))})}
                    onKeyDown={(e) => {
                        const line = at.line >= 0 ? at.line : lineAt(m, mem.peak_at);
                        const to = {ArrowRight: line + 1, ArrowUp: line + 1, ArrowLeft: line - 1, ArrowDown: line - 1, Home: 0, End: m.time.length - 1}[e.key];
                        if (to === undefined) return;
                        e.preventDefault();
                        store.set({cursor: m.time[Math.max(0, Math.min(m.time.length - 1, to))]!});
                    }} />
            )}
            <h3>{at.title} <span class="muted">{bytes(at.total)}</span>{at.line >= 0 && cursor >= 0 && <button class="quiet" onClick={() => store.set({cursor: -1})}>Back to the peak</button>}</h3>
            <DataTable caption={`${at.title}${of}`} columns={nameColumns(report, dark, largest(rows, (r) => r.share))} rows={rows} sort="bytes" id={(r) => r.name} chosen={op >= 0 ? op : undefined} onChoose={(r) => store.chooseOp(r.name)} limit={10} />
            {mem.leaks.length > 0 && <Leaks report={report} leaks={mem.leaks} store={store} />}
        </div>
    );
}

/** The cursor, else the moment in the range when most was live, else the peak. */
function whereToLook({series: m, meta: mem}: Domain, cursor: number, range: [number, number] | null): {line: number; total: number; title: string} {
    if (m && cursor >= 0) {
        const line = lineAt(m, cursor);
        return {line, total: m.total[line] ?? 0, title: m.exact ? `Live at ${time(cursor)}` : `Live around ${time(m.time[line] ?? 0)}`};
    }
    if (m && range) {
        let line = lineAt(m, range[0]);
        for (let i = line; i < m.time.length && m.time[i]! <= range[1]; i++) if (m.total[i]! > m.total[line]!) line = i;
        return {line, total: m.total[line] ?? 0, title: `At the most in the selected range, ${time(m.time[line] ?? 0)}`};
    }
    return {line: -1, total: mem.peak, title: `At the peak, ${time(mem.peak_at)}`};
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
