#!/usr/bin/env python3
"""Nobody is killed who is alive: servers times deadlines, as the table in docs/deadlines.md has them.

Verdicts do not depend on the scheduler: an asked server that waits for a processor is asked longer, and a helper that waits
for one counts as working."""
import lib
from lib import check, eq, request
from misbehave import D, Event, Started, Wait, gone, handshake, modern, ms, n_ms, ok, row, timed_out, tool

KILL = {"MCP_INTERPOSER_ON_HANG": "kill"}
ENDS = (0, 3, 124, 137, 143)       # a busy server may not have exited within half of a short grace
DEADLINE = ["--timeout", f"tools/call={ms(D)},tool:answer={ms(600)}"]
ASKED = "; it is being asked whether it is alive, and killed if it does not answer"
HUNG = "spawn timeout asked hang kill exit restart spawn"
INIT = handshake()[0]


def questions(t, method):
    """How often the server was asked."""
    return t.rows("SELECT count(*) FROM messages WHERE origin = 'interposer' AND method = ?", method)[0][0]


def case_of(name, story, play, asked=0, method="ping", because=None, words=(), options=DEADLINE, env=KILL, grace=10, **how):
    """One row. story: the first events; how often a signal was sent, and what follows, depends on the scheduler."""
    def after(t, s):
        kinds = [k for k in s.events() if k in story.split() or k in ("asked", "alive", "hang", "kill", "exit")]
        kinds = [k for i, k in enumerate(kinds) if (k != "timeout" or k not in kinds[:i]) and (i == 0 or (k, kinds[i - 1]) != ("kill", "kill"))]
        eq(kinds[:len(story.split())], story.split(), f"the first events of {s.events()}")
        check("hang" in story or "hang" not in kinds, f"a hang: {kinds}")
        eq(questions(t, method), asked, f"{method} to the server")
        eq(questions(t, "server/discover" if method == "ping" else "ping"), 0, "questions of the other revision")
        eq([d["because"] for d in s.details("alive")], [because] if because else [], "why it is alive")
        for a, h in zip(s.details("asked"), s.details("hang")):
            times = [x["waited_ms"] - x["post_mortem"]["since_ms"] for x in (a, h)]
            check(abs(times[0] - times[1]) < n_ms(D) / 2, f"CPU time is not counted from one moment: {a} {h}")
        for word in words:
            said = [a[0][1].get("error", {}).get("message", "") for a in s.answers.values()]
            check(any(word in x for x in said), f"{word!r} is not in {said!r}")
    escalated = [*(["timeout"] if because else []), *(["hang"] if "hang" in story else [])]
    row(name, options=options, env=env, grace=grace, exit=ENDS, play=play, after=after, escalated=escalated, **how)


def alive(name, script, play=(), want=None, because="message", words=(ASKED,), **how):
    """The call gets its error in time, the server is asked, answers, and is not killed."""
    story = "spawn timeout asked alive" if because == "message" else "spawn timeout alive"
    case_of(f"not killed: {name}", story, [*([tool(1, script)] if script else []), *play, Event("alive")], grace=120, because=because,
            asked=how.pop("asked", 1), words=words, want={1: timed_out(D), **(want or {})}, **how)


def hung(name, script, play=(), want=None, before=(), **how):
    """The call gets its error in time; the server is asked, and killed."""
    case_of(f"killed: {name}", HUNG, [*before, tool(1, script), Wait(1), *play, Event("spawn", 2), tool(2, "answer")], asked=1, words=[ASKED],
            want={1: timed_out(D), 2: ok("2.1"), **(want or {})}, **how)


def launched(c):
    return ["sh", "-c", " ".join(f"'{a}'" for a in c) + "; exit $?"]


# --- asynchronous: it answers other requests ---

alive("an asynchronous server", "hang", play=[Event("alive"), tool(2, "answer")], want={2: ok("1.1")}, got=[(1, ("ping", None)), (1, ("cancelled", 1))],
      records={1: "timeout", 2: "ok"})
alive("an asynchronous server that does not know ping", "hang", server=["ping=error:-32601:no"])
alive("an asynchronous server behind a launcher", "hang", launch=launched)
alive("a server of 2026-07-28, asked by server/discover", None, init=[modern("d", "server/discover"), Wait("d")],
      play=[tool(1, "hang", modern=True)], want={1: timed_out(D, code=-31001)}, method="server/discover", got=[(1, ("server/discover", None))])
alive("a server that sends something else than the answer to the question", "hang", server=["ping=note:1:0 hang"])
alive("a server that answers the call late", "block:4000", play=[tool(2, "answer")], want={2: ok("1.2")})
alive("two calls of an asynchronous server: it is asked once", "hang", play=[tool(2, "hang"), Wait(1, 2)], want={2: timed_out(D)})

# --- single-threaded ---

hung("a single-threaded server that waits", "freeze")
hung("a loop: its own CPU time proves nothing", "spin")
hung("a stopped server (SIGSTOP)", "stop")
hung("a server that reads no more", "deaf hang")
hung("a server with a child that only waits", "freeze", before=[Started(1, "group")], server=["start@1=fork:group"])
hung("a server that ignores SIGTERM", "ignore:15 freeze")
hung("the other pending requests get an error when it is killed", "freeze", play=[tool("o", "answer"), Wait("o")], want={"o": gone("server-killed")},
     grace=120)
for name, script in (("child works", f"work:{n_ms(20)}"), ("forked child works with its stdin and stdout", f"work:{n_ms(20)}:pipes")):
    alive(f"a single-threaded server whose {name}, until it is done", script, asked=0, because="at-work", words=["child processes use the CPU"],
          play=[tool(2, "answer"), Wait(2)], want={2: ok("1.2")}, launch=launched)
case_of("killed: after --max-timeout, also if a child process is working", "spawn timeout alive asked hang kill exit restart spawn",
        [tool(1, "work:60000"), Wait(1), Event("spawn", 2)], options=[*DEADLINE, "--max-timeout", ms(20)], asked=1, because="at-work",
        words=["child processes use the CPU"], want={1: timed_out(D)})

# --- before the first answer: it is never asked ---

START = ["--timeout", f"initialize={ms(D)}"]

case_of("killed: a server that waits before its first answer", "spawn timeout hang kill exit restart spawn", [Wait("init"), Event("spawn", 2)],
        options=["--timeout", f"initialize={ms(60)}"], server=["initialize@1=freeze"], init=[INIT], want={"init": timed_out(60, "hang")})
for name, script in (("whose processes work", "work:60000"), ("that writes to stderr", "err:1 sleep:100 " * 60 + "hang")):
    case_of(f"killed at --max-timeout, not at the deadline: a server {name} before its first answer",
            "spawn timeout alive hang kill exit restart spawn", [Wait("init"), Event("spawn", 2)], options=[*START, "--max-timeout", ms(25)],
            server=[f"initialize@1={script}"], init=[INIT], want={"init": timed_out(D)}, because="starting", words=["the server is starting"])
case_of("not killed: a server that answers initialize after its deadline, and worked until then", "spawn timeout alive", [Wait("init"), request("l", "tools/list"), Wait("l")],
        options=START, grace=120, server=[f"initialize=work:{n_ms(15)}"], init=[INIT], want={"init": timed_out(D), "l": ok()}, because="starting")

# --- the end of the session comes before the verdict ---

case_of("the server exits when it is asked: it is restarted, and did not hang", "spawn timeout asked exit restart spawn",
        [tool(1, "hang"), Wait(1), Event("spawn", 2), tool(2, "answer")], grace=120, server=["ping=exit:3"], asked=1, want={1: timed_out(D), 2: ok("2.1")})
case_of("the client closes stdin when the server is asked", "spawn timeout asked kill exit", [tool(1, "freeze"), Wait(1)], grace=60, asked=1,
        want={1: timed_out(D)})

# --- --on-hang ---

case_of("--on-hang cancel: never asked, never killed", "spawn timeout", [tool(1, "freeze"), Wait(1)], options=[*DEADLINE, "--on-hang", "cancel"],
        want={1: timed_out(D)})
case_of("--on-hang kill-now: killed without a question, although it lives", "spawn timeout hang kill exit restart spawn",
        [tool(1, "hang"), Wait(1), Event("spawn", 2)], options=[*DEADLINE, "--on-hang", "kill-now"], want={1: timed_out(D, "hang")})
case_of("a server that has sent a message since the request is slow: it is not asked", "spawn timeout", [tool(1, "note:1:0 hang"), Wait(1)],
        grace=120, options=["--timeout", f"tools/call={ms(60)}"], want={1: timed_out(60)})

lib.main(at_once=12)
