#!/usr/bin/env python3
"""ui: the keys that people know from other programs, and searches in every view."""
import contextlib
import json
import sqlite3

import lib
from lib import call, case, check, eq, text_result
from looking import add_message, add_session, make_vault
from screens import START, Screen, answer, request, small


def click(s, x, y):
    s.type(f"\033[<0;{x + 1};{y + 1}M\033[<0;{x + 1};{y + 1}m")


def footer(s):
    return next(line for line in reversed(s.lines()) if line.strip())


def copied(s, wanted):
    lib.wait_until(lambda: s.tmux("show-buffer", check=False) == wanted, 10, lambda: s.tmux("show-buffer", check=False))


@case("ui: keys of htop, less and tig: F1, F3, F4, F5, F10, b, F, <, >, &, and a digit for the number of a line")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24), term="xterm-256color")
    s.sees("sessions 1/2")
    s.keys("F1")
    s.sees("previous row")
    s.keys("Space", "b")
    s.sees("Moving")
    s.keys("F1")
    s.sees("sessions 1/2", gone=["previous row"])
    s.keys("1")
    s.sees("^:1")
    s.keys("Enter")
    s.sees("sessions 2/2", "calls 30/30")
    s.keys(">")
    s.sees(r"calls 30/30", "Enter open", "x failed", gone=["sessions 2/2"])
    s.type("21")
    s.sees("^:21")
    s.keys("Enter")
    s.sees("call 21 ")
    s.keys("F")
    s.sees("call 59 ")
    s.keys("F3")
    s.type("content 7")
    s.keys("Enter")
    s.sees("calls 8/30")
    s.keys("F4")
    s.type("tool:list_dir")
    s.keys("Enter")
    s.sees("filter: tool:list_dir", "/15 that match")
    s.keys("&")
    s.sees("^filter: tool:list_dir")
    s.keys("Escape", "F5", "C-r", "Escape")
    s.sees("2 sessions", gone=["filter:", "does nothing"])
    s.keys("<")
    s.sees("sessions 2/2")
    s.keys("F10")
    s.ended(0)


@case("ui: a click on a key in the footer is that key; a click selects and opens a row of each list")
def _(t):
    small(t)
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700)
    for name in ("20260101T000000.000Z-hang-one", "20260102T000000.000Z-hang-two"):
        (folder / f"{name}.md").write_text(f"---\ncause: hang\n---\n\n# {name}\n")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24), term="xterm-256color")
    s.sees("sessions 1/2", r"\? help", "o overview")
    click(s, footer(s).index("o overview") + 3, 23)
    s.sees("tool or method", gone=["sessions 1/2"])
    click(s, footer(s).index("q back"), 23)
    s.sees("sessions 1/2")
    s.keys("!")
    s.sees("2 problems", "hang-two", "hang-one")
    s.keys("z")
    s.sees("does nothing here")
    click(s, 5, 5)  # selects the second row
    s.sees("2 problems", gone=["does nothing here"])
    click(s, 5, 5)  # opens it
    s.sees("# 20260101T000000.000Z-hang-one")
    click(s, 5, 5)  # a page has no rows
    s.sees("# 20260101T000000.000Z-hang-one", gone=["does nothing"])
    s.keys("Escape", "?")
    s.sees("previous row", gone=["o overview"])
    click(s, 20, 23)  # the footer has fewer keys now
    s.sees("previous row")
    s.quit()


@case("ui: a click below a list selects nothing; a search in an escalation that was not drawn yet finds")
def _(t):
    small(t)
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700)
    for i in range(40):
        (folder / f"20260101T0000{i:02}.000Z-hang-{i:02}.md").write_text(f"---\ncause: hang\n---\n\n# problem {i}\n" + "a line\n" * 40 + "the needle\n")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24), term="xterm-256color")
    s.sees("sessions 1/2")
    s.keys("!")
    s.sees("40 problems", "hang-39", "D done")
    s.keys("z")
    s.sees("does nothing here")
    click(s, 79, 23)
    s.sees("hang-39", gone=["does nothing here"])
    s.type("\r/needle\r")
    s.sees("hang-39.md", "the needle", gone=["was not found"])
    s.quit()


@case("ui: / , n and N search in each view: help, overview, escalations and the text of one, servers, sessions, a comparison")
def _(t):
    small(t)
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700)
    for name in ("20260101T000000.000Z-hang-one", "20260102T000000.000Z-auth-two", "20260103T000000.000Z-hang-three"):
        (folder / f"{name}.md").write_text("---\ncause: hang\n---\n\n" + "a line\n" * 40 + "the Needle\n" + "a line\n" * 40 + "needle again\n")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))

    def search(text, *wanted, gone=()):
        s.keys("/", "C-u")
        s.type(text)
        s.keys("Enter")
        return s.sees(*wanted, gone=gone)

    s.sees("sessions 1/2")
    s.keys("n")
    s.sees("/ begins a search")
    s.keys("?", "n")
    s.sees("/ begins a search", "Moving")
    search("fold", "Enter +open a session", gone=["Moving"])
    s.keys("n", "n")
    s.sees("- +fold everything")
    s.keys("N", "N", "N")
    s.sees("the search wrapped around", r"unfold everything")
    search("no such word", "'no such word' was not found")
    s.keys("Escape", "!")
    s.sees("3 problems")
    s.keys("Home")
    search("hang-one", "hang-one", gone=["not found"])
    s.keys("Enter")
    s.sees("hang-one.md")
    search("needle", "the Needle", gone=["cause: hang"])
    s.keys("n")
    s.sees("needle again", gone=["the Needle"])
    s.keys("n")
    s.sees("the search wrapped around", "the Needle")
    s.keys("Escape", "Escape")
    p = t.proxy("--name", "first").initialize()
    q = t.proxy("--name", "second").initialize()
    s.keys("S")
    s.sees("2 running servers")
    s.keys("Home")
    search("first", "2 running", gone=["not found"])
    s.keys("Enter")
    s.sees("^ first ", gone=["running servers"])
    s.keys("q", "q")
    for x in (p, q):
        x.end()
    s.sees("sessions [0-9]/4", "4 sessions")
    search("files", "sessions 4/4", "^ files ")
    search("mail", "the search wrapped around", "sessions 3/4")
    s.keys("z", "z")  # the message goes
    s.sees("sessions 3/4", gone=["continued at"])
    s.keys("N")
    s.sees("the search wrapped around", "sessions 3/4")
    search("no such server", "'no such server' was not found", "sessions 3/4")
    search("files", "^ files ")
    s.keys("d")
    s.type("mail")
    s.keys("Enter")
    s.sees("compare: [0-9]")
    search("read_file", gone=["not found"])
    s.keys("Enter")
    s.sees("call 1 ", "read_file")
    s.keys("q", "n", "Enter")
    s.sees("call 5 ", "read_file")
    s.quit()


@case("ui: Enter on a tool in the overview filters its calls, also over another view and with a name of two words")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        for session in (1, 2):
            add_session(db, session, name="files", started_at_us=START + session * 10**8, ended_at_us=START + session * 10**8 + 1, end_reason="client-closed", exit_status=0)
            for seq, tool in ((1, "read file"), (3, "list"), (5, "list"), (7, "it's one"), (11, "read_*"), (13, "read_all"), (15, "it's \"two\"")):
                request(db, session, seq, tool)
                answer(db, session, seq + 1, seq, "fine")
            request(db, session, 9, "x")
            db.execute("UPDATE messages SET method = 'resources/list', target = NULL WHERE session_id = ? AND seq = 9", (session,))
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/2")

    def open_tool(*keys):
        s.keys("o")
        s.sees("tool or method", "Enter its calls")
        s.keys(*keys, "Enter")
    open_tool()
    s.sees("filter: tool:list ", "calls [12]/2 that match", "x failed")
    s.keys("Escape")
    s.sees("calls [0-9]/8", gone=["filter:"])
    s.keys("o", "/")
    s.type("read file")
    s.keys("Enter", "Enter")
    s.sees("filter: 'tool:read file'", "calls 1/1 that match", "read file")
    s.keys("Escape", "o", "/")
    s.type("it's one")
    s.keys("Enter", "Enter")
    s.sees("filter: \"tool:it's one\"", "calls 1/1 that match")
    s.keys("Escape", "o", "/")
    s.type("resources/list")
    s.keys("Enter", "Enter")
    s.sees("filter: method:resources/list", "calls 1/1 that match")
    s.keys("Escape", "o", "/")
    s.type("read_*")
    s.keys("Enter", "Enter")
    s.sees(r"filter: tool:read_\\\* ", "calls 1/1 that match")
    s.keys("Escape", "o", "/")
    s.type("it's \"two")
    s.keys("Enter", "Enter")
    s.sees("a filter cannot have this name", "tool or method")
    s.keys("Escape", "d", "Enter")
    s.sees("compare: [0-9]")
    open_tool("Home")
    s.sees("filter: tool:list ", "calls [12]/2 that match")
    s.keys("q")
    s.sees("compare: [0-9]")
    s.resize(80, 12)
    s.sees("compare: [0-9]", "q back")      # with its last line: no part of the large picture
    s.keys("o")
    s.sees("^ session ", gone=["resources/list"])
    s.keys("End")
    s.sees("resources/list", gone=["^ session "])
    s.keys("Home")
    s.sees("^ session ")
    s.quit()


@case("ui: in the overview a tool stays selected while calls change the order")
def _(t):
    p = t.proxy("--name", "live").initialize()

    def work(number, tool):
        p.client.send(call(number, tool))
        p.server.recv()
        p.server.send(text_result(number, "done"))
        p.client.recv()
    for number, tool in ((10, "alpha"), (11, "alpha"), (12, "beta")):
        work(number, tool)
    s = Screen(t, "ui", "--vault", t.vault, "live", size=(80, 24))
    s.sees("calls 4/4")
    s.keys("o", "/")
    s.type("beta")
    s.keys("Enter")
    s.sees("alpha +2 .*\n.* beta +1 ")
    for number in range(20, 25):
        work(number, "beta")
    s.sees("beta +6 .*\n.* alpha +2 ")
    s.keys("Enter")
    s.sees("filter: tool:beta ", "calls 6/6 that match")
    s.keys("Escape", "o")
    s.sees("beta +6 .*\n.* alpha +2 ")
    for number in range(30, 35):
        work(number, "alpha")
    s.sees("alpha +7 .*\n.* beta +6 ")  # the cursor was not moved: it is still on beta
    s.keys("Enter")
    s.sees("filter: tool:beta ")
    p.end()
    s.quit()


@case("ui: in the overview J and K go to the next and previous session, e exports it and d compares it")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees("sessions 1/2")
    s.keys("o")
    s.sees("^ session +2 ", "send_email")
    s.keys("J")
    s.sees("^ session +1 ", "read_file", "^ files ")
    s.keys("J")
    s.sees("^ session +1 ")
    s.keys("e")
    s.sees("export to .*files-1.jsonl")
    s.keys("Escape", "d")
    s.sees("compare with")
    s.keys("Escape", "K", "K", "K")
    s.sees("^ session +2 ")
    s.keys("Escape")
    s.sees("sessions 1/2", "send_email")
    s.keys("o", "J")
    s.sees("^ session +1 ")
    s.keys("Down")
    s.type("J")  # it is the last session: the cursor stays
    s.keys("Enter")
    s.sees("filter: tool:read_file ", "calls 15/15 that match")
    s.quit()


@case("ui: questions recall what was answered before, with the arrow keys")
def _(t):
    small(t)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 30/30")
    for text in ("tool:read_file", "tool:list_dir"):
        s.keys("f", "C-u")
        s.type(text)
        s.keys("Enter")
        s.sees(f"filter: {text}", "/15 that match")
    s.keys("f", "Up")
    s.sees("^filter: tool:read_file$")
    s.keys("Down")
    s.sees("^filter: tool:list_dir$")
    s.keys("Escape", "Escape", "f")
    s.type("took:")
    s.keys("Up", "Up")
    s.sees("^filter: tool:read_file$")
    s.keys("Down", "Down")
    s.sees("^filter: took:$")
    s.keys("Up", "Enter")
    s.sees("filter: tool:list_dir", "/15 that match")
    s.keys("/", "Up")
    s.sees("^/$")
    s.keys("Escape")
    s.quit()


@case("ui: y on the title of a part copies it: of a call the request, else the error, the arguments, the lines of stderr")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        add_message(db, 1, 1, kind="stderr", direction="s2c", body="one")
        request(db, 1, 2, "read", {"path": "/tmp/a"})
        add_message(db, 1, 3, kind="stderr", direction="s2c", body="two")
        answer(db, 1, 4, 2, "no such file", kind="error")
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(100, 40), tmux=True)
    s.sees("call 2 ")
    s.keys("Enter", "y")
    s.sees("copied the value")
    lib.wait_until(lambda: '"tools/call"' in s.tmux("show-buffer", check=False), 10, lambda: s.tmux("show-buffer", check=False))
    eq(json.loads(s.tmux("show-buffer"))["params"]["arguments"], {"path": "/tmp/a"}, "the request")
    s.keys("]", "y")
    copied(s, "no such file")
    s.keys("]", "y")
    copied(s, '{"path": "/tmp/a"}')
    s.keys("]", "y")
    copied(s, "one\ntwo\n")
    s.quit()


@case("ui: text that is cut ends with an ellipsis, and the list of sessions has their clients")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", client_name="some-client", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        request(db, 1, 1, "read", {"path": "/tmp/" + "long/" * 40})
        answer(db, 1, 2, 1, "fine")
        request(db, 1, 3, "read", {"p": 1})
        answer(db, 1, 4, 3, "fine")
        db.execute("COMMIT")
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24))
    s.sees(r"files +some-client ", r"server +client +began", r"read \{\"path\": \"/tmp/long/.*… ", r"read \{\"p\": 1\} ")
    s.keys("Enter", "g", "Enter")
    s.sees(r"^ +▸ \"path\": \"/tmp/long.*…$")
    s.quit()
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24), env={"LC_ALL": "C"})
    text = s.sees(r"read \{\"path\": \"/tmp/long/[long/]*\. ")
    check(text.isascii(), text)
    s.quit()


@case("ui: Enter in a comparison opens the call of the other session, if only that has it, and of the right session after another was chosen")
def _(t):
    small(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        add_session(db, 3, name="files", started_at_us=START + 3 * 10**8, ended_at_us=START + 4 * 10**8, end_reason="client-closed", exit_status=0)
        request(db, 3, 1, "read_file", {"path": "/tmp/0"})
        answer(db, 3, 2, 1, "something else")
    s = Screen(t, "ui", "--vault", t.vault, "3", size=(100, 30))
    s.sees("calls 1/1")
    s.keys("d", "Enter")
    s.sees("compare: [0-9]", "29 missing")
    s.keys("End", "Enter")
    s.sees("call 59 ", "calls 30/30", gone=["compare:"])
    s.keys("q")
    s.sees("compare: [0-9]")
    s.keys("g", "Enter")
    s.sees("call 1 ", "calls 1/1", "something else", gone=["compare:"])
    s.keys("q")
    s.sees("compare: [0-9]")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DELETE FROM sessions WHERE id = 1")
    s.keys("End", "Enter")
    s.sees("this session was removed", "compare: ")
    s.keys("Escape")
    s.sees("call 1 ", "calls 1/1", "something else", gone=["compare:"])
    s.quit()


@case("ui: what is read in the detail stays there while calls come, and G follows them again")
def _(t):
    p = t.proxy("--name", "live").initialize()

    def work(number):
        p.client.send(call(number, f"tool{number}"))
        p.server.recv()
        p.server.send(text_result(number, "done"))
        p.client.recv()
    work(10)
    s = Screen(t, "ui", "--vault", t.vault, "live", size=(80, 24))
    s.sees("calls 2/2, following", "tools/call tool10")
    work(11)
    s.sees("calls 3/3, following", "tools/call tool11")
    s.keys("Enter")
    s.sees("Space fold")
    work(12)
    s.sees("calls 3/4 ", "tools/call tool11", gone=["following"])
    s.keys("J")
    s.sees("calls 4/4 ", "tools/call tool12", gone=["following"])
    work(13)
    s.sees("calls 4/5 ", "tools/call tool12")
    s.keys("Escape", "G")
    s.sees("calls 5/5, following", "tools/call tool13")
    s.keys("Enter")
    s.sees("calls 5/5 ", gone=["following"])
    s.keys("Escape")
    s.sees("calls 5/5, following")
    p.end()
    s.quit()


@case("ui: t shows times of day, and again those since the session began")
def _(t):
    small(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("INSERT INTO events(session_id, t_us, kind) VALUES(1, 2500000, 'restart')")
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 30/30")
    s.keys("g")
    s.sees("0:02.000 read_file", "0:02.500 restart")
    s.keys("t")
    s.sees("10:15:39.000 read_file", "10:15:39.500 restart", gone=["0:02"])
    s.keys("m")
    s.sees("10:15:37.001 ← ok")
    s.keys("t")
    s.sees(" 0:00.001 ← ok")
    s.quit()


@case("ui: a key that needs a session, a call or its detail says so; y on an event copies what is known of it")
def _(t):
    t.vault.mkdir(mode=0o700)
    s = Screen(t, "ui", "--vault", t.vault, size=(80, 24), tmux=True)
    s.sees("nothing is recorded yet")

    def says(wanted, *keys):
        for key in keys:
            s.keys(key)
            s.sees(wanted)
            s.keys("z", "z")  # the message goes
            s.sees("Enter open", gone=[wanted])
    says("no session is selected", "x", "X", "d", "e", "y", "p", "Y", "v", "|")
    says("first select a call", "c", "E", "r", "R")
    says("first open a call", "-", "+", "[", "]")
    for pane in ("<", ">"):
        s.keys("/", "C-u")
        s.type("a text")
        s.keys("Enter")
        s.sees("'a text' was not found")
        s.keys("z", "z", pane)
        s.sees("Enter open", gone=["was not found"])
    with contextlib.closing(make_vault(t.tmp / "other")) as db:
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        request(db, 1, 1, "read", {"text": ""})
        db.execute("INSERT INTO events(session_id, t_us, kind, detail) VALUES(1, 9000000, 'hang', ?)", (json.dumps({"name": "hung-here"}),))
    s.quit()
    s = Screen(t, "ui", "--vault", t.tmp / "other", size=(80, 24), tmux=True)
    s.sees("hang .*hung-here")
    says("first open a call", "-", "+", "[", "]")
    s.keys("Enter", "G")
    s.sees("event +1/")
    says("first select a call", "c", "E", "r", "R")
    s.keys("y")
    s.sees("copied the event")
    copied(s, '{"name": "hung-here"}')
    s.keys("g", "Enter")
    s.sees("Space fold", "Status +no answer; the recording ends after 1m40s")
    s.keys("/")
    s.type('"text"')
    s.keys("Enter", "y")
    s.sees("this line has no text to copy")
    s.quit()


@case("ui: a match far to the right is shown, in an unfolded string if it is in one, and the next line begins at its beginning again")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name="files", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        request(db, 1, 1, "read", {"text": "a line\n" * 500 + "a needle\n", "k" * 300 + "needle": 1, "b": 2})
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 1/1")
    s.keys("Enter")
    s.sees("Space fold")
    s.keys("/")
    s.type("needle")
    s.keys("Enter")
    s.sees("a needle", "│ a line")
    s.keys("n")
    s.sees("needle\": 1", gone=["│ a line", '"b": 2'])
    s.keys("Down")
    s.sees('^ +"b": 2')
    s.quit()


@case("ui: an open call of a killed proxy has no answer, in the list and in the detail")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name="files", started_at_us=START, pid=999_999_999)
        request(db, 1, 1, "read", t_us=10**6)
        add_message(db, 1, 2, kind="stderr", direction="s2c", body="a line", t_us=4 * 10**6)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(140, 30))
    s.sees("read .* no answer", "Status +no answer; the recording ends after 3.00s")
    s.quit()


@case("ui: Enter on what a server asked for shows the message that asked")
def _(t):
    small(t)
    body = {"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {"message": "Which city?", "requestedSchema": {"type": "object", "properties": {}}}}
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        add_message(db, 2, 3, kind="request", direction="s2c", rpc_id="5", method="elicitation/create", body=json.dumps(body), t_us=5)
        add_message(db, 2, 4, kind="result", direction="c2s", rpc_id="5", request_seq=3, body='{"jsonrpc":"2.0","id":5,"result":{"action":"decline"}}', t_us=6)
    s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
    s.sees("calls 30/30")
    s.keys("L", "L", "L")
    s.sees("1 request for input", "Which city\\? +2026-11-21 10:17:17 +form +declined")
    s.keys("Enter")
    s.sees("call 3 ", "Which city", "^ mail ", gone=["request for input"])
    s.keys("q")
    s.sees("1 request for input")
    s.quit()


@case("ui: a request for input stays selected when another one with the same message comes")
def _(t):
    small(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        def asks(seq):
            body = {"jsonrpc": "2.0", "id": seq, "method": "elicitation/create", "params": {"message": "Continue?", "requestedSchema": {"type": "object", "properties": {}}}}
            add_message(db, 2, seq, kind="request", direction="s2c", rpc_id=str(seq), method="elicitation/create", body=json.dumps(body), t_us=seq)
        asks(3)
        s = Screen(t, "ui", "--vault", t.vault, "files", size=(80, 24))
        s.sees("calls 30/30")
        s.keys("L", "L", "L")
        s.sees("1 request for input")
        asks(4)
        s.sees("2 requests for input")
        s.keys("Enter")
        s.sees("call 3 ", gone=["requests for input"])
        s.quit()


lib.main()
