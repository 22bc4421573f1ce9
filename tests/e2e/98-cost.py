#!/usr/bin/env python3
"""cost: what is counted of definitions and results, compared with the table `calls`."""
import contextlib
import json
import re
import sqlite3

import lib
from lib import call, case, check, eq, error, request, result, text_result
from looking import run

READ = {"name": "read", "title": "not counted", "description": "Reads a file.", "annotations": {"readOnlyHint": True},
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}
WRITE = {"name": "write", "inputSchema": {"type": "object"}, "_meta": {"not": "counted" * 100}}
DRAW = {"name": "draw", "description": "Draws a picture of what the text describes, and returns it. " * 20,
        "inputSchema": {"type": "object"}}
IMAGE = {"type": "image", "data": "AAAA" * 1000, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AAA=", "mimeType": "audio/wav"}
BLOB = {"type": "resource", "resource": {"uri": "file:///x", "blob": "AA=="}}


def cost(t, *args):
    return [json.loads(x) for x in run(t, "cost", "--json", *args).splitlines()]


def ask(p, line, answer):
    p.client.send(line)
    p.server.recv()
    p.server.send(answer)
    p.client.recv()


def session(t, name="files", client="cli", tools=(READ, WRITE, DRAW)):
    """A session with lists of each kind, and instructions."""
    p = t.proxy("--name", name).initialize(client={"name": client, "version": "1"},
                                           server={"name": "s", "version": "1"})
    ask(p, request(1, "tools/list"), result(1, {"tools": tools}))
    return p


def stored(t, where="1"):
    return t.rows(f"SELECT target, result_tokens FROM calls WHERE method = 'tools/call' AND {where} ORDER BY id")


@case("cost counts definitions and the texts of results")
def _(t):
    p = session(t)
    ask(p, request(2, "prompts/list"), result(2, {"prompts": [{"name": "one", "description": "The only prompt."}]}))
    ask(p, request(3, "resources/list"), result(3, {"resources": [{"uri": "file:///x", "name": "x"}]}))
    ask(p, call(4, "read"), text_result(4, "one"))
    ask(p, call(5, "read"), text_result(5, "The quick brown fox jumps over the lazy dog."))
    ask(p, call(6, "read"), result(6, {"content": [IMAGE]}))
    ask(p, call(7, "read"), text_result(7, "the same word, again and again\n" * 4000))  # its body is in a file
    ask(p, call(8, "read"), error(8))
    ask(p, call(9, "gone"), text_result(9, "one"))
    p.client.send(call(10, "read"))
    p.server.recv()
    lib.wait_until(lambda: t.messages("rpc_id = '10'"), 10, "the open call is stored")
    p.server.send(text_result(10, "one two three"))  # in a later batch
    p.client.recv()
    p.end()
    lib.wait_until(lambda: t.rows("SELECT 1 FROM sessions WHERE ended_at_us IS NOT NULL"), 10, "the session has ended")
    tokens = [n for _, n in stored(t)]
    eq(tokens[:3], [1, 9, 0], "tokens of a word, of nine words, of an image")
    check(20000 < tokens[3] < 40000, f"tokens of 28,000 words: {tokens[3]}")
    eq(tokens[5:], [1, 3], "tokens of a tool that is in no list, and of a late answer")
    eq(t.rows("SELECT count(*) FROM calls WHERE method LIKE '%/list' AND result_tokens IS NOT NULL"), [(0,)], "lists with tokens")

    (server,) = cost(t)
    tools = {x["tool"]: x for x in cost(t, "files")}
    eq(list(tools), ["draw", "read", "write", "gone"], "tools, the largest definition first")
    definitions = {k: v["definition_tokens"] for k, v in tools.items()}
    eq(definitions["gone"], None, "definition of a tool that is in no list")
    eq(definitions["write"], 12, "definition_tokens of write, without _meta")
    eq(server["definition_tokens"], sum(v for v in definitions.values() if v is not None), "definition_tokens")
    eq(server["never_used_tokens"], definitions["draw"] + definitions["write"], "never_used_tokens")
    eq((server["tools"], server["used"], server["calls"], server["errors"]), (3, 1, 7, 1), "tools, used, calls, errors")
    eq(server["instruction_tokens"], 0, "instruction_tokens")
    check(server["prompt_tokens"] > 0 and server["resource_tokens"] > 0, f"prompts and resources: {server}")
    ordered = sorted(tokens)
    eq((server["result_tokens_p50"], server["result_tokens_p95"], server["result_tokens"]), (ordered[3], ordered[6], sum(tokens)),
       "result tokens")
    reads = sorted(n for _, n in stored(t, "target = 'read'"))
    eq((tools["read"]["result_tokens_p50"], tools["read"]["result_tokens_p95"], tools["read"]["calls"]), (reads[2], reads[5], 6),
       "results of read")
    eq((tools["draw"]["calls"], tools["draw"]["last_at_us"], tools["draw"]["result_tokens_p50"]), (0, None, None), "draw")

    groups = {x["tool"]: x["result_tokens"] for x in map(json.loads, run(t, "stats", "--tokens", "--json").splitlines())}
    eq(groups, {"read": sum(reads), "gone": 1}, "result_tokens of stats")

    text = run(t, "cost")
    check("NEVER USED" in text.splitlines()[0] and text.splitlines()[1].split()[4].startswith("~"), text)
    (write,) = [x for x in run(t, "cost", "files").splitlines() if x.startswith("write ")]
    eq(write.split()[1], "~12", "DEFINITION of write")
    eq(run(t, "cost", "--csv").splitlines()[0], ",".join(k for k in server if k != "type"), "columns of CSV")


@case("cost selects sessions and calls; definitions are those of the newest list")
def _(t):
    p = session(t, client="one")
    ask(p, call(4, "read"), text_result(4, "one"))
    p.end()
    p = session(t, client="two", tools=(READ, WRITE))
    ask(p, call(4, "write"), text_result(4, "one two"))
    p.end()
    session(t, name="idle", client="two", tools=(DRAW,)).end()
    lib.wait_until(lambda: len(t.rows("SELECT 1 FROM sessions WHERE ended_at_us IS NOT NULL")) == 3, 10, "the sessions have ended")
    eq([(x["server"], x["sessions"], x["tools"], x["used"]) for x in cost(t)], [("idle", 1, 1, 0), ("files", 2, 2, 2)], "all")
    eq([(x["server"], x["used"]) for x in cost(t, "--client", "one")], [("files", 1)], "--client")
    eq([(x["server"], x["used"]) for x in cost(t, "--server", "f*", "--client", "two")], [("files", 1)], "--server")
    eq(cost(t, "--since", "2099-01-01"), [], "--since")
    failed = t.run("cost", "nothing", "--vault", t.vault)
    check(failed.returncode != 0 and b"no matching session of server 'nothing'" in failed.stderr, failed.stderr)
    eq(t.run("cost", "--json", "--csv", "--vault", t.vault).returncode, 2, "--json --csv")


@case("cost counts the definitions that the client saw: not those that a rule hid")
def _(t):
    session(t).end()
    every = cost(t)[0]
    p = t.proxy("--name", "files", "--tools", "read, write").initialize()
    p.client.send(request(1, "tools/list"))
    p.server.recv()
    p.server.send(result(1, {"tools": [READ, DRAW, WRITE]}))
    p.client.recv()
    ask(p, call(2, "write"), text_result(2, "one"))
    p.end()
    ended(t, 2)
    tools = {x["tool"]: x["definition_tokens"] for x in cost(t, "files")}
    eq(list(tools), ["read", "write"], "tools")
    kept = cost(t)[0]
    eq((kept["tools"], kept["used"], kept["definition_tokens"]), (2, 1, sum(tools.values())), "tools, used, definition_tokens")
    check(kept["definition_tokens"] < every["definition_tokens"] / 2, f"{kept} {every}")


def ended(t, n=1):
    lib.wait_until(lambda: len(t.rows("SELECT 1 FROM sessions WHERE ended_at_us IS NOT NULL")) == n, 10, "the sessions have ended")


@case("cost reads lists page by page: the last whole list counts, however large it is")
def _(t):
    pages = [[{"name": f"p{i}", "description": "word " * 20}] for i in range(2)]
    p = session(t)
    for i in range(3):  # the first page again and again: not known
        ask(p, request(10 + i, "prompts/list"), result(10 + i, {"prompts": pages[0], "nextCursor": "2"}))
    p.end()
    ended(t, 1)
    eq(cost(t)[0]["prompt_tokens"], None, "prompts without their second page")
    p = session(t, tools=(READ,))
    ask(p, request(10, "prompts/list"), result(10, {"prompts": pages[0], "nextCursor": "2"}))
    ask(p, request(11, "prompts/list", {"cursor": "2"}), result(11, {"prompts": pages[1]}))
    ask(p, request(12, "tools/list"), result(12, {"tools": [DRAW, WRITE]}))  # the list has changed
    ask(p, call(13, "write"), text_result(13, "one"))
    p.end()
    ended(t, 2)
    (server,) = cost(t)
    whole = server["prompt_tokens"]
    eq((server["tools"], server["used"], [x["tool"] for x in cost(t, "files")]), (2, 1, ["draw", "write"]), "the changed list")
    p = session(t, tools=(READ,))
    ask(p, request(10, "prompts/list"), result(10, {"prompts": [x[0] for x in pages] * 500}))
    p.end()
    ended(t, 3)
    check(len(t.rows("SELECT 1 FROM messages WHERE body_offset IS NOT NULL")) == 1, "the list is in a file")
    eq(cost(t)[0]["prompt_tokens"], 500 * whole, "prompts of a large list")
    p = session(t, tools=(READ,))  # does not ask for prompts
    p.end()
    ended(t, 4)
    eq(cost(t)[0]["prompt_tokens"], 500 * whole, "prompts of an older session")


@case("cost takes definitions from matching sessions only")
def _(t):
    session(t, client="one", tools=(READ,)).end()
    ended(t, 1)
    session(t, client="two", tools=(DRAW, WRITE)).end()
    ended(t, 2)
    eq([[x["tool"] for x in cost(t, "files", *args)] for args in (("--client", "one"), ("--client", "two"), ())],
       [["read"], ["draw", "write"], ["draw", "write"]], "tools by client")


def served(t, *args):
    return sorted(x["server"] for x in cost(t, *args))


@case("cost --imported and --sent count those sessions, too; --project selects by the directory of the server")
def _(t):
    here, other = t.tmp / "here", t.tmp / "other"
    (here / "below").mkdir(parents=True)
    other.mkdir()
    for name, cwd in (("one", here / "below"), ("two", other)):
        p = t.proxy("--name", name, cwd=cwd).initialize()
        ask(p, request(1, "tools/list"), result(1, {"tools": [READ]}))
        ask(p, call(2, "read"), text_result(2, "one two"))
        p.end()
    ended(t, 2)
    eq([served(t, "--project", x) for x in (here, other, t.tmp, t.tmp / "o*", t.tmp / "her")],
       [["one"], ["two"], ["one", "two"], ["two"], []], "--project")
    for args in (("export", "--server", "one", "-o", t.tmp / "one.jsonl"), ("import", "--name", "three", t.tmp / "one.jsonl")):
        done = t.run(*args, "--vault", t.vault)
        eq(done.returncode, 0, done.stderr)
    eq([served(t), served(t, "--imported")], [["one", "two"], ["one", "three", "two"]], "--imported")
    eq(t.run("cost", "three", "--vault", t.vault).returncode, 3, "an imported session")
    (three,) = cost(t, "three", "--imported")
    eq((three["tool"], three["calls"], three["result_tokens"]), ("read", 1, 2), "the imported session")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.execute("INSERT INTO events (session_id, t_us, kind) SELECT id, 0, 'sent' FROM sessions WHERE name = 'two'")
    eq([served(t), served(t, "--sent")], [["one"], ["one", "two"]], "--sent")


@case("cost counts a call of several requests once, with the result that a later one brought")
def _(t):
    task = {"taskId": "7", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}
    p = t.proxy("--name", "tasks").initialize("2025-11-25")
    ask(p, request(1, "tools/call", {"name": "film", "arguments": {}, "task": {}}), result(1, {"task": task}))
    ask(p, request(2, "tasks/result", {"taskId": "7"}), text_result(2, "The quick brown fox jumps over the lazy dog."))
    p.end()
    ended(t)
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    book = {"_meta": meta, "name": "book", "arguments": {}}
    wants = {"who": {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}}}
    p = t.proxy("--name", "round")
    ask(p, request(1, "tools/call", book), result(1, {"resultType": "input_required", "requestState": "s", "inputRequests": wants}))
    ask(p, request(2, "tools/call", {**book, "requestState": "s", "inputResponses": {"who": {"action": "accept", "content": {}}}}),
        result(2, {"resultType": "complete", "content": [{"type": "text", "text": "one two three"}]}))
    p.end()
    ended(t, 2)
    got = t.run("cost", "--json", "--vault", t.vault)
    rows = {x["server"]: (x["calls"], x["uncounted"], x["result_tokens"]) for x in map(json.loads, got.stdout.splitlines())}
    eq(rows, {"tasks": (1, 0, 9), "round": (1, 0, 3)}, "calls, uncounted, result_tokens")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.executescript("UPDATE sessions SET calls = NULL; UPDATE operations SET status = 'error'")
    for options, n in (((), 2), (("--server", "tasks"), 1)):
        rows = t.run("cost", "--json", *options, "--vault", t.vault).stdout.splitlines()
        eq([json.loads(x)["errors"] for x in rows], n * [0], f"errors {options}: stale rows are not read")
    eq(b"result tokens" in got.stderr, False, "warning of results")
    eq(got.stderr.count(b"and others are not known: no complete list of tools"), 1, "warnings of definitions")


@case("answers of a client have no tokens")
def _(t):
    p = session(t)
    sample = request(1, "sampling/createMessage", {"messages": [], "maxTokens": 1})
    p.server.send(sample)
    p.client.expect(sample)
    p.client.send(result(1, {"role": "assistant", "model": "m", "content": {"type": "text", "text": "one"}}))
    p.server.recv()
    p.end()
    ended(t)
    eq(t.rows("SELECT result_tokens, result_binaries, result_binary_size FROM calls WHERE method = 'sampling/createMessage'"),
       [(None, None, None)], "what is counted of sampling")


BINARIES = ("result_tokens", "result_binaries", "result_binary_bytes", "uncounted_binaries")


@case("cost names images, audio and blobs apart from the texts of results")
def _(t):
    p = session(t)
    ask(p, call(4, "write"), text_result(4, "one two"))
    ask(p, call(5, "read"), text_result(5, "one"))
    check("BINARY" not in run(t, "cost"), "a column without content")
    ask(p, call(6, "draw"), result(6, {"content": [IMAGE, {"type": "text", "text": "one"}, BLOB]}))
    large = {**IMAGE, "data": "AAAA" * 50_000}
    ask(p, call(7, "draw"), result(7, {"content": [large, AUDIO]}))     # its body is in a file
    ask(p, call(8, "draw"), error(8))
    p.client.send(call(9, "read"))
    p.server.recv()
    lib.wait_until(lambda: t.messages("rpc_id = '9'"), 10, "the open call is stored")
    p.server.send(result(9, {"content": [IMAGE]}))  # in a later batch
    p.client.recv()
    ask(p, request(10, "resources/read", {"uri": "file:///x"}), result(10, {"contents": [BLOB["resource"]]}))
    p.end()
    ended(t)
    eq(t.rows("SELECT target, result_tokens > 0, result_binaries, result_binary_size FROM calls WHERE result_tokens IS NOT NULL ORDER BY id"),
       [(b"write", 1, 0, 0), (b"read", 1, 0, 0), (b"draw", 1, 2, 3001), (b"draw", 0, 2, 150_002), (b"draw", 1, 0, 0),
        (b"read", 0, 1, 3000), (b"file:///x", 0, 1, 1)], "columns")
    ((failed,),) = t.rows("SELECT result_tokens FROM calls WHERE target = 'draw' AND status = 'error'")
    tools = {x["tool"]: tuple(x[k] for k in BINARIES) for x in cost(t, "files")}
    eq(tools, {"draw": (1 + failed, 4, 153_003, 0), "read": (1, 1, 3000, 0), "write": (2, 0, 0, 0)}, "tools")
    eq(tuple(cost(t)[0][k] for k in BINARIES), (4 + failed, 5, 156_003, 0), "the server")
    for args, name, cell in (((), "files", "5, 152KiB"), (("files",), "draw", "4, 149KiB"), (("files",), "write", " 0")):
        title, *rows = run(t, "cost", *args).splitlines()
        (row,) = [x for x in rows if x.startswith(name)]
        at = title.index("BINARY") + len("BINARY")
        eq(row[:at].endswith(cell), True, f"BINARY of {name}: {row}")
    page = run(t, "export", "1", "-F", "html")
    check("<th>images, audio, blobs</th>" in page and '<td class="num">4, 149KiB</td>' in page, "the page of the session")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.execute("UPDATE calls SET result_binaries = NULL, result_binary_size = NULL WHERE target = 'draw'")
        db.execute("UPDATE calls SET result_binary_size = ? WHERE target = 'read'", (2 ** 63 - 1,))
    got = t.run("cost", "files", "--json", "--vault", t.vault)
    tools = {x["tool"]: tuple(x[k] for k in BINARIES[1:]) for x in map(json.loads, got.stdout.splitlines())}
    eq(tools, {"draw": (None, None, 3), "read": (1, 2 ** 41, 0), "write": (0, 0, 0)}, "of an earlier version, and damaged")
    check(b"images, audio and blobs are not counted in 3 of 6 calls: an earlier version recorded" in got.stderr, got.stderr)


@case("cost counts the images of a call of several requests")
def _(t):
    task = {"taskId": "7", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}
    p = t.proxy("--name", "tasks").initialize("2025-11-25")
    ask(p, request(1, "tools/call", {"name": "film", "arguments": {}, "task": {}}), result(1, {"task": task}))
    ask(p, request(2, "tasks/result", {"taskId": "7"}), result(2, {"content": [IMAGE, IMAGE]}))
    p.end()
    ended(t)
    row = json.loads(t.run("cost", "--json", "--vault", t.vault).stdout)
    eq(tuple(row[k] for k in ("calls", *BINARIES)), (1, 0, 2, 6000, 0), "the call")


@case("the page of a session names images, audio and blobs apart from the texts of results")
def _(t):
    p = session(t)
    ask(p, call(4, "write"), text_result(4, "one two"))
    p.end()
    ended(t)
    title = "<th>images, audio, blobs</th>"
    check(title not in run(t, "export", "1", "-F", "html"), "a column without content")
    p = session(t)
    ask(p, call(4, "write"), text_result(4, "one two"))
    ask(p, call(5, "draw"), result(5, {"content": [IMAGE, {"type": "text", "text": "one"}, BLOB]}))
    large = {**IMAGE, "data": "AAAA" * 50_000}
    ask(p, call(6, "draw"), result(6, {"content": [large, AUDIO]}))     # its body is in a file
    p.end()
    ended(t, 2)
    eq(t.rows("SELECT result_tokens FROM calls WHERE target = 'draw'"), [(1,), (0,)], "tokens: base64 is not text")
    page = run(t, "export", "2", "-F", "html")
    rows = dict(re.findall(r'<tr><th scope="row">(\w+)</th>.*<td class="num">([^<]*)</td></tr>', page))
    eq((title in page, rows), (True, {"draw": "4, 149KiB", "write": "0", "read": "0"}), "rows of the page")


@case("cost bounds the values of a damaged vault")
def _(t):
    p = session(t)
    for i in range(3):
        ask(p, call(4 + i, "read"), text_result(4 + i, "one"))
    p.end()
    ended(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        ids = [x[0] for x in db.execute("SELECT id FROM calls WHERE target = 'read' ORDER BY id")]
        for id, value in zip(ids, (2 ** 63 - 1, -5, 2 ** 63 - 1)):
            db.execute("UPDATE calls SET result_tokens = ? WHERE id = ?", (value, id))
    server = json.loads(t.run("cost", "--json", "--vault", t.vault).stdout)
    eq((server["result_tokens"], server["uncounted"]), (2 * (2 ** 32 - 1), 1), "result_tokens")
    eq([json.loads(x)["result_tokens"] for x in run(t, "stats", "--tokens", "--json").splitlines()], [2 * (2 ** 32 - 1)], "stats")


@case("cost does not say 0 where nothing is known")
def _(t):
    p = session(t)
    ask(p, call(4, "read"), text_result(4, "one"))
    p.end()
    ended(t)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.execute("UPDATE calls SET result_tokens = NULL")
    got = [json.loads(x)["result_tokens"] for args in ((), ("files",))
           for x in t.run("cost", "--json", "--vault", t.vault, *args).stdout.splitlines()]
    eq(got, [None, 0, None, 0], "result_tokens of the server, draw, read, write")


@case("cost says of how many results the tokens are not known")
def _(t):
    p = session(t)
    for i in range(3):
        ask(p, call(4 + i, "read"), text_result(4 + i, "one"))
    p.end()
    lib.wait_until(lambda: t.rows("SELECT 1 FROM sessions WHERE ended_at_us IS NOT NULL"), 10, "the session has ended")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.execute("UPDATE calls SET result_tokens = NULL WHERE id IN (SELECT id FROM calls WHERE target = 'read' LIMIT 2)")
    got = t.run("cost", "--json", "--vault", t.vault)
    eq((got.returncode, json.loads(got.stdout)["uncounted"], json.loads(got.stdout)["result_tokens"]), (0, 2, 1), "uncounted")
    check(b"the result tokens of 2 of 3 calls are not known: an earlier version recorded" in got.stderr, got.stderr)


@case("large results are found live; check --large-result says above how many tokens")
def _(t):
    p = session(t)
    for i, words in enumerate((10, 20000, 30000)):
        ask(p, call(4 + i, "read"), text_result(4 + i, "word " * words))
    p.end()
    lib.wait_until(lambda: t.rows("SELECT 1 FROM sessions WHERE ended_at_us IS NOT NULL"), 10, "the session has ended")
    ((_, large),) = t.rows("SELECT id, result_tokens FROM calls ORDER BY id DESC LIMIT 1")
    check(25000 < large, f"tokens of 30,000 words: {large}")
    eq(t.rows("SELECT rpc_id, finding FROM messages WHERE finding IS NOT NULL"), [(b"6", b"large-result")], "recorded findings")
    check("large-result" in run(t, "tail", "--once"), "tail")

    def found(*args):
        got = json.loads(t.run("check", "--json", "--fail-on", "none", "--vault", t.vault, *args).stdout)
        return [f["why"] for x in got["recordings"] for f in x["findings"] if f["finding"] == "large-result"]
    eq(found("--large-result", str(large - 1)), [f"about {large} tokens"], "above the limit")
    eq(found("--large-result", str(large)), [], "at the limit")
    eq(len(found("--large-result", "100")), 2, "above 100 tokens")
    eq(found("--large-result", "100000"), [], "what was recorded, above 100000 tokens")
    eq(found(), [f"about {large} tokens"], "above 25000 tokens")
    eq(t.run("check", "--large-result", "100", "--fail-on", "large-result", "--vault", t.vault).returncode, 1, "--fail-on")
    eq(t.run("check", "--large-result", "much", "--vault", t.vault).returncode, 2, "--large-result much")


lib.main()
