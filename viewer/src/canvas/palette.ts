// SPDX-License-Identifier: MIT OR Apache-2.0
// Colours of the canvas, for both themes. A category has a hue of its own and
// its names differ in shade; names without one get a hue by their text, so
// that the same operation has the same colour in every report.

export interface Theme {
    dark: boolean;
    bg: string;
    panel: string;
    line: string;
    text: string;
    muted: string;
    accent: string;
    onSlice: string;
    select: string;
    idle: string;
    running: string;
    ready: string;
    /** Packed for ImageData: the background of a row. */
    rowBg: number;
}

const CATEGORY_HUE = [-1, 255, 300, 150, 75, 345, -2, 195, 45];
const FREE_HUES = [235, 25, 160, 285, 95, 350, 205, 55, 315, 130];

function toSrgb(x: number): number {
    const v = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
    return Math.max(0, Math.min(255, Math.round(v * 255)));
}

/** OKLCH to red, green, blue. */
export function oklch(l: number, c: number, hue: number): [number, number, number] {
    const h = (hue * Math.PI) / 180;
    const a = c * Math.cos(h), b = c * Math.sin(h);
    const L = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const M = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const S = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
    return [
        toSrgb(4.0767416621 * L - 3.3077115913 * M + 0.2309699292 * S),
        toSrgb(-1.2684380046 * L + 2.6097574011 * M - 0.3413193965 * S),
        toSrgb(-0.0041960863 * L - 0.7034186147 * M + 1.707614701 * S),
    ];
}

export function pack([r, g, b]: [number, number, number]): number {
    return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

export function css(packed: number): string {
    return `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
}

export function textHash(s: string): number {
    let h = 0x811c9dc5;
    for (let i = 0; i < s.length && i < 256; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193);
    return (h ^ (h >>> 15)) >>> 0;
}

/** The colour of a name, packed. */
export function nameColor(text: string, category: number, dark: boolean): number {
    const h = textHash(text);
    const shade = (h >>> 8) % 5;
    let hue = CATEGORY_HUE[category] ?? -1;
    let chroma = 0.095;
    if (hue === -1) hue = FREE_HUES[h % FREE_HUES.length]!;
    else if (hue === -2) (hue = 250), (chroma = 0.015); // waiting: grey
    else hue += (shade - 2) * 7;
    const l = dark ? 0.44 + shade * 0.028 : 0.76 + shade * 0.026;
    return pack(oklch(l, dark ? chroma * 0.95 : chroma * 0.85, hue));
}

export function categoryColor(category: number, dark: boolean): string {
    const hue = CATEGORY_HUE[category] ?? -1;
    return css(pack(oklch(dark ? 0.6 : 0.68, hue === -2 ? 0.015 : 0.11, hue === -2 ? 250 : hue)));
}

/** Distinct colours for stacked series. */
export function seriesColor(k: number, dark: boolean): number {
    const hue = [255, 75, 150, 300, 25, 195, 345, 110][k % 8]!;
    return pack(oklch(dark ? 0.62 : 0.64, k >= 8 ? 0.06 : 0.12, hue));
}

/** a over b; share 0 … 1 of a. */
export function mix(a: number, b: number, share: number): number {
    const s = Math.round(share * 256), r = 256 - s;
    const lo = (((a & 0xff00ff) * s + (b & 0xff00ff) * r) >>> 8) & 0xff00ff;
    const mid = (((a >>> 8) & 0xff) * s + ((b >>> 8) & 0xff) * r) & 0xff00;
    return (0xff000000 | lo | mid) >>> 0;
}

export function readTheme(): Theme {
    const style = getComputedStyle(document.documentElement);
    const v = (name: string): string => style.getPropertyValue(name).trim();
    const dark = document.documentElement.dataset.theme === "dark";
    const rgb = (hex: string): number => {
        const n = parseInt(hex.slice(1), 16);
        return pack([(n >> 16) & 255, (n >> 8) & 255, n & 255]);
    };
    return {
        dark, bg: v("--bg"), panel: v("--panel"), line: v("--line"), text: v("--text"), muted: v("--muted"), accent: v("--accent"),
        onSlice: dark ? "#f2f3f5" : "#1b1c1f", select: v("--select"), idle: v("--idle"), running: v("--running"), ready: v("--high"), rowBg: rgb(v("--panel")),
    };
}
