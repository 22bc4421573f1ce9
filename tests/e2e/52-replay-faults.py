#!/usr/bin/env python3
"""Replay: each kind of --fault, and the replay of recorded timeouts, crashes and cancellations."""
import json
import time

import lib
from lib import Background, call, case, check, eq, note, request, result, text_result
from replaying import Replay, cassette, handshake


def script(n=3):
    lines = handshake()
    for i in range(n):
        lines += [b">" + call(i, "echo", {"n": i}), b"<" + text_result(i, f"answer {i}")]
    return lines


def faulty(t, *faults, **more):
    options = [x for fault in faults for x in ("--fault", fault)]
    return Replay(t, *options, cassette(t, script()), vault=False, **more).play(handshake())


def good(replay, i):
    eq(replay.ask(call(f"id {i}", "echo", {"n": i})), json.loads(text_result(f"id {i}", f"answer {i}")), "the answer")


@case("hang: this request gets no answer, the others do")
def _(t):
    replay = faulty(t, "hang@tools/call:echo#2")
    good(replay, 0)
    replay.client.send(call(1, "echo", {"n": 1}))
    good(replay, 2)
    replay.end()


@case("hang: a request that is cancelled leaves nothing behind")
def _(t):
    replay = faulty(t, "hang@tools/call#1")
    replay.client.send(call(7, "echo", {"n": 0}), note("notifications/cancelled", {"requestId": 7}))
    good(replay, 0)
    replay.end()


@case("delay: this answer comes later, the others do not")
def _(t):
    replay = faulty(t, "delay=6s@tools/call:echo#1")
    start = time.monotonic()
    replay.client.send(call(0, "echo", {"n": 0}))
    good(replay, 1)
    replay.client.expect(text_result(0, "answer 0"))
    check(time.monotonic() - start >= 6, "the answer came too early")
    replay.end()


@case("error: an error with this code replaces the answer")
def _(t):
    replay = faulty(t, "error=-32042@tools/*:echo#2")
    good(replay, 0)
    got = replay.ask(call(5, "echo", {"n": 1}))
    eq((got["error"]["code"], got["error"]["data"]), (-32042, {"source": "mcp-interposer", "cause": "fault"}), "the error")
    good(replay, 1)
    replay.end()


@case("close: stdout is closed, and the process runs until the end of stdin")
def _(t):
    replay = faulty(t, "close@tools/call#2")
    good(replay, 0)
    replay.client.send(call(1, "echo", {"n": 1}))
    replay.client.expect_eof()
    eq(replay.proc.poll(), None, "the process")
    replay.client.send(call(2, "echo", {"n": 2}))
    replay.client.close_write()
    eq(replay.wait(), 0, "exit status")


@case("crash: SIGKILL instead of the answer, after the reports are written")
def _(t):
    report = t.tmp / "report.json"
    replay = Replay(t, "--fault", "crash@tools/call#2", "--report", report, cassette(t, script()), vault=False).play(handshake())
    good(replay, 0)
    replay.client.send(call(1, "echo", {"n": 1}))
    replay.client.expect_eof()
    eq(replay.wait(), 128 + 9, "exit status")
    eq(json.loads(report.read_text())["faults"], 1, "faults in the report")


@case("garbage: an invalid line, then the answer")
def _(t):
    replay = faulty(t, "garbage@tools/call:echo#1")
    replay.client.send(call(0, "echo", {"n": 0}))
    line = replay.client.recv()
    try:
        json.loads(line)
        raise lib.Failure(f"that is JSON: {line}")
    except ValueError:
        replay.client.expect(text_result(0, "answer 0"))
    good(replay, 1)
    replay.end()


@case("truncate: half of the answer, then the end")
def _(t):
    replay = faulty(t, "truncate@tools/call#1")
    replay.client.send(call(0, "echo", {"n": 0}))
    whole = text_result(0, "answer 0")
    eq(replay.client.rest(), whole[:len(whole) // 2], "what comes")
    replay.client.close_write()
    eq(replay.wait(), 0, "exit status")


@case("duplicate: the answer twice; wrong-id: the answer with an unknown id")
def _(t):
    replay = faulty(t, "duplicate@tools/call#1", "wrong-id@tools/call#2")
    good(replay, 0)
    replay.client.expect(text_result("id 0", "answer 0"))
    for id in 1, "one":
        replay.client.send(call(id, "echo", {"n": 1}))
        got = replay.client.recv_json()
        if id == 1:
            check(isinstance(got["id"], int) and got["id"] != 1, f"a wrong number: {got}")
        eq(got["result"]["content"][0]["text"], "answer 1", "the answer")
    replay.end()


@case("equal requests get the same faults, and the first matching fault applies")
def _(t):
    said = []
    for _ in range(2):
        replay = faulty(t, "error=-1@tools/call:echo#2", "error=-2@tools/call:echo", "error=-3@prompts/*")
        said.append([replay.ask(call(i, "echo", {"n": i}))["error"]["code"] for i in range(3)])
        replay.end()
    eq(said, [[-2, -1, -2]] * 2, "codes")


@case("an unknown fault is an error that lists the kinds")
def _(t):
    for fault, *words in (("melt@tools/call", "melt", "wrong-id"), ("hang", "KIND@METHOD"), ("hang@", "KIND@METHOD"),
                          ("error@x", "error=VALUE"), ("error=x@x", "a code"), ("delay=x@x", "a duration"),
                          ("hang=1@x", "takes no value"), ("hang@tools/cal", "did you mean 'tools/call'?", "KIND@METHOD")):
        done = t.run("replay", "--fault", fault, cassette(t, script()))
        eq(done.returncode, 2, f"status of --fault {fault}")
        for word in words:
            check(word in done.stderr.decode(), lambda: f"{word!r} is not in {done.stderr}")


@case("a fault that no request got is named at the end")
def _(t):
    replay = faulty(t, "hang@tools/call:ech", "error=-5@tools/call:echo", "hang@own/method")
    eq(replay.ask(call(1, "echo", {"n": 1}))["error"]["code"], -5, "code")
    replay.end()
    for fault in ("hang@tools/call:ech", "hang@own/method"):
        check(f"a fault was never injected, because no request matched it: fault={fault}\n" in replay.stderr(), fault)
    check("fault=error" not in replay.stderr(), "the fault that was injected")


# --- floods ---------------------------------------------------------------------------------------------

@case("the memory of a large line is returned to the system")
def _(t):
    if lib.SIZES_MEAN_NOTHING:
        raise lib.Skip(f"sizes under {lib.UNDER} say nothing")
    replay = Replay(t, cassette(t, handshake() + [b">" + call(1), b"<" + text_result(1, "one")])).play(handshake())
    replay.ask(call(1))
    before = lib.kib(replay.proc.pid, "VmRSS")
    with Background(replay.client.write, b"x" * (24 << 20) + b"\n", 60):
        eq(replay.client.recv_json(60)["error"]["code"], -32700, "the answer to a line that is not JSON")
    lib.wait_until(lambda: lib.kib(replay.proc.pid, "VmRSS") < before + 4096, 10,
                   lambda: f"{before} KiB resident before, {lib.kib(replay.proc.pid, 'VmRSS')} after")
    check(lib.kib(replay.proc.pid, "VmHWM") > before + (16 << 10), "the line was in memory")
    replay.end(1)


@case("a flood of notifications takes bounded memory while the client does not read")
def _(t):
    n, pad = 40_000, "x" * 500
    file = t.tmp / "flood.jsonl"
    with file.open("wb") as f:
        f.write(b'{"format":"mcp-interposer-cassette","version":1,"name":"flood"}\n')
        for line in handshake():
            f.write(b'{"t":1,"dir":"%s","msg":%s}\n' % (b"c2s" if line[:1] == b">" else b"s2c", line[1:]))
        for i in range(n):
            f.write(b'{"t":2,"dir":"s2c","msg":%s}\n' % note(params={"level": "info", "data": f"{i} {pad}"}))
        f.write(b'{"t":3,"dir":"c2s","msg":%s}\n{"t":4,"dir":"s2c","msg":%s}\n{"end":true}\n' % (call(1), text_result(1, "end")))
    eq(t.run("import", "--vault", t.vault, file).returncode, 0, "import")
    replay = Replay(t).play(handshake())
    replay.client.send(call(1))
    lib.at_rest(replay.proc.pid)
    if not lib.SIZES_MEAN_NOTHING:
        check(lib.kib(replay.proc.pid, "VmHWM") < 16 * 1024, f"{lib.kib(replay.proc.pid, 'VmHWM')} KiB")
    start = time.monotonic()
    for i in range(n):
        line = replay.client.recv()
        check(b'"%d x' % i in line, lambda: f"number {i} is {line[:100]}")
    replay.client.expect(text_result(1, "end"))
    check(time.monotonic() - start < 100 * lib.SLOW, f"{time.monotonic() - start:.1f} s")
    replay.end()


# --- recorded trouble -----------------------------------------------------------------------------------

@case("a recorded timeout is replayed as the error that the client got")
def _(t):
    p = t.proxy("--timeout", "tools/call=300ms", "--on-hang", "cancel").initialize()
    p.client.send(call(1, "slow"))
    p.server.expect(call(1, "slow"))
    got = p.client.recv_json()
    eq(got["error"]["code"], -32001, "the error")
    p.server.recv()
    p.end()
    replay = Replay(t).play(handshake())
    eq(replay.ask(call(5, "slow"))["error"], got["error"], "the error of the replay")
    replay.end()


@case("a recorded crash is replayed: the pending request gets its error, and the mock server exits")
def _(t):
    p = t.proxy().initialize()
    p.client.send(call(1, "boom"))
    p.server.expect(call(1, "boom"))
    p.server.exit(7)
    got = p.client.recv_json()
    eq(got["error"]["code"], -32000, "the error")
    p.client.expect_eof()
    eq(p.wait(), 7, "exit status of the proxy")
    replay = Replay(t).play(handshake())
    eq(replay.ask(call(5, "boom"))["error"], got["error"], "the error of the replay")
    replay.client.expect_eof()
    eq(replay.wait(), 7, "exit status of the replay")


@case("a crash with a restart is replayed as an error, followed by the later answers")
def _(t):
    server = t.tmp / "server.py"
    server.write_text("""
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m.get("params", {}).get("name") == "boom":
        os.kill(os.getpid(), 9)
    r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r if m["method"] == "initialize" else {"content": []}}), flush=True)
""")
    p = t.proxy("--restarts", "3", server=["python3", "-S", server])

    def ask(client, line):
        client.send(line)
        return client.recv_json(20)
    lines = [handshake()[0][1:], call(1, "a"), call(2, "boom"), call(3, "b"), request(4)]
    recorded = [ask(p.client, lines[0])]
    p.client.send(handshake()[2][1:])
    recorded += [ask(p.client, line) for line in lines[1:]]
    eq([x.get("error", {}).get("code") for x in recorded], [None, None, -32000, None, None], "what was recorded")
    p.client.close_write()
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")
    replay = Replay(t, "--strict")
    eq([ask(replay.client, line) for line in lines], recorded, "the replay")
    replay.end()


@case("a recorded cancellation: a client that cancels gets no answer, one that waits gets an error")
def _(t):
    p = t.proxy().initialize()
    p.client.send(call(1, "long"))
    p.server.recv()
    p.client.send(note("notifications/cancelled", {"requestId": 1}))
    p.server.recv()
    p.round(2)
    p.end()
    replay = Replay(t).play(handshake())
    replay.client.send(call("a", "long"), note("notifications/cancelled", {"requestId": "a"}))
    eq(replay.ask(request(3))["result"], {}, "ping")
    replay.end()
    replay = Replay(t).play(handshake())
    replay.client.send(call("a", "long"))
    got = replay.client.recv_json(10)
    eq((got["id"], got["error"]["data"]["cause"]), ("a", "no-answer"), "the error")
    replay.end(1)


@case("a request that was pending when the proxy was killed gets an error, also if the client has closed its end")
def _(t):
    p = t.proxy().initialize()
    p.round(1)
    p.client.send(call(2, "long"))
    p.server.recv()
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages") == [(6,)], 5, "the request is stored")
    p.die()
    lib.wait_until(lambda: t.rows("SELECT end_reason FROM sessions") == [(b"killed",)], 10, "the session is closed")
    for closes in (False, True):
        replay = Replay(t).play(handshake())
        eq(replay.ask(request("b", "ping"))["result"], {}, "ping")
        replay.client.send(call("a", "long"))
        if closes:
            replay.client.close_write()
        got = replay.client.recv_json(10)
        eq((got["id"], got["error"]["data"]["cause"]), ("a", "no-answer"), "the error")
        replay.end(1)


@case("a cancelled request that was answered in the recording gets no answer")
def _(t):
    lines = handshake() + [b">" + request(1, "tools/call", {"name": "slow", "_meta": {"progressToken": 1}}),
                           b"<" + note("notifications/progress", {"progressToken": 1, "progress": 1}),
                           b"<" + note("notifications/progress", {"progressToken": 1, "progress": 2}),
                           b"<" + text_result(1, "done"), b">" + call(2, "next"), b"<" + text_result(2, "next")]
    path = cassette(t, lines)
    rows = [json.loads(x) for x in path.read_text().splitlines()]
    for row in rows[1 + lines.index(lines[5]):-1]:       # the second report and what follows: the client has time to cancel
        row["t"] += 8_000_000
    path.write_text("".join(json.dumps(x) + "\n" for x in rows))
    replay = Replay(t, "--speed", "1", path, vault=False).play(handshake())
    replay.client.send(request(9, "tools/call", {"name": "slow", "_meta": {"progressToken": 9}}))
    eq(replay.client.recv_json()["params"], {"progressToken": 9, "progress": 1}, "progress")
    replay.client.send(note("notifications/cancelled", {"requestId": 9}))
    replay.ask(call(2, "next"))
    replay.end()


@case("recorded stderr lines are repeated")
def _(t):
    p = t.proxy().initialize()
    p.server.say_err(b"a word\n")
    lib.wait_until(lambda: t.messages("kind = 'stderr'"), 5, "the line is recorded")
    p.round(1)
    p.end()
    replay = Replay(t).play(handshake())
    eq(replay.ask(request(1))["result"], {}, "ping")
    replay.end()
    check("a word\n" in replay.stderr(), lambda: replay.stderr())


@case("--speed: as fast as recorded, faster, slower")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request(1, "tools/call", {"name": "slow", "_meta": {"progressToken": 1}}))
    p.server.recv()
    time.sleep(0.4)  # the interval is as recorded
    p.server.send(note("notifications/progress", {"progressToken": 1, "progress": 1}))
    p.client.recv()
    p.server.send(result(1))
    p.client.recv()
    p.end()
    # The same call, recorded as one of an hour.
    header, *lines = t.run("export", "--vault", t.vault).stdout.decode().splitlines()
    slow = [json.loads(line) for line in lines]
    for m in slow[-3:-1]:
        m["t"] += 3_600_000_000
    hour = t.tmp / "hour.jsonl"
    hour.write_text("".join(f"{x}\n" for x in [header, *(lib.dump(m).decode() for m in slow)]))
    for args, least in (["--speed", "1"], 0.4), (["--speed", "2"], 0.2), (["--speed", "0", hour], 0), (["--speed", "10000", hour], 0.36):
        replay = Replay(t, *args).play(handshake())
        start = time.monotonic()
        replay.client.send(request(1, "tools/call", {"name": "slow", "_meta": {"progressToken": 1}}))
        replay.client.recv()
        took = time.monotonic() - start
        check(least <= took, f"{args}: {took:.3f} s")
        replay.client.expect(result(1))
        replay.end()
    eq(t.run("replay", "--speed", "fast").returncode, 2, "a speed that is none")


if __name__ == "__main__":
    lib.main()
