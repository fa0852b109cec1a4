#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the commands in a transcript and compares what they print.

  test_transcripts.py [--update] AXPROF TRANSCRIPT...

A transcript holds commands, each with its output (both streams) beside it:

    $ axprof reprot x
    axprof: no verb "reprot"; did you mean report?
    [2]

A line "[N]" is the exit status where it is not 0. Lines that begin with "#"
are comments. A line that ends with " (re)" is a regular expression. Each
transcript runs in an empty folder of its own, with sh, and with AXPROF as
`axprof` on the path; TESTS is the folder of the transcripts. --update writes
what was printed into the transcript, to be read before it is committed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 60


def read_transcript(path):
    """[(text before, command or None, expected lines)]"""
    cases, command, before, expected = [], None, [], []
    for line in path.read_text().splitlines():
        if line.startswith("$ ") or line.startswith("#") or \
                (not line and command is None):
            if command is not None:
                cases.append((before, command, expected))
                before, command, expected = [], None, []
            if line.startswith("$ "):
                command = line[2:]
            else:
                before.append(line)
        elif command is None:
            sys.exit(f"{path}: a line before the first command: {line}")
        else:
            expected.append(line)
    if command is not None:
        cases.append((before, command, expected))
    return cases


def run(command, folder, environment):
    """The lines it printed, and its status as a last one."""
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    if done.returncode:
        lines.append(f"[{done.returncode}]")
    return lines


def matches(expected, line):
    if expected.endswith(" (re)"):
        return re.fullmatch(expected[:-5], line) is not None
    return expected == line


def same(expected, lines):
    return len(expected) == len(lines) and all(map(matches, expected, lines))


def environment_for(axprof, path, folder):
    tools = pathlib.Path(folder) / "bin"
    tools.mkdir()
    (tools / "axprof").symlink_to(axprof)
    keep = {k: v for k, v in os.environ.items()
            if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "HOME")}
    return dict(keep, PATH=f"{tools}:/usr/bin:/bin", LC_ALL="C.UTF-8",
                TESTS=str(path.parent), AXPROF_MACHINE="off")


def run_transcript(axprof, path, update):
    failures, printed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_for(axprof, path, folder)
        work = pathlib.Path(folder) / "work"
        work.mkdir()
        for before, command, expected in read_transcript(path):
            lines = run(command, work, environment)
            good = same(expected, lines)
            printed += before + ["$ " + command] + (expected if good else lines)
            if good:
                continue
            failures += 1
            if not update:
                print(f"{path.name}: $ {command}")
                print("".join(f"  expected: {l}\n" for l in expected), end="")
                print("".join(f"  printed:  {l}\n" for l in lines), end="")
    if update:
        path.write_text("\n".join(printed) + "\n")
        return 0
    return failures


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    axprof, *paths = [a for a in arguments if a != "--update"]
    if not paths:
        sys.exit("no transcript given")
    axprof = pathlib.Path(axprof).resolve()
    failures = sum(run_transcript(axprof, pathlib.Path(p).resolve(), update)
                   for p in paths)
    sys.exit(1 if failures else 0)


main()
