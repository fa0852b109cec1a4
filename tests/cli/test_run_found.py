# SPDX-License-Identifier: MIT OR Apache-2.0
"""Findings about work, memory and waits in real programs, under axprof run: each
is there with its fault, named after it, and not in the healthy twin.

  test_run_found.py AXPROF PROGRAMS [test ...]
"""
import os
import pathlib
import re
import resource
import subprocess
import sys

import run_support
from run_support import check, environment, equal, profile, sees_kernel


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.program = pathlib.Path(programs).resolve() / "found_program"


def was_starved(report):
    """Whether others had the processors for more than a tenth of the run."""
    ready = sum(t["ready_ns"] or 0 for t in report["threads"])
    return ready > 0.1 * report["run"]["duration_ns"]


def findings(c, folder, kind, *command, env=None, options=("--sample", "off")):
    """A run that had no processor is tried again, twice."""
    for _ in range(3):
        report, _ = profile(c, folder, *command, options=options, env=env)
        for left in folder.glob("*.axp"):
            left.unlink()
        if not was_starved(report):
            break
    return report, [f for f in report["findings"] if f["type"] == kind]


def test_work(c, folder):
    """1e15 FLOPs in a call: no machine does that. It is measured, in 3 s."""
    env = environment(XDG_CACHE_HOME=str(folder / "cache"))
    del env["AXPROF_MACHINE"]
    for fault in (1, 0):
        report, found = findings(c, folder, "ImplausibleWork", c.program,
                                 "work", fault, env=env)
        equal([f["name"] for f in found], ["multiply"] * fault, "names")
        if fault:
            about = [f for f in report["findings"] if f["name"] == "multiply"]
            equal(len(about), 1, "one cause, one finding")
            check(not found[0]["saving_ns"], found[0])
            check("million FLOPs at most, and declares 1" in
                  found[0]["suggestion"], found[0]["suggestion"])


def test_temporary(c, folder):
    """As many blocks as it can, each freed at once; or 20,000 a second."""
    for fault in (1, 0):
        report, found = findings(c, folder, "TemporaryAllocations", c.program,
                                 "temporary", fault)
        equal([f["name"] for f in found], ["take_scratch"] * fault,
              f"names; {report['heap']}")
        if fault:
            check(found[0]["metrics"]["allocs_per_second"] > 1e5,
                  found[0]["metrics"])
            check(190 < found[0]["metrics"]["avg_bytes"] < 210,
                  found[0]["metrics"])


def test_cost_of_blocks(c, folder):
    """What is said to have gone into following blocks is what samples met of
    it, whatever else the machine does."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
              for _ in range(os.cpu_count() or 1)]
    try:
        report, _ = profile(c, folder, sys.executable, "-c",
                            "for i in range(5000000): bytes(1000)")
    finally:
        for other in others:
            other.kill()
            other.wait()
    said = [w["text"] for w in report["warnings"]
            if w["code"] == "own_overhead"]
    if not report["functions"]:
        return  # nobody may sample here
    check(sum(f["samples"] for f in report["functions"]) > 400, "too short")
    check(said, report["warnings"])
    share = float(re.search(r"about ([0-9.]+) %", said[0]).group(1)) / 100
    met = sum(f["time_share"] for f in report["functions"]
              if f["name"] == "[axprof]")
    check(abs(share - met) < 0.1, said, "and met was", met)


def test_pressure(c, folder):
    """7.7 and 4 GB of the 8 that ulimit allows, of which none is touched."""
    was = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, was[1]))
    try:
        for fault in (1, 0):
            _, found = findings(c, folder, "PeakPressure", c.program,
                                "pressure", fault)
            equal([f["name"] for f in found], ["take_memory"] * fault, "names")
            if fault:
                check(93 < found[0]["metrics"]["memory_percentage"] < 95,
                      found[0]["metrics"])
                check("ulimit -v" in found[0]["description"],
                      found[0]["description"])
    finally:
        resource.setrlimit(resource.RLIMIT_AS, was)


def test_fragments(c, folder):
    """Of 131 MB a sixteenth is kept: one block of many, or the first ones."""
    for fault in (1, 0):
        report, found = findings(c, folder, "Fragmentation", c.program,
                                 "fragments", fault)
        if "process.anon_bytes" not in run_support.counters(report):
            return
        equal([f["name"] for f in found], ["take_batches"] * fault, "names")
        for f in found:
            check(100e6 < f["metrics"]["kept_bytes"] < 131e6, f["metrics"])
            check(8e6 < f["metrics"]["live_bytes"] < 10e6, f["metrics"])
            equal(f["severity"], "critical", f["metrics"])


def is_watched(report):
    """Whether the kernel says when threads had no processor."""
    return any(t["ready_ns"] is not None for t in report["threads"])


def lacked_processor(report):
    """The same, also where nobody told of threads that stood ready: what did
    not read computed, and took longer than its processor time."""
    reading = sum(op["total_ns"] for op in report["ops"]
                  if op["name"] == "read_shard")
    computing = report["run"]["duration_ns"] - reading
    cpu = sum(t["cpu_ns"] or 0 for t in report["threads"])
    return was_starved(report) or cpu < 0.9 * computing


def check_io(report, found, fault):
    equal([f["name"] for f in found], ["read_shard"] * fault, "names")
    if not fault:
        return
    if not lacked_processor(report):  # or whoever had no processor took longer
        equal(report["findings"][0]["type"], "IoWait", "the first of them")
    # 100 reads of 3 ms or more, which the computing can hide, at most
    wall = report["run"]["duration_ns"]
    check(0.2e9 < found[0]["saving_ns"] <= wall - 0.25e9,
          f"{found[0]['saving_ns']} of {wall}")
    check("read_shard" in report["verdict"], report["verdict"])


def test_io(c, folder):
    """A read that blocks in every step, or once."""
    for fault in (1, 0):
        report, found = findings(c, folder, "IoWait", c.program, "io", fault)
        check_io(report, found, fault)


@run_support.beside_others
def test_io_seen(c, folder):
    """The same, and nobody says that it is I/O: it shows in the states."""
    for fault in (1, 0):
        report, found = findings(c, folder, "IoWait", c.program, "io_plain",
                                 fault, options=())
        if not is_watched(report):
            return
        check_io(report, found, fault)


@run_support.beside_others
def test_io_bare(c, folder):
    """The same, and nothing is marked: the function that waits is named, where
    the kernel lets us see the stack that it left its processor with."""
    for fault in (1, 0):
        report, found = findings(c, folder, "IoWait", c.program, "io_bare",
                                 fault, options=())
        if not is_watched(report):
            return
        name = "fetch_shard" if sees_kernel() else "(no scope)"
        equal([f["name"] for f in found], [name] * fault, "names")
        if fault and sees_kernel():
            check("in read, for fetch_shard" in found[0]["description"],
                  found[0]["description"])


@run_support.beside_others
def test_naps(c, folder):
    """50 times 10 ms in which it sleeps: without them the run is so much
    shorter, whatever it computes. In no scope, and beside another process."""
    for fault in (1, 0):
        report, found = findings(c, folder, "IoWait", c.program, "naps", fault,
                                 options=())
        if not is_watched(report):
            return
        equal(len(found), fault and sees_kernel(), report["findings"])
        for f in found:
            equal(f["name"], "look_again_later", report["findings"])
            check(0.5e9 <= f["saving_ns"] <= report["run"]["duration_ns"], f)
            check(f["saving_is_bound"], f)
            check("found_program.c" in (f["file"] or ""), f)
            check("sleeps" in f["suggestion"], f["suggestion"])
            check("less waiting in look_again_later" in report["verdict"],
                  report["verdict"])


@run_support.beside_others
def test_supervisor(c, folder):
    """Who waits for another process of the run is not what takes the time, also
    where it is known which threads waited for which, and the waiting one was the
    first to run again."""
    report, found = findings(c, folder, "IoWait", c.program, "supervise",
                             options=())
    equal(report["run"]["process_count"], 2, "processes")
    for f in found:
        check("in wait" not in f["description"], f)


def test_kernel(c, folder):
    """The kernel's time is what it is asked for: by whom, and by which call; or
    for pages that are touched, also by what fills memory, which nobody calls it
    for."""
    if not sees_kernel():
        return
    for what, by, how in (("pages", "touch_pages", "page faults"),
                          ("fills", "fill_pages", "page faults"),
                          ("bytes", "read_bytes", "for read,")):
        for fault in (1, 0):
            report, found = findings(c, folder, "SlowOperation", c.program,
                                     what, fault, options=())
            found = [f for f in found if f["name"] == "[kernel]"]
            equal(len(found), fault, report["findings"])
            for f in found:
                check(by in f["description"] and how in f["description"], f)
                check(by in f["suggestion"], f["suggestion"])
                check(("keep the memory" in f["suggestion"]) ==
                      (how == "page faults"), f["suggestion"])
                check("found_program.c" in (f["file"] or ""), f)
                check(f"asking the kernel for less in {by}" in report["verdict"],
                      report["verdict"])


def had_processors(report, n):
    """Whether the program itself had nearly all of n processors: where others
    had them, too, nobody is told to use fewer threads."""
    used = sum(t["cpu_ns"] or 0 for t in report["threads"])
    return used > 0.9 * n * report["run"]["duration_ns"]


def test_threads(c, folder):
    """Work for two processors among two threads, or 32."""
    processors = sorted(os.sched_getaffinity(0))
    few = processors[:2]
    os.sched_setaffinity(0, few)
    try:
        for n in (32, len(few)):
            for _ in range(5):
                report, found = findings(c, folder, "Oversubscription",
                                         c.program, "threads", n, options=())
                if n != 32 or found or had_processors(report, len(few)):
                    break
            else:
                continue  # a busy machine: nothing can be said
            if not is_watched(report):
                return
            equal(len(found), int(n == 32), report["warnings"])
            for f in found:
                check(f["metrics"]["threads"] > 16, f["metrics"])
                equal(f["metrics"]["processors"], len(few), "processors")
    finally:
        os.sched_setaffinity(0, processors)


def check_part(report):
    """Every figure of every finding is of what was recorded."""
    wall = report["run"]["duration_ns"]
    for f in report["findings"]:
        check(f["saving_ns"] <= wall, f, wall)
        check(abs(f["saving_share"] - f["saving_ns"] / wall) < 1e-6, f, wall)
        for key, value in f["metrics"].items():
            if key.endswith("_percentage"):
                check(0 <= value <= 100, key, value)
            if key.endswith("_ms"):
                check(0 <= value <= wall / 1e6, key, value, wall)
            if key == "call_count":
                check(value <= 40, f)


def waits_of(c, folder, names, *steps):
    """On a busy machine computing takes longer, and waiting is less of it: then
    once more."""
    for _ in range(4):
        report, found = findings(c, folder, "IoWait", c.program, "phases",
                                 options=("--sample", "off", *steps))
        if sorted(f["name"] for f in found) == names:
            break
    equal(sorted(f["name"] for f in found), names, steps)
    return report, found


def test_window(c, folder):
    """Steps that read, then as many that write: each part has its own fault,
    and figures of its own."""
    whole, _ = waits_of(c, folder, ["read_shard", "write_log"])
    for steps, name in (("0:40", "read_shard"), ("40:80", "write_log")):
        report, found = waits_of(c, folder, [name], "--steps", steps)
        equal(report["steps"]["count"], 40, "steps")
        check(report["run"]["duration_ns"] < 0.8 * whole["run"]["duration_ns"],
              "duration", report["run"], whole["run"])
        # 40 reads of 3 ms at least, of the part; of the run it is half of that
        op = run_support.ops(report)[name]
        wall = report["run"]["duration_ns"]
        share = found[0]["metrics"]["io_percentage"] / 100
        check(share <= op["total_ns"] / wall + 0.001, share, op, wall)
        check(share >= 0.6 * op["total_ns"] / wall, share, op, wall)
        check_part(report)


def test_window_begins_in_a_wait(c, folder):
    """What a thread waits for as the part begins is no longer than the part, and
    nobody is blamed for the wait."""
    for _ in range(8):  # on a busy machine a thread that is woken may wait
        report, found = findings(c, folder, "SyncWait", c.program, "pair",
                                 options=("--steps", "10:15"))
        steps = report["steps"]
        if not found and \
                report["run"]["duration_ns"] < 1.1 * 5 * steps["avg_ns"]:
            break
    equal(steps["count"], 5, steps)
    check(report["run"]["duration_ns"] < 1.1 * 5 * steps["avg_ns"],
          report["run"], steps)
    equal(found, [], "waits that nobody ends")


def test_twice(c, folder):
    """A recording that is read again says the same, to the byte."""
    _, files = profile(c, folder, c.program, "threads", 4)
    for kind in ("text", "json", "markdown", "html"):
        made = []
        for i in range(2):
            result = run_support.run(
                [c.axprof, "report", "-f", kind, "-o", f"report{i}", *files],
                folder, env=environment())
            equal(result.status, 0, result.err)
            made.append((folder / f"report{i}").read_bytes())
            (folder / f"report{i}").unlink()
        check(made[0] and made[0] == made[1], kind, "differs")


if __name__ == "__main__":
    run_support.main([test_work, test_temporary, test_cost_of_blocks,
                      test_pressure, test_fragments,
                      test_io, test_io_seen, test_io_bare, test_naps, test_supervisor,
                      test_kernel, test_threads, test_window,
                      test_window_begins_in_a_wait, test_twice],
                     Context(*sys.argv[1:3]))
