#!/usr/bin/env python3
"""stats, compared with the view `invocations`."""
import collections
import contextlib
import json
import re
import time

import lib
from lib import call, case, check, eq, error, note, request, text_result
from looking import FORBIDDEN, add_message, add_session, make_vault, on_terminal, run

BUCKETS = [1000, 3000, 10000, 30000, 100000, 300000, 10**6, 3 * 10**6, 10**7, None]


def stats(t, *args, **more):
    return [json.loads(x) for x in run(t, "stats", "--json", *args, **more).splitlines()]


def expected(t, key, where="1"):
    """The same figures from the view, by `key` of a row."""
    groups = collections.defaultdict(list)
    with lib.database(t.vault) as db:
        for r in db.execute(f"SELECT i.*, s.name, s.client_name FROM invocations i JOIN sessions s ON s.id = i.session_id WHERE {where}"):
            row = {k: r[k].decode() if isinstance(r[k], bytes) else r[k] for k in r.keys()}
            groups[key(row)].append(row)
    out = {}
    for k, rows in groups.items():
        took = sorted(r["duration_us"] for r in rows if r["status"] not in ("open", "cancelled", "refused"))

        def at(percent):
            return took[max(0, -(-len(took) * percent // 100) - 1)] if took else None
        edges = [0, *(b if b is not None else 10**15 for b in BUCKETS)]
        count = collections.Counter(r["status"] for r in rows)
        out[k] = dict(
            calls=len(rows), errors=sum(count[x] for x in ("tool-error", "error", "refused", "timeout", "server-gone")),
            timeouts=count["timeout"], cancelled=count["cancelled"], open=count["open"], p50_us=at(50), p95_us=at(95),
            p99_us=at(99), max_us=at(100), request_bytes=sum(r["request_size"] for r in rows),
            response_bytes=sum(r["response_size"] or 0 for r in rows), first_at_us=min(r["started_at_us"] for r in rows),
            last_at_us=max(r["started_at_us"] for r in rows),
            latency=[[b, sum(1 for x in took if edges[i] < x <= edges[i + 1] or (i == 0 and x == 0))] for i, b in enumerate(BUCKETS)])
    return out


def sessions_of_all_kinds(t):
    """Three servers, two clients, and calls with every status."""
    for name, client in (("one", "cli"), ("two", "desk"), ("two", "cli")):
        p = t.proxy("--name", name, "--timeout", "tool:late=100ms", "--on-hang", "cancel").initialize(client={"name": client, "version": "1"})

        def ask(line, answer):
            p.client.send(line)
            p.server.recv()
            p.server.send(answer)
            p.client.recv()
        for i in range(5):
            ask(call(i + 1, "fine"), text_result(i + 1, "x" * i))
        ask(call(10, "fine"), text_result(10, "no", isError=True))
        ask(call(11, "wrong"), error(11))
        ask(request(12, "resources/read", {"uri": "file:///x"}), error(12))
        p.client.send(call(13, "late"))
        p.server.recv()
        p.client.recv()  # the timeout
        p.client.send(call(14, "fine"))
        p.server.recv()
        p.client.send(note("notifications/cancelled", {"requestId": 14}))
        p.client.send(b'{"jsonrpc":"2.0","id":15,"method":"tools/call","method":"tools/list"}')
        p.client.recv()
        p.client.send(call(16, "open"))
        lib.wait_until(lambda: t.messages("rpc_id = '16'"), 5, "the last call is recorded")
        p.die()
        with contextlib.suppress(OSError):
            p.server.exit(0)


@case("stats: the figures equal those of the view, for each key")
def _(t):
    sessions_of_all_kinds(t)

    def same(got, want, key):
        eq([g["type"] for g in got], ["stats"] * len(want), "types")
        for g in got:
            w = want[key(g)]
            eq({k: g[k] for k in w}, w, f"figures of {key(g)}")
        eq([g["calls"] for g in got], sorted((g["calls"] for g in got), reverse=True), "order")
    same(stats(t), expected(t, lambda r: (r["name"], r["target"]), "method = 'tools/call'"), lambda g: (g["server"], g["tool"]))
    for word, figure in (("p95", "p95_us"), ("max", "max_us"), ("errors", "errors"), ("timeouts", "timeouts"), ("last", "last_at_us")):
        got = [-1 if g[figure] is None else g[figure] for g in stats(t, "--sort", word)]
        eq(got, sorted(got, reverse=True), f"--sort {word}")
    eq(t.run("stats", "--sort", "name", "--vault", t.vault).returncode, 2, "--sort name")
    same(stats(t, "--by", "server"), expected(t, lambda r: r["name"]), lambda g: g["server"])
    same(stats(t, "--by", "client"), expected(t, lambda r: r["client_name"]), lambda g: g["client"])
    same(stats(t, "--by", "method"), expected(t, lambda r: r["method"]), lambda g: g["method"])
    day = lambda r: time.strftime("%Y-%m-%d", time.gmtime(r["started_at_us"] / 1e6))  # noqa: E731
    got = stats(t, "--by", "day")
    eq({g["day"]: g["calls"] for g in got}, {k: v["calls"] for k, v in expected(t, day).items()}, "days")
    same(stats(t, "--server", "two"), expected(t, lambda r: (r["name"], r["target"]), "method = 'tools/call' AND name = 'two'"),
         lambda g: (g["server"], g["tool"]))
    same(stats(t, "--client", "de*", "--by", "method"), expected(t, lambda r: r["method"], "client_name = 'desk'"), lambda g: g["method"])


@case("stats --since and --until select calls, not sessions; days are newest first")
def _(t):
    hour = 3600 * 10**6
    noon = 1795262400 * 10**6  # 2026-11-21 12:00 UTC
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name="s", started_at_us=noon - 48 * hour)
        for i in range(49):
            add_message(db, 1, 2 * i + 1, kind="request", rpc_id=str(i), method="tools/call", target="x", t_us=i * hour)
            add_message(db, 1, 2 * i + 2, kind="result", direction="s2c", rpc_id=str(i), request_seq=2 * i + 1, t_us=i * hour + 5)

    def calls(*args):
        return [g["calls"] for g in stats(t, *args)]
    eq(calls(), [49], "all")
    eq(calls("--since", "2026-11-21T12:00Z"), [1], "the last")
    eq(calls("--since", "2026-11-20T12:00Z"), [25], "the last day")
    eq(calls("--since", "2026-11-20T12:00Z", "--until", "2026-11-20T13:00Z"), [1], "one hour")
    eq([(g["day"], g["calls"]) for g in stats(t, "--by", "day")], [("2026-11-21", 13), ("2026-11-20", 24), ("2026-11-19", 12)], "days")
    eq(len(run(t, "stats", "--by", "day", "-n", "2").splitlines()), 3, "lines with -n 2")


@case("stats: a table with a histogram, in ASCII on an ASCII terminal")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        evil = "\x1b[31m\x00\xff\n" + "\u202e"
        add_session(db, 1, name="s", client_name=evil)
        for i, us in enumerate((500, 500, 500, 500, 2000, 20_000_000)):
            add_message(db, 1, 2 * i + 1, kind="request", rpc_id=str(i), method="tools/call", target="x", t_us=0)
            add_message(db, 1, 2 * i + 2, kind="result", direction="s2c", rpc_id=str(i), request_seq=2 * i + 1, t_us=us)
        add_message(db, 1, 99, kind="request", rpc_id="99", method="tools/call", target=evil)
    head, first, second = run(t, "stats").splitlines()
    eq(head.split(), "SERVER TOOL CALLS ERRORS TIMEOUTS OPEN P50 P95 P99 MAX BYTES FIRST LAST LATENCY".split(), "all columns in a pipe")
    eq(first.split()[:9], ["s", "x", "6", "0", "0", "0", "500us", "20.0s", "20.0s"], first)
    check(first.endswith("  █▂       ▂"), f"histogram: {first!r}")
    eq(second.split()[-10:-2], ["0", "0", "1", "-", "-", "-", "-", "10B"], "a call without an answer")
    check(run(t, "stats", env={"LC_ALL": "C"}).splitlines()[1].endswith("  #:       :"), "ASCII")
    for args in ([], ["--by", "client"], ["--json"], ["--json", "--by", "client"]):
        check(not FORBIDDEN.search(run(t, "stats", *args)), f"raw text with {args}")
    wide = on_terminal(t, "stats", columns=200, env={"NO_COLOR": "1"})
    check("FIRST" in wide and "LAST" in wide and "TIMEOUTS" in wide, wide)
    narrow = on_terminal(t, "stats", columns=70, env={"NO_COLOR": "1"}).splitlines()
    check(max(map(len, narrow)) <= 70 and "P95" in narrow[0] and "BYTES" not in narrow[0], narrow[0])


@case("stats on a narrow terminal: how calls ended is always shown, whatever the names")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1, name="a-server-with-a-long-name", client_name="a client with a name that is long")
        for i, tool in enumerate(("x", "a_tool_with_a_name_that_is_very_long")):
            add_message(db, 1, 2 * i + 1, kind="request", rpc_id=str(i), method="tools/call", target=tool, t_us=0)
            add_message(db, 1, 2 * i + 2, kind="error", direction="s2c", rpc_id=str(i), request_seq=2 * i + 1, t_us=10**6 * 30, error_code=-32001,
                        origin="interposer", finding="timeout")
    for by in ("tool", "server", "client", "day", "method"):
        for columns in (60, 80, 100):
            lines = on_terminal(t, "stats", "--by", by, columns=columns, env={"NO_COLOR": "1"}).splitlines()
            check(max(map(len, lines)) <= columns, f"{columns} columns: {lines}")
            check(re.search("CALLS +ERRORS +TIMEOUTS", lines[0]), f"{columns} columns: {lines[0]}")
        check("P50" in lines[0] and "P95" in lines[0], f"the widest: {lines[0]}")


@case("stats: no matching call is a warning")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1)
    r = t.run("stats", "--vault", t.vault)
    eq((r.returncode, r.stdout), (0, b""), "status and stdout")
    check(b"no matching call in " in r.stderr, f"stderr {r.stderr!r}")
    eq(run(t, "stats", "--json"), "", "--json")


lib.main()
