#!/usr/bin/env python3
"""search: words, exact text and fields, with and without an index, and while proxies write."""
import contextlib
import json
import shutil
import stat

import lib
from lib import Background, call, case, check, eq, fake, text_result
from looking import FORBIDDEN, add_message, add_session, fails, make_vault, on_terminal, run, wait_for_sessions


def found(t, *args, vault=None, status=None):
    """(session, seq) of the matches, newest first."""
    r = t.run("search", "--json", "-n", "0", *args, "--vault", vault or t.vault)
    eq(r.stderr, b"", f"stderr of {args}")
    got = [json.loads(x) for x in r.stdout.splitlines()]
    eq(r.returncode, 0 if got else 1, f"exit status of {args}")
    return [(x["session_id"], x["seq"]) for x in got]


def make(t):
    """Two sessions, with messages of every kind."""
    with contextlib.closing(make_vault(t.vault)) as db:
        for s, name, client in ((1, "mail", "desk"), (2, "files", "cli")):
            add_session(db, s, name=name, client_name=client, started_at_us=1795256137000000 + s * 3600 * 10**6)

            def ask(seq, body, **more):
                add_message(db, s, seq, kind="request", rpc_id="1", method="tools/call", body=body, **more)

            def answer(seq, of, body, kind="result", **more):
                add_message(db, s, seq, kind=kind, direction="s2c", rpc_id="1", request_seq=of, body=body, **more)
            ask(1, '{"text":"The invoice is\\npaid"}', target="send")
            answer(2, 1, '{"text":"Invoices sent \\"today\\""}')
            ask(3, '{"text":"invoice not found"}', target="fetch")
            answer(4, 3, '{"error":"File not\\nfound \\u00e9t\\u00e9"}', kind="error")
            add_message(db, s, 5, kind="stderr", direction="s2c", body="C:\\new invoice")
            answer(6, 1, '{"text":"paid"}', finding="tool-error")
            add_message(db, s, 7, kind="request", rpc_id="2", method="resources/read", target="file:///invoice", body=None, action="refused")
            answer(8, 7, '{"x":"invoice timed out"}', kind="error", origin="interposer", finding="timeout")


# --- matches --------------------------------------------------------------------------------

QUERIES = (
    (["invoice"], [8, 5, 3, 1]), (["INVOICE"], [8, 5, 3, 1]), (["invo*"], [8, 5, 3, 2, 1]), (["not found"], [4, 3]),
    (["is paid"], [1]), (["paid is"], []), (["paid", "invoice"], [1]), (["été"], [4]), (["ETE"], [4]), (["nothing"], []),
    (["-x", "nvoice"], [8, 5, 3, 2, 1]), (["-x", 'sent "today"'], [2]), (["-x", '"text":"invoice'], [3]), (["-x", "new"], [5]),
    (["-x", "C:\\new"], [5]), (["-x", "INVOICE"], []), (["-x", " not found"], [3]),
    (["tool:send"], [6, 2, 1]), (["tool:*", "invoice"], [3, 1]), (["tool:fetch", "found"], [4, 3]), (["method:resources/*"], [8, 7]),
    (["status:failed"], [8, 7, 6, 4]), (["status:failed", "invoice"], [8]), (["took:1us"], [8, 6, 4, 2]), (["took:>1us", "tool:send"], [6, 2]), (["took:1s"], []),
    (["status:ok"], [2]), (["status:tool-error"], [6]), (["status:error"], [4]), (["status:refused"], [8, 7]), (["status:timeout"], []),
    (["kind:stderr"], [5]), (["kind:request"], [7, 3, 1]), (["kind:error", "invoice"], [8]), (["paid", "status:tool-error"], [6]),
    (["invoice", "paid", "kind:result"], []))


@case("search: words, exact text and fields, with and without an index")
def _(t):
    make(t)
    for args, seqs in QUERIES:
        eq(found(t, *args), [(s, x) for s in (2, 1) for x in seqs], f"{args}")
    eq(sorted(f.name for f in (t.vault / "Search").iterdir()), ["0000.db"] + (["0000.db-journal"] if (t.vault / "Search/0000.db-journal").exists() else []), "files")
    shutil.rmtree(t.vault / "Search")
    (t.vault / "Search").write_text("in the way")
    for args, seqs in QUERIES:
        eq(found(t, *args), [(s, x) for s in (2, 1) for x in seqs], f"{args} without an index")
    for args, want in ((["server:mail", "invoice"], [(1, x) for x in (8, 5, 3, 1)]), (["client:c*", "kind:stderr"], [(2, 5)]),
                       (["--server", "files", "kind:stderr"], [(2, 5)]), (["--client", "desk", "tool:fetch", "kind:request"], [(1, 3)]),
                       (["--since", "2026-11-21T12:00Z", "kind:stderr"], [(2, 5)]), (["--until", "2026-11-21T12:00Z", "kind:stderr"], [(1, 5)])):
        eq(found(t, *args), want, f"{args}")


@case("search: the match in its context, newest first, limited")
def _(t):
    make(t)
    lines = run(t, "search", "invoice", "-n", "2").splitlines()
    eq(lines[0], "2 --seq 8  2026-11-21 12:15:37  files  ←  refused  resources/read file:///invoice", "the first match")
    eq(lines[1], '    {"x":"invoice timed out"}', "its context")
    eq(lines[3], "    C:\\new invoice", "the context of the second")
    eq(len(lines), 4, "lines")
    check('    {"text":"The invoice is\\npaid"}' in run(t, "search", "invoice"), "a newline is made visible")
    eq(len(run(t, "search", "-n", "1", "--json", "invoice").splitlines()), 1, "--json -n 1")
    (x,) = [json.loads(y) for y in run(t, "search", "--json", "sent", "server:mail").splitlines()]
    eq((x["type"], x["server"], x["method"], x["target"], x["status"], x["found"], x["context"]),
       ("match", "mail", "tools/call", "send", "ok", "sent", '{"text":"Invoices sent "today""}'), "--json")
    for columns in (60, 80):
        lines = on_terminal(t, "search", "invoice", columns=columns, env={"NO_COLOR": "1"}).splitlines()
        check(max(map(len, lines)) <= columns and sum("file:///invoice" in x for x in lines) == 2, f"{columns} columns: {lines}")
    colour = on_terminal(t, "search", "sent", "server:mail", columns=60)
    check("Invoices \x1b[33msent\x1b[0m" in colour, f"{colour!r}")
    long = "x" * 300 + " needle " + "y" * 300
    with contextlib.closing(make_vault(t.tmp / "other")) as db:
        add_session(db, 1)
        add_message(db, 1, 1, kind="stderr", body=long)
    line = run(t, "search", "needle", vault=t.tmp / "other").splitlines()[1]
    check(len(line) <= 120 and " needle y" in line and line.startswith("    xxx"), line)


@case("search: a message that was found without a text has the summary that show has")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        add_session(db, 1)
        add_message(db, 1, 1, kind="request", rpc_id="1", method="tools/call", target="x",
                    body='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"path":"/tmp"}}}')
        add_message(db, 1, 2, kind="error", direction="s2c", rpc_id="1", request_seq=1,
                    body='{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no such\\n   file"}}')
    eq(run(t, "search", "--failed").splitlines()[1], "    -32000 no such file", "the summary")
    eq(run(t, "search", "kind:request").splitlines()[1], '    {"path":"/tmp"}', "the summary of a request")
    check('"message":"no such' in run(t, "search", "--failed", "such").splitlines()[1], "with a text, its context")


@case("search: nothing found is status 1; invalid arguments are errors")
def _(t):
    make(t)
    r = t.run("search", "nothing", "--vault", t.vault)
    eq((r.returncode, r.stdout, r.stderr), (1, b"", b""), "nothing")
    for args, says in (([], "nothing to search for"), ([""], "empty TEXT"), (["status:bad"], "expected status:failed|ok|tool-error|error|"),
                       (["tools:echo"], "unknown field 'tools'; did you mean 'tool:echo'? The fields are server:, client:, tool:, "),
                       (["is:failed"], "unknown field 'is'; the fields are server:, "), (["took:soon"], "expected took:>DURATION, such as took:>1s"),
                       (["x", "sever:mail"], "did you mean 'server:mail'?"), (["methods:ping"], "to search for this text, use 'methods ping' or --exact"),
                       (["kind:"], "expected kind:request|"), (["tool:a", "tool:b"], "'tool:' is given twice"), (["-n", "x", "y"], "--limit")):
        check(says in fails(t, 2, "search", *args, "--vault", t.vault), f"{args}")


@case("search: a colon after a word that does not look like a field, or with --exact, is text")
def _(t):
    make(t)
    for args in (["tools:echo", "--exact"], ["http://example.com"], ["note:nothing", "--exact"], ["note: x"], ["localhost:80"], ["std::x"], ["/tmp/x:1"], [":zzz"]):
        eq(t.run("search", *args, "--vault", t.vault).returncode, 1, f"{args}")


@case("search: nothing found is said on a terminal, with the prefix form if that finds something")
def _(t):
    make(t)
    for args, says in ((["nothing"], "nothing found\n"), (["invoi"], "nothing found; whole words are searched: put a * after a TEXT"),
                       (["invoi", "--exact", "zzz"], "nothing found\n"), (["tool:nobody"], "nothing found\n"),
                       (["invoi", "tool:nobody"], "nothing found\n")):
        text = on_terminal(t, "search", *args, status=1)
        check(text.startswith(says), f"{args}: {text!r}")
        check("\n" not in text[:-1], f"{args}: {text!r}")
    eq(on_terminal(t, "search", "nothing", "--json", status=1), "", "--json")


@case("search: new and large messages are found; control characters are escaped")
def _(t):
    p = t.proxy("--name", "one").initialize()
    p.client.send(call(1, "echo", {"note": "first"}))
    p.server.recv()
    eq(found(t, "first"), [(1, 4)], "first")
    p.server.send(text_result(1, "second"))
    p.client.recv()
    eq(found(t, "second"), [(1, 5)], "second")
    p.client.send(call(2, "echo", {"note": "word " * 20000 + "needle", "password": "hunter2secret"}))
    p.server.recv()
    eq(found(t, "needle"), [(1, 6)] if "needle" in run(t, "show", "--bodies") else [], "in a large body")
    p.server.send(text_result(2, "\x1b[31m\u202e evil " + "large " * 20000))
    p.client.recv()
    eq(found(t, "evil"), [(1, 7)], "in a large answer")
    check(not FORBIDDEN.search(run(t, "search", "evil")), "raw text")
    eq(found(t, "hunter2secret"), [], "a secret")
    index = b"".join(f.read_bytes() for f in (t.vault / "Search").iterdir())
    check(b"hunter2secret" not in index, "a secret in the index")
    for f in (t.vault / "Search").iterdir():
        eq(stat.S_IMODE(f.stat().st_mode), 0o600, f"mode of {f.name}")
    p.end()


@case("redact removes redacted words from the index as well")
def _(t):
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    with contextlib.closing(make_vault(t.vault)) as db:
        for i in (1, 99):
            add_session(db, i, ended_at_us=1795256138000000, end_reason="client-closed", exit_status=0)
            add_message(db, i, 1, kind="stderr", direction="s2c", body=f"fine {token if i == 1 else ''}")
    eq(found(t, "fine"), [(99, 1), (1, 1)], "before")
    word = token.split("_")[1].lower().encode()
    check(word in (t.vault / "Search/0000.db").read_bytes(), "the word is not in the index beforehand")
    r = t.run("redact", "--apply", "--all", "--vault", t.vault)
    check(r.returncode in (0, 1), r.stderr)
    eq([f.name for f in (t.vault / "Search").iterdir()], ["0001.db"], "files of the index")
    eq(found(t, "fine"), [(99, 1), (1, 1)], "behind it")
    check(word not in (t.vault / "Search/0000.db").read_bytes(), "the word is in the index again")


# --- under load -----------------------------------------------------------------------------------

PROXIES, CALLS = 4, 3000 if lib.SLOW == 1 else 300


@case(f"search while {PROXIES} proxies write at full speed: no error, nothing lost, everything is found at the end", limit=120)
def _(t):
    proxies = [t.proxy("--name", f"p{i}", server=[fake("answer"), "-s", "100"]) for i in range(PROXIES)]

    wait_for_sessions(t, PROXIES)

    def drive(p, i, window=32):
        for k in range(CALLS + window):
            if k < CALLS:
                p.client.send(call(f"{i}-{k}", "load", {"note": f"number{k}"}))
            if k >= window:
                p.client.recv(10)
    threads = [Background(drive, p, i, seconds=100) for i, p in enumerate(proxies)]
    searches = 0
    while any(x.thread.is_alive() for x in threads):
        for args in (["number17"], ["-x", "umber1"], ["numb*", "kind:request", "server:p1"]):
            r = t.run("search", "-n", "3", *args, "--vault", t.vault, seconds=60)
            check(r.returncode in (0, 1) and r.stderr == b"", f"{args}: {r.returncode} {r.stderr!r}")
            searches += 1
    for x in threads:
        x.join()
    print(f"# {searches} searches meanwhile")
    for p in proxies:
        p.client.close_write()
    for p in proxies:
        eq(p.wait(10), 0, "exit status")
        eq(p.complaints(), [], "what the proxy complains of")
    eq(t.rows("SELECT count(*) FROM messages"), [(2 * CALLS * PROXIES,)], "what is recorded")
    eq(len(found(t, f"number{CALLS - 1}", "kind:request")), PROXIES, "the last of each")
    eq(len(found(t, "numb*", "kind:request")), PROXIES * CALLS, "all of them")


lib.main()
