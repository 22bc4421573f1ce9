#!/usr/bin/env python3
"""The recipe of docs/container.md: process 1, a read-only root, 64 MiB at /dev/shm, one writable directory for the vault."""
import ctypes
import errno
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
    lib.wait_until(lambda: has_rows(t, 3 + 100), 10, "the rows are not stored")
    p.end()
    eq(stored(t), 3 + 100, "rows")
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"client-closed",)], "end of the session")


@case("container: SIGTERM to process 1 ends the session, and everything is stored")
def _(t):
    p = container(t, "--name", "x").initialize()
    p.round()
    lib.wait_until(lambda: has_rows(t, 5), 10, "the rows are not stored")     # process 1 waits 4 s for its recorder, and no longer
    os.kill(first(p), signal.SIGTERM)
    p.server.expect_eof()
    p.server.exit(0)
    p.client.expect_eof()
    p.wait()
    eq(stored(t), 5, "rows")
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"signal",)], "end of the session")


@case("container: the end of a session is signed before process 1 exits")
def _(t):
    eq(t.run("audit", "key", "new").returncode, 0, "the key")
    p = container(t, "--name", "x").initialize()
    lib.wait_until(lambda: has_rows(t, 3), 10, "the rows are not stored")
    p.end()
    (note,), = t.rows("SELECT note FROM checkpoints")
    eq(note.decode().splitlines()[1], "4", "leaves: with the seal of the session")


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
    lib.wait_until(lambda: has_rows(t, 6), 10, "the rows are not stored")
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
    lib.wait_until(lambda: has_rows(t, 2), 10, "the rows are not stored")
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
    lib.wait_until(lambda: has_rows(t, 5), 10, "the rows are not stored")
    p.end()
    eq(stored(t), 5, "rows")
    r = subprocess.run([*UNSHARE, "sh", "-c", PREPARE, "sh", str(t.vault), "none", lib.PROGRAM, "doctor", "--json", "--vault", str(t.vault)],
                       stdout=subprocess.PIPE, env=t.environ(), timeout=60)
    found = [x for x in map(json.loads, r.stdout.splitlines()) if x["state"] == "found"]
    eq([x["check"] for x in found], ["journals"], "findings")
    check("/dev/shm" in found[0]["text"] and "are killed at once" in found[0]["text"], found)


def running_file(pid):
    """The descriptors of a process that are VAULT/running.lock."""
    links = [Path(f"/proc/{pid}/fd/{n}") for n in lib.descriptors(pid)]
    return [x.name for x in links if os.readlink(x).endswith("/running.lock")]


def size(vault):
    """Of the database, with what is still in its write-ahead log: the recorder of a container may be killed before a checkpoint."""
    return sum(x.stat().st_size for x in vault.glob("interposer.db*"))


def below(pid):
    """The processes that this one has started: {name: pid}."""
    return {name: kid for kid, name in lib.children_of(pid).items()}


def states(t, *args):
    """The state of each session, oldest first, as seen from outside of the containers."""
    r = t.run("sessions", "--json", *args, "--vault", t.vault)
    eq((r.returncode, r.stderr), (0, b""), "sessions")
    return [json.loads(x)["state"] for x in reversed(r.stdout.splitlines())]


@case("container: a session is live for those who cannot see its processes, also when its recorder was killed")
def _(t):
    p = container(t, "--name", "x").initialize()
    p.round()
    lib.wait_until(lambda: has_rows(t, 5), 5, "the rows are not stored")
    eq(states(t), ["live"], "state")
    proxy = first(p)
    recorder = below(proxy)["mcp-recorder"]
    eq((len(running_file(proxy)), len(running_file(recorder))), (1, 1), "descriptors of the lock")
    os.kill(recorder, signal.SIGKILL)
    lib.wait_until(lambda: below(proxy).get("mcp-recorder", recorder) != recorder, 10, "another recorder")
    p.round("again")
    lib.wait_until(lambda: has_rows(t, 7), 10, "the rows are not stored")
    eq(states(t, "--live"), ["live"], "state with the second recorder")
    others = [pid for name, pid in below(proxy).items() if name != "mcp-recorder"]
    eq([running_file(x) for x in others], [[]], "the server has the lock's file")
    eq(t.run("ps", "--json", "--vault", t.vault).stdout, b"", "ps shows what it can see")
    p.end()
    eq(states(t), ["ended"], "state at the end")


@case("container: a session that was killed with its container is ended by the next command, and pruned; the file shrinks")
def _(t):
    p = container(t, "--name", "x").initialize()
    for i in range(40):
        p.client.send(lib.call(i, "load", {"data": "x" * 20000}))
        p.server.recv()
        p.server.send(lib.result(i))
        p.client.recv()
    lib.wait_until(lambda: has_rows(t, 83), 10, "the rows are not stored")
    os.kill(first(p), signal.SIGKILL)
    p.wait()
    p.client.expect_eof()
    eq(states(t), ["ended"], "state")
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"killed",)], "end of the session")
    container(t, "--name", "y").initialize().end()
    before = size(t.vault)
    r = t.run("prune", "--keep-last", "1", "--yes", "--vault", t.vault)
    check(r.stdout.startswith(b"removed 1 session, 83 messages"), f"{r}")
    after = size(t.vault)
    check(after < before / 2, f"the files have {after} bytes, and had {before}")
    eq(t.rows("SELECT name FROM sessions"), [(b"y",)], "sessions")


@case("container: a session that was killed with its container is ended by the recorder of another one")
def _(t):
    p = container(t, "--name", "x").initialize()
    p.round()
    lib.wait_until(lambda: has_rows(t, 5), 5, "the rows are not stored")
    os.kill(first(p), signal.SIGKILL)
    p.wait()
    p.client.expect_eof()
    # The kernel kills one process after the other: its own recorder may see the proxy's death before it is killed itself.
    check(t.rows("SELECT end_reason FROM sessions")[0][0] in (None, b"killed"), "nobody else ends it")
    q = container(t, "--name", "y").initialize()
    lib.wait_until(lambda: t.rows("SELECT end_reason FROM sessions WHERE name = 'x'") == [(b"killed",)], 10, "it is ended")
    q.end()
    eq(stored_of(t, "y"), 3, "rows of the second session")
    eq(t.rows("SELECT end_reason FROM sessions WHERE name = 'y'"), [(b"client-closed",)], "end of the second session")


# A root with the program, its libraries and the vault, and nothing else: no /dev, /proc or /tmp. $1: the root; $2: the vault; $3: the
# directory of the program; the rest: the command.
EMPTY = """
set -e
root=$1 vault=$2 programs=$3; shift 3
mkdir -p "$vault"
mount -t tmpfs root "$root"
for d in /usr /lib /lib64 "$programs" "$vault"; do
    [ -e "$d" ] || continue
    if [ -L "$d" ]; then ln -s "$(readlink "$d")" "$root$d"; continue; fi
    mkdir -p "$root$d"
    mount --rbind "$d" "$root$d"
done
mount -o remount,bind,ro "$root"
exec env -u HOME -u MCP_INTERPOSER_JOURNAL_DIR "$(command -v chroot || echo /usr/sbin/chroot)" "$root" "$@"
"""


def in_empty_root(t, *words, **more):
    root = t.tmp / "root"
    root.mkdir(exist_ok=True)
    r = subprocess.run([*UNSHARE[:3], "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    if r.returncode != 0:
        raise Skip(f"namespaces are not allowed here: {r.stdout.decode(errors='replace').strip()}")
    return [*UNSHARE[:3], "sh", "-c", EMPTY, "sh", str(root), str(t.vault), str(lib.BUILD), *words]


@case("an empty root, without /dev, /proc, /tmp and HOME: a session is recorded, and commands read it")
def _(t):
    p = t.proxy("--name", "x", server=[lib.fake("answer")], prefix=in_empty_root(t))
    for i in range(3):
        p.client.send(lib.request(i, "ping"))
        eq(p.client.recv_json()["id"], i, "id of an answer")
    lines = p.own_lines("(warn|error)")
    check(len(lines) == 1 and "/dev/shm" in lines[0], lines)

    def live():     # the journal has no name here: commands see what is stored
        r = subprocess.run(in_empty_root(t, lib.PROGRAM, "sessions", "--live", "--vault", str(t.vault)), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, env=t.environ(), timeout=60)
        return r.returncode == 0 and b" live" in r.stdout
    lib.wait_until(live, 10, "sessions --live does not show it")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(stored(t), 6, "rows")
    for words in (["sessions"], ["show", "1"], ["audit", "verify"], ["search", "ping"], ["doctor", "--json"]):
        r = subprocess.run(in_empty_root(t, lib.PROGRAM, *words, "--vault", str(t.vault)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=t.environ(), timeout=60)
        check(r.returncode in (0, 1) and (words[0] != "sessions" or b"client-closed" in r.stdout), (words, r))
    r = subprocess.run(in_empty_root(t, lib.PROGRAM, "sessions"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=t.environ(), timeout=60)
    check(r.returncode == 3 and b"the home directory is unknown; use --vault" in r.stderr, r)


NEWER = """seccomp memfd_create getrandom renameat2 bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect statx
        rseq pidfd_send_signal io_uring_setup io_uring_enter pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
    landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret futex_waitv""".split()      # system calls since 2014


def without_calls(error, names):
    """A filter of system calls, for preexec."""
    try:
        seccomp = ctypes.CDLL("libseccomp.so.2")
    except OSError as e:
        raise Skip(f"libseccomp: {e}") from None
    seccomp.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(seccomp.seccomp_init(0x7fff0000))           # SCMP_ACT_ALLOW
    for name in names:
        call = seccomp.seccomp_syscall_resolve_name(name.encode())
        if call >= 0:
            eq(seccomp.seccomp_rule_add(rules, 0x00050000 | error, call, 0), 0, name)       # SCMP_ACT_ERRNO
    return lambda: seccomp.seccomp_load(rules)


for error in (errno.EPERM, errno.ENOSYS):
    @case(f"a filter that denies system calls since 2014 with {errno.errorcode[error]}: a session is recorded, and commands read it")
    def _(t, error=error):
        eq(t.run("audit", "key", "new").returncode, 0, "the key")
        deny = without_calls(error, NEWER)
        p = t.proxy("--name", "x", preexec=deny).initialize()
        p.round()
        eq(p.own_lines("(warn|error)"), [], "warnings")
        recorder = p.recorder()
        lib.wait_until(lambda: has_rows(t, 5), 10, "the rows are not stored")
        os.kill(recorder, signal.SIGSTOP)       # it stores the end after the proxy has exited
        p.end()
        os.kill(recorder, signal.SIGCONT)
        eq(stored(t), 5, "rows")
        (note,), = lib.wait_until(lambda: t.rows("SELECT note FROM checkpoints"), 10, "the end of the session is not signed")
        eq(note.decode().splitlines()[1], "4", "leaves: with the seal of the session")
        for words in (["sessions"], ["show", "1"], ["audit", "verify"], ["search", "ping"], ["export", "1"]):
            r = subprocess.run([lib.PROGRAM, *words, "--vault", str(t.vault)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=t.environ(),
                               preexec_fn=deny, timeout=60)
            eq((r.returncode, r.stderr), (0, b""), words)


@case("a recorder that cannot hear its proxy says so, and leaves the server alone")
def _(t):
    p = t.proxy("--name", "x", server=[lib.fake("answer")], preexec=without_calls(errno.ENOSYS, ["recvmsg"]))
    for i in range(3):
        p.client.send(lib.request(i, "ping"))
        eq(p.client.recv_json()["id"], i, "id of an answer")
    lib.wait_until(lambda: b"cannot receive from the proxy" in p.stderr(), 5, "the reason")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


def has_rows(t, n):
    """The vault is made while the session runs."""
    try:
        return t.rows("SELECT count(*) FROM messages") == [(n,)]
    except (lib.Failure, sqlite3.OperationalError):
        return False


def stored_of(t, name):
    return t.rows("SELECT count(*) FROM messages JOIN sessions s ON s.id = session_id WHERE s.name = ?", name)[0][0]


lib.main()
