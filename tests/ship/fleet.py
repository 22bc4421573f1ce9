"""A store that is spread over several private clusters, behind a router."""
import functools
import os
import subprocess
from pathlib import Path

from cases import Skip, case, sent
from cluster import DEADLINE, NEAR, PORT, SAVED, Cluster, Middle
from vaults import SHIP, Vault, environment, texts

SETTINGS = {"shared_buffers": "16MB", "max_connections": 40}
_clusters = {}


def has_plproxy():
    return any(Path("/usr/share/postgresql").glob("*/extension/plproxy.control"))


def stop_all():
    while _clusters:
        _clusters.popitem()[1].stop("immediate")


def _cluster(root, name, months, store=False):
    """The same one for all cases, running, and as it was at save(): at first empty, or with an empty store. months: as of case()."""
    if name not in _clusters:
        _clusters[name] = Cluster(root / name, more=lambda c: SETTINGS, store=store)
        if not store:
            _clusters[name].save()
    c = _clusters[name]
    c.start_again()
    c.restore(NEAR if not months and NEAR in c.saved else SAVED)
    return c


class Fleet:
    """Passes for a cluster in differences(): psql() has the rows of all shards."""

    def __init__(self, root, folder, months, n=3):
        self.root, self.folder, self.months = root, folder, months
        self.router = _cluster(root, "router", months)
        self.shards = []
        self.file = folder / "shards"
        self._start(n, store=True)
        self.made = self.file.read_text()
        if not self.shards[0].psql("SELECT to_regclass('mcp_interposer.shard')"):
            self.init("--device", "laptop")
            self.router.save()
            for c in self.shards:
                c.save(SAVED if months else NEAR)

    def _start(self, n, store=False):
        self.shards += [_cluster(self.root, f"shard-{len(self.shards) + i + 1}", self.months, store) for i in range(n)]
        self.write(*(s.url() for s in self.shards))

    def add(self, n):
        self._start(n)
        self.init()

    def write(self, *lines):
        self.file.write_text("# the shards\n" + "\n".join(lines) + "\n")

    def try_init(self, *options):
        return subprocess.run([SHIP, "init", "--shards", self.file, *options, self.router.url()], env=environment(self.folder),
                              capture_output=True, text=True, timeout=DEADLINE)

    def init(self, *options):
        done = self.try_init(*options)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def device(self, name):
        """The first fleet has the device laptop, and each other one begins as its copy."""
        if name != "laptop" or self.file.read_text() != self.made:
            self.init("--device", name)
        return self.router.url(name)

    def psql(self, sql):
        return "\n".join(filter(None, (s.psql(sql) for s in self.shards)))

    def psql_sum(self, sql):
        return sum(map(int, self.psql(sql).split("\n")))

    def shard_of(self, vault):
        """Its number, from 1; only one shard has it."""
        has = [n for n, s in enumerate(self.shards, 1)
               if s.psql(f"SELECT 1 FROM mcp_interposer.vaults WHERE uid = '{vault.name()}'")]
        assert len(has) == 1, has
        assert self.router.psql(f"SELECT shard FROM mcp_interposer.placements WHERE vault = '{vault.name()}'") == str(has[0])
        return has[0]


class Part:
    """Some of the shards, for differences()."""

    def __init__(self, *shards):
        self.shards = shards

    psql = Fleet.psql


def shards(name, needs="server", months=False):
    """A case that gets a fleet with three shards. needs, months: as of case()."""
    def add(function):
        @functools.wraps(function)
        def run(t):
            if not has_plproxy():
                raise Skip("PL/Proxy is not installed (scripts/setup --check)")
            function(t, Fleet(t.folder.parent, t.folder, months))
        return case("shards: " + name, needs, months)(run)
    return add


def between(t, shard, name):
    """A Middle in front of a shard, for the router."""
    middle = Middle(shard, t.folder / name)
    t.cleanups.append(middle.close)
    os.chmod(middle.folder / f".s.PGSQL.{PORT}", 0o777)     # the router may run as another user
    return middle


def vaults_on(t, f, url, wanted, what=2):
    """{number: Vault}: a vault on each of these shards, sent to the router, while no other shard accepts new ones."""
    found = {}
    for n in wanted:
        f.router.psql(f"UPDATE mcp_interposer.shards SET accepts = n = {n}")
        found[n] = Vault(t.folder, f"v-{n}")
        found[n].record(texts(what))
        sent(found[n].to(url, "--once"))
        assert f.shard_of(found[n]) == n
    f.router.psql("UPDATE mcp_interposer.shards SET accepts = true")
    return found


def vaults_until(t, f, url, wanted):
    """As vaults_on(), and all shards accept new ones: vaults are made until these shards have one."""
    found = {}
    for n in range(100):
        vault = Vault(t.folder, f"v-{n}")
        vault.record(texts(2))
        sent(vault.to(url, "--once"))
        found.setdefault(f.shard_of(vault), vault)
        if set(wanted) <= set(found):
            return found
    raise AssertionError(f"a hundred vaults are on {sorted(found)} only")
