"""Rows for a server that misbehaves: the actions of the client, and the expected results.

A row states only what is special about it. For all rows: each request is answered exactly once and in time, the
client receives no other answers, no request stays open in the record, no process is left, and the exit status is
the recorded one.

    row("a call hangs in silence", options=["--timeout", ms(3)], play=[tool(1, "freeze")],
        want={1: timed_out(3, "hang")}, events="timeout hang kill exit restart spawn")

Times are in tenths of a second, longer where the program is slow: ms(3) is "300ms" on a plain build. On a busy machine
every process may have to wait for a processor, for seconds. So events may be late but not early, and anything that must
happen before a deadline has at least 5 s: a file whose rows leave 0.4 s calls stretch() before its first row.
"""
import contextlib
import json
import os
import re
import time
import uuid
from pathlib import Path

import lib
from lib import alive, case, check, eq, fake, note, request, short, wait_until

STRETCH = max(1.0, lib.SLOW / 2)
SLACK = 20 * lib.SLOW       # possible delay on a busy machine; less than the default deadline of 30 s
GRACE = 120                 # tenths of a second; a server that can exit does so within half of it
D = 5                       # the deadline of most rows


def seconds(tenths):
    return tenths * 0.1 * STRETCH


def ms(tenths):
    """A duration for an option."""
    return f"{round(tenths * 100 * STRETCH)}ms"


def n_ms(tenths):
    """The same as a number, for a server's script."""
    return round(tenths * 100 * STRETCH)


def short_deadline():
    """Not for requests that must be answered."""
    long = ",".join(f"{what}={ms(600)}" for what in ("initialize", "tool:answer", "tools/list", "no/such-method"))
    return f"{ms(D)},{long}"


T = ["--timeout", short_deadline()]


def stretch():
    """All times of this file are longer: 0.4 s are more than 5."""
    global STRETCH
    STRETCH = max(13.0, STRETCH)
    T[1] = short_deadline()


# --- messages of the client -----------------------------------------------------------------------

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


def tool(id, name, token=None, modern=False, **more):
    """A call; the name is the script that the server runs."""
    params = {"name": name, "arguments": {}, **more}
    meta = dict(MODERN) if modern else {}
    if token is not None:
        meta["progressToken"] = token
    if meta:
        params["_meta"] = meta
    return request(id, "tools/call", params)


def modern(id, method, params=None):
    return request(id, method, {"_meta": dict(MODERN), **(params or {})})


def handshake(version="2025-11-25", capabilities=None):
    return [request("init", "initialize", {
        "protocolVersion": version, "capabilities": capabilities or {},
        "clientInfo": {"name": "test client", "version": "1.0"}}), Wait("init"),
        note("notifications/initialized")]


# --- steps of a play other than messages ----------------------------------------------------------

class Wait:
    """Waits until these requests are answered."""

    def __init__(self, *ids):
        self.ids = ids

    def __call__(self, play):
        play.pump(lambda: all(play.answers.get(i) for i in self.ids), f"answers to {self.ids}")


class Event:
    """Waits until the record has N events of that kind."""

    def __init__(self, kind, n=1, seconds=10):
        self.kind, self.n, self.seconds = kind, n, seconds

    def __call__(self, play):
        play.pump(lambda: play.events().count(self.kind) >= self.n, f"{self.n} x {self.kind}",
                  self.seconds)


class Received:
    """Waits until the server has N messages with that method; of that incarnation, if given."""

    def __init__(self, method, n=1, incarnation=None):
        self.method, self.n, self.incarnation = method, n, incarnation

    def __call__(self, play):
        play.pump(lambda: len([1 for i, m in play.received() if m.get("method") == self.method and
                               self.incarnation in (None, i)]) >= self.n,
                  f"{self.method} at the server")


class Ready:
    """Waits until the server of that incarnation has received the whole handshake."""

    def __init__(self, incarnation):
        self.incarnation = incarnation

    def __call__(self, play):
        Received("notifications/initialized", 1, self.incarnation)(play)


class Notified:
    """Waits until the client has N notifications of that method."""

    def __init__(self, method, n=1):
        self.method, self.n = method, n

    def __call__(self, play):
        play.pump(lambda: len(play.notified(self.method)) >= self.n, f"{self.method} at the client")


class Recorded:
    """Waits until the record has N messages that match this SQL condition."""

    def __init__(self, where, n=1):
        self.where, self.n = where, n

    def __call__(self, play):
        play.pump(lambda: play.count(self.where) >= self.n, f"recorded: {self.where}")


class Started:
    """Waits until N processes have registered in DIR/starts."""

    def __init__(self, n, who="server"):
        self.n, self.who = n, who

    def __call__(self, play):
        play.pump(lambda: len([1 for _, _, w in play.starts() if w == self.who]) >= self.n,
                  f"{self.n} x {self.who}")


# --- expected answers -----------------------------------------------------------------------------

class Want:
    def __init__(self, code=None, cause=None, text=None, at_least=0.0, at_most=None, words=()):
        self.code, self.cause, self.text, self.words = code, cause, text, words
        self.at_least, self.at_most = at_least, at_most

    def check(self, id, message, took):
        what = f"answer to {id!r}"
        if self.code is None:
            check("result" in message, lambda: f"{what}: {short(message)}, wanted a result")
            if self.text is not None:
                eq(message["result"]["content"][0]["text"], self.text, what)
        else:
            check("error" in message, lambda: f"{what}: {short(message)}, wanted an error")
            eq(message["error"]["code"], self.code, f"{what}: code")
            data = message["error"].get("data") or {}
            if self.cause is not None:
                eq((data.get("source"), data.get("cause")), ("mcp-interposer", self.cause),
                   f"{what}: source and cause in {short(message)}")
            for word in self.words:
                check(word in message["error"]["message"], lambda:
                      f"{what}: {word!r} is not in {message['error']['message']!r}")
        check(took >= self.at_least - 0.02, f"{what} after {took:.3f} s, before {self.at_least:.3f} s")
        most = (self.at_most if self.at_most is not None else 0) + SLACK
        check(took <= most, f"{what} after {took:.3f} s, later than {most:.3f} s")


def ok(text=None, at_least=0.0, at_most=None):
    return Want(text=text, at_least=seconds(at_least),
                at_most=None if at_most is None else seconds(at_most))


def timed_out(after, cause="timeout", code=-32001, words=(), at_most=None):
    """A timeout error, at the deadline and not before."""
    return Want(code, cause, at_least=seconds(after), at_most=seconds(at_most or after), words=words)


def gone(cause="server-exited", code=-32000, at_most=10, words=()):
    return Want(code, cause, at_most=seconds(at_most), words=words)


def refused(code, words=()):
    """The server's own error, unchanged."""
    return Want(code, words=words)


# --- a play ---------------------------------------------------------------------------------------

class Play:
    def __init__(self, t, options, server, launch, replies, grace, env):
        self.t, self.dir = t, t.tmp / f"fake-{next(t.numbers)}"
        self.dir.mkdir()
        self.mark = f"misbehave-{uuid.uuid4().hex}"
        self.sent, self.answers, self.notes, self.asked, self.due = {}, {}, [], [], []
        self.tokens, self.replies = {}, replies
        command = [fake("misbehave"), str(self.dir), *server]
        self.p = t.proxy("--grace", ms(grace), *options, server=launch(command) if launch else command,
                         env={"MISBEHAVE_MARK": self.mark, "MCP_INTERPOSER_RESTARTS": "3", **env})

    # actions of the client

    def send(self, line):
        m = json.loads(line)
        if "id" in m and "method" in m:
            self.sent.setdefault(m["id"], []).append(time.monotonic())
            token = m.get("params", {}).get("_meta", {}).get("progressToken")
            if token is not None:
                self.tokens[token] = m["id"]
        try:
            self.p.client.send(line)
        except BrokenPipeError:
            raise lib.Failure(f"the session is over, before {short(line)}") from None

    def pump(self, until, what, seconds=10):
        """Read, and answer requests of the server, until the condition is true."""
        seconds *= lib.PATIENCE
        start = time.monotonic()
        client = self.p.client
        while not until():
            now = time.monotonic()
            if now > start + seconds:
                raise lib.Failure(f"not within {seconds:g} s: {what}; answers so far: "
                                  f"{short(self.answers)}")
            for at, line in [d for d in self.due if d[0] <= now]:
                self.due.remove((at, line))
                with contextlib.suppress(BrokenPipeError):     # the server or the session has ended
                    if client.write_fd is not None:
                        client.send(line)
            if client.read_fd is None or (client.eof and not client.buf):
                time.sleep(lib.pause(now - start))
            else:
                client.fill(min([now + lib.pause(now - start)] + [at for at, _ in self.due]))
            while (line := client.take_line()) is not None:
                self._heard(line)

    def pump_for(self, tenths):
        """Read for this time, when there is no event to wait for."""
        end = time.monotonic() + seconds(tenths)
        self.pump(lambda: time.monotonic() >= end, "time to pass")

    def _heard(self, line):
        now = time.monotonic()
        try:
            m = json.loads(line)
        except ValueError:
            raise lib.Failure(f"the client got a line that is no JSON: {short(line)}") from None
        if isinstance(m, list):
            for one in m:
                self._sort(one, now)
        else:
            self._sort(m, now)

    def _sort(self, m, now):
        if "method" not in m:
            self.answers.setdefault(m.get("id"), []).append((now, m))
        elif "id" not in m:
            if m["method"] == "notifications/progress":
                id = self.tokens.get(m["params"]["progressToken"])
                check(id in self.sent and id not in self.answers,
                      lambda: f"a report that nobody waits for: {short(m)}")
            self.notes.append(m)
        else:
            self.asked.append(m)
            delay = self.replies.get(m["method"])
            if delay is not None:
                self.due.append((now + seconds(delay), lib.result(m["id"], {"action": "decline"})))

    def over(self):
        return self.p.client.eof

    def notified(self, method):
        return [m for m in self.notes if m["method"] == method]

    # observed by the server, the record and the system

    def received(self):
        """(incarnation, message) for each line that the server received."""
        path = self.dir / "received"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        out = []
        for line in lines:
            number, text = line.split(b" ", 1)
            out.append((int(number), json.loads(text)))
        return out

    def starts(self):
        path = self.dir / "starts"
        found = re.findall(r"(\d+) (\d+) (\w+)\n", path.read_text()) if path.exists() else []
        return [(int(n), int(pid), who) for n, pid, who in found]

    def events(self):
        """The kinds of the events, in order; empty while there is no vault."""
        return [k.decode() for k, in self._rows("SELECT kind FROM events ORDER BY id")]

    def count(self, where):
        return len(self._rows(f"SELECT 1 FROM messages WHERE {where}"))

    def _rows(self, sql):
        if not (self.t.vault / "interposer.db").exists():
            return []
        try:
            return self.t.rows(sql)
        except lib.sqlite3.OperationalError:    # the tables are being created
            return []

    def details(self, kind):
        return [json.loads(d) if d else None for d, in
                self.t.rows("SELECT detail FROM events WHERE kind = ? ORDER BY id", kind)]

    def marked(self):
        """The processes of this play, found by its mark in their environment."""
        return marked(self.mark, self.p.pid)

    def open_ids(self):
        return [i for i in self.sent if len(self.answers.get(i, [])) < len(self.sent[i])]

    def finish(self, ends, seconds=10):
        """Read the remaining messages of the client. Returns the exit status."""
        if not ends:
            self.p.client.close_write()
        self.pump(lambda: self.p.client.eof, "the end of the session", seconds)
        check(not self.p.client.buf, lambda: f"the client got a torn line: {short(bytes(self.p.client.buf))}")
        return self.p.wait(seconds)


def marked(mark, first=0):
    """{pid: command} of the processes with this mark in their environment, none of which is older than process `first`."""
    found, wanted = {}, mark.encode()
    for pid in lib.pids_since(first):
        try:
            with open(f"/proc/{pid}/environ", "rb", 0) as file:     # half of the time that Path takes
                text = file.read()
            if wanted in text and alive(pid):
                found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_bytes()[:80]
        except OSError:
            pass
    return found


def none_left(mark, seconds=3, first=0):
    wait_until(lambda: not marked(mark, first), seconds, lambda: f"no process left, and there is {marked(mark)}")


def escalations(vault):
    """[(cause, text)] of the escalation files, oldest first."""
    out = []
    folder = vault / "Escalations"
    for path in sorted(folder.iterdir()) if folder.exists() else []:
        m = re.fullmatch(r"\d{4}-?\d\d-?\d\dT[0-9:.-]+Z-(hang|timeout|crash-loop|crash|auth|record-error|repeat|no-progress)-.+\.md", path.name)
        check(m, lambda: f"the name of an escalation: {path.name}")
        eq(path.stat().st_mode & 0o777, 0o600, f"mode of {path.name}")
        out.append((m.group(1), path.read_text()))
    return out


# --- a row ----------------------------------------------------------------------------------------

def message_of(x):
    """A message that the server received, in a form for comparison: ("cancelled", 1)."""
    if x.get("method") == "notifications/cancelled":
        return ("cancelled", x["params"]["requestId"])
    if x.get("method") == "tools/call":
        return ("call", x["id"])
    if x.get("method") == "tasks/cancel":
        return ("tasks/cancel", x["params"]["taskId"])
    return (x.get("method", "answer"), None)


def expected_events(wanted, got):
    """The events must have the kinds in `wanted`, in this order. Only kinds that are in neither `wanted` nor KINDS may come between them."""
    wanted = wanted.split()
    eq([k for k in got if k in wanted or k in KINDS], wanted, f"events (of all: {got})")


def names_in(path, pattern):
    return set(re.findall(pattern, (lib.ROOT / path).read_text(), re.M))


CAUSES = names_in("docs/findings.md", r"^\| -3\d+.* \| `([a-z-]+)` \|")
NAMES = names_in("docs/vault.md", r"^\| `([a-z-]+)` \|")      # of events and ends, and others


def all_documented(s, recorded, ends):
    """Every name that a program may depend on is documented."""
    causes = {a[0][1].get("error", {}).get("data", {}).get("cause") for a in s.answers.values()
              if "mcp-interposer" in str(a[0][1].get("error", {}).get("data"))}
    eq(causes - CAUSES, set(), "causes that docs/findings.md does not know")
    eq((set(recorded) | ends) - NAMES, set(), "events and ends that docs/vault.md does not know")


# Kinds of which a row with `events` must list every event.
KINDS = {"timeout", "hang", "kill", "restart", "spawn", "exit"}


def run_row(t, name, options=(), server=(), play=(), want=None, got=(), not_got=(), events=None,
            records=None, escalated=(), exit=0, ends=False, launch=None, replies=None, grace=GRACE,
            init=True, env=None, unanswered=(), after=None, notified=None, config=None):
    env = dict(env or {})
    if "on-hang" not in (config or ""):     # 28-alive.py has the rows of a server that is asked before it is killed
        env.setdefault("MCP_INTERPOSER_ON_HANG", "kill-now")
    if config is not None:
        folder = t.home / ".config/mcp-interposer"
        folder.mkdir(parents=True)
        (folder / "config.ini").write_text(config)
    s = Play(t, options, server, launch, replies or {}, grace, env)
    for step in [*(handshake() if init is True else init or []), *play]:
        if isinstance(step, bytes):
            s.send(step)
        else:
            step(s)
    s.pump(lambda: not set(s.open_ids()) - set(unanswered), f"answers to all but {unanswered}")
    status = s.finish(ends)

    # checks of all rows
    late = {i: len(a) for i, a in s.answers.items() if i not in s.sent or len(a) != len(s.sent[i])}
    eq(late, {}, "answers that are too many, or nobody's")
    eq([i for i in s.open_ids() if i not in unanswered], [], "requests without an answer")
    for id, w in (want or {}).items():
        at, message = s.answers[id][0]
        w.check(id, message, at - s.sent[id][0])
    none_left(s.mark, first=s.p.pid)
    one_of = exit if isinstance(exit, tuple) else (exit,)
    lib.one_of(status, one_of, "exit status")
    with lib.database(t.vault) as db:
        row, opened, recorded = ([tuple(x) for x in db.execute(sql)] for sql in (
            "SELECT exit_status, ended_at_us IS NOT NULL, end_reason IS NOT NULL, end_reason FROM sessions",
            "SELECT method, target FROM invocations WHERE status = 'open'", "SELECT kind FROM events ORDER BY id"))
        statuses = {id: [x.decode() for x, in db.execute("SELECT i.status FROM invocations i JOIN messages m ON m.session_id = i.session_id"
                                                         " AND m.seq = i.request_seq WHERE m.rpc_id = ?", (json.dumps(id),))] for id in records or {}}
    recorded = [kind.decode() for kind, in recorded]
    eq([x[:3] for x in row], [(status, 1, 1)], "recorded end of the session")
    eq(opened, [], "open invocations")
    for number, message in s.received():
        check("source" not in str(message.get("error", "")), f"an error of ours at the server: {message}")

    all_documented(s, recorded, {x[3].decode() for x in row})

    # checks of this row
    had = [(n, message_of(m)) for n, m in s.received()]
    for x in got:
        check(x in had, lambda: f"the server did not get {x}: {had}")
    for x in not_got:
        check(all(x not in (h, h[1], h[1][0]) for h in had), lambda: f"the server got {x}: {had}")
    if events is not None:
        expected_events(events, recorded)
    for id, wanted in (records or {}).items():
        eq(statuses[id], [wanted], f"recorded status of {id!r}")
    eq([cause for cause, _ in escalations(t.vault)], list(escalated), "escalations")
    for method, n in (notified or {}).items():
        eq(len(s.notified(method)), n, f"{method} at the client")
    if after is not None:
        after(t, s)


def row(name, limit=60, **how):
    @case(name, limit)
    def _(t):
        run_row(t, name, **how)
