#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The second reader counts what ours counts.

  test_read_axp.py MAKE_TRACE AXPROF FOLDER

On the traces in FOLDER, on a fresh one that MAKE_TRACE records, and on that
one packed again: events of the timeline and scopes of every name, in the
words and in the accumulators. And of a run what was seen from outside.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def compare(axprof, path):
    theirs = run(sys.executable, HERE / "read_axp.py", path)
    ours = run(axprof, "info", path)
    counted = re.search(r"counted +(\d+) scopes \((\d+) open\)", ours)
    events = re.search(r"timeline +(\d+) events, 0 cut", ours)
    if "damaged" in theirs or not counted or not events:
        sys.exit(f"{path}:\n{theirs}{ours}")
    values = dict(line.split(" ", 1) for line in theirs.splitlines())
    scopes, n_open = int(counted[1]), int(counted[2])
    named = re.findall(r"^scopes (\d+) (\d+) (.*)$", theirs, re.M)
    assert values["timeline.events"] == events[1], (values, events[1])
    assert len(named) >= 10, theirs
    # Of what is open or was ended by another thread there is a begin and no
    # call in the tree; spans of tracks are calls without a begin.
    for calls, begins, name in named:
        if name in ("never ended", "handed over", "kernel"):
            continue
        assert calls == begins, (path, name, calls, begins)
    loose = sum(int(b) for c, b, name in named if name == "handed over")
    assert scopes - n_open - int(values["state.scopes"]) >= loose
    stacks = re.search(r"stacks +(\d+), in", ours)
    assert values["distinct.stacks"] == (stacks[1] if stacks else "0")
    print(f"ok      {path.name}: {events[1]} events, {scopes} scopes")
    return theirs


def compare_run(axprof, folder):
    """Samples stand for as much time as the scheduler gave the program. Nothing
    is preloaded, since what this build preloads may need a sanitizer's
    runtime."""
    path, report = folder / "run.axp", folder / "run.json"
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    run(axprof, "run", "--without", "all", "-o", path, "--report", report,
        "sh", "-c", loop)
    data = json.loads(report.read_text())
    if not data["functions"]:  # where nobody may sample
        print("ok      a run without samples")
        return
    ran = sum(t["cpu_ns"] for t in data["threads"])
    theirs = run(sys.executable, HERE / "read_axp.py", path)
    seen = re.findall(r"^samples\.0 (\d+) (\d+)$", theirs, re.M)
    n, ns = (sum(int(s[i]) for s in seen) for i in range(2))
    assert n > 100 and abs(ns - ran) < 0.2 * ran, (n, ns, ran)
    print(f"ok      {path.name}: {n} samples, {ns} ns of {ran}")


def main():
    make_trace, axprof, folder = sys.argv[1:]
    for path in sorted(pathlib.Path(folder).glob("*.axp")):
        compare(axprof, path)
    with tempfile.TemporaryDirectory() as scratch:
        fresh = pathlib.Path(scratch) / "fresh.axp"
        run(make_trace, fresh)
        theirs = compare(axprof, fresh)
        # 300 stacks of 1 to 30 frames: tests/compat/make_trace.c
        for line in ("timeline.references 5000", "distinct.stacks 300",
                     "all.frames 4650"):
            assert line in theirs.splitlines(), theirs
        packed = pathlib.Path(scratch) / "packed.axp"
        run(axprof, "pack", "-o", packed, fresh)
        compare(axprof, packed)
        compare_run(axprof, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
