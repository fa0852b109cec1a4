#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""axprof machine, its cache, and what `axprof run` makes of it.

  test_machine.py AXPROF PROGRAMS [test...]
"""
import json
import os
import pathlib
import platform
import stat
import sys
import time

from run_support import check, environment, equal, main, run


class Context:
    in_a_hurry = None  # a cache that `axprof run` made

    def __init__(self, axprof, programs):
        self.axprof, self.programs = pathlib.Path(axprof), pathlib.Path(programs)


def env_with(folder, **more):
    """A cache of the test's own; measuring is on."""
    env = environment(XDG_CACHE_HOME=str(folder / "cache"), **more)
    del env["AXPROF_MACHINE"]
    return env


def cached(folder):
    files = list((folder / "cache" / "axprof").glob("*"))
    equal(len(files), 1, "files in the cache")
    return files[0]


def is_cut(kept):
    """Whether the time was up before all was measured: others were at work."""
    state = next(l for l in kept.splitlines() if l.startswith(b"state "))
    return state.split()[5] != b"0"


def call(command, folder, env):
    """run, with texts."""
    done = run(command, folder, env=env)
    done.out, done.err = done.out.decode(), done.err.decode()
    return done


def machine(c, folder, *words, env=None):
    return call([c.axprof, "machine", *words], folder, env or env_with(folder))


def check_json(c, folder):
    """The numbers are those of the text in the cache, and of the system."""
    done = machine(c, folder, "--json")
    equal(done.status, 0, done.err)
    m = json.loads(done.out)
    equal(m["schema"], "axprof-machine-1", "schema")
    equal(m["arch"], platform.machine(), "architecture")
    equal(m["cpus_online"], os.cpu_count(), "CPUs")
    equal(m["cpus_allowed"], len(os.sched_getaffinity(0)), "allowed")
    check(m["threads"] <= m["cpus_allowed"], "threads")
    lines = [l.split() for l in cached(folder).read_text().splitlines()]
    peaks = {(l[1], l[2]): [int(x) for x in l[3:]] for l in lines
             if l[0] == "compute"}
    equal(len(m["compute"]), len(peaks), "kinds of arithmetic")
    for one in m["compute"]:
        want = peaks[one["dtype"], one["isa"]]
        equal(one["one_flops"]["best"], want[0], "one thread")
        equal(one["all_flops"]["best"], want[2], "all threads")
    equal([l["level"] for l in m["memory"]][-1], "memory", "last level")
    check(m["hz"]["best"] > 1e8, "a frequency", m["hz"])


def test_measures_and_keeps(c, folder):
    began = time.monotonic()
    first = machine(c, folder)
    took = time.monotonic() - began
    equal(first.status, 0, first.err)
    check(took < 30, "10 s at most, but for what else runs here:", took)
    check("GFLOP/s" in first.out and "memory" in first.out, first.out)
    check(all(len(line) <= 80 for line in first.out.splitlines()), first.out)
    check("kept as" in first.err, first.err)
    file = cached(folder)
    equal(stat.S_IMODE(file.stat().st_mode) & 0o077, 0, "others may not read")
    before = file.read_bytes()
    began = time.monotonic()
    second = machine(c, folder)
    if is_cut(before):
        check("kept as" in second.err, "not whole, measured again", second.err)
        check_json(c, folder)
        return
    check(time.monotonic() - began < max(2, took / 3),
          "the second time it is kept")
    equal(second.out, first.out, "what was kept")
    equal(file.read_bytes(), before, "the file")
    equal(second.err, "", "nothing was kept anew")
    check_json(c, folder)


def test_refresh(c, folder):
    """What is kept is shown, but not what run measured in a hurry."""
    run_with_cache(c, folder, "a.axp")
    file = cached(folder)
    lines = file.read_text().splitlines(keepends=True)
    state = next(l for l in lines if l.startswith("state "))
    equal(state.split()[4], "1", "the short form")
    whole = " ".join([*state.split()[:4], "0", "0"]) + "\n"
    file.write_text("".join(
        whole if l == state else
        "compute f32 some 77000000000 0 77000000000 0\n"
        if l.startswith("compute f32") else l for l in lines))
    check(" 77.0 " in machine(c, folder).out, "what is kept is shown")
    again = machine(c, folder, "--refresh")
    equal(again.status, 0, again.err)
    check("77000000000" not in file.read_text(), "measured again")


def test_hostile_cache(c, folder):
    """What is no machine, or of another one, is measured again."""
    run_with_cache(c, folder, "0.axp")
    file = cached(folder)
    good = file.read_text()
    other = good.replace("cpu ", "cpu Another ", 1)
    for i, bad in enumerate(("", "x" * 100000, good[:50], good + "more\n",
                             other)):
        file.write_text(bad)
        done = run_once(c, folder, f"{i + 1}.axp")
        equal(done.status, 0, done.err)
        check("what this machine" in done.err, "measured again", bad[:40])
        check(file.read_text().startswith("axprof-machine 1\ncpu "), "kept")
        check("Another" not in file.read_text(), "not the other one's")
    file.unlink()
    os.mkfifo(file)  # reading it would wait for ever
    equal(run_once(c, folder, "9.axp").status, 0, "a pipe")


def test_without_a_cache(c, folder):
    env = env_with(folder)
    del env["XDG_CACHE_HOME"]
    env.pop("HOME", None)
    for i, where in enumerate(("/proc/nowhere", "relative")):
        done = run_once(c, folder, f"{i}.axp",
                        env={**env, "XDG_CACHE_HOME": where})
        equal(done.status, 0, done.err)
        check("could not be kept" in done.err, done.err)
    check(not (folder / "relative").exists(), "no relative folder")
    done = machine(c, folder, "--json",
                   env={**env, "XDG_CACHE_HOME": "/proc/nowhere"})
    equal(done.status, 0, done.err)
    check(json.loads(done.out)["compute"], "measured")
    equal(done.err, "", "no error")
    done = machine(c, folder, env=env)
    check("not kept" in done.err and "HOME" in done.err, done.err)


def test_wrong_words(c, folder):
    done = machine(c, folder, "fast")
    equal(done.status, 2, done.err)
    check("takes no argument" in done.err, done.err)


# ---- axprof run ------------------------------------------------------------

def run_once(c, folder, name, *options, env=None):
    return call([c.axprof, "run", "-o", folder / name, *options, "--",
                 c.programs / "run_program", "exit", "0"], folder,
                env or env_with(folder))


def run_with_cache(c, folder, name):
    """run_once with what an earlier test's run measured, which takes 3 s."""
    if c.in_a_hurry:
        file, text = c.in_a_hurry
        kept = folder / "cache" / "axprof"
        kept.mkdir(parents=True, mode=0o700)
        (kept / file).write_text(text)
        (kept / file).chmod(0o600)
    done = run_once(c, folder, name)
    c.in_a_hurry = cached(folder).name, cached(folder).read_text()
    return done


def report(c, folder, name):
    done = call([c.axprof, "report", folder / name, "-f", "json"], folder,
                environment())
    equal(done.status, 0, done.err)
    return json.loads(done.out)


def test_run_measures_once(c, folder):
    began = time.monotonic()
    first = run_once(c, folder, "a.axp")
    check(time.monotonic() - began < 15, "3 s at most")
    lines = [l for l in first.err.splitlines() if "what this machine" in l]
    equal(len(lines), 1, first.err)
    check("--without machine" in lines[0], lines[0])
    file = cached(folder)
    second = run_once(c, folder, "b.axp")
    check("what this machine" not in second.err, second.err)
    for name in ("a.axp", "b.axp"):
        m = report(c, folder, name)["machine"]["measured"]
        line = next(l.split() for l in file.read_text().splitlines()
                    if l.startswith("compute f32"))
        f32 = next(p for p in m["compute"] if p["dtype"] == "f32"
                   and p["isa"] == line[2])
        equal(f32["one_flops"]["best"], int(line[3]), name)
    check(run([c.axprof, "check", folder / "a.axp"], folder,
              env=environment()).status == 0, "the recording is sound")


def test_run_without(c, folder):
    for options, env in ((("--without", "machine"), env_with(folder)),
                         ((), environment(XDG_CACHE_HOME=str(folder / "cache")))):
        done = run_once(c, folder, "a.axp", *options, env=env)
        equal(done.status, 0, done.err)
        check("what this machine" not in done.err, done.err)
        check(not (folder / "cache").exists(), "nothing is kept")
        equal(report(c, folder, "a.axp")["machine"]["measured"], None, "none")
        (folder / "a.axp").unlink()


def test_recording_of_another_machine(c, folder):
    """The peaks are those of the machine that ran, wherever it is read."""
    run_with_cache(c, folder, "a.axp")
    before = report(c, folder, "a.axp")
    file = cached(folder)
    file.write_text(file.read_text().replace("compute f32", "compute f64"))
    after = report(c, folder, "a.axp")
    equal(after["machine"], before["machine"], "machine")


def test_roofline(c, folder):
    """Work around a region has the roof of its team; what cannot be is said."""
    program = c.programs / "work_program"
    if not program.exists():
        return  # built without OpenMP
    done = call([c.axprof, "run", "-o", folder / "a.axp", "--", program],
                folder, env_with(folder, OMP_NUM_THREADS="2"))
    equal(done.status, 0, done.err)
    check("Roofline" in done.err, done.err)
    check("the declared work is wrong" in done.err, done.err)
    data = report(c, folder, "a.axp")
    ops = {o["name"]: o for o in data["ops"]}
    m = data["machine"]["measured"]
    for name, threads in (("alone", 1), ("together", min(2, m["threads"]))):
        r = ops[name]["roofline"]
        equal(r["threads"], threads, f"threads of {name}")
        check(not r["is_impossible"], name, r)
        equal(round(r["flops_per_s"] / (ops[name]["gflops"] * 1e9), 6), 1,
              "rate")
        # a busy machine may have more of one thread than of all together
        f32 = max(p[which]["best"] for p in m["compute"]
                  for which in ("one_flops", "all_flops")
                  if p["dtype"] == "f32")
        check(r["roof_flops_per_s"] <= f32 * 1.001, "roof", r, f32)
    check(ops["wrong"]["roofline"]["is_impossible"], ops["wrong"])
    equal(ops["alone"]["roofline"]["bound_by"] in ("L1", "L2", "L3", "memory",
                                                   "arithmetic"), True, "bound")
    # 20 x 2e6 twice, and 20 x 1e15
    equal(data["run"]["flops"], 20 * 2e6 * 2 + 20 * 1e15, "declared")


def test_run_quiet(c, folder):
    done = run_once(c, folder, "a.axp", "-q")
    equal((done.status, done.err), (0, ""), "not a word")
    check(report(c, folder, "a.axp")["machine"]["measured"], "but measured")


TESTS = [v for k, v in sorted(globals().items()) if k.startswith("test_")]
if __name__ == "__main__":
    main(TESTS, Context(*sys.argv[1:3]))
