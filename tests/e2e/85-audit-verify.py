#!/usr/bin/env python3
"""audit verify: every status, changes of recorded sessions, checkpoints and anchors, the forms of its output."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ET

import lib
from lib import call, case, check, eq, text_result, wait_until
from replaying import junit, sarif


def session(t, calls=3, size=20, vault=None):
    p = t.proxy(vault=vault).initialize()
    for i in range(calls):
        p.client.send(call(100 + i))
        p.server.recv()
        p.server.send(text_result(100 + i, "x" * size))
        p.client.recv(10)
    p.end()


def change(vault, sql, *args):
    lib.settle()
    db = sqlite3.connect(vault / "interposer.db")
    with db:
        eq(db.execute(sql, args).rowcount > 0, True, f"changes something: {sql}")
    db.close()


def recorded(t, n):
    """Waits until n sessions are in the vault."""
    wait_until(lambda: len(t.run("sessions", "--json", "--limit", "0", "--vault", t.vault).stdout.splitlines()) >= n, 10, f"{n} sessions")


def verify(t, *args, vault=None, status=None):
    """(exit status, {session: object}, [object of the log], object of the vault)"""
    r = t.run("audit", "verify", "--json", "--vault", vault or t.vault, *args)
    check(r.returncode in (0, 1) if status is None else r.returncode == status, f"status {r.returncode}: {r.stderr.decode()}")
    rows = [json.loads(line) for line in r.stdout.splitlines()]
    eq(rows[-1]["type"], "vault", "the last object")
    sessions = {x["session_id"]: x for x in rows if x["type"] == "session"}
    return r.returncode, sessions, [x for x in rows if x["type"] == "log"], rows[-1]


def copy(t):
    lib.recorders_ended(t.vault)
    to = t.tmp / "copy"
    shutil.rmtree(to, ignore_errors=True)
    db = sqlite3.connect(t.vault / "interposer.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    shutil.copytree(t.vault, to)
    return to


def header(t, vault, *which):
    """What `show` says of the evidence of a session: in its header, and as JSON."""
    text = t.run("show", "--vault", vault, *which).stdout.decode()
    says = re.search(r"^evidence +(.*)$", text, re.M)[1]
    line = t.run("show", "--json", "--vault", vault, *which).stdout.splitlines()[0]
    eq(json.loads(line)["evidence"], says, "show --json")
    return says


def key(t):
    r = t.run("audit", "key", "new")
    eq(r.returncode, 0, r.stderr)
    return re.search(r"(\S+\+\S+\+\S+)", r.stdout.decode())[1]


@case("not anchored, anchored, redacted, pruned, named sessions; --key and --against")
def _(t):
    session(t)
    status, s, log, vault = verify(t)
    eq((status, s[1]["status"], log, vault["verdict"]), (0, "valid, not anchored", [], "valid"), "without a key")
    eq(s[1]["records"], t.rows("SELECT records FROM sessions")[0][0], "records")
    own = key(t)
    note = t.tmp / "note"
    note.write_bytes(t.run("audit", "checkpoint", "--vault", t.vault).stdout)
    status, s, log, vault = verify(t, "--against", note, "--key", own)
    eq((status, s[1]["status"], vault["unsigned"], vault["key"]), (0, "valid", 0, own), "anchored")
    session(t, size=100000)
    status, s, log, vault = verify(t, "--against", note)
    eq((s[1]["status"], s[2]["status"]), ("valid", "valid, not anchored"), "the second session is after the note")
    eq(verify(t, "--against", note, "2")[1].keys(), {2}, "named sessions")
    eq(t.run("redact", "--apply", "1", "--vault", t.vault, "--config", rules(t, "echo")).returncode, 0, "redact")
    status, s, log, vault = verify(t, "--against", note)
    eq((status, s[1]["status"], s[1]["redacted"] > 0), (0, "redacted", True), "redacted")
    text = t.run("audit", "verify", "--vault", t.vault).stdout.decode()
    check(re.search(r"session 1: \d+ records? (was|were) redacted, the last time", text), text)
    session(t)
    eq(t.run("prune", "--keep-last", "1", "--yes", "--vault", t.vault).returncode, 0, "prune")
    status, s, log, vault = verify(t)
    eq((status, list(s), log), (0, [3], []), "pruned sessions are not missed")


def rules(t, word):
    path = t.tmp / "rules.ini"
    path.write_text(f"[redact]\npattern.word = {word}\n")
    return path


CHANGES = [
    ("UPDATE messages SET body = replace(body, 'echo', 'evil') WHERE seq = 4", "changed", "message 4"),
    ("UPDATE messages SET method = 'tools/list' WHERE seq = 4", "changed", "message 4"),
    ("UPDATE messages SET t_us = t_us + 1 WHERE seq = 5", "changed", "message 5"),
    ("DELETE FROM messages WHERE seq = 1", "removed", "message 1"),
    ("DELETE FROM messages WHERE seq = 5", "removed", "message 5"),
    ("DELETE FROM messages WHERE seq > 6", "removed", None),
    ("UPDATE messages SET salt = zeroblob(16) WHERE seq = 2", "changed", "message 2"),
    ("UPDATE sessions SET name = 'other'", "changed", "session"),
    ("UPDATE sessions SET exit_status = 9", "changed", "end"),
    ("UPDATE sessions SET ended_at_us = NULL", "changed", "end"),
    ("UPDATE sessions SET records = records - 1", "changed", "session"),
    ("UPDATE events SET kind = 'gap' WHERE id = (SELECT min(id) FROM events)", "changed", "event 1"),
    ("DELETE FROM events WHERE id = (SELECT max(id) FROM events)", "removed", None),
    ("UPDATE events SET place = place + 500 WHERE id = (SELECT max(id) FROM events)", "moved", None),
    ("UPDATE messages SET body_offset = 1 WHERE body_length IS NOT NULL AND seq = 7", "changed", "message 7"),
    ("UPDATE calls SET status = 'error' WHERE id = 1 << 36 | 4", "changed", "call 4"),
    ("DELETE FROM calls WHERE id = 1 << 36 | 4", "removed", "call 4"),
    ("UPDATE calls SET id = id + 1 WHERE id = (SELECT max(id) FROM calls)", "removed", None),
    ("UPDATE sessions SET calls = NULL", "added", "call 1"),
    ("DELETE FROM leaves WHERE leaf LIKE '{\"type\":\"seal\"%'", "removed", None),
    ("DELETE FROM leaves WHERE leaf LIKE '{\"type\":\"open\"%'", "added", None),
]


@case("changes of a recorded session: the kind and the record are named, and the exit status is 1", limit=120)
def _(t):
    session(t, calls=4, size=90000)
    for sql, kind, record in CHANGES:
        vault = copy(t)
        change(vault, sql)
        status, s, log, about = verify(t, vault=vault)
        eq((status, about["verdict"], s[1]["status"], s[1]["kind"]), (1, "TAMPERED", "TAMPERED", kind), sql)
        if record:
            eq(s[1]["record"], record, sql)
    vault = copy(t)
    body, = (vault / "Bodies").iterdir()
    data = bytearray(body.read_bytes())
    data[len(data) // 2] ^= 1
    body.write_bytes(data)
    eq(verify(t, vault=vault)[1][1]["kind"], "changed", "one bit in Bodies/")
    body.unlink()
    _, s, *_ = verify(t, vault=vault)
    eq(s[1]["kind"], "changed", "no file in Bodies/")
    check("the message's body is missing in Bodies/" in s[1]["text"], s[1])
    vault = copy(t)
    for table, column in (("messages", "session_id"), ("events", "session_id"), ("sessions", "id")):
        change(vault, f"DELETE FROM {table} WHERE {column} = 1")
    status, s, *_ = verify(t, vault=vault)
    eq((status, s[None]["status"], s[None]["kind"]), (1, "TAMPERED", "removed"), "a removed session")
    vault = copy(t)
    change(vault, "DELETE FROM sessions")
    eq([x["kind"] for x in verify(t, vault=vault)[2]], ["added"] * 3, "messages, events and calls without a session")


@case("against a note: rolled back, forked, another vault, another key; not a note, no such file")
def _(t):
    session(t)
    own = key(t)
    old = copy(t)
    session(t)
    note = t.tmp / "note"
    note.write_bytes(t.run("audit", "checkpoint", "--vault", t.vault).stdout)
    shutil.move(old, t.tmp / "old")
    status, s, log, vault = verify(t, "--against", note, vault=t.tmp / "old")
    eq((status, [x["kind"] for x in log], s[1]["status"]), (1, ["rolled back"], "valid, not anchored"), "an older copy")
    check("it was rolled back or cut" in log[0]["text"], log)
    session(t, vault=t.tmp / "old")
    session(t, vault=t.tmp / "old")
    eq([x["kind"] for x in verify(t, "--against", note, vault=t.tmp / "old")[2]], ["forked"], "it went on by itself")
    session(t, vault=t.tmp / "another")
    eq([x["kind"] for x in verify(t, "--against", note, vault=t.tmp / "another")[2]], ["forked"], "another vault")
    eq(t.run("audit", "checkpoint", "--vault", t.tmp / "another").returncode, 0, "checkpoint")
    eq([x["kind"] for x in verify(t, "--key", own, vault=t.tmp / "another")[2]], [], "the same key for another vault")
    stranger = t.run("audit", "key", "new", "--audit-key", t.tmp / "k").stdout.decode()
    stranger = re.search(r"(\S+\+\S+\+\S+)", stranger)[1]
    eq([x["kind"] for x in verify(t, "--key", stranger)[2]], ["signature"], "another key")
    both = t.tmp / "both"
    both.write_bytes(note.read_bytes() + b"\n" + note.read_bytes())
    eq(verify(t, "--against", both)[3]["verdict"], "valid", "several notes in a file")
    # the last one was torn while it was written, at any byte of it
    for length in (1, len(note.read_bytes()) // 2, len(note.read_bytes()) - 1):
        both.write_bytes(note.read_bytes() + b"\n" + note.read_bytes()[:length])
        for option in ("--against", "--anchor"):
            r = t.run("audit", "verify", "--vault", t.vault, option, both, "--json")
            said = " ".join(r.stderr.decode().split())
            eq((r.returncode, json.loads(r.stdout.splitlines()[-1])["anchored"] > 0), (0, True), f"status and the note before it: {said}")
            check(f"{both} ends with an incomplete note, which is ignored: remove everything after note 1" in said, said)
    for text, says in ((b"x", "not a signed checkpoint"), (b"", "not a signed checkpoint"), (note.read_bytes()[:-9], "not a signed checkpoint")):
        both.write_bytes(text)
        r = t.run("audit", "verify", "--vault", t.vault, "--against", both)
        eq((r.returncode, r.stdout, says in r.stderr.decode()), (2, b"", True), f"status, stdout and {r.stderr}")
    eq(t.run("audit", "verify", "--vault", t.vault, "--against", t.tmp / "none").returncode, 3, "no such file")
    for key_, says in ((f"{t.tmp}/none", f"{t.tmp}/none is neither a file nor a verifier key (NAME+HASH+BASE64)"), ("a+b", "its value is neither a file nor")):
        r = t.run("audit", "verify", "--vault", t.vault, "--key", key_)
        eq((r.returncode, says in " ".join(r.stderr.decode().split())), (2, True), f"no such key: {r.stderr}")
        check(key_ not in r.stderr.decode() or "+" not in key_, f"a key is printed: {r.stderr}")


@case("anchors of the configuration: a file, a git work tree; missing; with notes of another vault")
def _(t):
    session(t)
    key(t)
    git = t.tmp / "git"
    subprocess.run(["git", "init", "-q", git], check=True)
    for name, value in (("user.name", "n"), ("user.email", "n@example.org")):
        subprocess.run(["git", "-C", git, "config", name, value], check=True)
    for where in (f"{t.tmp}/anchor", f"git:{git}"):
        config = t.tmp / "c.ini"
        config.write_text(f"[audit]\nanchor = {where}\n")
        r = t.run("audit", "verify", "--vault", t.vault, "--config", config)
        eq((r.returncode, b"no checkpoint has been copied to the anchor" in r.stderr), (0, True), f"{where}: {r.stderr}")
        eq(t.run("audit", "checkpoint", "--vault", t.vault, "--config", config).returncode, 0, "checkpoint")
        eq(verify(t, "--config", config)[1][1]["status"], "valid", where)
    session(t, vault=t.tmp / "another")
    os.symlink(t.tmp / "anchor", t.home / "noted")
    os.symlink(git, t.home / "repository")
    for where in ("~/noted", "git:~/repository"):
        config.write_text(f"[audit]\nanchor = {where}\n")
        eq(verify(t, "--config", config)[1][1]["status"], "valid", where)
    config.write_text("[audit]\nanchor = x://y\n")
    eq(t.run("audit", "verify", "--vault", t.vault, "--config", config).returncode, 2, "an invalid anchor")
    os.mkfifo(t.tmp / "fifo")
    r = t.run("audit", "verify", "--vault", t.vault, "--anchor", t.tmp / "fifo")
    eq((r.returncode, b"is not a regular file" in r.stderr), (3, True), f"a FIFO, which may have no writer: {r.stderr}")
    config.write_text(f"[audit]\nanchor = {t.tmp}/anchor\n")
    r = t.run("audit", "verify", "--vault", t.tmp / "another", "--config", config)
    eq((r.returncode, b"no checkpoint of this vault" in r.stderr), (0, True), r.stderr)


@case("open while it is recorded; incomplete after kill -9 of the recorder, the proxy, or both; never tampered", limit=120)
def _(t):
    p = t.proxy().initialize()
    recorded(t, 1)
    status, s, _, _ = verify(t)
    eq((status, s[1]["status"]), (0, "open"), "while it is recorded")
    eq(header(t, t.vault), "not sealed", "show, while it is recorded")
    p.end()
    p = t.proxy().initialize()
    pid = p.recorder()
    os.kill(pid, 9)
    p.recorder(other_than=pid)
    p.end()
    eq(verify(t)[1][2]["status"], "valid, not anchored", "only its recorder was killed")
    for whole in (False, True):
        p = t.proxy().initialize()
        p.client.send(call(7))
        p.server.recv()
        n = 3 + whole
        recorded(t, n)
        p.die(whole)
        wait_until(lambda: verify(t)[1][n]["status"] == "incomplete", 10, "incomplete")
    status, s, log, vault = verify(t)
    eq((status, [s[i]["status"] for i in (1, 3, 4)], log), (1, ["valid, not anchored", "incomplete", "incomplete"], []), "at the end")
    eq(vault["verdict"], "incomplete", "verdict")


@case("a session that is recorded while it is verified is never accused", limit=120)
def _(t):
    p, id = t.proxy().initialize(), 1000
    recorded(t, 1)
    for _ in range(15 if os.environ.get("TEST_LONG") else 5):
        job = subprocess.Popen([lib.PROGRAM, "audit", "verify", "--json", "--vault", str(t.vault)], stdout=subprocess.PIPE, env=t.environ())
        while job.poll() is None:
            lines = [call(id + k) for k in range(40)]
            p.client.send(*lines)
            for k in range(40):
                p.server.recv()
                p.server.send(text_result(id + k, "y" * 300))
                p.client.recv(10)
            id += 40
        rows = [json.loads(line) for line in job.stdout]
        job.stdout.close()
        eq([x.get("status") for x in rows[:-1]], ["open"], f"while it is recorded: {rows}")
    p.end()
    eq(verify(t)[1][1]["status"], "valid, not anchored", "at its end")


@case("vaults of older versions: not covered, exit status 0, and it says so")
def _(t):
    for version in (1, 2):
        vault = t.tmp / f"old{version}"
        vault.mkdir(mode=0o700)
        db = sqlite3.connect(vault / "interposer.db")
        db.executescript((lib.ROOT / f"tests/compat/files/vault-{version}.sql").read_text())
        db.close()
        status, s, log, about = verify(t, vault=vault)
        eq((status, {x["status"] for x in s.values()}, log, about["covered"]), (0, {"not covered"}, [], False), f"version {version}")
        r = t.run("audit", "verify", "--vault", vault, "--anchor", t.tmp / "anchor")
        text = r.stdout.decode()
        check("without evidence" in text and text.endswith("verdict: valid, but no session has evidence: nothing was compared\n"), text)
        check(b"anchor: not compared, because the vault has no log" in r.stderr, r.stderr)
        eq(header(t, vault), "not covered", "show, before the upgrade")
        session(t, vault=vault)
        status, s, log, about = verify(t, vault=vault)
        eq((status, s[max(s)]["status"], s[min(s)]["status"], log), (0, "valid, not anchored", "not covered", []), "after the upgrade")
        eq((header(t, vault, str(max(s))), header(t, vault, str(min(s)))), ("sealed", "not covered"), "show")


def last_line(t, *args):
    """The exit status and the last line of the text."""
    r = t.run("audit", "verify", "--vault", t.vault, *args)
    return r.returncode, r.stdout.decode().splitlines()[-1]


@case("the last line of the text is the verdict, as the exit status says it")
def _(t):
    session(t)
    eq(last_line(t), (0, "verdict: valid: the vault agrees with its own log, but was compared with nothing else"), "not anchored")
    key(t)
    eq(t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", t.tmp / "anchor").returncode, 0, "checkpoint")
    eq(last_line(t, "--anchor", t.tmp / "anchor"), (0, "verdict: valid: the vault agrees with its log, and the whole log is anchored"), "anchored")
    p = t.proxy().initialize()
    recorded(t, 2)
    p.die()
    wait_until(lambda: verify(t)[1][2]["status"] == "incomplete", 30, "the end of the session")
    eq(last_line(t), (1, "verdict: incomplete: 1 session is incomplete; the rest agrees with the log"), "incomplete")
    change(t.vault, "UPDATE messages SET body = 'x' WHERE seq = 3")
    eq(last_line(t), (1, "verdict: TAMPERED: 2 things are wrong; recorded data was changed"), "two sessions were changed")


@case("the text says what was not compared")
def _(t):
    def said(*args):
        text = " ".join(t.run("audit", "verify", "--vault", t.vault, *args).stdout.decode().split())
        return re.search("not compared: (.*) verdict: (.*)", text).groups()
    rest = "the tables `running`, `operations`, `escalations`, `shipped` and `ship_targets`, and the directories Logs/, Escalations/ and Search/"
    session(t)
    eq(said()[0], rest, "without a key")
    own = key(t)
    eq(t.run("audit", "checkpoint", "--vault", t.vault).returncode, 0, "checkpoint")
    eq((said()[0], said("--key", own)[0]), (f"the key (--key), {rest}", rest), "with a key")
    session(t)
    p = t.proxy().initialize()
    recorded(t, 3)
    eq(said("--key", own)[0], f"the end of 1 running session, {rest}", "a session runs")
    eq(said("--key", own, "1")[0], f"other sessions, {rest}", "one session")
    p.end()


@case("text, JUnit, usage; an unreadable vault is status 3, not tampering")
def _(t):
    session(t)
    forged = copy(t)
    change(forged, "UPDATE calls SET status = 'timeout' WHERE id = 1 << 36 | 4")
    r = t.run("audit", "verify", "--vault", forged, "--junit", "-")
    [failed] = [x for x in ET.fromstring(r.stdout)[0] if x.find("failure") is not None]
    eq((r.returncode, failed.get("name")), (1, "session 1"), "a forged call")
    check("call 4" in ET.tostring(failed, encoding="unicode"), ET.tostring(failed))
    change(t.vault, "UPDATE messages SET body = 'x' WHERE seq = 3")
    r = t.run("audit", "verify", "--vault", t.vault, "--junit", t.tmp / "j.xml")
    text = r.stdout.decode()
    eq(r.returncode, 1, "status")
    check("session 1: message 3: the record does not agree with its commitment (changed)." in " ".join(text.split()), text)
    check("1 session: 1 TAMPERED" in text, text)
    check(text.endswith("\nverdict: TAMPERED: 1 thing is wrong; recorded data was changed\n"), text)
    suite = ET.parse(t.tmp / "j.xml").getroot()[0]
    eq((suite.get("tests"), suite.get("failures")), ("2", "1"), "tests and failures")
    eq([x.get("name") for x in suite.findall("testcase")], ["session 1", "log"], "cases")
    junit(t.tmp / "j.xml")
    r = t.run("audit", "verify", "--vault", t.vault, "--sarif", t.tmp / "s.json")
    uid, = t.rows("SELECT uid FROM sessions")
    eq((r.returncode, sarif(t.tmp / "s.json")), (1, [("changed", "error", uid[0].decode(), None)]), "SARIF")
    r = t.run("audit", "verify", "--vault", t.vault, "--json", "--junit", "-")
    eq((r.returncode, r.stdout), (2, b""), "--json and --junit -")
    r = t.run("audit", "verify", "--vault", t.vault, "77")
    eq((r.returncode, r.stdout), (3, b""), "no such session")
    vault = copy(t)
    size = (vault / "interposer.db").stat().st_size
    with open(vault / "interposer.db", "r+b") as f:
        f.seek(4096)
        f.write(b"\xff" * (size - 4096))
    r = t.run("audit", "verify", "--vault", vault)
    eq((r.returncode, r.stdout), (3, b""), f"a damaged database: {r.stderr}")
    check(b"cannot read" in r.stderr and b"TAMPERED" not in r.stderr, r.stderr)
    r = t.run("audit", "verify", "--vault", t.tmp / "nowhere")
    eq(r.returncode, 3, "no vault")


lib.main()
