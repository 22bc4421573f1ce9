"""Cases of tests/ship/run: an OpenTelemetry collector."""
import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path

from cases import Skip, case, end, sent
from cases_setup import certificate
from cluster import DEADLINE, OUTAGE, wait_until
from collector import Collector, attributes, seqs
from vaults import GRACE, PATIENT, PROGRAM, SHIP, Vault, environment, lines, texts

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ODD = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    name = m.get("params", {}).get("name")
    answer = {"jsonrpc": "2.0", "id": m.get("id")}
    if name == "never" or "id" not in m:
        continue
    if name == "error":
        answer["error"] = {"code": -32602, "message": "no such thing: glpat-" + "aB3dE5fG7hI9jK1lM3nO"}
    else:
        answer["result"] = {"protocolVersion": "2025-06-18", "content": [{"type": "text", "text": "SECRETRESULT"}], "isError": name == "broken"}
    print(json.dumps(answer), flush=True)
"""


def collector(t, **options):
    c = Collector(**options)
    t.cleanups.append(c.close)
    return c


def calls(vault):
    """{(session, seq)} of all calls, of either side."""
    return set(vault.rows("SELECT s.uid, m.seq FROM messages m JOIN sessions s ON s.id = m.session_id"
                          " WHERE m.kind = 'request' AND m.origin = 'peer' AND m.method IS NOT NULL"))


def call(i, name, **params):
    return {"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": name, "arguments": {"a": "SECRETARGUMENT"}, **params}}


def odd(vault, messages, *options):
    text = lines([]) + "".join(json.dumps(m) + "\n" for m in messages)
    subprocess.run([PROGRAM, "proxy", "--vault", vault.path, "--name", "odd", *GRACE, *options, "--", sys.executable, "-c", ODD], input=text,
                   stdout=subprocess.DEVNULL, text=True, env=vault.env, timeout=DEADLINE, check=True)


def missing(vault):
    done = vault.command("ship", "status", "--json")
    status = json.loads(done.stdout)
    return status["missing_messages"], status["missing_events"], status["error"], done.returncode


@case("a collector: every call once, with the same ids when all is sent again", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(700))        # more than one batch
    vault.record(texts(30, large=2))
    for _ in range(12):
        vault.record(texts(1))
    sent(vault.to(c.url(), "--once"))
    assert seqs(c.spans()) == calls(vault)
    assert max(r["size"] for r in c.requests) < 1_100_000
    assert missing(vault) == (0, 0, None, 0), missing(vault)
    n = len(c.requests)
    sent(vault.to(c.url(), "--once"))
    assert len(c.requests) == n, "something was sent again"
    again = collector(t)
    sent(vault.to(again.url(), "--once"))
    assert sorted(map(json.dumps, again.spans())) == sorted(map(json.dumps, c.spans())), "not the same spans"
    exported = [span for uid, in vault.rows("SELECT uid FROM sessions")
                for line in vault.command("export", uid, "-F", "otlp").stdout.splitlines()
                for resource in json.loads(line)["resourceSpans"] for span in resource["scopeSpans"][0]["spans"]]
    assert sorted(map(json.dumps, exported)) == sorted(map(json.dumps, c.spans())), "export has other spans"


@case("a collector: names, parents, errors; no arguments and no results", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    odd(vault, [call(1, "fine", _meta={"traceparent": PARENT}), call(2, "broken"), call(3, "error"), call(4, "never"),
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}, call(5, "never")])
    sent(vault.to(c.url(), "--once"))
    by_name = {s["name"]: s for s in c.spans() if attributes(s).get("jsonrpc.request.id") != "5"}
    fine, broken, error, never = (by_name[f"tools/call {n}"] for n in ("fine", "broken", "error", "never"))
    assert (fine["traceId"], fine["parentSpanId"], fine["kind"]) == (PARENT[3:35], PARENT[36:52], 3) and "status" not in fine
    assert broken["traceId"] == error["traceId"] != fine["traceId"] and "parentSpanId" not in broken
    a = attributes(fine)
    assert (a["mcp.method.name"], a["gen_ai.tool.name"], a["gen_ai.operation.name"]) == ("tools/call", "fine", "execute_tool")
    assert "mcp.session.id" not in a
    assert (attributes(broken)["error.type"], broken["status"]["code"]) == ("tool_error", 2)
    assert attributes(error)["error.type"] == attributes(error)["rpc.response.status_code"] == "-32602"
    assert error["status"]["message"] == "no such thing: [redacted:gitlab-token]", error
    assert attributes(never)["error.type"] == "cancelled"
    assert seqs(c.spans()) == calls(vault)
    assert "SECRET" not in json.dumps([r["data"] for r in c.requests]) and "glpat-" not in json.dumps(c.requests)
    other = collector(t)
    sent(vault.to(other.url(), "--once", "--content", "--notifications"))
    notified = [s["name"] for s in other.spans() if s["name"].startswith("notifications/")]
    assert notified == [m for (m,) in vault.rows("SELECT method FROM messages WHERE kind = 'notification' AND origin = 'peer' ORDER BY seq")] and notified, notified
    assert not any(s["name"].startswith("notifications/") for s in c.spans())
    fine = attributes(next(s for s in other.spans() if s["name"] == "tools/call fine"))
    assert "SECRET" in fine["gen_ai.tool.call.arguments"] and "content" in json.loads(fine["gen_ai.tool.call.result"]), fine
    assert "glpat-" not in json.dumps(other.requests)
    resource = attributes(c.requests[0]["data"]["resourceSpans"][0]["resource"])
    assert resource["service.name"] == "odd" and resource["mcp_interposer.client.name"] == "probe" and resource["host.name"]
    less = collector(t)
    sent(vault.to(less.url(), "--once", "--level", "minimal"))
    error = next(s for s in less.spans() if s["name"] == "tools/call error")
    assert "message" not in error["status"]


@case("a collector: a call is sent when it is closed, or its session has ended; a restart continues", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    live = subprocess.Popen([PROGRAM, "proxy", "--vault", vault.path, "--name", "live", "--", sys.executable, "-c", ODD],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=vault.env)
    t.cleanups.append(live.kill)

    def say(message, answer=True):
        live.stdin.write(json.dumps(message) + "\n")
        live.stdin.flush()
        if answer:
            live.stdout.readline()

    say(json.loads(lines([]).splitlines()[0]))
    shipper = vault.follow(c.url())
    t.cleanups.append(shipper.kill)
    say(call(1, "never"), answer=False)
    say(call(2, "fine"))
    wait_until(lambda: "tools/call fine" in [s["name"] for s in c.spans()] and
               vault.rows("SELECT max(seq) FROM shipped") == vault.rows("SELECT max(seq) FROM messages"))
    end(shipper)
    assert "tools/call never" not in [s["name"] for s in c.spans()]
    say(call(3, "broken"))
    wait_until(lambda: vault.rows("SELECT count(*) FROM messages WHERE kind = 'result'") == [(3,)])
    shipper = vault.follow(c.url())
    t.cleanups.append(shipper.kill)
    wait_until(lambda: "tools/call broken" in [s["name"] for s in c.spans()])
    shipper.kill()
    shipper.wait(DEADLINE)
    live.stdin.close()
    live.wait(DEADLINE)
    sent(vault.to(c.url(), "--once"))
    spans = {s["name"]: s for s in c.spans()}
    assert seqs(c.spans(), once=False) == calls(vault)        # the kill may have come before its cursor was saved
    assert attributes(spans["tools/call never"])["mcp_interposer.status"] != "ok"
    assert missing(vault)[0] == 0


ASKS = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    result = {"resultType": "complete", "content": []}
    if "requestState" not in m["params"]:
        ask = {"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}}
        result = {"resultType": "input_required", "requestState": m["params"]["name"], "inputRequests": {"who": ask}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


@case("a collector: a call that was several requests has a span of its own, with its end or that of its session", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    live = subprocess.Popen([PROGRAM, "proxy", "--vault", vault.path, "--name", "asks", "--", sys.executable, "-c", ASKS],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=vault.env)
    t.cleanups.append(live.kill)

    def say(i, name, parent=None, **params):
        live.stdin.write(json.dumps(call(i, name, _meta=meta | ({"traceparent": parent} if parent else {}), **params)) + "\n")
        live.stdin.flush()
        live.stdout.readline()

    def operations():
        return {attributes(s)["mcp_interposer.operation"]: s for s in c.spans() if "mcp_interposer.operation" in attributes(s)}

    def requests():
        return {attributes(s)["jsonrpc.request.id"]: s for s in c.spans() if "jsonrpc.request.id" in attributes(s)}

    shipper = vault.follow(c.url())
    t.cleanups.append(shipper.kill)
    say(1, "book")
    wait_until(lambda: "1" in requests())
    assert not operations(), "it has not ended"
    end(shipper)
    say(2, "book", requestState="book", inputResponses={})
    shipper = vault.follow(c.url())
    t.cleanups.append(shipper.kill)
    wait_until(lambda: operations())
    say(3, "far", PARENT)
    say(4, "far", PARENT.replace("0af", "0bf"), requestState="far", inputResponses={})
    say(5, "left")
    wait_until(lambda: "5" in requests())
    assert len(operations()) == 2, operations()
    live.stdin.close()
    live.wait(DEADLINE)
    wait_until(lambda: len(operations()) == 3)
    end(shipper)
    spans, (book, far, left) = requests(), sorted(operations().values(), key=lambda s: int(s["startTimeUnixNano"]))
    assert (book["name"], book["kind"], book["startTimeUnixNano"], book["endTimeUnixNano"]) == (
        "operation tools/call book", 1, spans["1"]["startTimeUnixNano"], spans["2"]["endTimeUnixNano"]), book
    a = attributes(book)
    assert [a[f"mcp_interposer.{n}"] for n in ("status", "requests", "asked")] == ["ok", "2", "1"] and "gen_ai.operation.name" not in a, a
    assert "parentSpanId" not in book and {spans[i]["parentSpanId"] for i in "12"} == {book["spanId"]}
    assert (far["traceId"], far["parentSpanId"]) == (PARENT[3:35], PARENT[36:52]) and spans["3"]["parentSpanId"] == far["spanId"]
    assert spans["4"]["traceId"] == PARENT[3:35].replace("0af", "0bf") and spans["4"]["parentSpanId"] == PARENT[36:52]
    assert spans["4"]["links"] == [{"traceId": far["traceId"], "spanId": far["spanId"]}], spans["4"]
    assert attributes(left)["mcp_interposer.status"] == "open" and spans["5"]["parentSpanId"] == left["spanId"] and "status" not in left
    assert len({s["spanId"] for s in c.spans()}) == 8
    exported = [span for line in vault.command("export", "last", "-F", "otlp").stdout.splitlines()
                for resource in json.loads(line)["resourceSpans"] for span in resource["scopeSpans"][0]["spans"]]
    assert {json.dumps(s) for s in exported} == {json.dumps(s) for s in c.spans()}, "export has other spans"


@case("a collector: logs for events and findings, in the trace of their call", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    odd(vault, [call(1, "broken", _meta={"traceparent": PARENT}), call(2, "broken"), {"jsonrpc": "2.0", "id": 3, "method": "unheard/of"}])
    sent(vault.to(c.url(), "--once"))
    logs, spans = c.logs(), {int(attributes(s)["mcp_interposer.seq"]): s for s in c.spans()}
    wanted = sorted((seq, name) for seq, names in vault.rows("SELECT seq, finding FROM messages WHERE finding IS NOT NULL")
                    for name in names.split(","))
    found = [x for x in logs if x["eventName"] == "mcp_interposer.finding"]
    assert sorted((int(attributes(x)["mcp_interposer.seq"]), attributes(x)["mcp_interposer.finding"]) for x in found) == wanted and wanted
    errors = sorted((x for x in found if attributes(x)["mcp_interposer.finding"] == "tool-error"), key=lambda x: x["timeUnixNano"])
    assert errors[0]["traceId"] == PARENT[3:35] and errors[1]["traceId"] != PARENT[3:35], errors
    assert {x["spanId"] for x in errors} == {s["spanId"] for s in spans.values() if s["name"] == "tools/call broken"}
    assert all(attributes(x)["gen_ai.tool.name"] == "broken" for x in errors)
    assert {x["severityText"] for x in found} <= {"INFO", "WARN", "ERROR"} and found[0]["body"]["stringValue"]
    kinds = [k for k, in vault.rows("SELECT kind FROM events WHERE kind <> 'finding-added'")]
    events = [x for x in logs if x not in found]
    assert sorted(attributes(x)["mcp_interposer.event"] for x in events) == sorted(kinds) and "exit" in kinds
    assert all("spanId" not in x and len(x["traceId"]) == 32 for x in events if x["eventName"] == "mcp_interposer.exit")
    assert "SECRET" not in json.dumps(logs)
    # a finding that is added later, before and after the message was sent
    add = ("UPDATE messages SET finding = CASE WHEN finding IS NULL THEN 'crlf' ELSE finding || ',crlf' END WHERE session_id = 1 AND seq = ?",
           "INSERT INTO events (session_id, t_us, kind, detail) VALUES (1, 9999999, 'finding-added', ?)")
    for seq in (2, 3):
        vault.change(add[0], seq)
        vault.change(add[1], json.dumps({"seq": seq, "finding": "crlf"}))
    vault.change("UPDATE shipped SET complete = 0")
    n = len(logs)
    sent(vault.to(c.url(), "--once"))
    crlf = sorted(int(attributes(x)["mcp_interposer.seq"]) for x in c.logs()[n:])
    assert crlf == [2, 3] and len(c.spans()) == len(spans), crlf
    again = collector(t)
    sent(vault.to(again.url(), "--once"))
    assert len(again.logs()) == n + 2, "a finding twice, or not at all"


@case("a collector: durations as a histogram with delta temporality, whose intervals do not overlap", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(700))
    odd(vault, [call(1, "broken"), call(2, "error"), call(3, "fine"), call(4, "never")])
    sent(vault.to(c.url(), "--once"))
    spans = [s for s in c.spans() if attributes(s)["mcp_interposer.status"] != "open"]
    points = c.points()
    assert sum(int(p["count"]) for _, p in points) == len(spans) >= 703
    seconds = sum(int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"]) for s in spans) / 1e9
    assert abs(sum(p["sum"] for _, p in points) - seconds) < 1e-3
    last = {}
    for session, p in points:
        assert p["explicitBounds"] == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
        assert len(p["bucketCounts"]) == 15 and sum(map(int, p["bucketCounts"])) == int(p["count"])
        assert p["min"] <= p["sum"] / int(p["count"]) <= p["max"] and int(p["startTimeUnixNano"]) <= int(p["timeUnixNano"])
        stream = session, json.dumps(p["attributes"])
        assert last.get(stream, 0) <= int(p["startTimeUnixNano"]), "intervals overlap"
        last[stream] = int(p["timeUnixNano"])
    assert len(points) > len(last), "no session was in two batches"
    errors = {attributes(p)["gen_ai.tool.name"]: attributes(p).get("error.type") for _, p in points if "gen_ai.tool.name" in attributes(p)}
    assert errors["broken"] == "tool_error" and errors["error"] == "-32602" and errors["fine"] is None
    lasted = c.points("mcp.client.session.duration")
    ended = dict(vault.rows("SELECT uid, (ended_at_us - started_at_us) / 1e6 FROM sessions WHERE ended_at_us IS NOT NULL"))
    assert {uid: round(p["sum"], 6) for uid, p in lasted} == {uid: round(s, 6) for uid, s in ended.items()} and len(lasted) == len(ended) >= 2
    bounds = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 1e9]
    for _, p in points:
        filled = [i for i, n in enumerate(p["bucketCounts"]) if int(n)]
        assert bounds[filled[0]] <= p["min"] + 1e-9 and p["max"] <= bounds[filled[-1] + 1] + 1e-9, p


def node():
    """Installs the packages of this folder, as the suites of tests/support/npm.sh do."""
    here = Path(__file__).resolve().parent
    done = subprocess.run(["bash", "-c", ". ../support/npm.sh; need_node ship && npm_ci && echo installed"], cwd=here, capture_output=True,
                          text=True, timeout=DEADLINE)
    if done.stdout.startswith("skip"):
        raise Skip(done.stdout.splitlines()[0])
    assert done.stdout.endswith("installed\n"), done
    return here


@case("a collector: every request is decoded with the official .proto files", needs=None)
def _(t):
    here, c, vault = node(), collector(t), Vault(t.folder)
    odd(vault, [call(1, "fine", _meta={"traceparent": PARENT, "tracestate": "a=b"}), call(2, "broken"), call(3, "error"), call(4, "never"),
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}},
                {"jsonrpc": "2.0", "id": "x", "method": "resources/read", "params": {"uri": "file:///a"}}], "--check-arguments", "warn")
    vault.record(texts(20))
    sent(vault.to(c.url(), "--once"))
    done = subprocess.run(["node", here / "decode.cjs"], input="".join(json.dumps({"path": r["path"], "data": r["data"]}) + "\n"
                                                                      for r in c.requests), capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    decoded = [json.loads(line) for line in done.stdout.splitlines()]
    assert [d["path"] for d in decoded] == c.paths() and set(c.paths()) == {"/v1/traces", "/v1/logs", "/v1/metrics"}
    names = [n for d in decoded for n in d["names"]]
    assert sorted(n for n in names if not n.startswith("mcp")) == sorted(s["name"] for s in c.spans())
    assert names.count("mcp_interposer.finding") + names.count("mcp_interposer.exit") > 2 and "mcp.client.operation.duration" in names
    broken = json.dumps({"path": "/v1/traces", "data": {"resourceSpans": [{"scopeSpans": [{"spans": [{"kind": "CLIENT"}]}]}]}})
    assert subprocess.run(["node", here / "decode.cjs"], input=broken, capture_output=True, text=True, timeout=DEADLINE).returncode != 0


@case("a collector that takes spans only: a warning, and the spans arrive", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(1100))
    for path in ("/v1/logs", "/v1/metrics"):
        c.by_path[path] = (404, (), b"not here")
    said = sent(vault.to(c.url(), "--once"))
    assert seqs(c.spans()) == calls(vault) and missing(vault) == (0, 0, None, 0)
    assert said.count("no log records are sent") == 1 and said.count("no data points are sent") == 1, said
    assert [c.paths().count(f"/v1/{p}") for p in ("logs", "metrics")] == [1, 1]


@case("a collector that is busy: the same batch later, after Retry-After", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(3))
    for answer, least in ((429, 0.4), ((429, {"Retry-After": "3"}, b"{}"), 3), (502, 0.4), (503, 0.4), (504, 0.4), ("date", 3)):
        vault.record(texts(2))
        if answer == "date":
            answer = (503, {"Retry-After": formatdate(time.time() + 5, usegmt=True)}, b"")
        c.answers = [answer]
        start, n = time.monotonic(), len(c.requests)
        said = sent(vault.to(c.url(), "--once", *PATIENT))
        assert time.monotonic() - start >= least, f"{answer}: too early"
        assert f"HTTP {answer if isinstance(answer, int) else answer[0]}" in said, said
        assert c.requests[n]["data"] == c.requests[n + 1]["data"], "another batch"
        assert not c.answers
    assert seqs(c.spans()) == calls(vault)
    c.answers = [503] * 100
    vault.record(texts(1))
    assert vault.to(c.url(), "--once").returncode == 3
    assert missing(vault)[0] > 0 and "HTTP 503" in missing(vault)[2]
    start = time.monotonic()
    done = vault.to(c.url(), "--once", "--deadline", "2s")
    assert done.returncode == 3 and 1.5 < time.monotonic() - start < DEADLINE, done
    c.answers = []
    sent(vault.to(c.url(), "--once"))
    assert seqs(c.spans()) == calls(vault) and missing(vault) == (0, 0, None, 0)


@case("a collector that refuses a batch: reported, counted, not sent again, and the next one is sent", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(700))
    c.answers = [(400, (), b'{"message":"bad \\u001b[31mdata"}')]
    said = sent(vault.to(c.url(), "--once"), status=1)
    assert "HTTP 400: bad" in said and "512 spans were refused" in said and "\x1b" not in said, said
    assert len(c.spans()) == 701 - 512 and len(c.spans(taken=False)) == 701
    n = len(c.requests)
    sent(vault.to(c.url(), "--once"))
    assert len(c.requests) == n and missing(vault)[:2] == (0, 0)
    vault.record(texts(1))
    c.answers = [400]
    sent(vault.to(c.url(), "--once"), status=1)
    assert "2 spans were refused" in missing(vault)[2] and missing(vault)[:2] == (0, 0), missing(vault)
    for status in (413, 415, 422, 500):
        vault.record(texts(1))
        c.answers, n = [status], len(c.requests)
        sent(vault.to(c.url(), "--once"), status=1)
        assert len([r for r in c.requests[n:] if r["path"] == "/v1/traces"]) == 1, status


@case("a collector that takes a part: a warning with its message, and no second time", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(3))
    c.answers = [(200, (), b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"two are too old"}}')]
    said = sent(vault.to(c.url(), "--once"), status=1)
    assert "two are too old" in said and "2 spans" in said, said
    vault.record(texts(1))
    c.answers = [(200, (), b'{"partialSuccess":{"errorMessage":"use another port"}}')]
    assert "use another port" in sent(vault.to(c.url(), "--once"))
    assert seqs(c.spans()) == calls(vault)


@case("a collector that refuses this client: it ends with 1, and nothing is lost", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(3))
    for status, word in ((401, "OTEL_EXPORTER_OTLP_HEADERS"), (403, "OTEL_EXPORTER_OTLP_HEADERS"), (404, "check the URL"),
                         (307, "redirections")):
        c.answers = [(status, {"Location": "http://127.0.0.1:1/"} if status == 307 else {}, b"{}")]
        said = sent(vault.to(c.url(), "--once", *PATIENT), status=1)
        assert f"HTTP {status}" in said and word in said, said
        assert missing(vault)[0] == 8
    assert not c.spans()
    sent(vault.to(c.url(), "--once"))
    assert seqs(c.spans()) == calls(vault)


@case("a collector that cuts off, is slow, says 100 Continue, or never ends its answer", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)

    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        handler.close_connection = True
        return False

    def closed(handler):
        handler.close_connection = True
        return False

    def slow(handler):
        time.sleep(2)
        handler.answer(200)
        return True

    def goes_on(handler):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        handler.answer(200)
        return True

    def endless(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                handler.wfile.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        except OSError:
            handler.close_connection = True
        return True

    for answer in (cut, closed, slow, goes_on, endless):
        vault.record(texts(2))
        c.answers = [answer]
        sent(vault.to(c.url(), "--once", *PATIENT))
        assert not c.answers and seqs(c.spans()) == calls(vault), answer
    nobody = socket.create_server(("127.0.0.1", 0))
    t.cleanups.append(nobody.close)
    vault.record(texts(2))
    url = f"otlp+http://127.0.0.1:{nobody.getsockname()[1]}"
    start = time.monotonic()
    assert vault.to(url, "--once", "--deadline", "2s").returncode == 3
    assert time.monotonic() - start < DEADLINE, "the deadline was not kept"
    nobody.close()
    assert "127.0.0.1" in sent(vault.to(url, "--once"), status=3)


@case("a collector: headers and certificates from the environment; nothing secret in the vault and on stderr", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(2))
    vault.env["OTEL_EXPORTER_OTLP_HEADERS"] = "Authorization=Bearer%20s3cr3t-0123, x-scope = a%2Cb"
    c.answers = [503]
    said = sent(vault.to(c.url(), "--once", *PATIENT))
    headers = {k.lower(): v for k, v in c.requests[-1]["headers"].items()}
    assert headers["authorization"] == "Bearer s3cr3t-0123" and headers["x-scope"] == "a,b", headers
    assert headers["content-type"] == "application/json" and headers["user-agent"].startswith("mcp-interposer-ship/")
    files = [p for p in vault.path.rglob("*") if p.is_file()]
    assert "s3cr3t" not in said and files and not any(b"s3cr3t" in p.read_bytes() for p in files)
    for bad in ("nothing", "a b=c", "a=b%0d%0aX:y"):
        vault.env["OTEL_EXPORTER_OTLP_HEADERS"] = f"x=y,{bad}"
        said = sent(vault.to(c.url(), "--once"), status=3)
        assert "entry 2" in said and bad not in said, said
    del vault.env["OTEL_EXPORTER_OTLP_HEADERS"]
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    certificate(t.folder, "authority")
    certificate(t.folder, "localhost", "authority")
    tls = collector(t, certificate=(t.folder / "localhost.crt", t.folder / "localhost.key"))
    said = sent(vault.to(tls.url("localhost"), "--once"), status=3)
    assert "certificate" in said and not tls.requests, said
    vault.env["OTEL_EXPORTER_OTLP_CERTIFICATE"] = str(t.folder / "authority.crt")
    said = sent(vault.to(tls.url("127.0.0.1"), "--once"), status=3)     # the certificate has another name
    assert "subject name" in said and "'127.0.0.1'" in said, said
    assert not tls.requests
    sent(vault.to(tls.url("localhost"), "--once"))
    assert seqs(tls.spans()) == calls(vault)


@case("a collector: invalid URLs are rejected, and the error names both forms", needs=None)
def _(t):
    for url, word in (("mysql://db", "postgresql://ROLE@HOST/DATABASE or otlp+http://HOST:4318"), ("otlp://h", "otlp+http://HOST"),
                      ("otlp+http://", "no host"), ("otlp+http://me:secret@h", "OTEL_EXPORTER_OTLP_HEADERS"),
                      ("otlp+https://h/?key=secret", "must not contain ? or #"), ("otlp+http://h/a b", "a space")):
        done = subprocess.run([SHIP, "to", "--once", url], capture_output=True, text=True, env=environment(t.folder), timeout=DEADLINE)
        assert done.returncode == 2 and word in done.stderr and "secret" not in done.stderr, (url, done)


@case("a collector: prune keeps what was not sent there", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(3))
    vault.record(texts(3))
    config = t.folder / "config.ini"
    config.write_text(f"[ship]\nurl = {c.url()}\n")

    def prune():
        sent(vault.command("prune", "--config", config, "--keep-last", "1", "--yes"))
        return vault.rows("SELECT id FROM sessions")
    assert prune() == [(1,), (2,)], "what was not sent was removed"
    sent(vault.to(c.url(), "--once"))
    assert prune() == [(1,), (2,)], "sent less than an hour ago"
    vault.change("UPDATE shipped SET at_us = at_us - 3700000000")
    assert prune() == [(2,)] and vault.rows("SELECT session_id FROM shipped") == [(2,)]
    assert missing(vault) == (0, 0, None, 0)


@case("a collector: a vault whose cursors cannot be written gets them later, and nothing is sent again", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(5))
    sent(vault.to(c.url(), "--once"))
    vault.record(texts(5))
    db = sqlite3.connect(vault.path / "interposer.db", timeout=30, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    assert "locked" in sent(vault.to(c.url(), "--once"), status=3)
    n = len(c.spans())
    shipper = vault.follow(c.url(), "--once", *PATIENT)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: "locked" in shipper.said.read_text(), OUTAGE)
    assert len(c.spans()) == n + 6
    db.execute("ROLLBACK")
    db.close()
    assert shipper.wait(DEADLINE) == 0 and len(c.spans()) == n + 6, "sent again by the same process"
    assert seqs(c.spans(), once=False) == calls(vault) and missing(vault) == (0, 0, None, 0)
