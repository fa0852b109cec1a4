#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small programs of other people, built against axprof as they would.

  test_clients.py CLIENT BUILD SCRATCH [CC CXX]

CLIENT "install" installs BUILD below SCRATCH, and moves the installed tree, so
that the others see that nothing in it knows where it was; the others are the
five clients (cmake, pkgconfig, subdirectory, static, cpp), "link" for -laxprof
alone with every linker there is, "command" for the installed command, and
"uninstall".
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
C_SAYS = "work: 3 calls, 300 flops, 3 steps\n"
RT_SAYS = "work: 3 calls\n"
READS_SAYS = "format: chrome\n"
CPP_SAYS = "client::work: 3 calls\ninner: 3 calls\n"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


class Client:
    def __init__(self, build, scratch, cc="gcc", cxx="g++"):
        self.build, self.cc, self.cxx = build, cc, cxx
        self.scratch = scratch
        self.moved = scratch / "moved"
        self.lib = next(self.moved.glob("**/libaxprof_rt.a"),
                        self.moved / "lib" / "x").parent
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("AXP", "PKG_CONFIG", "LD_LIBRARY"))}
        self.env["AXPROF_MACHINE"] = "off"

    def call(self, *command, **more):
        command = [str(c) for c in command]
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              env={**self.env, **more})
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout}\nstatus "
                     f"{done.returncode}")
        return done.stdout

    def says(self, expected, program, **more):
        said = self.call(program, **more)
        if said != expected:
            sys.exit(f"{program} says {said!r}, not {expected!r}")

    def folder(self, name):
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    # ---- the installed tree -------------------------------------------------

    def install(self):
        first = self.folder("first")
        shutil.rmtree(self.moved, ignore_errors=True)
        self.call("cmake", "--install", self.build, "--prefix", first)
        first.rename(self.moved)
        for path in self.moved.rglob("*"): # nothing knows where it was
            if path.suffix in {".pc", ".cmake", ".so", ".a"} and \
                    path.is_file() and str(first).encode() in path.read_bytes():
                sys.exit(f"{path} has the path it was installed to")

    def uninstall(self):
        """PREFIX and DESTDIR; twice over; files of others stay."""
        stage = self.folder("stage")
        root = stage / "opt" / "ax"
        (root / "lib" / "axprof").mkdir(parents=True)
        others = [root / "lib" / "libother.so", root / "lib" / "axprof" / "own"]
        for path in others:
            path.write_text("not axprof's\n")
        before = sorted(stage.rglob("*"))
        for _ in range(2):
            self.call("cmake", "--install", self.build, "--prefix", "/opt/ax",
                      DESTDIR=str(stage))
        if len(sorted(stage.rglob("*"))) < len(before) + 20:
            sys.exit("nothing was installed below DESTDIR")
        self.call("make", "-s", "-C", TOP, "uninstall", f"DESTDIR={stage}",
                  "PREFIX=/opt/ax")
        after = sorted(stage.rglob("*"))
        if after != before:
            sys.exit(f"left or lost: {set(after) ^ set(before)}")
        done = subprocess.run([TOP / "tools" / "uninstall", root],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 1 or "nothing of axprof" not in done.stderr:
            sys.exit(f"uninstalled twice: {done}")
        self.refuse(root)

    def refuse(self, root):
        """A list that leads elsewhere removes nothing."""
        listed = root / "share" / "axprof" / "installed.txt"
        listed.parent.mkdir(parents=True)
        for bad in ["../../outside", "/etc/hostname", "lib/../../../outside"]:
            outside = root.parent.parent / "outside"
            outside.write_text("")
            listed.write_text(f"lib/libother.so\n{bad}\n")
            done = subprocess.run([TOP / "tools" / "uninstall", root],
                                  stderr=subprocess.PIPE)
            if done.returncode != 1 or not outside.exists() or \
                    not (root / "lib" / "libother.so").exists():
                sys.exit(f"a list with {bad} was followed")

    def command(self):
        """It finds its libraries and its adapters where it was moved to."""
        axprof = self.moved / "bin" / "axprof"
        listed = self.call(axprof, "run", "--list")
        if "not installed" in listed or listed.count("\n") < 3:
            sys.exit(f"adapters: {listed}")
        out = self.folder("command") / "run.axp"
        self.call(axprof, "run", "-o", out, "--", "true")
        self.call(axprof, "check", out)

    # ---- clients ------------------------------------------------------------

    def configure(self, source, folder, *options):
        return self.call("cmake", "-G", "Ninja", "-S", source, "-B", folder,
                         f"-DCMAKE_C_COMPILER={self.cc}",
                         "-DCMAKE_BUILD_TYPE=Debug", "--no-warn-unused-cli",
                         *options)

    def cmake(self):
        folder = self.folder("cmake")
        self.configure(HERE / "cmake", folder,
                       f"-DCMAKE_PREFIX_PATH={self.moved}",
                       f"-DCMAKE_C_FLAGS={' '.join(WARNINGS)}")
        self.call("cmake", "--build", folder)
        self.says(C_SAYS, folder / "client")
        self.says(RT_SAYS, folder / "client_rt")
        self.says(READS_SAYS, folder / "client_reads")
        self.says(C_SAYS, folder / "client_static")
        self.says(RT_SAYS, folder / "client_rt_static")
        needed = self.call("readelf", "-d", folder / "client_static")
        if "libaxprof" in needed:
            sys.exit(f"the static client needs a shared library:\n{needed}")

    def pkg_config(self, *options):
        return self.call("pkg-config", *options, PKG_CONFIG_PATH=str(
            self.lib / "pkgconfig")).split()

    def pkgconfig(self):
        folder = self.folder("pkgconfig")
        for name, source, says in [("axprof", "client.c", C_SAYS),
                                   ("axprof", "client_reads.c", READS_SAYS),
                                   ("axprof_rt", "client_rt.c", RT_SAYS)]:
            flags = self.pkg_config("--cflags", "--libs", name)
            self.call(self.cc, *WARNINGS, HERE / source, "-o", folder / name,
                      *flags)
            self.says(says, folder / name, LD_LIBRARY_PATH=str(self.lib))
        if self.pkg_config("--modversion", "axprof") != ["0.1.0"]:
            sys.exit("not the version")
        if any("zstd" in f for f in self.pkg_config("--libs", "axprof")):
            sys.exit("what only a static program needs is on everyone's line")

    def static(self):
        """Fully static, and with the static libraries alone."""
        folder = self.folder("static")
        for name, source, says in [("axprof", "client.c", C_SAYS),
                                   ("axprof_rt", "client_rt.c", RT_SAYS)]:
            flags = self.pkg_config("--static", "--cflags", "--libs", name)
            self.call(self.cc, "-static", HERE / source, "-o", folder / name,
                      *flags)
            self.says(says, folder / name)
            mixed = [f.replace(f"-l{name}", f"-l:lib{name}.a")
                     if f == f"-l{name}" else f for f in flags]
            self.call(self.cc, HERE / source, "-o", folder / name, *mixed)
            if "axp__process_v1" not in self.call(
                    "nm", "-D", "--defined-only", folder / name):
                sys.exit(f"{name}: a shared copy would not find this one's "
                         "recorder")
            self.says(says, folder / name, LD_LIBRARY_PATH=str(self.lib))

    def link(self):
        """-laxprof alone, shared and static, by each linker."""
        folder = self.folder("link")
        linkers = [n for n in ["bfd", "gold", "lld"]
                   if shutil.which(f"ld.{n}")]
        for linker in linkers:
            for how in [[], ["-static"], ["-Wl,--as-needed"]]:
                out = folder / "client"
                self.call(self.cc, f"-fuse-ld={linker}", *how, "-I",
                          self.moved / "include", HERE / "client.c", "-o", out,
                          "-L", self.lib, "-laxprof")
                self.says(C_SAYS, out, LD_LIBRARY_PATH=str(self.lib))
        if not linkers:
            sys.exit("no linker")

    def cpp(self):
        folder = self.folder("cpp")
        flags = self.pkg_config("--cflags", "--libs", "axprof")
        for std in ["c++14", "c++20"]:
            self.call(self.cxx, f"-std={std}", *WARNINGS,
                      HERE / "client_cpp.cpp", "-o", folder / "client", *flags,
                      f"-Wl,-rpath,{self.lib}")
            self.says(CPP_SAYS, folder / "client")

    def cache_of(self, folder):
        text = (folder / "CMakeCache.txt").read_text()
        projects = re.findall(r"^(CMAKE_PROJECT_.*)", text, re.M)
        return set(re.findall(r"^([^#/\n][^:\n]*):", text, re.M) + projects)

    def subdirectory(self):
        plain = self.folder("subdirectory_none")
        self.configure(HERE / "subdirectory", plain, "-DHOW=none")
        for how, option in [("subdirectory", f"-DAXPROF_SOURCE={TOP}"),
                            ("fetch", f"-DFETCHCONTENT_SOURCE_DIR_AXPROF={TOP}")]:
            folder = self.folder(f"subdirectory_{how}")
            self.configure(HERE / "subdirectory", folder, f"-DHOW={how}",
                           option, "-DCMAKE_C_FLAGS=-O0")
            self.check_part(folder, plain)
        folder = self.scratch / "subdirectory_subdirectory"
        self.call("cmake", "--build", folder, "-j", "2")
        self.says(RT_SAYS, folder / "client_rt")
        if list(folder.rglob("libaxprof.*")) or list(folder.rglob("*.a")):
            sys.exit("more was built than the client links with")

    def check_part(self, folder, plain):
        """Nothing of ours but the libraries is in the client's build."""
        targets = set(re.findall(r"^(\w+): phony", self.call(
            "ninja", "-C", folder, "-t", "targets", "all"), re.M))
        ours = targets - set(re.findall(r"^(\w+): phony", self.call(
            "ninja", "-C", plain, "-t", "targets", "all"), re.M))
        extra = {t for t in ours if not re.match(
            r"(cmake_object_order_depends_target_)?"
            r"(axprof(_rt)?(_static|_objects)?|client_rt)$", t)}
        # Those of CMake's own modules, which look for zlib and the like.
        made = {n for n in self.cache_of(folder) - self.cache_of(plain)
                if not re.match(
                    r"AXP|axprof|pkgcfg_lib_AXP|(_|)AXP_ZSTD|ZLIB_|PKG_CONFIG|"
                    r"FIND_PACKAGE_MESSAGE|FETCHCONTENT|CMAKE_HAVE_LIBC|"
                    r"__pkg_config|prefix_result$", n)}
        rules = (folder / "cmake_install.cmake").read_text()
        parts = [p.read_text() for p in folder.rglob("cmake_install.cmake")]
        installs = "file(INSTALL" in rules or any("file(INSTALL" in p
                                                  for p in parts)
        tests = list(folder.rglob("CTestTestfile.cmake"))
        if extra or made or installs or tests:
            sys.exit(f"{folder.name}: targets {extra}, cache {made}, install "
                     f"rules {installs}, tests {tests}")


def main():
    what, build, scratch, *compilers = sys.argv[1:]
    client = Client(pathlib.Path(build), pathlib.Path(scratch), *compilers)
    getattr(client, what)()
    print(f"{what}: as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
