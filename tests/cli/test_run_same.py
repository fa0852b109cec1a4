# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a program does is the same under axprof run: programs that its adapters,
its timer and its samples could disturb. Each is run plainly, with the kernel's
samples, with the timer that is there where those are refused, and with all
adapters at once; output and status must be the same.

  test_run_same.py AXPROF PROGRAMS [test ...]
"""
import json
import pathlib
import sys

import run_support
from run_support import check, equal, environment, run, spools


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()


def assert_same(c, folder, *words, program="same_program", status=0, more=(),
                env=environment()):
    command = [c.programs / program, *words]
    plain = run(command, folder, env=env)
    equal(plain.status, status, plain.err)
    ways = {"with samples": [c.axprof],
            "with a timer": [c.programs / "deny_perf", c.axprof],
            "without samples": [c.axprof]}
    for way, start in ways.items():
        options = ["--sample", "off"] if way == "without samples" else []
        options += more
        done = run([*start, "run", "-q", "--no-file", *options, "--", *command],
                   folder, env=env)
        equal((done.status, done.out), (plain.status, plain.out),
              f"{words} {way}: {done.err}")
        equal(spools(folder), [], "spools that were left")


def test_handlers(c, folder):
    assert_same(c, folder, "handlers")


def test_pending(c, folder):
    assert_same(c, folder, "pending")


def test_directed(c, folder):
    assert_same(c, folder, "directed")


def test_vfork(c, folder):
    assert_same(c, folder, "vfork")


def test_cancelled(c, folder):
    assert_same(c, folder, "cancelled")


def test_pointers(c, folder):
    """What the kernel refuses to read is not read before."""
    assert_same(c, folder, "pointers")


def test_fork(c, folder):
    assert_same(c, folder, "fork")


def test_timers(c, folder):
    assert_same(c, folder, "timers")


def test_killed(c, folder):
    assert_same(c, folder, "killed")


def test_namespace(c, folder):
    """No child of ours becomes the first process of the program's namespace."""
    assert_same(c, folder, "namespace")


def test_filter(c, folder):
    """No system call beside those that a program with a heap needs itself."""
    assert_same(c, folder, "filter")


def test_sandbox(c, folder):
    """Who sets a filter is asked nothing of the kernel for from then on."""
    for how in ("prctl", "syscall"):
        assert_same(c, folder, "sandbox", how, status=4)
        assert_same(c, folder, "sandbox", how + "-exit", status=5)


def test_sandbox_and_part(c, folder):
    """Nor at the first event after the part of the run that is recorded."""
    for how in ("prctl", "syscall"):
        assert_same(c, folder, "sandbox", how + "-part", status=6,
                    more=["--duration", "400ms"])


def test_sandbox_and_thread(c, folder):
    """Nor by a thread that was recorded before, and ends."""
    for how in ("prctl", "syscall"):
        assert_same(c, folder, "sandbox", how + "-thread", status=7)


def test_sandbox_and_clone(c, folder):
    """Nor by a child that the kernel made, and no handler of fork knows."""
    for how in ("prctl", "syscall"):
        assert_same(c, folder, "sandbox", how + "-clone", status=8)


def test_sandbox_and_start(c, folder):
    """Nor by programs that it starts, from inside the C library as well; what
    the user has preloaded they have."""
    theirs = environment(LD_PRELOAD=str(c.programs / "libpreloaded.so"))
    for how in ("prctl", "syscall"):
        assert_same(c, folder, "sandbox", how + "-start", status=10)
        assert_same(c, folder, "sandbox", how + "-start", status=10,
                    env=theirs)


def test_sandbox_and_vfork(c, folder):
    """Nor by a program that a child of vfork becomes, which has set its own."""
    for how in ("prctl", "syscall"):
        assert_same(c, folder, "sandbox", how + "-vfork", status=11)


def test_sandbox_of_all(c, folder):
    """Nor by another thread, which was about to when the filter was set, or in a
    handler of ours, whose end is a system call."""
    for _ in range(2):
        assert_same(c, folder, "sandbox", "syscall-all", status=12)


def test_sandbox_is_said(c, folder):
    done = run([c.axprof, "run", "--report", "r.json", "--no-file", "--",
                c.programs / "same_program", "sandbox", "prctl"], folder,
               env=environment())
    check(b"set a filter of system calls" in done.err, done.err)
    data = json.loads((folder / "r.json").read_text())
    equal([w["count"] for w in data["warnings"]
           if w["code"] == "unrecorded_processes"], [1], data["warnings"])


def test_arenas(c, folder):
    """A thread that allocates nothing has no arena of malloc's."""
    assert_same(c, folder, program="arena_program")


def test_openmp_runtimes(c, folder):
    libraries = sorted(c.programs.glob("libomp_*.so"))
    if not libraries:
        print("        (no OpenMP here)")
        return
    assert_same(c, folder, "runtimes", *libraries)
    if len(libraries) > 1:
        assert_same(c, folder, "runtimes", *reversed(libraries))


def test_openmp_library_of_the_program(c, folder):
    if not (c.programs / "same_program_linked").exists():
        print("        (no OpenMP here)")
        return
    assert_same(c, folder, "linked", program="same_program_linked")


if __name__ == "__main__":
    run_support.main([test_handlers, test_pending,
                      test_directed, test_vfork,
                      test_cancelled, test_pointers,
                      test_fork, test_timers, test_killed, test_namespace, test_filter,
                      test_sandbox, test_sandbox_and_part,
                      test_sandbox_and_thread, test_sandbox_and_clone,
                      test_sandbox_and_start, test_sandbox_and_vfork,
                      test_sandbox_of_all,
                      test_sandbox_is_said,
                      test_arenas, test_openmp_runtimes,
                      test_openmp_library_of_the_program],
                     Context(*sys.argv[1:3]))
