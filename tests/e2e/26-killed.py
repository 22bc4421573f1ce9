#!/usr/bin/env python3
"""kill -9 of the interposer while it handles a bad server: no process is left, and the record is intact."""
import json

import lib
from lib import case, check, eq
from misbehave import GRACE, Event, Play, Received, Started, T, Wait, handshake, ms, none_left, tool

STUBBORN = "ignore:15 fork:group freeze"

# The state in which the interposer is killed: the steps that lead to it, and the moment.
STEPS = {
    "a call is pending": ([], [tool(1, STUBBORN), Received("tools/call"), Started(1, "group")]),
    "SIGTERM was sent, and SIGKILL was not": (T, [tool(1, STUBBORN), Event("kill")]),
    "SIGKILL was sent": (T, [tool(1, STUBBORN), Event("kill", 2)]),
    "the server has crashed, and its child holds the pipes":
        ([], [tool(1, "ignore:15 fork:grip signal:9"), Started(1, "grip"), Event("exit")]),
    "the next server is not started yet": ([], [tool(1, "fork:group signal:9"), Wait(1)]),
    "the next server has not answered the handshake": ([], [tool(1, "signal:9"), Started(2)]),
    "the next server is serving": (T, [tool(1, "freeze"), Wait(1), tool(2, "answer"), Wait(2), tool(3, STUBBORN),
                                       Started(1, "group")]),
    "the client has closed both sides": ([], [tool(1, STUBBORN), Started(1, "group"), lambda s: s.p.client.close_write(),
                                 lambda s: s.p.client.close_read(), Event("kill")]),
    "the client has closed stdin and waits": ([], [tool(1, STUBBORN), Started(1, "group"),
                                               lambda s: s.p.client.close_write()]),
    "the client has closed stdin, and a deadline has passed": (T, [tool(1, STUBBORN), Started(1, "group"),
                                                         lambda s: s.p.client.close_write(), Event("kill")]),
    "the interposer got SIGTERM": ([], [tool(1, STUBBORN), Started(1, "group"), lambda s: s.p.proc.terminate(),
                                           Event("kill")]),
}

for name, (options, play) in STEPS.items():
    @case(f"killed when {name}: no process is left, and the record is intact")
    def _(t, options=options, play=play, name=name):
        server = ["initialize@2+=freeze"] if "handshake" in name else []
        s = Play(t, options, server, None, {}, GRACE, {})
        for step in [*handshake(), *play]:
            if isinstance(step, bytes):
                s.send(step)
            else:
                step(s)
        check(s.marked(), "there is no process")
        s.p.die()
        none_left(s.mark, 3)
        eq(lib.integrity(t.vault), [(b"ok",)], "integrity of the vault")
        for id in s.answers:
            check(t.rows("SELECT 1 FROM messages WHERE direction = 's2c' AND rpc_id = ?", json.dumps(id)),
                  f"the answer to {id!r} is not in the record")


lib.main(at_once=8)
