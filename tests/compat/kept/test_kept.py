#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that were compiled with older headers run with these libraries.

  test_kept.py ARCHITECTURE LIBAXPROF_RT LIBAXPROF [EMULATOR ...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    architecture, rt, axprof, *emulator = sys.argv[1:]
    here = pathlib.Path(__file__).resolve().parent
    clients = sorted(here.glob(f"client-*-{architecture}"))
    folders = {str(pathlib.Path(p).resolve().parent) for p in (rt, axprof)}
    # An emulator may have a path of libraries of its own.
    emulator = [a + ":" + ":".join(folders) if a.startswith("LD_LIBRARY_PATH=")
                else a for a in emulator]
    failed = not clients
    if failed:
        print(f"there is no client for {architecture}")
    for client in clients:
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(
                [*emulator, client, folder], text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LD_LIBRARY_PATH": ":".join(folders)})
        print(f"{client.name}: status {ran.returncode}: {ran.stdout.strip()}")
        failed |= ran.returncode != 0 or "all as it was" not in ran.stdout
    return failed


if __name__ == "__main__":
    sys.exit(main())
