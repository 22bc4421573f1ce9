"""Cases of tests/ship/run: what is sent, and what interrupts it."""
import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from cases import LONG, Skip, case, end, same, sent
from cluster import CALLS, DEADLINE, OUTAGE, Middle, kill, wait_until
from vaults import PATIENT, SHIP, Vault, differences, exchange, lacks, lines, texts

WHEN = ("before", "after", "cut")       # of Middle.interrupt()


def moments(n, calls=CALLS):
    """Every call, interrupted at every moment; without TEST_LONG=1 at one of them. Three n have all."""
    if LONG:
        return [(call, when) for call in calls for when in WHEN]
    return [(call, WHEN[(n + i) % 3]) for i, call in enumerate(calls)]


def record_for(call, vault):
    """What makes a shipper use this one of CALLS."""
    vault.record([*texts(2, large=1, size=70_000), "sesame-opens"])
    if call == "put_replaced":
        vault.redact("[s]esame-[a-z]+")
    if call == "put_checkpoints":
        vault.checkpoint()


def everything_is_there(cluster, *vaults):
    """Of all vaults that have redactions or checkpoints."""
    for vault in vaults:
        same(cluster, vault)
    for table in ("replaced", "checkpoints"):
        there = cluster.psql(f"SELECT count(*) FROM mcp_interposer.{table}").split("\n")
        assert sum(map(int, there)) == sum(len(v.rows(f"SELECT 1 FROM {table}")) for v in vaults) > 0, table


@case("every message is stored once, and sending again writes nothing")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(40, large=2))
    vault.record(texts(1200))        # more than two batches of rows
    vault.record(texts(400, large=400, size=30_000))        # and of bytes
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    before = t.cluster.psql("SELECT sum(xmin::text::bigint) FROM mcp_interposer.messages")
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
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
        exchange(live, line)
        wait_until(lambda n=n: t.cluster.psql(count) == str(2 * n))
    live.stdin.close()
    live.wait(DEADLINE)
    wait_until(lambda: t.cluster.psql("SELECT end_reason FROM mcp_interposer.sessions WHERE name = 'live'") == "client-closed")
    wait_until(lambda: not lacks(t.cluster, vault))
    end(shipper)


def killed_at_every_call(t, cluster, vault, moments):
    """Shippers to this cluster, each of which is killed at another call; after the last of them, not everything is sent."""
    middle = Middle(cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    through = cluster.url("laptop", middle.folder)
    for call, when in moments:
        record_for(call, vault)
        shipper = []
        middle.interrupt(call, when, kill(shipper))
        shipper.append(vault.follow(through, "--once"))
        assert shipper[0].wait(DEADLINE) == -signal.SIGKILL, f"{call} was not called"


@case("the shipper is killed at every call, before and after it")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    killed_at_every_call(t, t.cluster, vault, moments(0))
    sent(vault.to(url, "--once"))
    everything_is_there(t.cluster, vault)


def cut_off_at(moments, ways, cluster):
    """A shipper for each of these moments, whose connection ends then. ways: (Vault, its URL, the Middle in between), which share
    the moments, because a shipper waits before it sends again."""
    def run(n):
        vault, url, middle = ways[n]
        for call, when in moments[n::len(ways)]:
            record_for(call, vault)
            middle.interrupt(call, when)
            sent(vault.to(url, "--once", *PATIENT))
            assert not middle.plan, f"{call} was not called"
            same(cluster, vault)
    with ThreadPoolExecutor(len(ways)) as pool:
        for done in [pool.submit(run, n) for n in range(len(ways))]:
            done.result()
    everything_is_there(cluster, *(vault for vault, _, _ in ways))


@case("a connection that ends before, after and within an answer: sent again")
def _(t):
    t.device()
    ways = []
    for n in range(3):
        middle = Middle(t.cluster, t.folder / f"m-{n}")
        t.cleanups.append(middle.close)
        ways.append((Vault(t.folder, f"v-{n}"), t.cluster.url("laptop", middle.folder), middle))
    cut_off_at(moments(1), ways, t.cluster)


@case("a shipper that is killed at random while a session goes on")
def _(t):
    url, vault, dice = t.device(), Vault(t.folder), random.Random(18)
    vault.record(texts(1))
    live = vault.live()
    t.cleanups.append(live.kill)
    for line in lines(texts(60)).splitlines():
        exchange(live, line)
        if dice.random() < 0.5:
            shipper = vault.follow(url)
            try:
                shipper.wait(dice.random() * 0.06)
            except subprocess.TimeoutExpired:
                pass
            shipper.kill()
            shipper.wait(DEADLINE)
    live.stdin.close()
    live.wait(DEADLINE)
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)


@case("the server crashes and starts again while it receives")
def _(t):
    t.device()
    vault = Vault(t.folder)
    for n in range(3):
        vault.record(texts(300))
    middle, crashes = Middle(t.cluster, t.folder / "m"), []
    t.cleanups.append(middle.close)

    def crash():
        t.cluster.stop("immediate")
        t.cluster.start()
        crashes.append(1)
    middle.interrupt("put_messages", "during", crash)
    shipper = vault.follow(t.cluster.url("laptop", middle.folder))
    t.cleanups.append(shipper.kill)
    times = 4 if LONG else 2
    for n in range(1, times):
        wait_until(lambda n=n: len(crashes) == n, OUTAGE)
        middle.interrupt("put_messages", "during", crash)
        vault.record(texts(20))
    wait_until(lambda: len(crashes) == times, OUTAGE)
    wait_until(lambda: not lacks(t.cluster, vault), OUTAGE)
    end(shipper)


@case("the store lost its last transactions: they are sent again")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(30))
    sent(vault.to(url, "--once"))
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    # as after a failover to a standby that lacked them
    t.cluster.psql(f"DELETE FROM mcp_interposer.messages WHERE session_uid = '{uid}' AND seq > 20;"
                   f"DELETE FROM mcp_interposer.events WHERE session_uid = '{uid}' AND id > 1;"
                   f"UPDATE mcp_interposer.sessions SET seq = 20, event = 1, row_hash = 0, ended_at_us = NULL, "
                   "end_salt = NULL, end_commitment = NULL, tree = NULL, records = NULL")
    assert differences(t.cluster, vault)
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)


@case("a read-only server: nothing is lost, and the error is reported")
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
    same(t.cluster, vault)


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
    same(t.cluster, vault)


@case("a second shipper of a vault exits and names the first")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: not lacks(t.cluster, vault))
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
        end(s)


@case("twenty vaults at once")
def _(t):
    vaults = []
    for n in range(20):
        (t.folder / f"h{n}").mkdir()
        vaults.append((Vault(t.folder / f"h{n}"), t.device(f"device-{n}")))
        vaults[-1][0].record(texts(20))
    running = [v.follow(url, "--once", *PATIENT) for v, url in vaults]
    for r in running:
        assert r.wait(DEADLINE) == 0, r.said.read_text()
    for v, _ in vaults:
        same(t.cluster, v)


@case("minimal: no bodies leave the machine, and an option cannot change that")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3, large=1))
    config = t.folder / "config.ini"
    config.write_text(f"[ship]\nurl = {url}\nlevel = minimal\n")
    sent(vault.to(url, "--once", "--config", str(config), "--level", "full"), 2)
    done = subprocess.run([SHIP, "to", "--once", "--vault", vault.path, "--config", config], capture_output=True, text=True,
                          env=vault.env, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert t.cluster.psql("SELECT count(body), count(*), max(size) > 2000000 FROM mcp_interposer.messages") == "0\t8\tt"
    row = "SELECT shipped_level, json_array_length(command::json), redact_rules IS NULL FROM mcp_interposer.sessions"
    assert len(json.loads(vault.rows("SELECT command FROM sessions")[0][0])) == 3
    assert t.cluster.psql(row) == "minimal\t1\tt"
    # with another level, what was sent stays as it is
    vault.record(texts(1))
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT shipped_level, json_array_length(command::json), count(body) FROM mcp_interposer.sessions "
                          "JOIN mcp_interposer.messages ON session_uid = uid GROUP BY uid ORDER BY uid") == "minimal\t1\t0\nfull\t3\t4"
