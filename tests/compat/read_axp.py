#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A second reader of trace files, written from docs/trace-format.md alone.

  read_axp.py FILE

Prints what it counts of each recording in it, one "key value" a line: blocks
by kind, scopes and events of the timeline, scopes and ticks of the
accumulators, and the scopes of each name in both; samples by kind, and how
many nanoseconds they stand for. Needs the zstd command.
"""
import collections
import struct
import subprocess
import sys

KINDS = ["none", "about", "names", "rows", "chunk", "pack", "state", "stacks",
         "samples", "index", "states"]
PAYLOAD = {6: 1, 7: 2, 8: 2, 9: 2, 11: 1, 12: 3}
M64 = (1 << 64) - 1

CRC = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    CRC.append(i)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def zigzag(v):
    return v >> 1 ^ -(v & 1)


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def take(self, n):
        if n > len(self.data) - self.at:
            raise ValueError("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        v = shift = 0
        while True:
            byte = self.take(1)[0]
            v |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return v


class Block:
    def __init__(self, head, at):
        (magic, self.kind, _, self.len, self.seq, self.row, self.n, self.epoch,
         self.words, self.events, self.base, self.crc,
         head_crc) = struct.unpack("<4sHHQQIIIIQQII", head)
        self.at = at
        self.ok = magic == b"AXPB" and head_crc == crc32c(head[:60])


def blocks(data):
    """Every whole block, from the first on."""
    at = 128
    while at + 64 <= len(data):
        b = Block(data[at:at + 64], at)
        if not b.ok:
            if data[at:at + 8] == b"AXP end\n":
                return
            at += 8
            continue
        body = data[at + 64:at + 64 + b.len]
        if len(body) < b.len:
            return
        if crc32c(body) == b.crc:
            yield b, body
        else:
            print("damaged", at)
        at += 64 + (b.len + 7) // 8 * 8


def by_index(data):
    """(kind, offset) of every block, by trailer and index; None: there is
    none."""
    tail = data[-64:]
    if tail[:8] != b"AXP end\n" or crc32c(tail[:60]) != \
            struct.unpack("<I", tail[60:])[0]:
        return None
    at, length = struct.unpack("<QQ", tail[8:24])
    assert length == len(data)
    b = Block(data[at:at + 64], at)
    entries, body, where = [], Bytes(data[at + 64:at + 64 + b.len]), 0
    while body.more():
        f = [body.varint() for _ in range(12)]
        where += 8 * f[0]
        entries.append((f[1], where))
    return entries


# ---- PACK ------------------------------------------------------------------

def unzstd(stored):
    return subprocess.run(["zstd", "-dcq"], input=stored, check=True,
                          stdout=subprocess.PIPE).stdout


def columns(b, how_many):
    lengths = [(b.varint(), b.varint()) for _ in range(how_many)]
    for n, packed in lengths:
        stored = b.take(packed or n)
        stored = unzstd(stored) if packed else stored
        assert len(stored) == n
        yield stored


def ids(planes, n):
    assert len(planes) == 4 * n
    return [planes[i] | planes[n + i] << 8 | planes[2 * n + i] << 16 |
            planes[3 * n + i] << 24 for i in range(n)]


def record_len(w, at):
    kind = w[at] & 15
    return 1 + (w[at + 1] >> 8 & 0xFFFF if kind == 13 else PAYLOAD.get(kind, 0))


def unpack(block, body):
    """[(base, words)] of the chunks."""
    b = Bytes(body)
    shape, tw, symbols, flags, times, exc, lit = columns(b, 7)
    s = Bytes(shape)
    n_symbols, n_templates, n_contexts, wide = [s.varint() for _ in range(4)]
    n_refs = s.varint() if wide & 2 else 0
    refs = b.take(len(b.data) - b.at)
    refs = iter(ids(refs if len(refs) == 4 * n_refs else unzstd(refs), n_refs))
    wide &= 1
    chunks, base = [], block.base
    for _ in range(block.n):
        s.varint()  # seq
        base = base + zigzag(s.varint()) & M64
        chunks.append((base, s.varint(), s.varint(), s.varint()))
    contexts = []
    for _ in range(n_contexts):
        w = s.varint(), s.varint()
        b = s.varint(), s.varint()
        contexts.append([(w[k], b[k] << max(w[k] - 3, 0)) for k in (0, 1)])
    templates, at = [], 0
    tw = struct.unpack(f"<{len(tw) // 8}Q", tw)
    for _ in range(n_templates):
        n, literals, context, end = [s.varint() for _ in range(4)]
        templates.append((tw[at:at + n], literals, context, end, [0] * 3))
        at += n
    exc = iter(struct.unpack(f"<{len(exc) // 8}Q", exc))
    lit = iter(struct.unpack(f"<{len(lit) // 8}Q", lit))
    bits, pos, i_time = int.from_bytes(times, "little"), 0, 0
    ring, depth, now, i = {}, 0, block.base, 0
    out = []
    for base, n_words, _, n in chunks:
        words, start = [], base
        for _ in range(n):
            sym = symbols[i] | (symbols[n_symbols + i] << 8 if wide else 0)
            i += 1
            if sym == 3:
                base = next(lit)
                words += [6, base]
                continue
            name = 0
            if sym < 2:
                depth -= 1
                name, context = ring[depth % 256]
            else:
                context = templates[sym - 4][2] if sym >= 4 else 0
            flag = flags[i_time // 8] >> i_time % 8 & 1
            i_time += 1
            width, begin = contexts[context][flag]
            v = bits >> pos & (1 << width) - 1
            pos += width
            if flag and v == (1 << width) - 1:
                v = next(exc)
            else:
                v += begin
            now = now + v & M64
            ticks = (now - base & M64) << 24
            if sym < 2:
                words.append(ticks | name << 4 | (2 if sym == 0 else 4))
            elif sym == 2:
                rec = [next(lit)]
                if rec[0] & 15 in PAYLOAD or rec[0] & 15 == 13:
                    rec.append(next(lit))
                while len(rec) < record_len(rec, 0):
                    rec.append(next(lit))
                rec[0] |= ticks
                words += rec
            else:
                template, literals, _, end, last = templates[sym - 4]
                rec = list(template)
                for k in range(literals):
                    v = next(lit)
                    if literals <= 3:
                        last[k] = v = last[k] + zigzag(v) & M64
                    rec.append(v)
                k = 0
                while k < len(template):
                    step = record_len(rec, k)
                    if rec[k] & 15 == 13 and rec[k + 1] & 255 == 16:
                        rec[k + 1] |= next(refs) << 32
                    rec[k] |= ticks
                    k += step
                words += rec
                kind = template[0] & 15
                if kind in (1, 3):
                    ring[depth % 256] = template[0] >> 4 & 0xFFFFF, end
                    depth += 1
                elif kind in (2, 4, 5):
                    depth -= 1
        assert len(words) == n_words
        out.append((start, words))
    assert next(refs, None) is None
    return out


# ---- counting ---------------------------------------------------------------

def count_words(words, scopes, references):
    events = at = 0
    while at < len(words) and words[at]:
        kind = words[at] & 15
        if kind in (1, 3):
            scopes[words[at] >> 4 & 0xFFFFF] += 1
        if kind == 13:
            ext = words[at + 1] & 255
            if ext == 16:
                references[words[at + 1] >> 32] += 1
            events += 2 if ext in (10, 14) else ext in (1, 2, 3, 4, 12, 13)
        else:
            events += kind not in (6, 7)
        at += record_len(words, at)
    return events


def read_state(body):
    tables, b = {}, Bytes(body)
    while b.more():
        number, n, fields = b.varint(), b.varint(), b.varint()
        if fields == 0:
            b.take(n)
        else:
            tables[number] = [[b.varint() for _ in range(fields)]
                              for _ in range(n)]
    return tables


def read_stacks(b, body, stacks):
    r, i = Bytes(body), b.seq
    while r.more():
        frames, address = [], 0
        for _ in range(r.varint()):
            address = address + zigzag(r.varint()) & M64
            frames.append(address)
        if frames:
            stacks[i] = frames
        i += 1
    assert i == b.seq + b.n


def read_samples(b, body):
    threads, times, stacks, kinds, weights = columns(Bytes(body), 5)
    threads, times = Bytes(threads), Bytes(times)
    kinds, weights = Bytes(kinds), Bytes(weights)
    stacks, samples = ids(stacks, b.n), []
    while threads.more():
        pid, tid, n = (threads.varint() for _ in range(3))
        now = b.base
        for _ in range(n):
            now += times.varint()
            samples.append((pid, tid, now, stacks[len(samples)], kinds.varint(),
                            weights.varint()))
    assert len(samples) == b.n
    return samples


def read_names(b, body, names, operations):
    r, i = Bytes(body), b.seq
    while r.more():
        flags, _ = r.varint(), r.varint()
        n, file_n = r.varint(), r.varint()
        names[i] = r.take(n).decode("utf-8", "replace")
        if flags >> 8 & 255 == 10:  # an operation with one shape
            operations[i] = int(names[i].split(":")[0], 16)
        r.take(max(file_n - 1, 0))
        i += 1


def recordings(data):
    """Of a complete file, from the last trailer on back; a cut one is one."""
    found = []
    while data:
        tail = data[-64:]
        length, = struct.unpack("<Q", tail[16:24])
        if tail[:8] != b"AXP end\n" or not 0 < length <= len(data):
            return [data]
        found.insert(0, data[-length:])
        data = data[:-length]
    return found


def main():
    for data in recordings(open(sys.argv[1], "rb").read()):
        read(data)


def read(data):
    assert data[:8] == b"\x89AXP\r\n\x1a\n"
    assert struct.unpack("<I", data[8:12])[0] == 1, "another version"
    assert crc32c(data[:124]) == struct.unpack("<I", data[124:128])[0]
    kinds, names, scopes = collections.Counter(), {}, collections.Counter()
    operations = {}
    timeline, state, found = {}, {}, []
    stacks, references, sampled = {}, collections.Counter(), []
    for b, body in blocks(data):
        kind = KINDS[b.kind] if b.kind < len(KINDS) else "unknown"
        kinds[kind] += 1
        if kind != "index":
            found.append((b.kind, b.at))
        if kind == "names":
            read_names(b, body, names, operations)
        elif kind == "stacks":
            read_stacks(b, body, stacks)
        elif kind == "samples":
            sampled += read_samples(b, body)
        elif kind == "chunk":
            words = struct.unpack(f"<{b.words}Q", body)
            timeline[b.row, b.seq] = b, [(b.base, words)]
        elif kind == "pack":
            timeline[b.row, b.seq] = b, unpack(b, body)
        elif kind == "state":
            state = read_state(body)
    index = by_index(data)
    assert index is None or index == found, "the index lists other blocks"
    events = 0
    for b, chunks in timeline.values():
        n = sum(count_words(words, scopes, references) for _, words in chunks)
        assert n == b.events, "a block has other events than it says"
        events += n
    assert set(references) <= set(stacks), "a stack is missing"
    for name in set(scopes) & set(operations):
        scopes[operations[name]] += scopes.pop(name)
    for kind in sorted(kinds):
        print(f"{kind} {kinds[kind]}")
    print(f"timeline.events {events}")
    print(f"timeline.scopes {sum(scopes.values())}")
    print(f"timeline.references {sum(references.values())}")
    print(f"distinct.stacks {len(stacks)}")
    print(f"all.frames {sum(len(f) for f in stacks.values())}")
    for kind in range(3):
        ns = [weight for *_, of, weight in sampled if of == kind]
        print(f"samples.{kind} {len(ns)} {sum(ns)}")
    if state:
        calls, ticks = collections.Counter(), 0
        for node in state[5]:
            calls[node[0]] += node[5]
            ticks += node[7]
        print(f"state.scopes {sum(calls.values())}")
        print(f"state.self_ticks {ticks}")
        for i in sorted(calls):
            if calls[i]:
                print(f"scopes {calls[i]} {scopes[i]} {names.get(i, '?')}")


if __name__ == "__main__":
    main()
