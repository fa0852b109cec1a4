// SPDX-License-Identifier: MIT OR Apache-2.0
// The image that the rows of slices are painted into: a line of pixels a row.
// While a person pans, the lines only move: what was painted is shifted, and
// the columns that came into view are painted anew. So panning costs the same
// at a thousand events and at five million.
import {type Row} from "../data/trace";
import {type Window} from "./painter";

export type PaintLine = (row: Row, w: Window, out: Uint32Array, base: number) => void;

export class Strip {
    #image: ImageData | null = null;
    #pixels = new Uint32Array(0);
    #rows: Row[] = [];
    #scale = 0;
    #left = 0; // column of the grid that stands at x = 0
    #style = -1;
    readonly canvas = document.createElement("canvas");

    /** `style` changes when the same slice would look different. */
    paint(rows: Row[], w: Window, style: number, bg: number, line: PaintLine): void {
        const {width} = w;
        const fresh = this.#ensure(width, rows.length);
        const column = Math.round(w.t0 * w.scale);
        const shift = column - this.#left;
        const isSame = !fresh && style === this.#style && Math.abs(this.#scale / w.scale - 1) < 1e-9 && rows.length === this.#rows.length &&
            rows.every((r, k) => r === this.#rows[k]) && Math.abs(shift) < width && Math.abs(column) < 2 ** 50;
        if (isSame) w = {...w, scale: this.#scale};
        rows.forEach((row, k) => {
            const base = k * width;
            if (!isSame) this.#columns(row, w, bg, line, base, 0, width);
            else if (shift > 0) {
                this.#pixels.copyWithin(base, base + shift, base + width);
                this.#columns(row, w, bg, line, base, width - shift, width);
            } else if (shift < 0) {
                this.#pixels.copyWithin(base - shift, base, base + width + shift);
                this.#columns(row, w, bg, line, base, 0, -shift);
            }
        });
        this.#rows = rows.slice();
        this.#scale = w.scale;
        this.#left = column;
        this.#style = style;
        this.canvas.getContext("2d")!.putImageData(this.#image!, 0, 0, 0, 0, width, rows.length);
    }

    #ensure(width: number, lines: number): boolean {
        if (this.#image && this.#image.width === width && this.#image.height >= lines) return false;
        this.#image = new ImageData(width, Math.max(48, lines));
        this.#pixels = new Uint32Array(this.#image.data.buffer);
        this.canvas.width = width;
        this.canvas.height = this.#image.height;
        return true;
    }

    #columns(row: Row, w: Window, bg: number, line: PaintLine, base: number, from: number, to: number): void {
        this.#pixels.fill(bg, base + from, base + to);
        line(row, {t0: w.t0 + from / w.scale, scale: w.scale, width: to - from}, this.#pixels, base + from);
    }
}
