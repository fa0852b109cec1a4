// SPDX-License-Identifier: MIT OR Apache-2.0
// The roofline: what operations reach against what the machine allows, on two
// logarithmic axes. A dot is an operation, its area the time spent in it.
import {type JSX} from "preact";
import {useMemo} from "preact/hooks";
import {nameColor, css} from "../canvas/palette";
import {type Machine} from "../data/meta";
import {type Op, type Report} from "../data/report";
import {label, percent, plain, rate, time} from "../format";
import {useStore, type Store} from "../state";
import {useScope} from "./operations";
import {Name, Section, useWidth} from "./parts";
import {DataTable, rateColumn, shareColumn, timeColumn, type Column} from "./table";

const LEFT = 66, BOTTOM = 38, TOP = 16, RIGHT = 16;

interface Frame {
    W: number;
    H: number;
    x: (v: number) => number;
    y: (v: number) => number;
    xs: number[];
    ys: number[];
    minX: number;
    maxX: number;
    minY: number;
}

function decades(lo: number, hi: number): number[] {
    const out: number[] = [];
    for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) out.push(10 ** e);
    return out;
}

function atLeastDecade(lo: number, hi: number): [number, number] {
    const more = Math.max(0, 1.2 - Math.log10(hi / lo)) / 2;
    return [lo / 10 ** more, hi * 10 ** more];
}

function frameFor(W: number, ops: Op[], peaks: number[], bws: number[]): Frame {
    const H = Math.round(Math.min(440, Math.max(260, W * 0.42)));
    const xsAll = ops.map((o) => o.intensity).concat(peaks.length && bws.length ? [peaks[0]! / bws[0]!] : []);
    const ysAll = ops.map((o) => o.gflops).concat(peaks);
    const [loX, hiX] = atLeastDecade(Math.min(...xsAll) / 2, Math.max(...xsAll) * 3);
    const [loY, hiY] = atLeastDecade(Math.min(...ysAll) / 2, Math.max(...ysAll) * 1.6);
    const lx = Math.log10(loX), sx = Math.log10(hiX) - lx || 1, ly = Math.log10(loY), sy = Math.log10(hiY) - ly || 1;
    return {
        W, H,
        x: (v) => LEFT + ((Math.log10(v) - lx) / sx) * (W - LEFT - RIGHT),
        y: (v) => H - BOTTOM - ((Math.log10(v) - ly) / sy) * (H - BOTTOM - TOP),
        xs: decades(loX, hiX).filter((v) => v >= loX && v <= hiX), ys: decades(loY, hiY).filter((v) => v >= loY && v <= hiY), minX: loX, maxX: hiX, minY: loY,
    };
}

const LINE = 11, CHARACTER = 6.2; // of small text, in pixels

interface Ceiling {
    text: string;
    x: number;
    y: number;
    shown: boolean; // its text, which would cover another's otherwise
}

interface Slope extends Ceiling {
    from: number; // intensities between which it is drawn
    to: number;
}

/** What of each slope is in the frame; labels of all threads near its foot, of one thread higher. */
function slopesOf(f: Frame, gbps: Machine["gbps"], first: number): Slope[] {
    const out: Slope[] = [], a = (angle(f) * Math.PI) / 180;
    const along = (l: Ceiling): number => l.x * Math.cos(a) + l.y * Math.sin(a), across = (l: Ceiling): number => l.y * Math.cos(a) - l.x * Math.sin(a);
    const covers = (l: Ceiling, m: Ceiling): boolean => Math.abs(across(l) - across(m)) < LINE && along(l) < along(m) + m.text.length * CHARACTER && along(m) < along(l) + l.text.length * CHARACTER;
    for (const [name, bw, peak = first] of gbps.slice(0, 8)) {
        const from = Math.max(f.minX, f.minY / bw), to = Math.min(f.maxX, peak ? peak / bw : f.maxX);
        const at = from * Math.max(1, to / from) ** (peak !== first ? 0.5 : 0.1);
        const l = {text: `${name.slice(0, 30)} ${rate(bw * 1e9, "B/s")}`, x: f.x(at), y: f.y(at * bw) - 6, shown: true, from, to};
        l.shown = to > from && l.y + Math.sin(a) * l.text.length * CHARACTER > 4 && !out.some((m) => m.shown && covers(l, m));
        out.push(l);
    }
    return out;
}

/** Peaks of one height stand side by side, from the right. */
function flatLabels(f: Frame, gflops: Machine["gflops"]): Ceiling[] {
    const out: Ceiling[] = [];
    for (const [name, v] of gflops.slice(0, 6)) {
        const text = `${name.slice(0, 30)} ${rate(v * 1e9, "FLOP/s")}`, y = f.y(v) - 5;
        const beside = out.filter((l) => Math.abs(l.y - y) < LINE);
        const x = Math.min(f.W - RIGHT, ...beside.map((l) => l.x - l.text.length * CHARACTER - 8));
        out.push({text, x, y, shown: x - text.length * CHARACTER > f.W / 3});
    }
    return out;
}

/** All levels of memory under the peak of as many threads; labels of one thread's lie beside those of all. */
function Ceilings({f, gflops, gbps}: {f: Frame; gflops: Machine["gflops"]; gbps: Machine["gbps"]}): JSX.Element {
    const {W, minX} = f, first = gflops[0]?.[1] ?? NaN;
    const slopes = slopesOf(f, gbps, first), flats = flatLabels(f, gflops);
    return (
        <>
            {slopes.map((l, k) => {
                const [, bw, peak = first] = gbps[k]!;
                return l.to > l.from && (
                    <g key={k} class={peak !== first || k ? "ceiling faint" : "ceiling"}>
                        <line x1={f.x(l.from)} y1={f.y(l.from * bw)} x2={f.x(l.to)} y2={f.y(l.to * bw)} />
                        {l.shown && <text x={l.x} y={l.y} class="small" transform={`rotate(${angle(f)} ${l.x} ${l.y})`}>{l.text}</text>}
                    </g>
                );
            })}
            {flats.map((l, k) => {
                const v = gflops[k]![1];
                return (
                    <g key={k} class={k ? "ceiling faint" : "ceiling"}>
                        <line x1={f.x(Math.max(minX, gbps[0] ? v / gbps[0][1] : minX))} y1={f.y(v)} x2={W - RIGHT} y2={f.y(v)} />
                        {l.shown && <text x={l.x} y={l.y} text-anchor="end" class="small">{l.text}</text>}
                    </g>
                );
            })}
        </>
    );
}

/** Of every slope: the axes are logarithmic. */
function angle(f: Frame): number {
    return (Math.atan2(f.y(10) - f.y(1), f.x(10) - f.x(1)) * 180) / Math.PI;
}

export function Roofline({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const scope = useScope(report, store);
    const [box, width] = useWidth<HTMLDivElement>(1100);
    const op = useStore(store, (s) => s.op);
    const dark = useStore(store, (s) => s.dark);
    const points = useMemo(() => scope.ops.filter((o) => Number.isFinite(o.intensity) && o.intensity > 0 && o.gflops > 0).sort((a, b) => b.total - a.total).slice(0, 400), [scope]);
    const all = useMemo(() => report.ops.some((o) => o.intensity > 0 && o.gflops > 0), []);
    if (!all) return null;
    const m = report.meta.machine;
    const columns: Column<Op>[] = [
        {key: "name", head: "Operation", cell: (o) => <Name report={report} id={o.name} max={70} />, value: (o) => report.label(o.name)},
        timeColumn("total_ns", "Total", (o) => o.total, {tip: "With the scopes inside it."}),
        {key: "intensity", head: "Intensity", num: true, tip: "Floating-point operations per byte moved.", cell: (o) => `${plain(o.intensity)} FLOP/B`, value: (o) => o.intensity, text: (o) => `${plain(o.intensity)} FLOP/B`},
        rateColumn("flops_per_s", "Compute", (o) => o.gflops * 1e9, "FLOP/s", {tip: "Declared work per second of its calls."}),
        rateColumn("bytes_per_s", "Bandwidth", (o) => o.gbps * 1e9, "B/s", {tip: "Declared bytes per second of its calls."}),
        ...(m ? [shareColumn<Op>("roof_share", "Of roof", (o) => o.roof, {tip: "What it reaches of what the lines above allow it."})] : []),
    ];
    if (!points.length) return <Section id="roofline" title="Roofline" note="No operation in the selected range has declared its work."><div ref={box} /></Section>;
    // What takes no time at all would stretch the axes; the table has it.
    const most = Math.max(...points.map((o) => o.total)), dots = points.filter((o) => o.total >= most / 1000);
    const f = frameFor(width - 2, dots, m?.gflops.map((g) => g[1]) ?? [], m?.gbps.map((g) => g[1]) ?? []);
    const {W, H} = f;
    const table = <DataTable caption="Roofline" columns={columns} rows={points} sort="total_ns" id={(o) => o.name} chosen={op >= 0 ? op : undefined} onChoose={(o) => store.chooseOp(o.name)} />;
    // Without a roof few dots say no more than their numbers.
    if (!m && points.length < 3) return <Section id="roofline" title="Roofline" note="The machine's peaks are not known, so there is no roof to compare with."><div ref={box}>{table}</div></Section>;
    const radius = (o: Op): number => 3 + 12 * Math.sqrt(o.total / most);
    return (
        <Section id="roofline" title="Roofline" note={m ? <>Peaks of <bdi>{label(m.name, 80)}</bdi>. Under the slope an operation waits for memory, under the flat line for arithmetic; the distance to the line is what could be gained.</> : "The machine's peaks are not known, so there is no roof; axprof run measures them."}>
            <div ref={box}><svg class="roofline" viewBox={`0 0 ${W} ${H}`} role="group" aria-label="Roofline: compute rate by arithmetic intensity; the table below has the same data">
                {f.xs.map((v) => <g key={v} class="grid"><line x1={f.x(v)} x2={f.x(v)} y1={TOP} y2={H - BOTTOM} /><text x={f.x(v)} y={H - BOTTOM + 14} text-anchor="middle" class="small">{plain(v)}</text></g>)}
                {f.ys.map((v) => <g key={v} class="grid"><line x1={LEFT} x2={W - RIGHT} y1={f.y(v)} y2={f.y(v)} /><text x={LEFT - 6} y={f.y(v) + 4} text-anchor="end" class="small">{rate(v * 1e9, "FLOP/s").replace("FLOP/s", "")}</text></g>)}
                <text x={(LEFT + W - RIGHT) / 2} y={H - 4} text-anchor="middle" class="small">arithmetic intensity, FLOP per byte</text>
                <text x={12} y={(H - BOTTOM) / 2} text-anchor="middle" class="small" transform={`rotate(-90 12 ${(H - BOTTOM) / 2})`}>FLOP/s</text>
                {m && <Ceilings f={f} gflops={m.gflops} gbps={m.gbps} />}
                {dots.map((o) => {
                    const text = `${label(report.label(o.name), 80)}: ${rate(o.gflops * 1e9, "FLOP/s")} at ${plain(o.intensity)} FLOP/B, ${time(o.total)}${Number.isFinite(o.roof) ? `, ${percent(o.roof)} of the roof` : ""}`;
                    return <circle key={o.name} class={`dot ${o.name === op ? "chosen" : op >= 0 ? "faint" : ""}`} cx={f.x(o.intensity)} cy={f.y(o.gflops)} r={radius(o)} fill={css(nameColor(report.text(o.name), o.category, dark))}
                        tabindex={0} role="button" aria-label={text} data-tip={text} onClick={() => store.chooseOp(o.name)} onKeyDown={(e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); store.chooseOp(o.name); } }} />;
                })}
                {placeLabels(report, dots, f, radius, m ? flatLabels(f, m.gflops) : []).map((l) => <text key={l.text} class="dot-label small" x={l.x} y={l.y + 3.5} text-anchor={l.end ? "end" : "start"}>{l.text}</text>)}
            </svg></div>
            <details class="as-table">
                <summary>As a table</summary>
                {table}
            </details>
        </Section>
    );
}

interface DotLabel {
    text: string;
    x: number;
    y: number;
    end: boolean;
}

/** Labels of the largest dots, right or left of them, where they cover nothing. */
function placeLabels(report: Report, points: Op[], f: Frame, radius: (o: Op) => number, flats: Ceiling[]): DotLabel[] {
    const taken: [number, number, number, number][] = points.slice(0, 60).map((o) => {
        const r = radius(o), x = f.x(o.intensity), y = f.y(o.gflops);
        return [x - r, y - r, x + r, y + r];
    });
    for (const l of flats) if (l.shown) taken.push([l.x - l.text.length * CHARACTER, l.y - LINE, l.x, l.y + 3]);
    const out: DotLabel[] = [];
    for (const [k, o] of points.slice(0, 24).entries()) {
        const text = label(report.label(o.name), 26);
        const w = text.length * 6 + 4, y = f.y(o.gflops), r = radius(o) + 4;
        for (const end of [false, true]) {
            const x = f.x(o.intensity) + (end ? -r : r);
            const box: [number, number, number, number] = [end ? x - w : x, y - 7, end ? x : x + w, y + 7];
            if (box[0] < LEFT || box[2] > f.W - RIGHT) continue;
            if (taken.some((t, i) => i !== k && box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) continue;
            taken.push(box);
            out.push({text, x, y, end});
            break;
        }
        if (out.length === 10) break;
    }
    return out;
}
