#!/usr/bin/env python3
"""Escalations: a file for a person when a server hangs, crashes repeatedly, or lacks credentials."""
import json
import os
import re
import stat

import lib
from lib import case, check, eq, request, wait_until
from misbehave import D, Event, Ready, T, Wait, escalations, ms, ok, refused, row, run_row, timed_out, tool


def head(text):
    """The front matter as a dict."""
    m = re.match(r"---\n(.*?)\n---\n", text, re.S)
    check(m, lambda: f"no front matter: {text[:200]!r}")
    out = {}
    for line in m.group(1).split("\n"):
        key, value = line.split(": ", 1)
        out[key] = json.loads(value) if value[0] in '"0123456789' else value
    return out


def of_a_hang(t, s):
    ((_, text),) = escalations(t.vault)
    h = head(text)
    eq((h["cause"], h["tool"], h["method"], h["count"]), ("hang", "freeze", "tools/call", 1), "the front matter")
    table = (lib.ROOT / "docs/vault.md").read_text().split("\n## Escalations\n")[1].split("| key |")[1].split("\n\n")[0]
    told = [key for line in table.split("\n")[2:] for key in re.findall(r"`(\w+)`", line.split("|")[1])]
    eq(list(h), told, "keys in the file, and in docs/vault.md")
    (uid, seq), = t.rows("SELECT s.uid, m.seq FROM sessions s JOIN messages m ON m.session_id = s.id"
                         " WHERE m.kind = 'request' AND m.target = 'freeze'")
    eq((h["session"], h["seq"]), (uid.decode(), seq), "session and request")
    for word in ("## What happened", "## What was done", "## What to look at", "## Post-mortem", "misbehave",
                 "last word on stderr", '"freeze"'):
        check(word in text, lambda: f"{word!r} is not in the file:\n{text}")
    (detail,) = s.details("escalation")
    eq(detail["cause"], "hang", "the event's cause")
    check((t.vault / detail["path"]).exists(), f"the event's path: {detail}")
    eq(stat.S_IMODE((t.vault / "Escalations").stat().st_mode), 0o700, "mode of the directory")


row("the file of a hang says what happened, in which call, and what was done", options=T,
    launch=lambda c: [
        "sh", "-c", "echo 'the last word on stderr' >&2; exec \"$@\"", "sh", *c],
    play=[tool(1, "freeze"), Wait(1), Event("spawn", 2)], want={1: timed_out(D, "hang")}, escalated=["hang"], after=of_a_hang)


def counted(n):
    def look(t, s):
        eq([head(text)["count"] for _, text in escalations(t.vault)], [n], "counts")
    return look


row("a second hang of the same tool within an hour increments the count", options=T,
    play=[tool(1, "freeze"), Wait(1), Ready(2), tool(2, "freeze", arguments={"n": 2}), Wait(2), Ready(3), tool(3, "answer")],
    want={1: timed_out(D, "hang"), 2: timed_out(D, "hang"), 3: ok("3.1")}, escalated=["hang"], after=counted(2))

row("a hang of another tool creates another file", options=T,
    play=[tool(1, "freeze"), Wait(1), Ready(2), tool(2, "deaf hang"), Wait(2), Event("spawn", 3)],
    want={1: timed_out(D, "hang"), 2: timed_out(D, "hang")}, escalated=["hang", "hang"])

row("the file of a hang outside tools names the method", options=T, server=["prompts/list=freeze"],
    play=[request(1, "prompts/list"), Event("spawn", 2)], want={1: timed_out(D, "hang")}, escalated=["hang"],
    after=lambda t, s: eq((head(escalations(t.vault)[0][1]).get("tool"), head(escalations(t.vault)[0][1])["method"]),
                          (None, "prompts/list"), "tool and method"))


def no_control(t, s):
    (path,) = (t.vault / "Escalations").iterdir()
    data = path.read_bytes()
    check(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data), f"control characters: {data!r}")
    check("/" not in path.name and "\x1b" not in path.name, path.name)


row("no text of a message becomes a file name or a raw control character", options=[*T, "--name", "../x y"],
    server=["odd=freeze", "tools/call=freeze"],
    play=[tool(1, "../../\x1b[2J\r\n---\ncause: none"), Event("spawn", 2)], want={1: timed_out(D, "hang")}, escalated=["hang"],
    after=no_control)

# --- credentials ----------------------------------------------------------------------------------

for answer in ("error:401:Unauthorized", "error:-32000:403_Forbidden", "error:-32603:token_expired",
               "error:-32001:invalid_credentials", "fail:Error:_401_Unauthorized", "fail:The_access_token_has_expired",
               "fail:Invalid_API_key", "error:-32603:invalid_api_key"):
    row(f"auth: `{answer}` is forwarded unchanged, escalated, and not retried",
        server=["tool.login=idempotentHint", f"login={answer}"],
        play=[request("l", "tools/list"), Wait("l"), tool(1, "login")],
        want={1: refused(int(answer.split(":")[1])) if answer[0] == "e" else ok()},
        escalated=["auth"], events="spawn exit",
        after=lambda t, s: (eq(head(escalations(t.vault)[0][1])["tool"], "login", "tool"),
                            eq(len([m for _, m in s.received() if m.get("id") == 1]), 1, "calls at the server")))

for answer in ("error:-32602:Unknown_tool", "error:-32603:disk_full", "fail:file_not_found", "answer",
               "error:-32602:the_author_is_unknown", "fail:the_session_expires_in_401_days"):
    row(f"not auth: `{answer}`", play=[tool(1, answer)], escalated=[], events="spawn exit")

# --- --escalate-command ---------------------------------------------------------------------------

def command(t, body):
    path = t.tmp / "tell me.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@case("--escalate-command runs once, with the path of the complete file as its last argument")
def _(t):
    out = t.tmp / "told"
    cmd = f"'{command(t, f'printf %s:%s: $# $1 >> {out}; cat $2 >> {out}')}' 'two words; $HOME'"

    def look(t, s):
        wait_until(lambda: out.exists() and "## What to look at" in out.read_text(), 5, "the command's word")
        text = out.read_text()
        check(text.startswith("2:two"), text[:100])
        eq(text.count("cause: hang"), 1, "files told of")
    run_row(t, "", options=[*T, "--escalate-command", cmd],
            play=[tool(1, "freeze"), Wait(1), Ready(2), tool(2, "freeze", arguments={"n": 2}), Wait(2), Event("spawn", 3)],
            want={1: timed_out(D, "hang"), 2: timed_out(D, "hang")}, escalated=["hang"], after=look)


@case("--escalate-command and the server inherit no file of the vault")
def _(t):
    out = t.tmp / "files"
    cmd = f"'{command(t, f'ls -l /proc/$$/fd > {out}.part; mv {out}.part {out}')}'"
    p = t.proxy(*T, "--grace", ms(20), "--escalate-command", cmd).initialize()
    p.round()
    wait_until(lambda: t.rows("SELECT count(*) FROM running") == [(1,)], 5, "the session is recorded")
    # the recorder sends it when the session is stored
    wait_until(lambda: any(x.endswith("/running.lock") for x in lib.open_files(p.pid)), 5,
               lambda: f"the proxy has the session's lock: {lib.open_files(p.pid)}")
    eq([x for x in lib.open_files(p.server.pid) if x.startswith(str(t.vault))], [], "files of the server")
    p.client.send(tool(1, "x"))
    p.server.recv()
    eq(p.client.recv_json()["error"]["code"], -32001, "code")
    wait_until(out.exists, 5, "the command has run")
    check(str(t.vault) not in out.read_text(), out.read_text())
    p.client.close_write()
    p.server.exit(0)
    p.client.rest()
    p.wait(5)


@case("a command that hangs delays nothing, and its output does not reach the client")
def _(t):
    pid = t.tmp / "pid"
    cmd = f"'{command(t, f'echo $$ > {pid}; echo out; echo err >&2; exec sleep 60')}'"
    p = t.proxy(*T, "--grace", ms(20), "--escalate-command", cmd).initialize()
    p.client.send(tool(1, "x"))
    p.server.recv()
    eq(p.client.recv_json()["error"]["code"], -32001, "code")
    wait_until(lambda: pid.exists() and pid.read_text().strip(), 5, "the command runs")
    p.client.close_write()
    p.server.exit(0)
    p.client.rest()
    p.wait(5)
    os.kill(int(pid.read_text()), 9)


@case("a missing command is reported, and nothing else happens")
def _(t):
    run_row(t, "", options=[*T, "--escalate-command", "/nowhere/at/all"],
            play=[tool(1, "freeze"), Wait(1), Ready(2), tool(2, "answer")],
            want={1: timed_out(D, "hang"), 2: ok("2.1")}, escalated=["hang"])


def says(t, *args, status=0):
    r = t.run("escalations", *args, "--vault", t.vault)
    eq(r.returncode, status, f"escalations {args}: {r.stderr}")
    return r.stdout.decode()


@case("escalations: listed with their counts, printed, and removed when they are solved")
def _(t):
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700, parents=True)
    eq(says(t, "list"), "", "none")
    text = """---
cause: {cause}
server: "fil\\u0065s"
{more}session: "UID"
first_at: "2026-01-01T00:00:00.000Z"
last_at: "2026-01-01T00:00:09.000Z"
count: {count}
interposer: "1"
---

# {cause}

tool: "not in the front matter" \x1b[31m
"""
    names = ["20260101T000000.000Z-hang-x.md", "20260102T000000.000Z-auth-x.md", "20260102T000001.000Z-crash-x.md"]
    for name, cause, count, more in zip(names, ("hang", "auth", "crash"), (3, "abc", 1), ('tool: "read"\nseq: 7\n', "", 'tool: "\x1b[2J"\n')):
        (folder / name).write_text(text.format(cause=cause, count=count, more=more))
    (folder / ".new-1.md").write_text("half")
    (folder / "notes.txt").write_text("mine")
    rows = [x.split() for x in says(t, "list").splitlines()]
    eq(rows[0], ["NAME", "COUNT", "LAST", "SERVER", "TOOL"], "titles")
    eq([x[0] for x in rows[1:]], [x[:-3] for x in reversed(names)], "names, newest first")
    eq(rows[3][1:], ["3", "2026-01-01T00:00:09.000Z", "files", "read"], "the oldest")
    rows = [json.loads(x) for x in says(t, "list", "--json").splitlines()]
    eq(rows[2], {"type": "escalation", "file": names[0], "cause": "hang", "server": "files", "tool": "read", "method": None, "session": "UID", "seq": 7,
                 "first_at": "2026-01-01T00:00:00.000Z", "last_at": "2026-01-01T00:00:09.000Z", "count": 3, "action": None}, "JSON")
    eq((rows[1]["tool"], rows[1]["count"]), (None, None), "a missing key, and a count that is not a number")
    check("\x1b" not in says(t, "list") + says(t, "show"), "control characters")
    check("# crash\n" in says(t, "show") and "# hang\n" in says(t, "show", "20260101"), "show")
    for args, status in ((["show", "20260102"], 3), (["show", "x"], 3), (["done"], 2), (["done", "--all", "last"], 2), (["done", "20260102"], 3)):
        eq(says(t, *args, status=status), "", f"{args}")
    eq(says(t, "done", "last", "20260101"), f"removed {names[2]}\nremoved {names[0]}\n", "done")
    eq(sorted(x.name for x in folder.iterdir()), [".new-1.md", names[1], "notes.txt"], "what is left")
    eq(says(t, "done", "--all"), f"removed {names[1]}\n", "all")
    eq(says(t, "list"), "", "none is left")


lib.main(at_once=8)
