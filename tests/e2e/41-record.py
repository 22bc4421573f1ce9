#!/usr/bin/env python3
"""How much is recorded: --record, and the rules of [redact] in the configuration."""
import json

import lib
from lib import call, case, check, eq, text_result

LONG = "word " * 40
TOKEN = "glpat-" + "aB3dE5fG7hJ9kL1mN3pQ"


def play(t, *options):
    """A call with content, a secret and a long result; stderr, noise and a log line."""
    p = t.proxy("--name", "demo", *options).initialize()
    p.client.send(call(1, "post", {"text": LONG, "query": LONG, "password": "quietword"}))
    p.server.recv()
    p.server.send(text_result(1, LONG + TOKEN))
    p.client.recv()
    p.server.say_err(b"said on stderr\n")
    p.server.send(b"said beside the protocol")
    lib.wait_until(lambda: t.messages("kind IN ('stderr', 'noise')")[1:], 30, "both lines are recorded")
    p.end()
    return p


def bodies(t):
    return {m.kind + str(m.seq): m.body for m in t.messages()}


def arguments(t):
    (m,) = t.messages("method = 'tools/call'")
    return json.loads(m.body)["params"]["arguments"]


def log_line(t):
    return [x for x in map(json.loads, t.log_lines()) if x["method"] == "tools/call"][-1]


@case("standard, the default: secrets are redacted, content of arguments is truncated, results are kept")
def _(t):
    play(t)
    eq(t.rows("SELECT record_level, json_extract(redact_rules, '$.version') FROM sessions"), [(b"standard", b"4.1")],
       "the session's row")
    eq(arguments(t), {"text": LONG[:50] + "… [+150 chars]", "query": LONG, "password": "[redacted:password]"}, "arguments")
    (m,) = t.messages("kind = 'result' AND request_seq > 2")
    eq(json.loads(m.body)["result"]["content"][0]["text"], LONG + "[redacted:gitlab-token]", "result")
    eq(log_line(t)["arguments"]["text"], LONG[:50] + "… [+150 chars]", "arguments of the log line")
    eq(t.rows("SELECT redactions FROM messages WHERE method = 'tools/call'"), [(2,)], "redactions")


@case("full: only secrets are redacted")
def _(t):
    play(t, "--record", "full")
    eq(t.rows("SELECT record_level FROM sessions"), [(b"full",)], "the session's row")
    eq(arguments(t), {"text": LONG, "query": LONG, "password": "[redacted:password]"}, "arguments")
    eq(log_line(t)["arguments"]["text"], LONG, "arguments of the log line")


@case("minimal: messages are recorded without bodies")
def _(t):
    play(t, "--record", "minimal")
    eq(t.rows("SELECT record_level FROM sessions"), [(b"minimal",)], "the session's row")
    kept = {k: v for k, v in bodies(t).items() if v is not None}
    eq(kept, {}, "bodies")
    eq(t.rows("SELECT DISTINCT kind FROM messages ORDER BY 1"),
       [(k,) for k in (b"noise", b"notification", b"request", b"result", b"stderr")], "kinds of messages")
    line = log_line(t)
    check("arguments" not in line and "result" not in line and line["tool"] == "post", f"log line {line}")
    for word in (b"word word", b"said on stderr", b"said beside"):
        for path in lib.files_below(t.vault):
            check(word not in lib.contents(path), f"{word} in {path.name}")
    r = t.run("replay", "--vault", t.vault)
    check(r.returncode != 0 and b"--record minimal" in r.stderr, f"replay: {r.returncode}, {r.stderr}")


@case("the level from the environment and the configuration")
def _(t):
    config = t.tmp / "config.ini"
    config.write_text("[proxy]\nrecord = minimal\n")
    t.proxy("--config", config).initialize().end()
    t.proxy("--config", config, env={"MCP_INTERPOSER_RECORD": "full"}).initialize().end()
    eq(t.rows("SELECT record_level FROM sessions ORDER BY id"), [(b"minimal",), (b"full",)], "levels")
    r = t.run("proxy", "--record", "some", "--", "true")
    eq((r.returncode, b"--record: invalid value 'some': use full|standard|minimal" in r.stderr), (2, True), f"{r.stderr}")


@case("an invalid rule in [redact] is an error with file and line for every command, and no server is started")
def _(t):
    config = t.tmp / "config.ini"
    for line, says in (("keyz = a", "unknown rule 'keyz'"), ("keys = ,!", "invalid name '!'"),
                       ("pattern.x = [a-", "missing"), ("pointer = a/b", "'a/b' is not a JSON pointer")):
        config.write_text(f"[redact]\nkeep = a\n{line}\n")
        for command in (["proxy", "--", "touch", str(t.tmp / "started")], ["sessions"], ["replay"]):
            r = t.run(command[0], "--config", config, "--vault", t.vault, *command[1:])
            eq(r.returncode, 2, f"status of {command[0]} with {line}")
            text = r.stderr.decode()
            check(f"{config}:3: " in text and says in text, f"{command[0]} with {line}: {text}")
    check(not (t.tmp / "started").exists(), "a server was started")


@case("the session records the configured rules, and a replay uses them")
def _(t):
    config = t.tmp / "config.ini"
    config.write_text("[redact]\nkeys = badge_no\npattern.ticket = T-[0-9]{4}\n")
    p = t.proxy("--config", config, "--name", "demo").initialize()
    question = call(1, "open", {"badge_no": "quietword", "door": "T-1234", "text": LONG})
    p.client.send(question)
    p.server.recv()
    p.server.send(text_result(1, "opened T-1234"))
    p.client.recv()
    p.end()
    (rules,) = t.rows("SELECT redact_rules FROM sessions")[0]
    eq(json.loads(rules)["rules"], [["keys", "badge_no"], ["pattern.ticket", "T-[0-9]{4}"]], "rules")
    r = t.run("replay", "--vault", t.vault, input=question + b"\n" + call(2, "open", {
        "badge_no": "other", "door": "T-4321", "text": LONG[:-1] + "!"}) + b"\n")     # equal as far as it was kept
    eq([json.loads(x)["result"]["content"][0]["text"] for x in r.stdout.splitlines()],
       ["opened [redacted:ticket]"] * 2, f"answers; {r.stderr}")


@case("escalations and cassettes contain no secret, and with minimal no text of a message")
def _(t):
    for level in ("full", "minimal"):
        p = t.proxy("--record", level, "--name", level).initialize()
        p.server.say_err(f"token is {TOKEN}\n".encode())
        p.client.send(call(1, "fetch", {"query": f"loudword {TOKEN}", "api_key": "quietword"}))
        p.server.recv()
        p.server.send(lib.error(1, -32000, f"401 Unauthorized: {TOKEN} loudword"))
        p.client.recv()
        lib.wait_until(lambda: list(t.vault.glob(f"Escalations/*-auth-{level}.md")), 30, "the escalation")
        p.end()
        (path,) = t.vault.glob(f"Escalations/*-auth-{level}.md")
        text = path.read_text()
        check(TOKEN not in text and "quietword" not in text, f"a secret in {text}")
        eq("loudword" in text, level == "full", f"words of a message in {text}")
        eq("[redacted:gitlab-token]" in text, level == "full", f"the mark in {text}")
    r = t.run("export", "--vault", t.vault, "1")
    check(r.returncode == 0 and b"loudword" in r.stdout, f"{r.stderr}")
    check(TOKEN.encode() not in r.stdout and b"quietword" not in r.stdout, "a secret in the cassette")


lib.main()
