// SPDX-License-Identifier: MIT OR Apache-2.0
// The page in Firefox, where the distribution has it: decoded, drawn, and
// summed as in Chromium. Spoken to by WebDriver BiDi, which Firefox has built
// in; Playwright knows only a Firefox of its own.
import {spawn} from "node:child_process";
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {pathToFileURL} from "node:url";
import {TEMPLATE, TOP} from "./browser.mjs";
import {assert, test} from "./harness.mjs";
import {hostile, training} from "./scenarios.mjs";
import {aggregate, writePage} from "./synth.mjs";

function findFirefox() {
    for (const dir of (process.env.PATH ?? "").split(":"))
        for (const name of ["firefox", "firefox-esr"]) if (dir && fs.existsSync(path.join(dir, name))) return path.join(dir, name);
    return null;
}

/** Firefox with a fresh profile; `send` speaks BiDi, `stop` ends it. */
async function startFirefox(program, profile) {
    const {ws: WebSocket} = createRequire(path.join(TOP, "viewer", "package.json"))("playwright-core/lib/utilsBundle");
    fs.mkdirSync(profile, {recursive: true});
    const child = spawn(program, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], {stdio: ["ignore", "ignore", "pipe"], env: {...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: "1"}});
    const address = await new Promise((resolve, reject) => {
        let text = "";
        child.stderr.on("data", (d) => {
            text += d;
            const m = /WebDriver BiDi listening on (ws:\S+)/.exec(text);
            if (m) resolve(m[1]);
        });
        child.on("exit", () => reject(new Error(`Firefox ended: ${text.slice(-300)}`)));
        setTimeout(() => reject(new Error("Firefox did not start")), 60000);
    });
    const socket = new WebSocket(`${address}/session`);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const waiting = new Map();
    socket.on("message", (m) => {
        const r = JSON.parse(m);
        waiting.get(r.id)?.(r);
    });
    let id = 0;
    const send = (method, params) => new Promise((resolve, reject) => {
        waiting.set(++id, (r) => (r.type === "success" ? resolve(r.result) : reject(new Error(`${method}: ${r.message}`))));
        socket.send(JSON.stringify({id, method, params}));
    });
    await send("session.new", {capabilities: {}});
    const stop = () => {
        socket.close();
        child.kill();
        return new Promise((r) => child.on("exit", r));
    };
    return {send, stop};
}

test("Firefox decodes and sums the same, and runs nothing that a name says", "full", async (bench) => {
    const program = findFirefox();
    if (!program) return console.log("        (no Firefox here)");
    const run = training(6000);
    const file = path.join(bench.dir, "firefox.html");
    writePage(TEMPLATE, run, file);
    const {send, stop} = await startFirefox(program, path.join(bench.dir, "firefox"));
    try {
        const {contexts} = await send("browsingContext.getTree", {});
        const context = contexts[0].context;
        await send("browsingContext.navigate", {context, url: pathToFileURL(file).href, wait: "complete"});
        const evaluate = async (expression) => {
            const r = await send("script.evaluate", {expression, target: {context}, awaitPromise: true});
            if (r.type !== "success") throw new Error(JSON.stringify(r.exceptionDetails).slice(0, 500));
            return JSON.parse(r.result.value);
        };
        const ready = `(async () => { while (!document.documentElement.hasAttribute("data-ready")) await new Promise((r) => setTimeout(r, 50)); return "1"; })()`;
        await evaluate(ready);
        const end = run.tracks[0].last, a = Math.round(end * 0.3), b = Math.round(end * 0.6);
        const got = await evaluate(`(() => { const {report} = window.axprofTimeline; return JSON.stringify({n: report.trace.n, problems: report.problems, ops: Object.fromEntries(report.opsIn(${a}, ${b}).ops.map((o) => [report.text(o.name), [o.calls, o.total, o.self]]))}); })()`);
        assert.equal(got.n, run.tracks.reduce((s, t) => s + t.start.length, 0));
        assert.deepEqual(got.problems, []);
        const {ops} = aggregate(run, a, b);
        assert.deepEqual(got.ops, Object.fromEntries([...ops.values()].map((o) => [run.strings[o.name], [o.calls, o.total, o.self]])));
        const drawn = await evaluate(`(() => { const c = document.querySelector(".tl-stick canvas"); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]); return String(seen.size); })()`);
        assert.ok(drawn > 20, `${drawn} colours on the timeline`);
        // Names that would run something, if they could.
        const bad = path.join(bench.dir, "firefox-hostile.html");
        writePage(TEMPLATE, hostile(), bad);
        await send("browsingContext.navigate", {context, url: pathToFileURL(bad).href, wait: "complete"});
        await evaluate(ready);
        assert.deepEqual(await evaluate(`JSON.stringify({hacked: window.hacked ?? 0, rows: document.querySelectorAll("#operations tbody tr").length, foreign: document.querySelectorAll("img, main script, iframe").length})`), {hacked: 0, rows: 15, foreign: 0});
    } finally {
        await stop();
    }
});
