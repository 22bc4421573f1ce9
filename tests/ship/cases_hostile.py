"""A device that does not run our program, and administrators with few rights."""
import json
import subprocess

from cases import case, same, sent
from cases_months import drop, has
from cluster import DEADLINE
from vaults import SHIP, Vault, texts

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


@case("hostile: a transaction that a device leaves open delays nobody else")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    thief = Thief(t)
    thief.leaves({"type": "begin", "version": 1, "vault": OWN, "at_us": 1, "after": 0})
    drop(t, 2)
    head, calls = t.cluster.psql(f"SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults WHERE uid = '{OWN}'").split()
    uid = "0" * 26
    columns = ", ".join(f"'{{{x}}}'" for x in ("1", uid, "n", "[]", *["NULL"] * 5, "1", *["NULL"] * 3, "1", "h", "full", "1",
                                               *["NULL"] * 7, "1"))
    call = "mcp_interposer.{}('%s', '\\x%s', {}, {})" % (OWN, head)
    open_one = subprocess.Popen(
        [t.cluster.bin / "psql", "-X", "-q", "-d", t.cluster.url("thief")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    t.cleanups.append(open_one.kill)
    row = ("'{1}', '{0}', '{c2s}', '{peer}', '{request}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{0}', '{0}', "
           "'{forwarded}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}'")
    open_one.stdin.write(f"BEGIN;\nSELECT pg_advisory_lock(hashtext('mcp_interposer partitions'));\n"
                         f"SELECT {call.format('put_sessions', calls, '0, $$full$$, ' + columns)};\n"
                         f"SELECT {call.format('put_messages', int(calls) + 1, repr(uid) + ', ' + row)};\n\\echo open\n")
    open_one.stdin.flush()
    said = ""
    while "open" not in said:
        line = open_one.stdout.readline()
        assert line and "ERROR" not in line, said + line
        said += line
    vault.record(texts(1))
    sent(vault.to(url, "--once"))           # the transaction is still open
    same(t.cluster, vault)
    assert not has(t, 2)
    open_one.stdin.close()
    open_one.wait(DEADLINE)
    t.cluster.psql("UPDATE mcp_interposer.store SET partitions_at = '-infinity'")
    sent(vault.to(url, "--once"))
    assert has(t, 2)


@case("init: several at once, and by an owner of the database who is not a superuser")
def _(t):
    url = t.cluster.url()
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    running = [subprocess.Popen([SHIP, "init", "--device", f"d{n}", url], stderr=subprocess.PIPE, text=True,
                                env=Vault(t.folder).env) for n in range(4)]
    for r in running:
        assert r.wait(DEADLINE) == 0, r.stderr.read()
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.devices") == "4"
    t.cluster.psql("DROP ROLE IF EXISTS boss; CREATE ROLE boss LOGIN CREATEROLE")
    t.cluster.psql("CREATE DATABASE bossy OWNER boss")
    t.cleanups.append(lambda: t.cluster.psql("DROP DATABASE bossy WITH (FORCE)"))
    vault = Vault(t.folder)
    vault.record(texts(2))
    done = subprocess.run([SHIP, "init", "--device", "laptop", t.cluster.url("boss", database="bossy")], capture_output=True,
                          text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 0 and "NOTICE" not in done.stderr, done.stderr
    sent(vault.to(t.cluster.url("laptop", database="bossy"), "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages", "boss", database="bossy") == "6"
    t.cluster.psql("DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN")
    done = subprocess.run([SHIP, "init", t.cluster.url("clerk")], capture_output=True, text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 3 and "permission denied" in done.stderr, done
