#!/usr/bin/env python3
"""mcp-interposer check: the findings of sessions and files, in each of its formats."""
import json
import re
import shutil
import sqlite3
import urllib.parse
import xml.etree.ElementTree as ET

import lib
from lib import call, case, check, eq, note, request, result, text_result


def record(t, *options):
    """A session with an error of the server, one of the client, and a note."""
    p = t.proxy("--name", "srv", *options).initialize()

    def ask(q, a):
        p.client.send(q)
        p.server.expect(q)
        p.server.send(a)
        p.client.expect(a)
    ask(request(1, "tools/list"), result(1, {"tools": "none"}))                # the server's
    ask(request(2, "tools/call", {"arguments": {}}), text_result(2, "x"))      # the client's
    ask(request(3, "my/method", {"x": '<&"\x07'}), result(3))                  # a note
    p.server.send(note("notifications/progress", {"progressToken": 9, "progress": 1}))
    p.client.recv()
    p.end()


def run(t, *args, status=None):
    done = t.run("check", "--vault", t.vault, *args)
    if status is not None:
        eq(done.returncode, status, f"exit status of check {args}: {done.stderr}")
    return done.stdout.decode()


def as_json(t, *args, status=1):
    got = json.loads(run(t, "-F", "json", *args, status=status))
    eq(json.loads(run(t, "--json", *args, status=status)), got, "--json")
    return [[(f["from"], f["finding"], f["severity"]) for f in r["findings"]] for r in got["recordings"]]


NAMES = [("server", "invalid-result", "error"), ("client", "invalid-params", "error"),
         ("client", "unknown-method", "note"), ("server", "stray-progress", "error")]


@case("a session: text, JSON, JUnit and SARIF have the same findings")
def _(t):
    record(t)
    eq(as_json(t), [NAMES], "findings")
    text = run(t, status=1)
    check("3 errors, 0 warnings, 1 note\n" in text, text)
    for side, name, severity in NAMES:
        check(any(x.split()[1:4] == [side, severity, name] for x in text.splitlines()[1:]), f"{name} in {text}")
    root = ET.fromstring(run(t, "-F", "junit", status=1))
    suite = root.find("testsuite")
    eq((suite.get("tests"), suite.get("failures")), ("4", "3"), "JUnit")
    eq([c.get("name") for c in suite if c.find("failure") is not None], [n for _, n, s in NAMES if s == "error"], "failures")
    sarif = json.loads(run(t, "-F", "sarif", status=1))
    driver, results = sarif["runs"][0]["tool"]["driver"], sarif["runs"][0]["results"]
    eq([(r["ruleId"], r["level"]) for r in results], [(n, s) for _, n, s in NAMES], "SARIF")
    ids = [r["id"] for r in driver["rules"]]
    check(len(ids) == len(set(ids)) and {n for _, n, _ in NAMES} < set(ids), "SARIF rules")
    eq(run(t, "--junit", t.tmp / "x", "--sarif", t.tmp / "s", status=1), text, "the text beside the files")
    eq((json.loads((t.tmp / "s").read_text()), ET.parse(t.tmp / "x").getroot().find("testsuite").get("tests")), (sarif, "4"), "the files")
    eq(json.loads(run(t, "--sarif", "-", status=1)), sarif, "SARIF on stdout")
    for args in (["-F", "sarif", "--sarif", "f"], ["-F", "sarif", "--junit", "-"], ["--json", "--junit", "-"]):
        eq((t.run("check", "--vault", t.vault, *args).returncode, run(t, *args)), (2, ""), f"{args}")
    run(t, "-F", "json", "-o", t.tmp / "j", status=1)
    run(t, "-o", t.tmp / "t", "--junit", "-", status=1)
    eq(((t.tmp / "t").read_text(), len(json.loads((t.tmp / "j").read_text())["recordings"])), (text, 1), "text and JSON in a file")


@case("a file: the same findings, with line numbers")
def _(t):
    record(t)
    file = t.tmp / "a b.jsonl"
    eq(t.run("export", "--vault", t.vault, "-o", file).returncode, 0, "export")
    eq(as_json(t, file), [NAMES], "findings")
    lines = file.read_text().splitlines()
    sarif = json.loads(run(t, "-F", "sarif", file, status=1))
    for r in sarif["runs"][0]["results"]:
        place = r["locations"][0]["physicalLocation"]
        eq(place["artifactLocation"]["uri"], "file://" + urllib.parse.quote(str(file)), "uri")
        line = json.loads(lines[place["region"]["startLine"] - 1])
        check(r["ruleId"] in line.get("finding", ""), f"{r['ruleId']} at {line}")
    # violations that were not recorded are found as well
    stripped = [json.dumps({k: v for k, v in json.loads(x).items() if k != "finding"}) for x in lines]
    file.write_text("\n".join(stripped) + "\n")
    eq(as_json(t, file), [NAMES], "findings without the notes of the proxy")


@case("--fail-on and --only select the findings that fail")
def _(t):
    record(t)
    for options, status in ((["--fail-on", "none"], 0), (["--fail-on", "note"], 1), (["--fail-on", "crlf,bom"], 0),
                            (["--fail-on", "crlf,stray-progress"], 1), (["--fail-on", "warning"], 1),
                            (["--only", "client", "--fail-on", "stray-progress"], 0), (["--only", "client"], 1)):
        run(t, *options, status=status)
    eq(as_json(t, "--only", "server"), [[n for n in NAMES if n[0] == "server"]], "of the server")
    done = t.run("check", "--vault", t.vault, "--fail-on", "no-such")
    eq(done.returncode, 2, "a name that is none")
    check(b"unknown finding 'no-such'" in done.stderr, done.stderr)
    done = t.run("check", "--vault", t.vault, "--json", "-F", "sarif")
    check(done.returncode == 2 and b"--json and --format sarif: choose one" in done.stderr, f"two formats: {done}")


@case("the JSON has the members that docs/ci.md describes, and no others")
def _(t):
    record(t)
    t.run("export", "--vault", t.vault, "-o", t.tmp / "a.jsonl")
    got = json.loads(run(t, "-F", "json", "1", t.tmp / "a.jsonl", status=1))
    table = (lib.ROOT / "docs/ci.md").read_text().split("`--format json` prints one object:")[1]
    cells = dict(re.findall(r"^\| `([a-z.\[\]]+)` \| (.*) \|$", table, re.M))
    eq(set(got), {k for k in cells if "." not in k}, "members of the object")
    mean = {"client", "server", "uid"}                                         # words in the cells that are not members
    one, two = got["recordings"]
    eq(set(one) | set(two), set(re.findall(r"`([a-z_]+)`", cells["recordings"])) - mean | {"server"}, "members of a recording")
    eq(("session" in one, "file" in one, "session" in two, "file" in two), (True, False, False, True), "what it is")
    eq({k for f in one["findings"] for k in f} | {"why", "target"}, set(re.findall(r"`([a-z_]+)`", cells["recordings[].findings"])) - mean,
       "members of a finding")


@case("each finding has details: the member, the pointer into the arguments, the line, the error")
def _(t):
    p = t.proxy("--name", "srv").initialize()
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
    for q, a in ((request(1, "tools/list"), result(1, {"tools": [{"name": "add", "inputSchema": schema}]})),
                 (call(2, "add", {"a": "x"}), text_result(2, "y")), (request(3, "tools/call", {"arguments": {}}), result(3, {}))):
        p.client.send(q)
        p.server.expect(q)
        p.server.send(a)
        p.client.expect(a)
    p.server.send(b"listening on \x1b[1mstdio " + b"." * 100)
    p.client.send(request(4, "tools/list"))
    p.server.recv()
    p.server.exit(3)
    p.client.rest()
    p.wait()
    got = {f["finding"]: f.get("why") for f in json.loads(run(t, "-F", "json", status=1))["recordings"][0]["findings"]}
    eq((got["invalid-arguments"], got["invalid-params"], got["invalid-result"]),
       ('/a must be of type "integer", is a string', "`name`", "`content`"), "why")
    eq(got["not-json"], '"listening on \\x1b[1mstdio ' + "." * 57 + "…\"", "the line")
    check("status 3" in got["server-gone"], got["server-gone"])
    for fmt in ("text", "junit", "sarif"):
        text = run(t, "-F", fmt, status=1)
        for part in ("/a must be of type", "`name`", "`content`", "listening on", "status 3"):
            check(part in text, f"{part} in {fmt}: {text}")


@case("--all and the options of sessions: every matching session, oldest first")
def _(t):
    record(t)
    p = t.proxy("--name", "other").initialize()
    p.round()
    p.end()
    record(t)
    for args, names in ((["--all"], ["srv", "other", "srv"]), (["-a"], ["srv", "other", "srv"]), (["--server", "s*"], ["srv"] * 2),
                        (["--all", "--server", "other"], ["other"]), (["--since", "1h", "--client", "test*"], ["srv", "other", "srv"])):
        got = json.loads(run(t, "-F", "json", *args, "--fail-on", "none", status=0))
        eq([r["server"] for r in got["recordings"]], names, f"servers with {args}")
        eq([len(r["findings"]) for r in got["recordings"]], [0 if n == "other" else 4 for n in names], f"findings with {args}")
    eq(json.loads(run(t, "-F", "json", "--all", status=1))["failing"], 6, "the sum")
    for args, status, says in ((["--all", "1"], 2, b"not both"), (["--server", "srv", "x.jsonl"], 2, b"not both"),
                               (["--server", "none"], 3, b"no matching session")):
        done = t.run("check", "--vault", t.vault, *args)
        eq((done.returncode, done.stdout), (status, b""), f"{args}")
        check(says in done.stderr, done.stderr)


@case("--ignore: findings are neither listed nor counted")
def _(t):
    record(t)
    eq(as_json(t, "--ignore", "invalid-result,unknown-method"), [[NAMES[1], NAMES[3]]], "findings")
    eq(as_json(t, "-i", ",".join(n for _, n, _ in NAMES), status=0), [[]], "none is left")
    done = t.run("check", "--vault", t.vault, "--ignore", "error")
    eq(done.returncode, 2, "a severity is no name")
    check(b"unknown finding 'error'" in done.stderr, done.stderr)
    config = t.tmp / "config.ini"
    config.write_text("[check]\nignore =\n")
    done = t.run("check", "--vault", t.vault, "--config", config)
    check(done.returncode == 1 and b"ignore" not in done.stderr, done)


@case("several recordings, none, and an invalid one")
def _(t):
    eq(t.run("check", "--vault", t.vault).returncode, 3, "no vault")
    record(t)
    good = t.tmp / "good.jsonl"
    t.run("export", "--vault", t.vault, "-o", good)
    bad = t.tmp / "bad.jsonl"
    bad.write_text("{}\n")
    eq(t.run("check", "--vault", t.vault, bad).returncode, 3, "no cassette")
    eq(t.run("check", "--vault", t.vault, "nothing").returncode, 3, "no session")
    eq(as_json(t, "1", good, good), [NAMES] * 3, "three recordings")


@case("a session of an older version, and one without bodies, are checked as far as possible")
def _(t):
    record(t, "--record", "minimal")
    eq(as_json(t), [NAMES], "what was noted")
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute("UPDATE messages SET finding = NULL")
    eq(as_json(t, status=0), [[]], "without bodies and without notes")
    shutil.rmtree(t.vault)
    record(t)
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute("UPDATE messages SET finding = 'of-the-future' WHERE finding IS NOT NULL")
    eq(as_json(t), [NAMES], "what today's rules find")


if __name__ == "__main__":
    lib.main()
