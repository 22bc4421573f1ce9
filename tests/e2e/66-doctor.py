#!/usr/bin/env python3
"""doctor: vaults with and without problems, and the remedy in each finding."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
from xml.etree import ElementTree

import disks
import lib
from lib import case, check, dump, eq
from looking import add_message, add_session, make_vault, on_terminal, run
from replaying import sarif


def doctor(t, *args, status=0, env=None):
    """{check: [(state, text, remedy)]}"""
    r = t.run("doctor", "--json", *args, "--vault", t.vault, env=env)
    eq((r.returncode, r.stderr), (status, b""), f"status and stderr; {r.stdout.decode()[-800:]}")
    found = {}
    for x in map(json.loads, r.stdout.splitlines()):
        eq(set(x), {"type", "check", "state", "text", "remedy"}, "members")
        eq(x["remedy"] is None, x["state"] == "ok", f"remedy of {x}")
        found.setdefault(x["check"], []).append((x["state"], x["text"], x["remedy"]))
    return found


def bad(found):
    return {k: [(text, remedy) for state, text, remedy in v if state == "found"] for k, v in found.items() if any(x[0] == "found" for x in v)}


DENIED_AT = 176     # `denied` of journal/ring.h
CONNECT = {"x86_64": 42, "aarch64": 203}[os.uname().machine]


def recorder(t):
    """What ps says of the only session, as soon as it is in the vault."""
    def row():
        lines = t.run("ps", "--json", "--vault", t.vault).stdout.splitlines()
        return json.loads(lines[0]) if len(lines) == 1 else None
    return lib.wait_until(row, 5, "ps does not list the session")


@case("doctor: sessions that are not in the table `calls`, if no proxy runs that adds them")
def _(t):
    t.proxy("--name", "x").initialize().end()
    check("calls" not in doctor(t), "a session with its calls")
    lib.settle()
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db, db:
        db.execute("DELETE FROM calls")
        db.execute("UPDATE sessions SET calls = NULL")
    (status, text, _), = doctor(t)["calls"]
    eq((status, text.partition(":")[0]), ("ok", "1 session is not in the table `calls` yet"), "a session without")
    p = t.proxy("--name", "x").initialize()
    check("calls" not in doctor(t), "while a proxy runs")
    p.end()


@case("doctor: no findings in a new vault, during a session, and without a vault")
def _(t):
    eq(set(doctor(t)), {"configuration", "vault", "key", "clients", "libraries"}, "checks without a vault")
    check(not t.vault.exists(), "it was made")
    p = t.proxy("--name", "x").initialize()
    recorder(t)
    got = doctor(t)
    eq(set(got), {"configuration", "permissions", "writing", "disk", "schema", "wal", "database", "integrity", "proxies", "seals", "journals", "recorders", "confinement", "escalations",
                  "retention", "key", "clients", "libraries", "servers", "deadlines", "tools"}, "checks")
    eq(got["proxies"], [("ok", "1 running", None)], "proxies")
    check("SQLite 3." in got["libraries"][0][1] and "libev 4." in got["libraries"][0][1], got["libraries"])
    p.end()
    check("integrity" not in doctor(t, "--quick"), "integrity with --quick")
    first, *lines = run(t, "doctor", "-v").splitlines()
    check(first.startswith("note   retention     recordings are kept until you remove them: "), first)
    check(all(x.startswith("ok     ") for x in lines) and len(lines) == 19, lines)
    eq(run(t, "doctor").splitlines(), [first, "19 checks ok; -v lists them"], "without -v")
    shown = on_terminal(t, "doctor", columns=80).splitlines()
    check(len(shown) < 24 and all(len(re.sub(r"\x1b\[\d*m", "", x)) <= 80 for x in shown), shown)


@case("doctor: how long recordings are kept")
def _(t):
    t.proxy("--name", "x").end()
    check("mcp-interposer prune" in doctor(t)["retention"][0][1], "nothing removes them")
    ini = t.tmp / "c.ini"
    ini.write_text("[retention]\nolder-than = 30d\nmax-size = 2GiB\n")
    eq(doctor(t, "--config", ini)["retention"], [("ok", "proxies remove old sessions: older-than = 30d, max-size = 2GiB", None)], "with rules")
    check("retention" not in run(t, "doctor", "--config", str(ini)), "no note")


@case("doctor: JUnit and SARIF have each check, and what was found")
def _(t):
    t.proxy("--name", "x").end()
    os.chmod(t.vault, 0o755)
    names = [x for x, rows in doctor(t, status=1).items() for _ in rows]
    eq(t.run("doctor", "--vault", t.vault, "--junit", t.tmp / "x", "--sarif", t.tmp / "s").returncode, 1, "exit status")
    suite = ElementTree.parse(t.tmp / "x").getroot().find("testsuite")
    eq([c.get("name") for c in suite.findall("testcase")], names, "cases")
    eq([c.get("name") for c in suite.findall("testcase") if c.find("failure") is not None], ["permissions"], "failures")
    check("to do: chmod 700 " in suite.find("testcase/failure").text, "the remedy")
    eq(sarif(t.tmp / "s"), [("permissions", "error", "permissions", None), ("retention", "note", "retention", None)], "SARIF")


@case("doctor: files that other users can read are reported with the chmod command")
def _(t):
    t.proxy("--name", "x").end()
    os.chmod(t.vault, 0o755)
    os.chmod(t.vault / "interposer.db", 0o644)
    (t.vault / "link").symlink_to("/etc/passwd")
    got = bad(doctor(t, status=1))
    eq(set(got), {"permissions"}, "findings")
    eq({x[1] for x in got["permissions"]}, {f"chmod 700 '{t.vault}'", f"chmod 600 '{t.vault}/interposer.db'",
                                            "replace the link with its target"}, "remedies")
    r = t.run("doctor", "--vault", t.vault)
    check(r.returncode == 1 and b"found  permissions   " in r.stdout and b"to do: chmod 700 " in r.stdout, r.stdout)
    (t.vault / "link").unlink()
    for x in (t.vault, *t.vault.iterdir()):  # SQLite gives -wal and -shm the mode of the database
        os.chmod(x, 0o700)
    eq(bad(doctor(t)), {}, "after doing so")


@case("doctor: a schema that is too new or too old, and a damaged database")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        for i in range(1, 400):
            add_session(db, i, uid=f"U{i}", command="x" * 400)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        version = db.execute("PRAGMA user_version").fetchone()[0]
    for f in t.vault.iterdir():
        os.chmod(f, 0o600)
    eq(bad(doctor(t)), {}, "before")
    for n, says, remedy in ((99, "newer", "use the newer"), (2, "older", "start a proxy once")):
        with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
            db.execute(f"PRAGMA user_version = {n}")
        got = bad(doctor(t, status=1))
        check(set(got) == {"schema"} and says in got["schema"][0][0] and remedy in got["schema"][0][1], got)
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db")) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (t.vault / "interposer.db").read_bytes()
    (t.vault / "interposer.db").write_bytes(whole[:100000] + b"\xff" * 20000 + whole[120000:])
    got = bad(doctor(t, status=1))
    check("integrity" in got and ".recover" in got["integrity"][0][1], got)
    (t.vault / "interposer.db").write_bytes(b"no database" * 1000)
    got = bad(doctor(t, status=1))
    check("interposer.db: file is not a database" in got["database"][0][0], got)


@case("doctor: escalations of the last day, with their path")
def _(t):
    t.proxy("--name", "x").end()
    eq(doctor(t)["escalations"], [("ok", "none", None)], "without any")
    folder = t.vault / "Escalations"
    folder.mkdir(mode=0o700)
    for name, age in (("20260101T000000.000Z-hang-x.md", 7200), ("20260101T000001.000Z-auth-x.md", 300), (".half.md", 1), ("notes.txt", 1)):
        (folder / name).touch(mode=0o600)
        os.utime(folder / name, (time.time() - age,) * 2)
    ((text, remedy),) = bad(doctor(t, status=1))["escalations"]
    check(text.startswith("2 escalations, the newest 5m"), text)
    check("mcp-interposer escalations show 20260101T000001.000Z;" in remedy and remedy.endswith("escalations done 20260101T000001.000Z"), remedy)
    for path in folder.glob("*.md"):
        os.utime(path, (time.time() - 90000,) * 2)
    eq(doctor(t)["escalations"], [("ok", "2 escalations; the newest is more than a day old", None)], "a day later")


@case("doctor: the remains of a killed proxy")
def _(t):
    p = t.proxy("--name", "x").initialize()
    lib.wait_until(lambda: recorder(t)["unstored_bytes"] == 0, 5, "the session is not stored")
    p.die(all_of_it=True)
    got = bad(doctor(t, status=1))
    eq(set(got), {"proxies"}, "findings")
    check(got["proxies"][0][0].startswith("1 killed proxy has left ") and got["proxies"][0][1] == "mcp-interposer reap", got)
    t.run("reap", "--vault", t.vault)
    eq(bad(doctor(t)), {}, "after reap")


@case("doctor: sessions that are not sealed and do not run: elsewhere, killed at their start, and with an end")
def _(t):
    t.proxy("--name", "x").end()
    eq(doctor(t)["seals"], [("ok", "all sessions that ended are sealed", None)], "an ended session")
    p = t.proxy("--name", "y").initialize()
    lib.wait_until(lambda: recorder(t)["unstored_bytes"] == 0, 5, "the session is not stored")
    eq(doctor(t)["seals"], [("ok", "all sessions that ended are sealed", None)], "a running session")
    p.die(all_of_it=True)
    got = bad(doctor(t, status=1))
    eq(set(got), {"proxies"}, "a killed proxy")
    check(got["proxies"][0][0].endswith("; its session has no recorded end and no seal"), got)

    def change(sql, *values):
        with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
            check(db.execute(sql, values).rowcount > 0, sql)

    def seals(says, remedy):
        got = bad(doctor(t, status=1))
        check(set(got) == {"seals"} and len(got["seals"]) == 1, got)
        check(got["seals"][0][0].startswith(says) and remedy in got["seals"][0][1], got)
    change("UPDATE running SET boot = 'another', pid_namespace = 1")
    change("UPDATE sessions SET host = 'elsewhere.example' WHERE name = 'y'")
    eq(bad(doctor(t)), {}, "elsewhere, perhaps running")
    change("UPDATE sessions SET started_at_us = started_at_us - ? WHERE name = 'y'", 2 * 86400 * 10**6)
    seals("1 session is not sealed: the proxy ran on another machine or in a container, ", "run mcp-interposer reap on that machine or in that container; ")
    change("DELETE FROM running")
    seals("1 session is not sealed: the proxy ran on another machine or in a container, ", "run mcp-interposer reap on that machine or in that container; ")
    change("UPDATE sessions SET host = (SELECT host FROM sessions WHERE name = 'x') WHERE name = 'y'")
    seals("1 session is not sealed: the proxy was killed before its process id was recorded, ", "reports the session as incomplete")
    change("UPDATE sessions SET ended_at_us = started_at_us, end_reason = 'killed' WHERE name = 'y'")
    seals("1 session is not sealed: the session has ended, but its seal is missing", "mcp-interposer audit verify")


@case("doctor: the recorder of a session, and what confines it")
def _(t):
    p = t.proxy("--name", "files").initialize()
    row = recorder(t)
    eq(p.children().get(row["recorder_pid"]), "mcp-recorder", "name of the recorder")
    command = open(f"/proc/{row['recorder_pid']}/cmdline", "rb").read().rstrip(b"\0")
    eq(command, b"mcp-interposer: recorder of files", "its title")
    check(row["recorder_rss_bytes"] > 0 and row["unstored_bytes"] is not None, row)
    ((state, text, _),) = doctor(t)["recorders"]
    check(state == "ok" and text.startswith(f"files: process {row['recorder_pid']}, 0B not yet stored, running for "), text)
    ((state, text, _),) = doctor(t)["confinement"]
    eq(state, "ok", "confinement")
    lib.wait_until(lambda: lib.status_of(row["recorder_pid"])["Seccomp"] == "2", 10, "the recorder has no filter of system calls")
    eq(lib.status_of(row["recorder_pid"])["NoNewPrivs"], "1", "no_new_privs")
    (journal,) = t.journals.iterdir()
    with open(journal, "r+b") as f:
        f.seek(DENIED_AT)
        f.write(struct.pack("=II", 1, CONNECT))
    (text, remedy), = bad(doctor(t, status=1))["confinement"]
    eq(text, "the recorder of files tried 1 system call that it may not use, the last one: connect", "a denied call")
    p.end()
    check("recorders" not in doctor(t), "a recorder after the end")


@case("doctor: a recorder that does not store, and one whose proxy cannot start another")
def _(t):
    p = t.proxy("--name", "files").initialize()
    pid = recorder(t)["recorder_pid"]
    os.kill(pid, signal.SIGSTOP)
    p.round()
    ((text, remedy),) = bad(doctor(t, status=1))["recorders"]
    check(text.startswith("the recorder of files has stored nothing for 1000 ms; ") and remedy.startswith(f"kill -9 {pid};"), (text, remedy))
    check(recorder(t)["unstored_bytes"] > 0, "nothing is unstored")
    os.kill(pid, signal.SIGKILL)
    eq(bad(doctor(t)), {}, "after the remedy")
    check(recorder(t)["recorder_pid"] != pid, "the recorder was not replaced")
    eq(len(t.messages()), 5, "messages")
    p.end()


@case("doctor: a database that another program keeps locked")
def _(t):
    p = t.proxy("--name", "files").initialize()
    lib.wait_until(lambda: recorder(t)["unstored_bytes"] == 0, 5, "not everything is stored")
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        p.round()
        got = bad(doctor(t, "--quick", status=1))["recorders"]
        check(len(got) == 1 and "another process has locked the database" in got[0][0], got)
        db.execute("ROLLBACK")
    lib.wait_until(lambda: recorder(t)["unstored_bytes"] == 0, 5, "the recorder does not store after the lock")
    eq(bad(doctor(t)), {}, "after the lock")
    p.end()


@case("doctor: a database that cannot be read, because another program has locked it, is not damaged")
def _(t):
    make_vault(t.vault).close()
    with contextlib.closing(sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("CREATE TABLE mine (a)")
        ((text, remedy),) = bad(doctor(t, status=1))["database"]
    check("database is locked" in text and "end the program that keeps the database locked" in remedy, (text, remedy))


@case("doctor: what a killed session left in memory, and a directory that cannot hold journals")
def _(t):
    p = t.proxy("--name", "files").initialize()
    os.kill(recorder(t)["recorder_pid"], signal.SIGSTOP)
    p.round()
    p.die(all_of_it=True)
    got = bad(doctor(t, status=1))
    eq(got["journals"], [("1 killed session has left messages that are not yet stored", "run mcp-interposer sessions, which stores these messages first")], "journals")
    t.run("sessions", "--vault", t.vault)
    t.run("reap", "--vault", t.vault)
    eq(bad(doctor(t)), {}, "afterwards")
    eq(len(t.messages()), 5, "messages")
    one, two = (t.journals / f"01M81F15ZAVZNB85ETRK5PS01{x}" for x in "ST")
    p = t.proxy("--name", "files").initialize()
    for path, says, remedy in ((one, "1 journal is damaged", "that wrote the journal, or remove the journal: mcp-interposer reap --journals"),
                               (two, "2 journals are damaged", "that wrote the journals, or remove the journals: mcp-interposer reap --journals")):
        path.write_bytes(b"not a journal" * 1000)
        path.chmod(0o600)
        ((text, advice),) = bad(doctor(t, status=1))["journals"]
        check(text.startswith(says) and advice.endswith(remedy), f"{text}: {advice}")
    for args, status, says in ((["--dry-run"], 1, "would remove 2 journals that this version cannot read\n"), ([], 0, "removed 2 journals that this version cannot read\n")):
        eq(run(t, "reap", "--journals", *args, status=status), says, f"reap --journals {args}")
        eq(one.exists() and two.exists(), bool(args), "the journals")
    eq(run(t, "reap", "--journals"), "", "the second time")
    eq(len(list(t.journals.iterdir())), 1, "the journal of the running session")
    p.round()
    p.end()
    one.write_bytes(b"x")
    one.chmod(0o600)
    eq(json.loads(run(t, "reap", "--journals", "--json")), {"type": "journals", "removed": True, "journals": 1, "without_vault": 0}, "--json")
    got = bad(doctor(t, "--journal-dir", t.vault, status=1))["journals"]
    check(len(got) == 1 and "if a proxy and its recorder are killed at once" in got[0][0] and "/dev/shm" in got[0][1], got)


@case("doctor, reap: journals of killed sessions whose vault is gone")
def _(t):
    for vault in (t.tmp / "one", t.tmp / "two"):
        p = t.proxy("--name", "files", vault=vault).initialize()
        os.kill(p.recorder(), signal.SIGSTOP)
        p.round()
        p.die(all_of_it=True)
        shutil.rmtree(vault, ignore_errors=True)
    (t.tmp / "two").write_text("a file in its place")
    eq(len(list(t.journals.iterdir())), 2, "journals")
    ((text, advice),) = bad(doctor(t, status=1))["journals"]
    check(text.startswith("2 journals with ") and f"for a vault that is gone or cannot be written: {t.tmp}/" in text, text)
    check("mcp-interposer reap --journals" in advice, advice)
    t.proxy("--name", "files").initialize().end()
    eq(json.loads(run(t, "reap", "--journals", "--dry-run", "--json", status=1)),
       {"type": "journals", "removed": False, "journals": 2, "without_vault": 2}, "--dry-run")
    r = t.run("reap", "--journals", "--vault", t.tmp / "two")
    check(r.returncode == 3 and r.stdout.startswith(b"removed 2 journals with "), r.stdout + r.stderr)
    eq(len(list(t.journals.iterdir())), 0, "journals")
    eq(bad(doctor(t)), {}, "afterwards")


@case("doctor: wrapped clients whose interposer or server does not exist, and files that cannot be read")
def _(t):
    servers = {name: {"command": command, "args": ["proxy", "--name", name, "--", *server]} for name, command, server in (
        ("fine", str(lib.PROGRAM), ["sh", "-c", "true"]), ("lost", "/opt/gone/mcp-interposer", ["sh"]),
        ("empty", str(lib.PROGRAM), ["/opt/gone/server", "x"]))}
    servers["plain"] = {"command": "/opt/gone/other"}
    (t.home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    (t.home / ".cursor").mkdir()
    (t.home / ".cursor/mcp.json").write_text("{ this is nothing")
    got = bad(doctor(t, status=1))["clients"]
    eq(len(got), 3, f"findings {got}")
    texts = "\n".join(x[0] for x in got)
    check("server lost is started by /opt/gone/mcp-interposer, which does not exist" in texts, texts)
    check("server empty runs /opt/gone/server, which does not exist" in texts, texts)
    check(f"{t.home}/.cursor/mcp.json: " in texts, texts)
    check("plain" not in texts and "fine" not in texts, texts)


def snapshot(folder):
    return {x: (x.stat().st_mtime_ns, x.stat().st_size, x.read_bytes() if x.is_file() else None) for x in (folder, *folder.rglob("*"))}


@case("doctor: a vault that cannot be written is a finding, also for root: read-only, full, a database of its own")
def _(t):
    disk = disks.mount(t, "1m")
    t.vault = disk / "vault"
    t.proxy("--name", "x").end()
    lib.recorders_ended(t.vault)
    before = snapshot(disk)
    eq(doctor(t)["writing"], [("ok", f"{t.vault} can be written", None)], "an ordinary vault")
    check(snapshot(disk) == before, "doctor has changed something")

    def findings(what):
        return [(text, remedy) for text, remedy in bad(doctor(t, status=1))["writing"]] or what

    disks.remount(disk, "ro")
    (text, remedy), = findings("read-only")
    check(text == f"{t.vault} cannot be written, so nothing is recorded: Read-only file system" and "mount the disk writable" in remedy, text)
    disks.remount(disk, "rw")
    ballast = disks.fill(disk)
    (text, remedy), = findings("full")
    check("No space left on device" in text and "free some space" in remedy, text)
    ballast.unlink()
    (t.vault / "Bodies").mkdir(mode=0o700, exist_ok=True)
    for name in ("interposer.db", "Bodies"):
        file = t.vault / name
        subprocess.run(["mount", "--bind", file, file], check=True)
        disks.remount(file, "bind,ro")
        (text, _), = findings(name)
        check(text.startswith(f"{file}") and "Read-only" in text, text)
        subprocess.run(["umount", file], check=True)
    eq(doctor(t)["writing"], [("ok", f"{t.vault} can be written", None)], "afterwards")


@case("doctor: a vault without the permission to write is a finding")
def _(t):
    if lib.ROOT_USER:
        raise lib.Skip("root may write everywhere")
    t.proxy("--name", "x").end()
    t.vault.chmod(0o500)
    try:
        (text, remedy), = bad(doctor(t, status=1))["writing"]
    finally:
        t.vault.chmod(0o700)
    check("Permission denied" in text and "chown -R" in remedy, text)


@case("doctor: an invalid configuration file is a finding, and everything else is checked")
def _(t):
    t.proxy("--name", "x").end()
    ini = t.tmp / "c.ini"
    ini.write_text("[proxy]\ntimeuot = 5s\n")
    got = doctor(t, "--config", ini, status=1)
    eq([(state, text) for state, text, _ in got["configuration"]], [("found", f"{ini}:2: unknown key 'timeuot'; did you mean 'timeout'?")], "finding")
    check({"permissions", "schema", "libraries"} <= set(got) and "clients" not in bad(got), got)
    ini.write_text("[proxy]\ntimeout = 5s\n")
    eq(doctor(t, "--config", ini)["configuration"], [("ok", f"{ini} is valid", None)], "corrected")
    eq(t.run("doctor", "--qick", "--vault", t.vault).returncode, 2, "a wrong option of doctor")


def add_calls(t, name, calls, days=0, **more):
    """A session that ended so many days ago, with calls of tools: (tool, seconds, how it ended)."""
    start = int(time.time() * 1e6) - int(days * 86400e6) - 10**9
    with contextlib.closing(make_vault(t.vault) if not t.vault.exists() else sqlite3.connect(t.vault / "interposer.db", isolation_level=None)) as db:
        os.chmod(t.vault / "interposer.db", 0o600)
        number = db.execute("SELECT coalesce(max(id), 0) + 1 FROM sessions").fetchone()[0]
        add_session(db, number, name=name, started_at_us=start, ended_at_us=start + 10**9, **more)
        for i, (tool, seconds, how) in enumerate(calls):
            seq, t_us = 2 * i + 1, 10**6 * 100 * i
            add_message(db, number, seq, t_us=t_us, kind="request", method="tools/call", target=tool, rpc_id=str(i))
            add_message(db, number, seq + 1, t_us=t_us + int(seconds * 1e6), direction="s2c", rpc_id=str(i), request_seq=seq,
                        **({"kind": "result"} if how == "ok" else {"kind": "error", "error_code": -32001, "origin": "interposer", "finding": "timeout"}))


@case("doctor: tools whose calls came close to their deadline are listed with the rule that raises it")
def _(t):
    add_calls(t, "files", [("quick", 2, "ok"), ("build", 25.5, "ok"), ("build", 24, "ok"), ("hang", 30, "timeout"), ("hang", 30, "timeout"),
                           ("both", 21, "ok"), ("both", 30, "timeout"), ("patient", 45, "ok")])
    add_calls(t, "files", [("old", 29, "ok")], days=8)
    add_calls(t, "files", [("imported", 29, "ok")], pid=0)
    got = dict(x for x in bad(doctor(t, status=1))["deadlines"])
    eq(list(got), ["both of files: in the last 7 days a call took 21.0s, and 1 call ended at the deadline; the deadline is 30.0s",
                   "build of files: in the last 7 days a call took 25.5s; the deadline is 30.0s",
                   "hang of files: in the last 7 days 2 calls ended at the deadline; the deadline is 30.0s"], "findings, by server and tool")
    check("tool:build = 5m in section [timeout]" in list(got.values())[1] and "--timeout tool:build=5m" in list(got.values())[1], got)
    check("deadlines" not in doctor(t, "--quick"), "--quick")
    ini = t.tmp / "c.ini"
    ini.write_text("[timeout]\ntool:build = 5m\ntool:hang = 5m\n")
    eq([x[0].split()[0] for x in bad(doctor(t, "--config", ini, status=1))["deadlines"]], ["both"], "with rules for two tools")
    ini.write_text("[timeout]\ndefault = 5m\n[proxy]\nmax-timeout = 35s\n")
    eq([x[0].split()[0] for x in bad(doctor(t, "--config", ini, status=1))["deadlines"]], ["both", "build", "hang"], "--max-timeout")
    ini.write_text("[timeout]\ndefault = 5m\n")
    eq(doctor(t, "--config", ini)["deadlines"], [("ok", "no call of the last 7 days came close to its deadline", None)], "a longer deadline")


@case("doctor: the options of a wrapped server give its deadlines, and wrong ones are a finding")
def _(t):
    add_calls(t, "slow", [("build", 25, "ok")])
    add_calls(t, "server-x", [("build", 25, "ok")])
    add_calls(t, "other", [("build", 25, "ok")])
    servers = {name: {"command": str(lib.PROGRAM), "args": args} for name, args in (
        ("slow", ["proxy", "--name", "slow", "--timeout", "tool:build=2m", "--", "true"]),
        ("x", ["-t", "1m", "--", "npx", "-y", "@scope/server-x"]),
        ("wrong", ["proxy", "--timeuot", "5s", "--", "true"]), ("rule", ["proxy", "-t", "build=5s", "--", "true"]))}
    (t.home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    got = bad(doctor(t, status=1))
    eq([x[0] for x in got["deadlines"]], ["build of other: in the last 7 days a call took 25.0s; the deadline is 30.0s"], "deadlines")
    texts = sorted(x[0] for x in got["clients"] if "does not exist" not in x[0])
    eq(len(texts), 2, texts)
    check("server rule cannot be started: 'build' is not a method" in texts[0], texts)
    check("server wrong cannot be started: unknown option --timeuot; did you mean --timeout?" in texts[1], texts)


@case("doctor: all sessions of the last seven days are read, not only the newest ones")
def _(t):
    add_calls(t, "first", [("build", 25, "ok")], days=6, end_reason="server-hung", exit_status=137)
    for _ in range(250):
        add_calls(t, "other", [("quick", 1, "ok")], days=1)
    got = doctor(t, status=1)
    eq([x[1].split(";")[0] for x in got["deadlines"]], ["build of first: in the last 7 days a call took 25.0s"], "deadlines")
    check(len(got["servers"]) == 1 and got["servers"][0][1].startswith("first: in its last session, 144h"), got["servers"])


def servers(t, status=1):
    return [(text, remedy) for state, text, remedy in doctor(t, status=status)["servers"] if state == "found"]


@case("doctor: a server that could not be started, answered nothing or ended its session is named, with its last error")
def _(t):
    hello = dump({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                  "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}) + b"\n"

    def session(name, *command):
        t.run("proxy", "--vault", t.vault, "--name", name, "--", *command, input=hello)
    session("nowhere", "/opt/gone/server")
    for _ in range(2):
        session("broken", "sh", "-c", "read x; echo 'Error: no module' >&2; exit 1")
    p = t.proxy("--name", "crashing").initialize()
    os.write(p.server.err_fd, b"Error: out of cheese\n    at start (/srv/a.js:1:1)\n\nNode.js v20.20.2\n")
    p.server.exit(3)
    p.wait()
    p = t.proxy("--name", "fine").initialize()
    p.end()
    got = servers(t)
    eq(len(got), 3, f"findings {got}")
    (crashing, see), (broken, _), (nowhere, _) = got
    check(re.fullmatch(r"crashing: in its last session, \S+ ago, the server ended the session \(server-exited 3\); "
                       r"the last error was: Error: out of cheese", crashing), crashing)
    check(see.startswith("see: mcp-interposer show 4; correct the command, "), see)
    check(re.match(r"broken: in its last 2 sessions, the newest \S+ ago, the server answered no request; the last error was: .*no module", broken), broken)
    check(re.match(r"nowhere: in its last session, \S+ ago, the server could not be started; the last error was: cannot find the server '/opt/gone/", nowhere), nowhere)
    check("servers" not in doctor(t, "--quick"), "--quick")
    p = t.proxy("--name", "broken")     # nothing is answered yet: the failures before it still count
    p.client.send(hello.strip())
    p.server.recv()
    lib.wait_until(lambda: t.rows("SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.ended_at_us IS NULL")[0][0], 5,
                   "the open session in the vault")
    eq(sorted(text.split(":")[0] for text, _ in servers(t)), ["broken", "crashing", "nowhere"], "with an open session")
    p.client.close_write()
    p.server.close()
    p.wait()
    for name in ("nowhere", "broken", "crashing"):
        t.proxy("--name", name).initialize().end()
    eq(doctor(t)["servers"], [("ok", "no server failed in its last session of the last 7 days", None)], "after sessions that did not fail")


@case("doctor: which sessions count as failed")
def _(t):
    now = int(time.time() * 1e6)
    rows = (  # name, days ago, seconds, reason, exit status, (call: seconds, or None for no answer), pid, finding of the answer, failed
        ("empty", 0, 100, "client-closed", 0, [], 1, None, False),
        ("open-long", 0, 100, "client-closed", 143, [(1, None)], 1, None, True),
        ("open-short", 0, 2, "client-closed", 143, [(1, None)], 1, None, False),
        ("interrupted", 0, 100, "client-closed", 143, [(1, "interrupted")], 1, "interrupted", True),
        ("timeout", 0, 100, "client-closed", 0, [(30, "timeout")], 1, "timeout", True),
        ("one-answer", 0, 100, "client-closed", 0, [(1, "ok"), (30, "timeout")], 1, "timeout", False),
        ("error", 0, 100, "client-closed", 0, [(1, "error")], 1, None, False),
        ("done", 0, 100, "server-exited", 0, [(1, "ok")], 1, None, False),
        ("exited", 0, 100, "server-exited", 1, [(1, "ok")], 1, None, True),
        ("hung", 0, 100, "server-hung", 137, [(1, "ok")], 1, None, True),
        ("old", 8, 100, "server-failed", 127, [(1, None)], 1, None, False),
        ("imported", 0, 100, "server-failed", 127, [(1, None)], 0, None, False))
    with contextlib.closing(make_vault(t.vault)) as db:
        os.chmod(t.vault / "interposer.db", 0o600)
        for number, (name, days, seconds, reason, status, calls, pid, finding, _) in enumerate(rows, 1):
            start = now - days * 86400 * 10**6 - seconds * 10**6 - 10**6
            add_session(db, number, name=name, pid=pid, started_at_us=start, ended_at_us=start + seconds * 10**6, end_reason=reason, exit_status=status)
            for i, (took, how) in enumerate(calls):
                seq = 2 * i + 1
                add_message(db, number, seq, t_us=0, kind="request", method="tools/call", target="x", rpc_id=str(i))
                if how is not None:
                    ours = how in ("timeout", "interrupted")
                    add_message(db, number, seq + 1, t_us=took * 10**6, direction="s2c", rpc_id=str(i), request_seq=seq, kind="result" if how == "ok" else "error",
                                origin="interposer" if ours else "peer", finding=finding if ours else None)
    eq(sorted(text.split(":")[0] for text, _ in servers(t)), sorted(r[0] for r in rows if r[-1]), "servers that failed")


lib.main()
