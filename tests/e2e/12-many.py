#!/usr/bin/env python3
"""Many interposers on one vault, and a database that another process holds locked."""
import sqlite3
import time

import lib
from lib import Background, case, check, eq, fake

PROXIES = 8
CALLS = 3000 if lib.SLOW == 1 else 300


def sound(t, sessions):
    """Each session in the record without a hole, in order. A recorder that never gets the lock leaves its journal to a command."""
    lib.wait_until(lambda: t.run("sessions", "--vault", t.vault).returncode == 0 and not any(t.journals.iterdir()), 30, "all is stored")
    with lib.database(t.vault) as db:
        for sid, in db.execute("SELECT id FROM sessions").fetchall():
            n, low, high = db.execute("SELECT count(*), min(seq), max(seq) FROM messages WHERE session_id = ?",
                                      (sid,)).fetchone()
            eq((n, low), (high, 1), f"rows and seq of session {sid}")
        eq(db.execute("SELECT count(*) FROM sessions").fetchone()[0], sessions, "sessions")
        eq(db.execute("SELECT count(*) FROM events WHERE kind = 'gap'").fetchone()[0], 0, "gaps")
        eq(db.execute("PRAGMA integrity_check").fetchone()[0], b"ok", "integrity_check")


@case(f"{PROXIES} interposers under load on one database: nothing lost, no error", limit=120)
def _(t):
    proxies = [t.proxy("--name", f"p{i}", server=[fake("answer"), "-s", "200"]) for i in range(PROXIES)]
    slowest = [0.0] * PROXIES

    def drive(i):
        p = proxies[i]
        window = 32
        sent = {}
        for k in range(CALLS + window):
            if k < CALLS:
                sent[k] = time.monotonic()
                p.client.send(lib.call(f"{i}-{k}", "load", {"k": k, "pad": "p" * (k % 400)}))
            if k >= window:
                line = p.client.recv(10)
                check(line.startswith(b'{"jsonrpc":"2.0","id":"%d-%d",' % (i, k - window)), f"answer {line[:80]!r}")
                slowest[i] = max(slowest[i], time.monotonic() - sent.pop(k - window))
    threads = [Background(drive, i, seconds=100) for i in range(PROXIES)]
    for x in threads:
        x.join()
    for p in proxies:
        p.client.close_write()
    for p in proxies:
        p.client.expect_eof(10)
        eq(p.wait(10), 0, "exit status")
        eq(p.complaints(), [], "warnings and errors")
    print(f"# slowest answer {max(slowest) * 1000:.0f} ms, {PROXIES} clients of this test in one process among it")
    sound(t, PROXIES)
    eq(t.rows("SELECT direction, kind, count(*) FROM messages GROUP BY 1, 2 ORDER BY 1"),
       [(b"c2s", b"request", PROXIES * CALLS), (b"s2c", b"result", PROXIES * CALLS)], "recorded")
    bad = t.rows("SELECT count(*) FROM messages a JOIN messages q ON q.id = (a.session_id << 36) + a.request_seq "
                 "WHERE a.kind = 'result' AND a.rpc_id = q.rpc_id")
    eq(bad, [(PROXIES * CALLS,)], "answers tied to their requests")
    lines = t.log_lines()
    eq(len(lines), PROXIES * CALLS, "lines in the log directory")
    for x in lines:
        lib.json.loads(x)


@case("many sessions that start at once create the vault")
def _(t):
    proxies = [t.proxy("--name", f"p{i}", server=[fake("answer")]) for i in range(12)]
    for i, p in enumerate(proxies):
        p.client.send(lib.call(i))
    for i, p in enumerate(proxies):
        eq(p.client.recv_json()["id"], i, "id of the answer")
        p.client.close_write()
    for p in proxies:
        eq(p.wait(10), 0, "exit status")
        eq(p.complaints(), [], "warnings and errors")
    sound(t, 12)
    eq(t.rows("SELECT count(*) FROM messages"), [(24,)], "messages")


class Lock:
    """Somebody else's BEGIN EXCLUSIVE on the vault's database, after what was forwarded before is stored in it."""

    def __init__(self, t):
        lib.settle()
        self.db = sqlite3.connect(t.vault / "interposer.db", isolation_level=None, timeout=10)
        self.db.execute("BEGIN EXCLUSIVE")

    def release(self):
        self.db.execute("ROLLBACK")
        self.db.close()


def calls_for(p, seconds, first, pause=0.05):
    """Calls, one after the other, each answered within a second."""
    end, n, slowest = time.monotonic() + seconds, first, 0.0
    while time.monotonic() < end:
        start = time.monotonic()
        p.client.send(lib.call(n, "locked"))
        eq(p.client.recv_json(1)["id"], n, "id of the answer")
        slowest = max(slowest, time.monotonic() - start)
        n += 1
        time.sleep(max(0, pause - (time.monotonic() - start)))     # the pace of the load, not a wait
    print(f"# {n - first} calls, the slowest answer after {slowest * 1000:.0f} ms")
    return n


@case("the database is locked for five seconds: traffic continues, nothing is lost", limit=90)
def _(t):
    p = t.proxy(server=[fake("answer")])
    n = calls_for(p, 0.3, 0)
    lock = Lock(t)
    n = calls_for(p, 5, n)
    lock.release()
    n = calls_for(p, 0.5, n)
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages")[0][0] == 2 * n, 5, f"{2 * n} messages in the record")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(p.complaints(), [], "warnings and errors")
    sound(t, 1)
    eq([m.rpc_id for m in t.messages()], [b"%d" % (i // 2) for i in range(2 * n)], "ids in order")


@case("the database is still locked when the session ends")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls_for(p, 0.2, 0)
    lock = Lock(t)
    n = 1000
    p.client.send(lib.call(n))
    eq(p.client.recv_json(1)["id"], n, "id of the answer")
    start = time.monotonic()
    p.client.close_write()
    p.client.expect_eof()
    status = p.wait(10)
    took = time.monotonic() - start
    lock.release()
    eq(status, 0, "exit status")
    check(took < 10 * lib.SLOW, f"the end took {took:.1f} s: it waits for the lock")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


@case("a session starts while the database is locked", limit=90)
def _(t):
    first = t.proxy(server=[fake("answer")])
    calls_for(first, 0.1, 0)
    first.client.close_write()
    eq(first.wait(), 0, "exit status")
    before = t.rows("SELECT count(*) FROM messages")[0][0]
    lock = Lock(t)
    p = t.proxy(server=[fake("answer")])
    start = time.monotonic()
    p.client.send(lib.call("first"))
    eq(p.client.recv_json(3)["id"], "first", "id of the first answer")
    print(f"# the first answer after {(time.monotonic() - start) * 1000:.0f} ms")
    n = calls_for(p, 3, 0)
    lock.release()
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages")[0][0] == before + 2 * n + 2, 5, "all in the record")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(p.complaints(), [], "warnings and errors")
    sound(t, 2)


@case("a reader that holds a long snapshot does not stop the recording")
def _(t):
    p = t.proxy(server=[fake("answer")])
    n = calls_for(p, 0.2, 0)
    with lib.database(t.vault) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM messages").fetchone()
        n = calls_for(p, 1, n, 0.005)
        eq(t.rows("SELECT count(*) FROM messages")[0][0], 2 * n, "recorded meanwhile")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(p.complaints(), [], "warnings and errors")


lib.main()
