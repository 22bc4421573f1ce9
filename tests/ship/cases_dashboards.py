"""The views for dashboards, and the queries in examples/dashboards: their figures are those of `stats` in the vaults."""
import collections
import json
import random
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from cases import ROOT, case, sent
from cases_calls import Device, commit
from cluster import DEADLINE
from vaults import PROGRAM, Vault

FOLDER = ROOT / "examples/dashboards"
TOOLS = ["ok", "bad", "broken", "slow", "strict"]
# Tools are listed on two pages. What each tool does is in its name; `strict` needs a number.
SERVER = textwrap.dedent("""
    import json, sys, time
    names = sys.argv[1].split(",")
    tools = [{"name": n, "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}}} for n in names]
    if "hostile" in names:
        tools[0]["name"] = chr(0)      # text in PostgreSQL cannot have it
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m:
            continue
        p, said = m.get("params", {}), {"result": {"content": []}}
        if m["method"] == "initialize":
            said = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "fake", "version": sys.argv[2]}}}
        elif m["method"] == "tools/list":
            said = {"result": {"tools": tools[2:]} if "cursor" in p else {"tools": tools[:2], "nextCursor": "2"}}
        elif p["name"] == "bad":
            said["result"]["isError"] = True
        elif p["name"] == "broken":
            said = {"error": {"code": -32000, "message": "broken"}}
        elif p["name"] == "slow":
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **said}), flush=True)
""")


def talk(vault, name, tools, version, calls):
    """A session: the whole list, then these calls, as (tool, arguments)."""
    words = [{"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                 "clientInfo": {"name": "probe", "version": "1"}}},
             {"method": "tools/list"}, {"method": "tools/list", "params": {"cursor": "2"}}]
    words += [{"method": "tools/call", "params": {"name": t, "arguments": a}} for t, a in calls]
    with subprocess.Popen([PROGRAM, "proxy", "--vault", vault.path, "--name", name, "--timeout", "tool:slow=300ms",
                           "--on-hang", "cancel", "--check-arguments", "reject", "--", sys.executable, "-c", SERVER, ",".join(tools), version],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=vault.env) as p:
        for i, w in enumerate(words):
            p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": i, **w}) + "\n")
            p.stdin.flush()
            if i < len(words) - 1 or w.get("params", {}).get("name") != "slow":     # the last one may be left unanswered
                p.stdout.readline()
        p.stdin.close()
        p.wait(DEADLINE)


def fleet(t):
    """Two vaults of two hosts. One has a server with a tool more."""
    a, b = Vault(t.folder, "a"), Vault(t.folder, "b")
    calls = [("ok", {})] * 20 + [("bad", {})] * 3 + [("broken", {})] * 2 + [("strict", {"n": "x"}), ("slow", {}), ("ok", {})]
    talk(a, "files", TOOLS, "1.0", calls)
    talk(a, "files", TOOLS, "1.0", [("ok", {}), ("slow", {})])
    talk(a, "steady", TOOLS, "1.0", [("ok", {})] * 4)
    talk(b, "files", [*TOOLS, "more"], "1.1", [("ok", {})] * 7 + [("bad", {})])
    talk(b, "steady", TOOLS, "1.0", [("ok", {})] * 2)
    talk(b, "odd", ["hostile", "b", "c"], "1.0", [])
    # an imported session does not count: it may be another machine's
    file = t.folder / "session.jsonl"
    file.write_text("".join(json.dumps(x) + "\n" for x in (
        {"format": "mcp-interposer-cassette", "version": 1, "name": "steady", "started_at_us": time.time_ns() // 1000},
        {"t": 1, "dir": "c2s", "msg": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ok"}}},
        {"t": 2, "dir": "s2c", "msg": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}}, {"end": True, "messages": 2})))
    subprocess.run([PROGRAM, "import", "--vault", a.path, file], check=True, capture_output=True, env=a.env, timeout=DEADLINE)
    for vault, device in ((a, "laptop-a"), (b, "laptop-b")):
        sent(vault.to(t.device(device), "--once"))
        t.cluster.psql(f"UPDATE mcp_interposer.sessions SET host = '{device}' WHERE vault = '{vault.name()}'")
    t.cluster.psql("CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader; CREATE ROLE reads_a LOGIN; CREATE ROLE reads_none LOGIN;"
                   "SELECT mcp_interposer.add_reader('reads_a', ARRAY['laptop-a']); SELECT mcp_interposer.add_reader('reads_none', '{}')")
    return a, b


def stats(vault, by):
    done = vault.command("stats", "--json", "--by", by, "-n", "0")
    assert done.returncode == 0, done.stderr
    return [json.loads(x) for x in done.stdout.splitlines()]


# ---- what the programs make of a query

def at(seconds):
    return time.strftime("'%Y-%m-%dT%H:%M:%SZ'", time.gmtime(time.time() + seconds))


def grafana(sql, since=-3600, until=3600):
    def group(m):
        width = {"1d": 86400, "$__interval": 60}[m[2].strip("'")]
        return f'floor(extract(epoch from {m[1]})/{width})*{width} AS "time"'
    sql = re.sub(r"\$__timeGroupAlias\((\w+), ([^)]*)\)", group, sql)
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN {at(since)} AND {at(until)}", sql)
    sql = sql.replace("$__timeFrom()", at(since)).replace("$__timeTo()", at(until))
    assert "$" not in sql, sql
    return sql


def metabase(sql, **given):
    """Optional parts are kept if their variable has a value."""
    sql = re.sub(r"\[\[(.*?)\]\]", lambda m: m[1] if re.search(r"\{\{(\w+)\}\}", m[1])[1] in given else "", sql, flags=re.S)
    sql = re.sub(r"\{\{(\w+)\}\}", lambda m: given[m[1]], sql)
    assert "{{" not in sql and "[[" not in sql, sql
    return sql


def rows(t, sql, role="reads_all"):
    """The rows, as objects, in their order."""
    out = t.cluster.psql(f"SET TimeZone = 'UTC'; SELECT row_to_json(x) FROM ({sql.rstrip().rstrip(';')}) AS x", role)
    return [json.loads(x) for x in out.splitlines()]


def figures(t, name, role="reads_all", **given):
    """The rows of the query for Grafana, and of the one for Metabase."""
    there = {"calls-over-time": "calls-by-day"}.get(name, name)
    a = rows(t, grafana((FOLDER / f"grafana/{name}.sql").read_text()), role)
    b = rows(t, metabase((FOLDER / f"metabase/{there}.sql").read_text(), **given), role)
    return a, b


def calls_of(vaults):
    """What `stats` says: {(server, tool): (calls, failed, p50, p95)} of each vault."""
    return [{(x["server"], x["tool"]): (x["calls"], x["errors"], x["p50_us"], x["p95_us"]) for x in stats(v, "tool")} for v in vaults]


def check_calls(t, vaults, role):
    hosts = ("laptop-a", "laptop-b")
    expected = {(s, n, host): x for host, said in zip(hosts, calls_of(vaults)) for (s, n), x in said.items()}
    microseconds = lambda ms: None if ms is None else round(ms * 1000)  # noqa: E731
    for found in figures(t, "calls", role):
        got = {(r["server"], r["tool"], r["host"]): (r["calls"], r["failed"], microseconds(r["p50_ms"]), microseconds(r["p95_ms"]))
               for r in found}
        assert got == expected, (got, expected)
        for r in found:
            assert abs(r["failed_percent"] - 100 * r["failed"] / r["calls"]) < 0.01, r


@case("dashboards: the figures are those of `stats`")
def _(t):
    a, b = fleet(t)
    said = calls_of([a])[0]
    assert said["files", "ok"][:2] == (22, 0) and said["files", "bad"][:2] == (3, 3), said
    assert said["files", "strict"][:2] == (1, 1) and said["files", "slow"][1] >= 1, said
    check_calls(t, (a, b), "reads_all")
    check_calls(t, (a,), "reads_a")
    both = collections.Counter(), collections.Counter()
    for vault in (a, b):
        for (server, _), (calls, failed, _, _) in calls_of([vault])[0].items():
            both[0][server] += calls
            both[1][server] += failed
    for name, column, expected in (("calls-over-time", "calls", dict(both[0])), ("error-rate", "failed_percent", None)):
        for found in figures(t, name):
            got = collections.Counter()
            for r in found:
                got[r.get("metric", r.get("server"))] += r[column]
            if expected:
                assert dict(got) == expected, (name, got, expected)
            else:       # one day, unless midnight was in between
                assert len(found) > 2 or all(abs(got[s] - 100 * both[1][s] / n) < 0.01 for s, n in both[0].items()), got
    for found in figures(t, "p95", host="'laptop-a'"):
        assert {r.get("metric", f"{r.get('server')} {r.get('tool')}") for r in found} >= {"files ok", "files bad", "steady ok"}, found
        assert all(r["p95_ms"] > 0 for r in found)
    # the range and the optional conditions select
    sql = (FOLDER / "metabase/calls.sql").read_text()
    assert {r["host"] for r in rows(t, metabase(sql, host="'laptop-b'"))} == {"laptop-b"}
    assert {r["server"] for r in rows(t, metabase(sql, server="'steady'"))} == {"steady"}
    assert not rows(t, metabase(sql, since="date '2100-01-01'")) and not rows(t, metabase(sql, until="date '2020-01-01'"))
    assert not rows(t, grafana((FOLDER / "grafana/calls.sql").read_text(), -7200, -3600))
    assert not rows(t, sql=metabase(sql), role="reads_none")


@case("dashboards: findings, and servers whose tools differ")
def _(t):
    a, b = fleet(t)
    hosts = {"reads_all": (("laptop-a", a), ("laptop-b", b)), "reads_a": (("laptop-a", a),), "reads_none": ()}
    for role, vaults in hosts.items():
        expected = collections.Counter()
        for host, vault in vaults:
            for server, finding in vault.rows("SELECT s.name, m.finding FROM messages m JOIN sessions s ON s.id = m.session_id "
                                              "WHERE m.finding IS NOT NULL"):
                expected.update((f.strip(), server, host) for f in finding.split(","))
        assert vaults == () or {f for f, _, _ in expected} >= {"tool-error", "timeout", "invalid-arguments"}, expected
        for found in figures(t, "findings", role):
            got = collections.Counter()
            for r in found:
                got[r["finding"], r["server"], r["host"]] += r["messages"]
            assert got == expected, (role, got, expected)
    named = rows(t, "SELECT side, method, target, device FROM mcp_interposer.findings WHERE finding = 'tool-error'")
    assert {(r["side"], r["method"], r["target"]) for r in named} == {("server", "tools/call", "bad")}, named
    lists = rows(t, "SELECT server, host, server_version, tools, names, hash FROM mcp_interposer.tool_lists ORDER BY 1, 2")
    assert [(x["server"], x["host"], x["server_version"], x["names"]) for x in lists] == [
        *[("files", "laptop-a", "1.0", sorted(TOOLS))] * 2, ("files", "laptop-b", "1.1", sorted([*TOOLS, "more"])),
        ("steady", "laptop-a", "1.0", sorted(TOOLS)), ("steady", "laptop-b", "1.0", sorted(TOOLS))], lists
    assert len({x["hash"] for x in lists}) == 2 and all(x["tools"] == len(x["names"]) for x in lists), lists
    for found in figures(t, "tool-drift"):
        assert sorted((r["server"], r["host_names"], r["versions"], r["tools"], r["sessions"], r["hosts"]) for r in found) == [
            ("files", "laptop-a", "1.0", 5, 2, 1), ("files", "laptop-b", "1.1", 6, 1, 1)], found
    for found in figures(t, "tools-missing"):
        assert found == [{"server": "files", "tool": "more", "hosts_with": 1, "missing_on": "laptop-a"}], found
    for name in ("tool-drift", "tools-missing"):
        assert figures(t, name, "reads_a") == ([], []) and figures(t, name, "reads_none") == ([], [])


@case("dashboards: a query reads the partitions of its time range only", months=True)
def _(t):
    fleet(t)
    t.cluster.psql("SELECT mcp_interposer.make_partitions(now() - interval '12 months', now() + interval '12 months')")

    def read(sql, role):
        plan = t.cluster.psql(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}", role)
        return set(re.findall(r"(?:messages|call_rows)_(\d{4}_\d\d)\b(?!.*never executed)", plan))
    # the tables that are read for a month ago and half a year ago
    for name in ("calls", "calls-over-time", "error-rate", "p95", "findings", "tool-drift", "tools-missing"):
        sql = (FOLDER / f"grafana/{name}.sql").read_text()
        for role in ("reads_all", "reads_a"):
            months = read(grafana(sql, -3600, 3600), role)
            assert 1 <= len(months) <= 2, (name, role, months)
            ago = read(grafana(sql, -180 * 86400, -179 * 86400), role)
            assert len(ago) <= 2 and not ago & months, (name, role, ago)
    for path in Path(FOLDER / "metabase").glob("*.sql"):
        months = read(metabase(path.read_text(), since="date '2100-01-01'"), "reads_a")
        assert not months, (path, months)
    # docs/fleet-schema.md: how to select
    assert len(read("SELECT count(*) FROM mcp_interposer.invocations WHERE session_uid >= mcp_interposer.uid_at(now()) "
                    "AND session_uid < mcp_interposer.uid_at(now() + interval '1 hour')", "reads_a")) <= 2


@case("dashboards: no time that a device sends makes a query fail, and no plan does")
def _(t):
    device, least, most = Device(t, random.Random(5)), -2 ** 63, 2 ** 63 - 1
    listed = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}]}})
    for times in ((least, least), (most, most), (least, most), (0, 5)):
        messages = [{"seq": n + 1, "t_us": at, "direction": "c2s" if n % 2 == 0 else "s2c", "origin": "peer", "kind": "result" if n % 2 else "request",
                     "method": None if n % 2 else "tools/call" if n < 2 else "tools/list", "size": 1, "redactions": 0, "action": "forwarded",
                     "request_seq": n if n % 2 else None, "finding": "tool-error" if n == 1 else None, "body": listed if n == 3 else None}
                    for n, at in enumerate(times * 2)]
        for m in messages:
            commit(m)
        device.send(device.begin(False), messages, False)
    for started in (10 ** 15, least, most):
        t.cluster.psql(f"UPDATE mcp_interposer.sessions SET started_at_us = {started}")
        for view in ("invocations", "calls", "findings", "tool_lists"):
            at = "started_at_us" if view == "invocations" else "at"
            found = rows(t, f"SELECT session_uid, {at} AS at FROM mcp_interposer.{view}", "admin")
            assert len(found) == (8 if view == "invocations" else 4) and all(r["at"] for r in found), (view, found)
    # a block with EXCEPTION cannot run in a parallel plan
    assert t.cluster.psql("SELECT proname FROM pg_proc WHERE pronamespace = 'mcp_interposer'::regnamespace AND proparallel <> 'u' "
                          "AND prosrc ~ 'EXCEPTION\\s+WHEN'") == ""
