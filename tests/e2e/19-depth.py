#!/usr/bin/env python3
"""Messages in 10,000 levels are forwarded and recorded, and every command reads them with 1 MiB of stack, in bounded time."""
import json
import subprocess

import lib
from lib import call, case, check, eq, request, result
from replaying import Replay, handshake

STACK_KIB = 1024 if lib.SLOW == 1 and not lib.SIZES_MEAN_NOTHING else 8192
SECONDS = 10
SECRET = b"hunter2-Zq81Lk"
LEVELS = (600, 3000, 10000)


def nest(levels, inside, way):
    """JSON in that many levels: arrays, objects, or both."""
    pairs = {"arrays": [(b"[", b"]")], "objects": [(b'{"k":', b"}")], "both": [(b'{"a":1,"k":', b',"b":2}'), (b"[3,", b",4]")]}[way]
    rounds, more = divmod(levels, len(pairs))
    opens, closes = [x for x, _ in pairs], [x for _, x in pairs]
    return (b"".join(opens) * rounds + b"".join(opens[:more]) + inside + b"".join(reversed(closes[:more])) +
            b"".join(reversed(closes)) * rounds)


def ask(id, levels, way, inside=b"1"):
    """A call whose line has that many levels: two are around its arguments."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"deep","arguments":{"tree":%s}}}' % (
        id, nest(levels - 3 - inside.count(b"{"), inside, way))


def answer(id, levels, way, inside=b"1"):
    return b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"tree":%s}}}' % (
        id, nest(levels - 3 - inside.count(b"{"), inside, way))


# The schemas have 300 levels, which are compiled and checked, and 4,000, which are not.
TOOLS = b'{"jsonrpc":"2.0","id":"list","result":{"tools":[%s]}}' % b",".join(
    b'{"name":"%s","inputSchema":{"type":"object","properties":{"tree":%s}}}' % (name, nest(levels, b"{}", "objects").replace(b'"k"', b'"not"'))
    for name, levels in ((b"deep", 300), (b"deeper", 4000)))


def calls():
    """Requests and answers with the ids 1, 2, …"""
    secret = b'{"note":"x","password":"%s"}' % SECRET
    shapes = [(levels, way, b"1") for levels in LEVELS for way in ("arrays", "objects", "both")]
    shapes += [(levels, way, secret) for levels, way in ((600, "arrays"), (3000, "both"), (10000, "objects"))]
    return [(ask(i, *shape), answer(i, *shape)) for i, shape in enumerate(shapes, 1)]


# With little stack and CPU time: recursion as deep as a message would crash.
FEW = ("sh", "-c", f'ulimit -s {STACK_KIB} && ulimit -t {int(SECONDS * lib.SLOW)} && exec "$@"', "sh")


def run(t, *args, status=(0,), input=b""):
    lib.settle()
    r = subprocess.run([*FEW, lib.PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, input=input,
                       timeout=60 * lib.PATIENCE, env=t.environ({"TZ": "UTC", "LC_ALL": "C.UTF-8"}))
    check(r.returncode in status, lambda: f"{args}: {r.returncode}, {lib.short(r.stderr)}")
    check(SECRET not in r.stdout and SECRET not in r.stderr, lambda: f"the secret in the output of {args}")
    return r.stdout


def record(t, *options):
    p = t.proxy("--name", "deep", *options, prefix=FEW).initialize()
    p.client.send(request("list", "tools/list"))
    p.server.recv()
    p.server.send(TOOLS)
    p.client.expect(TOOLS)
    for one, other in calls():
        p.client.send(one)
        p.server.expect(one)
        p.server.send(other)
        p.client.expect(other)
    p.round()
    p.end()


def stored(t, m):
    """The recorded body; a long one is in a file."""
    if m.body is not None:
        return m.body
    with open(t.vault / "Bodies" / t.rows("SELECT uid FROM sessions WHERE id = ?", m.session_id)[0][0].decode(), "rb") as f:
        f.seek(m.body_offset)
        return f.read(m.body_length)


@case("calls and answers in 600, 3,000 and 10,000 levels pass byte for byte, are recorded, and noted; no secret is stored", limit=120)
def _(t):
    record(t)
    rows = t.messages("method = 'tools/call' AND kind = 'request'")
    eq([m.action for m in rows], ["forwarded"] * len(calls()), "what happened to the requests")
    for i, sent in enumerate(calls(), 1):
        for m, line in zip(t.messages("rpc_id = ? AND kind IN ('request', 'result')", str(i)), sent):
            eq(stored(t, m) == line.replace(SECRET, b"[redacted:password]"), True, f"the body of {m.direction} {i}")
    found = {(m.direction, m.rpc_id): set((m.finding or b"").decode().split(",")) for m in t.messages("kind <> 'event'")}
    for i in range(1, len(calls()) + 1):
        for direction in ("c2s", "s2c"):
            check("deep-message" in found[direction, b"%d" % i], f"findings of {direction} {i}: {found[direction, b'%d' % i]}")
    check("schema-not-checked" in found["c2s", b"1"], f"findings of the first call: {found['c2s', b'1']}")
    for path in lib.files_below(t.vault):
        check(SECRET not in lib.contents(path), f"the secret is in {path.name}")
    sums = t.rows("SELECT sum(CASE WHEN json_valid(body) THEN json_extract(body, '$.id') END), sum(body IS NOT NULL) FROM messages")
    check(sums[0][1] > 20, f"the query of docs/vault.md: {sums}")


@case("every command reads a vault of deep messages", limit=240)
def _(t):
    record(t)
    record(t)
    vault = ("--vault", t.vault)
    check(b"deep" in run(t, "sessions", *vault), "sessions")
    for args in (("show",), ("show", "--json"), ("show", "--bodies"), ("show", "--pretty"), ("stats",), ("stats", "--json"), ("tools", "deep"), ("tools", "--json", "deep"),
                 ("redact", "--scan", "--all"), ("search", "tree"), ("search", "--json", "redacted"), ("audit", "verify"), ("doctor",)):
        out = run(t, *args, *vault, status=(0, 1) if args[0] in ("doctor", "redact", "check") else (0,))
        check(len(out) > 0, f"{args}: no output")
    for line in run(t, "show", "--json", *vault).splitlines():
        json.loads(line)
    eq(run(t, "check", "--json", *vault, status=(0, 1)).count(b"deep-message"), 2 * len(calls()) + 1, "findings of the newest session")
    run(t, "diff", *vault)
    uids = [r[0].decode() for r in t.rows("SELECT uid FROM sessions ORDER BY id")]
    run(t, "diff", *vault, *uids)


@case("a session of deep messages is exported in each format, imported, replayed and sent again", limit=240)
def _(t):
    record(t)
    vault = ("--vault", t.vault)
    for format in ("jsonl", "csv", "otlp", "markdown", "html"):
        check(len(run(t, "export", *vault, "--format", format)) > 1000, f"export as {format}")
    file = t.tmp / "deep.jsonl"
    run(t, "export", *vault, "-o", file)
    for line in file.read_bytes().splitlines():
        json.loads(line)
    other = ("--vault", t.tmp / "other")
    run(t, "import", *other, file)
    eq([tuple(r) for r in t.rows("SELECT body FROM messages ORDER BY seq", vault=t.tmp / "other")],
       [tuple(r) for r in t.rows("SELECT body FROM messages ORDER BY seq")], "the bodies of the imported session")
    run(t, "diff", file, *vault, t.rows("SELECT uid FROM sessions")[0][0].decode())
    run(t, "check", file, status=(0, 1))
    replay = Replay(t, file, vault=False).play(handshake())
    for i, (one, two) in enumerate(calls()):
        replay.client.send(one)
        got = replay.client.recv(SECONDS)
        eq(got if SECRET not in two else got.replace(b"[redacted:password]", SECRET), two, f"the answer {i + 1} of the replay")
    replay.end()


@case("a model reads deep messages through mcp", limit=120)
def _(t):
    record(t)
    uid = t.rows("SELECT id FROM sessions")[0][0]
    seqs = [m.seq for m in t.messages("method = 'tools/call' AND kind = 'request'")]
    lines = [line[1:] for line in handshake() if line[:1] == b">"]
    deep = "/params/arguments/tree" + "/0" * 30
    lines += [call(i, "get_call", {"session": uid, "seq": seq}) for i, seq in enumerate(seqs)]
    lines += [call("pointer", "get_call", {"session": uid, "seq": seqs[0], "part": "request", "pointer": deep}),
              call("list", "list_calls", {"session": uid}), call("search", "search", {"session": uid, "text": "tree"}),
              call("findings", "findings", {"session": uid}), call("diff", "diff", {"session": uid, "base": uid})]
    out = run(t, "mcp", "--vault", t.vault, input=b"".join(line + b"\n" for line in lines)).splitlines()
    answers = {json.loads(x).get("id"): json.loads(x) for x in out}
    for line in lines[2:]:
        got = answers[json.loads(line)["id"]]
        check("result" in got and not got["result"].get("isError"), lambda: f"the answer to {lib.short(line)}: {lib.short(str(got), 2000)}")


lib.main()
