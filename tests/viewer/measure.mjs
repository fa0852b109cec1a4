// SPDX-License-Identifier: MIT OR Apache-2.0
// Figures of the page: first text, first timeline frame, script of a frame
// while panning, memory, bytes an event.
//
//   node measure.mjs [--pages PROGRAM] [FILE.html … | 1000000 5000000 …]
//
// A number makes a run of so many events: a synthetic one, or with viewer_pages
// of a build as PROGRAM one that was recorded and written in C, and how fast
// that was. A file is a report that axprof wrote.
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {launch, open, scratch, TEMPLATE} from "./browser.mjs";
import {training} from "./scenarios.mjs";
import {writePage} from "./synth.mjs";

const wanted = process.argv.slice(2);
const pages = wanted[0] === "--pages" ? wanted.splice(0, 2)[1] : null;
const dir = scratch();
const templateSize = fs.statSync(TEMPLATE).size;
console.log(`template: ${templateSize} bytes`);

function median(list) {
    return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
}

/** Resident memory of the processes that a browser started, in MB: the largest. */
function largestRenderer() {
    let most = 0;
    for (const pid of fs.readdirSync("/proc").filter((p) => /^\d+$/.test(p))) {
        try {
            const cmd = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
            if (!cmd.includes("--type=renderer") || !cmd.includes("chromium")) continue;
            const kb = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
            most = Math.max(most, kb / 1024);
        } catch { /* it has ended */ }
    }
    return most;
}

/** Pans the whole trace by dragging; the script of each frame, in ms. */
async function pan(page) {
    return page.evaluate(async () => {
        const tl = window.axprofTimeline;
        const frame = () => new Promise((r) => requestAnimationFrame(r));
        const times = [];
        for (let i = 0; i < 90; i++) {
            tl.view.zoom((tl.view.from + tl.view.to) / 2, i === 0 ? 1.02 : 1);
            tl.view.pan((i % 20 < 10 ? 1 : -1) * tl.view.span * 0.0011);
            tl.redraw(true);
            await frame();
            await frame();
            times.push(tl.frameTimes.at(-1));
        }
        return times.slice(5);
    });
}

async function measure(file, n) {
    const size = fs.statSync(file).size - templateSize;
    const rows = [];
    for (let k = 0; k < 3; k++) {
        const browser = await launch();
        let session;
        const page = await open(browser, file, {before: async (p) => {
            session = await p.context().newCDPSession(p);
            await session.send("Performance.enable", {timeDomain: "threadTicks"});
        }});
        const {metrics} = await session.send("Performance.getMetrics");
        const cpu = 1000 * metrics.find((x) => x.name === "TaskDuration").value;
        const marks = await page.evaluate(() => Object.fromEntries(performance.getEntriesByType("mark").map((m) => [m.name, m.startTime]).concat(
            performance.getEntriesByType("paint").map((m) => [m.name, m.startTime]))));
        const events = await page.evaluate(() => window.axprofTimeline.report.trace.n);
        n ||= events;
        const times = await pan(page);
        await page.waitForTimeout(300);
        const ram = largestRenderer();
        const range = await page.evaluate(() => {
            const r = window.axprofTimeline.report;
            const t = performance.now();
            r.opsIn(r.duration * 0.01, r.duration * 0.99);
            return performance.now() - t;
        });
        rows.push({text: marks["axp-text"], frame: marks["axp-frame"], pan: median(times), worst: times.sort((a, b) => b - a)[4], ram, range, cpu});
        await browser.close();
    }
    const m = (key) => median(rows.map((r) => r[key]));
    console.log(`${n} events: file ${(size / 1e6).toFixed(2)} MB over the template, ${(size / n).toFixed(2)} bytes an event`);
    console.log(`  first text ${m("text").toFixed(0)} ms, first timeline frame ${m("frame").toFixed(0)} ms; of that the main thread ran ${m("cpu").toFixed(0)} ms`);
    console.log(`  script of a frame while panning ${m("pan").toFixed(1)} ms (95 of 100 under ${m("worst").toFixed(1)} ms)`);
    console.log(`  renderer ${m("ram").toFixed(0)} MB; table of a range of 98 % ${m("range").toFixed(0)} ms`);
}

for (const w of wanted.length ? wanted : ["1000000", "5000000"]) {
    if (!/^\d+$/.test(w)) {
        await measure(w, 0);
        continue;
    }
    const file = path.join(dir, pages ? "big.html" : `${w}.html`);
    if (pages) console.log(`written in C: ${execFileSync(pages, ["big", dir, w], {encoding: "utf8"}).trim()}`);
    else writePage(TEMPLATE, training(Number(w)), file, {level: Number(w) > 2e6 ? 1 : 6});
    await measure(file, 0);
    fs.rmSync(file);
}
