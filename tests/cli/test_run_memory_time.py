# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the memory adapter says of time: what was live when, when blocks came and
how long they lived; and the same in other formats.

  test_run_memory_time.py AXPROF PROGRAMS [test ...]
"""
import gzip
import itertools
import json
import sys

import run_support
from memory_support import Context, Heap, has_adapter, judge
from run_support import check, equal, run


def test_waves(c, folder):
    """Memory over time: eight waves, each as high and as long as it was, and
    nothing between them."""
    truth, heap, data = judge(c, folder, "waves")
    check(len(heap.levels) <= 4096, "stretches", len(heap.levels))
    for before, after in itertools.pairwise(heap.levels):
        equal(before.to, after.from_, "each begins where the one before ends")
    check(all(x.min_bytes <= x.max_bytes for x in heap.levels), "order")
    equal(max(x.max_bytes for x in heap.levels), heap.totals["at_peak"],
          "the peak")
    most = 200000  # what is not the program's, and the step
    waves, is_high, since = [], False, 0
    for begin, _, low, high in heap.levels:
        if high > 0.5 * 2 ** 20 + most and not is_high:
            is_high, since = True, begin
            waves.append([0, 0])
        if is_high:
            waves[-1][0] = max(waves[-1][0], high)
        if low < most and is_high and high < 0.5 * 2 ** 20 + most:
            is_high = False
            waves[-1][1] = begin - since
    equal(len(waves), len(truth["waves_mib"]), f"waves: {waves}")
    for (high, ns), mib in zip(waves, truth["waves_mib"]):
        check(abs(high - mib * 2 ** 20) < most, "height", mib, high)
        check(ns > 0.95e6 * truth["wave_ms"], "length", ns)


def test_levels_exported(c, folder):
    """The same in other formats: a counter of Chrome's and of Perfetto's."""
    trace = folder / "waves.axp"
    run([c.axprof, "run", "-q", "-o", trace, "--", c.program(), "waves"],
        folder)
    for name in ("chrome", "perfetto"):
        run([c.axprof, "export", trace, "-f", name, "-o", folder / name],
            folder)
    run([c.axprof, "report", trace, "-f", "json", "-o", folder / "json"],
        folder)
    heap = Heap(json.loads((folder / "json").read_text()))
    counters = [e["args"]["bytes"] for e in
                json.loads((folder / "chrome").read_text())["traceEvents"]
                if e["ph"] == "C" and e["name"] == "heap"]
    equal(max(counters), heap.totals["at_peak"], "the peak of the counter")
    points = sum(1 + (x.min_bytes != x.max_bytes) for x in heap.levels)
    equal(len(counters), points, "points of the counter")
    check(b"heap" in (folder / "perfetto").read_bytes(), "a track of Perfetto")


def fields_of(data):
    """(number, value) of a message of protobuf: numbers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            check(key & 7 == 2, "wire type", key)
            n = varint()
            yield key >> 3, data[at:at + n]
            at += n


def packed(data):
    """Numbers of a packed field, as those of a message without keys."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value, shift = 0, 0
    return numbers


def sums_of_pprof(path):
    """What all samples add up to, by type."""
    fields = list(fields_of(gzip.decompress(path.read_bytes())))
    strings = [v.decode() for k, v in fields if k == 6]
    types = [strings[dict(fields_of(v))[1]] for k, v in fields if k == 1]
    samples = [packed(dict(fields_of(v))[2]) for k, v in fields if k == 2]
    check(all(len(s) == len(types) for s in samples), "values", types)
    return dict(zip(types, map(sum, zip(*samples))))


def test_modes(c, folder):
    """High-water, leaks, total allocated, temporary: as folded stacks and in
    pprof's profile, each adds up to what the report says of all."""
    trace = folder / "ages.axp"
    run([c.axprof, "run", "-q", "-o", trace, "--", c.program(), "ages"],
        folder)
    run([c.axprof, "report", trace, "-f", "json", "-o", folder / "json"],
        folder)
    heap = json.loads((folder / "json").read_text())["heap"]
    run([c.axprof, "export", trace, "-f", "pprof", "-o", folder / "pprof"],
        folder)
    pprof = sums_of_pprof(folder / "pprof")
    for mode, field, kind in (
            ("peak", "peak_bytes", "peak_space"),
            ("leaks", "current_bytes", "inuse_space"),
            ("allocated", "total_allocated", "alloc_space"),
            ("temporary", "n_temporary", "temporary_objects")):
        done = run([c.axprof, "export", trace, "-f", f"folded-{mode}"], folder)
        lines = done.out.decode().splitlines()
        equal(sum(int(x.rsplit(" ", 1)[1]) for x in lines), heap[field],
              f"folded, {mode}")
        check(heap[field] > 0, mode)
        equal(pprof[kind], heap[field], f"pprof, {kind}")
    equal((pprof["alloc_objects"], pprof["inuse_objects"]),
          (heap["n_allocs"], heap["current_blocks"]), "objects")
    check(pprof["wall"] >= 0 and "flops" in pprof, "the other types")


def lived_of(heap, function):
    return [sum(n) for n in zip(*(p.lived for p in heap.of(function)))]


def test_ages(c, folder):
    """How long blocks lived, by classes of ten times the one before from 10 us
    on: all of those that are seldom, about as many as there were of those that
    are frequent. When each large one that stays came."""
    truth, heap, _ = judge(c, folder, "ages")
    short = lived_of(heap, "truth_short")
    check(abs(sum(short) - truth["n_short"]) < 0.25 * truth["n_short"],
          "short ones, estimated", short)
    check(sum(short[:2]) > 0.95 * sum(short), "they were short", short)
    seldom = lived_of(heap, "truth_seldom")
    check(abs(sum(seldom) - truth["n_seldom"]) < 5, "seldom ones", seldom)
    check(sum(seldom[3:]) == sum(seldom), "2 ms and more", seldom)
    old = lived_of(heap, "truth_old")
    check(sum(old[:4]) == 0 and 0 < sum(old) < 3 * truth["n_old"],
          "old ones, more than 50 ms", old)
    kept = [k for k in heap.kept if k["bytes"] >= 65536]
    kept = sorted((k for k in kept if heap.places[k["place"]].is_of(
        "truth_kept")), key=lambda k: k["at"])
    equal([k["bytes"] for k in kept], [(100 + i) << 10 for i in range(5)],
          "large ones that stay")
    equal({k["stands_for"] for k in kept}, {1}, "each for itself")
    for k, ns in zip(kept, truth["kept_ns"]):
        check(abs(k["at"] - kept[0]["at"] - ns) < 2000000, "when", k, ns)
    places = heap.of("truth_kept")
    first, last = (min(p.first_at for p in places),
                   max(p.last_at for p in places))
    check(abs(first - kept[0]["at"]) < 2000000 and
          abs(last - kept[-1]["at"]) < 2000000, "first and last", first, last)
    equal({p.thread_id for p in places}, {kept[0]["thread_id"]}, "thread")
    equal(lived_of(heap, "truth_kept"), [0] * 8, "none went")


TESTS = [test_waves, test_levels_exported, test_ages, test_modes]

if __name__ == "__main__":
    context = Context(*sys.argv[1:3])
    if not has_adapter(context):
        print("this axprof has no memory adapter")
        sys.exit(77)
    run_support.main(TESTS, context)
