#!/usr/bin/env python3
"""Every row of the table of checks, at the default --validate wire: what is forwarded, rejected or dropped, which error
the client gets, and what is recorded. In the record, `refused` means that a message was not valid enough to be forwarded,
whether or not an error was sent; `swallowed` is a valid message (or a blank line) that no one is waiting for."""
import json

import lib
from lib import call, case, check, eq, error, note, one_of, request, result, text_result

PARSE, INVALID, INTERNAL = -32700, -32600, -32603


def the_row(t, where, *args):
    found = t.messages(where, *args)
    eq(len(found), 1, f"rows with {where} {lib.short(args)}")
    return found[0]


def found(row, *names):
    """The row has these findings."""
    have = (row.finding or b"").decode().split(",")
    for name in names:
        check(name in have, f"no finding {name} at {row}")


def our_error(line, code, rid):
    """The error that the client got from us, checked."""
    m = json.loads(line)
    check("error" in m, f"not an error: {lib.short(line)}")
    eq(m.get("jsonrpc"), "2.0", "jsonrpc of our error")
    eq(m["error"].get("code"), code, f"code in {lib.short(line)}")
    check("id" in m, f"no id in {lib.short(line)}")
    if isinstance(rid, tuple):
        one_of(m["id"], rid, f"id in {lib.short(line)}")
    else:
        eq((type(m["id"]), m["id"]), (type(rid), rid), f"id in {lib.short(line)}")
    check(isinstance(m["error"].get("message"), str) and m["error"]["message"], "no message")
    data = m["error"].get("data")
    check(isinstance(data, dict), f"no data in {lib.short(line)}")
    eq(data.get("source"), "mcp-interposer", "source of our error")
    check(data.get("cause"), "our error names no cause")
    return m


def refused(t, p, line, code, rid, finding, kinds=("noise",)):
    """The client's line is not forwarded, and the client gets an error."""
    p.client.send(line)
    answer = p.client.recv()
    our_error(answer, code, rid)
    p.round()
    p.end()
    row = the_row(t, "CAST(body AS BLOB) = ? AND direction = 'c2s'", line)
    eq((row.action, row.origin), ("refused", "peer"), f"action and origin of {row}")
    one_of(row.kind, kinds, f"kind of {row}")
    found(row, finding)
    ours = the_row(t, "origin = 'interposer'")
    eq((ours.direction, ours.kind, ours.action), ("s2c", "error", "forwarded"), "our error's row")
    eq(ours.body, answer, "our error's body")


def repaired(t, p, sent, forwarded, from_client, *findings):
    a, b = (p.client, p.server) if from_client else (p.server, p.client)
    a.write(sent + b"\n")
    b.expect(forwarded)
    p.round()
    p.end()
    row = the_row(t, "CAST(body AS BLOB) = ?", forwarded)
    eq((row.action, row.kind), ("forwarded", "notification"), f"action and kind of {row}")
    found(row, *findings)


def kept(t, p, line, kind, action, finding):
    """The server's line is not forwarded, and the client gets nothing."""
    p.server.send(line)
    p.round()
    p.end()
    row = the_row(t, "CAST(body AS BLOB) = ? AND direction = 's2c'", line)
    eq((row.action, row.kind, row.origin), (action, kind, "peer"), f"{row}")
    found(row, finding)
    eq(t.messages("origin = 'interposer'"), [], "messages of our own")


def noise(t, p, line, finding):
    kept(t, p, line, "noise", "refused", finding)


def swallowed(t, p, line, kind, finding="unknown-answer"):
    kept(t, p, line, kind, "swallowed", finding)


NOTE = note("notifications/message", {"level": "info", "data": "x"})

# --- repaired -------------------------------------------------------------------------------------

for side, from_client in (("client", True), ("server", False)):
    for what, sent, findings in (("CRLF", NOTE + b"\r", ["crlf"]),
                                 ("a BOM", b"\xef\xbb\xbf" + NOTE, ["bom"]),
                                 ("a BOM and CRLF", b"\xef\xbb\xbf" + NOTE + b"\r", ["bom", "crlf"])):
        @case(f"{side}: {what} is removed")
        def _(t, sent=sent, from_client=from_client, findings=findings):
            repaired(t, t.proxy().initialize(), sent, NOTE, from_client, *findings)

    for what, blank in (("a blank line", b""), ("a blank line ended by CRLF", b"\r")):
        @case(f"{side}: {what} is dropped, with a finding")
        def _(t, blank=blank, from_client=from_client):
            p = t.proxy().initialize()
            a, b = (p.client, p.server) if from_client else (p.server, p.client)
            a.write(blank + b"\n" + NOTE + b"\n")
            b.expect(NOTE)
            p.round()
            p.end()
            row = the_row(t, "finding LIKE '%blank-line%'")
            found(row, "blank-line")
            eq((row.action, row.kind), ("swallowed", "noise"), f"{row}")
            eq(t.messages("origin = 'interposer'"), [], "messages of our own")

    @case(f"{side}: spaces around a message are forwarded unchanged")
    def _(t, from_client=from_client):
        p = t.proxy().initialize()
        a, b = (p.client, p.server) if from_client else (p.server, p.client)
        a.send(b" \t" + NOTE + b"  ")
        b.expect(b" \t" + NOTE + b"  ")
        p.end()

for prefix in (b"INFO starting up ", b"2025-01-01 10:00:00 [x] {not json} ", b"\x1b[32mok\x1b[0m", b"[INFO] "):
    @case(f"server: log text {prefix.decode('unicode_escape')!r} in front of a message is removed")
    def _(t, prefix=prefix):
        repaired(t, t.proxy().initialize(), prefix + NOTE, NOTE, False, "glued-text")


@case("server: log text in front of an answer is removed, and the answer matches its request")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(9, "tools/list"))
    p.server.expect(request(9, "tools/list"))
    p.server.send(b"DEBUG done: " + result(9, {"tools": []}))
    p.client.expect(result(9, {"tools": []}))
    p.end()
    row = the_row(t, "body = ?", result(9, {"tools": []}).decode())
    found(row, "glued-text")
    check(row.request_seq, f"{row} request_seq={row.request_seq}")
    text = the_row(t, "kind = 'noise'")
    eq((text.body, text.action), (b"DEBUG done: ", "refused"), "the text in front")


@case("client: log text in front of a message is not repaired")
def _(t):
    refused(t, t.proxy().initialize(), b"INFO " + NOTE, PARSE, None, "not-json")


# --- two values -----------------------------------------------------------------------------------

for what, line, name, rid in (("two messages", NOTE + request(1), "several-values", 1),
                              ("two messages and a space", request(1) + b" " + NOTE, "several-values", 1),
                              ("a message and text", request(1) + b" done", "not-json", 1),
                              ("a message and a comma", NOTE + b",", "not-json", None),
                              ("a message and a brace", NOTE + b"}", "not-json", None)):
    @case(f"client: {what} on one line are rejected")
    def _(t, line=line, name=name, rid=rid):
        refused(t, t.proxy().initialize(), line, PARSE, rid, name, ("noise",) if rid is None else ("request",))

    if name == "several-values":
        @case(f"server: {what} on one line are dropped")
        def _(t, line=line, name=name):
            noise(t, t.proxy().initialize(), line, name)

@case("client: two requests on one line are both answered")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1) + request("b"))
    our_error(p.client.recv(), PARSE, 1)
    our_error(p.client.recv(), PARSE, "b")
    p.round()
    p.end()
    row = the_row(t, "direction = 'c2s' AND action = 'refused'")
    found(row, "several-values")
    eq([m.rpc_id for m in t.messages("origin = 'interposer'")], [b"1", b'"b"'], "our errors")


for behind in (b" done", b",", b"}", b"\x00"):
    @case(f"server: {behind} behind a message is cut off")
    def _(t, behind=behind):
        p = t.proxy().initialize()
        repaired(t, p, NOTE + behind, NOTE, False, "trailing-text")
        eq(the_row(t, "kind = 'noise'").size, len(behind.strip()), "size of the text")

# --- not JSON -------------------------------------------------------------------------------------

BAD_JSON = {
    "text": b"hello there",
    "a cut message": b'{"jsonrpc":"2.0","id":1,"method":"pi',
    "a missing comma": b'{"jsonrpc":"2.0" "method":"x"}',
    "a trailing comma": b'{"jsonrpc":"2.0","method":"x",}',
    "a leading zero": b'{"jsonrpc":"2.0","id":01,"method":"x"}',
    "a bare word": b'{"jsonrpc":"2.0","id":1,"method":x}',
    "NaN": b'{"jsonrpc":"2.0","method":"x","params":{"a":NaN}}',
    "single quotes": b"{'jsonrpc':'2.0','method':'x'}",
    "a bad escape": b'{"jsonrpc":"2.0","method":"\\q"}',
    "a short unicode escape": b'{"jsonrpc":"2.0","method":"\\u12"}',
    "a raw control character": b'{"jsonrpc":"2.0","method":"x\x01"}',
    "a raw tab in a string": b'{"jsonrpc":"2.0","method":"a\tb"}',
    "a raw NUL": b'{"jsonrpc":"2.0","method":"a\x00b"}',
    "bad UTF-8": b'{"jsonrpc":"2.0","method":"\xff"}',
    "overlong UTF-8": b'{"jsonrpc":"2.0","method":"\xc0\xaf"}',
    "a UTF-8 surrogate": b'{"jsonrpc":"2.0","method":"\xed\xa0\x80"}',
    "cut UTF-8": b'{"jsonrpc":"2.0","method":"\xe2\x82"}',
    "UTF-16": '{"jsonrpc":"2.0"}'.encode("utf-16-le"),
    "a comment": b'{"jsonrpc":"2.0",/* */"method":"x"}',
    "two colons": b'{"jsonrpc"::"2.0","method":"x"}',
    "a header": b"Content-Length: 52\r",
    "HTTP": b"POST /mcp HTTP/1.1\r",
}
# Those that are repaired from the server, and their findings.
MENDED = {
    "NaN": (b'{"jsonrpc":"2.0","method":"x","params":{"a":null}}', "not-a-number"),
    "a raw control character": (b'{"jsonrpc":"2.0","method":"x\\u0001"}', "control-character"),
    "a raw tab in a string": (b'{"jsonrpc":"2.0","method":"a\\tb"}', "control-character"),
    "a raw NUL": (b'{"jsonrpc":"2.0","method":"a\\u0000b"}', "control-character"),
    "bad UTF-8": ('{"jsonrpc":"2.0","method":"\ufffd"}'.encode(), "invalid-utf8"),
    "overlong UTF-8": ('{"jsonrpc":"2.0","method":"\ufffd\ufffd"}'.encode(), "invalid-utf8"),
    "a UTF-8 surrogate": ('{"jsonrpc":"2.0","method":"\ufffd\ufffd\ufffd"}'.encode(), "invalid-utf8"),
    "cut UTF-8": ('{"jsonrpc":"2.0","method":"\ufffd"}'.encode(), "invalid-utf8"),
}
for what, line in BAD_JSON.items():
    name = "invalid-utf8" if "UTF-8" in what else {"a header": "content-length", "HTTP": "http-over-stdio"}.get(what, "not-json")

    @case(f"client: {what} is rejected as invalid JSON")
    def _(t, line=line, name=name):
        p = t.proxy().initialize()
        p.client.send(line)
        rid = 1 if b'"id":1,' in line else None
        our_error(p.client.recv(), PARSE, rid)
        p.round()
        p.end()
        row = the_row(t, "direction = 'c2s' AND action = 'refused'")
        eq((row.kind, row.origin), ("noise" if rid is None else "request", "peer"), f"{row}")
        found(row, name)
        one_of(row.size, (len(line), len(line) + 1), "size")
        eq(len(t.messages("origin = 'interposer' AND kind = 'error' AND direction = 's2c'")), 1,
           "errors of our own")

    if what in MENDED:
        @case(f"server: {what} is repaired")
        def _(t, what=what, line=line):
            repaired(t, t.proxy().initialize(), line, MENDED[what][0], False, MENDED[what][1])
        continue

    @case(f"server: {what} is noise")
    def _(t, line=line, name=name):
        p = t.proxy().initialize()
        p.server.send(line)
        p.round()
        p.end()
        row = the_row(t, "direction = 's2c' AND kind = 'noise'")
        eq((row.action, row.origin), ("refused", "peer"), f"{row}")
        found(row, name)
        eq(t.messages("origin = 'interposer'"), [], "messages of our own")


@case("server: a response of HTTP is an error at once, which says so")
def _(t):
    p = t.proxy()
    p.client.send(request(1))
    p.server.recv()
    p.server.send(b"HTTP/1.1 400 Bad Request\r", b"Content-Length: 0\r", b"\r")
    line = p.client.recv()
    our_error(line, -32603, 1)
    check("HTTP" in json.loads(line)["error"]["message"], f"no word of HTTP in {line}")
    p.end()
    found(the_row(t, "body LIKE 'HTTP/%'"), "not-json", "http-over-stdio")


@case("server: a banner of many lines is dropped, recorded and shown on stderr")
def _(t):
    p = t.proxy()
    banner = [b"> my-server@1.0.0 start", b"> node index.js", b"Listening on stdio... \xe2\x9c\x93",
              b'{"level":30,"msg":"pino says hello"}', b"[", b"  1", b"]", b"42"]
    p.server.send(*banner)
    p.initialize()
    p.end()
    rows = t.messages("kind = 'noise'")
    eq([m.body for m in rows], banner, "noise in the record")
    eq({(m.direction, m.action, m.origin) for m in rows}, {("s2c", "refused", "peer")}, "noise")
    shown = p.stderr()
    for text in (b"my-server@1.0.0", b"node index.js", b"Listening on stdio", b"pino says hello"):
        check(text in shown, f"{text!r} is not shown on stderr")


@case("server: endless noise neither stops the session nor floods stderr")
def _(t):
    p = t.proxy().initialize()
    with lib.Background(p.server.send, *[b"noise %d" % i for i in range(20000)]):
        pass
    p.round()
    p.end()
    eq(len(t.messages("kind = 'noise'")), 20000, "noise rows")


# --- too deep -------------------------------------------------------------------------------------

DEEP = b'{"jsonrpc":"2.0","id":77,"method":"x","params":{"a":' + b"[" * 9999 + b"]" * 9999 + b"}}"


@case("client: a message nested 10,001 levels deep is rejected")
def _(t):
    refused(t, t.proxy().initialize(), DEEP, PARSE, 77, "too-deep", ("request",))


@case("client: a message nested 100,000 levels deep is rejected")
def _(t):
    line = b'{"jsonrpc":"2.0","id":77,"method":"x","params":{"a":' + b"[" * 100000
    p = t.proxy().initialize()
    p.client.send(line)
    our_error(p.client.recv(), PARSE, 77)
    p.round()
    p.end()


@case("server: a message nested 10,001 levels deep is dropped")
def _(t):
    p = t.proxy().initialize()
    p.server.send(DEEP)
    p.round()
    p.end()
    row = the_row(t, "CAST(body AS BLOB) = ?", DEEP)
    eq((row.action, row.kind), ("refused", "noise"), f"{row}")
    found(row, "too-deep")


# --- JSON, but no JSON-RPC ------------------------------------------------------------------------

NOT_RPC = {
    "a number": (b"42", None),
    "a string": (b'"hi"', None),
    "null": (b"null", None),
    "an empty object": (b"{}", None),
    "no jsonrpc": (b'{"id":1,"method":"x"}', 1),
    "jsonrpc 1.0": (b'{"jsonrpc":"1.0","id":"a","method":"x"}', "a"),
    "jsonrpc as a number": (b'{"jsonrpc":2.0,"id":3,"method":"x"}', 3),
    "Jsonrpc in another case": (b'{"JSONRPC":"2.0","id":4,"method":"x"}', 4),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":5,"method":7}', 5),
    "a method that is null": (b'{"jsonrpc":"2.0","id":"q","method":null}', "q"),
    "params that are text": (b'{"jsonrpc":"2.0","id":6,"method":"x","params":"p"}', 6),
    "params that are a number": (b'{"jsonrpc":"2.0","id":8,"method":"x","params":1}', 8),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"x"}', None),
    "an id that is an object": (b'{"jsonrpc":"2.0","id":{"a":1},"method":"x"}', None),
    "an id that is an array": (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', None),
    "only a version": (b'{"jsonrpc":"2.0"}', None),
    "a log line": (b'{"level":30,"time":1,"msg":"x"}', None),
    "an envelope with a wrong key": (b'{"jsonrpc":"2.0","id":9,"Method":"x"}', (9, None)),
}
what_of = {line: what for what, (line, _) in NOT_RPC.items()}
for what, (line, rid) in NOT_RPC.items():
    @case(f"client: {what} is rejected as an invalid JSON-RPC message")
    def _(t, line=line, rid=rid):
        name = "malformed-answer" if "envelope" in what_of[line] else "not-jsonrpc"
        refused(t, t.proxy().initialize(), line, INVALID, rid, name, ("noise", "request"))

for what in ("a number", "a string", "null", "an empty object", "no jsonrpc", "jsonrpc 1.0",
             "a method that is a number", "an id that is an object", "only a version", "a log line"):
    @case(f"server: {what} is noise")
    def _(t, line=NOT_RPC[what][0]):
        noise(t, t.proxy().initialize(), line, "not-jsonrpc")


@case("client: a method with id null is a notification")
def _(t):
    p = t.proxy().initialize()
    line = b'{"jsonrpc":"2.0","id":null,"method":"notifications/x"}'
    p.client.send(line)
    p.server.expect(line)
    p.end()
    row = the_row(t, "body = ?", line.decode())
    eq((row.kind, row.action), ("notification", "forwarded"), f"{row}")
    found(row, "null-id")


@case("client: a malformed answer is rejected and does not affect the client's own request with that id")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(5, "tools/list"))
    p.server.expect(request(5, "tools/list"))
    p.server.send(request(5, "roots/list"))
    p.client.expect(request(5, "roots/list"))
    p.client.send(b'{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"m"}}')
    our_error(p.client.recv(), INVALID, None)
    our_error(p.server.recv(), INTERNAL, 5)                    # the server waits for no other answer
    p.server.send(result(5, {"tools": []}))
    p.client.expect(result(5, {"tools": []}))
    p.round()
    p.end()


# --- too long -------------------------------------------------------------------------------------

@case("client: a line longer than --max-message is rejected, and the session continues")
def _(t):
    p = t.proxy("--max-message", "4KiB").initialize()
    fits = lib.dump({"jsonrpc": "2.0", "method": "x", "params": {"a": "b" * 10}})
    fits = fits[:-3] + b"c" * (4096 - len(fits)) + fits[-3:]
    eq(len(fits), 4096, "length of the longest line")
    p.client.send(fits)
    p.server.expect(fits)
    p.client.send(fits[:-3] + b"d" + fits[-3:])
    our_error(p.client.recv(), INVALID, None)
    p.client.send(lib.call(3, "e" * 100000))
    our_error(p.client.recv(), INVALID, (None, 3))
    p.round()
    p.end()
    rows = t.messages("action = 'refused'")
    eq(len(rows), 2, "refused lines")
    for m, size in zip(rows, (4097, len(lib.call(3, "e" * 100000)))):
        eq(m.direction, "c2s", f"{m}")
        one_of(m.kind, ("noise", "request"), f"{m}")
        found(m, "too-long")
        check(4096 < m.size <= size + 1, f"size {m.size} of {m}")      # sent before the end of the line arrives


@case("server: a line longer than --max-message is dropped, and the session continues")
def _(t):
    p = t.proxy("--max-message", "4KiB").initialize()
    p.server.send(note("y", {"a": "e" * 100000}))
    p.round()
    p.end()
    row = the_row(t, "direction = 's2c' AND action != 'forwarded'")
    eq((row.action, row.kind), ("refused", "noise"), f"{row}")
    found(row, "too-long")
    check(p.own_lines("(warn|error)"), "nothing is said on stderr")


# --- answers to no pending request ----------------------------------------------------------------

@case("server: an answer to an unknown id is dropped")
def _(t):
    swallowed(t, t.proxy().initialize(), result(4711, {"a": 1}), "result")


@case("server: an error for an unknown id is dropped")
def _(t):
    swallowed(t, t.proxy().initialize(), error("nobody"), "error")


@case("server: a second answer is dropped")
def _(t):
    p = t.proxy().initialize()
    p.round("once")
    p.server.send(result("once", {"again": 1}), error("once"))
    p.round()
    p.end()
    rows = t.messages("rpc_id = '\"once\"' AND direction = 's2c'")
    eq([(m.kind, m.action) for m in rows],
       [("result", "forwarded"), ("result", "swallowed"), ("error", "swallowed")], "answers")
    for m in rows[1:]:
        found(m, "unknown-answer")
    eq(rows[0].finding, None, "finding of the first answer")


@case("server: an answer to a cancelled request is dropped")
def _(t):
    p = t.proxy().initialize()
    p.client.send(lib.call("c", "slow"))
    p.server.recv()
    cancel = note("notifications/cancelled", {"requestId": "c", "reason": "user"})
    p.client.send(cancel)
    p.server.expect(cancel)
    p.server.send(lib.text_result("c", "late"))
    p.round()
    p.end()
    row = the_row(t, "rpc_id = '\"c\"' AND kind = 'result'")
    eq(row.action, "swallowed", f"{row}")
    found(row, "late-answer")
    eq(t.rows("SELECT status FROM invocations WHERE method = 'tools/call'"), [(b"cancelled",)],
       "status of the invocation")


for what, params in (("its id as text", {"requestId": "1"}), ("another id", {"requestId": 2}), ("no id", {}),
                     ("an id that is an object", {"requestId": {"a": 1}}), ("the id null", {"requestId": None})):
    @case(f"a cancellation with {what} cancels nothing")
    def _(t, params=params):
        p = t.proxy().initialize()
        p.client.send(lib.call(1, "a"), note("notifications/cancelled", params))
        p.server.expect(lib.call(1, "a"), note("notifications/cancelled", params))
        p.server.send(lib.text_result(1, "here"))
        p.client.expect(lib.text_result(1, "here"))
        p.end()


@case("a server that cancels its own request does not cancel the client's request with the same id")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1, "tools/list"))
    p.server.recv()
    cancel = note("notifications/cancelled", {"requestId": 1})
    p.server.send(request(1, "roots/list"), cancel)
    p.client.expect(request(1, "roots/list"), cancel)
    p.server.send(result(1, {"tools": []}))
    p.client.expect(result(1, {"tools": []}))
    p.end()


@case("an id reused after its answer is a new request")
def _(t):
    p = t.proxy().initialize()
    for _ in range(3):
        p.round("same")
    p.end()
    eq(len(t.messages("rpc_id = '\"same\"' AND action = 'forwarded'")), 6, "forwarded")


for what, line in (("a result", b'{"jsonrpc":"2.0","id":null,"result":{}}'),
                   ("an error", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}')):
    @case(f"server: {what} with id null is dropped")
    def _(t, line=line):
        swallowed(t, t.proxy().initialize(), line, "error" if b"error" in line else "result", "null-id")


# --- the id of an answer has another type ---------------------------------------------------------

# The id as its sender writes it, and the one in the answer.
RETYPED = {"a number": (b"2", b'"2"'), "a string": (b'"2"', b"2"), "a number with an exponent": (b"20e-1", b'"2"'),
           "a string with an escape": (b'"\\u0032"', b"2")}
for what, (own, other) in RETYPED.items():
    for side in ("client", "server"):
        @case(f"{side}: a request whose id is {what} gets that id back, byte for byte")
        def _(t, own=own, other=other, from_client=side == "client"):
            p = t.proxy().initialize()
            asks, answers = (p.client, p.server) if from_client else (p.server, p.client)
            ask = b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % own
            asks.send(ask)
            answers.expect(ask)
            answers.send(b'{"result":{"id":%b} , "id" : %b,"jsonrpc":"2.0"}' % (other, other))
            line = b'{"result":{"id":%b} , "id" : %b,"jsonrpc":"2.0"}' % (other, own)
            asks.expect(line)
            p.round()
            p.end()
            row, question = the_row(t, "body = ?", line.decode()), the_row(t, "body = ?", ask.decode())
            eq((row.action, row.kind, row.rpc_id, row.request_seq), ("forwarded", "result", own, question.seq), f"{row}")
            eq(row.size, len(line) - len(own) + len(other), "size as received")
            found(row, "id-type-changed")


@case("a batch: each answer gets the id of its request")
def _(t):
    p = t.proxy().initialize(version="2025-03-26")
    ask = b"[" + request(1) + b", " + request("2") + b"," + request(3) + b"]"
    p.client.send(ask)
    p.server.expect(ask)
    p.server.send(b"[ " + result("1") + b"," + result(2) + b" ," + result(3) + b" ]")
    p.client.expect(b"[ " + result(1) + b"," + result("2") + b" ," + result(3) + b" ]")
    p.end()
    eq([(m.rpc_id, m.finding) for m in t.messages("direction = 's2c' AND batch_seq IS NOT NULL")],
       [(b"1", b"id-type-changed"), (b'"2"', b"id-type-changed"), (b"3", None)], "members")


@case("a large answer keeps every other byte", limit=120)
def _(t):
    p = t.proxy().initialize()
    text = "x" * (9 << 20)
    p.client.send(call(7, "large"))
    p.server.recv()
    with lib.Background(p.server.send, text_result("7", text)):
        eq(p.client.recv(30), text_result(7, text), "the answer")
    p.end()


# --- a call and an answer in one object -----------------------------------------------------------

BOTH = {"a request with a result": b'{"jsonrpc":"2.0","id":"m","method":"tools/list","result":{}}',
        "a request with an error": b'{"jsonrpc":"2.0","id":"m","method":"x","error":{"code":1,"message":"x"}}',
        "a result with an escaped method": b'{"jsonrpc":"2.0","id":"m","result":{},"m\\u0065thod":"x"}'}
for what, line in BOTH.items():
    @case(f"client: {what} is rejected")
    def _(t, line=line):
        refused(t, t.proxy().initialize(), line, INVALID, "m", "call-and-answer", ("request",))

    @case(f"client: {what}, with the id of a request of the server, answers neither of the two")
    def _(t, line=line):
        p = t.proxy().initialize(capabilities={"roots": {}})
        p.server.send(request("m", "roots/list"))
        p.client.expect(request("m", "roots/list"))
        p.client.send(line)
        our_error(p.client.recv(), INVALID, "m")
        our_error(p.server.recv(), INTERNAL, "m")
        p.round()
        p.end()
        eq(len(t.messages("origin = 'interposer'")), 2, "our errors")

    @case(f"server: {what} is replaced by error -32603")
    def _(t, line=line):
        p = t.proxy().initialize()
        p.client.send(call("m", "broken"))
        p.server.recv()
        p.server.send(line)
        our_error(p.client.recv(), INTERNAL, "m")
        p.round()
        p.end()
        row = the_row(t, "CAST(body AS BLOB) = ?", line)
        eq((row.direction, row.action, row.kind), ("s2c", "refused", "noise"), f"{row}")
        found(row, "call-and-answer", "malformed-answer")

    @case(f"server: {what} to nobody is dropped")
    def _(t, line=line):
        p = t.proxy().initialize()
        p.server.send(line)
        p.round()
        p.end()
        found(the_row(t, "action = 'refused'"), "call-and-answer")


@case("a result and an error of null beside a method are treated as absent")
def _(t):
    p = t.proxy().initialize()
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"result":null,"error":null}'
    for asks, answers in ((p.client, p.server), (p.server, p.client)):
        asks.send(line)
        answers.expect(line)
        answers.send(result(1))
        asks.expect(result(1))
    p.end()
    eq(len(t.messages("finding = 'null-beside-answer' AND kind = 'request'")), 2, "rows")


@case("while the server's request waited for an invalid answer, deadlines stood still; then they go on")
def _(t):
    p = t.proxy("--timeout", "tools/call=6s", "--on-hang", "cancel").initialize(capabilities={"roots": {}})
    p.client.send(call("c", "slow"))
    p.server.recv()
    p.server.send(request("s", "roots/list"))
    p.client.recv()
    p.client.send(b'{"jsonrpc":"2.0","id":"s"}')
    our_error(p.client.recv(), INVALID, None)
    our_error(p.server.recv(), INTERNAL, "s")
    our_error(p.client.recv(30), -32001, "c")
    p.server.recv()
    p.end()


# --- malformed answers ----------------------------------------------------------------------------

MALFORMED = {
    "neither result nor error": b'{"jsonrpc":"2.0","id":"m"}',
    "result and error": b'{"jsonrpc":"2.0","id":"m","result":{},"error":{"code":1,"message":"x"}}',
    "an error that is text": b'{"jsonrpc":"2.0","id":"m","error":"boom"}',
    "an error without a code": b'{"jsonrpc":"2.0","id":"m","error":{"message":"x"}}',
    "an error with a code that is text": b'{"jsonrpc":"2.0","id":"m","error":{"code":"1","message":"x"}}',
    "an error without a message": b'{"jsonrpc":"2.0","id":"m","error":{"code":1}}',
    "an error with a message that is a number": b'{"jsonrpc":"2.0","id":"m","error":{"code":1,"message":2}}',
    "two results": b'{"jsonrpc":"2.0","id":"m","result":{},"result":{"a":1}}',
    "two results, one escaped": b'{"jsonrpc":"2.0","id":"m","result":{},"r\\u0065sult":{"a":1}}',
    "two errors": b'{"jsonrpc":"2.0","id":"m","error":{"code":1,"message":"x"},"error":{"code":2,"message":"y"}}',
    "two versions": b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":"m","result":{}}',
}
for what, line in MALFORMED.items():
    @case(f"server: an answer with {what} is replaced by error -32603")
    def _(t, line=line, what=what):
        p = t.proxy().initialize()
        p.client.send(lib.call("m", "broken"))
        p.server.recv()
        p.server.send(line)
        our_error(p.client.recv(), INTERNAL, "m")
        # The id is done with: a good answer after that is one too many.
        p.server.send(result("m"))
        p.round()
        p.end()
        row = the_row(t, "CAST(body AS BLOB) = ?", line)
        eq(row.direction, "s2c", f"{row}")
        eq((row.action, row.kind), ("refused", "noise"), f"action and kind of {row}")
        found(row, "duplicate-envelope-key" if "two" in what else "malformed-answer")
        ours = the_row(t, "origin = 'interposer'")
        eq((ours.kind, ours.direction, ours.action), ("error", "s2c", "forwarded"), "our error")
        ask = the_row(t, "method = 'tools/call'")
        eq(ours.request_seq, ask.seq, "request of our error")
        eq(t.rows("SELECT status, error_code, response_seq FROM invocations WHERE request_seq = ?",
                  ask.seq), [(b"error", INTERNAL, ours.seq)], "invocation")
        eq(the_row(t, "body = ?", result("m").decode()).action, "swallowed", "the second answer")


for what, line in (("an error of null beside the result", b'{"jsonrpc":"2.0","id":"m","result":{"a":1},"error":null}'),
                   ("a result of null beside the error",
                    b'{"jsonrpc":"2.0","id":"m","result":null,"error":{"code":1,"message":"x"}}')):
    @case(f"server: {what} is removed")
    def _(t, line=line):
        p = t.proxy().initialize()
        p.client.send(lib.call("m", "fine"))
        p.server.recv()
        p.server.send(line)
        line = line.replace(b',"error":null', b"").replace(b',"result":null', b"")
        p.client.expect(line)
        p.end()
        row = the_row(t, "body = ?", line.decode())
        eq((row.kind, row.action), ("result" if b'"a"' in line else "error", "forwarded"), f"{row}")
        found(row, "null-beside-answer")


for what, line in (("text", b'{"jsonrpc":"2.0","id":"m","result":"ok"}'), ("an array", b'{"jsonrpc":"2.0","id":"m","result":[]}')):
    @case(f"server: a result that is {what} is valid JSON-RPC: forwarded, with a finding")
    def _(t, line=line):
        p = t.proxy().initialize()
        p.client.send(lib.call("m", "odd"))
        p.server.recv()
        p.server.send(line)
        p.client.expect(line)
        p.end()
        row = the_row(t, "body = ?", line.decode())
        eq((row.kind, row.action), ("result", "forwarded"), f"{row}")
        found(row, "result-not-object")
        check(row.request_seq, f"{row} request_seq={row.request_seq}")


@case("server: a malformed answer to an unknown id is dropped")
def _(t):
    p = t.proxy().initialize()
    p.server.send(MALFORMED["result and error"])
    p.round()
    p.end()
    row = the_row(t, "CAST(body AS BLOB) = ?", MALFORMED["result and error"])
    eq((row.action, row.kind), ("refused", "noise"), f"{row}")
    found(row, "malformed-answer")
    eq(t.messages("origin = 'interposer'"), [], "messages of our own")


# --- envelope keys twice --------------------------------------------------------------------------

TWICE = {
    "method": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', 1),
    "method, escaped": (b'{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call"}', 1),
    "method, fully escaped": (b'{"jsonrpc":"2.0","id":1,"\\u006d\\u0065\\u0074\\u0068\\u006F\\u0064":"a","method":"b"}', 1),
    "method, first escaped": (b'{"m\\u0065thod":"ping","jsonrpc":"2.0","id":1,"method":"ping"}', 1),
    "params": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a"},"params":{"name":"b"}}', 1),
    "params, escaped": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{},"par\\u0061ms":{}}', 1),
    "id": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}', (None, 2)),
    "id, escaped": (b'{"jsonrpc":"2.0","id":1,"\\u0069d":1,"method":"x"}', (None, 1)),
    "jsonrpc": (b'{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"x"}', 1),
    "jsonrpc, escaped": (b'{"jsonrpc":"2.0","jsonrp\\u0063":"2.0","id":1,"method":"x"}', 1),
    "method in a notification": (b'{"jsonrpc":"2.0","method":"a","method":"b"}', None),
    "result": (b'{"jsonrpc":"2.0","id":1,"method":"a","result":1,"result":2}', (1, None)),
}
for what, (line, rid) in TWICE.items():
    @case(f"client: a message with {what} twice is rejected")
    def _(t, line=line, rid=rid):
        refused(t, t.proxy().initialize(), line, INVALID, rid, "duplicate-envelope-key", ("noise", "request"))

    @case(f"server: a message with {what} twice is dropped")
    def _(t, line=line):
        p = t.proxy().initialize()
        p.server.send(line)
        p.round()
        p.end()
        row = the_row(t, "CAST(body AS BLOB) = ?", line)
        eq((row.action, row.kind), ("refused", "noise"), f"{row}")
        found(row, "duplicate-envelope-key")


@case("keys that only resemble envelope keys are other keys")
def _(t):
    p = t.proxy().initialize()
    for line in (b'{"jsonrpc":"2.0","id":1,"method":"x","Method":"y","METHOD":"z"}',
                 b'{"jsonrpc":"2.0","method":"x","ID":1,"Id":2,"id ":3,"\\u0130d":4}'):
        p.client.send(line)
        p.server.expect(line)
    p.end(gone=[b"1"])


@case("duplicate keys below the envelope are forwarded, with a finding")
def _(t):
    p = t.proxy().initialize()
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\\u0061me":"b"}}'
    p.client.send(line)
    p.server.expect(line)
    p.end(gone=[b"1"])
    row = the_row(t, "body = ?", line.decode())
    eq(row.action, "forwarded", f"{row}")
    found(row, "duplicate-key")


@case("an ordinary message has no finding")
def _(t):
    p = t.proxy().initialize()
    p.round()
    p.client.send(lib.call(1, "a", {"b": [1, {"c": None}]}))
    p.server.recv()
    p.server.send(lib.text_result(1, "ok"))
    p.client.recv()
    p.end()
    eq([m for m in t.messages("finding IS NOT NULL")], [], "findings")


# --- arrays ---------------------------------------------------------------------------------------

ASK = b'[{"jsonrpc":"2.0","id":"b1","method":"ping"}, {"jsonrpc":"2.0","method":"notifications/x"}]'
ANSWER = b'[{"jsonrpc":"2.0","id":"b1","result":{}}]'
OFFER = b'[{"jsonrpc":"2.0","method":"notifications/y"},{"jsonrpc":"2.0","id":1,"method":"ping"}]'


@case("2025-03-26: batches are forwarded whole, and their members recorded and matched")
def _(t):
    p = t.proxy().initialize("2025-03-26")
    p.client.send(ASK)
    p.server.expect(ASK)
    p.server.send(OFFER, ANSWER)
    p.client.expect(OFFER, ANSWER)
    p.round()
    p.end()
    rows = t.messages("seq > 3 AND coalesce(rpc_id, '') != '\"fence\"'")
    seen = [(m.direction, m.kind, m.rpc_id, m.action) for m in rows]
    eq(seen, [("c2s", "batch", None, "forwarded"), ("c2s", "request", b'"b1"', "forwarded"),
              ("c2s", "notification", None, "forwarded"),
              ("s2c", "batch", None, "forwarded"), ("s2c", "notification", None, "forwarded"),
              ("s2c", "request", b"1", "forwarded"),
              ("s2c", "batch", None, "forwarded"), ("s2c", "result", b'"b1"', "forwarded")], "rows")
    eq([m.batch_seq for m in rows],
       [None, rows[0].seq, rows[0].seq, None, rows[3].seq, rows[3].seq, None, rows[6].seq], "batch_seq")
    eq(rows[7].request_seq, rows[1].seq, "request of the answer")
    eq(rows[0].body, ASK, "body of the batch")
    eq(t.rows("SELECT status FROM invocations WHERE request_seq = ?", rows[1].seq), [(b"ok",)], "status")


@case("2025-03-26: the answers to a batch may arrive one by one")
def _(t):
    p = t.proxy().initialize("2025-03-26")
    ask = b"[" + lib.call(1, "a") + b"," + lib.call(2, "b") + b"]"
    p.client.send(ask)
    p.server.expect(ask)
    p.server.send(lib.text_result(2, "b"), lib.text_result(1, "a"))
    p.client.expect(lib.text_result(2, "b"), lib.text_result(1, "a"))
    p.end()


for revision in ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", None):
    name = revision or "no revision yet"

    @case(f"client: a batch is rejected under {name}")
    def _(t, revision=revision):
        p = t.proxy()
        if revision:
            p.initialize(revision)
        refused(t, p, ASK, INVALID, "b1", "batch", ("batch",))

    @case(f"server: a batch is dropped under {name}")
    def _(t, revision=revision):
        p = t.proxy()
        if revision:
            p.initialize(revision)
        p.server.send(OFFER)
        p.round()
        p.end()
        row = the_row(t, "CAST(body AS BLOB) = ?", OFFER)
        eq((row.action, row.direction, row.kind), ("refused", "s2c", "batch"), f"{row}")
        found(row, "batch")

for what, line in (("an empty array", b"[]"), ("an array of numbers", b"[1,2]"),
                   ("an array with a bad member", b'[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0"}]'),
                   ("an array in an array", b'[[{"jsonrpc":"2.0","method":"x"}]]'),
                   ("a member with method twice",
                    b'[{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call"}]')):
    @case(f"client: {what} is rejected under 2025-03-26")
    def _(t, line=line):
        refused(t, t.proxy().initialize("2025-03-26"), line, INVALID, (None, 1), "batch", ("batch",))

    @case(f"server: {what} is dropped under 2025-03-26")
    def _(t, line=line):
        p = t.proxy().initialize("2025-03-26")
        p.server.send(line)
        p.round()
        p.end()
        row = the_row(t, "CAST(body AS BLOB) = ? AND batch_seq IS NULL", line)
        eq((row.action, row.kind), ("refused", "batch"), f"{row}")
        found(row, "batch")


# --- the last line --------------------------------------------------------------------------------

@case("client: a newline is added to a last message without one")
def _(t):
    p = t.proxy().initialize()
    p.client.write(NOTE)
    p.client.close_write()
    eq(p.server.rest(), NOTE + b"\n", "what the server gets")
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")
    row = the_row(t, "body = ?", NOTE.decode())
    eq(row.action, "forwarded", "action")
    found(row, "no-newline")


@case("server: a newline is added to a last message without one")
def _(t):
    p = t.proxy().initialize()
    p.server.write(NOTE)
    p.server.exit(0)
    eq(p.client.rest(), NOTE + b"\n", "what the client gets")
    eq(p.wait(), 0, "exit status")


@case("server: a last message that is truncated is not forwarded")
def _(t):
    p = t.proxy().initialize()
    p.server.write(NOTE[:20])
    p.server.exit(0)
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")
    row = the_row(t, "kind = 'noise'")
    eq((row.action, row.body), ("refused", NOTE[:20]), f"{row}")
    found(row, "not-json", "cut-json", "no-newline")
    eq(row.size, 20, "where it was cut")
    check(any("bytes=20 " in x and "flush before exit" in x for x in p.own_lines("warn")), f"{p.own_lines()}")


@case("server: JSON spread over several lines that is no message is dropped, and stderr explains why")
def _(t):
    p = t.proxy().initialize()
    p.server.send(*json.dumps({"level": "info", "msg": "notifications/message"}, indent=2).encode().split(b"\n"))
    p.round()
    p.end()
    rows = t.messages("kind = 'noise'")
    eq([m.finding for m in rows], [b"not-json,cut-json"] + [b"not-json"] * 3, "findings")
    check("one message per line" in p.own_lines("warn")[0], f"{p.own_lines()}")


@case("a line unfinished for 5 s is reported: an event, stderr, the timeout error, and a finding when it ends")
def _(t):
    p = t.proxy("--timeout", "tools/call=7s", "--timeout", "0", "--on-hang", "cancel").initialize()
    late = result("late", {"tools": []})
    p.client.send(request("late", "tools/list"), lib.call("open"), request(1))
    p.server.expect(request("late", "tools/list"), lib.call("open"), request(1))
    p.server.send(result(1))
    p.client.expect(result(1))
    begun = t.rows("SELECT max(t_us) FROM messages")[0][0]
    p.server.write(late)                                                       # print(..., end="")
    p.client.write(NOTE[:9])
    events = lib.wait_until(lambda: len(e := t.rows("SELECT detail, t_us FROM events WHERE kind = 'unfinished-line'")) == 2 and e,
                            15, "two events")
    eq(sorted(json.loads(e)["from"] for e, _ in events), ["client", "server"], "from")
    eq({json.loads(e)["from"]: json.loads(e)["bytes"] for e, _ in events}, {"client": 9, "server": len(late)}, "bytes")
    check(all(at - begun >= 4_500_000 for _, at in events), f"{events}: told after {begun}")
    told = p.own_lines("warn")
    eq(len([x for x in told if "incomplete line: from=" in x and "newline" in x and "flush" in x]), 2, f"{told}")
    p.client.write(NOTE[9:] + b"\n")
    told = [p.server.recv(), p.server.recv()]       # in any order: the deadline may have passed before
    check(NOTE in told and any(b"notifications/cancelled" in x for x in told), f"what the server is told: {told}")
    timed_out = our_error(p.client.recv(10), -32001, "open")["error"]
    check(f"({len(late)} bytes of a line without a newline were received)" in timed_out["message"], timed_out["message"])
    p.server.write(b"\n")
    p.client.expect(late)
    p.round()
    p.server.exit(0)
    p.client.rest()
    eq(p.wait(), 0, "exit status")
    for row in (the_row(t, "direction = 's2c' AND rpc_id = '\"late\"'"), the_row(t, "body = ?", NOTE.decode())):
        eq(row.action, "forwarded", f"{row}")
        found(row, "unfinished-line")
    eq(len(t.messages("finding LIKE '%unfinished-line%'")), 2, "rows with the finding")
    shown = t.run("show", "--vault", t.vault).stdout.decode()
    check("bytes of a line arrived from the server, and nothing more for 5 seconds" in shown, shown)
    for args, says in (((), "server-exited, unfinished lines"), (("--json",), '"unfinished":true')):
        listed = t.run("sessions", "--vault", t.vault, *args).stdout.decode()
        check(says in listed, listed)
    got = json.loads(t.run("check", "--vault", t.vault, "--format", "json").stdout)["recordings"][0]["findings"]
    eq(sorted(f["from"] for f in got if f["finding"] == "unfinished-line"), ["client", "server"], "check")


@case("unknown methods and fields are forwarded")
def _(t):
    p = t.proxy().initialize()
    for line in (request(1, "no/such/method", {"x": 1}), note("no/such/notification"),
                 b'{"jsonrpc":"2.0","method":"x","future":{"a":[1]},"trace":"t"}'):
        p.client.send(line)
        p.server.expect(line)
    p.end(gone=[b"1"])


lib.main(at_once=2)
