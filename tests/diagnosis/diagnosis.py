#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is said of a trainer with one fault, and what fixing it really gains.

    diagnosis.py [--quick] [--pairs N] AXPROF TRAINER

Each fault alone: the finding with the right type and name comes first, and is
not there without the fault; the healthy trainer has none at medium or above.
Unless --quick, the table also has the gain that the finding states, beside what
the trainer without the fault really takes less, in turns and unrecorded.

A run that did not get the processors that it wanted is repeated; on a machine
that is always busy with a real-time priority, where that is allowed."""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

STARVED = 0.05  # of a run's seconds, all threads together: repeated
REPEATS = 6
LEVELS = ["low", "medium", "high", "critical"]

# fault, finding, name (None: any of the operations that both threads do)
FAULTS = [
    ("lock", "LockContention", "reduce"),
    ("imbalance", "LoadImbalance", None),
    ("read", "InputBound", "load_batch"),
    ("churn", "AllocationChurn", "use_scratch"),
    ("growth", "MemoryGrowth", "keep_loss"),
    ("slow", "SlowOperation", "attention"),
    ("calls", "HighCallCount", "activate"),
    ("serial", "SerialPhase", "update"),
]
SHARED = {"embed", "attention", "mlp", "mlp.backward", "attention.backward"}


def least_starved(command):
    """What the run printed that had to wait least for a processor: its seconds."""
    best = None
    realtime = ["chrt", "-f", "1"] if shutil.which("chrt") else []
    for n in range(REPEATS):
        prefix = realtime if n > 1 else []
        done = subprocess.run(prefix + command(n), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode and prefix:
            realtime = []
            continue
        done.check_returncode()
        seconds, starved = map(float, done.stdout.split())
        if best is None or starved / seconds < best[0]:
            best = (starved / seconds, seconds, n)
        if best[0] < STARVED:
            break
    return best


def record(axprof, trainer, fault, folder):
    """The JSON report, and how starved the run was."""
    def command(n):
        return [axprof, "run", "-q", "-o", f"{folder}/{fault}.{n}.axp", "--",
                trainer, fault]
    starved, _, n = least_starved(command)
    out = subprocess.run([axprof, "report", "-f", "json",
                          f"{folder}/{fault}.{n}.axp"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out), starved


def place_of(report, kind, name):
    """1: it is the first; None: it is not there."""
    for i, f in enumerate(report["findings"]):
        if f["type"] == kind and (f["name"] == name if name
                                  else f["name"] in SHARED):
            return i + 1, f
    return None, None


def real_gain(trainer, fault, pairs):
    with_it, without = [], []
    for _ in range(pairs):
        with_it.append(least_starved(lambda n: [trainer, fault])[1])
        without.append(least_starved(lambda n: [trainer, "none"])[1])
    base = statistics.median(with_it)
    return 100 * (base - statistics.median(without)) / base


def stated(finding):
    if not finding or not finding["saving_ns"]:
        return "-"
    return (f"{'at most ' if finding['saving_is_bound'] else ''}"
            f"{100 * finding['saving_share']:.1f} %")


def judge(healthy, report, fault, kind, name):
    place, finding = place_of(report, kind, name)
    wrong = []
    if place != 1:
        first = report["findings"][:1]
        wrong.append(f"{fault}: {kind} is at place {place}, after "
                     f"{[(f['type'], f['name']) for f in first]}")
    if place_of(healthy, kind, name)[0]:
        wrong.append(f"{fault}: {kind} is found in the healthy trainer")
    return place, finding, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("axprof")
    parser.add_argument("trainer")
    o = parser.parse_args()
    wrong, starved_most = [], 0
    print(f"{'fault':10} {'finding':16} {'name':20} place  {'states':>14} "
          f"{'really':>8}")
    with tempfile.TemporaryDirectory() as folder:
        healthy, starved_most = record(o.axprof, o.trainer, "none", folder)
        for f in healthy["findings"]:
            if LEVELS.index(f["severity"]) > 0:
                wrong.append(f"healthy: {f['severity']} {f['type']} "
                             f"{f['name']}")
        for fault, kind, name in FAULTS:
            report, starved = record(o.axprof, o.trainer, fault, folder)
            starved_most = max(starved_most, starved)
            place, finding, bad = judge(healthy, report, fault, kind, name)
            wrong += bad
            real = ("" if o.quick else
                    f"{real_gain(o.trainer, fault, o.pairs):6.1f} %")
            print(f"{fault:10} {kind:16} "
                  f"{finding['name'] if finding else name or '':20} "
                  f"{place or '-':>5}  {stated(finding):>14} {real:>8}",
                  flush=True)
    if wrong and starved_most > 4 * STARVED:
        print("\n".join(wrong))
        print(f"the machine is too busy: threads had no processor for "
              f"{100 * starved_most:.0f} % of a run, however often it was "
              "repeated")
        sys.exit(77)
    if wrong:
        sys.exit("FAILED: " + "\n        ".join(wrong))


main()
