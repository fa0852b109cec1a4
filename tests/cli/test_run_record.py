#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `axprof run` records: programs with and without libaxprof_rt, several
processes, what is left when something is killed.

  test_run_record.py AXPROF PROGRAMS [test ...]
"""
import json
import os
import pathlib
import re
import resource
import signal
import sys

import run_support
from run_support import (calls, check, counters, end, environment, equal,
                         has_samples, numbers_of, ops, profile, run, spools, start, wait_for,
                         wait_for_files, warnings)


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="record_program"):
        return self.programs / name


# ---- programs --------------------------------------------------------------

def test_program_with_rt(c, folder):
    """Shared or static: every scope, without any code for it."""
    for name in ("record_program", "record_program_static_rt"):
        data, files = profile(c, folder, c.program(name), "scopes", 100000)
        equal(calls(data, "outer"), 100000, name)
        equal(calls(data, "inner"), 100000, name)
        equal(data["run"]["cut_events"], 0, "cut")
        check(len(files) == 1 and
              re.fullmatch(name + r"-\d+\.axp", files[0]), files)
        check("recovered" not in warnings(data), data["warnings"])
        for file in files:
            (folder / file).unlink()


def test_own_cost(c, folder):
    """What recording costs is measured in the program, by itself and under
    axprof run alike; joining with what others measured changes nothing."""
    data, files = profile(c, folder, c.program(), "scopes", 1000)
    alone = []
    for file in files:
        done = run([c.axprof, "report", "-f", "json", file], folder)
        equal(done.status, 0, done.err)
        part = json.loads(done.out)
        if calls(part, "inner"):
            alone.append(part["machine"]["own_cost_ns"])
    equal(len(alone), 1, files)
    check(alone[0] > 0, alone)
    equal(data["machine"]["own_cost_ns"], alone[0], "own cost")
    equal(ops(data)["outer"]["self_ns"],
          ops(json.loads(run([c.axprof, "report", "-f", "json", *files],
                             folder).out))["outer"]["self_ns"], "self time")


def test_own_cost_of_an_early_event(c, folder):
    """A library begins a thread before ours is made ready, and so before the
    cost is known."""
    data, _ = profile(c, folder, c.program("record_program_early"), "scopes",
                      1000)
    equal(calls(data, "inner"), 1000, "calls")
    check(data["machine"]["own_cost_ns"] > 0, data["machine"])


def test_hooks_are_no_finding(c, folder):
    """What hooks take where they record nothing is not the function's that calls
    the functions: samples know."""
    data, _ = profile(c, folder, c.program("muted_program"), 6000000)
    sampled = {f["name"]: f["self_ns"] for f in data["functions"]}
    if not sampled:
        print("        not asked: nothing was sampled here")
        return
    ours = sampled.pop("[axprof]", 0)
    check(ours > 0.1 * sum(sampled.values()), "hooks cost nothing", sampled)
    doubt = sum(op["doubt_ns"] for op in data["ops"])
    check(doubt > 0.8 * ours, doubt, "of", ours, sampled)


def test_muted_functions(c, folder):
    """Short functions that are called very often are muted and counted;
    --functions all records every call."""
    def run_with(*options, more=()):
        data, files = profile(c, folder, c.program("muted_program"), 40000,
                              *more, options=options)
        for file in files:
            (folder / file).unlink()
        muted = [w for w in data["warnings"] if w["code"] == "muted_calls"]
        return calls(data, "tiny"), calls(data, "deep"), muted, data
    tiny, deep, muted, _ = run_with("--functions", "all")
    equal((tiny, deep, muted), (80000, 80000, []), "all")
    tiny, deep, muted, data = run_with()
    equal(tiny + deep + sum(w["count"] for w in muted), 160000, "most")
    for name in ("tiny", "deep"):
        if calls(data, name) < 80000:
            equal(counters(data)[name]["last"] + calls(data, name), 80000,
                  name)
    tiny, deep, muted, data = run_with(more=["_exit"])
    equal(tiny + deep + sum(w["count"] for w in muted), 320000, "by _exit")


def test_cleared_environment(c, folder):
    """What run asked for is read before the program can clear it: there is no
    thread of ours in it, and one drain."""
    for _ in range(5):
        data, files = profile(c, folder, c.program(), "clear", 100000)
        equal(calls(data, "outer"), 100000, "outer")
        equal(data["run"]["cut_events"], 0, "cut")
        equal([t["name"] for t in data["threads"]
               if "axprof" in t["name"]], [], "threads")
        for file in files:
            (folder / file).unlink()


def test_recording_of_its_own(c, folder):
    """A profiler that the program makes for itself is none of ours."""
    data, files = profile(c, folder, c.program(), "own", 1000)
    equal(calls(data, "outer"), 1000, "outer")
    check("own.axp" in files, files)
    equal([t["name"] for t in data["threads"] if "axprof" in t["name"]], [],
          "threads")
    result = run([c.axprof, "report", "-f", "json", "own.axp"], folder,
                 env=environment())
    own = json.loads(result.out)
    equal(calls(own, "mine"), 1000, "its own recording")
    check("recovered" not in warnings(own), own["warnings"])
    result = run([c.axprof, "check", "own.axp"], folder, env=environment())
    equal(result.status, 0, result.err)


def test_report_again(c, folder):
    """The files give the same report as the run did."""
    data, files = profile(c, folder, c.program(), "scopes", 1000)
    again = run([c.axprof, "report", "-f", "json", *files], folder,
                env=environment())
    equal(again.status, 0, again.err)
    equal(json.loads(again.out), data, "the report again")


def test_untouched_program(c, folder):
    data, files = profile(c, folder, "sleep", "1.2")
    equal(len(files), 1, files)
    seen = counters(data)
    for name in ("process.count", "process.threads", "process.rss_bytes",
                 "process.pss_bytes", "process.swap_bytes",
                 "process.anon_bytes",
                 "process.cpu_cores", "process.minor_faults",
                 "process.major_faults"):
        check(name in seen, name, "is missing:", list(seen))
    equal(seen["process.threads"]["max"], 1, "threads")
    check(100000 < seen["process.rss_bytes"]["max"] < 100e6, "resident",
          seen["process.rss_bytes"])
    check(seen["process.pss_bytes"]["max"] <=
          seen["process.rss_bytes"]["max"] * 1.5, "proportional")
    equal(ops(data), {}, "operations")
    span = data["processes"][0]
    equal((span["name"], span["count"]), ("sleep", 1), "processes")
    check(1.1e9 < span["total_ns"] < 30e9, "run time", span)


def test_text_of_an_untouched_program(c, folder):
    """Its own processes and threads are counted, ours is not."""
    result = run([c.axprof, "run", "--no-file", "--", "sh", "-c",
                  "sleep 0.8; sleep 0.8"], folder, env=environment())
    text = result.err.decode()
    check("seen from outside alone" in text, text)
    check(re.search(r"^sleep +2 ", text, re.M), text)
    check("axprof doctor sh" in text, text)
    result = run([c.axprof, "run", "--no-file", "--", c.program(), "scopes",
                  "10"], folder, env=environment())
    check(b"\n1 thread, 2 operations, 20 calls\n" in result.err, result.err)


def test_short_program(c, folder):
    """Over before it can be looked at twice: what the kernel tells."""
    data, _ = profile(c, folder, "true")
    seen = counters(data)
    equal(seen["process.count"]["min"], 1, "processes")
    check(100000 < seen["process.rss_bytes"]["max"] < 100e6, "resident",
          seen["process.rss_bytes"])
    check(seen["process.minor_faults"]["max"] > 10, "faults")


def test_memory_over_time(c, folder):
    """A program that grows is seen growing."""
    script = "b = []\n" \
             "import time\n" \
             "time.sleep(0.5)\n" \
             "for i in range(20):\n" \
             "    b.append(bytearray(4 << 20)); time.sleep(0.02)\n" \
             "time.sleep(0.5)\n"
    data, _ = profile(c, folder, "python3", "-c", script)
    rss = counters(data)["process.rss_bytes"]
    check(rss["n"] >= 5, "readings", rss)
    check(rss["max"] - rss["min"] > 60 << 20, "growth", rss)


def test_short_peak(c, folder):
    """Memory that was there between two looks: the kernel knows of it."""
    script = "import resource, time\n" \
             "time.sleep(0.6)\n" \
             "b = b'x' * (200 << 20)\n" \
             "del b\n" \
             "time.sleep(0.3)\n" \
             "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    done = run([c.axprof, "run", "-o", "run.axp", "--", "python3", "-c", script],
               folder, env=environment())
    equal(done.status, 0, done.err)
    told = float(re.search(rb"resident: ([0-9.]+) MB at most", done.err)[1])
    truth = int(done.out) / 1024
    check(0.95 * truth - 8 < told <= 1.01 * truth, told, "of", truth)


@run_support.beside_others
def test_our_tables(c, folder):
    """What follows 131 MB in blocks of 2000 bytes is large, and not theirs."""
    script = "import re, time\n" \
             "kept = [bytes(2000) for i in range(65536)]\n" \
             "time.sleep(1.3)\n" \
             "text = open('/proc/self/status').read()\n" \
             "for of in 'VmRSS', 'RssAnon':\n" \
             "    print(re.search(of + r':\\s+(\\d+)', text)[1])\n"
    alone = run(["python3", "-c", script], folder)
    resident, anonymous = (int(n) << 10 for n in alone.out.split())
    data, _ = profile(c, folder, "python3", "-c", script)
    seen = counters(data)
    for name, truth, most in (("process.rss_bytes", resident, 8e6),
                              ("process.rss_peak_bytes", resident, 8e6),
                              ("process.anon_bytes", anonymous, 5e6)):
        check(abs(seen[name]["max"] - truth) < most, name, seen[name], truth)
    done = run([c.axprof, "run", "-o", "again.axp", "--", "python3", "-c",
                script], folder, env=environment())
    told = float(re.search(rb"largest process ([0-9.]+) MB", done.err)[1])
    check(abs(told * (1 << 20) - resident) < 8e6, told, "MB of", resident)


def test_functions(c, folder):
    """-finstrument-functions: names, files and lines, found afterwards."""
    data, _ = profile(c, folder, c.program("functions_program"))
    leaf = ops(data)["leaf"]
    equal(leaf["calls"], 100 + 3 + 1 + 4 * 2001, "leaf")
    check(leaf["file"].endswith("functions_program.c") and leaf["line"] > 10,
          leaf)
    equal(calls(data, "recurse"), 100 + 4 * 2001, "recurse")
    data, _ = profile(c, folder, c.program("functions_program"),
                      options=("--without", "functions"), status=1)
    equal(calls(data, "leaf"), 0, "without the adapter")


def test_waits(c, folder):
    data, _ = profile(c, folder, c.program("pthread_program"))
    for name in ("mutex wait", "condition wait", "semaphore wait"):
        equal(ops(data)[name]["category"], "sync", name)
    check("waiter" in {t["name"] for t in data["threads"]}, "thread's name")


# ---- processes -------------------------------------------------------------

def test_several_processes(c, folder):
    data, files = profile(c, folder, c.program(), "workers", 4, 1000)
    equal(calls(data, "outer"), 5000, "of all processes")
    equal(len(files), 1, "files")
    equal(len(numbers_of(folder / files[0])), 6 + has_samples(data),
          "five that record, and what the parent saw")
    pids = {t["process_id"] for t in data["threads"] if t["events"]}
    check(len(pids) >= 5, "processes", pids)


def test_shell_and_exec(c, folder):
    data, files = profile(c, folder, "sh", "-c",
                          f"{c.program()} scopes 10; "
                          f"exec {c.program()} scopes 20")
    equal(calls(data, "outer"), 30, "both")
    equal(data["run"]["title"], "sh", "the run's, of whatever processes")
    # both, the shell, and what was seen from outside
    equal(len(numbers_of(folder / files[0])), 4 + has_samples(data), files)


def test_many_that_record_nothing(c, folder):
    data, files = profile(c, folder, c.program("run_program"), "fork", 500)
    equal(len(files), 1, files)


def test_path_of_processes(c, folder):
    """Who is told that the path is an estimate is not told to do what he did."""
    script = "import os\n" \
             "for i in range(4):\n" \
             "    if os.fork() == 0:\n" \
             "        sum(range(3000000))\n" \
             "        os._exit(0)\n" \
             "for i in range(4):\n" \
             "    os.wait()\n"
    done = run([c.axprof, "run", "--no-file", "--", "python3", "-c", script],
               folder, env=environment())
    text = b" ".join(done.err.split())
    check(b"An estimate: no thread was seen to wait" in text, done.err)


def test_short_processes(c, folder):
    """All are seen, or how many were not is said."""
    n = 40
    data, _ = profile(c, folder, "sh", "-c",
                      f"i=0; while [ $i -lt {n} ]; do /bin/true; "
                      "i=$((i + 1)); done")
    seen = sum(process["count"] for process in data["processes"])
    missed = counters(data).get("process.missed", {"max": 0})["max"]
    # a shell that has forked and not become the other program yet counts as
    # what it was
    check(seen + missed >= n + 1, "seen", seen, "missed", missed)
    check(seen - n - 1 <= missed + seen <= 2 * n + 2, seen, missed)
    equal(len(list(folder.glob("*.parts"))), 0, "parts")


@run_support.beside_others
def test_loading_is_stated(c, folder):
    """Of many short programs most of the time may be ours, and is not theirs:
    said, within a third of what they take without, and no finding."""
    loop = ["sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; "
            "i=$((i + 1)); done"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(loop, folder, env=environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    plain = (after.ru_utime + after.ru_stime - before.ru_utime -
             before.ru_stime)
    data, _ = profile(c, folder, *loop)
    taken = sum(t["cpu_ns"] for t in data["threads"]) / 1e9
    if not taken:
        return  # the kernel tells nothing
    said = [w["text"] for w in data["warnings"] if w["code"] == "own_overhead"]
    check(said and "load axprof" in said[0], data["warnings"])
    stated = float(re.search(r"about ([\d.]+) %", said[0])[1]) / 100
    check(2 / 3 < stated / (1 - plain / taken) < 4 / 3, stated, plain, taken)
    equal([f["name"] for f in data["findings"]
           if f["severity"] in ("high", "critical")], [], "findings")


def test_ranks(c, folder):
    data, _ = profile(c, folder, c.program(), "scopes", 10,
                      env=environment(RANK="3", WORLD_SIZE="8"))
    check(3 in {t["rank"] for t in data["threads"]}, data["threads"])


# ---- deaths ----------------------------------------------------------------

def test_program_is_killed(c, folder):
    data, _ = profile(c, folder, c.program(), "kill", 50000,
                      status=-signal.SIGKILL)
    equal(calls(data, "outer"), 50000, "all that was recorded")


def read_files(c, folder):
    """The report of the run in the folder: its file, or its parts."""
    result = run([c.axprof, "report", "-f", "json"], folder,
                 env=environment())
    equal(result.status, 0, result.err)
    return json.loads(result.out)


def test_first_step(c, folder):
    """What the recorder takes for its own start is in no step: most of what the
    first event took. Of several runs, for others may take the processor."""
    seen = []
    for _ in range(5):
        report = folder / "report.json"
        done = run([c.axprof, "run", "-q", "--no-file", "--report", report,
                    "--without", "all", "--sample", "off", "--", c.program(),
                    "first"], folder, env=environment())
        equal(done.status, 0, done.err)
        step, event = map(int, done.out.split()[-2:])
        steps = json.loads(report.read_text())["steps"]
        equal(steps["count"], 1, "steps")
        seen.append((steps["max_ns"], step, event))
        if 0 < steps["max_ns"] < step - event // 2:
            return
    check(False, "the step as recorded, as measured, and its first event",
          seen)


def test_axprof_is_killed(c, folder):
    """The program goes on, and what it recorded after that is read too."""
    process = start(c, folder, c.program(), "serve", 800)
    try:
        wait_for_files(folder, 2)
        wait_for(lambda: len(spools(folder)) > 1, "its spool, and ours")
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.read()  # until the program, too, has closed it
        data = read_files(c, folder)
        equal(calls(data, "request"), 8000, "requests")
    finally:
        end(process)
        pack(c, folder)


def test_both_are_killed(c, folder):
    process = start(c, folder, c.program(), "serve", 60000)
    try:
        wait_for_files(folder, 2)
        wait_for(lambda: calls(read_files(c, folder), "request"), "request")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.read()
        data = read_files(c, folder)
        check(calls(data, "request") > 0, "requests")
        pack(c, folder)
        equal(spools(folder), [], "spools after packing")
        equal(calls(read_files(c, folder), "request"),
              calls(data, "request"), "after packing")
    finally:
        end(process)


def pack(c, folder):
    """Makes one file of what a killed run left."""
    for parts in list(folder.glob("*.axp.parts")):
        result = run([c.axprof, "pack", parts.with_suffix("")], folder,
                     env=environment())
        equal(result.status, 0, result.err)
        check(not parts.exists(), "parts are left")
    for file in folder.glob("*.axp"):
        result = run([c.axprof, "check", file], folder, env=environment())
        equal(result.status, 0, result.out + result.err)


def test_full_disk(c, folder):
    """Full from the start: all is in the report, nothing is kept. Full after a
    while: the program goes on, and its statistics are whole."""
    if os.geteuid() != 0:
        return
    report = folder / "report.json"
    command = ("run", "--report", report, "--", c.program(), "scopes", 2000000)
    for kilobytes, is_kept in ((64, False), (1200, True)):
        disk = run_support.small_disk(folder, kilobytes)
        if not disk:
            return
        try:
            result = run([c.axprof, *command], disk, env=environment())
            equal(result.status, 0, result.err)
            equal(b"was not kept: the disk" in result.err, not is_kept,
                  result.err)
            data = json.loads(report.read_text())
            equal(calls(data, "outer"), 2000000, "statistics")
        finally:
            for spool in spools(disk):
                spool.unlink()
            run_support.drop_disk(disk)


def test_full_disk_that_was_named(c, folder):
    """A file that --output puts there is no other; that there is none is said
    whatever was asked to be quiet."""
    if os.geteuid() != 0:
        return
    report = folder / "report.json"
    for options in ((), ("-q",)):
        disk = run_support.small_disk(folder, 64)
        if not disk:
            return
        full = disk / "full"
        try:
            full.write_bytes(bytes(64 << 10))
            result = run([c.axprof, "run", *options, "-o", disk / "x.axp",
                          "--report", report, "--", c.program(), "scopes", 1000],
                         folder, env=environment())
            equal(result.status, 0, result.err)
            lines = [line for line in result.err.decode().splitlines()
                     if "was not kept: the disk" in line]
            equal(len(lines), 1, result.err)
            equal(list(disk.iterdir()), [full], "left")
            data = json.loads(report.read_text())
            equal(calls(data, "outer"), 1000, "statistics")
        finally:
            run_support.drop_disk(disk)


def test_temporary_folder_on_a_full_disk(c, folder):
    """What keeps no recording goes elsewhere."""
    if os.geteuid() != 0:
        return
    disk = run_support.small_disk(folder, 64)
    if not disk:
        return
    report = folder / "report.json"
    try:
        (disk / "full").write_bytes(bytes(64 << 10))
        result = run([c.axprof, "run", "--no-file", "--report", report, "--",
                      c.program(), "scopes", 1000], folder,
                     env=environment(TMPDIR=str(disk)))
        equal(result.status, 0, result.err)
        equal(calls(json.loads(report.read_text()), "outer"), 1000, result.err)
    finally:
        run_support.drop_disk(disk)


def limit_files(nbytes):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))


def test_recording_that_could_not_be_made(c, folder):
    """That it is missing, and why, is in the file, and whoever reads it says so;
    the program is not said to have recorded nothing."""
    for options in ((), ("-q",)):
        result = run([c.axprof, "run", *options, "--sample", "off", "-o", "x.axp",
                      "--", c.program(), "scopes", 1000], folder,
                     env=environment(), preexec_fn=limit_files(1000 << 10))
        equal(result.status, 0, result.err)
        check(b"nothing in it records" not in result.err, result.err)
        equal(b"is not recorded: its file could not be made: File too large"
              in result.err, not options, result.err)
        for words in (("report",), ("report", "-f", "markdown"), ("info",),
                      ("check",)):
            done = run([c.axprof, *words, "x.axp"], folder, env=environment())
            equal(done.status, 0, words)
            text = " ".join(done.out.decode().split())
            check("process" in text and "could not make a file" in text, words,
                  text)
            check("(File too large)" in text, words, text)
            check("Mark what matters" not in text, words, text)
        data = json.loads(run([c.axprof, "report", "-f", "json", "x.axp"], folder,
                              env=environment()).out)
        told = [w for w in data["warnings"]
                if w["code"] == "unrecorded_processes"]
        equal([(w["count"], w["name"]) for w in told], [(1, "File too large")],
              data["warnings"])
        check("File too large" in data["verdict"], data["verdict"])
        check(counters(data)["process.count"]["max"] >= 1, data["counters"])
        (folder / "x.axp").unlink()


# ---- reports ---------------------------------------------------------------

def test_report_formats(c, folder):
    for name, words in (("r.txt", b"outer"), ("r.json", b'"schema"'),
                        ("r.md", b"outer")):
        result = run([c.axprof, "run", "--no-file", "--report", name, "--",
                      c.program(), "scopes", 10], folder, env=environment())
        equal(result.status, 0, "status")
        check(words in (folder / name).read_bytes(), name)
        check(b"outer" not in result.err, "the report is in the file alone")
    result = run([c.axprof, "run", "--no-file", "--", c.program(), "scopes",
                  10], folder, env=environment())
    check(b"outer" in result.err and b"\x1b" not in result.err, result.err)
    result = run([c.axprof, "run", "--no-file", "--report", "/dev/full", "--",
                  c.program("run_program"), "exit", 4], folder,
                 env=environment())
    equal(result.status, 4, "the program's status all the same")
    check(b"cannot write /dev/full" in result.err, result.err)


def test_markdown_counts_as_text_does(c, folder):
    """What was seen from outside is no operation of the program."""
    for program, counts in ((("record_program", "scopes", 10),
                             "1 thread, 2 operations"),
                            (("run_program", "exit", 0),
                             "seen from outside alone")):
        for name in ("r.txt", "r.md"):
            run([c.axprof, "run", "--no-file", "--report", name, "--without", "all",
                 "--", c.program(program[0]), *program[1:]], folder,
                env=environment())
            text = (folder / name).read_text()
            check(counts in text, name, text[:200])


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
