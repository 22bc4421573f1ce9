#!/usr/bin/env python3
"""A recorded vault that somebody has forged so that other text is shown than `audit verify` compares."""
import sqlite3

import lib
from lib import call, case, check, eq, text_result

READERS = (("show",), ("show", "--json"), ("sessions",), ("export",), ("search", "FORGED"), ("search", "--failed"), ("stats",), ("check",),
           ("tools",), ("diff", "1", "2"), ("redact", "--scan", "1"), ("audit", "prove", "1", "-o", "-"))


def recorded(t):
    """Two sessions, in a vault that no process uses."""
    for k in range(2):
        p = t.proxy().initialize()
        for i in range(3):
            p.client.send(call(100 + i))
            p.server.recv()
            p.server.send(text_result(100 + i, f"genuine text {i} of {k}"))
            p.client.recv(10)
        p.end()
    lib.settle()


def change(t, script):
    db = sqlite3.connect(t.vault / "interposer.db", isolation_level=None)
    db.executescript(script)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def refused(t, table):
    """Each reader names the table, and prints nothing of it; verification says what is wrong."""
    for args in READERS:
        r = t.run(*args, "--vault", t.vault)
        check(r.returncode == 3 and b"FORGED" not in r.stdout, f"{args}: {r.returncode} {r.stdout[-200:]} {r.stderr}")
        check(f"table {table} or an index of it is not as mcp-interposer makes it" in r.stderr.decode(), f"{args}: {r.stderr}")
    r = t.run("audit", "verify", "--vault", t.vault)
    eq((r.returncode, r.stdout.splitlines()[-1]), (1, b"verdict: TAMPERED: 1 thing is wrong; nothing else was compared"), "verdict")
    r = t.run("doctor", "--vault", t.vault)
    check(r.returncode == 1 and b"the database is intact" not in r.stdout, f"doctor: {r.returncode} {r.stdout}")


FORGED = "CREATE INDEX forged ON messages (id, session_id, seq, t_us, direction, kind, method, target, body)"


@case("a forged covering index that a forged sqlite_stat1 prefers", limit=120)
def _(t):
    recorded(t)
    change(t, f"""CREATE TABLE other AS SELECT * FROM messages; UPDATE other SET body = replace(body, 'genuine', 'FORGED');
        {FORGED.replace("messages", "other")}; ANALYZE; UPDATE sqlite_stat1 SET tbl = 'messages', stat = '1 1' WHERE idx = 'forged';
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET tbl_name = 'messages', sql = '{FORGED}' WHERE name = 'forged';
        PRAGMA schema_version = 9999; PRAGMA writable_schema = RESET; DROP TABLE other; DROP TABLE sqlite_stat1""")
    refused(t, "messages")
    for command in (("audit", "verify"), ("doctor",)):
        said = b" ".join(t.run(*command, "--vault", t.vault).stdout.split())
        check(b"the index forged is not one that mcp-interposer makes" in said, f"{command}: {said}")


@case("a table without its primary key, with two rows of one id")
def _(t):
    recorded(t)
    db = sqlite3.connect(t.vault / "interposer.db")
    sql, = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'messages'").fetchone()
    db.close()
    sql = sql.replace("id INTEGER PRIMARY KEY", "id INTEGER", 1)
    change(t, f"""PRAGMA legacy_alter_table = ON; ALTER TABLE messages RENAME TO old; {sql}; INSERT INTO messages SELECT * FROM old; DROP TABLE old;
        INSERT INTO messages SELECT * FROM messages WHERE seq = 4; UPDATE messages SET body = 'FORGED' WHERE rowid = (SELECT max(rowid) FROM messages)""")
    refused(t, "messages")


@case("a view in the place of a table, which never ends")
def _(t):
    recorded(t)
    change(t, """PRAGMA legacy_alter_table = ON; ALTER TABLE events RENAME TO genuine; DROP INDEX events_by_session;
        CREATE VIEW events AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT i AS id, 1 AS session_id, i AS t_us, 'FORGED' AS kind, NULL AS detail, i AS place, NULL AS salt, NULL AS commitment FROM n""")
    for args in READERS:
        r = t.run(*args, "--vault", t.vault)
        check(r.returncode == 3 and b"table events or an index" in r.stderr, f"{args}: {r}")
    r = t.run("audit", "verify", "--vault", t.vault)
    eq((r.returncode, r.stdout.splitlines()[-1][:17]), (1, b"verdict: TAMPERED"), "verdict")


@case("a leaf says that a session was removed, and forged rows are there")
def _(t):
    recorded(t)
    db = sqlite3.connect(t.vault / "interposer.db", isolation_level=None)
    uid, = db.execute("SELECT uid FROM sessions WHERE id = 1").fetchone()
    db.execute("UPDATE messages SET body = replace(body, 'genuine', 'FORGED') WHERE session_id = 1")
    db.execute("INSERT INTO leaves SELECT max(n) + 1, ? FROM leaves", (f'{{"type":"prune","session":"{uid}","at_us":1795256143000000}}',))
    db.close()
    r = t.run("audit", "verify", "--vault", t.vault)
    eq((r.returncode, r.stdout.splitlines()[-1]), (1, b"verdict: TAMPERED: 1 thing is wrong; something was changed later"), "verdict")
    check(b"the log says that it was removed, and it is there (added)" in b" ".join(r.stdout.split()), r.stdout)


lib.main()
