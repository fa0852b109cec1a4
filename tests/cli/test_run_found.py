# SPDX-License-Identifier: MIT OR Apache-2.0
"""Findings about work and memory in real programs, under axprof run: each is
there with its fault, named after it, and not in the healthy twin.

  test_run_found.py AXPROF PROGRAMS [test ...]
"""
import pathlib
import resource
import sys

import run_support
from run_support import check, environment, equal, profile


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.program = pathlib.Path(programs).resolve() / "found_program"


def findings(c, folder, kind, *command, env=None):
    report, _ = profile(c, folder, *command, options=("--sample", "off"),
                        env=env)
    for left in folder.glob("*.axp"):
        left.unlink()
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


if __name__ == "__main__":
    run_support.main([test_work, test_temporary, test_pressure],
                     Context(*sys.argv[1:3]))
