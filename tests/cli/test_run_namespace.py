# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs in another namespace of process ids, as in containers: what they
record has the numbers that they have inside, and is told with those that they
have outside, as everything else.

  test_run_namespace.py AXPROF PROGRAMS [test ...]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import run_support
from run_support import beside_others, check, end, environment, equal, run

FEW = 290  # a new namespace gives lower numbers, and later none below 300
INSIDE = ("unshare", "-pf", "--mount-proc")


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="namespaced_program"):
        return self.programs / name


def record(c, folder, *command, options=(), start=()):
    """The report of a run as JSON; it is in run.axp."""
    report = folder / "report.json"
    (folder / "run.axp").unlink(missing_ok=True)
    done = run([*start, c.axprof, "run", "-q", "-o", "run.axp", "--report", report,
                *options, "--", *command], folder, env=environment())
    equal(done.status, 0, done.err)
    return json.loads(report.read_text())


def recorded(data):
    return [t for t in data["threads"] if t["events"]]


def is_sampled(data):
    return any(t["ready_ns"] is not None for t in data["threads"])


def below_scope(data, name):
    """Which part of a function's samples was met below a scope of that name; the
    function is the program's own."""
    tree = data["tree"]

    def path(i):
        return path(tree[i]["parent"]) + [tree[i]["name"]] if i > 0 else []

    inside = outside = 0
    for i, node in enumerate(tree):
        if node["name"] != "turn" or not node["is_sampled"]:
            continue
        names = path(i)
        if name in names[:2]:
            inside += node["total_ns"]
        else:
            outside += node["total_ns"]
    return inside / (inside + outside) if inside + outside else None


def assert_joined(data, n_processes, n_threads):
    """Each process and thread is one, of an id outside."""
    rows = recorded(data)
    equal(len(rows), n_threads, f"threads with events {rows}")
    equal(len({(t["process_id"], t["id"]) for t in rows}), n_threads, rows)
    equal(len({t["process_id"] for t in rows}), n_processes, rows)
    for t in rows:
        check(t["process_id"] > FEW and t["id"] > FEW, "ids outside", t)
        if is_sampled(data):
            check(t["ready_ns"] is not None, "states", t)
    if is_sampled(data):
        # one more is there that records nothing: who made the namespace
        check(len(data["threads"]) >= n_threads + 1, data["threads"])
        strangers = [t for t in data["threads"] if t["process_id"] == 1]
        equal(strangers, [], "threads of other numbers")


def try_ways(c, folder, *command, **expected):
    """With the kernel's samples, with the program's, and without."""
    denied = (c.program("deny_perf"),)
    for way, start, options in (("samples", (), ()), ("timer", denied, ()),
                                ("none", (), ("--sample", "off"))):
        data = record(c, folder, *command, options=options, start=start)
        try:
            assert_joined(data, **expected)
            part = below_scope(data, "spin")
            if part is not None:
                check(part > 0.9, "samples below their scope", part)
            elif way == "samples":
                check(not is_sampled(data), "no samples of turn")
        except run_support.Failure as failure:
            raise run_support.Failure(f"{way}: {failure}") from failure


@beside_others
def test_threads(c, folder):
    try_ways(c, folder, *INSIDE, c.program(), "threads", 3, 200,
             n_processes=1, n_threads=4)


@beside_others
def test_nested(c, folder):
    try_ways(c, folder, *INSIDE, *INSIDE, c.program(), "threads", 2, 200,
             n_processes=1, n_threads=3)


@beside_others
def test_children(c, folder):
    try_ways(c, folder, *INSIDE, c.program(), "fork", 3, 200,
             n_processes=4, n_threads=7)


@beside_others
def test_two_with_equal_numbers(c, folder):
    one = " ".join(map(str, (*INSIDE, c.program(), "threads", 2, 200)))
    try_ways(c, folder, "sh", "-c", f"{one} & {one}; wait",
             n_processes=2, n_threads=6)


@beside_others
def test_short_threads(c, folder):
    """Nobody looks while they are there: by their order and their times."""
    data = record(c, folder, *INSIDE, c.program(), "one_by_one", 50, 500)
    rows = recorded(data)
    equal(len(rows), 51, "threads")
    if is_sampled(data):
        n = sum(t["ready_ns"] is not None for t in rows)
        check(n == 51, "threads that are known outside", n)


@beside_others
def test_short_processes(c, folder):
    """Who sampled saw them begin their recordings."""
    data = record(c, folder, *INSIDE, "sh", "-c",
                  f"sleep 1; for i in 1 2 3 4 5; do {c.program()} threads 1 2; "
                  "done")
    if is_sampled(data):
        assert_joined(data, n_processes=5, n_threads=10)


@beside_others
def test_same_as_outside(c, folder):
    """Scopes are counted alike, and the recording is sound."""
    inside = record(c, folder, *INSIDE, c.program(), "threads", 2, 50)
    done = run([c.axprof, "check", "run.axp"], folder, env=environment())
    equal(done.status, 0, done.out + done.err)
    outside = record(c, folder, c.program(), "threads", 2, 50)
    for name in ("spin", "main"):
        equal(run_support.calls(inside, name), run_support.calls(outside, name),
              name)
    if is_sampled(inside):
        equal(inside["run"]["process_count"],
              outside["run"]["process_count"] + 1, "processes")
        equal(inside["run"]["thread_count"],
              outside["run"]["thread_count"] + 1, "threads")


@beside_others
def test_untouched(c, folder):
    """A program that nobody changed, with what the adapters record in it."""
    command = (c.program("sampled_program"), "shares", 300, 3, 1000)
    inside = record(c, folder, *INSIDE, *command)
    outside = record(c, folder, *command)
    if is_sampled(inside):
        for what in ("process_count", "thread_count"):
            equal(inside["run"][what], outside["run"][what] + 1, what)
        equal([t for t in inside["threads"] if t["ready_ns"] is None], [],
              "threads that nobody saw")


@beside_others
def test_read_again(c, folder):
    """Ids are in the file: packed, it says the same."""
    data = record(c, folder, *INSIDE, c.program(), "threads", 2, 100)
    done = run([c.axprof, "pack", "run.axp", "-o", "packed.axp"], folder,
               env=environment())
    equal(done.status, 0, done.err)
    done = run([c.axprof, "report", "packed.axp", "-f", "json", "-o", "-"],
               folder, env=environment())
    equal(done.status, 0, done.err)
    equal(json.loads(done.out)["threads"], data["threads"], "threads")


@beside_others
def test_killed(c, folder):
    """What is left when all is killed at once still says who is who."""
    process = subprocess.Popen(
        [str(c.axprof), "run", "-q", "-o", "run.axp", "--", *INSIDE,
         str(c.program()), "threads", "2", "20000"], cwd=folder,
        env=environment(), start_new_session=True)
    try:
        time.sleep(1.5)
        os.killpg(process.pid, signal.SIGKILL)
    finally:
        end(process)
    done = run([c.axprof, "report", "run.axp.parts", "-f", "json", "-o", "-"],
               folder, env=environment())
    check(done.status in (0, 3), done.status, done.err)
    for t in recorded(json.loads(done.out)):
        check(t["process_id"] > FEW and t["id"] > FEW, "ids outside", t)
    done = run([c.axprof, "pack", "run.axp.parts"], folder, env=environment())
    check(done.status in (0, 3), done.status, done.err)


def is_permitted():
    """Whether one may make such a namespace here."""
    try:
        return subprocess.run([*INSIDE, "true"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    if not is_permitted():
        print("one may not make namespaces of process ids here")
        sys.exit(77)
    run_support.main([test_threads, test_nested, test_children,
                      test_two_with_equal_numbers, test_short_threads,
                      test_short_processes, test_same_as_outside,
                      test_untouched, test_read_again, test_killed],
                     Context(*sys.argv[1:3]))
