"""A device that does not run our program, and administrators with few rights."""
import json
import subprocess
import threading

from cases import case, same, sent
from cases_months import drop, has
from cluster import DEADLINE, wait_until
from vaults import PROGRAM, SHIP, Vault, texts

OWN = "01M7YSNFPE4WHD7A4MYSYTND3Q"


class Sql(str):
    """An expression, where a string is a literal."""


class Thief:
    """A device with a vault of its own, whose calls are written in SQL."""

    def __init__(self, t):
        self.t = t
        t.device("thief")
        t.cluster.psql(f"SELECT mcp_interposer.vault_state('{OWN}', '', '')", "thief")

    def call(self, function, *args):
        head, calls = self.t.cluster.psql(f"SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults WHERE uid = '{OWN}'").split()
        text = ", ".join(f"$x${a}$x$" if type(a) is str else str(a) for a in args)
        return self.t.cluster.psql(f"SELECT * FROM mcp_interposer.{function}('{OWN}', '\\x{head}', {calls}, {text})", "thief",
                                   check=False)

    def leaves(self, *leaf):
        said = self.call("put_leaves", "{" + ",".join('"' + json.dumps(x, separators=(",", ":")).replace('"', '\\"') + '"'
                                                     for x in leaf) + "}")
        assert "ERROR" not in said, said


@case("hostile: a log that names the session of another device changes nothing there")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    thief = Thief(t)
    hashes = "0" * 64
    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0},
                 {"type": "open", "session": uid, "id": 1, "commitment": hashes},
                 {"type": "seal", "session": uid, "at_us": 1, "end": None, "commitment": hashes, "records": 1000, "root": hashes},
                 {"type": "redact", "session": uid, "at_us": 1, "records": 1, "digest": hashes},
                 {"type": "prune", "session": uid, "at_us": 1})
    mark = t.cluster.psql("SELECT commitment FROM mcp_interposer.messages WHERE seq = 1")
    said = thief.call("put_replaced", uid, "{message 1}", "{3}", '{"' + mark.replace("\\", "\\\\") + '"}')
    assert "not of this vault" in said, said
    assert "ERROR" not in thief.call("put_handled", 5, "{" + uid + "}")
    seals = t.cluster.psql(f"SELECT * FROM mcp_interposer.read_seals('{{\"type\":\"seal\",\"session\":\"{uid}\",')")
    assert uid in seals and hashes not in seals, seals
    assert t.cluster.psql("SELECT (SELECT count(*) FROM mcp_interposer.replaced), "
                          "(SELECT count(*) FROM mcp_interposer.events WHERE id < 0)") == "0\t0"
    same(t.cluster, vault)


@case("hostile: what is not a leaf, a uid or a piece is refused")
def _(t):
    thief = Thief(t)
    for leaf in ("{x}", '{"{\\"type\\":\\"open\\""}', '{"{\\"type\\":\\"open\\",}"}', '{"{\\"type\\":\\"open\\"}\n"}', "{NULL}"):
        said = thief.call("put_leaves", leaf)
        assert "ERROR" in said, (leaf, said)
    nothing = ["{NULL}"] * 24
    for uid in ("{x}", "{" + OWN.lower() + "}", "{" + "9" * 3000 + "}", "{NULL}"):
        said = thief.call("put_sessions", 0, "full", "{1}", uid, *nothing[2:], "{1}")
        assert "not the uid" in said, (uid, said)
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.sessions") == "0"
    uid = "0" * 26
    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0})
    columns = [f"{{{x}}}" for x in ("1", uid, "n", "[]", *["NULL"] * 5, "1", *["NULL"] * 3, "1", "h", "full", "1", *["NULL"] * 7, "1")]
    said = thief.call("put_sessions", 0, "full", *columns)
    assert "ERROR" not in said, said
    for at, length in ((0, 2 << 20), (-1, 1), ((1 << 30) + 1, 1)):
        said = thief.call("put_piece", uid, 1, at, Sql(f"decode(repeat('00', {length}), 'hex')"))
        assert "its body is too large" in said, (at, length, said)
    said = thief.call("put_piece", uid, 1, 0, Sql(f"decode(repeat('00', {1 << 20}), 'hex')"))
    assert "ERROR" not in said, said
    assert t.cluster.psql("SELECT count(*), max(length(piece)) FROM mcp_interposer.pieces") == f"1\t{1 << 20}"


@case("hostile: stored session data cannot be changed, and findings can only be added")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    vault.change("UPDATE sessions SET name = 'forged', command = '[]', host = 'elsewhere', started_at_us = 0")
    vault.change("UPDATE messages SET finding = 'forged-finding-with-a-long-name' WHERE finding IS NOT NULL")
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.sessions WHERE name = 'echo' AND command <> '[]' "
                          "AND host <> 'elsewhere' AND started_at_us > 0") == "1"
    head, calls = t.cluster.psql("SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults").split()
    t.cluster.psql("UPDATE mcp_interposer.messages SET finding = 'one,two' WHERE seq = 1")
    row = ("'{1}', '{0}', '{c2s}', '{peer}', '{request}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{0}', '{0}', "
           "'{forwarded}', '{NULL}', '{NULL}', '{NULL}', '{\"%s\"}', '{NULL}', "
           "ARRAY(SELECT '\\x%s'::bytea), '{NULL}', '{NULL}'")
    mark = t.cluster.psql("SELECT encode(commitment, 'hex') FROM mcp_interposer.messages WHERE seq = 1")
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    for finding, after in (("another-name", "one,two"), ("one,two,three", "one,two,three")):
        t.cluster.psql(f"SELECT mcp_interposer.put_messages('{vault.name()}', '\\x{head}', {calls}, '{uid}', {row % (finding, mark)})",
                       "laptop")
        calls = int(calls) + 1
        assert t.cluster.psql("SELECT finding FROM mcp_interposer.messages WHERE seq = 1") == after


COLUMNS = ("1", "UID", "n", "[]", *["NULL"] * 5, "1", *["NULL"] * 3, "1", "h", "full", "1", *["NULL"] * 7, "1")     # of put_sessions()


@case("hostile: a transaction that a device leaves open delays no reader and no other device", months=True)
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    thief = Thief(t)
    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0})
    drop(t, 1)
    head, calls = t.cluster.psql(f"SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults WHERE uid = '{OWN}'").split()
    uid = "0" * 26
    columns = ", ".join(f"'{{{x}}}'" for x in COLUMNS).replace("UID", uid)
    call = "mcp_interposer.{}('%s', '\\x%s', {}, {})" % (OWN, head)
    open_one = subprocess.Popen(
        [t.cluster.bin / "psql", "-X", "-q", "-d", t.cluster.url("thief")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    t.cleanups.append(open_one.kill)
    row = ("'{1}', '{0}', '{c2s}', '{peer}', '{request}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{0}', '{0}', "
           "'{forwarded}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}'")
    event = "'{1}', '{0}', '{stderr}', '{NULL}', '{NULL}', '{NULL}', '{NULL}'"
    open_one.stdin.write(f"SET idle_in_transaction_session_timeout = 0; SET lock_timeout = 0;\nBEGIN;\n"
                         f"SELECT pg_advisory_lock(hashtext('mcp_interposer partitions'));\nSELECT mcp_interposer.hello(1);\n"
                         f"SELECT {call.format('put_sessions', calls, '0, $$full$$, ' + columns)};\n"
                         f"SELECT {call.format('put_messages', int(calls) + 1, repr(uid) + ', ' + row)};\n"
                         f"SELECT {call.format('put_events', int(calls) + 2, repr(uid) + ', ' + event)};\n\\echo open\n")
    open_one.stdin.flush()
    said = ""
    while "open" not in said:
        line = open_one.stdout.readline()
        assert line and "ERROR" not in line, said + line + open_one.stderr.read()
        said += line
    read = "SET statement_timeout = '20s'; SELECT count(*) FROM mcp_interposer.{}"
    assert [t.cluster.psql(read.format(x)) for x in ("messages", "sessions")] == ["6", "1"]
    t.cluster.psql(read.format("events"))
    vault.record(texts(1))
    sent(vault.to(url, "--once"))           # the transaction is still open
    same(t.cluster, vault)
    # what an administrator does has to wait for it, gives up, and keeps no reader waiting
    said = t.cluster.psql("SELECT mcp_interposer.make_partitions(now(), now() + interval '1 month')", check=False)
    assert "lock timeout" in said, said
    done = subprocess.run([SHIP, "init", t.cluster.url()], capture_output=True, text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 3 and "another connection has an open transaction" in done.stderr, done
    assert t.cluster.psql(read.format("messages")) == "10"
    open_one.stdin.close()
    open_one.wait(DEADLINE)
    setting = "SELECT rolname, rolconfig FROM pg_roles WHERE rolname IN ('thief', 'laptop') ORDER BY 1"
    kept = "{idle_in_transaction_session_timeout=5min}"
    t.cleanups.append(lambda: t.cluster.psql("ALTER ROLE laptop RESET ALL"))
    t.cluster.psql("ALTER ROLE thief RESET ALL; ALTER ROLE laptop SET idle_in_transaction_session_timeout = '5min'")
    t.init()
    assert has(t, 1)
    assert t.cluster.psql(setting) == f"laptop\t{kept}\nthief\t{kept.replace('5min', '60s')}"


@case("hostile: the end of a sealed session changes only as the log states")
def _(t):
    thief = Thief(t)
    uid, mark, other = "0" * 26, "aa" * 32, "bb" * 32
    ended = "SELECT client_name, exit_status, encode(end_commitment, 'hex'), records FROM mcp_interposer.sessions"

    def put(client, status, end, records):
        row = list(COLUMNS)
        row[1], row[4], row[10], row[12], row[21], row[22], row[23] = uid, client, "5", status, '"\\\\x%s"' % end, records, '"\\\\x00"'
        return thief.call("put_sessions", 1, "full", *(f"{{{x}}}" for x in row))

    def seal(end, records):
        thief.leaves({"type": "seal", "session": uid, "at_us": 1, "end": None, "commitment": end, "records": records, "root": "0" * 64})

    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0})
    seal(mark, 3)
    assert "ERROR" not in put("probe", "0", mark, "3")
    assert t.cluster.psql(ended) == f"probe\t0\t{mark}\t3"
    assert "ERROR" not in put("forged", "9", mark, "3")             # what the commitment covers, with the same commitment
    assert t.cluster.psql(ended) == f"probe\t0\t{mark}\t3"
    for end, records in ((other, "3"), (mark, "4"), (other, "4")):
        said = put("forged", "9", end, records)
        assert "differs from the one that was stored" in said, said
    assert t.cluster.psql(ended) == f"probe\t0\t{mark}\t3"
    seal(mark, 4)
    assert "ERROR" not in put("probe", "0", mark, "4")              # records that were added later
    seal(other, 4)
    assert "ERROR" not in put("grown", "1", other, "4")
    assert t.cluster.psql(ended) == f"grown\t1\t{other}\t4"
    said = put("probe", "0", mark, "4")                             # of an earlier seal
    assert "differs from the one that was stored" in said, said


@case("hostile: a session that another device sends meanwhile is not changed")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    thief = Thief(t)
    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0},
                 {"type": "redact", "session": uid, "at_us": 1, "records": 1, "digest": "0" * 64})
    mark = '"\\\\x%s"' % ("aa" * 32)
    assert "ERROR" not in thief.call("put_replaced", uid, "{session}", "{1}", f"{{{mark}}}")
    columns = [f"{{{mark if i == 19 else uid if x == 'UID' else 'forged' if x == 'n' else x}}}" for i, x in enumerate(COLUMNS)]
    # the call has checked whose session it is, and waits at its second statement
    lock = t.cluster.connect("admin", "postgres")
    lock.query("BEGIN; LOCK TABLE mcp_interposer.replaced IN ACCESS EXCLUSIVE MODE")
    said = []
    call = threading.Thread(target=lambda: said.append(thief.call("put_sessions", 0, "full", *columns)))
    call.start()
    wait_until(lambda: t.cluster.psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'thief' AND wait_event_type = 'Lock'") == "1")
    t.cluster.psql("INSERT INTO mcp_interposer.vaults (uid, device) "
                   "SELECT 'of-another', id FROM mcp_interposer.devices WHERE name = 'laptop'; "
                   "INSERT INTO mcp_interposer.sessions (id, uid, name, command, started_at_us, pid, host, record_level, "
                   "interposer_version, vault, device, shipped_level, revision, row_hash) "
                   f"SELECT 1, '{uid}', 'genuine', '[]', 1, 1, 'h', 'full', '1', 'of-another', id, 'full', 0, 0 "
                   "FROM mcp_interposer.devices WHERE name = 'laptop'")
    lock.query("COMMIT")
    lock.close()
    call.join(DEADLINE)
    assert t.cluster.psql("SELECT name, vault FROM mcp_interposer.sessions") == "genuine\tof-another", said


@case("hostile: what one call may store is bounded, and so is a page of a reader")
def _(t):
    thief = Thief(t)
    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0})
    uid = "0" * 26
    large = Sql("ARRAY[repeat('x', 17 << 20)]")
    columns = [f"{{{x}}}".replace("UID", uid) for x in COLUMNS]
    for at in (2, 3, 4, 17):
        said = thief.call("put_sessions", 0, "full", *columns[:at], large, *columns[at + 1:])
        assert "is too large" in said, (at, said)
    assert "ERROR" not in thief.call("put_sessions", 0, "full", *columns[:3], Sql("ARRAY[repeat('y', 1 << 20)]"), *columns[4:])
    nothing, message = "{NULL}", ["{1}", "{0}", "{c2s}", "{peer}", "{request}", *["{NULL}"] * 5, "{0}", "{0}", "{forwarded}", *["{NULL}"] * 8]
    for at in (5, 6, 7, 8, 16):
        said = thief.call("put_messages", uid, *message[:at], large, *message[at + 1:])
        assert "is too large" in said, (at, said)
    said = thief.call("put_messages", uid, *message[:9], "{5}", *message[10:])
    assert "without its offset" in said, said
    said = thief.call("put_events", uid, "{1}", "{0}", "{stderr}", large, *[nothing] * 3)
    assert "is too large" in said, said
    said = thief.call("put_leaves", Sql("ARRAY['{\"type\":\"x\",\"y\":\"' || repeat('y', 70000) || '\"}']"))
    assert "not a leaf" in said, said
    # pages: 40 events of 1 MiB, of which a reader gets some at a time, and all
    for k in range(4):
        ids = "{" + ",".join(str(10 * k + i) for i in range(1, 11)) + "}"
        said = thief.call("put_events", uid, ids, *(Sql(f"array_fill({x}, ARRAY[10])") for x in (
            "0", "'stderr'::text", "json_build_object('text', repeat('z', 1 << 20))::text", "NULL::bigint", "NULL::bytea", "NULL::bytea")))
        assert "ERROR" not in said, said
    page = "SELECT count(*) FROM mcp_interposer.read_events('%s', '%s', 1, 1000, %s, 2048)"
    assert {t.cluster.psql(page % (OWN, uid, x)) for x in ("true", "false")} == {"8"}
    assert int(t.cluster.psql("SELECT octet_length(command) FROM mcp_interposer.read_sessions(NULL, NULL, NULL, NULL, NULL, NULL, true, 9)")) < 2000
    vault = Vault(t.folder)
    shown = subprocess.run([PROGRAM, "show", "--json", uid, "--from", t.cluster.url()], capture_output=True, text=True, env=vault.env,
                           timeout=DEADLINE)
    assert shown.returncode == 0 and shown.stdout.count('"stderr"') == 40, (shown.stdout[:300], shown.stderr)


@case("init: several at once, and by an owner of the database who is not a superuser")
def _(t):
    url = t.cluster.url()
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    running = [subprocess.Popen([SHIP, "init", "--device", f"d{n}", url], stderr=subprocess.PIPE, text=True,
                                env=Vault(t.folder).env) for n in range(4)]
    for r in running:
        assert r.wait(DEADLINE) == 0, r.stderr.read()
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.devices") == "4"
    t.cluster.psql("CREATE ROLE boss LOGIN CREATEROLE")
    t.cluster.psql("CREATE DATABASE bossy OWNER boss")
    t.cleanups.append(lambda: t.cluster.psql("DROP DATABASE bossy WITH (FORCE)"))
    vault = Vault(t.folder)
    vault.record(texts(2))
    done = subprocess.run([SHIP, "init", "--device", "laptop", t.cluster.url("boss", database="bossy")], capture_output=True,
                          text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 0 and "NOTICE" not in done.stderr, done.stderr
    sent(vault.to(t.cluster.url("laptop", database="bossy"), "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages", "boss", database="bossy") == "6"
    t.cluster.psql("CREATE ROLE clerk LOGIN")
    done = subprocess.run([SHIP, "init", t.cluster.url("clerk")], capture_output=True, text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 3 and "permission denied" in done.stderr, done
