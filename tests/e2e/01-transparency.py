#!/usr/bin/env python3
"""Valid messages are forwarded byte for byte, in order, and recorded with the same bytes."""
import os
import random
import time

import lib
from lib import Background, case, check, eq, one_of

SEED = int(os.environ.get("E2E_SEED", "20251121"))
COUNT = int(os.environ.get("E2E_COUNT", 5000 if lib.SLOW > 1 else 100000 if os.environ.get("TEST_LONG") else 20000))
BLOCK = 250


class Speller:
    """Valid JSON, oddly spelled, made from a seed."""

    PLAIN = "abcdefghijklmnopqrstuvwxyzABCXYZ0189 _-./:;,{}[]'<>&"
    ODD = ['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u001b", "\\u0007",
           "\\u2028", "\\uD83D\\uDE00", "\\ud800", "\\uDFFF", "\\u00E9", "\\uFeFf", "\x7f", "\x80",
           "\x9b", "é", "\u2028", "\u2029", "\u0085", "\u202e", "\ufeff", "\ufffe", "😀",
           "日本", "\U0010ffff", "e\u0301", "{\\\"jsonrpc\\\":\\\"2.0\\\"}"]
    NUMBERS = ["0", "-0", "1", "-1", "1.0", "1e3", "1E+3", "1e-3", "-0.0", "0.1", "1.50", "0e0",
               "123456789012345678901234567890", "9007199254740993", "-9223372036854775809", "1e400",
               "3.141592653589793238462643383279", "5E-324", "18446744073709551616"]
    METHODS_C = ["tools/call", "tools/list", "resources/read", "prompts/get", "ping", "x/unknown",
                 "completion/complete", "logging/setLevel", "", "méthode", "tools/call ", "rpc.x"]
    METHODS_S = ["sampling/createMessage", "roots/list", "elicitation/create", "ping", "y/other"]
    NOTES = ["notifications/message", "notifications/progress", "notifications/tools/list_changed",
             "notifications/x", "$/odd", "notifications/roots/list_changed"]
    ESCAPE = {"/": "\\/", '"': '\\"', "\\": "\\\\"}

    def __init__(self, seed, levels):
        self.r = random.Random(seed)
        self.plain = [self.object(self.r.choice((1, 1, 2, 3))) for _ in range(1500)]
        self.pool = list(self.plain)
        self.pool += ["{}", "{ }", "{\t}"] * 30
        # The whole line may be 512 levels deep; `levels` are left for params.
        self.pool += ["{\"deep\":" + "[" * n + "]" * n + "}" for n in (2, 100, levels - 2, levels - 1)]
        self.pool += ['{"a":' * n + "{}" + "}" * n for n in (300, levels - 1)]
        self.pool += ["{\"long\":\"" + "x" * n + "\"}" for n in (4090, 8192, 65400, 65536, 70000)]
        self.pool += ["{\"same\":1,\"same\":2}", "{\"id\":1,\"method\":\"x\",\"jsonrpc\":\"1.0\"}"]

    def space(self):
        return "" if self.r.random() < 0.85 else self.r.choice((" ", "\t", "  ", "\r", " \t "))

    def string(self):
        r = self.r
        n = r.choice((0, 1, 3, 8, 20))
        parts = [r.choice(self.ODD) if r.random() < 0.2 else r.choice(self.PLAIN) for _ in range(n)]
        return '"' + "".join(parts) + '"'

    def spell(self, text, rate=0.1):
        """The JSON string of text, some letters escaped."""
        out = []
        for c in text:
            x = self.r.random()
            if c in '"\\' or c == "/" and x < 0.2:
                out.append(self.ESCAPE[c])
            elif x < rate and ord(c) < 0x10000:
                code = f"{ord(c):04x}"
                out.append("\\u" + (code.upper() if x < rate / 2 else code))
            else:
                out.append(c)
        return '"' + "".join(out) + '"'

    def value(self, depth):
        r = self.r
        x = r.random()
        if depth > 0 and x < 0.35:
            return self.object(depth - 1) if x < 0.2 else self.array(depth - 1)
        if x < 0.65:
            return self.string()
        if x < 0.9:
            return r.choice(self.NUMBERS)
        return r.choice(("true", "false", "null"))

    def array(self, depth):
        s = self.space
        return "[" + s() + ",".join(s() + self.value(depth) + s()
                                    for _ in range(self.r.choice((0, 1, 2, 5)))) + "]"

    def object(self, depth):
        s = self.space
        names = ["name", "arguments", "uri", "_meta", "text", "", "jsonrpc", "id", "a b"]
        return "{" + s() + ",".join(
            s() + (self.spell(self.r.choice(names)) if self.r.random() < 0.7 else self.string()) +
            s() + ":" + s() + self.value(depth) + s()
            for _ in range(self.r.choice((0, 1, 2, 4)))) + "}"

    def message(self, members):
        """A line of these (key, JSON text) pairs, in any order, with others among them."""
        r, s = self.r, self.space
        if r.random() < 0.1:
            members.append((r.choice(("extra", "Method", "ID", "_meta", "results")),
                            r.choice(self.plain)))
        if r.random() < 0.3:
            r.shuffle(members)
        odd = r.random() < 0.15
        body = ",".join(
            s() + (self.spell(k, 0.3) if odd else f'"{k}"') + s() + ":" + s() + v + s()
            for k, v in members)
        lead = s() if r.random() < 0.05 else ""
        tail = r.choice((" ", "\t", "  ")) if r.random() < 0.03 else ""
        return lead + "{" + body + "}" + tail

    def jsonrpc(self):
        return ("jsonrpc", '"2.0"' if self.r.random() < 0.95 else '"2\\u002e0"')


class Ids:
    """Ids of every shape, none of them used twice, not even in another spelling."""

    def __init__(self, r):
        self.r, self.n, self.special = r, 0, ['""', "0", '"0"', '"\\u0061"', '"ид"', "-1", "1.5",
                                              "9007199254740993", '"a b/../c"', '"\u2028"', "2e3",
                                              "7.0", "1e-2", '"null"', "123456789012345678901234567"]

    def next(self):
        if self.special:
            return self.special.pop()
        self.n += 1
        n = self.n + 10000
        x = self.r.random()
        if x < 0.5:
            return str(n)
        if x < 0.7:
            return f'"{n}"'          # next to the number n of another request
        if x < 0.8:
            return f'"\\u0069d-{n}"'
        if x < 0.85:
            return str(2**53 + n)
        if x < 0.9:
            return f"-{n}"
        if x < 0.92:
            return f"{n}.25"
        return f'"{n:x}-é-\\"{n}\\""'


class Side:
    """The lines that one peer will send, with their expected records, and for each block the number of
    lines that it must have received before."""

    def __init__(self, speller, is_client):
        self.s, self.r, self.is_client = speller, speller.r, is_client
        self.ids = Ids(self.r)
        self.lines, self.facts, self.blocks = [], [], []
        self.asked = []              # our requests of each block, to be answered by the other side

    def request(self):
        method = self.r.choice(self.s.METHODS_C if self.is_client else self.s.METHODS_S)
        rid = self.ids.next()
        members = [self.s.jsonrpc(), ("id", rid), ("method", self.s.spell(method, 0.03))]
        if self.r.random() < 0.8:
            members.append(("params", self.r.choice(self.s.pool)))
        self.asked[-1].append(rid)
        return self.s.message(members), ("request", method, rid)

    def notification(self):
        method = self.r.choice(self.s.NOTES)
        members = [self.s.jsonrpc(), ("method", self.s.spell(method, 0.03))]
        if self.r.random() < 0.8:
            members.append(("params", self.r.choice(self.s.pool)))
        return self.s.message(members), ("notification", method, None)

    def answer(self, rid):
        members = [self.s.jsonrpc(), ("id", rid)]
        if self.r.random() < 0.8:
            members.append(("result", self.r.choice(self.s.pool)))
            return self.s.message(members), ("result", None, rid)
        text = '{"code":%s,"message":%s%s}' % (
            self.r.choice(("-32601", "1", "-32000")), self.s.string(),
            ',"data":' + self.r.choice(self.s.plain) if self.r.random() < 0.3 else "")
        members.append(("error", text))
        return self.s.message(members), ("error", None, rid)

    def block(self, other, batches):
        """One block; it answers the requests of the other side up to two blocks ago."""
        ready = []
        if len(other.asked) >= 2:
            for asked in other.asked[:-1]:
                ready += asked
                asked.clear()
            self.r.shuffle(ready)
            for _ in range(self.r.choice((0, 0, 3))):    # some wait longer
                if ready:
                    other.asked[0].append(ready.pop())
        need = sum(other.blocks[i][0] for i in range(len(other.blocks) - 1)) if other.blocks else 0
        self.asked.append([])
        made = [self.answer(rid) for rid in ready]
        while len(made) < BLOCK:
            made.append(self.request() if self.r.random() < 0.55 else self.notification())
        self.r.shuffle(made)
        first = len(self.lines)
        i = 0
        while i < len(made):
            # A batch is of answers or of requests and notifications, never both.
            n = self.r.randint(1, 5) if batches and self.r.random() < 0.1 else 0
            group = made[i:i + n]
            kinds = {f[0] in ("result", "error") for _, f in group}
            if n and len(group) == n and len(kinds) == 1:
                sp = self.s.space
                text = "[" + ",".join(sp() + m.strip(" \t\r") + sp() for m, _ in group) + "]"
                self.add(text, ("batch", [(m.strip(" \t\r").encode(), f) for m, f in group], None))
                i += n
            else:
                self.add(*made[i])
                i += 1
        self.blocks.append((len(self.lines) - first, need))

    def add(self, text, fact):
        self.lines.append(text.encode("utf-8", "surrogatepass"))
        self.facts.append(fact)


def make(count, batches):
    speller = Speller(SEED + batches, 510 if batches else 511)
    client, server = Side(speller, True), Side(speller, False)
    while min(len(client.lines), len(server.lines)) < count:
        client.block(server, batches)
        server.block(client, batches)
    return client, server


class Talker:
    """One peer: sends its lines in random pieces, and keeps the lines that it receives."""

    def __init__(self, end, side, seed):
        self.end, self.side, self.r = end, side, random.Random(seed)
        self.got, self.seen = [], 0

    def write(self):
        at = 0
        for k, (n, need) in enumerate(self.side.blocks):
            lib.wait_until(lambda: self.seen >= need, 60, f"{need} lines at the {self.end.name}")
            data = b"".join(line + b"\n" for line in self.side.lines[at:at + n])
            at += n
            small = k in (1, 5)      # two blocks in tiny pieces, the rest in any
            i = 0
            while i < len(data):
                piece = self.r.randint(1, 40) if small else self.r.choice((7, 300, 4096, 65536, 1 << 20))
                self.end.write(data[i:i + piece], 60)
                i += piece

    def read(self, count):
        while self.seen < count:
            if not self.end.fill(time.monotonic() + 20 * lib.PATIENCE):
                raise lib.Failure(f"{self.end.name}: {self.seen} of {count} lines, then nothing")
            check(not self.end.eof, f"{self.end.name}: end of file after {self.seen} lines")
            while (line := self.end.take_line()) is not None:
                self.got.append(line)
                self.seen += 1


def same_lines(got, want, where):
    for i, (g, w) in enumerate(zip(got, want)):
        eq(g, w, f"line {i} at the {where}")
    eq(len(got), len(want), f"number of lines at the {where}")


def expected_rows(side, direction):
    for text, (kind, method, rid) in zip(side.lines, side.facts):
        if kind == "batch":
            yield direction, "batch", None, None, text, False
            for member, (k, m, i) in method:
                yield direction, k, m, i, member, True
        else:
            yield direction, kind, method, rid, text, False


def compare_record(t, client, server, skip):
    with lib.database(t.vault) as db:
        for side, direction in ((client, "c2s"), (server, "s2c")):
            q = db.execute(
                "SELECT seq, kind, method, rpc_id, CAST(body AS BLOB), batch_seq, action, origin, "
                "body_offset, body_length, size FROM messages WHERE direction = ? AND seq > ? "
                "AND origin = 'peer' ORDER BY seq", (direction, skip))
            bodies = next(iter((t.vault / "Bodies").glob("*")), None)
            bodies = bodies.read_bytes() if bodies else b""
            batch = None
            for row, want in zip(q, expected_rows(side, direction)):
                seq, kind, method, rid, body, batch_seq, action, origin, off, length, size = row
                _, w_kind, w_method, w_rid, w_body, member = want
                where = f"row {seq} ({direction})"
                if body is None and off is not None:
                    body = bodies[off:off + length]
                eq(body, w_body, f"body of {where}")
                eq(kind.decode(), w_kind, f"kind of {where}, {lib.short(w_body)}")
                eq((action, origin), (b"forwarded", b"peer"), f"action, origin of {where}")
                if w_method is not None:
                    eq(method.decode(), w_method, f"method of {where}, {lib.short(w_body)}")
                eq(rid and rid.decode(), w_rid, f"rpc_id of {where}")
                eq(size, len(w_body), f"size of {where}")
                if member:
                    eq(batch_seq, batch, f"batch_seq of {where}")
                else:
                    eq(batch_seq, None, f"batch_seq of {where}")
                    batch = seq if kind == b"batch" else None
            want_n = sum(1 for _ in expected_rows(side, direction))
            got_n = db.execute("SELECT count(*) FROM messages WHERE direction = ? AND seq > ? AND "
                               "origin = 'peer'", (direction, skip)).fetchone()[0]
            eq(got_n, want_n, f"number of rows {direction}")
        n, last = db.execute("SELECT count(*), max(seq) FROM messages").fetchone()
        eq(n, last, "seq counts without a hole")
        bad = db.execute(
            "SELECT count(*) FROM messages a JOIN messages r ON r.session_id = a.session_id AND "
            "r.seq = a.request_seq WHERE a.seq > ? AND (r.rpc_id != a.rpc_id OR "
            "r.direction = a.direction OR r.kind != 'request' OR r.seq >= a.seq)", (skip,)).fetchone()
        eq(bad[0], 0, "answers tied to a wrong request")
        loose = db.execute("SELECT count(*) FROM messages WHERE kind IN ('result','error') AND "
                           "request_seq IS NULL").fetchone()
        eq(loose[0], 0, "answers tied to no request")


def both_ways(t, version, batches, count):
    client_side, server_side = make(count, batches)
    p = t.proxy()
    p.initialize(version)
    skip = 3
    client, server = Talker(p.client, client_side, 1), Talker(p.server, server_side, 2)
    with Background(client.write, seconds=200), Background(server.write, seconds=200), \
            Background(client.read, len(server_side.lines), seconds=200), \
            Background(server.read, len(client_side.lines), seconds=200):
        pass
    same_lines(server.got, client_side.lines, "server")
    same_lines(client.got, server_side.lines, "client")
    p.end(gone=[rid.encode() for asked in client_side.asked for rid in asked])
    compare_record(t, client_side, server_side, skip)
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


@case(f"{COUNT} messages each way, every kind and spelling, split anywhere", limit=200)
def _(t):
    both_ways(t, "2025-11-25", False, COUNT)


@case(f"{COUNT // 5} lines each way with batches among them, under 2025-03-26", limit=120)
def _(t):
    both_ways(t, "2025-03-26", True, COUNT // 5)


@case("a handshake written one byte at a time")
def _(t):
    p = t.proxy()
    for line in (lib.request(0, "initialize", {"protocolVersion": "2025-06-18"}),
                 lib.note("notifications/initialized"), lib.call(1, "é\u2028"), b' {"jsonrpc":"2.0","method":"x"}\t'):
        for i in range(len(line)):
            p.client.write(line[i:i + 1])
        p.client.write(b"\n")
        p.server.expect(line)
    for line in (lib.result(0, {"protocolVersion": "2025-06-18"}), lib.text_result(1, "ü")):
        for i in range(len(line)):
            p.server.write(line[i:i + 1])
        p.server.write(b"\n")
        p.client.expect(line)
    p.end()


ID_TEXTS = [b"0", b"1", b"-1", b"7", b'"7"', b'""', b'"0"', b'"a"', b'"\\u0062"', b"1.5", b"2.0", b"1e3",
            b"9007199254740993", b"123456789012345678901234567890", b'"\xe2\x80\xa8"', b'"x\\ny"', b'"null"',
            b'"' + b"k" * 3000 + b'"']


@case("ids of every form, pending at once and answered in reverse order")
def _(t):
    p = t.proxy()
    p.initialize()
    asks = [b'{"jsonrpc":"2.0","id":' + i + b',"method":"tools/list"}' for i in ID_TEXTS]
    p.client.send(*asks)
    p.server.expect(*asks)
    answers = [b'{"result":{},"id":' + i + b',"jsonrpc":"2.0"}' for i in reversed(ID_TEXTS)]
    p.server.send(*answers)
    p.client.expect(*answers)
    p.end()
    got = t.rows("SELECT q.rpc_id, a.rpc_id FROM messages a JOIN messages q ON q.session_id = "
                 "a.session_id AND q.seq = a.request_seq WHERE a.kind = 'result' AND a.seq > 3 "
                 "ORDER BY q.seq")
    eq(got, [(i, i) for i in ID_TEXTS], "ids of requests and their answers")


@case("both sides use the same ids at the same time")
def _(t):
    p = t.proxy()
    p.initialize()
    p.client.send(lib.request(5, "tools/list"))
    p.server.expect(lib.request(5, "tools/list"))
    p.server.send(lib.request(5, "roots/list"))
    p.client.expect(lib.request(5, "roots/list"))
    p.client.send(lib.result(5, {"roots": []}))
    p.server.expect(lib.result(5, {"roots": []}))
    p.server.send(lib.result(5, {"tools": []}))
    p.client.expect(lib.result(5, {"tools": []}))
    p.end()
    ties = t.rows("SELECT a.direction, q.method FROM messages a JOIN messages q ON q.session_id = "
                  "a.session_id AND q.seq = a.request_seq WHERE a.seq > 3 ORDER BY a.seq")
    eq(ties, [(b"c2s", b"roots/list"), (b"s2c", b"tools/list")], "answers and their requests")


@case("an id that the answer escapes differently is the same id")
def _(t):
    # JSON libraries write "a" for "\u0061" and 1000 for 1e3: such pairs work without us.
    p = t.proxy()
    p.initialize()
    for asked, answered in ((b'"\\u0061"', b'"a"'), (b'"a\\/b"', b'"a/b"'), (b"1e3", b"1000"),
                            (b"12.0", b"12"), (b"-0", b"0"), (b'"\xc3\xa9"', b'"\\u00e9"')):
        ask = b'{"jsonrpc":"2.0","id":' + asked + b',"method":"tools/list"}'
        answer = b'{"jsonrpc":"2.0","id":' + answered + b',"result":{"tools":[]}}'
        p.client.send(ask)
        p.server.expect(ask)
        p.server.send(answer, lib.note("fence"))
        eq(p.client.recv(), answer, f"answer {answered.decode()} to request {asked.decode()}")
        p.client.expect(lib.note("fence"))
    p.end()


@case("an answer whose id has another JSON type is forwarded with the id of its request, with a finding")
def _(t):
    p = t.proxy()
    p.initialize()
    for n, (asked, answered) in enumerate(((7, "7"), ("8", 8))):
        p.client.send(lib.request(asked, "tools/list"))
        p.server.expect(lib.request(asked, "tools/list"))
        p.server.send(lib.result(answered))
        p.client.expect(lib.result(asked))
        row = t.messages("body = ?", lib.result(asked).decode())[0]
        check(row.finding, f"no finding at {row}")
        check(row.request_seq, f"not tied to its request: {row}")
    p.end()


@case("twenty lines in one write are forwarded as twenty lines")
def _(t):
    p = t.proxy()
    p.initialize()
    lines = [lib.call(i, "t" * i) for i in range(20)]
    p.client.send(*lines)
    p.server.expect(*lines)
    answers = [lib.text_result(i, "x" * i) for i in range(20)]
    p.server.send(*answers)
    p.client.expect(*answers)
    p.end()


@case("messages nested 512 levels deep are forwarded in both directions")
def _(t):
    p = t.proxy()
    p.initialize()
    deep = b'{"jsonrpc":"2.0","method":"x","params":{"a":' + b"[" * 510 + b"]" * 510 + b"}}"
    p.client.send(deep)
    p.server.expect(deep)
    p.server.send(deep)
    p.client.expect(deep)
    p.end()
    one_of([m.action for m in t.messages("body = ?", deep.decode())], [["forwarded", "forwarded"]])


lib.main()
