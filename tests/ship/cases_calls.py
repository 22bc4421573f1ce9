"""Calls at the store: they follow from the messages that are there, however these came."""
import hashlib
import itertools
import json
import random
import re
import signal
import sqlite3
import subprocess
import time
import types
from pathlib import Path

from cases import LONG, case, end, same, sent
from cases_reading import read, with_reader
from cluster import DEADLINE, wait_until
from vaults import SHIP, Vault, differences, exchange, lines, texts, wrong_calls

SCHEMA_1 = (Path(__file__).resolve().parents[1] / "compat/files/store-1.sql").read_text()      # what `ship init --print` of version 1 printed
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
VIEW = re.search(r"CREATE OR REPLACE VIEW invocations.*?;", SCHEMA_1, re.S)[0]
FINDINGS = (None, None, None, "tool-error", "timeout", "interrupted,late", "server-gone", "tool-changed", "unfinished-line",
            "own-request", "x,own-request", "own-request")
ENDINGS = (None, "late", "tool-error", "timeout", "interrupted,late", "x,server-gone", "timeout,tool-error", "server-gone,timeout")
STATUSES = ("ok", "tool-error", "error", "refused", "cancelled", "server-gone", "interrupted", "timeout", "open")
TYPES = {"seq": "bigint", "t_us": "bigint", "direction": "text", "origin": "text", "kind": "text", "rpc_id": "text", "method": "text",
         "target": "text", "body": "text", "length": "bigint", "size": "bigint", "redactions": "bigint", "action": "text",
         "request_seq": "bigint", "error_code": "bigint", "batch_seq": "bigint", "finding": "text", "salt": "bytea",
         "commitment": "bytea", "offset": "bigint", "words": "tsvector", "revision": "text"}


ANSWERED = "NOT (status = 'refused' AND response_seq IS NULL)"
INVOCATIONS = f"SELECT * FROM mcp_interposer.invocations WHERE {ANSWERED} ORDER BY 1, 2"


def literal(value):
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'{}'".format(value.replace("'", "''"))


def array(values, of):
    return f"ARRAY[{', '.join(map(literal, values))}]::{of}[]"


class Device:
    """Calls the functions of the store as a shipper does, of this version or of version 1, with whatever it is told to send."""

    def __init__(self, t, dice, name="laptop"):
        t.device(name)
        self.t, self.dice = t, dice
        self.connection = t.cluster.connect(name, "postgres")
        t.cleanups.append(self.connection.close)
        self.vault, self.head, self.calls, self.leaves = self.uid(), "00" * 32, 0, 0
        self.query(f"SELECT mcp_interposer.vault_state('{self.vault}', 'host', 'user')")

    def uid(self):
        begin = self.t.cluster.psql("SELECT mcp_interposer.uid_at(now())")
        return begin + "".join(self.dice.choices(ALPHABET, k=16))

    def name(self):
        return self.vault

    def query(self, sql):
        rows, said, failed = self.connection.query(sql)
        assert not failed, (sql[:2000], said)
        return rows

    def call(self, function, *arguments):
        rows = self.query(f"SELECT * FROM mcp_interposer.{function}('{self.vault}', '\\x{self.head}', {self.calls}, {', '.join(arguments)})")
        self.calls += 1
        return rows

    def begin(self, old):
        uid = self.uid()
        arrays = [array([v], of) for v, of in (
            (7, "bigint"), (uid, "text"), ("server", "text"), ("[]", "text"), *[(None, "text")] * 5, (10 ** 15, "bigint"),
            (None, "bigint"), (None, "text"), (None, "bigint"), (1, "bigint"), ("host", "text"), ("full", "text"), ("1", "text"),
            (None, "text"), *[(None, "bytea")] * 4, (None, "bigint"), (None, "bytea"), (1, "bigint"))]
        self.call("put_sessions", "0", "'full'", *arrays, *([] if old else [array(["/home/maria/project"], "text"), array([None], "text")]))
        return uid

    def send(self, uid, messages, old):
        columns = [k for k in TYPES if not (old and k == "revision")]
        self.call("put_messages", f"'{uid}'", *(array([m.get(k) for m in messages], TYPES[k]) for k in columns))

    def redact(self, uid, messages):
        """The log states a redaction of these messages, which then get other texts."""
        leaf = f'{{"type":"redact","session":"{uid}","n":{self.leaves}}}'
        self.head = self.call("put_leaves", array([leaf], "text"))[0].split("\t")[1].removeprefix("\\x")
        self.call("put_replaced", f"'{uid}'", array([f"message {m['seq']}" for m in messages], "text"),
                  array([self.leaves] * len(messages), "bigint"), array([m["commitment"] for m in messages], "bytea"))
        self.leaves += 1
        for m in messages:
            m["method"], m["target"] = m.get("method") and "[redacted]", None
            if "own-request" not in (m.get("finding") or ""):      # it says whose answer this is, and nothing removes it
                m["finding"] = self.dice.choice(FINDINGS[:-3])
            commit(m)


def commit(m):
    m["commitment"] = "\\x" + hashlib.sha256(repr(sorted((k, v) for k, v in m.items() if k != "commitment")).encode()).hexdigest()


def forged(dice, seq):
    """A message as nobody records it."""
    kind = dice.choice(("request", "request", "result", "error", "notification", "noise"))
    m = {"seq": seq, "t_us": dice.randint(-5, 5) * 2 ** 62 // 3 if dice.random() < 0.1 else seq * 10, "kind": kind,
         "direction": dice.choice(("c2s", "s2c", "c2s", "sideways")), "origin": dice.choice(("peer", "peer", "interposer", "nobody")),
         "size": dice.randint(1, 99), "redactions": 0, "action": dice.choice(("forwarded", "forwarded", "refused", "swallowed")),
         "rpc_id": dice.choice(("1", '"i2"', "3", "4" * 41, None)), "finding": dice.choice(FINDINGS),
         "revision": dice.choice((None, None, "2026-07-28"))}
    if kind in ("request", "notification"):
        m |= {"method": dice.choice(("tools/call", "ping", None)), "target": dice.choice(("échö", "b", None))}
    if kind != "request" and dice.random() < 0.8:
        m["request_seq"] = dice.randint(max(1, seq - 6), seq + 3)
    if kind == "error":
        m["error_code"] = dice.choice((-32000, 5, None))
    commit(m)
    return m


def recorded(dice, messages):
    """The next message of a session, as a proxy records it. Answers come in any order; some are late, and some never come."""
    seq = len(messages) + 1
    m = {"seq": seq, "t_us": seq * 10, "origin": "peer", "size": dice.randint(1, 99), "redactions": 0, "action": "forwarded"}
    ended = {x.get("request_seq") for x in messages}
    asked = [x for x in messages if x["kind"] == "request" and x["seq"] not in ended]
    if not asked or dice.random() < 0.5:
        way = dice.choice(("c2s", "c2s", "c2s", "s2c", "own"))
        m |= {"kind": "request", "direction": "s2c" if way == "s2c" else "c2s", "origin": "interposer" if way == "own" else "peer",
              "method": dice.choice(("tools/call", "tools/list")), "target": dice.choice(("échö", "b", None)), "rpc_id": f'"{seq}"',
              "action": "refused" if way == "c2s" and dice.random() < 0.1 else "forwarded"}
    else:
        q = dice.choice(asked)
        back = "c2s" if q["direction"] == "s2c" else "s2c"
        kind = "error" if q["action"] == "refused" else dice.choice(("result", "result", "error", "notification"))
        m |= {"kind": kind, "direction": back, "rpc_id": q["rpc_id"], "request_seq": q["seq"],
              "error_code": -32000 if kind == "error" else None, "finding": dice.choice((None, "tool-error")) if kind == "result" else None}
        if q["origin"] == "interposer":
            m |= {"kind": "result", "action": "swallowed", "finding": "own-request", "request_seq": None, "error_code": None}
        elif kind == "notification":
            m |= {"direction": q["direction"], "rpc_id": None, "method": "notifications/cancelled"}
        elif kind == "error" and dice.random() < 0.5:
            m |= {"origin": "interposer", "finding": dice.choice(("timeout", "interrupted", "server-gone", None))}
        elif dice.random() < 0.1:
            m |= {"action": "swallowed", "finding": "late-answer", "request_seq": None}
    commit(m)
    return m


def session(dice, n, make=recorded):
    messages = []
    while len(messages) < n:
        messages.append(recorded(dice, messages) if make is recorded else forged(dice, len(messages) + 1))
    return messages


def own_requests():
    """Requests of the proxy that have one id: each answer belongs to the oldest of the last 64 that has none."""
    messages = []
    for seq in range(1, 81):
        m = {"seq": seq, "t_us": seq, "size": 1, "redactions": 0, "rpc_id": '"mine"'}
        m |= {"kind": "request", "direction": "c2s", "origin": "interposer", "action": "forwarded"} if seq not in (3, 4, 75, 76, 80) else \
            {"kind": "result", "direction": "s2c", "origin": "peer", "action": "swallowed", "finding": "own-request"}
        commit(m)
        messages.append(m)
    return messages


def send_in_parts(device, uid, messages, old=False, shuffled=False):
    """In batches of any size; some are sent again, or not in order."""
    dice, at = device.dice, 0
    while at < len(messages):
        n = dice.choice((1, 2, 5, 30, 200))
        batch = messages[max(0, at - dice.choice((0, 0, 0, 4))):at + n]
        if shuffled and dice.random() < 0.3:
            dice.shuffle(batch)
        if old:
            for m in batch:
                m["revision"] = None
        device.send(uid, batch, old)
        at += n


def equal_views(t):
    """The view `invocations` has the rows that it had when it was made from the messages, and those of requests that were rejected
    and have no answer."""
    t.cluster.psql("SET search_path = mcp_interposer; " + VIEW.replace("VIEW invocations", "VIEW invocations_1"))
    columns = ("session_uid, request_seq, response_seq, method, target, status, error_code, started_at_us, duration_us, request_size, "
               "response_size, name, host, device")
    one, two = (f"SELECT {columns} FROM mcp_interposer.{v} WHERE {ANSWERED}" for v in ("invocations", "invocations_1"))
    assert t.cluster.psql(f"({one} EXCEPT ALL {two}) UNION ALL ({two} EXCEPT ALL {one}) LIMIT 5") == ""
    return int(t.cluster.psql("SELECT count(*) FROM mcp_interposer.invocations"))


@case("calls: they follow from the messages, in whatever parts these are sent, redacted and forged")
def _(t):
    dice = random.Random(28)
    device = Device(t, dice)
    for n in range(120 if LONG else 24):
        old = n % 2 == 0
        uid = device.begin(old)
        messages = session(dice, dice.randint(3, 80), forged if n % 3 else recorded)
        send_in_parts(device, uid, messages, old, shuffled=n % 3 == 1)
        for _ in range(2):
            some = dice.sample(messages, min(len(messages), 5))
            device.redact(uid, some)
            device.send(uid, sorted(some, key=lambda m: m["seq"]), old)
        added = [dict(m, finding=(m["finding"] + "," if m.get("finding") else "") + "tool-error") for m in messages[:9]]
        device.send(uid, added, old)
    for n in range(3):
        uid = device.begin(False)
        send_in_parts(device, uid, own_requests())
        ended = t.cluster.psql(f"SELECT seq, closing_seq FROM mcp_interposer.call_rows WHERE session_uid = '{uid}' AND closing_seq > 0 ORDER BY 1")
        assert ended == "1\t3\n2\t4\n11\t75\n12\t76\n14\t80", ended
    assert not wrong_calls(t.cluster, device), wrong_calls(t.cluster, device)[:3]
    assert int(t.cluster.psql("SELECT count(DISTINCT status) FROM mcp_interposer.call_rows")) == 9
    assert int(t.cluster.psql("SELECT count(*) FROM mcp_interposer.call_rows WHERE origin = 'interposer' AND closing_seq IS NOT NULL")) > 3


def combinations():
    """Pairs of a request and a message that belongs to it: each action, kind, origin and finding of both."""
    messages = []
    for asked in itertools.product(("forwarded", "refused", "swallowed"), ("c2s", "s2c"), ("peer", "interposer")):
        for given in itertools.product(("forwarded", "refused", "swallowed"), ("c2s", "s2c"), ("peer", "interposer"),
                                       ("result", "error", "notification", "noise", "stderr", "batch"), ENDINGS):
            for (action, direction, origin, kind, finding), request in (((*asked, "request", None), None), (given, len(messages) + 1)):
                m = {"seq": len(messages) + 1, "t_us": 10 * len(messages), "size": 1, "redactions": 0, "action": action, "direction": direction,
                     "origin": origin, "kind": kind, "finding": finding, "request_seq": request, "rpc_id": "1"}
                m |= {"method": "tools/call", "target": "echo"} if kind == "request" else {"error_code": -1} if kind == "error" else {}
                commit(m)
                messages.append(m)
    return messages


@case("calls: the store, the vault and its view of older sessions give the same status, whatever began and ended a call")
def _(t):
    device, vault, messages = Device(t, random.Random(6)), Vault(t.folder), combinations()
    uid = device.begin(False)
    for at in range(0, len(messages), 500):
        device.send(uid, messages[at:at + 500], False)
    vault.record(texts(1))
    names = [k for k in messages[0] if k not in ("commitment",)] + ["method", "target", "error_code"]
    db = sqlite3.connect(vault.path / "interposer.db")
    with db:
        db.execute("PRAGMA ignore_check_constraints = 1")
        db.execute("INSERT INTO sessions (id, uid, name, command, started_at_us, ended_at_us, pid, host, record_level, interposer_version)"
                   " VALUES (7, ?, 'server', '[]', 1, 2, 1, 'host', 'full', '1')", [uid])
        db.executemany(f"INSERT INTO messages (id, session_id, {', '.join(names)}) VALUES ((7 << 36) + ?, 7, {', '.join('?' * len(names))})",
                       [[m["seq"], *(m.get(k) for k in names)] for m in messages])
    db.close()
    view = dict(vault.rows("SELECT request_seq, status FROM invocations WHERE session_id = 7"))
    live = vault.live()     # its recorder adds the rows of `calls`, by model/status
    t.cleanups.append(live.kill)
    wait_until(lambda: vault.rows("SELECT calls FROM sessions WHERE id = 7") == [(1,)], DEADLINE)
    live.stdin.close()
    live.wait(DEADLINE)
    by_model = {seq: (status, closing, c2s and peer) for seq, status, closing, c2s, peer in vault.rows(
        "SELECT id & 68719476735, status, closing_seq, direction = 'c2s', origin = 'peer' FROM calls WHERE id >> 36 = 7")}
    store = {int(seq): (status, int(closing) if closing else None) for seq, status, closing in (
        line.split("\t") for line in t.cluster.psql(f"SELECT seq, status, closing_seq FROM mcp_interposer.call_rows WHERE session_uid = '{uid}'").split("\n"))}
    assert store == {seq: (status, closing) for seq, (status, closing, _) in by_model.items()}
    assert len(store) == len(messages) // 2 and {s for s, _ in store.values()} == set(STATUSES)
    # The view has no row of a rejected or dropped request without an answer, and takes a cancellation of the interposer for one of the client.
    shown = {seq: status for seq, (status, closing, client) in by_model.items()
             if client and (closing is not None or messages[seq - 1]["action"] == "forwarded")}
    others = {m["request_seq"] for m in messages if (m["kind"], m["origin"]) == ("notification", "interposer")}
    wrong = [(x, view.get(x), shown.get(x)) for x in {*view, *shown} - others if view.get(x) != shown.get(x)]
    assert not wrong, wrong[:5]
    assert len({*view, *shown} - others) > 500


def store_1(t):
    """The store as version 1 made it, and a program that thinks it is of this version."""
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    subprocess.run([t.cluster.bin / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", t.cluster.url()], input=SCHEMA_1, text=True,
                   check=True, capture_output=True, timeout=DEADLINE)
    device = Device(t, random.Random(1))
    sessions = {}
    for n in range(6):
        uid = device.begin(old=True)
        sessions[uid] = session(device.dice, 40)
        send_in_parts(device, uid, sessions[uid], old=True)
    t.cluster.psql("CREATE ROLE team LOGIN; SELECT mcp_interposer.add_reader('team', ARRAY['laptop'])")
    return device, sessions


def upgrade_without_calls(t):
    sql = subprocess.run([SHIP, "init", "--print"], capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    schema, fill = sql.split("\nCOMMIT;\n")
    assert fill == "CALL mcp_interposer.fill_all_calls();\n", fill
    t.cluster.psql(schema + "\nCOMMIT")
    return fill


@case("calls: a store of version 1 is upgraded in short steps, and answers rightly at each of them", months=True)
def _(t):
    device, sessions = store_1(t)
    before = t.cluster.psql(INVOCATIONS)
    upgrade_without_calls(t)
    to_fill = "SELECT count(*) FROM mcp_interposer.sessions WHERE call_seq IS NOT NULL"
    assert t.cluster.psql(to_fill) == "6" and t.cluster.psql("SELECT count(*) FROM mcp_interposer.call_rows") == "0"
    first, last = sorted(sessions)[0], sorted(sessions)[-1]
    steps = 0
    while True:
        assert t.cluster.psql(INVOCATIONS, "team") == before
        assert not wrong_calls(t.cluster, device), wrong_calls(t.cluster, device)[:3]
        if steps in (1, 2, 5):      # meanwhile messages arrive and change, in a session that is filled in and in one that is not
            for uid in (first, last):
                for _ in range(3):
                    sessions[uid].append(recorded(device.dice, sessions[uid]))
                more = sessions[uid][-3:]
                device.send(uid, more, steps == 2)
                device.redact(uid, sessions[uid][:3] + more[:1])
                device.send(uid, sessions[uid][:3] + more[:1], True)
            before = t.cluster.psql(INVOCATIONS.replace("invocations", "invocations_1")) if equal_views(t) else ""
        if t.cluster.psql("SELECT mcp_interposer.fill_calls(30)") == "f":
            break
        steps += 1
    assert steps > 7 and t.cluster.psql(to_fill) == "0"
    assert equal_views(t) > 50
    assert "permission denied" in t.cluster.psql("SELECT mcp_interposer.fill_calls(30)", "team", check=False)
    assert "permission denied" in t.cluster.psql("CALL mcp_interposer.fill_all_calls()", "laptop", check=False)
    t.init()
    assert not wrong_calls(t.cluster, device)


@case("calls: ship init that is killed while it adds them is run again")
def _(t):
    device, _ = store_1(t)
    vault = Vault(t.folder)
    vault.record(texts(5200))
    upgrade_without_calls(t)
    sent(vault.to(t.device(), "--once"))
    oldest = t.cluster.psql("SELECT min(uid) FROM mcp_interposer.sessions")
    t.cluster.psql(f"""UPDATE mcp_interposer.sessions SET call_seq = 0; TRUNCATE mcp_interposer.call_rows;
        CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1000); RETURN NEW; END $$;
        CREATE TRIGGER wait BEFORE UPDATE ON mcp_interposer.sessions FOR EACH ROW WHEN (NEW.uid = '{oldest}') EXECUTE FUNCTION public.wait()""")
    init = subprocess.Popen([SHIP, "init", t.cluster.url()], stderr=subprocess.DEVNULL, env=vault.env)
    t.cleanups.append(init.kill)
    fills = "pg_stat_activity WHERE query ~ '^CALL' AND wait_event = 'PgSleep'"
    wait_until(lambda: t.cluster.psql(f"SELECT count(*) FROM {fills}") == "1", DEADLINE)
    init.send_signal(signal.SIGKILL)
    init.wait(DEADLINE)
    t.cluster.psql(f"SELECT pg_terminate_backend(pid) FROM {fills}")
    to_fill = "SELECT count(*), count(*) FILTER (WHERE call_seq > 0) FROM mcp_interposer.sessions WHERE call_seq IS NOT NULL"
    wait_until(lambda: t.cluster.psql("SELECT count(*) FROM pg_stat_activity WHERE query ~ '^CALL'") == "0")
    assert t.cluster.psql(to_fill) == "7\t1"        # the first transaction was for a part of the newest session
    for v in (vault, device):
        assert not wrong_calls(t.cluster, v), wrong_calls(t.cluster, v)[:3]
    t.cluster.psql("DROP TRIGGER wait ON mcp_interposer.sessions; DROP FUNCTION public.wait")
    t.init()
    assert t.cluster.psql(to_fill) == "0\t0"
    same(t.cluster, vault)


@case("calls: an open request is a call, and ends when its answer arrives")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    live = vault.live()
    t.cleanups.append(live.kill)
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    count = "SELECT count(*), count(*) FILTER (WHERE status = 'ok') FROM mcp_interposer.call_rows"
    for n, line in enumerate(lines(texts(4)).splitlines(), 1):
        exchange(live, line)
        wait_until(lambda n=n: t.cluster.psql(count) == f"{n}\t{n}")
    live.stdin.close()
    live.wait(DEADLINE)
    end(shipper)
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    assert equal_views(t) == 5
    for sql in ("INSERT INTO mcp_interposer.call_rows SELECT * FROM mcp_interposer.call_rows", "DELETE FROM mcp_interposer.call_rows",
                "SELECT mcp_interposer.add_calls('', 0, 1)", "SELECT mcp_interposer.change_calls('', '{}')",
                "SELECT * FROM mcp_interposer.calls_in('', 0, 1)", "SELECT * FROM mcp_interposer.read_calls('{x}', 0, 1, false, 1)",
                "SELECT * FROM mcp_interposer.read_summaries('{x}')"):
        assert "permission denied" in t.cluster.psql(sql, "laptop", check=False), sql


@case("calls: a reader of some devices reads theirs only, also of sessions that are not filled in")
def _(t):
    a, b = Vault(t.folder, "a"), Vault(t.folder, "b")
    a.record(texts(2))
    b.record(texts(5))
    sent(a.to(t.device("laptop-a"), "--once"))
    sent(b.to(t.device("laptop-b"), "--once"))
    t.cluster.psql("CREATE ROLE reads_a LOGIN; SELECT mcp_interposer.add_reader('reads_a', ARRAY['laptop-a'])")
    uids = t.cluster.psql("SELECT array_agg(uid) FROM mcp_interposer.sessions")
    read = f"SELECT count(*) FROM mcp_interposer.read_calls('{uids}', 0, 1000, false, 1000)"
    for _ in range(2):
        assert t.cluster.psql(read, "reads_a") == "3" and t.cluster.psql(read) == "9"
        counts = f"SELECT sum(ok) FROM mcp_interposer.read_summaries('{uids}')"
        assert t.cluster.psql(counts, "reads_a") == "3" and t.cluster.psql(counts) == "9"
        for view, n in (("invocations", "3"), ("calls", "2")):
            assert t.cluster.psql(f"SELECT count(*) FROM mcp_interposer.{view}", "reads_a") == n
        t.cluster.psql("UPDATE mcp_interposer.sessions SET call_seq = 0; TRUNCATE mcp_interposer.call_rows")


@case("the working directory of a session is at the store, and none of it with level = minimal")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    cwd = vault.rows("SELECT cwd FROM sessions")[0][0]
    assert cwd, "it was not recorded"
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT cwd FROM mcp_interposer.sessions") == cwd
    same(t.cluster, vault)
    (t.folder / "few").mkdir()
    few = Vault(t.folder / "few")
    few.record(texts(1))
    sent(few.to(t.device("other"), "--once", "--level", "minimal"))
    assert t.cluster.psql("SELECT cwd IS NULL, tools_rule IS NULL FROM mcp_interposer.sessions WHERE shipped_level = 'minimal'") == "t\tt"
    assert not differences(t.cluster, few, minimal=True)
    with_reader(t)
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    for words in (["sessions", "--json"], ["show", uid, "--json"], ["sessions", "--project", cwd, "--json"]):
        status, out, error = read(t, "boss", words)
        assert status == 0 and json.dumps(cwd) in out, (words, out, error)
    assert cwd not in read(t, "boss", ["sessions", "--project", "/nowhere", "--json"])[1]


@case("a working directory that is redacted in the vault is redacted at the store")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    place = t.folder / "sesame-lane"
    place.mkdir()
    vault.record(texts(1), cwd=place)
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT cwd FROM mcp_interposer.sessions") == str(place)
    vault.redact("[s]esame-[a-z]+")
    sent(vault.to(url, "--once"))
    cwd = t.cluster.psql("SELECT cwd FROM mcp_interposer.sessions")
    assert "sesame" not in cwd and cwd == vault.rows("SELECT cwd FROM sessions")[0][0], cwd
    same(t.cluster, vault)


@case("what only a cassette of version 2 has arrives: the revision of a message, and the rule of the tools")
def _(t):
    url, vault, file = t.device(), Vault(t.folder), t.folder / "two.jsonl"
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
    file.write_text("".join(json.dumps(x) + "\n" for x in (
        {"format": "mcp-interposer-cassette", "version": 2, "name": "two", "started_at_us": time.time_ns() // 1000, "tools_rule": "rule"},
        {"t": 1, "dir": "c2s", "msg": ask, "revision": "2026-07-28"},
        {"t": 2, "dir": "s2c", "msg": {"jsonrpc": "2.0", "id": 1, "result": {}}}, {"end": True, "messages": 2})))
    done = vault.command("import", file)
    assert done.returncode == 0, done.stderr
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT tools_rule FROM mcp_interposer.sessions") == "rule"
    assert t.cluster.psql("SELECT seq, revision FROM mcp_interposer.messages WHERE revision IS NOT NULL") == "1\t2026-07-28"
    same(t.cluster, vault)
    with_reader(t)
    words = ["export", "1", "-F", "cassette"]
    assert read(t, "boss", words)[1] == vault.command(*words).stdout != ""
