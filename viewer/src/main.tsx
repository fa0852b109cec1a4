// SPDX-License-Identifier: MIT OR Apache-2.0
// Start: the script stands before the data in the file, so it waits for meta,
// draws the summary as soon as that is there, and decodes the chunks when the
// whole file has been parsed.
import {render} from "preact";
import {readBlock, type Index, type Meta} from "./data/meta";
import {Report} from "./data/report";
import {Store} from "./state";
import {App} from "./ui/app";
import "./style.css";

let store: Store | null = null;
/** When the first screen has been seen, and what is below it is there too. */
let drawn = Promise.resolve();

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme(): void {
    const chosen = store?.state.theme ?? "auto";
    const dark = chosen === "auto" ? prefersDark.matches : chosen === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (store && store.state.dark !== dark) store.set({dark});
}

function fail(text: string): void {
    const p = document.createElement("p");
    p.className = "fatal";
    p.setAttribute("role", "alert");
    p.textContent = text;
    document.getElementById("app")!.replaceChildren(p);
}

/** Draws what meta has; false: it is not whole. */
function begin(): boolean {
    const meta = readBlock<Meta>("axp-meta");
    if (!meta) return false;
    if (meta.format !== 1) {
        fail(`This report has format ${meta.format}, and the page knows format 1 only.`);
        return true;
    }
    document.title = `${meta.run.title.slice(0, 100)} – axprof`;
    const report = new Report(meta);
    store = new Store(report);
    const theme = /(?:^|&)t=(dark|light)/.exec(location.hash.slice(1));
    if (theme) store.state.theme = theme[1] as "dark" | "light";
    applyTheme();
    store.subscribe((c) => c.theme && applyTheme());
    const app = document.getElementById("app")!;
    app.replaceChildren();
    const draw = (all: boolean): void => render(<App report={report} store={store!} all={all} />, app);
    draw(false);
    drawn = afterPaint().then(() => {
        performance.mark("axp-text");
        draw(true);
    });
    return true;
}

function afterPaint(): Promise<void> {
    return new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
}

async function loadTimeline(s: Store): Promise<void> {
    const index = readBlock<Index>("axp-index");
    if (!index) {
        s.report.problems.push("The file is cut off: the timeline is missing. What is shown here was at its beginning.");
        s.set({loaded: -1});
        document.documentElement.dataset.ready = "";
        return;
    }
    let last = performance.now();
    await s.report.load(index, async (share) => {
        if (performance.now() - last < 60) return;
        s.set({loaded: share});
        await new Promise((r) => setTimeout(r, 0));
        last = performance.now();
    });
    s.state.view = s.report.home;
    s.set({loaded: 2});
    s.restore();
    performance.mark("axp-trace");
    requestAnimationFrame(() => requestAnimationFrame(() => {
        performance.mark("axp-frame");
        document.documentElement.dataset.ready = "";
    }));
    addEventListener("hashchange", () => s.restore());
}

applyTheme();
prefersDark.addEventListener("change", applyTheme);

/** Meta is whole once something stands behind it. */
function metaIsWhole(): boolean {
    return !!document.getElementById("axp-meta")?.nextElementSibling;
}

const observer = new MutationObserver(() => {
    if (!store && metaIsWhole() && begin()) observer.disconnect();
});
observer.observe(document.body, {childList: true});
document.addEventListener("DOMContentLoaded", () => {
    observer.disconnect();
    if (!store && !begin()) {
        fail(document.getElementById("axp-meta")
            ? "This report is cut off before its data begin: the file is damaged. Write it again with axprof report."
            : "This is the empty template of an axprof report; axprof report writes the data into it.");
        return;
    }
    if (store) {
        const s = store;
        void drawn.then(afterPaint).then(() => loadTimeline(s)).catch((e: Error) => {
            s.report.problems.push(`The timeline could not be read: ${e.message}.`);
            s.set({loaded: -1});
        });
    }
});
