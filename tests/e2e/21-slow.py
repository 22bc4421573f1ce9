#!/usr/bin/env python3
"""A server that is slow, and alive: told to cancel, never killed; and all that must not count as slow."""
import lib
from lib import note, request
from misbehave import (Event, Received, Recorded, T, Wait, handshake, ms, n_ms, ok, refused, row, timed_out,
                       tool)

CALM = "spawn exit"
SLOW = "spawn timeout exit"
HUMAN = ("elicitation/create", "sampling/createMessage", "roots/list")
CAN_ASK = handshake(capabilities={"elicitation": {}, "sampling": {}, "roots": {}})


def cancel(id):
    return note("notifications/cancelled", {"requestId": id, "reason": "test"})


row("it goes on sending notifications: the client is told, the server is asked to stop, its answer is late",
    options=T, play=[tool(1, f"note:6:{n_ms(1)} answer"), Wait(1), Recorded("finding LIKE '%late-answer%'"),
                     tool(2, "answer")],
    want={1: timed_out(3), 2: ok("1.2")}, got=[(1, ("cancelled", 1))], events=SLOW,
    records={1: "timeout", 2: "ok"})

row("it answers others meanwhile", options=T,
    play=[tool(1, f"sleep:{n_ms(6)} answer"), *(x for i in range(4) for x in (tool(f"a{i}", "answer"), Wait(f"a{i}"))),
          Wait(1), Recorded("finding LIKE '%late-answer%'"), request("l", "tools/list")],
    want={1: timed_out(3), "l": ok()}, got=[(1, ("cancelled", 1))], events=SLOW, records={1: "timeout"})

row("an error in answer to another request is life as well", options=T,
    play=[tool(1, "hang"), request("p", "no/such-method"), Wait("p"), Wait(1), tool(2, "answer")],
    want={1: timed_out(3), "p": refused(-32601), 2: ok("1.1")}, events=SLOW)

row("what is no message is no life: stderr, and a line of log on stdout", options=T,
    play=[tool(1, f"sleep:{n_ms(1)} err:1 noise sleep:{n_ms(1)} err:1 noise hang"), Wait(1), tool(2, "answer")],
    want={1: timed_out(3, "hang"), 2: ok("2.1")}, escalated=["hang"])

row("a call that is slow twice is told of twice, and its server lives", options=T,
    play=[tool(1, f"note:12:{n_ms(1)} answer"), tool(2, f"note:12:{n_ms(1)} answer"), Wait(1, 2),
          Recorded("finding LIKE '%late-answer%'", 2), tool(3, "answer")],
    want={1: timed_out(3), 2: timed_out(3), 3: ok("1.3")}, got=[(1, ("cancelled", 1)), (1, ("cancelled", 2))],
    events="spawn timeout timeout exit")

# --- progress -------------------------------------------------------------------------------------

row("progress keeps a call alive past its deadline", options=T,
    play=[tool(1, f"progress:10:{n_ms(1)} answer", token="p")], want={1: ok("1.1", at_least=10)}, events=CALM,
    notified={"notifications/progress": 10}, records={1: "ok"})

row("progress that ends starts the last deadline", options=T,
    play=[tool(1, f"progress:5:{n_ms(1)} hang", token=7)], want={1: timed_out(8)},
    got=[(1, ("cancelled", 1))], events=SLOW)

row("progress of another call keeps nobody else alive", options=T,
    play=[tool(1, "hang", token="a"), tool(2, f"progress:6:{n_ms(1)} answer", token="b")],
    want={1: timed_out(3), 2: ok("1.1")}, got=[(1, ("cancelled", 1))], not_got=[("cancelled", 2)], events=SLOW)

row("a token of the other JSON type is another token", options=T,
    play=[tool(1, "hang", token="7"), tool(2, f"progress:6:{n_ms(1)} answer", token=7)],
    want={1: timed_out(3), 2: ok("1.1")}, events=SLOW)

row("--max-timeout ends what progress would keep alive; what is reported after it goes nowhere",
    options=[*T, "--max-timeout", ms(7)],
    play=[tool(1, f"progress:12:{n_ms(1)} answer", token="p"), Wait(1),
          Recorded("finding LIKE '%late-progress%' AND action = 'swallowed'"),
          Recorded("finding LIKE '%late-answer%'"), tool(2, "answer")],
    want={1: timed_out(7), 2: ok("1.2")}, got=[(1, ("cancelled", 1))], events=SLOW, records={1: "timeout"})

row("--max-timeout shorter than the deadline is the deadline", options=["--max-timeout", ms(3)],
    play=[tool(1, "freeze"), Event("spawn", 2)], want={1: timed_out(3, "hang")}, escalated=["hang"])

# --- a person is asked ----------------------------------------------------------------------------

for method in HUMAN:
    row(f"{method} that waits two deadlines long: no clock runs", options=T, init=CAN_ASK,
        replies={method: 7}, play=[tool(1, f"ask:{method} answer")], want={1: ok("1.1", at_least=7)},
        events=CALM)

row("while one call waits for a person, no other call's clock runs", options=T, init=CAN_ASK,
    replies={"elicitation/create": 7},
    play=[tool(1, "ask:elicitation/create answer"), tool(2, f"sleep:{n_ms(8)} answer")],
    want={1: ok(at_least=7), 2: ok(at_least=8)}, events=CALM)

row("two questions at once: the clocks run when both are answered", options=T, init=CAN_ASK,
    replies={"elicitation/create": 3, "sampling/createMessage": 7},
    play=[tool(1, "ask:elicitation/create answer"), tool(2, "ask:sampling/createMessage answer"),
          tool(3, f"sleep:{n_ms(8)} answer")],
    want={1: ok(at_least=3), 2: ok(at_least=7), 3: ok(at_least=8)}, events=CALM)

row("when the person has answered, the clock goes on", options=T, init=CAN_ASK,
    replies={"elicitation/create": 5}, play=[tool(1, "ask:elicitation/create hang")],
    want={1: timed_out(8)}, events=SLOW)

row("a question that the server takes back holds no clock", options=T, init=CAN_ASK,
    play=[tool(1, f"pose:elicitation/create sleep:{n_ms(4)} withdraw hang")], want={1: timed_out(7)}, events=SLOW)

# --- no clock at all ------------------------------------------------------------------------------

row("tasks/result may wait for ever", options=T,
    play=[request("t", "tasks/result", {"taskId": "t1"}), tool(1, f"progress:8:{n_ms(1)} answer", token=1)],
    unanswered=["t"], want={1: ok(at_least=8)}, events=CALM, not_got=["cancelled", "tasks/cancel"])

row("tasks/result has a deadline if one is named for it; then the task is cancelled",
    options=["--timeout", f"tasks/result={ms(3)}"], server=[f"tasks/result=note:5:{n_ms(1)} hang"],
    play=[request("t", "tasks/result", {"taskId": "t1"}), Wait("t"), tool(1, "answer")],
    want={"t": timed_out(3), 1: ok()}, events=SLOW)

row("a task: its creation is answered in time, and no clock of it goes on", options=T,
    play=[tool(1, "task", task={"ttl": 60000}), Wait(1), tool(2, f"progress:6:{n_ms(1)} answer", token="p")],
    want={2: ok("1.1", at_least=6)}, events=CALM,
    not_got=["cancelled", "tasks/cancel"])

row("0 is never", options=["--timeout", "0", "--max-timeout", "0"],
    play=[tool(1, f"sleep:{n_ms(8)} answer")], want={1: ok(at_least=8)}, events=CALM)

row("what the client cancelled has no clock any more, and nobody is killed for it", options=T,
    play=[tool(1, "hang"), Received("tools/call"), cancel(1), tool(2, f"progress:5:{n_ms(1)} answer", token=2)],
    unanswered=[1], want={2: ok(at_least=5)}, events=CALM, records={1: "cancelled"})

row("what the client cancelled goes on reporting: the client gets it, for it may still look", options=T,
    play=[tool(1, f"progress:6:{n_ms(1)} answer", token="p"), Received("tools/call"), cancel(1),
          Recorded("finding LIKE '%late-answer%'")],
    unanswered=[1], events=CALM, notified={"notifications/progress": 6}, records={1: "cancelled"})

row("cancelled, and silent for ever: no reason to kill it", options=T,
    play=[tool(1, "hang"), Received("tools/call"), cancel(1), Received("notifications/cancelled"),
          lambda s: s.pump_for(6)],
    unanswered=[1], events=CALM, records={1: "cancelled"})

row("the server is silent, and nothing is asked of it: nobody is killed", options=T,
    play=[lambda s: s.pump_for(6), tool(1, "answer")], want={1: ok("1.1")}, events=CALM)

row("the silence before a request is not the silence after it", options=T,
    play=[lambda s: s.pump_for(4), tool(1, f"sleep:{n_ms(1.5)} answer")], want={1: ok("1.1")}, events=CALM)

# --- answers that are too many --------------------------------------------------------------------

row("two answers to one call: the client gets one", options=T, play=[tool(1, "twice"), Wait(1), tool(2, "answer")],
    want={1: ok("1.1"), 2: ok("1.3")}, events=CALM)

row("an answer to nobody: the client does not get it", options=T,
    play=[tool(1, "stranger answer"), tool(2, "answer")], want={1: ok(), 2: ok()}, events=CALM)

row("an answer that is none: an error, and the server lives", options=T,
    play=[tool(1, "malformed"), tool(2, "answer")], want={1: refused(-32603), 2: ok()}, events=CALM)

row("an answer in the last moment is an answer", options=["--timeout", ms(5)],
    play=[tool(1, f"sleep:{n_ms(4)} answer")], want={1: ok("1.1")}, events=CALM)

row("a thousand calls at once, half of them never answered: five hundred errors, and no more", limit=120,
    options=["--timeout", ms(10)],
    play=[tool(i, "hang" if i % 2 else f"sleep:{n_ms(1 + i % 7)} answer") for i in range(1000)],
    want={i: timed_out(10, at_most=30) if i % 2 else ok(at_most=100) for i in range(1000)}, records={1: "timeout", 2: "ok"})

lib.main(at_once=4)
