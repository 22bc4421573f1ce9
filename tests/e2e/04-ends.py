#!/usr/bin/env python3
"""How a session ends: who exits first, what is still delivered, and the exit status."""
import contextlib
import json
import os
import resource
import signal
import subprocess
import time

import lib
from lib import case, check, eq, fake, note, one_of, request, result

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def session_row(t):
    rows = t.rows("SELECT ended_at_us, end_reason, exit_status, started_at_us FROM sessions")
    eq(len(rows), 1, "sessions")
    ended, reason, status, started = rows[0]
    check(ended is not None and ended >= started, "the session's end is not recorded")
    check(reason, "the session's end has no reason")
    return reason.decode(), status


@case("the client closes stdin: the server sees it, its last answers arrive, and its status is the exit status")
def _(t):
    p = t.proxy().initialize()
    p.client.send(*(request(i, "tools/list") for i in range(3)))
    p.client.close_write()
    for i in range(3):
        p.server.expect(request(i, "tools/list"))
    p.server.expect_eof()
    p.server.send(*(result(i) for i in range(3)), note("bye"))
    p.server.exit(0)
    p.client.expect(*(result(i) for i in range(3)), note("bye"))
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")
    eq(session_row(t)[1], 0, "recorded exit status")
    kinds = [k.decode() for k, in t.rows("SELECT kind FROM events ORDER BY id")]
    check("spawn" in kinds and "exit" in kinds, f"events: {kinds}")


@case("the client closes stdin while the server waits for its answer, or asks later: the deadline of the call counts")
def _(t):
    for late in (False, True):
        p = t.proxy("--timeout", "300ms", "--on-hang", "cancel").initialize()
        p.client.send(lib.call("a", "ask"))
        p.server.expect(lib.call("a", "ask"))
        if not late:
            p.server.send(request("q", "elicitation/create"))
            p.client.expect(request("q", "elicitation/create"))
        p.client.close_write()
        if late:
            p.server.expect_eof()
            p.server.send(request("q", "elicitation/create"))
            p.client.expect(request("q", "elicitation/create"))
        answer = p.client.recv_json()
        eq((answer["id"], answer["error"]["code"]), ("a", -32001), f"late {late}: {answer}")
        p.server.exit(0)
        p.client.expect_eof()
        eq(p.wait(), 0, "exit status")


for number in SIGNALS:
    name = number.name

    @case(f"{name}: the server's stdin is closed, its last answer arrives")
    def _(t, number=number):
        p = t.proxy().initialize()
        p.client.send(request("last", "tools/list"))
        p.server.expect(request("last", "tools/list"))
        p.proc.send_signal(number)
        p.server.expect_eof()
        p.server.send(result("last"))
        p.server.exit(0)
        p.client.expect(result("last"))
        p.client.expect_eof()
        eq(p.wait(), 0, "exit status")
        session_row(t)


@case("lines written before SIGTERM reach the server whole or not at all")
def _(t):
    p = t.proxy("--grace", "600ms").initialize()
    lines = [lib.call(i, "x" * 100) for i in range(200)]
    p.client.send(*lines)
    p.proc.send_signal(signal.SIGTERM)
    got = p.server.rest()
    check(got == b"" or got.endswith(b"\n"), f"a torn line: {lib.short(got[-200:])}")
    eq(got.split(b"\n")[:-1], lines[:got.count(b"\n")], "lines at the server")
    p.server.exit(0)
    p.wait()


for status in (0, 1, 7, 255):
    @case(f"the server exits with {status}: the interposer exits with it at once")
    def _(t, status=status):
        p = t.proxy("--grace", "20s").initialize()
        start = time.monotonic()
        p.server.exit(status)
        p.client.expect_eof()
        eq(p.wait(), status, "exit status")
        check(time.monotonic() - start < 10 * lib.SLOW, "it waited for the grace")
        eq(session_row(t)[1], status, "recorded exit status")

for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT):
    @case(f"the server is killed by {number.name}: the exit status is 128+{int(number)}")
    def _(t, number=number):
        p = t.proxy("--grace", "20s").initialize()
        p.server.kill(number)
        p.client.expect_eof()
        eq(p.wait(), 128 + number, "exit status")
        eq(session_row(t)[1], 128 + number, "recorded exit status")


@case("the server is killed with pending requests: each gets an error, and the record says why")
def _(t):
    p = t.proxy().initialize()
    p.client.send(lib.call(1, "crash"), lib.call("two", "other"))
    p.server.recv()
    p.server.kill(signal.SIGSEGV)
    p.expect_gone([b"1", b'"two"'])
    eq(p.wait(), 139, "exit status")
    got = t.rows("SELECT status, error_code FROM invocations WHERE method = 'tools/call'")
    eq(got, [(b"server-gone", -32000)] * 2, "status and code")


@case("a pending request of 2026-07-28 gets the error code of that revision when the server is killed")
def _(t):
    p = t.proxy()
    p.client.send(request("m", "tools/call", {"name": "x", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}))
    p.server.recv()
    p.server.kill(signal.SIGKILL)
    m = p.client.recv_json()
    eq((m["id"], m["error"]["code"]), ("m", -31000), "id and code")
    eq(p.wait(), 137, "exit status")


@case("the server exits before the first request")
def _(t):
    p = t.proxy()
    p.server.exit(3)
    p.client.expect_eof()
    eq(p.wait(), 3, "exit status")


@case("the client closes stdin before the first message")
def _(t):
    p = t.proxy()
    p.end(0)
    eq(t.messages(), [], "messages")
    eq(session_row(t)[1], 0, "recorded exit status")


@case("an unknown command: exit status 127, and the error shows the PATH that was searched")
def _(t):
    for command in ("no-such-server-here", "/nowhere/at/all"):
        p = t.proxy("--grace", "600ms", server=[command, "--flag"])
        p.client.expect_eof()
        eq(p.wait(), 127, f"exit status for {command}")
        said = p.stderr().decode()
        check(command in said, f"the command is not named: {said!r}")
        eq("PATH" in said, "/" not in command, f"PATH in {said!r}")


@case("a command that cannot be executed: exit status 126, and the error names it")
def _(t):
    plain = t.tmp / "plain-file"
    plain.write_text("#!/bin/sh\nexit 0\n")
    plain.chmod(0o644)
    for command in (plain, t.tmp):
        p = t.proxy("--grace", "600ms", server=[command])
        p.client.expect_eof()
        eq(p.wait(), 126, f"exit status for {command}")
        said = p.stderr().decode()
        check(str(command) in said and "executable" in said, f"neither named nor mended: {said!r}")


@case("a command that cannot be started: the error for the client says why")
def _(t):
    plain = t.tmp / "plain-file"
    plain.write_text("no program")
    plain.chmod(0o644)
    for command, status, words in (("no-such-server-here", 127, "cannot find the server 'no-such-server-here'; give its full path"),
                                   (plain, 126, "name an executable file")):
        p = t.proxy("--grace", "20s", server=[command])
        p.client.send(request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                "clientInfo": {"name": "c", "version": "1"}}))
        error = p.client.recv_json()["error"]
        eq((error["code"], error["data"]["cause"]), (-32000, "server-failed"), "code and cause")
        check(words in error["message"], error["message"])
        for i in range(2, 5):       # each after the answer to the one before; a long one, too
            p.client.send(request(i, "tools/list", {"pad": "x" * (i // 3 * 1_200_000)}), note("notifications/cancelled", {"requestId": 1}))
            answer = p.client.recv_json()
            eq((answer["id"], answer["error"]["data"]["cause"]), (i, "server-failed"), "the next answer")
            check(answer["error"]["message"] in error["message"] and words in answer["error"]["message"], answer)
        p.client.close_write()
        p.client.expect_eof()
        eq(p.wait(), status, "exit status")
        eq(t.rows("SELECT status FROM invocations ORDER BY started_at_us DESC LIMIT 1"), [(b"server-gone",)], "in the record")


@case("a command that cannot be started because no descriptor is left: the client is answered until it closes stdin")
def _(t):
    for most in range(9, 15):
        p = t.proxy("--grace", "20s", server=["/bin/cat"], preexec=lambda n=most: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)), record=False)
        p.client.send(request(1, "initialize"))
        answer = p.client.recv_json()
        if "error" not in answer:       # so many are enough
            break
        eq(answer["error"]["data"]["cause"], "server-failed", f"the answer with {most} descriptors")
        for _ in range(30):
            p.client.send(note("notifications/progress", {"progressToken": "x" * 100_000, "progress": 1}))
        p.client.send(request(2, "tools/list"))
        eq(p.client.recv_json()["id"], 2, f"the second answer with {most} descriptors")
        p.client.close_write()
        eq(p.wait(), 126, f"exit status with {most} descriptors")
    check(most > 9, "a server was started with 9 descriptors")


@case("a command that is not found: stderr and the first error name the directories that were searched, in one line")
def _(t):
    long = [f"/opt/some/program-{i}/bin" for i in range(40)]
    for path, says in (("/usr/bin:/bin", "; 2 directories were searched: /usr/bin:/bin"), ("/bin", "; 1 directory was searched: /bin"),
                       (":".join(long), f"; 40 directories were searched: {':'.join(long[:3])}:..."), ("", "; PATH is not set"),
                       ("/" + "x" * 5000 + ":/bin", "; 2 directories were searched")):
        p = t.proxy(server=["no-such-server-here"], env={"PATH": path})
        p.client.send(request(1, "initialize"), request(2, "tools/list"))
        first, second = (p.client.recv_json()["error"]["message"] for _ in range(2))
        advice = "cannot find the server 'no-such-server-here'; give its full path, or add its directory to PATH"
        eq((first, second), (advice + says, advice), f"the errors with {path!r}")
        p.client.close_write()
        eq(p.wait(), 127, "exit status")
        eq(p.stderr().decode().count(advice + says + "\n"), 1, p.stderr())


@case("a command that cannot be started: the interposer exits even when the client sends nothing")
def _(t):
    p = t.proxy("--grace", "600ms", server=["no-such-server-here"])
    p.client.expect_eof()
    eq(p.wait(), 127, "exit status")
    start = time.monotonic()
    done = t.run("proxy", "--vault", t.vault, "--grace", "20s", "--", "no-such-server-here")
    eq((done.returncode, done.stdout), (127, b""), "with nothing on stdin")
    check(time.monotonic() - start < 10 * lib.SLOW, "it waited for the grace")


@case("a command that cannot be started is recorded")
def _(t):
    p = t.proxy("--grace", "600ms", server=["no-such-server-here"])
    eq(p.wait(), 127, "exit status")
    rows = t.rows("SELECT command, exit_status, ended_at_us IS NOT NULL FROM sessions")
    eq(rows, [(b'["no-such-server-here"]', 127, 1)], "the session")


@case("a command is found in PATH")
def _(t):
    folder = t.tmp / "bin"
    folder.mkdir()
    (folder / "my-answer").symlink_to(fake("answer"))
    p = t.proxy(server=["my-answer"], env={"PATH": f"/nowhere:{folder}"})
    p.client.send(request(1))
    eq(p.client.recv_json()["id"], 1, "id of the answer")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


class Started:
    """The interposer with any arguments, started by a client."""

    def __init__(self, t, *args, stdin=None):
        (in_r, in_w), (out_r, out_w) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        self.client = lib.End("client", out_r, in_w)
        self.said = t.tmp / f"said-{next(t.numbers)}"
        with open(self.said, "wb") as err:
            self.proc = subprocess.Popen([lib.PROGRAM, *(str(a) for a in args)], stdin=in_r, stdout=out_w, stderr=err, env=t.environ())
        os.close(in_r)
        os.close(out_w)
        for f in (self.client.close, self.proc.wait, self.proc.kill):
            t.closing.callback(f)


@case("invalid options, configuration or commands: the error for the client says why, and nothing is recorded")
def _(t):
    ini = t.tmp / "c.ini"
    ini.write_text("[proxy]\nrecrd = full\n")
    where = ("--vault", t.vault)
    for args, says in ((["proxy", *where, "--config", ini, "--", "true"], f"{ini}:2: unknown key 'recrd'; did you mean 'record'?"),
                       (["proxy", *where, "--config", t.tmp / "gone.ini", "--", "true"], "cannot read configuration"),
                       ([*where, "--no-such-option", "--", "true"], "unknown option --no-such-option"),
                       (["proxy", *where, "--timeout", "tool=5s", "--", "true"], "tool:tool=DURATION for a tool"),
                       (["proxy", *where, "--restarts", "1000", "--", "true"], "--restarts: must be at most 100"),
                       (["proxy", *where], "missing server"),
                       (["--name", "x", "true"], "missing '--'"),
                       (["npx", "-y", "server"], "a server is started with: mcp-interposer proxy -- npx"),
                       (["prxy", "--", "true"], "did you mean 'proxy'?")):
        p = Started(t, *args)
        # Clients of 2026-07-28 ask server/discover before initialize; the second request comes after the first answer.
        for name, params, more in (("server/discover", {}, []), ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                   "clientInfo": {"name": "c", "version": "1"}}, ["tools/list", "ping"])):
            p.client.send(b"not a message", note("notifications/early"), request(name, name, params), *(request(m, m) for m in more))
            for method in (name, *more):
                answer = p.client.recv_json()
                error = answer["error"]
                eq((answer["id"], error["code"], error["data"]),
                   (method, -32000, {"source": "mcp-interposer", "cause": "not-started", "method": method}), "the error")
                check(error["message"].startswith("mcp-interposer did not start the server: ") and says in error["message"], error["message"])
        p.client.close_write()
        p.client.expect_eof()
        eq(p.proc.wait(10 * lib.PATIENCE), 2, f"exit status of {args}")
        said = p.said.read_text()
        check(says in said and "\ntry: mcp-interposer " in said, said)
    check(not t.vault.exists(), "a vault was made")


@case("invalid options: a request of revision 2026-07-28 gets its code, the last line may lack a newline, and nobody is waited for in vain")
def _(t):
    modern = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}).encode()
    r = t.run("proxy", "--bad", "--", "true", input=modern)
    eq((r.returncode, json.loads(r.stdout)["error"]["code"]), (2, -31000), "code")
    for args in (["help", "shwo"], ["sessions", "--bad"]):
        r = t.run(*args, input=modern)
        eq((r.returncode, r.stdout), (2, b""), f"{args}, which no client starts")
    p = Started(t, "proxy", "--bad", "--", "true")
    p.client.send(request("i" * 500_000, "initialize"))     # the answer fills the pipe, and is not read
    eq(p.proc.wait(10 * lib.PATIENCE), 2, "exit status")
    p = Started(t, "proxy", "--bad", "--", "true")
    p.client.expect_eof()           # the client says nothing
    eq(p.proc.wait(10 * lib.PATIENCE), 2, "exit status")


@case("recording cannot begin, with --on-record-error=stop: the error for the client says so")
def _(t):
    t.vault.write_text("a file")
    p = Started(t, "proxy", "--vault", t.vault, "--on-record-error", "stop", "--", "true")
    p.client.send(request(1, "initialize"))
    check("recording cannot begin" in p.client.recv_json()["error"]["message"], "message")
    p.client.close_write()
    eq(p.proc.wait(10 * lib.PATIENCE), 3, "exit status")


@case("MCP_INTERPOSER=off: the proxy becomes the server, with its arguments, and opens neither vault nor configuration")
def _(t):
    ini = t.tmp / "c.ini"
    ini.write_text("this is not a configuration")
    script = 'echo "$$ $0 $1 $2"; cat; exit 7'
    for value in ("off", "0", "no", "false"):
        for args in (["proxy", "--vault", t.vault, "--config", ini, "--name", "x", "--"], ["--vault", t.vault, "--config", ini, "--"]):
            proc = subprocess.Popen([lib.PROGRAM, *map(str, args), "sh", "-c", script, "zero", "-x", "a b"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=t.environ({"MCP_INTERPOSER": value}))
            out, err = proc.communicate(b"not JSON\n", timeout=20 * lib.PATIENCE)
            eq((proc.returncode, out.decode(), err), (7, f"{proc.pid} zero -x a b\nnot JSON\n", b""), f"{value} {args[0]}")
    folder = t.tmp / "bin"
    folder.mkdir()
    (folder / "own-server").write_text("#!/bin/sh\necho found\n")
    (folder / "own-server").chmod(0o755)
    off = {"MCP_INTERPOSER": "off"}
    eq(t.run("proxy", "--path", folder, "--", "own-server", env=off).stdout, b"found\n", "--path")
    check(not t.vault.exists(), "a vault was made")
    r = t.run("proxy", "--vault", t.vault, "--", "no-such-server-here", env=off, input=request(1, "initialize"))
    check(r.returncode == 127 and b"MCP_INTERPOSER is off" in r.stderr and b"MCP_INTERPOSER is off" in r.stdout, r)
    eq(t.run("proxy", "--", env=off).returncode, 2, "no server")
    for args in (["proxy", "--bad"], ["proxy", "--name", "x", "--bad", "value", "--path", folder], ["--bad", "--bad=2", "--path", folder],
                 ["proxy", "-z", "--path", "relative"], ["proxy", "--restarts", "many"]):
        server = "own-server" if folder in args else "/bin/echo"
        r = t.run(*args, "--", server, "found", env=off)
        eq((r.returncode, r.stdout), (0, b"found\n"), f"{args}, of which one is invalid: {r.stderr!r}")
        eq(b"ignored, because MCP_INTERPOSER is off" in r.stderr, "--bad" in args or "-z" in args, f"the warning: {r.stderr!r}")
    eq(t.run("proxy", "--bad", "server", env=off).returncode, 2, "no -- after a wrong option: its value, or the server?")
    check(b"Usage: " in t.run("proxy", "--help", env=off).stdout, "--help")
    eq(t.run("sessions", "--vault", t.vault, env=off).returncode, 3, "another command")
    for value in ("", "on", "1", "OFF", "of", str(lib.PROGRAM)):
        r = t.run("proxy", "--vault", t.vault, "--name", "recorded", "--", "true", env={"MCP_INTERPOSER": value})
        eq(r.returncode, 0, f"exit status with {value!r}")
        warned = f"MCP_INTERPOSER={value} has no effect: use off" in r.stderr.decode()
        eq(warned, value not in ("", "on", "1"), f"a warning about {value!r}: {r.stderr!r}")
    eq(t.rows("SELECT count(*) FROM sessions")[0][0], 6, "sessions with other values")


@case("a usage error has exit status 2, a hint on stderr and nothing on stdout")
def _(t):
    for args in (["proxy"], ["proxy", "--"], ["proxy", "--no-such-option", "--", "true"],
                 ["proxy", "--validate", "maybe", "--", "true"], ["proxy", "--grace", "soon", "--", "true"],
                 ["proxy", "--max-message", "big", "--", "true"], ["proxy", "--vault"],
                 ["proxy", "--on-record-error", "shrug", "--", "true"], ["no-such-command"]):
        r = t.run(*args)
        eq((r.returncode, r.stdout), (2, b""), f"status and stdout of {args}")
        check(r.stderr.strip(), f"nothing is said about {args}")


@case("everything that the server writes right before it exits is delivered")
def _(t):
    words = [note("last", {"n": i, "pad": "w" * 5000}) for i in range(60)]   # 300 KB
    p = t.proxy().initialize()
    with lib.Background(lambda: (p.server.send(*words), p.server.exit(4))):
        p.client.expect(*words)
    p.client.expect_eof()
    eq(p.wait(), 4, "exit status")
    eq(len(t.messages("method = 'last'")), 60, "recorded last words")


@case("everything that a killed server had written is delivered")
def _(t):
    words = [note("last", {"n": i, "pad": "w" * 1000}) for i in range(60)]   # the capacity of a pipe
    p = t.proxy().initialize()
    p.server.send(*words)
    p.server.kill(signal.SIGKILL)
    p.client.expect(*words)
    p.client.expect_eof()
    eq(p.wait(), 137, "exit status")


@case("the last words of a crashed server are in the error, also if a process that it left behind gets signals")
def _(t):
    for left in "", "trap '' TERM; sleep 300 & ":
        p = t.proxy("--grace", "1s", server=["sh", "-c", f"read x; {left}echo no such table >&2; exit 7"])
        p.client.send(lib.request(1, "tools/list"))
        told = p.client.recv_json()["error"]["message"]
        check('its last output was "no such table"' in told, told)
        kinds = [k for (k,) in t.rows("SELECT kind FROM events WHERE session_id = (SELECT max(id) FROM sessions) ORDER BY id")]
        eq(kinds.count(b"kill"), 2 if left else 0, f"signals: {kinds}")
        p.client.close_write()
        eq(p.wait(), 7, "exit status")


@case("the last output of the server waits for a slow client")
def _(t):
    words = [note("last", {"n": i, "pad": "w" * 5000}) for i in range(100)]
    p = t.proxy("--grace", "10s").initialize()
    with lib.Background(lambda: (p.server.send(*words), p.server.exit(0))):
        # The client starts reading when the pipes are full.
        lib.wait_until(lambda: len(t.messages("method = 'last'")) > 20, 5, "20 notes in the record")
        p.client.expect(*words)
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")


@case("the server closes stdout but keeps running: the client sees the end, and the server is stopped")
def _(t):
    p = t.proxy("--grace", "600ms").initialize()
    p.server.send(note("closing"))
    p.server.close_write()
    p.client.expect(note("closing"))
    start = time.monotonic()
    p.client.expect_eof()
    p.wait()
    check(time.monotonic() - start < 10 * lib.SLOW, "it took much longer than the grace")
    check(not lib.alive(p.server.pid), "the server is still there")


@case("the server closes stdout while a client that has closed stdin awaits an answer: nobody waits for the deadline")
def _(t):
    p = t.proxy("--grace", "600ms").initialize()        # there is no deadline
    p.client.send(lib.call(1))
    p.server.recv()
    p.client.close_write()
    p.server.expect_eof()
    p.server.close_write()
    p.expect_gone([b"1"])
    eq(p.wait(), 143, "exit status")
    eq(t.rows("SELECT end_reason FROM sessions"), [(b"client-closed",)], "end_reason")


@case("the server closes its stdin but keeps writing: its messages are forwarded")
def _(t):
    p = t.proxy().initialize()
    p.server.close_read()
    p.client.send(lib.call(1, "into the void"))
    for i in range(3):
        p.server.send(note("still", {"n": i}))
        p.client.expect(note("still", {"n": i}))
    check(p.proc.poll() is None, "the interposer has left")
    p.server.exit(5)
    p.client.rest()
    eq(p.wait(), 5, "exit status")


@case("the client closes its reading side: the session ends without SIGPIPE")
def _(t):
    p = t.proxy().initialize()
    p.client.close_read()
    p.server.send(*(note("n", {"i": i}) for i in range(10)))
    p.server.expect_eof()
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")
    session_row(t)


@case("the client closes both sides")
def _(t):
    p = t.proxy().initialize()
    p.client.send(request("x", "tools/list"))
    p.client.close()
    p.server.expect(request("x", "tools/list"))
    p.server.expect_eof()
    p.server.send(result("x"))
    p.server.exit(0)
    eq(p.wait(), 0, "exit status")


WAITED_S = 2 * lib.SLOW     # much longer than the grace of 300 ms


def piped(t, *options, waited_s=WAITED_S):
    """A client that has asked and says no more, and a server that has seen its stdin end and is at work."""
    p = t.proxy("--grace", "300ms", *options)
    p.client.send(request(1, "tools/list"))
    p.client.close_write()
    p.server.expect(request(1, "tools/list"))
    p.server.expect_eof()
    time.sleep(waited_s)
    return p


@case("after the end of stdin a client that still reads gets its answer, even later than the grace period")
def _(t):
    p = piped(t)
    p.server.send(result(1))
    p.client.expect(result(1))
    p.client.expect_eof()           # the puppet stays: the grace period has started
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")
    eq(t.rows("SELECT status FROM invocations"), [(b"ok",)], "the call in the record")
    eq(session_row(t)[0], "client-closed", "why it ended")


@case("after the end of stdin the grace period starts when the client stops reading")
def _(t):
    p = piped(t)
    p.client.close_read()
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")


@case("after the end of stdin SIGTERM stops the wait for answers at once")
def _(t):
    half_s = 10 * lib.SLOW
    p = piped(t, "--grace", f"{2000 * half_s:.0f}ms", waited_s=1.05 * half_s)      # more than half of the grace
    start = time.monotonic()
    p.proc.send_signal(signal.SIGTERM)
    lib.wait_until(lambda: not lib.alive(p.server.pid), 10, "the server has ended")
    check(time.monotonic() - start < half_s, "SIGTERM was sent half of the grace later")
    p.server.close()        # the descriptors of the puppet, held by this test
    p.expect_gone([b"1"])
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")


@case("after the end of stdin pending requests keep their deadlines")
def _(t):
    p = piped(t, "--timeout", f"{1500 * WAITED_S:.0f}ms")
    eq(p.client.recv_json()["error"]["code"], -32001, "code")
    p.client.expect_eof()
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")
    check(not (t.vault / "Escalations").exists(), "nobody is to be troubled with a server that was to end anyway")


@case("after the end of stdin the server closes its own: a request that it has not read is answered at once")
def _(t):
    p = t.proxy("--grace", "300ms").initialize()
    p.client.send(request(1, "tools/list"))
    p.server.expect(request(1, "tools/list"))
    p.client.send(request(2, "tools/call", {"name": "x", "arguments": {"text": "x" * 300000}}))     # more than a pipe has
    stdin = os.fstat(p.client.write_fd).st_ino
    p.client.close_write()
    lib.wait_until(lambda: f"pipe:[{stdin}]" not in lib.open_files(p.pid), 20, "the proxy has seen the end of its stdin")
    p.server.close_read()
    error = p.client.recv_json(seconds=20)      # its deadline is 30 s
    eq((error["id"], error["error"]["code"], error["error"]["data"]["cause"]), (2, -32000, "server-closed"), "the answer")
    check("closed its stdin before it answered" in error["error"]["message"], error)
    p.server.send(result(1))                    # it has read this one
    p.client.expect(result(1))
    p.client.expect_eof()
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")


LISTEN = request("l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}})


def listened(id):
    return {"jsonrpc": "2.0", "id": id, "result": {
        "resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": id}}}


@case("cancelled requests do not delay shutdown")
def _(t):
    p = t.proxy("--grace", "300ms")
    p.client.send(request(1, "tools/list"))
    p.client.send(lib.note("$/cancelRequest", {"id": 1}))
    p.client.close_write()
    check(p.client.recv_json()["error"]["code"] == -32000, "the request is told of the end")
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")


@case("requests without a deadline do not delay shutdown")
def _(t):
    p = t.proxy("--grace", "300ms")
    p.client.send(LISTEN)
    p.client.close_write()
    eq(p.client.recv_json(), listened("l"), "the end of the listen")
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")
    eq(t.rows("SELECT status FROM invocations"), [(b"ok",)], "the listen in the record")
    eq(t.rows("SELECT seq, finding FROM messages WHERE finding IS NOT NULL"), [], "nothing is wrong with the server")


@case("SIGTERM: a pending subscriptions/listen gets a result, a pending call an error")
def _(t):
    p = t.proxy("--grace", "600ms")
    p.client.send(LISTEN, request(2, "tools/list"))
    p.server.expect(LISTEN, request(2, "tools/list"))
    p.proc.send_signal(signal.SIGTERM)
    eq(p.client.recv_json(), listened("l"), "the end of the listen")
    eq(p.client.recv_json()["error"]["code"], -32000, "the call")
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")
    eq(t.rows("SELECT status FROM invocations ORDER BY request_seq"), [(b"ok",), (b"interrupted",)], "in the record")


@case("shutdown and the end of stdin end the session, whether or not shutdown is answered")
def _(t):
    p = t.proxy("--grace", "300ms").initialize()
    p.client.send(request("s", "shutdown"))
    p.client.close_write()
    p.expect_gone([b'"s"'])
    eq(p.wait(), 128 + signal.SIGTERM, "exit status")


@case("a request that arrives during shutdown is answered once at most, and whole")
def _(t):
    p = t.proxy().initialize()
    p.proc.send_signal(signal.SIGTERM)
    p.server.expect_eof()
    try:
        p.client.write(request(1, "tools/list") + b"\n")
    except BrokenPipeError:
        pass        # the simplest form
    p.server.exit(0)
    lines = p.client.rest().split(b"\n")[:-1]
    check(len(lines) <= 1, f"lines: {lines}")
    eq(p.wait(), 0, "exit status")


@case("after the end of stdin the session ends at once when the server exits")
def _(t):
    p = t.proxy("--grace", "20s", server=[fake("answer")])
    p.client.send(request(1))
    p.client.recv()
    start = time.monotonic()
    p.client.close_write()
    p.client.expect_eof()
    eq(p.wait(), 0, "exit status")
    check(time.monotonic() - start < 10 * lib.SLOW, "it waited for the grace")


@case("the short form without `proxy` works")
def _(t):
    r = t.run("--vault", t.vault, "--", fake("answer"), input=request("short") + b"\n")
    eq(r.returncode, 0, "exit status")
    check(r.stdout.startswith(b'{"jsonrpc":"2.0","id":"short","result"'), f"stdout: {r.stdout!r}")
    eq(len(t.messages("rpc_id = '\"short\"'")), 2, "recorded")


@case("the vault is taken from the environment, and a flag overrides it")
def _(t):
    env = {"MCP_INTERPOSER_VAULT": str(t.tmp / "from-env")}
    t.run("proxy", "--", fake("answer"), input=request(1) + b"\n", env=env)
    check((t.tmp / "from-env/interposer.db").exists(), "no database where the environment says")
    t.run("proxy", "--vault", t.tmp / "from-flag", "--", fake("answer"), input=request(1) + b"\n", env=env)
    check((t.tmp / "from-flag/interposer.db").exists(), "no database where the flag says")
    t.run("proxy", "--", fake("answer"), input=request(1) + b"\n")
    check((t.home / ".local/state/mcp-interposer/interposer.db").exists(), "no database at home")
    for path in (t.tmp / "from-env", t.home / ".local/state/mcp-interposer"):
        eq(path.stat().st_mode & 0o777, 0o700, f"mode of {path}")
        for f in path.rglob("*"):
            with contextlib.suppress(FileNotFoundError):    # a recorder that exits removes the write-ahead log
                eq(f.stat().st_mode & 0o077, 0, f"what others may do with {f}")


lib.main(at_once=4)
