"""Shared by the end-to-end tests: the interposer between a client and a server that the test controls, a vault
for each case, deadlines instead of sleeps, and diagnostics of failed cases.

A test file declares cases with @case("name") and ends with lib.main(). It runs alone:

    tests/e2e/02-checks.py [PATTERN]      only cases whose name contains PATTERN

MCP_INTERPOSER names the program (default build/mcp-interposer), TEST_BUILD the build directory (its
folder), TEST_UNDER says why the program is slow or large (asan, valgrind, cov, qemu).
"""
import array
import contextlib
import fcntl
import io
import itertools
import json
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))

import calls as calls_again  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("MCP_INTERPOSER") or ROOT / "build/mcp-interposer")
BUILD = Path(os.environ.get("TEST_BUILD") or os.path.dirname(PROGRAM)).resolve()
UNDER = os.environ.get("TEST_UNDER", "")
# The factor for times compared with a plain build, and whether memory sizes are meaningful.
SLOW = {"asan": 4.0, "valgrind": 15.0, "cov": 2.0, "qemu": 4.0}.get(UNDER, 1.0)
# A wait ends as soon as its condition is true. Its deadline only catches conditions that never become true: a busy
# machine may take many times as long as a quiet one without a failure.
PATIENCE = 6 * SLOW
SIZES_MEAN_NOTHING = UNDER in ("asan", "valgrind", "qemu")
ROOT_USER = os.geteuid() == 0

_cases = []


class Failure(Exception):
    """The program did not behave as expected."""


class Skip(Exception):
    """The case cannot run on this machine."""


def case(name, limit=60):
    """Declare a case; it takes less than `limit` seconds on a quiet machine."""
    def note(fn):
        _cases.append((name, fn, limit * PATIENCE / 2))
        return fn
    return note


def check(fact, what):
    if not fact:
        raise Failure(what() if callable(what) else what)


def short(value, limit=300):
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def eq(got, want, what="value"):
    if got != want:
        raise Failure(f"{what}: got {short(got)}, wanted {short(want)}")


def one_of(got, wanted, what="value"):
    if got not in wanted:
        raise Failure(f"{what}: got {short(got)}, wanted one of {short(wanted)}")


def wait_until(condition, seconds, what):
    """Calls condition() until it returns a true value, for at most `seconds`; returns that value. what: the text for
    a failure, or a function that returns it."""
    start = time.monotonic()
    while True:
        got = condition()
        if got:
            return got
        waited = time.monotonic() - start
        if waited > seconds * PATIENCE:
            raise Failure(f"not within {seconds * PATIENCE:g} s: {what() if callable(what) else what}")
        time.sleep(pause(waited))


def pause(waited):
    """Seconds until a condition is tried again that was not true for so long: a fifth more, because a condition takes CPU time."""
    return min(0.25, 0.004 + waited / 5)


def fake(name):
    """The path of a compiled fake server."""
    path = BUILD / "fakes" / name
    source = ROOT / "tests/fakes" / f"{name}.c"
    if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["make", "-s", "-C", ROOT, f"BUILD={BUILD}", "fakes"], check=True,
                       stdout=sys.stderr)
    return str(path)


# --- messages -------------------------------------------------------------------------------------

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def dump(value):
    return _encode(value).encode()


def request(id, method="ping", params=None):
    m = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        m["params"] = params
    return dump(m)


def call(id, tool="echo", arguments=None):
    return request(id, "tools/call", {"name": tool, "arguments": arguments or {}})


def note(method="notifications/message", params=None):
    m = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        m["params"] = params
    return dump(m)


def result(id, value=None):
    return dump({"jsonrpc": "2.0", "id": id, "result": {} if value is None else value})


def text_result(id, text, **more):
    return result(id, {"content": [{"type": "text", "text": text}], **more})


def error(id, code=-32602, message="no"):
    return dump({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})


# --- one side of the interposer -------------------------------------------------------------------

class End:
    """A reading and a writing descriptor, lines with deadlines. Descriptors are owned."""

    def __init__(self, name, read_fd, write_fd):
        self.name, self.read_fd, self.write_fd = name, read_fd, write_fd
        self.peers = list       # the pids of those who read what is written, or keep the reader waiting
        self.buf, self.scanned, self.eof = bytearray(), 0, False
        for fd in {read_fd, write_fd} - {None}:
            os.set_blocking(fd, False)

    def write(self, data, seconds=10):
        """Write all of data, even if the other side reads slowly."""
        left, end = memoryview(data), time.monotonic() + seconds * PATIENCE
        while left:
            n = self.try_write(left)
            left = left[n:]
            if left and not self._ready(self.write_fd, select.POLLOUT, end):
                raise Failure(f"{self.name}: {len(left)} of {len(data)} bytes not taken "
                              f"within {seconds * PATIENCE:g} s")

    def try_write(self, data):
        """Write without waiting. Returns the number of bytes written."""
        try:
            return os.write(self.write_fd, data)
        except BlockingIOError:
            return 0

    def send(self, *lines, seconds=10):
        self.write(b"".join(line + b"\n" for line in lines), seconds)

    def send_until_full(self, data, most, quiet=1.0):
        """Write data repeatedly until nothing could be written for `quiet` seconds, or `most` bytes
        were written. Returns the number of bytes written. Time in which a peer waits for a processor or the disk does
        not count."""
        taken, at, since = 0, 0, time.monotonic()
        while taken < most and time.monotonic() < since + quiet * SLOW:
            ready = self._ready(self.write_fd, select.POLLOUT, time.monotonic() + 0.02)
            if ready:
                n = self.try_write(memoryview(data)[at:])
                taken += n
                at = (at + n) % len(data)
            if ready or any(process_state(pid) in "RD" for pid in self.peers()):
                since = time.monotonic()
        return taken

    def fill(self, end):
        """Read once; False if nothing arrived until the time `end`."""
        if self.eof:
            return True
        try:
            try:
                data = os.read(self.read_fd, 1 << 16)
            except BlockingIOError:
                if not self._ready(self.read_fd, select.POLLIN, end):
                    return False
                data = os.read(self.read_fd, 1 << 16)
        except BlockingIOError:
            return True
        except OSError as e:  # reading a pty whose other side is closed is EIO
            if e.errno != 5:
                raise
            data = b""
        self.buf += data
        self.eof = not data
        return True

    def take_line(self):
        i = self.buf.find(b"\n", self.scanned)
        if i < 0:
            self.scanned = len(self.buf)
            return None
        line = bytes(memoryview(self.buf)[:i])
        del self.buf[:i + 1]
        self.scanned = 0
        return line

    def recv(self, seconds=5):
        """The next line without its newline."""
        end = time.monotonic() + seconds * PATIENCE
        while True:
            line = self.take_line()
            if line is not None:
                return line
            if self.eof:
                raise Failure(f"{self.name}: end of file instead of a line; "
                              f"unfinished: {short(bytes(self.buf))}")
            if not self.fill(end):
                raise Failure(f"{self.name}: no line within {seconds * PATIENCE:g} s; "
                              f"unfinished: {short(bytes(self.buf))}")

    def recv_bytes(self, n, seconds=5):
        """The next n bytes."""
        end = time.monotonic() + seconds * PATIENCE
        while len(self.buf) < n:
            if self.eof or not self.fill(end):
                raise Failure(f"{self.name}: {len(self.buf)} of {n} bytes, then nothing")
        data = bytes(memoryview(self.buf)[:n])
        del self.buf[:n]
        self.scanned = 0
        return data

    def recv_json(self, seconds=5):
        return json.loads(self.recv(seconds))

    def expect(self, *lines, seconds=5):
        for line in lines:
            eq(self.recv(seconds), line, f"line at the {self.name}")

    def rest(self, seconds=5):
        """Everything up to the end of file."""
        end = time.monotonic() + seconds * PATIENCE
        while not self.eof:
            if not self.fill(end):
                raise Failure(f"{self.name}: no end of file within {seconds * PATIENCE:g} s; "
                              f"so far: {short(bytes(self.buf))}")
        data = bytes(self.buf)
        self.buf.clear()
        self.scanned = 0
        return data

    def expect_eof(self, seconds=5):
        eq(self.rest(seconds), b"", f"what the {self.name} gets before the end of file")

    def close_write(self):
        if self.write_fd is not None:
            fd, self.write_fd = self.write_fd, None
            if fd != self.read_fd:
                os.close(fd)
            else:
                socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_WR)

    def close_read(self):
        if self.read_fd is not None:
            fd, self.read_fd = self.read_fd, None
            if fd != self.write_fd:
                os.close(fd)

    def close(self):
        for fd in {self.read_fd, self.write_fd} - {None}:
            os.close(fd)
        self.read_fd = self.write_fd = None

    @staticmethod
    def _ready(fd, event, end):
        p = select.poll()
        p.register(fd, event)
        return bool(p.poll(max(0, end - time.monotonic()) * 1000))


class Server(End):
    """The server's side, controlled through the puppet."""

    def __init__(self, connection, fds, pid):
        super().__init__("server", fds[0], fds[1])
        self.connection, self.err_fd, self.pid = connection, fds[2], pid

    def exit(self, status=0):
        """Close all descriptors and exit."""
        self.close()
        self._order(f"exit {status}\n")

    def kill(self, number):
        self.close()
        self._order(f"kill {int(number)}\n")

    def _order(self, text):
        with contextlib.suppress(OSError):
            self.connection.sendall(text.encode())

    def close(self):
        super().close()
        if self.err_fd is not None:
            os.close(self.err_fd)
            self.err_fd = None

    def say_err(self, data, seconds=10):
        """On the server's stderr."""
        os.set_blocking(self.err_fd, False)
        left, end = memoryview(data), time.monotonic() + seconds * PATIENCE
        while left:
            try:
                left = left[os.write(self.err_fd, left):]
            except BlockingIOError:
                check(self._ready(self.err_fd, select.POLLOUT, end),
                      f"the server's stderr takes nothing, {len(left)} bytes left")


# --- the interposer -------------------------------------------------------------------------------

# On a busy machine the recorder may store the last messages later than the proxy waits for it, which then says so.
RECORDER_LATE = "not stored yet; the recorder process continues"


class Proxy:
    """One `mcp-interposer proxy`. `client` and `server` are the ends of its client and its server
    (server is None if a separate program runs as the server)."""

    def __init__(self, t, *options, server=None, puppet=(), client="pipe", err="file", vault=None,
                 env=None, cwd=None, prefix=(), record=True, preexec=None):
        self.t, self.server, self.client = t, None, None
        number = next(t.numbers)
        self.err_path = t.tmp / f"stderr-{number}"
        listener = None
        if server is None:
            listener = socket.socket(socket.AF_UNIX)
            path = str(t.tmp / f"s{number}")
            listener.bind(path)
            listener.listen(1)
            server = [fake("puppet"), path, *puppet]
        self.command = [str(a) for a in server]
        args = [*prefix, PROGRAM, "proxy"]
        if record:
            args += ["--vault", str(vault or t.vault)]
        self.args = [*args, *(str(o) for o in options), "--", *self.command]

        with contextlib.ExitStack() as ours:
            def open_for(fd):
                ours.callback(os.close, fd)
                return fd
            if client == "pipe":
                (in_r, in_w), (out_r, out_w) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
                stdin, stdout = open_for(in_r), open_for(out_w)
                self.client = End("client", out_r, in_w)
            elif client == "socket":
                a, b = socket.socketpair()
                fd = a.detach()
                stdin = stdout = open_for(b.detach())
                self.client = End("client", fd, fd)
            else:
                stdin, stdout = client  # owned by the caller
            if err == "file":
                fd = os.open(self.err_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
                             0o600)
                err = open_for(fd)
            self.proc = subprocess.Popen(self.args, stdin=stdin, stdout=stdout, stderr=err,
                                         env=t.environ(env), cwd=cwd, preexec_fn=preexec)
        t.proxies.append(self)
        if listener is not None:
            with listener:
                self._meet(listener)
        for end in filter(None, (self.client, self.server)):
            end.peers = lambda: [self.pid, *self.children()]

    def _meet(self, listener):
        end = time.monotonic() + 10 * PATIENCE
        while True:
            if End._ready(listener.fileno(), select.POLLIN, min(end, time.monotonic() + 0.02)):
                break
            if self.proc.poll() is not None:
                raise Failure(f"the interposer left with {self.proc.returncode} and no server")
            check(time.monotonic() < end, "the server was not started")
        connection, _ = listener.accept()
        self.t.closing.callback(connection.close)
        text, control, _, _ = connection.recvmsg(64, socket.CMSG_SPACE(3 * 4))
        fds = array.array("i")
        fds.frombytes(control[0][2])
        for fd in fds:
            os.set_inheritable(fd, False)
        self.server = Server(connection, list(fds), int(text))

    @property
    def pid(self):
        return self.proc.pid

    def stderr(self):
        return self.err_path.read_bytes() if self.err_path.exists() else b""

    def own_lines(self, level=r"\w+"):
        """The interposer's own lines on stderr."""
        pattern = re.compile(rb"^mcp-interposer: " + level.encode() + rb":.*$", re.M)
        return [m.group().decode("utf-8", "replace") for m in pattern.finditer(self.stderr())]

    def initialize(self, version="2025-11-25", client=None, server=None, capabilities=None):
        """Do the handshake. Returns the number of its messages."""
        self.client.send(request("init", "initialize", {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": client or {"name": "test client", "version": "1.0"}}))
        ask = json.loads(self.server.recv())
        self.server.send(result(ask["id"], {
            "protocolVersion": version, "capabilities": capabilities or {"tools": {}},
            "serverInfo": server or {"name": "test server", "version": "2.0"}}))
        eq(self.client.recv_json().get("id"), "init", "answer to initialize")
        self.client.send(note("notifications/initialized"))
        self.server.expect(note("notifications/initialized"))
        return self

    def round(self, id="fence", seconds=5):
        """One request and its answer: everything sent before has been processed."""
        self.client.send(request(id))
        self.server.expect(request(id), seconds=seconds)
        self.server.send(result(id))
        self.client.expect(result(id), seconds=seconds)

    def complaints(self):
        """Its warnings and errors, without what a busy machine causes."""
        return [x for x in self.own_lines("(warn|error)") if RECORDER_LATE not in x]

    def wait(self, seconds=5):
        """The exit status, as in a shell."""
        try:
            status = self.proc.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"the interposer is still running after {seconds * PATIENCE:g} s") from None
        return status if status >= 0 else 128 - status

    def end(self, status=0, seconds=5, gone=()):
        """The client closes its side, and the server exits. `gone` are the ids (JSON text) of the requests
        that are pending then: each gets an error, and no other message arrives."""
        self.client.close_write()
        if self.server is not None:
            self.server.expect_eof(seconds)
            self.server.exit(status)
        self.expect_gone(gone, seconds)
        eq(self.wait(seconds), status, "exit status")

    def expect_gone(self, ids, seconds=5):
        """The client receives an error for each of these requests, then the end."""
        lines = self.client.rest(seconds).split(b"\n")
        eq(lines.pop(), b"", "an unfinished line at the end")
        told = []
        for line in lines:
            m = re.match(rb'\{"jsonrpc":"2\.0","id":(.*?),"error":\{"code":-32000,', line)
            check(m, lambda: f"a line after the end of the session: {short(line)}")
            told.append(m.group(1))
            eq(json.loads(line)["error"]["data"]["source"], "mcp-interposer", "source of the error")
        eq(sorted(told), sorted(ids), "requests that were told that the server is gone")

    def children(self):
        """The running child processes of the interposer, with their names."""
        return children_of(self.pid)

    def recorder(self, other_than=None):
        """The pid of its recorder process, once it runs."""
        def found():
            return next((pid for pid, name in self.children().items() if name == "mcp-recorder" and pid != other_than), None)
        return wait_until(found, 5, "a recorder process")

    def die(self, all_of_it=False):
        """kill -9; with all_of_it also its side processes."""
        self.proc.send_signal(signal.SIGSTOP)
        wait_until(lambda: process_state(self.pid) in "TZX", 5, "the interposer stops")       # and starts no other process
        children = self.children()
        self.had_recorder = "mcp-recorder" in children.values()
        own = [pid for pid, name in children.items() if name.startswith("mcp-")] if all_of_it else []
        self.proc.kill()
        for pid in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.proc.wait()
        for pid in own:     # it has its locks until it has ended
            wait_until(lambda pid=pid: process_state(pid) in "ZX", 5, f"process {pid} ends")
        if all_of_it:
            _abandoned.update(f"{self.t.journals}/{name}" for name in os.listdir(self.t.journals))

    def release(self):
        if self.client is not None:
            self.client.close()
        if self.server is not None:
            self.server.exit(0)
        if self.proc.poll() is None:
            try:
                self.proc.wait(4 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.die()
                return f"the interposer {self.pid} had to be killed at the end of the case"
        return None


# --- what is not stored yet -----------------------------------------------------------------------

_journals = {}      # directories of the cases that run in this process, possibly in several threads
_abandoned = set()  # journals of which the proxy and its recorder were killed
_signed_vaults = set()  # as bytes; vaults of tests that have made a key
strange_files = set()   # paths: never waited for, though a damaged journal may name a process that exists


def children_of(pid):
    """{pid: name} of the child processes that exist now; each may exit at any time."""
    found = {}
    with contextlib.suppress(OSError):
        for kid in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(OSError):
                found[int(kid)] = Path(f"/proc/{kid}/comm").read_text().strip()
    return found


def process_state(pid):
    """As in /proc: R: runs or waits for a processor, S: waits for something else, T: stopped, Z: zombie; X: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


# Recorders wait for each other's locks. If none stores anything or waits for the disk for so long, somebody else has locked the database.
BUSY_S = 2 * SLOW


def _is_pending(path, upto, tails):
    """Is a recorder about to store something of this journal that was published before settle() was called? Not if it is stopped
    or cannot store, or if nobody is left to do it. "busy": it waits for a lock. upto: {path: the end of that}; tails gets the end of
    what is stored. Offsets: struct ring_shared in journal/ring.h."""
    if path in strange_files:
        return False
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW)) as f:
            page = f.read(4096)
            if len(page) < 4096:
                return False
            (head,), (ended,), (tail,) = (struct.unpack_from(c, page, at) for c, at in (("Q", 64), ("I", 80), ("Q", 128)))
            sleeps, trouble, reader = struct.unpack_from("IIi", page, 136)
            lock = fcntl.fcntl(f, 36, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))     # F_OFD_GETLK
            has_writer = struct.unpack("hhqqi4x", lock)[0] != fcntl.F_UNLCK
            age = time.time() - os.fstat(f.fileno()).st_mtime
    except OSError:
        return False
    tails[path] = tail
    if reader == 0 and not has_writer:
        return age < 5 and path not in _abandoned       # a recorder may have been forked, and not run yet
    state = process_state(reader)
    if state in "ZX":
        return has_writer       # another recorder is started
    if state in "Tt" or trouble > 1:
        return False
    if trouble == 1 and state != "D":
        return "busy"
    if ended != 0 or not has_writer:
        return True
    return tail < upto.setdefault(path, head) or (head == tail and not sleeps)


def pids_since(first):
    """The ids of the processes that exist now, as text; without those below `first`, unless ids have begun anew since then."""
    with open("/proc/loadavg", "rb", 0) as file:
        newest = int(file.read().split()[-1])
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and (newest < first or int(pid) >= first)]


def _signers():
    """The processes that proxies with a key left behind to sign the end of a session: those with a vault on their command line
    that neither this process nor a process with the same vault has started. Before its execve such a process looks
    like its proxy."""
    parents = {}
    for pid in pids_since(os.getpid()) if _signed_vaults else ():
        try:
            with open(f"/proc/{pid}/cmdline", "rb", 0) as file:
                line = file.read()
            if any(vault in line for vault in _signed_vaults):
                parents[int(pid)] = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return [f"process {pid}" for pid, parent in parents.items() if parent != os.getpid() and parent not in parents]


def settle(seconds=5):
    """Wait until everything that was forwarded is stored, and ended sessions are closed, and signed if there is a key. What a
    session forwards meanwhile is not waited for: a proxy at full speed has never stored all of it."""
    upto, before, moved_at = {}, {}, time.monotonic()

    def pending():
        nonlocal before, moved_at
        tails, names, busy = {}, _signers(), []
        for folder in list(_journals):
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    found = _is_pending(f"{folder}/{name}", upto, tails)
                    (busy if found == "busy" else names if found else []).append(name)
        if tails != before:
            before, moved_at = tails, time.monotonic()
        return names + (busy if time.monotonic() < moved_at + BUSY_S else [])
    wait_until(lambda: not pending(), seconds, lambda: f"everything is stored: {', '.join(pending())}")


def recorders_ended(vault, seconds=5):
    """Wait until everything is stored and no recorder has a file of the vault open: it moves the write-ahead log into the database
    after its journal is gone."""
    start = f"{os.path.realpath(vault)}/"

    def uses(pid):
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/comm").read_text() == "mcp-recorder\n" and any(x.startswith(start) for x in open_files(pid))
        return False
    settle(seconds)
    wait_until(lambda: not any(map(uses, pids_since(os.getpid()))), seconds, f"no recorder to use {vault}")


# --- one case -------------------------------------------------------------------------------------

class Test:
    def __init__(self, name):
        self.name = name
        self.tmp = Path(tempfile.mkdtemp(prefix="e2e-"))
        self.vault = self.tmp / "vault"
        self.home = self.tmp / "home"
        self.home.mkdir()
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.journals = Path(tempfile.mkdtemp(prefix="mcp-e2e-", dir=shm))
        _journals[str(self.journals)] = True
        self.numbers = itertools.count(1)
        self.proxies = []
        self.closing = contextlib.ExitStack()
        self.forged = False     # the case writes to its vault what no program records

    def environ(self, more=None):
        """The environment of this process without variables that configure the interposer, and with `more`; None: unset."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MCP_INTERPOSER", "XDG_"))}
        env["HOME"] = str(self.home)
        env["MCP_INTERPOSER_JOURNAL_DIR"] = str(self.journals)
        # Defaults for cases that do not set them: no restart when the server exits, and a grace period that is long
        # enough for a slow machine.
        env["MCP_INTERPOSER_RESTARTS"] = "0"
        env["MCP_INTERPOSER_GRACE"] = "30s"
        env.update(more or {})
        return {k: v for k, v in env.items() if v is not None}

    def proxy(self, *options, **more):
        return Proxy(self, *options, **more)

    def run(self, *args, env=None, seconds=20, input=b""):
        """Run a command of the interposer to its end, after what was forwarded before is stored."""
        if args[:3] == ("audit", "key", "new"):
            _signed_vaults.add(os.fsencode(self.vault))
        settle()
        return subprocess.run([PROGRAM, *(str(a) for a in args)], input=input,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environ(env), timeout=seconds * PATIENCE)

    def rows(self, sql, *args, vault=None):
        return rows(vault or self.vault, sql, *args)

    def messages(self, where="1", *args, vault=None):
        """Recorded messages as objects, in order; bodies and ids as bytes."""
        return messages(vault or self.vault, where, *args)

    def log_lines(self, vault=None):
        """The raw lines of the log directory."""
        settle()
        folder = (vault or self.vault) / "Logs/MCP_Actions"
        return [line for path in sorted(folder.glob("*.jsonl"))
                for line in path.read_bytes().split(b"\n")[:-1]]

    def close(self):
        problems = [p for p in [x.release() for x in self.proxies] if p]
        self.closing.close()
        del _journals[str(self.journals)]
        for folder in (self.tmp, self.journals):
            shutil.rmtree(folder, ignore_errors=True)
        return problems

    def show(self):
        for x in self.proxies[-3:]:
            text = x.stderr()
            print(f"# $ {short(' '.join(x.args), 400)}")
            print(f"# stderr of the interposer, {len(text)} bytes, status {x.proc.poll()}:")
            for line in text[-4000:].decode("utf-8", "backslashreplace").splitlines():
                print(f"#   {line.encode('unicode_escape').decode()}")


def _open_read_only(path):
    """A read-only connection cannot roll back the journal of a killed writer, and fails while another process
    removes the write-ahead log. An ordinary connection, like that of the sqlite3 command, handles the first;
    a retry handles the second."""
    end = time.monotonic() + 3 * PATIENCE
    while True:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        try:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return db
        except sqlite3.OperationalError as e:
            db.close()
            if "readonly" not in str(e) and "unable to open" not in str(e) or time.monotonic() > end:
                raise
        if Path(f"{path}-journal").exists():
            db = sqlite3.connect(path, timeout=10)
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            db.close()


@contextlib.contextmanager
def database(vault):
    """The vault's database, read only, after what was forwarded before is stored; text as bytes."""
    settle()
    check((vault / "interposer.db").exists(), f"there is no database in {vault.name}")
    db = _open_read_only(vault / "interposer.db")
    db.text_factory = bytes
    db.row_factory = sqlite3.Row
    try:
        yield db
    finally:
        db.close()


def rows(vault, sql, *args):
    with database(vault) as db:
        return [tuple(r) for r in db.execute(sql, args)]


class Message:
    def __init__(self, names, row):
        self.__dict__.update(zip(names, row))
        self.direction, self.origin, self.kind, self.action = (x and x.decode() for x in (
            self.direction, self.origin, self.kind, self.action))

    def __repr__(self):
        return (f"<{self.seq} {self.direction} {self.origin} {self.kind} {self.action} "
                f"id={self.rpc_id} finding={self.finding} {short(self.body, 80)}>")


def messages(vault, where="1", *args):
    with database(vault) as db:
        db.row_factory = None
        rows = db.execute(f"SELECT * FROM messages WHERE {where} ORDER BY session_id, seq", args)
        names = [column[0] for column in rows.description]
        return [Message(names, row) for row in rows]


def integrity(vault):
    return rows(vault, "PRAGMA integrity_check")


CALLS_UP_TO = 4 << 20       # bytes of a database whose calls are computed again


def check_calls(t):
    """The table `calls` of a case's vault says what follows from its messages, unless the case sets t.forged. A database that
    the case has damaged, or that is large, is left out."""
    path = t.vault / "interposer.db"
    with contextlib.suppress(OSError, sqlite3.Error):
        if t.forged or path.stat().st_size > CALLS_UP_TO:
            return
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as db:
            db.text_factory = bytes
            db.execute("BEGIN")
            filled = db.execute("SELECT id FROM sessions WHERE calls = 1").fetchall()
            found = [(id, calls_again.difference(db, id)) for id, in filled]
            check(not any(wrong for _, wrong in found), lambda: next(f"session {id}: call {w[1]} {w[2]}" for id, w in found if w))


# --- processes ------------------------------------------------------------------------------------

def alive(pid):
    """True if the process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def status_of(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


# VmRSS and VmHWM of a proxy contain the messages in its journal, which are stored later on a busy machine.
JOURNAL_KIB = 64 << 10


def kib(pid, what):
    """VmRSS, VmHWM, RssAnon of a process in KiB."""
    return int(status_of(pid)[what].split()[0])


def cpu_ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def wakeups(pid):
    """The number of voluntary context switches: how often it has waited."""
    return int(status_of(pid)["voluntary_ctxt_switches"])


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def open_files(pid):
    """The links of its descriptors, as ls -l prints them; it may close each of them at any time."""
    found = []
    with contextlib.suppress(OSError):
        for number in descriptors(pid):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


def files_below(folder):
    """The files in it; a recorder that exits removes the write-ahead log."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def contents(path):
    """Its bytes; none if it was removed meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def at_rest(pid, quiet=0.5, seconds=10):
    """Wait until the process has not run for `quiet` seconds."""
    state = {"at": time.monotonic(), "n": wakeups(pid)}

    def still():
        n = wakeups(pid)
        if n != state["n"]:
            state.update(at=time.monotonic(), n=n)
        return time.monotonic() - state["at"] >= quiet
    wait_until(still, seconds, "the interposer comes to rest")


class Background:
    """Runs fn(*args) in a thread; leaving the block joins it and raises its exception."""

    def __init__(self, fn, *args, seconds=60):
        self.fn, self.args, self.seconds = fn, args, seconds * PATIENCE
        self.value = self.problem = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            self.value = self.fn(*self.args)
        except BaseException as e:
            self.problem = e

    def join(self):
        self.thread.join(self.seconds)
        check(not self.thread.is_alive(), f"{self.fn.__name__} is still busy")
        if self.problem is not None:
            raise self.problem
        return self.value

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.join()


def fill_pipe(fd):
    """Fill a pipe that nobody reads."""
    os.set_blocking(fd, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(fd, b"x" * 4096)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(fd, b"x")
    os.set_blocking(fd, True)


def nonblocking(fd):
    return bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK)


# --- running --------------------------------------------------------------------------------------

def _on_alarm(*_):
    raise Failure("the case takes too long")


def run_case(name, fn, limit):
    t = Test(name)
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, limit)
    problem = None
    try:
        fn(t)
        check_calls(t)
        for x in t.proxies:
            bad = re.search(rb"AddressSanitizer|runtime error:|Assertion|LeakSanitizer", x.stderr())
            check(bad is None, lambda: f"the interposer complains: {bad.group().decode()}")
    except Skip as e:
        print(f"skip - {name}: {e}")
        t.close()
        return True
    except BaseException as e:
        problem = e
    signal.setitimer(signal.ITIMER_REAL, 0)
    if problem is None:
        left = t.close()
        if not left:
            print(f"ok - {name}", flush=True)
            return True
        problem = Failure("; ".join(left))
        print(f"not ok - {name}\n# {problem}", flush=True)
        return False
    print(f"not ok - {name}")
    if isinstance(problem, (Failure, AssertionError)):
        frames = [f for f in traceback.extract_tb(problem.__traceback__)
                  if Path(f.filename).name != "lib.py"]
        where = ", ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames)
        print(f"# {problem}")
        print(f"# at {where}")
    else:
        for line in "".join(traceback.format_exception(problem)).splitlines():
            print(f"# {line}")
    t.show()
    t.close()
    sys.stdout.flush()
    if isinstance(problem, KeyboardInterrupt):
        raise problem
    return False


def run_side_by_side(cases, at_once):
    """Runs cases in parallel, for cases that mostly wait. The output of each case stays together."""
    left, fill = os.pipe()      # the numbers of the cases that are not started
    os.write(fill, b"".join(i.to_bytes(2, "big") for i in range(len(cases))))
    os.close(fill)
    with tempfile.TemporaryFile() as turns:
        workers = []
        for _ in range(at_once):
            pid = os.fork()
            if pid == 0:
                turn = os.open(f"/proc/self/fd/{turns.fileno()}", os.O_RDWR)
                good = True
                while number := os.read(left, 2):
                    text = io.StringIO()
                    with contextlib.redirect_stdout(text):
                        good &= run_case(*cases[int.from_bytes(number, "big")])
                    fcntl.flock(turn, fcntl.LOCK_EX)
                    sys.stdout.write(text.getvalue())
                    sys.stdout.flush()
                    fcntl.flock(turn, fcntl.LOCK_UN)
                os._exit(0 if good else 1)
            workers.append(pid)
        os.close(left)
        return not any([os.waitpid(pid, 0)[1] for pid in workers])


def main(at_once=1):
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    if not os.access(PROGRAM, os.X_OK):
        print(f"not ok - {Path(sys.argv[0]).name}: {PROGRAM} is not built")
        sys.exit(1)
    os.umask(0o022)
    cases = [c for c in _cases if pattern in c[0]]
    if SLOW > 1:
        at_once //= 4
    if at_once > 1:
        good = run_side_by_side(cases, at_once)
    else:
        good = all([run_case(*c) for c in cases])
    sys.exit(0 if good else 1)
