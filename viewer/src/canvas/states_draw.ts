// SPDX-License-Identifier: MIT OR Apache-2.0
// The strip below a thread's slices: how much of each pixel it ran (filled),
// wanted a processor (striped) and waited (left open). So the height tells what
// the colours tell, also where a pixel holds many changes.
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
    let t = Math.max(tl.timeAt(from), states.life[0]), before = states.before(t);
    for (let x = from; x <= to; x++) {
        let r = -1, q = -1;
        if (x < to) {
            const next = Math.min(tl.timeAt(x + 1), states.life[1]), after = states.before(next);
            q = pixels((after[1] - before[1]) / (next - t));
            r = Math.min(STRIP - q, pixels(1 - (after[0] - before[0] + after[1] - before[1]) / (next - t)));
            [t, before] = [next, after];
        }
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
        [begin, ran, ready] = [x, r, q];
    }
}
