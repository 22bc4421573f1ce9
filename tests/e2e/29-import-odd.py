#!/usr/bin/env python3
"""Odd lines of a server: import makes the messages of a transcript that the proxy records, and verify reads them alike."""
import json
import re
import subprocess
import sys

import lib
from lib import case, check, eq, request

sys.setrecursionlimit(30_000)     # of json: answers of 10,000 levels
ODD = lib.ROOT / "tests/odd"
sys.path.insert(0, str(ODD))
from odd_answers import ANSWERS, NOTHING, SAME  # noqa: E402

# Whether an array is a batch depends on the revision; import keeps it as it is. On a busy machine a pause between two lines may be too
# long for the proxy.
ROWS = [row for row in ANSWERS if row.name not in ("an array with the answer", "lines that are JSON values before",
                                                   "pretty-printed, line by line with pauses")]
LINE = set(re.findall(r"^\| `([a-z0-9-]+)` \|", (lib.ROOT / "docs/findings.md").read_text().split("## The protocol")[0], re.M))
INITIALIZE = request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})


def call(n, row):
    return request(n, "tools/call", {"name": "odd", "arguments": {"answer": row.name, "n": n, "end": True}})


def record(t, copy):
    """The rows through the proxy, one after the other; what the server wrote is in `copy`."""
    server = ["sh", "-c", 'python3 "$1" | tee "$2"', "sh", ODD / "odd_server.py", copy]
    p = subprocess.Popen([lib.PROGRAM, "proxy", "--vault", t.vault, "--", *server],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=t.environ())

    def say(line, *wanted):
        p.stdin.write(line + b"\n")
        p.stdin.flush()
        left = set(wanted)
        while left:
            line = p.stdout.readline()
            check(line, f"the proxy has ended, {left} have not come")
            m = json.loads(line)
            left.discard(("answer", m["id"]) if "method" not in m else ("end", (m["params"]["data"] or {}).get("end"))
                         if m["method"] == "notifications/message" and isinstance(m["params"]["data"], dict) else None)

    say(INITIALIZE, ("answer", 0))
    say(lib.note("notifications/initialized"))
    for n, row in enumerate(ROWS, 1):
        answered = row.way != SAME or row.sdk != NOTHING or row.section != "nothing says whose answer it is"
        say(call(n, row), ("end", n), *([("answer", n)] if answered else []))
    p.stdin.close()
    eq(p.wait(), 0, "status of the proxy")


def entry(t_ms, dir, text):
    """A line of mcp-cassette with the bytes as they are, valid or not."""
    spelt = re.sub(rb'[\x00-\x1f"\\]', lambda m: b"\\u%04x" % m.group()[0], text)
    return b'{"type":"raw","t":%d,"dir":"%s","data":"%s"}\n' % (t_ms, dir, spelt)


def transcript(copy):
    lines = copy.read_bytes().split(b"\n")[:-1]
    out = [b'{"type":"header","cassetteVersion":2,"startedAt":"2026-05-12T23:00:00.000Z"}\n', entry(0, b"c2s", INITIALIZE),
           entry(0, b"s2c", lines.pop(0)), entry(0, b"c2s", lib.note("notifications/initialized"))]
    for n, row in enumerate(ROWS, 1):
        out.append(entry(n * 1000, b"c2s", call(n, row)))
        while True:
            out.append(entry(n * 1000, b"s2c", lines.pop(0)))
            if b'{"end": %d}' % n in out[-1].replace(b"\\u0022", b'"'):
                break
    eq(lines, [], "lines that belong to no row")
    return b"".join(out)


def messages(t, session):
    """What is recorded of the server's lines, by row."""
    groups = [[]]
    for kind, action, finding, id, body in t.rows(
            "SELECT kind, action, finding, rpc_id, CAST(body AS BLOB) FROM messages WHERE session_id = ? AND direction = 's2c'"
            " AND origin = 'peer' AND kind <> 'stderr' ORDER BY seq", session):
        text = (body or b"in a file of Bodies").decode("utf-8", "replace")
        found = set((finding or b"").decode().split(",")) & LINE
        if "\ufffd" in text:    # the transcript has lost the bytes
            found.discard("invalid-utf8")
            found |= {"not-json"} if kind == b"noise" else set()
            text = re.sub("\ufffd+", "\ufffd", text)
        groups[-1].append((kind, action, id, sorted(found), text[:300], len(text)))
        if re.search(r'"end": ?\d+', text) and kind == b"notification":
            groups.append([])
    return groups


@case("each row of tests/odd: the messages of a transcript are those that the proxy has recorded, and verify reads the same", limit=120)
def _(t):
    copy, file = t.tmp / "copy", t.tmp / "odd.jsonl"
    record(t, copy)
    file.write_bytes(transcript(copy))
    done = t.run("import", "--vault", t.vault, "--json", file)
    eq(done.returncode, 0, done.stderr.decode())
    recorded, imported = messages(t, 1), messages(t, json.loads(done.stdout)["id"])
    differ = [f"{name}:\n  proxy  {a}\n  import {b}" for name, a, b in
              zip(["initialize and " + ROWS[0].name] + [row.name for row in ROWS[1:]], recorded, imported) if a != b]
    check(not differ, f"{len(differ)} of {len(ROWS)} differ:\n" + "\n".join(differ[:20]))
    eq(len(imported), len(recorded), "rows")
    done = t.run("verify", "--vault", t.vault, "--all", "--json", "-t", "60s", "1", "--", "python3", ODD / "odd_server.py")
    verdicts = {r["verdict"] for r in json.loads(done.stdout)["results"]}
    eq((done.returncode, verdicts), (0, {"match", "skipped"}), f"verify: {done.stdout.decode()[-2000:]}")


lib.main()
