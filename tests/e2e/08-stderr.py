#!/usr/bin/env python3
"""The server's stderr: passed on byte for byte, recorded line by line, never blocking."""
import os
import time

import lib
from lib import Background, End, case, check, eq, note


def servers_part(p):
    """Our stderr without the lines of the interposer itself."""
    return b"".join(line for line in p.stderr().splitlines(True) if not line.startswith(b"mcp-interposer: "))


def settle(p, data):
    lib.wait_until(lambda: len(servers_part(p)) >= len(data), 10, f"{len(data)} bytes on our stderr")


LINES = [b"plain", b"", b"\xff\xfe not UTF-8 \x80", b"\x1b[31mred\x1b[0m", b"\xe2\x80\xa8 separator", b"tab\there",
         b"NUL \x00 inside", b"carriage return\r", b"x" * 3000, b'{"jsonrpc":"2.0","method":"not ours"}']


@case("stderr is passed on byte for byte, and never parsed as messages")
def _(t):
    p = t.proxy().initialize()
    data = b"\n".join(LINES) + b"\n"
    p.server.say_err(data)
    settle(p, data)
    p.round()
    p.end()
    eq(servers_part(p), data, "our stderr")
    rows = t.messages("kind = 'stderr'")
    eq({(m.direction, m.origin) for m in rows}, {("s2c", "peer")}, "stderr rows")
    bodies = [m.body for m in rows]
    for line in (b"plain", b"tab\there", b"x" * 3000, b"\xe2\x80\xa8 separator"):
        check(line in bodies, f"{lib.short(line, 60)} is not recorded as a line of its own: {lib.short(bodies)}")
    order = [bodies.index(x) for x in (b"plain", b"tab\there", b"x" * 3000)]
    eq(order, sorted(order), "order of the lines")


@case("a prompt without a newline is passed on at once")
def _(t):
    p = t.proxy().initialize()
    p.server.say_err(b"password: ")
    settle(p, b"password: ")
    eq(servers_part(p), b"password: ", "our stderr")
    p.end()
    eq([m.body for m in t.messages("kind = 'stderr'")], [b"password: "], "recorded")


@case("a line written in two parts is recorded as one line")
def _(t):
    p = t.proxy().initialize()
    p.server.say_err(b"half a ")
    settle(p, b"half a ")
    p.server.say_err(b"line\nnext\n")
    settle(p, b"half a line\nnext\n")
    p.end()
    eq([m.body for m in t.messages("kind = 'stderr'")], [b"half a line", b"next"], "recorded")


@case("the last stderr lines of a crashing server are passed on and recorded")
def _(t):
    p = t.proxy().initialize()
    words = b"".join(b"panic: frame %d\n" % i for i in range(1500))     # 28 KB fit into a pipe
    p.server.say_err(words)
    p.server.kill(11)
    eq(p.wait(), 139, "exit status")
    eq(servers_part(p), words, "our stderr")
    check(len(t.messages("kind = 'stderr'")) > 0, "no stderr row")


def flood(p, megabytes):
    block = b"".join(b"%07d flood of log lines that nobody asked for, and then some\n%s\n" % (i, b"x" * 500) for i in range(1600))
    data = block * (megabytes * (1 << 20) // len(block) + 1)
    return data


@case("10 MB on stderr while the server does not read: nothing stalls, everything is passed on", limit=90)
def _(t):
    p = t.proxy().initialize()
    data = flood(p, 10)
    with Background(p.server.say_err, data, 60):
        # Meanwhile requests pile up at the server, and it still talks.
        p.client.send(*(lib.call(i, "q" * 500) for i in range(100)))
        for i in range(20):
            p.server.send(note("n", {"i": i}))
            p.client.expect(note("n", {"i": i}), seconds=2)
    for i in range(100):
        p.server.expect(lib.call(i, "q" * 500))
    settle(p, data)
    eq(servers_part(p) == data, True, "our stderr is what the server wrote")
    if not lib.SIZES_MEAN_NOTHING:
        check(lib.kib(p.pid, "VmHWM") < (32 << 10) + lib.JOURNAL_KIB, f"{lib.kib(p.pid, 'VmHWM')} KiB at the most")
    p.end(gone=[b"%d" % i for i in range(100)])
    check(len(t.messages("kind = 'stderr'")) > 0, "no stderr row")


@case("nobody reads stderr: 10 MB from the server do not stop the calls", limit=90)
def _(t):
    r, w = os.pipe2(os.O_CLOEXEC)
    lib.fill_pipe(w)
    p = t.proxy(err=w).initialize()
    data = flood(p, 10)
    with Background(p.server.say_err, data, 60):
        for i in range(50):
            p.client.send(lib.call(i))
            p.server.expect(lib.call(i), seconds=1)
            p.server.send(lib.text_result(i, "ok"))
            p.client.expect(lib.text_result(i, "ok"), seconds=1)
    check(not lib.nonblocking(w), "our stderr has become non-blocking")
    if not lib.SIZES_MEAN_NOTHING:
        check(lib.kib(p.pid, "VmHWM") < (32 << 10) + lib.JOURNAL_KIB, f"{lib.kib(p.pid, 'VmHWM')} KiB at the most")
    start = time.monotonic()
    p.end()
    check(time.monotonic() - start < 10 * lib.SLOW, "the end waits for our stderr")
    os.close(r)
    os.close(w)


@case("nobody reads stderr: noise from the server does not stop the calls")
def _(t):
    r, w = os.pipe2(os.O_CLOEXEC)
    lib.fill_pipe(w)
    p = t.proxy(err=w).initialize()
    with Background(p.server.send, *(b"noise %d" % i for i in range(5000))):
        pass
    p.round(seconds=2)
    p.end()
    eq(len(t.messages("kind = 'noise'")), 5000, "noise recorded")
    os.close(r)
    os.close(w)


@case("a late reader of stderr gets whole lines, and may close it")
def _(t):
    r, w = os.pipe2(os.O_CLOEXEC)
    p = t.proxy(err=w).initialize()
    os.close(w)
    reader = End("stderr", r, None)
    p.server.say_err(b"first\n")
    eq(reader.recv(), b"first", "line on stderr")
    reader.close()
    p.server.say_err(b"second\n" * 100)
    p.round()
    p.end()
    check(len(t.messages("kind = 'stderr' AND body = 'second'")) == 100, "lines after the reader left")


@case("the server closes its stderr and keeps working")
def _(t):
    p = t.proxy().initialize()
    os.close(p.server.err_fd)
    p.server.err_fd = None
    p.round()
    lib.at_rest(p.pid)
    p.round("again")
    p.end()


@case("an endless stderr line takes bounded memory")
def _(t):
    p = t.proxy().initialize()
    data = b"e" * (20 << 20)
    with Background(p.server.say_err, data, 60):
        pass
    settle(p, data)
    p.round()
    if not lib.SIZES_MEAN_NOTHING:
        check(lib.kib(p.pid, "VmHWM") < (24 << 10) + lib.JOURNAL_KIB, f"{lib.kib(p.pid, 'VmHWM')} KiB at the most")
    p.end()
    biggest = t.rows("SELECT max(length(CAST(body AS BLOB))) FROM messages WHERE kind = 'stderr'")[0][0]
    check(biggest is None or biggest <= 1 << 20, f"a stderr row of {biggest} bytes")


# How a server ends, and what its client is told. tests/stderr has more outputs.
ENDS = [
    (["node", "-e", "function start() { throw new Error('API_KEY is not set') } start()"], 1, 'its error message was "Error: API_KEY is not set"'),
    (["node", "-e", "require('./nope')"], 1, "Error: Cannot find module './nope' (MODULE_NOT_FOUND)"),
    (["python3", "-c", "import os; os.environ['API_KEY']"], 1, "its error message was \"KeyError: 'API_KEY'\""),
    (["sh", "-c", "nope-mcp; exit 127"], 127, "nope-mcp: not found\""),
    (["sh", "-c", "echo 'Error: \033[31mred\033[0m \007' >&2; exit 0"], 0, 'its error message was "Error: red \\x07"'),
    (["sh", "-c", "echo listening >&2; echo stopping >&2; exit 1"], 1, 'its last output was "stopping"'),
    (["sh", "-c", "echo listening >&2; exit 0"], 0, "exited with status 0 before it answered"),
]


@case("the error for a pending request has the reason of the server, not its last line")
def _(t):
    for server, status, want in ENDS:
        p = t.proxy("--restarts", "0", server=["sh", "-c", 'read x; exec "$@"', "sh", *server])
        p.client.send(lib.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}))
        told = p.client.recv_json(seconds=20)["error"]["message"]
        check(want in told and told.count("output") == ("last output" in want), lambda: f"{server}: {told}")
        p.client.close_write()
        eq(p.wait(), status, f"exit status of {server}")


@case("with --record minimal nothing of stderr is in the error")
def _(t):
    p = t.proxy("--restarts", "0", "--record", "minimal", server=["sh", "-c", "read x; echo 'Error: API_KEY is not set' >&2; exit 1"])
    p.client.send(lib.request(1, "tools/list"))
    told = p.client.recv_json()["error"]["message"]
    check("API_KEY" not in told and "error message" not in told, told)
    p.client.close_write()
    eq(p.wait(), 1, "exit status")


lib.main()
