// SPDX-License-Identifier: MIT OR Apache-2.0
// uPlot as a component: built anew when the data, the width or the theme
// change, since it takes its colours once.
import {type JSX} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import uPlot from "uplot";
import {readTheme, type Theme} from "../canvas/palette";
import {axisTime, niceStep, timeStep} from "../format";
import {useStore, type Store} from "../state";

interface Props {
    store: Store;
    data: uPlot.AlignedData;
    height: number;
    label: string;
    /** Series, bands and the like in the theme's colours. */
    options: (theme: Theme) => Pick<uPlot.Options, "series"> & Partial<uPlot.Options>;
    formatY: (v: number) => string;
    onCursor?: (x: number | null) => void;
    onClick?: (x: number) => void;
    fromZero?: boolean;
    /** The x axis is the run's time, from 0 to this. */
    xMax?: number;
    /** Ticks at powers of two: bytes. */
    binary?: boolean;
    formatX?: (v: number, step: number) => string;
}

/** Steps between ticks: 1, 2, 5, 10 … */
const ROUND = Array.from({length: 90}, (_, k) => [1, 2, 5][k % 3]! * 10 ** (Math.floor(k / 3) - 9));

/** Room for the labels of an axis. */
function axisSize(u: uPlot, texts: string[] | null): number {
    if (!texts) return 50;
    u.ctx.save();
    u.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    const widest = Math.max(...texts.map((t) => u.ctx.measureText(t ?? "").width)) / devicePixelRatio;
    u.ctx.restore();
    return Math.ceil(widest) + 16;
}

export function Plot(props: Props): JSX.Element {
    const box = useRef<HTMLDivElement>(null);
    const [width, setWidth] = useState(0);
    const dark = useStore(props.store, (s) => s.dark);
    const latest = useRef(props);
    latest.current = props;

    useEffect(() => {
        const observer = new ResizeObserver(() => setWidth(box.current!.clientWidth));
        observer.observe(box.current!);
        return () => observer.disconnect();
    }, []);

    useEffect(() => {
        if (width < 50) return;
        const colors = readTheme();
        const axis = {stroke: colors.muted, font: "11px system-ui, sans-serif", grid: {stroke: colors.line, width: 1}, ticks: {stroke: colors.line, width: 1, size: 4}};
        const isWhole = !props.data.slice(1).some((s) => (s as number[]).some((v) => !Number.isInteger(v)));
        const formatX = props.formatX ?? axisTime;
        const u = new uPlot({
            width, height: props.height, legend: {show: false}, padding: [8, 12, 0, 0],
            cursor: {drag: {x: false, y: false}, y: false, points: {show: false}},
            scales: {x: {time: false, ...(props.xMax ? {range: (): [number, number] => [0, props.xMax!]} : {})}, ...(props.fromZero ? {y: {range: (_u: uPlot, _lo: number, hi: number): [number, number] => [0, hi * 1.06 || 1]}} : {})},
            axes: [
                {...axis, values: (_u, ticks) => ticks.map((t) => formatX(t, ticks.length > 1 ? ticks[1]! - ticks[0]! : 1)), space: 90, size: 26, splits: (u2) => splits(u2.scales.x!.min!, u2.scales.x!.max!, u2.width / 110, props.formatX ? niceStep : timeStep)},
                {...axis, values: (_u, ticks) => ticks.map((t) => (t ? props.formatY(t) : "0")), size: (u2, texts) => axisSize(u2, texts), space: 34, incrs: ROUND.filter((x) => x >= 1 || !isWhole), ...(props.binary ? {splits: (u2: uPlot) => binarySplits(u2.scales.y!.max!, props.height / 44)} : {})},
            ],
            hooks: {draw: [(u2) => box.current?.parentElement!.style.setProperty("--inset", `${u2.bbox.left / devicePixelRatio}px`)], setCursor: [(u2) => latest.current.onCursor?.(u2.cursor.left! >= 0 ? u2.posToVal(u2.cursor.left!, "x") : null)]},
            ...props.options(colors),
        }, props.data, box.current!);
        const click = (): void => {
            if (u.cursor.left! >= 0) latest.current.onClick?.(u.posToVal(u.cursor.left!, "x"));
        };
        u.over.addEventListener("click", click);
        return () => u.destroy();
    }, [props.data, width, dark, props.height]);
    return <div ref={box} class="plot" role="img" aria-label={props.label} style={{height: `${props.height}px`}} />;
}

function binarySplits(max: number, n: number): number[] {
    const step = 2 ** Math.ceil(Math.log2(Math.max(1, max) / Math.max(2, n)));
    const out: number[] = [];
    for (let t = 0; t <= max; t += step) out.push(t);
    return out;
}

function splits(min: number, max: number, n: number, round: (span: number, n: number) => number): number[] {
    const step = Math.max(1, round(max - min, Math.max(2, n)));
    const out: number[] = [];
    for (let t = Math.ceil(min / step) * step; t <= max; t += step) out.push(t);
    return out;
}
