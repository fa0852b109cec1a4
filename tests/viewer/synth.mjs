// SPDX-License-Identifier: MIT OR Apache-2.0
// Synthetic runs, written as report pages: a second writer of the format in
// docs/html-data.md, independent of the one in C, so that the page can be
// tested with what no small program records.
//
//   const run = new Run("title");
//   const main = run.thread("main");
//   main.begin("forward", 0); main.end(1000);
//   writePage(template, run, path);
//
// Aggregates (operations, call tree) are computed here from the events, by the
// plain definitions and without regard for speed.
import fs from "node:fs";
import zlib from "node:zlib";

export const CHUNK_EVENTS = 262144;
const MARKER = "<!--axprof-data-->";

/** A small generator of random numbers that repeats. */
export function random(seed) {
    let s = seed >>> 0;
    return () => {
        s = (s + 0x6d2b79f5) >>> 0;
        let t = s;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

/** A sequence of nested events, in the order of their start. */
export class Track {
    constructor(run, row, kind, name) {
        Object.assign(this, {run, row, kind, name, lane: 0});
        this.start = [];
        this.dur = [];
        this.nameId = [];
        this.args = [];
        this.depth = [];
        this.open = [];
    }
    begin(name, at, args) {
        const i = this.start.length;
        this.start.push(at);
        this.dur.push(0);
        this.nameId.push(this.run.string(name));
        this.args.push(args ? this.run.argsId(args) : 0);
        this.depth.push(this.open.length);
        this.open.push(i);
        return i;
    }
    end(at) {
        const i = this.open.pop();
        this.dur[i] = at - this.start[i];
        return i;
    }
    span(name, at, dur, args) {
        this.begin(name, at, args);
        return this.end(at + dur);
    }
    get busy() {
        let sum = 0;
        for (let i = 0; i < this.start.length; i++) if (this.depth[i] === 0) sum += this.dur[i];
        return sum;
    }
    get first() { return this.start.length ? this.start[0] : 0; }
    get last() {
        let last = 0;
        for (let i = 0; i < this.start.length; i++) last = Math.max(last, this.start[i] + this.dur[i]);
        return last;
    }
}

export class Run {
    constructor(title, extra = {}) {
        this.meta = {format: 1, run: {title, t0: "0", cut_events: 0, own_cost_ns: 15, version: "0.1.0", ...extra}};
        this.strings = [];
        this.ids = new Map();
        this.tracks = [];
        this.threads = [];
        this.queues = [];
        this.argList = [];
        this.argIds = new Map();
        this.flows = []; // [track, event in it, track, event in it]
        this.wakers = []; // [track, event in it, thread, how long before its end]
        this.counters = [];
        this.memory = null;
        // {meta, places: [{path: names, label, …}], levels: [[from, least, most]],
        // kept: [[place, bytes, at, 1 + thread, blocks]]}
        this.heap = null;
        this.steps = null;
        this.states = []; // [thread, begin, duration, 1: waiting or 2: wants a processor], by thread and time
        this.path = []; // [begin, duration, name, 1 + thread, kind], by time
        this.opExtra = new Map(); // name -> {category, flops, bytes, dtype, file, line}
        this.merged = null; // [[track, event, count, sum]]
        this.index = {};
    }
    string(text) {
        let id = this.ids.get(text);
        if (id === undefined) {
            id = this.strings.length;
            this.strings.push(text);
            this.ids.set(text, id);
        }
        return id;
    }
    argsId(args) {
        const key = JSON.stringify(args);
        let id = this.argIds.get(key);
        if (id === undefined) {
            this.argList.push(args);
            id = this.argList.length;
            this.argIds.set(key, id);
        }
        return id;
    }
    thread(name, {rank = -1, process = 1000} = {}) {
        const t = new Track(this, `t${this.threads.length}`, "slices");
        this.threads.push({id: 5000 + this.threads.length, name, process, rank, track: t});
        this.tracks.push(t);
        return t;
    }
    queue(name, {rank = -1, process = 1000} = {}) {
        const t = new Track(this, `q${this.queues.length}`, "slices");
        this.queues.push({name, rank, process, track: t});
        this.tracks.push(t);
        return t;
    }
    /** Marks, or a further lane, of a row that is there. */
    also(row, kind, lane = 0, name) {
        const t = new Track(this, row, kind, name);
        t.lane = lane;
        this.tracks.push(t);
        return t;
    }
}

// ---- aggregates, by the plain definitions -----------------------------------------

function percentile(sorted, q) {
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] : 0;
}

/** Operations and the call tree of what lies in [from, to); all by default. */
export function aggregate(run, from = -Infinity, to = Infinity) {
    const whole = from === -Infinity && to === Infinity;
    const ops = new Map();
    const tree = [{name: run.string("(root)"), parent: -1, calls: 0, total: 0, self: 0, kids: new Map()}];
    for (const t of run.tracks) {
        if (t.kind !== "slices") continue;
        const stack = []; // {name, node, end}
        for (let i = 0; i < t.start.length; i++) {
            stack.length = t.depth[i];
            const s = t.start[i], e = s + t.dur[i], name = t.nameId[i];
            const parent = stack.length ? stack[stack.length - 1].node : 0;
            let node = tree[parent].kids.get(name);
            if (node === undefined) {
                node = tree.length;
                tree.push({name, parent, calls: 0, total: 0, self: 0, kids: new Map()});
                tree[parent].kids.set(name, node);
            }
            const recursive = stack.some((f) => f.name === name);
            stack.push({name, node});
            if (!(e > from && s < to) && !(e === s && s >= from && s < to)) continue;
            const time = Math.min(e, to) - Math.max(s, from);
            let op = ops.get(name);
            if (!op) ops.set(name, (op = {name, calls: 0, total: 0, self: 0, durs: [], min: Infinity, max: 0}));
            op.calls++;
            op.self += time;
            if (!recursive) op.total += time;
            op.min = Math.min(op.min, t.dur[i]);
            op.max = Math.max(op.max, t.dur[i]);
            if (whole) op.durs.push(t.dur[i]);
            tree[node].calls++;
            tree[node].total += time;
            tree[node].self += time;
            tree[parent].self -= time;
            if (stack.length > 1) ops.get(stack[stack.length - 2].name).self -= time;
        }
    }
    for (let i = tree.length - 1; i > 0; i--) if (tree[i].parent === 0) tree[0].total += tree[i].total;
    tree[0].self = 0;
    return {ops, tree};
}

function opColumns(run, ops) {
    const lifetime = run.threads.reduce((s, t) => s + (t.track.last - t.track.first), 0) +
        run.queues.reduce((s, t) => s + (t.track.last - t.track.first), 0);
    const keys = ["name", "calls", "total", "self", "min", "max", "p50", "p95", "p99", "share", "flops", "bytes",
        "flops_ns", "bytes_ns", "roof", "dtype", "category", "file", "line", "sampled", "doubt"];
    const c = Object.fromEntries(keys.map((k) => [k, []]));
    for (const op of [...ops.values()].sort((a, b) => b.self - a.self)) {
        const d = Float64Array.from(op.durs).sort();
        const x = run.opExtra.get(run.strings[op.name]) ?? {};
        c.name.push(op.name);
        for (const k of ["calls", "total", "self", "min", "max"]) c[k].push(op[k]);
        c.p50.push(percentile(d, 0.5));
        c.p95.push(percentile(d, 0.95));
        c.p99.push(percentile(d, 0.99));
        c.share.push(lifetime ? op.self / lifetime : 0);
        c.flops.push(x.flops ? x.flops * op.calls : null);
        c.bytes.push(x.bytes ? x.bytes * op.calls : null);
        c.flops_ns.push(x.flops ? op.total : null);
        c.bytes_ns.push(x.bytes ? op.total : null);
        c.roof.push(roofOf(run.meta.machine, x));
        c.dtype.push(x.dtype ?? 0);
        c.category.push(x.category ?? 0);
        c.file.push(x.file ? run.string(x.file) : -1);
        c.line.push(x.line ?? 0);
        c.sampled.push(0);
        c.doubt.push(0);
    }
    return c;
}

/** What a machine allows a call, by its first lines. */
function roofOf(machine, x) {
    if (!machine || !x.flops) return null;
    return Math.min(machine.gflops[0][1], x.bytes ? (x.flops / x.bytes) * machine.gbps[0][1] : Infinity);
}

function treeColumns(run, tree) {
    const c = {name: [], parent: [], calls: [], total: [], self: [], flops: [], bytes: [], alloc: []};
    for (const n of tree) {
        const x = run.opExtra.get(run.strings[n.name]) ?? {};
        c.name.push(n.name);
        c.parent.push(n.parent);
        c.calls.push(n.calls);
        c.total.push(n.total);
        c.self.push(n.self);
        c.flops.push(x.flops ? x.flops * n.calls : null);
        c.bytes.push(x.bytes ? x.bytes * n.calls : null);
        c.alloc.push(x.alloc ? x.alloc * n.calls : 0);
    }
    return c;
}

// ---- encoding ------------------------------------------------------------------------

/** Columns (arrays of whole numbers, or Float64Array with bits: true) as one chunk. */
export function packChunk(columns, level = 6) {
    const n = columns[0].length;
    const parts = [Buffer.alloc(5)];
    parts[0].writeUInt32LE(n, 0);
    parts[0][4] = columns.length;
    for (const column of columns) {
        const planes = [];
        let mask = 0;
        const bytes = Buffer.alloc(n * 8);
        if (column.bits) {
            column.values.forEach((v, i) => bytes.writeDoubleLE(v, i * 8));
        } else {
            for (let i = 0; i < n; i++) {
                const v = column[i];
                bytes.writeUInt32LE(v % 4294967296, i * 8);
                bytes.writeUInt32LE(Math.floor(v / 4294967296), i * 8 + 4);
            }
        }
        for (let p = 0; p < 8; p++) {
            const plane = Buffer.alloc(n);
            let any = 0;
            for (let i = 0; i < n; i++) any |= plane[i] = bytes[i * 8 + p];
            if (any) {
                mask |= 1 << p;
                planes.push(plane);
            }
        }
        parts.push(Buffer.from([mask]), ...planes);
    }
    return zlib.deflateSync(Buffer.concat(parts), {level}).toString("base64");
}

/** The columns of all events; nesting as docs/html-data.md defines it. */
function eventChunks(tracks, level) {
    const chunks = [];
    const fresh = () => [[], [], [], [], []];
    let now = fresh();
    for (const t of tracks) {
        const ends = [];
        let before = 0;
        for (let i = 0; i < t.start.length; i++) {
            if (now[0].length === CHUNK_EVENTS) {
                chunks.push(packChunk(now, level));
                now = fresh();
            }
            if (now[0].length === 0) before = 0;
            let depth = 0;
            while (depth < ends.length && ends[depth] > t.start[i]) depth++;
            const nesting = t.depth[i] - depth;
            if (nesting < 0) throw new Error(`event ${i} of ${t.row} is not nested`);
            ends.length = t.depth[i];
            ends.push(t.start[i] + t.dur[i]);
            now[0].push(t.start[i] - before);
            now[1].push(t.dur[i]);
            now[2].push(t.nameId[i]);
            now[3].push(t.args[i]);
            now[4].push(nesting);
            before = t.start[i];
        }
    }
    if (now[0].length) chunks.push(packChunk(now, level));
    return chunks;
}

/** The tree of names of a heap, and the places at its nodes. */
function heapTables(run) {
    const tree = [[run.string("(root)")], [0]], ids = new Map();
    const child = (parent, name) => {
        const key = `${parent} ${name}`;
        if (!ids.has(key)) {
            ids.set(key, tree[0].length);
            tree[0].push(run.string(name));
            tree[1].push(parent);
        }
        return ids.get(key);
    };
    const whole = ["kind", "current", "blocks", "at_peak", "allocated", "n_allocs", "n_frees", "n_temporary"];
    const real = ["growth_early", "growth_late", "step_allocs", "step_bytes"];
    const of = (f) => run.heap.places.map(f);
    const places = [of((p) => p.path.reduce(child, 0)), of((p) => run.string(p.path.at(-1))), of((p) => run.string(p.label)), of((p) => p.n_scopes ?? 0), of((p) => (p.is_named ? 1 : 0)),
        ...whole.map((k) => of((p) => p[k] ?? 0)), ...real.map((k) => ({bits: true, values: Float64Array.from(of((p) => p[k] ?? 0)), length: run.heap.places.length}))];
    if (run.heap.places[0].lived) places.push(...["first", "last", "thread"].map((k) => of((p) => p[k])), ...run.heap.places[0].lived.map((_, k) => of((p) => p.lived[k])));
    return {tree, places};
}

export const deltas = (values) => Array.from(values, (v, i) => (i ? v - values[i - 1] : v));
const zigzag = (d) => (d >= 0 ? 2 * d : -2 * d - 1);

function jsonScript(id, value) {
    const text = JSON.stringify(value).replace(/</g, "\\u003c").replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029");
    return `<script type="application/json" id="${id}">${text}</script>\n`;
}

/** What stands at the marker, as a list of strings. */
export function encodeRun(run, {level = 6} = {}) {
    const tracks = run.tracks.filter((t) => t.start.length);
    const n = tracks.reduce((s, t) => s + t.start.length, 0);
    const meta = {...run.meta};
    const {ops, tree} = aggregate(run);
    const last = tracks.reduce((m, t) => Math.max(m, t.last), 0);
    const selfSum = [...ops.values()].reduce((s, o) => s + o.self, 0);
    const calls = [...ops.values()].reduce((s, o) => s + o.calls, 0);
    meta.run = {duration_ns: last, process_count: 1, thread_count: run.threads.length, call_count: calls, operation_count: ops.size, total_time_ns: selfSum, events: n * 2, ...meta.run};
    meta.findings ??= [];
    for (const f of meta.findings) if (typeof f.name === "string") f.name = run.string(f.name);
    meta.warnings ??= [];
    meta.verdict ??= "A sentence about this run.";
    if (ops.size) meta.ops = opColumns(run, ops);
    if (run.shapes) meta.shapes = run.shapes.map(([name, ...rest]) => [meta.ops.name.indexOf(run.string(name)), ...rest]);
    const flops = meta.ops?.flops.reduce((s, f) => s + (f ?? 0), 0);
    if (flops) meta.run.gflops = flops / last;
    if (flops && meta.machine) meta.run.peak = meta.machine.gflops[0];
    if (ops.size) meta.tree = treeColumns(run, tree);
    if (run.steps) meta.steps = run.steps;
    if (run.memory) meta.memory = run.memory.meta;
    if (run.heap) meta.heap = run.heap.meta;
    meta.threads = run.threads.map(({track, ...t}) =>
        ({begin: track.first, end: track.last, busy: track.busy, events: track.start.length * 2, ...t}));
    if (run.queues.length)
        meta.queues = run.queues.map(({track, ...q}) =>
            ({...q, begin: track.first, end: track.last, busy: track.busy, events: track.start.length * 2}));

    const bodies = eventChunks(tracks, level);
    const tables = [];
    const table = (kind, columns, rest) => {
        tables.push({chunk: bodies.length, kind, columns: columns.length, n: columns[0].length, ...rest});
        bodies.push(packChunk(columns, level));
    };
    if (run.memory?.table) table("memory", [deltas(run.memory.table.time), ...run.memory.table.columns],
        {names: run.memory.table.names.map((s) => (s === null ? -1 : run.string(s))), exact: run.memory.table.exact ?? false});
    for (const c of run.counters)
        table("counter", [deltas(c.time), {bits: true, values: Float64Array.from(c.value), length: c.value.length}],
            {name: run.string(c.name)});
    const base = new Map();
    let at = 0;
    for (const t of tracks) base.set(t, at), (at += t.start.length);
    if (run.flows.length) {
        const list = run.flows.map(([t, i, u, k]) => [base.get(t) + i, base.get(u) + k]).sort((a, b) => a[0] - b[0]);
        table("flows", [deltas(list.map((f) => f[0])), deltas(list.map((f) => f[1])).map(zigzag)], {});
    }
    if (run.wakers.length) {
        const list = run.wakers.map(([t, i, thread, before]) => [base.get(t) + i, thread, before]).sort((a, b) => a[0] - b[0]);
        table("wakers", [deltas(list.map((w) => w[0])), list.map((w) => w[1]), list.map((w) => w[2])], {});
    }
    if (run.states.length) {
        const gap = run.states.map(([t, begin], i) => begin - (i && run.states[i - 1][0] === t ? run.states[i - 1][1] + run.states[i - 1][2] : 0));
        table("states", [run.states.map((s) => s[0]), gap, run.states.map((s) => s[2]), run.states.map((s) => s[3])], run.leastState ? {least: run.leastState} : {});
    }
    if (run.path.length) {
        const gap = run.path.map(([begin], i) => begin - (i ? run.path[i - 1][0] + run.path[i - 1][1] : 0));
        table("path", [gap, run.path.map((p) => p[1]), run.path.map((p) => run.string(p[2])), run.path.map((p) => p[3]), run.path.map((p) => p[4])], {});
    }
    if (run.heap) {
        const {tree: names, places} = heapTables(run);
        table("heap_tree", names, {});
        table("heap_places", places, {});
        if (run.heap.levels) table("heap_levels", [deltas(run.heap.levels.map((l) => l[0])), run.heap.levels.map((l) => l[1]), run.heap.levels.map((l) => l[2])], {});
        if (run.heap.kept) table("heap_kept", [0, 1, 2, 3, 4].map((k) => run.heap.kept.map((b) => b[k])), {});
    }
    let blocks = 0, merged = 0;
    if (run.merged) {
        const list = run.merged.map(([t, i, count, sum]) => [base.get(t) + i, count, sum]).sort((a, b) => a[0] - b[0]);
        table("merged", [0, 1, 2].map((k) => list.map((m) => m[k])), {});
        blocks = list.length;
        merged = list.reduce((s, m) => s + m[1], 0);
    }
    meta.strings = run.strings.slice();
    const index = {
        strings: [], chunks: bodies.length, chunk_events: CHUNK_EVENTS,
        tracks: tracks.map((t) => ({kind: t.kind, row: t.row, lane: t.lane, n: t.start.length, ...(t.name ? {name: t.name} : {})})),
        args: run.argList, shown: n - blocks, merged, blocks, budget: 5000000, tables, ...run.index,
    };
    return [jsonScript("axp-meta", meta),
        ...bodies.map((b, i) => `<script type="application/octet-stream" id="axp-c${i}">${b}</script>\n`),
        jsonScript("axp-index", index)];
}

export function writePage(templatePath, run, path, options) {
    const template = fs.readFileSync(templatePath, "utf8");
    const at = template.indexOf(MARKER);
    if (at < 0) throw new Error(`${templatePath} has no ${MARKER}`);
    const out = fs.openSync(path, "w");
    fs.writeSync(out, template.slice(0, at));
    for (const part of encodeRun(run, options)) fs.writeSync(out, part);
    fs.writeSync(out, template.slice(at + MARKER.length));
    fs.closeSync(out);
    return fs.statSync(path).size - template.length;
}
