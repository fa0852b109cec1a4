// SPDX-License-Identifier: MIT OR Apache-2.0
// What is selected: the bar that stays in sight, and the panel that tells all
// about one slice. A screen reader hears the slice when it changes.
import {type ComponentChildren, type JSX} from "preact";
import {type Timeline} from "../canvas/timeline";
import {flowInto, flowsFrom} from "../data/gaps";
import {DTYPES} from "../data/meta";
import {type Report} from "../data/report";
import {count, digits, exactTime, label, many, percent, rate, time} from "../format";
import {useStore, type Store} from "../state";
import {MOST_ENDED} from "../data/wakers";
import {go, goWaker} from "./keys";
import {Name, Term} from "./parts";

export function SelectionBar({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const op = useStore(store, (s) => s.op), range = useStore(store, (s) => s.range), step = useStore(store, (s) => s.step);
    const search = useStore(store, (s) => s.search), hits = useStore(store, (s) => s.hits);
    if (op < 0 && !range && !hits) return null;
    return (
        <div class="selection" role="status">
            <span class="muted">Selected</span>
            {range && (
                <span class="chip">
                    {step >= 0 ? `step ${report.steps[step]!.index}` : "range"} {time(range[0])} – {time(range[1])} <strong>{time(range[1] - range[0])}</strong>
                    <button aria-label="Clear the range" onClick={() => store.chooseRange(null)}>×</button>
                </span>
            )}
            {op >= 0 && (
                <span class="chip">
                    <Name report={report} id={op} max={60} />
                    <button aria-label="Clear the operation" onClick={() => store.set({op: -1, slice: -1})}>×</button>
                </span>
            )}
            {hits && (
                <span class="chip">
                    “{search.slice(0, 40)}” <strong>{hits.events ? many(hits.events.length, "slice") : many(hits.names.size, "name")}, {percent(hits.share)} of recorded time</strong>
                    <button aria-label="Clear the search" onClick={() => store.searchFor("")}>×</button>
                </span>
            )}
            <span class="spacer" />
            {range && <button class="quiet" onClick={() => store.focus(range[0], range[1])}>Zoom to range</button>}
            <button class="quiet" onClick={() => store.clear()}>Clear all</button>
        </div>
    );
}

function Fact({name, tip, children}: {name: string; tip?: string; children: ComponentChildren}): JSX.Element {
    return <div><dt>{tip ? <Term tip={tip}>{name}</Term> : name}</dt><dd>{children}</dd></div>;
}

function ownerName(report: Report, track: number): string {
    const t = report.trace!.tracks[track]!;
    const at = Number(t.row.slice(1));
    if (t.row[0] === "t") {
        const th = report.meta.threads[at];
        return `${th?.name || "thread"} (${th?.id ?? "?"})${th && th.rank >= 0 ? `, rank ${th.rank}` : ""}`;
    }
    return t.row[0] === "q" ? report.meta.queues?.[at]?.name ?? "queue" : t.name ?? "spans";
}

function work(report: Report, i: number): JSX.Element | null {
    const trace = report.trace!;
    const a = trace.args ? report.args[trace.args[i]! - 1] : undefined;
    if (!a) return null;
    const [flops, byteCount, dtype, dims, text] = a;
    const dur = trace.dur[i]!;
    return (
        <>
            {flops ? <Fact name="Work">{rate(flops, "FLOP")}{dur ? `, ${rate((flops / dur) * 1e9, "FLOP/s")}` : ""}</Fact> : null}
            {byteCount ? <Fact name="Moved">{rate(byteCount, "B")}{dur ? `, ${rate((byteCount / dur) * 1e9, "B/s")}` : ""}</Fact> : null}
            {dims?.length ? <Fact name="Shape">{dims.join(" × ")}{dtype ? ` ${DTYPES[dtype] ?? ""}` : ""}</Fact> : null}
            {text !== undefined && text >= 0 ? <Fact name="Data"><bdi class="data">{report.text(text).slice(0, 2000)}</bdi></Fact> : null}
        </>
    );
}

export function Details({report, store, tl}: {report: Report; store: Store; tl: Timeline | null}): JSX.Element | null {
    const i = useStore(store, (s) => s.slice);
    const trace = report.trace;
    if (!trace || i < 0 || !tl) return <div class="details" role="status" hidden />;
    const name = trace.name(i), op = report.opByName.get(name);
    const row = trace.rowOf(i), dur = trace.dur[i]!, start = trace.start[i]!;
    const parent = trace.parent(i), self = trace.self(i);
    const into = flowInto(trace, i), out = flowsFrom(trace, i);
    const merged = trace.merged.get(i);
    const woken = report.wakers?.of(i) ?? null, wakerIn = woken ? report.wakers!.slice(woken) : -1;
    const ended = report.wakers?.endedBy(i) ?? [];
    const step = report.steps.find((s) => start >= s.begin && start < s.end);
    return (
        <div class="details" role="status" aria-label="Selected slice">
            <h3><code><Name report={report} id={name} /></code>{merged && <span class="muted"> {count(merged[0])} short slices, merged</span>}</h3>
            <dl>
                <Fact name="Duration"><strong>{time(dur)}</strong> <span class="muted">{dur >= 1000 ? exactTime(dur) : ""}</span></Fact>
                {merged ? <Fact name="In slices" tip="The sum of the merged slices' durations.">{time(merged[1])}</Fact>
                    : <Fact name="Self" tip="Without the slices inside it.">{time(self)}{dur ? <span class="muted"> {percent(self / dur)}</span> : null}</Fact>}
                <Fact name="Starts at">{time(start)}{step ? <span class="muted"> in step {step.index}</span> : null}</Fact>
                <Fact name="On"><bdi>{label(ownerName(report, row.track), 80)}</bdi>{row.depth ? <span class="muted"> depth {row.depth + 1}</span> : null}</Fact>
                {op && op.calls > 1 && op.p50 > 0 && <Fact name="Against its median" tip="The median (p50) of all calls of this operation in the run.">{digits(dur / op.p50)} × <span class="muted">{time(op.p50)}, of {many(op.calls, "call")}</span></Fact>}
                {parent >= 0 && <Fact name="Inside"><button class="link" onClick={() => go(tl, parent)}><Name report={report} id={trace.name(parent)} max={50} /></button>{trace.dur[parent]! > 0 ? <span class="muted"> {percent(dur / trace.dur[parent]!)} of it</span> : null}</Fact>}
                {work(report, i)}
                {into >= 0 && <Fact name="Launched by"><button class="link" onClick={() => go(tl, into)}><Name report={report} id={trace.name(into)} max={50} /></button><span class="muted"> {time(start - trace.start[into]!)} before</span></Fact>}
                {out.length > 0 && <Fact name="Launches">{out.slice(0, 3).map((o) => <span key={o}><button class="link" onClick={() => go(tl, o)}><Name report={report} id={trace.name(o)} max={50} /></button><span class="muted"> {time(trace.start[o]! - start)} later </span></span>)}{out.length > 3 ? `and ${out.length - 3} more` : ""}</Fact>}
                {woken && <Fact name="Ended by" tip="Who unlocked, signalled, came last, posted or ended. Key [ goes there."><button class="link" onClick={() => goWaker(tl, woken)}><bdi>{report.threadName(woken.thread).slice(0, 60)}</bdi></button><span class="muted"> {wakerIn >= 0 && <>in <Name report={report} id={trace.name(wakerIn)} max={40} /> </>}{time(start + dur - woken.time)} before it went on</span></Fact>}
                {ended.length > 0 && <Fact name="Ended the waits of" tip="Threads that waited until something that this slice did. Key ] goes to the first.">{ended.slice(0, 3).map((w) => <span key={w.wait}><button class="link" onClick={() => go(tl, w.wait)}><bdi>{ownerName(report, trace.rowOf(w.wait).track).slice(0, 40)}</bdi></button><span class="muted"> {time(trace.dur[w.wait]!)} </span></span>)}{ended.length > 3 ? `and ${ended.length === MOST_ENDED ? "many" : ended.length - 3} more` : ""}</Fact>}
                {op?.file && <Fact name="Source"><bdi>{op.file.slice(-120)}:{op.line}</bdi></Fact>}
            </dl>
        </div>
    );
}

