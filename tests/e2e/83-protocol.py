#!/usr/bin/env python3
"""The rules of MCP in the whole program: valid habits of real clients, and --validate protocol."""
import json

import lib
from lib import call, case, check, eq, error, note, request, result, text_result

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def through(p, q, a):
    p.client.send(q)
    p.server.expect(q)
    p.server.send(a)
    p.client.expect(a)


def found(t):
    return [m.finding.decode() for m in t.messages("finding IS NOT NULL")]


@case("a probe, an unknown method, then the handshake of an older revision: no findings")
def _(t):
    p = t.proxy("--validate", "protocol")
    through(p, request("probe", "server/discover", {"_meta": MODERN}), error("probe", -32601, "Method not found"))
    p.initialize("2025-06-18")
    through(p, request(1, "tools/list"), result(1, {"tools": []}))
    p.end()
    eq(found(t), [], "findings")


@case("both eras on one pipe")
def _(t):
    p = t.proxy("--validate", "protocol").initialize("2025-11-25")
    through(p, request(1, "tools/list", {"_meta": MODERN}), result(1, {"tools": [], **CACHED}))
    through(p, request(2, "tools/list"), result(2, {"tools": []}))
    through(p, request(1, "tools/list", {"_meta": MODERN}), result(1, {"tools": [], **CACHED}))
    p.end()
    eq(found(t), [], "findings")


@case("a client that never sends initialized is served, with one finding")
def _(t):
    p = t.proxy("--validate", "protocol")
    through(p, request(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
            result(0, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}))
    through(p, request(1, "tools/list"), result(1, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))
    through(p, call(2), text_result(2, "x"))
    p.end()
    eq(found(t), ["request-before-initialized"], "findings")


@case("--validate protocol: mistakes of either side are rejected, and the error names the rule")
def _(t):
    p = t.proxy("--validate", "protocol").initialize("2025-11-25")

    def refused(q, code, rule):
        p.client.send(q)
        got = p.client.recv_json()["error"]
        eq((got["code"], got["data"]["cause"]), (code, rule), f"{got}")
        check(rule in got["message"], got["message"])
    refused(request(1, "tools/call", {"arguments": {}}), -32602, "invalid-params")
    refused(request(2, "resources/list"), -32601, "undeclared-capability")
    refused(request(3, "roots/list"), -32601, "wrong-direction")
    refused(request("init", "ping"), -32600, "repeated-id")
    p.client.send(request("a", "ping", {"_meta": {"progressToken": 1}}))
    p.server.recv()
    refused(request("b", "ping", {"_meta": {"progressToken": 1}}), -32600, "reused-token")
    for _ in range(2):
        p.server.send(note("notifications/progress", {"progressToken": 1, "progress": 1}))
    p.server.send(result("a"))
    p.client.expect(note("notifications/progress", {"progressToken": 1, "progress": 1}), result("a"))
    p.client.send(request(4, "tools/list"))
    p.server.recv()
    p.server.send(result(4, {"tools": "none"}))
    got = p.client.recv_json()["error"]
    eq((got["code"], got["data"]["cause"]), (-32603, "invalid-result"), f"{got}")
    p.server.send(request(9, "sampling/createMessage", {"messages": [], "maxTokens": 1}))
    got = json.loads(p.server.recv())
    eq((got["id"], got["error"]["code"], got["error"]["data"]["cause"]), (9, -32601, "undeclared-capability"), f"{got}")
    p.server.send(note("notifications/progress", {"progressToken": "none", "progress": 1}))
    p.server.send(note("notifications/message", {"level": "info"}))
    p.client.send(request(5, "my/extension", {"x": 1}))
    p.server.expect(request(5, "my/extension", {"x": 1}))
    p.server.send(result(5))
    p.client.expect(result(5))
    p.end()
    eq([(m.method.decode(), m.action) for m in t.messages("kind = 'notification' AND direction = 's2c'")],
       [("notifications/progress", "forwarded")] + [("notifications/progress", "refused")] * 2
       + [("notifications/message", "refused")], "notifications of the server")


@case("2026-07-28: what came before decides, live and in check, and any result names the server")
def _(t):
    info = {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "3"}}
    p = t.proxy()
    through(p, request(1, "tools/call", {"_meta": MODERN, "name": "x"}),
            result(1, {"resultType": "input_required", "requestState": "s", "_meta": info}))
    through(p, request(2, "tools/call", {"_meta": MODERN, "name": "x", "requestState": "s"}), error(2, -32021))
    p.client.send(note("notifications/cancelled", {"requestId": "2"}))
    p.server.expect(note("notifications/cancelled", {"requestId": "2"}))
    through(p, request(3, "tools/call", {"_meta": MODERN, "name": "y", "requestState": "s"}),
            result(3, {"resultType": "task", "taskId": "t"}))
    p.end()
    names = ["missing-error-data", "stray-cancellation", "bad-retry", "undeclared-capability,invalid-task"]
    eq(found(t), names, "findings")
    eq(t.rows("SELECT server_name, server_version FROM sessions"), [(b"modern", b"3")], "the server")
    done = t.run("check", "--vault", t.vault, "--json")
    (recording,) = json.loads(done.stdout)["recordings"]
    eq([f["finding"] for f in recording["findings"]], ",".join(names).split(","), "findings of check")
    check("`taskId`" not in done.stdout.decode() and "`createdAt`" in done.stdout.decode(), "the member that is missing")


@case("--validate protocol: an invalid _meta of 2026-07-28 is rejected")
def _(t):
    p = t.proxy("--validate", "protocol")
    p.client.send(request(1, "tools/list", {"_meta": {**MODERN, "traceparent": "00-1"}}))
    got = p.client.recv_json()["error"]
    eq((got["code"], got["data"]["cause"]), (-32602, "invalid-meta"), f"{got}")
    check("traceparent" in got["message"], got["message"])
    p.end()


@case("--validate wire, the default: the same messages are forwarded, with findings")
def _(t):
    p = t.proxy().initialize("2025-11-25")
    through(p, request(1, "tools/call", {"arguments": {}}), result(1, {}))
    through(p, request(2, "resources/list"), error(2, -32601))
    p.end()
    eq(found(t), ["invalid-params", "invalid-result", "undeclared-capability"], "findings")


if __name__ == "__main__":
    lib.main()
