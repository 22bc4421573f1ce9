#!/usr/bin/env python3
"""An upgrade while old proxies run: programs that commit each message themselves, and the present one, write one vault.

MCP_INTERPOSER_OLD names an older program, from before the recorder was a process of its own; without it, only a
writer that does in Python what that program did is tested.
"""
import contextlib
import os
import signal
import socket
import sqlite3
import time

import lib
from lib import Background, Skip, case, check, eq, fake
from looking import add_message, add_session, make_vault

CALLS = 1500 if lib.SLOW == 1 else 200
WINDOW = 16
OLD = os.environ.get("MCP_INTERPOSER_OLD")


def drive(p, mark, calls=CALLS, start=0):
    for k in range(start, calls + WINDOW):
        if k < calls:
            p.client.send(lib.call(f"{mark}-{k}", "load", {"k": k, "pad": "p" * (k % 400)}))
        if k >= start + WINDOW:
            line = p.client.recv(10)
            check(line.startswith(b'{"jsonrpc":"2.0","id":"%s-%d",' % (mark.encode(), k - WINDOW)), f"answer {line[:80]!r}")


def whole(t, name, calls):
    """The session has each call and each answer once, in order."""
    (sid, n, high), = t.rows("SELECT s.id, count(*), max(seq) FROM sessions s JOIN messages ON session_id = s.id WHERE s.name = ?", name)
    eq((n, high), (2 * calls, 2 * calls), f"rows of {name}")
    ids = [x for x, in t.rows("SELECT rpc_id FROM messages WHERE session_id = ? AND kind = 'request' ORDER BY seq", sid)]
    eq([int(x.strip(b'"').rsplit(b"-", 1)[1]) for x in ids], list(range(calls)), f"requests of {name}")


def sound(t):
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity")
    eq(t.rows("SELECT count(*) FROM events WHERE kind = 'gap'"), [(0,)], "gaps")
    eq(t.rows("SELECT count(*) FROM messages WHERE id <> (session_id << 36) + seq"), [(0,)], "ids")


def old_writer(t, number, calls):
    """A session as a program of schema version 2 writes it: each message is committed before it is forwarded, and the
    log is moved into the database now and then."""
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None, timeout=60)) as db:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        for seq in range(1, 2 * calls + 1):
            db.execute("BEGIN IMMEDIATE")
            add_message(db, number, seq, kind="request" if seq % 2 else "result", direction="c2s" if seq % 2 else "s2c",
                        rpc_id=f'"old-{(seq - 1) // 2}"', body="{}")
            db.execute("COMMIT")
            if seq % 500 == 0:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        db.execute("UPDATE sessions SET ended_at_us = ?, end_reason = 'client-closed' WHERE id = ?",
                   (int(time.time() * 1e6), number))


@case("upgrade: a program that commits each message itself and new proxies write one vault, nothing is lost", limit=120)
def _(t):
    with contextlib.closing(make_vault(t.vault, version=2)) as db:
        db.execute("PRAGMA synchronous = NORMAL")
        add_session(db, 1, name="old", pid=os.getpid(), host=socket.gethostname(), started_at_us=int(time.time() * 1e6))
    os.chmod(t.vault / "interposer.db", 0o600)
    old = Background(old_writer, t, 1, CALLS, seconds=100)
    new = [t.proxy("--name", f"new{i}", server=[fake("answer"), "-s", "100"]) for i in range(2)]
    threads = [Background(drive, p, f"new{i}", seconds=100) for i, p in enumerate(new)]
    for x in (*threads, old):
        x.join()
    for p in new:
        p.end()
        eq(p.complaints(), [], "warnings and errors")
    sound(t)
    for name in ("old", "new0", "new1"):
        whole(t, name, CALLS)


def old_proxy(t, name):
    if not OLD:
        raise Skip("MCP_INTERPOSER_OLD does not name an older program")
    with contextlib.ExitStack() as stack:
        new, lib.PROGRAM = lib.PROGRAM, os.path.abspath(OLD)
        stack.callback(setattr, lib, "PROGRAM", new)
        return t.proxy("--name", name, server=[fake("answer"), "-s", "100"])


@case("upgrade: old and new proxies under load on one vault, nothing is lost", limit=120)
def _(t):
    proxies = [old_proxy(t, "old0"), old_proxy(t, "old1")]
    for p, n in zip(proxies, ("old0", "old1")):  # an old program that has not begun its session finds a newer vault
        p.client.send(lib.call(f"{n}-0", "load", {}))
        p.client.recv(10)
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM sessions JOIN messages ON session_id = sessions.id WHERE kind = 'result'") == [(2,)],
                   10, "both sessions have begun")
    proxies += [t.proxy("--name", n, server=[fake("answer"), "-s", "100"]) for n in ("new0", "new1")]
    names = ["old0", "old1", "new0", "new1"]
    threads = [Background(drive, p, n, CALLS, int(n.startswith("old")), seconds=100) for p, n in zip(proxies, names)]
    for x in threads:
        x.join()
    for p in proxies:
        p.end()
        eq(p.complaints(), [], "warnings and errors")
    sound(t)
    for name in names:
        whole(t, name, CALLS)
    eq(t.rows("SELECT count(*) FROM running"), [(0,)], "rows in `running`")


@case("upgrade: an old and a new proxy are killed under load, and both sessions keep what was forwarded", limit=120)
def _(t):
    pair = [old_proxy(t, "old"), t.proxy("--name", "new", server=[fake("answer"), "-s", "100"])]
    survivor = old_proxy(t, "survivor")
    for i, p in enumerate(pair):
        for k in range(400):
            p.client.send(lib.call(f"k-{k}", "load", {"k": k}))
            p.client.recv(10)
    for p in pair:
        p.die(all_of_it=True)
    drive(survivor, "survivor", 200)
    survivor.end()
    t.run("sessions", "--vault", t.vault)  # stores what the killed session left in memory
    sound(t)
    for name in ("old", "new"):
        whole(t, name, 400)
    eq(t.rows("SELECT end_reason FROM sessions WHERE name = 'new'"), [(b"killed",)], "end of the killed session")


INVOCATIONS = ("SELECT session_id, request_seq, response_seq, method, target, status, error_code, started_at_us, duration_us, "
               "request_size, response_size FROM invocations WHERE session_id IN (SELECT id FROM sessions WHERE name <> 'new') "
               "ORDER BY session_id, request_seq")


@case("upgrade: sessions of each older version get their calls while a proxy has nothing else to do, and nothing else changes")
def _(t):
    for version in (1, 2, 3):
        t.vault = t.tmp / f"vault-{version}"
        t.vault.mkdir(mode=0o700)
        with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
            db.executescript((lib.ROOT / f"tests/compat/files/vault-{version}.sql").read_text())
        before, stats = t.rows(INVOCATIONS), t.run("stats", "--vault", t.vault, "--json").stdout
        check(len(before) > 1, "calls of the older version")
        p = t.proxy("--name", "new").initialize()
        lib.wait_until(lambda: t.rows("SELECT count(*) FROM sessions WHERE calls IS NULL AND ended_at_us IS NOT NULL") == [(0,)],
                       10, "the calls of older sessions")
        p.end(gone=())
        eq(t.rows("PRAGMA user_version"), [(5,)], "version")
        check(len(t.rows("SELECT id FROM calls WHERE id >> 36 = 1")) >= len(before), "rows in calls")
        eq(t.rows(INVOCATIONS), before, f"invocations of version {version}")
        eq(t.run("stats", "--vault", t.vault, "--json", "--server", "answer").stdout, stats, f"stats of version {version}")


lib.main()
