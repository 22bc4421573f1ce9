#!/usr/bin/env python3
"""prune: by hand, and by an idle proxy."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import time

import lib
from lib import Background, call, case, check, eq, fake, note, text_result
from looking import UID, add_message, add_session, answer, fails, make_vault, run, wait_for_sessions

DAY = 86400 * 10**6


def utc_day(us):
    return time.strftime("%Y-%m-%d", time.gmtime(us / 1e6))


def make(t, n=10):
    """Sessions that ended so many days ago: n, n - 1, …, 1; each with 450 messages and all that goes with one."""
    now = int(time.time() * 1e6)
    with contextlib.closing(make_vault(t.vault)) as db:
        (t.vault / "Bodies").mkdir(mode=0o700)
        (t.vault / "Escalations").mkdir(mode=0o700)
        (t.vault / "Logs/MCP_Actions").mkdir(parents=True, mode=0o700)
        for i in range(1, n + 1):
            start = now - (n + 1 - i) * DAY - 1000000
            add_session(db, i, name=f"s{i}", started_at_us=start, ended_at_us=start + 1000000, end_reason="client-closed", exit_status=0)
            db.execute("BEGIN")
            for seq in range(1, 451):
                add_message(db, i, seq, body='{"text":"word%d %s"}' % (i, "x" * 900))
            db.execute("INSERT INTO events (session_id, t_us, kind) VALUES (?, 0, 'spawn')", (i,))
            db.execute("COMMIT")
            (t.vault / "Bodies" / (UID % i)).write_bytes(b"b" * 100000)
            (t.vault / f"Logs/MCP_Actions/{utc_day(start)}.jsonl").write_text("{}\n")
            file = t.vault / f"Escalations/2026{i:04d}T000000.000Z-hang-s{i}.md"
            file.write_text("---\n")
            os.utime(file, ns=(start * 1000, start * 1000))
    return now


def left(t):
    """What there is of sessions: in each table, in each folder."""
    with lib.database(t.vault) as db:
        tables = [tuple(r[0] for r in db.execute(f"SELECT DISTINCT {c} FROM {x} ORDER BY 1"))
                  for x, c in (("sessions", "id"), ("messages", "session_id"), ("events", "session_id"))]
    folders = [tuple(sorted(f.name for f in (t.vault / x).iterdir())) for x in ("Bodies", "Escalations", "Logs/MCP_Actions")]
    return tables, folders


def whole(t, ids, n=10):
    """Sessions `ids` are there with all that belongs to them, and nothing else is."""
    tables, folders = left(t)
    now = int(time.time() * 1e6)
    for x in tables:
        eq(x, tuple(ids), "sessions in a table")
    eq(folders[0], tuple(UID % i for i in ids), "large bodies")
    eq(len(folders[1]), len(ids), f"escalations: {folders[1]}")
    check(len(ids) <= len(folders[2]) <= len(ids) + 1 and folders[2][-1] <= utc_day(now), f"log files: {folders[2]}")
    with lib.database(t.vault) as db:
        eq(db.execute("PRAGMA integrity_check").fetchone()[0], b"ok", "integrity_check")


@case("prune --older-than removes sessions with everything that belongs to them, and the file shrinks")
def _(t):
    make(t)
    run(t, "search", "word3")
    before = (t.vault / "interposer.db").stat().st_size
    r = t.run("prune", "--older-than", "6d", "--dry-run", "--vault", t.vault)
    eq(r.returncode, 1, f"status of --dry-run; {r.stderr!r}")
    lines = r.stdout.decode().splitlines()
    eq([x.split()[1] for x in lines[:-1]], ["1", "2", "3", "4", "5"], "sessions of --dry-run")
    check(lines[-1].startswith("would remove 5 sessions, 2250 messages, 5 files of large bodies, "), lines[-1])
    whole(t, range(1, 11))
    text = run(t, "prune", "--older-than", "6d", "--yes")
    check(text.startswith("removed 5 sessions, 2250 messages, 5 files of large bodies, "), text)
    whole(t, range(6, 11))
    after = (t.vault / "interposer.db").stat().st_size
    check(after < 0.7 * before, f"{before} bytes became {after}")
    eq(list((t.vault / "Search").iterdir()), [], "the index")
    eq(t.run("search", "word3", "--vault", t.vault).returncode, 1, "search for what is gone")
    check("word7" in run(t, "search", "word7"), "search for what is there")
    eq(t.run("prune", "--older-than", "6d", "--dry-run", "--vault", t.vault).returncode, 0, "nothing is left to remove")


@case("prune --keep-last and --max-size: combined rules keep what one of them keeps")
def _(t):
    make(t)
    run(t, "prune", "--older-than", "1s", "--keep-last", "8", "--yes")
    whole(t, range(3, 11))
    run(t, "prune", "--keep-last", "6", "--yes")
    whole(t, range(5, 11))
    run(t, "prune", "--max-size", "100GiB", "--yes")
    whole(t, range(5, 11))
    size = sum(f.stat().st_size for f in t.vault.rglob("*") if f.is_file())
    run(t, "prune", "--max-size", f"{size // 2}B", "--yes")
    (ids, *_), _ = left(t)
    check(0 < len(ids) <= 3 and ids[-1] == 10, f"sessions {ids} of half the size")
    check(sum(f.stat().st_size for f in t.vault.rglob("*") if f.is_file()) <= size // 2 + 300000, "the size")
    eq(t.run("prune", "--max-size", "1B", "--yes", "--vault", t.vault).returncode, 0, "1 B")
    (ids, *_), _ = left(t)
    eq(ids, (10,), "the newest always stays")


def objects(t, status, *args):
    r = t.run("prune", *args, "--json", "--vault", t.vault)
    eq((r.returncode, r.stderr), (status, b""), f"prune {args}")
    *sessions, sums = [json.loads(x) for x in r.stdout.decode().splitlines()]
    eq({x["type"] for x in sessions} - {"pruned"}, set(), "types")
    return sessions, sums


def log_of(t, days_ago, size):
    file = t.vault / "Logs/MCP_Actions" / f"{utc_day(int(time.time() * 1e6) - days_ago * DAY)}.jsonl"
    file.write_bytes(b"x" * size)
    return file


@case("prune --max-size removes the log files first if they are what is large, and no session for them")
def _(t):
    for days_ago in (100, 3):   # older than all sessions; of a day with sessions
        make(t, 6)
        log = log_of(t, days_ago, 20_000_000)
        _, sums = objects(t, 1, "--max-size", "10MB", "--dry-run")
        eq((sums["sessions"], sums["logs"] > 0), (0, True), f"--dry-run, {days_ago} days")
        check(sums["bytes_before"] > 20e6 and sums["bytes_after"] < 5e6, f"{sums}")
        run(t, "prune", "--max-size", "10MB", "--yes")
        check(not log.exists(), "the log file")
        eq(left(t)[0][0], (1, 2, 3, 4, 5, 6), f"sessions, {days_ago} days")
        shutil.rmtree(t.vault)


@case("prune --max-size keeps today's log file, removes no session in its place, and says so")
def _(t):
    make(t, 6)
    log = log_of(t, 0, 20_000_000)
    r = t.run("prune", "--max-size", "10MB", "--yes", "--vault", t.vault)
    eq((r.returncode, r.stdout), (0, b"nothing to remove\n"), f"{r.stderr!r}")
    check("remain, which is more than the limit: running sessions, the newest session and today's log file are never removed" in r.stderr.decode(), r.stderr)
    check(log.exists(), "today's log file")
    eq(left(t)[0][0], (1, 2, 3, 4, 5, 6), "sessions")


@case("prune --dry-run says what the vault will have; --max-size removes no more than it must")
def _(t):
    for rule in (("--max-size", "2MB"), ("--older-than", "84h")):
        make(t, 6)
        run(t, "search", "word3")
        _, planned = objects(t, 1, *rule, "--dry-run")
        r = t.run("prune", *rule, "--dry-run", "--vault", t.vault).stdout.decode()
        check("the vault would have" in r and "of its" in r, r)
        _, sums = objects(t, 0, *rule, "--yes")
        eq([sums[k] for k in ("sessions", "bytes_before")], [planned[k] for k in ("sessions", "bytes_before")], "as planned")
        check(0.97 < planned["bytes_after"] / sums["bytes_after"] < 1.03, f"{planned} became {sums}")
        one = (planned["bytes_before"] - planned["bytes_after"]) / planned["sessions"]
        if rule[0] == "--max-size":
            check(2e6 - 1.2 * one < sums["bytes_after"] <= 2e6, f"{sums}")
        shutil.rmtree(t.vault)


@case("prune --older-than and --max-size need a unit: 30 are not 30 seconds, and 2 are not 2 bytes")
def _(t):
    make(t, 3)
    for rule, value, says in (("--older-than", "30", "invalid age '30': use a number and a unit"),
                              ("--max-size", "2", "invalid size '2': use a number and a unit")):
        check(says in fails(t, 2, "prune", rule, value, "--vault", t.vault), f"{rule} {value}")
    whole(t, (1, 2, 3))
    run(t, "prune", "--older-than", "1w", "--yes")
    whole(t, (1, 2, 3))
    run(t, "prune", "--older-than", "1mo", "--yes")
    whole(t, (1, 2, 3))
    check(run(t, "prune", "--older-than", "0.28w", "--yes").startswith("removed 2 sessions"), "a fraction of a week")
    whole(t, (3,))


@case("prune on a terminal shows what would be removed, and asks; --yes does not ask")
def _(t):
    make(t, 5)
    for word in ("n", "", "x", "yess"):
        said = answer(t, word + "\n", 1, "prune", "--older-than", "36h")
        check("session 1  " in said and "session 4  " in said and "would remove 4 sessions" in said, said)
        check("Remove all this? [y/N] " in said and "nothing was removed" in said, said)
        whole(t, range(1, 6))
    said = answer(t, "y\n", 0, "prune", "--older-than", "84h")
    check("Remove all this? [y/N] " in said and "removed 2 sessions" in said, said)
    whole(t, (3, 4, 5))
    said = answer(t, None, 0, "prune", "--older-than", "84h")
    eq(said.splitlines()[0], "nothing to remove", "nothing to ask")
    eq(answer(t, None, 0, "prune", "--older-than", "84h", "--dry-run"), "nothing to remove\n", "--dry-run")
    said = answer(t, None, 0, "prune", "--older-than", "60h", "--yes")
    check("[y/N]" not in said and "removed 1 session," in said, said)
    whole(t, (4, 5))


@case("prune removes nothing without --yes where it cannot ask")
def _(t):
    make(t, 3)
    rule, says = ("prune", "--older-than", "36h"), "cannot ask before removing, since stdin or stderr is not a terminal: add --dry-run, or --yes"
    check(says in " ".join(answer(t, None, 2, *rule, stdin=subprocess.DEVNULL).split()), "stdin is not a terminal")
    eq(answer(t, None, 2, *rule, stderr=subprocess.DEVNULL), "", "stderr is not a terminal")
    check(says in fails(t, 2, *rule, "--vault", t.vault), "in a script")
    check(says in fails(t, 2, "prune", "--older-than", "1w", "--vault", t.vault), "also with nothing to remove")
    whole(t, (1, 2, 3))
    check("would remove 2 sessions" in answer(t, None, 1, *rule, "--dry-run", stdin=subprocess.DEVNULL), "--dry-run")
    check("removed 2 sessions" in answer(t, None, 0, *rule, "--yes", stdin=subprocess.DEVNULL), "--yes")
    whole(t, (3,))
    eq(run(t, *rule, "--yes").splitlines()[0], "nothing to remove", "the second time")


@case("prune --json lists what would be removed, and what was; it never asks")
def _(t):
    make(t, 6)
    with lib.database(t.vault) as db:
        rows = [tuple(x.decode() if isinstance(x, bytes) else x for x in r)
                for r in db.execute("SELECT id, uid, name, started_at_us, ended_at_us FROM sessions ORDER BY id LIMIT 3")]
    rule = ("--older-than", "84h")
    for more in ((), ("--yes",)):
        sessions, sums = objects(t, 1, *rule, "--dry-run", *more)
        eq([x["id"] for x in sessions], [1, 2, 3], "sessions of --dry-run")
        eq((sums["removed"], sums["sessions"], sums["messages"]), (False, 3, 1350), "sums of --dry-run")
        eq({x["removed"] for x in sessions}, {False}, "removed")
    whole(t, range(1, 7))
    for dry, status in ((("--dry-run",), 1), ((), 2)):
        said = answer(t, None, status, "prune", *rule, "--json", *dry)
        check("[y/N]" not in said and ("add --dry-run, or --yes to remove" in said) == (not dry), said)
    r = t.run("prune", *rule, "--json", "--vault", t.vault)
    check(r.returncode == 2 and b"add --dry-run, or --yes to remove" in r.stderr and r.stdout == b"", f"in a pipe: {r}")
    whole(t, range(1, 7))
    sessions, sums = objects(t, 0, *rule, "--yes")
    eq([tuple(x[k] for k in ("id", "uid", "name", "started_at_us", "ended_at_us")) for x in sessions], rows, "removed sessions")
    eq({x["removed"] for x in sessions}, {True}, "removed")
    eq({k: sums[k] for k in ("type", "removed", "sessions", "messages", "bodies", "escalations")},
       dict(type="sums", removed=True, sessions=3, messages=1350, bodies=3, escalations=3), "sums")
    check(sums["file_bytes"] >= 300000 and sums["logs"] >= 2 and "free_bytes" in sums, f"{sums}")
    whole(t, (4, 5, 6))
    for args, removed in ((("--dry-run",), False), (("--yes",), True)):
        sessions, sums = objects(t, 0, *rule, *args)
        eq((sessions, sums["removed"], sums["sessions"], sums["file_bytes"]), ([], removed, 0, 0), f"nothing left, {args}")


@case("prune --json: if the removal fails, what is gone is listed")
def _(t):
    make(t, 4)
    run(t, "search", "word2")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.executescript(f"""PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'leaf TEXT NOT NULL',
            'leaf TEXT NOT NULL CONSTRAINT "not this one" CHECK (leaf NOT LIKE ''%"prune","session":"{UID % 2}"%'')') WHERE name = 'leaves'""")
    r = t.run("prune", "--older-than", "1s", "--yes", "--json", "--vault", t.vault)
    check(r.returncode == 3 and b"not this one" in r.stderr, f"{r}")
    one, sums = [json.loads(x) for x in r.stdout.decode().splitlines()]
    eq((one["id"], sums["type"], sums["sessions"]), (1, "sums", 1), "what is gone")


@case("prune --json of a vault without sessions prints the sums alone")
def _(t):
    for args, removed in ((("--dry-run",), False), (("--yes",), True)):
        r = t.run("prune", "--keep-last", "1", "--json", *args, env={"XDG_STATE_HOME": str(t.tmp / "none"), "MCP_INTERPOSER_VAULT": str(t.tmp / "none/v")})
        eq((r.returncode, r.stderr), (0, b""), f"{args}")
        sums = json.loads(r.stdout)
        eq((sums["type"], sums["removed"], sums["sessions"]), ("sums", removed, 0), f"{args}")


@case("prune never removes running sessions, and finishes an interrupted run")
def _(t):
    now = make(t, 4)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("UPDATE sessions SET ended_at_us = NULL, end_reason = NULL WHERE id IN (1, 2, 3)")
        db.execute("INSERT INTO running (session_id, boot, pid, pid_start) VALUES (1, 'x', 1, 1)")
        db.execute("UPDATE sessions SET host = 'elsewhere.example' WHERE id = 1")
        db.execute("UPDATE sessions SET started_at_us = ? WHERE id = 3", (now - 3600 * 10**6,))
        db.execute("DELETE FROM messages WHERE session_id = 2 AND seq < 100")
    orphan = t.vault / "Bodies" / ("0" * 26)
    orphan.write_bytes(b"x")
    os.utime(orphan, (0, 0))
    (t.vault / "Bodies" / "notes.txt").write_text("mine")
    run(t, "prune", "--older-than", "1s", "--yes")
    tables, folders = left(t)
    eq(tables[0], (1, 3, 4), "sessions")
    eq(folders[0], tuple(sorted([UID % 1, UID % 3, UID % 4, "notes.txt"])), "files")


@case("prune without a rule is an error; [retention] is a rule, and its keys are checked")
def _(t):
    make(t, 3)
    check("missing session or rule: use --older-than" in fails(t, 2, "prune", "--vault", t.vault), "no rule")
    ini = t.tmp / "c.ini"
    ini.write_text("[retention]\nkeep-last = 2\n")
    run(t, "prune", "--config", ini, "--yes")
    whole(t, (2, 3))
    for text, says in (("older-than = soon", ":2: older-than: invalid age 'soon'"),
                       ("older-than = 30", ":2: older-than: invalid age '30': use a number and a unit, such as 12h, 30d"),
                       ("max-size = 2", ":2: max-size: invalid size '2': use a number and a unit, such as 500MiB"), ("keep = 3", "unknown key 'keep'; did you mean 'keep-last'?")):
        ini.write_text(f"[retention]\n{text}\n")
        for args in (["prune"], ["sessions"], ["--", "true"]):
            got = fails(t, 2, *(["--config", ini] + args if args[0] == "--" else args + ["--config", ini]))
            check(says in got, f"{args}: {got}")


@case("prune SESSION removes that one, the newest too, and its number is not used again")
def _(t):
    make(t, 3)
    before = left(t)[1]
    for ref, status, says in (("9", 3, "no session '9'"), ("1", 2, "give only one of them")):
        check(says in fails(t, status, "prune", ref, "--yes", "--vault", t.vault, *(["--keep-last", "1"] if status == 2 else [])), ref)
    said = t.run("prune", "2", "--dry-run", "--vault", t.vault)
    eq(said.returncode, 1, "status of --dry-run")
    check(said.stdout.startswith(b"session 2  ") and b"would remove 1 session, 450 messages, 1 file of large bodies, 0 log files, 0 escalations" in said.stdout, said)
    whole(t, (1, 2, 3))
    p = t.proxy("--name", "runs").initialize()
    wait_for_sessions(t, 4)
    says = fails(t, 3, "prune", "4", "--yes", "--vault", t.vault)
    check("session 4 is running; end it first" in says, says)
    p.end()
    sessions, sums = objects(t, 0, "runs", "--yes")
    eq(([x["id"] for x in sessions], sums["sessions"], sums["logs"], sums["escalations"]), ([4], 1, 0, 0), "the newest")
    run(t, "prune", "1", "--yes")
    tables, folders = left(t)
    eq(tables[0], (2, 3), "sessions")
    eq(folders[:2], [before[0][1:], before[1]], "large bodies and escalations")
    check(set(before[2]) <= set(folders[2]), f"log files: {folders[2]}")
    t.proxy("--name", "next").initialize().end()
    eq(t.rows("SELECT id FROM sessions ORDER BY id"), [(2,), (3,), (5,)], "numbers")
    said = t.run("audit", "verify", "--vault", t.vault)
    eq(said.returncode, 0, f"audit verify: {said.stdout.decode()} {said.stderr.decode()}")
    for ref in ("5", "3", "2"):
        run(t, "prune", ref, "--yes")
    eq(t.rows("SELECT count(*) FROM sessions"), [(0,)], "nothing is left")
    t.proxy("--name", "again").initialize().end()
    eq(t.rows("SELECT id FROM sessions"), [(6,)], "the number after all of them")
    eq(t.run("audit", "verify", "--vault", t.vault).returncode, 0, "audit verify")


def kept_while_busy(t, p):
    """Write ten times a second. True: no session was removed in four seconds."""
    stop = []

    def busy():
        while not stop:
            p.client.send(note("x"))
            p.server.recv()
            time.sleep(0.1)
    kept = True
    with Background(busy, seconds=100):
        end = time.monotonic() + 4 * lib.SLOW
        while kept and time.monotonic() < end:
            kept = left(t)[0][0] == (1, 2, 3, 4, 5, 6)
            time.sleep(0.2)
        stop.append(True)
    return kept


@case("a proxy with [retention] removes old sessions while nobody writes, and not before", limit=120)
def _(t):
    ini = t.tmp / "c.ini"
    ini.write_text("[retention]\nolder-than = 3d\nkeep-last = 1\n")
    for _ in range(4):
        make(t, 5)
        p = t.proxy("--name", "idle", "--config", ini).initialize()
        if kept_while_busy(t, p):
            break
        p.end()             # on a busy machine the writer or the recorder may be delayed so long that it counts as a pause
        lib.wait_until(lambda: not list(t.journals.iterdir()), 10, "the session is stored")
        shutil.rmtree(t.vault)
    else:
        raise lib.Failure("sessions are removed while somebody writes")
    lib.wait_until(lambda: left(t)[0][0] == (4, 5, 6), 30, "the old sessions are gone")
    lib.wait_until(lambda: len(left(t)[1][0]) == 2, 10, "their large bodies are gone")
    p.client.send(call(1))
    p.server.recv()
    p.server.send(text_result(1, "x"))
    p.client.recv()
    p.end()
    eq(p.complaints(), [], "what the proxy says")
    (ids, messages, _), _ = left(t)
    eq((ids, messages), ((4, 5, 6), (4, 5, 6)), "at the end")


@case("prune by hand while four proxies write: nothing is lost, and it finishes", limit=120)
def _(t):
    calls = 3000 if lib.SLOW == 1 else 300
    make(t, 10)
    proxies = [t.proxy("--name", f"p{i}", server=[fake("answer"), "-s", "100"]) for i in range(4)]

    wait_for_sessions(t, 14)

    def drive(p, window=32):
        for k in range(calls + window):
            if k < calls:
                p.client.send(call(k))
            if k >= window:
                p.client.recv(10)
    threads = [Background(drive, p, seconds=100) for p in proxies]
    text = run(t, "prune", "--older-than", "12h", "--yes", seconds=60)
    check(text.startswith("removed 10 sessions, 4500 messages"), text)
    for x in threads:
        x.join()
    for p in proxies:
        p.client.close_write()
    for p in proxies:
        eq(p.wait(10), 0, "exit status")
        eq(p.complaints(), [], "what the proxy complains of")
    eq(t.rows("SELECT count(*), count(DISTINCT session_id) FROM messages"), [(8 * calls, 4)], "what is recorded")


lib.main()
