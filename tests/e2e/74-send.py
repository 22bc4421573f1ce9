#!/usr/bin/env python3
"""send: a request, typed or recorded, is sent to a server behind the proxy, and the answer is printed."""
import base64
import contextlib
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess

import lib
from lib import case, check, eq
from looking import answer, on_terminal
from scripted import scripted

# A server. spec.json: `answers` by method and target, `tools`; it logs what it gets.
SERVER = r"""
import json, sys, time
spec, asked = json.load(open(sys.argv[1])), open(sys.argv[2], "a")
def say(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    asked.write(line), asked.flush()
    p = m.get("params") or {}
    if "id" not in m or "method" not in m:
        continue
    what = " ".join([m["method"], *(str(p[k]) for k in ("name", "uri", "cursor") if k in p)])
    do = spec["answers"].get(what, spec["answers"].get(m["method"]))
    if do is None and m["method"] == "initialize":
        do = {"result": {"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}},
                         "serverInfo": {"name": "fake", "version": "1"}}}
    elif do is None and m["method"] == "tools/list":
        do = {"result": {"tools": spec["tools"], **spec.get("more", {})}}
    elif do is None and m["method"] == "tools/call":
        do = {"result": {"content": [{"type": "text", "text": json.dumps(p.get("arguments"))}], **spec.get("more", {})}}
    if do is None:
        say({"id": m["id"], "error": {"code": -32601, "message": "no " + what}})
    elif do == "hang":
        pass
    elif do == "exit":
        sys.exit(3)
    else:
        for q in do.get("first", []):
            say(q)
            if "id" in q:
                asked.write(sys.stdin.readline()), asked.flush()
        say({"id": m["id"], **{k: v for k, v in do.items() if k != "first"}})
"""
READS = {"readOnlyHint": True}
ECHO = {"name": "echo", "description": "Says it again.\nAnd more.", "annotations": READS,
        "inputSchema": {"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string", "description": "what to say"}, "count": {"type": "integer", "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}}}}}
PUT = {"name": "put", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "key": {"type": "string"}}}}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "recorded client", "version": "7"}}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
          "io.modelcontextprotocol/clientInfo": {"name": "recorded client", "version": "7"}}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


class Sent:
    """What `send` did with a server that answers so."""

    def __init__(self, t, *args, answers=None, tools=(ECHO, PUT), more=None, server=True, status=0, env=None, input=b"", run=None):
        files = {x: t.tmp / x for x in ("spec.json", "asked")}
        files["spec.json"].write_text(json.dumps({"answers": answers or {}, "tools": list(tools), "more": more or {}}))
        files["asked"].write_text("")
        self.command = scripted(t, SERVER, *files.values())
        tail = ["--", *self.command] if server else []
        if run is not None:
            self.out = run("send", *args, *tail)
        else:
            done = t.run("send", "--vault", t.vault, *args, *tail, env=env, input=input)
            self.out, self.err = done.stdout.decode(), done.stderr.decode()
            eq(done.returncode, status, f"exit status of {args}; {self.out} {self.err}")
            check(not re.search("Sanitizer|runtime error|Assertion", self.err), self.err)
        self.asked = [json.loads(x) for x in files["asked"].read_text().splitlines()]

    def methods(self):
        return [m.get("method", "answer") for m in self.asked]

    def last(self):
        """The params of the last request."""
        return [m for m in self.asked if "method" in m and "id" in m][-1]["params"]

    def refused(self, *words):
        """Nothing but the handshake and tools/list was sent, and stderr has these words."""
        check(set(self.methods()) <= {"initialize", "notifications/initialized", "tools/list"}, lambda: f"sent: {self.methods()}")
        for word in words:
            check(word in self.err, lambda: f"{word!r} is not in: {self.err}")


def record(t, *messages, command=None, cwd=None):
    """A session in which the client says these messages to the server of Sent, with an answer to each request."""
    p = subprocess.Popen([lib.PROGRAM, "proxy", "--vault", str(t.vault), "--name", "server", "--", *(command or Sent(t, "--list").command)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=t.environ(), cwd=cwd)
    for m in messages:
        p.stdin.write(json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\n")
        p.stdin.flush()
        while "id" in m and "method" in m and json.loads(p.stdout.readline()).get("id") != m["id"]:
            pass
    p.stdin.close()
    eq(p.wait(20 * lib.PATIENCE), 0, "exit status of the proxy")
    p.stdout.close()


def call(id, name="echo", method="tools/call", **arguments):
    return {"id": id, "method": method, "params": {"name": name, "arguments": arguments}}


HELLO = ({"id": "i", "method": "initialize", "params": INITIALIZE}, {"method": "notifications/initialized"})


# --- typed requests -------------------------------------------------------------------------------

@case("a tool is called with arguments of the types of its inputSchema; the session is recorded")
def _(t):
    for words in (["tools/call", "echo"], ["echo"]):
        s = Sent(t, *words, "text=5", "count=3", "tags=a", "tags=b")
        eq(json.loads(s.out), {"text": "5", "count": 3, "tags": ["a", "b"]}, "what is printed")
        eq(s.methods(), ["initialize", "notifications/initialized", "tools/list", "tools/call"], "what the server gets")
        eq(s.asked[0]["params"]["clientInfo"]["name"], "mcp-interposer", "the client")
    rows = t.rows("SELECT s.id, s.client_name, e.detail FROM sessions s JOIN events e ON e.session_id = s.id WHERE e.kind = 'sent'")
    eq([(a, b) for a, b, _ in rows], [(1, b"mcp-interposer"), (2, b"mcp-interposer")], "sessions")
    eq(json.loads(rows[0][2]), {"request": "new"}, "event")
    check("note: recorded as session 2\n" in s.err, s.err)
    eq(len(t.messages("method = 'tools/call'")), 2, "the calls in the record")


@case("arguments that do not fit, unknown ones and unknown tools are refused; --unchecked sends them")
def _(t):
    for words, said in ((["echo", "text=a", "count=x"], "/count must be of type \"integer\", is a string"),
                        (["echo", "count=1"], "arguments"),
                        (["echo", "txet=a"], "the tool has no argument 'txet'; did you mean 'text'?"),
                        (["ecko", "text=a"], "the server has no tool 'ecko'; did you mean 'echo'?"),
                        (["tools/call", "zzzzzz"], "the server has no tool 'zzzzzz'; --list prints its tools"),
                        (["tools/cal", "echo=1"], "did you mean 'tools/call'?")):
        Sent(t, *words, status=2).refused(said)
    tool = {"name": "put", "inputSchema": {"type": "object", "required": ["path"]}}
    Sent(t, "echo", "text=a", "--set", "/name=put", "--yes", tools=[ECHO, tool], status=2).refused("inputSchema")
    eq(Sent(t, "--unchecked", "echo", "txet=a", "count=x").last()["arguments"], {"txet": "a", "count": "x"}, "sent anyway")
    eq(Sent(t, "--unchecked", "--yes", "ecko").last(), {"name": "ecko", "arguments": {}}, "sent anyway")


@case("a tool is called although the server does not list its tools, with a warning")
def _(t):
    answers = {"tools/list": {"error": {"code": -32601, "message": "no"}}}
    Sent(t, "echo", "count=1", answers=answers, status=2).refused("not marked read-only")
    s = Sent(t, "echo", "count=1", "n:=1", "--yes", answers=answers)
    eq(s.last()["arguments"], {"count": "1", "n": 1}, "text, and JSON as given")
    check("did not list this tool: its arguments are sent as text, unchecked" in s.err, s.err)


@case("values come from files, stdin and the environment, or are JSON; @ can be meant literally")
def _(t):
    (t.tmp / "f").write_text("line\nlast\n")
    s = Sent(t, "echo", f"text=@{t.tmp}/f")
    eq(s.last()["arguments"], {"text": "line\nlast"}, "a file, without one newline at its end")
    eq(Sent(t, "echo", "text=env:WORD", env={"WORD": "from env"}).last()["arguments"], {"text": "from env"}, "a variable")
    eq(Sent(t, "echo", "text=@-", input=b"from stdin").last()["arguments"], {"text": "from stdin"}, "stdin")
    eq(Sent(t, "echo", 'text:="@f"', "count:=2").last()["arguments"], {"text": "@f", "count": 2}, "JSON")
    eq(Sent(t, "echo", "text=a=b@c").last()["arguments"], {"text": "a=b@c"}, "only the first = counts")
    (t.tmp / "b").write_bytes(b"\xff")
    for word, said in ((f"text=@{t.tmp}/none", "No such file"), ("text=env:NO_SUCH", "no variable NO_SUCH"), ("text:={", "not JSON"),
                       (f"text=@{t.tmp}/b", "not UTF-8")):
        s = Sent(t, "echo", word, status=2)
        check(said in s.err and s.asked == [], lambda: f"{word}: {s.err} {s.asked}")


@case("--list prints the tools and their arguments, of all pages; --json their definitions")
def _(t):
    pages = {"tools/list": {"result": {"tools": [ECHO], "nextCursor": "2"}}, "tools/list 2": {"result": {"tools": [PUT]}}}
    s = Sent(t, "--list", answers=pages)
    eq(s.out, "echo  read-only  Says it again.\n  text=string  required  what to say\n  count=integer  default 1\n"
              "  tags=array of string\nput\n  path=string\n  key=string\n", "text")
    eq([json.loads(x) for x in Sent(t, "--list", "--json", answers=pages).out.splitlines()], [ECHO, PUT], "JSON")
    eq(Sent(t, "--list", answers={"tools/list": {"error": {"code": -32601, "message": "x"}}}, status=1).out, "", "no list")


@case("other methods are sent as well, with their target as a word")
def _(t):
    read = {"result": {"contents": [{"uri": "file:///a?b=c", "text": "one\ntwo"}]}}
    get = {"result": {"description": "d", "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}}
    for words, params, answers, out in (
            (["tools/list"], {}, {}, None),
            (["ping"], {}, {"ping": {"result": {}}}, "{}\n"),
            (["resources/read", "file:///a?b=c"], {"uri": "file:///a?b=c"}, {"resources/read": read},
             "resource: file:///a?b=c\none\ntwo\n"),
            (["resources/read", "uri=file:///a?b=c"], {"uri": "file:///a?b=c"}, {"resources/read": read}, None),
            (["prompts/get", "p", "n=1"], {"name": "p", "arguments": {"n": "1"}}, {"prompts/get": get},
             "description: d\nrole: user\nhi\n"),
            (["--yes", "own/method", "n:=1"], {"n": 1}, {"own/method": {"result": {"x": [1]}}}, '{\n  "x": [\n    1\n  ]\n}\n')):
        s = Sent(t, *words, answers=answers)
        eq(s.last(), params, f"params of {words}")
        check(out is None or s.out == out, lambda: f"{words}: {s.out!r}")
    s = Sent(t, "initialize", "protocolVersion=2024-11-05")
    eq((s.methods(), s.last()["protocolVersion"], s.last()["clientInfo"]["name"]), (["initialize"], "2024-11-05", "mcp-interposer"),
       "no other handshake")


@case("a tool whose name contains a slash is found by its name alone")
def _(t):
    tool = {"name": "fs/read", "annotations": READS, "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    eq(Sent(t, "fs/read", "n=1", tools=[tool]).last(), {"name": "fs/read", "arguments": {"n": 1}}, "params")


# --- results --------------------------------------------------------------------------------------

@case("images, audio and blobs become files with names of ours; nothing is overwritten")
def _(t):
    data = base64.b64encode(PNG).decode()
    content = [{"type": "image", "mimeType": "image/png", "data": data}, {"type": "image", "mimeType": "../../x", "data": data},
               {"type": "audio", "mimeType": "audio/wav", "data": data}, {"type": "text", "text": "end"},
               {"type": "resource", "resource": {"uri": "file:///../x", "mimeType": "application/pdf", "blob": data}},
               {"type": "image", "mimeType": "image/png", "data": "?"}]
    answers = {"tools/call": {"result": {"content": content}}}
    folder, tmp = t.tmp / "out", t.tmp / "tmp"
    folder.mkdir(), tmp.mkdir()
    (folder / "image-1.png").write_text("mine")
    (folder / "image-2.png").symlink_to(t.tmp / "elsewhere")
    s = Sent(t, "echo", "text=a", "--output", folder, answers=answers)
    eq(s.out, f"image/png, {len(PNG)} bytes: {folder}/image-3.png\n../../x, {len(PNG)} bytes: {folder}/image-1.bin\n"
              f"audio/wav, {len(PNG)} bytes: {folder}/audio-1.wav\nend\nresource: file:///../x\n"
              f"application/pdf, {len(PNG)} bytes: {folder}/blob-1.pdf\nimage/png: the data is not base64\n", "what is printed")
    eq((folder / "image-3.png").read_bytes(), PNG, "the image")
    eq((folder / "image-1.png").read_text(), "mine", "an existing file")
    check(not (t.tmp / "elsewhere").exists(), "a symbolic link is not followed")
    s = Sent(t, "echo", "text=a", answers=answers, env={"TMPDIR": str(tmp)})
    (made,) = tmp.iterdir()
    eq(stat.S_IMODE(made.stat().st_mode), 0o700, "mode of the directory")
    check(f"{made}/image-1.png" in s.out and (made / "image-1.png").read_bytes() == PNG, s.out)
    s = Sent(t, "echo", "text=a", "-o", t.tmp / "none", answers=answers, status=3)
    check("cannot write a file" in s.err and s.out.endswith("the data is not base64\n"), s.err)


@case("an answer makes at most 1000 files")
def _(t):
    many = [{"type": "image", "mimeType": "image/gif", "data": "AAAA"}] * 1002
    s = Sent(t, "echo", "text=a", "-o", t.tmp, answers={"tools/call": {"result": {"content": many}}})
    eq(len(list(t.tmp.glob("image-*.gif"))), 1000, "files")
    eq(s.out.splitlines()[999:], [f"image/gif, 3 bytes: {t.tmp}/image-1000.gif"] +
       ["image/gif, 3 bytes: not written, because at most 1000 files are written"] * 2, "what is printed")


@case("structured content is printed once, and a text that repeats it is left out")
def _(t):
    value = {"a": [1, "x\u202e"]}
    answers = {"tools/call": {"result": {"content": [{"type": "text", "text": json.dumps(value)}, {"type": "text", "text": "more"}],
                                         "structuredContent": value}}}
    eq(Sent(t, "echo", "text=a", answers=answers).out, 'more\n{\n  "a": [\n    1,\n    "x\\u202e"\n  ]\n}\n', "what is printed")


@case("a session of send is marked, and not counted; a request that was not sent leaves none")
def _(t):
    def calls(*more):
        return sum(x["calls"] for x in map(json.loads, t.run("stats", "--json", "--vault", t.vault, *more).stdout.splitlines()))
    def sessions():
        return [(x["id"], x["sent"]) for x in map(json.loads, t.run("sessions", "--json", "--vault", t.vault).stdout.splitlines())]
    record(t, *HELLO, call(1, text="one"), call(2, text="two"))      # session 1 is a `send --list`
    Sent(t, "echo", "text=x")
    eq(sessions(), [(3, True), (2, False), (1, True)], "sessions")
    eq((calls(), calls("--sent"), calls("--session", "3")), (2, 3, 0), "calls")
    done = t.run("stats", "--session", "3", "--vault", t.vault)
    check(b"--sent" in done.stderr and done.stdout == b"", done)
    check(t.run("sessions", "--vault", t.vault).stdout.count(b", sent\n") == 2, "the list")
    check([b"made by `send`" in t.run("show", n, "--vault", t.vault).stdout for n in "23"] == [False, True], "the head of show")
    for args in (("echo", "txet=x"), ("put",), ("ehco", "text=x")):
        s = Sent(t, *args, status=2)
        s.refused()
        check("recorded as" not in s.err, s.err)
    eq(sessions(), [(3, True), (2, False), (1, True)], "after requests that were not sent")
    eq(t.run("audit", "verify", "--vault", t.vault).returncode, 0, "audit verify")


@case("errors and errors of tools have exit status 1")
def _(t):
    failed = {"tools/call": {"result": {"isError": True, "content": [{"type": "text", "text": "it failed"}]}}}
    eq(Sent(t, "echo", "text=a", answers=failed, status=1).out, "it failed\n", "an error of the tool")
    error = {"tools/call": {"error": {"code": -32000, "message": "bad\u001b[31m", "data": {"x": 1}}}}
    eq(Sent(t, "echo", "text=a", answers=error, status=1).out, 'error -32000: bad\\x1b[31m\n{\n  "x": 1\n}\n', "an error")
    s = Sent(t, "echo", "text=a", "--json", answers=error, status=1)
    eq(json.loads(s.out)["error"], error["tools/call"]["error"], "--json")


@case("nothing from a server reaches the terminal raw")
def _(t):
    evil = "a\u001b[2J\u009b31m\u202eb\u0000\tc\r\nd\re"
    answers = {"tools/call": {"result": {"content": [
        {"type": "text", "text": evil}, {"type": evil, "x": evil}, {"type": "image", "mimeType": evil, "data": "AA=="},
        {"type": "resource", "resource": {"uri": evil, "text": evil}}], "structuredContent": {evil: evil}},
        "first": [{"method": "notifications/message", "params": {"level": evil, "data": evil}},
                  {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "message": evil}},
                  {"id": 1, "method": "x/" + evil}]}}
    tools = [{**ECHO, "description": evil, "inputSchema": {"type": "object", "properties": {evil: {"type": evil, "description": evil}, "text": {}}}},
             {"name": evil, "inputSchema": {"type": "object"}}]
    tmp = {"TMPDIR": str(t.tmp)}
    for args in (["echo", "text=a"], ["echo", "text=a", "--json"], ["--list"], ["--list", "--json"]):
        out = Sent(t, *args, answers=answers, tools=tools, run=lambda *a: on_terminal(t, a[0], "--vault", str(t.vault), *map(str, a[1:]), vault=False, env=tmp)).out
        text = re.sub(r"\x1b\[[0-9;]*m", "", out)
        check("\u202e" not in text and "\x9b" not in text and "\x1b" not in text and "\0" not in text, lambda: f"{args}: {text!r}")
        check("\r" not in text, lambda: f"{args}: {text!r}")
    s = Sent(t, "echo", "text=a", answers=answers, tools=tools, env=tmp)
    check("a\\x1b[2J" in s.out and "\tc\nd\\re\n" in s.out, lambda: repr(s.out))


# --- asking ---------------------------------------------------------------------------------------

@case("a tool that is not marked read-only needs --yes where nobody can be asked")
def _(t):
    Sent(t, "put", "path=/x", status=2).refused("tools/call put: the tool is not marked read-only; --yes sends it")
    eq(Sent(t, "put", "path=/x", "--yes").last(), {"name": "put", "arguments": {"path": "/x"}}, "--yes")
    tool = {**PUT, "annotations": {"idempotentHint": True, "readOnlyHint": "true"}}
    Sent(t, "put", "path=/x", tools=[tool], status=2).refused("not marked read-only")
    Sent(t, "own/method", status=2).refused("own/method: the method is not known to be read-only; --yes sends it")


@case("on a terminal it asks first")
def _(t):
    for line, status, sent in (("n\n", 1, False), ("\n", 1, False), ("y\n", 0, True)):
        s = Sent(t, "put", "path=/x", run=lambda *a: answer(t, line, status, *map(str, a)))
        check('tools/call put {"path":"/x"}\nThe request may change something. Send it? [y/N] ' in s.out, s.out)
        eq("tools/call" in s.methods(), sent, f"whether it is sent after {line!r}")
        check(sent or "nothing was sent" in s.out, s.out)
    s = Sent(t, "echo", "text=a", run=lambda *a: answer(t, None, 0, *map(str, a)))
    check("[y/N]" not in s.out, "a read-only tool")


# --- recorded requests ----------------------------------------------------------------------------

@case("a recorded request is sent again with the recorded handshake; the difference is printed")
def _(t):
    record(t, *HELLO, call(1, text="one", count=2), call(2, text="two"))
    s = Sent(t, "--seq", 4, "--session", 2, server=False)
    eq(s.asked[0]["params"], INITIALIZE, "the recorded initialize")
    eq(Sent(t, "--seq", 4, "--session", 2, "--set", "/name=put", server=False, status=2).methods()[-1], "tools/list",
       "another tool, which is not read-only")
    eq(s.last(), {"name": "echo", "arguments": {"text": "one", "count": 2}}, "the recorded params")
    eq(s.out, '{"text": "one", "count": 2}\n\nthe answer is as recorded\n', "the answer")
    s = Sent(t, "--seq", 4, "--session", 2, "--set", "/arguments/count=3", "--set", "/arguments/tags=x", server=False)
    eq(s.last()["arguments"], {"text": "one", "count": 3, "tags": ["x"]}, "types: that of the old value, that of the schema")
    check(s.out.endswith('\n\ndifference from the recorded answer:\n/content/0/text\n  - "{\\"text\\": \\"one\\", \\"count\\": 2}"\n'
                         '  + "{\\"text\\": \\"one\\", \\"count\\": 3, \\"tags\\": [\\"x\\"]}"\n'), lambda: repr(s.out))
    uid = t.rows("SELECT uid FROM sessions WHERE id = 2")[0][0].decode()
    rows = t.rows("SELECT s.client_name, s.name, e.detail FROM sessions s JOIN events e ON e.session_id = s.id "
                  "WHERE e.kind = 'sent' ORDER BY s.id DESC LIMIT 1")
    eq((rows[0][0], rows[0][1], json.loads(rows[0][2])), (b"recorded client", b"server", {"request": f"{uid}:4"}), "the new session")


@case("the default is the newest session that send did not record, so a command can be repeated")
def _(t):
    record(t, *HELLO, call(1, text="one"))
    for word in ("two", "three"):
        s = Sent(t, "--seq", 4, "--set", f"/arguments/text={word}", server=False)
        check('- "{\\"text\\": \\"one\\"}"' in s.out and f"{word}" in s.out, s.out)
        check("note: the recording is session 2 of server (" in s.err, s.err)


@case("a request of a session that still runs can be sent again, before it is answered")
def _(t):
    p = t.proxy().initialize()
    p.client.send(lib.call(1, "echo", {"text": "one"}))
    p.server.recv()
    s = Sent(t, "--seq", 4)
    eq((s.last()["arguments"], s.out), ({"text": "one"}, '{"text": "one"}\n\nno answer was recorded\n'), "what is sent and printed")
    p.server.send(lib.text_result(1, "x"))
    p.client.recv()
    p.end()


@case("a cassette, a name and another server can be given")
def _(t):
    record(t, *HELLO, call(1, text="one"))
    file = t.tmp / "c.jsonl"
    eq(t.run("export", "--vault", t.vault, "--format", "cassette", "-o", file, "2").returncode, 0, "export")
    eq(Sent(t, "--seq", 4, "--session", file).out, '{"text": "one"}\n\nthe answer is as recorded\n', "a cassette")
    Sent(t, "--seq", 4, "--session", file, server=False, status=2).refused("a cassette has no command; name the server's command after --")
    eq(Sent(t, "echo", "text=x", "--session", "server", server=False).asked[0]["params"], INITIALIZE, "its command and handshake")


@case("what was imported runs no command")
def _(t):
    record(t, *HELLO, call(1, text="one"))
    file = t.tmp / "c.jsonl"
    t.run("export", "--vault", t.vault, "--format", "cassette", "-o", file, "2")
    eq(t.run("import", "--vault", t.tmp / "other", file).returncode, 0, "import")
    done = t.run("send", "--vault", t.tmp / "other", "--seq", 4)
    check(done.returncode == 2 and b"was imported: its command is not run; name the server's command after --" in done.stderr, lambda: repr(done))


@case("what was recorded on another machine runs no command")
def _(t):
    record(t, *HELLO, call(1, text="one"))
    lib.settle()
    with sqlite3.connect(t.vault / "interposer.db") as db:
        db.execute("UPDATE sessions SET host = 'elsewhere'")
    db.close()
    s = Sent(t, "--seq", 4, "--session", 2, server=False, status=2)
    check("recorded on the machine elsewhere: its command is not run; name the server's command after --" in s.err, s.err)
    eq(Sent(t, "--seq", 4, "--session", 2).last()["arguments"], {"text": "one"}, "with the server's command")


@case("a recorded command that is not a list of texts is not run")
def _(t):
    record(t, *HELLO, call(1, text="one"))
    lib.settle()
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("""UPDATE sessions SET command = '["sh", 1]'""")
    s = Sent(t, "--seq", 4, "--session", 2, server=False, status=2)
    check("the recorded command is not a list of strings; name the server's command after --" in s.err, s.err)


@case("secrets that were not recorded are named and never sent; they are given anew")
def _(t):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    record(t, *HELLO, call(1, "put", path="/x", key=secret), call(2, "put", path="/x" * 200, key="", content="y" * 200))
    s = Sent(t, "--seq", 4, "--session", 2, server=False, status=2)
    eq(s.asked, [], "nothing is started")
    check(re.search(r'the secret at /arguments/key was not recorded \("\[redacted:[^"]*"\): give it with --set /arguments/key=VALUE, '
                    "where VALUE may be @FILE or env:NAME", s.err), s.err)
    (t.tmp / "key").write_text(secret + "\n")
    for value, env in ((secret, {}), (f"@{t.tmp}/key", {}), ("env:KEY", {"KEY": secret})):
        s = Sent(t, "--seq", 4, "--session", 2, "--set", f"/arguments/key={value}", "--yes", server=False, env=env)
        eq(s.last()["arguments"], {"path": "/x", "key": secret}, value)
        check("is as recorded" in s.out, s.out)
    check(all(secret.encode() not in (m.body or b"") for m in t.messages()), "the record does not have it")
    s = Sent(t, "--seq", 4, "--session", 2, "--set", "/arguments/key=[redacted:mine]", "--yes", server=False)
    eq(s.last()["arguments"]["key"], "[redacted:mine]", "a mark that the user wrote")
    s = Sent(t, "--seq", 6, "--session", 2, server=False, status=2)
    check("the text at /arguments/content was truncated in the recording: give it with" in s.err, s.err)


@case("a recorded command with a secret is not run")
def _(t):
    command = [*Sent(t, "--list").command, "--api-key", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"]
    record(t, *HELLO, call(1, text="one"), command=command)
    s = Sent(t, "--seq", 4, "--session", 2, server=False, status=2)
    check("a secret in the recorded command was not recorded" in s.err and "name the server's command after --" in s.err, s.err)
    check("4eC39" not in s.err, s.err)
    eq(Sent(t, "--seq", 4, "--session", 2).last()["arguments"], {"text": "one"}, "with the server's command")


@case("a number that is not a request of the client is refused")
def _(t):
    record(t, *HELLO, call(1, text="one"))
    for seq, said in ((1, None), (3, "message 3 is not a request of the client"), (5, "message 5 is an answer; its request is 4"),
                      (99, "the recording has no message 99")):
        s = Sent(t, "--seq", seq, "--session", 2, server=False, status=0 if said is None else 2)
        check(said is None or (said in s.err and s.asked == []), lambda: f"{seq}: {s.err}")
    s = Sent(t, "--seq", 4, "--session", 2, "--set", "/arguments/text/x=1", server=False, status=2)
    check("--set: '/arguments/text/x' is inside of a string" in s.err and s.asked == [], s.err)


# --- editing --------------------------------------------------------------------------------------

def editor(t, script):
    path = t.tmp / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"EDITOR": f"{path} -x", "VISUAL": None}


@case("--edit opens the params in an editor; the file is private and is removed")
def _(t):
    record(t, *HELLO, call(1, text="one", count=1))
    env = editor(t, f'stat -c "%a %n" "$2" "$(dirname "$2")" >{t.tmp}/seen; cat "$2" >>{t.tmp}/seen; sed -i s/one/three/ "$2"')
    s = Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=env)
    eq(s.last()["arguments"], {"text": "three", "count": 1}, "what is sent")
    seen = (t.tmp / "seen").read_text().splitlines()
    eq([x.split()[0] for x in seen[:2]], ["600", "700"], "modes")
    eq("\n".join(seen[2:]), json.dumps({"name": "echo", "arguments": {"text": "one", "count": 1}}, indent=2), "the text")
    check(not any(os.path.exists(x.split()[1]) for x in seen[:2]), "it is removed")
    s = Sent(t, "echo", "text=a", "-e", env=editor(t, 'sed -i \'s/"a"/"b"/\' "$2"'))
    eq(s.last()["arguments"], {"text": "b"}, "a typed request")
    s = Sent(t, "echo", "text=a", "-e", env=editor(t, 'sed -i \'s/"a"/7/\' "$2"'), status=2)
    s.refused("/text must be of type")


def typed(t, *lines):
    """For Sent: a terminal on which these lines are typed, one when each secret is asked for; what is sent is agreed to."""
    def run(*args):
        master, slave = os.openpty()
        p = subprocess.Popen([lib.PROGRAM, args[0], "--vault", str(t.vault), *(str(a) for a in args[1:])], stdin=slave, stdout=slave, stderr=slave,
                             env=t.environ({"TERM": "dumb"}))
        os.close(slave)
        said, left = b"", list(lines)
        while True:
            try:
                said += os.read(master, 65536)
            except OSError:     # it has ended
                break
            if said.endswith(b"Its value: "):
                line = left.pop(0)
                os.write(master, (line if isinstance(line, bytes) else line.encode()) + b"\n")
            elif said.endswith(b"[y/N] "):
                os.write(master, b"y\n")
        os.close(master)
        p.wait(20 * lib.PATIENCE)
        eq(left, [], f"lines that were not asked for; {said[-500:]!r}")
        return said.decode()
    return run


@case("on a terminal a secret is asked for, and not shown; nothing entered is an error")
def _(t):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    record(t, *HELLO, call(1, "put", path="/x", key=secret, token=secret))
    lib.settle()
    s = Sent(t, "--seq", 4, "--session", 2, "--set", "/arguments/token=mine", server=False, run=typed(t, secret))
    eq(s.last()["arguments"], {"path": "/x", "key": secret, "token": "mine"}, "what was sent")
    check(re.search(r'The secret at /arguments/key was not recorded \("\[redacted:[^"]*"\)\. Its value: \r?\n', s.out), s.out)
    check("tools/call put (with the secrets that you have typed)" in s.out, s.out)
    eq(s.out.split("Send it?")[0].count(secret), 0, f"the secret on the terminal: {s.out}")
    s = Sent(t, "--seq", 4, "--session", 2, server=False, run=typed(t, secret, ""))
    eq(s.asked, [], "nothing is started")
    check("the secret at /arguments/token was not recorded" in s.out and "the secret at /arguments/key" not in s.out, s.out)
    s = Sent(t, "--seq", 4, "--session", 2, "--set", "/arguments/token=mine", server=False, run=typed(t, "x" * 4094))
    eq(s.last()["arguments"]["key"], "x" * 4094, "the longest line")
    for line, said in (("x" * 5000, "the value has more than the 4094 bytes that can be typed"), (b"\xff\xfe", "the value is not UTF-8 text")):
        s = Sent(t, "--seq", 4, "--session", 2, server=False, run=typed(t, line), status=2)
        eq(s.asked, [], "nothing is started")
        out = " ".join(s.out.split())
        check(f"what was typed cannot be sent: {said}" in out and "give it with --set /arguments/key=VALUE" in out, out)
        check("--set: " not in out, out)


@case("--edit: an empty or unchanged file is not sent; a syntax error is reported; a redacted secret must still be given")
def _(t):
    record(t, *HELLO, call(1, text="one"), call(2, "put", path="/x", key="ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"))
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=editor(t, ': >"$2"'), status=1).refused("nothing was sent: the file is empty")
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=editor(t, 'sed -i s/:/=/ "$2"'), status=3).refused("error: line 2: ")
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=editor(t, 'echo 1 >"$2"'), status=3).refused("must be an object")
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=editor(t, "exit 1"), status=3).refused("exited with status 1")
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env={"EDITOR": "no-such-editor", "VISUAL": None}, status=3).refused("failed; set EDITOR")
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=editor(t, ":"), status=1).refused("nothing was sent: the file was not changed")
    Sent(t, "--seq", 4, "--session", 2, "-e", server=False, env=editor(t, 'sed -i s/one/two/ "$2"; exit 1'), status=3).refused("exited with status 1")
    Sent(t, "--seq", 6, "--session", 2, "-e", server=False, env=editor(t, 'sed -i s:/x:/y: "$2"'), status=2).refused("the secret at /arguments/key was not recorded")
    s = Sent(t, "--seq", 6, "--session", 2, "-e", "--yes", server=False, env=editor(t, 'sed -i "s/.redacted:[^\\"]*/new/" "$2"'))
    eq(s.last()["arguments"], {"path": "/x", "key": "new"}, "a secret given in the editor")


@case("--edit: on a terminal a syntax error can be corrected")
def _(t):
    env = editor(t, f'if [ -e {t.tmp}/again ]; then sed -i "s/=/:/; s/a\\"/b\\"/" "$2"; else sed -i s/:/=/ "$2"; fi; touch {t.tmp}/again')
    os.environ.update({"EDITOR": env["EDITOR"]})
    try:
        s = Sent(t, "echo", "text=a", "-e", run=lambda *a: answer(t, "y\n", 0, *map(str, a)))
    finally:
        del os.environ["EDITOR"]
    check("line 2: " in s.out and "Edit it again? [y/N] " in s.out, s.out)
    eq(s.last(), {"name": "echo", "arguments": {"text": "b"}}, "what is sent")


# --- the server while it works --------------------------------------------------------------------

@case("the server's own requests get the recorded answers, or an error; both are reported")
def _(t):
    asks = {"tools/call": {"first": [{"id": "q", "method": "roots/list"}, {"id": "r", "method": "sampling/createMessage", "params": {}},
                                     {"method": "notifications/message", "params": {"level": "info", "data": "busy"}}],
                           "result": {"content": [{"type": "text", "text": "done"}]}}}
    file = t.tmp / "c.jsonl"
    lines = [("c2s", {"id": 0, "method": "initialize", "params": INITIALIZE}), ("s2c", {"id": 0, "result": {}}),
             ("s2c", {"id": 1, "method": "roots/list"}), ("c2s", {"id": 1, "result": {"roots": [{"uri": "file:///early"}]}}),
             ("c2s", call(1, text="x")),
             ("s2c", {"id": 2, "method": "roots/list"}), ("c2s", {"id": 2, "result": {"roots": [{"uri": "file:///late"}]}}),
             ("s2c", {"id": 1, "result": {"content": [{"type": "text", "text": "done"}]}})]
    file.write_text('{"format":"mcp-interposer-cassette","version":1,"name":"s","record_level":"full"}\n' + "".join(
        json.dumps({"t": i, "dir": d, "msg": {"jsonrpc": "2.0", **m}}) + "\n" for i, (d, m) in enumerate(lines)) + '{"end":true}\n')
    s = Sent(t, "--seq", 5, "--session", file, answers=asks)
    got = {m["id"]: m for m in s.asked if "method" not in m}
    eq(got["q"]["result"], {"roots": [{"uri": "file:///late"}]}, "the answer that was given during the call")
    eq(got["r"]["error"], {"code": -32601, "message": "No answer to this request was recorded"}, "no answer")
    for said in ("the server requested roots/list: the recorded answer was sent", "the server logs info: busy",
                 "the server requested sampling/createMessage: No answer to this request was recorded"):
        check(said in s.err, lambda: f"{said!r} is not in {s.err}")


@case("a result of 2026-07-28 that asks for input is followed by what was recorded, or is an error")
def _(t):
    asks = {"resultType": "input_required", "requestState": "STATE", "inputRequests": {"who": {"method": "elicitation/create", "params": {}}}}
    done = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
    server = t.tmp / "asking.py"
    server.write_text(r"""
import json, sys
for line in sys.stdin:
    open(sys.argv[1], "a").write(line)
    m = json.loads(line)
    p = m.get("params", {})
    if m["method"] == "tools/list":
        r = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [{"name": "echo", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}]}
    elif p.get("requestState") == "LIVE" and p["inputResponses"]["who"]["content"]["name"] == "me":
        r = %s
    else:
        r = {**%s, "requestState": "LIVE"}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
""" % (done, asks))
    first = {"name": "echo", "arguments": {}, "_meta": MODERN}
    again = {**first, "requestState": "STATE", "inputResponses": {"who": {"action": "accept", "content": {"name": "me"}}}}
    lines = [("c2s", {"id": 1, "method": "tools/call", "params": first}), ("s2c", {"id": 1, "result": asks}),
             ("c2s", {"id": 2, "method": "tools/call", "params": again}), ("s2c", {"id": 2, "result": done})]
    file = t.tmp / "c.jsonl"

    def send(lines):
        file.write_text('{"format":"mcp-interposer-cassette","version":1,"name":"s","record_level":"full"}\n' + "".join(
            json.dumps({"t": i, "dir": d, "msg": {"jsonrpc": "2.0", **m}}) + "\n" for i, (d, m) in enumerate(lines)) + '{"end":true}\n')
        return t.run("send", "--vault", t.vault, "--seq", 1, "--session", file, "--", "python3", "-S", server, t.tmp / "got")
    got = send(lines)
    eq((got.returncode, got.stdout), (0, b"done\n\nthe answer is as recorded\n"), f"with a recorded answer: {got.stderr}")
    check(b"the server requires input (elicitation/create): the recorded input is sent" in got.stderr, lambda: repr(got))
    for less in (lines[:2], json.loads(json.dumps(lines).replace('"me"', '"[redacted:key]"'))):
        got = send(less)
        eq(got.returncode, 1, f"without one: {got}")
        check(b"the server requires input that was not recorded: elicitation/create" in got.stderr, lambda: repr(got))
    check("[redacted" not in (t.tmp / "got").read_text(), "a mark is not sent")


@case("a server that hangs, exits or cannot be started does not block")
def _(t):
    s = Sent(t, "echo", "text=a", "--timeout", "1s", answers={"tools/call": "hang"}, status=1)
    check("error" in s.out and t.rows("SELECT count(*) FROM events WHERE kind = 'timeout'")[0][0] == 1, s.out)
    s = Sent(t, "echo", "text=a", answers={"tools/call": "exit"}, status=1)
    check("exited with status" in s.out and "may have run" not in s.out, lambda: f"{s.out} {s.err}")      # it only reads
    for command, words in ((["/no/such/server"], b"cannot find the server"), (["true"], b"exited with status 0 before it answered; "
                                                                              b"this request was not read\n")):
        done = t.run("send", "--vault", t.vault, "--list", "--", *command)
        check(done.returncode == 3 and b"error: initialize was not answered: " in done.stderr and words in done.stderr,
              lambda: repr(done))
    s = Sent(t, "--list", answers={"tools/list": "exit"}, status=1)
    check("error: tools/list was not answered: the server" in s.err, s.err)
    s = Sent(t, "--list", answers={"initialize": {"error": {"code": -5, "message": "go away"}}}, status=1)
    check("rejected initialize: go away" in s.err and s.methods() == ["initialize", "server/discover"], lambda: f"{s.err} {s.methods()}")


@case("an interrupt cancels the request and ends the session")
def _(t):
    s = Sent(t, "--list")
    spec = json.loads((t.tmp / "spec.json").read_text())
    (t.tmp / "spec.json").write_text(json.dumps({**spec, "answers": {"tools/call": "hang"}}))
    p = subprocess.Popen([lib.PROGRAM, "send", "--vault", str(t.vault), "echo", "text=a", "--", *s.command], env=t.environ(),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asked = t.tmp / "asked"
    lib.wait_until(lambda: "tools/call" in asked.read_text(), 10, "the call")
    p.send_signal(signal.SIGINT)
    eq(p.wait(20 * lib.PATIENCE), -signal.SIGINT, "exit status")
    check("notifications/cancelled" in asked.read_text(), lambda: asked.read_text())
    eq(t.rows("SELECT end_reason FROM sessions ORDER BY id DESC LIMIT 1")[0][0], b"client-closed", "the session has ended")


# --- revisions ------------------------------------------------------------------------------------

@case("all revisions are spoken: the recorded one, the chosen one, or the one that the server accepts")
def _(t):
    for date in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        s = Sent(t, "echo", "text=a", "--revision", date)
        eq(s.asked[0]["params"]["protocolVersion"], date, "chosen")
    modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    s = Sent(t, "echo", "text=a", "--revision", "2026-07-28", more=modern)
    eq(s.methods(), ["tools/list", "tools/call"], "no handshake")
    eq(s.last()["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "the revision is in the request")
    refuses = {"initialize": {"error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}},
               "server/discover": {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **modern}}}
    s = Sent(t, "echo", "text=a", answers=refuses, more=modern)
    eq(s.methods(), ["initialize", "server/discover", "tools/list", "tools/call"], "the server knows no initialize")
    check("_meta" in s.last(), lambda: s.last())
    s = Sent(t, "--list", more=modern)
    record(t, {**call(1, text="one"), "params": {"name": "echo", "arguments": {"text": "one"}, "_meta": MODERN}}, command=s.command)
    session = t.rows("SELECT max(id) FROM sessions")[0][0]
    s = Sent(t, "--seq", 1, "--session", session, server=False, more=modern)
    eq(s.methods(), ["tools/list", "tools/call"], "a recorded request of 2026-07-28 needs no handshake")
    eq(s.last()["_meta"], MODERN, "its _meta")
    eq(Sent(t, "echo", "text=b", "--session", session, server=False, more=modern).methods(), ["tools/list", "tools/call"], "its revision")


# --- the command line -----------------------------------------------------------------------------

@case("usage errors name what is missing")
def _(t):
    for args, said in ((["--", "true"], "missing request"), (["echo"], "missing server"), (["--list"], "missing server"),
                       (["--seq", "1", "echo", "--", "true"], "unexpected argument 'echo': change the recorded request with --set"),
                       (["--list", "echo", "--", "true"], "unexpected argument 'echo'"), (["--list", "--seq", "1"], "exclude"),
                       (["--seq", "x"], "--seq"), (["echo", "more", "--", "true"], "'more': expected NAME=VALUE"),
                       (["echo", "--revision", "2020-01-01", "--", "true"], "unknown revision '2020-01-01'"),
                       (["--seq", "1", "--revision", "2025-06-18"], "has its own revision"),
                       (["--seq", "1", "--set", "path=x"], "--set: 'path': is not a JSON pointer"),
                       (["--seq", "1", "--set", "/path"], "expected POINTER=VALUE"),
                       (["--list", "--edit", "--", "true"], "cannot be combined with --list")):
        done = t.run("send", "--vault", t.vault, *args)
        check(done.returncode == 2 and said in done.stderr.decode() and done.stdout == b"", lambda: f"{args}: {done!r}")


# --- the working directory ------------------------------------------------------------------------

@case("the recorded server is started in the directory in which it ran; if that is gone, here, and a note says so")
def _(t):
    project = t.tmp / "a project"
    project.mkdir()
    record(t, *HELLO, call(1, text="x"), cwd=project)
    id, seq = t.rows("SELECT s.id, m.seq FROM sessions s JOIN messages m ON m.session_id = s.id WHERE s.cwd = ?"
                     " AND m.method = 'tools/call'", str(project))[0]

    def again():
        """From another directory, with a relative path of the vault."""
        done = subprocess.run([lib.PROGRAM, "send", "--vault", t.vault.name, "--session", str(id), "--seq", str(seq)], cwd=t.vault.parent,
                              env=t.environ(), capture_output=True, text=True, timeout=20 * lib.PATIENCE)
        eq(done.returncode, 0, done.stderr)
        return t.rows("SELECT cwd FROM sessions ORDER BY id DESC LIMIT 1")[0][0].decode(), done.stderr
    eq(again()[0], str(project), "where the server ran again")
    project.rmdir()
    cwd, said = again()
    eq(cwd, str(t.vault.parent), "where the server ran without it")
    check(f"does not exist: {project}" in said, said)
    s = Sent(t, "echo", "text=x")
    eq(t.rows("SELECT cwd FROM sessions ORDER BY id DESC LIMIT 1")[0][0].decode(), os.getcwd(), "of a command that is given")
    check("does not exist" not in s.err, s.err)


if __name__ == "__main__":
    lib.main()
