#!/usr/bin/env python3
"""kill -9 at random moments under load: whatever either side has received is in the database, and the
database is sound."""
import os
import random
import sys
import threading
import time

import lib
from lib import case, check, eq, fake

KILLS = int(os.environ.get("E2E_KILLS", "200" if lib.SLOW == 1 else "40"))
PER_VAULT = 10
SEED = int(os.environ.get("E2E_SEED", str(random.SystemRandom().randrange(10**6))))


def burst(r, n):
    """Requests of many sizes, some with a body that lies in Bodies."""
    sizes = [r.choice((10, 10, 50, 300, 300, 2000, 9000)) for _ in range(n)]
    for _ in range(3):
        sizes[r.randrange(n)] = 80000
    return b"".join(lib.call(i, "load", {"t": "l" * s}) + b"\n" for i, s in enumerate(sizes))


def bodies_of(vault, session_id, direction):
    """The forwarded lines of one direction as one stream of bytes."""
    out = []
    with lib.database(vault) as db:
        uid = db.execute("SELECT uid FROM sessions WHERE id = ?", (session_id,)).fetchone()[0].decode()
        path = vault / "Bodies" / uid
        bodies = path.read_bytes() if path.exists() else b""
        last = 0
        for seq, body, off, n in db.execute(
                "SELECT seq, CAST(body AS BLOB), body_offset, body_length FROM messages WHERE session_id = ? "
                "AND direction = ? AND action = 'forwarded' AND kind != 'stderr' ORDER BY seq", (session_id, direction)):
            check(seq > last, "seq goes back")
            last = seq
            if body is None:
                body = bodies[off:off + n]
                eq(len(body), n, f"length of the body in Bodies of message {seq}")
            out.append(body)
    return b"".join(b + b"\n" for b in out), len(out)


def one_kill(t, r, n, vault, load):
    log = t.tmp / f"server-{n}"
    p = t.proxy(*r.choice(([], [], ["--sync", "full"])), vault=vault,
                server=[fake("answer"), "-l", log, "-n", r.choice(("0", "0", "2")), "-s", r.choice(("2", "400", "70000"))])
    stop = threading.Event()

    def write():
        at = 0
        try:
            while at < len(load) and not stop.is_set():
                k = p.client.try_write(memoryview(load)[at:at + 65536])
                at += k
                if k == 0:
                    p.client._ready(p.client.write_fd, 4, time.monotonic() + 0.01)
        except OSError:
            pass     # the interposer has gone
    writer = threading.Thread(target=write)
    writer.start()
    if r.random() < 0.5:
        p.client.fill(time.monotonic() + 10 * lib.SLOW)     # however slow the machine is, half of them have received something
    end = time.monotonic() + r.choice((0.005, 0.02, 0.05, 0.1)) * r.uniform(0.1, 1.5) * lib.SLOW
    while p.client.fill(end) and not p.client.eof and time.monotonic() < end:
        pass
    p.die(all_of_it=r.random() < 0.5)
    stop.set()
    writer.join()
    got_client = p.client.rest(10)
    lib.wait_until(lambda: not log.exists() or not any_writer(log), 5, "the server is gone")
    got_server = log.read_bytes() if log.exists() else b""
    p.client.close()

    session = None
    if (vault / "interposer.db").exists():
        try:
            found = lib.rows(vault, "SELECT id FROM sessions WHERE pid = ? ORDER BY id DESC LIMIT 1", p.pid) \
                if lib.UNDER != "valgrind" else lib.rows(vault, "SELECT max(id) FROM sessions")
            session = found[0][0] if found else None
        except lib.sqlite3.OperationalError as e:
            check("no such table" in str(e), f"the database after kill {n}: {e}")
    if session is None:
        eq((got_server, got_client), (b"", b""), "received without a session in the record")
        return 0
    total = 0
    for got, direction, who in ((got_server, "c2s", "server"), (got_client, "s2c", "client")):
        recorded, count = bodies_of(vault, session, direction)
        total += got.count(b"\n")
        if not recorded.startswith(got):
            same = next((i for i, (a, b) in enumerate(zip(recorded, got)) if a != b), min(len(recorded), len(got)))
            raise lib.Failure(f"kill {n}: the {who} has received {len(got)} bytes, {len(recorded)} bytes in {count} rows "
                              f"are recorded, the same up to {same}: {got[same:same + 100]!r}")
    return total


def any_writer(path):
    """Is a process still holding the log open? The server dies with us, but a moment later."""
    want = str(path)
    for pid in os.listdir("/proc"):
        if pid.isdigit() and lib.alive(pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if want.encode() in f.read().split(b"\0"):
                        return True
            except OSError:
                pass
    return False


@case(f"{KILLS} kills under load, two kills in three on a vault that was killed before", limit=150)
def _(t):
    print(f"# seed {SEED}")
    sys.stdout.flush()
    r = random.Random(SEED)
    load = burst(r, 3000)
    received, empty = 0, 0
    for n in range(KILLS):
        vault = t.tmp / f"vault-{n // PER_VAULT}"
        got = one_kill(t, r, n, vault, load)
        received += got
        empty += got == 0
        if (vault / "interposer.db").exists():
            eq(lib.integrity(vault), [(b"ok",)], f"integrity_check after kill {n}")
        if n % PER_VAULT == PER_VAULT - 1:
            lib.shutil.rmtree(vault, ignore_errors=True)
            t.proxies.clear()
    print(f"# {received} messages received in {KILLS} runs, none in {empty} of them")
    check(empty < KILLS / 2, f"nothing was received in {empty} of {KILLS} runs: this shows little")


@case("kills while a new vault is being made: it can be read, and used by the next session")
def _(t):
    r = random.Random(SEED)
    made = 0
    for n in range(40):
        vault = t.tmp / f"new-{n}"
        p = t.proxy(vault=vault, server=[fake("answer")])
        p.client.send(lib.call(n))
        end = time.monotonic() + r.uniform(0, 0.012) * lib.SLOW
        while time.monotonic() < end:      # the moment of death, to the microsecond
            pass
        p.die(all_of_it=r.random() < 0.7)
        made += (vault / "interposer.db").exists()
        shown = t.run("sessions", "--vault", vault)
        check(shown.returncode == 0 or b"nothing has been recorded" in shown.stderr or not vault.exists(),
              f"sessions after kill {n}: {shown.returncode} {shown.stderr!r}")
        q = t.proxy(vault=vault, server=[fake("answer")])
        q.client.send(lib.call(n))
        eq(q.client.recv_json()["id"], n, "id of the answer")
        q.client.close_write()
        eq(q.wait(), 0, "exit status")
        eq(q.own_lines("(warn|error)"), [], f"warnings and errors after kill {n}")
        eq(len(t.messages("session_id = (SELECT max(id) FROM sessions)", vault=vault)), 2, "messages of the next session")
        eq(lib.integrity(vault), [(b"ok",)], "integrity_check")
    check(made > 5, f"only {made} of 40 got as far as a database")


@case("after a kill the next session goes on in the same vault, and the old one can be shown")
def _(t):
    p = t.proxy("--name", "killed").initialize()
    p.round("before")
    p.die()
    p.server.exit()
    q = t.proxy("--name", "next").initialize()
    q.round("after")
    q.end()
    eq(t.rows("SELECT s.name, m.rpc_id FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.kind = "
              "'result' AND m.rpc_id != '\"init\"' ORDER BY s.id"), [(b"killed", b'"before"'), (b"next", b'"after"')], "answers")
    r = t.run("sessions", "--vault", t.vault)
    check(b"killed" in r.stdout and b"next" in r.stdout, "both sessions are listed")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


lib.main()
