"""The cases of tests/ship/run."""
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

from cluster import Cluster, Middle, kill, wait_until
from vaults import PROGRAM, SHIP, Vault, differences, environment, lines, texts

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = []
CALLS = ("hello", "vault_state", "watermarks", "put_leaves", "put_sessions", "put_piece", "put_messages", "put_events",
         "put_handled")


class Skip(Exception):
    pass


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def same(t, vault):
    said = differences(t.cluster, vault)
    assert not said, said


def sent(done, status=0):
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stderr


@case("everything arrives once, and again is nothing new")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(40, large=2))
    vault.record(texts(1200))        # more than two batches of rows
    vault.record(texts(400, large=400, size=30_000))        # and of bytes
    sent(vault.to(url, "--once"))
    same(t, vault)
    before = t.cluster.psql("SELECT sum(xmin::text::bigint) FROM mcp_interposer.messages")
    sent(vault.to(url, "--once"))
    same(t, vault)
    assert before == t.cluster.psql("SELECT sum(xmin::text::bigint) FROM mcp_interposer.messages"), "rows were written again"
    status = json.loads(vault.command("ship", "status", "--json").stdout)
    assert status["missing_messages"] == 0 and status["error"] is None, status


@case("a session that goes on is followed, and its end arrives")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    live = vault.live()
    t.cleanups.append(live.kill)
    count = "SELECT count(*) FROM mcp_interposer.messages m JOIN mcp_interposer.sessions s ON s.uid = m.session_uid WHERE s.name = 'live'"
    for n, line in enumerate(lines(texts(5)).splitlines(), 1):
        live.stdin.write(line + "\n")
        live.stdin.flush()
        live.stdout.readline()
        wait_until(lambda n=n: t.cluster.psql(count) == str(2 * n))
    live.stdin.close()
    live.wait(60)
    wait_until(lambda: t.cluster.psql("SELECT end_reason FROM mcp_interposer.sessions WHERE name = 'live'") == "client-closed")
    wait_until(lambda: not differences(t.cluster, vault))
    shipper.send_signal(signal.SIGTERM)
    assert shipper.wait(60) == 0


@case("the shipper is killed at every call, before and after it")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    through = t.cluster.url("laptop", middle.folder)
    for call in CALLS:
        for when in ("before", "after", "cut"):
            vault.record(texts(3, large=1, size=70_000))
            shipper = []
            middle.interrupt(call, when, kill(lambda shipper=shipper: shipper[0]))
            shipper.append(vault.follow(through, "--once"))
            assert shipper[0].wait(60) == -signal.SIGKILL, f"{call} was not called"
    sent(vault.to(url, "--once"))
    same(t, vault)


@case("a connection that ends before, after and within an answer: sent again")
def _(t):
    t.device()
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    through = t.cluster.url("laptop", middle.folder)
    vault = Vault(t.folder)
    for call in CALLS:
        for when in ("before", "after", "cut"):
            vault.record(texts(2, large=1, size=70_000))
            middle.interrupt(call, when)
            sent(vault.to(through, "--once", "--deadline", "60s"))
            assert not middle.plan, f"{call} was not called"
            same(t, vault)


@case("a shipper that is killed at random while a session goes on")
def _(t):
    url, vault, dice = t.device(), Vault(t.folder), random.Random(18)
    vault.record(texts(1))
    live = vault.live()
    t.cleanups.append(live.kill)
    for line in lines(texts(60)).splitlines():
        live.stdin.write(line + "\n")
        live.stdin.flush()
        live.stdout.readline()
        if dice.random() < 0.5:
            shipper = vault.follow(url)
            try:
                shipper.wait(dice.random() * 0.06)
            except subprocess.TimeoutExpired:
                pass
            shipper.kill()
            shipper.wait(60)
    live.stdin.close()
    live.wait(60)
    sent(vault.to(url, "--once"))
    same(t, vault)


@case("the server crashes and starts again while it receives")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    for n in range(3):
        vault.record(texts(300))
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    for n in range(3):
        vault.record(texts(20))
        time.sleep(0.1)
        t.cluster.stop("immediate")
        t.cluster.start()
    wait_until(lambda: not differences(t.cluster, vault))
    shipper.send_signal(signal.SIGTERM)
    assert shipper.wait(60) == 0


@case("the store lost its last transactions: they are sent again")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(30))
    sent(vault.to(url, "--once"))
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    # as after a failover to a standby that lacked them
    t.cluster.psql(f"DELETE FROM mcp_interposer.messages WHERE session_uid = '{uid}' AND seq > 20;"
                   f"DELETE FROM mcp_interposer.events WHERE session_uid = '{uid}' AND id > 1;"
                   f"UPDATE mcp_interposer.sessions SET seq = 20, event = 1, row_hash = 0, ended_at_us = NULL")
    assert differences(t.cluster, vault)
    sent(vault.to(url, "--once"))
    same(t, vault)


@case("a read-only server: nothing is lost, the reason is said")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    t.cluster.psql("ALTER ROLE laptop SET default_transaction_read_only = on")
    said = sent(vault.to(url, "--once"), 3)
    assert "read-only" in said or "read-write" in said, said
    status = json.loads(vault.command("ship", "status", "--json").stdout)
    assert status["missing_messages"] == 8 and "read" in status["error"], status
    assert vault.command("ship", "status").returncode == 1
    t.cluster.psql("ALTER ROLE laptop RESET default_transaction_read_only")
    sent(vault.to(url, "--once"))
    same(t, vault)


@case("a full disk at the store: nothing is lost")
def _(t):
    if os.geteuid() != 0:
        raise Skip("needs root, for a small tmpfs")
    url, vault = t.device(), Vault(t.folder)
    small = t.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0777", "tmpfs", small], capture_output=True).returncode:
        raise Skip("cannot mount a tmpfs here")
    t.cleanups.append(lambda: subprocess.run(["umount", "-l", small], check=True))
    (small / "space").mkdir()
    os.chown(small / "space", t.cluster.user.pw_uid, t.cluster.user.pw_gid)
    t.cluster.psql(f"CREATE TABLESPACE small LOCATION '{small}/space'")
    tables = t.cluster.psql("SELECT oid::regclass FROM pg_class WHERE relnamespace = 'mcp_interposer'::regnamespace AND "
                            "relkind = 'r' AND relname LIKE 'messages%'").split("\n")
    t.cleanups.append(lambda: t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE") or t.cluster.psql("DROP TABLESPACE small"))
    for table in tables:
        t.cluster.psql(f"ALTER TABLE {table} SET TABLESPACE small")
    noise = random.Random(1)
    vault.record(["".join(noise.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=60_000)) for n in range(60)])
    said = sent(vault.to(url, "--once"), 3)
    assert "No space left" in said, said
    for table in tables:
        t.cluster.psql(f"ALTER TABLE {table} SET TABLESPACE pg_default")
    sent(vault.to(url, "--once"))
    same(t, vault)


@case("a copied vault: the other copy is refused when both went on")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    copy = Vault(t.folder, "copy")
    shutil.copytree(vault.path, copy.path)
    sent(copy.to(url, "--once"))
    vault.record(texts(4))
    copy.record(texts(5))
    sent(vault.to(url, "--once"))
    assert "another copy" in sent(copy.to(url, "--once"), 1)
    same(t, vault)
    # and of another device at once
    assert "another device" in sent(copy.to(t.device("other"), "--once"), 1)


@case("a vault that was rolled back is refused, and so is a changed one")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    shutil.copytree(vault.path, t.folder / "old")
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    old = Vault(t.folder, "old")
    said = sent(old.to(url, "--once"), 1)
    assert "rolled back" in said, said
    same(t, vault)
    db = sqlite3.connect(vault.path / "interposer.db")
    db.execute("UPDATE leaves SET leaf = replace(leaf, 'client-closed', 'client-clOsed') WHERE n = 2")
    db.commit()
    db.close()
    assert "was changed" in sent(vault.to(url, "--once"), 1)


@case("a message that was changed in the vault is refused when it is sent again")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(5))
    sent(vault.to(url, "--once"))
    db = sqlite3.connect(vault.path / "interposer.db")
    db.execute("UPDATE messages SET commitment = zeroblob(32) WHERE seq = 4")
    db.commit()
    db.close()
    t.cluster.psql("UPDATE mcp_interposer.sessions SET seq = 2")
    assert "differs" in sent(vault.to(url, "--once"), 1)


@case("a redaction travels, and replaces the text at the store")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(["tell", "sesame-opens", "sesame-large " + "z" * 100_000, "other"])
    vault.record(["more sesame-text"])
    sent(vault.to(url, "--once"))
    assert "sesame" in t.cluster.psql("SELECT string_agg(body, ' ') FROM mcp_interposer.messages")
    (t.folder / "rules.ini").write_text("[redact]\npattern.word = [s]esame-[a-z]+\n")
    done = vault.command("redact", "--apply", "--all", "--config", t.folder / "rules.ini")
    assert done.returncode in (0, 1), done.stderr
    assert not vault.rows("SELECT 1 FROM messages WHERE body LIKE '%sesame-opens%'"), "the vault was not redacted"
    sent(vault.to(url, "--once"))
    same(t, vault)
    assert "sesame-" not in t.cluster.psql("SELECT string_agg(body, ' ') FROM mcp_interposer.messages")
    assert int(t.cluster.psql("SELECT count(*) FROM mcp_interposer.replaced")) == len(vault.rows("SELECT 1 FROM replaced"))


@case("two shippers of one vault: the second says who sends")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: not differences(t.cluster, vault))
    assert f"process {shipper.pid} sends" in sent(vault.to(url, "--once"), 3)


@case("two targets do not wake each other when nothing is new")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    t.cluster.psql("CREATE DATABASE second TEMPLATE postgres")
    t.cleanups.append(lambda: t.cluster.psql("DROP DATABASE second WITH (FORCE)"))
    shippers = [vault.follow(url), vault.follow(t.cluster.url("laptop", database="second"))]
    t.cleanups += [s.kill for s in shippers]
    written = "SELECT max(tried_at_us), count(*) FROM ship_targets"
    wait_until(lambda: len(vault.rows("SELECT 1 FROM shipped WHERE complete")) == 2)
    seen = [None]

    def quiet():
        before, seen[0] = seen[0], vault.rows(written)
        time.sleep(1.5)         # more than the second that a shipper waits after it has sent something
        return before == seen[0]
    wait_until(quiet)
    assert vault.rows(written)[0][1] == 2
    for s in shippers:
        s.send_signal(signal.SIGTERM)
        assert s.wait(60) == 0


@case("twenty vaults at once")
def _(t):
    vaults = []
    for n in range(20):
        (t.folder / f"h{n}").mkdir()
        vaults.append((Vault(t.folder / f"h{n}"), t.device(f"device-{n}")))
        vaults[-1][0].record(texts(20))
    running = [v.follow(url, "--once", "--deadline", "100s") for v, url in vaults]
    for r in running:
        assert r.wait(120) == 0, r.stderr.read()
    for v, _ in vaults:
        same(t, v)


@case("minimal: no bodies leave the machine, and an option cannot change that")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3, large=1))
    config = t.folder / "config.ini"
    config.write_text(f"[ship]\nurl = {url}\nlevel = minimal\n")
    sent(vault.to(url, "--once", "--config", str(config), "--level", "full"), 2)
    done = subprocess.run([SHIP, "to", "--once", "--vault", vault.path, "--config", config], capture_output=True, text=True,
                          env=vault.env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert t.cluster.psql("SELECT count(body), count(*), max(size) > 2000000 FROM mcp_interposer.messages") == "0\t8\tt"
    assert t.cluster.psql("SELECT shipped_level FROM mcp_interposer.sessions") == "minimal"


@case("a device can do nothing but send its own recordings")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    t.device("thief")
    name, uid = vault.name(), vault.rows("SELECT uid FROM sessions")[0][0]
    head = t.cluster.psql("SELECT encode(head, 'hex') FROM mcp_interposer.vaults")
    tables = t.cluster.psql("SELECT relname FROM pg_class WHERE relnamespace = 'mcp_interposer'::regnamespace "
                            "AND relkind IN ('r', 'p', 'v')").split("\n")
    assert len(tables) > 10
    for table in tables:
        for sql in (f"SELECT * FROM mcp_interposer.{table}", f"DELETE FROM mcp_interposer.{table}",
                    f"TRUNCATE mcp_interposer.{table}"):
            said = t.cluster.psql(sql, "thief", check=False)
            assert "permission denied" in said or "cannot delete from view" in said or "is not a table" in said, (sql, said)
    for sql in ("SELECT mcp_interposer.add_device('evil')", "SELECT mcp_interposer.make_partitions(now(), now())",
                "CREATE TABLE mcp_interposer.x (y int)", "SELECT mcp_interposer.use_vault('', '')"):
        assert "permission denied" in t.cluster.psql(sql, "thief", check=False), sql
    for sql in (f"SELECT mcp_interposer.put_piece('{name}', '\\x{head}', '{uid}', 1, 0, '')",
                f"SELECT mcp_interposer.put_handled('{name}', '\\x{head}', 1, '{{}}')",
                f"SELECT mcp_interposer.put_leaves('{name}', '\\x{head}', '{{x}}')",
                f"SELECT * FROM mcp_interposer.vault_state('{name}', '', '')"):
        assert "another device" in t.cluster.psql(sql, "thief", check=False), sql
    assert t.cluster.psql(f"SELECT * FROM mcp_interposer.watermarks('{name}', '', 10)", "thief") == ""
    # with a vault of its own, into the session of the other
    own = "01M7YSNFPE4WHD7A4MYSYTND3Q"
    t.cluster.psql(f"SELECT mcp_interposer.vault_state('{own}', '', '')", "thief")
    assert "not of this vault" in t.cluster.psql(
        f"SELECT mcp_interposer.put_piece('{own}', decode(repeat('00', 32), 'hex'), '{uid}', 1, 0, '')", "thief", check=False)
    t.cluster.psql("DROP ROLE IF EXISTS nobody_special; CREATE ROLE nobody_special LOGIN")
    assert "permission denied" in t.cluster.psql("SELECT mcp_interposer.hello(1)", "nobody_special", check=False)


@case("readers: all, or the rows of some devices")
def _(t):
    a, b = Vault(t.folder, "a"), Vault(t.folder, "b")
    a.record(texts(2))
    b.record(texts(5))
    sent(a.to(t.device("laptop-a"), "--once"))
    sent(b.to(t.device("laptop-b"), "--once"))
    t.cluster.psql("DROP ROLE IF EXISTS reads_all; DROP ROLE IF EXISTS reads_a;"
                   "CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader; CREATE ROLE reads_a LOGIN;"
                   "GRANT USAGE ON SCHEMA mcp_interposer TO reads_a;"
                   "GRANT SELECT ON mcp_interposer.devices, mcp_interposer.sessions, mcp_interposer.messages, mcp_interposer.events,"
                   " mcp_interposer.readers, mcp_interposer.invocations TO reads_a;"
                   "INSERT INTO mcp_interposer.readers SELECT 'reads_a', id FROM mcp_interposer.devices WHERE name = 'laptop-a'")
    t.cleanups.append(lambda: t.cluster.psql("DROP OWNED BY reads_a; DROP ROLE reads_a; DROP ROLE reads_all"))
    count = "SELECT count(*) FROM mcp_interposer.{}"
    assert t.cluster.psql(count.format("messages"), "reads_all") == "18"
    assert t.cluster.psql(count.format("messages"), "reads_a") == "6"
    assert t.cluster.psql(count.format("sessions"), "reads_a") == "1"
    assert t.cluster.psql(count.format("invocations"), "reads_a") == "3"
    assert "permission denied" in t.cluster.psql("DELETE FROM mcp_interposer.messages", "reads_all", check=False)


@case("versions: an older schema, a newer schema, and none")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    t.cluster.psql("UPDATE mcp_interposer.store SET version = 0")
    assert "version 0, and this program needs" in sent(vault.to(url, "--once"), 1)
    t.init()        # upgrades
    sent(vault.to(url, "--once"))
    t.cluster.psql("UPDATE mcp_interposer.store SET version = 7, oldest_client = 2")
    assert "install a newer" in sent(vault.to(url, "--once"), 1)
    done = subprocess.run([SHIP, "init", t.cluster.url()], capture_output=True, text=True, env=vault.env, timeout=60)
    assert done.returncode == 3 and "version 7, which is newer" in done.stderr, done.stderr
    t.cluster.psql("UPDATE mcp_interposer.store SET oldest_client = 1")
    sent(vault.to(url, "--once"))
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    assert "ship init" in sent(vault.to(url, "--once"), 1)


@case("init twice changes nothing, and its SQL works with psql")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    t.init()
    same(t, vault)
    sql = subprocess.run([SHIP, "init", "--print"], capture_output=True, text=True, env=vault.env, timeout=60).stdout
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    subprocess.run([t.cluster.bin / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", t.cluster.url()], input=sql, text=True,
                   check=True, capture_output=True, timeout=60)
    t.device()
    sent(vault.to(url, "--once"))
    same(t, vault)


@case("a session with a uid of any time finds a partition")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    db = sqlite3.connect(vault.path / "interposer.db")
    db.execute("DROP TABLE leaves")
    db.execute("CREATE TABLE leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL) STRICT")
    db.execute("INSERT INTO leaves VALUES (0, '{\"type\":\"begin\",\"version\":1,\"vault\":\"01M7YSNFPE4WHD7A4MYSYTND3Q\","
               "\"at_us\":1795256140000000,\"after\":0}')")
    db.execute("UPDATE sessions SET uid = '00' || substr(uid, 3)")      # 1970: the clock was set back
    db.commit()
    db.close()
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages_other") == "6"


@case("a session that was pruned before it was sent leaves a gap")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(4))
    vault.record(texts(2))
    done = vault.command("prune", "--keep-last", "1", "--yes")
    assert done.returncode == 0, done.stderr
    sent(vault.to(url, "--once"))
    gap = t.cluster.psql("SELECT kind, detail::json ->> 'lost' FROM mcp_interposer.events WHERE id = -1")
    assert gap == "gap\t13", gap


@case("docs/fleet.md: its SQL works, and a month that was removed is not sent again")
def _(t):
    url, vault = t.device("laptop-7"), Vault(t.folder)
    t.device("laptop-8")
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    month = time.strftime("%Y_%m", time.gmtime())
    blocks = re.findall(r"```postgresql\n(.*?)```", (ROOT / "docs/fleet.md").read_text(), re.S)
    assert len(blocks) >= 3
    t.cleanups.append(lambda: t.cluster.psql("DROP OWNED BY team_a; DROP ROLE team_a"))
    for block in reversed(blocks):      # the query, then the removal
        for sql in filter(str.strip, block.replace("2026_01", month).split(";\n")):
            out = t.cluster.psql(sql)
            assert "SELECT target" not in sql or out == "echo\t3\t0\n\t1\t0", out
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages", "team_a") == "0"
    vault.record(texts(1))
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "4"


@case("prune keeps what was not sent an hour ago, and doctor says what is missing")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    for n in range(3):
        vault.record(texts(1))
    config = t.folder / "config.ini"
    config.write_text(f"[ship]\nurl = {url}\n")
    vault.env["XDG_CONFIG_HOME"] = str(t.folder)
    (t.folder / "mcp-interposer").mkdir()
    shutil.copy(config, t.folder / "mcp-interposer/config.ini")
    prune = ("prune", "--keep-last", "1", "--yes")
    missing = [json.loads(x) for x in vault.command("doctor", "--json").stdout.splitlines()]
    assert any(x["check"] == "shipping" and "never sent" in x["text"] for x in missing), missing
    done = vault.command(*prune)
    assert "2 sessions are kept" in done.stderr, done
    assert len(vault.rows("SELECT 1 FROM sessions")) == 3
    done = subprocess.run([SHIP, "to", "--once", "--vault", vault.path], capture_output=True, text=True, env=vault.env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "2 sessions are kept" in vault.command(*prune).stderr        # the store may lose its last second
    db = sqlite3.connect(vault.path / "interposer.db")
    db.execute("UPDATE shipped SET at_us = at_us - 3600000000 WHERE session_id = 1")
    db.commit()
    db.close()
    assert "1 sessions are kept" in vault.command(*prune).stderr
    assert vault.rows("SELECT id FROM sessions") == [(2,), (3,)]
    assert vault.rows("SELECT session_id FROM shipped") == [(2,), (3,)]
    assert vault.command(*prune, "--unsent").returncode == 0
    assert vault.rows("SELECT id FROM sessions") == [(3,)]
    done = subprocess.run([SHIP, "to", "--once", "--vault", vault.path], capture_output=True, text=True, env=vault.env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert t.cluster.psql("SELECT count(*), count(*) FILTER (WHERE id = -1) FROM mcp_interposer.events") == "6\t0"
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "12"


def certificate(folder, name, signer=None):
    """A key and a certificate for this name, signed by another one; without it, an authority."""
    def run(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=60)
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / f"{name}.key", "-subj", f"/CN={name}",
        *(["-out", folder / f"{name}.csr"] if signer else ["-x509", "-days", "2", "-out", folder / f"{name}.crt"]))
    if signer:
        (folder / "ext").write_text(f"subjectAltName=DNS:{name}")
        run("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{signer}.crt", "-CAkey", folder / f"{signer}.key",
            "-CAcreateserial", "-days", "2", "-extfile", folder / "ext", "-out", folder / f"{name}.crt")


@case("TLS: the certificate and its name are verified, and the password comes from a file")
def _(t):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    certificate(t.folder, "authority")
    certificate(t.folder, "stranger")
    certificate(t.folder, "localhost", "authority")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]

    def settings(cluster):
        for name in ("localhost.key", "localhost.crt"):
            shutil.copy(t.folder / name, cluster.folder)
            os.chmod(cluster.folder / name, 0o600)
            if cluster.user:
                os.chown(cluster.folder / name, cluster.user.pw_uid, cluster.user.pw_gid)
        with (cluster.folder / "data/pg_hba.conf").open("w") as f:
            f.write("local all admin trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        return {"listen_addresses": "127.0.0.1", "port": port, "ssl": "on", "ssl_cert_file": cluster.folder / "localhost.crt",
                "ssl_key_file": cluster.folder / "localhost.key"}
    cluster = Cluster(t.folder / "pg", more=settings)
    t.cleanups.append(lambda: cluster.stop("immediate"))
    admin = f"postgresql://admin@/postgres?host={cluster.folder}&port={port}"
    vault = Vault(t.folder)
    vault.record(texts(3))
    subprocess.run([SHIP, "init", "--device", "laptop", admin], check=True, capture_output=True, env=vault.env, timeout=60)
    psql = [cluster.bin / "psql", "-X", "-q", "-A", "-t", "-d", admin, "-c"]
    subprocess.run([*psql, "ALTER ROLE laptop PASSWORD 'open sesame'"], check=True, timeout=60)
    (t.folder / ".pgpass").write_text(f"*:{port}:*:laptop:open sesame\n")
    (t.folder / ".pgpass").chmod(0o600)
    url = f"postgresql://laptop@localhost:{port}/postgres?hostaddr=127.0.0.1"

    def count():
        return subprocess.run([*psql, "SELECT count(*) FROM mcp_interposer.messages"], check=True, capture_output=True, text=True,
                              timeout=60).stdout.strip()
    assert "certificate" in sent(vault.to(url, "--once"), 3)          # no authority is known
    assert "certificate verify failed" in sent(vault.to(f"{url}&sslrootcert={t.folder}/stranger.crt", "--once"), 3)
    said = sent(vault.to(f"postgresql://laptop@127.0.0.1:{port}/postgres?sslrootcert={t.folder}/authority.crt", "--once"), 3)
    assert "does not match host name" in said, said
    assert count() == "0"
    said = sent(vault.to(f"{url}&sslrootcert={t.folder}/authority.crt", "--once"))
    assert count() == "8" and "sesame" not in said


@case("make install: the program, its manual and a unit that systemd accepts")
def _(t):
    root = t.folder / "root"
    make = ["make", "-s", f"BUILD={os.path.relpath(Path(SHIP).parent, ROOT)}", f"DESTDIR={root}", "PREFIX=/usr"]
    subprocess.run([*make, "install"], cwd=ROOT, check=True, capture_output=True, timeout=120)
    unit = root / "usr/lib/systemd/user/mcp-interposer-ship.service"
    assert unit.exists() and (root / "usr/share/man/man1/mcp-interposer-ship.1").exists()
    if shutil.which("groff"):
        page = subprocess.run(["groff", "-man", "-ww", "-Tutf8", root / "usr/share/man/man1/mcp-interposer-ship.1"],
                              capture_output=True, text=True, timeout=60)
        assert not page.stderr and len(page.stdout) > 1000, page.stderr
    done = subprocess.run([root / "usr/bin/mcp-interposer", "ship", "--help"], capture_output=True, text=True, timeout=60)
    assert "ship to" in done.stdout, done
    done = subprocess.run([root / "usr/bin/mcp-interposer", "ship", "to", "nowhere"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "not a URL" in done.stderr, done
    if shutil.which("systemd-analyze"):
        text = unit.read_text().replace("ExecStart=mcp", f"ExecStart={root}/usr/bin/mcp")
        unit.write_text(text)
        said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
        wrong = [x for x in said.stderr.splitlines() if "mcp-interposer-ship.service:" in x and "Command 'man" not in x]
        assert not wrong, wrong
    subprocess.run([*make, "uninstall"], cwd=ROOT, check=True, capture_output=True, timeout=60)
    left = [p for p in root.rglob("*") if p.is_file() and "ship" in p.name]
    assert not left, left
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAM, root / "usr/bin/alone")
    done = subprocess.run([root / "usr/bin/alone", "ship", "status"], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PATH": "/nowhere"})
    assert done.returncode == 3 and "is not installed" in done.stderr, done


@case("URLs: a password is refused and not printed; others are explained")
def _(t):
    vault = Vault(t.folder)
    vault.record(texts(1))
    for url in ("postgresql://me:hunter2@localhost/d", "host=localhost user=me password=hunter2",
                "postgresql://me@localhost/d?password=hunter2"):
        said = sent(vault.to(url, "--once"), 2)
        assert ".pgpass" in said and "hunter2" not in said, said
    assert "not a URL" in sent(vault.to("nowhere", "--once"), 2)
    said = sent(vault.to("postgresql://me@127.0.0.1:1/d", "--once"), 3)
    assert "refused" in said, said
    # without a certificate to verify with, nothing is sent over TCP
    started = time.monotonic()
    sent(vault.to("postgresql://me@127.0.0.1:1/d", "--once", "--deadline", "2s"), 3)
    assert 1.9 < time.monotonic() - started < 30
