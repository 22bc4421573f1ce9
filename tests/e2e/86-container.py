#!/usr/bin/env python3
"""The recipe of docs/container.md: process 1, a read-only root, 64 MiB at /dev/shm, one writable directory for the vault."""
import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import lib
from lib import Skip, case, check, eq, fake

# What a container runtime prepares. $1: the vault; $2: options of /dev/shm, or "none"; the rest: the command, as process 1.
PREPARE = """
set -e
vault=$1 shm=$2; shift 2
mkdir -p "$vault"
if [ "$shm" = none ]; then mount -t tmpfs -o size=4k,mode=000,ro none /dev/shm
else mount -t tmpfs -o "$shm" shm /dev/shm; fi
mount --bind "$vault" "$vault"
mount -o remount,bind,ro /
awk '{ print $2 }' /proc/mounts | while read -r m; do
    case $m in
    "$vault" | /dev/shm | /proc* | /sys* | /dev*) ;;
    *) mount -o remount,bind,ro "$m" 2>/dev/null || : ;;
    esac
done
exec env -u MCP_INTERPOSER_JOURNAL_DIR "$@"
"""
UNSHARE = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
SHM = "size=64m,mode=1777"


def container(t, *options, shm=SHM, **more):
    try:
        r = subprocess.run([*UNSHARE, "sh", "-ec", "mount -t tmpfs none /mnt && mount -o remount,bind,ro /"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except FileNotFoundError:
        raise Skip("unshare(1) is missing") from None
    if r.returncode != 0:
        raise Skip(f"namespaces are not allowed here: {r.stdout.decode(errors='replace').strip()}")
    return t.proxy(*options, prefix=[*UNSHARE, "sh", "-c", PREPARE, "sh", str(t.vault), shm], **more)


def first(p):
    """The proxy's process id outside of its namespace: the only child of unshare."""
    kids = Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()
    eq(len(kids), 1, "children of unshare")
    return int(kids[0])


def journals(p):
    """The journals in the container's /dev/shm."""
    return [x.name for x in Path(f"/proc/{first(p)}/root/dev/shm").glob("mcp-interposer-*/*")]


def stored(t):
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity")
    eq(t.rows("SELECT count(*) FROM events WHERE kind = 'gap'"), [(0,)], "gaps")
    n, high = t.rows("SELECT count(*), max(seq) FROM messages")[0]
    eq(n, high, "rows, and the highest seq")
    return n


@case("container: everything is recorded, and nothing but the vault is written")
def _(t):
    p = container(t, "--name", "x").initialize()
    status = lib.status_of(first(p))
    eq(status["NSpid"].split()[-1], "1", "process id in the container")
    check(not os.access(f"/proc/{first(p)}/root/etc", os.W_OK) or lib.ROOT_USER, "/etc is writable")
    eq(len(journals(p)), 1, "journals in /dev/shm during the session")
    for i in range(50):
        p.round(f"r{i}")
    eq(p.own_lines("(warn|error)"), [], "warnings")
    p.end()
    eq(stored(t), 3 + 100, "rows")
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"client-closed",)], "end of the session")


@case("container: SIGTERM to process 1 ends the session, and everything is stored")
def _(t):
    p = container(t, "--name", "x").initialize()
    p.round()
    os.kill(first(p), signal.SIGTERM)
    p.server.expect_eof()
    p.server.exit(0)
    p.client.expect_eof()
    p.wait()
    eq(stored(t), 5, "rows")
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"signal",)], "end of the session")


@case("container: messages of 24 MiB fit into 64 MiB of /dev/shm", limit=120)
def _(t):
    p = container(t, "--name", "x")
    for i in range(3):
        big = lib.call(f"big{i}", "load", {"data": "x" * (24 << 20)})
        sender = lib.Background(p.client.send, big, seconds=60)
        eq(len(p.server.recv(60)), len(big), "length of the request")
        sender.join()
        p.server.send(lib.result(f"big{i}"))
        p.client.expect(lib.result(f"big{i}"), seconds=60)
    eq([x for x in p.own_lines("(warn|error)") if "large message" not in x], [], "warnings")
    p.end()
    eq(stored(t), 6, "rows")
    eq(t.rows("SELECT count(*) FROM messages WHERE size > 24 << 20"), [(3,)], "large messages")


@case("container: a message that does not fit into /dev/shm is forwarded, and recorded without its body", limit=120)
def _(t):
    p = container(t, "--name", "x", shm="size=16m,mode=1777")
    big = lib.call("big", "load", {"data": "x" * (20 << 20)})
    sender = lib.Background(p.client.send, big, seconds=60)
    eq(len(p.server.recv(60)), len(big), "length of the request")
    sender.join()
    p.server.send(lib.result("big"))
    p.client.expect(lib.result("big"), seconds=60)
    lib.wait_until(lambda: any("the body of a message was not recorded" in x for x in p.own_lines("warn")), 5, "a warning")
    p.end()
    eq(stored(t), 2, "rows")
    (row,) = t.messages("kind = 'request'")
    check(row.size == len(big) and row.body is None and b"body-lost" in row.finding, row)


@case("container: without a usable /dev/shm everything is recorded, and the proxy and doctor say what can be lost")
def _(t):
    p = container(t, "--name", "x", shm="none").initialize()
    p.round()
    lines = p.own_lines("(warn|error)")
    check(len(lines) == 1 and "/dev/shm" in lines[0], lines)
    p.end()
    eq(stored(t), 5, "rows")
    r = subprocess.run([*UNSHARE, "sh", "-c", PREPARE, "sh", str(t.vault), "none", lib.PROGRAM, "doctor", "--json", "--vault", str(t.vault)],
                       stdout=subprocess.PIPE, env=t.environ(), timeout=60)
    found = [x for x in map(json.loads, r.stdout.splitlines()) if x["state"] == "found"]
    eq([x["check"] for x in found], ["journals"], "findings")
    check("/dev/shm" in found[0]["text"] and "are killed at once" in found[0]["text"], found)


@case("container: a session that was killed with its container is closed by the next one")
def _(t):
    p = container(t, "--name", "x").initialize()
    p.round()
    lib.wait_until(lambda: has_rows(t, 5), 5, "the rows are not stored")
    os.kill(first(p), signal.SIGKILL)
    p.wait()
    p.client.expect_eof()
    q = container(t, "--name", "y").initialize()
    q.end()
    eq(stored_of(t, "y"), 3, "rows of the second session")
    eq(t.rows("SELECT end_reason FROM sessions WHERE name = 'y'"), [(b"client-closed",)], "end of the second session")


def has_rows(t, n):
    """The vault is made while the session runs."""
    try:
        return t.rows("SELECT count(*) FROM messages") == [(n,)]
    except (lib.Failure, sqlite3.OperationalError):
        return False


def stored_of(t, name):
    return t.rows("SELECT count(*) FROM messages JOIN sessions s ON s.id = session_id WHERE s.name = ?", name)[0][0]


lib.main()
