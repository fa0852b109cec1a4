// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything the page knows, joined: meta at once, the timeline when its
// chunks are decoded. The rest of the page asks here and never the DOM.
import {doubles, loadChunk, running, runningZigzag, values, type Chunk} from "./decode";
import {CATEGORIES, type Args, type Index, type Memory, type Meta, type TableInfo} from "./meta";
import {isLoose, NONE, Trace, TraceBuilder} from "./trace";
import {label} from "../format";
import {Heap} from "./heap";
import {Wakers} from "./wakers";
import {Path, PathReader} from "./path";
import {readStates, type ThreadStates} from "./states";
import {byName, sumRange, type NameSums, type NodeSums, type WorkTable} from "./aggregate";

export interface Op {
    name: number;
    calls: number;
    total: number;
    self: number;
    share: number;
    avg: number;
    min: number;
    max: number;
    p50: number;
    p95: number;
    p99: number;
    gflops: number; // NaN: unknown, here and below
    gbps: number;
    intensity: number;
    allowed: number; // GFLOP/s, by the machine
    roof: number; // share of that
    flops: number;
    category: number;
    dtype: number;
    file: string;
    line: number;
    doubt: number; // ns of self that may be the recorder's; 0: believe it
}

export interface Series {
    id: number; // string
    name: string;
    time: Float64Array;
    value: Float64Array;
    min: number;
    max: number;
}

export function isFlat(s: Series): boolean {
    return s.min === s.max;
}

export interface MemorySeries {
    time: Float64Array;
    total: Float64Array;
    names: number[]; // −1: all others
    columns: Float64Array[];
    exact: boolean;
}

export interface Domain {
    number: number; // −1: the host
    label: string;
    meta: Memory;
    series: MemorySeries | null;
}

export interface Step {
    index: number;
    begin: number;
    end: number;
    live: number | null;
}

export class Report {
    readonly ops: Op[];
    readonly opByName = new Map<number, Op>();
    readonly steps: Step[];
    readonly categoryOf: Uint8Array;
    /** What went wrong while reading, in sentences. */
    readonly problems: string[] = [];
    index: Index | null = null;
    trace: Trace | null = null;
    /** Memory of the host, where it told of any, then of each device. */
    readonly domains: Domain[];
    readonly heap = new Heap();
    wakers: Wakers | null = null;
    path: Path | null = null;
    onPath: PathReader | null = null;
    /** By thread: when it ran, wanted to, waited. */
    states = new Map<number, ThreadStates>();
    /** Shorter times off a processor are not shown; 0: as short as they were recorded. */
    leastState = 0;
    counters: Series[] = [];
    args: Args[] = [];
    work: WorkTable | null = null;
    readonly strings: string[];
    #labels = new Map<number, string>();
    #end = 1;
    #shared: Set<string> | null = null; // names of several threads

    constructor(readonly meta: Meta) {
        this.strings = meta.strings;
        this.ops = this.#readOps();
        for (const op of this.ops) this.opByName.set(op.name, op);
        this.categoryOf = new Uint8Array(this.strings.length + 1);
        for (const op of this.ops) this.categoryOf[op.name] = op.category;
        this.domains = [...(meta.memory ? [meta.memory] : []), ...(meta.device_memory ?? [])]
            .map((m, i) => ({number: i - (meta.memory ? 1 : 0), label: m.device === undefined ? "Host" : label(m.device, 80), meta: m, series: null}));
        const l = meta.steps?.list;
        this.steps = l ? l.begin.map((begin, i) => ({index: l.index[i]!, begin, end: l.end[i]!, live: l.live[i] ?? null})) : [];
        this.#end = Math.max(1, meta.run.duration_ns, this.steps.at(-1)?.end ?? 0, ...meta.threads.map((t) => t.end), ...(meta.queues ?? []).map((q) => q.end));
    }

    text(id: number): string {
        return this.strings[id] ?? "(unknown)";
    }

    /** The text, bounded and on one line. */
    label(id: number): string {
        let s = this.#labels.get(id);
        if (s === undefined) this.#labels.set(id, (s = label(this.text(id), 400)));
        return s;
    }

    /** What a thread is called; where several are called alike, with its id. */
    threadName(i: number): string {
        const t = this.meta.threads[i];
        if (!t?.name) return t ? `thread ${t.id}` : "thread";
        this.#shared ??= repeated(this.meta.threads.map((x) => x.name));
        return this.#shared.has(t.name) ? `${t.name}/${t.id}` : t.name;
    }

    /** The last time there is; the first is 0. */
    get duration(): number {
        return this.#end;
    }

    /** What a page shows first: all, or what of it is in the timeline. */
    get home(): [number, number] {
        const t = this.trace;
        if (!t?.n || !this.meta.run.cut_events) return [0, this.duration];
        return [t.rows.reduce((first, r) => Math.min(first, t.start[r.first]!), this.duration), this.duration];
    }

    // ---- operations ------------------------------------------------------------------

    #readOps(): Op[] {
        const c = this.meta.ops;
        if (!c) return [];
        return c.name.map((name, i) => {
            const flops = c.flops[i] ?? NaN, bytes = c.bytes[i] ?? NaN;
            return finish({
                name, calls: c.calls[i]!, total: c.total[i]!, self: c.self[i]!, share: c.share[i]!,
                avg: c.calls[i] ? c.total[i]! / c.calls[i]! : 0, min: c.min[i]!, max: c.max[i]!,
                p50: c.p50[i]!, p95: c.p95[i]!, p99: c.p99[i]!,
                gflops: c.flops_ns[i] ? flops / c.flops_ns[i]! : NaN, gbps: c.bytes_ns[i] ? bytes / c.bytes_ns[i]! : NaN,
                intensity: flops / bytes, allowed: c.roof[i] ?? NaN, roof: NaN, flops, category: c.category[i]!, dtype: c.dtype[i]!,
                file: c.file[i]! >= 0 ? this.text(c.file[i]!) : "", line: c.line[i]!, doubt: c.doubt[i]!,
            });
        });
    }

    /** Operations of a range of time; null: the timeline is not there (yet). */
    opsIn(a: number, b: number): {ops: Op[]; sums: NodeSums} | null {
        if (!this.trace) return null;
        const sums = sumRange(this.trace, a, b, this.work);
        const rows = this.trace.tracks.filter((t) => t.kind === "slices" && !isLoose(t) && t.lane === 0).length;
        const all = (b - a) * Math.max(1, rows);
        const ops: Op[] = [];
        for (const [name, s] of byName(this.trace, sums)) ops.push(this.#rangeOp(name, s, all));
        return {ops, sums};
    }

    #rangeOp(name: number, s: NameSums, all: number): Op {
        const base = this.opByName.get(name);
        const flops = s.flops || NaN, bytes = s.bytes || NaN;
        return finish({
            name, calls: s.calls, total: s.total, self: s.self, share: s.self / all, avg: s.total / s.calls, min: s.min, max: s.max,
            p50: NaN, p95: NaN, p99: NaN, gflops: flops / s.total, gbps: bytes / s.total, intensity: flops / bytes, allowed: base?.allowed ?? NaN, roof: NaN, flops,
            category: base?.category ?? 0, dtype: base?.dtype ?? 0, file: base?.file ?? "", line: base?.line ?? 0, doubt: base?.doubt ?? 0,
        });
    }

    // ---- chunks ------------------------------------------------------------------------

    /** Decodes the timeline; `progress` gets 0 … 1 and lets the page breathe. */
    async load(index: Index, progress: (share: number) => Promise<void>): Promise<void> {
        this.index = index;
        for (const s of index.strings) this.strings.push(s);
        this.args = index.args;
        this.#readWork();
        const builder = new TraceBuilder(index.tracks, this.strings.length);
        const total = index.tracks.reduce((sum, t) => sum + t.n, 0);
        const nChunks = Math.ceil(total / index.chunk_events);
        let missing = 0;
        // Inflating runs on other threads: ask for the next while this one is laid out.
        let next = nChunks ? attempt(loadChunk(0)) : null;
        for (let c = 0; c < nChunks; c++) {
            const got = await next!;
            next = c + 1 < nChunks ? attempt(loadChunk(c + 1)) : null;
            const n = Math.min(index.chunk_events, total - c * index.chunk_events);
            try {
                if ("error" in got) throw got.error;
                if (got.value.n !== n || got.value.columns.length < 5) throw new Error("does not have the events it should");
                builder.add(got.value);
            } catch (e) {
                builder.skip(n);
                missing += n;
                this.problems.push(`Part ${c + 1} of ${nChunks} of the timeline ${(e as Error).message || "is damaged"}: ${n.toLocaleString("en")} events are missing.`);
            }
            await progress((c + 1) / (nChunks + 1));
        }
        const wanted = index.tables.some((t) => t.kind === "flows" || t.kind === "merged" || t.kind === "wakers");
        const {trace, positions} = builder.finish(wanted);
        for (const t of index.tables) await this.#loadTable(t, trace, positions);
        this.trace = trace;
        if (this.path) this.onPath = new PathReader(this, this.path);
        this.#end = Math.max(this.#end, trace.end, ...this.domains.map((d) => d.series?.time.at(-1) ?? 0));
    }

    async #loadTable(t: TableInfo, trace: Trace, positions: Uint32Array | null): Promise<void> {
        const got = await attempt(loadChunk(t.chunk));
        if ("error" in got || got.value.n !== t.n || got.value.columns.length !== t.columns) {
            this.problems.push(`The data of ${t.kind === "counter" ? `the counter ${this.label(t.name ?? -1)}` : t.kind.replace("_", " ")} is damaged and not shown.`);
            return;
        }
        const {columns, n} = got.value;
        if (t.kind === "memory") {
            const names = t.names ?? [], domain = this.domains.find((d) => d.number === (t.device ?? -1));
            if (domain) domain.series = {time: running(columns[0], n), total: values(columns[1], n), names, columns: names.map((_, k) => values(columns[k + 2], n)), exact: t.exact ?? false};
        } else if (t.kind === "counter") {
            this.#addCounter(t, got.value);
        } else if (t.kind === "flows") {
            addFlows(trace, positions!, running(columns[0], n), runningZigzag(columns[1], n));
        } else if (t.kind === "wakers") {
            this.wakers = new Wakers(trace, positions!, running(columns[0], n), values(columns[1], n), values(columns[2], n));
        } else if (t.kind === "states") {
            this.states = readStates(this.meta.threads, columns, n);
            this.leastState = t.least ?? 0;
        } else if (t.kind === "path") {
            this.path = new Path(columns, n);
        } else if (t.kind === "heap_tree") {
            this.heap.readTree(columns, n);
        } else if (t.kind === "heap_places") {
            this.heap.readPlaces(columns, n);
        } else if (t.kind === "heap_levels") {
            this.heap.readLevels(columns, n, this.duration);
        } else if (t.kind === "heap_kept") {
            this.heap.readKept(columns, n);
        } else {
            const at = values(columns[0], n), count = values(columns[1], n), sum = values(columns[2], n);
            for (let i = 0; i < n; i++) trace.merged.set(positions![at[i]!]!, [count[i]!, sum[i]!]);
        }
    }

    #addCounter(t: TableInfo, chunk: Chunk): void {
        const value = doubles(chunk.columns[1], chunk.n);
        let min = Infinity, max = -Infinity;
        for (const v of value) {
            if (v < min) min = v;
            if (v > max) max = v;
        }
        this.counters.push({id: t.name ?? -1, name: this.label(t.name ?? -1), time: running(chunk.columns[0], chunk.n), value, min, max});
    }

    #readWork(): void {
        const n = this.args.length + 1;
        this.work = {flops: new Float64Array(n), bytes: new Float64Array(n)};
        this.args.forEach((a, i) => {
            this.work!.flops[i + 1] = a[0] ?? 0;
            this.work!.bytes[i + 1] = a[1] ?? 0;
        });
    }

    category(name: number): string {
        return CATEGORIES[this.categoryOf[name] ?? 0] ?? "";
    }
}

function repeated(names: string[]): Set<string> {
    const seen = new Set<string>();
    return new Set(names.filter((n) => seen.has(n) || !seen.add(n)));
}

function addFlows(trace: Trace, positions: Uint32Array, from: Float64Array, to: Float64Array): void {
    const pairs: [number, number][] = [];
    for (let i = 0; i < from.length; i++) {
        const a = positions[from[i]!] ?? NONE, b = positions[to[i]!] ?? NONE;
        if (a !== NONE && b !== NONE) pairs.push([a, b]);
    }
    pairs.sort((x, y) => x[0] - y[0]);
    const flows = {from: Uint32Array.from(pairs, (p) => p[0]), to: Uint32Array.from(pairs, (p) => p[1]), byTo: new Uint32Array(pairs.length)};
    flows.byTo.set(pairs.map((_, i) => i).sort((x, y) => flows.to[x]! - flows.to[y]!));
    trace.flows = flows;
}

async function attempt<T>(p: Promise<T>): Promise<{value: T} | {error: Error}> {
    try {
        return {value: await p};
    } catch (e) {
        return {error: e as Error};
    }
}

function finish(op: Op): Op {
    op.roof = op.gflops / op.allowed;
    return op;
}
