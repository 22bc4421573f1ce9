"""What scripts/demo-fleet shows, when everything is installed and built."""
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import Cluster, programs, wait_until
from recorder import Ended, Recorder
from vaults import SHIP, differences, here, there

STEPS = 400         # messages between two things that go wrong


class Failed(Exception):
    pass


def say(*text):
    print(*text, flush=True)


def title(text):
    say(f"\n--- {text}\n")


def number(n):
    return f"{n:,}"


class Laptop(Recorder):
    words = ["the", "quick", "brown", "fox", "sends", "mail", "to", "ada", "and", "counts", "words", "again"]

    def call(self):
        text = " ".join(self.dice.choices(self.words, k=self.dice.randrange(3, 60)))
        if self.dice.random() < 0.5:
            return {"name": "count_words", "arguments": {"text": text}}
        to = self.dice.choice(["ada@example.com", "nobody"])
        return {"name": "send_email", "arguments": {"to": to, "subject": "Hello", "body": text}}


class Demo:
    def __init__(self, root, failover):
        self.root, self.failover = root, failover
        self.clusters, self.laptops = [], []

    def close(self):
        for laptop in self.laptops:
            laptop.close()
        for cluster in self.clusters:
            cluster.stop("immediate")

    def arrived(self, laptop=None):
        """Messages at the centre, of all or of one."""
        where = f" WHERE session_uid IN (SELECT uid FROM mcp_interposer.sessions WHERE vault = '{laptop.vault.name()}')" if laptop else ""
        return int(self.store.psql("SELECT count(*) FROM mcp_interposer.messages" + where))

    def wait(self, what, seconds=120):
        end = time.monotonic() + seconds
        while not what():
            for laptop in self.laptops:
                laptop.check()
            if time.monotonic() > end:
                raise Failed(f"waited longer than {seconds} s")
            time.sleep(0.05)

    # ---- the parts ----

    def make_store(self):
        version = subprocess.run([programs() / "postgres", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
        if int(version.split(".")[0]) < 15:
            raise Failed(f"PostgreSQL 15 or later is needed, and {version} is installed")
        title("A store: a private cluster of PostgreSQL " + version)
        self.store = Cluster(self.root / "db1")
        self.clusters.append(self.store)
        self.url, folders = self.store.url, self.store.folder
        if self.failover:
            standby = Cluster(self.root / "db2", standby_of=self.store)
            self.clusters.append(standby)
            wait_until(standby.receives)
            folders = f"{folders},{standby.folder}"
            say("db1, and db2, a standby that follows it. No TCP port, not the system's.")
        else:
            say("db1. No TCP port, and not the one of the system.")
        self.url = lambda role: self.store.url(role, folders)
        for name in ("ada", "ben"):
            subprocess.run([SHIP, "init", "--device", f"{name}-laptop", self.clusters[0].url()], check=True, capture_output=True,
                           timeout=120)
            say(f"mcp-interposer ship init postgresql://admin@db1/fleet --device {name}-laptop")

    def record(self):
        title("Two laptops record and send, each from its own vault")
        for name in ("ada", "ben"):
            self.laptops.append(Laptop(self.root, name))
            self.laptops[-1].thread.start()
        self.wait(lambda: all(x.calls > STEPS / 8 for x in self.laptops))
        hosts = "db1,db2" if self.failover else "db1"
        for laptop in self.laptops:
            laptop.ship(self.url(f"{laptop.name}-laptop"))
            say(f"mcp-interposer ship to postgresql://{laptop.name}-laptop@{hosts}/fleet")
        self.wait(lambda: self.arrived() > STEPS)
        say(f"{number(self.arrived())} messages have arrived. Both go on recording.")

    def interrupt(self):
        title("What goes wrong meanwhile")
        ada = self.laptops[0]
        for _ in range(2):
            before = self.arrived(ada)
            ada.kill_shipper()
            say("The shipper of ada is killed (SIGKILL), and started again.")
            ada.ship(self.url("ada-laptop"))
            self.wait(lambda before=before: self.arrived(ada) > before + STEPS / 2)
        if self.failover:
            self.fail_over()
        else:
            self.store.stop("immediate")
            say("The server is killed (immediate stop), and started again after 2 s.")
            time.sleep(2)
            self.store.start()
        before = self.arrived()
        self.wait(lambda: self.arrived() > before + STEPS / 2)
        say("It receives again. The laptops were not touched.")

    def fail_over(self):
        first, second = self.clusters
        second.stop_receiving()
        say("db2 is cut off from db1. The laptops go on sending to db1.")
        before = self.arrived()
        self.wait(lambda: self.arrived() > before + STEPS / 2)
        lost = self.arrived()
        first.stop("immediate")
        self.clusters.remove(first)
        second.promote()
        self.store = second
        lost -= self.arrived()
        if lost <= 0:
            raise Failed("the standby has everything: nothing is shown by that")
        say(f"db1 is killed, and db2 promoted: it lacks {number(lost)} messages that had arrived.")

    def finish(self):
        for laptop in self.laptops:
            laptop.stop()
        started = time.monotonic()
        self.wait(lambda: not any(differences(self.store, x.vault) for x in self.laptops))
        say(f"The laptops stop recording. {time.monotonic() - started:.1f} s later everything has arrived.")

    def show(self):
        title("The sessions of both, from the centre")
        say("started   laptop      server               seconds  messages  calls that failed")
        say(self.store.psql("""
            SELECT rpad(to_char(to_timestamp(s.started_at_us / 1e6), 'HH24:MI:SS'), 10) || rpad(d.name, 12)
                || rpad(s.server_name, 21) || lpad(to_char((s.ended_at_us - s.started_at_us) / 1e6, '990.0'), 7)
                || lpad(to_char((SELECT count(*) FROM mcp_interposer.messages m WHERE m.session_uid = s.uid), '9,999,999'), 10)
                || lpad((SELECT count(*) FROM mcp_interposer.invocations i WHERE i.session_uid = s.uid
                    AND i.status <> 'ok')::text, 19)
            FROM mcp_interposer.sessions s JOIN mcp_interposer.devices d ON d.id = s.device ORDER BY s.uid"""))

    def prove(self):
        title("The proof: each vault, row by row, with the store")
        say("laptop      sessions  messages  events  in the log  missing  doubled  different")
        total = wrong = 0
        for laptop in self.laptops:
            ours, theirs = here(laptop.vault), there(self.store, laptop.vault)
            kinds = [sum(k[0] == kind for k in ours) for kind in ("session", "message", "event", "leaf")]
            missing = len(ours.keys() - theirs.keys())
            more = len(theirs.keys() - ours.keys())
            differ = len(differences(self.store, laptop.vault)) if not missing and not more else 0
            say(f"{laptop.name + '-laptop':12}{kinds[0]:8,}{kinds[1]:10,}{kinds[2]:8,}{kinds[3]:12,}{missing:9}{more:9}{differ:11}")
            total += kinds[1]
            wrong += missing + more + differ
        stored = self.arrived()
        keys = int(self.store.psql("SELECT count(DISTINCT (session_uid, seq)) FROM mcp_interposer.messages"))
        say(f"\nAll messages at the centre: {number(stored)}, with {number(keys)} different keys.")
        if wrong or stored != total or keys != total or not total:
            raise Failed("something is missing, doubled or different")
        return total


def run(root, failover):
    demo = Demo(root, failover)
    started = time.monotonic()
    try:
        demo.make_store()
        demo.record()
        demo.interrupt()
        demo.finish()
        demo.show()
        total = demo.prove()
    finally:
        demo.close()
    say(f"\nSuccess: {number(total)} messages of 2 laptops, each of them exactly once, in {time.monotonic() - started:.0f} s.")
    say("docs/fleet.md says how to set this up.")


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, interrupted)
    root = Path(tempfile.mkdtemp(prefix="demo-fleet-"))
    try:
        root.chmod(0o755)
        run(root, "--failover" in sys.argv[1:])
        return 0
    except KeyboardInterrupt:
        print("\ndemo-fleet: interrupted; everything is stopped and removed", file=sys.stderr)
    except (Failed, Ended, RuntimeError, OSError, subprocess.SubprocessError) as e:
        print(f"\ndemo-fleet: {e}", file=sys.stderr)
    finally:
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(s, signal.SIG_IGN)
        shutil.rmtree(root, ignore_errors=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
