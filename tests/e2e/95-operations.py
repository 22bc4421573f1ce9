#!/usr/bin/env python3
"""Calls that were several requests: how the record links them, and how each form tells them."""
import contextlib
import csv
import json
import os
import re
import sqlite3
import time

import browser
import lib
from lib import case, check, eq, note, request, result, wait_until
from looking import run
from screens import Screen

PERSON_S = 0.2  # what a person takes at least
INFO = {"name": "c", "version": "1"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": INFO,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}}
ASK = {"inputRequests": {"who": {"method": "elicitation/create", "params": {
    "mode": "form", "message": "Your name?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}}}}}
ANSWER = {"inputResponses": {"who": {"action": "accept", "content": {"n": "Ada"}}}}
DONE = {"resultType": "complete", "content": []}
TASK = {"taskId": "7", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None}


def call(id, name, **more):
    return request(id, "tools/call", {"_meta": META, "name": name, "arguments": {}, **more})


def through(p, asked, answer):
    p.client.send(asked)
    p.server.expect(asked)
    p.server.send(answer)
    p.client.expect(answer)


def asked_and_answered(p, id, state="s", tool="book"):
    through(p, call(id, tool), result(id, {"resultType": "input_required", "requestState": state, **ASK}))
    time.sleep(PERSON_S)
    through(p, call(id + 1, tool, requestState=state, **ANSWER), result(id + 1, DONE))


def by_task(p, id, status="completed"):
    through(p, call(id, "film"), result(id, {"resultType": "task", "status": "working", **TASK}))
    for n, (state, more) in enumerate((("working", {}), (status, {"result": {"content": []}} if status == "completed" else {}))):
        through(p, request(id + 1 + n, "tasks/get", {"_meta": META, "taskId": "7"}),
                result(id + 1 + n, {"resultType": "complete", "status": state, **TASK, **more}))


def operations(t):
    return t.rows("SELECT id & 68719476735, requests, asked, status, closing_seq, duration_us >= server_us + person_us, person_us > 0, state"
                  " FROM operations ORDER BY id")


WANTED = [(3, 2, 1, b"ok", 6, 1, 1, b"ended"), (7, 3, 0, b"ok", 12, 1, 0, b"ended"), (13, 1, 1, b"open", None, None, 0, b"asked-person")]


def conversation(t, *options):
    """A call, one that asks, one with a task, and one that asks in vain."""
    p = t.proxy("--name", "desk", *options)
    through(p, call(1, "plain"), result(1, DONE))
    asked_and_answered(p, 2)
    by_task(p, 4)
    through(p, call(9, "book"), result(9, {"resultType": "input_required", "requestState": "z", **ASK}))
    p.end()


@case("a retry with its state, and requests about its task, belong to the call that they continue")
def _(t):
    conversation(t)
    eq(operations(t), WANTED, "operations")
    eq(t.rows("SELECT id & 68719476735, operation_seq FROM calls WHERE operation_seq IS NOT NULL ORDER BY id"),
       [(5, 3), (9, 7), (11, 7)], "requests that continue one")


@case("sessions and stats count a call once; --requests and the old members of --json count requests")
def _(t):
    conversation(t)
    (one,) = [json.loads(x) for x in run(t, "sessions", "--json").splitlines()]
    eq((one["calls"], one["operations"], one["ok"], one["open"], one["person_us"] > 150_000), (7, 4, 7, 0, True), "sessions --json")
    words = run(t, "sessions").splitlines()
    check("CALLS" in words[0] and " 4 " in words[1], f"sessions: {words}")
    words = run(t, "sessions", "--requests").splitlines()
    check("REQUESTS" in words[0] and " 7 " in words[1], f"sessions --requests: {words}")
    rows = {r["tool"]: r for r in map(json.loads, run(t, "stats", "--json").splitlines())}
    eq({k: (r["calls"], r["operations"], r["open"], r["person_us"] > 150_000) for k, r in rows.items()},
       {"plain": (1, 1, 0, False), "book": (3, 2, 0, True), "film": (1, 1, 0, False)}, "stats --json")
    words = run(t, "stats").splitlines()
    check("PERSON" in words[0], f"stats: {words}")
    (book,) = [w.split() for w in words if " book " in w]
    eq(book[2], "2", "calls of book")
    words = run(t, "stats", "--requests").splitlines()
    check("REQUESTS" in words[0] and "CALLS" not in words[0], f"stats --requests: {words}")
    (book,) = [w.split() for w in words if " book " in w]
    eq(book[2], "3", "requests of book")
    wide = [run(t, "stats", *more, env={"COLUMNS": "200"}).splitlines() for more in ((), ("--requests",))]
    eq(*[{w.split()[1]: w[lines[0].index("BYTES"):].split()[0] for w in lines[1:] if w.startswith("desk")} for lines in wide], "bytes")
    (slow,) = [json.loads(x) for x in run(t, "stats", "--json", "--slow", "150ms").splitlines()] or [None]
    eq((slow["tool"], slow["calls"], slow["operations"]) if slow else None, None, "no request was slow")
    check(" book " in run(t, "stats", "--slow", "150ms"), "the call was slow")


def told(t):
    """What each operation says of itself: seq: (requests, asked, status, duration_us, server_us, person_us)."""
    return {seq: (*r[:2], r[2].decode(), *r[3:]) for seq, *r in t.rows(
        "SELECT id & 68719476735, requests, asked, status, duration_us, server_us, person_us FROM operations ORDER BY id")}


@case("show marks the requests of a call, and the message that ends it")
def _(t):
    conversation(t)
    lines = {int(x.split()[0]): x for x in run(t, "show").splitlines() if re.match(r" *\d+ ", x)}
    eq({seq: x[x.index("[continues"):].split("]")[0] for seq, x in lines.items() if "continues" in x},
       {5: "[continues 3", 9: "[continues 7", 11: "[continues 7"}, "requests that continue a call")
    ends = {seq: re.search(r"\[ends (\d+): (\d+) requests in ([0-9.]+)(u?m?s)(, of which a person took [0-9.]+m?s)?\]", x) for seq, x in lines.items()}
    eq({seq: (m[1], m[2], m[5] is not None) for seq, m in ends.items() if m}, {6: ("3", "2", True), 12: ("7", "3", False)}, "ends")
    head = run(t, "show")
    check("14 messages, 4 calls (7 requests): 3 ok, 1 without an answer" in head, head)
    check("14 messages, 7 requests: 7 ok\n" in run(t, "show", "--requests"), "the head with --requests")
    rows = [json.loads(x) for x in run(t, "show", "--json").splitlines()]
    eq({r["seq"]: r["operation_seq"] for r in rows if r.get("operation_seq")}, {5: 3, 6: 3, 9: 7, 10: 7, 11: 7, 12: 7}, "operation_seq of show --json")
    eq([r["seq"] for r in rows if r["type"] == "message" and "operation_seq" not in r], [], "messages without the member")
    eq(run(t, "export", "-F", "jsonl", "last").splitlines()[1:], run(t, "show", "--json").splitlines()[1:], "export -F jsonl")


def asked_of_mcp(t, name, **arguments):
    """structuredContent and text of a tool of `mcp`."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    line = request(1, "tools/call", {"_meta": meta, "name": name, "arguments": arguments})
    got = json.loads(run(t, "mcp", input=line + b"\n"))["result"]
    return got["structuredContent"], got["content"][0]["text"]


@case("mcp tells the operation of each of its requests, with the numbers of the table")
def _(t):
    conversation(t)
    wanted = told(t)
    rows, text = asked_of_mcp(t, "list_calls")
    eq({r["seq"]: r.get("operation_seq") for r in rows["calls"]}, {1: None, 3: None, 5: 3, 7: None, 9: 7, 11: 7, 13: None}, "list_calls")
    check(re.search(r"seq 5 .* ok in [0-9.]+m?u?s, continues 3 ", text), text)
    for seq, of in ((3, 3), (4, 3), (5, 3), (6, 3), (7, 7), (11, 7), (12, 7), (13, 13)):
        got, text = asked_of_mcp(t, "get_call", session=1, seq=seq)
        o = got["operation"]
        eq((o["seq"], (o["requests"], o["asked"], o["status"], o.get("duration_us"), o["server_us"], o["person_us"])), (of, wanted[of]), f"of message {seq}")
        check(f"part of operation {of}: {wanted[of][2]}" in text, text)
    got, text = asked_of_mcp(t, "get_call", session=1, seq=1)
    check("operation" not in got and "operation" not in text, f"of one request: {text}")


@case("export: Markdown and HTML show one call with its requests below, CSV has their numbers")
def _(t):
    conversation(t)
    wanted = told(t)
    rows = {int(r["request_seq"]): r for r in csv.DictReader(run(t, "export", "-F", "csv", "last").splitlines())}
    eq({s: int(r["operation_seq"]) for s, r in rows.items() if r["operation_seq"]}, {5: 3, 9: 7, 11: 7}, "operation_seq in CSV")
    eq({s: tuple(int(r[c]) if r[c] else None for c in ("requests", "asked", "operation_us", "server_us", "person_us")) for s, r in rows.items() if r["requests"]},
       {s: (o[0], o[1], *o[3:]) for s, o in wanted.items()}, "CSV")
    note = run(t, "export", "-F", "markdown", "last")
    check(" 4 calls \\(7 requests\\), 0 errors, " in note and "\ncalls: 4\n" in note and "\nrequests: 7\n" in note, note[:900])
    table = [[c.strip() for c in x.split("|")[1:-1]] for x in note.splitlines() if re.match(r"\| \d", x)]
    eq([(int(r[0]), r[3].startswith("↳ "), "(2 requests, a person took" in r[3] or "(3 requests)" in r[3], r[4]) for r in table],
       [(1, False, False, "ok"), (3, False, True, "ok"), (5, True, False, "ok"), (7, False, True, "ok"), (9, True, False, "ok"), (11, True, False, "ok"),
        (13, False, False, "open")], "the table")
    eq(re.findall(r"^(#{3,4}) (\d+) ", note, re.M), [("###", "1"), ("###", "3"), ("####", "5"), ("###", "7"), ("####", "9"), ("####", "11"), ("###", "13")], "titles")
    each = run(t, "export", "-F", "markdown", "--requests", "last")
    check(" 7 calls, 0 errors, " in each and "↳" not in each and "####" not in each and "requests" not in each, each[:900])
    page = run(t, "export", "-F", "html", "last")
    start = page.index(' id="data">') + len(' id="data">')
    head, *items = json.loads(page[start:page.index("</script>", start)])
    eq((head["calls"], head["requests"], head["failed"]), (4, 7, 0), "the head of the page")
    of = {m["seq"]: m for m in items if m.get("requests")}
    eq({s: (m["requests"], m["status"], m.get("took"), m["person"], m.get("end")) for s, m in of.items()},
       {s: (o[0], o[2], o[3], o[5], {3: 6, 7: 12, 13: None}[s]) for s, o in wanted.items()}, "the page")
    eq({m["seq"]: m["continues"] for m in items if "continues" in m}, {5: 3, 9: 7, 11: 7}, "requests below a call")
    r = t.run("export", "--vault", t.vault, "-F", "csv", "--requests")
    check(r.returncode == 2 and b"--requests requires --format" in r.stderr, f"{r}")


@case("export -F otlp: a call that was several requests has a span, the parent of those of its requests")
def _(t):
    conversation(t)
    wanted = told(t)

    def spans(*options):
        got = [s for line in run(t, "export", "-F", "otlp", *options, "last").splitlines() for s in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
        for s in got:
            s["a"] = {a["key"]: next(iter(a["value"].values())) for a in s["attributes"]}
        return ({int(s["a"]["mcp_interposer.operation"]): s for s in got if "mcp_interposer.operation" in s["a"]},
                {int(s["a"]["mcp_interposer.seq"]): s for s in got if "mcp_interposer.seq" in s["a"]})
    of, requests = spans()
    eq({k: (*(int(s["a"][f"mcp_interposer.{n}"]) for n in ("requests", "asked")), s["a"]["mcp_interposer.status"],
            (int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])) // 1000 if wanted[k][3] is not None else None,
            *(int(s["a"][f"mcp_interposer.{n}"]) for n in ("server_us", "person_us"))) for k, s in of.items()}, wanted, "spans of operations")
    eq({k: s.get("parentSpanId") for k, s in requests.items()},
       {1: None, 3: of[3]["spanId"], 5: of[3]["spanId"], 13: of[13]["spanId"], **{k: of[7]["spanId"] for k in (7, 9, 11)}}, "parents")
    of, requests = spans("--method", "tasks/get")
    eq((of, {k: s.get("parentSpanId") for k, s in requests.items()}), ({}, {9: None, 11: None}), "without the first request, no span that is missing is named")


@case("html in Chromium: a call is one row, with its requests below it")
def _(t):
    browser.find()
    conversation(t)
    file = t.tmp / "page.html"
    file.write_text(run(t, "export", "-F", "html", "last"))
    rows = "[...document.querySelectorAll('#rows > li')].map(x => [x.className, x.innerText])"
    with browser.Browser(t) as b:
        b.screen(1000, 800)
        b.open(f"file://{file}")
        got = [(kind, text) for kind, text in b.run(rows) if "•" not in text]
        eq([kind for kind, _ in got], ["", "", "hop", "", "hop", "hop", ""], "rows without events")
        check("2 requests, a person took" in got[1][1] and "3 requests" in got[3][1], f"{got}")
        eq(b.run("document.querySelectorAll('#chart circle').length"), 3, "dots: an open call has none")
        b.run("document.getElementById('all').click()")
        eq([kind for kind, text in b.run(rows) if "•" not in text], [""] * 14, "every message, in their order")
        eq(b.problems, [], "what the page complains of")


@case("a recorder that is killed before the retry: the next one links it")
def _(t):
    p = t.proxy("--name", "desk")
    through(p, call(1, "book"), result(1, {"resultType": "input_required", "requestState": "s", **ASK}))
    wait_until(lambda: len(operations(t)) == 1, 5, "the operation in the table")
    first = p.recorder()
    os.kill(first, 9)
    p.recorder(other_than=first)
    through(p, call(2, "book", requestState="s", **ANSWER), result(2, DONE))
    p.end()
    eq([r[:4] for r in operations(t)], [(1, 2, 1, b"ok")], "operations")


@case("without the table, the same is derived: an import, and a vault whose calls are gone")
def _(t):
    conversation(t)
    cassette = t.tmp / "c.jsonl"
    cassette.write_bytes(run(t, "export", "last").encode())
    other = t.tmp / "other"
    t.run("import", "--vault", other, cassette)
    vault, t.vault = t.vault, other
    eq(operations(t), WANTED, "after an import")
    t.vault = vault
    db = sqlite3.connect(t.vault / "interposer.db")
    db.executescript("UPDATE sessions SET calls = NULL; DELETE FROM calls; DELETE FROM operations;")
    db.close()
    (one,) = [json.loads(x) for x in run(t, "sessions", "--json").splitlines()]
    eq((one["calls"], one["operations"], one["person_us"] > 150_000), (7, 4, True), "derived")


def asked(t):
    return [json.loads(x) for x in run(t, "asked", "--json").splitlines()]


@case("asked lists what servers asked users for, and never what was entered")
def _(t):
    conversation(t)
    rows = asked(t)
    eq([(r["seq"], r["server"], r["target"], r["what"], r["mode"], r["host"], r["message"], r["answer"], (r["after_us"] or 0) > 150_000) for r in rows],
       [(14, "desk", "book", "elicitation/create", "form", None, "Your name?", "never", False),
        (4, "desk", "book", "elicitation/create", "form", None, "Your name?", "accepted", True)], "rows")
    check("Ada" not in run(t, "asked", "--json") + run(t, "asked") + run(t, "asked", "--csv"), "the value")


@case("asked: options that select, and without them neither what send made nor more than fits a screen")
def _(t):
    conversation(t)
    p = t.proxy("--name", "shop")
    for id in range(0, 90, 2):
        through(p, call(id, "pay"), result(id, {"resultType": "input_required", "requestState": f"s{id}", **ASK}))
        through(p, call(id + 1, "pay", requestState=f"s{id}", **ANSWER), result(id + 1, DONE))
    p.end()
    ask = lambda *o: [(r["server"], r["seq"]) for r in map(json.loads, run(t, "asked", "--json", *o).splitlines())]  # noqa: E731
    desk, shop = [("desk", 14), ("desk", 4)], [("shop", 4 * n + 2) for n in range(44, -1, -1)]
    eq(ask(), shop[:40], "40 without -n")
    eq(ask("-n", "0"), shop + desk, "-n 0")
    check("-n 0 lists all" not in run(t, "asked"), "in a pipe")
    for options, wanted in ((("--server", "d*"), desk), (("--session", "1"), desk), (("--session", "last", "-n", "2"), shop[:2]), (("--tool", "b*"), desk),
                            (("--tool", "film"), []), (("--client", "nobody"), []), (("--client", "c", "--server", "desk"), desk),
                            (("--project", "/nowhere"), [])):
        eq(ask(*options), wanted, f"{options}")
    times = sorted(json.loads(x)["at_us"] for x in run(t, "asked", "--json", "-n", "0").splitlines())
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(times[-1] // 1000000 + 2))
    eq((ask("--since", at), ask("--until", at, "-n", "0")), ([], shop + desk), "--since, --until")
    db = sqlite3.connect(t.vault / "interposer.db")      # one of them is in the past
    db.execute("UPDATE sessions SET started_at_us = started_at_us - 86400000000 WHERE name = 'desk'")
    db.commit()
    db.close()
    eq((ask("--since", "2h", "-n", "1"), ask("--until", "2h")), (shop[:1], desk), "two hours ago")

    def move(us):
        with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
            db.execute("UPDATE messages SET t_us = t_us + ? WHERE id = (SELECT id << 36 FROM sessions WHERE name = 'desk') + 14", (us,))
    move(86400000000)
    eq(ask("--since", "2h", "-n", "0"), [*shop, ("desk", 14)], "a call that is open since yesterday has asked today")
    move(-86400000000)      # at the end, the calls are compared with their messages
    Screen(t, "asked", "--server", "x", "--vault", t.vault).sees("no matching request for input")
    Screen(t, "asked", "--vault", t.vault, size=(80, 60)).sees("-n 0 lists all")
    script = t.tmp / "asks.py"
    script.write_text("""
import json, sys
for m in map(json.loads, sys.stdin):
    tools = {"resultType": "complete", "tools": [{"name": "pay", "inputSchema": {"type": "object"}}], "ttlMs": 0, "cacheScope": "private"}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": json.loads(sys.argv[1]) if m["method"] == "tools/call" else
                          {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}, **tools}}), flush=True)
""")
    t.run("send", "--vault", t.vault, "--yes", "pay", "--", "python3", script, json.dumps({"resultType": "input_required", "requestState": "s", **ASK}))
    sent = ask("--sent", "-n", "1")
    check(len(sent) == 1 and sent != shop[:1] and ask("-n", "1") == shop[:1], f"of send: {sent}")


@case("tail marks the requests of a call, and the message that ends it, as show does")
def _(t):
    conversation(t)
    marks = lambda text: re.findall(r"\[(?:continues|ends) [^\]]*\]", text)  # noqa: E731
    wanted = marks(run(t, "show"))
    eq((len(wanted), marks(run(t, "tail", "--once"))), (5, wanted), "past messages")
    rows = {r["seq"]: r["operation_seq"] for r in map(json.loads, run(t, "tail", "--once", "--json").splitlines()) if r.get("operation_seq")}
    eq(rows, {5: 3, 6: 3, 9: 7, 10: 7, 11: 7, 12: 7}, "operation_seq of tail --json")
    s = Screen(t, "tail", "-n", "0", "--vault", t.vault)
    s.sees("SERVER")
    p = t.proxy("--name", "live")
    through(p, call(1, "book"), result(1, {"resultType": "input_required", "requestState": "s", **ASK}))
    s.sees(r"live .*request")
    through(p, call(2, "book", requestState="s", **ANSWER), result(2, DONE))
    s.sees(r"\[continues 1", r"\[ends 1: 2 requests in ")
    p.end()


@case("asked: URLs, other answers, an error, requests of servers of older revisions, and a task that repeats its question")
def _(t):
    url = {"mode": "url", "message": "Log in", "elicitationId": "e", "url": "https://me:pw@login.example:8443/x?y=secret"}
    p = t.proxy("--name", "old").initialize(version="2025-11-25", capabilities={"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
    for id, method, params, answer in ((1, "elicitation/create", url, result(1, {"action": "decline"})),
                                       (2, "elicitation/create", {**ASK["inputRequests"]["who"]["params"]}, result(2, {"action": "cancel"})),
                                       (3, "sampling/createMessage", {"messages": [], "maxTokens": 1}, lib.error(3, -1)),
                                       (4, "roots/list", {}, result(4, {"roots": []}))):
        p.server.send(request(id, method, params))
        p.client.expect(request(id, method, params))
        p.client.send(answer)
        p.server.expect(answer)
    p.server.send(request(5, "elicitation/create", url))
    p.client.expect(request(5, "elicitation/create", url))
    p.server.send(lib.note("notifications/cancelled", {"requestId": 5}))
    p.client.expect(lib.note("notifications/cancelled", {"requestId": 5}))
    raw = b'{"jsonrpc":"2.0","id":6,"method":"elicitation/create","params":{"mode":"url","message":"m","elicitationId":"f",' \
        b'"url":"https:\\/\\/evil.example\\/?r=//bank.example/"}}'
    p.server.send(raw)
    p.client.expect(raw)
    p.end()
    p = t.proxy("--name", "new")
    through(p, call(1, "film"), result(1, {"resultType": "task", "status": "working", **TASK}))
    for id in (2, 3):
        through(p, request(id, "tasks/get", {"_meta": META, "taskId": "7"}),
                result(id, {"resultType": "complete", "status": "input_required", **TASK, **ASK}))
    through(p, request(4, "tasks/update", {"_meta": META, "taskId": "7", **ANSWER}), result(4, {"resultType": "complete"}))
    through(p, request(5, "tasks/get", {"_meta": META, "taskId": "7"}),
            result(5, {"resultType": "complete", "status": "input_required", **TASK, **ASK}))
    p.end()
    eq([(r["session_id"], r["target"], r["what"], r["mode"], r["host"], r["answer"]) for r in asked(t)],
       [(2, "film", "elicitation/create", "form", None, "accepted"),
        (1, None, "elicitation/create", "url", "evil.example", "never"),
        (1, None, "elicitation/create", "url", "login.example", "never"),
        (1, None, "roots/list", None, None, "accepted"),
        (1, None, "sampling/createMessage", None, None, "failed"),
        (1, None, "elicitation/create", "form", None, "cancelled"),
        (1, None, "elicitation/create", "url", "login.example", "declined")], "rows")


@case("before 2026-07-28: a call gets a person's share where it was the only one that was open")
def _(t):
    p = t.proxy("--name", "old").initialize(version="2025-11-25", capabilities={"elicitation": {"form": {}}, "sampling": {}, "roots": {}})
    form = ASK["inputRequests"]["who"]["params"]

    def asks(id, method="elicitation/create", params=form, waits=PERSON_S):
        p.server.send(request(id, method, params))
        p.client.expect(request(id, method, params))
        time.sleep(waits)
        answer = result(id, {"action": "accept", "content": {"n": "Ada"}})
        p.client.send(answer)
        p.server.expect(answer)

    def begins(id, name):
        p.client.send(request(id, "tools/call", {"name": name}))
        p.server.expect(request(id, "tools/call", {"name": name}))

    def ends(id):
        p.server.send(result(id, {"content": []}))
        p.client.expect(result(id, {"content": []}))
    begins(10, "book")      # alone: once a person, then a model and the client
    asks(1)
    asks(2, "sampling/createMessage", {"messages": [], "maxTokens": 1}, waits=4 * PERSON_S)
    asks(3, "roots/list", {}, waits=0)
    ends(10)
    asks(4)                 # for no call
    begins(11, "left")
    begins(12, "right")     # for one of two
    asks(5)
    ends(11)
    asks(6)                 # `right` is the only one
    ends(12)
    begins(13, "vain")
    p.server.send(request(7, "elicitation/create", form))
    p.client.expect(request(7, "elicitation/create", form))
    time.sleep(PERSON_S)    # never answered: to the end of the call
    ends(13)
    p.end()
    tools = {r["tool"]: r for r in map(json.loads, run(t, "stats", "--json").splitlines())}
    shares = {k: r["person_us"] // 100_000 for k, r in tools.items()}
    check(shares["book"] >= 2 and tools["book"]["server_us"] >= 4e6 * PERSON_S and shares["left"] == 0 and 2 <= shares["right"] < 20 and 2 <= shares["vain"] < 20, f"{tools}")
    for r in tools.values():
        check(abs(r["server_us"] + r["person_us"] - r["max_us"]) < 5, f"{r}")
    check("PERSON" in run(t, "stats").splitlines()[0], "the column")
    check("PERSON" not in run(t, "stats", "--requests").splitlines()[0], "the column of --requests")
    (one,) = [json.loads(x) for x in run(t, "sessions", "--json").splitlines()]
    eq(one["person_us"], sum(r["person_us"] for r in tools.values()), "sessions")
    eq([(r["target"], r["what"]) for r in asked(t)],
       [("vain", "elicitation/create"), ("right", "elicitation/create"), (None, "elicitation/create"), (None, "elicitation/create"), ("book", "roots/list"),
        ("book", "sampling/createMessage"), ("book", "elicitation/create")], "asked")
    eq([r["target"] for r in map(json.loads, run(t, "asked", "--json", "--tool", "r*").splitlines())], ["right"], "asked --tool")
    db = sqlite3.connect(t.vault / "interposer.db")
    db.executescript("UPDATE sessions SET calls = NULL; DELETE FROM calls;")
    db.close()
    eq({r["tool"]: r["person_us"] for r in map(json.loads, run(t, "stats", "--json").splitlines())},
       {k: r["person_us"] for k, r in tools.items()}, "derived")


@case("more calls wait for input than are remembered: each has its row")
def _(t):
    cassette = t.tmp / "many.jsonl"
    p = t.proxy("--name", "many")
    p.client.send(*[call(n, "book") for n in range(300)])
    p.server.expect(*[call(n, "book") for n in range(300)])
    p.server.send(*[result(n, {"resultType": "input_required", "requestState": f"s{n}", **ASK}) for n in range(300)])
    p.client.expect(*[result(n, {"resultType": "input_required", "requestState": f"s{n}", **ASK}) for n in range(300)])
    p.end()
    cassette.write_bytes(run(t, "export", "last").encode())
    eq(t.rows("SELECT count(*), count(DISTINCT id) FROM operations"), [(300, 300)], "recorded")
    t.vault = t.tmp / "other"
    t.run("import", "--vault", t.vault, cassette)
    eq(t.rows("SELECT count(*), count(DISTINCT id) FROM operations"), [(300, 300)], "imported")


@case("several clients on one pipe: the first is that of the session, each other one an event")
def _(t):
    p = t.proxy()
    for id, name in enumerate(("one", "two", "one", "two", "three\u0001"), 1):
        meta = {**META, "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"}}
        through(p, request(id, "tools/call", {"_meta": meta, "name": "x"}), result(id, DONE))
    p.end()
    eq(t.rows("SELECT client_name FROM sessions"), [(b"one",)], "the session's client")
    eq([json.loads(d) for d, in t.rows("SELECT detail FROM events WHERE kind = 'client' ORDER BY id")],
       [{"name": "two", "version": "1"}, {"name": "three\u0001", "version": "1"}], "events")
    check("another client sends requests on this pipe: two 1" in run(t, "show"), "show")


@case("ui: a call that was several requests is one row with its whole duration; --requests lists each")
def _(t):
    conversation(t)
    s = Screen(t, "ui", "--vault", t.vault)
    s.sees("calls 4/4", r"4 calls")
    s.keys("Enter", "g", "j", "Enter")
    s.sees(r"Status +ok after 2[0-9]{2}", r"Requests +2 requests in [0-9.]+ ?m?s, asked for input 1 time, a person took 2[0-9]{2}")
    s.keys("J")
    s.sees(r"Requests +3 requests in [^,]*$")
    s.keys("J")
    s.sees(r"Requests +1 request, not ended, asked for input 1 time")
    s.keys("Q")
    s = Screen(t, "ui", "--requests", "--vault", t.vault)
    s.sees("calls 7/7")
    s.keys("Enter", "g", "j", "J", "Enter")
    s.keys("J")
    s.sees(r"Requests +a part of call 3: 2 requests in")


@case("ui: with a filter a call that was several requests is one row, too")
def _(t):
    conversation(t)
    s = Screen(t, "ui", "--vault", t.vault)
    s.sees("calls 4/4")
    for filter, n, rows in (("tool:book", 2, (r"✓ +3 .*book", r"∅ +13 .*book")), ("method:tasks/get", 1, (r"✓ +7 .*film",)), ("plain", 1, (r"✓ +1 .*plain",)),
                            ("Ada", 1, (r"✓ +3 .*book",))):
        s.keys("f")
        s.sees("filter")
        s.keys("C-u")
        s.type(filter)
        s.keys("Enter")
        s.sees(f"calls {n}/{n}", *rows, gone=[r"[✓…∅] +(5|9|11) "])
    s.keys("Q")
    p = t.proxy("--name", "live")
    through(p, call(1, "plain"), result(1, DONE))
    wait_until(lambda: t.rows("SELECT count(*) FROM calls WHERE id >> 36 = 2 AND status = 'ok'") == [(1,)], 5, "the call")
    s = Screen(t, "ui", "--vault", t.vault)
    s.sees("calls 1/1")
    s.keys("f")
    s.sees("filter")
    s.type("tool:book server:live")
    s.keys("Enter")
    through(p, call(2, "book"), result(2, {"resultType": "input_required", "requestState": "s", **ASK}))
    s.sees("calls 1/1", r"… +3 .*book")
    through(p, call(3, "plain"), result(3, DONE))
    through(p, call(4, "book", requestState="s", **ANSWER), result(4, DONE))
    s.sees("calls 1/1", r"✓ +3 .*book", gone=[r"… +3 "])
    p.end()


@case("stats has a column for calls that are open")
def _(t):
    conversation(t)
    lines = run(t, "stats").splitlines()
    (book,) = [w.split() for w in lines if " book " in w]
    eq((lines[0].split()[:6], book[2:6]), (["SERVER", "TOOL", "CALLS", "ERRORS", "TIMEOUTS", "OPEN"], ["2", "0", "0", "1"]), "OPEN")
    check("OPEN" not in run(t, "stats", "--requests").splitlines()[0] and "OPEN" not in run(t, "stats", "--tool", "film").splitlines()[0], "without one")


@case("ui: an operation that goes on while it is shown")
def _(t):
    p = t.proxy("--name", "desk")
    through(p, call(1, "book"), result(1, {"resultType": "input_required", "requestState": "s", **ASK}))
    s = Screen(t, "ui", "--vault", t.vault)
    s.sees("calls 1/1", r"… +1 .*book")
    again = call(2, "book", requestState="s", **ANSWER)
    p.client.send(again)
    p.server.expect(again)
    s.sees("calls 1/1", r"… +1 .*book")
    p.server.send(result(2, DONE))
    p.client.expect(result(2, DONE))
    through(p, call(3, "plain"), result(3, DONE))
    s.sees("calls 2/2", "2 calls", r"✓ +1 .*book", r"✓ +5 .*plain")
    s.keys("Enter", "g", "Enter")
    s.sees(r"Requests +2 requests in ")
    p.end()


@case("ui: a notification ends the task of a call that is shown, and a filter finds the call by it")
def _(t):
    p = t.proxy("--name", "desk")
    through(p, call(1, "film"), result(1, {"resultType": "task", "status": "working", **TASK}))
    through(p, call(2, "plain"), result(2, DONE))
    for id in range(3, 73):     # more open calls after it than fit the screen
        p.client.send(call(id, "slow"))
        p.server.recv()
    s = Screen(t, "ui", "--vault", t.vault)
    s.sees("calls 72/72")
    s.keys("Enter", "g")
    s.sees(r"… +1 .*film")
    ended = note("notifications/tasks", {"_meta": META, "status": "completed", "result": {"content": [{"type": "text", "text": "premiere"}]}, **TASK})
    p.server.send(ended)
    p.client.expect(ended)
    s.sees(r"✓ +1 .*film")
    s.keys("f")
    s.sees("filter")
    s.type("premiere")
    s.keys("Enter")
    s.sees("calls 1/1", r"✓ +1 .*film")
    for id in range(3, 73):
        p.server.send(result(id, DONE))
        p.client.expect(result(id, DONE))
    p.end()


@case("prune removes the operations of a session")
def _(t):
    conversation(t)
    conversation(t)
    run(t, "prune", "--yes", "1")
    eq(t.rows("SELECT DISTINCT id >> 36 FROM operations"), [(2,)], "sessions with operations")


@case("with record level minimal, requests are linked as well")
def _(t):
    conversation(t, "--record", "minimal")
    eq(operations(t), WANTED, "operations")


lib.main()
