// SPDX-License-Identifier: MIT OR Apache-2.0
// The first screen: what ran, how long, the verdict, the figures that matter,
// and the findings by the time that each would give back.
import {type JSX} from "preact";
import {useState} from "preact/hooks";
import {bytes, bytesParts, count, label, many, percent, plain, rate, rateParts, time, timeParts, type Quantity} from "../format";
import {type Finding, type Warning} from "../data/meta";
import {type Domain, type Report} from "../data/report";
import {type Timeline} from "../canvas/timeline";
import {longestOf} from "../data/search";
import {useStore, type Store} from "../state";
import {copyText, jump, Jump, Name, Term} from "./parts";

/** "DeviceIdle" → "Device idle". */
export function typeWords(type: string): string {
    const words = type.replace(/([a-z])([A-Z])/g, "$1 $2");
    return words.charAt(0) + words.slice(1).toLowerCase();
}

const OF: Record<string, string> = {time_percentage: "its threads' time", memory_percentage: "the peak", leak_percentage: "all that was allocated"};

/** "idle_percentage", 21.3 → "idle 21.3 %": the key's last word is the unit. */
function metricText(key: string, v: number): string {
    const words = (n: number): string => key.slice(0, key.length - n).replace(/_/g, " ").trim();
    const of = OF[key];
    if (of) return `${plain(Math.round(v * 10) / 10)} % of ${of}`;
    if (/_(percentage|pct)$/.test(key)) return `${words(key.endsWith("pct") ? 4 : 11)} ${plain(Math.round(v * 10) / 10)} %`;
    if (key.endsWith("_bytes")) return `${words(6)} ${bytes(v)}`;
    if (key.endsWith("_ms")) return `${words(3)} ${time(v * 1e6)}`;
    if (key.endsWith("_ns")) return `${words(3)} ${time(v)}`;
    if (key === "total_gflops") return `${rate(v * 1e9, "FLOP")} in all`;
    if (key === "gflops_per_sec") return rate(v * 1e9, "FLOP/s");
    if (key === "gbps") return rate(v * 1e9, "B/s");
    return `${words(0)} ${plain(v)}`;
}

interface Tile {
    label: string;
    tip: string;
    q: Quantity;
    sub: string;
    to?: string;
}

function tiles(report: Report): Tile[] {
    const {run, steps, memory, heap, threads, queues} = report.meta;
    const out: Tile[] = [{
        label: "Wall time", tip: "From the first to the last recorded event.", q: timeParts(run.duration_ns),
        sub: !threads.length ? "no scopes" : many(threads.length, "thread") + (queues?.length ? `, ${many(queues.length, "queue")}` : ""),
    }];
    if (steps?.count)
        out.push({
            label: "Step time", tip: "The median (p50): half of the steps are faster, half slower. p95: 95 of 100 are faster.", q: timeParts(steps.p50),
            sub: `median of ${count(steps.count)} · p95 ${time(steps.p95)}`, to: "steps",
        });
    if (memory?.peak) {
        const top = memory.names[0];
        out.push({
            label: "Memory peak", tip: "The most bytes that were live at one moment, of those that the program reported. 1 MB is 1024 KB.", q: bytesParts(memory.peak),
            sub: top ? `${percent(top.at_peak / memory.peak)} of it ${report.label(top.name).slice(0, 28)}` : `at ${time(memory.peak_at)}`, to: "memory",
        });
    }
    else if (heap?.peak)
        out.push({
            label: "Heap peak", tip: "The most bytes that the allocator had handed out at one moment. 1 MB is 1024 KB.", q: bytesParts(heap.peak),
            sub: `at ${time(heap.peak_at)} · ${bytes(heap.current)} not freed`, to: "heap",
        });
    const device = report.domains.reduce((a: Domain | null, d) => (d.number >= 0 && d.meta.peak > (a?.meta.peak ?? 0) ? d : a), null);
    if (device) {
        const top = device.meta.names[0];
        out.push({
            label: `Peak of ${device.label.slice(0, 20)}`, tip: "The most bytes that were live at one moment on that device, of those that the program reported.", q: bytesParts(device.meta.peak),
            sub: top ? `${percent(top.at_peak / device.meta.peak)} of it ${report.label(top.name).slice(0, 28)}` : `at ${time(device.meta.peak_at)}`, to: "memory",
        });
    }
    const share = machineShare(report);
    if (share) out.push(share);
    if (report.ops.length) {
        const calls = report.ops.reduce((s, o) => s + o.calls, 0);
        out.push({label: "Operations", tip: "Distinct names, and how often they ran in all.", q: {value: count(report.ops.length), unit: ""}, sub: many(calls, "call"), to: "operations"});
    }
    return out;
}

/** What the declared work reaches of the machine's measured peak. */
function machineShare({meta: {run}}: Report): Tile | null {
    if (!run.gflops) return null;
    const q = rateParts(run.gflops * 1e9, "FLOP/s"), tip = "Declared floating-point operations per second of wall time", [line, peak] = run.peak ?? ["", NaN];
    if (!line) return {label: "Throughput", tip, q, sub: "over the whole run", to: "roofline"};
    const of = rateParts(peak * 1e9, "FLOP/s");
    return {label: "Of machine peak", tip, q: {value: ((run.gflops / peak) * 100).toFixed(1), unit: "%"}, sub: `${q.value} ${q.unit === of.unit ? "" : q.unit} of ${of.value} ${of.unit} ${line}`, to: "roofline"};
}

/** What a finding that is not about time is about. */
function Held({f}: {f: Finding}): JSX.Element {
    const held = Object.entries(f.metrics).find(([k]) => k.endsWith("_bytes"));
    if (!held) return <span class="muted">not about time</span>;
    return <><span class="gain">{bytes(held[1])}</span><span class="muted">{held[0].replace(/_bytes$/, "").replace(/_/g, " ").slice(0, 30)}</span></>;
}

const SEVERITY_SIGN = {low: "·", medium: "▲", high: "▲▲", critical: "▲▲▲"};

function FindingCard({report, store, f, rank, tl}: {report: Report; store: Store; f: Finding; rank: number; tl: Timeline | null}): JSX.Element {
    const op = f.name >= 0 ? report.opByName.get(f.name) : undefined;
    const chosen = useStore(store, (s) => s.op === f.name && f.name >= 0);
    const loaded = useStore(store, (s) => s.loaded === 2);
    const [copied, setCopied] = useState(false);
    const showSlices = (): void => {
        const i = report.trace ? longestOf(report.trace, f.name) : -1;
        store.set({op: f.name});
        if (i >= 0 && report.trace) {
            store.chooseSlice(i);
            store.focus(report.trace.start[i]!, report.trace.start[i]! + report.trace.dur[i]!);
        }
        jump("timeline");
    };
    const showRow = (): void => {
        store.set({op: f.name});
        jump("operations");
    };
    // Findings about a queue or a thread lead to its row.
    const lane = !op && f.name >= 0 && loaded ? tl?.lanes.find((l) => l.label === report.text(f.name)) : undefined;
    const showLane = (): void => {
        tl!.parts.scroll.scrollTop = lane!.y - 40;
        jump("timeline");
    };
    const isMemory = f.type.startsWith("Memory") && !op;
    const source = op?.file ? `${op.file}:${op.line}` : "";
    const metrics = Object.entries(f.metrics);
    return (
        <li class={`finding sev-${f.severity} ${chosen ? "chosen" : ""}`}>
            <div class="finding-gain">
                {f.saving_ns > 0
                    ? <><span class="gain">{f.saving_is_bound ? "≤ " : ""}{time(f.saving_ns)}</span><span class="muted">{percent(f.saving_share)} of wall time</span></>
                    : <Held f={f} />}
            </div>
            <div class="finding-body">
                <h3>
                    <span class="rank">{rank}</span> {typeWords(f.type)}
                    {f.name >= 0 && <>{" "}<code><Name report={report} id={f.name} max={80} /></code></>}
                    <span class="severity" tabIndex={0} data-tip="By the part of the wall time to regain: low below 5 %, medium from 5 %, high from 15 %, critical from 35 %; where none is known, by the rule."><span aria-hidden="true">{SEVERITY_SIGN[f.severity] ?? ""}</span> {f.severity}</span>
                </h3>
                <p>{f.description}</p>
                <p class="suggestion"><span class="muted">Do:</span> {f.suggestion}</p>
                <p class="links">
                    {op && loaded && report.trace && <button class="link" onClick={showSlices}>show in timeline</button>}
                    {lane && <button class="link" onClick={showLane}>show in timeline</button>}
                    {op && <button class="link" onClick={showRow}>table row</button>}
                    {isMemory && report.domains.length > 0 && <Jump to="memory" class="link">memory</Jump>}
                    {source && <button class="link" data-tip={`${source} – click to copy`} onClick={() => void copyText(source).then(setCopied)}><bdi>{source.split("/").slice(-2).join("/")}</bdi>{copied ? " ✓" : ""}</button>}
                    {metrics.length > 0 && <span class="muted metrics">{metrics.slice(0, 3).map(([k, v]) => `${metricText(k.slice(0, 40), v)}`).join(" · ")}</span>}
                    {f.confidence < 0.7 && <span class="muted"><Term tip="How sure the rule is that this is a cost that can be taken away; 100 % is certain.">confidence</Term> {Math.round(f.confidence * 100)} %</span>}
                </p>
            </div>
        </li>
    );
}

/** As the other reports have it: "3 threads that … (last: NAME)". */
function warningText(w: Warning): string {
    const isMany = w.count >= 2 && !w.text.startsWith("the ");
    const last = isMany && w.code !== "own_overhead" ? "last: " : "";
    return `${isMany ? `${count(w.count)} ` : ""}${w.text}${w.name ? ` (${last}${label(w.name, 80)})` : ""}`;
}

export function Summary({report, store, tl}: {report: Report; store: Store; tl: Timeline | null}): JSX.Element {
    const [all, setAll] = useState(false);
    const {findings, warnings, run, heap} = report.meta;
    const shown = all ? findings : findings.slice(0, 3);
    return (
        <section id="summary" class="section summary" aria-label="Summary" tabIndex={-1}>
            <p class="verdict">{report.meta.verdict}</p>
            {heap?.failed && !heap.failed.is_too_much && <p class="problem" role="alert">Out of memory: the allocator had nothing for {bytes(heap.failed.bytes)} after {time(heap.failed.at)}. <Jump to="heap">What was live then</Jump></p>}
            <dl class="tiles">
                {tiles(report).map((t) => (
                    <div class="tile" key={t.label}>
                        <dt><Term tip={t.tip}>{t.label}</Term></dt>
                        <dd class="big"><span>{t.q.value}</span> <span class="unit">{t.q.unit}</span></dd>
                        <dd class="muted">{t.to ? <Jump to={t.to}>{t.sub}</Jump> : t.sub}</dd>
                    </div>
                ))}
            </dl>
            {warnings.length > 0 && (
                <details class="warnings" open={warnings.length <= 2}>
                    <summary>{many(warnings.length, "warning")}: how far to believe these data</summary>
                    <ul>{warnings.map((w, i) => <li key={i}>{warningText(w)}</li>)}</ul>
                </details>
            )}
            {findings.length > 0 && (
                <>
                    <h2 class="findings-title"><Term tip={`Ranked by the wall time that fixing each would give back, of ${time(run.duration_ns)}. Savings do not add up to more than that.`}>Findings</Term></h2>
                    <ol class="findings">
                        {shown.map((f, i) => <FindingCard key={i} report={report} store={store} f={f} rank={i + 1} tl={tl} />)}
                    </ol>
                    {findings.length > 3 && (
                        <button class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Show the first three" : `Show ${findings.length - 3} more`}</button>
                    )}
                </>
            )}
        </section>
    );
}
