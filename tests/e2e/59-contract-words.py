#!/usr/bin/env python3
"""Special features of each contract: lines that are not JSON, null parameters, cancellation and shutdown as in LSP,
progress with unknown tokens, server errors with the interposer's codes. Each with a live server, in the record, and in a
replay."""
import json
import os
import signal
import subprocess
import time

import lib
from contracts import MAIL, NOTE, Talk, error_of, escalations, server
from lib import case, check, eq
from replaying import Replay

PLAN = {"spec_directory": "/path/to/specs/001-feature"}


def implement(talk, what, id=None):
    return talk.send("tools/call", {"name": "speckit.implement", "arguments": {**PLAN, "task_filter": what}}, id)


# --- contract 1 -----------------------------------------------------------------------------------

@case("1: a read that meets a crash is resent, and the client, which never sent initialized, notices nothing")
def _(t):
    talk = Talk(t, "1", fault=f"crash resources/read {NOTE}")
    check("# Morning" in str(talk.result("resources/read", {"uri": NOTE})), "the note")
    talk.end()
    eq(talk.received(2), ["initialize", "resources/read"], "what the new server was told")
    eq(talk.statuses("resources/read"), [("ok", None)], "the read in the record")
    talk.replays("--strict")


@case("1: an answer after the client's 500 ms is still forwarded, and the next one on time")
def _(t):
    talk = Talk(t, "1", fault=f"late resources/read {NOTE}")
    first = talk.send("resources/read", {"uri": NOTE})
    again = talk.send("resources/read", {"uri": NOTE})      # the client's retry, with another id
    eq(talk.answer(first)["result"], talk.answer(again)["result"], "both answers")
    talk.end()
    eq(talk.statuses("resources/read"), [("ok", None)] * 2, "reads in the record")
    talk.replays("--strict")


@case("1: a server error with one of our codes is recorded and replayed as the server's")
def _(t):
    talk = Talk(t, "1")
    uri = "meditation://note/non-existent"
    eq(talk.fails("resources/read", -32000, {"uri": uri})["data"], {"uri": uri}, "data of the error")
    talk.result("resources/list")
    talk.end()
    eq(talk.statuses("resources/read"), [("error", -32000)], "the read in the record")
    talk.replays("--strict")


# --- contract 2 -----------------------------------------------------------------------------------

@case("2: an invalid line gets -32700 with a null id, as from the server, and the session continues")
def _(t):
    direct = subprocess.run(server("2"), input=b"{oops\n", stdout=subprocess.PIPE, timeout=10 * lib.PATIENCE)
    said = json.loads(direct.stdout)
    talk = Talk(t, "2")
    talk.p.client.send(b"{oops")
    m = talk.p.client.recv_json()
    eq((m["id"], m["error"]["code"]), (said["id"], said["error"]["code"]), "id and code, as without us")
    talk.call()
    talk.end()
    eq(talk.received(), ["tools/call"], "what the server got")


@case("2: `echo REQUEST | server`: a server that starts more slowly than the grace period still answers")
def _(t):
    slow = ["sh", "-c", 'sleep 13; exec "$@"', "sh", *server("2")]
    done = t.run("proxy", "--vault", t.vault, "--grace", "12s", "--", *slow, input=lib.request(1, "tools/list", {}) + b"\n")
    eq((done.returncode, [x for x in done.stderr.decode().splitlines() if lib.RECORDER_LATE not in x]), (0, []), "exit status and stderr")
    check("tools" in json.loads(done.stdout)["result"], done.stdout)


@case("2: rejected credentials are escalated, and the call is not resent")
def _(t):
    talk = Talk(t, "2")
    error = talk.fails("tools/call", -32603, {"name": "send_email", "arguments": {**MAIL, "to": "nobody@example.com"}})
    check("not accepted" in error["message"], error["message"])
    talk.end()
    eq(talk.received(), ["tools/call"], "what the server got")
    (text,) = escalations(t)
    check("cause: auth" in text and "send_email" in text, text)
    talk.replays("--strict")
    eq(len(escalations(t)), 1, "a replay is nobody's matter")


@case("2: a crashed server is restarted, and the reason is reported, passed on and recorded")
def _(t):
    talk = Talk(t, "2", fault="status tools/call send_email")
    words = "Traceback (most recent call last): the server has had enough"
    check(f'its last output was "{words}"' in talk.call_fails(-32000, "server-exited")["message"], "its last words in the error")
    talk.call()
    talk.end()
    check(words.encode() in talk.p.stderr(), "its last words on stderr")
    eq([m.body.decode() for m in t.messages("kind = 'stderr'")], [words], "its last words in the record")
    talk.replays("--strict")


@case("2: the log has each invocation, with content and result truncated to 50 characters")
def _(t):
    talk = Talk(t, "2")
    talk.result("tools/call", {"name": "send_email", "arguments": {**MAIL, "body": "b" * 200}})
    talk.fails("tools/call", -32603, {"name": "no_such_tool", "arguments": {}})
    talk.fails("tools/stop", -32601, {})
    talk.end()
    lines = [json.loads(x) for x in t.log_lines()]
    eq([(x["method"], x.get("tool"), x["status"]) for x in lines],
       [("tools/call", "send_email", "ok"), ("tools/call", "no_such_tool", "error"), ("tools/stop", None, "error")], "the log")
    eq(lines[0]["arguments"]["body"], "b" * 50 + "… [+150 chars]", "the mail's body")
    eq(lines[0]["arguments"]["to"], MAIL["to"], "what is short stays")


@case("2: a wrapped configuration keeps the server's environment, and its password is not recorded")
def _(t):
    path = t.home / ".config/claude-code/mcp.json"
    path.parent.mkdir(parents=True)
    command, *args = server("2")
    env = {"SMTP_HOST": "smtp.gmail.com", "SMTP_PASSWORD": "abcd efgh ijkl mnop"}
    text = json.dumps({"mcpServers": {"email-mcp": {"command": command, "args": args, "env": env}}}, indent=2)
    path.write_text(text)
    eq(t.run("wrap", "--vault", t.vault).returncode, 0, "wrap")
    entry = json.loads(path.read_text())["mcpServers"]["email-mcp"]
    eq(entry["env"], env, "the environment in the file")
    done = subprocess.run([entry["command"], *entry["args"]], input=lib.request(1, "tools/list", {}) + b"\n",
                          env=t.environ({**entry["env"], "CONTRACT_DIR": str(t.tmp)}),
                          stdout=subprocess.PIPE, timeout=30 * lib.PATIENCE)
    check("tools" in json.loads(done.stdout)["result"], done.stdout)
    eq((t.tmp / "environment").read_text(), env["SMTP_PASSWORD"], "what the server sees")
    eq(t.rows("SELECT name FROM sessions"), [(b"email-mcp",)], "its name in the record")
    lib.recorders_ended(t.vault)
    for file in (x for x in t.vault.rglob("*") if x.is_file() and x.parent.name != "Backups"):    # the client's own file
        check(b"ijkl" not in file.read_bytes(), f"the password is in {file.name}")
    eq(t.run("unwrap").returncode, 0, "unwrap")
    eq(path.read_text(), text, "the file")


@case("2: a server that answers notifications with a null id does not disturb the client")
def _(t):
    """A deadline makes us send one: the server is slow, and reads it later."""
    talk = Talk(t, "2", "--timeout", f"tool:send_email={400 * lib.SLOW:.0f}ms", "--on-hang", "cancel",
                fault="late tools/call send_email", env={"CONTRACT_LATE": str(7 * lib.SLOW)})
    talk.call_fails(-32001, "timeout")
    lib.wait_until(lambda: "notifications/cancelled" in talk.received(), 10, "the cancellation at the server")
    talk.result("tools/list", {})
    talk.end()
    eq(talk.statuses(), [("timeout", -32001)], "the call in the record")
    talk.replays("--strict")


# --- contract 3 -----------------------------------------------------------------------------------

@case("3: ids from 0, null params, concurrent calls, and the end by SIGKILL")
def _(t):
    talk = Talk(t, "3", hello=False)
    say = talk.say
    say(b'{"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"smolcode","version":"1.0.0"},'
        b'"protocolVersion":"2024-11-05"},"id":0}')
    eq(talk.hear()["id"], 0, "the first id")
    say(b'{"jsonrpc":"2.0","method":"notifications/initialized","params":null}')
    say(b'{"jsonrpc":"2.0","method":"tools/list","params":null,"id":1}')
    eq(talk.hear()["result"]["nextCursor"], "next-page-cursor", "the first page")
    for id in (2, 3, 4):
        say(lib.call(id, "get_map" if id == 3 else "get_weather", {"location": "<New & York>"}))
    eq([talk.hear()["id"] for _ in range(3)], [2, 3, 4], "answers")
    talk.p.proc.kill()
    talk.p.proc.wait()
    lib.wait_until(lambda: not any(lib.alive(pid) for pid in talk.processes()), 5, "nobody is left")
    eq(talk.statuses(logged=False), [("ok", None)] * 3, "calls in the record")
    done = t.run("sessions", "--vault", t.vault, "--json")
    eq((done.returncode, len(done.stdout.splitlines())), (0, 1), "the session is listed")
    talk.replays()


@case("3: null params are recorded, resent after a crash, and equal to none in a replay")
def _(t):
    talk = Talk(t, "3", fault="crash tools/list")
    talk.say(b'{"jsonrpc":"2.0","method":"tools/list","params":null,"id":7}')
    check("result" in talk.answer(7), "the list")
    talk.end()
    eq([m.get("params", "none") for n, m in talk.got() if m["method"] == "tools/list"], [None, None], "what the servers got")
    talk.replays("--strict")
    talk.said[-2] = b'>{"jsonrpc":"2.0","method":"tools/list","id":7}'
    talk.replays("--strict")


# --- contract 4 -----------------------------------------------------------------------------------

@case("4: $/cancelRequest: the server's -32002 is forwarded and recorded; ids may be text")
def _(t):
    talk = Talk(t, "4")
    for id in (3, "three"):
        implement(talk, "wait", id)
        lib.wait_until(lambda: talk.received().count("tools/call") == (1 if id == 3 else 2), 10, "the call at the server")
        talk.notify("$/cancelRequest", {"id": id})
        error_of(talk.answer(id), -32002)
    eq(talk.result("shutdown", id=99), None, "shutdown")
    talk.notify("exit")
    talk.ended()
    eq(talk.statuses(), [("error", -32002)] * 2, "calls in the record")
    eq(talk.received()[-6:], ["tools/call", "$/cancelRequest"] * 2 + ["shutdown", "exit"], "what the server got")
    talk.replays("--strict", ends=True)


@case("4: in a replay the -32002 comes when the client cancels, and not before")
def _(t):
    talk = Talk(t, "4")
    implement(talk, "wait", 3)
    lib.wait_until(lambda: "tools/call" in talk.received(), 10, "the call at the server")
    talk.notify("$/cancelRequest", {"id": 3})
    error_of(talk.answer(3), -32002)
    talk.end()
    call, off, answer = talk.said[-3:]
    replay = Replay(t).play(talk.said[:-3])
    replay.client.send(call[1:], lib.request("fence"))
    eq(replay.client.recv_json()["id"], "fence", "what comes first")
    replay.client.send(off[1:])
    eq(replay.client.recv(), answer[1:], "the answer")
    replay.end()


@case("4: a server that ignores $/cancelRequest is not killed")
def _(t):
    talk = Talk(t, "4", "--timeout", f"tool:speckit.implement={7000 * lib.SLOW:.0f}ms")
    implement(talk, "ignore", 3)
    talk.notify("$/cancelRequest", {"id": 3})
    error_of(talk.answer(3), -32001, "timeout")
    talk.call()
    talk.end()
    eq((len(talk.processes()), escalations(t)), (1, []), "processes and escalations")


@case("4: a cancelled request is not resent to a new server")
def _(t):
    talk = Talk(t, "4", fault="crash tools/list")
    implement(talk, "ignore", 3)
    talk.notify("$/cancelRequest", {"id": 3})
    talk.send("tools/list", id=4)
    error_of(talk.answer(3), -32000, "server-exited")
    check("result" in talk.answer(4), "the list")
    talk.end()
    eq(talk.received(2), ["initialize", "notifications/initialized", "tools/list"], "what the new server was told")


@case("4: progress with an unknown token keeps the call alive past its deadline")
def _(t):
    talk = Talk(t, "4", "--timeout", f"tool:speckit.implement={7000 * lib.SLOW:.0f}ms")
    steps = int(8 * lib.SLOW / 0.2)
    began = time.monotonic()
    check("result" in talk.answer(implement(talk, f"steps {steps}"), 60), "the answer")
    check(time.monotonic() - began > 7.2 * lib.SLOW, "that was within the deadline")
    eq(sum(b"notifications/progress" in line for line in talk.said), steps, "reports at the client")
    talk.end()
    eq(talk.statuses(), [("ok", None)], "the call in the record")
    talk.replays("--strict")


for told, status in ((["shutdown", "exit"], 0), (["exit"], 1)):
    @case(f"4: {' and '.join(told)}: the exit status {status} of the server is passed on, without a restart")
    def _(t, told=told, status=status):
        talk = Talk(t, "4")
        talk.call()
        if "shutdown" in told:
            eq(talk.result("shutdown", id=99), None, "shutdown")
        talk.notify("exit")
        talk.ended(status)          # the client has not closed its side
        eq((len(talk.processes()), talk.events()), (1, ["spawn", "exit"]), "processes and events")
        eq(escalations(t), [], "escalations")
        talk.replays("--strict", status=status, ends=True)


# --- contract 5 -----------------------------------------------------------------------------------

for how, status in (("exit", 0), ("fail", 1)):
    @case(f"5: a server that exits at shutdown with {status} without answering has not crashed")
    def _(t, how=how, status=status):
        talk = Talk(t, "5", env={"CONTRACT_SHUTDOWN": how})
        talk.call()
        talk.fails("shutdown", -32000, cause="server-exited")
        talk.ended(status)
        eq((len(talk.processes()), talk.events(), escalations(t)), (1, ["spawn", "exit"], []), "processes, events, escalations")
        talk.replays("--strict", status=status, ends=True)


@case("5: a server that rejects shutdown keeps running, and a later exit is a crash")
def _(t):
    talk = Talk(t, "5", env={"CONTRACT_SHUTDOWN": "refuse"}, fault="crash tools/call analyzer")
    talk.fails("shutdown", -32601)
    talk.call_fails(-32000, "server-exited")
    talk.call()
    talk.end()
    eq(len(talk.processes()), 2, "processes")
    talk.replays("--strict")


@case("5: shutdown, and SIGTERM before its answer is read")
def _(t):
    talk = Talk(t, "5")
    talk.call()
    talk.send("shutdown")
    lib.wait_until(lambda: "shutdown" in talk.received(), 10, "shutdown at the server")
    os.kill(talk.p.pid, signal.SIGTERM)
    talk.p.client.rest()
    eq(talk.p.wait(), 0, "exit status")
    eq(talk.statuses(), [("ok", None)], "calls in the record")


@case("5: the client connects and lists tools without delay, and sees the crash of a server that is not restarted")
def _(t):
    began = time.monotonic()
    talk = Talk(t, "5", restarts=0, fault="crash tools/call analyzer")
    talk.result("tools/list")
    check(time.monotonic() - began < 20 * lib.SLOW, f"{time.monotonic() - began:.2f} s: it waits for something")
    talk.call_fails(-32000, "server-exited")
    talk.ended(137)
    talk.replays("--strict", status=137, ends=True)


lib.main(at_once=4)
