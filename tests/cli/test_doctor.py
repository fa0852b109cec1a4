#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`axprof doctor`: the form of what it says, and what it finds in programs that
were built to have or to lack something.

  test_doctor.py AXPROF PROGRAMS [test ...]
"""
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
    equal(mark("run_program_no_frames", "frame pointers"), "better",
          "no frames")


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


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
