"""The suite behind `run`. With --table it prints the table of docs/mcp-wire.md and runs nothing."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

import strict_json
from odd_answers import ANSWERS, FAILS, MENDED, NOTHING, READS, REFUSED, SAME
from odd_requests import NUMBER, REQUESTS
from raw_client import RawClient

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = os.path.abspath(os.environ.pop("MCP_INTERPOSER", None) or ROOT / "build/mcp-interposer")
SLOW = {"asan": 4, "valgrind": 15, "cov": 2, "qemu": 4}.get(os.environ.get("TEST_UNDER"), 1)
# At once means some milliseconds, 100 more where the interposer waits for another line; far from the 30 s of a
# deadline. On a busy machine single rows take longer, but not half of them.
AT_ONCE_S = float(os.environ.get("ODD_SECONDS", 5)) * SLOW
MEDIAN_MS = 200 * SLOW
PATIENCE_S = 60 * SLOW      # for what is not measured
SUITE_S = 300 * SLOW
FIRST_ID = 1000

passed = failed = 0


class Failure(Exception):
    pass


def tell(name, check):
    global passed, failed
    try:
        check()
        passed += 1
        print(f"ok - {name}")
    except Failure as e:
        failed += 1
        print(f"not ok - {name}\n#   {e}")


def eq(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: {got[:400]}, not {wanted[:400]}")


def proxy(vault, server):
    return [PROGRAM, "proxy", "--vault", str(vault), "--", *server]


# --- answers: the SDK's client, a server of ours ---------------------------------------------------

def play_answers(major, command, calls, copy, stderr):
    """Makes the calls with one client, and returns what its caller saw of each."""
    text = "".join(json.dumps({"arguments": {**call, "n": n}, "ms": AT_ONCE_S * 1000}) + "\n" for n, call in enumerate(calls))
    done = subprocess.run(["node", HERE / "odd_client.mjs", major, copy, *command], input=text.encode(), stdout=subprocess.PIPE,
                          stderr=stderr, timeout=SUITE_S, check=False)
    return [json.loads(line) for line in done.stdout.split(b"\n") if line]


def kind(seen):
    """How the SDK ended a call without the interposer."""
    if seen == "nothing":
        return NOTHING
    return READS if seen.startswith('{"result"') or '"code":-32000,' in seen else FAILS


def check_answer(row, seen, clean, via):
    eq(kind(seen["sees"]), row.sdk, f"directly the SDK sees {seen['sees'][:200]}")
    if row.way == REFUSED:
        if '"code":-32603,' not in via["sees"] or '"source":"mcp-interposer"' not in via["sees"]:
            raise Failure(f"through the interposer no error -32603 of its own: {via['sees'][:400]}")
    else:
        eq(via["sees"], (clean if row.way == MENDED else seen)["sees"], "through the interposer")
    if via["ms"] > AT_ONCE_S * 1000:
        raise Failure(f"took {via['ms']:.0f} ms")


def answers(major, rows, tmp):
    server = [sys.executable, str(HERE / "odd_server.py")]
    vault = tmp / f"answers-{major}"
    log = tmp / f"answers-{major}.log"
    calls = [{"answer": row.name, "clean": clean, "end": True} for row in rows for clean in ([False, True] if row.clean else [False])]
    with log.open("wb") as stderr:
        direct = play_answers(major, server, calls, os.devnull, stderr)
        # With a message behind the answer the interposer would not wait for the rest of one over several lines.
        calls_via = [{"answer": row.name, "end": row.way == SAME and row.sdk == NOTHING} for row in rows]
        via = play_answers(major, proxy(vault, server), calls_via, tmp / f"answers-{major}.copy", stderr)
    return vault, log, dict(zip(((c["answer"], c["clean"]) for c in calls), direct)), dict(zip((c["answer"] for c in calls_via), via))


def tell_answers(major, rows, tmp, played):
    vault, log, direct, via = played
    seen = lambda results, key: results.get(key, {"sees": "no result: the client has ended", "ms": 0})
    for row in rows:
        tell(f"{major}.x, answer: {row.name}", lambda row=row: check_answer(
            row, seen(direct, (row.name, False)), seen(direct, (row.name, True)), seen(via, row.name)))
    tell_rest(f"{major}.x, answers", vault, log, [v["pid"] for v in via.values()],
              (tmp / f"answers-{major}.copy").read_bytes().split(b"\n")[:-1])
    return [(v["ms"], seen(direct, (name, False))["ms"], f"{major}.x, answer: {name}", name) for name, v in via.items()]


# --- requests: a client of ours, the SDK's server --------------------------------------------------

def play_requests(command, rows, stderr, interposed):
    """Makes the requests with one client: what it got for each (name, clean), the server's pids, and all lines."""
    client = RawClient(command, stderr, PATIENCE_S)
    got, pids = {}, [client.pid()]
    every = [(row, clean) for row in rows for clean in ([False, True] if row.clean and not interposed else [False])]
    for n, (row, clean) in enumerate(every, FIRST_ID):
        start = len(client.messages)
        id = n if row.id is NUMBER or not interposed and row.way == REFUSED else row.id
        before = time.monotonic()
        client.write([p if isinstance(p, tuple) else p.replace(b"%id%", str(n).encode()) for p in ([row.clean] if clean else row.parts)])
        if interposed and not (row.way == SAME and row.sdk == NOTHING):
            answer = client.wait(id, start, AT_ONCE_S)
        else:
            # What has been read before a request has an answer before the second of two.
            client.ask("ping", {})
            client.ask("ping", {})
            answer = client.find(id, start)
        got[row.name, clean] = answer, time.monotonic() - before
        pids.append(client.pid())
    client.close()
    return got, pids, client.lines


def requests(major, rows, tmp):
    server = ["node", str(HERE / "echo_server.mjs"), major]
    vault = tmp / f"requests-{major}"
    log = tmp / f"requests-{major}.log"
    with log.open("wb") as stderr:
        direct = play_requests(server, rows, stderr, False)
        via = play_requests(proxy(vault, server), rows, stderr, True)
    return vault, log, direct, via


def shown(answer):
    return "nothing" if answer is None else json.dumps({k: v for k, v in answer.items() if k in ("result", "error")})


def check_request(row, direct, clean, via, took):
    eq(NOTHING if direct is None else READS, row.sdk, "directly the server's answer is " + shown(direct))
    if row.way == REFUSED:
        error = (via or {}).get("error", {})
        if error.get("code") != row.code or (error.get("data") or {}).get("source") != "mcp-interposer":
            raise Failure(f"through the interposer no error {row.code} of its own: {shown(via)}")
    else:
        eq(shown(via), shown(clean if row.way == MENDED else direct), "through the interposer")
    if took > AT_ONCE_S:
        raise Failure(f"took {took * 1000:.0f} ms")


def tell_requests(major, rows, played):
    vault, log, (direct, _, _), (via, pids, lines) = played
    for row in rows:
        tell(f"{major}.x, request: {row.name}", lambda row=row: check_request(
            row, direct[row.name, False][0], direct.get((row.name, True), (None, 0))[0], *via[row.name, False]))
    tell_rest(f"{major}.x, requests", vault, log, pids, lines)
    return [(took * 1000, direct[name, False][1] * 1000, f"{major}.x, request: {name}", name)
            for (name, _), (_, took) in via.items()]


# --- both ------------------------------------------------------------------------------------------

def check_medians(took):
    """What the interposer adds to the rows of each section."""
    sections = {row.name: row.section for row in [*ANSWERS, *REQUESTS]}
    added = {}
    for ms, direct_ms, _, name in took:
        added.setdefault(sections[name], []).append(ms - direct_ms)
    slow = {section: round(m) for section, x in added.items() if (m := statistics.median(x)) > MEDIAN_MS}
    if slow:
        raise Failure(f"milliseconds: {slow}")


def tell_rest(what, vault, log, pids, lines):
    def one_process():
        if len(set(pids)) != 1 or None in pids:
            raise Failure(f"processes {set(pids)}; {log.read_text('utf-8', 'replace')[-2000:]}")

    def strict():
        for line in lines:
            try:
                strict_json.check(line)
            except (strict_json.Invalid, ValueError) as e:
                raise Failure(f"{e}: {line[:200]!r}") from e

    def intact():
        done = subprocess.run([PROGRAM, "audit", "verify", "--vault", vault], capture_output=True, timeout=SUITE_S, check=False)
        if done.returncode != 0:
            raise Failure((done.stdout + done.stderr).decode("utf-8", "replace")[-1000:])

    tell(f"{what}: the server is not killed", one_process)
    tell(f"{what}: all {len(lines)} lines are strict JSON", strict)
    tell(f"{what}: audit verify finds nothing", intact)


def versions():
    """Of the SDK, as the suite uses it."""
    return [json.loads((ROOT / "tests" / folder / "package.json").read_text())["devDependencies"][name]
            for folder, name in (("sdk", "@modelcontextprotocol/sdk"), ("revision-2026", "@modelcontextprotocol/client"))]


def table():
    out = []
    for title, rows in (("Answer", ANSWERS), ("Request", REQUESTS)):
        out += [f"| {title} | | SDK {' and '.join(versions())} | through the interposer |", "|---|---|---|---|"]
        for section, group in groupby(rows, key=lambda row: row.section):
            merged = {}
            for row in group:
                way = {SAME: "the same", MENDED: "repaired", REFUSED: f"error {getattr(row, 'code', -32603)}"}[row.way]
                merged.setdefault((row.sdk, f"{way}: {row.why}" if row.why else way), []).append(row.name)
            for (sdk, way), names in merged.items():
                out.append(f"| {section} | {'; '.join(names)} | {sdk} | {way} |")
        out.append("")
    return "\n".join(out)


def table_in_document():
    text = (ROOT / "docs/mcp-wire.md").read_text()
    if table() not in text:
        raise Failure("docs/mcp-wire.md 7.6 has another table than tests/odd/odd_suite.py --table prints")


def main(words):
    rows = lambda every: [r for r in every if not words or any(w in r.name for w in words)]
    with tempfile.TemporaryDirectory(prefix="mcp-interposer-odd-") as tmp, ThreadPoolExecutor(2) as pool:
        tmp, took = Path(tmp), []
        played = [(major, pool.submit(answers, major, rows(ANSWERS), tmp), pool.submit(requests, major, rows(REQUESTS), tmp))
                  for major in "12"]
        for major, a, r in played:
            took += tell_answers(major, rows(ANSWERS), tmp, a.result())
            took += tell_requests(major, rows(REQUESTS), r.result())
    for ms, direct_ms, row, _ in sorted(took, reverse=True)[:5]:
        print(f"# {ms:.0f} ms, directly {direct_ms:.0f} ms: {row}")
    if not words:
        tell("half of the rows of each section take at most 200 ms longer than directly", lambda: check_medians(took))
        tell("the table of docs/mcp-wire.md is that of the rows", table_in_document)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(table())
    else:
        sys.exit(main(sys.argv[1:]))
