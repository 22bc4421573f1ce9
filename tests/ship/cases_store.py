"""Cases of tests/ship/run: the schema: rights, versions, and the SQL of docs/fleet-admin.md and docs/fleet-schema.md."""
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from cases import case, page, same, sent
from cluster import DEADLINE
from vaults import SHIP, Vault, texts

sys.path.append(str(Path(__file__).resolve().parents[1] / "compat"))
import interface  # noqa: E402


@case("a device can do nothing but send its own recordings")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    t.device("thief")
    name, uid = vault.name(), vault.rows("SELECT uid FROM sessions")[0][0]
    head, calls = t.cluster.psql("SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults").split("\t")
    tables = t.cluster.psql("SELECT relname FROM pg_class WHERE relnamespace = 'mcp_interposer'::regnamespace "
                            "AND relkind IN ('r', 'p', 'v')").split("\n")
    assert len(tables) > 10
    thief = t.cluster.connect("thief", "postgres")
    t.cleanups.append(thief.close)
    for table in tables:
        for sql in (f"SELECT * FROM mcp_interposer.{table}", f"DELETE FROM mcp_interposer.{table}",
                    f"TRUNCATE mcp_interposer.{table}"):
            _, said, _ = thief.query(sql)
            assert "permission denied" in said or "cannot delete from view" in said or "is not a table" in said, (sql, said)
    for sql in ("SELECT mcp_interposer.add_device('evil')", "SELECT mcp_interposer.make_partitions(now(), now())",
                "CREATE TABLE mcp_interposer.x (y int)", "SELECT mcp_interposer.use_vault('', '', 0)"):
        assert "permission denied" in t.cluster.psql(sql, "thief", check=False), sql
    for sql in (f"SELECT mcp_interposer.put_piece('{name}', '\\x{head}', {calls}, '{uid}', 1, 0, '')",
                f"SELECT mcp_interposer.put_handled('{name}', '\\x{head}', {calls}, 1, '{{}}')",
                f"SELECT mcp_interposer.put_leaves('{name}', '\\x{head}', {calls}, '{{x}}')",
                f"SELECT * FROM mcp_interposer.vault_state('{name}', '', '')"):
        assert "another device" in t.cluster.psql(sql, "thief", check=False), sql
    assert t.cluster.psql(f"SELECT * FROM mcp_interposer.watermarks('{name}', '', 10)", "thief") == ""
    # with a vault of its own, into the session of the other
    own = "01M7YSNFPE4WHD7A4MYSYTND3Q"
    t.cluster.psql(f"SELECT mcp_interposer.vault_state('{own}', '', '')", "thief")
    assert "not of this vault" in t.cluster.psql(
        f"SELECT mcp_interposer.put_piece('{own}', decode(repeat('00', 32), 'hex'), 0, '{uid}', 1, 0, '')", "thief", check=False)
    t.cluster.psql("CREATE ROLE nobody_special LOGIN")
    assert "permission denied" in t.cluster.psql("SELECT mcp_interposer.hello(1)", "nobody_special", check=False)


@case("readers: all, or the rows of some devices")
def _(t):
    a, b = Vault(t.folder, "a"), Vault(t.folder, "b")
    a.record(texts(2))
    b.record(texts(5))
    sent(a.to(t.device("laptop-a"), "--once"))
    sent(b.to(t.device("laptop-b"), "--once"))
    t.cluster.psql("CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader; CREATE ROLE reads_a LOGIN;"
                   "GRANT USAGE ON SCHEMA mcp_interposer TO reads_a;"
                   "GRANT SELECT ON mcp_interposer.devices, mcp_interposer.sessions, mcp_interposer.messages, mcp_interposer.events,"
                   " mcp_interposer.readers, mcp_interposer.call_rows, mcp_interposer.invocations TO reads_a;"
                   "INSERT INTO mcp_interposer.readers SELECT 'reads_a', id FROM mcp_interposer.devices WHERE name = 'laptop-a'")
    count = "SELECT count(*) FROM mcp_interposer.{}"
    assert t.cluster.psql(count.format("messages"), "reads_all") == "18"
    assert t.cluster.psql(count.format("messages"), "reads_a") == "6"
    assert t.cluster.psql(count.format("sessions"), "reads_a") == "1"
    assert t.cluster.psql(count.format("invocations"), "reads_a") == "3"
    assert "permission denied" in t.cluster.psql("DELETE FROM mcp_interposer.messages", "reads_all", check=False)


@case("versions: an older schema, a newer schema, and none", months=True)
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    t.cluster.psql("UPDATE mcp_interposer.store SET version = 1")
    assert "version 1, and this program needs" in sent(vault.to(url, "--once"), 1)
    t.init()        # upgrades
    sent(vault.to(url, "--once"))
    t.cluster.psql("UPDATE mcp_interposer.store SET version = 7, oldest_client = 3")
    assert "install a newer" in sent(vault.to(url, "--once"), 1)
    done = subprocess.run([SHIP, "init", t.cluster.url()], capture_output=True, text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 3 and "version 7, which is newer" in done.stderr, done.stderr
    t.cluster.psql("UPDATE mcp_interposer.store SET oldest_client = 1")
    sent(vault.to(url, "--once"))
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    assert "ship init" in sent(vault.to(url, "--once"), 1)


@case("init twice changes nothing, and its SQL works with psql", months=True)
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    t.init()
    same(t.cluster, vault)
    sql = subprocess.run([SHIP, "init", "--print"], capture_output=True, text=True, env=vault.env, timeout=DEADLINE).stdout
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    subprocess.run([t.cluster.bin / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", t.cluster.url()], input=sql, text=True,
                   check=True, capture_output=True, timeout=DEADLINE)
    t.device()
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)


@case("docs/fleet-admin.md, docs/fleet-schema.md: their SQL works, and a month that was removed is not sent again", months=True)
def _(t):
    url, vault = t.device("laptop-7"), Vault(t.folder)
    t.device("laptop-8")
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    month = time.strftime("%Y_%m", time.gmtime())
    text = re.sub(r"## Several servers\n.*?(?=\n## |\Z)", "", page("fleet-admin.md"), flags=re.S)     # cases_shards_admin.py
    text += page("fleet-schema.md")
    blocks = re.findall(r"```postgresql\n(.*?)```", text, re.S)
    assert len(blocks) >= 3 and any("SELECT target" in b for b in blocks)
    for block in reversed(blocks):      # the query, then the removal
        for sql in filter(str.strip, block.replace("2026_01", month).split(";\n")):
            out = t.cluster.psql(sql)
            assert "SELECT target" not in sql or out == "echo\t3\t0\n\t1\t0", out
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages", "team_a") == "0"
    vault.record(texts(1))
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "4"


@case("compat: the tables and views of the store, and what ship status prints, are those of tests/compat/interface.txt")
def _(t):
    vault = Vault(t.folder)
    vault.record(texts(1))
    sent(vault.to(t.device(), "--once"))
    rows = t.cluster.psql("SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns"
                          " WHERE table_schema = 'mcp_interposer' AND table_name !~ '_([0-9]{4}_[0-9]{2}|other)$'")
    status = vault.command("ship", "status", "--json").stdout
    lines = {f"store {row}" for row in rows.splitlines()}
    lines |= {f"store status.{member} {interface.types_of(value)}" for member, value in json.loads(status.splitlines()[0]).items()}
    problems = interface.compare(lines, ["store"])
    assert not problems, "\n".join(problems + ["docs/stability.md says what stays; write what was added to tests/compat/interface.txt"])
