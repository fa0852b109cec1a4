// SPDX-License-Identifier: MIT OR Apache-2.0
// A real Chromium for the tests: the distribution's, a fresh profile, no
// network. Pages are opened from file://, and every request and every message
// on the console is kept, since a report must cause none.
import fs from "node:fs";
import {createRequire} from "node:module";
import os from "node:os";
import path from "node:path";
import {fileURLToPath, pathToFileURL} from "node:url";

export const HERE = path.dirname(fileURLToPath(import.meta.url));
export const TOP = path.join(HERE, "..", "..");
export const TEMPLATE = path.join(TOP, "viewer", "dist", "report.html");
export const SKIPPED = 77; // exit status that the test runner takes as "skipped"

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--js-flags=--expose-gc"];

export function skip(reason) {
    console.log(`skipped: ${reason}`);
    process.exit(SKIPPED);
}

function findChromium() {
    const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    for (const dir of (process.env.PATH ?? "").split(":"))
        for (const name of names) if (dir && fs.existsSync(path.join(dir, name))) return path.join(dir, name);
    return null;
}

function loadPlaywright() {
    try {
        return createRequire(path.join(TOP, "viewer", "package.json"))("playwright-core");
    } catch {
        return null;
    }
}

/** A browser; where the machine has none the test is skipped. */
export async function launch(options = {}) {
    const playwright = loadPlaywright();
    if (!playwright) skip("viewer/node_modules is not installed (npm ci in viewer/)");
    const executablePath = findChromium();
    if (!executablePath) skip("there is no Chromium");
    return playwright.chromium.launch({executablePath, args: FLAGS, headless: true, ...options});
}

export function scratch() {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "axp-viewer-"));
    process.on("exit", () => fs.rmSync(dir, {recursive: true, force: true}));
    return dir;
}

/** Opens a file, or null: nothing yet; `page.noise` collects requests, console
 * messages and errors. */
export async function open(browser, file, options = {}) {
    const {context: contextOptions = {}, before = null} = options;
    const context = await browser.newContext({viewport: {width: 1280, height: 800}, offline: true, ...contextOptions});
    const page = await context.newPage();
    page.noise = [];
    page.on("request", (r) => {
        if (!r.url().startsWith("file:") && !r.url().startsWith("data:")) page.noise.push(`request ${r.url()}`);
        else if (r.url().startsWith("file:") && !r.isNavigationRequest()) page.noise.push(`request ${r.url()}`);
    });
    page.on("console", (m) => page.noise.push(`console ${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => page.noise.push(`error ${e.message}`));
    if (before) await before(page);
    if (file) await visit(page, file, options);
    return page;
}

export async function visit(page, file, {hash = "", wait = true} = {}) {
    await page.goto(pathToFileURL(file).href + hash);
    if (wait) await page.locator("html[data-ready]").waitFor({state: "attached", timeout: 60000});
}
