"""A session with a call of every status except server-gone and interrupted, and what each form of it says of its calls."""
import csv
import io
import json
import re

import lib
from lib import call, error, note, request, result, text_result


def ask(p, line, *answers):
    p.client.send(line)
    p.server.expect(line)
    p.server.send(*answers)
    p.client.expect(*answers)


def record(t, vault=None):
    """A proxy is killed after calls that were answered, failed, were refused, cancelled or too late, and one that is open."""
    p = t.proxy("--name", "forms", "--timeout", "tool:late=300ms", "--on-hang", "cancel", vault=vault).initialize("2025-03-26")
    ask(p, call(1, "good"), text_result(1, "fine"))
    ask(p, call(2, "broken"), text_result(2, "it broke", isError=True))
    ask(p, call(3, "missing"), error(3, -32602, "Unknown tool"))
    p.client.send(call(4, "slow"))
    p.server.recv()
    p.client.send(note("notifications/cancelled", {"requestId": 4}))
    p.server.recv()
    p.client.send(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","method":"tools/list"}')
    p.client.recv()
    p.client.send(call(6, "late"))
    p.server.recv()
    p.client.recv_json(30)
    p.server.recv()     # it is cancelled
    p.server.send(text_result(6, "too late"))
    for id, answer in (("s1", result("s1")), ("s2", error("s2", -1, "the user said no"))):
        p.server.send(request(id, "roots/list"))
        p.client.recv()
        p.client.send(answer)
        p.server.recv()
    batch = b"[%s,%s]" % (call(7, "good"), call(8, "broken"))
    p.client.send(batch)
    p.server.expect(batch)
    answers = b"[%s,%s]" % (text_result(7, "fine"), text_result(8, "no", isError=True))
    p.server.send(answers)
    p.client.expect(answers)
    ask(p, request(9, "resources/read", {"uri": "file:///a"}), result(9, {"contents": []}))
    p.server.say_err(b"a word on stderr\n")
    p.client.send(call(10, "never"))
    p.server.recv()
    lib.wait_until(lambda: t.messages("kind = 'stderr'", vault=vault) and t.messages("target = 'never'", vault=vault), 10, "everything is recorded")
    p.die(all_of_it=True)


CLIENT, SERVER = "client", "server"
LOST = {"timeout", "server-gone"}
FAILED = {"tool-error", "error", "refused"} | LOST
WORDS = {"ok": "ok", "tool-error": "tool_errors", "error": "errors", "refused": "refused", "cancelled": "cancelled",
         "server-gone": "server_gone", "interrupted": "interrupted", "timeout": "timeouts", "open": "open"}


def truth(rows):
    """{seq: (side, method, target, status, duration_us)} of the rows of the table `calls` of one session."""
    def text(value):
        return value.decode() if isinstance(value, bytes) else value
    return {id & ((1 << 36) - 1): (CLIENT if text(direction) == "c2s" else SERVER, text(method), text(target), text(status), took)
            for id, direction, method, target, status, took in rows}


TRUTH = "SELECT id, direction, method, target, status, duration_us FROM calls WHERE origin = 'peer'"


def rounded(us):
    """A duration as people read it: three digits."""
    if us is None:
        return ""
    if us < 1000:
        return f"{us}us"
    value, unit = (us / 1e3, "ms") if us < 1_000_000 else (us / 1e6, "s")
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}{unit}"


def of_json(lines):
    """The calls in the messages of `show --json`, `tail --json` and the format jsonl."""
    calls = {}
    for m in map(json.loads, lines.splitlines()):
        if m["type"] != "message" or m["origin"] == "interposer" and m["kind"] == "request":
            continue
        side = CLIENT if m["direction"] == "c2s" else SERVER
        number = m["request_seq"]
        if m["kind"] == "request":
            refused = m["action"] == "refused"
            calls[m["seq"]] = [side, m["method"], m["target"], "refused" if refused else "open", 0 if refused else None, m["t_us"]]
        elif "status" in m:
            calls[number][3:5] = m["status"], m["duration_us"]
        elif m["kind"] == "notification" and number and m["origin"] == "peer":
            calls[number][3:5] = "cancelled", m["t_us"] - calls[number][5]
    return {seq: tuple(c[:5]) for seq, c in calls.items()}


def of_text(text):
    """(number, WHAT, TOOK) of the lines of `show` in a pipe; a request without an answer is open."""
    found = []
    for line in text.split("\n\n", 1)[1].splitlines()[1:]:
        columns = line.split()
        if not columns[0].isdigit():
            continue
        took = next((x for x in columns[4:] if re.fullmatch(r"[\d.]+(us|ms|s)", x)), "")
        found.append((int(columns[0]), "open" if "[no answer]" in line else columns[3], took))
    return found


def of_csv(text):
    return {int(r["request_seq"]): (CLIENT, r["method"] or None, r["target"] or None, r["status"], int(r["duration_us"]) if r["duration_us"] else None)
            for r in csv.DictReader(io.StringIO(text, newline=""))}


def of_otlp(text):
    """By seq: status and duration. A request without a method has no span."""
    found = {}
    for line in text.splitlines():
        for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            of = {a["key"]: a["value"] for a in span["attributes"]}
            took = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) // 1000
            found[int(of["mcp_interposer.seq"]["intValue"])] = (of["mcp_interposer.status"]["stringValue"], took)
    return found


def of_markdown(text):
    """By seq: side, status, and the duration for people."""
    rows = re.findall(r"^\| (\d+) \| \S+ s \| (\w+) \| .* \| ([\w-]+) \| (\S+) \|$", text, re.M)
    return {int(seq): (side, status, "" if took == "-" else took) for seq, side, status, took in rows}


def of_html(page):
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    head, *items = json.loads(data)
    return head, {m["seq"]: (SERVER if m.get("from_server") else CLIENT, m.get("method"), m.get("target"), m["status"], m.get("took"))
                  for m in items if "status" in m}


def of_session(row):
    return {status: row[word] for status, word in WORDS.items()}


def of_group(row):
    return [row.get(x) for x in ("calls", "errors", "timeouts", "cancelled", "interrupted", "open", "max_us")]


def wanted_groups(calls):
    """Of the tools: what `stats` counts."""
    groups = {}
    for side, method, target, status, took in calls.values():
        if side == CLIENT and method == "tools/call":
            g = groups.setdefault(target, [0, 0, 0, 0, 0, 0, None])
            for i, counts in enumerate((True, status in FAILED, status == "timeout", status == "cancelled", status == "interrupted", status == "open")):
                g[i] += counts
            if status not in ("cancelled", "interrupted", "open"):
                g[6] = max(g[6] or 0, took)
    return groups


def walk_mcp(run, calls, eq):
    """The same of the tools of `mcp`. run(input): what `mcp` answers to these lines."""
    asked = [("list_sessions", {}), ("list_calls", {"limit": 100}), ("stats", {})]
    lines = [request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
             note("notifications/initialized"),
             *(request(i + 1, "tools/call", {"name": name, "arguments": given}) for i, (name, given) in enumerate(asked))]
    sessions, listed, stats = (json.loads(line)["result"]["structuredContent"] for line in run(b"\n".join(lines) + b"\n").splitlines()[1:])
    client = {seq: c for seq, c in calls.items() if c[0] == CLIENT}
    [row] = sessions["sessions"]
    eq((row["calls"], of_session(row)), (len(client), {status: sum(c[3] == status for c in client.values()) for status in WORDS}), "list_sessions")
    eq({c["seq"]: (CLIENT, c.get("method"), c.get("target"), c["status"], c.get("duration_us")) for c in listed["calls"]}, client, "list_calls")
    eq({r["tool"]: of_group(r) for r in stats["groups"]}, wanted_groups(calls), "the tool stats")


def walk(run, calls, eq):
    """Compares what each command says of the one session with its calls. run(*words): what the command prints."""
    client = {seq: c for seq, c in calls.items() if c[0] == CLIENT}
    counts = {status: sum(c[3] == status for c in client.values()) for status in WORDS}
    failed = sum(c[3] in FAILED for c in client.values())

    shown = run("show", "--json")
    head = json.loads(shown.splitlines()[0])
    eq(of_json(shown), calls, "show --json")
    eq((head["calls"], of_session(head)), (len(client), counts), "the head of show --json")
    [row] = map(json.loads, run("sessions", "--json").splitlines())
    eq((row["calls"], of_session(row)), (len(client), counts), "sessions --json")
    eq(of_json(run("tail", "--once", "--json", "-n", "1000")), calls, "tail --json")

    text = run("show")
    lines = {seq: (what, took) for seq, what, took in of_text(text)}
    closing = {m["request_seq"]: m["seq"] for m in map(json.loads, shown.splitlines()) if "status" in m}
    eq({of: lines[seq] for of, seq in closing.items()}, {seq: (c[3], rounded(c[4])) for seq, c in calls.items() if seq in closing}, "show")
    eq([seq for seq, (what, _) in lines.items() if what == "open"], [seq for seq, c in calls.items() if c[3] == "open"], "show: open calls")
    eq([seq for seq, (_, took) in lines.items() if took], sorted(closing.values()), "show: what has a time")
    traffic = re.search(r"^traffic +\d+ messages, (\d+) calls: (.*)$", text, re.M)
    said = {"without an answer" if what == "without" else what: int(n) for n, what in re.findall(r"(\d+) ([\w-]+)", traffic[2])}
    said["open"] = said.pop("without an answer", 0)
    eq((int(traffic[1]), said), (len(client), {s: n for s, n in counts.items() if n}), "the head of show")

    eq(run("export", "-F", "jsonl"), shown, "jsonl")
    eq(of_csv(run("export", "-F", "csv")), client, "csv")
    spans = of_otlp(run("export", "-F", "otlp"))
    eq({seq: s for seq, (s, _) in spans.items()}, {seq: c[3] for seq, c in calls.items() if c[1]}, "otlp: statuses")
    eq({seq: t for seq, (s, t) in spans.items() if s != "open"}, {seq: c[4] for seq, c in calls.items() if c[1] and c[3] != "open"}, "otlp: durations")
    note = run("export", "-F", "markdown")
    eq(of_markdown(note), {seq: (c[0], c[3], rounded(c[4])) for seq, c in calls.items()}, "markdown")
    eq([int(x) for x in re.findall(r"^(?:calls|errors): (\d+)$", note, re.M)], [len(client), failed], "the head of markdown")
    head, rows = of_html(run("export", "-F", "html"))
    eq(rows, calls, "html")
    eq((head["calls"], head["failed"]), (len(client), failed), "the head of html")

    groups = {r["tool"]: of_group(r) for r in map(json.loads, run("stats", "--json").splitlines())}
    eq(groups, wanted_groups(calls), "stats --json")
