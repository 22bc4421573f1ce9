#!/usr/bin/env python3
"""--tools, --hide-tools and --read-only: hidden tools are neither seen nor called; the record keeps them."""
import json
import random
import sqlite3
import sys

import lib
from lib import call, case, check, eq, error, note, request, result, text_result
from replaying import Replay

READS = {"readOnlyHint": True}


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


A, B, C, H = tool("a"), tool("b"), tool("c"), tool("h")


def lists(p, tools, seen, id="list", cursor=None, **more):
    """A tools/list of the client: the server sends `tools`, the client gets `seen`."""
    q = request(id, "tools/list", None if cursor is None else {"cursor": cursor})
    p.client.send(q)
    p.server.expect(q)
    p.server.send(result(id, {"tools": tools, **more}))
    p.client.expect(result(id, {"tools": seen, **more}))
    return p


def passes(p, id, name):
    p.client.send(call(id, name))
    p.server.expect(call(id, name))
    p.server.send(text_result(id, "x"))
    p.client.expect(text_result(id, "x"))


def refused(p, id, name, cause="tool-hidden"):
    p.client.send(call(id, name) if isinstance(name, str) else request(id, "tools/call", name))
    got = p.client.recv_json()
    eq((got["id"], got["error"]["code"]), (id, -32602), f"{got}")
    data = got["error"]["data"]
    eq((data["source"], data["cause"], data["method"]), ("mcp-interposer", cause, "tools/call"), "data")
    return got["error"]["message"]


def events(t, kind):
    return [json.loads(d) for d, in t.rows("SELECT detail FROM events WHERE kind = ? ORDER BY id", kind)]


@case("lists are cut, calls are refused, and the record keeps what the server sent")
def _(t):
    p = t.proxy("--tools", "a,c*,d", "--hide-tools", "c2").initialize()
    raw = b' {"jsonrpc":"2.0", "id":"list",\t"result": {"_meta":{"x": [1]}, "tools" : [ {"name":"h"}, {"name":"a"} ,{"name":"c2"},{"name":"\\u0063"}],"nextCursor":"n"}}'
    cut = b' {"jsonrpc":"2.0", "id":"list",\t"result": {"_meta":{"x": [1]}, "tools" : [  {"name":"a"} ,{"name":"\\u0063"}],"nextCursor":"n"}}'
    p.client.send(request("list", "tools/list"))
    p.server.recv()
    p.server.send(raw)
    p.client.expect(cut)
    lists(p, [B, C], [C], id="page 2", cursor="n")
    lists(p, [A], [A], id="again")
    passes(p, 1, "a")
    message = refused(p, 2, "h")
    eq(message, "unknown tool 'h': the tool is hidden by the rule of mcp-interposer: tools = a, c*, d; hide-tools = c2", "message")
    refused(p, 3, "c2")
    refused(p, 4, "not in any list")
    passes(p, 5, "cunning")
    p.end()
    eq([bytes(m.body) for m in t.messages("rpc_id = '\"list\"' AND kind = 'result'")], [raw], "recorded")
    eq([m.action for m in t.messages("method = 'tools/call'")], ["forwarded", "refused", "refused", "refused", "forwarded"], "actions")
    eq(t.rows("SELECT tools_rule FROM sessions"), [(b"tools = a, c*, d; hide-tools = c2",)], "the session's row")
    hidden = events(t, "tools-hidden")
    eq([(e["hidden"], e["hidden_n"], e["listed_n"]) for e in hidden], [(["h", "c2"], 2, 4), (["b"], 1, 2)], "events")
    seqs = [m.seq for m in t.messages("kind = 'result' AND request_seq IN (SELECT seq FROM messages WHERE method = 'tools/list')")]
    eq([e["seq"] for e in hidden], seqs[:2], "their messages")
    eq(events(t, "tools-rule"), [{"rule": "tools = a, c*, d; hide-tools = c2", "listed": 6, "hidden": 3, "unmatched": ["d"]}], "the name that no tool has")
    check(any("the server has no such tool: 'd'" in x for x in p.own_lines("warn")), p.own_lines())
    eq(t.run("escalations", "list", "--vault", t.vault, "--json").stdout, b"", "escalations")
    told = t.run("check", "--vault", t.vault)
    check(b"tool-hidden" in told.stdout, told.stdout)
    eq([f for f, in t.rows("SELECT DISTINCT finding FROM messages WHERE action = 'refused'")], [b"tool-hidden"], "findings")
    check("\nrule      tools = a, c*, d; hide-tools = c2\n" in t.run("show", "--vault", t.vault).stdout.decode(), "show")
    told = json.loads(t.run("sessions", "--vault", t.vault, "--json").stdout)
    eq(told["tools_rule"], "tools = a, c*, d; hide-tools = c2", "sessions --json")


@case("without a rule, and if nothing is hidden, every byte passes")
def _(t):
    for options in ((), ("--hide-tools", "x*")):
        p = t.proxy(*options).initialize()
        raw = b'{"id": 1, "jsonrpc":"2.0", "result" : {"tools": [ {"name":"a"} , 5 ]} }'
        p.client.send(request(1, "tools/list"))
        p.server.recv()
        p.server.send(raw)
        p.client.expect(raw)
        p.client.send(request(2, "tools/list"))
        p.server.recv()
        p.server.send(error(2))
        p.client.expect(error(2))
        p.end()
    eq(t.rows("SELECT tools_rule FROM sessions ORDER BY id"), [(None,), (b"hide-tools = x*",)], "rules")


@case("a call must name exactly one tool, in one spelling")
def _(t):
    p = t.proxy("--hide-tools", "h").initialize()
    for i, params in enumerate(({}, [], {"Name": "a"}, {"name\0": "h", "name": "a"}, {"name": "a", "NAME": "h"}, {"name": 7}, {"name": None}, {"name": "h\0"})):
        refused(p, i, params, "ambiguous-call")
    for line in (b'{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"a","name":"h"}}',
                 b'{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"a","n\\u0061me":"a"}}',
                 b'{"jsonrpc":"2.0","id":20,"method":"ping","Method":"tools/call","params":{"name":"h"}}',
                 b'{"jsonrpc":"2.0","id":20,"method":"tools\\/call","param\\u017f":{"name":"h"},"params":{"name":"a"}}',
                 b'{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"h\\ud800"}}',
                 b'{"jsonrpc":"2.0","id":20,"method":"tools/call"}'):
        p.client.send(line)
        got = p.client.recv_json()
        eq((got["id"], got["error"]["code"], got["error"]["data"]["cause"]), (20, -32602, "ambiguous-call"), f"{line}")
    # without an id there is no answer
    p.client.send(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"h"}}')
    p.client.send(b'{"jsonrpc":"2.0","id":9,"result":{},"Method":"tools/call","Params":{"name":"h"}}')
    passes(p, 30, "a")
    p.client.send(b'{"jsonrpc":"2.0","id":31,"method":"tools\\/call","params":{"n\\u0061me":"\\u0068"}}')
    eq(p.client.recv_json()["error"]["data"]["cause"], "tool-hidden", "escapes")
    p.end()


@case("--read-only: the interposer reads the list itself before it decides, and after each change")
def _(t):
    p = t.proxy("--read-only").initialize(capabilities={"tools": {"listChanged": True}})
    p.client.send(call(1, "r"))
    p.client.send(request(2))
    q = json.loads(p.server.recv())
    eq((q["method"], q["params"]), ("tools/list", {}), "what the server is asked")
    p.server.expect(request(2))                       # only calls wait
    check(q["id"].startswith("mcp-interposer:") and len(q["id"].split(":")[1]) == 16, q)   # no client can guess it
    p.server.send(request("s1", "roots/list"))        # the client's answers do not wait
    p.client.expect(request("s1", "roots/list"))
    p.client.send(result("s1", {"roots": []}))
    p.server.expect(result("s1", {"roots": []}))
    p.server.send(result(q["id"], {"tools": [tool("w")], "nextCursor": "x"}))
    q = json.loads(p.server.recv())
    eq((q["method"], q["params"]), ("tools/list", {"cursor": "x"}), "the next page")
    p.server.send(result(q["id"], {"tools": [tool("r", annotations=READS)]}))
    p.server.expect(call(1, "r"))
    p.server.send(text_result(1, "x"), result(2))
    p.client.expect(text_result(1, "x"), result(2))
    check("does not mark it readOnlyHint" in refused(p, 3, "w"), "message")
    check("not in the server's list" in refused(p, 4, "other", "tool-unlisted"), "message")
    passes(p, 5, "r")
    p.server.send(note("notifications/tools/list_changed"))
    p.client.expect(note("notifications/tools/list_changed"))
    p.client.send(call(6, "r"))
    q = json.loads(p.server.recv())
    p.server.send(result(q["id"], {"tools": [tool("r"), tool("w", annotations=READS)]}))
    eq(p.client.recv_json()["id"], 6, "the refused call")
    passes(p, 7, "w")
    lists(p, [tool("r", annotations=READS), tool("w")], [tool("r", annotations=READS)])    # the client's own list counts
    passes(p, 8, "r")
    refused(p, 9, "w")
    p.end()
    lib.check_calls(t)


@case("--read-only: without a list the call is refused, and says why")
def _(t):
    def asked(id, answer):
        p.server.send(note("notifications/tools/list_changed"))     # else a failure is not repeated within 5 seconds
        p.client.expect(note("notifications/tools/list_changed"))
        p.client.send(call(id, "r"))
        q = json.loads(p.server.recv())
        answer(q["id"])
        got = p.client.recv_json()
        eq((got["id"], got["error"]["code"], got["error"]["data"]["cause"]), (id, -32602, "tool-unlisted"), f"{got}")
        return got["error"]["message"]

    p = t.proxy("--read-only", "--timeout", "tools/list=300ms").initialize(capabilities={"tools": {"listChanged": True}})
    check("answered tools/list with an error" in asked(1, lambda id: p.server.send(error(id))), "error")
    check("without a list" in asked(2, lambda id: p.server.send(result(id, {"tools": {}}))), "no list")
    check("did not answer tools/list in time" in asked(3, lambda id: None), "silence")
    p.end()
    p = t.proxy("--read-only").initialize(capabilities={"tools": {"listChanged": True}})

    def same_cursor(id):
        p.server.send(result(id, {"tools": [], "nextCursor": "x"}))
        p.server.send(result(json.loads(p.server.recv())["id"], {"tools": [], "nextCursor": "x"}))

    def changing(id):
        for _ in range(3):
            p.server.send(note("notifications/tools/list_changed"))
            p.client.recv()
            p.server.send(result(id, {"tools": [tool("r", annotations=READS)]}))
            id = json.loads(p.server.recv())["id"] if _ < 2 else None

    check("does not end" in asked(4, same_cursor), "cursor")
    check("changed each time" in asked(5, changing), "changes")
    # at first the next call does not ask again
    check("changed each time" in refused(p, 60, "r", "tool-unlisted"), "at once")
    p.server.send(note("notifications/tools/list_changed"))
    p.client.recv()
    p.client.send(call(6, "r"))
    q = json.loads(p.server.recv())
    p.server.send(result(q["id"], {"tools": [tool("r", annotations=READS)]}))
    p.server.expect(call(6, "r"))
    p.server.send(text_result(6, "x"))
    p.client.expect(text_result(6, "x"))
    # the server ends while it is asked
    p.server.send(note("notifications/tools/list_changed"))
    p.client.recv()
    p.client.send(call(7, "r"))
    p.server.recv()
    p.server.exit(0)
    got = p.client.recv_json()
    eq((got["id"], "error" in got), (7, True), "the end")
    p.client.close_write()
    p.wait()


@case("--read-only: a client that has closed its end gets its answers, also with 2026-07-28")
def _(t):
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}
    p = t.proxy("--read-only")
    q1 = request(1, "tools/call", {**meta, "name": "r"})
    p.client.send(q1, request(2, "tools/call", {**meta, "name": "w"}))
    p.client.close_write()
    q = json.loads(p.server.recv())
    eq(q["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "revision")
    p.server.send(result(q["id"], {"resultType": "complete", "tools": [tool("r", annotations=READS), tool("w")], "ttlMs": 0, "cacheScope": "private"}))
    p.server.expect(q1)
    p.server.send(text_result(1, "x", resultType="complete"))
    got = {m["id"]: m for m in (p.client.recv_json(), p.client.recv_json())}
    eq(sorted(got), [1, 2], "answers")
    eq(got[2]["error"]["data"]["cause"], "tool-hidden", "the refused one")
    p.server.expect_eof()
    p.server.exit(0)
    eq(p.wait(), 0, "status")


@case("batches lose their refused calls, and lists in batches are cut")
def _(t):
    p = t.proxy("--hide-tools", "h").initialize(version="2025-03-26")
    members = [call(1, "h"), call(2, "a"), note("notifications/x"), call(3, "h"), request(4, "tools/list")]
    p.client.send(b"[" + b" , ".join(members) + b"]")
    p.server.expect(b"[" + b" , ".join((members[1], members[2], members[4])) + b"]")
    got = [p.client.recv_json() for _ in range(2)]
    eq([(m["id"], m["error"]["data"]["cause"]) for m in got], [(1, "tool-hidden"), (3, "tool-hidden")], "refused")
    p.server.send(b"[" + text_result(2, "x") + b", " + result(4, {"tools": [H, A]}) + b"]")
    p.client.expect(b"[" + text_result(2, "x") + b", " + result(4, {"tools": [A]}) + b"]")
    p.client.send(b"[" + call(5, "h") + b"]")
    eq(p.client.recv_json()["id"], 5, "nothing is left")
    p.round()
    p.end()
    eq([(m.kind, m.action) for m in t.messages("direction = 'c2s' AND method = 'tools/call' OR kind = 'batch'")],
       [("batch", "forwarded"), ("request", "refused"), ("request", "forwarded"), ("request", "refused"), ("batch", "forwarded"),
        ("batch", "refused"), ("request", "refused")], "rows")
    eq([e["hidden"] for e in events(t, "tools-hidden")], [["h"]], "event")
    lib.check_calls(t)


@case("a rule that hides everything is escalated once; one that matches nothing is a warning")
def _(t):
    for options, says in ((("--tools", "nothing_*"), "hides all 2 tools"), (("--hide-tools", "drop,del*"), "the server has no such tool: 'drop', 'del*'; rule: hide-tools = drop, del*")):
        p = t.proxy("--name", says.split()[0], *options).initialize()
        seen = [] if options[0] == "--tools" else [A, B]
        lists(p, [A, B], seen)
        lists(p, [A, B], seen, id="again")
        p.end()
        eq(len([x for x in p.own_lines("warn") if says in x]), 1, p.own_lines())
    told = [json.loads(x) for x in t.run("escalations", "list", "--vault", t.vault, "--json").stdout.splitlines()]
    eq(sorted((x["cause"], x["server"], x["count"]) for x in told), [("tools-rule", "hides", 1)], "escalations")
    eq(len(events(t, "tools-rule")), 2, "events")


@case("the rule of [server NAME], and of options, which are stronger")
def _(t):
    config = t.tmp / "config.ini"
    config.write_text("[proxy]\ntools = z*\n[server one]\ntools = a, b*\n[server two words]\nread-only = yes\nhide-tools = h\n")

    def rule(name, *options):
        p = t.proxy("--config", config, "--name", name, *options).initialize()
        p.end()
        return t.rows("SELECT tools_rule FROM sessions ORDER BY id DESC LIMIT 1")[0][0].decode()

    eq(rule("one"), "tools = a, b*", "one")
    eq(rule("two words"), "tools = z*; hide-tools = h; read-only", "two")
    eq(rule("three"), "tools = z*", "three")
    eq(rule("one", "--tools", "c", "--read-only"), "tools = c; read-only", "options")
    for text, says in (("[server one]\ntools = a b\n", ":2: tools: 'a b' contains a blank"), ("[server]\ntools = a\n", ":2: expected '[server NAME]'"),
                       ("[server one]\ntool = a\n", ":2: unknown key 'tool'; did you mean 'tools'?"),
                       ("[server one]\nread-only = maybe\n", ":2: "), ("[servers one]\ntools = a\n", ":2: unknown section")):
        config.write_text(text)
        got = t.run("proxy", "--config", config, "--", "true", input=request(1))
        eq(got.returncode, 2, "status")
        check(says in got.stderr.decode(), got.stderr.decode())


@case("--check-arguments reject does not name hidden tools")
def _(t):
    p = t.proxy("--hide-tools", "set_issue", "--check-arguments", "reject").initialize(capabilities={"tools": {}})
    lists(p, [tool("get_issue"), tool("set_issue")], [tool("get_issue")])
    p.client.send(call(1, "set_issu"))
    message = p.client.recv_json()["error"]["message"]
    check("unknown tool: set_issu" in message and "set_issue" not in message, message)
    p.client.send(call(2, "get_issu"))
    message = p.client.recv_json()["error"]["message"]
    check("did you mean get_issue?" in message, message)
    p.end()


@case("an invalid rule is a usage error, which the client gets as an answer")
def _(t):
    for options, says in ((("--tools", "a,,b"), "--tools: a name is missing"), (("--hide-tools", "a[b]"), "--hide-tools: 'a[b]' contains a bracket"),
                          (("--tools", "a", "--validate", "none"), "use --validate wire or protocol"),
                          (("--read-only", "--validate", "none"), "use --validate wire or protocol")):
        got = t.run("proxy", "--vault", t.vault, *options, "--", "true", input=request("first", "initialize") + b"\n")
        eq(got.returncode, 2, "status")
        check(says in got.stderr.decode(), got.stderr.decode())
        answer = json.loads(got.stdout)
        eq((answer["id"], answer["error"]["data"]["cause"]), ("first", "not-started"), "answer")
        check(says in answer["error"]["message"], answer)


@case("a long definition, many tools, two requests with one id")
def _(t):
    p = t.proxy("--hide-tools", "h*").initialize()
    big = tool("h-big", description="x" * (5 << 20))
    many = [tool(f"{'h' if i % 2 else 'a'}{i}") for i in range(20000)]
    p.client.send(request(1, "tools/list"))
    p.server.recv()
    p.server.send(result(1, {"tools": [A, big, B]}))
    p.client.expect(result(1, {"tools": [A, B]}), seconds=20)
    p.client.send(request(2, "tools/list"))
    p.server.recv()
    p.server.send(result(2, {"tools": many}))
    p.client.expect(result(2, {"tools": many[::2]}), seconds=20)
    p.client.send(request(3), request(3, "tools/list"))
    p.server.recv(), p.server.recv()
    p.server.send(result(3, {"tools": [A, H]}))
    p.client.expect(result(3, {"tools": [A]}))
    p.server.send(result(3))
    p.client.expect(result(3))
    p.end()
    eq([e["hidden_n"] for e in events(t, "tools-hidden")], [1, 10000, 1], "events")




@case("a replay answers what the client saw, from a session and from a cassette")
def _(t):
    meta = {"annotations": READS}
    for options in (("--tools", "a,r*"), ("--read-only",)):
        p = t.proxy(*options).initialize()
        seen = []

        def live(line, *answers, p=p, seen=seen):
            """A request of the client; the server, if it gets it, answers these."""
            p.client.send(line)
            if answers:
                p.server.expect(line)
                p.server.send(*answers)
            seen.append((line, p.client.recv()))

        live(request(1, "tools/list"), result(1, {"tools": [H, tool("a", **meta), B], "nextCursor": "n"}))
        live(request(2, "tools/list", {"cursor": "n"}), result(2, {"tools": [tool("r1", **meta), tool("w")]}))
        live(call(3, "a"), text_result(3, "x"))
        live(call(4, "h"))
        live(request(5, "tools/call", {"Name": "a"}))
        p.end()
        t.run("export", "--vault", t.vault, "last", "-o", t.tmp / f"{options[0]}.jsonl")
        head = json.loads((t.tmp / f"{options[0]}.jsonl").read_text().splitlines()[0])
        eq((head["version"], head["tools_rule"]), (2, "tools = a, r*" if options[0] == "--tools" else "read-only"), "cassette")
        for source in ("last", t.tmp / f"{options[0]}.jsonl"):
            r = Replay(t, source)
            r.client.send(request("init", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test client", "version": "1.0"}}))
            r.client.recv()
            r.client.send(note("notifications/initialized"))
            for line, answer in seen:
                r.client.send(line)
                eq(r.client.recv(), answer, f"answer to {line}")
            if options[0] == "--tools":     # a call that was not recorded
                r.client.send(call(6, "hidden too"))
                got = r.client.recv_json()["error"]
                eq((got["code"], got["data"], got["message"]),
                   (-32602, {"source": "mcp-interposer", "cause": "tool-hidden", "method": "tools/call", "tool": "hidden too"}, "unknown tool 'hidden too': the tool is hidden by the rule of mcp-interposer: tools = a, r*"), "refused")
            r.client.close_write()
            r.client.rest()
            eq(r.proc.wait(60), 0, "status")


@case("--read-only: a session in which a call waited is exported, imported and replayed")
def _(t):
    p = t.proxy("--name", "x", "--read-only").initialize()
    p.client.send(call(1, "r"))
    q = json.loads(p.server.recv())
    p.server.send(note("notifications/x"))      # it is recorded before the call, which arrived before it
    p.client.expect(note("notifications/x"))
    p.server.send(result(q["id"], {"tools": [tool("r", annotations=READS)]}))
    p.server.expect(call(1, "r"))
    p.server.send(text_result(1, "x"))
    p.client.expect(text_result(1, "x"))
    p.end()
    times = [t_us for t_us, in t.rows("SELECT t_us FROM messages ORDER BY seq")]
    check(times != sorted(times), f"the call did not wait: {times}")
    cassette = t.tmp / "x.jsonl"
    t.run("export", "--vault", t.vault, "last", "-o", cassette)
    written = [m["t"] for m in map(json.loads, cassette.read_text().splitlines()[1:-1])]
    eq(written, [max(times[:i + 1]) for i in range(len(times))], "times in the cassette")
    r = t.run("import", "--vault", t.vault, cassette)
    eq(r.returncode, 0, r.stderr)
    for source in ("1", "2", cassette):
        r = Replay(t, source)
        r.client.send(request("init", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test client", "version": "1.0"}}))
        r.client.recv()
        r.client.send(note("notifications/initialized"), call(1, "r"))
        check(text_result(1, "x") in (r.client.recv(), r.client.recv()), f"answer of {source}")
        r.client.close_write()
        r.client.rest()
        eq(r.proc.wait(60), 0, "status")


@case("doctor names hidden tools that a client called")
def _(t):
    fine = t.run("doctor", "--vault", t.vault, "--verbose").stdout
    p = t.proxy("--name", "srv", "--tools", "a").initialize()
    for i in range(3):
        refused(p, i, "h")
    p.end()
    got = t.run("doctor", "--vault", t.vault).stdout.decode()
    check("h of srv: in the last 7 days a client called this tool 3 times, and a rule hides it" in got, got)
    check("[server srv]" in got and "tools = a" in got, got)
    check(b"a rule hides it" not in fine, fine)


@case("tools --suggest: the rule that keeps what was called, and --apply writes it")
def _(t):
    config = t.tmp / "config.ini"

    def suggest(*options):
        return t.run("tools", "--vault", t.vault, "--config", config, "--suggest", *options, "srv")

    config.write_text("# mine\n[proxy]\nrecord = full\n")
    for i in range(5):
        p = lists(t.proxy("--name", "srv", "--hide-tools", "c").initialize(), [A, B, C, H, tool("with blank, comma")], [A, B, H, tool("with blank, comma")])
        passes(p, 1, ("a", "with blank, comma", "a", "h", "gone")[i])
        if i == 4:
            refused(p, 2, "c")
            p.client.send(call(3, "typo"))
            p.server.recv()
            p.server.send(error(3))
            p.client.recv()
        p.end()
    got = suggest()
    eq((got.returncode, got.stdout), (1, b""), "one day is too little")
    eq(got.stderr.count(b"5 sessions on 1 day"), 1, got.stderr)
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute("UPDATE sessions SET started_at_us = started_at_us - 86400000000 * 2 WHERE id = 1")
    got = suggest()
    eq((got.returncode, got.stdout), (0, b"tools = a, c, h, with?blank??comma, gone\n"), "rule")
    check(b"4 of 5 tools were called" in got.stderr and b"5 sessions on 2 days" in got.stderr, got.stderr)
    eq(suggest("--since", "1h").returncode, 1, "--since leaves 4 sessions")
    eq(suggest("--since", "1h", "--force").stdout, b"tools = a, c, h, with?blank??comma, gone\n", "--force")
    eq(config.read_text(), "# mine\n[proxy]\nrecord = full\n", "nothing was written")
    got = suggest("--apply")
    eq(got.returncode, 0, "status")
    check(b"+tools = a, c, h" in got.stderr, got.stderr)
    eq(config.read_text(), "# mine\n[proxy]\nrecord = full\n\n[server srv]\ntools = a, c, h, with?blank??comma, gone\n", "written")
    config.write_text("[server srv]\n tools = x ; why\n# more\n")
    config.chmod(0o640)
    eq(suggest("--apply").returncode, 0, "status")
    eq(config.read_text(), "[server srv]\n tools = a, c, h, with?blank??comma, gone ; why\n# more\n", "comments are kept")
    eq(config.stat().st_mode & 0o777, 0o640, "mode")
    p = t.proxy("--name", "srv", "--config", config).initialize()
    for i, name in enumerate(("a", "c", "h", "with blank, comma", "gone")):
        passes(p, i, name)
    refused(p, 9, "b")
    p.end()
    eq(t.run("tools", "--vault", t.vault, "--apply", "srv").returncode, 2, "--apply alone")
    eq(t.run("tools", "--vault", t.vault, "--suggest", "--json", "srv").returncode, 2, "--json")


def week(t, name, tools, called):
    """Five sessions on three days, in each of which these tools are listed and called."""
    for _ in range(5):
        p = lists(t.proxy("--name", name).initialize(), tools, tools)
        for k, one in enumerate(called):
            passes(p, k, one)
        p.end()
    lib.recorders_ended(t.vault)
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute("UPDATE sessions SET started_at_us = started_at_us - 86400000000 * ((SELECT max(id) FROM sessions) - id) WHERE name = ?", (name,))


def suggests(t, name, *options, status=0):
    got = t.run("tools", "--vault", t.vault, "--config", t.tmp / "config.ini", "--suggest", *options, name)
    eq(got.returncode, status, f"status: {got.stderr.decode()}")
    return got.stdout.decode(), got.stderr.decode()


@case("tools --suggest: names that look like globs, that no list can have, or that were redacted")
def _(t):
    (t.tmp / "config.ini").write_text("")
    secret = "t_ghp_" + "aB1cD2eF3g" * 4
    odd = ["a*b", "c?d", "e[f]", "g,h;i", "new\nline", "\u00e4 \u4e2d", secret, "l" * 300 + " " + "l" * 300, "n" * 1024]
    week(t, "srv[1]", [tool(x) for x in (*odd, "a__b", "a+b", "other")], odd)
    week(t, "srv1", [tool("x"), tool("y")], ["x"])
    eq(suggests(t, "srv1")[0], "tools = x\n", "another server, whose name this glob matches")
    said, why = suggests(t, "srv[1]")
    rule = said.removeprefix("tools = ").rstrip("\n")
    check("a?b, c?d, e?f?, g?h?i" in rule and "new?line, " in rule and "\u00e4?\u4e2d" in rule and secret not in rule, rule.replace("n" * 50, "").replace("l" * 50, ""))
    check("9 of 12 tools were called" in why and "the rule hides 2 tools" in why and "the rule also keeps 1 tool that nobody called" in why, why)
    p = lists(t.proxy("--name", "x", "--tools", rule).initialize(), [tool(x) for x in (*odd, "a__b", "other")], [tool(x) for x in odd])
    for k, name in enumerate(odd):
        passes(p, k, name)
    refused(p, 99, "other")
    p.end()
    check("cannot be the name of a section in the" in suggests(t, "srv[1]", "--apply", status=3)[1], "--apply")


@case("tools --suggest: names that no rule keeps, and rules that would hide nothing")
def _(t):
    (t.tmp / "config.ini").write_text("")
    for name, odd in (("nul", "h\0"), ("long", "n" * 1025)):
        week(t, name, [tool(odd), A, B], [odd, "a"])
        said, why = suggests(t, name, status=1)
        check(said == "" and "no rule can keep the tool '" + ("h" if name == "nul" else "nnn") in why, why)
    week(t, "all", [A, B], ["a", "b"])
    said, why = suggests(t, "all", "--apply", status=1)
    check(said == "" and "a rule would hide no tool of all: all tools that clients see were called" in why, why)
    week(t, "glob", [tool("a b"), tool("a_b")], ["a b"])
    said, why = suggests(t, "glob", status=1)
    check(said == "" and "the patterns of the rule also match all tools that nobody called" in why, why)
    eq((t.tmp / "config.ini").read_text(), "", "nothing was written")


@case("tools --suggest: hide-tools and read-only of the configuration stay in force")
def _(t):
    config = t.tmp / "config.ini"
    reads = [tool(x, annotations=READS) for x in ("r1", "r2", "r3")]
    week(t, "srv", [*reads, tool("w"), tool("d")], ["r1", "w", "d"])
    for text, rule, says in (
            ("[server srv]\nhide-tools = d\n", "r1, w", "these tools were called, but hide-tools or read-only of the configuration still hides them: d"),
            ("[server srv]\nread-only = yes\n", "r1", "hide-tools or read-only of the configuration still hides them: d, w"),
            ("[proxy]\nhide-tools = d\n[server srv]\nhide-tools = w, r1\n", "d", "of the configuration still hides them: r1, w"),
            ("[proxy]\nread-only = yes\n", "r1", "of the configuration still hides them: d, w"),
            ("[server other]\nhide-tools = d\n[server srv]\ntools = x\n", "d, r1, w", "the rule hides 2 tools")):
        config.write_text(text)
        said, why = suggests(t, "srv")
        eq(said, f"tools = {rule}\n", f"with {text}")
        check(says in why, why)
    config.write_text("[server srv]\nhide-tools = d, w, r1\n")
    said, why = suggests(t, "srv", status=1)
    check(said == "" and "hides every tool of srv that was called: d, r1, w" in why, why)
    config.write_text("[server srv]\nhide-tools = r2, r3\n")
    check("a rule would hide no tool of srv" in suggests(t, "srv", status=1)[1], "these are hidden already")


@case("tools --suggest --apply: the file keeps its mode, its link and its ends of lines, and is written only if it changes")
def _(t):
    config, real = t.tmp / "config.ini", t.tmp / "dir" / "real.ini"
    week(t, "srv", [A, B, C], ["a", "b"])
    real.parent.mkdir()
    real.write_bytes(b"# mine\r\n[proxy]\r\nrecord = full\r\n")
    real.chmod(0o640)
    config.symlink_to(real)
    said, why = suggests(t, "srv", "--apply")
    eq(real.read_bytes(), b"# mine\r\n[proxy]\r\nrecord = full\r\n\r\n[server srv]\r\ntools = a, b\r\n", "CR LF")
    check("+tools = a, b\n" in why and "written" in why, why)
    check(config.is_symlink() and real.stat().st_mode & 0o777 == 0o640, "link and mode")
    eq([x.name for x in real.parent.iterdir()], ["real.ini"], "no file is left beside it")
    before = real.stat().st_ino, real.stat().st_mtime_ns
    said, why = suggests(t, "srv", "--apply")
    eq((said, (real.stat().st_ino, real.stat().st_mtime_ns)), ("tools = a, b\n", before), "nothing has changed")
    check("has this line already: nothing is written" in why and "\nwritten" not in why, why)
    real.write_bytes(b"[server srv]\r\ntools = x ; why\r\n")
    real.chmod(0o440)
    why = suggests(t, "srv", "--apply", status=3)[1]
    check("the file is read-only" in why and "\nwritten" not in why, why)
    real.chmod(0o600)
    why = suggests(t, "srv", "--apply")[1]
    eq(real.read_bytes(), b"[server srv]\r\ntools = a, b ; why\r\n", "the comment is kept")
    check("-tools = x ; why\n+tools = a, b ; why\n" in why, why)
    config.unlink()
    why = suggests(t, "srv", "--apply", status=2)[1]
    check("cannot read configuration" in why and not config.exists(), why)
    home = t.tmp / "home"
    got = t.run("tools", "--vault", t.vault, "--suggest", "--apply", "srv", env=dict(t.environ(), XDG_CONFIG_HOME=str(home)))
    eq((got.returncode, (home / "mcp-interposer/config.ini").read_text()), (0, "[server srv]\ntools = a, b\n"), got.stderr)
    eq((home / "mcp-interposer/config.ini").stat().st_mode & 0o777, 0o600, "mode of a new file")
    for options in (("--since", "1d"), ("--force",), ("--apply",)):
        eq(t.run("tools", "--vault", t.vault, *options, "srv").returncode, 2, f"{options} without --suggest")


# ---- the readers of a server ----------------------------------------------------------------------

def readings(text):
    """The tools that readers may take a text for calls of: the first or the last of members with one name, with or without case."""
    def value(pairs):
        return ("object", pairs)

    def members(v, name, fold):
        same = (lambda k: k.translate(FOLD).lower() == name) if fold else (lambda k: k == name)
        return [x for k, x in v[1] if same(k)] if isinstance(v, tuple) else []

    try:
        root = json.loads(text, object_pairs_hook=value)
    except ValueError:
        return set()
    found = set()
    for one in root if isinstance(root, list) else [root]:
        for fold in (False, True):
            for at in (0, -1):
                def get(v, name):
                    x = members(v, name, fold)
                    return x[at] if x else None
                if get(one, "method") == "tools/call":
                    name = get(get(one, "params"), "name")
                    if isinstance(name, str):
                        found |= {name, name.split("\0")[0]}
    return found


FOLD = {0x17F: "s", 0x212A: "k"}


def spelled(r, text):
    """A JSON string of this text, with random escapes."""
    return '"' + "".join(f"\\u{ord(c):04x}" if r.random() < .2 else f"\\u{ord(c):04X}" if r.random() < .1 else "\\/" if c == "/" and r.random() < .5 else
                         json.dumps(c)[1:-1] for c in text) + '"'


def cased(r, text):
    text = "".join(c.upper() if r.random() < .3 else c for c in text) if r.random() < .25 else text
    return text.replace("s", "\u017f") if r.random() < .1 else text


def random_call(r, id):
    blank = lambda: r.choice(("", "", " ", "\t"))     # noqa: E731
    names = [r.choice(("h", "hidden", "a", "ok", "h\0", "H", "h ", "\ud800h", "a\0h")) for _ in range(r.choice((1, 1, 1, 2, 0)))]
    params = [(cased(r, "name"), spelled(r, n)) for n in names] + r.choice(([], [("arguments", '{"name":"h"}')], [("_meta", "{}")]))
    r.shuffle(params)
    def put(pairs): return "{" + ",".join(f"{blank()}{spelled(r, k)}{blank()}:{v}{blank()}" for k, v in pairs) + "}"   # noqa: E704
    members = [("jsonrpc", '"2.0"'), ("method", spelled(r, r.choice(("tools/call",) * 6 + ("ping", "tools/call\0")))), ("params", put(params))]
    if r.random() < .9:
        members.append(("id", str(id)))
    if r.random() < .15:
        members.append((cased(r, "method"), '"tools/call"'))
    if r.random() < .15:
        members.append((cased(r, "params"), put([("name", '"h"')])))
    r.shuffle(members)
    return put(members)


@case("no reader of the server's input finds a hidden tool, whatever the client writes", limit=240)
def _(t):
    n = 3000 if "--long" in sys.argv or lib.os.environ.get("TEST_LONG") else 600
    r = random.Random(20261127)
    for version, options, hidden in (("2025-03-26", ("--hide-tools", "h*"), lambda x: x.startswith("h")), ("2025-11-25", ("--tools", "a,ok"), lambda x: x not in ("a", "ok")),
                                     ("2024-11-05", ("--hide-tools", "h*"), lambda x: x.startswith("h"))):
        p = t.proxy(*options).initialize(version=version)
        lines = []
        for i in range(n):
            several = version == "2025-03-26" and r.random() < .3
            text = "[" + ",".join(random_call(r, 1000 * i + k) for k in range(r.randint(1, 4))) + "]" if several else random_call(r, 1000 * i)
            lines.append(text.encode("utf-8", "surrogatepass"))
        with lib.Background(lambda: [p.client.send(x) for x in lines] and p.client.send(request("end"))):
            passed = 0
            while (line := p.server.recv(20)) != request("end"):
                names = readings(line)
                check(not any(hidden(x) for x in names), f"the server got {line}: {names}")
                passed += bool(names)
        check(passed > n // 40, f"{passed} calls of {n} passed")
        p.server.exit(0)
        p.client.rest(20)
        p.client.close_write()
        p.wait()


lib.main(2)
