"""Months: partitions that are made, moved and dropped."""
import shutil
import subprocess

from cases import Skip, case, end, same, sent
from cluster import DEADLINE, wait_until
from vaults import Vault, lacks, texts

# Adds the seconds in a file to the clock.
LATER = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    int done = (int)syscall(SYS_clock_gettime, id, t);
    FILE *f = fopen(getenv("LATER"), "r");
    long seconds = 0;
    if (f != NULL && fscanf(f, "%ld", &seconds) == 1)
        t->tv_sec += seconds;
    if (f != NULL)
        fclose(f);
    return done;
}
"""
TABLES = ("messages", "events", "call_rows")
NEXT = "to_char(now() AT TIME ZONE 'UTC' + interval '{} months', '_YYYY_MM')"


def drop(t, month):
    """As if this month had never been made."""
    for table in TABLES:
        name = t.cluster.psql(f"SELECT '{table}' || {NEXT.format(month)}")
        t.cluster.psql(f"DROP TABLE mcp_interposer.{name}")


def has(t, month):
    return t.cluster.psql(f"SELECT count(to_regclass('mcp_interposer.' || x || {NEXT.format(month)})) "
                          f"FROM unnest(ARRAY{list(TABLES)}) AS x") == "3"


@case("months: a month that began without a partition gets one with the next init, and its rows are moved")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    drop(t, 0)
    sent(vault.to(url, "--once"))
    other = "SELECT " + ", ".join(f"(SELECT count(*) FROM mcp_interposer.{x}_other)" for x in TABLES)
    assert t.cluster.psql(other) == "8\t2\t4" and not has(t, 0)
    t.init()
    assert t.cluster.psql(other) == "0\t0\t0" and has(t, 0)
    same(t.cluster, vault)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    assert t.cluster.psql(other) == "0\t0\t0"
    same(t.cluster, vault)


@case("months: a shipper that runs for weeks makes the next ones")
def _(t):
    if not shutil.which("cc"):
        raise Skip("needs a compiler")
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    (t.folder / "later.c").write_text(LATER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", t.folder / "later.so", t.folder / "later.c"], check=True, timeout=DEADLINE)
    (t.folder / "seconds").write_text("0")
    plain = dict(vault.env)
    vault.env |= {"LD_PRELOAD": str(t.folder / "later.so"), "LATER": str(t.folder / "seconds")}
    shipper = vault.follow(url)
    vault.env = plain
    t.cleanups.append(shipper.kill)
    wait_until(lambda: not lacks(t.cluster, vault))
    drop(t, 2)
    (t.folder / "seconds").write_text("3700")
    vault.record(texts(1))
    wait_until(lambda: has(t, 2))
    wait_until(lambda: not lacks(t.cluster, vault))
    end(shipper)


@case("months: a long query delays no shipper, and its month is made later")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    drop(t, 2)
    query = subprocess.Popen([t.cluster.bin / "psql", "-X", "-q", "-d", t.cluster.url(), "-c",
                              "BEGIN; SELECT count(*) FROM mcp_interposer.messages; SELECT pg_sleep(36000)"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sleeps = "pg_stat_activity WHERE query ~ 'pg_slee[p]'"
    stop = f"SELECT pg_terminate_backend(pid) FROM {sleeps}"
    t.cleanups.append(lambda: t.cluster.psql(stop))
    wait_until(lambda: t.cluster.psql(f"SELECT count(*) FROM {sleeps}") == "1")
    sent(vault.to(url, "--once"))
    sent(vault.to(url, "--once"))
    assert query.poll() is None and not has(t, 2)
    same(t.cluster, vault)
    t.cluster.psql(stop)
    query.wait(DEADLINE)
    sent(vault.to(url, "--once"))
    assert not has(t, 2), "it tries every ten minutes"
    t.cluster.psql("UPDATE mcp_interposer.store SET partitions_at = now() - interval '11 minutes'")
    sent(vault.to(url, "--once"))
    assert has(t, 2)


@case("months: nothing of a dropped month is sent again, and no gap is reported")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(["tell", "sesame-opens", "sesame-" + "large" * 20_000])
    vault.record(texts(1))
    sent(vault.to(url, "--once"))
    drop(t, 0)
    vault.redact("[s]esame-[a-z]+")
    sent(vault.to(url, "--once"))
    rows = "SELECT count(*) FROM mcp_interposer.{}"
    assert [t.cluster.psql(rows.format(x)) for x in ("messages", "events", "call_rows", "pieces")] == ["0"] * 4
    assert vault.command("prune", "--keep-last", "1", "--yes").returncode == 0
    sent(vault.to(url, "--once"))
    assert t.cluster.psql(rows.format("events")) == "0"
