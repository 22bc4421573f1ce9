#!/usr/bin/env python3
"""An idle interposer uses no CPU, and after 20,000 calls (TEST_LONG: 60,000) it uses the memory that it used after 1,000."""
import os
import time

import lib
from lib import Background, Skip, at_rest, case, check, cpu_ticks, descriptors, eq, fake, kib, wakeups

CALLS = (60000 if os.environ.get("TEST_LONG") else 20000) if lib.SLOW == 1 else 6000
CALL, CANCEL = lib.call(987654, "x"), lib.note("notifications/cancelled", {"requestId": 987654})


def calls(p, first, count):
    """Calls in flight, a few at a time."""
    window = 16
    for start in range(first, first + count, window):
        n = min(window, first + count - start)
        p.client.send(*(CALL.replace(b"987654", b"%d" % i) for i in range(start, start + n)))
        for i in range(start, start + n):
            line = p.client.recv()
            check(line.startswith(b'{"jsonrpc":"2.0","id":%d,' % i), f"answer {line[:60]!r}")


def measure(p):
    lib.settle(20)      # what waits in the journal counts as resident
    at_rest(p.pid)
    return kib(p.pid, "RssAnon"), kib(p.pid, "VmRSS"), descriptors(p.pid)


@case(f"memory and descriptors after {CALLS} calls are the same as after 1,000", limit=120)
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls(p, 0, 1000)
    anon, rss, fds = measure(p)
    calls(p, 1000, CALLS - 1000)
    if not lib.SIZES_MEAN_NOTHING:
        lib.settle(20)
        lib.wait_until(lambda: kib(p.pid, "VmRSS") - rss <= 1024, 10, "the journal's memory returns to the system")
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


@case("cancelled requests that are never answered do not accumulate", limit=120)
def _(t):
    if lib.SIZES_MEAN_NOTHING:
        raise Skip(f"sizes under {lib.UNDER} say nothing")
    p = t.proxy().initialize()

    def some(first, count):
        for start in range(first, first + count, 500):
            ids = (b"%d" % i for i in range(start, min(start + 500, first + count)))
            lines = b"".join((CALL + b"\n" + CANCEL + b"\n").replace(b"987654", id) for id in ids)
            with Background(p.client.write, lines):
                eq(p.server.recv_bytes(len(lines)), lines, "what the server gets")
    some(0, 30000)
    p.round()
    anon, _, fds = measure(p)
    # 65,536 is the limit of the table of pending requests.
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
    pids = [p.pid, p.recorder()]
    for pid in pids:
        at_rest(pid, 1.0)
    before = {pid: (cpu_ticks(pid), wakeups(pid)) for pid in pids}
    time.sleep(5)       # the test is that nothing happens in this time
    # One tick is ten milliseconds, and may be counted for a microsecond; a timer of one second would wake it five times.
    # The recorder looks after sessions of killed proxies once, two seconds after its start.
    for pid, (ticks, n) in before.items():
        check(cpu_ticks(pid) - ticks <= 1, f"{cpu_ticks(pid) - ticks} CPU ticks of process {pids.index(pid)} {what}")
        check(wakeups(pid) - n <= 2, f"{wakeups(pid) - n} wake-ups of process {pids.index(pid)} {what}")


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


@case("idle with a pending request, a stalled reader on each side and half a line: no CPU, no wake-up")
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


@case("idle after the database was locked and unlocked: no CPU, no wake-up")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls(p, 0, 10)
    lib.settle()
    db = lib.sqlite3.connect(t.vault / "interposer.db", isolation_level=None, timeout=10)
    db.execute("BEGIN EXCLUSIVE")
    calls(p, 10, 10)
    db.execute("ROLLBACK")
    db.close()
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages") == [(40,)], 5, "all is in the record")
    idle(p, "after a lock")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


def size_of(path):
    """0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@case("pauses are used for checkpoints: the write-ahead log stays bounded")
def _(t):
    p = t.proxy(server=[fake("answer"), "-s", "2000"])
    calls(p, 0, 8000)
    at_rest(p.pid)
    wal = t.vault / "interposer.db-wal"
    size = size_of(wal)
    check(size < 68 << 20, f"the WAL has {size} bytes")
    calls(p, 8000, 8000)
    at_rest(p.pid)
    size2 = size_of(wal)
    check(size2 < 68 << 20, f"the WAL has {size2} bytes")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    lib.wait_until(lambda: size_of(wal) == 0, 5, "the last session removes the WAL")


lib.main(at_once=3)
