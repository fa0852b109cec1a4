#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where verbs write: files that appear when complete, devices, pipes that
close, places that cannot be written to.

  test_output.py AXPROF PROGRAMS [test ...]
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

import run_support
from run_support import check, environment, equal, give_up_override, run


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()


def record(c, folder, words=("scopes", 1000), name="x.axp"):
    result = run([c.programs / "record_program", *words], folder,
                 env=environment(AXPROF_OUT=str(folder / name)))
    equal(result.status, 0, result.err)
    return folder / name


def axprof(c, folder, *words):
    return run([c.axprof, *words], folder, env=environment())


def others(folder):
    return sorted(p.name for p in folder.iterdir() if p.name != "x.axp")


def test_same_bytes(c, folder):
    """To a file, to standard output by default and by name."""
    file = record(c, folder)
    for form in ("json", "markdown", "text"):
        plain = axprof(c, folder, "report", "-f", form, file)
        equal(plain.status, 0, plain.err)
        dash = axprof(c, folder, "report", "-f", form, "-o", "-", file)
        equal(dash.out, plain.out, "-o -")
        done = axprof(c, folder, "report", "-f", form, "-o", "r", file)
        equal((done.status, done.out, done.err), (0, b"", b""), "-o r")
        equal((folder / "r").read_bytes(), plain.out, "-o r")
        (folder / "r").unlink()
    json.loads(axprof(c, folder, "report", "-f", "json", file).out)


def test_ending_chooses(c, folder):
    file = record(c, folder)
    axprof(c, folder, "report", file, "-o", "r.json")
    json.loads((folder / "r.json").read_text())
    axprof(c, folder, "report", file, "-o", "r.md")
    check((folder / "r.md").read_text().startswith("> "), "Markdown")


def test_replaces(c, folder):
    """The old file's mode stays, and a link's target is replaced."""
    file = record(c, folder)
    old = folder / "old.txt"
    old.write_text("before")
    old.chmod(0o640)
    (folder / "link.txt").symlink_to("old.txt")
    done = axprof(c, folder, "report", file, "-o", "link.txt")
    equal(done.status, 0, done.err)
    check((folder / "link.txt").is_symlink(), "the link is still one")
    check("before" not in old.read_text(), "replaced")
    equal(stat.S_IMODE(old.stat().st_mode), 0o640, "mode")


def test_failure_leaves_what_was_there(c, folder):
    file = record(c, folder)
    (folder / "r.txt").write_text("before")
    file.write_bytes(file.read_bytes()[:50])
    done = axprof(c, folder, "report", file, "-o", "r.txt")
    equal(done.status, 1, "status")
    equal((folder / "r.txt").read_text(), "before", "the old report")
    equal(others(folder), ["r.txt"], "half files")


def test_cannot_write(c, folder):
    file = record(c, folder)
    for path, words in (("no/such/r.txt", "make the folder first"),
                        (".", "Is a directory; name a file in it"),
                        ("/dev/full", "No space left")):
        done = axprof(c, folder, "report", file, "-o", path)
        equal(done.status, 1, path)
        check(words in done.err.decode(), path, done.err)
    equal(others(folder), [], "half files")
    done = run(["sh", "-c", f"'{c.axprof}' report -f json '{file}' "
                ">/dev/full"], folder, env=environment())
    equal(done.status, 1, "standard output is full")
    check(b"No space left" in done.err, done.err)
    for words in ("--help", "--version", f"info '{file}'", "run --list"):
        done = run(["sh", "-c", f"'{c.axprof}' {words} >/dev/full"], folder,
                   env=environment())
        equal(done.status, 1, words)
        check(b"cannot write standard output: No space left" in done.err,
              words, done.err)


def test_says_what_to_do(c, folder):
    """Every format, when there is no room: the file, the reason, the advice."""
    # Steps that take time: of empty scopes nothing may be left that is theirs,
    # and then there are no folded stacks to write.
    file = record(c, folder, ("steps", 3, 1))
    for form in ("perfetto", "chrome", "speedscope", "folded", "pprof",
                 "memory-viz", "openmetrics", "csv-ops", "csv-events", "json"):
        done = axprof(c, folder, "export", "-f", form, file, "-o", "/dev/full")
        equal(done.status, 1, form)
        equal(done.err, b"axprof export: cannot write /dev/full: No space left "
              b"on device; make room, or choose another disk with -o\n", form)


def test_limit_on_files(c, folder):
    """ulimit -f ends no program, and leaves no half file."""
    file = record(c, folder)
    for verb, form in (("export", "chrome"), ("report", "html")):
        done = run(["sh", "-c", "ulimit -f 64 && exec "
                    f"'{c.axprof}' {verb} -f {form} '{file}' -o out"], folder,
                   env=environment())
        equal(done.status, 1, verb)
        check(b"ulimit -f" in done.err, verb, done.err)
    equal(others(folder), [], "half files")


def test_keeps_the_recording(c, folder):
    """What is read is not written over, under whatever name."""
    file = record(c, folder)
    before = file.read_bytes()
    (folder / "link").symlink_to("x.axp")
    for words in (["export", "-f", "chrome"], ["report"]):
        for path in ("x.axp", "./x.axp", "link"):
            done = axprof(c, folder, *words, file, "-o", path)
            equal(done.status, 2, path)
            check(b"is the recording itself" in done.err, done.err)
    check(file.read_bytes() == before, "it changed")


def test_no_right(c, folder):
    file = record(c, folder)
    (folder / "locked").mkdir(mode=0o555)
    for words in (["export", "-f", "chrome"], ["report"]):
        done = run([c.axprof, *words, file, "-o", "locked/x"], folder,
                   env=environment(), preexec_fn=give_up_override)
        equal(done.status, 1, "status")
        check(b"cannot write locked/x: Permission denied; choose a place" in
              done.err, done.err)
    equal(list((folder / "locked").iterdir()), [], "half files")


def interrupt_export(c, folder, file, number):
    """True if the signal came while the file was being written."""
    process = subprocess.Popen(
        [c.axprof, "export", "-f", "chrome", "-o", "out.json", file],
        cwd=folder, stderr=subprocess.PIPE, env=environment())
    while process.poll() is None and not list(folder.glob("out.json.*")):
        time.sleep(0.001)
    process.send_signal(number)
    error = process.stderr.read()
    process.wait()
    if process.returncode == 0:
        (folder / "out.json").unlink()
        return False
    equal((process.returncode, error), (-number, b""), "status")
    return True


def test_interrupted(c, folder):
    """Ctrl-C and its like leave nothing behind."""
    result = run([c.programs / "record_program", "scopes", 300000], folder,
                 env=environment(AXPROF_OUT=str(folder / "x.axp")))
    equal(result.status, 0, result.err)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        hit = any(interrupt_export(c, folder, folder / "x.axp", number)
                  for _ in range(20))
        check(hit, "never in time")
        equal(others(folder), [], number)


def on_terminal(c, folder, columns, *words, **more):
    """What a command writes on a terminal so wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, columns, 0, 0))
    env = environment(TERM="xterm", **more)
    if "NO_COLOR" not in more:
        env.pop("NO_COLOR", None)
    process = subprocess.Popen([c.axprof, *words], cwd=folder, env=env,
                               stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # closed at the other end
            break
        if not part:
            break
        text += part
    os.close(ours)
    equal(process.wait(), 0, text)
    return text.decode().replace("\r\n", "\n")


def test_terminal(c, folder):
    """Width and colour follow the terminal; NO_COLOR and pipes have none."""
    file = record(c, folder)
    plain = axprof(c, folder, "report", file).out.decode()
    check("\x1b" not in plain, "colour in a pipe")
    for columns in (60, 80, 120):
        shown = on_terminal(c, folder, columns, "report", file)
        check("\x1b[" in shown, "no colour on a terminal")
        bare = on_terminal(c, folder, columns, "report", file, NO_COLOR="1")
        check("\x1b" not in bare, "NO_COLOR")
        equal(re.sub(r"\x1b\[[0-9;]*m", "", shown), bare, "but for colour")
        equal(max(map(len, bare.splitlines())), columns, "width")
        if columns == 80:
            equal(bare, plain, "as in a pipe")
    shown = on_terminal(c, folder, 80, "report", "--color", "never", file)
    check("\x1b" not in shown, "--color never")
    colored = axprof(c, folder, "report", "--color", "always", file).out
    check(b"\x1b[" in colored, "--color always")
    equal(on_terminal(c, folder, 80, "report", file, "-o", "r.txt"), "", "-o")
    check("\x1b" not in (folder / "r.txt").read_text(), "colour in a file")


def most_memory(c, folder, *words):
    """KiB that a command had at its largest."""
    done = run([c.programs / "peak_of", c.axprof, *words], folder,
               env=environment())
    equal((done.status, done.err), (0, b""), words)
    return int(done.out)


def grown(c, folder):
    """What takes more memory for a recording five times as long."""
    names = ("small", "large")
    # 4 events each; the small one has blocks of full size as well
    for name, scopes in zip(names, (500000, 2500000)):
        for old in folder.glob(f"*{name}.axp"):
            old.unlink()
        result = run([c.programs / "record_program", "scopes", scopes], folder,
                     env=environment(AXPROF_OUT=str(folder / f"{name}.axp")))
        equal(result.status, 0, result.err)
        equal(axprof(c, folder, "pack", f"{name}.axp", "-o",
                     f"packed-{name}.axp").status, 0, "pack")
    raw = ("perfetto", "folded")
    packed = ("perfetto", "chrome", "speedscope", "json", "csv-events",
              "memory-viz")
    found = []
    for stem, forms, most in (("", raw, 600), ("packed-", packed, 2000)):
        for words in [("export", "-f", form, "-o", "/dev/null")
                      for form in forms] + [("report",), ("info",)]:
            small, large = (most_memory(c, folder, *words, f"{stem}{name}.axp")
                            for name in names)
            if large >= small + most:
                found.append((stem, words, small, "KiB and", large))
    return found


def test_memory_does_not_grow(c, folder):
    """Five times the events, the same memory: of a packed file all that there
    is by event, and of one that holds chunks as they were recorded, 5,000
    blocks, all that there is by block. How well times pack, and so the largest
    block, depends on what else the machine does, by up to 1.2 MB seen, and as
    little where the larger one is five times as long again: a byte for each
    event would be 8 MB. Growth shows every time."""
    if b"__asan_init" in c.axprof.read_bytes():
        print("        not measured: the address sanitizer keeps what is freed")
        return
    check(any(not (found := grown(c, folder)) for _ in range(3)), found)


def test_device(c, folder):
    file = record(c, folder)
    done = axprof(c, folder, "report", file, "-o", "/dev/null")
    equal((done.status, done.err), (0, b""), "/dev/null")
    check(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null is there")


def test_closed_pipe(c, folder):
    """Quiet, whether or not whoever started us ignores SIGPIPE."""
    file = record(c, folder)
    for restore in (True, False):
        process = subprocess.Popen(
            [c.axprof, "export", "-f", "json", "-o", "-", file],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(), restore_signals=restore)
        process.stdout.read(1)
        process.stdout.close()
        error = process.stderr.read()
        process.wait()
        equal(error, b"", "standard error")
        check(process.returncode in (-13, 0), process.returncode)


def test_unknown_format(c, folder):
    file = record(c, folder)
    done = axprof(c, folder, "export", "-f", "perfeto", file)
    equal(done.status, 2, "status")
    check(b"did you mean perfetto?" in done.err and b"speedscope" in done.err,
          done.err)


def test_file_verbs(c, folder):
    file = record(c, folder)
    done = axprof(c, folder, "info", file)
    equal(done.status, 0, done.err)
    check(b"record_program" in done.out and b"2000 scopes" in done.out,
          done.out)
    alone = record(c, folder, ("rest", 1, 1, 0), "alone.axp")
    done = axprof(c, folder, "info", alone)
    check(b" 1 thread, 0 tracks\n" in done.out and b", 1 step\n" in done.out and
          b" 0 allocations," in done.out, done.out)
    done = axprof(c, folder, "report", "-f", "markdown", alone)
    check(b", 1 step of " in done.out, done.out)
    done = axprof(c, folder, "check", file)
    equal((done.status, done.err), (0, b""), "check")
    check(b"x.axp: sound" in done.out, done.out)
    done = axprof(c, folder, "pack", file, "-o", "packed.axp")
    equal(done.status, 0, done.err)
    check((folder / "packed.axp").stat().st_size < file.stat().st_size,
          "smaller")
    done = axprof(c, folder, "pack", file, "-o", "packed.axp")
    equal(done.status, 1, "an existing file")
    check(b"exists" in done.err, done.err)
    a = axprof(c, folder, "report", "-f", "json", file).out
    b = axprof(c, folder, "report", "-f", "json", "packed.axp").out
    equal(b, a, "the same report")


def test_same_recording_twice(c, folder):
    """Named twice, or with a packed copy of it beside it (*.axp): nothing is
    counted twice."""
    file = record(c, folder)
    equal(axprof(c, folder, "pack", file, "-o", "y.axp").status, 0, "pack")
    for files in (("x.axp", "x.axp"), ("x.axp", "y.axp")):
        for words in (("report",), ("export", "-f", "folded")):
            done = axprof(c, folder, *words, *files)
            equal((done.status, done.out), (2, b""), words)
            equal(done.err.decode().partition(": ")[2],
                  f"{files[0]} and {files[1]} are the same recording; name it "
                  "once\n", words)


def test_no_recordings(c, folder):
    (folder / "notes.txt").write_text("x" * 4096)
    for name, status, words in (
            ("", 2, b"an empty name; give a recording"),
            ("-", 2, b"recordings cannot be read from standard input"),
            ("notes.txt", 1, b"notes.txt is no trace of axprof; recordings "
             b"end in .axp")):
        for verb in ("report", "info", "check"):
            done = axprof(c, folder, verb, name)
            equal((done.status, done.out), (status, b""), name)
            check(words in done.err, name, done.err)


def test_check_finds_damage(c, folder):
    file = record(c, folder)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    done = axprof(c, folder, "check", file)
    equal(done.status, 1, "status")
    check(b"wrong" in done.err, done.out, done.err)


def test_ascii(c, folder):
    """Where the locale is none of UTF-8, text is ASCII."""
    file = record(c, folder)
    for env, is_plain in ((dict(LC_ALL="C"), True),
                          (dict(LC_ALL="C.UTF-8"), False)):
        for form in ("text", "markdown"):
            done = run([c.axprof, "report", "-f", form, file], folder,
                       env=environment(**env))
            equal(done.status, 0, done.err)
            equal(done.out.isascii(), is_plain, (form, env, done.out[:400]))


def names_body(data):
    """Where the body of the first NAMES block is."""
    at = 128
    while True:
        kind, = struct.unpack_from("<H", data, at + 4)
        length, = struct.unpack_from("<Q", data, at + 8)
        if kind == 2 and length:
            return at + 64
        at += 64 + (length + 7) // 8 * 8


def test_damage_is_said(c, folder):
    """A byte of the names: the report is written, and ends with 3."""
    file = record(c, folder)
    whole = file.read_bytes()
    data = bytearray(whole)
    data[names_body(data) + 3] ^= 0x20
    file.write_bytes(data)
    for verb in (("report",), ("report", "-f", "json"), ("export", "-f", "folded"),
                 ("export", "-f", "chrome", "-o", "out.json")):
        done = axprof(c, folder, *verb, file)
        equal(done.status, 3, verb)
        check(b"damaged" in done.err, verb, done.err)
    done = axprof(c, folder, "pack", file)
    equal(done.status, 3, "in place")
    equal(file.read_bytes(), bytes(data), "nothing is given up")
    done = axprof(c, folder, "pack", "-o", "rest.axp", file)
    equal(done.status, 3, "to another file")
    for verb in ("check", "report"):
        equal(axprof(c, folder, verb, "rest.axp").status, 3, verb)
    file.write_bytes(whole)
    equal(axprof(c, folder, "report", file).status, 0, "mended")


def timeline_blocks(data):
    """Where blocks of the timeline begin, those of chunks and of packs."""
    found = {}
    for at in range(128, len(data) - 64, 8):
        kind, = struct.unpack_from("<H", data, at + 4)
        if data[at:at + 4] == b"AXPB" and kind in (4, 5):
            found.setdefault(kind, at)
    return found


def give_up_nothing(c, folder, file, *about):
    """A recording that is damaged is not packed away, and what is left of it
    says so."""
    before = file.read_bytes()
    done = axprof(c, folder, "export", "-f", "chrome", "-o", "out.json", file)
    equal(done.status, 3, (about, done.err))
    done = axprof(c, folder, "pack", file)
    equal(done.status, 3, (about, "in place", done.err))
    equal(file.read_bytes() == before, True, (about, "all is there still"))
    done = axprof(c, folder, "pack", "-o", "rest.axp", file)
    equal(done.status, 3, (about, "to another file", done.err))
    for verb in ("check", "report"):
        done = axprof(c, folder, verb, "rest.axp")
        equal(done.status, 3, (about, verb, done.err))
    (folder / "rest.axp").unlink()


def test_damage_in_the_timeline(c, folder):
    """Of what a chunk or a pack of them holds, and of what says that it is
    one."""
    file = record(c, folder)
    done = axprof(c, folder, "run", "-q", "--without", "machine", "-o",
                  "packed.axp", "--", c.programs / "record_program", "scopes",
                  1000)
    equal(done.status, 0, done.err)
    kinds = set()
    for path in (file, folder / "packed.axp"):
        whole = path.read_bytes()
        for kind, at in timeline_blocks(whole).items():
            kinds.add(kind)
            for byte in (at, at + 20, at + 64 + 9):
                data = bytearray(whole)
                data[byte] ^= 1
                path.write_bytes(data)
                give_up_nothing(c, folder, path, path.name, kind, byte - at)
    equal(kinds, {4, 5}, "blocks of both kinds")


def test_damage_in_samples(c, folder):
    """Reports and exports that would use them say so."""
    done = axprof(c, folder, "run", "-q", "--without", "all",
                  "--without", "machine", "-o", "x.axp", "--", "sh", "-c",
                  "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done")
    equal(done.status, 0, done.err)
    file = folder / "x.axp"
    whole = file.read_bytes()
    for at in range(128, len(whole) - 64, 8):
        kind, = struct.unpack_from("<H", whole, at + 4)
        if whole[at:at + 4] != b"AXPB" or kind not in (8, 10):
            continue
        data = bytearray(whole)
        data[at + 64 + 5] ^= 1
        file.write_bytes(data)
        for verb in (("report",), ("export", "-f", "folded")):
            done = axprof(c, folder, *verb, file)
            equal(done.status, 3, (verb, kind, done.err))


def test_cut_files(c, folder):
    """What is missing is said, and a clean file of the rest is not sound."""
    file = record(c, folder)
    whole = file.read_bytes()
    for length in (128, 200, len(whole) // 2):
        file.write_bytes(whole[:length])
        done = axprof(c, folder, "report", file)
        check(done.status in (1, 3), length, done.status)
        done = axprof(c, folder, "pack", "-o", f"{length}.axp", file)
        equal(done.status, 3, (length, done.err))
        done = axprof(c, folder, "check", f"{length}.axp")
        check(done.status != 0 and b": sound" not in done.out, length, done.out)


def test_no_parts(c, folder):
    """A folder of parts that has none is no recording to fall back on."""
    (folder / "x.axp.parts").mkdir()
    for verb in ("report", "info"):
        done = run([c.axprof, verb, "x.axp"], folder, env=environment())
        equal(done.status, 1, done.err)
        check(b"no other .axp beside it" in done.err, done.err)


def test_hole(c, folder):
    """As a file system may leave one: it is not read to its end, which would
    take an hour."""
    file = record(c, folder)
    for length in (1 << 44, 1 << 40, 1 << 36):
        try:
            os.truncate(file, length)
            break
        except OSError:
            continue
    for words in (["info"], ["report"], ["pack", "-o", "y.axp"]):
        done = subprocess.run([c.axprof, *words, file], cwd=folder,
                              env=environment(), capture_output=True,
                              timeout=60)
        equal(done.returncode, 0, (words, done.stderr))


def test_cut_index(c, folder):
    """All that was recorded is there: it is said, and packing mends it."""
    file = record(c, folder)
    file.write_bytes(file.read_bytes()[:-100])
    for verb, codes in (("report", {"cut_index"}), ("pack", set()),
                        ("report", set())):
        done = axprof(c, folder, verb, *(["-f", "json"] * (verb == "report")),
                      file)
        equal(done.status, 0, (verb, done.err))
        if verb == "report":
            found = {w["code"] for w in json.loads(done.out)["warnings"]}
            equal(found & {"cut_index", "cut_file"}, codes, "warnings")
    equal(axprof(c, folder, "check", file).status, 0, "check")


def test_no_control_characters(c, folder):
    """Of names of files, too."""
    file = record(c, folder)
    evil = folder / "a\x1b]0;b\x07c.axp"
    file.rename(evil)
    for verb in ("check", "info", "report", "pack"):
        done = axprof(c, folder, verb, evil)
        check(b"\x1b" not in done.out + done.err, verb, done.out, done.err)
    data = evil.read_bytes()
    evil.write_bytes(data[:len(data) // 2])
    for verb in ("check", "info", "report", "pack"):
        done = axprof(c, folder, verb, evil)
        check(b"\x1b" not in done.out + done.err, verb, done.out, done.err)


def test_arguments(c, folder):
    """Secrets are not stored, and nothing is where nothing is wanted."""
    for more, there, hidden in (
            ({}, [b"1000", b"--token=***"], [b"hunter2"]),
            ({"AXPROF_ARGS": "0"}, [b"record_program"], [b"hunter2", b"scopes\x1f"])):
        file = folder / "x.axp"
        result = run([c.programs / "record_program", "scopes", 1000,
                      "--token=hunter2"], folder,
                     env=environment(AXPROF_OUT=str(file), **more))
        equal(result.status, 0, result.err)
        done = axprof(c, folder, "info", file)
        for words in there:
            check(words in done.out, words, done.out)
        for words in hidden:
            check(words not in file.read_bytes(), words)
        file.unlink()
    run([c.axprof, "run", "-q", "--no-args", "--output", "y.axp", "--",
         c.programs / "record_program", "scopes", "1000", "--token=hunter2"],
        folder, env=environment())
    for path in folder.glob("*.axp"):
        check(b"hunter2" not in path.read_bytes(), path)
        check(b"scopes\x1f" not in path.read_bytes(), path)


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
