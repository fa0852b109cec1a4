#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `axprof run` costs a program.

  bench_run.py BUILD [figure ...]

BUILD is a build directory. Figures: start, gpt, untouched, print, sample,
threads, perf, calls, drain; all unless some are named. Each is measured with and without
axprof in turn, now the one first and now the other, so that what else the
machine does meets both, and is the median of the turns' differences or ratios.
In brackets: the least and the greatest of them, and the same in processor time,
with all that axprof itself uses, which a busy machine disturbs less. Exits with
1 if a figure misses.
"""
import collections
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["AXPROF_MACHINE"] = "off"  # measuring it is no cost of a run
TURNS = int(os.environ.get("BENCH_TURNS", "7"))  # fewer, for a look
# Threads that spin while they wait are work to perf, and none to axprof.
PASSIVE = dict(os.environ, OMP_WAIT_POLICY="passive")
Cost = collections.namedtuple("Cost", "wall_s cpu_s")


class Bench:
    def __init__(self, build):
        build = pathlib.Path(build).resolve()
        self.axprof = build / "cli" / "axprof"
        self.target = build / "bench" / "bench_target"
        self.gpt = build / "examples" / "gpt" / "gpt"
        self.gpt_plain = build / "examples" / "gpt" / "gpt_plain"
        self.adapters = build / "bench" / "bench_adapters"
        self.n_missed = 0
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} processors, load {load:.1f}"
              f"{': not a quiet machine' if load > 0.5 else ''}")
        print(f"{'what':44}{'measured':>14}{'must reach':>14}")

    def tell(self, what, measured, must, is_good, more=""):
        mark = "" if is_good else "  MISSED"
        self.n_missed += not is_good
        print(f"{what:44}{measured:>14}{must:>14}{mark}{more}", flush=True)

    def beside(self, what, percents):
        """What a peer costs the same, in the same minutes."""
        print(f"{what:44}{statistics.median(percents):>+12.2f} %{'-':>14}"
              f"  ({min(percents):+.2f} to {max(percents):+.2f})", flush=True)


def timed(command, folder, reader=None, **more):
    """What it cost, with all its children; and what the reader made of its
    output."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], cwd=folder,
                               stdout=subprocess.PIPE if reader else
                               subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, **more)
    read = reader(process.stdout) if reader else None
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = status
    if process.stdout:
        process.stdout.close()
    if status:
        sys.exit(f"{command} ended with {status}")
    return Cost(wall, usage.ru_utime + usage.ru_stime), read


def in_turn(plain, ours, folder, clean=None, **more):
    """Costs of both, [(plain, ours), ...]; and what was read, in that order."""
    pairs, reads = [], []
    for turn in range(TURNS):
        order = (plain, ours) if turn % 2 == 0 else (ours, plain)
        done = [timed(command, folder, **more) for command in order]
        if turn % 2:
            done.reverse()
        pairs.append(tuple(cost for cost, _ in done))
        reads += [read for _, read in done]
        for path in folder.glob(clean) if clean else ():
            path.unlink()
    return pairs, reads


def percents(pairs, field):
    """How much more each turn's second one took."""
    return [(getattr(ours, field) / getattr(plain, field) - 1) * 100
            for plain, ours in pairs]


def spread(pairs):
    wall, cpu = percents(pairs, "wall_s"), percents(pairs, "cpu_s")
    return (f"  ({min(wall):+.1f} to {max(wall):+.1f}; processor time "
            f"{statistics.median(cpu):+.1f} %, {min(cpu):+.1f} to "
            f"{max(cpu):+.1f})")


def tell_percent(b, what, pairs, most):
    more = statistics.median(percents(pairs, "wall_s"))
    b.tell(what, f"{more:+.1f} %", f"<= {most} %", more <= most, spread(pairs))


def start(b, folder):
    """Added to `true`, which a shell starts ten times so that the start of
    Python's own children is outside."""
    loop = "i=0; while [ $i -lt 10 ]; do {}; i=$((i+1)); done"
    run = f"'{b.axprof}' run -- /bin/true"
    pairs, _ = in_turn(["sh", "-c", loop.format("/bin/true")],
                       ["sh", "-c", loop.format(run)], folder, "*.axp")
    wall, cpu = ([(getattr(ours, field) - getattr(plain, field)) * 100
                  for plain, ours in pairs] for field in Cost._fields)
    added = statistics.median(wall)
    b.tell("start-up added to true", f"{added:.1f} ms", "<= 30 ms",
           added <= 30, f"  ({min(wall):.1f} to {max(wall):.1f}; processor "
           f"time {statistics.median(cpu):.1f} ms)")


def gpt(b, folder):
    """All defaults: its report is written and its recording is kept. The other
    is the same source compiled without axprof, and linked without it."""
    pairs, _ = in_turn([b.gpt_plain], [b.axprof, "run", "--", b.gpt], folder,
                       "*.axp", env=PASSIVE)
    tell_percent(b, "examples/gpt, over itself uninstrumented", pairs, 2)


def step_percents(reads):
    return [(ours / plain - 1) * 100 for (_, plain), (_, ours)
            in zip(reads[::2], reads[1::2])]


def untouched(b, folder):
    """A program without a trace of axprof, all adapters and samples on; steps
    and losses that it prints, the columns before its times, are the same. What
    it takes by its own clock is what becomes of its steps; the rest is our
    start, the report and the file, which a longer run hardly notices."""
    def results(pipe):
        text = pipe.read()
        losses = tuple(re.findall(rb"^ +(\d+ +\d\.\d+) ", text, re.M))
        return losses, float(re.search(rb"([\d.]+) ms/step", text)[1])
    pairs, reads = in_turn([b.gpt_plain], [b.axprof, "run", "--", b.gpt_plain],
                           folder, "*.axp", env=PASSIVE, reader=results)
    tell_percent(b, "examples/gpt, untouched", pairs, 3)
    step = step_percents(reads)
    more = statistics.median(step)
    b.tell("... a step, by its own clock", f"{more:+.1f} %", "<= 3 %",
           more <= 3, f"  ({min(step):+.1f} to {max(step):+.1f})")
    if can_perf(folder):
        _, theirs = in_turn([b.gpt_plain], perf_record([b.gpt_plain]), folder,
                            env=PASSIVE, reader=results)
        b.beside("... a step beneath perf record", step_percents(theirs))
    losses = {losses for losses, _ in reads}
    is_same = len(losses) == 1 and len(losses.pop()) >= 10
    b.tell("... its results", "the same" if is_same else "DIFFER", "the same",
           is_same)


def perf_record(command):
    """What perf does at the same rate, with callers by frame pointers."""
    return ["perf", "record", "-q", "-F", "997", "-g", "-o", "perf.data", "--",
            *command]


def can_perf(folder):
    try:
        return not subprocess.run(perf_record(["true"]), cwd=folder,
                                  capture_output=True).returncode
    except OSError:
        return False


def digest(pipe):
    """Of standard output, through a pipe, and its length."""
    total, n = hashlib.blake2b(), 0
    for block in iter(lambda: pipe.read(1 << 20), b""):
        total.update(block)
        n += len(block)
    return total.hexdigest(), n


def printing(b, folder):
    """Lines of a log, as printf makes them, take the program some time; blocks
    of 64 KiB take next to none, so that what is added is the start-up."""
    command = [b.target, "lines", "100"]
    pairs, reads = in_turn(command, [b.axprof, "run", "--", *command], folder,
                           "*.axp", reader=digest)
    is_same = len(set(reads)) == 1 and reads[0][1] >= 100 << 20
    b.tell("a program that prints 100 MB, output",
           "the same" if is_same else "DIFFERS", "the same", is_same)
    tell_percent(b, "... and its time", pairs, 3)
    command = [b.target, "blocks", "100"]
    pairs, reads = in_turn(command, [b.axprof, "run", "--", *command], folder,
                           "*.axp", reader=digest)
    is_same = len(set(reads)) == 1 and reads[0][1] == 100 << 20
    added = statistics.median(ours.wall_s - plain.wall_s
                              for plain, ours in pairs) * 1000
    b.tell("... in blocks of 64 KiB, added", f"{added:.1f} ms", "<= 30 ms",
           is_same and added <= 30)


def lost_samples(b, folder, command):
    """How many samples there were, and how many the kernel had no room for."""
    done = subprocess.run([str(c) for c in [b.axprof, "run", "--no-file",
                                            *command]],
                          cwd=folder, capture_output=True, text=True)
    lost = re.search(r"(\d+) of \d+ samples were lost", done.stderr)
    seen = re.search(r"Functions: ([\d,]+) samples", done.stderr)
    return seen.group(1) if seen else "0", int(lost.group(1)) if lost else 0


def taken(b, folder):
    """What is taken from threads that look at the clock all the time: a smaller
    figure than the machine's own unrest lets whole runs show. Beside it what perf
    takes, without a stack's copy, of the program as it is."""
    def number(pipe):
        return float(pipe.read())
    command = [b.target, "gaps", "2", "1"]
    run = [b.axprof, "run", "-q", "--no-file"]
    ways = [[*run, "--sample", "off", "--", *command], [*run, "--", *command]]
    if can_perf(folder):
        ways += [command, perf_record(command)]
    turns = []
    for turn in range(2 * TURNS):
        got = [timed(way, folder, number)[1]
               for way in ways[::1 - 2 * (turn % 2)]]
        turns.append(got[::1 - 2 * (turn % 2)])
    more = [with_ - without for without, with_, *_ in turns]
    added = statistics.median(more)
    b.tell("sampling, 2 busy threads, taken", f"{added:+.2f} %", "<= 0.5 %",
           added <= 0.5, f"  ({min(more):+.2f} to {max(more):+.2f})")
    if len(ways) > 2:
        b.beside("... by perf record -g", [got[3] - got[2] for got in turns])


def sample(b, folder):
    """The same run with and without; processor time is the program's and
    axprof's together."""
    taken(b, folder)
    command = [b.target, "spin", "1", "20", "1000"]
    pairs, _ = in_turn([b.axprof, "run", "-q", "--sample", "off", "--",
                        *command],
                       [b.axprof, "run", "-q", "--", *command], folder,
                       "*.axp")
    tell_percent(b, "sampling, 20 calls deep", pairs, 3)
    for words in (["spin", "2", "0", "1000"], ["spin", "1", "20", "1000"]):
        seen, lost = lost_samples(b, folder, ["--", b.target, *words])
        b.tell(f"... samples lost, {words[2]} deep", str(lost), "0", lost == 0,
               f"  (of {seen})")
    loop = ["sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; "
            "i=$((i+1)); done"]
    pairs, _ = in_turn([b.axprof, "run", "-q", "--sample", "off", "--", *loop],
                       [b.axprof, "run", "-q", "--", *loop], folder, "*.axp")
    added = statistics.median((ours.wall_s - plain.wall_s) / 500 * 1000
                              for plain, ours in pairs)
    b.tell("500 children one after another, each", f"{added:.2f} ms",
           "<= 2 ms", added <= 2)


def threads(b, folder):
    """Threads that are over before a sample meets most of them: the kernel gives
    each all the events of each processor. Report and recording are made, too;
    perf makes the recording alone."""
    def check(pipe):
        if pipe.read().split() != [b"3000"]:
            sys.exit("bench_adapters made too few threads")
    command = [b.adapters, "threads"]
    pairs, _ = in_turn(command, [b.axprof, "run", "--", *command], folder,
                       "*.axp", reader=check)
    more = percents(pairs, "cpu_s")
    ratio = 1 + statistics.median(more) / 100
    b.tell("3,000 short threads, processor time", f"{ratio:.3f} x", "<= 1.2",
           ratio <= 1.2, f"  ({1 + min(more) / 100:.3f} to "
           f"{1 + max(more) / 100:.3f})")
    if can_perf(folder):
        pairs, _ = in_turn(command, perf_record(command), folder)
        b.beside("... beneath perf record", percents(pairs, "cpu_s"))


def perf_shares(b, folder, command):
    """What perf says of user time by function; those that it has a name for."""
    for words in (["record", "-q", "-F", "997", "-e", "cpu-clock:u", "-o",
                   "perf.data", "--", *command],
                  ["report", "-i", "perf.data", "--stdio", "--no-children",
                   "-F", "overhead,symbol", "-t", "|"]):
        done = subprocess.run(["perf", *[str(w) for w in words]], cwd=folder,
                              capture_output=True, text=True, env=PASSIVE)
        if done.returncode:
            return {}
    found = re.findall(r"^\s*([\d.]+)%?\s*\|\[.\]\s*(\S.*?)\s*$", done.stdout,
                       re.M)
    return {name.split("@")[0]: float(share) for share, name in found
            if not name.startswith("0x")}


def our_shares(b, folder, command):
    report = folder / "r.json"
    subprocess.run([str(c) for c in [b.axprof, "run", "-q", "--no-file",
                                     "--report", report, "--", *command]],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   env=PASSIVE)
    functions = [f for f in json.loads(report.read_text())["functions"]
                 if f["name"] not in ("[kernel]", "[axprof]")]
    whole = sum(f["self_ns"] for f in functions)
    shares = collections.Counter()
    for f in functions:
        shares[f["name"]] += f["self_ns"] / whole * 100
    return shares


def beside_perf(b, folder):
    """The ten largest functions of a trainer, as both tools see them in turn."""
    command = [b.gpt_plain, "--steps", "40"]
    rounds = [(perf_shares(b, folder, command), our_shares(b, folder, command))
              for _ in range(3)]
    if not all(theirs for theirs, _ in rounds):
        print("perf may not record here")
        return
    mean = [{name: sum(one[i].get(name, 0) for one in rounds) / len(rounds)
             for name in set().union(*(one[i] for one in rounds))}
            for i in (0, 1)]
    worst, which = 0, ""
    for name, share in sorted(mean[0].items(), key=lambda x: -x[1])[:10]:
        off = mean[1].get(name, 0) - share
        print(f"    {name[:40]:42}perf {share:5.1f} %  axprof "
              f"{mean[1].get(name, 0):5.1f} %")
        if abs(off) > abs(worst):
            worst, which = off, name
    b.tell("ten largest functions, beside perf", f"{worst:+.1f} points",
           "<= 3", abs(worst) <= 3, f"  ({which})")


def calls(b, folder):
    """Calls that adapters are in, in a program that knows nothing of axprof:
    what the call itself takes, with and without."""
    def numbers(pipe):
        return [float(line) for line in pipe.read().split()]

    def both(word):
        command = [b.adapters, word]
        got = []
        for _ in range(TURNS):
            got.append([timed(c, folder, numbers)[1] for c in
                        (command, [b.axprof, "run", "-q", "--no-file",
                                   "--sample", "off", "--", *command])])
        return got
    for word, what in (("unlock", "unlock, nobody waited"),
                       ("post", "post, nobody waited")):
        more = [ours[0] - plain[0] for plain, ours in both(word)]
        added = statistics.median(more)
        b.tell(what + ", added", f"{added:+.1f} ns", "<= 2 ns", added <= 2,
               f"  ({min(more):+.1f} to {max(more):+.1f})")
    got = both("region")
    more = [(ours[0] / plain[0] - 1) * 100 for plain, ours in got]
    added = statistics.median(more)
    b.tell("OpenMP region, added", f"{added:+.1f} %", "<= 10 %", added <= 10,
           f"  ({min(more):+.1f} to {max(more):+.1f}; "
           f"{statistics.median(plain[0] for plain, _ in got) / 1000:.1f} us)")
    floors = [ours[0] / ours[1] for _, ours in both("range")]
    ratio = statistics.median(floors)
    b.tell("NVTX push and pop", f"{ratio:.2f} floors", "<= 3", ratio <= 3,
           f"  ({min(floors):.2f} to {max(floors):.2f})")
    floors = [(ours[0] - plain[0]) / ours[1] for plain, ours in both("product")]
    ratio = statistics.median(floors)
    b.tell("a product of a BLAS that does nothing", f"{ratio:.2f} floors",
           "<= 3", ratio <= 3, f"  ({min(floors):.2f} to {max(floors):.2f})")
    more = [ours[0] - plain[0] for plain, ours in both("dot")]
    added = statistics.median(more)
    b.tell("... dot of 3 numbers, 20 M times, added", f"{added:+.1f} ns",
           "<= 10 ns", added <= 10, f"  ({min(more):+.1f} to {max(more):+.1f})")


def drain(b, folder, seconds=60):
    """10 M scopes/s on one thread, drained by the parent."""
    report = folder / "report.json"
    cost, text = timed([b.axprof, "run", "-q", "--report", report, "-o",
                        "drain.axp", "--", b.target, "scopes", "10",
                        str(seconds)], folder,
                       lambda pipe: pipe.read().decode())
    n = int(text.split()[0])
    run = json.loads(report.read_text())["run"]
    size = sum(p.stat().st_size for p in folder.glob("drain*.axp"))
    b.tell(f"10 M scopes/s for {seconds} s, cut", f"{run['cut_events']}", "0",
           run["cut_events"] == 0,
           f"  ({text.strip()}; {size / n:.2f} bytes a scope; processor time "
           f"{cost.cpu_s:.1f} s)")


FIGURES = {"start": start, "gpt": gpt, "untouched": untouched,
           "print": printing, "sample": sample, "threads": threads,
           "perf": beside_perf, "calls": calls, "drain": drain}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2:] or list(FIGURES)
    b = Bench(sys.argv[1])
    for name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            FIGURES[name](b, pathlib.Path(folder))
    sys.exit(1 if b.n_missed else 0)


main()
