#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What must not compile does not, and the message says what to do; what must
not warn does not.

  test_misuse.py INCLUDE_DIR

Each case is compiled twice: as it is, which must give the message, and with
FIXED defined, which must compile without a warning, so that a case is refused
for its own reason. gcc and clang, C and C++.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
            "-Wvla"]
BRACES = r"put_braces_around_this_scope"
LITERAL = r"AXP_SCOPE_NAME"
C = ["gcc -std=c99", "gcc -std=c11", "clang -std=c99", "clang -std=c2x"]
CPP = ["g++ -std=c++14", "clang++ -std=c++17"]
CPP17 = ["g++ -std=c++17", "clang++ -std=c++17", "g++ -std=c++20"]
COROUTINES = ["g++ -std=c++20", "clang++ -std=c++20"]
PROMISE = r"""
#include <coroutine>
struct task {
    struct promise_type {
        task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int) { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
};
struct own { std::suspend_always operator co_await() const { return {}; } };
"""
WORK = "1.0, 0, AXP_F32, {0}"
FUNCTION = "int f(int n, const char *s);\nint f(int n, const char *s)\n"


def either(bad, good):
    return f"\n#ifdef FIXED\n{good}\n#else\n{bad}\n#endif\n"


def braceless(scope):
    return FUNCTION + "{\n(void)s;" + either(
        f"if (n) {scope};", f"if (n) {{ {scope}; }}") + "return n; }"


# name, compilers, what the message must hold, source
CASES = [
    ("goto past a scope", C + CPP, r"jump",
     FUNCTION + "{ if (n) goto out; n++;" +
     either('AXP_SCOPE("x");', '{ AXP_SCOPE("x"); }') +
     "out: (void)s; return n; }"),
    ("goto past a scope by name", C + CPP, r"jump",
     FUNCTION + "{ if (n) goto out; n++;" +
     either("AXP_SCOPE_NAME(s);", "{ AXP_SCOPE_NAME(s); }") +
     "out: return n; }"),
    ("case past a scope", C + CPP, r"jump",
     FUNCTION + "{ switch (n) { case 0: n++;" +
     either('AXP_SCOPE("x");', '{ AXP_SCOPE("x"); }') +
     "break; default: n--; } (void)s; return n; }"),
    ("a variable as a literal", C + CPP, LITERAL,
     FUNCTION + "{ (void)s;" +
     either("AXP_SCOPE(s);", "AXP_SCOPE_NAME(s);") + "return n; }"),
    ("an array as a literal", C + CPP, LITERAL,
     FUNCTION + '{ char a[4] = "abc"; (void)s;' +
     either("AXP_SCOPE(a);", "AXP_SCOPE_NAME(a);") + "return n; }"),
    ("a variable with work", C + CPP, LITERAL,
     FUNCTION + "{ (void)s;" + either(f"AXP_SCOPE_WORK(s, {WORK});",
                                      f'AXP_SCOPE_WORK("x", {WORK});') +
     "return n; }"),
    ("a constant as a literal", CPP, LITERAL,
     FUNCTION + '{ constexpr const char *k = "k"; (void)s;' +
     either("AXP_SCOPE(k);", "AXP_SCOPE_NAME(k);") + "return n; }"),
    ("a scope dropped at once", CPP17, r"nodiscard",
     "#include <axprof/axprof.hpp>\nvoid f(axp_profiler *p);"
     "void f(axp_profiler *p) {" + either(
         'axp::scope(p, "x");', 'axp::scope a(p, "x");') + "}"),
    ("a scope's object dropped", CPP17, r"nodiscard",
     "#include <axprof/axprof.hpp>\naxp::scope make(); void f();"
     "void f() {" + either("make();", "auto a = make();") + "}"),
    ("a profiler dropped", CPP17, r"nodiscard",
     "void f(); void f() {" + either(
         "axp_profiler_create(nullptr);",
         "axp_profiler_destroy(axp_profiler_create(nullptr));") + "}"),
    ("a scope across co_await", COROUTINES, r"axp::async_scope",
     PROMISE + "task f(); task f() {" + either(
         'AXP_SCOPE("x");', '{ AXP_SCOPE("x"); }') +
     "co_await std::suspend_always{}; { AXP_FUNCTION(); } }"),
    ("two scopes across a co_await in a block", COROUTINES, r"axp::async_scope",
     PROMISE + "task f(); task f() {" + either(
         'AXP_SCOPE("x"); AXP_SCOPE("y");',
         '{ AXP_SCOPE("x"); AXP_SCOPE("y"); }') +
     "{ co_await own{}; } }"),
    ("a scope across co_await in a template", COROUTINES, r"axp::async_scope",
     PROMISE + "template <class T> task f(T t) {" + either(
         'AXP_FUNCTION();', '{ AXP_FUNCTION(); }') +
     "co_await t; } void g(); void g() { f(std::suspend_always{}); }"),
    ("a scope across co_yield", COROUTINES, r"axp::async_scope",
     PROMISE + "task f(); task f() {" + either(
         'AXP_SCOPE_NAME("x");', '{ AXP_SCOPE_NAME("x"); }') +
     "co_yield 1; }"),
] + [(f"a brace-less if around {scope}", C + CPP, BRACES, braceless(scope))
     for scope in ['AXP_SCOPE("x")', "AXP_SCOPE_NAME(s)", "AXP_FUNCTION()",
                   "AXP_SCOPE_IN(axp_global(), s)",
                   f'AXP_SCOPE_WORK("x", {WORK})']]


def compile_one(compiler, text, options, include, folder):
    command = compiler.split()
    source = folder / ("unit.cpp" if "++" in command[0] else "unit.c")
    source.write_text(text)
    done = subprocess.run(
        [*command, *WARNINGS, *options, "-I", include, "-c", "-o",
         str(folder / "unit.o"), str(source)],
        stderr=subprocess.PIPE, text=True)
    return done.returncode == 0, done.stderr


def check(case, compiler, include, folder):
    name, _, expected, text = case
    text = f"#include <axprof/axprof.h>\n{text}\n"
    _, message = compile_one(compiler, text, [], include, folder)
    good, noise = compile_one(compiler, text, ["-DFIXED", "-Werror"], include,
                              folder)
    # As the compiler says it, not as it quotes the source.
    said = "\n".join(line for line in message.splitlines()
                     if re.search(r"error|warning", line))
    if re.search(expected, said) and good:
        return True
    print(f"FAILED  {compiler}: {name}: "
          f"{'is not refused as it should be' if good else 'the cure fails'}\n"
          f"{noise if not good else message}")
    return False


def check_guard(include, folder):
    """What refuses a jump past a scope leaves no code, and lets a function be
    inlined as before."""
    text = '#include <axprof/axprof.h>\n' + either(
        "", "#undef AXP__NO_JUMP\n#define AXP__NO_JUMP(n)") + \
        "static int g(int n) { AXP_SCOPE(\"g\"); return n + 1; }" + \
        FUNCTION + '{ AXP_SCOPE("f"); AXP_SCOPE_NAME(s); for (int i = 0; ' \
        'i < n; i++) { AXP_SCOPE("i"); if (i == 7) return g(i); } return n; }\n'
    ok = True
    for level in ["-O1", "-O2", "-O3", "-Os"]:
        code = []
        for options in [[], ["-DFIXED"]]:
            good, _ = compile_one("gcc -std=c11", text, [level, *options],
                                  include, folder)
            ok &= good
            code.append(subprocess.run(
                ["objdump", "-d", "-r", str(folder / "unit.o")],
                stdout=subprocess.PIPE, check=True).stdout)
        if code[0] != code[1]:
            ok = False
            print(f"FAILED  gcc {level}: the guard against jumps leaves code")
    return ok


def main():
    include = sys.argv[1]
    n = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for case in CASES:
            for compiler in case[1]:
                if shutil.which(compiler.split()[0]):
                    n += 1
                    failed += not check(case, compiler, include, folder)
        if shutil.which("gcc"):
            n += 1
            failed += not check_guard(include, folder)
    print(f"{n} cases, {failed} failed")
    return 1 if failed or n < len(CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
