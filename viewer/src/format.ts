// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers as people read them: every one with its unit. Three significant
// digits, except where a scale asks for more (axis labels).

export interface Quantity {
    value: string;
    unit: string;
}

const TIME: [number, string][] = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

/** Three significant digits, without an exponent. */
export function digits(x: number): string {
    const a = Math.abs(x);
    if (a >= 99.95 || x === 0) return Math.round(x).toString();
    if (a >= 9.995) return x.toFixed(1);
    return x.toFixed(2);
}

export function timeParts(ns: number): Quantity {
    if (!Number.isFinite(ns)) return {value: "–", unit: ""};
    const a = Math.abs(ns);
    if (a >= 86400e9) return {value: digits(ns / 86400e9), unit: "days"};
    if (a >= 3600e9) return {value: digits(ns / 3600e9), unit: "h"};
    if (a >= 300e9) return {value: digits(ns / 60e9), unit: "min"};
    let i = 0;
    while (i < 3 && a >= TIME[i + 1]![0] * 0.9995) i++;
    if (i === 0) return {value: String(Math.round(ns)), unit: "ns"};
    return {value: digits(ns / TIME[i]![0]), unit: TIME[i]![1]};
}

export function time(ns: number): string {
    const q = timeParts(ns);
    return q.unit ? `${q.value} ${q.unit}` : q.value;
}

/** A difference, with its sign. */
export function signedTime(ns: number): string {
    return (ns < 0 ? "−" : "+") + time(Math.abs(ns));
}

/** Every digit that there is. */
export function exactTime(ns: number): string {
    return `${group(Math.round(ns))} ns`;
}

export function bytesParts(b: number): Quantity {
    if (!Number.isFinite(b)) return {value: "–", unit: ""};
    const units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let i = 0;
    let x = Math.abs(b);
    while (x >= 1023.5 && i < 5) x /= 1024, i++;
    return {value: (b < 0 ? "−" : "") + (i ? digits(x) : String(Math.round(x))), unit: units[i]!};
}

export function bytes(b: number): string {
    const q = bytesParts(b);
    return q.unit ? `${q.value} ${q.unit}` : q.value;
}

export function group(n: number): string {
    return Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** 1,234 or 5.2 M. */
export function count(n: number): string {
    if (n < 1e5) return group(n);
    const [d, u] = n < 1e6 ? [1e3, "k"] : n < 1e9 ? [1e6, "M"] : [1e9, "G"];
    return `${digits(n / (d as number))} ${u}`;
}

/** 1 call, 2 calls. */
export function many(n: number, one: string): string {
    return `${count(n)} ${one}${n === 1 ? "" : "s"}`;
}

export function percent(share: number): string {
    if (!Number.isFinite(share)) return "–";
    const p = share * 100;
    if (p !== 0 && Math.abs(p) < 0.1) return p < 0 ? "> −0.1 %" : "< 0.1 %";
    return `${Math.abs(p) < 99.95 ? p.toFixed(1) : Math.round(p)} %`;
}

/** Rates and other plain numbers with SI prefixes: 1.72 TFLOP/s. */
export function rate(perSecond: number, unit: string): string {
    const q = rateParts(perSecond, unit);
    return q.unit ? `${q.value} ${q.unit}` : q.value;
}

export function rateParts(x: number, unit: string): Quantity {
    if (!Number.isFinite(x)) return {value: "–", unit: ""};
    if (Math.abs(x) >= 1e21) return {value: x.toExponential(2), unit};
    const prefixes = ["", "k", "M", "G", "T", "P", "E"];
    let i = 0;
    let a = Math.abs(x);
    while (a >= 999.5 && i < 6) a /= 1000, i++;
    return {value: (x < 0 ? "−" : "") + digits(a), unit: prefixes[i] + unit};
}

export function plain(x: number): string {
    if (!Number.isFinite(x)) return "–";
    const a = Math.abs(x);
    if (a >= 1e5) return rateParts(x, "").value + " " + rateParts(x, "").unit;
    if (a >= 100 || Number.isInteger(x)) return group(x).replace(/^-/, "−");
    return a < 0.01 && a > 0 ? x.toPrecision(2) : digits(x);
}

/** How values of a counter are written: its name may say what they are. */
export function valueFormat(counter: string): (x: number) => string {
    return /bytes$/i.test(counter) ? bytes : /_ns$/.test(counter) ? time : plain;
}

const STEPS = [1, 2, 5];

/** A round step so that about `n` of them make up `span`. */
export function niceStep(span: number, n: number): number {
    const raw = span / Math.max(1, n);
    const p = 10 ** Math.floor(Math.log10(raw));
    for (const s of STEPS) if (s * p >= raw) return s * p;
    return 10 * p;
}

const LONG: [number, string, number[]][] = [[60e9, "min", [1, 2, 5, 10, 30]], [3600e9, "h", [1, 2, 6, 12]], [86400e9, "days", []]];

/** The same in a unit that a clock has. */
export function timeStep(span: number, n: number): number {
    const raw = span / Math.max(1, n);
    if (raw < 30e9) return niceStep(span, n);
    for (const [unit, , steps] of LONG) for (const s of steps) if (s * unit >= raw) return s * unit;
    return niceStep(span / 86400e9, n) * 86400e9;
}

/** A time on an axis whose ticks are `step` apart: as precise as needed. */
export function axisTime(ns: number, step: number): string {
    if (ns === 0) return "0";
    const a = Math.abs(ns);
    if (step >= 60e9) {
        const [unit, word] = LONG.findLast((l) => l[0] <= step)!;
        return `${group(ns / unit)} ${word}`;
    }
    const [d, u] = a >= 1e9 ? [1e9, "s"] : a >= 1e6 ? [1e6, "ms"] : a >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const places = Math.max(0, Math.min(9, Math.ceil(Math.log10((d as number) / step) - 1e-9)));
    const [whole, part] = (ns / (d as number)).toFixed(places).split(".");
    return `${whole!.replace(/\B(?=(\d{3})+$)/g, ",")}${part ? `.${part}` : ""} ${u}`;
}

/** 2031-05-06T14:03:11Z, for people. */
export function startedText(iso: string): string {
    return iso.replace("T", " ").replace("Z", " UTC");
}

/** A name as a label: bounded, on one line, never empty. */
export function label(text: string, max = 160): string {
    let s = text.length > max * 2 ? text.slice(0, max * 2) : text;
    // control characters, and those that turn the writing direction of all that follows
    s = s.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "␣");
    if (s.length > max) s = cut(s, max - 1) + "…";
    return s === "" ? "(empty)" : s;
}

/** The first n units of a text, without half a character at the end. */
export function cut(s: string, n: number): string {
    const c = s.charCodeAt(n - 1);
    return s.slice(0, c >= 0xd800 && c < 0xdc00 ? n - 1 : n);
}
