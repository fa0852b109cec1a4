// SPDX-License-Identifier: MIT OR Apache-2.0
// The little that the browser tests need around them: a list of tests, a
// shared browser, assertions that say what they saw.
import assert from "node:assert/strict";
import path from "node:path";
import {launch, open, scratch, TEMPLATE, visit} from "./browser.mjs";
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
        this.idle = []; // pages of tests before, gone to about:blank
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
    /** In a page that a test before has left, if one has the same settings: a
     * profile and a process of its own take as long as the report itself. */
    async openFile(file, options = {}) {
        const kind = kindOf(options);
        const k = kind === null ? -1 : this.idle.findIndex((p) => p.kind === kind);
        const used = k < 0 ? null : this.idle.splice(k, 1)[0];
        const page = used ?? (await open(this.browser, null, options));
        page.kind = kind;
        this.pages.push(page);
        await visit(page, file, options);
        return page;
    }
    /** What is kept for others has nothing of the test: its document is gone, and
     * with it all that scripts had; the pointer is where it began. */
    async leave(page) {
        await page.evaluate(() => localStorage.clear());
        await page.mouse.move(0, 0);
        await page.goto("about:blank");
        page.noise = [];
        this.idle.push(page);
    }
    async closeAll(mayKeep = false) {
        for (const p of this.pages) {
            if (mayKeep && p.kind !== null && !p.mayBeNoisy) await this.leave(p);
            else await p.context().close();
        }
        this.pages = [];
    }
}

/** Pages of one kind may follow each other; null: what a test has changed in it
 * would stay, or it is not known to be whole. */
function kindOf({context = {}, wait = true, before = null}) {
    const isPlain = Object.keys(context).every((key) => key === "reducedMotion");
    return isPlain && wait && !before ? JSON.stringify(context) : null;
}

export async function runAll(level, options) {
    const browser = await launch();
    const bench = new Bench(browser, options);
    const filter = options.only ? new RegExp(options.only) : /./;
    let failed = 0, passed = 0;
    for (const t of tests) {
        if ((level === "quick" && t.level !== "quick") || !filter.test(t.name)) continue;
        const begin = Date.now();
        let isOk = false;
        try {
            await t.fn(bench);
            for (const p of bench.pages) if (!p.mayBeNoisy) assert.deepEqual(p.noise, [], "the page made requests or wrote to the console");
            isOk = true;
            passed++;
            console.log(`ok      ${t.name} (${Date.now() - begin} ms)`);
        } catch (e) {
            failed++;
            console.log(`FAILED  ${t.name}\n${e.stack ?? e}`);
            for (const p of bench.pages) if (p.noise.length) console.log(p.noise.slice(0, 5));
        }
        await bench.closeAll(isOk && level === "quick"); // in full, each its own
    }
    await browser.close();
    console.log(`${passed} passed, ${failed} failed`);
    return failed === 0 && passed > 0;
}
