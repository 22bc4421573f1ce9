#!/usr/bin/env python3
"""Forms that ask for a secret: the finding, and nothing of the answer in anything that is stored."""
import json
import os

import lib
from lib import case, check, eq, request, result
from replaying import Replay

SECRET, PIN = "hunter2-of-Ada", 48151623
INFO = {"name": "c", "version": "1"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": INFO,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
# The names of the fields say nothing.
FORM = {"mode": "form", "message": "Sign in", "requestedSchema": {"type": "object", "properties": {
    "a": {"type": "string", "title": "User"}, "b": {"type": "string", "title": "Your password"},
    "c": {"type": "integer", "description": "The PIN of the card"}}}}
FILLED = {"action": "accept", "content": {"a": "Ada", "b": SECRET, "c": PIN}}
RECORDED = {"action": "accept", "content": {"a": "Ada", "b": "[redacted:form]", "c": "[redacted:form]"}}


def nothing_stored(t, *places):
    """No file has the secret: vault, journals, what commands wrote."""
    read = 0
    for top in (t.vault, t.journals, *places):
        for folder, _, names in os.walk(top):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    data = f.read()
                read += len(data)
                for secret in (SECRET.encode(), str(PIN).encode()):
                    check(secret not in data, f"{secret} is in {folder}/{name}")
    return read


def through(sender, receiver, line):
    sender.send(line)
    receiver.expect(line)


def sign_in(p, id, form=FORM):
    """The server asks, and the client answers with the secrets, which the server gets."""
    through(p.server, p.client, request(id, "elicitation/create", form))
    through(p.client, p.server, result(id, FILLED))


def bodies(t, where):
    return [json.loads(m.body) for m in t.messages(where)]


@case("a form of 2025-06-18 and 2025-11-25: the server gets the secret, the record does not")
def _(t):
    for version in ("2025-06-18", "2025-11-25"):
        form = {k: v for k, v in FORM.items() if k != "mode" or version == "2025-11-25"}
        p = t.proxy().initialize(version, capabilities={"tools": {}})
        sign_in(p, 7, form)
        lib.settle()
        nothing_stored(t)
        p.end()
    lib.recorders_ended(t.vault)
    check(nothing_stored(t) > 10000, "the vault was read")
    eq(bodies(t, "request_seq IS NOT NULL AND direction = 'c2s'"), [{"jsonrpc": "2.0", "id": 7, "result": RECORDED}] * 2, "the answers")
    asked = t.messages("method = 'elicitation/create'")
    check(all("secret-in-form" in m.finding.decode() for m in asked), f"the finding: {[m.finding for m in asked]}")
    eq([m.redactions for m in t.messages("request_seq IS NOT NULL AND direction = 'c2s'")], [2, 2], "the number of secrets")
    (t.tmp / "out").mkdir()
    for form in ("cassette", "html", "markdown", "csv"):
        t.run("export", "--vault", t.vault, "--format", form, "--output", t.tmp / "out" / form)
    check(nothing_stored(t, t.tmp / "out") > 0, "the exported files were read")
    found = t.run("check", "--vault", t.vault, "--json").stdout
    check(b"secret-in-form" in found and SECRET.encode() not in found, "check tells it")


@case("after kill -9 of all processes the journal has no secret, and what it leaves has none")
def _(t):
    p = t.proxy().initialize("2025-11-25")
    sign_in(p, 1)
    p.die(all_of_it=True)
    check(nothing_stored(t) > 0, "the journal was read")
    t.run("sessions", "--vault", t.vault)
    nothing_stored(t)
    eq(bodies(t, "direction = 'c2s' AND kind = 'result'"), [{"jsonrpc": "2.0", "id": 1, "result": RECORDED}], "the answer")


@case("an answer that comes too late, and one to a request that nobody made")
def _(t):
    p = t.proxy().initialize("2025-11-25")
    through(p.server, p.client, request(3, "elicitation/create", FORM))
    through(p.server, p.client, lib.note("notifications/cancelled", {"requestId": 3}))
    p.client.send(result(3, FILLED), result(4, FILLED))
    p.client.send(request("end"))
    while p.server.recv_json()["id"] != "end":
        pass
    through(p.server, p.client, result("end"))
    p.end()
    lib.recorders_ended(t.vault)      # which removes files
    nothing_stored(t)
    late, unknown = [m["result"]["content"] for m in bodies(t, "direction = 'c2s' AND kind = 'result'")]
    eq(late, RECORDED["content"], "only the secrets")
    eq(unknown, dict.fromkeys("abc", "[redacted:form]"), "all fields: nobody knows what was asked")


@case("answers that are not valid, forwarded or not, are recorded without the secret")
def _(t):
    answer = {"jsonrpc": "2.0", "id": 3, "result": FILLED}
    bad = [json.dumps(m) for m in (
        {"id": 3, "result": FILLED},
        {**answer, "error": {"code": 1, "message": "x"}},
        {**answer, "method": "x"})]
    bad += [json.dumps(answer)[:-1], json.dumps(answer) + "]", json.dumps(answer).replace('"id": 3', '"id": 3, "id": 3')]
    for more in ((), ("--validate", "none")):
        p = t.proxy(*more).initialize("2025-11-25")
        through(p.server, p.client, request(3, "elicitation/create", FORM))
        p.client.send(*(line.encode() for line in bad), request("end"))
        while p.server.recv() != request("end"):
            pass
        p.server.send(result("end"))
        while p.client.recv() != result("end"):
            pass
        p.end()
    check(nothing_stored(t) > 0, "the vault was read")


def call(id, **more):
    return request(id, "tools/call", {"_meta": META, "name": "pay", "arguments": {}, **more})


def asks(id):
    return result(id, {"resultType": "input_required", "requestState": "s", "inputRequests": {
        "k": {"method": "elicitation/create", "params": FORM}}})


@case("2026-07-28: inputRequests and the retry, also when the server hangs with it and is killed")
def _(t):
    p = t.proxy("--on-hang", "kill-now", "--timeout", "1s", "--max-timeout", "1s").initialize("2025-11-25")
    through(p.client, p.server, call(1))
    through(p.server, p.client, asks(1))
    retry = call(2, requestState="s", inputResponses={"k": FILLED})
    through(p.client, p.server, retry)
    eq(p.client.recv_json(seconds=20)["error"]["data"]["cause"], "hang", "the server is killed")
    p.end(status=124)
    lib.recorders_ended(t.vault)
    nothing_stored(t)
    texts = [f.read_text() for f in (t.vault / "Escalations").iterdir() if f.suffix == ".md"]
    check(any("[redacted:form]" in text for text in texts), f"the escalation shows the request without the secrets: {texts}")
    (again,) = bodies(t, "rpc_id = '2' AND direction = 'c2s'")
    eq(again["params"]["inputResponses"], {"k": RECORDED}, "the retry")
    eq(t.messages("rpc_id = '1' AND direction = 's2c'")[0].finding.decode().split(",")[-1], "secret-in-form", "the finding")


@case("2026-07-28: a replay answers the retry with the recorded answer")
def _(t):
    p = t.proxy()
    through(p.client, p.server, call(1))
    through(p.server, p.client, asks(1))
    through(p.client, p.server, call(2, requestState="s", inputResponses={"k": FILLED}))
    through(p.server, p.client, result(2, {"resultType": "complete", "content": [{"type": "text", "text": "paid"}]}))
    p.end()
    lib.recorders_ended(t.vault)      # which removes files
    nothing_stored(t)
    replay = Replay(t)
    eq(replay.ask(call(1))["result"]["resultType"], "input_required", "the question")
    eq(replay.ask(call(2, requestState="s", inputResponses={"k": FILLED}))["result"]["content"][0]["text"], "paid", "the answer")
    replay.end()
    nothing_stored(t)


@case("what only looks like a secret is recorded as it is, and has no finding")
def _(t):
    p = t.proxy().initialize("2025-11-25")
    form = {**FORM, "requestedSchema": {"type": "object", "properties": {
        "max_tokens": {"type": "integer"}, "pinned": {"type": "string"}, "show_password": {"type": "boolean"},
        "policy": {"type": "string", "title": "Password policy"}}}}
    filled = {"action": "accept", "content": {"max_tokens": 5, "pinned": "top", "show_password": True, "policy": "strict"}}
    through(p.server, p.client, request(1, "elicitation/create", form))
    through(p.client, p.server, result(1, filled))
    p.end()
    eq(bodies(t, "direction = 'c2s' AND kind = 'result'"), [{"jsonrpc": "2.0", "id": 1, "result": filled}], "the answer")
    check(all(b"secret-in-form" not in (m.finding or b"") for m in t.messages()), "no finding")


lib.main()
