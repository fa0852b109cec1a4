// SPDX-License-Identifier: MIT OR Apache-2.0
// Ranks, threads and queues, counters, and what the page itself rests on.
import {type JSX} from "preact";
import {isFlat, type Report, type Series} from "../data/report";
import {lowerBound} from "../data/trace";
import {type Waits} from "../data/meta";
import {bytes, count, label, many, plain, rate, startedText, time, valueFormat} from "../format";
import {Plot} from "../charts/plot";
import {useStore, type Store} from "../state";
import {Section} from "./parts";
import {countColumn, DataTable, shareColumn, timeColumn, type Column} from "./table";

interface RowInfo {
    id: string;
    name: string;
    kind: string;
    rank: number;
    process: number;
    life: number;
    busy: number;
    cpu: number;
    wait: number;
    ready: number;
    events: number;
}

function rowsOf(report: Report): RowInfo[] {
    const threads = report.meta.threads.map((t, i) => ({id: `t${i}`, name: t.name || `thread ${t.id}`, kind: "thread", rank: t.rank, process: t.process, life: t.end - t.begin, busy: t.busy, cpu: t.cpu ?? NaN, wait: t.wait, ready: t.ready ?? NaN, events: t.events}));
    const queues = (report.meta.queues ?? []).map((q, i) => ({id: `q${i}`, name: q.name, kind: "queue", rank: q.rank, process: q.process, life: q.end - q.begin, busy: q.busy, cpu: NaN, wait: NaN, ready: NaN, events: q.events}));
    return [...threads, ...queues];
}

export function Threads({report}: {report: Report}): JSX.Element | null {
    const rows = rowsOf(report);
    if (rows.length < 2) return null;
    const some = (f: (r: RowInfo) => boolean): boolean => rows.some(f);
    const columns: Column<RowInfo>[] = [
        {key: "name", head: "Name", cell: (r) => <bdi class="name">{r.name.slice(0, 120)}</bdi>, value: (r) => r.name},
        {key: "kind", head: "Kind", tip: "A thread of the program, or a queue with times of its own: a device, a link.", minor: true, cell: (r) => r.kind, value: (r) => r.kind},
        ...(some((r) => r.process !== rows[0]!.process) ? [{key: "process", head: "Process", num: true, minor: true, cell: (r: RowInfo) => String(r.process), value: (r: RowInfo) => r.process}] : []),
        ...(some((r) => r.rank >= 0) ? [countColumn<RowInfo>("rank", "Rank", (r) => (r.rank >= 0 ? r.rank : NaN))] : []),
        timeColumn("busy_ns", "In scopes", (r) => r.busy, {tip: "Time in outermost scopes, waits that were recorded included; of a queue, in its spans."}),
        shareColumn("busy_share", "Of its life", (r) => (r.life > 0 ? Math.min(1, r.busy / r.life) : NaN), {tip: "Time in scopes, of its life."}),
        ...(some((r) => r.cpu >= 0) ? [timeColumn<RowInfo>("cpu_ns", "CPU", (r) => r.cpu, {tip: "CPU time since its first event."})] : []),
        ...(some((r) => r.wait > 0) ? [timeColumn<RowInfo>("wait_ns", "Waiting", (r) => r.wait, {tip: "Own time of scopes of category sync, waits that were recorded among them."})] : []),
        ...(some((r) => r.ready >= 0) ? [timeColumn<RowInfo>("ready_ns", "Starved", (r) => r.ready, {tip: "It wanted to go on and had no processor."})] : []),
        timeColumn("life_ns", "Life", (r) => r.life, {minor: true, tip: "From its first event to its end, or to the end of what was recorded."}),
        countColumn("events", "Events", (r) => r.events, {minor: true, tip: "In its timeline: begins, ends, marks, counters, allocations."}),
    ];
    return (
        <Section id="threads" title={report.meta.queues?.length ? "Threads and queues" : "Threads"}>
            <Ranks report={report} />
            <DataTable caption="Threads and queues" columns={columns} rows={rows} sort="busy_ns" id={(r) => r.id} limit={12} />
            <WaitsTable report={report} />
        </Section>
    );
}

type WaitRow = Waits & {id: string};

/** Whom threads waited for. */
function WaitsTable({report}: {report: Report}): JSX.Element | null {
    const rows: WaitRow[] = (report.meta.waits ?? []).map((w, i) => ({...w, id: `w${i}`}));
    if (!rows.length) return null;
    const who = (name = "", id?: number): string => (id === undefined ? "" : `${(name || "thread").slice(0, 60)}/${id}`);
    const text = (key: string, head: string, get: (r: WaitRow) => string, tip?: string): Column<WaitRow> => ({key, head, tip, cell: (r) => <bdi class="name">{get(r).slice(0, 120)}</bdi>, value: get});
    const columns: Column<WaitRow>[] = [
        text("name", "Wait", (r) => r.name),
        text("of", "Of", (r) => who(r.thread_name, r.thread)),
        text("by", "Ended by", (r) => who(r.by_name, r.by), "Who unlocked, signalled, came last, posted or ended; empty: nobody, or not known."),
        countColumn("count", "Times", (r) => r.count),
        timeColumn("total_ns", "Together", (r) => r.total),
        timeColumn("max_ns", "Longest", (r) => r.max, {minor: true}),
    ];
    return (
        <>
            <h3>Waits, and who ended them</h3>
            <DataTable caption="Waits, and who ended them" columns={columns} rows={rows} sort="total_ns" id={(r) => r.id} limit={12} />
        </>
    );
}

interface RankInfo {
    rank: number;
    threads: number;
    busy: number;
    life: number;
    against: number;
}

/** Where there are several ranks: who works more than the others. */
function Ranks({report}: {report: Report}): JSX.Element | null {
    const groups = new Map<number, RankInfo>();
    for (const t of report.meta.threads) {
        if (t.rank < 0) continue;
        const g = groups.get(t.rank) ?? {rank: t.rank, threads: 0, busy: 0, life: 0, against: 1};
        g.threads++;
        g.busy += t.busy;
        g.life = Math.max(g.life, t.end - t.begin);
        groups.set(t.rank, g);
    }
    if (groups.size < 2) return null;
    const rows = [...groups.values()].sort((a, b) => a.rank - b.rank);
    const lives = rows.map((r) => r.life).sort((a, b) => a - b);
    const median = lives[Math.floor((lives.length - 1) / 2)]! || 1;
    for (const r of rows) r.against = r.life / median;
    const worst = rows.reduce((a, b) => (b.against > a.against ? b : a));
    const columns: Column<RankInfo>[] = [
        countColumn("rank", "Rank", (r) => r.rank),
        timeColumn("life_ns", "Time", (r) => r.life, {tip: "From its first to its last event."}),
        {key: "against_median", head: "Against median", tip: "Its time by the median rank's.", num: true, cell: (r) => `${r.against.toFixed(2)} ×`, value: (r) => r.against, text: (r) => `${r.against.toFixed(2)} ×`},
        timeColumn("busy_ns", "In scopes", (r) => r.busy, {tip: "Sum over its threads of the time in outermost scopes."}),
        countColumn("threads", "Threads", (r) => r.threads, {minor: true}),
    ];
    return (
        <>
            <h3>Ranks <span class="muted">{worst.against > 1.05 ? `rank ${worst.rank} takes ${worst.against.toFixed(2)} × the median` : "balanced within 5 %"}</span></h3>
            <DataTable caption="Ranks" columns={columns} rows={rows} sort="rank" ascending id={(r) => r.rank} limit={16} />
            <h3>Rows</h3>
        </>
    );
}

// ---- counters --------------------------------------------------------------------------

function Counter({s, store, end}: {s: Series; store: Store; end: number}): JSX.Element {
    const f = valueFormat(s.name);
    return (
        <figure class="counter">
            <figcaption><strong><bdi>{s.name.slice(0, 80)}</bdi></strong> <span class="muted">last {f(s.value[s.value.length - 1] ?? NaN)} · {f(s.min)} … {f(s.max)}</span></figcaption>
            <Plot store={store} x={s.time} curves={(theme) => [{y: s.value, color: theme.accent}]} height={150} label={`${s.name.slice(0, 80)} over time, from ${f(s.min)} to ${f(s.max)}`} formatY={f} stepped binary={f === bytes} fromZero={f === bytes} xMax={end}
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

