# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that must not notice that their malloc is looked at: other people's,
and such with another malloc; and whether heaptrack finds the same in them.

  test_run_memory_same.py AXPROF PROGRAMS [test ...]
"""
import glob
import json
import pathlib
import re
import shutil
import sys

import run_support
from memory_support import (SAMPLED, WAYS, Context, Heap, assert_truth,
                            assert_whole, has_adapter, judge, profile_heap,
                            sum_of, truth_of)
from run_support import check, environment, equal, run

PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
MALLOCS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
           "mimalloc": "libmimalloc.so.[0-9]"}


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes()
            for p in folder.rglob("*") if p.is_file()}


def assert_same(c, folder, *command, env=None, status=0, stdin=b""):
    """Output, errors, status and files, in each way."""
    work, tmp = folder / "work", folder / "tmp"
    seen = {}
    for way, options in {"plainly": None, **WAYS}.items():
        for path in (work, tmp):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        start = [] if options is None else [c.axprof, "run", "-q", "--no-file",
                                            *options, "--"]
        done = run([*start, *command], work, stdin=stdin,
                   env=env or environment(TMPDIR=str(tmp)))
        seen[way] = (done.status, done.out, done.err, files_of(work),
                     sorted(files_of(tmp)))
    equal(seen["plainly"][0], status, seen["plainly"][2])
    for way in WAYS:
        equal(seen[way], seen["plainly"], f"{command} {way}")


# ---- other people's programs -----------------------------------------------

NUMPY = r"""
import hashlib, threading
import numpy as np
rng = np.random.default_rng(7)
found = []
def work(seed):
    a = np.random.default_rng(seed).random((200, 200))
    for i in range(20):
        a = np.tanh(a @ a / 200) + np.arange(200.0) / 1e3
        b = [a[:k].copy() for k in range(0, 200, 10)]
    found.append((seed, a, np.concatenate(b)))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
found.sort(key=lambda x: x[0])
print(hashlib.sha256(b"".join(x[1].tobytes() + x[2].tobytes()
                              for x in found)).hexdigest())
"""

SOURCE = r"""
#include <stdio.h>
struct list { struct list *next; double value[8]; };
static double sum(const struct list *l)
{
    double s = 0;
    for (; l; l = l->next)
        for (int i = 0; i < 8; i++) s += l->value[i] * i;
    return s;
}
int main(void)
{
    struct list a = {0}, b = {&a, {1, 2, 3}};
    return printf("%f\n", sum(&b)) < 0;
}
"""


def test_numpy(c, folder):
    if run([PYTHON, "-c", "import numpy"], folder).status:
        print("        (no numpy here)")
        return
    assert_same(c, folder, PYTHON, "-c", NUMPY)


def test_python(c, folder):
    """With its own allocator and with malloc; it fails, and says so."""
    script = "import json, sys; x = {str(i): [i] * 5 for i in range(9999)}; " \
             "print(len(json.dumps(x))); sys.exit(len(x) % 256)"
    for kind in ("pymalloc", "malloc"):
        assert_same(c, folder, PYTHON, "-c", script, status=9999 % 256,
                    env=environment(PYTHONMALLOC=kind))
    assert_same(c, folder, PYTHON, "-c", "raise ValueError(7)", status=1)


def test_compiler(c, folder):
    """The same object, byte by byte; and the same complaint."""
    source, wrong = folder / "list.c", folder / "wrong.c"
    source.write_text(SOURCE)
    wrong.write_text(SOURCE.replace("return s;", "return t;"))
    assert_same(c, folder, "gcc", "-O2", "-g", "-c", source, "-o", "list.o")
    assert_same(c, folder, "gcc", "-c", wrong, "-o", "wrong.o", status=1)


def test_tools(c, folder):
    assert_same(c, folder, "ls", "-la", "/usr/lib")
    assert_same(c, folder, "ls", "/does/not/exist", status=2)
    assert_same(c, folder, "sh", "-c", "for i in 1 2 3; do echo $i | sort -r; "
                "done; echo wrong >&2; echo kept > file; exit 5", status=5)
    assert_same(c, folder, "sort", "-n", stdin=b"\n".join(
        b"%d" % (i * 7919 % 10007) for i in range(10007)))
    for tool, words in (("xz", ["-c", "-6"]), ("gzip", ["-nc"]),
                        ("awk", ["{ n[$1 % 97] += $1 } END { print n[5] }"])):
        if shutil.which(tool):
            assert_same(c, folder, tool, *words,
                        stdin=b"".join(b"%d\n" % i for i in range(50000)))


def test_cpp(c, folder):
    assert_same(c, folder, c.program("memory_program_cpp"), status=12)
    assert_same(c, folder, c.program("run_program_cpp"), status=12)


def test_own_programs(c, folder):
    """Those whose count is the same each time, however threads run; and one
    that nothing can be loaded into."""
    library = c.programs / "libmemory_library.so"
    for words in (["leak37"], ["realloc"], ["align"], ["usable"],
                  ["threads3000"], ["exitthread"], ["mixed", 4],
                  ["dl", library]):
        assert_same(c, folder, c.program(), *words)
    assert_same(c, folder, c.program(), "exitbusy", status=7)
    if c.program("run_program_static").exists():
        assert_same(c, folder, c.program("run_program_static"), "exit", 3,
                    status=run([c.program("run_program_static"), "exit", 3],
                               folder).status)


def test_refused(c, folder):
    """A process that may have no more memory, files or processes, or write
    none; its children are as limited."""
    for limit in ("-v 400000", "-n 20", "-s 256", "-f 0"):
        assert_same(c, folder, "sh", "-c", f"ulimit {limit}; (exit 3); "
                    "echo $?; exec \"$0\" churn", c.program())


# ---- another malloc --------------------------------------------------------

PARTS = (["leak37"], ["churn"], ["threads3000"], ["mixed", 4], ["exitthread"])


def is_right(program, name, folder, env=None):
    """Whether the program gets through with that allocator, without us: the
    operators of some versions do not align."""
    done = run([program], folder, env=env or environment())
    if done.status != 12:
        print(f"        (new of this {name} is wrong: {done.err.decode()[:60]})")
    return done.status == 12


def test_preloaded_malloc(c, folder):
    """It comes after the adapter: all is the same, and all of the program's
    blocks are found, also those of its own operator new."""
    for name, file in MALLOCS.items():
        found = sorted(glob.glob(f"/usr/lib/*-linux-gnu*/{file}") +
                       glob.glob(f"/usr/lib*/{file}"))
        if not found:
            print(f"        (no {name} here)")
            continue
        env = environment(LD_PRELOAD=found[0])
        for words in PARTS:
            assert_same(c, folder, c.program(), *words, env=env)
        out, data = profile_heap(c, folder, [c.program(), "mixed", 4], env=env)
        assert_truth(truth_of(out), Heap(data), is_peak=False)
        program = c.program("memory_program_cpp")
        if not is_right(program, name, folder, env):
            continue
        assert_same(c, folder, program, env=env, status=12)
        out, data = profile_heap(c, folder, [program], env=env, status=12)
        assert_truth(truth_of(out), Heap(data), is_peak=False)


def test_preloaded_calls(c, folder):
    """A library of the user's that looks names up in what it wraps, which is
    what we need too."""
    env = environment(LD_PRELOAD=str(c.programs / "libasker.so"))
    for words in PARTS:
        assert_same(c, folder, c.program(), *words, env=env)
    for command in (["sort", "/etc/passwd"], ["sh", "-c", "ls / | tail -1"],
                    [PYTHON, "-c", "print(sum(range(9)))"]):
        assert_same(c, folder, *command, env=env)
    out, data = profile_heap(c, folder, [c.program(), "mixed", 4], env=env)
    assert_truth(truth_of(out), Heap(data), is_peak=False)
    _, data = profile_heap(c, folder, [c.program(), "mixed", 4],
                           options=SAMPLED, env=env)
    check(Heap(data).totals["allocations"] > 0, "sampled blocks")


def test_linked_malloc(c, folder):
    """A malloc that the program came with: each call goes on to that one."""
    for name in MALLOCS:
        program = f"memory_program_{name}"
        if not c.program(program).exists():
            print(f"        (no {name} when this was built)")
            continue
        for words in PARTS:
            assert_same(c, folder, c.program(program), *words)
            judge(c, folder, *words, program=program, is_peak=False)
        # tcmalloc asks for handlers of fork by a name that glibc has not had
        # since 2.34: a child stands still in the lock that a thread held which
        # was at its first malloc, without us too, and oftener with.
        for words in (["usable"], ["signal"],
                      *([["fork"]] if name != "tcmalloc" else [])):
            judge(c, folder, *words, program=program, is_peak=False,
                  n_processes=13)


def test_linked_new(c, folder):
    """The same with C++'s operators, which such an allocator has of its own and
    which do not call malloc."""
    for name in MALLOCS:
        program = f"memory_program_cpp_{name}"
        if not c.program(program).exists():
            print(f"        (no {name} when this was built)")
            continue
        if not is_right(c.program(program), name, folder):
            continue
        assert_same(c, folder, c.program(program), status=12)
        judge(c, folder, program=program, is_peak=False, status=12)
        for words, n in (([c.program(program)], 0),
                         (["sh", "-c", f"{c.program(program)}; exit 12"], 1)):
            _, data = profile_heap(c, folder, words, status=12)
            said = [w for w in data["warnings"] if w["code"] == "own_new"]
            equal(len(said), n, f"that it cannot be seen: {said}")
            check(all(name in w["name"] for w in said), "its name", said)


def test_own_malloc(c, folder):
    """A program that defines malloc itself keeps it; harm_program's locks."""
    if c.program("harm_program").exists():
        done = run([c.axprof, "run", "-q", "--no-file", "--report", "r.json",
                    "--", c.program("harm_program")], folder,
                   env=environment())
        equal(done.status, 0, done.err)
        check(b"unharmed" in done.out, done.out)
        data = json.loads((folder / "r.json").read_text())
        said = [w["name"] for w in data["warnings"]
                if w["code"] == "own_malloc"]
        equal(said, ["harm_program"], "who keeps its malloc for itself")
    _, data = profile_heap(c, folder, [c.program(), "mixed", 1])
    equal([w for w in data["warnings"] if w["code"] == "own_malloc"], [],
          "no such warning where all is seen")


def test_address_space(c, folder):
    """What a small program is short of under ulimit -v: most of it is reserved
    and never touched."""
    command = ["grep", "VmPeak", "/proc/self/status"]
    plain, profiled = (
        int(run([*before, *command], folder, env=environment()).out.split()[1])
        for before in ((), (c.axprof, "run", "-q", "--no-file", "--")))
    check(profiled - plain < 20 << 10, "KiB more", profiled - plain)


def test_hidden_malloc(c, folder):
    """One that nobody else sees cannot be found from inside: one line says
    what is missing, and only where something is."""
    assert_same(c, folder, c.program("memory_hidden"))
    for program, words, n in ((c.program("memory_hidden"), [], 1),
                              (c.program(), ["mixed", 1], 0)):
        for options, is_on in (([], 1), (["--without", "memory"], 0)):
            done = run([c.axprof, "run", "--no-file", *options, "--", program,
                        *words], folder, env=environment())
            equal(done.status, 0, done.err)
            said = [line for line in done.err.decode().splitlines()
                    if "no figure of the heap" in line]
            equal(len(said), n * is_on, f"{program}, {options}: {done.err}")
            check(all("(malloc)" in line for line in said), said)


# ---- beside heaptrack ------------------------------------------------------

SQL = b"""create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, hex(i * 7919) from n;
create index tb on t(b);
select count(*), sum(length(b)), max(b) from t;
"""


SCRIPT = "x = [str(i) * 5 for i in range(20000)]; " \
         "d = {s: [s] for s in x}; print(len(d))"


def heaptrack_sums(folder, command, env, stdin):
    """Calls, bytes at the peak and bytes that are left, as heaptrack has them:
    its stacks, added up, since its words are rounded."""
    done = run(["heaptrack", "-o", folder / "heaptrack", *command], folder,
               env=env, stdin=stdin)
    file = next(folder.glob("heaptrack.*"), None)
    if done.status or not file:
        return None
    sums = {}
    for kind in ("allocations", "peak", "leaked"):
        stacks = folder / "stacks"
        done = run(["heaptrack_print", "-f", file, "-p", "0", "-a", "0", "-T",
                    "0", "--disable-builtin-suppressions",
                    "--disable-embedded-suppressions",
                    "--flamegraph-cost-type", kind, "-F", stacks], folder)
        if done.status:
            return None
        sums[kind] = sum(int(re.search(rb"(-?\d+)$", line).group(1))
                         for line in stacks.read_bytes().splitlines() if line)
    file.unlink()
    return sums


def our_sums(c, folder, command, env, stdin):
    report = folder / "report.json"
    done = run([c.axprof, "run", "-q", "--no-file", "--report", report,
                *WAYS["alone"], "--", *command], folder, env=env, stdin=stdin)
    equal(done.status, 0, done.err)
    data = json.loads(report.read_text())
    places = []
    if data["heap"]:  # `true` allocates nothing
        heap = Heap(data)
        assert_whole(heap)
        places = heap.places
    sums = sum_of(places)
    return {"allocations": sums.allocations, "peak": sums.at_peak,
            "leaked": sums.current}


LEAST = {"allocations": 200, "peak": 16384, "leaked": 32768}


def test_beside_heaptrack(c, folder):
    """To 1 %, or so much: heaptrack begins and ends at other moments, and has
    libc free its own at the end. What each finds in `true` is left out: that
    is C++'s reserve for exceptions, which heaptrack brings along."""
    if not (shutil.which("heaptrack") and shutil.which("heaptrack_print")):
        print("        (no heaptrack here)")
        return
    env = environment(PYTHONMALLOC="malloc", PYTHONHASHSEED="0",
                      PYTHONDONTWRITEBYTECODE="1")
    none = [shutil.which("true")], env, b""
    base, our_base = heaptrack_sums(folder, *none), our_sums(c, folder, *none)
    for command, stdin in (([PYTHON, "-S", "-c", SCRIPT], b""),
                           (["sqlite3", ":memory:"], SQL)):
        if not shutil.which(command[0]):
            print(f"        (no {command[0]} here)")
            continue
        theirs = heaptrack_sums(folder, command, env, stdin)
        if not (theirs and base):
            print("        (heaptrack does not work here)")
            return
        ours = our_sums(c, folder, command, env, stdin)
        for what, least in LEAST.items():
            got, expected = (ours[what] - our_base[what],
                             theirs[what] - base[what])
            check(abs(got - expected) <= max(0.01 * expected, least),
                  command[0], what, got, "heaptrack", expected)


TESTS = [test_numpy, test_python, test_compiler, test_tools, test_cpp,
         test_own_programs, test_refused, test_preloaded_malloc, test_preloaded_calls,
         test_linked_malloc, test_linked_new, test_own_malloc, test_hidden_malloc,
         test_address_space, test_beside_heaptrack]

if __name__ == "__main__":
    context = Context(*sys.argv[1:3])
    if not has_adapter(context):
        print("this axprof has no memory adapter")
        sys.exit(77)
    run_support.main(TESTS, context)
