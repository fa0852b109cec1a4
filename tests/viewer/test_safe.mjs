// SPDX-License-Identifier: MIT OR Apache-2.0
// Nothing that a name says is run, nothing is loaded, and a file that is
// damaged or cut off says so.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import {TEMPLATE} from "./browser.mjs";
import {assert, test} from "./harness.mjs";
import {heap, HOSTILE, hostile, small, states, training} from "./scenarios.mjs";
import {encodeRun, packChunk, writePage} from "./synth.mjs";

test("hostile names run nothing and break nothing", "quick", async (bench) => {
    const page = await bench.openRun("hostile", hostile());
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("#operations tbody tr").count(), 15);
    await page.locator("#operations").getByRole("button", {name: /Show more/}).click();
    const text = await page.locator("#operations").innerText();
    for (const name of HOSTILE.slice(0, 2)) assert.ok(text.includes(name), name);
    await page.keyboard.press("1");
    await page.keyboard.press("3");
    await page.locator("#search").fill("<script");
    for (const summary of await page.locator("details.as-table summary").all()) await summary.click();
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, main script, svg svg, iframe").length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
});

test("a script that got into the data does not run", "quick", async (bench) => {
    const template = fs.readFileSync(TEMPLATE, "utf8");
    const file = path.join(bench.dir, "injected.html");
    const bad = '<script>window.hacked=1</script><img src="x" onerror="window.hacked=1"><iframe src="https://example.com"></iframe>';
    fs.writeFileSync(file, template.replace("<!--axprof-data-->", () => bad + encodeRun(small()).join("") + bad));
    const page = await bench.openFile(file);
    page.mayBeNoisy = true;
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    const refused = page.noise.filter((n) => n.includes("Content Security Policy"));
    assert.ok(refused.length >= 2, page.noise.join("\n"));
    assert.ok(!page.noise.some((n) => n.startsWith("request http")), "something was fetched");
});

test("the policy allows this script and this style alone", "quick", async () => {
    const html = fs.readFileSync(TEMPLATE, "utf8");
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
    const hash = (s) => `'sha256-${crypto.createHash("sha256").update(s).digest("base64")}'`;
    assert.match(policy, /default-src 'none'/);
    assert.ok(policy.includes(`script-src ${hash(/<script>([^]*?)<\/script>/.exec(html)[1])};`));
    assert.ok(policy.includes(`style-src ${hash(/<style>([^]*?)<\/style>/.exec(html)[1])};`));
    assert.ok(!/unsafe|https?:/.test(policy));
    assert.ok(Buffer.byteLength(html) < 200000, "the template is 200 KB or more");
    assert.equal(html.split("<!--axprof-data-->").length, 2);
});

/** A page that was cut off or changed, opened. */
async function damaged(bench, name, change) {
    const whole = path.join(bench.dir, "whole.html");
    if (!fs.existsSync(whole)) writePage(TEMPLATE, training(6000), whole);
    const file = path.join(bench.dir, `${name}.html`);
    fs.writeFileSync(file, change(fs.readFileSync(whole, "utf8")));
    const page = await bench.openFile(file, {wait: false});
    await page.locator("[role=alert]").first().waitFor();
    return page;
}

test("a file that is cut off says so and shows what it has", "quick", async (bench) => {
    const at = (mark, offset) => (s) => s.slice(0, s.indexOf(mark) + offset);
    let page = await damaged(bench, "cut-index", at('id="axp-index"', 100));
    await page.getByText("The file is cut off").first().waitFor();
    assert.ok((await page.locator("#operations tbody tr").count()) > 10);
    page = await damaged(bench, "cut-chunk", at('id="axp-c0"', 5000));
    await page.getByText("The file is cut off").first().waitFor();
    page = await damaged(bench, "cut-meta", at('id="axp-meta"', 3000));
    await page.getByText("cut off before its data begin").waitFor();
    page = await damaged(bench, "no-data", at('id="axp-meta"', -32));
    await page.getByText("empty template").waitFor();
    const file = path.join(bench.dir, "cut-script.html");
    fs.writeFileSync(file, fs.readFileSync(TEMPLATE, "utf8").slice(0, 100000));
    page = await bench.openFile(file, {wait: false});
    await page.getByText("the file is damaged or cut off").waitFor();
});

test("a damaged chunk is named, the rest is shown", "quick", async (bench) => {
    const flip = (id, where) => (s) => {
        const at = s.indexOf(`id="axp-c${id}">`) + 14 + where;
        return s.slice(0, at) + (s[at] === "A" ? "B" : "A") + s.slice(at + 1);
    };
    let page = await damaged(bench, "flip", flip(0, 9000));
    await page.getByText(/Part 1 of 1 of the timeline .*: [\d,]+ events are missing/).waitFor();
    assert.ok((await page.locator("#operations tbody tr").count()) > 10);
    page = await damaged(bench, "flip2", flip(1, 200));
    await page.getByText(/The data of memory is damaged/).waitFor();
    page = await damaged(bench, "not-base64", (s) => s.replace(/id="axp-c0">..../, 'id="axp-c0">****'));
    await page.getByText(/events are missing/).waitFor();
    page = await damaged(bench, "format", (s) => s.replace('"format":1', '"format":7'));
    await page.getByText("format 7").waitFor();
});

test("tables that refer to nothing break nothing", "quick", async (bench) => {
    const run = states(50);
    run.heap = heap().heap;
    run.states.push([77, 10, 20, 1], [3, 0, 2 ** 40, 9]); // no such thread; far past the end, of no known state
    run.wakers.push([run.tracks[0], 3, 99, 2 ** 45]);
    const parts = encodeRun(run);
    const index = JSON.parse(/>([^]*)<\/script>/.exec(parts.at(-1))[1]);
    // parents that come later, places at no node, names that are not there
    const put = (kind, columns) => {
        const t = index.tables.find((x) => x.kind === kind);
        parts[1 + t.chunk] = `<script type="application/octet-stream" id="axp-c${t.chunk}">${packChunk(columns)}</script>\n`;
        t.n = columns[0].length;
    };
    put("heap_tree", [[0, 1e6, 2, 3], [3, 3, 1, 900]]);
    put("heap_places", Array.from({length: 17}, (_, k) => (k === 0 ? [900, 2 ** 40, 1] : k < 13 ? [5, 2 ** 50, 70] : {bits: true, values: Float64Array.from([NaN, Infinity, -1]), length: 3})));
    parts[parts.length - 1] = `<script type="application/json" id="axp-index">${JSON.stringify(index)}</script>\n`;
    const file = path.join(bench.dir, "nothing.html");
    fs.writeFileSync(file, fs.readFileSync(TEMPLATE, "utf8").replace("<!--axprof-data-->", () => parts.join("")));
    const page = await bench.openFile(file);
    for (let i = 0; i < 4; i++) await page.keyboard.press("KeyH");
    for (const name of ["Scope", "Kind", "Function or name"]) await page.getByRole("group", {name: "One line for each"}).getByRole("button", {name, exact: true}).click();
    await page.locator("#heap").getByRole("button", {name: "Sandwich"}).click();
    for (const summary of await page.locator("details.as-table summary").all()) await summary.click();
    await page.evaluate(() => window.axprofTimeline.store.chooseSlice(3));
    await page.locator(".details h3").waitFor();
    await page.keyboard.press("[");
    await page.keyboard.press("]");
    assert.ok((await page.locator("#heap tbody tr").count()) > 2);
});
