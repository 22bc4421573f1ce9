#!/usr/bin/env python3
"""Running proxies and the remains of killed ones: ps, reap, and the sessions of killed proxies."""
import json
import os
import re
import signal
import sqlite3
import time

import lib
from lib import alive, call, case, check, eq, fake, text_result, wait_until
from misbehave import marked
from screens import Screen


def processes(path, wanted, seconds=5):
    """{name: pid} once the fake has written `wanted` of them."""
    def read():
        found = re.findall(r"(\w+) (\d+)\n", path.read_text()) if path.exists() else []
        return [int(pid) for _, pid in found] if len(found) >= wanted else None
    return wait_until(read, seconds, f"{wanted} processes in {path.name}")


def change(t, sql, *args):
    db = sqlite3.connect(t.vault / "interposer.db", timeout=10)
    db.execute(sql, args)
    db.commit()
    db.close()


def ps(t, *options):
    got = t.run("ps", "--vault", t.vault, *options)
    eq(got.returncode, 0, f"exit status of ps, which says {got.stderr}")
    return got.stdout.decode(), got.stderr.decode()


def listed(t):
    return [json.loads(line) for line in ps(t, "--json")[0].splitlines()]


def reap(t, *options, status=0):
    got = t.run("reap", "--vault", t.vault, *options)
    eq(got.returncode, status, f"exit status of reap, which says {got.stdout} {got.stderr}")
    return got.stdout.decode()


def recorded(t):
    """Is there a message in the vault, which may be about to be made?"""
    try:
        return bool(t.rows("SELECT 1 FROM messages"))
    except (lib.Failure, sqlite3.OperationalError):
        return False


def running(t):
    try:
        return t.rows("SELECT session_id, pid, server_pid, server_group FROM running")
    except (lib.Failure, sqlite3.OperationalError):
        return []


def session(t, number=1):
    return t.rows("SELECT end_reason, ended_at_us, exit_status, started_at_us FROM sessions"
                  " WHERE id = ?", number)[0]


def die_alone(p):
    """kill -9 of a proxy and its recorder, before the recorder can do anything about it."""
    beside = [pid for pid, name in p.children().items() if name.startswith("mcp-")]
    for pid in beside:
        os.kill(pid, signal.SIGSTOP)
    p.proc.kill()
    p.proc.wait()
    for pid in beside:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not alive(pid), 5, "the recorder is gone")


def leave_behind(t, *how, journal=False):
    """Processes of a server that are left after its proxy and the recorder were killed. Without the journal, as after a
    reboot or in a container without /dev/shm, no command knows more about the session than the vault does."""
    script = f"{fake('stubborn')} {t.tmp / 'pids'} eof {' '.join(how)} child=group; exit 0"
    p = t.proxy("--name", "left", server=["sh", "-c", script])
    pids = processes(t.tmp / "pids", 2)
    p.client.send(lib.request(1))
    wait_until(lambda: recorded(t), 5, "a message in the record")
    for pid in pids:
        t.closing.callback(lambda pid=pid: alive(pid) and os.kill(pid, signal.SIGKILL))
    [shell] = [row[2] for row in running(t)]
    die_alone(p)
    wait_until(lambda: not alive(shell), 5, "the kernel ends the shell, the child of the killed proxy")
    for path in () if journal else t.journals.iterdir():
        path.unlink()
    check(all(alive(pid) for pid in pids), "the recorder was quicker than this test")
    return p, pids


# --- ps ---

@case("ps --json prints an object for each proxy, with every documented member")
def _(t):
    p = t.proxy("--name", "one").initialize()
    wait_until(lambda: running(t), 5, "the first row")
    q = t.proxy("--name", "two")
    p.client.send(call(1), call(2))
    p.server.expect(call(1), call(2))
    wait_until(lambda: len(running(t)) == 2 and listed(t)[0]["open"] == 2, 5, "both in the table, and the requests")
    one, two = listed(t)
    eq(sorted(one), sorted("session_id uid name client client_pid pid server_pid server_group"
                           " server_processes started_at_us last_at_us age_us open recorder_pid unstored_bytes rss_bytes"
                           " recorder_rss_bytes server_rss_bytes".split()), "members")
    eq((one["recorder_pid"], two["recorder_pid"]), (p.recorder(), q.recorder()), "recorders")
    eq(one["unstored_bytes"], 0, "bytes that are not stored")
    check(one["recorder_rss_bytes"] > 500_000, f"memory of the recorder: {one}")
    eq((one["name"], two["name"]), ("one", "two"), "servers")
    eq((one["client"], one["client_pid"]), ("test client", os.getpid()), "client")
    eq((one["pid"], one["server_pid"], one["server_group"]),
       (p.pid, p.server.pid, p.server.pid), "processes")
    eq((one["open"], two["open"]), (2, 0), "open requests")
    eq(one["server_processes"], 1, "processes of the server")
    check(two["client"].startswith("python"), f"the client's process: {two['client']}")
    check(0 < one["age_us"] < 60e6 * lib.SLOW, f"age {one['age_us']}")
    check(one["rss_bytes"] > 500_000 and one["server_rss_bytes"] > 100_000, f"memory: {one}")
    check(one["started_at_us"] < one["last_at_us"] < time.time() * 1e6, f"times: {one}")
    p.server.send(text_result(1, "x"), text_result(2, "y"))
    p.client.recv(), p.client.recv()
    wait_until(lambda: listed(t)[0]["open"] == 0, 5, "no open request")
    p.end()
    eq([x["name"] for x in listed(t)], ["two"], "who is left")
    q.end()
    eq(running(t), [], "rows when all have ended")


@case("ps prints a line for each proxy, and nothing without one")
def _(t):
    p = t.proxy("--name", "one").initialize()
    wait_until(lambda: running(t) and listed(t)[0]["client"] == "test client", 5, "the client's name")
    lines = ps(t)[0].splitlines()
    eq(lines[0].split(), "ID SERVER CLIENT PID AGE OPEN RECORDER UNSTORED MEMORY SERVER PID SERVER MEM".split(),
       "head of the table")
    eq(len(lines), 2, "lines")
    check(f" {p.pid} " in lines[1] and " one " in lines[1] and "test client" in lines[1], lines[1])
    p.end()
    eq(ps(t)[0], "", "what is printed when none runs")


@case("the row names the new process after a restart")
def _(t):
    p = t.proxy("--restarts", "3", server=[fake("stubborn"), t.tmp / "pids"])
    first, = processes(t.tmp / "pids", 1)
    wait_until(lambda: running(t), 5, "the row")
    eq(running(t)[0][2], first, "server_pid")
    os.kill(first, signal.SIGKILL)
    second = processes(t.tmp / "pids", 2)[1]
    wait_until(lambda: running(t)[0][2:] == (second, second), 5, "the new process in the row")
    eq(len(running(t)), 1, "rows")
    p.client.close_write()
    p.wait(10)
    eq(running(t), [], "rows at the end")


@case("a vault of an older version has no running proxies and nothing to reap")
def _(t):
    t.vault.mkdir(0o700)
    db = sqlite3.connect(t.vault / "interposer.db")
    db.executescript((lib.ROOT / "tests/compat/files/vault-1.sql").read_text())
    db.close()
    eq(ps(t), ("", ""), "ps")
    eq(reap(t), "", "reap")


# --- reap ---

@case("ui: the list of running servers says that a killed proxy has left processes, as ps does")
def _(t):
    leave_behind(t)
    s = Screen(t, "ui", "--vault", t.vault, size=(100, 24))
    s.sees("sessions 1/1")
    s.keys("S")
    s.sees("0 running servers", "1 killed proxy has left server processes running; clean up with: mcp-interposer reap")
    s.keys("Escape")
    s.sees("sessions 1/1", gone=["killed proxy"])
    reap(t)
    s.keys("S")
    s.sees("0 running servers", "no session runs", gone=["killed proxy"])
    s.quit()


@case("reap kills what a killed proxy and recorder left behind, and closes the session")
def _(t):
    p, pids = leave_behind(t)
    last = t.rows("SELECT started_at_us + (SELECT max(t_us) FROM messages) FROM sessions")[0][0]
    out, err = ps(t)
    eq(out, "", "who runs")
    check("1 killed proxy has left server processes" in err and "reap" in err, f"what ps says: {err}")
    said = reap(t, "--dry-run", status=1)
    check(f"session 1 (left): the proxy {p.pid} has exited; would stop 2 processes" in said, said)
    check(all(alive(pid) for pid in pids), "a dry run has ended something")
    eq(len(running(t)), 1, "rows after a dry run")
    said = reap(t)
    check("; stopped 2 processes of group " in said and f"stubborn {pids[0]}" in said, said)
    eq([pid for pid in pids if alive(pid)], [], "who is left")
    eq(session(t)[:3], (b"killed", last, None), "the session")
    eq(running(t), [], "rows")
    eq(reap(t), "", "what a second time says")


def one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@case("reap kills what a launcher has started, of a proxy that was killed while it started the launcher")
def _(t):
    for i in range(20):
        mark = f"REAP_MARK={t.tmp.name}-{i}"
        name, value = mark.split("=")
        p = t.proxy(server=["sh", "-c", "sleep 600 & kill -9 $PPID; wait"], env={name: value}, preexec=one_processor)
        p.wait(10)
        reap(t)
        wait_until(lambda: not marked(mark, p.pid), 5, lambda: f"the end of what start {i} has left: {marked(mark, p.pid)}")

    def closed():       # a proxy that had a recorder already: its recorder may still be at work
        reap(t)
        return not running(t)
    wait_until(closed, 5, lambda: f"no rows, of {running(t)}")


@case("reap --json prints an object for each session, with every documented member")
def _(t):
    p, pids = leave_behind(t)
    members = "type state session_id uid name exited idle_us client_pid pid server_group server_processes"
    found = json.loads(reap(t, "--dry-run", "--json", status=1))
    eq(" ".join(found), members, "members")
    eq({k: found[k] for k in ("type", "state", "session_id", "name", "exited", "idle_us", "client_pid", "pid")},
       dict(type="reaped", state="found", session_id=1, name="left", exited="proxy", idle_us=None, client_pid=os.getpid(), pid=p.pid), "what would be ended")
    eq(found["uid"].encode(), t.rows("SELECT uid FROM sessions")[0][0], "uid")
    eq(found["server_group"], running(t)[0][3], "server_group")
    eq(sorted(x["pid"] for x in found["server_processes"]), sorted(pids), "processes")
    eq({x["name"] for x in found["server_processes"]}, {"stubborn"}, "names")
    check(all(alive(pid) for pid in pids), "a dry run has ended something")
    done = json.loads(reap(t, "--json"))
    eq(done, found | {"state": "ended"}, "what was ended")
    eq([pid for pid in pids if alive(pid)], [], "who is left")
    r = t.run("reap", "--json", "--vault", t.vault)
    eq((r.returncode, r.stdout, r.stderr), (0, b"", b""), "what a second time says")


@case("reap kills processes that ignore SIGTERM, and stopped ones")
def _(t):
    _, pids = leave_behind(t, "term")
    os.kill(pids[1], signal.SIGSTOP)
    reap(t)
    eq([pid for pid in pids if alive(pid)], [], "who is left")


@case("reap leaves running sessions and their processes alone")
def _(t):
    p = t.proxy().initialize()
    wait_until(lambda: running(t), 5, "the row")
    eq(reap(t), "", "what reap says")
    eq(reap(t, "--dry-run"), "", "what a dry run says")
    p.round("still there")
    p.end()
    eq(session(t)[0], b"client-closed", "end_reason")


for what, sql in (("the server's start time differs",
                   "UPDATE running SET server_start = server_start + 100000000"),
                  ("the group is of another session",
                   "UPDATE running SET server_session = server_session + 1")):
    @case(f"reap leaves a process group alone when {what}")
    def _(t, sql=sql):
        _, pids = leave_behind(t)
        change(t, sql)
        said = reap(t)
        check("no process was left" in said, said)
        check(all(alive(pid) for pid in pids), "it has ended what may be somebody else's")
        eq(session(t)[0], b"killed", "end_reason")


@case("reap identifies a proxy by its start time, not by its pid alone")
def _(t):
    _, pids = leave_behind(t)
    change(t, "UPDATE running SET pid = ?, pid_start = pid_start - 1", os.getpid())
    said = reap(t)
    check("stopped 2 processes" in said, said)
    eq([pid for pid in pids if alive(pid)], [], "who is left")


@case("after a reboot the session is closed, and no process killed")
def _(t):
    _, pids = leave_behind(t)
    change(t, "UPDATE running SET boot = '00000000-0000-0000-0000-000000000000'")
    reap(t)
    check(all(alive(pid) for pid in pids), "it has ended processes of another boot")
    eq(session(t)[0], b"killed", "end_reason")
    eq(running(t), [], "rows")


for what, sql in (("in another container", "UPDATE running SET pid_namespace = 1"),
                  ("on another machine", "UPDATE running SET boot = 'x'")):
    @case(f"a proxy {what} is left alone")
    def _(t, sql=sql):
        _, pids = leave_behind(t)
        (t.vault / "running.lock").unlink()     # as on a file system without locks
        change(t, sql)
        change(t, "UPDATE sessions SET host = 'elsewhere'")
        eq(reap(t), "", "what reap says")
        eq(listed(t), [], "who runs")
        check(all(alive(pid) for pid in pids), "it has ended something")
        eq(session(t)[0], None, "end_reason")
        eq(len(running(t)), 1, "rows")


@case("a proxy whose parent has exited is stopped only after --idle without messages")
def _(t):
    go = t.tmp / "go"
    starter = ["sh", "-c", f'exec 3<&0; "$@" <&3 3<&- & exec 3<&-; while [ ! -e {go} ]; do sleep 0.02; done', "sh"]
    p = t.proxy("--name", "lonely", prefix=starter, server=[fake("answer")])
    p.client.send(lib.request(1))
    p.client.recv()
    wait_until(lambda: running(t), 5, "the row")
    proxy, = listed(t)
    t.closing.callback(lambda: alive(proxy["pid"]) and os.kill(proxy["pid"], signal.SIGKILL))
    eq(proxy["client_pid"], p.pid, "the starter")
    eq(reap(t, "--idle", "0s"), "", "what reap says while the starter is there")
    go.touch()
    p.proc.wait()
    eq(reap(t), "", "what reap says when it has just been used")
    p.client.send(lib.request(2))
    p.client.recv()
    found = json.loads(reap(t, "--idle", "0s", "--dry-run", "--json", status=1))
    eq((found["state"], found["exited"], found["pid"], found["client_pid"]), ("found", "client", proxy["pid"], p.pid), "as JSON")
    check(found["idle_us"] >= 0 and [x["pid"] for x in found["server_processes"]] == [proxy["server_pid"]], f"{found}")
    said = reap(t, "--idle", "0s", "--dry-run", status=1)
    check(f"the client {p.pid} has exited" in said and "would stop the proxy" in said, said)
    said = reap(t, "--idle", "0s")
    check(f"stopped the proxy {proxy['pid']} and its server" in said, said)
    check(not alive(proxy["pid"]) and not alive(proxy["server_pid"]), "somebody is left")
    eq(session(t)[0], b"signal", "end_reason: the proxy could still say it itself")


# --- at the next start ---

@case("the next proxy closes the session of a killed one, with the time of its last message")
def _(t):
    p = t.proxy().initialize()
    p.client.send(call(1))
    p.server.expect(call(1))
    p.die(all_of_it=True)
    q = t.proxy().initialize()
    wait_until(lambda: recorded(t) and (b"killed",) in t.rows("SELECT end_reason FROM sessions"), 10, "the session is closed")
    (killed, end, started), = t.rows("SELECT id, ended_at_us, started_at_us FROM sessions WHERE end_reason = 'killed'")
    eq(t.rows("SELECT count(*), max(t_us) FROM messages WHERE session_id = ?", killed), [(4, end - started)], "messages, the last one's time")
    wait_until(lambda: len(running(t)) == 1 and running(t)[0][0] != killed, 5, "the row of the one that runs")
    q.round("still there")
    q.end()
    listing = t.run("sessions", "--vault", t.vault).stdout.decode()
    check(" killed" in listing, listing)


@case("the recorder of a killed proxy closes its session")
def _(t):
    p = t.proxy().initialize()
    p.client.send(call(1))
    p.server.expect(call(1))
    p.die()
    wait_until(lambda: recorded(t) and session(t)[0] == b"killed", 10, "the session is closed")
    last = t.rows("SELECT s.started_at_us + max(m.t_us) FROM sessions s, messages m")[0][0]
    eq(session(t)[:3], (b"killed", last, None), "the session")
    eq(running(t), [], "rows")
    wait_until(lambda: not list(t.journals.iterdir()), 5, "the journal is removed")


@case("a command that reads stores what a killed session left; its server's processes remain for reap")
def _(t):
    p, pids = leave_behind(t, journal=True)
    eq(len(list(t.journals.iterdir())), 1, "journals")
    out, err = ps(t)
    eq(out, "", "who runs")
    check("1 killed proxy has left server processes" in err, f"what ps says: {err}")
    eq(list(t.journals.iterdir()), [], "journals")
    eq(session(t)[0], b"killed", "end_reason")
    eq([r[0] for r in running(t)], [1], "rows")
    said = reap(t)
    check("; stopped 2 processes of group " in said and f"stubborn {pids[0]}" in said, said)
    eq([pid for pid in pids if alive(pid)], [], "who is left")
    eq(running(t), [], "rows")


@case("the row is kept for reap while processes of the server are left")
def _(t):
    _, pids = leave_behind(t)
    q = t.proxy().initialize()
    wait_until(lambda: session(t)[0] == b"killed", 10, "the session is closed")
    eq([r[0] for r in running(t)], [1, 2], "rows")
    check("stopped 2 processes" in reap(t), "reap finds them still")
    eq([pid for pid in pids if alive(pid)], [], "who is left")
    eq([r[0] for r in running(t)], [2], "rows")
    q.round("still there")
    q.end()


@case("a killed session without messages ends at its start")
def _(t):
    p = t.proxy()
    wait_until(lambda: running(t), 5, "the row")
    p.die()
    p.server.close()
    wait_until(lambda: not alive(p.server.pid), 3, "the server is gone")
    wait_until(lambda: session(t)[0] is not None, 5, "the session is closed")
    reason, ended, _, started = session(t)
    eq((reason, ended), (b"killed", started), "the session")


@case("reap and ps report errors with a hint")
def _(t):
    got = t.run("ps", "--vault", t.tmp / "none")
    eq(got.returncode, 3, "ps without a vault")
    got = t.run("reap", "--vault", t.tmp / "none")
    eq(got.returncode, 3, "reap without a vault")
    for command in ("ps", "reap"):
        eq(t.run(command, "--vault", t.vault, "operand").returncode, 2, f"{command} with an operand")
        check(b"Usage: mcp-interposer " + command.encode() in t.run(command, "--help").stdout, "help")
    for bad in ("soon", "10"):
        eq(t.run("reap", "--idle", bad).returncode, 2, f"reap --idle {bad}")


lib.main()
