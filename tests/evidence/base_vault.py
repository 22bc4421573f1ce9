"""The vault that tests/evidence/mutate.py changes, and earlier, later and other states of it."""
import functools
import shutil
import sqlite3
import tempfile
from pathlib import Path

import form
from build_vault import CALL, Vault

ENDED, SHORT, REDACTED, PRUNED, KILLED, LAST = 1, 2, 3, 4, 5, 6     # the sessions
LARGE_1, LARGE_2 = 151, 152                                         # messages of ENDED with bodies in Bodies/


class Base:
    """uids and keys of the vault; early: the state when the note `early` was signed."""


def build(path, other="", until=None):
    """`other` is added to what is recorded after the note `early`; until: "early" stops there."""
    base, v = Base(), Vault(path)
    base.vault, base.key, base.seed = v.name, v.new_key(), v.seed
    s = v.session(messages=150)
    s.message("a" * 70000, **CALL)
    s.message("b" * 70000, **CALL)
    s.finding(3, "drift")
    s.message(None, **CALL)
    s.finding(3, "later,too")
    s.event("tool-changed", None)
    s.end()
    v.session(messages=5).end()
    s = v.session(messages=5)
    s.finding(2, "drift")
    s.end()
    s.redact({"message 2": {"body": "[redacted]"}, "event 1": {"detail": "{}"}, "session": {"name": "r"}, "end": {"client_name": "r"}})
    s.redact({"message 2": {"body": "[redacted again]"}})
    base.early = v.checkpoint()
    if until != "early":
        v.session(messages=4).end().prune()
        v.session(messages=70, name="killed" + other)
        base.note = v.checkpoint()
        v.session(messages=10, name="last" + other).end()
    base.uids = dict(v.db.execute("SELECT id, uid FROM sessions"))
    v.close()
    return base


class States:
    """Folders with the vault and its other states, made once."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="evidence-base-"))
        self.base = build(self.folder / "now")
        build(self.folder / "early", until="early")
        build(self.folder / "other", other="!")

    def copy(self, state, path):
        shutil.copytree(self.folder / state, path)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def states():
    return States()


class Copy:
    """A copy of the vault, to be changed."""

    def __init__(self, path):
        states().copy("now", path)
        self.path, self.base = path, states().base
        self.db = sqlite3.connect(path / "interposer.db", isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")

    def sql(self, statement, *values):
        """Returns the rows. A statement that changes nothing is an error."""
        before = self.db.total_changes
        rows = self.db.execute(statement, values).fetchall()
        if statement.split()[0] in ("UPDATE", "DELETE", "INSERT"):
            assert self.db.total_changes > before, statement
        return rows

    def one(self, statement, *values):
        return self.sql(statement, *values)[0][0]

    def leaves(self):
        return [text for text, in self.sql("SELECT leaf FROM leaves ORDER BY n")]

    def leaf_of(self, kind, session):
        """The number of the first leaf of this type of a session."""
        wanted = f'{{"type":"{kind}","session":"{self.base.uids[session]}"'
        return next(n for n, text in enumerate(self.leaves()) if text.startswith(wanted))

    def append(self, kind, **members):
        """Append a leaf. Returns its number."""
        n = len(self.leaves())
        self.sql("INSERT INTO leaves VALUES (?, ?)", n, form.leaf_text(kind, **members))
        return n

    def remove_leaf(self, n, close=True):
        """`close`: number the following ones again."""
        self.sql("DELETE FROM leaves WHERE n = ?", n)
        if close:
            for i in range(n + 1, self.one("SELECT max(n) FROM leaves") + 1):
                self.sql("UPDATE leaves SET n = ? WHERE n = ?", i - 1, i)

    def sign_again(self, seed, name="mcp-interposer-audit"):
        """Every checkpoint, over the log as it is now."""
        hashes = [form.leaf_hash(text.encode()) for text in self.leaves()]
        for size, in self.sql("SELECT size FROM checkpoints"):
            text = form.checkpoint_text(self.base.vault, size, form.tree_hash(hashes[:size]))
            self.sql("UPDATE checkpoints SET note = ? WHERE size = ?", form.make_note(seed, name, text), size)

    def bodies(self, session):
        return self.path / "Bodies" / self.base.uids[session]

    def close(self):
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()
