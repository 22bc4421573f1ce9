"""Honest histories made by build_vault.py: none may be called tampered. Each function returns [(name, what Check takes)]."""
import os

from build_vault import CALL, Vault

HONEST = []


def history(name, **options):
    """The function gets an empty Vault, and returns {session: status}."""
    def note(build):
        def make(path):
            v = Vault(path, **options)
            statuses = build(v)
            v.close()
            return [("", {"statuses": statuses})]
        HONEST.append((name, make))
        return build
    return note


@history("an empty vault")
def empty(v):
    return {}


@history("an empty vault with a key and checkpoints")
def keys(v):
    for _ in range(3):
        v.new_key()
        v.checkpoint()
    return {}


for count in (0, 61, 62, 63, 64, 125, 126, 127, 190, 64 * 64 + 1):
    @history(f"{count} messages")
    def size(v, n=count):
        v.session(messages=n).end()
        v.session(messages=n)
        return {1: "valid, not anchored", 2: "incomplete"}


@history("sessions before the upgrade, one of them pruned", after=3)
def upgrade(v):
    v.uncovered(1)
    v.uncovered(3)
    v.leaf("prune", session=v.new_uid(), at_us=v.now())
    v.session(messages=2).end()
    return {1: "not covered", 3: "not covered", 4: "valid, not anchored"}


@history("open, killed, ended, pruned, half pruned")
def states(v):
    v.session(messages=2, running=os.getpid())
    v.session(messages=2, running=2**22 + 5)
    v.session(messages=2).kill()
    v.session(messages=70).end("server-hung", 143)
    v.session(messages=2).end().prune()
    v.session(messages=205).end().prune(all=False)
    return {1: "open", 2: "incomplete", 3: "incomplete", 4: "valid, not anchored", 5: None, 6: "being removed"}


@history("the newest number of records and tree are in the table journals")
def in_journals(v):
    s = v.session(messages=70)
    old = v.db.execute("SELECT records, tree FROM sessions WHERE id = 1").fetchone()
    for _ in range(70):
        s.message("later")
    v.db.execute("INSERT INTO journals (session_id, position, records, tree) SELECT id, 1, records, tree FROM sessions")
    v.db.execute("UPDATE sessions SET records = ?, tree = ?", old)
    return {1: "incomplete"}


@history("two sessions at once")
def at_once(v):
    a, b = v.session(), v.session()
    for i in range(100):
        (a, b)[i % 3 == 0].message("x" * i, **CALL)
    b.end()
    a.end()
    return {1: "valid, not anchored", 2: "valid, not anchored"}


@history("bodies of many lengths, some in Bodies, some missing")
def bodies(v):
    s = v.session()
    for text in (None, "", "a", "a\0b", "é" * 63, "x" * 126, "x" * 127, "x" * 16383, "x" * 65536, "x" * 65537, "ü" * 40000, None):
        s.message(text, **CALL)
    s.end()
    return {1: "valid, not anchored"}


@history("findings added, redacted, added again, and a late gap")
def findings(v):
    s = v.session(messages=9)
    s.finding(2, "drift")
    s.finding(2, "more,names")
    s.finding(3, "only")
    s.end()
    s.redact({"message 2": {"body": "r"}, "message 3": {"body": None}, "event 1": {"detail": None}, "end": {"client_name": "r"}})
    s.event("gap", '{"reason":"full","lost":1}')
    s.seal()
    s.redact({"message 2": {"body": "rr"}, "session": {"name": "r"}, "end": {"client_name": "rr"}})
    s.finding(4, "late")
    s.seal()
    return {1: "redacted"}


@history("a redacted session that was killed, one that was not sealed")
def redacted(v):
    s = v.session(messages=70).kill()
    s.redact({f"message {seq}": {"body": "r"} for seq in range(1, 13)})
    s = v.session(messages=70)
    s.redact({"message 2": {"body": "r"}})
    s.message("after")
    s.event("exit", None)
    return {1: "incomplete", 2: "incomplete"}
