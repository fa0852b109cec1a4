// SPDX-License-Identifier: MIT OR Apache-2.0
// From a program that was really recorded to its page: written by the program
// itself and by the command, what the page shows is what the other reports say.
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {assert, test} from "./harness.mjs";

const run = (program, args) => execFileSync(program, args, {encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], env: {...process.env, OMP_WAIT_POLICY: "passive", AXPROF_MACHINE: "off"}});

/** Operations as the page has them, under the names that the JSON report uses. */
const opsOf = (page) => page.evaluate(() => {
    const {report} = window.axprofTimeline;
    return report.ops.map((o) => ({name: report.text(o.name), calls: o.calls, total_ns: o.total, self_ns: o.self, min_ns: o.min, max_ns: o.max, p50_ns: o.p50, p95_ns: o.p95, p99_ns: o.p99,
        time_share: o.share, gflops: Number.isFinite(o.gflops) ? o.gflops : null, gbps: Number.isFinite(o.gbps) ? o.gbps : null, line: o.line || null}));
});

const near = (a, b) => a === b || (a !== null && b !== null && Math.abs(a - b) <= 1e-12 * Math.abs(b));

async function compareOps(page, json) {
    const got = new Map((await opsOf(page)).map((o) => [o.name, o]));
    assert.equal(got.size, json.ops.length);
    for (const want of json.ops) {
        const op = got.get(want.name);
        assert.ok(op, `${want.name} is not in the page`);
        for (const key of Object.keys(op)) assert.ok(near(op[key], want[key] ?? null), `${want.name} ${key}: ${op[key]} in the page, ${want[key]} in the JSON report`);
    }
    // What a person sees: every row, by self time, with the calls written out.
    const more = page.locator("#operations").getByRole("button", {name: /Show more/});
    while (await more.count()) await more.click();
    const shown = await page.locator("#operations tbody tr").evaluateAll((rows) => rows.map((r) => [r.querySelector(".name").textContent, r.children[4].textContent]));
    const bySelf = json.ops.map((o, i) => [o, i]).sort((a, b) => b[0].self_ns - a[0].self_ns || a[1] - b[1]).map(([o]) => [o.name, o.calls.toString().replace(/\B(?=(\d{3})+$)/g, ",")]);
    assert.deepEqual(shown, bySelf);
}

/** All of the timeline, summed in the page, is what the recorder counted. */
async function compareRange(page, json) {
    const sums = await page.evaluate(() => {
        const {report} = window.axprofTimeline;
        return Object.fromEntries(report.opsIn(0, report.duration + 1).ops.map((o) => [report.text(o.name), [o.calls, o.total, o.self]]));
    });
    const costs = await page.evaluate(() => window.axprofTimeline.report.meta.run.own_cost_ns + 1);
    for (const want of json.ops) {
        const [calls, total, self] = sums[want.name] ?? [0, 0, 0];
        assert.equal(calls, want.calls, `calls of ${want.name}`);
        // each time was rounded to nanoseconds by itself
        assert.ok(Math.abs(total - want.total_ns) <= calls + 1, `total of ${want.name}: ${total} against ${want.total_ns}`);
        // so were those of the calls in it; the recorder takes its own cost off
        const all = json.ops.reduce((s, o) => s + o.calls, 0), cost = costs * all;
        assert.ok(self >= want.self_ns - all - 1 && self <= want.self_ns + cost, `self of ${want.name}: ${self} against ${want.self_ns}`);
    }
}

test("a recorded program's page is what its other reports say", "quick", async (bench) => {
    const {axprof, program} = bench.options;
    if (!axprof) return;
    const [trace, live, file] = ["real.axp", "live.html", "file.html"].map((f) => path.join(bench.dir, f));
    run(program, [trace, live, "--name", "two words"]);
    run(axprof, ["report", trace, "-f", "html", "-o", file]);
    assert.ok(fs.readFileSync(live).equals(fs.readFileSync(file)), "the program's own page differs from the command's");
    const json = JSON.parse(run(axprof, ["report", trace, "-f", "json"]));
    const page = await bench.openFile(file);
    await compareOps(page, json);
    await compareRange(page, json);
    // what ran, where, when
    const head = await page.locator("header").innerText();
    assert.ok(head.includes("real program") && head.includes("live.html --name 'two words'") && head.includes(os.hostname()), head);
    const started = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/.exec(head);
    assert.ok(started && Math.abs(Date.parse(`${started[1]}T${started[2]}Z`) - Date.now()) < 3600e3, head);
    // how long, verdict, findings, step time, memory peak
    const first = await page.locator("#summary").innerText();
    for (const what of ["Wall time", "Step time", "median of 40", "Memory peak", "Throughput", "Operations"]) assert.ok(first.includes(what), `${what}: ${first}`);
    assert.equal(await page.locator(".finding").count(), Math.min(3, json.findings.length));
    const texts = await page.locator(".finding").allInnerTexts();
    json.findings.slice(0, 3).forEach((f, i) => assert.ok(texts[i].toLowerCase().includes(f.description.toLowerCase()), texts[i]));
    const bottom = await page.locator(".finding").last().boundingBox();
    assert.ok(bottom.y + bottom.height <= 800, "the three findings do not fit on the first screen");
    assert.equal(await page.evaluate(() => window.axprofTimeline.report.meta.memory.peak), json.memory.peak_bytes);
});

test("--events bounds the timeline and the page says so", "quick", async (bench) => {
    const {axprof, program} = bench.options;
    if (!axprof) return;
    const [trace, live, file] = ["budget.axp", "budget-live.html", "budget.html"].map((f) => path.join(bench.dir, f));
    run(program, [trace, live]);
    run(axprof, ["report", trace, "--events", "100", "-o", file]);
    const page = await bench.openFile(file);
    const {n, index} = await page.evaluate(() => ({n: window.axprofTimeline.report.trace.n, index: window.axprofTimeline.report.index}));
    assert.equal(index.budget, 100);
    assert.ok(n <= 100 && index.merged > 300, `${n} events, ${index.merged} merged`);
    const note = await page.locator("#timeline .note").first().innerText();
    assert.ok(note.includes(`${index.shown} of ${index.shown + index.merged} slices shown; the ${index.merged} shortest are merged into ${index.blocks} marked blocks`), note);
    await compareOps(page, JSON.parse(run(axprof, ["report", trace, "-f", "json"]))); // the statistics are all there
});

test("examples/gpt under axprof run", "quick", async (bench) => {
    const {axprof, gpt} = bench.options;
    if (!gpt) return;
    const dir = path.join(bench.dir, "gpt"), file = path.join(bench.dir, "gpt.html");
    run(axprof, ["run", "--output", `${dir}/`, "--", gpt, "--steps", "3", "--layers", "2"]);
    const traces = fs.readdirSync(dir).filter((f) => f.endsWith(".axp")).sort().map((f) => path.join(dir, f));
    run(axprof, ["report", ...traces, "-f", "html", "-o", file]);
    const page = await bench.openFile(file);
    const json = JSON.parse(run(axprof, ["report", ...traces, "-f", "json"]));
    await compareOps(page, json);
    await compareRange(page, json);
    assert.match(await page.locator("header").innerText(), /gpt --steps 3 --layers 2 · .* UTC · process \d+/);
    assert.equal(json.steps.count, 3);
    await page.getByText("median of 3 ·").waitFor();
    // A span that lasts as long as the run is no reason for a slow step.
    assert.doesNotMatch(await page.locator(".compare p").innerText(), /process gpt/);
});

test("hostile names that were really recorded", "quick", async (bench) => {
    const {axprof, program} = bench.options;
    if (!axprof) return;
    const [trace, live, file] = ["hostile.axp", "hostile-live.html", "hostile-real.html"].map((f) => path.join(bench.dir, f));
    const bad = "</script><script>window.hacked=1</script>";
    run("sh", ["-c", 'exec "$0" "$@" "$(printf "\\377\\342\\200\\250")"', program, trace, live, "hostile", bad]);
    run(axprof, ["report", trace, "-o", file]);
    assert.ok(fs.readFileSync(live).equals(fs.readFileSync(file)));
    const html = fs.readFileSync(file, "latin1");
    assert.equal(html.split("<script").length, html.split("</script>").length, "a name opened or closed a script");
    const json = JSON.parse(run(axprof, ["report", trace, "-f", "json"]));
    assert.ok(json.ops.length >= 11);
    const page = await bench.openFile(file);
    const names = await page.evaluate(() => window.axprofTimeline.report.ops.map((o) => window.axprofTimeline.report.text(o.name)));
    assert.deepEqual([...names].sort(), json.ops.map((o) => o.name).sort());
    assert.ok(names.some((n) => n.length > 4000) && names.includes(bad) && names.some((n) => n.includes("\u2028")) && names.some((n) => n.startsWith("invalid \ufffd")));
    const head = await page.locator("header").innerText();
    assert.ok(head.includes(`hostile '${bad}'`) && head.includes("\ufffd␣"), head);
    for (const key of ["1", "3", "2"]) await page.keyboard.press(key);
    await page.locator("#search").fill("script");
    for (const summary of await page.locator("details.as-table summary").all()) await summary.click();
    await page.evaluate(() => window.axprofTimeline.store.chooseSlice(0));
    await page.locator(".details h3").waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, main script, iframe, svg svg").length), 0);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1280);
});
