// SPDX-License-Identifier: MIT OR Apache-2.0
// The section that holds the timeline: canvases, the lanes' labels as real
// elements, the tooltip, and what is said about the data's limits.
import {type JSX} from "preact";
import {useEffect, useLayoutEffect, useRef, useState} from "preact/hooks";
import {CATEGORIES} from "../data/meta";
import {gapBefore} from "../data/gaps";
import {type Report} from "../data/report";
import {lowerBound} from "../data/trace";
import {PIECE_KINDS} from "../data/path";
import {READY, STATE_NAMES, type StateAt} from "../data/states";
import {bytes, count, many, percent, time, valueFormat} from "../format";
import {useStore, type State, type Store} from "../state";
import {Input} from "../canvas/input";
import {categoryColor} from "../canvas/palette";
import {TOP_HEIGHT} from "../canvas/overview";
import {Timeline, type Hover} from "../canvas/timeline";
import {Section} from "./parts";

/** The lines of the tooltip. */
function hoverLines(tl: Timeline, h: Hover): string[] {
    const {report, trace} = tl;
    const m = h.lane?.domain?.series;
    if (m) {
        const i = Math.max(0, lowerBound(m.time, 0, m.time.length, h.time + 1) - 1);
        const top = m.columns.map((c, k) => ({v: c[i]!, k})).sort((a, b) => b.v - a.v).slice(0, 4).filter((x) => x.v > 0);
        return [`${bytes(m.total[i]!)} live`, ...top.map((x) => `${bytes(x.v)}  ${m.names[x.k]! >= 0 ? report.label(m.names[x.k]!).slice(0, 40) : "others"}`), m.exact ? `at ${time(h.time)}` : `the most around ${time(h.time)}`];
    }
    if (h.lane?.kind === "counter") {
        const s = h.lane.series!;
        const i = Math.max(0, lowerBound(s.time, 0, s.time.length, h.time + 1) - 1);
        return [`${s.name.slice(0, 60)}: ${valueFormat(s.name)(s.value[i]!)}`, `at ${time(s.time[i]!)}`];
    }
    if (h.lane?.kind === "steps") {
        const s = report.steps.find((x) => h.time >= x.begin && h.time < x.end);
        return s ? [`step ${s.index}: ${time(s.end - s.begin)}`, `median ${time(report.meta.steps!.p50)}`] : [];
    }
    if (h.lane?.kind === "path") return pathLines(report, h.time);
    const state = tl.stateAt(h.x, h.y);
    if (state) return stateLines(tl, h, state);
    if (!trace || !h.lane?.track) return [];
    if (h.event < 0) return gapLines(tl, h);
    const i = h.event;
    const merged = trace.merged.get(i);
    if (merged) return [`${merged[0].toLocaleString("en")} short slices, merged`, `${time(merged[1])} together, within ${time(trace.dur[i]!)}`];
    const name = report.label(trace.name(i)).slice(0, 160);
    if (h.lane.kind === "marks") return [name, `at ${time(trace.start[i]!)}`];
    return [name, `${time(trace.dur[i]!)} · self ${time(trace.self(i))}`, `at ${time(trace.start[i]!)}`];
}

function pathLines(report: Report, t: number): string[] {
    const at = report.onPath!.at(t);
    if (!at) return [];
    const thread = report.path!.thread[at.piece]!, who = thread >= 0 ? ` of ${report.threadName(thread).slice(0, 60)}` : "";
    return [report.label(at.name).slice(0, 160), `${time(at.to - at.from)}${who}`, at.kind ? PIECE_KINDS[at.kind]! : "the run's length came from this"];
}

/** One state, or how much of each where a pixel holds several. */
function stateLines(tl: Timeline, h: Hover, at: StateAt): string[] {
    const pixel = tl.view.span / tl.plotWidth, near = h.lane!.states!.sums(h.time - pixel, h.time + pixel);
    if (at.to - at.from > 2 * pixel) return [`${STATE_NAMES[at.state] ?? "waiting"} for ${time(at.to - at.from)}`, at.state === READY ? "ready to go on; others had the processors" : at.state ? "off its processor, of its own will" : "on a processor", `from ${time(at.from)}`];
    const all = near[0] + near[1] + near[2] || 1;
    return [`around ${time(h.time)}`, ...near.map((x, k) => `${percent(x / all)} ${STATE_NAMES[k]}`)];
}

function gapLines(tl: Timeline, h: Hover): string[] {
    const trace = tl.trace!;
    const row = trace.rows[h.lane!.track!.rows]!;
    const depth = Math.floor((h.y + tl.parts.scroll.scrollTop - h.lane!.y) / h.lane!.rowHeight);
    if (depth > 0 || h.lane!.kind !== "track") return [];
    const gap = gapBefore(tl.report, row, trace.lowerStart(row, h.time));
    return [`idle for ${time(gap.to - gap.from)}`, gap.text];
}

/** Keeps the timeline in step with the store. */
function follow(tl: Timeline, store: Store): () => void {
    return store.subscribe((c: Partial<State>) => {
        if (c.view && (c.view[0] !== tl.view.from || c.view[1] !== tl.view.to)) tl.setView(...c.view);
        if (c.loaded === 2) {
            tl.relayout();
            tl.highlight();
        }
        if ("op" in c || "hits" in c) tl.highlight();
        if ("slice" in c && store.state.slice >= 0) tl.reveal(store.state.slice);
        tl.redraw("step" in c || "range" in c || "marks" in c);
    });
}

export function TimelineView({report, store, onReady}: {report: Report; store: Store; onReady: (tl: Timeline) => void}): JSX.Element {
    const scroll = useRef<HTMLDivElement>(null), base = useRef<HTMLCanvasElement>(null), overlay = useRef<HTMLCanvasElement>(null);
    const top = useRef<HTMLCanvasElement>(null), tip = useRef<HTMLDivElement>(null);
    const [tl, setTl] = useState<Timeline | null>(null);
    const [version, setVersion] = useState(0);
    const [tall, setTall] = useState(false);
    const loaded = useStore(store, (s) => s.loaded);

    useLayoutEffect(() => {
        const t = new Timeline({scroll: scroll.current!, base: base.current!, overlay: overlay.current!, top: top.current!}, store);
        t.onLayout = () => setVersion((v) => v + 1);
        t.onHover = (h) => showTip(tip.current!, t, h);
        t.relayout();
        t.highlight();
        const input = new Input(t);
        const off = follow(t, store);
        const observer = new ResizeObserver(() => t.resize(scroll.current!.clientWidth, scroll.current!.clientHeight));
        observer.observe(scroll.current!);
        setTl(t);
        onReady(t);
        (window as unknown as {axprofTimeline: Timeline}).axprofTimeline = t; // for those who measure
        return () => {
            observer.disconnect();
            input.stop();
            off();
        };
    }, []);

    const content = tl?.contentHeight ?? 0;
    useEffect(() => tl?.redraw(true), [version, tall]);
    const height = Math.max(46, Math.min(content, tall ? 4000 : 460));
    const zoom = (f: number): void => {
        if (!tl) return;
        tl.view.zoom((tl.view.from + tl.view.to) / 2, f);
        tl.shareView();
        tl.redraw(true);
    };
    return (
        <Section id="timeline" title="Timeline" class="wide" note={<Limits report={report} loaded={loaded} />}>
            <div class="tl-tools">
                <Legend report={report} store={store} />
                <span class="spacer" />
                <button aria-label="Zoom in" data-tip="Zoom in (W)" onClick={() => zoom(1.5)}>+</button>
                <button aria-label="Zoom out" data-tip="Zoom out (S)" onClick={() => zoom(1 / 1.5)}>−</button>
                <button data-tip="The whole run (0)" onClick={() => store.set({view: [0, report.duration]})}>Fit</button>
                {content > 460 && <button aria-pressed={tall} onClick={() => setTall(!tall)}>{tall ? "Less height" : "All rows"}</button>}
                <button data-tip="All keys (?)" onClick={() => store.set({help: true})}>Keys</button>
            </div>
            <div class="tl">
                <canvas ref={top} class="tl-top" aria-hidden="true" style={{height: `${TOP_HEIGHT}px`}} />
                <div ref={scroll} class="tl-scroll" tabIndex={0} role="application" aria-roledescription="timeline" aria-describedby="tl-help"
                    aria-label={`Timeline of ${count(report.trace?.n ?? 0)} slices in ${tl?.lanes.length ?? 0} lanes`} style={{height: `${height}px`}}>
                    <div class="tl-content" style={{height: `${content}px`}}>
                        <div class="tl-stick"><canvas ref={base} /><canvas ref={overlay} class="tl-overlay" /></div>
                        {tl?.lanes.map((l) => (
                            <div key={l.key} class={`lane-label kind-${l.kind}`} style={{top: `${l.y}px`, height: `${l.h}px`, width: `${tl.gutter}px`}}>
                                {l.canToggle
                                    ? <button aria-expanded={l.isOpen} data-tip={l.label.length > 18 ? l.label : undefined} onClick={() => { toggle(tl.toggled, l.key); tl.relayout(); }}><span aria-hidden="true">{l.isOpen ? "▾" : "▸"}</span> <bdi>{l.label.slice(0, 60)}</bdi></button>
                                    : <span data-tip={l.label.length > 18 ? l.label.slice(0, 400) : undefined}><bdi>{l.label.slice(0, 60)}</bdi></span>}
                                {l.sub && l.h > 30 && <span class="muted">{l.sub}</span>}
                            </div>
                        ))}
                    </div>
                </div>
                {loaded >= 0 && loaded < 2 && <div class="progress" role="progressbar" aria-label="Reading the timeline" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(loaded * 100)}><span style={{width: `${loaded * 100}%`}} /></div>}
                <div ref={tip} class="tip tl-tip" hidden />
            </div>
            <p id="tl-help" class="note hint">Drag to select a range · Ctrl + wheel or <kbd>W</kbd> <kbd>S</kbd> to zoom · <kbd>A</kbd> <kbd>D</kbd> to move · click a slice · <kbd>?</kbd> for all keys</p>
        </Section>
    );
}

function toggle(set: Set<string>, key: string): void {
    if (!set.delete(key)) set.add(key);
}

function showTip(el: HTMLElement, tl: Timeline, h: Hover | null): void {
    const lines = h ? hoverLines(tl, h) : [];
    el.hidden = lines.length === 0;
    if (!h || !lines.length) return;
    el.replaceChildren(...lines.map((text, i) => {
        const line = document.createElement(i ? "div" : "strong");
        line.textContent = text;
        return line;
    }));
    const at = tl.parts.base.getBoundingClientRect();
    const x = at.left + h.x, y = at.top + h.y;
    el.style.left = `${Math.max(4, x + 14 + el.offsetWidth > innerWidth - 8 ? x - el.offsetWidth - 12 : x + 14)}px`;
    el.style.top = `${y + 18 + el.offsetHeight > innerHeight - 8 ? y - el.offsetHeight - 12 : y + 18}px`;
}

/** What of the run the timeline shows, in numbers. */
function Limits({report, loaded}: {report: Report; loaded: number}): JSX.Element | null {
    const {cut_events, duration_ns} = report.meta.run;
    const index = report.index;
    const parts: string[] = [];
    if (loaded < 0) parts.push("The events of this run are not in the file.");
    else if (loaded < 2) parts.push("Reading the timeline …");
    else if (index && report.trace) {
        const all = index.shown + index.merged;
        if (index.merged) parts.push(`${count(index.shown)} of ${count(all)} slices shown; the ${count(index.merged)} shortest are merged into ${count(index.blocks)} marked blocks (--events raises the limit).`);
        else if (all) parts.push(`${all > 1 ? "All " : ""}${many(all, "slice")} of ${time(duration_ns)}.`);
    }
    if (index?.unread) parts.push(`This is the first ${time(index.unread_from_ns ?? 0)} of ${time(duration_ns)}: the ${count(index.unread)} events after it were not read (--events raises the limit); the tables are of all.`);
    if (index?.left_out) parts.push(`${count(index.left_out)} marks and overlapping spans past the limit are left out.`);
    if (cut_events) parts.push(`${count(cut_events)} older events were no longer in the recorder's memory; statistics include them.`);
    return <>{parts.join(" ")}{report.meta.run.t0 !== "0" && parts.length ? <span data-tip={`${report.meta.run.t0} ns after the profiler started`}> Times count from the first event.</span> : null}{loaded === 2 && report.problems.map((p) => <strong class="problem" role="alert" key={p}> {p}</strong>)}</>;
}

function Legend({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const dark = useStore(store, (s) => s.dark);
    useStore(store, (s) => s.loaded);
    const present = [...new Set(report.ops.map((o) => o.category))].filter((c) => c > 0).sort((a, b) => a - b);
    if (!present.length && !report.states.size) return null;
    return (
        <>
            {present.length > 0 && (
                <ul class="legend" aria-label="Colours by category">
                    {present.map((c) => <li key={c}><span class="swatch" style={{background: categoryColor(c, dark)}} aria-hidden="true" />{CATEGORIES[c] ?? ""}</li>)}
                </ul>
            )}
            {report.states.size > 0 && (
                <ul class="legend" aria-label="States of threads, in the strip below each" data-tip={`The strip below a thread: filled where it ran, striped where it wanted a processor and had none, empty where it waited. Times off a processor of less than ${time(report.leastState || 10000)} count as running.`}>
                    {[0, 2, 1].map((k) => <li key={k}><span class={`swatch state state-${k}`} aria-hidden="true" />{STATE_NAMES[k]}</li>)}
                </ul>
            )}
        </>
    );
}
