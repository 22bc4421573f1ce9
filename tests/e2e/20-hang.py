#!/usr/bin/env python3
"""A deadline that passes in silence: the client is told, the server is ended and started again."""
import lib
from lib import check, eq, note, request
from misbehave import Event, Ready, Received, T, Wait, gone, handshake, ms, n_ms, ok, row, timed_out, tool

HUNG = "spawn timeout hang kill exit restart spawn exit"


def silent(t, s):
    (d,) = s.details("timeout")
    eq(t.messages("origin = 'interposer' AND body LIKE '%has not said%'"), [], "nor is a good client blamed")
    eq((d["method"], d["target"], d["silent"]), ("tools/call", "freeze", True), "the timeout's detail")
    check(d["waited_ms"] >= n_ms(3), f"waited_ms: {d}")


def counted_all_the_time(t, s):
    (d,) = s.details("hang")
    check(d["post_mortem"]["since_ms"] >= n_ms(3) * 0.45, f"since_ms: {d['post_mortem']}")     # half of it at least


row("the processor time of a hang counts from the request, though the clock of another began shortly before",
    options=T, server=[f"tools/list=sleep:{n_ms(0.3)} answer"],
    play=[request(1, "tools/list"), Wait(1), tool(2, "freeze"), Event("spawn", 2)],
    want={1: ok(), 2: timed_out(3, "hang")}, escalated=["hang"], after=counted_all_the_time)

# Of one call: the name of the tool is what the server does.
for name, script, events in (
        ("stands still", "freeze", HUNG),
        ("burns the processor", "spin", HUNG),
        ("is stopped (SIGSTOP)", "stop", None),
        ("never answers that one", "hang", HUNG),
        ("reads no more", "deaf hang", HUNG),
        ("ignores SIGTERM", "ignore:15 freeze", "spawn timeout hang kill kill exit restart spawn exit"),
        ("has written half an answer", "half freeze", HUNG),
        ("floods stderr first", "err:5000 freeze", HUNG),
        ("has a child in its group", "fork:group freeze", HUNG),
        ("has a child in a session of its own", "fork:session freeze", HUNG),
        ("has a child that keeps its pipes", "fork:pipes freeze", None),
        ("has a child that keeps its pipes and ignores SIGTERM", "ignore:15 fork:pipes freeze", None)):
    row(f"the server {name}: the call is answered at the deadline, the next by a new server",
        options=T, play=[tool(1, script), Wait(1), tool(2, "answer")],
        want={1: timed_out(3, "hang"), 2: ok("2.1")}, got=[(2, ("call", 2))], not_got=[(2, ("call", 1))],
        events=events, records={1: "timeout", 2: "ok"}, escalated=["hang"])

for said in ((), (note("initialized"),)):
    row(f"a client that has not said notifications/initialized, but {said or 'nothing'}: the error says so beside the hang",
        options=T, init=[*handshake()[:2], *said], play=[tool(1, "freeze"), Event("spawn", 2)],
        want={1: timed_out(3, "hang", words=["(the client has not said notifications/initialized)"])}, escalated=["hang"])

row("what is recorded of a hang", options=T, play=[tool(1, "freeze"), Event("spawn", 2)],
    want={1: timed_out(3, "hang", words=["tools/call freeze"])}, events=HUNG,
    escalated=["hang"], after=silent)

for name, launch in (
        ("sh -c", lambda c: ["sh", "-c", " ".join(f"'{a}'" for a in c) + "; exit $?"]),
        ("a launcher within a launcher", lambda c: [
            "sh", "-c", "sh -c \"" + " ".join(f"'{a}'" for a in c) + "; exit \\$?\"; exit $?"])):
    row(f"{name}: the server behind it is ended and started again", options=T, launch=launch,
        play=[tool(1, "ignore:15 freeze"), Wait(1), tool(2, "answer")],
        want={1: timed_out(3, "hang"), 2: ok("2.1")}, escalated=["hang"])

row("initialize is not answered: no cancellation, an error, a new server for the next try",
    options=["--timeout", f"initialize={ms(3)}"], server=["initialize@1=freeze"], init=[],
    play=[request("i1", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                       "clientInfo": {"name": "c", "version": "1"}}), Wait("i1"),
          request("i2", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                       "clientInfo": {"name": "c", "version": "1"}}), Wait("i2"),
          tool(2, "answer")],
    want={"i1": timed_out(3, "hang"), "i2": ok(), 2: ok("2.1")}, not_got=["cancelled"],
    events=HUNG, records={"i1": "timeout", "i2": "ok"}, escalated=["hang"])

row("every other request that is open then is answered at once",
    options=["--timeout", ms(30), "--timeout", f"tool:freeze={ms(3)}"], server=["tools/list=hang"],
    play=[*(tool(f"o{i}", "hang") for i in range(20)), tool(1, "freeze"), Event("spawn", 2)],
    want={1: timed_out(3, "hang"), **{f"o{i}": gone("server-killed") for i in range(20)}},
    records={1: "timeout", "o7": "server-gone"}, escalated=["hang"])

row("--on-hang cancel: the server is told, and lives", options=[*T, "--on-hang", "cancel"],
    play=[tool(1, "hang"), Wait(1), tool(2, "answer")], want={1: timed_out(3), 2: ok("1.1")},
    got=[(1, ("cancelled", 1))], events="spawn timeout exit", records={1: "timeout"})

row("--restarts 0: the server is ended, and so are we, with 124", options=[*T, "--restarts", "0"],
    play=[tool(1, "freeze")], want={1: timed_out(3, "hang")}, exit=124, ends=True,
    events="spawn timeout hang kill exit", escalated=["hang"])

row("--restarts 0: what comes while the server is being ended is answered, too",
    options=[*T, "--restarts", "0"],
    play=[tool(1, "ignore:15 freeze"), Wait(1), tool(2, "answer")],
    want={1: timed_out(3, "hang"), 2: gone("server-killed")}, exit=124, ends=True, escalated=["hang"])

row("what comes while the server is being ended is for the new one",
    options=[*T, "--timeout", f"tools/list={ms(40)}"], grace=8,
    play=[tool(1, "ignore:15 freeze"), Wait(1), Event("hang"), request(2, "tools/list")],
    want={1: timed_out(3, "hang"), 2: ok()}, escalated=["hang"])

row("what waits for a new server has a deadline all the same, and is not made then",
    options=["--timeout", f"{ms(3)},initialize={ms(40)}"], grace=20,
    play=[tool(1, "ignore:15 freeze"), Wait(1), request(2, "tools/list"), Wait(2), Event("spawn", 2),
          request(3, "prompts/list")],
    want={1: timed_out(3, "hang"), 2: timed_out(3, words=["no other was there"]), 3: ok()},
    not_got=[(2, ("tools/list", None))],
    events="spawn timeout hang kill timeout kill exit restart spawn exit", escalated=["hang"])

row("a server that hangs again and again: the last time is the end, with 124",
    options=[*T, "--restarts", "2"],
    play=[tool(1, "freeze"), Wait(1), Ready(2), tool(2, "freeze"), Wait(2), Ready(3), tool(3, "freeze")],
    want={i: timed_out(3, "hang") for i in (1, 2, 3)}, exit=124, ends=True, escalated=["hang", "crash-loop"])

row("a server that never reads: its pipe fills, and each call is answered all the same",
    options=["--timeout", f"{ms(3)},initialize={ms(40)}"], server=["notifications/initialized@1=deaf"],
    play=[Received("notifications/initialized"),
          *(tool(i, "answer", arguments={"x": "x" * 10000}) for i in range(40)), Event("spawn", 2)],
    escalated=["hang"])

row("the client leaves while the server is being ended", options=T, grace=10,
    play=[tool(1, "ignore:15 fork:pipes freeze"), Wait(1), Event("kill")],
    want={1: timed_out(3, "hang")}, exit=(124, 137), escalated=["hang"])

lib.main(at_once=4)
