# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of the memory adapter share: the part of the report that it
makes, by its names, and how it is held against what a program counted itself
(tests/adapters/memory_truth.h)."""
import collections
import itertools
import json
import pathlib
import re
import subprocess

from run_support import Failure, check, environment, equal, run, spools

# The adapter and nothing else; and all that is on when nobody asks.
WAYS = {"alone": ["--without", "all", "--with", "memory", "--sample", "off"],
        "all": []}
SAMPLED = ["--memory", "sample:512K"]
NO_STACKS = ["--stacks", "none"]
OFF = ["--without", "memory"]


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="memory_program"):
        return self.programs / name


def has_adapter(c):
    done = subprocess.run([str(c.axprof), "run", "--list"], text=True,
                          stdout=subprocess.PIPE, check=True)
    return any(line.split()[:1] == ["memory"] and "not installed" not in line
               for line in done.stdout.splitlines())


# ---- the report ------------------------------------------------------------

# Its names stand here and nowhere else in the tests. A sum is what all places,
# or some of them, hold; a total is what the report says of the whole.
Sum = collections.namedtuple(
    "Sum", "allocations frees allocated current blocks at_peak")
PLACE = Sum("n_allocs", "n_frees", "total_allocated", "current_bytes",
            "current_blocks", "at_peak_bytes")
TOTAL = {"allocations": "n_allocs", "frees": "n_frees",
         "allocated": "total_allocated", "current": "current_bytes",
         "at_peak": "peak_bytes"}
TRUTH = {"allocations": "n_allocs", "frees": "n_frees",
         "allocated": "allocated_bytes", "current": "live_bytes_at_end",
         "blocks": "n_live_at_end"}


# What compilers add to the names of copies that they make of a function.
CLONE = r"\.(constprop|isra|part|cold)(\.\d+)*$"


class Place:
    """Blocks that were allocated with one stack, in the same scopes, and have
    the same name."""

    def __init__(self, data):
        self.sums = Sum(*(data[field] for field in PLACE))
        self.frames = data["stack"]  # the innermost first
        self.functions = [re.sub(CLONE, "", frame["function"] or "")
                          for frame in self.frames]
        self.name, self.kind = data["name"], data["kind"]
        self.scopes = data["scopes"]
        self.temporary = data["n_temporary"]
        self.growth = data["growth_early"], data["growth_late"]
        self.a_step = data["step_allocs"], data["step_bytes"]
        self.first_at, self.last_at = data["first_at"], data["last_at"]
        self.thread_id, self.lived = data["thread_id"], data["lived"]

    def at(self, function):
        """How far from the innermost."""
        check(function in self.functions, function, "is not in",
              self.functions)
        return self.functions.index(function)

    def frame(self, function):
        return self.frames[self.at(function)]

    def is_of(self, function):
        return function in self.functions


Level = collections.namedtuple("Level", "from_ to min_bytes max_bytes")


class Heap:
    def __init__(self, data):
        try:
            self.read(data["heap"])
        except (KeyError, TypeError) as wrong:
            raise Failure(f"the report is another: {wrong!r}") from None

    def read(self, heap):
        self.totals = {name: heap[field] for name, field in TOTAL.items()}
        self.freed, self.temporary = heap["total_freed"], heap["n_temporary"]
        self.peak_at_ns = heap["peak_at"]
        self.places = [Place(place) for place in heap["places"]]
        self.kept = heap["kept"]
        self.levels = [Level(*level) for level in zip(
            *(heap["levels"][f.rstrip("_")] for f in Level._fields))]

    def of(self, function):
        return [p for p in self.places if p.is_of(function)]

    def truth(self):
        """What the program's own functions allocated, however C++ writes their
        names; not what the C++ library did for them."""
        return [p for p in self.places if any(
            "truth_" in f for f in itertools.islice(itertools.dropwhile(
                lambda f: f.startswith("operator new"), p.functions), 1))]


def sum_of(places):
    return Sum(*map(sum, zip(*(p.sums for p in places)))) if places \
        else Sum(*[0] * len(Sum._fields))


# ---- held against the truth ------------------------------------------------

def profile_heap(c, folder, command, options=(), status=0, before=(),
                 env=None):
    """What a program printed, and the report of its run."""
    report = folder / "report.json"
    done = run([*before, c.axprof, "run", "-q", "--no-file", "--report", report,
                *options, "--", *command], folder, env=env or environment())
    equal(done.status, status, f"status of {command}; {done.err}")
    equal(spools(folder), [], "spools that were left")
    data = json.loads(report.read_text())
    report.unlink()
    return done.out.decode(), data


def truth_of(out):
    """What the program counted: its last line."""
    return json.loads(out.splitlines()[-1])


def assert_whole(heap, n_processes=1):
    """What the report says of the whole is what its places add up to."""
    sums = sum_of(heap.places)._asdict()
    for name, total in heap.totals.items():
        if name != "at_peak" or n_processes == 1:
            equal(sums[name], total, f"{name}, sum of the places")
    equal(heap.freed, heap.totals["allocated"] - heap.totals["current"],
          "freed bytes")
    for place in heap.places:
        s = place.sums
        check(s.frees + s.blocks == s.allocations, "blocks", place.functions, s)
        check(0 <= place.temporary <= s.frees, "temporary", place.functions)
        check(max(s.current, s.at_peak) <= s.allocated, place.functions, s)


def assert_truth(truth, heap, is_peak=True):
    """All that the program asked for is there, once, and nothing else."""
    sums = sum_of(heap.truth())._asdict()
    for name, field in TRUTH.items():
        equal(sums[name], truth[field], f"{name} of the program's functions")
    if is_peak and truth["peak_bytes"] is not None:
        equal(sums["at_peak"], truth["peak_bytes"], "bytes at the peak")


def judge(c, folder, *words, program="memory_program", is_peak=True,
          n_processes=1, status=0, options=()):
    """The program's own count, in each way; the heap of the last one."""
    for way, more in WAYS.items():
        out, data = profile_heap(c, folder, [c.program(program), *words],
                                 [*more, *options], status)
        heap = Heap(data)
        try:
            assert_whole(heap, n_processes)
            assert_truth(truth_of(out), heap, is_peak)
        except Failure as failure:
            raise Failure(f"{way}: {failure}") from None
    return truth_of(out), heap, data
