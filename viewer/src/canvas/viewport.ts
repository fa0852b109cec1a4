// SPDX-License-Identifier: MIT OR Apache-2.0
// The window on a line of numbers (time, or weight in a flame graph) that
// zooming and panning move. Timeline and flame graph share it.

export class Viewport {
    from = 0;
    to = 1;

    constructor(public min: number, public max: number, public leastSpan: number) {
        this.set(min, max);
    }

    get span(): number {
        return this.to - this.from;
    }

    set(from: number, to: number): void {
        const room = (this.max - this.min) * 0.02;
        const lo = this.min - room, hi = this.max + room;
        let span = Math.max(to - from, this.leastSpan);
        const mid = (from + to) / 2;
        span = Math.min(span, hi - lo);
        from = mid - span / 2;
        if (from < lo) from = lo;
        if (from + span > hi) from = hi - span;
        this.from = from;
        this.to = from + span;
    }

    pan(by: number): void {
        this.set(this.from + by, this.to + by);
    }

    /** factor > 1 shows more detail; `at` stays where it is. */
    zoom(at: number, factor: number): void {
        const span = Math.max(this.leastSpan, this.span / factor);
        const share = (at - this.from) / this.span;
        this.set(at - share * span, at - share * span + span);
    }

    x(value: number, width: number): number {
        return ((value - this.from) / this.span) * width;
    }

    at(x: number, width: number): number {
        return this.from + (x / width) * this.span;
    }
}
