// SPDX-License-Identifier: MIT OR Apache-2.0
// A real table: sorted by its heads, copied as CSV or Markdown, shown in parts
// where it is long. Rows can be chosen; the choice is a button, so that the
// keyboard reaches it.
import {type ComponentChildren, type JSX} from "preact";
import {useEffect, useMemo, useState} from "preact/hooks";
import {bytesParts, group, percent, rateParts, timeParts, type Quantity} from "../format";
import {Bar, copyText, Num} from "./parts";

export interface Column<R> {
    key: string;
    head: string;
    tip?: string;
    num?: boolean;
    /** Left out on narrow screens and on paper. */
    minor?: boolean;
    class?: string;
    cell: (r: R) => ComponentChildren;
    /** As Markdown; left out: the value. */
    text?: (r: R) => string;
    /** What to sort by and what to copy; NaN sorts last and copies as nothing. */
    value: (r: R) => number | string;
}

type Rest<R> = Partial<Column<R>>;

function quantity<R>(key: string, head: string, get: (r: R) => number, parts: (x: number) => Quantity, rest: Rest<R>): Column<R> {
    const text = (r: R): string => {
        const q = parts(get(r));
        return `${q.value} ${q.unit}`.trim();
    };
    return {key, head, num: true, value: get, cell: (r) => <Num q={parts(get(r))} />, text, ...rest};
}

export function timeColumn<R>(key: string, head: string, get: (r: R) => number, rest: Rest<R> = {}): Column<R> {
    return quantity(key, head, get, timeParts, rest);
}

export function bytesColumn<R>(key: string, head: string, get: (r: R) => number, rest: Rest<R> = {}): Column<R> {
    return quantity(key, head, get, bytesParts, rest);
}

export function rateColumn<R>(key: string, head: string, get: (r: R) => number, unit: string, rest: Rest<R> = {}): Column<R> {
    return quantity(key, head, get, (x) => rateParts(x, unit), {class: "rate", ...rest});
}

export function countColumn<R>(key: string, head: string, get: (r: R) => number, rest: Rest<R> = {}): Column<R> {
    const text = (r: R): string => (Number.isFinite(get(r)) ? group(get(r)) : "–");
    return {key, head, num: true, value: get, cell: text, text, ...rest};
}

export function percentColumn<R>(key: string, head: string, get: (r: R) => number, rest: Rest<R> = {}): Column<R> {
    const text = (r: R): string => percent(get(r));
    return {key, head, num: true, value: get, cell: text, text, ...rest};
}

/** A share with a bar, which is full at `most`. */
export function shareColumn<R>(key: string, head: string, get: (r: R) => number, rest: Rest<R> = {}, most = 1): Column<R> {
    const text = (r: R): string => percent(get(r));
    return {key, head, num: true, value: get, cell: (r) => (Number.isFinite(get(r)) ? <span class="share"><Bar share={get(r) / most} /><span class="share-text">{text(r)}</span></span> : "–"), text, ...rest};
}

/** The largest of many; a spread of as many arguments would be too much. */
export function largest<R>(rows: R[], get: (r: R) => number): number {
    return rows.reduce((most, r) => Math.max(most, get(r) || 0), 0) || 1;
}

interface Props<R> {
    caption: string;
    columns: Column<R>[];
    rows: R[];
    sort?: string;
    ascending?: boolean;
    id: (r: R) => string | number;
    /** The id of a row, or which rows. */
    chosen?: string | number | ((r: R) => boolean);
    onChoose?: (r: R) => void;
    limit?: number;
    copy?: boolean;
}

function compare(a: number | string, b: number | string): number {
    if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), "en", {numeric: true});
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
    return Number.isNaN(b) ? 1 : a - b;
}

export function DataTable<R>(props: Props<R>): JSX.Element {
    const {columns, rows, limit = 20} = props;
    const [sort, setSort] = useState({key: props.sort ?? "", ascending: props.ascending ?? false});
    const [shown, setShown] = useState(limit);
    const sorted = useMemo(() => {
        const c = columns.find((k) => k.key === sort.key);
        if (!c) return rows;
        const factor = sort.ascending ? 1 : -1;
        return rows.map((r, i) => ({r, v: c.value(r), i})).sort((a, b) => {
            const aNone = typeof a.v === "number" && Number.isNaN(a.v), bNone = typeof b.v === "number" && Number.isNaN(b.v);
            if (aNone || bNone) return aNone && bNone ? a.i - b.i : aNone ? 1 : -1;
            return factor * compare(a.v, b.v) || a.i - b.i;
        }).map((x) => x.r);
    }, [rows, columns, sort]);
    const isChosenRow = (r: R): boolean => (typeof props.chosen === "function" ? props.chosen(r) : props.id(r) === props.chosen);
    const at = props.chosen === undefined ? -1 : sorted.findIndex(isChosenRow);
    useEffect(() => {
        if (at >= shown) setShown(Math.min(at + 5, at < 500 ? at + 5 : shown));
    }, [at]);
    const visible = sorted.slice(0, shown);
    if (at >= shown) visible.push(sorted[at]!);
    const choose = (key: string): void =>
        setSort((s) => ({key, ascending: s.key === key ? !s.ascending : typeof columns.find((c) => c.key === key)!.value(rows[0]!) === "string"}));
    return (
        <div class="table-box">
            <div class="table-scroll" tabIndex={0} role="region" aria-label={props.caption}>
                <table>
                    <caption class="sr">{props.caption}</caption>
                    <thead>
                        <tr>
                            {columns.map((c) => (
                                <th key={c.key} scope="col" class={cls(c)} aria-sort={sort.key === c.key ? (sort.ascending ? "ascending" : "descending") : "none"}>
                                    <button data-tip={c.tip} aria-description={c.tip} disabled={rows.length === 0} onClick={() => choose(c.key)}>
                                        {c.head}
                                        <span class="sort-mark" aria-hidden="true">{sort.key === c.key ? (sort.ascending ? "▴" : "▾") : ""}</span>
                                    </button>
                                </th>
                            ))}
                        </tr>
                    </thead>
                    <tbody>
                        {visible.map((r) => {
                            const isChosen = props.chosen !== undefined && isChosenRow(r);
                            return (
                                <tr key={props.id(r)} class={`${isChosen ? "chosen" : ""} ${props.onChoose ? "can-choose" : ""}`}
                                    data-row={props.id(r)} onClick={props.onChoose && (() => props.onChoose!(r))}>
                                    {columns.map((c, k) => (k === 0
                                        ? <th key={c.key} scope="row" class={cls(c)}>{props.onChoose
                                            ? <button class="row-button" aria-pressed={isChosen} onClick={(e) => { e.stopPropagation(); props.onChoose!(r); }}>{c.cell(r)}</button>
                                            : c.cell(r)}</th>
                                        : <td key={c.key} class={cls(c)}>{c.cell(r)}</td>))}
                                </tr>
                            );
                        })}
                    </tbody>
                </table>
            </div>
            <div class="table-foot">
                {sorted.length > shown && (
                    <button class="quiet" onClick={() => setShown(shown + Math.min(200, Math.max(50, limit * 2)))}>
                        Show more ({shown} of {sorted.length.toLocaleString("en")})
                    </button>
                )}
                {props.copy !== false && rows.length > 0 && <CopyButtons columns={columns} rows={sorted} caption={props.caption} />}
            </div>
        </div>
    );
}

function cls<R>(c: Column<R>): string {
    return `${c.num ? "is-num" : ""} ${c.minor ? "minor" : ""} ${c.class ?? ""}`;
}

// ---- copying --------------------------------------------------------------------------

function csvField(v: number | string): string {
    if (typeof v === "number") return Number.isFinite(v) ? String(v) : "";
    // A spreadsheet would run what begins like a formula.
    const safe = /^[=+\-@\t\r]/.test(v) ? `'${v}` : v;
    return `"${safe.replace(/"/g, '""')}"`;
}

export function toCsv<R>(columns: Column<R>[], rows: R[]): string {
    const lines = [columns.map((c) => csvField(c.key)).join(",")];
    for (const r of rows) lines.push(columns.map((c) => csvField(c.value(r))).join(","));
    return lines.join("\n") + "\n";
}

export function toMarkdown<R>(columns: Column<R>[], rows: R[]): string {
    const field = (s: string): string => s.replace(/\|/g, "\\|").replace(/[\r\n]+/g, " ").trim();
    const lines = [`| ${columns.map((c) => field(c.head)).join(" | ")} |`, `|${columns.map((c) => (c.num ? "---:" : "---")).join("|")}|`];
    for (const r of rows) lines.push(`| ${columns.map((c) => field(c.text ? c.text(r) : String(c.value(r)))).join(" | ")} |`);
    return lines.join("\n") + "\n";
}

function CopyButtons<R>({columns, rows, caption}: {columns: Column<R>[]; rows: R[]; caption: string}): JSX.Element {
    const [done, setDone] = useState("");
    const copy = async (what: string, text: string): Promise<void> => {
        setDone((await copyText(text)) ? `copied as ${what}` : "the browser does not allow copying");
        setTimeout(() => setDone(""), 2500);
    };
    return (
        <span class="copy">
            <span class="muted">Copy as</span>
            <button class="quiet" aria-label={`Copy ${caption} as CSV`} onClick={() => void copy("CSV", toCsv(columns, rows))}>CSV</button>
            <button class="quiet" aria-label={`Copy ${caption} as Markdown`} onClick={() => void copy("Markdown", toMarkdown(columns, rows))}>Markdown</button>
            <span role="status" class="muted">{done}</span>
        </span>
    );
}
