#!/usr/bin/env python3
"""docs/mcp-wire.md, row by row: the samples of its section 9, each violation of 6.7 and what 7.1, 7.2, 7.3 and 7.5 have
observed in practice, sent through the program. Each line has exactly the findings listed next to it here, and `check`
finds the same ones in the recording: with the recorded findings, and by the current rules alone.

A row of the document without a conversation here, or the other way round, is a failure."""
import json
import re
import sqlite3

import lib
from lib import call, case, check, eq, error, note, request, result, text_result, wait_until

REFERENCE = (lib.ROOT / "docs/mcp-wire.md").read_text()
FINDINGS = (lib.ROOT / "docs/findings.md").read_text()
# Findings that can be made from a recording; the others are made only in live traffic.
OF_THE_PROTOCOL = set(re.findall(r"^\| `([a-z0-9-]+)` \|", FINDINGS.split("\n## The protocol\n")[1], re.M)) - {"tool-changed"}

# Violations of a MUST, which --validate protocol rejects.
GRAVE = set(re.findall(r"^\| `([a-z0-9-]+)` \|.*\| error \|[^|]*\|$", FINDINGS.split("\n## The protocol\n")[1].split("\n### Tools\n")[0], re.M))


def section(number):
    return re.split(r"\n#+ ", re.split(rf"\n#+ {re.escape(number)} ", REFERENCE)[1])[0]


def rows_of(number):
    """The rows of the section's table, unchanged."""
    return [r for r in re.findall(r"^\|(.*)\|$", section(number), re.M)[2:]]


# --- conversations --------------------------------------------------------------------------------

def C(line, finding=""):
    return ("client", line, finding)


def S(line, finding=""):
    return ("server", line, finding)


def start(version, client=None, server=None, ready=True, **finding):
    """The handshake of an older revision."""
    info = {"name": "x", "version": "1"}
    return [C(request("i", "initialize", {"protocolVersion": version, "capabilities": client or {}, "clientInfo": info})),
            S(result("i", {"protocolVersion": version, "capabilities": {"tools": {}} if server is None else server, "serverInfo": info})),
            ] + ([C(note("notifications/initialized"))] if ready else [])


A, B, C6, D, E = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
LOG, STREAM = "io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId"
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def modern(id, method, params=None, capabilities=None, **meta):
    return request(id, method, {"_meta": {VERSION: E, CAPABILITIES: capabilities or {}, **meta}, **(params or {})})


def done(id, **more):
    return result(id, {"resultType": "complete", "content": [], **more})


def asks(id, **more):
    return result(id, {"resultType": "input_required", **more})


def stream(method, id, **more):
    return note(method, {"_meta": {STREAM: id}, **more})


def log(**more):
    return note("notifications/message", {"level": "info", "data": "x", **more})


def progress(token, value):
    return note("notifications/progress", {"progressToken": token, "progress": value})


def watched(id, tool="x", token="t"):
    return request(id, "tools/call", {"name": tool, "_meta": {"progressToken": token}})


LIST, LISTED = request(1, "tools/list"), result(1, {"tools": []})
FORM = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
QUESTION = {"method": "elicitation/create", "params": FORM}
PAGE = {"message": "m", "mode": "url", "url": "u:v", "elicitationId": "e"}


def line_of(line, *findings):
    """The same from either side, in a session of its own each; one finding, or those of the client and of the server."""
    return [start(D) + [C(line, findings[0])], start(D) + [S(line, findings[-1])]]


class Record:
    """The vault, opened once; it may not have been made yet."""

    def __init__(self, t):
        self.vault, self.db = t.vault, None

    def after(self, n):
        """(seq, finding, origin) of the messages after the first n."""
        lib.settle()
        try:
            if self.db is None and (self.vault / "interposer.db").exists():
                self.db = sqlite3.connect(f"file:{self.vault}/interposer.db?mode=ro", uri=True)
            return self.db and self.db.execute("SELECT seq, finding, origin FROM messages WHERE seq > ? ORDER BY seq", (n,)).fetchall()
        except sqlite3.OperationalError:
            return []

    def close(self):
        if self.db is not None:
            self.db.close()


def play(t, steps, *options):
    """The steps one by one; each has its rows in the record before the next is sent. The findings of each step."""
    p = t.proxy(*options)
    ends, n, told, record = {"client": p.client, "server": p.server}, 0, [], Record(t)
    with lib.Background(p.client.rest, 60):                                     # neither side is waited for
        with lib.Background(p.server.rest, 60):
            try:
                for side, line, _ in steps:
                    ends[side].send(line)
                    rows = wait_until(lambda: record.after(n), 10, lambda: f"{lib.short(line)} is recorded")
                    n = rows[-1][0]
                    told.append("; ".join(finding or "-" for _, finding, origin in rows if origin == "peer"))
            finally:
                record.close()
                p.client.close_write()
        p.server.exit(0)
    p.wait()
    return told


def found(t, *recordings):
    """What check says of each recording: `seq finding` in order."""
    got = json.loads(t.run("check", "--vault", t.vault, "--format", "json", *recordings).stdout)["recordings"]
    return [[f"{f['seq']} {f['finding']}" for f in one["findings"]] for one in got]


def listed(names):
    """Of a line that is not JSON, check lists the finding that says most (docs/ci.md)."""
    instead = {"cut-json": {"not-json", "malformed-answer"}, "not-json": {"malformed-answer"}}
    return [n for n in names if not any(n in instead.get(other, ()) for other in names)]


def again(t):
    """The recording has the same findings when it is checked: as it was noted, and by the rules alone."""
    noted = [(m.seq, name) for m in t.messages("finding IS NOT NULL") for name in m.finding.decode().split(",")]
    file = t.tmp / "again.jsonl"
    t.run("export", "--vault", t.vault, "-o", file)
    lines = [json.loads(x) for x in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({k: v for k, v in x.items() if k != "finding"}) + "\n" for x in lines))
    session, by_rules = found(t, "last", file)
    rows = [(m.seq, m.finding.decode().split(",")) for m in t.messages("finding IS NOT NULL")]
    eq(session, [f"{seq} {name}" for seq, names in rows for name in listed(names)], "check of the session")
    eq(by_rules, [f"{seq} {name}" for seq, name in noted if name in OF_THE_PROTOCOL], "check by the rules alone")


def exactly(t, steps, *options):
    told = play(t, steps, *options)
    for i, ((side, line, want), got) in enumerate(zip(steps, told)):
        eq(got, want or "-", f"findings of line {i + 1}, {side}: {lib.short(line)}")
    again(t)


PLAYED = set()


def refuses(t, steps):
    """With --validate protocol no violation of a MUST is forwarded. (Capabilities are a MUST from 2025-06-18 on.)"""
    play(t, steps, "--validate", "protocol")
    old = t.rows("SELECT 1 FROM sessions WHERE protocol_version < ?", C6) != []
    for m in t.messages("finding IS NOT NULL AND origin = 'peer' AND batch_seq IS NULL"):
        grave = GRAVE & set(m.finding.decode().split(",")) - ({"undeclared-capability"} if old else set())
        check(not grave or m.action == "refused", f"{grave}: {m}")


def play_rows(number, conversations, options=None):
    """A case for each row: its key is some text that no other row of the section has."""
    rows = rows_of(number)

    @case(f"{number}: every row of the document is tested")
    def _(t):
        eq([k for k in conversations if sum(k in r for r in rows) != 1], [], "keys that are not one row's")
        eq([r for r in rows if not any(k in r for k in conversations)], [], "rows without a conversation")
    for key, several in conversations.items():
        if isinstance(several, str):
            continue                                                           # says where that is tested
        for i, steps in enumerate(several):
            PLAYED.update(re.findall(r"[a-z][a-z0-9-]+", " ".join(want for _, _, want in steps)))

            @case(f"{number}: {key[:100]}, {i + 1}")
            def _(t, steps=steps, options=(options or {}).get(key, ())):
                exactly(t, steps, *options)

            if GRAVE & set(re.findall(r"[a-z][a-z0-9-]+", " ".join(want for _, _, want in steps))):
                @case(f"{number}: {key[:100]}, {i + 1}, with --validate protocol")
                def _(t, steps=steps):
                    refuses(t, steps)


# --- 9: the samples -------------------------------------------------------------------------------

def samples():
    text = section("9. Minimal")
    m = "{" + "".join(re.search(r"M stands for\s+`(.*?)`\.", text, re.S)[1].split()) + "}"
    for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S):
        yield [("client" if x[0] == ">" else "server", x[2:].replace("{M}", m).encode(), "") for x in block.splitlines()]


@case("9: the samples have no finding, except the answer without a request")
def _(t):
    legacy, new = samples()
    eq((len(legacy), len(new)), (12, 11), "lines of the samples")
    new[-1] = (*new[-1][:2], "unknown-answer")                                 # there is no request 9
    exactly(t, legacy)
    t.vault = t.tmp / "modern"
    exactly(t, new)


# --- 6.7: per-version violations ------------------------------------------------------------------

ARRAY = b'[{"jsonrpc":"2.0","method":"notifications/x"}]'
play_rows("6.7", {
    "non-JSON or non-JSON-RPC line, BOM, blank line, CRLF": [
        *line_of(b"hello", "not-json"),
        *line_of(b'{"hello":1}', "not-jsonrpc"),
        *line_of(b"\xef\xbb\xbf" + LIST, "bom", "bom,wrong-direction"),
        *line_of(b" \t", "blank-line"),
        *line_of(LIST + b"\r", "crlf", "crlf,wrong-direction"),
        *line_of(LIST + LIST, "several-values"),
        *line_of(b'{"a":', "not-json,cut-json"),
        *line_of(b'{"jsonrpc":"2.0","method":"\xff"}', "invalid-utf8", "invalid-utf8,unknown-method"),
    ],
    "array line": [
        *[steps for v in (A, C6, D) for steps in (start(v) + [C(ARRAY, "batch")], start(v) + [S(ARRAY, "batch")])],
        [C(modern(1, "tools/list")), C(ARRAY, "batch"), S(ARRAY, "batch")],
        start(B) + [C(ARRAY, "-; unknown-method"), C(b"[]", "batch"), S(b"[]", "batch")],
        start(B) + [C(b"[" + request(2, "initialize") + b"]", "batch; -")],
        [C(b"[" + request("i", "initialize") + b"]", "batch; -")],
    ],
    "`id:null`, fractional, bool, object id": [
        start(D) + [C(b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "null-id"),
                    C(request(1.5), "fractional-id"), C(request(True), "not-jsonrpc"), C(request({}), "not-jsonrpc"),
                    S(result(None), "null-id,unknown-answer"), S(result(True), "malformed-answer"),
                    S(request(2.5), "fractional-id")],
        start(D) + [C(request(1)), C(request(1), "reused-id")],
        start(D) + [C(request(1)), S(result(1)), C(request(1), "repeated-id"), S(result(1)), C(request("1")), S(request(1))],
        [C(modern(1, "tools/list")), C(modern(1, "tools/list"), "reused-id"), S(result(1, {"tools": [], **CACHED})),
         S(result(1, {"tools": [], **CACHED})), C(modern(1, "tools/list"))],
    ],
    "response to an unknown, answered or cancelled id": [
        start(D) + [S(result(7), "unknown-answer"), S(error(7), "unknown-answer"), C(result(7), "unknown-answer"),
                    C(request(1)), S(result(1)), S(result(1), "unknown-answer"),
                    C(call(2)), C(note("notifications/cancelled", {"requestId": 2})), S(text_result(2, "x"), "late-answer"),
                    C(request(3)), S(b'{"jsonrpc":"2.0","id":3}', "malformed-answer"),
                    C(request(4)), S(b'{"jsonrpc":"2.0","id":4,"result":{},"error":{"code":1,"message":"m"}}', "malformed-answer"),
                    C(b'{"jsonrpc":"2.0","id":4,"result":{},"error":{"code":1,"message":"m"}}', "malformed-answer")],
    ],
    "response to a notification": [
        start(D) + [S(result(None), "null-id,unknown-answer"), S(b'{"jsonrpc":"2.0","result":{}}', "malformed-answer"),
                    S(b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"m"}}', "unknown-answer")],
    ],
    "C2S request other than ping before the initialize answer": [
        [C(request("p")), S(result("p")), C(LIST, "request-before-initialize")],
        [start(D)[0], C(LIST, "request-before-initialize")],
        start(D, ready=False) + [C(LIST, "request-before-initialized"), S(LISTED), C(request(2, "tools/list"))],
        start(D) + [C(request(1, "initialize", {"protocolVersion": D, "capabilities": {}, "clientInfo": {}}), "second-initialize")],
    ],
    "S2C request other than ping before `initialized`": [
        start(D, {"roots": {}}, ready=False) + [S(request(1)), S(request(2, "roots/list"), "early-server-request")],
        start(D, {"roots": {}}) + [S(request(2, "roots/list"))],
    ],
    "use of an undeclared capability": [
        start(v, server={}) + [C(LIST, "undeclared-capability"), S(request(1, "roots/list"), "undeclared-capability"),
                               S(log(), "undeclared-capability"), C(note("notifications/roots/list_changed"), "undeclared-capability")]
        for v in (A, B, C6, D)
    ] + [
        start(C6, server={"resources": {}}) + [C(request(1, "resources/subscribe", {"uri": "u"}), "undeclared-capability"),
                                               S(note("notifications/resources/list_changed"), "undeclared-capability")],
        start(D, {"sampling": {}}) + [S(request(1, "sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": []}),
                                        "undeclared-capability")],
        [C(modern("d", "server/discover")), S(result("d", {"supportedVersions": [E], "capabilities": {}, **CACHED})),
         C(modern(1, "tools/list"), "undeclared-capability"),
         C(modern(2, "tools/call", {"name": "x"}), "undeclared-capability"),
         S(asks(2, inputRequests={"k": QUESTION}), "undeclared-capability")],
    ],
    "S2C request or C2S response on the wire": [
        [C(modern(1, "tools/list")), S(request(1, "roots/list"), "server-request"), C(result(1, {"roots": []}), "client-answer")],
    ],
    "missing `_meta` version or capabilities": [
        [C(modern(1, "tools/list")), C(modern(2, "tools/list")), C(modern(3, "tools/list")), C(modern(4, "tools/list")),
         C(request(5, "tools/list"), "missing-meta"), C(request(6, "tools/list", {"_meta": {VERSION: E}}), "missing-meta"),
         C(request(7, "tools/list", {"_meta": {CAPABILITIES: {}}}), "missing-meta"),
         S(result(1, {"tools": [], "ttlMs": 0, "cacheScope": "public"}), "missing-result-type"),
         S(result(2, {"tools": [], "resultType": "complete", "ttlMs": 0}), "missing-cache-fields"),
         S(result(3, {"tools": [], "resultType": "complete", "cacheScope": "public"}), "missing-cache-fields"),
         S(result(4, {"tools": [], "resultType": "whole"}), "unknown-result-type")],
    ],
    "`input_required` on another method than the three": [
        [C(modern(1, "tools/list")), S(asks(1, requestState="s"), "misplaced-input-required"),
         C(modern(2, "tools/call", {"name": "x"})), S(asks(2), "misplaced-input-required")],
        *[[C(modern(1, method, params, {"elicitation": {}})), S(asks(1, requestState="s", inputRequests={"k": QUESTION})),
           C(modern(1, method, {**params, "requestState": "s", "inputResponses": {}}), "bad-retry"),
           C(modern(2, method, {**params, "requestState": "S", "inputResponses": {}}), "bad-retry"),
           C(modern(3, method, {**params, "inputResponses": {}}), "bad-retry"),
           C(modern(4, method, {**params, "requestState": "s", "inputResponses": {}}))]
          for method, params in (("tools/call", {"name": "x"}), ("prompts/get", {"name": "x"}), ("resources/read", {"uri": "u"}))],
        [C(modern(1, "tools/call", {"name": "x", "requestState": "of another process"})), S(result(1, {"resultType": "complete", "content": []})),
         C(modern(2, "tools/call", {"name": "x"}, {"elicitation": {}})), S(asks(2, inputRequests={"k": QUESTION})),
         C(modern(3, "tools/call", {"name": "x", "inputResponses": {}, "requestState": "made up"}), "bad-retry")],
    ],
    "list/updated notification without subscriptionId": [
        [C(modern(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["u"]}})),
         S(stream("notifications/tools/list_changed", 1), "unasked-notification"),
         S(stream("notifications/subscriptions/acknowledged", 1, notifications={"toolsListChanged": True, "resourceSubscriptions": ["u"]})),
         S(stream("notifications/tools/list_changed", 1)), S(stream("notifications/resources/updated", 1, uri="u")),
         S(note("notifications/tools/list_changed"), "no-subscription"),
         S(note("notifications/resources/updated", {"uri": "u"}), "no-subscription"),
         S(stream("notifications/tools/list_changed", "1"), "no-subscription"),
         S(stream("notifications/prompts/list_changed", 1), "unasked-notification"),
         S(stream("notifications/resources/list_changed", 1), "unasked-notification")],
    ],
    "`notifications/message` for a request without logLevel": [
        [C(modern(1, "tools/call", {"name": "x"})), S(log(), "unasked-log"), S(done(1)),
         C(modern(2, "tools/call", {"name": "x"}, **{LOG: "info"})), S(log()), S(done(2)), S(log(), "unasked-log")],
    ],
    "progress not increasing, unknown token, after completion": [
        start(D) + [C(watched(1)), S(progress("t", 1)), S(progress("t", 1), "progress-not-increasing"),
                    S(progress("t", 0.5), "progress-not-increasing"), S(progress("u", 2), "stray-progress"),
                    S(text_result(1, "x")), S(progress("t", 3), "stray-progress")],
        start(D) + [S(request(1, "ping", {"_meta": {"progressToken": 5}})), C(progress(5, 2)),
                    C(progress(5, 1), "progress-not-increasing"), C(progress("5", 3), "stray-progress"), C(result(1)),
                    C(progress(5, 4), "stray-progress")],
        [C(modern(1, "tools/call", {"name": "x"}, progressToken=1)), S(progress(1, 1)), S(progress(1, 1), "progress-not-increasing"),
         S(done(1)), S(progress(1, 2), "stray-progress")],
    ],
    "-32042 outside D": [
        *[start(v) + [C(call(1)), S(error(1, -32042), "reserved-error-code"), C(call(2)), S(error(2, -32002)),
                      C(call(3)), S(error(3, -32023))] for v in (A, B, C6)],
        start(D) + [C(call(1)), S(error(1, -32042), "missing-error-data")],
        [C(modern(1, "tools/list")), S(error(1, -32042), "reserved-error-code"),
         C(modern(2, "tools/list")), S(error(2, -32002), "reserved-error-code"),
         C(modern(3, "tools/list")), S(error(3, -32022), "missing-error-data"), C(modern(4, "tools/list")), S(error(4, -32023), "reserved-error-code"),
         C(modern(5, "tools/list")), S(error(5, -32099), "reserved-error-code"),
         C(modern(6, "tools/list")), S(error(6, -32100)), C(modern(7, "tools/list")), S(error(7, -32021), "missing-error-data")],
    ],
    "elicitation mode not declared": [
        start(D, {"elicitation": {}}) + [S(request(1, "elicitation/create", FORM)),
                                         S(request(2, "elicitation/create", PAGE), "undeclared-capability")],
        start(D, {"elicitation": {"url": {}}}) + [S(request(1, "elicitation/create", FORM), "undeclared-capability"),
                                                  S(request(2, "elicitation/create", PAGE))],
        [C(modern(1, "tools/call", {"name": "x"}, {"elicitation": {"url": {}}})),
         S(asks(1, inputRequests={"k": QUESTION}), "undeclared-capability"),
         C(modern(2, "tools/call", {"name": "x"}, {"elicitation": {}})),
         S(asks(2, inputRequests={"k": {"method": "elicitation/create", "params": PAGE}}), "undeclared-capability")],
    ],
})


# --- 7: seen in the wild --------------------------------------------------------------------------

NOISE = "not-json"
play_rows("7.1", {
    "servers/issues/2895": [start(D) + [S(b"found 0 vulnerabilities", NOISE), S(b"> server@1.0.0 start", NOISE), S(b"", "blank-line")]],
    "inspector/issues/343": [[S(b"Server running on stdio", NOISE), *start(D)]],
    "python-sdk/pull/924": [start(D) + [C(LIST), S(b"INFO done " + LISTED, "not-json; glued-text"),
                                        S(b"INFO {not json} " + note("notifications/tools/list_changed"),
                                          "not-json; glued-text,undeclared-capability"),
                                        S(b"INFO " + LISTED + LISTED, NOISE)]],
    "pagespeed-insights-mcp": [start(D) + [S(b'{"level":30,"msg":"x"}', "not-jsonrpc"), S(b'"x"', "not-jsonrpc"),
                                           S(b'level":30,"msg":"x"}', NOISE)]],
    "printify-mcp": [start(D) + [S(b"Shops response: [", NOISE), S(b"  {", NOISE + ",cut-json"), S(b'    "id": 1,', NOISE),
                                 S(b"    42", "not-jsonrpc"), S(b"  }", NOISE), S(b"]", NOISE)]],
    "mcp-server-excel": [start(D) + [S(b"info: Microsoft.Hosting.Lifetime[0]", NOISE), S(b"[12:00] loading", NOISE)]],
    "claude-code/issues/53617": [start(D) + [S(b"oops", NOISE), C(LIST), S(LISTED)]],
    "typescript-sdk/issues/2775": "what stderr says: 02-checks, a banner of many lines",
    "python-sdk/pull/115": "that the session goes on: 02-checks, noise",
})

play_rows("7.2", {
    "python-sdk/issues/2433": [start(D) + [C(LIST + b"\r", "crlf"), S(LISTED + b"\r", "crlf")]],
    "typescript-sdk/pull/2790": [[C(b"\xef\xbb\xbf" + start(D)[0][1], "bom"), S(b"\xef\xbb\xbf" + start(D)[1][1], "bom")]],
    "claude-agent-sdk-typescript/issues/137": [start(D) + [C(call(1)), S(text_result(1, "a\u2028b\u2029c\u0085d"))]],
    "emcee/pull/57": [start(D) + [C(LIST), S(b'{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": {"tools": []}\n}', "several-lines")],
                      start(D) + [S(b'{"jsonrpc":"2.0","method":"x","params":{"text":"two\nlines"}}', "several-lines,unknown-method")]],
    "python-sdk/issues/2546": [start(D) + [C(b"Content-Length: 2\r", "crlf,not-json,content-length"), C(b"\r", "crlf,blank-line"),
                                           S(b"Content-Length: 2\r", "crlf,not-json,content-length"), S(b"\r", "crlf,blank-line")]],
    "python-sdk/pull/2302": [start(D) + [C(call(1)), S(text_result(1, "?").replace(b"?", b"\xe9"), "invalid-utf8"), S(text_result(1, "é"), "unknown-answer")]],
    "kimi-code/issues/886": [start(D) + [S("café".encode("cp1252"), NOISE), S("{\"a\":\"™\"}".encode("cp1252"), "invalid-utf8")]],
    "python-sdk/issues/2751": [start(D) + [C(request(1, "x", json.loads('{"a":' * 256 + "1" + "}" * 256)), "unknown-method"),
                                           C(b'{"jsonrpc":"2.0","id":2,"method":"x","params":' + b'{"a":' * 10000 + b"1" + b"}" * 10001, "too-deep"),
                                           S(b"[" * 10001, "too-deep")]],
    "typescript-sdk/pull/2239": [start(D) + [C(call(1)), S(text_result(1, "x" * (10 << 20)), "large-message,large-result"),
                                             C(call(2)), S(text_result(2, "x" * (9 << 20)), "large-result")]],
    "vllm-studio": "the limit is another one for each reader; what is told of is 10 MiB",
    "python-sdk/issues/2557": [start(D) + [C(call(1)), S(text_result(1, "x" * 5000), "too-long")]],
    "ruvnet/ruflo": "a cut by exit: below",
    "logic-pro-mcp": [start(D) + [S(note("a")[:20] + note("b") + note("a")[20:], NOISE), S(note("a") + note("b"), "several-values")]],
    "csharp-sdk/pull/942": "a line without its end: 02-checks",
}, {"python-sdk/issues/2557": ["--max-message", "4KiB"]})

play_rows("7.3", {
    "claude-code/issues/51073": [start(D) + [C(call(1)), C(note("notifications/cancelled", {"requestId": 1})), S(text_result(1, "x"), "late-answer")]],
    "claude-code/issues/50095": [start(D) + [S(text_result(1, "x"), "unknown-answer"), C(call(2)), S(text_result(2, "x")),
                                             S(text_result(2, "x"), "unknown-answer")]],
    "claude-code/issues/53617": [start(D) + [C(watched(1)), S(text_result(1, "x")), S(progress("t", 1), "stray-progress")]],
    "sharplens-mcp": [start(D) + [S(result(None), "null-id,unknown-answer"), S(error(None), "null-id,unknown-answer"),
                                  S(b'{"jsonrpc":"2.0","result":{}}', "malformed-answer")]],
    "mcp-go/issues/201": [start(D) + [S(error(None, -32700), "null-id,unknown-answer")]],
    "python-sdk/issues/961": [start(D) + [C(request("7", "tools/list")), S(result(7, {"tools": []}), "id-type-changed"),
                                          C(request(8, "tools/list")), S(result("8", {"tools": []}), "id-type-changed")]],
    "typescript-sdk/pull/2654": [start(D) + [C(request(0, "tools/list")), S(result(0, {"tools": []})), C(request("", "tools/list")),
                                             S(result("", {"tools": []})), C(request("x")), S(result(0), "unknown-answer")]],
    "langgenius/dify": [start(D) + [S(result("orphan"), "unknown-answer"), C(LIST), S(LISTED)]],
    "openclaw/issues/68587": [start(D) + [C(LIST), S(error(1, -32601)),
                                          S(note("notifications/tools/list", {"tools": []}), "unknown-method,answer-as-notification")]],
    "java-sdk/issues/130": [start(D) + [C(call(1)), C(note("notifications/cancelled", {"requestId": 1})), S(b"ERROR no handler", NOISE)]],
    "codebase-memory-mcp": [start(D) + [C(request(1, "tools/list", {"cursor": "a"})), S(result(1, {"tools": [], "nextCursor": "a"}), "repeated-cursor")]],
    "claude-code/issues/24785": [start(D) + [C(LIST), S(result(1, {"tools": [], "nextCursor": "a"})), C(call(2))]],
})

play_rows("7.5", {
    "`shutdown` request": [start(D) + [C(request(1, "shutdown"), "lsp-method"), S(error(1, -32601)), C(note("exit"), "lsp-method")]],
    "`$/cancelRequest`": [start(D) + [C(note("$/cancelRequest", {"id": 1}), "lsp-method")]],
    "`initialized` without prefix": [start(D, ready=False) + [C(note("initialized"), "bare-initialized"), C(LIST), S(LISTED)]],
    "`Content-Length`": "7.2",
})


@case("7.2: a message truncated by the end of its writer shows the place")
def _(t):
    p = t.proxy().initialize()
    p.server.write(text_result(1, "x" * 100000)[:65536])
    p.server.exit(0)
    p.client.expect_eof()
    p.wait()
    eq([(m.finding, m.size) for m in t.messages("finding IS NOT NULL")], [(b"not-json,cut-json,no-newline", 65536)], "findings")
    again(t)


# --- other sections of the reference: 2, 3, and the tools -----------------------------------------

TOOL = {"name": "add", "inputSchema": {"type": "object", "required": ["a"]}, "outputSchema": {"type": "object", "required": ["sum"]}}
MORE = {
    "members": start(D) + [C(request(1, "tools/call"), "invalid-params"), S(result(1, {}), "invalid-result"),
                           C(request(2, "tools/list", {"cursor": 1}), "invalid-params"), S(result(2, {"tools": {}}), "invalid-result"),
                           C(call(3))],
    "revisions": start("2031-01-01")[:1] + [S(start("2031-01-01")[1][1], "unknown-revision"), *start("")[2:],
                                            C(request(1, "tasks/list"))],
    "methods": start(C6) + [C(request(1, "tasks/list"), "other-revision"), C(request(2, "roots/list"), "wrong-direction"),
                            S(request(1, "tools/list"), "wrong-direction")],
    "a server that speaks first": [S(log(), "early-server-message"), *start(D, server={"logging": {}}), S(log())],
    "a token of two requests": start(D) + [C(watched(1)), C(watched(2), "reused-token"), S(text_result(1, "x")), S(text_result(2, "x")),
                                           C(watched(3))],
    "tools": start(D) + [C(request(1, "tools/list")), S(result(1, {"tools": [TOOL]})), C(call(2, "sub"), "unknown-tool"),
                         C(call(3, "add"), "invalid-arguments"), S(text_result(3, "x"), "invalid-structured-content"),
                         C(call(4, "add", {"a": 1})), S(text_result(4, "x", structuredContent={"sum": 1})),
                         C(call(5, "add", {"a": 1})), S(text_result(5, "x", isError=True), "tool-error"),
                         S(note("notifications/tools/list_changed"), "undeclared-capability"), C(call(6, "sub")), C(call(7, "add"))],
    "a list of tools that is none": start(D) + [C(request(1, "tools/list")), S(result(1, {"tools": "none"}), "invalid-result"), C(call(2))],
}
for what, steps in MORE.items():
    PLAYED.update(re.findall(r"[a-z][a-z0-9-]+", " ".join(want for _, _, want in steps)))

    @case(f"mcp-wire.md 2, 3: {what}")
    def _(t, steps=steps):
        exactly(t, steps)


# --- the whole list -------------------------------------------------------------------------------

# Findings that no conversation above can have, and where they are tested.
ELSEWHERE = {
    "duplicate-envelope-key": "02-checks", "call-and-answer": "02-checks", "duplicate-key": "02-checks", "null-params": "test_rpc", "array-params": "test_rpc",
    "control-character": "02-checks", "not-a-number": "02-checks", "trailing-text": "02-checks", "null-result": "test_invalid_line",
    "schema-not-checked": "80-arguments", "null-beside-answer": "02-checks", "result-not-object": "02-checks", "no-newline": "02-checks", "unfinished-line": "02-checks",
    "late-progress": "21-slow", "own-request": "22-crash", "cancelled-initialize": "test_traffic", "too-many-open": "test_traffic_limits",
    "body-lost": "test_writer", "server-gone": "22-crash", "interrupted": "17-interrupted", "timeout": "21-slow", "tool-changed": "82-drift",
    "deep-message": "test_traffic_limits", "http-over-stdio": "02-checks",
    "duplicate-name": "test_protocol_2026", "stray-cancellation": "test_protocol_2026", "secret-in-form": "96-secret-in-form", "tool-hidden": "97-tool-rule", "tool-unlisted": "97-tool-rule", "ambiguous-call": "97-tool-rule",
    "repeat-of-uncertain": "99-repeats", "no-progress": "99-repeats",
    "cancelled-task": "test_protocol_2026", "invalid-cache-fields": "test_protocol_2026", "invalid-meta": "test_protocol_2026",
    "invalid-task": "test_protocol_2026", "invalid-input-request": "test_protocol_2026", "reused-input-key": "test_protocol_2026",
    "unknown-input-key": "test_protocol_2026", "not-acknowledged": "test_protocol_2026", "schema-not-checked": "80-arguments",
}


@case("every finding of docs/findings.md is tested here or in the listed files")
def _(t):
    names = set(re.findall(r"^\| `([a-z0-9-]+)` \|.*\|.*\|.*\|$", FINDINGS.split("\n## The line\n")[1], re.M))
    eq(names - PLAYED - set(ELSEWHERE), set(), "names without a test")
    for name, file in ELSEWHERE.items():
        texts = [p.read_text() for p in (*lib.ROOT.glob(f"tests/e2e/{file}.py"), *lib.ROOT.glob(f"tests/*/*/{file}.c"))]
        check(any(name in x or name.upper().replace("-", "_") in x for x in texts), f"{name} is not in {file}")
    eq((set(ELSEWHERE) & PLAYED) | (PLAYED | set(ELSEWHERE)) - names, set(), "names that are not so")


lib.main(at_once=4)
