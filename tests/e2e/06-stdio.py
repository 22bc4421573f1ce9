#!/usr/bin/env python3
"""Which descriptors the interposer accepts from the client, and what the server inherits: every kind, none leaked."""
import os
import pty
import signal
import socket
import subprocess
import termios
import tty

import lib
from lib import End, case, check, eq, fake, request, result


def talk(p, rounds=3):
    for i in range(rounds):
        p.client.send(lib.call(i, "x" * (100 * i)))
        p.server.expect(lib.call(i, "x" * (100 * i)))
        p.server.send(lib.text_result(i, "y" * (5000 * i)))
        p.client.expect(lib.text_result(i, "y" * (5000 * i)))


@case("pipes: O_NONBLOCK is not set on the client's descriptors")
def _(t):
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
    p = t.proxy(client=(in_r, out_w), err=err_w)
    p.client = End("client", out_r, in_w)
    p.initialize()
    talk(p)
    for what, fd in (("stdin", in_r), ("stdout", out_w), ("stderr", err_w)):
        check(not lib.nonblocking(fd), f"{what} has become non-blocking")
    os.close(out_w)
    p.end()
    for what, fd in (("stdin", in_r), ("stderr", err_w)):
        check(not lib.nonblocking(fd), f"{what} is left non-blocking")
    for fd in (in_r, err_r, err_w):
        os.close(fd)


@case("a socket pair, as Node uses it: works, and O_NONBLOCK is not set")
def _(t):
    a, b = socket.socketpair()
    p = t.proxy(client=(b.fileno(), b.fileno()))
    fd = a.detach()
    p.client = End("client", fd, fd)
    p.initialize()
    talk(p)
    check(not lib.nonblocking(b.fileno()), "the socket has become non-blocking")
    b.close()
    p.client.close_write()
    p.server.expect_eof()
    p.server.exit(0)
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")


@case("two socket pairs, as Node's spawn creates them")
def _(t):
    (in_a, in_b), (out_a, out_b) = socket.socketpair(), socket.socketpair()
    p = t.proxy(client=(in_b.fileno(), out_b.fileno()))
    in_b.close()
    out_b.close()
    p.client = End("client", out_a.detach(), in_a.detach())
    p.initialize()
    talk(p)
    p.end()


@case("a terminal: works, and its settings are restored")
def _(t):
    master, slave = pty.openpty()
    tty.setraw(slave)
    before = termios.tcgetattr(slave)
    p = t.proxy(client=(slave, slave))
    p.client = End("client", master, master)
    p.initialize()
    talk(p, 2)
    check(not lib.nonblocking(slave), "the terminal has become non-blocking")
    p.proc.send_signal(signal.SIGTERM)
    p.server.expect_eof()
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")
    eq(p.stderr().count(b"waiting for JSON-RPC messages on the terminal"), 1, f"what is said: {p.stderr()!r}")
    check(not lib.nonblocking(slave), "the terminal is left non-blocking")
    eq(termios.tcgetattr(slave), before, "settings of the terminal")
    os.close(slave)


@case("a terminal that hangs up ends the session")
def _(t):
    master, slave = pty.openpty()
    tty.setraw(slave)
    p = t.proxy(client=(slave, slave))
    os.close(slave)
    p.client = End("client", master, master)
    p.initialize()
    p.client.close()
    p.server.expect_eof()
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")


def run_files(t, stdin, stdout, server):
    p = t.proxy(client=(stdin, stdout), server=server)
    return p, p.wait(20)


@case("stdin and stdout can be regular files")
def _(t):
    asks = [lib.call(i, "file") for i in range(500)]
    (t.tmp / "in").write_bytes(b"".join(a + b"\n" for a in asks))
    with open(t.tmp / "in", "rb") as i, open(t.tmp / "out", "wb") as o:
        p, status = run_files(t, i.fileno(), o.fileno(), [fake("answer")])
        check(not lib.nonblocking(i.fileno()) and not lib.nonblocking(o.fileno()), "left non-blocking")
    eq(status, 0, "exit status")
    lines = (t.tmp / "out").read_bytes().splitlines()
    eq(len(lines), 500, "answers")
    check(all(b'"id":%d,' % i in line for i, line in enumerate(lines)), "answers out of order")


@case("stdout can be a file opened for appending, or one that is not empty")
def _(t):
    (t.tmp / "in").write_bytes(request(1) + b"\n")
    (t.tmp / "out").write_bytes(b"before\n")
    with open(t.tmp / "in", "rb") as i, open(t.tmp / "out", "ab") as o:
        p, status = run_files(t, i.fileno(), o.fileno(), [fake("answer")])
    eq(status, 0, "exit status")
    lines = (t.tmp / "out").read_bytes().splitlines()
    eq((len(lines), lines[0]), (2, b"before"), "lines in the file")


@case("a file is read from its current offset")
def _(t):
    (t.tmp / "in").write_bytes(request("skipped") + b"\n" + request("read") + b"\n")
    with open(t.tmp / "in", "rb", buffering=0) as i, open(t.tmp / "out", "wb") as o:
        i.seek(len(request("skipped")) + 1)
        p, status = run_files(t, i.fileno(), o.fileno(), [fake("answer")])
    eq(status, 0, "exit status")
    out = (t.tmp / "out").read_bytes()
    check(b'"read"' in out and b"skipped" not in out, f"answers: {out!r}")


@case("stdin and stdout can be /dev/null")
def _(t):
    with open("/dev/null", "r+b", buffering=0) as n:
        p, status = run_files(t, n.fileno(), n.fileno(), [fake("answer")])
    eq(status, 0, "exit status")


@case("stdout and stderr closed from the start")
def _(t):
    r = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "-", lib.PROGRAM, "proxy", "--vault", t.vault, "--",
                        fake("answer")], input=request(1) + b"\n", env=t.environ(), timeout=20 * lib.PATIENCE)
    check(r.returncode >= 0, f"died by signal {-r.returncode}")
    path = t.vault / "interposer.db"
    if path.exists():
        eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


@case("stdin closed from the start")
def _(t):
    r = subprocess.run(["sh", "-c", '"$@" <&-', "-", lib.PROGRAM, "proxy", "--vault", t.vault, "--",
                        fake("answer")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=t.environ(),
                       timeout=20 * lib.PATIENCE)
    check(r.returncode >= 0, f"died by signal {-r.returncode}")
    eq(r.stdout, b"", "stdout")
    if (t.vault / "interposer.db").exists():
        eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


# --- what the server inherits ---------------------------------------------------------------------

def through(t, script, env=None, cwd=None, prefix=(), preexec=None):
    """The output of a shell script as the server, through the interposer and directly."""
    out = {}
    for name in ("alone", "behind"):
        path = t.tmp / f"{name}.out"
        path.unlink(missing_ok=True)
        # The script learns the place from its own argument: both runs have the same environment.
        command = ["sh", "-c", script, "sh", str(path)]
        if name == "alone":
            subprocess.run([*prefix, *command], stdin=subprocess.DEVNULL, env=t.environ(env), cwd=cwd,
                           preexec_fn=preexec, check=True, timeout=20 * lib.PATIENCE)
        else:
            p = t.proxy(server=command, env=env, cwd=cwd, prefix=prefix, preexec=preexec)
            p.client.close_write()
            eq(p.wait(), 0, "exit status")
        out[name] = path.read_bytes().replace(str(path).encode(), b"OUT")
    return out["alone"], out["behind"]


@case("the server has stdin, stdout, stderr and nothing else open")
def _(t):
    alone, behind = through(t, 'ls /proc/self/fd >"$1"')
    eq(behind.split(), [b"0", b"1", b"2", b"3"], "descriptors of ls")   # 3 is the folder it lists


@case("descriptors that the client leaks do not reach the server")
def _(t):
    # The interposer inherits descriptors that a client leaks; the server must not get these, nor those it opens itself.
    def leak():
        os.dup2(os.open("/dev/null", os.O_RDONLY), 40, True)
    alone, behind = through(t, 'ls -l /proc/self/fd | sed "s/.* \\([0-9]* -> \\)/\\1/" | grep -v "pipe:\\|/proc/\\|OUT" >"$1"',
                            preexec=leak)
    for line in behind.splitlines():
        check(b"interposer" not in line and b"vault" not in line and b"eventpoll" not in line,
              f"leaked: {line!r}")


@case("environment and working directory are passed on unchanged")
def _(t):
    folder = t.tmp / "a folder"
    folder.mkdir()
    env = {"ODD": "a=b \t\u2028 'x'", "EMPTY": "", "LD_BIND_NOW": "1", "XDG_STATE_HOME": str(t.tmp / "x")}
    alone, behind = through(t, 'cat /proc/self/environ >"$1"; pwd >>"$1"', env=env, cwd=folder)
    eq(sorted(behind.split(b"\0")), sorted(alone.split(b"\0")), "environment and directory")


@case("variables named MCP_INTERPOSER_* are passed on, too")
def _(t):
    alone, behind = through(t, 'env | grep MCP_INTER >"$1"', env={"MCP_INTERPOSER_GRACE": "29s"})
    eq(behind, alone, "variables")


@case("arguments are passed on unchanged")
def _(t):
    out = t.tmp / "args"
    odd = ["", " ", "a b", "--vault", "--", "-n", "'", '"', "$HOME", "\n", "é", "*"]
    p = t.proxy(server=["sh", "-c", 'o=$1; shift; for a; do printf "%s\\0" "$a"; done >"$o"', "sh", out, *odd])
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    eq(out.read_bytes().split(b"\0")[:-1], [a.encode() for a in odd], "arguments")


@case("umask, limits, priority and ignored signals are inherited")
def _(t):
    def odd():
        os.umask(0o027)
        os.nice(3)
    script = 'umask >"$1"; ulimit -a >>"$1"; ulimit -Ha >>"$1"; nice >>"$1"; grep "^Sig[BIC]" /proc/self/status >>"$1"'
    alone, behind = through(t, script, preexec=odd)
    eq(behind, alone, "umask, limits, priority, signals")


@case("SIGPIPE and the other signals have their default action in the server")
def _(t):
    # Caught signals are grep's own affair.
    alone, behind = through(t, 'grep "^Sig[BI]" /proc/self/status >"$1"')
    for line in behind.splitlines():
        name, value = line.split()
        # make starts us with posix_spawn, and that ignores the C library's own signals 32 and 33.
        eq(int(value, 16) & ~(3 << 31), 0, f"{name.decode()} in the server")


@case("SIGHUP ignored by the client (nohup) is ignored in the server")
def _(t):
    alone, behind = through(t, 'grep "^Sig[BIC]" /proc/self/status >"$1"', prefix=["nohup"])
    eq(behind, alone, "signals in the server")


@case("a signal mask of the client is inherited, and SIGTERM still ends the session")
def _(t):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
    alone, behind = through(t, 'grep "^Sig[BI]" /proc/self/status >"$1"', preexec=block)
    eq(behind, alone, "signals in the server")
    p = t.proxy(preexec=block).initialize()
    p.proc.send_signal(signal.SIGTERM)
    p.server.expect_eof()
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")


@case("the server leads its own process group, in the same session")
def _(t):
    p = t.proxy().initialize()
    eq(os.getpgid(p.server.pid), p.server.pid, "process group of the server")
    eq(os.getsid(p.server.pid), os.getsid(p.pid), "session of the server")
    p.end()


@case("the server's pipes are blocking")
def _(t):
    p = t.proxy(server=["sh", "-c", 'cat /proc/self/fdinfo/0 /proc/self/fdinfo/1 /proc/self/fdinfo/2 >"$1" 2>&1; cat >/dev/null',
                        "sh", t.tmp / "info"])
    p.client.close_write()
    eq(p.wait(), 0, "exit status")
    for line in (t.tmp / "info").read_text().splitlines():
        if line.startswith("flags:") and int(line.split()[1], 8) & os.O_NONBLOCK:
            raise lib.Failure("a descriptor of the server is non-blocking")


@case("a second run in the same vault is a second session")
def _(t):
    for n in (1, 2):
        p = t.proxy("--name", f"n{n}").initialize()
        p.client.send(request(n))
        p.server.expect(request(n))
        p.server.send(result(n))
        p.client.expect(result(n))
        p.end()
    eq(t.rows("SELECT s.name, count(*), min(m.seq), max(m.seq) FROM messages m JOIN sessions s ON "
              "s.id = m.session_id GROUP BY s.id ORDER BY s.id"), [(b"n1", 5, 1, 5), (b"n2", 5, 1, 5)],
       "messages of each session")


lib.main()
