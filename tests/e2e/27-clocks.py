#!/usr/bin/env python3
"""Time in which the server could not answer is not counted: the client does not read, or the interposer does not run."""
import os
import signal
import time

import lib
from lib import Background, case, check, eq, note, text_result

OFFERED = 200 << 20
LINE = note("notifications/message", {"level": "info", "data": "x" * 500}) + b"\n"
BLOCK = LINE * 2000


def nothing_for(p, seconds):
    """The client gets nothing in this time."""
    check(not p.client.fill(time.monotonic() + seconds * lib.SLOW), "the client got something")


def nothing_taken_for(p, seconds):
    """Nothing is read from the server in this time, however long its last line is incomplete."""
    check(not lib.End._ready(p.server.write_fd, lib.select.POLLOUT, time.monotonic() + seconds * lib.SLOW),
          "the server is read")


def events(t):
    return [e.decode() for (e,) in t.rows("SELECT kind FROM events ORDER BY id")]


def call(p, id):
    p.client.send(lib.call(id))
    p.server.expect(lib.call(id))


def timed_out(p, id, cause):
    m = p.client.recv_json()
    eq((m["id"], m["error"]["code"], m["error"]["data"]["cause"]), (id, -32001, cause), "the answer")


def flood(p, seconds):
    """The server sends until the client has not read for so long. Returns the rest of the line that was cut."""
    taken = p.server.send_until_full(BLOCK, OFFERED, quiet=seconds)
    check(taken < OFFERED, "all was taken though nobody reads")
    return taken, LINE[taken % len(LINE):] if taken % len(LINE) else b""


def read_flood(p, taken):
    for _ in range(-(-taken // len(LINE))):
        p.client.expect(LINE[:-1])


for name, deadline in (("--timeout", ["--timeout", "6s"]),
                       ("--max-timeout", ["--timeout", "60s", "--max-timeout", "6s"])):
    @case(f"a client that does not read for longer than {name}: the answers behind the unread bytes arrive", limit=90)
    def _(t, deadline=deadline):
        p = t.proxy(*deadline).initialize()
        call(p, 1)
        taken, rest = flood(p, 1)
        call(p, 2)                                   # after it, the server sends nothing that is read
        nothing_taken_for(p, 12)
        with Background(p.server.write, rest + text_result(1, "one") + b"\n" + text_result(2, "two") + b"\n", 60):
            read_flood(p, taken)
            p.client.expect(text_result(1, "one"), text_result(2, "two"))
        p.end()
        eq([e for e in events(t) if e in ("timeout", "hang", "kill")], [], "events")


@case("the clock goes on when the client reads again: a silent server is hung", limit=90)
def _(t):
    p = t.proxy("--timeout", "8s", "--on-hang", "kill-now").initialize()
    taken, rest = flood(p, 1)
    call(p, 1)
    with Background(p.server.write, rest, 60):
        read_flood(p, taken)
    call(p, 2)
    p.server.send(text_result(2, "not silent"))
    p.client.expect(text_result(2, "not silent"))
    timed_out(p, 1, "timeout")
    eq(lib.json.loads(p.server.recv())["params"]["requestId"], 1, "cancelled")
    call(p, 3)
    timed_out(p, 3, "hang")
    p.server.close()
    p.client.close_write()
    eq(p.wait(), 124, "exit status")


@case("a server that crashes while the client does not read: its last messages arrive", limit=90)
def _(t):
    p = t.proxy("--grace", "1s").initialize()
    call(p, 1)
    taken, _ = flood(p, 1)
    p.server.exit(3)
    lib.wait_until(lambda: events(t).count("kill") == 2, 10, "SIGTERM and SIGKILL")
    for _ in range(taken // len(LINE)):
        p.client.expect(LINE[:-1])
    eq(p.client.recv_json()["error"]["data"]["cause"], "server-exited", "the answer to 1")
    p.client.close_write()
    eq(p.wait(), 3, "exit status")


@case("the recorder is stopped, and more than half of the journal is not stored: a deadline passes in time", limit=60)
def _(t):
    p = t.proxy("--timeout", "6s").initialize()
    recorder = p.recorder()
    os.kill(recorder, signal.SIGSTOP)
    t.closing.callback(lambda: lib.alive(recorder) and os.kill(recorder, signal.SIGCONT))
    long = note("notifications/message", {"level": "info", "data": "x" * 900000})
    for _ in range(70):                              # then the client is read every 12 ms
        p.client.send(long)
        p.server.expect(long)
    start, n, line = time.monotonic(), 1, None
    call(p, 1)
    while line in (None, text_result(n, "not silent")):
        n += 1
        p.client.send(lib.call(n))
        if p.server.recv() != lib.call(n):           # the cancellation of 1
            p.server.expect(lib.call(n))
        p.server.send(text_result(n, "not silent"))
        line = p.client.recv()
    took, m = time.monotonic() - start, lib.json.loads(line)
    eq((m["id"], m["error"]["data"]["cause"]), (1, "timeout"), "the answer")
    check(6 <= took < 6 + 5 * lib.SLOW, f"after {took:.1f} s")
    check(n > 20, f"only {n} calls were sent")


@case("the interposer is stopped for longer than --timeout: the answer that waits in the pipe arrives", limit=60)
def _(t):
    p = t.proxy("--timeout", "8s", "--on-hang", "kill-now").initialize()
    call(p, 1)
    os.kill(p.pid, signal.SIGSTOP)
    p.server.send(text_result(1, "in time"))
    nothing_for(p, 10)
    os.kill(p.pid, signal.SIGCONT)
    p.client.expect(text_result(1, "in time"))
    p.round()
    eq([e for e in events(t) if e in ("timeout", "hang", "kill")], [], "events")
    call(p, 2)
    timed_out(p, 2, "hang")                          # the clock goes on
    p.server.close()
    p.client.close_write()
    eq(p.wait(), 124, "exit status")


@case("the interposer and the server are stopped for longer than --timeout: the server has time to answer", limit=60)
def _(t):
    p = t.proxy("--timeout", "9s").initialize()
    call(p, 1)
    lib.at_rest(p.pid, quiet=0.2)
    os.kill(p.pid, signal.SIGSTOP)
    os.killpg(p.server.pid, signal.SIGSTOP)
    nothing_for(p, 11)
    os.killpg(p.server.pid, signal.SIGCONT)
    os.kill(p.pid, signal.SIGCONT)
    nothing_for(p, 1)                                # it is not killed at once
    p.server.send(text_result(1, "a moment later"))
    p.client.expect(text_result(1, "a moment later"))
    p.end()
    eq([e for e in events(t) if e in ("timeout", "hang", "kill")], [], "events")


@case("the interposer is stopped for longer than --grace at the end: the server still has its grace", limit=60)
def _(t):
    p = t.proxy("--grace", "12s").initialize()
    p.client.close_write()
    p.server.expect_eof()
    os.kill(p.pid, signal.SIGSTOP)
    nothing_for(p, 8)                                # the first signal is due after 6 s
    os.kill(p.pid, signal.SIGCONT)
    nothing_for(p, 1)
    p.server.send(note("last"))
    p.client.expect(note("last"))
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")
    eq([e for e in events(t) if e == "kill"], [], "signals")


@case("the interposer is stopped again and again: the time to SIGKILL goes on between, and the server is killed", limit=60)
def _(t):
    p = t.proxy("--timeout", "1h", "--grace", "8s").initialize()
    call(p, 1)
    p.server._order("exit 3\n")         # this test has its pipes: a process that the signals do not reach
    lib.wait_until(lambda: "exit" in events(t), 5, "the server has exited")
    for n in range(20):                 # each time about a second is counted: 4 of them to SIGTERM, 4 to SIGKILL
        os.kill(p.pid, signal.SIGSTOP)
        p.client.fill(time.monotonic() + 1.2)
        os.kill(p.pid, signal.SIGCONT)
        if p.client.fill(time.monotonic() + 0.1):
            break
    eq(p.client.recv_json()["error"]["data"]["cause"], "server-exited", f"the answer, after {n + 1} stops")
    check(n < 19, "the signals were put off each time")      # else it comes after the stops
    p.client.close_write()
    eq(p.wait(), 3, "exit status")
    eq([e for e in events(t) if e == "kill"], ["kill", "kill"], "SIGTERM and SIGKILL")


lib.main(at_once=4)
