# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sampling: programs whose shares are known, in known functions, however they
were built; beside perf; and where the kernel gives no samples.

  test_run_sample.py AXPROF PROGRAMS [test ...]
"""
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import run_support
from protobuf_text import decode, one
from run_support import (check, end, environment, equal, profile, run, start,
                         wait_for_files)


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="sampled_program"):
        return self.programs / name


def functions(data):
    return {f["name"]: f for f in data["functions"]}


def near(got, expected, points, *what):
    check(abs(got - expected) <= points, *what, "got", round(got, 4),
          "expected", expected)


def points(data, least=0.02):
    """What a share may be off by: so much, or, of few samples (a busy machine),
    five standard deviations."""
    n = max([f["samples"] for f in data["functions"]] or [1])
    return max(least, 5 * math.sqrt(0.25 / n))


def paths(data):
    """Self time by path, names from the outermost."""
    tree, found = data["tree"], {}
    names = [()] * len(tree)
    for i, node in enumerate(tree[1:], 1):
        names[i] = names[node["parent"]] + (node["name"],)
        if node["is_sampled"]:
            found[names[i]] = found.get(names[i], 0) + node["self_ns"]
    return found


def sampled_ns(data):
    return sum(f["self_ns"] for f in data["functions"])


def share_below(data, *names):
    """The part of all samples whose path ends like that."""
    return sum(ns for path, ns in paths(data).items()
               if path[-len(names):] == names) / sampled_ns(data)


def assert_shares(data):
    """40 to 60; hardly anything else; and who called them."""
    f = functions(data)
    both = f["forty"]["time_share"] + f["sixty"]["time_share"]
    near(f["forty"]["time_share"] / both, 0.4, points(data), "forty")
    check(both > 0.85, "others", both)
    for name in ("forty", "sixty"):
        near(share_below(data, "middle", name), f[name]["time_share"], 0.03,
             "middle calls", name)


@run_support.beside_others
def test_shares(c, folder):
    """Two threads; as much time as they had; where, and how sure that is."""
    data, _ = profile(c, folder, c.program(), "shares", 1500, 2)
    assert_shares(data)
    f = functions(data)
    check(f["forty"]["file"].endswith("sampled_program.c"), f["forty"])
    check(0 < f["forty"]["share_error"] < 0.1, f["forty"])
    cpu = sum(t["cpu_ns"] or 0 for t in data["threads"])
    near(sampled_ns(data) / cpu, 1, 0.05, "of", cpu, "ns")
    slow = [x for x in data["findings"] if x["type"] == "SlowOperation"]
    equal([x["name"] for x in slow], ["sixty", "forty"], "findings")
    check("samples" in slow[0]["description"], slow[0])


def test_recurs(c, folder):
    """What repeats every 77 us is not met at the same place each time."""
    data, _ = profile(c, folder, c.program(), "shares", 3000, 0, 77)
    assert_shares(data)


def test_builds(c, folder):
    """With and without frame pointers, at a fixed address, static."""
    for name in ("sampled_program_frames", "sampled_program_no_frames",
                 "sampled_program_no_pie", "sampled_program_static"):
        if not c.program(name).exists():
            continue
        data, _ = profile(c, folder, c.program(name), "shares", 800)
        assert_shares(data)


def test_deep(c, folder):
    """20 calls of one function, counted once, below one another."""
    for name in ("sampled_program_frames", "sampled_program_no_frames"):
        data, _ = profile(c, folder, c.program(name), "deep", 800)
        f = functions(data)
        assert_shares(data)
        near(f["deep"]["total_ns"] / sampled_ns(data), 1, 0.15, "deep")
        near(share_below(data, *["deep"] * 21, "middle", "sixty"),
             f["sixty"]["time_share"], 0.03, name)
        equal(share_below(data, *["deep"] * 22, "middle", "sixty"), 0, name)


def test_deeper_later(c, folder):
    """Of a stack that was small so far little is copied; where it grows, more is
    soon (200 ms): 2 KB and 10 KB of frames, whole up to main. Before that they
    are cut, and who calls is not made up."""
    for calls in (4, 20):
        data, _ = profile(c, folder, c.program("sampled_program_no_frames"),
                          "tower", 2400, calls)
        tower = ["tower"] * (calls + 1) + ["middle"]
        below = {path: ns for path, ns in paths(data).items()
                 if "tower" in path}
        whole = sum(ns for path, ns in below.items() if "main" in path and
                    list(path[:-1])[-len(tower):] == tower)
        check(sum(below.values()) > 0.3 * sampled_ns(data), "tower", calls)
        check(whole > 0.75 * sum(below.values()), "whole", whole, "of", below)
        # one in a thousand is in a prologue, of which some tables say nothing
        wrong = {path: ns for path, ns in below.items() if path[0] != "tower"
                 and path[path.index("tower") - 1] != "main"}
        check(sum(wrong.values()) < 0.01 * sum(below.values()), "made up",
              wrong)


def test_few(c, folder):
    """One sample says nothing about a program."""
    data, _ = profile(c, folder, "/bin/true")
    equal(data["findings"], [], "findings")
    done = run([c.axprof, "run", "--no-file", "/bin/true"], folder,
               env=environment())
    check(b"No time could be judged" in done.err or
          b"Nothing could be judged" in done.err, done.err)


def test_waits(c, folder):
    """A run that hardly does anything but wait: the verdict says so."""
    done = run_support.run([c.axprof, "run", "--no-file", "--", "sleep", "2"],
                           folder, env=environment())
    equal(done.status, 0, done.err)
    check(b"the rest of the run is waiting" in done.err.replace(b"\n", b" "),
          done.err)


def test_only_thread(c, folder):
    """A program of one thread that records nothing has that thread."""
    data, _ = profile(c, folder, c.program(), "deep", 300)
    equal([(t["name"], t["events"]) for t in data["threads"]],
          [("sampled_program", 0)], "threads")
    thread = data["threads"][0]
    near(sampled_ns(data) / thread["cpu_ns"], 1, 0.15, thread)


def test_late_first_event(c, folder):
    """A thread lives before it records anything, and its time is its time."""
    for i in range(5):  # one that had no processor may be looked at late
        (folder / str(i)).mkdir()
        data, _ = profile(c, folder / str(i), c.program(), "late", 300)
        thread, = data["threads"]
        if (thread["ready_ns"] or 0) < 10e6:
            break
    check(thread["end"] - thread["begin"] > 290e6, "lived", thread)
    near(sampled_ns(data) / thread["cpu_ns"], 1, 0.15, thread)


def test_one_thread_is_no_estimate(c, folder):
    """What the recorder does beside a program is no thread of it that others may
    wait for; a sample may meet it before it can say what it is."""
    n_estimates, n = 0, 8
    for i in range(n):
        done = run([c.axprof, "run", "-q", "-o", f"{i}.axp", c.program(), "deep",
                    100], folder, env=environment())
        equal(done.status, 0, done.err)
        done = run([c.axprof, "whatif", f"{i}.axp"], folder, env=environment())
        n_estimates += b"estimate" in done.out
    check(n_estimates <= n // 2, n_estimates, "estimates")


def test_whatif_of_who_only_calls(c, folder):
    """Its time is that of others: nobody is asked whether the same was meant."""
    data, files = profile(c, folder, c.program(), "deep", 300)
    only, = [f for f in data["functions"] if f["name"] == "main"]
    equal(only["self_ns"], 0, only)
    for name, said in (("main", b'"main" has no time of its own'),
                       ("mian", b'no operation "mian" is in the timeline')):
        done = run([c.axprof, "whatif", "--remove", name, *files], folder,
                   env=environment())
        equal(done.status, 2, done.err)
        check(said in done.err and b'mean "main"' not in done.err, done.err)


def test_tail_call(c, folder):
    """Who was jumped to is found below who is left to return to."""
    data, _ = profile(c, folder, c.program("sampled_program_no_frames"), "tail",
                      800)
    near(functions(data)["last"]["time_share"], 1, 0.15, "last")
    near(share_below(data, "main", "last") +
         share_below(data, "jumps", "last"), 1, 0.15, "its caller")


def test_closed_library(c, folder):
    library = next(c.programs.glob("libsampled_library*"))
    data, _ = profile(c, folder, c.program(), "closed", 1200, library)
    near(functions(data)["spin_in_library"]["time_share"], 0.5,
         points(data, 0.08))


def test_link(c, folder):
    """A kernel without tables that its library calls by way of a link."""
    library = next(c.programs.glob("libsampled_library*"))
    data, _ = profile(c, folder, c.program(), "linked", 800, library)
    check(functions(data)["library_kernel"]["time_share"] > 0.85, "others")
    near(share_below(data, "spin_by_link", "library_kernel"), 1, 0.06, "caller")


def test_made_at_run_time(c, folder):
    """Code without a file, by the names that a program writes for perf."""
    data, _ = profile(c, folder, c.program(), "made", 1500)
    f = functions(data)
    near(f["JS:forty a b.js:1"]["time_share"], 0.4, points(data), "forty")
    near(f["JS:sixty a b.js:2"]["time_share"], 0.6, points(data), "sixty")
    check("gone" not in f, "what was there before")


def test_without_tables(c, folder):
    """Code in assembly that says nothing of its frame: who called it, directly
    and by a pointer, beside what earlier calls left on the stack."""
    for name in ("sampled_program_no_frames", "sampled_program_frames"):
        data, _ = profile(c, folder, c.program(name), "assembly", 1200)
        check(functions(data)["without_tables"]["time_share"] > 0.85, "others")
        for caller in ("by_call", "by_pointer"):
            near(share_below(data, caller, "without_tables"), 0.5,
                 0.06 + points(data), caller, "in", name)


@run_support.beside_others
def test_wide_without_tables(c, folder):
    """The same with a large block on its stack, as kernels of BLAS have, as soon as
    the command has had a processor to see that more is to be copied."""
    for name in ("sampled_program_no_frames", "sampled_program_frames"):
        data, _ = profile(c, folder, c.program(name), "wide", 800)
        check(functions(data)["wide_without_tables"]["time_share"] > 0.85,
              "others")
        near(share_below(data, "by_wide", "wide_without_tables"), 1, 0.06,
             "by_wide", "in", name)


def test_stripped(c, folder):
    """Functions without names are told apart, and called by where they are."""
    data, _ = profile(c, folder, c.program("sampled_program_stripped"),
                      "shares", 1200)
    own = sorted((f for f in data["functions"]
                  if f["name"].startswith("sampled_program_stripped+0x")),
                 key=lambda f: -f["time_share"])
    near(own[0]["time_share"], 0.6, points(data, 0.08), own[:3])
    near(own[1]["time_share"], 0.4, points(data, 0.08), own[:3])


def test_debug_file(c, folder):
    """Its lines are in a file beside it; another that has its name is not it."""
    program, debug = folder / "stripped", folder / "lines.debug"
    for command in (["objcopy", "--only-keep-debug", c.program(), debug],
                    ["objcopy", "--strip-debug", c.program(), program],
                    ["objcopy", f"--add-gnu-debuglink={debug}", program]):
        equal(run(command, folder).status, 0, command)
    data, _ = profile(c, folder, program, "shares", 300)
    check(functions(data)["sixty"]["file"].endswith("sampled_program.c"), data)
    (folder / ".debug").mkdir()
    debug.rename(folder / ".debug" / debug.name)
    debug.write_bytes(b"not it")
    data, _ = profile(c, folder, program, "shares", 300)
    check(functions(data)["sixty"]["file"].endswith("sampled_program.c"), data)
    (folder / ".debug" / debug.name).unlink()
    data, _ = profile(c, folder, program, "shares", 300)
    equal(functions(data)["sixty"]["file"], None, "lines of another file")


def test_network(c, folder):
    """Nobody is asked for debug information that is not here."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        asked = f"http://127.0.0.1:{server.getsockname()[1]}"
        profile(c, folder, c.program("sampled_program_stripped"), "shares", 300,
                env=environment(DEBUGINFOD_URLS=asked, DEBUGINFOD_TIMEOUT="1",
                                HOME=str(folder)))
        try:
            server.accept()
        except TimeoutError:
            return
        raise run_support.Failure("a server was asked")


def test_libraries_in_the_folder(c, folder):
    """Where it is run is not where its libraries are."""
    for name in ("libdw.so.1", "libelf.so.1", "libm.so.6", "libzstd.so.1",
                 "libz.so.1", "libaxprof.so.0", "libaxprof_rt.so.0"):
        (folder / name).write_bytes(b"not a library")
    data, _ = profile(c, folder, c.program(), "shares", 300)
    check(functions(data)["sixty"]["file"].endswith("sampled_program.c"), data)


def assert_named(data):
    check("forty" in functions(data), "names", list(functions(data)))
    assert_shares(data)
    for name in ("forty", "sixty"):
        f = functions(data)[name]
        check(f["file"].endswith("sampled_program.c") and f["line"] > 0, f)


def test_without_build_id(c, folder):
    """Names, files and lines are there although no linker made an id."""
    for name in ("sampled_program_no_id", "sampled_program_no_id_no_pie"):
        data, _ = profile(c, folder, c.program(name), "shares", 800)
        assert_named(data)


def test_without_build_id_rebuilt(c, folder):
    """As one with a build id: what lies there now gives no names, and that is
    said, unless it is shown where the old one is."""
    program, kept = folder / "program", folder / "kept"
    kept.mkdir()
    shutil.copy(c.program("sampled_program_no_id"), program)
    shutil.copy(c.program("sampled_program_no_id"), kept / "program")
    done = run([c.axprof, "run", "-q", "-o", "run.axp", "--", program,
                "shares", 600], folder, env=environment())
    equal(done.status, 0, done.err)

    def report(*options):
        done = run([c.axprof, "report", "-f", "json", *options, "run.axp"],
                   folder, env=environment())
        data = json.loads(done.out)
        return data, [(w["name"], w["count"]) for w in data["warnings"]
                      if w["code"] == "changed_files"]
    data, changed = report()
    assert_named(data)
    equal(changed, [], "as it was")
    for name in ("sampled_program_no_id_no_pie", "sampled_program"):
        program.unlink()
        shutil.copy(c.program(name), program)
        data, changed = report()
        equal(changed, [(str(program), 1)], "another")
        check(not {"forty", "sixty", "main"} & functions(data).keys(),
              "names of another", list(functions(data)))
    data, changed = report("--symbols", kept)
    assert_named(data)
    equal(changed, [], "found elsewhere")


def test_scopes(c, folder):
    """A sample is below the scope that was open on its thread."""
    data, _ = profile(c, folder, c.program("sampled_program_scopes"), "scopes",
                      1500)
    all_ns = sampled_ns(data)
    in_scope = {path[0]: 0 for path in paths(data)}
    for path, ns in paths(data).items():
        in_scope[path[0]] += ns / all_ns
        if path[-1] in ("forty", "sixty"):
            equal(path[0], {"forty": "alpha", "sixty": "beta"}[path[-1]], path)
    near(in_scope["alpha"], 0.4, points(data, 0.08), "alpha")
    near(in_scope["beta"], 0.6, points(data, 0.08), "beta")
    ops = {op["name"]: op for op in data["ops"]}
    check(in_scope["alpha"] * all_ns < 1.1 * ops["alpha"]["self_ns"],
          "more than the scope's own time")
    # which of them takes longer is the machine's to say, if it is busy
    longer = max(("alpha", "beta"), key=lambda name: ops[name]["self_ns"])
    equal([x["name"] for x in data["findings"]
           if x["type"] == "SlowOperation"][:1], [longer], "said once")


def test_children(c, folder):
    data, _ = profile(c, folder, c.program(), "fork", 20, 60)
    assert_shares(data)
    check(0.2 < sampled_ns(data) / 1e9 < 20 * 0.06 + 0.3, sampled_ns(data))
    # all of them, however short, and no longer than all of them took
    process, = data["processes"]
    equal(process["count"], 21, data["processes"])
    check(process["total_ns"] <= 2 * data["run"]["duration_ns"], process)


def assert_starved(c, folder, *before):
    """Two threads that want the one processor they may have: who had it, who
    wanted it, and a word about it above all else."""
    one = str(min(os.sched_getaffinity(0)))
    report = folder / "report.json"
    done = run([*before, c.axprof, "run", "-q", "--report", report, "--",
                "taskset", "-c", one, c.program(), "shares", 1500, 2], folder,
               env=environment())
    equal(done.status, 0, done.err)
    data = json.loads(report.read_text())
    check("starved" in {w["code"] for w in data["warnings"]}, data["warnings"])
    busy = sorted(data["threads"], key=lambda t: -t["cpu_ns"])[:2]
    for thread in busy:
        lived = thread["end"] - thread["begin"]
        near((thread["cpu_ns"] + thread["ready_ns"]) / lived, 1, 0.1, thread)
        check(thread["ready_ns"] > 0.4 * lived, thread)
    waiting = min(data["threads"], key=lambda t: t["cpu_ns"])
    check(waiting["ready_ns"] < 0.3e9, "the one that waits", waiting)


def test_starved(c, folder):
    assert_starved(c, folder)


@run_support.beside_others
def test_timer_starved(c, folder):
    """By what /proc tells."""
    assert_starved(c, folder, c.programs / "deny_perf")


NAPS = """
import os, time
end = time.monotonic() + 1.5
while time.monotonic() < end:
    time.sleep(0.001)
    until = time.perf_counter() + 0.0002
    while time.perf_counter() < until:
        pass
print(open("/proc/self/schedstat").read().split()[1], flush=True)
os._exit(0)
"""


@run_support.beside_others
def test_woken_without_a_processor(c, folder):
    """A thread that naps is woken while others have its processor: no switch
    says so, and the kernel's own count does."""
    pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    report = folder / "report.json"
    hogs = [subprocess.Popen([*pinned, "sh", "-c", "while :; do :; done"])
            for _ in range(2)]
    try:
        done = run([c.axprof, "run", "-q", "--no-file", "--report", report,
                    "--", *pinned, "nice", "-n", "5", sys.executable, "-c", NAPS],
                   folder, env=environment())
    finally:
        for hog in hogs:
            end(hog)
    equal(done.status, 0, done.err)
    data = json.loads(report.read_text())
    truth = int(done.out)
    ready = max(t["ready_ns"] for t in data["threads"])
    check(truth > 0.3e9, "the others took it", truth)
    # it is read before the end, and to end it needs a processor, too
    check(0.75 * truth < ready < 1.05 * truth + 0.1e9, ready, truth)
    check("starved" in {w["code"] for w in data["warnings"]}, data["warnings"])


def test_short_threads(c, folder):
    """Threads that no sample can meet: that is said, and how much it is. Whom
    a sample meets is not who starts them: that is nobody's that is known."""
    data, files = profile(c, folder, c.program(), "short", 1500)
    short = [f"--set=call_overhead.{limit}" for limit in
             ("short_thread_us=100000", "wall_percent=0.1", "threads=1")]
    done = run([c.axprof, "report", "-f", "json", *short, *files], folder,
               env=environment())
    equal([f["name"] for f in json.loads(done.out)["findings"]
           if "threads" in f["metrics"]], ["(no scope)"], "who starts threads")
    f = sampled_ns(data)
    text = {w["code"]: w["text"] for w in data["warnings"]}
    ran = sum(t["cpu_ns"] or 0 for t in data["threads"])
    check(f > 0.8 * ran or "unsampled" in text, f, ran, text)


def test_lives_of_short_programs(c, folder):
    """A thread that was over before anybody looked at its process has lived for
    as long as it ran."""
    for _ in range(10):
        data, files = profile(c, folder, "true")
        for t in data["threads"]:
            lived = t["end"] - t["begin"] + 1000  # ticks are rounded
            check(lived >= (t["cpu_ns"] or 0), t)
        for file in files:
            (folder / file).unlink()


@run_support.beside_others
def test_below_a_shell(c, folder):
    """What a shell waits for is what the run's length consists of."""
    data, _ = profile(c, folder, "sh", "-c",
                      f"{c.program()} shares 500 0 77; exit 3", status=3)
    path = {p["name"]: p["share"] for p in data["critical_path"]["parts"]}
    had = 1 - path.get("waiting for a CPU", 0)  # of a machine that others use
    near((path.get("forty", 0) + path.get("sixty", 0)) / had, 0.9, 0.15, path)
    check(path.get("blocked: I/O, sleep, other processes", 0) < 0.1, path)
    check("sixty" in data["verdict"], data["verdict"])


def blocked_below_a_shell(c, folder, script):
    """Of the path that is no want of a processor; and how much of the run its
    programs wanted one, which nobody tells of those that had just begun."""
    data, _ = profile(c, folder, "sh", "-c", script)
    path = {p["name"]: p["share"] for p in data["critical_path"]["parts"]}
    starved = sum(t["ready_ns"] or 0 for t in data["threads"]) / \
        data["run"]["duration_ns"]
    return path.get("blocked: I/O, sleep, other processes", 0) / \
        (1 - path.get("waiting for a CPU", 0)), starved, path


@run_support.beside_others
def test_what_a_shell_waits_for(c, folder):
    """However many it starts one after another, and whatever those do: the run
    is what they do. But who sleeps beside one that works waits for nobody."""
    program = c.program()
    for script in (f"for i in $(seq 100); do {program} shares 10 0 77; done",
                   f"{program} short 400; :"):
        blocked, starved, path = blocked_below_a_shell(c, folder, script)
        if starved < 0.5:  # else it waited for a processor, as they did
            check(blocked < 0.3 + starved, script, starved, path)
    blocked, _, path = blocked_below_a_shell(
        c, folder, f"sleep 1 & {program} shares 700 0 77; wait")
    check(blocked > 0.9, path)


def test_growing_stacks(c, folder):
    """A program that goes deep after a while has more to be copied than the
    rings were looked at for: none is lost."""
    done = run([c.axprof, "run", "--no-file",
                c.program("sampled_program_no_frames"), "tower", 1500, 20],
               folder, env=environment())
    equal(done.status, 0, done.err)
    check(b"samples were lost" not in done.err, done.err[-400:])


def recorded_at_full_speed(c, folder):
    """How much of its processor time was sampled of a program that records
    faster than anybody can pack it."""
    data, files = profile(c, folder, c.programs / "record_program", "scopes",
                          6000000)
    (folder / files[0]).unlink()
    cpu = sum(t["cpu_ns"] for t in data["threads"])
    check(cpu > 0.2e9, "it is over too soon", cpu)
    return sampled_ns(data) / cpu


def test_recorded_at_full_speed(c, folder):
    """Who drains a recording looks at the samples, too."""
    check(any((got := recorded_at_full_speed(c, folder)) > 0.85
              for _ in range(3)), got)


def test_lost_are_said(c, folder):
    """What nobody could take from the kernel in time is in the report."""
    report = folder / "report.json"
    process = subprocess.Popen(
        [c.axprof, "run", "--no-file", "--sample", "8000", "--report", report,
         "--", c.program(), "shares", "2500", "0", "77"], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    try:
        time.sleep(0.5)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        said = process.communicate()[1].decode()
    finally:
        end(process)
    equal(process.returncode, 0, said)
    lost = re.search(r"at most (\d+) of \d+ samples were lost", said)
    check(lost, said)
    data = json.loads(report.read_text())
    equal([w["count"] for w in data["warnings"] if w["code"] == "lost_samples"],
          [int(lost[1])], "lost samples")


def test_replaced(c, folder):
    """A shell that starts another program in its place, and that another, is one
    process with one thread, however many programs record in it."""
    spin = f"exec {c.program()} shares 300 0 77"
    again = "exec sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; %s'"
    data, _ = profile(c, folder, "sh", "-c", again % spin)
    equal((data["run"]["process_count"], data["run"]["thread_count"]), (1, 1),
          [t for t in data["threads"]])
    thread, = data["threads"]
    check(thread["cpu_ns"] <= thread["end"] - thread["begin"], thread)
    check(thread["end"] - thread["begin"] <= data["run"]["duration_ns"], thread)
    equal(thread["name"], "sampled_program", "its name")
    # comm has 15 characters
    equal([(p["name"], p["count"]) for p in data["processes"]],
          [("sampled_program", 1)], "processes")


def test_killed(c, folder):
    """What was seen until a second ago is there when axprof is killed."""
    process = start(c, folder, c.program(), "shares", 4000)
    try:
        wait_for_files(folder, 2)
        time.sleep(2.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.read()  # until the program has ended too
        parts = next(folder.glob("*.axp.parts"))
        file = parts.with_suffix("")
        for verb in ("pack", "check"):
            done = run([c.axprof, verb, file], folder, env=environment())
            equal(done.status, 0, done.out + done.err)
        done = run([c.axprof, "report", "-f", "json", file], folder,
                   env=environment())
        assert_shares(json.loads(done.out))
    finally:
        end(process)


def test_exports(c, folder):
    """One sum in all of them: no time twice, none left out."""
    data, files = profile(c, folder, c.program("sampled_program_scopes"),
                          "scopes", 600)
    done = run([c.axprof, "export", "-f", "folded", files[0]], folder,
               env=environment())
    lines = [line.rsplit(" ", 1) for line in done.out.decode().splitlines()]
    equal(sum(int(n) for _, n in lines if "forty" in _ or "sixty" in _) > 0,
          True, "functions")
    scopes = sum(op["self_ns"] for op in data["ops"])
    near(sum(int(n) for path, n in lines if path.split(";")[0] in
             ("alpha", "beta")) / scopes, 1, 0.1, "below the scopes")


def test_perfetto(c, folder):
    """Each sample with its thread and its stack, as protoc reads them; what is
    innermost how often is what the report says."""
    data, files = profile(c, folder, c.program(), "shares", 600, 2)
    done = run([c.axprof, "export", "-f", "perfetto", files[0]], folder,
               env=environment())
    equal(done.status, 0, done.err)
    trace = decode(done.out, "perfetto_subset.proto", "Trace")
    names, frames, stacks, paths_, mappings = {}, {}, {}, {}, {}
    leaves, threads = {}, set()
    thread_of, state_of, open_, states = {}, {}, {}, {}
    for packet in trace["packet"]:
        for track in packet.get("track_descriptor", []):
            for thread in track.get("thread", []):
                thread_of[one(track, "uuid")] = one(thread, "tid")
            if one(track, "name") == "state":
                state_of[one(track, "uuid")] = thread_of[
                    one(track, "parent_uuid")]
        for event in packet.get("track_event", []):
            uuid, at = one(event, "track_uuid"), one(packet, "timestamp")
            if uuid in state_of and one(event, "type") == 1:
                check(uuid not in open_, "a state in a state")
                open_[uuid] = one(event, "name"), at
            elif uuid in state_of:
                name, begin = open_.pop(uuid)
                key = state_of[uuid], name
                states[key] = states.get(key, 0) + at - begin
        for data_ in packet.get("interned_data", []):
            names.update((one(e, "iid"), one(e, "name"))
                         for e in data_.get("function_names", []))
            paths_.update((one(e, "iid"), one(e, "name"))
                          for e in data_.get("mapping_paths", []))
            for e in data_.get("mappings", []):
                mappings[one(e, "iid")] = paths_[one(e, "path_string_ids")]
            for e in data_.get("frames", []):
                frames[one(e, "iid")] = (names[one(e, "function_name_id")],
                                         mappings.get(one(e, "mapping_id")))
            for e in data_.get("callstacks", []):
                stacks[one(e, "iid")] = [frames[i] for i in e["frame_ids"]]
        for sample in packet.get("perf_sample", []):
            stack = stacks[one(sample, "callstack_iid")]
            leaves[stack[-1][0]] = leaves.get(stack[-1][0], 0) + 1
            threads.add(one(sample, "tid"))
            if stack[-1][0] == "forty":
                equal(stack[-2][0], "middle", "who called it")
                equal(stack[-1][1], str(c.program()), "module")
    equal({f["name"]: f["samples"] for f in data["functions"] if f["samples"]},
          leaves, "samples by function")
    check(threads >= {t["id"] for t in data["threads"] if t["cpu_ns"] > 5e7},
          "threads", threads)
    main = min(data["threads"], key=lambda t: t["begin"])
    lived = main["end"] - main["begin"]
    waited = states.get((main["id"], "waiting"), 0)
    near(waited / lived, 1 - (main["cpu_ns"] + main["ready_ns"]) / lived, 0.1,
         "states of the first thread", states)


NUMPY = """
import hashlib, threading
import numpy as np
rng = np.random.default_rng(7)
a, b = rng.random((400, 400)), rng.random((400, 400))
def products():
    c = a
    for _ in range(40):
        c = np.tanh(c @ b / 400)
    return c
found = [products(), np.sort(np.sin(rng.random(400000)))]
other = threading.Thread(target=lambda: found.append(products()))
other.start()
other.join()
print(hashlib.sha256(b"".join(x.tobytes() for x in found)).hexdigest())
"""


def test_numpy(c, folder):
    """A program in another language, with threads of a library: the same to the
    last bit, and the library's functions by name."""
    python = "/usr/bin/python3"  # Debian's, which has Debian's modules
    plain = run([python, "-c", NUMPY], folder, env=environment())
    if plain.status:
        print("        (no numpy here)")
        return
    report = folder / "report.json"
    done = run([c.axprof, "run", "-q", "--report", report, "--", python, "-c",
                NUMPY], folder, env=environment())
    equal((done.status, done.out), (0, plain.out), done.err)
    f = functions(json.loads(report.read_text()))
    check(any("gemm" in name for name in f), "products", list(f)[:10])
    check("_PyEval_EvalFrameDefault" in f or any(
        name.startswith("python3") for name in f), "Python", list(f)[:10])


def state_sum(thread):
    return thread["cpu_ns"] + thread["ready_ns"] + thread["off_ns"]


def test_states(c, folder):
    """What a thread did makes up its life: it ran, waited, or wanted to run. Who
    spins in a wait is said to have waited."""
    data, _ = profile(c, folder, "sleep", "0.5")
    thread, = data["threads"]
    check(thread["off_ns"] > 450e6, "slept", thread)
    for name in ("spinning_program", "spinning_llvm_program"):
        if not c.program(name).exists():
            continue
        data, _ = profile(c, folder, c.program(name), 200,
                          env=environment(OMP_WAIT_POLICY="active"))
        for thread in data["threads"]:
            life = thread["end"] - thread["begin"]
            check(0.9 * life < state_sum(thread) <= life, "life", thread)
            check(thread["spun_ns"] <= thread["cpu_ns"], "spun", thread)
        pool = max(data["threads"], key=lambda t: t["begin"])
        spun = pool["spun_ns"] + pool["off_ns"] + pool["ready_ns"]
        check(spun > 550e6, "waited to the end", pool)
        runtime = sum(f["self_ns"] for f in data["functions"]
                      if "omp.so" in f["name"])
        check(runtime < 0.1 * sampled_ns(data), "work", functions(data))
        path = sum(p["ns"] for p in data["critical_path"]["parts"]
                   if "omp.so" in p["name"])
        check(path < 0.05 * data["run"]["duration_ns"], "path", path)


def test_off(c, folder):
    data, _ = profile(c, folder, c.program(), "shares", 200,
                      options=["--sample", "off"])
    equal(data["functions"], [], "functions")
    for wrong in ("0", "-1", "many", "20001", "10x"):
        done = run([c.axprof, "run", "--sample", wrong, "true"], folder,
                   env=environment())
        equal(done.status, 125, wrong)
        check(b"--sample wants a number" in done.err, done.err)


# ---- where perf_event_open is not allowed ------------------------------------

def profile_by_timer(c, folder, *command):
    """The same where the kernel gives no samples: the program takes its own.
    One line says so, and nothing is left."""
    report = folder / "report.json"
    done = run([c.programs / "deny_perf", c.axprof, "run", "--report", report,
                "--", *command], folder, env=environment())
    equal(done.status, 0, done.err)
    lines = [line for line in done.err.decode().splitlines()
             if "perf_event_open is not allowed" in line]
    equal(len(lines), 1, done.err)
    check("sampled by a timer" in lines[0], lines)
    equal(list(folder.glob("*.axp.parts")), [], "parts that were left")
    return json.loads(report.read_text())


def test_timer(c, folder):
    """As much time as the threads had, where it was, and who called that."""
    data = profile_by_timer(c, folder, c.program(), "shares", 2000, 2)
    assert_shares(data)
    cpu = sum(t["cpu_ns"] or 0 for t in data["threads"])
    near(sampled_ns(data) / cpu, 1, 0.1, "of", cpu, "ns")
    data = profile_by_timer(c, folder, c.program("sampled_program_no_frames"),
                            "deep", 1500)
    assert_shares(data)
    near(share_below(data, *["deep"] * 21, "middle", "sixty"),
         functions(data)["sixty"]["time_share"], 0.03, "20 deep")


def test_timer_of_who_waits(c, folder):
    """Naps of 20 ms between 5 ms of work are no work, whatever has been seen; the
    processor time that /proc tells of is all that a function can have."""
    code = ("import time\nfor i in range(60):\n time.sleep(0.02)\n"
            " end = time.process_time() + 0.005\n"
            " while time.process_time() < end: pass\n")
    data = profile_by_timer(c, folder, sys.executable, "-c", code)
    wall = data["run"]["duration_ns"]
    waits = [f for f in data["findings"] if f["type"] == "IoWait"]
    equal([f["name"] for f in waits], ["(no scope)"], data["findings"])
    check(1e9 <= waits[0]["saving_ns"] <= wall, waits, wall)


def test_timer_in_nobody(c, folder):
    """Nothing can be loaded into a program that is linked statically."""
    program = c.programs / "sampled_program_static"
    if not program.exists():
        return
    done = run([c.programs / "deny_perf", c.axprof, "run", program, "shares",
                100], folder, env=environment())
    equal(done.status, 0, done.err)
    lines = [line for line in done.err.decode().splitlines()
             if "perf_event_open is not allowed" in line]
    equal(len(lines), 1, done.err)
    check("no function was sampled" in lines[0], lines)


def test_timer_without_build_id(c, folder):
    assert_named(profile_by_timer(c, folder, c.program("sampled_program_no_id"),
                                  "shares", 1500))


def test_timer_in_children(c, folder):
    data = profile_by_timer(c, folder, c.program(), "fork", 20, 60)
    assert_shares(data)
    check(0.2 < sampled_ns(data) / 1e9 < 20 * 0.06 + 0.3, sampled_ns(data))


def test_timer_gives_way(c, folder):
    """A program that uses the signal itself has it for itself."""
    data = profile_by_timer(c, folder, c.program(), "urgent", 600)
    assert_shares(data)
    profile_by_timer(c, folder, c.program(), "signals", 200)


def test_timer_on_a_fibre(c, folder):
    """A stack that is not the thread's, with nothing behind its end."""
    data = profile_by_timer(c, folder, c.program(), "fibre", 800)
    f = functions(data)
    check(f["forty"]["time_share"] + f["sixty"]["time_share"] > 0.85, f)


@run_support.beside_others
def test_pipeline(c, folder):
    """A shell waits for its programs, and what reads from a pipe for what writes:
    the run is what these did, one after the other."""
    program = c.program()
    data, _ = profile(c, folder, "sh", "-c",
                      f"{program} shares 400; {program} shares 800 | cat")
    share = sum(p["share"] for p in data["critical_path"]["parts"]
                if p["name"].startswith("blocked"))
    check(share < 0.2, data["critical_path"])
    check("blocked" not in data["verdict"], data["verdict"])


def test_not_allowed(c, folder):
    """The program runs as it does, and one line says what is missing."""
    done = run([c.programs / "deny_perf", c.axprof, "run", "--without", "timer",
                c.program(), "shares", 100], folder, env=environment())
    equal(done.status, 0, done.err)
    lines = [line for line in done.err.decode().splitlines()
             if "not sampled" in line]
    equal(len(lines), 1, done.err)
    check("perf_event_open is not allowed" in lines[0], lines)


def perf_shares(c, folder):
    """What perf report says of the same program, in the same minute."""
    for words in (["record", "-q", "-F", "997", "-e", "cpu-clock:u", "-o",
                   "perf.data", c.program(), "shares", "2000", "2"],
                  ["report", "-i", "perf.data", "--stdio", "--no-children",
                   "-F", "overhead,symbol", "-t", "|"]):
        done = run(["perf", *words], folder, env=environment())
        if done.status:
            return None
    found = re.findall(r"^\s*([\d.]+)%?\s*\|\[.\]\s*(\S+)", done.out.decode(),
                       re.M)
    return {name: float(share) / 100 for share, name in found}


def test_beside_perf(c, folder):
    if not shutil.which("perf"):
        print("        (no perf here)")
        return
    data, _ = profile(c, folder, c.program(), "shares", 2000, 2)
    theirs = perf_shares(c, folder)
    if theirs is None:
        print("        (perf may not record here)")
        return
    ours = functions(data)
    for name, share in sorted(theirs.items(), key=lambda x: -x[1])[:10]:
        got = ours[name]["time_share"] if name in ours else 0
        near(got, share, 1.5 * points(data, 0.03), name)


BY_KERNEL = [test_shares, test_recurs, test_builds, test_deep,
             test_deeper_later, test_few, test_waits, test_only_thread,
             test_late_first_event,
             test_one_thread_is_no_estimate, test_whatif_of_who_only_calls,
             test_tail_call, test_closed_library, test_link, test_made_at_run_time,
             test_without_tables, test_wide_without_tables, test_stripped,
             test_debug_file, test_network, test_libraries_in_the_folder,
             test_without_build_id, test_without_build_id_rebuilt,
             test_scopes, test_children,
             test_states, test_starved, test_woken_without_a_processor,
             test_short_threads, test_lives_of_short_programs, test_below_a_shell,
             test_what_a_shell_waits_for, test_pipeline,
             test_growing_stacks, test_recorded_at_full_speed,
             test_lost_are_said,
             test_replaced, test_killed, test_exports,
             test_perfetto, test_numpy, test_off, test_beside_perf]
BY_TIMER = [test_timer, test_timer_of_who_waits, test_timer_in_nobody,
            test_timer_without_build_id, test_timer_in_children,
            test_timer_gives_way,
            test_timer_starved, test_timer_on_a_fibre, test_not_allowed]


def is_allowed(c):
    """Whether this kernel gives samples to this user."""
    with tempfile.TemporaryDirectory() as folder:
        done = run([c.axprof, "run", "--no-file", c.program(), "shares", 50],
                   folder, env=environment())
        return b"perf_event_open" not in done.err


if __name__ == "__main__":
    context = Context(*sys.argv[1:3])
    tests = BY_TIMER
    if is_allowed(context):
        tests = BY_KERNEL + BY_TIMER
    else:
        print("the kernel gives no samples here")
    run_support.main(tests, context)
