#!/usr/bin/env python3
"""redact: --scan reports secrets that new rules find in old recordings, --apply removes them."""
import json
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress

import lib
from lib import call, case, check, eq, error, text_result

sys.path.insert(0, str(lib.ROOT / "tests/redact"))
import corpus                                                                       # noqa: E402

NEEDLE = "quietword-"


def word(n):
    return f"{NEEDLE}{n:04d}"


def config(t):
    """Rules that were not there when it was recorded."""
    path = t.tmp / "config.ini"
    path.write_text("[redact]\npattern.word = [q]uietword-[0-9]{4}\nkeys = badge_no\n")
    return path


def redact(t, *args, status=None):
    r = t.run("redact", "--config", config(t), "--vault", t.vault, *args, seconds=60)
    if status is not None:
        eq(r.returncode, status, f"status of redact {args}; {r.stdout[-2000:]!r} {r.stderr[-500:]!r}")
    return r


def every_byte(vault):
    lib.settle()
    found = {}
    for path in vault.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):    # a recorder that exits removes the write-ahead log
            found[str(path.relative_to(vault))] = path.read_bytes()
    return found


def record(t, *options, name="demo"):
    """A word in every place that a session has."""
    big = f"{word(20)} " + "filler, " * 20000
    p = t.proxy("--record", "full", "--name", name, *options, puppet=("x", word(2))).initialize()
    p.server.say_err(f"stderr {word(3)}\n".encode())
    p.server.send(f"noise {word(4)}".encode())

    def ask(question, answer):
        p.client.send(question)
        p.server.recv()
        p.server.send(answer)
        p.client.recv()
    ask(call(1, f"tool-{word(5)}", {"query": word(6), "badge_no": 481516234}), text_result(1, word(7)))
    ask(call(2, "big", {"text": big}), text_result(2, big + word(8)))
    ask(call(3, "small"), text_result(3, "nothing here"))
    ask(call(4, "big", {"text": "plain, " * 20000}), text_result(4, "plain, " * 20000))
    ask(call(5, "overflow"), text_result(5, "x " * 9000 + word(9) + " y" * 9000))
    ask(call(6, "fetch"), error(6, -32000, f"401 Unauthorized: {word(10)}"))
    for n in range(40):
        ask(call(100 + n, "many"), text_result(100 + n, f"{word(100 + n)} " + "z" * (n * 97)))
    lib.wait_until(lambda: len(t.messages("kind IN ('stderr', 'noise') AND session_id = (SELECT max(id) FROM sessions)")) == 2,
                   30, "stray lines")
    p.round()
    return p


@case("--scan reports each place without the text; --apply leaves no byte of it, and the rest unchanged")
def _(t):
    record(t).end()
    with closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.execute("INSERT INTO escalations VALUES (NULL, 'auth', 'secrets', ?, 'tools/call', 'a.md', 1, 2, 1)", (f"tool-{word(7)}",))
    before = {m.seq: m for m in t.messages()}
    check(sum(NEEDLE.encode() in data for data in every_byte(t.vault).values()) >= 4, "the words are everywhere")
    r = redact(t, "--scan", "--all", status=1)
    check(NEEDLE.encode() not in r.stdout + r.stderr, "a scan shows what it found")
    for place in (b"session 1, session: word", b"stderr: word", b"noise: word", b"target: word", b"body: word 2, badgeno",
                  b"Logs/MCP_Actions/", b"Escalations/"):
        check(place in r.stdout, f"{place} is not in {r.stdout[:3000]!r}")
    found = [json.loads(x) for x in redact(t, "--scan", "--json", "--all", status=1).stdout.splitlines()]
    eq({x["type"] for x in found}, {"secret"}, "types")
    eq(before, before | {m.seq: m for m in t.messages() if m.body != before[m.seq].body}, "a scan changes nothing")

    r = redact(t, "--apply", "--all", status=0)
    check(b" replaced in " in r.stdout, f"{r.stdout[-200:]!r}")
    for name, data in every_byte(t.vault).items():
        check(NEEDLE.encode() not in data, f"a word is left in {name}")
        check(b"481516234" not in data, f"a number is left in {name}")
    redact(t, "--scan", "--all", status=0)
    eq(redact(t, "--apply", "--all", status=0).stdout, b"nothing found\n", "the second time")

    eq(lib.integrity(t.vault), [(b"ok",)], "the database")
    after = {m.seq: m for m in t.messages()}
    eq(set(after), set(before), "messages")
    for seq, m in after.items():
        if NEEDLE.encode() not in (before[seq].body or b"x") and before[seq].body_offset is None:
            eq(m.body, before[seq].body, f"body {seq}")
    shown = [json.loads(x) for x in t.run("show", "--vault", t.vault, "--json").stdout.splitlines()]
    large = [x for x in shown if x["type"] == "message" and x["body_offset"] is not None]
    eq(len(large), 4, "large bodies")
    for x in large:
        check("body_error" not in x and isinstance(x["body"], dict), f"a large body cannot be read: {str(x)[:300]}")
    text = json.dumps(large)
    check("[redacted:word]" in text and "plain, plain" in text, "large bodies have what they should")
    rules = json.loads(t.rows("SELECT redact_rules FROM sessions")[0][0])
    eq(rules["rules"], [["pattern.word", "[q]uietword-[0-9]{4}"], ["keys", "badge_no"]], "the rules it has passed")
    r = t.run("replay", "--vault", t.vault, input=call(1, f"tool-{word(5)}", {"query": word(6), "badge_no": 1}) + b"\n")
    check(b'"id":1' in r.stdout and b"[redacted:word]" in r.stdout, f"the live request finds it: {r.stdout} {r.stderr}")


@case("a single session: others, their log lines and escalations are unchanged")
def _(t):
    record(t).end()
    record(t, name="other").end()
    second = [m.body for m in t.messages("session_id = 2")]
    (uid,) = t.rows("SELECT uid FROM sessions WHERE id = 2")[0]
    lines = [x for x in t.log_lines() if uid in x]
    redact(t, "--apply", "1", status=0)
    eq([m.body for m in t.messages("session_id = 2")], second, "bodies of the other session")
    eq([x for x in t.log_lines() if uid in x], lines, "its lines in the log directory")
    redact(t, "--scan", "1", status=0)
    redact(t, "--scan", "2", status=1)
    check(all(NEEDLE.encode() not in x for x in t.log_lines() if uid not in x), "log lines of the first session")


@case("a running session and the log of today are left alone")
def _(t):
    record(t).end()
    p = record(t, name="live")
    r = redact(t, "--apply", "--all", status=1)
    check(b"session 2 may still be running" in r.stderr and b"today's log file is not changed" in r.stderr, f"{r.stderr}")
    check(any(NEEDLE.encode() in (m.body or b"") for m in t.messages("session_id = 2")), "the live session's bodies")
    check(not any(NEEDLE.encode() in (m.body or b"") for m in t.messages("session_id = 1")), "the other session's bodies")
    p.round()
    p.end()
    redact(t, "--apply", "--all", status=0)
    for name, data in every_byte(t.vault).items():
        check(NEEDLE.encode() not in data, f"a word is left in {name}")


@case("a reader that holds the write-ahead log is reported, and a second run finishes")
def _(t):
    record(t).end()
    with lib.database(t.vault) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM messages").fetchone()
        r = redact(t, "--apply", "--all", status=3)
        check(b"the write-ahead log" in r.stderr and b"run this again" in r.stderr, f"{r.stderr}")
        db.execute("COMMIT")
    redact(t, "--apply", "--all", status=0)
    for name, data in every_byte(t.vault).items():
        check(NEEDLE.encode() not in data, f"a word is left in {name}")


@case("killed at any moment, a second run finishes")
def _(t):
    record(t).end()
    before = len(t.messages())
    for delay in (0.005, 0.02, 0.04, 0.06, 0.08, 0.1):
        p = subprocess.Popen([lib.PROGRAM, "redact", "--config", config(t), "--vault", t.vault, "--apply", "--all"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait(delay)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        shown = [json.loads(x) for x in t.run("show", "--vault", t.vault, "--json").stdout.splitlines()]
        large = [x for x in shown if x["type"] == "message" and x["body_offset"] is not None]
        check(len(large) == 4 and all(isinstance(x["body"], dict) for x in large), f"large bodies after {delay} s")
        for line in t.log_lines():
            json.loads(line)
    redact(t, "--apply", "--all", status=0)
    for name, data in every_byte(t.vault).items():
        check(NEEDLE.encode() not in data, f"a word is left in {name}")
    eq((lib.integrity(t.vault), len(t.messages())), ([(b"ok",)], before), "the database")


@case("a vault of version 1")
def _(t):
    t.vault.mkdir(mode=0o700, exist_ok=True)
    with closing(sqlite3.connect(t.vault / "interposer.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript((lib.ROOT / "tests/compat/files/vault-1.sql").read_text())
        db.execute("""UPDATE messages SET body = '{"jsonrpc":"2.0","id":1,"result":{"password":"quietword-0001"}}'
                      WHERE kind = 'result'""")
        db.commit()
        eq(db.execute("PRAGMA user_version").fetchone(), (1,), "version")
    check(b"body: password\n" in redact(t, "--scan", "--all", status=1).stdout, "the password is found")
    eq(t.rows("PRAGMA user_version"), [(1,)], "a scan upgrades nothing")
    redact(t, "--apply", "--all", status=0)
    for name, data in every_byte(t.vault).items():
        check(NEEDLE.encode() not in data, f"a word is left in {name}")
    eq(json.loads(t.rows("SELECT redact_rules FROM sessions")[0][0])["version"], "4.1", "the rules it has passed")


@case("a cassette")
def _(t):
    record(t).end()
    file = t.tmp / "a.jsonl"
    eq(t.run("export", "--vault", t.vault, "-o", file).returncode, 0, "export")
    before = file.read_bytes()
    r = redact(t, "--scan", file, status=1)
    check(b"body: word 2, badgeno" in r.stdout and NEEDLE.encode() not in r.stdout, f"{r.stdout[:500]!r}")
    eq(file.read_bytes(), before, "a scan changes nothing")
    redact(t, "--apply", file, status=0)
    data = file.read_bytes()
    check(NEEDLE.encode() not in data and b"481516234" not in data, "the file is clean")
    eq(json.loads(data.split(b"\n")[0])["redact_rules"]["rules"][0], ["pattern.word", "[q]uietword-[0-9]{4}"], "its rules")
    redact(t, "--scan", file, status=0)
    eq(t.run("import", "--vault", t.tmp / "v2", file).returncode, 0, "it can be imported")
    redact(t, "--apply", file, status=0)
    eq(file.read_bytes(), data, "a clean file is not touched")


@case("the current rules find nothing in what they recorded: the whole corpus", limit=120)
def _(t):
    p = t.proxy("--record", "full").initialize()
    for n, c in enumerate(corpus.by_shape("again"), 1):
        p.client.send(call(n, "t", {"query": c.text, "message": json.dumps({"log": c.text})}))
        p.server.recv()
        p.server.send(*c.text.encode().split(b"\n"), text_result(n, c.text))
        p.client.recv()
        p.server.say_err(c.text.encode() + b"\n")
    p.server.say_err(b"that was all\n")
    lib.wait_until(lambda: b"that was all" in p.stderr(), 60, "the server's stderr")
    p.end()
    r = t.run("redact", "--vault", t.vault, "--scan", "--all", seconds=60)
    eq((r.returncode, r.stdout), (0, b"nothing found\n"), "scan")


@case("ambiguous arguments are an error")
def _(t):
    t.proxy().initialize().end()
    for args in ([], ["--scan"], ["--apply"], ["--all"], ["--scan", "--apply", "--all"], ["--scan", "--all", "1"]):
        redact(t, *args, status=2)
    check(b"no session" in redact(t, "--scan", "99", status=3).stderr, "a session that is not there")
    redact(t, "--scan", "./nothing.jsonl", status=3)


lib.main()
