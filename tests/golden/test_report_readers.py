#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The reports, read by programs that are not ours.

  test_report_readers.py SCHEMA FOLDER EXPORT_MIXED

Of the golden runs in FOLDER, and of what EXPORT_MIXED records to files: a run
of one process, and one of several.

JSON: parsed strictly, validated against docs/report.schema.json by
python3-jsonschema, and added up again. Markdown: rendered by cmark-gfm; no
name became markup, and every name of a table is the one that the JSON has.
Text: no line is wider than 80 columns by Python's own tables, nothing is raw.
"""
import copy
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata

import jsonschema

TRACES = ["empty", "one_scope", "nested", "threads", "memory", "hostile"]
RECORDED = ["file", "ranks"]
SEVERITIES = ["low", "medium", "high", "critical"]
failures = []


def check(claim, *what):
    if not claim:
        failures.append(" ".join(str(w) for w in what))


# ---- JSON -------------------------------------------------------------------

def no_doubles(pairs):
    keys = [key for key, _ in pairs]
    check(len(keys) == len(set(keys)), "a key twice:", keys)
    return dict(pairs)


def no_constants(name):
    check(False, "JSON has no", name)


def path_to(tree, i):
    return [] if i < 0 else [tree[i]["name"]] + path_to(tree, tree[i]["parent"])


def check_sums(name, report):
    run, ops, tree = report["run"], report["ops"], report["tree"]
    check(run["operation_count"] == len(ops), name, "operation_count")
    check(run["total_time_ns"] == sum(op["self_ns"] for op in ops),
          name, "total_time_ns")
    selfs = [op["self_ns"] for op in ops]
    check(selfs == sorted(selfs, reverse=True), name, "ops by self time")
    for op in ops:
        check(op["min_ns"] <= op["p50_ns"] <= op["p95_ns"] <= op["p99_ns"]
              <= op["max_ns"], name, "percentiles of", op["name"])
        check((op["gflops"] is None) == (op["flops"] is None), name, op["name"])
        if op["flops"] is not None:
            check(abs(op["gflops"] - op["flops"] / op["flops_ns"])
                  <= 1e-9 * op["gflops"], name, "gflops of", op["name"])
    for i, node in enumerate(tree):
        check(node["parent"] < i, name, "parents first")
        below = sum(n["total_ns"] for n in tree if n["parent"] == i)
        rest = node["total_ns"] - node["self_ns"] - below
        # a scope that outlived it has moved up to its parent; and real scopes
        # have a cost, which is taken off
        is_odd = name in ["threads"] + RECORDED
        # another thread ended it: its call is in no tree
        is_elsewhere = is_odd and node["calls"] == 0
        # another thread ended what it was below, while it was open: its call
        # is counted elsewhere, and what it had called by then is not
        is_moved = is_odd and "handed over" in path_to(tree, i)
        check(rest == 0 or (rest > 0 and is_odd) or is_elsewhere or is_moved,
              name,
              "self and children of", node["name"], rest, "ns in",
              node["calls"], "calls")
    savings = [f["saving_ns"] or 0 for f in report["findings"]]
    ranks = [(SEVERITIES.index(f["severity"]), f["saving_ns"] or 0)
             for f in report["findings"]]
    check(ranks == sorted(ranks, reverse=True), name,
          "findings by severity and saving")
    check(sum(savings) <= run["duration_ns"] * (1 + 1e-6) + len(savings), name,
          "savings add up to more than there is")
    memory = report["memory"]
    check(memory["peak_bytes"] == sum(n["at_peak_bytes"]
                                      for n in memory["names"]),
          name, "bytes at the peak")
    check(memory["total_allocated"] == sum(n["total_allocated"]
                                           for n in memory["names"]),
          name, "allocated bytes")


def check_rejects(validator, report):
    """The schema is not one that everything fits."""
    for key in report:
        broken = copy.deepcopy(report)
        del broken[key]
        check(not validator.is_valid(broken), "valid without", key)
    broken = copy.deepcopy(report)
    broken["ops"][0]["calls"] = "1"
    check(not validator.is_valid(broken), "valid with a text for a number")
    broken = copy.deepcopy(report)
    broken["findings"][0]["severity"] = "CRITICAL"
    check(not validator.is_valid(broken), "valid with another severity")
    broken = copy.deepcopy(report)
    broken["schema"] = "axprof-report-2"
    check(not validator.is_valid(broken), "valid with another version")


def check_json(schema, folder, names):
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    reports = {}
    for name in names:
        text = (folder / f"{name}.json").read_bytes().decode("utf-8")
        report = json.loads(text, object_pairs_hook=no_doubles,
                            parse_constant=no_constants)
        for error in validator.iter_errors(report):
            check(False, name, error.json_path, error.message)
        check_sums(name, report)
        reports[name] = report
    check_rejects(validator, reports[names[-1] if names != TRACES else
                                     "nested"])
    return reports


# ---- names ------------------------------------------------------------------

def is_hidden(char):
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def plain(name):
    """What our reports make of a name, said once more in another language."""
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    out = ""
    for char in name:
        if char in short:
            out += short[char]
        elif is_hidden(char):
            code = ord(char)
            out += f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"
        else:
            out += char
    return out


def columns(text):
    return sum(0 if unicodedata.category(c) in ("Mn", "Me") else
               2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


# ---- Markdown ---------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Tags seen, and tables as rows of texts of cells."""

    def __init__(self):
        super().__init__()
        self.tags, self.tables, self.attributes = set(), [], set()
        self.cell = None

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {key for key, _ in attrs}
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.cell:
            self.tables[-1][-1][-1] += data


ALLOWED = {"h1", "h2", "p", "strong", "em", "code", "table", "thead", "tbody",
           "tr", "th", "td", "ol", "li", "blockquote", "br", "sub"}


def check_markdown(folder, reports):
    for name in reports:
        path = folder / f"{name}.md"
        page = Page()
        page.feed(subprocess.run(
            ["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough",
             "-e", "autolink", str(path)], check=True, capture_output=True,
            text=True).stdout)
        check(page.tags <= ALLOWED, name, "tags:", page.tags - ALLOWED)
        check(page.attributes <= {"align"}, name, page.attributes)
        report = reports[name]
        threads = [{"name": t["name"] or "(thread)"}
                   for t in report["threads"][:10]]
        path = report["critical_path"] or {"parts": []}
        wanted = [path["parts"][:8], report["ops"][:20], report["memory"]["names"][:10], threads]
        wanted = [w for w in wanted if w]
        check(len(page.tables) == len(wanted), name, "tables:",
              len(page.tables))
        for table, rows in zip(page.tables, wanted):
            check(len({len(row) for row in table}) == 1, name, "ragged rows")
            for row, item in zip(table[1:], rows):
                check(row[0] == plain(item["name"]), name, row[0],
                      "is not", plain(item["name"]))


# ---- text -------------------------------------------------------------------

def check_text(folder, names):
    for name in names:
        text = (folder / f"{name}.txt").read_bytes().decode("utf-8")
        for number, line in enumerate(text.split("\n"), 1):
            check(columns(line) <= 80, f"{name}.txt:{number}:",
                  columns(line), "columns")
            check(not any(map(is_hidden, line)), f"{name}.txt:{number}: raw")
            check(line == line.rstrip(), f"{name}.txt:{number}: blanks")


def check_alignment(path):
    """Wide and combining characters do not move the columns after them."""
    lines = path.read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("operation"))
    ends = set()
    for line in lines[at + 1:]:
        if not re.search(r"\d%$", line):
            break
        ends.add(columns(line))
    check(len(ends) == 1 and len(lines) > at + 20, "ragged column:", ends)


def check_processes(report):
    """Several processes: rows say whose they are."""
    for rows in (report["threads"], report["tracks"]):
        check(len({row["process_id"] for row in rows}) == 4, "processes")
        check({row["rank"] for row in rows} == {0, 1, 2}, "ranks")


def check_recorded(schema, program):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([program, str(folder)], check=True,
                       stdout=subprocess.DEVNULL)
        for name in RECORDED:
            for ending in ("json", "markdown", "text"):
                short = {"markdown": "md", "text": "txt"}.get(ending, ending)
                (folder / f"{name}-report.{ending}").rename(
                    folder / f"{name}.{short}")
        reports = check_json(schema, folder, RECORDED)
        check_markdown(folder, reports)
        check_text(folder, RECORDED)
        check_processes(reports["ranks"])


def main():
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    reports = check_json(schema, folder, TRACES)
    check_markdown(folder, reports)
    check_text(folder, TRACES)
    check_alignment(folder / "hostile.txt")
    check_recorded(schema, sys.argv[3])
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(TRACES) + len(RECORDED)} runs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
