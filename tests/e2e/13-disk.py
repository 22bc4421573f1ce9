#!/usr/bin/env python3
"""A failing disk: full and freed again, read-only, removed, or something else in place of the vault."""
import contextlib
import datetime
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

import lib
from disks import fill, mount, private_mounts, remount
from lib import Skip, case, check, eq, fake, request

PAD = 8000


class Calls:
    """Calls one after the other, each answered by the server within a second."""

    def __init__(self, p):
        self.p, self.n = p, 0

    def make(self, count, pad=PAD):
        for _ in range(count):
            self.p.client.send(lib.call(self.n, "load", {"pad": "p" * pad}))
            eq(self.p.client.recv_json(1).get("result", {}).get("n"), self.n + 1, f"answer to call {self.n}")
            self.n += 1


def lost_by_events(t, vault):
    """What the gap events say was lost."""
    lost = 0
    for detail, in t.rows("SELECT detail FROM events WHERE kind = 'gap'", vault=vault):
        lost += json.loads(detail).get("lost", 0)
    return lost


def recorded_again(t, calls, vault, seconds=5):
    """Calls are made until one of them is in the record."""
    def back():
        calls.make(1, 10)
        try:
            return t.rows("SELECT count(*) FROM messages WHERE rpc_id = ? AND kind = 'request'", str(calls.n - 1),
                          vault=vault)[0][0] == 1
        except sqlite3.OperationalError:
            return False    # the recorder is making the database
    lib.wait_until(back, seconds, "recording comes back")


def few_lines(p, least=1, most=6):
    lib.wait_until(lambda: len(p.own_lines("(warn|error)")) >= least, 2, f"{least} warnings")     # of the recorder, which may be late
    said = p.own_lines("(warn|error)")
    check(least <= len(said) <= most, f"{len(said)} warnings, wanted {least} to {most}: {lib.short(said, 1500)}")
    return said


@case("pass: the disk is full and freed again: calls continue, the loss is reported and counted", limit=120)
def _(t):
    disk = mount(t, "400m")
    vault = disk / "vault"
    p = t.proxy(vault=vault, server=[fake("answer"), "-s", "90000"])
    calls = Calls(p)
    calls.make(20)
    ballast = fill(disk)
    calls.make(600, 90000)           # 108 MB: more than can wait in the journal
    if not lib.SIZES_MEAN_NOTHING:
        check(lib.kib(p.pid, "RssAnon") < 16 << 10, f"{lib.kib(p.pid, 'RssAnon')} KiB of memory")
    few_lines(p)
    os.unlink(ballast)

    recorded_again(t, calls, vault, 10)
    calls.make(20)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    few_lines(p, 2, 8)
    eq(lib.integrity(vault), [(b"ok",)], "integrity_check")
    count, high = t.rows("SELECT count(*), max(seq) FROM messages", vault=vault)[0]
    eq(high, 2 * calls.n, "last seq")
    check(high > count, "nothing was lost: the case does not show what it should")
    eq(lost_by_events(t, vault), high - count, "messages lost, as the gap events say")
    seqs = [s for s, in t.rows("SELECT seq FROM messages ORDER BY id", vault=vault)]
    eq(seqs, sorted(set(seqs)), "seq in order, none twice")


@case("pass: recording resumes even when the freed space takes what waits only in parts", limit=120)
def _(t):
    disk = mount(t, "12m")
    vault = disk / "vault"
    p = t.proxy(vault=vault, server=[fake("answer"), "-s", PAD])
    calls = Calls(p)
    calls.make(20)
    ballast = fill(disk)
    calls.make(400)           # 6.4 MB: with the write-ahead log more than 12
    few_lines(p)
    full_s = time.monotonic() + 5       # its transactions become as small as they can: their log would fill the disk
    while time.monotonic() < full_s:
        calls.make(1, 10)
        time.sleep(0.1)                 # the pace of the load, not a wait
    os.unlink(ballast)
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages", vault=vault)[0][0] == 2 * calls.n, 20, "what waited is recorded")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(t.rows("SELECT count(*), max(seq) FROM messages", vault=vault), [(2 * calls.n, 2 * calls.n)], "messages and last seq")
    eq(lib.integrity(vault), [(b"ok",)], "integrity_check")


@case("pass: a full disk that is freed before memory is full loses nothing")
def _(t):
    disk = mount(t, "24m")
    vault = disk / "vault"
    p = t.proxy(vault=vault, server=[fake("answer"), "-s", "500"])
    calls = Calls(p)
    calls.make(20, 500)
    ballast = fill(disk)
    calls.make(300, 500)
    few_lines(p)
    os.unlink(ballast)
    recorded_again(t, calls, vault)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    count, high = t.rows("SELECT count(*), max(seq) FROM messages", vault=vault)[0]
    eq((count, high), (2 * calls.n, 2 * calls.n), "messages and last seq")
    eq(lost_by_events(t, vault), 0, "messages lost, as the gap events say")
    eq(lib.integrity(vault), [(b"ok",)], "integrity_check")
    few_lines(p)


@case("pass: recording resumes without another message")
def _(t):
    disk = mount(t, "24m")
    vault = disk / "vault"
    p = t.proxy(vault=vault, server=[fake("answer"), "-s", "500"])
    calls = Calls(p)
    calls.make(5, 500)
    ballast = fill(disk)
    calls.make(50, 500)
    few_lines(p)
    os.unlink(ballast)
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages", vault=vault)[0][0] == 2 * calls.n, 5,
                   "what waited is recorded")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


@case("pass: the disk is full when the session starts and stays full")
def _(t):
    disk = mount(t, "1m")
    fill(disk)
    p = t.proxy(vault=disk / "vault", server=[fake("answer")])
    calls = Calls(p)
    calls.make(200, 100)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    few_lines(p)


@case("pass: large bodies on a full disk do not stop the calls")
def _(t):
    disk = mount(t, "12m")
    vault = disk / "vault"
    p = t.proxy(vault=vault, server=[fake("answer"), "-s", "100000"])
    calls = Calls(p)
    calls.make(2, 100000)
    ballast = fill(disk)
    calls.make(20, 100000)
    few_lines(p)
    os.unlink(ballast)
    recorded_again(t, calls, vault)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    few_lines(p)
    uid = t.rows("SELECT uid FROM sessions", vault=vault)[0][0].decode()
    bodies = (vault / "Bodies" / uid).read_bytes()
    for off, n, direction in t.rows("SELECT body_offset, body_length, direction FROM messages WHERE body IS NULL", vault=vault):
        v = json.loads(bodies[off:off + n])
        eq(("method" in v), direction == b"c2s", "a body in Bodies is that of its row")
    eq(lib.integrity(vault), [(b"ok",)], "integrity_check")


@case("pass: a file size limit (ulimit -f) is treated as a full disk, and does not kill")
def _(t):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000))
    p = t.proxy(server=[fake("answer"), "-s", PAD], preexec=limit)
    Calls(p).make(300)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    few_lines(p, most=10)       # a recorder that is slow empties the log once more, and has room again
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


@case("a file size limit ends a command with an error, not with a signal")
def _(t):
    def fails(vault, what):
        for words in (["sessions"], ["export", "1"], ["show", "1", "--bodies"]):
            with open(t.tmp / "out", "wb") as out:
                r = subprocess.run([lib.PROGRAM, *words], stdout=out, stderr=subprocess.PIPE, env=t.environ() | {"MCP_INTERPOSER_VAULT": str(vault)}, timeout=60,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)))
            check(r.returncode == 3 and b"File too large" in r.stderr, (what, words, r.returncode, r.stderr))
    p = t.proxy(server=[fake("answer"), "-s", PAD])
    Calls(p).make(3)

    def stored():
        with contextlib.suppress(sqlite3.Error):        # the database is being made
            return (t.vault / "interposer.db-wal").exists() and len(t.messages()) == 6
    lib.wait_until(stored, 30, "all messages are stored")
    copy = t.tmp / "copy"
    copy.mkdir(0o700)
    for name in ("interposer.db", "interposer.db-wal"):
        shutil.copy(t.vault / name, copy)
    (copy / "interposer.db-shm").touch()        # a reader has to make it again, as after the last recorder has removed it
    fails(copy, "the index of the write-ahead log")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    fails(t.vault, "the output")


@case("stop: a full disk ends the session with exit status 3, and what was forwarded is stored when there is room", limit=90)
def _(t):
    disk = mount(t, "64m")          # room for all that waits until the recorder notices
    vault = disk / "vault"
    log = t.tmp / "server.log"
    p = t.proxy("--on-record-error", "stop", vault=vault, server=[fake("answer"), "-l", log, "-s", PAD])
    calls = Calls(p)
    calls.make(5)
    lib.settle()
    ballast = fill(disk)
    answers = 5
    end = time.monotonic() + 10 * lib.PATIENCE
    for n in range(5, 1 << 20):
        check(time.monotonic() < end, "the full disk was never noticed")
        time.sleep(0.02 if n > 50 else 0)
        try:
            p.client.send(lib.call(n, "load", {"pad": "p" * (10 if n > 50 else PAD)}))
            m = p.client.recv_json(5)
        except (lib.Failure, BrokenPipeError) as e:
            raise lib.Failure(f"call {n} was left without an answer: {e}") from None
        answers += 1
        eq(m["id"], n, "id of the answer")
        if "error" in m:
            eq(m["error"]["data"]["source"], "mcp-interposer", "source of the error")
            check("record" in json.dumps(m["error"]), f"the error does not say what is wrong: {m}")
            break
    p.client.rest(5)
    eq(p.wait(), 3, "exit status")
    few_lines(p)
    received = [x for x in log.read_bytes().split(b"\n") if x]
    check(len(received) <= answers, f"{len(received)} calls reached the server, {answers} were answered")
    os.unlink(ballast)
    eq(t.run("sessions", "--vault", vault).returncode, 0, "exit status of sessions")
    lib.wait_until(lambda: not list(t.journals.iterdir()), 10, "the journal is stored")
    eq([m.body for m in t.messages("direction = 'c2s' AND action = 'forwarded'", vault=vault)][:len(received)], received,
       "what the server has received")
    eq(lib.integrity(vault), [(b"ok",)], "integrity_check")


@case("stop: a vault that cannot be opened: exit status 3 before the server receives anything")
def _(t):
    (t.tmp / "file").write_text("not a folder")
    log = t.tmp / "server.log"
    p = t.proxy("--on-record-error", "stop", vault=t.tmp / "file", server=[fake("answer"), "-l", log])
    try:
        p.client.send(request(1, "tools/list"))
        p.client.close_write()
        p.client.rest(5)
    except BrokenPipeError:
        pass
    eq(p.wait(), 3, "exit status")
    check(not log.exists() or log.read_bytes() == b"", "the server has received something")
    check(str(t.tmp / "file") in p.stderr().decode(), f"the vault is not named: {p.stderr()!r}")


def goes_on(t, vault, *says):
    """Calls go on without a vault. What is said of it; a recorder that is late says it to nobody after the end of the session."""
    p = t.proxy(vault=vault, server=[fake("answer")])
    calls = Calls(p)
    calls.make(100, 100)
    few_lines(p)
    lib.wait_until(lambda: all(x in p.stderr().decode() for x in says), 10, lambda: f"{says} on stderr: {p.stderr()}")
    recorder = p.recorder()
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    lib.wait_until(lambda: not lib.alive(recorder), 20, "the recorder exits")
    return "\n".join(few_lines(p))


@case("pass: a vault on a read-only file system: calls continue, one warning")
def _(t):
    disk = mount(t, "8m")
    p = t.proxy(vault=disk / "vault", server=[fake("answer")])
    Calls(p).make(3)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    remount(disk, "ro")
    goes_on(t, disk / "vault")
    goes_on(t, disk / "new-vault")
    remount(disk, "rw")
    eq(lib.integrity(disk / "vault"), [(b"ok",)], "integrity_check")
    eq(t.rows("SELECT count(*) FROM messages", vault=disk / "vault"), [(6,)], "messages")


@case("pass: the vault is a file: calls continue, and the warning names it")
def _(t):
    (t.tmp / "file").write_text("keep me")
    goes_on(t, t.tmp / "file", str(t.tmp / "file"))
    eq((t.tmp / "file").read_text(), "keep me", "the file")


@case("pass: a parent of the vault is a file")
def _(t):
    (t.tmp / "file").write_text("keep me")
    goes_on(t, t.tmp / "file/deeper/vault")
    eq((t.tmp / "file").read_text(), "keep me", "the file")


@case("the database is not a database: it is put aside unchanged, calls continue and are recorded, an escalation says so")
def _(t):
    t.vault.mkdir(mode=0o700)
    (t.vault / "interposer.db").write_bytes(b"this is no database, whatever its name\n" * 100)
    (t.vault / "interposer.db-wal").write_bytes(b"nor is this a log\n")
    goes_on(t, t.vault, "the database is damaged, and was put aside", "cause=record-error")
    aside, = t.vault.glob("interposer.db.damaged-*Z")
    eq(aside.read_bytes(), b"this is no database, whatever its name\n" * 100, "the file")
    eq((t.vault / f"{aside.name}-wal").read_bytes(), b"nor is this a log\n", "its log")
    eq(t.rows("SELECT count(*) FROM messages WHERE kind = 'request'"), [(100,)], "requests")
    eq(t.rows("SELECT count(*) FROM events WHERE kind = 'gap'"), [(0,)], "gaps")
    escalation, = t.vault.glob("Escalations/*-record-error-*.md")
    check("put aside as " + aside.name in escalation.read_text(), escalation.read_text())
    found = t.run("doctor", "--vault", t.vault)
    check(found.returncode == 1 and f"1 damaged database was put aside, the newest as {aside.name}".encode() in found.stdout, found.stdout)


@case("a database that is damaged during sessions: they continue in a new one, and each message is in one of the two")
def _(t):
    proxies = [Calls(t.proxy(server=[fake("answer")])) for _ in range(3)]
    for calls in proxies:
        calls.make(20)
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages") == [(120,)], 20, "all stored")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page, = db.execute("PRAGMA page_size").fetchone()
        root, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'messages'").fetchone()
    with open(t.vault / "interposer.db", "r+b") as f:
        f.seek((root - 1) * page)
        f.write(b"\xff" * page)
    for calls in proxies: # the next recorder does not have the page in its cache
        os.kill(calls.p.recorder(), signal.SIGKILL)
    for calls in proxies:
        calls.make(20)
        calls.p.client.close_write()
        eq(calls.p.wait(), 0, "exit status")
    # A recorder ends when its database was put aside by another one, and the next one may end for that reason, too.
    eq(t.run("sessions", "--vault", t.vault).returncode, 0, "what waits is stored")
    eq(len(list(t.vault.glob("interposer.db.damaged-*Z"))), 1, "files put aside")
    eq(lib.integrity(t.vault), [(b"ok",)], "the new one")
    eq(t.rows("SELECT count(*) FROM sessions"), [(3,)], "sessions")
    check(t.rows("SELECT count(*) FROM messages")[0][0] >= 120, "messages after the damage")
    gaps = [json.loads(x[0])["reason"] for x in t.rows("SELECT detail FROM events WHERE kind = 'gap'")]
    check(len(gaps) == 3 and set(gaps) <= {"database damaged", "vault removed"}, gaps)


@case("pass: a vault that cannot be written: what waits has a bound for all sessions, then a gap and an escalation")
def _(t):
    (t.vault / "interposer.db").mkdir(mode=0o700, parents=True)
    t.vault.chmod(0o700)
    proxies = [Calls(t.proxy("--max-waiting", "2MiB", "--name", name, server=[fake("answer")])) for name in ("one", "two")]
    for calls in proxies:
        few_lines(calls.p)                        # until it is known that the vault cannot be opened
        calls.make(60, 100000)
    total = sum(x.stat().st_blocks * 512 for x in t.journals.iterdir())
    check(total <= 4 << 20, f"{total} bytes of journals: {[x.stat().st_blocks * 512 for x in t.journals.iterdir()]}")
    recorders = [calls.p.recorder() for calls in proxies]
    for calls in proxies:
        calls.p.client.close_write()
        eq(calls.p.wait(), 0, "exit status")
    said = "\n".join(proxies[1].p.own_lines("(warn|error)"))
    check("have reached --max-waiting" in said and "some messages were not recorded: lost=" in said, said)
    check("the vault cannot be written; the messages wait in memory for the next command" in said, said)
    lib.wait_until(lambda: any("have reached --max-waiting" in x.read_text().replace("\\", "") for x in t.vault.glob("Escalations/*-record-error-*.md")),
               20, "no escalation")
    lib.wait_until(lambda: not any(map(lib.alive, recorders)), 30, "the end of the recorders")
    (t.vault / "interposer.db").rmdir()
    t.run("sessions", "--vault", t.vault)
    eq(list(t.journals.iterdir()), [], "journals")
    lost = sum(json.loads(x[0])["lost"] for x in t.rows("SELECT detail FROM events WHERE kind = 'gap'"))
    check(lost > 20, f"{lost} messages lost")
    eq(t.rows("SELECT count(*) FROM messages WHERE kind <> 'stderr'")[0][0] + lost, 2 * 60 * 2, "messages, and those that the gaps name")


@case("pass: a database of a newer version is unchanged")
def _(t):
    t.vault.mkdir(mode=0o700)
    db = sqlite3.connect(t.vault / "interposer.db")
    db.execute("CREATE TABLE future (x)")
    db.execute("PRAGMA user_version = 4000")
    db.commit()
    db.close()
    goes_on(t, t.vault)
    eq(t.rows("SELECT name FROM sqlite_schema"), [(b"future",)], "tables")


@case("pass: a vault without write permission")
def _(t):
    if lib.ROOT_USER:
        raise Skip("root may write anywhere")
    t.vault.mkdir(mode=0o500)
    goes_on(t, t.vault)


@case("a vault readable by others is made private, or there is a warning")
def _(t):
    t.vault.mkdir()
    t.vault.chmod(0o755)
    p = t.proxy().initialize()
    p.end()
    private = t.vault.stat().st_mode & 0o077 == 0
    check(private or p.own_lines("(warn|error)"), "the vault stays open to others and nothing is said")
    for f in t.vault.rglob("*"):
        with contextlib.suppress(FileNotFoundError):    # a recorder that exits removes the write-ahead log
            eq(f.stat().st_mode & 0o077, 0, f"what others may do with {f.name}")


def outside(t):
    folder = t.tmp / "outside"
    folder.mkdir()
    (folder / "victim").write_text("untouched\n")
    return folder


@case("a vault that is a symbolic link is followed or rejected with a warning, never lost silently")
def _(t):
    folder = t.tmp / "real"
    folder.mkdir(mode=0o700)
    (t.tmp / "link").symlink_to(folder)
    p = t.proxy(vault=t.tmp / "link", server=[fake("answer")])
    Calls(p).make(5, 10)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    lib.settle()
    recorded = (folder / "interposer.db").exists() and t.rows("SELECT count(*) FROM messages", vault=folder) == [(10,)]
    if not recorded:
        few_lines(p)


for name, where in (("the database", "interposer.db"), ("the database's WAL", "interposer.db-wal"),
                    ("the log directory", "Logs"), ("the actions directory", "Logs/MCP_Actions"), ("Bodies", "Bodies")):
    @case(f"a symbolic link in place of {name} is not followed")
    def _(t, where=where):
        folder = outside(t)
        target = folder / "victim" if "db" in where else folder
        t.vault.mkdir(mode=0o700)
        (t.vault / where).parent.mkdir(exist_ok=True, mode=0o700)
        (t.vault / where).symlink_to(target)
        p = t.proxy(server=[fake("answer"), "-s", "100000"])
        Calls(p).make(5, 100000)
        p.client.close_write()
        eq(p.wait(), 0, "exit status")
        eq(sorted(x.name for x in folder.iterdir()), ["victim"], "files outside the vault")
        eq((folder / "victim").read_text(), "untouched\n", "the file outside the vault")
        if "Logs" in where:
            eq(t.rows("SELECT count(*) FROM messages"), [(10,)], "messages")
        recorded = t.vault / "interposer.db"
        if recorded.is_symlink() or t.rows("SELECT count(*) FROM messages") != [(10,)] or "db" not in where:
            few_lines(p)


@case("a symbolic link in place of today's log file is not followed")
def _(t):
    folder = outside(t)
    day = datetime.datetime.now(datetime.timezone.utc)
    for path in (t.vault, t.vault / "Logs", t.vault / "Logs/MCP_Actions"):
        path.mkdir(mode=0o700)
    for d in (day, day + datetime.timedelta(days=1)):
        (t.vault / f"Logs/MCP_Actions/{d:%Y-%m-%d}.jsonl").symlink_to(folder / "victim")
    p = t.proxy(server=[fake("answer")])
    Calls(p).make(5, 10)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq((folder / "victim").read_text(), "untouched\n", "the file outside the vault")
    eq(t.rows("SELECT count(*) FROM messages"), [(10,)], "messages")
    few_lines(p)


@case("pass: the vault is removed during the session: calls continue, the loss is reported, a new vault has the rest")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    calls.make(10, 100)
    lib.settle()
    shutil.rmtree(t.vault)
    def noticed():
        calls.make(5, 100)
        return p.own_lines("(warn|error)")
    lib.wait_until(noticed, 5, "the removed vault is noticed")

    def back():
        calls.make(1)
        try:
            return (t.vault / "interposer.db").exists() and \
                t.rows("SELECT count(*) FROM messages WHERE rpc_id = ?", str(calls.n - 1))[0][0] == 2
        except sqlite3.OperationalError:
            return False        # its tables are being made
    lib.wait_until(back, 10, "recording comes back in a new vault")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    few_lines(p)
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")
    check(t.rows("SELECT detail FROM events WHERE kind = 'gap'"), "no gap event")
    eq(t.rows("SELECT count(*) FROM sessions"), [(1,)], "sessions in the new vault")


@case("pass: the vault is moved during the session: nothing is lost, or the loss is reported")
def _(t):
    p = t.proxy(server=[fake("answer")])
    calls = Calls(p)
    calls.make(10, 100)
    lib.settle()
    os.rename(t.vault, t.tmp / "moved")
    calls.make(200, 100)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(lib.integrity(t.tmp / "moved"), [(b"ok",)], "integrity_check of the moved vault")
    if t.rows("SELECT count(*) FROM messages", vault=t.tmp / "moved") != [(2 * calls.n,)]:
        few_lines(p)


@case("pass: the log directory cannot be written: calls and recording continue, with a warning")
def _(t):
    t.vault.mkdir(mode=0o700)
    (t.vault / "Logs").write_text("in the way")
    p = t.proxy(server=[fake("answer")])
    Calls(p).make(50, 100)
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    few_lines(p)
    eq(t.rows("SELECT count(*) FROM messages"), [(100,)], "messages")


lib.main()
