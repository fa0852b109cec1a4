#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts of a run: what is in the timeline that was kept, what the statistics
cover, and that the report says so.

  test_run_window.py AXPROF PROGRAMS [test ...]

A timeline is kept by the chunk: at most CHUNK events of a thread more than was
asked for, on either side.
"""
import json
import os
import pathlib
import signal
import sys

import run_support
from run_support import (calls, check, end, environment, equal, has_samples, profile,
                         run, start, wait_for, wait_for_files, warnings)

CHUNK = 2039
SCOPES = 600  # "outer" in a step of record_program


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="record_program"):
        return self.programs / name


def timeline(c, folder, files):
    """Every event in the files, on the time axis of the run."""
    result = run([c.axprof, "export", "-f", "json-events", "-o", "events.json",
                  *files], folder, env=environment())
    equal(result.status, 0, result.err)
    events = json.loads((folder / "events.json").read_text())
    return [e for e in events if not e.get("is_outside")
            and e["type"] != "counter"]


def steps_of(events):
    """(begin, end) of each step that is there whole: from the mark of the one
    before it to its own."""
    marks = {e["value"]: e["time_ns"] for e in events if e["type"] == "step"}
    return [(marks[n - 1], marks[n]) for n in sorted(marks) if n - 1 in marks]


def count_between(events, name, begin, end_ns):
    return sum(e["name"] == name and e["type"] == "start" and
               begin <= e["time_ns"] <= end_ns for e in events)


def check_whole(data, n_steps):
    """Statistics of the whole run, and a word about the timeline."""
    equal(data["steps"]["count"], n_steps, "steps")
    equal(calls(data, "outer"), n_steps * SCOPES, "statistics")
    check("cut_timeline" in warnings(data), data["warnings"])
    check("window" not in warnings(data), data["warnings"])


# ---- what is kept ----------------------------------------------------------

def test_keep_steps(c, folder):
    data, files = profile(c, folder, c.program(), "steps", 100, 1, 0,
                          options=("--keep-steps", "10"))
    check_whole(data, 100)
    events = timeline(c, folder, files)
    equal(len(events) + data["run"]["cut_events"], 100 * (4 * SCOPES + 3),
          "kept and cut")
    outer = count_between(events, "outer", 0, 1e18)
    check(10 * SCOPES <= outer <= 10 * SCOPES + 2 * CHUNK / 4, outer,
          "scopes were kept")
    equal([e["value"] for e in events if e["type"] == "step"][-10:],
          list(range(90, 100)), "steps that were kept")


def test_keep_time(c, folder):
    data, files = profile(c, folder, c.program(), "serve", 1500,
                          options=("--keep", "700ms"))
    equal(calls(data, "request"), 15000, "statistics")
    check("cut_timeline" in warnings(data), data["warnings"])
    events = timeline(c, folder, files)
    equal(len(events) + data["run"]["cut_events"], 15000 * 202, "kept and cut")
    equal((events[-1]["name"], events[-1]["type"]), ("request", "end"),
          "the newest event")
    last = events[-1]["time_ns"]
    older = sum(e["time_ns"] < last - 700e6 for e in events)
    check(older <= CHUNK, older, "events that are older")
    check(len(events) > older, "nothing was kept")


def test_slow_steps(c, folder):
    """Every 12th step takes 300 ms, the others 10: or longer, on a busy
    machine, and may then be among the slow ones."""
    for trigger in ("step > 5x", "step>150ms"):
        data, files = profile(c, folder, c.program(), "steps", 36, 10, 12,
                              options=("--trigger", trigger))
        check_whole(data, 36)
        events = timeline(c, folder, files)
        slow = [(b, e) for b, e in steps_of(events) if e - b > 290e6]
        check(len(slow) >= 3, trigger, "kept", len(slow), "slow steps")
        for begin, end_ns in slow:
            equal(count_between(events, "outer", begin, end_ns), SCOPES,
                  "a slow step")
        late = [(b, e) for b, e in steps_of(events) if e - b > 30e6]
        outside = sum(all(not b <= e["time_ns"] <= e_ns for b, e_ns in late)
                      for e in events)
        check(outside <= len(late) * 2 * CHUNK, outside,
              "events outside of slow steps")
        for file in files:
            (folder / file).unlink()


# ---- what is recorded ------------------------------------------------------

def window_of(data):
    return [w["text"] for w in data["warnings"] if w["code"] == "window"]


def check_sound(c, folder, *files):
    """What is stored is what the timeline gives, as it was recorded and packed."""
    for file in (*files, None):
        if not file:
            done = run([c.axprof, "pack", "-o", "packed.axp", *files], folder,
                       env=environment())
            equal(done.status, 0, done.err)
        done = run([c.axprof, "check", file or "packed.axp"], folder,
                   env=environment())
        equal((done.status, done.err), (0, b""), done.out)
        check(b" fields compared, 0 differ" in done.out, done.out)


def test_steps(c, folder):
    data, files = profile(c, folder, c.program(), "steps", 30, 1, 0,
                          options=("--steps", "10:15"))
    equal(data["steps"]["count"], 5, "steps")
    equal(calls(data, "outer"), 5 * SCOPES, "scopes")
    equal(data["run"]["cut_events"], 0, "cut")
    check("trainer" in [t["name"] for t in data["threads"]],
          "a name that was given before:", data["threads"])
    events = timeline(c, folder, files)
    equal([e["value"] for e in events if e["type"] == "step"],
          list(range(10, 15)), "in the timeline")
    check(len(window_of(data)) == 1 and "steps 10 to 14;" in window_of(data)[0],
          data["warnings"])
    again = run([c.axprof, "report", *files], folder, env=environment())
    check(b"steps 10 to 14;" in b" ".join(again.out.split()), again.out)
    check_sound(c, folder, *files)


def test_steps_without_end(c, folder):
    data, files = profile(c, folder, c.program(), "steps", 30, 1, 0,
                          options=("--steps", "25:"))
    equal(data["steps"]["count"], 5, "steps")
    check("steps 25 on;" in window_of(data)[0], data["warnings"])
    check_sound(c, folder, *files)


def test_open_at_the_end(c, folder):
    """What is open when the part is over ends there, not when the program says:
    the rest of the run, of which nothing is recorded, is not its own time."""
    for option in ("--steps", "0:5"), ("--duration", "500ms"):
        data, files = profile(c, folder, c.program(), "whole", 250, 10,
                              options=option)
        equal(calls(data, "whole"), 1, "recorded")
        total = next(o["total_ns"] for o in data["ops"] if o["name"] == "whole")
        wall = data["run"]["duration_ns"]
        check(total <= wall < 2e9, option, total, "of", wall)
        last = max(e["time_ns"] for e in timeline(c, folder, files)
                   if e["type"] == "step")
        trainer = next(t for t in data["threads"] if t["name"] == "trainer")
        check(trainer["end"] - last < 1e9, option, "lived until", trainer["end"],
              "where the last step ended at", last)
        check_sound(c, folder, *files)
        for path in (*files, "packed.axp"):
            (folder / path).unlink()


def test_step_that_does_not_end(c, folder):
    """The part begins, and the program ends within its first step."""
    data, files = profile(c, folder, c.program(), "rest", 30, 1, 100,
                          options=("--steps", "30:"))
    equal((data["steps"]["count"], calls(data, "outer")), (0, 100), "recorded")
    check_sound(c, folder, *files)


def test_part_that_never_comes(c, folder):
    result = run([c.axprof, "run", "--no-file", "--steps", "50:60", "--",
                  c.program(), "steps", 3, 1, 0], folder, env=environment())
    equal(result.status, 0, "status")
    check(b"nothing was recorded in the part" in result.err, result.err)


def check_never(c, folder, data, files, part):
    """Nothing is told of what was not asked for, but that and what was."""
    equal((data["functions"], data["findings"], data["threads"], data["ops"]),
          ([], [], [], []), "what is told")
    equal(data["run"]["duration_ns"], 0, "duration")
    check(data["verdict"].startswith("Nothing was recorded: the part of the run "
                                     "that was asked for never came"), data)
    check("AXP_SCOPE" not in data["verdict"], data["verdict"])
    equal([w["count"] for w in data["warnings"]], [1], data["warnings"])
    check(part in window_of(data)[0], data["warnings"])
    for form in ("text", "markdown"):
        done = run([c.axprof, "report", "-f", form, *files], folder,
                   env=environment())
        check(b"the part that was asked for never came" in done.out and
              b"seen from outside alone" not in done.out, done.out)


def test_steps_that_never_come(c, folder):
    """Not of a program that marks fewer, nor of one that marks none."""
    for words in (("steps", 50, 1, 0), ("scopes", 1000)):
        data, files = profile(c, folder, c.program(), *words,
                              options=("--steps", "60:70", "-o", "x.axp"))
        check_never(c, folder, data, files, "steps 60 to 69;")
        packed = run([c.axprof, "pack", "-o", "y.axp", *files], folder,
                     env=environment())
        equal(packed.status, 0, packed.err)
        done = run([c.axprof, "report", "-f", "json", "y.axp"], folder,
                   env=environment())
        check_never(c, folder, json.loads(done.out), ["y.axp"],
                    "steps 60 to 69;")
        (folder / "x.axp").unlink()
        (folder / "y.axp").unlink()


def test_time_that_never_comes(c, folder):
    """What was seen of it before that time is not told as if it were of it."""
    data, files = profile(c, folder, c.program("sampled_program"), "shares", 300,
                      0, 77, options=("--delay", "20s"))
    check_never(c, folder, data, files, "from 20.000 s after its start on;")


def test_time(c, folder):
    """Of 3 s, one; when it ends is told to the program by axprof, which may
    be late on a busy machine, but not by a second."""
    data, files = profile(c, folder, c.program(), "serve", 3000,
                          options=("--delay", "0.8s", "--duration", "1s"))
    n = calls(data, "request")
    check(0 < n < 30000, n, "requests")
    events = timeline(c, folder, files)
    # The axis begins when axprof has started the program.
    check(events[0]["time_ns"] > 0.6e9, events[0])
    check(events[-1]["time_ns"] < 2.8e9, events[-1])
    equal(sum(e["name"] == "request" and e["type"] == "start"
              for e in events), n, "statistics and timeline")
    check(0.999e9 < data["run"]["duration_ns"] < 2e9, data["run"])
    check("from 800.000 ms to 1.800 s after" in window_of(data)[0],
          data["warnings"])


def check_second(c, data):
    """A part of one second of "shares": its first thread waits all through it,
    its second one works. Whoever records is told late that it is over, on a
    busy machine."""
    wall = data["run"]["duration_ns"]
    check(0.999e9 < wall < 1.5e9, wall, "is the part's length")
    for t in data["threads"]:
        lived = t["end"] - t["begin"]
        check(abs(lived - wall) < 2e6, t, "lived through a part of", wall)
        check((t["cpu_ns"] or 0) <= lived, t)
    cpu = sum(f["self_ns"] for f in data["functions"])
    check(cpu <= 1.05 * wall, cpu, "of processor time in", wall)
    path = {p["name"]: p["ns"] for p in data["critical_path"]["parts"]}
    worked = path.get("forty", 0) + path.get("sixty", 0)
    check(worked > 0.5 * min(cpu, wall), worked, "of work on the path:", path)


def test_processor_time(c, folder):
    """What a thread uses after the part is none of it: if nobody looked when that
    was over, nothing is said. It uses a second."""
    data, _ = profile(c, folder, c.program(), "busy", 100, 1000,
                      options=("--sample", "off", "--duration", "200ms"))
    for t in data["threads"]:
        check((t["cpu_ns"] or 0) <= 1.1 * data["run"]["duration_ns"], t)


def test_growth(c, folder):
    """Of memory, a step: counted from the first one that was recorded."""
    for n, options in (100, ()), (50, ("--steps", "50:")):
        data, files = profile(c, folder, c.program(), "fill", 100,
                              options=options)
        equal(data["steps"]["count"], n, "steps")
        named = {m["name"]: m for m in data["memory"]["names"]}["filled"]
        equal((named["growth_early"], named["growth_late"]), (65536, 65536),
              "a block a step")
        place = max(data["heap"]["places"], key=lambda p: p["current_bytes"])
        equal((place["growth_early"], place["growth_late"]), (65536, 65536),
              "what malloc gave")
        leaks = [x for x in data["memory"]["leaks"] if x["name"] == "filled"]
        equal([x["is_retained"] for x in leaks], [False], "leaks")
        for path in files:
            os.unlink(folder / path)


def test_edges(c, folder):
    """From edge to edge, whatever happened first and last between them."""
    data, files = profile(c, folder, c.program("sampled_program"), "shares",
                          2500, 1, 77,
                          options=("--delay", "0.7s", "--duration", "1s"))
    if not has_samples(data):
        return
    equal(len(data["threads"]), 2, data["threads"])
    check_second(c, data)
    result = run([c.axprof, "pack", "-o", "packed.axp", *files], folder,
                 env=environment())
    equal(result.status, 0, result.err)
    again = run([c.axprof, "report", "-f", "json", "packed.axp"], folder,
                env=environment())
    packed = json.loads(again.out)
    equal(packed["threads"], data["threads"], "threads of the packed one")
    check_second(c, packed)


def test_alone_at_last(c, folder):
    """Who had to share a processor before the part has it for itself in the
    part, where nobody told that it left: it ran, as its samples say."""
    one = f"taskset -c {min(os.sched_getaffinity(0))} " + \
        f"{c.program('sampled_program')} shares"
    data, _ = profile(c, folder, "sh", "-c", f"{one} 500 0 77 & {one} 1500 0 77; "
                      "wait", options=("--delay", "0.9s", "--duration", "50ms"))
    if not has_samples(data):
        return
    ran = sum(t["cpu_ns"] or 0 for t in data["threads"])
    seen = sum(f["self_ns"] for f in data["functions"])
    check(seen > 1e6 and ran > 0.7 * seen, ran, seen, data["threads"])


def test_step_under_way(c, folder):
    """A step that began before the part is none of it: each takes 10 ms."""
    data, files = profile(c, folder, c.program(), "steps", 100, 10, 0,
                          options=("--delay", "400ms"))
    check(0 < data["steps"]["count"] < 100, data["steps"])
    check(10e6 <= data["steps"]["min_ns"] and data["steps"]["max_ns"]
          < data["run"]["duration_ns"], data["steps"])
    marks = [e["value"] for e in timeline(c, folder, files)
             if e["type"] == "step"]
    equal(marks, list(range(data["steps"]["count"])), "marks")
    check_sound(c, folder, *files)


def test_delay(c, folder):
    data, _ = profile(c, folder, c.program(), "serve", 1000,
                      options=("--delay", "400ms"))
    check(0 < calls(data, "request") < 10000, calls(data, "request"))
    check("from 400.000 ms after its start on" in window_of(data)[0],
          data["warnings"])


def test_wrong_windows(c, folder):
    for options, words in (
            (("--keep", "soon"), "--keep wants a time"),
            (("--trigger", "memory > 3x"), "step > 3x"),
            (("--steps", "5"), "100:120"),
            (("--steps", "9:5"), "100:120"),
            (("--delay", "1s", "--steps", "1:2"), "do not go together"),
            (("--keep", "1s", "--keep-steps", "3"), "do not go together")):
        result = run([c.axprof, "run", *options, "--", "true"], folder,
                     env=environment())
        equal(result.status, 125, options)
        check(words in result.err.decode(), options, result.err)


# ---- what there is so far --------------------------------------------------

def requests(c, folder):
    """Those that have been recorded so far."""
    result = run([c.axprof, "report", "-f", "json", *folder.glob("*.axp")],
                 folder, env=environment())
    equal(result.status, 0, result.err)
    return calls(json.loads(result.out), "request")


def test_report_while_it_runs(c, folder):
    """SIGUSR1: a report of what there is, and the program goes on."""
    report = folder / "report.json"
    process = start(c, folder, c.program(), "serve", 1500,
                    options=("-q", "--report", report))
    try:
        wait_for_files(folder, 2)
        wait_for(lambda: requests(c, folder), "request")
        os.kill(process.pid, signal.SIGUSR1)
        wait_for(report.exists, "report")
        so_far = json.loads(report.read_text())
        check(calls(so_far, "request") > 0, "requests so far")
        check("still_recording" in warnings(so_far) or
              calls(so_far, "request") == 15000, so_far["warnings"])
        process.communicate(timeout=60)
        equal(process.returncode, 0, "status")
        data = json.loads(report.read_text())
        equal(calls(data, "request"), 15000, "requests in all")
        check("still_recording" not in warnings(data), data["warnings"])
    finally:
        end(process)


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
