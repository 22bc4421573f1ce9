#!/usr/bin/env python3
"""At rest it costs nothing, and after 60,000 calls it is what it was after 1,000."""
import time

import lib
from lib import Background, Skip, at_rest, case, check, cpu_ticks, descriptors, eq, fake, kib, switches

CALLS = 60000 if lib.SLOW == 1 else 6000


def calls(p, first, count):
    """Calls in flight, a few at a time."""
    window = 16
    for start in range(first, first + count, window):
        n = min(window, first + count - start)
        p.client.send(*(lib.call(i, "count", {"i": i}) for i in range(start, start + n)))
        for i in range(start, start + n):
            line = p.client.recv()
            check(line.startswith(b'{"jsonrpc":"2.0","id":%d,' % i), f"answer {line[:60]!r}")


def measure(p):
    at_rest(p.pid)
    return kib(p.pid, "RssAnon"), kib(p.pid, "VmRSS"), descriptors(p.pid)


@case(f"memory and descriptors after {CALLS} calls are those after 1,000", limit=120)
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls(p, 0, 1000)
    anon, rss, fds = measure(p)
    calls(p, 1000, CALLS - 1000)
    anon2, rss2, fds2 = measure(p)
    print(f"# after 1,000 calls: {anon} KiB anonymous, {rss} KiB resident; after {CALLS}: {anon2}, {rss2}")
    eq(fds2, fds, "descriptors")
    if not lib.SIZES_MEAN_NOTHING:
        check(anon2 - anon <= 256, f"anonymous memory went from {anon} to {anon2} KiB")
        check(rss2 - rss <= 1024, f"resident memory went from {rss} to {rss2} KiB")
        check(rss2 < 12 << 10, f"{rss2} KiB resident with small messages")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(t.rows("SELECT count(*) FROM messages"), [(2 * CALLS,)], "messages")
    eq(len(t.log_lines()), CALLS, "lines in the log directory")


@case("requests that are cancelled and, as the protocol has it, never answered do not pile up", limit=120)
def _(t):
    if lib.SIZES_MEAN_NOTHING:
        raise Skip(f"sizes under {lib.UNDER} say nothing")
    p = t.proxy().initialize()

    def some(first, count):
        for start in range(first, first + count, 500):
            lines = []
            for i in range(start, min(start + 500, first + count)):
                lines += [lib.call(i, "x"), lib.note("notifications/cancelled", {"requestId": i})]
            with Background(p.client.send, *lines):
                for line in lines:
                    p.server.expect(line)
    some(0, 30000)
    p.round()
    anon, _, fds = measure(p)
    # 65,536 is what the table of open requests holds.
    some(30000, 50000)
    p.round("again")
    anon2, _, fds2 = measure(p)
    print(f"# anonymous memory after 30,000: {anon} KiB, after 80,000: {anon2} KiB")
    eq(fds2, fds, "descriptors")
    check(anon2 - anon <= 2048, f"anonymous memory went from {anon} to {anon2} KiB")
    p.server.send(lib.text_result(79999, "late"))
    p.round("last")
    p.end()


def idle(p, what):
    at_rest(p.pid, 1.0)
    ticks, n = cpu_ticks(p.pid), switches(p.pid)
    end = time.monotonic() + 5
    # Nothing is waited for here: that nothing happens in five seconds is what is measured.
    while time.monotonic() < end:
        time.sleep(end - time.monotonic() if end > time.monotonic() else 0)
    eq(cpu_ticks(p.pid), ticks, f"CPU ticks of an interposer {what}")
    check(switches(p.pid) - n <= 2, f"{switches(p.pid) - n} context switches of an interposer {what}")


@case("idle before the first message: no CPU, no wake-up")
def _(t):
    p = t.proxy()
    idle(p, "before the first message")
    p.end()


@case("idle after traffic: no CPU, no wake-up")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls(p, 0, 2000)
    idle(p, "after traffic")
    calls(p, 2000, 10)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


@case("idle with a request open, a stalled reader on each side and half a line: no CPU, no wake-up")
def _(t):
    p = t.proxy().initialize()
    p.client.send(lib.call(1, "never answered"))
    p.server.recv()
    block = lib.note("n", {"pad": "x" * 1000}) + b"\n"
    with Background(p.server.send_until_full, block, 64 << 20):
        p.client.send_until_full(block, 64 << 20)
    idle(p, "with both sides stalled")
    p.server.exit(0)
    p.client.close()
    p.wait()


@case("idle after the database was locked and let go: no CPU, no wake-up")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls(p, 0, 10)
    db = lib.sqlite3.connect(t.vault / "interposer.db", isolation_level=None, timeout=10)
    db.execute("BEGIN EXCLUSIVE")
    calls(p, 10, 10)
    db.execute("ROLLBACK")
    db.close()
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages") == [(40,)], 5, "all is in the record")
    idle(p, "after a lock")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


@case("idle is small: what waits checkpointed, the WAL does not grow for ever")
def _(t):
    p = t.proxy(server=[fake("answer"), "-s", "2000"])
    calls(p, 0, 8000)
    at_rest(p.pid)
    wal = t.vault / "interposer.db-wal"
    size = wal.stat().st_size if wal.exists() else 0
    check(size < 64 << 20, f"the WAL has {size} bytes")
    calls(p, 8000, 8000)
    at_rest(p.pid)
    size2 = wal.stat().st_size if wal.exists() else 0
    check(size2 < 64 << 20, f"the WAL has {size2} bytes")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    check(not wal.exists() or wal.stat().st_size == 0, "the WAL is left behind by the last session")


lib.main()
