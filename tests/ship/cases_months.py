"""Months: partitions that are made, moved and dropped."""
from cases import case, same, sent
from vaults import Vault, texts

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


@case("months: a month that began without a partition gets one with the next init, and its rows are moved", months=True)
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


@case("months: without a partition for the next one, each shipper says who makes it", months=True)
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1))
    assert "partition" not in sent(vault.to(url, "--once"))
    drop(t, 1)
    said = sent(vault.to(url, "--once"))
    assert "no partition for the next month: its administrator runs ship init" in said, said
    assert not has(t, 1)
    t.init()
    assert has(t, 1) and "partition" not in sent(vault.to(url, "--once"))


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
