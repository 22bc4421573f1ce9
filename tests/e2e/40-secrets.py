#!/usr/bin/env python3
"""No secret reaches the disk, text that only resembles one is unchanged, and both sides see every byte.

The whole corpus of tests/redact goes through the real program at each level: in arguments, results,
errors, notifications, noise, stderr, targets and the server's own command line."""
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import lib
from lib import case, check, eq

sys.path.insert(0, str(lib.ROOT / "tests/redact"))
import corpus                                                                       # noqa: E402

LEVELS = ("full", "standard", "minimal")


# --- searching the vault for secrets --------------------------------------------------------------

def every_byte(vault):
    """The contents of all files in the vault, by name."""
    found = {}
    lib.settle()
    for folder, _, names in os.walk(vault):
        for name in names:
            path = Path(folder) / name
            with contextlib.suppress(FileNotFoundError):    # a recorder that exits removes the write-ahead log
                found[str(path.relative_to(vault))] = path.read_bytes()
    return found


def spellings(needle):
    """How a needle, or its first half, may look on disk: a secret that was cut is one as well. Drawn letters are never escaped, but for '/'; base64 hides them in
    three ways, by where they begin."""
    if len(needle) >= 24:
        needle = needle[:12]
    yield needle.encode()
    if "/" in needle:
        yield needle.replace("/", "\\/").encode()
    for shift in range(3):
        hidden = base64.b64encode(b"x" * shift + needle.encode())
        yield hidden[(4 if shift else 0):len(hidden) // 4 * 4 - 4]


CANARY = b"the search works"


def search(blobs, needles):
    """{needle: place} of the needles found. `needles`: {needle: description}. grep searches for thousands at once."""
    left, wanted = {}, {CANARY: None}
    for needle in needles:
        wanted.update({s: needle for s in spellings(needle) if len(s) >= 8 and b"\n" not in s})
    with tempfile.TemporaryDirectory() as folder:
        patterns, text = Path(folder) / "patterns", Path(folder) / "text"
        patterns.write_bytes(b"\n".join(wanted))
        for name, data in blobs.items():
            text.write_bytes(data + b"\n" + CANARY + b"\n")
            found = subprocess.run(["grep", "-aoF", "-f", patterns, text], stdout=subprocess.PIPE, check=True,
                                   env={"LC_ALL": "C", "PATH": os.environ["PATH"]}).stdout.split(b"\n")
            check(CANARY in found, "grep does not find what is there")
            for needle in filter(None, map(wanted.get, found)):
                left.setdefault(needle, f"{needles[needle]}: {needle[:40]!r} in {name}")
    return left


def expect_none(blobs, needles):
    left = search(blobs, needles)
    check(not left, lambda: f"{len(left)} of {len(needles)} secrets are left: "
                            + "; ".join(sorted(left.values())[:12]))


class Run:
    """One session, in which everything that is sent is noted."""

    def __init__(self, t, level, *options, puppet=(), **hello):
        self.t, self.level, self.needles, self.ids = t, level, {}, 0
        self.p = t.proxy("--record", level, *options, puppet=puppet).initialize(**hello)

    def secret(self, what, needles):
        for n in needles:
            self.needles[n] = what

    def id(self):
        self.ids += 1
        return self.ids

    def to_server(self, line):
        self.p.client.send(line)
        self.p.server.expect(line)

    def to_client(self, line):
        self.p.server.send(line)
        self.p.client.expect(line)

    def ask(self, line, id, answer=None):
        self.to_server(line)
        self.to_client(answer or lib.text_result(id, "done"))

    def say_err(self, data):
        self.p.server.say_err(data)

    def end(self):
        """The bytes of the vault while the session runs, and after it."""
        p = self.p
        p.round()
        self.say_err(b"that was all\n")
        lib.wait_until(lambda: b"that was all" in p.stderr(), 60, "the server's stderr")
        live = {f"{k}, live": v for k, v in every_byte(self.t.vault).items()}
        p.end()
        return live | every_byte(self.t.vault)


# --- carriers: the ways in which a text can travel ------------------------------------------------

def in_json(text, levels):
    for _ in range(levels):
        text = json.dumps({"log": text, "n": 1})
    return text


def letters_escaped(text):
    """Each letter of the JSON string as \\uXXXX."""
    return '"' + "".join(f"\\u{ord(c):04x}" for c in text) + '"'


def raw_call(id, value):
    return ('{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"query":%s}}}'
            % (id, value)).encode()


def blob(text, type="text/plain"):
    return {"contents": [{"uri": "file:///x.txt", **({"mimeType": type} if type else {}),
                          "blob": base64.b64encode(text.encode()).decode()}]}


def carry(run, case, how):
    text, id = case.text, run.id()
    run.secret(f"{case.name} ({case.rule}), {how}", case.needles)
    if how == "argument":
        run.ask(lib.call(id, "t", {"query": text}), id)
    elif how == "escaped argument":
        run.ask(raw_call(id, letters_escaped(text)), id)
    elif how == "slashes escaped":
        run.ask(raw_call(id, json.dumps(text).replace("/", "\\/")), id)
    elif how == "result":
        run.ask(lib.call(id), id, lib.text_result(id, text))
    elif how == "structured result":
        run.ask(lib.call(id), id, lib.result(id, {"content": [], "structuredContent": {"rows": [{"x": text}]}}))
    elif how == "error":
        run.ask(lib.call(id), id, lib.error(id, -32000, text))
    elif how == "notification":
        run.to_client(lib.note("notifications/message", {"level": "info", "data": {"line": text}}))
    elif how == "blob":
        run.ask(lib.request(id, "resources/read", {"uri": "file:///x.txt"}), id, lib.result(id, blob(text)))
    elif how == "blob without a type":
        run.ask(lib.request(id, "resources/read", {"uri": "file:///.env"}), id, lib.result(id, blob(text, None)))
    elif how == "blob with another type":
        run.ask(lib.request(id, "resources/read", {"uri": "file:///.env"}), id, lib.result(id, blob(text, "image/png")))
    elif how == "noise":
        run.p.server.send(*text.encode().split(b"\n"))
    elif how == "stderr":
        run.say_err(text.encode() + b"\n")
    else:
        levels = int(how.split()[-1])
        run.ask(lib.call(id, "t", {"query": in_json(text, levels)}), id)


CARRIERS = ("argument", "escaped argument", "slashes escaped", "result", "structured result", "error",
            "notification", "blob", "blob without a type", "blob with another type", "noise", "stderr", "JSON in JSON 1", "JSON in JSON 2", "JSON in JSON 3")


# --- cases ----------------------------------------------------------------------------------------

def all_stderr(p):
    """The interposer's own stderr lines, and those of the server."""
    return {"stderr": p.stderr()}


def shapes_case(how, number):
    @case(f"by shape, the whole corpus: {how}", limit=120)
    def _(t):
        cases = corpus.by_shape(how)
        for level in LEVELS:
            # Only the first level stores whole messages. A third of the corpus for each of the others, another one for each carrier.
            every = 1 if level == "full" or os.environ.get("TEST_LONG") else 3
            run = Run(t, level)
            for c in cases[number % every::every]:
                carry(run, c, how)
            blobs = run.end()
            expect_none(blobs | all_stderr(run.p), run.needles)
            check(len(run.needles) >= 240 // every, f"only {len(run.needles)} secrets")


@case("base64 of text: the stored blob is base64 of the redacted text, a replay's client gets it, and images are kept")
def _(t):
    run = Run(t, "full")
    env = b"HOME=/root\nDB_PASSWORD=quietword1\nTOKEN=glpat-aB3dE5fG7hJ9kL1mN3pQ\n"
    image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + env
    for n, (data, type) in enumerate(((env, None), (env, "application/octet-stream"), (image, None), (image, "text/plain"))):
        found = blob("", type)
        found["contents"][0]["blob"] = base64.b64encode(data).decode()
        run.ask(lib.request(n, "resources/read", {"uri": f"file:///{n}"}), n, lib.result(n, found))
    run.ask(lib.call(9, "log"), 9, lib.text_result(9, 'began {"secrets": {"pin": 4711}, "n": 1} and ended'))
    run.p.end()
    stored = {m.rpc_id: json.loads(m.body) for m in t.messages("kind = 'result'") if m.rpc_id != b'"init"'}
    clean = b"HOME=/root\nDB_PASSWORD=[redacted:assignment]\nTOKEN=[redacted:gitlab-token]\n"
    for n, want in enumerate((clean, clean, image, image)):
        kept = stored[b"%d" % n]["result"]["contents"][0]["blob"]
        eq(base64.b64decode(kept, validate=True), want, f"blob {n}")
    eq(stored[b"9"]["result"]["content"][0]["text"], 'began {"secrets": "[redacted:secret]", "n": 1} and ended', "JSON in a text")


for i, carrier in enumerate(CARRIERS):
    shapes_case(carrier, i)


@case("by key: each key in each place, in arguments, results and notifications")
def _(t):
    for level in LEVELS:
        run = Run(t, level)
        for seed in ("arguments", "result", "notification", "JSON in JSON"):
            for name, value, needles in corpus.keyed(f"{seed} {level}"):
                run.secret(f"{name}, {seed}", needles)
                id = run.id()
                if seed == "arguments":
                    run.ask(lib.call(id, "t", value), id)
                elif seed == "result":
                    run.ask(lib.call(id), id, lib.result(id, {"content": [], "structuredContent": value}))
                elif seed == "notification":
                    run.to_client(lib.note("notifications/message", {"level": "info", "data": value}))
                else:
                    run.ask(lib.call(id), id, lib.text_result(id, json.dumps(value, indent=1)))
        expect_none(run.end() | all_stderr(run.p), run.needles)


@case("by key, in odd spellings: escapes, numbers, duplicates, capitals")
def _(t):
    w = corpus.Words("odd")
    for level in LEVELS:
        run = Run(t, level)
        rows = []
        for form in ('{"pass\\u0077ord":"%s"}', '{"\\u0070\\u0061\\u0073\\u0073word":"%s"}', '{"PASSWORD":"%s"}',
                     '{"password":"x","password":"%s"}', '{ "password" : \t"%s" }', '{"a":{"password":["%s"]}}',
                     '{"Api\\u004bey":"%s"}', '{"api key":"%s"}', '{"user[password]":"%s"}',
                     '{"password":{"deep":{"deeper":"%s"}}}', '{"password":"\\u0041%s"}', '{"x-api-key\\t":"%s"}'):
            word = w()
            rows.append((form % word, word))
        for value, word in rows:
            id = run.id()
            run.secret(value, [word])
            run.ask(('{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":%s}}'
                     % (id, value)).encode(), id)
        id, number = run.id(), "4815162342108"
        run.secret("a number", [number])
        run.ask(lib.call(id, "t", {"pin_password": int(number), "query": "x"}), id)
        expect_none(run.end() | all_stderr(run.p), run.needles)


@case("in methods, targets, names, rejected lines, and the server's command line")
def _(t):
    shaped = [c for c in corpus.by_shape("envelope") if c.rule in ("github-token", "stripe-key", "sk-key")
              and c.text.isascii() and " " not in c.text and "\n" not in c.text and "\\" not in c.text
              and "/" not in c.text and "(" not in c.text and "%" not in c.text]
    check(len(shaped) >= 6, f"only {len(shaped)} tokens")
    w = corpus.Words("argv")
    for level in LEVELS:
        words = [w(), w(), w(), w()]
        run = Run(t, level, puppet=("x", "--api-key", words[0], f"--password={words[1]}", shaped[0].text,
                                    "--header", f"X-Mine: {words[2]}", f"--header=X-Other:{words[3]}"),
                  client={"name": f"client {shaped[4].text}", "version": shaped[5].text},
                  server={"name": f"server {shaped[3].text}", "version": shaped[2].text})
        run.secret("command line", words)
        run.secret("command line, token", shaped[0].needles)
        for c in shaped:
            run.secret(c.rule, c.needles)
        a, b, c, d, e, f = (x.text for x in shaped[:6])
        run.ask(lib.call(1, f"tool-{b}"), 1)
        run.ask(lib.request(2, "resources/read", {"uri": f"https://bob:{c}@x.test/"}), 2, lib.result(2, blob("x")))
        run.ask(lib.request(3, f"x/{d}"), 3, lib.error(3, -32601, f"no method x/{d}"))
        run.ask(lib.request(4, "prompts/get", {"name": e, "arguments": {"q": f}}), 4)
        run.p.client.send(b'{"jsonrpc":"2.0","id":5,"token of %s","method"' % a.encode())      # not JSON
        check(run.p.client.recv_json()["error"]["code"] == -32700, "the line is refused")
        expect_none(run.end() | all_stderr(run.p), run.needles)


@case("in a message over 64 KiB, which is stored in Bodies/", limit=120)
def _(t):
    cases = corpus.by_shape("large")
    text = "\n\n".join(c.text for c in cases) + "\n" + "filler of some words. " * 4000
    for level in LEVELS:
        run = Run(t, level)
        for c in cases:
            run.secret(c.name, c.needles)
        run.ask(lib.call(1, "t", {"query": text}), 1, lib.text_result(1, text))
        run.ask(lib.call(2), 2, lib.result(2, {"content": [], "structuredContent": {"text": in_json(text, 2)}}))
        blobs = run.end()
        if level == "full":
            check(any(k.startswith("Bodies/") for k in blobs), "nothing in Bodies/")
        expect_none(blobs | all_stderr(run.p), run.needles)


@case("text that only resembles a secret is recorded unchanged", limit=120)
def _(t):
    texts = corpus.lookalikes()
    check(len(texts) >= 100, f"only {len(texts)}")
    run = Run(t, "full")
    lines = []

    def send(line, ask=None):
        lines.append(line)
        return line
    for text in texts:
        id = run.id()
        run.ask(send(lib.call(id, "t", {"query": text})), id, send(lib.text_result(id, text)))
        id = run.id()
        run.ask(send(raw_call(id, json.dumps(text).replace("/", "\\/"))), id,
                send(lib.result(id, {"content": [], "structuredContent": {"a": in_json(text, 2)}})))
        run.to_client(send(lib.note("notifications/message", {"level": "info", "data": text})))
        id = run.id()
        run.ask(lib.call(id), id, send(lib.error(id, -32000, text)))
    plain = [x.encode() for text in texts for x in text.split("\n") if x.strip()]
    run.say_err(b"\n".join(plain) + b"\n")
    run.end()
    stored = {m.body for m in t.messages("kind NOT IN ('stderr', 'noise')")}
    missing = [x for x in lines if x not in stored]
    check(not missing, lambda: f"{len(missing)} of {len(lines)} lines were changed: "
                               + "; ".join(repr(x[:300]) for x in missing[:8]))
    rows = [m.body for m in t.messages("kind = 'stderr'")]
    missing = [x for x in plain if x not in rows]
    check(not missing, lambda: f"{len(missing)} lines of stderr were changed: {missing[:8]}")
    eq(t.rows("SELECT sum(redactions) FROM messages")[0][0], 0, "redactions")


@case("protocol fields that resemble secrets are recorded byte for byte")
def _(t):
    for level in ("full", "standard"):
        run = Run(t, level)
        state = "c3RhdGU6" + "Ab1" * 30
        lines = [
            lib.request(1, "tools/list", {"cursor": "eyJvIjoxMjN9", "_meta": {"progressToken": "abc-123-DEF-456"}}),
            lib.result(1, {"tools": [{"name": "login", "inputSchema": {"type": "object", "properties": {
                "password": {"type": "string", "description": "the password"}, "token": {"type": "string"},
                "max_tokens": {"type": "integer"}}, "required": ["password"]}}], "nextCursor": "eyJvIjoyNDZ9"}),
            lib.request(2, "tools/call", {"name": "t", "arguments": {"max_tokens": 100, "token_count": 7,
                                                                   "password": None, "secret": True},
                                        "requestState": state}),
            lib.result(2, {"content": [], "nextPageToken": "CAUQAA12345678", "requestState": state,
                           "usage": {"input_tokens": 12, "output_tokens": 34}}),
            lib.note("notifications/progress", {"progressToken": "abc-123-DEF-456", "progress": 1}),
        ]
        run.to_server(lines[0])
        run.to_client(lines[1])
        run.to_server(lines[2])
        run.to_client(lines[3])
        run.to_client(lines[4])
        run.end()
        stored = {m.body for m in t.messages()}
        for line in lines:
            check(line in stored, lambda line=line: f"changed at level {level}: {line!r}")


@case("a private key on stderr and in noise, line by line")
def _(t):
    for level in LEVELS:
        run = Run(t, level)
        for label in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY"):
            for prefix in ("", "  ", "2026-01-01 12:00:00 INFO  key: ", "> "):
                d = corpus.Drawer(f"{label} {prefix} {level}")
                d.inside = True
                lines = d.pem(label, "\n").split("\n")
                run.secret(f"{label} behind {prefix!r}", d.needles)
                for line in lines:
                    run.say_err((prefix + line + "\n").encode())
                run.say_err(b"loaded\n")
                run.p.server.send(*((prefix + line).encode() for line in lines), b"noise again")
        blobs = run.end()
        expect_none(blobs | all_stderr(run.p), run.needles)
        if level == "full":
            bodies = [m.body for m in t.messages("kind IN ('stderr', 'noise')")]
            check(bodies.count(b"loaded") == 12 and bodies.count(b"noise again") == 12, "lines beside the keys are kept")


@case("the end of a private key among the last stderr lines, in a hang and a crash")
def _(t):
    for level in LEVELS:
        for way in "hang", "crash":
            # --grace: the server that hangs does not end at the end of its stdin
            run = Run(t, level, *(("--timeout", "tool:t=300ms", "--grace", "300ms") if way == "hang" else ()))
            d = corpus.Drawer(f"long key {level} {way}")
            d.inside = True
            lines = [d.draw(corpus.ALPHABET["b"], 64) for _ in range(40)]
            run.secret(f"a key before a {way}", d.needles)
            run.say_err("\n".join(["-----BEGIN PRIVATE KEY-----", *lines, ""]).encode())
            lib.wait_until(lambda: run.p.stderr().count(b"[redacted:private-key]") >= 40, 20, "the key on stderr")
            run.to_server(lib.call(1, "t"))
            if way == "crash":
                run.p.server.exit(3)
            told = run.p.client.rest(20)
            eq(run.p.wait(), 124 if way == "hang" else 3, "exit status")
            check(level == "minimal" or way == "hang" or b'its last output was \\"[redacted' in told, lambda: told)
            expect_none(every_byte(t.vault) | all_stderr(run.p) | {"the error": told}, run.needles)
        eq(sum(b"[redacted:private-key]" in data for name, data in every_byte(t.vault).items() if "Escalations" in name),
           0 if level == "minimal" else 1, "escalations with last lines")
        lib.shutil.rmtree(t.vault, ignore_errors=True)      # a recorder that exits removes files, too
        check(not t.vault.exists(), "the vault is left")


@case("truncation does not split a secret")
def _(t):
    run = Run(t, "full", "--max-message", "16KiB", "--timeout", "resources/read=300ms", "--on-hang", "cancel")
    cut = {4096, 8192, 16384, 200, 80}
    n = 0
    for at in sorted(cut):
        for before in range(2, 48, 3):
            n += 1
            d = corpus.Drawer(f"cut {at} {before}")
            d.inside = True
            token = "glpat-" + d.draw(corpus.ALPHABET["w"], 40)
            run.secret(f"a token {before} bytes before {at}", d.needles)
            text = ("- " * at)[:at - before - 1] + " " + token
            run.say_err(text.encode() + b" and more " * 2000 + b"\n")
            run.p.server.send(text.encode() + b" and more " * 2000)
            line = lib.call(1000 + n, "t", {"query": text + " and more " * 2000})
            run.p.client.send(line)
            check(run.p.client.recv_json()["error"]["code"] == -32600, "a line that is too long is refused")
            if at == 80:
                run.p.client.send(lib.request(2000 + n, "resources/read", {"uri": text}))
                run.p.server.recv()
                check(run.p.client.recv_json()["error"]["code"] == -32001, "the deadline passes")
                run.p.server.recv()     # it is reported
    blobs = run.end()
    expect_none(blobs | all_stderr(run.p), run.needles)


@case("names of the client and the server that are cut do not end with a part of a secret")
def _(t):
    needles = {}

    def name(before, what):
        d = corpus.Drawer(f"name {before} {what}")
        d.inside = True
        token = "npm_" + d.draw(corpus.ALPHABET["a"], 36)   # shorter, it is none
        needles.update({n: what for n in d.needles})
        return ("- " * 4096)[:4096 - before - 1] + " " + token
    for before in (20, 30, 39):
        p = t.proxy()
        info = {side: {"name": name(before, f"{side} name"), "version": name(before, f"{side} version")} for side in ("client", "server")}
        p.client.send(lib.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info["client"]}))
        p.server.recv()
        p.server.send(lib.result(1, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info["server"]}))
        p.client.recv()
        p.end()
    stored = t.rows("SELECT client_name, client_version, server_name, server_version FROM sessions")
    check(len(stored) == 3 and all(len(text) > 4000 for row in stored for text in row), "the names are stored")
    expect_none(every_byte(t.vault), needles)


@case("a pattern from the configuration")
def _(t):
    config = t.tmp / "config.ini"
    config.write_text("[redact]\npattern.ticket = CORP-[0-9]{6}\nkeys = badge_no\nkeep = token\n")
    run = Run(t, "full", "--config", config)
    run.secret("pattern", ["CORP-481516", "CORP-234210"])
    run.secret("key", ["quietword"])
    run.ask(lib.call(1, "t", {"query": "see CORP-481516", "badge_no": "quietword", "token": "kept-as-it-is"}), 1,
            lib.text_result(1, "CORP-234210 is done"))
    run.say_err(b"CORP-481516\n")
    expect_none(run.end() | all_stderr(run.p), run.needles)
    bodies = b"\n".join(m.body or b"" for m in t.messages())
    check(b"[redacted:ticket]" in bodies and b"kept-as-it-is" in bodies, "the user's rules hold")


lib.main()
