// SPDX-License-Identifier: MIT OR Apache-2.0
// Small, odd and empty runs: as good as large ones, and no empty boxes.
import {execFileSync} from "node:child_process";
import path from "node:path";
import {assert, eventually, test} from "./harness.mjs";
import {deep, empty, longTime, memoryOnly, names, one, ranks, small, threads200, training} from "./scenarios.mjs";
import {Run} from "./synth.mjs";

const sections = (page) => page.locator("main > section").evaluateAll((list) => list.map((s) => s.id));

test("no events at all", "quick", async (bench) => {
    const page = await bench.openRun("empty", empty());
    await page.locator(".verdict", {hasText: /^A sentence about this run\.$/}).waitFor();
    assert.deepEqual(await sections(page), ["summary", "about"]);
});

test("one scope, three events", "quick", async (bench) => {
    const page = await bench.openRun("one", one());
    assert.deepEqual(await sections(page), ["summary", "timeline", "operations", "flame", "about"]);
    const second = await bench.openRun("small", small());
    const rows = second.locator("#operations tbody tr");
    assert.equal(await rows.count(), 3);
    assert.match(await rows.first().innerText(), /first/); // 400 µs of its own
});

test("only memory", "quick", async (bench) => {
    const page = await bench.openRun("memoryOnly", memoryOnly());
    assert.deepEqual(await sections(page), ["summary", "timeline", "memory", "about"]);
    assert.equal(await page.locator("#memory tbody tr").count(), 3);
});

test("operations by shape", "quick", async (bench) => {
    const run = new Run("shapes");
    const main = run.thread("main");
    main.span("gemm", 0, 6e6);
    main.span("softmax", 6e6, 1e6);
    run.shapes = [
        ["gemm", [64, 32, 16], 1, 2, 4e6, 8e9, null, 4e6, null, 4000, 0.5, "arithmetic"],
        ["gemm", [8, 8, 8], 1, 1, 1.5e6, 1.5e6, null, 1.5e6, null],
        ["gemm", [], 3, 5, 5e5, null, null, null, null],
        ["softmax", [128, 1000], 1, 1, 1e6, null, 2e6, null, 1e6, null, 0.25, "memory"],
    ];
    const page = await bench.openRun("shapes", run);
    const lines = () => page.locator("#shapes tbody tr").evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => c.textContent)));
    assert.deepEqual((await lines()).map((l) => l.slice(0, 2)), [["gemm", "64 × 32 × 16"], ["gemm", "8 × 8 × 8"], ["softmax", "128 × 1000"], ["gemm", "3 others"]]);
    const [first, , soft, rest] = await lines();
    assert.match(first.join(" "), /4.00ms 66.7 % 2 2.00ms 2.00TFLOP\/s/);
    assert.match(first.join(" "), /4.00TFLOP\/s 50.0 % arithmetic$/);
    assert.match(soft.join(" "), /2.00GB\/s – 25.0 % memory$/);
    assert.match(rest.join(" "), /– –$/);
    await page.locator("#shapes .row-button").first().click(); // all of its shapes, and its row
    assert.equal(await page.locator("#shapes tr.chosen").count(), 3);
    assert.equal(await page.locator("#operations tr.chosen .name").innerText(), "gemm");
});

test("200 threads", "full", async (bench) => {
    const page = await bench.openRun("threads200", threads200());
    assert.equal(await page.locator(".lane-label").count(), 200);
    await page.getByRole("button", {name: "All rows"}).click();
    await page.locator("#threads").getByRole("button", {name: /Show more/}).click();
});

test("long, right-to-left and emoji names", "quick", async (bench) => {
    const page = await bench.openRun("names", names());
    const rows = await page.locator("#operations tbody tr").allInnerTexts();
    assert.equal(rows.length, 9);
    assert.ok(rows.some((r) => r.includes("حساب المصفوفة")) && rows.some((r) => r.includes("🚀 launch 🔥 kernel 🧠")));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 1280, `the page is ${width} wide`);
});

test("times beyond 104 days", "full", async (bench) => {
    const page = await bench.openRun("longTime", longTime());
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.meta.run.t0), "9007199254740993");
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.trace.end), 40 * 86400e9);
    await page.getByText("40.0 days", {exact: false}).first().waitFor();
});

test("long times have an axis in days, hours, minutes", "quick", async (bench) => {
    const before = (page) => page.addInitScript(() => {
        window.written = [];
        const real = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            window.written.push(text);
            real.call(this, text, ...rest);
        };
    });
    const page = await bench.openRun("longTime", longTime(), {before});
    const says = (label) => eventually(() => page.evaluate(() => window.written), (texts) => texts.includes(label));
    await says("35 days");
    for (const [days, label] of [[1, "246 h"], [1 / 24, "14,420 min"], [1e-5, "864,000.2 s"]]) {
        await page.evaluate((span) => {
            window.written.length = 0;
            window.axprofTimeline.setView(10 * 86400e9, (10 + span) * 86400e9);
        }, days);
        await says(label);
    }
});

test("a counter holds its value; one that never changes is no chart", "quick", async (bench) => {
    const run = one();
    run.counters.push({name: "queue", time: [1e5, 2e5], value: [1, 3]}, {name: "batch", time: [1e5], value: [8]});
    const page = await bench.openRun("counters", run);
    assert.equal(await page.locator("#counters figure").count(), 1);
    await page.getByText("Never changed: batch 8").waitFor();
    assert.equal(await page.locator(".lane-label.kind-counter").count(), 1);
    // the line goes on to the end of the run
    const right = () => page.evaluate(() => {
        const c = document.querySelector("#counters canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        const [r, g, b] = getComputedStyle(document.querySelector("#counters summary")).color.match(/\d+/g).map(Number);
        let most = 0;
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200 && Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 60) most = Math.max(most, (i / 4) % c.width);
        return most / c.width;
    });
    await eventually(right, (share) => share > 0.95);
});

test("steps of a program without any scope", "quick", async (bench) => {
    const run = one();
    run.tracks = [];
    run.threads = [];
    run.also("a0", "slices", 0, "process").span("process", 0, 9e6);
    run.steps = {count: 3, avg: 2e6, p50: 2e6, p95: 3e6, p99: 3e6, min: 1e6, max: 3e6, hist: [[1e6, 3e6, 3]], list: {index: [0, 1, 2], begin: [0, 1e6, 3e6], end: [1e6, 3e6, 6e6], live: [0, 0, 0]}};
    const page = await bench.openRun("stepsOnly", run);
    assert.match(await page.locator("#steps").innerText(), /3 steps: median/);
    await page.locator("#steps summary").click();
    await page.locator("#steps tbody tr").first().waitFor();
});

test("warnings read as in the other reports", "quick", async (bench) => {
    const run = one();
    run.meta.warnings = [{code: "starved", name: null, count: 3, text: "threads that wanted to run had no processor"}, {code: "overlap", name: "step", count: 2, text: "scopes ended late"}];
    const page = await bench.openRun("warnings", run);
    assert.deepEqual(await page.locator(".warnings li").allInnerTexts(), ["3 threads that wanted to run had no processor", "2 scopes ended late (last: step)"]);
});

test("300 deep", "full", async (bench) => {
    const page = await bench.openRun("deep", deep(300));
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.trace.tracks[0].depth), 300);
    // The flame graph scrolls with the keys, down to the innermost.
    await page.locator("#flame canvas").focus();
    for (let i = 0; i < 302; i++) await page.keyboard.press("ArrowDown");
    await page.locator("#flame .said", {hasText: "level 299"}).waitFor();
    assert.ok(await page.evaluate(() => document.querySelector(".flame-box").scrollTop > 3000));
});

test("ranks are compared", "full", async (bench) => {
    const page = await bench.openRun("ranks", ranks(6));
    await page.getByText(/rank 2 takes 1\.\d+ × the median/).waitFor();
    assert.equal(await page.locator(".kind-group").count(), 4);
});

test("golden runs written in C", "quick", async (bench) => {
    if (!bench.options.pages) return;
    execFileSync(bench.options.pages, ["golden", bench.dir]);
    for (const [name, want] of [["empty", []], ["one_scope", ["timeline", "operations", "flame", "roofline"]], ["nested", ["timeline", "operations", "flame", "steps", "roofline", "shapes", "counters"]],
        ["threads", ["timeline", "path", "operations", "flame", "roofline", "counters", "threads"]], ["memory", ["timeline", "operations", "flame", "steps", "memory", "threads"]],
        ["hostile", ["timeline", "path", "operations", "flame", "memory", "counters", "threads"]]]) {
        const page = await bench.openFile(path.join(bench.dir, `${name}.html`));
        assert.deepEqual(await sections(page), ["summary", ...want, "about"], name);
        const verdict = await page.locator(".verdict").innerText();
        assert.match(verdict, name === "empty" ? /^Nothing could be judged/ : /^(\d|Nothing to gain|No one function).*\.$/, name);
    }
});

test("360 pixels wide", "quick", async (bench) => {
    const page = await bench.openRun("training", training(6000), {context: {viewport: {width: 360, height: 740}}});
    const {scroll, wide} = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        wide: [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > 362 && !e.closest(".table-scroll, nav, .tl, svg, .plot")).map((e) => e.tagName + "." + e.className).slice(0, 5),
    }));
    assert.ok(scroll <= 360, `the page is ${scroll} wide`);
    assert.deepEqual(wide, []);
});

test("printed it is one or two pages", "quick", async (bench) => {
    const page = await bench.openRun("training", training(6000));
    const pdf = (await page.pdf({format: "A4"})).toString("latin1");
    const n = (pdf.match(/\/Type\s*\/Page[^s]/g) ?? []).length;
    assert.ok(n >= 1 && n <= 2, `${n} pages`);
});
