#!/usr/bin/env python3
"""kill -9 of the interposer's processes at random moments under load, again and again.

    tests/stress/kills.py [--rounds N] [--at-once K] [--seed X|random] [--only I]

In each round the proxy, the recorder, both, or all of our processes are killed while messages go through, during the
start as well. What is killed, and when, depends on the seed and the round's number; --only repeats one.

Afterwards, and after one reading command, every message that the server or the client has received is in the database
exactly once, in order; the database and the log directory are sound; no journal and no process is left.
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence"))

import lib  # noqa: E402
import verifier  # noqa: E402
from lib import check, eq, fake  # noqa: E402

PER_VAULT = 8       # rounds that use one vault, one after the other
PR_SET_CHILD_SUBREAPER = 36
# What happens: (weight, the processes that are killed one after the other, how the session ends after that)
DEATHS = [(30, ["proxy"], None), (15, ["recorder"], "close"), (10, ["recorder", "recorder"], "close"),
          (10, ["recorder", "proxy"], None), (30, ["both"], None), (10, ["recorder", "both"], None), (10, ["all"], None)]


def burst(r, n):
    """Requests of many sizes, some with a body that is stored outside the database."""
    sizes = [r.choice((10, 10, 50, 300, 300, 2000, 9000)) for _ in range(n)]
    for _ in range(3):
        sizes[r.randrange(n)] = 80000
    return b"".join(lib.call(i, "load", {"t": "l" * s}) + b"\n" for i, s in enumerate(sizes))


# --- processes: everything below this one belongs to the round ------------------------------------

def adopt_orphans():
    """Processes whose parent was killed become children of this one."""
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "prctl")


def below(pid):
    found = []
    try:
        kids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    for kid in map(int, kids):
        found += [kid, *below(kid)]
    return found


def ours():
    """{pid: short name} of the interposer's processes below this one."""
    found = {}
    for pid in below(os.getpid()):
        try:
            if os.path.samefile(f"/proc/{pid}/exe", lib.PROGRAM):
                found[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            pass        # it has just exited
    return found


def reap():
    """Collect what has exited. True when nothing is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


# --- one round ------------------------------------------------------------------------------------

class Round:
    def __init__(self, seed, number, t, vault, load):
        self.number, self.t, self.vault, self.load = number, t, vault, load
        r = self.r = random.Random(f"{seed}:{number}")
        _, self.deaths, self.end = r.choices(DEATHS, [d[0] for d in DEATHS])[0]
        self.early = r.random() < 0.1 and self.end is None      # during the start: nothing was received yet
        self.sync_full = r.random() < 0.15
        self.log = t.tmp / f"server-{number}"
        self.server = [fake("answer"), "-l", self.log, "-n", r.choice(("0", "0", "2")), "-s", r.choice(("2", "400", "70000"))]
        self.sent = 0
        self.got = b""

    def __str__(self):
        return (f"round {self.number}: {' then '.join(self.deaths)} killed{', at the start' if self.early else ''}"
                f"{', --sync full' if self.sync_full else ''}")

    def run(self):
        """Returns the number of messages that were received."""
        self.p = self.t.proxy(*(["--sync", "full"] if self.sync_full else []), vault=self.vault, server=self.server)
        try:
            for number, death in enumerate(self.deaths):
                self.play(wait_for_first=number == 0 and not self.early)
                self.kill(death)
            if self.end == "close":
                self.play()
                self.close()
            self.p.proc.wait(20 * lib.PATIENCE)
            self.got += self.p.client.rest(20)
        finally:
            self.p.client.close()
        lib.wait_until(reap, 10, lambda: f"the end of these processes: {[(p, self.name_of(p)) for p in below(os.getpid())]}")
        received = {"c2s": self.log.read_bytes() if self.log.exists() else b"", "s2c": self.got}
        if self.sync_full:
            self.look(received, "before a reading command")
        shown = self.t.run("sessions", "--vault", self.vault)
        check(shown.returncode == 0 or b"nothing has been recorded" in shown.stderr or not self.vault.exists(),
              lambda: f"sessions: {shown.returncode} {shown.stderr!r}")
        # A proxy that was killed while it made its journal leaves a file without magic, which is removed a minute later.
        eq([x.name for x in self.t.journals.iterdir() if x.open("rb").read(4).strip(b"\0")], [], "journals left")
        n = self.look(received, "after a reading command", whole=True)
        self.t.proxies.clear()
        self.log.unlink(missing_ok=True)
        return n

    @staticmethod
    def name_of(pid):
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:80]
        except OSError:
            return "?"

    def play(self, wait_for_first=False):
        """Messages go through for a short random time."""
        client = self.p.client
        seconds = self.r.choice((0.001, 0.005, 0.02, 0.05)) * self.r.uniform(0.05, 1.5) * lib.SLOW
        first, end = time.monotonic() + 20 * lib.PATIENCE, time.monotonic() + seconds
        while time.monotonic() < (first if wait_for_first else end):
            try:
                self.sent += client.try_write(memoryview(self.load)[self.sent:self.sent + 65536])
            except OSError:
                return      # the proxy has exited
            client.fill(min(time.monotonic() + 0.0005, max(end, time.monotonic() + 0.0001)))
            if client.eof:
                return
            if client.buf:
                if wait_for_first:
                    wait_for_first, end = False, time.monotonic() + seconds
                self.got += client.buf
                client.buf.clear()
                client.scanned = 0

    def kill(self, who):
        pids = ours()
        if who == "proxy":
            chosen = [self.p.pid]
        elif who == "recorder":
            chosen = [pid for pid, name in pids.items() if name == "mcp-recorder"]
        else:
            chosen = [pid for pid, name in pids.items() if who == "all" or name != "mcp-notifier"]
            self.r.shuffle(chosen)
        for pid in chosen:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self):
        """The client completes its line and closes its side."""
        rest = self.load[self.sent:self.load.find(b"\n", self.sent - 1) + 1] if self.sent else b""
        end = time.monotonic() + 10 * lib.PATIENCE
        while rest:
            check(time.monotonic() < end, "the proxy does not read any more")
            rest = rest[self.p.client.try_write(rest):]
            self.p.client.fill(time.monotonic() + 0.001)
        self.p.client.close_write()
        self.got += self.p.client.rest(20)
        eq(self.p.wait(20), 0, "exit status")
        eq(self.p.own_lines("error"), [], "errors")

    def look(self, received, when, whole=False):
        """`whole`: the record must be complete, not only have what was received."""
        session = self.session()
        if session is None:
            eq(received, {"c2s": b"", "s2c": b""}, f"{when}: received without a session in the record")
            return 0
        id, uid = session
        with lib.database(self.vault) as db:
            rows = db.execute("SELECT seq, direction, kind, action, CAST(body AS BLOB), body_offset, body_length FROM "
                              "messages WHERE session_id = ? ORDER BY id", (id,)).fetchall()
            bodies = self.vault / "Bodies" / uid
            bodies = bodies.read_bytes() if bodies.exists() else b""
            eq([r[0] for r in rows], list(range(1, len(rows) + 1)), f"{when}: seq")
            for direction, got in received.items():
                lines = [r[4] if r[4] is not None else bodies[r[5]:r[5] + r[6]] for r in rows
                         if (r[1].decode(), r[3]) == (direction, b"forwarded") and r[2] != b"stderr"]
                recorded = b"".join(line + b"\n" for line in lines)
                if not recorded.startswith(got):
                    same = next((i for i, (a, b) in enumerate(zip(recorded, got)) if a != b), min(len(recorded), len(got)))
                    raise lib.Failure(f"{when}: {direction}: {len(got)} bytes received, {len(recorded)} bytes in {len(lines)} rows "
                                      f"recorded, the same up to {same}: {lib.short(got[same:same + 100])}")
            if whole:
                self.look_at_rest(db, id, uid)
        return sum(got.count(b"\n") for got in received.values())

    def session(self):
        if not (self.vault / "interposer.db").exists():
            return None
        try:
            found = lib.rows(self.vault, "SELECT id, uid FROM sessions WHERE pid = ? ORDER BY id DESC LIMIT 1", self.p.pid)
        except lib.sqlite3.OperationalError as e:
            check("no such table" in str(e), f"the database: {e}")
            return None
        return (found[0][0], found[0][1].decode()) if found else None

    def look_at_evidence(self, uid, reason):
        report = verifier.verify(self.vault)
        eq([str(x) for x in report.log], [], "what is wrong with the log")
        status = {x["uid"]: (x["status"], x.get("wrong")) for x in report.sessions}
        eq({u: s for u, s in status.items() if s[0] == "TAMPERED"}, {}, "sessions that are accused")
        eq(status[uid][0].startswith("incomplete"), reason == b"killed", f"incomplete, because {reason}")

    def look_at_rest(self, db, id, uid):
        eq([r[0] for r in db.execute("PRAGMA integrity_check")], [b"ok"], "integrity_check")
        reason, ended = db.execute("SELECT end_reason, ended_at_us FROM sessions WHERE id = ?", (id,)).fetchone()
        check(ended is not None, "the session did not end")
        check(self.end is None or reason != b"killed", f"end_reason {reason}")
        self.look_at_evidence(uid, reason)
        eq([tuple(r) for r in db.execute("SELECT * FROM journals")], [], "rows in journals")
        eq([tuple(r) for r in db.execute("SELECT kind, detail FROM events WHERE session_id = ? AND kind IN ('gap', 'unrecordable')",
                                         (id,))], [], "events that say that something is missing")
        finished = [r[0] for r in db.execute("SELECT request_seq FROM invocations WHERE session_id = ? AND response_seq IS NOT NULL "
                                             "ORDER BY response_seq", (id,))]
        lines = [json.loads(line) for path in sorted((self.vault / "Logs/MCP_Actions").glob("*.jsonl"))
                 for line in path.read_bytes().splitlines()]
        logged = [line["seq"] for line in lines if line["session"] == uid]
        eq(len(logged), len(set(logged)), "lines in the log directory, without duplicates")
        eq(sorted(set(finished) - set(logged)), [], "finished calls that are not in the log directory")


# --- many rounds ----------------------------------------------------------------------------------

def work(seed, keep, worker, numbers, out):
    """Runs rounds, a line of JSON for each."""
    adopt_orphans()
    t = lib.Test(f"kills {worker}")
    load = burst(random.Random(seed), 3000)
    vault = None
    try:
        for done, number in enumerate(numbers):
            if done % PER_VAULT == 0:
                if vault is not None:
                    shutil.rmtree(vault, ignore_errors=True)
                vault = t.tmp / f"vault-{done}"
            round = Round(seed, number, t, vault, load)
            report = {"number": number, "name": str(round)}
            try:
                report["received"] = round.run()
            except BaseException as e:
                report["problem"] = str(e) if isinstance(e, lib.Failure) else traceback.format_exc()
                report["stderr"] = round.p.stderr()[-2000:].decode("utf-8", "replace") if hasattr(round, "p") else ""
            os.write(out, (json.dumps(report) + "\n").encode())
            if "problem" in report:
                if keep:
                    subprocess.run(["cp", "-a", "--sparse=always", t.tmp, t.journals, keep], check=False)
                return
    finally:
        for pid in below(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        t.proxies.clear()
        t.close()


def run(seed, rounds, at_once=4, only=None, keep=None):
    """Prints the result. Returns the number of failures."""
    start, numbers = time.monotonic(), [only] if only is not None else range(rounds)
    fake("answer")
    read, write = os.pipe()
    workers = []
    for i in range(min(at_once, len(numbers))):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(read)
                work(seed, keep, i, numbers[i::at_once], write)
                status = 0
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        workers.append(pid)
    os.close(write)
    with open(read, encoding="utf-8") as f:
        reports = [json.loads(line) for line in f]
    crashed = [pid for pid in workers if os.waitpid(pid, 0)[1] != 0]
    for r in reports:
        if "problem" in r:
            print(f"not ok - {r['name']}; again: tests/stress/kills.py --seed {seed} --only {r['number']}")
            print("\n".join(f"# {line}" for line in (r["problem"] + "\n" + r["stderr"]).splitlines()))
    failed = sum("problem" in r for r in reports) + len(crashed)
    if not failed:
        received = [r["received"] for r in reports]
        print(f"ok - {len(reports)} rounds of kill -9 in {time.monotonic() - start:.0f} s: {sum(received)} messages received, "
              f"none in {received.count(0)} rounds", flush=True)
        if len(reports) >= 20 and received.count(0) > len(reports) / 2:
            print("not ok - nothing was received in most rounds: this shows little")
            failed = 1
    return failed


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--rounds", type=int, default=2000)
    a.add_argument("--at-once", type=int, default=4)
    a.add_argument("--seed", default="random")
    a.add_argument("--only", type=int)
    a.add_argument("--keep", help="copy the vault and the journals of a failed round to this directory")
    args = a.parse_args()
    if args.seed == "random":
        args.seed = str(random.SystemRandom().randrange(1 << 32))
    print(f"# seed {args.seed}", flush=True)
    failed = run(args.seed, args.rounds, args.at_once, args.only, args.keep)
    print(f"{int(not failed)} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
