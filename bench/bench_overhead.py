#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What recording is stated to take, and what it takes.

  bench_overhead.py BUILD [program ...]

BUILD is a build directory. Each program runs with and without recording in
turn; what recording took is the difference of the processor times, those of
the program's thread where it prints them; what is stated is the cost that
the recording itself gives for its events. Both are the median of the turns.
They must agree within 25 %, where recording takes at least 5 % (below that
the difference is the machine's noise).

Of a program that prints what its parts took, the shares that are reported are
compared with those of the run without recording: they must agree within 5
points, but for those that the report says are not to be believed.

Exits with 1 if one does not.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TURNS = int(os.environ.get("BENCH_TURNS", "5"))
WITHIN = 0.25
LEAST = 0.05
POINTS = 5


def cpu_of(command, folder, env):
    """Processor time of a command's thread, if it says so, else of all; and
    that of its parts, by name."""
    before = os.times()
    done = subprocess.run([str(c) for c in command], cwd=folder, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=env)
    after = os.times()
    first, *rest = done.stdout.decode(errors="replace").split("\n")
    try:
        took = float(first)
    except ValueError:
        return (after.children_user + after.children_system -
                before.children_user - before.children_system), {}
    pairs = [line.split() for line in rest if line]
    return took, {name: float(seconds) for name, seconds in pairs}


def stated(axprof, folder):
    """Seconds that the recordings in the folder say recording took, and what
    they say else."""
    files = sorted(str(p) for p in folder.glob("*.axp"))
    done = subprocess.run([str(axprof), "report", "-f", "json", *files],
                          cwd=folder, check=True, stdout=subprocess.PIPE)
    data = json.loads(done.stdout)
    for path in files:
        os.unlink(path)
    share = 0.0
    for warning in data["warnings"]:
        found = re.search(r"about ([0-9.]+) % of what threads worked",
                          warning["text"])
        if warning["code"] == "own_overhead" and found:
            share = float(found.group(1)) / 100
    work = 0
    for t in data["threads"]:
        life = t["end"] - t["begin"]
        ran = (t["cpu_ns"] or 0) + (t["ready_ns"] or 0)
        work += min(life, ran or life)
    return share * work / 1e9, data


def judge_shares(parts, data):
    """Of the parts of a run, how much each is of all: in truth and reported.
    Those that are off must be marked as not to be believed."""
    ops = {op["name"].split("(")[0]: op for op in data["ops"]}
    total = {name: op["total_ns"] for name, op in ops.items()}
    seen = {name: total.get(name, 0) for name in parts}
    worst, is_good = 0, True
    for name, seconds in parts.items():
        true = 100 * seconds / sum(parts.values())
        told = 100 * seen[name] / sum(seen.values())
        off = abs(told - true)
        worst = max(worst, off)
        is_marked = name in ops and ops[name]["is_doubtful"]
        is_missed = off > POINTS and not is_marked
        is_good = is_good and not is_missed
        print(f"  {name:20}{true:8.1f} %{told:8.1f} %"
              + ("  marked" if is_marked else "")
              + ("  MISSED" if is_missed else ""))
    print(f"  off by {worst:.1f} points at most")
    return is_good


def measure(name, plain, recorded, build, folder):
    env = dict(os.environ, AXPROF_OUT=str(folder / "r-%p.axp"),
               OMP_NUM_THREADS="1")
    bare = dict(os.environ, OMP_NUM_THREADS="1")
    real, said, base = [], [], []
    for _ in range(TURNS):
        without, parts = cpu_of(plain, folder, bare)
        took = cpu_of(recorded, folder, env)[0] - without
        real.append(took)
        base.append(without)
        says, data = stated(build / "cli" / "axprof", folder)
        said.append(says)
    took, says = statistics.median(real), statistics.median(said)
    share = took / (took + statistics.median(base))
    is_good = share < LEAST or abs(says - took) <= WITHIN * took
    mark = "" if is_good else "  MISSED"
    print(f"{name:10}{statistics.median(base):10.3f} s{took:10.3f} s"
          f"{says:10.3f} s{100 * share:8.1f} %"
          f"{100 * (says / took - 1) if took > 0 else 0:+8.0f} %{mark}",
          flush=True)
    return (not parts or judge_shares(parts, data)) and is_good


def programs(build):
    bench = build / "bench"
    for name, times in (("tiny", 20000000), ("medium", 200000),
                        ("named", 5000000), ("allocs", 5000000),
                        ("deep", 500000)):
        yield (name, [bench / "bench_overhead_plain", name, times],
               [bench / "bench_overhead_target", name, times])
    hooks = [bench / "bench_overhead_hooks", 20]
    yield ("hooks", hooks, [build / "cli" / "axprof", "run", "-q", "-o",
                            "hooks.axp", "--", *hooks])
    blocks = [bench / "bench_overhead_plain", "allocs", 5000000]
    yield ("malloc", blocks, [build / "cli" / "axprof", "run", "-q", "-o",
                              "malloc.axp", "--sample", "off", "--", *blocks])
    gpt = build / "examples" / "gpt"
    if (gpt / "gpt").exists():
        yield "gpt", [gpt / "gpt_plain"], [gpt / "gpt"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    print(f"{'program':10}{'plain':>12}{'took':>12}{'stated':>12}"
          f"{'share':>10}{'off by':>10}")
    results = []
    for name, plain, recorded in programs(build):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(name, plain, recorded, build,
                                   pathlib.Path(folder)))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
