#!/usr/bin/env python3
"""audit prove, audit check: bundles of calls and sessions, what is refused, and the commands of docs/audit-call.md."""
import json
import os
import re
import shutil
import sqlite3
import subprocess

import lib
from lib import Skip, call, case, check, eq, text_result

DOCUMENT = (lib.ROOT / "docs/audit-call.md").read_text()


def ok(r):
    eq((r.returncode, r.stderr.decode() if b"error" in r.stderr else ""), (0, ""), "status and stderr")
    return r.stdout.decode()


def fails(r, says, status=3):
    eq((r.returncode, r.stdout), (status, b""), "status and stdout")
    check(says in r.stderr.decode(), f"{says!r} is not in {r.stderr.decode()!r}")


def key_of(t):
    return re.search(r"^key +(\S+)$", ok(t.run("audit", "key", "show")), re.M)[1]


def new_key(t):
    ok(t.run("audit", "key", "new"))
    return key_of(t)


def session(t, calls=2, text="fine"):
    """A session with some calls; requests have the numbers 5, 7, …"""
    p = t.proxy().initialize()
    for n in range(calls):
        p.client.send(call(10 + n, "mail", {"to": f"person-{n}@example.org"}))
        p.server.recv_json()
        p.server.send(text_result(10 + n, f"{text} {n}"))
        p.client.recv_json()
    p.end()
    lib.settle()


def checkpoint(t):
    return ok(t.run("audit", "checkpoint", "--vault", t.vault))


def prove(t, *args, name="last"):
    return json.loads(ok(t.run("audit", "prove", name, "--vault", t.vault, *args)))


def save(t, bundle, name="b.json"):
    path = t.tmp / name
    path.write_text(json.dumps(bundle, ensure_ascii=False))
    return path


def verdict(t, bundle, key, *args, status=0):
    r = t.run("audit", "check", save(t, bundle), "--key", key, "--json", *args)
    eq((r.returncode, r.stderr), (status, b""), f"status and stderr; {r.stdout.decode()}")
    v = json.loads(r.stdout)
    eq(v["proven"], status == 0, "proven")
    return v


def change(t, sql, *args):
    lib.settle()
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute(sql, args)
    db.close()


def call_seq(t):
    return t.rows("SELECT seq FROM messages WHERE method = 'tools/call' ORDER BY seq LIMIT 1")[0][0]


@case("a call: the bundle has its request and its answer, from the number of either, and nothing of other sessions")
def _(t):
    session(t, text="another session")
    key = new_key(t)
    session(t)
    checkpoint(t)
    seq = call_seq(t)
    bundle = prove(t, "--seq", seq)
    check("another session" not in json.dumps(bundle), "another session's text")
    v = verdict(t, bundle, key)
    eq([(m["seq"], m["kind"]) for m in v["messages"]], [(seq, "request"), (seq + 1, "result")], "messages")
    eq(v["messages"][0]["body"]["params"]["arguments"], {"to": "person-0@example.org"}, "arguments")
    eq(v["messages"][1]["body"]["result"]["content"][0]["text"], "fine 0", "answer")
    eq([m["seq"] for m in verdict(t, prove(t, "--seq", seq + 1), key)["messages"]], [seq, seq + 1], "from the answer")
    eq(v["session"]["cwd"], t.rows("SELECT cwd FROM sessions ORDER BY id DESC LIMIT 1")[0][0].decode(), "the directory of the server")
    eq((v["records"], v["checkpoint"]["key"], v["checkpoint"]["compared"]), (3, key, False), "verdict")
    for bodies in ([], ["--bodies"]):
        out = ok(t.run("audit", "check", save(t, bundle), "--key", key, *bodies))
        for says in ("PROVEN", "ok after ", "tools/call mail", "not proven  whether this checkpoint was anchored"):
            check(says in out, f"{says!r} is not in {out}")
        eq("person-0@example.org" in out, bodies != [], "bodies")


@case("a session: all of its records, also a body in Bodies/, and nothing of it reaches the terminal raw")
def _(t):
    key = new_key(t)
    p = t.proxy("--record", "full").initialize()
    p.client.send(call(10, "mail", {"text": "\x1b[31m\u202e" + "x" * 3000000}))
    p.server.recv_json()
    p.server.send(text_result(10, "é\u0000"))
    p.client.recv_json()
    p.end()
    lib.settle()
    checkpoint(t)
    bundle = prove(t)
    eq(len(bundle["records"]), json.loads(bundle["leaves"][-2]["leaf"])["records"] if len(bundle["leaves"]) > 2 else 0, "records")
    v = verdict(t, bundle, key)
    eq(v["records"], v["sealed_records"], "records")
    check(any(len(r["fields"][-1] or "") > 2999999 for r in bundle["records"]), "the large body")
    out = t.run("audit", "check", "-b", save(t, bundle), "--key", key).stdout
    check(b"xxx" in out, "the body")
    check(b"\x1b" not in out and "\u202e".encode() not in out, "control characters")


@case("a line of the log directory has the commitment of its answer, which the bundle proves")
def _(t):
    session(t)
    new_key(t)
    checkpoint(t)
    seq = call_seq(t)
    bundle = prove(t, "--seq", seq)
    line = next(x for x in map(json.loads, t.log_lines()) if x["seq"] == seq)
    place = next(r["place"] for r in bundle["records"] if r["fields"][:2] == ["message", str(seq + 1)])
    eq(line["commitment"], bundle["groups"][0]["commitments"][place], "commitment")
    p = t.proxy().initialize()
    p.client.send(call(10))
    p.server.recv_json()
    p.client.send(lib.note("notifications/cancelled", {"requestId": 10}))
    p.server.recv_json()
    p.end()
    lib.settle()
    line = next(x for x in map(json.loads, t.log_lines()) if x["status"] == "cancelled")
    check("commitment" not in line, line)


@case("refused: no checkpoint, a session that is open or sealed later, a message that is not there, a vault that was changed")
def _(t):
    session(t)
    fails(t.run("audit", "prove", "last", "--vault", t.vault), "audit key new")
    new_key(t)
    note = checkpoint(t)
    fails(t.run("audit", "prove", "last", "--vault", t.vault, "--seq", 999), "has no message 999")
    fails(t.run("audit", "prove", "--vault", t.vault), "missing SESSION", 2)
    fails(t.run("audit", "prove", "1", "--seq", "0", "--vault", t.vault), "message numbers start at 1", 2)
    fails(t.run("audit", "prove", "last", "--vault", t.vault, "--checkpoint", 9999), "no checkpoint of 9999 leaves")
    fails(t.run("audit", "prove", "last", "--vault", t.vault, "--checkpoint", t.tmp / "none"), "none")
    uid, = t.rows("SELECT uid FROM sessions")[0]
    uid = uid.decode() if isinstance(uid, bytes) else uid
    session(t)
    (t.tmp / "old").write_text(note)
    fails(t.run("audit", "prove", "last", "--vault", t.vault, "--checkpoint", t.tmp / "old"), "does not cover the end")
    prove(t, "--checkpoint", t.tmp / "old", name=uid)
    change(t, "UPDATE messages SET body = replace(body, 'person-0', 'person-9') WHERE session_id = 1 AND method = 'tools/call'")
    fails(t.run("audit", "prove", uid, "--vault", t.vault), "not the one that was sealed; run: mcp-interposer audit verify")


@case("a session that runs is refused")
def _(t):
    new_key(t)
    session(t)
    checkpoint(t)
    p = t.proxy().initialize()
    lib.wait_until(lambda: len(t.rows("SELECT id FROM sessions")) == 2, 10, "the second session")
    fails(t.run("audit", "prove", "2", "--vault", t.vault), "has not ended")
    p.end()


@case("check: another key, another note, a changed word, a missing option")
def _(t):
    key = new_key(t)
    session(t)
    note = checkpoint(t)
    (t.tmp / "note").write_text(note)
    bundle = prove(t)
    verdict(t, bundle, key, "--checkpoint", t.tmp / "note")
    session(t)
    (t.tmp / "later").write_text(checkpoint(t))
    check("is not in" in verdict(t, bundle, key, "--checkpoint", t.tmp / "later", status=1)["why"], "another note")
    (t.tmp / "both").write_text(note + "\n" + (t.tmp / "later").read_text())
    verdict(t, bundle, key, "--checkpoint", t.tmp / "both")
    r = t.run("audit", "key", "new", "--audit-key", t.tmp / "other")
    other = re.search(r"^key +(\S+)$", ok(r), re.M)[1]
    check("not one of the keys" in verdict(t, bundle, other, status=1)["why"], "another key")
    record = next(r for r in bundle["records"] if r["fields"][0] == "message" and "person-0" in r["fields"][-1])
    record["fields"][-1] = record["fields"][-1].replace("person-0", "person-9")
    why = verdict(t, bundle, key, status=1)["why"]
    check(re.fullmatch(r"the record `message \d+` is not the one that was sealed", why), why)
    r = t.run("audit", "check", save(t, bundle), "--key", key)
    eq(r.returncode, 1, "status")
    check(r.stdout.startswith(b"NOT PROVEN  the record"), r.stdout)
    fails(t.run("audit", "check", save(t, bundle)), "missing --key", 2)
    fails(t.run("audit", "check", save(t, bundle), "--key", "nonsense"), "--key: nonsense is neither a file nor a verifier key", 2)
    (t.tmp / "two").write_text(f"{key}\n{key}\n")
    fails(t.run("audit", "check", save(t, bundle), "--key", t.tmp / "two"), "does not contain exactly one verifier key", 2)
    fails(t.run("audit", "check", t.tmp / "none", "--key", key), "none")


def redact(t, rule):
    config = t.tmp / "config.ini"
    config.write_text(f"[redact]\npattern.word = {rule}\n")
    r = t.run("redact", "--config", config, "--vault", t.vault, "--apply", "--all", seconds=60)
    eq(r.returncode, 0, f"redact: {r.stdout!r} {r.stderr!r}")
    lib.settle()


@case("a record that was redacted, once and again: the bundle says when; a key from before the rotation is accepted")
def _(t):
    key = new_key(t)
    session(t)
    note = checkpoint(t)
    redact(t, "person-[0-9]")
    seq = call_seq(t)
    fails(t.run("audit", "prove", "last", "--vault", t.vault, "--seq", seq), "was redacted after the checkpoint")
    checkpoint(t)
    redact(t, "@exam")
    ok(t.run("audit", "key", "rotate"))
    checkpoint(t)
    bundle = prove(t, "--seq", seq)
    check("person-0" not in json.dumps(bundle), "the redacted text")
    for trusted in (key, key_of(t)):
        v = verdict(t, bundle, trusted)
        at = json.loads([x for x in bundle["leaves"] if '"redact"' in x["leaf"]][-1]["leaf"])["at_us"]
        eq([m["redacted_at_us"] for m in v["messages"]], [at, None], "redacted")
        check(v["checkpoint"]["key"] != key, "the new key")
    out = ok(t.run("audit", "check", save(t, bundle), "--key", key))
    check("redacted    after it was recorded, at " in out and "is an earlier key of this log" in out, out)
    eq(len(verdict(t, prove(t), key)["messages"]), len(t.rows("SELECT 1 FROM messages")), "messages of the session")
    bundle["redactions"][0]["lines"].pop()
    check("the list of redacted records is not that of leaf" in verdict(t, bundle, key, status=1)["why"], "a line less")


@case("import of a bundle: the messages as they were, and where it is from; not of one that is not valid, or has some records")
def _(t):
    key = new_key(t)
    session(t)
    checkpoint(t)
    bundle = prove(t)
    seal = next(json.loads(x["leaf"]) for x in bundle["leaves"] if '"seal"' in x["leaf"])
    other = t.tmp / "other"
    path = t.tmp / "s.json"
    ok(t.run("audit", "prove", "last", "--vault", t.vault, "-o", path))
    eq(path.stat().st_mode & 0o777, 0o600, "mode of the file")
    check(f"{len(t.messages())} messages" in ok(t.run("import", path, "--vault", other, "--key", key)), "import")
    check("nothing changed" in ok(t.run("import", path, "--vault", other)), "again")
    sql = "SELECT seq, t_us, direction, origin, kind, method, target, size, action, request_seq, finding, body FROM messages ORDER BY seq"
    eq(t.rows(sql, vault=other), t.rows(sql), "messages")
    detail = json.loads(t.rows("SELECT detail FROM events WHERE kind = 'imported'", vault=other)[0][0])
    eq((detail["origin"], detail["session"], detail["root"]),
       (bundle["checkpoint"].split("\n")[0], seal["session"], seal["root"]), "event")
    sql = "SELECT name, client_name, client_version, started_at_us, ended_at_us, end_reason FROM sessions"
    eq(t.rows(sql, vault=other), t.rows(sql), "session")
    rest = t.tmp / "rest"
    ok(t.run("audit", "key", "new", "--audit-key", t.tmp / "second"))
    wrong = re.search(r"^key +(\S+)$", ok(t.run("audit", "key", "show", "--audit-key", t.tmp / "second")), re.M)[1]
    fails(t.run("import", path, "--vault", rest, "--key", wrong), "not one of the keys")
    fails(t.run("import", save(t, prove(t, "--seq", call_seq(t))), "--vault", rest), "only some records")
    text = path.read_text()
    path.write_text(text.replace("person-0", "person-9"))
    fails(t.run("import", path, "--vault", rest), "the bundle is not valid: the record `message")
    cassette = t.tmp / "c.jsonl"
    ok(t.run("export", "last", "--vault", t.vault, "-o", cassette))
    fails(t.run("import", cassette, "--vault", rest, "--key", key), "is not a bundle", 2)
    check(not rest.exists() or t.rows("SELECT id FROM sessions", vault=rest) == [], "nothing is imported")


@case("the page for auditors: its commands, on a machine with only the program, the bundle and the key")
def _(t):
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.S)
    eq(len(blocks), 5, "blocks of commands")
    blocks = blocks[1:]     # the first is run by 88-readme.py
    here, there, bin = t.tmp / "here", t.tmp / "there", t.tmp / "bin"
    for d in (here, there, bin):
        d.mkdir()
    (bin / "mcp-interposer").symlink_to(lib.PROGRAM)
    env = t.environ({"PATH": f"{bin}:{os.environ['PATH']}", "MCP_INTERPOSER_VAULT": str(t.vault), "LC_ALL": "C.UTF-8"})
    empty = {"PATH": env["PATH"], "HOME": str(there / "nobody"), "LC_ALL": "C.UTF-8"}

    def run(command, cwd, env, status=0):
        r = subprocess.run(command, shell=True, cwd=cwd, env=env, timeout=60 * lib.PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        eq(r.returncode, status, f"{command}: {r.stdout.decode()}")
        return r.stdout.decode()

    def commands(block):
        return [re.sub(r" +# .*", "", x) for x in block.splitlines()]

    first = commands(blocks[0])
    run(first[0], here, env)
    session(t)
    for command in first[1:]:
        seq = call_seq(t)
        out = run(command.replace("--seq 5", f"--seq {seq}"), here, env)
        if command.endswith("audit checkpoint"):
            (there / "note").write_text(out)
            (here / "note").write_text(out)
    eq((here / "key").read_text(), key_of(t) + "\n", "the key")
    for name in ("key", "call.json"):
        shutil.copy(here / name, there)
    check(run(blocks[1], there, empty).startswith("PROVEN"), "the verdict")
    anchored = commands(blocks[2])
    run(anchored[0].replace("--seq 5", f"--seq {seq}"), here, env)
    shutil.copy(here / "anchored.json", there)
    check("anchored    note" in run(anchored[1], there, empty), "the anchored verdict")
    (there / "check.py").write_text(re.search(r"```python\n(.*?)```", DOCUMENT, re.S)[1])
    if shutil.which("openssl") is None:
        raise Skip("openssl is not installed")
    script, = commands(blocks[3])
    out = run(script, there, empty)
    check(out.startswith("PROVEN: session ") and "person-0@example.org" in out, out)

    def refused(name, what):
        out = run(script.replace("call.json", name), there, empty, status=1)
        check(out.startswith("NOT PROVEN: " + what) and out.count("\n") < 4, f"{name}: {out}")

    text = (there / "call.json").read_text()
    for name, before, after, what in (("record.json", "person-0", "person-9", "record "), ("leaf.json", '\\"at_us\\":1', '\\"at_us\\":2', "leaf ")):
        (there / name).write_text(text.replace(before, after, 1))
        refused(name, what)
    signature = json.loads(text)
    note = signature["checkpoint"]
    signature["checkpoint"] = note[:-10] + ("B" if note[-10] == "A" else "A") + note[-9:]
    (there / "signature.json").write_text(json.dumps(signature))
    refused("signature.json", "the signature of the note")
    # a key from before rotations, the key itself, and one of somebody else
    for n in range(2):
        ok(t.run("audit", "key", "rotate"))
        checkpoint(t)
    prove_again = first[-1].replace("--seq 5", f"--seq {seq}").replace("call.json", "rotated.json")
    run(prove_again, here, env)
    shutil.copy(here / "rotated.json", there)
    script = script.replace("call.json", "rotated.json")
    for name in (key_of(t), (here / "key").read_text().strip()):
        (there / "key").write_text(name + "\n")
        check(run(script, there, empty).startswith("PROVEN"), name)
    eq((there / "rotated.json").read_text().count('\\"type\\":\\"key\\"'), 3, "keys of the log")
    (there / "key").write_text(re.search(r"^key +(\S+)$", ok(t.run("audit", "key", "new", "--audit-key", t.tmp / "stranger")), re.M)[1])
    script = script.replace("rotated.json", "call.json")
    refused("rotated.json", "the log does not have the given key")


lib.main()
