// SPDX-License-Identifier: MIT OR Apache-2.0
// The encoder in C against the decoder in the browser, and sums over ranges
// against values that the recording program kept for itself.
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {assert, test} from "./harness.mjs";
import {awkward, manyNames, merged, training} from "./scenarios.mjs";
import {aggregate} from "./synth.mjs";

/** What the page has decoded, as [track, start, duration, name, depth]. */
export function decoded(page) {
    return page.evaluate(() => {
        const {report} = window.axprofTimeline;
        const t = report.trace;
        const out = [];
        for (const row of t.rows) {
            const track = t.tracks[row.track];
            for (let i = row.first; i < row.end; i++) out.push([row.track, t.start[i], t.dur[i], report.text(t.name(i)), row.depth, track.row, track.lane, track.kind]);
        }
        return {events: out, t0: report.meta.run.t0, threads: report.meta.threads.map((x) => x.name)};
    });
}

const byStart = (a, b) => a[1] - b[1] || a[4] - b[4] || a[2] - b[2] || (a[3] < b[3] ? -1 : a[3] > b[3] ? 1 : 0);

/** Operations of a range, as the page's table would show them. */
export function rangeOps(page, from, to) {
    return page.evaluate(([a, b]) => {
        const {report} = window.axprofTimeline;
        return Object.fromEntries(report.opsIn(a, b).ops.map((o) => [report.text(o.name), [o.calls, o.total, o.self]]));
    }, [from, to]);
}

async function compareRandom(bench, seed, n) {
    execFileSync(bench.options.pages, ["random", bench.dir, String(seed), String(n)]);
    const truth = JSON.parse(fs.readFileSync(path.join(bench.dir, "random.json"), "utf8"));
    const page = await bench.openFile(path.join(bench.dir, "random.html"));
    const {events, t0, threads} = await decoded(page);
    const base = Number(t0);
    assert.deepEqual([...threads].sort(), ["thread 0", "thread 1", "thread 2"]);
    for (let k = 0; k < 3; k++) {
        const mine = events.filter((e) => threads[Number(e[5].slice(1))] === `thread ${k}` && e[5][0] === "t");
        const want = truth.events.filter((e) => e[1] === k);
        const shape = (kind) => want.filter((e) => e[0] === kind).map((e) => [0, e[2] - base, e[3], e[4], e[5]]).sort(byStart);
        const got = (f) => mine.filter(f).map((e) => [0, ...e.slice(1, 5)]).sort(byStart);
        assert.deepEqual(got((e) => e[7] === "slices" && e[6] === 0), shape("slice"), `slices of thread ${k}`);
        assert.deepEqual(got((e) => e[7] === "marks"), shape("mark"), `marks of thread ${k}`);
        const flat = (list) => list.map((e) => [...e.slice(0, 4), 0]).sort(byStart); // their depth is the page's own
        assert.deepEqual(flat(got((e) => e[7] === "slices" && e[6] > 0)), flat(shape("loose")), `overlapping scopes of thread ${k}`);
    }
    for (const r of truth.ranges) {
        const ops = await rangeOps(page, r.from - base, r.to - base);
        for (const name of Object.keys(ops)) if (name.startsWith("over_")) delete ops[name];
        assert.deepEqual(Object.fromEntries(Object.entries(ops).sort()), Object.fromEntries(Object.entries(r.ops).sort()), `operations from ${r.from} to ${r.to}`);
    }
}

test("events that C wrote are decoded as they were recorded", "quick", async (bench) => {
    if (!bench.options.pages) return;
    await compareRandom(bench, 1, 3000);
});

test("many random events and 70,000 names", "full", async (bench) => {
    if (!bench.options.pages) return;
    for (let seed = 10; seed < 16; seed++) await compareRandom(bench, seed, 12000);
    await compareRandom(bench, 99, 120000);
});

test("more events than the budget: longest kept, the rest in blocks", "quick", async (bench) => {
    if (!bench.options.pages) return;
    execFileSync(bench.options.pages, ["big", bench.dir, "30000"]);
    fs.renameSync(path.join(bench.dir, "big.html"), path.join(bench.dir, "all.html"));
    execFileSync(bench.options.pages, ["big", bench.dir, "30000", "4000"]);
    const sum = (page) => page.evaluate(() => {
        const {report} = window.axprofTimeline;
        const t = report.trace;
        let top = 0, shortest = Infinity;
        for (const row of t.rows) for (let i = row.first; i < row.end; i++) {
            if (row.depth === 0) top += t.dur[i];
            if (!t.merged.has(i)) shortest = Math.min(shortest, t.dur[i]);
        }
        const blocks = [...t.merged.values()];
        return {n: t.n, top, shortest, count: blocks.reduce((s, b) => s + b[0], 0), time: blocks.reduce((s, b) => s + b[1], 0), index: report.index};
    });
    const all = await sum(await bench.openFile(path.join(bench.dir, "all.html")));
    const page = await bench.openFile(path.join(bench.dir, "big.html"));
    const some = await sum(page);
    assert.ok(some.n <= 4000, `${some.n} events`);
    assert.equal(some.top, all.top);
    assert.equal(some.n - some.index.blocks + some.count, all.n);
    assert.equal(some.index.merged, some.count);
    assert.equal(some.index.shown, some.n - some.index.blocks);
    // Nothing that is as long as what was kept has been merged.
    const longer = await (async () => {
        const p = await bench.openFile(path.join(bench.dir, "all.html"));
        return p.evaluate((least) => window.axprofTimeline.report.trace.dur.filter((d) => d >= least).length, some.shortest);
    })();
    assert.equal(longer, some.index.shown);
    await page.getByText(/slices shown; the .* shortest are merged/).waitFor();
});

test("the synthetic writer's events are decoded", "full", async (bench) => {
    for (const [name, run] of [["awkward", awkward(2000)], ["training", training(6000)], ["merged", merged()]]) {
        const page = await bench.openRun(`d-${name}`, run);
        const {events} = await decoded(page);
        const want = [];
        run.tracks.filter((t) => t.start.length).forEach((t, k) => t.start.forEach((s, i) => want.push([k, s, t.dur[i], run.strings[t.nameId[i]], t.depth[i]])));
        const key = (e) => [e[0], e[4], e[1], e[2], e[3]].join();
        assert.deepEqual(events.map(key).sort(), want.map(key).sort(), name);
    }
});

test("a range's operations and tree are the plain sums", "quick", async (bench) => {
    const run = training(6000);
    const page = await bench.openRun("d-training", run);
    const end = run.tracks[0].last;
    for (const [a, b] of [[0, end], [end * 0.3, end * 0.31], [end * 0.5, end * 0.9], [11e6, 11e6 + 1]].map((r) => r.map(Math.round))) {
        const {ops, tree} = aggregate(run, a, b);
        const want = Object.fromEntries([...ops.values()].map((o) => [run.strings[o.name], [o.calls, o.total, o.self]]));
        assert.deepEqual(await rangeOps(page, a, b), want);
        const paths = await page.evaluate(([x, y]) => {
            const {report} = window.axprofTimeline;
            const {sums} = report.opsIn(x, y);
            const n = report.trace.nodes;
            const out = {};
            for (let k = 1; k < n.n; k++) {
                if (!sums.calls[k]) continue;
                const path = [];
                for (let q = k; q > 0; q = n.parent[q]) path.push(report.text(n.name[q]));
                out[path.reverse().join("/")] = [sums.calls[k], sums.total[k]];
            }
            return out;
        }, [a, b]);
        const wantPaths = {};
        tree.forEach((node, k) => {
            if (k === 0 || !node.calls) return;
            const path = [];
            for (let q = k; q > 0; q = tree[q].parent) path.push(run.strings[tree[q].name]);
            wantPaths[path.reverse().join("/")] = [node.calls, node.total];
        });
        assert.deepEqual(paths, wantPaths);
    }
});

test("the critical path has operations in the order in which they ran", "quick", async (bench) => {
    if (!bench.options.pages) return;
    execFileSync(bench.options.pages, ["golden", bench.dir]);
    const page = await bench.openFile(path.join(bench.dir, "threads.html"));
    const pieces = await page.evaluate(() => {
        const {report} = window.axprofTimeline, p = report.path;
        const onRow = (i) => report.onPath.at((p.begin[i] + p.end[i]) / 2);
        return Array.from({length: p.n}, (_, i) => ({name: report.text(p.name[i]), kind: p.kind[i], thread: p.thread[i], ns: p.end[i] - p.begin[i], drawn: report.text(onRow(i).name)}));
    });
    const names = pieces.map((p) => p.name).join();
    assert.ok(names.includes("a,b,outside scopes"), names);
    for (const p of pieces) assert.equal(p.drawn, p.name); // the row and the thread's slices agree
    const wall = await page.evaluate(() => window.axprofTimeline.report.meta.critical_path.wall_ns);
    assert.equal(pieces.reduce((sum, p) => sum + p.ns, 0), wall);
});

test("70,000 names", "full", async (bench) => {
    const page = await bench.openRun("manyNames", manyNames());
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.trace.n), 70000);
    await page.locator("#search").fill("op_69999");
    await page.getByText(/^1 slice,/).waitFor();
});

test("memory of devices: levels, peaks and names that the program counted", "quick", async (bench) => {
    if (!bench.options.pages) return;
    for (const rounds of [300, 20000]) { // each change has a line; reduced
        execFileSync(bench.options.pages, ["devices", bench.dir, String(rounds)]);
        const truth = JSON.parse(fs.readFileSync(path.join(bench.dir, "devices.json"), "utf8"));
        const page = await bench.openFile(path.join(bench.dir, "devices.html"));
        const got = await page.evaluate(() => {
            const {report} = window.axprofTimeline;
            return report.domains.map((d) => ({label: d.label, current: d.meta.current, peak: d.meta.peak, names: Object.fromEntries(d.meta.names.map((n) => [report.text(n.name), [n.current, n.at_peak]])),
                exact: d.series.exact, n: d.series.time.length, most: Math.max(...d.series.total), last: d.series.total.at(-1), at: d.series.time[d.series.total.indexOf(Math.max(...d.series.total))], peakAt: d.meta.peak_at,
                named: d.series.names.map((k, c) => [report.text(k), d.series.columns[c].at(-1)])}));
        });
        assert.deepEqual(got.map((d) => d.label), truth.map((d) => d.label));
        got.forEach((d, i) => {
            const want = truth[i];
            assert.deepEqual([d.current, d.peak, d.most, d.last], [want.current, want.peak, want.peak, want.current], want.label);
            const byName = (o) => Object.fromEntries(Object.entries(o).sort());
            assert.deepEqual(byName(d.names), byName(want.names), want.label);
            assert.deepEqual(byName(Object.fromEntries(d.named)), byName(Object.fromEntries(Object.entries(want.names).map(([k, v]) => [k, v[0]]))), want.label);
            assert.equal(d.at, d.peakAt, want.label);
            assert.equal(d.exact, rounds === 300);
            assert.ok(rounds === 300 ? d.n === 300 : d.n <= 4096, `${d.n} lines`);
        });
        assert.deepEqual(await page.locator(".lane-label.kind-memory bdi").allInnerTexts(), ["Memory", "Memory of cuda:0", "Memory of cuda:1"]);
        assert.equal(await page.locator("#memory .domain").count(), 3);
        const table = await page.getByRole("region", {name: "Memory of the host and of devices"}).locator("tbody th").allInnerTexts();
        assert.deepEqual([...table].sort(), ["Host", "cuda:0", "cuda:1"]);
        await page.locator("#memory .domain").nth(1).locator(".slider").focus();
        await page.keyboard.press("Home"); // one moment, of all of them
        assert.equal(await page.locator("#memory h3", {hasText: rounds === 300 ? /^Live at/ : /^Live around/}).count(), 3);
    }
});
