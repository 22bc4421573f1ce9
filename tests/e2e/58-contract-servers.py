#!/usr/bin/env python3
"""The five contracts with live servers: the client passes with and without the interposer, the recording has all
messages, and the client passes against a replay of it. Then the server crashes, or hangs."""
import json
import re
import signal
import subprocess
import sys
import time

import lib
from contracts import CALL, CONFIRMS, FOLDER, INITIALIZE, LIMIT, NAMES, Talk, error_of, escalations, server
from lib import case, check, eq

def passes(t, name, *command):
    done = subprocess.run([sys.executable, "-S", FOLDER / f"{name}.py", *(str(x) for x in command)],
                          env=t.environ({"CONTRACT_SLOW": str(2 * lib.PATIENCE)}),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * lib.PATIENCE)
    eq(done.returncode, 0, f"{name}: {done.stderr.decode()}")
    return done.stderr.decode()


def said(lines, direction):
    return [m["msg"] for m in map(json.loads, lines) if m.get("dir") == direction and m["msg"].get("method") != "shutdown"
            and m["msg"].get("result") != {}]


def handshake(number):
    """The first messages that a new process receives."""
    return (number in INITIALIZE) * ["initialize"] + (number in CONFIRMS) * ["notifications/initialized"]


def declare(number, name):
    @case(f"contract {number}: the client passes with the live server, with and without the interposer")
    def _(t):
        eq(passes(t, name, *server(number)), "", "stderr of client and server")
        said_by_us = passes(t, name, lib.PROGRAM, "proxy", "--vault", t.vault, "--", *server(number))
        done = t.run("export", "--vault", t.vault)
        eq(done.returncode, 0, "export")
        for direction in "c2s", "s2c":
            eq(said(done.stdout.decode().splitlines(), direction),
               said((FOLDER / f"{name}.jsonl").read_text().splitlines(), direction), f"recorded {direction}")
        eq(set(t.rows("SELECT exit_status FROM sessions")), {(0,)}, "ends in the record")
        eq([line for line in said_by_us.splitlines() if (" warn: " in line or " error: " in line) and lib.RECORDER_LATE not in line], [], "troubles that it tells of")
        eq(t.rows("SELECT count(*) FROM invocations"), [(len(t.log_lines()),)], "lines of the log")
        eq(t.rows("SELECT count(*) FROM invocations WHERE status NOT IN ('ok', 'error')"), [(0,)], "no trouble recorded")
        eq(t.messages("action <> 'forwarded' OR origin <> 'peer'"), [], "messages that were not simply forwarded")
        passes(t, name, lib.PROGRAM, "replay", "--strict", "--vault", t.vault)

    @case(f"contract {number}: verify: the live server answers as in the cassette")
    def _(t):
        done = t.run("verify", "--all", FOLDER / f"{name}.jsonl", "--", *server(number))
        eq(done.returncode, 0, f"exit status; {done.stdout.decode()} {done.stderr.decode()}")
        skipped = [line.split()[3] for line in done.stdout.decode().splitlines() if line.startswith("skipped")]
        eq(skipped, ["speckit.implement:"] if number == "4" else [], "skipped")     # it was called off

    @case(f"contract {number}: the server crashes during a call: an error at once, and a new server")
    def _(t):
        talk = Talk(t, number, fault=f"crash tools/call {CALL[number][0]}")
        began = time.monotonic()
        error = talk.call_fails(-32000, "server-exited")
        check(time.monotonic() - began < 20 * lib.SLOW, "that took as long as a deadline")
        check("signal 9" in error["message"] and "may have run" in error["message"], error["message"])
        talk.call()
        talk.result("tools/list")
        talk.end()
        eq(talk.received(1).count("tools/call"), 1, "calls at the server that crashed")
        eq(talk.received(2), handshake(number) + ["tools/call", "tools/list"], "what the new one was told")
        eq(talk.statuses(), [("server-gone", -32000), ("ok", None)], "calls in the record")
        eq(talk.events(), ["spawn", "exit", "restart", "repeat", "escalation", "spawn", "exit"], "events")
        eq([re.search(r"^cause: (.*)$", e, re.M).group(1) for e in escalations(t)], ["repeat"], "the restart is nobody's matter, a call that may have run twice is")
        talk.replays("--strict")

    @case(f"contract {number}: --restarts 0: the client gets an error, sees the end, and starts another session")
    def _(t):
        talk = Talk(t, number, restarts=0, fault=f"status tools/call {CALL[number][0]}")
        check("status 3" in talk.call_fails(-32000, "server-exited")["message"], "the status is not told")
        talk.ended(3)
        check(b"has had enough" in talk.p.stderr(), "its last words")
        talk.replays(status=3, ends=True)
        again = Talk(t, number, restarts=0)
        again.call()
        again.end()
        again.replays("--strict")
        eq(t.rows("SELECT exit_status FROM sessions ORDER BY id"), [(3,), (0,)], "two sessions, each with its end")

    @case(f"contract {number}: a call hangs: an error within the deadline, and a new server")
    def _(t):
        limit = min(LIMIT[number], 1)        # a deadline is a deadline: 30 and 60 s would only be longer
        name = CALL[number][0]
        talk = Talk(t, number, "--timeout", f"tool:{name}={limit * 900 * lib.SLOW:.0f}ms", "--on-hang", "kill-now", fault=f"hang tools/call {name}")
        talk.result("tools/list")       # it is awake, however long it takes to start
        began = time.monotonic()
        error = talk.call_fails(-32001, "hang")
        took = time.monotonic() - began
        check(0.85 * limit * lib.SLOW < took < (limit + 20) * lib.SLOW, f"after {took:.2f} s")
        check("pause" in error["message"] or "sleeping" in error["message"], error["message"])
        talk.result("tools/list")
        talk.end()
        eq(talk.received(2), handshake(number) + ["tools/list"], "what the new one was told")
        eq(talk.statuses(), [("timeout", -32001)], "calls in the record")
        (text,) = escalations(t)
        check(f"tool: {name}" in text or f'tool: "{name}"' in text, lambda: text)
        check(not any(lib.alive(pid) for pid in talk.processes()), "a server is left")
        began = time.monotonic()
        talk.replays("--strict")
        check(time.monotonic() - began < 20 * lib.SLOW, "the replay waits")

    @case(f"contract {number}: SIGTERM during a hanging call: no process is left, and the next session works")
    def _(t):
        talk = Talk(t, number, fault=f"hang tools/call {CALL[number][0]}", env={"MCP_INTERPOSER_GRACE": "12s"})
        name, arguments = CALL[number]
        talk.send("tools/call", {"name": name, "arguments": arguments})
        lib.wait_until(lambda: "tools/call" in talk.received(), 10, "the call at the server")
        talk.p.proc.send_signal(signal.SIGTERM)
        m = json.loads(talk.p.client.recv())
        error_of(m, -32000, "interrupted")
        talk.ended(143, "signal")
        check(not any(lib.alive(pid) for pid in talk.processes()), "a server is left")
        eq(talk.statuses(), [("interrupted", -32000)], "calls in the record")
        again = Talk(t, number)
        again.call()
        again.end()


for number, name in NAMES.items():
    declare(number, name)

lib.main(at_once=4)
