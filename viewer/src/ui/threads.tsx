// SPDX-License-Identifier: MIT OR Apache-2.0
// Ranks, threads and queues: what each did, what state it was in, and whom it
// waited for.
import {type JSX} from "preact";
import {useMemo, useState} from "preact/hooks";
import {type Waits} from "../data/meta";
import {type Report} from "../data/report";
import {READY, STATE_NAMES, type StateSums} from "../data/states";
import {lowerBound} from "../data/trace";
import {innermostAt} from "../data/wakers";
import {label, time} from "../format";
import {useStore, type Store} from "../state";
import {jump, Section} from "./parts";
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
    spun: number;
    events: number;
    /** Ran, waited, wanted a processor: of the range, or of its life. */
    states: StateSums | null;
}

/** States of a range from the timeline; of a whole life as the scheduler summed them. */
function statesOf(report: Report, i: number, range: [number, number] | null): StateSums | null {
    const t = report.meta.threads[i]!;
    if (range) return report.states.get(i)?.sums(...range) ?? null;
    if (t.ready === undefined || t.cpu === undefined) return null;
    return [t.cpu, t.off ?? Math.max(0, t.end - t.begin - t.cpu - t.ready), t.ready];
}

function rowsOf(report: Report, range: [number, number] | null): RowInfo[] {
    const threads = report.meta.threads.map((t, i) => ({id: `t${i}`, name: report.threadName(i), kind: "thread", rank: t.rank, process: t.process, life: t.end - t.begin, busy: t.busy, cpu: t.cpu ?? NaN, wait: t.wait, ready: t.ready ?? NaN, spun: t.spun ?? NaN, events: t.events, states: statesOf(report, i, range)}));
    const queues = (report.meta.queues ?? []).map((q, i) => ({id: `q${i}`, name: q.name, kind: "queue", rank: q.rank, process: q.process, life: q.end - q.begin, busy: q.busy, cpu: NaN, wait: NaN, ready: NaN, spun: NaN, events: q.events, states: null}));
    return [...threads, ...queues];
}

export function hasThreads(report: Report): boolean {
    const {threads, queues} = report.meta;
    return threads.length + (queues?.length ?? 0) > 1 || threads.some((t) => t.ready !== undefined);
}

/** Shares of the three states, drawn as on the timeline. */
function StateBar({sums}: {sums: StateSums}): JSX.Element {
    const all = sums[0] + sums[1] + sums[2] || 1;
    return <span class="states" aria-hidden="true">{[0, 2, 1].map((k) => <span key={k} class={`state state-${k}`} style={{width: `${(sums[k]! / all) * 100}%`}} />)}</span>;
}

function stateColumns(isRange: boolean): Column<RowInfo>[] {
    const of = isRange ? "In the selected range, from the timeline." : "Of its life, as the scheduler summed it.";
    const get = (k: number) => (r: RowInfo): number => r.states?.[k] ?? NaN;
    const column = (key: string, head: string, k: number, tip: string): Column<RowInfo> => timeColumn(key, head, get(k), {tip: `${tip} ${of}`});
    return [
        {key: "states", head: "States", tip: `Filled: it ran. Striped: it wanted a processor and had none. Empty: it waited. ${of}`, minor: true, value: (r) => (r.states ? r.states[0] / (r.states[0] + r.states[1] + r.states[2] || 1) : NaN), cell: (r) => (r.states ? <StateBar sums={r.states} /> : "–"), text: (r) => (r.states ? r.states.map((x, k) => `${STATE_NAMES[k]} ${time(x)}`).join(", ") : "")},
        column("running_ns", "Running", 0, "On a processor."),
        column("ready_ns", "Starved", READY, "It wanted to go on and had no processor."),
        column("off_ns", "Off", 1, "Off its processor, of its own will: waiting, sleeping."),
    ];
}

export function Threads({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const range = useStore(store, (s) => s.range), loaded = useStore(store, (s) => s.loaded);
    const shown = loaded === 2 && report.states.size ? range : null;
    const rows = useMemo(() => rowsOf(report, shown), [shown, loaded]);
    if (!hasThreads(report)) return null;
    const some = (f: (r: RowInfo) => boolean): boolean => rows.some(f);
    const hasStates = some((r) => !!r.states);
    const columns: Column<RowInfo>[] = [
        {key: "name", head: "Name", cell: (r) => <bdi class="name">{r.name.slice(0, 120)}</bdi>, value: (r) => r.name},
        {key: "kind", head: "Kind", tip: "A thread of the program, or a queue with times of its own: a device, a link.", minor: true, cell: (r) => r.kind, value: (r) => r.kind},
        ...(some((r) => r.process !== rows[0]!.process) ? [{key: "process", head: "Process", tip: "Its id.", num: true, minor: true, cell: (r: RowInfo) => String(r.process), value: (r: RowInfo) => r.process}] : []),
        ...(some((r) => r.rank >= 0) ? [countColumn<RowInfo>("rank", "Rank", (r) => (r.rank >= 0 ? r.rank : NaN))] : []),
        ...(hasStates ? stateColumns(!!shown) : some((r) => r.cpu >= 0) ? [timeColumn<RowInfo>("cpu_ns", "CPU", (r) => r.cpu, {tip: "CPU time since its first event."})] : []),
        ...(!shown && some((r) => r.spun > 0) ? [timeColumn<RowInfo>("spun_ns", "Spinning", (r) => r.spun, {tip: "Of the time that it ran: in waits, where it did nothing else, as samples say."})] : []),
        timeColumn("busy_ns", "In scopes", (r) => r.busy, {tip: "Time in outermost scopes, waits that were recorded included; of a queue, in its spans."}),
        shareColumn("busy_share", "Of its life", (r) => (r.life > 0 ? Math.min(1, r.busy / r.life) : NaN), {tip: "Time in scopes, of its life."}),
        ...(some((r) => r.wait > 0) ? [timeColumn<RowInfo>("wait_ns", "In waits", (r) => r.wait, {minor: hasStates, tip: "Own time of scopes of category sync, waits that were recorded among them."})] : []),
        timeColumn("life_ns", "Life", (r) => r.life, {minor: true, tip: "From its first event to its end, or to the end of what was recorded."}),
        countColumn("events", "Events", (r) => r.events, {minor: true, tip: "In its timeline: begins, ends, marks, counters, allocations."}),
    ];
    return (
        <Section id="threads" title={report.meta.queues?.length ? "Threads and queues" : "Threads"} note={shown && hasStates ? `States are those of the selected ${time(shown[1] - shown[0])}; the rest is of the whole run.` : undefined}>
            <Ranks report={report} />
            <DataTable caption="Threads and queues" columns={columns} rows={rows} sort={hasStates ? "running_ns" : "busy_ns"} id={(r) => r.id} limit={12} />
            {report.states.size > 0 && <OffTable report={report} store={store} />}
            <WaitsTable report={report} />
        </Section>
    );
}

interface Off {
    id: number;
    thread: number;
    state: number;
    from: number;
    to: number;
    slice: number; // what it was in; −1: in no scope
}

const MOST_OFF = 200;

/** The longest times off a processor, of all threads: in the range, if there is one. */
function longestOff(report: Report, [a, b]: [number, number]): Off[] {
    const parts = [...report.states].map(([thread, s]) => ({thread, s, first: lowerBound(s.end, 0, s.end.length, a), end: lowerBound(s.begin, 0, s.begin.length, b)}));
    const lengths = new Float64Array(parts.reduce((n, p) => n + Math.max(0, p.end - p.first), 0));
    let n = 0;
    for (const {s, first, end} of parts) for (let i = first; i < end; i++) lengths[n++] = s.end[i]! - s.begin[i]!;
    const least = lengths.sort()[Math.max(0, n - MOST_OFF)] ?? 0;
    const longest: Off[] = [];
    for (const {thread, s, first, end} of parts) {
        for (let i = first; i < end && longest.length < 2 * MOST_OFF; i++)
            if (s.end[i]! - s.begin[i]! >= least) longest.push({id: longest.length, thread, state: s.state[i]!, from: s.begin[i]!, to: s.end[i]!, slice: innermostAt(report.trace!, thread, s.begin[i]!)});
    }
    return longest;
}

function OffTable({report, store}: {report: Report; store: Store}): JSX.Element {
    const range = useStore(store, (s) => s.range);
    const [open, setOpen] = useState(false);
    const rows = useMemo(() => (open ? longestOff(report, range ?? [0, report.duration]) : []), [open, range]);
    const thread = (o: Off): string => report.threadName(o.thread);
    const inside = (o: Off): string => (o.slice >= 0 ? report.label(report.trace!.name(o.slice)) : "");
    const columns: Column<Off>[] = [
        {key: "thread", head: "Thread", tip: "Choose one to see it on the timeline.", cell: (o) => <bdi class="name">{thread(o).slice(0, 60)}</bdi>, value: thread},
        {key: "state", head: "State", tip: "What it was in meanwhile.", cell: (o) => STATE_NAMES[o.state] ?? "", value: (o) => STATE_NAMES[o.state] ?? ""},
        timeColumn("length_ns", "Length", (o) => o.to - o.from, {tip: "How long it was off its processor."}),
        timeColumn("from_ns", "From", (o) => o.from, {tip: "When it left its processor."}),
        {key: "inside", head: "In", tip: "The innermost scope that was open then.", cell: (o) => <bdi class="name">{inside(o) && label(inside(o), 80)}</bdi>, value: inside},
    ];
    return (
        <details class="as-table" open={open} onToggle={(e) => setOpen((e.target as HTMLDetailsElement).open)}>
            <summary>States as a table: the longest times off a processor</summary>
            {open && <DataTable caption="Longest times off a processor" columns={columns} rows={rows} sort="length_ns" id={(o) => o.id} limit={12} onChoose={(o) => {
                store.chooseRange([Math.round(o.from), Math.round(o.to)]);
                if (o.slice >= 0) store.chooseSlice(o.slice);
                store.focus(o.from, o.to);
                jump("timeline");
            }} />}
        </details>
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
