#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each public header compiles alone, as C11 and C++17, with gcc and clang and
every warning an error; and so does a unit that uses every macro.

  test_headers.py INCLUDE_DIR
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
MACROS = r"""
#include <axprof/axprof.h>
#include <axprof/axprof_read.h>
int all(int n, const char *name, axp_profiler *p);
int all(int n, const char *name, axp_profiler *p)
{
    AXP_SCOPE("literal");
    AXP_SCOPE("second on its own line"); AXP_SCOPE("third on the same");
    AXP_SCOPE_NAME(name);
    AXP_SCOPE_IN(p, name);
    AXP_FUNCTION();
    AXP_SCOPE_WORK("work", .flops = 2.0 * n);
    AXP_SCOPE_WORK("more work", .flops = 2.0 * n, .bytes = 4.0,
                   .dtype = AXP_F32, .dims = {1, 2, 3});
    if (n)
        AXP_START(name);
    else
        AXP_STOP(name);
    AXP_ALLOC(name, (size_t)n);
    AXP_FREE(name, (size_t)n);
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("in a loop");
        if (i == 3) continue;
        if (i == 5) goto out;
    }
out:
    return n;
}
"""
# Designated initialisers are C++20's: gcc and clang say so under -Wpedantic.
CPP_MACROS = MACROS.replace(".flops = 2.0 * n, .bytes = 4.0",
                            "2.0 * n, 4.0") \
    .replace(".dtype = AXP_F32, .dims = {1, 2, 3}", "AXP_F32, {1, 2, 3}") \
    .replace(".flops = 2.0 * n", "2.0 * n") \
    .replace("goto out", "break").replace("out:\n", "")


def compiles(compiler, language, text, options, include):
    suffix, std = (".c", "-std=c11") if language == "c" else \
        (".cpp", "-std=c++17")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("unit" + suffix)
        source.write_text(text)
        done = subprocess.run([compiler, std, *FLAGS, *options, "-I", include,
                               "-c", "-o", "/dev/null", str(source)],
                              stderr=subprocess.PIPE, text=True)
    return done.returncode == 0, done.stderr


def main():
    include = sys.argv[1]
    compilers = [(c, l) for c, l in [("gcc", "c"), ("clang", "c"),
                                     ("g++", "c++"), ("clang++", "c++")]
                 if shutil.which(c)]
    headers = sorted(pathlib.Path(include, "axprof").iterdir())
    failed = n = 0
    for compiler, language in compilers:
        units = {h.name: f"#include <axprof/{h.name}>\n"
                         f"#include <axprof/{h.name}>\n"
                 for h in headers if language == "c++" or h.suffix == ".h"}
        units["every macro"] = MACROS if language == "c" else CPP_MACROS
        for name, text in units.items():
            for options in [[], ["-O2"], ["-DAXP_DISABLE"]]:
                n += 1
                ok, errors = compiles(compiler, language, text, options,
                                      include)
                if not ok:
                    failed += 1
                    print(f"FAILED  {compiler} {' '.join(options)} {name}\n"
                          f"{errors}")
    # That a warning would be seen:
    ok, _ = compiles("gcc" if shutil.which("gcc") else "clang", "c",
                     "int f(int n);\nint f(int n) { int m; return 0; }\n", [],
                     include)
    if ok or n < 12:
        failed += 1
        print("FAILED  this test notices nothing")
    print(f"{n} units, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
