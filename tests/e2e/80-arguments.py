#!/usr/bin/env python3
"""--check-arguments: calls checked against the tools/list of the session, and results against outputSchema."""
import json
import sys

import lib
from lib import call, case, check, eq, note, request, result, text_result

ADD = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                                      "required": ["a", "b"], "additionalProperties": False},
       "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}}
ECHO = {"name": "echo", "inputSchema": {"type": "object"}}


def listed(p, *pages, id="list"):
    """A tools/list, page after page."""
    cursor = None
    for i, tools in enumerate(pages):
        q = request(f"{id}{i}", "tools/list", None if cursor is None else {"cursor": cursor})
        p.client.send(q)
        p.server.expect(q)
        cursor = f"page {i + 1}" if i + 1 < len(pages) else None
        answer = result(f"{id}{i}", {"tools": tools, **({"nextCursor": cursor} if cursor else {})})
        p.server.send(answer)
        p.client.expect(answer)
    return p


def passes(p, id, tool, arguments, structured=None):
    p.client.send(call(id, tool, arguments))
    p.server.expect(call(id, tool, arguments))
    answer = text_result(id, "x", **({} if structured is None else {"structuredContent": structured}))
    p.server.send(answer)
    p.client.expect(answer)


def refused(p, id, name, arguments, cause, **want):
    p.client.send(call(id, name, arguments))
    got = p.client.recv_json()
    eq((got["id"], got["error"]["code"], got["error"]["data"]["cause"]), (id, -32602, cause), f"{got}")
    eq({k: got["error"]["data"].get(k) for k in want}, want, "data")
    return got["error"]["message"]


def findings(t):
    return [(m.method or b"").decode() + " " + m.finding.decode()
            for m in t.messages("finding IS NOT NULL AND finding NOT LIKE '%unknown-method%'")]


@case("reject: the error for the client says where and why, and the server gets nothing")
def _(t):
    p = listed(t.proxy("--check-arguments", "reject").initialize(), [ADD, ECHO])
    message = refused(p, 1, "add", {"a": 1, "b": "two"}, "invalid-arguments", pointer="/b", tool="add",
                      reason='must be of type "integer", is a string')
    eq(message, 'invalid arguments for the tool add: /b must be of type "integer", is a string', "message")
    refused(p, 2, "add", {"a": 1}, "invalid-arguments", pointer="", reason='"b" is missing')
    refused(p, 3, "add", {"a": 1, "b": 2, "c": 3}, "invalid-arguments", pointer="/c", reason="unexpected member")
    message = refused(p, 4, "ad", {"a": 1}, "unknown-tool", tool="ad")
    eq(message, "unknown tool: ad; did you mean add?", "message")
    passes(p, 5, "add", {"a": 1, "b": 2}, {"sum": 3})
    passes(p, 6, "echo", {"anything": [1]})
    p.end()
    eq(findings(t), ["tools/call invalid-arguments"] * 3 + ["tools/call unknown-tool"], "findings")
    rows = t.messages("method = 'tools/call'")
    eq([m.action for m in rows], ["refused"] * 4 + ["forwarded"] * 2, "actions")
    told = t.run("check", "--vault", t.vault).stdout.decode()
    check('/b must be of type "integer", is a string' in told and "/c unexpected member" in told, told)


@case("warn, the default: forwarded with a finding, and one warning for each tool")
def _(t):
    p = listed(t.proxy().initialize(), [ADD])
    passes(p, 1, "add", {"a": "1", "b": 2}, {"sum": 3})
    passes(p, 2, "add", {"a": "1", "b": 2}, {"sum": 3})
    passes(p, 3, "sub", {})
    p.end()
    eq(findings(t), ["tools/call invalid-arguments"] * 2 + ["tools/call unknown-tool"], "findings")
    said = [x for x in p.own_lines() if "invalid arguments" in x]
    eq(len(said), 1, f"lines on stderr: {said}")
    check("/a must be of type" in said[0] and '"1"' not in said[0], said[0])


@case("off: nothing is checked")
def _(t):
    p = listed(t.proxy("--check-arguments", "off").initialize(), [ADD])
    passes(p, 1, "add", {"a": "1"})
    passes(p, 2, "sub", {})
    p.end()
    eq(findings(t), [], "findings")


@case("results are checked against outputSchema, with findings alone")
def _(t):
    p = listed(t.proxy("--check-arguments", "reject").initialize(), [ADD])
    passes(p, 1, "add", {"a": 1, "b": 2}, {"sum": "three"})
    passes(p, 2, "add", {"a": 1, "b": 2})
    passes(p, 3, "add", {"a": 1, "b": 2}, {"sum": 3})
    # a tool that fails has nothing to show
    p.client.send(call(4, "add", {"a": 1, "b": 2}))
    p.server.recv()
    p.server.send(text_result(4, "no", isError=True))
    p.client.recv()
    p.end()
    eq(findings(t), [" invalid-structured-content"] * 2 + [" tool-error"], "findings")


@case("nothing is rejected without a complete and current list of tools")
def _(t):
    p = t.proxy("--check-arguments", "reject").initialize(capabilities={"tools": {"listChanged": True}})
    passes(p, 1, "sub", {})
    q = request("page", "tools/list")
    p.client.send(q)
    p.server.expect(q)
    p.server.send(result("page", {"tools": [ADD], "nextCursor": "more"}))
    p.client.recv()
    passes(p, 2, "sub", {})
    refused(p, 3, "add", {}, "invalid-arguments")
    q = request("page 2", "tools/list", {"cursor": "more"})
    p.client.send(q)
    p.server.expect(q)
    p.server.send(result("page 2", {"tools": [ECHO]}))
    p.client.recv()
    refused(p, 4, "sub", {}, "unknown-tool")
    passes(p, 5, "echo", {})
    p.server.send(note("notifications/tools/list_changed"))
    p.client.recv()
    passes(p, 6, "sub", {})
    passes(p, 7, "add", {})
    # another tool of the same name
    listed(p, [{**ADD, "inputSchema": {"type": "object"}}], id="new")
    passes(p, 8, "add", {}, {"sum": 1})
    refused(p, 9, "echo", {}, "unknown-tool")
    p.end()


@case("an unusable or slow schema rejects nothing")
def _(t):
    tools = [{"name": "a", "inputSchema": 7}, {"name": "b"}, {"name": "c", "inputSchema": {"$ref": "http://x/y"}},
             {"name": "d", "inputSchema": {"properties": {"s": {"pattern": "^(a+)+$"}}}},
             {"name": "e", "inputSchema": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}, {"inputSchema": {}}, 5]
    p = listed(t.proxy("--check-arguments", "reject").initialize(), tools)
    for i, name in enumerate("abcde"):
        passes(p, i, name, {"s": "a" * 5000 + "!"})
    p.end()


@case("a pipe full of calls is checked at full speed", limit=120)
def _(t):
    p = listed(t.proxy("--check-arguments", "reject").initialize(), [ADD, ECHO])
    n = 2000
    p.client.send(*(call(i, "add", {"a": i, "b": i if i % 2 else "x"}) for i in range(n)), seconds=30)
    for i in range(1, n, 2):
        eq(json.loads(p.server.recv(30))["id"], i, "id at the server")
        p.server.send(text_result(i, "x", structuredContent={"sum": 1}))
    got = [p.client.recv_json(30) for _ in range(n)]
    eq(sorted(m["id"] for m in got if "error" in m), list(range(0, n, 2)), "refused")
    p.end()


# Without limits the first call of each waits from ten seconds to days.
HOSTILE = {
    "references": {"allOf": [{"$ref": f"#name{i}"} for i in range(4000)],
                   "$defs": {f"name{i}": {"$anchor": f"name{i}"} for i in range(4000)}},
    "repetitions": {"patternProperties": {f"(a{{1,200}}){{1,100}}{i}": {} for i in range(9000)}},
    "backtracking": {"properties": {"x": {"items": {"pattern": "^(a?a?)*b"}}}},
}


@case("a hostile schema delays no message: what exceeds a limit is not checked, also with reject, and noted once")
def _(t):
    p = listed(t.proxy("--check-arguments", "reject", "--timeout", "20s").initialize(),
               [{"name": name, "inputSchema": {"type": "object", **schema}} for name, schema in HOSTILE.items()])
    for again in (1, 2):
        for i, name in enumerate(HOSTILE):
            passes(p, 10 * again + i, name, {"x": ["a" * 1000 + "!b"] * 100})
    eq(set(findings(t)), {"tools/call schema-not-checked"}, "findings")
    check(len(findings(t)) <= len(HOSTILE), "noted once for each tool")
    p.end()


UNCHECKED = {
    "old": ({"$schema": "http://json-schema.org/draft-03/schema#"}, "the dialect is not supported: "
            '"http://json-schema.org/draft-03/schema#"'),
    "remote": ({"properties": {"x": {"$ref": "https://example.com/x.json"}}}, "the schema has a reference outside itself, which is not"
               ' fetched: "https://example.com/x.json"'),
    "pattern": ({"properties": {"x": {"pattern": "("}}}, 'the pattern is invalid or not supported: "("'),
}


@case("what a schema says in a way that cannot be checked is noted once for each tool, with the reason; the rest is checked")
def _(t):
    p = listed(t.proxy("--check-arguments", "reject").initialize(),
               [{"name": name, "inputSchema": {"type": "object", "maxProperties": 1, **schema}}
                for name, (schema, _) in UNCHECKED.items()])
    for again in (1, 2):
        for i, name in enumerate(UNCHECKED):
            passes(p, 10 * again + i, name, {"x": "a"})
    refused(p, 30, "remote", {"x": 1, "y": 2}, "invalid-arguments", pointer="", reason="must have at most 1 members, has 2")
    passes(p, 31, "old", {"x": 1, "y": 2})
    eq(sorted(findings(t)), ["tools/call invalid-arguments"] + ["tools/call schema-not-checked"] * len(UNCHECKED), "findings")
    for name, (_, reason) in UNCHECKED.items():
        check(f"{name}: {reason}" in p.stderr().decode(), f"no reason for {name} on stderr")
    p.end()


CRASHING = """
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    result = {"content": []}
    if m["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        result = {"tools": [{"name": "crash", "inputSchema": {"type": "object"}}]}
    elif m["params"]["name"] == "crash":
        os._exit(1)
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


@case("after a restart the list of tools is unknown until it is read again")
def _(t):
    script = t.tmp / "server.py"
    script.write_text(CRASHING)
    p = t.proxy("--check-arguments", "reject", "--restarts", "3", server=[sys.executable, "-S", script])

    def ask(id, method, params=None):
        p.client.send(request(id, method, params))
        return p.client.recv_json(20)
    ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
    p.client.send(note("notifications/initialized"))
    ask(1, "tools/list")
    eq(ask(2, "tools/call", {"name": "other"})["error"]["data"]["cause"], "unknown-tool", "a tool of no list")
    eq(ask(3, "tools/call", {"name": "crash"})["error"]["code"], -32000, "a crash")
    check("result" in ask(4, "tools/call", {"name": "other"}), "a tool of the new process")
    p.end()


if __name__ == "__main__":
    lib.main()
