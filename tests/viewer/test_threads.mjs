// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads as the scheduler saw them: the strip on the timeline, the tables.
import {execFileSync} from "node:child_process";
import path from "node:path";
import {assert, eventually, test} from "./harness.mjs";
import {states} from "./scenarios.mjs";

/** How long a thread was in each state from a to b, by definition. */
function wanted(run, thread, a, b) {
    const out = [b - a, 0, 0];
    for (const [t, begin, dur, state] of run.states) {
        const inside = t === thread ? Math.max(0, Math.min(b, begin + dur) - Math.max(a, begin)) : 0;
        out[0] -= inside;
        out[state] += inside;
    }
    return out;
}

test("states of a range are the plain sums", "quick", async (bench) => {
    const run = states();
    const page = await bench.openRun("states", run);
    const ranges = [[0, 50e6], [1, 2], [10e6, 10.1e6], [3333333, 44444444], [49e6, 50e6], ...run.states.slice(100, 110).map((s) => [s[1], s[1] + s[2]]), ...run.states.slice(50, 55).map((s) => [s[1] + 1, s[1] + s[2] + 5000])];
    for (const [a, b] of ranges) {
        const got = await page.evaluate(([x, y]) => [0, 1, 2, 3].map((k) => window.axprofTimeline.report.states.get(k).sums(x, y)), [a, b]);
        assert.deepEqual(got, [0, 1, 2, 3].map((k) => wanted(run, k, a, b)), `${a} to ${b}`);
    }
    const at = await page.evaluate((t) => window.axprofTimeline.report.states.get(0).at(t), run.states[3][1]);
    assert.deepEqual(at, {state: run.states[3][3], from: run.states[3][1], to: run.states[3][1] + run.states[3][2]});
});

test("each thread has its strip, filled where it ran and open where it waited", "quick", async (bench) => {
    const run = states(20);
    const page = await bench.openRun("states20", run);
    await page.getByRole("list", {name: /States of threads/}).getByText("wants a processor").waitFor();
    const labels = await page.locator(".lane-label").allInnerTexts();
    assert.deepEqual(labels.map((l) => l.split("\n")[0].replace("▾ ", "")), ["worker/5000", "worker/5001", "loader", "spinner"]);
    // Count the filled pixels of each strip: as many as it ran, to a few.
    const shares = await page.evaluate(() => {
        const tl = window.axprofTimeline, c = tl.parts.base, k = c.width / tl.width;
        const [r, g, b] = tl.theme.running.match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16));
        const all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        return tl.lanes.filter((l) => l.states).map((l) => {
            const y = Math.round((l.y + (l.kind === "states" ? l.h / 2 : l.rows * l.rowHeight + 4)) * k);
            const d = all.subarray(4 * (y * c.width + Math.round(tl.gutter * k)), 4 * (y + 1) * c.width);
            let n = 0;
            for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 20) n++;
            return n / (d.length / 4);
        });
    });
    shares.forEach((share, k) => {
        const want = wanted(run, k, 0, 50e6)[0] / 50e6;
        assert.ok(Math.abs(share - want) < 0.04, `thread ${k}: ${share} of the strip is filled, it ran ${want}`);
    });
});

test("a strip answers the pointer, and a stretch of it is a range", "quick", async (bench) => {
    const run = states(20);
    const page = await bench.openRun("states20", run, {context: {reducedMotion: "reduce"}});
    await page.evaluate(() => document.getElementById("timeline").scrollIntoView());
    const [, begin, dur, state] = run.states.find((s) => s[0] === 2 && s[2] > 1e6);
    const at = await page.evaluate((t) => {
        const tl = window.axprofTimeline, c = tl.parts.base.getBoundingClientRect(), l = tl.lanes.find((x) => x.label === "loader");
        return {x: c.left + tl.x(t), y: c.top + l.y + l.h / 2};
    }, begin + dur / 2);
    await page.mouse.move(at.x, at.y);
    await page.locator(".tl-tip strong", {hasText: state === 2 ? "wants a processor for" : "waiting for"}).waitFor();
    await page.mouse.click(at.x, at.y);
    assert.deepEqual(await page.evaluate(() => window.axprofTimeline.store.state.range), [begin, begin + dur]);
    // the table is of that range now
    await page.getByText(/^States are those of the selected/).waitFor();
    const line = page.locator("#threads tbody tr", {hasText: "loader"});
    const cells = await line.locator("td").allInnerTexts();
    assert.equal(cells.filter((c) => /^0\s*ns$/.test(c.trim())).length >= 2, true, cells.join("|"));
});

test("states as a table lead to the timeline, by keyboard", "quick", async (bench) => {
    const run = states();
    const page = await bench.openRun("states", run);
    await page.locator("#threads summary").press("Enter");
    const rows = page.getByRole("region", {name: "Longest times off a processor"}).locator("tbody tr");
    await rows.first().waitFor();
    const longest = [...run.states].sort((a, b) => b[2] - a[2])[0];
    const text = await rows.first().innerText();
    assert.ok(text.includes(longest[3] === 2 ? "wants a processor" : "waiting"), text);
    await rows.first().locator("button").press("Enter");
    await eventually(() => page.evaluate(() => window.axprofTimeline.store.state.range), (r) => r?.[0] === longest[1] && r[1] === longest[1] + longest[2]);
    assert.equal(await page.evaluate(() => document.activeElement.id), "timeline");
    // of whole lives: as the scheduler summed them
    await page.keyboard.press("Escape");
    const spinner = await page.locator("#threads tbody tr", {hasText: "spinner"}).first().innerText();
    assert.match(spinner, /50.0\s*ms/);
});

test("a program that sleeps is seen to wait", "quick", async (bench) => {
    const {axprof} = bench.options;
    if (!axprof) return;
    const trace = path.join(bench.dir, "sleep.axp"), file = path.join(bench.dir, "sleep.html");
    execFileSync(axprof, ["run", "-o", trace, "--", "sleep", "0.4"], {stdio: "ignore"});
    execFileSync(axprof, ["report", trace, "-o", file]);
    const page = await bench.openFile(file);
    const got = await page.evaluate(() => {
        const {report} = window.axprofTimeline;
        return [...report.states].map(([i, s]) => ({name: report.threadName(i), sums: s.sums(0, report.duration)}));
    });
    if (!got.length) return; // the scheduler may not be listened to here
    const waited = Math.max(...got.map((g) => g.sums[1]));
    assert.ok(waited > 0.38e9 && waited < 0.9e9, JSON.stringify(got));
});
