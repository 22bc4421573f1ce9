#!/usr/bin/env python3
"""The recorder process and the journal: killed, stopped, without room, without a place, or with a strange one."""
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import lib
from disks import fill, mount
from lib import Skip, case, check, eq, fake, one_of, wait_until

MIB = 1 << 20
JOURNAL_MAX = 64 * MIB
PAUSE_S = 10        # without room for this long, --on-record-error decides
LOCKED_S = float(os.environ.get("E2E_LOCKED_S", "3"))
KEY = "MCP_INTERPOSER_JOURNAL_DIR"


def journal_dir(t):
    """Another directory in memory."""
    path = Path(tempfile.mkdtemp(prefix="mcp-e2e-", dir="/dev/shm"))
    t.closing.callback(shutil.rmtree, path, ignore_errors=True)
    return path


def used(folder):
    """Bytes of memory of the files in it."""
    sizes = []
    for path in folder.iterdir():
        try:
            sizes.append(path.lstat().st_blocks * 512)
        except FileNotFoundError:
            pass
    return sum(sizes)


def names(folder):
    return sorted(x.name for x in folder.iterdir())


class Calls:
    """Calls of one size, one after the other."""

    def __init__(self, p, pad=10):
        self.p, self.pad, self.n = p, pad, 0

    def one(self, seconds=5):
        self.p.client.send(lib.call(self.n, "load", {"t": "p" * self.pad}))
        eq(self.p.client.recv_json(seconds)["id"], self.n, "id of the answer")
        self.n += 1

    def make(self, count):
        for _ in range(count):
            self.one()

    def timed(self, seconds):
        """Round trips for a time, at most 2,000; their median in seconds."""
        took, until = [], time.monotonic() + seconds
        while time.monotonic() < until or not took:
            start = time.monotonic()
            self.one()
            took.append(time.monotonic() - start)
            time.sleep(seconds / 2000)
        return statistics.median(took)


def stored(t, vault=None):
    return t.rows("SELECT count(*) FROM messages", vault=vault)[0][0]


def once_each(t, n, vault=None):
    """n messages of one session, each once, in order. On a busy machine a proxy may exit before the last are stored."""
    def all_stored():
        try:
            return stored(t, vault) >= n
        except (lib.Failure, sqlite3.OperationalError):
            return False    # the recorder is making the vault, or its tables
    lib.wait_until(all_stored, 10, f"{n} messages are stored")
    eq([s for s, in t.rows("SELECT seq FROM messages ORDER BY id", vault=vault)], list(range(1, n + 1)), "seq")
    eq(lib.integrity(vault or t.vault), [(b"ok",)], "integrity_check")


def none_left(journals):
    """Every journal is stored. On a busy machine a proxy exits before its recorder."""
    wait_until(lambda: names(journals) == [], 10, lambda: f"no journals left: {names(journals)}")


def close(p, status=0):
    p.client.close_write()
    eq(p.wait(10), status, "exit status")


# --- killed -------------------------------------------------------------------------------------------

@case("a recorder that is killed is replaced: messages go on, and all are stored once")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    recorder = p.recorder()
    for _ in range(3):
        calls.make(30)
        os.kill(recorder, signal.SIGKILL)
        calls.make(30)
        recorder = p.recorder(other_than=recorder)
    os.kill(recorder, signal.SIGKILL)       # and once while nothing happens
    p.recorder(other_than=recorder)
    close(p)
    eq(p.own_lines("error"), [], "errors")
    once_each(t, 2 * calls.n)


@case("both killed: the next proxy of this vault stores what is left")
def _(t):
    journals = t.journals
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    calls.make(5)
    os.kill(p.recorder(), signal.SIGSTOP)
    calls.make(50)
    p.die(all_of_it=True)
    (left,) = names(journals)
    q = t.proxy(server=[fake("answer")])
    wait_until(lambda: left not in names(journals), 10, "the journal of the killed session is stored")
    close(q)
    none_left(journals)
    eq(t.rows("SELECT end_reason FROM sessions WHERE pid = ?", p.pid), [(b"killed",)], "end_reason")
    once_each(t, 2 * calls.n)


@case("both killed: a reading command of another vault leaves the journal alone, one of this vault stores it")
def _(t):
    journals = t.journals
    other = t.tmp / "other"
    close(t.proxy(vault=other, server=[fake("answer")]))
    none_left(journals)
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    calls.make(5)
    os.kill(p.recorder(), signal.SIGSTOP)
    calls.make(50)
    p.die(all_of_it=True)
    left = names(journals)
    eq(len(left), 1, "journals left")
    eq(t.run("sessions", "--vault", other).returncode, 0, "exit status")
    eq(names(journals), left, "journals left")
    shown = t.run("show", "--vault", t.vault, "--json")
    eq(shown.returncode, 0, "exit status")
    check(f'"id":{calls.n - 1}'.encode() in shown.stdout.replace(b" ", b"") or stored(t) == 2 * calls.n, "what show prints")
    eq(names(journals), [], "journals left")
    once_each(t, 2 * calls.n)


def stop_unlocked(t, recorder):
    """SIGSTOP at a moment when it does not hold the lock of the database."""
    def stopped():
        os.kill(recorder, signal.SIGSTOP)
        db = sqlite3.connect(t.vault / "interposer.db", timeout=0.2, isolation_level=None)
        try:
            db.execute("BEGIN IMMEDIATE")
            return True
        except sqlite3.OperationalError:
            os.kill(recorder, signal.SIGCONT)
            return False
        finally:
            db.close()
    wait_until(stopped, 20, "the recorder is stopped without the lock")


def killed_behind(t):
    """A proxy is killed while its recorder is stopped and has 100 messages to store. The calls, and the recorder."""
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    calls.make(5)
    recorder = p.recorder()
    wait_until(lambda: stored(t) == 2 * calls.n, 10, "the first calls are stored")
    stop_unlocked(t, recorder)
    calls.make(50)
    p.die()
    return calls, recorder


def prune(t, *options):
    """It ends the sessions of dead proxies. Their end_reason."""
    eq(t.run("prune", "--vault", t.vault, "--keep-last", "100", "--yes", *options).returncode, 0, "exit status of prune")
    return t.rows("SELECT end_reason FROM sessions")


def catches_up(t, recorder, calls):
    """The recorder goes on: everything is stored, and the evidence is that of everything."""
    os.kill(recorder, signal.SIGCONT)
    none_left(t.journals)
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"killed",)], "end_reason")
    once_each(t, 2 * calls.n)
    said = t.run("audit", "verify", "--vault", t.vault).stdout.decode()
    check("TAMPERED" not in said, said)


@case("killed while its recorder lags behind: others do not end the session before all of it is stored")
def _(t):
    calls, recorder = killed_behind(t)
    eq(prune(t), [(None,)], "end_reason before everything is stored")
    catches_up(t, recorder, calls)


@case("--sync full: a recorder process that cannot open the journal or its store is noticed at once")
def _(t):
    if os.environ.get("TEST_UNDER") in ("asan", "valgrind"):
        raise Skip("their allocator must be the first library")
    env = {"LD_PRELOAD": str(lib.BUILD / "faults/alloc.so"), "ALLOC_SEED": "1", "ALLOC_ONE_IN": "1", "ALLOC_WHO": "others"}
    began = time.monotonic()
    p = t.proxy("--sync", "full", env=env, server=[fake("answer")])
    p.client.send(lib.request(1, "tools/list"))
    eq(p.client.recv_json(60)["id"], 1, "the answer")
    check(time.monotonic() - began < 0.8 * PAUSE_S, "the message has waited for the recorder")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    check(b"the recorder process cannot open" in p.stderr(), p.stderr())


@case("killed, and ended by a process that does not see its journal: what is stored later is sealed, too")
def _(t):
    calls, recorder = killed_behind(t)
    (t.tmp / "elsewhere").mkdir()
    (t.vault / "running.lock").unlink()     # else the recorder's lock says that it has not ended
    eq(prune(t, "--journal-dir", t.tmp / "elsewhere"), [(b"killed",)], "end_reason before everything is stored")
    catches_up(t, recorder, calls)


# --- stopped ------------------------------------------------------------------------------------------

class Flood(Calls):
    """Calls that do not wait for their answers."""

    def __init__(self, p, pad):
        super().__init__(p, pad)
        self.sent, self.left = 0, b""

    def step(self, end):
        """Writes and reads what is possible now. True: something was."""
        written = self.p.client.try_write(self.left)
        self.left = self.left[written:]
        read = self.p.client.fill(end)
        while self.p.client.take_line() is not None:
            self.n += 1
        return written > 0 or (read and not self.p.client.eof)

    def until_full(self):
        """Sends until nothing has moved for a second, and neither the proxy nor the server waits for a processor."""
        self.sent = self.n
        quiet = time.monotonic() + lib.SLOW
        while time.monotonic() < quiet:
            if not self.left:
                check(self.sent < 4000, "the journal never became full")
                self.left = lib.call(self.sent, "load", {"t": "p" * self.pad}) + b"\n"
                self.sent += 1
            if self.step(time.monotonic() + 0.002) or any(lib.process_state(pid) != "S" for pid in self.busy()):
                quiet = time.monotonic() + lib.SLOW

    def busy(self):
        return [self.p.pid, *(pid for pid, name in self.p.children().items() if not name.startswith("mcp-"))]

    def rest(self, seconds):
        """Every call is answered."""
        def all_answered():
            self.step(time.monotonic() + 0.01)
            check(not self.p.client.eof, "the proxy has exited")
            return not self.left and self.n == self.sent
        wait_until(all_answered, seconds, lambda: f"answers: {self.n} of {self.sent}")


def stopped_until_full(t, policy):
    """A proxy with a recorder that is stopped, and more calls than the journal takes."""
    p = t.proxy("--on-record-error", policy, server=[fake("answer"), "-s", "100000", "-l", t.tmp / "received"])
    calls = Flood(p, 100000)
    calls.make(1)
    recorder = p.recorder()
    os.kill(recorder, signal.SIGSTOP)
    t.closing.callback(lambda: lib.alive(recorder) and os.kill(recorder, signal.SIGCONT))
    calls.until_full()
    check(used(t.journals) <= JOURNAL_MAX + MIB, f"{used(t.journals)} bytes of shared memory")
    if not lib.SIZES_MEAN_NOTHING:
        check(lib.kib(p.pid, "RssAnon") < 12 << 10, f"{lib.kib(p.pid, 'RssAnon')} KiB of memory")
    return p, calls, recorder


@case("pass: a recorder that is stopped under load: memory is bounded, then messages go on and are counted", limit=90)
def _(t):
    p, calls, recorder = stopped_until_full(t, "pass")
    journals = t.journals
    calls.rest(PAUSE_S + 10)
    calls.make(200)
    check(used(journals) <= JOURNAL_MAX + MIB, f"{used(journals)} bytes of shared memory")
    os.kill(recorder, signal.SIGCONT)
    wait_until(lambda: used(journals) < 4 * MIB, 20, "the journal is stored")
    calls.make(5)
    close(p)
    check(p.own_lines("warn"), "no warning")
    count, high = t.rows("SELECT count(*), max(seq) FROM messages")[0]
    eq(high, 2 * calls.n, "last seq")
    lost = [json.loads(d) for d, in t.rows("SELECT detail FROM events WHERE kind = 'gap'")]
    check(count < high, "nothing was lost: the case does not show what it should")
    eq(sum(d.get("lost", 0) for d in lost), high - count, f"messages lost, as the gap events say ({lost})")
    seqs = [s for s, in t.rows("SELECT seq FROM messages ORDER BY id")]
    eq(seqs, sorted(set(seqs)), "seq in order, none twice")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")
    none_left(journals)


@case("stop: a recorder that is stopped under load ends the session, and what was forwarded is stored", limit=90)
def _(t):
    p, calls, recorder = stopped_until_full(t, "stop")
    rest = [json.loads(x) for x in p.client.rest(PAUSE_S + 10).splitlines()]
    eq(p.wait(), 3, "exit status")
    refused = [m["id"] for m in rest if m.get("error", {}).get("data", {}).get("source") == "mcp-interposer"]
    # What is still in the pipe is not answered: the end of one call and, if the last one did not fit, its head.
    one_of(calls.sent - len(rest) - calls.n, range(2 + bool(calls.left)), "calls without an answer")
    check(refused, "no call was refused")
    os.kill(recorder, signal.SIGCONT)
    wait_until(lambda: names(t.journals) == [], 20, "the journal is stored")
    (uid,), = t.rows("SELECT uid FROM sessions")
    bodies = (t.vault / "Bodies" / uid.decode()).read_bytes()
    recorded = {m.body or bodies[m.body_offset:m.body_offset + m.body_length] for m in t.messages("direction = 'c2s'")}
    for line in (t.tmp / "received").read_bytes().split(b"\n")[:-1]:
        check(line in recorded, lambda: f"the server has received what is not recorded: {lib.short(line)}")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


@case("--sync full: nothing is forwarded while the recorder is stopped")
def _(t):
    p = t.proxy("--sync", "full", server=[fake("answer"), "-l", t.tmp / "received"])
    calls = Calls(p)
    calls.make(5)
    recorder = p.recorder()
    os.kill(recorder, signal.SIGSTOP)
    before = (t.tmp / "received").read_bytes()
    p.client.send(lib.call(calls.n))
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        check(not p.client.fill(end), "an answer")
    eq((t.tmp / "received").read_bytes(), before, "what the server has received")
    os.kill(recorder, signal.SIGCONT)
    eq(p.client.recv_json()["id"], calls.n, "id of the answer")
    close(p)


# --- when rows appear ---------------------------------------------------------------------------------

@case("--sync full: a message that was received is in the database at that moment")
def _(t):
    p = t.proxy("--sync", "full", server=[fake("answer")])
    calls = Calls(p)
    calls.make(1)
    with lib.database(t.vault) as db:
        for _ in range(100):
            calls.one()
            eq(db.execute("SELECT count(*) FROM messages WHERE rpc_id = ?", (str(calls.n - 1),)).fetchone()[0], 2,
               f"rows of call {calls.n - 1}")
    close(p)
    once_each(t, 2 * calls.n)


@case("a reader sees messages soon after they were forwarded, and the session as running")
def _(t):
    p = t.proxy("--name", "seen", server=[fake("answer")])
    calls = Calls(p)
    calls.one()
    with lib.database(t.vault) as db:
        for _ in range(20):
            calls.one()
            wait_until(lambda: db.execute("SELECT count(*) FROM messages").fetchone()[0] == 2 * calls.n, 3,
                       f"the rows of call {calls.n - 1}")
    shown = json.loads(t.run("sessions", "--vault", t.vault, "--json").stdout.splitlines()[0])
    eq((shown["name"], shown["ended_at_us"]), ("seen", None), "name and end of the session")
    close(p)
    shown = json.loads(t.run("sessions", "--vault", t.vault, "--json").stdout.splitlines()[0])
    check(shown["ended_at_us"] is not None, "the session has not ended")


@case("light traffic needs little of the journal")
def _(t):
    journals = t.journals
    p = t.proxy(server=[fake("answer"), "-s", "10000"])
    calls = Calls(p, 10000)
    for i in range(300):
        calls.one()
        if i % 10 == 0:
            wait_until(lambda: used(journals) <= MIB, 5, lambda: f"{used(journals)} bytes of shared memory")
    close(p)
    none_left(journals)
    once_each(t, 2 * calls.n)


for policy in ("pass", "stop"):
    @case(f"{policy}: a database that somebody locks for {LOCKED_S:g} s: round trips as before, nothing is lost", limit=60 + 3 * LOCKED_S)
    def _(t, policy=policy):
        p = t.proxy("--on-record-error", policy, server=[fake("answer")])
        calls = Calls(p)
        calls.make(50)
        before = calls.timed(0.5)
        wait_until(lambda: stored(t) == 2 * calls.n, 5, "the rows")
        db = sqlite3.connect(t.vault / "interposer.db", isolation_level=None, timeout=10)
        db.execute("BEGIN IMMEDIATE")
        during = calls.timed(LOCKED_S)
        check(stored(t) < 2 * calls.n, "the lock had no effect: the case does not show what it should")
        db.execute("ROLLBACK")
        db.close()
        # A call that waited for the lock would wait for seconds. On a busy machine every call waits for a processor.
        check(during < 10 * before + 0.5, f"median round trip {during * 1e6:.0f} us, before {before * 1e6:.0f} us")
        wait_until(lambda: stored(t) == 2 * calls.n, 5, "the rows")
        close(p)
        eq(p.own_lines("error"), [], "errors")
        eq(t.rows("SELECT count(*) FROM events WHERE kind = 'gap'"), [(0,)], "gap events")
        once_each(t, 2 * calls.n)


# --- the directory of the journals --------------------------------------------------------------------

def full(t):
    folder = mount(t, "16m", "small")
    fill(folder)
    return folder


def with_mode(mode):
    def make(t):
        folder = journal_dir(t)
        folder.chmod(mode)
        return folder
    return make


def of_another(t):
    if not lib.ROOT_USER:
        raise Skip("giving a directory away needs root")
    folder = journal_dir(t)
    os.chown(folder, 12345, 12345)
    return folder


def link(t):
    folder = journal_dir(t)
    (folder / "link").symlink_to(journal_dir(t))
    return folder / "link"


def file_there(t):
    path = journal_dir(t) / "file"
    path.write_text("keep me")
    return path


def on_disk(t):
    folder = t.tmp / "journals"
    folder.mkdir(mode=0o700)
    return folder


PLACES = {"is full": full, "is readable by others": with_mode(0o755), "is writable by all": with_mode(0o1777),
          "belongs to somebody else": of_another, "is a symbolic link": link, "is a file": file_there,
          "is on a disk": on_disk, "has no parent": lambda t: journal_dir(t) / "no/such/place"}

for what, place in PLACES.items():
    @case(f"the directory of the journals {what}: everything is recorded")
    def _(t, place=place, what=what):
        folder = place(t)
        before = names(folder) if folder.is_dir() else None
        p = t.proxy(server=[fake("answer")], env={KEY: str(folder)})
        calls = Calls(p, 300)
        calls.make(50)
        if before is not None and what != "is writable by all" or folder.is_symlink():
            one = what in ("is readable by others",) and names(folder) != before     # it may be made private instead
            check(one and folder.stat().st_mode & 0o077 == 0 or names(folder) == before, f"files in it: {names(folder)}")
        recorder = p.recorder()
        os.kill(recorder, signal.SIGKILL)       # the proxy still has the journal
        calls.make(50)
        close(p)
        eq(p.own_lines("error"), [], "errors")
        once_each(t, 2 * calls.n)
        if what == "is a file":
            eq(folder.read_text(), "keep me", "the file")


@case("two sessions in 64 MiB of shared memory, whose recorders are stopped: no crash, every message is stored", limit=90)
def _(t):
    journals = mount(t, "64m", "shm")
    both = []
    for i in range(2):
        p = t.proxy(server=[fake("answer"), "-s", "100000"], vault=t.tmp / f"vault-{i}", env={KEY: str(journals)})
        calls = Flood(p, 100000)
        calls.make(1)
        recorder = p.recorder()
        os.kill(recorder, signal.SIGSTOP)
        t.closing.callback(lambda pid=recorder: lib.alive(pid) and os.kill(pid, signal.SIGCONT))
        both.append((p, calls, recorder))
    for _, calls, _ in both:
        calls.until_full()
    for _, _, recorder in both:
        os.kill(recorder, signal.SIGCONT)
    for i, (p, calls, _) in enumerate(both):
        calls.rest(20)
        close(p)
        eq(p.own_lines("error"), [], "errors")
    wait_until(lambda: names(journals) == [], 20, "the journals are stored")
    for i, (_, calls, _) in enumerate(both):
        once_each(t, 2 * calls.n, t.tmp / f"vault-{i}")


# --- strange files ------------------------------------------------------------------------------------

def real_journal(t, journals):
    """The name of a journal that a killed session left, its first bytes, and its size, most of which is a hole."""
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p, 100)
    calls.make(3)
    os.kill(p.recorder(), signal.SIGSTOP)
    calls.make(30)
    p.die(all_of_it=True)
    (name,) = names(journals)
    with open(journals / name, "rb") as f:
        data, size = f.read(128 << 10), os.fstat(f.fileno()).st_size
    (journals / name).unlink()
    return name, data, size


def other_name(name, i):
    return name[:-3] + f"{i:03d}"


@case("strange files among the journals harm nobody: commands and proxies go on", limit=90)
def _(t):
    journals = t.journals
    name, data, size = real_journal(t, journals)

    def put(i, content, size=None):
        path = journals / other_name(name, i)
        lib.strange_files.add(str(path))
        path.write_bytes(content)
        os.truncate(path, size or len(content))
        path.chmod(0o600)
    victim = t.tmp / "victim"
    victim.write_bytes(data)
    r = random.Random(7)
    put(0, b"")
    put(1, r.randbytes(4096))
    put(2, r.randbytes(300000))
    (journals / other_name(name, 3)).symlink_to(victim)
    (journals / other_name(name, 4)).mkdir()
    os.mkfifo(journals / other_name(name, 5))
    put(6, b"", 1 << 40)
    put(7, data[:5000])
    put(8, data[:4096] + r.randbytes(len(data) - 4096), size)
    (journals / "a name that is none").write_bytes(data)
    for i in range(9, 60 if os.environ.get("TEST_LONG") else 30):
        bad = bytearray(data)
        for _ in range(r.choice((1, 3, 30))):
            bad[r.choice((r.randrange(256), r.randrange(16384)))] = r.randrange(256)
        put(i, bad, size)
    for command in (("sessions",), ("show",), ("doctor", "--quick"), ("sessions",)):
        shown = t.run(*command, "--vault", t.vault)
        check(shown.returncode in (0, 1), f"{command[0]}: {shown.returncode} {shown.stderr[-500:]!r}")
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    calls.make(50)
    wait_until(lambda: t.rows("SELECT count(*) FROM messages m, sessions s ON s.id = m.session_id WHERE s.pid = ?", p.pid)
               == [(2 * calls.n,)], 10, "the rows of the next session")
    close(p)
    eq(p.own_lines("error"), [], "errors")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")
    eq(victim.read_bytes(), data, "the file outside")


lib.main(at_once=3)
