#!/usr/bin/env python3
"""Filters of the list of sessions, and the pager."""
import contextlib
import csv
import io
import itertools
import json
import os
import re
import subprocess
import time

import lib
from lib import case, check, eq
from looking import add_message, add_session, fails, make_long_session, make_vault, on_terminal, run

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


@case("--project selects sessions by the directory of their server, in every command")
def _(t):
    app = t.tmp / "app"
    (app / "src").mkdir(parents=True)
    (t.tmp / "link").symlink_to(app)
    with contextlib.closing(make_vault(t.vault)) as db:
        for i, cwd in enumerate((str(app), f"{app}/src", f"{app}lication", None), 1):
            add_session(db, i, cwd=cwd)
            add_message(db, i, 1, kind="request", rpc_id="1", method="tools/call", target=f"tool{i}", body='{"text":"word"}')
    for project, want in ((app, [2, 1]), (f"{app}/", [2, 1]), (app / "src", [2]), (t.tmp / "link", [2, 1]), (t.tmp, [3, 2, 1]), ("*/src", [2]),
                          (f"{app}*", [3, 2, 1]), ("/nowhere", [])):
        select = ("--project", str(project), "--json")
        eq(ids(run(t, "sessions", *select)), want, f"sessions {project}")
        eq(sorted(json.loads(x)["tool"] for x in run(t, "stats", *select).splitlines()), [f"tool{i}" for i in sorted(want)], f"stats {project}")
        found = t.run("search", "word", *select, "--vault", t.vault).stdout.splitlines()
        eq([json.loads(x)["session_id"] for x in found], want, f"search {project}")
    rows = [json.loads(x) for x in run(t, "show", "--project", str(app), "--json").splitlines()]
    eq(rows[0]["id"], 2, "show: the newest session of the project")
    here = subprocess.run([lib.PROGRAM, "sessions", "--project", ".", "--json", "--vault", t.vault], cwd=app / "src", env=t.environ(), stdout=subprocess.PIPE, check=True).stdout
    eq(ids(here.decode()), [2], "the working directory")


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
    make_long_session(t, 5_000)
    out = on_terminal(t, "show", env={"PAGER": "head -n 3"})
    eq(len(out.splitlines()), 3, "lines")


def exported(t, session, format, *args):
    """The seqs of the requests that a format lists."""
    text = run(t, "export", session, "-F", format, *args)
    if format == "csv":
        return [int(x["request_seq"]) for x in csv.DictReader(io.StringIO(text))]
    if format == "otlp":
        [resource] = json.loads(text)["resourceSpans"]
        return [int(a["value"]["intValue"]) for s in resource["scopeSpans"][0]["spans"] for a in s["attributes"]
                if a["key"] == "mcp_interposer.seq"]
    if format == "markdown":
        return [int(x) for x in re.findall(r"^### (\d+) ", text, re.M)]
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[0])
    return [x["seq"] for x in data[1:] if x["kind"] == "request"]


@case("the filters mean the same in show, tail, stats, search, check and export")
def _(t):
    start = 1795256137000000
    with contextlib.closing(make_vault(t.vault)) as db:
        for s, (server, client) in enumerate((("files", "a"), ("git", "a"), ("files", "b")), 1):
            add_session(db, s, name=server, client_name=client, started_at_us=start + s * 10**7, ended_at_us=start + s * 10**7 + 9 * 10**6)
            for i, (tool, failed) in enumerate((("read", False), ("write", True), ("read", True), ("list", False))):
                add_message(db, s, 2 * i + 1, kind="request", rpc_id=str(i), method="tools/call", target=tool, t_us=i * 10**6, finding="duplicate-key",
                            body='{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{}}}' % (i, tool))
                add_message(db, s, 2 * i + 2, kind="result", direction="s2c", rpc_id=str(i), t_us=i * 10**6 + (500, 2000, 3000, 1999)[i], request_seq=2 * i + 1,
                            finding="tool-error,duplicate-key" if failed else "duplicate-key",
                            body='{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"x"}]}}' % i)

    def when(us):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime((start + us) // 10**6))

    def places(command, *args):
        rows = [json.loads(x) for x in run(t, *command, *args, "--json").splitlines()]
        return sorted((x["session_id"], x["seq"]) for x in rows if x["type"] in ("message", "match"))
    every = [(s, i) for s in (1, 2, 3) for i in range(1, 9)]
    formats = itertools.cycle(("csv", "otlp", "markdown", "html"))      # without TEST_LONG=1, one for each session
    for args, want in (((), every),
                       (("--tool", "read"), [x for x in every if x[1] in (1, 2, 5, 6)]),
                       (("--tool", "[lw]*"), [x for x in every if x[1] in (3, 4, 7, 8)]),
                       (("--method", "tools/*"), every),
                       (("--method", "ping"), []),
                       (("--failed",), [x for x in every if x[1] in (4, 6)]),
                       (("--failed", "--tool", "read"), [x for x in every if x[1] == 6]),
                       (("--slow", "2ms"), [x for x in every if x[1] in (4, 6)]),
                       (("--slow", "3ms", "--tool", "re*"), [x for x in every if x[1] == 6]),
                       (("--slow", "1s"), []),
                       (("--server", "files"), [x for x in every if x[0] != 2]),
                       (("--client", "b", "--failed"), [(3, 4), (3, 6)]),
                       (("--since", when(2 * 10**7 + 2 * 10**6)), [x for x in every if x > (2, 4)]),
                       (("--until", when(10**7 + 2 * 10**6)), [x for x in every if x < (1, 5)]),
                       (("--session", "git"), [x for x in every if x[0] == 2]),
                       (("--session", "1", "--failed"), [(1, 4), (1, 6)])):
        if want:
            eq(places(["tail", "-n", "99"], *args), want, f"tail {args}")
            eq(places(["search", "-n", "0", *(() if {"--tool", "--method", "--failed", "--slow"} & set(args) else ("method:*",))], *args), want, f"search {args}")
            calls = sum(json.loads(x)["calls"] for x in run(t, "stats", "--json", *args).splitlines())
            eq(calls, len({(s, (i + 1) // 2) for s, i in want}), f"stats {args}")
        if "--session" in args:
            continue
        if "--server" not in args and "--client" not in args:
            eq([x for s in "123" for x in places(["show", s], *args)], want, f"show {args}")
            for s in "123":
                eq(run(t, "export", s, "-F", "jsonl", *args), run(t, "show", s, "--json", *args), f"export -F jsonl {s} {args}")
                asked = sorted({i - (i + 1) % 2 for x, i in want if x == int(s)})
                for format in itertools.islice(formats, 4 if os.environ.get("TEST_LONG") else 1):
                    eq(exported(t, s, format, *args), asked, f"export -F {format} {s} {args}")
        text = t.run("check", "-F", "json", "--all", "--fail-on", "none", *args, "--vault", t.vault, env={"TZ": "UTC"}).stdout
        found = sum(f["finding"] == "duplicate-key" for r in json.loads(text)["recordings"] for f in r["findings"])
        eq(found, len(want), f"check {args}")
    eq(json.loads(run(t, "show", "--server", "git", "--json").splitlines()[0])["id"], 2, "show --server")
    eq(json.loads(t.run("export", "--client", "a", "-F", "jsonl", "--vault", t.vault).stdout.splitlines()[0])["id"], 2, "export --client")
    for command in ("show", "export"):
        check("no matching session" in t.run(command, "--server", "x", "--vault", t.vault).stderr.decode(), f"{command}: none")
        check("not both" in fails(t, 2, command, "1", "--server", "git", "--vault", t.vault), f"{command}: both")
    check("no session 'none'" in fails(t, 3, "stats", "--session", "none", "--vault", t.vault), "an unknown session")


lib.main()
