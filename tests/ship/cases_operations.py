"""Operations at the store: calls that were several requests, as in the vault's table, from whatever messages are there."""
import json
import random
import subprocess
import sys
import time

from cases import LONG, case, same, sent
from cases_calls import Device, commit, store_1
from cluster import DEADLINE
from vaults import PROGRAM, Vault

# Sends what follows each line of the client: the next list of the script.
SERVER = "import json, sys\nfor line, said in zip(sys.stdin, json.loads(sys.argv[1])):\n    print(*map(json.dumps, said), sep='\\n', end='\\n' * len(said[:1]), flush=True)"
ASK = {"inputRequests": {"who": {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}}}}}
ANSWER = {"inputResponses": {"who": {"action": "accept", "content": {"n": "Ada"}}}}
RELATED = "io.modelcontextprotocol/related-task"
COLUMNS = "requests, asked, status, closing_seq, error_code, duration_us, server_us, person_us"


def request(id, method, params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id, name, **more):
    return request(id, "tools/call", {"name": name, "arguments": {}, **more})


def result(id, **members):
    return {"jsonrpc": "2.0", "id": id, "result": members}


def notified(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def asks(id, state, **more):
    return result(id, resultType="input_required", requestState=state, **ASK, **more)


def retry(id, name, state):
    return call(id, name, requestState=state, **ANSWER)


def conversation():
    """[(what the client sends, what the server sends then)]: input, an error, tasks of both revisions, and what is never answered."""
    task = {"taskId": "7", "ttlMs": None}
    return [
        (call(1, "plain"), [result(1, content=[])]),
        (call(2, "book"), [asks(2, "s")]), (retry(3, "book", "s"), [asks(3, "t")]), (call(4, "plain"), [result(4, content=[])]),
        (retry(5, "book", "t"), [result(5, content=[], isError=True)]),
        (call(6, "film"), [result(6, resultType="task", status="working", **task)]),
        (request(7, "tasks/get", {"taskId": "7"}), [result(7, status="input_required", **task, **ASK)]),
        (request(8, "tasks/update", {"taskId": "7", **ANSWER}), [result(8, resultType="complete")]),
        (request(9, "tasks/get", {"taskId": "7"}), [result(9, status="completed", result={"content": []}, **task)]),
        (call(10, "book"), [asks(10, "u")]), (retry(11, "book", "u"), [{"jsonrpc": "2.0", "id": 11, "error": {"code": -7, "message": "no"}}]),
        (call(12, "old", task={}), [result(12, task={"taskId": "8", "status": "working"}),
                                    request(1, "elicitation/create", {"message": "?", "_meta": {RELATED: {"taskId": "8"}}})]),
        (result(1, action="decline"), [notified("notifications/tasks/status", taskId="8", status="completed")]),
        (request(13, "tasks/result", {"taskId": "8"}), [result(13, content=[])]),
        (call(14, "book"), [asks(14, "x")]), (call(15, "book"), [asks(15, "x")]), (retry(16, "book", "x"), [result(16, content=[])]),
    ]


def talk(vault, steps):
    with subprocess.Popen([PROGRAM, "proxy", "--vault", vault.path, "--name", "desk", "--", sys.executable, "-c", SERVER,
                           json.dumps([said for _, said in steps])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=vault.env) as p:
        for asked, said in steps:
            print(json.dumps(asked), file=p.stdin, flush=True)
            for _ in said:
                assert p.stdout.readline(), asked
        p.stdin.close()
        p.wait(DEADLINE)


def rows(t, sql, role="admin"):
    return [json.loads(x) for x in t.cluster.psql(f"SELECT row_to_json(x) FROM ({sql}) AS x", role).splitlines()]


def of_vault(vault):
    """{(uid, seq): row} of its operations, and {(uid, seq): operation_seq} of the requests that continue one."""
    found = vault.rows(f"SELECT s.uid, o.id & 68719476735, {', '.join('o.' + c for c in COLUMNS.split(', '))} FROM operations o "
                       "JOIN sessions s ON s.id = o.id >> 36")
    more = vault.rows("SELECT s.uid, c.id & 68719476735, c.operation_seq FROM calls c JOIN sessions s ON s.id = c.id >> 36 "
                      "WHERE c.operation_seq IS NOT NULL")
    return {r[:2]: r[2:] for r in found}, {r[:2]: r[2] for r in more}


def compare(expected, found):
    wrong = [(k, expected.get(k), found.get(k)) for k in sorted({*expected, *found}) if expected.get(k) != found.get(k)]
    assert not wrong, wrong[:5]


def compare_views(t, vault, role="admin"):
    operations, requests = of_vault(vault)
    compare(operations, {(r["session_uid"], r["seq"]): tuple(r[c] for c in COLUMNS.split(", "))
                         for r in rows(t, "SELECT * FROM mcp_interposer.operations", role)})
    compare(requests, {(r["session_uid"], r["seq"]): r["operation_seq"]
                       for r in rows(t, "SELECT * FROM mcp_interposer.operation_requests", role)})
    return operations, requests


@case("operations: the view has the rows of the vault's table, and each request that continues one")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    t.cluster.psql("CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader")
    talk(vault, conversation())
    talk(vault, conversation()[:1])
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    operations, requests = compare_views(t, vault, "reads_all")
    assert sorted((r[:3], r[4]) for r in operations.values()) == [
        ((1, 1, "open"), None), ((1, 1, "open"), None), ((2, 1, "error"), -7), ((2, 1, "ok"), None), ((3, 2, "tool-error"), None),
        ((4, 1, "ok"), None)], operations
    assert len(requests) == 8, requests
    named = rows(t, "SELECT device, host, server, client, method, tool, at = (SELECT c.at FROM mcp_interposer.calls c "
                    "WHERE (c.session_uid, c.seq) = (o.session_uid, o.seq)) AS same FROM mcp_interposer.operations o ORDER BY o.seq LIMIT 2")
    assert [(r["device"], r["server"], r["method"], r["tool"], r["same"]) for r in named] == [
        ("laptop", "desk", "tools/call", "book", True), ("laptop", "desk", "tools/call", "film", True)], named
    # calls of tools, each once: docs/fleet-schema.md
    once = rows(t, "SELECT c.tool, count(*) AS n FROM mcp_interposer.calls c LEFT JOIN mcp_interposer.operation_requests o "
                   "USING (session_uid, seq) WHERE o.operation_seq IS NULL GROUP BY 1 ORDER BY 1")
    assert [(r["tool"], r["n"]) for r in once] == [("book", 5), ("film", 1), ("old", 1), ("plain", 3)], once
    # the session without operations is not read
    assert t.cluster.psql("SELECT count(*), count(link_seq) FROM mcp_interposer.sessions") == "2\t1"
    for name in ("operations", "operation_requests", "operations_in('', 0)", "links_in('', 0)"):
        assert "permission denied" in t.cluster.psql(f"SELECT * FROM mcp_interposer.{name}", "laptop", check=False), name


def random_task(dice):
    status = dice.choice(("working", "working", "input_required", "completed", "failed", "cancelled"))
    more = random_asks(dice) if status == "input_required" else {"result": {"isError": dice.choice((True, False))}} if status == "completed" else {}
    return {"taskId": dice.choice("1234"), "status": status, **more}


def random_asks(dice):
    one, two = ({"method": dice.choice(("elicitation/create", "roots/list", "sampling/createMessage"))} for _ in range(2))
    return dice.choice(({}, {"inputRequests": {"k": one}}, {"inputRequests": {"k": one, "l": two}}, {"inputRequests": [one]}))


def random_request(dice, id):
    kind = dice.choice(("call", "call", "call", "task", "task", "ask"))
    if kind == "task":
        more = dice.choice(({}, {}, {"inputResponses": {}}))
        return request(id, dice.choice(("tasks/get", "tasks/get", "tasks/update", "tasks/result", "tasks/cancel")),
                       {"taskId": dice.choice("1234"), **more})
    if kind == "ask":
        return request(id, "elicitation/create", {"message": "?", "_meta": {RELATED: {"taskId": dice.choice("123")}}})
    state, answer = dice.choice(({}, {"requestState": dice.choice("stué")})), dice.choice(({}, ANSWER))
    return request(id, "tools/call", {"name": dice.choice("ab"), **state, **answer})


def random_answer(dice, id):
    kind = dice.choice(("error", "asks", "asks", "asks", "starts", "started", "state", "state", "done"))
    return {"error": lambda: {"jsonrpc": "2.0", "id": id, "error": {"code": -5, "message": ""}},
            "asks": lambda: result(id, resultType="input_required", **dice.choice(({}, {"requestState": dice.choice("stué")})), **random_asks(dice)),
            "starts": lambda: result(id, resultType="task", **random_task(dice)),
            "started": lambda: result(id, task=random_task(dice)),
            "state": lambda: result(id, resultType="complete", **random_task(dice)),
            "done": lambda: result(id, content=[], isError=dice.choice((True, False)))}[kind]()


def random_session(dice, n):
    """Messages of both sides: [(microseconds, direction, message)]."""
    messages, waiting, t = [], {"c2s": [], "s2c": []}, 0
    while len(messages) < n:
        t += dice.choice((0, 1, 7, 3000))
        side = dice.choice(("c2s", "c2s", "c2s", "s2c"))
        other = "s2c" if side == "c2s" else "c2s"
        kind = dice.choice(("ask", "ask", "answer", "answer", "answer", "cancel") if waiting[other] else ("ask", "ask", "ask", "note"))
        if kind == "ask":
            waiting[side].append(len(messages))
            messages.append((t, side, random_request(dice, len(messages))))
        elif kind == "note":
            messages.append((t, side, notified(dice.choice(("notifications/tasks", "notifications/tasks/status")), **random_task(dice))))
        else:
            id = waiting[other].pop(dice.randrange(len(waiting[other])))
            messages.append((t, side, random_answer(dice, id)) if kind == "answer" or dice.random() < 0.5 else
                            (t, other, notified("notifications/cancelled", requestId=id)))
    return messages


def many_waiting(n):
    """More calls than are kept wait for input, and then all get it."""
    first = [x for i in range(n) for x in ((i, "c2s", call(i, "book")), (i, "s2c", asks(i, f"s{i}")))]
    return first + [x for i in range(n) for x in ((n + i, "c2s", retry(n + i, "book", f"s{i}")), (n + i, "s2c", result(n + i, content=[])))]


def load(vault, messages):
    """Imports a session."""
    file = vault.home / "session.jsonl"
    head = {"format": "mcp-interposer-cassette", "version": 1, "name": "desk", "started_at_us": time.time_ns() // 1000}
    file.write_text("".join(json.dumps(x) + "\n" for x in (
        head, *({"t": at, "dir": side, "msg": m} for at, side, m in messages), {"end": True, "messages": len(messages)})))
    done = vault.command("import", file)
    assert done.returncode == 0, done.stderr


@case("operations: the store links any conversation as the vault does")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    for seed in range(200 if LONG else 30):
        load(vault, random_session(random.Random(seed), 60))
    load(vault, random_session(random.Random(1000), 800))
    sent(vault.to(url, "--once"))
    found = rows(t, "SELECT s.uid, o.* FROM mcp_interposer.sessions s, mcp_interposer.operations_in(s.uid, s.link_seq) AS o")
    operations, requests = of_vault(vault)
    compare(operations, {(r["uid"], r["seq"]): tuple(r[c] for c in COLUMNS.split(", ")) for r in found if r["operation_seq"] is None})
    compare(requests, {(r["uid"], r["seq"]): r["operation_seq"] for r in found if r["operation_seq"] is not None})
    assert len(operations) > 200 and len(requests) > 150, (len(operations), len(requests))
    assert {r[2] for r in operations.values()} == {"ok", "tool-error", "error", "cancelled", "open"}
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.operations") == "0"      # they are imported


@case("operations: the last 256 of a session may go on, and older ones stay open")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    load(vault, many_waiting(260))
    sent(vault.to(url, "--once"))
    found = rows(t, "SELECT o.* FROM mcp_interposer.sessions s, mcp_interposer.operations_in(s.uid, s.link_seq) AS o ORDER BY o.seq")
    assert [(r["seq"], r["requests"], r["status"]) for r in found if r["operation_seq"] is None] == [
        (2 * i + 1, 1 if i < 4 else 2, "open" if i < 4 else "ok") for i in range(260)]
    assert [(r["seq"], r["operation_seq"]) for r in found if r["operation_seq"]] == [(521 + 2 * i, 2 * i + 1) for i in range(4, 260)]


def message(seq, kind, body, of=None, **more):
    direction = "s2c" if kind == "result" or kind == "notification" else "c2s"
    m = {"seq": seq, "t_us": 10 * seq, "origin": "peer", "size": 1, "redactions": 0, "action": "forwarded", "kind": kind, "direction": direction,
         "request_seq": of, "body": body if isinstance(body, str) else json.dumps(body), **more}
    if kind == "request":
        m |= {"method": body["method"] if isinstance(body, dict) else "tools/call", "target": "book"}
    commit(m)
    return m


def genuine(first, state, **more):
    """Four messages: a call that asks for input, and gets it."""
    return [message(first, "request", call(first, "book")), message(first + 1, "result", asks(first, state, **more), first),
            message(first + 2, "request", call(first + 2, "book", requestState=state, text="\0 \ud800", **ANSWER)),
            message(first + 3, "result", result(first + 2, content=[]), first + 2)]


def hostile_bodies():
    many = {str(i): {"method": "elicitation/create"} for i in range(50_000)}
    inside = '{"jsonrpc":"2.0","method":"tasks/get","result":%s,"params":%s}'
    values = ["null", "5", '"taskId"', '["taskId"]', '{"taskId":null}', '{"taskId":{"taskId":[]}}', '{"task":{"taskId":"t","status":{}}}',
              '{"task":["taskId"]}', '{"taskId":"t","status":"input_required","inputRequests":5}', '{"taskId":"\\u0000","status":"\\ud800"}',
              '{"taskId":"t","status":"completed","result":[1]}', '{"inputRequests":[1,null,[],{"method":["x"]}],"resultType":"input_required"}',
              '{"resultType":"input_required","requestState":%s}' % json.dumps("s" * 300_000), '{"inputResponses":[],"requestState":7}',
              '{"_meta":{"%s":["taskId"]}}' % RELATED, '{"_meta":[],"requestState":{},"taskId":1e999}',
              '{"resultType":"input_required","inputRequests":%s}' % json.dumps(many)]
    return ["taskId", "", "{\"taskId\"", "[" * 100_000 + '"taskId"', '{"taskId":' * 100_000, '"\\ud8zz taskId \\u0000"', '"\\u00',
            *(inside % (v, v) for v in values)]


@case("operations: no body, no time and no number of open requests makes the query fail")
def _(t):
    device, least = Device(t, random.Random(3)), -2 ** 63
    uid = device.begin(False)
    messages = genuine(1, "s" * 100_000)
    for body in hostile_bodies():
        for kind in ("request", "result", "notification"):
            seq = len(messages) + 1
            messages.append(message(seq, kind, body, seq - 1 if kind == "result" else None))
    at = len(messages) + 1
    messages += genuine(at, "é\\u00e9")
    for seq, time_us in enumerate((least, 2 ** 63 - 10 ** 16, least, 2 ** 63 - 10 ** 16), len(messages) + 1):
        body = call(seq, "late", requestState="far", **ANSWER) if time_us == least else asks(seq - 1, "far")
        messages.append(message(seq, "request" if time_us == least else "result", body, None if time_us == least else seq - 1, t_us=time_us))
    first = len(messages) + 1
    messages.append(message(first, "request", call(first, "film")))
    messages.append(message(first + 1, "result", result(first, resultType="task", taskId="many", status="working"), first))
    messages += [message(first + 2 + i, "request", request(i, "tasks/get", {"taskId": "many"})) for i in range(1500)]
    messages += [message(first + 1502 + i, "result", result(i, taskId="many", status="working"), first + 2 + i) for i in range(1500)]
    for n in range(0, len(messages), 50):
        device.send(uid, messages[n:n + 50], False)
    found = {r["seq"]: r for r in rows(t, "SELECT * FROM mcp_interposer.operations")}
    requests = {r["seq"]: r["operation_seq"] for r in rows(t, "SELECT * FROM mcp_interposer.operation_requests")}
    for seq in (1, at):
        assert (found[seq]["requests"], found[seq]["status"], found[seq]["duration_us"], requests[seq + 2]) == (2, "ok", 30, seq), found[seq]
    assert (found[first]["requests"], found[first]["status"]) == (1501, "open"), found[first]
    assert any(r["asked"] == 256 for r in found.values()), found
    # their names may have escapes
    uid = device.begin(False)
    escaped = genuine(1, "s")
    for m in escaped[1:3]:
        m["body"] = m["body"].replace("input_required", "input\\u005frequired").replace("requestState", "request\\u0053tate")
        m["body"] = m["body"].replace("inputRe", "inp\\u0075tRe")
        commit(m)
    device.send(uid, escaped, False)
    assert t.cluster.psql(f"SELECT seq, requests FROM mcp_interposer.operations WHERE session_uid = '{uid}'") == "1\t2"


@case("operations: ship init adds them to a store of version 1, for those who may read it", months=True)
def _(t):
    device, _ = store_1(t)
    uids = [device.begin(old=True) for _ in range(2)]
    for uid in uids:
        device.send(uid, genuine(1, "s"), old=True)
    t.cluster.psql(f"UPDATE mcp_interposer.sessions SET protocol_version = '2026-07-28' WHERE uid = '{uids[0]}'")
    t.init()
    t.init()
    count = "SELECT session_uid, seq, requests FROM mcp_interposer.operations"
    assert t.cluster.psql(count, "team") == f"{uids[0]}\t1\t2"      # of the other one, no revision with operations is known
    assert t.cluster.psql("SELECT seq, operation_seq FROM mcp_interposer.operation_requests", "team") == "3\t1"
    after = device.begin(old=True)
    device.send(after, genuine(1, "s"), old=True)
    assert t.cluster.psql(f"{count} WHERE session_uid = '{after}'", "team") == f"{after}\t1\t2"
    t.cluster.psql("DELETE FROM mcp_interposer.readers")
    assert t.cluster.psql(count, "team") == ""


@case("operations: level = minimal has no bodies, and so none")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    talk(vault, conversation())
    sent(vault.to(url, "--once", "--level", "minimal"))
    assert t.cluster.psql("SELECT count(*), count(link_seq) FROM mcp_interposer.sessions") == "1\t0"
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.operations") == "0"
