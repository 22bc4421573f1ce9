"""What a central store must have in the end: each row of each vault once, and evidence that the verifier of tests/evidence,
which was written from docs/evidence.md, accepts."""
import hashlib
import json
import shutil
import sqlite3
import sys
from pathlib import Path

from vaults import differences, here

sys.path.append(str(Path(__file__).resolve().parent.parent / "evidence"))

import form  # noqa: E402
import verifier  # noqa: E402

BYTES = ("salt", "commitment", "end_salt", "end_commitment", "tree", "note")


def rows(store, table, where):
    for line in filter(None, store.psql(f"SELECT row_to_json(x) FROM (SELECT * FROM mcp_interposer.{table} x WHERE {where}) AS x").split("\n")):
        row = json.loads(line)
        for name in BYTES:
            if isinstance(row.get(name), str) and row[name].startswith("\\x"):
                row[name] = bytes.fromhex(row[name][2:])
        yield row


def rebuild(store, vault, path):
    """A vault from nothing but the rows of the store."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    name = vault.name()
    db = sqlite3.connect(path / "interposer.db", isolation_level=None)
    for sql, in vault.rows("SELECT sql FROM sqlite_schema WHERE name IN ('sessions', 'messages', 'events', 'leaves', 'checkpoints', "
                           "'replaced', 'journals', 'running', 'calls', 'events_by_session') ORDER BY type DESC"):        # tables first
        db.execute(sql)
    db.execute("PRAGMA user_version = 5")
    columns = {t: [c[1] for c in db.execute(f"PRAGMA table_info({t})")] for t in
               ("sessions", "messages", "events", "leaves", "checkpoints", "replaced")}
    db.execute("BEGIN")

    def add(table, row):
        row = {k: v for k, v in row.items() if k in columns[table]}
        db.execute(f"INSERT INTO {table} ({','.join(row)}) VALUES ({','.join('?' * len(row))})", list(row.values()))
    ids = {}
    of = f"(SELECT uid FROM mcp_interposer.sessions WHERE vault = '{name}')"
    for row in rows(store, "sessions", f"vault = '{name}'"):
        ids[row["uid"]] = row["id"]
        add("sessions", row)
    for row in rows(store, "messages", f"session_uid IN {of}"):
        session = ids[row["session_uid"]]
        add("messages", row | {"session_id": session, "id": (session << 36) + row["seq"], "body_offset": None})
    for table in ("events", "replaced"):
        for row in rows(store, table, f"session_uid IN {of}"):
            add(table, row | {"session_id": ids[row["session_uid"]]})
    for row in rows(store, "leaves", f"vault = '{name}'"):
        add("leaves", row)
    for row in rows(store, "checkpoints", f"vault = '{name}'"):
        add("checkpoints", row | {"note": row["note"].encode()})
    db.execute("COMMIT")
    db.close()


def told(report):
    return {s["uid"]: (s["status"], s["kind"], s["text"]) for s in report.sessions}


def check_head(store, vault):
    """The hash by which the store recognizes the log."""
    head = bytes(32)
    for leaf, in vault.rows("SELECT leaf FROM leaves ORDER BY n"):
        head = hashlib.sha256(head + leaf.encode()).digest()
    n = len(vault.rows("SELECT 1 FROM leaves"))
    said = store.psql(f"SELECT leaves, encode(head, 'hex') FROM mcp_interposer.vaults WHERE uid = '{vault.name()}'")
    return [] if said == f"{n}\t{head.hex()}" else [f"the log has {n} leaves and the head {head.hex()}, the store says {said}"]


def check_minimal(store, vault):
    """Without bodies the commitments cannot be computed again; the roots can, from the commitments."""
    problems = []
    seals = {}
    for row in rows(store, "leaves", f"vault = '{vault.name()}'"):
        leaf = json.loads(row["leaf"])
        if leaf["type"] == "seal":
            seals[leaf["session"]] = leaf
    for uid, seal in seals.items():
        session, = rows(store, "sessions", f"uid = '{uid}'")
        replaced = sorted(rows(store, "replaced", f"session_uid = '{uid}'"), key=lambda r: -r["leaf"])
        first = {r["record"]: r["commitment"] for r in replaced}         # of redacted records: before the first redaction
        places = [first.get("session", session["commitment"])] + [None] * (seal["records"] - 1)
        messages = [first.get(f"message {m['seq']}", m["commitment"])
                    for m in sorted(rows(store, "messages", f"session_uid = '{uid}'"), key=lambda m: m["seq"])]
        for e in rows(store, "events", f"session_uid = '{uid}'"):
            places[e["place"]] = first.get(f"event {e['place']}", e["commitment"])
        rest = iter(messages)
        found = [p or next(rest, b"") for p in places]
        if form.session_root(found).hex() != seal["root"] or next(rest, None):
            problems.append(f"session {uid}: its records are not those that were sealed")
    return problems


def prove(store, vault, folder, minimal=False):
    """([problem], sessions, messages, {status: sessions}) of a vault."""
    problems = differences(store, vault, minimal)
    problems += check_head(store, vault)
    keys = [k for k in here(vault) if k[0] in ("session", "message")]
    ours = verifier.verify(vault.path)
    statuses = [s["status"] for s in ours.sessions]
    if ours.verdict == "TAMPERED":
        problems += [f"the log of the vault itself: {w.kind}: {w.text}" for w in ours.log]
        problems += [f"the vault itself: session {s['uid']}: {s['kind']}: {s['record']}: {s['text']}" for s in ours.sessions if s["kind"]]
    if minimal:
        problems += check_minimal(store, vault)
    else:
        rebuild(store, vault, folder)
        theirs = verifier.verify(folder)
        problems += [f"log at the store: {w.kind}: {w.text}" for w in theirs.log]
        mine, other = told(ours), told(theirs)
        problems += [f"session {uid}: the vault says {mine.get(uid)}, the store {other.get(uid)}" for uid in mine.keys() | other.keys()
                     if mine.get(uid) != other.get(uid)]
    return problems, len(statuses), sum(k[0] == "message" for k in keys), {s: statuses.count(s) for s in statuses}
