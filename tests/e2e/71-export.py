#!/usr/bin/env python3
"""export --format: a session for other programs and for people, whatever it contains."""
import contextlib
import csv
import html
import io
import json
import re
import shutil
import sqlite3
import subprocess

import browser
import lib
from lib import call, case, check, eq, error, note, request, result, text_result
from looking import answer

EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(2)>'
NAMES = [EVIL, '"><svg onload=alert(3)>', "=cmd|'/C calc'!A0", "a,b", 'say "hi"', "new\nline", "\x1b[31mred\u202e",
         "`tick` | pipe # [[link]] %%x%% $y$ ==z==", " blank ", "@sum", "tool", "```", "&lt;b&gt;", "{{x}}"]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def ask(p, line, *answers):
    p.client.send(line)
    p.server.expect(line)
    p.server.send(*answers)
    p.client.expect(*answers)


def session(t, names=NAMES, more=None, options=()):
    """A session with every kind of end, and hostile names."""
    p = t.proxy("--name", f"evil {EVIL}", "--timeout", "tool:late=300ms", "--on-hang", "cancel", *options).initialize(client={"name": "=client", "version": EVIL})
    for i, name in enumerate(names):
        ask(p, call(f"n{i}", name, {"html": EVIL, "n": 12345678901234567890, "f": 1.0}),
            text_result(f"n{i}", f"{name} says {EVIL} ```` ``` "))
    ask(p, call(1, "broken"), text_result(1, "it broke", isError=True))
    ask(p, call(2, "missing"), error(2, -32602, f"Unknown tool: {EVIL}"))
    ask(p, request(3, "resources/read", {"uri": "file:///a b", "_meta": {"traceparent": PARENT, "tracestate": "v=1"}}),
        result(3, {"contents": []}))
    ask(p, request(4, "prompts/get", {"name": "greet", "_meta": {"traceparent": "00-zz"}}), result(4, {"messages": []}))
    p.client.send(call(5, "slow"))
    p.server.recv()
    p.client.send(note("notifications/cancelled", {"requestId": 5}))
    p.server.recv()
    p.server.send(request("s1", "sampling/createMessage", {"messages": []}))
    p.client.recv()
    p.client.send(error("s1", -1, "user said no"))
    p.server.recv()
    p.client.send(b"this is no JSON <b>")
    p.client.recv()
    p.client.send(b'{"jsonrpc":"2.0","id":8,"method":"tools/call","method":"tools/list"}')
    p.client.recv()
    p.client.send(call(9, "late"))
    p.server.recv()
    eq(p.client.recv_json(30)["error"]["code"], -32001, "the answer to what comes too late")
    p.server.recv()  # it is cancelled
    if more:
        more(p)
    p.client.send(call(6, "never"))
    p.server.recv()
    p.server.say_err(b"a word <b>on stderr</b>\n")
    lib.wait_until(lambda: t.messages("kind = 'stderr'"), 5, "the line of stderr is recorded")
    p.end(gone=[b"6"])
    return p


def export(t, format, *args, status=0, vault=None):
    r = t.run("export", "--vault", vault or t.vault, "--format", format, *args, env={"TZ": "UTC", "LC_ALL": "C.UTF-8"})
    eq(r.returncode, status, f"exit status of {format}; {r.stderr!r}")
    return r.stdout.decode()


def invocations(t):
    return t.rows("SELECT request_seq, response_seq, method, target, status, error_code, duration_us, request_size,"
                  " response_size FROM invocations ORDER BY request_seq")


def no_control(text, what, but=""):
    bad = re.search(f"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)
    check(bad is None or bad.group() in but, lambda: f"{what}: a control character {bad.group()!r}")


@case("export: the suffix of the file names the format, --format wins, and another suffix is an error")
def _(t):
    session(t)
    begins = {"cassette": b'{"', "csv": b"session,", "markdown": b"---\n", "html": b"<!doctype html>", "jsonl": b'{"type":"session"'}
    folder = t.tmp / "a.csv"  # only the name counts
    folder.mkdir()
    for name, format in (("a", "cassette"), ("a.jsonl", "cassette"), (".csv", "cassette"), ("a.csv", "csv"), ("A.CSV", "csv"),
                         ("a.b.md", "markdown"), ("a.markdown", "markdown"), ("a.html", "html"), ("a.htm", "html")):
        r = t.run("export", "--vault", t.vault, "-o", folder / name)
        eq(r.returncode, 0, f"exit status of {name}; {r.stderr!r}")
        text = (folder / name).read_bytes()
        check(text.startswith(begins[format]), lambda: f"{name} begins with {text[:40]!r}")
        if format == "cassette":
            eq(text, t.run("export", "--vault", t.vault).stdout, f"{name}, a cassette")
        (folder / name).unlink()
        for format in begins:
            eq(t.run("export", "--vault", t.vault, "-F", format, "-o", folder / name).returncode, 0, f"{format} into {name}")
            check((folder / name).read_bytes().startswith(begins[format]), f"{format} in {name}")
            (folder / name).unlink()
    for name in ("a.json", "a.pdf", "a.csv.", "a.html~"):
        r = t.run("export", "--vault", t.vault, "-o", folder / name)
        check(b"use .jsonl, .csv, .md or .html, or --format" in r.stderr, f"{r.stderr!r}")
        check(r.returncode == 2 and b"--format" in r.stderr and name.encode() in r.stderr, lambda: f"{name}: {r}")
        check(not (folder / name).exists(), f"{name} exists")
        eq(t.run("export", "--vault", t.vault, "-F", "otlp", "-o", folder / name).returncode, 0, f"otlp into {name}")
    r = t.run("export", "--vault", t.vault, "-o", folder / "b.csv", env={"MCP_INTERPOSER_FORMAT": "html"})
    check((folder / "b.csv").read_bytes().startswith(begins["html"]), "the environment names a format")


# --- for programs ---------------------------------------------------------------------------------

@case("jsonl: the same as show --json")
def _(t):
    session(t)
    shown = t.run("show", "--vault", t.vault, "--json").stdout.decode()
    eq(export(t, "jsonl"), shown, "the lines")
    kinds = [json.loads(x).get("kind") for x in export(t, "jsonl", "--no-stderr").splitlines()]
    check("stderr" not in kinds and "request" in kinds, f"kinds with --no-stderr: {kinds}")


@case("csv: a line for each row of the view invocations, in RFC 4180")
def _(t):
    session(t)
    text = export(t, "csv")
    check(text.endswith("\r\n") and "\n" not in text.replace("\r\n", ""), "line ends")
    no_control(text, "csv", but="\r")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    wanted = invocations(t)
    eq(len(rows), len(wanted), "lines")
    eq({r["status"] for r in rows}, {"ok", "tool-error", "error", "cancelled", "server-gone", "timeout", "refused"}, "statuses")
    for row, want in zip(rows, wanted):
        for key, value in zip(("request_seq", "response_seq", "method", "target", "status", "error_code", "duration_us",
                               "request_size", "response_size"), want):
            value = "" if value is None else value.decode() if isinstance(value, bytes) else str(value)
            if key == "target" and re.search("[\n\x1b\u202e]", value):
                value = value.replace("\n", "\\n").replace("\x1b", "\\x1b").replace("\u202e", "\\u{202e}")
            if value[:1] in tuple("=+@") and key == "target":
                value = "'" + value  # a spreadsheet shall not take it for a formula
            eq(row[key], value, f"{key} of {want[0]}")
        eq(row["client"], "'=client", "client")
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["started_at"]), row["started_at"])


def attributes(span):
    return {a["key"]: list(a["value"].values())[0] for a in span["attributes"]}


@case("otlp: a span for each request of either side, by the MCP semantic conventions")
def _(t):
    session(t)
    lines = export(t, "otlp").splitlines()
    eq(len(lines), 1, "lines")
    [resource] = json.loads(lines[0])["resourceSpans"]
    eq(attributes(resource["resource"])["service.name"], f"evil {EVIL}".replace("/", "_")[:64], "service.name")
    [scope] = resource["scopeSpans"]
    spans = {attributes(s)["mcp_interposer.seq"]: s for s in scope["spans"]}
    eq(len({s["spanId"] for s in scope["spans"]}), len(spans), "different span ids")
    statuses = dict(t.rows("SELECT request_seq, status FROM invocations WHERE method IS NOT NULL"))
    eq({k: attributes(s)["mcp_interposer.status"].encode() for k, s in spans.items()
        if attributes(s)["mcp.method.name"] != "sampling/createMessage"}, {str(k): v for k, v in statuses.items()}, "statuses")
    own = {s["traceId"] for s in scope["spans"] if "parentSpanId" not in s}
    eq(len(own), 1, "traces without a parent")
    for s in scope["spans"]:
        check(re.fullmatch("[0-9a-f]{32}", s["traceId"]) and re.fullmatch("[0-9a-f]{16}", s["spanId"]), f"ids {s}")
        check(int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]), f"times {s}")
        eq((s["kind"], attributes(s)["network.transport"]), (3, "pipe"), "kind and transport")
    by_name = {s["name"]: s for s in scope["spans"]}
    s = by_name["resources/read"]
    eq((s["traceId"], s["parentSpanId"], s["flags"], s["traceState"]), (PARENT[3:35], PARENT[36:52], 1, "v=1"), "parent")
    eq(attributes(s)["mcp.resource.uri"], "file:///a b", "uri")
    a = attributes(by_name["tools/call tool"])
    eq((a["gen_ai.tool.name"], a["gen_ai.operation.name"], a["jsonrpc.request.id"], a.get("error.type"),
        a["mcp.protocol.version"]), ("tool", "execute_tool", "n10", None, "2025-11-25"), "a tool's attributes")
    check("status" not in by_name["tools/call tool"], "a status of what went well")
    eq(attributes(by_name["prompts/get greet"])["gen_ai.prompt.name"], "greet", "prompt")
    eq((attributes(by_name["tools/call broken"])["error.type"], by_name["tools/call broken"]["status"]),
       ("tool_error", {"code": 2}), "a tool's error")
    a = attributes(by_name["tools/call missing"])
    eq((a["error.type"], a["rpc.response.status_code"], by_name["tools/call missing"]["status"]),
       ("-32602", "-32602", {"code": 2, "message": f"Unknown tool: {EVIL}"}), "an error")
    eq(attributes(by_name["tools/call slow"])["error.type"], "cancelled", "a cancelled call")
    eq(attributes(by_name["sampling/createMessage"])["error.type"], "-1", "the server's request")
    a = attributes(by_name["tools/call late"])
    eq((a["error.type"], a.get("rpc.response.status_code")), ("timeout", None), "a passed deadline: no side has sent the code")
    eq(export(t, "otlp").splitlines(), lines, "the same again")
    check(not any("gen_ai.tool.call" in k or "gen_ai.prompt.variable" in k for s in scope["spans"] for k in attributes(s)), "contents")
    full = [attributes(s) for line in export(t, "otlp", "--content").splitlines()
            for s in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    asked = {k: json.loads(b)["params"].get("arguments") for k, b in t.rows("SELECT seq, body FROM messages WHERE kind = 'request' AND method = 'tools/call'")}
    eq({int(a["mcp_interposer.seq"]): json.loads(a["gen_ai.tool.call.arguments"]) for a in full if "gen_ai.tool.call.arguments" in a},
       {k: v for k, v in asked.items() if v is not None}, "arguments")
    got = {int(a["mcp_interposer.seq"]): json.loads(a["gen_ai.tool.call.result"]) for a in full if "gen_ai.tool.call.result" in a}
    eq(got, {k: json.loads(b)["result"] for k, b in t.rows(
        "SELECT r.seq, m.body FROM messages r JOIN messages m ON m.request_seq = r.seq AND m.kind = 'result' WHERE r.method = 'tools/call'")}, "results")
    check(len(got) > 1, "no result")
    export(t, "csv", "--content", status=2)
    noted = [s for line in export(t, "otlp", "--notifications").splitlines() for s in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    names = sorted(s["name"] for s in noted if "mcp_interposer.status" not in attributes(s))
    eq(names, sorted(m.decode() for (m,) in t.rows("SELECT method FROM messages WHERE kind = 'notification' AND origin = 'peer' AND method <> 'notifications/progress'")), "names")
    check("notifications/initialized" in names and len(noted) == len(scope["spans"]) + len(names), names)
    check(all(s["startTimeUnixNano"] == s["endTimeUnixNano"] for s in noted if s["name"] in names), "how long a notification lasts")


@case("otlp: a line for a thousand spans", limit=120)
def _(t):
    def more(p):
        for i in range(10, 1010):
            p.client.send(request(i, "tools/list"))
            p.server.recv()
            p.server.send(result(i))
            p.client.recv()
    session(t, names=["tool"], more=more)
    lines = [json.loads(x) for x in export(t, "otlp").splitlines()]
    counts = [len(x["resourceSpans"][0]["scopeSpans"][0]["spans"]) for x in lines]
    eq((counts[0], len(counts)), (1000, 2), f"spans of each line: {counts}")
    eq(sum(counts), len([i for i in invocations(t) if i[2]]) + 1, "all spans")


# --- for people -----------------------------------------------------------------------------------

@case("markdown: flat front matter; recorded text is never markup")
def _(t):
    session(t)
    text = export(t, "markdown")
    no_control(text, "markdown")
    head, front, rest = text.split("---\n", 2)
    eq(head, "", "before the front matter")
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    eq((fields["type"], json.loads(fields["client"]), fields["calls"], fields["tags"]),
       ("mcp-session", "=client", str(len(invocations(t))), "[mcp, mcp-session]"), "fields")
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields["started_at"]), "started_at")
    # Only text of the program is outside fences and escapes.
    plain, fence = [], None
    for line in rest.splitlines():
        ticks = re.match("`{3,}", line)
        if fence is None and ticks:
            fence = ticks.group()
        elif fence is not None and line == fence:
            fence = None
        elif fence is None:
            plain.append(re.sub(r"\\[!-/:-@\[-`{-~]", "", line))
    eq(fence, None, "a fence that is open at the end")
    for line in plain:
        check(not re.search(r"[<>`$=%&{}\[\]]", line), f"markup in {line!r}")
        if line.startswith("|"):
            eq(line.count("|"), 7, f"cells of {line!r}")
    eq(sum(x.startswith("### ") for x in plain), len(invocations(t)) + 1, "listed calls")
    check("Findings: tool\\-error" in rest and "Findings: duplicate\\-envelope\\-key" in rest, "findings")
    check("12345678901234567890" in rest and '"f": 1.0' in rest, "a number has changed")


@case("an event is the same sentence in every form for people")
def _(t):
    session(t, names=[])
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("INSERT INTO events (session_id, t_us, kind, detail) VALUES (1, 10000000, 'restart', ?)", ('{"attempt":2,"delay_ms":500}',))
    words = "the server is restarted after 500ms, attempt 2"
    show = t.run("show", "--vault", t.vault).stdout.decode()
    check(re.search(rf"10\.000 +. +restart +{words}$", show, re.M), show)
    check(f"- 10.000 s restart: {words}\n" in export(t, "markdown"), "markdown")
    eq([m["preview"] for m in data_of(export(t, "html"))[1:] if m.get("event") == "restart"], [words], "html")
    full = t.run("show", "--vault", t.vault, "--bodies").stdout.decode()
    check(re.search(rf"{words}\n    {{\"attempt\":2,\"delay_ms\":500}}$", full, re.M), full)


@case("markdown: one call is not called calls")
def _(t):
    t.proxy().initialize().end()
    text = export(t, "markdown")
    check(re.search(r"^Client: .* 1 call, 0 errors, ", text, re.M), text[:1000])


@case("markdown: long bodies are truncated with a mark")
def _(t):
    def more(p):
        ask(p, call(50, "long"), text_result(50, "x" * 10000))
        ask(p, call(51, "large"), text_result(51, "y" * 300000))
    session(t, names=[], more=more)
    text = export(t, "markdown")
    check(max(map(len, text.split("```"))) < 5000, "a body that is not cut")
    eq(len(re.findall(r"… \[\+\d+ chars\]", text)), 2, "cuts")


def data_of(page):
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(data)


@case("html: one page; the data cannot end its element, and is never markup")
def _(t):
    session(t)
    page = export(t, "html")
    no_control(page, "html")
    eq((page.count("<script"), page.count("</script")), (2, 2), "script elements")
    check("<img" not in page and "<svg" not in page, "an element of the record")
    own = (lib.ROOT / "cli/export/report.html").read_text()
    check(not re.search(r'(src|href|url)\s*[=(]', own), "something is fetched")
    eq(re.findall(r'https?:[^"]*', own), ["http://www.w3.org/2000/svg"], "addresses: SVG's name alone")
    head, *items = data_of(page)
    eq(head["client_name"], "=client", "client")
    calls = [m for m in items if m.get("status") and not m.get("from_server")]
    eq([(m["seq"], m["status"].encode()) for m in calls], t.rows("SELECT request_seq, status FROM invocations ORDER BY 1"), "calls")
    seqs = [m["seq"] for m in items if "seq" in m]
    eq(seqs, [m.seq for m in t.messages()], "messages")
    body = [m for m in items if m.get("target") == "tool"][0]["body"]
    check("12345678901234567890" in body and '"f":1.0' in body, "a number has changed")
    check("stderr" not in {m.get("kind") for m in data_of(export(t, "html", "--no-stderr"))}, "--no-stderr")


@case("html: each row has the arguments or the text of its message, on one line, cut, without controls and markup")
def _(t):
    def more(p):
        ask(p, call(50, "long", {"query": "é" * 200}), text_result(50, "a\n\x1b[31m\u202eb"))
        ask(p, call(51, "large", {"query": "y" * 300000}), text_result(51, "z" * 300000))
        p.server.say_err(b'{"error":"boom"}\n\x1b[31m"text": "' + b"x" * 300 + b"\n")
        lib.wait_until(lambda: len(t.messages("kind = 'stderr'")) == 2, 5, "two lines of stderr are recorded")
    session(t, names=["tool"], more=more)
    page = export(t, "html")
    no_control(page, "html")
    check("<b>" not in page and "<img" not in page, "an element of the record")
    items = [m for m in data_of(page)[1:] if "seq" in m]
    for m in items:
        no_control(m.get("preview", ""), f"the preview of {m['seq']}")
        check("\n" not in m.get("preview", ""), f"two lines for {m['seq']}")
        check(len(m.get("preview", "").encode()) < 300, f"a preview that is not cut: {m['seq']}")
    calls = {m["target"]: m for m in items if m.get("answer") and "target" in m}
    preview = calls["tool"]["preview"]
    check(preview.startswith('{"html":"</script><script>') and preview.endswith('"n":12345678901234567890,"f":1.0}'), preview)
    for name, char in (("long", "é"), ("large", "y")):
        eq(re.sub(f"{char}+", char, calls[name]["preview"]).replace(" ", ""), '{"query":"%s…' % char, f"the cut arguments of {name}")
    check("é" * 200 in calls["long"]["body"], "the details have all of the arguments")
    answers = {m["seq"]: m for m in items}
    eq(answers[calls["long"]["answer"]]["preview"], "a \\x1b[31m\\u{202e}b", "an answer")
    eq(answers[calls["missing"]["answer"]]["preview"], f"-32602 Unknown tool: {EVIL}", "an error")
    lines = [m["preview"] for m in items if m["kind"] == "stderr"]
    eq((lines[0], lines[2]), ('{"error":"boom"}', "a word <b>on stderr</b>"), "lines of stderr")
    check(re.fullmatch(r'\\x1b\[31m"text": "x{200,}…', lines[1]), f"a long line of stderr: {lines[1]}")


@case("html: calls failed as model/status says, and show their error; events are sentences, with their detail on a click")
def _(t):
    session(t, names=["tool"])
    head, *items = data_of(export(t, "html"))
    want = t.rows("SELECT request_seq FROM invocations WHERE status NOT IN ('ok', 'cancelled', 'interrupted', 'open') ORDER BY 1")
    calls = [m for m in items if "status" in m]
    eq([(m["seq"],) for m in calls if m.get("failed") and not m.get("from_server")], want, "failed calls")
    eq((head["calls"], head["failed"], head["server_failed"]), (len(invocations(t)), len(want), 1), "the head")
    fields = dict(line.split(": ", 1) for line in export(t, "markdown").split("---\n")[1].splitlines())
    eq((fields["calls"], fields["errors"]), (str(head["calls"]), str(head["failed"])), "markdown")
    eq({m.get("target"): m.get("code") for m in calls if "code" in m and m.get("target")}, {"missing": -32602, "late": -32001, "never": -32000}, "codes")
    [event] = [m for m in items if m.get("event") == "timeout"]
    check(re.fullmatch(r"message \d+, tools/call late, had no answer within \S+; the server was silent", event["preview"]), event["preview"])
    eq(json.loads(event["body"])["target"], "late", "the detail")


def change(t, sql):
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        check(db.execute(sql).rowcount > 0, sql)


def seal_of(t):
    """What the exports of the newest session say of its evidence: the front matter, the line below the title, the data of the page."""
    text = export(t, "markdown")
    fields = dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines())
    [line] = re.findall(r"^Evidence: .*$", text, re.M)
    head = data_of(export(t, "html"))[0]
    eq([json.loads(fields.get(k, "null")) for k in ("evidence", "records", "root")], [head.get(k) for k in ("evidence", "records", "root")], "the page has the same")
    return head["evidence"], head.get("records"), head.get("root"), line.replace("\\", "")


@case("markdown, html: the last seal of the session in the log, and how to verify it; not sealed, not covered")
def _(t):
    def leaves():
        return [json.loads(x) for x, in t.rows("SELECT leaf FROM leaves ORDER BY n")]
    p = t.proxy().initialize()
    eq(seal_of(t), ("not sealed", None, None, "Evidence: not sealed."), "while it runs")
    p.end()
    t.proxy("--name", "other").initialize().end()
    uid, other = (x["session"] for x in leaves() if x["type"] == "open")
    verify = f"The session can be verified in the vault, not in this note: mcp-interposer audit verify {other} (docs/evidence.md)."
    seals = {x["session"]: x for x in leaves() if x["type"] == "seal"}
    n, root = seals[other]["records"], seals[other]["root"]
    eq(seal_of(t), ("sealed", n, root, f"Evidence: sealed, {n} records, root {root}. {verify}"), "sealed")
    eq(data_of(export(t, "html", uid))[0]["root"], seals[uid]["root"], "the other session")
    eq(t.run("audit", "verify", "--vault", t.vault, other).returncode, 0, "audit verify")
    again = json.dumps(seals[other] | {"records": 7, "root": "0" * 64}, separators=(",", ":"))
    change(t, f"INSERT INTO leaves SELECT max(n) + 1, '{again}' FROM leaves")
    eq(seal_of(t)[:3], ("sealed", 7, "0" * 64), "sealed again: the last seal")
    change(t, f"DELETE FROM leaves WHERE leaf LIKE '%seal%{other}%'")
    eq(seal_of(t), ("sealed", None, None, f"Evidence: sealed, but the log of the vault has no seal of this session. {verify}"), "without its seal")
    change(t, "UPDATE sessions SET salt = NULL")
    eq(seal_of(t), ("not covered", None, None, "Evidence: not covered."), "not covered")


@case("html: what the tools cost, as bars without a script; names of tools are not markup")
def _(t):
    tools = [{"name": "read", "description": "Reads a file. " * 10}, {"name": EVIL, "description": "one"}]
    tools += [{"name": f"more{i}", "description": "two words"} for i in range(40)]
    p = t.proxy("--name", "files").initialize()
    ask(p, request(1, "tools/list"), result(1, {"tools": tools}))
    ask(p, call(2, "more1"), text_result(2, "one two three"))
    p.end()
    page = export(t, "html")
    [section] = re.findall(r'<section id="cost">(.*?)</section>', page, re.S)
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', section)
    eq((len(rows), "12 tools with smaller definitions" in section), (30, True), "rows")
    eq([(rows[0][0], "width:100%" in rows[0][1], "unused" in rows[0][1])], [("read", True, True)], "the largest definition")
    evil = [name for name, _ in rows if "word" in name or "script" in name or "<" in html.unescape(name)]
    check(len(evil) == 1 and "<" not in evil[0] and ">" not in evil[0], f"{evil}")
    tokens = {x["tool"]: x["definition_tokens"] for x in map(json.loads, t.run("cost", "files", "--json", "--vault", t.vault).stdout.splitlines())}
    shown = {html.unescape(name): int(re.search(r">~?(\d+)<", cells)[1]) for name, cells in rows}
    eq(shown, {name: tokens[name] for name in shown}, "tokens of definitions")
    [used] = [cells for name, cells in rows if name == "more1"]
    check("unused" not in used and ">1</td>" in used and "~3" in used, used)
    change(t, "UPDATE calls SET result_tokens = NULL")
    eq(export(t, "html"), page, "without the counts of a vault, as of a central store")


@case("html: its script is valid JavaScript")
def _(t):
    if not shutil.which("node"):
        raise lib.Skip("no node here")
    page = (lib.ROOT / "cli/export/report.html").read_text()
    (t.tmp / "page.js").write_text(re.findall(r"<script>\n(.*?)</script>", page, re.S)[0])
    r = subprocess.run(["node", "--check", t.tmp / "page.js"], stderr=subprocess.PIPE)
    eq(r.returncode, 0, f"node --check: {r.stderr!r}")


ROWS = "[...document.querySelectorAll('#rows > li')].map(x => x.innerText)"


def type_filter(b, text):
    b.run(f"(e => {{ e.value = {json.dumps(text)}; e.dispatchEvent(new Event('input')); }})(document.getElementById('filter'))")


def blank(b):
    """The room right of the facts and left of the chart's labels, in pixels."""
    return b.run("""(() => {
        const box = document.getElementById('facts'), facts = [...box.children].map(x => x.getBoundingClientRect());
        const rows = new Map(facts.map(x => [x.top, x.right]));
        const edge = document.querySelector('svg')?.getBoundingClientRect().left;
        const names = [...document.querySelectorAll('svg .name')].map(x => x.getBoundingClientRect().left - edge);
        return [Math.max(...[...rows.values()].map(x => box.getBoundingClientRect().right - x)), names.length ? Math.min(...names) : 0];
    })()""")


@case("html in Chromium: arguments and stderr in rows, no blank room; no calls; 10,000 calls", limit=240)
def _(t):
    browser.find()
    session(t, names=["tool"])
    page = export(t, "html")
    data = data_of(page)
    [one] = [m for m in data if m.get("target") == "tool" and "answer" in m]
    file = t.tmp / "page.html"
    start, end = page.index(' id="data">') + len(' id="data">'), page.index("</script>")

    def open_with(data):
        file.write_text(page[:start] + json.dumps(data).replace("<", "\\u003c") + page[end:])
        b.open(f"file://{file}?{len(data)}")
        return b.run(ROWS)
    with browser.Browser(t) as b:
        b.screen(1000, 800)
        rows = open_with(data)
        check(any("<script>" in x and '"n":12345678901234567890' in x for x in rows), f"rows with arguments: {rows}")
        check(any("a word <b>on stderr</b>" in x for x in rows), f"rows with stderr: {rows}")
        heights = b.run("[...document.querySelectorAll('.preview')].map(x => x.getBoundingClientRect().height)")
        check(heights and max(heights) < 30, f"a preview of two lines: {heights}")
        eq(b.run("document.querySelectorAll('#rows .status:empty, #rows .size:empty, #facts dd:empty').length"), 0, "what is empty")
        for width in (1000, 600, 390):
            b.screen(width, 800)
            open_with(data)
            check(max(blank(b)) < 20, f"blank room at {width}: {blank(b)}")
        b.screen(1000, 800)
        eq((open_with(data[:1]), b.run("document.getElementById('latency').hidden")), ([], True), "a page without calls")
        rows = open_with(data[:1] + [one | {"seq": i + 1, "answer": 20000 + i} for i in range(10000)])
        eq((len(rows), b.run("document.getElementById('count').textContent")), (300, "10000 of 10000"), "10,000 calls")
        eq(b.run("document.getElementById('fewer').hidden"), False, "the note on dots that are left out")
        for took, labels in (([0], "1 µs 2 µs"), ([1000], "1 ms 2 ms"), ([30, 700], "20 µs 50 µs 100 µs 200 µs 500 µs 1 ms"),
                             ([30, 7e7], "100 µs 1 ms 10 ms 100 ms 1 s 10 s 100 s")):
            open_with(data[:1] + [one | {"seq": i + 1, "took": us} for i, us in enumerate(took)])
            eq(b.run("[...document.querySelectorAll('text.axis')].map(x => x.textContent).join(' ')"), labels, f"the axis of {took}")
            edge = b.run("[...document.querySelectorAll('circle')].map(x => [x.cx.baseVal.value, x.ownerSVGElement.viewBox.baseVal.width])")
            check(all(0 < at < width for at, width in edge), f"dots outside of the chart: {edge}")
        for width in (1000, 390, 320):
            b.screen(width, 800)
            for took in ([2200, 900_000], [300, 150_000], [11_000, 9_000_000], [1, 9e9], [1, 2], [45_000, 450_000]):
                open_with(data[:1] + [one | {"seq": i + 1, "took": us} for i, us in enumerate(took)])
                at = b.run("[...document.querySelectorAll('text.axis')].map(x => x.getBoundingClientRect()).map(x => [x.left, x.right])")
                chart = b.run("(x => [x.left, x.right])(document.querySelector('#chart svg').getBoundingClientRect())")
                gaps = [b - a for (_, a), (b, _) in zip(at, at[1:])]
                check(len(at) >= 2 and min(gaps) >= 8, f"labels of {took} at {width} pixels: {at}")
                check(chart[0] <= at[0][0] and at[-1][1] <= chart[1], f"labels outside of the chart: {at}, {chart}")
        eq(b.problems, [], "what the page complains of")


@case("html in Chromium: no error, no recorded script runs, the filter works, wide and narrow, light and dark", limit=240)
def _(t):
    browser.find()
    session(t)
    file = t.tmp / "page.html"
    file.write_text(export(t, "html"))
    with browser.Browser(t) as b:
        colours = set()
        for width, height in ((1280, 900), (390, 844)):
            for dark in (False, True):
                b.screen(width, height, dark)
                b.open(f"file://{file}")
                check(b.run("document.documentElement.scrollWidth") <= width, f"it is wider than {width}")
                eq(b.run("[...document.querySelectorAll('#rows *, #facts *, #cost *')].filter(x =>"
                         " x.getBoundingClientRect().right > innerWidth + 1).length"), 0, f"what sticks out at {width}")
                colours.add(b.run("getComputedStyle(document.body).backgroundColor"))
                bars = b.run("[...document.querySelectorAll('#cost .bar i')].map(x => [x.clientWidth, x.clientHeight])")
                check(len(bars) > 10 and max(w for w, _ in bars) > 30 and min(h for _, h in bars) > 5, f"bars: {bars}")
                check(len(b.picture()) > 10000, "an empty picture")
        eq(len(colours), 2, f"light and dark: {colours}")
        root = data_of(file.read_text())[0]["root"]
        check(f"root {root}. " in b.run("document.getElementById('seal').innerText"), "the seal")
        calls = len(invocations(t))
        eq(b.run("document.querySelectorAll('#chart circle').length"), 12, "dots: each tool has one, and 12 are drawn")
        eq(b.run("document.querySelectorAll('b b, img, #rows svg, h1 *').length"), 0, "elements that a record made")
        check(EVIL in b.run("document.body.innerText"), "the evil name is not shown")
        rows = b.run(ROWS)
        type_filter(b, "resources/READ")
        eq(len(b.run(ROWS)), 1, "rows with resources/read")
        type_filter(b, "tool broken")
        eq(len(b.run(ROWS)), 1, "rows with both words")
        type_filter(b, "nothing has this")
        eq(len(b.run(ROWS)), 0, "rows with what is nowhere")
        type_filter(b, EVIL)
        check(len(b.run(ROWS)) > 0, "rows with the evil name")
        type_filter(b, "")
        eq(b.run(ROWS), rows, "rows without a filter")
        b.run("document.getElementById('failed').click()")
        [head, *items] = data_of(file.read_text())
        failed = b.run(ROWS)
        eq(len(failed), head["failed"] + head["server_failed"], "rows that failed")
        for error in ("it broke", "-32602 Unknown tool: ", "-1 user said no", "-32600 Invalid Request: "):
            eq(len([x for x in failed if error in x]), 1, f"rows with {error}")
        eq(len(b.run("[...document.querySelectorAll('.why')].filter(x => !x.innerText)")), 0, "rows without their error")
        b.run("document.getElementById('failed').click(); document.getElementById('odd').click()")
        odd = b.run("[...document.querySelectorAll('#rows b')].map(x => x.innerText)")
        check("noise" in odd and "stderr" not in odd and "tools/call" in odd and len(odd) < len(rows), f"rows with findings: {odd}")
        b.run("document.getElementById('odd').click(); document.getElementById('all').click()")
        eq(len(b.run(ROWS)), len(data_of(file.read_text())) - 1, "every message")
        b.run("document.querySelectorAll('summary').forEach(x => x.click())")
        lib.wait_until(lambda: b.run("document.querySelectorAll('.inside pre').length") >= calls, 10, "bodies are shown")
        check("12345678901234567890" in b.run("document.getElementById('rows').innerText"), "a number has changed")
        eq(b.problems, [], "what the page complains of")
        eq({x for x in b.requests if not x.startswith("file://")}, set(), "what it fetched")


# --- filters --------------------------------------------------------------------------------------

@case("filters select calls, with their answers; what belongs to no call is selected by itself")
def _(t):
    session(t, names=["tool", "other"])
    every = {x["request_seq"]: x for x in csv.DictReader(io.StringIO(export(t, "csv")))}
    failed = {i for i, x in every.items() if x["status"] in ("error", "tool-error", "server-gone", "timeout", "refused")}
    check(0 < len(failed) < len(every), f"failed calls: {failed}")
    for args, want in ((("--failed",), failed), (("--tool", "tool"), {i for i, x in every.items() if x["target"] == "tool"}),
                       (("--tool", "[ab]*", "--failed"), {i for i in failed if every[i]["target"] == "broken"}),
                       (("--method", "resources/*"), {i for i, x in every.items() if x["method"] == "resources/read"}),
                       (("--since", "1h"), set(every)), (("--until", "1h"), set())):
        eq({x["request_seq"] for x in csv.DictReader(io.StringIO(export(t, "csv", *args)))}, want, f"csv {args}")
        items = data_of(export(t, "html", *args))
        eq({str(m["seq"]) for m in items if m.get("status") and not m.get("from_server")}, want, f"html {args}")
        seqs = {m["seq"] for m in items[1:] if "seq" in m}
        eq({m["answer"] for m in items if "answer" in m} - seqs, set(), f"html {args}: answers that are missing")
        text = export(t, "markdown", *args)
        eq({x for x in re.findall(r"^### (\d+) ", text, re.M) if x in every}, want, f"markdown {args}")
        some = "--since" not in args
        eq(("This note lists " in text, "selected" in items[0]), (some, some), f"{args}: the number of calls")
        eq(any("event" in m for m in items), args == ("--since", "1h"), f"html {args}: events")
        eq("## Events" in text, args == ("--since", "1h"), f"markdown {args}: events")
        eq(export(t, "jsonl", *args), t.run("show", "--vault", t.vault, "--json", *args).stdout.decode(), f"jsonl {args}")
    progress = [m for m in data_of(export(t, "html", "--method", "notifications/*"))[1:] if m["kind"] != "notification"]
    eq(progress, [], "what is not a notification")
    items = data_of(export(t, "html", "--tool", "slow"))[1:]
    eq([m["method"] for m in items], ["tools/call", "notifications/cancelled"], "a call and its cancellation")


@case("a cassette is a whole session: a filter is an error that names the formats with filters")
def _(t):
    session(t, names=["tool"])
    for args in (("--tool", "tool"), ("--method", "x"), ("--failed",), ("--since", "1h"), ("--until", "1h")):
        for more in ((), ("-F", "cassette"), ("-o", t.tmp / "a.jsonl")):
            r = t.run("export", "--vault", t.vault, *args, *more)
            check(r.returncode == 2 and b"a cassette is a whole session" in r.stderr and b"--format jsonl, csv, otlp, markdown or html" in r.stderr,
                  lambda: f"{args} {more}: {r}")
            check(not (t.tmp / "a.jsonl").exists(), "a file")
    eq(t.run("export", "--vault", t.vault, "--failed", "-o", t.tmp / "a.csv").returncode, 0, "a csv file")


# --- whatever there is ----------------------------------------------------------------------------

FORMATS = ("jsonl", "csv", "otlp", "markdown", "html")


@case("a running session, one without messages, one without bodies")
def _(t):
    p = t.proxy("--name", "live").initialize()
    p.client.send(call(1, "open"))
    p.server.recv()
    for format in FORMATS:
        check("open" in export(t, format), f"{format} of a session that runs")
    p.server.send(result(1))
    p.client.recv()
    p.end()
    empty = t.tmp / "empty"
    t.proxy("--name", "empty", vault=empty).end()
    for format in FORMATS:
        text = export(t, format, vault=empty)
        check(format == "csv" or "empty" in text, f"{format} of a session without messages")
    for x in export(t, "otlp", vault=empty).splitlines():
        eq(json.loads(x)["resourceSpans"][0]["scopeSpans"][0]["spans"], [], "spans")
    data_of(export(t, "html", vault=empty))
    minimal = t.tmp / "minimal"
    p = t.proxy("--record", "minimal", vault=minimal).initialize()
    ask(p, call(1, "tool", {"secret": "s3cret"}), text_result(1, "answer"))
    p.end()
    for format in FORMATS:
        text = export(t, format, vault=minimal)
        check("tool" in text and "s3cret" not in text, f"{format} of a session without bodies")


@case("a missing large body is reported, and the rest is written")
def _(t):
    def more(p):
        ask(p, call(50, "large"), text_result(50, "y" * 300000))
    session(t, names=["tool"], more=more)
    check("y" * 50000 in export(t, "html") and "y" * 300000 in export(t, "jsonl"), "a large body")
    shutil.rmtree(t.vault / "Bodies")
    for format in FORMATS:
        check("large" in export(t, format), f"{format} without the body")
    check("cannot be read" in export(t, "markdown"), "a word in markdown")


@case("export says which session it wrote, how much and where, unless the session was named and goes to stdout")
def _(t):
    for n in range(2):
        t.proxy("--name", f"server{n}").initialize().end()
    for args, where in ((("-o", t.tmp / "a.jsonl"), t.tmp / "a.jsonl"), ((), "stdout"), (("2", "-o", t.tmp / "a.csv"), t.tmp / "a.csv"),
                        (("last", "-o", "-"), None), (("2", "-F", "csv"), None), (("--failed", "-F", "csv"), "stdout")):
        r = t.run("export", "--vault", t.vault, *args)
        size = len(r.stdout) or where.stat().st_size
        calls = "calls=0 " if "--failed" in args else ""
        want = rf"mcp-interposer: note: exported session 2 of server1 \(20\S+ \S+, 3 messages\) to {where}: {calls}bytes={size}\n"
        check(re.fullmatch(want if where else "", r.stderr.decode()), lambda: f"{args}: {r.stderr!r}")
    r = t.run("export", "--vault", t.vault, "-o", t.tmp / "no/where")
    check(r.returncode == 3 and b"exported" not in r.stderr, f"{r}")


@case("a new file is private; an existing one is replaced with --force or after asking, and keeps its mode")
def _(t):
    t.proxy().initialize().end()
    file, link = t.tmp / "a.jsonl", t.tmp / "link.jsonl"

    def mode():
        return oct(file.stat().st_mode & 0o7777)
    args = ("export", "-o", str(link))
    eq(answer(t, None, 0, "export", "-o", str(file)).count("exported session 1 "), 1, "a new file")
    eq(mode(), "0o600", "mode of a new file")
    whole = file.read_bytes()
    link.symlink_to(file)
    file.write_bytes(b"mine")
    file.chmod(0o640)
    for more in {"stdin": subprocess.DEVNULL}, {"stderr": subprocess.DEVNULL}:
        answer(t, None, 2, *args, **more)
    r = t.run(*args, "--vault", t.vault)
    check(r.returncode == 2 and f"{link} exists: add --force to replace it, or choose another file".encode() in r.stderr, f"{r}")
    for word in "", "n", "what":
        said = answer(t, word + "\n", 1, *args)
        check(f"{link} exists. Replace it? [y/N] " in said and "nothing was written" in said, said)
    eq((file.read_bytes(), mode()), (b"mine", "0o640"), "a file that is not replaced")
    answer(t, "y\n", 0, *args)
    eq((file.read_bytes(), mode(), link.is_symlink()), (whole, "0o640", True), "a file that is replaced")
    file.write_bytes(b"mine")
    file.chmod(0o444)
    eq(t.run(*args, "--force", "--vault", t.vault).returncode, 0, "--force")
    eq((file.read_bytes(), mode()), (whole, "0o444"), "with --force")
    eq(t.run("export", "--vault", t.vault, "-o", "/dev/null").returncode, 0, "a device is not replaced")
    eq(sorted(x.name for x in t.tmp.glob("*jsonl*")), ["a.jsonl", "link.jsonl"], "files that are left")


@case("a file is written whole or not at all, and a full disk is reported")
def _(t):
    session(t, names=["tool"])
    for format in FORMATS:
        file = t.tmp / f"out.{format}"
        export(t, format, "-o", file)
        eq(file.read_bytes().decode(), export(t, format), format)
        with open("/dev/full", "wb") as full:
            r = subprocess.run([lib.PROGRAM, "export", "--vault", t.vault, "-F", format], stdout=full,
                               stderr=subprocess.PIPE, env=t.environ())
        check(r.returncode == 3 and b"No space left on device" in r.stderr, f"{format}: {r}")
    r = t.run("export", "--vault", t.vault, "--format", "tape")
    check(r.returncode == 2 and b"cassette|jsonl|csv|otlp|markdown|html" in r.stderr, f"{r}")


lib.main()
