#!/usr/bin/env python3
"""A large vault from scripts/make-vault, and the time that the reading commands take."""
import json
import os
import re
import subprocess

import lib
from lib import case, check, eq
from looking import run

SESSIONS, MESSAGES = (20, 4000) if lib.SLOW > 1 else (30, 30000) if os.environ.get("TEST_LONG") else (20, 15000)
MOST_SECONDS = 2.0 * max(MESSAGES, 15000) / 30000 * lib.SLOW       # of a command's own time


@case(f"{MESSAGES:,} messages: each reading command takes little CPU time, and agrees with the views", limit=120)
def _(t):
    made = subprocess.run([lib.ROOT / "scripts/make-vault", t.vault, "--sessions", str(SESSIONS), "--messages", str(MESSAGES), "--until", "1795256137"],
                          env=t.environ({"MCP_INTERPOSER": lib.PROGRAM}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100 * lib.PATIENCE)
    eq(made.returncode, 0, f"make-vault: {made.stdout.decode()}")
    check(re.match(rf"{SESSIONS} sessions, {MESSAGES} messages, \d+ MiB\n", made.stdout.decode()), made.stdout)
    again = subprocess.run([lib.ROOT / "scripts/make-vault", t.vault], env=t.environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(again.returncode != 0 and b"exists already" in again.stdout, "make-vault overwrites a vault")
    took, text = {}, {}
    run(t, "search", "nothingatall", "--json", status=1, seconds=100)  # makes the index
    for args in (["sessions", "-n", "0"], ["sessions", "--failed"], ["show", str(SESSIONS // 2)], ["stats", "--by", "method"], ["stats"], ["tail"],
                 ["search", "-n", "0", "invoice"], ["search", "-n", "0", "-x", "orchard bran"], ["search", "status:timeout", "-n", "0"]):
        before = os.times()
        text[" ".join(args)] = run(t, *args, "--json", seconds=60)
        after = os.times()
        took[" ".join(args)] = after.children_user + after.children_system - before.children_user - before.children_system
    print("# seconds of their own: " + ", ".join(f"{k} {v:.2f}" for k, v in took.items()))
    slow = {k: round(v, 2) for k, v in took.items() if v > MOST_SECONDS}
    check(not slow, f"seconds: {slow}")

    def rows(key):
        return [json.loads(x) for x in text[key].splitlines()]
    eq(sum(x["calls"] for x in rows("sessions -n 0")), t.rows("SELECT count(*) FROM invocations")[0][0], "calls")
    eq({x["method"]: x["errors"] for x in rows("stats --by method")},
       {m.decode(): n for m, n in t.rows("SELECT method, sum(status IN ('error', 'tool-error', 'timeout', 'refused', 'server-gone')) FROM invocations GROUP BY 1")},
       "errors by method")
    eq(len(rows("search status:timeout -n 0")), t.rows("SELECT count(*) FROM invocations WHERE status = 'timeout'")[0][0], "timeouts")
    eq(len(rows("search -n 0 invoice")), t.rows("SELECT count(*) FROM messages WHERE body LIKE '%invoice%'")[0][0], "messages with a word")
    eq(len(rows("search -n 0 -x orchard bran")), t.rows("SELECT count(*) FROM messages WHERE instr(body, 'orchard bran')")[0][0], "messages with a text")


lib.main()
