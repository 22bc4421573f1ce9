"""The central store of tests/ship/chaos, and what can happen to it: a primary and a standby, which change places; or several
such pairs, the shards, and a router."""
import os
import shutil
import subprocess
import time

from cluster import OUTAGE, Cluster, Middle, wait_until
from vaults import init

SMALL = {"max_wal_size": "64MB", "min_wal_size": "32MB", "wal_keep_size": "128MB", "max_connections": 120, "autovacuum": "on",
         "autovacuum_naptime": "10s"}
BALLAST = "ballast"


def small_disk(path, megabytes):
    """A file system of its own, for which root is needed. False: there is none."""
    path.mkdir()
    return os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", path],
                                                capture_output=True).returncode == 0


class Place:
    """Where a cluster can be: a disk, and a folder in which shippers find its socket, whatever cluster is there."""

    def __init__(self, root, name, megabytes):
        self.disk, self.number = root / name, 0
        self.small = small_disk(self.disk, megabytes)
        self.middle = Middle(None, root / f"{name}m")
        self.cluster = None

    def put(self, cluster):
        self.cluster = self.middle.cluster = cluster

    def folder(self):
        self.number += 1
        return self.disk / str(self.number)

    def clear(self):
        """Destroys the cluster that is here."""
        cluster, self.cluster, self.middle.cluster = self.cluster, None, None
        self.middle.cut()
        if cluster.runs():
            cluster.stop("immediate")
        shutil.rmtree(cluster.folder)

    def close(self):
        self.middle.close()
        if self.cluster and self.cluster.runs():
            self.cluster.stop("immediate")
        if self.small:
            subprocess.run(["umount", "-l", self.disk], check=True)

    # ---- what can happen ----

    def crash(self, seconds):
        self.cluster.stop("immediate")
        time.sleep(seconds)
        wait_until(self.revive, OUTAGE)

    def fill(self, seconds):
        """A full disk. The server may end, because it cannot write its log."""
        ballast = self.disk / BALLAST
        with ballast.open("wb", buffering=0) as f:
            try:
                while f.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass
            end = time.monotonic() + seconds
            while time.monotonic() < end:       # what the server frees meanwhile, too
                try:
                    f.write(bytes(1 << 12))
                except OSError:
                    time.sleep(0.1)
        ballast.unlink()
        wait_until(self.revive, OUTAGE)

    def revive(self):
        if not self.cluster.runs():
            try:
                self.cluster.start()
            except RuntimeError:
                return False
        return self.cluster.accepts()


class Pair:
    """A primary and an asynchronous standby."""

    def __init__(self, root, name="", megabytes=1500):
        self.root = root
        self.places = [Place(root, name + side, megabytes) for side in "ab"]
        self.first = 0          # the place of the primary

    def make(self, devices):
        self.make_empty()
        init(self.root, self.primary.cluster.url(), "--device", devices[0])
        for device in devices[1:]:
            self.primary.cluster.add_device(device)

    def make_empty(self):
        self.primary.put(Cluster(self.primary.folder(), more=lambda _: SMALL))
        self.add_standby()

    @property
    def primary(self):
        return self.places[self.first]

    @property
    def other(self):
        return self.places[1 - self.first]

    def add_standby(self):
        self.other.put(Cluster(self.other.folder(), more=lambda _: SMALL, standby_of=self.primary.cluster))
        wait_until(self.other.cluster.receives)

    def url(self, role):
        return self.primary.cluster.url(role, ",".join(str(p.middle.folder) for p in self.places))

    def psql(self, sql):
        return self.primary.cluster.psql(sql)

    def clusters(self):
        return [self.primary.cluster]

    def close(self):
        for place in self.places:
            place.close()

    # ---- what can happen: {name: function(dice)} ----

    def events(self):
        found = {"server killed": (4, lambda dice: self.primary.crash(dice.uniform(0, 3))),
                 "failover": (2, lambda dice: self.fail_over(dice.choice([0, 0.5, 2, 5]))),
                 "connections cut": (4, lambda dice: dice.choice(self.places).middle.cut())}
        if self.primary.small:
            found["full disk"] = (2, lambda dice: self.primary.fill(dice.uniform(1, 6)))
        return found

    def middles(self):
        return [p.middle for p in self.places]

    def fail_over(self, behind):
        """behind: seconds that the standby lacks."""
        if behind:
            self.other.cluster.stop_receiving()
            time.sleep(behind)
        self.primary.cluster.stop("immediate")
        self.other.cluster.promote()
        self.primary.clear()
        self.first = 1 - self.first
        self.add_standby()


class Shards:
    """A router, and shards behind it. The router's connections to a shard outlive its failover only if nothing is sent
    meanwhile; PL/Proxy then makes another one, which the shipper does not see."""

    def __init__(self, root, n):
        self.root = root
        self.router = Place(root, "r", 300)
        self.pairs = [Pair(root, f"s{i + 1}", 800) for i in range(n)]
        self.file = root / "shards"

    def make(self, devices):
        self.router.put(Cluster(self.router.folder(), more=lambda _: SMALL))
        for pair in self.pairs:
            pair.make_empty()
        self.file.write_text("".join(pair.url("admin") + "\n" for pair in self.pairs))
        init(self.root, self.router.cluster.url(), "--shards", self.file, "--device", devices[0])
        for cluster in (self.router.cluster, *self.clusters()):
            for device in devices[1:]:
                cluster.add_device(device)

    def url(self, role):
        return self.router.cluster.url(role, self.router.middle.folder)

    def psql(self, sql):
        return "\n".join(filter(None, (c.psql(sql) for c in self.clusters())))

    def clusters(self):
        return [pair.primary.cluster for pair in self.pairs]

    def middles(self):
        return [self.router.middle] + [m for pair in self.pairs for m in pair.middles()]

    def events(self):
        found = {"router killed": (2, lambda dice: self.router.crash(dice.uniform(0, 3))),
                 "router's connections cut": (3, lambda dice: self.router.middle.cut())}
        for name in self.pairs[0].events():
            weight = self.pairs[0].events()[name][0]
            found[f"shard: {name}"] = (weight, lambda dice, name=name: dice.choice(self.pairs).events()[name][1](dice))
        return found

    def close(self):
        for part in (self.router, *self.pairs):
            part.close()
