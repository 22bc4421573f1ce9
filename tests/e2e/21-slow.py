#!/usr/bin/env python3
"""A slow server that is alive: requests are cancelled, the server is never killed; and servers that do not count as slow."""
import lib
from lib import check, note, request
from misbehave import (D, Event, Received, Recorded, T, Wait, handshake, ms, n_ms, ok, refused, row, timed_out,
                       stretch, tool)

stretch()
CALM = "spawn exit"
SLOW = "spawn timeout exit"
HUMAN = ("elicitation/create", "sampling/createMessage", "roots/list")
CAN_ASK = handshake(capabilities={"elicitation": {}, "sampling": {}, "roots": {}})


def cancel(id):
    return note("notifications/cancelled", {"requestId": id, "reason": "test"})


row("a server that sends notifications: the call times out and is cancelled, and the late answer is dropped",
    options=T, play=[tool(1, f"note:1:0 note:8:{n_ms(1)} answer"), Wait(1), Recorded("finding LIKE '%late-answer%'"),
                     tool(2, "answer")],
    want={1: timed_out(D), 2: ok("1.2")}, got=[(1, ("cancelled", 1))], events=SLOW,
    records={1: "timeout", 2: "ok"})

row("a server that answers other requests: the call times out and is cancelled", options=T,
    play=[tool(1, f"sleep:{n_ms(8)} answer"), *(x for i in range(4) for x in (tool(f"a{i}", "answer"), Wait(f"a{i}"))),
          Wait(1), Recorded("finding LIKE '%late-answer%'"), request("l", "tools/list")],
    want={1: timed_out(D), "l": ok()}, got=[(1, ("cancelled", 1))], events=SLOW, records={1: "timeout"})

row("an error for another request counts as activity", options=T,
    play=[tool(1, "hang"), request("p", "no/such-method"), Wait("p"), Wait(1), tool(2, "answer")],
    want={1: timed_out(D), "p": refused(-32601), 2: ok("1.1")}, events=SLOW)

row("stderr and log lines on stdout do not count as activity", options=T,
    play=[tool(1, f"sleep:{n_ms(1)} err:1 noise sleep:{n_ms(1)} err:1 noise hang"), Wait(1), tool(2, "answer")],
    want={1: timed_out(D, "hang"), 2: ok("2.1")}, escalated=["hang"])

row("two slow calls both time out, and the server stays alive", options=T,
    play=[tool(1, f"note:1:0 note:12:{n_ms(1)} answer"), tool(2, f"note:1:0 note:12:{n_ms(1)} answer"), Wait(1, 2),
          Recorded("finding LIKE '%late-answer%'", 2), tool(3, "answer")],
    want={1: timed_out(D), 2: timed_out(D), 3: ok("1.3")}, got=[(1, ("cancelled", 1)), (1, ("cancelled", 2))],
    events="spawn timeout timeout exit")

# --- progress -------------------------------------------------------------------------------------

row("progress keeps a call alive past its deadline", options=T,
    play=[tool(1, f"progress:10:{n_ms(1)} answer", token="p")], want={1: ok("1.1", at_least=10)}, events=CALM,
    notified={"notifications/progress": 10}, records={1: "ok"})

row("the last progress restarts the deadline for the last time", options=T,
    play=[tool(1, f"progress:5:{n_ms(1)} hang", token=7)], want={1: timed_out(5 + D)},
    got=[(1, ("cancelled", 1))], events=SLOW)

row("progress of one call does not extend the deadline of another", options=T,
    play=[tool(1, "hang", token="a"), tool(2, f"progress:8:{n_ms(1)} answer", token="b")],
    want={1: timed_out(D), 2: ok("1.1")}, got=[(1, ("cancelled", 1))], not_got=[("cancelled", 2)], events=SLOW)

row("a progress token of another JSON type is another token", options=T,
    play=[tool(1, "hang", token="7"), tool(2, f"progress:8:{n_ms(1)} answer", token=7)],
    want={1: timed_out(D), 2: ok("1.1")}, events=SLOW)

def by_max(_, s):
    message = s.answers[1][0][1]["error"]["message"]
    check(message.endswith("not the server's: raise it with --max-timeout 5m, or max-timeout = 5m in section [proxy] of mcp-interposer's configuration"),
          message)


row("--max-timeout ends a call in spite of progress, and later progress is dropped",
    options=[*T, "--max-timeout", ms(8)],
    play=[tool(1, f"progress:14:{n_ms(1)} answer", token="p"), Wait(1),
          Recorded("finding LIKE '%late-progress%' AND action = 'swallowed'"),
          Recorded("finding LIKE '%late-answer%'"), tool(2, "answer")],
    want={1: timed_out(8), 2: ok("1.2")}, got=[(1, ("cancelled", 1))], events=SLOW, records={1: "timeout"}, after=by_max)

row("--max-timeout shorter than --timeout is the deadline", options=["--max-timeout", ms(D)],
    play=[tool(1, "freeze"), Event("spawn", 2)], want={1: timed_out(D, "hang")}, escalated=["hang"], after=by_max)

# --- a person is asked ----------------------------------------------------------------------------

for method in HUMAN:
    row(f"deadlines stand still while {method} waits for two of them", options=T, init=CAN_ASK,
        replies={method: 2 * D + 1}, play=[tool(1, f"ask:{method} answer")], want={1: ok("1.1", at_least=2 * D + 1)},
        events=CALM)

row("while one call waits for the user, the deadlines of other calls stand still", options=T, init=CAN_ASK,
    replies={"elicitation/create": 11},
    play=[tool(1, "ask:elicitation/create answer"), tool(2, f"sleep:{n_ms(12)} answer")],
    want={1: ok(at_least=11), 2: ok(at_least=12)}, events=CALM)

row("two pending questions: deadlines continue when both are answered", options=T, init=CAN_ASK,
    replies={"elicitation/create": 7, "sampling/createMessage": 11},
    play=[tool(1, "ask:elicitation/create answer"), tool(2, "ask:sampling/createMessage answer"),
          tool(3, f"sleep:{n_ms(12)} answer")],
    want={1: ok(at_least=7), 2: ok(at_least=11), 3: ok(at_least=12)}, events=CALM)

row("deadlines continue when the user has answered", options=T, init=CAN_ASK,
    replies={"elicitation/create": 6}, play=[tool(1, "ask:elicitation/create hang")],
    want={1: timed_out(6 + D)}, events=SLOW)

row("deadlines continue when the server cancels its question", options=T, init=CAN_ASK,
    play=[tool(1, f"pose:elicitation/create sleep:{n_ms(4)} withdraw hang")], want={1: timed_out(4 + D)}, events=SLOW)

# --- no clock at all ------------------------------------------------------------------------------

row("tasks/result has no deadline", options=T,
    play=[request("t", "tasks/result", {"taskId": "t1"}), tool(1, f"progress:8:{n_ms(1)} answer", token=1)],
    unanswered=["t"], want={1: ok(at_least=8)}, events=CALM, not_got=["cancelled", "tasks/cancel"])

row("tasks/result has a deadline when --timeout names it, and then the task is cancelled",
    options=["--timeout", f"tasks/result={ms(D)}"], server=[f"tasks/result=note:1:0 note:5:{n_ms(1)} hang"],
    play=[request("t", "tasks/result", {"taskId": "t1"}), Wait("t"), tool(1, "answer")],
    want={"t": timed_out(D), 1: ok()}, events=SLOW)

row("a created task has no deadline", options=T,
    play=[tool(1, "task", task={"ttl": 60000}), Wait(1), tool(2, f"progress:8:{n_ms(1)} answer", token="p")],
    want={2: ok("1.1", at_least=8)}, events=CALM,
    not_got=["cancelled", "tasks/cancel"])

row("a timeout of 0 never expires", options=["--timeout", "0", "--max-timeout", "0"],
    play=[tool(1, f"sleep:{n_ms(8)} answer")], want={1: ok(at_least=8)}, events=CALM)

row("a cancelled request has no deadline, and the server is not killed for it", options=T,
    play=[tool(1, "hang"), Received("tools/call"), cancel(1), tool(2, f"progress:8:{n_ms(1)} answer", token=2)],
    unanswered=[1], want={2: ok(at_least=8)}, events=CALM, records={1: "cancelled"})

row("progress of a cancelled request is forwarded", options=T,
    play=[tool(1, f"progress:6:{n_ms(3)} answer", token="p"), Received("tools/call"), cancel(1),
          Recorded("finding LIKE '%late-answer%'")],
    unanswered=[1], events=CALM, notified={"notifications/progress": 6}, records={1: "cancelled"})

row("a server that never answers a cancelled request is not killed", options=T,
    play=[tool(1, "hang"), Received("tools/call"), cancel(1), Received("notifications/cancelled"),
          lambda s: s.pump_for(D + 3)],
    unanswered=[1], events=CALM, records={1: "cancelled"})

row("a silent server without pending requests is not killed", options=T,
    play=[lambda s: s.pump_for(D + 3), tool(1, "answer")], want={1: ok("1.1")}, events=CALM)

row("silence before a request does not count", options=T,
    play=[lambda s: s.pump_for(D + 1), tool(1, f"sleep:{n_ms(1)} answer")], want={1: ok("1.1")}, events=CALM)

# --- answers that are too many --------------------------------------------------------------------

row("a second answer is dropped", options=T, play=[tool(1, "twice"), Wait(1), tool(2, "answer")],
    want={1: ok("1.1"), 2: ok("1.3")}, events=CALM)

row("an answer to an unknown id is dropped", options=T,
    play=[tool(1, "stranger answer"), tool(2, "answer")], want={1: ok(), 2: ok()}, events=CALM)

row("a malformed answer becomes an error, and the server stays alive", options=T,
    play=[tool(1, "malformed"), tool(2, "answer")], want={1: refused(-32603), 2: ok()}, events=CALM)

row("an answer shortly before the deadline is delivered", options=["--timeout", ms(15)],
    play=[tool(1, f"sleep:{n_ms(11)} answer")], want={1: ok("1.1")}, events=CALM)

row("a thousand concurrent calls, half of them never answered: exactly five hundred errors", limit=120,
    options=["--timeout", f"tool:hang={ms(10)},tool:sleep*={ms(600)}"],
    play=[tool(i, "hang" if i % 2 else f"sleep:{n_ms(1 + i % 7)} answer") for i in range(1000)],
    want={i: timed_out(10, at_most=30) if i % 2 else ok(at_most=100) for i in range(1000)}, records={1: "timeout", 2: "ok"})

lib.main(at_once=16)
