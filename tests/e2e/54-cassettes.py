#!/usr/bin/env python3
"""Cassettes: export and import of sessions, and errors in the files."""
import json
import re
import signal
import socket
import subprocess
import time

import lib
from lib import call, case, check, eq, error, note, request, result, text_result
from replaying import Replay, handshake, record

COLUMNS = ("seq, t_us, direction, origin, kind, rpc_id, method, target, size, redactions, action, request_seq, "
           "error_code, batch_seq, finding")


def play(t, **more):
    """A session with something of every kind."""
    p = t.proxy(**more).initialize(version="2025-03-26")

    def ask(question, *answers):
        p.client.send(question)
        p.server.expect(question)
        p.server.send(*answers)
        p.client.expect(*answers)
    ask(call(1, "plain"), note("notifications/message", {"level": "info"}), text_result(1, "one"))
    ask(call(2, "broken"), text_result(2, "it \x7f broke \u202e", isError=True))
    ask(call("2", "missing"), error("2", -32602, "Unknown tool: missing"))
    ask(call(3, "large"), text_result(3, "x" * 100_000))
    ask(b"[" + request(4) + b", " + request(5) + b"]", b"[" + result(5) + b"," + result(4) + b"]")
    p.client.send(call(6, "slow"))
    p.server.recv()
    p.client.send(note("notifications/cancelled", {"requestId": 6}))
    p.server.recv()
    p.server.send(result(6))  # too late
    p.server.send(b"a line \x1b[31mthat is no message", b'{"json":"but no message"}')
    p.client.send(b'{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}')
    p.client.recv()
    p.server.send(request(1, "sampling/createMessage", {"messages": []}))
    p.client.recv()
    p.client.send(result(1, {"role": "assistant"}))
    p.server.recv()
    ask(request(8, "ti\\u006bes/\\\\list".encode().decode()), result(8))
    p.server.say_err(b"a word on stderr\n")
    lib.wait_until(lambda: t.messages("kind = 'stderr'"), 5, "the line of stderr is recorded")
    p.round(9)
    p.end()
    return p


def exported(t, session="last", *args, vault=None):
    done = t.run("export", "--vault", vault or t.vault, session, *args)
    eq((done.returncode, done.stderr), (0, b""), "export")
    return done.stdout


def imported(t, file, *args, vault=None):
    done = t.run("import", "--vault", vault or t.vault, "--json", file, *args)
    eq((done.returncode, done.stderr), (0, b""), "import")
    return json.loads(done.stdout)


def refused(t, file, *words, vault=None):
    vault = vault or t.tmp / "refused"
    done = t.run("import", "--vault", vault, file)
    eq((done.returncode, done.stdout), (3, b""), "import of a bad file")
    for word in words:
        check(word.encode() in done.stderr, lambda: f"{word!r} is not in {done.stderr}")
    if (vault / "interposer.db").exists():
        eq(t.rows("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)", vault=vault),
           [(0, 0)], "what is left of a refused file")


@case("export, import, export gives the same file and the same rows")
def _(t):
    play(t)
    first = exported(t)
    file = t.tmp / "first.jsonl"
    file.write_bytes(first)
    other = t.tmp / "other"
    another = t.tmp / "another.jsonl"
    another.write_bytes(b'{"format":"mcp-interposer-cassette","version":1,"name":"another"}\n' + b'{"end":true,"messages":0}\n')
    imported(t, another, vault=other)
    got = imported(t, file, vault=other)
    eq((got["id"], got["messages"]), (2, len(t.messages())), "what import says")
    eq(exported(t, "2", vault=other), first, "the file after a round trip")
    eq(t.rows(f"SELECT {COLUMNS} FROM messages WHERE session_id = 2 ORDER BY seq", vault=other),
       t.rows(f"SELECT {COLUMNS} FROM messages ORDER BY seq"), "rows after a round trip")
    columns = "name, client_name, client_version, server_name, server_version, protocol_version, " \
              "started_at_us, ended_at_us, end_reason, exit_status, record_level"
    eq(t.rows(f"SELECT {columns} FROM sessions WHERE id = 2", vault=other),
       t.rows(f"SELECT {columns} FROM sessions"), "the session after a round trip")
    eq(t.rows("SELECT pid, host, command FROM sessions WHERE id = 2", vault=other), [(0, b"", b"[]")],
       "what belongs to the machine")
    large = [json.loads(line)["msg"] for line in first.splitlines() if len(line) > 100_000]
    eq([m["id"] for m in large], [3], "ids of large messages in the file")
    shown = t.run("show", "--vault", other, "--json")
    check(b"x" * 100_000 in shown.stdout, "the large body came back")


@case("what only version 2 has is kept: import, export gives the same file; evidence covers it")
def _(t):
    line = b'{"t":%d,"dir":"c2s",%s"msg":{"jsonrpc":"2.0","id":%d,"method":"tools/list"}}\n'
    head = b'{"format":"mcp-interposer-cassette","version":%d,"name":"notes","started_at_us":1795256140000000,' \
           b'"ended_at_us":1795256141000000,"end_reason":"client-closed","record_level":"full"%s}\n'
    end = b'{"end":true,"messages":2}\n'
    revision, rule = b'"revision":"2026-07-28",', b',"redact_rules":{"version":"4.1"},"tools_rule":"get_*, !drop"'
    for version, member, of_message in ((2, rule, b""), (2, b',"redact_rules":{"version":"4.1"}', revision), (2, rule, revision),
                                        (1, b',"redact_rules":{"version":"4.1"}', b"")):
        text = head % (version, member) + line % (1, b"", 1) + line % (2, of_message, 2) + end
        (t.tmp / "two.jsonl").write_bytes(text)
        id = imported(t, t.tmp / "two.jsonl")["id"]
        eq(exported(t, str(id)), text, f"version {version} with {member} {of_message}")
        eq(t.rows("SELECT tools_rule FROM sessions WHERE id = ?", id), [(b"get_*, !drop" if member == rule else None,)], "tools_rule")
        eq([r for r, in t.rows("SELECT revision FROM messages WHERE session_id = ? ORDER BY seq", id)],
           [None, b"2026-07-28" if of_message else None], "revision")
        shown = map(json.loads, t.run("show", "--vault", t.vault, str(id), "--json").stdout.splitlines())
        eq([x["revision"] for x in shown if x["type"] == "message"], [None, "2026-07-28" if of_message else None], "--json")
        eq(t.run("audit", "verify", "--vault", t.vault).returncode, 0, "audit verify")
    secret = b"ghp_" + b"aB3dE6gH9j" * 4
    (t.tmp / "two.jsonl").write_bytes(head % (2, b',"tools_rule":"' + secret + b'"') + line % (3, b'"revision":"' + secret + b'",', 1)
                                      + line % (4, b"", 2) + end)
    imported(t, t.tmp / "two.jsonl")
    check(secret not in b"".join(f.read_bytes() for f in t.vault.glob("interposer.db*")), "a secret in a member of version 2")


@case("a cassette contains nothing about this machine, and no raw control characters")
def _(t):
    play(t)
    text = exported(t)
    for word in (str(t.tmp), socket.gethostname(), str(t.proxies[0].pid), "fakes"):
        check(not re.search(rb"(?<![0-9])" + re.escape(word.encode()) + rb"(?![0-9])", text),
              f"{word} is in the cassette")
    controls = set(re.findall(r"[^\n\x20-\x7e\xa0-\u200d\u2010-\u2027]", text.decode()))
    eq(controls, set(), "characters that act on a terminal")


@case("stderr lines can be left out, and the rest stays consistent")
def _(t):
    play(t)
    lines = [json.loads(x) for x in exported(t, "last", "--no-stderr").splitlines()]
    check(all(x.get("kind") != "stderr" for x in lines), "a line of stderr is there")
    eq(lines[-1]["messages"], len(t.messages("kind <> 'stderr'")), "messages in the file")
    file = t.tmp / "less.jsonl"
    file.write_bytes(exported(t, "last", "--no-stderr"))
    other = t.tmp / "other"
    imported(t, file, vault=other)
    sql = "SELECT method, target, status FROM invocations ORDER BY request_seq"
    eq(t.rows(sql, vault=other), t.rows(sql), "invocations")


@case("a killed session is exported and imported as one")
def _(t):
    p = t.proxy().initialize()
    p.client.send(call(1, "hangs"))
    p.server.recv()
    p.die()
    file = t.tmp / "killed.jsonl"
    eq(t.run("export", "--vault", t.vault, "-o", file).returncode, 0, "export")
    other = t.tmp / "other"
    imported(t, file, "--name", "renamed", vault=other)
    eq(t.rows("SELECT name, ended_at_us - started_at_us = (SELECT max(t_us) FROM messages), end_reason "
              "FROM sessions", vault=other), [(b"renamed", 1, b"killed")], "the session")
    again = exported(t, vault=other)
    eq(again, file.read_bytes().replace(b'"name":"puppet"', b'"name":"renamed"'), "the file")


@case("an invalid or truncated file is rejected with the line, and nothing of it is imported")
def _(t):
    play(t)
    whole = exported(t)
    file = t.tmp / "bad.jsonl"
    lines = whole.splitlines(keepends=True)
    file.write_bytes(whole[:len(whole) // 2])
    refused(t, file, "bad.jsonl:", "the text ends inside a value")
    file.write_bytes(b"".join(lines[:-1]))
    refused(t, file, f"bad.jsonl:{len(lines) - 1}: the end line is missing")
    file.write_bytes(b"".join(lines[:5] + [b"{}\n"] + lines[5:]))
    refused(t, file, "bad.jsonl:6: `t` is missing; repair the line")
    file.write_bytes(b"".join(lines[:-2] + lines[-1:]))
    refused(t, file, "the end line says")
    file.write_bytes(b"\x89PNG\r\n")
    refused(t, file, "bad.jsonl:1: this is not the first line of a cassette")
    refused(t, t.tmp / "not-there", "No such file", "choose another file")
    refused(t, t.tmp, "it is not a regular file")


@case("an imported session is marked, and left out of stats; a recording is imported once, whatever its file looks like")
def _(t):
    play(t)
    other = t.tmp / "other"
    file, spaced, changed = t.tmp / "a.jsonl", t.tmp / "b.jsonl", t.tmp / "c.jsonl"
    file.write_bytes(exported(t))
    lines = file.read_text().splitlines()
    spaced.write_text("".join(re.sub("^{", "{ ", x) + " \n" for x in lines))
    first = json.loads(lines[0])
    changed.write_text("\n".join([json.dumps({**first, "name": "another"}), *lines[1:]]) + "\n")
    got = imported(t, file, vault=other)
    eq(got["already_imported"], False, "the first time")
    before = t.rows("SELECT * FROM sessions", vault=other), t.rows("SELECT count(*) FROM messages", vault=other)
    bodies = sorted(x.name for x in (other / "Bodies").iterdir())
    for again in file, spaced, file:
        eq(imported(t, again, vault=other), {**got, "already_imported": True}, f"{again.name} again")
    said = t.run("import", "--vault", other, "--name", "x", file)
    eq((said.returncode, b"session 1: " in said.stdout, b"imported before" in said.stdout), (0, True, True), f"said {said}")
    eq((t.rows("SELECT * FROM sessions", vault=other), t.rows("SELECT count(*) FROM messages", vault=other)), before, "rows")
    eq(sorted(x.name for x in (other / "Bodies").iterdir()), bodies, "files of bodies")
    eq(imported(t, changed, vault=other)["id"], 2, "another recording")
    eq(imported(t, file)["already_imported"], False, "in the vault that recorded it")

    def listed(*args):
        return [json.loads(x) for x in t.run(*args, "--vault", t.vault, "--json").stdout.splitlines()]
    eq([(s["id"], s["imported"]) for s in listed("sessions")], [(2, True), (1, False)], "sessions")
    text = t.run("sessions", "--vault", t.vault).stdout.decode().splitlines()
    eq([", imported" in x for x in text[1:]], [True, False], f"marks in {text}")
    calls = sum(s["calls"] for s in listed("stats", "--by", "method"))
    check(calls > 0, "no call")
    eq(sum(s["calls"] for s in listed("stats", "--by", "method", "--imported")), 2 * calls, "with --imported")
    r = t.run("stats", "--vault", other)
    check(r.returncode == 0 and b"--imported" in r.stderr, lambda: f"a vault with imported sessions only: {r}")


@case("kill -9 during an import leaves the whole session or nothing")
def _(t):
    file = t.tmp / "long.jsonl"
    n = 20_000
    with file.open("wb") as f:
        f.write(b'{"format":"mcp-interposer-cassette","version":1,"name":"long"}\n')
        for i in range(n):
            f.write(b'{"t":%d,"dir":"c2s","msg":%s}\n' % (i, request(i)))
        f.write(b'{"end":true,"messages":%d}\n' % n)
    begin = time.monotonic()
    imported(t, file)
    took = time.monotonic() - begin
    for part in 0.2, 0.5, 0.8:
        file.write_bytes(file.read_bytes().replace(b'"long', b'"longer', 1))  # another recording
        p = subprocess.Popen([lib.PROGRAM, "import", "--vault", t.vault, file], env=t.environ(),
                             stdout=subprocess.DEVNULL)
        try:
            p.wait(took * part)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.wait()
        counts = t.rows("SELECT count(m.id) FROM sessions s LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id")
        eq(set(counts), {(n,)}, "messages of each session")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity")


@case("export writes the whole file or leaves it unchanged, with an error")
def _(t):
    play(t)
    file = t.tmp / "kept.jsonl"
    file.write_bytes(b"old")
    link = t.tmp / "link.jsonl"
    link.symlink_to(file)
    done = t.run("export", "--vault", t.vault, "999", "--force", "-o", file)
    eq((done.returncode, file.read_bytes()), (3, b"old"), "a session that is not there")
    done = t.run("export", "--vault", t.vault, "-o", t.tmp / "no/where")
    check(done.returncode == 3 and b"No such file" in done.stderr, lambda: repr(done))
    done = t.run("export", "--vault", t.vault, "--format", "tape")
    eq(done.returncode, 2, "a format that is not there")
    done = t.run("import", "--vault", t.vault)
    eq(done.returncode, 2, "import of nothing")
    eq(t.run("export", "--vault", t.vault, "--force", "-o", link).returncode, 0, "export through a link")
    check(link.is_symlink() and file.read_bytes() == exported(t), "the link's file has the session")
    eq(sorted(p.name for p in t.tmp.glob("*.jsonl*")), ["kept.jsonl", "link.jsonl"], "files that are left")
    with open("/dev/full", "wb") as full:
        p = subprocess.run([lib.PROGRAM, "export", "--vault", t.vault], stdout=full, stderr=subprocess.PIPE,
                           env=t.environ())
    check(p.returncode == 3 and b"No space left" in p.stderr, lambda: repr(p))


FOREIGN = {
    "tape.jsonl": ("notes", b'''\
{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"notes","command":["node","s.js"],"mcpTapVersion":"0.4.0"}
{"t":"2026-05-12T23:00:00.010Z","dir":"in","raw":ASK}
{"t":"2026-05-12T23:00:00.020Z","dir":"out","raw":ANSWER}
{"t":"2026-05-12T23:00:01.000Z","type":"end","exitCode":0,"durationMs":1000}
'''),
    "rec.jsonl": ("rec", b'''\
{"ts": 1750000001.25, "dir": "client->server", "msg": ASK}
{"ts": 1750000001.26, "dir": "server->client", "msg": ANSWER}
'''),
    "vcr.cassette.jsonl": ("vcr", b'''\
{"type":"header","cassetteVersion":2,"recorder":"mcp-cassette@0.3.0","startedAt":"2026-08-15T09:00:00Z","transport":"stdio","command":["node","s.js"],"redaction":{"applied":true},"era":"legacy"}
{"type":"frame","t":3,"dir":"c2s","frame":ASK}
{"type":"frame","t":13,"dir":"s2c","frame":ANSWER}
'''),
}


def reused():
    """Two calls with one id, both pending; the server answers them in order."""
    return handshake() + [b">" + call(7, "alpha"), b">" + call(7, "beta"), b"<" + text_result(7, "of alpha"),
                          b"<" + text_result(7, "of beta")]


@case("an id that is reused while it is pending: recorded, imported or exported, each call has its own answer")
def _(t):
    record(t, reused())
    rows = "SELECT m.seq, m.request_seq FROM messages m WHERE kind = 'result' AND session_id = ? ORDER BY seq"
    recorded = t.rows(rows, 1)
    eq(recorded, [(2, 1), (6, 4), (7, 5)], "as the proxy pairs them")
    exported = t.tmp / "exported.jsonl"
    eq(t.run("export", "--vault", t.vault, "1", "-o", exported).returncode, 0, "export")
    eq([json.loads(x).get("re") for x in exported.read_text().splitlines()[6:8]], [4, None], "`re` while both are pending")
    foreign = t.tmp / "foreign.jsonl"
    foreign.write_text("".join(json.dumps({"ts": i / 100, "dir": "client->server" if x[:1] == b">" else "server->client",
                                           "msg": json.loads(x[1:])}) + "\n" for i, x in enumerate(reused())))
    for id, file in enumerate((exported, foreign), 2):
        r = t.run("import", "--vault", t.vault, file)
        eq(r.returncode, 0, f"import: {r.stderr!r}")
        eq(t.rows(rows, id), recorded, file.name)
        replay = Replay(t, str(id)).play(handshake())
        for name in ("beta", "alpha"):
            eq(replay.ask(call(name, name))["result"]["content"][0]["text"], f"of {name}", f"{file.name}: {name}")
        replay.end()


@case("2026-07-28: an imported session has the server's name from any result")
def _(t):
    ask = request(0, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                              "io.modelcontextprotocol/clientCapabilities": {},
                                              "io.modelcontextprotocol/clientInfo": {"name": "demo", "version": "1"}}})
    answer = result(0, {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "public",
                        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "notes-server", "version": "2"}}})
    name, (_, text) = next(iter(FOREIGN.items()))
    (t.tmp / name).write_bytes(text.replace(b"ASK", ask).replace(b"ANSWER", answer))
    id = imported(t, t.tmp / name)["id"]
    eq(t.rows("SELECT client_name, server_name, server_version FROM sessions WHERE id = ?", id),
       [(b"demo", b"notes-server", b"2")], "names")


@case("recordings of mcp-tape, mcp-rec and mcp-cassette are imported, and exported as cassettes")
def _(t):
    ask = request(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "demo", "version": "1"}})
    answer = result(0, {"protocolVersion": "2025-06-18", "capabilities": {},
                        "serverInfo": {"name": "notes-server", "version": "2"}})
    for name, (server, text) in FOREIGN.items():
        file = t.tmp / name
        file.write_bytes(text.replace(b"ASK", ask).replace(b"ANSWER", answer))
        id = imported(t, file)["id"]
        eq(t.rows("SELECT name, client_name, server_name, protocol_version FROM sessions WHERE id = ?", id),
           [(server.encode(), b"demo", b"notes-server", b"2025-06-18")], name)
        eq(t.rows("SELECT method, status FROM invocations WHERE session_id = ?", id), [(b"initialize", b"ok")],
           name)
        first = exported(t, str(id))
        (t.tmp / "again.jsonl").write_bytes(first)
        eq(exported(t, str(imported(t, t.tmp / "again.jsonl")["id"])), first, f"{name} as a cassette")


# --- the document ---------------------------------------------------------------------------------

DOCUMENT = (lib.ROOT / "docs/cassette.md").read_text()


@case("docs/cassette.md: the example is a cassette as export writes it")
def _(t):
    example = re.search(r"```json\n(\{\"format\".*?)```", DOCUMENT, re.S).group(1).encode()
    file = t.tmp / "example.jsonl"
    file.write_bytes(example)
    imported(t, file)
    eq(exported(t), example, "the example after a round trip")


@case("docs/cassette.md: lists every member that the program reads, in the order in which it writes them")
def _(t):
    types = {"TEXT": "string", "TIME": "number", "NUMBER": "number", "JSON": "object"}
    fields = (lib.ROOT / "model/records.h").read_text().split("#define SESSION_FIELDS")[1].split("#define")[0]
    header = [(name, types[kind], "yes" if member == "NEEDED" else "") for name, kind, member in
              re.findall(r"FIELD\((\w+),\s*(\w+),(?:[^,]*,){3}\s*(\w+),", fields) if member != "NO"]
    source = (lib.ROOT / "vault/cassette/message_line.c").read_text()
    line = [(name, "any" if kind == "NONE" else kind.lower(), "yes" if needed == "true" else "") for name, kind, needed in
            re.findall(r"MEMBER\((\w+),\s*(\w+),\s*(\w+),", source)]
    for title, read in (("Header", [("format", "string", "yes"), ("version", "number", "yes"), *header]), ("A message", line)):
        section = DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]
        told = re.findall(r"^\| `(\w+)` \| (\w+) \| (yes|)", section, re.M)
        check(len(read) > 10, "the tables are found in the source")
        eq(told, read, f"members of: {title}")


if __name__ == "__main__":
    lib.main()
