#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the command writes of recorded files is what the library writes.

  test_export.py AXPROF EXPORT_MIXED [test ...]

EXPORT_MIXED records to files, of one process and of several, and writes every
report and export of them with the library's calls.
"""
import pathlib
import re
import sys

import run_support
from run_support import check, environment, equal, run


class Context:
    def __init__(self, axprof, program):
        self.axprof = pathlib.Path(axprof).resolve()
        self.program = pathlib.Path(program).resolve()


def axprof(c, folder, *words):
    return run([c.axprof, *words], folder, env=environment())


def record(c, folder):
    result = run([c.program, folder], folder, env=environment())
    equal(result.status, 0, result.err)
    return result.out


def shown_formats(c, folder, verb):
    text = axprof(c, folder, verb, "--help").out.decode()
    part = re.search(r"\nFORMAT:\n(.*?)\n\n", text, re.S).group(1)
    return re.findall(r"^  (\S+)", part, re.M)


def members(folder):
    """In the order in which EXPORT_MIXED opened them."""
    files = sorted(folder.glob("ranks.*.axp"), key=lambda f: "-" in f.name)
    return sorted(files[:-1]) + files[-1:]


def test_exports(c, folder):
    """Every format has one name everywhere, and gives the same bytes."""
    record(c, folder)
    formats = shown_formats(c, folder, "export")
    by_library = {p.name[5:] for p in folder.glob("file.*")} - {"axp", "facts"}
    equal(set(formats), by_library, "names")
    equal(len(formats), 15, "formats")
    for form in formats:
        for stem, files in (("file", [folder / "file.axp"]),
                            ("ranks", members(folder))):
            done = axprof(c, folder, "export", "-f", form, "-o", "x", *files)
            equal((done.status, done.out), (0, b""), form)
            expected = (folder / f"{stem}.{form}").read_bytes()
            # No heap was seen: nothing is written, and that is said.
            why = b"axprof export: no memory of the heap was seen" \
                if form.startswith("folded-") else b""
            equal((bool(expected), done.err[:len(why) or None]),
                  (not why, why), form)
            check((folder / "x").read_bytes() == expected, stem, form, "file")
            dash = axprof(c, folder, "export", "-f", form, "-o", "-", *files)
            check(dash.out == expected, stem, form, "standard output")


def test_reports(c, folder):
    summary = record(c, folder)
    for form in shown_formats(c, folder, "report"):
        for stem, files in (("ranks", members(folder)),
                            ("file", [folder / "file.axp"])):
            done = axprof(c, folder, "report", "-f", form, *files)
            equal((done.status, done.err), (0, b""), form)
            expected = (folder / f"{stem}-report.{form}").read_bytes()
            check(done.out == expected, stem, form, "by axp_report_export")
        if form == "text":
            check(done.out == summary, "by axp_print_summary")
            check(len(summary) > 1000, "too short to be a test")


def test_other_names(c, folder):
    """What people type instead is understood, and not shown."""
    record(c, folder)
    for other, name in (("csv", "csv-ops"), ("json-events", "json")):
        done = axprof(c, folder, "export", "-f", other, "-o", "-", "file.axp")
        check(done.out == (folder / f"file.{name}").read_bytes(), other)


if __name__ == "__main__":
    run_support.main([value for name, value in list(globals().items())
                      if name.startswith("test_")],
                     Context(sys.argv[1], sys.argv[2]))
