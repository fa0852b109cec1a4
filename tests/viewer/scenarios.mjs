// SPDX-License-Identifier: MIT OR Apache-2.0
// The synthetic runs that the tests and the screenshots use. Each function
// returns a Run; `training(n)` grows to any number of events.
import {Run, random} from "./synth.mjs";

const MS = 1e6, US = 1e3, MIB = 1048576;
const CAT = {forward: 1, backward: 2, optimizer: 3, data: 4, comm: 5, sync: 6, copy: 7, io: 8};
const F32 = 2, BF16 = 5;

export function empty() {
    return new Run("empty");
}

export function one() {
    const run = new Run("one scope");
    run.thread("main").span("main", 0, 2.5 * MS);
    return run;
}

export function small() {
    const run = new Run("three events");
    const t = run.thread("main");
    t.begin("outer", 0);
    t.span("first", 100 * US, 400 * US);
    t.span("second", 600 * US, 300 * US);
    t.end(1 * MS);
    return run;
}

// ---- a training run -------------------------------------------------------------------

const LAYER = [ // name, host µs, device µs, flops, bytes
    ["layernorm", 9, 21, 0.02e9, 13e6],
    ["attn.qkv", 12, 118, 14.5e9, 29e6],
    ["attn.scores", 10, 74, 3.2e9, 25e6],
    ["attn.softmax", 8, 58, 0.1e9, 50e6],
    ["attn.proj", 11, 49, 4.8e9, 17e6],
    ["mlp.fc1", 12, 156, 19.3e9, 38e6],
    ["mlp.gelu", 8, 44, 0.2e9, 50e6],
    ["mlp.fc2", 12, 152, 19.3e9, 38e6],
];

class Trainer {
    constructor(run, seed, {rank = -1, layers = 8, device = true, slow = 1, flows = true, process = 1000} = {}) {
        Object.assign(this, {run, rank, layers, slow, flows, r: random(seed)});
        this.main = run.thread(rank >= 0 ? "python" : "main", {rank, process});
        this.loaders = [0, 1].map((i) => run.thread(`loader ${i}`, {rank, process}));
        this.gpu = device ? run.queue("cuda:0 compute", {rank, process}) : null;
        this.copy = device ? run.queue("cuda:0 copy", {rank, process}) : null;
        this.t = 0;
        this.gpuFree = 0;
        this.steps = [];
    }
    jitter(us, share = 0.12) {
        return Math.max(50, Math.round(us * US * this.slow * (1 + share * (this.r() * 2 - 1))));
    }
    /** A launch on the host and its kernel on the device. */
    op(name, hostUs, deviceUs, work, suffix = "") {
        const full = name + suffix;
        const start = this.t, host = this.jitter(hostUs);
        this.main.begin(full, start, this.gpu ? undefined : work);
        if (!this.gpu) {
            this.t += host + this.jitter(deviceUs);
            this.main.end(this.t);
            return;
        }
        const l = this.main.span("cudaLaunchKernel", start + Math.round(host * 0.3), Math.round(host * 0.45));
        this.t += host;
        this.main.end(this.t);
        const at = Math.max(this.gpuFree, start + host);
        const d = this.jitter(deviceUs, 0.06);
        const k = this.gpu.span(`${full}_kernel`, at, d, work);
        if (this.flows) this.run.flows.push([this.main, l, this.gpu, k]);
        this.gpuFree = at + d + 900;
    }
    wait(name, until) {
        if (until <= this.t) return;
        this.main.span(name, this.t, until - this.t);
        this.t = until;
    }
    load(at, us) {
        const w = this.loaders[this.steps.length % 2];
        const d = this.jitter(us, 0.3);
        const begin = Math.max(0, at, w.last2 ?? 0);
        w.begin("load_batch", begin);
        w.span("read_file", begin + 2 * US, Math.round(d * 0.35));
        w.span("decode", begin + Math.round(d * 0.36), Math.round(d * 0.4));
        w.span("collate", begin + Math.round(d * 0.77), Math.round(d * 0.2));
        w.end(begin + d);
        w.last2 = begin + d;
        return begin + d;
    }
    step(i) {
        const begin = this.t;
        const slow = this.r() < 0.04 ? 5 + 6 * this.r() : 1;
        this.main.begin("train_step", begin);
        this.main.begin("next_batch", this.t);
        this.wait("queue.get", this.load(this.t - 2 * MS, 2600 * slow));
        this.main.end((this.t += 3 * US));
        if (this.copy) {
            const c = this.main.span("cudaMemcpyAsync", this.t, this.jitter(14));
            const k = this.copy.span("Memcpy HtoD", this.t + 8 * US, this.jitter(180));
            if (this.flows) this.run.flows.push([this.main, c, this.copy, k]);
            this.t += 30 * US;
        }
        this.main.begin("forward", this.t);
        for (let l = 0; l < this.layers; l++) {
            this.main.begin(`block`, this.t);
            for (const [name, h, d, f, b] of LAYER) this.op(name, h, d, [f, b, BF16, [8, 1024, 768]]);
            this.main.end((this.t += US));
        }
        this.op("loss", 9, 35, [0.4e9, 40e6, F32]);
        this.main.end((this.t += US));
        this.main.begin("backward", this.t);
        for (let l = 0; l < this.layers; l++) {
            this.main.begin(`block.backward`, this.t);
            for (const [name, h, d, f, b] of LAYER.toReversed()) this.op(name, h, d * 1.9, [2 * f, 2 * b, BF16, [8, 1024, 768]], ".grad");
            this.main.end((this.t += US));
        }
        this.main.end((this.t += US));
        if (this.rank >= 0) this.wait("all_reduce", this.t + this.jitter(this.slow > 1 ? 300 : 2400));
        this.main.begin("optimizer", this.t);
        this.op("adamw", 40, 410, [0.3e9, 480e6, F32]);
        this.main.end((this.t += US));
        if (this.gpu) this.wait("cudaDeviceSynchronize", this.gpuFree);
        this.main.end((this.t += 4 * US));
        this.steps.push({index: i, begin, end: this.t});
        this.t += 6 * US;
    }
}

function stepMeta(steps, live) {
    const d = steps.map((s) => s.end - s.begin).sort((a, b) => a - b);
    const q = (x) => d[Math.min(d.length - 1, Math.ceil(x * d.length) - 1)];
    const kept = steps.length <= 4096 ? steps : steps.filter((_, i) => i % Math.ceil(steps.length / 4096) === 0);
    const lo = d[0], hi = d[d.length - 1], hist = [];
    const width = Math.max(1, Math.ceil((hi - lo + 1) / 40));
    for (let b = lo; b <= hi; b += width) {
        const count = d.filter((x) => x >= b && x < b + width).length;
        if (count) hist.push([b, b + width, count]);
    }
    return {
        count: d.length, avg: Math.round(d.reduce((a, b) => a + b, 0) / d.length), p50: q(0.5), p95: q(0.95), p99: q(0.99),
        min: lo, max: hi, hist,
        list: {index: kept.map((s) => s.index), begin: kept.map((s) => s.begin), end: kept.map((s) => s.end), live: kept.map((s, i) => live(s, i))},
    };
}

const MEM_NAMES = [["weights", 1, 248], ["adam.moments", 3, 496], ["gradients", 2, 248], ["activations", 4, 0], ["batch", 6, 12], ["workspace", 5, 64], ["token_cache", 7, 0]];

/** Live bytes by name along the steps; a cache that grows. */
function memoryOf(run, steps, withTable = true) {
    const time = [], columns = MEM_NAMES.map(() => []), total = [];
    const per = Math.max(4, Math.min(32, Math.floor(4000 / steps.length)));
    const stride = Math.max(1, Math.ceil((steps.length * per) / 4096));
    for (let i = 0; i < steps.length; i += stride) {
        const s = steps[i];
        for (let k = 0; k < per; k++) {
            const f = k / per, t = Math.round(s.begin + f * (s.end - s.begin));
            const act = f < 0.45 ? f / 0.45 : f < 0.85 ? 1 - (f - 0.45) / 0.4 : 0;
            const row = [248, 496, f > 0.4 ? 248 : 0, 1700 * act, 12, f > 0.1 && f < 0.9 ? 64 : 0, 30 + (i * 260) / steps.length];
            time.push(t);
            row.forEach((m, c) => columns[c].push(Math.round(m * MIB)));
            total.push(row.reduce((a, m) => a + Math.round(m * MIB), 0));
        }
    }
    let at = 0;
    total.forEach((v, i) => v > total[at] && (at = i));
    const last = total.length - 1;
    const names = MEM_NAMES.map(([name, kind], c) => ({
        name: run.string(name), kind, current: columns[c][last], peak: columns[c].reduce((a, b) => Math.max(a, b)), at_peak: columns[c][at],
        allocated: columns[c].reduce((a, b) => Math.max(a, b)) * (kind >= 4 ? steps.length : 1), n_allocs: kind >= 4 ? steps.length * 24 : 32, n_frees: kind >= 4 ? steps.length * 24 : 0,
    }));
    names.sort((a, b) => b.at_peak - a.at_peak);
    const sum = (k) => names.reduce((a, n) => a + n[k], 0);
    return {
        meta: {
            current: total[last], peak: total[at], peak_at: time[at], allocated: sum("allocated"), freed: sum("allocated") - total[last],
            n_allocs: sum("n_allocs"), n_frees: sum("n_frees"), names,
            leaks: [
                {name: run.string("adam.moments"), bytes: 496 * MIB, at: 0, thread: 5000, is_retained: true, n_blocks: 32},
                {name: run.string("token_cache"), bytes: columns[6][last], at: steps[0].begin, thread: 5000, is_retained: false, n_blocks: steps.length},
                {name: run.string("weights"), bytes: 248 * MIB, at: 0, thread: 5000, is_retained: true, n_blocks: 32},
            ],
        },
        table: withTable ? {time, columns: [total, ...columns], names: MEM_NAMES.map((m) => m[0]), exact: false} : null,
    };
}

function describe(run) {
    const say = (name, extra) => run.opExtra.set(name, extra);
    for (const [name, , , flops, bytes] of LAYER) {
        for (const [suffix, k, category] of [["", 1, CAT.forward], [".grad", 2, CAT.backward]]) {
            say(name + suffix, {category, file: "model/blocks.c", line: 40 + name.length, alloc: bytes / 3});
            say(`${name}${suffix}_kernel`, {category, flops: flops * k, bytes: bytes * k, dtype: BF16});
        }
    }
    say("adamw", {category: CAT.optimizer, file: "train/adamw.c", line: 88});
    say("adamw_kernel", {category: CAT.optimizer, flops: 0.3e9, bytes: 480e6, dtype: F32});
    say("loss_kernel", {category: CAT.forward, flops: 0.4e9, bytes: 40e6, dtype: F32});
    for (const n of ["next_batch", "queue.get", "load_batch", "read_file", "decode", "collate"]) say(n, {category: CAT.data, file: "train/loader.c", line: 31 + n.length});
    for (const n of ["cudaDeviceSynchronize"]) say(n, {category: CAT.sync});
    for (const n of ["Memcpy HtoD", "cudaMemcpyAsync"]) say(n, {category: CAT.copy});
    say("all_reduce", {category: CAT.comm, file: "train/dist.c", line: 120});
    for (const n of ["forward", "loss", "block"]) say(n, {category: CAT.forward, file: "model/gpt.c", line: 60 + n.length});
    for (const n of ["backward", "block.backward"]) say(n, {category: CAT.backward, file: "model/gpt.c", line: 160 + n.length});
    say("optimizer", {category: CAT.optimizer, file: "train/adamw.c", line: 70});
}

function gpuMachine() {
    return {name: "NVIDIA H100 PCIe, 2 × Intel Xeon 8480+", cores: 112, gflops: [["bf16 dense", 756000], ["fp32", 51000]], gbps: [["HBM", 2000], ["L2", 5600]]};
}

function trainingFindings(wall) {
    const f = (type, severity, name, share, description, suggestion, metrics, bound = false) =>
        ({type, severity, name, description, suggestion, saving_ns: Math.round(wall * share), saving_share: share, saving_is_bound: bound, confidence: 0.9, metrics});
    return [
        f("DeviceIdle", "high", "cuda:0 compute", 0.21, "The device waits for the host: 21 % of the time between its first and last kernel it has nothing to run.", "Launch further ahead: capture the step as a graph, or fuse the small kernels of a block.", {idle_percentage: 21.3, host_late_percentage: 17.8}),
        f("InputBound", "medium", "queue.get", 0.084, "The training thread waits 8.4 % of the step for the next batch; most of a load is decoding.", "Add a loader thread, or keep decoded batches.", {wait_percentage: 8.4, decode_percentage: 40}),
        f("MemoryBound", "medium", "attn.softmax_kernel", 0.061, "moves data at 86 % of the bandwidth and computes little: 2 FLOP a byte", "Fuse it with the products around it (flash attention).", {gbps: 1720, time_percentage: 9.9}),
        f("LowThroughput", "low", "adamw_kernel", 0.031, "reaches 58 % of what the roofline allows here", "Use one fused kernel over all parameters.", {gbps: 1170}),
        f("MemoryGrowth", "low", "token_cache", 0, "grows by 4.4 MB a step and does not level off", "Bound the cache.", {bytes_per_step: 4613734}),
    ];
}

/** A GPT trained on one device: everything the page can show. */
export function training(nEvents = 30000, seed = 7) {
    const run = new Run("gpt-124m, 8 layers, batch 8 × 1024", {command: "./train --layers 8 --batch 8 --steps 200", host: "node-17", started: "2031-05-06T14:03:11Z", process_id: 41822});
    describe(run);
    const n0 = 420;
    const n = Math.max(4, Math.round(nEvents / n0));
    const tr = new Trainer(run, seed, {flows: nEvents < 200000});
    const init = tr.main.begin("init", 0);
    tr.main.span("load_checkpoint", 300 * US, 9 * MS);
    tr.main.end((tr.t = 11 * MS));
    void init;
    const marks = run.also("t0", "marks");
    for (let i = 0; i < n; i++) {
        tr.step(i);
        if (i % 20 === 19) marks.span("checkpoint.saved", tr.t - 2 * US, 0, [null, null, 0, null, run.string(`{"step": ${i + 1}, "path": "ckpt/${i + 1}.bin"}`)]);
    }
    run.steps = stepMeta(tr.steps, (_, i) => Math.round((790 + i) * MIB));
    run.memory = memoryOf(run, tr.steps);
    const r = random(seed + 1);
    const keep = tr.steps.filter((_, i) => i % Math.max(1, Math.ceil(n / 2000)) === 0);
    run.counters.push({name: "loss", time: keep.map((s) => s.end), value: keep.map((s) => 1.2 + 9 * Math.exp(-s.index / (n / 6)) + 0.1 * r())});
    run.counters.push({name: "tokens/s", time: keep.map((s) => s.end), value: keep.map((s) => Math.round(8192e9 / (s.end - s.begin)))});
    run.meta.machine = gpuMachine();
    run.meta.findings = trainingFindings(tr.t);
    run.meta.warnings = [{code: "own_overhead", name: "layernorm", count: 1, text: "recording took 1.1 % of the run's time"}];
    run.meta.thresholds = [["slow_operation.percent", 20], ["device_idle.percent", 10]];
    return run;
}

/** Host only, no device, no steps. */
export function threads200() {
    const run = new Run("200 threads");
    const r = random(3);
    for (let k = 0; k < 200; k++) {
        const t = run.thread(`worker ${k}`);
        let at = Math.round(r() * 2 * MS);
        for (let i = 0; i < 40; i++) {
            const d = Math.round((0.2 + r()) * MS);
            t.begin("task", at);
            t.span("compute", at + 10 * US, Math.round(d * 0.7));
            t.end(at + d);
            at += d + Math.round(r() * MS);
        }
    }
    return run;
}

export function ranks(nSteps = 12) {
    const run = new Run("4 ranks, one slow", {host: "node-17 … node-20", command: "mpirun -n 4 ./train"});
    describe(run);
    let steps = null;
    for (let rank = 0; rank < 4; rank++) {
        const tr = new Trainer(run, 11 + rank, {rank, layers: 3, slow: rank === 2 ? 1.35 : 1, process: 2000 + rank});
        for (let i = 0; i < nSteps; i++) tr.step(i);
        if (rank === 0) steps = tr.steps;
    }
    run.steps = stepMeta(steps, () => null);
    const wall = run.tracks[0].last;
    run.meta.findings = [{
        type: "LoadImbalance", severity: "high", name: "all_reduce", description: "Rank 2 needs 1.35 × as long for a step as the others, which wait for it in all_reduce.",
        suggestion: "Look at rank 2: clocks, thermal throttling, or another job on its node.", saving_ns: Math.round(wall * 0.17), saving_share: 0.17, saving_is_bound: false, confidence: 0.95, metrics: {balance: 0.79, straggler_rank: 2},
    }];
    return run;
}

/** Only memory: no scopes at all. */
export function memoryOnly() {
    const run = new Run("allocations only");
    const time = [], total = [], a = [], b = [];
    for (let i = 0; i < 300; i++) {
        time.push(i * MS);
        a.push(64 * MIB + (i % 60) * MIB);
        b.push(i * 300000);
        total.push(a[i] + b[i]);
    }
    let at = 0;
    total.forEach((v, i) => v > total[at] && (at = i));
    const line = (name, kind, c) => ({name: run.string(name), kind, current: c[299], peak: Math.max(...c), at_peak: c[at], allocated: Math.max(...c) * 3, n_allocs: 300, n_frees: 240});
    run.memory = {
        meta: {current: total[299], peak: total[at], peak_at: time[at], allocated: total[at] * 3, freed: total[at] * 3 - total[299], n_allocs: 600, n_frees: 480,
            names: [line("arena", 4, a), line("cache", 7, b)].sort((x, y) => y.at_peak - x.at_peak),
            leaks: [{name: run.string("cache"), bytes: b[299], at: MS, thread: 5000, is_retained: false, n_blocks: 60}]},
        table: {time, columns: [total, a, b], names: ["arena", "cache"], exact: true},
    };
    run.meta.run.duration_ns = 299 * MS;
    run.meta.findings = [{type: "MemoryLeak", severity: "medium", name: "cache", description: "85.5 MB of cache were never freed: 12 % of what was allocated.", suggestion: "Free them, or allocate them before the first step.", saving_ns: 0, saving_share: 0, saving_is_bound: false, confidence: 0.8, metrics: {leaked_bytes: b[299], leak_percentage: 12}}];
    return run;
}

/** Two threads that hand a lock to each other. */
export function handover(n = 6) {
    const run = new Run("a lock that goes to and fro");
    const t = ["left", "right"].map((name) => run.thread(name));
    t.forEach((x) => x.begin("work", 0));
    for (let i = 0; i < n; i++) {
        const me = t[i % 2], at = i * MS;
        me.span("critical", at + 5 * US, MS - 5 * US);
        const wait = t[1 - (i % 2)].span("mutex wait", at + 100 * US, 905 * US);
        run.wakers.push([t[1 - (i % 2)], wait, i % 2, 5 * US]); // given at the end of "critical"
    }
    t.forEach((x) => x.end(n * MS + 20 * US));
    run.opExtra.set("mutex wait", {category: CAT.sync});
    return run;
}

/** Threads as the scheduler saw them; the last of them has no scope at all. */
export function states(n = 400, seed = 21) {
    const run = new Run("states of threads");
    const r = random(seed);
    const end = 50 * MS;
    for (let k = 0; k < 4; k++) {
        const t = run.thread(k < 2 ? "worker" : ["loader", "spinner"][k - 2]);
        let at = 0, ran = 0, ready = 0;
        while (k < 3 && at < end) {
            const on = Math.round(r() * (end / n) * 2), off = Math.round((r() * end) / n + 10 * US), state = r() < 0.25 ? 2 : 1;
            if (at + on + off > end) break;
            if (state === 2) ready += off;
            run.states.push([k, at + on, off, state]);
            at += on + off;
        }
        run.states.filter((s) => s[0] === k).forEach((s) => (ran += s[2]));
        if (k < 2) for (let i = 0; i < 25; i++) t.span(i % 2 ? "compute" : "mutex wait", i * 2 * MS, 2 * MS - 50 * US);
        Object.assign(run.threads[k], {begin: 0, end, cpu: end - ran, ready});
    }
    run.opExtra.set("mutex wait", {category: CAT.sync});
    run.meta.run.duration_ns = end;
    return run;
}

/** A program that nobody changed: its heap by place, steps, no scopes but one. */
export function heap(n = 0, seed = 9) {
    const run = new Run("the heap of an unchanged program", {command: "./train"});
    const t = run.thread("main");
    t.begin("main", 0);
    t.span("train_step", MS, 8 * MS);
    t.end(10 * MS);
    const place = (path, label, rest) => ({path: ["_start", "main", ...path], label, n_allocs: 1, ...rest});
    const places = [
        place(["load", "weights"], "load: weights", {is_named: true, kind: 1, current: 40 * MIB, blocks: 12, at_peak: 40 * MIB, allocated: 40 * MIB, n_allocs: 12}),
        place(["train_step", "forward", "new_tensor"], "new_tensor (tensor.c:31)", {at_peak: 24 * MIB, allocated: 2400 * MIB, n_allocs: 9600, n_frees: 9600, n_temporary: 4000, step_allocs: 96, step_bytes: 24 * MIB}),
        place(["train_step", "backward", "new_tensor"], "new_tensor (tensor.c:31)", {at_peak: 8 * MIB, allocated: 800 * MIB, n_allocs: 3200, n_frees: 3200, n_temporary: 3200, step_allocs: 32, step_bytes: 8 * MIB}),
        place(["train_step", "log_loss", "append"], "append (log.c:12)", {current: 3 * MIB, blocks: 100, at_peak: 3 * MIB, allocated: 3 * MIB, n_allocs: 100, growth_early: 31000, growth_late: 31457, step_allocs: 1, step_bytes: 31457}),
        place(["train_step", "cache_get"], "cache_get (cache.c:77)", {current: MIB, blocks: 16, at_peak: MIB, allocated: MIB, n_allocs: 16, growth_early: 65536, growth_late: 0}),
    ];
    const r = random(seed);
    for (let i = 0; i < n; i++)
        places.push(place(Array.from({length: 4 + Math.floor(r() * 24)}, (_, d) => `f${d}_${Math.floor(r() * 3)}`), `g${i % 900} (x.c:${i % 900})`, {current: Math.floor(r() * 100), blocks: 1, at_peak: Math.floor(r() * 1e4), allocated: 2e4, n_allocs: 10}));
    const sum = (k) => places.reduce((s, p) => s + (p[k] ?? 0), 0);
    run.heap = {places, meta: {current: sum("current"), blocks: sum("blocks"), peak: sum("at_peak"), peak_at: 7 * MS, allocated: sum("allocated"), n_allocs: sum("n_allocs"), n_frees: sum("n_frees"),
        n_temporary: sum("n_temporary"), n_missed: 0, sampled: 0, mapped: 16 * MIB, mapped_peak: 64 * MIB, n_mapped: 3, resident: 90 * MIB, resident_peak: 120 * MIB}};
    return run;
}

/** The same with times: live bytes over time, when places allocated, single blocks. */
export function heapTimes() {
    const run = heap();
    const r = random(4);
    run.heap.places.forEach((p, i) => Object.assign(p, {first: i * MS, last: (i + 4) * MS, thread: i % 2, lived: Array.from({length: 8}, (_, k) => (p.n_frees && k === 2 + i ? p.n_frees : 0))}));
    run.heap.levels = Array.from({length: 500}, (_, i) => {
        const most = Math.round((20 + 50 * Math.abs(Math.sin(i / 40)) + r()) * MIB);
        return [Math.round((i * 10 * MS) / 500), Math.round(most * (0.6 + 0.3 * r())), i === 350 ? run.heap.meta.peak : most];
    });
    run.heap.kept = [[3, 2 * MIB, 4 * MS, 1, 1], [0, 8 * MIB, MS, 0, 5], [4, 65536, 9 * MS, 1, 16]];
    run.counters.push({name: "process.rss_bytes", time: [0, 2 * MS, 6 * MS], value: [30 * MIB, 90 * MIB, 120 * MIB]});
    run.heap.meta.resident_name = run.string("process.rss_bytes");
    return run;
}

export const HOSTILE = [
    "</script><script>window.hacked=1</script>", "<img src=x onerror=\"window.hacked=1\">", "a\u2028b\u2029c", "\ufffd\ufffd(\ufffd",
    "\"><svg onload=window.hacked=1>", "<!--", "--><script>window.hacked=1</script>", "]]>", "'+alert(1)+'", "javascript:window.hacked=1", "\u0000\u0001\u001b[31m", "__proto__", "constructor", "%s%n%x", "=1+1|cmd",
];

export function hostile() {
    const run = new Run(HOSTILE[0], {host: HOSTILE[1], command: HOSTILE[4]});
    const t = run.thread(HOSTILE[1]);
    let at = 0;
    for (const name of [...HOSTILE, "x".repeat(1 << 20)]) {
        t.begin(name, at);
        t.span(HOSTILE[0] + at, at + 10 * US, 20 * US, [1e6, 1e6, F32, [8], run.string(HOSTILE[1])]);
        t.end(at + 100 * US);
        run.opExtra.set(name, {flops: 1e6, bytes: 1e6, file: HOSTILE[0], line: 1, category: 1});
        at += 110 * US;
    }
    run.queue(HOSTILE[4]).span(HOSTILE[6], 0, at);
    run.counters.push({name: HOSTILE[1], time: [0, at], value: [1, 2]});
    run.heap = heap().heap;
    run.heap.meta.failed = {count: 2, bytes: 5, at: 7, where: HOSTILE[0]};
    HOSTILE.forEach((name, i) => run.heap.places.push({path: [name, HOSTILE[0]], label: name, current: 10 + i, at_peak: 100, n_allocs: 1, is_named: i % 2}));
    run.meta.findings = HOSTILE.slice(0, 4).map((name) => ({type: name, severity: "high", name, description: name + " is slow", suggestion: name, saving_ns: 10 * US, saving_share: 0.1, saving_is_bound: true, confidence: 1, metrics: {[name]: 3}}));
    run.meta.warnings = HOSTILE.slice(0, 3).map((text) => ({code: text, name: text, count: 3, text}));
    run.meta.verdict = HOSTILE[0] + HOSTILE[1];
    run.meta.machine = {name: HOSTILE[1], cores: 2, gflops: [[HOSTILE[0], 100]], gbps: [[HOSTILE[1], 10]]};
    return run;
}

export function names() {
    const run = new Run("names of all kinds");
    const t = run.thread("النواة الرئيسية");
    const list = ["x".repeat(10000), "حساب المصفوفة", "מכפלת מטריצות", "行列積・順伝播", "🚀 launch 🔥 kernel 🧠", "e\u0301\u0323 combining", "tab\tand\nnewline", " leading and trailing ", "at::native::(anonymous namespace)::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"];
    let at = 0;
    list.forEach((name, i) => {
        t.span(name, at, (i + 1) * 300 * US);
        at += (i + 1) * 300 * US + 50 * US;
    });
    return run;
}

/** A trace whose times lie beyond 2^53 ns, and one span of 120 days. */
export function longTime() {
    const run = new Run("beyond 104 days", {t0: "9007199254740993"});
    const DAY = 86400e9;
    const t = run.thread("daemon");
    t.begin("service", 0);
    for (let d = 0; d < 40; d++) t.span("night job", d * DAY + 3600e9, 1800e9 + d * 1e9);
    t.end(40 * DAY);
    return run;
}

export function manyNames(n = 70000) {
    const run = new Run(`${n} names`);
    const t = run.thread("main");
    for (let i = 0; i < n; i++) t.span(`op_${i}`, i * 2 * US, US + (i % 700));
    return run;
}

export function deep(depth = 300) {
    const run = new Run(`${depth} deep`);
    const t = run.thread("main");
    for (let i = 0; i < depth; i++) t.begin(i % 3 ? `level ${i}` : "recurse", i * US);
    for (let i = depth - 1; i >= 0; i--) t.end((2 * depth - i) * US);
    return run;
}

/** More than the budget: blocks stand for what is not shown. */
export function merged() {
    const run = new Run("more than the budget");
    const t = run.thread("main");
    run.merged = [];
    let at = 0;
    for (let i = 0; i < 200; i++) {
        t.begin("epoch", at);
        t.span("batch", at + 20 * US, 400 * US);
        const k = t.span("(merged)", at + 450 * US, 500 * US);
        run.merged.push([t, k, 11000, 410 * US]);
        t.end(at + 1000 * US);
        at += 1010 * US;
    }
    return run;
}

/** Random nesting with everything that is awkward for a decoder. */
export function awkward(n = 3000, seed = 5) {
    const run = new Run("awkward");
    const r = random(seed);
    const t = run.thread("main");
    let at = 5e9;
    const names = Array.from({length: 50}, (_, i) => `fn${i}`);
    while (t.start.length < n) {
        const x = r();
        if (x < 0.5 && t.open.length < 80) t.begin(names[Math.floor(r() * 50)], at);
        else if (t.open.length) t.end(at);
        if (r() < 0.6) at += Math.floor(r() * (r() < 0.01 ? 1e10 : 1e5));
    }
    while (t.open.length) t.end((at += 7));
    return run;
}

export const SCENARIOS = {empty, one, small, training, threads200, ranks, memoryOnly, handover, states, heap, heapTimes, hostile, names, longTime, manyNames, deep, merged, awkward};
