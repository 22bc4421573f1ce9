"""Cases of tests/ship/run: what a collector gets, checked with the official .proto files and the conventions."""
import copy
import json
import subprocess
import sys

from cases import case, sent
from cases_otlp import PARENT, collector, node
from cluster import DEADLINE
from conventions import names, warnings
from vaults import PROGRAM, Vault

# Answers what the names of its tools say; a notification in between.
SERVER = """
import json, sys
ASK = {"who": {"method": "elicitation/create", "params": {"mode": "form", "message": "Name?", "requestedSchema":
       {"type": "object", "properties": {"n": {"type": "string"}}}}}}
TASK = {"taskId": "t1", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None}
polls = 0
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    p, method = m.get("params", {}), m.get("method")
    name, result, error = p.get("name"), {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}, None
    if "id" not in m or name == "never":
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "7"}}
    elif name == "ask" and "requestState" not in p:
        result = {"resultType": "input_required", "requestState": "s", "inputRequests": ASK}
    elif name == "film":
        result = {"resultType": "task", "status": "working", **TASK}
    elif method == "tasks/get":
        polls += 1
        result = {"resultType": "complete", **TASK, **({"status": "failed", "error": {"code": -32000, "message": "no film"}} if polls > 1 else {"status": "working"})}
    elif name == "broken":
        result["isError"] = True
    elif name == "error":
        error = {"code": -32602, "message": "wrong"}
    elif name == "exit":
        sys.exit(3)
    elif method == "prompts/get":
        result = {"resultType": "complete", "messages": []}
    elif method == "resources/read":
        result = {"resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private"}
    if name == "noisy":
        print("not a message", flush=True)
        say({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        say({"method": "notifications/resources/updated", "params": {"uri": "file:///a"}})
    say({"id": m["id"], "error": error} if error else {"id": m["id"], "result": result})
"""
LISTED = (PARENT[3:35], PARENT[36:52])      # the span that clients name


def meta(client="one", **more):
    return {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}, **more}


def modern():
    """Requests of 2026-07-28: plain calls, a call that asks, one with a task, of several clients; prompts, resources, failures."""
    answer = {"inputResponses": {"who": {"action": "accept", "content": {"n": "Ada"}}}, "requestState": "s"}
    calls = [("tools/call", meta(), {"name": "fine", "arguments": {"a": [1, "é"]}}), ("tools/call", meta("two", traceparent=PARENT), {"name": "noisy"}),
             ("tools/call", meta(), {"name": "ask"}), ("tools/call", meta(), {"name": "ask", **answer}),
             ("tools/call", meta(traceparent=PARENT), {"name": "film"}), ("tasks/get", meta(traceparent=PARENT), {"taskId": "t1"}),
             ("tasks/get", meta(traceparent=PARENT.replace("0af", "1af")), {"taskId": "t1"}), ("tools/call", meta("three"), {"name": "broken"}),
             ("tools/call", meta(), {"name": "error"}), ("prompts/get", meta(), {"name": "p", "arguments": {"x": "1", "y": "2"}}),
             ("resources/read", meta(), {"uri": "file:///a"}), ("tools/list", meta(), {}), ("tools/call", meta(), {"name": "ask"}),
             ("tools/call", meta(), {"name": "never"}), ("tools/call", meta(), {"name": "exit"})]
    return [{"jsonrpc": "2.0", "id": i if i % 3 else f"id {i}", "method": method, "params": {**params, "_meta": m}} for i, (method, m, params) in enumerate(calls)]


def classic():
    info = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": {"name": "old", "version": "1"}}
    return [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info}, {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fine", "arguments": {}}},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "never"}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}]


def played(vault, requests, *server):
    """Sends each request when the one before is answered."""
    proxy = subprocess.Popen([PROGRAM, "proxy", "--vault", vault.path, "--name", "odd", "--", *server], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=vault.env)
    for r in requests:
        proxy.stdin.write(json.dumps(r) + "\n")
        proxy.stdin.flush()
        while "id" in r and r["params"].get("name") != "never" and json.loads(proxy.stdout.readline()).get("id") != r["id"]:
            pass
    proxy.communicate(timeout=DEADLINE)


def everything(t, vault):
    """What a collector gets of these sessions with all that can be sent."""
    server = [sys.executable, "-c", SERVER]
    played(vault, modern(), *server)
    played(vault, classic(), *server)
    played(vault, modern()[:4], *server, "https://far.example:8443/mcp")
    c = collector(t)
    sent(vault.to(c.url(), "--once", "--content", "--notifications"))
    return [{"path": r["path"], "data": r["data"]} for r in c.requests]


PARENTS = {LISTED, (PARENT.replace("0af", "1af")[3:35], PARENT[36:52])}


@case("a collector: nothing that it gets is at variance with the official .proto files and the conventions", needs=None)
def _(t):
    here, vault = node(), Vault(t.folder)
    requests = everything(t, vault)
    assert warnings(requests, PARENTS) == []
    found = names(requests)
    wanted = {"tools/call ask": 5, "operation tools/call ask": 3, "operation tools/call film": 1, "tasks/get": 2, "prompts/get p": 1, "resources/read": 1,
              "notifications/message": 2, "notifications/cancelled": 1, "mcp_interposer.client": 3}
    assert {k: found[k] for k in wanted} == wanted, found
    assert all(found[k] > 0 for k in ("mcp.client.operation.duration", "mcp.client.session.duration", "mcp_interposer.finding", "mcp_interposer.exit")), found
    text = json.dumps(requests)
    assert all(word in text for word in ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.prompt.variable.y", "far.example", '"links"'))
    done = subprocess.run(["node", here / "decode.cjs"], input="".join(json.dumps(r) + "\n" for r in requests), capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr


def first(requests, path, fits=lambda item: True):
    """The first item of this signal that fits."""
    for r in requests:
        if r["path"] == path:
            for resource in next(iter(r["data"].values())):
                for scope in resource[next(k for k in resource if k.startswith("scope"))]:
                    for item in next(v for k, v in scope.items() if k != "scope"):
                        if fits(item):
                            return item
    raise AssertionError(path)


def without(item, key):
    item["attributes"] = [a for a in item["attributes"] if a["key"] != key]


def given(item, key, value):
    without(item, key)
    item["attributes"].append({"key": key, "value": value})


@case("a collector: what is at variance with the conventions is noticed", needs=None)
def _(t):
    requests = everything(t, Vault(t.folder))
    tool = lambda s: s["name"] == "tools/call fine"  # noqa: E731
    span = lambda r, fits=tool: first(r, "/v1/traces", fits)  # noqa: E731
    point = lambda r: first(r, "/v1/metrics")["histogram"]["dataPoints"][0]  # noqa: E731
    wrong = [
        *(lambda r, k=key: without(span(r), k) for key in ("mcp.method.name", "mcp.protocol.version", "gen_ai.tool.name", "gen_ai.operation.name",
                                                           "jsonrpc.request.id", "network.transport", "mcp_interposer.session")),
        lambda r: without(span(r, lambda s: s["name"] == "resources/read"), "mcp.resource.uri"),
        lambda r: without(span(r, lambda s: s["name"] == "prompts/get p"), "gen_ai.prompt.name"),
        lambda r: without(span(r, lambda s: s["name"].startswith("operation")), "mcp_interposer.person_us"),
        lambda r: given(span(r), "mcp.session.id", {"stringValue": "x"}),
        lambda r: given(span(r), "jsonrpc.request.id", {"intValue": "1"}),
        lambda r: given(span(r), "error.type", {"stringValue": "timeout"}),
        lambda r: given(span(r, lambda s: s["name"] == "tools/call error"), "error.type", {"stringValue": "error"}),
        lambda r: span(r).update(kind=1), lambda r: span(r).update(name="fine"), lambda r: span(r).update(endTimeUnixNano="1"),
        lambda r: span(r).update(parentSpanId="0" * 16), lambda r: span(r).update(spanId=span(r, lambda s: s["name"] == "tools/call noisy")["spanId"],
                                                                               traceId=span(r, lambda s: s["name"] == "tools/call noisy")["traceId"]),
        lambda r: first(r, "/v1/logs").update(severityNumber=1), lambda r: first(r, "/v1/logs").pop("body"),
        lambda r: first(r, "/v1/metrics").update(unit="ms"), lambda r: point(r).update(count="77"), lambda r: point(r)["explicitBounds"].pop(),
        lambda r: given(point(r), "mcp_interposer.seq", {"intValue": "1"}), lambda r: point(r).update(max=0.0, min=1.0),
        lambda r: without(r[0]["data"]["resourceSpans"][0]["resource"], "service.name"),
    ]
    missed = []
    for i, change in enumerate(wrong):
        changed = copy.deepcopy(requests)
        change(changed)
        missed += [] if warnings(changed, PARENTS) else [i]
    assert not missed, missed
