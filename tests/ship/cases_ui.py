"""`ui --from`: the screen of a store, a store that is slow, and one that is away for a while."""
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time

from cases import Skip, case, sent
from cases_reading import with_reader
from cluster import DEADLINE, Middle
from vaults import PROGRAM, Vault, environment, exchange, texts


class Screen:
    """`mcp-interposer ui --from URL ARGS` in a terminal of tmux."""

    def __init__(self, t, url, *args, size=(100, 40)):
        if shutil.which("tmux") is None:
            raise Skip("tmux is not installed")
        self.socket = str(t.folder / "tmux")
        env = {k: v for k, v in environment(t.folder).items() if k in ("PATH", "HOME") or k.startswith("MCP_INTERPOSER")}
        env |= {"LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "tmux-256color"}
        words = " ".join(shlex.quote(x) for x in ([f"{k}={v}" for k, v in env.items()] + [PROGRAM, "ui", "--from", url, *args]))
        self.tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  f"env -i {words}; echo exit status $?; exec sleep 1000", env=environment(t.folder))
        t.cleanups.append(lambda: subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False))

    def tmux(self, *args, env=None):
        return subprocess.run(["tmux", "-S", self.socket, *args], check=True, capture_output=True, text=True, env=env).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def sees(self, *wanted, gone=()):
        """Waits until the screen has all of these, and none of `gone`; returns it."""
        until = time.monotonic() + DEADLINE
        while True:
            text = self.tmux("capture-pane", "-p")
            if all(re.search(w, text, re.M) for w in wanted) and not any(re.search(g, text, re.M) for g in gone):
                return text
            assert time.monotonic() < until, f"{wanted} without {gone} in\n{text}"
            time.sleep(0.02)

    def ended(self, status=0):
        self.sees(rf"^exit status {status}$")


@case("ui reads a store: sessions of all vaults by time, their calls, one in detail, and what arrives meanwhile")
def _(t):
    urls = [t.device("one"), t.device("two")]
    vaults = [Vault(t.folder, "a"), Vault(t.folder, "b")]
    with_reader(t)
    vaults[0].record(texts(5), "--name", "first")
    vaults[1].record(texts(200), "--name", "second")
    vaults[0].record(texts(9, large=1), "--name", "third")
    sent(vaults[0].to(urls[0], "--once"))
    t.cluster.psql("UPDATE mcp_interposer.sessions SET host = 'a.example'")
    s = Screen(t, t.cluster.url("boss"))
    s.sees(r"sessions 1/2 ", r"2 third +a\.example", r"1 first +a\.example", "calls 10/10", gone=["servers", "problems"])
    s.keys("Enter", "Enter")
    s.sees(r"call \d+  1/10", "héllo \U0001f600 8", gone=["resend"])
    s.keys("g", "k", "Escape", "Escape")
    # A session that began before the newest one takes its place among those that are there.
    sent(vaults[1].to(urls[1], "--once"))
    s.sees(r"third.*\n.*second.*\n.*first", "3 sessions")
    s.keys("j")
    s.sees("sessions 2/3", "201 calls", "calls 201/201")
    s.keys("G")
    s.sees("sessions 3/3", "calls 6/6")
    # The large body is in the detail; a search and a filter read the store.
    s.keys("g", "Enter", "g", "j", "Enter")
    s.sees("result, the first 256", "y" * 20)
    s.keys("Escape", "Escape", "f", "C-u", *"text server:second", "Enter")
    s.sees("sessions 1/1", "filter: text server:second", gone=["third"])
    s.keys("Escape")
    s.sees("sessions ./3", "third")
    # Keys of what a store does not have say so.
    for key, said in (("S", "a store does not know which servers run"), ("L", "a store does not know which servers run"), ("!", "a store has no escalations"),
                      ("r", "cannot be sent again from here"), ("R", "cannot be sent again from here")):
        s.keys(key)
        s.sees(said)
    s.keys("?")
    s.sees("keys \\(", "Moving")
    s.keys("G")
    s.sees("compare the session", "this page", gone=["running servers", "send the request"])
    s.keys("Escape", "g", "d", *"second", "Enter")
    s.sees("compare: ")
    s.keys("Escape", "e", "C-u", *str(t.folder / "out.jsonl"), "Enter")
    s.sees("exported session 2 of third")
    lines = (t.folder / "out.jsonl").read_text().replace("a.example", socket.gethostname()).splitlines()
    for ours, theirs in zip(vaults[0].command("export", "third", "-F", "cassette").stdout.splitlines(), lines, strict=True):
        assert ours == theirs, (ours[:500], theirs[:500])
    # A live session grows.
    live = vaults[0].live()
    t.cleanups.append(live.kill)
    exchange(live, '{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    sent(vaults[0].to(urls[0], "--once"))
    s.keys("Escape", "g")
    s.sees("sessions ./4", "3 live")
    s.keys("g")
    s.sees("sessions 1/4", "calls 1/1")
    exchange(live, '{"jsonrpc": "2.0", "id": 2, "method": "ping"}')
    sent(vaults[0].to(urls[0], "--once"))
    s.sees("calls 2/2", "2 calls")
    s.keys("Q")
    s.ended()


@case("ui of a store that does not answer says so, keeps the keys, and ends with Q; an error is not the end")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    with_reader(t)
    vault.record(texts(5), "--name", "first")
    vault.record(texts(7), "--name", "second")
    sent(vault.to(url, "--once"))
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    s = Screen(t, t.cluster.url("boss", middle.folder))
    s.sees("sessions 1/2", "calls 8/8")
    answers = threading.Event()
    middle.interrupt("read_events", "during", answers.wait)
    s.sees(r"waiting for the store: \d+ s \(Q quits\)", "sessions 1/2")
    s.keys("j")
    answers.set()
    s.sees("sessions 2/2", "calls 6/6", gone=["waiting"])
    middle.cluster = None
    middle.cut()
    s.sees(r"trying\s+again")
    s.keys("k")
    s.sees(r"trying\s+again")
    middle.cluster = t.cluster
    s.sees("sessions 1/2", "calls 8/8", gone=[r"trying\s+again"])
    middle.interrupt("read_events", "during", threading.Event().wait)
    s.sees("waiting for the store")
    s.keys("j", "Q")
    s.ended()
