"""The central store of scripts/demo-fleet: one server, one with a standby, or several behind a router."""
import time

from cluster import Cluster, wait_until
from vaults import init


class Centre:
    """One server. say(): prints a line."""
    hosts = "db1"

    def __init__(self, root, say):
        self.root, self.say, self.clusters = root, say, {}

    def add(self, name, **more):
        self.clusters[name] = Cluster(self.root / name, **more)
        return self.clusters[name]

    def close(self):
        for cluster in self.clusters.values():
            cluster.stop("immediate")

    def make(self):
        self.add("db1")
        self.say("db1. No TCP port, and not the server of the system.")

    def init(self, *options):
        init(self.root, self.entrance().url(), *options)

    def device(self, name):
        self.init("--device", name)
        self.say(f"mcp-interposer ship init --device {name} postgresql://admin@{self.hosts}/fleet")

    def reader(self, name):
        for cluster in {self.entrance(), *self.holders()}:
            cluster.psql(f"CREATE ROLE {name} LOGIN IN ROLE mcp_interposer_reader")

    def entrance(self):
        """The cluster to which shippers connect."""
        return self.clusters["db1"]

    def holders(self):
        """The clusters that have rows."""
        return [self.entrance()]

    def url(self, role):
        return self.entrance().url(role)

    def psql(self, sql):
        return "\n".join(filter(None, (c.psql(sql) for c in self.holders())))

    def sum(self, sql):
        return sum(map(int, self.psql(sql).split()))

    def interrupt(self, _wait):
        """wait(): until more has arrived."""
        self.crash("db1", "The server")

    def crash(self, name, what):
        self.clusters[name].stop("immediate")
        self.say(f"{what} is killed (immediate stop), and started again after 2 s.")
        time.sleep(2)
        self.clusters[name].start()


class Standby(Centre):
    hosts = "db1,db2"

    def make(self):
        self.first = self.add("db1")
        self.second = self.add("db2", standby_of=self.first)
        self.folders = f"{self.first.folder},{self.second.folder}"
        wait_until(self.second.receives)
        self.say("db1, and db2, a standby that follows it. No TCP port, not the system's.")

    def entrance(self):
        return self.clusters.get("db1") or self.second

    def url(self, role):
        return self.entrance().url(role, self.folders)

    def interrupt(self, wait):
        count = "SELECT count(*) FROM mcp_interposer.messages"
        self.second.stop_receiving()
        self.say("db2 is cut off from db1. The laptops go on sending to db1.")
        wait()
        lost = self.sum(count)
        self.first.stop("immediate")
        del self.clusters["db1"]
        self.second.promote()
        lost -= self.sum(count)
        if lost <= 0:
            raise RuntimeError("the standby has everything: nothing is shown by that")
        self.say(f"db1 is killed, and db2 promoted: it lacks {lost:,} messages that had arrived.")


class Shards(Centre):
    hosts = "router"

    def __init__(self, root, say, n):
        super().__init__(root, say)
        self.names, self.file = [f"db{i + 1}" for i in range(n)], root / "shards"

    def make(self):
        self.add("router")
        self.file.write_text("".join(self.add(name).url() + "\n" for name in self.names))
        self.say(f"A router with PL/Proxy, and the shards {', '.join(self.names)}. No TCP ports.")

    def init(self, *options):
        super().init("--shards", self.file, *options)

    def device(self, name):
        self.init("--device", name)
        self.say(f"mcp-interposer ship init --shards shards --device {name} \\\n    postgresql://admin@router/fleet")

    def entrance(self):
        return self.clusters["router"]

    def holders(self):
        return [self.clusters[name] for name in self.names]

    def interrupt(self, wait):
        name = max(self.names, key=lambda n: int(self.clusters[n].psql("SELECT count(*) FROM mcp_interposer.messages")))
        self.crash(name, f"The shard {name}")
        wait()
        self.crash("router", "The router")
