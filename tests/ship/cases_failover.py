"""A primary with an asynchronous standby, which is promoted."""
import itertools
import json
import os
import re
import socket
import threading
import time

from cases import Skip, case, end, page, same, sent
from cluster import DEADLINE, OUTAGE, PORT, Cluster, serve, wait_until
from fleet import has_plproxy
from vaults import Vault, each_line, exchange, init, lacks, lines, texts

HOUR_US = 3_600_000_000


class Pair:
    """Two clusters; `url` names both, and the one that can be written is used."""

    def __init__(self, t, device="laptop"):
        self.first = Cluster(t.folder / "a", store=True)
        t.cleanups.append(lambda: self.first.stop("immediate") if self.first else None)
        self.first.add_device(device)
        self.second = Cluster(t.folder / "b", standby_of=self.first)
        t.cleanups.append(lambda: self.second.stop("immediate"))
        wait_until(self.second.receives)
        self.url = self.first.url(device, f"{self.first.folder},{self.second.folder}")

    def fail_over(self):
        self.first.stop("immediate")
        self.first = None
        self.second.promote()


class Pooler:
    """As pgbouncer: passes each connection on to `cluster`, and goes on with another cluster when this one has ended it."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        folder.mkdir()
        self.moved = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / f".s.PGSQL.{PORT}"))
        self.listener.listen(50)
        serve(self.listener, self.keep)

    def keep(self, near):
        try:
            self.connection(near)
        except OSError:
            pass
        near.close()

    def server(self, startup):
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(self.cluster.folder / f".s.PGSQL.{PORT}"))
        far.sendall(startup)
        return far, self.answer(far)

    @staticmethod
    def answer(far):
        """Up to ReadyForQuery."""
        got = b""
        while not got[-6:-1] == b"Z\0\0\0\x05":
            data = far.recv(1 << 16)
            if not data:
                raise ConnectionError
            got += data
        return got

    def connection(self, near):
        startup = near.recv(1 << 16)
        far, got = self.server(startup)
        near.sendall(got)
        used = self.cluster
        while (data := near.recv(1 << 16)) and data[:1] != b"X":
            # Sync or Query is the end of a request
            while data[-5:] != b"S\0\0\0\x04" and data[:1] != b"Q":
                data += near.recv(1 << 16)
            if used is not self.cluster:
                far.close()
                far, used = self.server(startup)[0], self.cluster
                self.moved += 1
            far.sendall(data)
            near.sendall(self.answer(far))
        far.close()


class Load:
    """A session that goes on until stop()."""

    def __init__(self, t, vault):
        self.process, self.n, self.ending = vault.live(), 0, False
        t.cleanups.append(self.process.kill)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        for line in each_line(f"{i} " + "x" * (i % 7 * 100) for i in itertools.count()):
            if self.ending:
                break
            exchange(self.process, line)
            self.n += 1
            time.sleep(0.005)

    def stop(self):
        self.ending = True
        self.thread.join(DEADLINE)
        assert not self.thread.is_alive(), "the session does not answer"
        self.process.stdin.close()
        assert self.process.wait(DEADLINE) == 0


def count(cluster):
    return int(cluster.psql("SELECT count(*) FROM mcp_interposer.messages"))


@case("failover: the primary is killed under load, and the shipper goes on with the standby", needs="server")
def _(t):
    pair, vault = Pair(t), Vault(t.folder)
    vault.record(texts(500, large=2))
    shipper = vault.follow(pair.url)
    t.cleanups.append(shipper.kill)
    load = Load(t, vault)
    wait_until(lambda: count(pair.first) > 1100)
    pair.fail_over()
    before, at = count(pair.second), load.n
    assert before > 0
    wait_until(lambda: load.n > at + 100)
    load.stop()
    wait_until(lambda: not lacks(pair.second, vault), OUTAGE)
    assert count(pair.second) > before
    end(shipper)


@case("failover: what the standby lacked is sent again, although nothing new is recorded", needs="server")
def _(t):
    pair, vault = Pair(t), Vault(t.folder)
    vault.record(["one", "sesame-opens"])
    live = vault.live()
    t.cleanups.append(live.kill)
    said = lines(texts(40)).splitlines()
    exchange(live, *said[:10])
    shipper = vault.follow(pair.url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: count(pair.second) == 26)
    pair.second.stop_receiving()
    # the next session, the end of the open one, and a redaction are on the primary only
    exchange(live, *said[10:])
    live.stdin.close()
    live.wait(DEADLINE)
    vault.record(texts(30))
    vault.redact("[s]esame-[a-z]+")
    wait_until(lambda: not lacks(pair.first, vault))
    wait_until(lambda: len(vault.rows("SELECT 1 FROM shipped WHERE complete")) == 3)
    leaves = "SELECT leaves FROM mcp_interposer.vaults"
    assert int(pair.second.psql(leaves)) < int(pair.first.psql(leaves)) == len(vault.rows("SELECT 1 FROM leaves"))
    # the shipper waits for one second after it has sent something, and then for the vault to change
    wait_until(lambda: time.time_ns() // 1000 > vault.rows("SELECT max(sent_at_us) FROM ship_targets")[0][0] + 3_000_000)
    pair.fail_over()
    assert count(pair.second) == 26
    wait_until(lambda: not lacks(pair.second, vault), OUTAGE)
    assert "sesame-" not in pair.second.psql("SELECT string_agg(body, ' ') FROM mcp_interposer.messages")
    end(shipper)


@case("failover: prune keeps what was sent again for an hour, and what the store was not asked about since", needs="server")
def _(t):
    pair, vault = Pair(t), Vault(t.folder)
    for _ in range(3):
        vault.record(texts(1))
    (t.folder / "mcp-interposer").mkdir()
    (t.folder / "mcp-interposer/config.ini").write_text(f"[ship]\nurl = {pair.url}\n")
    vault.env["XDG_CONFIG_HOME"] = str(t.folder)

    def later(what, hours=1):
        """As if so many hours had passed."""
        for table, column in what:
            vault.change(f"UPDATE {table} SET {column} = {column} - ?", hours * HOUR_US)

    def kept():
        done = vault.command("prune", "--keep-last", "1", "--dry-run")
        return "2 sessions kept" in done.stderr
    pair.second.stop_receiving()
    sent(vault.to(pair.url, "--once"))
    assert kept()
    later([("shipped", "at_us"), ("ship_targets", "sent_at_us")], 2)
    assert kept()               # for two hours the store was not asked whether it still has them
    sent(vault.to(pair.url, "--once"))
    assert not kept()
    pair.fail_over()
    sent(vault.to(pair.url, "--once"))
    same(pair.second, vault)
    assert kept()               # they were sent again just now
    later([("shipped", "at_us")])
    sent(vault.to(pair.url, "--once"))
    assert not kept()


def outlives(t, pair, vault, url, take_over):
    """A session goes on while a shipper sends it to `url`; then the standby, which lacks a part, takes over: that leaves no gap."""
    vault.record(texts(1))
    live = vault.live()
    t.cleanups.append(live.kill)
    said = lines(texts(40)).splitlines()
    exchange(live, *said[:10])
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: count(pair.second) == 24)
    pair.second.stop_receiving()
    exchange(live, *said[10:20])
    wait_until(lambda: count(pair.first) == 44)
    take_over()
    exchange(live, *said[20:])
    live.stdin.close()
    live.wait(DEADLINE)
    wait_until(lambda: not lacks(pair.second, vault), OUTAGE)
    end(shipper)


@case("failover: a connection that outlives it, through a pooler, leaves no gap", needs="server")
def _(t):
    pair, vault = Pair(t), Vault(t.folder)
    pooler = Pooler(pair.first, t.folder / "pool")
    t.cleanups.append(pooler.listener.close)

    def take_over():
        pooler.cluster = pair.second
        pair.fail_over()
    outlives(t, pair, vault, pair.first.url("laptop", pooler.folder), take_over)
    assert pooler.moved == 1


@case("failover: a host that does not answer does not keep the next one from being used")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    silent = socket.socket(socket.AF_UNIX)
    t.cleanups.append(silent.close)
    (t.folder / "silent").mkdir()
    silent.bind(str(t.folder / f"silent/.s.PGSQL.{PORT}"))
    silent.listen(5)
    vault.record(texts(3))
    both = t.cluster.url("laptop", f"{t.folder}/silent,{t.cluster.folder}") + "&connect_timeout=1"
    sent(vault.to(both, "--once"))
    same(t.cluster, vault)
    said = sent(vault.to(t.cluster.url("laptop", f"{t.folder}/silent,{t.folder}/none") + "&connect_timeout=1", "--once"), 3)
    assert "silent" in said and "none" in said, said
    status = [json.loads(x) for x in vault.command("ship", "status", "--json").stdout.splitlines()]
    assert len(status) == 2 and url, status


@case("docs/fleet-admin.md: the commands for a standby, and for its promotion", needs="server")
def _(t):
    section = page("fleet-admin.md").split("\n## Failover")[1].split("\n## ")[0]
    commands = [line for block in re.findall(r"```sh\n(.*?)```", section, re.S) for line in block.splitlines()]
    first, second = Cluster(t.folder / "a"), t.folder / "b"
    t.cleanups.append(lambda: first.stop("immediate"))
    init(t.folder, first.url(), "--device", "laptop-7")
    first.psql("CREATE ROLE replicator LOGIN REPLICATION")
    second.mkdir()
    if first.user:
        os.chown(second, first.user.pw_uid, first.user.pw_gid)

    def run(start):
        """The command that begins so, as the account of the server, with folders in the place of hosts."""
        command = next(c for c in commands if c.startswith(start))
        command = command.replace("/srv/fleet", str(second)).replace("db1.example", str(first.folder))
        first.run("/bin/sh", "-ec", f"PATH={first.bin}:$PATH; {command} >{second}/said 2>&1")
    run("pg_basebackup")
    with (second / "data/postgresql.conf").open("a") as f:
        f.write(f"unix_socket_directories = '{second}'\n")
    t.cleanups.append(lambda: first.run("pg_ctl", "-D", second / "data", "-m", "immediate", "stop"))
    run("pg_ctl -D /srv/fleet/data -l")
    url = next(c for c in commands if "ship to" in c).split()[-1].replace("/fleet", "/postgres")
    for host, folder in (("db1.example", first.folder), ("db2.example", second)):
        url = url.replace(host, str(folder).replace("/", "%2F"))
    vault = Vault(t.folder)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    same(first, vault)
    first.stop("immediate")
    t.cleanups.pop(0)
    run("pg_ctl -D /srv/fleet/data -w promote")
    vault.record(texts(5))
    sent(vault.to(url, "--once"))
    first.folder = second           # psql
    same(first, vault)


@case("failover: of a shard behind a router, whose connection to the shipper does not end", needs="server")
def _(t):
    if not has_plproxy():
        raise Skip("PL/Proxy is not installed (scripts/setup --check)")
    pair, vault = Pair(t), Vault(t.folder)
    router = Cluster(t.folder / "router")
    t.cleanups.append(lambda: router.stop("immediate"))
    (t.folder / "shards").write_text(pair.first.url(folder=f"{pair.first.folder},{pair.second.folder}") + "\n")
    init(t.folder, router.url(), "--shards", t.folder / "shards", "--device", "laptop")
    outlives(t, pair, vault, router.url("laptop"), pair.fail_over)
