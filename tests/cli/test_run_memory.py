# SPDX-License-Identifier: MIT OR Apache-2.0
"""The memory adapter: programs that count their own allocations, and what it
found of them. All counts are exact: not one block more or less.

  test_run_memory.py AXPROF PROGRAMS [test ...]
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import run_support
from memory_support import (NO_STACKS, OFF, SAMPLED, WAYS, Context, Heap,
                            assert_truth, assert_whole, has_adapter, judge,
                            profile_heap, sum_of, truth_of)
from run_support import check, end, environment, equal

BUILDS = ("memory_program", "memory_program_frames", "memory_program_no_frames")
NO_IDS = ("memory_program_no_id", "memory_program_no_id_no_pie")


# ---- one thread ------------------------------------------------------------

def test_leak(c, folder):
    """37 blocks, in their function, at their line."""
    for program in BUILDS + NO_IDS:
        truth, heap, _ = judge(c, folder, "leak37", program=program)
        places = heap.of("truth_leak")
        equal(sum_of(places).blocks, 37, "blocks that were lost")
        for place in places:
            frame = place.frame("truth_leak")
            equal(frame["line"], truth["line"], f"line, {program}")
            equal(pathlib.Path(frame["file"]).name, "memory_program.c", "file")
            equal(pathlib.Path(frame["module"]).name, program, "module")
            check(place.at("truth_leak") < place.at("main"), "order",
                  place.functions)
        live = [p for p in heap.truth() if p.sums.blocks]
        check(all(p.is_of("truth_leak") for p in live), "others that are live")


def test_grow(c, folder):
    truth, heap, data = judge(c, folder, "grow")
    equal(data["steps"]["count"], truth["steps"], "steps")
    buffer, nodes = (sum_of(heap.of(f)) for f in ("truth_grow_buffer",
                                                  "truth_grow_list"))
    equal((buffer.blocks, buffer.current), (1, 50 * 65536), "the buffer")
    equal((nodes.blocks, nodes.current), (500, 500 * 1024), "the list")
    for function, bytes_a_step in (("truth_grow_buffer", 65536),
                                   ("truth_grow_list", 10 * 1024)):
        for i in range(2):
            equal(sum(p.growth[i] for p in heap.of(function)), bytes_a_step,
                  f"growth of {function} a step")


def test_cache(c, folder):
    """As much as is live is the most that it ever had."""
    _, heap, data = judge(c, folder, "cache")
    equal(data["steps"]["count"], 30, "steps")
    for place in heap.truth():
        equal(place.sums.at_peak, place.sums.current, "peak of the cache")
        check(place.growth[0] > 0, "it grew before", place.growth)
        equal(place.growth[1], 0, "and no longer")


def test_peak(c, folder):
    """Who held what when most was held, and by what way it was called."""
    for program in BUILDS:
        truth, heap, _ = judge(c, folder, "peak3", program=program)
        for function, share in (("truth_a", 50), ("truth_b", 30),
                                ("truth_c", 20), ("truth_before", 0),
                                ("truth_after", 0)):
            equal(sum_of(heap.of(function)).at_peak,
                  truth["peak_bytes"] * share // 100, function)
        more = heap.totals["at_peak"] - truth["peak_bytes"]
        check(0 <= more <= 200000, "not the program's at its peak", more)
        check(heap.peak_at_ns > 0, "when", heap.peak_at_ns)
        for function in ("truth_b", "truth_c"):
            for place in heap.of(function):
                at = [place.at(f) for f in (function, "peak_forward",
                                            "peak_step", "main")]
                equal(at, sorted(at), f"{program}: {place.functions}")
                equal(at[2], at[0] + 2, f"{program}: {place.functions}")


def test_churn(c, folder):
    """100 blocks a step, none of which stays."""
    _, heap, _ = judge(c, folder, "churn")
    equal(sum(p.a_step[0] for p in heap.truth()), 100, "blocks a step")
    equal(sum(abs(g) for p in heap.truth() for g in p.growth), 0, "growth")


def test_realloc(c, folder):
    judge(c, folder, "realloc")


def test_align(c, folder):
    judge(c, folder, "align")


def test_maps(c, folder):
    """Mapped, unmapped in parts, mapped over and moved: in each way of looking,
    what the program counted, and nothing that axprof mapped."""
    for part in ("maps", "mapthreads"):
        for more in WAYS.values():
            out, data = profile_heap(c, folder, [c.program("memory_program"),
                                                 part], more, 0)
            for name, expected in truth_of(out).items():
                equal(data["heap"][name], expected, name)


def test_usable(c, folder):
    judge(c, folder, "usable")


def test_cpp(c, folder):
    """new is malloc's, whichever new it is; those that destructors free at the
    very end are freed."""
    judge(c, folder, program="memory_program_cpp", status=12)


# ---- several threads -------------------------------------------------------

def test_short_threads(c, folder):
    judge(c, folder, "threads3000")


def test_foreign(c, folder):
    for n in (1, 2, 8):
        judge(c, folder, "foreign", n)


def test_mixed(c, folder):
    for words in ([1], [4], [8]):
        judge(c, folder, "mixed", *words)


def test_peak_of_threads(c, folder):
    """Known exactly where calls do not overlap."""
    for n in (1, 2, 8):
        truth, heap, _ = judge(c, folder, "mixed", n, "serial")
        check(heap.totals["at_peak"] >= truth["peak_bytes"], "peak")


def test_signal(c, folder):
    """A handler that allocates, whatever it interrupts, however small its
    stack."""
    judge(c, folder, "signal", is_peak=False)
    judge(c, folder, "altstack", is_peak=False)


def test_ending_threads(c, folder):
    judge(c, folder, "exitthread")


def test_busy_at_exit(c, folder):
    """Nothing hangs or dies; what was counted by then is whole."""
    for _ in range(5):
        for options in WAYS.values():
            out, data = profile_heap(c, folder, [c.program(), "exitbusy"],
                                     options, status=7)
            equal(out, "busy\n", "output")
            check(Heap(data).truth(), "nothing was found")


# ---- processes and libraries -----------------------------------------------

def test_fork(c, folder):
    """Twelve children that free what they inherited, and other programs."""
    judge(c, folder, "fork", n_processes=13)


def run_jailed(c, folder, how):
    """What a run said, and its report."""
    jail, report = folder / "jail", folder / "report.json"
    jail.mkdir(exist_ok=True)
    done = run_support.run(
        [c.axprof, "run", "--no-file", "--report", report, "--",
         c.program("jailed_program"), how, jail], folder, env=environment())
    equal(done.status, 0, f"{how}: {done.err}")
    equal(list(jail.iterdir()), [], "files in the jail")
    return done.err.decode(), json.loads(report.read_text())


def test_unrecorded(c, folder):
    """Who can no longer make a file when the first event comes is told of."""
    ways = {"r": "root folder", "fr": "root folder", "rff": "root folder"}
    if os.geteuid() == 0:
        ways.update(u="user", fu="user", ru="root folder")
    for how, what in ways.items():
        said, data = run_jailed(c, folder, how)
        lines = [line for line in said.splitlines() if "not recorded" in line]
        equal(len(lines), 1, f"{how}: {said}")
        check(f"had changed its {what} before" in lines[0], how, lines[0])
        check("nothing in it records" not in said, said)
        found = [w for w in data["warnings"]
                 if w["code"] == "unrecorded_processes"]
        equal([w["count"] for w in found], [1], f"{how}: {data['warnings']}")
    said, data = run_jailed(c, folder, "f")
    check("not recorded" not in said, said)
    equal(Heap(data).totals["current"], 100 * 1000, "bytes of a child")


def test_jailed(c, folder):
    """What a process records has its file before it leaves for a jail."""
    ways = ["R", "fR", "P", "fP"]
    if os.geteuid() == 0:
        ways += ["U", "fU", "RU"]
    for how in ways:
        said, data = run_jailed(c, folder, how)
        check("not recorded" not in said, how, said)
        equal(Heap(data).totals["current"], 100 * 1000, f"{how}: bytes")
        equal(run_support.warnings(data) & {"unrecorded_processes"}, set(), how)
    _, data = run_jailed(c, folder, "v")
    equal(Heap(data).totals["current"], 100 * 1000, "bytes after a vfork")
    own = data["run"]["process_id"]
    equal([t["id"] for t in data["threads"] if t["process_id"] == own], [own],
          "not the child's recording")


def test_library(c, folder):
    """Functions of a library that is gone have names; each time it was opened
    they are the same place."""
    for name in ("libmemory_library.so", "libmemory_library_no_id.so"):
        _, heap, _ = judge(c, folder, "dl", c.programs / name, is_peak=False)
        kept = heap.of("truth_library_keep")
        equal(sum_of(kept).blocks, 20, f"blocks that {name} left")
        equal(len(kept), 1, "places")
        frame = kept[0].frame("truth_library_keep")
        equal(pathlib.Path(frame["module"]).name, name, "module")
        equal(pathlib.Path(frame["file"]).name, "memory_library.c", "file")


# ---- the end of memory, and of the process ---------------------------------

def test_out_of_memory(c, folder):
    """malloc fails as it does without: the report is there, and so is what was
    held."""
    for way, options in WAYS.items():
        limited = ["sh", "-c", 'ulimit -v 600000; exec "$0" oom', c.program()]
        out, data = profile_heap(c, folder, limited, options, status=3)
        truth, heap = truth_of(out), Heap(data)
        check(truth["n_allocs"] > 300, way, "few before it failed", truth)
        assert_truth(truth, heap, is_peak=True)
        equal(sum_of(heap.of("truth_hog")).blocks, truth["n_allocs"], way)
        equal(data["heap"]["failed_limit_bytes"], 600000 << 10, "the limit")


def test_no_mapping(c, folder):
    """mmap fails: the same, with who asked for it."""
    limited = ["sh", "-c", 'ulimit -v 600000; exec "$0" oommap', c.program()]
    out, data = profile_heap(c, folder, limited, WAYS["alone"], status=3)
    heap = data["heap"]
    check(truth_of(out)["n_maps"] > 300, "few before it failed", out)
    equal((heap["n_failed"], heap["failed_bytes"], heap["failed_limit_bytes"]),
          (1, 1 << 20, 600000 << 10), "what failed")
    check("truth_map_hog" in [f["function"] for f in heap["failed_stack"]],
          "who asked", heap["failed_stack"])


def killed(c, folder, script, options, at=None):
    """(MiB that a program says it has when it is killed, its heap). It is
    killed here once it has so many, or by somebody else."""
    report = folder / "report.json"
    process = subprocess.Popen(
        [str(c.axprof), "run", "-q", "--no-file", "--report", str(report),
         *options, "--", "sh", "-c", "echo $$; " + script, str(c.program())],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment())
    try:
        pid, n = int(process.stdout.readline()), 0
        for line in process.stdout:
            n = int(line)
            if n == at:
                os.kill(pid, signal.SIGKILL)
        process.wait(run_support.TIMEOUT_S)
        equal(process.returncode, -signal.SIGKILL, process.stderr.read())
    finally:
        end(process)
        process.stdout.close()
        process.stderr.close()
    heap = Heap(json.loads(report.read_text()))
    report.unlink()
    return n, heap


def test_killed(c, folder):
    """By SIGKILL, as by a kernel that is out of memory: all is there."""
    for options in WAYS.values():
        n, heap = killed(c, folder, 'exec "$0" cgroup 200', options, at=200)
        hog = sum_of(heap.of("truth_hog"))
        equal((hog.blocks, hog.current), (n, n << 20), "blocks of a killed one")
        high = [x for x in heap.levels if x.max_bytes > 100 << 20]
        check(abs(high[-1].max_bytes - hog.current) < 1 << 20 and
              high == sorted(high, key=lambda x: x.max_bytes),
              "it rose until it was killed", high[-1])


def make_group():
    """A control group with 128 MiB, below one that AXP_TEST_CGROUP names, or
    below the top; None: there can be none."""
    named = os.environ.get("AXP_TEST_CGROUP")
    for parent in [named] if named else ["/sys/fs/cgroup/memory",
                                         "/sys/fs/cgroup"]:
        group = pathlib.Path(parent) / f"axprof-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        for file in ("memory.max", "memory.limit_in_bytes"):
            if (group / file).exists():
                (group / file).write_text(str(128 << 20))
                return group
        group.rmdir()
    return None


def remove_group(group):
    """Once the kernel has done with those that were in it."""
    for _ in range(100):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.05)
    return group.rmdir()


def test_cgroup(c, folder):
    """By the kernel itself, in a group with little memory: said, with what was
    live then; the same by a report of the file."""
    group = make_group()
    if group:
        script = f'echo $$ > {group}/cgroup.procs; exec "$0" cgroup'
    elif os.path.exists("/run/systemd/system") and os.geteuid() == 0 and \
            shutil.which("systemd-run"):
        group = None
        script = ('exec systemd-run -q --scope -p MemoryMax=128M '
                  '-p MemorySwapMax=0 "$0" cgroup')
    else:
        print("        (no group can be made, and AXP_TEST_CGROUP names none)")
        return
    try:
        n, heap = killed(c, folder, script, [])
        trace = folder / "killed.axp"
        done = run_support.run([c.axprof, "run", "-q", "-o", trace, "--", "sh",
                                "-c", script, c.program()], folder)
        equal(done.status, -signal.SIGKILL, "status")
        text = run_support.run([c.axprof, "report", trace], folder).out
    finally:
        if group:
            remove_group(group)
    equal(heap.oom_kills, (1, 128 << 20), "what the kernel did, and the limit")
    text = " ".join(text.decode().split())
    check("OUT OF MEMORY: the kernel killed a process: its control group allows "
          "128.00 MB; what was live then is what was not freed" in text, text)
    check(64 < n < 128, "MiB in a group of 128", n)
    blocks = sum_of(heap.of("truth_hog")).blocks
    check(n <= blocks <= n + 1, "blocks", blocks, "of", n)


# ---- names, scopes, options ------------------------------------------------

def test_names(c, folder):
    """What a program names is what was found, once: with its name and kind,
    below its scopes, and with the stack."""
    for way, options in WAYS.items():
        out, data = profile_heap(c, folder, [c.program("memory_names")],
                                 options)
        names = json.loads(out.splitlines()[-2])["names"]
        heap = Heap(data)
        assert_whole(heap)
        assert_truth(truth_of(out), heap)
        for name, expected in names.items():
            places = [p for p in heap.places if p.name == name]
            check(places, way, "no place is called", name)
            sums = sum_of(places)
            equal((sums.current, sums.blocks), (expected["current_bytes"],
                                                expected["current_blocks"]),
                  f"{way}: {name}")
            for place in places:
                equal((place.kind, place.scopes),
                      (expected["kind"], expected["scopes"]), name)
                check(any(f.startswith("truth_") for f in place.functions),
                      way, name, "has no stack")
        unnamed = sum_of([p for p in heap.truth() if p.name is None])
        equal((unnamed.current, unnamed.blocks), (4 * 777, 4), "without a name")
        tracked = {n["name"]: n for n in data["memory"]["names"]}
        for name, expected in names.items():
            equal({k: tracked[name][k] for k in ("current_bytes", "kind")},
                  {k: expected[k] for k in ("current_bytes", "kind")},
                  f"{way}: {name}, which ends with free()")
        equal([w for w in data["warnings"] if "addr" in w["code"] or
               "twice" in w["code"]], [], "a block ends once")
        kv = tracked["kv"]
        equal((kv.get("growth_early"), kv.get("growth_late")), (6400, 6400),
              "of what is tracked, too")


def test_never_to_be_had(c, folder):
    """A request for more than any machine has fails, and is no lack of memory:
    what is shown is the peak's."""
    for ending, text in ((".txt", "more than there is"), (".md", "failed")):
        report = folder / f"report{ending}"
        done = run_support.run([c.axprof, "run", "-q", "--no-file", "--report",
                                report, "--", c.program("memory_names")],
                               folder, env=environment())
        equal(done.status, 0, done.err)
        said = " ".join(report.read_text().split())
        report.unlink()
        check(text in said, ending, "does not say what failed", said)
        for wrong in ("OUT OF MEMORY", "live then"):
            check(wrong not in said, ending, "says", wrong, said)


def test_scopes(c, folder):
    """Blocks that nobody named are below the scopes, too."""
    _, data = profile_heap(c, folder, [c.program("memory_names")])
    unnamed = [p for p in Heap(data).truth() if p.name is None]
    equal({tuple(p.scopes) for p in unnamed if p.sums.blocks}, {("build",)},
          "scopes")


def test_no_stacks(c, folder):
    """The sums are as exact, and are libc's as well."""
    out, data = profile_heap(c, folder, [c.program(), "mixed", 4, "serial"],
                             [*WAYS["alone"], *NO_STACKS])
    truth, heap = truth_of(out), Heap(data)
    assert_whole(heap)
    check(all(not p.frames for p in heap.places), "stacks")
    for name, field in (("allocations", "n_allocs"), ("frees", "n_frees")):
        more = heap.totals[name] - truth[field]
        check(0 <= more < 200, name, "of others", more)
    for name, field in (("allocated", "allocated_bytes"),
                        ("current", "live_bytes_at_end"),
                        ("at_peak", "peak_bytes")):
        more = heap.totals[name] - truth[field]
        check(0 <= more < 200000, name, "of others", more)


def test_sampled(c, folder):
    """Of each 512 KiB one block stands for them: 130 MB are some 270, a spread
    of 6 %, of which five are allowed."""
    out, data = profile_heap(c, folder, [c.program(), "mixed", 4],
                             [*WAYS["alone"], *SAMPLED])
    truth, sums = truth_of(out), sum_of(Heap(data).truth())
    share = sums.allocated / truth["allocated_bytes"]
    check(0.7 < share < 1.3, "of what was allocated", share)


def test_off(c, folder):
    out, data = profile_heap(c, folder, [c.program(), "leak37"], OFF)
    check(not data.get("heap"), "a heap", data.get("heap"))
    equal(truth_of(out)["n_live_at_end"], 37, "the program")


def assert_rebuilt(c, folder, first):
    program, kept = folder / "program", folder / "kept"
    kept.mkdir()
    shutil.copy(first, program)
    shutil.copy(first, kept / "program")
    done = run_support.run([c.axprof, "run", "-q", "-o", "run.axp", "--",
                            program, "leak37"], folder, env=environment())
    equal(done.status, 0, done.err)

    def report(*options):
        out = run_support.run([c.axprof, "report", *options, "run.axp"],
                              folder, env=environment()).out.decode()
        return " ".join(out.split())

    def changed(*options):
        return [(w["name"], w["count"]) for w in json.loads(
            report("-f", "json", *options))["warnings"]
            if w["code"] == "changed_files"]
    equal(changed(), [], "as it was")
    program.unlink()
    equal(changed(), [], "gone")
    # A compiler may make the same of a program without frames as of a plain one.
    others = map(c.program, ("memory_program_no_frames",
                             "memory_program_frames"))
    shutil.copy(next(p for p in others if p.read_bytes() !=
                     first.read_bytes()), program)
    equal(changed(), [(str(program), 1)], "another")
    check("changed since it was recorded" in report(), report())
    equal(changed("--symbols", kept), [], "found elsewhere")


def test_rebuilt(c, folder):
    """Functions of a program that is another one by now have no names, and the
    report says so, unless it is shown where the old one is."""
    for name in ("memory_program", "memory_program_no_id"):
        inside = folder / name
        inside.mkdir()
        assert_rebuilt(c, inside, c.program(name))


def test_read_again(c, folder):
    """The file says what the run said."""
    report, file = folder / "report.json", folder / "kept.axp"
    done = run_support.run([c.axprof, "run", "-q", "-o", file, "--report",
                            report, "--", c.program(), "peak3"], folder,
                           env=environment())
    equal(done.status, 0, done.err)
    first = json.loads(report.read_text())["heap"]
    done = run_support.run([c.axprof, "report", "-f", "json", file], folder,
                           env=environment())
    equal(done.status, 0, done.err)
    equal(json.loads(done.out)["heap"], first, "the heap, read again")


TESTS = [test_leak, test_grow, test_cache, test_peak, test_churn, test_realloc,
         test_align, test_maps, test_usable, test_cpp, test_short_threads,
         test_foreign, test_mixed, test_peak_of_threads, test_signal,
         test_ending_threads, test_busy_at_exit, test_fork, test_unrecorded,
         test_jailed, test_library,
         test_out_of_memory, test_no_mapping, test_killed, test_cgroup,
         test_names, test_never_to_be_had, test_scopes, test_no_stacks,
         test_sampled, test_off, test_rebuilt, test_read_again]

if __name__ == "__main__":
    context = Context(*sys.argv[1:3])
    if not has_adapter(context):
        print("this axprof has no memory adapter")
        sys.exit(77)
    run_support.main(TESTS, context)
