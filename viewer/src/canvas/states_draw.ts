// SPDX-License-Identifier: MIT OR Apache-2.0
// The strip below a thread's slices: how much of each pixel it ran (filled),
// wanted a processor (striped) and waited (left open). So the height tells what
// the colours tell, also where a pixel holds many changes.
import {READY, WAITING, type ThreadStates} from "../data/states";
import {type LaneBox} from "./lane_draw";
import {type Timeline} from "./timeline";

export const STRIP = 7;

let striped: {color: string; pattern: CanvasPattern | null} = {color: "", pattern: null};

function stripes(ctx: CanvasRenderingContext2D, color: string): CanvasPattern | string {
    if (striped.color !== color) {
        const c = document.createElement("canvas");
        c.width = c.height = 4;
        const to = c.getContext("2d")!;
        to.fillStyle = color;
        to.fillRect(0, 0, 2, 4);
        striped = {color, pattern: ctx.createPattern(c, "repeat")};
    }
    return striped.pattern ?? color;
}

/** Where the strip of a lane begins, from the lane's top. */
export function stripTop(lane: {kind: string; rows: number; rowHeight: number; h: number}): number {
    return lane.kind === "states" ? (lane.h - STRIP) / 2 : lane.rows * lane.rowHeight + 1;
}

/** Whole pixels of a share; what is there at all is to be seen. */
function pixels(share: number): number {
    return share > 0.02 ? Math.max(1, Math.round(share * STRIP)) : 0;
}

export function drawStates(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox): void {
    const states = box.lane.states!;
    const y = Math.round(box.y + stripTop(box.lane));
    const from = Math.max(Math.floor(box.x), Math.floor(tl.x(states.life[0])));
    const to = Math.min(Math.ceil(tl.width), Math.ceil(tl.x(states.life[1])));
    ctx.fillStyle = tl.theme.line;
    if (to > from) ctx.fillRect(from, y + STRIP - 1, to - from, 1);
    let begin = from, ran = -1, ready = -1;
    for (let x = from; x <= to; x++) {
        const [r, q] = x < to ? heights(states, tl.timeAt(x), tl.timeAt(x + 1)) : [-1, -1];
        if (r === ran && q === ready) continue;
        // equal columns are one box
        if (ran > 0) {
            ctx.fillStyle = tl.theme.running;
            ctx.fillRect(begin, y + STRIP - ran, x - begin, ran);
        }
        if (ready > 0) {
            ctx.fillStyle = stripes(ctx, tl.theme.ready);
            ctx.fillRect(begin, y + STRIP - ran - ready, x - begin, ready);
        }
        [begin, ran, ready] = [x, r!, q!];
    }
}

function heights(states: ThreadStates, a: number, b: number): [number, number] {
    const sums = states.sums(a, b), all = sums[0] + sums[WAITING] + sums[READY];
    if (!all) return [0, 0];
    const ready = pixels(sums[READY] / all);
    return [Math.min(STRIP - ready, pixels(sums[0] / all)), ready];
}
