"""Shared by the tests of the contracts: the server of each contract, behind the interposer, and a client that follows
the contract and keeps the messages, to compare them with the recording and a replay."""
import json
import sys

import lib
from lib import check, eq
from replaying import Replay

FOLDER = lib.ROOT / "tests/contracts"
NAMES = {path.name[0]: path.stem for path in sorted(FOLDER.glob("*.jsonl"))}
NOTE = "meditation://note/morning-meditation-2024-12-01"
MAIL = {"to": "user@example.com", "subject": "Test", "body": "Test message"}

# The first messages of each client, the call that is made to fail, and the deadline of a call in seconds.
INITIALIZE = {"1": ("2024-11-05", {}, {"name": "project_chat", "version": "1.0"}),
              "3": ("2024-11-05", {}, {"name": "smolcode", "version": "1.0.0"}),
              "4": ("2025-11-25", {"sampling": {}}, {"name": "spec-tui", "version": "0.1.0"}),
              "5": ("2025-06-18", {}, {"name": "gherkinlang-js", "version": "1.0.0"})}
CONFIRMS = "34"         # the others never send notifications/initialized
CALL = {"1": ("search_notes", {"query": "morning", "limit": 10}), "2": ("send_email", MAIL),
        "3": ("get_weather", {"location": "New York"}), "4": ("speckit.plan", {"spec_directory": "/path/to/specs"}),
        "5": ("analyzer", {"code": "...", "checks": ["syntax", "purity"]})}
LIMIT = {"1": 1, "2": 30, "3": 30, "4": 60, "5": 5}


def server(number):
    return [sys.executable, "-S", str(FOLDER / f"servers/{NAMES[number]}.py")]


class Talk:
    """The client of a contract. `said` has all messages, as a script for replaying.py."""

    def __init__(self, t, number, *options, fault="", restarts=3, env=None, hello=True, command=None):
        self.t, self.number, self.said, self.next_id = t, number, [], 1
        self.dir = t.tmp / f"server-{next(t.numbers)}"
        self.dir.mkdir()
        self.p = t.proxy("--restarts", restarts, *options, server=command or server(number),
                         env={"CONTRACT_DIR": str(self.dir), "CONTRACT_FAULT": fault, **(env or {})})
        if hello and number in INITIALIZE:
            version, capabilities, info = INITIALIZE[number]
            self.result("initialize", {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info})
            if number in CONFIRMS:
                self.notify("notifications/initialized")

    def say(self, line):
        self.said.append(b">" + line)
        self.p.client.send(line)

    def notify(self, method, params=None):
        self.say(lib.note(method, params))

    def send(self, method, params=None, id=None):
        """Send a request. Returns its id."""
        if id is None:
            id, self.next_id = self.next_id, self.next_id + 1
        self.say(lib.request(id, method, params))
        return id

    def hear(self, seconds=10):
        """The next message for the client."""
        line = self.p.client.recv(seconds)
        self.said.append(b"<" + line)
        return json.loads(line)

    def answer(self, id, seconds=10):
        """The answer to this id; only notifications may arrive before it."""
        while True:
            m = self.hear(seconds)
            if "method" not in m:
                eq((m["id"], type(m["id"])), (id, type(id)), f"the id of {lib.short(m)}")
                return m
            check("id" not in m, lambda: f"a request: {m}")

    def ask(self, method, params=None, id=None, seconds=10):
        return self.answer(self.send(method, params, id), seconds)

    def result(self, method, params=None, id=None, seconds=10):
        m = self.ask(method, params, id, seconds)
        check("result" in m, lambda: f"{method}: {m}")
        return m["result"]

    def fails(self, method, code, params=None, cause=None, id=None, seconds=10):
        """The answer must be an error with this code, and this cause if it is the interposer's."""
        m = self.ask(method, params, id, seconds)
        return error_of(m, code, cause)

    def call(self, **more):
        """The contract's call, which must succeed."""
        name, arguments = CALL[self.number]
        return self.result("tools/call", {"name": name, "arguments": arguments}, **more)

    def call_fails(self, code, cause, **more):
        name, arguments = CALL[self.number]
        return self.fails("tools/call", code, {"name": name, "arguments": arguments}, cause, **more)

    def end(self, status=0, reason="client-closed", seconds=5):
        """The client closes its side, and no other message arrives."""
        self.p.client.close_write()
        self.ended(status, reason, seconds)

    def ended(self, status=0, reason="server-exited", seconds=5):
        """The session ends with this reason, for the client and in the record."""
        self.p.client.expect_eof(seconds)
        eq(self.p.wait(seconds), status, f"exit status; {self.p.stderr().decode()}")
        row = self.t.rows("SELECT end_reason, exit_status, ended_at_us IS NOT NULL FROM sessions ORDER BY id DESC LIMIT 1")
        eq(row, [(reason.encode(), status, 1)], "end of the session in the record")

    # the server, the record and a replay

    def received(self, process=None):
        """The methods that the server received; of one process, if given by its number."""
        return [m["method"] for n, m in self.got() if process in (None, n) and "method" in m]

    def got(self):
        path = self.dir / "received"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(n), json.loads(text)) for n, text in (line.split(" ", 1) for line in lines)]

    def processes(self):
        path = self.dir / "starts"
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def statuses(self, method="tools/call", logged=True):
        """(status, error code) of each recorded request with this method; the log must agree."""
        uid, session = self.t.rows("SELECT uid, id FROM sessions ORDER BY id DESC LIMIT 1")[0]
        got = [(s.decode(), code) for s, code in self.t.rows(
            "SELECT status, error_code FROM invocations WHERE session_id = ? AND method = ? ORDER BY request_seq",
            session, method)]
        if not logged:
            return got
        lines = [x for x in map(json.loads, self.t.log_lines()) if (x["session"], x["method"]) == (uid.decode(), method)]
        eq(sorted((x["status"], (x.get("error") or {}).get("code")) for x in lines if x["status"] != "cancelled"),
           sorted((s, c) for s, c in got if s != "cancelled"), "the lines of the log")
        return got

    def events(self):
        return [k.decode() for k, in self.t.rows(
            "SELECT kind FROM events WHERE session_id = (SELECT max(id) FROM sessions) ORDER BY id")]

    def replays(self, *options, status=0, ends=False):
        """A replay of the recording gives the same answers."""
        replay = Replay(self.t, *options).play(self.said)
        if not ends:
            replay.client.close_write()
        eq(replay.client.rest(), b"", "what comes after it")
        eq(replay.wait(), status, f"exit status of the replay; {replay.stderr()}")


def error_of(message, code, cause=None):
    """The error of a message; `cause` is the interposer's, None: the error is the server's."""
    check("error" in message, lambda: f"no error: {lib.short(message)}")
    error = message["error"]
    eq(error["code"], code, f"code of {error}")
    data = error.get("data") or {}
    eq((data.get("source"), data.get("cause")), ("mcp-interposer", cause) if cause else (None, None), f"origin of {error}")
    return error


def escalations(t):
    folder = t.vault / "Escalations"
    return [path.read_text() for path in sorted(folder.iterdir())] if folder.exists() else []
