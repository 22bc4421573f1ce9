"""What ever.py and fuzz-weather share: commands, a client, and waiting for processes within limits."""
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEST_BUILD") or ROOT / "build").resolve()
PROGRAM = os.environ.pop("MCP_INTERPOSER", None) or str(BUILD / "mcp-interposer")
WALL_S = 20         # until the client has an answer, and until the end
CPU_S = 1.5         # a session needs 0.05 s
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
    "cost": (["cost", "answer"], None, "all"),
    "search": (["search", "answer"], None, "all"),
    "tools": (["tools", "answer"], None, "all"),
    "check": (["check", "1", "--junit", "OUT/x", "--sarif", "OUT/s"], None, "all"),
    "export": (["export", "1"], None, "all"),
    "import": (["import", "VAULT/a.jsonl", "--vault", "OUT/new"], None, "all"),
    "diff": (["diff", "1", "VAULT/a.jsonl", "-v", "--junit", "OUT/x", "--sarif", "OUT/s"], None, "all"),
    "doctor": (["doctor", "-v", "--junit", "OUT/x", "--sarif", "OUT/s"], None, "all"),
    "escalations": (["escalations", "list"], None, "all"),
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


def of_session(folder, name="HOME"):
    """Processes that have this variable in their environment. They started after this one: older ones are not looked at, unless the
    kernel has begun with small numbers again since."""
    mark, found, least = name.encode() + b"=" + os.fsencode(folder) + b"\0", [], os.getpid()
    if int(Path("/proc/loadavg").read_text().split()[-1]) < least:
        least = 0
    for x in os.listdir("/proc"):
        if not x.isdigit() or int(x) <= least:
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{x}/environ", "rb") as environ:
                if mark in environ.read() + b"\0":
                    found.append(int(x))
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
