#!/usr/bin/env python3
"""The time of a start: the program alone, Node alone, and the launcher of the npm package, which take turns.

    tests/npm/start.py [--starts N] [NODE...]

NODE is a program `node`, default that of PATH; with process.execve (22.15) the launcher becomes the program, else it starts
a child process. MCP_INTERPOSER is the program, default build/mcp-interposer. Prints for `--version` the median of the
CPU time of all processes, and the median and the minimum of the time from before the fork to the exit, in ms.
"""
import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("MCP_INTERPOSER", ROOT / "build/mcp-interposer"))


def install(folder):
    """The path of the launcher, installed below the folder."""
    arch = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    made = subprocess.run([ROOT / "packaging/npm/build", "--dynamic", "--out", folder / "dist", f"linux-{arch}={PROGRAM}"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    (folder / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", *made], check=True, cwd=folder)
    return folder / "node_modules/mcp-interposer/bin/mcp-interposer.js"


def start(command):
    """(CPU time, time) in ms."""
    before = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{command} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1000, (time.monotonic() - before) * 1000


def say(node, code):
    return subprocess.run([node, "-p", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description="Measure the starts of the npm package.")
    parser.add_argument("--starts", type=int, default=20, help="of each command [20]")
    parser.add_argument("nodes", metavar="NODE", nargs="*", default=["node"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        launcher = str(install(Path(folder)))
        rows = {"the program": [PROGRAM, "--version"]}
        for name in options.nodes:
            node = say(name, "process.execPath")
            version, way = say(node, "process.version"), say(node, "process.execve ? 'execve' : 'child process'")
            rows[f"node -e 0, {version}"] = [node, "-e", "0"]
            rows[f"launcher, {version}, {way}"] = [node, launcher, "--version"]
        times = {name: [] for name in rows}
        for _ in range(options.starts):
            for name, command in rows.items():
                times[name].append(start(command))
    print(f"{'ms':<36}{'CPU':>8}{'median':>8}{'minimum':>9}")
    for name, pairs in times.items():
        cpu, wall = zip(*pairs)
        print(f"{name:<36}{statistics.median(cpu):8.1f}{statistics.median(wall):8.1f}{min(wall):9.1f}")


main()
