#!/usr/bin/env python3
"""Every allocation from the N-th on fails: a command answers or ends, and does not spin.

    tests/faults/ever.py [--all] [COMMAND [N]]
    tests/faults/ever.py --list                     prints the names of the commands

Each command is run for a sample of N; with --all or TEST_LONG=1 for every N, of commands with more than 1,000 allocations for 1,000 of them. It must end by itself, with a documented exit
status, and use little CPU time; a proxy must answer its client or close the connection. Without load that takes less than 2
seconds; the limits here are for a busy machine. Prints a line `ok - ...` or `not ok - ...` for each command.
MCP_INTERPOSER names the program, TEST_BUILD the build directory."""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pty
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from commands import (BUILD, COMMANDS, IDS, LINES, PROGRAM, STATUSES, Talk, all_ended, cpu_seconds, ended, of_session,  # noqa: E402
                      record)

SAMPLE = 12         # numbers N of each command
MOST = 1000         # the same with --all


def run(command, n, vault, tmp):
    """What is wrong (None: nothing), the number of allocations, and of those that failed."""
    args, stdin, who = COMMANDS[command]
    count = tmp / "count"
    count.write_bytes(bytes(16))
    (tmp / "journals").mkdir(mode=0o700)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp), "LD_PRELOAD": str(BUILD / "faults/alloc.so"), "TERM": "xterm",
           "MCP_INTERPOSER_JOURNAL_DIR": str(tmp / "journals"), "MCP_INTERPOSER_VAULT": str(vault), "ALLOC_SEED": "1",
           "ALLOC_ONE_IN": "1", "ALLOC_SKIP": str(n), "ALLOC_WHO": who, "ALLOC_COUNT": str(count)}
    args = [x.replace("VAULT", str(vault)).replace("OUT", str(tmp)) for x in args]
    wrong, poke = None, lambda: None
    with open(tmp / "stderr", "wb") as stderr:
        if stdin == "q":
            ours, theirs = pty.openpty()
            p = subprocess.Popen([PROGRAM, *args], stdin=theirs, stdout=theirs, stderr=stderr, env=env, start_new_session=True)
            os.close(theirs)

            def poke():
                with contextlib.suppress(OSError):
                    os.write(ours, b"q")
                    while select.select([ours], [], [], 0)[0] and os.read(ours, 1 << 16):
                        pass
        else:
            p = subprocess.Popen([PROGRAM, *args], stdin=subprocess.PIPE if isinstance(stdin, list) else subprocess.DEVNULL,
                                 stdout=subprocess.PIPE if isinstance(stdin, list) else subprocess.DEVNULL, stderr=stderr, env=env)
        if isinstance(stdin, list):
            talk = Talk(p, stdin, IDS if stdin is LINES else {json.dumps(json.loads(x)["id"]) for x in stdin if '"id"' in x})
            if not talk.answered():
                wrong = f"no answer to {sorted(talk.left)}, and the connection is open"
            talk.close()
        elif stdin == signal.SIGINT:
            def poke():
                if cpu_seconds(p.pid) > 0 and p.poll() is None:
                    p.send_signal(signal.SIGINT)
        started = time.monotonic()
        status = ended(p, poke)
        if status is None:
            wrong = wrong or f"it does not end: {cpu_seconds(p.pid):.1f} s of CPU in {time.monotonic() - started:.1f} s"
            p.kill()
            p.wait()
        if isinstance(stdin, list):
            p.stdout.close()
        if stdin == "q":
            os.close(ours)
    err = (tmp / "stderr").read_bytes()
    if not all_ended(tmp):
        wrong = wrong or "a process of it does not end"
        for pid in of_session(tmp):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    if wrong is None and status == -signal.SIGABRT and b"out of memory for the event loop" in err:
        status = 3
    if wrong is None and stdin == "q" and status == -signal.SIGSEGV:
        status = 3      # tparm() of ncurses does not check whether it got memory
    usage = status == 2 and b"--help" in err
    if wrong is None and (usage or status not in STATUSES) and not (stdin == signal.SIGINT and status in (-2, 130)):
        wrong = f"exit status {status}"
    if wrong:
        wrong += f"\n# stderr: {err[-600:].decode('utf-8', 'backslashreplace')}"
    return wrong, *struct.unpack("QQ", count.read_bytes())


def attempt(command, n, recorded):
    """A run with a copy of the vault, and a HOME of its own."""
    tmp = Path(tempfile.mkdtemp(prefix="mi-ever-", dir="/dev/shm"))
    try:
        shutil.copytree(recorded, tmp / "vault")
        return run(command, n, tmp / "vault", tmp)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def numbers(command, every, recorded):
    """The numbers N: about SAMPLE of them, more among the first, or all."""
    wrong, calls, failed = attempt(command, 1 << 40, recorded)
    if wrong or failed or calls < 10:
        return wrong or f"{calls} allocations, of which {failed} failed", []
    sample = MOST if every else SAMPLE
    return None, sorted({round(calls * (i / sample) ** 2) for i in range(sample + 1)}) if calls > sample else list(range(calls + 1))


def try_command(command, every, recorded, pool):
    wrong, tried = numbers(command, every, recorded)
    if not wrong:
        results = pool.map(lambda n: (n, *attempt(command, n, recorded)), tried)
        wrong = next((f"N = {n}: {w}" for n, w, _, _ in results if w), None)
    print(f"{'not ok' if wrong else 'ok'} - {command}: every allocation fails from the N-th on, {len(tried)} times", flush=True)
    if wrong:
        print(f"# {wrong}", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("command", nargs="?")
    parser.add_argument("n", nargs="?", type=int)
    a = parser.parse_args()
    if a.list:
        print("\n".join(COMMANDS))
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = Path(tempfile.mkdtemp(prefix="mi-ever-", dir="/dev/shm"))
    try:
        recorded = record(folder)
        if a.n is not None:
            print(attempt(a.command, a.n, recorded))
            return
        every = a.all or bool(os.environ.get("TEST_LONG"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            good = [try_command(c, every, recorded, pool) for c in COMMANDS if a.command in (None, c)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(not all(good))


main()
