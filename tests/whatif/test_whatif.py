#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a replay predicts, and what comes of really doing it.

    test_whatif.py AXPROF THREADS_PROGRAM [OPENMP_PROGRAM] [--pairs N]

Each program is recorded as it is, and the replay is asked what a change would
gain. Then the program runs with and without the change, in turns, unrecorded;
runs that did not get the processors that they wanted are repeated. The table
is the result: gains in percent of the run as it was.

A machine may also become faster or slower by itself. Where a prediction is off
and equal runs, the recorded one among them, differed by as much as that may be,
all of that case is done again.

Status 77: it was never steady enough for those that are off."""
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
STEADY = 0.05  # equal runs differ by less, on a steady machine
MOST_TRIES = 4

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


def both(program, mode, change, pairs):
    """Seconds without the change and with it, in turns."""
    with_it, without = [], []
    for _ in range(pairs):
        without.append(took(program, mode))
        with_it.append(took(program, mode, [change]))
    return without, with_it


def is_steady(was, without, with_it):
    """Most equal runs took as long as each other, and as the recorded one."""
    base = statistics.median(without)

    def is_near(s, middle):
        return abs(s - middle) < STEADY * base

    return is_near(was, base) and all(
        sum(is_near(s, statistics.median(runs)) for s in runs)
        > 0.7 * len(runs) for runs in (without, with_it))


class Cases:
    def __init__(self, axprof, folder, pairs):
        self.axprof, self.folder, self.pairs = axprof, folder, pairs
        self.recorded = {}

    def forget(self, mode):
        del self.recorded[mode]
        for old in pathlib.Path(self.folder).glob(f"{mode}.*"):
            old.unlink()

    def compare(self, program, mode, change):
        """How far the prediction is off, in points; is the machine steady?"""
        if mode not in self.recorded:
            self.recorded[mode] = record(self.axprof, program, mode,
                                         self.folder)
        gain, was = predict(self.axprof, self.recorded[mode], change)
        without, with_it = both(program, mode, change, self.pairs)
        base = statistics.median(without)
        guess = 100 * gain / was
        real = 100 * (1 - statistics.median(with_it) / base)
        print(f"{mode:10} {change:16} {base:7.3f}s {guess:8.1f} % "
              f"{real:7.1f} % {guess - real:+6.1f} pt", end="")
        return abs(guess - real), is_steady(was, without, with_it)

    def judge(self, program, mode, change):
        """The same of the try that counts."""
        for _ in range(MOST_TRIES - 1):
            off, steady = self.compare(program, mode, change)
            if off <= POINTS or steady:
                return off, steady
            print(" again", flush=True)
            self.forget(mode)
        return self.compare(program, mode, change)


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
    errors, failed, unsteady = [], [], []
    print(f"{'program':10} {'change':16} {'run':>8} {'predicted':>10} "
          f"{'real':>9} {'off by':>9}")
    with tempfile.TemporaryDirectory() as folder:
        runs = Cases(axprof, folder, pairs)
        for program, mode, change in cases:
            off, steady = runs.judge(program, mode, change)
            errors.append(off)
            text = ""
            if off > POINTS:
                text = " FAILED" if steady else " unsteady"
                (failed if steady else unsteady).append(f"{mode} {change}")
            print(text, flush=True)
    print(f"median error {statistics.median(errors):.1f} points, "
          f"worst {max(errors):.1f}")
    is_off = statistics.median(errors) > MEDIAN
    if failed or (is_off and not unsteady):
        sys.exit(f"FAILED: {', '.join(failed) or 'the median'}")
    if unsteady:
        print("the machine was too unsteady to tell of "
              f"{', '.join(unsteady)}: equal runs differed by "
              f"{100 * STEADY:.0f} %, however often they were repeated")
        sys.exit(77)


main(sys.argv[1:])
