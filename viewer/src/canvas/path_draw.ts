// SPDX-License-Identifier: MIT OR Apache-2.0
// The critical path as a row of the timeline: each pixel has what is on the path
// in its middle. Work has the colour of its operation.
import {type PathReader} from "../data/path";
import {type LaneBox} from "./lane_draw";
import {css, nameColor} from "./palette";
import {fit, SLICE_FONT} from "./text";
import {type Timeline} from "./timeline";

export const PATH_HEIGHT = 20;
const NO_CPU = 2, NOTHING = -1;

export function drawPath(tl: Timeline, ctx: CanvasRenderingContext2D, box: LaneBox, reader: PathReader): void {
    const {theme, report} = tl, y = box.y + 2, h = box.lane.h - 4;
    const colors = new Map<number, string>();
    const workColor = (name: number): string => {
        let c = colors.get(name);
        if (c === undefined) colors.set(name, (c = css(nameColor(report.text(name), report.categoryOf[name] ?? 0, theme.dark))));
        return c;
    };
    const put = (a: number, b: number, kind: number, name: number): void => {
        if (kind === NOTHING) return;
        ctx.fillStyle = kind === 0 ? workColor(name) : kind === NO_CPU ? theme.ready : theme.idle;
        ctx.fillRect(a, y, b - a - (b - a > 3 ? 1 : 0), h);
        const text = b - a < 26 ? "" : fit(ctx, kind === NO_CPU ? "no processor" : report.label(name), b - a - 8);
        ctx.fillStyle = kind === 0 ? theme.onSlice : kind === NO_CPU ? theme.panel : theme.muted;
        if (text) ctx.fillText(text, a + 4, box.y + box.lane.h / 2 + 0.5);
    };
    ctx.font = SLICE_FONT;
    ctx.textBaseline = "middle";
    let begin = Math.round(box.x), kind = NOTHING, name = NOTHING;
    for (let x = begin; x <= tl.width; x++) {
        const at = x < tl.width ? reader.at(tl.timeAt(x + 0.5)) : null;
        const k = at?.kind ?? NOTHING, n = at?.name ?? NOTHING;
        if (k === kind && n === name && x < tl.width) continue;
        put(begin, x, kind, name); // equal pixels are one box
        [begin, kind, name] = [x, k, n];
    }
}
