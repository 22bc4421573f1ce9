#!/usr/bin/env python3
"""kill -9 while the vault is created, and the session after it. Kills under load: tests/stress/kills.py."""
import os
import random
import time

import lib
from lib import case, check, eq, fake

KILLS = 40 if os.environ.get("TEST_LONG") else 16
SEED = int(os.environ.get("E2E_SEED", str(random.SystemRandom().randrange(10**6))))


@case("kills during the creation of a vault: it can be read, and the next session uses it")
def _(t):
    r = random.Random(SEED)
    made, window_s, n = 0, 0.006 * lib.SLOW, -1
    while n + 1 < KILLS or (made <= KILLS // 8 and n < 4 * KILLS):  # on a busy machine it takes longer to find the moment
        n += 1
        vault = t.tmp / f"new-{n}"
        p = t.proxy(vault=vault, server=[fake("answer")])
        p.client.send(lib.call(n))
        end = time.monotonic() + r.uniform(0, 2 * window_s)
        while time.monotonic() < end:      # the moment of death, to the microsecond
            pass
        p.die(all_of_it=r.random() < 0.7)
        exists = (vault / "interposer.db").exists()
        made += exists
        window_s *= 0.8 if exists else 1.5     # towards the time that it takes on this machine
        shown = t.run("sessions", "--vault", vault)
        check(shown.returncode == 0 or b"nothing has been recorded" in shown.stderr or not vault.exists(),
              f"sessions after kill {n}: {shown.returncode} {shown.stderr!r}")
        q = t.proxy(vault=vault, server=[fake("answer")])
        q.client.send(lib.call(n))
        eq(q.client.recv_json()["id"], n, "id of the answer")
        q.client.close_write()
        eq(q.wait(), 0, "exit status")
        eq(q.complaints(), [], f"warnings and errors after kill {n}")
        eq(len(t.messages("session_id = (SELECT max(id) FROM sessions)", vault=vault)), 2, "messages of the next session")
        eq(lib.integrity(vault), [(b"ok",)], "integrity_check")
    check(made > KILLS // 8, f"only {made} of {n + 1} got as far as a database")


@case("after a kill the next session uses the same vault, and the killed one can be shown")
def _(t):
    p = t.proxy("--name", "killed").initialize()
    p.round("before")
    p.die()
    p.server.exit()
    lib.settle()
    q = t.proxy("--name", "next").initialize()
    q.round("after")
    q.end()
    eq(t.rows("SELECT s.name, m.rpc_id FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.kind = "
              "'result' AND m.rpc_id != '\"init\"' ORDER BY s.id"), [(b"killed", b'"before"'), (b"next", b'"after"')], "answers")
    r = t.run("sessions", "--vault", t.vault)
    check(b"killed" in r.stdout and b"next" in r.stdout, "both sessions are listed")
    eq(lib.integrity(t.vault), [(b"ok",)], "integrity_check")


lib.main()
