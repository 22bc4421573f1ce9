#!/usr/bin/env python3
"""A call that equals one which may have run: --on-repeat, with a server that counts how often it was told to send."""
import fcntl
import json
import os
import signal
import struct
import termios

import lib
from lib import case, check, eq, request
from misbehave import (D, Event, Received, Recorded, Wait, escalations, expected_events, gone, ms, n_ms, note, ok, refused, row,
                       seconds, timed_out, tool)
from replaying import Replay

SLOW = {"MCP_INTERPOSER_ON_HANG": "cancel"}        # a server that is silent is not killed
ARGUMENTS = {"to": "a@b", "n": 1, "more": {"p": [1, 2], "q": None}}
SPELLED = (b'"arguments": {"more":{"q":null, "p":[1.0,2]}, "\\u006e" : 1e0, "to":"a\\u0040b"}, "name":"send"')
FIRST_IN = "a call equals an earlier call that may have run"


def send(id, arguments=None, name="send", **more):
    return tool(id, name, arguments=ARGUMENTS if arguments is None else arguments, **more)


def again(id):
    """The same call, spelled differently."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}' % (id, SPELLED)


def within(mode, *more):
    return ["--timeout", f"tool:send={ms(D)}", "--on-repeat", mode, *more]


def mails(s):
    """How often the server was told to send."""
    return len([1 for _, m in s.received() if m.get("method") == "tools/call" and m["params"]["name"] == "send"])


def decisions(s):
    return [(d["decision"], d["cause"], d["late_answer"]) for d in s.details("repeat")]


def first_of(s, id):
    """What the error says of the first call."""
    return s.answers[id][0][1]["error"]["data"]["repeats"]


def mark_of(s, id):
    return s.answers[id][0][1]["result"]["_meta"]["mcp-interposer/repeat"]


def case_of(name, play, sent, decided=(), found=None, after=None, escalated=(), **how):
    """sent: how often the server is told to send. decided: the events. found: rpc ids with the finding."""
    def checks(t, s):
        eq(mails(s), sent, "how often the server was told to send")
        eq([d[0] for d in decisions(s)], list(decided), f"decisions in {decisions(s)}")
        rows = t.rows("SELECT rpc_id FROM messages WHERE finding LIKE '%repeat-of-uncertain%' ORDER BY seq")
        eq([json.loads(x) for x, in rows], [] if found is None else found, "requests with the finding")
        if after is not None:
            after(t, s)
    row(name, play=play, after=checks, escalated=escalated, **how)


REFUSED = refused(-32600, words=["Not sent: the same call was sent", "and may have run", "send the same call once more"])
NOT_FIRST = {1: "timeout", 2: "refused"}

# --- a timeout ---

case_of("warn, the default: a call that is sent again after its timeout is forwarded, with a finding, an event and an escalation",
        [send(1), Wait(1), again(2)], 2, ["forwarded"], [2], options=["--timeout", f"tool:send={ms(D)}"], server=["send=hang"], env=SLOW,
        want={1: timed_out(D), 2: timed_out(D)}, escalated=["repeat"],
        after=lambda t, s: check("equals request" in escalations(t.vault)[0][1] and "may have taken effect twice" in escalations(t.vault)[0][1],
                                 escalations(t.vault)))


def names_the_first(t, s):
    first = first_of(s, 2)
    seq, = t.rows("SELECT seq FROM messages WHERE rpc_id = '1' AND kind = 'request'")[0]
    eq((first["seq"], first["cause"], first["late_answer"]), (seq, "timeout", "none"), "what is said of the first call")
    check(first["age_ms"] >= seconds(D) * 1000, first)
    data = s.answers[2][0][1]["error"]["data"]
    eq((data["source"], data["cause"], data["tool"]), ("mcp-interposer", "repeat-of-uncertain", "send"), "the error's data")


for mode in ("refuse", "answer"):
    case_of(f"{mode}: the repeat of a call without an answer is refused, and forwarded when the client insists",
            [send(1), Wait(1), again(2), Wait(2), send(3), Wait(3), send(4)], 2, ["refused", "insisted", "refused"], [2, 3, 4],
            options=within(mode), server=["send=hang"], env=SLOW, records=NOT_FIRST, escalated=["repeat"],
            want={1: timed_out(D), 2: REFUSED, 3: timed_out(D), 4: REFUSED}, after=names_the_first)

case_of("refuse: after the window the call is forwarded", [send(1), Wait(1), lambda s: s.pump_for(15), send(2), Wait(2)], 2, [],
        options=within("refuse", "--repeat-window", ms(10)), server=["send=hang"], env=SLOW, want={1: timed_out(D), 2: timed_out(D)})
case_of("--repeat-window 0: nothing is noticed", [send(1), Wait(1), send(2), Wait(2)], 2, [],
        options=within("refuse", "--repeat-window", "0"), server=["send=hang"], env=SLOW, want={1: timed_out(D), 2: timed_out(D)})
case_of("refuse in the configuration file", [send(1), Wait(1), send(2)], 1, ["refused"], [2], server=["send=hang"],
        config=f"[proxy]\non-hang = cancel\non-repeat = refuse\nrepeat-window = 5m\n[timeout]\ntool:send = {ms(D)}\n",
        want={1: timed_out(D), 2: REFUSED})


def unread(p):
    """Whether something waits for the client, which does not read it."""
    return lib.wait_until(lambda: struct.unpack("i", fcntl.ioctl(p.client.read_fd, termios.FIONREAD, b"0000"))[0], 10, "something to read")


for pipe in ("pipe", "socket"):
    @case(f"refuse: an equal call that is sent before the client has read the refusal does not insist ({pipe})")
    def _(t, pipe=pipe):
        p = t.proxy(*within("refuse"), "--on-hang", "cancel", client=pipe).initialize()
        p.client.send(send(1))
        p.server.expect(send(1))
        eq(p.client.recv_json()["error"]["data"]["cause"], "timeout", "the first call")
        eq(json.loads(p.server.recv())["method"], "notifications/cancelled", "the server gets")
        p.client.send(send(2) + b"\n" + send(3))
        unread(p)
        p.client.send(send(4))
        lib.wait_until(lambda: t.rows("SELECT 1 FROM messages WHERE rpc_id = '4' AND direction = 's2c'"), 10, "the answer to 4")
        for id in (2, 3, 4):
            m = p.client.recv_json()
            eq((m["id"], m["error"]["code"]), (id, -32600), "calls that are sent before")
        p.client.send(send(5))
        p.server.expect(send(5))
        p.server.send(lib.text_result(5, "sent"))
        p.client.expect(lib.text_result(5, "sent"))
        p.end()


# --- rejected answers ---

BAD = b'{"jsonrpc":"2.0","id":1,"result":{"content":"text"}}'
for what, line, options in (("breaks a rule", BAD, ["--validate", "protocol"]), ("is malformed", b'{"jsonrpc":"2.0","id":1,"error":"no"}', []),
                            ("is too long", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"' + b"x" * 2000 + b'"}]}}',
                             ["--max-message", "1KiB"])):
    @case(f"refuse: a call whose answer {what} may have run")
    def _(t, line=line, options=options):
        p = t.proxy("--on-repeat", "refuse", *options).initialize()
        p.client.send(send(1))
        p.server.expect(send(1))
        p.server.send(line)
        eq(p.client.recv_json()["error"]["code"], -32603, "the first call")
        p.client.send(send(2))
        m = p.client.recv_json()
        eq((m["id"], m["error"]["code"], m["error"]["data"]["repeats"]["cause"]), (2, -32600, "rejected-answer"), "the repeat")
        check("the answer was rejected as invalid" in m["error"]["message"], m)
        p.client.send(send(3))
        p.server.expect(send(3))
        p.server.send(lib.text_result(3, "sent"))
        p.client.expect(lib.text_result(3, "sent"))
        p.end()


# --- the late answer ---

LATE = [f"send=sleep:{n_ms(D + 6)} answer"]
CAME = Recorded("finding LIKE '%late-answer%'")


def is_the_late_answer(t, s):
    mark, (_, m) = mark_of(s, 2), s.answers[2][0]
    check(m["result"]["content"], m)
    seq, = t.rows("SELECT seq FROM messages WHERE rpc_id = '1' AND kind = 'request'")[0]
    eq((mark["seq"], mark["cause"], mark["late_answer"]), (seq, "timeout", "result"), "the mark in _meta")
    eq(t.rows("SELECT action FROM messages WHERE rpc_id = '2' AND kind = 'request'"), [(b"swallowed",)], "the request")
    # what is recorded is replayed as the client saw it
    said = t.run("stats", "--vault", t.vault).stderr.decode()
    check("1 call repeated an earlier call that may have run; 0 of them went to the server;" in said, said)
    eq(t.run("stats", "--vault", t.vault, "--tool", "other").stderr.decode().count("may have run"), 0, "stats of another tool")
    r = Replay(t)
    for id in (1, 2):
        r.client.send(send(id))
    got = {m["id"]: m for m in (json.loads(r.client.recv(20)) for _ in (1, 2))}
    eq(got[1]["error"]["code"], -32001, "the replayed timeout")
    eq(got[2]["result"], m["result"], "the replayed late answer")


case_of("answer: a late answer that came before the repeat is its answer, once", [send(1), Wait(1), CAME, again(2), Wait(2), send(3)], 2,
        ["answered"], [2], options=within("answer"), server=LATE, env=SLOW, records={1: "timeout", 2: "ok", 3: "timeout"},
        want={1: timed_out(D), 2: ok("1.1"), 3: timed_out(D)}, after=is_the_late_answer)
case_of("answer: a late answer that comes after the refusal is the answer to the next repeat", [send(1), Wait(1), send(2), CAME, send(3)], 1,
        ["refused", "answered"], [2, 3], options=within("answer"), server=LATE, env=SLOW, want={1: timed_out(D), 2: REFUSED, 3: ok("1.1")})
case_of("answer: a late answer does not answer a repeat that was forwarded before it", [send(1), Wait(1), send(2), Wait(2), send(3), CAME], 2,
        ["refused", "insisted"], [2, 3], options=within("answer"), server=LATE, env=SLOW, escalated=["repeat"],
        want={1: timed_out(D), 2: REFUSED, 3: timed_out(D)})
case_of("answer: the late error of a tool is the answer", [send(1), Wait(1), CAME, send(2)], 1, ["answered"], [2], options=within("answer"),
        server=[f"send=sleep:{n_ms(D + 6)} fail:no"], env=SLOW, want={1: timed_out(D), 2: ok()}, records={2: "tool-error"})
case_of("refuse: the error says that the late answer has come", [send(1), Wait(1), CAME, send(2)], 1, ["refused"], [2],
        options=within("refuse"), server=LATE, env=SLOW, want={1: timed_out(D), 2: REFUSED},
        after=lambda t, s: eq(first_of(s, 2)["late_answer"], "result", "the late answer"))

# --- a hang, a crash ---

for mode, decided in (("warn", ["forwarded"]), ("refuse", ["refused", "insisted"]), ("answer", ["refused", "insisted"])):
    case_of(f"{mode}: a hanging server is killed, and the call is sent again to the next one",
            [send(1), Wait(1), Event("spawn", 2), send(2), Wait(2), *([send(3)] if mode != "warn" else [])], 2, decided,
            [2] if mode == "warn" else [2, 3], options=within(mode), server=["send@1=freeze"], escalated=["hang", "repeat"],
            want={1: timed_out(D, "hang"), **({2: ok("2.1")} if mode == "warn" else {2: REFUSED, 3: ok("2.1")})})
    case_of(f"{mode}: a server crashes, and the call is sent again to the next one",
            [send(1), Wait(1), Event("spawn", 2), send(2), Wait(2), *([send(3)] if mode != "warn" else [])], 2, decided,
            [2] if mode == "warn" else [2, 3], options=["--on-repeat", mode], server=["send@1=signal:9"], escalated=["repeat"],
            want={1: gone(words=["may have run"]), **({2: ok("2.1")} if mode == "warn" else {2: REFUSED, 3: ok("2.1")})})

case_of("refuse: another call hung, and this one was killed with it", [send(1), Received("tools/call"), tool("h", "freeze"), Wait("h", 1), Event("spawn", 2), send(2)],
        1, ["refused"], [2], options=[*within("refuse"), "--timeout", f"tool:send={ms(600)},tool:freeze={ms(D)}"], server=["send@1=hang"],
        escalated=["hang"], want={"h": timed_out(D, "hang"), 1: gone("server-killed"), 2: REFUSED})
case_of("refuse: a call that the hanging server had not read has not run, and is forwarded",
        [tool("d", "deaf hang"), Received("tools/call"), send(1), Wait(1), Event("spawn", 2), send(2)], 1, [],
        options=[*within("refuse"), "--timeout", f"tool:deaf*={ms(600)}"], server=["send@2+=answer"], escalated=["hang"],
        want={1: timed_out(D, "hang"), 2: ok("2.1"), "d": gone("server-killed")})
case_of("refuse: a call that the crashed server had not read is sent again, and is no repeat",
        [tool("c", "deaf sleep:600 signal:9"), Received("tools/call"), send(1), Wait("c", 1), send(2)], 2, [], options=["--on-repeat", "refuse"],
        want={"c": gone(), 1: ok("2.1"), 2: ok("2.2")})
case_of("refuse: the client cancels, and calls again", [send(1), Received("tools/call"), note("notifications/cancelled", {"requestId": 1}),
                                                       Received("notifications/cancelled"), send(2)],
        1, ["refused"], [2], options=["--on-repeat", "refuse"], server=["send=hang"], env=SLOW, unanswered=(1,), want={2: REFUSED})

# --- not repeats ---

LIST = [request("l", "tools/list"), Wait("l")]
for hint in ("readOnlyHint", "idempotentHint"):
    case_of(f"refuse: a tool marked {hint} may run twice", [*LIST, send(1), Wait(1), send(2), Wait(2)], 2, [], options=within("refuse"),
            server=["send=hang", f"tool.send={hint}"], env=SLOW, want={1: timed_out(D), 2: timed_out(D)})
case_of("refuse: a tool without a hint in the list may not", [*LIST, send(1), Wait(1), send(2)], 1, ["refused"], [2], options=within("refuse"),
        server=["send=hang", "tool.send=plain"], env=SLOW, want={1: timed_out(D), 2: REFUSED})
case_of("refuse: other arguments, or another tool, are another call",
        [send(1), Wait(1), send(2, {**ARGUMENTS, "n": 2}), send(3, {**ARGUMENTS, "n": "1"}), send(4, name="answer"), Wait(2, 3, 4)], 3, [],
        options=within("refuse"), server=["send=hang"], env=SLOW, want={1: timed_out(D), 2: timed_out(D), 3: timed_out(D), 4: ok()})
case_of("refuse: a call that was answered may be sent again", [send(1), Wait(1), send(2), Wait(2)], 2, [], options=["--on-repeat", "refuse"],
        want={1: ok(), 2: ok()})
case_of("a reading request is sent again without a word", [request(1, "resources/read", {"uri": "a"}), Wait(1), request(2, "resources/read", {"uri": "a"})], 0, [],
        options=["--timeout", f"resources/read={ms(D)}", "--on-repeat", "refuse"], server=["resources/read=hang"], env=SLOW,
        want={1: timed_out(D), 2: timed_out(D)})

# --- limits, and a killed recorder ---

MANY = 10_000


def send_many(s):
    for i in range(MANY):
        s.send(send(1000 + i, {"n": i}))
        if i % 500 == 499:
            s.pump(lambda n=i + 1: len(s.answers) >= n, "their errors", 60)
    s.pump(lambda: len(s.answers) > MANY, "errors for all of them", 60)


case_of(f"refuse: {MANY:,} uncertain calls, of which the newest are known", [send_many, send(1, {"n": MANY - 1}), send(2, {"n": 0}), Wait(1, 2)], MANY + 1,
        ["refused"], [1], options=within("refuse"), server=["send=hang"], env=SLOW, want={1: REFUSED, 2: timed_out(D)}, limit=180,
        after=lambda t, s: eq(s.events().count("repeats-full"), 1, "events about the limit"))


def kill_recorder(s):
    pid = s.p.recorder()
    os.kill(pid, signal.SIGKILL)
    s.p.recorder(pid)


case_of("refuse: the recorder is killed between the call and its repeat", [send(1), Wait(1), kill_recorder, send(2), Wait(2), kill_recorder, send(3)],
        2, ["refused", "insisted"], [2, 3], options=within("refuse"), server=["send=hang"], env=SLOW, escalated=["repeat"],
        want={1: timed_out(D), 2: REFUSED, 3: timed_out(D)})


# --- what people see ---

def words(t, s):
    def out(*args, status=0):
        done = t.run(args[0], "--vault", t.vault, *args[1:])
        eq(done.returncode, status, f"exit status of {args}: {done.stderr!r}")
        return done.stdout.decode()
    check("repeats the call" in out("show"), out("show"))
    shown = out("check", "--fail-on", "none")
    check("repeat-of-uncertain" in shown and "may happen twice" in shown, shown)
    check('"repeat-of-uncertain"' in out("check", "--fail-on", "repeat-of-uncertain", "--format", "sarif", status=1), "SARIF")
    r = Replay(t)
    for id in (1, 2):
        r.client.send(send(id))
    got = {m["id"]: m for m in (json.loads(r.client.recv(20)) for _ in (1, 2))}
    for id in (1, 2):
        eq(got[id]["error"], s.answers[id][0][1]["error"], f"the replayed error of {id}")
    check(FIRST_IN in s.p.stderr().decode(), s.p.stderr())


case_of("show, check and its SARIF, and replays have the refusal", [send(1), Wait(1), send(2)], 1, ["refused"], [2], options=within("refuse"),
        server=["send=hang"], env=SLOW, want={1: timed_out(D), 2: REFUSED}, after=words)

# --- calls without progress ---

def calls(n, name):
    return [step for i in range(n) for step in (tool(f"{name}{i}", name), Wait(f"{name}{i}"))]


def no_progress(*ids):
    """The answers with the finding are those of these requests; `check` finds the same in a copy without findings."""
    def after(t, s):
        rows = t.rows("SELECT rpc_id FROM messages WHERE finding LIKE '%no-progress%' ORDER BY seq")
        eq([json.loads(x) for x, in rows], list(ids), "answers with the finding")
        done = t.run("check", "--vault", t.vault, "--fail-on", "no-progress")
        eq(done.returncode, 1 if ids else 0, f"exit status of check: {done.stderr!r}")
        file = t.tmp / "bare.jsonl"
        done = t.run("export", "--vault", t.vault)
        lines = [json.loads(x) for x in done.stdout.decode().splitlines()]
        for x in lines:
            x.pop("finding", None)
        file.write_text("".join(json.dumps(x) + "\n" for x in lines))
        shown = t.run("check", file, "--fail-on", "none").stdout.decode()
        eq(shown.count("no-progress"), len(ids), f"what check finds in a recording without findings: {shown}")
    return after


row("the same call gets the same result 20 times: noted at 5, 10 and 20, and a person is told", server=["same=large:10"],
    play=calls(21, "same"), after=no_progress("same4", "same9", "same19"), escalated=["no-progress"])
row("a call fails five times, with other calls between", server=["bad=fail:no", "same=large:10"],
    play=[step for i in range(5) for step in (tool(f"b{i}", "bad"), Wait(f"b{i}"), tool(f"s{i}", "answer"), Wait(f"s{i}"))],
    after=no_progress("b4"))
row("a call times out five times", options=["--timeout", f"tool:wait={ms(3)}", "--repeat-window", "0"], server=["wait=hang"], env=SLOW,
    play=calls(5, "wait"), want={f"wait{i}": timed_out(3) for i in range(5)}, after=no_progress("wait4"))
row("results that differ, and arguments that do, are progress", server=["same=large:10"],
    play=[*calls(8, "answer"), *(step for i in range(8) for step in (tool(f"x{i}", "same", arguments={"i": i}), Wait(f"x{i}")))],
    after=no_progress())

lib.main(at_once=8)
