#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`axprof run` on a terminal: keys that send signals, job control, window size,
the status line.

  test_run_pty.py AXPROF PROGRAMS [test ...]

Each test plays the shell: it makes a session on a new terminal, starts the
command as the foreground job, types, and reads the screen.
"""
import errno
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import sys
import termios
import time

import run_support
from run_support import check, environment, equal, run

LIMIT_S = 60


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()


class Terminal:
    """A shell with job control, of which one job is the command."""

    def __init__(self, command, folder, rows=24, columns=80, stderr=None):
        self.screen = b""
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            self.play_shell(command, folder, stderr)
        self.resize(rows, columns)
        self.deadline = time.monotonic() + LIMIT_S

    @staticmethod
    def play_shell(command, folder, stderr):
        """In the session leader: starts the job, reports what becomes of it,
        continues it when it has stopped and told so by SIGUSR1. Never returns.
        """
        try:
            os.chdir(folder)
            modes = termios.tcgetattr(0)
            modes[3] |= termios.NOFLSH  # ^C takes nothing off the screen
            termios.tcsetattr(0, termios.TCSANOW, modes)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGQUIT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            while Terminal.rows() == 0:  # until our caller has set the size
                time.sleep(0.001)
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(0, os.getpid())
                for number in (signal.SIGTTOU, signal.SIGINT, signal.SIGQUIT):
                    signal.signal(number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
                if stderr is not None:
                    fd = os.open(stderr, os.O_WRONLY | os.O_CREAT, 0o600)
                    os.dup2(fd, 2)
                os.execve(command[0], [str(c) for c in command],
                          environment(TERM="xterm"))
            while True:
                _, status = os.waitpid(job, os.WUNTRACED)
                os.tcsetpgrp(0, os.getpgrp())
                if os.WIFSTOPPED(status):
                    os.write(1, f"<stopped {job}>\n".encode())
                    signal.sigwait([signal.SIGUSR1])
                    os.tcsetpgrp(0, job)
                    os.kill(-job, signal.SIGCONT)
                elif os.WIFSIGNALED(status):
                    os.write(1, f"<signal {os.WTERMSIG(status)}>\n".encode())
                    os._exit(0)
                else:
                    os.write(1, f"<exit {os.WEXITSTATUS(status)}>\n".encode())
                    os._exit(0)
        except BaseException as error:  # noqa: B902
            os.write(1, repr(error).encode())
            os._exit(1)

    @staticmethod
    def rows():
        return struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ,
                                                 bytes(8)))[0]

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """What appears within so many seconds; False: the terminal closed."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            if error.errno == errno.EIO:
                return False
            raise
        self.screen += data
        return bool(data)

    def until(self, text):
        while text not in self.screen:
            check(time.monotonic() < self.deadline and self.read(0.2),
                  f"{text!r} did not appear:", self.screen)

    def until_stopped(self):
        self.until(b"<stopped ")
        while not self.screen.rpartition(b"<stopped ")[2].endswith(b"\n"):
            check(self.read(0.2), "closed:", self.screen)

    def type(self, keys):
        os.write(self.master, keys)

    def fg(self):
        """Continues the job; from then on keys are the job's."""
        job = int(self.screen.rpartition(b"<stopped ")[2].partition(b">")[0])
        os.kill(self.shell, signal.SIGUSR1)
        run_support.wait_for(lambda: os.tcgetpgrp(self.master) == job,
                             "job in the foreground")

    def end(self):
        """Reads to the end; the shell's last line is the job's status."""
        while self.read(0.2):
            check(time.monotonic() < self.deadline, "no end:", self.screen)
        os.close(self.master)
        os.waitpid(self.shell, 0)
        return self.screen


def open_terminal(c, folder, *words, options=("--no-file",), **more):
    return Terminal([c.axprof, "run", *options, "--",
                     c.programs / "run_program", *words], folder, **more)


def test_is_a_terminal(c, folder):
    screen = open_terminal(c, folder, "terminal").end()
    for fd in range(3):
        check(f"terminal {fd}: 1".encode() in screen, screen)
    check(b"foreground 1" in screen, screen)
    check(b"<exit 0>" in screen, screen)


def test_interrupt_is_seen_once(c, folder):
    t = open_terminal(c, folder, "count", "1", "300")
    t.until(b"ready")
    t.type(b"\x03")
    screen = t.end()
    check(b"signal 2: 1\r" in screen, screen)
    check(b"signal 2: 2" not in screen, screen)
    check(b"<exit 5>" in screen, screen)
    check(b"ended with status 5" in screen, screen)


def test_interrupt_ends_and_reports(c, folder):
    t = open_terminal(c, folder, "sleep", "50000")
    t.until(b"ready")
    t.type(b"\x03")
    screen = t.end()
    check(b"was ended by signal 2" in screen, screen)
    check(b"<signal 2>" in screen, screen)


def test_interrupt_of_the_report(c, folder):
    """A report that does not come to an end (here, nobody reads it) can be
    interrupted; the recording is there."""
    os.mkfifo(folder / "fifo")
    t = open_terminal(c, folder, "exit", "3", options=(
        "-o", "x.axp", "--report", "fifo", "-f", "json"))
    for _ in range(50 * LIMIT_S):
        if (folder / "x.axp").exists():
            break
        time.sleep(0.02)
    while b"<" not in t.screen:
        t.type(b"\x03")  # what comes too early is for the program
        time.sleep(0.1)
        check(time.monotonic() < t.deadline and t.read(0.2), "no end:",
              t.screen)
    check(b"<signal 2>" in t.end(), t.screen)
    done = run([c.axprof, "check", "x.axp"], folder, env=environment())
    equal(done.status, 0, done.err)


def test_quit(c, folder):
    t = open_terminal(c, folder, "count", "1", "300")
    t.until(b"ready")
    t.type(b"\x1c")
    check(b"signal 3: 1\r" in t.end(), t.screen)
    check(b"signal 3: 2" not in t.screen, t.screen)


def test_terminal_goes(c, folder):
    """Where the command is the first of its session, the kernel tells it alone
    that the terminal has gone."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(c.axprof, [str(c.axprof), "run", "--output", "x.axp", "--",
                             str(c.programs / "run_program"), "sleep",
                             "50000"], environment())
    check(b"ready" in os.read(master, 100), "not started")
    os.close(master)
    status = 0
    for _ in range(50 * LIMIT_S):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.02)
    else:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        check(False, "it went on")
    equal(os.WTERMSIG(status), signal.SIGHUP, "signal")
    done = run([c.axprof, "check", "x.axp"], folder, env=environment())
    equal(done.status, 0, done.err)


def test_stop_and_continue(c, folder):
    t = open_terminal(c, folder, "cat")
    t.until(b"ready")
    t.type(b"\x1a")
    t.until_stopped()
    t.fg()
    t.type(b"typed\n\x04")
    check(b"<exit 3>" in t.end(), t.screen)


def test_program_stops_itself(c, folder):
    """As an editor does on Ctrl-Z: the shell must see that the job stopped."""
    t = open_terminal(c, folder, "signal", str(int(signal.SIGSTOP)))
    t.until_stopped()
    t.fg()
    t.type(b"\x03")
    check(b"<signal 2>" in t.end(), t.screen)


def test_window_size(c, folder):
    t = open_terminal(c, folder, "count", "1", "300")
    t.until(b"ready")
    t.resize(30, 100)
    check(b"signal 28: 1\r" in t.end(), t.screen)
    check(b"signal 28: 2" not in t.screen, t.screen)


def test_typing_arrives(c, folder):
    t = open_terminal(c, folder, "cat")
    t.until(b"ready")
    t.type(b"typed\n\x04")
    screen = t.end()
    equal(screen.count(b"typed"), 2, "echo and output")
    check(b"<exit 3>" in screen, screen)


# ---- the status line -------------------------------------------------------

LINE = b"axprof  0:00:0"
REGION = b"\x1b[1;23r"


def test_status_line(c, folder):
    t = open_terminal(c, folder, "cat")
    t.until(LINE)
    t.type(b"\x04")
    screen = t.end()
    before, _, after = screen.partition(LINE)
    # Not in the first second; the last row is taken out of the region that
    # scrolls, and given back before the report.
    check(REGION in before, screen)
    check(b"\x1b[r" in after, screen)
    check(screen.rindex(b"\x1b[r") < screen.index(b"ended with status"), screen)
    check(screen.rindex(LINE) < screen.rindex(b"\x1b[r"), screen)


def test_status_line_of_a_recording(c, folder):
    """Steps a second, events and the size of the file."""
    t = Terminal([c.axprof, "run", "--no-file", "--",
                  c.programs / "record_program", "steps", "99999", "1", "0"],
                 folder, columns=120)
    t.until(b" steps/s  ")
    t.until(b" events  file ")
    t.type(b"\x03")
    t.end()


def test_status_line_of_few_events(c, folder):
    """What no buffer is full of counts, too: 10 scopes with one inside."""
    t = Terminal([c.axprof, "run", "--no-file", "--",
                  c.programs / "record_program", "idle", "10", "50000"],
                 folder, columns=120)
    t.until(b"  40 events  file ")
    t.type(b"\x03")
    t.end()


def test_status_line_follows_the_size(c, folder):
    t = open_terminal(c, folder, "cat")
    t.until(REGION)
    t.resize(40, 100)
    t.until(b"\x1b[1;39r")
    t.type(b"\x04")
    t.end()


def test_colour(c, folder):
    """The report has colour on a terminal, and none in a file."""
    screen = open_terminal(c, folder, "exit", "0").end()
    check(b"\x1b[1m" in screen, screen)
    screen = open_terminal(c, folder, "exit", "0", stderr="error").end()
    check(b"\x1b" not in (folder / "error").read_bytes(), "colour in a file")


def test_no_status_line(c, folder):
    """For short runs, with --quiet, when standard error is a file, and while
    the program has the terminal in a mode of its own."""
    began = time.monotonic()
    screen = open_terminal(c, folder, "exit", "0").end()
    check(LINE not in screen and REGION not in screen or
          time.monotonic() - began > 1, screen)
    screen = open_terminal(c, folder, "sleep", "1800",
                           options=("-q", "--no-file")).end()
    equal(screen, b"ready\r\n<exit 0>\r\n", "quiet")
    screen = open_terminal(c, folder, "sleep", "1800", stderr="error").end()
    check(b"\x1b" not in screen, screen)
    check(b"\x1b" not in (folder / "error").read_bytes(), "escapes in a file")
    screen = open_terminal(c, folder, "raw", "1800").end()
    screen = screen.partition(b"raw\n")[2].partition(b"no longer\n")[0]
    check(LINE not in screen and REGION not in screen, screen)


def test_status_line_is_hidden_when_stopped(c, folder):
    t = open_terminal(c, folder, "cat")
    t.until(LINE)
    t.type(b"\x1a")
    t.until_stopped()
    check(t.screen.rindex(b"\x1b[r") < t.screen.index(b"<stopped "), t.screen)
    t.fg()
    t.type(b"\x04")
    check(b"<exit 3>" in t.end(), t.screen)


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
