# SPDX-License-Identifier: MIT OR Apache-2.0
"""BLAS in programs that nobody changed, under axprof run: every call is there
with its shape and work, and results are the same to the last bit. C programs
linked with OpenBLAS and with the reference BLAS, a plug-in, a static library;
numpy, and PyTorch where it is installed, with its oneDNN.

  test_run_blas.py AXPROF PROGRAMS [test ...]
"""
import json
import pathlib
import re
import subprocess
import sys

import run_support
from run_support import check, environment, equal, run, spools

PYTHON = "/usr/bin/python3"  # that of the distribution, whose numpy it is
# Calls, FLOPs and bytes of one repeat of blas_user.c, counted by hand.
USER = {
    "sgemm": (2, 2 * 2 * 48 * 32 * 40,
              2 * 4 * (48 * 40 + 40 * 32 + 2 * 48 * 32)),
    "dgemm": (1, 2 * 17 * 19 * 23, 8 * (17 * 23 + 23 * 19 + 2 * 17 * 19)),
    "sgemv": (1, 2 * 33 * 29, 4 * (33 * 29 + 29 + 2 * 33)),
    "ddot": (1, 2 * 1000, 8 * 2000),
}


class Context:
    def __init__(self, axprof, programs):
        self.axprof = pathlib.Path(axprof).resolve()
        self.programs = pathlib.Path(programs).resolve()

    def has(self, name):
        if (self.programs / name).exists():
            return True
        print(f"        (no {name} here)")
        return False


def both(c, folder, command, *options):
    """The report, as JSON, and what was said; the output is the same."""
    plain = run(command, folder, env=environment())
    equal(plain.status, 0, plain.err)
    done = run([c.axprof, "run", "--no-file", "--report", folder / "r.json",
                *options, "--", *command], folder, env=environment())
    equal((done.status, done.out), (plain.status, plain.out),
          f"{command}: {done.err}")
    equal(spools(folder), [], "spools that were left")
    return json.loads((folder / "r.json").read_text()), done.err.decode()


def work_of(report):
    return {op["name"]: (op["calls"], op["flops"], op["bytes"])
            for op in report["ops"]}


def shapes_of(report, name):
    op, = [op for op in report["ops"] if op["name"] == name]
    return {tuple(s["dims"]): (s["calls"], s["flops"]) for s in op["shapes"]}


def expect_user(report, repeats):
    got = work_of(report)
    equal(shapes_of(report, "sgemm"),
          {(48, 32, 40): (2 * repeats, repeats * USER["sgemm"][1])}, "shapes")
    for name, (calls, flops, n_bytes) in USER.items():
        equal(got.get(name),
              (calls * repeats, flops * repeats, n_bytes * repeats), name)


def test_linked(c, folder):
    for name in ("blas_user", "blas_user_reference"):
        if c.has(name):
            report, said = both(c, folder, [c.programs / name, "100"])
            expect_user(report, 100)
            check("no call of BLAS" not in said, said)


def test_small(c, folder):
    """Calls that are too many to be recorded are counted to the last one,
    however the process ends."""
    if c.has("blas_user"):
        report, _ = both(c, folder, [c.programs / "blas_user", "-200000"])
        muted = [w["count"] for w in report["warnings"]
                 if w["code"] == "muted_calls"]
        equal(work_of(report)["ddot"][0] + sum(muted), 400000, muted)


def test_plugin(c, folder):
    """Nobody but the plug-in sees the BLAS, and it is loaded twice."""
    if c.has("libblas_plugin.so"):
        report, _ = both(c, folder, [c.programs / "blas_user_none", "50",
                                     c.programs / "libblas_plugin.so"])
        expect_user(report, 100)


def test_plugins_of_threads(c, folder):
    """One comes to where another was while a thread is still closing that, and
    has another BLAS."""
    names = ["libblas_plugin.so", "libblas_plugin_reference.so"]
    if all(map(c.has, names)):
        both(c, folder, [c.programs / "blas_user_none", "1",
                         *[c.programs / name for name in names]])


def test_inside(c, folder):
    """What is seen in a call stands below it, and who made the call does not:
    that is around it."""
    if not c.has("blas_user"):
        return
    report, _ = both(c, folder, [c.programs / "blas_user", "large", "300"])
    tree = report["tree"]
    above = [()] * len(tree)
    for i, node in enumerate(tree[1:], 1):
        above[i] = above[node["parent"]] + (node["name"],)
    inside = [names[1:] for names, node in zip(above, tree)
              if node["is_sampled"] and names[0] == "sgemm"]
    if report["functions"]:
        check(inside, "nothing was seen in sgemm", above)
    for names in inside:
        check(not {"main", "_start", "compute_much"} & set(names), names)


def test_without(c, folder):
    if c.has("blas_user"):
        report, said = both(c, folder, [c.programs / "blas_user", "3"],
                            "--without", "blas")
        equal(set(USER) & set(work_of(report)), set(), "operations")
        check("no call of BLAS" not in said, said)


def test_static(c, folder):
    if c.has("blas_user_static"):
        report, said = both(c, folder, [c.programs / "blas_user_static", "9"],
                            "--sample", "off")
        equal(set(USER) & set(work_of(report)), set(), "operations")
        equal([line for line in said.splitlines() if "BLAS" in line],
              ["axprof run: no call of BLAS was seen: it is linked statically "
               "into blas_user_static, where calls cannot be seen"], said)


def test_absent(c, folder):
    _, said = both(c, folder, ["/bin/echo", "hello"])
    check("BLAS" not in said, said)


def has(module):
    """Whether Python has it; says so where not."""
    is_there = not subprocess.run([PYTHON, "-c", f"import {module}"],
                                  capture_output=True).returncode
    if not is_there:
        print(f"        (no {module} here)")
    return is_there


NUMPY = """
import numpy as np
a = np.arange(30 * 20, dtype=np.float32).reshape(30, 20) / 7
b = np.arange(20 * 50, dtype=np.float32).reshape(20, 50) / 9
for i in range(200): c = a @ b
d = np.arange(12 * 13, dtype=np.float64).reshape(12, 13)
e = np.arange(13 * 11, dtype=np.float64).reshape(13, 11)
for i in range(30): f = d @ e
v = np.arange(64.)
for i in range(5): d @ v[:13]
for i in range(9): v @ v
z = (d @ e).astype(np.complex128)
z @ z.T.copy()
print(c.tobytes().hex()[:200], f.sum(), (v @ v))
"""


def test_numpy(c, folder):
    """What each product of numpy's is in BLAS, exactly."""
    if not has("numpy"):
        return
    (folder / "p.py").write_text(NUMPY)
    report, _ = both(c, folder, [PYTHON, folder / "p.py"], "--sample", "off",
                     "--without", "memory")
    got = work_of(report)
    equal(got["sgemm"], (200, 200 * 2 * 30 * 20 * 50,
                         200 * 4 * (600 + 1000 + 1500)), "sgemm")
    equal(got["dgemm"], (31, 31 * 2 * 12 * 13 * 11,
                         31 * 8 * (156 + 143 + 132)), "dgemm")
    equal(shapes_of(report, "sgemm"),
          {(30, 50, 20): (200, 200 * 2 * 30 * 20 * 50)}, "shapes")
    equal(got["zgemm"], (1, 8 * 12 * 11 * 12, 16 * (132 + 132 + 144)), "zgemm")
    equal(got["ddot"][:2], (10, 10 * 128), "ddot")
    equal(got["dgemv"][:2], (5, 5 * 2 * 156), "dgemv")


def test_own_threads(c, folder):
    """BLAS has threads of its own, which spin: the run depends on its products
    and not on them."""
    if not c.has("blas_user"):
        return
    done = run([c.axprof, "run", "-q", "-o", "r.axp", "--report", "r.json",
                "--", c.programs / "blas_user", "large", "60"], folder,
               env=environment(OPENBLAS_NUM_THREADS="2"))
    equal(done.status, 0, done.err)
    report = json.loads((folder / "r.json").read_text())
    wall = report["run"]["duration_ns"]
    product, = [op for op in report["ops"] if op["name"] == "sgemm"]
    equal(product["calls"], 60, "calls")
    done = run([c.axprof, "whatif", "--remove", "sgemm", "r.axp"], folder,
               env=environment())
    less = re.search(rb"\(-([0-9.]+) %\)", done.out)
    check(less, "nothing gained:", done.out)
    gain = float(less.group(1)) / 100
    check(gain > 0.8 * product["total_ns"] / wall, done.out, product, wall)


def test_threads_of_library(c, folder):
    """OpenBLAS divides a product among threads of its own, which record
    nothing: they are seen in the same functions."""
    if not c.has("blas_user"):
        return
    for n in (1, 2):
        done = run([c.axprof, "run", "-q", "--no-file", "--report",
                    f"r{n}.json", "--", c.programs / "blas_user", "large",
                    "600"], folder, env=environment(OPENBLAS_NUM_THREADS=str(n)))
        equal(done.status, 0, done.err)
        report = json.loads((folder / f"r{n}.json").read_text())
        product, = [op for op in report["ops"] if op["name"] == "sgemm"]
        roof = product["roofline"]
        if not roof or not report["functions"]:
            continue
        equal((roof["threads"], roof["is_raised"]), (n, False),
              [t for t in report["threads"]])


TORCH = """
import torch
torch.manual_seed(1)
a, b = torch.rand(30, 20), torch.rand(20, 50)
for i in range(40): c = a @ b
d = torch.rand(12, 12, dtype=torch.float64)
for i in range(7): e = d @ d
print(c.numpy().tobytes().hex()[:200], e.sum().item())
"""


def test_torch(c, folder):
    """Fortran's names from libblas.so.3; a row-major product has its first two
    extents changed about, and the same work."""
    if not has("torch"):
        return
    (folder / "p.py").write_text(TORCH)
    report, _ = both(c, folder, [PYTHON, folder / "p.py"], "--sample", "off",
                     "--without", "memory")
    got = work_of(report)
    equal(got["sgemm"], (40, 40 * 2 * 30 * 20 * 50,
                         40 * 4 * (600 + 1000 + 1500)), "sgemm")
    equal(shapes_of(report, "sgemm"),
          {(50, 30, 20): (40, 40 * 2 * 30 * 20 * 50)}, "shapes")
    equal(got["dgemm"], (7, 7 * 2 * 12 ** 3, 7 * 8 * 3 * 144), "dgemm")


BLOCK = """
import torch, torch.nn as nn
torch.manual_seed(0)
B, T, C, H = 2, 16, 32, 4
wide, out = nn.Linear(C, 3 * C), nn.Linear(C, C, bias=False)
up, down, norm = nn.Linear(C, 4 * C), nn.Linear(4 * C, C), nn.LayerNorm(C)
x = torch.rand(B, T, C)
for i in range(6):
    q, k, v = wide(norm(x)).view(B, T, 3, H, C // H).permute(2, 0, 3, 1, 4)
    a = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
    y = x + out(a.transpose(1, 2).reshape(B, T, C))
    (y + down(torch.relu(up(y)))).square().mean().backward()
print(wide.weight.grad.numpy().tobytes().hex()[:200], up.bias.grad.sum().item())
"""


def test_block(c, folder):
    """Of a layer of a transformer all products, forward and backward, whether
    BLAS does them or oneDNN."""
    if not has("torch"):
        return
    (folder / "p.py").write_text(BLOCK)
    report, _ = both(c, folder, [PYTHON, folder / "p.py"], "--sample", "off",
                     "--without", "memory")
    got = sum(op["flops"] for op in report["ops"]
              if op["name"] == "sgemm" or op["name"].startswith("matmul"))
    rows, width = 2 * 16, 32
    layers = 2 * rows * width * width * (3 + 1 + 4 + 4)
    attention = 2 * 2 * 2 * 4 * 16 * 16 * 8
    equal(got, 6 * 3 * (layers + attention), "products")


DNNL = """
import torch
torch.manual_seed(1)
layer = torch.nn.Conv2d(3, 8, 3, padding=1)
x = torch.rand(2, 3, 32, 32, requires_grad=True)
for i in range(4):
    y = layer(x)
    y.sum().backward()
a, b = torch.rand(5, 20, 30), torch.rand(5, 30, 40)
for i in range(3): c = torch.bmm(a, b)
print(y.sum().item(), x.grad.sum().item(), c.sum().item())
"""


def test_dnnl(c, folder):
    """PyTorch's convolutions and batched products go to oneDNN."""
    if subprocess.run([PYTHON, "-c", "import torch; assert "
                       "torch.backends.mkldnn.is_available()"],
                      capture_output=True).returncode:
        print("        (no PyTorch with oneDNN here)")
        return
    (folder / "p.py").write_text(DNNL)
    report, _ = both(c, folder, [PYTHON, folder / "p.py"], "--sample", "off",
                     "--without", "memory")
    got = {}  # implementations differ from machine to machine
    for op in report["ops"]:
        kind = op["name"].split(" [")[0]
        calls, flops = got.get(kind, (0, 0))
        got[kind] = (calls + op["calls"], flops + (op["flops"] or 0))
    products, outputs = 2 * 2 * 8 * 32 * 32 * 3 * 3 * 3, 2 * 8 * 32 * 32
    equal(got["convolution"], (4, 4 * (products + outputs)), "forward")
    equal(got["convolution.backward_data"], (4, 4 * products), "data")
    equal(got["convolution.backward_weights"],
          (4, 4 * (products + outputs)), "weights")
    equal(got["matmul"], (3, 3 * 2 * 5 * 20 * 40 * 30), "matmul")


if __name__ == "__main__":
    run_support.main([test_linked, test_small, test_plugin,
                      test_plugins_of_threads, test_inside, test_without,
                      test_static, test_absent, test_numpy, test_own_threads,
                      test_threads_of_library,
                      test_torch, test_block, test_dnnl],
                     Context(*sys.argv[1:3]))
