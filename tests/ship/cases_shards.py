"""Cases of tests/ship/run: sending to several shards behind a router."""
from cases import LONG, end, same, sent
from cases_sending import cut_off_at, everything_is_there, killed_at_every_call, moments
from cluster import OUTAGE, wait_until
from fleet import Part, between, shards, vaults_on, vaults_until
from vaults import Vault, lacks, texts


@shards("every message is stored once, each vault on one shard, and sending again writes nothing")
def _(t, f):
    url = f.device("laptop")
    found = vaults_until(t, f, url, (1, 2, 3))
    found[2].record(texts(1200, large=2))
    for vault in found.values():
        sent(vault.to(url, "--once"))
        same(f, vault)
    written = "SELECT sum(xmin::text::bigint) FROM mcp_interposer.messages"
    before = f.psql(written)
    for vault in found.values():
        sent(vault.to(url, "--once"))
    assert f.psql(written) == before, "rows were written again"


@shards("the shipper is killed at every call through the router, before and after it")
def _(t, f):
    url, vault = f.device("laptop"), Vault(t.folder)
    killed_at_every_call(t, f.router, vault, moments(2))
    sent(vault.to(url, "--once"))
    everything_is_there(f, vault)


@shards("the router is cut off from the shard at every call: sent again")
def _(t, f):
    middles = [between(t, s, f"m-{n}") for n, s in enumerate(f.shards)]
    f.write(*(s.url(folder=m.folder) for s, m in zip(f.shards, middles)))
    url = f.device("laptop")
    found = vaults_on(t, f, url, (1, 2, 3))
    cut_off_at(moments(0), [(vault, url, middles[n - 1]) for n, vault in found.items()], f)


@shards("one of them is killed and restarted under load: the others go on, and nothing is lost")
def _(t, f):
    url = f.device("laptop")
    found = vaults_on(t, f, url, (1, 2, 3))
    shippers = {n: v.follow(url) for n, v in found.items()}
    t.cleanups += [s.kill for s in shippers.values()]
    for n in range(3 if LONG else 1):
        for vault in found.values():
            vault.record(texts(100))
        f.shards[1].stop("immediate")
        for vault in found.values():
            vault.record(texts(20))
        others = [v for n, v in found.items() if n != 2]
        whole = Part(f.shards[0], f.shards[2])
        wait_until(lambda: not [x for v in others for x in lacks(whole, v)], OUTAGE)
        wait_until(lambda: "shard 2: " in found[2].command("ship", "status", "--json").stdout)
        f.shards[1].start()
        wait_until(lambda: not lacks(f, found[2]), OUTAGE)
    for s in shippers.values():
        end(s)
    for vault in found.values():
        same(f, vault)


@shards("a fourth is added: nothing moves, new vaults use it, and devices are on it")
def _(t, f):
    url = f.device("laptop")
    old = vaults_on(t, f, url, (1, 2, 3))
    f.add(1)
    for n, vault in old.items():
        vault.record(texts(2))
        sent(vault.to(url, "--once"))
        assert f.shard_of(vault) == n
        same(f, vault)
    (t.folder / "new").mkdir()
    t.folder /= "new"
    found = vaults_until(t, f, url, (4,))
    same(f, found[4])
    # a full shard is closed for new vaults, and keeps its own
    f.router.psql("UPDATE mcp_interposer.shards SET accepts = false WHERE n <> 2")
    for n in range(5):
        vault = Vault(t.folder, f"w-{n}")
        vault.record(texts(1))
        sent(vault.to(url, "--once"))
        assert f.shard_of(vault) == 2
    f.router.psql("UPDATE mcp_interposer.shards SET accepts = false")
    vault = Vault(t.folder, "none")
    vault.record(texts(1))
    assert "no shard accepts new vaults" in sent(vault.to(url, "--once"), 3)
    old[1].record(texts(2))
    sent(old[1].to(url, "--once"))
    same(f, old[1])


@shards("init while vaults are sent: it succeeds, and the shippers go on")
def _(t, f):
    url = f.device("laptop")
    vaults = [Vault(t.folder, f"v-{n}") for n in range(6)]
    for vault in vaults:
        vault.record(texts(3))
    shippers = [v.follow(url) for v in vaults]
    t.cleanups += [s.kill for s in shippers]
    for n in range(8 if LONG else 3):
        for vault in vaults:
            vault.record(texts(3))
        f.init()
    for vault in vaults:
        wait_until(lambda vault=vault: not lacks(f, vault), OUTAGE)
    for s in shippers:
        end(s)


@shards("errors of a shard are reported to the shipper with its number")
def _(t, f):
    url = f.device("laptop")
    vault = vaults_on(t, f, url, (1,))[1]
    f.shards[0].psql("UPDATE mcp_interposer.vaults SET leaves = leaves + 1")
    said = sent(vault.to(url, "--once"), 1)
    assert "rolled back" in said, said
    f.shards[0].psql("UPDATE mcp_interposer.vaults SET leaves = leaves - 1")
    f.shards[0].psql("UPDATE mcp_interposer.store SET version = 0")
    said = sent(vault.to(url, "--once"), 3)
    assert "shard 1: its schema has version 0, and the router needs 2: run ship init --shards" in said, said
    f.init()
    sent(vault.to(url, "--once"))
    # a shard that takes nothing is tried again later
    f.shards[0].psql("ALTER ROLE laptop SET default_transaction_read_only = on")
    vault.record(texts(2))
    said = sent(vault.to(url, "--once"), 3)
    assert "shard 1: " in said and "read-only" in said, said
    f.shards[0].psql("ALTER ROLE laptop RESET default_transaction_read_only")
    sent(vault.to(url, "--once"))
    same(f, vault)
    # a role that a shard does not know
    f.router.psql("SELECT mcp_interposer.add_device('stranger')")
    other = Vault(t.folder, "other")
    other.record(texts(1))
    said = sent(other.to(f.router.url("stranger"), "--once"), 3)
    assert 'role "stranger" does not exist' in said and "shard " in said, said
    f.init()        # makes it there
    sent(other.to(f.router.url("stranger"), "--once"))
    same(f, other)
