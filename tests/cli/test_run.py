#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of many kinds under `axprof run`: output, exit status and files are
as without it.

  test_run.py AXPROF PROGRAMS [test ...]

PROGRAMS is the folder with run_program and its other builds.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

import run_support
from run_support import (check, end, environment, equal, give_up_override,
                         run, wait_for)


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def program(self, name="run_program"):
        return self.programs / name


def both(c, folder, command, stdin=b"", options=("-q", "--no-file"), **more):
    """The command alone and under axprof, each in a folder of its own of the
    same name; what must be the same is compared. Returns axprof's result."""
    results, files = [], []
    for prefix in ([], [c.axprof, "run", *options, "--"]):
        work = folder / "work"
        work.mkdir()
        results.append(run([*prefix, *command], work, stdin,
                           env=more.get("env", environment())))
        files.append(sorted(p.name for p in work.iterdir()))
        shutil.rmtree(work)
    plain, ours = results
    about = " ".join(map(str, command))
    equal(ours.status, plain.status, f"status of {about}")
    equal(ours.out, plain.out, f"output of {about}")
    equal(ours.err, plain.err, f"standard error of {about}")
    equal(files[1], files[0], f"files of {about}")
    return ours


# ---- endings ---------------------------------------------------------------

def test_exit_status(c, folder):
    for n in (0, 1, 2, 77, 125, 126, 127, 128, 255):
        both(c, folder, [c.program(), "exit", n])
    equal(both(c, folder, [c.program(), "_exit", 42]).status, 42, "_exit")
    equal(both(c, folder, ["sh", "-c", "exit 3"]).status, 3, "sh")


def test_death_by_signal(c, folder):
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV,
                   signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1):
        result = both(c, folder, [c.program(), "signal", int(number)])
        equal(result.status, -number, "death")
    equal(both(c, folder, [c.program(), "abort"]).status, -signal.SIGABRT,
          "abort")
    equal(both(c, folder, [c.program(), "crash"]).status, -signal.SIGSEGV,
          "crash")


def test_cannot_start(c, folder):
    (folder / "plain").write_text("no program")
    (folder / "binary").write_bytes(b"\0\1\2\3" * 100)
    (folder / "lost").write_text("#!/no/such/interpreter\n")
    for name in ("binary", "lost"):
        (folder / name).chmod(0o755)
    for command, status, words in (
            ("nosuchcommand", 127, "command not found"),
            ("./nothing", 127, "No such file"),
            ("./plain", 126, "not executable"),
            ("./", 126, "directory"),
            ("./binary", 126, "not a program"),
            ("./lost", 127, "interpreter /no/such/interpreter"),
            ("", 127, "not found")):
        result = run([c.axprof, "run", "--", command], folder,
                     env=environment())
        equal(result.status, status, command)
        check(words in result.err.decode(), command, result.err)
        equal(result.out, b"", "output")
    equal(sorted(p.name for p in folder.iterdir()),
          ["binary", "lost", "plain"], "files")
    equal(run([c.axprof, "run"], folder).status, 125, "nothing to run")
    equal(run([c.axprof, "run", "--wiht", "x"], folder).status, 125, "option")


def test_script_without_mark(c, folder):
    """A text file without #! is a shell script, as shells have it."""
    script = folder / "script"
    script.write_text("echo \"$#\" \"$1\"\nexit 4\n")
    script.chmod(0o755)
    result = run([c.axprof, "run", "-q", "--no-file", "--", script, "a b"],
                 folder, env=environment())
    equal((result.status, result.out), (4, b"1 a b\n"), "script")


# ---- kinds of programs -----------------------------------------------------

def test_builds(c, folder):
    for name in ("run_program", "run_program_no_pie", "run_program_stripped",
                 "run_program_static"):
        both(c, folder, [c.program(name), "exit", 11])
        both(c, folder, [c.program(name), "fork", 20])
        both(c, folder, [c.program(name), "threads", 20])


def test_languages(c, folder):
    both(c, folder, ["python3", "-c",
                     "import os, sys; print(os.getcwd()); sys.exit(6)"])
    both(c, folder, ["bash", "-c",
                     "set -o pipefail; seq 1000 | sort -r | head -n 3; exit 2"])
    both(c, folder, ["sh", "-c", "cat; echo end >&2"], b"standard input\n")
    both(c, folder, ["timeout", "5", "sh", "-c", "echo inner; exit 8"])
    both(c, folder, [c.program("run_program_cpp")])
    script = folder / "script.py"
    script.write_text("#!/usr/bin/env python3\nprint('from a script')\n")
    script.chmod(0o755)
    both(c, folder, [script])


def test_static_is_said(c, folder):
    result = run([c.axprof, "run", "--no-file", "--",
                  c.program("run_program_static"), "exit", 0], folder,
                 env=environment())
    equal(result.status, 0, "status")
    check(b"statically linked" in result.err, result.err)


def test_setuid_is_said(c, folder):
    if os.geteuid() == 0 or not os.path.exists("/usr/bin/passwd"):
        # A program of another user's, as root sees none.
        if os.geteuid() != 0:
            return
        program = folder / "setuid"
        shutil.copy(c.program(), program)
        os.chown(program, 1, 1)
        program.chmod(0o4755)
    else:
        program = pathlib.Path("/usr/bin/passwd")
        if not program.stat().st_mode & stat.S_ISUID:
            return
    result = run([c.axprof, "run", "--no-file", "--", program, "--help"],
                 folder, env=environment())
    check(b"set-user-id" in result.err, result.err)


def test_foreign_machine_is_said(c, folder):
    """The header of a 32-bit program is enough to name it."""
    native = c.program().read_bytes()
    program = folder / "old"
    program.write_bytes(native[:4] + b"\1" + native[5:18] + b"\3\0" +
                        native[20:])
    program.chmod(0o755)
    result = run([c.axprof, "run", "--no-file", "--", program], folder,
                 env=environment())
    check(b"32-bit" in result.err, result.err)


# Looking for leaks takes seconds on aarch64.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}


def with_asan(c, folder):
    """A program that ends unless its sanitizer is the first library."""
    source = folder / "asan.c"
    # Looking for leaks takes seconds on some machines, and is not the point.
    source.write_text("#include <stdio.h>\n"
                      "const char *__asan_default_options(void)\n"
                      "{ return \"detect_leaks=0\"; }\n"
                      "int main(void) { puts(\"checked\"); return 13; }\n")
    program = folder / "asan"
    done = run(["gcc", "-fsanitize=address", "-o", program, source], folder)
    if done.status or run([program], folder,
                          env=environment(**NO_LEAKS)).status != 13:
        return None  # not on this machine
    return program


def test_programs_that_adapters_harm(c, folder):
    """Directly, and as children of every kind."""
    program = with_asan(c, folder)
    if not program:
        return
    result = run([c.axprof, "run", "--no-file", "--", program], folder,
                 env=environment(**NO_LEAKS))
    equal((result.status, result.out), (13, b"checked\n"), "directly")
    check(b"sanitizer" in result.err, result.err)
    script = folder / "script"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    env = environment(PATH=f"{folder}:{os.environ['PATH']}", **NO_LEAKS)
    python = "import os, subprocess, sys; p = sys.argv[1]\n"
    at = (python + "from ctypes import *; b = p.encode()\n"
          "environ = POINTER(c_char_p).in_dll(CDLL(None), 'environ')\n"
          "words = (c_char_p * 2)(b); call = CDLL(None).execveat\n")
    for command in (
            ["sh", "-c", f"{program}"],
            ["sh", "-c", "asan"],
            ["sh", "-c", f"exec {script}"],
            ["env", "asan"],
            ["timeout", "20", program],
            ["python3", "-c", python + "subprocess.run([p])", program],
            ["python3", "-c", python + "os.execl(p, p)", program],
            ["python3", "-c", python + "os.execlp('asan', 'asan')", program],
            ["python3", "-c", python +
             "os.execve(os.open(p, os.O_RDONLY), [p], os.environ)", program],
            ["python3", "-c", at + "call(-100, b, words, environ, 0)", program],
            ["python3", "-c", at + "fd = os.open(p, os.O_RDONLY)\n"
             "call(fd, b'', words, environ, 0x1000)", program],
            ["python3", "-c", python +
             "os.waitpid(os.posix_spawn(p, [p], os.environ), 0)", program],
            ["python3", "-c", python +
             "os.waitpid(os.posix_spawnp('asan', [p], os.environ), 0)",
             program]):
        result = both(c, folder, command, env=env)
        equal(result.out, b"checked\n", " ".join(map(str, command)))


# ---- what is inherited -----------------------------------------------------

def test_inherited(c, folder):
    both(c, folder, [c.program(), "inherited"])
    both(c, folder, [c.program(), "cat"], b"x" * 100000)

    def ignoring():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    outputs = []
    for prefix in ([], [c.axprof, "run", "-q", "--no-file", "--"]):
        done = subprocess.run([*map(str, prefix), str(c.program()),
                               "inherited"], cwd=folder, preexec_fn=ignoring,
                              stdout=subprocess.PIPE, env=environment())
        outputs.append(done.stdout)
    check(b"ignored 1\n" in outputs[0] and b"ignored 17\n" in outputs[0] and
          b"blocked 12\n" in outputs[0], outputs[0])
    equal(outputs[1], outputs[0], "dispositions and mask")


def test_closed_streams(c, folder):
    """A stream that is closed for the command is closed for the program."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        texts = []
        for prefix in ("", f"'{c.axprof}' run -q --no-file -- "):
            script = f"{prefix}sh -c 'ls /proc/self/fd > \"$1\" 3>&-' x " \
                     f"'{folder}/fds' {closed}; echo status $?"
            done = run(["sh", "-c", script], folder, env=environment())
            texts.append((done.out, (folder / "fds").read_text()))
        equal(texts[1], texts[0], closed)


def test_end_of_output(c, folder):
    """Who reads the program's output sees its end when the program ends, though
    axprof goes on to report."""
    process = subprocess.Popen(
        [c.axprof, "run", "--no-file", "--", "sh", "-c", "echo out; kill -9 $$"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.PIPE, env=environment())
    try:
        equal(process.stdout.readline(), b"out\n", "output")
        os.kill(process.pid, signal.SIGSTOP)
        equal(process.stdout.read(), b"", "the end, while axprof is stopped")
        os.kill(process.pid, signal.SIGCONT)
        process.stderr.read()
        equal(process.wait(), -signal.SIGKILL, "status")
    finally:
        end(process)


def test_large_output(c, folder):
    both(c, folder, [c.program(), "print", 20])


def test_environment(c, folder):
    """Ours are added, nothing else changes; LD_PRELOAD is chained."""
    env = environment(LD_PRELOAD=str(c.programs / "libpreloaded.so"))
    plain = run(["env"], folder, env=env)
    ours = run([c.axprof, "run", "-q", "--no-file", "--", "env"], folder,
               env=env)
    check(b"preloaded\n" in plain.err, "the test's own preload")
    equal(ours.err.count(b"preloaded\n"), 2, "into axprof and the program")

    def lines(text):
        return sorted(l for l in text.decode().splitlines()
                      if not re.match(r"(AXPROF_\w+|LD_PRELOAD|_"
                                      r"|INTEL_LIBITTNOTIFY64"
                                      r"|NVTX_INJECTION64_PATH)=", l))
    equal(lines(ours.out), lines(plain.out), "variables")
    chain = re.search(r"^LD_PRELOAD=(.*)$", ours.out.decode(), re.M).group(1)
    check(chain.startswith(env["LD_PRELOAD"]), chain)


def test_list(c, folder):
    """Which adapters there are, and why one is not."""
    result = run([c.axprof, "run", "--list", "--without", "pthread"], folder,
                 env=environment())
    states = dict(l.split()[:2] for l in result.out.decode().splitlines())
    equal(states, {"blas": "on", "dnnl": "on", "exec": "on", "functions": "on", "itt": "on",
                   "memory": "on", "nvtx": "on", "openmp": "on",
                   "pthread": "off", "timer": "off"}, "list")
    for name, adapters, words in (("bare", (), b"(not installed)"),
                                  ("with space", ("pthread",), b"a space")):
        home = folder / name
        (home / "cli").mkdir(parents=True)
        (home / "adapters").mkdir()
        (home / "src").symlink_to(c.axprof.parent.parent / "src")
        shutil.copy(c.axprof, home / "cli")
        for adapter in adapters:
            library = f"libaxprof_{adapter}.so"
            shutil.copy(c.axprof.parent.parent / "adapters" / library,
                        home / "adapters")
        moved = home / "cli" / "axprof"
        result = run([moved, "run", "--list"], folder, env=environment())
        check(words in result.out, result.out)
        result = run([moved, "run", "--with", "pthread", "--", "true"], folder,
                     env=environment())
        equal(result.status, 125, "one that cannot be loaded")
        result = run([moved, "run", "-q", "--no-file", "--", "true"], folder,
                     env=environment())
        equal(result.status, 0, "without it")


def test_clear_environment(c, folder):
    both(c, folder, [c.program(), "clear"])


def test_exec(c, folder):
    result = run([c.axprof, "run", "-q", "--", c.program(), "exec"], folder,
                 env=environment())
    equal(result.status, 9, "status")
    check(re.match(rb"x \d+\n$", result.err), result.err)


def test_closing_descriptors(c, folder):
    result = both(c, folder, [c.program(), "close"])
    equal(result.out, b"got 3\n", "the first free descriptor")


def test_nested(c, folder):
    result = run([c.axprof, "run", "-q", "--", c.axprof, "run", "-q",
                  "--output", "inner.axp", "--", "sh", "-c",
                  "echo $LD_PRELOAD; echo $AXPROF_OUT; exit 5"], folder,
                 env=environment())
    equal(result.status, 5, "status")
    preload, out = result.out.decode().splitlines()
    entries = preload.split(":") if preload else []
    equal(len(entries), len(set(entries)), "each adapter once")
    check("/inner." in out, out)
    equal(run_support.spools(folder), [], "spools")


# ---- children --------------------------------------------------------------

def test_many_children(c, folder):
    result = both(c, folder, [c.program(), "fork", 500])
    equal(result.out, b"0 of 500 children were lost\n", "children")


def test_many_threads(c, folder):
    result = both(c, folder, [c.program(), "threads", 3000])
    equal(result.out, b"3000 threads, 3000 joined\n", "threads")


def test_one_is_no_plural(c, folder):
    """Of children that are over at once nobody sees a second thread."""
    result = run([c.axprof, "run", "--no-file", "--sample", "off", "--", "sh", "-c",
                  "i=0; while [ $i -lt 5 ]; do /bin/true; i=$((i + 1)); done"],
                 folder, env=environment())
    check(re.search(rb"processes, at most \S+ \S+ of memory and ", result.err),
          result.err)
    check(not re.search(rb"\b1 (threads|processes)", result.err), result.err)


def test_orphan(c, folder):
    """The run ends with the program, and what it left behind goes on."""
    began = time.monotonic()
    result = both(c, folder, [c.program(), "orphan"])
    check(time.monotonic() - began < 20, "waited for an orphan")
    equal(result.out, b"left\n", "output")


def test_daemon(c, folder):
    """A program that ends and leaves its work to another: that is said, in the
    report too, and nobody is told to sample more."""
    done = run([c.axprof, "run", "-o", "x.axp", "--", "sh", "-c",
                "(sleep 30 >/dev/null 2>&1 & echo $! >pid)"], folder,
               env=environment())
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    equal(done.status, 0, done.err)
    check(b"1 process that it started goes on" in done.err, done.err)
    text = run([c.axprof, "report", "x.axp"], folder).out
    text = b" ".join(text.split())
    check(b"processes of the run that went on when the program had ended"
          in text, text)
    check(b"--sample 10000" not in text, text)


def test_first_process(c, folder):
    """In a container axprof may be process 1, to which orphans fall."""
    script = "(sleep 0.1 &); sleep 0.6; grep -l '^State:.*zombie' " \
             "/proc/[0-9]*/status; echo end; exit 6"
    command = ["unshare", "--pid", "--fork", "--mount-proc", c.axprof, "run",
               "-q", "--no-file", "--", "sh", "-c", script]
    if run(["unshare", "--pid", "--fork", "--mount-proc", "true"],
           folder).status:
        return  # not allowed here
    result = run(command, folder, env=environment())
    equal((result.status, result.out), (6, b"end\n"), "zombies")


# ---- files -----------------------------------------------------------------

def kept(folder):
    return sorted(p.name for p in folder.iterdir())


def test_files(c, folder):
    env = environment()
    run([c.axprof, "run", "-q", "--", "sleep", "0.1"], folder, env=env)
    names = kept(folder)
    equal(len(names), 1, "files")
    check(re.fullmatch(r"sleep-\d+\.axp", names[0]), names)
    equal(stat.S_IMODE((folder / names[0]).stat().st_mode), 0o600, "mode")
    (folder / names[0]).unlink()

    run([c.axprof, "run", "-q", "--output", "x.axp", "--", "true"], folder,
        env=env)
    equal(kept(folder), ["x.axp"], "--output FILE")
    result = run([c.axprof, "run", "-q", "--output", "x.axp", "--", "true"],
                 folder, env=env)
    equal(result.status, 125, "an existing file")
    check(b"x.axp exists" in result.err, result.err)
    (folder / "x.axp").unlink()

    run([c.axprof, "run", "-q", "--output", "sub/", "--", "true"], folder,
        env=env)
    equal(kept(folder), ["sub"], "--output FOLDER/")
    equal(len(kept(folder / "sub")), 1, "in the folder")

    shutil.rmtree(folder / "sub")
    run([c.axprof, "run", "-q", "--no-file", "--", "true"], folder, env=env)
    equal(kept(folder), [], "--no-file")


def test_one_name_at_once(c, folder):
    """Of runs that begin together under one name one has it; the others are
    refused before anything was started, and nothing is lost."""
    for name in ("x.axp", "y", "z.axp", "sub/x"):
        (folder / "sub").mkdir(exist_ok=True)
        processes = [subprocess.Popen(
            [str(c.axprof), "run", "-q", "-o", name, "--", "sh", "-c",
             "echo ran; sleep 0.1; exit 7"],
            cwd=folder, env=environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE) for _ in range(6)]
        results = [p.communicate() for p in processes]
        ran = sum(out == b"ran\n" for out, _ in results)
        equal((ran, sorted(p.returncode for p in processes)),
              (1, [7] + 5 * [125]), results)
        for process, (_, err) in zip(processes, results):
            equal(err, f"axprof run: {name} exists; remove it or choose "
                  "another name\n".encode() if process.returncode == 125
                  else b"", "said")
    equal((kept(folder), kept(folder / "sub")),
          (["sub", "x.axp", "y.axp", "z.axp"], ["x.axp"]), "files")


def test_read_only_folder(c, folder):
    work = folder / "work"
    work.mkdir(mode=0o555)
    command = [c.axprof, "run", "--", c.program(), "exit", "3"]
    result = run(command, work, env=environment(TMPDIR="/tmp"),
                 preexec_fn=give_up_override)
    equal(result.status, 3, "status")
    check(b"was not kept" in result.err, result.err)
    equal(kept(work), [], "files")


def test_small_stack(c, folder):
    """A limit on stacks is the program's; ours is as much more as is allowed."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 8 << 20))
    words = [c.program(), "inherited"]
    plain = run(words, folder, env=environment(), preexec_fn=limit)
    result = run([c.axprof, "run", "-o", "x.axp", "--", *words], folder,
                 env=environment(), preexec_fn=limit)
    equal((result.status, result.out), (0, plain.out), result.err)
    check((folder / "x.axp").exists(), "no recording")


def test_no_file_may_be_written(c, folder):
    """A limit on files is the program's and ours: nothing is kept, all runs."""
    def forbid():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for options in (["--no-file"], ["-o", "x.axp"]):
        work, temporary = folder / "work", folder / "tmp"
        work.mkdir()
        temporary.mkdir()
        result = run([c.axprof, "run", *options, "--", c.program(), "inherited"],
                     work, env=environment(TMPDIR=str(temporary)),
                     preexec_fn=forbid)
        plain = run([c.program(), "inherited"], work, env=environment(),
                    preexec_fn=forbid)
        equal((result.status, result.out), (0, plain.out), result.err)
        check(b"axprof run: run_program ended with status 0" in result.err,
              result.err)
        check(b"nothing in it records" not in result.err, result.err)
        check(b"nothing could be recorded of what it does: no file can be "
              b"written in " in result.err, result.err)
        equal(b"the recording was not kept: " in result.err,
              "-o" in options, result.err)
        equal((kept(work), kept(temporary)), ([], []), "files")
        work.rmdir()
        temporary.rmdir()


def test_name_of_a_script(c, folder):
    (folder / "train me.py").write_text("pass\n")
    run([c.axprof, "run", "-q", "--", "python3", "train me.py"], folder,
        env=environment())
    names = [n for n in kept(folder) if n.endswith(".axp")]
    check(all(re.match(r"train_me-\d+\.", n) for n in names) and names, names)


# ---- signals ---------------------------------------------------------------

def start(c, folder, *command, options=("-q", "--no-file"), **env):
    process = subprocess.Popen(
        [str(c.axprof), "run", *options, "--", *map(str, command)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(**env), start_new_session=True)
    equal(process.stdout.readline(), b"ready\n", "first line")
    return process


def test_signals_are_passed_on(c, folder):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT,
                   signal.SIGQUIT, signal.SIGUSR2, signal.SIGWINCH,
                   signal.SIGXCPU, signal.SIGRTMIN + 3):
        process = start(c, folder, c.program(), "count", 1, 300)
        try:
            os.kill(process.pid, number)
            out, _ = process.communicate(timeout=60)
            equal(out, f"signal {int(number)}: 1\n".encode(), "signals")
            equal(process.returncode, 5, "status")
        finally:
            end(process)


def has_seen_all(pid):
    """No signal waits for axprof; its witness (cli_witness.h) is a new one."""
    def pending(of):
        status = pathlib.Path(f"/proc/{of}/status").read_text()
        return int(re.search(r"^ShdPnd:\s*(\w+)", status, re.M).group(1), 16)
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    witnesses = [child for child in children.split()
                 if pathlib.Path(f"/proc/{child}/comm").read_text() ==
                 "axprof-witness\n"]
    return len(witnesses) == 1 and not any(map(pending, [pid, *witnesses]))


def test_signals_to_the_group(c, folder):
    """They reach the program once, as without us; and so do those after."""
    process = start(c, folder, c.program(), "count", 5, 300)

    def lines(n):
        return sorted(process.stdout.readline() for _ in range(n))
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
            os.killpg(process.pid, number)
        equal(lines(3), [b"signal 12: 1\n", b"signal 15: 1\n",
                         b"signal 2: 1\n"], "of the group")
        wait_for(lambda: has_seen_all(process.pid), "end of signals")
        os.kill(process.pid, signal.SIGTERM)
        equal(lines(1), [b"signal 15: 2\n"], "passed on")
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        equal(out, b"signal 2: 2\n", "of the group again")
    finally:
        end(process)


def test_timeout_around_us(c, folder):
    """timeout(1) sends its signal to us and then to the group. On a busy
    machine it may be held up in between for longer than we wait."""
    for _ in range(5):
        result = run(["timeout", "0.5", c.axprof, "run", "-q", "--no-file",
                      "--", c.program(), "count", 1, 300], folder,
                     env=environment())
        equal(result.status, 124, "status of timeout")
        if result.out == b"ready\nsignal 15: 1\n":
            return
    equal(result.out, b"ready\nsignal 15: 1\n", "signals")


def test_usr1_is_ours(c, folder):
    process = start(c, folder, c.program(), "count", 0, 300)
    try:
        os.kill(process.pid, signal.SIGUSR1)
        out, _ = process.communicate(timeout=60)
        equal((out, process.returncode), (b"", 5), "the program's signals")
    finally:
        end(process)


def test_term_ends_and_reports(c, folder):
    process = start(c, folder, c.program(), "sleep", 60000, options=())
    try:
        os.kill(process.pid, signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        equal(process.returncode, -signal.SIGTERM, "status")
        check(b"was ended by signal 15" in err, err)
    finally:
        end(process)


def child_of(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return int(wait_for(lambda: children.read_text().split(), "child")[0])


def test_axprof_is_killed(c, folder):
    """The program goes on unharmed."""
    process = start(c, folder, c.program(), "count", 1, 300, options=("-q",))
    program = child_of(process.pid)
    try:
        run_support.wait_for_files(folder, 1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(program, signal.SIGUSR2)
        out = process.stdout.read()
        equal(out, b"signal 12: 1\n", "the program went on")
    finally:
        end(process)
        for spool in run_support.spools(folder):  # of what axprof saw
            spool.unlink()


def test_no_file_is_killed(c, folder):
    """What is left by an axprof that kept nothing, the next one removes; not
    what is in use."""
    temporary = folder / "tmp"
    temporary.mkdir()

    def folders():
        return sorted(temporary.iterdir())

    def begin():
        # the program goes on, and would have its own spool in use
        process = start(c, folder, c.program(), "count", 1, 10,
                        options=("-q", "--no-file", "--without", "memory"),
                        TMPDIR=str(temporary))
        return process, child_of(process.pid)
    runs = [begin()]
    try:
        equal(len(folders()), 1, "a folder")
        left = folders()[0]
        # of what the parent records; samples have none
        run_support.wait_for_files(left, 1)
        spools = wait_for(lambda: run_support.spools(left), "spool")
        runs[0][0].send_signal(signal.SIGKILL)
        runs[0][0].wait()
        equal(folders(), [left], "nobody can remove it")
        runs.append(begin())
        check(left not in folders(), "the next run did not")
        equal([s for s in spools if s.exists()], [], "spools")
        used = folders()
        runs.append(begin())
        equal(len(folders()), 2, "folders in use")
        check(used[0] in folders(), "it was in use")
    finally:
        for process, program in runs:
            os.kill(program, signal.SIGUSR2)
            process.stdout.read()  # until the program has ended
            process.wait()
        equal(folders(), [], "folders in the end")


def test_program_is_killed(c, folder):
    process = start(c, folder, c.program(), "sleep", 60000)
    try:
        os.kill(child_of(process.pid), signal.SIGKILL)
        process.communicate(timeout=60)
        equal(process.returncode, -signal.SIGKILL, "status")
    finally:
        end(process)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
