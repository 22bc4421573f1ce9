#!/usr/bin/env python3
"""A recorded vault that somebody has forged so that other text is shown than `audit verify` compares."""
import json
import shutil
import sqlite3
import sys
from pathlib import Path

import lib
from lib import call, case, check, eq, text_result, wait_until

sys.path.insert(0, str(lib.ROOT / "tests/evidence"))

import form  # noqa: E402

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
    quiet(t)


def quiet(t):
    """Waits until no process uses the vault: at the end of a session, another one signs it. The command line of a recorder does
    not have the vault."""
    def used():
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(t.vault).encode() in path.read_bytes():
                    return True
            except OSError:
                continue
        return False
    lib.recorders_ended(t.vault)
    wait_until(lambda: not used(), 20, "the end of all processes of the vault")


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
    r = t.run("doctor", "-v", "--vault", t.vault)
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
    eq((r.returncode, r.stdout.splitlines()[-1]), (1, b"verdict: TAMPERED: 1 thing is wrong; recorded data was changed"), "verdict")
    check(b"the log says that the session was removed, but the session exists (added)" in b" ".join(r.stdout.split()), r.stdout)


def leaf_page(t, name, type):
    """(offset in the file, bytes) of the first leaf page of a table (13) or an index (10)."""
    db = sqlite3.connect(t.vault / "interposer.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (root,), = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,))
    (size,), = db.execute("PRAGMA page_size")
    db.close()
    data = (t.vault / "interposer.db").read_bytes()
    while data[(root - 1) * size] != type:      # an interior page: its first child
        at = (root - 1) * size
        cell = at + int.from_bytes(data[at + 12:at + 14], "big")
        root = int.from_bytes(data[cell:cell + 4], "big")
    at = (root - 1) * size
    return at, bytearray(data[at:at + size])


def write_at(t, at, page):
    with open(t.vault / "interposer.db", "r+b") as file:
        file.seek(at)
        file.write(page)


def all_end(t):
    for args in READERS + (("show", "2"), ("show", "--json", "2"), ("export", "2"), ("diff", "2", "1"), ("sessions", "--json")):
        r = t.run(*args, "--vault", t.vault)
        check(r.returncode in (0, 1, 3) and len(r.stdout) < 100000, f"{args}: {r.returncode} {len(r.stdout)} {r.stderr}")
    r = t.run("audit", "verify", "--vault", t.vault)
    check(r.returncode == 1 and b"TAMPERED: 1 thing is wrong; nothing else was compared" in r.stdout and b"(damaged)" in r.stdout, r)


@case("one byte of the index of `events` is another one: every command ends", limit=120)
def _(t):
    recorded(t)
    at, page = leaf_page(t, "events_by_session", 10)
    n = int.from_bytes(page[3:5], "big")
    cell = int.from_bytes(page[8 + 2 * (n - 1):10 + 2 * (n - 1)], "big")
    last = cell + page[cell]            # the last byte of the last entry: the id of its row
    page[last] ^= 1 << page[last].bit_length() - 1
    write_at(t, at, page)
    all_end(t)
    r = t.run("show", "2", "--vault", t.vault)
    check(r.returncode == 3 and (b"not in the order of their ids" in r.stderr or b"malformed" in r.stderr), r)


@case("two rows of `messages` are not in the order of their ids: every command ends", limit=120)
def _(t):
    t.forged = True
    recorded(t)
    at, page = leaf_page(t, "messages", 13)
    n = int.from_bytes(page[3:5], "big")
    a, b = 8 + 2 * (n - 2), 8 + 2 * (n - 1)
    page[a:a + 2], page[b:b + 2] = page[b:b + 2], page[a:a + 2]
    write_at(t, at, page)
    all_end(t)


def rewrite(vault):
    """Another history of session 1: other bodies, with commitments, tree, seal and log. The leaf of the key is genuine, and
    there is no checkpoint any more."""
    db = sqlite3.connect(vault / "interposer.db", isolation_level=None)
    db.row_factory, db.text_factory = sqlite3.Row, bytes
    db.execute("UPDATE messages SET body = replace(CAST(body AS TEXT), 'genuine', 'FORGED') WHERE session_id = 1")
    places = {0: db.execute("SELECT commitment FROM sessions WHERE id = 1").fetchone()[0]}
    for row in db.execute("SELECT place, commitment FROM events WHERE session_id = 1"):
        places[row["place"]] = row["commitment"]
    place = 0
    for row in db.execute("SELECT * FROM messages WHERE session_id = 1 ORDER BY id").fetchall():
        while place in places:
            place += 1
        places[place] = form.commitment(row["salt"], ["message", *(row[f] for f in form.MESSAGE_FIELDS), row["body"]])
        db.execute("UPDATE messages SET commitment = ? WHERE id = ?", (places[place], row["id"]))
    all = [places[i] for i in sorted(places)]
    db.execute("UPDATE sessions SET tree = ? WHERE id = 1", (form.subtrees(all),))
    uid = db.execute("SELECT uid FROM sessions WHERE id = 1").fetchone()[0].decode()
    for n, leaf in db.execute("SELECT n, leaf FROM leaves").fetchall():
        x = json.loads(leaf)
        if x["type"] == "seal" and x["session"] == uid:
            x["root"] = form.session_root(all).hex()
            db.execute("UPDATE leaves SET leaf = ? WHERE n = ?", (json.dumps(x, separators=(",", ":"), ensure_ascii=False), n))
    db.execute("DELETE FROM checkpoints")
    db.close()


def ok(t, *args):
    r = t.run(*args, "--vault", t.vault)
    eq(r.returncode, 0, f"{args}: {r.stderr}")
    return r.stdout


def verdict(t, env=None):
    r = t.run("audit", "verify", "--vault", t.vault, env=env)
    return r.returncode, r.stdout.decode().splitlines()[-1]


def escalations(t):
    return [p for p in (t.vault / "Escalations").glob("*-evidence.md")] if (t.vault / "Escalations").exists() else []


def kept_files(t):
    return sorted(p.name for p in (t.home / ".config/mcp-interposer/signed").iterdir())


@case("a history that was written again is not signed: what is kept beside the key says so", limit=120)
def _(t):
    eq(t.run("audit", "key", "new").returncode, 0, "a key")
    recorded(t)
    wait_until(lambda: len(t.rows("SELECT 1 FROM checkpoints")) > 0 and len(kept_files(t)) == 1, 20, "the end of a session is signed")
    ok(t, "audit", "checkpoint")
    eq(verdict(t), (0, "verdict: valid: the vault agrees with its log, and the log agrees with the checkpoint next to the key"), "verdict")
    name, = kept_files(t)
    eq((t.home / ".config/mcp-interposer/signed" / name).stat().st_mode & 0o777, 0o600, "mode")
    rewrite(t.vault)
    elsewhere = {"HOME": str(t.tmp)}
    eq(verdict(t, elsewhere), (0, "verdict: valid: the vault agrees with its own log, but was compared with nothing else"), "without what is kept")
    eq(verdict(t), (1, "verdict: TAMPERED: 1 thing is wrong; recorded data was changed"), "verdict")
    check(b"it has another history (forked)" in b" ".join(t.run("audit", "verify", "--vault", t.vault).stdout.split()), "forked")
    r = t.run("audit", "checkpoint", "--vault", t.vault)
    check(r.returncode == 3 and b"has other leaves than the log that was signed" in r.stderr, r)
    eq(len(escalations(t)), 1, "escalations")
    check("cause: evidence" in escalations(t)[0].read_text(), "its cause")
    check(b"does not continue the log that was signed" in b" ".join(t.run("doctor", "--vault", t.vault).stdout.split()), "doctor")
    r = t.run("audit", "key", "rotate", "--vault", t.vault)
    check(r.returncode == 3 and b"has other leaves" in r.stderr, r)
    escalations(t)[0].unlink()
    t.proxy().initialize().end()            # the next session of the victim
    wait_until(lambda: escalations(t), 20, "an escalation")
    eq((t.rows("SELECT 1 FROM checkpoints"), kept_files(t)), ([], [name]), "nothing is signed")
    ok(t, "audit", "checkpoint", "--new-vault")
    eq(len(kept_files(t)), 2, "what was kept has another name")
    eq(verdict(t)[0], 0, "verdict")
    ok(t, "audit", "checkpoint")


@case("a vault that is older than what was signed, or another one, is not signed", limit=120)
def _(t):
    eq(t.run("audit", "key", "new").returncode, 0, "a key")
    recorded(t)
    old = t.tmp / "old"
    shutil.copytree(t.vault, old)
    recorded(t)
    ok(t, "audit", "checkpoint")
    shutil.rmtree(t.vault)
    shutil.copytree(old, t.vault)
    r = t.run("audit", "checkpoint", "--vault", t.vault)
    check(r.returncode == 3 and b"is shorter than the log that was signed" in r.stderr, r)
    check(b"(rolled back)" in t.run("audit", "verify", "--vault", t.vault).stdout, "rolled back")
    shutil.rmtree(t.vault)
    recorded(t)
    r = t.run("audit", "checkpoint", "--vault", t.vault)
    check(r.returncode == 3 and b"is of another vault than the log that was signed" in r.stderr, r)


@case("where the folder of the key cannot be written, the state directory keeps what was signed", limit=120)
def _(t):
    eq(t.run("audit", "key", "new").returncode, 0, "a key")
    folder = t.home / ".config/mcp-interposer"
    (folder / "signed").write_text("")      # root may write everywhere: no folder can be made here
    recorded(t)
    ok(t, "audit", "checkpoint")
    kept, = (t.home / ".local/state/mcp-interposer-audit").glob("*.note")
    check(kept.read_text().startswith("mcp-interposer/"), kept.read_text())
    kept.write_text("x\n")
    r = t.run("audit", "checkpoint", "--vault", t.vault)
    check(r.returncode == 3 and b"is not a signed checkpoint" in r.stderr, r)


lib.main()
