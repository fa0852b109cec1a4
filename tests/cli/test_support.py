# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the test scripts share is tested too: a script that is asked for a test
which it does not have fails, and says so.

  test_support.py AXPROF PROGRAMS [test ...]
"""
import pathlib
import subprocess
import sys

import run_support
from run_support import check, equal

HERE = pathlib.Path(__file__).resolve().parent


class Context:
    def __init__(self, axprof, programs):
        self.axprof, self.programs = axprof, programs


def scripts():
    return [path for path in sorted(HERE.glob("test_*.py"))
            if "import run_support" in path.read_text() or
            "from run_support" in path.read_text()]


def ask(c, script, name):
    return subprocess.run(
        [sys.executable, str(script), c.axprof, c.programs, name],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)


def test_unknown_name(c, _):
    check(len(scripts()) > 10, "scripts", scripts())
    for script in scripts():
        done = ask(c, script, "test_of_nobody")
        if done.returncode == 77:
            print(f"        ({script.name} cannot run here)")
            continue
        equal(done.returncode, 1, f"{script.name}: {done.stdout}")
        check("no test is called test_of_nobody" in done.stdout, script.name,
              done.stdout)


def test_known_name(c, _):
    done = ask(c, HERE / "test_run.py", "test_exit_status")
    equal(done.returncode, 0, done.stdout)
    check("ok      test_exit_status" in done.stdout, done.stdout)


if __name__ == "__main__":
    run_support.main([test_unknown_name, test_known_name],
                     Context(*sys.argv[1:3]))
