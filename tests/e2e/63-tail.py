#!/usr/bin/env python3
"""tail: latency, the cost of waiting, and completeness under load."""
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import statistics
import struct
import subprocess
import termios
import time

import lib
from lib import Background, End, call, case, check, eq, error, fake, note, request, text_result
from looking import FORBIDDEN, add_message, add_session, make_vault, on_terminal, run, wait_for_sessions


class Tail(End):
    """A following `tail` and its lines. The title is read at the start."""

    def __init__(self, t, *args, terminal=0, env=None):
        lib.settle()
        if terminal:
            fd, out = pty.openpty()
            fcntl.ioctl(out, termios.TIOCSWINSZ, struct.pack("HHHH", 30, terminal, 0, 0))
        else:
            fd, out = os.pipe2(os.O_CLOEXEC)
        super().__init__("tail", fd, None)
        self.err = t.tmp / f"tail-{next(t.numbers)}"
        with open(self.err, "wb") as err:
            self.proc = subprocess.Popen(
                [lib.PROGRAM, "tail", *([] if terminal else ["-f"]), *args, "--vault", str(t.vault)], stdout=out, stderr=err,
                stdin=subprocess.DEVNULL, env=t.environ({"LC_ALL": "C.UTF-8", "TERM": "xterm", "TZ": "UTC", **(env or {})}))
        os.close(out)
        t.closing.callback(self.close)
        t.closing.callback(self.proc.wait)
        t.closing.callback(self.proc.kill)
        if "--json" not in args:
            check(b"SERVER" in self.recv(), "no title")
        else:
            lib.wait_until(lambda: self.fill(time.monotonic() + 0.1) and self.buf, 10, "tail has begun")

    def text(self):
        return self.recv().decode()

    def end(self, number=signal.SIGINT):
        self.proc.send_signal(number)
        eq(self.proc.wait(5 * lib.PATIENCE), 0, f"exit status after {number!r}")
        eq(self.err.read_bytes(), b"", "stderr of tail")

    def status(self, field):
        """A number of /proc/PID/status."""
        with open(f"/proc/{self.proc.pid}/status", encoding="ascii") as f:
            return int(re.search(rf"^{field}:\s+(\d+)", f.read(), re.M).group(1))


def what(line):
    """SERVER, WHAT and METHOD of a line."""
    m = re.match(r"\d\d:\d\d:\d\d\.\d{3} +\d+ (\S+) +(?:→|←|•)  (\S+)(?: +(\S+)(?: (\S+))?)?", line)
    check(m, f"line {line!r}")
    return tuple(x for x in m.groups() if x)


def two(t):
    """Two finished sessions whose messages alternate."""
    with contextlib.closing(make_vault(t.vault)) as db:
        start = 1795256137000000
        for s in (1, 2):
            add_session(db, s, name=f"s{s}", started_at_us=start + s, ended_at_us=start + 10**7, end_reason="client-closed", exit_status=0)
            for i in range(1, 31):
                add_message(db, s, i, method=f"m{2 * i + s}", t_us=i * 10000 + s * 5000)


# --- recorded messages --------------------------------------------------------------------------------

@case("tail: the columns fit in the terminal")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 12, name="a-server-with-a-long-name")
        for seq in range(1, 9):
            add_message(db, 12, seq, kind=("request", "result")[seq % 2 == 0], direction=("c2s", "s2c")[seq % 2 == 0], rpc_id='"a-long-id"',
                        method="tools/call", target="a_tool_with_a_long_name", size=12345678, request_seq=seq - 1 if seq % 2 == 0 else None)
    for columns in (80, 99, 100, 140):
        lines = on_terminal(t, "tail", "--once", columns=columns, env={"NO_COLOR": "1"}).splitlines()
        eq(len(lines), 9, lines)
        check(max(map(len, lines)) <= columns, lines)
        eq("SIZE" in lines[0], columns == 140, lines[0])
        check(all(" a_tool_with_a_" in x for x in lines[1:]), lines)


@case("tail in a pipe: prints the last messages of all sessions by time and exits")
def _(t):
    two(t)
    lines = run(t, "tail").splitlines()
    eq(lines[0].split()[:4], ["TIME", "ID", "SERVER", "WHAT"], "titles")
    eq([what(x)[2] for x in lines[1:]], [f"m{i}" for i in range(43, 63)], "20 of them")
    eq(lines[-1].split()[:2], ["10:15:37.310", "2"], "time and number of the last")
    for n in (0, 1, 7, 60, 1000):
        eq([what(x)[2] for x in run(t, "tail", "-n", str(n)).splitlines()[1:]], [f"m{i}" for i in range(3, 63)][max(0, 60 - n):], f"-n {n}")
    eq([json.loads(x)["method"] for x in run(t, "tail", "--json", "-n", "2").splitlines()], ["m61", "m62"], "--json")
    eq([what(x)[0] for x in run(t, "tail", "--server", "s2", "-n", "3").splitlines()[1:]], ["s2"] * 3, "--server")
    eq([what(x)[2] for x in run(t, "tail", "--method", "m6*").splitlines()[1:]], ["m6", "m60", "m61", "m62"], "--method")


@case("tail: walks back through all sessions until it has as many rows as wanted")
def _(t):
    start = 1795256137000000
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        for s in range(1, 61):  # sessions overlap: one begins every 10 s and lasts 25 s
            add_session(db, s, name=f"s{s % 3}", client_name=f"c{s % 2}", started_at_us=start + s * 10**7, ended_at_us=start + s * 10**7 + 25 * 10**6)
            for i in range(1, 101):
                failed = s == 2 and i in (40, 41)
                add_message(db, s, i, method=None if failed else f"m{s}-{i}", t_us=i * 250000, direction="s2c", kind="error" if failed else "notification",
                            body='{"error":{"code":%d,"message":"old"}}' % i if failed else None)
            db.execute("INSERT INTO events (session_id, t_us, kind) VALUES (?, 24999999, 'exit')", (s,))
        add_session(db, 61, name="open", started_at_us=start, pid=os.getpid(), host="elsewhere")
        add_message(db, 61, 1, method="first", t_us=1)
        add_message(db, 61, 2, method="between", t_us=300 * 10**6)
        db.execute("COMMIT")
        everything = [(s * 10**7 + i * 250000, s, 1, i) for s in range(1, 61) for i in range(1, 101)]
        everything += [(s * 10**7 + 24999999, s, 0, s) for s in range(1, 61)] + [(1, 61, 1, 1), (300 * 10**6, 61, 1, 2)]

    def rows(*args):
        return [json.loads(x) for x in run(t, "tail", "--json", *args).splitlines()]
    everything.sort()
    for n in (1, 20, 999, 1000, 5000, 6062, 7000):
        got = [(x["at_us"] - start, x["session_id"], int(x["type"] == "message"), x["seq"] if x["type"] == "message" else x["id"]) for x in rows("-n", n)]
        eq(got, everything[-n:], f"-n {n}")
    eq([(x["session_id"], x["seq"]) for x in rows("--failed")], [(2, 40), (2, 41)], "--failed")
    eq([(x["session_id"], x["seq"]) for x in rows("--failed", "-n", "1")], [(2, 41)], "--failed -n 1")
    eq([x["method"] for x in rows("--method", "m1-*", "-n", "3")], ["m1-98", "m1-99", "m1-100"], "--method")
    eq({x["session_id"] for x in rows("--server", "s2", "--client", "c1", "-n", "9999")}, {s for s in range(1, 61) if s % 3 == 2 and s % 2}, "--server, --client")
    eq([x["method"] for x in rows("--server", "open")], ["first", "between"], "an open session")
    check(len(run(t, "tail", "-n", "5000").splitlines()) == 5001, "lines for people")


@case("tail: no matching message is a warning; control characters are escaped")
def _(t):
    evil = "\x1b[31m\x00\n\u202e"
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name=evil, client_name=evil)
        add_message(db, 1, 1, method=evil, body=evil, kind=evil)
        db.execute("INSERT INTO events (session_id, t_us, kind, detail) VALUES (1, 0, ?, ?)", (evil, evil))
    for args in ([], ["--json"]):
        text = run(t, "tail", *args)
        check(text and not FORBIDDEN.search(text), f"{args}: {text!r}")
    r = t.run("tail", "--vault", t.vault, "--server", "none")
    eq((r.returncode, r.stdout), (0, b""), "status and stdout")
    check(b"no matching message in" in r.stderr, f"stderr {r.stderr!r}")


# --- new messages -----------------------------------------------------------------------------------

@case("tail -f: new messages, and the start and end of sessions")
def _(t):
    p = t.proxy("--name", "one").initialize()
    tail = Tail(t, "-n", "1")
    eq(what(tail.text()), ("one", "notify", "notifications/initialized"), "the last message")
    p.client.send(call(1, "echo", {"text": "hello"}))
    p.server.recv()
    line = tail.text()
    eq(what(line), ("one", "request", "tools/call", "echo"), "request")
    check('{"text":"hello"}' in line, line)
    p.server.send(text_result(1, "hi", isError=True))
    p.client.recv()
    eq(what(tail.text()), ("one", "tool-error", "tools/call", "echo"), "answer")
    q = t.proxy("--name", "two")
    eq([what(tail.text())[:2] for _ in range(2)], [("two", "started"), ("two", "spawn")], "a new session")
    q.client.send(note("x"))
    eq(what(tail.text()), ("two", "notify", "x"), "its message")
    q.server.expect(note("x"))
    q.end()
    eq(what(tail.text())[:2], ("two", "exit"), "the server's end")
    line = tail.text()
    check(what(line)[:2] == ("two", "ended") and line.endswith("client-closed"), line)
    p.client.send(note("y"))
    eq(what(tail.text()), ("one", "notify", "y"), "the other goes on")
    tail.end()


@case("tail -f waits for the vault of a fresh machine, and follows its first session")
def _(t):
    vault = t.home / "deep" / "below" / "vault"
    env = t.environ({"LC_ALL": "C.UTF-8", "MCP_INTERPOSER_VAULT": str(vault)})
    tails = []
    for args in (["-f"], ["-f", "--json"]):
        fd, out = os.pipe2(os.O_CLOEXEC)
        tail = End("tail", fd, None)
        tail.proc = subprocess.Popen([lib.PROGRAM, "tail", *args], stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env)
        os.close(out)
        for f in (tail.close, tail.proc.wait, tail.proc.kill):
            t.closing.callback(f)
        tails.append(tail)
    line = tails[0].proc.stderr.readline()
    check(line.startswith(b"mcp-interposer: warn: nothing is recorded in ") and b"mcp-interposer wrap" in line, f"stderr {line!r}")
    check(not vault.parent.exists(), "something was created")
    p = t.proxy("--name", "first", vault=vault).initialize()
    check(b"SERVER" in tails[0].recv(10), "titles")
    seen = b""
    while b"notifications/initialized" not in seen:
        seen = tails[0].recv(10)
    check(b" first " in seen, f"{seen!r}")
    while tails[1].recv_json(10).get("method") != "notifications/initialized":
        pass
    p.end()
    for tail in tails:
        tail.proc.send_signal(signal.SIGINT)
        eq((tail.proc.wait(5 * lib.PATIENCE), tail.proc.stderr.read()), (0, b""), "the end")


@case("tail -f: a signal ends the wait for a vault")
def _(t):
    tail = subprocess.Popen([lib.PROGRAM, "tail", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=t.environ({}))
    t.closing.callback(tail.kill)
    check(b"nothing is recorded" in tail.stderr.readline(), "what it says")
    tail.send_signal(signal.SIGTERM)  # before the handler is set, it ends with the signal
    check(tail.wait(5 * lib.PATIENCE) in (0, -signal.SIGTERM), "status")


@case("tail -f: only messages that match the filters")
def _(t):
    p = t.proxy("--name", "one").initialize()
    tails = {name: Tail(t, "-n", "0", *args) for name, args in {
        "server": ("--server", "tw*"), "client": ("--client", "special"), "method": ("--method", "tools/*"),
        "tool": ("--tool", "b"), "failed": ("--failed",)}.items()}
    q = t.proxy("--name", "two").initialize(client={"name": "special", "version": "1"})
    for x in (p, q):
        for i, tool in enumerate("ab"):
            x.client.send(call(i, tool))
            x.server.recv()
            x.server.send(error(i) if tool == "b" else text_result(i, "fine"))
            x.client.recv()
        x.client.send(request(9, "resources/list"))
        x.server.recv()
        x.server.send(text_result(9, ""))
        x.client.recv()
    calls = [("request", "tools/call", "a"), ("ok", "tools/call", "a"), ("request", "tools/call", "b"), ("error", "tools/call", "b")]
    rest = [("request", "resources/list"), ("ok", "resources/list")]
    start = [("request", "initialize"), ("ok", "initialize"), ("notify", "notifications/initialized")]
    whole = [("spawn",)] + start + calls + rest
    for name, want in (("server", {"two": [("started",)] + whole}), ("client", {"two": whole}), ("method", {"one": calls, "two": calls}),
                       ("tool", {"one": calls[2:], "two": calls[2:]}), ("failed", {"one": calls[3:], "two": calls[3:]})):
        # Each session has a recorder of its own: the order of lines of two sessions is the order in which they were stored.
        left = {server: list(lines) for server, lines in want.items()}
        while any(left.values()):
            got = what(tails[name].text())
            if name == "client" and got[1] == "started":
                continue
            check(left.get(got[0]), f"line {got} with --{name}, where these are missing: {left}")
            w = left[got[0]].pop(0)
            eq(got[1:1 + len(w)], w, f"line of session {got[0]} with --{name}")
        tails[name].end()


@case("tail -f --json: rows as in show --json, with large bodies")
def _(t):
    p = t.proxy("--name", "one").initialize()
    tail = Tail(t, "-n", "100", "--json")
    p.client.send(call(1, "big", {"text": "é" * 100000}))
    p.server.recv()
    p.server.send(text_result(1, "x"))
    p.client.recv()
    p.end()
    lines = []
    while not lines or lines[-1]["type"] != "session":
        lines.append(tail.recv_json())
    shown = [json.loads(x) for x in run(t, "show", "--json").splitlines()]
    eq(lines[-1], shown[0], "the session's end")
    order = lambda x: (x["t_us"], x["type"], x.get("seq") or x["id"])  # noqa: E731
    eq(sorted(lines[:-1], key=order), sorted(shown[1:], key=order), "rows")
    tail.end(signal.SIGTERM)


@case("tail -f: messages appear at once, and waiting costs next to nothing")
def _(t):
    p = t.proxy("--name", "one").initialize()
    tail = Tail(t, "-n", "0")
    took = []
    for i in range(40):
        start = time.monotonic()
        p.client.send(note(f"n{i}"))
        eq(what(tail.text())[2], f"n{i}", "line")
        took.append(time.monotonic() - start)
        p.server.recv()
        time.sleep(0.02 * (i % 3))  # now and then within the pause between two looks
    print(f"# until the line is there: median {statistics.median(took) * 1000:.1f} ms, longest {max(took) * 1000:.1f} ms")
    check(statistics.median(took) < 0.5 * lib.SLOW, f"median {statistics.median(took)}")
    lib.wait_until(lambda: p.proc.poll() is None, 1, "the proxy lives")
    time.sleep(lib.SLOW)  # the looks behind the last write are over
    before, cpu = tail.status("voluntary_ctxt_switches"), time.monotonic()
    time.sleep(5)
    woken = tail.status("voluntary_ctxt_switches") - before
    print(f"# woken {woken} times in {time.monotonic() - cpu:.1f} s of nothing")
    check(woken <= 20 * lib.SLOW, f"woken {woken} times while nothing happens")
    tail.end()


@case("tail on a terminal: the last line lists the open calls with their age")
def _(t):
    p = t.proxy("--name", "one").initialize()
    p.client.send(call(1, "early"))
    p.server.recv()
    for i in range(30):
        p.client.send(note("x"))
        p.server.recv()
    tail = Tail(t, "-n", "20", terminal=100, env={"NO_COLOR": "1"})

    def until(pattern, seconds=10):
        end = time.monotonic() + seconds * lib.PATIENCE
        while not re.search(pattern, tail.buf):
            check(tail.fill(end), f"no {pattern!r} in {bytes(tail.buf)!r}")
        seen = bytes(tail.buf)
        tail.buf.clear()
        return seen
    until(rb"1 open: one early \d")
    other = Tail(t, "-n", "90", terminal=100, env={"NO_COLOR": "1"})  # the call is among the last messages
    lib.wait_until(lambda: other.fill(time.monotonic() + 0.1) and b" open: " in other.buf, 10, "the open calls")
    check(b"1 open: one early " in other.buf, f"{bytes(other.buf)!r}")
    other.end()
    p.client.send(call(2, "late"))
    p.server.recv()
    seen = until(rb"2 open: one early \S+, one late \d")
    check(b"\r\x1b[K" in seen and re.search(rb"request +late", seen), f"{seen!r}")
    until(rb"\r\x1b\[K\x1b?.*one early [1-9][\d.]*s, one late [1-9][\d.]*s")
    p.server.send(text_result(1, "x"), text_result(2, "x"))
    p.client.recv(), p.client.recv()
    seen = until(rb"ok +late .*\n")
    tail.end()
    rest = tail.rest()
    check(not (seen + rest).split(b"\n")[-1].strip(b"\r\x1b[K"), f"what is left at the end: {seen + rest!r}")


@case("tail on a terminal: filters apply to the open calls")
def _(t):
    p = t.proxy("--name", "one").initialize()
    p.client.send(request(1, "prompts/get", {"name": "mine"}), call(2, "mine"), call(3, "other"))
    for _ in range(3):
        p.server.recv()
    for i in range(30):  # so that a small --last starts after them
        p.client.send(note("x"))
        p.server.recv()
    for args in (("-n", "90", "--tool", "mine"), ("-n", "5", "--tool", "mine"), ("-n", "90", "--tool", "mine", "--failed")):
        tail = Tail(t, *args, terminal=100, env={"NO_COLOR": "1"})
        lib.wait_until(lambda: tail.fill(time.monotonic() + 0.1) and b" open: " in tail.buf, 10, "the open calls")
        check(b"1 open: one mine " in tail.buf, f"{args}: {bytes(tail.buf)!r}")
        tail.end()


@case("tail -f exits when stdout is closed, and on a signal")
def _(t):
    t.proxy("--name", "one").initialize()
    tail = Tail(t, "-n", "1")
    tail.text()
    os.close(tail.read_fd)
    tail.read_fd = None
    eq(tail.proc.wait(5 * lib.PATIENCE), 0, "exit status")
    eq(tail.err.read_bytes(), b"", "stderr")
    for number in (signal.SIGINT, signal.SIGTERM):
        Tail(t, "-n", "0").end(number)


# --- under load -----------------------------------------------------------------------------------

PROXIES, CALLS = 4, 4000 if lib.SLOW == 1 else 300


def drive(p, i, window=32):
    for k in range(CALLS + window):
        if k < CALLS:
            p.client.send(call(f"{i}-{k}", "load", {"k": k}))
        if k >= window:
            p.client.recv(10)


@case(f"tail -f while {PROXIES} proxies write at full speed: every message, in order, no error", limit=120)
def _(t):
    proxies = [t.proxy("--name", f"p{i}", server=[fake("answer"), "-s", "100"]) for i in range(PROXIES)]
    wait_for_sessions(t, PROXIES)
    tail = Tail(t, "-n", "1000", "--json")
    seen = {}

    def read():
        ended = 0
        while ended < PROXIES:
            x = tail.recv_json(30)
            if x["type"] == "message":
                seen.setdefault(x["session_id"], []).append(x["seq"])
            ended += x["type"] == "session" and x["state"] == "ended"
    reader = Background(read, seconds=100)
    threads = [Background(drive, p, i, seconds=100) for i, p in enumerate(proxies)]
    for x in threads:
        x.join()
    for p in proxies:
        p.client.close_write()
    for p in proxies:
        eq(p.wait(10), 0, "exit status")
        eq(p.complaints(), [], "what the proxy complains of")
    reader.join()
    eq(seen, {s: list(range(1, 2 * CALLS + 1)) for s in range(1, PROXIES + 1)}, "what tail has shown")
    eq(t.rows("SELECT count(*) FROM messages"), [(2 * CALLS * PROXIES,)], "what is recorded")
    tail.end()


lib.main()
