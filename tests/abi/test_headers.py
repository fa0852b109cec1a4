#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each public header compiles alone, as C99 to C23 and C++14 to C++23, with gcc
and clang and every warning an error; and so does a unit that uses every macro.
All that a caller fills can grow: structs begin with their size, enums have room.

  test_headers.py INCLUDE_DIR
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wvla",
         "-Wundef", "-Wcast-qual", "-Wwrite-strings", "-Wpointer-arith",
         "-Wformat=2", "-Wredundant-decls", "-Werror"]
C_FLAGS = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wnested-externs"]
CPP_FLAGS = ["-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"]
C_STANDARDS = ["c99", "c11", "c17", "c2x"]
CPP_STANDARDS = ["c++14", "c++17", "c++20", "c++2b"]
# Variables that nothing but a macro's argument uses must stay used.
MACROS = r"""
#include <axprof/axprof.h>
#include <axprof/axprof_read.h>
static double only_for_a_scope(int n)
{
    return 3.0 * n;
}
static size_t only_for_a_block(int n)
{
    return 3 * sizeof n;
}
int all(int n, const char *name, axp_profiler *p, const void *ptr);
int all(int n, const char *name, axp_profiler *p, const void *ptr)
{
    double only_flops = 2.0 * n, only_bytes;
    size_t only_size = sizeof n;
    only_bytes = 4.0 * n;
    AXP_SCOPE("literal");
    AXP_SCOPE("second on its own line"); AXP_SCOPE("third on the same");
    AXP_SCOPE_NAME(name);
    AXP_SCOPE_IN(p, name);
    AXP_FUNCTION();
    AXP_SCOPE_WORK("work", .flops = only_flops);
    AXP_SCOPE_WORK("more work", .flops = 2.0 * n, .bytes = only_bytes,
                   .dtype = AXP_F32, .dims = {1, 2, 3});
    AXP_SCOPE_WORK("by a function", .flops = only_for_a_scope(n));
    AXP_ALLOC(name, only_for_a_block(n));
    AXP_SCOPE_WORK_OF("layer", axp_work_gemm(n, n, n, AXP_F32));
    AXP_START_WORK_OF(name, axp_work_layernorm(n, n, AXP_F32));
    AXP_ADD_WORK_OF(axp_work_adam(n, AXP_F32));
    if (n)
        AXP_START(name);
    else
        AXP_STOP(name);
    AXP_START_WORK(name, .flops = 2.0 * n);
    AXP_ADD_WORK(.flops = 2.0 * n, .bytes = 4.0);
    AXP_CATEGORY(AXP_CAT_FORWARD);
    AXP_ALLOC(name, (size_t)n);
    AXP_FREE(name, only_size);
    AXP_TRACK_ALLOC(name, ptr, sizeof n);
    AXP_TRACK_ALLOC_KIND(name, ptr, sizeof n, AXP_MEM_WEIGHT);
    AXP_TRACK_FREE(ptr);
    AXP_STEP();
    AXP_COUNTER(name, 2.5);
    AXP_INSTANT(name);
    AXP_EVENT(name, AXP_EVENT_CUSTOM, "metadata");
    AXP_ASYNC_BEGIN(name, 7);
    AXP_ASYNC_END(name, 7);
    AXP_FLOW_OUT(8);
    AXP_FLOW_IN(8);
    AXP_THREAD_NAME(name);
    AXP_CALL(axp_finish(p));
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
CPP_MACROS = MACROS.replace(".flops = 2.0 * n, .bytes = ", "2.0 * n, ") \
    .replace(".dtype = AXP_F32, .dims = {1, 2, 3}", "AXP_F32, {1, 2, 3}") \
    .replace(".flops = ", "") \
    .replace("(size_t)n", "sizeof n") \
    .replace("goto out", "break").replace("out:\n", "") + r"""
#include <axprof/axprof.hpp>
#include <string>
axp::scope strings(axp_profiler *p, const std::string &name);
axp::scope strings(axp_profiler *p, const std::string &name)
{
    AXP_SCOPE_NAME(name);
    AXP_SCOPE_IN(p, name + "2");
    AXP_COUNTER(name, 1);
    AXP_START(name);
    AXP_STOP(name.c_str());
    axp::scope s(name), t(p, "t");
    axp::async_scope a("a"), b(p, "b");
    double value = 2;
    [value] { AXP_COUNTER("captured", value); }();
    return axp::scope(p, name, axp_work{});
}
#if __cplusplus >= 201703L
#include <string_view>
void views(std::string_view name);
void views(std::string_view name)
{
    AXP_SCOPE_NAME(name.substr(1));
    AXP_THREAD_NAME(name);
    axp::scope s(name);
}
#endif
namespace outer { template <class T> struct layer {
    T run(T x) const { AXP_FUNCTION(); return x; }
}; }
int functions();
int functions()
{
    return outer::layer<int>().run([](auto x) { AXP_FUNCTION(); return x; }(1));
}
"""


# What it has is what it will have: ours given back; a format told by its magic.
NEVER_GROWS = {"axp_op", "axp_giver", "axp_ring_kind"}


def check_growth(headers):
    """What could not get a field or a value later: how many."""
    text = "\n".join(re.sub(r"/\*.*?\*/", "", h.read_text(), flags=re.DOTALL)
                     for h in headers)
    wrong = [f"enum {name} has no AXP__INT" for name in
             re.findall(r"typedef enum (axp_\w+) \{", text)]
    bodies = dict(re.findall(r"typedef struct (axp_\w+) \{(.*?)\n\}", text,
                             re.DOTALL))
    calls = re.findall(r"AXP_(?:API|_HOT)\s[^;{]*?\b(axp_\w+)\(([^;{]*)\);",
                       text)
    for call, parameters in calls:
        for name in re.findall(r"const (axp_\w+) \*", parameters):
            if name in bodies and "size_t size" not in parameters \
                    and "(*" not in parameters \
                    and not bodies[name].lstrip().startswith("size_t size;"):
                wrong.append(f"{call}: {name} does not begin with its size")
    wrong = [w for w in wrong if not NEVER_GROWS & set(re.findall(r"\w+", w))]
    print(*wrong, sep="\n")
    if not bodies or len(calls) < 50:
        sys.exit("nothing was found to be looked at")
    return len(wrong)


def compiles(compiler, std, text, options, include):
    is_cpp = std.startswith("c++")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("unit.cpp" if is_cpp else "unit.c")
        source.write_text(text)
        done = subprocess.run(
            [compiler, f"-std={std}", *FLAGS,
             *(CPP_FLAGS if is_cpp else C_FLAGS), *options, "-I", include,
             "-c", "-o", "/dev/null", str(source)],
            stderr=subprocess.PIPE, text=True)
    return done.returncode == 0, done.stderr


def units_of(compiler, std, headers):
    """[(name, text, options)]"""
    is_cpp = std.startswith("c++")
    units = [(h.name, f"#include <axprof/{h.name}>\n" * 2, [])
             for h in headers if is_cpp or h.suffix == ".h"]
    macros = CPP_MACROS if is_cpp else MACROS
    return units + [("every macro", macros, options)
                    for options in [[], ["-O2"], ["-DAXP_DISABLE"]]]


def main():
    include = sys.argv[1]
    compilers = [(c, s) for c, standards in
                 [("gcc", C_STANDARDS), ("clang", C_STANDARDS),
                  ("g++", CPP_STANDARDS), ("clang++", CPP_STANDARDS)]
                 if shutil.which(c) for s in standards]
    headers = sorted(pathlib.Path(include, "axprof").iterdir())
    work = [(c, s, *unit) for c, s in compilers
            for unit in units_of(c, s, headers)]
    failed = check_growth(headers)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda w: compiles(w[0], w[1], w[3], w[4], include),
                           work)
        for (compiler, std, name, _, options), (ok, errors) in zip(work,
                                                                   results):
            if not ok:
                failed += 1
                print(f"FAILED  {compiler} {std} {' '.join(options)} {name}\n"
                      f"{errors}")
    # That a warning would be seen:
    ok, _ = compiles("gcc" if shutil.which("gcc") else "clang", "c11",
                     "int f(int n);\nint f(int n) { int m; return 0; }\n", [],
                     include)
    if ok or len(work) < 40:
        failed += 1
        print("FAILED  this test notices nothing")
    print(f"{len(work)} units, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
