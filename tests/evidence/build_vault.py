"""Small vaults with evidence, made after docs/vault.md and docs/evidence.md alone.

    v = Vault(path)             an empty vault with a log
    s = v.session(messages=5)   a session that runs; s.message(), s.event(), s.end(), s.kill()
    v.checkpoint()              a note, signed with the key of v.new_key()
    v.close()                   before anything else reads it

Everything is deterministic: the same calls make the same bytes.
"""
import base64
import random
import socket
import sqlite3
import sys
from pathlib import Path

import ed25519
import form

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
import calls  # noqa: E402

HEAD, SEAL = ("salt BLOB", "commitment BLOB"), ("end_salt BLOB", "end_commitment BLOB", "records INTEGER", "tree BLOB")
SCHEMA = f"""
CREATE TABLE sessions (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, name TEXT NOT NULL, command TEXT NOT NULL, client_name TEXT,
 client_version TEXT, server_name TEXT, server_version TEXT, protocol_version TEXT, started_at_us INTEGER NOT NULL,
 ended_at_us INTEGER, end_reason TEXT, exit_status INTEGER, pid INTEGER NOT NULL, host TEXT NOT NULL, record_level TEXT NOT NULL,
 interposer_version TEXT NOT NULL, redact_rules TEXT, {", ".join(HEAD + SEAL)}, cwd TEXT, tools_rule TEXT,
 calls INTEGER) STRICT;
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL, seq INTEGER NOT NULL, t_us INTEGER NOT NULL,
 direction TEXT NOT NULL, origin TEXT NOT NULL, kind TEXT NOT NULL, rpc_id TEXT, method TEXT, target TEXT, body TEXT,
 body_offset INTEGER, body_length INTEGER, size INTEGER NOT NULL, redactions INTEGER NOT NULL, action TEXT NOT NULL,
 request_seq INTEGER, error_code INTEGER, batch_seq INTEGER, finding TEXT, {", ".join(HEAD)}, revision TEXT) STRICT;
CREATE TABLE events (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL, t_us INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT,
 {", ".join(HEAD)}, place INTEGER) STRICT;
CREATE TABLE calls (id INTEGER PRIMARY KEY, closing_seq INTEGER, direction TEXT NOT NULL, origin TEXT NOT NULL, method TEXT, target TEXT,
 status TEXT NOT NULL, error_code INTEGER, t_us INTEGER NOT NULL, duration_us INTEGER, request_size INTEGER NOT NULL,
 response_size INTEGER, revision TEXT, operation_seq INTEGER, result_tokens INTEGER, result_binaries INTEGER,
 result_binary_size INTEGER) STRICT;
CREATE TABLE running (session_id INTEGER PRIMARY KEY, boot TEXT NOT NULL, pid_namespace INTEGER, pid INTEGER NOT NULL,
 pid_start INTEGER, client_pid INTEGER, client_start INTEGER, server_pid INTEGER, server_start INTEGER, server_group INTEGER,
 server_session INTEGER) STRICT;
CREATE TABLE journals (session_id INTEGER PRIMARY KEY, position INTEGER NOT NULL, records INTEGER, tree BLOB) STRICT;
CREATE TABLE leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL) STRICT;
CREATE TABLE checkpoints (size INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
CREATE TABLE replaced (session_id INTEGER NOT NULL, record TEXT NOT NULL, leaf INTEGER NOT NULL, commitment BLOB NOT NULL,
 PRIMARY KEY (session_id, record, leaf)) STRICT, WITHOUT ROWID;
CREATE INDEX events_by_session ON events (session_id, id);
PRAGMA user_version = 5;
""".replace("\n ", " ")
START_US = 1795256140000000
KEY_NAME = "mcp-interposer-audit"
LARGE = 64 * 1024
# A message that has every column, and one with as few as possible.
FULL = {"direction": "s2c", "origin": "peer", "kind": "error", "rpc_id": '"ü-7"', "method": None, "target": None, "redactions": 1,
        "action": "forwarded", "request_seq": 1, "error_code": -32602, "batch_seq": None, "finding": "tool-error"}
BARE = {"direction": "c2s", "origin": "peer", "kind": "noise", "rpc_id": None, "method": None, "target": None, "redactions": 0,
        "action": "forwarded", "request_seq": None, "error_code": None, "batch_seq": None, "finding": None}
CALL = BARE | {"kind": "request", "rpc_id": "7", "method": "tools/call", "target": "echo"}


def insert(db, table, row):
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def process(pid):
    """The row in `running` of a process, or of one that does not exist."""
    stat = Path(f"/proc/{pid}/stat")
    return {"boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "pid_namespace": Path("/proc/self/ns/pid").stat().st_ino,
            "pid": pid, "pid_start": int(stat.read_text().rsplit(")", 1)[1].split()[19]) if stat.exists() else 1}


class Vault:
    def __init__(self, path, seed=1, after=0):
        self.path, self.random = Path(path), random.Random(seed)
        (self.path / "Bodies").mkdir(parents=True)
        self.db = sqlite3.connect(self.path / "interposer.db", isolation_level=None)
        self.db.executescript("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + SCHEMA)
        self.clock, self.name, self.leaves, self.ids = START_US, self.new_uid(), [], after
        self.seed = self.key = None
        self.leaf("begin", version=1, vault=self.name, at_us=self.now(), after=after)

    def new_uid(self):
        return "01" + "".join(self.random.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(24))

    def salt(self):
        return self.random.randbytes(16)

    def now(self):
        self.clock += 1000
        return self.clock

    def leaf(self, kind, **members):
        """Append a leaf. Returns its number."""
        text = form.leaf_text(kind, **members)
        insert(self.db, "leaves", {"n": len(self.leaves), "leaf": text})
        self.leaves.append(text)
        return len(self.leaves) - 1

    def new_key(self):
        """The first key, or the next one, with its leaf."""
        before, old_seed = self.key, self.seed
        self.seed = self.random.randbytes(32)
        self.key = form.verifier_key(KEY_NAME, ed25519.public_key(self.seed))
        text = form.key_statement(self.name, self.key, before)
        signatures = [s and base64.b64encode(ed25519.sign(s, text)).decode() for s in (self.seed, old_seed)]
        self.leaf("key", at_us=self.now(), key=self.key, previous=before, signature=signatures[0], previous_signature=signatures[1])
        return self.key

    def checkpoint(self):
        """Sign the log as it is. Returns the note."""
        root = form.tree_hash([form.leaf_hash(text.encode()) for text in self.leaves])
        note = form.make_note(self.seed, KEY_NAME, form.checkpoint_text(self.name, len(self.leaves), root))
        insert(self.db, "checkpoints", {"size": len(self.leaves), "at_us": self.now(), "note": note})
        return note

    def session(self, **more):
        return Session(self, **more)

    def uncovered(self, id):
        """A session as it was recorded before the upgrade."""
        insert(self.db, "sessions", {"id": id, "uid": self.new_uid(), "name": "old", "command": "[]", "started_at_us": self.now(),
                                     "ended_at_us": self.now(), "end_reason": "client-closed", "exit_status": 0, "pid": 9, "host": "h",
                                     "record_level": "full", "interposer_version": "0.1.0"})
        for seq in (1, 2):
            insert(self.db, "messages", {"id": (id << 36) + seq, "session_id": id, "seq": seq, "t_us": seq, **CALL, "body": "{}", "size": 2})
        insert(self.db, "events", {"session_id": id, "t_us": 1, "kind": "spawn", "detail": '{"pid":9}'})

    def fill(self, id):
        """The rows of a session in the table `calls`."""
        for row in calls.calls_of(calls.rows_of(self.db, "messages", calls.NEEDED, id)).values():
            insert(self.db, "calls", row)
        self.db.execute("UPDATE sessions SET calls = 1 WHERE id = ?", (id,))

    def close(self):
        for id, in self.db.execute("SELECT id FROM sessions WHERE salt IS NOT NULL AND calls IS NULL").fetchall():
            self.fill(id)
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()


class Session:
    """Records of a session; `first` has their commitments in the order of their places."""

    def __init__(self, vault, name="files", messages=0, running=None):
        self.vault, self.db = vault, vault.db
        vault.ids += 1
        self.id, self.uid, self.seq, self.t_us, self.first, self.tree, self.file_end = vault.ids, vault.new_uid(), 0, 0, [], b"", 0
        host = socket.gethostname() if running else ""
        row = {"uid": self.uid, "name": name, "command": '["files","/home/é"]', "started_at_us": vault.now(), "pid": running or 4321,
               "host": host, "record_level": "full", "interposer_version": "0.5.0", "redact_rules": None}
        tail = {"cwd": "/home/é" if self.id % 2 == 0 else None, "tools_rule": "mcp" if self.id % 3 == 0 else None}
        salt, c = self.commit("session", [*row.values(), *form.tail(tail.values())])
        insert(self.db, "sessions", {"id": self.id, **row, **tail, "salt": salt, "commitment": c, "records": 1, "tree": b""})
        vault.leaf("open", session=self.uid, id=self.id, commitment=c.hex())
        self.add(c)
        if running:
            insert(self.db, "running", {"session_id": self.id, **process(running)})
        self.event("spawn", '{"pid":4322}')
        for i in range(messages):
            self.message('{"jsonrpc":"2.0","id":%d,"method":"tools/call"}' % i, **(CALL if i % 2 == 0 else FULL))

    def commit(self, kind, values):
        salt = self.vault.salt()
        return salt, form.commitment(salt, [kind, *values])

    def add(self, c):
        self.first.append(c)
        if len(self.first) % form.GROUP == 0:
            self.tree = form.subtrees(self.first)
        self.db.execute("UPDATE sessions SET records = ?, tree = ? WHERE id = ?", (len(self.first), self.tree, self.id))

    def message(self, body, **columns):
        """A body of more than 64 KiB goes to Bodies/."""
        columns = BARE | columns
        self.seq += 1
        self.t_us += 250
        row = {"seq": self.seq, "t_us": self.t_us, "size": len((body or "").encode()), **columns}
        revision = "2026-07-28" if self.seq % 5 == 0 else None
        salt, c = self.commit("message", [*(row[f] for f in form.MESSAGE_FIELDS), body, *form.tail([revision])])
        row |= {"revision": revision, "body": body, "body_offset": None, "body_length": None}
        if body is not None and len(body.encode()) > LARGE:
            row |= {"body": None, "body_offset": self.file_end, "body_length": len(body.encode())}
            with open(self.vault.path / "Bodies" / self.uid, "ab") as file:
                file.write(body.encode() + b"\n")
                self.file_end = file.tell()
        insert(self.db, "messages", {"id": (self.id << 36) + self.seq, "session_id": self.id, **row, "salt": salt, "commitment": c})
        self.add(c)
        return self.seq

    def event(self, kind, detail):
        salt, c = self.commit("event", [self.t_us, kind, detail])
        insert(self.db, "events", {"session_id": self.id, "t_us": self.t_us, "kind": kind, "detail": detail, "salt": salt,
                                   "commitment": c, "place": len(self.first)})
        self.add(c)

    def finding(self, seq, names):
        """A finding that is added later."""
        self.db.execute("UPDATE messages SET finding = coalesce(finding || ',', '') || ? WHERE id = ?", (names, (self.id << 36) + seq))
        self.event("finding-added", '{"seq":%d,"finding":"%s"}' % (seq, names))

    def end(self, reason="client-closed", status=0):
        self.event("exit", '{"status":0}')
        values = {"client_name": "client", "client_version": "1", "server_name": None, "server_version": "", "protocol_version":
                  "2025-11-25", "ended_at_us": self.vault.now(), "end_reason": reason, "exit_status": status}
        salt, c = self.commit("end", values.values())
        values |= {"end_salt": salt, "end_commitment": c}
        self.db.execute(f"UPDATE sessions SET {', '.join(f'{k} = ?' for k in values)} WHERE id = ?", [*values.values(), self.id])
        self.db.execute("DELETE FROM running WHERE session_id = ?", (self.id,))
        self.reason = reason
        self.seal()
        return self

    def kill(self):
        return self.end("killed", None)

    def seal(self):
        c, = self.db.execute("SELECT end_commitment FROM sessions WHERE id = ?", (self.id,)).fetchone()
        self.vault.leaf("seal", session=self.uid, at_us=self.vault.now(), end=self.reason, commitment=c.hex(),
                        records=len(self.first), root=form.session_root(self.first).hex())

    def redact(self, changes):
        """changes: {record: {column: value}}; each gets a new salt and commitment, and the old one goes to `replaced`."""
        n, lines = len(self.vault.leaves), []
        for record, columns in changes.items():
            old, new = self.replace(record, columns)
            insert(self.db, "replaced", {"session_id": self.id, "record": record, "leaf": n, "commitment": old})
            lines.append((record, old, new))
        self.vault.leaf("redact", session=self.uid, at_us=self.vault.now(), records=len(lines),
                        digest=form.sha256(form.digest_input(lines)).hex())

    def replace(self, record, columns):
        kind, _, number = record.partition(" ")
        table, fields, where = {"session": ("sessions", form.SESSION_FIELDS + form.SESSION_TAIL, f"id = {self.id}"),
                                "end": ("sessions", form.END_FIELDS, f"id = {self.id}"),
                                "message": ("messages", (*form.MESSAGE_FIELDS, "body", *form.MESSAGE_TAIL), f"id = {(self.id << 36) + int(number or 0)}"),
                                "event": ("events", form.EVENT_FIELDS, f"session_id = {self.id} AND place = {number or 0}")}[kind]
        prefix = "end_" if kind == "end" else ""
        row = dict(zip(fields, self.db.execute(f"SELECT {', '.join(fields)} FROM {table} WHERE {where}").fetchone()))
        old, = self.db.execute(f"SELECT {prefix}commitment FROM {table} WHERE {where}").fetchone()
        values = row | columns
        if kind == "message":       # the commitment is without findings that were added later
            found = self.db.execute("SELECT detail FROM events WHERE session_id = ? AND kind = 'finding-added'", (self.id,)).fetchall()
            added = [d.split('"')[-2] for d, in found if f'"seq":{number},' in d]
            values["finding"] = (values["finding"] or "").removesuffix(",".join(added)).removesuffix(",") or None
        n = {"session": len(form.SESSION_FIELDS), "message": len(form.MESSAGE_FIELDS) + 1}.get(kind, len(values))
        values = list(values.values())
        salt, new = self.commit(kind, values[:n] + form.tail(values[n:]))
        columns = columns | {f"{prefix}salt": salt, f"{prefix}commitment": new}
        self.db.execute(f"UPDATE {table} SET {', '.join(f'{k} = ?' for k in columns)} WHERE {where}", list(columns.values()))
        return old, new

    def prune(self, all=True):
        """all: False: it was interrupted after its first transaction, which removes 200 messages."""
        self.vault.leaf("prune", session=self.uid, at_us=self.vault.now())
        self.db.execute("DELETE FROM messages WHERE session_id = ? AND (? OR seq <= 200)", (self.id, all))
        if all:
            for table, column in (("events", "session_id"), ("replaced", "session_id"), ("sessions", "id")):
                self.db.execute(f"DELETE FROM {table} WHERE {column} = ?", (self.id,))
            (self.vault.path / "Bodies" / self.uid).unlink(missing_ok=True)
