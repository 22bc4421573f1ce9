"""What an administrator does, with the commands of docs/fleet-admin.md: pgbouncer, passwords, backup, retention."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from cases import Skip, case, end, page, same, sent
from cases_setup import certificate
from cluster import DEADLINE, OUTAGE, wait_until
from pooler import PROGRAM as PGBOUNCER
from pooler import Pooler
from vaults import Vault, environment, lacks, texts


def block(kind, *words):
    """The only block of this kind with these words."""
    found = [x for x in re.findall(rf"```{kind}\n(.*?)```", page("fleet-admin.md"), re.S) if all(w in x for w in words)]
    assert len(found) == 1, (words, found)
    return found[0]


def password(t, role, words):
    t.cluster.psql(f"ALTER ROLE {role} PASSWORD '{words}'")


def give_password_file(t, port, *pairs):
    path = t.folder / ".pgpass"
    path.write_text("".join(f"*:{port}:*:{role}:{words}\n" for role, words in pairs))
    path.chmod(0o600)


def behind_pgbouncer(t, **settings):
    """A pooler with TLS whose users are those of the store, and the URL of a device through it."""
    if not Path(PGBOUNCER).exists() or not shutil.which("openssl"):
        raise Skip("pgbouncer or openssl is not installed")
    for name in ("authority", "stranger"):
        certificate(t.folder, name)
    certificate(t.folder, "localhost", "authority")
    files = t.folder / "tls"
    files.mkdir()
    for name in ("localhost.key", "localhost.crt"):
        shutil.copy(t.folder / name, files)
        if t.cluster.user:
            os.chown(files / name, t.cluster.user.pw_uid, t.cluster.user.pw_gid)
    for sql in filter(str.strip, block("postgresql", "CREATE ROLE pgbouncer").split(";\n")):
        t.cluster.psql(sql)
    password(t, "pgbouncer", "words")
    pooler = Pooler(t.cluster, t.folder / "pooler", client_tls_key_file=files / "localhost.key",
                    client_tls_cert_file=files / "localhost.crt", **settings)
    t.cleanups.append(pooler.kill)
    return pooler


def through(t, pooler, role, host="localhost", authority="authority"):
    return f"postgresql://{role}@{host}:{pooler.port}/fleet?hostaddr=127.0.0.1&sslrootcert={t.folder}/{authority}.crt"


@case("pgbouncer, as documented: every message is stored once, also when pgbouncer is killed")
def _(t):
    t.device()
    pooler = behind_pgbouncer(t)
    password(t, "laptop", "open sesame")
    url, vault = through(t, pooler, "laptop"), Vault(t.folder)
    vault.record(texts(40, large=2))
    # a wrong password, a wrong name and an unknown authority are refused, and say so
    give_password_file(t, pooler.port, ("laptop", "wrong"))
    said = sent(vault.to(url, "--once"), 3)
    assert "authentication failed" in said, said + (t.folder / "pooler/log").read_text()
    give_password_file(t, pooler.port, ("laptop", "open sesame"))
    said = sent(vault.to(through(t, pooler, "laptop", "127.0.0.1"), "--once"), 3)
    assert "does not match host name" in said, said
    said = sent(vault.to(through(t, pooler, "laptop", authority="stranger"), "--once"), 3)
    assert "certificate verify failed" in said, said
    said = sent(vault.to(through(t, pooler, "laptop", authority="nowhere"), "--once"), 3)
    assert "nowhere.crt" in said and "does not exist" in said, said
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "0"
    said = sent(vault.to(url, "--once"))
    assert "sesame" not in said
    same(t.cluster, vault)
    vault.record(texts(1500))
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)

    def stored():
        return int(t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages"))
    for n in range(3):
        before = stored()
        vault.record(texts(30, large=1, size=200_000))
        wait_until(lambda before=before: stored() > before, OUTAGE)
        pooler.kill()
        pooler.start()
    wait_until(lambda: not lacks(t.cluster, vault), OUTAGE)
    end(shipper)


@case("pgbouncer: many devices share a few connections to the server")
def _(t):
    pooler = behind_pgbouncer(t, max_db_connections=2, server_idle_timeout=1)
    pairs, vaults = [], []
    for n in range(8):
        (t.folder / f"h{n}").mkdir()
        vault = Vault(t.folder / f"h{n}")
        t.device(f"device_{n}")
        password(t, f"device_{n}", f"words {n}")
        pairs.append((f"device_{n}", f"words {n}"))
        vault.record(texts(20))
        vaults.append(vault)
    give_password_file(t, pooler.port, *pairs)
    for vault in vaults:
        shutil.copy(t.folder / ".pgpass", vault.home)
    shippers = [v.follow(through(t, pooler, f"device_{n}")) for n, v in enumerate(vaults)]
    t.cleanups += [s.kill for s in shippers]
    for v in vaults:
        wait_until(lambda v=v: not lacks(t.cluster, v), OUTAGE)
    # by its log: the server has a connection for a moment longer than pgbouncer
    opened, most, devices = set(), 0, set()
    for line in (t.folder / "pooler/log").read_text().splitlines():
        if m := re.search(r" (S-\S+): \w+/(\w+)@\S+ (new connection to server|closing because)", line):
            (opened.add if m[3].startswith("new") else opened.discard)(m[1])
            most = max(most, len(opened))
            devices.add(m[2])
    assert 1 <= most <= 2 and {f"device_{n}" for n in range(8)} <= devices, (most, devices)
    for s in shippers:
        end(s)


@case("retention: a month that is dropped stays away, and all else goes on", months=True)
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    command = re.search(r"SELECT mcp_interposer\.drop_months\([^']*\)(?=')", block("sh", "drop_months")).group(0)
    t.cluster.psql("SELECT mcp_interposer.make_partitions(now() - interval '20 months', now())")
    months = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'mcp_interposer.messages'::regclass"
    before = int(t.cluster.psql(months))
    dropped = t.cluster.psql(command).split("\n")
    assert len(dropped) == 3 * 7 and dropped[0].startswith("messages_20"), dropped     # 13 months are kept
    assert int(t.cluster.psql(months)) == before - 7
    assert t.cluster.psql(command) == ""
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    # this month, too
    dropped = t.cluster.psql(command.replace("now() - make_interval(months => 13)", "now() + interval '1 month'")).split("\n")
    assert f"messages_{time.strftime('%Y_%m', time.gmtime())}" in dropped, dropped
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "0"
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "0", "it was sent again"
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "6"
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.calls") == "2"
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.sessions") == "2"
    said = t.cluster.psql(command, "laptop", check=False)
    assert "permission denied" in said, said


@case("backup: a restored store gets what it lacks")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(20, large=1))
    sent(vault.to(url, "--once"))
    lines = [x for x in block("sh", "pg_dump ", "pg_restore").splitlines() if x and not x.startswith("#")]

    def run(*words):
        done = [x for x in lines if all(w in x for w in words)]
        assert len(done) == 1, (words, done)
        line = re.sub(r" +# .*", "", done[0]).replace("postgresql://admin@db.example/fleet", f"'{t.cluster.url(database='fleet')}'")
        line = line.replace("postgresql://admin@db.example/postgres", f"'{t.cluster.url()}'").replace("mcp-interposer ", "mcp-interposer-ship ")
        line = line.replace("mcp-interposer-ship ship ", "mcp-interposer-ship ")
        env = environment(t.folder) | {"PATH": f"{t.cluster.bin}:{Path(os.environ.get('TEST_BUILD', 'build')).resolve()}:{os.environ['PATH']}"}
        finished = subprocess.run(["sh", "-ec", line], cwd=t.folder, env=env, capture_output=True, text=True, timeout=DEADLINE)
        assert finished.returncode == 0, (line, finished.stderr)
    t.cluster.psql("CREATE DATABASE fleet TEMPLATE postgres")
    t.cleanups.append(lambda: t.cluster.psql("DROP DATABASE IF EXISTS fleet WITH (FORCE)"))
    fleet = t.cluster.url("laptop", database="fleet")
    sent(vault.to(fleet, "--once"))
    run("pg_dump ")
    run("pg_dumpall")
    vault.record(texts(10))
    sent(vault.to(fleet, "--once"))
    t.cluster.psql("DROP DATABASE fleet WITH (FORCE)")
    assert "CREATE ROLE laptop" in (t.folder / "roles.sql").read_text()
    t.cluster.psql("DROP OWNED BY laptop; DROP ROLE laptop")
    run("psql ", "roles.sql")
    run("createdb")
    run("pg_restore")
    run("ship init")
    count = "SELECT count(*) FROM mcp_interposer.messages"
    assert t.cluster.psql(count, database="fleet") == "42"
    sent(vault.to(fleet, "--once"))
    assert t.cluster.psql(count, database="fleet") == "64"
