// SPDX-License-Identifier: MIT OR Apache-2.0
// Screenshots in both themes, to be looked at by eye; docs/screenshots holds
// those of the last look.
//
//   node shots.mjs OUT [--full] [FILE.html | scenario] …
//
// For each the first screen and the timeline; with --full the whole page.
import fs from "node:fs";
import path from "node:path";
import {launch, open, scratch, TEMPLATE} from "./browser.mjs";
import {SCENARIOS} from "./scenarios.mjs";
import {writePage} from "./synth.mjs";

const args = process.argv.slice(2);
const full = args.includes("--full");
const [out = "shots", ...given] = args.filter((a) => a !== "--full");
const wanted = given.length ? given : ["training", "ranks", "threads200", "memoryOnly", "names", "small"];
fs.mkdirSync(out, {recursive: true});
const dir = scratch();
const browser = await launch();
for (const what of wanted) {
    const isFile = what.endsWith(".html");
    const name = isFile ? path.basename(what, ".html") : what;
    const file = isFile ? path.resolve(what) : path.join(dir, `${name}.html`);
    if (!isFile) writePage(TEMPLATE, SCENARIOS[name](), file);
    for (const theme of ["light", "dark"]) {
        const page = await open(browser, file, {context: {colorScheme: theme, reducedMotion: "reduce"}});
        await page.waitForTimeout(200);
        await page.screenshot({path: path.join(out, `${name}-${theme}.png`), fullPage: full});
        await page.evaluate(() => document.getElementById("timeline")?.scrollIntoView());
        await page.waitForTimeout(200);
        if (!full) await page.screenshot({path: path.join(out, `${name}-${theme}-timeline.png`)});
        if (page.noise.length) console.log(name, theme, page.noise);
        await page.context().close();
    }
}
await browser.close();
