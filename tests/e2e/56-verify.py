#!/usr/bin/env python3
"""verify: the recorded requests are sent to a live server, and every difference is reported."""
import copy
import json
import re
import xml.etree.ElementTree as ElementTree

import lib
from lib import case, check, eq
from replaying import junit, sarif
from scripted import scripted

# A server: it gives the answers in spec.json and logs the requests.
SERVER = r'''
import json, sys
spec, asked = json.load(open(sys.argv[1])), open(sys.argv[2], "a")
def say(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    p = m.get("params") or {}
    what = m.get("method", "answer") + "".join(" " + str(p[k]) for k in ("name", "uri", "cursor") if k in p)
    asked.write(json.dumps([what, m]) + "\n"), asked.flush()
    if "id" not in m or "method" not in m:
        continue
    do = spec["answers"].get(what)
    if do is None:
        say({"id": m["id"], "error": {"code": -32601, "message": "no " + what}})
    elif do == "hang":
        pass
    elif do == "exit":
        sys.exit(3)
    else:
        for q in do.get("first", []):
            say(q)
            if "id" in q:
                asked.write(json.dumps(["said", json.loads(sys.stdin.readline())]) + "\n"), asked.flush()
        say({"id": m["id"], **{k: v for k, v in do.items() if k != "first"}})
'''

READS, SAFE, PLAIN = {"readOnlyHint": True}, {"idempotentHint": True}, {}


def tool(name, notes, **properties):
    return {"name": name, "annotations": notes, "inputSchema": {"type": "object", "properties": properties}}


def text(value):
    return {"result": {"content": [{"type": "text", "text": value}]}}


ANSWERS = {
    "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                              "serverInfo": {"name": "s", "version": "1"}}},
    "tools/list": {"result": {"tools": [tool("read", READS), tool("put", SAFE)], "nextCursor": "page-A"}},
    "tools/list page-A": {"result": {"tools": [tool("send", PLAIN, to={"type": "string"})]}},
    "tools/call read": {"first": [{"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}],
                        **text("three")},
    "tools/call put": {"first": [{"id": "q", "method": "roots/list"}], **text("done")},
    "tools/call send": text("sent"),
    "resources/read file:///a": {"result": {"contents": [{"uri": "file:///a", "text": "x"}]}},
    "odd/method": {"result": {"x": 1}},
}
REQUESTS = [
    ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
                    "clientInfo": {"name": "c", "version": "1"}}),
    ("tools/list", {}), ("tools/list", {"cursor": "page-A"}),
    ("tools/call", {"name": "read", "arguments": {}}), ("tools/call", {"name": "put", "arguments": {}}),
    ("tools/call", {"name": "send", "arguments": {"to": "a@b"}}),
    ("resources/read", {"uri": "file:///a"}), ("odd/method", {}),
]
ROOTS = {"result": {"roots": [{"uri": "file:///r"}]}}


def cassette(t, requests=REQUESTS, answers=ANSWERS, name="c.jsonl"):
    """The cassette of a client that says `requests` to a server that answers so."""
    lines = [{"format": "mcp-interposer-cassette", "version": 1, "name": "s", "record_level": "full"}]

    def add(direction, m):
        lines.append({"t": len(lines) * 1000, "dir": direction, "msg": {"jsonrpc": "2.0", **m}})
    for i, (method, params) in enumerate(requests):
        what = method + "".join(" " + str(params[k]) for k in ("name", "uri", "cursor") if k in params)
        add("c2s", {"id": i, "method": method, "params": params})
        answer = answers.get(what)
        for q in (answer or {}).get("first", []):
            add("s2c", q)
            if "id" in q:
                add("c2s", {"id": q["id"], **ROOTS})
        if answer is not None:
            add("s2c", {"id": i, **{k: v for k, v in answer.items() if k != "first"}})
        if method == "initialize":
            add("c2s", {"method": "notifications/initialized"})
    lines.append({"end": True, "messages": len(lines) - 1})
    file = t.tmp / name
    file.write_text("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines))
    return file


class Live:
    """What verify did with a server that answers so."""

    def __init__(self, t, recording, answers, *options, status=None):
        number = next(t.numbers)
        spec, asked = (t.tmp / f"{x}-{number}" for x in ("spec.json", "asked"))
        spec.write_text(json.dumps({"answers": answers}))
        asked.touch()
        done = t.run("verify", "--vault", t.vault, "--report", t.tmp / "report.json", "--junit", t.tmp / "junit.xml", "--sarif", t.tmp / "sarif.json",
                     *options, recording, "--", *scripted(t, SERVER, spec, asked))
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        self.asked = [json.loads(x) for x in asked.read_text().splitlines()]
        if status is not None:
            eq(self.status, status, f"exit status; {self.out} {self.err}")
        if self.status in (0, 1):
            self.report = json.loads((t.tmp / "report.json").read_text())
            self.junit = ElementTree.parse(t.tmp / "junit.xml").getroot()

    def verdicts(self):
        return [x["verdict"] for x in self.report["results"]]

    def words(self):
        return [what for what, _ in self.asked]

    def differences(self):
        return [(d["pointer"], d["recorded"], d["live"]) for x in self.report["results"]
                for d in x.get("differences", [])]


def changed(**more):
    answers = copy.deepcopy(ANSWERS)
    for what, answer in more.items():
        answers[what.replace("__", " ").replace("_", "/")] = answer
    return answers


@case("an unchanged server matches; only read-only and idempotent requests are sent")
def _(t):
    live = Live(t, cassette(t), ANSWERS, "-v", status=0)
    eq(live.verdicts(), ["match"] * 5 + ["skipped", "match", "skipped"], "verdicts")
    eq(live.words(), ["initialize", "notifications/initialized", "tools/list", "tools/list page-A",
                      "tools/call read", "tools/call put", "said", "resources/read file:///a"], "what it was asked")
    eq(dict(live.asked)["said"], {"jsonrpc": "2.0", "id": "q", **ROOTS}, "answer to its question")
    check("8 requests: 6 match, 2 skipped" in live.out, lambda: live.out)
    check("not marked read-only or idempotent; --all" in live.out, lambda: live.out)
    eq([live.report[k] for k in ("requests", "match", "changed", "schema_changed", "gone", "no_answer", "skipped")],
       [8, 6, 0, 0, 0, 0, 2], "counts")


@case("a server whose answers have ids of another JSON type has answered")
def _(t):
    odd = SERVER.replace('say({"id": m["id"], **', 'say({"id": str(m["id"]), **')
    (t.tmp / "spec").write_text(json.dumps({"answers": ANSWERS}))
    done = t.run("verify", "--vault", t.vault, cassette(t), "--", *scripted(t, odd, t.tmp / "spec", t.tmp / "asked"))
    eq(done.returncode, 0, f"exit status; {done.stdout} {done.stderr}")
    check(b"6 match, 2 skipped" in done.stdout, lambda: done.stdout)


@case("an error with the id null answers the request that is pending")
def _(t):
    broken = {"id": None, "error": {"code": -32700, "message": "cannot read that"}}
    other = copy.deepcopy(ANSWERS)
    other["resources/read file:///a"] = broken
    live = Live(t, cassette(t), other, status=1)
    eq(live.verdicts(), ["match"] * 5 + ["skipped", "changed", "skipped"], "verdicts")
    check("cannot read that" in live.out, lambda: live.out)


@case("--all sends all requests")
def _(t):
    live = Live(t, cassette(t), ANSWERS, "--all", status=0)
    eq(live.verdicts(), ["match"] * 8, "verdicts")
    check("tools/call send" in live.words() and "odd/method" in live.words(), "they were sent")


@case("a changed answer, a changed schema and a removed tool have different verdicts, with JSON pointers")
def _(t):
    live = Live(t, cassette(t), changed(tools_call__read=text("four")), status=1)
    eq(live.verdicts()[3], "changed", "another text")
    eq(live.differences(), [("/content/0/text", '"three"', '"four"')], "the difference")
    check("changed        8 tools/call read\n    /content/0/text: recorded \"three\", live \"four\"" in live.out,
          lambda: live.out)

    other = changed()
    other["tools/list page-A"]["result"]["tools"] = [tool("send", PLAIN, to={"type": "number"})]
    live = Live(t, cassette(t), other, status=1)
    eq(live.verdicts()[2], "schema-changed", "another schema")
    eq(live.differences(), [("/tools/0/inputSchema/properties/to/type", '"string"', '"number"')], "the difference")

    other = changed(tools_call__read={"error": {"code": -32602, "message": "Unknown tool: read"}})
    other["tools/list"]["result"]["tools"] = [tool("new", READS), tool("put", SAFE)]
    del other["resources/read file:///a"]
    live = Live(t, cassette(t), other, "--all", status=1)
    eq([live.verdicts()[i] for i in (1, 3, 6)], ["gone"] * 3, "a tool, its call, a resource")


@case("the order of tools, cursors, the server's version and --ignore pointers are not compared")
def _(t):
    other = changed()
    other["tools/list"]["result"].update(tools=ANSWERS["tools/list"]["result"]["tools"][::-1], nextCursor="other")
    other["tools/list other"] = other.pop("tools/list page-A")
    other["initialize"]["result"]["serverInfo"]["version"] = "2"
    live = Live(t, cassette(t), other, status=0)
    eq(live.words()[3], "tools/list other", "the live cursor is sent")
    other["tools/call read"] = text("four")
    other["tools/call put"] = {**text("done"), "result": {"content": [{"type": "text", "text": "done", "at": 5}]}}
    Live(t, cassette(t), other, status=1)
    Live(t, cassette(t), other, "--ignore", "/content/0/text", "-i", "/content/*/at", status=0)
    live = Live(t, cassette(t), other, "--ignore", "content", status=2)
    check("--ignore" in live.err, lambda: live.err)


@case("a missing answer and a server that exits are reported and do not hang")
def _(t):
    live = Live(t, cassette(t), changed(tools_call__read="hang"), "--timeout", "8s", status=1)
    eq(live.verdicts()[3:5], ["no-answer", "match"], "it goes on with the next one")
    live = Live(t, cassette(t), changed(tools_call__read="exit"), status=1)
    eq(live.verdicts(), ["match"] * 3 + ["no-answer"] * 5, "it cannot go on")
    check("the server exited with status" in live.out, lambda: live.out)


@case("requests that the sanitizer changed are skipped and counted, with a remedy")
def _(t):
    requests = REQUESTS + [("tools/call", {"name": "read", "arguments": {"token": "[redacted:key]"}}),
                           ("tools/call", {"name": "read", "arguments": {"body": "x\u2026 [+9 chars]"}})]
    live = Live(t, cassette(t, requests), ANSWERS, "--all", status=0)
    eq(live.verdicts()[8:], ["skipped"] * 2, "verdicts")
    eq([x["remedy"] for x in live.report["results"][8:]],
       ["if the text is not a secret, add a rule `keep` to [redact] and record the session again",
        "record the session again with --record full"], "remedies")
    secret = changed()
    secret["tools/call read"] = text("key [redacted:jwt]!")
    Live(t, cassette(t, answers=secret), changed(tools_call__read=text("key abc!")), status=0)


@case("without a recorded tools/list the live server is asked for its tools")
def _(t):
    requests = [REQUESTS[0], *REQUESTS[3:6]]
    live = Live(t, cassette(t, requests), ANSWERS, status=0)
    eq(live.verdicts(), ["match"] * 3 + ["skipped"], "verdicts")
    eq(live.words()[2:4], ["tools/list", "tools/list page-A"], "it was asked first, page after page")


@case("a recorded answer of the client with a secret left out is not sent: the server gets an error")
def _(t):
    file = cassette(t)
    file.write_text(file.read_text().replace("file:///r", "file:///[redacted:key]"))
    live = Live(t, file, ANSWERS, status=0)
    eq(dict(live.asked)["said"].get("error"),
       {"code": -32601, "message": "The recorded answer to this request is redacted or truncated"}, "what the server gets")


@case("requests without an answer of the server are skipped")
def _(t):
    answers = changed()
    del answers["tools/call read"]
    answers["tools/call put"] = {"error": {"code": -32001, "message": "x", "data": {"source": "mcp-interposer"}}}
    live = Live(t, cassette(t, answers=answers), ANSWERS, status=0)
    eq([x.get("reason") for x in live.report["results"][3:5]],
       ["the request's answer was never recorded", "the interposer answered the request, not the server"], "reasons")


@case("--update changes only the answers in the cassette")
def _(t):
    file = cassette(t)
    before = file.read_text().splitlines()
    other = changed(tools_call__read=text("four"))
    other["tools/list"]["result"]["nextCursor"] = "other"
    other["tools/list other"] = other.pop("tools/list page-A")
    other["tools/list"]["result"]["tools"].append(tool("new", READS))
    other["tools/call put"] = {"error": {"code": -5, "message": "no more"}}
    live = Live(t, file, other, "--update", status=1)
    after = file.read_text().splitlines()
    changes = [(json.loads(a)["msg"], json.loads(b)["msg"]) for a, b in zip(before, after, strict=True) if a != b]
    eq([(a["id"], b["id"]) for a, b in changes], [(1, 1), (3, 3), (4, 4)], "ids of what changed")
    eq(changes[0][1]["result"]["nextCursor"], "page-A", "the cursor that the recording goes on with")
    eq(changes[2][1]["error"]["code"], -5, "an error in the place of a result")
    eq(Live(t, file, other, status=0).verdicts(), live.verdicts()[:1] + ["match"] * 4 + ["skipped", "match", "skipped"],
       "the next time")
    done = t.run("import", "--vault", t.vault, file)
    eq(done.returncode, 0, "it is still a cassette")
    done = t.run("verify", "--vault", t.vault, "1", "--update", "--", "true")
    check(done.returncode == 2 and b"export the session first" in done.stderr, lambda: repr(done))


@case("a secret in a live answer is not written to reports and cassettes")
def _(t):
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    other = changed(tools_call__read=text(f"key {secret}"))
    other["resources/read file:///a"]["result"]["contents"][0].update(password=secret)
    file = cassette(t)
    live = Live(t, file, other, "--update", status=1)
    eq(live.verdicts()[3], "changed", "the call")
    for name, what in (("report.json", None), ("junit.xml", None), (file.name, None), ("stdout", live.out)):
        check(secret not in (what or (t.tmp / name).read_text()), f"the secret is in {name}")
    check("[redacted:" in file.read_text() and "[redacted:" in live.out, "a mark stands in its place")
    Live(t, file, other, status=0)


@case("a session of the vault is verified like a file; the default is the newest")
def _(t):
    eq(t.run("import", "--vault", t.vault, cassette(t)).returncode, 0, "import")
    live = Live(t, "1", ANSWERS, status=0)
    check(re.fullmatch("[0-9A-Z]{26}", live.report["recording"]), lambda: live.report["recording"])
    done = t.run("verify", "--vault", t.vault, "-t", "100ms", "--", "sh", "-c", "cat >/dev/null; exit 0")
    check(done.returncode == 1 and b"0 match" in done.stdout, lambda: repr(done))
    check(b"note: the recording is session 1 of " in done.stderr, lambda: repr(done))


@case("--json prints the report once and nothing else, as --report - does, also beside a file")
def _(t):
    spec, file = t.tmp / "spec", t.tmp / "r.json"
    spec.write_text(json.dumps({"answers": changed(tools_call__read=text("four"))}))
    for args in (["--report", "-"], ["--json"], ["--json", "--report", "-"], ["--json", "--report", file], ["--json", "-v"]):
        done = t.run("verify", "--vault", t.vault, *args, cassette(t), "--", *scripted(t, SERVER, spec, t.tmp / "asked"))
        eq((done.returncode, done.stderr), (1, b""), f"{args}")
        report = json.loads(done.stdout)
        eq((report["format"], report["requests"], report["changed"]), ("mcp-interposer-verify", 8, 1), f"{args}")
    eq([x["verdict"] for x in json.loads(file.read_text())["results"]], [x["verdict"] for x in report["results"]], "the file beside it")


@case("the JUnit file has a case for each request, and correct counts")
def _(t):
    live = Live(t, cassette(t), changed(tools_call__read=text("<&\"\u0007")), status=1)
    suite = live.junit.find("testsuite")
    cases = suite.findall("testcase")
    eq([int(suite.get(k)) for k in ("tests", "failures", "errors", "skipped")],
       [len(cases), len(suite.findall("testcase/failure")), 0, len(suite.findall("testcase/skipped"))], "counts")
    eq((len(cases), len(suite.findall("testcase/failure"))), (8, 1), "cases and failures")
    check("<&" in suite.find("testcase/failure").text, "the value stands in the failure")
    eq(live.junit.tag, "testsuites", "root")
    junit(t.tmp / "junit.xml")
    differs = next(x for x in live.report["results"] if x["verdict"] == "changed")
    eq(sarif(t.tmp / "sarif.json"), [("changed", "error", str(t.tmp / "c.jsonl"), differs["seq"] + 1)], "SARIF")
    for form, begins in (("junit", b"<?xml"), ("sarif", b"{\"$schema\"")):
        done = t.run("verify", "--vault", t.vault, f"--{form}", "-", t.tmp / "c.jsonl", "--", "sh", "-c", "exit 0")
        check(done.stdout.startswith(begins) and b"no-answer" in done.stdout and b" match" not in done.stdout, lambda: repr(done))
    done = t.run("verify", "--vault", t.vault, "--report", "-", "--junit", "-", t.tmp / "c.jsonl", "--", "true")
    eq((done.returncode, done.stdout), (2, b""), "two forms on stdout")


@case("usage errors: no server, too many arguments, a missing file")
def _(t):
    for args, status, words in ((["c.jsonl"], 2, b"missing server"), (["a", "b", "--", "x"], 2, b"unexpected argument"),
                                (["./no.jsonl", "--", "x"], 3, b"No such file"), (["--"], 2, b"missing server"),
                                ([str(cassette(t)), "--", "/no/server"], 3, b"cannot start /no/server")):
        done = t.run("verify", "--vault", t.vault, *args)
        check(done.returncode == status and words in done.stderr, lambda: f"{args}: {done!r}")


@case("docs/verify.md lists every verdict and every member of the report")
def _(t):
    document = (lib.ROOT / "docs/verify.md").read_text()
    names = re.search(r"names\[VERIFY_VERDICTS\] = \{(.*?)\}", (lib.ROOT / "replay/verify/verify_run.c").read_text(), re.S).group(1)
    verdicts = re.findall(r'"([\w-]+)"', names)
    eq(re.findall(r"^\| `([\w-]+)` \| [^`]", document, re.M)[:6], verdicts, "verdicts")
    live = Live(t, cassette(t), changed(tools_call__read=text("four")), status=1)
    for name in {*live.report, *(k for x in live.report["results"] for k in x), "pointer", "recorded", "live"}:
        check(f"`{name}`" in document, f"{name} is not described")


if __name__ == "__main__":
    lib.main()
