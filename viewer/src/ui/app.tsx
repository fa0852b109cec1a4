// SPDX-License-Identifier: MIT OR Apache-2.0
// The page: head with search, then the sections that the run has data for.
import {type JSX} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import {type Timeline} from "../canvas/timeline";
import {eventsOf, nextHit} from "../data/search";
import {type Report} from "../data/report";
import {label, startedText} from "../format";
import {useStore, type Store} from "../state";
import {Details, SelectionBar} from "./details";
import {FlameView} from "./flame_view";
import {go, handleKey, KEYS} from "./keys";
import {HeapView} from "./heap";
import {Memory} from "./memory";
import {CriticalPath} from "./path";
import {Operations} from "./operations";
import {Jump, Tooltip} from "./parts";
import {About, Counters} from "./rest";
import {Roofline} from "./roofline";
import {hasShapes, Shapes} from "./shapes";
import {Steps} from "./steps";
import {Summary} from "./summary";
import {hasThreads, Threads} from "./threads";
import {TimelineView} from "./timeline_view";

function Search({report, store, tl}: {report: Report; store: Store; tl: Timeline | null}): JSX.Element {
    const search = useStore(store, (s) => s.search);
    const jump = (forward: boolean): void => {
        const hits = store.state.hits;
        if (!hits || !report.trace || !tl) return;
        hits.events ??= eventsOf(report.trace, hits.names);
        let i = nextHit(report.trace, hits.events, store.state.slice, forward);
        if (i < 0) i = nextHit(report.trace, hits.events, -1, forward); // round the end
        if (i >= 0) go(tl, i);
    };
    return (
        <input id="search" type="search" placeholder="Search names  /" aria-label="Search names; Enter goes to the next match" value={search} spellcheck={false} autocomplete="off"
            onInput={(e) => store.searchFor(e.currentTarget.value)}
            onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); jump(!e.shiftKey); } }} />
    );
}

function ThemeButton({store}: {store: Store}): JSX.Element {
    const theme = useStore(store, (s) => s.theme);
    const next = theme === "auto" ? "dark" : theme === "dark" ? "light" : "auto";
    return <button class="quiet" aria-label={`Theme: ${theme}; change to ${next}`} data-tip={`Theme: ${theme}`} onClick={() => store.set({theme: next})}>{theme === "auto" ? "◐" : theme === "dark" ? "●" : "○"}</button>;
}

function Header({report, store, tl}: {report: Report; store: Store; tl: Timeline | null}): JSX.Element {
    const {run, meta} = {run: report.meta.run, meta: report.meta};
    useStore(store, (s) => s.loaded);
    const sections: [string, string, boolean][] = [
        ["summary", "Summary", true], ["timeline", "Timeline", hasTimeline(report)], ["path", "Critical path", !!meta.critical_path], ["operations", "Operations", report.ops.length > 0], ["flame", "Flame graph", !!meta.tree],
        ["steps", "Steps", report.steps.length > 0], ["memory", "Memory", report.domains.length > 0], ["heap", "Heap", !!meta.heap], ["roofline", "Roofline", report.ops.some((o) => o.intensity > 0)], ["shapes", "Shapes", hasShapes(report)],
        ["counters", "Counters", report.counters.length > 0], ["threads", "Threads", hasThreads(report)],
    ];
    const where = [run.host, run.started && startedText(run.started), run.process_id ? `process ${run.process_id}` : ""].filter(Boolean).join(" · ");
    return (
        <header>
            <div class="head-row">
                <div class="title">
                    <h1><bdi>{label(run.title, 160)}</bdi></h1>
                    <p class="muted">{run.command && <code><bdi>{label(run.command, 200)}</bdi></code>}{run.command && where ? " · " : ""}{(where || !run.command) && <bdi>{label(where || "axprof report", 200)}</bdi>}</p>
                </div>
                <div class="head-tools">
                    {report.ops.length > 0 && <Search report={report} store={store} tl={tl} />}
                    <ThemeButton store={store} />
                </div>
            </div>
            <nav aria-label="Sections">
                {sections.filter((s) => s[2]).map(([id, text]) => <Jump key={id} to={id}>{text}</Jump>)}
            </nav>
        </header>
    );
}

function hasTimeline(report: Report): boolean {
    return report.meta.run.events > 0 || report.meta.threads.length > 0 || report.domains.length > 0 || (report.trace?.n ?? 0) > 0;
}

function Help({store}: {store: Store}): JSX.Element | null {
    const open = useStore(store, (s) => s.help);
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        if (open) dialog.current?.showModal();
        else dialog.current?.close();
    }, [open]);
    return (
        <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => store.state.help && store.set({help: false})} onClick={(e) => { if (e.target === dialog.current) store.set({help: false}); }}>
            <button class="close" onClick={() => store.set({help: false})}>Close</button>
            <h2 id="help-title">Keys</h2>
            <dl>{KEYS.map(([k, what]) => <div key={k}><dt>{k.split(" ").length < 4 && !/drag|wheel/.test(k) ? k.split(" ").map((x) => <kbd key={x}>{x}</kbd>) : k}</dt><dd>{what}</dd></div>)}</dl>
            <p class="muted">The address of this page holds what is selected: copy it to come back to the same view.</p>
        </dialog>
    );
}

function Rest({report, store, tl, onReady}: {report: Report; store: Store; tl: Timeline | null; onReady: (tl: Timeline) => void}): JSX.Element {
    const loaded = useStore(store, (s) => s.loaded);
    const empty = !report.ops.length && !report.domains.length && !report.meta.heap && !report.meta.run.events;
    return (
        <>
            <SelectionBar report={report} store={store} />
            {!empty && hasTimeline(report) && <TimelineView report={report} store={store} onReady={onReady} />}
            {loaded === -1 && <p class="problem" role="alert">{report.problems.join(" ")}</p>}
            <Details report={report} store={store} tl={tl} />
            <CriticalPath report={report} store={store} />
            <Operations report={report} store={store} />
            {report.meta.tree && <FlameView report={report} store={store} />}
            <Steps report={report} store={store} />
            <Memory report={report} store={store} />
            <HeapView report={report} store={store} />
            <Roofline report={report} store={store} />
            <Shapes report={report} store={store} />
            <Counters report={report} store={store} />
            <Threads report={report} store={store} />
            <About report={report} />
        </>
    );
}

/** `all` false: the first screen only, which is there at once. */
export function App({report, store, all}: {report: Report; store: Store; all: boolean}): JSX.Element {
    const [tl, setTl] = useState<Timeline | null>(null);
    const dark = useStore(store, (s) => s.dark);
    useEffect(() => {
        const f = (e: KeyboardEvent): void => handleKey(e, store, tl);
        document.addEventListener("keydown", f);
        return () => document.removeEventListener("keydown", f);
    }, [tl]);
    useEffect(() => tl?.setTheme(), [dark, tl]);
    return (
        <>
            <Jump class="skip" to={report.ops.length ? "operations" : "summary"}>Skip to the {report.ops.length ? "table" : "summary"}</Jump>
            <Header report={report} store={store} tl={tl} />
            <main>
                <Summary report={report} store={store} tl={tl} />
                {all && <Rest report={report} store={store} tl={tl} onReady={setTl} />}
            </main>
            <Help store={store} />
            <Tooltip />
        </>
    );
}
