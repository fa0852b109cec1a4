#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`axprof doctor`: the form of what it says, and what it finds in programs that
were built to have or to lack something.

  test_doctor.py AXPROF PROGRAMS [test ...]
"""
import os
import pathlib
import re
import sys

import run_support
from run_support import check, environment, equal, run


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()


def doctor(c, folder, *words):
    """{what: (mark, text)} and the exit status."""
    result = run([c.axprof, "doctor", *words], folder, env=environment())
    found, last = {}, None
    for line in result.out.decode().splitlines():
        match = re.fullmatch(r"(ok|better) {1,6} ?(.{14}) (.+)", line)
        if match:
            last = match.group(1)
            found[match.group(2).strip()] = (last, match.group(3))
        else:  # the advice
            check(last == "better" and re.match(r" {23}\S", line), line)
    return found, result


def test_machine(c, folder):
    found, result = doctor(c, folder)
    for what in ("clock", "processors", "/dev/shm", "memory limit",
                 "perf events", "ptrace", "symbols", "C++ names", "adapter"):
        check(what in found, what, "is missing:", result.out)
    if "tsc," in found["clock"][1]:  # of gigahertz
        check("less than 1 ns" in found["clock"][1], found["clock"])
    is_better = any(mark == "better" for mark, _ in found.values())
    equal(result.status, 1 if is_better else 0, "status")
    equal(list(folder.iterdir()), [], "files")


def program(c, folder, name):
    return doctor(c, folder, c.programs / name)[0]


def test_builds(c, folder):
    def mark(name, what):
        return program(c, folder, name)[what][0]
    equal(mark("run_program_static", "program"), "better", "static")
    equal(mark("run_program", "program"), "ok", "dynamic")
    equal(mark("run_program", "recording"), "better", "plain")
    equal(mark("run_program_hooks", "recording"), "ok", "with hooks")
    equal(mark("run_program_stripped", "debug info"), "better", "stripped")
    equal(mark("run_program_frames", "debug info"), "ok", "built with -g")
    equal(mark("run_program_frames", "frame pointers"), "ok", "frames")
    equal(mark("run_program_no_frames", "frame pointers"), "ok",
          "no frames")


def test_begins_with_the_program(c, folder):
    text = run([c.axprof, "doctor", c.programs / "run_program"],
               folder).out.decode()
    check(text.split()[1] == "program", text)


def test_script(c, folder):
    script = folder / "x.py"
    script.write_text("#!/usr/bin/env python3\n")
    script.chmod(0o755)
    _, result = doctor(c, folder, script)
    check(b"is a script for" in result.out, result.out)
    check(b"python3" in result.out, result.out)


def test_no_program(c, folder):
    _, result = doctor(c, folder, "nosuchcommand")
    equal(result.status, 1, "status")
    check(b"command not found" in result.err, result.err)


APART = ["unshare", "-Urm", "--", "sh", "-c",
         "mount -t tmpfs none /dev/shm && exec \"$@\"", "sh"]


def apart(c, folder, script):
    """A shell script with a /dev/shm of its own, which --clean may empty;
    None where that is not allowed."""
    if run(APART + ["true"], folder).status != 0:
        print("        no namespace: nothing is cleaned here")
        return None
    env = environment(AXPROF=str(c.axprof), PROGRAMS=str(c.programs),
                      TMPDIR=str(folder))
    return run(APART + ["sh", "-c", script], folder, env=env)


def test_spools(c, folder):
    """A killed program's spool is listed, packed, removed; one that is in use
    is left."""
    done = apart(c, folder, """
        kill_one() {
            AXPROF_OUT=$1 "$PROGRAMS"/record_program kill 10 >/dev/null 2>&1
        }
        "$AXPROF" doctor | grep spool
        kill_one a.axp
        echo -- killed
        "$AXPROF" doctor | grep -A1 spool
        "$AXPROF" pack a.axp
        ls /dev/shm
        echo -- packed
        kill_one b.axp
        rm b.axp
        "$AXPROF" doctor | grep -A1 spool
        AXPROF_OUT=c.axp "$PROGRAMS"/record_program serve 60000 >/dev/null &
        while [ $(ls /dev/shm | wc -l) -lt 2 ]; do sleep 0.05; done
        "$AXPROF" doctor --clean
        ls /dev/shm | wc -l
        "$AXPROF" doctor --clean
        kill -9 $!
    """)
    if done is None:
        return
    text = done.out.decode()
    size, name = r"[0-9.]+ [KM]B", "/dev/shm/axprof-[0-9a-f]{32}.spool"
    expected = (
        r"ok      spools         none is left behind, 0 in use\n"
        r"-- killed\n"
        rf"better  spool          {size} of process \d+, which has ended: "
        rf"{re.escape(str(folder))}/a.axp\n"
        rf" +axprof pack '{re.escape(str(folder))}/a.axp' moves it into the "
        r"recording\n"
        r"-- packed\n"
        rf"better  spool          {size} of process \d+, which has ended: its "
        r"recording is gone\n"
        r" +axprof doctor --clean removes it\n"
        rf"removed {name} \({size}, of {re.escape(str(folder))}/b.axp\)\n"
        r"1\n"
        r"nothing to remove\n")
    check(re.fullmatch(expected, text), "said:\n" + text, done.err.decode())


def test_folders(c, folder):
    """The folder of a killed run that was to keep nothing is listed, and
    removed with its spools."""
    os.mkfifo(folder / "fifo")
    os.mkfifo(folder / "held")  # its end: the program, too, is over
    done = apart(c, folder, """
        cat held &
        over=$!
        "$AXPROF" run --no-file -- "$PROGRAMS"/run_program cat <fifo >out 9>held &
        exec 3>fifo
        until grep -q ready out; do sleep 0.01; done
        until ls /dev/shm | grep -q spool; do sleep 0.01; done
        "$AXPROF" doctor | grep folder
        "$AXPROF" doctor --clean
        kill -9 $!
        wait $! 2>/dev/null
        exec 3>&-
        wait $over
        "$AXPROF" doctor | grep -A1 folder
        "$AXPROF" doctor --clean
        ls -d axprof-run-* /dev/shm/*.spool
        "$AXPROF" doctor --clean
    """)
    if done is None:
        return
    text = done.out.decode()
    name = rf"{re.escape(str(folder))}/axprof-run-\w{{6}}"
    check(re.fullmatch(
        r"nothing to remove\n"
        rf"better  folder         [0-9.]+ [KM]?B of a run without a file that "
        rf"was killed: {name}\n"
        r" +axprof doctor --clean removes it\n"
        rf"removed {name} \([0-9.]+ [KM]?B\)\n"
        r"nothing to remove\n", text), "said:\n" + text, done.err.decode())


def test_one_program(c, folder):
    done = run([c.axprof, "doctor", "true", "false"], folder, env=environment())
    equal((done.status, done.out), (2, b""), done.err)
    check(b"one program at a time" in done.err, done.err)


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
