// SPDX-License-Identifier: MIT OR Apache-2.0
// The little that the browser tests need around them: a list of tests, a
// shared browser, assertions that say what they saw.
import assert from "node:assert/strict";
import path from "node:path";
import {launch, open, scratch, TEMPLATE} from "./browser.mjs";
import {writePage} from "./synth.mjs";

export {assert};
const tests = [];

/** level: "quick" is part of `make test`, "full" of `make check-all` alone. */
export function test(name, level, fn) {
    tests.push({name, level, fn});
}

/** Asks until the answer is right, for ten seconds: frames come when they come. */
export async function eventually(ask, isRight) {
    let got;
    for (let i = 0; i < 100; i++) {
        if (isRight((got = await ask()))) return;
        await new Promise((r) => setTimeout(r, 100));
    }
    assert.fail(`in the end it was ${JSON.stringify(got)}`);
}

export class Bench {
    constructor(browser, options) {
        this.browser = browser;
        this.options = options; // pages: the C program that writes pages
        this.dir = scratch();
        this.pages = [];
        this.made = new Map();
    }
    /** The page of a synthetic run, opened. */
    async openRun(name, run, options = {}) {
        const file = path.join(this.dir, `${name}.html`);
        if (!this.made.has(name)) {
            writePage(TEMPLATE, run, file);
            this.made.set(name, file);
        }
        return this.openFile(file, options);
    }
    async openFile(file, options = {}) {
        const page = await open(this.browser, file, options);
        this.pages.push(page);
        return page;
    }
    async closeAll() {
        for (const p of this.pages) await p.context().close();
        this.pages = [];
    }
}

export async function runAll(level, options) {
    const browser = await launch();
    const bench = new Bench(browser, options);
    const filter = options.only ? new RegExp(options.only) : /./;
    let failed = 0, passed = 0;
    for (const t of tests) {
        if ((level === "quick" && t.level !== "quick") || !filter.test(t.name)) continue;
        const begin = Date.now();
        try {
            await t.fn(bench);
            for (const p of bench.pages) if (!p.mayBeNoisy) assert.deepEqual(p.noise, [], "the page made requests or wrote to the console");
            passed++;
            console.log(`ok      ${t.name} (${Date.now() - begin} ms)`);
        } catch (e) {
            failed++;
            console.log(`FAILED  ${t.name}\n${e.stack ?? e}`);
            for (const p of bench.pages) if (p.noise.length) console.log(p.noise.slice(0, 5));
        }
        await bench.closeAll();
    }
    await browser.close();
    console.log(`${passed} passed, ${failed} failed`);
    return failed === 0 && passed > 0;
}
