"""Random keys for `ui`, in a pseudo-terminal of its own: it must not crash, and `q` must end it from wherever it is.

  MCP_INTERPOSER=PROGRAM python3 tests/e2e/monkey.py [SEEDS [SECONDS [FIRST]]]     default: 20 seeds of 90 seconds

The vault has a call of 2,000 messages and bodies of 64 MiB, and between the keys the terminal gets other sizes, and the vault other sessions and escalations. A seed gives the same keys again, but not
the same moments. For each seed the most CPU time is printed that was used from a key to the next output, and the keys: also by what
goes on meanwhile, such as reading. Commands that ui starts find another `sh`, and nothing that they could change.
"""
import contextlib
import fcntl
import json
import os
import pty
import random
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

import lib
from lib import check
from looking import UID, add_message, add_session, make_vault

START = 1795256137000000
EVIL = "a\033]0;owned\007\033[2J\u202eb\u009b31m日本\u0301\u0301\u0301\u0301\u0301\U0001f600\ufeff\t\n\\"
SIZES = [(1, 1), (2, 3), (24, 6), (30, 5), (60, 16), (69, 20), (80, 24), (131, 40), (132, 24), (200, 60)]
# ^C, ^\ and ^Z end or stop the program by a signal, which is not what is tried.
KEYS = [k.encode() for k in "jkhlgGzofFmnNxXS?+-=[]ypYeEcdrRv|B;: c/ooSqQxcq!DJKLLt&<>bF15o"] + [
    b"\r", b"\r", b"\r", b"\t", b"\033", b"\033", b"\x7f", b" ", b"\x0c", b"\x02", b"\x06", b"\x15", b"\x0b", b"\x17", b"\0",
    b"\033OA", b"\033OB", b"\033OC", b"\033OD", b"\033OP", b"\033OR", b"\033OS", b"\033[15~", b"\x12", b"\033[5~", b"\033[6~", b"\033OH", b"\033OF", b"\033[3~", b"\033[Z",
    b"\033[1;5A", b"\033[?64;1;2c", b"\033]11;rgb:00/00/00\033\\", b"\033[", b"\033O", b"\033P", b"\xff", b"\xc3", "é日\U0001f600".encode(),
    b"\033[200~pasted q\rQ\033[201~", b"\033[200~", b"\033[201~"]
TEXTS = [b"tool:*", b"status:error", b"status:failed", b"took:1s", b"method:tools/call one", b"y", b"y", b"status:", b"'open", b"server1", b"kind:stderr x", b"content", b"is:odd", b"\x15", b"x" * 300, b"1", b"last"]


def body(random_, size):
    value = {EVIL: EVIL, "n": [random_.random() for _ in range(3)], "text": "one\ntwo " * (size // 8), "json": json.dumps({"a": [1, {}]})}
    return value


def add_calls(db, random_, session, first, calls):
    for i in range(calls):
        seq = first + 2 * i
        size = random_.choice([10, 10, 10, 300, 20000])
        tool = random_.choice(["read", "write", EVIL.replace("\0", ""), "x" * 200])
        add_message(db, session, seq, kind="request", rpc_id=str(seq), method="tools/call", target=tool, direction=random_.choice(["c2s", "c2s", "s2c"]),
                    body=json.dumps({"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": {"name": tool, "arguments": body(random_, size)}}))
        answer = random_.choice([{"result": {"content": [{"type": "text", "text": EVIL * (size // 20)}, {"type": "image", "data": "x" * size}]}},
                                 {"result": {"isError": True, "content": [{"type": "text", "text": EVIL}]}},
                                 {"error": {"code": -32000, "message": EVIL, "data": body(random_, size)}}, {"result": {}}, None])
        if answer is None:
            add_message(db, session, seq + 1, kind="noise", direction="s2c", body=EVIL[:random_.randrange(len(EVIL))], finding="not-json", action="refused")
        else:
            add_message(db, session, seq + 1, direction="s2c", kind="error" if "error" in answer else "result", rpc_id=str(seq), request_seq=seq,
                        body=random_.choice([json.dumps, lambda x: json.dumps(x)[:-5]])({"jsonrpc": "2.0", "id": seq, **answer}))


def add_large(db, path, session, size):
    """Two calls with results of this size in Bodies/, a text and an array; one with progress, 2,000 messages in all."""
    uid = UID % session
    add_session(db, session, uid=uid, name="large", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed")
    (path / "Bodies").mkdir(mode=0o700)
    with (path / "Bodies" / uid).open("wb") as f:
        for seq, result in ((1, {"content": [{"type": "text", "text": (EVIL + "line\n") * (size // 50)}]}), (3, {"rows": [[1, {"a": "b"}]] * (size // 20)})):
            add_message(db, session, seq, kind="request", rpc_id=str(seq), method="tools/call", target="large", body="{}")
            body_ = json.dumps({"jsonrpc": "2.0", "id": seq, "result": result}).encode()
            add_message(db, session, seq + 1, kind="result", direction="s2c", rpc_id=str(seq), request_seq=seq, size=len(body_), body_offset=f.tell(), body_length=len(body_))
            f.write(body_)
    add_message(db, session, 5, kind="request", rpc_id="5", method="tools/call", target="progress", body="{}")
    for seq in range(6, 2005):
        add_message(db, session, seq, direction="s2c", method="notifications/progress", request_seq=5, body=json.dumps({"method": "notifications/progress", "params": {"progress": seq}}))
    add_message(db, session, 2005, kind="result", direction="s2c", rpc_id="5", request_seq=5, body='{"jsonrpc":"2.0","id":5,"result":{}}')


class Vault:
    def __init__(self, path, random_, large):
        self.random, self.last, self.path = random_, 0, path
        self.db = make_vault(path)
        (path / "Escalations").mkdir(mode=0o700)
        for calls in (0, 1, 1000, 30):
            self.add(calls)
        self.db.execute("BEGIN")
        add_large(self.db, path, 50, large)
        self.db.execute("COMMIT")

    def add(self, calls):
        self.db.execute("BEGIN IMMEDIATE")
        self.last, = self.db.execute("SELECT coalesce(max(id), 0) + 1 FROM sessions WHERE id <> 50").fetchone()  # `send` adds sessions, too
        ended = self.random.choice([{"ended_at_us": START + 10**8, "end_reason": EVIL.replace("\0", "")}, {"pid": 2**22 + 1}])
        add_session(self.db, self.last, name=self.random.choice(["server1", "server2", EVIL.replace("\0", "")]), client_name=EVIL.replace("\0", ""),
                    started_at_us=START, command='["true"]', **ended)
        add_calls(self.db, self.random, self.last, 1, calls)
        self.db.execute("INSERT INTO events(session_id, t_us, kind, detail) VALUES(?, 5, 'restart', ?)", (self.last, EVIL))
        self.db.execute("COMMIT")

    def change(self):
        what = self.random.randrange(5)
        if what == 0 and self.last < 40:
            self.add(self.random.choice([0, 5]))
        elif what == 1:
            self.db.execute("UPDATE sessions SET ended_at_us = ?, end_reason = 'client-closed' WHERE ended_at_us IS NULL AND id = ?",
                            (START + 10**7, self.random.randint(1, self.last)))
        elif what == 2:
            session = self.random.randint(1, self.last)
            seq, = self.db.execute("SELECT coalesce(max(seq), 0) FROM messages WHERE session_id = ?", (session,)).fetchone()
            self.db.execute("BEGIN")
            add_calls(self.db, self.random, session, seq + 1, 3)
            self.db.execute("COMMIT")
        elif what == 3:
            name = f"2026010{self.random.randrange(9)}T000000.000Z-hang-x.md"
            (self.path / "Escalations" / name).write_text(f'---\nserver: "{EVIL}"\ncount: 1\nseq: 5\nsession: "{UID % 50}"\n---\n' + EVIL * self.random.choice([1, 5000]))
        elif self.last > 8:
            gone = self.random.randint(1, self.last)
            for table in ("messages", "events"):
                self.db.execute(f"DELETE FROM {table} WHERE session_id = ?", (gone,))
            self.db.execute("DELETE FROM sessions WHERE id = ?", (gone,))


class Monkey:
    def __init__(self, folder, seed, large):
        self.random, self.seed, self.folder = random.Random(seed), seed, folder
        self.said, self.slowest, self.pid = b"", (0, b""), 0
        bin_ = folder / "bin"
        bin_.mkdir()
        (bin_ / "sh").write_text("#!/bin/sh\nexit 0\n")
        (bin_ / "sh").chmod(0o755)
        self.env = {**os.environ, "PATH": str(bin_), "HOME": str(folder), "TMPDIR": str(folder), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                    "EDITOR": "true", "PAGER": "true", "ASAN_OPTIONS": f"abort_on_error=0:exitcode=99:detect_leaks=1:log_path={folder}/sanitizer",
                    "UBSAN_OPTIONS": "print_stacktrace=1"}
        self.env.pop("TMUX", None)
        self.vault = Vault(folder / "vault", self.random, large)

    def start(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execve(lib.PROGRAM, [lib.PROGRAM, "ui", "--vault", str(self.folder / "vault")], self.env)
        self.said = b""
        self.resize(80, 24)
        self.listen(0.3)

    def resize(self, width, height):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def listen(self, seconds):
        """Reads what the program writes, until it is quiet for so long."""
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                self.said = (self.said + os.read(self.fd, 1 << 16))[-4000:]
            except OSError:  # the program has ended
                return

    def cpu(self):
        """CPU time in milliseconds; 0 when it has ended."""
        with contextlib.suppress(OSError):
            return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e6
        return 0

    def press(self, keys):
        before = self.cpu()
        with contextlib.suppress(OSError):
            os.write(self.fd, keys)
        end, last, now = time.monotonic() + 0.06, before, before
        while time.monotonic() < end and not select.select([self.fd], [], [], 0.002)[0]:
            last, now = now, self.cpu()
            if last == now != before:    # it has worked, and rests
                break
        self.slowest = max(self.slowest, (self.cpu() - before, keys))
        self.listen(0.002)

    def ended(self, seconds):
        """Whether the program ends in this time; then it must have ended well."""
        end = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.listen(0.01)
                os.close(self.fd)
                self.pid = 0
                reports = "".join(x.read_text(errors="replace")[:8000] for x in self.folder.glob("sanitizer.*"))
                check(status == 0 and reports == "", lambda: f"seed {self.seed}: status {status}: {reports or self.said!r}")
                return True
            if time.monotonic() > end:
                return False
            self.listen(0.01)

    def step(self):
        r = self.random.randrange(100)
        if r < 6:
            self.resize(*self.random.choice(SIZES))
        elif r < 10:
            x, y, b = self.random.randint(1, 200), self.random.randint(1, 60), self.random.choice([0, 0, 64, 65])
            self.press(b"\033[<%d;%d;%dM" % (b, x, y))
        elif r < 16:
            self.press(self.random.choice(TEXTS) + self.random.choice([b"\r", b""]))
        elif r < 20:
            self.vault.change()
        else:
            self.press(b"".join(self.random.choice(KEYS) for _ in range(self.random.choice([1, 1, 1, 5]))))

    def describe(self):
        proc = Path(f"/proc/{self.pid}")
        state = [line for line in (proc / "status").read_text().splitlines() if line.startswith(("State", "VmRSS"))]
        return f"seed {self.seed}: q does not end it: {state} in {(proc / 'wchan').read_text()}, {self.cpu():.0f} ms: {self.said[-600:]!r}"

    def leave(self):
        """`q` ends it: after an Esc, for a question, and after Enter, where it asks for that."""
        for i in range(60):
            if self.ended(0.02):
                return
            if termios.tcgetattr(self.fd)[3] & termios.ICANON:  # another command has the terminal, or ui waits for Enter
                self.press(b"\n")
            else:
                self.press(b"\033")
                self.listen(0.06 if i < 30 else 0.5)    # on a busy machine both would arrive together, as one key
                self.press(b"q")
        check(self.ended(10 * lib.PATIENCE), self.describe)

    def run(self, steps, seconds):
        self.start()
        end = time.monotonic() + seconds
        while steps > 0 and time.monotonic() < end:
            steps -= 1
            self.step()
            if self.ended(0):
                self.start()
        self.leave()

    def close(self):
        if self.pid != 0:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.vault.db.close()


def run(seed, folder, steps=10**9, seconds=10**9, large=2 << 20):
    """Returns the most CPU time, in milliseconds, that was used between a key and the next output, and the keys."""
    monkey = Monkey(folder, seed, large)
    with contextlib.closing(monkey):
        monkey.run(steps, seconds)
    return monkey.slowest


if __name__ == "__main__":
    seeds, limit, first = [int(x) for x in sys.argv[1:]] + [20, 90, 1][len(sys.argv) - 1:]
    for seed in range(first, first + seeds):
        with tempfile.TemporaryDirectory() as name:
            ms, keys = run(seed, Path(name), seconds=limit, large=64 << 20)
            print(f"seed {seed}: {limit} s, at most {ms:.0f} ms for {keys!r}", flush=True)
