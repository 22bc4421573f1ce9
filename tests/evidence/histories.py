#!/usr/bin/env python3
"""Honest histories of the real program, combined at random: none may be called tampered.

    tests/evidence/histories.py [--n 1000] [--seed X|random] [--only I] [--keep DIR]

A history is a vault in which some of STEPS happen one after the other. At its end, one value is changed, which must be
found. What happens depends on the seed and the
number of the history; --only repeats one.
"""
import argparse
import random
import shutil
import sqlite3
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import form  # noqa: E402
import lib  # noqa: E402
import program  # noqa: E402
import verifier  # noqa: E402
from lib import check, eq, fake  # noqa: E402

STEPS = []
RULES = "[redact]\npattern.word = [q]uietword-[0-9]{4}\n"
TOOLS = [{"name": name, "description": "quietword-5555", "inputSchema": {"type": "object"}} for name in
         ("add", "sub", "mul", "quietword-2222")]


def step(weight, first=False):
    """first: it only happens in a vault that does not exist yet."""
    def note(fn):
        STEPS.append((weight, first, fn))
        return fn
    return note


class History:
    def __init__(self, seed, number):
        self.number, self.r, self.t = number, random.Random(f"{seed}:{number}"), lib.Test(f"history {number}")
        self.vault, self.names, self.wanted = self.t.vault, [], {}
        self.config = self.t.tmp / "rules.ini"
        self.config.write_text(RULES)

    def run(self):
        for i in range(self.r.randint(1, 6)):
            possible = [(w, fn) for w, first, fn in STEPS if not first or i == 0]
            fn = self.r.choices([fn for _, fn in possible], [w for w, _ in possible])[0]
            self.names.append(fn.__name__)
            fn(self)
            if self.r.random() < 0.3:
                self.verify()
        self.verify(whole=True)
        self.damage()

    def verify(self, whole=False):
        """whole: every program has ended, and everything is sealed."""
        if not (self.vault / "interposer.db").exists():
            return
        with lib.database(self.vault):      # completes what a killed process has begun to write
            pass
        report = verifier.verify(self.vault)
        wrong = [s for s in report.sessions if s["status"] == "TAMPERED"] + [w.text for w in report.log]
        eq(wrong, [], "what the verifier says")
        if whole:
            eq([(s["id"], s["status"], s["text"]) for s in program.verify(self.vault).sessions],
               [(s["id"], s["status"], s["text"]) for s in report.sessions], "what the program says, and the verifier")
        with lib.database(self.vault) as db:
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'leaves'").fetchone():
                pids = {p.pid for p in self.t.proxies}
                eq([s["id"] for s in report.sessions if self.pid(db, s["id"]) in pids], [], "sessions that were recorded without evidence")
                return
            (after,), *_ = db.execute("SELECT json_extract(leaf, '$.after') FROM leaves WHERE n = 0")
        for s in report.sessions:
            covered = s["status"] != "not covered"
            eq(covered, s["id"] is None or s["id"] > after, f"session {s['id']} is covered")
            if whole and covered:
                check(s["status"] != "open" and (s["status"] != "being removed" or "interrupted" in self.names),
                      f"session {s['id']} is {s['status']} at the end")

    @staticmethod
    def pid(db, id):
        return db.execute("SELECT pid FROM sessions WHERE id = ?", (id,)).fetchone()[0]

    def damage(self):
        """One value of a sealed session in a copy of the vault is changed, which must be found."""
        if not (self.vault / "interposer.db").exists():
            return
        copy = self.t.tmp / "copy"
        shutil.copytree(self.vault, copy)
        with closing(sqlite3.connect(copy / "interposer.db", isolation_level=None)) as db:
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'leaves'").fetchone():
                return
            db.execute("PRAGMA synchronous = OFF")
            sealed = [id for id, in db.execute("""SELECT id FROM sessions WHERE uid IN (SELECT json_extract(leaf, '$.session') FROM leaves
                WHERE json_extract(leaf, '$.type') = 'seal') ORDER BY id""")]
            if not sealed:
                return
            id = self.r.choice(sealed)
            table, where = self.r.choice((("messages", f"session_id = {id}"), ("events", f"session_id = {id}"), ("sessions", f"id = {id}")))
            found = db.execute(f"SELECT id FROM {table} WHERE {where} ORDER BY random() LIMIT 1").fetchone()
            if found is None:
                return
            fields = {"messages": (*form.MESSAGE_FIELDS, "body", "body_offset", "body_length"), "events": (*form.EVENT_FIELDS, "place"),
                      "sessions": (*form.SESSION_FIELDS, *form.END_FIELDS, "records", "tree")}
            column = self.r.choice((*fields[table], "salt", "commitment"))
            kind, = [k for _, name, k, *_ in db.execute(f"PRAGMA table_info({table})") if name == column]
            value = {"INTEGER": f"coalesce({column} + 1, 1)", "TEXT": f"coalesce({column} || 'x', '')",
                     "BLOB": f"CAST({column} || x'00' AS BLOB)"}[kind]
            db.execute(f"UPDATE {table} SET {column} = {value} WHERE id = ?", found)
        for verify in (verifier.verify, program.verify):
            report = verify(copy)
            eq(report.verdict, "TAMPERED", f"verdict after a change of {table}.{column}, row {found[0]}")
            eq([s["id"] for s in report.sessions if s["status"] == "TAMPERED" and s["id"]], [id], f"sessions, after a change of {table}.{column}")

    # what steps use

    def other_rule(self):
        word = self.r.choice(("quiet[a-z]{4}", "noise", "test [c]lient", "[r]edacted:word", "[r]edacted:word", "stderr", "[l]oad"))
        self.config.write_text(RULES + f"pattern.other = {word}\n")

    def command(self, *args, statuses=(0,)):
        got = self.t.run(*args, "--vault", self.vault, seconds=60)
        older = b"start a proxy once to upgrade it" in got.stderr
        check(got.returncode in statuses or older, f"{args}: status {got.returncode}, {got.stderr[-500:]!r}")
        return got

    def proxy(self, *options, size=None, notes=0):
        """A proxy with the quick server."""
        server = [fake("answer"), "-s", str(size if size is not None else self.r.choice((2, 400, 9000))), "-n", str(notes)]
        return self.t.proxy("--name", self.r.choice(("files", "git", "mail")), *options, server=server)

    def body(self):
        if self.r.random() < 0.1:
            return self.r.choice(("é" * 63, "quietword-1234", "", "\\u0000", "x" * 120, "x" * 127))
        return "p" * self.r.choice((1, 50, 300, 2000))

    def play(self, p, n):
        """n calls with their answers; some are not calls, but arrays, noise and notifications."""
        for i in range(n):
            kind = self.r.random()
            if kind < 0.03:
                p.client.send(b"[" + lib.call(f"a{i}", "load") + b"," + lib.call(f"b{i}", "load") + b"]")
            elif kind < 0.06:
                p.client.send(lib.note("notifications/progress", {"i": i}))
            elif kind < 0.08:
                p.client.send(b"this is noise quietword-4321")
            p.client.send(lib.call(i, "load", {"t": self.body()}))
            self.until(p, i)

    @staticmethod
    def until(p, i):
        while not p.client.recv(10).startswith(b'{"jsonrpc":"2.0","id":%d,' % i):
            pass

    def finish(self, p):
        p.client.close_write()
        p.client.rest(20)
        p.wait(20)


# --- steps ----------------------------------------------------------------------------------------

@step(30)
def plain(h):
    p = h.proxy(*h.r.choice(((), (), ("--record", "full"), ("--record", "minimal"), ("--sync", "full"))), notes=h.r.choice((0, 0, 2)))
    h.play(p, h.r.choice((0, 1, 5, 30, 31, 32, 33, 60, 100)))
    if h.r.random() < 0.2:
        h.verify()          # while it runs
    h.finish(p)


@step(8)
def many(h):
    """More than 64 records, and now and then more than 64 * 64."""
    p, n = h.proxy(size=2), h.r.choice((200, 200, 200, 700, 700, 2100))
    for i in range(n):
        p.client.send(lib.call(i, "load"))
        if i >= 16:
            h.until(p, i - 16)
    h.until(p, n - 1)
    h.finish(p)


@step(8)
def large(h):
    p = h.proxy("--record", "full", size=h.r.choice((70000, 200000)))
    for i in range(h.r.randint(1, 4)):
        p.client.send(lib.call(i, "load", {"t": "quietword-7777 " + "l" * h.r.choice((10, 65000, 65536, 80000, 300000))}))
        h.until(p, i)
    h.finish(p)


@step(10)
def tools(h):
    """Lists of tools that differ from those of the session before."""
    for _ in range(h.r.randint(1, 3)):
        p = h.t.proxy("--name", "calc", "--record", "full", *h.r.choice(((), ("--check-arguments", "off")))).initialize()
        for i in range(h.r.randint(1, 2)):
            p.client.send(lib.request(i, "tools/list"))
            p.server.recv()
            p.server.say_err(b"a line of stderr\n" * h.r.randint(0, 3))
            p.server.send(lib.result(i, {"tools": h.r.sample(TOOLS, h.r.randint(1, 4))}))
            p.client.recv()
        p.end()


@step(8)
def server_ends(h):
    """The server exits, or is killed, with a request pending."""
    p = h.t.proxy("--name", "crash").initialize()
    p.client.send(lib.call(1), lib.call(2))
    p.server.recv()
    if h.r.random() < 0.5:
        p.server.exit(h.r.choice((0, 3)))
    else:
        p.server.kill(9)
    p.client.rest(20)
    p.wait(20)


@step(12)
def killed(h):
    """The proxy, the recorder, or all is killed; with or without a command after that."""
    p, n = h.proxy(notes=h.r.choice((0, 2))), h.r.choice((1, 20, 40, 100))
    h.play(p, h.r.choice((1, 5, 32, 70)))
    p.client.send(*(lib.call(1000 + i, "load", {"t": "k" * h.r.choice((5, 500, 70000))}) for i in range(n)))
    p.client.fill(time.monotonic() + h.r.uniform(0, 0.02))
    p.die(all_of_it=h.r.random() < 0.6)
    p.client.close()
    if h.r.random() < 0.5:
        h.command("sessions")
        h.verify()


@step(2)
def killed_early(h):
    """While it starts."""
    p = h.proxy()
    p.client.fill(time.monotonic() + h.r.uniform(0, 0.06))
    p.die(all_of_it=h.r.random() < 0.8)
    p.client.close()


@step(6)
def interrupted(h):
    """A command that changes the vault is killed."""
    if not (h.vault / "interposer.db").exists():
        return plain(h)
    h.other_rule()
    file = h.r.choice(sorted((lib.ROOT / "tests/contracts").glob("*.jsonl")))
    command = h.r.choice((["prune", "--keep-last", "1", "--yes"], ["import", file], ["redact", "--apply", "--all", "--config", h.config]))
    lib.settle()
    child = lib.subprocess.Popen([lib.PROGRAM, *map(str, command), "--vault", h.vault], env=h.t.environ(), stdin=lib.subprocess.DEVNULL,
                                 stdout=lib.subprocess.DEVNULL, stderr=lib.subprocess.DEVNULL)
    with suppress(lib.subprocess.TimeoutExpired):
        child.wait(h.r.uniform(0, 0.04))
    child.kill()
    child.wait()


@step(4)
def timed_out(h):
    p = h.t.proxy("--name", "slow", "--timeout", "50ms", "--on-hang", "cancel").initialize()
    p.client.send(lib.call(1), lib.call(2))
    for _ in range(2):
        check(b'"error"' in p.client.recv(10), "an error after the deadline")
    p.server.exit(0)
    h.finish(p)


@step(3)
def restarted(h):
    p = h.t.proxy("--name", "restarts", "--restarts", "1", server=["sh", "-c", "read line; exit 3"])
    p.client.send(lib.call(1))
    check(b'"error"' in p.client.recv(10), "an error when the server has exited")
    h.finish(p)


@step(6)
def recorder_killed(h):
    p = h.proxy()
    for i in range(h.r.randint(1, 3)):
        h.play(p, h.r.choice((1, 20, 70)))
        recorder = p.recorder()
        lib.os.kill(recorder, lib.signal.SIGKILL)
        p.client.send(lib.call(5000 + i, "load"))
        h.until(p, 5000 + i)
        p.recorder(other_than=recorder)
    h.finish(p)


@step(10)
def two_at_once(h):
    proxies = [h.proxy() for _ in range(h.r.randint(2, 3))]
    for _ in range(h.r.randint(1, 4)):
        h.play(h.r.choice(proxies), h.r.choice((1, 10, 50)))
    h.r.shuffle(proxies)
    for p in proxies:
        if h.r.random() < 0.2:
            p.die(all_of_it=True)
            p.client.close()
        else:
            h.finish(p)


@step(8)
def imported(h):
    file = h.r.choice(sorted((lib.ROOT / "tests/contracts").glob("*.jsonl")))
    h.command("import", file)


@step(6)
def moved(h):
    """A session from another vault."""
    if not (h.vault / "interposer.db").exists():
        return plain(h)
    file = h.t.tmp / f"moved-{len(h.names)}.jsonl"
    if h.command("export", "last", "-o", file, statuses=(0, 1, 2)).returncode == 0:
        h.command("import", file)


@step(20)
def redacted(h):
    """Each session that has a word is changed; now and then while a proxy runs."""
    if not (h.vault / "interposer.db").exists():
        return plain(h)
    p = h.proxy() if h.r.random() < 0.3 else None
    if p:
        h.play(p, 3)
    h.other_rule()
    h.command("redact", "--apply", "--all", "--config", h.config, statuses=(0, 1))
    if p:
        h.play(p, 3)
        h.finish(p)


@step(8)
def pruned(h):
    if not (h.vault / "interposer.db").exists():
        return plain(h)
    h.command("prune", "--keep-last", h.r.choice(("1", "2", "3")), "--yes")


@step(5)
def searched(h):
    if (h.vault / "interposer.db").exists():
        h.command("search", "quietword", statuses=(0, 1))


def old_vault(h, version):
    """A vault of an older version, with sessions that are not covered."""
    h.vault.mkdir(mode=0o700)
    with closing(sqlite3.connect(h.vault / "interposer.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript((lib.ROOT / f"tests/compat/files/vault-{version}.sql").read_text())
        db.commit()


@step(10, first=True)
def upgraded_1(h):
    old_vault(h, 1)


@step(10, first=True)
def upgraded_2(h):
    old_vault(h, 2)


# --- many -----------------------------------------------------------------------------------------

def one(seed, number, keep=None):
    """(number, names of the steps, what is wrong or None, what the program said)"""
    h = History(seed, number)
    problem = said = None
    try:
        h.run()
    except Exception as e:      # every exception is a failure of this history, and the others go on
        problem = str(e) if isinstance(e, lib.Failure) else traceback.format_exc()
        said = b"".join(p.stderr()[-500:] for p in h.t.proxies[-2:]).decode("utf-8", "replace")
        if keep and h.vault.exists():
            shutil.copytree(h.vault, Path(keep) / f"history-{number}", dirs_exist_ok=True)
    finally:
        problems = h.t.close()
        problem = problem or ("; ".join(problems) if problems else None)
    return number, " ".join(h.names), problem, said


def run(seed, numbers, keep=None, at_once=4):
    """Prints what failed. (number that passed, number that failed)"""
    for name in ("answer", "puppet"):
        fake(name)      # before several processes need it
    failed = 0
    with ProcessPoolExecutor(at_once) as pool:
        for done in [pool.submit(one, seed, n, keep) for n in numbers]:
            number, names, problem, said = done.result()
            if problem:
                failed += 1
                print(f"not ok - history {number}: {names}; again: tests/evidence/histories.py --seed {seed} --only {number}")
                print("\n".join(f"# {line}" for line in [*problem.splitlines(), *(said or "").splitlines()]), flush=True)
    return len(numbers) - failed, failed


def main():
    a = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    a.add_argument("--n", type=int, default=1000)
    a.add_argument("--seed", default="1")
    a.add_argument("--only", type=int)
    a.add_argument("--keep", metavar="DIR", help="copy the vaults of failed histories to this directory")
    args = a.parse_args()
    seed = str(random.SystemRandom().randrange(1 << 32)) if args.seed == "random" else args.seed
    numbers = [args.only] if args.only is not None else range(args.n)
    start = time.monotonic()
    print(f"# seed {seed}", flush=True)
    passed, failed = run(seed, numbers, args.keep)
    if passed:
        print(f"ok - {passed} honest histories are not called tampered, in {time.monotonic() - start:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
