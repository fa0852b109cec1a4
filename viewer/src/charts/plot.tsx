// SPDX-License-Identifier: MIT OR Apache-2.0
// Curves over one x axis, on a canvas: axes with round ticks, areas, and a line
// under the pointer. Drawn anew when the data, the width or the theme change;
// few thousand points at most, since the writer has reduced them.
import {type JSX} from "preact";
import {useEffect, useLayoutEffect, useRef, useState} from "preact/hooks";
import {readTheme, type Theme} from "../canvas/palette";
import {SLICE_FONT, sizeCanvas, widthOf} from "../canvas/text";
import {axisTime, niceStep, timeStep} from "../format";
import {useStore, type Store} from "../state";

export interface Curve {
    x?: ArrayLike<number>; // left out: the plot's
    y: ArrayLike<number>;
    color: string;
    fill?: string; // down to 0; what was drawn before is covered
}

interface Props {
    store: Store;
    x: ArrayLike<number>;
    /** In the theme's colours, what lies behind first. */
    curves: (theme: Theme) => Curve[];
    height: number;
    label: string;
    formatY: (v: number) => string;
    onClick?: (x: number) => void;
    /** A value holds until the next; else straight lines lead there. */
    stepped?: boolean;
    dots?: boolean;
    fromZero?: boolean;
    /** The x axis is the run's time, from 0 to this. */
    xMax?: number;
    /** Ticks at powers of two: bytes. */
    binary?: boolean;
    formatX?: (v: number, step: number) => string;
}

interface Axis {
    low: number;
    high: number;
    ticks: number[];
    texts: string[];
}

const TOP = 8, BOTTOM = 26, RIGHT = 12;

function makeAxis(low: number, high: number, step: number, format: (v: number, step: number) => string): Axis {
    const ticks: number[] = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high; k++) ticks.push(k * step);
    return {low, high, ticks, texts: ticks.map((t) => format(t, step))};
}

function yAxis(p: Props, curves: Curve[]): Axis {
    let low = Infinity, high = -Infinity, isWhole = true;
    for (const c of curves) {
        for (let i = 0; i < c.y.length; i++) {
            const v = c.y[i]!;
            if (v < low) low = v;
            if (v > high) high = v;
            isWhole &&= Number.isInteger(v);
        }
    }
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    if (p.fromZero || (low >= 0 && low < room)) [low, high] = [0, high * 1.06 || 1];
    else [low, high] = [low - room, high + room];
    const n = p.height / 36;
    const step = p.binary ? 2 ** Math.ceil(Math.log2(Math.max(1, high) / Math.max(2, n))) : niceStep(high - low, n);
    return makeAxis(low, high, isWhole ? Math.max(1, step) : step, (v) => (v ? p.formatY(v) : "0"));
}

function xAxis(p: Props, width: number): Axis {
    const low = p.xMax ? 0 : p.x[0] ?? 0, high = p.xMax || p.x[p.x.length - 1] || 0;
    const n = Math.max(2, width / 110), span = high - low || 1;
    return makeAxis(low, low + span, Math.max(1, (p.formatX ? niceStep : timeStep)(span, n)), p.formatX ?? axisTime);
}

/** Draws everything; gives the axis that a place on the canvas is on, and where it begins. */
function draw(canvas: HTMLCanvasElement, width: number, p: Props): {axis: Axis; left: number} {
    const theme = readTheme(), curves = p.curves(theme);
    const ctx = sizeCanvas(canvas, width, p.height);
    ctx.clearRect(0, 0, width, p.height);
    ctx.font = SLICE_FONT;
    const y = yAxis(p, curves), axis = xAxis(p, width);
    const left = Math.ceil(Math.max(...y.texts.map((t) => widthOf(ctx, t)))) + 14;
    const px = (v: number): number => left + ((v - axis.low) / (axis.high - axis.low)) * (width - left - RIGHT);
    // on whole pixels: most of a stepped curve is level
    const py = (v: number): number => Math.round(p.height - BOTTOM - ((v - y.low) / (y.high - y.low)) * (p.height - BOTTOM - TOP)) + 0.5;
    drawTicks(ctx, theme, y, axis, {left, width, height: p.height, px, py});
    ctx.lineWidth = 1.2;
    ctx.lineJoin = "round";
    for (const c of curves) drawCurve(ctx, p, c, px, py);
    return {axis, left};
}

interface Frame {
    left: number;
    width: number;
    height: number;
    px: (v: number) => number;
    py: (v: number) => number;
}

function drawTicks(ctx: CanvasRenderingContext2D, theme: Theme, y: Axis, x: Axis, f: Frame): void {
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    const line = (a: number, b: number, w: number, h: number): void => {
        ctx.fillStyle = theme.line;
        ctx.fillRect(Math.round(a), Math.round(b), w, h);
        ctx.fillStyle = theme.muted;
    };
    y.ticks.forEach((t, i) => {
        line(f.left - 4, f.py(t), f.width - RIGHT - f.left + 4, 1);
        ctx.fillText(y.texts[i]!, f.left - 8, f.py(t));
    });
    ctx.textAlign = "center";
    x.ticks.forEach((t, i) => {
        line(f.px(t), TOP, 1, f.height - BOTTOM - TOP + 4);
        // the last one stays inside
        ctx.fillText(x.texts[i]!, Math.min(f.px(t), f.width - 2 - widthOf(ctx, x.texts[i]!) / 2), f.height - BOTTOM + 14);
    });
}

function drawCurve(ctx: CanvasRenderingContext2D, p: Props, c: Curve, px: (v: number) => number, py: (v: number) => number): void {
    const xs = c.x ?? p.x, n = xs.length;
    if (!n) return;
    ctx.beginPath();
    ctx.strokeStyle = c.color;
    for (let i = 0; i < n; i++) {
        const x = px(xs[i]!);
        if (p.stepped && i) ctx.lineTo(x, py(c.y[i - 1]!));
        ctx.lineTo(x, py(c.y[i]!));
    }
    const end = px(p.stepped && p.xMax ? p.xMax : xs[n - 1]!);
    ctx.lineTo(end, py(c.y[n - 1]!));
    ctx.stroke();
    if (c.fill) {
        ctx.lineTo(end, py(0));
        ctx.lineTo(px(xs[0]!), py(0));
        ctx.fillStyle = c.fill;
        ctx.fill();
    }
    ctx.fillStyle = c.color;
    if (p.dots) for (let i = 0; i < n; i++) ctx.fillRect(px(xs[i]!) - 1.5, py(c.y[i]!) - 1.5, 3, 3);
}

export function Plot(props: Props): JSX.Element {
    const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), cursor = useRef<HTMLSpanElement>(null);
    const at = useRef<(x: number) => number>(() => NaN);
    const [width, setWidth] = useState(0);
    const dark = useStore(props.store, (s) => s.dark);
    useEffect(() => {
        const observer = new ResizeObserver(() => setWidth(box.current!.clientWidth));
        observer.observe(box.current!);
        return () => observer.disconnect();
    }, []);
    useLayoutEffect(() => {
        if (width < 50) return;
        const {axis, left} = draw(canvas.current!, width, props);
        at.current = (x) => (x < left ? NaN : axis.low + ((x - left) / (width - left - RIGHT)) * (axis.high - axis.low));
        box.current!.parentElement!.style.setProperty("--inset", `${left}px`);
    }, [props.x, width, dark, props.height]);
    const place = (e: MouseEvent): number => e.clientX - box.current!.getBoundingClientRect().left;
    return (
        <div ref={box} class="plot" role="img" aria-label={props.label} style={{height: `${props.height}px`}}
            onMouseMove={(e) => {
                cursor.current!.hidden = Number.isNaN(at.current(place(e)));
                cursor.current!.style.left = `${place(e)}px`;
            }}
            onMouseLeave={() => { cursor.current!.hidden = true; }} onClick={(e) => { const x = at.current(place(e)); if (x >= 0) props.onClick?.(x); }}>
            <canvas ref={canvas} /><span ref={cursor} class="plot-cursor" hidden />
        </div>
    );
}
