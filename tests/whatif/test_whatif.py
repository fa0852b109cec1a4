#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a replay predicts, and what comes of really doing it.

    test_whatif.py AXPROF THREADS_PROGRAM [OPENMP_PROGRAM] [--pairs N]

Each program is recorded as it is, and the replay is asked what a change would
gain. Then the program runs with and without the change, in turns, unrecorded;
runs that did not get the processors that they wanted are repeated. The table
is the result: gains in percent of the run as it was."""
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from timed_support import least_starved  # noqa: E402

POINTS = 5.0   # that a single prediction may be off, of the run
MEDIAN = 2.5
MOST_REPEATS = 12

CASES = [
    ("trainer", "optimizer=0"), ("trainer", "forward=0.5"),
    ("trainer", "backward=0"), ("trainer", "forward=0"),
    ("lock", "update=0"), ("lock", "update=0.5"), ("lock", "compute=0"),
    ("imbalance", "even"), ("imbalance", "shard=0.5"), ("shares", "even"),
    ("loader", "load=0"), ("loader", "step=0.25"), ("loader", "step=0"),
    ("late", "load=0.5"), ("late", "load=0.25"), ("late", "step=0"),
    ("reader", "read_batch=0"), ("reader", "step=0.5"),
]
OPENMP_CASES = [
    ("openmp", "prepare=0"), ("openmp", "large=0.4"), ("openmp", "small=0"),
    ("openmp", "reduce=0"),
]


def took(program, mode, change=()):
    return least_starved(lambda n: [program, mode, *change],
                         MOST_REPEATS).seconds


def record(axprof, program, mode, folder):
    def path(n):
        return pathlib.Path(folder) / f"{mode}.{n}.axp"
    run = least_starved(lambda n: [axprof, "run", "-q", "-o", path(n), "--",
                                   program, mode], MOST_REPEATS,
                        realtime_from=2)
    return path(run.number)


def seconds(text):
    number, unit = re.fullmatch(r"([\d.]+) ?(ns|us|µs|ms|s)", text).groups()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3,
                            "s": 1}[unit]


def predict(axprof, path, change):
    """Predicted seconds gained, and the run as it was."""
    option = (["--threads", "even"] if change == "even"
              else ["--scale", change])
    out = subprocess.run([axprof, "whatif", path, *option], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    first = out.splitlines()[0]
    changed = re.fullmatch(r"run: (.+) instead of (.+) \(.*\)", first)
    if not changed:
        return 0.0, seconds(first[len("run: "):])
    now, was = map(seconds, changed.groups())
    return was - now, was


def real_gain(program, mode, change, pairs):
    with_it, without = [], []
    for _ in range(pairs):
        without.append(took(program, mode))
        with_it.append(took(program, mode, [change]))
    base = statistics.median(without)
    return base - statistics.median(with_it), base


def main(arguments):
    pairs = 5
    if "--pairs" in arguments:
        at = arguments.index("--pairs")
        pairs = int(arguments[at + 1])
        del arguments[at:at + 2]
    axprof, *programs = arguments
    cases = [(programs[0], *c) for c in CASES]
    if len(programs) > 1:
        cases += [(programs[1], *c) for c in OPENMP_CASES]
    errors, failed, recorded = [], [], {}
    print(f"{'program':10} {'change':16} {'run':>8} {'predicted':>10} "
          f"{'real':>9} {'off by':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for program, mode, change in cases:
            if mode not in recorded:
                recorded[mode] = record(axprof, program, mode, folder)
            guess, was = predict(axprof, recorded[mode], change)
            real, base = real_gain(program, mode, change, pairs)
            guess, real = 100 * guess / was, 100 * real / base
            errors.append(abs(guess - real))
            bad = errors[-1] > POINTS
            if bad:
                failed.append(f"{mode} {change}")
            print(f"{mode:10} {change:16} {base:7.3f}s {guess:8.1f} % "
                  f"{real:7.1f} % {guess - real:+6.1f} pt"
                  f"{' FAILED' if bad else ''}", flush=True)
    print(f"median error {statistics.median(errors):.1f} points, "
          f"worst {max(errors):.1f}")
    if failed or statistics.median(errors) > MEDIAN:
        sys.exit(f"FAILED: {', '.join(failed) or 'the median'}")


main(sys.argv[1:])
