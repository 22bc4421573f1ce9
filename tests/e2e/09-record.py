#!/usr/bin/env python3
"""What a plain session records: rows, links between requests and answers, log lines."""
import datetime
import hashlib
import json
import os
import re
import socket
import sqlite3
import time

import lib
from lib import case, check, eq, error, note, one_of, request, result, text_result


def transcript(p):
    """A session with every kind of message. Returns the messages in order of acceptance."""
    said = []

    def c2s(line):
        p.client.send(line)
        p.server.expect(line)
        said.append(("c2s", line))

    def s2c(line):
        p.server.send(line)
        p.client.expect(line)
        said.append(("s2c", line))

    c2s(request(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
                                  "clientInfo": {"name": "probe client", "version": "1.2.3"}}))
    s2c(result(0, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "probe server", "version": "4.5.6"}}))
    c2s(note("notifications/initialized"))
    c2s(request(1, "tools/list"))
    s2c(result(1, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))
    c2s(lib.call("call-1", "echo", {"text": "hello", "n": [1, 2.50]}))
    s2c(note("notifications/progress", {"progressToken": 1, "progress": 0.5}))
    s2c(request(0, "roots/list"))
    c2s(result(0, {"roots": []}))
    s2c(text_result("call-1", "hello to you"))
    c2s(lib.call(2, "broken"))
    s2c(text_result(2, "it broke", isError=True))
    c2s(lib.call(3, "missing"))
    s2c(error(3, -32602, "Unknown tool: missing"))
    c2s(request("r", "resources/read", {"uri": "file:///a b"}))
    s2c(result("r", {"contents": []}))
    c2s(request("p", "prompts/get", {"name": "greet", "arguments": {}}))
    s2c(result("p", {"messages": []}))
    c2s(lib.call(4, "slow"))
    c2s(note("notifications/cancelled", {"requestId": 4, "reason": "bored"}))
    c2s(lib.call(5, "never"))
    return said


GONE = [b"5"]        # the request that the transcript leaves without an answer


@case("the working directory is recorded, as it is sanitized")
def _(t):
    secret = "ghp_" + hashlib.sha256(b"a directory").hexdigest()[:36]
    for name, want in ((b"project", b"project"), (b"bytes \xff", "bytes \ufffd".encode()), (secret.encode(), b"[redacted:github-token]")):
        folder = os.fsencode(t.home) + b"/" + name
        os.mkdir(folder)
        p = t.proxy(cwd=folder).initialize()
        p.end(gone=())
        stored, = t.rows("SELECT cwd FROM sessions ORDER BY id DESC LIMIT 1")[0]
        eq(stored, os.fsencode(t.home) + b"/" + want, f"the directory {name}")
    p = t.proxy(cwd=folder, prefix=("sh", "-c", 'rmdir "$PWD"; exec "$@"', "-")).initialize()
    p.end(gone=())
    eq(t.rows("SELECT cwd FROM sessions ORDER BY id DESC LIMIT 1"), [(None,)], "a directory that was removed")


@case("a plain session has the expected rows in sessions, messages, events and invocations")
def _(t):
    began = time.time()
    p = t.proxy("--name", "demo")
    said = transcript(p)
    p.end(gone=GONE)
    ended = time.time()

    with lib.database(t.vault) as db:
        s = dict(db.execute("SELECT * FROM sessions").fetchone())
        eq(db.execute("SELECT count(*) FROM sessions").fetchone()[0], 1, "sessions")
        eq(db.execute("PRAGMA user_version").fetchone()[0] > 0, True, "user_version is set")
        strict = [r[0].decode() for r in db.execute(
            "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND schema = 'main' "
            "AND name NOT LIKE 'sqlite_%'")]
    eq(strict, [], "tables that are not STRICT")
    eq(s["name"], b"demo", "name")
    eq(json.loads(s["command"]), p.command, "command")
    eq((s["client_name"], s["client_version"]), (b"probe client", b"1.2.3"), "client")
    eq((s["server_name"], s["server_version"]), (b"probe server", b"4.5.6"), "server")
    eq(s["protocol_version"], b"2025-06-18", "protocol_version")
    check(began - 1 <= s["started_at_us"] / 1e6 <= s["ended_at_us"] / 1e6 <= ended + 1, "start and end of the session")
    check(s["uid"] and re.fullmatch(rb"[A-Za-z0-9._-]+", s["uid"]), f"uid {s['uid']}")
    eq(s["exit_status"], 0, "exit_status")
    check(s["end_reason"], "end_reason")
    eq(s["pid"], p.pid if lib.UNDER != "valgrind" else s["pid"], "pid")
    eq(s["host"].decode(), socket.gethostname(), "host")
    check(s["record_level"], "record_level")
    check(s["interposer_version"] in t.run("--version").stdout, f"interposer_version {s['interposer_version']}")

    rows = t.messages()
    last = rows.pop()
    eq((last.origin, last.kind, last.direction, last.rpc_id), ("interposer", "error", "s2c", b"5"), "the last row")
    eq([(m.direction, m.body) for m in rows], said, "messages")
    eq([m.seq for m in rows], list(range(1, len(said) + 1)), "seq")
    session_id = rows[0].session_id
    eq([m.id for m in rows], [session_id * 2**36 + m.seq for m in rows], "id is session and seq")
    eq([m.size for m in rows], [len(line) for _, line in said], "size")
    check(all(a.t_us <= b.t_us for a, b in zip(rows, rows[1:])), "t_us goes back")
    check(rows[0].t_us >= 0 and rows[-1].t_us <= (ended - began) * 1e6, "t_us is the time since the start")
    eq({(m.origin, m.action, m.redactions, m.batch_seq) for m in rows}, {("peer", "forwarded", 0, None)}, "rows")
    by_line = {m.body: m for m in rows}

    def facts(line):
        m = by_line[line]
        return m.kind, m.rpc_id, m.method, m.target
    for direction, line in said:
        v = json.loads(line)
        kind = ("request" if "id" in v else "notification") if "method" in v else "result" if "result" in v else "error"
        got = facts(line)
        eq(got[0], kind, f"kind of {lib.short(line)}")
        eq(got[1], lib.dump(v["id"]) if "id" in v else None, f"rpc_id of {lib.short(line)}")
        if "method" in v:
            eq(got[2], v["method"].encode(), f"method of {lib.short(line)}")
        params = v.get("params", {})
        target = params.get("name") or params.get("uri")
        if kind == "request" and v["method"] != "initialize":
            eq(got[3], target.encode() if target else None, f"target of {lib.short(line)}")

    # Each answer to its request, the same ids of both sides kept apart.
    asked = {}
    for direction, line in said:
        v = json.loads(line)
        if "method" in v and "id" in v:
            asked[direction, lib.dump(v["id"])] = by_line[line].seq
        elif "id" in v:
            other = "s2c" if direction == "c2s" else "c2s"
            eq(by_line[line].request_seq, asked[other, lib.dump(v["id"])], f"request_seq of {lib.short(line)}")
    cancel = next(m for m in rows if m.method == b"notifications/cancelled")
    one_of(cancel.request_seq, (None, asked["c2s", b"4"]), "request_seq of the cancellation")

    inv = {r[0]: r[1:] for r in t.rows(
        "SELECT request_seq, status, error_code, method, target, request_size, response_size, response_seq, "
        "started_at_us, duration_us FROM invocations WHERE session_id = ?", session_id)}
    eq(sorted(inv), sorted(seq for (d, _), seq in asked.items() if d == "c2s"), "invocations")
    want = {b"0": b"ok", b"1": b"ok", b'"call-1"': b"ok", b"2": b"tool-error", b"3": b"error", b'"r"': b"ok",
            b'"p"': b"ok", b"4": b"cancelled"}
    for rid, status in want.items():
        got = inv[asked["c2s", rid]]
        eq(got[0], status, f"status of request {rid.decode()}")
        eq(got[1], -32602 if rid == b"3" else None, f"error_code of request {rid.decode()}")
        ask = rows[asked["c2s", rid] - 1]
        eq((got[2], got[3], got[4]), (ask.method, ask.target, ask.size), f"request {rid.decode()}")
        if status != b"cancelled":
            answer = next(m for m in rows if m.direction == "s2c" and m.rpc_id == rid and m.kind in ("result", "error"))
            eq((got[6], got[5]), (answer.seq, answer.size), f"answer to request {rid.decode()}")
            eq(got[8], answer.t_us - ask.t_us, f"duration of request {rid.decode()}")
            eq(got[7], s["started_at_us"] + ask.t_us, f"start of request {rid.decode()}")
    eq((inv[asked["c2s", b"5"]][0], inv[asked["c2s", b"5"]][6]), (b"server-gone", last.seq),
       "status and answer of the request without an answer")

    events = t.rows("SELECT kind, t_us, detail FROM events WHERE session_id = ? ORDER BY id", session_id)
    kinds = [k.decode() for k, _, _ in events]
    check(kinds[:1] == ["spawn"] and "exit" in kinds, f"events: {kinds}")
    for kind, at, detail in events:
        check(at >= 0, f"time of {kind}")
        if detail is not None:
            json.loads(detail)


@case("the log directory: one line for each finished invocation")
def _(t):
    before = datetime.datetime.now(datetime.timezone.utc)
    p = t.proxy("--name", "demo")
    transcript(p)
    p.end(gone=GONE)
    raw = t.log_lines()
    after = datetime.datetime.now(datetime.timezone.utc)
    files = sorted(f.name for f in (t.vault / "Logs/MCP_Actions").iterdir())
    check(set(files) <= {f"{d:%Y-%m-%d}.jsonl" for d in (before, after)}, f"files: {files}")
    lines = [json.loads(x) for x in raw]
    keys = {"time", "session", "server", "method", "tool", "arguments", "status", "error", "duration_ms",
            "request_bytes", "response_bytes", "result", "commitment"}
    for x in lines:
        check(set(x) <= keys | {"target", "seq", "id"}, f"keys of {x}")
        check({"time", "session", "server", "method", "status", "duration_ms"} <= set(x), f"keys of {x}")
        eq(x["server"], "demo", "server")
        eq(x["session"].encode(), t.rows("SELECT uid FROM sessions")[0][0], "session")
        at = datetime.datetime.fromisoformat(x["time"].replace("Z", "+00:00"))
        check(before.timestamp() - 1 <= at.timestamp() <= after.timestamp() + 1, f"time {x['time']}")
        check(x["duration_ms"] >= 0, f"duration of {x}")
    calls = {x.get("tool"): x for x in lines if x["method"] == "tools/call"}
    eq({k: v["status"] for k, v in calls.items()},
       {"echo": "ok", "broken": "tool-error", "missing": "error", "slow": "cancelled", "never": "server-gone"},
       "calls in the log")
    echo = calls["echo"]
    eq(echo["arguments"], {"text": "hello", "n": [1, 2.5]}, "arguments of echo")
    eq(echo["request_bytes"], len(lib.call("call-1", "echo", {"text": "hello", "n": [1, 2.50]})), "request_bytes")
    eq(echo["response_bytes"], len(text_result("call-1", "hello to you")), "response_bytes")
    check(not echo.get("error"), f"error of echo: {echo.get('error')}")
    check(echo["result"], "no result of echo")
    check("Unknown tool: missing" in json.dumps(calls["missing"]["error"]) or
          -32602 == calls["missing"]["error"], f"error of missing: {calls['missing']['error']}")
    others = sorted(x["method"] for x in lines if x["method"] != "tools/call")
    eq(others, ["initialize", "prompts/get", "resources/read", "tools/list"], "other invocations in the log")


@case("the log directory has the first 50 characters of a result, none of them split")
def _(t):
    p = t.proxy().initialize()
    text = "é😀" * 500
    p.client.send(lib.call(1, "long", {"q": 1}))
    p.server.recv()
    p.server.send(text_result(1, text))
    p.client.expect(text_result(1, text))
    p.end()
    line = next(x for x in t.log_lines() if b'"tools/call"' in x)
    shown = json.loads(line)["result"]
    check(len(line) < 2000, f"a line of {len(line)} bytes")
    check(shown and text not in shown, "the result is not cut")
    check("�" not in shown, f"a character was cut in two: {shown!r}")


@case("--sync full: messages wait while the database is locked for a moment")
def _(t):
    p = t.proxy("--sync", "full").initialize()
    for end, other, line in ((p.client, p.server, request(1, "tools/list")), (p.server, p.client, result(1))):
        db = sqlite3.connect(t.vault / "interposer.db", isolation_level=None, timeout=10)
        db.execute("BEGIN EXCLUSIVE")
        end.send(line)
        seen = other.fill(time.monotonic() + 0.3)
        db.execute("ROLLBACK")
        db.close()
        check(not seen, f"the {other.name} was sent something, with nothing committed")
        other.expect(line)
        eq(len(t.messages("CAST(body AS BLOB) = ?", line)), 1, "rows of the line")
    p.end()
    eq(t.rows("SELECT count(*) FROM events WHERE kind = 'gap'"), [(0,)], "gaps")


@case("the name of a server defaults to that of its command")
def _(t):
    p = t.proxy()
    p.end()
    eq(t.rows("SELECT name FROM sessions"), [(b"puppet",)], "name")


@case("--sync full records the same")
def _(t):
    p = t.proxy("--sync", "full", "--name", "demo")
    said = transcript(p)
    p.end(gone=GONE)
    eq([(m.direction, m.body) for m in t.messages("origin = 'peer'")], said, "messages")


@case("sessions and show print what was recorded, as text and as JSON")
def _(t):
    for name in ("older", "newer"):
        p = t.proxy("--name", name)
        transcript(p)
        p.end(gone=GONE)
    r = t.run("sessions", "--vault", t.vault)
    eq(r.returncode, 0, f"exit status of sessions; {r.stderr!r}")
    for name in (b"older", b"newer"):
        check(name in r.stdout, f"{name.decode()} is not listed")
    check(b"\x1b" not in r.stdout, "colours in a pipe")
    r = t.run("sessions", "--json", "--vault", t.vault)
    eq(r.returncode, 0, "exit status of sessions --json")
    listed = read_json(r.stdout)
    eq(sorted(x["name"] for x in listed), ["newer", "older"], "names in sessions --json")
    eq({x["uid"].encode() for x in listed}, {u for u, in t.rows("SELECT uid FROM sessions")}, "uids in sessions --json")

    r = t.run("show", "--vault", t.vault)
    eq(r.returncode, 0, f"exit status of show; {r.stderr!r}")
    check(b"newer" in r.stdout and b"tools/call" in r.stdout and b"echo" in r.stdout, "show says too little")
    check(b"\x1b" not in r.stdout, "colours in a pipe")
    older = t.rows("SELECT uid, id FROM sessions WHERE name = 'older'")[0]
    for which in (older[0].decode(), str(older[1])):
        r = t.run("show", which, "--json", "--vault", t.vault)
        eq(r.returncode, 0, f"exit status of show {which}; {r.stderr!r}")
        check(b"older" in r.stdout or older[0] in r.stdout or b"probe client" in r.stdout, "not the session asked for")
        read_json(r.stdout)
    r = t.run("show", "no-such-session", "--vault", t.vault)
    one_of(r.returncode, (1, 2, 3), "exit status of show for a session that is not there")
    check(r.stderr, "nothing is said")
    r = t.run("sessions", "--vault", t.tmp / "nowhere")
    check(not (t.tmp / "nowhere").exists(), "reading made a vault")
    eq(r.stdout, b"", "stdout without a vault")


def read_json(data):
    """One JSON text, or one a line."""
    try:
        v = json.loads(data)
        return v if isinstance(v, list) else [v]
    except ValueError:
        return [json.loads(x) for x in data.splitlines()]


@case("show reads a running session")
def _(t):
    p = t.proxy("--name", "live").initialize()
    p.round()
    r = t.run("show", "--vault", t.vault)
    eq(r.returncode, 0, f"exit status of show; {r.stderr!r}")
    r = t.run("sessions", "--vault", t.vault)
    check(b"live" in r.stdout, "the live session is not listed")
    p.end()


@case("an idle session does not keep others from truncating the write-ahead log")
def _(t):
    p = t.proxy().initialize()
    p.round()
    lib.settle()
    db = sqlite3.connect(t.vault / "interposer.db", timeout=0)
    lib.wait_until(lambda: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0), 10,
                   "a checkpoint that nobody stops")
    db.close()
    p.round()
    p.end()
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


@case("a vault that another session has just closed is reused, and nothing in it is lost")
def _(t):
    for i in range(5):
        p = t.proxy().initialize()
        p.round(f"r{i}")
        p.end() if i % 2 else p.die()
        if not i % 2:
            p.server.exit()
    for i in range(5):
        # The recorder of a killed proxy may only be about to begin.
        lib.wait_until(lambda: len(t.messages("rpc_id = ?", f'"r{i}"')) == 2, 5, f"messages of session {i}")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


lib.main()
