#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""One story: wall time, processes, threads, operations, calls and events of a
run are the same in every output; and no name that a program chooses changes
anything but its label.

  test_run_story.py AXPROF PROGRAMS [TEST …]
"""
import csv
import io
import json
import pathlib
import re
import sys

import run_support
from run_support import check, counters, environment, equal, ops, profile, run


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name):
        return self.programs / name


def output(c, folder, name, *words):
    """What a verb writes to a file of that name."""
    result = run([c.axprof, *words, "-o", name, *c.files], folder,
                 env=environment())
    equal(result.status, 0, result.err)
    return (folder / name).read_text()


def many(n, what):
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def duration(ns):
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= size:  # in whole numbers: a half of the last digit is up
            thousandths = (ns * 1000 + size // 2) // size
            return f"{thousandths // 1000}.{thousandths % 1000:03} {unit}"
    return f"{ns} ns"


def check_outputs(c, folder, data):
    run_info = data["run"]
    counts = [many(run_info["thread_count"], "thread"),
              many(run_info["operation_count"], "operation"),
              many(run_info["call_count"], "call")]
    if data["processes"] and not any(t["events"] for t in data["threads"]):
        counts = [many(run_info["thread_count"], "thread")
                  ][:run_info["thread_count"]] + ["seen from outside alone"]
    if run_info["process_count"] > 1:
        counts.insert(0, f"{run_info['process_count']} processes")
    wall = duration(run_info["duration_ns"])

    text = output(c, folder, "r.txt", "report")
    markdown = output(c, folder, "r.md", "report")
    for made in (text, markdown):
        for count in counts:
            plain = made.replace(",\n", ", ").replace("\n", " ")
            check(count in plain or count.replace(",", "") in plain,
                  count, "is not in", made[:400])
        check(wall in made, wall, "is not in", made[:300])

    page = output(c, folder, "r.html", "report")
    meta = json.loads(re.search(r'id="axp-meta">(.*?)</script>', page,
                                re.S).group(1))
    for key in ("duration_ns", "process_count", "thread_count",
                "operation_count", "call_count", "cut_events"):
        equal(meta["run"][key], run_info[key], f"{key} of the page")
    equal(meta["run"]["events"], run_info["event_count"], "events of the page")
    equal(len(meta["threads"]), run_info["thread_count"], "threads, page")
    names = meta["strings"]
    shown = sorted((names[n], k) for n, k in
                   zip(meta.get("ops", {}).get("name", []),
                       meta.get("ops", {}).get("calls", [])))
    equal(shown, sorted((o["name"], o["calls"]) for o in data["ops"]),
          "operations of the page")

    table = list(csv.DictReader(io.StringIO(
        output(c, folder, "r.csv", "export", "-f", "csv-ops"))))
    equal(sorted((row["name"].lstrip("'"), int(row["calls"]), row["self_ns"])
                 for row in table),
          sorted((o["name"], o["calls"], str(o["self_ns"]))
                 for o in data["ops"]), "operations of the table")
    events = json.loads(output(c, folder, "r.json", "export", "-f",
                               "json-events"))
    equal(len([e for e in events if not e.get("is_outside")]),
          run_info["event_count"], "events of the export")
    rows = list(csv.DictReader(io.StringIO(
        output(c, folder, "r.events.csv", "export", "-f", "csv-events"))))
    equal(len(rows), run_info["event_count"], "events of the table")
    if not run_info["cut_events"]:
        equal(sum(row["events"] for row in data["threads"] + data["tracks"]),
              run_info["event_count"], "events of threads and tracks")
    scope = json.loads(output(c, folder, "r.speedscope", "export", "-f",
                              "speedscope"))
    ours = "(seen from outside)"  # or the program's, which may use it
    equal(sum(p["name"].startswith(ours) for p in scope["profiles"]),
          sum(row["name"] == ours for row in data["threads"] + data["tracks"]),
          "profiles of who looked on")
    metrics = output(c, folder, "r.om", "export", "-f", "openmetrics")
    samples = [line.rsplit(" ", 1)[0] for line in metrics.splitlines()
               if not line.startswith("#")]
    equal(len(samples), len(set(samples)), "samples that are there once")


def check_report(data):
    run_info = data["run"]
    equal(run_info["thread_count"], len(data["threads"]), "threads")
    equal(run_info["operation_count"], len(data["ops"]), "operations")
    equal(run_info["call_count"], sum(o["calls"] for o in data["ops"]), "calls")
    pids = {t["process_id"] for t in data["threads"]}
    check(run_info["process_count"] >= len(pids), "processes",
          run_info["process_count"], "with threads", len(pids))
    wall = run_info["duration_ns"]
    for thread in data["threads"]:
        check(0 <= thread["end"] - thread["begin"] <= wall, "life", thread)
        check(thread["wait_ns"] <= thread["busy_ns"], "waiting", thread)
    by_name = {}
    for op in data["ops"] + data["functions"]:
        by_name[op["name"]] = by_name.get(op["name"], 0) + op["self_ns"]
    # what samples stand for is less than what threads ran and wanted to: of that a
    # function has its share
    wanted = sum(t["cpu_ns"] + t["ready_ns"] for t in data["threads"])
    sampled = sum(f["self_ns"] for f in data["functions"])
    beside = max(1, 1.01 * wanted / sampled) if sampled else 1
    functions = {f["name"] for f in data["functions"]}
    order = ["low", "medium", "high", "critical"]
    ranks = [order.index(f["severity"]) for f in data["findings"]]
    equal(ranks, sorted(ranks, reverse=True), "rank and severity")
    for finding in data["findings"]:
        blocked = finding["metrics"].get("blocked_ms", 0) * 1e6  # beside its own
        if not finding["saving_ns"]:
            continue
        if finding["name"] in ("(threads)", "(no scope)"):
            check(finding["saving_ns"] <= wall, finding)
            continue
        # what the kernel maps into each program is its caller's call
        own = by_name[finding["name"]] + by_name.get("[vdso]", 0)
        # what the kernel does for it, as well, or its library
        if (finding["type"] == "IoWait" or
                "with what it calls in its library" in finding["description"]):
            own = max(own, finding["metrics"].get("total_time_ms", 0) * 1e6)
        if finding["name"] in functions and finding["saving_is_bound"]:
            own *= beside
        check(finding["saving_ns"] <= own + blocked, finding)


def story(c, folder, *command, options=()):
    data, c.files = profile(c, folder, *command, options=options)
    check_report(data)
    check_outputs(c, folder, data)
    return data


def test_scopes(c, folder):
    data = story(c, folder, c.program("record_program"), "scopes", 1000)
    equal((data["run"]["process_count"], data["run"]["thread_count"],
           data["run"]["call_count"]), (1, 1, 2000), "counts")


def test_threads(c, folder):
    """Waits are no findings; each thread has its life, and the first is there."""
    data = story(c, folder, c.program("pthread_program"))
    pids = {t["process_id"] for t in data["threads"]}
    check(any(t["id"] in pids for t in data["threads"]), "no first thread")
    check(all(t["cpu_ns"] for t in data["threads"]), "CPU", data["threads"])
    waits = {o["name"] for o in data["ops"] if o["is_wait"]}
    check("mutex wait" in waits and "join wait" in waits, waits)
    found = {f["name"] for f in data["findings"]}
    equal(found & waits, set(), "findings about waits")


def test_short_threads(c, folder):
    """What starting them takes is no more than somebody had of it."""
    data = story(c, folder, c.program("record_program"), "starts", 400)
    found = [f for f in data["findings"] if "threads" in f["metrics"]]
    equal([f["name"] for f in found], ["start"], data["findings"])


def test_threads_that_record_nothing(c, folder):
    """Those of a program that records are there by what the kernel tells; what we
    start in it is not."""
    for options in ((), ("--without", "pthread")):
        data = story(c, folder, c.program("record_program"), "helpers", 3, 50,
                     options=options)
        for name in c.files:
            (folder / name).unlink()
        if not any(t["ready_ns"] is not None for t in data["threads"]):
            return  # the kernel tells nothing
        names = sorted(t["name"] for t in data["threads"])
        equal((names.count("helper"), len(names)), (3, 4), names)
        helped = [t for t in data["threads"] if t["name"] == "helper"]
        check(all(t["cpu_ns"] >= 45e6 for t in helped), helped)


def test_children(c, folder):
    data = story(c, folder, "sh", "-c",
                 f"{c.program('record_program')} scopes 10; sleep 0.5")
    by_kernel = {t["name"] for t in data["threads"] if not t["events"]}
    check(by_kernel <= {"sh", "sleep"}, "who recorded nothing", by_kernel)
    equal(data["run"]["thread_count"] - len(by_kernel), 1, "threads")
    check(data["run"]["process_count"] >= 2, "processes", data["run"])


def test_forked_children(c, folder):
    """Processes that go on as what they were have a thread each."""
    loop = "(i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done)"
    data = story(c, folder, "sh", "-c", f"{loop} & {loop} & wait",
                 options=("--without", "all"))
    if not data["threads"]:
        return  # the kernel tells nothing
    equal([t["name"] for t in data["threads"]], ["sh"] * 3, data["threads"])
    cpu = sorted(t["cpu_ns"] for t in data["threads"])
    check(cpu[1] > 2 * cpu[0], "two did all the work", cpu)


def test_threads_of_forked_children(c, folder):
    """Each is there once, however its process was made."""
    n = 6
    data = story(c, folder, c.program("record_program"), "families", n)
    if not any(t["ready_ns"] is not None for t in data["threads"]):
        return  # the kernel tells nothing
    begins, ids = {}, []
    for thread in data["threads"]:
        ids.append((thread["process_id"], thread["id"]))
        begins.setdefault(thread["process_id"], []).append(thread["begin"])
    equal(len(ids), len(set(ids)), data["threads"])
    equal((data["run"]["process_count"], len(ids)), (n + 1, 3 * n + 1), ids)
    first = sorted(min(begin) for begin in begins.values())
    for one, next_one in zip(first, first[1:]):
        check(next_one - one >= 15e6, "children began", first)


def test_seen_late(c, folder):
    """However late it was first looked at, no thread lives longer than the run;
    with what it allocates, and without."""
    loop = "(i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); done)"
    for i in range(24):
        (folder / str(i)).mkdir()
        story(c, folder / str(i), "sh", "-c", f"{loop} & {loop} & wait",
              options=("--without", "all") if i % 2 else ())


def test_short_children(c, folder):
    """Most are over before they could be looked at; the kernel, where it may
    tell, has told of their threads."""
    data = story(c, folder, "sh", "-c",
                 "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i + 1)); done")
    missed = counters(data).get("process.missed", {"max": 0, "is_outside": True})
    check(data["run"]["process_count"] + missed["max"] >= 41, data["run"])
    check(missed["is_outside"], "no counter of the program", missed)


def test_nothing_recorded(c, folder):
    data = story(c, folder, "sleep", "0.3")
    equal(data["ops"], [], "operations")
    for thread in data["threads"]:  # none where the kernel tells nothing
        equal((thread["name"], thread["events"]), ("sleep", 0), thread)
        check(thread["cpu_ns"] < 0.2e9, "it slept", thread)
    check(data["run"]["duration_ns"] > 0, "wall time", data["run"])


def test_texts_are_labels(c, folder):
    """Everything is where the program put it, whatever it is called."""
    data = story(c, folder, c.program("texts_program"))
    texts = {o["name"] for o in data["ops"]}
    equal(len(texts), 13, "texts")
    check(all(o["calls"] == 2 and not o["is_wait"] for o in data["ops"]),
          data["ops"])
    equal([p["name"] for p in data["processes"]], ["texts_program"],
          "processes")
    equal([t["name"] for t in data["threads"]], ["(seen from outside)"],
          "threads")
    equal({t["name"] for t in data["tracks"]}, texts, "tracks")
    equal({m["name"] for m in data["memory"]["names"]}, texts, "memory")
    equal({k["name"] for k in data["counters"] if not k["is_outside"]}, texts,
          "counters")
    check(all(k["last"] == 7 and k["n"] == 1 for k in data["counters"]
              if not k["is_outside"]), data["counters"])
    check(re.search(r"^process batch +2 ", (folder / "r.txt").read_text(),
                    re.M), "it is in the table")


def test_our_memory_is_not_the_programs(c, folder):
    """3 million scopes go through a spool of 100 MB and more; the program has
    5 to 6 MB, most of it code of libraries."""
    data, _ = profile(c, folder, c.program("record_program"), "scopes",
                      3000000, options=("--without", "all"))
    rss = counters(data)["process.rss_bytes"]
    check(rss["max"] < 8e6, rss)


def check_part_of_threads(data):
    """Whoever tells of it, a thread had no more than it lived."""
    for thread in data["threads"]:
        life = thread["end"] - thread["begin"]
        check((thread["cpu_ns"] or 0) + (thread["ready_ns"] or 0) <=
              1.05 * life + 1e5, "processor time of the part", thread, life)


def test_cost_that_does_not_fit(c, folder):
    """Where recording is said to take more than there is, shares are of no less
    than the times that they are of, and marked."""
    told = run([c.axprof, "run", "-q", "--no-file", "sh", "-c",
                "echo $AXPROF_COST"], folder, env=environment()).out.decode()
    rate, cost, *more = told.strip().split(":")
    for times in (1, 20):
        result = run([c.programs / "record_program", "mixed", 3000000, 20], folder,
                     env=environment(AXPROF_OUT=str(folder / f"{times}.axp"),
                                     AXPROF_COST=":".join(
                                         [rate, f"{int(cost, 16) * times:x}", *more])))
        equal(result.status, 0, result.err)
        data = json.loads(run([c.axprof, "report", "-f", "json",
                               f"{times}.axp"], folder, env=environment()).out)
        found = ops(data)
        shares = sum(op["time_share"] for op in found.values())
        check(shares < 1.001, times, "times the cost, shares", shares)
        if times > 1 and shares > 0.999:  # a starved thread's time has room
            check(found["long work"]["is_doubtful"], found["long work"])


def test_a_run_that_is_too_short(c, folder):
    """What the recorder touches for the first time is no finding."""
    seen = []
    for i in range(20):
        result = run([c.programs / "record_program", "scopes", 20], folder,
                     env=environment(AXPROF_OUT=str(folder / f"{i}.axp")))
        equal(result.status, 0, result.err)
        data = json.loads(run([c.axprof, "report", "-f", "json", f"{i}.axp"],
                              folder, env=environment()).out)
        if data["run"]["duration_ns"] < 3e5:
            seen.append(i)
            equal(data["findings"], [], "findings")
    check(seen, "none was that short")


def test_a_part(c, folder):
    """Shares are of the part that was recorded."""
    whole = story(c, folder, c.program("record_program"), "steps", 40)
    for name in c.files:
        (folder / name).unlink()
    data = story(c, folder, c.program("record_program"), "steps", 40,
                 options=("--steps", "10:20"))
    steps = data["steps"]
    equal(steps["count"], 10, "steps")
    wall = data["run"]["duration_ns"]
    check(wall <= 2 * steps["count"] * steps["max_ns"], "wall time", wall,
          steps)
    check(wall < whole["run"]["duration_ns"], "wall time", wall)
    check(sum(o["time_share"] for o in data["ops"]) > 0.5, data["ops"])
    check_part_of_threads(data)
    data, _ = profile(c, folder, c.program("record_program"), "steps", 4000,
                      options=("--steps", "10:20", "--sample", "off"))
    check_part_of_threads(data)


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
