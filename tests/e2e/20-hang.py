#!/usr/bin/env python3
"""A deadline passes in silence: the client gets an error, the server is killed and restarted."""
import lib
from lib import check, eq, note, request
from misbehave import D, Event, Ready, Received, Recorded, T, Wait, gone, handshake, ms, n_ms, ok, row, timed_out, tool

HUNG = "spawn timeout hang kill exit restart spawn exit"
DEFIANT = ["start@1=ignore:15"]     # before it is asked anything: a script may run later than SIGTERM is sent


def silent(t, s):
    (d,) = s.details("timeout")
    eq(t.messages("origin = 'interposer' AND body LIKE '%has not sent%'"), [], "errors that blame the client")
    eq((d["method"], d["target"], d["silent"]), ("tools/call", "freeze", True), "the timeout's detail")
    check(d["waited_ms"] >= n_ms(D), f"waited_ms: {d}")


def counted_all_the_time(t, s):
    (d,) = s.details("hang")
    # Half of it at least, less what this process waits for a processor; what counts from the kill has next to nothing.
    check(d["post_mortem"]["since_ms"] >= n_ms(D) * 0.1, f"since_ms: {d['post_mortem']}")


row("the CPU time in the post-mortem counts from the hung request, not from an earlier one",
    options=T, server=[f"tools/list=sleep:{n_ms(0.3)} answer"],
    play=[request(1, "tools/list"), Wait(1), tool(2, "freeze"), Event("spawn", 2)],
    want={1: ok(), 2: timed_out(D, "hang")}, escalated=["hang"], after=counted_all_the_time)

# For one call: the name of the tool is the script of the server.
for name, script, events in (
        ("stands still", "freeze", HUNG),
        ("burns the processor", "spin", HUNG),
        ("is stopped (SIGSTOP)", "stop", None),
        ("never answers that one", "hang", HUNG),
        ("reads no more", "deaf hang", HUNG),
        ("ignores SIGTERM", "freeze", "spawn timeout hang kill kill exit restart spawn exit"),
        ("has written half an answer", "half freeze", HUNG),
        ("floods stderr first", "err:5000 freeze", HUNG),
        ("has a child in its group", "fork:group freeze", HUNG),
        ("has a child in a session of its own", "fork:session freeze", HUNG),
        ("has a child that keeps its pipes", "fork:pipes freeze", None),
        ("has a child that keeps its pipes and ignores SIGTERM", "fork:pipes freeze", None)):
    row(f"the server {name}: the call gets an error at its deadline, and a new server answers the next one",
        options=T, server=DEFIANT if "SIGTERM" in name else [], play=[tool(1, script), Wait(1), tool(2, "answer")],
        want={1: timed_out(D, "hang"), 2: ok("2.1")}, got=[(2, ("call", 2))], not_got=[(2, ("call", 1))],
        events=events, records={1: "timeout", 2: "ok"}, escalated=["hang"])

for said in ((), (note("initialized"),)):
    row(f"a client that sent {said or 'nothing'} instead of notifications/initialized: the error mentions it",
        options=T, init=[*handshake()[:2], *said], play=[tool(1, "freeze"), Event("spawn", 2)],
        want={1: timed_out(D, "hang", words=["(the client has not sent notifications/initialized)"])}, escalated=["hang"])

row("a hang is recorded with its request and its silence", options=T, play=[tool(1, "freeze"), Event("spawn", 2)],
    want={1: timed_out(D, "hang", words=["tools/call freeze"])}, events=HUNG,
    escalated=["hang"], after=silent)

for name, launch in (
        ("sh -c", lambda c: ["sh", "-c", " ".join(f"'{a}'" for a in c) + "; exit $?"]),
        ("a launcher within a launcher", lambda c: [
            "sh", "-c", "sh -c \"" + " ".join(f"'{a}'" for a in c) + "; exit \\$?\"; exit $?"])):
    row(f"{name}: the server behind it is killed and restarted", options=T, launch=launch,
        play=[tool(1, "ignore:15 freeze"), Wait(1), tool(2, "answer")],
        want={1: timed_out(D, "hang"), 2: ok("2.1")}, escalated=["hang"])

row("initialize times out: no cancellation, an error, and a new server for the next attempt",
    options=["--timeout", f"initialize={ms(60)}"], server=["initialize@1=freeze"], init=[],
    play=[request("i1", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                       "clientInfo": {"name": "c", "version": "1"}}), Wait("i1"),
          request("i2", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                       "clientInfo": {"name": "c", "version": "1"}}), Wait("i2"),
          tool(2, "answer")],
    want={"i1": timed_out(60, "hang"), "i2": ok(), 2: ok("2.1")}, not_got=["cancelled"],
    events=HUNG, records={"i1": "timeout", "i2": "ok"}, escalated=["hang"])

row("a hang answers all other pending requests at once",
    options=["--timeout", ms(300), "--timeout", f"tool:freeze={ms(D)}"], server=["tools/list=hang"],
    play=[*(tool(f"o{i}", "hang") for i in range(20)), Received("tools/call", 20), tool(1, "freeze"), Event("spawn", 2)],
    want={1: timed_out(D, "hang"), **{f"o{i}": gone("server-killed") for i in range(20)}},
    records={1: "timeout", "o7": "server-gone"}, escalated=["hang"])

row("what a server that is being killed still sends for an answered request is dropped",
    options=["--timeout", ms(300), "--timeout", f"tool:stop={ms(D)}"], server=DEFIANT,
    play=[tool(1, "stop"), tool(2, f"progress:3:{n_ms(1)} answer", token="p"), Wait(2),
          Recorded("finding LIKE '%late-progress%' AND action = 'swallowed'", 3),
          Recorded("finding LIKE '%late-answer%' AND action = 'swallowed'")],
    want={1: timed_out(D, "hang"), 2: gone("server-killed")}, exit=(124, 137), escalated=["hang"])

row("--on-hang cancel: the server gets a cancellation and stays alive", options=[*T, "--on-hang", "cancel"],
    play=[tool(1, "hang"), Wait(1), tool(2, "answer")], want={1: timed_out(D), 2: ok("1.1")},
    got=[(1, ("cancelled", 1))], events="spawn timeout exit", records={1: "timeout"})

row("--restarts 0: the server is killed, and the exit status is 124", options=[*T, "--restarts", "0"],
    play=[tool(1, "freeze")], want={1: timed_out(D, "hang")}, exit=124, ends=True,
    events="spawn timeout hang kill exit", escalated=["hang"])

row("--restarts 0: a request that arrives while the server is being killed gets an error",
    options=[*T, "--restarts", "0"], server=DEFIANT,
    play=[tool(1, "freeze"), Wait(1), tool(2, "answer")],
    want={1: timed_out(D, "hang"), 2: gone("server-killed")}, exit=124, ends=True, escalated=["hang"])

row("a request that arrives while the server is being killed goes to the new one",
    options=T, server=DEFIANT,
    play=[tool(1, "freeze"), Wait(1), Event("hang"), request(2, "tools/list")],
    want={1: timed_out(D, "hang"), 2: ok()}, escalated=["hang"])

row("a request that waits for a new server keeps its deadline, and is not sent after it",
    options=["--timeout", f"{ms(D)},initialize={ms(600)},prompts/list={ms(600)}"], server=DEFIANT,
    play=[tool(1, "freeze"), Wait(1), request(2, "tools/list"), Wait(2), Event("spawn", 2),
          request(3, "prompts/list")],
    want={1: timed_out(D, "hang"), 2: timed_out(D, words=["no new process was ready"]), 3: ok()},
    not_got=[(2, ("tools/list", None))],
    events="spawn timeout hang kill timeout kill exit restart spawn exit", escalated=["hang"])

row("a server that hangs after every restart: the session ends with exit status 124",
    options=[*T, "--restarts", "2"],
    play=[tool(1, "freeze"), Wait(1), Ready(2), tool(2, "freeze", arguments={"n": 2}), Wait(2), Ready(3), tool(3, "freeze", arguments={"n": 3})],
    want={i: timed_out(D, "hang") for i in (1, 2, 3)}, exit=124, ends=True, escalated=["hang", "crash-loop"])

row("a server that never reads: its pipe fills, and each call is answered",
    options=["--timeout", f"{ms(D)},initialize={ms(600)}"], server=["notifications/initialized@1=deaf"],
    play=[Received("notifications/initialized"),
          *(tool(i, "answer", arguments={"x": "x" * 10000}) for i in range(40)), Event("spawn", 2)],
    escalated=["hang"])

row("the client closes stdin while the server is being killed", options=T, server=DEFIANT,
    play=[tool(1, "fork:pipes freeze"), Wait(1), Event("kill")],
    want={1: timed_out(D, "hang")}, exit=(124, 137), escalated=["hang"])

lib.main(at_once=8)
