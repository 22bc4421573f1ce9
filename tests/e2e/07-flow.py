#!/usr/bin/env python3
"""A side that stops reading: memory stays bounded, the other direction continues, nothing is lost."""
import os
import time

import lib
from lib import Background, case, check, eq, note, request, result

OFFERED = 200 << 20
MOST_KIB = 32 << 10       # nothing here may make the proxy larger
JOURNAL_MOST = 65 << 20
LINE = note("notifications/message", {"level": "info", "data": "x" * 500}) + b"\n"
BLOCK = LINE * 2000


def small(p, what):
    if not lib.SIZES_MEAN_NOTHING:
        size = lib.kib(p.pid, "RssAnon")
        check(size < MOST_KIB, f"{what}: {size} KiB of memory")
    journal = sum(x.stat().st_blocks * 512 for x in p.t.journals.iterdir())
    check(journal <= JOURNAL_MOST, f"{what}: {journal} bytes in the journal")


def finish(a, b, taken, block=BLOCK):
    """Complete the line that was cut by the stop, and take it all at the other end."""
    line = block.find(b"\n") + 1
    total = -(-taken // line) * line
    twice = block * 2
    at = taken % len(block)
    with Background(a.write, twice[at:at + total - taken], 30):
        seen = 0
        while seen < total:
            if not b.buf and not b.fill(time.monotonic() + 20 * lib.PATIENCE):
                raise lib.Failure(f"{b.name}: {seen} of {total} bytes, then nothing")
            check(not b.eof, f"{b.name}: end of file after {seen} of {total} bytes")
            n = min(len(b.buf), total - seen, len(block))
            at = seen % len(block)
            check(b.buf[:n] == twice[at:at + n], f"bytes {seen} to {seen + n} are not those sent")
            del b.buf[:n]
            b.scanned = 0
            seen += n


@case("a server that stops reading: the client is throttled, memory stays small, the other direction continues", limit=120)
def _(t):
    p = t.proxy().initialize()
    taken = p.client.send_until_full(BLOCK, OFFERED)
    check(taken < OFFERED, f"all of {OFFERED} bytes were taken from the client though nobody reads")
    small(p, "after the client was held back")
    for i in range(200):
        p.server.send(note("up", {"i": i, "pad": "z" * 1000}))
        p.client.expect(note("up", {"i": i, "pad": "z" * 1000}), seconds=1)
    small(p, "after 200 notes the other way")
    finish(p.client, p.server, taken)
    p.round()
    p.end()


@case("a client that stops reading: the server is throttled, memory stays small, the other direction continues", limit=120)
def _(t):
    p = t.proxy().initialize()
    taken = p.server.send_until_full(BLOCK, OFFERED)
    check(taken < OFFERED, f"all of {OFFERED} bytes were taken from the server though nobody reads")
    small(p, "after the server was held back")
    for i in range(200):
        p.client.send(lib.call(i, "z" * 1000))
        p.server.expect(lib.call(i, "z" * 1000), seconds=1)
    small(p, "after 200 calls the other way")
    finish(p.server, p.client, taken)
    p.server.send(*(lib.text_result(i, "done") for i in range(200)))
    p.client.expect(*(lib.text_result(i, "done") for i in range(200)))
    p.end()


@case("neither side reads: both are throttled, and everything arrives when they read again", limit=120)
def _(t):
    p = t.proxy().initialize()
    up = p.server.send_until_full(BLOCK, OFFERED)
    down = p.client.send_until_full(BLOCK, OFFERED)
    check(max(up, down) < OFFERED, "all was taken though nobody reads")
    small(p, "with both held back")
    with Background(finish, p.client, p.server, down), Background(finish, p.server, p.client, up):
        pass
    p.round()
    p.end()


@case("a client that sends garbage and never reads the errors is throttled, and memory stays small", limit=120)
def _(t):
    p = t.proxy().initialize()
    block = b"garbage\n" * 10000
    taken = p.client.send_until_full(block, OFFERED)
    check(taken < OFFERED, f"all of {OFFERED} bytes were taken though nobody reads the answers")
    small(p, "after the client was held back")
    p.server.send(note("still", {"here": 1}))
    rest = -taken % len(b"garbage\n")
    with Background(p.client.write, b"garbage\n"[len(b"garbage\n") - rest:], 30):
        for _ in range((taken + rest) // len(b"garbage\n") + 1):
            got = p.client.recv_json()
            check(got.get("method") == "still" or got["error"]["code"] == -32700, f"an odd line: {got}")
    p.round()
    p.end()


@case("throttled in large messages: the bytes in flight stay within the marks", limit=120)
def _(t):
    p = t.proxy().initialize()
    line = note("big", {"pad": "x" * (1 << 20)}) + b"\n"
    taken = p.client.send_until_full(line, OFFERED)
    check(taken < OFFERED, "all was taken though nobody reads")
    if not lib.SIZES_MEAN_NOTHING:
        size = lib.kib(p.pid, "RssAnon")
        check(size < 48 << 10, f"{size} KiB of memory")
    finish(p.client, p.server, taken, line)
    p.round()
    p.end()


@case("a slow reader gets everything, in order")
def _(t):
    p = t.proxy().initialize()
    lines = [note("n", {"i": i, "pad": "p" * (i % 3000)}) for i in range(4000)]
    with Background(p.server.write, b"".join(x + b"\n" for x in lines), 60):
        got, data = [], b""
        while len(got) < len(lines):
            check(p.client._ready(p.client.read_fd, 1, time.monotonic() + 10 * lib.PATIENCE), "nothing comes")
            data += os.read(p.client.read_fd, 3001)
            *whole, data = data.split(b"\n")
            got += whole
    eq(got == lines, True, "all lines as they were sent")
    p.round()
    p.end()


@case("60 MB in both directions at once", limit=120)
def _(t):
    p = t.proxy().initialize()
    n = 100000

    def send(end):
        end.write(LINE * n, 100)

    def take(end):
        seen = 0
        while seen < n * len(LINE):
            check(end.fill(time.monotonic() + 20 * lib.PATIENCE), f"{end.name}: {seen} bytes, then nothing")
            seen += len(end.buf)
            end.buf.clear()
        eq(seen, n * len(LINE), "bytes")
    with Background(send, p.client), Background(send, p.server), Background(take, p.client), \
            Background(take, p.server):
        pass
    small(p, "after 60 MB each way")
    p.round()
    p.end()
    eq(t.rows("SELECT direction, count(*) FROM messages WHERE method = 'notifications/message' "
              "GROUP BY direction ORDER BY direction"), [(b"c2s", n), (b"s2c", n)], "recorded")


@case("thousands of requests in flight are all answered")
def _(t):
    p = t.proxy().initialize()
    n = 3000
    with Background(p.client.send, *(request(i, "tools/list") for i in range(n))):
        for i in range(n):
            p.server.expect(request(i, "tools/list"))
    with Background(p.server.send, *(result(i) for i in reversed(range(n)))):
        for i in reversed(range(n)):
            p.client.expect(result(i))
    p.end()


lib.main()
