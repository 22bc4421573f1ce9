#!/usr/bin/env python3
"""audit key, audit checkpoint: keys, signed notes, anchors, rotation, and what a session's end signs."""
import base64
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from pathlib import Path

import lib
from lib import Skip, case, check, eq, wait_until

ORIGIN = re.compile(r"mcp-interposer/[0-9A-Z]{26}")


def config(t):
    return t.home / ".config/mcp-interposer"


def key_file(t):
    return config(t) / "audit.key"


def ok(r):
    eq((r.returncode, r.stderr.decode()), (0, ""), "status and stderr")
    return r.stdout.decode()


def fails(r, says, status=3):
    eq((r.returncode, r.stdout), (status, b""), "status and stdout")
    check(says in r.stderr.decode(), f"{says!r} is not in {r.stderr.decode()!r}")


def new_key(t):
    return re.search(r"^key +(\S+)$", ok(t.run("audit", "key", "new")), re.M)[1]


def session(t, *options):
    p = t.proxy(*options).initialize()
    p.end()


def checkpoint(t, *args, vault=None):
    return ok(t.run("audit", "checkpoint", "--vault", vault or t.vault, *args))


def change(t, sql, *args, vault=None):
    lib.settle()
    with sqlite3.connect((vault or t.vault) / "interposer.db") as db:
        db.execute(sql, args)
    db.close()


def leaves(t, vault=None):
    return [x.decode() for x, in t.rows("SELECT leaf FROM leaves ORDER BY n", vault=vault)]


def root_of(entries):
    """RFC 6962, section 2.1."""
    if len(entries) == 1:
        return hashlib.sha256(b"\0" + entries[0]).digest()
    k = 1
    while 2 * k < len(entries):
        k *= 2
    return hashlib.sha256(b"\1" + root_of(entries[:k]) + root_of(entries[k:])).digest()


def read(note):
    """(origin, size, root), after the form was checked."""
    text, signature = note.split("\n\n")
    origin, size, root = text.split("\n")
    check(ORIGIN.fullmatch(origin), origin)
    check(re.fullmatch(r"— \S+ [A-Za-z0-9+/]{91}=\n", signature), signature)
    return origin, int(size), base64.b64decode(root)


def is_checkpoint(pid, vault):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
    except OSError:
        return False
    return b"checkpoint" in words and f"--vault={vault}".encode() in words


def running(t):
    return [int(p) for p in lib.pids_since(os.getpid()) if is_checkpoint(p, t.vault)]


def waiting(t):
    """Processes that sign when the recorder has stored the end."""
    found = []
    for pid in lib.pids_since(os.getpid()):
        with contextlib.suppress(OSError):
            words, name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"), Path(f"/proc/{pid}/comm").read_text()
            if str(t.vault).encode() in words and b"proxy" in words and name == "mcp-interposer\n":
                found.append(int(pid))
    return found


@case("audit key: made once, with mode 0600 in a private directory; printed; refused if others can read it")
def _(t):
    fails(t.run("audit", "key", "show"), "there is no key in")
    key = new_key(t)
    check(re.fullmatch(r"mcp-interposer-audit\+[0-9a-f]{8}\+A[A-Za-z0-9+/]{43}", key), key)
    eq(stat.S_IMODE(key_file(t).stat().st_mode), 0o600, "mode of the file")
    eq(stat.S_IMODE(config(t).stat().st_mode), 0o700, "mode of the directory")
    eq(os.listdir(config(t)), ["audit.key"], "files")
    text = key_file(t).read_bytes()
    check(re.fullmatch(rb"PRIVATE\+KEY\+mcp-interposer-audit\+[0-9a-f]{8}\+A[A-Za-z0-9+/]{43}\n", text), text)
    fails(t.run("audit", "key", "new"), "there is a key in")
    eq(key_file(t).read_bytes(), text, "the file")
    check(key in ok(t.run("audit", "key", "show")), "show")
    for mode in (0o640, 0o604, 0o620):
        key_file(t).chmod(mode)
        fails(t.run("audit", "key", "show"), f"chmod 600 {key_file(t)}")
    key_file(t).chmod(0o600)
    config(t).chmod(0o777)
    fails(t.run("audit", "key", "rotate"), "others can write to")
    config(t).chmod(0o700)
    for bad in (b"", b"x", text + text, text.replace(b"PRIVATE", b"PRIVATF"), text[:-3] + b"\n", b"A" * 10000):
        key_file(t).write_bytes(bad)
        fails(t.run("audit", "key", "show"), "does not contain a private key")
    other = t.tmp / "new" / "folder" / "my.key"
    out = ok(t.run("audit", "key", "new", "--name", "example.org/k", env={"MCP_INTERPOSER_AUDIT_KEY": str(other)}))
    check("key     example.org/k+" in out and str(other) in out, out)
    (t.tmp / "link").symlink_to(t.tmp / "nowhere")
    fails(t.run("audit", "key", "new", "--audit-key", t.tmp / "link"), "there is a key in")
    for args, says in ((["new", "--name", "a b"], "--name: invalid name"), (["new", "--name", "a+b"], "--name: invalid name"),
                       ([], "missing action: use new, show or rotate"), (["renew"], "unknown action 'renew'")):
        fails(t.run("audit", "key", *args), says, 2)
    fails(t.run("audit"), "audit: missing command: expected one of: key, checkpoint", 2)
    fails(t.run("audit", "chekpoint"), "did you mean 'audit checkpoint'?", 2)


@case("audit checkpoint: a note over the log, the same until it grows; the first one states the key")
def _(t):
    fails(t.run("audit", "checkpoint"), "there is no key in")
    eq(ok(t.run("audit", "checkpoint", "--quiet")), "", "without a key")
    session(t)
    key = new_key(t)
    note = checkpoint(t)
    origin, size, root = read(note)
    log = leaves(t)
    eq((size, len(log)), (4, 4), "begin, open, seal, key")
    check(log[3].startswith('{"type":"key",') and f'"key":"{key}","previous":null,' in log[3], log[3])
    eq(root, root_of([x.encode() for x in log]), "root")
    eq(checkpoint(t), note, "again")
    eq([x.decode() for x, in t.rows("SELECT note FROM checkpoints")], [note], "stored")
    check(f"origin  {origin}\n" in ok(t.run("audit", "key", "show", "--vault", t.vault)), "show")
    session(t)
    wait_until(lambda: len(t.rows("SELECT 1 FROM checkpoints")) == 2, 20, "the end of the session is signed")
    eq(read(checkpoint(t))[1], 6, "leaves")
    eq(ok(t.run("audit", "checkpoint", "--quiet", "--vault", t.vault)), "", "--quiet")


@case("openssl verifies a note, as docs/evidence.md describes it")
def _(t):
    if not shutil.which("openssl") or b"OpenSSL 3" not in subprocess.run(["openssl", "version"], stdout=subprocess.PIPE).stdout:
        raise Skip("no OpenSSL 3")
    session(t)
    key = new_key(t)
    note = checkpoint(t)
    document = (lib.ROOT / "docs/evidence.md").read_text()
    script = re.search(r"OpenSSL 3 verifies.*?```sh\n(.*?)```", document, re.S)[1]

    def verify(text):
        (t.tmp / "n").write_text(text)
        return subprocess.run(["bash", "-c", script], cwd=t.tmp, env={**os.environ, "key": key}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=20 * lib.PATIENCE)
    r = verify(note)
    eq((r.returncode, r.stdout), (0, b"Signature Verified Successfully\n"), "openssl")
    for wrong in (note.replace("\n4\n", "\n5\n"), note.replace(note.split("\n")[2], base64.b64encode(bytes(32)).decode())):
        check(verify(wrong).returncode != 0, f"a changed note: {wrong}")


@case("Sigstore's parser, which is part of npm, reads and verifies a note")
def _(t):
    npm = shutil.which("npm")
    parser = npm and os.path.join(os.path.dirname(os.path.realpath(npm)), "../node_modules/@sigstore/verify/dist/tlog/checkpoint.js")
    if not npm or not os.path.exists(parser):
        raise Skip("no npm with @sigstore/verify")
    session(t)
    key = new_key(t)
    note = checkpoint(t)
    script = """
const { verifyCheckpoint } = require(process.argv[1]);
const crypto = require('crypto');
const [name, hash] = process.argv[2].split('+');
const raw = Buffer.from(process.argv[2].split('+').slice(2).join('+'), 'base64').subarray(1);
const publicKey = crypto.createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') } });
const c = verifyCheckpoint({ inclusionProof: { checkpoint: { envelope: process.argv[3] } } },
                           [{ logID: Buffer.from(hash, 'hex'), publicKey, baseURL: name }]);
console.log(c.origin, String(c.logSize), c.logHash.toString('base64'));
"""
    r = subprocess.run(["node", "-e", script, parser, key, note], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30 * lib.PATIENCE)
    eq((r.returncode, r.stdout.decode().split()), (0, note.split("\n")[:3]), f"checkpoint: {r.stderr.decode()[-500:]}")
    r = subprocess.run(["node", "-e", script, parser, key, note.replace("\n4\n", "\n5\n")], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=30 * lib.PATIENCE)
    check(r.returncode != 0 and b"invalid checkpoint signature" in r.stderr, r.stderr)


@case("anchors: a file and a git repository get each checkpoint once; an older or another log is refused")
def _(t):
    file, repository, elsewhere = t.tmp / "anchor", t.tmp / "repository", t.tmp / "other"
    session(t)
    new_key(t)
    first = checkpoint(t, "--anchor", file)
    eq(file.read_text(), first, "the first note")
    checkpoint(t, "--anchor", file)
    eq(file.read_text(), first, "the same again")
    copy = t.tmp / "copy"
    lib.recorders_ended(t.vault)
    shutil.copytree(t.vault, copy)
    session(t)
    second = checkpoint(t, "--anchor", file)
    eq(file.read_text(), first + "\n" + second, "both notes")
    session(t, "--vault", elsewhere)
    third = checkpoint(t, "--anchor", file, vault=elsewhere)
    eq(file.read_text(), "\n".join((first, second, third)), "two vaults in one file")

    r = t.run("audit", "checkpoint", "--vault", copy, "--anchor", file)
    eq((r.returncode, r.stdout.decode()), (3, first), "an older copy of the vault")
    check("the vault was replaced by an older copy" in r.stderr.decode(), r.stderr)
    session(t, "--vault", copy)
    session(t, "--vault", copy)
    r = t.run("audit", "checkpoint", "--vault", copy, "--anchor", file)
    eq(r.returncode, 3, "another history")
    check("the log does not continue the checkpoint of 6 leaves" in r.stderr.decode(), r.stderr)
    eq(file.read_text(), "\n".join((first, second, third)), "the file")

    if shutil.which("git"):
        git = ["git", "-C", repository]
        subprocess.run(["git", "init", "-q", repository], check=True, timeout=30)
        for name, value in (("user.name", "t"), ("user.email", "t@example.org")):
            subprocess.run([*git, "config", name, value], check=True, timeout=30)
        hooks = repository / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
            (hooks / name).write_text(f"#!/bin/sh\ntouch {t.tmp}/hooked\nexit 1\n")
            (hooks / name).chmod(0o755)
        (repository / "staged").touch()
        subprocess.run([*git, "add", "staged"], check=True, timeout=30)
        for _ in range(2):
            ok(t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", f"git:{repository}",
                     env={"GIT_DIR": str(t.tmp), "GIT_INDEX_FILE": str(t.tmp / "index")}))
        log = subprocess.run([*git, "log", "--format=%s", "--name-only"], stdout=subprocess.PIPE, check=True, timeout=30).stdout.decode()
        name = read(second)[0].replace("/", "-") + ".note"
        eq(log.split("\n"), [f"Checkpoint of 6 leaves of {read(second)[0]}", "", name, ""], "commits")
        eq((repository / name).read_text(), second, "the file in the repository")
        check(not (t.tmp / "hooked").exists(), "the hook was run")
        r = t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", f"git:{t.tmp}/no-such")
        check(r.returncode == 3 and b"git rev-parse in" in r.stderr, r.stderr)
        # what git says in several lines is one message
        git_says = t.tmp / "bin"
        git_says.mkdir()
        (git_says / "git").write_text("#!/bin/sh\nprintf 'first\\nsecond\\n\\n' >&2\nexit 1\n")
        (git_says / "git").chmod(0o755)
        r = t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", f"git:{repository}", env={"PATH": f"{git_says}:{os.environ['PATH']}"})
        check(r.returncode == 3 and r.stderr.endswith(b" failed: first; second\n"), r.stderr)


@case("anchors: what cannot be written is reported, the others are written, and nothing is damaged")
def _(t):
    session(t)
    new_key(t)
    good, bad = t.tmp / "good", t.tmp / "bad"
    for content, says in ((b"something else\n", "does not end with a complete note"),
                          (b"a\nb\n\nc\n", "note 1 is not valid"), (b"\0\n\nx\n\n", "note 1 is not valid")):
        bad.write_bytes(content)
        r = t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", bad, "--anchor", good)
        eq(r.returncode, 3, "status")
        check(says in r.stderr.decode(), f"{content}: {r.stderr.decode()}")
        eq(bad.read_bytes(), content, "the bad file")
        eq(good.read_text(), r.stdout.decode(), "the good file")
    for where, says in ((t.tmp / "no" / "such", "No such file"), (t.tmp, "Is a directory")):
        r = t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", where)
        check(r.returncode == 3 and says in r.stderr.decode(), r.stderr)
    for where in ("git:", "https://example.org/x", ""):
        fails(t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", where), "invalid anchor", 2)
    if not os.path.exists("/dev/log"):
        r = t.run("audit", "checkpoint", "--vault", t.vault, "--anchor", "syslog")
        check(r.returncode == 3 and "cannot write to syslog" in r.stderr.decode(), r.stderr)


@case("a log that was changed is not signed")
def _(t):
    session(t)
    new_key(t)
    checkpoint(t)
    session(t)
    wait_until(lambda: len(t.rows("SELECT 1 FROM checkpoints")) == 2, 20, "the end of the session is signed")
    log = leaves(t)
    for sql, args, says in (
            ("UPDATE leaves SET leaf = replace(leaf, '\"id\":1', '\"id\":2') WHERE n = ?", (1,), "does not continue its checkpoint of 6 leaves"),
            ("UPDATE leaves SET leaf = replace(leaf, ',', ', ') WHERE n = ?", (1,), "leaf 1 is not a leaf"),
            ("INSERT INTO leaves SELECT max(n) + 1, '{\"type\":\"other\"}' FROM leaves", (), "is not a leaf"),
            ("INSERT INTO leaves SELECT (SELECT max(n) + 1 FROM leaves), leaf FROM leaves WHERE n = ?", (0,), "begins it again"),
            ("DELETE FROM leaves WHERE n = ?", (1,), "leaf 1 is missing"),
            ("DELETE FROM leaves WHERE n >= ?", (5,), "does not continue its checkpoint"),
            ("UPDATE leaves SET leaf = replace(leaf, '\"begin\"', '\"start\"') WHERE n = ?", (0,), "leaf 0 is not a leaf"),
            ("UPDATE leaves SET leaf = replace(leaf, 'null', '\"x\"') WHERE n = ?", (3,), "leaf 3 "),
            ("DELETE FROM leaves WHERE n >= ?", (0,), "leaf 0 is missing")):
        change(t, sql, *args)
        fails(t.run("audit", "checkpoint", "--vault", t.vault), says)
        change(t, "DELETE FROM leaves")
        for n, leaf in enumerate(log):
            change(t, "INSERT INTO leaves VALUES (?, ?)", n, leaf)
    checkpoint(t)
    # one file an hour
    (path,) = (t.vault / "Escalations").iterdir()
    (row,) = [json.loads(x) for x in ok(t.run("escalations", "list", "--json", "--vault", t.vault)).splitlines()]
    check(re.fullmatch(r"[0-9T.]+Z-evidence\.md", path.name) and row["file"] == path.name, path.name)
    eq((row["cause"], row["server"], row["session"], row["count"], row["action"]), ("evidence", None, None, 1, "not signed"), "its row")
    text = path.read_text()
    for part in ('server: ""\nsession: ""\n', "The log of this vault is not signed:", "does not continue its checkpoint of 6 leaves", "audit verify"):
        check(part in text, lambda: f"{part!r} is not in the file:\n{text}")


@case("audit key rotate: the log states the succession, in every vault; a lost key is named")
def _(t):
    other = t.tmp / "other"
    session(t)
    session(t, "--vault", other)
    first = new_key(t)
    checkpoint(t)
    checkpoint(t, vault=other)
    r = t.run("audit", "key", "rotate", "--vault", t.vault)
    eq(r.returncode, 0, "rotate")
    second = re.search(r"^key +(\S+)$", r.stdout.decode(), re.M)[1]
    old = config(t) / ("audit.key." + first.split("+")[1])
    check(str(old) in r.stderr.decode() and stat.S_IMODE(old.stat().st_mode) == 0o600, r.stderr)
    check(first != second and second in ok(t.run("audit", "key", "show")), "show")
    check(f'"key":"{second}","previous":"{first}"' in leaves(t)[-1], leaves(t)[-1])
    eq(read(checkpoint(t))[1], 5, "leaves")
    ok_text = ok(t.run("audit", "key", "show", "--vault", other))
    check(second in ok_text, ok_text)
    aside = t.tmp / "aside"
    old.rename(aside)
    fails(t.run("audit", "checkpoint", "--vault", other), first)
    aside.rename(old)
    checkpoint(t, vault=other)
    check(f'"key":"{second}","previous":"{first}"' in leaves(t, other)[-1], "the other vault")
    old.unlink()
    checkpoint(t, vault=other)
    checkpoint(t)


@case("a session's end is signed and anchored without the client's pipes, and without its waiting")
def _(t):
    new_key(t)
    anchor = t.tmp / "anchor"
    (config(t) / "config.ini").write_text(f"[audit]\nanchor = {anchor}\n")
    session(t)
    wait_until(lambda: anchor.exists() and anchor.read_text().endswith("=\n"), 20, "the end of the session is anchored")
    eq(read(anchor.read_text())[1], 4, "leaves")
    with open(anchor, "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)                    # the process waits for its lock: meanwhile the client sees the end
        session(t)
        for pid in wait_until(lambda: running(t), 10, "the process that signs"):
            eq({os.readlink(f"/proc/{pid}/fd/{n}") for n in range(3)}, {"/dev/null"}, "stdin, stdout, stderr")
            check(os.getsid(pid) == pid, "a session of its own")
    wait_until(lambda: anchor.read_text().count("\n\n") == 3, 20, "the second end is anchored")
    key_file(t).unlink()
    n = len(t.rows("SELECT 1 FROM checkpoints"))
    session(t)
    lib.settle()
    eq(running(t), [], "processes without a key")
    eq(len(t.rows("SELECT 1 FROM checkpoints")), n, "checkpoints without a key")


@case("the end of a session that the recorder stores after the proxy has exited is signed when it is stored")
def _(t):
    new_key(t)
    p = t.proxy().initialize()
    recorder = p.recorder()
    wait_until(lambda: len(t.messages()) == 3, 10, "the session is in the vault")
    os.kill(recorder, signal.SIGSTOP)
    p.round()
    p.end()
    for pid in wait_until(lambda: waiting(t), 10, "the process that waits for the recorder"):
        os.kill(pid, signal.SIGTERM)        # as a service manager does; it signs all the same
    for _ in range(20):     # it must not sign meanwhile
        check(running(t) == [], "a process signs before the end is stored")
        time.sleep(0.05)
    os.kill(recorder, signal.SIGCONT)
    notes = wait_until(lambda: t.rows("SELECT note FROM checkpoints"), 20, "the session is signed")
    eq([read(note.decode())[1] for note, in notes], [4], "leaves: with the seal of the session")


@case("doctor: a key that others can read, sessions that are not signed, and an anchor that is behind")
def _(t):
    def doctor():
        text = t.run("doctor", "-v", "--vault", t.vault, "--quick").stdout.decode()
        return {check: f"{word} {rest}" for word, check, rest in re.findall(r"^(\S+) +(key|signing|anchor) +(.*)$", text, re.M)}

    eq(doctor(), {"key": "ok no key: recordings are not signed"}, "without a key")
    session(t)
    new_key(t)
    anchor = t.tmp / "anchor"
    (config(t) / "config.ini").write_text(f"[audit]\nanchor = {anchor}\n")
    eq(doctor(), {"key": f"ok {key_file(t)}"}, "nothing is late")
    checkpoint(t)
    eq(doctor(), {"key": f"ok {key_file(t)}", "signing": "ok all ended sessions are signed", "anchor": f"ok {anchor}"}, "signed")
    anchor.unlink()
    check("is behind: its last checkpoint has 0 leaves, the vault's last checkpoint has 4" in doctor()["anchor"], "an anchor without it")
    anchor.write_text("x")
    check("does not end with a complete note" in doctor()["anchor"], "a damaged anchor")
    change(t, "DELETE FROM checkpoints")
    change(t, """UPDATE leaves SET leaf = replace(leaf, '"at_us":17', '"at_us":16')""")
    check("1 session ended more than 10 minutes ago and is not signed" in doctor()["signing"], "a session that is not signed")
    key_file(t).chmod(0o644)
    check("others can read the key file" in doctor()["key"], "the mode of the key file")


@case("syslog: one line, with which the note can be put together again")
def _(t):
    session(t)
    key = new_key(t)
    # /dev/log is in a /dev of its own, with what the program needs of the other one.
    script = """set -e
mount -t tmpfs none "$1"
mkdir "$1/shm"; touch "$1/null" "$1/urandom"
for n in null urandom shm; do mount --bind "/dev/$n" "$1/$n"; done
mount --rbind "$1" /dev
exec python3 -c '
import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
s.settimeout(30)
r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(s.recv(4096).decode(), end="") if r.returncode == 0 else sys.exit(r.returncode)
' "${@:2}"
"""
    folder = t.tmp / "dev"
    folder.mkdir()
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", folder], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no mounts of its own")
    lib.settle()
    r = subprocess.run(["unshare", "-m", "bash", "-c", script, "bash", folder, lib.PROGRAM, "audit", "checkpoint", "--vault", t.vault,
                        "--anchor", "syslog"], env=t.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * lib.PATIENCE)
    eq((r.returncode, r.stderr), (0, b""), "status and stderr")
    got = re.search(r"mcp-interposer\[\d+\]: checkpoint origin=(\S+) size=(\d+) root=(\S+) signature=(\S+ \S+)$", r.stdout.decode().rstrip("\0\n"))
    check(got, r.stdout)
    eq(f"{got[1]}\n{got[2]}\n{got[3]}\n\n— {got[4]}\n", checkpoint(t), "the note")
    eq(got[4].split()[0], key.split("+")[0], "the name of the key")


@case("the command line and the configuration of verbs")
def _(t):
    for args in (["audit", "--help"], ["audit", "-h"], ["help", "audit"]):
        text = ok(t.run(*args))
        check("Usage:\n  mcp-interposer audit key [OPTIONS] new|show|rotate\n" in text, text)
        check("  mcp-interposer audit checkpoint [OPTIONS]\n" in text, text)
    eq(ok(t.run("help", "audit", "key")), ok(t.run("audit", "key", "--help")), "help of a verb")
    fails(t.run("help", "audit", "keys"), "unknown command 'audit keys'; did you mean 'audit key'?", 2)
    fails(t.run("audit", "checkpoint", "extra"), "unexpected argument 'extra'", 2)
    config(t).mkdir(parents=True)
    for text, says in (("[audit]\nanchr = x\n", "unknown key 'anchr'; did you mean 'anchor'?"),
                       ("[audi]\nanchor = x\n", "unknown section 'audi'; did you mean 'audit'?"),
                       ("[audit]\nquiet = perhaps\n", "quiet")):
        (config(t) / "config.ini").write_text(text)
        fails(t.run("audit", "key", "show"), says, 2)
    (config(t) / "config.ini").write_text(f"audit-key = {t.tmp}/k\n[audit]\nanchor = {t.tmp}/a\n")
    session(t)
    ok(t.run("audit", "key", "new"))
    check((t.tmp / "k").exists(), "the key of the configuration")
    checkpoint(t, "--anchor", t.tmp / "c")
    ok(t.run("audit", "checkpoint", "--vault", t.vault, "--quiet", env={"MCP_INTERPOSER_ANCHOR": str(t.tmp / "b")}))
    eq({(t.tmp / x).read_text() for x in "abc"}, {checkpoint(t)}, "all anchors")


lib.main()
