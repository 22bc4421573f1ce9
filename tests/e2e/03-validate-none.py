#!/usr/bin/env python3
"""--validate none: nothing is refused, repaired or swallowed, only noted."""
import lib
from lib import case, check, eq, error, note, request, result

NOTE = note("notifications/x")
C2S = {
    "text": b"hello",
    "CRLF": NOTE + b"\r",
    "a BOM": b"\xef\xbb\xbf" + NOTE,
    "two values": NOTE + NOTE,
    "bad UTF-8": b'{"jsonrpc":"2.0","method":"\xff"}',
    "no JSON-RPC": b'{"a":1}',
    "method twice": b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}',
    "513 levels": b'{"jsonrpc":"2.0","method":"x","params":{"a":' + b"[" * 511 + b"]" * 511 + b"}}",
    "an array": b"[" + NOTE + b"]",
    "an empty array": b"[]",
    "a bad id": b'{"jsonrpc":"2.0","id":{},"method":"x"}',
}
S2C = {
    **C2S,
    "log text and a message": b"INFO " + NOTE,
    "an unknown answer": result("nobody"),
    "an error for an unknown id": error("nobody"),
    "an answer with id null": b'{"jsonrpc":"2.0","id":null,"result":{}}',
    "an answer with result and error": b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
}

for side, lines in (("client", C2S), ("server", S2C)):
    for what, line in lines.items():
        @case(f"{side}: {what} goes through untouched, with a finding")
        def _(t, line=line, from_client=side == "client"):
            p = t.proxy("--validate", "none").initialize()
            a, b = (p.client, p.server) if from_client else (p.server, p.client)
            a.write(line + b"\n")
            b.expect(line)
            p.round()
            p.end()
            rows = t.messages("seq > 3 AND batch_seq IS NULL AND coalesce(rpc_id, '') != '\"fence\"'")
            eq(len(rows), 1, f"rows of the line: {rows}")
            eq((rows[0].action, rows[0].direction), ("forwarded", "c2s" if from_client else "s2c"), f"{rows[0]}")
            check(rows[0].finding, f"no finding at {rows[0]}")
            eq(t.messages("origin = 'interposer'"), [], "messages of our own")


@case("a malformed answer to a pending request goes through")
def _(t):
    p = t.proxy("--validate", "none").initialize()
    p.client.send(request(1, "tools/list"))
    p.server.recv()
    p.server.send(S2C["an answer with result and error"])
    p.client.expect(S2C["an answer with result and error"])
    p.client.close_write()
    p.server.exit(0)
    p.client.rest()
    eq(p.wait(), 0, "exit status")


@case("a late answer to a cancelled request goes through")
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


@case("blank lines go through")
def _(t):
    p = t.proxy("--validate", "none").initialize()
    p.client.write(b"\n\r\n" + NOTE + b"\n")
    p.server.expect(b"", b"\r", NOTE)
    p.server.write(b"\n" + NOTE + b"\n")
    p.client.expect(b"", NOTE)
    p.end()
    check(t.messages("finding IS NOT NULL"), "no finding")


lib.main()
