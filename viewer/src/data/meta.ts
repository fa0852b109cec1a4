// SPDX-License-Identifier: MIT OR Apache-2.0
// What stands in the two JSON blocks of the page; docs/html-data.md says it in
// words. Everything here comes from a run, so texts may hold anything: they
// reach the page as text nodes and canvas labels only, never as markup.

export interface RunInfo {
    title: string;
    duration_ns: number;
    t0: string;
    process_count: number;
    thread_count: number;
    operation_count: number;
    call_count: number;
    total_time_ns: number;
    events: number;
    cut_events: number;
    own_cost_ns: number;
    version: string;
    host?: string;
    cpu?: string;
    command?: string;
    started?: string;
    process_id?: number;
    gflops?: number; // a second, by what was declared
    peak?: [string, number]; // of all threads
}

export interface Finding {
    type: string;
    severity: "low" | "medium" | "high" | "critical";
    name: number;
    description: string;
    suggestion: string;
    saving_ns: number;
    saving_share: number;
    saving_is_bound: boolean;
    confidence: number;
    metrics: Record<string, number>;
}

export interface PathPart {
    name: string;
    kind: string;
    ns: number;
    share: number;
    device?: string;
}

export interface CriticalPathInfo {
    wall_ns: number;
    is_estimate: boolean;
    n_unknown_waits: number;
    unknown_ns: number;
    parts: PathPart[];
}

export interface Warning {
    code: string;
    name: string | null;
    count: number;
    text: string;
}

type MaybeNumbers = (number | null)[];

export interface OpColumns {
    name: number[];
    calls: number[];
    total: number[];
    self: number[];
    min: number[];
    max: number[];
    p50: number[];
    p95: number[];
    p99: number[];
    share: number[];
    flops: MaybeNumbers;
    bytes: MaybeNumbers;
    flops_ns: MaybeNumbers;
    bytes_ns: MaybeNumbers;
    roof: MaybeNumbers; // GFLOP/s that the machine allows a call
    dtype: number[];
    category: number[];
    file: number[];
    line: number[];
    sampled: number[];
    doubt: number[]; // ns of self that may be the recorder's; 0: few enough
}

/** Index in ops, dims (none: the others), how many it stands for, calls, total, flops, bytes, flops_ns, bytes_ns, GFLOP/s that a call is allowed, share of that, what binds it. */
export type ShapeLine = [number, number[], number, number, number, number | null, number | null, number | null, number | null, number | null, number | null, string | null];

export interface TreeColumns {
    name: number[];
    parent: number[];
    calls: number[];
    total: number[];
    self: number[];
    flops: MaybeNumbers;
    bytes: MaybeNumbers;
    alloc: number[];
}

export interface Steps {
    count: number;
    avg: number;
    p50: number;
    p95: number;
    p99: number;
    min: number;
    max: number;
    list: {index: number[]; begin: number[]; end: number[]; live: MaybeNumbers};
    hist: [number, number, number][];
}

export interface MemoryName {
    name: number;
    kind: number;
    current: number;
    peak: number;
    at_peak: number;
    allocated: number;
    n_allocs: number;
    n_frees: number;
}

export interface Leak {
    name: number;
    bytes: number;
    at: number;
    thread: number;
    is_retained: boolean;
    n_blocks: number;
}

export interface Memory {
    device?: string; // not there: the host
    current: number;
    peak: number;
    peak_at: number;
    allocated: number;
    freed: number;
    n_allocs: number;
    n_frees: number;
    names: MemoryName[];
    leaks: Leak[];
}

/** What the allocator handed out, and what is beside it. */
export interface HeapSums {
    current: number;
    blocks: number;
    peak: number;
    peak_at: number;
    allocated: number;
    n_allocs: number;
    n_frees: number;
    n_temporary: number;
    n_missed: number;
    sampled: number; // 0: every block; else one every so many bytes
    mapped: number;
    mapped_peak: number;
    n_mapped: number;
    resident?: number; // not there: nobody looked
    resident_peak?: number;
    resident_name?: number; // string: of the counter that has it over time
    failed?: {count: number; bytes: number; at: number; where?: string; is_too_much?: boolean};
}

export interface Thread {
    id: number;
    name: string;
    process: number;
    rank: number;
    begin: number;
    end: number;
    busy: number;
    wait: number;
    cpu?: number; // not there: not known
    ready?: number; // wanted a processor and had none
    off?: number; // off it, of its own will
    spun?: number; // of cpu: in waits
    events: number;
}

/** Waits of one thread for another, all of one name together. */
export interface Waits {
    name: string;
    process: number;
    thread: number;
    thread_name: string;
    by?: number; // not there: nobody, or not known
    by_name?: string;
    count: number;
    total: number;
    max: number;
}

export interface Queue {
    name: string;
    process: number;
    rank: number;
    begin: number;
    end: number;
    busy: number;
    events: number;
}

export interface Machine {
    name: string;
    cores: number;
    gflops: [string, number][];
    gbps: [string, number, number?][]; // up to so many GFLOP/s
}

export interface Meta {
    format: number;
    run: RunInfo;
    verdict?: string; // one sentence of the analysis: shown as it is
    findings: Finding[];
    warnings: Warning[];
    strings: string[];
    ops?: OpColumns;
    critical_path?: CriticalPathInfo;
    shapes?: ShapeLine[];
    tree?: TreeColumns;
    steps?: Steps;
    memory?: Memory;
    device_memory?: Memory[];
    heap?: HeapSums;
    threads: Thread[];
    waits?: Waits[];
    queues?: Queue[];
    machine?: Machine;
    thresholds?: [string, number][];
}

export interface TrackInfo {
    kind: "slices" | "marks";
    row: string;
    lane: number;
    n: number;
    name?: string;
}

export interface TableInfo {
    chunk: number;
    kind: "memory" | "counter" | "flows" | "merged" | "wakers" | "states" | "path" | "heap_tree" | "heap_places" | "heap_levels" | "heap_kept";
    columns: number;
    n: number;
    names?: number[];
    name?: number;
    exact?: boolean;
    least?: number;
    device?: number; // of device_memory; not there: the host's
}

export type Args = [number | null, (number | null)?, number?, (number[] | null)?, number?];

export interface Index {
    strings: string[];
    chunks: number;
    chunk_events: number;
    tracks: TrackInfo[];
    args: Args[];
    shown: number;
    merged: number;
    blocks: number;
    left_out?: number;
    /** Events after that time, which were not read. */
    unread?: number;
    unread_from_ns?: number;
    budget: number;
    tables: TableInfo[];
}

export const CATEGORIES = ["", "forward", "backward", "optimizer", "data", "comm", "sync", "copy", "io"];
export const DTYPES = ["", "f64", "f32", "tf32", "f16", "bf16", "f8", "i8", "c64", "c128"];
export const MEMORY_KINDS = ["", "weight", "gradient", "optimizer", "activation", "temporary", "input", "cache"];

/** The JSON of a block, or null where the file does not have it whole. */
export function readBlock<T>(id: string): T | null {
    const text = document.getElementById(id)?.textContent;
    if (!text) return null;
    try {
        return JSON.parse(text) as T;
    } catch {
        return null;
    }
}
