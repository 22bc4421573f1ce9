#!/usr/bin/env python3
"""A verifier of vaults that knows nothing but docs/evidence.md: the second opinion on `audit verify`.

    tests/evidence/verifier.py VAULT [--against NOTE] [--key KEY]

NOTE is a file with a signed checkpoint, KEY a verifier key. Prints a line for each session, one for each thing that is
wrong in the log, and a verdict. Exit status: 0 valid, 1 tampered or incomplete, 2 usage, 3 not readable.
"""
import argparse
import json
import os
import re
import sqlite3
import sys
from pathlib import Path

import form
import layout
from form import Malformed

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
import calls  # noqa: E402

LAST = (1 << 36) - 1        # the highest seq
OK = ("valid", "valid, not anchored", "redacted", "open", "not covered")
HOLES = 16 << 20            # bytes of a body that may be in holes of its file
AT_ONCE = 200               # messages that `prune` removes in one transaction
FILLED_AT_ONCE = 1000       # messages whose calls are added in one transaction


class Wrong(Exception):
    """The first thing that is wrong in a session, or something in the log. kind: a word of docs/evidence.md."""

    def __init__(self, kind, text, record=None):
        super().__init__(text)
        self.kind, self.text, self.record = kind, text, record


class Report:
    """log: [Wrong]. sessions: [{id, uid, status, kind, record, text}] in the order of their ids; id is None if only the
    log knows the session."""

    def __init__(self):
        self.log, self.sessions = [], []

    @property
    def verdict(self):
        statuses = [s["status"] for s in self.sessions]
        if self.log or "TAMPERED" in statuses:
            return "TAMPERED"
        for status, verdict in (("incomplete", "incomplete"), ("being removed", "incomplete"), ("valid, not anchored",) * 2):
            if status in statuses:
                return verdict
        return "valid"

    def kinds(self):
        return {w.kind for w in self.log} | {s["kind"] for s in self.sessions if s["kind"]}


def need(fact, kind, text, record=None):
    if not fact:
        raise Wrong(kind, text, record)


FINDING = 1 + form.MESSAGE_FIELDS.index("finding")     # behind the kind of record


def tail_of(row, columns):
    """The tail of a record, whose columns a vault of version 3 does not have."""
    return form.tail(row[c] for c in columns if c in row.keys())


# --- the log --------------------------------------------------------------------------------------

class Log:
    """The leaves, by what they say. What is wrong in them goes to report.log."""

    def __init__(self, db, report, against, key):
        self.report = report
        self.texts, self.hashes, self.vault, self.after = [], [], None, 0
        self.open, self.seals, self.pruned, self.redactions = {}, {}, set(), {}
        self.keys = []                      # (n, verifier key)
        self.anchored = 0                   # leaves that the note of --against has signed
        gap = False
        for i, (n, leaf) in enumerate(db.execute("SELECT n, leaf FROM leaves ORDER BY n")):
            if n != i and not gap:
                gap = True
                self.wrong("removed", f"leaf {i} is missing, and {n} follows")
            self.texts.append(leaf)
            self.hashes.append(form.leaf_hash(leaf))
            try:
                self.take(n, form.parse_leaf(leaf))
            except (Malformed, Wrong) as e:
                self.wrong(getattr(e, "kind", "changed"), f"leaf {n} {e}")
        if not self.texts:
            self.wrong("removed", "the log is empty")
        sizes = {size for size, in db.execute("SELECT size FROM checkpoints")}
        self.roots = self.roots_of({min(s, len(self.hashes)) for s in sizes | {against.size if against else 0}})
        for size, note in db.execute("SELECT size, note FROM checkpoints ORDER BY size"):
            self.check(self.check_note, size, note)
        if against:
            self.check(self.check_against, against, key)
        if key:
            self.check(self.check_trusted, key)

    def wrong(self, kind, text):
        self.report.log.append(Wrong(kind, text))

    def check(self, function, *arguments):
        try:
            function(*arguments)
        except Wrong as e:
            self.report.log.append(e)

    def roots_of(self, sizes):
        return {size: form.tree_hash(self.hashes[:size]) for size in sizes}

    def take(self, n, leaf):
        kind, uid = leaf["type"], leaf.get("session")
        need((kind == "begin") == (n == 0), "changed", "is a leaf begin, or leaf 0 is not")
        if kind == "begin":
            need(leaf["version"] == 1, "changed", "has a version that is not known")
            self.vault, self.after = leaf["vault"], leaf["after"]
        elif kind == "open":
            need(uid not in self.open, "added", "opens a session again")
            need(leaf["id"] > self.after, "changed", "opens a session that is not covered")
            self.open[uid] = leaf | {"n": n}
        elif kind == "seal":
            need(uid in self.open, "added", "seals a session that was not opened")
            self.seals.setdefault(uid, []).append(leaf | {"n": n})
        elif kind == "prune":
            self.pruned.add(uid)
        elif kind == "redact":
            need(uid in self.open, "added", "redacts a session that was not opened")
            self.redactions.setdefault(uid, {})[n] = leaf
        else:
            self.take_key(n, leaf)

    def take_key(self, n, leaf):
        before = self.keys[-1][1] if self.keys else None
        need(leaf["previous"] == before, "signature", "does not follow the key before it")
        statement = form.key_statement(self.vault, leaf["key"], before)
        need(self.signed(leaf["key"], statement, leaf["signature"]), "signature", "has a wrong signature")
        if before is None:
            need(leaf["previous_signature"] is None, "signature", "has a signature of a key that is not there")
        else:
            need(leaf["previous_signature"] and self.signed(before, statement, leaf["previous_signature"]), "signature",
                 "has a wrong signature of the key before it")
        self.keys.append((n, leaf["key"]))

    @staticmethod
    def signed(key, text, signature):
        return form.ed25519.verify(form.parse_key(key)[2], text, form.base64_bytes(signature, 64))

    def key_at(self, size):
        """The key of a checkpoint of this size, or None."""
        return next((key for n, key in reversed(self.keys) if n < size), None)

    def check_note(self, size, text):
        name = f"checkpoint {size}"
        try:
            note = form.Note(text.decode())
        except (Malformed, UnicodeDecodeError) as e:
            raise Wrong("changed", f"{name} {e}") from None
        need(note.size == size, "changed", f"{name} is the note of size {note.size}")
        need(note.origin == form.origin(self.vault), "changed", f"{name} is of another vault")
        need(size <= len(self.hashes), "removed", f"{name}: the log has only {len(self.hashes)} leaves")
        key = self.key_at(size)
        need(key and note.signed_by(key), "signature", f"{name} is not signed with the key of that time")
        need(note.root == self.roots[size], "changed", f"{name}: the leaves before it are not those that were signed")

    def check_against(self, note, key):
        need(note.origin == form.origin(self.vault), "forked", "the note is of another vault")
        need(note.size <= len(self.hashes), "rolled back", f"the note has {note.size} leaves, the log {len(self.hashes)}")
        need(note.root == self.roots[note.size], "forked", "the log is not a continuation of the note")
        signer = self.key_at(note.size)
        need(signer and note.signed_by(signer), "signature", "the note is not signed with the key of that time")
        self.anchored = note.size

    def check_trusted(self, key):
        need(key in [k for _, k in self.keys], "signature", "the given key is not a key of this vault")


# --- one session ----------------------------------------------------------------------------------

class Record:
    def __init__(self, name, kind, row, fields, salt="salt", stored="commitment"):
        self.name, self.salt, self.stored = name, row[salt], row[stored]
        self.values = [kind, *(row[f] for f in fields)]
        self.first = self.stored        # the commitment that is in the tree


class Session:
    """Reads a session's records. check() raises Wrong."""

    def __init__(self, db, vault, row, log):
        self.db, self.vault, self.row, self.log = db, vault, row, log
        self.id, self.uid = row["id"], text_of(row["uid"])
        self.seals = log.seals.get(self.uid, [])
        self.seal = self.seals[-1] if self.seals else None      # the one that counts
        self.redactions = log.redactions.get(self.uid, {})
        newer = db.execute("SELECT records, tree FROM journals WHERE session_id = ?", (self.id,)).fetchone()
        self.state = max((row, newer or row), key=lambda r: r["records"] or 0)
        self.body_bytes = 0

    def status(self):
        if 1 <= self.id <= self.log.after and self.uid not in self.log.open:
            return "not covered"
        if self.uid in self.log.pruned:
            first, = self.db.execute("SELECT min(id) FROM messages WHERE id BETWEEN ? AND ?", (self.id << 36, (self.id << 36) + LAST)).fetchone()
            need(self.uid not in self.log.open or (first and first & LAST > AT_ONCE), "added", "the log says that it was removed")
            return "being removed"
        self.check()
        if self.seal is None:
            return "open" if self.running() else "incomplete"
        if self.row["end_reason"] == b"killed":
            return "incomplete"
        if self.redactions:
            return "redacted"
        return "valid" if self.seal["n"] < self.log.anchored else "valid, not anchored"

    def running(self):
        rows = self.db.execute("SELECT pid FROM running WHERE session_id = ?", (self.id,))
        return any(os.path.exists(f"/proc/{row[0]}") for row in rows)

    def check(self):
        row, opened, ended = self.row, self.log.open.get(self.uid), self.row["ended_at_us"] is not None
        need(opened, "added", "the log has no leaf that opens it")
        need(opened["id"] == self.id, "changed", f"it was opened as number {opened['id']}", "session")
        need(not ended or self.seal, "removed", "it has ended, and the log has no seal")
        need(ended or not self.seal, "changed", "it is sealed, and its row says that it has not ended", "end")
        records = self.records()
        self.count(len(records))
        end = [Record("end", "end", row, form.END_FIELDS, "end_salt", "end_commitment")] if ended else []
        self.replaced({r.name: r for r in records + end})
        for r in records + end:
            need(isinstance(r.stored, bytes) and len(r.stored) == 32 and isinstance(r.salt, bytes) and len(r.salt) == 16,
                 "changed", "has no salt or no commitment", r.name)
            need(r.stored == form.commitment(r.salt, r.values), "changed", "is not what the commitment is of", r.name)
        need(records[0].first.hex() == opened["commitment"], "exchanged", "is not the one that the log has opened", "session")
        self.check_tree([r.first for r in records])
        if ended:
            need(self.at_seal.hex() == self.seal["commitment"], "exchanged", "is not the one that was sealed", "end")
            need(text_of(row["end_reason"]) == self.seal["end"], "changed", "the seal states another end", "end")
        need(ended or row["end_commitment"] is None, "changed", "has the record end and no end", "end")
        if "calls" in row.keys():
            self.check_calls(ended)

    def check_calls(self, ended):
        """The rows of the table `calls`."""
        if self.row["calls"] == 1:
            wrong = calls.difference(self.db, self.id)
            if wrong:
                kind, seq, text = wrong
                raise Wrong(kind, text, f"call {seq}")
            return
        low = self.id << 36
        first, = self.db.execute("SELECT min(id) FROM calls WHERE id BETWEEN ? AND ?", (low, low + LAST)).fetchone()
        n, = self.db.execute("SELECT count(*) FROM messages WHERE id BETWEEN ? AND ?", (low, low + LAST)).fetchone()
        need(first is None or (ended and n > FILLED_AT_ONCE), "added", "is in calls, and the session is not filled in",
             f"call {(first or 0) & LAST}")

    def count(self, n):
        wanted = self.seal["records"] if self.seal else self.state["records"]
        need(wanted is not None, "changed", "has no number of records", "session")
        need(n >= wanted, "removed", f"{n} records are left of {wanted}", self.missing)
        need(n <= wanted, "added", f"{n} records, and only {wanted} are stated", self.unknown)
        need(self.state["records"] == n, "changed", "the number of records in its row is another one", "session")

    def check_tree(self, commitments):
        for seal in self.seals:
            need(seal["records"] <= len(commitments) and form.session_root(commitments[:seal["records"]]).hex() == seal["root"],
                 "exchanged", "the records are not those that were sealed")
        need(self.state["tree"] == form.subtrees(commitments), "exchanged" if not self.seal else "changed",
             "the records are not those of its tree")

    # records

    def records(self):
        """All in the order of their places."""
        messages, events = self.messages(), self.events()
        n = 1 + len(messages) + len(events)
        first = Record("session", "session", self.row, form.SESSION_FIELDS)
        first.values += tail_of(self.row, form.SESSION_TAIL)
        places = [first] + [None] * (n - 1)
        self.missing, self.unknown = self.gap_in(messages, events), None
        for r in events:
            if r.place is None or r.place < 1 or r.place >= n or places[r.place]:
                # what remains after records were removed does not fill the places
                need(not self.fewer(n), "removed", f"{n} records are left", self.missing)
                raise Wrong("moved", "has a place that it cannot have", r.name)
            places[r.place] = r
        rest = iter(messages)
        return [r or next(rest) for r in places]

    def fewer(self, n):
        return n < (self.seal["records"] if self.seal else self.state["records"] or 0)

    def messages(self):
        out, low = [], self.id << 36
        for row in self.db.execute("SELECT * FROM messages WHERE id BETWEEN ? AND ? ORDER BY id", (low, low + LAST)):
            name = f"message {row['seq']}"
            need(row["session_id"] == self.id and row["id"] == low + row["seq"], "changed", "has the id of another one", name)
            r = Record(name, "message", row, form.MESSAGE_FIELDS)
            r.values.append(self.body(row, name))
            r.values += tail_of(row, form.MESSAGE_TAIL)
            r.seq = row["seq"]
            out.append(r)
        return out

    def body(self, row, name):
        if row["body_length"] is None:
            need(row["body_offset"] is None, "changed", "has an offset and no length of its body", name)
            return row["body"]
        need(row["body"] is None, "changed", "has two bodies", name)
        try:
            with open(self.vault / "Bodies" / self.uid, "rb") as file:
                self.body_bytes += row["body_length"]
                need(self.body_bytes <= os.fstat(file.fileno()).st_size, "changed", "has the bytes of another body", name)
                need(holes(file.fileno(), row["body_offset"], row["body_length"]) <= HOLES, "changed", "has a body with a hole", name)
                file.seek(row["body_offset"])
                return file.read(row["body_length"])
        except (OSError, TypeError, ValueError):
            raise Wrong("changed", "has no body in Bodies", name) from None

    def events(self):
        out, found = [], self.db.execute("SELECT * FROM events WHERE session_id = ? ORDER BY id", (self.id,))
        for row in found:
            r = Record(f"event {row['place']}", "event", row, form.EVENT_FIELDS)
            r.place = row["place"]
            need(not out or r.place is None or r.place > (out[-1].place or 0), "moved", "is not in the order of its place", r.name)
            out.append(r)
        return out

    def gap_in(self, messages, events):
        """The name of the first message that is missing, or None if it is not known."""
        expected = 1
        for r in messages:
            if r.seq != expected and not any(e.values[2] == b"gap" for e in events):
                return f"message {expected}"
            expected = r.seq + 1
        return None

    # what was changed later

    def undo_findings(self, records):
        """The column `finding` of each message, without what was added later."""
        for r in reversed(list(records.values())):
            if r.values[:1] != ["event"] or r.values[2] != b"finding-added":
                continue
            try:
                detail = json.loads(r.values[3])
                message, added = records[f"message {detail['seq']}"], detail["finding"].encode()
            except (ValueError, KeyError, TypeError, AttributeError):
                raise Wrong("changed", "does not say which finding was added", r.name) from None
            now = message.values[FINDING]
            if now == added:
                message.values[FINDING] = None
            else:
                need(now is not None and now.endswith(b"," + added), "changed", f"has no finding {detail['finding']}", message.name)
                message.values[FINDING] = now[:-len(added) - 1]

    def replaced(self, records):
        self.undo_findings(records)
        query = "SELECT record, leaf, commitment FROM replaced WHERE session_id = ? ORDER BY leaf DESC, record"
        later, changes = {name: r.stored for name, r in records.items()}, {n: [] for n in self.redactions}
        self.at_seal = later.get("end")     # the commitment of the record `end` when it was sealed
        for record, n, old in self.db.execute(query, (self.id,)):
            name = text_of(record)
            need(n in changes, "changed", "was replaced by a leaf that is not a redaction of this session", name)
            need(name in records and isinstance(later[name], bytes), "removed", "was redacted and is missing", name)
            changes[n].append((name, old, later[name]))
            later[name] = old
            if name == "end" and self.seal and n > self.seal["n"]:
                self.at_seal = old
        for n, leaf in self.redactions.items():
            need(len(changes[n]) == leaf["records"], "changed", f"its redaction in leaf {n} is of {leaf['records']} records")
            need(form.sha256(form.digest_input(changes[n])).hex() == leaf["digest"], "changed",
                 f"its redaction in leaf {n} is of other records")
        for name, r in records.items():
            r.first = later[name]


def holes(fd, offset, length):
    """How many of these bytes are in holes of the file."""
    at, end, found = offset, offset + length, 0
    while at < end and found <= HOLES:
        hole = os.lseek(fd, at, os.SEEK_HOLE)
        try:
            at = os.lseek(fd, hole, os.SEEK_DATA)
        except OSError:             # no data follows
            at = end
        found += max(0, min(at, end) - hole)
    return found


def text_of(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


# --- the vault ------------------------------------------------------------------------------------

def connect(vault):
    db = sqlite3.connect(f"file:{Path(vault).absolute()}/interposer.db?mode=ro", uri=True, isolation_level=None)
    db.row_factory, db.text_factory = sqlite3.Row, bytes
    db.execute("BEGIN")
    return db


def orphans(db, rows, log, report):
    """Messages, events and calls of sessions that do not exist."""
    gone = {leaf["id"] for uid, leaf in log.open.items() if uid in log.pruned}
    columns = [("messages", "id >> 36"), ("messages", "session_id"), ("events", "session_id"), ("replaced", "session_id")]
    if db.execute("PRAGMA user_version").fetchone()[0] >= 4:
        columns.append(("calls", "id >> 36"))
    for table, column in columns:
        for id, in db.execute(f"SELECT DISTINCT {column} FROM {table}"):
            if id not in rows and id not in gone and not 1 <= id <= log.after:
                report.log.append(Wrong("added", f"{table} has rows of session {id}, which does not exist"))


def foreign(db, log, report):
    """Messages whose id is not of their session, and in no session that is verified."""
    for id, other in db.execute("SELECT DISTINCT id >> 36, session_id FROM messages WHERE session_id <> id >> 36"):
        if id <= log.after:
            report.log.append(Wrong("added", f"messages has rows of session {other} with an id of session {id}"))


def verify(vault_path, against=None, key=None):
    """A Report. against: the text of a note. key: a verifier key. Malformed if one of these is not; sqlite3.Error."""
    report, note = Report(), form.Note(against) if against else None
    if key:
        form.parse_key(key)
    db = connect(vault_path)
    try:
        faults, believed = layout.compare(db)
        report.log += [Wrong(kind, text, "database") for kind, text in faults]
        if not believed:
            return report
        tables = {name for name, in db.execute("SELECT name FROM sqlite_schema")}
        rows = {row["id"]: row for row in db.execute("SELECT * FROM sessions ORDER BY id")} if b"sessions" in tables else {}
        if b"leaves" not in tables:
            for id, row in rows.items():
                add(report, id, text_of(row["uid"]), "not covered")
            if note or key or db.execute("PRAGMA user_version").fetchone()[0] >= 3:
                report.log.append(Wrong("removed", "the vault has no log"))
            return report
        log = Log(db, report, note, key)
        for id, row in rows.items():
            session = Session(db, Path(vault_path), row, log)
            try:
                add(report, id, session.uid, session.status())
            except Wrong as e:
                add(report, id, session.uid, "TAMPERED", e)
        here = {s["uid"] for s in report.sessions}
        for uid, leaf in log.open.items():
            if uid not in here and uid not in log.pruned:
                add(report, None, uid, "TAMPERED", Wrong("removed", f"session {leaf['id']} is missing and was not pruned"))
        orphans(db, rows, log, report)
        foreign(db, log, report)
        return report
    finally:
        db.close()


def add(report, id, uid, status, wrong=None):
    report.sessions.append({"id": id, "uid": uid, "status": status, "kind": wrong and wrong.kind, "record": wrong and wrong.record,
                            "text": wrong and wrong.text})


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("vault")
    parser.add_argument("--against", metavar="NOTE")
    parser.add_argument("--key")
    a = parser.parse_args()
    try:
        report = verify(a.vault, Path(a.against).read_text() if a.against else None, a.key)
    except (OSError, sqlite3.Error, Malformed, UnicodeDecodeError) as e:
        print(f"verifier: {e}", file=sys.stderr)
        return 3
    for s in report.sessions:
        what = f": {s['kind']}: {s['record'] or 'session'}: {s['text']}" if s["kind"] else ""
        print(f"{s['id'] or '-'} {s['uid']} {s['status']}{re.sub('[^ -~]', '?', what)}")
    for w in report.log:
        print(f"log: {w.kind}: {re.sub('[^ -~]', '?', w.text)}")
    print(report.verdict)
    return 0 if report.verdict in OK else 1


if __name__ == "__main__":
    sys.exit(main())
