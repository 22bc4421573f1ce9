"""What scripts/demo-fleet shows, when everything is installed and built."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from centre import Centre, Shards, Standby
from cluster import DEADLINE, no_server, version
from recorder import Ended, Recorder
from vaults import PROGRAM, differences, here, there

STEPS = int(os.environ.get("DEMO_STEPS", "400"))        # messages between two things that go wrong


class Failed(Exception):
    pass


def say(*text):
    print(*text, flush=True)


def title(text):
    say(f"\n--- {text}\n")


def number(n):
    return f"{n:,}"


class Laptop(Recorder):
    pause = 4 / STEPS
    words = ["the", "quick", "brown", "fox", "sends", "mail", "to", "ada", "and", "counts", "words", "again"]

    def call(self):
        text = " ".join(self.dice.choices(self.words, k=self.dice.randrange(3, 60)))
        if self.dice.random() < 0.5:
            return {"name": "count_words", "arguments": {"text": text}}
        to = self.dice.choice(["ada@example.com", "nobody"])
        return {"name": "send_email", "arguments": {"to": to, "subject": "Hello", "body": text}}


class Demo:
    def __init__(self, centre):
        self.centre, self.laptops = centre, []

    def close(self):
        for laptop in self.laptops:
            laptop.close()
        self.centre.close()

    def arrived(self, laptop=None):
        """Messages in the store, of all or of one."""
        where = f" WHERE session_uid IN (SELECT uid FROM mcp_interposer.sessions WHERE vault = '{laptop.vault.name()}')" if laptop else ""
        return self.centre.sum("SELECT count(*) FROM mcp_interposer.messages" + where)

    def wait(self, what, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while not what():
            for laptop in self.laptops:
                laptop.check()
            if time.monotonic() > end:
                raise Failed(f"waited longer than {seconds} s")
            time.sleep(0.05)

    def wait_for_more(self, laptop=None):
        before = self.arrived(laptop)
        self.wait(lambda: self.arrived(laptop) > before + STEPS / 2)

    # ---- the parts ----

    def make_store(self):
        if why := no_server():
            raise Failed(why)
        title("A store: a private PostgreSQL " + version())
        self.centre.make()
        for name in ("ada", "ben"):
            self.centre.device(f"{name}-laptop")

    def record(self):
        title("Two machines record and send, each from its own vault")
        for name in ("ada", "ben"):
            self.laptops.append(Laptop(self.centre.root, name))
            self.laptops[-1].thread.start()
        self.wait(lambda: all(x.calls > STEPS / 8 for x in self.laptops))
        for laptop in self.laptops:
            laptop.ship(self.centre.url(f"{laptop.name}-laptop"))
            say(f"mcp-interposer ship to postgresql://{laptop.name}-laptop@{self.centre.hosts}/fleet")
        self.wait(lambda: self.arrived() > STEPS)
        say(f"{number(self.arrived())} messages have arrived. Both go on recording.")

    def interrupt(self):
        title("What goes wrong meanwhile")
        ada = self.laptops[0]
        for _ in range(2):
            ada.kill_shipper()
            say("The shipper of ada is killed (SIGKILL), and started again.")
            ada.ship()
            self.wait_for_more(ada)
        self.centre.interrupt(self.wait_for_more)
        self.wait_for_more()
        say("The store receives again. Nothing was done on the machines.")

    def finish(self):
        for laptop in self.laptops:
            laptop.stop()
        started = time.monotonic()
        self.wait(lambda: not any(differences(self.centre, x.vault) for x in self.laptops))
        say(f"The machines stop recording. {time.monotonic() - started:.1f} s later everything has arrived.")

    def show(self):
        title("The sessions of both, from the store")
        self.centre.reader("maria")
        say("mcp-interposer sessions --from postgresql://maria@" + self.centre.hosts + "/fleet\n")
        command = [PROGRAM, "sessions", "--limit", "0", "--from", self.centre.url("maria")]
        if subprocess.run(command, env=self.laptops[0].vault.env, timeout=DEADLINE).returncode:
            raise Failed("the sessions cannot be read")

    def prove(self):
        title("The proof: each vault, row by row, with the store")
        say("machine     sessions  messages  events  in log  missing  duplicated  different")
        total = wrong = 0
        for laptop in self.laptops:
            ours, theirs = here(laptop.vault), there(self.centre, laptop.vault)
            kinds = [sum(k[0] == kind for k in ours) for kind in ("session", "message", "event", "leaf")]
            missing = len(ours.keys() - theirs.keys())
            more = len(theirs.keys() - ours.keys())
            differ = len(differences(self.centre, laptop.vault)) if not missing and not more else 0
            say(f"{laptop.name + '-laptop':12}{kinds[0]:8,}{kinds[1]:10,}{kinds[2]:8,}{kinds[3]:8,}{missing:9}{more:12}{differ:11}")
            total += kinds[1]
            wrong += missing + more + differ
        stored = self.arrived()
        keys = self.centre.sum("SELECT count(DISTINCT (session_uid, seq)) FROM mcp_interposer.messages")
        say(f"\nMessages in the store: {number(stored)}, with {number(keys)} different keys.")
        if wrong or stored != total or keys != total or not total:
            raise Failed("something is missing, duplicated or different")
        return total


def run(centre):
    demo = Demo(centre)
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
    say(f"\nSuccess: {number(total)} messages of 2 machines, each of them exactly once, in {time.monotonic() - started:.0f} s.")
    say("docs/fleet.md and docs/fleet-admin.md say how to set this up.")


def choose(root, options):
    if options[:1] == ["--shards"]:
        return Shards(root, say, int(options[1]))
    return (Standby if options else Centre)(root, say)


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, interrupted)
    root = Path(tempfile.mkdtemp(prefix="demo-fleet-"))
    try:
        root.chmod(0o755)
        run(choose(root, sys.argv[1:]))
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
