#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiled out, the macros leave nothing in the object code, and a program that
uses nothing else needs no library; and only a literal compiles as the name of
AXP_SCOPE.

  test_compiled_out.py INCLUDE_DIR

The same functions are compiled with AXP_DISABLE and all macros, and without
the macros, by gcc and clang, as C11 and C++17, -O0 and -O2; every section but
debug and notes must be the same bytes. That the comparison can fail is shown
by the same source without AXP_DISABLE, which must differ.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

BODY = r"""
#include <axprof/axprof.h>
#ifdef PLAIN
#define M(x)
#else
#define M(x) x;
#endif
int work(int n, const char *name, axp_profiler *p);
int work(int n, const char *name, axp_profiler *p)
{
    M(AXP_THREAD_NAME(name))
    M(AXP_CATEGORY(AXP_CAT_DATA))
    M(AXP_SCOPE("literal"))
    M(AXP_SCOPE_NAME(name))
    M(AXP_SCOPE_IN(p, name))
    M(AXP_FUNCTION())
    M(AXP_SCOPE_WORK("work", .flops = 2.0 * n, .bytes = 4.0 * n))
    M(AXP_SCOPE_WORK_OF("layer", axp_work_gemm(n, n, n, AXP_F32)))
    M(AXP_START_WORK_OF(name, axp_work_gemm(n, n, n, AXP_F32)))
    M(AXP_ADD_WORK_OF(axp_work_gemm(n, n, n, AXP_F32)))
    int sum = 0;
    for (int i = 0; i < n; i++) {
        M(AXP_SCOPE("inner"))
        if (i == 7) return sum;
        sum += i * i;
    }
    M(AXP_START(name))
    M(AXP_ALLOC(name, (size_t)n))
    sum ^= n;
    M(AXP_FREE(name, (size_t)n))
    M(AXP_STOP(name))
    M(AXP_START_WORK(name, .flops = 2.0 * n))
    M(AXP_ADD_WORK(.bytes = 2.0 * n))
    M(AXP_TRACK_ALLOC(name, name, sizeof sum))
    M(AXP_TRACK_ALLOC_KIND(name, name, sizeof sum, AXP_MEM_WEIGHT))
    M(AXP_TRACK_FREE(name))
    M(AXP_COUNTER(name, 1.0 / n))
    M(AXP_INSTANT(name))
    M(AXP_EVENT(name, AXP_EVENT_CUSTOM, "said"))
    M(AXP_ASYNC_BEGIN(name, (uint64_t)n))
    M(AXP_ASYNC_END(name, (uint64_t)n))
    M(AXP_FLOW_OUT((uint64_t)n))
    M(AXP_FLOW_IN((uint64_t)n))
    M(AXP_STEP())
    M(AXP_CALL(axp_print_summary(p)))
    (void)name;
    (void)p;
    return sum;
}
"""
MAIN = "int main(void) { return work(1, \"x\", 0); }\n"
LITERAL = '#include <axprof/axprof.h>\nvoid f(void);\n' \
          'void f(void) { AXP_SCOPE("x"); }\n'
VARIABLE = '#include <axprof/axprof.h>\nvoid f(const char *n);\n' \
           'void f(const char *n) { AXP_SCOPE(n); }\n'


def compile_to(compiler, language, options, text, folder, name):
    """The object file, or None if it does not compile."""
    source = folder / ("unit.c" if language == "c" else "unit.cpp")
    source.write_text(text)
    out = folder / (name + ".o")
    std = "-std=c11" if language == "c" else "-std=c++17"
    done = subprocess.run([compiler, std, "-c", "-I", sys.argv[1], *options,
                           "-o", str(out), str(source)],
                          stderr=subprocess.PIPE, text=True)
    return out if done.returncode == 0 else None


def sections(path):
    """What is in the object: code, data, relocations, symbols by name."""
    text = subprocess.run(["objdump", "-s", "-r", "-t", str(path)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return text.split("\n", 3)[3]  # not the file's own name


def links_alone(compiler, language, folder):
    """A program of all the macros: without our library, and without a symbol
    of ours, when it is disabled; not otherwise."""
    def link(name, *options):
        unit = compile_to(compiler, language, options, BODY + MAIN, folder,
                          name)
        done = unit and subprocess.run(
            [compiler, "-o", str(folder / name), str(unit)],
            stderr=subprocess.PIPE, text=True)
        return unit if done and done.returncode == 0 else None
    off, on = link("alone", "-DAXP_DISABLE"), link("not_alone")
    if not off or on:
        return False
    names = subprocess.run(["nm", str(folder / "alone")], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    return " axp" not in names and "work" in names


def main():
    compilers = [(c, l) for c, l in [("gcc", "c"), ("clang", "c"),
                                     ("g++", "c++"), ("clang++", "c++")]
                 if shutil.which(c)]
    failed = 0
    if not compilers:
        sys.exit("no compiler")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for compiler, language in compilers:
            for level in ["-O0", "-O2"]:
                def build(name, *options):
                    return compile_to(compiler, language, [level, *options],
                                      BODY, folder, name)
                plain = build("plain", "-DPLAIN", "-DAXP_DISABLE")
                off = build("off", "-DAXP_DISABLE")
                on = build("on")
                if not (plain and off and on):
                    failed += 1
                    print(f"FAILED  {compiler} {level}: does not compile")
                    continue
                same = sections(plain) == sections(off)
                differs = sections(plain) != sections(on)
                failed += not (same and differs)
                print(f"{'ok     ' if same and differs else 'FAILED '} "
                      f"{compiler} {level}: compiled out "
                      f"{'is nothing' if same else 'LEAVES SOMETHING'}, "
                      f"enabled {'differs' if differs else 'IS THE SAME'}")
            right = links_alone(compiler, language, folder)
            failed += not right
            print(f"{'ok     ' if right else 'FAILED '} {compiler}: disabled, "
                  "a program of macros needs no library")
            for options in [[], ["-DAXP_DISABLE"]]:
                good = compile_to(compiler, language, options, LITERAL,
                                  folder, "literal")
                bad = compile_to(compiler, language, options, VARIABLE,
                                 folder, "variable")
                right = good is not None and bad is None
                failed += not right
                print(f"{'ok     ' if right else 'FAILED '} {compiler} "
                      f"{' '.join(options)}: a literal compiles, "
                      "a variable does not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
