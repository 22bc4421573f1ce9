#!/usr/bin/env python3
"""Hostile names and texts: nothing is written outside the vault, no log line is forged, no terminal gets raw controls."""
import json
import os
import re

import lib
from lib import case, check, eq, fake, note, one_of, request
from looking import on_terminal

# As JSON text, so that escapes stay escapes and raw bytes stay raw.
NAMES = [
    '"../../../../tmp/e2e-evil"', '"/etc/passwd"', '"..\\\\..\\\\x"', '"a/b/c"', '"."', '".."', '""', '"-rf"', '"--help"',
    '"$(touch e2e-evil)"', '"`touch e2e-evil`"', '"; touch e2e-evil"', '"a\\nb"', '"a\\r\\nb"',
    '"x\\"}\\n{\\"time\\":\\"2020-01-01T00:00:00Z\\",\\"tool\\":\\"forged\\"}"',
    '"\\u001b[31mred\\u001b[0m"', '"\\u001b]0;title\\u0007"', '"\\u001b[2J\\u001b[H"', '"\\u0000"', '"nul\\u0000after"',
    '"\\u009b31mC1"', '"\x9b31mC1 raw"', '"\\u0085nel"', '"\x85nel raw"', '"\\u007fdel"', '"\x7fdel raw"',
    '"\\u202eevil"', '"\u202eevil raw"', '"\\u2066iso\\u2069"', '"\u2067iso raw"', '"\\u200fmark"', '"\u2028line raw"', '"\u2029para raw"',
    '"\\u2028line"', '"\\ud800lone"', '"\\udfff\\ud800"', '"\\b\\f\\t"', '"%s%n%x"', '"\ufeffbom"', '"😀 é 日本"',
    '"' + "n" * 5000 + '"', '"' + "../" * 1000 + '"', '"\\\\"', '"\\\\\\""', '"\'; DROP TABLE messages; --"',
]
# What may reach a terminal: newlines and printable text.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def no_raw_controls(data, what):
    text = data.decode("utf-8", "strict") if isinstance(data, bytes) else data
    m = FORBIDDEN.search(text)
    if m:
        raise lib.Failure(f"{what}: a raw U+{ord(m.group()):04X} in {text[max(0, m.start() - 60):m.start() + 20]!r}")


def tree(t):
    """Every file below the case's folder but those in the vault."""
    return {str(p.relative_to(t.tmp)) for p in t.tmp.rglob("*") if not str(p).startswith(str(t.vault))}


def line(text):
    return text.encode("utf-8", "surrogatepass")


def hostile_session(t, **more):
    """A session in which every name that can be said is hostile."""
    p = t.proxy(*more.pop("options", ()), cwd=t.home, **more)
    p.open = []          # ids of the requests that stay open
    n = 0

    def ask(text, answer):
        nonlocal n
        n += 1
        ask_line = line(text.replace("ID", str(n)))
        p.client.send(ask_line)
        p.server.expect(ask_line)
        answer_line = line(answer.replace("ID", str(n)))
        p.server.send(answer_line)
        p.client.expect(answer_line)

    for i, name in enumerate(NAMES[:12] if more.pop("short", False) else NAMES):
        if i % 9 == 0:
            ask('{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":%s,"capabilities":{},'
                '"clientInfo":{"name":%s,"version":%s}}}' % ((name,) * 3),
                '{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":%s,"capabilities":{},'
                '"serverInfo":{"name":%s,"version":%s}}}' % ((name,) * 3))
        ask('{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":%s,"arguments":{%s:%s}}}' % ((name,) * 3),
            '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":%s}],"isError":true}}' % name)
        ask('{"jsonrpc":"2.0","id":ID,"method":"resources/read","params":{"uri":%s}}' % name,
            '{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":%s,"data":%s}}' % (name, name))
        ask('{"jsonrpc":"2.0","id":ID,"method":%s,"params":{"name":%s}}' % (name, name),
            '{"jsonrpc":"2.0","id":ID,"result":{%s:%s}}' % (name, name))
        if len(name) > 2000:
            continue         # an id has a limit
        ask_id = line('{"jsonrpc":"2.0","id":"x%s,"method":"prompts/get","params":{"name":%s}}' % (name[1:], name))
        p.client.send(ask_id)
        p.server.expect(ask_id)
        p.open.append(line('"x' + name[1:]))
        unknown = line('{"jsonrpc":"2.0","id":"y%s,"result":{}}' % name[1:])
        p.server.send(unknown, note("fence"))
        p.client.expect(note("fence"))
        p.client.send(line('{"jsonrpc":"2.0","id":"z%s,"method":%s,"method":%s}' % (name[1:], name, name)))
        eq(p.client.recv_json()["error"]["code"], -32600, "code of our error")
    return p


@case("hostile names: no file outside the vault, and only known files inside")
def _(t):
    before = tree(t)
    p = hostile_session(t)
    p.end(gone=p.open)
    eq(tree(t) - before - {p.err_path.name, "s1"}, set(), "files outside the vault")
    check(not os.path.exists("/tmp/e2e-evil"), "/tmp/e2e-evil was made")
    uid = t.rows("SELECT uid FROM sessions")[0][0].decode()
    for f in t.vault.rglob("*"):
        name = str(f.relative_to(t.vault))
        check(re.fullmatch(r"interposer\.db(-wal|-shm)?|running\.lock|Logs|Logs/MCP_Actions|Logs/MCP_Actions/\d{4}-\d\d-\d\d\.jsonl|"
                           r"Bodies|Escalations", name) or name == f"Bodies/{uid}", f"an odd file in the vault: {name!r}")


@case("hostile names: each log line is one line of valid JSON without raw controls, and none is forged")
def _(t):
    p = hostile_session(t)
    p.end(gone=p.open)
    finished = t.rows("SELECT count(*) FROM invocations WHERE status NOT IN ('open', 'refused')")[0][0]
    closed = t.rows("SELECT count(*) FROM invocations")[0][0]
    lines = t.log_lines()
    check(finished <= len(lines) <= closed + len(NAMES), f"{len(lines)} lines for {finished} to {closed} invocations")
    tools = []
    for x in lines:
        v = json.loads(x.decode("utf-8", "strict"))
        no_raw_controls(x, "log line")
        eq(len(x.decode().splitlines()), 1, f"lines that some reader sees in {lib.short(x)}")
        check(v.get("tool") != "forged", "a forged line")
        if v["method"] == "tools/call":
            tools.append(v["tool"])
    want = [json.loads(n) for n in NAMES]
    for got, name in zip(tools, want):
        if len(name) < 1000 and not any(0xd800 <= ord(c) < 0xe000 or c == "\0" for c in name):
            eq(got, name, "tool in the log")
    eq(len(tools), len(want), "calls in the log")


@case("hostile names: sessions and show print no raw controls")
def _(t):
    p = hostile_session(t)
    p.server.send(b"noise \x1b[31m \xc2\x9b \x07 \xe2\x80\xae \xff")
    p.server.say_err(b"err \x1b]0;t\x07 \xc2\x9b \xe2\x80\xae\n")
    lib.wait_until(lambda: b"err " in p.stderr(), 5, "the server's stderr")
    p.round()
    p.end(gone=p.open)
    for args in (["sessions"], ["show"], ["sessions", "--json"], ["show", "--json"]):
        r = t.run(*args, "--vault", t.vault)
        eq(r.returncode, 0, f"exit status of {args}; {r.stderr[-500:]!r}")
        no_raw_controls(r.stdout, f"{' '.join(args)}")
        no_raw_controls(r.stderr, f"stderr of {' '.join(args)}")
    data = t.run("show", "--json", "--vault", t.vault).stdout
    try:
        json.loads(data)
    except ValueError:
        for x in data.splitlines():
            json.loads(x)


@case("hostile names: on a terminal the only escape sequences are our colours")
def _(t):
    p = hostile_session(t)
    p.end(gone=p.open)
    for args in (["sessions"], ["show"]):
        text = on_terminal(t, *args)
        check("\x1b[31mred" not in text, "a message's own colour reached the terminal")
        plain = re.sub("\x1b\\[[0-9;]*m", "", text)
        no_raw_controls(plain, f"{args[0]} on a terminal")


@case("hostile names: stderr has no raw controls")
def _(t):
    p = hostile_session(t)
    p.server.send(b"banner \x1b[31mred\x1b[0m \xc2\x9b31m \xe2\x80\xae \x07\x00 \xff\xfe",
                  line("plain\u2028two"), b'{"level":"\x1b[2J"}')
    p.round()
    p.end(gone=p.open)
    no_raw_controls(p.stderr(), "our stderr")


@case("a hostile --name is only a name")
def _(t):
    before = tree(t)
    for name in ("../../evil", "/etc/x", "a\nb", "\x1b[31mred", "x" * 5000, "", "-", "é\u202e", "a/../b"):
        p = t.proxy(f"--name={name}", cwd=t.home, server=[fake("answer")])
        p.client.close_write()
        one_of(p.wait(), (0, 2) if name == "" else (0,), f"exit status with the name {name!r}")
        no_raw_controls(p.stderr(), "our stderr")
    r = t.run("sessions", "--vault", t.vault)
    no_raw_controls(r.stdout, "sessions")
    new = {x for x in tree(t) - before if not re.fullmatch(r"(stderr-|s)\d+", x)}
    eq(new, set(), "files outside the vault")
    for x in t.log_lines():
        no_raw_controls(x, "log line")
        json.loads(x)


@case("a hostile command line of the server is only data")
def _(t):
    before = tree(t)
    evil = t.tmp / "we\x1b[31m\nird $(touch e2e-evil)"
    evil.symlink_to(fake("answer"))
    before |= {evil.name}
    p = t.proxy(server=[evil], cwd=t.home)
    p.client.send(request(1))
    eq(p.client.recv_json()["id"], 1, "id of the answer")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    no_raw_controls(p.stderr(), "our stderr")
    for args in (["sessions"], ["show"], ["sessions", "--json"]):
        no_raw_controls(t.run(*args, "--vault", t.vault).stdout, " ".join(args))
    eq(json.loads(t.rows("SELECT command FROM sessions")[0][0]), [str(evil)], "command in the record")
    for x in t.log_lines():
        no_raw_controls(x, "log line")
    q = t.proxy("--grace", "600ms", server=["/no/such\x1b[31m\nthing"])
    eq(q.wait(), 127, "exit status")
    no_raw_controls(q.stderr(), "our stderr")
    new = {x for x in tree(t) - before if not re.fullmatch(r"(stderr-|s)\d+", x)}
    eq(new, set(), "files outside the vault")


@case("show with a hostile session name finds nothing and executes nothing")
def _(t):
    p = t.proxy().initialize()
    p.end()
    for word in ("../../etc/passwd", "' OR 1=1 --", "%", "*", "\x1b[31m", "9999999999999999999999", "-1", "0x1"):
        r = t.run("show", "--vault", t.vault, "--", word)
        check(r.returncode != 0, f"show {word!r} found something: {r.stdout[:200]!r}")
        check(r.returncode > 0, f"show {word!r} died")
        no_raw_controls(r.stderr, "stderr of show")


lib.main()
