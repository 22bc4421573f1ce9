#!/usr/bin/env python3
"""A server that misbehaves under 2026-07-28: no handshake, other error codes, listens that are reopened."""
import lib
from lib import eq, note, request
from misbehave import D, Event, Notified, Recorded, T, Wait, gone, modern, ms, n_ms, ok, row, stretch, timed_out, tool

stretch()
AGAIN = "spawn exit restart spawn exit"
ACK = "notifications/subscriptions/acknowledged"
LISTEN = modern("sub", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})


def call(id, script, **more):
    return tool(id, script, modern=True, **more)


row("a hang has the error code of that revision, and the new server gets no handshake", options=T, init=[],
    play=[call(1, "freeze"), Wait(1), call(2, "answer")],
    want={1: timed_out(D, "hang", code=-31001), 2: ok("2.1")}, not_got=["initialize", "notifications/initialized"],
    events="spawn timeout hang kill exit restart spawn exit", records={1: "timeout"}, escalated=["hang"])

row("a slow call has the error code of that revision, and is cancelled", options=T, init=[],
    play=[call(1, f"note:1:0 note:8:{n_ms(1)} answer"), Wait(1), Recorded("finding LIKE '%late-answer%'")],
    want={1: timed_out(D, code=-31001)}, got=[(1, ("cancelled", 1))], events="spawn timeout exit")

row("a crash has the error code of that revision", init=[], play=[call(1, "signal:9"), Wait(1), call(2, "answer")],
    want={1: gone(code=-31000), 2: ok("2.1")}, events=AGAIN, not_got=["initialize"])

row("a request that only reads is resent with the same id", init=[], server=["resources/read@1=signal:9"],
    play=[modern("r", "resources/read", {"uri": "x:y"})], want={"r": ok()},
    got=[(1, ("resources/read", None)), (2, ("resources/read", None))], events=AGAIN)

row("server/discover has no deadline", options=T, init=[],
    server=["server/discover=hang"],
    play=[modern("d", "server/discover"), lambda s: s.pump_for(D + 3), call(1, "answer")],
    unanswered=["d"], want={1: ok("1.1")}, events="spawn exit", not_got=["cancelled"])

row("server/discover crashes a server that does not know it: the next one gets initialize", init=[],
    server=["server/discover@1=exit:1", "server/discover@2+=error:-32601:Method_not_found"],
    play=[modern("d", "server/discover"), Wait("d"), request("i", "initialize", {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
          Wait("i"), note("notifications/initialized"), tool(1, "answer")],
    want={"i": ok(), 1: ok()}, events=AGAIN)

row("subscriptions/listen has no deadline", options=T, init=[],
    play=[LISTEN, Notified(ACK), lambda s: s.pump_for(D + 3), call(1, "answer")],
    unanswered=["sub"], want={1: ok("1.1")}, events="spawn exit", not_got=["cancelled"], notified={ACK: 1})


def listened_again(t, s):
    for n in (1, 2):
        (m,) = [m for i, m in s.received() if i == n and m.get("method") == "subscriptions/listen"]
        eq((m["id"], m["params"]["notifications"]), ("sub", {"toolsListChanged": True}), f"the listen at server {n}")


row("a listen is reopened after a crash, and its second acknowledgement dropped", init=[],
    server=["subscriptions/listen@2+=ack changed hang"],
    play=[LISTEN, Notified(ACK), call(1, "signal:9"), Wait(1), Notified("notifications/tools/list_changed"),
          call(2, "answer")],
    unanswered=["sub"], want={1: gone(code=-31000), 2: ok("2.1")}, events=AGAIN, notified={ACK: 1},
    after=listened_again)

row("a listen that was not acknowledged before the crash is reopened, and its acknowledgement reaches the client", init=[],
    server=["subscriptions/listen=hang", "subscriptions/listen@2+=ack changed hang"],
    play=[LISTEN, call(1, "signal:9"), Wait(1), Notified(ACK), Notified("notifications/tools/list_changed"), call(2, "answer")],
    unanswered=["sub"], want={1: gone(code=-31000), 2: ok("2.1")}, events=AGAIN, notified={ACK: 1}, after=listened_again)

row("a listen that the client cancelled is not reopened", init=[],
    play=[LISTEN, Notified(ACK), note("notifications/cancelled", {"requestId": "sub"}), call(1, "signal:9"), Wait(1),
          call(2, "answer")],
    unanswered=["sub"], want={1: gone(code=-31000), 2: ok("2.1")}, not_got=[(2, ("subscriptions/listen", None))])

row("a listen that the server finished is not reopened", init=[],
    server=["subscriptions/listen=ack answer"],
    play=[LISTEN, Notified(ACK), Wait("sub"), call(1, "signal:9"), Wait(1), call(2, "answer")],
    want={1: gone(code=-31000), 2: ok("2.1")}, not_got=[(2, ("subscriptions/listen", None))])

row("a listen is reopened after a hang", options=T, init=[],
    play=[LISTEN, Notified(ACK), call(1, "freeze"), Wait(1), call(2, "answer")],
    unanswered=["sub"], want={1: timed_out(D, "hang", code=-31001), 2: ok("2.1")}, notified={ACK: 1},
    escalated=["hang"], after=listened_again)

row("a retry with input responses is limited by --max-timeout alone",
    options=[*T, "--max-timeout", ms(12)], init=[],
    play=[call(1, f"sleep:{n_ms(7)} answer", inputResponses={}, requestState="s"), Wait(1),
          call(2, "freeze", inputResponses={}, requestState="s"), Event("spawn", 2)],
    want={1: ok("1.1", at_least=7), 2: timed_out(12, "hang", code=-31001)}, escalated=["hang"])

row("requests of both eras on one pipe get the error codes of their own", options=["--restarts", "0"],
    play=[tool(1, "hang"), call(2, "hang"), tool(3, "signal:9")],
    want={1: gone(), 2: gone(code=-31000), 3: gone()}, exit=137, ends=True)

lib.main(at_once=8)
