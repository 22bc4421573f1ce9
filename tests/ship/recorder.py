"""A machine whose client goes on calling, one session after the other, and which has a shipper."""
import json
import random
import subprocess
import sys
import threading
import time

from cases import ROOT
from cluster import DEADLINE
from vaults import PROGRAM, Vault


class Ended(Exception):
    pass


class Recorder:
    """record() runs in a thread until `ending`; an error of it is in `error`. Subclasses say what is called."""
    server = [sys.executable, str(ROOT / "examples/mail-server.py")]
    options = ()                # of the proxy
    shipping = ()               # of the shipper
    pause = 0.01                # seconds between two calls, at most
    may_be_killed = False       # the proxy

    def __init__(self, root, name):
        self.home = root / name
        self.home.mkdir()
        self.name, self.vault, self.dice = name, Vault(self.home, "vault"), random.Random(name)
        self.calls, self.ending, self.error = 0, False, None
        self.proxy = self.shipper = self.url = None
        self.thread = threading.Thread(target=self.record, daemon=True)

    def length(self):
        """Calls of a session."""
        return self.dice.randrange(50, 400)

    def call(self):
        """The params of tools/call."""
        raise NotImplementedError

    def record(self):
        while not self.ending and not self.error:
            try:
                self.session(self.length())
            except (OSError, ValueError, Ended) as e:
                if not self.may_be_killed:
                    self.error = None if self.ending else e
                    return
            finally:
                try:
                    self.end_session()
                except subprocess.SubprocessError as e:
                    self.error = self.error or e

    def session(self, calls):
        self.proxy = subprocess.Popen([PROGRAM, "proxy", "--vault", self.vault.path, "--name", "mail", *self.options, "--",
                                       *self.server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      encoding="utf-8", env=self.vault.env, start_new_session=True)
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                "clientInfo": {"name": f"{self.name}-client", "version": "1.0"}})
        print('{"jsonrpc":"2.0","method":"notifications/initialized"}', file=self.proxy.stdin, flush=True)
        for _ in range(calls):
            if self.ending:
                break
            self.ask("tools/call", self.call())
            time.sleep(self.dice.random() * self.pause)

    def end_session(self):
        try:
            self.proxy.stdin.close()
        except OSError:
            pass                # it was killed
        self.proxy.wait(DEADLINE)
        self.proxy.stdout.close()

    def ask(self, method, params):
        self.calls += 1
        line = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        print(json.dumps(line, ensure_ascii=False), file=self.proxy.stdin, flush=True)
        if not self.proxy.stdout.readline():
            raise Ended(f"the proxy of {self.name} has ended")

    def ship(self, url=None):
        self.url = url or self.url
        self.shipper = self.vault.follow(self.url, *self.shipping)

    def kill_shipper(self):
        self.shipper.kill()
        self.shipper.wait(DEADLINE)

    def check(self):
        if self.error:
            raise Ended(f"{self.name}: {self.error}")
        if self.shipper and self.shipper.poll() is not None:
            raise Ended(f"the shipper of {self.name} has ended: {self.shipper.said.read_text()}")

    def stop(self):
        self.ending = True
        if self.thread.is_alive():
            self.thread.join(DEADLINE)
            if self.thread.is_alive():
                raise Ended(f"{self.name} does not stop")

    def close(self):
        self.ending = True
        for process in (self.proxy, self.shipper):
            if process and process.poll() is None:
                process.kill()
                process.wait(DEADLINE)
