#!/usr/bin/env python3
"""A vault that somebody else has made: no command changes anything outside of it, runs for ever or needs much memory."""
import os
import shutil
import sqlite3
import struct
import sys

import lib
from lib import call, case, check, eq, text_result

sys.path.insert(0, str(lib.ROOT / "tests/evidence"))

import build_vault  # noqa: E402
import graph  # noqa: E402

READERS = (("show", "1"), ("show", "--json", "1"), ("sessions",), ("export", "1"), ("search", "genuine"), ("search", "--failed"), ("stats",),
           ("check", "1"), ("tools", "1"), ("diff", "1", "2"), ("redact", "--scan", "1"), ("doctor",), ("audit", "verify"),
           ("audit", "prove", "1", "-o", "-"))


def build(t, path=None):
    """Two sessions with calls and a large body, in a vault that no process uses."""
    path = path or t.vault
    v = build_vault.Vault(path)
    for name in ("first", "second"):
        s = v.session(messages=40, name=name)
        s.message('"genuine ' + "b" * 70000 + '"', **build_vault.BARE)
        s.end()
    v.close()
    return sqlite3.connect(path / "interposer.db", isolation_level=None)


def all_end(t, statuses=(0, 1, 3)):
    for args in READERS:
        r = t.run(*args, "--vault", t.vault, seconds=20)
        check(r.returncode in statuses and len(r.stdout) < 1000000, f"{args}: {r.returncode} {len(r.stdout)} {r.stderr[-300:]}")
    return t.run("audit", "verify", "--vault", t.vault)


def journal_for(vault, other):
    """A rollback journal that restores the first page, and says that `other` names the journals of its transaction."""
    data = (vault / "interposer.db").read_bytes()
    size = int.from_bytes(data[16:18], "big")
    magic = bytes([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
    page, total = data[:size], 1
    for i in range(size - 200, 0, -200):
        total += page[i]
    name = str(other).encode()
    end = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    head = (magic + struct.pack(">IIIII", 1, 1, len(data) // size, 512, size)).ljust(512, b"\0")
    (vault / "interposer.db-journal").write_bytes(head + struct.pack(">I", 1) + page + struct.pack(">I", total) + end)


@case("a rollback journal that names another file does not remove it")
def _(t):
    db = build(t)
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    other = t.tmp / "precious"
    for args in (("sessions",), ("audit", "verify"), ("prune", "--keep-last", "1", "--dry-run"), ("redact", "--apply", "1")):
        other.write_text("precious")
        journal_for(t.vault, other)
        t.run(*args, "--vault", t.vault)
        check(other.exists(), f"{args} has removed it")
    other.write_text("precious")
    journal_for(t.vault, other)
    p = t.proxy().initialize()
    p.end()
    check(other.exists(), "the recorder has removed it")


@case("a session whose UID is a path: no file outside is read or overwritten")
def _(t):
    db = build(t)
    other = t.tmp / "precious"
    other.write_text("x" * 200000)
    db.execute("UPDATE sessions SET uid = ? WHERE id = 1", (os.path.relpath(other, t.vault / "Bodies"),))
    db.close()
    all_end(t)
    rules = t.tmp / "rules.ini"
    rules.write_text("[redact]\npattern.word = genuine|jsonrpc\n")
    r = t.run("redact", "--apply", "1", "--vault", t.vault, "--config", rules)
    check(r.returncode == 3 and b"has no valid UID" in r.stderr, r)
    eq(other.read_text(), "x" * 200000, "the other file")


@case("a version of the schema that does not exist: it is said, and traffic goes on", limit=120)
def _(t):
    for version, said in ((-3, b"newer mcp-interposer"), (0, b"states no version of its schema"), (99, b"newer mcp-interposer")):
        vault = t.tmp / f"vault{version}"
        db = build(t, vault)
        db.execute(f"PRAGMA user_version = {version}")
        db.close()
        for args in (("sessions",), ("audit", "verify")):
            r = t.run(*args, "--vault", vault)
            check(r.returncode == 3 and said in r.stderr, f"{version}: {r}")
        p = t.proxy(vault=vault).initialize()
        p.client.send(call(9))
        p.server.recv()
        p.server.send(text_result(9, "still here"))
        check(b"still here" in p.client.recv(10), "the answer")
        p.end()


@case("an older version than its tables have is a change")
def _(t):
    db = build(t)
    db.execute("PRAGMA user_version = 2")
    db.close()
    r = t.run("audit", "verify", "--vault", t.vault)
    eq((r.returncode, r.stdout.splitlines()[-1]), (1, b"verdict: TAMPERED: 1 thing is wrong; nothing else was compared"), "verdict")


@case("bodies of a terabyte that need no room on the disk: every command ends", limit=200)
def _(t):
    db = build(t)
    for path in (t.vault / "Bodies").iterdir():
        os.truncate(path, 1 << 40)
    db.execute("UPDATE messages SET body_length = ? WHERE body_length IS NOT NULL", ((1 << 40) - 1,))
    db.close()
    r = all_end(t)
    check(r.returncode == 1 and b"the message's body is missing in Bodies/" in b" ".join(r.stdout.split()), r)
    r = t.run("redact", "--apply", "1", "--vault", t.vault, seconds=20)
    check(all(path.stat().st_blocks < 100000 for path in (t.vault / "Bodies").iterdir()), "no disk is filled")


@case("an index of search and a log of a terabyte that need no room on the disk: redact and prune fill neither disk nor memory", limit=120)
def _(t):
    build(t).close()
    log = t.vault / "Logs/MCP_Actions/2026-11-21.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    (t.vault / "Search").mkdir()
    (t.vault / "Search/0000.db").write_text("x")
    for path in (log, t.vault / "Search/0000.db"):
        os.truncate(path, 1 << 40)
    r = t.run("redact", "--apply", "1", "--vault", t.vault, seconds=20)
    check(r.returncode == 3 and b"2026-11-21.jsonl: File too large" in r.stderr, r)
    eq(t.run("prune", "--keep-last", "1", "--yes", "--vault", t.vault, seconds=20).returncode, 0, "prune")


@case("a message with the highest number: numbers that no message has are not tried", limit=200)
def _(t):
    db = build(t)
    db.execute("UPDATE messages SET id = (1 << 36) + 68719476735, seq = 68719476735 WHERE id = (SELECT max(id) FROM messages WHERE session_id = 1)")
    db.close()
    eq(all_end(t).returncode, 1, "status")


@case("an index and tables with far more entries than bytes, in a file that is large and has no bytes on the disk", limit=300)
def _(t):
    eq(t.run("audit", "key", "new").returncode, 0, "a key")
    for name in ("sqlite_autoindex_sessions_1", "events", "leaves"):
        build(t).close()
        graph.make_graph(t.vault / "interposer.db", name, 6)
        if name == "events" or os.environ.get("TEST_LONG"):     # reading goes on for four times as long then
            os.truncate(t.vault / "interposer.db", 1 << 42)
        eq(all_end(t).returncode, 1, name)
        shutil.rmtree(t.vault)


@case("a database that was put aside: doctor --repair ends, and fills no disk", limit=120)
def _(t):
    db = build(t)
    db.execute("UPDATE messages SET id = (1 << 36) + 68719476735, seq = 68719476735 WHERE id = (SELECT max(id) FROM messages WHERE session_id = 1)")
    db.close()
    aside, data = t.vault / "interposer.db.damaged-20261101T000000Z", bytearray((t.vault / "interposer.db").read_bytes())
    size = int.from_bytes(data[16:18], "big")
    for at in range(8 * size, len(data) - size, 3 * size):
        data[at:at + 100] = b"\xff" * 100
    for header in (b"", b"no database"):        # readable, and destroyed in a file of 64 GiB
        data[:len(header)] = header
        aside.write_bytes(data)
        os.truncate(aside, 1 << 36 if header else len(data))
        shutil.rmtree(t.tmp / "new", ignore_errors=True)
        build_vault.Vault(t.tmp / "new").close()
        shutil.copy(t.tmp / "new/interposer.db", t.vault)
        r = t.run("doctor", "--repair", "--vault", t.vault, seconds=30)
        check(b"2 sessions with" in b" ".join(r.stdout.split()), r)
        check(sum(path.stat().st_blocks for path in t.vault.rglob("*")) < 100000, "the room on the disk")


@case("a fifo in the place of a file of the vault: no command waits for it", limit=120)
def _(t):
    build(t).close()
    for name in ("interposer.db", "interposer.db-journal", "interposer.db-wal", "Search/0000.db", "interposer.db.damaged-20261101T000000Z"):
        path = t.vault / name
        path.parent.mkdir(exist_ok=True)
        kept = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        for args in (("sessions",), ("show", "1"), ("search", "genuine"), ("audit", "verify"), ("doctor", "--repair"), ("redact", "--apply", "1")):
            r = t.run(*args, "--vault", t.vault, seconds=15)
            check(r.returncode in (0, 1, 3), f"{name}, {args}: {r}")
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)


@case("a session before the first one, which would not be covered, is a change")
def _(t):
    db = build(t)
    db.execute("""INSERT INTO sessions (id, uid, name, command, started_at_us, pid, host, record_level, interposer_version)
        SELECT 1 - 268435456, '01AAAAAAAAAAAAAAAAAAAAAAAA', 'forged', command, started_at_us, pid, host, record_level, interposer_version
        FROM sessions WHERE id = 1""")
    db.close()
    r = t.run("audit", "verify", "--vault", t.vault)
    check(r.returncode == 1 and b"the log does not open the session (added)" in b" ".join(r.stdout.split()), r)


@case("triggers and views of the vault have no effect on what is recorded and shown")
def _(t):
    db = build(t)
    db.executescript("""CREATE TRIGGER a BEFORE INSERT ON messages BEGIN SELECT RAISE(IGNORE); END;
        CREATE TRIGGER b AFTER INSERT ON sessions BEGIN DELETE FROM sessions; END""")
    db.close()
    p = t.proxy().initialize()
    p.end()
    lib.settle()
    eq(len(t.run("sessions", "--json", "--vault", t.vault).stdout.splitlines()), 3, "sessions")
    check(b"initialize" in t.run("show", "3", "--vault", t.vault).stdout, "the messages of the third one")


lib.main()
