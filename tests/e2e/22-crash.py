#!/usr/bin/env python3
"""A server that crashes: errors for requests, requests that are resent, and the handshake with the new process."""
import json
import os
import signal
import subprocess

import lib
from lib import case, check, eq, note, request
from misbehave import D, Event, Notified, Received, Started, Wait, escalations, gone, handshake, ms, ok, row, timed_out, tool

AGAIN = "spawn exit restart spawn exit"

for script, words in (("signal:11", ["signal 11"]), ("signal:9", ["signal 9"]), ("signal:6", ["signal 6"]),
                      ("exit:1", ["status 1"]), ("exit:0", ["status 0"]), ("half exit:1", ["status 1"]),
                      ("err:2000 exit:1", []), ("fork:pipes signal:9", []), ("fork:group signal:9", []),
                      ("fork:session exit:1", []), ("ignore:15 fork:pipes exit:1", [])):
    row(f"a call makes the server `{script}`: it gets an error, and a new server answers the next one",
        play=[tool(1, script), Wait(1), tool(2, "answer")],
        want={1: gone(words=words + ["may have run"]), 2: ok("2.1")}, events=AGAIN if "pipes" not in script else
        "spawn exit kill kill restart spawn exit",    # the process that holds the pipes is not in a group of the interposer
        records={1: "server-gone", 2: "ok"}, not_got=[(2, ("call", 1))])

def none_of_the_first(s):
    (first,) = [pid for n, pid, who in s.starts() if (n, who) == (1, "session")]
    lib.wait_until(lambda: not lib.alive(first), 5, "the end of the processes that the first server left")


row("processes that a crashed server left in their own session are killed before the next one starts",
    play=[tool(1, "fork:session answer"), Started(1, "session"), tool(2, "signal:9"), Wait(1, 2), Started(2),
          none_of_the_first, tool(3, "answer")],
    want={1: ok(), 2: gone(), 3: ok("2.1")}, events=AGAIN)

row("all pending requests get one error each", play=[*(tool(f"h{i}", "hang") for i in range(50)), tool(1, "signal:9"),
                                                          Event("spawn", 2)],
    want={1: gone(), **{f"h{i}": gone() for i in range(50)}}, events=AGAIN)

row("sh -c: the server behind it crashes", launch=lambda c: ["sh", "-c", " ".join(f"'{a}'" for a in c) + "; exit $?"],
    play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")], want={1: gone(), 2: ok("2.1")}, events=AGAIN)

def left_behind(command):
    """A launcher that leaves the server alone with its stdin and stdout."""
    return ["sh", "-c", "exec 3<&0; " + " ".join(f"'{a}'" for a in command) + " <&3 3<&- & exit 0"]


row("a launcher that exits and leaves the server running does not end the session", launch=left_behind,
    play=[Event("exit"), tool(1, "answer"), Wait(1), tool(2, "answer")], want={1: ok("1.1"), 2: ok("1.2")},
    events="spawn exit")

row("a server left running by its launcher crashes: it is restarted through the launcher", launch=left_behind,
    play=[Event("exit"), tool(1, "signal:9"), Wait(1), Event("exit", 2), tool(2, "answer")],
    want={1: gone(), 2: ok("2.1")}, events=AGAIN)

row("a server left running by its launcher hangs: it is killed", launch=left_behind,
    options=["--timeout", f"tool:freeze={ms(D)}"],
    play=[Event("exit"), tool(1, "freeze"), Wait(1), tool(2, "answer")],
    want={1: timed_out(D, "hang"), 2: ok("2.1")}, escalated=["hang"],
    events="spawn exit timeout hang kill restart spawn exit")

row("exit status 0 without pending requests ends the session, and is not a crash", server=["notifications/initialized=exit:0"],
    ends=True, events="spawn exit")

def own_requests(t, _):
    eq([(m.direction, m.origin, m.kind, m.action, m.finding) for m in t.messages("finding LIKE '%own-request%'")],
       [("c2s", "interposer", "request", "forwarded", b"own-request"), ("s2c", "peer", "result", "swallowed", b"own-request")],
       "the handshake with the new process")


row("a nonzero exit status without pending requests is a crash, and the client does not notice it",
    server=["notifications/initialized@1=exit:3"], play=[Started(2), tool(1, "answer")],
    want={1: ok("2.1")}, events=AGAIN, after=own_requests)

row("--restarts 0: the client gets an error, and the exit status is that of the server", options=["--restarts", "0"],
    play=[tool(1, "exit:7")], want={1: gone()}, exit=7, ends=True, events="spawn exit")

row("--restarts 0: the exit status of a killed server is 128 and the signal", options=["--restarts", "0"],
    play=[tool(1, "signal:11")], want={1: gone()}, exit=139, ends=True, events="spawn exit")

# --- requests that are resent ---------------------------------------------------------------------

READS = {"ping": {}, "tools/list": {}, "resources/list": {}, "resources/templates/list": {}, "prompts/list": {},
         "resources/read": {"uri": "x:y"}, "prompts/get": {"name": "p"},
         "completion/complete": {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}}

for method, params in READS.items():
    row(f"{method} only reads, and is resent after a crash", server=[f"{method}@1=signal:9"],
        play=[request(1, method, params)], want={1: ok()}, got=[(1, (method, None)), (2, (method, None))],
        events=AGAIN, records={1: "ok"})

for hint, again in (("readOnlyHint", True), ("idempotentHint", True), ("plain", False)):
    row(f"a call of a tool marked {hint} is {'' if again else 'not '}resent",
        server=[f"tool.job={hint}", "job@1=signal:9"],
        play=[request("l", "tools/list"), Wait("l"), tool(1, "job"), Event("spawn", 2)], want={1: ok("2.1") if again else gone()},
        got=[(2, ("call", 1))] if again else [], not_got=[] if again else [(2, ("call", 1))], events=AGAIN)

row("everything that a crashed server had not read goes to the next one",
    play=[tool(1, "deaf sleep:300 signal:9"), Received("tools/call"), tool(2, "answer"), tool(3, "answer")],
    want={1: gone(words=["may have run"]), 2: ok("2.1"), 3: ok("2.2")}, events=AGAIN,
    not_got=[(1, ("call", 2)), (1, ("call", 3)), (2, ("call", 1))])

row("unread requests are not resent while another process holds the pipe",
    play=[tool(1, "fork:pipes deaf sleep:7000 signal:9"), Received("tools/call"), tool(2, "answer"), Wait(2), tool(3, "answer", arguments={"n": 3})],
    want={1: gone(), 2: gone(), 3: ok("2.1")}, not_got=[(2, ("call", 2))])


def kill_and_call(s):
    """At nearly the same time."""
    for i in range(5):
        (pid,) = [pid for n, pid, who in s.starts() if (n, who) == (i + 1, "server")]
        os.kill(pid, signal.SIGKILL)
        for k in range(3):
            s.send(tool(f"{i}.{k}", "answer"))
        Wait(*(f"{i}.{k}" for k in range(3)))(s)


row("a server killed without pending requests is restarted unnoticed", options=["--restarts", "9"], limit=120,
    play=[tool(0, "answer"), Wait(0), kill_and_call], want={f"{i}.{k}": ok(at_most=80) for i in range(5) for k in range(3)})

row("a call of a tool that was never listed is not resent", server=["tool.job=readOnlyHint", "job@1=signal:9"],
    play=[tool(1, "job"), Event("spawn", 2)], want={1: gone()}, not_got=[(2, ("call", 1))], events=AGAIN)

row("of three pending requests the two that only read are resent, in order",
    server=["tool.look=readOnlyHint", "look@1=hang", "tools/list@1=answer", "resources/list@1=hang"],
    play=[request("l", "tools/list"), Wait("l"), tool(1, "look"), request(2, "resources/list"), tool(3, "signal:9")],
    want={1: ok("2.1"), 2: ok(), 3: gone()}, events=AGAIN,
    after=lambda t, s: eq([m["id"] for n, m in s.received() if n == 2 and m.get("id") in (1, 2, 3)], [1, 2],
                          "what the new server is sent again"))

row("a cancelled request is not resent", server=["resources/list@1=hang"],
    play=[request(1, "resources/list"), Received("resources/list"),
          note("notifications/cancelled", {"requestId": 1}), tool(2, "signal:9"), Wait(2), tool(3, "answer")],
    unanswered=[1], want={2: gone(), 3: ok("2.1")}, not_got=[(2, ("resources/list", None))])

def named(t, s):
    (_, text), = escalations(t.vault)
    check("\nmethod: \"resources/list\"\n" in text and "both ended" in text, text)


row("a read that crashes two servers gets an error, is not sent a third time, and the session goes on", server=["resources/list=signal:9"],
    play=[request(1, "resources/list"), Wait(1), tool(2, "answer")],
    want={1: gone(words=["signal 9", "sent to two processes"]), 2: ok("3.1")}, not_got=[(3, ("resources/list", None))],
    after=named, escalated=["crash"], records={1: "server-gone", 2: "ok"})

row("the restart after that is not counted: --restarts 1 is enough", server=["resources/list=signal:9"],
    options=["--restarts", "1"], play=[request(1, "resources/list"), Wait(1), tool(2, "answer")],
    want={1: gone(words=["sent to two processes"]), 2: ok("3.1")}, escalated=["crash"])

row("--restarts 1: the next crash ends the session", server=["resources/list=signal:9"], options=["--restarts", "1"],
    play=[request(1, "resources/list"), Wait(1), tool(2, "signal:9")], want={1: gone(), 2: gone(words=["was restarted 2 times"])},
    exit=137, ends=True, escalated=["crash", "crash-loop"])

row("two reads that crash every server: each gets an error", server=["resources/list=signal:9", "prompts/list=signal:9"],
    play=[request(1, "resources/list"), Wait(1), request(2, "prompts/list"), Wait(2), tool(3, "answer")],
    want={1: gone(words=["sent to two processes"]), 2: gone(words=["sent to two processes"]), 3: ok()},
    escalated=["crash", "crash"])

row("reads that were pending beside the one that crashes the server get their answers: it is known which one it is",
    server=["prompts/list@1=hang", "tools/list@1=hang", "resources/read=signal:9"],
    play=[request(1, "prompts/list"), request(2, "tools/list"), Received("tools/list"),
          request(3, "resources/read", {"uri": "x:y"}), Wait(1, 2, 3), tool(4, "answer")],
    want={1: ok(), 2: ok(), 3: gone(words=["sent to two processes"]), 4: ok("3.1")}, escalated=["crash"])

row("a read that is cancelled after it was sent again: the next one is not blamed for the end of that process",
    server=["resources/list@1=sleep:300 signal:9", "resources/list@2=sleep:6000 signal:9", "tools/list@1=hang", "tools/list@2=hang"],
    play=[request(1, "resources/list"), request(2, "tools/list"), Received("resources/list", 1, 2),
          note("notifications/cancelled", {"requestId": 1}), Wait(2)],
    unanswered=[1], want={2: ok()}, not_got=[(3, ("resources/list", None))], events="spawn exit restart spawn exit restart spawn exit")

for hint in ("readOnlyHint", "idempotentHint"):
    row(f"a call of a tool marked {hint} that crashes two servers gets an error that does not say that it may have run",
        server=[f"tool.job={hint}", "job=signal:9"],
        play=[request("l", "tools/list"), Wait("l"), tool(1, "job"), Wait(1), tool(2, "answer")],
        want={1: gone(words=["sent to two processes"]), 2: ok("3.1")}, escalated=["crash"],
        after=lambda t, s: check(b"may have run" not in t.messages("kind = 'error'")[0].body and
                                 b"may_have_run" not in t.messages("kind = 'error'")[0].body, "may have run"))

row("a read that hangs after it was sent again takes no other with it",
    options=["--timeout", f"resources/list={ms(60)}"],
    server=["resources/list@1=hang", "resources/list@2=freeze", "prompts/list@1=signal:9"],
    play=[request(1, "resources/list"), Received("resources/list"), request(2, "prompts/list"), Wait(1, 2), tool(3, "answer")],
    want={1: timed_out(60, "hang"), 2: ok(), 3: ok("3.1")}, escalated=["hang"])

# --- the handshake with the new process -----------------------------------------------------------

def told_first(t, s):
    (first,) = [m for n, m in s.received() if n == 1 and m.get("method") == "initialize"]
    second = [m for n, m in s.received() if n == 2]
    eq([m.get("method") for m in second[:2]], ["initialize", "notifications/initialized"], "the new server's first")
    eq(second[0]["params"], first["params"], "params of initialize")
    check(isinstance(second[0]["id"], str) and second[0]["id"] != first["id"], f"id {second[0]['id']}")


row("the handshake is repeated with an id of ours, and its answer is dropped",
    play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")], want={1: gone(), 2: ok("2.1")}, after=told_first)


def told_state(t, s):
    second = [m for n, m in s.received() if n == 2]
    eq([m["params"]["level"] for m in second if m.get("method") == "logging/setLevel"], ["error"], "log levels")
    eq(sorted(m["params"]["uri"] for m in second if m.get("method") == "resources/subscribe"), ["x:b", "x:c"],
       "subscriptions")
    eq([m for m in second if m.get("method") == "resources/unsubscribe"], [], "unsubscribed")


row("the last log level and the active subscriptions are repeated",
    server=['capabilities={"tools":{},"logging":{},"resources":{"subscribe":true}}', "logging/setLevel@1=answer"],
    play=[x for i, (method, params) in enumerate((
        ("logging/setLevel", {"level": "debug"}), ("logging/setLevel", {"level": "error"}),
        ("resources/subscribe", {"uri": "x:a"}), ("resources/subscribe", {"uri": "x:b"}),
        ("resources/subscribe", {"uri": "x:b"}), ("resources/unsubscribe", {"uri": "x:a"}),
        ("resources/subscribe", {"uri": "x:c"}))) for x in (request(f"s{i}", method, params), Wait(f"s{i}"))]
    + [tool(1, "signal:9"), Wait(1), tool(2, "answer")], want={1: gone(), 2: ok()}, after=told_state)

row("a log level that the server rejected is not repeated", server=["logging/setLevel=error:-32602:no"],
    play=[request("s", "logging/setLevel", {"level": "x"}), Wait("s"), tool(1, "signal:9"), Wait(1), tool(2, "answer")],
    want={2: ok("2.1")}, not_got=[(2, ("logging/setLevel", None))])

row("after a restart list_changed is sent where the server had declared it",
    server=['capabilities={"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{}}'],
    play=[tool(1, "signal:9"), Wait(1), tool(2, "answer"), Wait(2)], want={1: gone(), 2: ok("2.1")},
    notified={"notifications/tools/list_changed": 1, "notifications/prompts/list_changed": 1,
              "notifications/resources/list_changed": 0})


def taken_back(t, s):
    (asked,) = [m for m in s.asked if m["method"] == "elicitation/create"]
    eq([m["params"]["requestId"] for m in s.notified("notifications/cancelled")], [asked["id"]], "taken back")
    eq([m for n, m in s.received() if n == 2 and "method" not in m], [], "answers at the new server")


row("a pending question of a crashed server is cancelled, and its answer does not reach the new one",
    init=handshake(capabilities={"elicitation": {}}),
    play=[tool(1, "ask:elicitation/create answer"), lambda s: s.pump(lambda: s.asked, "the question"),
          tool(2, "signal:9"), Wait(1, 2), Notified("notifications/cancelled"),
          lib.result(1, {"action": "decline"}), tool(3, "answer")],
    want={1: gone(), 2: gone(), 3: ok("2.1")}, after=taken_back)

# --- when the new process differs, or there is none -----------------------------------------------------

# The new process answers late: the second call must come before the session ends.
LATE = "sleep:6000"

row("another capability after the restart ends the session with an error",
    server=['capabilities@2+={"tools":{},"prompts":{}}', f"initialize@2={LATE} answer"], play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")],
    want={1: gone(), 2: gone("restart-changed", words=["differently than before"])}, ends=True, exit=3)

row("another protocol version after the restart ends the session with an error",
    server=["version@2+=2024-11-05", f"initialize@2={LATE} answer"], play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")],
    want={1: gone(), 2: gone("restart-changed", words=["differently than before"])}, ends=True, exit=3)

row("the same capabilities in another order do not end the session",
    server=['capabilities@1={"tools":{"listChanged":false},"logging":{}}',
            'capabilities@2+={ "logging" : {}, "tools":{"listChanged":false}}'],
    play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")], want={1: gone(), 2: ok("2.1")}, events=AGAIN)


row("no restart when initialize was too long to keep",
    init=handshake(capabilities={"experimental": {"x": {"y": "x" * 70000}}}),
    play=[tool(1, "signal:9")], want={1: gone()}, ends=True, exit=137, events="spawn exit")


@case("npm's error about a package that does not exist: quoted to the client, and no restart")
def _(t):
    script = "read x; echo 'npm error code E404' >&2; echo 'npm error 404 Not Found - GET https://x/nope' >&2; exit 1"
    with subprocess.Popen([lib.PROGRAM, "proxy", "--vault", t.vault, "--", "sh", "-c", script], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=t.environ({"MCP_INTERPOSER_RESTARTS": "3"})) as p:
        try:
            p.stdin.write(handshake()[0] + b"\n")
            p.stdin.flush()
            answer = json.loads(p.stdout.readline())
            eq((answer["error"]["code"], p.wait(20 * lib.PATIENCE)), (-32000, 1), "code and status")
        finally:
            p.kill()
    check("npm error 404 Not Found" in answer["error"]["message"], answer)
    eq([x[0] for x in t.rows("SELECT kind FROM events ORDER BY id")], [b"spawn", b"exit"], "events")


def backed_off(t, s):
    delays = [d["delay_ms"] for d in s.details("restart")]
    eq(len(delays), 3, "restarts")
    check(all(b >= 1.5 * a for a, b in zip(delays, delays[1:])) and 50 <= delays[0] <= 200, f"delays: {delays}")
    eq([d["attempt"] for d in s.details("restart")], [1, 2, 3], "attempts")


row("a crash loop: three restarts with growing delays, an escalation, the end of the session",
    server=["start@2=block:6000 exit:5", "start@3+=exit:5"], play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")],
    want={1: gone(), 2: gone()}, ends=True, exit=5, escalated=["crash-loop"], after=backed_off)

row("the handshake with the new process has a deadline",
    options=["--timeout", f"initialize={ms(60)},tool:answer={ms(600)}"],
    server=["initialize@2=freeze"], play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")],
    want={1: gone(), 2: ok("3.1")}, events="spawn exit restart spawn kill exit restart spawn exit")

row("an error in the handshake with the new process ends the session",
    server=[f"initialize@2+={LATE} error:-32603:no"], play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")],
    want={1: gone(), 2: gone("restart-changed", words=["differently than before"])}, ends=True, exit=3)

row("initialize is resent when it crashed the server",
    server=["initialize@1=exit:1"], play=[tool(1, "answer")], want={"init": ok(), 1: ok("2.1")}, events=AGAIN)

# Half a second is less than a restarted server has to exit after it closed its stdin; two seconds are more.
for when, wait in (("just", 500), ("long", 2000)):
    row(f"the new process closes its stdin {when} before it answers initialize: no request waits for its deadline",
        server=[f"initialize@2=shut sleep:{wait} answer"], play=[tool(1, "signal:9"), Wait(1), tool(2, "answer")],
        want={1: gone(), 2: gone("server-closed", at_most=100, words=["closed its stdin"])}, exit=143,
        events="spawn exit restart spawn kill exit")

row("the client closes stdin while the server is being restarted", server=["start@2+=sleep:50000"],
    play=[tool(1, "signal:9"), Wait(1)], want={1: gone()}, exit=(0, 137, 143))

row("a server that closes stdout with a pending call is replaced",
    play=[tool(1, "close hang"), Wait(1), tool(2, "answer")], want={1: gone("server-closed"), 2: ok("2.1")},
    events="spawn kill exit restart spawn exit")

row("a server that closes stdout without pending requests is replaced", server=["notifications/initialized@1=close"],
    play=[Started(2), tool(2, "answer")], want={2: ok("2.1")}, events="spawn kill exit restart spawn exit")

row("--restarts 0: a server that closes stdout is stopped", options=["--restarts", "0"],
    play=[tool(1, "close hang")], want={1: gone("server-closed")}, ends=True, exit=(0, 143), events="spawn kill exit")

lib.main(at_once=8)
