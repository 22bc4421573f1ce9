"""Shared by the tests of the commands that read a vault: hand-made vaults, and the output of a command."""
import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import select
import socket
import sqlite3
import struct
import subprocess
import tempfile
import termios
import time

import lib
from lib import check, eq

UID = "01M7YSNDGM86MJK26EBYVZQM%02d"
# Characters that may reach a terminal: newlines and printable text.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


# How vault/store/schema.c begins the log of evidence. The sessions of a hand-made vault are not covered: add_session().
LOG = """INSERT INTO leaves VALUES
 (0, '{"type":"begin","version":1,"vault":"01M7YSNFPE4WHD7A4MYSYTND3Q","at_us":1795256137000000,"after":0}');"""


@functools.cache
def schema():
    """The statements for a new vault, as the program has made one."""
    with tempfile.TemporaryDirectory() as folder:
        file, vault = os.path.join(folder, "empty.jsonl"), os.path.join(folder, "vault")
        with open(file, "w") as out:
            out.write('{"format":"mcp-interposer-cassette","version":1,"name":"x"}\n{"end":true}\n')
        subprocess.run([lib.PROGRAM, "import", file, "--vault", vault], check=True, capture_output=True, timeout=20 * lib.PATIENCE,
                       env={**os.environ, "HOME": folder})
        with contextlib.closing(sqlite3.connect(os.path.join(vault, "interposer.db"))) as db:
            made = [sql for sql, in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")]
            version, = db.execute("PRAGMA user_version").fetchone()
    text = ";\n".join([*made, f"PRAGMA user_version = {version}"]) + ";\n"
    covered = " CHECK (salt IS NOT NULL OR id <= 0)"
    assert covered in text
    return text.replace(covered, "") + LOG


def schema_2():
    """Those of version 2."""
    text = (lib.ROOT / "tests/compat/files/vault-2.sql").read_text()
    return "".join(line for line in text.splitlines(True) if not line.startswith("INSERT "))


def make_vault(path, version=3):
    path.mkdir(mode=0o700)
    db = sqlite3.connect(path / "interposer.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    db.executescript(schema() if version == 3 else schema_2())
    return db


def wait_for_sessions(t, n):
    """Wait until proxies that were just started have created the vault and are recorded in it."""
    lib.wait_until(lambda: len(t.run("sessions", "--json", "-n", "0", "--vault", t.vault).stdout.splitlines()) >= n, 10, f"{n} sessions")


def add_session(db, id, **more):
    row = dict(id=id, uid=UID % id, name=f"server{id}", command='["x"]', started_at_us=1795256137000000 + id,
               pid=1, host=socket.gethostname(), record_level="full", interposer_version="0.1.0")
    row.update(more)
    db.execute(f"INSERT INTO sessions ({','.join(row)}) VALUES ({','.join('?' * len(row))})", list(row.values()))
    if db.execute("PRAGMA user_version").fetchone()[0] >= 3:
        db.execute("UPDATE leaves SET leaf = json_set(leaf, '$.after', max(?, json_extract(leaf, '$.after'))) WHERE n = 0", (id,))


def add_message(db, session, seq, **more):
    row = dict(id=(session << 36) + seq, session_id=session, seq=seq, t_us=seq * 1000, direction="c2s", origin="peer",
               kind="notification", size=10, redactions=0, action="forwarded")
    row.update(more)
    db.execute(f"INSERT INTO messages ({','.join(row)}) VALUES ({','.join('?' * len(row))})", list(row.values()))


def make_long_session(t, messages):
    """A vault with one session of so many messages."""
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1)
        db.execute("BEGIN")
        for seq in range(1, messages + 1):
            add_message(db, 1, seq, method="x" * 50, body="{}")
        db.execute("COMMIT")


def run(t, *args, env=None, status=0, vault=None, **more):
    """The output of a command that must succeed."""
    r = t.run(*args, "--vault", vault or t.vault, env={"LC_ALL": "C.UTF-8", "TZ": "UTC", **(env or {})}, **more)
    eq(r.returncode, status, f"exit status of {args}; {r.stderr[-500:]!r}")
    eq(r.stderr, b"", f"stderr of {args}")
    return r.stdout.decode()


def fails(t, status, *args, env=None):
    """The error line of a command that must fail, without its prefix, and a hint in a second line if any."""
    r = t.run(*args, env=env)
    eq(r.returncode, status, f"exit status of {args}; {r.stderr[-500:]!r}")
    eq(r.stdout, b"", f"stdout of {args}")
    text = r.stderr.decode()
    check(text.startswith("mcp-interposer: error: ") and text.count("\n") <= 2, f"stderr of {args}: {text!r}")
    return text.removeprefix("mcp-interposer: error: ")


def on_terminal(t, *args, columns=100, env=None, status=0, vault=True, cwd=None, stdin=None):
    """The output of a command on a terminal, with colours. stdin: if it is not the terminal."""
    lib.settle()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    p = subprocess.Popen([lib.PROGRAM, *args, *(["--vault", str(t.vault)] if vault else [])], stdin=slave if stdin is None else stdin, stdout=slave, stderr=slave,
                         cwd=cwd, env=t.environ({"TERM": "xterm", "PAGER": "cat", "LC_ALL": "C.UTF-8", **(env or {})}))
    os.close(slave)
    out, end = b"", time.monotonic() + 20 * lib.PATIENCE
    try:
        while True:
            check(select.select([master], [], [], max(0, end - time.monotonic()))[0], f"{args} does not end")
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            out += data
    finally:
        os.close(master)
        p.wait()
    eq(p.returncode, status, f"exit status of {args}; {out[-500:]!r}")
    return out.decode().replace("\r\n", "\n")


def answer(t, line, status, *args, **others):
    """What a command that may ask says on a terminal, where `line` is typed when it asks; None: it must not ask. others:
    standard streams that are not the terminal."""
    lib.settle()
    master, slave = pty.openpty()
    p = subprocess.Popen([lib.PROGRAM, args[0], "--vault", str(t.vault), *args[1:]], env=t.environ({"TERM": "dumb"}),
                         **{"stdin": slave, "stdout": slave, "stderr": slave, **others})
    os.close(slave)
    said, asked, end = b"", line is None, time.monotonic() + 20 * lib.PATIENCE
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, master)
        stack.callback(p.wait)
        stack.callback(p.kill)
        while select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            said += data
            if not data:
                break
            if not asked and said.endswith(b"[y/N] "):
                os.write(master, line.encode())
                asked = True
        eq(p.wait(5 * lib.PATIENCE), status, f"exit status of {args}: {said!r}")
    return said.decode().replace("\r\n", "\n")
