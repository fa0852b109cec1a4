// SPDX-License-Identifier: MIT OR Apache-2.0
// Chunks back into columns: base64, zlib, byte planes.
//
// Input: untrusted. A chunk that is cut off, damaged or claims more than it
// has throws; the caller says so on the page and goes on with the others.

/** A column of whole numbers: lo + 2^32 · hi. null: 0 in all lines. */
export interface Column {
    lo: Uint32Array | null;
    hi: Uint32Array | null;
}

export interface Chunk {
    n: number;
    columns: Column[];
}

interface WithFromBase64 {
    fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
    const native = (Uint8Array as unknown as WithFromBase64).fromBase64;
    if (native) return native.call(Uint8Array, text);
    const s = atob(text);
    const out = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
    return out;
}

export async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Four planes as 32-bit numbers. */
function join(n: number, [a, b, c, d]: Uint8Array[]): Uint32Array {
    const to = new Uint32Array(n);
    for (let i = 0; i < n; i++) to[i] = a![i]! | (b![i]! << 8) | (c![i]! << 16) | (d![i]! << 24);
    return to;
}

function readPlanes(bytes: Uint8Array, at: number, n: number, mask: number): Column {
    const none = new Uint8Array(n); // where a plane is not there
    const planes: Uint8Array[] = [];
    for (let p = 0; p < 8; p++) {
        const isThere = mask & (1 << p);
        planes.push(isThere ? bytes.subarray(at, at + n) : none);
        if (isThere) at += n;
    }
    return {lo: mask & 0x0f ? join(n, planes) : null, hi: mask & 0xf0 ? join(n, planes.slice(4)) : null};
}

function bitCount(mask: number): number {
    let n = 0;
    for (; mask; mask &= mask - 1) n++;
    return n;
}

export function readChunk(bytes: Uint8Array): Chunk {
    if (bytes.length < 5) throw new Error("is empty");
    const n = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const columns: Column[] = [];
    let at = 5;
    for (let c = 0; c < bytes[4]!; c++) {
        if (at >= bytes.length) throw new Error("ends too early");
        const mask = bytes[at++]!;
        const size = n * bitCount(mask);
        if (at + size > bytes.length) throw new Error("ends too early");
        columns.push(readPlanes(bytes, at, n, mask));
        at += size;
    }
    return {n, columns};
}

/** Decodes a chunk and lets go of its text. */
export async function loadChunk(id: number): Promise<Chunk> {
    const element = document.getElementById(`axp-c${id}`);
    if (!element) throw new Error("is missing");
    const text = element.textContent ?? "";
    element.remove();
    return readChunk(await inflate(fromBase64(text)));
}

export function values(c: Column | undefined, n: number): Float64Array {
    const out = new Float64Array(n);
    if (c?.lo) for (let i = 0; i < n; i++) out[i] = c.lo[i]!;
    if (c?.hi) for (let i = 0; i < n; i++) out[i]! += c.hi[i]! * 4294967296;
    return out;
}

/** Sums of differences. */
export function running(c: Column | undefined, n: number): Float64Array {
    const out = values(c, n);
    for (let i = 1; i < n; i++) out[i]! += out[i - 1]!;
    return out;
}

export function runningZigzag(c: Column | undefined, n: number): Float64Array {
    const out = values(c, n);
    let sum = 0;
    for (let i = 0; i < n; i++) {
        const z = out[i]!;
        sum += z % 2 ? -(z + 1) / 2 : z / 2;
        out[i] = sum;
    }
    return out;
}

export function doubles(c: Column | undefined, n: number): Float64Array {
    const out = new Float64Array(n);
    const words = new Uint32Array(out.buffer);
    for (let i = 0; i < n; i++) {
        words[2 * i] = c?.lo ? c.lo[i]! : 0;
        words[2 * i + 1] = c?.hi ? c.hi[i]! : 0;
    }
    return out;
}
