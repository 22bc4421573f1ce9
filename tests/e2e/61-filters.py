#!/usr/bin/env python3
"""Filters of the list of sessions, and the pager."""
import contextlib
import json
import os
import time

import lib
from lib import case, check, eq
from looking import add_message, add_session, fails, make_vault, on_terminal, run

HOUR = 3600 * 10**6


def five(t):
    """Sessions that differ in everything that filters test."""
    now = int(time.time() * 1e6)
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name="files", client_name="claude-code", started_at_us=now - 100 * HOUR, ended_at_us=now - 99 * HOUR,
                    exit_status=0)
        add_session(db, 2, name="github", client_name="cursor", started_at_us=now - 50 * HOUR, ended_at_us=now - 49 * HOUR,
                    exit_status=1)
        add_session(db, 3, name="gitlab", started_at_us=now - 3 * HOUR, pid=2**31 - 1)
        add_session(db, 4, name="files", client_name="cursor-vscode", started_at_us=now - 2 * HOUR, ended_at_us=now - HOUR,
                    exit_status=0)
        add_message(db, 4, 1, kind="request", rpc_id="1", method="tools/call", target="x")
        add_message(db, 4, 2, kind="error", direction="s2c", rpc_id="1", request_seq=1, error_code=-1)
        add_session(db, 5, name="files", client_name="claude-code", started_at_us=now, pid=os.getpid())


def ids(text):
    return [json.loads(x)["id"] for x in text.splitlines()]


@case("sessions: each filter narrows the list; filters are combined")
def _(t):
    five(t)
    for args, want in (
            ([], [5, 4, 3, 2, 1]), (["--server", "files"], [5, 4, 1]), (["--server", "git*"], [3, 2]),
            (["--server", "Files"], []), (["--server", "file"], []), (["--client", "cursor"], [2]), (["--client", "c*"], [5, 4, 2, 1]),
            (["--client", ""], [3]), (["--client", "*"], [5, 4, 3, 2, 1]), (["--since", "4h"], [5, 4, 3]), (["--until", "4h"], [2, 1]),
            (["--since", "60h", "--until", "150m"], [3, 2]), (["--failed"], [4, 3, 2]), (["--live"], [5]),
            (["--failed", "--server", "git*"], [3, 2]), (["--failed", "--live"], []), (["--server", "files", "--since", "4h"], [5, 4]),
            (["--failed", "-n", "1"], [4]), (["--server", "files", "-n", "2"], [5, 4])):
        eq(ids(run(t, "sessions", "--json", *args)), want, f"ids with {args}")
    eq(len(run(t, "sessions", "--failed", "-n", "2").splitlines()), 3, "lines of the table")


@case("sessions: no matching session is a warning; an invalid time is an error")
def _(t):
    five(t)
    r = t.run("sessions", "--vault", t.vault, "--server", "nobody")
    eq((r.returncode, r.stdout), (0, b""), "status and stdout")
    check(b"no matching session in " in r.stderr, f"stderr {r.stderr!r}")
    for value in ("soon", "2026-02-30", "5"):
        text = fails(t, 2, "sessions", "--since", value)
        check(f"--since: invalid time '{value}': use a duration before now, today, or a date" in text, text)
    check("MCP_INTERPOSER_UNTIL: invalid time 'x'" in fails(t, 2, "sessions", env={"MCP_INTERPOSER_UNTIL": "x"}), "the variable")


@case("sessions: a date means local midnight")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, started_at_us=1795215599 * 10**6)  # a second before midnight of 2026-11-21 in UTC+1
        add_session(db, 2, started_at_us=1795215600 * 10**6)
    for zone, want in (("XXX-1", [2]), ("UTC", []), ("XXX-2", [2, 1])):
        eq(ids(run(t, "sessions", "--json", "--since", "2026-11-21", env={"TZ": zone})), want, zone)
    eq(ids(run(t, "sessions", "--json", "--since", "2026-11-20T23:00Z", env={"TZ": "XXX+9"})), [2], "UTC")


@case("show on a terminal uses the pager, unless --no-pager")
def _(t):
    five(t)
    plain = on_terminal(t, "show", "4", env={"NO_COLOR": "1"})
    check("tools/call x" in plain, plain)
    marked = on_terminal(t, "show", "4", env={"NO_COLOR": "1", "PAGER": "sed 's/^/paged: /'"})
    eq(marked, "".join(f"paged: {x}" for x in plain.splitlines(True)), "each line through the pager")
    check("\x1b[" in on_terminal(t, "show", "4", env={"PAGER": "sed s/x/x/"}), "colours are lost")
    seen = on_terminal(t, "show", "4", env={"PAGER": "echo LESS is $LESS; cat > /dev/null"})
    eq(seen, "LESS is FRX\n", "the environment of the pager")
    for args, env in ((["--no-pager"], {"PAGER": "false"}), ([], {"PAGER": ""}), ([], {"PAGER": "cat"}),
                      ([], {"PAGER": "false", "TERM": "dumb"})):
        eq(on_terminal(t, "show", "4", *args, env={"NO_COLOR": "1", **env}), plain, f"with {args} {env}")
    on_terminal(t, "show", "4", env={"PAGER": "true"})  # a pager that reads nothing is not an error
    eq(run(t, "show", "4", env={"PAGER": "false"}), run(t, "show", "4"), "in a pipe")


@case("show with a pager that exits early succeeds")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1)
        db.execute("BEGIN")
        for seq in range(1, 5001):
            add_message(db, 1, seq, method="x" * 50, body="{}")
        db.execute("COMMIT")
    out = on_terminal(t, "show", env={"PAGER": "head -n 3"})
    eq(len(out.splitlines()), 3, "lines")


lib.main()
