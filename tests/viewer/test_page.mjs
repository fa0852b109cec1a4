// SPDX-License-Identifier: MIT OR Apache-2.0
// The page used as people use it: mouse, wheel and keyboard.
import {assert, eventually, test} from "./harness.mjs";
import {names, one, training} from "./scenarios.mjs";
import {aggregate} from "./synth.mjs";

const RUN = training(6000);
const view = (page) => page.evaluate(() => [window.axprofTimeline.view.from, window.axprofTimeline.view.to]);
const state = (page, key) => page.evaluate((k) => window.axprofTimeline.store.state[k], key);

async function start(bench, options) {
    const page = await bench.openRun("training", RUN, {context: {reducedMotion: "reduce"}, ...options});
    await page.evaluate(() => document.getElementById("timeline").scrollIntoView());
    return {page, box: await page.locator(".tl-overlay").boundingBox()};
}

/** Where event number n of the name is on the screen. */
function place(page, name, n = 0) {
    return page.evaluate(([text, k]) => {
        const tl = window.axprofTimeline, t = tl.trace;
        let seen = 0;
        for (let i = 0; i < t.n; i++) {
            if (tl.report.text(t.name(i)) !== text || seen++ < k) continue;
            const b = tl.boxOf(i), c = tl.parts.base.getBoundingClientRect();
            return {x: c.left + b.x + b.w / 2, y: c.top + b.y + b.h / 2 - tl.parts.scroll.scrollTop, event: i};
        }
        return null;
    }, [name, n]);
}

test("the first screen answers", "quick", async (bench) => {
    const page = await bench.openRun("training", RUN);
    for (const text of ["gpt-124m", "./train --layers 8", "Wall time", "Step time", "Memory peak", "Of machine peak"]) {
        const box = await page.getByText(text, {exact: false}).first().boundingBox();
        assert.ok(box && box.y + box.height <= 800, `${text} is not on the first screen`);
    }
    const third = await page.locator(".finding").nth(2).boundingBox();
    assert.ok(third.y + third.height <= 800, "the third finding is not on the first screen");
    assert.equal(await page.locator(".verdict").count(), 1);
});

test("wheel and keys zoom and pan", "quick", async (bench) => {
    const {page, box} = await start(bench);
    const all = await view(page);
    await page.mouse.move(box.x + 700, box.y + 200);
    const under = await page.evaluate(() => window.axprofTimeline.hover.time);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    const zoomed = await view(page);
    assert.ok(zoomed[1] - zoomed[0] < 0.7 * (all[1] - all[0]), "Ctrl+wheel did not zoom");
    const still = zoomed[0] + ((700 - (await page.evaluate(() => window.axprofTimeline.gutter))) / (await page.evaluate(() => window.axprofTimeline.plotWidth))) * (zoomed[1] - zoomed[0]);
    assert.ok(Math.abs(still - under) < 0.01 * (all[1] - all[0]), "the time under the pointer moved");
    await page.keyboard.press("KeyW");
    const closer = await view(page);
    assert.ok(closer[1] - closer[0] < zoomed[1] - zoomed[0]);
    await page.keyboard.press("KeyD");
    assert.ok((await view(page))[0] > closer[0]);
    await page.keyboard.press("KeyA");
    await page.keyboard.press("KeyS");
    const back = await view(page);
    assert.ok(Math.abs(back[1] - back[0] - (zoomed[1] - zoomed[0])) < 1e-6 * all[1]);
    await page.keyboard.press("0");
    assert.deepEqual((await view(page)).map(Math.round), all.map(Math.round));
    const before = await page.evaluate(() => scrollY);
    await page.mouse.move(box.x + 700, box.y + 20);
    await page.mouse.wheel(0, 240);
    const moved = () => page.evaluate(() => scrollY + window.axprofTimeline.parts.scroll.scrollTop);
    await eventually(moved, (y) => y - before > 50); // a plain wheel scrolls
    assert.deepEqual((await view(page)).map(Math.round), all.map(Math.round));
});

test("shift-drag and middle-drag pan", "full", async (bench) => {
    const {page, box} = await start(bench);
    await page.mouse.move(box.x + 700, box.y + 230);
    for (let i = 0; i < 6; i++) await page.keyboard.press("KeyW");
    for (const button of ["left", "middle"]) {
        const before = await view(page);
        if (button === "left") await page.keyboard.down("Shift");
        await page.mouse.move(box.x + 700, box.y + 230);
        await page.mouse.down({button});
        await page.mouse.move(box.x + 500, box.y + 230, {steps: 4});
        await page.mouse.up({button});
        await page.keyboard.up("Shift");
        const after = await view(page);
        assert.ok(after[0] > before[0], `${button} drag did not pan`);
        assert.equal(await state(page, "range"), null);
    }
});

test("a dragged range recomputes table and tree", "quick", async (bench) => {
    const {page, box} = await start(bench);
    await page.mouse.move(box.x + 400, box.y + 250);
    await page.mouse.down();
    await page.mouse.move(box.x + 620, box.y + 250, {steps: 5});
    await page.mouse.up();
    const range = await state(page, "range");
    assert.ok(range && range[1] > range[0]);
    const {ops} = aggregate(RUN, range[0], range[1]);
    const want = [...ops.values()].sort((a, b) => b.self - a.self);
    const name = (await page.locator("#operations tbody tr").first().locator(".name").innerText()).trim();
    assert.equal(name, RUN.strings[want[0].name]);
    const calls = await page.locator("#operations tbody tr").first().locator("td").nth(3).innerText();
    assert.equal(Number(calls.replace(/,/g, "")), want[0].calls);
    await page.locator("#flame").getByText(/In the selected/).waitFor();
    await page.locator("#memory h3", {hasText: "At the most in the selected range"}).waitFor();
    await page.getByRole("button", {name: "Clear the range"}).click();
    assert.equal(await state(page, "range"), null);
    await page.locator("#operations").getByText(/The whole run/).waitFor();
});

test("a slice is chosen and described; next, parent, child", "quick", async (bench) => {
    const {page} = await start(bench);
    await page.evaluate(() => {
        const {store, report} = window.axprofTimeline;
        store.set({view: [report.steps[2].begin, report.steps[2].end]});
    });
    const p = await place(page, "backward", 2);
    await page.mouse.click(p.x, p.y);
    assert.equal(await state(page, "slice"), p.event);
    const details = page.getByRole("status", {name: "Selected slice"});
    assert.match(await details.innerText(), /backward[^]*Duration[^]*Inside[^]*train_step/);
    await page.keyboard.press(".");
    const next = await state(page, "slice");
    assert.equal(next, p.event + 1);
    await page.keyboard.press(",");
    assert.equal(await state(page, "slice"), p.event);
    await page.keyboard.press("ArrowDown");
    const name = () => page.evaluate(() => window.axprofTimeline.report.text(window.axprofTimeline.trace.name(window.axprofTimeline.store.state.slice)));
    assert.equal(await name(), "block.backward");
    await page.keyboard.press("ArrowUp");
    assert.equal(await name(), "backward");
    await page.keyboard.press("KeyF");
    const [a, b] = await view(page);
    const d = await page.evaluate((i) => [window.axprofTimeline.trace.start[i], window.axprofTimeline.trace.dur[i]], p.event);
    assert.ok(a <= d[0] && b >= d[0] + d[1] && b - a < 2 * d[1], "F does not focus");
    assert.equal(await page.locator("#operations tr.chosen .name").first().innerText(), "backward");
    await page.keyboard.press("Escape");
    assert.equal(await state(page, "slice"), -1);
});

test("flows lead from launch to kernel and back", "full", async (bench) => {
    const {page} = await start(bench);
    const first = await page.evaluate(() => {
        const {trace, store} = window.axprofTimeline;
        store.chooseSlice(trace.flows.from[10]);
        return [trace.flows.from[10], trace.flows.to[10]];
    });
    await page.keyboard.press("]");
    assert.equal(await state(page, "slice"), first[1]);
    await page.getByText("Launched by").waitFor();
    await page.keyboard.press("[");
    assert.equal(await state(page, "slice"), first[0]);
});

test("search counts, highlights and walks", "quick", async (bench) => {
    const {page} = await start(bench);
    await page.keyboard.press("/");
    await page.keyboard.type("softmax");
    const want = RUN.tracks.reduce((s, t) => s + t.nameId.filter((n) => RUN.strings[n].includes("softmax")).length, 0);
    await page.getByText(`${want.toLocaleString("en")} slices`, {exact: false}).first().waitFor();
    await page.keyboard.press("Enter");
    const a = await state(page, "slice");
    await page.keyboard.press("Enter");
    const b = await state(page, "slice");
    await page.keyboard.press("Shift+Enter");
    assert.ok(a >= 0 && b >= 0 && a !== b);
    assert.equal(await state(page, "slice"), a);
    const names = await page.locator("#operations tbody .name").allInnerTexts();
    assert.ok(names.length === 4 && names.every((n) => n.includes("softmax")), names.join());
});

test("tables sort, and say so", "quick", async (bench) => {
    const {page} = await start(bench);
    const head = page.locator("#operations thead th", {hasText: "Calls"});
    assert.equal(await head.getAttribute("aria-sort"), "none");
    await head.getByRole("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    const calls = (await page.locator("#operations tbody tr td:nth-child(5)").allInnerTexts()).map((s) => Number(s.replace(/,/g, "")));
    assert.deepEqual(calls, [...calls].sort((a, b) => b - a));
    await head.getByRole("button").press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
});

test("tables are copied as CSV and Markdown", "full", async (bench) => {
    const page = await bench.openRun("training", RUN);
    await page.evaluate(() => {
        navigator.clipboard.writeText = async (text) => { window.copied = text; };
    });
    await page.getByRole("button", {name: "Copy Operations as CSV"}).click();
    const csv = await page.evaluate(() => window.copied);
    const lines = csv.trim().split("\n");
    const {ops} = aggregate(RUN);
    assert.equal(lines.length, ops.size + 1);
    assert.match(lines[0], /^"name","self_ns","share","total_ns","calls"/);
    const top = [...ops.values()].sort((a, b) => b.self - a.self)[0];
    assert.ok(lines[1].startsWith(`"${RUN.strings[top.name]}",${top.self},`));
    await page.getByRole("button", {name: "Copy Operations as Markdown"}).click();
    assert.match(await page.evaluate(() => window.copied), /^\| Operation \| Self \|.*\n\|---\|---:\|/);
});

test("the histogram leads to the slowest step, and to what was slow in it", "quick", async (bench) => {
    const page = await bench.openRun("training", RUN);
    await page.locator(".bin").last().click();
    const slowest = await page.evaluate(() => {
        const s = window.axprofTimeline.report.steps;
        return s.reduce((best, x, i) => (x.end - x.begin > s[best].end - s[best].begin ? i : best), 0);
    });
    assert.equal(await state(page, "step"), slowest);
    assert.match(await page.locator(".compare h3").innerText(), /^Step \d+ beside the median step \d+$/);
    await page.locator(".bin").first().press("Enter");
    assert.notEqual(await state(page, "step"), slowest);
});

test("the flame graph in three ways", "full", async (bench) => {
    const {page} = await start(bench);
    for (const [key, name] of [["1", "Time order"], ["2", "Left heavy"], ["3", "Sandwich"]]) {
        await page.keyboard.press(key);
        await page.locator("#flame").getByRole("button", {name, pressed: true}).waitFor();
    }
    await page.keyboard.press("2");
    for (const by of ["by calls", "by bytes", "by time"]) await page.locator("#flame").getByRole("button", {name: by}).click();
    const canvas = page.locator("#flame canvas");
    await canvas.focus();
    for (const k of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(k);
    const op = await state(page, "op");
    assert.ok(op >= 0, "Enter did not choose");
    await page.getByRole("button", {name: "Reset zoom"}).waitFor();
    await page.locator("#flame summary").click();
    await page.locator("#flame tbody tr").nth(5).waitFor();
});

test("a finding leads to its slices and its row", "full", async (bench) => {
    const page = await bench.openRun("training", RUN);
    await page.locator(".finding").nth(1).getByRole("button", {name: "show in timeline"}).click();
    const name = await page.evaluate(() => window.axprofTimeline.report.text(window.axprofTimeline.trace.name(window.axprofTimeline.store.state.slice)));
    assert.equal(name, "queue.get");
    await page.locator(".finding").nth(1).getByRole("button", {name: "table row"}).click();
    assert.equal(await page.locator("#operations tr.chosen .name").first().innerText(), "queue.get");
});

test("a dot of the roofline leads to its operation", "full", async (bench) => {
    const page = await bench.openRun("training", RUN);
    const dot = page.locator("circle.dot").last();
    const label = await dot.getAttribute("aria-label");
    await dot.press("Enter");
    assert.ok(label.startsWith(await page.locator("#operations tr.chosen .name").first().innerText()));
});

test("what the lines of the roofline say is beside them and covers nothing", "full", async (bench) => {
    const run = training(6000);
    // Two peaks of one height, and levels of memory for all threads and for one.
    run.meta.machine = {name: "a CPU", cores: 2, gflops: [["f32, 2 threads", 166e3], ["f32, 1 thread", 83e3], ["f64, 2 threads", 83e3], ["f64, 1 thread", 41e3]],
        gbps: [["L1, 2 threads", 29700], ["L2, 2 threads", 19100], ["memory, 2 threads", 8880], ["L1, 1 thread", 14800, 83e3], ["memory, 1 thread", 4640, 83e3]]};
    for (const width of [1280, 420]) {
        const page = await bench.openRun("roofline", run, {context: {viewport: {width, height: 900}}});
        await page.locator("svg.roofline").scrollIntoViewIfNeeded();
        const seen = await page.evaluate(() => {
            const svg = document.querySelector("svg.roofline").getBoundingClientRect(), is = (e) => e.getBoundingClientRect();
            const flat = [...document.querySelectorAll(".ceiling text:not([transform])")].map(is);
            const over = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
            return {
                flat: flat.length, covered: flat.some((a, i) => flat.some((b, k) => k < i && over(a, b))),
                out: [...document.querySelectorAll(".ceiling text, .ceiling line")].filter((e) => is(e).top < svg.top - 2 || is(e).bottom > svg.bottom + 2).map((e) => e.textContent || "a line"),
            };
        });
        assert.deepEqual(seen, {flat: width > 500 ? 4 : seen.flat, covered: false, out: []}, `at ${width}`);
    }
});

test("marks, help, cursor", "full", async (bench) => {
    const {page, box} = await start(bench);
    await page.mouse.move(box.x + 600, box.y + 200);
    await page.keyboard.press("KeyM");
    assert.equal((await state(page, "marks")).length, 1);
    await page.keyboard.press("KeyM");
    assert.equal((await state(page, "marks")).length, 0);
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({state: "hidden"});
    await page.mouse.click(box.x + 600, box.y + 40); // the memory lane
    await page.locator("#memory h3", {hasText: "Live around"}).waitFor();
});

test("a plot is where its axis says, and a click on it is a moment", "quick", async (bench) => {
    const page = await bench.openRun("training", RUN);
    const plot = page.locator("#memory .plot");
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    const moment = async (at) => {
        await page.mouse.click(box.x + at, box.y + 100);
        return state(page, "cursor");
    };
    const [from, to] = [await moment(300), await moment(900)];
    const {end, peakAt} = await page.evaluate(() => ({end: window.axprofTimeline.report.duration, peakAt: window.axprofTimeline.report.meta.memory.peak_at}));
    const x = (t) => 300 + ((t - from) / (to - from)) * 600;
    assert.ok(x(0) > 40 && x(0) < 90 && Math.abs(box.width - x(end) - 13) < 2, `the axis goes from ${x(0)} to ${x(end)} of ${box.width}`);
    // The curve is at its highest where the peak was: nothing is drawn above it.
    const top = await page.evaluate((at) => {
        const c = document.querySelector("#memory .plot canvas"), k = c.width / c.clientWidth;
        const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        const isColoured = (i) => d[i + 3] === 255 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 30;
        const tops = Array.from({length: c.width}, (_, px) => {
            let y = 0;
            while (y < c.height && !isColoured(4 * (y * c.width + px))) y++;
            return y;
        });
        return [Math.min(...tops.slice(Math.round(at * k) - 1, Math.round(at * k) + 2)), Math.min(...tops)];
    }, x(peakAt) - 1); // the border
    assert.ok(top[0] <= top[1] + 2, `the curve reaches ${top[0]} at the peak and ${top[1]} at its highest`);
});

test("a deep link restores everything", "quick", async (bench) => {
    const {page, box} = await start(bench);
    await page.mouse.move(box.x + 600, box.y + 250);
    for (let i = 0; i < 9; i++) await page.keyboard.press("KeyW");
    await page.mouse.down();
    await page.mouse.move(box.x + 900, box.y + 250, {steps: 3});
    await page.mouse.up();
    const p = await place(page, "forward", 1);
    await page.evaluate((i) => window.axprofTimeline.store.chooseSlice(i), p.event);
    await page.keyboard.press("3");
    await page.keyboard.press("KeyM");
    // The mark was made last: with it all is in the address.
    await eventually(() => new URL(page.url()).hash, (h) => new URLSearchParams(h.slice(1)).has("m"));
    const keys = ["op", "range", "slice", "flameMode", "marks"];
    const before = await Promise.all(keys.map((k) => state(page, k)));
    const saw = await view(page);
    const hash = new URL(page.url()).hash;
    assert.ok(hash.length > 10);
    const again = await bench.openRun("training", RUN, {hash});
    assert.deepEqual(await Promise.all(keys.map((k) => state(again, k))), before);
    const sees = await view(again);
    assert.ok(Math.abs(sees[0] - saw[0]) < (saw[1] - saw[0]) / 100, "another view");
});

test("a range and the memory's moment by keyboard", "full", async (bench) => {
    const {page} = await start(bench);
    for (let i = 0; i < 5; i++) await page.keyboard.press("KeyW");
    await page.keyboard.press("KeyR");
    const [from, to] = await view(page);
    const range = await state(page, "range");
    const pixel = (to - from) / 1000; // a frame puts the view on whole pixels
    assert.ok(Math.abs(range[0] - from) <= pixel && Math.abs(range[1] - to) <= pixel, `${range} of ${from} to ${to}`);
    const slider = page.getByRole("slider", {name: "Moment that the table shows"});
    await slider.focus();
    await page.keyboard.press("Home");
    assert.equal(await state(page, "cursor"), RUN.memory.table.time[0]);
    await page.keyboard.press("ArrowRight");
    assert.equal(await state(page, "cursor"), RUN.memory.table.time[1]);
});

test("themes: the system's, and one's own", "quick", async (bench) => {
    const page = await bench.openRun("training", RUN, {context: {colorScheme: "dark"}});
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.emulateMedia({colorScheme: "light"});
    await page.locator('html[data-theme="light"]').waitFor();
    const light = await background();
    assert.notEqual(dark, light);
    await page.getByRole("button", {name: /Theme: auto/}).click();
    assert.equal(await background(), dark);
    await page.getByRole("button", {name: /Theme: dark/}).click();
    assert.equal(await background(), light);
});

test("the keyboard reaches everything", "full", async (bench) => {
    const page = await bench.openRun("training", RUN);
    const seen = new Set();
    await page.evaluate(() => document.body.focus());
    for (let i = 0; i < 260; i++) {
        await page.keyboard.press("Tab");
        seen.add(await page.evaluate(() => {
            const e = document.activeElement;
            return e.id || e.className?.baseVal || e.className || e.tagName;
        }));
    }
    for (const what of ["search", "tl-scroll", "row-button", "bin ", "term", "table-scroll"]) assert.ok([...seen].some((s) => String(s).includes(what)), `${what} was not reached`);
    const named = await page.evaluate(() => [...document.querySelectorAll("button, input, select, canvas[tabindex], [role=button], [role=application]")]
        .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(named, []);
    const charts = await page.evaluate(() => document.querySelectorAll("table caption").length);
    assert.ok(charts >= 6, `${charts} tables`);
});

test("the flame graph of a range has a root, and async spans are not in it", "quick", async (bench) => {
    const run = training(6000);
    const span = run.also("a0", "slices", 0, "epoch");
    span.span("epoch", 0, run.tracks[0].last);
    const page = await bench.openRun("async", run);
    await page.evaluate(() => window.axprofTimeline.store.set({range: [20e6, 60e6]}));
    await page.locator("#flame canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("#flame .said", {hasText: /^all — .* 100 %$/}).waitFor();
    await page.getByText("As a table: the heaviest paths").click();
    await page.locator("#flame tbody tr").first().waitFor();
    const paths = await page.locator("#flame tbody th").allInnerTexts();
    assert.ok(paths.length > 5 && !paths.some((p) => p.includes("epoch") || p.includes("unknown")), paths.join("; "));
    const epoch = await page.evaluate(() => {
        const {report} = window.axprofTimeline;
        const o = report.opsIn(20e6, 60e6).ops.find((x) => report.text(x.name) === "epoch");
        return [o.calls, o.total, o.self];
    });
    assert.deepEqual(epoch, [1, 40e6, 0]);
});

test("columns explain themselves, by pointer and by keyboard", "quick", async (bench) => {
    const page = await bench.openRun("training", RUN);
    for (const summary of await page.locator("details.as-table summary").all()) await summary.click();
    const plain = ["Operation", "Name", "Counter", "Step", "Rank", "Threads", "Last", "Lowest", "Highest", "Values shown"];
    const silent = await page.locator("thead button").evaluateAll((list) => list.filter((b) => !b.dataset.tip).map((b) => b.firstChild.textContent));
    assert.deepEqual(silent.filter((t) => !plain.includes(t) && !/^(Median )?[Ss]tep/.test(t)), []);
    await page.locator("#operations thead button", {hasText: "Self"}).focus();
    assert.match(await page.getByRole("tooltip").innerText(), /without the scopes inside/);
    await page.locator(".severity").first().focus();
    assert.match(await page.getByRole("tooltip").innerText(), /critical from 35 %/);
    const other = await bench.openRun("names", names());
    await other.locator("#operations .row-button", {hasText: "at::native"}).focus();
    assert.match(await other.getByRole("tooltip").innerText(), /CUDAFunctor_add<float>/);
});

test("links between sections take the focus along", "quick", async (bench) => {
    const page = await bench.openRun("training", RUN);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the table");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "operations");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => !!document.activeElement.closest("#operations")));
    await page.locator("nav").getByText("Memory").press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "memory");
});

test("drawing many slices costs little more than drawing none", "full", async (bench) => {
    const frame = (page) => page.evaluate(async () => {
        const tl = window.axprofTimeline;
        const times = [];
        for (let i = 0; i < 25; i++) {
            tl.setTheme(); // nothing painted before can be used
            const t = performance.now();
            tl.draw();
            times.push(performance.now() - t);
            await new Promise((r) => requestAnimationFrame(r));
        }
        return times.sort((a, b) => a - b)[8];
    });
    const few = await frame(await bench.openRun("one", one()));
    const many = await frame(await bench.openRun("training60k", training(60000)));
    assert.ok(many < 25 * Math.max(few, 0.2), `${many} ms against ${few} ms`);
});
