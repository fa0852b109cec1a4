#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the shared libraries export and need is what is written down.

  test_abi.py [--update] LIBAXPROF_RT LIBAXPROF ADAPTERS

 - the dynamic symbols of each are those of axprof_rt.symbols and
   axprof.symbols beside this file (--update rewrites them);
 - libaxprof_rt needs libc alone, and owns one TLS variable of 24 bytes, reached
   by initial-exec (a large or dynamic one fails under dlopen or allocates);
 - so are those of all adapters in that folder: what the loader allocates for
   another model it allocates with malloc, which is one of them.
"""
import pathlib
import re
import subprocess
import sys

TLS_BYTES = 24  # a pointer to the thread's block, and two hints
HERE = pathlib.Path(__file__).resolve().parent
HEADER = "# SPDX-License-Identifier: MIT OR Apache-2.0\n" \
         "# Exported symbols: type, name, version. Written by " \
         "tests/abi/test_abi.py --update.\n"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def exported(library):
    """[(type, name@@version)], by name, without the version nodes."""
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    rows = [line.split()[-2:] for line in lines]
    return sorted(f"{kind} {name}" for kind, name in rows if kind != "A")


def listed(path):
    return [line for line in path.read_text().splitlines()
            if line and not line.startswith("#")]


def check_symbols(library, path, update):
    now = exported(library)
    if update:
        path.write_text(HEADER + "\n".join(now) + "\n")
    before = listed(path)
    for line in sorted(set(before) - set(now)):
        print(f"{path.name}: gone: {line}")
    for line in sorted(set(now) - set(before)):
        print(f"{path.name}: new: {line}")
    return now == before and len(now) > 0


def check_needed(library):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d",
                                                        library))
    allowed = re.compile(r"(libc\.so\.6|libpthread\.so\.0|ld-linux.*)")
    bad = [name for name in needed if not allowed.fullmatch(name)]
    for name in bad:
        print(f"libaxprof_rt needs {name}")
    return not bad and "libc.so.6" in needed


def check_tls(library):
    symbols = [line.split() for line in output("readelf", "-W", "-s",
                                               library).splitlines()
               if " TLS " in line]
    variables = {(row[7], row[2]) for row in symbols
                 if len(row) > 7 and row[7][0] != "$"
                 and row[7] != "_TLS_MODULE_BASE_"}
    segment = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)",
                        output("readelf", "-W", "-l", library), re.M)
    size = int(segment.group(1), 16) if segment else 0
    relocations = output("readelf", "-W", "-r", library)
    dynamic = re.findall(r"R_\S*(?:TLSDESC|DTPMOD)\S*", relocations)
    if variables and {size for _, size in variables} != {str(TLS_BYTES)} \
            or len(variables) > 1 or size != TLS_BYTES:
        print(f"TLS: {variables}, segment of {size} bytes; one of {TLS_BYTES} "
              "expected")
        return False
    if dynamic or not re.search(r"R_\S*(?:TPREL|TPOFF)", relocations):
        print(f"TLS is not initial-exec: {dynamic}")
        return False
    return True


def check_adapters(folder):
    libraries = sorted(pathlib.Path(folder).glob("libaxprof_*.so"))
    bad = [path.name for path in libraries
           if re.search(r"R_\S*(?:TLSDESC|DTPMOD)|__tls_get_addr",
                        output("readelf", "-W", "-r", path))]
    for name in bad:
        print(f"{name}: TLS is not initial-exec")
    return libraries and not bad


def main():
    update = "--update" in sys.argv
    runtime, whole, adapters = [a for a in sys.argv[1:] if a != "--update"]
    results = {
        "symbols of libaxprof_rt": check_symbols(
            runtime, HERE / "axprof_rt.symbols", update),
        "symbols of libaxprof": check_symbols(
            whole, HERE / "axprof.symbols", update),
        "libaxprof_rt needs libc alone": check_needed(runtime),
        "one small initial-exec TLS variable": check_tls(runtime),
        "adapters' TLS is initial-exec": check_adapters(adapters),
    }
    for what, ok in results.items():
        print(f"{'ok     ' if ok else 'FAILED '} {what}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
