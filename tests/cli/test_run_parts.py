#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run is one file, whatever its processes do: they end by _exit, have pids
of another namespace, go on, are killed, leave empty files; and who is alive is
told by locks.

  test_run_parts.py AXPROF PROGRAMS [test ...]
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys

import run_support
from run_support import (calls, check, end, environment, equal, give_up_override,
                         has_samples, numbers_of, profile, recordings, run, spools, start,
                         wait_for, wait_for_files, warnings)


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="record_program"):
        return self.programs / name


def report(c, folder, *files, status=0):
    done = run([c.axprof, "report", "-f", "json", *files], folder,
               env=environment())
    equal(done.status, status, done.err)
    return json.loads(done.out)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def alone(part):
    """A recording that none follows."""
    head = part[:100] + bytes(4) + part[104:124]
    return head + struct.pack("<I", crc32c(head)) + part[128:]


def split(path):
    """The recordings in a file, by their trailers, as files of their own."""
    data, parts = path.read_bytes(), []
    while data:
        length = struct.unpack_from("<Q", data, len(data) - 64 + 16)[0]
        parts.insert(0, data[-length:])
        data = data[:-length]
    paths = []
    for i, part in enumerate(parts):
        paths.append(path.with_name(f"split{i}.axp"))
        equal(struct.unpack_from("<I", part, 100)[0], len(parts) - 1 - i,
              "recordings after it")
        paths[-1].write_bytes(alone(part))
    return paths


# ---- one file --------------------------------------------------------------

def test_reads_as_its_parts(c, folder):
    data, files = profile(c, folder, c.program(), "workers", 4, 1000)
    equal(len(files), 1, "files")
    parts = split(folder / files[0])
    equal(len(parts), 6 + has_samples(data), "parts")
    for form in ("json", "text", "html"):
        one, many = (run([c.axprof, "report", "-f", form, *paths], folder,
                         env=environment()).out
                     for paths in ([files[0]], parts))
        equal(one, many, form)
    (folder / "cat.axp").write_bytes(b"".join(p.read_bytes() for p in parts))
    one, cat = (run([c.axprof, "report", "-f", "json", path], folder,
                    env=environment()).out for path in (files[0], "cat.axp"))
    equal(one, cat, "as cat would make it")


def test_cut_file(c, folder):
    """What is whole of it is read, wherever it was cut, and it says what was
    cut off. Of the index alone: nothing is missing then."""
    _, files = profile(c, folder, c.program(), "workers", 4, 1000)
    data = (folder / files[0]).read_bytes()
    last = data.rindex(data[:8])  # where the last of its recordings begins
    for length, status, code in ((len(data) - 1, 0, "cut_index"),
                                 (last + 1000, 3, "folded_again")):
        (folder / "cut.axp").write_bytes(data[:length])
        there = report(c, folder, "cut.axp", status=status)
        check(0 < calls(there, "outer") <= 5000, length, there["ops"])
        check(code in warnings(there), length, there["warnings"])
        if not status:
            equal(calls(there, "outer"), 5000, "calls")


def test_cut_between(c, folder):
    """A file that has some of its recordings, and these whole, or all but
    their index, says how many are missing; so does what is packed of it."""
    _, files = profile(c, folder, c.program(), "workers", 4, 1000)
    sizes = [p.stat().st_size for p in split(folder / files[0])]
    data = (folder / files[0]).read_bytes()
    for kept in range(1, len(sizes)):
        for less in (0, 1, 64):
            (folder / "cut.axp").write_bytes(data[:sum(sizes[:kept]) - less])
            there = report(c, folder, "cut.axp", status=3)
            equal([w["count"] for w in there["warnings"]
                   if w["code"] == "missing_recordings"],
                  [len(sizes) - kept], there["warnings"])
    done = run([c.axprof, "pack", "cut.axp", "-o", "packed.axp"], folder,
               env=environment())
    equal(done.status, 3, done.err)
    check("missing_recordings" in warnings(
        report(c, folder, "packed.axp", status=3)), "packed")


def test_damaged_part(c, folder):
    """What is left of it may be written elsewhere; in place nothing is given up."""
    _, files = profile(c, folder, c.program(), "workers", 2, 20000)
    parts = folder / "y.axp.parts"
    parts.mkdir()
    for i, path in enumerate(split(folder / files[0])):
        data = bytearray(path.read_bytes())
        path.unlink()
        if i == 0:
            data[len(data) // 2] ^= 1
        (parts / f"{100 + i}.axp").write_bytes(data)
    was = {p.name: p.read_bytes() for p in parts.iterdir()}
    done = run([c.axprof, "pack", "y.axp"], folder, env=environment())
    equal(done.status, 3, done.err)
    equal({p.name: p.read_bytes() for p in parts.glob("*.axp")}, was, "parts")
    check(not (folder / "y.axp").exists(), "a file of what is left")
    done = run([c.axprof, "pack", "y.axp", "-o", "z.axp"], folder,
               env=environment())
    check((folder / "z.axp").exists(), done.err)


def test_output_names_the_recording(c, folder):
    done = run([c.axprof, "run", "-q", "-o", "x.axp", "--report", "r.json",
                "--", c.program(), "scopes", "10"], folder, env=environment())
    equal(done.status, 0, done.err)
    equal(sorted(p.name for p in folder.iterdir()), ["r.json", "x.axp"],
          "files")
    equal(calls(json.loads((folder / "r.json").read_text()), "outer"), 10,
          "the report")
    done = run([c.axprof, "run", "-o", "r.html", "--", "true"], folder,
               env=environment())
    equal(done.status, 125, "-o report.html")
    check(b"--report r.html" in done.err, done.err)
    for options, words in ((("-o", "x.pdf"), b"no recording is a .pdf file"),
                           (("-o", "x.axp", "--no-file"),
                            b"-o and --no-file do not go together")):
        done = run([c.axprof, "run", *options, "--", "echo", "ran"], folder,
                   env=environment())
        equal((done.status, done.out), (125, b""), options)
        check(words in done.err, done.err)
    for ending, status, begins in (("PDF", 2, None), ("Html", 0, "<!"),
                                   ("JSON", 0, "{")):
        done = run([c.axprof, "report", "x.axp", "-o", f"again.{ending}"], folder,
                   env=environment())
        equal(done.status, status, done.err)
        made = folder / f"again.{ending}"
        equal(made.exists(), begins is not None, ending)
        check(not begins or made.read_text().startswith(begins), ending)
    os.mkfifo(folder / "pipe")
    for name in ("/dev/null", "/dev/full", "pipe"):
        beside = folder / f"{name}.axp"
        had = beside.exists()
        done = run([c.axprof, "run", "-o", name, "--", "true"], folder,
                   env=environment())
        made = beside.exists() and not had
        if made:
            beside.unlink()
        equal((done.status, made), (125, False), done.err)
        check(b"is no regular file" in done.err, done.err)


def test_report_that_cannot_be_written(c, folder):
    """What is known at the start is refused before anything runs; at the end the
    option is named, and what was recorded is not lost."""
    (folder / "file").write_text("")
    for name, words in (("no/such/r.json", "make the folder first, or choose "
                         "another with --report"),
                        (".", "Is a directory; name a file in it"),
                        ("file/r.txt", "Not a directory; make")):
        done = run([c.axprof, "run", "-q", "--report", name, "--", "sh", "-c",
                    "echo ran"], folder, env=environment())
        equal((done.status, done.out), (125, b""), name)
        check(done.err.decode().startswith(f"axprof run: cannot write {name}: ")
              and words in done.err.decode(), name, done.err)
    closed = folder / "closed"
    closed.mkdir(mode=0o555)
    done = run([c.axprof, "run", "--report", "closed/r.txt", "--", "true"],
               folder, env=environment(), preexec_fn=give_up_override)
    equal(done.status, 125, done.err)
    check(b"with --report\n" in done.err, done.err)
    equal(sorted(p.name for p in folder.iterdir()), ["closed", "file"], "files")


def test_report_that_was_not_written(c, folder):
    """Known at the end alone: of what is kept it can be made again, and else it
    is shown."""
    words = (c.program(), "scopes", "10")
    said = b"axprof run: cannot write /dev/full: No space left on device; " \
        b"make room, or choose another disk with --report\n"
    done = run([c.axprof, "run", "-q", "-o", "x.axp", "--report", "/dev/full",
                "--", *words], folder, env=environment())
    equal((done.status, done.err), (0, said + b"axprof run: the recording is "
          b'x.axp; "axprof report x.axp" makes the report\n'), "kept")
    done = run([c.axprof, "run", "-q", "--no-file", "-f", "json", "--report",
                "/dev/full", "--", *words], folder, env=environment())
    check(done.err.startswith(said) and b"outer" in done.err and
          b"schema" not in done.err, done.err)
    (folder / "sub").mkdir()
    done = run([c.axprof, "run", "-q", "-o", "y.axp", "--report", "sub/r.json",
                "--", "rmdir", "sub"], folder, env=environment())
    equal(done.status, 0, done.err)
    check(b"with --report\n" in done.err and b"axprof report y.axp" in done.err,
          done.err)


def test_report_that_crashes(c, folder):
    """The program's status is ours, and its recording is there; half a report is
    not."""
    done = run([c.axprof, "run", "-o", "x.axp", "--report", "crash.json", "--",
                "sh", "-c", f"{c.program()} scopes 10; exit 7"], folder,
               env=environment(LD_PRELOAD=str(c.programs / "libcrashing.so")))
    equal(done.status, 7, done.err)
    check(b"no report: making it was ended by signal 11" in done.err and
          b"the recording is x.axp\n" in done.err, done.err)
    equal(sorted(p.name for p in folder.iterdir()), ["x.axp"], "files")
    equal(run([c.axprof, "report", "x.axp"], folder, env=environment()).status,
          0, "a report of it")


def test_what_goes_on(c, folder):
    """A process that outlives the run: read with it, added by pack when it has
    ended."""
    done = run([c.axprof, "run", "-q", "-o", "x.axp", "--", "sh", "-c",
                f"{c.program()} serve 3000 >/dev/null 2>&1 & echo $! >pid; "
                f"{c.program()} scopes 100; "
                "until ls x.axp.parts | grep -q $(cat pid); do :; done"],
               folder, env=environment())
    equal(done.status, 0, done.err)
    parts = folder / "x.axp.parts"
    equal(len(recordings(folder)), 2, "a file and a part")
    equal(calls(report(c, folder, "x.axp"), "outer") >= 100, True, "outer")
    pid = int((folder / "pid").read_text())
    done = run([c.axprof, "pack", "x.axp"], folder, env=environment())
    if done.status:  # else it was over before
        check(b"still being recorded" in done.err, done.err)
        wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "end")
        done = run([c.axprof, "pack", "x.axp"], folder, env=environment())
    equal(done.status, 0, done.err)
    check(not parts.exists(), "parts are left")
    equal(spools(folder), [], "spools")
    equal(calls(report(c, folder, "x.axp"), "request"), 30000, "requests")


def left_behind(folder, seconds, name):
    """A program that ends as soon as one that it started records."""
    seen = f"ls {name}.axp.parts | grep -q \"^$![.]axp\""
    return ["sh", "-c", f"sleep {seconds} >/dev/null 2>&1 & echo $! >pid; "
            f"cd {folder}; until {seen}; do :; done"]


def test_what_ends_a_moment_later(c, folder):
    """Helpers end when they see that their program has: with the run."""
    done = run([c.axprof, "run", "--report", "r.txt", "-o", "x.axp", "--",
                *left_behind(folder, 0.1, "x")], folder, env=environment())
    equal(done.status, 0, done.err)
    equal(sorted(p.name for p in folder.iterdir()), ["pid", "r.txt", "x.axp"],
          "files")
    equal(spools(folder), [], "spools")
    check(b"that it started go" not in done.err, done.err)


@run_support.beside_others
def test_what_begins_at_the_end(c, folder):
    """A process that begins to record while the run ends, and goes on."""
    later = ("env -u LD_PRELOAD sh -c 'echo $$ >pid; sleep 0.1; "
             "LD_PRELOAD=$0 exec sleep 30' \"$LD_PRELOAD\" >/dev/null 2>&1 &")
    *start, script = left_behind(folder, 0.2, "x")
    done = run([c.axprof, "run", "--report", "r.txt", "-o", "x.axp", "--",
                *start, script.replace(">pid", ">first") +
                f"; {later} until test -s pid; do :; done"],
               folder, env=environment())
    pid = int((folder / "pid").read_text())
    try:
        equal(done.status, 0, done.err)
        check((folder / "x.axp").exists(), done.err)
        check(b"still being recorded" not in done.err, done.err)
        check(b"what goes on is in x.axp.parts" in done.err, done.err)
    finally:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "end")
    done = run([c.axprof, "pack", "x.axp"], folder, env=environment())
    equal(done.status, 0, done.err)
    equal(spools(folder), [], "spools")


def test_what_goes_on_and_is_not_kept(c, folder):
    """Nobody wants what it records from then on: no memory is held for it."""
    temporary = folder / "tmp"
    temporary.mkdir()
    done = run([c.axprof, "run", "-q", "--no-file", "--",
                *left_behind(f"{temporary}/axprof-run-*", 30, "no-file")],
               folder, env=environment(TMPDIR=str(temporary)))
    pid = int((folder / "pid").read_text())
    try:
        equal(done.status, 0, done.err)
        check(pathlib.Path(f"/proc/{pid}").exists(), "it has ended")
        equal(list(temporary.iterdir()), [], "folders")
        name = str(temporary).encode()
        equal([p for p in pathlib.Path("/dev/shm").glob("axprof-*.spool")
               if name in head_of(p)], [], "spools")
    finally:
        os.kill(pid, signal.SIGKILL)


def head_of(spool):
    try:
        with open(spool, "rb") as file:
            return file.read(1 << 16)
    except OSError:  # another's, and gone
        return b""


def test_run_in_progress(c, folder):
    """Its parts are read by the name that the file will have; pack waits."""
    process = start(c, folder, c.program(), "serve", 60000,
                    options=("-q", "-o", "x.axp"))
    try:
        wait_for_files(folder, 2)
        wait_for(lambda: calls(report(c, folder, "x.axp"), "request"),
                 "requests")
        data = report(c, folder, "x.axp.parts")
        equal(calls(data, "request") > 0, True, "by the folder")
        # axprof's own recording is none of the program's processes
        equal([w["count"] for w in data["warnings"]
               if w["code"] == "still_recording"],
              [data["run"]["process_count"]], "processes that run")
        done = run([c.axprof, "pack", "x.axp"], folder, env=environment())
        equal(done.status, 1, "pack")
        check(b"its run goes on" in done.err, done.err)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.read()
        # it names a few: those of other tests come and go
        wait_for(lambda: f"axprof pack '{folder}/x.axp'".encode() in run(
            [c.axprof, "doctor"], folder, env=environment()).out, "doctor")
    finally:
        end(process)
        done = run([c.axprof, "pack", "x.axp"], folder, env=environment())
        equal(done.status, 0, done.err)
    equal([p.name for p in folder.iterdir()], ["x.axp"], "files")
    equal(spools(folder), [], "spools")


# ---- who is alive ----------------------------------------------------------

def test_number_in_use_again(c, folder):
    """The process id in a spool is somebody else's now."""
    run([c.program(), "kill", "100"], folder,
        env=environment(AXPROF_OUT=str(folder / "x.axp")))
    left = spools(folder)
    equal(len(left), 1, "spools")
    with open(left[0], "r+b") as spool:
        spool.seek(32)
        spool.write(struct.pack("<Q", os.getpid()))
    check("still_recording" not in warnings(report(c, folder, "x.axp")),
          "a dead process is said to record")
    done = run([c.axprof, "pack", "x.axp"], folder, env=environment())
    equal(done.status, 0, done.err)
    equal(spools(folder), [], "spools")


def test_namespace(c, folder):
    """Processes that have other ids there than here."""
    apart = ["unshare", "-Urpf", "--mount-proc", "--"]
    if run(apart + ["true"], folder).status != 0:
        print("        no namespace of process ids: not tried")
        return
    data, files = profile(c, folder, *apart, "sh", "-c",
                          f"{c.program()} scopes 200000; "
                          f"{c.program()} kill 300; true")
    equal(calls(data, "outer"), 200300, "outer")
    equal(data["run"]["cut_events"], 0, "cut")
    equal(len(files), 1, "files")
    equal(spools_of(folder), [], "spools")


def spools_of(folder):
    """In /dev/shm, of recordings that are or were in a folder."""
    left = []
    for path in pathlib.Path("/dev/shm").glob("axprof-*.spool"):
        try:
            with open(path, "rb") as spool:
                if os.fsencode(folder) in spool.read(1 << 16):
                    left.append(path)
        except FileNotFoundError:  # somebody else's, which is over
            pass
    return left


def test_other_user(c, folder):
    """A process whose user has another number there than here: what it records
    is read, and nothing of it stays."""
    apart = ["unshare", "--map-user=1234", "--"]
    if run(apart + ["true"], folder).status != 0:
        print("        no namespace of users: not tried")
        return
    data, _ = profile(c, folder, *apart, c.program(), "scopes", 20000)
    equal(calls(data, "outer"), 20000, "outer")
    equal(spools_of(folder), [], "spools")


def test_no_pidfd(c, folder):
    """Where the kernel refuses descriptors of processes (old ones, containers)
    draining goes on all the same."""
    if not refuse_pidfd_works():
        print("        no seccomp: not tried")
        return
    done = subprocess.run(
        [c.axprof, "run", "-q", "--report", "r.json", "--", c.program(),
         "scopes", "3000000"], cwd=folder, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=refuse_pidfd, timeout=run_support.TIMEOUT_S)
    equal(done.returncode, 0, done.stderr)
    data = json.loads((folder / "r.json").read_text())
    equal(calls(data, "outer"), 3000000, "outer")
    check("still_recording" not in warnings(data), data["warnings"])
    equal(spools(folder), [], "spools")


def refuse_pidfd():
    """In a child: pidfd_open fails with EPERM from here on."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    # load the number; is it pidfd_open (434)? then EPERM, else allow
    code = b"".join(struct.pack("<HBBI", *i) for i in (
        (0x20, 0, 0, 0), (0x15, 0, 1, 434), (0x06, 0, 0, 0x00050001),
        (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("<HxxxxxxQ", 4, ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def refuse_pidfd_works():
    try:
        return subprocess.run(["true"], preexec_fn=refuse_pidfd).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def test_children_that_leave(c, folder):
    """By _exit, as forked workers of many libraries end: nothing is wrong."""
    data, _ = profile(c, folder, c.program(), "leave", 5, 1000)
    equal(calls(data, "outer"), 5000, "outer")
    equal(warnings(data) & {"recovered", "still_recording", "open_scopes"},
          set(), "warnings")


def test_threads_at_once(c, folder):
    """Each has its row, and little memory of the parent's. On a busy machine
    more of the spool, which it maps, waits for it."""
    n = 3000
    peaks = []
    peak = [c.programs / "peak_of", c.axprof, "run", "-q", "--no-file",
            "--report", "r.json", "--", c.program("run_program"), "herd", n]
    for _ in range(3):
        done = run(peak, folder, env=environment())
        equal(done.status, 0, done.err)
        data = json.loads((folder / "r.json").read_text())
        threads = [t for t in data["threads"]
                   if t["name"] != "(seen from outside)"]
        equal(len(threads), n + 1, "threads")
        peaks.append(int(done.out))
    check(0 < min(peaks) < 40 << 10 and max(peaks) < 80 << 10,
          "the parent had", peaks, "KiB")


# ---- what is not ours, what is empty ---------------------------------------

def test_recordings_in_a_folder_like_ours(c, folder):
    """What a user keeps in a folder that is called as ours are."""
    mine = folder / "axprof-run-abcdef"
    mine.mkdir()
    env = environment(TMPDIR=str(folder))
    done = run([c.axprof, "run", "-q", "-o", mine, "--", "true"], folder,
               env=env)
    equal(done.status, 0, done.err)
    before = {p.name: p.read_bytes() for p in mine.iterdir()}
    equal(len(before), 1, "recordings")
    run([c.axprof, "run", "-q", "--no-file", "--", "true"], folder, env=env)
    equal({p.name: p.read_bytes() for p in mine.iterdir()}, before, "after")


def test_user_file_in_our_folder(c, folder):
    """A killed run's folder goes, but for what somebody put there."""
    env = dict(TMPDIR=str(folder))
    process = subprocess.Popen(
        [c.axprof, "run", "-q", "--no-file", "--sample", "off", "--",
         c.program(), "serve", "60000"], cwd=folder, stdout=subprocess.PIPE,
        env=environment(**env), start_new_session=True)
    try:
        equal(process.stdout.readline(), b"ready\n", "first line")
        left = wait_for(lambda: list(folder.glob("axprof-run-*")), "folder")[0]
        parts = left / "no-file.axp.parts"
        wait_for(lambda: len(list(parts.glob("*.axp"))) == 2, "parts")
        (left / "mine.axp").write_text("mine")
        (parts / "mine.axp").write_text("mine")
        run([c.axprof, "run", "-q", "--no-file", "--", "true"], folder,
            env=environment(**env))
        equal(len(list(parts.glob("*.axp"))), 3, "it was in use")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.read()
    numbers = [n for p in parts.glob("*.axp") for n in numbers_of(p)]
    run([c.axprof, "run", "-q", "--no-file", "--", "true"], folder,
        env=environment(**env))
    equal(sorted(p.name for p in left.rglob("*.axp")),
          ["mine.axp", "mine.axp"], "what is left")
    equal([n for n in numbers if
           pathlib.Path(f"/dev/shm/axprof-{n}.spool").exists()],
          [], "spools")


def test_taken_for_left(c, folder):
    """Another run that begins removes our folder before it is locked."""
    taker = c.programs / "libtaker.so"
    for kept in (["--no-file"], ["-o", "run.axp"]):
        done = run([c.axprof, "run", "-q", *kept, "--report", "r.json", "--",
                    c.program(), "scopes", "10"], folder,
                   env=environment(TMPDIR=str(folder), LD_PRELOAD=str(taker)))
        equal(done.status, 0, done.err)
        data = json.loads((folder / "r.json").read_text())
        equal(data["run"]["call_count"], 20, f"{kept}: calls")


def test_bad_temporary_folder(c, folder):
    (folder / "file").write_text("")
    for where in ("/no/such/folder", str(folder / "file")):
        done = run([c.axprof, "run", "--no-file", "--", c.program("run_program"),
                    "exit", "7"], folder, env=environment(TMPDIR=where))
        equal(done.status, 7, done.err)


def test_empty_files(c, folder):
    """Left by programs that were killed while they made them."""
    for name in ("b", "a"):
        run([c.program(), "scopes", "10"], folder,
            env=environment(AXPROF_OUT=str(folder / f"{name}.axp")))
    whole = (folder / "a.axp").read_bytes()
    (folder / "empty.axp").write_bytes(b"")
    (folder / "head.axp").write_bytes(whole[:128])
    for words in (["export", "-f", "folded"], ["report"], ["info"]):
        done = run([c.axprof, *words, "empty.axp", "a.axp", "head.axp",
                    "b.axp"], folder, env=environment())
        equal(done.status, 0, (words, done.err))
        for name in (b"empty.axp", b"head.axp"):
            check(name + b" is left out: nothing was recorded" in done.err,
                  done.err)
    equal(run([c.axprof, "report", "empty.axp"], folder,
              env=environment()).status, 1, "alone")


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
