#!/usr/bin/env python3
"""Replay: the recorded answer to the same request, or a visible miss; and the vault is unchanged."""
import contextlib
import hashlib
import json
import os
import random
import re
import sqlite3
import subprocess
import threading
import time

import lib
from lib import Background, call, case, check, eq, error, note, request, result, text_result
from replaying import Replay, cassette, handshake, junit, record, sarif

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
LONG = "Dear all, this is a letter that is far too long to be kept as it is, and private, too. "


# --- sanitized requests -----------------------------------------------------------------------------

def secretive(i):
    """Calls whose arguments are not kept as they are."""
    return [call(i, "login", {"user": "me", "password": f"hunter-{SECRET}"}),
            call(i + 1, "fetch", {"url": f"https://me:{SECRET}@example.org/", "headers": {"Authorization": f"Bearer {SECRET}"}}),
            call(i + 2, "send", {"to": "all", "body": LONG * 20}),
            call(i + 3, "store", {"ticket": "TICKET-4711", "inner": json.dumps({"token": SECRET})})]


def secret_script():
    script = handshake()
    for i, line in enumerate(secretive(1)):
        script += [b">" + line, b"<" + text_result(i + 1, f"answer {i}")]
    return script


def finds_its_answers(t, *options, cut=True, **more):
    replay = Replay(t, *options, **more).play(handshake())
    for i, line in enumerate(secretive(11)):
        eq(replay.ask(line)["result"]["content"][0]["text"], f"answer {i}", "the answer")
    other = LONG * 20 if not cut else LONG + "x" * (len(LONG) * 19)
    if not cut:
        other = other[:-1] + "!"
    # only the head of a letter is kept, and its length; with --record full all of it
    message = call(20, "send", {"to": "all", "body": other})
    if cut:
        eq(replay.ask(message)["result"]["content"][0]["text"], "answer 2", "a letter that is kept as the same")
    else:
        replay.refuses(message, -32602, "/arguments/body")
    said = replay.refuses(call(21, "login", {"user": "you", "password": SECRET}), -32602, "/arguments/user")
    check(SECRET not in json.dumps(said), lambda: f"the secret is in {said}")
    replay.end(1)
    check(SECRET not in replay.stderr(), lambda: f"the secret is in {replay.stderr()}")


@case("a call whose arguments were sanitized matches, from the vault and from a file")
def _(t):
    record(t, secret_script())
    kept = b"".join(m.body or b"" for m in t.messages())
    check(SECRET.encode() not in kept, "the vault holds no secret")
    cut = t.rows("SELECT record_level FROM sessions") == [(b"standard",)]
    eq((LONG * 2).encode() in kept, not cut, "the vault holds a letter")
    finds_its_answers(t, cut=cut)
    file = t.tmp / "session.jsonl"
    eq(t.run("export", "--vault", t.vault, "-o", file).returncode, 0, "export")
    finds_its_answers(t, file, vault=False, cut=cut)
    eq(t.run("import", "--vault", t.tmp / "other", file).returncode, 0, "import")
    finds_its_answers(t, vault=t.tmp / "other", cut=cut)


@case("truncated content is compared by its beginning and length, other content in full")
def _(t):
    for level in "standard", "full":
        vault = t.tmp / level
        file = cassette(t, secret_script(), record_level=level, redact_rules={"version": "1.1"})
        finds_its_answers(t, file, vault=False, cut=level == "standard")
        eq(t.run("import", "--vault", vault, file).returncode, 0, "import")
        eq(t.rows("SELECT record_level FROM sessions", vault=vault), [(level.encode(),)], "how much is kept")
        kept = b"".join(m.body or b"" for m in lib.messages(vault))
        check(SECRET.encode() not in kept, "the vault holds no secret")
        finds_its_answers(t, vault=vault, cut=level == "standard")


@case("requests are sanitized with the rules of the recording, not the current ones")
def _(t):
    file = cassette(t, secret_script(), redact_rules={"version": "1.1", "rules": [["pattern.ticket", "TICKET-[0-9]+"]]})
    replay = Replay(t, file, vault=False).play(handshake())
    eq(replay.ask(secretive(1)[3])["result"]["content"][0]["text"], "answer 3", "the answer")
    other = call(5, "store", {"ticket": "TICKET-1", "inner": json.dumps({"token": "x" + SECRET})})
    eq(replay.ask(other)["result"]["content"][0]["text"], "answer 3", "another ticket is kept as the same")
    replay.refuses(call(6, "store", {"ticket": "T-1", "inner": json.dumps({"token": SECRET})}), -32602, "/arguments/ticket")
    replay.end(1)
    for rules in ({"rules": [["pattern.x", "("]]}, {"rules": [["nothing", "x"]]}, {"rules": [[1]]}):
        replay = Replay(t, cassette(t, secret_script(), redact_rules=rules), vault=False)
        eq(replay.wait(), 3, f"the status with the rules {rules}; {replay.stderr()}")


@case("--report and --junit contain no secrets, even from a file that has them")
def _(t):
    file = cassette(t, secret_script())
    report, xml = t.tmp / "report.json", t.tmp / "junit.xml"
    replay = Replay(t, "--report", report, "--junit", xml, file, vault=False).play(handshake())
    other = SECRET[:-1] + "x"
    said = replay.refuses(call(1, "login", {"user": "me", "password": other}), -32602, "/arguments/password")
    replay.end(1)
    for name, text in (("the answer", json.dumps(said)), ("stderr", replay.stderr()), ("--report", report.read_text()),
                       ("--junit", xml.read_text())):
        check(SECRET not in text and other not in text, f"a secret is in {name}: {text}")
    junit(xml)


# --- the vault ----------------------------------------------------------------------------------------

def digest(vault):
    return {str(p.relative_to(vault)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(vault.rglob("*")) if p.is_file()}


def plain_script(n=20, more=0):
    script = handshake()
    for i in range(n):
        script += [b">" + call(i, "echo", {"n": i}), b"<" + text_result(i, f"answer {i}" + "." * more)]
    return script


@case("a replay changes no file of the vault")
def _(t):
    record(t, plain_script(more=70_000))
    before = digest(t.vault)
    check(any(x.startswith("Bodies/") for x in before), "there are large bodies")
    Replay(t).play(plain_script(more=70_000)).end()
    replay = Replay(t).play(handshake())
    replay.refuses(request(1, "no/such"), -32601, "never recorded")
    replay.end(1)
    eq(digest(t.vault), before, "the vault afterwards")


def record_and_close(t, script):
    """A vault that no process has open: SQLite's -wal and -shm are gone."""
    record(t, script)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
        db.execute("SELECT count(*) FROM sessions").fetchall()
    check(not (t.vault / "interposer.db-shm").exists(), "-shm is still there")


@case("a replay adds no file to a vault that nobody has open, not even when it is killed")
def _(t):
    record_and_close(t, plain_script())
    before = digest(t.vault)
    replay = Replay(t).play(plain_script())
    eq(digest(t.vault), before, "the vault during the replay")
    replay.end()
    eq(digest(t.vault), before, "the vault afterwards")
    replay = Replay(t).play(handshake())
    replay.proc.kill()
    replay.proc.wait()
    eq(digest(t.vault), before, "the vault after a killed replay")
    for args in ("sessions",), ("show",), ("stats",), ("export", "1"), ("check",), ("doctor",), ("ps",), ("tail", "--once"):
        r = t.run(*args, "--vault", t.vault)
        check(r.returncode in (0, 1) and r.stderr == b"", f"{args}: {r.returncode} {r.stderr!r}")
        eq(digest(t.vault), before, f"the vault after {args}")


@case("a replay goes on when a proxy starts to write to its vault")
def _(t):
    script = plain_script(300)
    record_and_close(t, script)
    replay = Replay(t, "1").play(script[:21])  # not to the end: rows are read as they are needed
    p = t.proxy().initialize()
    for n in range(50):
        p.round(id=n)
    replay.play(script[21:])
    p.end()
    replay.end()
    eq(t.rows("SELECT count(*) FROM sessions"), [(2,)], "sessions")


@case("a replay changes nothing while a proxy has the vault open, and does not disturb one that writes")
def _(t):
    record(t, plain_script())
    p = t.proxy().initialize()
    p.round()
    lib.wait_until(lambda: (len(t.messages()), len(t.log_lines())) == (3 + 40 + 3 + 2, 21 + 2), 5, "all is written")
    lib.at_rest(p.recorder(), quiet=5.0)  # its own housekeeping is over
    before = digest(t.vault)
    uid = t.rows("SELECT uid FROM sessions WHERE id = 1")[0][0].decode()
    Replay(t, uid).play(plain_script()).end()
    eq(digest(t.vault), before, "the vault with an idle proxy")

    stop = threading.Event()

    def write():
        n = 0
        while not stop.is_set():
            p.round(id=n)
            n += 1
        return n
    rows = "SELECT * FROM messages WHERE session_id = 1 ORDER BY seq"
    recorded = t.rows(rows)
    with Background(write) as writer:
        for _ in range(10):
            Replay(t, uid).play(plain_script()).end()
        stop.set()
    p.end()
    eq(t.rows(rows), recorded, "the session that was replayed")
    eq(len(t.messages("session_id = 2")), 3 + 2 + 2 * writer.value, "what the proxy has recorded")
    eq(t.rows("SELECT count(*) FROM sessions"), [(2,)], "sessions")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity")


@case("a session whose server could not be started is skipped")
def _(t):
    record(t, handshake() + [b">" + call(1, "a"), b"<" + text_result(1, "done")])
    p = t.proxy(server=["no-such-server-here"])
    p.client.send(handshake()[0][1:])
    check("error" in p.client.recv_json(), "an answer without a server")
    p.client.close_write()
    p.wait()
    eq(t.rows("SELECT count(*) FROM sessions"), [(2,)], "sessions")
    Replay(t, "--strict").play(handshake() + [b">" + call(1, "a"), b"<" + text_result(1, "done")]).end()


@case("the newest finished session is replayed, or one given by name, number or uid prefix")
def _(t):
    for name in "old", "new":
        record(t, handshake() + [b">" + call(1), b"<" + text_result(1, name)], "--name", name)
    p = t.proxy("--name", "runs").initialize()
    p.round()
    uid = t.rows("SELECT uid FROM sessions WHERE name = 'old'")[0][0].decode()
    for options, name, chosen in (((), "new", 2), (("last",), "new", 2), (("--name", "old"), "old", 1), (("old",), "old", 1),
                                  (("1",), "old", 0), ((uid,), "old", 0), (("2",), "new", 0)):
        replay = Replay(t, *options).play(handshake())
        eq(replay.ask(call(5))["result"]["content"][0]["text"], name, f"the session of {options}")
        replay.end()
        note = rf"mcp-interposer: note: the recording is session {chosen} of {name} \(20\S+ \S+, 5 messages\)\n" if chosen else ""
        check(re.fullmatch(note, replay.stderr()), lambda: f"{options}: {replay.stderr()!r}")
    p.end()
    for options, words in ((("--name", "none"), "none"), (("77",), "77")):
        replay = Replay(t, *options)
        eq(replay.wait(), 3, "the status when there is no such session")
        check(words in replay.stderr(), lambda: replay.stderr())


# --- the client asks as it likes ------------------------------------------------------------------------

@case("requests in another order, repeated, and all at once: each gets its own answer")
def _(t):
    file = cassette(t, plain_script(50))
    for ids in random.Random(4711).sample(range(50), 50), [7, 7, 3, 7]:
        replay = Replay(t, file, vault=False).play(handshake())
        for i in ids:
            eq(replay.ask(call(f"n{i}", "echo", {"n": i})), json.loads(text_result(f"n{i}", f"answer {i}")), "the answer")
        replay.end()
    replay = Replay(t, file, vault=False).play(handshake())
    ids = random.Random(11).sample(range(50), 50)
    replay.client.send(*(call(1000 + i, "echo", {"n": i}) for i in ids))
    got = {m["id"]: m for m in (replay.client.recv_json() for _ in ids)}
    eq(got, {1000 + i: json.loads(text_result(1000 + i, f"answer {i}")) for i in ids}, "the answers")
    replay.end()


@case("equal requests get the recorded answers in order, then the last one again, or a miss")
def _(t):
    script = handshake()
    for i in range(3):
        script += [b">" + call(i, "count"), b"<" + text_result(i, f"{i}")]
    file = cassette(t, script)
    replay = Replay(t, file, vault=False).play(script)
    eq(replay.ask(call(3, "count"))["result"]["content"][0]["text"], "2", "one more")
    replay.end()
    replay = Replay(t, "--repeat", "fail", file, vault=False).play(script)
    replay.refuses(call(3, "count"), -32602, "more often than recorded", "--repeat last")
    replay.end(1)


@case("a request that was never recorded is a miss, whatever its method, and the session continues")
def _(t):
    script = handshake() + [
        b">" + request(1, "tools/list"), b"<" + result(1, {"tools": []}),
        b">" + call(2, "read", {"path": "/a", "lines": [1, 2]}), b"<" + text_result(2, "a"),
        b">" + request(3, "resources/read", {"uri": "file:///a"}), b"<" + result(3, {"contents": []}),
        b">" + request(4, "prompts/get", {"name": "p"}), b"<" + error(4, -32602, "no such prompt")]
    file = cassette(t, script)
    replay = Replay(t, file, vault=False).play(handshake())
    misses = [
        (call(1, "read", {"path": "/b", "lines": [1, 2]}), -32602, 'recorded "/a", now "/b"', "--ignore '/arguments/path'"),
        (call(1, "read", {"path": "/a", "lines": [1, 3]}), -32602, "/arguments/lines/1"),
        (call(1, "write", {"path": "/a"}), -32602, "tools/call write", "never recorded"),
        (call(1, "read"), -32602, "/arguments/path"),
        (request(1, "tools/call"), -32602, "tools/call"),
        (request(1, "tools/list", {"cursor": "x"}), -32602, "/cursor"),
        (request(1, "resources/read", {"uri": "file:///b"}), -32602, "file:///b"),
        (request(1, "resources/list"), -32601, "resources/list"),
        (request(1, "prompts/get", {"name": "p", "arguments": {"x": "1"}}), -32602, "/arguments"),
        (request(1, "completion/complete", {}), -32601, "completion/complete"),
        (request(1, "logging/setLevel", {"level": "info"}), -32601, "logging/setLevel"),
        (request(1, "tasks/get", {"taskId": "x"}), -32601, "tasks/get"),
        (request(1, "server/discover"), -32601, "server/discover"),
        (request(1, "no/such"), -32601, "no/such"),
        (request(1, "tools/Call", {"name": "read"}), -32601, "tools/Call"),
        (request(1, "\\u0000 \x1b[31m"), -32601),
    ]
    for line, code, *words in misses:
        replay.refuses(line, code, *words)
    eq(replay.ask(request(5))["result"], {}, "ping is answered, recorded or not")
    replay.play(script[len(handshake()):])
    replay.end(1)
    check("\x1b" not in replay.stderr(), "a terminal obeys nothing of a message")
    check("requests=22 not_recorded=15" in replay.stderr(), lambda: replay.stderr())


@case("an invalid line gets the error that a server would send, and counts")
def _(t):
    replay = Replay(t, "--max-message", "1KiB", cassette(t, plain_script(1)), vault=False).play(handshake())
    for line, id, code in ((b"{", None, -32700), (b"[]", None, -32600), (b'{"jsonrpc":"2.0","id":7}', None, -32600),
                           (b'{"jsonrpc":"2.0","id":8,"method":"x","pad":"' + b"x" * 5000 + b'"}', 8, -32600)):
        replay.client.send(line)
        got = replay.client.recv_json()
        eq((got["id"], got["error"]["code"]), (id, code), f"the answer to {line[:40]}")
    replay.play(plain_script(1)[3:])
    replay.end(1)


@case("many calls with progress tokens, sent faster than the recording is read")
def _(t):
    n = 70_000 if os.environ.get("TEST_LONG") else 20_000
    file, asked = t.tmp / "long.jsonl", t.tmp / "asked.jsonl"
    ask = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","arguments":{"n":%d},"_meta":{"progressToken":%d}}}'
    answer = '{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}'
    with file.open("w") as f:
        f.write('{"format":"mcp-interposer-cassette","version":1,"name":"long"}\n')
        for i in range(n):
            f.write('{"t":%d,"dir":"c2s","msg":%s}\n' % (i, ask % (i, i, i)))
            f.write('{"t":%d,"dir":"s2c","msg":%s}\n' % (i, answer % (i, i)))
        f.write('{"end":true}\n')
    asked.write_text("".join(ask % (i + 5, i, i + 5) + "\n" for i in range(n)))
    with asked.open() as f:
        before = os.times()
        done = subprocess.run([lib.PROGRAM, "replay", "--strict", file], stdin=f, capture_output=True, env=t.environ())
        after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    eq((done.returncode, done.stderr), (0, b""), "the end")
    check(done.stdout.decode() == "".join(answer % (i + 5, i) + "\n" for i in range(n)), "every answer, in order")
    check(took < n / 5000 * lib.SLOW, f"{took:.1f} s of CPU time: it takes more and more for each")


@case("--strict names what was recorded and never requested: the first 20, and how many more")
def _(t):
    file = cassette(t, plain_script(30))
    for asked, rest in ((30, 0), (28, 2), (10, 20), (5, 25)):
        replay = Replay(t, "--strict", file, vault=False).play(plain_script(30)[:3 + 2 * asked])
        replay.end(1 if rest else 0)
        lines = [x for x in replay.stderr().splitlines() if "never requested" in x]
        eq(len(lines), min(rest, 20), f"lines; stderr {replay.stderr()}")
        eq(all(re.search(r"never requested: tools/call echo seq=\d+$", x) for x in lines), True, f"lines {lines}")
        eq(len(set(lines)), len(lines), "different requests")
        eq(f"not requested: requests={rest}\n" in replay.stderr(), rest > 0, f"their number; {replay.stderr()}")
        eq("and 5 more" in replay.stderr(), rest == 25, f"the end of the list; {replay.stderr()}")
    replay = Replay(t, file, vault=False).play(plain_script(30)[:5])
    replay.end(0)
    eq(replay.stderr(), "", "without --strict")


@case("--ignore, --ordering strict and --strict")
def _(t):
    script = plain_script(3)
    file = cassette(t, script)
    replay = Replay(t, "--ignore", "/arguments/n", file, vault=False).play(handshake())
    for i in range(3):
        eq(replay.ask(call(i, "echo", {"n": "anything"}))["result"]["content"][0]["text"], f"answer {i}", "in order")
    replay.end()
    replay = Replay(t, "--ordering", "strict", file, vault=False).play(script[:5])
    replay.refuses(call(5, "echo", {"n": 2}), -32602, "at another point of the session", "--ordering match")
    replay.play(script[5:])
    replay.end(1)
    Replay(t, "--strict", file, vault=False).play(script).end(0)
    replay = Replay(t, "--strict", file, vault=False).play(script[:7])
    replay.end(1)
    check("recorded but not requested: requests=1" in replay.stderr(), lambda: replay.stderr())


@case("--report, --junit and --sarif list what matched, what did not, and what was never requested")
def _(t):
    file = cassette(t, plain_script(3), name="odd <&\"'> name.jsonl")
    for strict in (), ("--strict",):
        report, xml, results = t.tmp / "report.json", t.tmp / "junit.xml", t.tmp / "sarif.json"
        replay = Replay(t, *strict, "--report", report, "--junit", xml, "--sarif", results, file, vault=False).play(plain_script(3)[:5])
        replay.refuses(call(9, "echo", {"n": 'a <b> & "c"'}), -32602)
        replay.refuses(call(9, "\u0001\ufffe]]>"), -32602)
        replay.end(1)
        got = json.loads(report.read_text())
        eq({k: got[k] for k in ("format", "version", "recording", "exit_status", "strict", "requests", "matched", "repeated",
                                "missed", "notes", "faults", "recorded", "not_asked", "unplaced")},
           {"format": "mcp-interposer-replay-report", "version": 1, "recording": str(file), "exit_status": 1,
            "strict": bool(strict), "requests": 4, "matched": 2, "repeated": 0, "missed": 2, "notes": 0, "faults": 0,
            "recorded": 4, "not_asked": 2, "unplaced": 0}, "the report")
        finding = got["findings"][0]
        eq({k: finding[k] for k in ("kind", "method", "target", "differences", "failure")},
           {"kind": "different", "method": "tools/call", "target": "echo", "failure": True,
            "differences": [{"pointer": "/arguments/n", "recorded": 1, "asked": 'a <b> & "c"'}]}, "the finding")
        eq([x["seq"] for x in got["never_asked"]], [6, 8], "never asked")
        suite = junit(xml)
        eq((suite.get("tests"), suite.get("failures"), suite.get("skipped")),
           ("6", "4", "0") if strict else ("6", "2", "2"), "counts of the suite")
        never = [("never-asked", "error", str(file), n + 1) for n in (6, 8)]
        eq(sarif(results), [*((x["kind"], "error", str(file), x["nearest_seq"] + 1) for x in got["findings"]), *(never if strict else [])], "SARIF")
    replay = Replay(t, "--junit", t.tmp / "good.xml", file, vault=False).play(plain_script(3))
    replay.end()
    eq(junit(t.tmp / "good.xml").get("failures"), "0", "failures of a good replay")
    eq(Replay(t, "--report", t.tmp / "no/such", file, vault=False).wait(), 3, "a report that cannot be written")
    stray = note("notifications/progress", {"progressToken": 77, "progress": 1})
    file = cassette(t, plain_script(1) + [b"<" + stray, b"<" + text_result(1, "a second answer")])
    Replay(t, "--report", report, file, vault=False).play(plain_script(1)).end()
    eq(json.loads(report.read_text())["unplaced"], 2, "messages that are not played")


@case("the benchmark of replays runs, and imports and exports the same bytes")
def _(t):
    if lib.UNDER:
        raise lib.Skip("it measures nothing here")
    env = t.environ({"BUILD": os.path.relpath(lib.BUILD, lib.ROOT), "MCP_INTERPOSER": lib.PROGRAM})
    done = subprocess.run([lib.ROOT / "scripts/bench-replay", "--quick"], env=env, capture_output=True)
    check(done.returncode == 0 and b"the same bytes" in done.stdout, lambda: repr(done))


# --- the document ---------------------------------------------------------------------------------

DOCUMENT = (lib.ROOT / "docs/replay.md").read_text()


def rows_of(title):
    """The first column of the table in a section."""
    section = DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]
    return [name for cell in re.findall(r"^\| (`.*?) \|", section, re.M) for name in re.findall(r"`([\w-]+)", cell)]


@case("docs/replay.md: the example of a miss is what stderr shows")
def _(t):
    told = re.search(r"^mcp-interposer: warn: .*$", DOCUMENT, re.M).group()
    file = cassette(t, handshake() + [b">" + call(1, "count_words", {"text": "one two three"}), b"<" + text_result(1, "3 words")])
    text = file.read_text().splitlines(keepends=True)
    file.write_text("".join(x for x in text if "initialized" not in x))  # so that the call is the third message
    replay = Replay(t, file, vault=False).play(handshake()[:2])
    replay.ask(call(1, "count_words", {"text": "one two"}))
    replay.end(1)
    eq(replay.stderr().splitlines()[0], told, "the line")


@case("docs/replay.md names every option, kind of miss, fault and member of the report")
def _(t):
    help = t.run("replay", "--help").stdout.decode()
    for option in set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help, re.M)) - {"--vault", "--journal-dir", "--config", "--help"}:
        check(f"`{option}" in DOCUMENT or f"{option} " in DOCUMENT, f"{option} is not in docs/replay.md")
    source = (lib.ROOT / "replay/mock/misses.c").read_text()
    eq(rows_of("A request that was not recorded"), re.findall(r'\[MISS_\w+\] = \{"([\w-]+)"', source), "kinds of misses")
    source = (lib.ROOT / "replay/mock/fault.c").read_text()
    eq(sorted(rows_of("Faults")), sorted(re.findall(r'\[FAULT_\w+\] = \{"([\w-]+)"', source)), "faults")
    report = t.tmp / "report.json"
    replay = Replay(t, "--report", report, cassette(t, plain_script(2)), vault=False).play(handshake())
    replay.refuses(call(9, "echo", {"n": 7}), -32602)
    replay.end(1)
    got = json.loads(report.read_text())
    eq(sorted(rows_of("Reports")), sorted(got), "members of the report")
    for name in {*got["findings"][0], *got["findings"][0]["differences"][0], *got["never_asked"][0]}:
        check(f"`{name}`" in DOCUMENT, f"{name} is not described")


if __name__ == "__main__":
    lib.main()
