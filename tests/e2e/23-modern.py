#!/usr/bin/env python3
"""A server that misbehaves under 2026-07-28: no handshake, other codes, listens that are opened again."""
import lib
from lib import eq, note, request
from misbehave import Event, Notified, Recorded, T, Wait, gone, modern, ms, n_ms, ok, row, timed_out, tool

AGAIN = "spawn exit restart spawn exit"
ACK = "notifications/subscriptions/acknowledged"
LISTEN = modern("sub", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})


def call(id, script, **more):
    return tool(id, script, modern=True, **more)


row("a hang has the code of that revision, and no handshake is played to the new server", options=T, init=[],
    play=[call(1, "freeze"), Wait(1), call(2, "answer")],
    want={1: timed_out(3, "hang", code=-31001), 2: ok("2.1")}, not_got=["initialize", "notifications/initialized"],
    events="spawn timeout hang kill exit restart spawn exit", records={1: "timeout"}, escalated=["hang"])

row("a slow call: its code, and notifications/cancelled", options=T, init=[],
    play=[call(1, f"note:6:{n_ms(1)} answer"), Wait(1), Recorded("finding LIKE '%late-answer%'")],
    want={1: timed_out(3, code=-31001)}, got=[(1, ("cancelled", 1))], events="spawn timeout exit")

row("a crash has the code of that revision", init=[], play=[call(1, "signal:9"), Wait(1), call(2, "answer")],
    want={1: gone(code=-31000), 2: ok("2.1")}, events=AGAIN, not_got=["initialize"])

row("what only reads is sent again with its own id", init=[], server=["resources/read@1=signal:9"],
    play=[modern("r", "resources/read", {"uri": "x:y"})], want={"r": ok()},
    got=[(1, ("resources/read", None)), (2, ("resources/read", None))], events=AGAIN)

row("server/discover unanswered: no clock, nobody is killed; at the end it is told", options=T, init=[],
    server=["server/discover=hang"],
    play=[modern("d", "server/discover"), lambda s: s.pump_for(7), call(1, "answer")],
    unanswered=["d"], want={1: ok("1.1")}, events="spawn exit", not_got=["cancelled"])

row("server/discover kills a server that does not know it: the next one hears initialize", init=[],
    server=["server/discover@1=exit:1", "server/discover@2+=error:-32601:Method_not_found"],
    play=[modern("d", "server/discover"), Wait("d"), request("i", "initialize", {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
          Wait("i"), note("notifications/initialized"), tool(1, "answer")],
    want={"i": ok(), 1: ok()}, events=AGAIN)

row("a listen is open for many deadlines, and nobody minds", options=T, init=[],
    play=[LISTEN, Notified(ACK), lambda s: s.pump_for(7), call(1, "answer")],
    unanswered=["sub"], want={1: ok("1.1")}, events="spawn exit", not_got=["cancelled"], notified={ACK: 1})


def listened_again(t, s):
    for n in (1, 2):
        (m,) = [m for i, m in s.received() if i == n and m.get("method") == "subscriptions/listen"]
        eq((m["id"], m["params"]["notifications"]), ("sub", {"toolsListChanged": True}), f"the listen at server {n}")


row("after a crash a listen is opened again, and its second acknowledgement swallowed", init=[],
    server=["subscriptions/listen@2+=ack changed hang"],
    play=[LISTEN, Notified(ACK), call(1, "signal:9"), Wait(1), Notified("notifications/tools/list_changed"),
          call(2, "answer")],
    unanswered=["sub"], want={1: gone(code=-31000), 2: ok("2.1")}, events=AGAIN, notified={ACK: 1},
    after=listened_again)

row("a listen that the client has ended is not opened again", init=[],
    play=[LISTEN, Notified(ACK), note("notifications/cancelled", {"requestId": "sub"}), call(1, "signal:9"), Wait(1),
          call(2, "answer")],
    unanswered=["sub"], want={1: gone(code=-31000), 2: ok("2.1")}, not_got=[(2, ("subscriptions/listen", None))])

row("a listen that the server has ended is not opened again", init=[],
    server=["subscriptions/listen=ack answer"],
    play=[LISTEN, Notified(ACK), Wait("sub"), call(1, "signal:9"), Wait(1), call(2, "answer")],
    want={1: gone(code=-31000), 2: ok("2.1")}, not_got=[(2, ("subscriptions/listen", None))])

row("after a hang a listen is opened again, too", options=T, init=[],
    play=[LISTEN, Notified(ACK), call(1, "freeze"), Wait(1), call(2, "answer")],
    unanswered=["sub"], want={1: timed_out(3, "hang", code=-31001), 2: ok("2.1")}, notified={ACK: 1},
    escalated=["hang"], after=listened_again)

row("a retry with what a person has said may take longer: only --max-timeout counts",
    options=[*T, "--max-timeout", ms(9)], init=[],
    play=[call(1, f"sleep:{n_ms(6)} answer", inputResponses={}, requestState="s"), Wait(1),
          call(2, "freeze", inputResponses={}, requestState="s"), Event("spawn", 2)],
    want={1: ok("1.1", at_least=6), 2: timed_out(9, "hang", code=-31001)}, escalated=["hang"])

row("both eras on one pipe: each request has the code of its own", options=["--restarts", "0"],
    play=[tool(1, "hang"), call(2, "hang"), tool(3, "signal:9")],
    want={1: gone(), 2: gone(code=-31000), 3: gone()}, exit=137, ends=True)

lib.main(at_once=4)
