#!/usr/bin/env python3
"""--validate none: nothing is rejected, repaired or dropped; there are only findings."""
import lib
from lib import case, check, eq, error, note, request, result

NOTE = note("notifications/x")
# The line that is sent, and its finding.
C2S = {
    "text": (b"hello", "not-json"),
    "CRLF": (NOTE + b"\r", "crlf"),
    "a BOM": (b"\xef\xbb\xbf" + NOTE, "bom"),
    "two values": (NOTE + NOTE, "several-values"),
    "bad UTF-8": (b'{"jsonrpc":"2.0","method":"\xff"}', "invalid-utf8"),
    "no JSON-RPC": (b'{"a":1}', "not-jsonrpc"),
    "method twice": (b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', "duplicate-envelope-key"),
    "a call and an answer": (b'{"jsonrpc":"2.0","id":1,"method":"a","result":{}}', "call-and-answer"),
    "10,001 levels": (b'{"jsonrpc":"2.0","method":"x","params":{"a":' + b"[" * 9999 + b"]" * 9999 + b"}}", "too-deep"),
    "an array": (b"[" + NOTE + b"]", "batch"),
    "an empty array": (b"[]", "batch"),
    "a bad id": (b'{"jsonrpc":"2.0","id":{},"method":"x"}', "not-jsonrpc"),
}
BOTH = b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}'
S2C = {
    **C2S,
    "log text and a message": (b"INFO " + NOTE, "not-json"),
    "an unknown answer": (result("nobody"), "unknown-answer"),
    "an error for an unknown id": (error("nobody"), "unknown-answer"),
    "an answer with id null": (b'{"jsonrpc":"2.0","id":null,"result":{}}', "null-id"),
    "an answer with result and error": (BOTH, "malformed-answer"),
}

for side, lines in (("client", C2S), ("server", S2C)):
    for what, (line, name) in lines.items():
        @case(f"{side}: {what} is forwarded unchanged, with a finding")
        def _(t, line=line, name=name, from_client=side == "client"):
            p = t.proxy("--validate", "none").initialize()
            a, b = (p.client, p.server) if from_client else (p.server, p.client)
            a.write(line + b"\n")
            b.expect(line)
            p.round()
            p.end()
            rows = t.messages("seq > 3 AND batch_seq IS NULL AND coalesce(rpc_id, '') != '\"fence\"'")
            eq(len(rows), 1, f"rows of the line: {rows}")
            eq((rows[0].action, rows[0].direction), ("forwarded", "c2s" if from_client else "s2c"), f"{rows[0]}")
            check(name in (rows[0].finding or b"").decode().split(","), f"no finding {name} at {rows[0]}")
            eq(t.messages("origin = 'interposer'"), [], "messages of our own")


@case("a malformed answer to a pending request is forwarded")
def _(t):
    p = t.proxy("--validate", "none").initialize()
    p.client.send(request(1, "tools/list"))
    p.server.recv()
    p.server.send(BOTH)
    p.client.expect(BOTH)
    p.client.close_write()
    p.server.exit(0)
    p.client.rest()
    eq(p.wait(), 0, "exit status")


@case("an answer whose id has another type is forwarded unchanged, either way")
def _(t):
    p = t.proxy("--validate", "none").initialize()
    for asks, answers in ((p.client, p.server), (p.server, p.client)):
        asks.send(request(1, "ping"))
        answers.expect(request(1, "ping"))
        answers.send(result("1"))
        asks.expect(result("1"))
    p.end()
    eq([m.rpc_id for m in t.messages("finding = 'id-type-changed'")], [b'"1"'] * 2, "ids as they were sent")


@case("a late answer to a cancelled request is forwarded")
def _(t):
    p = t.proxy("--validate", "none").initialize()
    cancel = note("notifications/cancelled", {"requestId": 1})
    p.client.send(request(1, "tools/list"), cancel)
    p.server.expect(request(1, "tools/list"), cancel)
    p.server.send(result(1))
    p.client.expect(result(1))
    p.server.send(result(1))
    p.client.expect(result(1))
    p.end()


@case("blank lines are forwarded")
def _(t):
    p = t.proxy("--validate", "none").initialize()
    p.client.write(b"\n\r\n" + NOTE + b"\n")
    p.server.expect(b"", b"\r", NOTE)
    p.server.write(b"\n" + NOTE + b"\n")
    p.client.expect(b"", NOTE)
    p.end()
    check(t.messages("finding IS NOT NULL"), "no finding")


lib.main()
