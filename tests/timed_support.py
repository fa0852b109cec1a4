# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs programs that print their seconds and their threads' starved seconds.

A run that did not get the processors that it wanted is repeated, and of all its
runs the one counts that had to wait least. On a busy machine it gets them with a
real-time priority, where that is allowed."""
import functools
import shutil
import subprocess
import time
import typing

STARVED = 0.04  # of a run's seconds, all threads together: repeated
REPEATS = 6


class Run(typing.NamedTuple):
    starved: float  # of its seconds
    seconds: float
    number: int


@functools.cache
def realtime():
    """What gives a command a real-time priority; []: it is not allowed."""
    prefix = ["chrt", "-f", "1"]
    if not shutil.which("chrt"):
        return []
    asked = subprocess.run(prefix + ["true"], stderr=subprocess.DEVNULL)
    return [] if asked.returncode else prefix


def last_two(out):
    """What timed_print (timed_support.h) printed last."""
    return map(float, out.split()[-2:])


def least_starved(command, repeats=REPEATS, realtime_from=0, read=last_two,
                  **options):
    """Runs what command(n) gives, n = 0, 1, …, until it was hardly starved;
    from realtime_from on with a real-time priority. read makes seconds and
    starved seconds of what it prints."""
    best = None
    for n in range(repeats):
        arguments = list(map(str, command(n)))
        if n >= realtime_from:
            arguments = realtime() + arguments
        done = subprocess.run(arguments, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **options)
        if done.returncode:
            raise RuntimeError(f"{done.args} ended with {done.returncode}: "
                               f"{done.stderr}")
        seconds, starved = read(done.stdout)
        run = Run(starved / seconds, seconds, n)
        best = min(best or run, run)
        time.sleep(0.1 * seconds)  # the kernel lets no such priority take all
        if best.starved < STARVED:
            break
    return best
