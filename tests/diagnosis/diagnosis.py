#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is said of programs with planted causes, and what fixing each gains.

    diagnosis.py --axprof AXPROF [--gpt GPT] [--quick] [--rounds N]
                 [--only TEXT] [--seed N] PROGRAM...

Each cause is planted alone at intensities ½, 1 and 2, in programs with marks
and, where sampling can see it, without. At 1 and 2 the finding with the right
type and name is the first; at 0, the healthy twin, it is not there. What the
finding says that fixing it saves stands beside what the twin really takes less:
all intensities in turns, unrecorded. Healthy programs have no finding at medium
or above. --quick: some causes, at 1 and 0, and nothing is measured.

Status 1: less is right than LEAST_RIGHT says, or with --quick anything is wrong.
77: the machine was too busy to tell."""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from timed_support import (STARVED, last_two, least_starved,  # noqa: E402
                           realtime)

LEVELS = ["low", "medium", "high", "critical"]
INTENSITIES = [0, 0.5, 1, 2]
QUICK = ["trainer/lock", "trainer/imbalance", "trainer/read", "trainer/churn",
         "trainer/growth", "trainer/slow", "trainer/calls", "trainer/serial",
         "input/late", "input/decode", "blas/by_hand", "openmp/loop"]
TWINS = ["trainer/lock", "input/late", "blas/by_hand"]
MEDIAN_ERROR, WORST_ERROR = 0.15, 0.50
TRIES = 4  # with --quick: processors may be slow for a while, and nobody tells
UNSTEADY = 0.15  # a plant of 7 % is not told from that
UNEVEN = 0.05  # processors: who is so much earlier does not meet the other
LEAST_RIGHT = 0.98  # of the rows; wrong are savings and bounds, too
LEAST_GAIN = 0.02  # of a run: less cannot be told from noise
BOUND_ROOM = 0.01  # of a run, above a bound: who wakes up when is chance


class Cause(typing.NamedTuple):
    """A planted cause, or with no expectation a healthy program."""
    program: str
    name: str
    expected: list  # (type, name) that are right; "*" stands for anything
    plain: list     # the same of a program without marks
    is_starving: bool = False

    def command(self, k, seed, is_plain=False):
        return ([self.program, self.name.split("/")[1], k, seed]
                + ["plain"] * is_plain)

    read = staticmethod(last_two)
    intensities = INTENSITIES

    def patience(self):
        """How often a run that was starved is repeated, and with a real-time
        priority; not one that takes the processors from itself: with that its
        threads would not be taken off them."""
        return dict(repeats=1, realtime_from=1) if self.is_starving else {
            "repeats": 6}


class Gpt(Cause):
    """The example, with what it is asked to leave in; at 0 without."""
    intensities = [0, 1]

    def command(self, k, seed, is_plain=False):
        return ([self.program, "--steps", 40, "--seed", seed, "--seq", 256,
                 "--batch", 2]
                + (["--plant", self.name.split("/")[1]] if k else []))

    @staticmethod
    def read(out):
        """Seconds; how starved it was it does not know."""
        return float(re.search(r"([\d.]+) s, ", out)[1]), 0


def causes_of_gpt(program):
    product = pairs("LowThroughput", "proj.by_hand")
    split = pairs("LoadImbalance", "attention.heads|sgemm")
    yield Gpt(program, "gpt/product", product, [])
    yield Gpt(program, "gpt/split", split, [])
    yield Gpt(program, "gpt/healthy", [], [])


def pairs(types, names):
    return [(t, n) for t in types.split("|") for n in names.split("|")]


def causes_of(program):
    family = pathlib.Path(program).name.removeprefix("diagnosis_")
    out = subprocess.run([program, "--list"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    for line in out.splitlines():
        name, types, about, plain, starving = line.split()
        if "=" not in plain and plain != "-":
            plain = f"{types}={plain}"
        yield Cause(program, f"{family}/{name}",
                    [] if types == "-" else pairs(types, about),
                    [] if plain == "-" else pairs(*plain.split("=")),
                    starving == "starving")


class Said(typing.NamedTuple):
    """What a report says of a cause."""
    place: typing.Optional[int]
    finding: typing.Optional[dict]
    first: str
    findings: list
    starved: float


class Bench:
    """Runs causes: recorded and not."""

    def __init__(self, options, folder):
        self.o, self.folder = options, folder

    def report(self, path):
        out = subprocess.run([self.o.axprof, "report", "-f", "json", path],
                             check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        if not self.o.keep:
            path.unlink()
        return json.loads(out)

    def say(self, cause, k, is_plain=False):
        reports = {}

        def command(n):
            self.path = self.folder / (f"{cause.name.replace('/', '.')}.{k:g}"
                                       f"{'.plain' * is_plain}.{n}.axp")
            return [self.o.axprof, "run", "-q", "-o", self.path, "--",
                    *cause.command(k, self.o.seed, is_plain)]

        def read(_):
            report = self.report(self.path)
            took, starved = states(report)
            reports[took, starved / took] = report
            return took, starved

        run = least_starved(command, read=read, cwd=self.folder,
                            **cause.patience())
        findings = reports[run.seconds, run.starved]["findings"]
        place, finding = place_of(findings, cause.plain if is_plain
                                  else cause.expected)
        first = "nothing"
        if findings:
            first = f"{findings[0]['type']} {findings[0]['name']}"
        return Said(place, finding, first, findings,
                    0 if cause.is_starving else run.starved)

    def times(self, cause):
        """Seconds of each intensity, in turns; how starved a run was at most."""
        took, starved = {k: [] for k in cause.intensities}, 0
        for _ in range(self.o.rounds):
            for k in cause.intensities:
                run = least_starved(
                    lambda n: cause.command(k, self.o.seed), read=cause.read,
                    cwd=self.folder, **cause.patience())
                took[k].append(run.seconds)
                if not cause.is_starving:
                    starved = max(starved, run.starved)
        return took, starved


def states(report):
    """Seconds, and for how many its threads wanted a processor."""
    ready = sum(t["ready_ns"] or 0 for t in report["threads"])
    return report["run"]["duration_ns"] / 1e9, ready / 1e9


def unsure(finding):
    """How much of what was sampled may be more, of it: at 95 %."""
    metrics = finding["metrics"]
    if "share_error" not in metrics:
        return 0
    return 100 * metrics["share_error"] / metrics["time_percentage"]


def place_of(findings, wanted):
    """1: it is the first; None: it is not there."""
    for i, f in enumerate(findings):
        if any(f["type"] == t and fnmatch.fnmatchcase(f["name"], n)
               for t, n in wanted):
            return i + 1, f
    return None, None


class Real(typing.NamedTuple):
    """What an intensity takes more than the twin: seconds, ±, of how many."""
    gain: float
    noise: float
    base: float
    is_doubtful: bool


def real_gain(took, starved, k):
    more = [a - b for a, b in zip(took[k], took[0])]
    gain, base = statistics.median(more), statistics.median(took[k])
    noise = 1.5 * statistics.median(abs(m - gain) for m in more)
    return Real(gain, noise, base, starved > STARVED or noise > 0.25 * gain
                or gain < LEAST_GAIN * base)


class Table:
    """The rows, and what they come to."""

    def __init__(self):
        self.wrong, self.judged, self.errors, self.exceeded = [], 0, [], []
        self.doubtful = self.starved = self.bounds = 0
        self.is_off = False  # the median error
        print(f"{'cause':22} {'k':>3} {'marks':5} {'finding':34} place "
              f"{'stated':>17} {'real':>20}  error", flush=True)

    def judge(self, is_right, what):
        self.judged += 1
        if not is_right:
            self.wrong.append(what)
        return is_right

    def row(self, cause, k, is_plain, said, real):
        wanted = cause.plain if is_plain else cause.expected
        marks = "plain" if is_plain else "marks"
        self.starved = max(self.starved, said.starved)
        is_right = True
        if k == 0:
            is_right = self.judge(not said.place, f"{cause.name} {marks} at 0: "
                                  f"found at place {said.place}")
        elif k >= 1:
            is_right = self.judge(said.place == 1,
                                  f"{cause.name} {marks} at {k:g}: place "
                                  f"{said.place or '-'}; first is {said.first}")
        f = said.finding
        stated, measured, error = "", "", ""
        if f and f["saving_ns"]:
            stated = (f"{'≤ ' if f['saving_is_bound'] else ''}"
                      f"{f['saving_ns'] / 1e6:.1f} ms "
                      f"{100 * f['saving_share']:.1f} %")
        if real:
            measured = (f"{1e3 * real.gain:.1f} ± {1e3 * real.noise:.1f} ms "
                        f"{100 * real.gain / real.base:.1f} %")
            error = self.compare(cause, k, f, real)
        text = f"{f['type']} {f['name']}" if f else f"({wanted[0][0]})"
        print(f"{cause.name:22} {k:>3g} {marks:5} {text[:34]:34} "
              f"{said.place or '-':>5} {stated:>17} {measured:>20}  {error}"
              f"{'' if is_right else f'  WRONG, first is {said.first}'}",
              flush=True)

    def compare(self, cause, k, finding, real):
        """The error of an estimate; whether a bound holds."""
        if not finding or not finding["saving_ns"]:
            return ""
        stated = finding["saving_ns"] / 1e9
        if finding["saving_is_bound"]:
            if real.is_doubtful:
                return "doubtful"
            self.bounds += 1
            most = (1 + unsure(finding)) * stated + BOUND_ROOM * real.base
            if real.gain - 2 * real.noise > most:
                self.exceeded.append(f"{cause.name} at {k:g}")
                return "exceeded"
            return "holds"
        if real.is_doubtful:
            self.doubtful += 1
            return "doubtful"
        self.errors.append((abs(stated - real.gain) / real.gain,
                            f"{cause.name} at {k:g}"))
        return f"{100 * (stated - real.gain) / real.gain:+.0f} %"

    def healthy(self, name, said):
        bad = [f for f in said.findings if LEVELS.index(f["severity"]) > 0]
        self.starved = max(self.starved, said.starved)
        text = ", ".join(f"{f['severity']} {f['type']} {f['name']}"
                         for f in bad) or "nothing at medium or above"
        is_right = self.judge(not bad, f"{name}: {text}")
        print(f"{name:28} {'marks'} {text}{'' if is_right else '  WRONG'}",
              flush=True)

    def end(self):
        """Prints the sums; what is wrong."""
        self.n_right = self.judged - len(self.wrong)
        print(f"\nright: {self.n_right} of {self.judged}")
        if self.errors:
            errors = sorted(self.errors)
            median = statistics.median(e for e, _ in errors)
            print(f"savings: {len(errors)} estimates, median error "
                  f"{100 * median:.0f} %, worst {100 * errors[-1][0]:.0f} % "
                  f"({errors[-1][1]}); {self.doubtful} more are doubtful")
            self.is_off = median > MEDIAN_ERROR
            self.wrong += [f"{name}: its saving is {100 * error:.0f} % off"
                           for error, name in errors if error > WORST_ERROR]
        if self.bounds:
            print(f"bounds: {self.bounds}, exceeded: "
                  f"{', '.join(self.exceeded) or 'none'}")
        self.wrong += [f"{name}: more than its bound"
                       for name in self.exceeded]
        return self.wrong


def unsteadiness(bench, causes):
    """How much longer than the quickest the slowest of equal runs of a healthy
    program takes: processors that others share, unseen, are not always as fast."""
    twin = next((c for c in causes if c.name in TWINS), None)
    if not twin:
        return 0
    took = [least_starved(lambda n: twin.command(0, bench.o.seed),
                          read=twin.read, cwd=bench.folder).seconds
            for _ in range(8)]
    return max(took) / min(took) - 1


SPIN = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
sys.stdin.readline()
begin = time.perf_counter()
for i in range(3000000): pass
print(time.perf_counter() - begin)
"""


def unevenness():
    """How much longer the same takes on the slowest processor than on the
    quickest, all at once: one may share its core with somebody unseen."""
    took = {cpu: [] for cpu in os.sched_getaffinity(0)}
    for _ in range(5):
        spins = {cpu: subprocess.Popen(
            [sys.executable, "-c", SPIN, str(cpu)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) for cpu in took}
        time.sleep(0.1)
        for spin in spins.values():
            spin.stdin.write("go\n")
            spin.stdin.flush()
        for cpu, spin in spins.items():
            took[cpu].append(float(spin.communicate()[0]))
    median = [statistics.median(of) for of in took.values()]
    return max(median) / min(median) - 1


def look_at(bench, table, cause):
    """A cause with all that is asked of it."""
    quick = bench.o.quick
    if not cause.expected:
        table.healthy(cause.name, bench.say(cause, 0))
        return
    took = None if quick else bench.times(cause)
    for is_plain in [False, True] if cause.plain and not quick else [False]:
        for k in cause.intensities:
            if quick and (k not in (0, 1)
                          or k == 0 and cause.name not in TWINS):
                continue
            real = real_gain(*took, k) if took and k else None
            said = bench.say(cause, k, is_plain)
            for _ in range(TRIES - 1 if quick else 0):
                if (said.place == 1) == (k > 0):
                    break
                time.sleep(0.5)
                said = bench.say(cause, k)
            table.row(cause, k, is_plain, said, real)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--axprof", required=True, type=os.path.abspath)
    parser.add_argument("--gpt", type=os.path.abspath)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="a folder for the recordings")
    parser.add_argument("programs", nargs="+", type=os.path.abspath)
    o = parser.parse_args()
    causes = [c for p in o.programs for c in causes_of(p)]
    if o.gpt:
        causes += causes_of_gpt(o.gpt)
    if not o.quick:  # what the machine can do, not what it could when it was busy
        subprocess.run(realtime() + [o.axprof, "machine", "--refresh"],
                       check=True, stdout=subprocess.DEVNULL)
    table = Table()
    # Here, and not where temporary files may be in memory: some are synced.
    with tempfile.TemporaryDirectory(dir=".") as folder:
        bench = Bench(o, pathlib.Path(o.keep or folder).resolve())
        for cause in (c for c in causes if o.only in c.name):
            if not o.quick or cause.name in QUICK:
                look_at(bench, table, cause)
        unsteady = (unsteadiness(bench, causes)
                    if o.quick and table.wrong else 0)
        uneven = unevenness() if table.wrong else 0
    wrong = table.end()
    if wrong:
        print("wrong:\n  " + "\n  ".join(wrong))
    has_failed = (bool(wrong) if o.quick else table.is_off or
                  len(wrong) > (1 - LEAST_RIGHT) * table.judged)
    if has_failed and table.starved > 4 * STARVED:
        print(f"the machine is too busy: threads had no processor for "
              f"{100 * table.starved:.0f} % of a run, however often it was "
              "repeated")
        sys.exit(77)
    if has_failed and unsteady > UNSTEADY:
        print("the machine is not steady enough: of equal runs of a healthy "
              f"program one took {100 * unsteady:.0f} % longer than another")
        sys.exit(77)
    if has_failed and uneven > UNEVEN:
        print("the processors are not alike: what takes one of them a second "
              f"takes another {100 * uneven:.0f} % longer")
        sys.exit(77)
    sys.exit(1 if has_failed else 0)


main()
