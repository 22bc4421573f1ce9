#!/usr/bin/env python3
"""replay --on-miss live: what was recorded comes from the recording, the rest from a live server; --record-mode keeps it."""
import json
import os
import signal
import subprocess

import lib
from lib import case, check, eq, request
from replaying import Replay, cassette, handshake, junit
from scripted import scripted

# A server that logs what it gets. Its answers say that they are live.
SERVER = r'''
import json, sys
log = open(sys.argv[1], "a")
def say(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
def read():
    m = json.loads(sys.stdin.readline())
    log.write(json.dumps(m) + "\n"), log.flush()
    return m
if "no-start" in sys.argv:
    sys.exit(7)
while True:
    try:
        m = read()
    except ValueError:
        break
    method, p = m.get("method"), m.get("params") or {}
    if "id" not in m:
        continue
    if method == "initialize":
        if "rejects" in sys.argv:
            say({"id": m["id"], "error": {"code": -32602, "message": "not you"}})
            continue
        say({"id": m["id"], "result": {"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}},
                                       "serverInfo": {"name": "live", "version": "1"}}})
    elif method == "tools/list":
        say({"id": m["id"], "result": {"tools": [
            {"name": n, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": n == "read"}}
            for n in ("read", "write", "ask", "steps", "hang")]}})
    elif method == "tools/call" and p["name"] == "ask":
        say({"id": "q-1", "method": "elicitation/create", "params": {"message": "who?", "requestedSchema": {
            "type": "object", "properties": {}}}})
        answer = read()
        say({"id": m["id"], "result": {"content": [{"type": "text", "text": json.dumps(answer["result"])}]}})
    elif method == "tools/call" and p["name"] == "steps":
        token = p["_meta"]["progressToken"]
        for i in range(2):
            say({"method": "notifications/progress", "params": {"progressToken": token, "progress": i}})
        say({"id": m["id"], "result": {"content": [{"type": "text", "text": "stepped"}]}})
    elif method == "tools/call" and p["name"] == "hang":
        while read().get("method") != "notifications/cancelled":
            pass
    elif method == "tools/call" and p["name"] == "exit":
        sys.exit(5)
    elif method in ("tools/call", "resources/read"):
        say({"id": m["id"], "result": {"content": [{"type": "text", "text": "live " + json.dumps(p.get("arguments"))}]}})
    else:
        say({"id": m["id"], "error": {"code": -32601, "message": "no " + method}})
'''


def call(n, name, **arguments):
    return request(n, "tools/call", {"name": name, "arguments": arguments})


def text(n, value):
    return lib.result(n, {"content": [{"type": "text", "text": value}]})


RECORDED = [*handshake(), b">" + call(1, "read", a=1), b"<" + text(1, "one"),
            b">" + call(2, "write", a=1), b"<" + text(2, "written")]


def server(t, *more):
    return ["--", *scripted(t, SERVER, t.tmp / "asked", *more)]


def asked(t):
    path = t.tmp / "asked"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def methods(t):
    return [" ".join(filter(None, (m.get("method", "answer"), (m.get("params") or {}).get("name")))) for m in asked(t)]


def said(answer):
    return answer["result"]["content"][0]["text"]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@case("what was recorded does not start the server; a miss does, with a handshake of its own")
def _(t):
    path = cassette(t, RECORDED)
    before = path.read_bytes()
    r = Replay(t, "--on-miss", "live", "--report", t.tmp / "report", "--junit", t.tmp / "junit", path, *server(t))
    r.play(handshake())
    eq(said(r.ask(call(11, "read", a=1))), "one", "a recorded answer")
    eq(methods(t), [], "what the server got before the miss")
    eq(said(r.ask(call(12, "read", a=2))), 'live {"a": 2}', "an answer of the live server")
    eq(said(r.ask(call("x", "write", a=1))), "written", "a recorded answer after it")
    eq(said(r.ask(call(12, "read", a=3))), 'live {"a": 3}', "an id of the client that was used before")
    r.end()
    eq(methods(t), ["initialize", "notifications/initialized", "tools/call read", "tools/call read"], "what it got")
    eq(asked(t)[0]["params"]["clientInfo"], {"name": "test client", "version": "1.0"}, "the client's name")
    eq(path.read_bytes(), before, "the cassette without --record-mode")
    report = json.loads((t.tmp / "report").read_text())
    eq((report["requests"], report["matched"], report["live"], report["missed"]), (5, 3, 2, 0), "counts")
    eq([(f["kind"], f["failure"], f["live"], f["nearest_seq"]) for f in report["findings"]],
       [("different", False, True, 4)] * 2, "what was live")
    suite = junit(t.tmp / "junit")
    eq((suite.get("tests"), suite.get("failures")), ("5", "0"), "the JUnit suite")
    check("answered: recorded=3 live=2" in r.stderr(), r.stderr)
    # The live part is a session like any other.
    eq([x.rpc_id for x in t.messages("kind = 'request' AND method = 'tools/call'")], [b"2", b"3"], "recorded calls")


@case("append: the next replay needs no server; secrets are redacted; the file stays a sound cassette")
def _(t):
    path = cassette(t, RECORDED)
    r = Replay(t, "--record-mode", "append", path, *server(t)).play(handshake())
    secret = "ghp_" + "a1B2" * 9
    eq(said(r.ask(call(7, "read", token=secret))), json.dumps({"token": secret}).join(["live ", ""]), "the client gets it whole")
    r.ask(call(8, "read", a=2))
    r.end()
    check(secret not in path.read_text(), "the secret is in the cassette")
    got = lines(path)
    eq(got[-1], {"end": True, "messages": len(got) - 2}, "the end")
    eq([x["dir"] for x in got[8:-1]], ["c2s", "s2c", "c2s", "s2c"], "what was added")
    eq([x["t"] for x in got[1:-1]], sorted(x["t"] for x in got[1:-1]), "times ascend")
    first = path.read_bytes()
    again = Replay(t, path).play(handshake())
    eq(said(again.ask(call(1, "read", a=2))), 'live {"a": 2}', "now it is recorded")
    eq(said(again.ask(call(2, "read", a=1))), "one", "and the rest still is")
    again.end()
    eq(t.run("export", "--help").returncode, 0, "status")
    r = t.run("import", path)
    eq((r.returncode, path.read_bytes()), (0, first), r.stderr)


@case("a live server is behind the rule for tools of the recording: lists are cut, calls of hidden tools do not reach it")
def _(t):
    config = t.tmp / "config.ini"       # has another rule, and does not check messages
    config.write_text("[proxy]\nvalidate = none\ntools = r*, ask\nread-only = yes\n[server recorded]\nhide-tools = read\n")
    for rule, seen in (("tools = read, w*; hide-tools = hang, write", ["read"]), ("hide-tools = *ea*, ask", ["write", "steps", "hang"]), ("read-only", ["read"]),
                       (None, ["read", "write", "ask", "steps", "hang"])):
        path = cassette(t, RECORDED[:3], version=2, **({"tools_rule": rule} if rule else {}))
        r = Replay(t, "--config", config, "--on-miss", "live", path, *server(t)).play(handshake())
        listed = r.ask(request(7, "tools/list"))["result"]["tools"]
        eq([x["name"] for x in listed], seen, f"tools with {rule}")
        for name in ("read", "hang", "write", "ask"):
            before = len(asked(t))
            if name in seen and name not in ("hang", "ask"):
                eq(said(r.ask(call(8, name))), "live {}", name)
            elif name not in seen:
                eq(r.ask(call(9, name))["error"]["data"]["cause"], "tool-hidden", name)
                eq(len(asked(t)), before, f"what the server got of {name}")
        r.client.close_write()
        r.client.rest()
        eq(t.rows("SELECT tools_rule FROM sessions ORDER BY id DESC LIMIT 1"), [(rule and rule.encode(),)], "the rule of the live session")
        eq(r.wait(), 0 if rule != "read-only" else 1, r.stderr())


@case("new: another file is written, and the first one stays; it must not exist")
def _(t):
    path, new = cassette(t, RECORDED), t.tmp / "new.jsonl"
    before = path.read_bytes()
    r = Replay(t, "--record-mode", "new", "-o", new, path, *server(t)).play(handshake())
    r.ask(call(7, "read", a=2))
    r.end()
    eq(path.read_bytes(), before, "the recording")
    Replay(t, new).play([*handshake(), b">" + call(1, "read", a=2), b"<" + text(1, 'live {"a": 2}')]).end()
    r = Replay(t, "--record-mode", "new", "-o", new, path, *server(t))
    eq(r.wait(), 2, "status")
    check("exists already" in r.stderr(), r.stderr)


@case("once: a file that does not exist is recorded from the server, then it is replayed, and a miss is an error")
def _(t):
    path = t.tmp / "once.jsonl"
    r = Replay(t, "--record-mode", "once", path, *server(t))
    r.client.send(handshake()[0][1:])
    eq(r.client.recv_json()["result"]["serverInfo"]["name"], "live", "initialize goes to the server")
    r.client.send(handshake()[2][1:])
    eq(said(r.ask(call(5, "read", a=1))), 'live {"a": 1}', "a live answer")
    r.end()
    eq(methods(t), ["initialize", "notifications/initialized", "tools/call read"], "what the server got")
    eq(lines(path)[0]["record_level"], "full", "the header")
    check("redact_rules" in lines(path)[0], "the rules are in the header")
    count = len(asked(t))
    r = Replay(t, "--record-mode", "once", path, *server(t))
    r.client.send(handshake()[0][1:])
    eq(r.client.recv_json()["result"]["serverInfo"]["name"], "live", "initialize is replayed")
    r.client.send(handshake()[2][1:])
    eq(said(r.ask(call(6, "read", a=1))), 'live {"a": 1}', "a recorded answer")
    r.refuses(call(7, "read", a=2), -32602, "not recorded")
    r.end(1)
    eq(len(asked(t)), count, "what the server got the second time")


@case("all: nothing is replayed, and the file is replaced at the end")
def _(t):
    path = cassette(t, RECORDED)
    r = Replay(t, "--record-mode", "all", path, *server(t))
    r.client.send(handshake()[0][1:])
    r.client.recv_json()
    r.client.send(handshake()[2][1:])
    eq(said(r.ask(call(1, "read", a=1))), 'live {"a": 1}', "a live answer to what was recorded")
    r.end()
    eq(len(lines(path)), 7, "lines of the new cassette")
    Replay(t, path).play([b">" + call(1, "read", a=1), b"<" + text(1, 'live {"a": 1}')]).end()


@case("requests of the live server, progress and cancellation pass with ids that do not collide")
def _(t):
    path = cassette(t, RECORDED)
    r = Replay(t, "--record-mode", "append", path, *server(t)).play(handshake())
    r.client.send(call(1, "ask"))
    question = r.client.recv_json()
    eq(question["method"], "elicitation/create", "what the client is asked")
    r.client.send(lib.result(question["id"], {"action": "decline"}))
    eq(said(r.client.recv_json()), '{"action": "decline"}', "the client's answer reached the server")
    r.client.send(request(2, "tools/call", {"name": "steps", "arguments": {}, "_meta": {"progressToken": "p"}}))
    eq([r.client.recv_json().get("params", {}).get("progress") for _ in range(2)], [0, 1], "progress")
    eq(said(r.client.recv_json()), "stepped", "the answer after it")
    r.client.send(call(3, "hang"))
    lib.wait_until(lambda: "tools/call hang" in methods(t), 10, "the call is at the server")
    r.client.send(lib.note("notifications/cancelled", {"requestId": 3}))
    lib.wait_until(lambda: "notifications/cancelled" in methods(t), 10, "the server is told")
    hang = next(m for m in asked(t) if (m.get("params") or {}).get("name") == "hang")
    eq(asked(t)[-1]["params"]["requestId"], hang["id"], "which request is cancelled")
    eq(said(r.ask(call(4, "read", a=9))), 'live {"a": 9}', "the server goes on")
    r.end()
    again = Replay(t, path).play(handshake())
    again.client.send(call(1, "ask"))
    eq(again.client.recv_json()["method"], "elicitation/create", "the question is recorded")


@case("--catch-up sends what only reads, in order, and no write and no secret; its answers go nowhere")
def _(t):
    script = [*handshake(), b">" + call(1, "read", a=1), b"<" + text(1, "one"), b">" + call(2, "write", a=1),
              b"<" + text(2, "written"), b">" + call(3, "read", a="[redacted:github-token]"), b"<" + text(3, "three"),
              b">" + request(4, "resources/read", {"uri": "file:///a"}), b"<" + lib.result(4, {"contents": []})]
    r = Replay(t, "--on-miss", "live", "--catch-up", cassette(t, script), *server(t)).play(script)
    eq(said(r.ask(call(9, "read", a=2))), 'live {"a": 2}', "the live answer, and nothing before it")
    r.end()
    eq(methods(t), ["initialize", "notifications/initialized", "tools/list", "tools/call read", "resources/read",
                    "tools/call read"], "what the server got")


@case("revision 2026-07-28: no handshake, and a request of another revision than the recorded one stays a miss")
def _(t):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}}

    def modern(n, name, version="2026-07-28", **arguments):
        return request(n, "tools/call", {"name": name, "arguments": arguments,
                                         "_meta": {**meta, "io.modelcontextprotocol/protocolVersion": version}})
    path = cassette(t, [b">" + modern(1, "read", a=1), b"<" + lib.result(1, {"resultType": "complete", "content": []})])
    r = Replay(t, "--on-miss", "live", path, *server(t))
    eq(said(r.ask(modern(1, "read", a=2))), 'live {"a": 2}', "a live answer")
    eq(methods(t), ["tools/call read"], "what the server got")
    check("error" in r.ask(call(2, "read", a=3)), "a request of an older revision")
    r.end(1)


@case("a server that cannot be started, rejects the handshake or exits: honest errors, and the replay goes on")
def _(t):
    path = cassette(t, RECORDED)
    for more, word in ((["--", t.tmp / "missing"], "live server"), (server(t, "rejects"), "rejected initialize"),
                       (server(t, "no-start"), "live server")):
        r = Replay(t, "--on-miss", "live", path, *more).play(handshake())
        answer = r.ask(call(5, "read", a=2))
        check("error" in answer and word in answer["error"]["message"], lambda: f"{word}: {answer}")
        eq(said(r.ask(call(6, "read", a=1))), "one", "a recorded answer")
        check("error" in r.ask(call(7, "read", a=2)), "the next miss")
        r.end(1)
        check("the live server did not answer: requests=2" in r.stderr(), r.stderr)
    r = Replay(t, "--record-mode", "append", "--report", t.tmp / "report", "--junit", t.tmp / "junit", path, *server(t)).play(handshake())
    check("error" in r.ask(call(5, "exit", password="hunter2Xy")), "the call that ends the server")
    eq(said(r.ask(call(6, "write", a=1))), "written", "a recorded answer")
    check("error" in r.ask(call(7, "read", a=2)), "a call after it")
    r.end(1)
    report = json.loads((t.tmp / "report").read_text())
    eq((report["exit_status"], report["live"], report["unanswered"], report["missed"]), (1, 2, 2, 0), "counts")
    eq([(f["kind"], f["failure"], f["method"], f.get("target")) for f in report["findings"] if f["failure"]],
       [("unanswered", True, "tools/call", "exit"), ("unanswered", True, "tools/call", "read")], "failures")
    eq(junit(t.tmp / "junit").get("failures"), "2", "failures of the JUnit suite")


@case("a request that the client cancels needs no answer of the live server")
def _(t):
    r = Replay(t, "--on-miss", "live", cassette(t, RECORDED), *server(t)).play(handshake())
    r.ask(call(4, "read", a=2))
    r.client.send(call(5, "hang"), lib.note("notifications/cancelled", {"requestId": 5}))
    eq(said(r.ask(call(6, "read", a=3))), 'live {"a": 3}', "the next answer")
    r.end()


@case("a signal ends it: the file is written, and no process is left; a file that cannot be written is an error")
def _(t):
    path = cassette(t, RECORDED)
    r = Replay(t, "--record-mode", "append", path, *server(t)).play(handshake())
    r.ask(call(5, "read", a=2))
    children = subprocess.run(["pgrep", "-P", str(r.proc.pid)], capture_output=True, text=True).stdout.split()
    check(children, "the live server runs")
    r.proc.send_signal(signal.SIGTERM)
    eq(r.wait(), 0, "status")
    lib.wait_until(lambda: not any(lib.alive(int(pid)) for pid in children), 5, "the server has ended")
    eq(len(lines(path)), 11, "lines")
    folder = t.tmp / "folder"
    folder.mkdir()
    inside = cassette(t, RECORDED, name="folder/c.jsonl")
    r = Replay(t, "--record-mode", "append", inside, *server(t)).play(handshake())
    r.ask(call(5, "read", a=2))
    inside.unlink()
    folder.rmdir()
    r.client.close_write()
    eq(r.wait(), 3, "status")
    check("cannot" in r.stderr() or "No such file" in r.stderr(), r.stderr)


@case("options that do not belong together are usage errors")
def _(t):
    path = cassette(t, RECORDED)
    for args, words in ((["--on-miss", "live", path], "missing server"), ([path, *server(t)], "only with --on-miss live"),
                        (["--record-mode", "append", "last", *server(t)], "requires a FILE"),
                        (["--record-mode", "new", path, *server(t)], "--output"),
                        (["-o", t.tmp / "x", path], "--output"), (["--catch-up", path], "--catch-up"),
                        (["--record-mode", "once", "--on-miss", "live", path, *server(t)], "omit --on-miss"),
                        (["--record-mode", "all", t.tmp / "y.jsonl"], "missing server"), ([path, path], "unexpected argument")):
        r = t.run("replay", *args)
        eq(r.returncode, 2, f"status of {args}: {r.stderr}")
        check(words in r.stderr.decode(), lambda: f"{words!r} not in {r.stderr}")


MISSES = 500 if lib.SIZES_MEAN_NOTHING else 10000 if os.environ.get("TEST_LONG") else 3000


@case(f"{MISSES:,} misses with 64 in flight are answered in order")
def _(t):
    path = cassette(t, RECORDED)
    r = Replay(t, "--on-miss", "live", path, *server(t)).play(handshake())
    sent = got = 0
    while got < MISSES:
        while sent < MISSES and sent - got < 64:
            r.client.send(call(100 + sent, "read", a=sent, pad="p" * 2000))
            sent += 1
        answer = r.client.recv_json(60)
        eq(answer["id"], 100 + got, "the order of the answers")
        got += 1
    r.end()


if __name__ == "__main__":
    lib.main()
