"""Cases of tests/ship/run: several shards behind a router: their list, rights, readers, docs/fleet-admin.md."""
import os
import re
import shutil
import subprocess
import types

from cases import LONG, Skip, page, same, sent
from cases_reading import REPORTS, here, read, recorded
from cases_setup import certificate
from cluster import DEADLINE, Cluster, free_port
from fleet import SETTINGS, between, shards, vaults_on
from vaults import PROGRAM, SHIP, Vault, environment, texts


def add_read_uids(f, role):
    """A function that is new on the shards, and another init."""
    for s in f.shards:
        s.psql("CREATE OR REPLACE FUNCTION mcp_interposer.read_uids(p_first text DEFAULT '') RETURNS SETOF mcp_interposer.sessions LANGUAGE sql "
               "STABLE AS 'SELECT * FROM mcp_interposer.sessions WHERE uid >= p_first ORDER BY uid';"
               f"GRANT EXECUTE ON FUNCTION mcp_interposer.read_uids TO {role}")
    f.init()


@shards("lines that are removed, exchanged or replaced are refused, and a new address is taken", needs="store")
def _(t, f):
    url, lines = f.device("laptop"), [s.url() for s in f.shards]
    vault = vaults_on(t, f, url, (1,))[1]
    for wrong, message in ((lines[:2], "lists 2 shards, and the router has 3: a shard cannot be removed"),
                           ([lines[1], lines[0], lines[2]], "line 2, shard 1: this database is shard 2, and not shard 1"),
                           ([*lines, lines[1] + "&connect_timeout=9"], "line 5, shard 4: this database is shard 2, and not shard 4"),
                           ([lines[0], lines[1], t.cluster.url()], "line 4, shard 3: this is not the database that was shard 3"),
                           ([*lines, f.router.url()], "line 5, shard 4: this database is the router"),
                           ([*lines, "postgresql://admin@/postgres?host=/nowhere"], "line 5, shard 4: connection to server"),
                           ([*lines, "postgresql://me:hunter2@host/d"], ".pgpass"),
                           ([*lines, "postgresql://host"], "line 5, shard 4: the URL does not name the database"),
                           ([*lines, "elsewhere"], "line 5, shard 4: not a URL"),
                           ([*lines, lines[0]], "line 5 is the same as line 2"), ([], "lists no shards")):
        f.write(*wrong)
        done = f.try_init()
        assert done.returncode in (2, 3) and message in done.stderr and "hunter2" not in done.stderr, (message, done.stderr)
        assert f.router.psql("SELECT count(*) FROM mcp_interposer.shards") == "3"
    middle = between(t, f.shards[0], "m")
    f.write(f.shards[0].url(folder=middle.folder), *lines[1:])
    f.init()
    f.shards[0].psql("SELECT 1")
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    same(f, vault)


@shards("a router that was lost is made again, with the same list")
def _(t, f):
    url = f.device("laptop")
    found = vaults_on(t, f, url, (1, 2, 3))
    f.add(1)        # now a hash alone would find other places
    f.router.psql("DROP SCHEMA mcp_interposer, mcp_interposer_shards, plproxy CASCADE")
    f.init()
    for n, vault in found.items():
        vault.record(texts(2))
        sent(vault.to(url, "--once"))
        assert f.shard_of(vault) == n
        same(f, vault)


@shards("a store that exists becomes the first of them", needs="store")
def _(t, f):
    vault = Vault(t.folder)
    vault.record(texts(3))
    sent(vault.to(t.device("laptop"), "--once"))
    f.router.psql("DROP SCHEMA mcp_interposer, mcp_interposer_shards, plproxy CASCADE")
    for s in f.shards:
        s.psql("DROP SCHEMA mcp_interposer CASCADE")
    f.shards = [t.cluster, *f.shards[:2]]
    f.write(*(s.url() for s in f.shards))
    f.init()
    vault.record(texts(3))
    sent(vault.to(f.router.url("laptop"), "--once"))
    assert f.shard_of(vault) == 1
    same(f, vault)


@shards("a device can do nothing at the router but send its own recordings")
def _(t, f):
    url = f.device("laptop")
    vault = vaults_on(t, f, url, (1,))[1]
    f.device("thief")
    name, uid = vault.name(), vault.rows("SELECT uid FROM sessions")[0][0]
    head, count = f.psql(f"SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults WHERE uid = '{name}'").split("\t")

    def says(sql, role="thief"):
        return f.router.psql(sql, role, check=False)
    for table in ("store", "devices", "shards", "placements"):
        for sql in ("SELECT * FROM mcp_interposer.{}", "DELETE FROM mcp_interposer.{}", "TRUNCATE mcp_interposer.{}"):
            assert "permission denied" in says(sql.format(table)), table
    for sql in (f"SELECT mcp_interposer.shard_of('{name}')", "SELECT mcp_interposer.place_vault('x')",
                "SELECT mcp_interposer.add_device('evil')", "SELECT mcp_interposer.use_shards('{}', 1, 1)",
                "SELECT mcp_interposer_shards.ping(0)", f"SELECT mcp_interposer_shards.vault_state('{name}', '', '')",
                "SELECT * FROM plproxy.get_cluster_partitions('x')", "CREATE TABLE mcp_interposer.x (y int)",
                "CREATE FUNCTION pg_temp.x() RETURNS int LANGUAGE plproxy AS $$ CONNECT 'dbname=x'; $$",
                "CREATE SERVER s FOREIGN DATA WRAPPER plproxy OPTIONS (p0 'dbname=x')"):
        assert "permission denied" in says(sql), (sql, says(sql))
    calls = (f"SELECT mcp_interposer.put_piece('{name}', '\\x{head}', {count}, '{uid}', 1, 0, '')",
             f"SELECT mcp_interposer.put_handled('{name}', '\\x{head}', {count}, 1, '{{}}')",
             f"SELECT mcp_interposer.put_leaves('{name}', '\\x{head}', {count}, '{{x}}')",
             f"SELECT * FROM mcp_interposer.vault_state('{name}', '', '')")
    before = f.router.psql("SELECT count(*) FROM mcp_interposer.placements")
    for sql in calls:
        # the words of the shard, and its error code
        assert f"ERROR:  the vault {name} belongs to another device" in says(sql), (sql, says(sql))
        caught = f"DO $$ BEGIN PERFORM {sql[7:]}; EXCEPTION WHEN SQLSTATE 'MI005' THEN RAISE NOTICE 'as on a shard'; END $$"
        assert "as on a shard" in says(caught.replace("PERFORM * FROM", "PERFORM")), sql
    assert says(f"SELECT * FROM mcp_interposer.watermarks('{name}', '', 10)") == ""
    # as the first call of a connection and as the second, and with another role set
    for first in ("SELECT 1", "SELECT 1 FROM mcp_interposer.hello(1)", "SET ROLE mcp_interposer_device"):
        assert "belongs to another device" in says(f"{first}; {calls[0]}"), first
    assert "permission denied" in says("SET SESSION AUTHORIZATION laptop")
    assert "invalid vault name" in says("SELECT mcp_interposer.vault_state('x', '', '')")
    assert f.router.psql("SELECT count(*) FROM mcp_interposer.placements") == before
    same(f, vault)
    f.router.psql("CREATE ROLE nobody_special LOGIN")
    assert "permission denied" in says("SELECT mcp_interposer.hello(1)", "nobody_special")
    f.router.psql("GRANT mcp_interposer_device TO nobody_special")
    assert "is not a device" in says("SELECT mcp_interposer.hello(1)", "nobody_special")


@shards("readers of all or of some devices are the same on every shard, and on one that is added")
def _(t, f):
    a, b = vaults_on(t, f, f.device("laptop-7"), (1, 2, 3)), Vault(t.folder, "b")
    b.record(texts(1))
    sent(b.to(f.device("laptop-8"), "--once"))
    f.router.psql("CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader; CREATE ROLE team_a LOGIN; "
                  "SELECT mcp_interposer.add_reader('team_a', ARRAY['laptop-7'])")
    assert "no device laptop-9" in f.router.psql("SELECT mcp_interposer.add_reader('team_a', ARRAY['laptop-9'])", check=False)
    add_read_uids(f, "PUBLIC")

    def reads(role):
        return set(f.router.psql("SELECT uid FROM mcp_interposer.read_uids()", role).split("\n"))
    everything = set(f.psql("SELECT uid FROM mcp_interposer.sessions").split("\n"))
    own = {b.rows("SELECT uid FROM sessions")[0][0]}
    assert reads("reads_all") == everything and reads("team_a") == everything - own
    f.add(1)
    f.router.psql("UPDATE mcp_interposer.shards SET accepts = n = 4")
    c = Vault(t.folder, "c")
    c.record(texts(1))
    sent(c.to(f.router.url("laptop-7"), "--once"))
    assert f.shard_of(c) == 4
    add_read_uids(f, "PUBLIC")
    more = {c.rows("SELECT uid FROM sessions")[0][0]}
    assert reads("reads_all") == everything | more and reads("team_a") == (everything | more) - own
    # a device that calls it reads nothing
    assert "permission denied" in f.router.psql("SELECT uid FROM mcp_interposer.read_uids()", "laptop-7", check=False)
    # the rows of a store that was there before are shared, too
    f.router.psql("DELETE FROM mcp_interposer.readers")
    f.init()
    assert f.router.psql("SELECT role, device FROM mcp_interposer.readers") == "team_a\tlaptop-7"


@shards("the router has each function that devices and readers may run on a shard")
def _(t, f):
    url = f.device("laptop")
    vaults_on(t, f, url, (1, 2))
    callable_by = ("SELECT p.proname || ' ' || pg_get_function_arguments(p.oid) || ' ' || r || ' ' || "
                   "pg_get_function_result(p.oid) FROM pg_proc p, unnest('{mcp_interposer_device,mcp_interposer_reader}'::text[]) AS r "
                   "WHERE p.pronamespace = 'mcp_interposer'::regnamespace AND has_function_privilege(r, p.oid, 'EXECUTE') "
                   "AND (p.proname LIKE 'read\\_%' OR NOT has_function_privilege('pg_monitor', p.oid, 'EXECUTE')) ORDER BY 1")
    there, here = (c.psql(callable_by).split("\n") for c in (f.shards[0], f.router))
    assert len(here) > 10 and here == there, set(here) ^ set(there)
    # a function that is new on the shards needs nothing but another init
    add_read_uids(f, "mcp_interposer_reader")
    f.router.psql("CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader")
    f.init()
    said = f.router.psql("SELECT uid, name FROM mcp_interposer.read_uids() ORDER BY uid", "reads_all")
    assert sorted(said.split("\n")) == sorted(f.psql("SELECT uid, name FROM mcp_interposer.sessions").split("\n")), said
    assert "permission denied" in f.router.psql("SELECT * FROM mcp_interposer.read_uids()", "laptop", check=False)
    # not some of the rows: an error that names the shard
    f.shards[1].stop("immediate")
    try:
        said = f.router.psql("SELECT uid FROM mcp_interposer.read_uids()", "reads_all", check=False)
    finally:
        f.shards[1].start()
    assert "ERROR:  shard 2: connection to server" in said, said
    assert f.router.psql("SELECT count(*) > 1 FROM mcp_interposer.read_uids()", "reads_all") == "t"
    # a removed function disappears
    for s in f.shards:
        s.psql("DROP FUNCTION mcp_interposer.read_uids")
    f.init()
    assert "does not exist" in f.router.psql("SELECT mcp_interposer.read_uids()", "reads_all", check=False)


@shards("init again changes nothing, its SQL works with psql, and wrong databases are refused", needs="store", months=True)
def _(t, f):
    url = f.device("laptop")
    vault = vaults_on(t, f, url, (1,))[1]
    version = f.router.psql("SELECT cluster, router FROM mcp_interposer.store")
    f.init()
    assert f.router.psql("SELECT cluster, router FROM mcp_interposer.store") == version
    sql = f.try_init("--print").stdout
    f.router.psql("DROP SCHEMA mcp_interposer, mcp_interposer_shards, plproxy CASCADE")
    subprocess.run([f.router.bin / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", f.router.url()], input=sql, text=True,
                   check=True, capture_output=True, timeout=DEADLINE)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    same(f, vault)
    f.init()
    done = subprocess.run([SHIP, "init", f.router.url()], env=environment(t.folder), capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 3 and "use ship init --shards" in done.stderr, done.stderr
    done = subprocess.run([SHIP, "init", "--shards", f.file, t.cluster.url()], env=environment(t.folder), capture_output=True,
                          text=True, timeout=DEADLINE)
    assert done.returncode == 3 and "this database is a store" in done.stderr, done.stderr
    f.router.psql("CREATE ROLE maker LOGIN CREATEROLE")
    done = subprocess.run([SHIP, "init", "--shards", f.file, f.router.url("maker")], env=environment(t.folder), capture_output=True,
                          text=True, timeout=DEADLINE)
    assert done.returncode == 3 and "must be made by a superuser" in done.stderr, done.stderr
    assert "the router and 3 shards are ready" in f.init()


@shards("docs/fleet-admin.md: its commands and SQL make a fleet")
def _(t, f):
    for c in (f.router, *f.shards):
        c.psql("DROP SCHEMA IF EXISTS mcp_interposer, mcp_interposer_shards, plproxy CASCADE")
    section = page("fleet-admin.md").split("## Several servers\n")[1].split("\n## ")[0]
    script = re.search(r"```sh\n(.*?)```", section, re.S)[1]
    for n, s in enumerate(f.shards, 1):
        script = script.replace(f"postgresql://admin@shard{n}.example/fleet", s.url())
    script = script.replace("postgresql://admin@router.example/fleet", f"'{f.router.url()}'")
    assert ".example" not in script and script.count(" ship init ") == 2, script
    env = environment(t.folder) | {"PATH": f"{os.path.dirname(SHIP)}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", script], cwd=t.folder, env=env, check=True, capture_output=True, timeout=DEADLINE)
    vault = vaults_on(t, f, f.router.url("laptop-7"), (2,))[2]
    same(f, vault)
    blocks = re.findall(r"```postgresql\n(.*?)```", section, re.S)
    closing, count = blocks[0].strip().split("\n")
    f.router.psql(closing)
    assert f.router.psql("SELECT n FROM mcp_interposer.shards WHERE NOT accepts") == "1"
    assert re.search(r"^2\t[1-9]", f.router.psql(count), re.M)
    f.router.psql(blocks[1])
    f.init()
    for role in ("analyst", "team_b"):
        done = subprocess.run([PROGRAM, "sessions", "--json", "--from", f.router.url(role)], env=env, capture_output=True, text=True,
                              timeout=DEADLINE)
        assert done.returncode == 0 and done.stdout.count("\n") == f.psql_sum("SELECT count(*) FROM mcp_interposer.sessions"), done


@shards("TLS: a shard trusts the certificate of the router, and nobody else")
def _(t, f):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    rules = re.search(r"```\n# pg_hba.conf of a shard.*?\n(.*?)```", page("fleet-admin.md"), re.S)[1]
    assert rules.count("hostssl fleet ") == 2 and rules.count("10.0.0.5/32") == 2
    certificate(t.folder, "authority")
    certificate(t.folder, "routers")
    certificate(t.folder, "localhost", "authority")
    certificate(t.folder, "router", "routers")
    certificate(t.folder, "stranger", "authority")
    port = free_port()

    def settings(cluster):
        for name in ("localhost.key", "localhost.crt", "routers.crt"):
            shutil.copy(t.folder / name, cluster.folder)
            os.chmod(cluster.folder / name, 0o600)
            if cluster.user:
                os.chown(cluster.folder / name, cluster.user.pw_uid, cluster.user.pw_gid)
        with (cluster.folder / "data/pg_hba.conf").open("w") as hba:
            hba.write("local all admin trust\n" + rules.replace("10.0.0.5", "127.0.0.1"))
        return SETTINGS | {"listen_addresses": "127.0.0.1", "port": port, "ssl": "on",
                                 "ssl_cert_file": cluster.folder / "localhost.crt", "ssl_key_file": cluster.folder / "localhost.key",
                                 "ssl_ca_file": cluster.folder / "routers.crt"}
    shard = Cluster(t.folder / "pg", more=settings)
    t.cleanups.append(lambda: shard.stop("immediate"))
    if shard.user:
        os.chown(t.folder / "router.key", shard.user.pw_uid, shard.user.pw_gid)     # the router's, which runs as the same user
    os.chmod(t.folder / "router.key", 0o600)

    def psql(sql, url=f"postgresql://admin@/postgres?host={shard.folder}&port={port}"):
        done = subprocess.run([shard.bin / "psql", "-X", "-q", "-A", "-t", "-d", url, "-c", sql], capture_output=True, text=True,
                              env=environment(t.folder), timeout=DEADLINE)
        return (done.stdout + done.stderr).strip()
    assert psql("CREATE DATABASE fleet") == psql("ALTER ROLE admin PASSWORD 'open sesame'") == ""
    (t.folder / ".pgpass").write_text(f"*:{port}:*:admin:open sesame\n")
    (t.folder / ".pgpass").chmod(0o600)
    tls = f"@localhost:{port}/fleet?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={t.folder}/authority.crt"
    own = f"&sslcert={t.folder}/router.crt&sslkey={t.folder}/router.key"
    f.router.psql("DROP SCHEMA mcp_interposer, mcp_interposer_shards, plproxy CASCADE")
    f.write(f"postgresql://admin{tls}{own}")
    url, vault = f.device("laptop"), Vault(t.folder)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    assert psql("SELECT count(*) FROM mcp_interposer.messages", f"postgresql://admin{tls}{own}") == "8"
    assert "connection requires a valid client certificate" in psql("SELECT 1", f"postgresql://laptop{tls}")
    strange = own.replace("router.", "stranger.")
    assert "FATAL" in psql("SELECT 1", f"postgresql://laptop{tls}{strange}") or "alert" in psql("SELECT 1", f"postgresql://laptop{tls}{strange}")
    (t.folder / ".pgpass").unlink()
    assert "no password supplied" in psql("SELECT 1", f"postgresql://admin{tls}{own}")
    psql("CREATE ROLE somebody LOGIN")
    assert "no pg_hba.conf entry" in psql("SELECT 1", f"postgresql://somebody{tls}{own}")
    assert psql("SELECT 1", f"postgresql://laptop{tls}{own}") == "1"


@shards("--from the router: what is printed is what the vault prints, and a shard that is down is named")
def _(t, f):
    url, vault = f.device("laptop"), recorded(t)
    sent(vault.to(url, "--once"))
    f.router.psql("CREATE ROLE boss LOGIN IN ROLE mcp_interposer_reader")
    f.init()
    on = types.SimpleNamespace(cluster=f.router, folder=t.folder)
    for line in REPORTS[::1 if LONG else 4]:
        assert read(on, "boss", line.split())[:2] == here(vault, line.split())[:2], line
    others = vaults_on(t, f, url, (1, 2, 3))
    status, out, error = read(on, "boss", ["sessions", "--json", "-n", "0"])
    assert status == 0 and out.count('"type":"session"') == f.psql_sum("SELECT count(*) FROM mcp_interposer.sessions"), error
    uids = re.findall(r'"uid":"(\w+)"', out)
    assert len(uids) > 3 and uids in (sorted(uids), sorted(uids, reverse=True)), uids
    for other in others.values():
        uid = other.rows("SELECT uid FROM sessions")[0][0]
        status, out, error = read(on, "boss", ["show", uid, "--json"])
        assert status == 0 and out == here(other, ["show", "1", "--json"])[1], error
    f.shards[2].stop("immediate")
    try:
        status, out, error = read(on, "boss", ["sessions"])
    finally:
        f.shards[2].start()
    assert status == 3 and "shard 3: " in error and not out, (status, out, error)
