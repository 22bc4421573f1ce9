#!/usr/bin/env python3
"""Answers that are not valid messages: repaired, or errors at once; the server is not killed for them."""
import json

import lib
from lib import case, check, eq, request, result

PARSE, INVALID, INTERNAL = -32700, -32600, -32603


def our_error(line, id, code, cause):
    m = json.loads(line)
    eq((m["id"], m["error"]["code"], m["error"]["data"]["cause"]), (id, code, cause), f"error {lib.short(line)}")
    return m["error"]["message"]


def ends_well(t, p):
    """The session goes on, and the server was not killed."""
    p.round()
    p.end()
    kinds = {k for k, in t.rows("SELECT kind FROM events")}
    check(not kinds & {b"hang", b"kill", b"restart"}, f"events {kinds}")


def repaired_events(t):
    return [json.loads(d) for d, in t.rows("SELECT detail FROM events WHERE kind = 'repaired' ORDER BY id")]


@case("a Latin-1 byte becomes U+FFFD; the record has what was forwarded, and an event the byte")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1, "tools/call", {"name": "a"}))
    p.server.expect(request(1, "tools/call", {"name": "a"}))
    p.server.send(b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}')
    want = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"caf\ufffd"}]}}'.encode()
    p.client.expect(want)
    ends_well(t, p)
    row, = t.messages("finding LIKE '%invalid-utf8%'")
    eq((row.action, row.kind, row.body), ("forwarded", "result", want), "the row")
    eq(repaired_events(t), [{"seq": row.seq, "finding": "invalid-utf8", "offset": 71, "count": 1, "bytes": "e9"}],
       "events")
    eq(t.run("audit", "verify", "--vault", t.vault).returncode, 0, "the status of audit verify")


@case("a message over several lines is joined")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1, "tools/list"))
    p.server.expect(request(1, "tools/list"))
    p.server.send(*json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}, indent=2).encode().split(b"\n"))
    eq(json.loads(p.client.recv()), {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}, "the answer")
    ends_well(t, p)
    check([e["finding"] for e in repaired_events(t)] == ["several-lines"], repaired_events(t))


@case("an answer that nobody can read is an error at once, without the secret that it has")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1, "tools/call", {"name": "a"}))
    p.server.expect(request(1, "tools/call", {"name": "a"}))
    p.server.send(rb'{"jsonrpc":"2.0","id":1,"result":{"password":"hunter2Xy","t":"C:\dir"}}')
    message = our_error(p.client.recv(), 1, INTERNAL, "malformed-answer")
    check("at byte 65 of the line" in message, message)
    check("hunter2Xy" not in message, message)
    ends_well(t, p)


@case("a cut line is an error soon, also without another line")
def _(t):
    p = t.proxy("--timeout", "1h").initialize()
    p.client.send(request(1, "tools/call", {"name": "a"}))
    p.server.expect(request(1, "tools/call", {"name": "a"}))
    p.server.send(b'{"jsonrpc":"2.0","id":1,"result":{"content":[')
    message = our_error(p.client.recv(), 1, INTERNAL, "malformed-answer")
    check("the text ends inside a value" in message, message)
    ends_well(t, p)


@case("an answer that was being written when the server exited gets the error of that exit")
def _(t):
    p = t.proxy("--restarts", "0").initialize()
    p.client.send(request(1, "tools/call", {"name": "a"}))
    p.server.expect(request(1, "tools/call", {"name": "a"}))
    p.server.write(b'{"jsonrpc":"2.0","id":1,"result":{"content":[')
    p.server.exit(3)
    our_error(p.client.recv(), 1, -32000, "server-exited")
    p.client.expect_eof()
    eq(p.wait(), 3, "exit status")


@case("a server that sent an invalid line is slow at the deadline, not hung, and the error quotes the line")
def _(t):
    p = t.proxy("--timeout", "tools/call=6s").initialize()
    p.client.send(request(1, "tools/call", {"name": "a"}))
    p.server.expect(request(1, "tools/call", {"name": "a"}))
    p.server.send(rb'{"jsonrpc":"2.0","result":{"dir":"C:\dir"}}')
    message = our_error(p.client.recv(), 1, -32001, "timeout")
    check(r'(the server sent a line that answers no request: {"jsonrpc":"2.0","result":{"dir":"C:\dir"}})' in message, message)
    check("cancelled" in json.loads(p.server.recv())["method"], "no cancellation")
    ends_well(t, p)


@case("null members are removed, a null result of an empty result is {}")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1), request(2), request(3, "tools/call", {"name": "a"}))
    for line in (request(1), request(2), request(3, "tools/call", {"name": "a"})):
        p.server.expect(line)
    p.server.send(b'{"jsonrpc":"2.0","id":1,"error":null,"result":{}}', b'{"jsonrpc":"2.0","id":2,"result":null}',
                  b'{"jsonrpc":"2.0","id":3,"result":null}')
    p.client.expect(result(1), result(2))
    our_error(p.client.recv(), 3, INTERNAL, "malformed-answer")
    ends_well(t, p)


@case("a line of the client that is not JSON is answered with its id, a request with the id null with null")
def _(t):
    p = t.proxy().initialize()
    p.client.send(b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"caf\xe9"}}',
                  b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}')
    our_error(p.client.recv(), "x", PARSE, "not-json")
    our_error(p.client.recv(), None, INVALID, "not-jsonrpc")
    ends_well(t, p)


ODD = r'''
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    id, method = m.get("id"), m.get("method")
    if method == "initialize":
        text = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {},
                           "serverInfo": {"name": "s", "version": "1"}}}, indent=1)
    elif method == "tools/call":
        text = '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}' % id
    elif method == "tools/list":
        text = '{"jsonrpc":"2.0","id":%s,"result":{"dir":"C:\\dir"}}' % id
    elif method in ("ping", "logging/setLevel", "resources/subscribe", "prompts/list"):
        text = '{"jsonrpc":"2.0","id":%s,"result":null}' % id
    else:
        continue
    sys.stdout.buffer.write(text.encode("latin-1") + b"\n")
    sys.stdout.flush()
'''


@case("verify reads a live server as the proxy does")
def _(t):
    server = t.tmp / "odd.py"
    server.write_text(ODD)
    asked = (request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                       "clientInfo": {"name": "c", "version": "1"}}),
             lib.note("notifications/initialized"), request(1, "tools/call", {"name": "a"}), request(2, "tools/list"),
             request(3), request(4, "logging/setLevel", {"level": "info"}), request(5, "prompts/list"))
    recorded = t.run("proxy", "--vault", t.vault, "--", "python3", "-S", server, input=b"".join(m + b"\n" for m in asked))
    got = [json.loads(x) for x in recorded.stdout.splitlines()]
    eq(sorted(m["id"] for m in got), [0, 1, 2, 3, 4, 5], "answers")
    eq([m["result"] for m in got if m["id"] in (3, 4)], [{}, {}], "results of methods with an empty result")
    done = t.run("verify", "--vault", t.vault, "--all", "-t", "20s", "1", "--", "python3", "-S", server)
    eq(done.returncode, 0, f"status of verify: {done.stdout.decode()}{done.stderr.decode()}")
    check(b"4 match" in done.stdout, f"verify: {done.stdout.decode()}")


lib.main()
