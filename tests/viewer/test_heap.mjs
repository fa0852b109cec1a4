// SPDX-License-Identifier: MIT OR Apache-2.0
// The heap by place: four modes, the table, what stands beside it; and the same
// of programs that count what they allocate themselves.
import {execFileSync} from "node:child_process";
import path from "node:path";
import {assert, eventually, test} from "./harness.mjs";
import {heap, heapTimes} from "./scenarios.mjs";

const MIB = 1048576;
const MODES = [["High water", "at_peak"], ["Leaks", "current"], ["Allocated", "allocated"], ["Temporary", "n_temporary"]];

/** Sums of the flame graph's nodes by path, as the page has them. */
const sums = (page) => page.evaluate(() => {
    const {report, store} = window.axprofTimeline;
    const t = report.heap.tree(store.state.heapMode);
    const out = {};
    for (let k = 0; k < t.n; k++) {
        const names = [];
        for (let a = k; a > 0; a = t.parent[a]) names.push(report.text(t.name[a]));
        out[names.reverse().join("/")] = t.weight[k];
    }
    return out;
});

/** The same by definition. */
function wanted(places, key) {
    const out = {};
    for (const p of places) for (let d = 0; d <= p.path.length; d++) {
        const at = p.path.slice(0, d).join("/");
        out[at] = (out[at] ?? 0) + (p[key] ?? 0);
    }
    return out;
}

test("the heap in four modes, by pointer, key and address", "quick", async (bench) => {
    const run = heap();
    const page = await bench.openRun("heap", run);
    for (const [name, key] of MODES) {
        await page.locator("#heap").getByRole("button", {name, exact: true, pressed: true}).waitFor();
        assert.deepEqual(await sums(page), wanted(run.heap.places, key), name);
        await page.keyboard.press("KeyH");
    }
    await page.locator("#heap").getByRole("button", {name: "Leaks"}).click();
    await eventually(() => new URL(page.url()).hash, (h) => h.includes("h=leaks"));
    await page.locator("#heap canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("#heap .said", {hasText: "all — 44.0 MB, 100 %"}).waitFor();
    await page.locator("#heap summary").click();
    const paths = await page.locator("#heap .as-table tbody th").allInnerTexts();
    assert.ok(paths.includes("_start › main › load › weights"), paths.join());
    // cut off at its beginning where it is long, but written in its own direction
    const [a, b] = await page.evaluate(() => {
        const text = document.querySelector("#heap .path bdi").firstChild, range = document.createRange();
        return [0, 1].map((i) => {
            range.setStart(text, i);
            range.setEnd(text, i + 1);
            return range.getBoundingClientRect().left;
        });
    });
    assert.ok(a < b, `"_" at ${a}, "s" at ${b}`);
    const again = await bench.openRun("heap", run, {hash: "#h=temporary"});
    await again.locator("#heap").getByRole("button", {name: "Temporary", exact: true, pressed: true}).waitFor();
});

test("places that read the same are one line; growth and churn are told", "quick", async (bench) => {
    const page = await bench.openRun("heap", heap());
    const table = page.getByRole("region", {name: "Places of the heap"});
    const lines = await table.locator("tbody tr").evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => c.textContent)));
    const head = (await table.locator("thead button").evaluateAll((list) => list.map((b) => b.firstChild.textContent)));
    const cell = (name, column) => lines.find((l) => l[0].startsWith(name))[head.indexOf(column)];
    assert.equal(lines.length, 4);
    assert.equal(cell("new_tensor", "At the peak"), "32.0MB");
    assert.equal(cell("new_tensor", "Blocks a step"), "128");
    assert.equal(cell("new_tensor", "Temporary"), "7,200");
    assert.match(cell("append", "Growth a step"), /▲ 30.7KB/);
    assert.equal(cell("cache_get", "Growth a step"), "levelled off");
    assert.equal(cell("load: weights", "Kind"), "weight");
    assert.match(lines[0][0], /annotated/);
    // what is beside it, and what the program has names for
    const beside = await page.getByRole("region", {name: "Memory of the process"}).locator("tbody tr").evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => c.firstChild.textContent)));
    const texts = await page.getByRole("region", {name: "Memory of the process"}).innerText();
    assert.deepEqual(beside.map((r) => r[0].split(":")[0]), ["Handed out by the allocator", "– of that annotated", "– of that found", "Mapped beside it", "Resident"]);
    for (const what of ["76.0MB", "40.0MB", "36.0MB", "64.0MB", "120MB"]) assert.ok(texts.includes(what), `${what}: ${texts}`);
    await page.locator("#summary").getByText("Heap peak").waitFor();
});

test("a place that is chosen is chosen everywhere", "quick", async (bench) => {
    const page = await bench.openRun("heap", heap());
    await page.getByRole("region", {name: "Places of the heap"}).getByRole("button", {name: /new_tensor/}).click();
    await page.locator(".selection .chip", {hasText: "new_tensor"}).waitFor();
    assert.equal(await page.locator("#heap tr.chosen").count(), 1);
    // a function of the heap that is an operation too
    await page.locator("#operations .row-button", {hasText: "train_step"}).click();
    const lit = await page.evaluate(() => {
        const {report, store} = window.axprofTimeline;
        return [...report.heap.name].filter((n) => n === store.state.op).length;
    });
    assert.equal(lit, 1);
    await page.locator("#search").fill("append");
    await eventually(() => page.getByRole("region", {name: "Places of the heap"}).locator("tbody tr").count(), (n) => n === 1);
});

test("an allocation that failed is said above all", "quick", async (bench) => {
    const run = heap();
    run.heap.meta.failed = {count: 3, bytes: MIB, at: 7e6, where: "hog (m.c:41)"};
    run.heap.meta.sampled = 524288;
    run.heap.meta.n_missed = 2;
    const page = await bench.openRun("failed", run);
    await page.getByText("Out of memory: the allocator had nothing for 1.00 MB after 7.00 ms, in hog (m.c:41), the first of several times.").waitFor();
    await page.locator("#summary [role=alert]").getByText("What was live then").press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "heap");
    await page.getByText("one block every 512 KB was looked at").waitFor();
    await page.getByText("2 blocks could not be followed and are in none").waitFor();
});

test("a request for more than there is is no lack of memory", "quick", async (bench) => {
    const run = heap();
    run.heap.meta.failed = {count: 1, bytes: 2 ** 60, at: 7e6, is_too_much: true};
    const page = await bench.openRun("tooMuch", run);
    await page.getByText("That is more than there is.").waitFor();
    assert.equal(await page.locator("#summary [role=alert]").count(), 0);
    assert.equal(await page.getByText("Out of memory").count(), 0);
});

test("the heap over time, and when what was allocated", "quick", async (bench) => {
    const run = heapTimes();
    const page = await bench.openRun("heapTimes", run);
    const {time, value} = await page.evaluate(() => {
        const {levels} = window.axprofTimeline.report.heap;
        return {time: [...levels.time], value: [...levels.value]};
    });
    assert.equal(Math.max(...value), run.heap.meta.peak);
    assert.deepEqual(time.filter((_, i) => i % 2 === 0), run.heap.levels.map((l) => l[0])); // highest and lowest in turn
    assert.deepEqual(value.filter((_, i) => i % 2), run.heap.levels.map((l) => l[1]));
    await page.getByRole("img", {name: "Live bytes of the heap over time, peak 76.0 MB; resident memory over time, 120 MB at most"}).waitFor();
    assert.ok((await page.locator(".lane-label").allInnerTexts()).some((l) => l.startsWith("Heap")));
    const row = page.getByRole("region", {name: "Places of the heap"}).locator("tbody tr", {hasText: "new_tensor"});
    // 9600 lived 1 – 10 ms and 3200 ten times as long: the middle one is among the first
    assert.match(await row.innerText(), /1 – 10 ms[^]*1.00\s*ms[^]*6.00\s*ms/);
    await page.getByText("Blocks that were never freed, one by one (3)").press("Enter");
    const blocks = page.getByRole("region", {name: "Blocks that were never freed"}).locator("tbody tr");
    assert.match(await blocks.first().innerText(), /load: weights[^]*8.00\s*MB[^]*1.00\s*ms[^]*5/);
    assert.match(await blocks.nth(1).innerText(), /append[^]*2.00\s*MB[^]*4.00\s*ms[^]*main/);
    await blocks.nth(1).locator("button").press("Enter");
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.text(window.axprofTimeline.store.state.op)), "append");
});

test("a heap of 50,000 places", "full", async (bench) => {
    const run = heap(50000);
    const page = await bench.openRun("heap50k", run);
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.heap.tree(0).weight[0]), run.heap.meta.peak);
    const ms = await page.evaluate(async () => {
        const {store} = window.axprofTimeline;
        const t = performance.now();
        store.set({heapMode: 2});
        await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
        return performance.now() - t;
    });
    assert.ok(ms < 3000, `${ms} ms`);
});

// ---- programs that count for themselves ------------------------------------------------------

let recorded = 0;

function record(bench, program, ...args) {
    const {axprof, programs} = bench.options;
    const file = path.join(bench.dir, `heap${++recorded}.html`), trace = file.replace(".html", ".axp");
    const env = {...process.env, OMP_WAIT_POLICY: "passive"};
    const said = execFileSync(axprof, ["run", "-o", trace, "--", path.join(programs, program), ...args], {encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"]});
    execFileSync(axprof, ["report", trace, "-f", "html", "-o", file]);
    const lines = said.trim().split("\n").filter((l) => l.startsWith("{")).map((l) => JSON.parse(l));
    const json = JSON.parse(execFileSync(axprof, ["report", trace, "-f", "json"], {encoding: "utf8", maxBuffer: 1 << 28}));
    return {file, truth: lines.at(-1), lines, json};
}

const placesOf = (page) => page.evaluate(() => {
    const {report} = window.axprofTimeline;
    return report.heap.places.map((p) => ({...p, label: report.text(p.label), at: report.text(p.at)}));
});

test("a program's leaks, growth and names are those that it counted", "quick", async (bench) => {
    if (!bench.options.programs) return;
    const leak = record(bench, "memory_program", "leak37");
    const page = await bench.openFile(leak.file);
    const h = await page.evaluate(() => window.axprofTimeline.report.meta.heap);
    const t = leak.truth;
    assert.deepEqual([h.current, h.blocks, h.peak, h.allocated, h.n_allocs, h.n_frees], [t.live_bytes_at_end, t.n_live_at_end, t.peak_bytes, t.allocated_bytes, t.n_allocs, t.n_frees]);
    const lost = (await placesOf(page)).filter((p) => p.current > 0);
    assert.equal(lost.reduce((s, p) => s + p.blocks, 0), 37);
    assert.equal(lost[0].label, `truth_leak (memory_program.c:${t.line})`);
    await page.keyboard.press("KeyH");
    assert.deepEqual((await sums(page))[""], t.live_bytes_at_end);

    const grow = record(bench, "memory_program", "grow");
    const list = (await placesOf(await bench.openFile(grow.file))).find((p) => p.at === "truth_grow_list");
    assert.equal(list.stepAllocs, 10); // ten blocks of 1024 bytes a step
    assert.equal(list.late, 10240);

    const named = record(bench, "memory_names");
    const found = await placesOf(await bench.openFile(named.file));
    for (const [name, want] of Object.entries(named.lines[0].names)) {
        const of = found.filter((p) => p.at === name && p.named === 1);
        assert.equal(of.reduce((s, p) => s + p.current, 0), want.current_bytes, name);
        assert.equal(of.reduce((s, p) => s + p.blocks, 0), want.current_blocks, name);
    }
});

test("times of the heap are the JSON report's", "quick", async (bench) => {
    if (!bench.options.programs) return;
    const {file, json} = record(bench, "memory_program", "grow");
    const {levels, kept, places} = json.heap;
    if (!levels) return; // this library does not know them
    const page = await bench.openFile(file);
    const got = await page.evaluate(() => {
        const {report} = window.axprofTimeline, id = (t) => (t ? report.meta.threads[t - 1].id : null);
        return {t0: Number(report.meta.run.t0), value: [...report.heap.levels.value], kept: report.heap.kept.map((k) => [report.heap.places.indexOf(k.place), k.bytes, k.at, id(k.thread), k.blocks]),
            places: report.heap.places.map((p) => [p.first, p.last, id(p.thread), p.lived])};
    });
    assert.equal(Math.max(...got.value), json.heap.peak_bytes);
    assert.deepEqual(got.value, levels.min_bytes.flatMap((least, i) => (least === levels.max_bytes[i] ? [least] : [levels.max_bytes[i], least])));
    assert.deepEqual(got.kept, kept.map((k) => [k.place, k.bytes, k.at - got.t0, k.thread_id, k.stands_for]));
    assert.deepEqual(got.places, places.map((p) => [Math.max(0, p.first_at - got.t0), Math.max(0, p.last_at - got.t0), p.thread_id, p.lived]));
});

test("the heap by function, scope and kind", "quick", async (bench) => {
    if (!bench.options.programs) return;
    const page = await bench.openFile(record(bench, "memory_names").file);
    const lines = async (name) => {
        await page.getByRole("group", {name: "One line for each"}).getByRole("button", {name, exact: true}).click();
        const table = page.getByRole("region", {name: "Places of the heap"});
        await table.locator("thead th").first().getByText(name).waitFor();
        const rows = await page.evaluate(() => [...document.querySelectorAll('[aria-label="Places of the heap"] tbody tr')].map((r) => [r.querySelector(".name").textContent, [...r.children].find((c, i) => r.closest("table").querySelectorAll("thead th")[i].textContent.startsWith("Not freed")).textContent]));
        return Object.fromEntries(rows);
    };
    assert.deepEqual(await lines("Scope"), {build: "111KB", "step › forward": "62.5KB"}); // 90000 + 20000 + 4 × 777 + 300, and 10 × 6400
    const {"(found)": found, ...kinds} = await lines("Kind");
    assert.deepEqual(kinds, {weight: "87.9KB", cache: "62.5KB", optimizer: "19.5KB", "(annotated, of no kind)": "300B"});
    assert.ok(/^[34]\.\d+KB$/.test(found), found); // 4 × 777, and what the C library keeps of a thread
    const functions = await lines("Function or name");
    assert.deepEqual([functions.weights, functions.kv, functions.truth_malloc], ["87.9KB", "62.5KB", "3.04KB"]);
    await page.locator("#heap").getByRole("button", {name: "Sandwich"}).click();
    await page.locator("#heap h3", {hasText: "callers above, callees below"}).waitFor();
    await page.locator("#heap").getByRole("button", {name: /^weights/}).click();
    await page.locator("#heap h3", {hasText: "callers above, callees below weights"}).waitFor();
    await page.locator("#heap").getByRole("button", {name: /^kv/}).click();
    await page.locator("#heap h3", {hasText: "callees below kv"}).waitFor();
});

test("all figures of all places are the JSON report's", "quick", async (bench) => {
    if (!bench.options.programs) return;
    const {file, json} = record(bench, "memory_program", "churn");
    const got = await placesOf(await bench.openFile(file));
    assert.equal(got.length, json.heap.places.length);
    got.forEach((p, i) => {
        const want = json.heap.places[i];
        assert.deepEqual([p.current, p.blocks, p.atPeak, p.allocated, p.allocs, p.frees, p.temporary, p.early, p.late, p.stepAllocs, p.stepBytes],
            [want.current_bytes, want.current_blocks, want.at_peak_bytes, want.total_allocated, want.n_allocs, want.n_frees, want.n_temporary, want.growth_early, want.growth_late, want.step_allocs, want.step_bytes]);
    });
});
