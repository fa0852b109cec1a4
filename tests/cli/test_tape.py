#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that record by themselves (AXPROF_OUT): how they may end, whose the
files are, and how ranks join.

  test_tape.py AXPROF PROGRAMS [test ...]
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import run_support
from run_support import check, environment, equal, run, spools


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()


def asan(options):
    return os.environ.get("ASAN_OPTIONS", "") + ":" + options


# A child has the locks of a sanitizer's allocator as another thread held them
# when it was forked: who looks for leaks waits for all of them.
NO_LEAKS = {"ASAN_OPTIONS": asan("detect_leaks=0")}


def record(c, folder, out, *words, **env):
    return run([c.programs / "record_program", *words], folder,
               env=environment(AXPROF_OUT=str(out), **env))


def report(c, folder, *paths):
    done = run([c.axprof, "report", "-f", "json", *paths], folder)
    equal(done.status, 0, done.err)
    return json.loads(done.out)


def calls(data, name):
    return {op["name"]: op["calls"] for op in data["ops"]}.get(name, 0)


def comm(c):
    """What the kernel calls the program: an emulator's name, under one."""
    words = (c.programs / "record_program").read_bytes().split(maxsplit=3)
    if words[0] != b"#!/bin/sh":
        return "record_program"
    return pathlib.Path(words[2].decode()).name[:15]


def test_deaths(c, folder):
    """What was running is said, nothing is lost, pack makes one clean file."""
    for number in (signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV,
                   signal.SIGTERM):
        out = folder / f"{number.name}.axp"
        # a sanitizer would make an exit with status 1 of some
        done = record(c, folder, out, "die", "3000", str(int(number)),
                      ASAN_OPTIONS=asan("handle_segv=0"))
        equal(done.status, -number, "status")
        text = run([c.axprof, "report", out], folder).out.decode()
        check("from their spools" in text, text)
        check("Running when it ended" in text, text)
        check(f"{comm(c)}: train > backward, since" in text, text)
        before = report(c, folder, out)
        equal(calls(before, "inner"), 3000, "calls")
        equal(before["run"]["cut_events"], 0, "cut")
        equal(len(spools(folder)), 1, "spools")
        equal(run([c.axprof, "pack", out], folder).status, 0, "pack")
        equal(spools(folder), [], "spools")
        equal(run([c.axprof, "check", out], folder).status, 0, "check")
        equal(report(c, folder, out), before, "the report after pack")
        out.unlink()


def test_one_rate(c, folder):
    """All processes have one rate and know their cost, however soon they die,
    and a recording reads the same to the byte however often it is read."""
    lives = (("scopes", "10"), ("kill", "1"), ("kill", "3000"),
             ("idle", "10", "30"), ("workers", "2", "5"))
    rates = set()
    for i, words in enumerate(lives):
        record(c, folder, folder / f"r{i}.axp", *words, **NO_LEAKS)
    files = sorted(folder.glob("*.axp"))
    equal(len(files), 7, files)
    for path in files:
        texts = {run([c.axprof, "report", "-f", "json", path], folder).out
                 for _ in range(3)}
        equal(len(texts), 1, path)
        machine = json.loads(texts.pop())["machine"]
        rates.add(machine["tick_ns"])
        check(machine["own_cost_ns"] > 0, path)
    equal(len(rates), 1, rates)
    for path in files:
        run([c.axprof, "pack", path], folder)


def test_files_are_private(c, folder):
    old = os.umask(0)
    try:
        record(c, folder, folder / "x.axp", "scopes", "10")
        record(c, folder, folder / "k.axp", "kill", "10")
    finally:
        os.umask(old)
    left = list(folder.iterdir()) + spools(folder)
    equal(len(left), 3, "files")
    for path in left:
        equal(path.stat().st_mode & 0o777, 0o600, path)
    equal(run([c.axprof, "pack", folder / "k.axp"], folder).status, 0, "pack")
    equal((folder / "k.axp").stat().st_mode & 0o777, 0o600, "packed")


def test_links_are_not_followed(c, folder):
    """A link that somebody planted, also where the spool would lie."""
    target = folder / "target"
    (folder / "x.axp").symlink_to(target)
    equal(record(c, folder, folder / "x.axp", "scopes", "10").status, 0, "run")
    check(not target.exists(), "the link was followed")
    names = sorted(p.name for p in folder.iterdir())
    equal(len(names), 2, names)  # the link, and a name that was free
    (folder / "y.axp.spool").symlink_to(target)
    equal(record(c, folder, folder / "y.axp", "scopes", "10").status, 0, "run")
    check(not target.exists(), "the link was followed")
    target.write_text("mine")
    equal(run([c.axprof, "pack", folder / names[0], "-o", folder / "x.axp"],
              folder).status, 1, "pack onto a link")
    equal(target.read_text(), "mine", "target")


def test_taken_and_unwritable_paths(c, folder):
    taken = folder / "taken.axp"
    taken.write_text("mine")
    record(c, folder, taken, "scopes", "10")
    equal(taken.read_text(), "mine", "taken")
    equal(len(list(folder.glob("taken-*.axp"))), 1, "another name")
    done = record(c, folder, "/no/such/folder/x.axp", "scopes", "10")
    equal((done.status, done.err),
          (0, b"axprof: AXPROF_OUT: cannot write /no/such/folder/x.axp: No such "
              b"file or directory; nothing was recorded\n"), "unwritable")


def test_paths_that_are_too_long(c, folder):
    """As any other path that cannot be written: also where only the folder
    before it makes it too long, and where there is no such folder any more."""
    program = c.programs / "record_program"
    long, gone = "a/" * 2500 + "x.axp", folder / "gone"
    for out in (f"{folder}/{long}", long, long[-4089:]):
        done = record(c, folder, out, "scopes", "10")
        equal(done.status, 0, "the program")
        check(re.fullmatch(rb"axprof: AXPROF_OUT: cannot write \S{30,100}\.\.\.: "
                           rb"File name too long; nothing was recorded\n",
                           done.err), done.err)
    gone.mkdir()
    done = run(["sh", "-c", f"rmdir {gone}; exec {program} scopes 10"], gone,
               env=environment(AXPROF_OUT="x.axp"))
    said = done.err.splitlines()[-1:]  # an emulator's shell may miss it, too
    equal((done.status, said),
          (0, [b"axprof: AXPROF_OUT: cannot write x.axp: No such file or "
               b"directory; nothing was recorded"]), "no folder")
    equal(record(c, folder, long, "workers", "1", "5", **NO_LEAKS).status, 0,
          "children")
    equal(list(folder.iterdir()), [], "files")


def test_disk_that_is_full(c, folder):
    """Said when the program ends and by whoever reads, until all of it is packed
    into a file elsewhere."""
    disk = run_support.small_disk(folder, 64)
    if not disk:
        return
    try:
        file = disk / "x.axp"
        done = record(c, folder, file, "scopes", "200000")
        equal(done.status, 0, "the program")
        equal(done.err, f"axprof: AXPROF_OUT: {file} is not complete: No space "
              'left on device; "axprof pack" adds what it misses, once that is '
              "mended\n".encode(), "said")
        for words in (("report",), ("export", "-f", "folded"), ("info",),
                      ("whatif",)):
            done = run([c.axprof, *words, file], folder)
            equal(done.status, 3, words)
            check(b"damaged or missing" in done.err, words, done.err)
            # scopes that recording took all of have no time of their own
            check(done.out or words[0] == "export", words)
            if words[0] == "info":
                check(b"spool     800000 of these events are not in the file"
                      in done.out, done.out)
            else:
                check(b"could not be written to its end" in done.err, done.err)
        equal(run([c.axprof, "pack", file, "-o", folder / "y.axp"],
                  folder).status, 0, "pack")
        data = report(c, folder, folder / "y.axp")
        equal(calls(data, "outer"), 200000, "packed")
        for verb in ("info", "check"):
            equal(run([c.axprof, verb, folder / "y.axp"], folder).status, 0,
                  verb)
    finally:
        for spool in spools(disk):
            spool.unlink()
        run_support.drop_disk(disk)


def test_disk_that_fills(c, folder):
    """info tells what is in the file from what its spool alone has."""
    disk = run_support.small_disk(folder, 20000)
    if not disk:
        return
    try:
        file = disk / "x.axp"
        equal(record(c, folder, file, "scopes", "2000000").status, 0, "status")
        text = run([c.axprof, "info", file], folder).out.decode()
        n, per_event, left = re.search(
            r"\n  timeline  (\d+) events, 0 cut, (\S+) bytes an event\n"
            r"  spool     (\d+) of these events are not in the file\n",
            text).groups()
        equal(int(n), 8000000, text)
        blocks = sum(map(int, re.findall(r"blocks +(?:pack|chunk) .* of (\d+)",
                                         text)))
        here = 8000000 - int(left)
        check(0 < here < 8000000, text)
        equal(per_event, f"{blocks / here:.2f}", text)
        equal(run([c.axprof, "pack", file, "-o", folder / "y.axp"],
                  folder).status, 0, "pack")
        text = run([c.axprof, "info", folder / "y.axp"], folder).out.decode()
        check("timeline  8000000 events" in text and "spool" not in text, text)
    finally:
        for spool in spools(disk):
            spool.unlink()
        run_support.drop_disk(disk)


def test_children(c, folder):
    """A child that records has a file, one that does not has none."""
    record(c, folder, folder / "w.axp", "workers", "3", "50", **NO_LEAKS)
    files = sorted(folder.iterdir())
    equal(len(files), 4, files)
    data = report(c, folder, *files)
    equal(calls(data, "inner"), 200, "calls")
    equal(len({t["process_id"] for t in data["threads"]}), 4, "processes")


def test_ranks(c, folder):
    """Four ranks, one of them with a child, on one axis."""
    running = [subprocess.Popen(
        [c.programs / "record_program", "workers" if rank == 3 else "scopes",
         "1" if rank == 3 else "100", "100"], cwd=folder,
        stdout=subprocess.DEVNULL,
        env=environment(AXPROF_OUT=str(folder / "r-%p.axp"), RANK=str(rank),
                        AXPROF_RUN_ID="0123456789abcdef" * 2, **NO_LEAKS))
        for rank in range(4)]
    equal([p.wait(run_support.TIMEOUT_S) for p in running], [0] * 4, "status")
    files = sorted(folder.glob("r-*.axp"))
    equal(len(files), 5, files)
    data = report(c, folder, *files)
    equal(sorted(t["rank"] for t in data["threads"]), [0, 1, 2, 3, 3], "ranks")
    equal(calls(data, "inner"), 500, "calls")
    equal([w["code"] for w in data["warnings"]
           if "run" in w["code"] or "clock" in w["code"]], [], "warnings")
    # one axis: from the first to the last it is what the run took
    begins = [t["begin"] for t in data["threads"]]
    ends = [t["end"] for t in data["threads"]]
    check(min(begins) >= 0, begins)
    equal(max(ends) - min(begins), data["run"]["duration_ns"], "duration")
    check(len({t["begin"] for t in data["threads"]}) > 1, data["threads"])
    done = run([c.axprof, "info", *files], folder)
    equal(done.status, 0, "info")
    check(done.out.count(b"rank") >= 4, done.out)


def test_first_thread(c, folder):
    """It is there though others alone have recorded, for as long as the run."""
    out = folder / "threads.axp"
    equal(record(c, folder, out, "threads", "1000").status, 0, "status")
    data = report(c, folder, out)
    own = data["run"]["process_id"]
    first = [t for t in data["threads"] if t["id"] == own]
    equal((len(first), len(data["threads"])), (1, 3), "threads")
    equal(first[0]["events"], 0, "events")
    check(first[0]["cpu_ns"] > 0, first)
    lived = first[0]["end"] - first[0]["begin"]
    check(lived >= 0.9 * data["run"]["duration_ns"], lived, data["run"])
    equal(run([c.axprof, "check", out], folder).status, 0, "check")


def test_life_holds_what_ran(c, folder):
    """Who works on after the last event lives until then, and in everything that
    is written no thread lived shorter than it ran."""
    file = folder / "x.axp"
    equal(record(c, folder, file, "busy", "10", "200").status, 0, "status")
    data = report(c, folder, file)
    thread, = data["threads"]
    lived = thread["end"] - thread["begin"]
    check(thread["cpu_ns"] > 100e6, "it worked", thread)
    check(lived >= thread["cpu_ns"], "lived", thread)
    equal(data["run"]["duration_ns"], lived, "the run")
    text = run([c.axprof, "report", file], folder).out.decode()
    row, = re.findall(r"^record_program +\d+ +\S+ \S+ +(\S+) (\S+) +(\S+) (\S+) ",
                      text, re.M)
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    check(float(row[0]) * unit[row[1]] >= float(row[2]) * unit[row[3]], row)


def test_file_by_code(c, folder):
    """axp_global_open: what the macros record, in a file that the program
    names; the environment comes first."""
    program = c.programs / "record_program"
    done = run([program, "open", "100"], folder, env=environment())
    equal(done.status, 0, "by code")
    files = sorted(p.name for p in folder.iterdir())
    equal(len(files), 2, files)
    check(files[1] == "open.axp" and files[0].startswith("open-"), files)
    for name in files:
        equal(calls(report(c, folder, folder / name), "outer"), 100, name)
    equal(run([program, "open", "100"], folder, env=environment()).status, 2,
          "a file that is there")
    for name in files:
        (folder / name).unlink()
    equal(record(c, folder, folder / "env.axp", "open", "100").status, 0,
          "with AXPROF_OUT")
    check(not (folder / "open.axp").exists(), "AXPROF_OUT was overruled")
    equal(calls(report(c, folder, folder / "env.axp"), "outer"), 100, "env")
    equal(run([program, "late"], folder, env=environment()).status, 0, "late")


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
