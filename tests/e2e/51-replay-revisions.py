#!/usr/bin/env python3
"""Replay: sessions of all five protocol revisions. Each is recorded, replayed to the same client, and the replay is
recorded again: the client gets the same lines, and the recordings say the same but for times."""
import json
import random

import lib
from lib import call, case, check, eq, error, note, request, result, text_result
from replaying import Replay, cassette, handshake, record

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test client", "version": "1.0"}}


def c(*lines):
    return [b">" + line for line in lines]


def s(*lines):
    return [b"<" + line for line in lines]


def with_token(id, tool, token):
    return request(id, "tools/call", {"name": tool, "arguments": {}, "_meta": {"progressToken": token}})


def progress(token, n):
    return note("notifications/progress", {"progressToken": token, "progress": n})


def modern(id, method, params=None, **meta):
    return request(id, method, {**(params or {}), "_meta": {**META, **meta}})


def complete(id, **value):
    return result(id, {"resultType": "complete", **value})


def of_stream(method, id, **params):
    return note(method, {**params, "_meta": {"io.modelcontextprotocol/subscriptionId": id}})


def said(t, vault, uid):
    """What the cassette of a session says, without when."""
    done = t.run("export", "--vault", vault, uid)
    eq(done.returncode, 0, "export")
    lines = [json.loads(x) for x in done.stdout.splitlines()]
    head = {k: lines[0].get(k) for k in ("client_name", "client_version", "server_name", "server_version", "protocol_version",
                                         "end_reason", "exit_status", "record_level", "redact_rules")}
    # Each way has its own order; how the two interleave is a matter of time.
    ways = [[{k: v for k, v in x.items() if k != "t"} for x in lines[1:-1] if x["dir"] == way] for way in ("c2s", "s2c")]
    return head, *ways


def round_trip(t, script):
    """The uid of the first recording."""
    uid = record(t, script)
    Replay(t, "--strict", uid).play(script).end()
    again = t.tmp / "again"
    p = t.proxy(server=[lib.PROGRAM, "replay", "--vault", t.vault, uid], vault=again)
    for line in script:
        if line[:1] == b">":
            p.client.send(line[1:])
        else:
            eq(json.loads(p.client.recv()), json.loads(line[1:]), "what the client of the proxied replay gets")
    p.client.close_write()
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")
    eq(said(t, again, "1"), said(t, t.vault, uid), "the recording of the replay")
    return uid


@case("2024-11-05: lists, progress, logs, subscriptions, roots and sampling inside calls")
def _(t):
    script = handshake("2024-11-05", {"tools": {}, "resources": {"subscribe": True}, "logging": {}, "prompts": {}}) + \
        c(request(1, "tools/list")) + s(result(1, {"tools": [], "nextCursor": "two"})) + \
        c(request(2, "tools/list", {"cursor": "two"})) + s(result(2, {"tools": []})) + \
        c(request(3, "logging/setLevel", {"level": "debug"})) + s(result(3)) + \
        c(with_token(4, "slow", "a token")) + s(progress("a token", 1), note("notifications/message", {"level": "info", "data": "x"}),
                                                progress("a token", 2), text_result(4, "done")) + \
        c(call(5, "roots")) + s(request(1, "roots/list")) + c(result(1, {"roots": []})) + s(text_result(5, "no roots")) + \
        c(call(6, "sample")) + s(request(2, "sampling/createMessage", {"messages": [], "maxTokens": 1})) + \
        c(error(2, -1, "the user said no")) + s(text_result(6, "no", isError=True)) + \
        c(request(7, "resources/subscribe", {"uri": "file:///a"})) + s(result(7)) + \
        s(note("notifications/resources/updated", {"uri": "file:///a"})) + \
        c(request(8, "resources/read", {"uri": "file:///a"})) + s(result(8, {"contents": []})) + \
        c(request(9, "prompts/get", {"name": "p"})) + s(error(9, -32602, "no such prompt")) + \
        c(note("notifications/roots/list_changed")) + s(request(3, "roots/list")) + c(result(3, {"roots": []})) + \
        c(request(10)) + s(result(10))
    round_trip(t, script)


@case("2025-03-26: batches of calls, of notifications, of both")
def _(t):
    def batch(*lines):
        return b"[" + b",".join(lines) + b"]"
    script = handshake("2025-03-26") + \
        c(batch(call(1, "a"), call(2, "b"))) + s(batch(text_result(1, "a"), text_result(2, "b"))) + \
        c(batch(note("notifications/progress", {"progressToken": 1, "progress": 1}), call(3, "c"))) + s(batch(text_result(3, "c"))) + \
        c(call(4, "d")) + s(text_result(4, "d"))
    uid = round_trip(t, script)
    replay = Replay(t, uid).play(handshake("2025-03-26"))
    replay.client.send(batch(call("x", "b"), call(8, "never"), call(9, "a")))
    got = {m["id"]: m for m in replay.client.recv_json()}
    eq((got["x"], got[9]), (json.loads(text_result("x", "b")), json.loads(text_result(9, "a"))), "answers in another batch")
    eq(got[8]["error"]["code"], -32602, "a miss in a batch")
    for line, codes in ((b"[]", -32600), (b"[1]", [-32600]), (b' [ {"jsonrpc":"2.0","id":7} , 5 ]\r', [-32600, -32600])):
        replay.client.send(line)
        got = replay.client.recv_json()
        eq([x["error"]["code"] for x in got] if isinstance(got, list) else got["error"]["code"], codes, f"the answer to {line}")
    replay.play(c(call(10, "d")) + s(text_result(10, "d")))
    replay.end(1)


RETYPED = handshake("2025-06-18") + \
    c(call(1, "greet")) + s(request("q", "roots/list"), request(7, "roots/list")) + \
    c(result("q", {"roots": []}), result("7", {"roots": []})) + s(text_result("1", "Hello")) + \
    c(request("2", "tools/list")) + s(result(2, {"tools": []}))


@case("answers whose ids have another JSON type than their requests', either way")
def _(t):
    p = t.proxy()                                              # the proxy repairs them
    for line in RETYPED:
        (p.client if line[:1] == b">" else p.server).send(line[1:])
        other = json.loads((p.server if line[:1] == b">" else p.client).recv())
        eq(str(other.get("id")), str(json.loads(line[1:]).get("id")), "the id, of either type")
    p.end()
    eq(len(t.messages("finding = 'id-type-changed'")), 3, "repaired answers")
    sessions = [t.rows("SELECT uid FROM sessions")[0][0].decode(),
                record(t, RETYPED, "--validate", "none"),      # a recording has them as they came
                cassette(t, RETYPED)]
    for recording in sessions:
        replay = Replay(t, recording).play(handshake("2025-06-18"))
        replay.client.send(call("x", "greet"))
        asked = [replay.client.recv_json() for _ in range(2)]
        eq([m["method"] for m in asked], ["roots/list"] * 2, "the questions")
        for m in asked:                                        # and a live client may do the same
            replay.client.send(result(int(m["id"]) if isinstance(m["id"], str) else str(m["id"]), {"roots": []}))
        replay.client.expect(text_result("x", "Hello"))
        eq(replay.ask(request(9, "tools/list")), json.loads(result(9, {"tools": []})), "an answer has the id of its request")
        replay.end()


@case("2025-06-18: elicitation inside a call: later messages wait for the client's answer")
def _(t):
    ask = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
    script = handshake("2025-06-18") + \
        c(with_token(1, "greet", 1)) + s(progress(1, 1), request(1, "elicitation/create", ask)) + \
        c(result(1, {"action": "accept", "content": {"name": "Ada"}})) + s(progress(1, 2), text_result(1, "Hello Ada")) + \
        c(call(2, "greet")) + s(request(2, "elicitation/create", ask)) + c(result(2, {"action": "decline"})) + \
        s(text_result(2, "Hello whoever", structuredContent={"name": None}))
    uid = round_trip(t, script)
    replay = Replay(t, uid).play(handshake("2025-06-18"))
    replay.client.send(with_token("call", "greet", "token"))
    eq([replay.client.recv_json() for _ in range(2)],
       [json.loads(progress("token", 1)), json.loads(request(1, "elicitation/create", ask))], "until the question")
    eq(replay.ask(request("p"))["result"], {}, "a ping, and nothing of the call before the answer")
    replay.client.send(result(1, {"action": "accept", "content": {"name": "Bob"}}))
    replay.client.expect(progress("token", 2), text_result("call", "Hello Ada"))
    replay.end()
    replay = Replay(t, "--check-answers", uid).play(handshake("2025-06-18"))
    replay.client.send(call(5, "greet"))
    eq(replay.client.recv_json()["method"], "elicitation/create", "the question")
    replay.client.send(result(1, {"action": "cancel"}))
    replay.client.expect(text_result(5, "Hello Ada"))
    replay.end(1)
    check("the client answered differently than recorded: elicitation/create" in replay.stderr(), lambda: replay.stderr())


@case("2025-11-25: a task, its states, a question through tasks/result, and its progress")
def _(t):
    def task(status, **more):
        return {"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000, "pollInterval": 10, **more}
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t-1"}}
    start = {"name": "long", "arguments": {}, "task": {"ttl": 60000}, "_meta": {"progressToken": 1}}
    script = handshake("2025-11-25", {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}) + \
        c(request(1, "tools/call", start)) + s(result(1, {"task": task("working")})) + s(progress(1, 1)) + \
        c(request(2, "tasks/get", {"taskId": "t-1"})) + s(result(2, task("working"))) + \
        s(note("notifications/tasks/status", task("input_required"))) + \
        c(request(3, "tasks/get", {"taskId": "t-1"})) + s(result(3, task("input_required"))) + \
        c(request(4, "tasks/result", {"taskId": "t-1"})) + \
        s(request(1, "elicitation/create", {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": related})) + \
        c(result(1, {"action": "accept", "content": {}})) + s(progress(1, 2), result(4, {"content": [], "_meta": related})) + \
        c(request(5, "tasks/get", {"taskId": "t-1"})) + s(result(5, task("completed")))
    uid = round_trip(t, script)
    replay = Replay(t, uid).play(handshake("2025-11-25", {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}))
    eq(replay.ask(request("a", "tools/call", {**start, "task": {"ttl": 5}}))["result"], {"task": task("working")}, "another ttl")
    eq(replay.client.recv_json()["params"]["progress"], 1, "progress")
    states = []
    for i in range(5):
        replay.client.send(request(100 + i, "tasks/get", {"taskId": "t-1"}))
        got = replay.client.recv_json()
        while "method" in got:
            got = replay.client.recv_json()
        states.append(got["result"]["status"])
    eq(states, ["working", "input_required", "completed", "completed", "completed"], "polled more often")
    replay.refuses(request(9, "tasks/get", {"taskId": "t-2"}), -32602, "t-2")
    replay.refuses(call(10, "long"), -32602)  # without a task: another shape of the answer
    replay.end(1)


@case("2026-07-28: discover, input_required and its continuation")
def _(t):
    asks = {"resultType": "input_required", "requestState": "state \u00e9 1",
            "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}}}
    again = {"name": "greet", "arguments": {}, "requestState": asks["requestState"],
             "inputResponses": {"who": {"action": "accept", "content": {"name": "Ada"}}}}
    script = \
        c(modern("probe", "server/discover")) + s(complete("probe", supportedVersions=["2026-07-28"], capabilities={"tools": {}},
                                                           ttlMs=0, cacheScope="private")) + \
        c(modern(1, "tools/list")) + s(complete(1, tools=[], ttlMs=0, cacheScope="private")) + \
        c(modern(2, "tools/call", {"name": "greet", "arguments": {}})) + s(result(2, asks)) + \
        c(modern(3, "tools/call", again, progressToken=3)) + s(progress(3, 1), complete(3, content=[{"type": "text", "text": "Hello Ada"}]))
    uid = round_trip(t, script)
    replay = Replay(t, uid)
    eq(replay.ask(modern("x", "tools/call", {"name": "greet", "arguments": {}}))["result"], asks, "the question, with its state")
    got = replay.ask(modern("y", "tools/call", {**again, "inputResponses": {"who": {"action": "accept", "content": {"name": "Bob"}}}}))
    eq(got["result"]["content"][0]["text"], "Hello Ada", "the continuation, answered by another name")
    replay.refuses(modern(1, "tools/call", {**again, "requestState": "invented"}), -32602, "/requestState")
    replay.refuses(modern(1, "tools/call", {**again, "inputResponses": {"other": {"action": "accept"}}}), -32602, "/inputResponses")
    other = request(7, "tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}})
    got = replay.ask(other)["error"]
    eq((got["code"], got["data"]["supported"], got["data"]["requested"]), (-32022, ["2026-07-28"], "2027-01-01"), "another revision")
    got = replay.ask(request(8, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}))["error"]
    eq((got["code"], got["data"]["supported"]), (-32022, ["2026-07-28"]), "a client of an older revision")
    replay.end(1)


@case("2026-07-28: server/discover that was not recorded has the extension of a recording with a task")
def _(t):
    task = {"taskId": "t-1", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None}
    script = c(modern(1, "tools/call", {"name": "a"})) + s(result(1, {"resultType": "task", "status": "working", **task})) + \
        c(modern(2, "tasks/get", {"taskId": "t-1"})) + s(complete(2, status="completed", result={"content": []}, **task))
    replay = Replay(t, round_trip(t, script))
    got = replay.ask(modern("d", "server/discover"))["result"]
    eq((got["supportedVersions"], got["capabilities"]),
       (["2026-07-28"], {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}), "the answer")
    eq(replay.ask(modern(1, "tools/call", {"name": "a"}))["result"]["taskId"], "t-1", "the task")
    eq(replay.ask(modern(2, "tasks/get", {"taskId": "t-1"}))["result"]["status"], "completed", "its end")
    replay.end()


@case("2026-07-28: log messages are sent for requests with a log level, and for no others")
def _(t):
    level = {"io.modelcontextprotocol/logLevel": "info"}
    log = note("notifications/message", {"level": "info", "data": "x"})
    script = c(modern(1, "tools/call", {"name": "a"}, **level)) + s(log, complete(1, content=[]))
    uid = round_trip(t, script)
    replay = Replay(t, uid)
    eq(replay.ask(modern(2, "tools/call", {"name": "a"}))["id"], 2, "the answer at once")
    replay.client.send(modern(3, "tools/call", {"name": "a"}, **level))
    replay.client.expect(log, complete(3, content=[]))
    replay.end()


@case("2026-07-28: subscriptions/listen with its acknowledgement and notifications, two at a time, and its ends")
def _(t):
    filter = {"notifications": {"toolsListChanged": True}}
    script = \
        c(modern(1, "subscriptions/listen", filter)) + s(of_stream("notifications/subscriptions/acknowledged", 1, **filter)) + \
        c(modern("two", "subscriptions/listen", {"notifications": {"resourcesListChanged": True}})) + \
        s(of_stream("notifications/subscriptions/acknowledged", "two", notifications={"resourcesListChanged": True})) + \
        s(of_stream("notifications/tools/list_changed", 1)) + \
        c(modern(3, "tools/list")) + s(complete(3, tools=[], ttlMs=0, cacheScope="private")) + \
        s(of_stream("notifications/resources/list_changed", "two"), of_stream("notifications/tools/list_changed", 1)) + \
        s(dumped({"jsonrpc": "2.0", "id": "two", "result": {"resultType": "complete",
                  "_meta": {"io.modelcontextprotocol/subscriptionId": "two"}}})) + \
        c(note("notifications/cancelled", {"requestId": 1, "_meta": META}), modern(4, "tools/list")) + \
        s(complete(4, tools=[], ttlMs=0, cacheScope="private"))
    uid = round_trip(t, script)
    replay = Replay(t, uid)
    replay.client.send(modern("live", "subscriptions/listen", filter))

    def streamed(method):
        got = replay.client.recv_json()
        eq((got["method"], got["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]), (method, "live"), "of the stream")
    streamed("notifications/subscriptions/acknowledged")
    replay.client.send(modern(6, "tools/list"))
    streamed("notifications/tools/list_changed")  # came before that request, and after one that this client leaves out
    replay.client.expect(complete(6, tools=[], ttlMs=0, cacheScope="private"))
    streamed("notifications/tools/list_changed")
    replay.client.send(modern(77, "subscriptions/listen", {"notifications": {"resourcesListChanged": True}}))
    got = [replay.client.recv_json() for _ in range(3)]
    eq([x["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for x in got[:2]], [77, 77], "of the other")
    eq((got[2]["id"], got[2]["result"]["_meta"]), (77, {"io.modelcontextprotocol/subscriptionId": 77}), "its end")
    replay.refuses(modern(5, "subscriptions/listen", {"notifications": {"promptsListChanged": True}}), -32602, "/notifications")
    replay.end(1)


def dumped(value):
    return lib.dump(value)


@case("the probe in a short session of its own is part of the replay")
def _(t):
    listing = complete(1, tools=[], ttlMs=0, cacheScope="private")
    found = complete("p", supportedVersions=["2026-07-28"], capabilities={"tools": {}}, ttlMs=0, cacheScope="private")
    server = t.tmp / "server.py"
    server.write_text("import sys, json\nfor line in sys.stdin:\n"
                      f"    print({found.decode()!r} if 'server/discover' in line else {listing.decode()!r}, flush=True)\n")
    for question in modern("p", "server/discover"), modern(1, "tools/list"):
        p = t.proxy(server=["python3", "-S", server])
        p.client.send(question)
        p.client.recv()
        p.client.close_write()
        p.client.expect_eof()
        eq(p.wait(), 0, "exit status")
    for _ in range(2):  # a process for each, as such clients do
        replay = Replay(t)
        eq(replay.ask(modern("x", "server/discover")), json.loads(found.replace(b'"p"', b'"x"')), "the recorded answer")
        replay.play(c(modern(1, "tools/list")) + s(listing))
        replay.end()


@case("other client capabilities cause one note, and no miss")
def _(t):
    elicits = {"elicitation": {}}
    script = c(modern(1, "tools/list"), modern(2, "tools/call", {"name": "a"})) + s(complete(1, tools=[]), complete(2, content=[]))
    for version, first, other in (
            ("2026-07-28", script, modern(1, "tools/list", **{"io.modelcontextprotocol/clientCapabilities": elicits})),
            ("2025-11-25", handshake() + c(call(2, "a")) + s(text_result(2, "a")),
             request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": elicits}))):
        file = cassette(t, first, f"{version}.jsonl")
        for line, notes in ((first[0][1:], 0), (other, 1)):
            report = t.tmp / "report.json"
            replay = Replay(t, "--verbose", "--report", report, file, vault=False)
            for _ in range(2):
                check("result" in replay.ask(line), "an answer")
            replay.end()
            got = json.loads(report.read_text())
            eq((got["notes"], [(x["kind"], x["differences"][0]["recorded"], x["differences"][0]["asked"]) for x in got["findings"]]),
               (notes, [("capabilities", {}, elicits)] * notes), f"notes of {version}")
            eq("the client declares other capabilities" in replay.stderr(), notes == 1, f"stderr of {version}")


@case("overlapping calls get their own progress and answers, however the client overlaps them")
def _(t):
    for seed in range(20):
        rnd = random.Random(seed)
        calls = {}  # the messages for each call, in order
        for i in range(10):
            reports = [progress(i, n) for n in range(rnd.randrange(4))]
            calls[i] = [request(i, "tools/call", {"name": f"t{i % 3}", "arguments": {"i": i}, "_meta": {"progressToken": i}}),
                        *reports, text_result(i, f"answer {i}")]
        script, left = handshake(), {i: list(lines) for i, lines in calls.items()}
        while left:
            i = rnd.choice(list(left))
            line = left[i].pop(0)
            script.append((b">" if len(left[i]) == len(calls[i]) - 1 else b"<") + line)
            if not left[i]:
                del left[i]
        replay = Replay(t, cassette(t, script, f"{seed}.jsonl"), vault=False).play(handshake())
        order = rnd.sample(range(10), 10)
        while order:  # some at a time
            some = [order.pop() for _ in range(min(len(order), rnd.randrange(1, 5)))]
            replay.client.send(*(calls[i][0] for i in some))
            got = {i: [] for i in some}
            while any(not x or x[-1].get("id") is None for x in got.values()):
                m = replay.client.recv_json()
                got[m["id"] if "id" in m else m["params"]["progressToken"]].append(m)
            eq(got, {i: [json.loads(x) for x in calls[i][1:]] for i in some}, f"what is said, with seed {seed}")
        replay.end()


@case("ids keep their type, including large and unusual ones")
def _(t):
    file = cassette(t, handshake() + c(call(1)) + s(text_result(1, "x")))
    replay = Replay(t, file, vault=False).play(handshake())
    for id in 0, -1, 9007199254740993, "", "1", "\u00fc \" \\ \n", 2**70:
        eq(replay.ask(call(id))["id"], id, "the id")
    replay.client.send(b'{"jsonrpc":"2.0","id":"\\u0031","method":"tools/call","params":{"arguments":{},"name":"echo"}}')
    check(replay.client.recv().startswith(b'{"jsonrpc":"2.0","id":"\\u0031",'), "an id is spelt as it was")
    replay.end()


if __name__ == "__main__":
    lib.main()
