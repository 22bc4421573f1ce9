#!/usr/bin/env python3
"""A call that is open when a signal or the client ends the session: interrupted, which is no error of the server."""
import contextlib
import json
import signal
import sqlite3

import lib
from lib import case, check, eq
from replaying import Replay, handshake


def hanging(t, *options):
    """The server has received a call, which it does not answer."""
    p = t.proxy("--grace", "20s", *options).initialize()
    p.client.send(lib.call(1, "slow"))
    p.server.expect(lib.call(1, "slow"))
    return p


def read(t, *args):
    """What a command prints, as JSON objects."""
    done = t.run(*args, "--vault", t.vault)
    check(done.returncode == 0, lambda: f"{args}: {done}")
    return [json.loads(x) for x in done.stdout.splitlines()]


def interrupted(t, words):
    """The only call was interrupted: no error of the server, wherever one looks."""
    eq(t.rows("SELECT status, error_code FROM invocations WHERE method = 'tools/call'"), [(b"interrupted", -32000)], "the view")
    line, = (x for x in map(json.loads, t.log_lines()) if x["method"] == "tools/call")
    eq((line["status"], line["error"]["code"]), ("interrupted", -32000), "the log directory")
    check(words in line["error"]["message"], line["error"])
    (session,) = read(t, "sessions", "--json")
    eq([session[k] for k in ("calls", "interrupted", "server_gone", "errors")], [2, 1, 0, 0], "sessions")
    (stats,) = (x for x in read(t, "stats", "--json") if x.get("tool") == "slow")
    eq([stats[k] for k in ("calls", "interrupted", "errors", "p50_us")], [1, 1, 0, None], "stats")
    shown = t.run("show", "--vault", t.vault).stdout.decode()
    check("1 interrupted" in shown and "server-gone" not in shown, shown)
    eq([x["status"] for x in read(t, "show", "--json") if x.get("request_target") == "slow"], ["interrupted"], "show --json")
    eq([x["status"] for x in read(t, "search", "--json", "status:interrupted")], ["interrupted"], "search")
    eq(t.run("check", "--vault", t.vault).returncode, 0, "check: no error")
    eq([(x["finding"], x["severity"]) for x in json.loads(t.run("check", "--vault", t.vault, "--format", "json").stdout)
        ["recordings"][0]["findings"]], [("interrupted", "note")], "check")
    csv = t.run("export", "--vault", t.vault, "--format", "csv").stdout.decode()
    check(",interrupted," in csv and "server-gone" not in csv, csv)
    otlp = t.run("export", "--vault", t.vault, "--format", "otlp").stdout.decode()
    check('"error.type","value":{"stringValue":"interrupted"}' in otlp, otlp)
    for format in ("markdown", "html"):
        text = t.run("export", "--vault", t.vault, "--format", format).stdout.decode()
        check("interrupted" in text and "server-gone" not in text, f"{format}")


for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    @case(f"{number.name} interrupts a pending call, whether the server exits at once or is killed")
    def _(t, number=number):
        for wait in (True, False) if number == signal.SIGTERM else (True,):
            p = hanging(t, "--grace", "20s" if wait else "600ms")
            p.proc.send_signal(number)
            if wait:
                p.server.expect_eof()
                p.server.exit(7)
            error = p.client.recv_json()["error"]
            eq((error["code"], error["data"]["cause"]), (-32000, "interrupted"), "code and cause")
            p.wait()
            if wait:
                interrupted(t, "a signal ended the session before the server puppet answered; this call may have run")
        eq({s for s, in t.rows("SELECT status FROM invocations WHERE method = 'tools/call'")}, {b"interrupted"}, "all")


@case("a client that goes away interrupts its pending call")
def _(t):
    p = hanging(t)
    p.client.close()
    p.server.expect_eof()
    p.server.exit(0)
    p.wait()
    interrupted(t, "the client ended the session before the server puppet answered")


@case("a server that exits by itself while the client waits, or before a signal, is gone")
def _(t):
    for how in ("the client waits", "a signal comes later"):
        p = hanging(t, "--restarts", "0")
        if how == "the client waits":
            p.client.close_write()
            p.server.expect_eof()
            p.server.exit(0)
        else:
            p.server.kill(signal.SIGSEGV)
        eq(p.client.recv_json()["error"]["data"]["cause"], "server-exited", how)
        p.proc.send_signal(signal.SIGTERM)
        p.wait()
    eq(t.rows("SELECT status FROM invocations WHERE method = 'tools/call'"), [(b"server-gone",)] * 2, "in the record")


@case("a recording of an interrupted call replays its error")
def _(t):
    p = hanging(t)
    p.proc.send_signal(signal.SIGTERM)
    p.server.expect_eof()
    p.server.exit(0)
    error = p.client.recv_json()["error"]
    p.wait()
    replay = Replay(t).play(handshake())
    replay.client.send(lib.call("x", "slow"))
    eq(replay.client.recv_json(), {"jsonrpc": "2.0", "id": "x", "error": error}, "the answer")
    replay.client.close_write()
    replay.client.rest()
    replay.wait()


@case("a view that is missing is made again")
def _(t):
    t.proxy("--grace", "20s").initialize().end()
    lib.settle()
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
        (now,), = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'invocations'")
        db.execute("DROP VIEW invocations")
        db.commit()
    p = hanging(t)
    p.proc.send_signal(signal.SIGTERM)
    p.server.expect_eof()
    p.server.exit(0)
    p.wait()
    eq(t.rows("SELECT status FROM invocations WHERE method = 'tools/call'"), [(b"interrupted",)], "the view")
    eq(t.rows("SELECT sql FROM sqlite_schema WHERE name = 'invocations'"), [(now.encode(),)], "its text")
    eq(t.rows("PRAGMA user_version"), [(5,)], "version of the schema")


lib.main(at_once=4)
