#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every rule has its page, and the pages state the thresholds that are.

  test_rule_pages.py RULES_DEF FOLDER
"""
import pathlib
import re
import sys


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    folder = pathlib.Path(sys.argv[2])
    rules = re.findall(r'^RULE\(\w+, (\w+), "(\w+)"', text, re.M)
    words = dict(re.findall(r'^RULE\(\w+, (\w+), "\w+",[^"]*'
                            r'("[^"]*",\s+"[^"]*")\)$', text, re.M))
    thresholds = re.findall(r"^THRESHOLD\((\w+), (\w+), ([\d.]+)\)", text, re.M)
    problems = []
    index = (folder / "README.md").read_text()
    for rule, name in rules:
        page = folder / f"{rule}.md"
        body = page.read_text() if page.exists() else ""
        if not body.startswith(f"# {rule}\n") or f"`{name}`" not in body:
            problems.append(f"{page}: missing, or not of {rule}, {name}")
        about = " | ".join(re.findall(r'"([^"]*)"', words.get(rule, "")))
        if f"]({rule}.md) | {about} |" not in index.replace("`", ""):
            problems.append(f"README.md does not list {rule} as: {about}")
        said = set(re.findall(rf"^\| `{rule}\.(\w+)` \| ([\d.]+) \|", body,
                              re.M))
        are = {(key, value) for of, key, value in thresholds if of == rule}
        for key, value in said ^ are:
            problems.append(f"{rule}.{key}={value}: page and rules.def differ")
    for page in folder.glob("*.md"):
        if page.stem not in [rule for rule, _ in rules] + ["README"]:
            problems.append(f"{page}: of no rule")
    print(*problems, f"{len(rules)} rules, {len(thresholds)} thresholds",
          sep="\n")
    return 1 if problems or not rules or not thresholds else 0


if __name__ == "__main__":
    sys.exit(main())
