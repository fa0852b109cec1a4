#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What it costs a program that `axprof run` looks at its malloc.

  bench_memory.py BUILD [figure ...]

BUILD is a build directory. Figures: counted, stacks, live, chain, sampled,
size, peers, torch; all unless some are named. Each turn runs the program
plainly and in each way that is compared, beginning with another one each time,
so that what else the machine does meets all of them; a figure is the median of
the turns' ratios to the plain run. In brackets: the least and the greatest of
them, the same in processor time, with all that axprof itself uses, and the same
with everything on that is on by default (the figure itself is of the memory
adapter alone). Other tools stand beside it where they are installed. Exits with
1 if a figure misses.
"""
import collections
import glob
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["AXPROF_MACHINE"] = "off"  # measuring it is no cost of a run
TURNS = int(os.environ.get("BENCH_TURNS", "5"))  # fewer, for a look
SCALE = float(os.environ.get("BENCH_SCALE", "1"))  # of the rounds, for a look
ALONE = ["--without", "all", "--with", "memory", "--sample", "off"]
KINDS = {"with frame pointers": "bench_memory_frames",
         "without": "bench_memory_no_frames"}
Cost = collections.namedtuple("Cost", "wall_s cpu_s out")


class Bench:
    def __init__(self, build):
        build = pathlib.Path(build).resolve()
        self.axprof = build / "cli" / "axprof"
        self.programs = build / "bench"
        self.n_missed = 0
        listed = subprocess.run([str(self.axprof), "run", "--list"], text=True,
                                stdout=subprocess.PIPE, check=True).stdout
        self.has_memory = any(line.split()[:1] == ["memory"] and
                              "not installed" not in line
                              for line in listed.splitlines())
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} processors, load {load:.1f}"
              f"{': not a quiet machine' if load > 0.5 else ''}")
        if not self.has_memory:
            print("this build has no memory adapter: only others are measured")
        print(f"{'what':44}{'measured':>14}{'must reach':>14}")

    def tell(self, what, measured, must, is_good, more=""):
        mark = "" if is_good else "  MISSED"
        self.n_missed += not is_good
        print(f"{what:44}{measured:>14}{must:>14}{mark}{more}", flush=True)

    def command(self, kind, mode, millions):
        return [self.programs / kind, mode, str(millions * SCALE)]

    def ways(self, command, options):
        """The two ways to run it: the adapter alone, and all that is on."""
        run = [self.axprof, "run", "-q"]
        return {"alone": [*run, *ALONE, *options, "--", *command],
                "all": [*run, *options, "--", *command]}


def timed(command, folder, env=None):
    """What it cost, with all its children, and what it printed."""
    with tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], cwd=folder,
                                   env=env, stdout=subprocess.PIPE, stderr=err)
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = status
        process.stdout.close()
        if status:
            err.seek(0)
            sys.exit(f"{' '.join(map(str, command))} ended with {status}:\n"
                     f"{err.read().decode(errors='replace')}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, out.decode())


def in_turn(ways, folder, envs=None, clean="*"):
    """[{way: cost}, ...], a turn each. What a run leaves in the folder is
    removed: it is not the next one's to find."""
    turns, names = [], list(ways)
    for turn in range(TURNS):
        first = turn % len(names)
        costs = {}
        for name in names[first:] + names[:first]:
            costs[name] = timed(ways[name], folder, (envs or {}).get(name))
            for path in folder.glob(clean):
                path.unlink()
        turns.append(costs)
    return turns


def ratios(turns, way, value=lambda cost: cost.wall_s, plain="plain"):
    return [value(t[way]) / value(t[plain]) for t in turns]


def spread(found):
    return f"{min(found):.2f} to {max(found):.2f}"


def own_s(cost):
    """What the program itself says that its calls took."""
    return float(cost.out.split()[0])


def tell_ratio(b, what, turns, most=None):
    wall = ratios(turns, "alone")
    median = statistics.median(wall)
    cpu = statistics.median(ratios(turns, "alone", lambda c: c.cpu_s))
    own = statistics.median(ratios(turns, "alone", own_s))
    both = ratios(turns, "all")
    b.tell(what, f"{median:.2f} x", f"<= {most} x" if most else "",
           not most or median <= most,
           f"  ({spread(wall)}; processor time {cpu:.2f}, its own clock "
           f"{own:.2f}; all on {statistics.median(both):.2f}, {spread(both)})")
    same = len({cost.out.split()[1] for t in turns for cost in t.values()})
    b.tell("... what it computes", "the same" if same == 1 else "DIFFERS",
           "the same", same == 1)


def measure(b, folder, mode, millions, most, options, what):
    """A program with and without frame pointers."""
    for kind, program in KINDS.items():
        command = b.command(program, mode, millions)
        turns = in_turn({"plain": command, **b.ways(command, options)}, folder)
        tell_ratio(b, f"{what}, {kind}", turns, most)


def counted(b, folder):
    """Exact, by scope alone; nothing is kept but the sums."""
    measure(b, folder, "storm", 10, 1.5, ["--no-file", "--stacks", "none"],
            "storm, no stacks")


def stacks(b, folder):
    """Exact, by stack; the recording is written."""
    measure(b, folder, "storm", 10, 2.0, ["-o", "storm.axp"], "storm, stacks")


def live(b, folder):
    measure(b, folder, "live", 5, 2.5, ["-o", "live.axp"], "a million live")


def chain(b, folder):
    """To be seen; two threads that wait for one another have no steady time."""
    measure(b, folder, "chain", 5, None, ["-o", "chain.axp"],
            "freed by another thread")


def sampled(b, folder):
    measure(b, folder, "storm", 10, 1.15, ["--memory", "sample:512K", "-o",
                                           "storm.axp"], "storm, sampled")


def file_size(b, folder, mode, millions):
    """Bytes of the recording of a run with the adapter alone."""
    command = b.command(KINDS["without"], mode, millions)
    timed(b.ways(command, ["-o", "size.axp"])["alone"], folder)
    n_bytes = 0
    for path in folder.glob("size*.axp"):
        n_bytes += path.stat().st_size
        path.unlink()
    return n_bytes


def size(b, folder):
    """Of the file; and of each block that is live at the end."""
    n_bytes = file_size(b, folder, "storm", 10)
    b.tell("storm, its file", f"{n_bytes / 1e6:.3f} MB", "<= 1 MB",
           n_bytes <= 1e6)
    each = file_size(b, folder, "live", 5) / 1e6
    b.tell("a million live at the end, each in the file", f"{each:.2f} bytes",
           "<= 12 bytes", each <= 12)


# ---- other tools -----------------------------------------------------------

def peer_ways(command):
    """Other tools on the same program: {name: (command, environment)}; and
    those that are not here."""
    ways, missing = {}, []
    if any((pathlib.Path(p) / "heaptrack").exists()
           for p in os.get_exec_path()):
        ways["heaptrack"] = (["heaptrack", "-o", "heaptrack", *command], None)
    else:
        missing.append("heaptrack")
    found = sorted(glob.glob("/usr/lib/*-linux-gnu*/libtcmalloc.so.4") +
                   glob.glob("/usr/lib*/libtcmalloc.so.4"))
    if found:
        preload = dict(os.environ, LD_PRELOAD=found[0])
        ways["tcmalloc, no profile"] = (command, preload)
        ways["gperftools"] = (command, dict(preload, HEAPPROFILE="heap"))
    else:
        missing.append("gperftools (libtcmalloc.so.4)")
    return ways, missing


def peers(b, folder):
    """A twentieth of the storm, since one of them is slow; axprof's is the
    same in the same turns, so that its start weighs more here than above."""
    command = b.command(KINDS["without"], "storm", 0.5)
    others, missing = peer_ways(command)
    ways = {"plain": command}
    if b.has_memory:
        ours = b.ways(command, ["-o", "storm.axp"])
        ways.update({"axprof, memory alone": ours["alone"],
                     "axprof, all on": ours["all"]})
    ways.update({name: way for name, (way, _) in others.items()})
    turns = in_turn(ways, folder, {name: env for name, (_, env)
                                   in others.items()})
    for name in list(ways)[1:]:
        wall = ratios(turns, name)
        cpu = statistics.median(ratios(turns, name, lambda c: c.cpu_s))
        print(f"    {'storm of 0.5 M, ' + name:40}"
              f"{statistics.median(wall):>12.2f} x  ({spread(wall)}; "
              f"processor time {cpu:.2f})", flush=True)
    for name in missing:
        print(f"    {name} is not installed: not compared")


# ---- PyTorch ---------------------------------------------------------------

TORCH = r"""
import resource, sys, time
import torch
torch.manual_seed(1)
torch.set_num_threads(2)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(),
    torch.nn.MaxPool2d(2), torch.nn.Conv2d(16, 32, 3, padding=1),
    torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
    torch.nn.Linear(32 * 8 * 8, 10))
adam = torch.optim.Adam(net.parameters())
loss_of = torch.nn.CrossEntropyLoss()
x, y = torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))
def step():
    adam.zero_grad()
    loss = loss_of(net(x), y)
    loss.backward()
    adam.step()
    return loss.item()
for _ in range(5):
    step()
begin, begin_cpu = time.perf_counter(), time.thread_time()
for _ in range(int(sys.argv[1])):
    last = step()
print(f"{time.perf_counter() - begin:.6f} {last:.9e}",
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
      time.thread_time() - begin_cpu)
"""


def python_with_torch():
    for python in ("python3", "/usr/bin/python3"):
        try:
            if not subprocess.run([python, "-c", "import torch"],
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode:
                return python
        except FileNotFoundError:
            continue
    return None


def torch(b, folder):
    """A small network: its loop, by its own clock; the whole run, with import
    and report; and what is resident at most, as the program sees itself."""
    python = python_with_torch()
    if not python:
        print("    PyTorch is not installed: not measured")
        return
    command = [python, "-c", TORCH, str(max(1, int(200 * SCALE)))]
    turns = in_turn({"plain": command,
                     **b.ways(command, ["-o", "torch.axp"])}, folder)
    loop, whole = ratios(turns, "alone", own_s), ratios(turns, "alone")
    for what, way, value, cpu_s, most in (
            ("PyTorch, a small CNN, its loop", loop, own_s,
             lambda c: float(c.out.split()[3]), 1.05),
            ("... the whole run", whole, lambda c: c.wall_s,
             lambda c: c.cpu_s, 1.20)):
        median, both = statistics.median(way), ratios(turns, "all", value)
        cpu = statistics.median(ratios(turns, "alone", cpu_s))
        b.tell(what, f"{median:.3f} x", f"<= {most} x", median <= most,
               f"  ({spread(way)}; processor time {cpu:.3f}; all on "
               f"{statistics.median(both):.3f}, {spread(both)})")
    more = {way: statistics.median(
        (int(t[way].out.split()[2]) - int(t["plain"].out.split()[2])) / 1e3
        for t in turns) for way in ("alone", "all")}
    b.tell("... resident, more", f"{more['alone']:.0f} MB", "<= 100 MB",
           more["alone"] <= 100, f"  (all on {more['all']:.0f} MB)")
    same = len({cost.out.split()[1] for t in turns for cost in t.values()})
    b.tell("... its last loss", "the same" if same == 1 else "DIFFERS",
           "the same", same == 1)


FIGURES = {"counted": counted, "stacks": stacks, "live": live, "chain": chain,
           "sampled": sampled, "size": size, "peers": peers, "torch": torch}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2:] or list(FIGURES)
    b = Bench(sys.argv[1])
    for name in wanted:
        if not b.has_memory and name != "peers":
            b.tell(name, "not there", "", False)
            continue
        with tempfile.TemporaryDirectory() as folder:
            FIGURES[name](b, pathlib.Path(folder))
    sys.exit(1 if b.n_missed else 0)


main()
