# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of `axprof run` share: a folder for each test, a command with
and without axprof, what must be the same, and what was recorded."""
import ctypes
import functools
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

TIMEOUT_S = 120


class Failure(Exception):
    pass


def check(condition, *about):
    if not condition:
        raise Failure(" ".join(map(str, about)))


def equal(got, expected, what):
    if got != expected:
        raise Failure(f"{what}: got {got!r}, expected {expected!r}")


class Result:
    """How a command ended: status as subprocess tells it (-9: SIGKILL)."""

    def __init__(self, done):
        self.status = done.returncode
        self.out, self.err = done.stdout, done.stderr


def run(command, folder, stdin=b"", env=None, **more):
    done = subprocess.run([str(c) for c in command], cwd=folder, input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TIMEOUT_S, env=env, **more)
    return Result(done)


def give_up_override():
    """In a child, before it becomes a command: root, too, asks for rights."""
    drop, dac_override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    if os.geteuid() == 0 and ctypes.CDLL(None, use_errno=True).prctl(
            drop, dac_override, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "CAP_DAC_OVERRIDE stays")


def sees_kernel():
    """Whether this kernel lets us see it: stacks that a thread waits with."""
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    software, size, disabled = 1, 64, 1  # of the first struct perf_event_attr
    attr = struct.pack("=IIQQQQQ16x", software, size, 0, 0, 0, 0, disabled)
    fd = ctypes.CDLL(None).syscall(number, attr, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def wait_for(look, what):
    """What look() finds, once it finds something."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise Failure(f"no {what}")


def numbers_of(path):
    """The numbers of the recordings in a file, each in its first block; spools
    are called by them. None as long as that block is not written."""
    return [number.decode() for number in
            re.findall(rb"\x02id\x20([0-9a-f]{32})", path.read_bytes())]


def recordings(folder):
    """Recordings in a folder, and parts of those that are not joined yet."""
    return [*folder.glob("*.axp"), *folder.glob("*.axp.parts/*.axp")]


def has_samples(data):
    """What was sampled, states of threads too, is a recording of its own."""
    return bool(data["functions"] or
                any(t["ready_ns"] is not None for t in data["threads"]))


def wait_for_files(folder, n):
    """Until so many recordings are there, each with its number."""
    def are_there():
        try:
            files = recordings(folder)
            return len(files) >= n and all(map(numbers_of, files))
        except FileNotFoundError:
            return False
    wait_for(are_there, f"{n} recordings")


def spools(folder):
    """Spools of the recordings in a folder."""
    left = []
    for path in recordings(folder):
        numbers = numbers_of(path)
        check(numbers, path.name, "has no number")
        names = [f"axprof-{n}.spool" for n in numbers]
        left += [p for p in (*(pathlib.Path("/dev/shm") / n for n in names),
                             pathlib.Path(f"{path}.spool")) if p.exists()]
    return left


def small_disk(folder, kilobytes):
    """In the folder, where the tests may make one; else None."""
    disk = folder / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o",
                           f"size={kilobytes}k", "tmpfs", str(disk)],
                          stderr=subprocess.DEVNULL)
    return disk if done.returncode == 0 else None


def drop_disk(disk):
    subprocess.run(["umount", str(disk)], check=True)
    disk.rmdir()


def environment(**more):
    """Without what a surrounding run or a test runner may have set."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("AXPROF_") and k != "LD_PRELOAD"}
    env["LC_ALL"] = "C.UTF-8"
    env["AXPROF_MACHINE"] = "off"  # measuring takes longer than any test
    env.update(more)
    return env


TRIES = 3


def beside_others(test):
    """A test of times that other tests, which have the processors meanwhile, may
    spoil: what it checks must hold once."""
    @functools.wraps(test)
    def tried(context, folder):
        for n in range(TRIES):
            own = folder / str(n)
            own.mkdir()
            own.chmod(0o755)
            try:
                return test(context, own)
            except Failure:
                if n == TRIES - 1:
                    raise
            time.sleep(1)
    return tried


def main(tests, context):
    """Runs each test(context, folder), or those that are named; exits with 1 if
    one failed, or if there is none of that name."""
    wanted = sys.argv[len(context.__dict__) + 1:]  # the context is new
    n_failed = 0
    for name in wanted:
        if name not in [test.__name__ for test in tests]:
            n_failed += 1
            print(f"FAILED  no test is called {name}", flush=True)
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            try:
                test(context, pathlib.Path(folder))
                print(f"ok      {test.__name__}", flush=True)
            except Failure as failure:
                n_failed += 1
                print(f"FAILED  {test.__name__}: {failure}", flush=True)
                warned = ", ".join(getattr(context, "warned", [])) or "nothing"
                print(f"        the last report warned of {warned}", flush=True)
            except (subprocess.TimeoutExpired, OSError) as error:
                n_failed += 1
                print(f"FAILED  {test.__name__}", flush=True)
                traceback.print_exception(error)
    sys.exit(1 if n_failed else 0)


def end(process):
    """Ends a process that a test started, whatever became of it."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


# ---- what was recorded -----------------------------------------------------

def profile(c, folder, *command, options=(), status=0, env=None):
    """The report of a run as JSON, and the files that it left."""
    report = folder / "report.json"
    result = run([c.axprof, "run", "-q", "--report", report, *options,
                  "--", *command], folder, env=env or environment())
    equal(result.status, status, f"status of {command}; {result.err}")
    equal(spools(folder), [], "spools that were left")
    data = json.loads(report.read_text())
    c.warned = sorted(f"{w['code']}: {w['count']}" for w in data["warnings"])
    report.unlink()
    equal(list(folder.glob("*.axp.parts")), [], "parts that were left")
    return data, sorted(p.name for p in folder.glob("*.axp"))


def ops(data):
    return {op["name"]: op for op in data["ops"]}


def calls(data, name):
    return ops(data).get(name, {"calls": 0})["calls"]


def counters(data):
    return {counter["name"]: counter for counter in data["counters"]}


def warnings(data):
    return {warning["code"] for warning in data["warnings"]}


def start(c, folder, *command, options=("-q",)):
    process = subprocess.Popen(
        [str(c.axprof), "run", *map(str, options), "--", *map(str, command)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(), start_new_session=True)
    equal(process.stdout.readline(), b"ready\n", "first line")
    return process
