"""Faults of the machine, of the vault and of programs that run at the same time."""
import re
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

from cases import Skip, case, end, same, sent
from cluster import DEADLINE, OUTAGE, Middle, wait_until
from vaults import PATIENT, Vault, lacks, texts

# Fails to write the write-ahead log to the disk.
NO_SYNC = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int refuse(int fd)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n > 4 && memcmp(path + n - 4, "-wal", 4) == 0)
        errno = EIO;
    return n > 4 && memcmp(path + n - 4, "-wal", 4) == 0 ? -1 : 0;
}
int fsync(int fd) { return refuse(fd); }
int fdatasync(int fd) { return refuse(fd); }
"""


@case("only what is on the disk is sent: a power failure does not make the vault older than the store")
def _(t):
    if not shutil.which("cc"):
        raise Skip("needs a compiler")
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    (t.folder / "sync.c").write_text(NO_SYNC)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", t.folder / "sync.so", t.folder / "sync.c"], check=True, timeout=DEADLINE)
    plain = dict(vault.env)
    keep = sqlite3.connect(vault.path / "interposer.db")       # so that nobody moves the log into the database
    keep.execute("SELECT * FROM sessions").fetchall()
    vault.change("UPDATE sessions SET server_version = '2'")
    vault.env["LD_PRELOAD"] = str(t.folder / "sync.so")
    said = sent(vault.to(url, "--once"), 3)
    assert "I/O error" in said, said
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.vaults") == "0"
    vault.env = plain
    sent(vault.to(url, "--once"))
    keep.close()
    same(t.cluster, vault)


@case("a leaf that is missing in the middle of the log is refused")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    vault.record(texts(1))
    sent(vault.to(url, "--once"))
    vault.change("DELETE FROM leaves WHERE n = 2")
    assert "rolled back" in sent(vault.to(url, "--once"), 1)


@case("many large bodies: a call has a few MiB of them, or one")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(12, large=12, size=900_000))
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    most = int(t.cluster.psql("SELECT max(bytes) FROM (SELECT sum(length(body)) AS bytes FROM mcp_interposer.messages "
                              "GROUP BY xmin::text) AS calls"))
    assert most < 6 << 20, most


@case("large bodies that a power failure has damaged: their messages arrive without them")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    for _ in range(3):
        vault.record(texts(2, large=1, size=90_000))
    gone, zeros, whole = (vault.path / "Bodies" / uid for uid, in vault.rows("SELECT uid FROM sessions ORDER BY id"))
    gone.unlink()
    zeros.write_bytes(bytes(zeros.stat().st_size))
    said = sent(vault.to(url, "--once"))
    assert gone.name in said and "without" in said, said
    count = "SELECT count(*), count(body) FROM mcp_interposer.messages WHERE session_uid = '{}'"
    assert t.cluster.psql(count.format(gone.name)) == "6\t4"
    assert t.cluster.psql(count.format(zeros.name)) == "6\t4"
    assert t.cluster.psql(count.format(whole.name)) == "6\t6"
    sent(vault.to(url, "--once"))


@case("a session that is redacted while it is sent arrives")
def _(t):
    t.device()
    vault = Vault(t.folder)
    for _ in range(3):
        vault.record(["tell", "sesame-opens"])
    # so long that each session is a call of its own
    vault.change("UPDATE sessions SET command = '[\"' || printf('%.*c', 3000000, 'x') || '\", \"sesame-word\"]'")
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    through = t.cluster.url("laptop", middle.folder)
    sent(vault.to(through, "--once"))
    t.cluster.psql("UPDATE mcp_interposer.sessions SET row_hash = 0")
    middle.interrupt("put_sessions", "during", lambda: vault.redact("[s]esame-[a-z]+"))
    sent(vault.to(through, "--once"))
    assert not middle.plan
    sent(vault.to(through, "--once"))
    assert len(vault.rows("SELECT 1 FROM replaced WHERE record = 'session'")) == 3
    same(t.cluster, vault)
    assert "sesame-" not in t.cluster.psql("SELECT string_agg(command || body, ' ') FROM mcp_interposer.sessions "
                                           "JOIN mcp_interposer.messages ON session_uid = uid")


@case("a session that was redacted is kept until the redaction has been sent for an hour")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(["tell", "sesame-opens"])
    vault.record(["more"])
    sent(vault.to(url, "--once"))
    config = t.folder / "rules.ini"
    config.write_text(f"[ship]\nurl = {url}\n")
    prune = ("prune", "--keep-last", "1", "--yes", "--config", config)
    hour_ago = "UPDATE shipped SET at_us = at_us - 3600000000"
    vault.change(hour_ago)
    vault.redact("[s]esame-[a-z]+")
    assert "1 session" in vault.command(*prune).stderr
    assert vault.command("ship", "status").returncode == 1
    sent(vault.to(url, "--once"))
    assert vault.command("ship", "status").returncode == 0
    assert "1 session" in vault.command(*prune).stderr
    vault.change(hour_ago)
    assert vault.command(*prune).returncode == 0
    assert len(vault.rows("SELECT 1 FROM sessions")) == 1
    sent(vault.to(url, "--once"))
    assert "sesame-" not in t.cluster.psql("SELECT string_agg(body, ' ') FROM mcp_interposer.messages")


@case("a session is complete for prune only when its end is stored")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    through = t.cluster.url("laptop", middle.folder)
    sent(vault.to(through, "--once"))
    t.cluster.psql("UPDATE mcp_interposer.sessions SET ended_at_us = NULL, row_hash = 0")
    middle.interrupt("put_sessions", "before")
    sent(vault.to(through, "--once"), 3)
    assert vault.rows("SELECT complete FROM shipped WHERE target = ?", through) == [(0,)]
    sent(vault.to(through, "--once"))
    assert vault.rows("SELECT complete FROM shipped WHERE target = ?", through) == [(1,)]


@case("cursors that could not be saved, because the vault was locked, are saved later")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    db = sqlite3.connect(vault.path / "interposer.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: not lacks(t.cluster, vault))

    def switches():
        return re.search(r"^voluntary_ctxt_switches:.*", Path(f"/proc/{shipper.pid}/status").read_text(), re.M)[0]
    # Who waits for a lock tries again ten times a second. Then the shipper rests for a second: no moment of it may be missed.
    before, end_s = None, time.monotonic() + OUTAGE
    while before != (before := switches()):
        assert time.monotonic() < end_s, f"it does not rest: {before}"
        time.sleep(0.4)
    assert shipper.poll() is None and not vault.rows("SELECT 1 FROM shipped")
    db.execute("ROLLBACK")
    db.close()
    wait_until(lambda: vault.rows("SELECT complete FROM shipped") == [(1,)], OUTAGE)
    end(shipper)


@case("--once ends although messages keep arriving")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    rounds = []

    def more():
        rounds.append(1)
        assert len(rounds) < 5, "it goes on as long as there is something new"
        vault.record(texts(1))
        middle.interrupt("put_events", "during", more)
    middle.interrupt("put_events", "during", more)
    sent(vault.to(t.cluster.url("laptop", middle.folder), "--once"))
    assert rounds
    middle.plan = None
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)


@case("more shippers than connections: those that are refused try again")
def _(t):
    vaults = []
    for n in range(12):
        (t.folder / f"h{n}").mkdir()
        vaults.append(Vault(t.folder / f"h{n}"))
        vaults[-1].record(texts(2))
    url = t.device()
    t.cluster.psql("ALTER ROLE laptop CONNECTION LIMIT 2")
    running = [v.follow(url, "--once", *PATIENT) for v in vaults]
    for r in running:
        assert r.wait(DEADLINE) == 0, r.said.read_text()
    t.cluster.psql("ALTER ROLE laptop CONNECTION LIMIT -1")
    assert any("too many connections" in r.said.read_text() for r in running)
    for v in vaults:
        same(t.cluster, v)
