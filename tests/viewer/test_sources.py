#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The template was built from the sources that lie beside it.

Its generator line holds a hash of them all (viewer/build.mjs), so that a
forgotten build shows also where there is no node to build with."""
import hashlib
import pathlib
import re
import sys

VIEWER = pathlib.Path(__file__).resolve().parent.parent.parent / "viewer"


def source_hash():
    files = [p for p in (VIEWER / "src").rglob("*") if p.is_file()]
    files += [VIEWER / name for name in ("build.mjs", "template.html",
                                         "package.json", "package-lock.json")]
    digest = hashlib.sha256()
    for name in sorted(p.relative_to(VIEWER).as_posix() for p in files):
        digest.update(name.encode() + b"\0")
        digest.update((VIEWER / name).read_bytes() + b"\0")
    return digest.hexdigest()


def main():
    page = (VIEWER / "dist" / "report.html").read_text(encoding="utf-8")
    found = re.search(r'name="generator" content="axprof viewer (\w+)"', page)
    wrong = []
    if not found or found.group(1) != source_hash():
        wrong.append("viewer/dist/report.html was built from other sources: "
                     "run npm run build in viewer/")
    if page.count("<!--axprof-data-->") != 1:
        wrong.append("the template has no single place for data")
    if len(page.encode()) >= 200_000:
        wrong.append(f"the template has {len(page.encode())} bytes")
    if re.search(r'(src|href)="(https?:)?//', page):
        wrong.append("the template loads something")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
