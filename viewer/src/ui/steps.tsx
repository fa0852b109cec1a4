// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps: how their times are spread, how they went over the run, and what was
// different in a slow one.
import {Fragment, type JSX} from "preact";
import {useEffect, useMemo} from "preact/hooks";
import {type Report, type Step} from "../data/report";
import {byName, sumRange} from "../data/aggregate";
import {count, many, percent, signedTime, time} from "../format";
import {Flame, FLAME_ROW} from "../canvas/flame";
import {Plot} from "../charts/plot";
import {useStore, type Store} from "../state";
import {busiestTrack} from "./flame_view";
import {Name, Section, Term, useWidth} from "./parts";
import {bytesColumn, countColumn, DataTable, timeColumn, type Column} from "./table";

interface Bin {
    from: number;
    to: number;
    n: number;
}

/** At most 30 bins of equal width over all steps. */
function makeBins(hist: [number, number, number][]): Bin[] {
    const lo = Math.min(...hist.map((h) => h[0])), hi = Math.max(...hist.map((h) => h[1]));
    const n = Math.min(30, Math.max(4, Math.ceil(Math.sqrt(hist.reduce((s, h) => s + h[2], 0)) * 2)));
    if (hi - lo < n) return [{from: lo, to: Math.max(hi, lo + 1), n: hist.reduce((s, h) => s + h[2], 0)}];
    const width = (hi - lo) / n;
    const bins = Array.from({length: n}, (_, i) => ({from: lo + i * width, to: lo + (i + 1) * width, n: 0}));
    for (const [from, to, c] of hist) bins[Math.min(n - 1, Math.max(0, Math.floor(((from + to) / 2 - lo) / width)))]!.n += c;
    return bins;
}

function Histogram({report, store}: {report: Report; store: Store}): JSX.Element {
    const s = report.meta.steps!;
    const bins = useMemo(() => makeBins(report.steps.length === s.count ? report.steps.map((x) => [x.end - x.begin, x.end - x.begin, 1]) : s.hist), []);
    const most = Math.max(...bins.map((b) => b.n));
    const chosen = useStore(store, (st) => st.step);
    const [box, width] = useWidth<HTMLDivElement>(560);
    const W = width - 26, H = 132, foot = 18;
    const lo = bins[0]!.from, span = bins[bins.length - 1]!.to - lo || 1;
    const x = (t: number): number => ((t - lo) / span) * W;
    const chosenTime = chosen >= 0 ? report.steps[chosen]!.end - report.steps[chosen]!.begin : -1;
    const choose = (b: Bin): void => {
        // The slowest of the bin; where none of them was kept whole, the nearest.
        const off = (d: number): number => (d > b.to ? d - b.to : d < b.from ? b.from - d + 1e-3 : (b.to - d) * 1e-12);
        const time = report.steps.map((st) => st.end - st.begin);
        store.chooseStep(time.reduce((best, d, i) => (off(d) < off(time[best]!) ? i : best), 0));
    };
    return (
        <div ref={box}><svg class="histogram" viewBox={`0 0 ${W} ${H + foot}`} role="group" aria-label="Histogram of step times">
            {bins.map((b, i) => {
                const h = b.n ? Math.max(3, (b.n / most) * (H - 28)) : 0;
                const text = `${many(b.n, "step")} of ${time(b.from)} to ${time(b.to)}: choose the slowest of them`;
                const isChosen = chosenTime >= b.from - 1 && chosenTime <= b.to + 1;
                return b.n ? (
                    <g key={i} class={`bin ${isChosen ? "chosen" : ""}`} role="button" tabindex={0} aria-label={text} data-tip={text} onClick={() => choose(b)}
                        onKeyDown={(e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(b); } }}>
                        <rect class="hit" x={x(b.from)} y={0} width={W / bins.length} height={H} />
                        <rect class="fill" x={x(b.from) + 0.5} y={H - h} width={Math.max(1, W / bins.length - 1)} height={h} />
                        <text x={x(b.from) + W / bins.length / 2} y={H - h - 3} text-anchor="middle" class="small">{W / bins.length > 24 ? count(b.n) : ""}</text>
                    </g>
                ) : null;
            })}
            <line x1={x(s.p50)} x2={x(s.p50)} y1={0} y2={H} class="median" />
            <text x={x(s.p50) + (x(s.p50) > W - 120 ? -4 : 4)} y={10} class="small" text-anchor={x(s.p50) > W - 120 ? "end" : "start"}>median {time(s.p50)}</text>
            <line x1={0} x2={W} y1={H + 0.5} y2={H + 0.5} class="axis" />
            <text x={0} y={H + 14} class="small">{time(lo)}</text>
            <text x={W} y={H + 14} class="small" text-anchor="end">{time(lo + span)}</text>
        </svg></div>
    );
}

interface Difference {
    name: number;
    slow: number;
    usual: number;
    more: number;
    calls: number;
}

/** Self time by operation in a slow step and in the median one. */
function differences(report: Report, slow: Step, usual: Step): Difference[] {
    const trace = report.trace!;
    const a = byName(trace, sumRange(trace, slow.begin, slow.end, null));
    const b = byName(trace, sumRange(trace, usual.begin, usual.end, null));
    const rows: Difference[] = [];
    for (const name of new Set([...a.keys(), ...b.keys()])) {
        const s = a.get(name)?.self ?? 0, u = b.get(name)?.self ?? 0;
        rows.push({name, slow: s, usual: u, more: s - u, calls: (a.get(name)?.calls ?? 0) - (b.get(name)?.calls ?? 0)});
    }
    return rows.sort((x, y) => Math.abs(y.more) - Math.abs(x.more));
}

function medianStep(report: Report): Step {
    const p50 = report.meta.steps!.p50;
    return report.steps.reduce((a, b) => (Math.abs(b.end - b.begin - p50) < Math.abs(a.end - a.begin - p50) ? b : a));
}

/** How long the busiest row was in no scope during a step. */
function outside(report: Report, s: Step): number {
    const trace = report.trace!;
    const track = trace.tracks[busiestTrack(report)];
    return track ? s.end - s.begin - trace.covered(trace.rows[track.rows]!, s.begin, s.end) : 0;
}

/** The busiest row during two steps, on one scale of time. */
function PairOfSteps({report, store, steps}: {report: Report; store: Store; steps: Step[]}): JSX.Element | null {
    const [box, width] = useWidth<HTMLDivElement>(900);
    const dark = useStore(store, (s) => s.dark), op = useStore(store, (s) => s.op);
    const track = useMemo(() => busiestTrack(report), []);
    const rows = Math.min(5, report.trace!.tracks[track]?.depth ?? 1);
    const room = Math.max(100, width - 92);
    const longest = Math.max(...steps.map((s) => s.end - s.begin));
    useEffect(() => {
        box.current?.querySelectorAll("canvas").forEach((canvas, k) => {
            const f = new Flame(canvas, report);
            f.width = room * ((steps[k]!.end - steps[k]!.begin) / longest);
            f.drawChart(track, steps[k]!.begin, steps[k]!.end, rows * FLAME_ROW, {op, hits: null});
        });
    }, [steps[0], room, dark, op]);
    if (track < 0) return null; // no thread had a scope
    return (
        <div ref={box} class="pair-charts" aria-hidden="true">
            {steps.map((s) => <Fragment key={s.index}><span class="muted">step {s.index}<br />{time(s.end - s.begin)}</span><canvas /></Fragment>)}
        </div>
    );
}

function Compare({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const chosen = useStore(store, (s) => s.step), loaded = useStore(store, (s) => s.loaded);
    const slowest = useMemo(() => report.steps.reduce((best, s, i) => (s.end - s.begin > report.steps[best]!.end - report.steps[best]!.begin ? i : best), 0), []);
    const at = chosen >= 0 ? chosen : slowest;
    const usual = useMemo(() => medianStep(report), []);
    const slow = report.steps[at]!;
    const rows = useMemo(() => (loaded === 2 && report.trace!.n ? differences(report, slow, usual) : []), [at, loaded]);
    if (!rows.length || slow === usual) return null;
    const extra = slow.end - slow.begin - (usual.end - usual.begin);
    const top = rows.find((r) => Math.sign(r.more) === Math.sign(extra)) ?? rows[0]!;
    const idle = outside(report, slow) - outside(report, usual);
    const most = Math.max(1, ...rows.slice(0, 8).map((r) => Math.max(r.slow, r.usual)));
    const columns: Column<Difference>[] = [
        {key: "name", head: "Operation", cell: (r) => <Name report={report} id={r.name} max={60} />, value: (r) => report.label(r.name)},
        timeColumn("step_ns", `Step ${slow.index}`, (r) => r.slow, {tip: "Self time in that step, all rows."}),
        timeColumn("median_ns", `Median step ${usual.index}`, (r) => r.usual, {tip: "Self time in the step whose time is the median."}),
        {key: "bars", head: "Side by side", tip: "Above that step, below the median one.", minor: true, value: (r) => r.more, cell: (r) => (
            <span class="pair" aria-hidden="true"><span class="a" style={{width: `${(r.slow / most) * 100}%`}} /><span class="b" style={{width: `${(r.usual / most) * 100}%`}} /></span>), text: () => ""},
        {key: "more_ns", head: "Difference", tip: "More or less time than in the median step.", num: true, cell: (r) => signedTime(r.more), value: (r) => Math.abs(r.more), text: (r) => signedTime(r.more)},
        {key: "more_calls", head: "Calls", num: true, minor: true, tip: "More or fewer calls than in the median step.", cell: (r) => (r.calls > 0 ? `+${count(r.calls)}` : r.calls < 0 ? `−${count(-r.calls)}` : "="), value: (r) => r.calls},
    ];
    return (
        <div class="compare">
            <h3>Step {slow.index} beside the median step {usual.index}</h3>
            <p>{time(slow.end - slow.begin)} against {time(usual.end - usual.begin)}: {signedTime(extra)}. {extra !== 0 && (idle / extra > Math.max(0.5, top.more / extra)
                ? `Most of it is time in no scope on the row below (${signedTime(idle)}).`
                : <>The largest part of it is in <code><Name report={report} id={top.name} max={60} /></code> ({signedTime(top.more)}).</>)}</p>
            <PairOfSteps report={report} store={store} steps={[slow, usual]} />
            <DataTable caption={`Step ${slow.index} beside step ${usual.index}`} columns={columns} rows={rows} sort="more_ns" id={(r) => r.name} limit={8} onChoose={(r) => store.chooseOp(r.name)} />
        </div>
    );
}

export function Steps({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const s = report.meta.steps;
    const chosen = useStore(store, (st) => st.step);
    const [index, spent] = useMemo(() => [report.steps.map((x) => x.index), report.steps.map((x) => x.end - x.begin)], []);
    if (!s?.count || !report.steps.length) return null;
    const columns: Column<Step & {at: number}>[] = [
        countColumn("step", "Step", (r) => r.index),
        timeColumn("time_ns", "Time", (r) => r.end - r.begin, {tip: "From the mark before it to its own."}),
        {key: "against_median", head: "Against median", tip: "Its time by the median step's.", num: true, value: (r) => (r.end - r.begin) / s.p50, cell: (r) => `${((r.end - r.begin) / s.p50).toFixed(2)} ×`, text: (r) => `${((r.end - r.begin) / s.p50).toFixed(2)} ×`},
        timeColumn("begins_ns", "Begins at", (r) => r.begin, {minor: true, tip: "On the timeline."}),
        ...(report.steps.some((x) => x.live) ? [bytesColumn<Step & {at: number}>("live_bytes", "Live at end", (r) => r.live ?? NaN, {minor: true, tip: "Bytes live when the step ended."})] : []),
    ];
    const rows = report.steps.map((x, at) => ({...x, at}));
    const shown = report.steps.length;
    return (
        <Section id="steps" title="Steps" note={<>{many(s.count, "step")}: <Term tip="Half of the steps are faster, half slower.">median</Term> {time(s.p50)}, average {time(s.avg)}, <Term tip="95 of 100 steps are faster.">p95</Term> {time(s.p95)}, <Term tip="99 of 100 steps are faster.">p99</Term> {time(s.p99)}, slowest {time(s.max)} ({percent(s.max / s.p50 - 1)} over the median).{shown < s.count ? ` ${count(shown)} of them are kept whole.` : ""}</>}>
            <div class="columns">
                <div>
                    <h3>Spread</h3>
                    <Histogram report={report} store={store} />
                </div>
                <div>
                    <h3>Step by step</h3>
                    <Plot store={store} x={index} curves={(theme) => [{y: spent, color: theme.accent}]} height={170} label="Step time over the run" formatY={time} fromZero dots={shown < 300} formatX={(v) => String(Math.round(v))}
                        onClick={(x) => { const at = nearest(report.steps, x); if (at >= 0) store.chooseStep(at); }} />
                </div>
            </div>
            <Compare report={report} store={store} />
            <details class="as-table">
                <summary>Slowest steps as a table</summary>
                <DataTable caption="Steps" columns={columns} rows={rows} sort="time_ns" id={(r) => r.at} chosen={chosen >= 0 ? chosen : undefined} onChoose={(r) => store.chooseStep(r.at)} limit={10} />
            </details>
        </Section>
    );
}

function nearest(steps: Step[], index: number): number {
    let best = -1;
    steps.forEach((s, i) => {
        if (best < 0 || Math.abs(s.index - index) < Math.abs(steps[best]!.index - index)) best = i;
    });
    return best;
}

