#!/usr/bin/env python3
"""No process outlives the interposer: stubborn servers, their children, and kill -9 of the interposer."""
import os
import re
import signal
import time

import lib
from lib import alive, case, check, eq, fake, one_of, wait_until


def processes(path, wanted, seconds=5):
    """{name: pid} once the fake has written `wanted` of them."""
    def read():
        found = re.findall(r"(\w+) (\d+)\n", path.read_text()) if path.exists() else []
        return [(n, int(pid)) for n, pid in found] if len(found) >= wanted else None
    return wait_until(read, seconds, f"{wanted} processes in {path.name}")


def none_left(found, seconds=3):
    wait_until(lambda: not any(alive(pid) for _, pid in found), seconds,
               f"all gone of {[(n, pid) for n, pid in found if alive(pid)]}")


DEFAULT_GRACE = {"MCP_INTERPOSER_GRACE": "1.5s"}


def timed_end(p, how, found, least, most):
    start = time.monotonic()
    how()
    status = p.wait(10)
    took = time.monotonic() - start
    none_left(found)        # a process that got SIGKILL may still wait for a processor to end on
    check(took >= least - 0.05, f"gone after {took:.2f} s, before {least} s")
    check(took <= 10 * most * lib.SLOW, f"gone after {took:.2f} s, much later than {most} s")
    return status


ENDS = {"the end of stdin": lambda p: p.client.close_write(),
        "SIGTERM": lambda p: p.proc.send_signal(signal.SIGTERM),
        "SIGINT": lambda p: p.proc.send_signal(signal.SIGINT),
        "SIGHUP": lambda p: p.proc.send_signal(signal.SIGHUP)}

for end, how in ENDS.items():
    @case(f"{end}: a server that ignores it and SIGTERM is killed at the end of the grace period")
    def _(t, how=how):
        p = t.proxy("--grace", "600ms", server=[fake("stubborn"), t.tmp / "pids", "term", "eof"])
        found = processes(t.tmp / "pids", 1)
        eq(timed_end(p, lambda: how(p), found, 0.55, 0.6), 137, "exit status")
        reason = t.rows("SELECT end_reason, exit_status FROM sessions")
        eq(reason[0][1], 137, "recorded exit status")


@case("the default grace period is shorter than the time after which clients kill")
def _(t):
    p = t.proxy(server=[fake("stubborn"), t.tmp / "pids", "term", "eof"], env=DEFAULT_GRACE)
    found = processes(t.tmp / "pids", 1)
    timed_end(p, p.client.close_write, found, 1.4, 1.5)


@case("a server that ignores the end of stdin gets SIGTERM after half the grace period")
def _(t):
    p = t.proxy("--grace", "1s", server=[fake("stubborn"), t.tmp / "pids", "eof"])
    found = processes(t.tmp / "pids", 1)
    eq(timed_end(p, p.client.close_write, found, 0.45, 0.6), 143, "exit status")
    kinds = [k.decode() for k, in t.rows("SELECT kind FROM events")]
    check("kill" in kinds, f"events: {kinds}")


for kind, what in (("group", "in the group"), ("session", "in a session of its own"),
                   ("pipes", "in a session of its own, holding our pipes")):
    for stubborn in (["term", "eof"], ["eof"]):
        @case(f"a grandchild {what} that ignores {' and '.join(stubborn)} is killed")
        def _(t, kind=kind, stubborn=stubborn):
            p = t.proxy("--grace", "600ms", server=[fake("stubborn"), t.tmp / "pids", *stubborn,
                                                    f"child={kind}", "child=group"])
            found = processes(t.tmp / "pids", 3)
            timed_end(p, p.client.close_write, found, 0, 1.2)

    @case(f"a stubborn grandchild {what} behind `sh -c` is killed")
    def _(t, kind=kind):
        script = f"{fake('stubborn')} {t.tmp / 'pids'} term eof child={kind}; exit 0"
        p = t.proxy("--grace", "600ms", server=["sh", "-c", script])
        found = processes(t.tmp / "pids", 2)
        timed_end(p, p.client.close_write, found, 0, 1.2)

    @case(f"a process {what} that an exiting server leaves behind is killed")
    def _(t, kind=kind):
        p = t.proxy("--grace", "600ms", server=[fake("stubborn"), t.tmp / "pids", "term", "eof",
                                                f"child={kind}", "leave=6"])
        found = processes(t.tmp / "pids", 2)
        p.client.expect_eof()
        eq(p.wait(10), 6, "exit status")
        none_left(found)


@case("a server stopped by SIGSTOP is killed")
def _(t):
    p = t.proxy("--grace", "600ms").initialize()
    os.kill(p.server.pid, signal.SIGSTOP)
    start = time.monotonic()
    p.client.close_write()
    p.server.close()
    one_of(p.wait(10), (137, 143), "exit status")
    check(time.monotonic() - start < 10 * lib.SLOW, "it took much longer than the grace")
    check(not alive(p.server.pid), "the server is still there")


@case("kill -9 of the interposer: a stubborn server is killed")
def _(t):
    p = t.proxy(server=[fake("stubborn"), t.tmp / "pids", "term", "eof"])
    found = processes(t.tmp / "pids", 1)
    p.die()
    none_left(found, 3)


@case("kill -9 of the interposer: a launcher and its server exit")
def _(t):
    p = t.proxy(server=["sh", "-c", f"{fake('stubborn')} {t.tmp / 'pids'}; exit 0"])
    found = processes(t.tmp / "pids", 1)
    p.recorder()
    p.die()
    none_left(found, 3)


@case("kill -9 of the interposer during traffic leaves no process")
def _(t):
    p = t.proxy(server=[fake("answer"), "-n", "5"])
    p.client.send(*(lib.call(i) for i in range(2000)))
    p.client.recv()
    kids = p.children()
    check("answer" in kids.values(), f"the server is not among the children: {kids}")
    p.die()
    none_left([(name, pid) for pid, name in kids.items()], 3)


@case("kill -9 of the interposer: a stubborn server behind a launcher is killed")
def _(t):
    p = t.proxy(server=["sh", "-c", f"{fake('stubborn')} {t.tmp / 'pids'} term eof child=group; exit 0"])
    found = processes(t.tmp / "pids", 2)
    p.recorder()            # it kills the server, and is started a moment after it
    p.die()
    none_left(found, 3)


@case("kill -9 of all processes of the interposer: the server is killed")
def _(t):
    p = t.proxy(server=[fake("stubborn"), t.tmp / "pids", "term", "eof"])
    found = processes(t.tmp / "pids", 1)
    kids = p.children()
    p.die(all_of_it=True)
    none_left(found + [(name, pid) for pid, name in kids.items()], 3)


@case("side processes exit with the interposer, and the session survives their death")
def _(t):
    p = t.proxy().initialize()
    kids = p.children()
    beside = [pid for pid, name in kids.items() if name.startswith("mcp-")]
    for pid in beside:
        os.kill(pid, signal.SIGKILL)
    for i in range(50):
        p.round(f"r{i}")
    p.end()
    eq(len(t.messages("kind = 'result'")), 51, "results in the record")
    q = t.proxy().initialize()
    kids = q.children()
    q.end()
    none_left([(name, pid) for pid, name in kids.items()], 3)


@case("orphans of the server are reaped during the session")
def _(t):
    script = "i=0; while [ $i -lt 20 ]; do (sh -c 'exit 0 &' </dev/null >/dev/null 2>&1); i=$((i+1)); done; cat >/dev/null"
    p = t.proxy(server=["sh", "-c", script])
    me = f"/proc/{p.pid}/task/{p.pid}/children"

    def zombies():
        out = []
        for kid in open(me).read().split():
            try:
                if open(f"/proc/{kid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z":
                    out.append(kid)
            except (FileNotFoundError, ProcessLookupError):
                pass
        return out
    # Idle only after all twenty have exited.
    def cat_runs():
        try:
            kids = [k for k in open(me).read().split() if alive(int(k))]
            kids += [c for k in kids for c in open(f"/proc/{k}/task/{k}/children").read().split()]
            return any("cat" in open(f"/proc/{k}/comm").read() for k in kids)
        except (FileNotFoundError, ProcessLookupError):
            return False
    wait_until(cat_runs, 10, "cat runs")
    wait_until(lambda: not zombies(), 3, f"no zombie below {p.pid}")
    p.client.close_write()
    eq(p.wait(), 0, "exit status")


lib.main()
