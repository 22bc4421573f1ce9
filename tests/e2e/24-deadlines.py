#!/usr/bin/env python3
"""--timeout and related options: where they may be set, which one wins, and the deadlines that known clients need."""
import lib
from lib import case, check, eq, request
from misbehave import Event, Wait, ms, n_ms, ok, row, timed_out, tool

ANY = tool(1, "freeze")
READ = request(1, "resources/read", {"uri": "x:y"})
INIT = request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "c", "version": "1"}})


def hits(name, tenths, play, **how):
    """The deadline of this request is so many tenths of a second."""
    how.setdefault("options", [])
    what = "resources/read" if play is READ else "tool:freeze" if play is ANY else "initialize"

    def after(_, s):
        error = s.answers[1][0][1]["error"]
        eq(error["data"]["timeout_ms"], n_ms(tenths), "the deadline in the error")
        raise_it = f"s is mcp-interposer's, not the server's: raise it with --timeout {what}=5m, or {what} = 5m in section [timeout] of mcp-interposer's configuration"
        check(error["message"].endswith(raise_it), error["message"])

    how.setdefault("exit", (0, 124, 137, 143))   # of the new one, which may be at work, or not yet
    row(name, play=[play, Event("spawn", 2)], want={1: timed_out(tenths, "hang")}, escalated=["hang"],
        after=after,
        server=["initialize=freeze"] if play is INIT else ["resources/read=freeze"], init=[] if play is INIT else True, **how)


# The budgets of known clients, each in one line of options; 5, 30 and 60 seconds are shorter here. The deadline of initialize
# is at least 6 s: it must be answered in all rows but one.
BUDGET = f"resources/*={ms(5)},tools/call={ms(10)},initialize={ms(60)}"
for line, tenths, play in ((BUDGET, 5, READ), (BUDGET, 10, ANY), (BUDGET, 60, INIT),
                           (f"tools/call={ms(15)}", 15, ANY), (ms(60), 60, ANY), (ms(70), 70, READ)):
    hits(f"--timeout {line}: {tenths / 10:g} s for {'a read' if play is READ else 'a call' if play is ANY else 'initialize'}",
         tenths, play, options=["--timeout", line])

hits("-t is --timeout", 60, ANY, options=["-t", ms(60)])
hits("given twice: the more specific one wins", 2, ANY,
     options=["--timeout", f"tool:freeze={ms(2)}", "--timeout", ms(90)])
hits("given twice for the same requests: the last one wins", 60, ANY, options=["-t", ms(90), "-t", ms(60)])
hits("a tool by a glob", 2, ANY, options=["-t", f"tool:fr*={ms(2)}"])
hits("a method by a glob", 2, READ, options=["-t", f"resources/*={ms(2)},tools/*=0"])
hits("in the environment, with commas", 2, ANY, env={"MCP_INTERPOSER_TIMEOUT": f"9s,tool:freeze={ms(2)}"})
hits("in the configuration: timeout =", 60, ANY, config=f"[proxy]\ntimeout = {ms(60)}\n")
hits("in the configuration: a section of its own", 2, ANY,
     config=f"[timeout]\ndefault = 9s\ntools/call = {ms(2)}\n")
hits("in the configuration: a tool", 2, ANY, config=f"[timeout]\ntool:freeze = {ms(2)}\n")
hits("a flag overrides the environment and the file", 60, ANY, options=["-t", ms(60)],
     env={"MCP_INTERPOSER_TIMEOUT": ms(90)}, config=f"[timeout]\ndefault = {ms(100)}\n")
hits("the environment overrides the file", 60, ANY, env={"MCP_INTERPOSER_TIMEOUT": ms(60)},
     config=f"[timeout]\ndefault = {ms(90)}\n")
hits("a flag leaves other rules of the file in force", 2, READ, options=["-t", f"tools/call={ms(30)}"],
     config=f"[timeout]\nresources/read = {ms(2)}\n")

row("--on-hang, --restarts and --max-timeout from the configuration",
    config=f"[proxy]\non-hang = cancel\nrestarts = 0\nmax-timeout = {ms(60)}\n",
    play=[tool(1, "hang"), Wait(1), tool(2, "answer")], want={1: timed_out(60), 2: ok("1.1")}, events="spawn timeout exit")


@case("an invalid deadline is rejected with a message that names it")
def _(t):
    for args, words in ((["-t", "soon"], ["soon", "500ms"]), (["-t", "ping="], ["duration"]), (["-t", "=5s"], ["method"]),
                        (["-t", "tool:=5s"], ["tool"]), (["-t", ""], ["duration"]), (["--max-timeout", "x"], ["x"]),
                        (["--on-hang", "shrug"], ["kill|kill-now|cancel"]), (["--restarts", "-1"], ["-1"]),
                        (["--restarts", "many"], ["many"])):
        r = t.run("proxy", "--vault", t.vault, *args, "--", "true")
        said = r.stderr.decode()
        eq((r.returncode, r.stdout), (2, b""), f"status and stdout of {args}")
        for word in words:
            check(word in said, f"{args}: {word!r} is not in {said!r}")
    for env, config in (({"MCP_INTERPOSER_TIMEOUT": "5s,soon"}, ""), ({}, "[timeout]\nping = soon\n")):
        path = t.tmp / "config.ini"
        path.write_text(config)
        r = t.run("proxy", "--config", path, "--vault", t.vault, "--", "true", env=env)
        eq((r.returncode, r.stdout), (2, b""), f"status and stdout of {env} {config!r}")
        check("soon" in r.stderr.decode(), f"the word is not in {r.stderr!r}")
    check(not t.vault.exists(), "a vault was made")


@case("initialize has a deadline of its own: a shorter one for everything does not shorten it, and the error names the URL of a server")
def _(t):
    url = "https://x.example/mcp"
    short = ("--timeout", "1s", "--on-hang", "cancel")
    for puppet in (), (url,):
        p = t.proxy(*short, puppet=puppet)
        p.client.send(INIT, request(2, "ping"))
        eq(p.client.recv_json()["id"], 2, "the request that times out")
        p.server.recv()
        p.server.send(lib.result(1, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}))
        check("result" in p.client.recv_json(), "initialize is answered after the deadline of other requests")
    for options, puppet, says in ((("--timeout", "initialize=1s"), (), "did not answer initialize within "),
                                  (("--timeout", "initialize=1s"), (url,),
                                   " s (the server may wait for a login in the browser)"),
                                  (("--max-timeout", "1s"), (url,), "raise it with --max-timeout 5m")):
        p = t.proxy(*short[2:], *options, puppet=puppet)
        p.client.send(INIT)
        error = p.client.recv_json()["error"]
        eq(error["data"]["timeout_ms"], 1000, "the deadline")
        check(says in error["message"] and all(f" ({u}) did not answer" in error["message"] for u in puppet), error["message"])


@case("the help shows the defaults")
def _(t):
    text = t.run("proxy", "--help").stdout.decode()
    for words in (("--timeout", "30s"), ("--max-timeout", "10m"), ("--on-hang", "kill"), ("--restarts", "3"),
                  ("--escalate-command",)):
        check(all(w in text for w in words), f"{words} are not in the help")

lib.main(at_once=8)
