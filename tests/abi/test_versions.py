#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""libaxprof beside a libaxprof_rt of another version: one clear line.

  test_versions.py CC LIBAXPROF_RT.so LIBAXPROF.so LIBAXPROF_RT.a LIBAXPROF.a

 - shared: a stand-in that has every symbol of the real one, under the name of
   another version, is refused when the program is loaded;
 - archives: the linker names the version that is missing.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = """
#include <stddef.h>
typedef struct axp_view axp_view;
axp_view *axp_snapshot(void *p);
void *axp_global(void);
int main(void) { return axp_snapshot(axp_global()) == NULL; }
"""
OTHER = "9.8.7"


def symbols(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            yield kind, *name.split("@@")


def make_stand_in(folder, rt, cc):
    """A libaxprof_rt.so.0 whose private part is of another version."""
    code, nodes = [], {}
    for kind, name, node in symbols(rt):
        code.append(f"char {name}[8];" if kind in "BDR"
                    else f"void {name}(void) {{}}")
        nodes.setdefault(re.sub(r"(PRIVATE_).*", r"\g<1>" + OTHER, node),
                         []).append(name)
    (folder / "rt.c").write_text("\n".join(code))
    (folder / "rt.map").write_text("".join(
        f"{node} {{ global: {'; '.join(names)}; }};\n"
        for node, names in nodes.items()))
    subprocess.run([cc, "-w", "-fno-builtin", "-shared", "-fPIC",
                    "-Wl,-soname,libaxprof_rt.so.0",
                    f"-Wl,--version-script={folder}/rt.map",
                    "-o", folder / "libaxprof_rt.so.0", folder / "rt.c"],
                   check=True)
    return [node for node in nodes if OTHER in node]


def check_shared(folder, cc, rt, axprof, *_):
    program = folder / "program"
    subprocess.run([cc, "-o", program, folder / "program.c", axprof, rt,
                    f"-Wl,-rpath,{axprof.parent}"], check=True)
    if subprocess.run([program]).returncode != 0:
        return "the program does not run with its own libraries"
    if len(make_stand_in(folder, rt, cc)) != 1:
        return "libaxprof_rt has no private symbols with a version"
    ran = subprocess.run([program], env={"LD_LIBRARY_PATH": str(folder)},
                         stderr=subprocess.PIPE, text=True)
    lines = ran.stderr.splitlines()
    if ran.returncode == 0 or len(lines) != 1:
        return f"status {ran.returncode}, {len(lines)} lines:\n{ran.stderr}"
    for word in ("libaxprof_rt.so.0", "AXPROF_PRIVATE_", "libaxprof.so.0"):
        if word not in lines[0]:
            return f"no {word} in: {lines[0]}"
    return None


def check_archives(folder, cc, _rt, _axprof, rt_a, axprof_a):
    old = folder / "old.a"
    nm = subprocess.run(["nm", rt_a], check=True, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, text=True).stdout
    tag = re.search(r" (axp__rt_of_\w+)$", nm, re.M).group(1)
    subprocess.run(["objcopy", "--redefine-sym", f"{tag}=axp__rt_of_9_8_7",
                    rt_a, old], check=True)
    libraries = ["-lzstd", "-lz", "-lm", "-ldl", "-pthread"]
    for archive, should_link in ((rt_a, True), (old, False)):
        ran = subprocess.run([cc, "-o", folder / "static", folder / "program.c",
                              axprof_a, archive, *libraries],
                             stderr=subprocess.PIPE, text=True)
        if (ran.returncode == 0) != should_link:
            return f"{archive.name}: status {ran.returncode}\n{ran.stderr}"
    return None if tag in ran.stderr else f"no {tag} in: {ran.stderr}"


def main():
    cc, *libraries = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    failed = False
    for check in (check_shared, check_archives):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "program.c").write_text(PROGRAM)
            wrong = check(folder, cc, *libraries)
            print("not ok " if wrong else "ok     ", check.__name__,
                  wrong or "")
            failed |= wrong is not None
    return failed


if __name__ == "__main__":
    sys.exit(main())
