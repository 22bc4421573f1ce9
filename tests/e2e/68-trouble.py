#!/usr/bin/env python3
"""How a crash, a hang and a damaged vault look to the user."""
import json
import shutil
import sqlite3

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
    talk = Talk(t, "2", "--timeout", f"tool:send_email={500 * lib.SLOW:.0f}ms", "--on-hang", "kill-now", fault="hang tools/call send_email")
    talk.call_fails(-32001, "hang")
    talk.result("tools/list", {})
    talk.end()
    for columns in (80, 100, 140):
        row = line(shown(t, columns=columns), "the server hangs and is killed")
        check(len(row) <= columns and row.endswith("…") == (columns == 80), f"{len(row)} columns of {columns}: {row}")
    check(line(shown(t, "--bodies"), '"post_mortem":').endswith("}"), "all of it with --bodies")
    row = line(shown(t), "timeout     tools/call")
    check("-32001 the server 2-gold" in row, row)


def damages(database):
    """Names of damages, with what makes them and the tables that cannot be read any more."""
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page, = db.execute("PRAGMA page_size").fetchone()
        roots = dict(db.execute("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'"))
    db.close()

    def overwrite(at, data):
        return lambda f: (f.seek(at), f.write(data))
    yield "header", overwrite(0, b"not a database, but a text"), None
    yield "schema", overwrite(100, b"\x99" * 200), None
    yield "truncated", lambda f: f.truncate(2 * page + 100), None
    for table in ("sessions", "messages", "calls", "leaves"):
        yield table, overwrite((roots[table] - 1) * page, b"\xff" * page), table


# What reads which tables.
READERS = [
    (["sessions"], {"sessions", "messages", "calls"}),
    (["show", "1"], {"sessions", "messages", "calls"}),
    (["stats"], {"sessions", "calls"}),
    (["search", "word"], {"sessions", "messages"}),
    (["audit", "verify"], {"sessions", "messages", "leaves"}),
    (["prune", "--yes", "--keep-last", "1"], {"sessions", "messages", "leaves"}),
    (["doctor"], {"sessions", "messages", "calls", "leaves"}),
]


@case("a damaged database is reported as one by every command that reads it, and never as `not an error`", limit=120)
def _(t):
    for i in range(2):
        p = t.proxy().initialize()
        for n in range(30):
            p.client.send(lib.call(n, arguments={"text": "word " * 200}))
            p.server.expect(lib.call(n, arguments={"text": "word " * 200}))
            p.server.send(lib.text_result(n, "x" * 1000))
            p.client.expect(lib.text_result(n, "x" * 1000))
        p.end()
    lib.recorders_ended(t.vault)
    for name, damage, table in damages(t.vault / "interposer.db"):
        for command, reads in READERS:
            if table is not None and table not in reads:
                continue
            vault = t.vault.parent / f"{name}-{command[0]}"
            shutil.copytree(t.vault, vault)
            with open(vault / "interposer.db", "r+b") as f:
                damage(f)
            done = t.run(*command, input=lib.request(1, "initialize") + b"\n",
                         env={"MCP_INTERPOSER_VAULT": vault})
            said = done.stdout + done.stderr
            check(b"disk image is malformed" in said or b"file is not a database" in said or b"is damaged" in said,
                  lambda: f"{name}: {command}: {said}")
            check(b"not an error" not in said and b"row available" not in said, lambda: f"{name}: {command}: {said}")
            check(done.returncode != 0, f"{name}: {command}: exit status {done.returncode}")


def check_repair(t, vault, name, wanted):
    """doctor --repair brings so many messages into the new database, and says whether something is missing."""
    def imported():
        return lib.rows(vault, "SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.pid = 0")[0][0]
    least, whole = wanted
    for times in range(2):
        done = t.run("doctor", "--repair", "--quick", "--json", "--vault", vault)
        said = [x for x in map(json.loads, done.stdout.splitlines()) if x["check"] == "repair"]
        eq([x["state"] for x in said], ["ok" if whole else "found"], f"{name}: {said}")
        check(imported() == least if whole else imported() >= least, f"{name}: {imported()} messages of {least}: {said}")
        check(times == 0 or not least or "0 sessions with 0 messages are in the vault now, 1 sessions were in the vault already" in said[0]["text"], f"{name}: {said}")
    eq((lib.integrity(vault), list(vault.glob(".repair*"))), ([(b"ok",)], []), f"{name}: afterwards")


@case("a recorder puts a damaged database aside, and records into a new one", limit=120)
def _(t):
    p = t.proxy().initialize()
    for n in range(30):
        p.client.send(lib.call(n, arguments={"text": "word " * 200}))
        p.server.expect(lib.call(n, arguments={"text": "word " * 200}))
        p.server.send(lib.text_result(n, "x" * 1000))
        p.client.expect(lib.text_result(n, "x" * 1000))
    p.client.send(lib.call(30, arguments={"text": "large"}))
    p.server.expect(lib.call(30, arguments={"text": "large"}))
    p.server.send(lib.text_result(30, "y" * 100000))
    p.client.expect(lib.text_result(30, "y" * 100000))
    p.end()
    all_of_it = len(t.messages())
    lib.recorders_ended(t.vault)
    for name, damage, table in damages(t.vault / "interposer.db"):
        vault = t.vault.parent / f"{name}-recorded"
        shutil.copytree(t.vault, vault)
        with open(vault / "interposer.db", "r+b") as f:
            damage(f)
        damaged = (vault / "interposer.db").read_bytes()
        p = t.proxy("--on-record-error", "stop", vault=vault).initialize()
        if name == "header":    # while the new database is in its write-ahead log
            check_repair(t, vault, "header, while a session runs", (all_of_it, True))
        p.end()
        lib.recorders_ended(vault)
        eq([x.read_bytes() == damaged for x in vault.glob("interposer.db.damaged-*Z")], [True], f"{name}: what was put aside")
        eq((lib.integrity(vault), lib.rows(vault, "SELECT count(*) FROM sessions WHERE pid != 0")), ([(b"ok",)], [(1,)]), f"{name}: the new one")
        check_repair(t, vault, name, {"header": (all_of_it, True), "schema": (0, False), "truncated": (0, False), "sessions": (0, False),
                                      "messages": (0, False), "calls": (all_of_it, True), "leaves": (all_of_it, True)}[name])


@case("doctor --repair: the messages before and after a destroyed page are brought in, and a second session")
def _(t):
    for session in range(2):
        p = t.proxy().initialize()
        for n in range(150):
            p.client.send(lib.call(n, arguments={"text": f"mark-{session}-{n} " + "word " * 100}))
            p.server.expect(lib.call(n, arguments={"text": f"mark-{session}-{n} " + "word " * 100}))
            p.server.send(lib.text_result(n, "x" * 500))
            p.client.expect(lib.text_result(n, "x" * 500))
        p.end()
    before = len(t.messages())
    lib.recorders_ended(t.vault)
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page, = db.execute("PRAGMA page_size").fetchone()
    db.close()
    data = (t.vault / "interposer.db").read_bytes()
    at = data.index(b"mark-0-75 ") // page * page
    (t.vault / "interposer.db").unlink()
    aside = t.vault / "interposer.db.damaged-20260101T000000Z"
    aside.write_bytes(data[:at] + b"\xff" * page + data[at + page:])
    aside.chmod(0o600)
    done = t.run("doctor", "--repair", "--vault", t.vault)
    check(done.returncode == 1 and b"2 sessions with " in done.stdout and b"something is missing in " in done.stdout, done.stdout + done.stderr)
    bodies = [x.body for x in t.messages("direction = 'c2s' AND kind = 'request'")]
    check(before - 40 <= len(t.messages()) < before, f"{len(t.messages())} messages of {before}")
    for want in (b"mark-0-1 ", b"mark-0-149 ", b"mark-1-75 "):
        check(any(want in x for x in bodies), f"{want} is missing")
    eq(lib.integrity(t.vault), [(b"ok",)], "the vault")


lib.main()
