// SPDX-License-Identifier: MIT OR Apache-2.0
// Counters, and what the page itself rests on.
import {type JSX} from "preact";
import {isFlat, type Report, type Series} from "../data/report";
import {lowerBound} from "../data/trace";
import {bytes, count, label, many, plain, rate, startedText, time, valueFormat} from "../format";
import {Plot} from "../charts/plot";
import {useStore, type Store} from "../state";
import {Section} from "./parts";
import {countColumn, DataTable, type Column} from "./table";

function Counter({s, store, end}: {s: Series; store: Store; end: number}): JSX.Element {
    const f = valueFormat(s.name);
    return (
        <figure class="counter">
            <figcaption><strong><bdi>{label(s.name, 80)}</bdi></strong> <span class="muted">last {f(s.value[s.value.length - 1] ?? NaN)} · {f(s.min)} … {f(s.max)}</span></figcaption>
            <Plot store={store} x={s.time} curves={(theme) => [{y: s.value, color: theme.accent}]} height={150} label={`${label(s.name, 80)} over time, from ${f(s.min)} to ${f(s.max)}`} formatY={f} stepped binary={f === bytes} fromZero={f === bytes} xMax={end}
                onClick={(x) => store.set({cursor: Math.max(0, Math.round(x))})} />
        </figure>
    );
}

interface CounterRow {
    s: Series;
    at: number;
}

export function Counters({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const loaded = useStore(store, (s) => s.loaded), cursor = useStore(store, (s) => s.cursor);
    if (loaded !== 2 || !report.counters.length) return null;
    const rows: CounterRow[] = report.counters.map((s) => ({s, at: cursor >= 0 ? s.value[Math.max(0, lowerBound(s.time, 0, s.time.length, cursor + 1) - 1)] ?? NaN : NaN}));
    const number = (key: string, head: string, get: (r: CounterRow) => number): Column<CounterRow> => ({key, head, num: true, value: get, cell: (r) => valueFormat(r.s.name)(get(r)), text: (r) => valueFormat(r.s.name)(get(r))});
    const columns: Column<CounterRow>[] = [
        {key: "name", head: "Counter", cell: (r) => <bdi>{r.s.name.slice(0, 120)}</bdi>, value: (r) => r.s.name},
        number("last", "Last", (r) => r.s.value[r.s.value.length - 1] ?? NaN), number("min", "Lowest", (r) => r.s.min), number("max", "Highest", (r) => r.s.max),
        ...(cursor >= 0 ? [number("at_cursor", `At ${time(cursor)}`, (r) => r.at)] : []),
        countColumn("values", "Values shown", (r) => r.s.time.length, {minor: true}),
    ];
    const flat = report.counters.filter(isFlat);
    return (
        <Section id="counters" title="Counters" note={flat.length ? `Never changed: ${flat.slice(0, 12).map((s) => `${s.name.slice(0, 60)} ${valueFormat(s.name)(s.min)}`).join(" · ")}${flat.length > 12 ? ` · and ${flat.length - 12} more` : ""}` : ""}>
            <div class="columns">{report.counters.filter((s) => !isFlat(s)).slice(0, 8).map((s, i) => <Counter key={i} s={s} store={store} end={report.duration} />)}</div>
            <details class="as-table"><summary>As a table</summary><DataTable caption="Counters" columns={columns} rows={rows} id={(r) => r.s.name} /></details>
        </Section>
    );
}

// ---- about -----------------------------------------------------------------------------

export function About({report}: {report: Report}): JSX.Element {
    const {run, machine, thresholds} = report.meta;
    const facts: [string, string][] = [
        ...([["Command", run.command], ["Host", run.host], ["Processor", run.cpu], ["Started", run.started && startedText(run.started)]] as [string, string][]).filter((f) => f[1]),
        ["Events recorded", `${count(run.events + run.cut_events)}${run.cut_events ? `, of which ${count(run.cut_events)} are no longer in the timeline` : ""}`],
        ["Cost of recording", `${run.own_cost_ns ? `${run.own_cost_ns} ns a scope, measured` : "less than the clock can tell"}; taken off self times`],
        ["Processes, threads, calls", `${count(run.process_count)}, ${count(run.thread_count)}, ${count(run.call_count)}`],
        ["Sum of self times", `${time(run.total_time_ns)} over ${many(run.operation_count, "operation")}`],
        ["Times count from", `${run.t0 === "0" ? "" : `${run.t0.replace(/\B(?=(\d{3})+$)/g, ",")} ns after `}the start of the profiler`],
    ];
    if (machine?.cores) facts.push(["Machine", `${machine.name}, ${machine.cores} cores`]);
    if (machine) facts.push(["Peaks", [...machine.gflops.map(([l, v]) => `${l} ${rate(v * 1e9, "FLOP/s")}`), ...machine.gbps.map(([l, v]) => `${l} ${rate(v * 1e9, "B/s")}`)].join(" · ")]);
    if (thresholds?.length) facts.push(["Thresholds in force", thresholds.filter((t) => t[1] !== 0).map(([k, v]) => `${k} = ${plain(v)}`).join(", ")]);
    if (run.version) facts.push(["Written by", `axprof ${run.version}`]);
    return (
        <Section id="about" title="About these data">
            <dl class="facts">{facts.map(([k, v]) => <div key={k}><dt>{k}</dt><dd><bdi>{label(v, 1000)}</bdi></dd></div>)}</dl>
        </Section>
    );
}

