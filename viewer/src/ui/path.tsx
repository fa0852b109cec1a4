// SPDX-License-Identifier: MIT OR Apache-2.0
// The critical path as a table: what the run's length consists of.
import {type JSX} from "preact";
import {type PathPart} from "../data/meta";
import {type Report} from "../data/report";
import {count, label, time} from "../format";
import {type Store} from "../state";
import {Section, Term} from "./parts";
import {DataTable, shareColumn, timeColumn, type Column} from "./table";

const KINDS: Record<string, string> = {work: "work", wait: "wait", no_cpu: "no processor", idle: "idle"};

export function CriticalPath({report, store}: {report: Report; store: Store}): JSX.Element | null {
    const path = report.meta.critical_path;
    if (!path?.parts.length) return null;
    const most = path.parts[0]!.share;
    const columns: Column<PathPart>[] = [
        {key: "name", head: "What", value: (p) => p.name, cell: (p) => <bdi>{label(p.device ? `${p.name} on ${p.device}` : p.name, 160)}</bdi>},
        {key: "kind", head: "Kind", tip: "Work: an operation's own time. Wait: one that nothing else explains. No processor: a thread could have gone on and had none. Idle: nobody did anything that is known.", minor: true, value: (p) => KINDS[p.kind] ?? "", cell: (p) => KINDS[p.kind] ?? ""},
        timeColumn("time", "Time", (p) => p.ns),
        shareColumn("share", "Of the run", (p) => p.share, {}, most),
    ];
    const choose = (p: PathPart): void => {
        const op = p.kind === "work" ? report.ops.find((o) => report.text(o.name) === p.name) : undefined;
        if (op) store.set({op: op.name});
    };
    const doubt = path.is_estimate ? ` An estimate: ${path.n_unknown_waits ? `of ${count(path.n_unknown_waits)} waits, ${time(path.unknown_ns)} together, nobody knows who ended them` : "nothing was recorded of which thread waited for which"}.` : "";
    return (
        <Section id="path" title="Critical path" note={<>What the <Term tip="From the end of the run back to its beginning, each time to what had to be done last. Only what is on it makes the run longer.">length of the run</Term> consists of: {time(path.wall_ns)} together.{doubt}</>}>
            <DataTable caption="Critical path" columns={columns} rows={path.parts} sort="time" id={(p) => `${p.kind}.${p.device ?? ""}.${p.name}`} onChoose={choose} />
        </Section>
    );
}
