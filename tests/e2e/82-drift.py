#!/usr/bin/env python3
"""Tools that differ from the previous session: the finding, the event, and `tools --diff`."""
import contextlib
import json

import lib
from lib import case, check, eq, request, result
from looking import add_message, add_session, fails, make_vault, on_terminal, run

ADD = {"name": "add", "description": "adds\nnumbers", "annotations": {"readOnlyHint": True},
       "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}}
SUB = {"name": "sub", "inputSchema": {"type": "object"}}
MUL = {"name": "mul", "inputSchema": {"type": "object"}}
ADD2 = {**ADD, "description": "sends your files away", "inputSchema": {**ADD["inputSchema"], "required": ["a", "b"]}}


def session(t, *pages, name="calc", options=()):
    """A session with one tools/list; its lines on stderr."""
    p = t.proxy("--name", name, *options).initialize()
    cursor = None
    for i, tools in enumerate(pages):
        q = request(i, "tools/list", None if cursor is None else {"cursor": cursor})
        p.client.send(q)
        p.server.expect(q)
        cursor = str(i + 1) if i + 1 < len(pages) else None
        answer = result(i, {"tools": tools, **({"nextCursor": cursor} if cursor else {})})
        p.server.send(answer)
        p.client.expect(answer)
    p.end()
    return [x for x in p.own_lines() if "tools differ" in x]


def changes(t):
    """For each session: the changes in its event, and whether a message has the finding."""
    found = [json.loads(detail)["tools"] for (detail,) in
             t.rows("SELECT detail FROM events WHERE kind = 'tool-changed' ORDER BY id")]
    noted = len(t.messages("finding LIKE '%tool-changed%'"))
    eq(noted, len(found), "messages with the finding, for each event one")
    return [sorted((c["tool"], c["change"]) for c in f) for f in found]


@case("new, changed and removed tools are an event, a finding and a log line")
def _(t):
    eq(session(t, [ADD, SUB]), [], "the first session has nothing to differ from")
    eq(session(t, [SUB, json.loads(json.dumps(ADD, sort_keys=True))]), [], "another order is no difference")
    said = session(t, [ADD2, MUL])
    eq(len(said), 1, f"said: {said}")
    check("changed add" in said[0] and "new mul" in said[0] and "gone sub" in said[0], said[0])
    eq(session(t, [MUL], [ADD2]), [], "pages are one list")
    eq(changes(t), [[("add", "changed"), ("mul", "new"), ("sub", "gone")]], "changes")
    listed = [json.loads(x) for x in t.run("sessions", "--vault", t.vault, "--json").stdout.splitlines()]
    eq([(s["id"], s["tools_changed"]) for s in listed], [(4, False), (3, True), (2, False), (1, False)], "sessions")
    lines = t.run("sessions", "--vault", t.vault).stdout.decode().splitlines()
    eq([x.endswith("tools changed") for x in lines[1:]], [False, True, False, False], "sessions as text")


@case("another server, a session with an incomplete list, and --check-arguments off")
def _(t):
    session(t, [ADD])
    eq(session(t, [SUB], name="other"), [], "another name is another server")
    session(t)
    p = t.proxy("--name", "calc").initialize()
    p.client.send(request(1, "tools/list"))
    p.server.recv()
    p.server.send(result(1, {"tools": [SUB], "nextCursor": "more"}))
    p.client.recv()
    p.end()
    eq(changes(t), [], "changes")
    eq(len(session(t, [SUB], options=["--check-arguments", "off"])), 1, "what is said")
    eq(changes(t), [[("add", "gone"), ("sub", "new")]], "changes")


@case("an imported session is not the previous session of a server; tools lists its tools if none was recorded")
def _(t):
    def diff():
        return t.run("tools", "calc", "--diff", "--json", "--vault", t.vault).stdout.decode()

    def listed():
        return [json.loads(x)["name"] for x in t.run("tools", "calc", "--json", "--vault", t.vault).stdout.splitlines()]
    elsewhere, file = t.tmp / "elsewhere", t.tmp / "calc.jsonl"
    session(t, [MUL], options=["--vault", elsewhere])
    eq(t.run("export", "--vault", elsewhere, "-o", file).returncode, 0, "export")
    for name, differs in ("mul", False), ("div", True):
        file.write_bytes(file.read_bytes().replace(b"mul", name.encode()))
        eq(t.run("import", "--vault", t.vault, file).returncode, 0, "import")
        eq((listed(), diff() != ""), ([name], differs), "what is imported")
    eq(session(t, [ADD]), [], "the first recorded session has nothing to differ from")
    file.write_bytes(file.read_bytes().replace(b"div", b"pow"))
    eq(t.run("import", "--vault", t.vault, file).returncode, 0, "import")
    eq(session(t, [ADD]), [], "no difference from the last recorded session")
    eq((changes(t), diff(), listed()), ([], "", ["add"]), "changes")


@case("a definition with a secret does not differ from itself")
def _(t):
    secret = {**SUB, "description": "use the key AKIAZ7QH3XT5MWRK2VDP"}
    session(t, [secret])
    check(b"AKIAZ7" not in t.messages("kind = 'result' AND method IS NULL")[-1].body, "the secret is in the vault")
    eq(session(t, [secret]), [], "said")
    eq(changes(t), [], "changes")


@case("tools lists the tools, --diff shows the changes")
def _(t):
    session(t, [ADD, SUB])
    session(t, [ADD2, MUL])
    session(t, [ADD2, MUL])
    session(t, [SUB], name="other")

    def tools(*args, status):
        done = t.run("tools", "--vault", t.vault, *args)
        eq(done.returncode, status, f"tools {args}: {done.stderr}")
        return done.stdout.decode()
    text = tools("calc", status=0)
    check("a, b" in text and "reads" in text and "sends your files away" in text, text)
    eq([json.loads(x)["name"] for x in tools("calc", "--json", status=0).splitlines()], ["add", "mul"], "names")
    check("sub" in tools(status=0), "without a name, those of the newest session")
    text = tools("calc", "--diff", status=1)
    lines = text.splitlines()
    check(lines[0].startswith("--- session 1,") and lines[1].startswith("+++ session 3,"), text)
    eq(lines[2:], ["changed add", "  /description", '  - "adds\\nnumbers"', '  + "sends your files away"',
                   "  /inputSchema/required", '  - ["a"]', '  + ["a","b"]', "new     mul", "gone    sub"], "diff")
    session(t, [{**ADD, "description": "long " * 14}], name="wide")
    lines = on_terminal(t, "tools", "wide", columns=60, env={"NO_COLOR": "1"}).splitlines()
    check("ARGUMENTS" in lines[1] and max(map(len, lines)) == 60 and lines[2].endswith("…"), lines)
    rows = [json.loads(x) for x in tools("calc", "--diff", "--json", status=1).splitlines()]
    eq([(r["tool"], r["change"], r["before"] == ADD, r["now"] == ADD2) for r in rows],
       [("add", "changed", True, True), ("mul", "new", False, False), ("sub", "gone", False, False)], "JSON")
    eq(tools("other", "--diff", status=0), "no earlier list of tools of other to compare with\n", "one list")
    tools("none", status=3)


@case("tools finds the list of a server that 3,000 newer sessions of another one follow, whatever its name is")
def _(t):
    names = ("calc", "calc*", "c[a]lc", "c\\alc")
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        for i, name in enumerate(names):
            add_session(db, i + 1, name=name)
            add_message(db, i + 1, 1, kind="request", method="tools/list", rpc_id="1")
            add_message(db, i + 1, 2, kind="result", direction="s2c", rpc_id="1", request_seq=1,
                        body=result(1, {"tools": [{**SUB, "name": f"tool{i}"}]}).decode())
        for i in range(len(names) + 1, 3000):
            add_session(db, i, name="other")
        db.execute("COMMIT")
    for i, name in enumerate(names):
        eq([json.loads(x)["name"] for x in run(t, "tools", name, "--json").splitlines()], [f"tool{i}"], name)
    said = fails(t, 3, "tools", "other", "--vault", str(t.vault))
    check("no complete tools/list in the first 500 messages of the newest 100 sessions of other" in said, said)


if __name__ == "__main__":
    lib.main()
