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
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEST_BUILD") or ROOT / "build").resolve()
PROGRAM = os.environ.pop("MCP_INTERPOSER", None) or str(BUILD / "mcp-interposer")
WALL_S = 20         # until the client has an answer, and until the end
CPU_S = 1.5         # a session needs 0.05 s
SAMPLE = 12         # numbers N of each command
MOST = 1000         # the same with --all
STATUSES = range(4)
ANSWER = str(BUILD / "fakes/answer")


def request(id, method, params=None):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})


def call(id, pad):
    return request(id, "tools/call", {"name": "answer", "arguments": {"x": "y" * pad}})


INITIALIZE = request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
NOTE = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
LINES = [INITIALIZE, NOTE, request(1, "tools/list"), call(2, 300), "this is not JSON", call(3, 100000), request("s", "ping")]
IDS = {"0", "1", "2", "3", '"s"'}

# name: arguments, the lines of stdin (None: closed), whose allocations fail. VAULT and OUT are replaced.
PROXY = ["proxy", "--vault", "OUT/new", "--timeout", "60s", "--", ANSWER]
COMMANDS = {
    "proxy": (PROXY, LINES, "first"),
    "recorder": (PROXY, LINES, "others"),
    "proxy and recorder": (PROXY, LINES, "all"),
    "replay": (["replay", "1"], LINES, "all"),
    "replay of a file": (["replay", "VAULT/a.jsonl"], LINES, "all"),
    "replay --on-miss live": (["replay", "1", "--on-miss", "live", "--", ANSWER], [*LINES, call(4, 10)], "first"),
    "verify": (["verify", "1", "--", ANSWER], None, "first"),
    "send": (["send", "--list", "--vault", "OUT/new", "--", ANSWER], None, "all"),
    "mcp": (["mcp"], [INITIALIZE, NOTE, request(1, "tools/list"), request(2, "tools/call", {"name": "list_sessions", "arguments": {}})], "all"),
    "sessions": (["sessions"], None, "all"),
    "show": (["show", "1"], None, "all"),
    "stats": (["stats"], None, "all"),
    "search": (["search", "answer"], None, "all"),
    "tools": (["tools", "answer"], None, "all"),
    "check": (["check", "1"], None, "all"),
    "export": (["export", "1"], None, "all"),
    "import": (["import", "VAULT/a.jsonl", "--vault", "OUT/new"], None, "all"),
    "diff": (["diff", "1", "VAULT/a.jsonl"], None, "all"),
    "doctor": (["doctor"], None, "all"),
    "audit verify": (["audit", "verify"], None, "all"),
    "ps": (["ps"], None, "all"),
    "prune": (["prune", "--older-than", "30d", "--dry-run"], None, "all"),
    "redact": (["redact", "--scan", "1"], None, "all"),
    "ui": (["ui"], "q", "all"),
    "tail": (["tail", "-n", "5"], signal.SIGINT, "all"),
}


class Talk:
    """The client of a process: sends all lines, reads answers, then closes stdin."""

    def __init__(self, p, lines, ids):
        self.p, self.ids, self.left = p, ids, set(ids)
        self.sender = threading.Thread(target=self.send, args=("\n".join(lines) + "\n",), daemon=True)
        self.sender.start()

    def send(self, text):
        with contextlib.suppress(BrokenPipeError):
            self.p.stdin.write(text.encode())
            self.p.stdin.flush()

    def answered(self):
        """False: neither all answers nor the end of the connection in time."""
        end, got, fd = time.monotonic() + WALL_S, b"", self.p.stdout.fileno()
        while self.left:
            if not select.select([fd], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
            data = os.read(fd, 1 << 16)
            if not data:
                return True
            *whole, got = (got + data).split(b"\n")
            self.left -= {json.dumps(json.loads(x).get("id")) for x in whole}
        return True

    def close(self):
        def close():
            self.sender.join()
            with contextlib.suppress(BrokenPipeError):
                self.p.stdin.close()
        threading.Thread(target=close, daemon=True).start()


def cpu_seconds(pid):
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def ended(p, poke=lambda: None):
    """The exit status; None: it runs too long, or uses too much CPU time."""
    end = time.monotonic() + WALL_S
    while p.poll() is None:
        if time.monotonic() > end or cpu_seconds(p.pid) > CPU_S:
            return None
        poke()
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(0.02)
    return p.returncode


def of_session(home):
    """Processes that have this HOME."""
    mark, found = b"HOME=" + os.fsencode(home) + b"\0", []
    for x in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if x.name.isdigit() and mark in (x / "environ").read_bytes() + b"\0":
                found.append(int(x.name))
    return found


def all_ended(home):
    end = time.monotonic() + WALL_S
    while time.monotonic() < end:
        left = of_session(home)
        if not left:
            return True
        if any(cpu_seconds(pid) > CPU_S for pid in left):
            return False
        time.sleep(0.02)
    return False


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


def record(folder):
    """A vault with one session, and that session as a file in it."""
    vault = folder / "vault"
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "MCP_INTERPOSER_VAULT": str(vault)}
    p = subprocess.Popen([PROGRAM, "proxy", "--", ANSWER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    talk = Talk(p, LINES, IDS)
    if not talk.answered() or talk.left:
        sys.exit("not ok - the session cannot be recorded")
    talk.close()
    p.stdout.read()
    p.wait()
    text = subprocess.run([PROGRAM, "export", "1"], env=env, stdout=subprocess.PIPE, check=True).stdout
    (vault / "a.jsonl").write_bytes(text)
    return vault


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
