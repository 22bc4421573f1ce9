#!/usr/bin/env python3
"""The same session has the same calls, statuses, durations and counts in every form. tests/ship has that of a store."""
import forms
import lib
from lib import case, eq


@case("a call is the same in show, tail, sessions, stats, the tools of mcp and every format of export")
def _(t):
    forms.record(t)
    t.run("sessions", "--vault", t.vault)       # stores what the killed recorder had not
    calls = forms.truth(t.rows(forms.TRUTH))
    eq({c[3] for c in calls.values()}, set(forms.WORDS) - {"server-gone", "interrupted"}, "statuses")
    forms.walk_mcp(lambda lines: t.run("mcp", "--vault", t.vault, input=lines).stdout.decode(), calls, eq)
    forms.walk(lambda *words: t.run(*words, "--vault", t.vault, env={"LC_ALL": "C.UTF-8"}).stdout.decode(), calls, eq)


@case("an imported cassette has the same calls")
def _(t):
    forms.record(t)
    cassette, other = t.tmp / "a.jsonl", t.tmp / "other"
    t.run("export", "-o", cassette, "--vault", t.vault)
    t.run("import", cassette, "--vault", other)
    eq(forms.truth(t.rows(forms.TRUTH, vault=other)), forms.truth(t.rows(forms.TRUTH)), "calls")


lib.main()
