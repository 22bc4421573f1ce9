"""Vaults that the program records, and comparing them with the central store."""
import json
import os
import sqlite3
import subprocess
import textwrap
from pathlib import Path

from cluster import DEADLINE, wait_until

BUILD = Path(os.environ.get("TEST_BUILD", "build")).resolve()
PROGRAM = os.environ.get("MCP_INTERPOSER", str(BUILD / "mcp-interposer"))
SHIP = str(BUILD / "mcp-interposer-ship")
PATIENT = ("--deadline", f"{DEADLINE - 20}s")       # of a shipper that must succeed, and end before the case gives up
# Of a proxy whose exit status is checked: on a busy machine, a server may need longer than the default to start and exit, and the
# proxy then exits with 143.
GRACE = ("--grace", f"{DEADLINE - 20}s")
REPEAT = (str(BUILD / "fakes/repeat"), "each", "text")         # quicker than SERVER, which does the same
SERVER = textwrap.dedent("""
    import json, sys
    for line in sys.stdin:
        m = json.loads(line)
        if "id" in m:
            text = m.get("params", {}).get("text", "")
            print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"content": [{"type": "text", "text": text}]}},
                             ensure_ascii=False), flush=True)
""")


def request(i, text):
    return {"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "echo", "text": text}}


def each_line(texts):
    """What a client sends, made when it is asked for."""
    yield json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                      "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}})
    for i, text in enumerate(texts):
        yield json.dumps(request(i + 1, text), ensure_ascii=False)


def lines(texts):
    return "".join(f"{line}\n" for line in each_line(texts))


def exchange(live, *lines):
    """Says each line to a session of Vault.live(), and reads the answer to it."""
    for line in lines:
        print(line, file=live.stdin, flush=True)
        assert live.stdout.readline(), "the session has ended"


def texts(n, large=0, size=2_500_000):
    return [f"héllo \U0001f600 {i} " + ("y" * size if i < large else "") for i in range(n)]


def environment(folder):
    """SHIP_JOURNALS: the directory of journals, which has none of other programs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MCP_INTERPOSER", "PG", "XDG_", "OTEL_")) and
            not k.lower().endswith("_proxy")}
    journals = os.environ.get("SHIP_JOURNALS")
    return kept | {"HOME": str(folder)} | ({"MCP_INTERPOSER_JOURNAL_DIR": journals} if journals else {})


def init(folder, url, *options):
    """ship init, which must succeed. folder: the home of its user."""
    done = subprocess.run([SHIP, "init", *options, url], env=environment(folder), capture_output=True, text=True, timeout=DEADLINE)
    if done.returncode:
        raise RuntimeError(f"ship init: {done.stderr}")
    return done.stderr


class Vault:
    def __init__(self, folder, name="v"):
        self.home, self.path = Path(folder), Path(folder) / name
        self.env = environment(self.home)

    def record(self, said, *options, cwd=None):
        with subprocess.Popen([PROGRAM, "proxy", "--vault", self.path, "--name", "echo", *GRACE, *options, "--", *REPEAT], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True, env=self.env, cwd=cwd) as proxy:
            proxy.communicate(lines(said), DEADLINE)
        assert proxy.returncode == 0, proxy.returncode
        # on a busy machine the recorder stores the last messages after the proxy has exited
        wait_until(lambda: self.has_ended(proxy.pid), DEADLINE)

    def has_ended(self, pid):
        """Whether the session of this proxy is stored, with its end, and its recorder writes to the database no more."""
        try:
            return self.rows("SELECT 1 FROM sessions WHERE pid = ? AND ended_at_us IS NOT NULL AND id NOT IN "
                             "(SELECT session_id FROM journals)", pid)
        except sqlite3.OperationalError:        # a recorder makes or upgrades the database
            return False

    def live(self):
        """A session that goes on: its stdin and stdout are pipes."""
        return subprocess.Popen([PROGRAM, "proxy", "--vault", self.path, "--name", "live", "--", *REPEAT],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env)

    def command(self, *args):
        return subprocess.run([PROGRAM, *map(str, args), "--vault", self.path], capture_output=True, text=True, env=self.env,
                              timeout=DEADLINE)

    def to(self, url, *options):
        return subprocess.run([SHIP, "to", "--vault", self.path, *options, url], capture_output=True, text=True, env=self.env,
                              timeout=DEADLINE)

    def follow(self, url, *options):
        """A shipper that runs. Its stderr is in the file `said`, whose end is printed if the case fails."""
        n = len(list(self.home.glob(f"{self.path.name}-*.said")))
        said = self.home / f"{self.path.name}-{n}.said"
        with said.open("x") as out:
            shipper = subprocess.Popen([SHIP, "to", "--vault", self.path, *options, url], stdout=subprocess.DEVNULL, stderr=out,
                                       env=self.env)
        shipper.said = said
        return shipper

    def redact(self, pattern, *which, busy=False):
        """Redacts these sessions, or all. busy: another program may read, and then the old text remains in the write-ahead log."""
        rules = self.home / f"{self.path.name}.rules.ini"
        rules.write_text(f"[redact]\npattern.word = {pattern}\n")
        done = self.command("redact", "--apply", *(which or ["--all"]), "--config", rules)
        if done.returncode not in (0, 1) and not (busy and "run this again" in done.stderr):
            raise RuntimeError(f"redact: {done.stderr}")

    def checkpoint(self):
        """Signs the log, with a key of its own."""
        key = self.home / f"{self.path.name}.key"
        if not key.exists():
            assert self.command("audit", "key", "new", "--audit-key", key).returncode == 0
        done = self.command("audit", "checkpoint", "--audit-key", key)
        assert done.returncode == 0, done.stderr

    def change(self, sql, *args):
        """Writes to the database, as no program of ours does."""
        db = sqlite3.connect(self.path / "interposer.db", timeout=DEADLINE)
        with db:
            db.execute(sql, args)
        db.close()

    def rows(self, sql, *args):
        db = sqlite3.connect(f"file:{self.path}/interposer.db?mode=ro", uri=True, timeout=DEADLINE)
        try:
            return db.execute(sql, args).fetchall()
        finally:
            db.close()

    def name(self):
        return json.loads(self.rows("SELECT leaf FROM leaves WHERE n = 0")[0][0])["vault"]


MESSAGE = ("seq, t_us, direction, origin, kind, rpc_id, method, target, {body} AS body, size, redactions, action, request_seq,"
           " error_code, batch_seq, finding, {hex}(salt{more} AS salt, {hex}(commitment{more} AS commitment, revision")
EVENT = "id, t_us, kind, detail, place, {hex}(salt{more} AS salt, {hex}(commitment{more} AS commitment"
SESSION = ("uid, name, command, client_name, client_version, server_name, server_version, protocol_version, started_at_us,"
           " ended_at_us, end_reason, exit_status, pid, host, record_level, interposer_version, redact_rules,"
           " {hex}(salt{more} AS salt, {hex}(commitment{more} AS commitment, {hex}(end_commitment{more} AS end_commitment,"
           " records, {hex}(tree{more} AS tree, cwd, tools_rule")


def here(vault):
    """What the vault has: {(table, uid, number): row}."""
    lite = {"hex": "hex", "more": ")", "body": "body"}
    found = {}
    db = sqlite3.connect(f"file:{vault.path}/interposer.db?mode=ro", uri=True, timeout=DEADLINE)
    for uid, number in db.execute("SELECT uid, id FROM sessions").fetchall():
        for row in db.execute(f"SELECT {SESSION.format(**lite)} FROM sessions WHERE id = ?", (number,)):
            found["session", uid, 0] = row
        large = {seq: (at, n) for seq, at, n in db.execute(
            "SELECT seq, body_offset, body_length FROM messages WHERE session_id = ? AND body_length IS NOT NULL", (number,))}
        bodies = (vault.path / "Bodies" / uid).read_bytes() if large else b""
        for row in db.execute(f"SELECT {MESSAGE.format(**lite)} FROM messages WHERE session_id = ?", (number,)):
            if row[0] in large:
                at, n = large[row[0]]
                row = row[:8] + (bodies[at:at + n].decode(),) + row[9:]
            found["message", uid, row[0]] = row
        for row in db.execute(f"SELECT {EVENT.format(**lite)} FROM events WHERE session_id = ?", (number,)):
            found["event", uid, row[0]] = row
    for n, leaf in db.execute("SELECT n, leaf FROM leaves"):
        found["leaf", vault.name(), n] = (n, leaf)
    db.close()
    return found


def there(cluster, vault):
    """What the central store has of it, in the same form. A row that is there twice is an error."""
    found = {}
    pg = {"hex": "upper(encode", "more": ", 'hex'))", "body": "body"}
    of = f"(SELECT uid FROM mcp_interposer.sessions WHERE vault = '{vault.name()}')"
    queries = (
        ("session", f"SELECT {SESSION.format(**pg)}, uid AS u, 0 AS k FROM mcp_interposer.sessions WHERE uid IN {of}"),
        ("message", f"SELECT {MESSAGE.format(**pg)}, session_uid AS u, seq AS k FROM mcp_interposer.messages WHERE session_uid IN {of}"),
        ("event", f"SELECT {EVENT.format(**pg)}, session_uid AS u, id AS k FROM mcp_interposer.events WHERE session_uid IN {of}"),
        ("leaf", f"SELECT n, leaf, vault AS u, n AS k FROM mcp_interposer.leaves WHERE vault = '{vault.name()}'"))
    for table, sql in queries:
        for line in filter(None, cluster.psql(f"SELECT row_to_json(x) FROM ({sql}) AS x").split("\n")):
            row = json.loads(line)
            u, k = row.pop("u"), row.pop("k")
            assert (table, u, k) not in found, f"twice: {table} {u} {k}"
            found[table, u, k] = tuple(row.values())
    return found


def without(table, row):
    """What level = minimal sends of it."""
    if table == "message":          # no body
        return row[:8] + (None,) + row[9:]
    if table == "session":          # of the command, the program; no redact_rules, cwd and tools_rule
        return row[:2] + (json.dumps(json.loads(row[2])[:1]),) + row[3:16] + (None,) + row[17:-2] + (None, None)
    return row


CALL = ("seq", "closing_seq", "t_us", "duration_us", "request_size", "response_size", "error_code", "direction", "origin", "method",
        "target", "status", "revision")


def ends(request, m):
    """Whether a message that belongs to a request ends it (docs/vault.md, `calls`)."""
    own = request["origin"] == "interposer"
    if m["kind"] == "notification":
        return not own and m["direction"] == request["direction"] and (m["action"], m["origin"]) == ("forwarded", "peer")
    return m["kind"] in ("result", "error") and m["direction"] != request["direction"] and (own or m["action"] == "forwarded")


def status_of(request, m):
    found = m["finding"] or "" if m else ""
    if request["action"] == "refused" or not m:
        return "refused" if request["action"] == "refused" else "open"
    if m["kind"] == "notification":
        return "cancelled"
    named = [x for x in ("server-gone", "interrupted", "timeout") if x in found and m["origin"] == "interposer"]
    return named[0] if named else "error" if m["kind"] == "error" else "tool-error" if "tool-error" in found else "ok"


def calls_of(messages):
    """The calls of a session, from its messages alone: {seq: row}."""
    requests, closings, own = {}, {}, []
    for m in sorted(messages, key=lambda m: m["seq"]):
        if m["direction"] not in ("c2s", "s2c") or m["kind"] == "request" and m["origin"] not in ("peer", "interposer"):
            continue
        if m["kind"] == "request":
            requests[m["seq"]] = m
            if m["origin"] == "interposer":
                own.append(m["seq"])
            continue
        of = m["request_seq"]
        if not of and m["kind"] in ("result", "error") and m["action"] == "swallowed" and "own-request" in (m["finding"] or ""):
            waiting = [q for q in own[-64:] if q not in closings and requests[q]["rpc_id"] == m["rpc_id"] and
                       requests[q]["direction"] != m["direction"]]
            of = waiting[0] if waiting else None
        if of in requests and of not in closings and ends(requests[of], m):
            closings[of] = m
    rows = {}
    for seq, q in requests.items():
        c = closings.get(seq)
        answer = c if c and c["kind"] != "notification" else {}
        status = status_of(q, c)
        rows[seq] = {"seq": seq, "closing_seq": c and c["seq"], "t_us": q["t_us"], "request_size": q["size"], "status": status,
                     "duration_us": max(0, c["t_us"] - q["t_us"]) if c else 0 if status == "refused" else None,
                     "response_size": answer.get("size"), "error_code": answer.get("error_code"),
                     "revision": None, **{k: q[k] for k in ("direction", "origin", "method", "target")}}
    return rows


def wrong_calls(cluster, vault, complete=False):
    """What is wrong with the calls at the store, by the messages that are there; with those of each session that has all of them
    in `call_rows`, and with what readers get of each session. complete: the store has all messages of the vault, and so the calls
    that the vault has."""
    said, messages = [], {}
    of = f"(SELECT uid FROM mcp_interposer.sessions WHERE vault = '{vault.name()}'{{}})"
    columns = ", ".join(dict.fromkeys((*CALL[:1], "t_us", "size", "kind", "action", "origin", "direction", "request_seq", "finding",
                                       "rpc_id", "method", "target", "error_code")))

    def rows(sql):
        return [json.loads(x) for x in filter(None, cluster.psql(f"SELECT row_to_json(x) FROM ({sql}) AS x").split("\n"))]
    for m in rows(f"SELECT session_uid AS u, {columns} FROM mcp_interposer.messages WHERE session_uid IN {of.format('')}"):
        messages.setdefault(m.pop("u"), []).append(m)
    expected = {(u, seq): row for u, found in messages.items() for seq, row in calls_of(found).items()}
    kept = {r["uid"] for r in rows(f"SELECT s.uid FROM mcp_interposer.sessions s WHERE s.uid IN {of.format(' AND call_seq IS NULL')}")}
    queries = (("row", kept, f"SELECT c.session_uid AS u, {', '.join(CALL)} FROM mcp_interposer.call_rows c WHERE session_uid IN "
                f"{of.format(' AND call_seq IS NULL')}"),
               ("answer", set(messages), f"SELECT s.uid AS u, {', '.join('c.' + x for x in CALL)} FROM mcp_interposer.sessions s, "
                "mcp_interposer.read_calls(ARRAY[s.uid], 0, 1::bigint << 40, false, 1000000) AS c "
                f"WHERE s.uid IN {of.format('')}"))
    for what, uids, sql in queries:
        found = {}
        for row in rows(sql):
            u = row.pop("u")
            said += [f"twice: {what} of call {u} {row['seq']}"] if (u, row["seq"]) in found else []
            found[u, row["seq"]] = row
        wanted = {k: row for k, row in expected.items() if k[0] in uids}
        said += [f"{what} of call {k}: {found.get(k)} and not {wanted.get(k)}" for k in sorted({*found, *wanted})
                 if found.get(k) != wanted.get(k)]
    for row in rows("SELECT s.uid AS u, x.* FROM mcp_interposer.sessions s, mcp_interposer.read_summaries(ARRAY[s.uid]) AS x "
                    f"WHERE s.uid IN {of.format('')}"):
        ms = sorted(messages.get(row["u"], []), key=lambda m: m["seq"])
        signs = " ".join(m["finding"] or "" for m in ms if m["direction"] == "s2c")
        mine = [r["status"].replace("-", "_") for (u, _), r in expected.items() if u == row["u"] and (r["direction"], r["origin"]) == ("c2s", "peer")]
        wanted = {k: mine.count(k) for k in ("ok", "tool_error", "error", "refused", "cancelled", "server_gone", "interrupted", "timeout", "open")}
        wanted |= {"u": row["u"], "place": 0, "last_seq": ms[-1]["seq"] if ms else 0, "last_t_us": ms[-1]["t_us"] if ms else 0,
                   "tools_changed": int("tool-changed" in signs), "unfinished": int("unfinished-line" in signs)}
        said += [] if row == wanted else [f"summary {row} and not {wanted}"]
    if complete:
        calls = vault.rows(f"SELECT s.uid, {', '.join(CALL).replace('seq', 'c.id & 68719476735', 1)} FROM calls c "
                           "JOIN sessions s ON s.id = c.id >> 36 WHERE s.calls = 1")
        theirs = {(uid, row[0]): dict(zip(CALL, row)) for uid, *row in calls}
        said += [f"the vault has call {k} {theirs[k]}, the store {expected.get(k)}" for k in theirs if theirs[k] != expected.get(k)]
        said += [f"the vault does not have call {k}" for k in expected if k not in theirs and k[0] in {u for u, _ in theirs}]
    return said


def differences(cluster, vault, minimal=False):
    """What is missing, too much or different; [] if nothing is."""
    a, b = here(vault), there(cluster, vault)
    if minimal:
        a = {k: without(k[0], row) for k, row in a.items()}
    # NULL hashes are '' in SQLite's hex()
    norm = lambda row: tuple("" if v is None else v for v in row)  # noqa: E731
    said = [f"missing: {k}" for k in a if k not in b] + [f"too much: {k}" for k in b if k not in a]
    said += [f"differs: {k}: {norm(a[k])} {norm(b[k])}"[:300] for k in a if k in b and norm(a[k]) != norm(b[k])]
    if not a:
        said.append("the vault is empty")
    return (said + wrong_calls(cluster, vault, complete=not said))[:5]


def lacks(cluster, vault, minimal=False):
    """As differences(), for waits: while the numbers of rows differ, which takes little time to find out, they are all that is said."""
    name, said = vault.name(), []
    of = f"session_uid IN (SELECT uid FROM mcp_interposer.sessions WHERE vault = '{name}')"
    for table, where in (("leaves", f"vault = '{name}'"), ("sessions", f"vault = '{name}'"), ("messages", of), ("events", of)):
        there_n = sum(map(int, cluster.psql(f"SELECT count(*) FROM mcp_interposer.{table} WHERE {where}").split()))
        here_n = vault.rows(f"SELECT count(*) FROM {table}")[0][0]
        if here_n != there_n:
            said.append(f"{table}: {there_n} of {here_n}")
    return said or differences(cluster, vault, minimal)
