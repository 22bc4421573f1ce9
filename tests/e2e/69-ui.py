#!/usr/bin/env python3
"""ui: in tmux, by typing and reading the screen, at three sizes."""
import base64
import contextlib
import json
import os
import re
import signal
import sqlite3
import time

import lib
import monkey
from lib import call, case, check, eq, text_result
from looking import FORBIDDEN, add_message, add_session, fails, make_vault
from screens import START, Screen, answer, request, small

SIZES = ((60, 16), (80, 24), (200, 60))


def cpu_ms(pid):
    """CPU time of the program's only thread."""
    return int(open(f"/proc/{pid}/schedstat", encoding="ascii").read().split()[0]) / 1e6


# --- moving -------------------------------------------------------------------------------------------

@case("ui: sessions, calls and a call in detail, at three sizes")
def _(t):
    small(t)
    for size in SIZES:
        s = Screen(t, "ui", "--vault", t.vault, size=size)
        s.sees(r"sessions 1/2", "mail", "files")
        s.keys("Down", "Enter")
        s.sees(r"calls 30/30", r"list_dir", "30 calls", gone=["sessions 2/2 .*\n"] if size[0] < 200 else [])
        s.keys("g")
        s.sees(r"calls 1/30", r"read_file")
        s.keys("j", "j", "Down")
        s.sees(r"calls 4/30", "✗.*content 3" if size[0] >= 80 else "list_dir")  # of a failed call, the error
        s.keys("Enter")
        s.sees(r"call 7 ", r"error after", '"path": "/tmp/3"', "error -32000", "content 3")
        s.keys("G")
        s.sees("error 8 ")
        for line in s.lines():
            check(len(line) <= size[0], line)
        s.quit()


@case("ui: a resize changes the panes")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 30/30", "call 59 ", gone=["sessions [0-9]"])
    s.resize(200, 60)
    s.sees("sessions 2/2", "calls 30/30", "call 59 ")
    s.resize(60, 16)
    s.sees("calls 30/30", gone=["sessions 2/2", "call 59 "])
    s.resize(20, 5)
    s.sees("too small")
    s.resize(80, 24)
    s.keys("z")
    s.sees("calls 30/30", gone=["call 59 "])
    s.keys("Escape", "Tab")
    s.sees("calls 30/30", "call 59 ")
    s.quit()


@case("ui: the help page lists the keys, and the footer some of them")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(200, 60))
    s.sees(r"\? help", "q quit", "f filter", "S servers")
    s.keys("?")
    s.sees("previous row", "JSON Pointer", "Space +fold", "quit")
    s.keys("Escape")
    s.sees("sessions 1/2")
    s.resize(60, 16)
    s.sees("sessions 1/2", gone=["│"])      # one pane: this is no part of the large picture
    s.keys("?")
    s.sees("Moving", gone=["JSON Pointer"])
    s.keys("End")
    s.sees(r"keys \(", "draw the screen again", gone=["Moving"])   # a frame may arrive in several parts
    s.keys("?")
    s.quit()


@case("ui: the mouse selects, opens and scrolls")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(200, 60), term="xterm-256color")
    s.sees("sessions 1/2")
    def mouse(button, x, y):
        s.tmux("send-keys", "-l", f"\033[<{button};{x + 1};{y + 1}M\033[<{button};{x + 1};{y + 1}m")
    mouse(0, 5, 5)
    s.sees("sessions 2/2", "calls 30/30")
    mouse(0, 60, 9)
    s.sees("calls 6/30", "call 11 ")
    mouse(65, 60, 9)
    mouse(0, 60, 9)
    s.sees(r"calls 6/30")  # 30 rows fit on the screen: nothing scrolls
    s.keys("?")
    s.sees("previous row")
    mouse(0, 60, 9)  # the help has no rows
    s.resize(200, 14)
    s.sees("previous row", "q back", gone=["JSON Pointer"])     # with its last line: no part of the large picture
    mouse(65, 60, 8)
    s.sees("next page", gone=["previous row"])
    s.keys("?")
    s.sees("call 11 ")
    s.quit()


# --- views --------------------------------------------------------------------------------------------

@case("ui: closing a view shows the one below it: help over a comparison, the same view twice")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(100, 30))
    s.sees("calls 30/30")
    s.keys("g", "c", "j", "c")
    s.sees(r"1 of session 1 .* 3 of session 1 +3 differences")
    s.keys("?")
    s.sees("previous row", gone=["differences"])
    s.keys("c")  # has no meaning in the help
    s.keys("Escape")
    s.sees("3 differences", gone=["previous row"])
    s.keys("o", "?", "o")
    s.sees("overview", gone=["previous row"])
    s.keys("o")
    s.sees("3 differences", gone=["overview"])
    s.keys("q")
    s.sees("calls 2/30", gone=["differences"])
    s.keys("d")
    s.type("2")
    s.keys("Enter")
    s.sees("compare: [0-9]")
    s.keys("End", "Enter")
    s.sees("call 59 ", gone=["compare:"])
    s.keys("d")  # another comparison, while the first is below
    s.type("2")
    s.keys("Enter")
    s.sees("compare: [0-9]")
    s.keys("End", "Enter")
    s.sees("call 59 ", gone=["compare:"])
    s.keys("q")
    s.sees("compare: [0-9]")
    s.keys("q")
    s.sees("calls [0-9]+/30", gone=["compare:"])
    s.quit()


@case("ui: q goes one step back and ends at the first view, Q ends at once")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/2")
    s.keys("Down", "Enter", "Enter", "?")
    s.sees("previous row")
    s.keys("q")
    s.sees("call 59 ", "q back")
    s.keys("q")
    s.sees("calls 30/30", gone=["sessions 2/2"])
    s.keys("q")
    s.sees("sessions 2/2", "q quit")
    s.keys("q")
    s.ended(0)
    s = Screen(t, "ui", "--vault", t.vault, "files")
    s.sees("calls 30/30")
    s.keys("o", "?", "Q")
    s.ended(0)


@case("ui: all running servers, live: open calls, failures, restarts; Enter goes to the session")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/2")
    s.keys("S")
    s.sees("0 running servers", "server .* state .* restarts")
    p = t.proxy("--name", "first")
    p.initialize()
    s.sees("1 running server;")
    q = t.proxy("--name", "second")
    q.initialize()
    s.sees("2 running servers", r"first +[0-9]+ +running +0 +- +1 +0 +0", r"second +[0-9]+ +running")
    p.client.send(call(10, "slow"))
    p.server.recv()
    s.sees(r"first +[0-9]+ +running +1 +[0-9.]+m?s +2 +0 ")
    p.server.send(json.dumps({"jsonrpc": "2.0", "id": 10, "error": {"code": -32000, "message": "no"}}).encode())
    p.client.recv()
    s.sees(r"first +[0-9]+ +running +0 +- +2 +1 ")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("INSERT INTO events(session_id, t_us, kind) SELECT id, 1, 'restart' FROM sessions WHERE name = 'first'")
    s.sees(r"first +[0-9]+ +restarting +0 +- +2 +1 +1")
    s.keys("g", "Down", "Enter")
    s.sees("calls 2/2", "slow", gone=["running servers"])
    s.keys("q")
    s.sees("2 running servers")
    q.end()
    s.sees("1 running server;", gone=["second"])
    p.end()
    s.sees("0 running servers")
    s.keys("L")
    s.sees("0 problems", gone=["running servers"])
    s.keys("L")
    s.sees("0 requests for input", "no server has asked", gone=["problems that"])
    s.keys("L")
    s.sees("servers, by the cost of their tools", "definitions", gone=["requests for"])
    s.keys("L")
    s.sees("0 running servers", gone=["tools cost"])
    s.keys("Escape", "L")
    s.sees("0 running servers")
    s.keys("Escape")
    s.sees("sessions [0-9]/4", gone=["running servers"])
    s.quit()


@case("ui: a session without messages has no failed calls; a list that cannot be read again keeps its rows, and a name fills its column")
def _(t):
    small(t)
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700)
    (folder / "20260101T000000.000Z-hang-x.md").write_text('---\ncause: hang\nserver: "a-server-with-a-long-name"\ntool: "a-tool-with-a-very-long-name"\n---\n')
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        add_session(db, 3, name="empty", started_at_us=START + 2 * 10**8, ended_at_us=START + 3 * 10**8, end_reason="client-closed", exit_status=0)
    s = Screen(t, "ui", "--vault", t.vault, size=(120, 24))
    s.sees("sessions ./3", r"empty .* [-0] +0\b", gone=["empty .* -1 "])
    s.keys("!")
    s.sees("1 problem that", r"hang-x .* a-server-wi…  a-tool-with-a-ver…")
    (folder / "20260102T000000.000Z-auth-y.md").symlink_to("nothing")
    s.sees("2 problems that", r'cannot read "20260102T000000.000Z-auth-y.md"')
    folder.rename(t.vault / "moved")
    folder.write_text("no directory")
    s.sees("2 problems that", "hang-x", "cannot read .*/Escalations: ")
    s.quit()


@case("ui: problems that need a person: listed, read, their call, and removed when they are solved")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/2")
    s.keys("!")
    s.sees("0 problems that need a person")
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
        uid, = db.execute("SELECT uid FROM sessions WHERE name = 'files'").fetchone()
    for name, count, seq in (("20260101T000000.000Z-hang-files", 3, 7), ("20260102T000000.000Z-auth-mail", 1, 0)):
        seq = f"seq: {seq}\n" if seq else ""
        (folder / f"{name}.md").write_text(f'---\ncause: x\nserver: "files"\nsession: "{uid}"\n{seq}last_at: "2026-01-01T00:00:09.000Z"\ncount: {count}\n---\n\n# problem of {name}\n\n'
                                           + "a long line \x1b[31m" * 20 + "\n" + "line\n" * 100 + "the end\n")
    s.sees("2 problems that need a person", r"hang-files +3 +2026-01-01T00:00:09 +files", "auth-mail +1 ")
    s.keys("Down", "Enter")
    s.sees("escalation 20260101T000000.000Z-hang-files.md", "# problem of", gone=["the end"])
    check("\x1b" not in s.text(), "an escape sequence")
    s.keys("G")
    s.sees("the end", gone=["# problem of"])
    s.keys("Enter")
    s.sees("call 7 ", "error after")
    s.keys("q")
    s.sees("the end")
    s.keys("D")
    s.sees("is this problem solved")
    s.keys("n")
    s.sees("the end")
    s.keys("D", "y")
    s.sees("1 problem that needs a person", "removed", "auth-mail", gone=["hang-files"])
    eq([x.name for x in folder.iterdir()], ["20260102T000000.000Z-auth-mail.md"], "what is left")
    s.keys("D", "y")
    s.sees("0 problems")
    s.keys("D", "Enter", "!")
    s.sees("sessions 2/2", gone=["problems that"])
    (folder / "20260103T000000.000Z-hang-files.md").write_text("new")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("INSERT INTO events(session_id, t_us, kind) VALUES(1, 1, 'hang')")
    s.sees(r"2 sessions  1 problem \(!\)")
    s.quit()


@case("ui: at 80x24 a call shows its status, arguments and result, a failed one its error in full, without scrolling")
def _(t):
    reason = "the file cannot be read, because " + "it is somewhere else, " * 9 + "and that was all"
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        request(db, 1, 1, "read", {"path": "/tmp/a", "lines": 2, "all": False})
        answer(db, 1, 2, 1, "line one\nline two")
        request(db, 1, 3, "read", {"path": "/tmp/b", "text": "x" * 5000})
        answer(db, 1, 4, 3, "x", finding="tool-error", body=json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"isError": True, "content": [{"type": "text", "text": reason}]}}))
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    page = s.sees("call 3 ", "tool-error after", "and that was all", '"path": "/tmp/b"')
    eq(" ".join(page.split("▾ error")[1].split("▾ arguments")[0].split()), reason, "the error")
    s.keys("g")
    s.sees("call 1 ", "Status +ok", '"path": "/tmp/a"', '"all": false', "^  line one$", "^  line two$")
    s.keys("Enter", "End")
    s.sees("▸ ← result 2 ")
    s.keys("Space")
    s.sees('"jsonrpc"')
    s.quit()


# --- finding ------------------------------------------------------------------------------------------

@case("ui: filter with the words of search, search, next failed call")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 30/30")
    s.keys("f")
    s.type("tool:list_* status:error")
    s.keys("Enter")
    s.sees("calls 1/1 that match", "list_dir", "filter: tool:list")
    s.keys("f", "C-u")
    s.type("tool:list_*")
    s.keys("Enter")
    s.sees("calls [0-9]+/15 that match", gone=["read_file"])
    s.keys("f", "C-u")
    s.type("'content 12'")
    s.keys("Enter")
    s.sees("calls 1/1 that match", "/tmp/12")
    s.keys("f", "C-u")
    s.type("tols:x")
    s.keys("Enter")
    s.sees("unknown field 'tols'", "filter: tols:x", "calls 1/1 that match")  # the filter before stays, and what was typed
    s.keys("BSpace", "BSpace", "y")
    s.sees("filter: tolsy")
    s.keys("Escape", "f")
    s.type("server:mail")  # replaces the filter that is proposed
    s.keys("Enter")
    s.sees("send_email", "calls 1/1")
    s.keys("Escape")
    s.sees("2 sessions", gone=["filter:"])
    s.keys("x")  # in another session
    s.sees("sessions 2/2|calls 4/30", "calls 4/30")
    s.keys("x")
    s.sees("the search wrapped around", "calls 4/30")
    s.keys("g", "X")
    s.sees("calls 4/30")
    s.quit()
    s = Screen(t, "ui", "--vault", t.vault, "1")
    s.sees("calls 30/30")
    s.keys("g", "x")
    s.sees("calls 4/30")
    s.keys("/")
    s.type("CONTENT 21")
    s.keys("Enter")
    s.sees("calls 22/30")
    s.keys("n")
    s.sees("the search wrapped around")
    s.keys("X")
    s.sees("calls 4/30")
    s.keys("/")
    s.type("no such text")
    s.keys("Enter")
    s.sees("'no such text' was not found")
    s.quit()


@case("ui: a filter of calls narrows the list of sessions, and the chosen session follows")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        for session in range(1, 301):
            add_session(db, session, name=f"s{session}", started_at_us=START + session * 10**8, ended_at_us=START + session * 10**8 + 1, end_reason="client-closed", exit_status=0)
            request(db, session, 1, "special" if session == 5 else "usual", {"word": "needle" if session in (7, 150) else "hay"}, t_us=0)
            answer(db, session, 2, 1, "fine", t_us=3 * 10**6 if session == 9 else 100, kind="error" if session in (3, 290) else "result")
        add_message(db, 11, 3, kind="notification", method="notifications/odd", body='{"jsonrpc":"2.0","method":"notifications/odd"}')
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/300 ")

    def narrow(text, *wanted, gone=()):
        s.keys("f", "C-u")
        s.type(text)
        s.keys("Enter")
        return s.sees(f"filter: {re.escape(text)}", *wanted, gone=["nothing matches", "none matches", *gone])

    narrow("status:error", "sessions 1/2 ", "s290 ", "s3 ", "calls 1/1 that match", gone=["s289 "])
    s.keys("Down")
    s.sees("sessions 2/2 ", "calls 1/1 that match", "s3  client-closed")
    narrow("status:failed", "sessions 2/2 ")  # the chosen session stays
    narrow("took:>1s", "sessions 1/1 ", "s9 ")
    narrow("tool:special", "sessions 1/1 ", "s5 ")
    narrow("needle", "sessions 1/2 ", "s150 ", "s7 ")
    narrow("needle server:s7", "sessions 1/1 ", "s7 ")
    s.keys("f", "C-u")
    s.type("notifications/odd")
    s.keys("Enter")
    s.sees("none matches", "filter: notifications/odd", gone=["sessions [0-9]"])
    s.keys("m")  # as a message it matches
    s.sees("s11 ", "messages 1/1 that match", gone=["none matches"])
    s.keys("Escape", "Escape")
    s.sees("300 sessions", gone=["filter:"])
    s.keys("m")
    s.sees("calls ")
    # what a running session gets later
    p = t.proxy("--name", "live")
    p.initialize()
    s.sees("301 sessions")
    s.keys("f", "C-u")
    s.type("method:tools/call status:tool-error")
    s.keys("Enter")
    s.sees("nothing matches", gone=["reading"])
    p.client.send(call(10, "late"))
    p.server.recv()
    p.server.send(json.dumps({"jsonrpc": "2.0", "id": 10, "result": {"isError": True, "content": []}}).encode())
    p.client.recv()
    s.sees("calls 1/1 that match", "late", "1 session ", gone=["nothing matches"])
    p.end()
    s.quit()


@case("ui: an event in the detail is read again after another session was chosen")
def _(t):
    small(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("INSERT INTO events(session_id, t_us, kind, detail) VALUES(1, 0, 'hang', ?)", (json.dumps({"name": "hung-here"}),))
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(60, 16))  # one pane: the detail is not drawn with the lists
    s.sees("calls 30/30")
    s.keys("g", "Enter")
    s.sees("event ", "hung-here")
    s.keys("q", "q")
    s.sees("sessions 2/2")
    s.keys("Up")
    s.sees("sessions 1/2")
    s.keys("Down", "Enter", "g")
    s.sees("calls 0/30")
    s.keys("Enter")
    s.sees("event ", "hung-here")
    s.quit()


@case("ui: all messages, with standard error, and the overview with the tools")
def _(t):
    small(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("UPDATE sessions SET salt = x'00', end_commitment = x'00' WHERE name = 'mail'")
    s = Screen(t, "ui", "--vault", t.vault, "mail", size=(200, 60))
    s.sees("1 unanswered", "call 1 ", "no answer|unanswered|open", "cannot reach the mail server")
    s.keys("m")
    s.sees("messages 2/2", "stderr")
    s.keys("o")
    s.sees("overview", r"send_email +1 ", r"evidence +sealed", gone=["messages 2/2"])
    s.resize(60, 9)
    s.sees("overview", "^ session ", "q back", gone=["send_email"])
    s.keys("End")
    page = s.sees("overview", gone=["^ session "])
    check("send_email" in page, lambda: f"the first page after End: {page}")
    s.resize(80, 24)
    s.keys("Home")
    s.sees("overview", "^ session ", "send_email +1 ")
    s.resize(200, 60)
    s.keys("o", "m")
    s.sees("calls 1/1", gone=["^ session "])     # the footer of a wide screen has the word overview
    s.quit()


@case("ui: foldable JSON, copying with OSC 52")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(200, 60))
    s.tmux("set-option", "-g", "set-clipboard", "on")
    s.sees("call 59 ")
    s.keys("Enter", "/")
    s.type('"/tmp/29"')
    s.keys("Enter")
    s.sees('"/tmp/29"')
    s.keys("Space")
    s.sees("arguments", gone=['"path": "/tmp/29"$'])
    s.keys("Space", "Down", "y")
    s.sees("copied the value")
    lib.wait_until(lambda: s.tmux("show-buffer", check=False) == "/tmp/29", 10, lambda: s.tmux("show-buffer", check=False))
    s.keys("p")
    lib.wait_until(lambda: s.tmux("show-buffer", check=False) == "/params/arguments/path", 10, lambda: s.tmux("show-buffer", check=False))
    s.keys("Escape", "y")
    lib.wait_until(lambda: '"method": "tools/call"' in s.tmux("show-buffer", check=False), 10, "the message")
    s.quit()


@case("ui: export of a session and of a call; an existing file is replaced only after asking")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(200, 60))
    file, one = t.tmp / "x.csv", t.tmp / "one.jsonl"
    s.sees("calls 30/30")
    s.keys("e", "C-u")
    s.type(str(file))
    s.keys("Enter")
    s.sees("exported session 1")
    eq(len(file.read_text().splitlines()), 31, "rows")
    file.write_text("mine")
    s.keys("e", "C-u")
    s.type(str(file))
    s.keys("Enter")
    s.sees("replace it")
    s.keys("n")
    s.sees("nothing was written")
    eq(file.read_text(), "mine", "the file")
    s.keys("E", "C-u")
    s.type(str(one))
    s.keys("Enter")
    s.sees("wrote call 59")
    eq([json.loads(x)["seq"] for x in one.read_text().splitlines() if json.loads(x)["type"] == "message"], [59, 60], "the call")
    eq(one.stat().st_mode & 0o777, 0o600, "mode")
    s.keys("e", "C-u")
    s.type(str(t.tmp / "no/such.csv"))
    s.keys("Enter")
    s.sees("No such file")
    s.quit()


@case("ui: compares the session with another one, side by side")
def _(t):
    small(t)
    with contextlib.closing(lib.sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        add_session(db, 3, name="files", started_at_us=START + 3 * 10**8, ended_at_us=START + 4 * 10**8, end_reason="client-closed", exit_status=0)
        request(db, 3, 1, "read_file", {"path": "/tmp/0"})
        answer(db, 3, 2, 1, "content 0")
        request(db, 3, 3, "list_dir", {"path": "/tmp/1"})
        answer(db, 3, 4, 3, "something else")
        request(db, 3, 5, "new_tool", {"a": 1})
        answer(db, 3, 6, 5, "yes")
    s = Screen(t, "ui", "--vault", t.vault, "3", size=(200, 60))
    s.sees("calls 3/3")
    s.keys("d")
    s.sees("compare with")
    s.keys("Enter")
    s.sees("compare: 1 changed, 0 moved, 28 missing, 1 added, 1 the same", r"1  2026-11-21 10:15:37  files .* 3  2026-11-21 10:20:37  files",
           r"list_dir .* ≠ .* list_dir", r"\+ +5 new_tool", gone=["sessions [0-9]"])
    s.keys("g")
    s.sees(r"- +.?content 1", r"\+ +.?something else", "/content/0/text")
    s.keys("End")
    s.sees("added: only the recording on the right has this call")
    s.keys("g", "Down")
    s.sees("missing: only the recording on the left has this call")
    s.keys("m")
    s.sees(r"read_file +ok .* read_file +ok")
    s.keys("m", "g", "Enter")
    s.sees("call 3 ", "something else", gone=["compare:"])
    s.keys("d")
    s.type("1")
    s.keys("Enter")
    s.sees("compare: 1 changed")
    s.keys("Escape", "d")
    s.type("nothing-of-this-name")
    s.keys("Enter")
    s.sees("cannot compare: no session 'nothing-of-this-name'")
    s.quit()


@case("ui: long sessions are compared in steps, between which keys have their effect")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        for session in (1, 2):
            add_session(db, session, name="files", started_at_us=START + session * 10**9, ended_at_us=START + session * 10**9 + 10**8,
                        end_reason="client-closed", exit_status=0)
            for i in range(6000):
                request(db, session, 2 * i + 1, "read_file", {"path": f"/tmp/{i}"})
                answer(db, session, 2 * i + 2, 2 * i + 1, f"content {i} of {session if i % 10 == 0 else 'both'}")
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "2")
    s.sees("calls 6000/6000", gone=["reading"])
    pid = s.pid()

    def used(keys, *wanted, gone=()):
        before = cpu_ms(pid)
        s.keys(*keys)
        s.sees(*wanted, gone=gone)
        return cpu_ms(pid) - before
    closed = used(("d", "Enter", "Escape", "?"), "keys \\(")
    s.keys("Escape")
    s.sees("calls 6000/6000", gone=["compare:"])
    whole = used(("d", "Enter"), "compare: 600 changed, 0 moved, 0 missing, 0 added, 5400 the same")
    print(f"   closed at once: {closed:.0f} ms of CPU time; to its end: {whole:.0f} ms")
    check(closed < whole / 2, f"{closed} ms, {whole} ms")
    s.quit()


@case("ui: sends a request again, and shows the new session")
def _(t):
    server = t.tmp / "server.py"
    server.write_text("""import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    else:
        r = {"content": [{"type": "text", "text": "seen " + m["params"]["arguments"]["what"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
""")
    lines = [lib.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
             lib.note("notifications/initialized"), lib.request(2, "tools/list"), call(3, "look", {"what": "something"})]
    r = t.run("proxy", "--vault", t.vault, "--", lib.sys.executable, server, input=b"".join(x + b"\n" for x in lines))
    eq(r.returncode, 0, r.stderr)
    s = Screen(t, "ui", "--vault", t.vault, "last", size=(200, 60))
    s.sees("calls 3/3", "look")
    s.keys("G", "r")
    s.sees("seen something", r"\[Enter goes back to ui\]")
    s.keys("Enter")
    s.sees("calls 3/3", "sessions 2/2", gone=["Enter goes back"])
    s.keys("C-c")
    s.ended(0)


@case("ui: signals while a request is sent: Control-\\ ends only send, SIGWINCH nothing, SIGTERM both")
def _(t):
    server = t.tmp / "server.py"
    server.write_text("""import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {"tools": [{"name": "put", "inputSchema": {"type": "object"}}], "content": []}
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
""")
    lines = [lib.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
             lib.note("notifications/initialized"), call(3, "put")]
    r = t.run("proxy", "--vault", t.vault, "--", lib.sys.executable, server, input=b"".join(x + b"\n" for x in lines))
    eq(r.returncode, 0, r.stderr)
    s = Screen(t, "ui", "--vault", t.vault, "last", size=(200, 60))
    s.sees("calls 2/2", "put")
    s.keys("G", "r")
    s.sees("Send it")
    s.keys("C-\\")
    s.sees(r"\[Enter goes back to ui\]")
    os.kill(s.pid(), signal.SIGWINCH)
    s.keys("q", "Enter")  # the q is part of the line that ends with Enter
    s.sees("calls 2/2", gone=["Enter goes back", "exit status"])
    s.keys("r")
    s.sees("Send it", gone=["calls 2/2"])
    os.kill(s.pid(), signal.SIGTERM)
    text = s.sees("^exit status 0", r"^ ?-?icanon")  # the line may have had other text
    check("-icanon" not in text, f"the terminal was not restored:\n{text}")


@case("ui: v shows a value in $PAGER, | gives it to a command, y copies with tmux")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(100, 30), env={"PAGER": "cat -A; echo pager read"}, tmux=True)
    s.sees("call 59 ")
    s.keys("Enter", "/")
    s.type("/tmp/29")
    s.keys("Enter")
    s.sees('"path": "/tmp/29"')
    s.keys("|")
    s.type("tr a-z A-Z")
    s.keys("Enter")
    s.sees("^/TMP/29", r"\[Enter goes back to ui\]")
    s.keys("Enter", "|")
    s.sees(r"^\| tr a-z A-Z")
    s.type("echo three; exit 3")  # replaces the last command
    s.keys("Enter")
    s.sees(r"^three\n\n?\[Enter")
    s.keys("Enter")
    s.sees("call 59 ", gone=["goes back"])
    s.tmux("set-option", "-g", "set-clipboard", "off")  # OSC 52 has no effect
    s.keys("y")
    s.sees("copied the value")
    lib.wait_until(lambda: s.tmux("show-buffer", check=False) == "/tmp/29", 10, lambda: s.tmux("show-buffer", check=False))
    s.quit()
    shown = t.tmp / "shown"
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(100, 30), env={"PAGER": f"cp -t {shown}"})
    shown.mkdir()
    s.sees("call 59 ")
    s.keys("v")
    file = lib.wait_until(lambda: [f for f in shown.glob("*.json") if f.stat().st_size > 0], 10, "the file that the pager got")[0]
    eq(json.loads(file.read_text())["id"], 59, "the message")
    eq(list(t.tmp.glob("mcp-interposer-*")), [], "what is left")
    s.sees("calls 30/30", gone=["goes back"])
    s.quit()


@case("ui: a command ends also if ui was started with SIGCHLD ignored")
def _(t):
    small(t)
    ignores = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24), starter=(lib.sys.executable, "-c", ignores))
    s.sees("calls 30/30")
    s.keys("|")
    s.type("tail -c 20")
    s.keys("Enter")
    s.sees(r"\[Enter goes back to ui\]")
    s.keys("Enter")
    s.sees("calls 30/30", gone=["Enter goes back"])
    s.quit()


@case("ui: an unknown key points to the help; pasted text is ignored, except in a prompt; an unknown escape sequence does nothing")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 30/30")
    s.keys("B")
    s.sees(r"this key does nothing here; \? for help")
    s.tmux("set-buffer", "Q\nc and more\n")
    s.tmux("paste-buffer", "-p")
    s.sees("pasted text is ignored")
    s.type("\033[?64;1;2c\033]11;rgb:ff/ff/ff\033\\\033P1+r\033\\f")  # a terminal answers, and a key comes with its answers
    s.sees("filter:", gone=["is marked"])
    s.tmux("set-buffer", "tool:read_file\ncontent")
    s.tmux("paste-buffer", "-p")
    s.sees("filter: tool:read_file content")
    s.keys("Enter")
    s.sees("calls [0-9]+/15 that match")
    s.keys("Escape", "Escape")
    s.sees("sessions 2/2")
    s.quit()


@case("ui: : goes to a session, a message or a line, and quits; J and K move in the pane before; Space is a page")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/2")
    s.keys(":")
    s.type("files")
    s.keys("Enter")
    s.sees(" files ", "calls 30/30")
    s.keys(":")
    s.type("nobody")
    s.keys("Enter")
    s.sees("no session 'nobody'")
    s.keys("Enter", ":")
    s.type("21")
    s.keys("Enter")
    s.sees("call 21 ", "calls 11/30")
    s.keys("Enter", "J", "J", "K")
    s.sees("call 23 ")
    s.keys("Escape", ":")
    s.type("x")
    s.keys("Enter")
    s.sees("':x' is not the number of a message")
    s.keys("?", "Space")
    s.sees("Finding", gone=["Moving"])
    s.keys(":")
    s.type("2")
    s.keys("Enter", "Up")
    s.sees("Moving")
    s.keys(":")
    s.type("0")
    s.keys("Enter")
    s.sees("':0' is not a number of 1 or more")
    s.keys(":")
    s.type("q")
    s.keys("Enter")
    s.ended(0)


@case("ui: messages are not cut, and the name of an export is proposed")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    deep = t.tmp / ("a" * 60) / ("b" * 60) / "no.jsonl"
    s.sees("calls 30/30")
    s.keys("e")
    s.sees("files-1.jsonl")
    s.type(str(deep))
    s.keys("Enter")
    text = s.sees("directory")  # the last word
    check(f"{deep}:Nosuchfileordirectory" in text.replace("\n", "").replace(" ", ""), text)
    s.keys("c")
    s.sees("29 *0:29.000◆list_dir|◆")
    s.keys("c")
    s.sees("the mark was removed", gone=["◆"])
    s.quit()


@case("ui: the list of sessions has their failed calls, and the head those of the server")
def _(t):
    small(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("BEGIN")
        request(db, 2, 3, "x", direction="s2c", t_us=5)
        db.execute("UPDATE messages SET method = 'roots/list', target = NULL WHERE session_id = 2 AND seq = 3")
        answer(db, 2, 4, 3, "no", t_us=6, kind="error", direction="c2s")
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees(r"server +client +began +lasted +failed +msgs", r"files .* 1 +60$", r"mail .* 0 +4$", "1 call  1 unanswered  1 of the server, 1 failed", "calls 2/2")
    s.quit()


# --- live ---------------------------------------------------------------------------------------------

@case("ui: follows a session that begins later, and rests when nothing happens")
def _(t):
    p = t.proxy("--name", "first")
    p.initialize()
    s = Screen(t, "ui", "--vault", t.vault, size=(200, 60))
    s.sees("first", "1 live", "calls 1/1")
    times = []
    for i in range(5):
        p.client.send(call(10 + i, f"tool{i}"))
        p.server.recv()
        s.sees(f"tool{i}", "1 open")
        p.server.send(text_result(10 + i, "done"))
        p.client.recv()
        begin = time.monotonic()
        s.sees(f"calls {i + 2}/{i + 2}", rf"✓.*tool{i}", gone=["1 open"])
        times.append(time.monotonic() - begin)
    s.keys("Tab", "Up")
    s.sees("calls 5/6")
    p.client.send(call(30, "later"))
    p.server.recv()
    p.server.send(text_result(30, "done"))
    p.client.recv()
    s.sees("calls 5/7")
    s.keys("G")
    s.sees("calls 7/7", "following")
    q = t.proxy("--name", "second")
    q.initialize()
    s.sees("second", "2 live", "sessions 2/2")
    pid = s.pid()
    before = lib.cpu_ticks(pid)
    time.sleep(3)  # nothing happens: this is what is measured
    used = lib.cpu_ticks(pid) - before
    check(used <= 1 + 2 * lib.SLOW, f"{used} ticks in 3 s without a change")
    p.end()
    s.sees("1 live")
    q.end()
    s.quit()
    print(f"   a call appears after at most {1000 * max(times):.0f} ms")


@case("ui: waits for the first session of an empty vault")
def _(t):
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24)) if t.vault.exists() else None
    if s is None:
        t.vault.mkdir(mode=0o700)
        s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("nothing is recorded yet")
    p = t.proxy("--name", "first")
    p.initialize()
    s.sees("first", gone=["nothing is recorded"])
    p.end()
    s.quit()


# --- cassettes ----------------------------------------------------------------------------------------

@case("ui FILE: a cassette; the temporary copy is removed")
def _(t):
    small(t)
    eq(t.run("export", "1", "-o", t.tmp / "c.jsonl", "--vault", t.vault).returncode, 0, "export")
    tmp = t.tmp / "tmp"
    tmp.mkdir()
    s = Screen(t, "ui", t.tmp / "c.jsonl", env={"TMPDIR": str(tmp)})
    s.sees("c.jsonl", "calls 30/30|sessions 1/1")
    s.keys("Tab")
    s.sees("calls 30/30", "list_dir")
    eq(len(list(tmp.iterdir())), 1, "the temporary copy")
    s.quit()
    eq(list(tmp.iterdir()), [], "what is left")
    bad = t.tmp / "bad.jsonl"
    bad.write_text("{}\n")
    check("bad.jsonl" in fails(t, 3, "ui", bad), "a file that is not a recording")


# --- the terminal -------------------------------------------------------------------------------------

@case("ui: the terminal is restored after a signal, also a fatal one")
def _(t):
    small(t)
    for number, status in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGSEGV, 139), (signal.SIGABRT, 134), (signal.SIGHUP, 0)):
        if lib.UNDER == "asan" and number == signal.SIGSEGV:
            continue  # the sanitizer has a handler of its own
        s = Screen(t, "ui", "--vault", t.vault)
        s.sees("sessions 1/2")
        eq(s.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag}").split(), ["1", "1"], "modes")
        os.kill(s.pid(), number)
        s.ended(status)
        eq(s.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}").split(), ["0", "0", "1"], f"after {number!r}")


@case("ui: without a terminal, or with an unknown one, says what to do")
def _(t):
    small(t)
    text = fails(t, 2, "replay", "--from", "postgresql://localhost/fleet")
    check("unknown option --from" in text and "`ui`" in text, text)
    text = fails(t, 2, "ui", "--host", "some", "--vault", t.vault)
    check("--host and --user need --from" in text, text)
    text = fails(t, 2, "ui", "--vault", t.vault)
    check("terminal" in text and "tail" in text, text)
    for term, word in (("no-such-terminal", "no-such-terminal"), ("", "TERM is not set"), ("dumb", "dumb")):
        s = Screen(t, "ui", "--vault", t.vault, term=term)
        s.sees("exit status 2", word, gone=["sessions 1/2"])


@case("ui: ASCII without a UTF-8 locale, no colours with NO_COLOR, 8 and 256 colours")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", env={"LC_ALL": "C"}, size=(200, 60))
    text = s.sees("calls 30/30", "call 59 ")
    check(text.isascii(), [x for x in text.splitlines() if not x.isascii()])
    s.quit()
    s = Screen(t, "ui", "--vault", t.vault, "files", env={"NO_COLOR": "1"}, size=(200, 60))
    s.sees("calls 30/30")
    check(not re.search(r"\033\[[0-9;]*[34][0-8]", s.text("-e")), "colours with NO_COLOR")
    s.quit()
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(200, 60))
    s.sees("calls 30/30")
    check("38;5;" in s.text("-e"), "256 colours")
    s.quit()
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(200, 60), term="screen")
    s.sees("calls 30/30")
    text = s.text("-e")
    check(re.search(r"\033\[[0-9;]*3[1-7]m", text) and "38;5;" not in text, "8 colours")
    s.quit()


@case("ui: hostile names, messages and lines of 10 MB do not reach the terminal", limit=120)
def _(t):
    evil = "a\033]0;x\007\033[2J\u202e\u0000b\u009b31m日本\u0301\u0301\u0301\u0301\u0301\U0001f600\ufeff"
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name=evil.replace("\0", ""), client_name=evil.replace("\0", ""), started_at_us=START, ended_at_us=START + 10**8, end_reason="\033[31m", exit_status=0)
        request(db, 1, 1, evil.replace("\0", ""), {evil: evil})
        answer(db, 1, 2, 1, evil)
        add_message(db, 1, 3, kind="noise", direction="s2c", body=evil.replace("\0", "") * 3, action="refused", finding="not-json")
        request(db, 1, 4, "big")
        answer(db, 1, 5, 4, "x" * 10_000_000 + evil)
    for env in ({}, {"LC_ALL": "C"}):
        s = Screen(t, "ui", "--vault", t.vault, size=(200, 60), env=env)
        s.sees("calls 2/2")
        s.keys("Tab")
        s.sees("call 4 ", "result, the first 256 KiB", "  xxxxxx")
        s.keys("Tab", "G")
        s.sees(r"call 4 ")
        s.keys("Escape", "Up")
        s.sees("call 1 ")
        s.keys("m")
        s.sees("messages")
        s.keys("j", "j", "Enter", "G")
        s.sees("message")
        text = s.text()
        check(not FORBIDDEN.search(text), FORBIDDEN.search(text))
        check("\033" not in text, "an escape sequence")
        s.quit()


@case("ui: a session with many messages opens at its end at once", limit=120)
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name="many", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        db.execute("""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
            INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, rpc_id, method, target, body, size, redactions, action, request_seq)
            SELECT (1 << 36) + i, 1, i, i * 10, iif(i % 2, 'c2s', 's2c'), 'peer', iif(i % 2, 'request', 'result'), i, iif(i % 2, 'tools/call', NULL),
            iif(i % 2, 'tool' || i, NULL), '{}', 2, 0, 'forwarded', iif(i % 2, NULL, i - 1) FROM n""")
    s = Screen(t, "ui", "--vault", t.vault, "many")
    s.sees("tool299999")
    s.sees("calls 150000/150000", "150000 calls", gone=["reading"])
    s.keys("g")
    s.sees("calls 1/150000", r"tool1\b")
    s.keys("f")
    s.type("tool:tool77777")
    s.keys("Enter")
    s.sees("calls 1/1 that match", "tool77777")
    check(lib.kib(s.pid(), "VmRSS") < 60_000 or lib.SIZES_MEAN_NOTHING, "memory")
    s.quit()


# --- comparing ----------------------------------------------------------------------------------------

@case("ui: c on two calls shows them side by side")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(100, 30))
    s.sees("calls 30/30")
    s.keys("g")
    s.sees("calls 1/30")
    s.keys("c")
    s.sees("call 1 is marked")
    s.keys("j")
    s.sees("calls 2/30")
    s.keys("c")
    s.sees(r"1 of session 1 .* 3 of session 1 +3 differences", r"~ +\"name\": \"read_file\".*~ +\"name\": \"list_dir\"",
           r"\"path\": \"/tmp/0\".*\"path\": \"/tmp/1\"", "answer.*answer", r"content 0.*content 1", gone=["calls 2/30"])
    s.keys("Right")
    s.sees(r"^ *\"path\"|^[^~]*\"/tmp/0\"", gone=["\"name\""])
    s.keys("Escape")
    s.sees("calls 2/30", gone=["differences"])
    # with a call of another session
    s.keys("c", "Escape")
    s.sees("sessions 2/2")
    s.keys("Up", "Enter")
    s.sees("calls 1/1", "send_email")
    s.keys("c")
    s.sees("3 of session 1 .* 1 of session 2", r"- +\"path\"", r"\+ +\"to\": \"someone\"", r"- +\"type\"")
    s.keys("c")
    s.sees("calls 1/1", gone=["3 of session 1"])
    # the same call twice: the mark is removed
    s.keys("c")
    s.sees("call 1 is marked")
    s.keys("c")
    s.sees("the mark was removed")
    s.quit()


@case("ui: differences of long results are found with n, equal lines are left out")
def _(t):
    def numbers(changed):
        return {"numbers": [-1 if i in changed else i for i in range(200)]}

    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        for seq, changed in ((1, ()), (3, (50, 150))):
            request(db, 1, seq, "count")
            answer(db, 1, seq + 1, seq, "x", body=json.dumps({"jsonrpc": "2.0", "id": seq, "result": numbers(changed)}))
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 2/2")
    s.keys("c", "k", "c")
    s.sees("2 differences", r"~ +-1,.*~ +50,", "93 equal lines")
    s.keys("+")
    s.sees(r" 3,.* 3,", gone=["equal lines"])
    s.keys("n")
    s.sees(r"~ +-1,.*~ +50,", r" 48,.* 48,")
    s.keys("n")
    s.sees(r"~ +-1,.*~ +150,")
    s.keys("n")
    s.sees("no more differences")
    s.keys("-")
    s.sees("93 equal lines")
    s.quit()


@case("ui: calls of 2,000 lines are compared, sizes are shown for larger ones, and each key takes less than 150 ms of CPU", limit=120)
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        for seq, changed, size in ((1, 7, 1), (3, 1500, 1), (5, 0, 3_000_000), (7, 0, 3_000_001)):
            request(db, 1, seq, "count", {"size": size})
            value = {"rows": [{"n": -1 if i == changed else i, "text": "y" * 40} for i in range(2000)]} if size == 1 else {"content": [{"type": "text", "text": "z" * size}]}
            answer(db, 1, seq + 1, seq, "x", body=json.dumps({"jsonrpc": "2.0", "id": seq, "result": value}))
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 4/4", "result, the first 256 KiB")
    pid = s.pid()

    def press(key, *wanted, gone=()):
        before = cpu_ms(pid)
        s.keys(key)
        s.sees(*wanted, gone=gone)
        used = cpu_ms(pid) - before
        print(f"   {key}: {used:.0f} ms of CPU time")
        check(used < 150 or lib.SIZES_MEAN_NOTHING, f"{key} takes {used} ms")

    press("g", "calls 1/4")
    press("c", "call 1 is marked")
    press("j", "calls 2/4")
    press("c", "2 differences", r"~ +\"n\": -1")
    press("n", r"~ +\"n\": 1500")
    press("Escape", "calls 2/4")
    press("j", "calls 3/4", "result, the first 256 KiB")
    press("c", "call 5 is marked")
    press("j", "calls 4/4")
    press("c", "1 difference", "answer +.answer", r"not compared: 30000[0-9]{2} bytes", r"~ +\"size\": 3000000")
    s.quit()


@case("ui: what violates a schema is marked at its place")
def _(t):
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    listed = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "read", "inputSchema": schema, "outputSchema": schema}]}}
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        add_message(db, 1, 1, kind="request", rpc_id="1", method="tools/list", body='{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        add_message(db, 1, 2, direction="s2c", kind="result", rpc_id="1", request_seq=1, body=json.dumps(listed))
        request(db, 1, 3, "read", {"path": 7})
        answer(db, 1, 4, 3, "x", body=json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"content": [], "structuredContent": {"path": [1]}}}))
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(200, 60))
    s.sees("calls 2/2", r"\"path\": 7\n.*\u2191 must be of type \"string\", is a number",
           r"\"path\": \[\n.*\u2191 must be of type \"string\", is an array")
    s.quit()


@case("ui: the post-mortem of a call whose server hung, was killed for another call, crashed, or was silent but alive")
def _(t):
    calls = [("timeout", "own"), ("server-gone", "other"), ("server-gone", "crash"), ("timeout", "silent"), ("ok", "fine")]
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        for i, (status, tool) in enumerate(calls):
            request(db, 1, 2 * i + 1, tool, t_us=i * 10**7)
            answer(db, 1, 2 * i + 2, 2 * i + 1, "x", t_us=i * 10**7 + 5 * 10**6, **({"kind": "error", "origin": "interposer", "finding": status} if status != "ok" else {}))
        answer(db, 1, 11, 1, "x", t_us=7770000, action="swallowed", finding="late-answer")
        events = [(0, "spawn", {"pid": 1}), (5, "asked", {"seq": 1, "post_mortem": {"name": "asked-1"}}),
                  (6, "hang", {"seq": 1, "waited_ms": 5000, "post_mortem": {"name": "hung-1"}}), (6, "exit", {"signal": 9}),
                  (15, "hang", {"seq": 99, "post_mortem": {"name": "hung-99"}}), (16, "exit", {"signal": 9}),
                  (22, "exit", {"status": 51}), (24, "exit", {"status": 52}), (26, "exit", {"status": 53}),
                  (35, "asked", {"seq": 7, "post_mortem": {"name": "asked-7"}}), (36, "alive", {"seq": 7, "because": "message"})]
        for s, kind, detail in events:
            db.execute("INSERT INTO events(session_id, t_us, kind, detail) VALUES(1, ?, ?, ?)", (s * 10**6, kind, json.dumps(detail)))
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(200, 60))
    s.keys("g")
    s.sees("calls 1/5", r"Hang", "hung-1", r"• +0:06.000 hang the server hangs and is killed: it was silent for", gone=["Silence", "asked-1", "event "])
    s.keys("j")
    s.sees("calls 1/5", "event ", "▾ hang", '"name": "hung-1"')
    s.keys("r")
    s.sees("first select a call|only a request", gone=["goes back"])
    s.keys("x")
    s.sees("calls 2/5", "call 3 ")
    s.keys("X")
    s.sees("calls 1/5", "call 1 ")
    s.keys("j", "j")
    s.sees("calls 2/5", r"Hang", "hung-99")
    s.keys("j", "m")
    s.sees("messages ", "late-answer", "5.00s", gone=["•", "7.77s"])      # what was dropped ended no call
    s.keys("m")
    s.sees("calls 2/5", "event ", "hung-99")
    s.keys("j")
    s.sees("calls 3/5", "Crash", '"status": 52', gone=['"status": 51', '"status": 53'])     # the path has digits, too
    s.keys("j")
    s.sees("calls 4/5", "Silence", "asked-7", gone=["Hang", "Crash"])
    s.keys("j")
    s.sees("calls 5/5", gone=["Silence", "Hang", "Crash"])
    s.quit()


@case("ui: random keys in all sizes, while sessions come and go, end with q", limit=120)
def _(t):
    for seed in (1, 2):
        folder = t.tmp / str(seed)
        folder.mkdir()
        ms, keys = monkey.run(seed, folder, steps=150)
        print(f"   seed {seed}: at most {ms:.0f} ms of CPU time, for {keys!r}")


lib.main()
