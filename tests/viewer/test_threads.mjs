// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads as the scheduler saw them: the strip on the timeline, the tables.
import {execFileSync} from "node:child_process";
import path from "node:path";
import {assert, eventually, test} from "./harness.mjs";
import {handover, states} from "./scenarios.mjs";

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

// ---- the critical path ---------------------------------------------------------------------

test("at each moment the path shows what its thread did", "quick", async (bench) => {
    const run = states(20), MS = 1e6;
    run.path = [[0, 20 * MS, "mostly", 1, 0], [20 * MS, 10 * MS, "mutex wait", 2, 1], [30 * MS, 15 * MS, "mostly", 2, 0], [45 * MS, 1 * MS, "waiting for a CPU", 2, 2], [46.5 * MS, 3.5 * MS, "idle", 0, 3]];
    run.meta.critical_path = {wall_ns: 50 * MS, is_estimate: false, n_unknown_waits: 0, unknown_ns: 0, parts: [{name: "compute", kind: "work", ns: 35 * MS, share: 0.7}, {name: "<idle>", kind: "idle", ns: 15 * MS, share: 0.3}]};
    const page = await bench.openRun("path20", run);
    const times = Array.from({length: 500}, (_, i) => i * 0.1 * MS + 12345);
    const got = await page.evaluate((all) => all.map((t) => {
        const {report} = window.axprofTimeline, at = report.onPath.at(t);
        return at && [at.kind, report.text(at.name)];
    }), times);
    times.forEach((t, i) => {
        const piece = run.path.find((p) => p[0] <= t && t < p[0] + p[1]);
        let want = piece ? [piece[4], piece[2]] : null;
        if (piece && piece[4] === 0) {
            // spans of 1.95 ms every 2 ms, waits and computing in turn; a wait is no work
            const k = Math.floor(t / (2 * MS)), inside = t - k * 2 * MS < 1.95 * MS;
            const ready = run.states.some((s) => s[0] === piece[3] - 1 && s[3] === 2 && s[1] <= t && t < s[1] + s[2]);
            want = [ready ? 2 : 0, inside && k % 2 ? "compute" : "mostly"];
        }
        assert.deepEqual(got[i], want, `at ${t}`);
    });
    assert.equal((await page.locator(".lane-label").allInnerTexts())[0], "Critical path");
    const rows = await page.getByRole("region", {name: "Critical path"}).locator("tbody tr").allInnerTexts();
    assert.match(rows[0], /compute[^]*work[^]*35.0\s*ms[^]*70.0 %/);
    assert.match(rows[1], /<idle>/);
});

test("the path of a recorded program is as long as the run", "quick", async (bench) => {
    const {axprof, gpt} = bench.options;
    if (!gpt) return;
    const trace = path.join(bench.dir, "path.axp"), file = path.join(bench.dir, "path.html");
    execFileSync(axprof, ["run", "-o", trace, "--", gpt, "--steps", "3", "--layers", "2"], {stdio: "ignore", env: {...process.env, OMP_NUM_THREADS: "2"}});
    execFileSync(axprof, ["report", trace, "-o", file]);
    const page = await bench.openFile(file);
    const got = await page.evaluate(() => {
        const {report} = window.axprofTimeline, p = report.path;
        let sum = 0, overlaps = 0, strangers = 0;
        for (let i = 0; i < p.n; i++) {
            sum += p.end[i] - p.begin[i];
            if (i && p.begin[i] < p.end[i - 1]) overlaps++;
            const t = report.meta.threads[p.thread[i]];
            if (p.thread[i] >= 0 && (!t || t.begin >= p.end[i])) strangers++;
        }
        return {sum, overlaps, strangers, wall: report.meta.critical_path.wall_ns, run: report.meta.run.duration_ns};
    });
    assert.ok(Math.abs(got.sum / got.wall - 1) < 1e-3 && Math.abs(got.wall / got.run - 1) < 1e-3, JSON.stringify(got));
    assert.deepEqual([got.overlaps, got.strangers], [0, 0]);
});

// ---- who ended a wait ------------------------------------------------------------------------

const slice = (page) => page.evaluate(() => {
    const tl = window.axprofTimeline, i = tl.store.state.slice, t = tl.trace;
    return i < 0 ? null : [tl.report.text(t.name(i)), tl.report.threadName(Number(t.tracks[t.rowOf(i).track].row.slice(1))), t.start[i]];
});

test("a wait names who ended it, and keys lead there and back", "quick", async (bench) => {
    const page = await bench.openRun("handover", handover());
    await page.evaluate(() => {
        const tl = window.axprofTimeline, t = tl.trace;
        const i = Array.from({length: t.n}, (_, k) => k).find((k) => tl.report.text(t.name(k)) === "mutex wait" && t.start[k] > 2e6);
        tl.store.chooseSlice(i);
    });
    const [, who, start] = await slice(page);
    const other = who === "left" ? "right" : "left";
    const fact = page.locator(".details dl > div", {hasText: "Ended by"});
    assert.match(await fact.innerText(), new RegExp(`${other} in critical 5.00 µs before it went on`));
    await page.keyboard.press("[");
    const [name, by, began] = await slice(page);
    assert.deepEqual([name, by], ["critical", other]);
    assert.equal(began + 995e3, start + 900e3); // it was given when that ended
    assert.match(await page.locator(".details dl > div", {hasText: "Ended the waits of"}).innerText(), new RegExp(`${who} .*905 µs`));
    await page.keyboard.press("]");
    assert.deepEqual(await slice(page), ["mutex wait", who, start]);
    await fact.getByRole("button", {name: other}).press("Enter");
    assert.deepEqual(await slice(page), [name, by, began]);
});

test("wakers of a recorded program are those of its other reports", "quick", async (bench) => {
    const {axprof, gpt} = bench.options;
    if (!gpt) return;
    const trace = path.join(bench.dir, "wakers.axp"), file = path.join(bench.dir, "wakers.html");
    execFileSync(axprof, ["run", "-o", trace, "--", gpt, "--steps", "3", "--layers", "2"], {stdio: "ignore", env: {...process.env, OMP_WAIT_POLICY: "passive"}});
    execFileSync(axprof, ["report", trace, "-o", file]);
    const json = JSON.parse(execFileSync(axprof, ["report", trace, "-f", "json"], {encoding: "utf8", maxBuffer: 1 << 28}));
    const page = await bench.openFile(file);
    const got = await page.evaluate(() => {
        const {report} = window.axprofTimeline, t = report.trace, out = {};
        for (let i = 0; i < t.n; i++) {
            const w = report.wakers?.of(i);
            if (!w) continue;
            const of = report.meta.threads[Number(t.tracks[t.rowOf(i).track].row.slice(1))];
            const key = [report.text(t.name(i)), of.id, report.meta.threads[w.thread].id].join("/");
            out[key] = (out[key] ?? 0) + 1;
        }
        return out;
    });
    const key = (w) => [w.name, w.thread_id, w.by_thread_id].join("/");
    const want = Object.fromEntries(json.waits.map((w) => [key(w), w.count]));
    assert.ok(Object.keys(got).length > 0, "no wait has a waker");
    for (const [k, n] of Object.entries(got)) assert.ok(n <= (want[k] ?? 0), `${k}: ${n} in the page, ${want[k]} in the JSON report`);
    // Waits that are scopes have each their slice, and so each its waker, if any is known.
    for (const op of json.ops.filter((o) => o.is_wait)) {
        const known = json.waits.filter((w) => w.name === op.name);
        if (known.some((w) => !w.by_thread_id)) continue;
        const n = Object.entries(got).filter(([k]) => k.startsWith(`${op.name}/`)).reduce((s, [, c]) => s + c, 0);
        assert.equal(n, op.calls, op.name);
    }
});
