// SPDX-License-Identifier: MIT OR Apache-2.0
// Screenshots of synthetic runs, to be looked at by eye.
//
//   node shots.mjs OUT [scenario …]
import fs from "node:fs";
import path from "node:path";
import {launch, open, scratch, TEMPLATE} from "./browser.mjs";
import {SCENARIOS} from "./scenarios.mjs";
import {writePage} from "./synth.mjs";

const [out = "shots", ...wanted] = process.argv.slice(2);
fs.mkdirSync(out, {recursive: true});
const dir = scratch();
const browser = await launch();
for (const name of wanted.length ? wanted : ["training", "ranks", "threads200", "memoryOnly", "one", "names"]) {
    const file = path.join(dir, `${name}.html`);
    writePage(TEMPLATE, SCENARIOS[name](), file);
    for (const theme of ["light", "dark"]) {
        const page = await open(browser, file, {context: {colorScheme: theme}});
        await page.waitForTimeout(150);
        await page.screenshot({path: path.join(out, `${name}-${theme}.png`)});
        await page.screenshot({path: path.join(out, `${name}-${theme}-full.png`), fullPage: true});
        if (page.noise.length) console.log(name, theme, page.noise);
        await page.context().close();
    }
}
await browser.close();
