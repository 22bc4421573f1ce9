#!/usr/bin/env python3
"""How a crash and a hang look to the user: in show on a terminal, and in the error for the client."""
import lib
from contracts import Talk
from lib import case, check, eq
from looking import on_terminal


def shown(t, *args, columns=100):
    """The lines of show on a terminal of this width."""
    return on_terminal(t, "show", *args, columns=columns, env={"NO_COLOR": "1"}).splitlines()


def line(lines, word):
    found = [x for x in lines if word in x]
    eq(len(found), 1, f"lines with {word!r}")
    return found[0]


@case("show: the error of a crash stands in the content column, and names its source once")
def _(t):
    talk = Talk(t, "2", fault="status tools/call send_email")
    talk.call_fails(-32000, "server-exited")
    talk.call()
    talk.end()
    row = line(shown(t), "server-gone tools/call")
    check("-32000 the server 2-gold" in row and "by interposer" not in row, row)


@case("show: the post-mortem of a hang is fitted to the line, and complete with --bodies")
def _(t):
    talk = Talk(t, "2", "--timeout", f"tool:send_email={500 * lib.SLOW:.0f}ms", fault="hang tools/call send_email")
    talk.call_fails(-32001, "hang")
    talk.result("tools/list", {})
    talk.end()
    for columns in (80, 100, 140):
        row = line(shown(t, columns=columns), "post_mortem=")
        check(len(row) <= columns and row.endswith("…"), f"{len(row)} columns of {columns}: {row}")
    check(line(shown(t, "--bodies"), "post_mortem=").endswith("}"), "all of it with --bodies")
    row = line(shown(t), "timeout     tools/call")
    check("-32001 the server 2-gold" in row, row)


lib.main()
