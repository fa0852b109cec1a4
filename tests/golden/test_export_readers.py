#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The exports, read by programs that are not ours.

  test_export_readers.py EXPORT_MIXED GOLDEN_FOLDER

EXPORT_MIXED writes larger runs with what the view says about them, from memory
and from files of one and of several processes; the golden exports of the six
tiny runs are read too. Perfetto and pprof: protoc,
with a schema of the public field numbers. Chrome, json and speedscope: jq and
Python's json. memory-viz: Python's pickle. openmetrics: Prometheus' own
parser. csv: Python's csv. What they find is counted and compared with the
view and with one another.
"""
import collections
import csv
import gzip
import io
import itertools
import json
import os
import pathlib
import pickle
import pickletools
import re
import subprocess
import sys
import tempfile
import time

from protobuf_text import decode, one

HERE = pathlib.Path(__file__).resolve().parent
try:
    from prometheus_client.openmetrics import parser as openmetrics
except ImportError:
    # Debian's module belongs to Debian's Python.
    if os.environ.get("AXP_SECOND_TRY") or not os.path.exists(
            "/usr/bin/python3"):
        raise
    os.environ["AXP_SECOND_TRY"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

failures = []
n_checks = 0


def check(claim, *what):
    global n_checks
    n_checks += 1
    if not claim:
        failures.append(" ".join(str(w) for w in what))


def equal(a, b, *what):
    check(a == b, *what, f"{a} != {b}")


# ---- JSON -------------------------------------------------------------------

def no_doubles(pairs):
    check(len(pairs) == len(dict(pairs)), "a key twice:", pairs[:4])
    return dict(pairs)


def read_json(path):
    def bad(name):
        raise ValueError(f"JSON has no {name}")
    text = path.read_text(encoding="utf-8")  # strict
    return json.loads(text, object_pairs_hook=no_doubles, parse_constant=bad,
                      parse_float=lambda s: s)  # decimals as they are written


def jq(path, program):
    done = subprocess.run(["jq", program, str(path)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def ns(us):
    """Nanoseconds of a number of microseconds with three decimals."""
    whole, _, rest = str(us).partition(".")
    return int(whole) * 1000 + (int(rest) if rest else 0)


def read_chrome(path):
    """[(line, name, begin, end)] of slices, counts of the rest."""
    trace = read_json(path)
    events = trace["traceEvents"]
    equal(jq(path, ".traceEvents | length"), len(events), path, "jq")
    equal(trace["schemaVersion"], 1, path)
    equal(trace["displayTimeUnit"], "ns", path)
    slices, counts, pairs = [], collections.Counter(), {}
    for e in events:
        kind = e["ph"] + ":" + e.get("cat", "")
        counts[kind] += 1
        counts[e["ph"]] += 1
        if e["ph"] == "M":
            continue
        check(re.fullmatch(r"\d+\.\d{3}", str(e["ts"])), path, "ts", e["ts"])
        line = (e["pid"], e["tid"])
        if e["ph"] == "X":
            check(re.fullmatch(r"\d+\.\d{3}", str(e["dur"])), path, "dur")
            slices.append((line, e["name"], ns(e["ts"]),
                           ns(e["ts"]) + ns(e["dur"]), e["cat"]))
        elif e["ph"] == "b":
            check(e["id"] not in pairs, path, "an id twice", e["id"])
            pairs[e["id"]] = (e["name"], ns(e["ts"]))
        elif e["ph"] == "e":
            name, begin = pairs.pop(e["id"], (None, 0))
            equal(name, e["name"], path, "async end")
            slices.append((None, name, begin, ns(e["ts"]), "async"))
        elif e["name"] == "[memory]":
            counts["memory"] += 1
    check(not pairs, path, "async without an end")
    equal(events[-1]["name"], "Record Window End", path)
    return slices, counts


def check_nesting(path, slices):
    """Of complete events: as viewers sort them."""
    lines = collections.defaultdict(list)
    for line, name, begin, end, _ in slices:
        if line:
            lines[line].append((begin, end, name))
    for line, spans in lines.items():
        spans.sort(key=lambda s: (s[0], -s[1]))  # stable: the file's order
        stack = []
        for begin, end, name in spans:
            while stack and stack[-1] <= begin:
                stack.pop()
            check(not stack or end <= stack[-1], path, line, name, "sticks out")
            stack.append(end)


def check_chrome(path, facts):
    slices, counts = read_chrome(path)
    check_nesting(path, slices)
    if facts and not facts["cut"]:
        n = counts["X:cpu_op"] + counts["X:kernel"] + counts["b"]
        equal(n, facts["start"], path, "scopes, async spans and spans")
    if facts:
        equal(counts["C"], facts["counter"], path, "counters")
        equal(counts["memory"], facts["alloc"] + facts["free"], path, "memory")
        equal(counts["X:user_annotation"], facts["step"], path, "steps")
        equal(counts["i:cpu_instant_event"], facts["instant"] +
              facts["custom"] + facts["alloc"] + facts["free"], path, "marks")
        if not facts["cut"]:
            equal(counts["s"], counts["f"], path, "arrows")
    return slices


def check_json_events(path, facts):
    events = read_json(path)
    equal(jq(path, "length"), len(events), path, "jq")
    times = [e["time_ns"] for e in events]
    equal(times, sorted(times), path, "order")
    if facts:
        types = collections.Counter(e["type"] for e in events)
        for key in ["start", "end", "instant", "alloc", "free", "custom",
                    "counter", "step"]:
            equal(types[key], facts[key], path, key)
        equal(len(events), facts["events"], path)
    return events


def check_chrome_processes(path, members):
    """Names, ranks and the time axis of several processes."""
    trace = read_json(path)
    named, ranks, here = {}, {}, {}
    for e in trace["traceEvents"]:
        if e["name"] == "process_name":
            check(e["pid"] not in named, path, "a process twice")
            named[e["pid"]] = e["args"]["name"]
        elif e["name"] == "process_labels":
            ranks[e["pid"]] = e["args"]["labels"]
        elif e["name"] == "here":
            check(e["pid"] not in here, path, "two instants")
            here[e["pid"]] = trace["baseTimeNanoseconds"] + ns(e["ts"])
    equal(named, {m.pid: m.title for m in members}, path, "processes")
    equal(ranks, {m.pid: f"rank {m.rank}" for m in members}, path, "ranks")
    check_real_times(path, here, members)


# As far as a slewed clock, or one whose rate was measured, may be off.
CLOCK_ERROR_NS = 10_000_000


def check_real_times(path, here, members):
    equal(sorted(here), sorted(m.pid for m in members), path, "instants")
    for m in members:
        check(m.before - CLOCK_ERROR_NS <= here.get(m.pid, 0)
              <= m.after + CLOCK_ERROR_NS, path, "rank", m.rank, "is at",
              here.get(m.pid), "and not at", m.before)


# ---- speedscope -------------------------------------------------------------

def check_speedscope(path, facts):
    file = read_json(path)
    equal(file["$schema"],
          "https://www.speedscope.app/file-format-schema.json", path)
    frames = file["shared"]["frames"]
    check(all(isinstance(f["name"], str) for f in frames), path, "frames")
    scopes = []
    for p in file["profiles"]:
        equal(p["unit"], "nanoseconds", path)
        check(isinstance(p["name"], str), path)
        if p["type"] == "sampled":
            equal(len(p["samples"]), len(p["weights"]), path)
            equal(sum(p["weights"]), p["endValue"] - p["startValue"], path)
            check(all(0 <= f < len(frames) for s in p["samples"] for f in s),
                  path)
            continue
        stack, last = [], p["startValue"]
        for e in p["events"]:
            check(last <= e["at"] <= p["endValue"], path, "order", e)
            last = e["at"]
            check(0 <= e["frame"] < len(frames), path, "frame")
            if e["type"] == "O":
                stack.append((e["frame"], e["at"]))
            else:
                frame, begin = stack.pop()
                equal(frame, e["frame"], path, "closes another")
                scopes.append((frames[frame]["name"], begin, e["at"]))
        check(not stack, path, "left open")
    return scopes


# ---- protobuf ---------------------------------------------------------------

def check_path(path, events):
    """One slice after the other, without gaps."""
    equal([kind for _, kind, _ in events], [1, 2] * (len(events) // 2), path)
    for (end, *_), (begin, *_) in zip(events[1::2], events[2::2]):
        equal(end, begin, path, "a gap in the critical path")


def read_perfetto(path):
    """Slices as Perfetto would make them, and counts."""
    trace = decode(path.read_bytes(), "perfetto_subset.proto", "Trace")
    tracks, names, cats, notes, places = {}, {}, {}, {}, {}
    events = collections.defaultdict(list)
    counts = collections.Counter()
    for i, packet in enumerate(trace["packet"]):
        equal(one(packet, "trusted_packet_sequence_id"), 1, path)
        equal("first_packet_on_sequence" in packet, i == 0, path)
        for data in packet.get("interned_data", []):
            for key, table in [("event_names", names),
                               ("event_categories", cats),
                               ("debug_annotation_names", notes)]:
                for entry in data.get(key, []):
                    iid = one(entry, "iid")
                    check(iid > 0 and iid not in table, path, key, iid)
                    table[iid] = one(entry, "name")
            for entry in data.get("source_locations", []):
                places[one(entry, "iid")] = one(entry, "file_name")
        for track in packet.get("track_descriptor", []):
            uuid = one(track, "uuid")
            check(uuid and uuid not in tracks, path, "uuid", uuid)
            check("parent_uuid" not in track
                  or one(track, "parent_uuid") in tracks, path, "parent")
            tracks[uuid] = track
        for event in packet.get("track_event", []):
            uuid, kind = one(event, "track_uuid"), one(event, "type")
            check(uuid in tracks, path, "track", uuid)
            equal("counter" in tracks[uuid], kind == 4, path, "counter track")
            for iid in event.get("name_iid", []):
                check(iid in names, path, "name", iid)
                check(one(packet, "sequence_flags") & 2, path, "flags")
            check(all(c in cats for c in event.get("category_iids", [])), path)
            check(all(p in places for p in
                      event.get("source_location_iid", [])), path)
            for note in event.get("debug_annotations", []):
                check(one(note, "name_iid") in notes, path, "annotation")
            counts[kind] += 1
            counts["out"] += len(event.get("flow_ids", []))
            counts["in"] += len(event.get("terminating_flow_ids", []))
            name = names.get(one(event, "name_iid"), one(event, "name"))
            events[uuid].append((one(packet, "timestamp"), kind, name))
    slices = []
    for uuid, list_ in events.items():
        list_.sort(key=lambda e: e[0])  # stable, as its sorter is
        stack = []
        if one(tracks[uuid], "name") == "critical path":
            check_path(path, list_)
            counts["path"] += 1
            continue
        for time, kind, name in list_:
            if kind == 1:
                stack.append((name, time))
            elif kind == 2:
                check(stack, path, "an end of nothing on", uuid)
                slices.append((*stack.pop(), time) if stack else ("", 0, 0))
        check(not stack, path, "a slice without an end on", uuid)
    return slices, counts


def check_perfetto_processes(path, members):
    trace = decode(path.read_bytes(), "perfetto_subset.proto", "Trace")
    defaults = one(trace["packet"][0], "trace_packet_defaults")
    clock = one(defaults, "timestamp_clock_id")
    snapshots = [p for p in trace["packet"] if "clock_snapshot" in p]
    equal(len(snapshots), 1, path, "snapshots of the clocks")
    check("timestamp" not in snapshots[0], path)
    snapshot = one(snapshots[0], "clock_snapshot")
    clocks = {one(c, "clock_id"): one(c, "timestamp")
              for c in snapshot["clocks"]}
    equal(sorted(clocks), [1, 3, clock], path, "clocks")
    check(64 <= clock < 128, path, "the sequence's own clock")
    equal(one(snapshot, "primary_trace_clock"), 3, path)
    names, process_of, here, processes = {}, {}, {}, {}
    for packet in trace["packet"]:
        for data in packet.get("interned_data", []):
            names.update((one(e, "iid"), one(e, "name"))
                         for e in data.get("event_names", []))
        for track in packet.get("track_descriptor", []):
            for p in track.get("process", []):
                processes[one(p, "pid")] = (one(p, "process_name"),
                                            one(p, "process_labels"))
            for t in track.get("thread", []):
                process_of[one(track, "uuid")] = one(t, "pid")
        for event in packet.get("track_event", []):
            if names.get(one(event, "name_iid")) == "here":
                here[process_of[one(event, "track_uuid")]] = (
                    one(packet, "timestamp") - clocks[clock] + clocks[1])
    equal(processes, {m.pid: (m.title, f"rank {m.rank}") for m in members},
          path, "processes")
    check_real_times(path, here, members)


def check_perfetto(path, facts, chrome):
    slices, counts = read_perfetto(path)
    steps = [s for s in slices if re.fullmatch(r"step \d+", s[0])]
    rest = sorted(s for s in slices if s not in steps)
    equal(rest, sorted((name, begin, end) for _, name, begin, end, cat in chrome
                       if cat != "user_annotation"), path, "slices as chrome's")
    equal(counts["path"], 1 if rest else 0, path, "critical paths")
    if not facts:
        return
    if not facts["cut"]:
        equal(len(rest), facts["start"], path, "slices")
        equal(counts["out"], counts["in"], path, "arrows")
    equal(len(steps), facts["step"], path, "steps")
    moves = facts["alloc"] + facts["free"]
    equal(counts[3] - counts["out"] - counts["in"],
          facts["instant"] + facts["custom"] + moves, path, "marks")
    equal(counts[4], facts["counter"] + moves, path, "counters")


def check_pprof(path, data, facts):
    p = decode(data, "pprof_subset.proto", "Profile")
    strings = p["string_table"]
    equal(strings[0], "", path)
    types = [(strings[one(t, "type")], strings[one(t, "unit")])
             for t in p["sample_type"]]
    equal(types, [("wall", "nanoseconds"), ("calls", "count"),
                  ("flops", "count"), ("bytes", "bytes"),
                  ("alloc_space", "bytes"), ("inuse_space", "bytes")], path)
    functions = {one(f, "id"): strings[one(f, "name")]
                 for f in p.get("function", [])}
    locations = {one(x, "id"): [functions[one(line, "function_id")]
                                for line in x["line"]]
                 for x in p.get("location", [])}
    sums = [0] * len(types)
    for sample in p.get("sample", []):
        check(sample.get("location_id"), path, "a sample without a place")
        check(all(x in locations for x in sample["location_id"]), path)
        equal(len(sample["value"]), len(types), path)
        sums = [a + b for a, b in zip(sums, sample["value"])]
    if facts:
        check(abs(one(p, "time_nanos") - time.time_ns()) < 600e9, path,
              "began at", one(p, "time_nanos"))
        equal(sums[0], facts["self_ns"], path, "wall")
        equal(sums[1], facts["tree_calls"], path, "calls")
        equal(sums[4], facts["total_allocated"], path, "alloc_space")
        equal(sums[5], facts["current_bytes"], path, "inuse_space")
    return sums[0]


# ---- the rest ---------------------------------------------------------------

class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")


# What the viewer's own reader knows, of what we use.
VIEWER_OPCODES = {"PROTO", "EMPTY_DICT", "MARK", "BINUNICODE", "EMPTY_LIST",
                  "APPEND", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET",
                  "BININT1", "BININT2", "LONG1", "TUPLE2", "SETITEMS", "STOP"}


def check_memory_viz(path, facts):
    used = {op.name for op, _, _ in pickletools.genops(path.read_bytes())}
    check(used <= VIEWER_OPCODES, path, used - VIEWER_OPCODES)
    snapshot = PlainUnpickler(io.BytesIO(path.read_bytes())).load()
    live = collections.Counter()
    for device, trace in enumerate(snapshot["device_traces"]):
        blocks, last = {}, 0
        for e in trace:
            check(e["time_ns"] >= last, path, "order")
            last = e["time_ns"]
            equal(e["time_us"], e["time_ns"] // 1000, path)
            check(all(isinstance(f["name"], str) and
                      isinstance(f["filename"], str) and f["line"] >= 0
                      for f in e["frames"]), path, "frames")
            if e["action"] == "alloc":
                check(e["addr"] not in blocks, path, "allocated twice")
                blocks[e["addr"]] = e["size"]
            elif e["action"] == "free_completed":
                known = blocks.pop(e["addr"], None)
                check(facts and facts["cut"] or known == e["size"], path,
                      "freed", e["addr"], e["size"], known)
            else:
                equal(e["action"], "free_requested", path)
            check(any(s["device"] == device and s["address"] <= e["addr"]
                      and e["addr"] + e["size"] <= s["address"] +
                      s["total_size"] for s in snapshot["segments"]), path,
                  "in no segment")
        live[device] = sum(blocks.values())
    in_segments = collections.Counter()
    for s in snapshot["segments"]:
        at = s["address"]
        for b in s["blocks"]:
            equal(b["address"], at, path, "blocks lie side by side")
            at += b["size"]
            if b["state"] == "active_allocated":
                in_segments[s["device"]] += b["size"]
        equal(at, s["address"] + s["total_size"], path)
    if "memory." not in path.name:  # there blocks lie on top of each other
        equal(+in_segments, +live, path, "live at the end")
    if facts and not facts["cut"]:
        equal(sum(live.values()), facts["current_bytes"], path, "live")


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    check(all(None not in row and None not in row.values() for row in rows),
          path, "a line of another length")
    return rows


def plain(text):
    """Without the apostrophe that keeps spreadsheets from calculating."""
    return text[1:] if text[:1] == "'" and text[1:2] in list("=+-@\t\r") \
        else text


def check_openmetrics(path, ops):
    families = {f.name: f for f in openmetrics.text_string_to_metric_families(
        path.read_bytes().decode("utf-8"))}
    series = [(s.name, *sorted(s.labels.items()))
              for f in families.values() for s in f.samples]
    equal(len(set(series)), len(series), path, "a series twice")
    seconds = families.get("axprof_op_duration_seconds")
    sums = {s.labels["op"]: s.value for s in (seconds.samples if seconds else [])
            if s.name.endswith("_sum")}
    equal({plain(op["name"]): int(op["total_ns"]) for op in ops},
          {name: round(value * 1e9) for name, value in sums.items()}, path)
    check("axprof_run" in families, path, "no run")


def check_folded(path, wall_ns):
    total = 0
    for line in path.read_bytes().decode("utf-8").split("\n"):
        if not line:
            continue
        stack, _, weight = line.rpartition(" ")
        check(weight.isdigit() and stack and not line.startswith("#"), path,
              line)
        check(all(c.isprintable() or ord(c) > 127 for c in stack), path, line)
        total += int(weight)
    equal(total, wall_ns, path, "sum as pprof's")


def check_run(folder, name, facts, is_packed):
    path = {f: folder / f"{name}.{f}" for f in
            ["chrome", "perfetto", "speedscope", "folded", "pprof", "csv-ops",
             "csv-events", "json", "memory-viz", "openmetrics"]}
    chrome = check_chrome(path["chrome"], facts)
    check_perfetto(path["perfetto"], facts, chrome)
    scopes = check_speedscope(path["speedscope"], facts)
    lanes = collections.Counter((n, b, e) for _, n, b, e, c in chrome
                                if c in ("cpu_op", "kernel"))
    check(not collections.Counter(scopes) - lanes, path["speedscope"],
          "scopes that chrome has not")
    events = check_json_events(path["json"], facts)
    rows = read_csv(path["csv-events"])
    equal([(int(r["time_ns"]), r["type"], plain(r["name"])) for r in rows],
          [(e["time_ns"], e["type"], e["name"]) for e in events],
          path["csv-events"])
    ops = read_csv(path["csv-ops"])
    if facts:
        equal(len(ops), facts["ops"], path["csv-ops"])
    data = path["pprof"].read_bytes()
    wall_ns = check_pprof(path["pprof"],
                          gzip.decompress(data) if is_packed else data, facts)
    check_folded(path["folded"], wall_ns)
    check_memory_viz(path["memory-viz"], facts)
    check_openmetrics(path["openmetrics"], ops)


Member = collections.namedtuple("Member", "pid rank before after title")


def check_members(folder, name):
    """Several processes: who is who, on one axis."""
    members = []
    for line in (folder / f"{name}.members").read_text().splitlines():
        *numbers, title = line.split(" ", 4)
        members.append(Member(*map(int, numbers), title))
    check(len(members) > 3, "too few to be a test")
    check_chrome_processes(folder / f"{name}.chrome", members)
    check_perfetto_processes(folder / f"{name}.perfetto", members)
    events = read_json(folder / f"{name}.json")
    ranks = {(m.pid, m.rank) for m in members}
    equal({(e["process_id"], e["rank"]) for e in events}, ranks, name, "json")
    here = sorted((e for e in events if e["name"] == "here"),
                  key=lambda e: e["time_ns"])
    order = [next(m for m in members if m.pid == e["process_id"]) for e in here]
    equal(len(set(order)), len(members), name, "one of each")
    for earlier, later in itertools.combinations(order, 2):
        check(earlier.before <= later.after + CLOCK_ERROR_NS, name,
              "order in time:", earlier, later)
    rows = read_csv(folder / f"{name}.csv-events")
    equal({(int(r["process_id"]), int(r["rank"])) for r in rows}, ranks, name,
          "csv-events")
    snapshot = pickle.loads((folder / f"{name}.memory-viz").read_bytes())
    equal({d for d in snapshot["axprof_devices"] if d.count(",") == 1},
          {f"process {m.pid}, rank {m.rank}" for m in members}, name,
          "memory-viz")
    shown = [p["name"] for p in
             read_json(folder / f"{name}.speedscope")["profiles"]]
    equal(len(shown), len(set(shown)), name, "profiles of one name", shown)
    for m in members:
        check(any(f"rank {m.rank}" in n for n in shown), name, "speedscope",
              m.rank, shown)


def main():
    program, golden = sys.argv[1], pathlib.Path(sys.argv[2])
    for name in ["empty", "one_scope", "nested", "threads", "memory",
                 "hostile"]:
        check_run(golden, name, None, False)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        for name in ["mixed", "cut", "file", "ranks"]:
            facts = json.loads(pathlib.Path(folder, name + ".facts")
                               .read_text())
            check(facts["events"] > 1000, "too little to be a test")
            check_run(pathlib.Path(folder), name, facts, True)
        check_members(pathlib.Path(folder), "ranks")
    for failure in failures[:20]:
        print("FAILED ", failure[:500])
    print(f"{n_checks} checks, {len(failures)} failed")
    return 1 if failures or n_checks < 10000 else 0


if __name__ == "__main__":
    sys.exit(main())
