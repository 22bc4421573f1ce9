#!/usr/bin/env python3
"""A server that exits, is killed, or closes a stream at each of twenty points: the same words and the same exit status
every time, whatever is noticed first, and however busy the machine is (docs/deadlines.md, "The end of a server").

    tests/e2e/76-server-ends.py [--rounds N] [--load] [PATTERN]

Without --rounds, a sample of the situations once; with TEST_LONG=1 all of them. --load: beside programs that keep all
cores busy.
"""
import contextlib
import itertools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lib
from lib import case, check, eq, fake, note, request
from replaying import cassette, handshake

# Each point with the number of requests that the server has then read, and answered.
POINTS = {"start": (0, 0), "init-half": (0, 0), "init-read": (1, 0), "init-answer-half": (1, 0), "init-answered": (1, 1),
          "initialized-half": (1, 1), "initialized-read": (1, 1), "initialized-note": (1, 1), "list-half": (1, 1),
          "list-read": (2, 1), "list-answer-half": (2, 1), "list-answered": (2, 2), "call-half": (2, 2), "call-read": (3, 2),
          "call-note": (3, 2), "call-asked": (3, 2), "call-answer-half": (3, 2), "call-answer-open": (3, 3),
          "call-answered": (3, 3), "call-noise": (3, 3)}
HOW = {"exit0": ("exited with status 0", 0), "exit1": ("exited with status 1", 1), "kill": ("was killed by signal 9", 137),
       "stdout": ("closed its output", 143), "stdin": ("closed its stdin", 143)}
SAMPLE = 3      # without rounds, every third situation: each pair of a point, an end or a command
AT_ONCE = 8     # most of the time is spent waiting for the second in which a server may exit
SHORT_GRACE = {"MCP_INTERPOSER_GRACE": "400ms"}
# For a proxy whose next server has to end by itself.
GRACE = {"stdin": SHORT_GRACE, "stdout": {"MCP_INTERPOSER_GRACE": "2s"}}

rounds = int(os.environ.get("TEST_LONG") == "1")
CALL = {"name": "echo", "arguments": {}}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test client", "version": "1.0"}}


class Situation:
    """One server that ends, and what must follow."""

    def __init__(self, t, number, point, how):
        self.t, self.point, self.how = t, point, how
        self.name = f"quitter-{number}"     # of the session
        self.server_name = ""               # in errors, after a blank
        self.read, self.answered = POINTS[point]
        if how == "stdin":
            self.answered = self.read       # it answers what it has read
        self.words, self.status = HOW[how]
        self.cause = "server-closed" if how in ("stdout", "stdin") else "server-exited"
        self.all_answered = self.answered == 3

    def server(self, *more):
        return [fake("quitter"), self.point, self.how, *(str(x) for x in more)]

    def ended(self, k, effects):
        """The message of the error for request k, counted from 1."""
        was_read = k <= self.read
        return f"the server{self.server_name} {self.words} before it answered" + (
            "; this request was not read" if not was_read else "; this call may have run" if effects else "")

    def expect_error(self, answer, k, effects):
        error = answer.get("error", {})
        eq(error.get("message"), self.ended(k, effects), f"the error for request {k}")
        eq((error["code"], error["data"]["cause"]), (-32000, self.cause), "code and cause")
        eq(error["data"].get("may_have_run"), k <= self.read if effects else None, "may_have_run")

class Talk:
    """A client of a proxy or of a replay."""

    def __init__(self, t, args, env):
        (in_r, in_w), (out_r, out_w) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        self.proc = subprocess.Popen([lib.PROGRAM, *(str(a) for a in args)], stdin=in_r, stdout=out_w, stderr=subprocess.DEVNULL,
                                     env=t.environ(env))
        os.close(in_r), os.close(out_w)
        self.client = lib.End("client", out_r, in_w)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        if self.proc.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.proc.wait(20 * lib.PATIENCE)
            self.proc.kill()

    def ask(self, id, method, params=None):
        """The answer; the requests of the server are answered, its notifications ignored."""
        self.send(request(id, method, params))
        while True:
            m = self.client.recv_json(20)
            if "method" not in m:
                eq(m["id"], id, "the answered request")
                return m
            if "id" in m:
                self.send(lib.result(m["id"]))

    def send(self, *lines):
        with contextlib.suppress(BrokenPipeError):      # the end of its output says so, too
            self.client.send(*lines)

    def wait(self):
        return self.proc.wait(30 * lib.PATIENCE)

    def end_of_output(self):
        """Drops the server's notifications and requests."""
        check(b'"result"' not in self.client.rest(30), "an answer too many")


def steps(talk):
    """The three requests: what is asked, and whether it has effects."""
    yield lambda: talk.ask(1, "initialize", INITIALIZE), False
    talk.send(note("notifications/initialized"))
    yield lambda: talk.ask(2, "tools/list"), False
    yield lambda: talk.ask(3, "tools/call", CALL), True


# --- the commands -----------------------------------------------------------------------------------

def proxy(s):
    """Without restarts: the first request that the server cannot answer ends the session."""
    with Talk(s.t, ["proxy", "--vault", s.t.vault, "--name", s.name, "--", *s.server()], SHORT_GRACE) as talk:
        s.server_name = f" {s.name}"
        for k, (ask, effects) in enumerate(steps(talk), 1):
            answer = ask()
            if k > s.answered:
                s.expect_error(answer, k, effects)
                break
            check("result" in answer, lambda: f"request {k}: {answer}")
        if s.how != "stdin":        # that server goes on
            talk.end_of_output()
        talk.client.close()
        eq(talk.wait(), s.status, "exit status")
    s.reason = "client-closed" if s.how == "stdin" else s.cause


def proxy_restarts(s):
    """Only a call that the first process has read is not sent to the second. `later` goes to the second in any case."""
    quit_once = s.t.tmp / s.name
    with Talk(s.t, ["proxy", "--vault", s.t.vault, "--name", s.name, "--restarts", "3", "--", *s.server(quit_once)],
              GRACE.get(s.how)) as talk:
        s.server_name = f" {s.name}"
        deaf = s.how == "stdin"
        for k, (ask, effects) in enumerate(steps(talk), 1):
            answer = ask()
            if k > s.answered and (deaf or (effects and k <= s.read)):
                s.expect_error(answer, k, effects)
                if deaf:
                    break
            else:
                check("result" in answer, lambda: f"request {k}: {answer}")
        answer = talk.ask(4, "tools/call", CALL)
        if deaf:
            s.expect_error(answer, 4, True)
        else:
            check("result" in answer, lambda: f"the last request: {answer}")
        talk.client.close()
        eq(talk.wait(), s.status if deaf else 0, "exit status")
    s.reason = "client-closed"


def run(t, *args):
    """As t.run(), without waiting for the sessions of the other situations."""
    return subprocess.run([lib.PROGRAM, *(str(a) for a in args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=t.environ(SHORT_GRACE), timeout=60 * lib.PATIENCE)


def send(s):
    """No answer to the handshake is status 3, to a later request status 1."""
    r = run(s.t, "send", "--vault", s.t.vault, "--yes", "echo", "--", *s.server())
    out, err = r.stdout.decode(), r.stderr.decode()
    first, s.server_name = s.answered + 1, " quitter"
    eq(r.returncode, (3, 1, 1, 0)[s.answered], f"exit status; {err}")
    if first == 3:
        check(out.startswith(f"error -32000: {s.ended(3, True)}\n"), lambda: f"stdout: {out!r}")
    elif first < 3:
        method = ("initialize", "tools/list")[s.answered]
        said = [line for line in err.split("\n") if "error:" in line]
        eq((said, out), ([f"mcp-interposer: error: {method} was not answered: {s.ended(first, False)}"], ""), "output")


def verify(s):
    requests = [("initialize", INITIALIZE), ("tools/list", {}), ("tools/call", CALL)]
    results = [json.loads(x) for x in answers()]
    script = []
    for i, (method, params) in enumerate(requests):
        script += [b">" + request(i + 1, method, params), b"<" + lib.result(i + 1, results[i])]
        script += [b">" + note("notifications/initialized")] if i == 0 else []
    r = run(s.t, "verify", "--all", "--json", cassette(s.t, script, f"{s.name}.jsonl"), "--", *s.server())
    got = [(x["verdict"], x.get("reason")) for x in json.loads(r.stdout)["results"]]
    wanted = [("match", None) if k <= s.answered else ("no-answer", s.ended(k, False)) for k in (1, 2, 3)]
    eq(got, wanted, "results")
    eq(r.returncode, 0 if s.all_answered else 1, "exit status")


def replay(s):
    """Two calls were not recorded: they are the second and the third request of the live server."""
    file, s.server_name = cassette(s.t, handshake(), f"{s.name}.jsonl"), " recorded"
    unrecorded = "; this request was not recorded"
    gone = f"the live server exited with status {s.status}{unrecorded}"     # what its proxy did
    with Talk(s.t, ["replay", "--vault", s.t.vault, file, "--on-miss", "live", "--", *s.server()],
              SHORT_GRACE) as talk:
        check("result" in talk.ask(1, "initialize", INITIALIZE), "initialize is answered from the recording")
        talk.send(note("notifications/initialized"))
        for k in (2, 3):
            answer = talk.ask(k, "tools/call", CALL)
            if s.answered == 0:
                eq(answer["error"]["message"], f"the live server did not answer initialize: {s.ended(1, False)}{unrecorded}", f"call {k}")
            elif k <= s.answered:
                check("result" in answer, lambda: f"call {k}: {answer}")
            elif s.how == "stdin":
                s.expect_error(answer, k, True)
            elif k > s.answered + 1:
                eq(answer["error"]["message"], gone, "what its proxy did")
            elif answer["error"]["message"] != gone:    # which is true if the call came a second after the end of the server
                s.expect_error(answer, k, True)
        talk.client.close()
        eq(talk.wait(), 0 if s.answered >= 3 else 1, "exit status: 1 if the live server has not answered a request")


def answers():
    """The results of the server, as it writes them."""
    asked = b"\n".join(request(i, m) for i, m in ((1, "initialize"), (2, "x"), (3, "tools/list"), (4, "tools/call"))) + b"\n"
    out = subprocess.run([fake("quitter"), "never", "exit0"], input=asked, stdout=subprocess.PIPE, check=True).stdout
    found = {m["id"]: m["result"] for m in map(json.loads, out.splitlines()) if "result" in m}
    return [json.dumps(found[i]) for i in (1, 3, 4)]


# --- all situations ---------------------------------------------------------------------------------

COMMANDS = {"proxy": proxy, "proxy with restarts": proxy_restarts, "send": send, "verify": verify, "replay --on-miss live": replay}


def situations(command):
    """Numbers, points and ends."""
    every = itertools.product(COMMANDS, POINTS, HOW)
    mine = [(n, point, how) for n, (c, point, how) in enumerate(every) if c == command]
    return mine * rounds if rounds else [x for x in mine if x[0] % SAMPLE == 0]


def check_one(t, command, number, point, how):
    s = Situation(t, number, point, how)
    try:
        COMMANDS[command](s)
    except (lib.Failure, KeyError, ValueError, OSError, subprocess.SubprocessError) as e:
        return f"{how} at {point}: {type(e).__name__} {e}", s
    return None, s


def check_all(t, command):
    problems, reasons = [], {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(check_one, t, command, i, *x[1:]) for i, x in enumerate(situations(command))]
        for job in jobs:
            problem, s = job.result()
            problems += [problem] if problem else []
            if hasattr(s, "reason"):
                reasons[s.name] = s.reason
    def ended():    # what a recorder has left because the database was locked too long, the next command stores
        t.run("sessions", "--vault", t.vault)
        return t.rows("SELECT count(*) FROM sessions WHERE end_reason IS NULL") == [(0,)]
    if reasons:
        lib.wait_until(ended, 20, "the ends are stored")
    for name, got in t.rows("SELECT name, end_reason FROM sessions") if reasons else []:
        if got.decode() != reasons.get(name.decode(), got.decode()):
            problems.append(f"session {name.decode()}: end_reason {got.decode()}, wanted {reasons[name.decode()]}")
    check(not problems, lambda: f"{len(problems)} of {len(jobs)} differ:\n" + "\n".join(problems[:20]))


for _command in COMMANDS:
    @case(f"a server that ends at any point of a session: {_command}", limit=120)
    def _(t, command=_command):
        check_all(t, command)


@case("a call that no process reads, because each one ends before, never \"may have run\"")
def _(t):
    def one(point, how):
        with Talk(t, ["proxy", "--vault", t.vault, "--restarts", "3", "--", fake("quitter"), point, how], SHORT_GRACE) as talk:
            check("result" in talk.ask(1, "initialize", INITIALIZE), "the first process answers")
            talk.send(note("notifications/initialized"))
            error = talk.ask(3, "tools/call", CALL)["error"]
            check(error["message"].startswith(f"the server quitter {HOW[how][0]} before it answered"), error)
            check(error["message"].endswith("; this request was not read"), error)
            eq(error["data"]["may_have_run"], False, "may_have_run")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for job in [pool.submit(one, p, h) for p in ("init-answered", "initialized-read", "list-half") for h in ("exit0", "exit1", "kill")]:
            job.result()


@case("half a line of a server, whose output another process holds open, is not the beginning of the next server's first line")
def _(t):
    script = f"""mkdir "{t.tmp}/once" 2>/dev/null || exec "{fake("quitter")}" never exit0
read -r line
setsid sleep 300 &
printf '{{"jsonrpc"'
exit 1"""
    with Talk(t, ["proxy", "--vault", t.vault, "--restarts", "3", "--", "sh", "-c", script], SHORT_GRACE) as talk:
        for ask, _ in steps(talk):
            answer = ask()
            check("result" in answer, answer)
        talk.client.close()
        eq(talk.wait(), 0, "exit status")
    eq([(r.kind, r.body) for r in t.messages("finding LIKE '%no-newline%'")], [("noise", b'{"jsonrpc"')], "what is recorded of it")


@case("a server that ends inside a line above the limit, on stdout and on stderr: the first lines of the next one are read")
def _(t):
    script = f"""mkdir "{t.tmp}/once" 2>/dev/null || {{ echo "stderr of the second" >&2; exec "{fake("quitter")}" never exit0; }}
read -r line
head -c 9000 /dev/zero | tr '\\0' x >&2
head -c 9000 /dev/zero | tr '\\0' x
exit 1"""
    with Talk(t, ["proxy", "--vault", t.vault, "--restarts", "3", "--max-message", "4KiB", "--", "sh", "-c", script], SHORT_GRACE) as talk:
        for ask, _ in steps(talk):
            answer = ask()
            check("result" in answer, answer)
        talk.client.close()
        eq(talk.wait(), 0, "exit status")
    check(b"stderr of the second" in [r.body for r in t.messages("kind = 'stderr'")], "stderr is not recorded")


def main():
    global rounds
    args, busy = sys.argv[1:], []
    if "--rounds" in args:
        i = args.index("--rounds")
        rounds = int(args[i + 1])
        del args[i:i + 2]
    if "--load" in args:
        args.remove("--load")
        code = f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(100000))"
        busy = [subprocess.Popen([sys.executable, "-S", "-c", code]) for _ in range(os.cpu_count() or 1)]
    if rounds > 1:
        lib._cases[:] = [(name, fn, limit * rounds) for name, fn, limit in lib._cases]
    sys.argv[1:] = args
    try:
        lib.main(at_once=len(lib._cases))
    finally:
        for program in busy:
            program.kill()


main()
